/*
 * IBGDA: single values, carried inside entries (NVSHMEM nvshmemi_ibgda_rma_p, DeepEP nvshmemi_ibgda_rma_p).
 */
#ifndef BELFRY_DRIVERS_IBGDA_P_H
#define BELFRY_DRIVERS_IBGDA_P_H

#include "drivers/ibgda/put.h"

/*
 * Lanes store a value of 1, 2, 4 or 8 bytes each. `imm` other than BF_IBGDA_NO_IMM makes it a WRITE_IMM, which consumes
 * a receive entry at the target (DeepEP). `mask` and the result as for puts.
 */
#define BF_IBGDA_NO_IMM 0xffffffffu
BF_DEVICE int bf_ibgda_p_to(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
			    struct bf_ibgda_to to, void *dst, uint64_t value, uint32_t bytes, uint32_t imm,
			    uint32_t message)
{
	const uint32_t opcode = imm == BF_IBGDA_NO_IMM ? BF_MLX5_OP_RDMA_WRITE : BF_MLX5_OP_RDMA_WRITE_IMM;

	for (;;) {
		struct bf_ibgda_group g;
		struct bf_ibgda_wqe w;
		uint64_t rva, idx;
		uint32_t rkey, ds, each, nop, again;
		int status, retry;

		bf_ibgda_follow(t, state, &to);
		g = bf_ibgda_join(t, mask, &to);
		each = bf_ibgda_entry_blocks(state, &to, BF_IBGDA_RDMA_DS);
		nop = each > 1;
		bf_ibgda_remote(state, &to, bf_ibgda_offset(state, dst), &rva, &rkey);
		status = bf_ibgda_group_reserve(t, state, to.qp, &g, g.count * each + nop);
		if (!status) {
			idx = g.base + (uint64_t)g.rank * each;
			ds = bf_ibgda_wqe_inline(&w, opcode, to.qp->qpn, idx, value, bytes, rva, rkey,
						 nop ? 0 : bf_ibgda_flags(state, bf_ibgda_is_last(&g)),
						 imm == BF_IBGDA_NO_IMM ? 0 : imm);
			bf_ibgda_entry_store(t, state, &to, idx, &w, ds);
			if (nop && bf_ibgda_leads(t, &g))
				bf_ibgda_write_nop(t, to.qp, g.end - 1);
			status = bf_ibgda_group_submit(t, state, to.qp, &g, message);
		}
		retry = bf_ibgda_again(t, state, &to, &g, &status);
		if (BF_LIKELY(!bf_ibgda_moves(state, to.qp)))
			return status;
		again = bf_ballot(t, mask, retry);
		if (!retry)
			return status;
		mask = again;
	}
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

/* How 32 values travel: in one entry, or in two where one would be longer than a DC entry may be. */
struct bf_ibgda_spread {
	uint32_t parts, lanes; /* entries; values in each */
	uint32_t ds, blocks;   /* of each, the address vector included */
};
BF_DEVICE struct bf_ibgda_spread bf_ibgda_spread(const struct bf_ibgda_state *state, const struct bf_ibgda_to *to,
						 uint32_t bytes)
{
	const uint32_t av = bf_ibgda_av_ds(state, to);
	struct bf_ibgda_spread s;

	s.parts = av && bytes == 8 ? 2 : 1;
	s.lanes = BF_LANES / s.parts;
	s.ds = av + 2 + (4 + s.lanes * bytes + BF_MLX5_DS - 1) / BF_MLX5_DS;
	s.blocks = bf_ibgda_blocks(s.ds);
	return s;
}

/* Everything of a part's entry but the values. The length field's word is the first of the inline segment. */
BF_DEVICE void bf_ibgda_spread_head(struct bf_thread *t, const struct bf_ibgda_state *state,
				    const struct bf_ibgda_to *to, const struct bf_ibgda_spread *s, uint64_t idx,
				    void *dst, uint32_t bytes)
{
	const uint32_t av = bf_ibgda_av_ds(state, to);
	struct bf_ibgda_wqe w;
	uint64_t rva;
	uint32_t rkey;

	bf_ibgda_remote(state, to, bf_ibgda_offset(state, dst), &rva, &rkey);
	w.ds[0] = bf_ibgda_ctrl(0, idx, BF_MLX5_OP_RDMA_WRITE, to->qp->qpn, s->ds - av, 0, 0);
	w.ds[1] = bf_ibgda_raddr(rva, rkey);
	bf_ibgda_entry_store(t, state, to, idx, &w, 2);
	bf_st_weak32(t, bf_ibgda_wqe_byte(to->qp, idx, (2 + av) * BF_MLX5_DS),
		     bf_htobe32(BF_MLX5_INLINE_FLAG | s->lanes * bytes));
}

/*
 * A full warp stores 32 neighbouring values (dst is the first one's address) with one inline WRITE and a signalled NOP
 * behind it: 3, 3, 4 or 6 blocks for 1, 2, 4 or 8 bytes to an RC; by a DCI values of 8 bytes take two WRITEs, each with
 * its NOP. The target must lie in one registration.
 */
BF_DEVICE int bf_ibgda_p_warp_to(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_to to,
				 void *dst, uint64_t value, uint32_t bytes, uint32_t message)
{
	const uint32_t lane = bf_lane(t);
	int status, again;

	do {
		struct bf_ibgda_group g = { BF_FULL_WARP, 0, lane, BF_LANES, 0, 0 };
		struct bf_ibgda_spread s;

		bf_ibgda_follow_warp(t, state, &to);
		s = bf_ibgda_spread(state, &to, bytes);
		status = bf_ibgda_group_reserve(t, state, to.qp, &g, s.parts * (s.blocks + 1));
		if (!status) {
			const uint64_t idx = g.base + (uint64_t)(lane / s.lanes) * (s.blocks + 1);
			const uint32_t at = (2 + bf_ibgda_av_ds(state, &to)) * BF_MLX5_DS + 4;

			if (lane % s.lanes == 0) {
				bf_ibgda_spread_head(t, state, &to, &s, idx, (uint8_t *)dst + lane * bytes, bytes);
				bf_ibgda_write_nop_of(t, to.qp, idx + s.blocks, 1);
			}
			bf_ibgda_store_element(t, to.qp, idx, at + lane % s.lanes * bytes, value, bytes);
			status = bf_ibgda_group_submit(t, state, to.qp, &g, message);
		}
		again = bf_ibgda_again(t, state, &to, &g, &status);
	} while (again);
	return status;
}

/*
 * NVSHMEM's choice between the two: all lanes of the warp, the same target, neighbouring addresses under one key, and
 * a compact address vector if it goes by a DCI.
 */
BF_DEVICE int bf_ibgda_p_any_to(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				struct bf_ibgda_to to, void *dst, uint64_t value, uint32_t bytes, uint32_t message)
{
	uint64_t rva, first;
	uint32_t rkey, one_key;

	if (mask != BF_FULL_WARP)
		return bf_ibgda_p_to(t, mask, state, to, dst, value, bytes, BF_IBGDA_NO_IMM, message);
	bf_ibgda_remote(state, &to, bf_ibgda_offset(state, dst), &rva, &rkey);
	first = bf_shfl64(t, mask, (uint64_t)(uintptr_t)dst, 0);
	one_key = bf_match64(t, mask, (uint64_t)to.pe << 32 | rkey) == mask &&
		  bf_match64(t, mask, (uint64_t)(uintptr_t)to.qp) == mask &&
		  bf_match64(t, mask, (uint64_t)(uintptr_t)dst - (uint64_t)bf_lane(t) * bytes - first) == mask;
	if (one_key && bf_ibgda_av_ds(state, &to) < 3)
		return bf_ibgda_p_warp_to(t, state, to, (void *)(uintptr_t)first, value, bytes, message);
	return bf_ibgda_p_to(t, mask, state, to, dst, value, bytes, BF_IBGDA_NO_IMM, message);
}

#endif
