/*
 * A launch: what it asks for is looked at, and a grid stands in its stream (grid.c goes on from there).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/machine_internal.h"
#include "sim/grow.h"

#define SLOTS 64u                            /* in a region of parameters */
#define SLOT_BYTES (BF_PTX_PARAM_SLOT + 64u) /* the grid's workspace for cooperative groups behind */

/* ---- parameters ---- */

static int take_slot(struct bf_ptx_device *d, uint32_t *out)
{
	const struct bf_region_opts opts = { .name = "ptx.params", .kind = BF_MEM_VRAM, .size = SLOTS * SLOT_BYTES };
	int rc;

	for (uint32_t i = 0; i < d->nparams * SLOTS; i++)
		if (!d->slots[i]) {
			d->slots[i] = 1;
			*out = i;
			return 0;
		}
	if (BF_GROW(d->params, d->params_cap, d->nparams + 1) ||
	    BF_GROW(d->slots, d->slots_cap, (d->nparams + 1) * SLOTS))
		return bf_fail(&d->sim->error, -ENOMEM, "no memory for a kernel's parameters");
	rc = bf_region_create(d->opts.space, &opts, &d->params[d->nparams]);
	if (rc)
		return rc;
	*out = d->nparams++ * SLOTS;
	d->slots[*out] = 1;
	return 0;
}

uint8_t *bf_ptx_param_bytes(const struct bf_ptx_grid *g)
{
	return g->device->params[g->param_slot / SLOTS]->bytes + (size_t)(g->param_slot % SLOTS) * SLOT_BYTES;
}

uint64_t bf_ptx_param_va(const struct bf_ptx_grid *g)
{
	return g->device->params[g->param_slot / SLOTS]->va + (uint64_t)(g->param_slot % SLOTS) * SLOT_BYTES;
}

uint64_t bf_ptx_workspace(const struct bf_ptx_grid *g)
{
	return g->launch.cooperative ? bf_ptx_param_va(g) + BF_PTX_PARAM_SLOT : 0;
}

/* ---- what it asks for ---- */

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
		memcpy(bf_ptx_param_bytes(g), launch->params, f->param_size);
	memset(bf_ptx_param_bytes(g) + BF_PTX_PARAM_SLOT, 0, SLOT_BYTES - BF_PTX_PARAM_SLOT);
	g->number = ++d->next_grid;
	d->counts.grids++;
	*d->last_grid = g;
	d->last_grid = &g->next;
	bf_ptx_schedule(d);
	/* What is half there must not run. */
	return d->sim->error.code == -ENOMEM ? -ENOMEM : 0;
}
