/* libbelfry-verbs.so: memory regions, RC queue pairs and their work, in the words of the mlx5 device. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/verbs_module_internal.h"
#include "models/mlx5/prm.h"

#define CQ_ENTRIES 16384
#define SGES 4u
#define ACCESS (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)

struct bf_verbs_qp {
	struct ibv_qp *qp;
};

int bf_verbs_mr_create(struct bf_verbs_dev *d, void *at, size_t bytes, uint32_t access, uint32_t *lkey, uint32_t *rkey,
		       void **mr)
{
	const int flags = (access & BF_VERBS_LOCAL_WRITE ? IBV_ACCESS_LOCAL_WRITE : 0) |
			  (access & BF_VERBS_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
			  (access & BF_VERBS_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0) |
			  (access & BF_VERBS_ATOMIC ? IBV_ACCESS_REMOTE_ATOMIC : 0);
	struct ibv_mr *m;

	errno = 0;
	*mr = m = ibv_reg_mr(d->pd, at, bytes, (unsigned int)flags);
	if (!m)
		return bf_verbs_errno();
	*lkey = m->lkey;
	*rkey = m->rkey;
	return 0;
}

int bf_verbs_mr_destroy(void *mr)
{
	return -ibv_dereg_mr(mr);
}

/* ---- queue pairs ---- */

static int open_cq(struct bf_verbs_dev *d)
{
	struct ibv_device_attr attr;
	int rc;

	if (d->cq)
		return 0;
	rc = ibv_query_device(d->ctx, &attr);
	if (rc)
		return -rc;
	errno = 0;
	d->cq = ibv_create_cq(d->ctx, attr.max_cqe < CQ_ENTRIES ? attr.max_cqe : CQ_ENTRIES, NULL, NULL, 0);
	return d->cq ? 0 : bf_verbs_errno();
}

int bf_verbs_qp_create(struct bf_verbs_dev *d, const struct bf_verbs_qp_opts *opts, uint32_t *qpn,
		       struct bf_verbs_qp **out)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = opts->sends,
			 .max_recv_wr = opts->receives ? opts->receives : 1,
			 .max_send_sge = SGES,
			 .max_recv_sge = SGES,
			 .max_inline_data = opts->inline_bytes },
	};
	struct bf_verbs_qp *qp;
	int rc = open_cq(d);

	*out = NULL;
	if (rc)
		return rc;
	qp = calloc(1, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	attr.send_cq = attr.recv_cq = d->cq;
	errno = 0;
	qp->qp = ibv_create_qp(d->pd, &attr);
	if (!qp->qp) {
		rc = bf_verbs_errno();
		free(qp);
		return rc;
	}
	*qpn = qp->qp->qp_num;
	*out = qp;
	return 0;
}

static int to_rtr(struct bf_verbs_qp *qp, const struct bf_verbs_path *p)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = (enum ibv_mtu)p->mtu,
		.dest_qp_num = p->remote_qpn,
		.rq_psn = p->next_psn,
		.max_dest_rd_atomic = p->reads,
		.min_rnr_timer = p->min_rnr,
		.ah_attr = { .is_global = 1,
			     .port_num = p->port,
			     .sl = p->sl,
			     .grh = { .sgid_index = p->gid_index,
				      .hop_limit = p->hop_limit,
				      .traffic_class = p->tclass } },
	};

	memcpy(attr.ah_attr.grh.dgid.raw, p->gid, sizeof(p->gid));
	return -ibv_modify_qp(qp->qp, &attr,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
				  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

int bf_verbs_qp_modify(struct bf_verbs_qp *qp, uint8_t state, const struct bf_verbs_path *p)
{
	struct ibv_qp_attr attr = { 0 };

	switch (state) {
	case BF_MLX5_QPS_INIT:
		attr.qp_state = IBV_QPS_INIT;
		attr.port_num = p->port;
		attr.qp_access_flags = ACCESS;
		return -ibv_modify_qp(qp->qp, &attr,
				      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	case BF_MLX5_QPS_RTR:
		return to_rtr(qp, p);
	case BF_MLX5_QPS_RTS:
		attr.qp_state = IBV_QPS_RTS;
		attr.sq_psn = p->next_psn;
		attr.timeout = p->timeout;
		attr.retry_cnt = p->retries;
		attr.rnr_retry = p->rnr_retries;
		attr.max_rd_atomic = p->reads;
		return -ibv_modify_qp(qp->qp, &attr,
				      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	case BF_MLX5_QPS_ERR:
	case BF_MLX5_QPS_RST:
		attr.qp_state = state == BF_MLX5_QPS_ERR ? IBV_QPS_ERR : IBV_QPS_RESET;
		return -ibv_modify_qp(qp->qp, &attr, IBV_QP_STATE);
	default:
		return -EINVAL;
	}
}

int bf_verbs_qp_destroy(struct bf_verbs_qp *qp)
{
	const int rc = -ibv_destroy_qp(qp->qp);

	if (!rc)
		free(qp);
	return rc;
}

/* ---- work ---- */

static int opcode_of(uint8_t mlx5, enum ibv_wr_opcode *out)
{
	static const struct {
		uint8_t mlx5;
		uint8_t verbs;
	} table[] = {
		{ BF_MLX5_OP_SEND_INVAL, IBV_WR_SEND_WITH_INV },
		{ BF_MLX5_OP_RDMA_WRITE, IBV_WR_RDMA_WRITE },
		{ BF_MLX5_OP_RDMA_WRITE_IMM, IBV_WR_RDMA_WRITE_WITH_IMM },
		{ BF_MLX5_OP_SEND, IBV_WR_SEND },
		{ BF_MLX5_OP_SEND_IMM, IBV_WR_SEND_WITH_IMM },
		{ BF_MLX5_OP_RDMA_READ, IBV_WR_RDMA_READ },
		{ BF_MLX5_OP_ATOMIC_CS, IBV_WR_ATOMIC_CMP_AND_SWP },
		{ BF_MLX5_OP_ATOMIC_FA, IBV_WR_ATOMIC_FETCH_AND_ADD },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(table); i++)
		if (table[i].mlx5 == mlx5) {
			*out = (enum ibv_wr_opcode)table[i].verbs;
			return 0;
		}
	return -EOPNOTSUPP;
}

static void fill_target(struct ibv_send_wr *to, const struct bf_verbs_wr *wr)
{
	if (to->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || to->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		const bool cs = to->opcode == IBV_WR_ATOMIC_CMP_AND_SWP;

		to->wr.atomic.remote_addr = wr->raddr;
		to->wr.atomic.rkey = wr->rkey;
		to->wr.atomic.compare_add = cs ? wr->compare : wr->swap_add;
		to->wr.atomic.swap = wr->swap_add;
	} else {
		to->wr.rdma.remote_addr = wr->raddr;
		to->wr.rdma.rkey = wr->rkey;
	}
	if (to->opcode == IBV_WR_SEND_WITH_INV)
		to->invalidate_rkey = wr->imm;
	else
		to->imm_data = bf_htobe32(wr->imm);
}

static uint32_t take_list(struct ibv_sge *to, const struct bf_verbs_sge *from, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		to[i] = (struct ibv_sge){ .addr = from[i].va, .length = from[i].len, .lkey = from[i].lkey };
	return n;
}

int bf_verbs_send(struct bf_verbs_qp *qp, const struct bf_verbs_wr *wr)
{
	/* Not by sq_sig_all: mlx5 then puts small answers into CQEs, old values of atomics big-endian. */
	struct ibv_send_wr to = { .wr_id = wr->id, .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_sge sge[SGES];
	int rc = wr->nsge > SGES ? -E2BIG : opcode_of(wr->opcode, &to.opcode);

	if (rc)
		return rc;
	to.sg_list = sge;
	to.num_sge = (int)take_list(sge, wr->sge, wr->nsge);
	if (wr->inline_data) {
		sge[0] = (struct ibv_sge){ .addr = (uintptr_t)wr->inline_data, .length = wr->inline_len };
		to.num_sge = 1;
		to.send_flags |= IBV_SEND_INLINE;
	}
	if (wr->fence)
		to.send_flags |= IBV_SEND_FENCE;
	if (wr->solicited)
		to.send_flags |= IBV_SEND_SOLICITED;
	fill_target(&to, wr);
	return -ibv_post_send(qp->qp, &to, &bad);
}

int bf_verbs_receive(struct bf_verbs_qp *qp, uint64_t id, const struct bf_verbs_sge *sge, uint32_t n)
{
	struct ibv_sge list[SGES];
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = list }, *bad;

	if (n > SGES)
		return -E2BIG;
	wr.num_sge = (int)take_list(list, sge, n);
	return -ibv_post_recv(qp->qp, &wr, &bad);
}

/* The device's syndromes, of which verbs' statuses are images (libmlx5 cq.c mlx5_handle_error_cqe()). */
static uint8_t syndrome_of(enum ibv_wc_status status)
{
	static const uint8_t table[] = {
		[IBV_WC_LOC_LEN_ERR] = BF_MLX5_SYND_LOCAL_LENGTH,
		[IBV_WC_LOC_QP_OP_ERR] = BF_MLX5_SYND_LOCAL_QP_OP,
		[IBV_WC_LOC_PROT_ERR] = BF_MLX5_SYND_LOCAL_PROT,
		[IBV_WC_WR_FLUSH_ERR] = BF_MLX5_SYND_WR_FLUSH,
		[IBV_WC_MW_BIND_ERR] = BF_MLX5_SYND_MW_BIND,
		[IBV_WC_BAD_RESP_ERR] = BF_MLX5_SYND_BAD_RESP,
		[IBV_WC_LOC_ACCESS_ERR] = BF_MLX5_SYND_LOCAL_ACCESS,
		[IBV_WC_REM_INV_REQ_ERR] = BF_MLX5_SYND_REM_INV_REQ,
		[IBV_WC_REM_ACCESS_ERR] = BF_MLX5_SYND_REM_ACCESS,
		[IBV_WC_REM_OP_ERR] = BF_MLX5_SYND_REM_OP,
		[IBV_WC_RETRY_EXC_ERR] = BF_MLX5_SYND_RETRY_EXC,
		[IBV_WC_RNR_RETRY_EXC_ERR] = BF_MLX5_SYND_RNR_EXC,
		[IBV_WC_REM_ABORT_ERR] = BF_MLX5_SYND_REM_ABORT,
	};
	const uint8_t s = (size_t)status < sizeof(table) ? table[status] : 0;

	return status == IBV_WC_SUCCESS ? 0 : s ? s : BF_MLX5_SYND_LOCAL_QP_OP;
}

static uint8_t cqe_opcode(const struct ibv_wc *wc)
{
	switch ((int)wc->opcode) {
	case IBV_WC_RECV_RDMA_WITH_IMM:
		return BF_MLX5_CQE_RESP_WRITE_IMM;
	case IBV_WC_RECV:
		return wc->wc_flags & IBV_WC_WITH_INV   ? BF_MLX5_CQE_RESP_SEND_INV
		       : wc->wc_flags & IBV_WC_WITH_IMM ? BF_MLX5_CQE_RESP_SEND_IMM
							: BF_MLX5_CQE_RESP_SEND;
	default:
		return BF_MLX5_CQE_REQ;
	}
}

int bf_verbs_poll(struct bf_verbs_dev *d, struct bf_verbs_wc *out, uint32_t max)
{
	struct ibv_wc wc[16];
	int n;

	if (!d->cq)
		return 0;
	n = ibv_poll_cq(d->cq, max < BF_ARRAY_LEN(wc) ? (int)max : (int)BF_ARRAY_LEN(wc), wc);
	for (int i = 0; i < n; i++) {
		out[i] = (struct bf_verbs_wc){ .id = wc[i].wr_id, .qpn = wc[i].qp_num };
		out[i].syndrome = syndrome_of(wc[i].status);
		out[i].vendor = (uint8_t)wc[i].vendor_err;
		if (wc[i].status)
			continue;
		out[i].opcode = cqe_opcode(&wc[i]);
		out[i].bytes = wc[i].byte_len;
		out[i].imm = wc[i].wc_flags & IBV_WC_WITH_INV ? wc[i].invalidated_rkey : bf_htobe32(wc[i].imm_data);
	}
	return n < 0 ? -EIO : n;
}
