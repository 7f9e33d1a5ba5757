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
 * Entries of a group: each lane's atomic and, when an atomic is several blocks long, a signalled NOP behind them,
 * because the signalled entry must be one block; behind those whose results are wanted a DUMP that waits for them. Old
 * values go to `lva` of each lane. 0 or BF_IBGDA_MOVED.
 */
BF_DEVICE int bf_ibgda_amo_issue(struct bf_thread *t, const struct bf_ibgda_state *state, const struct bf_ibgda_to *to,
				 struct bf_ibgda_group *g, const struct bf_ibgda_amo *a, int fetch, uint64_t lva,
				 uint32_t message)
{
	const uint32_t each = bf_ibgda_entry_blocks(state, to, bf_ibgda_amo_ds(a->op, a->bytes));
	const uint32_t dump = fetch && !state->may_skip_cst, tail = each > 1 || dump;
	const int last = bf_ibgda_is_last(g);
	struct bf_ibgda_wqe w;
	uint64_t rva, idx;
	uint32_t rkey, ds;

	bf_ibgda_remote(state, to, bf_ibgda_offset(state, a->addr), &rva, &rkey);
	if (bf_ibgda_group_reserve(t, state, to->qp, g, g->count * each + tail))
		return BF_IBGDA_MOVED;
	idx = g->base + (uint64_t)g->rank * each;
	ds = bf_ibgda_wqe_amo(&w, a->op, a->bytes, fetch, to->qp->qpn, idx, a->operand, a->compare, rva, rkey, lva,
			      to->qp->ibuf.lkey, tail ? 0 : bf_ibgda_flags(state, last));
	bf_ibgda_entry_store(t, state, to, idx, &w, ds);
	if (tail && last)
		bf_ibgda_write_closing(t, to->qp, idx + each, (int)dump);
	return bf_ibgda_group_submit(t, state, to->qp, g, message);
}

/*
 * Lanes issue an atomic each whose old value nobody wants. Those in `mask` must call together with the same `op` and
 * `bytes`. Returns when published. The old values all land in the ibuf's shared slot.
 */
BF_DEVICE int bf_ibgda_amo_nonfetch_to(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				       struct bf_ibgda_to to, const struct bf_ibgda_amo *a, uint32_t message)
{
	for (;;) {
		struct bf_ibgda_group g;
		uint32_t again;
		int status, retry;

		bf_ibgda_follow(t, state, &to);
		g = bf_ibgda_join(t, mask, &to);
		status = bf_ibgda_amo_issue(t, state, &to, &g, a, 0, to.qp->ibuf.va, message);
		retry = bf_ibgda_again(t, state, &to, &g, &status);
		if (BF_LIKELY(!bf_ibgda_moves(state, to.qp)))
			return status;
		again = bf_ballot(t, mask, retry);
		if (!retry)
			return status;
		mask = again;
	}
}

/*
 * One attempt of bf_ibgda_amo_fetch_to(). BF_IBGDA_MOVED when it was never published; once it was, and the queue failed
 * before it was known to be complete, nobody can tell whether it was done: BF_IBGDA_UNKNOWN.
 */
BF_DEVICE int bf_ibgda_fetch_once(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				  struct bf_ibgda_to *to, struct bf_ibgda_group *g, const struct bf_ibgda_amo *a,
				  uint64_t *old)
{
	struct bf_ibgda_qp *qp = to->qp;
	uint64_t ticket = 0, at;
	int status;

	*g = bf_ibgda_join(t, mask, to);
	if (bf_ibgda_leads(t, g))
		ticket = bf_ibgda_ibuf_take(t, state, qp, g->count);
	ticket = bf_shfl64(t, g->mask, ticket, g->leader);
	at = bf_ibgda_ibuf_offset(qp, ticket + g->rank);
	status = bf_ibgda_amo_issue(t, state, to, g, a, 1, qp->ibuf.va + at, BF_IBGDA_ALWAYS_POST);
	if (!status) {
		status = bf_ibgda_poll_cq(t, state, qp, g->end);
		if (!status)
			bf_ibgda_tell_result(t, state, qp, g->end, 0);
		if (!status && a->bytes == 8)
			*old = bf_ld_relaxed64(t, (const uint8_t *)qp->ibuf.buf + at, BF_AT_SYS);
		else if (!status)
			*old = bf_htobe32(bf_ld_relaxed32(t, (const uint8_t *)qp->ibuf.buf + at, BF_AT_SYS));
		if (status && bf_ibgda_moves(state, qp))
			status = BF_IBGDA_UNKNOWN;
	}
	bf_warp_sync(t, g->mask);
	if (bf_ibgda_leads(t, g))
		bf_ibgda_ibuf_give(t, qp, ticket, g->count);
	return status;
}

/*
 * The same, and waits for the old value, which is 0 when the atomic failed (status BF_IBGDA_FAILED or
 * BF_IBGDA_UNKNOWN). One ibuf slot a lane. Results of the 4-byte extended atomics are big-endian; 8-byte ones are in
 * host order because the drivers switch the device to host-endian requests (NVSHMEM swaps only when the size is 4).
 */
BF_DEVICE int bf_ibgda_amo_fetch_to(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				    struct bf_ibgda_to to, const struct bf_ibgda_amo *a, uint64_t *old)
{
	for (;;) {
		struct bf_ibgda_group g;
		uint32_t again;
		int status, retry;

		bf_ibgda_follow(t, state, &to);
		*old = 0;
		status = bf_ibgda_fetch_once(t, mask, state, &to, &g, a, old);
		if (BF_LIKELY(!bf_ibgda_moves(state, to.qp)))
			return status;
		retry = bf_ibgda_again(t, state, &to, &g, &status);
		again = bf_ballot(t, mask, retry);
		if (!retry)
			return status;
		mask = again;
	}
}

#endif
