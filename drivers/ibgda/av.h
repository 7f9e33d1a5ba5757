/*
 * IBGDA: entries of a DC initiator. They are those of an RC with an address vector behind the control segment that
 * names the target: 16 bytes where device and targets support the compact form, otherwise 48, which fill the first
 * block, so that the rest begins at the second one (NVSHMEM ibgda_write_rdma_write_wqe and its like).
 *
 * An entry of several blocks must not be the signalled one (cq.h); a NOP of one block then ends the group.
 */
#ifndef BELFRY_DRIVERS_IBGDA_AV_H
#define BELFRY_DRIVERS_IBGDA_AV_H

#include "drivers/ibgda/sq.h"

/* NVSHMEM builds no DC entry of more segments than this. */
#define BF_IBGDA_DC_MAX_DS 16u

BF_DEVICE const struct bf_ibgda_dct *bf_ibgda_dct_at(const struct bf_ibgda_state *state, uint32_t i)
{
	return i < BF_IBGDA_CONST_DCTS ? &state->constmem.dcts[i] : &state->globalmem.dcts[i - BF_IBGDA_CONST_DCTS];
}

/* Segments of the address vector that entries to this target carry. */
BF_DEVICE uint32_t bf_ibgda_av_ds(const struct bf_ibgda_state *state, const struct bf_ibgda_to *to)
{
	if (to->qp->qp_type != BF_IBGDA_DCI)
		return 0;
	return state->support_half_av_seg ? 1 : 3;
}

/* Blocks that an entry of `ds` segments (the address vector not counted) takes. */
BF_DEVICE uint32_t bf_ibgda_entry_blocks(const struct bf_ibgda_state *state, const struct bf_ibgda_to *to, uint32_t ds)
{
	return bf_ibgda_blocks(ds + bf_ibgda_av_ds(state, to));
}

/* Lays a built entry of `ds` segments into the ring at `idx`, with the address vector if there is to be one. */
BF_DEVICE void bf_ibgda_entry_store(struct bf_thread *t, const struct bf_ibgda_state *state,
				    const struct bf_ibgda_to *to, uint64_t idx, const struct bf_ibgda_wqe *w,
				    uint32_t ds)
{
	const uint32_t av = bf_ibgda_av_ds(state, to);
	struct bf_vec128 ctrl = w->ds[0];

	if (av) {
		const struct bf_ibgda_dct *dct = bf_ibgda_dct_at(state, to->dct);

		ctrl.w[1] = bf_htobe32(bf_htobe32(ctrl.w[1]) + av);
		for (uint32_t i = 0; i < av; i++) {
			struct bf_vec128 v;

			v.w[0] = dct->w[i * 4];
			v.w[1] = dct->w[i * 4 + 1];
			v.w[2] = dct->w[i * 4 + 2];
			v.w[3] = dct->w[i * 4 + 3];
			bf_ibgda_segment_store(t, to->qp, idx, 1 + i, v);
		}
	}
	bf_ibgda_segment_store(t, to->qp, idx, 0, ctrl);
	for (uint32_t i = 1; i < ds; i++)
		bf_ibgda_segment_store(t, to->qp, idx, av + i, w->ds[i]);
	bf_ibgda_tell_build(t, to->qp, idx, ds + av);
}

/* A signalled NOP, which needs no address. */
BF_DEVICE void bf_ibgda_write_nop_of(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t idx, uint32_t says_ds)
{
	struct bf_ibgda_wqe w;
	const uint32_t ds = bf_ibgda_wqe_nop(&w, qp->qpn, idx, says_ds, BF_IBGDA_SIGNALLED);

	bf_ibgda_wqe_store(t, qp, idx, &w, ds);
}

BF_DEVICE void bf_ibgda_write_nop(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t idx)
{
	bf_ibgda_write_nop_of(t, qp, idx, 2);
}

/* A signalled DUMP of the ibuf's first byte; `flags` may make it wait for earlier READs and atomics. */
BF_DEVICE void bf_ibgda_write_dump(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t idx, uint32_t flags)
{
	struct bf_ibgda_wqe w;
	const uint32_t ds =
	    bf_ibgda_wqe_dump(&w, qp->qpn, idx, qp->ibuf.va, qp->ibuf.lkey, 1, BF_IBGDA_SIGNALLED | flags);

	bf_ibgda_wqe_store(t, qp, idx, &w, ds);
}

/* The signalled block that closes a group: a DUMP that waits for what was read, or a NOP. */
BF_DEVICE void bf_ibgda_write_closing(struct bf_thread *t, struct bf_ibgda_qp *qp, uint64_t idx, int dump)
{
	if (dump)
		bf_ibgda_write_dump(t, qp, idx, BF_IBGDA_FENCED);
	else
		bf_ibgda_write_nop(t, qp, idx);
}

#endif
