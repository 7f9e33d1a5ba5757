/* The kernels of shmem.h: included by one source file for each platform, after it. Checks first, measurements behind.
 */
#ifndef BELFRY_DRIVERS_IBGDA_SHMEM_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_SHMEM_KERNELS_INTERNAL_H

#include "drivers/ibgda/shmem_calls_internal.h"

BF_DEVICE uint32_t bf_shmem_peer(const struct bf_shmem *c, uint32_t k)
{
	return (c->mype + k) % c->npes;
}

/* Fills this warp's source for `pe` with one word. */
BF_DEVICE void bf_shmem_fill(struct bf_thread *t, const struct bf_shmem *c, uint32_t pe, uint64_t word)
{
	uint8_t *p = bf_shmem_block(c, c->at->src, pe);

	bf_shmem_tell(t, BF_SHMEM_CALL_OVERWRITE, pe, (struct bf_ibgda_qp *)0);
	for (uint32_t i = bf_lane(t); i < c->s->bytes / 8; i += BF_LANES)
		bf_st_weak64(t, p + i * 8ull, word);
	bf_warp_sync(t, BF_FULL_WARP);
}

/* Adds to this warp's value how many words of a block are below `least`. */
BF_DEVICE void bf_shmem_judge(struct bf_thread *t, const struct bf_shmem *c, const uint8_t *p, uint64_t least)
{
	uint32_t bad = 0;

	for (uint32_t i = bf_lane(t); i < c->s->bytes / 8; i += BF_LANES)
		bad += bf_ld_relaxed64(t, p + i * 8ull, BF_AT_SYS) < least;
	for (uint32_t d = 16; d; d >>= 1)
		bad += bf_shfl32(t, BF_FULL_WARP, bad, bf_lane(t) ^ d);
	if (bf_lane(t) == 0 && bad)
		bf_atomic_add64(t, bf_shmem_word(c, c->at->value, 0), bad, BF_AT_GPU);
}

BF_DEVICE void bf_shmem_run_put(struct bf_thread *t, struct bf_shmem *c)
{
	for (uint32_t k = 0; k < c->npes; k++) {
		const uint32_t pe = bf_shmem_peer(c, k);

		bf_shmem_put(t, c, bf_shmem_block(c, c->at->dst, c->mype), bf_shmem_block(c, c->at->src, pe),
			     c->s->bytes, pe);
	}
	bf_shmem_quiet(t, c);
}

BF_DEVICE void bf_shmem_run_get(struct bf_thread *t, struct bf_shmem *c)
{
	for (uint32_t k = 0; k < c->npes; k++) {
		const uint32_t pe = bf_shmem_peer(c, k);

		bf_shmem_get(t, c, bf_shmem_block(c, c->at->dst, pe), bf_shmem_block(c, c->at->src, c->mype),
			     c->s->bytes, pe);
	}
}

BF_DEVICE void bf_shmem_run_put_signal(struct bf_thread *t, struct bf_shmem *c, uint32_t round)
{
	for (uint32_t k = 0; k < c->npes; k++) {
		const uint32_t pe = bf_shmem_peer(c, k);

		bf_shmem_put_signal(t, c, bf_shmem_block(c, c->at->dst, c->mype), bf_shmem_block(c, c->at->src, pe),
				    c->s->bytes, bf_shmem_word(c, c->at->signal, c->mype), 1, pe);
	}
	for (uint32_t k = 0; k < c->npes; k++) {
		const uint32_t pe = bf_shmem_peer(c, k);

		bf_shmem_wait(t, c, bf_shmem_word(c, c->at->signal, pe), round + 1, "a signal");
		bf_ibgda_copy_warp(t, bf_shmem_block(c, c->at->out, pe), bf_shmem_block(c, c->at->dst, pe),
				   c->s->bytes);
	}
}

/* Fetching adds count on the next PE, others on the one behind; both leave the own PE to the others. */
BF_DEVICE void bf_shmem_run_amo(struct bf_thread *t, struct bf_shmem *c, uint32_t round)
{
	uint8_t *ticket = c->heap + c->at->value + ((uint64_t)round * c->warps + c->warp) * 8;
	uint64_t old = 0;

	if (bf_lane(t) == 0) {
		bf_shmem_add(t, c, c->heap + c->at->counter, 1, bf_shmem_peer(c, 1), &old);
		bf_st_weak64(t, ticket, old);
		bf_shmem_add(t, c, c->heap + c->at->counter + 8, round + c->warp, bf_shmem_peer(c, c->npes - 1),
			     (uint64_t *)0);
	}
	c->turn += bf_lane(t) ? 2 : 0;
	bf_warp_sync(t, BF_FULL_WARP);
}

/* The sender's source is its own again behind the fence, which waits for completion. */
BF_DEVICE void bf_shmem_run_fence(struct bf_thread *t, struct bf_shmem *c, uint32_t round)
{
	const uint32_t next = bf_shmem_peer(c, 1), before = bf_shmem_peer(c, c->npes - 1);

	bf_shmem_fill(t, c, next, round + 1);
	bf_shmem_put(t, c, bf_shmem_block(c, c->at->dst, c->mype), bf_shmem_block(c, c->at->src, next), c->s->bytes,
		     next);
	if (!(c->s->bugs & BF_SHMEM_BUG_NO_FENCE))
		bf_shmem_fence(t, c);
	if (bf_lane(t) == 0)
		bf_shmem_p(t, c, bf_shmem_word(c, c->at->signal, c->mype), round + 1, next);
	c->turn += bf_lane(t) ? 1 : 0;
	bf_shmem_wait(t, c, bf_shmem_word(c, c->at->signal, before), round + 1, "a flag behind a fence");
	bf_shmem_judge(t, c, bf_shmem_block(c, c->at->dst, before), round + 1);
}

BF_DEVICE void bf_shmem_run_quiet(struct bf_thread *t, struct bf_shmem *c, uint32_t round)
{
	const uint32_t next = bf_shmem_peer(c, 1), before = bf_shmem_peer(c, c->npes - 1);

	bf_shmem_fill(t, c, next, round + 1);
	bf_shmem_put(t, c, bf_shmem_block(c, c->at->dst, c->mype), bf_shmem_block(c, c->at->src, next), c->s->bytes,
		     next);
	if (!(c->s->bugs & BF_SHMEM_BUG_NO_QUIET))
		bf_shmem_quiet(t, c);
	bf_shmem_fill(t, c, next, 0);
	bf_shmem_barrier(t, c);
	bf_shmem_judge(t, c, bf_shmem_block(c, c->at->dst, before), round + 1);
	bf_shmem_barrier(t, c);
}

BF_DEVICE void bf_shmem_run_barrier(struct bf_thread *t, struct bf_shmem *c, uint32_t round)
{
	for (uint32_t k = 1; k < c->npes; k++) {
		const uint32_t pe = bf_shmem_peer(c, k);

		bf_shmem_fill(t, c, pe, round + 1);
		bf_shmem_put(t, c, bf_shmem_block(c, c->at->dst, c->mype), bf_shmem_block(c, c->at->src, pe),
			     c->s->bytes, pe);
	}
	bf_shmem_barrier(t, c);
	for (uint32_t k = 1; k < c->npes; k++)
		bf_shmem_judge(t, c, bf_shmem_block(c, c->at->dst, bf_shmem_peer(c, k)), round + 1);
	bf_shmem_barrier(t, c);
}

/* The warps of a PE share its peers; blocks are those of warp 0. */
BF_DEVICE void bf_shmem_run_alltoall(struct bf_thread *t, struct bf_shmem *c)
{
	for (uint32_t k = c->warp; k < c->npes; k += c->warps) {
		const uint32_t pe = bf_shmem_peer(c, k);
		const uint64_t step = c->warps * c->at->stride;

		bf_shmem_put(t, c, c->heap + c->at->dst + c->mype * step, c->heap + c->at->src + pe * step, c->s->bytes,
			     pe);
	}
	bf_shmem_barrier(t, c);
}

/* Each warp has a tree of its own: the parent is the PE without this one's lowest bit. */
BF_DEVICE void bf_shmem_run_broadcast(struct bf_thread *t, struct bf_shmem *c, uint32_t round)
{
	uint8_t *block = bf_shmem_block(c, c->at->out, 0), *signal = bf_shmem_word(c, c->at->signal, 0);
	uint32_t bit = c->mype & (0u - c->mype);

	if (c->mype == 0) {
		bf_ibgda_copy_warp(t, block, bf_shmem_block(c, c->at->src, 0), c->s->bytes);
		bf_warp_sync(t, BF_FULL_WARP);
		for (bit = 1; bit < c->npes;)
			bit *= 2;
	} else {
		bf_shmem_wait(t, c, signal, round + 1, "the parent's block");
	}
	for (bit /= 2; bit; bit /= 2)
		if (c->mype + bit < c->npes)
			bf_shmem_put_signal(t, c, block, block, c->s->bytes, signal, 1, c->mype + bit);
	bf_shmem_barrier(t, c);
}

/* out[chunk] += dst[chunk] */
BF_DEVICE void bf_shmem_add_block(struct bf_thread *t, const struct bf_shmem *c, uint32_t chunk)
{
	uint8_t *sum = bf_shmem_block(c, c->at->out, chunk);
	const uint8_t *more = bf_shmem_block(c, c->at->dst, chunk);

	for (uint32_t i = bf_lane(t); i < c->s->bytes / 8; i += BF_LANES)
		bf_st_weak64(t, sum + i * 8ull, bf_ld_weak64(t, sum + i * 8ull) + bf_ld_weak64(t, more + i * 8ull));
	bf_warp_sync(t, BF_FULL_WARP);
}

/*
 * Chunk c starts at PE c, collects what each PE adds on its way around, and goes around once more complete. That a PE
 * may overwrite a chunk in the second way is known from its coming: all have sent it on.
 */
BF_DEVICE void bf_shmem_run_ring(struct bf_thread *t, struct bf_shmem *c, uint32_t round)
{
	const uint32_t next = bf_shmem_peer(c, 1), n = c->npes;
	const uint64_t second = (uint64_t)n * c->warps * 8;

	for (uint32_t pe = 0; pe < n; pe++)
		bf_ibgda_copy_warp(t, bf_shmem_block(c, c->at->out, pe), bf_shmem_block(c, c->at->src, pe),
				   c->s->bytes);
	bf_shmem_barrier(t, c);
	for (uint32_t s = 0; s + 1 < n; s++) {
		const uint32_t give = (c->mype + n - s) % n, take = (c->mype + n - s - 1) % n;

		bf_shmem_put_signal(t, c, bf_shmem_block(c, c->at->dst, give), bf_shmem_block(c, c->at->out, give),
				    c->s->bytes, bf_shmem_word(c, c->at->signal, give), 1, next);
		bf_shmem_wait(t, c, bf_shmem_word(c, c->at->signal, take), round + 1, "a chunk to add to");
		bf_shmem_add_block(t, c, take);
	}
	for (uint32_t s = 0; s + 1 < n; s++) {
		const uint32_t give = (c->mype + 1 + n - s) % n, take = (c->mype + n - s) % n;

		bf_shmem_put_signal(t, c, bf_shmem_block(c, c->at->out, give), bf_shmem_block(c, c->at->out, give),
				    c->s->bytes, bf_shmem_word(c, c->at->signal + second, give), 1, next);
		bf_shmem_wait(t, c, bf_shmem_word(c, c->at->signal + second, take), round + 1, "a complete chunk");
	}
	bf_shmem_barrier(t, c);
}

BF_DEVICE void bf_shmem_round(struct bf_thread *t, struct bf_shmem *c, uint32_t round)
{
	switch (c->s->work) {
	case BF_SHMEM_PUT:
		bf_shmem_run_put(t, c);
		break;
	case BF_SHMEM_GET:
		bf_shmem_run_get(t, c);
		break;
	case BF_SHMEM_PUT_SIGNAL:
		bf_shmem_run_put_signal(t, c, round);
		break;
	case BF_SHMEM_AMO:
		bf_shmem_run_amo(t, c, round);
		break;
	case BF_SHMEM_FENCE:
		bf_shmem_run_fence(t, c, round);
		break;
	case BF_SHMEM_QUIET:
		bf_shmem_run_quiet(t, c, round);
		break;
	case BF_SHMEM_BARRIER:
		bf_shmem_run_barrier(t, c, round);
		break;
	case BF_SHMEM_ALLTOALL:
		bf_shmem_run_alltoall(t, c);
		break;
	case BF_SHMEM_BROADCAST:
		bf_shmem_run_broadcast(t, c, round);
		break;
	case BF_SHMEM_RING:
	default:
		bf_shmem_run_ring(t, c, round);
		break;
	}
}

/* ---- measurements: PE 0 with PE 1 ---- */

/* A lane's 4 bytes of a block, by p or g. */
BF_DEVICE void bf_shmem_lanes(struct bf_thread *t, struct bf_shmem *c, uint8_t *dst, uint8_t *src, uint32_t bytes,
			      int get)
{
	for (uint32_t i = bf_lane(t) * 4; i < bytes; i += BF_LANES * 4) {
		const uint32_t left = (bytes - (i - bf_lane(t) * 4)) / 4;
		const uint32_t mask = left >= BF_LANES ? BF_FULL_WARP : (1u << left) - 1;
		struct bf_ibgda_qp *qp = bf_ibgda_rc(c->state, 1, 0);
		uint64_t value;

		if (get) {
			bf_ibgda_g(t, mask, c->state, qp, src + i, 4, &value);
			bf_st_weak32(t, dst + i, (uint32_t)value);
		} else {
			bf_ibgda_p(t, mask, c->state, qp, dst + i, bf_ld_weak32(t, src + i), 4, BF_IBGDA_NO_IMM,
				   BF_IBGDA_ALWAYS_POST);
		}
	}
	bf_warp_sync(t, BF_FULL_WARP);
}

/* One lane waits for the queue pair that a latency test uses. */
BF_DEVICE void bf_shmem_quiet_one(struct bf_thread *t, struct bf_shmem *c)
{
	if (bf_lane(t) == 0)
		bf_ibgda_quiet(t, c->state, bf_ibgda_rc(c->state, 1, 0));
	bf_warp_sync(t, BF_FULL_WARP);
}

/* One operation of a latency test, complete when it returns. Only the first warp of PE 0. */
BF_DEVICE void bf_shmem_once(struct bf_thread *t, struct bf_shmem *c, uint32_t bytes)
{
	uint8_t *src = c->heap + c->at->src, *dst = c->heap + c->at->dst;
	struct bf_ibgda_qp *qp = bf_ibgda_rc(c->state, 1, 0);
	uint64_t old;

	switch (c->s->work) {
	case BF_SHMEM_PUT_LATENCY:
		bf_ibgda_put_nbi_warp(t, c->state, qp, dst, src, bytes, BF_IBGDA_ALWAYS_POST);
		bf_shmem_quiet_one(t, c);
		break;
	case BF_SHMEM_GET_LATENCY:
		bf_ibgda_get_warp(t, c->state, qp, dst, src, bytes);
		break;
	case BF_SHMEM_P_LATENCY:
		bf_shmem_lanes(t, c, dst, src, bytes, 0);
		bf_shmem_quiet_one(t, c);
		break;
	case BF_SHMEM_G_LATENCY:
		bf_shmem_lanes(t, c, dst, src, bytes, 1);
		break;
	case BF_SHMEM_AMO_LATENCY:
	default:
		if (bf_lane(t) == 0)
			bf_shmem_add(t, c, c->heap + c->at->counter, 1, 1, &old);
		bf_warp_sync(t, BF_FULL_WARP);
		break;
	}
}

/* One iteration of PE 0 or 1; `count` is how many there were, warm-up included. */
BF_DEVICE void bf_shmem_ping_pong(struct bf_thread *t, struct bf_shmem *c, uint32_t bytes, uint64_t count)
{
	uint8_t *src = c->heap + c->at->src, *dst = c->heap + c->at->dst, *signal = c->heap + c->at->signal;

	if (c->mype == 1)
		bf_shmem_wait(t, c, signal, count, "a ping");
	bf_shmem_put_signal(t, c, dst, src, bytes, signal, 1, c->mype ^ 1u);
	if (c->mype == 0)
		bf_shmem_wait(t, c, signal, count, "a pong");
}

/* This warp's share of a block: all alike, the first warps alone when there is not enough for all. */
BF_DEVICE void bf_shmem_share(struct bf_thread *t, struct bf_shmem *c, uint32_t bytes)
{
	const uint32_t piece = bytes / c->warps >= 16 ? bytes / c->warps / 16 * 16 : bytes < 16 ? bytes : 16;
	const uint64_t from = (uint64_t)c->warp * piece;
	const uint64_t end = c->warp + 1 == c->warps || from + piece > bytes ? bytes : from + piece;

	if (from >= bytes)
		return;
	if (c->s->work == BF_SHMEM_GET_BW)
		bf_shmem_get_nbi(t, c, c->heap + c->at->dst + from, c->heap + c->at->src + from, end - from, 1);
	else
		bf_shmem_put(t, c, c->heap + c->at->dst + from, c->heap + c->at->src + from, end - from, 1);
}

BF_DEVICE void bf_shmem_iterate(struct bf_thread *t, struct bf_shmem *c, uint32_t bytes, uint32_t times,
				uint64_t *count)
{
	const int bandwidth = c->s->work == BF_SHMEM_PUT_BW || c->s->work == BF_SHMEM_GET_BW;

	for (uint32_t i = 0; i < times; i++, ++*count) {
		if (bandwidth && c->mype == 0)
			bf_shmem_share(t, c, bytes);
		else if (c->s->work == BF_SHMEM_PING_PONG && c->mype < 2 && c->warp == 0)
			bf_shmem_ping_pong(t, c, bytes, *count + 1);
		else if (!bandwidth && c->s->work != BF_SHMEM_PING_PONG && c->mype == 0 && c->warp == 0)
			bf_shmem_once(t, c, bytes);
	}
	if (bandwidth && c->mype == 0)
		bf_shmem_quiet(t, c);
	bf_shmem_meet(t, c);
}

/* One iteration to warm up, then all that count, by the clock of PE 0. */
BF_DEVICE void bf_shmem_measure(struct bf_thread *t, struct bf_shmem *c)
{
	const uint32_t sizes = bf_shmem_sizes(c->s);
	uint64_t count = 0;

	for (uint32_t n = 0; n < sizes; n++) {
		const uint32_t bytes = bf_shmem_size(c->s, n);
		uint64_t start;

		bf_shmem_barrier(t, c);
		bf_shmem_iterate(t, c, bytes, 1, &count);
		start = bf_clock_ns(t);
		bf_shmem_iterate(t, c, bytes, c->s->rounds, &count);
		if (c->mype == 0 && c->warp == 0 && bf_lane(t) == 0)
			bf_st_weak64(t, c->heap + c->at->times + n * 8ull, bf_clock_ns(t) - start);
	}
}

BF_DEVICE void bf_shmem_run(struct bf_thread *t, const struct bf_shmem_job *job)
{
	struct bf_shmem c;

	c.state = job->state;
	c.s = &job->shape;
	c.at = &job->at;
	c.heap = (uint8_t *)job->state->heap;
	c.mype = job->state->mype;
	c.npes = job->state->npes;
	c.warp = bf_block(t) * bf_warps(t) + bf_warp(t);
	c.warps = bf_blocks(t) * bf_warps(t);
	c.turn = c.warp;
	c.epoch = 0;
	if (bf_shmem_measures(c.s->work))
		bf_shmem_measure(t, &c);
	else
		for (uint32_t round = 0; round < c.s->rounds; round++)
			bf_shmem_round(t, &c, round);
	bf_shmem_barrier(t, &c);
	bf_shmem_quiet(t, &c);
}

#endif
