/*
 * IBGDA: gets. A get's data are in local memory when its QP is quiet and, as the completion travels beside the data and
 * not behind them into GPU memory, after the consistency step (sq.h).
 */
#ifndef BELFRY_DRIVERS_IBGDA_GET_H
#define BELFRY_DRIVERS_IBGDA_GET_H

#include "drivers/ibgda/ibuf.h"
#include "drivers/ibgda/put.h"

/* Remembers that everything below `end` must be covered by a consistency step. */
BF_DEVICE void bf_ibgda_note_get(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t end)
{
	bf_atomic_max64(t, &qp->mvars.get_head, end, BF_AT_GPU);
}

/* A warp gets `bytes` from `src` at the peer into `dst`; returns when published. bf_ibgda_quiet_with_cst() completes
 * it. */
BF_DEVICE void bf_ibgda_get_nbi_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				     void *dst, void *src, uint64_t bytes, uint32_t message)
{
	bf_ibgda_transfer_warp(t, state, qp, BF_MLX5_OP_RDMA_READ, src, dst, bytes, (const struct bf_ibgda_signal *)0,
			       message);
	if (bf_lane(t) == 0)
		bf_ibgda_note_get(t, qp, bf_ld_relaxed64(t, &qp->mvars.ready_head, BF_AT_GPU));
}

/* The same and waits for the data. All lanes return the leader's status. */
BF_DEVICE int bf_ibgda_get_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				void *dst, void *src, uint64_t bytes)
{
	int status = 0;

	bf_ibgda_get_nbi_warp(t, state, qp, dst, src, bytes, BF_IBGDA_ALWAYS_POST);
	if (bf_lane(t) == 0)
		status = bf_ibgda_quiet_with_cst(t, state, qp);
	return (int)bf_shfl32(t, BF_FULL_WARP, (uint32_t)status, 0);
}

/*
 * Lanes get each on their own; `mask` as in bf_ibgda_put_nbi(). With `blocking` each group's READs are followed by a
 * signalled DUMP that waits for them (fence mode 2), and the call returns when the data are there.
 */
BF_DEVICE int bf_ibgda_get(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
			   struct bf_ibgda_qp *qp, void *dst, void *src, uint64_t bytes, int blocking, uint32_t message)
{
	uint64_t roff = bf_ibgda_offset(state, src), loff = bf_ibgda_offset(state, dst);
	int status = 0;

	for (;;) {
		const struct bf_ibgda_chunk c = bf_ibgda_chunk(state, qp, loff, roff, bytes);
		struct bf_ibgda_group g = bf_ibgda_join(t, mask, qp);
		const uint32_t blocks = g.count + (blocking ? 1 : 0);
		uint32_t again;

		bytes -= c.bytes;
		loff += c.bytes;
		roff += c.bytes;
		bf_ibgda_group_reserve(t, state, qp, &g, blocks);
		bf_ibgda_write_chunk(t, qp, g.base + g.rank, BF_MLX5_OP_RDMA_READ, &c,
				     bf_ibgda_flags(state, !blocking && g.rank + 1 == g.count));
		if (blocking && bf_ibgda_leads(t, &g)) {
			struct bf_ibgda_wqe w;
			const uint32_t ds = bf_ibgda_wqe_dump(&w, qp->qpn, g.base + g.count, qp->ibuf.va, qp->ibuf.lkey,
							      1, BF_IBGDA_SIGNALLED | BF_IBGDA_FENCED);

			bf_ibgda_wqe_store(t, qp, g.base + g.count, &w, ds);
		}
		bf_ibgda_group_submit(t, state, qp, &g, blocks, blocking ? BF_IBGDA_ALWAYS_POST : message);
		if (blocking)
			status |= bf_ibgda_poll_cq(t, state, qp, g.base + blocks);
		else if (bf_ibgda_leads(t, &g))
			bf_ibgda_note_get(t, qp, g.base + blocks);
		again = bf_ballot(t, mask, bytes != 0);
		if (!bytes)
			return status;
		mask = again;
	}
}

/* Lanes fetch a value of 1..8 bytes each, through one ibuf slot for the group. */
BF_DEVICE int bf_ibgda_g(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
			 void *src, uint32_t bytes, uint64_t *value)
{
	struct bf_ibgda_group g = bf_ibgda_join(t, mask, qp);
	struct bf_ibgda_chunk c;
	uint64_t ticket = 0, at;
	int status;

	if (bf_ibgda_leads(t, &g))
		ticket = bf_ibgda_ibuf_take(t, qp, 1);
	ticket = bf_shfl64(t, g.mask, ticket, g.leader);
	at = bf_ibgda_ibuf_offset(qp, ticket) + bf_lane(t) * 8;
	bf_ibgda_remote(state, qp, bf_ibgda_offset(state, src), &c.rva, &c.rkey);
	c.lva = qp->ibuf.va + at;
	c.lkey = qp->ibuf.lkey;
	c.bytes = bytes;
	bf_ibgda_group_reserve(t, state, qp, &g, g.count + 1);
	bf_ibgda_write_chunk(t, qp, g.base + g.rank, BF_MLX5_OP_RDMA_READ, &c, 0);
	if (bf_ibgda_leads(t, &g)) {
		struct bf_ibgda_wqe w;
		const uint32_t ds = bf_ibgda_wqe_dump(&w, qp->qpn, g.base + g.count, qp->ibuf.va, qp->ibuf.lkey, 1,
						      BF_IBGDA_SIGNALLED | BF_IBGDA_FENCED);

		bf_ibgda_wqe_store(t, qp, g.base + g.count, &w, ds);
	}
	bf_ibgda_group_submit(t, state, qp, &g, g.count + 1, BF_IBGDA_ALWAYS_POST);
	status = bf_ibgda_poll_cq(t, state, qp, g.base + g.count + 1);
	*value = bf_ld_relaxed64(t, (const uint8_t *)qp->ibuf.buf + at, BF_AT_SYS);
	if (bytes < 8)
		*value &= (1ull << (bytes * 8)) - 1;
	bf_warp_sync(t, g.mask);
	if (bf_ibgda_leads(t, &g))
		bf_ibgda_ibuf_give(t, qp, ticket, 1);
	return status;
}

#endif
