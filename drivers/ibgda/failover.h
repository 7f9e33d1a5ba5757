/*
 * IBGDA: moving an RC's traffic from a queue pair that failed to its backup, and back.
 *
 * Before bf_ibgda_fail_over() the host has put both ends of the failed connection into the error state (2ERR_QP) and
 * its device has no packet of it left to send: nothing of the old queue can reach the target any more. The backup is
 * connected, ready to send, and has never failed or was reopened since.
 *
 * What is guaranteed, and why
 *
 *   Every WRITE that was published and not known to be complete is executed on the backup, in order, and before
 * anything that is posted later: it is posted there before the failover word lets anybody else in, and an RC executes
 * in order. Data are not lost. They may land twice, with the bytes that the source holds at the replay; as sources may
 * not change before a quiet, these are the same bytes. A target that writes to the same place itself must wait for a
 * message that was sent after a quiet; otherwise the second landing may undo what it wrote. Only what is surely
 * complete is left out (cons_idx), so one that completed unseen is repeated too: a reader may see a location go back to
 * an earlier value of the same sender and forward again, never end on it. READs into the heap or other registered
 * memory are repeated. Single values (`g`) are not: their threads ask again. Atomics are not repeated: whether they
 * were done cannot be told from here, and an add that is done twice is wrong for good. They are counted as unknown and
 * recorded; fetching ones return BF_IBGDA_UNKNOWN. So the ADD of a put with signal may be missing although its data are
 * there; it is never doubled. Exceptions are SET, AND and OR whose old value nobody reads: doing them again changes
 * nothing that a repeated WRITE would not, and so they are treated like one. WRITEs with immediate data are not
 * repeated either, as the target would be told twice; they count as unknown. A quiet returns when all of this is done
 * on the backup. Order among different threads is what it was: none but that of publication.
 *
 * How posters and the one who moves agree
 *
 *   A queue is closed by adding BF_IBGDA_SEALED to resv_head. A poster that reserves later sees that in what the
 * addition returns, has no slot, waits for the failover word and goes again on the other queue with that one's keys; it
 * is how those find out who chose the queue before the move. Posters that reserved earlier have their slots counted:
 * each publishes them, or, when the ring cannot make room for them any more, gives them up (given_up). Nobody can
 * publish behind a slot that was given up, so all those behind give up too (abandoned). Once ready_head + given_up is
 * what was reserved when the queue was closed, no thread is left that would touch ring or counters, and what lies
 * between cons_idx and ready_head is what was in flight: on a queue with a backup cons_idx does not pass a failed
 * entry, so nothing of it has been overwritten. The failover word has MOVING set from before the queue is closed until
 * the replay is posted. Posters and waiters stop there, so nobody's operation overtakes what he posted before. A queue
 * that begins anew continues at the next multiple of 65536, where the device's counter of 16 bits begins too. Its
 * counters therefore never go back, and a thread that wakes up late with an old index finds it passed.
 */
#ifndef BELFRY_DRIVERS_IBGDA_FAILOVER_H
#define BELFRY_DRIVERS_IBGDA_FAILOVER_H

#include "drivers/ibgda/get.h"

enum bf_ibgda_fate { BF_IBGDA_REPLAYED, BF_IBGDA_NOT_NEEDED, BF_IBGDA_IN_DOUBT, BF_IBGDA_NO_KEY };

/* What became of the entries in flight. */
struct bf_ibgda_replay {
	uint64_t from, to;      /* range of the failed queue, in WQEBBs */
	uint32_t fates[4];      /* entries, by enum bf_ibgda_fate */
	uint64_t first_unknown; /* index of the first entry in doubt; valid when there is one */
};

/* An entry of the failed queue. */
struct bf_ibgda_old {
	uint64_t idx;
	uint32_t opcode, ds, blocks;
	struct bf_vec128 seg[BF_IBGDA_WQE_DS]; /* the first ones; more are inline data only */
};

BF_DEVICE struct bf_vec128 bf_ibgda_segment(struct bf_thread *t, const struct bf_ibgda_qp *qp, uint64_t idx, uint32_t i)
{
	return bf_ld_weak128(t, bf_ibgda_slot(qp, idx + i / 4) + (i % 4) * BF_MLX5_DS);
}

BF_DEVICE uint64_t bf_ibgda_be64_at(const struct bf_vec128 *v, uint32_t word)
{
	return (uint64_t)bf_htobe32(v->w[word]) << 32 | bf_htobe32(v->w[word + 1]);
}
BF_DEVICE void bf_ibgda_put_be64(struct bf_vec128 *v, uint32_t word, uint64_t value)
{
	v->w[word] = bf_htobe32((uint32_t)(value >> 32));
	v->w[word + 1] = bf_htobe32((uint32_t)value);
}

BF_DEVICE void bf_ibgda_old_read(struct bf_thread *t, const struct bf_ibgda_qp *qp, uint64_t idx,
				 struct bf_ibgda_old *o)
{
	o->idx = idx;
	o->seg[0] = bf_ibgda_segment(t, qp, idx, 0);
	o->opcode = bf_htobe32(o->seg[0].w[0]) & 0xff;
	o->ds = bf_htobe32(o->seg[0].w[1]) & 0x3f;
	o->blocks = bf_ibgda_blocks(o->ds);
	for (uint32_t i = 1; i < BF_IBGDA_WQE_DS; i++)
		if (i < o->ds)
			o->seg[i] = bf_ibgda_segment(t, qp, idx, i);
}

/* The key on device `dev` for local memory that the wire knows as `va`; 0: none covers it. */
BF_DEVICE uint32_t bf_ibgda_lkey_of(const struct bf_ibgda_state *state, uint32_t dev, uint64_t va, uint64_t bytes)
{
	uint32_t lkey = 0, sysmem = 0;
	uint64_t lva, covered;

	if (va - state->heap_va < state->heap_size) {
		covered = bf_ibgda_local(state, dev, (const uint8_t *)state->heap + (va - state->heap_va), &lva, &lkey,
					 &sysmem);
		return covered >= bytes ? lkey : 0;
	}
	for (const struct bf_ibgda_local_only *r = state->globalmem.local_only; r; r = r->next) {
		const uint64_t size = (uint64_t)((uintptr_t)r->last - (uintptr_t)r->first) + 1;

		if (va - r->va < size && size - (va - r->va) >= bytes)
			return r->lkeys[dev];
	}
	return 0;
}

/* Remote and local key of a WRITE or READ exchanged for those of `to`'s device. */
BF_DEVICE enum bf_ibgda_fate bf_ibgda_new_keys(const struct bf_ibgda_state *state, const struct bf_ibgda_to *to,
					       struct bf_ibgda_old *o)
{
	const uint64_t roff = bf_ibgda_be64_at(&o->seg[1], 0) - state->globalmem.peer_heap_va[to->pe];
	const uint32_t first = bf_htobe32(o->seg[2].w[0]);
	const int in_line = (first & BF_MLX5_INLINE_FLAG) != 0 && o->opcode == BF_MLX5_OP_RDMA_WRITE;
	const uint64_t bytes = in_line ? first & BF_MLX5_INLINE_LEN : first;
	uint64_t rva;
	uint32_t rkey;

	if (bf_ibgda_remote(state, to, roff, &rva, &rkey) < bytes || !rkey)
		return BF_IBGDA_NO_KEY;
	o->seg[1].w[2] = rkey;
	if (in_line)
		return BF_IBGDA_REPLAYED;
	o->seg[2].w[1] = bf_ibgda_lkey_of(state, to->qp->dev_idx, bf_ibgda_be64_at(&o->seg[2], 2), bytes);
	return o->seg[2].w[1] ? BF_IBGDA_REPLAYED : BF_IBGDA_NO_KEY;
}

/* Whether an atomic sets bits whatever they were, and returns the old value to where nobody reads it. */
BF_DEVICE int bf_ibgda_repeatable(const struct bf_ibgda_qp *from, const struct bf_ibgda_old *o)
{
	const int wide = o->ds == 5;
	const struct bf_vec128 *data = &o->seg[wide ? 4 : 3];
	const uint64_t mask = wide ? bf_ibgda_be64_at(&o->seg[3], 2) : o->seg[2].w[3];

	return o->opcode == BF_MLX5_OP_ATOMIC_MASKED_CS && mask == 0 && bf_ibgda_be64_at(data, 2) == from->ibuf.va;
}

/* Decides what becomes of an entry, and makes it one of `to`'s queue if it is to be replayed. */
BF_DEVICE enum bf_ibgda_fate bf_ibgda_judge(const struct bf_ibgda_state *state, const struct bf_ibgda_qp *from,
					    const struct bf_ibgda_to *to, struct bf_ibgda_old *o)
{
	struct bf_vec128 *data;
	uint64_t rva;

	switch (o->opcode) {
	case BF_MLX5_OP_NOP:
	case BF_MLX5_OP_DUMP:
		return BF_IBGDA_NOT_NEEDED;
	case BF_MLX5_OP_RDMA_READ:
		if (bf_ibgda_be64_at(&o->seg[2], 2) - from->ibuf.va < (from->ibuf.nslots + 1ull) * BF_IBGDA_IBUF_SLOT)
			return BF_IBGDA_NOT_NEEDED;
		return bf_ibgda_new_keys(state, to, o);
	case BF_MLX5_OP_RDMA_WRITE:
		return bf_ibgda_new_keys(state, to, o);
	default:
		break;
	}
	if (!bf_ibgda_repeatable(from, o))
		return BF_IBGDA_IN_DOUBT;
	data = &o->seg[o->ds - 1];
	bf_ibgda_remote(state, to, bf_ibgda_be64_at(&o->seg[1], 0) - state->globalmem.peer_heap_va[to->pe], &rva,
			&o->seg[1].w[2]);
	data->w[1] = to->qp->ibuf.lkey;
	bf_ibgda_put_be64(data, 2, to->qp->ibuf.va);
	return o->seg[1].w[2] ? BF_IBGDA_REPLAYED : BF_IBGDA_NO_KEY;
}

/* Posts a judged entry on the other queue, signalled: by itself or, if it is longer than a block, by a NOP. */
BF_DEVICE int bf_ibgda_post_again(struct bf_thread *t, const struct bf_ibgda_state *state,
				  const struct bf_ibgda_qp *from, struct bf_ibgda_qp *to, struct bf_ibgda_old *o,
				  uint64_t *again)
{
	const uint32_t nop = o->blocks > 1, total = o->blocks + nop;
	const uint64_t idx = bf_ibgda_reserve(t, state, to, total);
	const uint32_t first = bf_htobe32(o->seg[0].w[0]);
	const uint32_t flags = bf_htobe32(o->seg[0].w[2]) & ~(uint32_t)BF_MLX5_CTRL_CQ_UPDATE;

	if (idx == BF_IBGDA_NO_SLOT)
		return BF_IBGDA_FAILED;
	o->seg[0] =
	    bf_ibgda_ctrl(first >> 24, idx, o->opcode, to->qpn, o->ds, flags | (nop ? 0 : BF_IBGDA_SIGNALLED), 0);
	for (uint32_t i = 0; i < o->ds; i++)
		bf_ibgda_segment_store(t, to, idx, i,
				       i < BF_IBGDA_WQE_DS ? o->seg[i] : bf_ibgda_segment(t, from, o->idx, i));
	bf_ibgda_tell_build(t, to, idx, o->ds);
	if (nop)
		bf_ibgda_write_nop(t, to, idx + total - 1);
	if (o->opcode == BF_MLX5_OP_RDMA_READ)
		bf_ibgda_note_get(t, to, idx + total);
	*again = idx;
	return bf_ibgda_submit(t, state, to, idx, total, BF_IBGDA_ALWAYS_POST) ? BF_IBGDA_FAILED : 0;
}

/* Goes through what was in flight on `from`, which is closed, and posts on `to` what can be repeated. */
BF_DEVICE int bf_ibgda_replay(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *from,
			      struct bf_ibgda_qp *backup, struct bf_ibgda_replay *out)
{
	struct bf_ibgda_to to = bf_ibgda_to_rc(backup);
	struct bf_ibgda_old o;

	for (uint64_t idx = out->from; idx < out->to; idx += o.blocks) {
		enum bf_ibgda_fate fate;
		uint64_t again = 0;

		bf_ibgda_old_read(t, from, idx, &o);
		if (!o.blocks)
			return BF_IBGDA_FAILED; /* not an entry */
		fate = bf_ibgda_judge(state, from, &to, &o);
		if (fate == BF_IBGDA_REPLAYED && bf_ibgda_post_again(t, state, from, backup, &o, &again))
			return BF_IBGDA_FAILED;
		if (fate == BF_IBGDA_IN_DOUBT && !out->fates[fate])
			out->first_unknown = idx;
		out->fates[fate]++;
		BF_DRIVER_RECORD(t, ibgda_replay, .index = idx, .again = again, .from_qpn = from->qpn,
				 .to_qpn = backup->qpn, .opcode = o.opcode, .fate = (uint32_t)fate);
	}
	return 0;
}

/* Closes a queue to reservations; returns how far it had been reserved. */
BF_DEVICE uint64_t bf_ibgda_seal(struct bf_thread *t, struct bf_ibgda_qp *qp)
{
	return bf_atomic_add64(t, &qp->mvars.resv_head, BF_IBGDA_SEALED, BF_AT_SYS);
}

/* Nobody who gave up slots of a closed queue is left: it may be opened with counters that know of none. */
BF_DEVICE void bf_ibgda_forget_given_up(struct bf_thread *t, struct bf_ibgda_qp *qp)
{
	bf_st_relaxed64(t, &qp->mvars.abandoned, 0, BF_AT_SYS);
	bf_st_relaxed64(t, &qp->mvars.given_up, 0, BF_AT_SYS);
}

/* Opens a closed queue. What was given up on it has been forgotten. */
BF_DEVICE void bf_ibgda_unseal(struct bf_thread *t, struct bf_ibgda_qp *qp)
{
	struct bf_ibgda_mvars *mv = &qp->mvars;

	bf_atomic_exch64(t, &mv->resv_head, bf_ld_relaxed64(t, &mv->ready_head, BF_AT_SYS), BF_AT_SYS);
}

/* Waits until every slot below `reserved` is published or given up. */
BF_DEVICE void bf_ibgda_await_posters(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp,
				      uint64_t reserved)
{
	for (;;) {
		const uint64_t gone = bf_ld_acquire64(t, &qp->mvars.given_up, BF_AT_SYS);

		if (bf_ld_acquire64(t, &qp->mvars.ready_head, BF_AT_SYS) + gone == reserved)
			return;
		bf_ibgda_nap(t, state, qp, &qp->mvars.ready_head, "posters to leave a closed queue");
	}
}

/* What the CQ of a failed queue says, for the case that nobody has looked. */
BF_DEVICE void bf_ibgda_take_stock(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *qp)
{
	const struct bf_ibgda_cq *cq = qp->tx_wq.cq;
	const uint64_t known = bf_ld_relaxed64(t, cq->cons_idx, BF_AT_GPU);
	uint32_t tail;

	if (cq->plain) {
		while (bf_atomic_cas32(t, &qp->mvars.cq_lock, 0, 1, BF_AT_GPU))
			bf_spin(t, &qp->mvars.cq_lock, "the CQ's lock");
		bf_ibgda_drain_plain(t, state, qp);
		bf_fence_at(t, bf_ibgda_scope(state));
		bf_st_relaxed32(t, &qp->mvars.cq_lock, 0, BF_AT_GPU);
		return;
	}
	tail = bf_ibgda_cqe_tail(t, state, cq->cqe);
	if (bf_ibgda_is_error(tail))
		bf_ibgda_poll_failed(t, state, qp, cq->cqe, tail, ~0ull);
	else if ((tail & 0xff) >> 4 == BF_MLX5_CQE_REQ)
		bf_atomic_max64(t, cq->cons_idx, known + (uint16_t)((tail >> 16) + 1 - (uint32_t)known), BF_AT_GPU);
}

/* The RC becomes the caller's to move away from `from`. BF_IBGDA_FAILED: it is not there, or somebody else was first.
 */
BF_DEVICE int bf_ibgda_claim(struct bf_thread *t, const struct bf_ibgda_state *state, const struct bf_ibgda_qp *from)
{
	uint32_t *word = &state->globalmem.failover[from->ordinal];
	const uint32_t old = bf_ibgda_word(t, state, from);

	if (old & (BF_IBGDA_MOVING | BF_IBGDA_LOST) || !(old & BF_IBGDA_ON_BACKUP) != !from->is_backup)
		return BF_IBGDA_FAILED;
	return bf_atomic_cas32(t, word, old, (old + BF_IBGDA_EPOCH) | BF_IBGDA_MOVING, BF_AT_SYS) == old
		   ? 0
		   : BF_IBGDA_FAILED;
}

/* Ends a move: from now on `to` carries the traffic, or, `lost`, nothing does. */
BF_DEVICE void bf_ibgda_release(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *from,
				struct bf_ibgda_qp *to, int lost)
{
	uint32_t word = bf_ibgda_word(t, state, from) & ~(BF_IBGDA_MOVING | BF_IBGDA_ON_BACKUP);

	word |= (to->is_backup ? BF_IBGDA_ON_BACKUP : 0) | (lost ? BF_IBGDA_LOST : 0);
	/* What was fetched by the old queue and not made consistent yet is for the new one's next quiet. */
	if (bf_ld_relaxed64(t, &from->mvars.get_tail, BF_AT_GPU) < bf_ld_relaxed64(t, &from->mvars.get_head, BF_AT_GPU))
		bf_ibgda_note_get(t, to, bf_ld_relaxed64(t, &to->mvars.ready_head, BF_AT_GPU) + 1);
	bf_fence_sys(t);
	bf_st_release32(t, &state->globalmem.failover[from->ordinal], word, BF_AT_SYS);
	BF_DRIVER_RECORD(t, ibgda_move, .rc = from->ordinal, .word = word, .from_qpn = from->qpn, .to_qpn = to->qpn);
}

BF_DEVICE struct bf_ibgda_qp *bf_ibgda_other(const struct bf_ibgda_state *state, const struct bf_ibgda_qp *qp)
{
	return qp->is_backup ? &state->globalmem.rcs[qp->ordinal] : &state->globalmem.backups[qp->ordinal];
}

/*
 * Moves the traffic of the RC whose queue `from` failed to the other one. One thread calls this; on the conditions at
 * the top of this file. `sure`: an index below which the host knows all to be executed, 0 if it knows of none. Returns
 * 0 with `out` filled in; BF_IBGDA_MOVED when `from` does not carry the traffic or a move is under way; BF_IBGDA_FAILED
 * when there is no other queue or it has failed as well, and the RC is lost: all that wait for it return.
 */
BF_DEVICE int bf_ibgda_fail_over(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *from,
				 uint64_t sure, struct bf_ibgda_replay *out)
{
	struct bf_ibgda_qp *to = bf_ibgda_other(state, from);
	int status;

	*out = (struct bf_ibgda_replay){ 0, 0, { 0, 0, 0, 0 }, 0 };
	if (bf_ibgda_claim(t, state, from))
		return BF_IBGDA_MOVED;
	bf_ibgda_await_posters(t, state, from, bf_ibgda_seal(t, from));
	bf_fence_sys(t);
	bf_ibgda_take_stock(t, state, from);
	out->from = bf_ld_acquire64(t, &from->mvars.cons_idx, BF_AT_SYS);
	out->from = sure > out->from ? sure : out->from;
	out->to = bf_ld_acquire64(t, &from->mvars.ready_head, BF_AT_SYS);
	status = !to->tx_wq.cq || bf_ibgda_status(t, to) ? BF_IBGDA_FAILED : 0;
	if (!status && bf_ld_relaxed64(t, &to->mvars.resv_head, BF_AT_SYS) >= BF_IBGDA_SEALED)
		bf_ibgda_unseal(t, to);
	if (!status)
		status = bf_ibgda_replay(t, state, from, to, out);
	bf_ibgda_release(t, state, from, to, status != 0);
	return status;
}

/* Passes over what a ring of CQEs still says of the failed queue. The ring itself outlives a reset of the queue pair.
 */
BF_DEVICE void bf_ibgda_discard_cqes(struct bf_thread *t, struct bf_ibgda_qp *qp)
{
	uint64_t head = bf_ld_relaxed64(t, &qp->mvars.cq_head, BF_AT_SYS);

	while (bf_ibgda_plain_owned(
	    qp, head, bf_htobe32(bf_ld_relaxed32(t, bf_ibgda_plain_cqe(qp, head) + BF_IBGDA_CQE_TAIL, BF_AT_SYS))))
		head++;
	bf_st_relaxed32(t, qp->tx_wq.cq->dbrec, bf_htobe32((uint32_t)head & 0xffffffu), BF_AT_SYS);
	bf_st_relaxed64(t, &qp->mvars.cq_head, head, BF_AT_SYS);
}

/*
 * A queue that failed begins anew: after the host has reset the queue pair and connected it again (2RST_QP to RTS),
 * cleared its doorbell record and, if its CQ is collapsed, filled that with ones. It stays closed to posters until
 * traffic moves to it.
 */
BF_DEVICE void bf_ibgda_reopen(struct bf_thread *t, struct bf_ibgda_qp *qp)
{
	struct bf_ibgda_mvars *mv = &qp->mvars;
	const uint64_t ready = bf_ld_relaxed64(t, &mv->ready_head, BF_AT_SYS);
	const uint64_t begin = (ready + bf_ld_relaxed64(t, &mv->given_up, BF_AT_SYS) + 0xffff) & ~0xffffull;

	if (qp->tx_wq.cq->plain)
		bf_ibgda_discard_cqes(t, qp);
	bf_st_relaxed32(t, &mv->status, 0, BF_AT_SYS);
	bf_st_relaxed64(t, &mv->cons_idx, begin, BF_AT_SYS);
	bf_st_relaxed64(t, &mv->prod_idx, begin, BF_AT_SYS);
	bf_st_relaxed64(t, &mv->get_tail, begin, BF_AT_SYS);
	bf_st_relaxed64(t, &mv->get_head, begin, BF_AT_SYS);
	bf_ibgda_forget_given_up(t, qp);
	bf_st_release64(t, &mv->ready_head, begin, BF_AT_SYS);
}

/*
 * Moves the traffic from `from`, which works, to the other queue, which was reopened: everything on `from` completes
 * first, so nothing is repeated and nothing is in doubt. Returns as bf_ibgda_fail_over(); BF_IBGDA_FAILED: `from`
 * failed while it was emptied; its traffic still waits for a fail-over.
 */
BF_DEVICE int bf_ibgda_fail_back(struct bf_thread *t, const struct bf_ibgda_state *state, struct bf_ibgda_qp *from)
{
	struct bf_ibgda_qp *to = bf_ibgda_other(state, from);
	uint64_t ready;
	int status = 0;

	if (bf_ibgda_status(t, to))
		return BF_IBGDA_FAILED;
	if (bf_ibgda_claim(t, state, from))
		return BF_IBGDA_MOVED;
	ready = bf_ibgda_seal(t, from);
	bf_ibgda_await_posters(t, state, from, ready);
	/* Those who waited for room in the ring gave up, as the doorbell that they need may be left to us. */
	bf_ibgda_forget_given_up(t, from);
	bf_fence_sys(t);
	ready = bf_ld_acquire64(t, &from->mvars.ready_head, BF_AT_SYS);
	/* The last one to publish saw a reservation behind him, ours, and left the doorbell to it. */
	if (state->use_async_postsend)
		bf_ibgda_hand_over(t, state, from, ready);
	else
		bf_ibgda_post_send(t, state, from, ready);
	if (bf_ld_relaxed64(t, &from->mvars.cons_idx, BF_AT_GPU) < ready)
		status = from->tx_wq.cq->plain ? bf_ibgda_poll_plain(t, state, from, ready)
					       : bf_ibgda_poll_collapsed(t, state, from, ready);
	if (status) {
		/* Open again for nobody: fail-over will close it once more, by the same addition. */
		bf_ibgda_unseal(t, from);
		bf_ibgda_release(t, state, to, from, 0);
		return BF_IBGDA_FAILED;
	}
	if (bf_ld_relaxed64(t, &to->mvars.resv_head, BF_AT_SYS) >= BF_IBGDA_SEALED)
		bf_ibgda_unseal(t, to);
	bf_ibgda_release(t, state, from, to, 0);
	return 0;
}

#endif
