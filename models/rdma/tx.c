/*
 * The requester: work requests become packets.
 *
 * They start in order; a message leaves as packets of exactly one path MTU except the last, as many as the window
 * allows; payload is read by DMA straight into the packet. Packets leave in the order of their PSNs although some wait
 * for their payload: they queue in txq.
 */
#include "models/rdma/transport_internal.h"

#define PKT_DEAD 0x100u       /* went stale before it could leave */
#define UNRELIABLE_WINDOW 64u /* packets of a queue whose data are on the way from memory: assumed */

bool bf_rdma_send_halt(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	if (s->flags & BF_RDMA_SEND_FAILED)
		return false;
	s->flags |= BF_RDMA_SEND_FAILED;
	qp->halted = true;
	return true;
}

void bf_rdma_fail(struct bf_rdma_qp *qp, struct bf_rdma_send *s, enum bf_rdma_cause cause, const char *why)
{
	if (bf_rdma_send_halt(qp, s))
		qp->dev->ops->failed(qp, s, cause, why);
}

static void leave(struct bf_rdma_qp *qp, struct bf_packet *pkt)
{
	if (BF_UNLIKELY(qp->service == BF_RDMA_RAW))
		bf_port_send_raw(qp->port, pkt);
	else
		bf_port_send(qp->port, pkt);
}

static void flush_txq(struct bf_rdma_qp *qp)
{
	while (qp->txq && (qp->txq->flags & BF_RDMA_TX_WHOLE)) {
		struct bf_packet *pkt = qp->txq;

		qp->txq = pkt->next;
		if (!qp->txq)
			qp->txq_tail = &qp->txq;
		if (pkt->flags & PKT_DEAD)
			bf_packet_free(pkt);
		else
			leave(qp, pkt);
	}
}

void bf_rdma_tx_push(struct bf_rdma_qp *qp, struct bf_packet *pkt, uint32_t flags)
{
	pkt->flags = BF_UNLIKELY(qp->mute) ? flags | PKT_DEAD : flags;
	if (BF_UNLIKELY(qp->mute) && flags & BF_RDMA_TX_WHOLE && !qp->txq) {
		bf_packet_free(pkt);
		return;
	}
	if (flags & BF_RDMA_TX_WHOLE && !qp->txq) {
		leave(qp, pkt);
		return;
	}
	pkt->next = NULL;
	*qp->txq_tail = pkt;
	qp->txq_tail = &pkt->next;
}

void bf_rdma_tx_drop(struct bf_rdma_qp *qp, uint32_t kinds)
{
	for (struct bf_packet *pkt = qp->txq; pkt; pkt = pkt->next)
		if (pkt->flags & kinds)
			pkt->flags |= PKT_DEAD;
}

/* Nothing of the entry is left to be read, and nobody will acknowledge it. */
static void unreliable_done(struct bf_rdma_qp *qp, uint16_t slot)
{
	bf_rdma_send_at(qp, slot)->flags |= BF_RDMA_SEND_DONE;
}

static void gather_failed(struct bf_rdma_qp *qp, const struct bf_rdma_xfer *x)
{
	x->pkt->flags |= PKT_DEAD;
	if (x->response) {
		bf_rdma_tx_drop(qp, BF_RDMA_TX_RESPONSE);
		bf_rdma_answers_void(qp);
		bf_rdma_nak(qp, BF_AETH_NAK_OP, x->psn, BF_RC_READ_REQUEST);
		return;
	}
	bf_rdma_tx_drop(qp, BF_RDMA_TX_REQUEST);
	bf_rdma_fail(qp, bf_rdma_send_at(qp, x->slot), BF_RDMA_LOCAL_DATA, "local data cannot be read");
}

/* The last piece of a packet is in (reads complete in order). */
static void piece_is_last(struct bf_rdma_qp *qp, const struct bf_rdma_xfer *x, bool stale)
{
	struct bf_packet *pkt = x->pkt;
	struct bf_roce r;

	r.payload_len = x->payload_len;
	r.pad = (uint8_t)(-x->payload_len & 3);
	if (BF_UNLIKELY(qp->service == BF_RDMA_RAW))
		bf_rdma_frame_finish(pkt, x->payload_len, stale ? 0 : bf_rdma_send_at(qp, x->slot)->flags);
	else if (!(pkt->flags & PKT_DEAD))
		pkt->len = bf_roce_finish(pkt->data, &r, x->payload_offset, qp->dev->profile.icrc);
	pkt->flags |= BF_RDMA_TX_WHOLE;
	flush_txq(qp);
	if (x->ends && !stale)
		unreliable_done(qp, x->slot);
}

static void gather_done(struct bf_dma_op *op)
{
	struct bf_rdma_xfer *x = BF_CONTAINER_OF(op, struct bf_rdma_xfer, op);
	struct bf_rdma_qp *qp = x->qp;
	const bool stale = x->epoch != qp->epoch || qp->dead || qp->state == BF_RDMA_ERR;
	const bool response = x->response, last = x->last;

	qp->inflight--;
	if (BF_UNLIKELY(op->status) && !stale && !(x->pkt->flags & PKT_DEAD))
		gather_failed(qp, x);
	if (last)
		piece_is_last(qp, x, stale);
	bf_rdma_xfer_put(qp->dev, x);
	if (qp->dead) {
		qp->dev->ops->release(qp);
		return;
	}
	if (stale || !last)
		return;
	if (response) {
		qp->answers_inflight--;
		bf_rdma_answer_run(qp);
	} else if (BF_UNLIKELY(op->status) || bf_rdma_is_unreliable(qp) || qp->dev->profile.gather_window) {
		qp->dev->ops->run(qp);
	}
}

/* Starts reading one piece into `dst`. The caller says which is the last. */
static bool gather_piece(struct bf_rdma_qp *qp, const struct bf_rdma_xfer *like, uint64_t iova, uint32_t len, void *dst,
			 bool last)
{
	struct bf_rdma_xfer *x = bf_rdma_xfer_get(qp->dev);

	if (!x)
		return false;
	x->qp = qp;
	x->pkt = like->pkt;
	x->epoch = qp->epoch;
	x->psn = like->psn;
	x->payload_len = like->payload_len;
	x->payload_offset = like->payload_offset;
	x->slot = like->slot;
	x->response = like->response;
	x->ends = like->ends;
	x->last = last;
	x->op.iova = iova;
	x->op.len = len;
	x->op.dst = dst;
	x->op.done = gather_done;
	qp->inflight++;
	bf_dma_read(qp->dev->dma, &x->op);
	return true;
}

/* Reads `len` payload bytes from `offset` of the message into the packet and queues it. */
static void gather(struct bf_rdma_qp *qp, const struct bf_rdma_send *s, struct bf_packet *pkt, uint32_t psn,
		   uint32_t payload_offset, uint32_t offset, uint32_t len)
{
	struct bf_rdma_xfer like = { .pkt = pkt,
				     .psn = psn,
				     .payload_len = len,
				     .payload_offset = (uint16_t)payload_offset,
				     .slot = s->slot,
				     .ends = bf_rdma_is_unreliable(qp) && offset + len == s->length };
	struct bf_rdma_walk w = { .qp = qp, .send = s, .skip = offset };
	struct bf_rdma_piece p;
	uint8_t *to = pkt->data + payload_offset, *first;

	if (BF_UNLIKELY(s->inline_len)) {
		uint32_t head = offset < s->inline_len ? s->inline_len - offset : 0;

		head = head < len ? head : len;
		qp->dev->ops->copy(qp, s, offset, to, head);
		w.skip = offset + head - s->inline_len;
		to += head;
		len -= head;
	}
	bf_rdma_tx_push(qp, pkt, BF_RDMA_TX_REQUEST);
	if (BF_LIKELY(s->direct)) {
		if (!gather_piece(qp, &like, s->iova + offset, len, to, true))
			pkt->flags |= PKT_DEAD | BF_RDMA_TX_WHOLE;
		return;
	}
	first = to;
	while (len && qp->dev->ops->piece(&w, len, &p)) {
		bool only = to == first;

		len -= p.len;
		if (!gather_piece(qp, &like, p.iova, p.len, to, !len))
			pkt->flags |= PKT_DEAD | (only && !len ? BF_RDMA_TX_WHOLE : 0);
		to += p.len;
	}
}

/* BTH opcode of packet `k` of `n`. */
static uint8_t packet_opcode(const struct bf_rdma_send *s, uint32_t k, uint32_t n)
{
	bool first = k == 0, last = k == n - 1;

	if (s->op == BF_RDMA_OP_WRITE || s->op == BF_RDMA_OP_WRITE_IMM) {
		if (last && s->op == BF_RDMA_OP_WRITE_IMM)
			return first ? BF_RC_WRITE_ONLY_IMM : BF_RC_WRITE_LAST_IMM;
		if (last)
			return first ? BF_RC_WRITE_ONLY : BF_RC_WRITE_LAST;
		return first ? BF_RC_WRITE_FIRST : BF_RC_WRITE_MIDDLE;
	}
	if (!last)
		return first ? BF_RC_SEND_FIRST : BF_RC_SEND_MIDDLE;
	if (s->op == BF_RDMA_OP_SEND_IMM)
		return first ? BF_RC_SEND_ONLY_IMM : BF_RC_SEND_LAST_IMM;
	if (s->op == BF_RDMA_OP_SEND_INVAL)
		return first ? BF_RC_SEND_ONLY_INV : BF_RC_SEND_LAST_INV;
	return first ? BF_RC_SEND_ONLY : BF_RC_SEND_LAST;
}

static uint32_t in_flight(const struct bf_rdma_qp *qp)
{
	return (uint32_t)bf_psn_diff(qp->tx_psn, qp->una_psn);
}

const struct bf_roce_path *bf_rdma_address(struct bf_rdma_qp *qp, const struct bf_rdma_send *s, struct bf_roce *r)
{
	r->dest_qp = qp->remote_qpn;
	r->uc = qp->service == BF_RDMA_UC;
	r->dc = r->xrc = false;
	return BF_UNLIKELY(qp->asks & BF_RDMA_ASKS_ADDRESS) ? qp->dev->ops->address(qp, s, r) : &qp->path;
}

/* Opcode and address of packet `k`. NULL: the entry names nobody, and has failed. */
static const struct bf_roce_path *address(struct bf_rdma_qp *qp, struct bf_rdma_send *s, uint32_t k, struct bf_roce *r)
{
	const struct bf_roce_path *path;

	r->opcode = packet_opcode(s, k, s->npsn);
	path = bf_rdma_address(qp, s, r);
	if (BF_UNLIKELY(!path))
		bf_rdma_fail(qp, s, BF_RDMA_NO_ADDRESS, "address vector names nobody");
	return path;
}

/* One packet of a WRITE or SEND. False on lack of memory: the time-out sends it again. */
static bool send_data(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	struct bf_rdma *dev = qp->dev;
	struct bf_roce *r = &dev->tx;
	uint32_t k = qp->tx_packet, offset = k << qp->mtu_shift;
	uint32_t left = s->length - offset, mtu = 1u << qp->mtu_shift, len = left < mtu ? left : mtu, at;
	struct bf_packet *pkt = bf_packet_alloc_for(dev->fabric, len);
	const struct bf_roce_path *path = pkt ? address(qp, s, k, r) : NULL;
	bool last = k == s->npsn - 1;

	if (BF_UNLIKELY(!path)) {
		if (pkt)
			bf_packet_free(pkt);
		return false;
	}
	r->solicited = last && (s->flags & BF_RDMA_SEND_SOLICITED);
	/* log_ack_req_freq 0: every packet asks (docs/hardware/roce.md#acknowledgements-3). */
	r->ack_req = !bf_rdma_is_unreliable(qp);
	r->pad = (uint8_t)(-len & 3);
	r->psn = qp->tx_psn;
	r->va = s->raddr;
	r->rkey = s->rkey;
	r->dma_len = s->length;
	r->imm = s->imm;
	r->payload_len = len;
	at = bf_roce_build(pkt->data, path, r);
	if (offset + len <= s->inline_len || !len) {
		if (len)
			dev->ops->copy(qp, s, offset, pkt->data + at, len);
		pkt->len = bf_roce_finish(pkt->data, r, at, dev->profile.icrc);
		bf_rdma_tx_push(qp, pkt, BF_RDMA_TX_REQUEST | BF_RDMA_TX_WHOLE);
		if (last && bf_rdma_is_unreliable(qp))
			unreliable_done(qp, s->slot);
	} else {
		gather(qp, s, pkt, qp->tx_psn, at, offset, len);
	}
	return true;
}

/* The frame of an entry. */
static bool send_frame(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	struct bf_packet *pkt = bf_packet_alloc(qp->dev->fabric);

	if (!pkt)
		return false;
	if (s->length > s->inline_len) {
		gather(qp, s, pkt, qp->tx_psn, 0, 0, s->length);
		return true;
	}
	qp->dev->ops->copy(qp, s, 0, pkt->data, s->length);
	bf_rdma_frame_finish(pkt, s->length, s->flags);
	bf_rdma_tx_push(qp, pkt, BF_RDMA_TX_REQUEST | BF_RDMA_TX_WHOLE);
	unreliable_done(qp, s->slot);
	return true;
}

static uint8_t request_opcode(const struct bf_rdma_send *s)
{
	switch (s->op) {
	case BF_RDMA_OP_READ:
		return BF_RC_READ_REQUEST;
	case BF_RDMA_OP_COMPARE_SWAP:
		return BF_RC_COMPARE_SWAP;
	case BF_RDMA_OP_FETCH_ADD:
		return BF_RC_FETCH_ADD;
	case BF_RDMA_OP_MASKED_COMPARE_SWAP:
		return BF_RC_EXT_COMPARE_SWAP;
	default:
		return BF_RC_EXT_FETCH_ADD;
	}
}

/* The request packet of a READ (from packet tx_packet of its answer on) or of an atomic. */
static bool send_request(struct bf_rdma_qp *qp, const struct bf_rdma_send *s)
{
	struct bf_rdma *dev = qp->dev;
	struct bf_roce *r = &dev->tx;
	struct bf_packet *pkt = bf_packet_alloc_for(dev->fabric, 0);
	const struct bf_roce_path *path;
	uint32_t offset = qp->tx_packet << qp->mtu_shift;

	if (!pkt)
		return false;
	r->opcode = request_opcode(s);
	path = bf_rdma_address(qp, s, r);
	r->solicited = false;
	r->ack_req = true;
	r->pad = 0;
	r->psn = qp->tx_psn;
	r->va = s->raddr + offset;
	r->rkey = s->rkey;
	r->dma_len = s->length - offset;
	r->payload_len = 0;
	r->atomic_size = s->atomic_size;
	if (s->atomic_size)
		dev->ops->operands(qp, s, r);
	pkt->len = bf_roce_finish(pkt->data, r, bf_roce_build(pkt->data, path, r), dev->profile.icrc);
	bf_rdma_tx_push(qp, pkt, BF_RDMA_TX_REQUEST | BF_RDMA_TX_WHOLE);
	return true;
}

/* A packet leaves while there are some that leave again. */
static void count_resent(struct bf_rdma_qp *qp)
{
	if (bf_psn_diff(qp->tx_psn, qp->resend_end) < 0)
		qp->dev->count.packets_resent++;
	else
		qp->resending = false;
}

/*
 * Packets that nobody acknowledges leave as fast as memory and the port take them: a bounded number is read ahead, and
 * none when the port has enough to send.
 */
static bool unreliable_may_send(struct bf_rdma_qp *qp)
{
	const uint64_t now = qp->dev->sim->now_ps, free_ps = bf_port_tx_free_ps(qp->port);

	if (qp->inflight >= UNRELIABLE_WINDOW)
		return false;
	if (free_ps <= now + BF_RDMA_BACKLOG_PS)
		return true;
	bf_rdma_pause(qp, free_ps - now - BF_RDMA_BACKLOG_PS / 2);
	return false;
}

/*
 * Sends what the window allows of the entry at tx_index. True when all of it is out. READs do not count against the
 * window of packets (their data travel the other way), only against the PSN space.
 */
static bool transmit(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	while (qp->tx_packet < s->npsn) {
		uint32_t n = 1;

		if (BF_UNLIKELY(qp->asks & BF_RDMA_ASKS_CONNECTION) && !qp->dev->ops->gate(qp))
			return false;
		if (s->flags & BF_RDMA_SEND_RDATOMIC) {
			n = s->npsn - qp->tx_packet;
			if (in_flight(qp) && in_flight(qp) + n > BF_PSN_SPAN)
				return false;
			if (!send_request(qp, s))
				return false;
			qp->read_psns += n;
		} else {
			if (in_flight(qp) - qp->read_psns >= qp->dev->profile.max_outstanding ||
			    in_flight(qp) >= BF_PSN_SPAN)
				return false;
			if (in_flight(qp) >= BF_UPLINK_HELD_MAX &&
			    bf_port_tx_held(qp->port, qp->remote_qpn) >= BF_UPLINK_HELD_MAX)
				return false; /* until those that have left are acknowledged */
			if (BF_UNLIKELY(bf_rdma_is_unreliable(qp)) && !unreliable_may_send(qp))
				return false;
			if (BF_UNLIKELY(qp->dev->profile.gather_window) &&
			    qp->inflight >= qp->dev->profile.gather_window)
				return false;
			if (BF_UNLIKELY(qp->service == BF_RDMA_RAW) ? !send_frame(qp, s) : !send_data(qp, s))
				return false;
		}
		if (BF_UNLIKELY(qp->resending))
			count_resent(qp);
		qp->dev->tx_busy_ps += qp->dev->profile.packet_tx_ps;
		qp->tx_packet += n;
		qp->tx_psn = bf_psn_add(qp->tx_psn, n);
		if (BF_UNLIKELY(bf_rdma_is_unreliable(qp)))
			qp->una_psn = qp->tx_psn;
		else
			bf_rdma_rto_start(qp);
	}
	return true;
}

/* May the entry start while earlier ones are unfinished? */
static bool fence_holds(const struct bf_rdma_qp *qp, const struct bf_rdma_send *s)
{
	return (s->fence & BF_RDMA_FENCE_READS && qp->rdatomic) || (s->fence & BF_RDMA_FENCE_LOCAL && qp->locals) ||
	       (s->fence & BF_RDMA_FENCE_ALL && qp->head != s->slot);
}

static bool length_allowed(const struct bf_rdma_qp *qp, const struct bf_rdma_send *s)
{
	/* A datagram is one packet, and so is a frame. */
	if (BF_UNLIKELY(qp->service == BF_RDMA_UD) && s->length > 1u << qp->mtu_shift)
		return false;
	if (BF_UNLIKELY(qp->service == BF_RDMA_RAW))
		return s->length <= BF_RDMA_FRAME_MAX;
	return (uint64_t)s->length <= 1ull << qp->log_msg_max;
}

/* Before the first packet, and before later ones when keys have gone since. */
static bool check(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	if (BF_UNLIKELY(bf_rdma_is_unreliable(qp)) && s->flags & BF_RDMA_SEND_RDATOMIC) {
		bf_rdma_fail(qp, s, BF_RDMA_NOT_HERE, "READ or atomic on an unreliable connection");
		return false;
	}
	if (!length_allowed(qp, s)) {
		bf_rdma_fail(qp, s, BF_RDMA_TOO_LONG, "longer than a message may be");
		return false;
	}
	s->keys = qp->dev->key_changes;
	return qp->dev->ops->check(qp, s);
}

static uint32_t packets_of(const struct bf_rdma_qp *qp, const struct bf_rdma_send *s)
{
	if (s->atomic_size || !s->length || qp->service == BF_RDMA_RAW)
		return 1;
	return ((s->length - 1) >> qp->mtu_shift) + 1;
}

/* Its place in the sequence; what the device does alone has none. False: it failed. */
static bool begin(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	s->psn = qp->send_psn;
	s->npsn = 0;
	if (s->op == BF_RDMA_OP_LOCAL) {
		if (!qp->dev->ops->local(qp, s))
			return false;
		s->flags |= BF_RDMA_SEND_STARTED;
		return true;
	}
	s->npsn = packets_of(qp, s);
	qp->send_psn = bf_psn_add(qp->send_psn, s->npsn);
	s->flags |= BF_RDMA_SEND_STARTED;
	if (s->flags & BF_RDMA_SEND_RDATOMIC)
		qp->rdatomic++;
	if (bf_probe(qp->dev->sim, BF_CLASS_QUEUE) && qp->dev->ops->started)
		qp->dev->ops->started(qp, s);
	return true;
}

/* First touch of an entry: fence, checks, PSNs. False: not now, or it failed. */
static bool start(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	if (qp->state != BF_RDMA_RTS || qp->halted || fence_holds(qp, s))
		return false;
	if (s->flags & BF_RDMA_SEND_RDATOMIC && qp->rdatomic >= qp->max_rdatomic)
		return false;
	if (s->flags & BF_RDMA_SEND_FAILED) {
		qp->halted = true;
		return false;
	}
	if (!check(qp, s))
		return false;
	if (BF_UNLIKELY(qp->asks & BF_RDMA_ASKS_CONNECTION) && !qp->dev->ops->ready(qp, s))
		return false;
	return begin(qp, s);
}

static void transmit_all(struct bf_rdma_qp *qp)
{
	if (qp->state != BF_RDMA_RTS && qp->state != BF_RDMA_SQD)
		return;
	while (qp->tx_index != qp->decoded && !qp->paused) {
		struct bf_rdma_send *s = bf_rdma_send_at(qp, qp->tx_index);

		if (!(s->flags & BF_RDMA_SEND_STARTED) && !start(qp, s))
			return;
		if (s->flags & BF_RDMA_SEND_FAILED)
			return; /* what came before it may still be sent again; it and its followers not */
		if (BF_UNLIKELY(s->keys != qp->dev->key_changes) && !check(qp, s))
			return;
		if (!transmit(qp, s))
			return;
		qp->tx_index = (uint16_t)(qp->tx_index + s->slots);
		qp->tx_packet = 0;
	}
}

/* One packet of a READ's answer: the responder's gather. */
bool bf_rdma_tx_response(struct bf_rdma_qp *qp, struct bf_packet *pkt, uint32_t psn, uint32_t payload_offset,
			 uint32_t rkey, uint8_t memory, uint64_t va, uint32_t len)
{
	struct bf_rdma_xfer like = {
		.pkt = pkt, .psn = psn, .payload_len = len, .payload_offset = (uint16_t)payload_offset, .response = true
	};
	uint8_t *to = pkt->data + payload_offset;
	bool under_way = false;

	bf_rdma_tx_push(qp, pkt, BF_RDMA_TX_RESPONSE);
	for (uint32_t run; len; len -= run, va += run, to += run, under_way = true) {
		uint64_t iova = va;

		run = len;
		if (BF_UNLIKELY(memory & BF_RDMA_MEMORY_MAPPED))
			iova = qp->dev->ops->map(qp, rkey, va, BF_RDMA_ACCESS_REMOTE_READ, &run);
		if (gather_piece(qp, &like, iova, run, to, run == len))
			continue;
		pkt->flags |= PKT_DEAD | (under_way ? 0 : BF_RDMA_TX_WHOLE);
		return false;
	}
	qp->answers_inflight++;
	return true;
}

bool bf_rdma_retire(struct bf_rdma_qp *qp)
{
	const uint16_t from = qp->head;

	while (qp->head != qp->decoded) {
		struct bf_rdma_send *s = bf_rdma_send_at(qp, qp->head);
		enum bf_rdma_end end = BF_RDMA_DONE;

		if (BF_UNLIKELY(s->flags & BF_RDMA_SEND_ELSEWHERE)) {
			qp->head = qp->ack_index = qp->tx_index = (uint16_t)(qp->head + s->slots);
			continue;
		}
		if (bf_rdma_flushes(qp))
			end = BF_RDMA_FLUSHED;
		else if (s->flags & BF_RDMA_SEND_FAILED && qp->halted)
			end = BF_RDMA_FAILED;
		else if (!(s->flags & BF_RDMA_SEND_DONE))
			break;
		if (qp->ack_index == qp->head)
			qp->ack_index = (uint16_t)(qp->head + s->slots);
		qp->head = (uint16_t)(qp->head + s->slots);
		qp->dev->ops->complete(qp, s, end);
		/*
		 * One that failed takes the whole queue pair down, or the send queue alone where no peer counts on it
		 * (IBA vol. 1 section 10.3.1.6). The completion may have done so, when its queue was full.
		 */
		if (end == BF_RDMA_FAILED && !bf_rdma_flushes(qp))
			qp->dev->ops->enter(qp, bf_rdma_is_unreliable(qp) ? BF_RDMA_SQER : BF_RDMA_ERR,
					    BF_RDMA_REQUESTER);
	}
	return qp->head != from;
}

void bf_rdma_progress(struct bf_rdma_qp *qp)
{
	do
		transmit_all(qp);
	while (bf_rdma_retire(qp) && qp->head != qp->decoded);
}
