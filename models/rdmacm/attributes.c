/*
 * What a queue pair is to be set to on its way through its states. The program's library does that itself; what the
 * peer said it learns here (core/cma.c rdma_init_qp_attr(), core/cm.c ib_cm_init_qp_attr()).
 */
#include "models/rdmacm/rdmacm_internal.h"

/* Linux include/rdma/ib_verbs.h enum ib_qp_attr_mask, enum ib_access_flags, enum ib_qp_state. */
#define QP_STATE (1u << 0)
#define QP_ACCESS_FLAGS (1u << 3)
#define QP_PKEY_INDEX (1u << 4)
#define QP_PORT (1u << 5)
#define QP_QKEY (1u << 6)
#define QP_AV (1u << 7)
#define QP_PATH_MTU (1u << 8)
#define QP_TIMEOUT (1u << 9)
#define QP_RETRY_CNT (1u << 10)
#define QP_RNR_RETRY (1u << 11)
#define QP_RQ_PSN (1u << 12)
#define QP_MAX_RD_ATOMIC (1u << 13)
#define QP_MIN_RNR_TIMER (1u << 15)
#define QP_SQ_PSN (1u << 16)
#define QP_MAX_DEST_RD_ATOMIC (1u << 17)
#define QP_DEST_QPN (1u << 20)
#define REMOTE_WRITE (1u << 1)
#define REMOTE_READ (1u << 2)
#define REMOTE_ATOMIC (1u << 3)
enum { TO_INIT = 1, TO_RTR = 2, TO_RTS = 3, TO_ERR = 6 };

void bf_cm_fill_ah(const struct bf_cm_id *id, struct ib_uverbs_ah_attr *ah)
{
	memset(ah, 0, sizeof(*ah));
	memcpy(ah->grh.dgid, id->path.dgid, sizeof(ah->grh.dgid));
	ah->grh.flow_label = id->path.flow_label;
	ah->grh.sgid_index = BF_CM_SGID_INDEX;
	ah->grh.hop_limit = id->path.hop_limit;
	ah->grh.traffic_class = id->path.traffic_class;
	ah->sl = id->path.sl;
	ah->is_global = 1;
	ah->port_num = 1;
	if (id->device
		->infiniband) { /* one subnet: no global route header (core/sa_query.c init_ah_attr_grh_fields()) */
		ah->grh.sgid_index = 0;
		ah->is_global = 0;
		ah->dlid = id->path.dlid;
	}
}

/* Before anything was said, and of datagrams: what needs no peer. */
static void fill_alone(const struct bf_cm_id *id, struct ib_uverbs_qp_attr *a)
{
	a->port_num = 1;
	a->qp_attr_mask = QP_STATE | QP_PKEY_INDEX | QP_PORT;
	if (id->qp_type == BF_CM_QPT_UD) {
		a->qp_attr_mask |= QP_QKEY;
		a->qkey = id->conn.qkey ? id->conn.qkey : BF_CM_UDP_QKEY;
	} else {
		a->qp_attr_mask |= QP_ACCESS_FLAGS;
	}
}

static void fill_init(const struct bf_cm_id *id, struct ib_uverbs_qp_attr *a)
{
	a->qp_attr_mask = QP_STATE | QP_ACCESS_FLAGS | QP_PKEY_INDEX | QP_PORT;
	a->qp_access_flags = REMOTE_WRITE;
	if (id->conn.responder_resources)
		a->qp_access_flags |= REMOTE_READ | REMOTE_ATOMIC;
	a->port_num = 1;
}

static void fill_rtr(const struct bf_cm_id *id, struct ib_uverbs_qp_attr *a)
{
	a->qp_attr_mask = QP_STATE | QP_AV | QP_PATH_MTU | QP_DEST_QPN | QP_RQ_PSN;
	bf_cm_fill_ah(id, &a->ah_attr);
	a->path_mtu = id->path.mtu;
	a->dest_qp_num = id->conn.remote_qpn;
	a->rq_psn = id->conn.psn;
	if (id->qp_type == BF_CM_QPT_RC || id->qp_type == BF_CM_QPT_XRC_TGT) {
		a->qp_attr_mask |= QP_MAX_DEST_RD_ATOMIC | QP_MIN_RNR_TIMER;
		a->max_dest_rd_atomic = id->conn.responder_resources;
	}
}

static void fill_rts(const struct bf_cm_id *id, struct ib_uverbs_qp_attr *a)
{
	a->qp_attr_mask = QP_STATE | QP_SQ_PSN;
	a->sq_psn = id->conn.remote_psn;
	if (id->qp_type == BF_CM_QPT_RC || id->qp_type == BF_CM_QPT_XRC_INI) {
		a->qp_attr_mask |= QP_RETRY_CNT | QP_RNR_RETRY | QP_MAX_RD_ATOMIC;
		a->retry_cnt = id->conn.retry_count;
		a->rnr_retry = id->conn.rnr_retry;
		a->max_rd_atomic = id->conn.initiator_depth;
	}
	if (id->qp_type != BF_CM_QPT_UC) {
		a->qp_attr_mask |= QP_TIMEOUT;
		a->timeout = id->ack_timeout_set ? id->ack_timeout : id->conn.ack_timeout;
	}
}

/* A queue pair may be made ready once both sides have spoken, and initialised before. */
static int fill(const struct bf_cm_id *id, uint32_t to, struct ib_uverbs_qp_attr *a)
{
	const bool heard = id->state >= BF_CM_REQ_RCVD && id->state <= BF_CM_ESTABLISHED;

	if (id->qp_type == BF_CM_QPT_UD || id->state == BF_CM_NO_STATE)
		fill_alone(id, a);
	else if (to == TO_INIT && (heard || id->state == BF_CM_REQ_SENT))
		fill_init(id, a);
	else if (to == TO_RTR && heard)
		fill_rtr(id, a);
	else if (to == TO_RTS && heard)
		fill_rts(id, a);
	else
		return -EINVAL;
	return 0;
}

int bf_cm_init_qp_attr(struct bf_cm_call *c)
{
	const struct rdma_ucm_init_qp_attr cmd = c->in.init_qp_attr;
	struct ib_uverbs_qp_attr resp = { .qp_state = cmd.qp_state };
	struct bf_cm_id *id;
	int err;

	if (cmd.qp_state > TO_ERR)
		return -EINVAL;
	err = bf_cm_find_ready(c, cmd.id, &id);
	if (!err)
		err = fill(id, cmd.qp_state, &resp);
	return err ? err : bf_cm_answer(c, cmd.response, &resp, sizeof(resp));
}
