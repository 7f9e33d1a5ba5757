/* What host code needs of the kernels: checking a shape, and filling and checking the heaps around a run. */
#include "drivers/ibgda/kernels.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

extern const struct bf_ibgda_kernels bf_ibgda_kernels_sim, bf_ibgda_kernels_native;

const struct bf_ibgda_shape bf_ibgda_shape_default = {
	.blocks = 1,
	.warps = 1,
	.messages = 1,
	.bytes = 64,
	.amo = BF_IBGDA_AMO_ADD,
	.amo_bytes = 8,
	.counters = 1,
};

const struct bf_ibgda_kernels *bf_ibgda_kernels(enum bf_platform_id platform)
{
	switch (platform) {
	case BF_PLATFORM_SIM:
		return &bf_ibgda_kernels_sim;
	case BF_PLATFORM_NATIVE:
		return &bf_ibgda_kernels_native;
	case BF_PLATFORM_CUDA:
	case BF_PLATFORM_HIP:
		break;
	}
	return NULL;
}

/* Most blocks that one call of a worker's crew reserves, as kernels_internal.h issues them. */
static uint32_t group_blocks(const struct bf_ibgda_shape *s, enum bf_ibgda_work work)
{
	const bool two = s->amo_bytes == 8 && (s->amo == BF_IBGDA_AMO_SET || s->amo == BF_IBGDA_AMO_SWAP ||
					       s->amo == BF_IBGDA_AMO_AND || s->amo == BF_IBGDA_AMO_OR);
	const uint32_t lanes = s->per_lane ? s->lanes : 1;

	if (work == BF_IBGDA_AMO)
		return two ? lanes * 2 + 1 : lanes;
	return lanes + 1; /* blocking gets end with a DUMP */
}

static int check_operation(const struct bf_ibgda_shape *s, enum bf_ibgda_work work, struct bf_error *err)
{
	if (s->bytes < 1 || s->bytes > 1u << 30)
		return bf_fail(err, -EINVAL, "message size %u: must be 1 to 2^30 bytes", s->bytes);
	if (s->stride < s->bytes || s->stride % 8 || s->base % 64)
		return bf_fail(err, -EINVAL, "stride %u: must hold %u bytes and be a multiple of 8 (base: of 64)",
			       s->stride, s->bytes);
	if (work != BF_IBGDA_AMO && work != BF_IBGDA_MIXED)
		return 0;
	if (s->counters < 1)
		return bf_fail(err, -EINVAL, "atomics need at least one counter");
	if (s->amo_bytes != 4 && s->amo_bytes != 8)
		return bf_fail(err, -EINVAL, "atomics of %u bytes: must be 4 or 8", s->amo_bytes);
	if ((uint32_t)s->amo >= BF_IBGDA_AMO_OPS)
		return bf_fail(err, -EINVAL, "no atomic operation %u", (unsigned)s->amo);
	if (!s->amo_fetch && (s->amo == BF_IBGDA_AMO_CAS || s->amo == BF_IBGDA_AMO_FETCH))
		return bf_fail(err, -EINVAL, "this atomic operation exists only with the old value fetched");
	return 0;
}

/* How many issuers of a PE may have work on one QP at a time: the bound is all of them. */
static int check_flight(struct bf_ibgda_shape *s, enum bf_ibgda_work work, uint32_t issuers, uint32_t nwqes,
			struct bf_error *err)
{
	/* A message is at most a signal's put: its entries, an atomic, and NOPs; a CAS waits for itself. */
	const uint64_t each = work == BF_IBGDA_PUT ? 1 : 3;
	const uint64_t room = nwqes / (each * issuers);

	if (!s->quiet_every)
		s->quiet_every = room > s->messages ? s->messages : (uint32_t)room;
	if (!room || s->quiet_every > room)
		return bf_fail(err, -EINVAL,
			       "DeepEP does not wait for free slots: %u issuers on a queue of %u WQEBBs need a "
			       "quiet after at most %llu messages",
			       issuers, nwqes, (unsigned long long)room);
	return 0;
}

int bf_ibgda_shape_check(struct bf_ibgda_shape *s, enum bf_ibgda_work work, uint32_t npes,
			 enum bf_ibgda_flavour flavour, uint32_t num_rc_per_pe, uint32_t nwqes, struct bf_error *err)
{
	struct bf_ibgda_layout at;
	uint32_t group, most;
	int rc;

	if (!s->window)
		s->window = s->messages;
	if (!s->stride)
		s->stride = (s->bytes + 63) & ~63u;
	if (!s->lanes)
		s->lanes = BF_LANES;
	if (npes < 2 || (s->route == BF_IBGDA_PAIR && npes % 2))
		return bf_fail(err, -EINVAL, "%u PEs: need at least 2, and an even number for pairs", npes);
	if (!s->blocks || !s->warps || !s->messages || s->lanes > BF_LANES || !num_rc_per_pe || !nwqes)
		return bf_fail(err, -EINVAL, "blocks, warps, messages and QPs must not be 0, lanes at most 32");
	if ((uint64_t)s->blocks * s->warps > 1u << 16)
		return bf_fail(err, -EINVAL, "%u blocks of %u warps: more than 65536 warps", s->blocks, s->warps);
	rc = check_operation(s, work, err);
	if (rc)
		return rc;
	bf_ibgda_layout(s, npes, &at);
	group = group_blocks(s, work);
	most = nwqes - (nwqes < 128 ? nwqes / 4 : 32) + 1; /* less what a batch may leave unposted: sq.h */
	if (group > most)
		return bf_fail(err, -EINVAL, "%u lanes at once take %u WQEBBs, at most %u of a queue of %u are safe",
			       s->lanes, group, most, nwqes);
	return flavour == BF_IBGDA_DEEPEP ? check_flight(s, work, at.issuers, nwqes, err) : 0;
}

static void write_payload(uint8_t *p, uint32_t bytes, uint64_t key)
{
	uint32_t i = 0;

	for (; i * 8 + 8 <= bytes; i++)
		bf_put_le64(p + i * 8, bf_ibgda_pattern_word(key, i));
	for (uint32_t b = i * 8; b < bytes; b++)
		p[b] = (uint8_t)(bf_ibgda_pattern_word(key, i) >> (b % 8 * 8));
}

/* Value of a counter before the run. */
static uint64_t counter_start(enum bf_ibgda_work work, const struct bf_ibgda_shape *s)
{
	if (work != BF_IBGDA_AMO || s->amo != BF_IBGDA_AMO_AND)
		return 0;
	return s->amo_bytes == 4 ? 0xffffffffull : ~0ull;
}

void bf_ibgda_prepare(enum bf_ibgda_work work, const struct bf_ibgda_shape *s, uint32_t npes, void *const *heaps)
{
	struct bf_ibgda_layout at;

	bf_ibgda_layout(s, npes, &at);
	for (uint32_t pe = 0; pe < npes; pe++) {
		uint8_t *heap = heaps[pe];

		if (!heap)
			continue;
		memset(heap + at.src, 0, at.end - at.src);
		for (uint32_t c = 0; c < s->counters; c++)
			bf_put_le64(heap + at.counter + c * 8ull, counter_start(work, s));
		/* With `fill` a put's source is its issuer's to write; a get's must be there from the start. */
		if (s->fill && work == BF_IBGDA_PUT)
			continue;
		for (uint32_t i = 0; i < at.issuers; i++)
			for (uint32_t k = 0; k < s->window; k++)
				write_payload(heap + at.src + ((uint64_t)i * s->window + k) * s->stride, s->bytes,
					      bf_ibgda_pattern_key(pe, i, k));
	}
}

/* A check in progress. */
struct verify {
	enum bf_ibgda_work work;
	const struct bf_ibgda_shape *s;
	struct bf_ibgda_layout at;
	uint32_t npes;
	void *const *heaps;
	struct bf_ibgda_mismatch *out;
};

static void mismatch(struct verify *v, uint32_t pe, uint64_t offset, const char *fmt, ...) BF_PRINTF(4, 5);
static void mismatch(struct verify *v, uint32_t pe, uint64_t offset, const char *fmt, ...)
{
	va_list args;

	if (v->out->count++)
		return;
	v->out->pe = pe;
	v->out->offset = offset;
	va_start(args, fmt);
	vsnprintf(v->out->text, sizeof(v->out->text), fmt, args);
	va_end(args);
}

static uint64_t word_at(const struct verify *v, uint32_t pe, uint64_t offset)
{
	return bf_get_le64((const uint8_t *)v->heaps[pe] + offset);
}

/* Whether one of the messages of slot `k` is an operation of kind `op`. */
static bool slot_has(const struct verify *v, uint32_t pe, uint32_t issuer, uint32_t k, enum bf_ibgda_mixed_op op)
{
	const bool is_put = op == BF_IBGDA_MIXED_PUT || op == BF_IBGDA_MIXED_PUT_SIGNAL;

	if (v->work == BF_IBGDA_PUT)
		return is_put && k < v->s->messages;
	if (v->work == BF_IBGDA_GET)
		return op == BF_IBGDA_MIXED_GET && k < v->s->messages;
	if (v->work == BF_IBGDA_AMO)
		return false;
	for (uint32_t m = k; m < v->s->messages; m += v->s->window)
		if (bf_ibgda_mixed_pick(v->s->seed, pe, issuer, m) == (uint32_t)op)
			return true;
	return false;
}

/* One slot: the payload of `key`, or untouched; and nothing behind it up to the stride. */
static void check_slot(struct verify *v, uint32_t pe, uint64_t offset, bool written, uint64_t key, const char *what,
		       uint32_t from, uint32_t issuer, uint32_t k)
{
	const uint8_t *p = (const uint8_t *)v->heaps[pe] + offset;

	for (uint32_t b = 0; b < v->s->stride; b++) {
		const uint64_t word = bf_ibgda_pattern_word(key, b / 8);
		const uint8_t want = (uint8_t)(written && b < v->s->bytes ? word >> (b % 8 * 8) : 0);

		if (p[b] == want)
			continue;
		mismatch(v, pe, offset + b, "%s of PE %u, issuer %u, slot %u: byte %u is 0x%02x, not 0x%02x%s", what,
			 from, issuer, k, b, p[b], want, written ? "" : " (nobody should write here)");
		return;
	}
}

static void check_puts(struct verify *v, uint32_t pe, uint32_t from, uint32_t issuer)
{
	const struct bf_ibgda_shape *s = v->s;

	for (uint32_t k = 0; k < s->window; k++) {
		const uint64_t index = ((uint64_t)from * v->at.issuers + issuer) * s->window + k;
		const uint64_t key = bf_ibgda_pattern_key(from, issuer, k);
		const bool mine = from != pe && bf_ibgda_peer(s, v->npes, from, k) == pe;
		const bool put = mine && (slot_has(v, from, issuer, k, BF_IBGDA_MIXED_PUT) ||
					  slot_has(v, from, issuer, k, BF_IBGDA_MIXED_PUT_SIGNAL));
		const bool p = mine && v->work == BF_IBGDA_MIXED && slot_has(v, from, issuer, k, BF_IBGDA_MIXED_P);
		const uint64_t word = word_at(v, pe, v->at.word + index * 8);

		check_slot(v, pe, v->at.put_dst + index * s->stride, put, key, "put", from, issuer, k);
		if (word != (p ? (uint32_t)key : 0))
			mismatch(v, pe, v->at.word + index * 8, "p of PE %u, issuer %u, slot %u: 0x%llx, not 0x%x",
				 from, issuer, k, (unsigned long long)word, p ? (uint32_t)key : 0);
	}
}

static void check_signal(struct verify *v, uint32_t pe, uint32_t from, uint32_t issuer)
{
	const uint64_t offset = v->at.signal + ((uint64_t)from * v->at.issuers + issuer) * 8;
	uint64_t want = 0;

	if (v->work == BF_IBGDA_MIXED && from != pe)
		for (uint32_t m = 0; m < v->s->messages; m++)
			if (bf_ibgda_peer(v->s, v->npes, from, m % v->s->window) == pe &&
			    bf_ibgda_mixed_pick(v->s->seed, from, issuer, m) == BF_IBGDA_MIXED_PUT_SIGNAL)
				want++;
	if (word_at(v, pe, offset) != want)
		mismatch(v, pe, offset, "signal of PE %u, issuer %u: %llu, not %llu", from, issuer,
			 (unsigned long long)word_at(v, pe, offset), (unsigned long long)want);
}

static void check_own(struct verify *v, uint32_t pe, uint32_t issuer)
{
	const struct bf_ibgda_shape *s = v->s;
	const uint64_t done = v->at.done + issuer * 8ull;

	for (uint32_t k = 0; k < s->window; k++) {
		const uint64_t index = (uint64_t)issuer * s->window + k;
		const uint32_t peer = bf_ibgda_peer(s, v->npes, pe, k);

		check_slot(v, pe, v->at.get_dst + index * s->stride, slot_has(v, pe, issuer, k, BF_IBGDA_MIXED_GET),
			   bf_ibgda_pattern_key(peer, issuer, k), "get", pe, issuer, k);
	}
	if (word_at(v, pe, done) != s->messages)
		mismatch(v, pe, done, "issuer %u of PE %u has finished %llu messages of %u", issuer, pe,
			 (unsigned long long)word_at(v, pe, done), s->messages);
}

/* What all atomics on one counter have in common, folded in any order. */
struct counter {
	uint64_t n, sum, ored, anded, xored; /* of the operands */
	uint64_t olds;                       /* sum of a hash of the old values that came back */
	uint64_t operands;                   /* the same of the operands */
	uint64_t max_old;
	uint64_t old_or;
	uint64_t old_lacks; /* bits that some old value did not have */
	bool has_final;     /* some operand equals the final value */
};

static uint64_t hash(uint64_t x)
{
	return bf_ibgda_pattern_key((uint32_t)(x >> 40), (uint32_t)(x >> 16), (uint32_t)x);
}

static void fold(const struct verify *v, struct counter *c, uint64_t operand, uint64_t old, bool fetched, uint64_t last)
{
	const uint64_t mask = v->work == BF_IBGDA_AMO && v->s->amo_bytes == 4 ? 0xffffffffull : ~0ull;

	c->n++;
	c->sum = (c->sum + operand) & mask;
	c->ored |= operand;
	c->anded &= operand;
	c->xored ^= operand;
	c->operands += hash(operand);
	c->has_final |= operand == last;
	if (!fetched)
		return;
	c->olds += hash(old);
	c->old_or |= old;
	c->old_lacks |= ~old & mask;
	if (old > c->max_old)
		c->max_old = old;
}

/* Folds every atomic of the run that went to `counter` of `pe`. */
static void fold_all(const struct verify *v, struct counter *c, uint32_t pe, uint32_t counter, uint64_t last)
{
	const struct bf_ibgda_shape *s = v->s;

	for (uint32_t from = 0; from < v->npes; from++)
		for (uint32_t i = 0; from != pe && i < v->at.issuers; i++)
			for (uint32_t m = 0; m < s->messages; m++) {
				const uint64_t at = v->at.fetched + ((uint64_t)i * s->messages + m) * 8;
				const uint32_t pick = bf_ibgda_mixed_pick(s->seed, from, i, m);
				const bool mixed = v->work == BF_IBGDA_MIXED;

				if (bf_ibgda_peer(s, v->npes, from, m % s->window) != pe ||
				    bf_ibgda_counter(s, i, m) != counter ||
				    (mixed && pick != BF_IBGDA_MIXED_ADD && pick != BF_IBGDA_MIXED_FETCH_ADD))
					continue;
				fold(v, c, mixed ? 1 : bf_ibgda_operand(s, from, i, m), word_at(v, from, at),
				     mixed ? pick == BF_IBGDA_MIXED_FETCH_ADD : s->amo_fetch, last);
			}
}

/* The sum of hashes of 0..n-1: what `n` fetching increments must have seen, each exactly one. */
static uint64_t hash_of_count(uint64_t n)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += hash(i);
	return sum;
}

static bool counter_good(const struct verify *v, const struct counter *c, uint64_t last)
{
	const bool fetch = v->work == BF_IBGDA_AMO && v->s->amo_fetch;

	switch (v->work == BF_IBGDA_MIXED ? BF_IBGDA_AMO_ADD : v->s->amo) {
	case BF_IBGDA_AMO_SET:
	case BF_IBGDA_AMO_SWAP: /* what was swapped out, and what is left, is what was swapped in, and the 0 at first */
		return (c->n ? c->has_final : last == 0) && (!fetch || c->olds + hash(last) == c->operands + hash(0));
	case BF_IBGDA_AMO_AND:
		return last == (c->anded & counter_start(v->work, v->s)) && (!fetch || !(c->old_lacks & last));
	case BF_IBGDA_AMO_OR:
		return last == c->ored && (!fetch || !(c->old_or & ~last));
	case BF_IBGDA_AMO_XOR:
		return last == c->xored && (!fetch || !(c->old_or & ~c->ored));
	case BF_IBGDA_AMO_FETCH:
		return last == 0 && c->old_or == 0;
	case BF_IBGDA_AMO_INC:
	case BF_IBGDA_AMO_ADD:
	case BF_IBGDA_AMO_CAS:
	case BF_IBGDA_AMO_OPS:
	default:
		if (v->work == BF_IBGDA_MIXED)
			return last == c->sum && (c->n == 0 || c->max_old < c->n);
		return last == c->sum && (!fetch || c->olds == hash_of_count(c->n));
	}
}

static void check_counters(struct verify *v, uint32_t pe)
{
	for (uint32_t i = 0; i < v->s->counters; i++) {
		const uint64_t offset = v->at.counter + i * 8ull, last = word_at(v, pe, offset);
		struct counter c = { .anded = ~0ull };

		if (v->work == BF_IBGDA_AMO || v->work == BF_IBGDA_MIXED)
			fold_all(v, &c, pe, i, last);
		if (v->work != BF_IBGDA_AMO && v->work != BF_IBGDA_MIXED ? last != 0 : !counter_good(v, &c, last))
			mismatch(v, pe, offset,
				 "counter %u of PE %u: 0x%llx after %llu atomics (operands' sum 0x%llx), or the "
				 "old values do not fit it",
				 i, pe, (unsigned long long)last, (unsigned long long)c.n, (unsigned long long)c.sum);
	}
}

int bf_ibgda_verify(enum bf_ibgda_work work, const struct bf_ibgda_shape *s, uint32_t npes, void *const *heaps,
		    struct bf_ibgda_mismatch *out)
{
	return bf_ibgda_verify_some(work, s, npes, 0, npes, heaps, out);
}

int bf_ibgda_verify_some(enum bf_ibgda_work work, const struct bf_ibgda_shape *s, uint32_t npes, uint32_t first,
			 uint32_t count, void *const *heaps, struct bf_ibgda_mismatch *out)
{
	struct verify v = { .work = work, .s = s, .npes = npes, .heaps = heaps, .out = out };

	*out = (struct bf_ibgda_mismatch){ 0 };
	bf_ibgda_layout(s, npes, &v.at);
	for (uint32_t pe = first; pe < first + count; pe++) {
		for (uint32_t i = 0; i < v.at.issuers; i++)
			check_own(&v, pe, i);
		for (uint32_t from = 0; from < npes; from++)
			for (uint32_t i = 0; i < v.at.issuers; i++) {
				check_puts(&v, pe, from, i);
				check_signal(&v, pe, from, i);
			}
		check_counters(&v, pe);
	}
	return out->count ? -EBADMSG : 0;
}
