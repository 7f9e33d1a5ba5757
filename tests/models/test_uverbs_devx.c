/* DEVX as NVSHMEM's IBGDA transport uses it, event channels, and objects that the other tests leave out. */
#include <check.h>

#include "tests/models/uverbs_program.h"

static uint32_t umem(struct uv_rig *r, uint64_t at, uint64_t len, uint32_t *handle)
{
	uv_begin(r, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_REG);
	uv_handle(r, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE, 0);
	uv_in64(r, MLX5_IB_ATTR_DEVX_UMEM_REG_ADDR, at);
	uv_in64(r, MLX5_IB_ATTR_DEVX_UMEM_REG_LEN, len);
	uv_in32(r, MLX5_IB_ATTR_DEVX_UMEM_REG_ACCESS, 1);
	uv_out(r, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID, 4);
	ck_assert_int_eq(uv_call(r), 0);
	*handle = (uint32_t)uv_find(r, MLX5_IB_ATTR_DEVX_UMEM_REG_HANDLE)->data;
	return uv_answer32(r, MLX5_IB_ATTR_DEVX_UMEM_REG_OUT_ID);
}

static int devx(struct uv_rig *r, uint16_t object, uint16_t method, int64_t handle, uint32_t opcode, void *in,
		uint16_t in_len, uint16_t out_len)
{
	bool named = object != MLX5_IB_OBJECT_DEVX;

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	uv_begin(r, object, method);
	if (named)
		uv_handle(r, 0x1000, handle);
	uv_in(r, named ? 0x1001 : 0x1000, in, in_len);
	uv_out(r, named ? 0x1002 : 0x1001, out_len);
	return uv_call(r);
}

#define CREATE(r, op, in, len)                                                                                         \
	devx(r, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_CREATE, 0, op, in, (uint16_t)(len), 16)
#define MODIFY(r, h, op, in, len)                                                                                      \
	devx(r, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_MODIFY, h, op, in, (uint16_t)(len), 16)
#define QUERY(r, h, op, in, len, out)                                                                                  \
	devx(r, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_QUERY, h, op, in, (uint16_t)(len), (uint16_t)(out))
#define GENERAL(r, op, in, len, out)                                                                                   \
	devx(r, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_OTHER, 0, op, in, (uint16_t)(len), (uint16_t)(out))

struct thing {
	uint32_t handle, number;
};

static struct thing made(struct uv_rig *r)
{
	struct thing t = { .handle = (uint32_t)uv_find(r, 0x1000)->data };

	t.number = BF_MLX5_GET(uv_answer(r, 0x1002), BF_CMD_OUT_NUMBER);
	return t;
}

static struct thing devx_cq(struct uv_rig *r, uint32_t ring, uint32_t dbr, uint32_t page)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 }, *cqc = in + BF_CREATE_CQ_CQC;
	uint32_t eqn;

	uv_begin(r, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_QUERY_EQN);
	uv_in32(r, MLX5_IB_ATTR_DEVX_QUERY_EQN_USER_VEC, 0);
	uv_out(r, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN, 4);
	ck_assert_int_eq(uv_call(r), 0);
	eqn = uv_answer32(r, MLX5_IB_ATTR_DEVX_QUERY_EQN_DEV_EQN);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, 4);
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, page);
	BF_MLX5_SET(cqc, BF_CQC_EQN, eqn);
	BF_MLX5_SET(cqc, BF_CQC_DBR_UMEM_ID, dbr);
	BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_ID, ring);
	ck_assert_int_eq(CREATE(r, BF_MLX5_CMD_CREATE_CQ, in, sizeof(in)), 0);
	return made(r);
}

static struct thing devx_qp(struct uv_rig *r, const struct uv_world *w, uint32_t cqn, uint32_t ring, uint32_t dbr)
{
	uint8_t in[BF_CREATE_QP_LEN] = { 0 }, *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, 3);
	BF_MLX5_SET(qpc, BF_QPC_PD, w->pd.pdn);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, 4);
	BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, BF_QPC_RQ_NONE);
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, w->uar.page);
	BF_MLX5_SET(qpc, BF_QPC_USER_INDEX, 5);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, cqn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, cqn);
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_ID, dbr);
	BF_MLX5_SET(in, BF_CREATE_QP_UMEM_ID, ring);
	ck_assert_int_eq(CREATE(r, BF_MLX5_CMD_CREATE_QP, in, sizeof(in)), 0);
	return made(r);
}

static void devx_connect(struct uv_rig *r, struct thing qp, uint32_t peer)
{
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 }, *qpc = in + BF_QP_QPC, *path = qpc + BF_QPC_PATH;

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qp.number);
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, 3);
	BF_MLX5_SET(qpc, BF_QPC_RRE, 1);
	BF_MLX5_SET(qpc, BF_QPC_RWE, 1);
	BF_MLX5_SET(path, BF_PATH_PORT, 1);
	ck_assert_int_eq(MODIFY(r, qp.handle, BF_MLX5_CMD_RST2INIT_QP, in, sizeof(in)), 0);
	BF_MLX5_SET(qpc, BF_QPC_MTU, 5);
	BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, 30);
	BF_MLX5_SET(qpc, BF_QPC_REMOTE_QPN, peer);
	memcpy(path + BF_PATH_RGID, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x01", 16);
	BF_MLX5_SET(path, BF_PATH_RMAC_HI, 0x0200);
	BF_MLX5_SET(path, BF_PATH_RMAC_LO, UV_IPV4);
	BF_MLX5_SET(path, BF_PATH_HOP_LIMIT, 64);
	ck_assert_int_eq(MODIFY(r, qp.handle, BF_MLX5_CMD_INIT2RTR_QP, in, sizeof(in)), 0);
	BF_MLX5_SET(qpc, BF_QPC_RETRY_COUNT, 7);
	BF_MLX5_SET(qpc, BF_QPC_RNR_RETRY, 7);
	BF_MLX5_SET(path, BF_PATH_ACK_TIMEOUT, 14);
	ck_assert_int_eq(MODIFY(r, qp.handle, BF_MLX5_CMD_RTR2RTS_QP, in, sizeof(in)), 0);
}

static int event_fd(struct uv_rig *r)
{
	uv_begin(r, MLX5_IB_OBJECT_DEVX_ASYNC_EVENT_FD, MLX5_IB_METHOD_DEVX_ASYNC_EVENT_FD_ALLOC);
	uv_handle(r, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE, 0);
	ck_assert_int_eq(uv_call(r), 0);
	return (int)uv_find(r, MLX5_IB_ATTR_DEVX_ASYNC_EVENT_FD_ALLOC_HANDLE)->data_s64;
}

static int subscribe(struct uv_rig *r, int fd, int64_t object, uint16_t type, uint64_t cookie)
{
	uv_begin(r, MLX5_IB_OBJECT_DEVX, MLX5_IB_METHOD_DEVX_SUBSCRIBE_EVENT);
	uv_handle(r, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_FD_HANDLE, fd);
	if (object >= 0)
		uv_handle(r, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_OBJ_HANDLE, object);
	uv_in(r, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_TYPE_NUM_LIST, &type, sizeof(type));
	uv_in64(r, MLX5_IB_ATTR_DEVX_SUBSCRIBE_EVENT_COOKIE, cookie);
	return uv_call(r);
}

START_TEST(devx_life)
{
	uint8_t in[16] = { 0 }, event[BF_UVERBS_EVENT_MAX];
	uint64_t memory;
	struct uv_cq cq = { .cqe = 15 };
	struct uv_qp qp = { 0 };
	uint32_t handles[4], rings[4];
	struct thing c, q;
	struct bf_uverbs_counts n;
	struct uv_world w;
	struct uv_rig r;
	int fd;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	memory = uv_alloc(&r, 16384);
	for (uint32_t i = 0; i < 4; i++)
		rings[i] = umem(&r, memory + 4096ull * i, i & 1 ? 8 : 4096, &handles[i]);
	cq.ring = memory;
	cq.dbr = memory + 4096;
	qp.sq = memory + 8192;
	qp.dbr = memory + 12288;
	memset(uv_host(&r, cq.ring), 0xff, 4096);
	c = devx_cq(&r, rings[0], rings[1], w.uar.page);
	cq.cqn = c.number;
	q = devx_qp(&r, &w, c.number, rings[2], rings[3]);
	qp.qpn = q.number;
	devx_connect(&r, q, q.number); /* to itself */
	fd = event_fd(&r);
	ck_assert_int_eq(subscribe(&r, fd, -1, BF_MLX5_EVENT_COMP, 9), -EINVAL);
	ck_assert_int_eq(subscribe(&r, fd, c.handle, 0x77, 9), -EINVAL);
	ck_assert_int_eq(subscribe(&r, fd, c.handle, BF_MLX5_EVENT_COMP, 0xc00c1e), 0);
	uv_arm(&r, &cq, &w.uar, 0);
	uv_post_write(&r, &qp, &w.uar, w.data, w.mr.lkey, w.data + 8192, w.mr.rkey, 64);
	ck_assert_ptr_nonnull(uv_poll(&r, &cq));
	ck_assert_uint_eq(uv_read(&r, fd, event, sizeof(event)), 72);
	ck_assert_uint_eq(bf_get_le64(event), 0xc00c1e);
	ck_assert_uint_eq(event[9], BF_MLX5_EVENT_COMP);
	/* Queries, of the object that is named and of no other. */
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, q.number);
	ck_assert_int_eq(QUERY(&r, q.handle, BF_MLX5_CMD_QUERY_QP, in, 16, 272), 0);
	ck_assert_uint_eq(BF_MLX5_GET((uint8_t *)uv_answer(&r, 0x1002) + BF_QP_QPC, BF_QPC_STATE), BF_MLX5_QPS_RTS);
	ck_assert_int_eq(QUERY(&r, c.handle, BF_MLX5_CMD_QUERY_QP, in, 16, 272), -EINVAL);
	ck_assert_int_eq(MODIFY(&r, q.handle, BF_MLX5_CMD_DESTROY_QP, in, 16), -EINVAL);
	ck_assert_int_eq(QUERY(&r, w.qp[0].handle, BF_MLX5_CMD_QUERY_QP, in, 16, 272), -EINVAL);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, w.qp[0].qpn);
	ck_assert_int_eq(QUERY(&r, w.qp[0].handle, BF_MLX5_CMD_QUERY_QP, in, 16, 272), 0);
	/* What is used stays; the device says so. */
	ck_assert_int_eq(uv_destroy(&r, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, handles[0], 0, NULL),
			 -EBUSY);
	ck_assert_int_eq(uv_destroy(&r, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, c.handle, 0, NULL),
			 -EBUSY);
	ck_assert_int_eq(uv_destroy(&r, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, q.handle, 0, NULL),
			 0);
	ck_assert_int_eq(uv_destroy(&r, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, c.handle, 0, NULL),
			 0);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_int_eq(
		    uv_destroy(&r, MLX5_IB_OBJECT_DEVX_UMEM, MLX5_IB_METHOD_DEVX_UMEM_DEREG, handles[i], 0, NULL), 0);
	bf_uverbs_counts(r.u, &n);
	ck_assert_uint_eq(n.devx_objects + n.umems, 0);
	uv_rig_close(&r);
}
END_TEST

/* A program that ends with DEVX objects made in an order that only several rounds of closing undo. */
START_TEST(devx_left_open)
{
	struct bf_uverbs_counts n;
	struct uv_world w;
	uint64_t memory;
	uint32_t ring, dbr, h;
	struct thing c;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	memory = uv_alloc(&r, 8192);
	ring = umem(&r, memory, 4096, &h);
	dbr = umem(&r, memory + 4096, 8, &h);
	c = devx_cq(&r, ring, dbr, w.uar.page);
	ring = umem(&r, memory, 4096, &h);
	devx_qp(&r, &w, c.number, ring, dbr);
	bf_uverbs_close(r.f);
	bf_uverbs_counts(r.u, &n);
	ck_assert_uint_eq(n.devx_objects + n.umems + n.uars + n.pds + n.qps, 0);
	uv_rig_close(&r);
}
END_TEST

/* The device's refusal is in the answer, and EREMOTEIO. */
START_TEST(devx_refusals)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 };
	struct bf_uverbs_file *second;
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, 1);
	ck_assert_int_eq(GENERAL(&r, BF_MLX5_CMD_QUERY_HCA_CAP, in, 16, 2000), 0);
	ck_assert_uint_eq(BF_MLX5_GET((uint8_t *)uv_answer(&r, 0x1001) + BF_HCA_CAP, BF_CAP_CQE_VERSION), 1);
	ck_assert_int_eq(GENERAL(&r, BF_MLX5_CMD_CREATE_CQ, in, 16, 16), -EINVAL);
	ck_assert_int_eq(GENERAL(&r, 0x822, in, 16, 16), -EREMOTEIO);
	ck_assert_uint_eq(BF_MLX5_GET(uv_answer(&r, 0x1001), BF_CMD_OUT_STATUS), BF_MLX5_CMD_BAD_OP);
	memset(in, 0, sizeof(in));
	ck_assert_int_eq(CREATE(&r, BF_MLX5_CMD_CREATE_CQ, in, sizeof(in)), -EREMOTEIO);
	ck_assert_uint_eq(BF_MLX5_GET(uv_answer(&r, 0x1002), BF_CMD_OUT_STATUS), BF_MLX5_CMD_BAD_RES);
	ck_assert_int_eq(CREATE(&r, BF_MLX5_CMD_CREATE_CQ, in, 16), -EINVAL);
	ck_assert_int_eq(CREATE(&r, 0x717, in, 16), -EREMOTEIO);
	ck_assert_int_eq(CREATE(&r, BF_MLX5_CMD_CREATE_SQ, in, 16), -EINVAL);
	ck_assert_int_eq(CREATE(&r, BF_MLX5_CMD_ALLOC_UAR, in, 16), -EINVAL);
	ck_assert_int_eq(CREATE(&r, BF_MLX5_CMD_ALLOC_PD, in, 16), 0);
	/* A context that did not ask for it has no DEVX. */
	ck_assert_int_eq(bf_uverbs_open(r.u, &second), 0);
	r.f = second;
	ck_assert_int_eq(uv_context(&r, false), 0);
	ck_assert_int_eq(CREATE(&r, BF_MLX5_CMD_ALLOC_PD, in, 16), -EINVAL);
	uv_rig_close(&r);
}
END_TEST

/* Blocks of queue pair numbers: no two share one, no queue pair is in one, and what is left goes with the file. */
START_TEST(reserved_numbers)
{
	uint8_t in[32] = { 0 }, cap[BF_HCA_CAP_LEN];
	uint32_t first[2], handle, count, log;
	struct bf_uverbs_counts n;
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, BF_HCA_CAP_GENERAL_2 << 1 | 1);
	ck_assert_int_eq(GENERAL(&r, BF_MLX5_CMD_QUERY_HCA_CAP, in, 16, 2000), 0);
	memcpy(cap, (uint8_t *)uv_answer(&r, 0x1001) + BF_HCA_CAP, 64);
	log = BF_MLX5_GET(cap, BF_CAP2_LOG_RESERVED_QPNS);
	count = 1u << log;
	memset(in, 0, sizeof(in));
	BF_MLX5_SET(in, BF_OBJ_TYPE, BF_OBJ_RESERVED_QPN);
	ck_assert_int_eq(CREATE(&r, BF_MLX5_CMD_CREATE_GENERAL_OBJECT, in, sizeof(in)), -EREMOTEIO); /* of one number */
	BF_MLX5_SET(in, BF_OBJ_LOG_RANGE, log);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(CREATE(&r, BF_MLX5_CMD_CREATE_GENERAL_OBJECT, in, sizeof(in)), 0);
		first[i] = BF_MLX5_GET(uv_answer(&r, 0x1002), BF_CMD_OUT_NUMBER);
		handle = (uint32_t)uv_find(&r, 0x1000)->data;
		for (uint32_t q = 0; q < 2; q++)
			ck_assert(w.qp[q].qpn - first[i] >= count);
	}
	ck_assert(first[1] - first[0] >= count && first[0] - first[1] >= count);
	ck_assert_int_eq(uv_destroy(&r, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_DESTROY, handle, 0, NULL), 0);
	BF_MLX5_SET(in, BF_OBJ_TYPE, 0x0d); /* VIRTIO_NET_Q */
	ck_assert_int_eq(CREATE(&r, BF_MLX5_CMD_CREATE_GENERAL_OBJECT, in, sizeof(in)), -EREMOTEIO);
	bf_uverbs_close(r.f);
	r.f = NULL;
	bf_uverbs_counts(r.u, &n);
	ck_assert_uint_eq(n.devx_objects, 0);
	uv_rig_close(&r);
}
END_TEST

/* The answer to a query that came later, by its channel. */
START_TEST(devx_async_query)
{
	uint8_t in[16] = { 0 }, event[BF_UVERBS_EVENT_MAX];
	struct uv_world w;
	struct uv_rig r;
	uint16_t out_len = 272;
	int fd;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	uv_begin(&r, MLX5_IB_OBJECT_DEVX_ASYNC_CMD_FD, MLX5_IB_METHOD_DEVX_ASYNC_CMD_FD_ALLOC);
	uv_handle(&r, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE, 0);
	ck_assert_int_eq(uv_call(&r), 0);
	fd = (int)uv_find(&r, MLX5_IB_ATTR_DEVX_ASYNC_CMD_FD_ALLOC_HANDLE)->data_s64;
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_QP);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, w.qp[0].qpn);
	uv_begin(&r, MLX5_IB_OBJECT_DEVX_OBJ, MLX5_IB_METHOD_DEVX_OBJ_ASYNC_QUERY);
	uv_handle(&r, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_HANDLE, w.qp[0].handle);
	uv_in(&r, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_CMD_IN, in, sizeof(in));
	uv_handle(&r, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_FD, fd);
	uv_in64(&r, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_WR_ID, 0x1d);
	uv_in(&r, MLX5_IB_ATTR_DEVX_OBJ_QUERY_ASYNC_OUT_LEN, &out_len, sizeof(out_len));
	ck_assert_int_eq(uv_call(&r), 0);
	ck_assert_uint_eq(uv_read(&r, fd, event, sizeof(event)), 8 + 272);
	ck_assert_uint_eq(bf_get_le64(event), 0x1d);
	ck_assert_uint_eq(BF_MLX5_GET(event + 8 + BF_QP_QPC, BF_QPC_STATE), BF_MLX5_QPS_RTS);
	uv_rig_close(&r);
}
END_TEST

/* ---- the rest of the verbs ---- */

START_TEST(shared_receive_queue)
{
	struct mlx5_ib_create_srq uhw = { 0 };
	struct ib_uverbs_modify_srq mod = { .attr_mask = 2, .srq_limit = 5 };
	struct uv_cmd modify = { IB_USER_VERBS_CMD_MODIFY_SRQ, &mod, sizeof(mod), 0, NULL, 0, 0 };
	struct ib_uverbs_query_srq q = { 0 };
	struct uv_cmd query = { IB_USER_VERBS_CMD_QUERY_SRQ, &q, sizeof(q), 16, NULL, 0, 0 };
	struct ib_uverbs_async_event_desc event;
	uint32_t handle, events, got[4];
	struct uv_qp_opts o;
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	uhw.buf_addr = uv_alloc(&r, 65536);
	uhw.db_addr = uv_alloc(&r, 8);
	uv_begin(&r, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_CREATE);
	uv_handle(&r, UVERBS_ATTR_CREATE_SRQ_HANDLE, 0);
	uv_handle(&r, UVERBS_ATTR_CREATE_SRQ_PD_HANDLE, w.pd.handle);
	uv_in64(&r, UVERBS_ATTR_CREATE_SRQ_TYPE, IB_UVERBS_SRQT_BASIC);
	uv_in64(&r, UVERBS_ATTR_CREATE_SRQ_USER_HANDLE, 3);
	uv_in32(&r, UVERBS_ATTR_CREATE_SRQ_MAX_WR, 100);
	uv_in32(&r, UVERBS_ATTR_CREATE_SRQ_MAX_SGE, 2);
	uv_in32(&r, UVERBS_ATTR_CREATE_SRQ_LIMIT, 0);
	uv_out(&r, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR, 4);
	uv_out(&r, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE, 4);
	uv_in(&r, UVERBS_ATTR_UHW_IN, &uhw, sizeof(uhw));
	uv_out(&r, UVERBS_ATTR_UHW_OUT, 8);
	ck_assert_int_eq(uv_call(&r), 0);
	ck_assert_uint_eq(uv_answer32(&r, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_WR), 127);
	ck_assert_uint_eq(uv_answer32(&r, UVERBS_ATTR_CREATE_SRQ_RESP_MAX_SGE), 3);
	mod.srq_handle = q.srq_handle = handle = (uint32_t)uv_find(&r, UVERBS_ATTR_CREATE_SRQ_HANDLE)->data;
	ck_assert_int_eq(uv_invoke(&r, &modify, NULL, NULL), 0);
	ck_assert_int_eq(uv_invoke(&r, &query, got, NULL), 0);
	ck_assert_uint_eq(got[0], 127);
	mod.attr_mask = 1;
	ck_assert_int_eq(uv_invoke(&r, &modify, NULL, NULL), -EINVAL);
	o = (struct uv_qp_opts){ .pd = w.pd.handle,
				 .send_cq = w.scq.handle,
				 .recv_cq = w.rcq.handle,
				 .page = w.uar.page,
				 .srq = handle + 1 };
	uv_qp(&r, &o);
	ck_assert_int_eq(uv_destroy(&r, UVERBS_OBJECT_SRQ, UVERBS_METHOD_SRQ_DESTROY, handle, 4, &events), -EBUSY);
	/* A limit that is reached already: the event has the program's name of it. */
	uv_run(&r);
	ck_assert_uint_eq(uv_read(&r, w.async, &event, sizeof(event)), sizeof(event));
	ck_assert_uint_eq(event.element, 3);
	ck_assert_uint_eq(event.event_type, 15);
	uv_rig_close(&r);
}
END_TEST

START_TEST(address_handles)
{
	struct mlx5_ib_create_ah_resp uhw;
	struct ib_uverbs_create_ah in = { .attr = { .is_global = 1, .port_num = 1, .grh = { .sgid_index = 1 } } };
	struct uv_cmd c = { IB_USER_VERBS_CMD_CREATE_AH, &in, 56, 4, NULL, 0, sizeof(uhw) };
	static const uint8_t mac[6] = { 2, 0, 10, 0, 0, 9 };
	uint32_t handle;
	struct uv_world w;
	struct uv_rig r;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	in.pd_handle = w.pd.handle;
	ck_assert_int_eq(uv_invoke(&r, &c, &handle, &uhw), -EINVAL); /* nowhere */
	memcpy(in.attr.grh.dgid, "\xfe\x80\0\0\0\0\0\0\0\0\x0a\xff\xfe\0\0\x09", 16);
	ck_assert_int_eq(uv_invoke(&r, &c, &handle, &uhw), 0);
	ck_assert_mem_eq(uhw.dmac, mac, 6);
	memcpy(in.attr.grh.dgid, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\x09", 16);
	ck_assert_int_eq(uv_invoke(&r, &c, &handle, &uhw), 0);
	ck_assert_mem_eq(uhw.dmac, mac, 6);
	memcpy(in.attr.grh.dgid, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xef\x81\2\3", 16); /* groups: 23 bits of it */
	ck_assert_int_eq(uv_invoke(&r, &c, &handle, &uhw), 0);
	ck_assert_mem_eq(uhw.dmac, "\x01\0\x5e\1\2\3", 6);
	memcpy(in.attr.grh.dgid, "\xff\x0e\0\0\0\0\0\0\0\0\0\0\x12\x34\x56\x78", 16);
	ck_assert_int_eq(uv_invoke(&r, &c, &handle, &uhw), 0);
	ck_assert_mem_eq(uhw.dmac, "\x33\x33\x12\x34\x56\x78", 6);
	in.attr.grh.sgid_index = 4;
	ck_assert_int_eq(uv_invoke(&r, &c, &handle, &uhw), -EINVAL);
	ck_assert_int_eq(uv_destroy(&r, UVERBS_OBJECT_AH, UVERBS_METHOD_AH_DESTROY, handle, 0, NULL), 0);
	uv_rig_close(&r);
}
END_TEST

static int group(struct uv_rig *r, uint32_t command, uint32_t qp, const char *gid)
{
	struct ib_uverbs_attach_mcast in = { .qp_handle = qp };
	struct uv_cmd c = { command, &in, sizeof(in), 0, NULL, 0, 0 };

	memcpy(in.gid, gid, 16);
	return uv_invoke(r, &c, NULL, NULL);
}

START_TEST(groups)
{
	static const char ipv4[16] = "\0\0\0\0\0\0\0\0\0\0\xff\xff\xef\1\2\3", ipv6[16] = "\xff\x0e";
	static const char nobody[16] = "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\1\2\3";
	const uint32_t attach = IB_USER_VERBS_CMD_ATTACH_MCAST, detach = IB_USER_VERBS_CMD_DETACH_MCAST;
	struct uv_qp_opts o;
	struct uv_world w;
	struct uv_rig r;
	struct uv_qp qp;
	uint32_t out;

	uv_rig_open(&r, false);
	uv_world_open(&r, &w, 3);
	o = (struct uv_qp_opts){ .pd = w.pd.handle,
				 .send_cq = w.scq.handle,
				 .recv_cq = w.rcq.handle,
				 .page = w.uar.page,
				 .type = IB_UVERBS_QPT_UD,
				 .async = w.async };
	qp = uv_qp(&r, &o);
	ck_assert_int_eq(group(&r, attach, w.qp[0].handle, ipv4), -EINVAL); /* a connection's */
	ck_assert_int_eq(group(&r, attach, qp.handle, nobody), -EINVAL);
	ck_assert_int_eq(group(&r, detach, qp.handle, ipv4), -EINVAL);
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_int_eq(group(&r, attach, qp.handle, ipv4), 0); /* and once more */
		ck_assert_int_eq(group(&r, attach, qp.handle, ipv6), 0);
	}
	ck_assert_int_eq(UV_DESTROY_QP(&r, qp.handle, &out), -EBUSY);
	ck_assert_int_eq(group(&r, detach, qp.handle, ipv4), 0);
	ck_assert_int_eq(group(&r, detach, qp.handle, ipv4), -EINVAL);
	ck_assert_int_eq(UV_DESTROY_QP(&r, qp.handle, &out), -EBUSY);
	ck_assert_int_eq(group(&r, detach, qp.handle, ipv6), 0);
	ck_assert_int_eq(UV_DESTROY_QP(&r, qp.handle, &out), 0);
	uv_rig_close(&r);
}
END_TEST

static void count_file(void *arg, const char *path, const char *text)
{
	uint32_t *seen = arg;

	ck_assert(!strncmp(path, "infiniband", 10));
	if (!strcmp(path, "infiniband_verbs/uverbs3/ibdev"))
		*seen |= !strcmp(text, "mlx5_9");
	if (!strcmp(path, "infiniband/mlx5_9/ports/1/gids/3"))
		*seen |= !strcmp(text, "0000:0000:0000:0000:0000:ffff:0a00:0001") ? 2 : 0;
	if (!strcmp(path, "infiniband/mlx5_9/device/modalias"))
		*seen |= !strncmp(text, "pci:v000015B3d00001021", 22) ? 4 : 0;
	if (!strcmp(path, "infiniband/mlx5_9/ports/1/gid_attrs/ndevs/3"))
		*seen |= !strcmp(text, "eth7") ? 8 : 0;
}

START_TEST(sysfs)
{
	struct bf_uverbs_opts opts = {
		.provider = &bf_mlx5_ib, .name = "mlx5_9", .ipv4 = UV_IPV4, .interface = "eth7"
	};
	uint32_t seen = 0;

	bf_uverbs_sysfs(&opts, 3, count_file, &seen);
	ck_assert_uint_eq(seen, 15);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("uverbs_devx");
	TCase *t = tcase_create("devx");

	tcase_add_test(t, devx_life);
	tcase_add_test(t, devx_left_open);
	tcase_add_test(t, devx_refusals);
	tcase_add_test(t, reserved_numbers);
	tcase_add_test(t, devx_async_query);
	tcase_add_test(t, shared_receive_queue);
	tcase_add_test(t, address_handles);
	tcase_add_test(t, groups);
	tcase_add_test(t, sysfs);
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
