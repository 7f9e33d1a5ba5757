/*
 * Loads and stores, included by lanes.c: plain accesses within a window without a call, .local memory, and all others
 * by the port.
 *
 * Local memory lies in words of 4 bytes, those of 32 lanes side by side, so that a stack slot is a row.
 */
#ifndef BELFRY_MODELS_PTX_LANES_MEMORY_INTERNAL_H
#define BELFRY_MODELS_PTX_LANES_MEMORY_INTERNAL_H

#include "models/ptx/core_internal.h"

/* Offsets of the lanes' addresses in a window, and what they have in common. */
struct places {
	uint8_t *host;
	uint64_t offset[BF_PTX_LANES];
	bool same;  /* all lanes of the mask have one address */
	bool dense; /* lane by lane one element after the other */
};

/*
 * The part of an address that is not in a register; of one without a register, the address. Uniform over the warp.
 */
static inline uint64_t fixed_part(const struct bf_ptx_core *c, const struct bf_ptx_access *x)
{
	switch (x->origin) {
	case BF_PTX_ORIGIN_SHARED:
		return x->offset + c->warp->shared.base;
	case BF_PTX_ORIGIN_DYNAMIC:
		return x->offset + c->warp->shared.base + c->warp->dynamic_offset;
	case BF_PTX_ORIGIN_LOCAL:
		return x->offset + c->frame->local;
	default:
		return x->offset;
	}
}

static inline uint64_t address_of(const struct bf_ptx_core *c, const struct bf_ptx_access *x, uint32_t l)
{
	const uint64_t fixed = fixed_part(c, x);
	if (x->base == BF_PTX_REF_NONE)
		return fixed;
	return x->base_wide ? bf_ptx_row64(c, x->base)[l] + fixed : (uint32_t)(bf_ptx_row32(c, x->base)[l] + fixed);
}

/* Where all lanes of the mask are in `win`, and aligned: their places. */
static inline bool places_in(const struct bf_ptx_core *c, const struct bf_ptx_access *x, uint64_t window_base,
			     const struct bf_ptx_window *win, struct places *p)
{
	const uint64_t span = (uint64_t)x->bytes * x->count;
	const uint64_t fixed = fixed_part(c, x);
	const uint32_t m = c->mask;

	if (win->size < span)
		return false;
	const uint64_t limit = win->size - span;
	p->host = win->host;
	if (c->kind == BF_PTX_KIND_LANE) {
		const uint64_t offset = address_of(c, x, c->lane) - window_base;
		p->offset[c->lane] = offset;
		p->same = true;
		p->dense = false;
		return offset <= limit && (offset & (span - 1)) == 0;
	}
	if (x->base == BF_PTX_REF_NONE) {
		const uint64_t offset = fixed - window_base;
		for (uint32_t l = 0; l < BF_PTX_LANES; l++)
			p->offset[l] = offset;
		p->same = true;
		p->dense = false;
		return offset <= limit && (offset & (span - 1)) == 0;
	}
	uint64_t bad = 0, differ = 0, gap = 0;
	if (x->base_wide) {
		const uint64_t *base = bf_ptx_row64(c, x->base);
		const uint64_t add = fixed - window_base, first = base[c->lane] + add;
		const uint64_t start = first - c->lane * span;
		VECTOR_LOOP
		{
			const uint64_t in = 0 - (uint64_t)(m >> l & 1), offset = base[l] + add;
			p->offset[l] = offset;
			/* Offsets and limits are below 2^63: a borrow is in the sign. */
			bad |= ((limit - offset) >> 63 | offset >> 63 | (offset & (span - 1))) & in;
			differ |= (offset ^ first) & in;
			gap |= (offset ^ (start + l * span)) & in;
		}
	} else {
		const uint32_t *base = bf_ptx_row32(c, x->base);
		const uint64_t first = (uint32_t)(base[c->lane] + (uint32_t)fixed) - window_base;
		const uint64_t start = first - c->lane * span;
		VECTOR_LOOP
		{
			const uint64_t in = 0 - (uint64_t)(m >> l & 1);
			const uint64_t offset = (uint64_t)(uint32_t)(base[l] + (uint32_t)fixed) - window_base;
			p->offset[l] = offset;
			bad |= ((limit - offset) >> 63 | offset >> 63 | (offset & (span - 1))) & in;
			differ |= (offset ^ first) & in;
			gap |= (offset ^ (start + l * span)) & in;
		}
	}
	p->same = differ == 0;
	p->dense = gap == 0;
	return bad == 0;
}

/* The places of a plain access; false: it is the machine's. */
static inline bool plain_places(struct bf_ptx_core *c, const struct bf_ptx_access *x, struct places *p)
{
	struct bf_ptx_warp *w = c->warp;

	switch (x->space) {
	case BF_PTX_CONST:
		return !x->store && places_in(c, x, 0, &w->constant, p);
	case BF_PTX_PARAM:
	case BF_PTX_PARAM_ENTRY:
		return !x->store && places_in(c, x, 0, &w->param, p);
	case BF_PTX_SHARED:
	case BF_PTX_SHARED_CTA:
	case BF_PTX_SHARED_CLUSTER:
		return (!x->store || w->plain_store) && places_in(c, x, w->shared.base, &w->shared, p);
	default:
		break;
	}
	const uint64_t first = address_of(c, x, c->lane);
	if (first - BF_PTX_SHARED_WINDOW < 1ull << 32) {
		if (x->space != BF_PTX_SPACE_NONE || (x->store && !w->plain_store))
			return false;
		return places_in(c, x, BF_PTX_SHARED_WINDOW + w->shared.base, &w->shared, p);
	}
	if ((*w->slow & (x->store ? ~0u : w->loads_mind)) != 0)
		return false;
	for (uint32_t k = 0; k < BF_ARRAY_LEN(w->global); k++) {
		const struct bf_ptx_window *win = &w->global[k];
		if (first - win->base < win->size) {
			if (!places_in(c, x, win->base, win, p))
				return false;
			*w->charge += x->store ? w->store_ps : w->load_ps;
			return true;
		}
	}
	return false;
}

static inline uint64_t bytes_at(const uint8_t *at, uint32_t bytes)
{
	uint64_t v8;
	uint32_t v4;
	uint16_t v2;
	switch (bytes) {
	case 1:
		return *at;
	case 2:
		memcpy(&v2, at, 2);
		return v2;
	case 4:
		memcpy(&v4, at, 4);
		return v4;
	default:
		memcpy(&v8, at, 8);
		return v8;
	}
}

static inline void bytes_to(uint8_t *at, uint32_t bytes, uint64_t value)
{
	const uint32_t v4 = (uint32_t)value;
	const uint16_t v2 = (uint16_t)value;
	switch (bytes) {
	case 1:
		*at = (uint8_t)value;
		break;
	case 2:
		memcpy(at, &v2, 2);
		break;
	case 4:
		memcpy(at, &v4, 4);
		break;
	default:
		memcpy(at, &value, 8);
	}
}

/* Element `e` of each lane into its register. */
static inline void load_element(struct bf_ptx_core *c, const struct bf_ptx_piece *to, const struct places *p,
				uint32_t bytes, uint32_t skip)
{
	const uint8_t *host = p->host + skip;
	const bool all = c->mask == ~0u;

	if (to->kind == BF_PTX_PIECE_SINK)
		return;
	if (to->kind == BF_PTX_PIECE_32 && bytes == 4) {
		uint32_t *d = bf_ptx_row32(c, to->ref);
		if (all)
			for (uint32_t l = 0; l < BF_PTX_LANES; l++)
				d[l] = (uint32_t)bytes_at(host + p->offset[l], 4);
		else
			EACH_LANE d[l] = (uint32_t)bytes_at(host + p->offset[l], 4);
	} else if (to->kind == BF_PTX_PIECE_64 && bytes == 8) {
		uint64_t *d = bf_ptx_row64(c, to->ref);
		if (all)
			for (uint32_t l = 0; l < BF_PTX_LANES; l++)
				d[l] = bytes_at(host + p->offset[l], 8);
		else
			EACH_LANE d[l] = bytes_at(host + p->offset[l], 8);
	} else if (to->kind == BF_PTX_PIECE_64) {
		uint64_t *d = bf_ptx_row64(c, to->ref);
		EACH_LANE d[l] = bf_ptx_extended(to->extend, bytes_at(host + p->offset[l], bytes));
	} else {
		uint32_t *d = bf_ptx_row32(c, to->ref);
		EACH_LANE d[l] = (uint32_t)bf_ptx_extended(to->extend, bytes_at(host + p->offset[l], bytes));
	}
}

/* One value for all lanes of the mask. */
static inline void fill32(struct bf_ptx_core *c, uint32_t ref, uint32_t v)
{
	uint32_t *d = bf_ptx_target32(c, ref);
	const uint32_t m = c->mask;

	if (c->kind == BF_PTX_KIND_LANE)
		d[c->lane] = v;
	else if (c->kind == BF_PTX_KIND_FULL)
		VECTOR_LOOP d[l] = v;
	else
		VECTOR_LOOP d[l] = m >> l & 1 ? v : d[l];
}

static inline void fill64(struct bf_ptx_core *c, uint32_t ref, uint64_t v)
{
	uint64_t *d = bf_ptx_target64(c, ref);
	const uint32_t m = c->mask;

	if (c->kind == BF_PTX_KIND_LANE)
		d[c->lane] = v;
	else if (c->kind == BF_PTX_KIND_FULL)
		VECTOR_LOOP d[l] = v;
	else
		VECTOR_LOOP d[l] = (uint64_t)m >> l & 1 ? v : d[l];
}

/* All lanes read one place. */
static inline void load_same(struct bf_ptx_core *c, const struct bf_ptx_piece *to, uint64_t value)
{
	value = bf_ptx_extended(to->extend, value);
	if (to->kind == BF_PTX_PIECE_32)
		fill32(c, to->ref, (uint32_t)value);
	else if (to->kind == BF_PTX_PIECE_64)
		fill64(c, to->ref, value);
}

static inline void load_plain(struct bf_ptx_core *c, const struct bf_ptx_access *x, const struct places *p)
{
	if (p->same) {
		for (uint32_t e = 0; e < x->count; e++)
			load_same(c, &x->out[e],
				  bytes_at(p->host + p->offset[c->lane] + (size_t)e * x->bytes, x->bytes));
		return;
	}
	if (p->dense && x->count == 1 && c->mask == ~0u) {
		const struct bf_ptx_piece *to = &x->out[0];
		if (to->kind == BF_PTX_PIECE_32 && x->bytes == 4) {
			memcpy(bf_ptx_row32(c, to->ref), p->host + p->offset[0], 4 * BF_PTX_LANES);
			return;
		}
		if (to->kind == BF_PTX_PIECE_64 && x->bytes == 8) {
			memcpy(bf_ptx_row64(c, to->ref), p->host + p->offset[0], 8 * BF_PTX_LANES);
			return;
		}
	}
	for (uint32_t e = 0; e < x->count; e++)
		load_element(c, &x->out[e], p, x->bytes, e * x->bytes);
}

static inline void store_plain(struct bf_ptx_core *c, const struct bf_ptx_access *x, const struct places *p)
{
	c->warp->progress++;
	if (p->dense && x->count == 1 && c->mask == ~0u) {
		const struct bf_ptx_piece *from = &x->in[0];
		if (from->kind == BF_PTX_PIECE_32 && x->bytes == 4) {
			memcpy(p->host + p->offset[0], bf_ptx_row32(c, from->ref), 4 * BF_PTX_LANES);
			return;
		}
		if (from->kind == BF_PTX_PIECE_64 && x->bytes == 8) {
			memcpy(p->host + p->offset[0], bf_ptx_row64(c, from->ref), 8 * BF_PTX_LANES);
			return;
		}
	}
	for (uint32_t e = 0; e < x->count; e++) {
		const struct bf_ptx_piece *from = &x->in[e];
		uint8_t *host = p->host + (size_t)e * x->bytes;
		if (from->kind == BF_PTX_PIECE_64) {
			const uint64_t *v = bf_ptx_row64(c, from->ref);
			EACH_LANE bytes_to(host + p->offset[l], x->bytes, v[l]);
		} else if (from->kind == BF_PTX_PIECE_32) {
			const uint32_t *v = bf_ptx_row32(c, from->ref);
			EACH_LANE bytes_to(host + p->offset[l], x->bytes, v[l]);
		}
	}
}

/* The row of local memory that all lanes of the mask mean, NULL: they mean different ones, or not just a word each. */
static inline uint32_t *local_row(struct bf_ptx_core *c, const struct bf_ptx_access *x, uint32_t *rows)
{
	const uint64_t first = bf_ptx_local_offset(c, x, address_of(c, x, c->lane));
	const uint64_t bytes = (uint64_t)x->bytes * x->count;

	if ((x->bytes & 3) != 0 || x->bytes > 8 || first + bytes > c->warp->local_bytes || (first & (bytes - 1)) != 0)
		return NULL;
	if (x->base != BF_PTX_REF_NONE) {
		uint64_t differ = 0;
		const uint32_t m = c->mask;
		if (x->base_wide) {
			const uint64_t *base = bf_ptx_row64(c, x->base);
			const uint64_t all = base[c->lane];
			VECTOR_LOOP differ |= (base[l] ^ all) & (0 - ((uint64_t)m >> l & 1));
		} else {
			const uint32_t *base = bf_ptx_row32(c, x->base);
			const uint32_t all = base[c->lane];
			uint32_t differ32 = 0;
			VECTOR_LOOP differ32 |= (base[l] ^ all) & (0 - (m >> l & 1));
			differ = differ32;
		}
		if (differ != 0)
			return NULL;
	}
	*rows = x->bytes >> 2;
	return (uint32_t *)(void *)(c->local + first / 4 * 4 * BF_PTX_LANES);
}

/* A load of a stack slot. False: not that simple. */
static inline bool load_local_row(struct bf_ptx_core *c, const struct bf_ptx_access *x)
{
	uint32_t words;
	const uint32_t *row = local_row(c, x, &words);
	const uint32_t m = c->mask;

	if (row == NULL)
		return false;
	for (uint32_t e = 0; e < x->count; e++, row += (size_t)words * BF_PTX_LANES) {
		const struct bf_ptx_piece *to = &x->out[e];
		if (to->kind == BF_PTX_PIECE_32 && words == 1) {
			uint32_t *d = bf_ptx_row32(c, to->ref);
			VECTOR_LOOP d[l] = m >> l & 1 ? row[l] : d[l];
		} else if (to->kind == BF_PTX_PIECE_64) {
			uint64_t *d = bf_ptx_row64(c, to->ref);
			const uint32_t *high = row + BF_PTX_LANES;
			if (words == 2)
				VECTOR_LOOP d[l] = (uint64_t)m >> l & 1 ? row[l] | (uint64_t)high[l] << 32 : d[l];
			else
				EACH_LANE d[l] = bf_ptx_extended(to->extend, row[l]);
		} else if (to->kind == BF_PTX_PIECE_32) {
			return false;
		}
	}
	return true;
}

static inline bool store_local_row(struct bf_ptx_core *c, const struct bf_ptx_access *x)
{
	uint32_t words;
	uint32_t *row = local_row(c, x, &words);
	const uint32_t m = c->mask;

	if (row == NULL)
		return false;
	for (uint32_t e = 0; e < x->count; e++, row += (size_t)words * BF_PTX_LANES) {
		const struct bf_ptx_piece *from = &x->in[e];
		if (from->kind == BF_PTX_PIECE_32 && words == 1) {
			const uint32_t *v = bf_ptx_row32(c, from->ref);
			VECTOR_LOOP row[l] = m >> l & 1 ? v[l] : row[l];
		} else if (from->kind == BF_PTX_PIECE_64) {
			const uint64_t *v = bf_ptx_row64(c, from->ref);
			uint32_t *high = row + BF_PTX_LANES;
			VECTOR_LOOP row[l] = m >> l & 1 ? (uint32_t)v[l] : row[l];
			if (words == 2)
				VECTOR_LOOP high[l] = m >> l & 1 ? (uint32_t)(v[l] >> 32) : high[l];
		} else if (from->kind == BF_PTX_PIECE_32) {
			return false;
		}
	}
	c->warp->progress++;
	return true;
}

static inline bool is_local(const struct bf_ptx_core *c, const struct bf_ptx_access *x)
{
	return x->space == BF_PTX_LOCAL ||
	       (x->space == BF_PTX_SPACE_NONE && address_of(c, x, c->lane) - BF_PTX_LOCAL_WINDOW < BF_PTX_LOCAL_SIZE);
}

/* Whether all lanes of the mask mean one address, which is often so: what does not depend on the lane, or one lane. */
static inline bool one_address(const struct bf_ptx_core *c, const struct bf_ptx_access *x)
{
	if (c->kind == BF_PTX_KIND_LANE || x->base == BF_PTX_REF_NONE)
		return true;
	return x->base_wide ? bf_ptx_alike64(bf_ptx_row64(c, x->base)) : bf_ptx_alike32(bf_ptx_row32(c, x->base));
}

/* Where the one plain address of a load is in memory of the host; NULL: that is not that simple. */
static inline const uint8_t *plain_place(const struct bf_ptx_core *c, const struct bf_ptx_access *x)
{
	const struct bf_ptx_warp *w = c->warp;
	const uint64_t span = (uint64_t)x->bytes * x->count, address = address_of(c, x, c->lane);
	const struct bf_ptx_window *win = NULL;
	uint64_t base = 0;

	switch (x->space) {
	case BF_PTX_LOCAL:
		return NULL;
	case BF_PTX_CONST:
		win = &w->constant;
		break;
	case BF_PTX_PARAM:
	case BF_PTX_PARAM_ENTRY:
		win = &w->param;
		break;
	case BF_PTX_SHARED:
	case BF_PTX_SHARED_CTA:
	case BF_PTX_SHARED_CLUSTER:
		win = &w->shared;
		base = win->base;
		break;
	default:
		if (address - BF_PTX_SHARED_WINDOW < 1ull << 32 || (*w->slow & w->loads_mind) != 0)
			return NULL;
		for (uint32_t k = 0; k < BF_ARRAY_LEN(w->global) && win == NULL; k++)
			if (address - w->global[k].base < w->global[k].size)
				win = &w->global[k];
		if (win == NULL)
			return NULL;
		base = win->base;
	}
	const uint64_t offset = address - base;
	if (win->size < span || offset > win->size - span || (offset & (span - 1)) != 0)
		return NULL;
	if (x->space == BF_PTX_SPACE_NONE || x->space == BF_PTX_GLOBAL)
		*w->charge += w->load_ps;
	return win->host + offset;
}

/* A load of one plain place for all lanes of the mask. False: not that simple. */
static inline bool load_one(struct bf_ptx_core *c, const struct bf_ptx_access *x)
{
	const uint8_t *at = one_address(c, x) ? plain_place(c, x) : NULL;

	if (at == NULL)
		return false;
	for (uint32_t e = 0; e < x->count; e++)
		load_same(c, &x->out[e], bytes_at(at + (size_t)e * x->bytes, x->bytes));
	return true;
}

/* All that is not one plain place: stack slots, lanes with places of their own, and the machine's. */
static BF_NOINLINE const struct bf_ptx_insn *load_others(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const struct bf_ptx_access *x = i->more;
	struct places p;

	if (is_local(c, x)) {
		if (load_local_row(c, x))
			return i + 1;
	} else if (x->prepared.plain && plain_places(c, x, &p)) {
		load_plain(c, x, &p);
		return i + 1;
	}
	return bf_ptx_access_slow(c, i);
}

HANDLER(load)
{
	const struct bf_ptx_access *x = i->more;

	if (x->prepared.plain && load_one(c, x))
		return i + 1;
	return load_others(c, i);
}

/* The window of global memory that has `bytes` at an address, which the instruction remembers. NULL: none. */
static BF_NOINLINE const struct bf_ptx_window *find_window(struct bf_ptx_core *c, const struct bf_ptx_insn *i,
							   uint64_t address)
{
	struct bf_ptx_body *body = c->frame->body;

	for (uint32_t k = 0; k < BF_PTX_WINDOWS; k++) {
		const struct bf_ptx_window *win = &c->warp->global[k];
		if (address - win->base < win->size) {
			body->insns[i - body->insns].b = k;
			return win;
		}
	}
	return NULL;
}

static BF_NOINLINE const struct bf_ptx_insn *not_quick(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	return load(c, i);
}

/* Where a quick load's bytes are, for which it has paid then; NULL: it is none after all. */
static BF_ALWAYS_INLINE const uint8_t *quick_place(struct bf_ptx_core *c, const struct bf_ptx_insn *i, uint64_t base)
{
	const struct bf_ptx_warp *w = c->warp;
	const uint64_t address = base + (uint64_t)(int64_t)(int32_t)i->e;
	const uint32_t bytes = i->mode & 15;
	const struct bf_ptx_window *win = &w->global[i->b];

	if (BF_UNLIKELY((*w->slow & w->loads_mind) != 0))
		return NULL;
	if (BF_UNLIKELY(address - win->base >= win->size) && (win = find_window(c, i, address)) == NULL)
		return NULL;
	const uint64_t offset = address - win->base;
	if (BF_UNLIKELY(win->size - offset < bytes || (offset & (bytes - 1)) != 0))
		return NULL;
	*w->charge += w->load_ps;
	return win->host + offset;
}

/*
 * The usual load: one element at a register and a number, in global memory. `d` and `a`: target and base, `e`: the
 * number, `b`: the window that had it last, `mode`: bytes, and whether the target has 64 bits.
 */
HANDLER(load_quick)
{
	const uint64_t *base = bf_ptx_row64(c, i->a);
	const uint8_t *at = bf_ptx_alike64(base) ? quick_place(c, i, base[0]) : NULL;

	if (BF_UNLIKELY(at == NULL))
		return not_quick(c, i);
	const uint64_t value = bytes_at(at, i->mode & 15);
	if (i->mode & BF_PTX_QUICK_WIDE)
		fill64(c, i->d, value);
	else
		fill32(c, i->d, (uint32_t)value);
	return BF_PTX_GO(c, i + 1);
}

HANDLER(load_quick_lane)
{
	const uint32_t l = c->lane;
	const uint8_t *at = quick_place(c, i, bf_ptx_row64(c, i->a)[l]);

	if (BF_UNLIKELY(at == NULL))
		return not_quick(c, i);
	const uint64_t value = bytes_at(at, i->mode & 15);
	if (i->mode & BF_PTX_QUICK_WIDE)
		bf_ptx_target64(c, i->d)[l] = value;
	else
		bf_ptx_target32(c, i->d)[l] = (uint32_t)value;
	return BF_PTX_GO_AS(BF_PTX_KIND_LANE, c, i + 1);
}

HANDLER(store)
{
	const struct bf_ptx_access *x = i->more;
	struct places p;

	if (is_local(c, x)) {
		if (store_local_row(c, x))
			return i + 1;
	} else if (x->prepared.plain && plain_places(c, x, &p)) {
		store_plain(c, x, &p);
		return i + 1;
	}
	return bf_ptx_access_slow(c, i);
}

#endif
