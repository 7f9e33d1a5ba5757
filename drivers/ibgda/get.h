/*
 * IBGDA: gets. A get's data are in local memory when its QP is quiet and, as the completion travels beside the data and
 * not behind them into GPU memory, after the consistency step (fence.h).
 */
#ifndef BELFRY_DRIVERS_IBGDA_GET_H
#define BELFRY_DRIVERS_IBGDA_GET_H

#include "drivers/ibgda/fence.h"
#include "drivers/ibgda/ibuf.h"
#include "drivers/ibgda/put.h"

/* Remembers that everything below `end` must be covered by a consistency step. */
BF_DEVICE void bf_ibgda_note_get(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t end)
{
	bf_atomic_max64(t, &qp->mvars.get_head, end, BF_AT_GPU);
}

/*
 * A warp gets `bytes` from `src` at the target into `dst`; returns when published. bf_ibgda_quiet_with_cst() completes
 * it.
 */
BF_DEVICE int bf_ibgda_get_nbi_warp_to(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_to to,
				       void *dst, void *src, uint64_t bytes, uint32_t message)
{
	const int status = bf_ibgda_transfer_warp(t, state, to, BF_MLX5_OP_RDMA_READ, src, dst, bytes,
						  (const struct bf_ibgda_signal *)0, 0, message);

	if (bf_lane(t) == 0 && !status) {
		struct bf_ibgda_qp *qp = bf_ibgda_rc_of(t, state, to.qp);

		bf_ibgda_note_get(t, qp, bf_ld_relaxed64(t, &qp->mvars.ready_head, BF_AT_GPU));
	}
	return status;
}

/* The same and waits for the data. All lanes return the leader's status. */
BF_DEVICE int bf_ibgda_get_warp_to(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_to to,
				   void *dst, void *src, uint64_t bytes)
{
	/* Where queues move, the note of a get moves with it; a DUMP would not. */
	const int dump = !state->may_skip_cst && !bf_ibgda_moves(state, to.qp);
	int status = dump ? bf_ibgda_transfer_warp(t, state, to, BF_MLX5_OP_RDMA_READ, src, dst, bytes,
						   (const struct bf_ibgda_signal *)0, 1, BF_IBGDA_ALWAYS_POST)
			  : bf_ibgda_get_nbi_warp_to(t, state, to, dst, src, bytes, BF_IBGDA_ALWAYS_POST);

	if (bf_lane(t) == 0 && !status) {
		status = dump ? bf_ibgda_quiet(t, state, to.qp) : bf_ibgda_quiet_with_cst(t, state, to.qp);
		if (dump && !status)
			bf_ibgda_tell_result(t, state, to.qp, 0, 1);
	}
	return (int)bf_shfl32(t, BF_FULL_WARP, (uint32_t)status, 0);
}

/* After a round of gets: waits for them, or remembers that somebody must. */
BF_DEVICE int bf_ibgda_get_settle(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				  const struct bf_ibgda_group *g, int blocking)
{
	int status;

	if (!blocking) {
		if (bf_ibgda_leads(t, g))
			bf_ibgda_note_get(t, qp, g->end);
		return 0;
	}
	status = bf_ibgda_poll_cq(t, state, qp, g->end);
	if (!status)
		bf_ibgda_tell_result(t, state, qp, g->end, 0);
	/* What was under way on a queue that failed comes by the other one. */
	if (status && bf_ibgda_moves(state, qp) && !bf_ibgda_await_move(t, state, qp))
		return bf_ibgda_quiet_with_cst(t, state, qp);
	return status;
}

/*
 * Lanes get each on their own; `mask` as in bf_ibgda_put_nbi_to(). With `blocking` each group's READs are followed by a
 * signalled DUMP that waits for them (fence mode 2), and the call returns when the data are there.
 */
BF_DEVICE int bf_ibgda_get_to(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
			      struct bf_ibgda_to to, void *dst, void *src, uint64_t bytes, int blocking,
			      uint32_t message)
{
	uint64_t roff = bf_ibgda_offset(state, src);
	uint8_t *local = (uint8_t *)dst;
	int failed = 0;

	for (;;) {
		struct bf_ibgda_chunk c;
		struct bf_ibgda_group g;
		uint32_t again;
		int status, retry;

		bf_ibgda_follow(t, state, &to);
		c = bf_ibgda_chunk(state, &to, local, roff, bytes);
		g = bf_ibgda_join(t, mask, &to);
		status = bf_ibgda_issue(t, state, &to, &g, BF_MLX5_OP_RDMA_READ, &c, blocking && !state->may_skip_cst,
					blocking ? BF_IBGDA_ALWAYS_POST : message);
		retry = bf_ibgda_again(t, state, &to, &g, &status);
		if (BF_LIKELY(!retry && !status)) {
			failed |= bf_ibgda_get_settle(t, state, to.qp, &g, blocking);
			bytes -= c.bytes;
			local += c.bytes;
			roff += c.bytes;
		}
		again = bf_ballot(t, mask, !status && (retry || bytes));
		if (status || !(retry || bytes))
			return status | failed;
		mask = again;
	}
}

/* Values of 1, 2, 4 and 8 bytes lie one behind the other in the slot, as NVSHMEM has them, others 8 bytes apart. */
BF_DEVICE uint32_t bf_ibgda_g_stride(uint32_t bytes)
{
	return bytes & (bytes - 1) ? 8 : bytes;
}

BF_DEVICE uint64_t bf_ibgda_g_value(struct bf_thread *t, const uint8_t *at, uint32_t bytes)
{
	const uint32_t in = (uint32_t)(uintptr_t)at % 4;

	if (bf_ibgda_g_stride(bytes) == 8)
		return bf_ld_relaxed64(t, at, BF_AT_SYS);
	return bf_ld_relaxed32(t, at - in, BF_AT_SYS) >> (8 * in);
}

/* A whole warp asks one target for values that lie there as they will in the slot: one READ brings them all. */
BF_DEVICE int bf_ibgda_g_is_row(struct bf_thread *t, const struct bf_ibgda_group *g, uint64_t off, uint32_t rkey,
				uint32_t bytes)
{
	if (g->mask != BF_FULL_WARP || bf_ibgda_g_stride(bytes) != bytes)
		return 0;
	return bf_match64(t, g->mask, off - (uint64_t)bf_lane(t) * bytes) == g->mask &&
	       bf_match64(t, g->mask, rkey) == g->mask;
}

/*
 * One attempt of bf_ibgda_g_to(): the lanes' values land side by side in one ibuf slot. BF_IBGDA_MOVED when the queue
 * failed meanwhile: what lands in an ibuf is never replayed, because whoever waits for it can ask again.
 */
BF_DEVICE int bf_ibgda_g_once(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
			      struct bf_ibgda_to *to, struct bf_ibgda_group *g, uint64_t off, uint32_t bytes,
			      uint64_t *value)
{
	struct bf_ibgda_qp *qp = to->qp;
	struct bf_ibgda_chunk c;
	uint64_t ticket = 0, at;
	int status;

	*g = bf_ibgda_join(t, mask, to);
	if (bf_ibgda_leads(t, g))
		ticket = bf_ibgda_ibuf_take(t, state, qp, 1);
	ticket = bf_shfl64(t, g->mask, ticket, g->leader);
	at = bf_ibgda_ibuf_offset(qp, ticket) + bf_lane(t) * bf_ibgda_g_stride(bytes);
	bf_ibgda_remote(state, to, off, &c.rva, &c.rkey);
	c.lva = qp->ibuf.va + at;
	c.lkey = qp->ibuf.lkey;
	c.bytes = bytes;
	c.sysmem = 0;
	if (bf_ibgda_g_is_row(t, g, off, c.rkey, bytes)) {
		c.bytes = BF_LANES * bytes;
		g->count = 1;
	}
	status = bf_ibgda_issue(t, state, to, g, BF_MLX5_OP_RDMA_READ, &c, !state->may_skip_cst, BF_IBGDA_ALWAYS_POST);
	if (!status) {
		status = bf_ibgda_poll_cq(t, state, qp, g->end);
		if (!status)
			bf_ibgda_tell_result(t, state, qp, g->end, 0);
		*value = bf_ibgda_g_value(t, (const uint8_t *)qp->ibuf.buf + at, bytes);
		if (status && bf_ibgda_moves(state, qp))
			status = BF_IBGDA_MOVED;
	}
	if (bf_ibgda_moves(state, qp))
		status = (int)bf_shfl32(t, g->mask, (uint32_t)status, g->leader);
	bf_warp_sync(t, g->mask);
	if (bf_ibgda_leads(t, g))
		bf_ibgda_ibuf_give(t, qp, ticket, 1);
	return status;
}

/* Lanes fetch a value of 1..8 bytes each, through one ibuf slot for the group. */
BF_DEVICE int bf_ibgda_g_to(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
			    struct bf_ibgda_to to, void *src, uint32_t bytes, uint64_t *value)
{
	const uint64_t off = bf_ibgda_offset(state, src);

	for (;;) {
		struct bf_ibgda_group g;
		uint32_t again;
		int status, retry;

		bf_ibgda_follow(t, state, &to);
		*value = 0;
		status = bf_ibgda_g_once(t, mask, state, &to, &g, off, bytes, value);
		if (bytes < 8)
			*value &= (1ull << (bytes * 8)) - 1;
		retry = bf_ibgda_again(t, state, &to, &g, &status);
		if (BF_LIKELY(!bf_ibgda_moves(state, to.qp)))
			return status;
		again = bf_ballot(t, mask, retry);
		if (!retry)
			return status;
		mask = again;
	}
}

#endif
