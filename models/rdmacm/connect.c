/* Listening, connecting, accepting, refusing and ending: commands of the program (core/ucma.c, core/cma.c). */
#include "models/rdmacm/rdmacm_internal.h"

#define MAX_BACKLOG 1024u
#define MAX_RETRY 7u
#define QPN_MASK 0xffffffu

static uint8_t at_most(uint8_t value, uint8_t max)
{
	return value < max ? value : max;
}

int bf_cm_listen(struct bf_cm_call *c)
{
	static const struct sockaddr_in any = { .sin_family = AF_INET };
	const struct rdma_ucm_listen cmd = c->in.listen;
	struct bf_cm_id *id;
	int err = bf_cm_find(c, cmd.id, &id);

	if (!err && id->cma == BF_CMA_IDLE)
		err = bf_cm_bind_to(id, (const struct sockaddr *)(const void *)&any);
	if (err)
		return err;
	if (id->cma != BF_CMA_BOUND)
		return -EINVAL;
	if (id->src.sa.sa_family == BF_AF_IB)
		return -EOPNOTSUPP;
	err = bf_cm_port_listen(id);
	if (err)
		return err;
	id->backlog = cmd.backlog && cmd.backlog <= MAX_BACKLOG ? cmd.backlog : MAX_BACKLOG;
	id->cma = BF_CMA_LISTEN;
	return 0;
}

/* ---- asking ---- */

static void take_param(struct bf_cm_id *id, const struct rdma_ucm_conn_param *p)
{
	struct bf_cm_conn *n = &id->conn;

	n->qpn = p->qp_num & QPN_MASK;
	n->responder_resources = p->responder_resources;
	n->initiator_depth = p->initiator_depth;
	n->flow_control = p->flow_control & 1;
	n->srq = p->srq & 1;
}

static void ask(struct bf_cm_id *id, const struct rdma_ucm_conn_param *p)
{
	struct bf_cm_conn *n = &id->conn;

	take_param(id, p);
	n->retry_count = at_most(p->retry_count, MAX_RETRY);
	n->rnr_retry = at_most(p->rnr_retry_count, MAX_RETRY);
	n->ack_timeout = bf_cm_ack_timeout(BF_CM_ACK_DELAY, BF_CM_PACKET_LIFETIME);
	if (id->ack_timeout_set && id->ack_timeout)
		n->ack_timeout = bf_cm_ack_timeout(BF_CM_ACK_DELAY, (uint8_t)(id->ack_timeout - 1));
	id->timeout_ps = 2 * bf_cm_time_ps(BF_CM_PACKET_LIFETIME) + bf_cm_time_ps(BF_CM_RESPONSE_TIMEOUT);
	id->retries = BF_CM_MAX_RETRIES;
	id->service = bf_cm_service(id->ps, bf_cm_addr_port(&id->dst.sa));
	bf_cm_register(id);
	id->cma = BF_CMA_CONNECT;
}

int bf_cm_connect(struct bf_cm_call *c)
{
	const struct rdma_ucm_connect *cmd = &c->in.connect;
	const struct rdma_ucm_conn_param *p = &cmd->conn_param;
	const bool ud_room = p->private_data_len <= BF_CM_SIDR_REQ_PRIVATE_LEN - BF_CMA_HEAD_LEN;
	const bool room = p->private_data_len <= BF_CM_REQ_PRIVATE_LEN - BF_CMA_HEAD_LEN;
	struct bf_cm_id *id;
	int err;

	if (!p->valid)
		return -EINVAL;
	err = bf_cm_find_ready(c, cmd->id, &id);
	if (err)
		return err;
	if (id->cma != BF_CMA_ROUTE || !(id->qp_type == BF_CM_QPT_UD ? ud_room : room))
		return -EINVAL;
	ask(id, p);
	if (id->qp_type == BF_CM_QPT_UD) {
		bf_cm_build_sidr_req(id, p->private_data, p->private_data_len);
		bf_cm_start(id, BF_CM_SIDR_REQ_SENT);
	} else {
		bf_cm_build_req(id, p->private_data, p->private_data_len);
		bf_cm_start(id, BF_CM_REQ_SENT);
	}
	return 0;
}

/* ---- answering ---- */

static int answer_datagrams(struct bf_cm_id *id, uint32_t status, const void *data, uint32_t len)
{
	if (len > BF_CM_SIDR_REP_PRIVATE_LEN || id->state != BF_CM_SIDR_REQ_RCVD)
		return -EINVAL;
	if (!id->conn.qkey)
		id->conn.qkey = BF_CM_UDP_QKEY;
	bf_cm_build_sidr_rep(id, status, data, len);
	bf_cm_send(id->cm, id->device, id->path.ipv4, id->mad);
	id->state = BF_CM_SIDR_DONE;
	return 0;
}

static int answer(struct bf_cm_id *id, const struct rdma_ucm_conn_param *p)
{
	if (p->private_data_len > BF_CM_REP_PRIVATE_LEN || id->state != BF_CM_REQ_RCVD)
		return -EINVAL;
	take_param(id, p);
	id->conn.rnr_retry = at_most(p->rnr_retry_count, MAX_RETRY);
	bf_cm_build_rep(id, p->private_data, p->private_data_len);
	bf_cm_start(id, BF_CM_REP_SENT);
	return 0;
}

static int confirm(struct bf_cm_id *id)
{
	if (id->state != BF_CM_REP_RCVD)
		return -EINVAL;
	bf_cm_send_rtu(id);
	return 0;
}

/* With parameters: an answer to a request. Without: the asker's, who has got one and is ready now. */
static int accept_it(struct bf_cm_id *id, const struct rdma_ucm_accept *cmd)
{
	const struct rdma_ucm_conn_param *p = &cmd->conn_param;

	if (id->cma != BF_CMA_CONNECT)
		return -EINVAL;
	if (id->qp_type != BF_CM_QPT_UD)
		return p->valid ? answer(id, p) : confirm(id);
	if (p->valid)
		take_param(id, p);
	return answer_datagrams(id, BF_CM_SIDR_OK, p->private_data, p->valid ? p->private_data_len : 0);
}

static int refuse(struct bf_cm_id *id, uint16_t reason, const void *data, uint32_t len)
{
	if (id->qp_type == BF_CM_QPT_UD)
		return answer_datagrams(id, BF_CM_SIDR_REJECT, data, len);
	if (len > BF_CM_REJ_PRIVATE_LEN)
		return -EINVAL;
	if (id->state != BF_CM_REQ_SENT && id->state != BF_CM_REQ_RCVD && id->state != BF_CM_REP_RCVD &&
	    id->state != BF_CM_REP_SENT)
		return -EINVAL;
	bf_cm_stop(id);
	bf_cm_send_rej(id, reason, data, len);
	id->state = BF_CM_IDLE;
	return 0;
}

int bf_cm_accept(struct bf_cm_call *c)
{
	const struct rdma_ucm_accept *cmd = &c->in.accept;
	struct bf_cm_id *id;
	int err = bf_cm_find_ready(c, cmd->id, &id);

	if (err)
		return err;
	err = accept_it(id, cmd);
	if (err)
		refuse(id, BF_CM_REJ_CONSUMER, "", 0);
	else if (cmd->conn_param.valid)
		id->uid = cmd->uid;
	return err;
}

int bf_cm_reject(struct bf_cm_call *c)
{
	const struct rdma_ucm_reject *cmd = &c->in.reject;
	const uint8_t reason = cmd->reason ? cmd->reason : BF_CM_REJ_CONSUMER;
	struct bf_cm_id *id;
	int err;

	if (reason != BF_CM_REJ_CONSUMER && reason != BF_CM_REJ_VENDOR_OPTION)
		return -EINVAL;
	err = bf_cm_find_ready(c, cmd->id, &id);
	return err ? err : refuse(id, reason, cmd->private_data, cmd->private_data_len);
}

/* ---- ending ---- */

/* The first asks the other to; the other says yes. */
int bf_cm_disconnect(struct bf_cm_call *c)
{
	struct bf_cm_id *id;
	int err = bf_cm_find_ready(c, c->in.disconnect.id, &id);

	if (err)
		return err;
	if (id->state == BF_CM_NO_STATE)
		return -EINVAL;
	if (bf_cm_send_dreq(id))
		bf_cm_send_drep(id);
	return 0;
}

/* The program's queue pair heard its peer before this manager did. */
int bf_cm_notify(struct bf_cm_call *c)
{
	const struct rdma_ucm_notify cmd = c->in.notify;
	struct bf_cm_id *id;
	int err = bf_cm_find_ready(c, cmd.id, &id);

	if (err)
		return err;
	if (id->state == BF_CM_NO_STATE || cmd.event != BF_CM_COMM_EST)
		return -EINVAL;
	if (id->state == BF_CM_ESTABLISHED)
		return -EISCONN;
	if (id->state != BF_CM_REP_SENT)
		return -EINVAL;
	bf_cm_established(id);
	return 0;
}
