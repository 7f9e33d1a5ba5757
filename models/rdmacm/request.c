/* Requests that come: who listens, and the identifier that becomes of one (core/cm.c cm_req_handler(), core/cma.c). */
#include "models/rdmacm/rdmacm_internal.h"

#define MTU_MAX 5u

struct request {
	const struct bf_cm_agent *agent;
	uint32_t ipv4, remote_id;
	const uint8_t *mad, *head; /* the message, and in it who asks whom */
	uint64_t service;
	struct sockaddr_storage src, dst; /* the asker's, and who is asked */
};

static bool listens(const struct bf_cm_id *id, const struct request *r)
{
	const struct sockaddr *dst = (const struct sockaddr *)&r->dst;

	if (id->cma != BF_CMA_LISTEN || bf_cm_service(id->ps, bf_cm_addr_port(&id->src.sa)) != r->service)
		return false;
	if (id->src.sa.sa_family != dst->sa_family)
		return id->src.sa.sa_family == AF_INET6 && bf_cm_addr_any(&id->src.sa) && !id->afonly;
	return bf_cm_addr_any(&id->src.sa) || bf_cm_addr_equal(&id->src.sa, dst);
}

static struct bf_cm_id *find_listener(struct request *r)
{
	const struct bf_rdmacm *cm = r->agent->cm;

	if (!bf_cm_read_head(r->head, (struct sockaddr *)&r->src, (struct sockaddr *)&r->dst, (uint16_t)r->service))
		return NULL;
	for (uint32_t i = 0; i < cm->room; i++)
		if (cm->ids[i] && listens(cm->ids[i], r))
			return cm->ids[i];
	return NULL;
}

/* As the asker has it, turned round; nothing is known of it to the program before it reads the event. */
static struct bf_cm_id *new_id(const struct request *r, struct bf_cm_id *listener, enum bf_cm_state state)
{
	struct bf_cm_id *id = bf_cm_id_new(listener->file, 0, listener->ps, listener->qp_type);

	if (!id)
		return NULL;
	memcpy(&id->src, &r->dst, bf_cm_addr_size(&r->dst));
	memcpy(&id->dst, &r->src, bf_cm_addr_size(&r->src));
	id->device = r->agent->device;
	id->tos = listener->tos;
	id->tos_set = listener->tos_set;
	bf_cm_path_to(id, r->ipv4);
	id->service = r->service;
	bf_cm_register(id);
	id->remote_id = r->remote_id;
	id->tid = bf_get_be64(r->mad + BF_MAD_TID);
	id->cma = BF_CMA_CONNECT;
	id->state = (uint8_t)state;
	return id;
}

/* ---- connections ---- */

/* The asker has not heard from us. */
static void repeated(struct bf_cm_id *id)
{
	uint8_t mra[BF_MAD_LEN];

	switch (id->state) {
	case BF_CM_REQ_RCVD: /* the program thinks about it */
		bf_cm_build(mra, BF_CM_MRA, id->tid, id->local_id, id->remote_id);
		BF_MLX5_SET(mra, BF_CM_MESSAGE, BF_CM_OF_REQ);
		BF_MLX5_SET(mra, BF_CM_MRA_TIMEOUT, BF_CM_MRA_TIMEOUT_MAX);
		bf_cm_send(id->cm, id->device, id->path.ipv4, mra);
		break;
	case BF_CM_REP_SENT:
		bf_cm_again(id);
		break;
	case BF_CM_TIMEWAIT:
		bf_cm_send_rej(id, BF_CM_REJ_STALE, "", 0);
		break;
	default:
		break;
	}
}

/*
 * A queue pair that is connected already cannot ask: the process that had it is gone, and its number was given out
 * again. The old connection ends. (core/cm.c refuses the new one, too, since there numbers come back after a long time;
 * here processes get the same ones each time they start.)
 */
static void end_stale(const struct bf_cm_agent *a, uint32_t ipv4, uint32_t qpn)
{
	for (uint32_t i = 0; i < a->cm->room; i++) {
		struct bf_cm_id *id = a->cm->ids[i];

		if (id && id->state == BF_CM_ESTABLISHED && id->path.ipv4 == ipv4 && id->conn.remote_qpn == qpn)
			bf_cm_send_dreq(id);
	}
}

static void take_conn(struct bf_cm_id *id, const uint8_t *m)
{
	struct bf_cm_conn *n = &id->conn;
	const uint32_t mtu = BF_MLX5_GET(m, BF_CM_REQ_MTU);

	n->remote_qpn = BF_MLX5_GET(m, BF_CM_REQ_QPN);
	n->remote_psn = BF_MLX5_GET(m, BF_CM_REQ_PSN);
	n->responder_resources = (uint8_t)BF_MLX5_GET(m, BF_CM_REQ_INITIATOR_DEPTH);
	n->initiator_depth = (uint8_t)BF_MLX5_GET(m, BF_CM_REQ_RESPONDER_RESOURCES);
	n->retry_count = (uint8_t)BF_MLX5_GET(m, BF_CM_REQ_RETRY_COUNT);
	n->rnr_retry = (uint8_t)BF_MLX5_GET(m, BF_CM_REQ_RNR_RETRY);
	n->ack_timeout = (uint8_t)BF_MLX5_GET(m, BF_CM_REQ_ACK_TIMEOUT);
	n->flow_control = (uint8_t)BF_MLX5_GET(m, BF_CM_REQ_FLOW_CONTROL);
	n->srq = (uint8_t)BF_MLX5_GET(m, BF_CM_REQ_SRQ);
	if (mtu && mtu <= MTU_MAX)
		id->path.mtu = (uint8_t)mtu;
	id->path.traffic_class = (uint8_t)BF_MLX5_GET(m, BF_CM_REQ_TRAFFIC_CLASS);
	id->path.sl = (uint8_t)BF_MLX5_GET(m, BF_CM_REQ_SL);
	id->timeout_ps = bf_cm_time_ps(BF_MLX5_GET(m, BF_CM_REQ_LOCAL_TIMEOUT));
	id->retries = (uint8_t)BF_MLX5_GET(m, BF_CM_REQ_MAX_RETRIES);
}

static void fill_event(const struct bf_cm_id *id, const uint8_t *m, struct rdma_ucm_conn_param *p)
{
	p->qp_num = id->conn.remote_qpn;
	p->responder_resources = id->conn.responder_resources;
	p->initiator_depth = id->conn.initiator_depth;
	p->flow_control = id->conn.flow_control;
	p->retry_count = id->conn.retry_count;
	p->rnr_retry_count = id->conn.rnr_retry;
	p->srq = id->conn.srq;
	p->private_data_len = BF_CM_REQ_PRIVATE_LEN - BF_CMA_HEAD_LEN;
	memcpy(p->private_data, m + BF_CM_REQ_PRIVATE + BF_CMA_HEAD_LEN, p->private_data_len);
}

/* Which kind of queue pair is asked for (core/cm.c cm_req_get_qp_type()); 0: none that is known. */
static uint32_t type_of(const uint8_t *mad)
{
	switch (BF_MLX5_GET(mad, BF_CM_REQ_TRANSPORT)) {
	case 0:
		return BF_CM_QPT_RC;
	case 1:
		return BF_CM_QPT_UC;
	case BF_CM_TRANSPORT_EXTENDED:
		return BF_MLX5_GET(mad, BF_CM_REQ_EXTENDED) == BF_CM_EXTENDED_XRC ? BF_CM_QPT_XRC_TGT : 0;
	default:
		return 0;
	}
}

void bf_cm_on_req(const struct bf_cm_agent *a, uint32_t ipv4, const uint8_t *mad)
{
	struct request r = { .agent = a,
			     .ipv4 = ipv4,
			     .remote_id = BF_MLX5_GET(mad, BF_CM_LOCAL_ID),
			     .mad = mad,
			     .head = mad + BF_CM_REQ_PRIVATE,
			     .service = bf_get_be64(mad + BF_CM_REQ_SERVICE) };
	struct bf_cm_id *listener, *id = bf_cm_by_remote(a->cm, r.remote_id, ipv4);
	struct rdma_ucm_event_resp resp = { 0 };

	if (id) {
		repeated(id);
		return;
	}
	end_stale(a, ipv4, BF_MLX5_GET(mad, BF_CM_REQ_QPN));
	listener = find_listener(&r);
	if (!listener) {
		bf_cm_refuse(a, ipv4, mad, BF_CM_REJ_INVALID_SERVICE);
		return;
	}
	if (type_of(mad) != listener->qp_type) {
		bf_cm_refuse(a, ipv4, mad, BF_CM_REJ_CONSUMER);
		return;
	}
	id = new_id(&r, listener, BF_CM_REQ_RCVD);
	if (!id)
		return; /* it will be repeated */
	take_conn(id, mad);
	fill_event(id, mad, &resp.param.conn);
	if (!bf_cm_tell_request(listener, id, &resp))
		bf_cm_id_free(id);
}

/* ---- datagrams ---- */

static void answer_sidr(const struct request *r, uint32_t status)
{
	uint8_t rep[BF_MAD_LEN];

	bf_cm_build(rep, BF_CM_SIDR_REP, bf_get_be64(r->mad + BF_MAD_TID), r->remote_id, 0);
	BF_MLX5_SET(rep, BF_CM_SIDR_REP_STATUS, status);
	bf_put_be64(rep + BF_CM_SIDR_REP_SERVICE, r->service);
	bf_cm_send(r->agent->cm, r->agent->device, r->ipv4, rep);
}

void bf_cm_on_sidr_req(const struct bf_cm_agent *a, uint32_t ipv4, const uint8_t *mad)
{
	struct request r = { .agent = a,
			     .ipv4 = ipv4,
			     .remote_id = BF_MLX5_GET(mad, BF_CM_LOCAL_ID),
			     .mad = mad,
			     .head = mad + BF_CM_SIDR_REQ_PRIVATE,
			     .service = bf_get_be64(mad + BF_CM_SIDR_REQ_SERVICE) };
	struct bf_cm_id *listener, *id = bf_cm_by_remote(a->cm, r.remote_id, ipv4);
	struct rdma_ucm_event_resp resp = { 0 };
	struct rdma_ucm_ud_param *p = &resp.param.ud;

	if (id) {
		if (id->state == BF_CM_SIDR_DONE)
			bf_cm_again(id);
		return;
	}
	listener = find_listener(&r);
	if (!listener || listener->qp_type != BF_CM_QPT_UD) {
		answer_sidr(&r, BF_CM_SIDR_UNSUPPORTED);
		return;
	}
	id = new_id(&r, listener, BF_CM_SIDR_REQ_RCVD);
	if (!id)
		return;
	bf_cm_fill_ah(id, &p->ah_attr);
	p->private_data_len = BF_CM_SIDR_REQ_PRIVATE_LEN - BF_CMA_HEAD_LEN;
	memcpy(p->private_data, r.head + BF_CMA_HEAD_LEN, p->private_data_len);
	if (!bf_cm_tell_request(listener, id, &resp))
		bf_cm_id_free(id);
}
