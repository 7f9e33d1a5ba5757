/* What a thread asks of its place in the grid and of its address space. */
#include "models/ptx/core_internal.h"

#include <string.h>

/* The value that all lanes get, for registers that are uniform over the warp. */
static uint64_t uniform(const struct bf_ptx_warp *w, uint32_t sreg, uint32_t part)
{
	const bool vector = part < 3;

	switch (sreg) {
	case BF_PTX_SREG_NTID:
		return vector ? w->ntid[part] : 0;
	case BF_PTX_SREG_CTAID:
		return vector ? w->ctaid[part] : 0;
	case BF_PTX_SREG_NCTAID:
		return vector ? w->nctaid[part] : 0;
	case BF_PTX_SREG_CLUSTERID:
		return vector ? w->clusterid[part] : 0;
	case BF_PTX_SREG_NCLUSTERID:
		return vector ? w->nclusterid[part] : 0;
	case BF_PTX_SREG_CLUSTER_CTAID:
		return vector ? w->cluster_ctaid[part] : 0;
	case BF_PTX_SREG_CLUSTER_NCTAID:
		return vector ? w->cluster_nctaid[part] : 0;
	case BF_PTX_SREG_CLUSTER_CTARANK:
		return w->cluster_ctarank;
	case BF_PTX_SREG_CLUSTER_NCTARANK:
		return w->cluster_nctarank;
	case BF_PTX_SREG_IS_EXPLICIT_CLUSTER:
		return w->explicit_cluster;
	case BF_PTX_SREG_WARPID:
		return w->warpid;
	case BF_PTX_SREG_GRIDID:
		return w->gridid;
	case BF_PTX_SREG_DYNAMIC_SMEM_SIZE:
		return w->dynamic_smem;
	case BF_PTX_SREG_TOTAL_SMEM_SIZE:
		return w->total_smem;
	case BF_PTX_SREG_AGGR_SMEM_SIZE:
		return w->aggr_smem;
	default:
		return 0;
	}
}

static uint64_t special(const struct bf_ptx_warp *w, uint32_t sreg, uint32_t part, uint32_t lane)
{
	const uint32_t own = 1u << lane;

	switch (sreg) {
	case BF_PTX_SREG_TID:
		return part < 3 ? w->tid[part][lane] : 0;
	case BF_PTX_SREG_LANEID:
		return lane;
	case BF_PTX_SREG_LANEMASK_EQ:
		return own;
	case BF_PTX_SREG_LANEMASK_LE:
		return own | (own - 1);
	case BF_PTX_SREG_LANEMASK_LT:
		return own - 1;
	case BF_PTX_SREG_LANEMASK_GE:
		return ~(own - 1);
	case BF_PTX_SREG_LANEMASK_GT:
		return ~(own | (own - 1));
	default:
		return uniform(w, sreg, part);
	}
}

const struct bf_ptx_insn *bf_ptx_do_special(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	for (uint32_t rest = c->mask; rest != 0; rest &= rest - 1) {
		const uint32_t l = (uint32_t)__builtin_ctz(rest);
		const uint64_t v = special(c->warp, i->mode, i->a, l);
		if (i->e)
			bf_ptx_row64(c, i->d)[l] = v;
		else
			bf_ptx_row32(c, i->d)[l] = (uint32_t)v;
	}
	return i + 1;
}

/* The same value for all lanes of the mask. */
static const struct bf_ptx_insn *spread(struct bf_ptx_core *c, const struct bf_ptx_insn *i, uint64_t v)
{
	for (uint32_t rest = c->mask; rest != 0; rest &= rest - 1) {
		const uint32_t l = (uint32_t)__builtin_ctz(rest);
		if (i->e)
			bf_ptx_row64(c, i->d)[l] = v;
		else
			bf_ptx_row32(c, i->d)[l] = (uint32_t)v;
	}
	return i + 1;
}

const struct bf_ptx_insn *bf_ptx_do_place(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const struct bf_ptx_warp *w = c->warp;
	uint64_t v = i->imm;

	if (i->mode == BF_PTX_ORIGIN_SHARED)
		v += w->shared.base;
	else if (i->mode == BF_PTX_ORIGIN_DYNAMIC)
		v += w->shared.base + w->dynamic_offset;
	else if (i->mode == BF_PTX_ORIGIN_LOCAL)
		v += c->frame->local;
	else if (i->mode == BF_PTX_ORIGIN_PARAM)
		v += w->param_va;
	return spread(c, i, v);
}

const struct bf_ptx_insn *bf_ptx_do_param(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const struct bf_ptx_window *win = &c->warp->param;
	uint64_t v = 0;

	if (i->imm > win->size || i->mode > win->size - i->imm)
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_CALL, "the launch gave fewer bytes of parameters");
	memcpy(&v, win->host + i->imm, i->mode);
	return spread(c, i, bf_ptx_extended((uint8_t)i->b, v));
}

static bool is_in(const struct bf_ptx_warp *w, uint32_t space, uint64_t a)
{
	const bool shared = a - BF_PTX_SHARED_WINDOW < 1ull << 32;
	const bool local = a - BF_PTX_LOCAL_WINDOW < BF_PTX_LOCAL_SIZE;
	const bool constant = a - w->constant_va < w->constant.size;

	switch (space) {
	case BF_PTX_SHARED:
	case BF_PTX_SHARED_CTA:
		return shared && (a - BF_PTX_SHARED_WINDOW) >> 24 == w->shared.base >> 24;
	case BF_PTX_SHARED_CLUSTER:
		return shared;
	case BF_PTX_LOCAL:
		return local;
	case BF_PTX_CONST:
		return constant;
	case BF_PTX_PARAM:
	case BF_PTX_PARAM_ENTRY:
		return a - w->param_va < w->param.size;
	default: /* parameters are in a page that looks global */
		return !shared && !local && !constant;
	}
}

const struct bf_ptx_insn *bf_ptx_do_space(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const uint64_t *a = bf_ptx_row64(c, i->a);
	uint32_t in = 0;

	for (uint32_t l = 0; l < BF_PTX_LANES; l++)
		in |= (uint32_t)is_in(c->warp, i->mode, a[l]) << l;
	bf_ptx_pred_set(c, i->d, in);
	return i + 1;
}

const struct bf_ptx_insn *bf_ptx_do_alloca(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	struct bf_ptx_frame *f = c->frame;
	uint64_t size = 0;

	/* Lanes of one frame have their memory at the same addresses: as much as the one that wants most. */
	for (uint32_t rest = c->mask; rest != 0; rest &= rest - 1) {
		const uint32_t l = (uint32_t)__builtin_ctz(rest);
		const uint64_t n = i->e ? bf_ptx_row64(c, i->a)[l] : bf_ptx_row32(c, i->a)[l];
		size = n > size ? n : size;
	}
	if (size > f->bottom - c->local_low || ((f->bottom - size) & ~(i->imm - 1)) < c->local_low)
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_STACK, "alloca: the thread's stack is full");
	f->bottom = (uint32_t)((f->bottom - size) & ~(i->imm - 1));
	return spread(c, i, f->bottom);
}

const struct bf_ptx_insn *bf_ptx_do_stack(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	struct bf_ptx_frame *f = c->frame;

	if (i->mode == 0)
		return spread(c, i, f->bottom);
	/* Only when nobody else uses what lies below. */
	const uint64_t v = i->e ? bf_ptx_row64(c, i->a)[c->lane] : bf_ptx_row32(c, i->a)[c->lane];
	if (c->mask == f->lanes && v >= f->bottom && v <= f->local)
		f->bottom = (uint32_t)v;
	return i + 1;
}
