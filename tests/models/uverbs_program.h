/*
 * What a program does through the uverbs ABI: contexts, memory, queues, a connected pair, requests and completions, on
 * the device of tests/models/uverbs_rig.h.
 */
#ifndef BELFRY_TESTS_UVERBS_PROGRAM_H
#define BELFRY_TESTS_UVERBS_PROGRAM_H

#include "tests/models/uverbs_rig.h"

static inline int uv_context(struct uv_rig *r, bool devx)
{
	struct mlx5_ib_alloc_ucontext_req_v2 req = {
		.total_num_bfregs = 16,
		.num_low_latency_bfregs = 4,
		.flags = devx,
		.max_cqe_version = 1,
		.lib_caps = MLX5_LIB_CAP_4K_UAR | MLX5_LIB_CAP_DYN_UAR,
	};

	uv_begin(r, UVERBS_OBJECT_DEVICE, UVERBS_METHOD_GET_CONTEXT);
	uv_out(r, UVERBS_ATTR_GET_CONTEXT_NUM_COMP_VECTORS, 4);
	uv_out(r, UVERBS_ATTR_GET_CONTEXT_CORE_SUPPORT, 8);
	uv_in(r, UVERBS_ATTR_UHW_IN, &req, sizeof(req));
	uv_out(r, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_alloc_ucontext_resp));
	return uv_call(r);
}

static inline int uv_async_fd(struct uv_rig *r)
{
	uv_begin(r, UVERBS_OBJECT_ASYNC_EVENT, UVERBS_METHOD_ASYNC_EVENT_ALLOC);
	uv_handle(r, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE, 0);
	UV_MUST(!uv_call(r));
	return (int)uv_find(r, UVERBS_ATTR_ASYNC_EVENT_ALLOC_FD_HANDLE)->data_s64;
}

static inline int uv_comp_fd(struct uv_rig *r)
{
	struct ib_uverbs_create_comp_channel in = { 0 };
	struct uv_cmd c = { IB_USER_VERBS_CMD_CREATE_COMP_CHANNEL, &in, sizeof(in), 4, NULL, 0, 0 };
	uint32_t fd;

	UV_MUST(!uv_invoke(r, &c, &fd, NULL));
	return (int)fd;
}

struct uv_pd {
	uint32_t handle, pdn;
};

static inline struct uv_pd uv_pd(struct uv_rig *r)
{
	struct ib_uverbs_alloc_pd in = { 0 };
	struct uv_cmd c = { IB_USER_VERBS_CMD_ALLOC_PD, &in, sizeof(in), 4, NULL, 0, 4 };
	struct uv_pd pd;

	UV_MUST(!uv_invoke(r, &c, &pd.handle, &pd.pdn));
	return pd;
}

#define UV_ALL_ACCESS 15u

static inline int uv_reg(struct uv_rig *r, uint32_t pd, uint64_t at, uint64_t len, uint64_t iova, uint32_t access,
			 struct uv_mr *out)
{
	struct ib_uverbs_reg_mr in = {
		.start = at, .length = len, .hca_va = iova, .pd_handle = pd, .access_flags = access
	};
	struct uv_cmd c = { IB_USER_VERBS_CMD_REG_MR, &in, sizeof(in), sizeof(*out), NULL, 0, 0 };

	return uv_invoke(r, &c, out, NULL);
}

struct uv_uar {
	uint32_t handle, page;
	struct bf_uverbs_mapping map;
};

static inline struct uv_uar uv_uar(struct uv_rig *r, uint64_t type)
{
	struct uv_uar uar;
	uint64_t offset;

	uv_begin(r, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_ALLOC);
	uv_handle(r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, 0);
	uv_in64(r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_TYPE, type);
	uv_out(r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, 8);
	uv_out(r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, 4);
	uv_out(r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, 4);
	UV_MUST(!uv_call(r));
	uar.handle = (uint32_t)uv_find(r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE)->data;
	uar.page = uv_answer32(r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID);
	offset = bf_get_le64(uv_answer(r, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET));
	UV_MUST(!bf_uverbs_mmap(r->f, offset, 4096, &uar.map));
	UV_MUST(uar.map.uar == uar.page);
	return uar;
}

struct uv_cq {
	uint32_t handle, cqn, cqe, ci;
	uint64_t ring, dbr, user;
};

static inline void uv_cq_request(struct uv_rig *r, struct uv_cq *cq, uint32_t cqe, int channel, int async,
				 uint32_t page, uint64_t user)
{
	struct mlx5_ib_create_cq uhw = { .cqe_size = 64,
					 .flags = MLX5_IB_CREATE_CQ_FLAGS_UAR_PAGE_INDEX,
					 .uar_page_index = (uint16_t)page };

	*cq = (struct uv_cq){ .ring = uv_alloc(r, 65536), .dbr = uv_alloc(r, 8), .user = user };
	memset(uv_host(r, cq->ring), 0xff, 65536);
	uhw.buf_addr = cq->ring;
	uhw.db_addr = cq->dbr;
	uv_begin(r, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_CREATE);
	uv_handle(r, UVERBS_ATTR_CREATE_CQ_HANDLE, 0);
	uv_in32(r, UVERBS_ATTR_CREATE_CQ_CQE, cqe);
	uv_in64(r, UVERBS_ATTR_CREATE_CQ_USER_HANDLE, user);
	uv_in32(r, UVERBS_ATTR_CREATE_CQ_COMP_VECTOR, 1);
	if (channel)
		uv_handle(r, UVERBS_ATTR_CREATE_CQ_COMP_CHANNEL, channel);
	if (async)
		uv_handle(r, UVERBS_ATTR_CREATE_CQ_EVENT_FD, async);
	uv_out(r, UVERBS_ATTR_CREATE_CQ_RESP_CQE, 4);
	uv_in(r, UVERBS_ATTR_UHW_IN, &uhw, sizeof(uhw));
	uv_out(r, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_create_cq_resp));
}

static inline struct uv_cq uv_cq(struct uv_rig *r, uint32_t cqe, int channel, int async, uint32_t page, uint64_t user)
{
	struct uv_cq cq;

	uv_cq_request(r, &cq, cqe, channel, async, page, user);
	UV_MUST(!uv_call(r));
	cq.handle = (uint32_t)uv_find(r, UVERBS_ATTR_CREATE_CQ_HANDLE)->data;
	cq.cqe = uv_answer32(r, UVERBS_ATTR_CREATE_CQ_RESP_CQE);
	cq.cqn = uv_answer32(r, UVERBS_ATTR_UHW_OUT);
	return cq;
}

struct uv_qp {
	uint32_t handle, qpn;
	uint64_t rq, sq, dbr;
	uint16_t pi, rpi;
};
#define UV_SQ 16u
#define UV_RQ 8u
#define UV_RQ_SHIFT 5u

struct uv_qp_opts {
	uint32_t pd, send_cq, recv_cq, page, type, uhw_flags;
	uint64_t user;
	int async;
	int64_t srq; /* its handle + 1; 0: none */
};

static inline void uv_qp_request(struct uv_rig *r, struct uv_qp *qp, const struct uv_qp_opts *o)
{
	struct ib_uverbs_qp_cap cap = { UV_SQ, UV_RQ, 2, 2, 0 };
	/* With an SRQ, what it says of receives counts for nothing: a ring of 8 << 56 bytes. */
	struct mlx5_ib_create_qp uhw = { .sq_wqe_count = UV_SQ,
					 .rq_wqe_count = UV_RQ,
					 .rq_wqe_shift = o->srq ? 56 : UV_RQ_SHIFT,
					 .uidx = 0x55,
					 .flags = MLX5_QP_FLAG_UAR_PAGE_INDEX | o->uhw_flags,
					 .bfreg_index = o->page };

	*qp = (struct uv_qp){ .rq = uv_alloc(r, 8192), .dbr = uv_alloc(r, 8) };
	qp->sq = qp->rq + (o->srq ? 0 : UV_RQ << UV_RQ_SHIFT);
	uhw.buf_addr = qp->rq;
	uhw.db_addr = qp->dbr;
	uv_begin(r, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	uv_handle(r, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	uv_handle(r, UVERBS_ATTR_CREATE_QP_PD_HANDLE, o->pd);
	uv_handle(r, UVERBS_ATTR_CREATE_QP_SEND_CQ_HANDLE, o->send_cq);
	uv_handle(r, UVERBS_ATTR_CREATE_QP_RECV_CQ_HANDLE, o->recv_cq);
	if (o->srq)
		uv_handle(r, UVERBS_ATTR_CREATE_QP_SRQ_HANDLE, o->srq - 1);
	if (o->async)
		uv_handle(r, UVERBS_ATTR_CREATE_QP_EVENT_FD, o->async);
	uv_in64(r, UVERBS_ATTR_CREATE_QP_USER_HANDLE, o->user);
	uv_in(r, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	uv_in64(r, UVERBS_ATTR_CREATE_QP_TYPE, o->type ? o->type : IB_UVERBS_QPT_RC);
	uv_out(r, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(cap));
	uv_out(r, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4);
	uv_in(r, UVERBS_ATTR_UHW_IN, &uhw, sizeof(uhw));
	uv_out(r, UVERBS_ATTR_UHW_OUT, 40);
}

static inline struct uv_qp uv_qp(struct uv_rig *r, const struct uv_qp_opts *o)
{
	struct uv_qp qp;

	uv_qp_request(r, &qp, o);
	UV_MUST(!uv_call(r));
	qp.handle = (uint32_t)uv_find(r, UVERBS_ATTR_CREATE_QP_HANDLE)->data;
	qp.qpn = uv_answer32(r, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM);
	return qp;
}

static inline int uv_modify(struct uv_rig *r, const struct ib_uverbs_modify_qp *m)
{
	struct uv_cmd c = { IB_USER_VERBS_CMD_MODIFY_QP, m, sizeof(*m), 0, NULL, 0, 0 };

	return uv_invoke(r, &c, NULL, NULL);
}

/* As libibverbs' programs do: masks 0x39, 0x129181, 0x12e01 (observed with ibv_rc_pingpong). */
static inline struct ib_uverbs_modify_qp uv_step(const struct uv_qp *qp, uint32_t to, uint32_t peer, uint32_t gid)
{
	struct ib_uverbs_modify_qp m = { .qp_handle = qp->handle, .qp_state = (uint8_t)to };

	switch (to) {
	case 1:
		m.attr_mask = 0x39;
		m.port_num = 1;
		m.qp_access_flags = UV_ALL_ACCESS;
		break;
	case 2:
		m.attr_mask = 0x129181;
		m.path_mtu = 5;
		m.dest_qp_num = peer;
		m.max_dest_rd_atomic = 16;
		m.min_rnr_timer = 12;
		m.dest.is_global = 1;
		m.dest.port_num = 1;
		m.dest.sgid_index = (uint8_t)gid;
		m.dest.hop_limit = 64;
		if (gid < 2)
			memcpy(m.dest.dgid, "\xfe\x80\0\0\0\0\0\0\0\0\x0a\xff\xfe\0\0\x01", 16);
		else
			memcpy(m.dest.dgid, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01", 16);
		break;
	case 3:
		m.attr_mask = 0x12e01;
		m.timeout = 14;
		m.retry_cnt = 7;
		m.rnr_retry = 7;
		m.max_rd_atomic = 16;
		break;
	default:
		m.attr_mask = 1;
		break;
	}
	return m;
}

static inline void uv_connect(struct uv_rig *r, const struct uv_qp *qp, uint32_t peer, uint32_t gid)
{
	for (uint32_t to = 1; to <= 3; to++) {
		struct ib_uverbs_modify_qp m = uv_step(qp, to, peer, gid);

		UV_MUST(!uv_modify(r, &m));
	}
}

/* Posts an RDMA WRITE of `len` bytes with a completion, and rings. */
static inline void uv_post_write(struct uv_rig *r, struct uv_qp *qp, const struct uv_uar *uar, uint64_t from,
				 uint32_t lkey, uint64_t to, uint32_t rkey, uint32_t len)
{
	uint8_t *wqe = uv_host(r, qp->sq + 64 * (qp->pi & (UV_SQ - 1)));
	uint8_t bell[8];

	memset(wqe, 0, 64);
	bf_put_be32(wqe, (uint32_t)qp->pi << 8 | BF_MLX5_OP_RDMA_WRITE);
	bf_put_be32(wqe + 4, qp->qpn << 8 | 3);
	wqe[11] = BF_MLX5_CTRL_CQ_UPDATE;
	bf_put_be64(wqe + 16, to);
	bf_put_be32(wqe + 24, rkey);
	bf_put_be32(wqe + 32, len);
	bf_put_be32(wqe + 36, lkey);
	bf_put_be64(wqe + 40, from);
	memcpy(bell, wqe, 8);
	qp->pi++;
	bf_put_be32(uv_host(r, qp->dbr + 4), qp->pi);
	bf_mmio_post(uar->map.region, BF_MLX5_UAR_BF, bell, sizeof(bell));
	uv_run(r);
}

/* The next completion, or NULL. */
static inline const struct bf_mlx5_cqe *uv_poll(struct uv_rig *r, struct uv_cq *cq)
{
	const struct bf_mlx5_cqe *e = uv_host(r, cq->ring + 64ull * (cq->ci & cq->cqe));

	if (e->op_own >> 4 == BF_MLX5_CQE_INVALID || (e->op_own & 1) != ((cq->ci & (cq->cqe + 1)) != 0))
		return NULL;
	cq->ci++;
	bf_put_be32(uv_host(r, cq->dbr), cq->ci & 0xffffff);
	return e;
}

/* Asks for an event of the next completion. */
static inline void uv_arm(struct uv_rig *r, struct uv_cq *cq, const struct uv_uar *uar, uint32_t sn)
{
	uint8_t bell[8];
	uint32_t word = (sn & 3) << 28 | (cq->ci & 0xffffff);

	bf_put_be32(uv_host(r, cq->dbr + 4), word);
	bf_put_be32(bell, word);
	bf_put_be32(bell + 4, cq->cqn);
	bf_mmio_post(uar->map.region, BF_MLX5_UAR_CQ_ARM, bell, sizeof(bell));
	uv_run(r);
}

static inline int uv_destroy(struct uv_rig *r, uint16_t object, uint16_t method, uint32_t handle, uint32_t resp,
			     void *out)
{
	int rc;

	uv_begin(r, object, method);
	uv_handle(r, object >= 0x1000 ? 0x1000 : 0, handle);
	if (resp)
		uv_out(r, 1, (uint16_t)resp);
	rc = uv_call(r);
	if (!rc && resp)
		memcpy(out, uv_answer(r, 1), resp);
	return rc;
}

#define UV_DESTROY_PD(r, h) uv_destroy(r, UVERBS_OBJECT_PD, UVERBS_METHOD_PD_DESTROY, h, 0, NULL)
#define UV_DESTROY_MR(r, h) uv_destroy(r, UVERBS_OBJECT_MR, UVERBS_METHOD_MR_DESTROY, h, 0, NULL)
#define UV_DESTROY_CQ(r, h, out) uv_destroy(r, UVERBS_OBJECT_CQ, UVERBS_METHOD_CQ_DESTROY, h, 8, out)
#define UV_DESTROY_QP(r, h, out) uv_destroy(r, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, h, 4, out)
#define UV_DESTROY_UAR(r, h) uv_destroy(r, MLX5_IB_OBJECT_UAR, MLX5_IB_METHOD_UAR_OBJ_DESTROY, h, 0, NULL)

/* Everything that a program with one connected pair of queue pairs has, on this one device. */
struct uv_world {
	struct uv_uar uar;
	struct uv_pd pd;
	int async, channel;
	struct uv_cq scq, rcq;
	struct uv_qp qp[2];
	struct uv_mr mr;
	uint64_t data;
};
#define UV_DATA 65536u

static inline void uv_world_open(struct uv_rig *r, struct uv_world *w, uint32_t gid)
{
	struct uv_qp_opts o;

	UV_MUST(!uv_context(r, true));
	w->uar = uv_uar(r, MLX5_IB_UAPI_UAR_ALLOC_TYPE_NC);
	w->async = uv_async_fd(r);
	w->channel = uv_comp_fd(r);
	w->pd = uv_pd(r);
	w->data = uv_alloc(r, UV_DATA);
	UV_MUST(!uv_reg(r, w->pd.handle, w->data, UV_DATA, w->data, UV_ALL_ACCESS, &w->mr));
	w->scq = uv_cq(r, 63, w->channel, w->async, w->uar.page, 0x5c0);
	w->rcq = uv_cq(r, 63, 0, w->async, w->uar.page, 0x5c1);
	o = (struct uv_qp_opts){ .pd = w->pd.handle,
				 .send_cq = w->scq.handle,
				 .recv_cq = w->rcq.handle,
				 .page = w->uar.page,
				 .user = 0x900,
				 .async = w->async };
	w->qp[0] = uv_qp(r, &o);
	o.user = 0x901;
	w->qp[1] = uv_qp(r, &o);
	for (uint32_t i = 0; i < 2; i++)
		uv_connect(r, &w->qp[i], w->qp[1 - i].qpn, gid);
}

#endif
