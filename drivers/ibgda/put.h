/*
 * IBGDA, step 5 of 5: puts. Addresses are pointers into this PE's symmetric heap; the same offset is meant at the peer.
 *
 * The WQE_AFTER_READY mistake lives here, as it is one of order between building and submitting.
 */
#ifndef BELFRY_DRIVERS_IBGDA_PUT_H
#define BELFRY_DRIVERS_IBGDA_PUT_H

#include "drivers/ibgda/keys.h"
#include "drivers/ibgda/sq.h"

/* Number of lanes in a mask below this one, and the mask's first lane. */
BF_DEVICE uint32_t bf_ibgda_popcount(uint32_t mask)
{
	uint32_t n = 0;

	for (; mask; mask &= mask - 1)
		n++;
	return n;
}
BF_DEVICE uint32_t bf_ibgda_rank(const struct bf_thread *t, uint32_t mask)
{
	return bf_ibgda_popcount(mask & ((1u << bf_lane(t)) - 1));
}
BF_DEVICE uint32_t bf_ibgda_first(uint32_t mask)
{
	return bf_ibgda_popcount((mask & (0u - mask)) - 1);
}

/* An atomic that follows a put on the same QP: "the data have arrived". Delivered after them, RC being in order. */
struct bf_ibgda_signal {
	void *addr; /* 8 bytes in the symmetric heap */
	uint64_t value;
	enum bf_ibgda_amo_op op; /* ADD or SET */
};

/* Every entry of a group asks for a completion in DeepEP, only the last one in NVSHMEM. */
BF_DEVICE uint32_t bf_ibgda_flags(const struct bf_ibgda_state *state, int last)
{
	return last || state->flavour == BF_IBGDA_DEEPEP ? BF_IBGDA_SIGNALLED : 0;
}

/* Blocks that a signal takes, its NOP included: an entry of two blocks must not be the signalled one. */
BF_DEVICE uint32_t bf_ibgda_signal_blocks(const struct bf_ibgda_signal *s)
{
	return s ? (bf_ibgda_amo_ds(s->op, 8) > 4 ? 3 : 1) : 0;
}

BF_DEVICE void bf_ibgda_write_signal(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				     uint64_t idx, const struct bf_ibgda_signal *s)
{
	const uint32_t blocks = bf_ibgda_signal_blocks(s);
	struct bf_ibgda_wqe w;
	uint64_t rva;
	uint32_t rkey, ds;

	bf_ibgda_remote(state, qp, bf_ibgda_offset(state, s->addr), &rva, &rkey);
	ds = bf_ibgda_wqe_amo(&w, s->op, 8, 0, qp->qpn, idx, s->value, 0, rva, rkey, qp->ibuf.va, qp->ibuf.lkey,
			      blocks == 1 ? BF_IBGDA_SIGNALLED : 0);
	bf_ibgda_wqe_store(t, qp, idx, &w, ds);
	if (blocks > 1) {
		ds = bf_ibgda_wqe_nop(&w, qp->qpn, idx + 2, BF_IBGDA_SIGNALLED);
		bf_ibgda_wqe_store(t, qp, idx + 2, &w, ds);
	}
}

BF_DEVICE void bf_ibgda_write_chunk(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t idx, uint32_t opcode,
				    const struct bf_ibgda_chunk *c, uint32_t flags)
{
	struct bf_ibgda_wqe w;
	const uint32_t ds =
	    bf_ibgda_wqe_rdma(&w, opcode, qp->qpn, idx, c->lva, c->lkey, c->rva, c->rkey, (uint32_t)c->bytes, flags, 0);

	bf_ibgda_wqe_store(t, qp, idx, &w, ds);
}

/*
 * Pieces in one round of a warp's transfer: a lane each, but not more than a quarter of a small ring, so that a round,
 * its signal and a batch that nobody has rung for fit into the ring together (see bf_ibgda_reserve()).
 */
BF_DEVICE uint32_t bf_ibgda_round(const struct bf_ibgda_qp *qp)
{
	return qp->tx_wq.nwqes < 4 * BF_LANES ? qp->tx_wq.nwqes / 4u : BF_LANES;
}

/*
 * One round: the piece that lane i carries is computed by lane i, each length told to all. Advances the offsets;
 * returns the number of pieces, and this lane's in `mine`.
 */
BF_DEVICE uint32_t bf_ibgda_warp_chunks(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
					uint64_t *loff, uint64_t *roff, uint64_t *bytes, struct bf_ibgda_chunk *mine)
{
	const uint32_t most = bf_ibgda_round(qp);
	uint32_t n = 0;

	while (*bytes && n < most) {
		uint64_t size = 0;

		if (bf_lane(t) == n) {
			*mine = bf_ibgda_chunk(state, qp, *loff, *roff, *bytes);
			size = mine->bytes;
		}
		size = bf_shfl64(t, BF_FULL_WARP, size, n);
		*loff += size;
		*roff += size;
		*bytes -= size;
		n++;
	}
	return n;
}

/* The warp's common path of put and get: all lanes call, in rounds; the last round carries the signal. */
BF_DEVICE void bf_ibgda_transfer_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				      uint32_t opcode, void *remote, const void *local, uint64_t bytes,
				      const struct bf_ibgda_signal *signal, uint32_t message)
{
	const int late = (state->bugs & BF_IBGDA_BUG_WQE_AFTER_READY) != 0;
	const uint32_t lane = bf_lane(t);
	uint64_t roff = bf_ibgda_offset(state, remote), loff = bf_ibgda_offset(state, local);

	do {
		struct bf_ibgda_chunk mine = { 0, 0, 0, 0, 0 };
		const uint32_t chunks = bf_ibgda_warp_chunks(t, state, qp, &loff, &roff, &bytes, &mine);
		const struct bf_ibgda_signal *tail = bytes ? (const struct bf_ibgda_signal *)0 : signal;
		const uint32_t total = chunks + bf_ibgda_signal_blocks(tail);
		const uint32_t flags = bf_ibgda_flags(state, lane + 1 == chunks && !tail);
		uint64_t base = 0;

		if (lane == 0)
			base = bf_ibgda_reserve(t, state, qp, total);
		base = bf_shfl64(t, BF_FULL_WARP, base, 0);
		if (BF_UNLIKELY(late) && lane == 0)
			bf_ibgda_submit(t, state, qp, base, total, bytes ? BF_IBGDA_ALWAYS_POST : message);
		if (lane < chunks)
			bf_ibgda_write_chunk(t, qp, base + lane, opcode, &mine, flags);
		if (lane == chunks % BF_LANES && tail)
			bf_ibgda_write_signal(t, state, qp, base + chunks, tail);
		bf_warp_sync(t, BF_FULL_WARP);
		if (!BF_UNLIKELY(late) && lane == 0)
			bf_ibgda_submit(t, state, qp, base, total, bytes ? BF_IBGDA_ALWAYS_POST : message);
		bf_warp_sync(t, BF_FULL_WARP);
	} while (bytes);
}

/*
 * A warp puts `bytes` from `src` to `dst` at the QP's peer; all 32 lanes call with the same arguments and return once
 * the entries are published. `message`: see bf_ibgda_submit(). (DeepEP nvshmemi_ibgda_put_nbi_warp.)
 */
BF_DEVICE void bf_ibgda_put_nbi_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				     void *dst, const void *src, uint64_t bytes, uint32_t message)
{
	bf_ibgda_transfer_warp(t, state, qp, BF_MLX5_OP_RDMA_WRITE, dst, src, bytes, (const struct bf_ibgda_signal *)0,
			       message);
}

/* The same, followed by an atomic on the same QP. */
BF_DEVICE void bf_ibgda_put_signal_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
					void *dst, const void *src, uint64_t bytes,
					const struct bf_ibgda_signal *signal, uint32_t message)
{
	bf_ibgda_transfer_warp(t, state, qp, BF_MLX5_OP_RDMA_WRITE, dst, src, bytes, signal, message);
}

/* Lanes of one QP that act together: who they are, which is this one, and the slots they share. */
struct bf_ibgda_group {
	uint32_t mask, leader, rank, count;
	uint64_t base;
};

BF_DEVICE struct bf_ibgda_group bf_ibgda_join(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_qp *qp)
{
	struct bf_ibgda_group g;

	g.mask = bf_match64(t, mask, (uint64_t)(uintptr_t)qp);
	g.leader = bf_ibgda_first(g.mask);
	g.rank = bf_ibgda_rank(t, g.mask);
	g.count = bf_ibgda_popcount(g.mask);
	g.base = 0;
	return g;
}

BF_DEVICE int bf_ibgda_leads(const struct bf_thread *t, const struct bf_ibgda_group *g)
{
	return bf_lane(t) == g->leader;
}

/* The leader takes `blocks` slots for all. */
BF_DEVICE void bf_ibgda_group_reserve(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				      struct bf_ibgda_group *g, uint32_t blocks)
{
	if (bf_ibgda_leads(t, g))
		g->base = bf_ibgda_reserve(t, state, qp, blocks);
	g->base = bf_shfl64(t, g->mask, g->base, g->leader);
}

/* All have built; the leader publishes. */
BF_DEVICE void bf_ibgda_group_submit(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				     const struct bf_ibgda_group *g, uint32_t blocks, uint32_t message)
{
	bf_warp_sync(t, g->mask);
	if (bf_ibgda_leads(t, g))
		bf_ibgda_submit(t, state, qp, g->base, blocks, message);
}

/*
 * Lanes put each on their own (own addresses, sizes, QPs); those in `mask` must call together, one lane alone names
 * only itself. Lanes on the same QP share a reservation and a doorbell; one with many pieces stays after the others
 * have left.
 */
BF_DEVICE void bf_ibgda_put_nbi(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				struct bf_ibgda_qp *qp, void *dst, const void *src, uint64_t bytes, uint32_t message)
{
	const int late = (state->bugs & BF_IBGDA_BUG_WQE_AFTER_READY) != 0;
	uint64_t roff = bf_ibgda_offset(state, dst), loff = bf_ibgda_offset(state, src);

	for (;;) {
		const struct bf_ibgda_chunk c = bf_ibgda_chunk(state, qp, loff, roff, bytes);
		struct bf_ibgda_group g = bf_ibgda_join(t, mask, qp);
		uint32_t again;

		bytes -= c.bytes;
		loff += c.bytes;
		roff += c.bytes;
		bf_ibgda_group_reserve(t, state, qp, &g, g.count);
		if (BF_UNLIKELY(late) && bf_ibgda_leads(t, &g))
			bf_ibgda_submit(t, state, qp, g.base, g.count, message);
		bf_ibgda_write_chunk(t, qp, g.base + g.rank, BF_MLX5_OP_RDMA_WRITE, &c,
				     bf_ibgda_flags(state, g.rank + 1 == g.count));
		if (BF_LIKELY(!late))
			bf_ibgda_group_submit(t, state, qp, &g, g.count, message);
		again = bf_ballot(t, mask, bytes != 0);
		if (!bytes)
			return;
		mask = again;
	}
}

/*
 * Lanes store a value of 1, 2, 4 or 8 bytes each, carried inside the entry. `imm` other than BF_IBGDA_NO_IMM makes it a
 * WRITE_IMM, which consumes a receive entry at the peer (DeepEP nvshmemi_ibgda_rma_p). `mask` as above.
 */
#define BF_IBGDA_NO_IMM 0xffffffffu
BF_DEVICE void bf_ibgda_p(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
			  struct bf_ibgda_qp *qp, void *dst, uint64_t value, uint32_t bytes, uint32_t imm,
			  uint32_t message)
{
	const uint32_t opcode = imm == BF_IBGDA_NO_IMM ? BF_MLX5_OP_RDMA_WRITE : BF_MLX5_OP_RDMA_WRITE_IMM;
	struct bf_ibgda_group g = bf_ibgda_join(t, mask, qp);
	struct bf_ibgda_wqe w;
	uint64_t rva;
	uint32_t rkey, ds;

	bf_ibgda_remote(state, qp, bf_ibgda_offset(state, dst), &rva, &rkey);
	bf_ibgda_group_reserve(t, state, qp, &g, g.count);
	ds = bf_ibgda_wqe_inline(&w, opcode, qp->qpn, g.base + g.rank, value, bytes, rva, rkey,
				 bf_ibgda_flags(state, g.rank + 1 == g.count), imm == BF_IBGDA_NO_IMM ? 0 : imm);
	bf_ibgda_wqe_store(t, qp, g.base + g.rank, &w, ds);
	bf_ibgda_group_submit(t, state, qp, &g, g.count, message);
}

/* Byte `at` of an entry that begins at block `idx`: entries of several blocks wrap with the ring. */
BF_DEVICE uint8_t *bf_ibgda_wqe_byte(const struct bf_ibgda_qp *qp, uint64_t idx, uint32_t at)
{
	return bf_ibgda_slot(qp, idx + at / BF_MLX5_WQEBB) + at % BF_MLX5_WQEBB;
}

/* A lane's value into the inline payload; 8-byte values lie at 4 modulo 8 and go as two words. */
BF_DEVICE void bf_ibgda_store_element(struct bf_thread *t, const struct bf_ibgda_qp *qp, uint64_t idx, uint32_t at,
				      uint64_t value, uint32_t bytes)
{
	if (bytes == 1) {
		bf_st_weak8(t, bf_ibgda_wqe_byte(qp, idx, at), (uint8_t)value);
	} else if (bytes == 2) {
		bf_st_weak16(t, bf_ibgda_wqe_byte(qp, idx, at), (uint16_t)value);
	} else {
		bf_st_weak32(t, bf_ibgda_wqe_byte(qp, idx, at), (uint32_t)value);
		if (bytes == 8)
			bf_st_weak32(t, bf_ibgda_wqe_byte(qp, idx, at + 4), (uint32_t)(value >> 32));
	}
}

/*
 * A full warp stores 32 neighbouring values (dst is the first one's address) with one inline WRITE and a signalled NOP
 * behind it: 3, 3, 4 or 6 blocks for 1, 2, 4 or 8 bytes. The target must lie in one registration.
 */
BF_DEVICE void bf_ibgda_p_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
			       void *dst, uint64_t value, uint32_t bytes, uint32_t message)
{
	const uint32_t lane = bf_lane(t);
	const uint32_t ds = 2 + (4 + BF_LANES * bytes + BF_MLX5_DS - 1) / BF_MLX5_DS;
	const uint32_t total = bf_ibgda_blocks(ds) + 1;
	struct bf_ibgda_group g = { BF_FULL_WARP, 0, lane, BF_LANES, 0 };

	bf_ibgda_group_reserve(t, state, qp, &g, total);
	if (lane == 0) {
		struct bf_ibgda_wqe w;
		uint64_t rva;
		uint32_t rkey;

		bf_ibgda_remote(state, qp, bf_ibgda_offset(state, dst), &rva, &rkey);
		w.ds[0] = bf_ibgda_ctrl(0, g.base, BF_MLX5_OP_RDMA_WRITE, qp->qpn, ds, 0, 0);
		w.ds[1] = bf_ibgda_raddr(rva, rkey);
		bf_ibgda_wqe_store(t, qp, g.base, &w, 2);
		bf_st_weak32(t, bf_ibgda_wqe_byte(qp, g.base, 32), bf_htobe32(BF_MLX5_INLINE_FLAG | BF_LANES * bytes));
		bf_ibgda_wqe_nop(&w, qp->qpn, g.base + total - 1, BF_IBGDA_SIGNALLED);
		bf_ibgda_wqe_store(t, qp, g.base + total - 1, &w, 1);
	}
	bf_ibgda_store_element(t, qp, g.base, 36 + lane * bytes, value, bytes);
	bf_ibgda_group_submit(t, state, qp, &g, total, message);
}

#endif
