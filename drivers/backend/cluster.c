/*
 * Clusters in virtual time: the world, a grid's blocks, and shared memory. A lane's request travels cluster_lane.c
 * (what a lane does before and after) -> it parks -> cluster_issue.c (one warp instruction for all lanes of a warp that
 * ask for the same) -> models/hopper, which wakes the lanes with their results.
 *
 * Plain accesses to shared memory go through the lanes' views (sim/view.h): a store is seen by the block, and by the
 * cluster, only as far as it has been released. What drains to shared memory passes the async proxy's bookkeeping
 * (bf_bulk_plain_store()) on its way: struct bf_cache_ops is where.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/cluster_internal.h"
#include "drivers/backend/ptx.h"
#include "sim/fault.h"

/* Blocks of a grid do not start together. */
#define START_SKEW_PS (2000 * BF_NS)

/* Longer than any copy or time limit: who has seen nothing happen for so long will wait for ever. */
#define HUNG_PS (60 * BF_US)
#define WATCH_PS (5 * BF_US)

/* Numbers of copies that a grid of a machine has to itself in records. */
#define COPIES_OF_GRID ((1u << 24) + 97u)

#define LANE_STACK (48u << 10)

/*
 * Costs of what the Hopper model does not time: plain accesses. A shared load is 29.6 cycles to its use on an H200; a
 * store leaves the warp at once; orderings at block scope cost nothing, those at cluster scope are the arrive's
 * (profile.remote_release_mc).
 */
static const struct bf_cost cost = {
	.load = 15000, .store = 1000, .atomic = 62000, .fence_sys = 500000, .poll = 15000
};

/* In a machine: whose GPU this is. */
static const char *prefix(const struct bf_cluster_world *w)
{
	return w->opts.name ? w->opts.name : "";
}

/* ---- shared memory below the views ---- */

static void shared_drained(struct bf_cache *c, struct bf_region *r, uint64_t offset, const void *data, uint32_t len,
			   bool through, uint32_t actor)
{
	struct bf_cluster_world *w = BF_CONTAINER_OF(c, struct bf_cluster_world, cache);
	const struct bf_sm_of *sm = r->owner;
	const struct bf_sim_grid *g = w->grid;
	const struct bf_cluster_lane *l =
	    actor - g->first_actor < g->nactors ? g->by_actor[actor - g->first_actor] : NULL;

	(void)through;
	for (struct bf_cta_of *cta = sm->ctas; cta; cta = cta->next) {
		const uint64_t at = (uint64_t)(cta->window - r->bytes);

		if (!cta->model || offset < at || offset - at >= g->opts.shared_bytes)
			continue;
		bf_bulk_plain_store(cta->model, l && l->warp->cta == cta ? l->warp->index : 0,
				    bf_hopper_map((uint32_t)(offset - at), cta->rank), data, len);
		return;
	}
	memcpy(r->bytes + offset, data, len);
}

static void shared_loaded(struct bf_cache *c, struct bf_region *r, uint64_t offset, void *data, uint32_t len,
			  bool through)
{
	(void)c;
	(void)through;
	memcpy(data, r->bytes + offset, len);
}

static void nothing(struct bf_cache *c)
{
	(void)c;
}

static void no_visit(struct bf_cache *c, struct bf_region *r, uint64_t offset, uint64_t len,
		     const struct bf_visitor *by)
{
	(void)c;
	(void)r;
	(void)offset;
	(void)len;
	(void)by;
}

static const struct bf_cache_ops shared_ops = {
	.load = shared_loaded, .store = shared_drained, .write_back = nothing, .landing = no_visit, .sampled = no_visit
};

static int map_sm(struct bf_cluster_world *w, struct bf_cta_of *cta)
{
	struct bf_sm_of *sm = &w->sm[bf_hopper_cta_sm(cta->model)];
	char name[32];
	struct bf_region_opts opts = { .name = name,
				       .kind = BF_MEM_VRAM,
				       .size = bf_hopper_profile(w->gpu)->shared_bytes,
				       .bytes = cta->window - bf_hopper_cta_base(cta->model) };
	int rc;

	cta->next = sm->ctas;
	sm->ctas = cta;
	sm->unit = bf_hopper_cta_unit(cta->model);
	if (sm->region)
		return 0;
	snprintf(name, sizeof(name), "shared memory of sm%u", bf_hopper_cta_sm(cta->model));
	rc = bf_region_create(w->space, &opts, &sm->region);
	if (rc)
		return rc;
	sm->region->owner = sm;
	bf_region_set_cache(sm->region, &w->cache);
	return 0;
}

/* ---- a grid ---- */

static void lane_ended(struct bf_cluster_lane *l)
{
	struct bf_cta_of *cta = l->warp->cta;
	struct bf_sim_grid *g = cta->cluster->grid;
	struct bf_cta_of **link;

	l->done = true;
	l->waits = false;
	l->warp->exited |= 1u << l->thread.lane;
	g->alive--;
	g->progress_ps = g->world->sim->now_ps;
	if (g->alive == 0)
		bf_sim_cancel(g->world->sim, &g->watchdog);
	if (--cta->alive) {
		bf_cluster_meet_without(cta);
		return;
	}
	for (link = &g->world->sm[bf_hopper_cta_sm(cta->model)].ctas; *link != cta; link = &(*link)->next)
		;
	*link = cta->next;
	bf_hopper_exit(cta->model);
	cta->model = NULL;
}

static void lane_main(struct bf_agent *self, void *arg)
{
	struct bf_cluster_lane *l = arg;

	const struct bf_sim_grid *g = l->warp->cta->cluster->grid;

	l->thread.agent = self;
	bf_agent_delay(self, l->warp->cta->start_ps);
	g->opts.kernel(&l->thread, g->opts.arg);
	bf_fence(self, BF_SCOPE_GPU); /* what a thread has stored is there for those who come after the kernel */
	bf_agent_sync(self);
	lane_ended(l);
}

static int start_lane(struct bf_sim_grid *g, struct bf_cluster_lane *l)
{
	struct bf_cluster_world *w = g->world;
	struct bf_cta_of *cta = l->warp->cta;
	char name[32];
	const struct bf_view_opts view = {
		.ordering = w->opts.ordering,
		.space = w->space,
		.domain = cta->domain,
		.cost = w->opts.cost ? w->opts.cost : &cost,
		.name = name,
	};
	struct bf_agent_opts agent = { .name = name, .main = lane_main, .arg = l, .stack_bytes = LANE_STACK };
	int rc;

	snprintf(name, sizeof(name), "%.8sb%u.w%u.l%u", prefix(w), cta->block % 65536u, l->warp->index % 64u,
		 l->thread.lane % BF_LANES);
	rc = bf_view_create(w->sim, &view, &l->view);
	if (rc)
		return rc;
	agent.view = l->view;
	rc = bf_agent_create(w->sim, &agent, &l->thread.agent);
	if (rc)
		return rc;
	if (!g->first_actor)
		g->first_actor = l->thread.agent->actor;
	if (l->thread.agent->actor - g->first_actor < g->nactors)
		g->by_actor[l->thread.agent->actor - g->first_actor] = l;
	return 0;
}

static int start_warp(struct bf_sim_grid *g, struct bf_cta_of *cta, uint32_t index)
{
	const uint32_t first = index * BF_LANES, lanes = g->threads - first < BF_LANES ? g->threads - first : BF_LANES;
	struct bf_warp_of *w = &cta->warp[index];
	char name[32];
	int rc;

	w->cta = cta;
	w->index = index;
	w->lane = &cta->lane[index * BF_LANES];
	snprintf(name, sizeof(name), "%.8sb%u.w%u", prefix(g->world), cta->block % 65536u, index % 64u);
	bf_rng_init(&w->stalls, g->world->opts.seed, name);
	rc = bf_team_create(g->world->sim, lanes, name, &w->team.team);
	for (uint32_t i = 0; i < BF_LANES; i++)
		w->lane[i].warp = w;
	for (uint32_t i = lanes; i < BF_LANES; i++) {
		w->lane[i].done = true;
		w->exited |= 1u << i;
	}
	for (uint32_t i = 0; !rc && i < lanes; i++) {
		w->lane[i].thread = (struct bf_thread){ .grid = &w->lane[i],
							.team = &w->team,
							.lane = i,
							.warp = index,
							.warps = g->opts.warps,
							.block = cta->block,
							.blocks = g->opts.clusters * g->opts.ctas };
		rc = start_lane(g, &w->lane[i]);
	}
	return rc;
}

static int start_cta(struct bf_sim_grid *g, struct bf_cluster_of *c, uint32_t rank)
{
	struct bf_cta_of *cta = &c->cta[rank];
	struct bf_cluster_world *w = g->world;
	struct bf_rng rng;
	char name[32];
	int rc;

	cta->cluster = c;
	cta->rank = rank;
	cta->model = c->model[rank];
	cta->window = bf_hopper_cta_bytes(cta->model, NULL);
	cta->block = (uint32_t)(c - g->cluster) * g->opts.ctas + rank;
	cta->alive = g->threads;
	cta->warp = calloc(g->opts.warps, sizeof(*cta->warp));
	cta->lane = calloc((size_t)g->opts.warps * BF_LANES, sizeof(*cta->lane));
	cta->granule = calloc(g->opts.shared_bytes / BF_WATCH_GRANULE + 1, sizeof(*cta->granule));
	/* Before anything can fail: free_cta() cancels the events of all. */
	for (uint32_t i = 0; cta->warp && i < g->opts.warps; i++)
		bf_event_init(&cta->warp[i].gather, bf_cluster_gather);
	if (!cta->warp || !cta->lane || !cta->granule)
		return -ENOMEM;
	snprintf(name, sizeof(name), "start of %.8sb%u", prefix(w), cta->block % 65536u);
	bf_rng_init(&rng, w->opts.seed, name);
	cta->start_ps = w->opts.ordering == BF_ORDER_SC || w->opts.chooser ? 0 : bf_rng_below(&rng, START_SKEW_PS);
	rc = map_sm(w, cta);
	if (!rc)
		rc = bf_domain_create(w->sim, BF_SCOPE_CTA, w->domain, &cta->domain);
	for (uint32_t i = 0; !rc && i < g->opts.warps; i++)
		rc = start_warp(g, cta, i);
	return rc;
}

static void free_cta(struct bf_sim_grid *g, struct bf_cta_of *cta)
{
	for (uint32_t i = 0; cta->warp && i < g->opts.warps; i++) {
		struct bf_flight *f;

		bf_sim_cancel(g->world->sim, &cta->warp[i].gather);
		while ((f = cta->warp[i].all)) {
			cta->warp[i].all = f->all;
			bf_sim_cancel(g->world->sim, &f->resume);
			bf_sim_cancel(g->world->sim, &f->instr.event);
			free(f);
		}
		bf_team_destroy(cta->warp[i].team.team);
	}
	for (uint32_t i = 0; cta->lane && i < g->opts.warps * BF_LANES; i++)
		if (cta->lane[i].view)
			bf_view_destroy(cta->lane[i].view);
	bf_domain_destroy(cta->domain);
	for (uint32_t i = 0; i < BF_WATCH_BARRIERS; i++)
		free(cta->watched[i].arrived);
	free(cta->warp);
	free(cta->lane);
	free(cta->granule);
}

/* Blocks that are still there end before what they wait with is freed. */
static void evict_blocks(struct bf_cluster_world *w)
{
	const struct bf_sim_grid *g = w->grid;

	for (uint32_t c = 0; g->cluster && c < g->opts.clusters; c++)
		for (uint32_t r = 0; g->cluster[c].cta && r < g->opts.ctas; r++) {
			if (g->cluster[c].cta[r].model)
				bf_hopper_exit(g->cluster[c].cta[r].model);
			g->cluster[c].cta[r].model = NULL;
		}
	for (uint32_t i = 0; i < bf_hopper_profile(w->gpu)->sms; i++)
		w->sm[i].ctas = NULL;
}

static void free_grid(struct bf_cluster_world *w)
{
	struct bf_sim_grid *g = w->grid;

	if (!g)
		return;
	evict_blocks(w);
	bf_sim_cancel(w->sim, &g->watchdog);
	for (uint32_t c = 0; g->cluster && c < g->opts.clusters; c++) {
		for (uint32_t r = 0; g->cluster[c].cta && r < g->opts.ctas; r++)
			free_cta(g, &g->cluster[c].cta[r]);
		free(g->cluster[c].cta);
	}
	free(g->cluster);
	free(g->by_actor);
	free(g);
	w->grid = NULL;
}

/*
 * A lane that neither waits for a phase that does not come, nor sleeps, nor has ended. In a machine those that sleep
 * for something else than each other may be woken by its other devices.
 */
static bool any_lane_runs(const struct bf_sim_grid *g)
{
	const bool machine = g->world->opts.sim;

	for (uint32_t c = 0; c < g->opts.clusters; c++)
		for (uint32_t r = 0; r < g->opts.ctas; r++)
			for (uint32_t i = 0; i < g->opts.warps * BF_LANES; i++) {
				const struct bf_cluster_lane *l = &g->cluster[c].cta[r].lane[i];

				if (!l->done && !l->waits && (machine ? !l->met : !bf_lane_waits_for(l)))
					return true;
			}
	return false;
}

static bool anybody_waits(const struct bf_sim_grid *g)
{
	for (uint32_t c = 0; c < g->opts.clusters; c++)
		for (uint32_t r = 0; r < g->opts.ctas; r++)
			for (uint32_t i = 0; i < g->threads; i++)
				if (g->cluster[c].cta[r].lane[i].waits)
					return true;
	return false;
}

static void watch(struct bf_event *ev)
{
	struct bf_sim_grid *g = BF_CONTAINER_OF(ev, struct bf_sim_grid, watchdog);
	struct bf_sim *sim = g->world->sim;
	const uint64_t bytes = bf_bulk_counts(g->world->bulk)->bytes;

	if (g->world->opts.sim && !anybody_waits(g))
		return; /* when somebody begins to, it comes back */
	if (bytes != g->bulk_bytes)
		g->progress_ps = sim->now_ps;
	g->bulk_bytes = bytes;
	if (sim->now_ps - g->progress_ps >= HUNG_PS && !any_lane_runs(g)) {
		g->hung = true;
		bf_sim_stop(sim);
		return;
	}
	bf_sim_after(sim, ev, WATCH_PS);
}

void bf_cluster_watch(struct bf_sim_grid *g)
{
	if (!bf_event_pending(&g->watchdog))
		bf_sim_after(g->world->sim, &g->watchdog, WATCH_PS);
}

static int start_grid(struct bf_cluster_world *w, const struct bf_cluster_grid *opts)
{
	const uint32_t sms = bf_hopper_profile(w->gpu)->sms;
	struct bf_sim_grid *g = calloc(1, sizeof(*g));
	int rc = 0;

	w->grid = g;
	if (!g)
		return -ENOMEM;
	g->world = w;
	g->opts = *opts;
	bf_event_init(&g->watchdog, watch);
	g->threads = opts->threads ? opts->threads : opts->warps * BF_LANES;
	g->alive = opts->clusters * opts->ctas * g->threads;
	g->nactors = g->alive;
	g->progress_ps = w->sim->now_ps;
	g->by_actor = calloc(g->nactors, sizeof(struct bf_cluster_lane *));
	g->cluster = calloc(opts->clusters, sizeof(*g->cluster));
	if (!g->cluster || !g->by_actor)
		return -ENOMEM;
	for (uint32_t c = 0; !rc && c < opts->clusters; c++) {
		const struct bf_hopper_launch launch = { .sm = (w->opts.first_sm + c * opts->ctas) % sms,
							 .ctas = opts->ctas,
							 .shared_bytes = opts->shared_bytes,
							 .warps = opts->warps };

		g->cluster[c].grid = g;
		g->cluster[c].cta = calloc(opts->ctas, sizeof(struct bf_cta_of));
		rc = g->cluster[c].cta ? bf_hopper_launch(w->gpu, &launch, g->cluster[c].model) : -ENOMEM;
	}
	/* Lanes come after all blocks, which have actors of their own: so lanes' actors are consecutive. */
	for (uint32_t c = 0; !rc && c < opts->clusters; c++)
		for (uint32_t r = 0; !rc && r < opts->ctas; r++)
			rc = start_cta(g, &g->cluster[c], r);
	if (!rc)
		bf_cluster_watch(g);
	return rc;
}

int bf_cluster_start(struct bf_cluster_world *w, const struct bf_cluster_grid *grid)
{
	int rc;

	if (w->stuck)
		return bf_fail(w->err, -EBUSY, "this world has had its grid");
	w->stuck = true;
	rc = start_grid(w, grid);
	return rc ? bf_fail(w->err, rc, "cannot start the grid: %s",
			    w->sim->error.code ? w->sim->error.text : strerror(-rc))
		  : 0;
}

void bf_cluster_standing(struct bf_cluster_world *w, struct bf_cluster_result *out)
{
	memset(out, 0, sizeof(*out));
	if (!w->grid || w->grid->alive == 0)
		return;
	out->end = bf_hopper_fault(w->gpu) || w->sim->error.code == -EFAULT ? BF_CLUSTER_FAULT
		   : w->grid->hung                                          ? BF_CLUSTER_HUNG
									    : BF_CLUSTER_LIMIT;
	bf_watch_report(w, out);
}

static void count_units(struct bf_cluster_world *w, const struct bf_sim_grid *g, struct bf_cluster_result *out)
{
	(void)g;
	for (uint32_t i = 0; i < bf_hopper_profile(w->gpu)->sms; i++) {
		const struct bf_sync_unit *unit = w->sm[i].unit;
		const struct bf_sync_counts *n = unit ? bf_sync_counts(unit) : NULL;

		out->barrier_ops += n ? n->ops : 0;
		out->phases += n ? n->completed : 0;
		out->parked += n ? n->parked : 0;
		out->waits += n ? n->woken + n->expired + n->refused : 0;
	}
	out->bulk_bytes = bf_bulk_counts(w->bulk)->bytes;
}

int bf_cluster_run(struct bf_cluster_world *w, const struct bf_cluster_grid *grid, struct bf_cluster_result *out)
{
	const uint64_t began = w->sim->now_ps;
	enum bf_run_end end;
	int rc;

	memset(out, 0, sizeof(*out));
	if (w->stuck)
		return bf_fail(w->err, -EBUSY, "an earlier grid of this world did not come to its end");
	rc = w->opts.ptx ? bf_cluster_ptx_start(w, grid) : bf_cluster_start(w, grid);
	if (rc)
		return rc;
	end = bf_sim_run(w->sim, w->opts.limit_ps ? began + w->opts.limit_ps : BF_NEVER);
	if (bf_stream_flush(&w->sim->rec) == -ENOMEM)
		return bf_fail(w->err, -ENOMEM, "no memory for records");
	if (w->sim->error.code == -ENOMEM)
		return bf_fail(w->err, -ENOMEM, "the run was stopped: %s", w->sim->error.text);
	if (bf_hopper_fault(w->gpu) || (end == BF_RUN_STOPPED && w->sim->error.code == -EFAULT))
		out->end = BF_CLUSTER_FAULT;
	else if (end == BF_RUN_IDLE && (w->ptx ? !bf_ptx_device_busy(w->ptx) : w->grid->alive == 0))
		out->end = BF_CLUSTER_DONE;
	else if (end == BF_RUN_LIMIT)
		out->end = BF_CLUSTER_LIMIT;
	else if ((w->grid && w->grid->hung) || end == BF_RUN_DEADLOCK)
		out->end = BF_CLUSTER_HUNG;
	else
		return bf_fail(w->err, w->sim->error.code ? w->sim->error.code : -ECANCELED, "the run was stopped: %s",
			       w->sim->error.text);
	if (w->ptx) {
		bf_cluster_ptx_report(w, out);
	} else {
		count_units(w, w->grid, out);
		bf_watch_report(w, out);
	}
	w->stuck = out->end != BF_CLUSTER_DONE;
	out->hash = bf_stream_hash(&w->sim->rec);
	out->records = w->sim->rec.count;
	out->events = w->sim->events;
	out->time_ps = w->sim->now_ps - began;
	if (out->end == BF_CLUSTER_DONE)
		free_grid(w);
	return 0;
}

/* ---- the world ---- */

/* A simulation and memory of its own. */
static int build_alone(struct bf_cluster_world *w)
{
	int rc = bf_sim_create(w->opts.seed, &w->sim);

	if (rc)
		return bf_fail(w->err, rc, "no memory for a simulation");
	bf_sim_chosen_by(w->sim, w->opts.chooser);
	w->sim->stacks = w->opts.stacks;
	if (w->opts.faults) {
		rc = bf_fault_plan_parse(w->opts.faults, w->opts.seed, w->err, &w->faults);
		if (rc)
			return rc;
		w->sim->faults = w->faults;
	}
	if (w->opts.record_mask)
		rc = bf_stream_open(&w->sim->rec, &w->sim->now_ps, w->opts.record_mask, w->opts.sink);
	if (rc)
		return bf_fail(w->err, rc, "cannot open the record stream");
	rc = bf_space_init(&w->own_space, w->sim, "gpu0", 0);
	if (rc)
		return bf_fail(w->err, rc, "no memory for a space");
	w->space = &w->own_space;
	return 0;
}

static int build(struct bf_cluster_world *w)
{
	char name[32];
	const struct bf_hopper_opts opts = { .name = name,
					     .profile = w->opts.profile,
					     .first_block = w->opts.first_sm,
					     .first_copy = w->opts.grids * COPIES_OF_GRID };
	int rc = 0;

	snprintf(name, sizeof(name), "%.16s%s", prefix(w), w->opts.sim ? "gpu" : "gpu0");
	w->cache.ops = &shared_ops;
	w->sim = w->opts.sim;
	w->space = w->opts.space;
	if (!w->sim)
		rc = build_alone(w);
	if (rc)
		return rc;
	rc = bf_hopper_create(w->sim, &opts, &w->gpu);
	if (!rc)
		rc = bf_bulk_create(w->gpu, w->space, &w->bulk);
	w->domain = w->opts.domain;
	if (!rc && !w->domain) {
		rc = bf_domain_create(w->sim, BF_SCOPE_GPU, NULL, &w->own_domain);
		w->domain = w->own_domain;
	}
	if (!rc) {
		w->sm = calloc(bf_hopper_profile(w->gpu)->sms, sizeof(*w->sm));
		rc = w->sm ? 0 : -ENOMEM;
	}
	return rc ? bf_fail(w->err, rc, "cannot build the GPU: %s", w->sim->error.text) : 0;
}

int bf_cluster_open(const struct bf_cluster_opts *opts, struct bf_error *err, struct bf_cluster_world **out)
{
	struct bf_cluster_world *w = calloc(1, sizeof(*w));
	int rc;

	*out = NULL;
	if (!w)
		return bf_fail(err, -ENOMEM, "no memory for a world");
	w->opts = *opts;
	w->err = err;
	rc = build(w);
	if (rc) {
		bf_cluster_close(w);
		return rc;
	}
	*out = w;
	return 0;
}

void bf_cluster_close(struct bf_cluster_world *w)
{
	if (!w)
		return;
	bf_cluster_ptx_close(w);
	if (w->grid)
		evict_blocks(w);
	if (w->bulk)
		bf_bulk_destroy(w->bulk);
	free_grid(w);
	bf_domain_destroy(w->own_domain);
	if (w->space == &w->own_space)
		bf_space_fini(&w->own_space);
	if (w->gpu)
		bf_hopper_destroy(w->gpu);
	free(w->sm);
	if (w->sim && w->sim != w->opts.sim) {
		bf_stream_close(&w->sim->rec);
		bf_sim_destroy(w->sim);
	}
	bf_fault_plan_destroy(w->faults);
	free(w);
}

struct bf_sim *bf_cluster_sim(struct bf_cluster_world *w)
{
	return w->sim;
}

int bf_cluster_alloc(struct bf_cluster_world *w, uint64_t size, const char *name, struct bf_memory *out)
{
	const struct bf_region_opts opts = { .name = name, .kind = BF_MEM_VRAM, .size = size };
	struct bf_region *r;
	const int rc = bf_region_create(w->space, &opts, &r);

	if (rc)
		return bf_fail(w->err, rc, "no memory of %llu bytes: %s", (unsigned long long)size, w->sim->error.text);
	*out = (struct bf_memory){ .ptr = r->bytes, .va = r->va, .size = r->size };
	return 0;
}
