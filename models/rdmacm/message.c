/* The messages of the communication manager, as bytes (models/rdmacm/mad.h). */
#include "models/rdmacm/rdmacm_internal.h"

#define IPV4 4u
#define IPV6 6u

void bf_cm_build(uint8_t *mad, enum bf_cm_kind kind, uint64_t tid, uint32_t local_id, uint32_t remote_id)
{
	memset(mad, 0, BF_MAD_LEN);
	BF_MLX5_SET(mad, BF_MAD_BASE_VERSION, 1);
	BF_MLX5_SET(mad, BF_MAD_CLASS, BF_MAD_CLASS_CM);
	BF_MLX5_SET(mad, BF_MAD_CLASS_VERSION, BF_MAD_CLASS_VERSION_CM);
	BF_MLX5_SET(mad, BF_MAD_METHOD, BF_MAD_SEND);
	bf_put_be64(mad + BF_MAD_TID, tid);
	BF_MLX5_SET(mad, BF_MAD_ATTRIBUTE, kind);
	BF_MLX5_SET(mad, BF_CM_LOCAL_ID, local_id);
	BF_MLX5_SET(mad, BF_CM_REMOTE_ID, remote_id);
}

/* ---- who asks whom ---- */

static void put_address(uint8_t *to, const struct sockaddr *a)
{
	if (a->sa_family == AF_INET)
		memcpy(to + 12, &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
	else
		memcpy(to, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, 16);
}

static void put_head(uint8_t *head, const struct bf_cm_id *id)
{
	BF_MLX5_SET(head, BF_CMA_HEAD_IP_VERSION, id->src.sa.sa_family == AF_INET ? IPV4 : IPV6);
	BF_MLX5_SET(head, BF_CMA_HEAD_PORT, bf_cm_addr_port(&id->src.sa));
	put_address(head + BF_CMA_HEAD_SRC, &id->src.sa);
	put_address(head + BF_CMA_HEAD_DST, &id->dst.sa);
}

static void get_address(struct sockaddr *a, uint32_t version, const uint8_t *from, uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	if (version == IPV4) {
		memcpy(&in.sin_addr, from + 12, 4);
		memcpy(a, &in, sizeof(in));
	} else {
		memcpy(&in6.sin6_addr, from, 16);
		memcpy(a, &in6, sizeof(in6));
	}
	bf_cm_addr_set_port(a, port);
}

bool bf_cm_read_head(const uint8_t *head, struct sockaddr *src, struct sockaddr *dst, uint16_t dst_port)
{
	const uint32_t version = BF_MLX5_GET(head, BF_CMA_HEAD_IP_VERSION);

	if (BF_MLX5_GET(head, BF_CMA_HEAD_VERSION) || (version != IPV4 && version != IPV6))
		return false;
	get_address(src, version, head + BF_CMA_HEAD_SRC, (uint16_t)BF_MLX5_GET(head, BF_CMA_HEAD_PORT));
	get_address(dst, version, head + BF_CMA_HEAD_DST, dst_port);
	return true;
}

/* ---- each kind ---- */

/* The half of XRC that sends receives nothing (core/cm.c cm_format_req()). */
static void set_transport(uint8_t *m, const struct bf_cm_id *id)
{
	const struct bf_cm_conn *n = &id->conn;

	if (id->qp_type == BF_CM_QPT_XRC_INI) {
		BF_MLX5_SET(m, BF_CM_REQ_TRANSPORT, BF_CM_TRANSPORT_EXTENDED);
		BF_MLX5_SET(m, BF_CM_REQ_EXTENDED, BF_CM_EXTENDED_XRC);
		return;
	}
	BF_MLX5_SET(m, BF_CM_REQ_TRANSPORT, id->qp_type == BF_CM_QPT_UC);
	BF_MLX5_SET(m, BF_CM_REQ_RESPONDER_RESOURCES, n->responder_resources);
	BF_MLX5_SET(m, BF_CM_REQ_RETRY_COUNT, n->retry_count);
	BF_MLX5_SET(m, BF_CM_REQ_RNR_RETRY, n->rnr_retry);
	BF_MLX5_SET(m, BF_CM_REQ_SRQ, n->srq);
}

void bf_cm_build_req(struct bf_cm_id *id, const void *data, uint32_t len)
{
	const struct bf_cm_conn *n = &id->conn;
	uint8_t *m = id->mad;

	bf_cm_build(m, BF_CM_REQ, id->tid, id->local_id, 0);
	bf_put_be64(m + BF_CM_REQ_SERVICE, id->service);
	bf_put_be64(m + BF_CM_REQ_CA_GUID, id->device->node_guid);
	BF_MLX5_SET(m, BF_CM_REQ_QPN, n->qpn);
	BF_MLX5_SET(m, BF_CM_REQ_INITIATOR_DEPTH, n->initiator_depth);
	BF_MLX5_SET(m, BF_CM_REQ_REMOTE_TIMEOUT, BF_CM_RESPONSE_TIMEOUT);
	set_transport(m, id);
	BF_MLX5_SET(m, BF_CM_REQ_FLOW_CONTROL, n->flow_control);
	BF_MLX5_SET(m, BF_CM_REQ_PSN, n->psn);
	BF_MLX5_SET(m, BF_CM_REQ_LOCAL_TIMEOUT, BF_CM_RESPONSE_TIMEOUT);
	BF_MLX5_SET(m, BF_CM_REQ_PKEY, BF_CM_PKEY);
	BF_MLX5_SET(m, BF_CM_REQ_MTU, id->path.mtu);
	BF_MLX5_SET(m, BF_CM_REQ_MAX_RETRIES, BF_CM_MAX_RETRIES);
	BF_MLX5_SET(m, BF_CM_REQ_LOCAL_LID, id->path.slid ? id->path.slid : BF_CM_LID_PERMISSIVE);
	BF_MLX5_SET(m, BF_CM_REQ_REMOTE_LID, id->path.dlid ? id->path.dlid : BF_CM_LID_PERMISSIVE);
	memcpy(m + BF_CM_REQ_LOCAL_GID, id->path.sgid, 16);
	memcpy(m + BF_CM_REQ_REMOTE_GID, id->path.dgid, 16);
	BF_MLX5_SET(m, BF_CM_REQ_FLOW_LABEL, id->path.flow_label);
	BF_MLX5_SET(m, BF_CM_REQ_TRAFFIC_CLASS, id->path.traffic_class);
	BF_MLX5_SET(m, BF_CM_REQ_HOP_LIMIT, id->path.hop_limit);
	BF_MLX5_SET(m, BF_CM_REQ_SL, id->path.sl);
	BF_MLX5_SET(m, BF_CM_REQ_ACK_TIMEOUT, n->ack_timeout);
	put_head(m + BF_CM_REQ_PRIVATE, id);
	memcpy(m + BF_CM_REQ_PRIVATE + BF_CMA_HEAD_LEN, data, len);
}

void bf_cm_build_rep(struct bf_cm_id *id, const void *data, uint32_t len)
{
	const struct bf_cm_conn *n = &id->conn;
	uint8_t *m = id->mad;

	bf_cm_build(m, BF_CM_REP, id->tid, id->local_id, id->remote_id);
	BF_MLX5_SET(m, BF_CM_REP_PSN, n->psn);
	BF_MLX5_SET(m, BF_CM_REP_RESPONDER_RESOURCES, n->responder_resources);
	BF_MLX5_SET(m, BF_CM_REP_ACK_DELAY, BF_CM_ACK_DELAY);
	BF_MLX5_SET(m, BF_CM_REP_RNR_RETRY, n->rnr_retry);
	if (id->qp_type == BF_CM_QPT_XRC_TGT) {
		BF_MLX5_SET(m, BF_CM_REP_SRQ, 1);
		BF_MLX5_SET(m, BF_CM_REP_EECN, n->qpn);
	} else {
		BF_MLX5_SET(m, BF_CM_REP_INITIATOR_DEPTH, n->initiator_depth);
		BF_MLX5_SET(m, BF_CM_REP_FLOW_CONTROL, n->flow_control);
		BF_MLX5_SET(m, BF_CM_REP_SRQ, n->srq);
		BF_MLX5_SET(m, BF_CM_REP_QPN, n->qpn);
	}
	bf_put_be64(m + BF_CM_REP_CA_GUID, id->device->node_guid);
	memcpy(m + BF_CM_REP_PRIVATE, data, len);
}

void bf_cm_build_sidr_req(struct bf_cm_id *id, const void *data, uint32_t len)
{
	uint8_t *m = id->mad;

	bf_cm_build(m, BF_CM_SIDR_REQ, id->tid, id->local_id, 0);
	BF_MLX5_SET(m, BF_CM_SIDR_REQ_PKEY, BF_CM_PKEY);
	bf_put_be64(m + BF_CM_SIDR_REQ_SERVICE, id->service);
	put_head(m + BF_CM_SIDR_REQ_PRIVATE, id);
	memcpy(m + BF_CM_SIDR_REQ_PRIVATE + BF_CMA_HEAD_LEN, data, len);
}

void bf_cm_build_sidr_rep(struct bf_cm_id *id, uint32_t status, const void *data, uint32_t len)
{
	uint8_t *m = id->mad;

	bf_cm_build(m, BF_CM_SIDR_REP, id->tid, id->remote_id, 0);
	BF_MLX5_SET(m, BF_CM_SIDR_REP_STATUS, status);
	bf_put_be64(m + BF_CM_SIDR_REP_SERVICE, id->service);
	if (status == BF_CM_SIDR_OK) {
		BF_MLX5_SET(m, BF_CM_SIDR_REP_QPN, id->conn.qpn);
		BF_MLX5_SET(m, BF_CM_SIDR_REP_QKEY, id->conn.qkey);
	}
	memcpy(m + BF_CM_SIDR_REP_PRIVATE, data, len);
}
