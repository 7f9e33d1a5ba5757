/*
 * Backend "live": the models on the wall clock. One thread owns the simulation with all devices and looks at their
 * doorbell pages; each warp of a grid is a thread of this process that knows nothing of it but memory.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drivers/backend/backends_internal.h"
#include "drivers/backend/workers_internal.h"
#include "models/sdma/sdma.h"
#include "sim/live.h"

/* How long the loop spins without work before it sleeps. A sleeping loop looks at doorbells once a millisecond. */
#define IDLE_US 200u

struct live_world {
	struct bf_world m;
	struct bf_live *live;
	struct bf_workers workers;
	bool has_workers;
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
	if (w->has_workers)
		bf_workers_fini(&w->workers);
	free(w);
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
		if (!rc && p->ssd) {
			bf_nvme_poll_bar(p->ssd); /* the first look fills the registers in, before anybody loads them */
			rc = bf_live_add_poller(w->live, bf_nvme_poll_bar, p->ssd);
		}
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
	rc = bf_workers_init(&w->workers);
	w->has_workers = !rc;
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

static int world_run(struct bf_world *m, struct bf_world_result *out)
{
	struct live_world *w = world_of(m);
	const uint64_t began = w->m.sim->now_ps;
	pthread_t loop;
	bool late = false;
	int rc, joined;

	memset(out, 0, sizeof(*out));
	rc = -pthread_create(&loop, NULL, loop_main, w);
	if (rc)
		return bf_fail(w->m.err, rc, "cannot start the loop's thread");
	rc = bf_workers_start(&w->workers, m);
	if (!rc)
		late = bf_workers_wait(&w->workers, m->limit_ps);
	joined = bf_workers_join(&w->workers, m->err);
	bf_live_stop(w->live);
	pthread_join(loop, NULL);
	out->end = late ? BF_END_LIMIT : BF_END_DONE;
	if (late) {
		bf_machine_describe_queues(&w->m, out->report, sizeof(out->report));
		bf_workers_describe(&w->workers, out->report, sizeof(out->report));
	}
	bf_machine_result(&w->m, began, out);
	bf_workers_clear(&w->workers);
	rc = rc ? rc : joined;
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
