/*
 * Instructions of the machine's, by the port, and accesses to .local memory lane by lane.
 */
#include "models/ptx/core_internal.h"

#include <string.h>

/* A word of a lane's local memory. */
static uint32_t *local_word(const struct bf_ptx_core *c, uint32_t lane, uint64_t offset)
{
	return (uint32_t *)(void *)c->local + (offset / 4 * BF_PTX_LANES + lane);
}

static void local_copy(const struct bf_ptx_core *c, uint32_t lane, uint64_t offset, uint8_t *data, uint32_t len,
		       bool write)
{
	while (len > 0) {
		const uint32_t at = offset & 3, n = len < 4 - at ? len : 4 - at;
		uint8_t *word = (uint8_t *)local_word(c, lane, offset) + at;
		if (write)
			memcpy(word, data, n);
		else
			memcpy(data, word, n);
		offset += n;
		data += n;
		len -= n;
	}
}

static bool local_there(const struct bf_ptx_warp *w, uint64_t offset, uint32_t len)
{
	return offset < w->local_bytes && len <= w->local_bytes - offset;
}

bool bf_ptx_warp_local_read(const struct bf_ptx_warp *w, uint32_t lane, uint64_t address, void *to, uint32_t len)
{
	const uint64_t offset = address - w->core->local_low;

	if (!local_there(w, offset, len))
		return false;
	local_copy(w->core, lane, offset, to, len, false);
	return true;
}

bool bf_ptx_warp_local_write(const struct bf_ptx_warp *w, uint32_t lane, uint64_t address, const void *from,
			     uint32_t len)
{
	const uint64_t offset = address - w->core->local_low;
	uint8_t part[64];

	if (!local_there(w, offset, len))
		return false;
	for (uint32_t done = 0; done < len;) {
		const uint32_t n = len - done < sizeof(part) ? len - done : (uint32_t)sizeof(part);
		memcpy(part, (const uint8_t *)from + done, n);
		local_copy(w->core, lane, offset + done, part, n, true);
		done += n;
	}
	return true;
}

/* An operand as a row of 64 bits. */
static void fetch(const struct bf_ptx_core *c, const struct bf_ptx_piece *p, uint64_t *row)
{
	if (c->kind == BF_PTX_KIND_LANE) {
		const uint32_t l = c->lane;

		row[l] = p->kind == BF_PTX_PIECE_32     ? bf_ptx_row32(c, p->ref)[l]
			 : p->kind == BF_PTX_PIECE_64   ? bf_ptx_row64(c, p->ref)[l]
			 : p->kind == BF_PTX_PIECE_PRED ? *bf_ptx_pred(c, p->ref) >> l & 1
							: 0;
		return;
	}
	switch (p->kind) {
	case BF_PTX_PIECE_32: {
		const uint32_t *s = bf_ptx_row32(c, p->ref);
		for (uint32_t l = 0; l < BF_PTX_LANES; l++)
			row[l] = s[l];
		break;
	}
	case BF_PTX_PIECE_64:
		memcpy(row, bf_ptx_row64(c, p->ref), sizeof(bf_ptx_row));
		break;
	case BF_PTX_PIECE_PRED: {
		const uint32_t s = *bf_ptx_pred(c, p->ref);
		for (uint32_t l = 0; l < BF_PTX_LANES; l++)
			row[l] = s >> l & 1;
		break;
	}
	default:
		memset(row, 0, sizeof(bf_ptx_row));
	}
}

/* A result into its register, for the lanes of `mask`. */
static void deliver(struct bf_ptx_core *c, const struct bf_ptx_piece *p, const uint64_t *row, uint32_t mask)
{
	uint32_t bits = 0;

	for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
		const uint32_t l = (uint32_t)__builtin_ctz(rest);
		if (p->kind == BF_PTX_PIECE_32)
			bf_ptx_row32(c, p->ref)[l] = (uint32_t)bf_ptx_extended(p->extend, row[l]);
		else if (p->kind == BF_PTX_PIECE_64)
			bf_ptx_row64(c, p->ref)[l] = bf_ptx_extended(p->extend, row[l]);
		else
			bits |= (uint32_t)(row[l] & 1) << l;
	}
	if (p->kind == BF_PTX_PIECE_PRED) {
		uint32_t *d = bf_ptx_pred(c, p->ref);
		*d = (*d & ~mask) | bits;
	}
}

static uint64_t fixed_part(const struct bf_ptx_core *c, const struct bf_ptx_access *x)
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

static void fetch_address(const struct bf_ptx_core *c, const struct bf_ptx_access *x, uint64_t *row)
{
	const uint64_t fixed = fixed_part(c, x);
	const uint32_t first = c->kind == BF_PTX_KIND_LANE ? c->lane : 0;
	const uint32_t end = c->kind == BF_PTX_KIND_LANE ? c->lane + 1 : BF_PTX_LANES;

	for (uint32_t l = first; l < end; l++) {
		if (x->base == BF_PTX_REF_NONE)
			row[l] = fixed;
		else if (x->base_wide)
			row[l] = bf_ptx_row64(c, x->base)[l] + fixed;
		else
			row[l] = (uint32_t)(bf_ptx_row32(c, x->base)[l] + (uint32_t)fixed);
	}
}

/* Lanes `mask` of the instruction by the port. */
static enum bf_ptx_result perform(struct bf_ptx_core *c, const struct bf_ptx_access *x, uint32_t mask)
{
	struct bf_ptx_warp *w = c->warp;
	uint32_t n = 0;

	if (x->address)
		fetch_address(c, x, c->in[n++]);
	for (uint32_t k = 0; k < x->in_count; k++)
		fetch(c, &x->in[k], c->in[n++]);
	const enum bf_ptx_result r = w->port->perform(w, &x->prepared, mask, (const bf_ptx_row *)c->in, c->out);
	if (r == BF_PTX_DONE)
		for (uint32_t k = 0; k < x->out_count; k++)
			deliver(c, &x->out[k], c->out[k], mask);
	return r;
}

static const struct bf_ptx_insn *result(struct bf_ptx_core *c, const struct bf_ptx_insn *i, enum bf_ptx_result r)
{
	switch (r) {
	case BF_PTX_DONE:
		break;
	case BF_PTX_WAIT:
		return bf_ptx_suspend(c, i, BF_PTX_SUSPENDED);
	case BF_PTX_FAULT:
		return bf_ptx_dead(c);
	}
	return i + 1;
}

const struct bf_ptx_insn *bf_ptx_do_perform(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	bf_ptx_account(c, i->count);
	bf_ptx_at(c, i);
	return result(c, i, perform(c, i->more, c->mask));
}

/* One lane's load or store in local memory. */
static bool local_lane(struct bf_ptx_core *c, const struct bf_ptx_access *x, uint32_t l, uint64_t offset)
{
	const uint32_t bytes = x->bytes;

	if (!local_there(c->warp, offset, bytes * x->count) || (offset & (bytes * x->count - 1)) != 0)
		return false;
	for (uint32_t e = 0; e < x->count; e++) {
		/* An element of 128 bits is two pieces. */
		const uint32_t parts = bytes == 16 ? 2 : 1, size = bytes / parts;
		for (uint32_t k = 0; k < parts; k++, offset += size) {
			const struct bf_ptx_piece *p = x->store ? &x->in[e * parts + k] : &x->out[e * parts + k];
			uint64_t v = 0;
			uint8_t data[8];
			if (x->store) {
				v = p->kind == BF_PTX_PIECE_64 ? bf_ptx_row64(c, p->ref)[l]
							       : bf_ptx_row32(c, p->ref)[l];
				memcpy(data, &v, 8);
				local_copy(c, l, offset, data, size, true);
				continue;
			}
			local_copy(c, l, offset, data, size, false);
			memcpy(&v, data, size);
			v = bf_ptx_extended(p->extend, v);
			if (p->kind == BF_PTX_PIECE_64)
				bf_ptx_row64(c, p->ref)[l] = v;
			else if (p->kind == BF_PTX_PIECE_32)
				bf_ptx_row32(c, p->ref)[l] = (uint32_t)v;
		}
	}
	return true;
}

const struct bf_ptx_insn *bf_ptx_access_slow(struct bf_ptx_core *c, const struct bf_ptx_insn *i)
{
	const struct bf_ptx_access *x = i->more;
	uint64_t address[BF_PTX_LANES];
	uint32_t rest = 0;

	bf_ptx_account(c, i->count);
	bf_ptx_at(c, i);
	fetch_address(c, x, address);
	for (uint32_t left = c->mask; left != 0; left &= left - 1) {
		const uint32_t l = (uint32_t)__builtin_ctz(left);
		const bool generic = x->space == BF_PTX_SPACE_NONE;
		if (x->space != BF_PTX_LOCAL && !(generic && address[l] - BF_PTX_LOCAL_WINDOW < BF_PTX_LOCAL_SIZE))
			rest |= 1u << l;
		else if (!local_lane(c, x, l, bf_ptx_local_offset(c, x, address[l])))
			return bf_ptx_trapped(c, i, BF_PTX_TRAP_LOCAL,
					      "outside the thread's .local memory, or misaligned");
	}
	if (x->store && rest != c->mask)
		c->warp->progress++;
	if (rest != 0 && (x->space == BF_PTX_PARAM || x->space == BF_PTX_PARAM_ENTRY))
		return bf_ptx_trapped(c, i, BF_PTX_TRAP_LOCAL, "outside the kernel's parameters, or misaligned");
	return rest != 0 ? result(c, i, perform(c, x, rest)) : i + 1;
}
