/* The kernels of kernels.h as device code: included by one source file for each platform. */
#ifndef BELFRY_DRIVERS_GIN_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_GIN_KERNELS_INTERNAL_H

#include "drivers/gin/kernels.h"
#include "drivers/gin/ops.h"
#include "traces/records/gin.h"

/* An issuer at work. */
struct bf_gin_issuer {
	const struct bf_gin_state *s;
	const struct bf_gin_shape *shape;
	const struct bf_gin_layout *at;
	uint32_t id, to, from; /* own number; the next and the previous PE */
	uint64_t barriers;     /* that it has passed */
};

BF_DEVICE uint64_t bf_gin_cell(const struct bf_gin_issuer *w, uint64_t area, uint32_t issuer, uint32_t m)
{
	return area + ((uint64_t)issuer * w->shape->messages + m) * w->at->stride;
}

/* Where messages of PE `pe` land. */
BF_DEVICE uint64_t bf_gin_landing(const struct bf_gin_issuer *w, uint32_t pe, uint32_t m)
{
	const uint64_t area = (uint64_t)w->at->issuers * w->shape->messages * w->at->stride;

	return bf_gin_cell(w, w->at->dst + pe * area, w->id, m);
}

BF_DEVICE uint64_t bf_gin_own_signal(const struct bf_gin_issuer *w, uint64_t area, uint32_t pe)
{
	return area + ((uint64_t)pe * w->at->issuers + w->id) * 8;
}

BF_DEVICE void bf_gin_fill(struct bf_thread *t, const struct bf_gin_issuer *w, uint64_t at, uint32_t m, uint64_t plus)
{
	for (uint32_t i = 0; i * 8 < w->shape->bytes; i++)
		bf_st_weak64(t, w->s->heap + at + i * 8, bf_gin_word(w->s->mype, w->id, m, i) + plus);
}

BF_DEVICE void bf_gin_note(struct bf_thread *t, const struct bf_gin_issuer *w, uint64_t area, uint64_t n)
{
	uint8_t *p = w->s->heap + area + (uint64_t)w->id * 8;

	if (n)
		bf_st_weak64(t, p, bf_ld_weak64(t, p) + n);
}

/* What is at `at` should be message `m` of PE `pe`. */
BF_DEVICE void bf_gin_check(struct bf_thread *t, const struct bf_gin_issuer *w, uint64_t at, uint32_t pe, uint32_t m,
			    uint64_t plus)
{
	uint64_t wrong = 0;

	for (uint32_t i = 0; i * 8 < w->shape->bytes; i++) {
		if (bf_ld_weak64(t, w->s->heap + at + i * 8) == bf_gin_word(pe, w->id, m, i) + plus)
			continue;
		if (!wrong++)
			BF_DRIVER_RECORD(t, ibgda_mismatch, .va = at + i * 8, .pe = w->s->mype);
	}
	bf_gin_note(t, w, w->at->bad, wrong);
}

BF_DEVICE int bf_gin_flush_all(struct bf_thread *t, const struct bf_gin_issuer *w)
{
	int status = BF_GIN_OK;

	for (uint32_t i = 1; i < w->s->npes; i++) {
		const uint32_t pe = (w->s->mype + i) % w->s->npes;

		status |= bf_gin_flush(t, w->s, w->id, pe);
		if (w->s->bugs & BF_GIN_BUG_SIGNAL_OTHER_QP)
			status |= bf_gin_flush(t, w->s, w->id + 1, pe);
	}
	return status;
}

/* GIN's barrier among the issuers of one number: a slot for each PE, an add to every peer, a wait for all. */
BF_DEVICE void bf_gin_barrier(struct bf_thread *t, struct bf_gin_issuer *w)
{
	w->barriers++;
	for (uint32_t i = 1; i < w->s->npes; i++)
		bf_gin_signal(t, w->s, w->id, (w->s->mype + i) % w->s->npes,
			      bf_gin_own_signal(w, w->at->barriers, w->s->mype), 1, 0);
	for (uint32_t i = 1; i < w->s->npes; i++)
		bf_gin_wait_word(t, w->s, bf_gin_own_signal(w, w->at->barriers, (w->s->mype + i) % w->s->npes),
				 w->barriers);
}

BF_DEVICE int bf_gin_do_put(struct bf_thread *t, struct bf_gin_issuer *w)
{
	const struct bf_gin_shape *s = w->shape;

	for (uint32_t m = 0; m < s->messages; m++) {
		const uint64_t src = bf_gin_cell(w, w->at->src, w->id, m);
		const int last = (m + 1) % s->batch == 0;

		if (!s->prepared)
			bf_gin_fill(t, w, src, m, 0);
		bf_gin_put(t, w->s, w->id, w->to, bf_gin_landing(w, w->s->mype, m), src, s->bytes,
			   last && !(w->s->bugs & BF_GIN_BUG_FILL_NO_RING) ? 0 : BF_GIN_SKIP_DOORBELL);
	}
	return bf_gin_flush_all(t, w);
}

BF_DEVICE int bf_gin_do_signal(struct bf_thread *t, struct bf_gin_issuer *w)
{
	for (uint32_t m = 0; m < w->shape->messages; m++) {
		const uint64_t src = bf_gin_cell(w, w->at->src, w->id, m);

		bf_gin_fill(t, w, src, m, 0);
		bf_gin_put_signal(t, w->s, w->id, w->to, bf_gin_landing(w, w->s->mype, m), src, w->shape->bytes,
				  bf_gin_own_signal(w, w->at->signals, w->s->mype), 1);
		bf_gin_wait_word(t, w->s, bf_gin_own_signal(w, w->at->signals, w->from), m + 1);
		bf_gin_check(t, w, bf_gin_landing(w, w->from, m), w->from, m, 0);
	}
	return bf_gin_flush_all(t, w);
}

/* One source for all messages: it may be written over when the counter says so. */
BF_DEVICE int bf_gin_do_counter(struct bf_thread *t, struct bf_gin_issuer *w)
{
	const uint64_t src = bf_gin_cell(w, w->at->src, w->id, 0), counter = w->at->counters + w->id * 64ull;

	for (uint32_t m = 0; m < w->shape->messages; m++) {
		bf_gin_fill(t, w, src, m, 0);
		bf_gin_put_counter(t, w->s, w->id, w->to, bf_gin_landing(w, w->s->mype, m), src, w->shape->bytes,
				   counter);
		bf_gin_wait_word(t, w->s, counter, m + 1);
	}
	return bf_gin_flush_all(t, w);
}

BF_DEVICE int bf_gin_do_get(struct bf_thread *t, struct bf_gin_issuer *w)
{
	int status;

	for (uint32_t m = 0; m < w->shape->messages; m++)
		bf_gin_get(t, w->s, w->id, w->to, bf_gin_cell(w, w->at->src, w->id, m),
			   bf_gin_cell(w, w->at->back, w->id, m), w->shape->bytes,
			   (m + 1) % w->shape->batch ? BF_GIN_SKIP_DOORBELL : 0);
	status = bf_gin_flush_all(t, w);
	if (w->s->bugs & BF_GIN_BUG_GET_NOTHING)
		status |= bf_gin_wait(t, w->s, bf_gin_qp(w->s, w->id, w->to), BF_GIN_TICKET_UNSET);
	for (uint32_t m = 0; !status && m < w->shape->messages; m++)
		bf_gin_check(t, w, bf_gin_cell(w, w->at->back, w->id, m), w->to, m, 0);
	return status;
}

BF_DEVICE int bf_gin_do_barrier(struct bf_thread *t, struct bf_gin_issuer *w)
{
	for (uint32_t m = 0; m < w->shape->messages; m++) {
		for (uint32_t i = 1; i < w->s->npes; i++)
			bf_gin_put_value(t, w->s, w->id, (w->s->mype + i) % w->s->npes,
					 bf_gin_own_signal(w, w->at->counts, w->s->mype), m + 1, 0);
		bf_gin_barrier(t, w);
		for (uint32_t i = 1; i < w->s->npes; i++) {
			const uint32_t pe = (w->s->mype + i) % w->s->npes;
			const uint64_t at = bf_gin_own_signal(w, w->at->counts, pe);
			const uint64_t old = bf_ld_relaxed64(t, w->s->heap + at, BF_AT_SYS) < m + 1;

			if (old)
				BF_DRIVER_RECORD(t, ibgda_mismatch, .va = at, .pe = w->s->mype);
			bf_gin_note(t, w, w->at->bad, old);
		}
	}
	return bf_gin_flush_all(t, w);
}

/* Tokens of `pe` that come here: those that are not as they should be, and a count that is wrong, are noted. */
BF_DEVICE void bf_gin_take_tokens(struct bf_thread *t, const struct bf_gin_issuer *w, uint32_t pe)
{
	uint64_t count = 0;

	for (uint32_t m = 0; m < w->shape->messages; m++) {
		if (bf_gin_route(w->shape, w->s->npes, pe, w->id, m) != w->s->mype)
			continue;
		count++;
		bf_gin_check(t, w, bf_gin_landing(w, pe, m), pe, m, 0);
	}
	bf_gin_note(t, w, w->at->bad, bf_ld_weak64(t, w->s->heap + bf_gin_own_signal(w, w->at->counts, pe)) != count);
}

/* The answer to token `m` of `pe` is one more in each word, made in place and put back. */
BF_DEVICE void bf_gin_send_back(struct bf_thread *t, const struct bf_gin_issuer *w, uint32_t pe)
{
	for (uint32_t m = 0; m < w->shape->messages; m++) {
		const uint64_t at = bf_gin_landing(w, pe, m);

		if (bf_gin_route(w->shape, w->s->npes, pe, w->id, m) != w->s->mype)
			continue;
		for (uint32_t i = 0; i * 8 < w->shape->bytes; i++)
			bf_st_weak64(t, w->s->heap + at + i * 8, bf_ld_weak64(t, w->s->heap + at + i * 8) + 1);
		bf_gin_put(t, w->s, w->id, pe, bf_gin_cell(w, w->at->back, w->id, m), at, w->shape->bytes, 0);
	}
}

/* DeepEP V2 without its arithmetic: notify, tokens, closing barrier; then the way back. */
BF_DEVICE int bf_gin_do_exchange(struct bf_thread *t, struct bf_gin_issuer *w)
{
	const uint32_t npes = w->s->npes, me = w->s->mype;
	int status;

	for (uint32_t i = 1; i < npes; i++) {
		const uint32_t pe = (me + i) % npes;
		uint64_t count = 0;

		for (uint32_t m = 0; m < w->shape->messages; m++)
			count += bf_gin_route(w->shape, npes, me, w->id, m) == pe;
		bf_gin_put_value(t, w->s, w->id, pe, bf_gin_own_signal(w, w->at->counts, me), count,
				 BF_GIN_SKIP_DOORBELL);
	}
	for (uint32_t m = 0; m < w->shape->messages; m++) {
		const uint32_t pe = bf_gin_route(w->shape, npes, me, w->id, m);
		const uint64_t src = bf_gin_cell(w, w->at->src, w->id, m);

		bf_gin_fill(t, w, src, m, 0);
		if (pe != me)
			bf_gin_put(t, w->s, w->id, pe, bf_gin_landing(w, me, m), src, w->shape->bytes, 0);
	}
	status = bf_gin_flush_all(t, w);
	bf_gin_barrier(t, w);
	for (uint32_t i = 1; i < npes; i++)
		bf_gin_take_tokens(t, w, (me + i) % npes);
	for (uint32_t i = 1; i < npes; i++)
		bf_gin_send_back(t, w, (me + i) % npes);
	status |= bf_gin_flush_all(t, w);
	bf_gin_barrier(t, w);
	for (uint32_t m = 0; m < w->shape->messages; m++)
		if (bf_gin_route(w->shape, npes, me, w->id, m) != me)
			bf_gin_check(t, w, bf_gin_cell(w, w->at->back, w->id, m), me, m, 1);
	return status | bf_gin_flush_all(t, w);
}

/* Sends all tokens to all peers; each tail is the number of tokens that are there, with a finish flag above it. */
BF_DEVICE void bf_gin_send_tails(struct bf_thread *t, const struct bf_gin_issuer *w)
{
	const uint32_t npes = w->s->npes, me = w->s->mype;
	const uint64_t tail = bf_gin_own_signal(w, w->at->signals, me);

	for (uint32_t m = 0; m < w->shape->messages; m++) {
		const uint64_t src = bf_gin_cell(w, w->at->src, w->id, m);
		const uint32_t n = m % w->shape->batch + 1;
		const int last = m + 1 == w->shape->messages;

		bf_gin_fill(t, w, src, m, 0);
		for (uint32_t i = 1; i < npes; i++) {
			const uint32_t pe = (me + i) % npes;

			bf_gin_put(t, w->s, w->id, pe, bf_gin_landing(w, me, m), src, w->shape->bytes,
				   BF_GIN_SKIP_DOORBELL);
			if (w->s->bugs & BF_GIN_BUG_FILL_NO_RING ? last : n == w->shape->batch || last)
				bf_gin_signal(t, w->s, w->id, pe, tail,
					      (w->s->bugs & BF_GIN_BUG_FILL_NO_RING ? w->shape->messages : n) |
						  (last ? 1ull << 32 : 0),
					      0);
		}
	}
}

BF_DEVICE void bf_gin_take_tail(struct bf_thread *t, const struct bf_gin_issuer *w, uint32_t pe)
{
	const uint64_t tail = bf_gin_own_signal(w, w->at->signals, pe);
	uint32_t m = 0;

	for (;;) {
		const uint8_t *p = w->s->heap + tail;
		const uint64_t seen = bf_ld_acquire64(t, p, BF_AT_SYS);

		for (; m < (uint32_t)seen; m++)
			bf_gin_check(t, w, bf_gin_landing(w, pe, m), pe, m, 0);
		if (seen >> 32)
			break;
		bf_spin(t, p, "a packed tail");
	}
	bf_gin_note(t, w, w->at->bad, m != w->shape->messages);
}

BF_DEVICE int bf_gin_do_hybrid(struct bf_thread *t, struct bf_gin_issuer *w)
{
	bf_gin_send_tails(t, w);
	for (uint32_t i = 1; i < w->s->npes; i++)
		bf_gin_take_tail(t, w, (w->s->mype + i) % w->s->npes);
	return bf_gin_flush_all(t, w);
}

BF_DEVICE int bf_gin_do(struct bf_thread *t, struct bf_gin_issuer *w)
{
	switch (w->shape->work) {
	case BF_GIN_PUT:
		return bf_gin_do_put(t, w);
	case BF_GIN_SIGNAL:
		return bf_gin_do_signal(t, w);
	case BF_GIN_COUNTER:
		return bf_gin_do_counter(t, w);
	case BF_GIN_GET:
		return bf_gin_do_get(t, w);
	case BF_GIN_BARRIER:
		return bf_gin_do_barrier(t, w);
	case BF_GIN_EXCHANGE:
		return bf_gin_do_exchange(t, w);
	default:
		return bf_gin_do_hybrid(t, w);
	}
}

BF_DEVICE void bf_gin_tell_queues(struct bf_thread *t, const struct bf_gin_issuer *w)
{
	for (uint32_t i = 1; i < w->s->npes; i++) {
		const struct bf_gin_qp *qp = bf_gin_qp(w->s, w->id, (w->s->mype + i) % w->s->npes);

		if (bf_gin_asks(qp)) /* the CPU uses it alone, and says so */
			continue;
		BF_DRIVER_RECORD(t, gin_queue, .qpn = qp->sq_num, .cqn = qp->cq.cqn, .block = bf_block(t),
				 .sharing = (uint16_t)bf_gin_sharing(w->s), .handler = (uint16_t)qp->nic_handler);
		BF_DRIVER_RECORD(t, gin_window, .va = w->s->window, .qpn = qp->sq_num, .lkey = bf_htobe32(w->s->lkey),
				 .udp_sport = w->s->udp_sport);
		(void)qp;
	}
}

BF_DEVICE void bf_gin_issue(struct bf_thread *t, const struct bf_gin_job *job)
{
	struct bf_gin_issuer w;
	int status;

	if (bf_lane(t))
		return;
	w.s = job->state;
	w.shape = &job->shape;
	w.at = &job->at;
	w.id = bf_block(t) * bf_warps(t) + bf_warp(t);
	w.to = (w.s->mype + 1) % w.s->npes;
	w.from = (w.s->mype + w.s->npes - 1) % w.s->npes;
	w.barriers = 0;
	bf_gin_tell_queues(t, &w);
	status = bf_gin_do(t, &w);
	bf_st_weak64(t, w.s->heap + w.at->done + w.id * 8ull, status ? 2 : 1);
	bf_fence_sys(t);
	bf_atomic_add32(t, w.s->running, 0xffffffffu, BF_AT_SYS);
}

/* What a descriptor asks for, by the CPU's own queue pair. Returns the ticket of the last entry. */
BF_DEVICE uint64_t bf_gin_execute(struct bf_thread *t, const struct bf_gin_state *s, uint32_t context, uint32_t peer,
				  const struct bf_gfd *d)
{
	const uint64_t at = d->signal * 8ull;

	if (d->op & BF_GFD_GET)
		return bf_gin_get_visible(t, s, context, peer, d->dst, d->src, (uint32_t)d->bytes);
	if (!(d->op & BF_GFD_PUT))
		return bf_gin_signal(t, s, context, peer, at, d->add, 0);
	if (d->op & BF_GFD_INLINE)
		return d->op & BF_GFD_SIGNAL_ADD
			   ? bf_gin_put_value_signal(t, s, context, peer, d->dst, d->value, at, d->add)
			   : bf_gin_put_value(t, s, context, peer, d->dst, d->value, 0);
	return d->op & BF_GFD_SIGNAL_ADD
		   ? bf_gin_put_signal(t, s, context, peer, d->dst, d->src, (uint32_t)d->bytes, at, d->add)
		   : bf_gin_put(t, s, context, peer, d->dst, d->src, (uint32_t)d->bytes, 0);
}

/* Requests that are done, in order: the counter, and the index by which the GPU knows. */
BF_DEVICE void bf_gin_retire(struct bf_thread *t, const struct bf_gin_proxy *p, uint32_t i)
{
	struct bf_gin_qp *queue = &p->qps[i];

	while (p->head[i] != p->tail[i]) {
		const struct bf_gin_posted *done = &p->posted[i * queue->gfd->size + p->head[i] % queue->gfd->size];
		uint8_t *counter = p->state->heap + done->counter;

		if (!done->lost && bf_gin_poll_one_at(t, p->posts, &p->posts->qps[i], done->ticket) != BF_GIN_OK)
			return;
		if (done->counter)
			bf_st_relaxed64(t, counter, bf_ld_relaxed64(t, counter, BF_AT_SYS) + 1, BF_AT_SYS);
		p->head[i]++;
		bf_st_release64(t, &queue->gfd->ci, p->head[i], BF_AT_SYS);
	}
}

BF_DEVICE int bf_gin_take_request(struct bf_thread *t, const struct bf_gin_proxy *p, struct bf_gin_qp *queue,
				  uint64_t index, struct bf_gfd *d)
{
	if (queue->nic_handler == BF_GIN_D2P)
		return bf_d2p_take(t, p->state, queue, index, d);
	return bf_gfd_take(t, queue, index, (p->state->bugs & BF_GIN_BUG_GFD_FLAG) != 0, d);
}

BF_DEVICE void bf_gin_tell_taken(struct bf_thread *t, const struct bf_gin_qp *queue, uint64_t index,
				 const struct bf_gin_posted *posted, const struct bf_gfd *d)
{
	if (queue->nic_handler == BF_GIN_D2P)
		BF_DRIVER_RECORD(t, d2p_taken, .index = index, .entry = posted->ticket, .qpn = queue->sq_num,
				 .sum = bf_gfd_sum(d));
	else
		BF_DRIVER_RECORD(t, gin_taken, .index = index, .entry = posted->ticket, .qpn = queue->sq_num,
				 .posted = !posted->lost);
	(void)t;
	(void)index;
	(void)posted;
	(void)d;
}

/* A descriptor is taken only when there is room for what it asks for: two entries at most, and a request. */
BF_DEVICE void bf_gin_serve_queue(struct bf_thread *t, const struct bf_gin_proxy *p, uint32_t i)
{
	const uint32_t lossy = p->state->bugs & BF_GIN_BUG_GFD_LOST;
	struct bf_gin_qp *queue = &p->qps[i];
	const uint64_t room = lossy ? 2 : queue->sq_wqe_num / 2, size = queue->gfd->size;
	struct bf_gfd d;

	bf_gin_retire(t, p, i);
	while ((lossy || p->tail[i] - p->head[i] < room) && p->tail[i] - p->head[i] < size &&
	       bf_gin_take_request(t, p, queue, p->tail[i], &d)) {
		struct bf_gin_posted *posted = &p->posted[i * size + p->tail[i] % size];

		posted->lost = p->tail[i] - p->head[i] >= room;
		posted->counter = d.counter * 8ull;
		posted->ticket = 0;
		if (!posted->lost)
			posted->ticket = bf_gin_execute(t, p->posts, i / p->state->npes, i % p->state->npes, &d);
		bf_gin_tell_taken(t, queue, p->tail[i], posted, &d);
		p->tail[i]++;
	}
}

BF_DEVICE void bf_gin_serve_descriptors(struct bf_thread *t, const struct bf_gin_proxy *p)
{
	for (uint32_t i = 0; i < p->queues; i++)
		if (p->qps[i].gfd)
			BF_DRIVER_RECORD(t, gin_queue, .qpn = p->qps[i].sq_num, .cqn = p->qps[i].cq.cqn,
					 .sharing = BF_GIN_EXCLUSIVE, .handler = BF_GIN_DB);
	while (bf_ld_relaxed32(t, p->state->running, BF_AT_SYS)) {
		for (uint32_t i = 0; i < p->queues; i++)
			if (p->qps[i].gfd)
				bf_gin_serve_queue(t, p, i);
		bf_pause(t, 200);
	}
}

/* The CPU's turn: a slot has an index, of which it takes 32 bits, and compares; what it skips is behind the next. */
BF_DEVICE void bf_gin_serve(struct bf_thread *t, const struct bf_gin_proxy *p)
{
	const uint32_t wrong = p->state->bugs & BF_GIN_BUG_PROXY_QPN;

	if (p->queues) {
		bf_gin_serve_descriptors(t, p);
		return;
	}
	while (bf_ld_relaxed32(t, p->state->running, BF_AT_SYS)) {
		for (uint32_t i = 0; i < p->count; i++) {
			struct bf_gin_qp *qp = &p->qps[i];
			uint32_t pi;
			uint64_t bell;

			if (!p->slots[i])
				continue;
			pi = (uint32_t)bf_ld_acquire64(t, p->slots[i], BF_AT_SYS);
			if (pi == p->told[i])
				continue;
			p->told[i] = pi;
			bell = (uint64_t)bf_htobe32(wrong ? 0 : qp->sq_num << 8) << 32 | bf_htobe32(pi << 8);
			bf_mmio_st64(t, p->registers[i], bell);
			bf_st_relaxed32(t, qp->sq_dbrec, bf_htobe32(pi & 0xffff), BF_AT_SYS);
			bf_fence_sys(t);
			bf_mmio_st64(t, p->registers[i], bell);
		}
		bf_pause(t, 200);
	}
}

#if !defined(__CUDACC__) && !defined(__HIPCC__)
static void bf_gin_run_job(struct bf_thread *t, void *arg)
{
	bf_gin_issue(t, (const struct bf_gin_job *)arg);
}
static void bf_gin_run_proxy(struct bf_thread *t, void *arg)
{
	bf_gin_serve(t, (const struct bf_gin_proxy *)arg);
}

#define BF_GIN_KERNEL_TABLE                                                                                            \
	{                                                                                                              \
		.run = bf_gin_run_job, .proxy = bf_gin_run_proxy                                                       \
	}

extern const struct bf_gin_kernels bf_gin_kernels_sim, bf_gin_kernels_native;
#endif

#endif
