/*
 * NVSHMEM's calls as device code over IBGDA, at warp scope unless said otherwise: put, get, put with signal, p, g,
 * atomics, fence, quiet, wait, barrier. (NVIDIA/nvshmem src/include/non_abi/device/pt-to-pt/ibgda_device.cuh; its
 * barrier is the dissemination of src/include/non_abi/device/coll/barrier.cuh: quiet, then rounds in which each PE
 * tells the one 2^k further on.)
 */
#ifndef BELFRY_DRIVERS_IBGDA_SHMEM_CALLS_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_SHMEM_CALLS_INTERNAL_H

#include "drivers/ibgda/device.h"
#include "drivers/ibgda/shmem.h"
#include "traces/records/shmem.h"
#include "drivers/ibgda/warp.h"

/* A lane's context; the same in all lanes of a warp. */
struct bf_shmem {
	const struct bf_ibgda_state *state;
	const struct bf_shmem_shape *s;
	const struct bf_shmem_layout *at;
	uint8_t *heap;
	uint32_t mype, npes;
	uint32_t warp, warps; /* in the grid */
	uint32_t turn;        /* the next queue pair: NVSHMEM's switch, one for each warp */
	uint64_t epoch;       /* barriers so far */
};

BF_DEVICE uint64_t bf_shmem_slot(const struct bf_shmem *c, uint32_t pe)
{
	return (uint64_t)pe * c->warps + c->warp;
}
BF_DEVICE uint8_t *bf_shmem_block(const struct bf_shmem *c, uint64_t area, uint32_t pe)
{
	return c->heap + area + bf_shmem_slot(c, pe) * c->at->stride;
}
BF_DEVICE uint8_t *bf_shmem_word(const struct bf_shmem *c, uint64_t area, uint32_t pe)
{
	return c->heap + area + bf_shmem_slot(c, pe) * 8;
}

BF_DEVICE struct bf_ibgda_qp *bf_shmem_qp(struct bf_shmem *c, uint32_t pe)
{
	return bf_ibgda_rc(c->state, pe, c->turn++);
}

BF_DEVICE void bf_shmem_tell(struct bf_thread *t, uint32_t call, uint32_t pe, const struct bf_ibgda_qp *qp)
{
	if (bf_lane(t) == 0)
		BF_DRIVER_RECORD(t, shmem_call, .call = call, .pe = pe, .qpn = qp ? qp->qpn : 0, .reserved = 0);
}

BF_DEVICE void bf_shmem_put(struct bf_thread *t, struct bf_shmem *c, void *dst, const void *src, uint64_t bytes,
			    uint32_t pe)
{
	struct bf_ibgda_qp *qp;

	if (pe == c->mype) {
		bf_ibgda_copy_warp(t, (uint8_t *)dst, (const uint8_t *)src, bytes);
		return;
	}
	qp = bf_shmem_qp(c, pe);
	bf_shmem_tell(t, BF_SHMEM_CALL_PUT, pe, qp);
	bf_ibgda_put_nbi_warp(t, c->state, qp, dst, src, bytes, BF_IBGDA_ALWAYS_POST);
}

BF_DEVICE void bf_shmem_get_nbi(struct bf_thread *t, struct bf_shmem *c, void *dst, void *src, uint64_t bytes,
				uint32_t pe)
{
	if (pe == c->mype) {
		bf_ibgda_copy_warp(t, (uint8_t *)dst, (const uint8_t *)src, bytes);
		return;
	}
	bf_ibgda_get_nbi_warp(t, c->state, bf_shmem_qp(c, pe), dst, src, bytes, BF_IBGDA_ALWAYS_POST);
}

/* Blocks until the data are there. */
BF_DEVICE void bf_shmem_get(struct bf_thread *t, struct bf_shmem *c, void *dst, void *src, uint64_t bytes, uint32_t pe)
{
	if (pe == c->mype)
		bf_ibgda_copy_warp(t, (uint8_t *)dst, (const uint8_t *)src, bytes);
	else
		bf_ibgda_get_warp(t, c->state, bf_shmem_qp(c, pe), dst, src, bytes);
}

/* One lane puts a value of 8 bytes to another PE; lanes may call apart. */
BF_DEVICE void bf_shmem_p(struct bf_thread *t, struct bf_shmem *c, void *dst, uint64_t value, uint32_t pe)
{
	struct bf_ibgda_qp *qp = bf_shmem_qp(c, pe);

	bf_shmem_tell(t, BF_SHMEM_CALL_FLAG, pe, qp);
	bf_ibgda_p(t, 1u << bf_lane(t), c->state, qp, dst, value, 8, BF_IBGDA_NO_IMM, BF_IBGDA_ALWAYS_POST);
}

/* One lane adds to 8 bytes at another PE; `old` (may be NULL) waits for what was there. */
BF_DEVICE void bf_shmem_add(struct bf_thread *t, struct bf_shmem *c, void *dst, uint64_t value, uint32_t pe,
			    uint64_t *old)
{
	struct bf_ibgda_qp *qp = bf_shmem_qp(c, pe);
	struct bf_ibgda_amo a;

	a.op = BF_IBGDA_AMO_ADD;
	a.bytes = 8;
	a.addr = dst;
	a.operand = value;
	a.compare = 0;
	if (old)
		bf_ibgda_amo_fetch(t, 1u << bf_lane(t), c->state, qp, &a, old);
	else
		bf_ibgda_amo_nonfetch(t, 1u << bf_lane(t), c->state, qp, &a, BF_IBGDA_ALWAYS_POST);
}

/* The signal goes behind the data on their queue pair. */
BF_DEVICE void bf_shmem_put_signal(struct bf_thread *t, struct bf_shmem *c, void *dst, const void *src, uint64_t bytes,
				   void *signal, uint64_t value, uint32_t pe)
{
	struct bf_ibgda_signal s;
	struct bf_ibgda_qp *qp;

	if (pe == c->mype) {
		bf_ibgda_copy_warp(t, (uint8_t *)dst, (const uint8_t *)src, bytes);
		bf_warp_sync(t, BF_FULL_WARP);
		if (bf_lane(t) == 0) {
			bf_fence_sys(t);
			bf_atomic_add64(t, signal, value, BF_AT_SYS);
		}
		return;
	}
	if (BF_UNLIKELY(c->s->bugs & BF_SHMEM_BUG_SIGNAL_FIRST)) {
		bf_shmem_tell(t, BF_SHMEM_CALL_SIGNAL, pe, bf_ibgda_rc(c->state, pe, c->turn));
		if (bf_lane(t) == 0)
			bf_shmem_add(t, c, signal, value, pe, (uint64_t *)0);
		c->turn += bf_lane(t) ? 1 : 0;
		bf_shmem_put(t, c, dst, src, bytes, pe);
		return;
	}
	s.addr = signal;
	s.value = value;
	s.op = BF_IBGDA_AMO_ADD;
	qp = bf_shmem_qp(c, pe);
	bf_shmem_tell(t, BF_SHMEM_CALL_PUT, pe, qp);
	bf_shmem_tell(t, BF_SHMEM_CALL_SIGNAL, pe, qp);
	bf_ibgda_put_signal_warp(t, c->state, qp, dst, src, bytes, &s, BF_IBGDA_ALWAYS_POST);
}

/* All lanes wait until a word is at least `value`; what was put before it can be read then. */
BF_DEVICE void bf_shmem_wait(struct bf_thread *t, const struct bf_shmem *c, const void *word, uint64_t value,
			     const char *what)
{
	if (bf_lane(t) == 0) {
		const uint64_t enough = c->s->bugs & BF_SHMEM_BUG_WAIT_SHORT ? value - 1 : value;
		uint64_t found = 0;

		while ((found = bf_ld_acquire64(t, word, BF_AT_SYS)) < enough)
			bf_spin(t, word, what);
		BF_DRIVER_RECORD(t, shmem_waited, .wanted = value, .found = found);
	}
	bf_warp_sync(t, BF_FULL_WARP);
}

/*
 * Everything that was published on any queue pair is complete; with `consistent`, what gets brought is in memory. Lanes
 * share the queue pairs. A fence is the same without the consistency step: with several queue pairs to a PE there is no
 * cheaper one.
 */
BF_DEVICE void bf_shmem_complete(struct bf_thread *t, struct bf_shmem *c, int consistent)
{
	const uint32_t each = c->state->num_rc_per_pe;

	bf_warp_sync(t, BF_FULL_WARP);
	for (uint32_t i = bf_lane(t); i < each * (c->npes - 1); i += BF_LANES) {
		struct bf_ibgda_qp *qp = bf_ibgda_rc(c->state, (c->mype + 1 + i / each) % c->npes, i % each);

		if (consistent)
			bf_ibgda_quiet_with_cst(t, c->state, qp);
		else
			bf_ibgda_quiet(t, c->state, qp);
	}
	bf_warp_sync(t, BF_FULL_WARP);
	bf_shmem_tell(t, BF_SHMEM_CALL_COMPLETE, 0, (struct bf_ibgda_qp *)0);
}
BF_DEVICE void bf_shmem_quiet(struct bf_thread *t, struct bf_shmem *c)
{
	bf_shmem_complete(t, c, 1);
}
BF_DEVICE void bf_shmem_fence(struct bf_thread *t, struct bf_shmem *c)
{
	bf_shmem_complete(t, c, 0);
}

/* All warps of this PE. */
BF_DEVICE void bf_shmem_meet(struct bf_thread *t, struct bf_shmem *c)
{
	bf_ibgda_meet(t, c->heap + c->at->meet, c->warps, BF_AT_GPU);
}

/* All warps of all PEs call: quiet of every warp, then the PEs meet by their first warps. */
BF_DEVICE void bf_shmem_barrier(struct bf_thread *t, struct bf_shmem *c)
{
	const uint32_t apart = c->s->bugs & BF_SHMEM_BUG_ROUND_LESS ? (c->npes + 1) / 2 : c->npes;
	uint8_t *sync = c->heap + c->at->sync;

	c->epoch++;
	if (!(c->s->bugs & BF_SHMEM_BUG_SYNC_ONLY))
		bf_shmem_quiet(t, c);
	bf_shmem_tell(t, BF_SHMEM_CALL_MEET, 0, (struct bf_ibgda_qp *)0);
	bf_shmem_meet(t, c);
	for (uint32_t k = 0; c->warp == 0 && 1u << k < apart; k++) {
		if (bf_lane(t) == 0)
			bf_ibgda_p(t, 1u, c->state, bf_ibgda_rc(c->state, (c->mype + (1u << k)) % c->npes, 0),
				   sync + k * 8, c->epoch, 8, BF_IBGDA_NO_IMM, BF_IBGDA_ALWAYS_POST);
		bf_shmem_wait(t, c, sync + k * 8, c->epoch, "a PE at the barrier");
	}
	bf_shmem_meet(t, c);
	bf_shmem_tell(t, BF_SHMEM_CALL_LEAVE, 0, (struct bf_ibgda_qp *)0);
}

#endif
