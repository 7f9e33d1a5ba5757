/*
 * The requester: WQEs become packets.
 *
 * WQEs start in order; a message leaves as packets of exactly one path MTU except the last, as many as the window
 * allows; payload is read by DMA straight into the packet. Packets leave in the order of their PSNs although some wait
 * for their payload: they queue in txq.
 */
#include "models/mlx5/device_internal.h"

#define PKT_DEAD 0x100u       /* went stale before it could leave */
#define UNRELIABLE_WINDOW 64u /* packets of a queue whose data are on the way from memory: assumed */

/* Fetching local data failed on PCIe (perftest#140, ucx#3564, nccl#928). */
static const struct bf_mlx5_err err_data = { BF_MLX5_SYND_LOCAL_PROT, 0x51, 0x01 };
static const struct bf_mlx5_err err_length = { BF_MLX5_SYND_LOCAL_LENGTH, 0x00, 0x00 };
static const struct bf_mlx5_err err_opcode = { BF_MLX5_SYND_LOCAL_QP_OP, 0x61, 0x01 };

void bf_mlx5_send_fail(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, struct bf_mlx5_err err, const char *why)
{
	if (s->flags & BF_SEND_FAILED)
		return;
	s->flags |= BF_SEND_FAILED;
	s->err = err;
	qp->halted = true;
	bf_mlx5_qp_report(qp, 0, s->index, s->opcode, s->npsn ? s->psn : qp->send_psn, 0, err, why);
}

static void flush_txq(struct bf_mlx5_qp *qp)
{
	while (qp->txq && (qp->txq->flags & BF_TX_WHOLE)) {
		struct bf_packet *pkt = qp->txq;

		qp->txq = pkt->next;
		if (!qp->txq)
			qp->txq_tail = &qp->txq;
		if (pkt->flags & PKT_DEAD)
			bf_packet_free(pkt);
		else
			bf_port_send(qp->port->port, pkt);
	}
}

void bf_mlx5_tx_push(struct bf_mlx5_qp *qp, struct bf_packet *pkt, uint32_t flags)
{
	pkt->flags = flags;
	if (flags & BF_TX_WHOLE && !qp->txq) {
		bf_port_send(qp->port->port, pkt);
		return;
	}
	pkt->next = NULL;
	*qp->txq_tail = pkt;
	qp->txq_tail = &pkt->next;
}

void bf_mlx5_tx_drop(struct bf_mlx5_qp *qp, uint32_t kinds)
{
	for (struct bf_packet *pkt = qp->txq; pkt; pkt = pkt->next)
		if (pkt->flags & kinds)
			pkt->flags |= PKT_DEAD;
}

/* Nothing of the WQE is left to be read, and nobody will acknowledge it. */
static void unreliable_done(struct bf_mlx5_qp *qp, uint16_t slot)
{
	bf_mlx5_send_at(qp, slot)->flags |= BF_SEND_DONE;
}

static void gather_failed(struct bf_mlx5_qp *qp, const struct bf_mlx5_xfer *x)
{
	if (x->pkt)
		x->pkt->flags |= PKT_DEAD;
	if (x->response) {
		bf_mlx5_tx_drop(qp, BF_TX_RESPONSE);
		qp->answers_head = qp->answers_tail;
		bf_mlx5_nak(qp, BF_AETH_NAK_OP, x->psn, BF_RC_READ_REQUEST);
		return;
	}
	bf_mlx5_tx_drop(qp, BF_TX_REQUEST);
	bf_mlx5_send_fail(qp, bf_mlx5_send_at(qp, x->slot), err_data, "local data cannot be read");
}

/* The last piece of a packet or of a DUMP is in (reads complete in order). */
static void piece_is_last(struct bf_mlx5_qp *qp, const struct bf_mlx5_xfer *x, bool stale)
{
	struct bf_packet *pkt = x->pkt;

	if (pkt) {
		struct bf_roce r;

		r.payload_len = x->payload_len;
		r.pad = (uint8_t)(-x->payload_len & 3);
		if (!(pkt->flags & PKT_DEAD))
			pkt->len = bf_roce_finish(pkt->data, &r, x->payload_offset, qp->dev->profile.icrc);
		pkt->flags |= BF_TX_WHOLE;
		flush_txq(qp);
		if (x->ends && !stale)
			unreliable_done(qp, x->slot);
	} else if (!stale) {
		struct bf_mlx5_send *s = bf_mlx5_send_at(qp, x->slot);

		s->flags |= BF_SEND_DONE;
		qp->locals--;
	}
}

static void gather_done(struct bf_dma_op *op)
{
	struct bf_mlx5_xfer *x = BF_CONTAINER_OF(op, struct bf_mlx5_xfer, op);
	struct bf_mlx5_qp *qp = x->qp;
	bool stale = x->epoch != qp->epoch || qp->dead || qp->state == BF_MLX5_QPS_ERR;
	bool response = x->response, dump = !x->pkt, last = x->last;

	qp->inflight--;
	if (BF_UNLIKELY(op->status) && !stale && !(x->pkt && (x->pkt->flags & PKT_DEAD)))
		gather_failed(qp, x);
	if (last)
		piece_is_last(qp, x, stale);
	bf_mlx5_xfer_put(qp->dev, x);
	if (qp->dead) {
		bf_mlx5_qp_release(qp);
		return;
	}
	if (stale || !last)
		return;
	if (response) {
		qp->answers_inflight--;
		bf_mlx5_answer_run(qp);
	} else if (dump || BF_UNLIKELY(op->status) || bf_mlx5_is_unreliable(qp)) {
		bf_mlx5_sq_run(qp);
	}
}

/* Starts reading one piece into `dst`. The caller says which is the last. */
static bool gather_piece(struct bf_mlx5_qp *qp, const struct bf_mlx5_xfer *like, uint64_t va, uint32_t len, void *dst,
			 bool last)
{
	struct bf_mlx5_xfer *x = bf_mlx5_xfer_get(qp->dev);

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
	x->op.iova = va;
	x->op.len = len;
	x->op.dst = dst;
	x->op.done = gather_done;
	qp->inflight++;
	bf_dma_read(&qp->dev->dma, &x->op);
	return true;
}

/* Reads `len` payload bytes from `offset` of the message into the packet and queues it. */
static void gather(struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, struct bf_packet *pkt, uint32_t psn,
		   uint32_t payload_offset, uint32_t offset, uint32_t len)
{
	struct bf_mlx5_xfer like = { .pkt = pkt,
				     .psn = psn,
				     .payload_len = len,
				     .payload_offset = (uint16_t)payload_offset,
				     .slot = s->slot,
				     .ends = bf_mlx5_is_unreliable(qp) && offset + len == s->length };
	struct bf_mlx5_walk w = { .qp = qp, .send = s, .skip = offset };
	struct bf_mlx5_piece p;
	uint8_t *to = pkt->data + payload_offset, *first;

	if (BF_UNLIKELY(s->inline_len)) {
		uint32_t head = offset < s->inline_len ? s->inline_len - offset : 0;

		head = head < len ? head : len;
		bf_mlx5_copy_wqe(qp, s, s->inline_at + offset, to, head);
		w.skip = offset + head - s->inline_len;
		to += head;
		len -= head;
	}
	first = to;
	bf_mlx5_tx_push(qp, pkt, BF_TX_REQUEST);
	while (len && bf_mlx5_walk_next(&w, len, &p)) {
		bool only = to == first;

		len -= p.len;
		if (!gather_piece(qp, &like, p.va, p.len, to, !len))
			pkt->flags |= PKT_DEAD | (only && !len ? BF_TX_WHOLE : 0);
		to += p.len;
	}
}

/* BTH opcode of packet `k` of `n`. */
static uint8_t packet_opcode(const struct bf_mlx5_send *s, uint32_t k, uint32_t n)
{
	bool first = k == 0, last = k == n - 1;

	switch (s->opcode) {
	case BF_MLX5_OP_RDMA_WRITE:
	case BF_MLX5_OP_RDMA_WRITE_IMM:
		if (last && s->opcode == BF_MLX5_OP_RDMA_WRITE_IMM)
			return first ? BF_RC_WRITE_ONLY_IMM : BF_RC_WRITE_LAST_IMM;
		if (last)
			return first ? BF_RC_WRITE_ONLY : BF_RC_WRITE_LAST;
		return first ? BF_RC_WRITE_FIRST : BF_RC_WRITE_MIDDLE;
	default:
		if (!last)
			return first ? BF_RC_SEND_FIRST : BF_RC_SEND_MIDDLE;
		if (s->opcode == BF_MLX5_OP_SEND_IMM)
			return first ? BF_RC_SEND_ONLY_IMM : BF_RC_SEND_LAST_IMM;
		if (s->opcode == BF_MLX5_OP_SEND_INVAL)
			return first ? BF_RC_SEND_ONLY_INV : BF_RC_SEND_LAST_INV;
		return first ? BF_RC_SEND_ONLY : BF_RC_SEND_LAST;
	}
}

static uint32_t in_flight(const struct bf_mlx5_qp *qp)
{
	return (uint32_t)bf_psn_diff(qp->tx_psn, qp->una_psn);
}

/* Opcode and address of packet `k`. NULL: the WQE names nobody, and has failed. */
static const struct bf_roce_path *address(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, uint32_t k, struct bf_roce *r)
{
	if (BF_UNLIKELY(qp->service == BF_QPC_ST_UD)) {
		if (bf_mlx5_ud_address(qp, s, r))
			return &qp->dev->ud_path;
		bf_mlx5_send_fail(qp, s, err_opcode, "address vector names nobody");
		return NULL;
	}
	r->opcode = packet_opcode(s, k, s->npsn);
	bf_mlx5_address(qp, r);
	return &qp->path;
}

/* One packet of a WRITE or SEND. False on lack of memory: the time-out sends it again. */
static bool send_data(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	struct bf_mlx5 *dev = qp->dev;
	struct bf_roce *r = &dev->tx;
	struct bf_packet *pkt = bf_packet_alloc(dev->fabric);
	uint32_t k = qp->tx_packet, offset = k << qp->mtu_shift;
	uint32_t len = s->length - offset, mtu = 1u << qp->mtu_shift, at;
	const struct bf_roce_path *path = pkt ? address(qp, s, k, r) : NULL;
	bool last = k == s->npsn - 1;

	if (BF_UNLIKELY(!path)) {
		if (pkt)
			bf_packet_free(pkt);
		return false;
	}
	if (len > mtu)
		len = mtu;
	r->solicited = last && (s->flags & BF_SEND_SOLICITED);
	/* log_ack_req_freq 0: every packet asks (docs/hardware/roce.md#acknowledgements-3). */
	r->ack_req = !bf_mlx5_is_unreliable(qp);
	r->pad = (uint8_t)(-len & 3);
	r->psn = qp->tx_psn;
	r->va = s->raddr;
	r->rkey = s->rkey;
	r->dma_len = s->length;
	r->imm = s->imm;
	r->payload_len = len;
	at = bf_roce_build(pkt->data, path, r);
	if (s->flags & BF_SEND_INLINE || offset + len <= s->inline_len || !len) {
		uint32_t from = s->flags & BF_SEND_INLINE ? s->payload : s->inline_at;

		bf_mlx5_copy_wqe(qp, s, from + offset, pkt->data + at, len);
		pkt->len = bf_roce_finish(pkt->data, r, at, dev->profile.icrc);
		bf_mlx5_tx_push(qp, pkt, BF_TX_REQUEST | BF_TX_WHOLE);
		if (last && bf_mlx5_is_unreliable(qp))
			unreliable_done(qp, s->slot);
	} else {
		gather(qp, s, pkt, qp->tx_psn, at, offset, len);
	}
	return true;
}

static void atomic_operands(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, struct bf_roce *r)
{
	const uint32_t at = sizeof(struct bf_mlx5_ctrl) + s->av + sizeof(struct bf_mlx5_raddr);
	uint8_t b[32];

	bf_mlx5_copy_wqe(qp, s, at, b, sizeof(b));
	r->swap_mask = r->compare_mask = 0;
	if (s->opcode == BF_MLX5_OP_ATOMIC_CS || s->opcode == BF_MLX5_OP_ATOMIC_FA) {
		r->swap_add = bf_get_be64(b);
		r->compare = bf_get_be64(b + 8);
		return;
	}
	if (s->opcode == BF_MLX5_OP_ATOMIC_MASKED_FA) {
		r->swap_add = s->atomic_size == 4 ? bf_get_be32(b) : bf_get_be64(b);
		r->compare_mask = s->atomic_size == 4 ? bf_get_be32(b + 4) : bf_get_be64(b + 8);
		r->compare = 0;
		return;
	}
	r->swap_add = s->atomic_size == 4 ? bf_get_be32(b) : bf_get_be64(b);
	r->compare = s->atomic_size == 4 ? bf_get_be32(b + 4) : bf_get_be64(b + 8);
	r->swap_mask = s->atomic_size == 4 ? bf_get_be32(b + 8) : bf_get_be64(b + 16);
	r->compare_mask = s->atomic_size == 4 ? bf_get_be32(b + 12) : bf_get_be64(b + 24);
}

/* The request packet of a READ (from packet tx_packet of its answer on) or of an atomic. */
static bool send_request(struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s)
{
	struct bf_mlx5 *dev = qp->dev;
	struct bf_roce *r = &dev->tx;
	struct bf_packet *pkt = bf_packet_alloc(dev->fabric);
	uint32_t offset = qp->tx_packet << qp->mtu_shift;

	if (!pkt)
		return false;
	r->solicited = false;
	r->ack_req = true;
	r->pad = 0;
	bf_mlx5_address(qp, r);
	r->psn = qp->tx_psn;
	r->va = s->raddr + offset;
	r->rkey = s->rkey;
	r->dma_len = s->length - offset;
	r->payload_len = 0;
	r->atomic_size = s->atomic_size;
	switch (s->opcode) {
	case BF_MLX5_OP_RDMA_READ:
		r->opcode = BF_RC_READ_REQUEST;
		break;
	case BF_MLX5_OP_ATOMIC_CS:
		r->opcode = BF_RC_COMPARE_SWAP;
		break;
	case BF_MLX5_OP_ATOMIC_FA:
		r->opcode = BF_RC_FETCH_ADD;
		break;
	case BF_MLX5_OP_ATOMIC_MASKED_CS:
		r->opcode = BF_RC_EXT_COMPARE_SWAP;
		break;
	default:
		r->opcode = BF_RC_EXT_FETCH_ADD;
		break;
	}
	if (s->atomic_size)
		atomic_operands(qp, s, r);
	pkt->len = bf_roce_finish(pkt->data, r, bf_roce_build(pkt->data, &qp->path, r), dev->profile.icrc);
	bf_mlx5_tx_push(qp, pkt, BF_TX_REQUEST | BF_TX_WHOLE);
	return true;
}

/* A packet leaves while there are some that leave again. */
static void count_resent(struct bf_mlx5_qp *qp)
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
static bool unreliable_may_send(struct bf_mlx5_qp *qp)
{
	const uint64_t now = qp->dev->sim->now_ps, free_ps = bf_port_tx_free_ps(qp->port->port);

	if (qp->inflight >= UNRELIABLE_WINDOW)
		return false;
	if (free_ps <= now + BF_MLX5_BACKLOG_PS)
		return true;
	bf_mlx5_pause(qp, free_ps - now - BF_MLX5_BACKLOG_PS / 2);
	return false;
}

/*
 * Sends what the window allows of the WQE at tx_index. True when all of it is out. READs do not count against the
 * window of packets (their data travel the other way), only against the PSN space.
 */
static bool transmit(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	while (qp->tx_packet < s->npsn) {
		uint32_t n = 1;

		if (BF_UNLIKELY(qp->dci != NULL) && !bf_mlx5_dci_gate(qp))
			return false;
		if (s->flags & BF_SEND_RDATOMIC) {
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
			    bf_port_tx_held(qp->port->port, qp->remote_qpn) >= BF_UPLINK_HELD_MAX)
				return false; /* until those that have left are acknowledged */
			if (BF_UNLIKELY(bf_mlx5_is_unreliable(qp)) && !unreliable_may_send(qp))
				return false;
			if (!send_data(qp, s))
				return false;
		}
		if (BF_UNLIKELY(qp->resending))
			count_resent(qp);
		qp->dev->tx_busy_ps += qp->dev->profile.packet_tx_ps;
		qp->tx_packet += n;
		qp->tx_psn = bf_psn_add(qp->tx_psn, n);
		if (BF_UNLIKELY(bf_mlx5_is_unreliable(qp)))
			qp->una_psn = qp->tx_psn;
		else
			bf_mlx5_rto_start(qp);
	}
	return true;
}

static void start_dump(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	struct bf_mlx5_walk w = { .qp = qp, .send = s };
	struct bf_mlx5_xfer like = { .slot = s->slot };
	struct bf_mlx5_piece p;
	uint32_t left = s->length;

	/*
	 * The data are read and dropped, so only the first byte of each piece is sampled: what DUMP is for, pushing
	 * earlier posted writes out (PCIe ordering), a read of any length does.
	 */
	qp->locals++;
	while (left && bf_mlx5_walk_next(&w, left, &p)) {
		left -= p.len;
		if (!gather_piece(qp, &like, p.va, 1, &qp->dump_byte, !left))
			bf_mlx5_send_fail(qp, s, err_data, "no memory for a DMA read");
	}
}

/* May the WQE start while earlier ones are unfinished (docs/hardware/mlx5.md#send-entry-6)? */
static bool fence_holds(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s)
{
	switch (s->fm) {
	case BF_MLX5_FM_NONE:
		return false;
	case BF_MLX5_FM_SMALL:
		return qp->locals != 0;
	case BF_MLX5_FM_FENCE:
		return qp->rdatomic != 0;
	case BF_MLX5_FM_FENCE_SMALL:
		return qp->rdatomic != 0 || qp->locals != 0;
	default:
		return qp->head != s->slot;
	}
}

static bool length_allowed(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s)
{
	/* A datagram is one packet. */
	if (BF_UNLIKELY(qp->service == BF_QPC_ST_UD) && s->length > 1u << qp->mtu_shift)
		return false;
	return (uint64_t)s->length <= 1ull << qp->log_msg_max;
}

/* Before the first packet, and before later ones when keys have gone since. */
static bool check_wqe(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	uint32_t access = s->flags & BF_SEND_RDATOMIC ? BF_MLX5_ACCESS_LOCAL_WRITE : BF_MLX5_ACCESS_LOCAL_READ;
	enum bf_mlx5_key_fault f;

	if (BF_UNLIKELY(bf_mlx5_is_unreliable(qp)) && s->flags & BF_SEND_RDATOMIC) {
		bf_mlx5_send_fail(qp, s, err_opcode, "READ or atomic on an unreliable connection");
		return false;
	}
	if (!length_allowed(qp, s)) {
		bf_mlx5_send_fail(qp, s, err_length, "longer than a message may be");
		return false;
	}
	s->keys = qp->dev->key_changes;
	if (s->flags & BF_SEND_INLINE)
		return true;
	f = bf_mlx5_check_sges(qp, s, access);
	if (f)
		bf_mlx5_send_fail(qp, s, bf_mlx5_local_fault(f), "local key");
	return !f;
}

static void record_start(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s)
{
	BF_EMIT(qp->dev->sim, qp->actor, wqe_start, .raddr = s->raddr, .va = s->va, .qpn = qp->qpn, .psn = s->psn,
		.npsn = s->npsn, .length = s->length, .lkey = s->lkey, .rkey = s->rkey, .in_flight = in_flight(qp),
		.index = s->index, .opcode = s->opcode, .nsge = s->nsge);
}

/* First touch of a WQE: fence, checks, PSNs. False: not now, or it failed. */
static bool start(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	if (qp->state != BF_MLX5_QPS_RTS || qp->halted || fence_holds(qp, s))
		return false;
	if (s->flags & BF_SEND_RDATOMIC && qp->rdatomic >= qp->max_rdatomic)
		return false;
	if (s->flags & BF_SEND_FAILED) {
		qp->halted = true;
		return false;
	}
	if (!check_wqe(qp, s))
		return false;
	if (BF_UNLIKELY(s->opcode == BF_MLX5_OP_UMR) && !bf_mlx5_umr(qp, s))
		return false;
	if (BF_UNLIKELY(qp->dci != NULL) && !bf_mlx5_dci_ready(qp, s))
		return false;
	s->psn = qp->send_psn;
	if (s->opcode == BF_MLX5_OP_NOP || s->opcode == BF_MLX5_OP_DUMP || s->opcode == BF_MLX5_OP_UMR)
		s->npsn = 0;
	else if (s->flags & BF_SEND_RDATOMIC && s->atomic_size)
		s->npsn = 1;
	else
		s->npsn = s->length ? ((s->length - 1) >> qp->mtu_shift) + 1 : 1;
	qp->send_psn = bf_psn_add(qp->send_psn, s->npsn);
	s->flags |= BF_SEND_STARTED;
	if (s->flags & BF_SEND_RDATOMIC)
		qp->rdatomic++;
	record_start(qp, s);
	if (s->opcode == BF_MLX5_OP_NOP || s->opcode == BF_MLX5_OP_UMR || (s->opcode == BF_MLX5_OP_DUMP && !s->length))
		s->flags |= BF_SEND_DONE;
	else if (s->opcode == BF_MLX5_OP_DUMP)
		start_dump(qp, s);
	return true;
}

void bf_mlx5_tx_run(struct bf_mlx5_qp *qp)
{
	if (qp->state != BF_MLX5_QPS_RTS && qp->state != BF_MLX5_QPS_SQD)
		return;
	while (qp->tx_index != qp->decoded && !qp->rnr_waiting) {
		struct bf_mlx5_send *s = bf_mlx5_send_at(qp, qp->tx_index);

		if (!(s->flags & BF_SEND_STARTED) && !start(qp, s))
			return;
		if (s->flags & BF_SEND_FAILED)
			return; /* what came before it may still be sent again; it and its followers not */
		if (BF_UNLIKELY(s->keys != qp->dev->key_changes) && !check_wqe(qp, s))
			return;
		if (!transmit(qp, s))
			return;
		qp->tx_index = (uint16_t)(qp->tx_index + s->wqebbs);
		qp->tx_packet = 0;
	}
}

/* One packet of a READ's answer: the responder's gather. */
bool bf_mlx5_tx_response(struct bf_mlx5_qp *qp, struct bf_packet *pkt, uint32_t psn, uint32_t payload_offset,
			 uint32_t rkey, uint64_t va, uint32_t len)
{
	struct bf_mlx5_xfer like = {
		.pkt = pkt, .psn = psn, .payload_len = len, .payload_offset = (uint16_t)payload_offset, .response = true
	};
	uint8_t *to = pkt->data + payload_offset;
	bool under_way = false;

	bf_mlx5_tx_push(qp, pkt, BF_TX_RESPONSE);
	for (uint32_t run; len; len -= run, va += run, to += run, under_way = true) {
		uint64_t iova = va;

		run = len;
		if (BF_UNLIKELY(rkey))
			iova = bf_mlx5_map(qp->dev, rkey, va, BF_MLX5_ACCESS_REMOTE_READ, &run);
		if (gather_piece(qp, &like, iova, run, to, run == len))
			continue;
		pkt->flags |= PKT_DEAD | (under_way ? 0 : BF_TX_WHOLE);
		return false;
	}
	qp->answers_inflight++;
	return true;
}
