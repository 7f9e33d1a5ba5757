/*
 * The kernels of kernels.h as device code: included by one source file for each platform.
 *
 * All lanes of a warp run a kernel together. `crew` is the mask of lanes that act together in one call: the whole warp
 * or, with per_lane, the lanes that take part.
 */
#ifndef BELFRY_DRIVERS_IBGDA_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_KERNELS_INTERNAL_H

#include "drivers/ibgda/device.h"
#include "drivers/ibgda/kernels.h"

/* A lane's view of its work. */
struct bf_ibgda_worker {
	const struct bf_ibgda_state *state;
	const struct bf_ibgda_shape *shape;
	struct bf_ibgda_layout at;
	uint32_t crew;
	uint32_t warp; /* in the grid */
	uint32_t issuer;
	uint8_t leads; /* this lane does what an issuer does once */
};

BF_DEVICE struct bf_ibgda_worker bf_ibgda_worker(const struct bf_thread *t, const struct bf_ibgda_job *job)
{
	const struct bf_ibgda_shape *s = &job->shape;
	struct bf_ibgda_worker w;

	w.state = job->state;
	w.shape = s;
	bf_ibgda_layout(s, job->state->npes, &w.at);
	w.warp = bf_block(t) * bf_warps(t) + bf_warp(t);
	w.crew = s->per_lane && s->lanes < BF_LANES ? (1u << s->lanes) - 1 : BF_FULL_WARP;
	w.issuer = s->per_lane ? w.warp * s->lanes + bf_lane(t) : w.warp;
	w.leads = s->per_lane || bf_lane(t) == 0;
	return w;
}

BF_DEVICE uint8_t *bf_ibgda_heap(const struct bf_ibgda_worker *w, uint64_t offset)
{
	return (uint8_t *)w->state->heap + offset;
}

BF_DEVICE uint32_t bf_ibgda_slot_of(const struct bf_ibgda_worker *w, uint32_t message)
{
	return message % w->shape->window;
}

/* Index of this issuer's slot among all of a PE; and of its copy at a peer that keeps one area for each source. */
BF_DEVICE uint64_t bf_ibgda_index(const struct bf_ibgda_worker *w, uint32_t slot)
{
	return (uint64_t)w->issuer * w->shape->window + slot;
}
BF_DEVICE uint64_t bf_ibgda_index_at_peer(const struct bf_ibgda_worker *w, uint32_t slot)
{
	return (uint64_t)w->state->mype * w->at.issuers * w->shape->window + bf_ibgda_index(w, slot);
}

BF_DEVICE uint32_t bf_ibgda_qp_index_of(const struct bf_ibgda_shape *s, uint32_t warp, uint32_t slot)
{
	switch (s->choice) {
	case BF_IBGDA_QP_FIRST:
		return 0;
	case BF_IBGDA_QP_BY_MESSAGE:
		return warp + slot;
	case BF_IBGDA_QP_BY_WARP:
	default:
		return warp;
	}
}
BF_DEVICE uint32_t bf_ibgda_qp_index(const struct bf_ibgda_worker *w, uint32_t slot)
{
	return bf_ibgda_qp_index_of(w->shape, w->warp, slot);
}

/*
 * An RC, or a DC initiator where there are none. What is found in the table of RCs must lead where it is said to: two
 * versions of its order are about.
 */
BF_DEVICE struct bf_ibgda_to bf_ibgda_to_for(struct bf_thread *t, const struct bf_ibgda_worker *w, uint32_t slot)
{
	const uint32_t peer = bf_ibgda_peer(w->shape, w->state->npes, w->state->mype, slot);
	const uint32_t i = bf_ibgda_qp_index(w, slot);
	struct bf_ibgda_qp *qp;

	if (BF_UNLIKELY(!w->state->num_rc_per_pe))
		return bf_ibgda_to_dct(t, w->state, peer);
	qp = bf_ibgda_rc(w->state, peer, i);
	if (BF_UNLIKELY(qp->peer != peer))
		BF_DRIVER_RECORD(t, ibgda_astray, .meant = peer, .peer = qp->peer, .qpn = qp->qpn, .index = i);
	return bf_ibgda_to_rc(qp);
}

BF_DEVICE int bf_ibgda_quiet_due(const struct bf_ibgda_worker *w, uint32_t message)
{
	const uint32_t every = w->shape->quiet_every;

	if (BF_UNLIKELY(bf_ibgda_mistakes(w->state) & BF_IBGDA_BUG_NO_QUIET))
		return 0;
	return message + 1 == w->shape->messages || (every && (message + 1) % every == 0);
}

/*
 * DeepEP's message index counts messages to one QP. It can stand for a run of them only where all of a worker's
 * messages go to the same QP; the last one before a quiet must ring whatever its index.
 */
BF_DEVICE uint32_t bf_ibgda_message_index(const struct bf_ibgda_worker *w, uint32_t message)
{
	if (w->shape->route == BF_IBGDA_ALL || w->shape->choice == BF_IBGDA_QP_BY_MESSAGE || !w->state->num_rc_per_pe ||
	    bf_ibgda_quiet_due(w, message))
		return BF_IBGDA_ALWAYS_POST;
	return message;
}

/* The payload, written by whoever will put it: one lane, or all 32 in turn. */
BF_DEVICE void bf_ibgda_fill(struct bf_thread *t, const struct bf_ibgda_worker *w, uint32_t slot)
{
	const uint64_t key = bf_ibgda_pattern_key(w->state->mype, w->issuer, slot);
	const uint32_t step = w->shape->per_lane ? 1 : BF_LANES;
	uint8_t *p = bf_ibgda_heap(w, w->at.src + bf_ibgda_index(w, slot) * w->shape->stride);

	for (uint32_t i = w->shape->per_lane ? 0 : bf_lane(t); i * 8 < w->shape->bytes; i += step) {
		const uint64_t word = bf_ibgda_pattern_word(key, i);

		if (i * 8 + 8 <= w->shape->bytes) {
			bf_st_weak64(t, p + i * 8, word);
			continue;
		}
		for (uint32_t b = i * 8; b < w->shape->bytes; b++)
			bf_st_weak8(t, p + b, (uint8_t)(word >> (b % 8 * 8)));
	}
}

/* Quiet on every QP that the worker uses, dealt out among the crew. All lanes return the same status. */
BF_DEVICE int bf_ibgda_quiet_all(struct bf_thread *t, const struct bf_ibgda_worker *w)
{
	const struct bf_ibgda_state *state = w->state;
	const uint32_t peers = w->shape->route == BF_IBGDA_ALL ? state->npes - 1 : 1;
	const int spread = w->shape->choice == BF_IBGDA_QP_BY_MESSAGE && state->num_rc_per_pe;
	const uint32_t each = spread ? state->num_rc_per_pe : 1;
	const uint32_t crew = bf_ibgda_popcount(w->crew);
	int status = 0;

	if (BF_UNLIKELY(w->shape->pe_quiet))
		return bf_ibgda_pe_quiet(t, w->crew, state);
	bf_warp_sync(t, w->crew);
	for (uint32_t i = bf_lane(t); i < peers * each; i += crew) {
		const uint32_t peer = bf_ibgda_peer(w->shape, state->npes, state->mype, i / each);
		const uint32_t first = spread ? 0 : bf_ibgda_qp_index(w, 0);
		struct bf_ibgda_qp *qp =
		    state->num_rc_per_pe ? bf_ibgda_rc(state, peer, first + i % each) : bf_ibgda_dci(t, state, peer, 0);

		status |= bf_ibgda_quiet_with_cst(t, state, qp);
	}
	return bf_ballot(t, w->crew, status != 0) ? BF_IBGDA_FAILED : 0;
}

BF_DEVICE void bf_ibgda_do_put(struct bf_thread *t, const struct bf_ibgda_worker *w, uint32_t mask, uint32_t slot,
			       uint32_t message)
{
	const struct bf_ibgda_to to = bf_ibgda_to_for(t, w, slot);
	void *src = bf_ibgda_heap(w, w->at.src + bf_ibgda_index(w, slot) * w->shape->stride);
	void *dst = bf_ibgda_heap(w, w->at.put_dst + bf_ibgda_index_at_peer(w, slot) * w->shape->stride);

	if (w->shape->fill)
		bf_ibgda_fill(t, w, slot);
	if (w->shape->per_lane)
		bf_ibgda_put_nbi_to(t, mask, w->state, to, dst, src, w->shape->bytes, message);
	else
		bf_ibgda_put_nbi_warp_to(t, w->state, to, dst, src, w->shape->bytes, message);
}

/* A lane's put and signal are two calls on one QP, which delivers them in order. */
BF_DEVICE void bf_ibgda_do_put_signal(struct bf_thread *t, const struct bf_ibgda_worker *w, uint32_t mask,
				      uint32_t slot, uint32_t message)
{
	const struct bf_ibgda_to to = bf_ibgda_to_for(t, w, slot);
	const uint64_t at = (uint64_t)w->state->mype * w->at.issuers + w->issuer;
	void *src = bf_ibgda_heap(w, w->at.src + bf_ibgda_index(w, slot) * w->shape->stride);
	void *dst = bf_ibgda_heap(w, w->at.put_dst + bf_ibgda_index_at_peer(w, slot) * w->shape->stride);
	struct bf_ibgda_signal signal;
	struct bf_ibgda_amo amo;

	if (!w->shape->per_lane) {
		if (w->shape->fill)
			bf_ibgda_fill(t, w, slot);
		signal.addr = bf_ibgda_heap(w, w->at.signal + at * 8);
		signal.value = 1;
		signal.op = BF_IBGDA_AMO_ADD;
		bf_ibgda_put_signal_warp_to(t, w->state, to, dst, src, w->shape->bytes, &signal, message);
		return;
	}
	bf_ibgda_do_put(t, w, mask, slot, message);
	amo.op = BF_IBGDA_AMO_ADD;
	amo.bytes = 8;
	amo.addr = bf_ibgda_heap(w, w->at.signal + at * 8);
	amo.operand = 1;
	amo.compare = 0;
	bf_ibgda_amo_nonfetch_to(t, mask, w->state, to, &amo, message);
}

BF_DEVICE int bf_ibgda_do_get(struct bf_thread *t, const struct bf_ibgda_worker *w, uint32_t mask, uint32_t slot,
			      uint32_t message)
{
	const struct bf_ibgda_to to = bf_ibgda_to_for(t, w, slot);
	const uint64_t at = bf_ibgda_index(w, slot) * w->shape->stride;
	void *src = bf_ibgda_heap(w, w->at.src + at), *dst = bf_ibgda_heap(w, w->at.get_dst + at);

	if (w->shape->per_lane)
		return bf_ibgda_get_to(t, mask, w->state, to, dst, src, w->shape->bytes, w->shape->blocking_get,
				       message);
	if (w->shape->blocking_get)
		return bf_ibgda_get_warp_to(t, w->state, to, dst, src, w->shape->bytes);
	bf_ibgda_get_nbi_warp_to(t, w->state, to, dst, src, w->shape->bytes, message);
	return 0;
}

/* From here on operations of single lanes: with per_lane false only lane 0 comes. */

BF_DEVICE void bf_ibgda_do_p(struct bf_thread *t, const struct bf_ibgda_worker *w, uint32_t mask, uint32_t slot,
			     uint32_t message)
{
	const uint64_t key = bf_ibgda_pattern_key(w->state->mype, w->issuer, slot);

	bf_ibgda_p_to(t, mask, w->state, bf_ibgda_to_for(t, w, slot),
		      bf_ibgda_heap(w, w->at.word + bf_ibgda_index_at_peer(w, slot) * 8), (uint32_t)key, 4,
		      BF_IBGDA_NO_IMM, message);
}

BF_DEVICE void bf_ibgda_store_fetched(struct bf_thread *t, const struct bf_ibgda_worker *w, uint32_t message,
				      uint64_t old)
{
	bf_st_weak64(t, bf_ibgda_heap(w, w->at.fetched + ((uint64_t)w->issuer * w->shape->messages + message) * 8),
		     old);
}

BF_DEVICE int bf_ibgda_do_amo(struct bf_thread *t, const struct bf_ibgda_worker *w, uint32_t mask, uint32_t message,
			      enum bf_ibgda_amo_op op, uint32_t bytes, int fetch, uint64_t operand, uint32_t index)
{
	const struct bf_ibgda_to to = bf_ibgda_to_for(t, w, bf_ibgda_slot_of(w, message));
	struct bf_ibgda_amo a;
	uint64_t old;
	int status;

	a.op = op;
	a.bytes = bytes;
	a.addr = bf_ibgda_heap(w, w->at.counter + (uint64_t)bf_ibgda_counter(w->shape, w->issuer, message) * 8);
	a.operand = operand;
	a.compare = 0;
	if (!fetch) {
		bf_ibgda_amo_nonfetch_to(t, mask, w->state, to, &a, index);
		return 0;
	}
	/* Compare-and-swap is one increment: again with what was found, until nobody came between. */
	for (;;) {
		uint32_t again;

		status = bf_ibgda_amo_fetch_to(t, mask, w->state, to, &a, &old);
		if (op != BF_IBGDA_AMO_CAS)
			break;
		again = bf_ballot(t, mask, !status && old != a.compare);
		if (status || old == a.compare)
			break;
		a.compare = old;
		a.operand = old + operand;
		mask = again;
	}
	bf_ibgda_store_fetched(t, w, message, old);
	return status;
}

BF_DEVICE int bf_ibgda_do_mixed(struct bf_thread *t, const struct bf_ibgda_worker *w, uint32_t slot, uint32_t message)
{
	const uint32_t pick = bf_ibgda_mixed_pick(w->shape->seed, w->state->mype, w->issuer, message);
	const uint32_t mask = w->shape->per_lane ? bf_match64(t, w->crew, pick) : 1u << bf_lane(t);

	switch (pick) {
	case BF_IBGDA_MIXED_PUT:
		bf_ibgda_do_put(t, w, mask, slot, BF_IBGDA_ALWAYS_POST);
		return 0;
	case BF_IBGDA_MIXED_GET:
		return bf_ibgda_do_get(t, w, mask, slot, BF_IBGDA_ALWAYS_POST);
	case BF_IBGDA_MIXED_PUT_SIGNAL:
		bf_ibgda_do_put_signal(t, w, mask, slot, BF_IBGDA_ALWAYS_POST);
		return 0;
	default:
		break;
	}
	if (!w->leads)
		return 0;
	if (pick == BF_IBGDA_MIXED_P) {
		bf_ibgda_do_p(t, w, mask, slot, BF_IBGDA_ALWAYS_POST);
		return 0;
	}
	return bf_ibgda_do_amo(t, w, mask, message, BF_IBGDA_AMO_ADD, 8, pick == BF_IBGDA_MIXED_FETCH_ADD, 1,
			       BF_IBGDA_ALWAYS_POST);
}

BF_DEVICE int bf_ibgda_do_message(struct bf_thread *t, const struct bf_ibgda_worker *w, enum bf_ibgda_work work,
				  uint32_t message)
{
	const struct bf_ibgda_shape *s = w->shape;
	const uint32_t slot = bf_ibgda_slot_of(w, message), index = bf_ibgda_message_index(w, message);

	switch (work) {
	case BF_IBGDA_PUT:
		bf_ibgda_do_put(t, w, w->crew, slot, index);
		return 0;
	case BF_IBGDA_GET:
		return bf_ibgda_do_get(t, w, w->crew, slot, index);
	case BF_IBGDA_AMO:
		if (!w->leads)
			return 0;
		return bf_ibgda_do_amo(t, w, s->per_lane ? w->crew : 1u, message, s->amo, s->amo_bytes, s->amo_fetch,
				       bf_ibgda_operand(s, w->state->mype, w->issuer, message), index);
	case BF_IBGDA_MIXED:
	case BF_IBGDA_WORKS:
	default:
		return bf_ibgda_do_mixed(t, w, slot, message);
	}
}

/*
 * Whether lane 0 alone has something to do in a message that the warp moves together: a put of data that are one piece.
 * (In a get it has something to do behind the last meeting, too, which the others do not wait for.)
 */
BF_DEVICE int bf_ibgda_one_acts(struct bf_thread *t, const struct bf_ibgda_worker *w, enum bf_ibgda_work work,
				uint32_t message)
{
	const struct bf_ibgda_shape *s = w->shape;
	const struct bf_ibgda_state *state = w->state;
	const uint32_t slot = bf_ibgda_slot_of(w, message);
	struct bf_ibgda_to to;
	uint64_t local, remote;

	if (work != BF_IBGDA_PUT || s->per_lane || s->fill || s->pace_ns || bf_ibgda_mistakes(state) ||
	    bf_ibgda_suspected(state) || !state->num_rc_per_pe)
		return 0;
	to = bf_ibgda_to_for(t, w, slot);
	local = w->at.src + bf_ibgda_index(w, slot) * s->stride;
	remote = w->at.put_dst + bf_ibgda_index_at_peer(w, slot) * s->stride;
	return bf_ibgda_chunk(state, &to, bf_ibgda_heap(w, local), remote, s->bytes).bytes == s->bytes;
}

/* Messages from number `m` on, up to the one that a quiet follows at most. Returns the number of the next one. */
BF_DEVICE uint32_t bf_ibgda_do_messages(struct bf_thread *t, const struct bf_ibgda_worker *w, enum bf_ibgda_work work,
					uint32_t m, int *status)
{
	uint32_t next = m + 1;

	if (bf_lead_goes_on(t) && bf_ibgda_one_acts(t, w, work, m)) {
		const enum bf_led led = bf_lead(t, w->crew, &next);

		if (led == BF_LED)
			return next;
		if (led == BF_LEADS) {
			do {
				bf_ibgda_do_message(t, w, work, m++);
			} while (!bf_ibgda_quiet_due(w, m - 1) && bf_lead_goes_on(t) &&
				 bf_ibgda_one_acts(t, w, work, m));
			bf_lead_end(t, w->crew, m);
			return m;
		}
	}
	if (w->shape->pace_ns)
		bf_pause(t, w->shape->pace_ns);
	*status |= bf_ibgda_do_message(t, w, work, m);
	return next;
}

/* How many puts of PE `from` come to this one on its RC number `i`. */
BF_DEVICE uint32_t bf_ibgda_imms(const struct bf_ibgda_worker *w, uint32_t from, uint32_t i)
{
	const struct bf_ibgda_shape *s = w->shape;
	uint32_t n = 0;

	for (uint32_t issuer = 0; issuer < w->at.issuers; issuer++)
		for (uint32_t m = 0; m < s->messages; m++) {
			const uint32_t slot = m % s->window, warp = s->per_lane ? issuer / s->lanes : issuer;

			n += bf_ibgda_peer(s, w->state->npes, from, slot) == w->state->mype &&
			     bf_ibgda_qp_index_of(s, warp, slot) % w->state->num_rc_per_pe == i;
		}
	return n;
}

/* The receives of all puts that are to come: posts them, or waits until all were taken. */
BF_DEVICE int bf_ibgda_receive(struct bf_thread *t, const struct bf_ibgda_worker *w, int await)
{
	const struct bf_ibgda_state *state = w->state;
	int status = 0;

	if (bf_block(t) || bf_warp(t) || bf_lane(t))
		return 0;
	for (uint32_t pe = 0; pe < state->npes; pe++)
		for (uint32_t i = 0; pe != state->mype && i < state->num_rc_per_pe; i++) {
			struct bf_ibgda_qp *qp = bf_ibgda_rc(state, pe, i);
			const uint32_t n = bf_ibgda_imms(w, pe, i);

			if (n && await)
				status |= bf_ibgda_poll_recv(t, state, qp, n);
			else if (n)
				bf_ibgda_post_recv(t, state, qp, n);
		}
	return status;
}

/* A worker stops at the first quiet after an error: what it had posted has been flushed by then. */
BF_DEVICE void bf_ibgda_work(struct bf_thread *t, const struct bf_ibgda_job *job, enum bf_ibgda_work work)
{
	const struct bf_ibgda_worker w = bf_ibgda_worker(t, job);
	uint32_t done = 0;
	int status = 0;

	if (!(w.crew >> bf_lane(t) & 1))
		return;
	if (BF_UNLIKELY(w.shape->imm))
		bf_ibgda_receive(t, &w, 0);
	for (uint32_t m = 0; m < w.shape->messages;) {
		m = bf_ibgda_do_messages(t, &w, work, m, &status);
		if (!bf_ibgda_quiet_due(&w, m - 1))
			continue;
		status |= bf_ibgda_quiet_all(t, &w);
		if (bf_ballot(t, w.crew, status != 0))
			break;
		done = m;
	}
	if (BF_UNLIKELY(w.shape->imm) && bf_ibgda_receive(t, &w, 1))
		done = 0;
	if (w.leads)
		bf_st_weak64(t, bf_ibgda_heap(&w, w.at.done + (uint64_t)w.issuer * 8), done);
}

#if !defined(__CUDACC__) && !defined(__HIPCC__)
static void bf_ibgda_run_put(struct bf_thread *t, void *arg)
{
	bf_ibgda_work(t, (const struct bf_ibgda_job *)arg, BF_IBGDA_PUT);
}
static void bf_ibgda_run_get(struct bf_thread *t, void *arg)
{
	bf_ibgda_work(t, (const struct bf_ibgda_job *)arg, BF_IBGDA_GET);
}
static void bf_ibgda_run_amo(struct bf_thread *t, void *arg)
{
	bf_ibgda_work(t, (const struct bf_ibgda_job *)arg, BF_IBGDA_AMO);
}
static void bf_ibgda_run_mixed(struct bf_thread *t, void *arg)
{
	bf_ibgda_work(t, (const struct bf_ibgda_job *)arg, BF_IBGDA_MIXED);
}

#define BF_IBGDA_KERNEL_TABLE                                                                                          \
	{                                                                                                              \
		.run = { bf_ibgda_run_put, bf_ibgda_run_get, bf_ibgda_run_amo, bf_ibgda_run_mixed }                    \
	}

extern const struct bf_ibgda_kernels bf_ibgda_kernels_sim, bf_ibgda_kernels_native;
#endif

#endif
