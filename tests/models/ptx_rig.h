/*
 * A small machine for tests and measurements of the PTX core: blocks one after the other, warps in turns, memory that
 * is plain memory, barriers that count lanes. No time, no ordering: models/ptx has the machine that has them.
 */
#ifndef BELFRY_TESTS_MODELS_PTX_RIG_H
#define BELFRY_TESTS_MODELS_PTX_RIG_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/ptx/exec.h"
#include "models/ptx/module.h"

#define RIG_GLOBAL (1ull << 40)
#define RIG_CONST (1ull << 50) /* generic addresses of .const and of the kernel's parameters */
#define RIG_PARAM (1ull << 51)
#define RIG_WARPS 32

struct rig_warp {
	struct bf_ptx_warp warp;
	struct rig *rig;
	uint32_t index;
	uint32_t waiting[16]; /* lanes at each barrier */
	uint32_t passed[16];  /* lanes that may go on from it */
	uint32_t votes[16];   /* lanes of bar.red whose predicate holds */
	uint32_t results[16];
	bool done;
};

struct rig {
	struct bf_ptx_program *program;
	struct bf_ptx_code *code;
	uint8_t *global;
	uint64_t global_bytes;
	uint8_t *constants, *shared;
	uint32_t shared_bytes;
	uint8_t params[4096];
	uint32_t slow;
	uint64_t charge;
	uint32_t warps;
	struct rig_warp *warp;
	bool plain; /* the core makes plain accesses itself */
	bool yields;
	enum bf_ptx_trap trap;
	bool trapped;
	char text[640];
	uint64_t lane_instructions, performed, spins, idles;
	uint64_t base; /* of the program's own global variables */
};

static inline struct rig_warp *rig_of(struct bf_ptx_warp *w)
{
	return (struct rig_warp *)w->machine;
}

static inline int rig_prepare(void *machine, const struct bf_ptx_stmt *s, struct bf_ptx_prepared *op)
{
	const struct rig *r = machine;

	switch (s->form->op) {
	case BF_PTX_OP_LD:
	case BF_PTX_OP_ST:
		op->plain = r->plain && (s->form->sem == BF_PTX_SEM_NONE || s->form->sem == BF_PTX_WEAK);
		return 0;
	case BF_PTX_OP_ATOM:
	case BF_PTX_OP_RED:
	case BF_PTX_OP_BAR_SYNC:
	case BF_PTX_OP_BARRIER_SYNC:
	case BF_PTX_OP_BAR_RED:
	case BF_PTX_OP_FENCE:
	case BF_PTX_OP_MEMBAR:
	case BF_PTX_OP_NANOSLEEP:
	case BF_PTX_OP_BAR_WARP_SYNC:
		return 0;
	default:
		snprintf(op->text, sizeof(op->text), "not in the rig");
		return -ENOTSUP;
	}
}

/* The host's place of an address, or NULL. */
static inline uint8_t *rig_at(struct bf_ptx_warp *w, uint32_t space, uint64_t a, uint32_t len)
{
	struct rig *r = rig_of(w)->rig;

	if (space == BF_PTX_SHARED || space == BF_PTX_SHARED_CTA)
		return a + len <= r->shared_bytes ? r->shared + a : NULL;
	if (space == BF_PTX_CONST)
		return a + len <= 65536 ? r->constants + a : NULL;
	if (space == BF_PTX_SPACE_NONE && a - BF_PTX_SHARED_WINDOW < r->shared_bytes)
		return r->shared + (a - BF_PTX_SHARED_WINDOW);
	if (space == BF_PTX_SPACE_NONE && a - RIG_CONST < 65536)
		return r->constants + (a - RIG_CONST);
	if (space == BF_PTX_SPACE_NONE && a - RIG_PARAM < sizeof(r->params))
		return r->params + (a - RIG_PARAM);
	return a >= RIG_GLOBAL && a + len <= RIG_GLOBAL + r->global_bytes ? r->global + (a - RIG_GLOBAL) : NULL;
}

static inline uint64_t rig_cut(uint64_t v, uint32_t bits)
{
	return bits < 64 ? v & ((1ull << bits) - 1) : v;
}

static inline uint64_t rig_atomic(const struct bf_ptx_form *f, uint64_t old, uint64_t b, uint64_t c, uint32_t bits)
{
	const bool s = bf_ptx_type_letter((enum bf_ptx_type)f->types[0]) == 's';
	const int64_t so = (int64_t)(old << (64 - bits)), sb = (int64_t)(b << (64 - bits));
	const bool less = s ? sb < so : b < old;

	switch (f->sub) {
	case BF_PTX_SUB_ADD:
		return old + b;
	case BF_PTX_SUB_MIN:
		return less ? b : old;
	case BF_PTX_SUB_MAX:
		return less ? old : b;
	case BF_PTX_SUB_AND:
		return old & b;
	case BF_PTX_SUB_OR:
		return old | b;
	case BF_PTX_SUB_XOR:
		return old ^ b;
	case BF_PTX_SUB_INC:
		return old >= b ? 0 : old + 1;
	case BF_PTX_SUB_DEC:
		return old == 0 || old > b ? b : old - 1;
	case BF_PTX_SUB_CAS:
		return old == b ? c : old;
	default:
		return b;
	}
}

static inline enum bf_ptx_result rig_memory(struct bf_ptx_warp *w, const struct bf_ptx_form *f, uint32_t mask,
					    const bf_ptx_row *in, bf_ptx_row *out)
{
	const uint32_t bits = bf_ptx_type_bits((enum bf_ptx_type)f->types[0]), bytes = bits / 8, count = f->vec;
	const bool strong = f->sem != BF_PTX_SEM_NONE && f->sem != BF_PTX_WEAK;

	for (uint32_t l = 0; l < BF_PTX_LANES; l++) {
		if (!(mask >> l & 1))
			continue;
		uint8_t *p = rig_at(w, f->space, in[0][l], bytes * count);
		if (p == NULL || (in[0][l] & (bytes * count - 1)) != 0)
			return w->port->trap(w, mask, BF_PTX_TRAP, "bad address");
		for (uint32_t e = 0; e < count; e++, p += bytes) {
			uint64_t v = 0;
			memcpy(&v, p, bytes);
			if (f->op == BF_PTX_OP_LD) {
				out[e][l] = v;
				w->polls += strong;
				continue;
			}
			if (f->op == BF_PTX_OP_ST) {
				v = in[1 + e][l];
			} else {
				const uint64_t next =
				    rig_cut(rig_atomic(f, v, rig_cut(in[1][l], bits),
						       f->sub == BF_PTX_SUB_CAS ? rig_cut(in[2][l], bits) : 0, bits),
					    bits);
				w->polls += f->sub == BF_PTX_SUB_CAS && next == v;
				if (f->op == BF_PTX_OP_ATOM)
					out[0][l] = v;
				v = next;
			}
			w->progress++;
			memcpy(p, &v, bytes);
		}
	}
	return BF_PTX_DONE;
}

/* Whether as many lanes as there should be are at barrier b; then all go on. */
static inline void rig_barrier_try(struct rig *r, uint32_t b, uint32_t count)
{
	uint32_t here = 0, there = 0, votes = 0;

	for (uint32_t k = 0; k < r->warps; k++) {
		here += (uint32_t)__builtin_popcount(r->warp[k].waiting[b]);
		there += (uint32_t)__builtin_popcount(r->warp[k].warp.live);
		votes += (uint32_t)__builtin_popcount(r->warp[k].votes[b]);
	}
	if (here == 0 || here < (count != 0 ? count : there))
		return;
	for (uint32_t k = 0; k < r->warps; k++) {
		struct rig_warp *w = &r->warp[k];
		w->warp.ready |= w->waiting[b];
		w->passed[b] |= w->waiting[b];
		w->results[b] = votes;
		w->waiting[b] = w->votes[b] = 0;
	}
}

static inline enum bf_ptx_result rig_barrier(struct bf_ptx_warp *w, const struct bf_ptx_stmt *s, uint32_t mask,
					     const bf_ptx_row *in, bf_ptx_row *out)
{
	struct rig_warp *rw = rig_of(w);
	const uint32_t lane = (uint32_t)__builtin_ctz(mask), b = (uint32_t)in[0][lane] & 15;
	const bool reduces = s->form->op == BF_PTX_OP_BAR_RED;
	const uint32_t rows = s->operand_count - (reduces ? 2u : 0u);

	if ((rw->passed[b] & mask) != mask) {
		rw->waiting[b] |= mask;
		if (reduces)
			for (uint32_t l = 0; l < BF_PTX_LANES; l++)
				rw->votes[b] |= (uint32_t)(in[rows][l] & 1) << l & mask;
		rig_barrier_try(rw->rig, b, rows > 1 ? (uint32_t)in[1][lane] : 0);
		if ((rw->passed[b] & mask) != mask)
			return BF_PTX_WAIT;
		w->ready &= ~mask;
	}
	rw->passed[b] &= ~mask;
	if (reduces)
		for (uint32_t l = 0; l < BF_PTX_LANES; l++)
			out[0][l] = rw->results[b];
	return BF_PTX_DONE;
}

static inline enum bf_ptx_result rig_perform(struct bf_ptx_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
					     const bf_ptx_row *in, bf_ptx_row *out)
{
	const struct bf_ptx_form *f = op->stmt->form;
	struct rig *r = rig_of(w)->rig;

	r->performed++;
	w->issued = 0;
	switch (f->op) {
	case BF_PTX_OP_LD:
	case BF_PTX_OP_ST:
	case BF_PTX_OP_ATOM:
	case BF_PTX_OP_RED:
		return rig_memory(w, f, mask, in, out);
	case BF_PTX_OP_BAR_SYNC:
	case BF_PTX_OP_BARRIER_SYNC:
	case BF_PTX_OP_BAR_RED:
		return rig_barrier(w, op->stmt, mask, in, out);
	default:
		return BF_PTX_DONE;
	}
}

static inline enum bf_ptx_result rig_spin(struct bf_ptx_warp *w, uint32_t mask, uint32_t target, uint64_t hash)
{
	(void)mask;
	(void)target;
	(void)hash;
	w->issued = 0;
	rig_of(w)->rig->spins++;
	return BF_PTX_DONE;
}

static inline enum bf_ptx_result rig_quantum(struct bf_ptx_warp *w)
{
	w->issued = 0;
	return BF_PTX_DONE;
}

/* Leaves bf_ptx_warp_run(), which is called again when the other warps have had their turn. */
static inline enum bf_ptx_result rig_idle(struct bf_ptx_warp *w)
{
	rig_of(w)->rig->yields = true;
	rig_of(w)->rig->idles++;
	return BF_PTX_FAULT;
}

static inline enum bf_ptx_result rig_exited(struct bf_ptx_warp *w, uint32_t mask)
{
	(void)mask;
	for (uint32_t b = 0; b < 16; b++)
		rig_barrier_try(rig_of(w)->rig, b, 0);
	return BF_PTX_DONE;
}

static inline enum bf_ptx_result rig_trap(struct bf_ptx_warp *w, uint32_t mask, enum bf_ptx_trap kind, const char *text)
{
	struct rig *r = rig_of(w)->rig;

	(void)mask;
	r->trapped = true;
	r->trap = kind;
	snprintf(r->text, sizeof(r->text), "line %u: %s", w->at != NULL ? w->at->line : 0, text != NULL ? text : "");
	return BF_PTX_FAULT;
}

static inline enum bf_ptx_result rig_builtin(struct bf_ptx_warp *w, uint32_t id, uint32_t mask, const bf_ptx_row *in,
					     bf_ptx_row *out)
{
	(void)w;
	(void)mask;
	for (uint32_t l = 0; l < BF_PTX_LANES; l++)
		out[0][l] = in[0][l] + id;
	return BF_PTX_DONE;
}

static const struct bf_ptx_port rig_port = {
	.prepare = rig_prepare,
	.perform = rig_perform,
	.spin = rig_spin,
	.quantum = rig_quantum,
	.idle = rig_idle,
	.exited = rig_exited,
	.trap = rig_trap,
	.builtin = rig_builtin,
};

/* Reads and links `text`; `bytes` of global memory besides the program's own. False: rig->text says why. */
static inline bool rig_open(struct rig *r, const char *name, const char *text, size_t len, uint64_t bytes)
{
	struct bf_error err = { 0 };
	static const char *const builtins[] = { "vprintf", "malloc" };
	const struct bf_ptx_link_opts link = { .builtins = builtins, .builtin_count = 2 };

	*r = (struct rig){ .plain = true };
	struct bf_ptx_strays strays = { 0 };
	r->program = bf_ptx_program_create();
	if (bf_ptx_program_add_excerpt(r->program, name, text, len, &strays) != 0 ||
	    bf_ptx_link(r->program, &link) != 0) {
		snprintf(r->text, sizeof(r->text), "%s", r->program->error.text);
		return false;
	}
	r->base = RIG_GLOBAL + ((bytes + 255) & ~255ull);
	r->global_bytes = r->base - RIG_GLOBAL + r->program->global_size;
	r->global = calloc(r->global_bytes + 1, 1);
	r->constants = calloc(65536, 1);
	r->shared_bytes = 1 << 17;
	r->shared = calloc(r->shared_bytes, 1);
	r->warp = calloc(RIG_WARPS, sizeof(*r->warp));
	bf_ptx_image(r->program, BF_PTX_GLOBAL, r->base, RIG_CONST, r->global + (r->base - RIG_GLOBAL));
	bf_ptx_image(r->program, BF_PTX_CONST, r->base, RIG_CONST, r->constants);
	const struct bf_ptx_code_opts opts = {
		.program = r->program,
		.port = &rig_port,
		.machine = r,
		.global_base = r->base,
		.const_base = RIG_CONST,
	};
	return bf_ptx_code_create(&opts, &r->code, &err) == 0;
}

static inline void rig_close(struct rig *r)
{
	bf_ptx_code_destroy(r->code);
	bf_ptx_program_destroy(r->program);
	free(r->global);
	free(r->constants);
	free(r->shared);
	free(r->warp);
}

static inline void rig_fill(struct rig *r, struct rig_warp *w, uint32_t grid, uint32_t block, uint32_t cta,
			    const struct bf_ptx_kernel *k, uint32_t param_bytes)
{
	struct bf_ptx_warp *x = &w->warp;

	*w = (struct rig_warp){ .rig = r, .index = (uint32_t)(w - r->warp) };
	x->port = &rig_port;
	x->machine = w;
	x->shared = (struct bf_ptx_window){ .host = r->shared, .size = r->shared_bytes };
	x->constant = (struct bf_ptx_window){ .host = r->constants, .size = 65536 };
	x->param = (struct bf_ptx_window){ .host = r->params, .size = param_bytes };
	x->global[0] = (struct bf_ptx_window){ .host = r->global, .base = RIG_GLOBAL, .size = r->global_bytes };
	x->slow = &r->slow;
	x->charge = &r->charge;
	x->plain_store = true;
	for (uint32_t l = 0; l < BF_PTX_LANES; l++) {
		const uint32_t t = w->index * BF_PTX_LANES + l;
		x->lanes |= (uint32_t)(t < block) << l;
		x->tid[0][l] = t;
	}
	x->ntid[0] = block;
	x->ntid[1] = x->ntid[2] = x->nctaid[1] = x->nctaid[2] = 1;
	x->ctaid[0] = cta;
	x->nctaid[0] = grid;
	x->cluster_nctarank = 1;
	x->warpid = w->index;
	x->constant_va = RIG_CONST;
	x->param_va = RIG_PARAM;
	x->local_bytes = 2048;
	x->dynamic_offset = k->dynamic_offset;
}

/* Runs one block; false: it trapped, or nothing moves any more. */
static inline bool rig_block(struct rig *r, struct bf_ptx_entry *entry)
{
	for (uint32_t n = 0; n < r->warps; n++)
		if (bf_ptx_warp_init(&r->warp[n].warp, entry) != 0)
			return false;
	for (uint32_t left = r->warps; left > 0;) {
		bool moved = false;
		for (uint32_t n = 0; n < r->warps; n++) {
			struct rig_warp *w = &r->warp[n];
			if (w->done)
				continue;
			const uint64_t before = w->warp.lane_instructions;
			r->yields = false;
			const enum bf_ptx_result rc = bf_ptx_warp_run(&w->warp);
			r->lane_instructions += w->warp.lane_instructions - before;
			if (rc == BF_PTX_FAULT && !r->yields)
				return false;
			moved = moved || w->warp.lane_instructions != before;
			w->done = rc == BF_PTX_DONE;
			left -= w->done;
		}
		if (!moved && left > 0) {
			snprintf(r->text, sizeof(r->text), "nothing moves");
			return false;
		}
	}
	return true;
}

/* Launches kernel `name` with the parameters in rig->params. */
static inline bool rig_run(struct rig *r, const char *name, uint32_t grid, uint32_t block, uint32_t param_bytes)
{
	const struct bf_ptx_func *fn = bf_ptx_find_func(r->program, name);
	struct bf_error err = { 0 };
	struct bf_ptx_entry *entry;
	bool ok = true;

	r->trapped = false;
	if (fn == NULL || bf_ptx_entry_get(r->code, fn, &entry, &err) != 0) {
		snprintf(r->text, sizeof(r->text), "%s: %s", name, err.text);
		return false;
	}
	r->warps = (block + 31) / 32;
	for (uint32_t cta = 0; cta < grid && ok; cta++) {
		memset(r->shared, 0, r->shared_bytes);
		for (uint32_t n = 0; n < r->warps; n++)
			rig_fill(r, &r->warp[n], grid, block, cta, fn->kernel, param_bytes);
		ok = rig_block(r, entry);
		for (uint32_t n = 0; n < r->warps; n++)
			bf_ptx_warp_fini(&r->warp[n].warp);
	}
	return ok;
}

#endif
