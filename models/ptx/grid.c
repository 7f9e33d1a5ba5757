/*
 * Grids: from their streams to blocks on SMs, and to the end of the last of them.
 *
 * A grid waits for its stream, then its clusters become resident one after the other where an SM has room. A block's
 * warps are agents; when the last of them has ended, the block leaves its SM and what waits gets the room.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/machine_internal.h"

#define WARP_STACK 0                 /* the usual one */
#define START_SKEW_PS (2000 * BF_NS) /* blocks do not start together under the weak orderings */
#define SHARED_GRAIN 128u

/* ---- the end of blocks and grids ---- */

/*
 * Keeps a view or a domain until the grid ends: to destroy one gives up what waits on the GPU, other blocks' doorbells
 * too. False: there is no memory to keep it.
 */
static bool leave(struct bf_ptx_left **list, struct bf_view *view, struct bf_domain *domain)
{
	struct bf_ptx_left *l = calloc(1, sizeof(*l));

	if (!l)
		return false;
	*l = (struct bf_ptx_left){ .next = *list, .view = view, .domain = domain };
	*list = l;
	return true;
}

static void free_left(struct bf_ptx_left **list)
{
	while (*list) {
		struct bf_ptx_left *l = *list;

		*list = l->next;
		bf_view_destroy(l->view);
		bf_domain_destroy(l->domain);
		free(l);
	}
}

static void free_flights(struct bf_ptx_machine_warp *w);

static void free_warp(struct bf_ptx_machine_warp *w)
{
	struct bf_ptx_grid *g;
	struct bf_ptx_device *d;

	if (!w)
		return;
	g = w->block->grid;
	d = w->device;
	d->counts.instructions += w->core.lane_instructions;
	bf_ptx_warp_fini(&w->core);
	free_flights(w);
	for (uint32_t i = 0; i < BF_PTX_LANES; i++)
		if (w->lane[i].view && (d->opts.ordering == BF_ORDER_SC || !leave(&g->views, w->lane[i].view, NULL)))
			bf_view_destroy(w->lane[i].view);
	free(w->looks);
	free(w);
}

static void free_flights(struct bf_ptx_machine_warp *w)
{
	while (w->flights) {
		struct bf_ptx_flight *f = w->flights;

		w->flights = f->all;
		bf_sim_cancel(w->device->sim, &f->instr.event);
		bf_sim_cancel(w->device->sim, &f->wait.event);
		free(f);
	}
}

static uint32_t block_bytes(const struct bf_ptx_grid *g)
{
	return g->shared_bytes + BF_PTX_SHARED_FIRST;
}

static void free_block(struct bf_ptx_block *b)
{
	struct bf_ptx_device *d = b->grid->device;
	struct bf_ptx_sm *sm = &d->sm[b->sm];

	*b->link = b->next;
	if (b->next)
		b->next->link = b->link;
	sm->warps -= b->nwarps;
	sm->bytes -= block_bytes(b->grid);
	if (b->cta)
		bf_hopper_exit(b->cta);
	for (uint32_t i = 0; b->warp && i < b->nwarps; i++)
		free_warp(b->warp[i]);
	if (b->nc_view && !leave(&b->grid->views, b->nc_view, NULL))
		bf_view_destroy(b->nc_view);
	if (b->nc_domain && !leave(&b->grid->domains, NULL, b->nc_domain))
		bf_domain_destroy(b->nc_domain);
	if (b->domain && !leave(&b->grid->domains, NULL, b->domain))
		bf_domain_destroy(b->domain);
	b->cluster->block[b->rank] = NULL;
	free(b->warp);
	free(b);
}

static void free_cluster(struct bf_ptx_cluster *c)
{
	for (uint32_t i = 0; i < c->grid->ctas; i++)
		if (c->block[i])
			free_block(c->block[i]);
	*c->link = c->next;
	if (c->next)
		c->next->link = c->link;
	free(c);
}

void bf_ptx_grid_free(struct bf_ptx_grid *g)
{
	struct bf_ptx_device *d = g->device;
	struct bf_ptx_grid **link = &d->grids;

	for (struct bf_ptx_cluster *c = g->live, *next; c; c = next) {
		next = c->next;
		free_cluster(c);
	}
	free_left(&g->views);
	free_left(&g->domains);
	while (*link != g)
		link = &(*link)->next;
	*link = g->next;
	if (d->last_grid == &g->next)
		d->last_grid = link;
	d->slots[g->param_slot] = 0;
	free(g);
}

/* The end of a grid waits for its stores, those to doorbells too. */
static void flush_left(struct bf_ptx_grid *g)
{
	for (struct bf_ptx_left *l = g->views; l; l = l->next)
		bf_view_flush(l->view);
	for (struct bf_ptx_left *l = g->domains; l; l = l->next)
		bf_domain_flush(l->domain);
}

static void grid_ended(struct bf_ptx_grid *g)
{
	struct bf_ptx_device *d = g->device;
	const struct bf_ptx_launch launch = g->launch;

	if (!bf_ptx_is_dead(d))
		flush_left(g);

	bf_ptx_grid_free(g);
	if (launch.done)
		launch.done(launch.arg, bf_ptx_is_dead(d));
}

static void block_ended(struct bf_ptx_block *b)
{
	struct bf_ptx_cluster *c = b->cluster;
	struct bf_ptx_grid *g = b->grid;
	struct bf_ptx_device *d = g->device;

	free_block(b);
	g->ended++;
	if (--c->left == 0)
		free_cluster(c);
	if ((g->ended == g->clusters * g->ctas) || (bf_ptx_is_dead(d) && !g->live))
		grid_ended(g);
	bf_ptx_schedule(d);
}

/* ---- a warp ---- */

static void warp_main(struct bf_agent *self, void *arg)
{
	struct bf_ptx_machine_warp *w = arg;
	struct bf_ptx_block *b = w->block;
	struct bf_ptx_device *d = w->device;

	if (d->opts.ordering != BF_ORDER_SC) {
		struct bf_rng rng;
		char stream[64];

		snprintf(stream, sizeof(stream), "start of %sb%u", d->name, b->index);
		bf_rng_init(&rng, d->sim->seed, stream);
		bf_agent_delay(self, bf_rng_below(&rng, START_SKEW_PS));
	}
	if (!bf_ptx_is_dead(d))
		bf_ptx_warp_run(&w->core);
	if (!bf_ptx_is_dead(d))
		bf_ptx_drain_stores(w);
	bf_ptx_settle(w);
	bf_ptx_as_warp(w);
	bf_agent_sync(self);
	bf_agent_describe_by(self, NULL, NULL);
	w->agent = NULL;
	if (--b->alive == 0)
		block_ended(b);
}

static void fill_place(struct bf_ptx_machine_warp *w)
{
	const struct bf_ptx_block *b = w->block;
	const struct bf_ptx_grid *g = b->grid;
	struct bf_ptx_warp *c = &w->core;
	uint32_t rank = b->rank;

	for (uint32_t i = 0; i < 3; i++) {
		c->ntid[i] = g->block[i];
		c->ctaid[i] = b->ctaid[i];
		c->nctaid[i] = g->grid[i];
		c->cluster_nctaid[i] = g->cluster[i];
		c->cluster_ctaid[i] = rank % g->cluster[i];
		rank /= g->cluster[i];
		c->clusterid[i] = b->ctaid[i] / g->cluster[i];
		c->nclusterid[i] = g->grid[i] / g->cluster[i];
	}
	c->cluster_ctarank = b->rank;
	c->cluster_nctarank = g->ctas;
	c->explicit_cluster = g->explicit_cluster;
	c->warpid = w->index;
	c->gridid = g->number;
	for (uint32_t lane = 0; lane < BF_PTX_LANES; lane++) {
		const uint32_t thread = w->index * BF_PTX_LANES + lane;

		if (thread >= g->threads)
			break;
		c->lanes |= 1u << lane;
		c->tid[0][lane] = thread % g->block[0];
		c->tid[1][lane] = thread / g->block[0] % g->block[1];
		c->tid[2][lane] = thread / g->block[0] / g->block[1];
	}
}

static void fill_memory(struct bf_ptx_machine_warp *w)
{
	const struct bf_ptx_block *b = w->block;
	const struct bf_ptx_grid *g = b->grid;
	const struct bf_ptx_device *d = g->device;
	const struct bf_ptx_kernel *k = g->fn->kernel;
	struct bf_ptx_warp *c = &w->core;
	const uint32_t fixed = k->dynamic_align ? k->dynamic_offset : k->static_shared;

	c->shared = (struct bf_ptx_window){
		.host = b->shared - BF_PTX_SHARED_FIRST, /* the system's 1 KiB lies before the window */
		.base = b->rank << BF_HOPPER_RANK_SHIFT,
		.size = BF_PTX_SHARED_FIRST + g->shared_bytes,
	};
	c->constant = (struct bf_ptx_window){ .host = g->lib->constants->bytes, .size = g->lib->constants->size };
	c->constant_va = g->lib->constants->va;
	c->param = (struct bf_ptx_window){ .host = bf_ptx_param_bytes(g), .size = g->fn->param_size };
	c->param_va = bf_ptx_param_va(g);
	c->slow = &d->sim->slow;
	c->loads_mind = ~BF_SLOW_WATCH;
	c->load_ps = (uint32_t)d->pays->load;
	c->store_ps = (uint32_t)d->pays->store;
	c->plain_store = !g->copies_shared;
	c->dynamic_smem = g->launch.shared_bytes;
	c->total_smem = (g->shared_bytes + SHARED_GRAIN - 1) / SHARED_GRAIN * SHARED_GRAIN;
	c->aggr_smem = BF_PTX_SHARED_FIRST + g->shared_bytes;
	c->dynamic_offset = fixed;
	c->local_bytes = g->local_bytes;
}

static int start_warp(struct bf_ptx_block *b, uint32_t index)
{
	struct bf_ptx_device *d = b->grid->device;
	struct bf_ptx_machine_warp *w = calloc(1, sizeof(*w));
	char name[32];
	struct bf_agent_opts agent = {
		.name = name, .main = warp_main, .arg = w, .view = d->view, .stack_bytes = WARP_STACK
	};
	char stream[48];
	int rc;

	b->warp[index] = w;
	if (!w)
		return bf_fail(&d->sim->error, -ENOMEM, "no memory for a warp");
	w->block = b;
	w->device = d;
	w->index = index;
	w->core.port = &bf_ptx_machine_port;
	w->core.machine = w;
	fill_place(w);
	w->round = 1;
	w->live = w->core.lanes;
	fill_memory(w);
	snprintf(name, sizeof(name), "%.16sb%u.w%u", d->name, b->index % 1000000u, index % 64u);
	snprintf(stream, sizeof(stream), "stall/%s", name);
	bf_rng_init(&w->stalls, d->sim->seed, stream);
	rc = bf_ptx_warp_init(&w->core, b->grid->entry);
	if (rc)
		return bf_fail(&d->sim->error, rc, "no memory for warp %s", name);
	rc = bf_agent_create(d->sim, &agent, &w->agent);
	if (rc)
		return rc;
	w->actor = w->agent->actor;
	w->core.charge = &w->agent->charge_ps;
	bf_agent_describe_by(w->agent, bf_ptx_describe, w);
	d->counts.warps++;
	return 0;
}

/* ---- a cluster becomes resident ---- */

static void name_block(struct bf_ptx_block *b)
{
	const struct bf_ptx_grid *g = b->grid;
	uint32_t cluster = b->cluster->number, rank = b->rank;

	for (uint32_t i = 0; i < 3; i++) {
		const uint32_t across = g->grid[i] / g->cluster[i];

		b->ctaid[i] = cluster % across * g->cluster[i] + rank % g->cluster[i];
		cluster /= across;
		rank /= g->cluster[i];
	}
	b->index = b->ctaid[0] + g->grid[0] * (b->ctaid[1] + g->grid[1] * b->ctaid[2]);
}

static int make_block(struct bf_ptx_cluster *c, uint32_t rank, struct bf_hopper_cta *cta)
{
	struct bf_ptx_grid *g = c->grid;
	struct bf_ptx_device *d = g->device;
	struct bf_ptx_block *b = calloc(1, sizeof(*b));

	c->block[rank] = b;
	if (!b) {
		bf_hopper_exit(cta);
		return bf_fail(&d->sim->error, -ENOMEM, "no memory for a block");
	}
	b->cluster = c;
	b->grid = g;
	b->cta = cta;
	b->rank = rank;
	b->sm = bf_hopper_cta_sm(cta);
	b->base = bf_hopper_cta_base(cta);
	b->shared = bf_hopper_cta_bytes(cta, NULL);
	b->next = d->sm[b->sm].blocks;
	b->link = &d->sm[b->sm].blocks;
	if (b->next)
		b->next->link = &b->next;
	d->sm[b->sm].blocks = b;
	b->alive = b->nwarps = g->warps;
	d->sm[b->sm].warps += b->nwarps;
	d->sm[b->sm].bytes += block_bytes(g);
	name_block(b);
	b->warp = calloc(g->warps, sizeof(struct bf_ptx_machine_warp *));
	if (!b->warp)
		return bf_fail(&d->sim->error, -ENOMEM, "no memory for a block");
	d->counts.blocks++;
	return d->opts.ordering == BF_ORDER_SC ? 0 : bf_domain_create(d->sim, BF_SCOPE_CTA, d->domain, &b->domain);
}

/* Makes it out of blocks that are on their SMs. `*out` may be half of one when this fails, or NULL. */
static int make_cluster(struct bf_ptx_grid *g, struct bf_hopper_cta **ctas, struct bf_ptx_cluster **out)
{
	struct bf_ptx_cluster *c = calloc(1, sizeof(*c));
	int rc = 0;

	*out = c;

	if (!c) {
		for (uint32_t i = 0; i < g->ctas; i++)
			bf_hopper_exit(ctas[i]);
		return bf_fail(&g->device->sim->error, -ENOMEM, "no memory for a cluster");
	}
	c->grid = g;
	c->number = g->started;
	c->left = g->ctas;
	c->live = g->ctas * g->threads;
	c->next = g->live;
	c->link = &g->live;
	if (g->live)
		g->live->link = &c->next;
	g->live = c;
	for (uint32_t i = 0; i < g->ctas; i++)
		rc = make_block(c, i, ctas[i]) ? -ENOMEM : rc;
	for (uint32_t i = 0; !rc && i < g->ctas; i++)
		for (uint32_t j = 0; !rc && j < g->warps; j++)
			rc = start_warp(c->block[i], j);
	return rc;
}

/* Whether SMs have warps and shared memory left; a quick look before the GPU is asked. */
static bool may_fit(const struct bf_ptx_device *d, const struct bf_ptx_grid *g, uint32_t sm)
{
	const struct bf_hopper_profile *p = bf_hopper_profile(d->gpu);

	return d->sm[sm].warps + g->warps <= p->warps && d->sm[sm].bytes + block_bytes(g) <= p->shared_bytes;
}

/* 0, -ENOSPC: not now, or an error, with what was made of the cluster. */
static int place_cluster(struct bf_ptx_grid *g, struct bf_ptx_cluster **out)
{
	struct bf_ptx_device *d = g->device;
	struct bf_hopper_cta *ctas[BF_HOPPER_CLUSTER_MAX];

	for (uint32_t i = 0; i < d->nsms; i++) {
		const struct bf_hopper_launch launch = { .sm = (d->next_sm + i) % d->nsms,
							 .ctas = g->ctas,
							 .shared_bytes = g->shared_bytes,
							 .warps = g->warps };
		const struct bf_error before = d->sim->error;
		int rc;

		if (!may_fit(d, g, launch.sm))
			continue;
		rc = bf_hopper_launch(d->gpu, &launch, ctas);
		if (rc == -ENOSPC) {
			d->sim->error = before;
			continue;
		}
		if (rc)
			return rc;
		rc = make_cluster(g, ctas, out);
		d->next_sm = (launch.sm + g->ctas) % d->nsms;
		g->started++;
		return rc;
	}
	return -ENOSPC;
}

/* ---- streams ---- */

static bool may_start(const struct bf_ptx_grid *g)
{
	const struct bf_ptx_device *d = g->device;

	for (const struct bf_ptx_grid *o = d->grids; o != g; o = o->next)
		if (o->launch.stream == g->launch.stream || g->launch.cooperative || o->launch.cooperative)
			return false;
	return true;
}

/* Warps and blocks that were never made have ended; those that were find the device dead, and end. */
static void abandon(struct bf_ptx_cluster *c)
{
	struct bf_ptx_block *block[BF_HOPPER_CLUSTER_MAX];
	const uint32_t ctas = c->grid->ctas;

	memcpy(block, c->block, sizeof(block));
	for (uint32_t i = 0; i < ctas; i++) {
		c->left -= !block[i];
		c->grid->ended += !block[i];
	}
	if (!c->left)
		free_cluster(c);
	for (uint32_t i = 0; i < ctas; i++) {
		for (uint32_t j = 0; block[i] && j < block[i]->nwarps; j++)
			block[i]->alive -= !block[i]->warp || !block[i]->warp[j] || !block[i]->warp[j]->agent;
		if (block[i] && !block[i]->alive)
			block_ended(block[i]);
	}
}

/* Without memory nothing goes on that was begun: the device is dead, as after a fault, and who waits for it is told. */
static void die(struct bf_ptx_device *d, struct bf_ptx_cluster *half)
{
	d->fault = (struct bf_ptx_fault){ .kind = BF_PTX_FAULT_STACK, .when_ps = d->sim->now_ps };
	snprintf(d->fault.text, sizeof(d->fault.text), "%s: %.500s", BF_PTX_NO_MEMORY, d->sim->error.text);
	bf_sim_stop(d->sim);
	if (half)
		abandon(half);
	bf_ptx_give_up(d);
}

void bf_ptx_schedule(struct bf_ptx_device *d)
{
	struct bf_ptx_cluster *half = NULL;

	if (d->scheduling)
		return;
	d->scheduling = true;
	for (struct bf_ptx_grid *g = d->grids, *next; g && !bf_ptx_is_dead(d); g = next) {
		int rc = 0;

		next = g->next;
		g->running = g->running || may_start(g);
		while (!rc && g->running && g->started < g->clusters)
			rc = place_cluster(g, &half);
		if (rc && rc != -ENOSPC)
			die(d, half);
	}
	d->scheduling = false;
}

void bf_ptx_give_up(struct bf_ptx_device *d)
{
	for (uint32_t i = 0; i < d->nsms; i++)
		for (struct bf_ptx_block *b = d->sm[i].blocks; b; b = b->next)
			for (uint32_t j = 0; j < b->nwarps; j++)
				if (b->warp[j] && b->warp[j]->agent)
					bf_agent_nudge(b->warp[j]->agent);
	/* Those that have not begun have ended. */
	for (struct bf_ptx_grid *g = d->grids, *next; g; g = next) {
		next = g->next;
		if (!g->live)
			grid_ended(g);
	}
}

uint32_t bf_ptx_device_busy(const struct bf_ptx_device *d)
{
	uint32_t n = 0;

	for (const struct bf_ptx_grid *g = d->grids; g; g = g->next)
		n++;
	return n;
}

bool bf_ptx_stream_busy(const struct bf_ptx_device *d, uint32_t stream)
{
	for (const struct bf_ptx_grid *g = d->grids; g; g = g->next)
		if (g->launch.stream == stream)
			return true;
	return false;
}
