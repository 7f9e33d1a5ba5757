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
		return BF_MLX5_CMD_BAD_PARAM;
	d = bf_pool_take(qp->dev->sim, sizeof(*d));
	if (!d)
		return BF_MLX5_CMD_NO_RES;
	qp->dci = d;
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
	if (!stream->inflight) {
		bf_mlx5_qp_free(stream);
		return;
	}
	stream->dead = true;
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
	qp->remote_qpn = qp->remote_ipv4 = 0;
}

static void record_connection(const struct bf_mlx5_qp *qp, uint32_t psn, uint32_t what)
{
	BF_EMIT(qp->dev->sim, qp->actor, dc_connection, .qpn = qp->qpn, .dct = qp->remote_qpn, .ipv4 = qp->remote_ipv4,
		.session = qp->dci->session, .psn = psn, .stream = qp->dci->stream, .attempt = qp->dci->attempt,
		.what = what);
}

/* A packet of the connection itself. False on lack of memory. */
static bool send_control(struct bf_mlx5_qp *qp, uint8_t opcode)
{
	struct bf_mlx5 *dev = qp->dev;
	struct bf_roce *r = &dev->tx;
	struct bf_packet *pkt = bf_packet_alloc(dev->fabric);

	if (!pkt)
		return false;
	bf_mlx5_address(qp, r);
	r->opcode = opcode;
	r->session = qp->dci->session;
	r->solicited = false;
	r->ack_req = qp->dci->full && opcode == BF_DC_CONNECT;
	r->psn = qp->una_psn;
	r->dc_key = qp->dci->key;
	r->payload_len = 0;
	r->pad = 0;
	pkt->len = bf_roce_finish(pkt->data, r, bf_roce_build(pkt->data, &qp->path, r), dev->profile.icrc);
	bf_mlx5_tx_push(qp, pkt, BF_TX_REQUEST | BF_TX_WHOLE);
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
					      .udp_src_port = (uint16_t)(0xc000 | (qp->qpn & 0x3fff)) };
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

	qp->remote_qpn = t->number;
	qp->remote_ipv4 = t->path.dst_ipv4;
	bf_roce_path_init(&qp->path, &t->path);
	d->key = t->key;
	d->session = ++qp->dev->dc_sessions;
	d->peer_session = 0;
	d->attempt = 0;
	d->open = d->announce = true;
	d->waiting = false;
	qp->dev->count.dc_connects++;
	record_connection(qp, qp->una_psn, BF_MLX5_DCI_CHOSEN);
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
	if (d->open && t.number == qp->remote_qpn && t.path.dst_ipv4 == qp->remote_ipv4 && t.key == d->key)
		return true;
	if (qp->una_psn != qp->send_psn)
		return false; /* the acknowledgements bring us back here */
	if (d->open && !d->announce) {
		send_control(qp, BF_DC_DISCONNECT); /* when it is lost, the context there ages */
		record_connection(qp, qp->una_psn, BF_MLX5_DCI_DISCONNECT_SENT);
	}
	choose(qp, &t);
	return true;
}

bool bf_mlx5_dci_gate(struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_dci *d = qp->dci;

	if (BF_LIKELY(!d->announce))
		return !d->waiting;
	bf_mlx5_rto_start(qp);
	if (!send_control(qp, BF_DC_CONNECT))
		return false;
	record_connection(qp, qp->una_psn, BF_MLX5_DCI_CONNECT_SENT);
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
	struct bf_mlx5_send *s = bf_mlx5_oldest(qp);

	BF_EMIT(qp->dev->sim, qp->actor, dc_cnak, .qpn = qp->qpn, .dct = r->src_qp, .session = r->session,
		.psn = r->psn, .stream = r->stream, .reason = (uint16_t)r->dc_info);
	if (!s || r->attempt != qp->dci->attempt || qp->dci->announce)
		return;
	switch (r->dc_info) {
	case BF_CNAK_NO_CONTEXT:
		if (!bf_mlx5_use_retry(qp))
			break;
		bf_mlx5_dci_again(qp);
		bf_mlx5_go_back(qp, qp->una_psn, BF_MLX5_AGAIN_NO_CONTEXT);
		break;
	case BF_CNAK_BUSY:
		/* Contexts become free sooner or later (dct.c): no retry is used up. */
		bf_mlx5_dci_again(qp);
		bf_mlx5_go_back(qp, qp->una_psn, BF_MLX5_AGAIN_BUSY);
		bf_mlx5_pause(qp, qp->dev->profile.dc_busy_ps);
		break;
	case BF_CNAK_KEY:
		bf_mlx5_send_fail(qp, s, err_key, "CNAK: DC access key violation");
		break;
	case BF_CNAK_HANDSHAKE:
		bf_mlx5_send_fail(qp, s, err_handshake, "target wants a full handshake");
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

	if (!d->open || port != qp->port || r->src_ipv4 != qp->remote_ipv4 || r->src_qp != qp->remote_qpn)
		return false;
	return r->session == d->session || (r->opcode == BF_DC_CNAK && d->full && r->session == d->peer_session);
}

/* ACKs, NAKs, READ data, atomic results, and what a target says of the connection. */
void bf_mlx5_dci_rx(struct bf_mlx5 *dev, struct bf_mlx5_port *port, struct bf_packet *pkt)
{
	const struct bf_roce *r = &dev->rx;
	struct bf_mlx5_qp *qp = bf_mlx5_table_get(&dev->qps, r->dest_qp);
	uint32_t actor = qp ? qp->actor : dev->actor;

	if (qp && qp->dci && qp->dci->stream_count)
		qp = r->stream < qp->dci->stream_count ? qp->dci->streams[r->stream] : NULL;
	if (!qp || !qp->dci) {
		bf_mlx5_rx_drop(dev, actor, pkt, 0, BF_MLX5_DROP_NO_QP);
	} else if (qp->state != BF_MLX5_QPS_RTS && qp->state != BF_MLX5_QPS_SQD) {
		bf_mlx5_rx_drop(dev, actor, pkt, qp->una_psn, BF_MLX5_DROP_STATE);
	} else if (!is_current(qp, port, r)) {
		bf_mlx5_rx_drop(dev, actor, pkt, qp->una_psn, BF_MLX5_DROP_STALE);
	} else if (r->opcode == BF_DC_CONNECT_ACK || r->opcode == BF_DC_CNAK) {
		if (r->opcode == BF_DC_CNAK)
			refused(qp, r);
		else
			acknowledged(qp, r);
		bf_mlx5_sq_run(qp);
	} else {
		bf_mlx5_rx_response(qp, pkt);
	}
	bf_packet_free(pkt);
}

/* The queue pair behind a channel: the DCI's, with a transmitter of its own over the same ring bytes. */
static struct bf_mlx5_qp *open_stream(struct bf_mlx5_qp *qp, uint16_t number)
{
	struct bf_mlx5_qp *s = bf_pool_take(qp->dev->sim, sizeof(*s));
	struct bf_mlx5_dci *d = bf_pool_take(qp->dev->sim, sizeof(*d));

	if (s)
		s->sends = calloc(qp->sq_mask + 1u, sizeof(*s->sends));
	if (!s || !d || !s->sends) {
		if (s)
			free(s->sends);
		bf_pool_give(qp->dev->sim, s, sizeof(*s));
		bf_pool_give(qp->dev->sim, d, sizeof(*d));
		return NULL;
	}
	bf_mlx5_qp_init(s);
	s->dev = qp->dev;
	s->dci = d;
	s->sq_bytes = qp->sq_bytes;
	s->qpn = qp->qpn;
	s->actor = qp->actor;
	s->sq_mask = qp->sq_mask;
	s->state = qp->state;
	s->service = qp->service;
	s->mtu_shift = qp->mtu_shift;
	s->pd = qp->pd;
	s->send_cq = qp->send_cq;
	s->recv_cq = qp->recv_cq;
	s->port = qp->port;
	s->user_index = qp->user_index;
	s->ack_timeout = qp->ack_timeout;
	s->retry_count = s->retries_left = qp->retry_count;
	s->rnr_retry = s->rnr_left = qp->rnr_retry;
	s->max_rdatomic = qp->max_rdatomic;
	s->log_msg_max = qp->log_msg_max;
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

	if (qp->halted)
		return;
	stream = (uint16_t)(stream & (d->stream_count - 1));
	to = d->streams[stream] ? d->streams[stream] : open_stream(qp, stream);
	if (!to) {
		cannot_deal(qp, s, "no memory for a stream channel");
		return;
	}
	dealt = bf_mlx5_send_at(to, to->decoded);
	*dealt = *s;
	dealt->slot = to->decoded;
	to->decoded = to->fetched = to->fetch_issued = to->producer = (uint16_t)(to->decoded + s->wqebbs);
}

void bf_mlx5_dci_run(struct bf_mlx5_qp *qp)
{
	for (uint32_t i = 0; i < qp->dci->stream_count; i++) {
		struct bf_mlx5_qp *s = qp->dci->streams[i];

		if (!s)
			continue;
		if (s->state != BF_MLX5_QPS_ERR)
			s->state = qp->state;
		bf_mlx5_sq_run(s);
	}
}

void bf_mlx5_dci_told(struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s)
{
	bf_mlx5_send_at(qp->dci->parent, s->index)->flags |= BF_SEND_TOLD;
}

static void record_stream(const struct bf_mlx5_qp *dci, uint16_t stream, uint8_t syndrome, uint8_t what)
{
	BF_EMIT(dci->dev->sim, dci->actor, dci_stream, .qpn = dci->qpn, .errored = dci->dci->errored, .stream = stream,
		.syndrome = syndrome, .what = what);
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
	if (dci->state == BF_MLX5_QPS_ERR)
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
		return BF_MLX5_CMD_BAD_PARAM;
	stream &= qp->dci->stream_count - 1;
	s = qp->dci->streams[stream];
	if (!s || s->state != BF_MLX5_QPS_ERR || s->head != s->decoded)
		return BF_MLX5_CMD_BAD_PARAM;
	bf_mlx5_qp_reset(s);
	s->state = qp->state;
	qp->dci->errored--;
	record_stream(qp, (uint16_t)stream, 0, BF_MLX5_STREAM_RESET);
	return BF_MLX5_CMD_OK;
}
