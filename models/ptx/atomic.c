/*
 * atom and red: each lane's read-modify-write, in order of lanes, where its scope has its point of coherence.
 *
 * What records have a name for goes through bf_atomic(), the rest through bf_atomic_apply(). Vectors are atomic element
 * by element (PTX ISA, "atom").
 */
#include <string.h>

#include "models/ptx/float.h"
#include "models/ptx/machine_internal.h"
#include "sim/word.h"

#define ATOMIC_BYTES 16u
#define SHARED_ATOMIC_PS 62000u /* as models/hopper's callers have it: about 120 cycles */

struct modify {
	uint32_t sub, type, len;
	bool shared;
	uint8_t a[ATOMIC_BYTES], b[ATOMIC_BYTES]; /* operand; value to store of cas */
};

static uint64_t bits_of(const uint8_t *bytes, uint32_t len)
{
	uint64_t v = 0;

	memcpy(&v, bytes, len < 8 ? len : 8);
	return v;
}

static int64_t signed_of(uint64_t v, uint32_t len)
{
	return len == 4 ? (int32_t)v : (int64_t)v;
}

/* f32 on global memory flushes subnormals, on shared memory it does not; both seen on an H100. */
static uint64_t add_float(const struct modify *m, uint64_t a, uint64_t b)
{
	const enum bf_ptx_type half = m->type == BF_PTX_BF16 || m->type == BF_PTX_BF16X2 ? BF_PTX_BF16 : BF_PTX_F16;

	switch (m->type) {
	case BF_PTX_F32:
		return bf_ptx_add_f32((uint32_t)a, (uint32_t)b, m->shared ? 0 : BF_PTX_MODE_FTZ);
	case BF_PTX_F64:
		return bf_ptx_add_f64(a, b, 0);
	case BF_PTX_F16:
	case BF_PTX_BF16:
		return bf_ptx_half_add(half, (uint16_t)a, (uint16_t)b, 0);
	default:
		return (uint64_t)bf_ptx_half_add(half, (uint16_t)(a >> 16), (uint16_t)(b >> 16), 0) << 16 |
		       bf_ptx_half_add(half, (uint16_t)a, (uint16_t)b, 0);
	}
}

static uint64_t pick_half(const struct modify *m, uint64_t a, uint64_t b)
{
	const enum bf_ptx_type half = m->type == BF_PTX_BF16 || m->type == BF_PTX_BF16X2 ? BF_PTX_BF16 : BF_PTX_F16;
	uint64_t out = 0;

	for (uint32_t at = 0; at < 8 * m->len; at += 16) {
		const uint16_t x = (uint16_t)(a >> at), y = (uint16_t)(b >> at);

		out |= (uint64_t)(m->sub == BF_PTX_SUB_MIN ? bf_ptx_half_min(half, x, y, 0)
							   : bf_ptx_half_max(half, x, y, 0))
		       << at;
	}
	return out;
}

static uint64_t pick(const struct modify *m, uint64_t old, uint64_t a)
{
	const bool is_signed = m->type == BF_PTX_S32 || m->type == BF_PTX_S64;
	const bool less = is_signed ? signed_of(old, m->len) < signed_of(a, m->len) : old < a;

	if (bf_ptx_type_letter((enum bf_ptx_type)m->type) == 'f')
		return pick_half(m, old, a);
	return less == (m->sub == BF_PTX_SUB_MIN) ? old : a;
}

static bool apply(void *arg, const void *was, void *now)
{
	const struct modify *m = arg;
	const uint64_t old = bits_of(was, m->len), a = bits_of(m->a, m->len);
	uint64_t v;

	switch (m->sub) {
	case BF_PTX_SUB_EXCH:
		memcpy(now, m->a, m->len);
		return true;
	case BF_PTX_SUB_CAS:
		memcpy(now, m->b, m->len);
		return memcmp(was, m->a, m->len) == 0;
	case BF_PTX_SUB_ADD:
		v = bf_ptx_type_letter((enum bf_ptx_type)m->type) == 'f' ? add_float(m, old, a) : old + a;
		break;
	case BF_PTX_SUB_MIN:
	case BF_PTX_SUB_MAX:
		v = pick(m, old, a);
		break;
	case BF_PTX_SUB_AND:
		v = old & a;
		break;
	case BF_PTX_SUB_OR:
		v = old | a;
		break;
	case BF_PTX_SUB_XOR:
		v = old ^ a;
		break;
	case BF_PTX_SUB_INC:
		v = old >= a ? 0 : old + 1;
		break;
	default:
		v = old == 0 || old > a ? a : old - 1;
		break;
	}
	memcpy(now, &v, m->len < 8 ? m->len : 8);
	return true;
}

void bf_ptx_combine(uint32_t how, bool shared, void *at, const void *data, uint32_t len)
{
	struct modify m = { .sub = how >> 8, .type = how & 0xff, .shared = shared };
	uint8_t was[ATOMIC_BYTES], now[ATOMIC_BYTES];

	m.len = bf_ptx_type_bits((enum bf_ptx_type)m.type) / 8;
	for (uint32_t i = 0; i < len; i += m.len) {
		memcpy(m.a, (const uint8_t *)data + i, m.len);
		memcpy(was, (uint8_t *)at + i, m.len);
		if (apply(&m, was, now))
			memcpy((uint8_t *)at + i, now, m.len);
	}
}

bool bf_ptx_atomic_known(uint32_t sub, uint32_t type)
{
	const uint32_t bits = bf_ptx_type_bits((enum bf_ptx_type)type);
	const char letter = bf_ptx_type_letter((enum bf_ptx_type)type);

	switch (sub) {
	case BF_PTX_SUB_EXCH:
		return bits == 32 || bits == 64 || bits == 128;
	case BF_PTX_SUB_CAS:
		return bits >= 16 && letter != 'f';
	case BF_PTX_SUB_ADD:
		return letter == 'f' ? type == BF_PTX_F32 || type == BF_PTX_F64 || bits == 16 || type == BF_PTX_F16X2 ||
					   type == BF_PTX_BF16X2
				     : bits == 32 || bits == 64;
	case BF_PTX_SUB_MIN:
	case BF_PTX_SUB_MAX:
		return letter == 'f' ? bits == 16 || type == BF_PTX_F16X2 || type == BF_PTX_BF16X2
				     : bits == 32 || bits == 64;
	case BF_PTX_SUB_AND:
	case BF_PTX_SUB_OR:
	case BF_PTX_SUB_XOR:
		return letter != 'f' && (bits == 32 || bits == 64);
	case BF_PTX_SUB_INC:
	case BF_PTX_SUB_DEC:
		return bits == 32;
	default:
		return false;
	}
}

/* The same in the words of records, where they have one. */
static bool has_name(const struct modify *m, enum bf_atomic_op *op)
{
	const bool is_float = bf_ptx_type_letter((enum bf_ptx_type)m->type) == 'f';

	if ((m->len != 4 && m->len != 8) || is_float)
		return false;
	*op = m->sub == BF_PTX_SUB_ADD    ? BF_ATOMIC_ADD
	      : m->sub == BF_PTX_SUB_EXCH ? BF_ATOMIC_EXCH
	      : m->sub == BF_PTX_SUB_CAS  ? BF_ATOMIC_CAS
	      : m->sub == BF_PTX_SUB_AND  ? BF_ATOMIC_AND
	      : m->sub == BF_PTX_SUB_OR   ? BF_ATOMIC_OR
					  : BF_ATOMIC_MAX;
	return *op != BF_ATOMIC_MAX || (m->sub == BF_PTX_SUB_MAX && m->type != BF_PTX_S32 && m->type != BF_PTX_S64);
}

/* What becomes of the bytes. True: they change. */
static bool look(struct modify *m, const uint8_t *host, uint8_t *old, uint8_t *now)
{
	memcpy(old, host, m->len);
	return apply(m, old, now) && memcmp(old, now, m->len) != 0;
}

static bool modify_shared(struct bf_ptx_machine_warp *w, struct modify *m, const struct bf_ptx_place *p, uint32_t at,
			  uint8_t *old)
{
	struct bf_ptx_block *b = p->block;
	uint8_t now[ATOMIC_BYTES];

	if (!look(m, p->host + at, old, now))
		return false;
	if (b->grid->copies_shared)
		bf_bulk_plain_store(b->cta, b == w->block ? w->index : 0,
				    bf_hopper_map(p->offset + at - BF_PTX_SHARED_FIRST, b->rank), now, m->len);
	else
		memcpy(p->host + at, now, m->len);
	bf_ptx_shared_changed(b);
	return true;
}

static bool modify_direct(struct bf_ptx_machine_warp *w, struct modify *m, uint8_t *host, uint8_t *old)
{
	uint8_t now[ATOMIC_BYTES];

	do
		if (!look(m, host, old, now))
			return false;
	while (BF_UNLIKELY(w->device->sim->shared) && !bf_word_swap(host, old, now, m->len));
	if (!w->device->sim->shared)
		memcpy(host, now, m->len);
	if (w->device->sim->slow & BF_SLOW_WATCH)
		bf_agents_line_touched(w->device->sim, host);
	return true;
}

/* Through the lane's view. */
static bool modify_viewed(struct bf_ptx_machine_warp *w, struct modify *m, const struct bf_ptx_prepared *op,
			  uint8_t *host, uint8_t *old)
{
	const enum bf_sem sem = (enum bf_sem)op->words[BF_PTX_W_SEM];
	const enum bf_scope scope = (enum bf_scope)op->words[BF_PTX_W_SCOPE];
	uint8_t now[ATOMIC_BYTES] = { 0 };
	enum bf_atomic_op named;
	uint64_t v;

	if (has_name(m, &named)) {
		const bool cas = named == BF_ATOMIC_CAS;

		v = bf_atomic(w->agent, host, m->len, named, bits_of(cas ? m->b : m->a, m->len),
			      cas ? bits_of(m->a, m->len) : 0, sem, scope);
		memcpy(old, &v, m->len);
	} else {
		bf_atomic_apply(w->agent, host, m->len, apply, m, old, sem, scope);
	}
	return apply(m, old, now) && memcmp(old, now, m->len) != 0;
}

static void pay(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, enum bf_ptx_space space)
{
	const struct bf_cost *c = w->device->pays;
	const uint32_t scope = op->words[BF_PTX_W_SCOPE], sem = op->words[BF_PTX_W_SEM];
	const uint64_t fence = scope == BF_SCOPE_CTA   ? c->fence_cta
			       : scope == BF_SCOPE_GPU ? c->fence_gpu
						       : c->fence_sys;
	const bool ordered = sem == BF_RELEASE || sem == BF_ACQ_REL;

	bf_agent_delay(w->agent, (space == BF_PTX_SHARED ? SHARED_ATOMIC_PS : c->atomic) + (ordered ? fence : 0));
}

/* An element of one lane. */
static bool modify(struct bf_ptx_machine_warp *w, uint32_t lane, struct modify *m, const struct bf_ptx_prepared *op,
		   const struct bf_ptx_place *p, uint32_t at, uint8_t *old)
{
	bool changed;

	m->shared = p->space == BF_PTX_SHARED;
	if (p->space == BF_PTX_SHARED)
		changed = modify_shared(w, m, p, at, old);
	else if (!(w->device->sim->slow & ~BF_SLOW_WATCH))
		changed = modify_direct(w, m, p->host + at, old);
	else
		changed = modify_viewed(w, m, op, p->host + at, old);
	/* One that changes nothing is a look: a compare-and-swap in vain, a lock that is taken. */
	if (changed)
		w->core.progress++;
	else
		bf_ptx_looked(w, lane, p->host + at, m->len, old, m->shared);
	return changed;
}

static void take_operand(uint8_t *bytes, const bf_ptx_row *in, uint32_t row, uint32_t lane, uint32_t len)
{
	memcpy(bytes, &in[row][lane], len < 8 ? len : 8);
	if (len > 8)
		memcpy(bytes + 8, &in[row + 1][lane], len - 8);
}

static void give_old(bf_ptx_row *out, uint32_t row, uint32_t lane, const uint8_t *old, uint32_t len)
{
	out[row][lane] = bits_of(old, len);
	if (len > 8)
		out[row + 1][lane] = bits_of(old + 8, 8);
}

enum bf_ptx_result bf_ptx_do_atomic(struct bf_ptx_machine_warp *w, const struct bf_ptx_prepared *op, uint32_t mask,
				    const bf_ptx_row *in, bf_ptx_row *out)
{
	const uint32_t len = op->words[BF_PTX_W_BYTES], elems = op->words[BF_PTX_W_ELEMS];
	const uint32_t each = len > 8 ? 2 : 1;
	struct modify m = { .sub = op->words[BF_PTX_W_SUB], .type = op->words[BF_PTX_W_TYPE], .len = len };
	const bool lanes = (w->device->sim->slow & ~BF_SLOW_WATCH) != 0;
	bool paid = false;

	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);
		struct bf_ptx_place p;
		uint8_t old[ATOMIC_BYTES] = { 0 };

		if (!bf_ptx_place(w, lane, op->words[BF_PTX_W_SPACE], in[0][lane], len * elems, true, &p))
			return BF_PTX_FAULT;
		if (p.space == BF_PTX_LOCAL)
			return bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_SPACE, in[0][lane],
					       "an atomic on local memory");
		if (p.region && p.region->kind == BF_MEM_MMIO)
			return bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_SPACE, in[0][lane],
					       "an atomic on registers of a device");
		if (!paid)
			pay(w, op, p.space);
		paid = true;
		if (lanes && !bf_ptx_as_lane(w, lane))
			return BF_PTX_FAULT;
		for (uint32_t i = 0; i < elems; i++) {
			take_operand(m.a, in, 1 + i * each, lane, len);
			if (m.sub == BF_PTX_SUB_CAS)
				take_operand(m.b, in, 1 + each, lane, len);
			modify(w, lane, &m, op, &p, i * len, old);
			if (op->words[BF_PTX_W_OUTS])
				give_old(out, i * each, lane, old, len);
		}
	}
	bf_ptx_as_warp(w);
	bf_ptx_stall(w);
	return bf_ptx_is_dead(w->device) ? BF_PTX_FAULT : BF_PTX_DONE;
}
