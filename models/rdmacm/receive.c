/* Answers that come, each to the identifier whose number it carries (core/cm.c, the handlers of cm_work_handler()). */
#include "models/rdmacm/rdmacm_internal.h"

struct message {
	const struct bf_cm_agent *agent;
	uint32_t ipv4;
	const uint8_t *mad;
};

/* The identifier that both numbers are of; before the peer has told its own, that is not compared. */
static struct bf_cm_id *find(const struct message *m)
{
	const uint32_t remote = BF_MLX5_GET(m->mad, BF_CM_LOCAL_ID);
	struct bf_cm_id *id = bf_cm_by_local(m->agent->cm, BF_MLX5_GET(m->mad, BF_CM_REMOTE_ID), m->ipv4);

	return id && (!id->remote_id || id->remote_id == remote) ? id : NULL;
}

static bool waits_for_program(const struct bf_cm_id *id)
{
	return id->cma == BF_CMA_CONNECT;
}

/* ---- REP, RTU ---- */

static void take_rep(struct bf_cm_id *id, const uint8_t *m)
{
	struct bf_cm_conn *n = &id->conn;

	id->remote_id = BF_MLX5_GET(m, BF_CM_LOCAL_ID);
	n->remote_qpn =
	    id->qp_type == BF_CM_QPT_XRC_INI ? BF_MLX5_GET(m, BF_CM_REP_EECN) : BF_MLX5_GET(m, BF_CM_REP_QPN);
	n->remote_psn = BF_MLX5_GET(m, BF_CM_REP_PSN);
	n->initiator_depth = (uint8_t)BF_MLX5_GET(m, BF_CM_REP_RESPONDER_RESOURCES);
	n->responder_resources = (uint8_t)BF_MLX5_GET(m, BF_CM_REP_INITIATOR_DEPTH);
	n->rnr_retry = (uint8_t)BF_MLX5_GET(m, BF_CM_REP_RNR_RETRY);
	n->ack_timeout = bf_cm_ack_timeout((uint8_t)BF_MLX5_GET(m, BF_CM_REP_ACK_DELAY),
					   n->ack_timeout ? (uint8_t)(n->ack_timeout - 1) : 0);
}

static void on_rep(const struct message *m)
{
	struct bf_cm_id *id = find(m);
	struct rdma_ucm_event_resp resp = { 0 };
	struct rdma_ucm_conn_param *p = &resp.param.conn;

	if (id && id->state == BF_CM_ESTABLISHED && BF_MLX5_GET(id->mad, BF_MAD_ATTRIBUTE) == BF_CM_RTU)
		bf_cm_again(id); /* our RTU was lost */
	if (!id || id->state != BF_CM_REQ_SENT)
		return;
	bf_cm_stop(id);
	take_rep(id, m->mad);
	id->state = BF_CM_REP_RCVD;
	p->qp_num = id->conn.remote_qpn;
	p->responder_resources = id->conn.responder_resources;
	p->initiator_depth = id->conn.initiator_depth;
	p->flow_control = (uint8_t)BF_MLX5_GET(m->mad, BF_CM_REP_FLOW_CONTROL);
	p->rnr_retry_count = id->conn.rnr_retry;
	p->srq = (uint8_t)BF_MLX5_GET(m->mad, BF_CM_REP_SRQ);
	p->private_data_len = BF_CM_REP_PRIVATE_LEN;
	memcpy(p->private_data, m->mad + BF_CM_REP_PRIVATE, BF_CM_REP_PRIVATE_LEN);
	if (waits_for_program(id))
		bf_cm_tell(id, BF_CM_CONNECT_RESPONSE, 0, &resp);
}

static void on_rtu(const struct message *m)
{
	struct bf_cm_id *id = find(m);

	if (id && id->state == BF_CM_REP_SENT)
		bf_cm_established(id);
}

/* The peer's program needs time for what it got: nothing is repeated before that is over. */
static void on_mra(const struct message *m)
{
	struct bf_cm_id *id = find(m);
	const uint32_t which = BF_MLX5_GET(m->mad, BF_CM_MESSAGE);

	if (!id || !((which == BF_CM_OF_REQ && id->state == BF_CM_REQ_SENT) ||
		     (which == BF_CM_OF_REP && id->state == BF_CM_REP_SENT)))
		return;
	bf_cm_wait(id, bf_cm_time_ps(BF_MLX5_GET(m->mad, BF_CM_MRA_TIMEOUT)) + id->timeout_ps);
}

/* ---- REJ ---- */

/* Of a peer that took its request back we may have sent no number yet: then its own one says which is meant. */
static struct bf_cm_id *find_refused(const struct message *m)
{
	const struct bf_rdmacm *cm = m->agent->cm;

	if (BF_MLX5_GET(m->mad, BF_CM_REJ_REASON) == BF_CM_REJ_TIMEOUT)
		return bf_cm_by_remote(cm, BF_MLX5_GET(m->mad, BF_CM_LOCAL_ID), m->ipv4);
	if (BF_MLX5_GET(m->mad, BF_CM_MESSAGE) == BF_CM_OF_REQ)
		return bf_cm_by_local(cm, BF_MLX5_GET(m->mad, BF_CM_REMOTE_ID), m->ipv4);
	return find(m);
}

static void on_rej(const struct message *m)
{
	struct bf_cm_id *id = find_refused(m);
	const uint16_t reason = (uint16_t)BF_MLX5_GET(m->mad, BF_CM_REJ_REASON);
	struct rdma_ucm_event_resp resp = { 0 };

	if (!id)
		return;
	switch (id->state) {
	case BF_CM_REQ_SENT:
	case BF_CM_REP_SENT:
	case BF_CM_REQ_RCVD:
		bf_cm_stop(id);
		id->state = BF_CM_IDLE;
		break;
	case BF_CM_REP_RCVD:
	case BF_CM_DREQ_SENT:
	case BF_CM_ESTABLISHED:
		bf_cm_timewait(id);
		break;
	default:
		return;
	}
	resp.param.conn.private_data_len = BF_CM_REJ_PRIVATE_LEN;
	memcpy(resp.param.conn.private_data, m->mad + BF_CM_REJ_PRIVATE, BF_CM_REJ_PRIVATE_LEN);
	if (waits_for_program(id))
		bf_cm_tell(id, BF_CM_REJECTED, reason, &resp);
}

/* ---- DREQ, DREP ---- */

static void on_dreq(const struct message *m)
{
	struct bf_cm_id *id = find(m);
	uint8_t drep[BF_MAD_LEN];

	if (!id) { /* gone, and the peer shall not ask again */
		bf_cm_build(drep, BF_CM_DREP, bf_get_be64(m->mad + BF_MAD_TID), BF_MLX5_GET(m->mad, BF_CM_REMOTE_ID),
			    BF_MLX5_GET(m->mad, BF_CM_LOCAL_ID));
		bf_cm_send(m->agent->cm, m->agent->device, m->ipv4, drep);
		return;
	}
	if (BF_MLX5_GET(m->mad, BF_CM_DREQ_QPN) != id->conn.qpn)
		return;
	switch (id->state) {
	case BF_CM_REP_SENT:
	case BF_CM_ESTABLISHED:
	case BF_CM_DREQ_SENT:
		bf_cm_stop(id);
		id->state = BF_CM_DREQ_RCVD;
		id->tid = bf_get_be64(m->mad + BF_MAD_TID);
		bf_cm_disconnected(id, 0);
		break;
	case BF_CM_TIMEWAIT:
	case BF_CM_IDLE: /* core/cm.c is silent once its time is over, and the peer asks for another minute */
		bf_cm_build(drep, BF_CM_DREP, bf_get_be64(m->mad + BF_MAD_TID), id->local_id, id->remote_id);
		bf_cm_send(id->cm, id->device, id->path.ipv4, drep);
		break;
	default:
		break;
	}
}

static void on_drep(const struct message *m)
{
	struct bf_cm_id *id = find(m);

	if (!id || (id->state != BF_CM_DREQ_SENT && id->state != BF_CM_DREQ_RCVD))
		return;
	bf_cm_timewait(id);
	bf_cm_disconnected(id, 0);
}

/* ---- datagrams ---- */

static void on_sidr_rep(const struct message *m)
{
	struct bf_cm_id *id = bf_cm_by_local(m->agent->cm, BF_MLX5_GET(m->mad, BF_CM_LOCAL_ID), m->ipv4);
	const uint32_t status = BF_MLX5_GET(m->mad, BF_CM_SIDR_REP_STATUS);
	struct rdma_ucm_event_resp resp = { 0 };
	struct rdma_ucm_ud_param *p = &resp.param.ud;

	if (!id || id->state != BF_CM_SIDR_REQ_SENT)
		return;
	bf_cm_stop(id);
	id->state = BF_CM_IDLE;
	p->private_data_len = BF_CM_SIDR_REP_PRIVATE_LEN;
	memcpy(p->private_data, m->mad + BF_CM_SIDR_REP_PRIVATE, BF_CM_SIDR_REP_PRIVATE_LEN);
	if (status != BF_CM_SIDR_OK) {
		bf_cm_tell(id, BF_CM_UNREACHABLE, (int32_t)status, &resp);
		return;
	}
	id->conn.remote_qpn = p->qp_num = BF_MLX5_GET(m->mad, BF_CM_SIDR_REP_QPN);
	id->conn.qkey = p->qkey = BF_MLX5_GET(m->mad, BF_CM_SIDR_REP_QKEY);
	bf_cm_fill_ah(id, &p->ah_attr);
	bf_cm_tell(id, BF_CM_ESTABLISHED_EVENT, 0, &resp);
}

/* ---- all of them ---- */

static bool is_ours(const uint8_t *mad)
{
	return BF_MLX5_GET(mad, BF_MAD_BASE_VERSION) == 1 && BF_MLX5_GET(mad, BF_MAD_CLASS) == BF_MAD_CLASS_CM &&
	       BF_MLX5_GET(mad, BF_MAD_CLASS_VERSION) == BF_MAD_CLASS_VERSION_CM &&
	       BF_MLX5_GET(mad, BF_MAD_METHOD) == BF_MAD_SEND;
}

/* Paths are never changed: LAP is left unanswered, as core/cm.c does when its user does not know of it. */
static void dispatch(const struct message *m)
{
	switch (BF_MLX5_GET(m->mad, BF_MAD_ATTRIBUTE)) {
	case BF_CM_REQ:
		bf_cm_on_req(m->agent, m->ipv4, m->mad);
		break;
	case BF_CM_MRA:
		on_mra(m);
		break;
	case BF_CM_REJ:
		on_rej(m);
		break;
	case BF_CM_REP:
		on_rep(m);
		break;
	case BF_CM_RTU:
		on_rtu(m);
		break;
	case BF_CM_DREQ:
		on_dreq(m);
		break;
	case BF_CM_DREP:
		on_drep(m);
		break;
	case BF_CM_SIDR_REQ:
		bf_cm_on_sidr_req(m->agent, m->ipv4, m->mad);
		break;
	case BF_CM_SIDR_REP:
		on_sidr_rep(m);
		break;
	default:
		break;
	}
}

void bf_cm_receive(void *agent, uint32_t ipv4, const uint8_t mad[BF_MAD_LEN])
{
	const struct message m = { agent, ipv4, mad };
	struct bf_rdmacm *cm = m.agent->cm;
	const bool ours = is_ours(mad);

	cm->count.received++;
	cm->count.malformed += !ours;
	bf_cm_record(cm, ipv4, mad, ours ? BF_CM_RECEIVED : BF_CM_MALFORMED, 0);
	if (ours)
		dispatch(&m);
}
