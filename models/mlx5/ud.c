/*
 * Datagrams: what a UD queue pair adds to the path that all sends and receives take.
 *
 * A datagram is one packet with the address of its WQE. It names its sender and a Q_Key that must be the receiver's
 * (IBA vol. 1 section 10.2.5). Nothing comes back: what the receiver cannot take is dropped, and counted. The first 40
 * bytes of a receive are kept for the global route header; RoCEv2 over IPv4 has its IP header in the last 20 of them
 * (annex A17, section A17.4.3), the others are zero.
 */
#include "models/mlx5/device_internal.h"

#define GRH_BYTES 40u
#define IP_BYTES 20u

/* Queue pairs 0 and 1 of a port: management datagrams are sent from and to these numbers, whatever their own are. */
static uint32_t number_on_wire(const struct bf_mlx5_qp *qp)
{
	for (uint32_t i = 0; i < BF_ARRAY_LEN(qp->port->special); i++)
		if (qp->port->special[i] == qp)
			return i;
	return qp->rdma.qpn;
}

void bf_mlx5_special_open(struct bf_mlx5_qp *qp, const uint8_t *qpc)
{
	const uint32_t number = BF_MLX5_GET(qpc, BF_QPC_ST) - BF_QPC_ST_QP0;

	if (number < BF_ARRAY_LEN(qp->port->special))
		qp->port->special[number] = qp;
}

void bf_mlx5_special_close(struct bf_mlx5_qp *qp)
{
	const uint32_t number = number_on_wire(qp);

	if (number < BF_ARRAY_LEN(qp->port->special))
		qp->port->special[number] = NULL;
}

bool bf_mlx5_ud_address(struct bf_mlx5_qp *qp, const struct bf_mlx5_send *s, struct bf_roce *r)
{
	struct bf_mlx5_target t;
	uint32_t qkey;

	if (!s->av || bf_mlx5_read_av(qp, s, &t))
		return false;
	bf_roce_path_init(&qp->dev->ud_path, &t.path);
	qkey = (uint32_t)(t.key >> 32);
	r->opcode = s->opcode == BF_MLX5_OP_SEND_IMM ? BF_UD_SEND_ONLY_IMM : BF_UD_SEND_ONLY;
	r->dest_qp = t.number;
	r->src_qp = number_on_wire(qp);
	r->qkey = qkey & BF_MLX5_QKEY_OWN ? qp->qkey : qkey;
	return true;
}

static void drop(struct bf_mlx5 *dev, const struct bf_mlx5_qp *qp, struct bf_packet *pkt, enum bf_rdma_drop why)
{
	bf_rdma_drop(&dev->rdma, qp ? qp->rdma.actor : dev->actor, pkt, 0, why);
	bf_packet_free(pkt);
}

/* The receive WQE at hand is done: well (no cause) or not. */
static void complete(struct bf_mlx5_qp *qp, const struct bf_roce *r, uint32_t len, enum bf_rdma_cause cause)
{
	bool imm = r->opcode == BF_UD_SEND_ONLY_IMM;
	struct bf_mlx5_completion c = {
		.opcode = cause ? BF_MLX5_CQE_RESP_ERR
			  : imm ? BF_MLX5_CQE_RESP_SEND_IMM
				: BF_MLX5_CQE_RESP_SEND,
		.index = qp->rq_index,
		.byte_cnt = len,
		.imm = imm ? r->imm : 0,
		.flags_rqpn =
		    (uint32_t)(BF_FIELD_PREP(BF_MLX5_CQE_GRH, 1) | BF_FIELD_PREP(BF_MLX5_CQE_L3, BF_MLX5_CQE_L3_IPV4) |
			       BF_FIELD_PREP(BF_MLX5_CQE_RQPN, r->src_qp)),
		.solicited = r->solicited,
		.err = bf_mlx5_err_of(cause),
	};

	if (qp->dev->infiniband) { /* a LID for an answer, and no header that hosts of that kind would know */
		c.flags_rqpn = r->src_qp;
		c.slid = (uint16_t)r->src_ipv4;
		c.imm = imm ? r->imm : r->pkey;
	}
	qp->rdma.rx_has_receive = false;
	bf_mlx5_cq_write(qp->recv_cq, qp, &c);
}

static void record_done(const struct bf_mlx5_qp *qp, const struct bf_roce *r)
{
	BF_EMIT(qp->dev->sim, qp->rdma.actor, request_done, .qpn = qp->rdma.qpn, .psn = r->psn,
		.length = r->payload_len, .opcode = r->opcode);
}

/* A receive that cannot hold the datagram, or whose memory cannot be written, fails its queue pair (assumed). */
static void fail(struct bf_mlx5_qp *qp, const struct bf_roce *r, enum bf_rdma_cause cause)
{
	bf_mlx5_qp_report(qp, 1, qp->rq_index, r->opcode, r->psn, 0, bf_mlx5_err_of(cause),
			  "datagram cannot be placed");
	complete(qp, r, 0, cause);
	bf_mlx5_qp_error(qp, BF_MLX5_BY_RESPONDER);
	bf_mlx5_sq_run(qp);
}

static void place(struct bf_mlx5_qp *qp, const struct bf_packet *pkt, const struct bf_roce *r)
{
	uint8_t grh[GRH_BYTES] = { 0 };
	enum bf_rdma_cause cause;

	memcpy(grh + GRH_BYTES - IP_BYTES, pkt->data + BF_ROCE_ETH_LEN, IP_BYTES);
	if (qp->rdma.rx_room < GRH_BYTES + r->payload_len) {
		fail(qp, r, BF_RDMA_RECEIVE_SHORT);
		return;
	}
	cause = bf_mlx5_rq_scatter(qp, grh, GRH_BYTES);
	if (!cause)
		cause = bf_mlx5_rq_scatter(qp, pkt->data + r->payload_offset, r->payload_len);
	if (cause) {
		fail(qp, r, cause);
		return;
	}
	record_done(qp, r);
	complete(qp, r, GRH_BYTES + r->payload_len, BF_RDMA_NO_CAUSE);
}

void bf_mlx5_ud_request(struct bf_mlx5_qp *qp, struct bf_packet *pkt)
{
	const struct bf_roce *r = &qp->dev->rdma.rx;

	if (!qp->has_rq && !qp->srq) {
		drop(qp->dev, qp, pkt, BF_RDMA_DROP_NO_RECEIVE);
		return;
	}
	if (!qp->rdma.rx_has_receive && !bf_rdma_rx_take(&qp->rdma, pkt, r))
		return;
	place(qp, pkt, r);
	bf_packet_free(pkt);
}

void bf_mlx5_ud_rx(struct bf_mlx5 *dev, struct bf_mlx5_port *port, struct bf_packet *pkt)
{
	const struct bf_roce *r = &dev->rdma.rx;
	struct bf_mlx5_qp *qp = r->dest_qp < BF_ARRAY_LEN(port->special) ? port->special[r->dest_qp]
									 : bf_mlx5_table_get(&dev->qps, r->dest_qp);

	if (r->dest_qp == BF_MLX5_ANY_QP)
		bf_mlx5_groups_rx(port, pkt);
	else if (qp)
		bf_mlx5_ud_take(qp, port, pkt);
	else
		drop(dev, NULL, pkt, BF_RDMA_DROP_NO_QP);
}

void bf_mlx5_ud_take(struct bf_mlx5_qp *qp, const struct bf_mlx5_port *port, struct bf_packet *pkt)
{
	struct bf_mlx5 *dev = qp->dev;
	const struct bf_roce *r = &dev->rdma.rx;

	if (qp->raw || qp->rdma.service != BF_RDMA_UD || port != qp->port) {
		drop(dev, qp, pkt, BF_RDMA_DROP_PEER);
	} else if (qp->rdma.state < BF_MLX5_QPS_RTR || qp->rdma.state == BF_MLX5_QPS_ERR) {
		drop(dev, qp, pkt, BF_RDMA_DROP_STATE);
	} else if (r->qkey != qp->qkey) {
		drop(dev, qp, pkt, BF_RDMA_DROP_QKEY);
	} else {
		bf_rdma_rx_request(&qp->rdma, pkt);
	}
}
