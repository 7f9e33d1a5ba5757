/*
 * Backend "live": the models on the wall clock. One thread owns the simulation with all devices and looks at their
 * doorbell pages; each warp of a grid is a thread of this process that knows nothing of it but memory.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "drivers/backend/backends_internal.h"
#include "drivers/backend/machine_internal.h"
#include "drivers/platform/platform_native.h"
#include "models/sdma/sdma.h"
#include "sim/live.h"

#define WARPS_MAX 1024u

/* How long the loop spins without work before it sleeps. A sleeping loop looks at doorbells once a millisecond. */
#define IDLE_US 200u

struct warp {
	struct live_world *world;
	struct bf_native_warp_opts opts;
	struct bf_native_warp_end end;
	pthread_t thread;
	uint32_t pe;
	bool cpu;
	int rc;
};

struct live_world {
	struct bf_world m;
	struct bf_live *live;
	struct warp *warps; /* of the run in progress */
	uint32_t nwarps, started;
	atomic_bool stop;
	atomic_uint fence;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	uint32_t running; /* warps; under the lock */
	bool has_loop;
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

	if (!w)
		return;
	bf_live_destroy(w->live);
	bf_machine_close(&w->m);
	pthread_cond_destroy(&w->ended);
	pthread_mutex_destroy(&w->lock);
	free(w);
}

static int init_locks(struct live_world *w)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&w->ended, &attr);
	pthread_condattr_destroy(&attr);
	return -pthread_mutex_init(&w->lock, NULL);
}

/* Doorbell pages and registers are addresses only until somebody stores to them for real. */
static int open_region(struct live_world *w, struct bf_region *r)
{
	if (r && mprotect(r->bytes, r->size, PROT_READ | PROT_WRITE))
		return bf_fail(&w->m.sim->error, -errno, "cannot map %s", r->name);
	return 0;
}

static int open_doorbells(struct live_world *w)
{
	int rc = 0;

	for (uint32_t pe = 0; !rc && pe < w->m.npes; pe++) {
		const struct bf_pe *p = &w->m.pe[pe];
		struct bf_region *r;

		for (uint32_t i = 0; !rc && p->nic && (r = bf_mlx5_uar(p->nic, i)); i++)
			rc = open_region(w, r);
		if (!rc && p->ssd)
			rc = open_region(w, bf_nvme_bar0(p->ssd));
	}
	return rc;
}

static int world_sdma_create(struct bf_world *m, uint32_t pe, struct bf_sdma_ring *ring)
{
	const int rc = bf_machine_sdma_create(m, pe, ring);

	return rc ? rc : open_region(world_of(m), bf_machine_sdma_doorbells(m, pe));
}

static int add_pollers(struct live_world *w)
{
	int rc = 0;

	for (uint32_t pe = 0; !rc && pe < w->m.npes; pe++) {
		const struct bf_pe *p = &w->m.pe[pe];

		if (p->nic)
			rc = bf_live_add_poller(w->live, bf_mlx5_poll_uars, p->nic);
		if (!rc && p->ssd)
			rc = bf_live_add_poller(w->live, bf_nvme_poll_bar, p->ssd);
		if (!rc && p->sdma)
			rc = bf_live_add_poller(w->live, bf_sdma_poll_doorbells, bf_machine_sdma_engine(p));
	}
	return rc;
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	struct live_world *w = calloc(1, sizeof(*w));
	int rc;

	*out = NULL;
	if (!w)
		return bf_fail(err, -ENOMEM, "no memory for a world");
	rc = bf_machine_open(&w->m, opts, err);
	if (rc) {
		free(w);
		return rc;
	}
	w->m.live = true;
	rc = init_locks(w);
	if (!rc)
		rc = open_doorbells(w);
	if (!rc)
		rc = bf_live_create(w->m.sim, &w->live);
	if (!rc)
		rc = add_pollers(w);
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

static void *warp_main(void *arg)
{
	struct warp *p = arg;
	struct live_world *w = p->world;

	p->rc = bf_native_warp_run(&p->opts, &p->end);
	pthread_mutex_lock(&w->lock);
	if (!--w->running)
		pthread_cond_signal(&w->ended);
	pthread_mutex_unlock(&w->lock);
	return NULL;
}

/* One entry for each warp of all waiting grids. */
static int plan_warps(struct live_world *w)
{
	struct bf_grid *g;
	uint32_t n = 0;

	for (g = w->m.grids; g; g = g->next)
		n += g->blocks * g->warps;
	if (n > WARPS_MAX)
		return bf_fail(w->m.err, -E2BIG, "%u warps: live mode runs at most %u, each a thread", n, WARPS_MAX);
	w->warps = calloc(n ? n : 1, sizeof(*w->warps));
	if (!w->warps)
		return bf_fail(w->m.err, -ENOMEM, "no memory for %u warps", n);
	w->nwarps = 0;
	while ((g = bf_machine_next_grid(&w->m))) {
		for (uint32_t i = 0; i < g->blocks * g->warps; i++)
			w->warps[w->nwarps++] = (struct warp){
				.world = w,
				.pe = g->pe,
				.cpu = g->cpu,
				.opts = { .lanes = g->cpu ? 1 : 0,
					  .warp = i % g->warps,
					  .warps = g->warps,
					  .block = i / g->warps,
					  .blocks = g->blocks,
					  .kernel = g->kernel,
					  .arg = g->arg,
					  .stop = &w->stop,
					  .fence = &w->fence },
			};
		free(g);
	}
	return 0;
}

/* Waits for all warps, or for the time limit; then tells those that still run to stop. True when the limit struck. */
static bool wait_for_warps(struct live_world *w)
{
	const uint64_t limit_ns = w->m.limit_ps / BF_NS;
	struct timespec until;
	bool late = false;
	int rc = 0;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(limit_ns / 1000000000u);
	until.tv_nsec += (long)(limit_ns % 1000000000u);
	if (until.tv_nsec >= 1000000000) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000;
	}
	pthread_mutex_lock(&w->lock);
	while (w->running && rc != ETIMEDOUT)
		rc = w->m.limit_ps == BF_NEVER ? pthread_cond_wait(&w->ended, &w->lock)
					       : pthread_cond_timedwait(&w->ended, &w->lock, &until);
	late = w->running != 0;
	pthread_mutex_unlock(&w->lock);
	if (late)
		atomic_store_explicit(&w->stop, true, memory_order_relaxed);
	return late;
}

static int start_threads(struct live_world *w, pthread_t *loop)
{
	int rc = -pthread_create(loop, NULL, loop_main, w);

	w->started = 0;
	w->running = 0;
	w->has_loop = !rc;
	if (rc)
		return bf_fail(w->m.err, rc, "cannot start the loop's thread");
	w->running = w->nwarps;
	for (; !rc && w->started < w->nwarps; w->started += !rc)
		rc = -pthread_create(&w->warps[w->started].thread, NULL, warp_main, &w->warps[w->started]);
	if (rc) {
		atomic_store_explicit(&w->stop, true, memory_order_relaxed);
		pthread_mutex_lock(&w->lock);
		w->running -= w->nwarps - w->started;
		pthread_mutex_unlock(&w->lock);
		bf_fail(w->m.err, rc, "cannot start thread %u of %u for warps", w->started, w->nwarps);
	}
	return rc;
}

static void describe_warps(struct live_world *w, char *report, size_t cap)
{
	for (uint32_t i = 0; i < w->nwarps; i++) {
		const struct warp *p = &w->warps[i];
		const size_t used = strlen(report);

		if (p->end.unfinished && p->cpu)
			snprintf(report + used, cap - used, "pe%u.cpu%u waits for %s\n", p->pe, p->opts.block,
				 p->end.waits_for ? p->end.waits_for : "its turn");
		else if (p->end.unfinished)
			snprintf(report + used, cap - used, "pe%u.b%u.w%u: lanes 0x%x wait for %s\n", p->pe,
				 p->opts.block, p->opts.warp, p->end.unfinished,
				 p->end.waits_for ? p->end.waits_for : "their turn");
	}
}

static int world_run(struct bf_world *m, struct bf_world_result *out)
{
	struct live_world *w = world_of(m);
	const uint64_t began = w->m.sim->now_ps;
	pthread_t loop;
	bool late = false;
	int rc;

	memset(out, 0, sizeof(*out));
	atomic_store(&w->stop, false);
	rc = plan_warps(w);
	if (rc)
		return rc;
	rc = start_threads(w, &loop);
	if (!rc)
		late = wait_for_warps(w);
	for (uint32_t i = 0; i < w->started; i++) {
		pthread_join(w->warps[i].thread, NULL);
		if (!rc && w->warps[i].rc)
			rc = bf_fail(w->m.err, w->warps[i].rc, "no memory for the lanes of a warp");
	}
	if (w->has_loop) {
		bf_live_stop(w->live);
		pthread_join(loop, NULL);
	}
	out->end = late ? BF_END_LIMIT : BF_END_DONE;
	if (late) {
		bf_machine_describe_queues(&w->m, out->report, sizeof(out->report));
		describe_warps(w, out->report, sizeof(out->report));
	}
	bf_machine_result(&w->m, began, out);
	free(w->warps);
	w->warps = NULL;
	return rc ? rc : w->loop_rc;
}

const struct bf_backend bf_backend_live = {
	.name = "live",
	.summary = "models on the wall clock, PE threads in parallel",
	.probe = probe,
	.open = world_open,
	.close = world_close,
	.alloc = bf_machine_alloc,
	.command = bf_machine_command,
	.map_uar = bf_machine_map_uar,
	.address = bf_machine_address,
	.launch = bf_machine_launch,
	.launch_cpu = bf_machine_launch_cpu,
	.nvme_bar = bf_machine_nvme_bar,
	.gpu_regs = bf_machine_gpu_regs,
	.sdma_create = world_sdma_create,
	.sdma_update = bf_machine_sdma_update,
	.sdma_destroy = bf_machine_sdma_destroy,
	.sdma_standing = bf_machine_sdma_standing,
	.sdma_traps = bf_machine_sdma_traps,
	.run = world_run,
	.sim = bf_machine_sim,
	.platform = BF_PLATFORM_NATIVE,
};
