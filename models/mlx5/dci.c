/*
 * The DC initiator: which target a WQE is for, opening and changing the connection, refusals, stream channels.
 *
 * A DCI talks to one target at a time. A WQE for another one waits until all that was sent is acknowledged; then the
 * old target is told, and CONNECT leaves in front of the first packet for the new one: with data right behind it (half
 * a handshake), or waiting for its acknowledgement (full). PSNs run on over all connections; CONNECT uses none, it says
 * where they stand. What is assumed of the packets is in models/fabric/roce.h.
 */
#include "models/mlx5/device_internal.h"

#include <errno.h>
#include <stdlib.h>

/* An address vector or stream number that cannot be: as other WQEs that the requester rejects; assumed. */
static const struct bf_mlx5_err err_wqe = { BF_MLX5_SYND_LOCAL_QP_OP, 0x61, 0x01 };
/* The target's refusals as the CQE tells them: assumed to be those of RC's NAKs of the same meaning. */
static const struct bf_mlx5_err err_key = { BF_MLX5_SYND_REM_ACCESS, 0x88, 0x00 };
static const struct bf_mlx5_err err_handshake = { BF_MLX5_SYND_REM_INV_REQ, 0x8a, 0x00 };

int bf_mlx5_dci_create(struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	const struct bf_mlx5_profile *p = &qp->dev->profile;
	uint32_t streams = BF_MLX5_GET(qpc, BF_QPC_LOG_DCI_STREAMS), errored = BF_MLX5_GET(qpc, BF_QPC_LOG_DCI_ERRORED);
	struct bf_mlx5_dci *d;

	if (!p->dct_contexts || streams > p->log_dci_streams || errored > p->log_dci_streams)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM,
				      "log_num_dci_stream_channels %u, log_num_dci_errored_streams %u: %s %u", streams,
				      errored, p->dct_contexts ? "must be at most" : "this device has no DC, up to",
				      p->log_dci_streams);
	d = bf_pool_take(qp->dev->sim, sizeof(*d));
	if (!d)
		return BF_MLX5_CMD_NO_RES;
	qp->dci = d;
	qp->rdma.asks = BF_RDMA_ASKS_ADDRESS | BF_RDMA_ASKS_CONNECTION;
	d->full = BF_MLX5_GET(qpc, BF_QPC_FULL_HANDSHAKE);
	d->max_errored = 1u << errored;
	if (streams) {
		d->stream_count = 1u << streams;
		d->streams = calloc(d->stream_count, sizeof(struct bf_mlx5_qp *));
		if (!d->streams)
			return BF_MLX5_CMD_NO_RES;
	}
	return BF_MLX5_CMD_OK;
}

static void free_stream(struct bf_mlx5_qp *stream)
{
	bf_mlx5_qp_reset(stream);
	if (!stream->rdma.inflight) {
		bf_mlx5_qp_free(stream);
		return;
	}
	stream->rdma.dead = true;
	stream->next_zombie = stream->dev->zombie_qps;
	stream->dev->zombie_qps = stream;
}

static void drop_streams(struct bf_mlx5_dci *d)
{
	for (uint32_t i = 0; i < d->stream_count; i++) {
		if (d->streams[i])
			free_stream(d->streams[i]);
		d->streams[i] = NULL;
	}
	d->errored = 0;
}

void bf_mlx5_dci_free(struct bf_mlx5_qp *qp)
{
	drop_streams(qp->dci);
	free(qp->dci->streams);
	bf_pool_give(qp->dev->sim, qp->dci, sizeof(*qp->dci));
}

void bf_mlx5_dci_reset(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_dci *d = qp->dci;

	drop_streams(d);
	d->open = d->announce = d->waiting = false;
	qp->rdma.remote_qpn = qp->rdma.remote_ipv4 = 0;
}

static void record_connection(const struct bf_mlx5_qp *qp, uint32_t psn, uint32_t what)
{
	BF_EMIT(qp->dev->sim, qp->rdma.actor, dc_connection, .qpn = qp->rdma.qpn, .dct = qp->rdma.remote_qpn,
		.ipv4 = qp->rdma.remote_ipv4, .session = qp->dci->session, .psn = psn, .stream = qp->dci->stream,
		.attempt = qp->dci->attempt, .what = what);
}

void bf_mlx5_dc_address(const struct bf_mlx5_qp *qp, struct bf_roce *r)
{
	r->dc = true;
	r->src_qp = qp->rdma.qpn;
	if (qp->dci) {
		r->session = qp->dci->full ? qp->dci->peer_session : qp->dci->session;
		r->stream = qp->dci->stream;
		r->attempt = qp->dci->attempt;
		r->dc_flags = qp->dci->full ? BF_DCETH_FULL : 0;
	} else {
		r->session = qp->context_of->session;
		r->stream = qp->context_of->stream;
		r->attempt = 0;
		r->dc_flags = 0;
	}
}

/* A packet of the connection itself. False on lack of memory. */
static bool send_control(struct bf_mlx5_qp *qp, uint8_t opcode)
{
	struct bf_mlx5 *dev = qp->dev;
	struct bf_roce *r = &dev->rdma.tx;
	struct bf_packet *pkt = bf_packet_alloc_for(dev->fabric, 0);

	if (!pkt)
		return false;
	bf_rdma_address(&qp->rdma, NULL, r);
	r->opcode = opcode;
	r->session = qp->dci->session;
	r->solicited = false;
	r->ack_req = qp->dci->full && opcode == BF_DC_CONNECT;
	r->psn = qp->rdma.una_psn;
	r->dc_key = qp->dci->key;
	r->payload_len = 0;
	r->pad = 0;
	pkt->len = bf_roce_finish(pkt->data, r, bf_roce_build(pkt->data, &qp->rdma.path, r), dev->profile.icrc);
	bf_rdma_tx_push(&qp->rdma, pkt, BF_RDMA_TX_REQUEST | BF_RDMA_TX_WHOLE);
	return true;
}

int bf_mlx5_read_av(const struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, struct bf_mlx5_target *t)
{
	const struct bf_mlx5_qp *whole = qp->dci && qp->dci->parent ? qp->dci->parent : qp;
	uint8_t bytes[sizeof(struct bf_mlx5_av)] = { 0 };
	struct bf_mlx5_av av;

	bf_mlx5_copy_wqe(qp, s, sizeof(struct bf_mlx5_ctrl), bytes, s->av);
	memcpy(&av, bytes, sizeof(av));
	t->key = bf_be64(av.dc_key);
	t->number = (uint32_t)BF_FIELD_GET(BF_MLX5_AV_DCT, bf_be32(av.dqp_dct));
	t->path = (struct bf_roce_path_opts){ .src_ipv4 = qp->port->ipv4,
					      .ecn = bf_port_ecn(qp->port->port),
					      .udp_src_port = (uint16_t)(0xc000 | (qp->rdma.qpn & 0x3fff)) };
	memcpy(t->path.src_mac, qp->port->mac, sizeof(t->path.src_mac));
	if (s->av == BF_MLX5_AV_COMPACT) {
		uint8_t qpc[BF_QPC_LEN];
		const uint8_t *path = qpc + BF_QPC_PATH;

		bf_mlx5_unpack(whole->context, qpc, sizeof(qpc));
		t->path.dst_ipv4 = bf_mlx5_lid_ipv4(qp->port, bf_be16(av.rlid));
		t->path.dscp = (uint8_t)BF_MLX5_GET(path, BF_PATH_DSCP);
		t->path.ttl = (uint8_t)BF_MLX5_GET(path, BF_PATH_HOP_LIMIT);
		if (!qp->dev->infiniband)
			return bf_fabric_resolve(qp->dev->fabric, t->path.dst_ipv4, t->path.dst_mac) ? -EINVAL : 0;
		bf_mlx5_peer_mac(qp->port, t->path.dst_ipv4, t->path.dst_mac);
		return 0;
	}
	t->path.dst_ipv4 = bf_mlx5_gid_ipv4(av.rgid);
	if (BF_UNLIKELY(!t->path.dst_ipv4))
		t->path.dst_ipv4 = bf_mlx5_group_ipv4(av.rgid);
	if (qp->dev->infiniband && !(bf_be32(av.grh_gid_fl) & BF_MLX5_AV_GRH))
		t->path.dst_ipv4 = bf_mlx5_lid_ipv4(qp->port, bf_be16(av.rlid));
	if (!t->path.dst_ipv4)
		return -EINVAL;
	t->path.dscp = av.tclass >> 2;
	t->path.ttl = av.hop_limit;
	if (qp->dev->infiniband) {
		bf_mlx5_peer_mac(qp->port, t->path.dst_ipv4, t->path.dst_mac);
		return 0;
	}
	if (bf_be16(av.rlid))
		t->path.udp_src_port = bf_be16(av.rlid);
	memcpy(t->path.dst_mac, av.rmac, sizeof(av.rmac));
	return 0;
}

static void choose(struct bf_mlx5_qp *qp, const struct bf_mlx5_target *t)
{
	struct bf_mlx5_dci *d = qp->dci;

	qp->rdma.remote_qpn = t->number;
	qp->rdma.remote_ipv4 = t->path.dst_ipv4;
	bf_roce_path_init(&qp->rdma.path, &t->path);
	d->key = t->key;
	d->session = ++qp->dev->dc_sessions;
	d->peer_session = 0;
	d->attempt = 0;
	d->open = d->announce = true;
	d->waiting = false;
	qp->dev->count.dc_connects++;
	record_connection(qp, qp->rdma.una_psn, BF_MLX5_DCI_CHOSEN);
}

bool bf_mlx5_dci_ready(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s)
{
	struct bf_mlx5_dci *d = qp->dci;
	struct bf_mlx5_target t;

	if (!s->av)
		return true;
	if (bf_mlx5_read_av(qp, s, &t)) {
		bf_mlx5_send_fail(qp, s, err_wqe, "address vector names nobody");
		return false;
	}
	if (d->open && t.number == qp->rdma.remote_qpn && t.path.dst_ipv4 == qp->rdma.remote_ipv4 && t.key == d->key)
		return true;
	if (qp->rdma.una_psn != qp->rdma.send_psn)
		return false; /* the acknowledgements bring us back here */
	if (d->open && !d->announce) {
		send_control(qp, BF_DC_DISCONNECT); /* when it is lost, the context there ages */
		record_connection(qp, qp->rdma.una_psn, BF_MLX5_DCI_DISCONNECT_SENT);
	}
	choose(qp, &t);
	return true;
}

bool bf_mlx5_dci_gate(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_dci *d = qp->dci;

	if (BF_LIKELY(!d->announce))
		return !d->waiting;
	bf_rdma_rto_start(&qp->rdma);
	if (!send_control(qp, BF_DC_CONNECT))
		return false;
	record_connection(qp, qp->rdma.una_psn, BF_MLX5_DCI_CONNECT_SENT);
	d->announce = false;
	d->waiting = d->full;
	return !d->waiting;
}

void bf_mlx5_dci_again(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_dci *d = qp->dci;

	if (!d->open)
		return;
	d->announce = true;
	d->waiting = false;
	d->attempt++;
}

/* The target does not take our packets. One refusal for each attempt counts: the others are of the same cause. */
static void refused(struct bf_mlx5_qp *qp, const struct bf_roce *r)
{
	struct bf_rdma_send *s = bf_rdma_oldest(&qp->rdma);

	BF_EMIT(qp->dev->sim, qp->rdma.actor, dc_cnak, .qpn = qp->rdma.qpn, .dct = r->src_qp, .session = r->session,
		.psn = r->psn, .stream = r->stream, .reason = (uint16_t)r->dc_info);
	if (!s || r->attempt != qp->dci->attempt || qp->dci->announce)
		return;
	switch (r->dc_info) {
	case BF_CNAK_NO_CONTEXT:
		if (!bf_rdma_use_retry(&qp->rdma))
			break;
		bf_mlx5_dci_again(qp);
		bf_rdma_go_back(&qp->rdma, qp->rdma.una_psn, BF_RDMA_AGAIN_NO_CONTEXT);
		break;
	case BF_CNAK_BUSY:
		/* Contexts become free sooner or later (dct.c): no retry is used up. */
		bf_mlx5_dci_again(qp);
		bf_rdma_go_back(&qp->rdma, qp->rdma.una_psn, BF_RDMA_AGAIN_BUSY);
		bf_rdma_pause(&qp->rdma, qp->dev->profile.dc_busy_ps);
		break;
	case BF_CNAK_KEY:
		bf_mlx5_send_fail(qp, bf_mlx5_send_of(s), err_key, "CNAK: DC access key violation");
		break;
	case BF_CNAK_HANDSHAKE:
		bf_mlx5_send_fail(qp, bf_mlx5_send_of(s), err_handshake, "target wants a full handshake");
		break;
	default:
		break;
	}
}

static void acknowledged(struct bf_mlx5_qp *qp, const struct bf_roce *r)
{
	struct bf_mlx5_dci *d = qp->dci;

	if (!d->waiting)
		return;
	d->waiting = false;
	d->peer_session = r->dc_info;
	record_connection(qp, r->psn, BF_MLX5_DCI_ACKNOWLEDGED);
}

/* Is the packet of the connection that we have now? A refused data packet carried the target's session number. */
static bool is_current(const struct bf_mlx5_qp *qp, const struct bf_mlx5_port *port, const struct bf_roce *r)
{
	const struct bf_mlx5_dci *d = qp->dci;

	if (!d->open || port != qp->port || r->src_ipv4 != qp->rdma.remote_ipv4 || r->src_qp != qp->rdma.remote_qpn)
		return false;
	return r->session == d->session || (r->opcode == BF_DC_CNAK && d->full && r->session == d->peer_session);
}

/* ACKs, NAKs, READ data, atomic results, and what a target says of the connection. */
void bf_mlx5_dci_rx(struct bf_mlx5 *dev, struct bf_mlx5_port *port, struct bf_packet *pkt)
{
	const struct bf_roce *r = &dev->rdma.rx;
	struct bf_mlx5_qp *qp = bf_mlx5_table_get(&dev->qps, r->dest_qp);
	uint32_t actor = qp ? qp->rdma.actor : dev->actor;

	if (qp && qp->dci && qp->dci->stream_count)
		qp = r->stream < qp->dci->stream_count ? qp->dci->streams[r->stream] : NULL;
	if (!qp || !qp->dci) {
		bf_rdma_drop(&dev->rdma, actor, pkt, 0, BF_RDMA_DROP_NO_QP);
	} else if (qp->rdma.state != BF_MLX5_QPS_RTS && qp->rdma.state != BF_MLX5_QPS_SQD) {
		bf_rdma_drop(&dev->rdma, actor, pkt, qp->rdma.una_psn, BF_RDMA_DROP_STATE);
	} else if (!is_current(qp, port, r)) {
		bf_rdma_drop(&dev->rdma, actor, pkt, qp->rdma.una_psn, BF_RDMA_DROP_STALE);
	} else if (r->opcode == BF_DC_CONNECT_ACK || r->opcode == BF_DC_CNAK) {
		if (r->opcode == BF_DC_CNAK)
			refused(qp, r);
		else
			acknowledged(qp, r);
		bf_mlx5_sq_run(qp);
	} else {
		bf_rdma_rx_response(&qp->rdma, pkt);
	}
	bf_packet_free(pkt);
}

/* The queue pair behind a channel: the DCI's, with a transmitter of its own over the same ring bytes. */
static struct bf_mlx5_qp *open_stream(struct bf_mlx5_qp *qp, uint16_t number)
{
	struct bf_mlx5_qp *s = bf_pool_take(qp->dev->sim, sizeof(*s));
	struct bf_mlx5_dci *d = bf_pool_take(qp->dev->sim, sizeof(*d));
	void *sends = calloc(qp->rdma.sq_mask + 1u, sizeof(struct bf_mlx5_send));
	const struct bf_rdma_qp *from = &qp->rdma;

	if (!s || !d || !sends) {
		bf_fail(&qp->dev->sim->error, -ENOMEM, "%s: no memory for a channel", qp->dev->name);
		free(sends);
		bf_pool_give(qp->dev->sim, s, sizeof(*s));
		bf_pool_give(qp->dev->sim, d, sizeof(*d));
		return NULL;
	}
	bf_mlx5_qp_init(s, qp->dev);
	s->dci = d;
	s->sq_bytes = qp->sq_bytes;
	s->pd = qp->pd;
	s->send_cq = qp->send_cq;
	s->recv_cq = qp->recv_cq;
	bf_mlx5_qp_use_port(s, qp->port);
	s->user_index = qp->user_index;
	s->rdma.sends = sends;
	s->rdma.qpn = from->qpn;
	s->rdma.actor = from->actor;
	s->rdma.sq_mask = from->sq_mask;
	s->rdma.state = from->state;
	s->rdma.service = from->service;
	s->rdma.asks = from->asks;
	s->rdma.mtu_shift = from->mtu_shift;
	s->rdma.ack_timeout = from->ack_timeout;
	s->rdma.retry_count = s->rdma.retries_left = from->retry_count;
	s->rdma.rnr_retry = s->rdma.rnr_left = from->rnr_retry;
	s->rdma.max_rdatomic = from->max_rdatomic;
	s->rdma.log_msg_max = from->log_msg_max;
	d->parent = qp;
	d->stream = number;
	d->full = qp->dci->full;
	qp->dci->streams[number] = s;
	return s;
}

static void cannot_deal(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, const char *why)
{
	bf_mlx5_send_fail(qp, s, err_wqe, why);
}

/*
 * A decoded WQE goes to its stream; of a channel's number the low bits count (assumed: rdma-core's tests use numbers
 * above the last one, tests/mlx5_base.py generate_stream_id()). One that cannot go to any fails the DCI when it is the
 * oldest.
 */
void bf_mlx5_dci_deal(struct bf_mlx5_qp *qp, struct bf_mlx5_send *s, uint16_t stream)
{
	struct bf_mlx5_dci *d = qp->dci;
	struct bf_mlx5_qp *to;
	struct bf_mlx5_send *dealt;

	if (qp->rdma.halted)
		return;
	stream = (uint16_t)(stream & (d->stream_count - 1));
	to = d->streams[stream] ? d->streams[stream] : open_stream(qp, stream);
	if (!to) {
		cannot_deal(qp, s, "no memory for a stream channel");
		return;
	}
	dealt = bf_mlx5_send_at(to, to->rdma.decoded);
	*dealt = *s;
	dealt->rdma.slot = to->rdma.decoded;
	to->rdma.decoded = (uint16_t)(to->rdma.decoded + s->rdma.slots);
	to->fetched = to->fetch_issued = to->producer = to->rdma.decoded;
}

void bf_mlx5_dci_run(struct bf_mlx5_qp *qp)
{
	for (uint32_t i = 0; i < qp->dci->stream_count; i++) {
		struct bf_mlx5_qp *s = qp->dci->streams[i];

		if (!s)
			continue;
		if (s->rdma.state != BF_MLX5_QPS_ERR)
			s->rdma.state = qp->rdma.state;
		bf_mlx5_sq_run(s);
	}
}

void bf_mlx5_dci_told(struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s)
{
	bf_mlx5_send_at(qp->dci->parent, s->index)->rdma.flags |= BF_RDMA_SEND_ELSEWHERE;
}

static void record_stream(const struct bf_mlx5_qp *dci, uint16_t stream, uint8_t syndrome, uint8_t what)
{
	BF_EMIT(dci->dev->sim, dci->rdma.actor, dci_stream, .qpn = dci->rdma.qpn, .errored = dci->dci->errored,
		.stream = stream, .syndrome = syndrome, .what = what);
}

/*
 * A stream has failed: what is posted on it is flushed, the others go on, until too many have failed (rdma-core
 * mlx5dv_dci_stream_id_reset(3)). When the whole DCI has, its streams do nothing more.
 */
void bf_mlx5_dci_stream_error(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_qp *dci = qp->dci->parent;

	if (!dci) {
		for (uint32_t i = 0; i < qp->dci->stream_count; i++)
			if (qp->dci->streams[i])
				bf_mlx5_qp_reset(qp->dci->streams[i]);
		return;
	}
	if (dci->rdma.state == BF_MLX5_QPS_ERR)
		return;
	dci->dci->errored++;
	if (!dci->err.syndrome)
		dci->err = qp->err;
	record_stream(dci, qp->dci->stream, qp->err.syndrome, BF_MLX5_STREAM_FAILED);
	if (dci->dci->errored >= dci->dci->max_errored)
		bf_mlx5_qp_error(dci, BF_MLX5_BY_REQUESTER);
}

/* Numbers fold as those of WQEs do: rdma-core's tests reset a stream by the number that they used. */
uint8_t bf_mlx5_dci_stream_reset(struct bf_mlx5_qp *qp, uint32_t stream)
{
	struct bf_mlx5_qp *s;

	if (!qp->dci->stream_count)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM, "stream %u: QP 0x%x was made without streams",
				      stream, qp->rdma.qpn);
	stream &= qp->dci->stream_count - 1;
	s = qp->dci->streams[stream];
	if (!s || s->rdma.state != BF_MLX5_QPS_ERR || s->rdma.head != s->rdma.decoded)
		return bf_mlx5_refuse(qp->dev, BF_MLX5_CMD_BAD_PARAM,
				      "stream %u: must be in error, with all that it was given flushed", stream);
	bf_mlx5_qp_reset(s);
	s->rdma.state = qp->rdma.state;
	qp->dci->errored--;
	record_stream(qp, (uint16_t)stream, 0, BF_MLX5_STREAM_RESET);
	return BF_MLX5_CMD_OK;
}
