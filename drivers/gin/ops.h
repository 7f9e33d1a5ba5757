/* GIN's operations: put, putValue, signal, get, counters, flush, and the words that are waited for. */
#ifndef BELFRY_DRIVERS_GIN_OPS_H
#define BELFRY_DRIVERS_GIN_OPS_H

#include "drivers/gin/d2p.h"
#include "drivers/gin/gfd.h"
#include "drivers/gin/sq.h"

BF_DEVICE struct bf_vec128 bf_gin_vec(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	struct bf_vec128 v;

	v.w[0] = a;
	v.w[1] = b;
	v.w[2] = c;
	v.w[3] = d;
	return v;
}

/* Segment `i` of an entry. */
BF_DEVICE void bf_gin_segment(struct bf_thread *t, struct bf_gin_qp *qp, uint64_t index, uint32_t i, struct bf_vec128 v)
{
	bf_st_weak128(t, bf_gin_slot(qp, index) + i * BF_MLX5_DS, v);
}

BF_DEVICE void bf_gin_ctrl(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t index,
			   uint32_t opcode, uint32_t ds)
{
	const int quiet = (s->bugs & BF_GIN_BUG_UNSIGNALED) && opcode == BF_MLX5_OP_RDMA_WRITE && index % 4 == 1;

	bf_gin_segment(t, qp, index, 0,
		       bf_gin_vec(bf_htobe32(((uint32_t)index & 0xffff) << 8 | opcode),
				  bf_htobe32(qp->sq_num << 8 | ds), quiet ? 0 : bf_htobe32(BF_MLX5_CTRL_CQ_UPDATE), 0));
	BF_DRIVER_RECORD(t, ibgda_build, .index = index, .qpn = qp->sq_num, .ds = ds);
}

/* A remote address or a data pointer: an offset, since keys begin at 0. Keys are big-endian already. */
BF_DEVICE struct bf_vec128 bf_gin_raddr(uint64_t at, uint32_t key)
{
	return bf_gin_vec(bf_htobe32((uint32_t)(at >> 32)), bf_htobe32((uint32_t)at), key, 0);
}
BF_DEVICE struct bf_vec128 bf_gin_data(uint64_t at, uint32_t key, uint32_t bytes)
{
	return bf_gin_vec(bf_htobe32(bytes), key, bf_htobe32((uint32_t)(at >> 32)), bf_htobe32((uint32_t)at));
}

BF_DEVICE void bf_gin_build_rdma(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp,
				 uint64_t index, uint32_t opcode, uint64_t remote, uint32_t rkey, uint64_t local,
				 uint32_t bytes)
{
	if (!bytes && opcode == BF_MLX5_OP_RDMA_WRITE) {
		bf_gin_ctrl(t, s, qp, index, BF_MLX5_OP_NOP, 1);
		return;
	}
	bf_gin_ctrl(t, s, qp, index, opcode, 3);
	bf_gin_segment(t, qp, index, 1, bf_gin_raddr(remote, rkey));
	bf_gin_segment(t, qp, index, 2, bf_gin_data(local, s->lkey, bytes));
}

/* Eight bytes that the entry carries itself, word by word. */
BF_DEVICE void bf_gin_build_value(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp,
				  uint64_t index, uint64_t remote, uint32_t rkey, uint64_t value)
{
	uint8_t *data = bf_gin_slot(qp, index) + 2 * BF_MLX5_DS;

	bf_gin_ctrl(t, s, qp, index, BF_MLX5_OP_RDMA_WRITE, 3);
	bf_gin_segment(t, qp, index, 1, bf_gin_raddr(remote, rkey));
	bf_st_weak32(t, data, bf_htobe32(BF_MLX5_INLINE_FLAG | 8));
	bf_st_weak32(t, data + 4, (uint32_t)value);
	bf_st_weak32(t, data + 8, (uint32_t)(value >> 32));
}

BF_DEVICE void bf_gin_build_add(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t index,
				uint64_t remote, uint32_t rkey, uint64_t value)
{
	bf_gin_ctrl(t, s, qp, index, BF_MLX5_OP_ATOMIC_FA, 4);
	bf_gin_segment(t, qp, index, 1, bf_gin_raddr(remote, rkey));
	bf_gin_segment(t, qp, index, 2,
		       bf_gin_vec(bf_htobe32((uint32_t)(value >> 32)), bf_htobe32((uint32_t)value), 0, 0));
	bf_gin_segment(t, qp, index, 3, bf_gin_data(s->sink, s->strict_lkey, 8));
}

BF_DEVICE struct bf_gin_qp *bf_gin_qp(const struct bf_gin_state *s, uint32_t context, uint32_t peer)
{
	return &s->qps[context % s->contexts * s->npes + peer];
}

/* Publishes and, unless told not to, rings. A CPU that rings is always told. */
BF_DEVICE void bf_gin_post(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t base,
			   uint32_t n, uint32_t flags)
{
	bf_gin_ready(t, s, qp, base, base + n - 1);
	if (!(flags & BF_GIN_SKIP_DOORBELL) || qp->nic_handler == BF_GIN_PROXY)
		bf_gin_submit(t, s, qp, base + n);
}

/* The same as a descriptor, of a queue that the CPU takes it from. Words to add to are named by number. */
BF_DEVICE uint64_t bf_gin_ask(struct bf_thread *t, const struct bf_gin_state *s, uint32_t peer, struct bf_gin_qp *qp,
			      uint32_t op, uint64_t dst, uint64_t src, uint32_t bytes, uint64_t at, uint64_t add)
{
	struct bf_gfd d;

	d.op = op;
	d.bytes = bytes;
	d.src = d.value = src;
	d.dst = dst;
	d.counter = op & BF_GFD_COUNTER ? (uint32_t)(at / 8) : 0;
	d.signal = op & BF_GFD_SIGNAL_ADD ? (uint32_t)(at / 8) : 0;
	d.add = add;
	if (qp->nic_handler == BF_GIN_GFD)
		return bf_gfd_post(t, qp, &d);
	if (op == (BF_GFD_PUT | BF_GFD_SIGNAL_ADD)) { /* here an add is a request of its own */
		struct bf_gfd put = d;

		put.op = BF_GFD_PUT;
		put.signal = 0;
		put.add = 0;
		bf_d2p_post(t, s, qp, s->rkeys[peer], &put);
		d.op = BF_GFD_SIGNAL_ADD;
		d.bytes = 0;
		d.src = d.value = s->sink;
		d.dst = 0;
	}
	return bf_d2p_post(t, s, qp, d.op & BF_GFD_PUT ? s->rkeys[peer] : s->strict_rkeys[peer], &d);
}

BF_DEVICE int bf_gin_asks(const struct bf_gin_qp *qp)
{
	return qp->nic_handler >= BF_GIN_GFD;
}

/*
 * Returns the ticket: the index of the last entry. NCCL's form has the calling group meet before and behind the work of
 * its first thread. The group here is the thread itself; with another one than the caller's the others never come
 * (BF_GIN_BUG_GROUP: two lanes).
 */
BF_DEVICE uint64_t bf_gin_put(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context, uint32_t peer,
			      uint64_t remote, uint64_t local, uint32_t bytes, uint32_t flags)
{
	struct bf_gin_qp *qp = bf_gin_qp(s, context, peer);
	uint64_t base;

	if (BF_UNLIKELY(s->bugs & BF_GIN_BUG_GROUP))
		bf_warp_sync(t, 3);
	if (bf_gin_asks(qp))
		return bf_gin_ask(t, s, peer, qp, BF_GFD_PUT, remote, local, bytes, 0, 0);
	base = bf_gin_reserve(t, s, qp, 1, flags);
	bf_gin_build_rdma(t, s, qp, base, BF_MLX5_OP_RDMA_WRITE, remote, s->rkeys[peer], local, bytes);
	bf_gin_post(t, s, qp, base, 1, flags);
	return base;
}

BF_DEVICE uint64_t bf_gin_put_value(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context, uint32_t peer,
				    uint64_t remote, uint64_t value, uint32_t flags)
{
	struct bf_gin_qp *qp = bf_gin_qp(s, context, peer);
	uint64_t base;

	if (bf_gin_asks(qp))
		return bf_gin_ask(t, s, peer, qp, BF_GFD_PUT | BF_GFD_INLINE, remote, value, 8, 0, 0);
	base = bf_gin_reserve(t, s, qp, 1, flags);
	bf_gin_build_value(t, s, qp, base, remote, s->rkeys[peer], value);
	bf_gin_post(t, s, qp, base, 1, flags);
	return base;
}

/* Nothing orders the add behind data but the queue pair that both are on. */
BF_DEVICE uint64_t bf_gin_signal(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context, uint32_t peer,
				 uint64_t at, uint64_t value, uint32_t flags)
{
	struct bf_gin_qp *qp = bf_gin_qp(s, context + (s->bugs & BF_GIN_BUG_SIGNAL_OTHER_QP ? 1 : 0), peer);
	uint64_t base;

	if (bf_gin_asks(qp))
		return bf_gin_ask(t, s, peer, qp, BF_GFD_SIGNAL_ADD, 0, 0, 0, at, value);
	base = bf_gin_reserve(t, s, qp, 1, flags);
	bf_gin_build_add(t, s, qp, base, at, s->strict_rkeys[peer], value);
	bf_gin_post(t, s, qp, base, 1, flags);
	return base;
}

/* A put and its signal in one reservation. */
BF_DEVICE uint64_t bf_gin_put_signal(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context, uint32_t peer,
				     uint64_t remote, uint64_t local, uint32_t bytes, uint64_t at, uint64_t value)
{
	struct bf_gin_qp *qp = bf_gin_qp(s, context, peer);
	uint64_t base;

	if (BF_UNLIKELY(s->bugs & BF_GIN_BUG_SIGNAL_OTHER_QP)) {
		bf_gin_put(t, s, context, peer, remote, local, bytes, 0);
		return bf_gin_signal(t, s, context, peer, at, value, 0);
	}
	if (bf_gin_asks(qp))
		return bf_gin_ask(t, s, peer, qp, BF_GFD_PUT | BF_GFD_SIGNAL_ADD, remote, local, bytes, at, value);
	base = bf_gin_reserve(t, s, qp, 2, 0);
	bf_gin_build_rdma(t, s, qp, base, BF_MLX5_OP_RDMA_WRITE, remote, s->rkeys[peer], local, bytes);
	bf_gin_build_add(t, s, qp, base + 1, at, s->strict_rkeys[peer], value);
	bf_gin_post(t, s, qp, base, 2, 0);
	return base + 1;
}

/* A value and its signal in one reservation. */
BF_DEVICE uint64_t bf_gin_put_value_signal(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context,
					   uint32_t peer, uint64_t remote, uint64_t value, uint64_t at, uint64_t add)
{
	struct bf_gin_qp *qp = bf_gin_qp(s, context, peer);
	uint64_t base;

	if (bf_gin_asks(qp))
		return bf_gin_ask(t, s, peer, qp, BF_GFD_PUT | BF_GFD_INLINE | BF_GFD_SIGNAL_ADD, remote, value, 8, at,
				  add);
	base = bf_gin_reserve(t, s, qp, 2, 0);
	bf_gin_build_value(t, s, qp, base, remote, s->rkeys[peer], value);
	bf_gin_build_add(t, s, qp, base + 1, at, s->strict_rkeys[peer], add);
	bf_gin_post(t, s, qp, base, 2, 0);
	return base + 1;
}

/*
 * Behind the entries before `end` of the main queue pair, which are built and published: an add onto an own counter
 * when they are done. The companion waits for the last one's CQE, by core-direct, and sends the add to itself.
 */
BF_DEVICE void bf_gin_count(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context, uint32_t peer,
			    uint64_t end, uint64_t counter)
{
	struct bf_gin_qp *main = bf_gin_qp(s, context, peer);
	struct bf_gin_qp *companion = &s->companions[context % s->contexts * s->npes + peer];
	const uint64_t after = bf_gin_reserve(t, s, companion, 2, 0);

	if (BF_UNLIKELY(s->bugs & BF_GIN_BUG_COUNTER_NO_WAIT)) {
		bf_gin_ctrl(t, s, companion, after, BF_MLX5_OP_NOP, 1);
	} else {
		bf_gin_ctrl(t, s, companion, after, BF_MLX5_OP_WAIT, 2);
		bf_gin_segment(
		    t, companion, after, 1,
		    bf_gin_vec(0, 0, bf_htobe32((uint32_t)(end - 1 + main->cq.cqe_rsvd)), bf_htobe32(main->cq.cqn)));
	}
	bf_gin_build_add(t, s, companion, after + 1, counter, s->strict_lkey, 1);
	bf_gin_ready(t, s, companion, after, after + 1);
	bf_gin_submit_both(t, s, main, end, companion, after + 2);
}

BF_DEVICE void bf_gin_put_counter(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context, uint32_t peer,
				  uint64_t remote, uint64_t local, uint32_t bytes, uint64_t counter)
{
	struct bf_gin_qp *main = bf_gin_qp(s, context, peer);
	uint64_t base;

	if (bf_gin_asks(main)) {
		bf_gin_ask(t, s, peer, main, BF_GFD_PUT | BF_GFD_COUNTER, remote, local, bytes, counter, 0);
		return;
	}
	base = bf_gin_reserve(t, s, main, 1, 0);
	bf_gin_build_rdma(t, s, main, base, BF_MLX5_OP_RDMA_WRITE, remote, s->rkeys[peer], local, bytes);
	bf_gin_ready(t, s, main, base, base);
	bf_gin_count(t, s, context, peer, base + 1, counter);
}

BF_DEVICE void bf_gin_signal_counter(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context, uint32_t peer,
				     uint64_t at, uint64_t value, uint64_t counter)
{
	struct bf_gin_qp *main = bf_gin_qp(s, context, peer);
	const uint64_t base = bf_gin_reserve(t, s, main, 1, 0);

	bf_gin_build_add(t, s, main, base, at, s->strict_rkeys[peer], value);
	bf_gin_ready(t, s, main, base, base);
	bf_gin_count(t, s, context, peer, base + 1, counter);
}

BF_DEVICE uint64_t bf_gin_get(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context, uint32_t peer,
			      uint64_t remote, uint64_t local, uint32_t bytes, uint32_t flags)
{
	struct bf_gin_qp *qp = bf_gin_qp(s, context, peer);
	uint64_t base;

	if (bf_gin_asks(qp))
		return bf_gin_ask(t, s, peer, qp, BF_GFD_GET, remote, local, bytes, 0, 0);
	base = bf_gin_reserve(t, s, qp, 1, flags);
	bf_gin_build_rdma(t, s, qp, base, BF_MLX5_OP_RDMA_READ, remote, s->rkeys[peer], local, bytes);
	bf_gin_post(t, s, qp, base, 1, flags);
	bf_atomic_max64(t, &qp->last_get, base + 1, BF_AT_GPU);
	return base;
}

/* What GPUNetIO's get returns for no bytes: nothing was posted, and its variable had no value. */
#define BF_GIN_TICKET_UNSET 0xa5a5a5a5a5a5a5a5ull

BF_DEVICE void bf_gin_build_dump(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp,
				 uint64_t index)
{
	bf_gin_ctrl(t, s, qp, index, BF_MLX5_OP_DUMP, 2);
	bf_gin_segment(t, qp, index, 1, bf_gin_data(s->sink, s->strict_lkey, 1));
}

/* A get, and in the same reservation what makes it visible. */
BF_DEVICE uint64_t bf_gin_get_visible(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context,
				      uint32_t peer, uint64_t remote, uint64_t local, uint32_t bytes)
{
	struct bf_gin_qp *qp = bf_gin_qp(s, context, peer);
	const uint64_t base = bf_gin_reserve(t, s, qp, 2, 0);

	bf_gin_build_rdma(t, s, qp, base, BF_MLX5_OP_RDMA_READ, remote, s->rkeys[peer], local, bytes);
	bf_gin_build_dump(t, s, qp, base + 1);
	bf_gin_post(t, s, qp, base, 2, 0);
	return base + 1;
}

/* A DUMP of one byte pushes what READs have brought into memory. */
BF_DEVICE uint64_t bf_gin_dump(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp)
{
	const uint64_t base = bf_gin_reserve(t, s, qp, 1, 0);

	bf_gin_build_dump(t, s, qp, base);
	bf_gin_post(t, s, qp, base, 1, 0);
	return base;
}

/*
 * All that was posted on the queue pair is done here. Behind aggregated operations alone there is nobody who rings
 * for them but this: NCCL's flush does not, so that its callers must not leave such behind (BF_GIN_BUG_FLUSH_NO_RING).
 */
BF_DEVICE int bf_gin_flush(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context, uint32_t peer)
{
	struct bf_gin_qp *qp = bf_gin_qp(s, context, peer);
	uint64_t upto = bf_ld_relaxed64(t, &qp->sq_rsvd_index, BF_AT_GPU);
	int status;

	if (bf_gin_asks(qp)) {
		bf_gfd_wait(t, qp, bf_ld_relaxed64(t, &qp->gfd->pi, BF_AT_GPU));
		return BF_GIN_OK;
	}
	if (bf_ld_relaxed64(t, &qp->last_get, BF_AT_GPU) > bf_ld_relaxed64(t, &qp->visible_get, BF_AT_GPU)) {
		upto = bf_gin_dump(t, s, qp) + 1;
		bf_atomic_max64(t, &qp->visible_get, upto, BF_AT_GPU);
	} else if (!(s->bugs & BF_GIN_BUG_FLUSH_NO_RING) && upto) {
		while (bf_ld_relaxed64(t, &qp->sq_ready_index, BF_AT_GPU) < upto)
			bf_spin(t, &qp->sq_ready_index, "slots of the QP to be published");
		/* They may be another thread's, and neither a lock nor a fence comes before the ring. */
		if (bf_gin_sharing(s) == BF_GIN_GPU &&
		    (qp->nic_handler == BF_GIN_PROXY || qp->nic_handler == BF_GIN_NO_RECORD))
			bf_fence_gpu(t);
		bf_gin_submit(t, s, qp, upto);
	}
	if (!upto)
		return BF_GIN_OK;
	status = bf_gin_wait(t, s, qp, upto - 1);
	BF_DRIVER_RECORD(t, ibgda_quiet, .upto = upto, .qpn = qp->sq_num, .status = status);
	return status;
}

/* A signal or a counter: a word of the own heap that others add to. */
BF_DEVICE void bf_gin_wait_word(struct bf_thread *t, const struct bf_gin_state *s, uint64_t at, uint64_t least)
{
	const uint8_t *p = s->heap + at;

	if (BF_UNLIKELY(s->bugs & BF_GIN_BUG_NO_SIGNAL_WAIT))
		return;
	while (bf_ld_acquire64(t, p, BF_AT_SYS) < least)
		bf_spin(t, p, "a signal or a counter");
}

#endif
