/*
 * IBGDA by PE: what NVSHMEM's device functions offer. Each call chooses its queue (select.h) by `handle`:
 * BF_IBGDA_QP_DEFAULT, BF_IBGDA_QP_ANY, or one that creating queues returned; to oneself and without RCs it goes by DC.
 *
 * Thread scope: each lane of `mask` for itself. Warp scope: all 32 lanes with the same arguments. Block scope: all
 * threads of the block, of which the first warp works; the caller synchronises the block before and after. (NVSHMEM
 * nvshmemi_ibgda_rma, _rma_nbi, _put_signal, _rma_p, _rma_g, _amo_nonfetch, _amo_fetch.)
 */
#ifndef BELFRY_DRIVERS_IBGDA_BY_PE_H
#define BELFRY_DRIVERS_IBGDA_BY_PE_H

#include "drivers/ibgda/amo.h"
#include "drivers/ibgda/get.h"
#include "drivers/ibgda/p.h"

BF_DEVICE int bf_ibgda_pe_put_nbi(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state, uint32_t pe,
				  uint32_t handle, void *dst, const void *src, uint64_t bytes)
{
	return bf_ibgda_put_nbi_to(t, mask, state, bf_ibgda_select_lanes(t, mask, state, pe, handle), dst, src, bytes,
				   BF_IBGDA_ALWAYS_POST);
}

/* Pieces that a transfer is cut into, counted up to one more than a warp has lanes. */
BF_DEVICE uint32_t bf_ibgda_pieces(const struct bf_ibgda_state *state, const struct bf_ibgda_to *to, const void *local,
				   uint64_t roff, uint64_t bytes)
{
	uint32_t n = 0;

	for (uint64_t at = 0; at < bytes && n <= BF_LANES; n++)
		at += bf_ibgda_chunk(state, to, (const uint8_t *)local + at, roff + at, bytes - at).bytes;
	return n;
}

/*
 * Any number of pieces goes by the queue that was chosen. NVSHMEM leaves more than 32 to the thread version on one
 * lane, which chooses anew without the caller's handle.
 */
BF_DEVICE int bf_ibgda_pe_put_nbi_warp(struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t pe,
				       uint32_t handle, void *dst, const void *src, uint64_t bytes)
{
	const struct bf_ibgda_to to = bf_ibgda_select_lanes(t, BF_FULL_WARP, state, pe, handle);

	if (BF_UNLIKELY(bf_ibgda_suspected(state) & BF_IBGDA_SUSPECT_PUT_LOSES_QP_INDEX) &&
	    bf_ibgda_pieces(state, &to, src, bf_ibgda_offset(state, dst), bytes) > BF_LANES) {
		int status = 0;

		if (bf_lane(t) == 0)
			status = bf_ibgda_pe_put_nbi(t, 1, state, pe, BF_IBGDA_QP_DEFAULT, dst, src, bytes);
		return (int)bf_shfl32(t, BF_FULL_WARP, (uint32_t)status, 0);
	}
	return bf_ibgda_put_nbi_warp_to(t, state, to, dst, src, bytes, BF_IBGDA_ALWAYS_POST);
}

BF_DEVICE int bf_ibgda_pe_put_nbi_block(struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t pe,
					uint32_t handle, void *dst, const void *src, uint64_t bytes)
{
	return bf_warp(t) ? 0 : bf_ibgda_pe_put_nbi_warp(t, state, pe, handle, dst, src, bytes);
}

/*
 * Data in several pieces and their signal go by one queue, which keeps them in order. NVSHMEM's put loop does not pass
 * the handle on and may choose another.
 */
BF_DEVICE int bf_ibgda_pe_put_signal(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				     uint32_t pe, uint32_t handle, void *dst, const void *src, uint64_t bytes,
				     const struct bf_ibgda_signal *signal)
{
	const struct bf_ibgda_to to = bf_ibgda_select_lanes(t, mask, state, pe, handle);

	if (BF_UNLIKELY(bf_ibgda_suspected(state) & BF_IBGDA_SUSPECT_SIGNAL_LOSES_QP_INDEX) &&
	    bf_ballot(t, mask, bf_ibgda_pieces(state, &to, src, bf_ibgda_offset(state, dst), bytes) > 1)) {
		const int status = bf_ibgda_pe_put_nbi(t, mask, state, pe, BF_IBGDA_QP_DEFAULT, dst, src, bytes);

		return status | bf_ibgda_signal_to(t, mask, state, to, signal, BF_IBGDA_ALWAYS_POST);
	}
	return bf_ibgda_put_signal_to(t, mask, state, to, dst, src, bytes, signal, BF_IBGDA_ALWAYS_POST);
}

BF_DEVICE int bf_ibgda_pe_put_signal_warp(struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t pe,
					  uint32_t handle, void *dst, const void *src, uint64_t bytes,
					  const struct bf_ibgda_signal *signal)
{
	return bf_ibgda_put_signal_warp_to(t, state, bf_ibgda_select_lanes(t, BF_FULL_WARP, state, pe, handle), dst,
					   src, bytes, signal, BF_IBGDA_ALWAYS_POST);
}

BF_DEVICE int bf_ibgda_pe_put_signal_block(struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t pe,
					   uint32_t handle, void *dst, const void *src, uint64_t bytes,
					   const struct bf_ibgda_signal *signal)
{
	return bf_warp(t) ? 0 : bf_ibgda_pe_put_signal_warp(t, state, pe, handle, dst, src, bytes, signal);
}

/* With `blocking` the data are there on return; otherwise after bf_ibgda_pe_quiet(). */
BF_DEVICE int bf_ibgda_pe_get(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state, uint32_t pe,
			      uint32_t handle, void *dst, void *src, uint64_t bytes, int blocking)
{
	return bf_ibgda_get_to(t, mask, state, bf_ibgda_select_lanes(t, mask, state, pe, handle), dst, src, bytes,
			       blocking, BF_IBGDA_ALWAYS_POST);
}

BF_DEVICE int bf_ibgda_pe_get_warp(struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t pe,
				   uint32_t handle, void *dst, void *src, uint64_t bytes, int blocking)
{
	const struct bf_ibgda_to to = bf_ibgda_select_lanes(t, BF_FULL_WARP, state, pe, handle);

	return blocking ? bf_ibgda_get_warp_to(t, state, to, dst, src, bytes)
			: bf_ibgda_get_nbi_warp_to(t, state, to, dst, src, bytes, BF_IBGDA_ALWAYS_POST);
}

BF_DEVICE int bf_ibgda_pe_get_block(struct bf_thread *t, const struct bf_ibgda_state *state, uint32_t pe,
				    uint32_t handle, void *dst, void *src, uint64_t bytes, int blocking)
{
	return bf_warp(t) ? 0 : bf_ibgda_pe_get_warp(t, state, pe, handle, dst, src, bytes, blocking);
}

/* Values of 1, 2, 4 or 8 bytes; a full warp with neighbouring addresses sends one entry. */
BF_DEVICE int bf_ibgda_pe_p(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state, uint32_t pe,
			    uint32_t handle, void *dst, uint64_t value, uint32_t bytes)
{
	return bf_ibgda_p_any_to(t, mask, state, bf_ibgda_select_lanes(t, mask, state, pe, handle), dst, value, bytes,
				 BF_IBGDA_ALWAYS_POST);
}

BF_DEVICE int bf_ibgda_pe_g(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state, uint32_t pe,
			    uint32_t handle, void *src, uint32_t bytes, uint64_t *value)
{
	return bf_ibgda_g_to(t, mask, state, bf_ibgda_select_lanes(t, mask, state, pe, handle), src, bytes, value);
}

BF_DEVICE int bf_ibgda_pe_amo_nonfetch(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				       uint32_t pe, uint32_t handle, const struct bf_ibgda_amo *a)
{
	return bf_ibgda_amo_nonfetch_to(t, mask, state, bf_ibgda_select_lanes(t, mask, state, pe, handle), a,
					BF_IBGDA_ALWAYS_POST);
}

BF_DEVICE int bf_ibgda_pe_amo_fetch(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state, uint32_t pe,
				    uint32_t handle, const struct bf_ibgda_amo *a, uint64_t *old)
{
	return bf_ibgda_amo_fetch_to(t, mask, state, bf_ibgda_select_lanes(t, mask, state, pe, handle), a, old);
}

#endif
