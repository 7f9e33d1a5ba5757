/*
 * Backend "sim": the models in virtual time. Every lane of a grid is an agent with a view of its own; blocks and GPUs
 * are the levels between a lane's stores and memory. Same options, same seed: same records, byte for byte.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/backends_internal.h"
#include "drivers/backend/cluster.h"
#include "drivers/backend/machine_internal.h"
#include "drivers/backend/ptx_world_internal.h"
#include "drivers/backend/ranks_internal.h"
#include "drivers/platform/platform_sim.h"
#include "models/fabric/topology.h"

/* Longest stalls of a lane: a few scheduling slots, and about as long as a message takes to a peer and back. */
#define STALL_GPU_NS 500u
#define STALL_ADVERSARIAL_NS 5000u

struct lane {
	struct bf_thread thread;
	bf_kernel_fn *kernel;
	void *arg;
	struct bf_view *view;
};

/* A block of a grid: its level in the tree of scopes, its warps and lanes. */
struct block {
	struct block *next;
	struct bf_domain *domain;
	uint32_t warps, lanes;    /* lanes of each warp: 32, or 1 of a thread of the CPU */
	struct bf_sim_warp *warp; /* [warps] */
	struct lane *lane;        /* [warps * lanes] */
};

/* A grid with shared memory: from its launch to the end of the world, which its memory is part of. */
struct grid {
	struct grid *next;
	struct bf_cluster_world *cluster;
	struct bf_cluster_grid opts;
	bool started;
	char name[16];
};

struct sim_world {
	struct bf_world m;
	struct grid *grids, **last_grid;
	uint32_t sms, ngrids;   /* that grids have taken; of them */
	struct bf_domain **gpu; /* [npes] */
	struct bf_ptx_world *ptx;
	struct block *blocks; /* that run, or are stuck */
	bool stuck;           /* a run did not end: agents of it still sleep */
};

static struct sim_world *world_of(struct bf_world *m)
{
	return BF_CONTAINER_OF(m, struct sim_world, m);
}

static int probe(char *why, size_t cap)
{
	snprintf(why, cap, "always available");
	return 0;
}

static void free_blocks(struct sim_world *w)
{
	struct block *b;

	while ((b = w->blocks)) {
		w->blocks = b->next;
		for (uint32_t i = 0; b->lane && i < b->warps * b->lanes; i++)
			bf_view_destroy(b->lane[i].view);
		for (uint32_t i = 0; b->warp && i < b->warps; i++)
			bf_team_destroy(b->warp[i].team);
		bf_domain_destroy(b->domain);
		free(b->lane);
		free(b->warp);
		free(b);
	}
}

static void world_close(struct bf_world *m)
{
	struct sim_world *w = m ? world_of(m) : NULL;

	if (!w)
		return;
	while (w->grids) {
		struct grid *g = w->grids;

		w->grids = g->next;
		bf_cluster_close(g->cluster);
		free(g);
	}
	free_blocks(w);
	bf_ptx_world_close(w->ptx);
	for (uint32_t i = 0; w->gpu && i < w->m.npes; i++)
		bf_domain_destroy(w->gpu[i]);
	free(w->gpu);
	bf_machine_close(&w->m);
	free(w);
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	struct sim_world *w = calloc(1, sizeof(*w));
	int rc;

	*out = NULL;
	if (!w)
		return bf_fail(err, -ENOMEM, "no memory for a world");
	w->last_grid = &w->grids;
	rc = bf_machine_open(&w->m, opts, err);
	if (rc) {
		free(w);
		return rc;
	}
	w->gpu = calloc(opts->npes, sizeof(struct bf_domain *));
	rc = w->gpu ? 0 : -ENOMEM;
	for (uint32_t i = w->m.first; !rc && i < w->m.first + w->m.count; i++)
		rc = bf_domain_create(w->m.sim, BF_SCOPE_GPU, NULL, &w->gpu[i]);
	if (!rc)
		rc = bf_ptx_world_open(&w->m, w->gpu, opts->ptx, &w->ptx);
	if (rc) {
		world_close(&w->m);
		return bf_fail(err, rc, "no memory for a GPU");
	}
	*out = &w->m;
	return 0;
}

static void lane_main(struct bf_agent *self, void *arg)
{
	struct lane *l = arg;

	l->thread.agent = self;
	l->kernel(&l->thread, l->arg);
}

/* A processor is never as free as a GPU with its stores, unless the world is out to break what it can. */
static enum bf_ordering cpu_ordering(enum bf_ordering world)
{
	return world == BF_ORDER_GPU ? BF_ORDER_TSO : world;
}

static int start_lane(struct sim_world *w, const struct bf_grid *g, struct block *b, uint32_t index)
{
	struct lane *l = &b->lane[index];
	struct bf_thread *t = &l->thread;
	char name[32], stream[48];
	struct bf_view_opts view = { .ordering = g->cpu ? cpu_ordering(w->m.ordering) : w->m.ordering,
				     .space = &w->m.pe[g->pe].space,
				     .domain = b->domain,
				     .cost = g->cpu ? &bf_cost_cpu : &bf_cost_gpu,
				     .name = name };
	struct bf_agent_opts agent = { .name = name, .main = lane_main, .arg = l };
	int rc;

	if (g->cpu)
		snprintf(name, sizeof(name), "pe%u.cpu%u", g->pe, t->block);
	else
		snprintf(name, sizeof(name), "pe%u.b%u.w%u.l%u", g->pe % BF_PES_MAX, t->block % 65536u,
			 t->warp % 65536u, t->lane % BF_LANES);
	t->stall_ns = w->m.ordering == BF_ORDER_GPU           ? STALL_GPU_NS
		      : w->m.ordering == BF_ORDER_ADVERSARIAL ? STALL_ADVERSARIAL_NS
							      : 0;
	if (t->stall_ns) {
		snprintf(stream, sizeof(stream), "stall/%s", name);
		bf_rng_init(&t->stalls, w->m.sim->seed, stream);
	}
	l->kernel = g->kernel;
	l->arg = g->arg;
	rc = bf_view_create(w->m.sim, &view, &l->view);
	if (rc)
		return rc;
	agent.view = l->view;
	return bf_agent_create(w->m.sim, &agent, &t->agent);
}

static int start_block(struct sim_world *w, const struct bf_grid *g, uint32_t index)
{
	struct block *b = calloc(1, sizeof(*b));
	int rc = 0;

	if (!b)
		return -ENOMEM;
	b->next = w->blocks;
	w->blocks = b;
	b->warps = g->warps;
	b->lanes = g->cpu ? 1 : w->m.lanes;
	b->warp = calloc(g->warps, sizeof(*b->warp));
	b->lane = calloc((size_t)g->warps * b->lanes, sizeof(*b->lane));
	if (!b->warp || !b->lane)
		return -ENOMEM;
	if (!g->cpu)
		rc = bf_domain_create(w->m.sim, BF_SCOPE_CTA, w->gpu[g->pe], &b->domain);
	for (uint32_t i = 0; !rc && i < g->warps; i++) {
		char name[32];

		snprintf(name, sizeof(name), "pe%u.%s%u.w%u", g->pe, g->cpu ? "cpu" : "b", index, i);
		rc = bf_team_create(w->m.sim, b->lanes, name, &b->warp[i].team);
		for (uint32_t lane = 0; !rc && lane < b->lanes; lane++) {
			struct bf_thread *t = &b->lane[i * b->lanes + lane].thread;

			*t = (struct bf_thread){ .team = &b->warp[i],
						 .lane = lane,
						 .warp = i,
						 .warps = g->warps,
						 .block = index,
						 .blocks = g->blocks };
			rc = start_lane(w, g, b, i * b->lanes + lane);
		}
	}
	return rc;
}

static int launch_grid(struct bf_world *m, uint32_t pe, const struct bf_grid_opts *opts, bf_kernel_fn *kernel,
		       void *arg)
{
	struct sim_world *w = world_of(m);
	const uint32_t ctas = opts->cluster ? opts->cluster : 1;
	struct grid *g;
	int rc = bf_machine_check_pe(m, pe);

	if (rc)
		return rc;
	if (!kernel || !opts->blocks || opts->blocks > BF_GRID_BLOCKS || opts->blocks % ctas || !opts->threads ||
	    opts->threads > 1024)
		return bf_fail(
		    m->err, -EINVAL,
		    "a grid of %u blocks in clusters of %u, of %u threads: must be 1 to %u blocks of 1 to 1024 "
		    "threads, in whole clusters",
		    opts->blocks, ctas, opts->threads, BF_GRID_BLOCKS);
	g = calloc(1, sizeof(*g));
	if (!g)
		return bf_fail(m->err, -ENOMEM, "no memory for a grid");
	*w->last_grid = g;
	w->last_grid = &g->next;
	snprintf(g->name, sizeof(g->name), "pe%u.", pe % BF_PES_MAX);
	g->opts = (struct bf_cluster_grid){ .clusters = opts->blocks / ctas,
					    .ctas = ctas,
					    .warps = (opts->threads + BF_LANES - 1) / BF_LANES,
					    .threads = opts->threads,
					    .shared_bytes = opts->shared_bytes ? opts->shared_bytes : BF_LINE,
					    .kernel = kernel,
					    .arg = arg };
	rc = bf_cluster_open(&(struct bf_cluster_opts){ .seed = m->sim->seed,
							.ordering = m->ordering,
							.chooser = m->sim->chooser,
							.sim = m->sim,
							.space = &m->pe[pe].space,
							.domain = w->gpu[pe],
							.cost = &bf_cost_gpu,
							.name = g->name,
							.first_sm = w->sms,
							.grids = w->ngrids++ },
			     m->err, &g->cluster);
	w->sms += opts->blocks;
	return rc;
}

static int start_grids(struct sim_world *w)
{
	struct bf_grid *g;
	int rc = 0;

	while ((g = bf_machine_next_grid(&w->m))) {
		const bool ptx = !g->cpu && bf_ptx_world_runs_drivers(w->ptx);

		if (!rc && ptx)
			rc = bf_ptx_world_start_driver(w->ptx, g);
		for (uint32_t i = 0; !rc && !ptx && i < g->blocks; i++)
			rc = start_block(w, g, i);
		free(g);
	}
	for (struct grid *c = w->grids; !rc && c; c = c->next)
		if (!c->started) {
			c->started = true;
			rc = bf_cluster_start(c->cluster, &c->opts);
		}
	return rc ? rc : bf_ptx_world_start(w->ptx);
}

/*
 * How grids with shared memory stand when a run is over. True: one has stopped the run, since its threads wait for each
 * other for ever. Of a fault the text is the run's error.
 */
static bool grids_hang(struct sim_world *w, char *report, size_t cap)
{
	struct bf_cluster_result *r = malloc(sizeof(*r));
	bool hang = false;

	for (struct grid *g = w->grids; r && g; g = g->next) {
		const size_t used = strlen(report);

		if (!g->started)
			continue;
		bf_cluster_standing(g->cluster, r);
		hang |= r->end == BF_CLUSTER_HUNG;
		if (r->end == BF_CLUSTER_FAULT && !w->m.sim->error.code)
			bf_fail(&w->m.sim->error, -EFAULT, "a kernel faulted: %.200s", r->report);
		else if (r->end != BF_CLUSTER_DONE && used < cap)
			snprintf(report + used, cap - used, "%.*s", (int)(cap - used - 1), r->report);
	}
	free(r);
	return hang;
}

/*
 * Who waits for what. Lanes that wait only for siblings of their warp are left out as long as the one that they wait
 * for is in the list itself; a count stands for them, and for those that find no room.
 */
static void describe_agents(struct bf_sim *sim, char *report, size_t cap)
{
	const size_t len = bf_agents_describe(sim, NULL, 0) + 1;
	char *text = malloc(len), *rest = text, *line;
	const size_t last = 96; /* room for the counts */
	uint32_t left_out = 0, more = 0;
	size_t used = strlen(report);

	if (!text)
		return;
	bf_agents_describe(sim, text, len);
	while ((line = strsep(&rest, "\n"))) {
		if (strstr(line, "waits for its team") && strstr(line, "has not come)")) {
			left_out++;
			continue;
		}
		if (*line && used + strlen(line) + 1 + last < cap)
			used += (size_t)snprintf(report + used, cap - used, "%s\n", line);
		else
			more += *line != '\0';
	}
	if (more)
		used += (size_t)snprintf(report + used, cap - used, "(and %u more that wait)\n", more);
	if (left_out)
		snprintf(report + used, cap - used, "(and %u lanes that wait for these)\n", left_out);
	free(text);
}

static int run_all(struct sim_world *w, uint64_t until_ps, enum bf_run_end *end)
{
	if (w->m.ranks)
		return bf_ranks_run(w->m.ranks, until_ps, end);
	*end = bf_sim_run(w->m.sim, until_ps);
	return 0;
}

static int world_run(struct bf_world *m, struct bf_world_result *out)
{
	struct sim_world *w = world_of(m);
	struct bf_sim *sim = w->m.sim;
	const uint64_t began = sim->now_ps;
	enum bf_run_end end;
	int rc;

	memset(out, 0, sizeof(*out));
	if (w->stuck)
		return bf_fail(w->m.err, -EBUSY, "an earlier run of this world did not end");
	w->stuck = true;
	rc = start_grids(w);
	if (rc)
		return bf_fail(w->m.err, rc, "cannot start the grid: %s",
			       sim->error.code ? sim->error.text : strerror(-rc));
	for (uint32_t pe = 0; w->m.unrecorded && pe < w->m.npes && !rc; pe++)
		rc = bf_space_know(&w->m.pe[pe].space);
	if (rc)
		return bf_fail(w->m.err, rc, "%s", sim->error.text);
	rc = run_all(w, w->m.limit_ps == BF_NEVER ? BF_NEVER : began + w->m.limit_ps, &end);
	if (rc)
		return rc;
	if (end != BF_RUN_IDLE && grids_hang(w, out->report, sizeof(out->report)) && !sim->error.code)
		end = BF_RUN_DEADLOCK;
	if (end == BF_RUN_STOPPED)
		return bf_fail(w->m.err, sim->error.code ? sim->error.code : -ECANCELED, "the run was stopped: %s",
			       sim->error.text);
	out->end = end == BF_RUN_IDLE ? BF_END_DONE : end == BF_RUN_LIMIT ? BF_END_LIMIT : BF_END_DEADLOCK;
	if (end == BF_RUN_IDLE) {
		free_blocks(w);
		w->stuck = false;
	} else {
		bf_machine_describe_gpus(&w->m, out->report, sizeof(out->report));
		bf_machine_describe_queues(&w->m, out->report, sizeof(out->report));
		describe_agents(sim, out->report, sizeof(out->report));
	}
	if (w->m.fabric)
		bf_fabric_report(w->m.fabric);
	rc = bf_machine_result(&w->m, began, out);
	if (rc)
		return rc;
	return w->m.ranks ? bf_ranks_merge(w->m.ranks, out) : 0;
}

static int ptx_load(struct bf_world *m, uint32_t pe, const struct bf_ptx_source *sources, uint32_t count,
		    struct bf_ptx_library **out)
{
	return bf_ptx_world_load(world_of(m)->ptx, pe, sources, count, out);
}

static int ptx_launch(struct bf_world *m, uint32_t pe, struct bf_ptx_library *lib, const struct bf_ptx_launch *launch)
{
	return bf_ptx_world_launch(world_of(m)->ptx, pe, lib, launch);
}

const struct bf_backend bf_backend_sim = {
	BF_BACKEND_HEAD,
	.name = "sim",
	.summary = "models in virtual time, deterministic",
	.records = BF_CLASS_ALL | BF_CLASS_WHERE,
	.probe = probe,
	.open = world_open,
	.close = world_close,
	.alloc = bf_machine_alloc,
	.alloc_image = bf_machine_alloc_image,
	.nic_info = bf_machine_nic_info,
	.command = bf_machine_command,
	.map_uar = bf_machine_map_uar,
	.port_up = bf_machine_port_up,
	.listen = bf_machine_listen,
	.say = bf_machine_say,
	.address = bf_machine_address,
	.launch = bf_machine_launch,
	.launch_cpu = bf_machine_launch_cpu,
	.ops = bf_part_ops,
	.gpu_regs = bf_machine_gpu_regs,
	.run = world_run,
	.pe_hashes = bf_machine_pe_hashes,
	.sim = bf_machine_sim,
	.platform = BF_PLATFORM_SIM,
	.model = bf_machine_model,
	.ptx_load = ptx_load,
	.ptx_launch = ptx_launch,
	.launch_grid = launch_grid,
};
