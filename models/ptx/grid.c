/*
 * Grids: from a launch to blocks on SMs, and to the end of the last of them.
 *
 * A grid waits for its stream, then its clusters become resident one after the other where an SM has room. A block's
 * warps are agents; when the last of them has ended, the block leaves its SM and what waits gets the room.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/machine_internal.h"

#define WARP_STACK 0                         /* the usual one */
#define START_SKEW_PS (2000 * BF_NS)         /* blocks do not start together under the weak orderings */
#define SLOTS 64u                            /* in a region of parameters */
#define SLOT_BYTES (BF_PTX_PARAM_SLOT + 64u) /* the grid's workspace for cooperative groups behind */
#define SHARED_GRAIN 128u

/* ---- parameters ---- */

static int take_slot(struct bf_ptx_device *d, uint32_t *out)
{
	const struct bf_region_opts opts = { .name = "ptx.params", .kind = BF_MEM_VRAM, .size = SLOTS * SLOT_BYTES };
	struct bf_region **regions;
	uint8_t *slots;
	int rc;

	for (uint32_t i = 0; i < d->nparams * SLOTS; i++)
		if (!d->slots[i]) {
			d->slots[i] = 1;
			*out = i;
			return 0;
		}
	regions = realloc(d->params, (d->nparams + 1) * sizeof(struct bf_region *));
	if (regions)
		d->params = regions;
	slots = regions ? realloc(d->slots, (size_t)(d->nparams + 1) * SLOTS) : NULL;
	if (!slots)
		return bf_fail(&d->sim->error, -ENOMEM, "no memory for a kernel's parameters");
	d->slots = slots;
	memset(slots + (size_t)d->nparams * SLOTS, 0, SLOTS);
	rc = bf_region_create(d->opts.space, &opts, &d->params[d->nparams]);
	if (rc)
		return rc;
	*out = d->nparams++ * SLOTS;
	d->slots[*out] = 1;
	return 0;
}

static uint8_t *slot_bytes(const struct bf_ptx_device *d, uint32_t slot)
{
	return d->params[slot / SLOTS]->bytes + (size_t)(slot % SLOTS) * SLOT_BYTES;
}

static uint64_t slot_va(const struct bf_ptx_device *d, uint32_t slot)
{
	return d->params[slot / SLOTS]->va + (uint64_t)(slot % SLOTS) * SLOT_BYTES;
}

uint64_t bf_ptx_workspace(const struct bf_ptx_grid *g)
{
	return g->launch.cooperative ? slot_va(g->device, g->param_slot) + BF_PTX_PARAM_SLOT : 0;
}

/* ---- the end of blocks and grids ---- */

/* Keeps a view or a domain until the grid ends; false: there is no memory to keep it. */
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

static void free_block(struct bf_ptx_block *b)
{
	struct bf_ptx_device *d = b->grid->device;
	struct bf_ptx_block **link = &d->sm[b->sm];

	while (*link && *link != b)
		link = &(*link)->next;
	if (*link)
		*link = b->next;
	if (b->cta)
		bf_hopper_exit(b->cta);
	for (uint32_t i = 0; b->warp && i < b->nwarps; i++)
		free_warp(b->warp[i]);
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

	while (g->live)
		free_cluster(g->live);
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
	c->param = (struct bf_ptx_window){ .host = slot_bytes(d, g->param_slot), .size = g->fn->param_size };
	c->param_va = slot_va(d, g->param_slot);
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
	b->next = d->sm[b->sm];
	d->sm[b->sm] = b;
	b->alive = b->nwarps = g->warps;
	name_block(b);
	b->warp = calloc(g->warps, sizeof(struct bf_ptx_machine_warp *));
	if (!b->warp)
		return bf_fail(&d->sim->error, -ENOMEM, "no memory for a block");
	d->counts.blocks++;
	return d->opts.ordering == BF_ORDER_SC ? 0 : bf_domain_create(d->sim, BF_SCOPE_CTA, d->domain, &b->domain);
}

/* Makes it out of blocks that are on their SMs. */
static int make_cluster(struct bf_ptx_grid *g, struct bf_hopper_cta **ctas)
{
	struct bf_ptx_cluster *c = calloc(1, sizeof(*c));
	int rc = 0;

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
	const uint32_t need = g->shared_bytes + BF_PTX_SHARED_FIRST;
	uint32_t warps = 0, bytes = 0;

	for (const struct bf_ptx_block *b = d->sm[sm]; b; b = b->next) {
		warps += b->nwarps;
		bytes += b->grid->shared_bytes + BF_PTX_SHARED_FIRST;
	}
	return warps + g->warps <= p->warps && bytes + need <= p->shared_bytes;
}

/* 0, -ENOSPC: not now, or an error. */
static int place_cluster(struct bf_ptx_grid *g)
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
		rc = make_cluster(g, ctas);
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

void bf_ptx_schedule(struct bf_ptx_device *d)
{
	if (d->scheduling)
		return;
	d->scheduling = true;
	for (struct bf_ptx_grid *g = d->grids, *next; g && !bf_ptx_is_dead(d); g = next) {
		int rc = 0;

		next = g->next;
		g->running = g->running || may_start(g);
		while (!rc && g->running && g->started < g->clusters)
			rc = place_cluster(g);
		if (rc && rc != -ENOSPC)
			bf_sim_stop(d->sim); /* for lack of memory; sim->error says so */
	}
	d->scheduling = false;
}

void bf_ptx_give_up(struct bf_ptx_device *d)
{
	for (uint32_t i = 0; i < d->nsms; i++)
		for (struct bf_ptx_block *b = d->sm[i]; b; b = b->next)
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

/* ---- a launch ---- */

static int refuse_shape(struct bf_ptx_grid *g, const char *what, uint32_t got, uint32_t most)
{
	return bf_fail(&g->device->sim->error, -EINVAL, "launch of %s: %s is %u, must be %s%u", g->fn->name, what, got,
		       most ? "at most " : "more than ", most);
}

static uint32_t volume(const uint32_t v[3])
{
	return v[0] * v[1] * v[2];
}

static int take_shape(struct bf_ptx_grid *g, const struct bf_ptx_launch *l)
{
	static const char axis[] = "xyz";
	const struct bf_ptx_func *f = g->fn;
	struct bf_error *err = &g->device->sim->error;
	const bool fixed = f->cluster[0] != 0;

	g->explicit_cluster = f->explicit_cluster || fixed || l->cluster[0];
	for (uint32_t i = 0; i < 3; i++) {
		g->grid[i] = l->grid[i] ? l->grid[i] : 1;
		g->block[i] = l->block[i] ? l->block[i] : 1;
		g->cluster[i] = fixed ? f->cluster[i] : l->cluster[i];
		g->cluster[i] = g->cluster[i] ? g->cluster[i] : 1;
		if (fixed && l->cluster[i] && l->cluster[i] != g->cluster[i])
			return bf_fail(err, -EINVAL, "launch of %s: its cluster is %u blocks in %c, not %u", f->name,
				       g->cluster[i], axis[i], l->cluster[i]);
		if (f->blocks_are_clusters)
			g->grid[i] *= g->cluster[i];
		if (g->grid[i] % g->cluster[i])
			return bf_fail(err, -EINVAL, "launch of %s: %u blocks in %c are not whole clusters of %u",
				       f->name, g->grid[i], axis[i], g->cluster[i]);
		if (f->reqntid[0] && g->block[i] != (f->reqntid[i] ? f->reqntid[i] : 1))
			return bf_fail(err, -EINVAL, "launch of %s: blocks of %u threads in %c; .reqntid says %u",
				       f->name, g->block[i], axis[i], f->reqntid[i] ? f->reqntid[i] : 1);
	}
	if (g->block[0] > 1024 || g->block[1] > 1024 || g->block[2] > 64)
		return refuse_shape(g, "a block's side",
				    g->block[0] > 1024   ? g->block[0]
				    : g->block[1] > 1024 ? g->block[1]
							 : g->block[2],
				    1024);
	g->threads = volume(g->block);
	g->ctas = volume(g->cluster);
	if (g->threads > 1024)
		return refuse_shape(g, "threads of a block", g->threads, 1024);
	if (f->maxntid[0] && g->threads > volume((const uint32_t[3]){ f->maxntid[0], f->maxntid[1] ? f->maxntid[1] : 1,
								      f->maxntid[2] ? f->maxntid[2] : 1 }))
		return bf_fail(err, -EINVAL, "launch of %s: %u threads of a block are more than .maxntid says", f->name,
			       g->threads);
	if (g->ctas > BF_HOPPER_CLUSTER_MAX)
		return refuse_shape(g, "blocks of a cluster", g->ctas, BF_HOPPER_CLUSTER_MAX);
	if ((uint64_t)g->grid[0] * g->grid[1] * g->grid[2] > INT32_MAX)
		return bf_fail(err, -EINVAL, "launch of %s: more than %d blocks", f->name, INT32_MAX);
	g->warps = (g->threads + BF_PTX_LANES - 1) / BF_PTX_LANES;
	g->clusters = volume(g->grid) / g->ctas;
	return 0;
}

int bf_ptx_refusal_text(const struct bf_ptx_program *p, const struct bf_ptx_func *f, char *why, size_t cap)
{
	struct bf_ptx_refusal r = { 0 };
	char where[300] = "";

	if (!bf_ptx_next_refusal(p, f->kernel, &r))
		return 0;
	if (r.stmt)
		bf_ptx_where(p, r.func, r.stmt, where, sizeof(where));
	snprintf(why, cap, "kernel %s can reach %s: %s%s%s", f->name, r.what, r.reason, where[0] ? ", " : "", where);
	return -ENOTSUP;
}

static int refuse_reachable(const struct bf_ptx_grid *g)
{
	char why[1024];

	if (!bf_ptx_refusal_text(g->lib->program, g->fn, why, sizeof(why)))
		return 0;
	return bf_fail(&g->device->sim->error, -ENOTSUP, "%s", why);
}

uint64_t bf_ptx_local_bytes(const struct bf_ptx_program *p, const struct bf_ptx_kernel *k)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < k->func_count; i++) {
		const struct bf_ptx_func *f = p->funcs[k->funcs[i]];

		for (uint32_t j = 0; j < f->var_count; j++) {
			const struct bf_ptx_var *v = p->vars[f->vars[j]];

			if (v->space == BF_PTX_LOCAL || (v->space == BF_PTX_PARAM && !f->entry && v->addressed))
				bytes += (v->size + v->align + 15) & ~15ull;
		}
	}
	return bytes;
}

/* What is known of a kernel by all that it can reach. */
static void look_at(struct bf_ptx_library *lib, const struct bf_ptx_func *fn)
{
	struct bf_ptx_traits *t = &lib->traits[fn->number];
	const struct bf_ptx_kernel *k = fn->kernel;

	if (t->known)
		return;
	t->known = true;
	t->stack = k->recursive;
	for (uint32_t i = 0; i < k->func_count; i++) {
		const struct bf_ptx_func *f = lib->program->funcs[k->funcs[i]];

		for (uint32_t j = 0; j < f->stmt_count; j++) {
			const struct bf_ptx_form *form = f->stmts[j].form;

			t->stack = t->stack || form->op == BF_PTX_OP_ALLOCA;
			t->copies_shared = t->copies_shared || form->op == BF_PTX_OP_CP_REDUCE_ASYNC_BULK ||
					   (form->op == BF_PTX_OP_CP_ASYNC_BULK && form->space2 != BF_PTX_GLOBAL);
		}
	}
	t->local_bytes = bf_ptx_local_bytes(lib->program, k);
}

static int take_memory(struct bf_ptx_grid *g, const struct bf_ptx_launch *l)
{
	const struct bf_ptx_func *f = g->fn;
	const struct bf_ptx_kernel *k = f->kernel;
	const struct bf_hopper_profile *p = bf_hopper_profile(g->device->gpu);
	struct bf_error *err = &g->device->sim->error;
	const uint32_t fixed = k->dynamic_align ? k->dynamic_offset : k->static_shared;
	const struct bf_ptx_traits *t = &g->lib->traits[f->number];
	const uint64_t shared = (uint64_t)fixed + l->shared_bytes;
	uint64_t local;

	if (l->param_bytes != f->param_size)
		return bf_fail(err, -EINVAL, "launch of %s: %zu bytes of parameters, it takes %u", f->name,
			       l->param_bytes, f->param_size);
	if (f->param_size > BF_PTX_PARAM_SLOT)
		return refuse_shape(g, "bytes of parameters", f->param_size, BF_PTX_PARAM_SLOT);
	if (shared + BF_PTX_SHARED_FIRST > p->shared_bytes)
		return bf_fail(err, -ENOSPC, "launch of %s: %" PRIu64 " bytes of shared memory, an SM has %u", f->name,
			       shared, p->shared_bytes - BF_PTX_SHARED_FIRST);
	if (g->warps > p->warps)
		return bf_fail(err, -ENOSPC, "launch of %s: %u warps of a block, an SM has %u", f->name, g->warps,
			       p->warps);
	look_at(g->lib, f);
	local = t->local_bytes + (t->stack ? g->device->opts.stack_bytes : 0);
	g->local_bytes = (uint32_t)(local < BF_PTX_LOCAL_SIZE / 2 ? (local + 15) & ~15ull : BF_PTX_LOCAL_SIZE / 2);
	g->copies_shared = t->copies_shared;
	g->shared_bytes = (uint32_t)shared;
	if (l->cooperative) {
		const uint32_t by_warps = p->warps / g->warps;
		const uint32_t by_bytes = p->shared_bytes / (g->shared_bytes + BF_PTX_SHARED_FIRST);
		const uint64_t most = (uint64_t)(by_warps < by_bytes ? by_warps : by_bytes) * g->device->nsms;

		if (volume(g->grid) > most)
			return bf_fail(err, -ENOSPC,
				       "cooperative launch of %s: %u blocks, %" PRIu64 " are resident at once", f->name,
				       volume(g->grid), most);
	}
	return 0;
}

int bf_ptx_device_launch(struct bf_ptx_device *d, struct bf_ptx_library *lib, const struct bf_ptx_launch *launch)
{
	const struct bf_ptx_func *f = bf_ptx_find_func(lib->program, launch->kernel);
	struct bf_ptx_grid *g;
	int rc;

	if (bf_ptx_is_dead(d))
		return bf_fail(&d->sim->error, -EIO, "an earlier kernel failed: %s", d->fault.text);
	if (!f || !f->entry || !f->defined)
		return bf_fail(&d->sim->error, -ENOENT, "no kernel '%s' in the modules", launch->kernel);
	g = calloc(1, sizeof(*g));
	if (!g)
		return bf_fail(&d->sim->error, -ENOMEM, "no memory for a grid");
	g->device = d;
	g->lib = lib;
	g->fn = f;
	g->launch = *launch;
	rc = take_shape(g, launch);
	if (!rc)
		rc = take_memory(g, launch);
	if (!rc)
		rc = refuse_reachable(g);
	if (!rc)
		rc = bf_ptx_entry_get(lib->code, f, &g->entry, &d->sim->error);
	if (!rc)
		rc = take_slot(d, &g->param_slot);
	if (rc) {
		free(g);
		return rc;
	}
	if (f->param_size)
		memcpy(slot_bytes(d, g->param_slot), launch->params, f->param_size);
	memset(slot_bytes(d, g->param_slot) + BF_PTX_PARAM_SLOT, 0, SLOT_BYTES - BF_PTX_PARAM_SLOT);
	g->number = ++d->next_grid;
	d->counts.grids++;
	*d->last_grid = g;
	d->last_grid = &g->next;
	bf_ptx_schedule(d);
	return 0;
}
