/*
 * What the responder sends back: READ data, atomic results, ACKs and NAKs, in the order of the requests.
 *
 * An ACK or NAK tells the requester that everything before it was answered, so none may overtake a READ response or an
 * atomic's result: while answers are pending, ACKs wait and are then one, and a NAK waits.
 */
#include "models/rdma/transport_internal.h"

#define GATHER_WINDOW 64u /* READ response packets whose data are on the way from memory: assumed */

static struct bf_rdma_answer *answer_at(const struct bf_rdma_qp *qp, uint32_t i)
{
	return &qp->answers->ring[i & (qp->answers->cap - 1)];
}

static void send_aeth(struct bf_rdma_qp *qp, uint8_t opcode, uint8_t syndrome, uint32_t psn, uint32_t msn,
		      uint64_t orig)
{
	struct bf_rdma *dev = qp->dev;
	struct bf_roce *r = &dev->tx;
	struct bf_packet *pkt = bf_packet_alloc_for(dev->fabric, 0);
	const struct bf_roce_path *path;

	if (!pkt)
		return; /* the requester's time-out asks again */
	r->opcode = opcode;
	r->solicited = r->ack_req = false;
	r->pad = 0;
	path = bf_rdma_address(qp, NULL, r);
	r->psn = psn;
	r->aeth_syndrome = syndrome;
	r->msn = msn;
	r->atomic_orig = orig;
	r->payload_len = 0;
	pkt->len = bf_roce_finish(pkt->data, r, bf_roce_build(pkt->data, path, r), dev->profile.icrc);
	bf_rdma_tx_push(qp, pkt, BF_RDMA_TX_WHOLE);
}

static void send_ack(struct bf_rdma_qp *qp)
{
	qp->acks_owed = 0;
	qp->dev->count.acks_sent++;
	send_aeth(qp, BF_RC_ACK, BF_AETH_ACK, bf_psn_add(qp->expected_psn, BF_PSN_MASK), qp->msn, 0);
}

/* A request asked for an ACK. It may wait a little for company, unless `at_once`. */
void bf_rdma_ack(struct bf_rdma_qp *qp, bool at_once)
{
	struct bf_rdma *dev = qp->dev;

	qp->acks_owed++;
	if (bf_rdma_answers_pending(qp))
		return;
	if (at_once || qp->acks_owed >= dev->profile.ack_every)
		send_ack(qp);
	else if (!bf_event_pending(&qp->ack_event))
		bf_sim_at(dev->sim, &qp->ack_event, dev->rx_busy_ps + dev->profile.ack_delay_ps);
}

void bf_rdma_ack_fired(struct bf_event *ev)
{
	struct bf_rdma_qp *qp = BF_CONTAINER_OF(ev, struct bf_rdma_qp, ack_event);

	if (qp->acks_owed && !bf_rdma_answers_pending(qp))
		send_ack(qp);
}

static bool is_fatal(uint8_t syndrome)
{
	return syndrome > BF_AETH_NAK_SEQ;
}

/* A fatal one ends everything, so it also lets the READ data leave that are still on the way from memory. */
static bool nak_may_leave(const struct bf_rdma_qp *qp)
{
	return qp->nak && !bf_rdma_answers_pending(qp) && !(is_fatal(qp->nak) && qp->answers_inflight);
}

static void send_nak(struct bf_rdma_qp *qp)
{
	uint8_t syndrome = qp->nak;

	qp->nak = 0;
	qp->acks_owed = 0; /* a NAK acknowledges what came before it */
	BF_EMIT(qp->dev->sim, qp->actor, nak_sent, .qpn = qp->qpn, .psn = qp->nak_psn, .got = qp->dev->rx.psn,
		.syndrome = syndrome, .opcode = qp->nak_opcode);
	qp->dev->count.naks_sent[bf_rdma_nak_kind(syndrome)]++;
	send_aeth(qp, BF_RC_ACK, syndrome, qp->nak_psn, qp->msn, 0);
	if (is_fatal(syndrome)) {
		qp->dev->ops->enter(qp, BF_RDMA_ERR, BF_RDMA_RESPONDER);
		qp->dev->ops->run(qp);
	}
}

void bf_rdma_nak(struct bf_rdma_qp *qp, uint8_t syndrome, uint32_t psn, uint8_t opcode)
{
	if (qp->refused && (!qp->nak || bf_psn_diff(psn, qp->nak_psn) >= 0))
		return; /* one that waits gives way to that of an earlier request only */
	qp->refused = is_fatal(syndrome);
	qp->nak_sent = true;
	qp->nak = syndrome;
	qp->nak_psn = psn;
	qp->nak_opcode = opcode;
	if (nak_may_leave(qp))
		send_nak(qp);
}

/* A READ or atomic is refused; `late`: one that had been accepted. */
static void tell(struct bf_rdma_qp *qp, uint8_t opcode, uint32_t psn, uint8_t nak, bool late, const char *why)
{
	const struct bf_rdma_refusal x = { .psn = psn, .opcode = opcode, .nak = nak, .late = late, .why = why };

	qp->dev->ops->refused(qp, &x);
	bf_rdma_nak(qp, nak, psn, opcode);
}

static void refuse(struct bf_rdma_qp *qp, const struct bf_roce *r, uint8_t nak, const char *why)
{
	tell(qp, r->opcode, r->psn, nak, false, why);
}

/* READ and atomic resources of the responder: as many as the queue pair says. */
static uint32_t answers_in_use(const struct bf_rdma_qp *qp)
{
	uint32_t n = 0;

	for (uint32_t i = qp->answers ? qp->answers->head : 0; qp->answers && i != qp->answers->tail; i++)
		n += !answer_at(qp, i)->again && answer_at(qp, i)->sent < answer_at(qp, i)->npsn;
	return n;
}

static uint32_t response_count(const struct bf_rdma_qp *qp, uint32_t len)
{
	return len ? ((len - 1) >> qp->mtu_shift) + 1 : 1;
}

/*
 * The next free resource; the oldest answer there is forgotten. NULL while its atomic is still being executed, and on
 * lack of memory: the requester's time-out asks again.
 */
static struct bf_rdma_answer *new_answer(struct bf_rdma_qp *qp, const struct bf_roce *r, uint32_t npsn)
{
	struct bf_rdma_answer *a = bf_rdma_make_answers(qp) ? answer_at(qp, qp->answers->tail) : NULL;

	if (!a || a->busy)
		return NULL;
	qp->msn = bf_psn_add(qp->msn, 1);
	a->va = r->va;
	a->len = r->dma_len;
	a->rkey = r->rkey;
	a->psn = r->psn;
	a->npsn = npsn;
	a->sent = a->from = 0;
	a->msn = qp->msn;
	a->opcode = r->opcode;
	a->executed = a->again = false;
	a->keys = qp->dev->key_changes;
	qp->answers->tail++;
	if (qp->answers->tail - qp->answers->head > qp->answers->cap)
		qp->answers->head++; /* the oldest was being repeated, and is no longer of interest */
	qp->expected_psn = bf_psn_add(qp->expected_psn, npsn);
	qp->acks_owed = 0; /* the answer acknowledges what came before it */
	return a;
}

/* The key does not allow the access, or not yet. */
static void refuse_key(struct bf_rdma_qp *qp, const struct bf_roce *r, uint8_t memory)
{
	if (memory & BF_RDMA_MEMORY_ABSENT)
		bf_rdma_nak(qp, bf_rdma_rnr(qp), r->psn, r->opcode);
	else
		refuse(qp, r, BF_AETH_NAK_ACCESS, "remote key");
}

void bf_rdma_answer_read(struct bf_rdma_qp *qp, const struct bf_roce *r)
{
	struct bf_rdma_answer *a;
	uint8_t memory = 0;

	if (!(qp->access & BF_RDMA_ACCESS_REMOTE_READ) || r->dma_len > 1ull << qp->log_msg_max ||
	    answers_in_use(qp) >= qp->max_answers)
		refuse(qp, r, BF_AETH_NAK_INV_REQ, "READ not allowed or too many");
	else if (r->dma_len && !bf_rdma_allowed(qp, r->rkey, r->va, r->dma_len, BF_RDMA_ACCESS_REMOTE_READ, &memory))
		refuse_key(qp, r, memory);
	else if ((a = new_answer(qp, r, response_count(qp, r->dma_len)))) {
		a->memory = memory;
		bf_rdma_answer_run(qp);
	}
}

static uint64_t load(const void *p, uint8_t size)
{
	return size == 4 ? bf_get_le32(p) : bf_get_le64(p);
}

/* A 1 bit in `boundary` marks the top bit of a field: carries do not leave it (docs/hardware/mlx5.md#atomics-1). */
static uint64_t masked_add(uint64_t a, uint64_t b, uint64_t boundary)
{
	uint64_t low = (a & ~boundary) + (b & ~boundary);

	return low ^ ((a ^ b) & boundary);
}

/* At the moment the bytes are read: the atomic itself. Memory is in the host's order. */
static void modify(struct bf_dma_op *op, void *bytes)
{
	struct bf_rdma_atomic *x = BF_CONTAINER_OF(op, struct bf_rdma_atomic, op);
	uint64_t old = load(bytes, x->size), value = old;

	x->answer->old = old;
	switch (x->answer->opcode) {
	case BF_RC_COMPARE_SWAP:
		value = old == x->compare ? x->swap_add : old;
		break;
	case BF_RC_FETCH_ADD:
		value = old + x->swap_add;
		break;
	case BF_RC_EXT_COMPARE_SWAP:
		if (!((old ^ x->compare) & x->compare_mask))
			value = (old & ~x->swap_mask) | (x->swap_add & x->swap_mask);
		break;
	default:
		value = masked_add(old, x->swap_add, x->compare_mask);
		break;
	}
	if (x->size == 4)
		bf_put_le32(bytes, (uint32_t)value);
	else
		bf_put_le64(bytes, value);
}

/* Answers to earlier requests still go out, and the NAK behind them; later ones do not. */
static void atomic_failed(struct bf_rdma_qp *qp, const struct bf_rdma_answer *a)
{
	uint32_t i = qp->answers->head;

	while (i != qp->answers->tail && answer_at(qp, i) != a)
		i++;
	if (i == qp->answers->tail)
		return; /* an earlier request failed first */
	qp->answers->tail = i;
	tell(qp, a->opcode, a->psn, BF_AETH_NAK_OP, true, "memory cannot be reached");
}

/* ---- atomics that hold their word ---- */

static bool same_word(const struct bf_rdma_atomic *a, const struct bf_rdma_atomic *b)
{
	return a->op.iova / 8 == b->op.iova / 8;
}

static void begin(struct bf_rdma_atomic *x)
{
	x->begun = true;
	bf_dma_read(x->qp->dev->dma, &x->op);
}

/* Behind those that have or want the same word. */
static void hold(struct bf_rdma *dev, struct bf_rdma_atomic *x)
{
	struct bf_rdma_atomic **at = &dev->holding;
	bool free = true;

	for (; *at; at = &(*at)->next)
		free &= !same_word(*at, x);
	x->next = NULL;
	x->begun = false;
	*at = x;
	if (free)
		begin(x);
}

static void let_go(struct bf_rdma *dev, struct bf_rdma_atomic *x)
{
	struct bf_rdma_atomic **at = &dev->holding, *next;

	while (*at != x)
		at = &(*at)->next;
	next = *at = x->next;
	while (next && !same_word(next, x))
		next = next->next;
	if (next)
		begin(next);
}

static void atomic_done(struct bf_dma_op *op)
{
	struct bf_rdma_atomic *x = BF_CONTAINER_OF(op, struct bf_rdma_atomic, op);
	struct bf_rdma_answer *a = x->answer;
	struct bf_rdma_qp *qp = x->qp;
	bool stale = x->epoch != qp->epoch, failed = op->status;

	a->busy = false;
	if (BF_UNLIKELY(qp->dev->profile.atomics_hold))
		let_go(qp->dev, x);
	bf_rdma_atomic_put(qp->dev, x);
	qp->inflight--;
	if (qp->dead) {
		qp->dev->ops->release(qp);
		return;
	}
	if (stale)
		return;
	a->executed = true;
	if (failed)
		atomic_failed(qp, a);
	else
		bf_rdma_answer_run(qp);
}

/* Why an atomic is invalid; NULL: it is not. */
static const char *atomic_refused(const struct bf_rdma_qp *qp, const struct bf_roce *r, uint32_t size)
{
	bool extended = r->opcode == BF_RC_EXT_COMPARE_SWAP || r->opcode == BF_RC_EXT_FETCH_ADD;

	if (!(qp->access & BF_RDMA_ACCESS_ATOMIC))
		return "QP allows no remote ATOMIC";
	if (!qp->atomic_mode || (extended && qp->atomic_mode == 1))
		return "atomic_mode lacks this atomic";
	if (size != 4 && size != 8)
		return "atomic of neither 4 nor 8 bytes";
	if (r->va & (size - 1))
		return "atomic's address is unaligned";
	return answers_in_use(qp) < qp->max_answers ? NULL : "too many READs and atomics";
}

void bf_rdma_answer_atomic(struct bf_rdma_qp *qp, const struct bf_roce *r)
{
	bool plain = r->opcode == BF_RC_COMPARE_SWAP || r->opcode == BF_RC_FETCH_ADD;
	uint32_t size = plain ? 8 : r->atomic_size, run = size;
	struct bf_rdma_atomic *x;
	struct bf_rdma_answer *a;
	struct bf_fault mute;
	uint8_t memory = 0;
	const char *why = atomic_refused(qp, r, size);

	if (why) {
		refuse(qp, r, BF_AETH_NAK_INV_REQ, why);
		return;
	}
	if (!bf_rdma_allowed(qp, r->rkey, r->va, size, BF_RDMA_ACCESS_ATOMIC, &memory)) {
		refuse_key(qp, r, memory);
		return;
	}
	x = bf_rdma_atomic_get(qp->dev);
	a = x ? new_answer(qp, r, 1) : NULL;
	if (!a) {
		if (x)
			bf_rdma_atomic_put(qp->dev, x);
		return;
	}
	if (bf_fault_check(qp->dev->sim, BF_FAULT_MUTE, qp->actor, qp->qpn, &mute))
		qp->mute = true;
	a->busy = true;
	x->qp = qp;
	x->answer = a;
	x->size = (uint8_t)size;
	x->swap_add = r->swap_add;
	x->compare = r->compare;
	x->swap_mask = r->swap_mask;
	x->compare_mask = r->compare_mask;
	x->epoch = qp->epoch;
	/* An operand in several pieces cannot be changed at once: memory says no. */
	x->op.iova =
	    memory & BF_RDMA_MEMORY_MAPPED ? qp->dev->ops->map(qp, r->rkey, r->va, BF_RDMA_ACCESS_ATOMIC, &run) : r->va;
	x->op.len = run;
	x->op.dst = NULL;
	x->op.modify = modify;
	x->op.passes_relaxed = !qp->dev->profile.atomics_wait;
	x->op.done = atomic_done;
	qp->inflight++;
	if (BF_UNLIKELY(qp->dev->profile.atomics_hold))
		hold(qp->dev, x);
	else
		bf_dma_read(qp->dev->dma, &x->op);
}

static uint8_t response_opcode(uint32_t k, uint32_t n, uint32_t from)
{
	if (k == n - 1)
		return k == from ? BF_RC_READ_RESP_ONLY : BF_RC_READ_RESP_LAST;
	return k == from ? BF_RC_READ_RESP_FIRST : BF_RC_READ_RESP_MIDDLE;
}

/* Starts one packet of a READ's answer. */
static bool send_response(struct bf_rdma_qp *qp, struct bf_rdma_answer *a)
{
	struct bf_rdma *dev = qp->dev;
	struct bf_roce *r = &dev->tx;
	uint32_t offset = a->sent << qp->mtu_shift, left = a->len - offset, mtu = 1u << qp->mtu_shift;
	uint32_t len = left < mtu ? left : mtu, at;
	struct bf_packet *pkt = bf_packet_alloc_for(dev->fabric, len);
	const struct bf_roce_path *path;

	if (!pkt)
		return false;
	r->opcode = response_opcode(a->sent, a->npsn, a->from);
	r->solicited = r->ack_req = false;
	r->pad = (uint8_t)(-len & 3);
	path = bf_rdma_address(qp, NULL, r);
	r->psn = bf_psn_add(a->psn, a->sent);
	r->aeth_syndrome = BF_AETH_ACK;
	r->msn = a->msn;
	r->payload_len = len;
	at = bf_roce_build(pkt->data, path, r);
	a->sent++;
	if (len)
		return bf_rdma_tx_response(qp, pkt, r->psn, at, a->rkey, a->memory, a->va + offset, len);
	pkt->len = bf_roce_finish(pkt->data, r, at, dev->profile.icrc);
	bf_rdma_tx_push(qp, pkt, BF_RDMA_TX_RESPONSE | BF_RDMA_TX_WHOLE);
	return true;
}

/* The key of the READ is still good, although keys may have gone since its request came. */
static bool key_holds(struct bf_rdma_qp *qp, struct bf_rdma_answer *a)
{
	uint32_t done = a->sent << qp->mtu_shift;

	if (BF_LIKELY(a->keys == qp->dev->key_changes) || !a->len)
		return true;
	a->keys = qp->dev->key_changes;
	return qp->dev->ops->remote(qp, a->rkey, a->va + done, a->len - done, BF_RDMA_ACCESS_REMOTE_READ, &a->memory);
}

/* The rest of the READ is refused; of a repetition, which may be a mere echo of the network, nothing more is sent. */
static bool key_gone(struct bf_rdma_qp *qp, struct bf_rdma_answer *a)
{
	if (a->again) {
		a->sent = a->npsn;
		return true;
	}
	qp->answers->tail = qp->answers->head;
	tell(qp, a->opcode, bf_psn_add(a->psn, a->sent), BF_AETH_NAK_ACCESS, true, "remote key");
	return false;
}

/* Whether the unit that makes responses of this queue pair is done with the last packet; if so it begins the next. */
static bool paced(struct bf_rdma_qp *qp)
{
	struct bf_sim *sim = qp->dev->sim;

	if (qp->answers->free_ps > sim->now_ps) {
		bf_sim_at(sim, &qp->answers->event, qp->answers->free_ps);
		return false;
	}
	qp->answers->free_ps = sim->now_ps + qp->dev->profile.answer_ps;
	return true;
}

/* False: has to wait. */
static bool answer_one(struct bf_rdma_qp *qp, struct bf_rdma_answer *a)
{
	struct bf_sim *sim = qp->dev->sim;

	if (a->opcode != BF_RC_READ_REQUEST) {
		if (!a->executed)
			return false;
		if (!a->sent)
			send_aeth(qp, BF_RC_ATOMIC_ACK, BF_AETH_ACK, a->psn, a->msn, a->old);
		a->sent = 1;
		return true;
	}
	while (a->sent < a->npsn) {
		const uint64_t port_free = bf_port_tx_free_for_ps(qp->port, qp->remote_qpn);

		if (!key_holds(qp, a))
			return key_gone(qp, a);
		if (qp->answers_inflight >= GATHER_WINDOW)
			return false;
		if (port_free > sim->now_ps + BF_RDMA_BACKLOG_PS) {
			bf_sim_at(sim, &qp->answers->event, port_free - BF_RDMA_BACKLOG_PS / 2);
			return false;
		}
		if (BF_UNLIKELY(qp->dev->profile.answer_ps) && !paced(qp))
			return false;
		if (!send_response(qp, a))
			return false;
	}
	return true;
}

/* Sends what is due, in order. */
void bf_rdma_answer_run(struct bf_rdma_qp *qp)
{
	while (bf_rdma_answers_pending(qp)) {
		if (!answer_one(qp, answer_at(qp, qp->answers->head)))
			return;
		qp->answers->head++;
	}
	if (nak_may_leave(qp))
		send_nak(qp);
	else if (!qp->nak && qp->acks_owed)
		send_ack(qp);
}

void bf_rdma_answer_fired(struct bf_event *ev)
{
	bf_rdma_answer_run(BF_CONTAINER_OF(ev, struct bf_rdma_answers, event)->qp);
}

/* The resource whose answer covers `psn`, among those that are remembered. */
static bool find_answer(const struct bf_rdma_qp *qp, uint32_t psn, uint32_t *out)
{
	for (uint32_t n = 1; qp->answers && n <= qp->answers->cap && n <= qp->answers->tail; n++) {
		const struct bf_rdma_answer *a = answer_at(qp, qp->answers->tail - n);
		int32_t into = bf_psn_diff(psn, a->psn);

		if (a->npsn && into >= 0 && (uint32_t)into < a->npsn) {
			*out = qp->answers->tail - n;
			return true;
		}
	}
	return false;
}

/*
 * A READ that was answered is executed again from where the duplicate asks; an atomic gets its saved result. The
 * answers go out again from there in order; later ones that were complete are sent again only when asked for.
 */
static void answer_again(struct bf_rdma_qp *qp, const struct bf_roce *r)
{
	struct bf_rdma_answer *a;
	uint8_t memory;
	uint32_t i;

	if (!find_answer(qp, r->psn, &i))
		return; /* older than what is remembered: the requester has moved on */
	a = answer_at(qp, i);
	if (a->opcode != r->opcode)
		return;
	if (r->opcode == BF_RC_READ_REQUEST) {
		uint32_t skip = (uint32_t)bf_psn_diff(r->psn, a->psn);

		if (r->va != a->va + ((uint64_t)skip << qp->mtu_shift) || r->rkey != a->rkey ||
		    r->dma_len != a->len - (skip << qp->mtu_shift))
			return;
		if (a->len &&
		    !qp->dev->ops->remote(qp, r->rkey, r->va, r->dma_len, BF_RDMA_ACCESS_REMOTE_READ, &memory))
			return;
		a->sent = a->from = skip;
	} else {
		a->sent = 0;
	}
	a->again = true;
	if ((int32_t)(i - qp->answers->head) < 0)
		qp->answers->head = i;
	bf_rdma_answer_run(qp);
}

/* A request that was seen before (IBA vol. 1 section 9.7.5.1.4): WRITEs and SENDs are acknowledged, never repeated. */
void bf_rdma_answer_duplicate(struct bf_rdma_qp *qp, const struct bf_roce *r)
{
	uint32_t info = bf_roce_opcode_info(r->opcode);

	if (r->opcode == BF_RC_READ_REQUEST || info & (BF_ROCE_HAS_ATOMIC | BF_ROCE_HAS_EXT_ATOMIC))
		answer_again(qp, r);
	else if (r->ack_req)
		bf_rdma_ack(qp, true);
}
