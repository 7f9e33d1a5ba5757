/*
 * Liveness, and slots for registers: a linear scan over the order of the code, in which a register has its slot from
 * its first to its last place of being alive. Each lane is a thread of its own in a row, so what holds for one thread
 * holds for all lanes of the warp, wherever they are.
 */
#include "models/ptx/decode_internal.h"

#include <stdlib.h>
#include <string.h>

/* Calls visit(d, block, position, v, role) for each register of each operation, uses before definitions. */
typedef void visitor(struct bf_ptx_decoder *d, uint32_t block, uint32_t position, uint32_t v, enum bf_ptx_role role,
		     bool early);

static bool is_program_register(const struct bf_ptx_decoder *d, uint32_t v)
{
	return v < d->program_vregs;
}

static void visit_one(struct bf_ptx_decoder *d, uint32_t block, uint32_t position, const struct bf_ptx_operation *o,
		      uint32_t v, uint8_t role, bool defs, bool early, visitor *visit)
{
	if (v == BF_PTX_REF_NONE || (v & BF_PTX_REF_CONST) != 0)
		return;
	const bool use = role == BF_PTX_ROLE_USE || role == BF_PTX_ROLE_BOTH;
	const bool def = role == BF_PTX_ROLE_DEF || role == BF_PTX_ROLE_BOTH;
	if (!defs && use)
		visit(d, block, position, v, BF_PTX_ROLE_USE, early);
	/* What a guard may leave as it was is used. */
	if (!defs && role == BF_PTX_ROLE_DEF && o->guard != BF_PTX_REF_NONE && is_program_register(d, v))
		visit(d, block, position, v, BF_PTX_ROLE_USE, early);
	if (defs && def)
		visit(d, block, position, v, BF_PTX_ROLE_DEF, early);
}

static void visit_block(struct bf_ptx_decoder *d, uint32_t n, uint32_t position, visitor *visit)
{
	const struct bf_ptx_basic_block *b = &d->blocks[n];

	for (uint32_t k = b->first; k < b->end; k++, position++) {
		const struct bf_ptx_operation *o = &d->ops[k];
		const bool early = o->list_count != 0 || o->roles[BF_PTX_FIELD_E] == BF_PTX_ROLE_DEF;
		for (uint32_t defs = 0; defs < 2; defs++) {
			if (!defs && o->guard != BF_PTX_REF_NONE)
				visit_one(d, n, position, o, o->guard, BF_PTX_ROLE_USE, false, early, visit);
			for (uint32_t f = 0; f < BF_PTX_FIELDS; f++)
				visit_one(d, n, position, o, o->v[f], o->roles[f], defs, early, visit);
			for (uint32_t e = o->list; e < o->list + o->list_count; e++)
				visit_one(d, n, position, o, d->list[e].v, d->list[e].role, defs, early, visit);
		}
	}
}

static void find_globals(struct bf_ptx_decoder *d, uint32_t block, uint32_t position, uint32_t v, enum bf_ptx_role role,
			 bool early)
{
	struct bf_ptx_vreg *r = &d->vregs[v];

	(void)position;
	(void)role;
	(void)early;
	if (r->block == BF_PTX_NONE)
		r->block = block;
	else if (r->block != block && !r->global) {
		r->global = true;
		r->index = d->global_count++;
	}
}

/* A register that one block alone uses, but before it sets it: alive round a loop, or never set. */
static void find_exposed(struct bf_ptx_decoder *d, uint32_t block, uint32_t position, uint32_t v, enum bf_ptx_role role,
			 bool early)
{
	struct bf_ptx_vreg *r = &d->vregs[v];

	(void)block;
	(void)position;
	(void)early;
	if (r->global)
		return;
	if (role == BF_PTX_ROLE_DEF) {
		r->set = true;
	} else if (!r->set) {
		r->global = true;
		r->index = d->global_count++;
	}
}

static void find_made_used(struct bf_ptx_decoder *d, uint32_t block, uint32_t position, uint32_t v,
			   enum bf_ptx_role role, bool early)
{
	const struct bf_ptx_vreg *r = &d->vregs[v];
	const struct bf_ptx_basic_block *b = &d->blocks[block];

	(void)position;
	(void)early;
	if (!r->global)
		return;
	const uint64_t bit = 1ull << (r->index & 63);
	if (role == BF_PTX_ROLE_DEF)
		b->made[r->index / 64] |= bit;
	else if (!(b->made[r->index / 64] & bit))
		b->used[r->index / 64] |= bit;
}

static uint32_t successor_count(const struct bf_ptx_basic_block *b)
{
	return b->targets != NULL ? b->targets->target_count : 2;
}

static uint32_t successor_of(const struct bf_ptx_decoder *d, const struct bf_ptx_basic_block *b, uint32_t k)
{
	return b->targets != NULL ? d->block_of_label[b->targets->targets[k]] : b->next[k];
}

/* live_in = used | (live_out & ~made), backwards until nothing changes. */
static void solve(struct bf_ptx_decoder *d, uint32_t words)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t at = d->order_count; at-- > 0;) {
			struct bf_ptx_basic_block *b = &d->blocks[d->order[at]];
			for (uint32_t k = 0; k < successor_count(b); k++) {
				const uint32_t s = successor_of(d, b, k);
				if (s == BF_PTX_NONE)
					continue;
				for (uint32_t w = 0; w < words; w++)
					b->live_out[w] |= d->blocks[s].live_in[w];
			}
			for (uint32_t w = 0; w < words; w++) {
				const uint64_t in = b->used[w] | (b->live_out[w] & ~b->made[w]);
				changed = changed || in != b->live_in[w];
				b->live_in[w] = in;
			}
		}
	}
}

/* Positions are twice the number of the operation; a definition comes one later than the uses. */
static void stretch(struct bf_ptx_decoder *d, uint32_t block, uint32_t position, uint32_t v, enum bf_ptx_role role,
		    bool early)
{
	struct bf_ptx_vreg *r = &d->vregs[v];
	const uint32_t at = 2 * position + (role == BF_PTX_ROLE_DEF && !early);
	/* An early definition is still there when the operation's uses are over. */
	const uint32_t to = role == BF_PTX_ROLE_DEF ? 2 * position + 1 : at;

	(void)block;
	r->first = at < r->first ? at : r->first;
	r->last = to > r->last ? to : r->last;
}

static void stretch_set(struct bf_ptx_decoder *d, const uint64_t *set, uint32_t at)
{
	for (uint32_t g = 0; g < d->global_count; g += 64) {
		for (uint64_t rest = set[g / 64]; rest != 0; rest &= rest - 1) {
			struct bf_ptx_vreg *r = &d->vregs[d->globals[g + (uint32_t)__builtin_ctzll(rest)]];
			r->first = at < r->first ? at : r->first;
			r->last = at > r->last ? at : r->last;
		}
	}
}

static const uint32_t row_bytes[BF_PTX_CLASSES] = { 128, 256, 4 };

/* Slots in the order in which registers come alive; freed ones are taken again, the last one freed first. */
static int assign(struct bf_ptx_decoder *d, uint32_t positions)
{
	uint32_t *begins = malloc((positions + 2u) * sizeof(*begins)), *ends = malloc((positions + 2u) * sizeof(*ends));
	uint32_t *next_begin = malloc((d->vreg_count + 1u) * sizeof(*next_begin));
	uint32_t *next_end = malloc((d->vreg_count + 1u) * sizeof(*next_end));
	uint32_t *unused[BF_PTX_CLASSES] = { NULL }, unused_count[BF_PTX_CLASSES] = { 0 }, made[BF_PTX_CLASSES] = { 0 };
	int rc = -1;

	for (uint32_t k = 0; k < BF_PTX_CLASSES; k++)
		unused[k] = malloc((d->vreg_count + 1u) * sizeof(uint32_t));
	if (begins == NULL || ends == NULL || next_begin == NULL || next_end == NULL || unused[0] == NULL ||
	    unused[1] == NULL || unused[2] == NULL)
		goto out;
	memset(begins, 0xff, (positions + 2u) * sizeof(*begins));
	memset(ends, 0xff, (positions + 2u) * sizeof(*ends));
	for (uint32_t v = d->vreg_count; v-- > 0;) {
		const struct bf_ptx_vreg *r = &d->vregs[v];
		if (r->first > r->last)
			continue;
		next_begin[v] = begins[r->first];
		begins[r->first] = v;
		next_end[v] = ends[r->last + 1];
		ends[r->last + 1] = v;
	}
	for (uint32_t at = 0; at <= positions; at++) {
		for (uint32_t v = ends[at]; v != BF_PTX_NONE; v = next_end[v])
			unused[d->vregs[v].cls][unused_count[d->vregs[v].cls]++] = d->vregs[v].ref;
		for (uint32_t v = begins[at]; v != BF_PTX_NONE; v = next_begin[v]) {
			struct bf_ptx_vreg *r = &d->vregs[v];
			r->ref = unused_count[r->cls] != 0 ? unused[r->cls][--unused_count[r->cls]] : made[r->cls]++;
		}
	}
	/* Places in the frame: rows of 64 bits, rows of 32, predicates. */
	const uint32_t base[BF_PTX_CLASSES] = {
		[BF_PTX_CLASS_64] = 0,
		[BF_PTX_CLASS_32] = made[BF_PTX_CLASS_64] * row_bytes[BF_PTX_CLASS_64],
		[BF_PTX_CLASS_PRED] = made[BF_PTX_CLASS_64] * row_bytes[BF_PTX_CLASS_64] +
				      made[BF_PTX_CLASS_32] * row_bytes[BF_PTX_CLASS_32],
	};
	for (uint32_t v = 0; v < d->vreg_count; v++) {
		struct bf_ptx_vreg *r = &d->vregs[v];
		if (r->first <= r->last)
			r->ref = base[r->cls] + r->ref * row_bytes[r->cls];
		else
			r->ref = BF_PTX_REF_NONE;
	}
	d->frame_bytes = (base[BF_PTX_CLASS_PRED] + made[BF_PTX_CLASS_PRED] * row_bytes[BF_PTX_CLASS_PRED] + 63) & ~63u;
	rc = 0;
out:
	free(begins);
	free(ends);
	free(next_begin);
	free(next_end);
	for (uint32_t k = 0; k < BF_PTX_CLASSES; k++)
		free(unused[k]);
	return rc;
}

static int allocate_sets(struct bf_ptx_decoder *d, uint32_t words)
{
	const size_t each = (size_t)words * d->order_count;

	d->sets = calloc(4 * each + 1, sizeof(*d->sets));
	d->globals = calloc(d->global_count + 1u, sizeof(*d->globals));
	if (d->sets == NULL || d->globals == NULL)
		return -1;
	for (uint32_t v = 0; v < d->vreg_count; v++)
		if (d->vregs[v].global)
			d->globals[d->vregs[v].index] = v;
	for (uint32_t k = 0; k < d->order_count; k++) {
		struct bf_ptx_basic_block *b = &d->blocks[d->order[k]];
		b->live_in = d->sets + (size_t)words * k;
		b->live_out = b->live_in + each;
		b->made = b->live_out + each;
		b->used = b->made + each;
	}
	return 0;
}

int bf_ptx_colour(struct bf_ptx_decoder *d)
{
	uint32_t position = 0;

	for (uint32_t v = 0; v < d->vreg_count; v++)
		d->vregs[v].first = UINT32_MAX;
	for (uint32_t k = 0; k < d->order_count; k++)
		visit_block(d, d->order[k], 0, find_globals);
	for (uint32_t k = 0; k < d->order_count; k++)
		visit_block(d, d->order[k], 0, find_exposed);
	const uint32_t words = (d->global_count + 63) / 64;
	if (allocate_sets(d, words) != 0)
		return -1;
	for (uint32_t k = 0; k < d->order_count; k++)
		visit_block(d, d->order[k], 0, find_made_used);
	solve(d, words);
	for (uint32_t k = 0; k < d->order_count; k++) {
		const struct bf_ptx_basic_block *b = &d->blocks[d->order[k]];
		const uint32_t count = b->end - b->first;
		visit_block(d, d->order[k], position, stretch);
		stretch_set(d, b->live_in, 2 * position);
		stretch_set(d, b->live_out, 2 * (position + count) - 1);
		position += count;
	}
	if (d->carry != BF_PTX_REF_NONE) {
		d->vregs[d->carry].first = 0;
		d->vregs[d->carry].last = 2 * position;
	}
	return assign(d, 2 * position + 1);
}
