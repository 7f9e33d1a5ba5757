/*
 * IBGDA by RC: the same operations on one RC queue pair that the caller chose, as DeepEP's device code makes them
 * (bf_ibgda_rc() is its ibgda_get_rc). `message` is DeepEP's message index or BF_IBGDA_ALWAYS_POST, see
 * bf_ibgda_submit(); arguments and results are those of the functions that are called.
 */
#ifndef BELFRY_DRIVERS_IBGDA_BY_RC_H
#define BELFRY_DRIVERS_IBGDA_BY_RC_H

#include "drivers/ibgda/amo.h"
#include "drivers/ibgda/get.h"
#include "drivers/ibgda/p.h"

BF_DEVICE int bf_ibgda_put_nbi(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
			       struct bf_ibgda_qp *qp, void *dst, const void *src, uint64_t bytes, uint32_t message)
{
	return bf_ibgda_put_nbi_to(t, mask, state, bf_ibgda_to_rc(qp), dst, src, bytes, message);
}

BF_DEVICE int bf_ibgda_put_nbi_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				    void *dst, const void *src, uint64_t bytes, uint32_t message)
{
	return bf_ibgda_put_nbi_warp_to(t, state, bf_ibgda_to_rc(qp), dst, src, bytes, message);
}

BF_DEVICE int bf_ibgda_put_signal(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				  struct bf_ibgda_qp *qp, void *dst, const void *src, uint64_t bytes,
				  const struct bf_ibgda_signal *signal, uint32_t message)
{
	return bf_ibgda_put_signal_to(t, mask, state, bf_ibgda_to_rc(qp), dst, src, bytes, signal, message);
}

BF_DEVICE int bf_ibgda_put_signal_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				       void *dst, const void *src, uint64_t bytes, const struct bf_ibgda_signal *signal,
				       uint32_t message)
{
	return bf_ibgda_put_signal_warp_to(t, state, bf_ibgda_to_rc(qp), dst, src, bytes, signal, message);
}

BF_DEVICE int bf_ibgda_p(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
			 void *dst, uint64_t value, uint32_t bytes, uint32_t imm, uint32_t message)
{
	return bf_ibgda_p_to(t, mask, state, bf_ibgda_to_rc(qp), dst, value, bytes, imm, message);
}

BF_DEVICE int bf_ibgda_p_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
			      void *dst, uint64_t value, uint32_t bytes, uint32_t message)
{
	return bf_ibgda_p_warp_to(t, state, bf_ibgda_to_rc(qp), dst, value, bytes, message);
}

BF_DEVICE int bf_ibgda_get(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
			   struct bf_ibgda_qp *qp, void *dst, void *src, uint64_t bytes, int blocking, uint32_t message)
{
	return bf_ibgda_get_to(t, mask, state, bf_ibgda_to_rc(qp), dst, src, bytes, blocking, message);
}

BF_DEVICE int bf_ibgda_get_nbi_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				    void *dst, void *src, uint64_t bytes, uint32_t message)
{
	return bf_ibgda_get_nbi_warp_to(t, state, bf_ibgda_to_rc(qp), dst, src, bytes, message);
}

BF_DEVICE int bf_ibgda_get_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				void *dst, void *src, uint64_t bytes)
{
	return bf_ibgda_get_warp_to(t, state, bf_ibgda_to_rc(qp), dst, src, bytes);
}

BF_DEVICE int bf_ibgda_g(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
			 void *src, uint32_t bytes, uint64_t *value)
{
	return bf_ibgda_g_to(t, mask, state, bf_ibgda_to_rc(qp), src, bytes, value);
}

BF_DEVICE int bf_ibgda_amo_nonfetch(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				    struct bf_ibgda_qp *qp, const struct bf_ibgda_amo *a, uint32_t message)
{
	return bf_ibgda_amo_nonfetch_to(t, mask, state, bf_ibgda_to_rc(qp), a, message);
}

BF_DEVICE int bf_ibgda_amo_fetch(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				 struct bf_ibgda_qp *qp, const struct bf_ibgda_amo *a, uint64_t *old)
{
	return bf_ibgda_amo_fetch_to(t, mask, state, bf_ibgda_to_rc(qp), a, old);
}

#endif
