/*
 * Backends "live" and "cuda": the models on the wall clock. One thread owns the simulation with all devices and looks
 * at their doorbell pages; each warp of a grid is a thread of this process that knows nothing of it but memory, or a
 * warp of a real GPU that knows no more.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drivers/backend/backends_internal.h"
#include "drivers/backend/cuda_internal.h"
#include "drivers/backend/workers_internal.h"
#include "sim/live.h"

/* How long the loop spins without work before it sleeps. A sleeping loop looks at doorbells once a millisecond. */
#define IDLE_US 200u

/* How far a run's devices go on, in simulated time, after its last thread has ended. */
#define SETTLE_PS (10 * BF_MS)

struct live_world {
	struct bf_world m;
	struct bf_live *live;
	struct bf_workers workers;
	const struct bf_cuda_api *cuda; /* the real GPU that runs the grids of GPUs; NULL: threads do */
	struct loop_call *calls;        /* of other threads, for the loop's; under `lock` */
	pthread_mutex_t lock;
	pthread_cond_t called;
	bool has_workers, has_lock;
	bool runs;  /* the loop owns the simulation; changed while no other thread is there */
	bool stuck; /* a grid of the real GPU did not end: nothing that it may touch is freed before the process ends */
	int loop_rc;
};

static struct live_world *world_of(struct bf_world *m)
{
	return BF_CONTAINER_OF(m, struct live_world, m);
}

static int probe(char *why, size_t cap)
{
	struct bf_sim *sim;
	struct bf_live *live;
	int rc = bf_sim_create(0, &sim);

	if (rc)
		return rc;
	rc = bf_live_create(sim, &live);
	snprintf(why, cap, "%s", rc ? sim->error.text : "always available");
	bf_live_destroy(live);
	bf_sim_destroy(sim);
	return rc;
}

static void world_close(struct bf_world *m)
{
	struct live_world *w = m ? world_of(m) : NULL;

	if (!w || w->stuck)
		return;
	if (w->cuda)
		w->cuda->close();
	bf_live_destroy(w->live);
	bf_machine_close(&w->m);
	if (w->has_workers)
		bf_workers_fini(&w->workers);
	if (w->has_lock) {
		pthread_cond_destroy(&w->called);
		pthread_mutex_destroy(&w->lock);
	}
	free(w);
}

/* A real GPU sees what it touches at the same addresses. */
static int map_for_gpu(struct live_world *w, void *p, uint64_t size, const char *name)
{
	char why[160];
	int rc = w->cuda ? w->cuda->map(p, size, false, why, sizeof(why)) : 0;

	return rc ? bf_fail(&w->m.sim->error, rc, "%s cannot be mapped for the GPU: %s", name, why) : 0;
}

/* Doorbell pages and registers are addresses only until somebody stores to them for real. */
static int open_region(struct live_world *w, struct bf_region *r)
{
	if (r && mprotect(r->bytes, r->size, PROT_READ | PROT_WRITE))
		return bf_fail(&w->m.sim->error, -errno, "cannot map %s", r->name);
	return r ? map_for_gpu(w, r->bytes, r->size, r->name) : 0;
}

static int expose(struct bf_world *m, struct bf_region *r)
{
	return open_region(world_of(m), r);
}

static int open_registers(struct bf_world *m)
{
	int rc = 0;

	m->expose = expose;
	for (uint32_t pe = 0; !rc && pe < m->npes; pe++)
		for (const struct bf_part *const *part = bf_parts(); !rc && *part; part++)
			if ((*part)->expose)
				rc = (*part)->expose(m, &m->pe[pe]);
	return rc;
}

/*
 * What a thread of a running grid asks of the simulation, which is the loop's: it is done there, and the thread waits.
 */
struct loop_call {
	struct loop_call *next;
	int (*fn)(struct bf_world *m, void *arg);
	void *arg;
	int rc;
	bool done;
};

static int on_loop(struct bf_world *m, int (*fn)(struct bf_world *m, void *arg), void *arg)
{
	struct live_world *w = world_of(m);
	struct loop_call call = { .fn = fn, .arg = arg }, **at;

	if (!w->runs)
		return fn(m, arg);
	pthread_mutex_lock(&w->lock);
	for (at = &w->calls; *at; at = &(*at)->next)
		;
	*at = &call;
	bf_live_wake(w->live);
	while (!call.done)
		pthread_cond_wait(&w->called, &w->lock);
	pthread_mutex_unlock(&w->lock);
	return call.rc;
}

static int serve_calls(struct live_world *w)
{
	int served = 0;

	if (!__atomic_load_n(&w->calls, __ATOMIC_RELAXED))
		return 0;
	pthread_mutex_lock(&w->lock);
	while (w->calls) {
		struct loop_call *c = w->calls;

		c->rc = c->fn(&w->m, c->arg);
		__atomic_store_n(&w->calls, c->next, __ATOMIC_RELAXED);
		c->done = true;
		served++;
	}
	if (served)
		pthread_cond_broadcast(&w->called);
	pthread_mutex_unlock(&w->lock);
	return served;
}

struct command_args {
	const void *in;
	void *out;
	size_t in_len, out_len;
	uint32_t pe, nic;
};

static int do_command(struct bf_world *m, void *arg)
{
	const struct command_args *a = arg;

	return bf_machine_command(m, a->pe, a->nic, a->in, a->in_len, a->out, a->out_len);
}

static int world_command(struct bf_world *m, uint32_t pe, uint32_t nic, const void *in, size_t in_len, void *out,
			 size_t out_len)
{
	struct command_args a = { in, out, in_len, out_len, pe, nic };

	return on_loop(m, do_command, &a);
}

struct port_args {
	uint32_t pe, nic, port;
};

static int do_port_up(struct bf_world *m, void *arg)
{
	const struct port_args *a = arg;

	return bf_machine_port_up(m, a->pe, a->nic, a->port);
}

static int world_port_up(struct bf_world *m, uint32_t pe, uint32_t nic, uint32_t port)
{
	struct port_args a = { pe, nic, port };

	return on_loop(m, do_port_up, &a);
}

struct uar_args {
	uint32_t pe, nic;
	struct bf_uar *out;
};

static int do_map_uar(struct bf_world *m, void *arg)
{
	const struct uar_args *a = arg;

	return bf_machine_map_uar(m, a->pe, a->nic, a->out);
}

static int world_map_uar(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_uar *out)
{
	struct uar_args a = { pe, nic, out };

	return on_loop(m, do_map_uar, &a);
}

/* One turn's look at the doorbells of all devices, of which there may be more than the loop has room for pollers. */
static int poll_devices(void *arg)
{
	struct live_world *w = arg;
	int found = serve_calls(w);

	for (uint32_t pe = 0; pe < w->m.npes; pe++)
		for (const struct bf_part *const *part = bf_parts(); *part; part++)
			if ((*part)->poll)
				found |= (*part)->poll(&w->m.pe[pe]);
	return found;
}

static int add_poller(struct live_world *w)
{
	/* The first look fills registers in, before anybody loads them. */
	poll_devices(w);
	return bf_live_add_poller(w->live, poll_devices, w);
}

static int open_gpu(struct live_world *w, const struct bf_world_opts *opts)
{
	char why[256];
	int rc;

	if (!opts->cuda)
		return 0;
	rc = bf_cuda_load(&w->cuda, why, sizeof(why));
	if (!rc)
		rc = w->cuda->open(why, sizeof(why));
	if (rc) {
		w->cuda = NULL;
		bf_fail(&w->m.sim->error, rc, "a real GPU's threads: %s", why);
	}
	return rc;
}

struct alloc_args {
	uint32_t pe;
	enum bf_placement place;
	uint64_t size;
	const char *name;
	struct bf_memory *out;
};

static int do_alloc(struct bf_world *m, void *arg)
{
	const struct alloc_args *a = arg;
	int rc = bf_machine_alloc(m, a->pe, a->place, a->size, a->name, a->out);

	if (!rc)
		rc = map_for_gpu(world_of(m), a->out->ptr, a->out->size, a->name);
	return rc && m->err && !m->err->code ? bf_fail(m->err, rc, "%s", m->sim->error.text) : rc;
}

static int world_alloc(struct bf_world *m, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
		       struct bf_memory *out)
{
	struct alloc_args a = { pe, place, size, name, out };

	return on_loop(m, do_alloc, &a);
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	struct live_world *w = calloc(1, sizeof(*w));
	int rc;

	*out = NULL;
	if (!w)
		return bf_fail(err, -ENOMEM, "no memory for a world");
	rc = opts->model ? bf_fail(err, -ENOTSUP, "a model that comes with the program runs in virtual time only")
	     : opts->npes > BF_PES_MAX_LIVE
		 ? bf_fail(err, -EINVAL, "%u PEs: must be 1 to %u in live mode", opts->npes, BF_PES_MAX_LIVE)
		 : bf_machine_open(&w->m, opts, err);
	if (rc) {
		free(w);
		return rc;
	}
	w->m.live = true;
	rc = -pthread_mutex_init(&w->lock, NULL);
	w->has_lock = !rc;
	if (!rc) {
		pthread_cond_init(&w->called, NULL);
		rc = bf_workers_init(&w->workers);
		w->has_workers = !rc;
	}
	if (!rc)
		rc = open_gpu(w, opts);
	if (!rc)
		rc = open_registers(&w->m);
	if (!rc)
		rc = bf_live_create(w->m.sim, &w->live);
	if (!rc)
		rc = add_poller(w);
	if (rc) {
		bf_fail(err, rc, "live mode: %s", w->m.sim->error.text);
		world_close(&w->m);
		return rc;
	}
	*out = &w->m;
	return 0;
}

static void *loop_main(void *arg)
{
	struct live_world *w = arg;

	w->loop_rc = bf_live_run(w->live, IDLE_US);
	return NULL;
}

/*
 * The loop may have been stopped before it saw the last doorbell of a thread that ended without waiting for it. The
 * devices hear what was rung and do what follows from it, as they have at the end of a run in virtual time. Bounded,
 * because a queue that polls memory never comes to rest.
 */
static void settle(struct live_world *w)
{
	struct bf_sim *sim = w->m.sim;
	const uint64_t until = sim->now_ps + SETTLE_PS;

	poll_devices(w);
	do
		bf_sim_run(sim, until);
	while (poll_devices(w) && sim->now_ps < until);
}

static int world_run(struct bf_world *m, struct bf_world_result *out)
{
	struct live_world *w = world_of(m);
	const uint64_t began = w->m.sim->now_ps;
	uint64_t ended;
	pthread_t loop;
	bool late = false;
	int rc, joined;

	memset(out, 0, sizeof(*out));
	w->runs = true;
	rc = -pthread_create(&loop, NULL, loop_main, w);
	w->runs = !rc;
	if (rc)
		return bf_fail(w->m.err, rc, "cannot start the loop's thread");
	rc = w->cuda ? bf_cuda_start_grids(w->cuda, m) : 0;
	if (!rc)
		rc = bf_workers_start(&w->workers, m);
	if (!rc)
		late = bf_workers_wait(&w->workers, m->limit_ps);
	joined = bf_workers_join(&w->workers, m->err);
	w->stuck = w->cuda && bf_cuda_wait_grids(w->cuda, m, &rc);
	late |= w->stuck;
	bf_live_stop(w->live);
	pthread_join(loop, NULL);
	w->runs = false;
	ended = w->m.sim->now_ps;
	if (!late && !w->m.sim->stopped)
		settle(w);
	out->end = late ? BF_END_LIMIT : BF_END_DONE;
	if (late) {
		bf_machine_describe_queues(&w->m, out->report, sizeof(out->report));
		bf_workers_describe(&w->workers, out->report, sizeof(out->report));
		if (w->stuck)
			snprintf(out->report + strlen(out->report), sizeof(out->report) - strlen(out->report),
				 "threads of the real GPU still run\n");
	}
	if (bf_machine_result(&w->m, began, out) && !rc)
		rc = -ENOMEM;
	out->time_ps = ended - began;
	bf_workers_clear(&w->workers);
	rc = rc ? rc : joined;
	return rc ? rc : w->loop_rc;
}

static int probe_gpu(char *why, size_t cap)
{
	const struct bf_cuda_api *api;
	int rc = probe(why, cap);

	if (!rc)
		rc = bf_cuda_load(&api, why, cap);
	if (!rc)
		rc = api->open(why, cap);
	if (!rc)
		api->close();
	return rc;
}

static int world_open_gpu(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	struct bf_world_opts with_gpu = *opts;

	with_gpu.cuda = true;
	return world_open(&with_gpu, err, out);
}

/* What both backends of this file have in common. */
#define LIVE_OPS                                                                                                       \
	.close = world_close, .alloc = world_alloc, .nic_info = bf_machine_nic_info, .command = world_command,         \
	.map_uar = world_map_uar, .port_up = world_port_up, .address = bf_machine_address,                             \
	.launch = bf_machine_launch, .launch_cpu = bf_machine_launch_cpu, .ops = bf_part_ops,                          \
	.gpu_regs = bf_machine_gpu_regs, .run = world_run, .sim = bf_machine_sim, .platform = BF_PLATFORM_NATIVE

const struct bf_backend bf_backend_live = {
	BF_BACKEND_HEAD,
	.name = "live",
	.summary = "models on the wall clock, PE threads in parallel",
	.records = BF_CLASS_ALL,
	.probe = probe,
	.open = world_open,
	LIVE_OPS,
};

const struct bf_backend bf_backend_cuda = {
	BF_BACKEND_HEAD,
	.name = "cuda",
	.summary = "models on the wall clock, a real NVIDIA GPU runs the GPU's threads as device code",
	.records = BF_CLASS_ALL,
	.probe = probe_gpu,
	.open = world_open_gpu,
	LIVE_OPS,
};
