/*
 * Frames: calls, returns, the end of lanes, and a warp's beginning and end.
 *
 * A call copies its arguments, piece by piece, into the callee's slots, and a return copies back what it returns, for
 * the lanes that return: a frame lives until its last lane has left it.
 */
#include "models/ptx/core_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The first .local address that is not a thread's own: as an H100 leaves free above its stack. */
#define LOCAL_TOP ((uint32_t)BF_PTX_LOCAL_SIZE - 0x400u)
/* Frames that may be in progress, against recursion without .local memory. */
#define DEPTH_MAX 4096u

/* The list of unused frames that a size belongs to, and the size that those have. */
static uint32_t class_of(uint32_t bytes, uint32_t *capacity)
{
	uint32_t k = 0;

	*capacity = 512;
	while (*capacity < bytes) {
		*capacity *= 2;
		k++;
	}
	return k;
}

struct bf_ptx_frame *bf_ptx_frame_new(struct bf_ptx_core *c, struct bf_ptx_body *body, struct bf_ptx_frame *parent)
{
	uint32_t capacity;
	const uint32_t k = class_of(body->frame_bytes, &capacity);
	struct bf_ptx_frame *f = k < BF_PTX_FRAME_CLASSES ? c->free_frames[k] : NULL;

	if (f != NULL) {
		c->free_frames[k] = f->parent;
	} else {
		if (k >= BF_PTX_FRAME_CLASSES)
			return NULL;
		f = aligned_alloc(64, sizeof(*f) + capacity);
		if (f == NULL)
			return NULL;
	}
	memset(f, 0, sizeof(*f));
	/* What a program reads before it has written it must not depend on what ran before. */
	for (uint32_t n = 0; n < body->clear_count; n++)
		memset(f->slots + body->clear[n].ref, 0, bf_ptx_piece_bytes(&body->clear[n]));
	f->capacity = capacity;
	f->instance = ++c->instances;
	f->body = body;
	f->parent = parent;
	f->depth = parent != NULL ? parent->depth + 1 : 0;
	const uint32_t top = parent != NULL ? parent->bottom : LOCAL_TOP;
	f->local = (top - body->local_bytes) & ~(body->local_align - 1);
	f->bottom = f->local;
	return f;
}

void bf_ptx_frame_free(struct bf_ptx_core *c, struct bf_ptx_frame *f)
{
	uint32_t capacity;
	const uint32_t k = class_of(f->capacity, &capacity);

	f->parent = c->free_frames[k];
	c->free_frames[k] = f;
}

/* Copies one value, for the lanes of `mask`; its pieces are cut as the other side's are, or in words of 32 bits. */
static void copy_value(uint8_t *const to_base[2], const struct bf_ptx_value *to, uint8_t *const from_base[2],
		       const struct bf_ptx_value *from, uint32_t mask)
{
	uint32_t half = 0; /* of a piece of 64 bits on one side */

	for (uint32_t a = 0, b = 0; a < to->count && b < from->count;) {
		const struct bf_ptx_piece *d = &to->pieces[a], *s = &from->pieces[b];
		void *dp = to_base[d->ref >> 31] + (d->ref & ~BF_PTX_REF_CONST);
		const void *sp = from_base[s->ref >> 31] + (s->ref & ~BF_PTX_REF_CONST);
		const bool wide_to = d->kind == BF_PTX_PIECE_64, wide_from = s->kind == BF_PTX_PIECE_64;
		for (uint32_t rest = mask; rest != 0 && d->kind != BF_PTX_PIECE_SINK; rest &= rest - 1) {
			const uint32_t l = (uint32_t)__builtin_ctz(rest);
			uint64_t *d8 = dp;
			uint32_t *d4 = dp;
			const uint64_t *s8 = sp;
			const uint32_t *s4 = sp;
			if (wide_to && wide_from)
				d8[l] = s8[l];
			else if (wide_to)
				d8[l] = half == 0 ? s4[l] : (uint32_t)d8[l] | (uint64_t)s4[l] << 32;
			else if (wide_from)
				d4[l] = (uint32_t)(s8[l] >> 32 * half);
			else
				d4[l] = s4[l];
		}
		if (wide_to == wide_from) {
			a++;
			b++;
			continue;
		}
		a += wide_from || half == 1;
		b += wide_to || half == 1;
		half ^= 1;
	}
}

/* The common case in whole rows: the frame is new. */
static void copy_rows(uint8_t *const to_base[2], const struct bf_ptx_value *to, uint8_t *const from_base[2],
		      const struct bf_ptx_value *from)
{
	bool alike = to->count == from->count;

	for (uint32_t k = 0; alike && k < to->count; k++)
		alike = to->pieces[k].kind == from->pieces[k].kind && to->pieces[k].kind != BF_PTX_PIECE_SINK;
	if (!alike) {
		copy_value(to_base, to, from_base, from, ~0u);
		return;
	}
	for (uint32_t k = 0; k < to->count; k++) {
		const uint32_t d = to->pieces[k].ref, s = from->pieces[k].ref;
		memcpy(to_base[d >> 31] + (d & ~BF_PTX_REF_CONST), from_base[s >> 31] + (s & ~BF_PTX_REF_CONST),
		       bf_ptx_piece_bytes(&to->pieces[k]));
	}
}

/* A built-in function: arguments and results are rows of 64 bits. */
static const struct bf_ptx_insn *call_builtin(struct bf_ptx_core *c, const struct bf_ptx_insn *i,
					      const struct bf_ptx_call *call, uint32_t id)
{
	struct bf_ptx_warp *w = c->warp;

	if (call->arg_count > BF_ARRAY_LEN(c->in) || call->ret_count > BF_ARRAY_LEN(c->out))
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_CALL, "a built-in function with that many parameters");
	for (uint32_t k = 0; k < call->arg_count; k++) {
		const struct bf_ptx_piece row = { .ref = 0, .kind = BF_PTX_PIECE_64 };
		const struct bf_ptx_value to = { .pieces = &row, .count = 1 };
		uint8_t *const base[2] = { (uint8_t *)c->in[k], NULL };
		memset(c->in[k], 0, sizeof(c->in[k]));
		copy_value(base, &to, c->base, &call->args[k], c->mask);
	}
	bf_ptx_account(c, i->count);
	bf_ptx_at(c, i);
	if (w->port->builtin(w, id, c->mask, (const bf_ptx_row *)c->in, c->out) != BF_PTX_DONE)
		return bf_ptx_dead(c);
	for (uint32_t k = 0; k < call->ret_count; k++) {
		const struct bf_ptx_piece row = { .ref = 0, .kind = BF_PTX_PIECE_64 };
		const struct bf_ptx_value from = { .pieces = &row, .count = 1 };
		uint8_t *const base[2] = { (uint8_t *)c->out[k], NULL };
		copy_value(c->base, &call->rets[k], base, &from, c->mask);
	}
	return i + 1;
}

/* The callee of an indirect call for the first lane; lanes that call something else become a group that comes again. */
static const struct bf_ptx_func *indirect(struct bf_ptx_core *c, const struct bf_ptx_insn *i,
					  const struct bf_ptx_call *call)
{
	const uint64_t *value = bf_ptx_row64(c, call->value), chosen = value[c->lane];
	uint32_t same = 0;

	for (uint32_t l = 0; l < BF_PTX_LANES; l++)
		same |= (uint32_t)(value[l] == chosen) << l;
	if ((same & c->mask) != c->mask)
		bf_ptx_split(c, c->mask & ~same, i);
	return bf_ptx_func_of_value(c->frame->body->code->opts.program, chosen);
}

const struct bf_ptx_insn *bf_ptx_do_call(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const struct bf_ptx_call *call = i->more;
	struct bf_ptx_code *code = c->frame->body->code;
	const struct bf_ptx_program *program = code->opts.program;
	const struct bf_ptx_func *fn = call->callee != NULL ? call->callee : indirect(c, i, call);
	const char *text;

	if (fn == NULL)
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_CALL, "the value called is not a function");
	if (fn->def == BF_PTX_NONE) {
		if (fn->builtin != BF_PTX_NONE)
			return call_builtin(c, i, call, fn->builtin);
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_CALL, "no module defines the function");
	}
	struct bf_ptx_body *body = bf_ptx_body_get(code, program->funcs[fn->def], &text);
	if (body == NULL)
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_MEMORY, text);
	if (body->param_count != call->arg_count || body->ret_count < call->ret_count)
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_CALL, "the function called has other parameters");
	if (c->frame->depth >= DEPTH_MAX)
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_STACK, "calls are nested too deeply");
	struct bf_ptx_frame *f = bf_ptx_frame_new(c, body, c->frame);
	if (f == NULL)
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_MEMORY, NULL);
	if (f->local < c->local_low) {
		bf_ptx_frame_free(c, f);
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_STACK, "the thread's stack is full");
	}
	f->lanes = c->mask;
	f->ret = i;
	uint8_t *const to[2] = { f->slots, body->constants };
	for (uint32_t k = 0; k < call->arg_count; k++)
		copy_rows(to, &body->params[k], c->base, &call->args[k]);
	bf_ptx_account(c, i->count + 1);
	c->group[c->current].frame = f;
	bf_ptx_enter(c, f, c->mask);
	c->start = 0;
	if (c->groups > 1)
		return bf_ptx_yield(c, body->insns);
	return body->insns;
}

/* Lanes `mask` leave frame f. */
static void leave_frame(struct bf_ptx_core *c, struct bf_ptx_frame *f, uint32_t mask)
{
	f->lanes &= ~mask;
	if (f->lanes == 0)
		bf_ptx_frame_free(c, f);
}

const struct bf_ptx_insn *bf_ptx_do_ret(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	struct bf_ptx_frame *f = c->frame, *parent = f->parent;

	if (parent == NULL)
		return bf_ptx_do_exit(c, i);
	const struct bf_ptx_insn *ret = f->ret;
	const struct bf_ptx_call *call = ret->more;
	uint8_t *const to[2] = { parent->slots, parent->body->constants };
	for (uint32_t k = 0; k < call->ret_count; k++)
		copy_value(to, &call->rets[k], c->base, &f->body->rets[k], c->mask);
	bf_ptx_account(c, i->count + 1);
	c->group[c->current].frame = parent;
	leave_frame(c, f, c->mask);
	if (c->groups > 1)
		return bf_ptx_yield(c, ret + 1);
	bf_ptx_enter(c, parent, c->mask);
	c->start = ret[1].count;
	return ret + 1;
}

const struct bf_ptx_insn *bf_ptx_do_exit(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	struct bf_ptx_warp *w = c->warp;
	const uint32_t mask = c->mask;

	bf_ptx_account(c, i->count + 1);
	bf_ptx_at(c, i);
	for (struct bf_ptx_frame *f = c->frame, *parent; f != NULL; f = parent) {
		parent = f->parent;
		leave_frame(c, f, mask);
	}
	w->live &= ~mask;
	bf_ptx_leave(c);
	/* Who waited for these lanes looks again whom for. */
	for (uint32_t k = 0; k < c->groups; k++)
		if (c->group[k].state == BF_PTX_MEETS)
			c->group[k].state = BF_PTX_RUNS;
	if (w->port->exited(w, mask) == BF_PTX_FAULT)
		return bf_ptx_dead(c);
	return NULL;
}

int bf_ptx_warp_init(struct bf_ptx_warp *w, struct bf_ptx_entry *entry)
{
	struct bf_ptx_core *c = aligned_alloc(64, (sizeof(*c) + 63) & ~(size_t)63);
	struct bf_ptx_body *body = (struct bf_ptx_body *)entry;

	if (c == NULL)
		return -ENOMEM;
	memset(c, 0, sizeof(*c));
	c->warp = w;
	c->local_low = LOCAL_TOP - ((w->local_bytes + 15) & ~15u);
	struct bf_ptx_frame *f = bf_ptx_frame_new(c, body, NULL);
	if (w->local_bytes != 0)
		c->local = calloc((size_t)(LOCAL_TOP - c->local_low), BF_PTX_LANES);
	w->core = c;
	if (f == NULL || (w->local_bytes != 0 && c->local == NULL)) {
		free(f);
		bf_ptx_warp_fini(w);
		return -ENOMEM;
	}
	w->live = f->lanes = w->lanes;
	w->lane_instructions = 0;
	if (w->lanes != 0) {
		c->group[0] = (struct bf_ptx_group){ .pc = body->insns, .frame = f, .mask = w->lanes };
		c->groups = 1;
	} else {
		bf_ptx_frame_free(c, f);
	}
	return 0;
}

void bf_ptx_warp_fini(struct bf_ptx_warp *w)
{
	struct bf_ptx_core *c = w->core;

	if (c == NULL)
		return;
	while (c->groups != 0) {
		const struct bf_ptx_group g = c->group[--c->groups];
		for (struct bf_ptx_frame *f = g.frame, *parent; f != NULL; f = parent) {
			parent = f->parent;
			leave_frame(c, f, g.mask);
		}
	}
	for (uint32_t k = 0; k < BF_PTX_FRAME_CLASSES; k++) {
		for (struct bf_ptx_frame *f = c->free_frames[k], *next; f != NULL; f = next) {
			next = f->parent;
			free(f);
		}
	}
	free(c->local);
	free(c);
	w->core = NULL;
}
