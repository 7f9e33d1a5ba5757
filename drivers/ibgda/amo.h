/*
 * IBGDA: remote atomics of 4 and 8 bytes. (NVSHMEM nvshmemi_ibgda_amo_nonfetch, _amo_fetch; DeepEP amo_nonfetch_add.)
 */
#ifndef BELFRY_DRIVERS_IBGDA_AMO_H
#define BELFRY_DRIVERS_IBGDA_AMO_H

#include "drivers/ibgda/ibuf.h"
#include "drivers/ibgda/put.h"

/* One atomic of one lane. */
struct bf_ibgda_amo {
	enum bf_ibgda_amo_op op;
	uint32_t bytes; /* 4 or 8 */
	void *addr;     /* naturally aligned, in the symmetric heap */
	uint64_t operand, compare;
};

/*
 * Entries of a group: each lane's atomic and, when an atomic is two blocks long, a signalled NOP behind them, because
 * the signalled entry must be one block. Old values go to `lva` of each lane.
 */
BF_DEVICE void bf_ibgda_amo_issue(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				  struct bf_ibgda_group *g, const struct bf_ibgda_amo *a, int fetch, uint64_t lva,
				  uint32_t message)
{
	const uint32_t each = bf_ibgda_blocks(bf_ibgda_amo_ds(a->op, a->bytes));
	const uint32_t total = g->count * each + (each > 1 ? 1 : 0);
	const int last = g->rank + 1 == g->count;
	struct bf_ibgda_wqe w;
	uint64_t rva, idx;
	uint32_t rkey, ds;

	bf_ibgda_remote(state, qp, bf_ibgda_offset(state, a->addr), &rva, &rkey);
	bf_ibgda_group_reserve(t, state, qp, g, total);
	idx = g->base + (uint64_t)g->rank * each;
	ds = bf_ibgda_wqe_amo(&w, a->op, a->bytes, fetch, qp->qpn, idx, a->operand, a->compare, rva, rkey, lva,
			      qp->ibuf.lkey, each > 1 ? 0 : bf_ibgda_flags(state, last));
	bf_ibgda_wqe_store(t, qp, idx, &w, ds);
	if (each > 1 && last) {
		ds = bf_ibgda_wqe_nop(&w, qp->qpn, idx + each, BF_IBGDA_SIGNALLED);
		bf_ibgda_wqe_store(t, qp, idx + each, &w, ds);
	}
	bf_ibgda_group_submit(t, state, qp, g, total, message);
	g->base += total;
}

/*
 * Lanes issue an atomic each whose old value nobody wants. Those in `mask` must call together with the same `op` and
 * `bytes`. Returns when published. The old values all land in the ibuf's shared slot.
 */
BF_DEVICE void bf_ibgda_amo_nonfetch(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				     struct bf_ibgda_qp *qp, const struct bf_ibgda_amo *a, uint32_t message)
{
	struct bf_ibgda_group g = bf_ibgda_join(t, mask, qp);

	bf_ibgda_amo_issue(t, state, qp, &g, a, 0, qp->ibuf.va, message);
}

/*
 * The same, and waits for the old value, which is 0 when the atomic failed (status BF_IBGDA_FAILED). One ibuf slot a
 * lane. Results of the 4-byte extended atomics are big-endian; 8-byte ones are in host order because the drivers switch
 * the device to host-endian requests (NVSHMEM swaps only when the size is 4).
 */
BF_DEVICE int bf_ibgda_amo_fetch(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				 struct bf_ibgda_qp *qp, const struct bf_ibgda_amo *a, uint64_t *old)
{
	struct bf_ibgda_group g = bf_ibgda_join(t, mask, qp);
	uint64_t ticket = 0, at;
	int status;

	if (bf_ibgda_leads(t, &g))
		ticket = bf_ibgda_ibuf_take(t, qp, g.count);
	ticket = bf_shfl64(t, g.mask, ticket, g.leader);
	at = bf_ibgda_ibuf_offset(qp, ticket + g.rank);
	bf_ibgda_amo_issue(t, state, qp, &g, a, 1, qp->ibuf.va + at, BF_IBGDA_ALWAYS_POST);
	status = bf_ibgda_poll_cq(t, state, qp, g.base);
	*old = 0;
	if (!status && a->bytes == 8)
		*old = bf_ld_relaxed64(t, (const uint8_t *)qp->ibuf.buf + at, BF_AT_SYS);
	else if (!status)
		*old = bf_htobe32(bf_ld_relaxed32(t, (const uint8_t *)qp->ibuf.buf + at, BF_AT_SYS));
	bf_warp_sync(t, g.mask);
	if (bf_ibgda_leads(t, &g))
		bf_ibgda_ibuf_give(t, qp, ticket, g.count);
	return status;
}

#endif
