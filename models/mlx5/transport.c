/* What the transport (models/rdma) asks of this device: keys, bytes of WQEs, completions, errors; and what it is
 * handed. */
#include "models/mlx5/device_internal.h"

BF_STATIC_ASSERT((uint32_t)BF_RDMA_RST == BF_MLX5_QPS_RST && (uint32_t)BF_RDMA_RTR == BF_MLX5_QPS_RTR &&
		     (uint32_t)BF_RDMA_RTS == BF_MLX5_QPS_RTS && (uint32_t)BF_RDMA_SQER == BF_MLX5_QPS_SQER &&
		     (uint32_t)BF_RDMA_SQD == BF_MLX5_QPS_SQD && (uint32_t)BF_RDMA_ERR == BF_MLX5_QPS_ERR,
		 "the states of the specification are numbered as the device's");

/* Syndromes of the causes: docs/hardware/mlx5.md#vendor-syndromes. */
static const struct bf_mlx5_err errs[BF_RDMA_CAUSES] = {
	/* Fetching local data failed on PCIe (perftest#140, ucx#3564, nccl#928). */
	[BF_RDMA_LOCAL_DATA] = { BF_MLX5_SYND_LOCAL_PROT, 0x51, 0x01 },
	[BF_RDMA_LOCAL_WRITE] = { BF_MLX5_SYND_LOCAL_PROT, 0x51, 0x01 },
	[BF_RDMA_TOO_LONG] = { BF_MLX5_SYND_LOCAL_LENGTH, 0x00, 0x00 },
	[BF_RDMA_NOT_HERE] = { BF_MLX5_SYND_LOCAL_QP_OP, 0x61, 0x01 },
	[BF_RDMA_NO_ADDRESS] = { BF_MLX5_SYND_LOCAL_QP_OP, 0x61, 0x01 },
	/* No ACK within retries (ucx#6669, nccl#426). */
	[BF_RDMA_RETRIES_OUT] = { BF_MLX5_SYND_RETRY_EXC, 0x81, 0x00 },
	/* Of an atomic (nccl#2383): docs/hardware/mlx5.md#gpu-initiated-18. */
	[BF_RDMA_NO_ANSWER] = { BF_MLX5_SYND_RETRY_EXC, 0x83, 0x00 },
	/* Vendor code not evidenced: docs/hardware/mlx5.md#vendor-syndromes-8. */
	[BF_RDMA_RNR_OUT] = { BF_MLX5_SYND_RNR_EXC, 0x87, 0x00 },
	/* NAK codes as the requester's CQE tells them: docs/hardware/mlx5.md#vendor-syndromes-6. */
	[BF_RDMA_REMOTE_INVALID] = { BF_MLX5_SYND_REM_INV_REQ, 0x8a, 0x00 },
	[BF_RDMA_REMOTE_ACCESS] = { BF_MLX5_SYND_REM_ACCESS, 0x88, 0x00 },
	[BF_RDMA_REMOTE_OPERATION] = { BF_MLX5_SYND_REM_OP, 0x89, 0x00 },
	[BF_RDMA_BAD_RESPONSE] = { BF_MLX5_SYND_BAD_RESP, 0x00, 0x00 },
	/* Receive WQE too short: docs/hardware/mlx5.md#checks-6. */
	[BF_RDMA_RECEIVE_SHORT] = { BF_MLX5_SYND_LOCAL_LENGTH, 0x00, 0x00 },
	/* Responder: receive-buffer key (ucx#7801, ucx#9167). */
	[BF_RDMA_RECEIVE_KEY] = { BF_MLX5_SYND_LOCAL_PROT, 0x32, 0x92 },
	/* Responder: the buffer cannot be written; vendor code assumed from the requester's side. */
	[BF_RDMA_RECEIVE_WRITE] = { BF_MLX5_SYND_LOCAL_ACCESS, 0x51, 0x01 },
	/* No driver brought the page (vendor code: mlx5dv.h); where it does, the peer comes again. */
	[BF_RDMA_RECEIVE_ABSENT] = { BF_MLX5_SYND_LOCAL_PROT, 0x93, 0x00 },
	[BF_RDMA_INVALIDATE] = { BF_MLX5_SYND_LOCAL_ACCESS, 0x00, 0x00 },
};

struct bf_mlx5_err bf_mlx5_err_of(enum bf_rdma_cause cause)
{
	return errs[cause];
}

/* Frames. */

static bool is_datagram(uint8_t opcode)
{
	return opcode == BF_UD_SEND_ONLY || opcode == BF_UD_SEND_ONLY_IMM;
}

/* In a large job it has been long since the packet's queue pair was looked at. */
void bf_mlx5_expect(void *owner, const struct bf_packet *pkt)
{
	const struct bf_mlx5_port *port = owner;
	const uint8_t *bth = pkt->data + BF_ROCE_BTH_OFFSET;
	const struct bf_mlx5_qp *qp;

	if (pkt->len < BF_ROCE_BTH_OFFSET + sizeof(struct bf_roce_bth))
		return;
	qp = bf_mlx5_table_get(&port->dev->qps, bf_get_be24(bth + 5));
	if (!qp) {
		bf_mlx5_dct_expect(port->dev, pkt->data);
		return;
	}
	if (bf_rdma_is_response(bth[0]))
		bf_mlx5_qp_prefetch(qp, BF_MLX5_QP_REQUESTER);
	else
		bf_mlx5_qp_prefetch(qp, BF_MLX5_QP_RESPONDER);
}

void bf_mlx5_rx(void *owner, struct bf_packet *pkt)
{
	struct bf_mlx5_port *port = owner;
	struct bf_mlx5 *dev = port->dev;
	const struct bf_roce *r = &dev->rdma.rx;
	struct bf_mlx5_qp *qp;

	if (BF_UNLIKELY(bf_packet_is_raw(pkt))) {
		bf_mlx5_flow_rx(port, pkt);
		return;
	}
	if (BF_UNLIKELY(!bf_rdma_parse(&dev->rdma, pkt)))
		return;
	if (BF_UNLIKELY(r->dc)) {
		if (bf_rdma_is_response(r->opcode) || r->opcode == BF_DC_CONNECT_ACK || r->opcode == BF_DC_CNAK)
			bf_mlx5_dci_rx(dev, port, pkt);
		else
			bf_mlx5_dct_rx(dev, port, pkt);
	} else if (BF_UNLIKELY(is_datagram(r->opcode))) {
		bf_mlx5_ud_rx(dev, port, pkt);
	} else {
		qp = bf_mlx5_table_get(&dev->qps, r->dest_qp);
		if (BF_UNLIKELY(qp && (qp->xrc != r->xrc || qp->raw)))
			qp = NULL; /* none of that service */
		bf_rdma_deliver(&dev->rdma, qp ? &qp->rdma : NULL, port->port, pkt);
	}
}

/* The requester. */

static void tell_failed(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, struct bf_mlx5_err err, const char *why)
{
	s->err = err;
	bf_mlx5_qp_report(qp, 0, s->index, s->opcode, s->rdma.npsn ? s->rdma.psn : qp->rdma.send_psn, 0, err, why);
}

void bf_mlx5_send_fail(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, struct bf_mlx5_err err, const char *why)
{
	if (bf_rdma_send_halt(&qp->rdma, &s->rdma))
		tell_failed(qp, s, err, why);
}

static void failed(struct bf_rdma_qp *qp, struct bf_rdma_send *s, enum bf_rdma_cause cause, const char *why)
{
	tell_failed(bf_mlx5_qp_of(qp), bf_mlx5_send_of(s), errs[cause], why);
}

static bool check(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	struct bf_mlx5_send *send = bf_mlx5_send_of(s);
	uint32_t access = s->flags & BF_RDMA_SEND_RDATOMIC ? BF_MLX5_ACCESS_LOCAL_WRITE : BF_MLX5_ACCESS_LOCAL_READ;
	enum bf_mlx5_key_fault f = bf_mlx5_check_sges(bf_mlx5_qp_of(qp), send, access);

	if (BF_LIKELY(!f))
		return true;
	if (f != BF_MLX5_KEY_ABSENT)
		bf_mlx5_send_fail(bf_mlx5_qp_of(qp), send, bf_mlx5_local_fault(f), "local key");
	else if (!bf_mlx5_page_fault(bf_mlx5_qp_of(qp), BF_RDMA_REQUESTER))
		bf_mlx5_page_fault_fail(bf_mlx5_qp_of(qp), send);
	return false;
}

static void started(struct bf_rdma_qp *qp, const struct bf_rdma_send *s)
{
	const struct bf_mlx5_send *send = bf_mlx5_send_of(s);

	BF_EMIT(qp->dev->sim, qp->actor, wqe_start, .raddr = s->raddr, .va = send->va, .qpn = qp->qpn, .psn = s->psn,
		.npsn = s->npsn, .length = s->length, .lkey = send->lkey, .rkey = s->rkey,
		.in_flight = (uint32_t)bf_psn_diff(qp->tx_psn, qp->una_psn), .index = send->index,
		.opcode = send->opcode, .nsge = send->nsge);
}

static void dump_read(struct bf_dma_op *op)
{
	struct bf_mlx5_xfer *x = BF_CONTAINER_OF(op, struct bf_mlx5_xfer, op);
	struct bf_mlx5_qp *qp = x->qp;
	const bool stale = x->epoch != qp->rdma.epoch || qp->rdma.dead || qp->rdma.state == BF_MLX5_QPS_ERR;
	const bool last = x->last;

	qp->rdma.inflight--;
	if (!stale) {
		struct bf_mlx5_send *s = bf_mlx5_send_at(qp, x->slot);

		if (BF_UNLIKELY(op->status)) {
			bf_rdma_tx_drop(&qp->rdma, BF_RDMA_TX_REQUEST);
			bf_mlx5_send_fail(qp, s, errs[BF_RDMA_LOCAL_DATA], "local data cannot be read");
		}
		if (last) {
			s->rdma.flags |= BF_RDMA_SEND_DONE;
			qp->rdma.locals--;
		}
	}
	bf_mlx5_xfer_put(qp->dev, x);
	if (qp->rdma.dead)
		bf_mlx5_qp_release(qp);
	else if (!stale && last)
		bf_mlx5_sq_run(qp);
}

/*
 * The data are read and dropped, so only the first byte of each piece is sampled: what DUMP is for, pushing earlier
 * posted writes out (PCIe ordering), a read of any length does.
 */
static void start_dump(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	struct bf_rdma_walk w = { .qp = &qp->rdma, .send = &s->rdma };
	struct bf_rdma_piece p;
	uint32_t left = s->rdma.length;

	qp->rdma.locals++;
	while (left && bf_mlx5_next_piece(&w, left, &p)) {
		struct bf_mlx5_xfer *x = bf_mlx5_xfer_get(qp->dev);

		left -= p.len;
		if (!x) {
			bf_mlx5_send_fail(qp, s, errs[BF_RDMA_LOCAL_DATA], "no memory for a DMA read");
			continue;
		}
		x->qp = qp;
		x->epoch = qp->rdma.epoch;
		x->slot = s->rdma.slot;
		x->last = !left;
		x->op = (struct bf_dma_op){ .iova = p.iova, .len = 1, .dst = &qp->dump_byte, .done = dump_read };
		qp->rdma.inflight++;
		bf_dma_read(&qp->dev->dma, &x->op);
	}
}

/* NOP, UMR, DUMP, WAIT. */
static bool local(struct bf_rdma_qp *rdma, struct bf_rdma_send *s)
{
	struct bf_mlx5_qp *qp = bf_mlx5_qp_of(rdma);
	struct bf_mlx5_send *send = bf_mlx5_send_of(s);

	if (send->opcode == BF_MLX5_OP_WAIT && !bf_mlx5_wait_over(qp, send))
		return false;
	if (send->opcode == BF_MLX5_OP_UMR && !bf_mlx5_umr(qp, send))
		return false;
	started(rdma, s);
	if (send->opcode == BF_MLX5_OP_DUMP && s->length)
		start_dump(qp, send);
	else
		s->flags |= BF_RDMA_SEND_DONE;
	return true;
}

static void copy(const struct bf_rdma_qp *qp, const struct bf_rdma_send *s, uint32_t at, uint8_t *to, uint32_t len)
{
	const struct bf_mlx5_send *send = bf_mlx5_send_of(s);

	bf_mlx5_copy_wqe(bf_mlx5_qp_of(qp), send, send->inline_at + at, to, len);
}

static void operands(const struct bf_rdma_qp *qp, const struct bf_rdma_send *s, struct bf_roce *r)
{
	const struct bf_mlx5_send *send = bf_mlx5_send_of(s);
	const uint32_t at = sizeof(struct bf_mlx5_ctrl) + send->av + sizeof(struct bf_mlx5_raddr);
	uint8_t b[32];

	bf_mlx5_copy_wqe(bf_mlx5_qp_of(qp), send, at, b, sizeof(b));
	r->swap_mask = r->compare_mask = 0;
	if (s->op == BF_RDMA_OP_COMPARE_SWAP || s->op == BF_RDMA_OP_FETCH_ADD) {
		r->swap_add = bf_get_be64(b);
		r->compare = bf_get_be64(b + 8);
		return;
	}
	if (s->op == BF_RDMA_OP_MASKED_FETCH_ADD) {
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

static bool goes_to_cqe(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s)
{
	return s->rdma.length <= qp->cs_req && s->ce >= 2;
}

static int scatter(struct bf_rdma_qp *rdma, struct bf_rdma_send *s, uint32_t offset, const uint8_t *data, uint32_t len)
{
	struct bf_mlx5_qp *qp = bf_mlx5_qp_of(rdma);
	struct bf_mlx5_send *send = bf_mlx5_send_of(s);

	if (BF_LIKELY(!len || !goes_to_cqe(qp, send)))
		return bf_mlx5_scatter(qp, send, offset, data, len);
	memcpy(qp->sq_bytes + ((size_t)(send->index & rdma->sq_mask) << BF_MLX5_WQEBB_SHIFT), data, len);
	send->in_cqe = true;
	return 0;
}

/*
 * The old value goes back as the device is set up: 4-byte results big-endian, 8-byte ones in host order when the
 * profile says so (docs/hardware/mlx5.md#atomics-5), unless they go into the CQE, where all are big-endian (UCX
 * src/uct/ib/rc/accel/rc_mlx5_iface.c chooses its handlers by that).
 */
static int result(struct bf_rdma_qp *rdma, struct bf_rdma_send *s, uint64_t old)
{
	const struct bf_mlx5_qp *qp = bf_mlx5_qp_of(rdma);
	uint8_t value[8];

	if (s->atomic_size == 4)
		bf_put_be32(value, (uint32_t)old);
	else if (qp->dev->profile.host_endian_atomics && !goes_to_cqe(qp, bf_mlx5_send_of(s)))
		bf_put_le64(value, old);
	else
		bf_put_be64(value, old);
	return scatter(rdma, s, 0, value, s->atomic_size);
}

/* The responder. */

static bool remote(struct bf_rdma_qp *qp, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access, uint8_t *memory)
{
	const struct bf_mlx5_mkey *k;
	enum bf_mlx5_key_fault f;

	if (BF_UNLIKELY(bf_mlx5_qp_of(qp)->xrc) && !bf_mlx5_xrc_select(bf_mlx5_qp_of(qp)))
		return false;
	f = bf_mlx5_mkey_check(bf_mlx5_qp_of(qp), rkey, va, len, access, 0, &k);

	if (BF_UNLIKELY(f)) {
		const bool wait = f == BF_MLX5_KEY_ABSENT && bf_mlx5_page_fault(bf_mlx5_qp_of(qp), BF_RDMA_RESPONDER);

		*memory = wait ? BF_RDMA_MEMORY_ABSENT : 0;
		return false;
	}
	*memory = (uint8_t)((k->relaxed || bf_mlx5_qp_of(qp)->ooo ? BF_RDMA_MEMORY_RELAXED : 0) |
			    (k->xlat ? BF_RDMA_MEMORY_MAPPED : 0));
	return true;
}

static uint64_t map(struct bf_rdma_qp *qp, uint32_t rkey, uint64_t va, uint32_t access, uint32_t *len)
{
	return bf_mlx5_map(bf_mlx5_qp_of(qp)->dev, rkey, va, access, len);
}

static int write_mapped(struct bf_rdma_qp *qp, uint32_t rkey, uint64_t va, const uint8_t *data, uint32_t len)
{
	return bf_mlx5_key_write(bf_mlx5_qp_of(qp)->dev, rkey, va, data, len);
}

static bool invalidate(struct bf_rdma_qp *qp, uint32_t rkey)
{
	return bf_mlx5_remote_invalidate(bf_mlx5_qp_of(qp), rkey);
}

static enum bf_rdma_take take(struct bf_rdma_qp *qp)
{
	if (BF_UNLIKELY(bf_mlx5_qp_of(qp)->xrc) && !bf_mlx5_xrc_select(bf_mlx5_qp_of(qp)))
		return BF_RDMA_TAKE_BROKEN;
	return bf_mlx5_rq_take(bf_mlx5_qp_of(qp));
}

/* The first packet of a message begins the receive anew: of an unreliable queue pair, one before may have been lost. */
static bool place(struct bf_rdma_qp *rdma, const uint8_t *data, uint32_t len, bool whole, enum bf_rdma_cause *cause)
{
	struct bf_mlx5_qp *qp = bf_mlx5_qp_of(rdma);

	if (!rdma->rx_done)
		qp->receive->sge_at = qp->receive->sge_done = 0;
	if (BF_UNLIKELY(len <= qp->cs_res) && whole) {
		memcpy(qp->receive->in_cqe, data, len);
		qp->receive->in_cqe_len = (uint8_t)len;
		return true;
	}
	*cause = bf_mlx5_rq_scatter(qp, data, len);
	return !*cause;
}

static uint8_t receive_opcode(uint8_t opcode)
{
	switch (opcode) {
	case BF_RC_WRITE_ONLY_IMM:
	case BF_RC_WRITE_LAST_IMM:
		return BF_MLX5_CQE_RESP_WRITE_IMM;
	case BF_RC_SEND_ONLY_IMM:
	case BF_RC_SEND_LAST_IMM:
		return BF_MLX5_CQE_RESP_SEND_IMM;
	case BF_RC_SEND_ONLY_INV:
	case BF_RC_SEND_LAST_INV:
		return BF_MLX5_CQE_RESP_SEND_INV;
	default:
		return BF_MLX5_CQE_RESP_SEND;
	}
}

static void received(struct bf_rdma_qp *rdma, const struct bf_roce *r)
{
	struct bf_mlx5_qp *qp = bf_mlx5_qp_of(rdma);
	struct bf_mlx5_completion c = {
		.opcode = receive_opcode(r->opcode),
		.index = qp->rq_index,
		.byte_cnt = rdma->rx_done,
		.solicited = r->solicited,
	};

	if (c.opcode != BF_MLX5_CQE_RESP_SEND)
		c.imm = r->imm;
	if (BF_UNLIKELY(qp->cs_res && qp->receive->in_cqe_len)) {
		c.data = qp->receive->in_cqe;
		c.data_len = qp->receive->in_cqe_len;
		c.format = bf_mlx5_cqe_format(qp->cs_res);
	}
	bf_mlx5_cq_write(qp->recv_cq, qp, &c);
}

/* A receive WQE that was taken for the request completes with the cause; without one an event may tell. */
static void refused(struct bf_rdma_qp *rdma, const struct bf_rdma_refusal *x)
{
	struct bf_mlx5_qp *qp = bf_mlx5_qp_of(rdma);
	const uint16_t index = x->message ? qp->rq_index : 0;

	bf_mlx5_qp_report(qp, 1, index, x->opcode, x->psn, x->nak, errs[x->cause], x->why);
	if (x->cause && rdma->rx_has_receive) {
		const struct bf_mlx5_completion c = { .opcode = BF_MLX5_CQE_RESP_ERR,
						      .index = index,
						      .err = errs[x->cause] };

		rdma->rx_has_receive = false;
		bf_mlx5_cq_write(qp->recv_cq, qp, &c);
	} else if (!x->late) {
		bf_mlx5_event_refused(qp, x->nak);
	}
}

static void established(struct bf_rdma_qp *rdma)
{
	struct bf_mlx5_qp *qp = bf_mlx5_qp_of(rdma);

	if (!qp->context_of)
		bf_mlx5_event_qp(qp, BF_MLX5_EVENT_COMM_EST);
}

/* Both. */

static void enter(struct bf_rdma_qp *rdma, enum bf_rdma_state state, enum bf_rdma_side by)
{
	const enum bf_mlx5_qp_cause cause = by == BF_RDMA_REQUESTER ? BF_MLX5_BY_REQUESTER : BF_MLX5_BY_RESPONDER;

	if (state == BF_RDMA_ERR)
		bf_mlx5_qp_error(bf_mlx5_qp_of(rdma), cause);
	else
		bf_mlx5_qp_set_state(bf_mlx5_qp_of(rdma), (uint8_t)state, cause);
}

static void run(struct bf_rdma_qp *qp)
{
	bf_mlx5_sq_run(bf_mlx5_qp_of(qp));
}

static void release(struct bf_rdma_qp *qp)
{
	bf_mlx5_qp_release(bf_mlx5_qp_of(qp));
}

static const struct bf_roce_path *address(struct bf_rdma_qp *rdma, const struct bf_rdma_send *s, struct bf_roce *r)
{
	struct bf_mlx5_qp *qp = bf_mlx5_qp_of(rdma);

	if (rdma->service == BF_RDMA_UD)
		return bf_mlx5_ud_address(qp, bf_mlx5_send_of(s), r) ? &qp->dev->ud_path : NULL;
	if (qp->xrc)
		bf_mlx5_xrc_address(qp, s ? bf_mlx5_send_of(s) : NULL, r);
	else
		bf_mlx5_dc_address(qp, r);
	return &rdma->path;
}

static bool ready(struct bf_rdma_qp *qp, struct bf_rdma_send *s)
{
	return bf_mlx5_dci_ready(bf_mlx5_qp_of(qp), bf_mlx5_send_of(s));
}

static bool gate(struct bf_rdma_qp *qp)
{
	return bf_mlx5_dci_gate(bf_mlx5_qp_of(qp));
}

static void again(struct bf_rdma_qp *qp)
{
	bf_mlx5_dci_again(bf_mlx5_qp_of(qp));
}

static void datagram(struct bf_rdma_qp *qp, struct bf_packet *pkt)
{
	if (bf_mlx5_qp_of(qp)->raw)
		bf_mlx5_raw_request(bf_mlx5_qp_of(qp), pkt);
	else
		bf_mlx5_ud_request(bf_mlx5_qp_of(qp), pkt);
}

const struct bf_rdma_ops bf_mlx5_transport = {
	.check = check,
	.started = started,
	.local = local,
	.copy = copy,
	.piece = bf_mlx5_next_piece,
	.operands = operands,
	.scatter = scatter,
	.result = result,
	.failed = failed,
	.complete = bf_mlx5_sq_complete,
	.remote = remote,
	.map = map,
	.write = write_mapped,
	.invalidate = invalidate,
	.take = take,
	.place = place,
	.received = received,
	.refused = refused,
	.established = established,
	.enter = enter,
	.run = run,
	.release = release,
	.address = address,
	.ready = ready,
	.gate = gate,
	.again = again,
	.datagram = datagram,
};
