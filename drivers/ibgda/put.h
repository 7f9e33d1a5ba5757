/*
 * IBGDA, step 5 of 5: puts. Remote addresses are pointers into this PE's symmetric heap; the same offset is meant at
 * the target. Local ones may also lie in other registered memory (keys.h).
 *
 * Functions return 0 once the entries are published, or BF_IBGDA_FAILED when the RC was given up as lost (only with
 * backups). The WQE_AFTER_READY mistake lives here, as it is one of order between building and submitting.
 */
#ifndef BELFRY_DRIVERS_IBGDA_PUT_H
#define BELFRY_DRIVERS_IBGDA_PUT_H

#include "drivers/ibgda/select.h"

#define BF_IBGDA_RDMA_DS 3u /* segments of a WRITE or READ of one piece, and of an inline WRITE of up to 12 bytes */

/* An atomic that follows a put on the same QP: "the data have arrived". Delivered after them, RC being in order. */
struct bf_ibgda_signal {
	void *addr; /* 8 bytes in the symmetric heap */
	uint64_t value;
	enum bf_ibgda_amo_op op; /* ADD or SET */
};

BF_DEVICE uint32_t bf_ibgda_signal_blocks(const struct bf_ibgda_state *state, const struct bf_ibgda_to *to,
					  const struct bf_ibgda_signal *s)
{
	return s ? bf_ibgda_entry_blocks(state, to, bf_ibgda_amo_ds(s->op, 8)) : 0;
}

BF_DEVICE void bf_ibgda_write_signal(struct bf_thread *t, const struct bf_ibgda_state *state,
				     const struct bf_ibgda_to *to, uint64_t idx, const struct bf_ibgda_signal *s,
				     uint32_t flags)
{
	struct bf_ibgda_wqe w;
	uint64_t rva;
	uint32_t rkey, ds;

	bf_ibgda_remote(state, to, bf_ibgda_offset(state, s->addr), &rva, &rkey);
	ds = bf_ibgda_wqe_amo(&w, s->op, 8, 0, to->qp->qpn, idx, s->value, 0, rva, rkey, to->qp->ibuf.va,
			      to->qp->ibuf.lkey, flags);
	bf_ibgda_entry_store(t, state, to, idx, &w, ds);
}

/* Wrong on purpose: what the control segment says of a put's entry. */
#define BF_IBGDA_BUGS_CTRL (BF_IBGDA_BUG_ENTRY_INDEX | BF_IBGDA_BUG_ENTRY_QPN | BF_IBGDA_BUG_ENTRY_SHORT)
BF_DEVICE struct bf_vec128 bf_ibgda_ctrl_wrong(const struct bf_ibgda_state *state, uint64_t idx, uint32_t opcode,
					       uint32_t qpn, uint32_t ds, uint32_t flags)
{
	return bf_ibgda_ctrl(0, bf_ibgda_mistakes(state) & BF_IBGDA_BUG_ENTRY_INDEX ? idx + 1 : idx, opcode,
			     bf_ibgda_mistakes(state) & BF_IBGDA_BUG_ENTRY_QPN ? qpn + 1 : qpn,
			     bf_ibgda_mistakes(state) & BF_IBGDA_BUG_ENTRY_SHORT ? ds - 1 : ds, flags, 0);
}

BF_DEVICE void bf_ibgda_write_chunk(struct bf_thread *t, const struct bf_ibgda_state *state,
				    const struct bf_ibgda_to *to, uint64_t idx, uint32_t opcode,
				    const struct bf_ibgda_chunk *c, uint32_t flags)
{
	const int imm = (bf_ibgda_mistakes(state) & BF_IBGDA_BUG_WRITE_IMM) && opcode == BF_MLX5_OP_RDMA_WRITE;
	struct bf_ibgda_wqe w;
	const uint32_t ds = bf_ibgda_wqe_rdma(&w, BF_UNLIKELY(imm) ? BF_MLX5_OP_RDMA_WRITE_IMM : opcode, to->qp->qpn,
					      idx, c->lva, c->lkey, c->rva, c->rkey, (uint32_t)c->bytes, flags, 0);

	if (BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUGS_CTRL) && opcode == BF_MLX5_OP_RDMA_WRITE)
		w.ds[0] = bf_ibgda_ctrl_wrong(state, idx, opcode, to->qp->qpn, ds, flags);
	bf_ibgda_entry_store(t, state, to, idx, &w, ds);
	/* The device reads the source itself: what the CPU's memory is to hold must have got there. */
	if (BF_UNLIKELY(c->sysmem))
		bf_fence_sys(t);
}

/* The queue for the whole warp's next round. */
BF_DEVICE void bf_ibgda_follow_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_to *to)
{
	uint64_t qp = 0;

	if (BF_LIKELY(!bf_ibgda_moves(state, to->qp)))
		return;
	if (bf_lane(t) == 0)
		qp = (uint64_t)(uintptr_t)bf_ibgda_rc_of(t, state, to->qp);
	to->qp = (struct bf_ibgda_qp *)(uintptr_t)bf_shfl64(t, BF_FULL_WARP, qp, 0);
}

/* A warp's transfer on its way. */
struct bf_ibgda_course {
	struct bf_ibgda_to to;
	uint32_t opcode, message;
	const uint8_t *local;
	uint64_t roff, bytes; /* what is left */
	const struct bf_ibgda_signal *signal;
	int dump; /* what was read is waited for by a DUMP at the end */
};

/*
 * One round: the piece that lane i carries is computed by lane i, each length told to all. A lane each, but not more
 * than a quarter of a small ring, so that a round, its signal and a batch that nobody has rung for fit into the ring
 * together (see bf_ibgda_reserve()). Advances the course; returns the number of pieces, and this lane's in `mine`.
 */
BF_DEVICE uint32_t bf_ibgda_warp_chunks(struct bf_thread *t, const struct bf_ibgda_state *state,
					struct bf_ibgda_course *k, uint32_t each, struct bf_ibgda_chunk *mine)
{
	const uint32_t most = (uint32_t)bf_ibgda_min(BF_LANES, k->to.qp->tx_wq.nwqes / 4u / each);
	uint32_t n = 0;

	while (k->bytes && n < most) {
		uint64_t size = 0;

		if (bf_lane(t) == n || bf_acts(t)) {
			*mine = bf_ibgda_chunk(state, &k->to, k->local, k->roff, k->bytes);
			size = mine->bytes;
		}
		size = bf_shfl64(t, BF_FULL_WARP, size, n);
		k->local += size;
		k->roff += size;
		k->bytes -= size;
		n++;
	}
	return n;
}

/* The entries of a round that was cut into several pieces, by one lane that acts for all; `from` is where it began. */
BF_DEVICE void bf_ibgda_write_chunks(struct bf_thread *t, const struct bf_ibgda_state *state,
				     const struct bf_ibgda_course *from, uint64_t idx, uint32_t each, uint32_t chunks,
				     int signalled)
{
	struct bf_ibgda_course k = *from;
	uint32_t sysmem = 0;

	for (uint32_t i = 0; i < chunks; i++) {
		struct bf_ibgda_chunk c = bf_ibgda_chunk(state, &k.to, k.local, k.roff, k.bytes);
		struct bf_thread as = *t;

		bf_act_as(t, i, &as);
		sysmem |= c.sysmem;
		c.sysmem = 0;
		bf_ibgda_write_chunk(&as, state, &k.to, idx + (uint64_t)i * each, k.opcode, &c,
				     signalled >= 0 ? bf_ibgda_flags(state, i + 1 == chunks && signalled) : 0);
		k.local += c.bytes;
		k.roff += c.bytes;
		k.bytes -= c.bytes;
	}
	if (sysmem)
		bf_fence_sys(t);
}

/* Lays down and publishes one round. 0 or BF_IBGDA_MOVED, with the course where it was. */
BF_DEVICE int bf_ibgda_warp_round(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_course *k)
{
	const int late = (bf_ibgda_mistakes(state) & BF_IBGDA_BUG_WQE_AFTER_READY) != 0;
	const uint32_t lane = bf_lane(t), each = bf_ibgda_entry_blocks(state, &k->to, BF_IBGDA_RDMA_DS);
	const struct bf_ibgda_course before = *k;
	struct bf_ibgda_chunk mine = { 0, 0, 0, 0, 0, 0 };
	const uint32_t chunks = bf_ibgda_warp_chunks(t, state, k, each, &mine);
	const struct bf_ibgda_signal *tail = k->bytes ? (const struct bf_ibgda_signal *)0 : k->signal;
	const uint32_t behind = bf_ibgda_signal_blocks(state, &k->to, tail);
	const int dump = !k->bytes && k->dump;
	const uint32_t close = (behind ? behind : each) > 1 || dump;
	const uint32_t message = k->bytes ? BF_IBGDA_ALWAYS_POST : k->message;
	const uint32_t flags = each > 1 || dump ? 0 : bf_ibgda_flags(state, lane + 1 == chunks && !tail);
	struct bf_ibgda_group g = { BF_FULL_WARP, 0, lane, BF_LANES, 0, 0 };
	int status = bf_ibgda_group_reserve(t, state, k->to.qp, &g, chunks * each + behind + close);

	if (BF_UNLIKELY(late) && !status)
		status = bf_ibgda_group_submit(t, state, k->to.qp, &g, message);
	if (!status) {
		if (bf_acts(t) && chunks > 1)
			bf_ibgda_write_chunks(t, state, &before, g.base, each, chunks, each > 1 || dump ? -1 : !tail);
		else if (lane < chunks)
			bf_ibgda_write_chunk(t, state, &k->to, g.base + lane * each, k->opcode, &mine, flags);
		if ((bf_acts(t) || lane == chunks % BF_LANES) && tail)
			bf_ibgda_write_signal(t, state, &k->to, g.base + chunks * each, tail,
					      close ? 0 : BF_IBGDA_SIGNALLED);
		if (lane == 0 && close)
			bf_ibgda_write_closing(t, k->to.qp, g.end - 1, dump);
		if (!BF_UNLIKELY(late))
			status = bf_ibgda_group_submit(t, state, k->to.qp, &g, message);
		bf_warp_sync(t, BF_FULL_WARP);
	}
	if (BF_UNLIKELY(status))
		*k = before;
	return status;
}

/* The warp's common path of put and get: all lanes call, in rounds; the last round carries the signal. */
BF_DEVICE int bf_ibgda_transfer_warp(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_to to,
				     uint32_t opcode, void *remote, const void *local, uint64_t bytes,
				     const struct bf_ibgda_signal *signal, int dump, uint32_t message)
{
	const struct bf_ibgda_group warp = { BF_FULL_WARP, 0, bf_lane(t), BF_LANES, 0, 0 };
	struct bf_ibgda_course k;
	int again;

	k.to = to;
	k.opcode = opcode;
	k.message = message;
	k.local = (const uint8_t *)local;
	k.roff = bf_ibgda_offset(state, remote);
	k.bytes = bytes;
	k.signal = signal;
	k.dump = dump;
	do {
		int status;

		bf_ibgda_follow_warp(t, state, &k.to);
		status = bf_ibgda_warp_round(t, state, &k);
		again = bf_ibgda_again(t, state, &k.to, &warp, &status);
		if (status)
			return status;
	} while (again || k.bytes);
	return 0;
}

/*
 * A warp puts `bytes` from `src` to `dst` at the target; all 32 lanes call with the same arguments. `message`: see
 * bf_ibgda_submit(). (DeepEP nvshmemi_ibgda_put_nbi_warp.)
 */
BF_DEVICE int bf_ibgda_put_nbi_warp_to(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_to to,
				       void *dst, const void *src, uint64_t bytes, uint32_t message)
{
	return bf_ibgda_transfer_warp(t, state, to, BF_MLX5_OP_RDMA_WRITE, dst, src, bytes,
				      (const struct bf_ibgda_signal *)0, 0, message);
}

/* The same, followed by an atomic on the same QP. */
BF_DEVICE int bf_ibgda_put_signal_warp_to(struct bf_thread *t, const struct bf_ibgda_state *state,
					  struct bf_ibgda_to to, void *dst, const void *src, uint64_t bytes,
					  const struct bf_ibgda_signal *signal, uint32_t message)
{
	return bf_ibgda_transfer_warp(t, state, to, BF_MLX5_OP_RDMA_WRITE, dst, src, bytes, signal, 0, message);
}

/*
 * One piece of each lane of a group (of its first `count` lanes), and what completes them: a DUMP that waits for them
 * (`dump`), the last entry, or a NOP where entries are too long to be signalled. 0 or BF_IBGDA_MOVED.
 */
BF_DEVICE int bf_ibgda_issue(struct bf_thread *t, const struct bf_ibgda_state *state, const struct bf_ibgda_to *to,
			     struct bf_ibgda_group *g, uint32_t opcode, const struct bf_ibgda_chunk *c, int dump,
			     uint32_t message)
{
	const int late = (bf_ibgda_mistakes(state) & BF_IBGDA_BUG_WQE_AFTER_READY) && opcode == BF_MLX5_OP_RDMA_WRITE;
	const uint32_t each = bf_ibgda_entry_blocks(state, to, BF_IBGDA_RDMA_DS);
	const uint32_t tail = dump || each > 1;
	int status = bf_ibgda_group_reserve(t, state, to->qp, g, g->count * each + tail);

	if (BF_UNLIKELY(late) && !status)
		status = bf_ibgda_group_submit(t, state, to->qp, g, message);
	if (status)
		return status;
	if (g->rank < g->count)
		bf_ibgda_write_chunk(t, state, to, g->base + (uint64_t)g->rank * each, opcode, c,
				     each > 1 ? 0 : bf_ibgda_flags(state, bf_ibgda_is_last(g) && !dump));
	if (tail && bf_ibgda_leads(t, g))
		bf_ibgda_write_closing(t, to->qp, g->end - 1, dump);
	return late ? 0 : bf_ibgda_group_submit(t, state, to->qp, g, message);
}

/*
 * Lanes put each on their own (own addresses, sizes, targets); those in `mask` must call together, one lane alone names
 * only itself. Lanes with the same target share a reservation and a doorbell; one with many pieces stays after the
 * others have left.
 */
BF_DEVICE int bf_ibgda_put_nbi_to(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				  struct bf_ibgda_to to, void *dst, const void *src, uint64_t bytes, uint32_t message)
{
	uint64_t roff = bf_ibgda_offset(state, dst);
	const uint8_t *local = (const uint8_t *)src;

	for (;;) {
		struct bf_ibgda_chunk c;
		struct bf_ibgda_group g;
		uint32_t again;
		int status, retry;

		bf_ibgda_follow(t, state, &to);
		c = bf_ibgda_chunk(state, &to, local, roff, bytes);
		g = bf_ibgda_join(t, mask, &to);
		status = bf_ibgda_issue(t, state, &to, &g, BF_MLX5_OP_RDMA_WRITE, &c, 0, message);
		retry = bf_ibgda_again(t, state, &to, &g, &status);
		if (BF_LIKELY(!retry && !status)) {
			bytes -= c.bytes;
			local += c.bytes;
			roff += c.bytes;
		}
		again = bf_ballot(t, mask, !status && (retry || bytes));
		if (status || !(retry || bytes))
			return status;
		mask = again;
	}
}

/* A put and its signal of each lane as one group: pairs of entries, so that each signal is behind its own data. */
BF_DEVICE int bf_ibgda_issue_pairs(struct bf_thread *t, const struct bf_ibgda_state *state,
				   const struct bf_ibgda_to *to, struct bf_ibgda_group *g,
				   const struct bf_ibgda_chunk *c, const struct bf_ibgda_signal *signal,
				   uint32_t message)
{
	const uint32_t data = bf_ibgda_entry_blocks(state, to, BF_IBGDA_RDMA_DS);
	const uint32_t behind = bf_ibgda_signal_blocks(state, to, signal), nop = behind > 1;
	int status = bf_ibgda_group_reserve(t, state, to->qp, g, g->count * (data + behind) + nop);
	uint64_t idx;

	if (status)
		return status;
	/* NVSHMEM reserves on the first lane and does not tell the others. */
	if (BF_UNLIKELY(bf_ibgda_suspected(state) & BF_IBGDA_SUSPECT_BASE_NOT_BROADCAST) && !bf_ibgda_leads(t, g))
		g->base = 0;
	idx = g->base + (uint64_t)g->rank * (data + behind);
	bf_ibgda_write_chunk(t, state, to, idx, BF_MLX5_OP_RDMA_WRITE, c, data > 1 ? 0 : bf_ibgda_flags(state, 0));
	bf_ibgda_write_signal(t, state, to, idx + data, signal, nop ? 0 : bf_ibgda_flags(state, bf_ibgda_is_last(g)));
	if (nop && bf_ibgda_leads(t, g))
		bf_ibgda_write_nop(t, to->qp, g->end - 1);
	return bf_ibgda_group_submit(t, state, to->qp, g, message);
}

/* One atomic a lane behind whatever the lane has put to the same target. */
BF_DEVICE int bf_ibgda_signal_to(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				 struct bf_ibgda_to to, const struct bf_ibgda_signal *signal, uint32_t message)
{
	for (;;) {
		struct bf_ibgda_group g;
		uint32_t again, each, nop;
		int status, retry;

		bf_ibgda_follow(t, state, &to);
		g = bf_ibgda_join(t, mask, &to);
		each = bf_ibgda_signal_blocks(state, &to, signal);
		nop = each > 1;
		status = bf_ibgda_group_reserve(t, state, to.qp, &g, g.count * each + nop);
		if (!status) {
			bf_ibgda_write_signal(t, state, &to, g.base + (uint64_t)g.rank * each, signal,
					      nop ? 0 : bf_ibgda_flags(state, bf_ibgda_is_last(&g)));
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

/*
 * Lanes put and signal each on their own; all lanes of `mask` name the same kind of signal. Where every lane's data are
 * one piece, data and signals go out as pairs; otherwise the data go first, piece by piece, and the signals follow on
 * the same queue.
 */
BF_DEVICE int bf_ibgda_put_signal_to(struct bf_thread *t, uint32_t mask, const struct bf_ibgda_state *state,
				     struct bf_ibgda_to to, void *dst, const void *src, uint64_t bytes,
				     const struct bf_ibgda_signal *signal, uint32_t message)
{
	const uint64_t roff = bf_ibgda_offset(state, dst);
	int status;

	for (;;) {
		struct bf_ibgda_chunk c;
		struct bf_ibgda_group g;
		uint32_t again;
		int retry;

		bf_ibgda_follow(t, state, &to);
		c = bf_ibgda_chunk(state, &to, src, roff, bytes);
		g = bf_ibgda_join(t, mask, &to);
		if (bf_ballot(t, g.mask, c.bytes != bytes)) {
			mask = g.mask;
			break;
		}
		status = bf_ibgda_issue_pairs(t, state, &to, &g, &c, signal, message);
		retry = bf_ibgda_again(t, state, &to, &g, &status);
		if (BF_LIKELY(!bf_ibgda_moves(state, to.qp)))
			return status;
		again = bf_ballot(t, g.mask, retry);
		if (!retry)
			return status;
		mask = again;
	}
	status = bf_ibgda_put_nbi_to(t, mask, state, to, dst, src, bytes, message);
	mask = bf_ballot(t, mask, !status);
	return status ? status : bf_ibgda_signal_to(t, mask, state, to, signal, message);
}

#endif
