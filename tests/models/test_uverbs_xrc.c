/* XRC: domains, shared receive queues with a CQ of their own, queue pairs that only send or only receive. */
#include <check.h>
#include <fcntl.h>

#include "tests/models/uverbs_program.h"

#define NO_FD UINT32_MAX
#define WQES 8u
#define STRIDE 32u
#define UIDX 0x77u

static int open_xrcd(struct uv_rig *r, uint32_t fd, uint32_t flags, uint32_t *handle)
{
	struct ib_uverbs_open_xrcd in = { .fd = fd, .oflags = flags };
	struct uv_cmd c = { IB_USER_VERBS_CMD_OPEN_XRCD, &in, sizeof(in), 4, NULL, 0, 0 };

	return uv_invoke(r, &c, handle, NULL);
}

static int close_xrcd(struct uv_rig *r, uint32_t handle)
{
	struct ib_uverbs_close_xrcd in = { handle };
	struct uv_cmd c = { IB_USER_VERBS_CMD_CLOSE_XRCD, &in, sizeof(in), 0, NULL, 0, 0 };

	return uv_invoke(r, &c, NULL, NULL);
}

struct xsrq {
	uint32_t handle, srqn, posted;
	uint64_t ring, dbr;
};

static int make_srq(struct uv_rig *r, uint32_t pd, uint32_t xrcd, uint32_t cq, struct xsrq *s)
{
	struct mlx5_ib_create_srq uhw = { .uidx = UIDX };
	int rc;

	*s = (struct xsrq){ .ring = uv_alloc(r, WQES * STRIDE), .dbr = uv_alloc(r, 8) };
	uhw.buf_addr = s->ring;
	uhw.db_addr = s->dbr;
	uv_begin(r, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	uv_handle(r, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0);
	uv_handle(r, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, pd);
	uv_in64(r, UVERBS_ATTR_CREATE_SRQ_TYPE, IB_UVERBS_SRQT_XRC);
	uv_in64(r, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 1);
	uv_in32(r, UVERBS_ATTR_CREATE_SRQ_MAX_WR, WQES - 1);
	uv_in32(r, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 1);
	uv_in32(r, UVERBS_ATTR_CREATE_SRQ_LIMIT, 0);
	uv_handle(r, UVERBS_ATTR_CREATE_SRQ_XRCD_HANDLE, xrcd);
	uv_handle(r, UVERBS_ATTR_CREATE_SRQ_CQ_HANDLE, cq);
	uv_out(r, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4);
	uv_out(r, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4);
	uv_out(r, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM, 4);
	uv_in(r, UVERBS_ATTR_UHW_IN, &uhw, sizeof(uhw));
	uv_out(r, UVERBS_ATTR_UHW_OUT, sizeof(struct mlx5_ib_create_srq_resp));
	rc = uv_call(r);
	if (rc)
		return rc;
	s->handle = (uint32_t)uv_find(r, UVERBS_ATTR_CREATE_SRQ_HANDLE)->data;
	s->srqn = uv_answer32(r, UVERBS_ATTR_CREATE_SRQ_RESP_SRQ_NUM);
	for (uint32_t i = 0; i < WQES; i++)
		bf_put_be16(uv_host(r, s->ring + i * STRIDE + 2), (uint16_t)((i + 1) % WQES));
	return 0;
}

static int drop_srq(struct uv_rig *r, const struct xsrq *s)
{
	struct ib_uverbs_destroy_srq_resp gone;

	return uv_destroy(r, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, s->handle, sizeof(gone), &gone);
}

static void post_receive(struct uv_rig *r, struct xsrq *s, uint64_t to, uint32_t len, uint32_t lkey)
{
	uint8_t *wqe = uv_host(r, s->ring + (uint64_t)(s->posted % WQES) * STRIDE);

	bf_put_be32(wqe + 16, len);
	bf_put_be32(wqe + 20, lkey);
	bf_put_be64(wqe + 24, to);
	bf_put_be32(uv_host(r, s->dbr), ++s->posted);
}

/* A queue pair that only receives: it has a domain, and neither rings nor CQs. */
static struct uv_qp make_target(struct uv_rig *r, uint32_t xrcd)
{
	struct ib_uverbs_qp_cap cap = { 0 };
	struct uv_qp qp = { 0 };

	uv_begin(r, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_CREATE);
	uv_handle(r, UVERBS_ATTR_CREATE_QP_HANDLE, 0);
	uv_handle(r, UVERBS_ATTR_CREATE_QP_XRCD_HANDLE, xrcd);
	uv_in64(r, UVERBS_ATTR_CREATE_QP_USER_HANDLE, 2);
	uv_in(r, UVERBS_ATTR_CREATE_QP_CAP, &cap, sizeof(cap));
	uv_in64(r, UVERBS_ATTR_CREATE_QP_TYPE, IB_UVERBS_QPT_XRC_TGT);
	uv_out(r, UVERBS_ATTR_CREATE_QP_RESP_CAP, sizeof(cap));
	uv_out(r, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM, 4);
	UV_MUST(!uv_call(r));
	qp.handle = (uint32_t)uv_find(r, UVERBS_ATTR_CREATE_QP_HANDLE)->data;
	qp.qpn = uv_answer32(r, UVERBS_ATTR_CREATE_QP_RESP_QP_NUM);
	return qp;
}

/* SEND, or with `rkey` a WRITE, for `srqn`. */
static void post(struct uv_rig *r, struct uv_world *w, struct uv_qp *qp, uint32_t srqn, uint64_t to, uint32_t rkey)
{
	uint8_t *wqe = uv_host(r, qp->sq + 64 * (qp->pi & (UV_SQ - 1))), *at = wqe + 32;
	uint8_t bell[8];

	memset(wqe, 0, 64);
	bf_put_be32(wqe, (uint32_t)qp->pi << 8 | (rkey ? BF_MLX5_OP_RDMA_WRITE : BF_MLX5_OP_SEND));
	bf_put_be32(wqe + 4, qp->qpn << 8 | (rkey ? 4 : 3));
	wqe[11] = BF_MLX5_CTRL_CQ_UPDATE;
	bf_put_be32(wqe + 16, srqn);
	if (rkey) {
		bf_put_be64(at, to);
		bf_put_be32(at + 8, rkey);
		at += 16;
	}
	bf_put_be32(at, 100);
	bf_put_be32(at + 4, w->mr.lkey);
	bf_put_be64(at + 8, w->data);
	memcpy(bell, wqe, 8);
	qp->pi++;
	bf_put_be32(uv_host(r, qp->dbr + 4), qp->pi);
	bf_mmio_post(w->uar.map.region, BF_MLX5_UAR_BF, bell, sizeof(bell));
	uv_run(r);
}

static void end(struct uv_rig *r)
{
	struct bf_uverbs_counts n;

	bf_uverbs_close(r->f);
	bf_uverbs_counts(r->u, &n);
	ck_assert_uint_eq(n.xrcds | n.srqs | n.qps | n.cqs | n.files, 0);
	uv_rig_close(r);
}

static struct uv_qp make_initiator(struct uv_rig *r, const struct uv_world *w)
{
	const struct uv_qp_opts o = { .pd = w->pd.handle,
				      .send_cq = w->scq.handle,
				      .recv_cq = w->scq.handle,
				      .page = w->uar.page,
				      .type = IB_UVERBS_QPT_XRC_INI };
	struct uv_qp qp = uv_qp(r, &o);

	qp.sq = qp.rq; /* the send ring alone */
	return qp;
}

/* One connection serves two shared queues, each with its CQ; a third is of another domain. */
START_TEST(two_queues)
{
	struct uv_qp ini, tgt;
	struct xsrq srq[3];
	struct uv_cq cq[2];
	struct uv_world w;
	struct uv_rig r;
	uint32_t xrcd[2];
	const struct bf_mlx5_cqe *e;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 1);
	ck_assert_int_eq(open_xrcd(&r, NO_FD, 0, &xrcd[0]), -EINVAL);
	ck_assert_int_eq(open_xrcd(&r, NO_FD, O_CREAT, &xrcd[0]), 0);
	ck_assert_int_eq(open_xrcd(&r, NO_FD, O_CREAT, &xrcd[1]), 0);
	for (uint32_t i = 0; i < 2; i++)
		cq[i] = uv_cq(&r, 63, 0, 0, w.uar.page, 0x700 + i);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(make_srq(&r, w.pd.handle, xrcd[i / 2], cq[i % 2].handle, &srq[i]), 0);
	ck_assert_int_eq(close_xrcd(&r, xrcd[0]), -EBUSY);
	tgt = make_target(&r, xrcd[0]);
	ini = make_initiator(&r, &w);
	uv_connect(&r, &tgt, ini.qpn, 1);
	uv_connect(&r, &ini, tgt.qpn, 1);
	for (uint32_t i = 0; i < 100; i++)
		((uint8_t *)uv_host(&r, w.data))[i] = (uint8_t)(i + 1);
	for (uint32_t i = 0; i < 3; i++)
		post_receive(&r, &srq[i], w.data + 4096 * (i + 1), 256, w.mr.lkey);

	for (uint32_t i = 0; i < 2; i++) {
		post(&r, &w, &ini, srq[1 - i].srqn, 0, 0);
		ck_assert_uint_eq(uv_poll(&r, &w.scq)->op_own >> 4, BF_MLX5_CQE_REQ);
		ck_assert_ptr_null(uv_poll(&r, &cq[i]));
		e = uv_poll(&r, &cq[1 - i]);
		ck_assert_ptr_nonnull(e);
		ck_assert_uint_eq(e->op_own >> 4, BF_MLX5_CQE_RESP_SEND);
		ck_assert_uint_eq(bf_be32(e->srqn_uidx), UIDX);
		ck_assert_uint_eq(bf_be32(e->sop_drop_qpn) & 0xffffff, tgt.qpn);
		ck_assert_mem_eq(uv_host(&r, w.data + 4096 * (2 - i)), uv_host(&r, w.data), 100);
		post_receive(&r, &srq[1 - i], w.data + 4096, 256, w.mr.lkey);
	}
	post(&r, &w, &ini, srq[0].srqn, w.data + 32768, w.mr.rkey);
	ck_assert_uint_eq(uv_poll(&r, &w.scq)->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_mem_eq(uv_host(&r, w.data + 32768), uv_host(&r, w.data), 100);
	/* Of another domain: the responder cannot. */
	post(&r, &w, &ini, srq[2].srqn, 0, 0);
	e = uv_poll(&r, &w.scq);
	ck_assert_uint_eq(e->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	ck_assert_uint_eq(((const struct bf_mlx5_err_cqe *)e)->syndrome, BF_MLX5_SYND_REM_OP);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_int_eq(drop_srq(&r, &srq[i]), 0);
	end(&r);
}
END_TEST

/* A shared queue goes while a request waits there for a receive: the peer hears of it, and nothing hangs. */
START_TEST(queue_goes)
{
	struct uv_qp ini, tgt;
	struct uv_world w;
	struct xsrq srq;
	struct uv_rig r;
	uint32_t xrcd;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 1);
	ck_assert_int_eq(open_xrcd(&r, NO_FD, O_CREAT, &xrcd), 0);
	ck_assert_int_eq(make_srq(&r, w.pd.handle, xrcd, w.rcq.handle, &srq), 0);
	tgt = make_target(&r, xrcd);
	ini = make_initiator(&r, &w);
	uv_connect(&r, &tgt, ini.qpn, 1);
	uv_connect(&r, &ini, tgt.qpn, 1);
	post(&r, &w, &ini, srq.srqn, 0, 0); /* no receive: RNR, forever */
	ck_assert_ptr_null(uv_poll(&r, &w.scq));
	ck_assert_int_eq(drop_srq(&r, &srq), 0);
	uv_run(&r);
	ck_assert_uint_eq(uv_poll(&r, &w.scq)->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	end(&r);
}
END_TEST

/* Files with one inode open one domain; it lives as long as one of them has it. */
START_TEST(shared_domain)
{
	struct bf_uverbs_file *first;
	uint32_t a, b, c;
	struct uv_rig r;

	uv_rig_open(&r, false);
	r.inodes = true;
	ck_assert_int_eq(uv_context(&r, false), 0);
	ck_assert_int_eq(open_xrcd(&r, 200, O_CREAT, &a), -EBADF);
	ck_assert_int_eq(open_xrcd(&r, 4, 0, &a), -EAGAIN);
	ck_assert_int_eq(open_xrcd(&r, 4, O_CREAT, &a), 0);
	first = r.f;
	ck_assert_int_eq(bf_uverbs_open(r.u, &r.f), 0);
	ck_assert_int_eq(uv_context(&r, false), 0);
	ck_assert_int_eq(open_xrcd(&r, 5, O_CREAT | O_EXCL, &b), -EINVAL);
	ck_assert_int_eq(open_xrcd(&r, 5, 0, &b), 0);
	bf_uverbs_close(first);
	ck_assert_int_eq(open_xrcd(&r, 4, 0, &c), 0);
	ck_assert_int_eq(close_xrcd(&r, b), 0);
	ck_assert_int_eq(close_xrcd(&r, c), 0);
	ck_assert_int_eq(open_xrcd(&r, 4, 0, &c), -EAGAIN);
	end(&r);
}
END_TEST

static int open_qp(struct uv_rig *r, uint32_t xrcd, uint32_t qpn, uint8_t type, struct uv_qp *qp)
{
	struct ib_uverbs_open_qp in = { .pd_handle = xrcd, .qpn = qpn, .qp_type = type };
	struct ib_uverbs_create_qp_resp resp;
	struct uv_cmd c = { IB_USER_VERBS_CMD_OPEN_QP, &in, sizeof(in), sizeof(resp), NULL, 0, 0 };
	int err = uv_invoke(r, &c, &resp, NULL);

	*qp = (struct uv_qp){ .handle = resp.qp_handle, .qpn = resp.qpn };
	return err;
}

static int drop_qp(struct uv_rig *r, const struct uv_qp *qp)
{
	struct ib_uverbs_destroy_qp_resp gone;

	return uv_destroy(r, UVERBS_OBJECT_QP, UVERBS_METHOD_QP_DESTROY, qp->handle, sizeof(gone), &gone);
}

/* A target that two files have open: either changes it, and it lives as long as one of them has it. */
START_TEST(shared_target)
{
	struct uv_qp tgt, opened, again;
	struct bf_uverbs_file *first;
	uint32_t a, b, other;
	struct uv_rig r;

	uv_rig_open(&r, false);
	r.inodes = true;
	ck_assert_int_eq(uv_context(&r, false), 0);
	ck_assert_int_eq(open_xrcd(&r, 4, O_CREAT, &a), 0);
	tgt = make_target(&r, a);
	first = r.f;
	ck_assert_int_eq(bf_uverbs_open(r.u, &r.f), 0);
	ck_assert_int_eq(uv_context(&r, false), 0);
	ck_assert_int_eq(open_xrcd(&r, 5, 0, &b), 0);
	ck_assert_int_eq(open_xrcd(&r, 6, O_CREAT, &other), 0);
	ck_assert_int_eq(open_qp(&r, b, tgt.qpn, IB_UVERBS_QPT_RC, &opened), -EINVAL);
	ck_assert_int_eq(open_qp(&r, b, tgt.qpn + 1, IB_UVERBS_QPT_XRC_TGT, &opened), -EINVAL);
	ck_assert_int_eq(open_qp(&r, other, tgt.qpn, IB_UVERBS_QPT_XRC_TGT, &opened), -EINVAL);
	ck_assert_int_eq(open_qp(&r, b + 7, tgt.qpn, IB_UVERBS_QPT_XRC_TGT, &opened), -EINVAL);
	ck_assert_int_eq(open_qp(&r, b, tgt.qpn, IB_UVERBS_QPT_XRC_TGT, &opened), 0);
	ck_assert_uint_eq(opened.qpn, tgt.qpn);
	uv_connect(&r, &opened, 0x4321, 1); /* from RESET: it is the first's state, too */
	bf_uverbs_close(first);
	ck_assert_int_eq(open_qp(&r, b, tgt.qpn, IB_UVERBS_QPT_XRC_TGT, &again), 0);
	ck_assert_int_eq(drop_qp(&r, &opened), 0);
	ck_assert_int_eq(close_xrcd(&r, b), -EBUSY);
	ck_assert_int_eq(drop_qp(&r, &again), 0);
	ck_assert_int_eq(open_qp(&r, b, tgt.qpn, IB_UVERBS_QPT_XRC_TGT, &again), -EINVAL);
	ck_assert_int_eq(close_xrcd(&r, b), 0);
	end(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("uverbs xrc");
	TCase *t = tcase_create("xrc");

	tcase_add_test(t, two_queues);
	tcase_add_test(t, queue_goes);
	tcase_add_test(t, shared_domain);
	tcase_add_test(t, shared_target);
	suite_add_tcase(s, t);
	return s;
}

int main(void)
{
	SRunner *sr = srunner_create(suite());
	int failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
