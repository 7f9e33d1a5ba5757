/*
 * Raw packets: send and receive queues, TIRs with and without a hash, flow tables. Node 0 sends, node 1 has the tables.
 */
#include <check.h>

#include "models/fabric/frame.h"
#include "models/mlx5/prm_eth.h"
#include "tests/models/mlx5_rig.h"

#define QUEUES 4u
#define LOG_WQES 4u
#define ROOM 2048u
#define TAG 0x1234u

struct raw {
	struct rig r;
	struct rig_cq scq, rcq[QUEUES];
	struct rig_qp sq, rq[QUEUES];
	uint32_t tir[QUEUES], hashed, table;
	uint8_t mac[2][6];
};

static uint32_t status_of(struct rig_node *n, uint32_t opcode, uint8_t *in, size_t len)
{
	uint8_t out[BF_ETH_LEN];

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	return rig_cmd(n, in, len, out, sizeof(out));
}

static void fill_queue(struct rig_node *n, struct rig_qp *q, uint8_t in[BF_ETH_LEN], uint32_t log_stride)
{
	uint8_t *wq = in + BF_ETH_CONTEXT + BF_SQC_WQ;

	q->node = n;
	q->stride = 1u << log_stride;
	q->sq_size = q->rq_size = 1u << LOG_WQES;
	q->sq = q->rq = rig_alloc(n, (uint64_t)q->stride << LOG_WQES);
	q->dbr = rig_alloc(n, 8);
	BF_MLX5_SET(wq, BF_WQ_TYPE, BF_WQ_CYCLIC);
	BF_MLX5_SET(wq, BF_WQ_PD, n->pd);
	BF_MLX5_SET(wq, BF_WQ_UAR_PAGE, n->uar);
	bf_put_be64(wq + BF_WQ_DBR_ADDR, rig_va(n, q->dbr));
	BF_MLX5_SET(wq, BF_WQ_LOG_STRIDE, log_stride);
	BF_MLX5_SET(wq, BF_WQ_LOG_SIZE, LOG_WQES);
	bf_put_be64(wq + BF_WQ_UMEM_OFFSET, rig_va(n, q->sq));
}

static void to_ready(struct rig_qp *q, uint32_t opcode)
{
	uint8_t in[BF_ETH_LEN] = { 0 };

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, q->qpn);
	BF_MLX5_SET(in + BF_ETH_CONTEXT, BF_SQC_STATE, BF_ETH_RDY);
	rig_do(q->node, opcode, in, sizeof(in));
}

static uint32_t make_domain(struct rig_node *n)
{
	uint8_t in[16] = { 0 };

	return rig_do(n, BF_MLX5_CMD_ALLOC_TRANSPORT_DOMAIN, in, sizeof(in));
}

static void make_sender(struct raw *x)
{
	struct rig_node *n = &x->r.node[0];
	uint8_t in[BF_ETH_LEN] = { 0 }, *c = in + BF_ETH_CONTEXT;
	uint32_t tis;

	BF_MLX5_SET(c, BF_TISC_DOMAIN, make_domain(n));
	tis = rig_do(n, BF_MLX5_CMD_CREATE_TIS, in, sizeof(in));
	memset(in, 0, sizeof(in));
	rig_cq_open(n, &x->scq, LOG_WQES, 0);
	BF_MLX5_SET(c, BF_SQC_CQN, x->scq.cqn);
	BF_MLX5_SET(c, BF_SQC_TIS_COUNT, 1);
	BF_MLX5_SET(c, BF_SQC_TIS, tis);
	fill_queue(n, &x->sq, in, BF_MLX5_WQEBB_SHIFT);
	x->sq.qpn = rig_do(n, BF_MLX5_CMD_CREATE_SQ, in, sizeof(in));
	to_ready(&x->sq, BF_MLX5_CMD_MODIFY_SQ);
}

static void make_receivers(struct raw *x)
{
	static const uint8_t key[BF_TIRC_KEY_LEN] = { 0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
						      0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
						      0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
						      0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa };
	struct rig_node *n = &x->r.node[1];
	uint8_t in[BF_ETH_LEN + QUEUES * 4], *c = in + BF_ETH_CONTEXT;
	const uint32_t domain = make_domain(n);
	uint32_t rqt;

	for (uint32_t i = 0; i < QUEUES; i++) {
		memset(in, 0, sizeof(in));
		rig_cq_open(n, &x->rcq[i], LOG_WQES, 0);
		BF_MLX5_SET(c, BF_RQC_CQN, x->rcq[i].cqn);
		BF_MLX5_SET(c, BF_RQC_VLAN_KEPT, 1);
		BF_MLX5_SET(c, BF_RQC_USER_INDEX, 0x50 + i);
		fill_queue(n, &x->rq[i], in, 4);
		x->rq[i].qpn = rig_do(n, BF_MLX5_CMD_CREATE_RQ, in, BF_ETH_LEN);
		to_ready(&x->rq[i], BF_MLX5_CMD_MODIFY_RQ);
		for (uint32_t k = 0; k < 1u << LOG_WQES; k++)
			rig_put_data(x->rq[i].rq + (size_t)k * 16, ROOM, n->key,
				     n->data_va + ((uint64_t)i << LOG_WQES | k) * ROOM);
		bf_put_be32(x->rq[i].dbr, 1u << LOG_WQES);
		memset(in, 0, sizeof(in));
		BF_MLX5_SET(c, BF_TIRC_RQN, x->rq[i].qpn);
		BF_MLX5_SET(c, BF_TIRC_DOMAIN, domain);
		x->tir[i] = rig_do(n, BF_MLX5_CMD_CREATE_TIR, in, BF_ETH_LEN);
	}
	memset(in, 0, sizeof(in));
	BF_MLX5_SET(c, BF_RQTC_MAX, QUEUES);
	BF_MLX5_SET(c, BF_RQTC_COUNT, QUEUES);
	for (uint32_t i = 0; i < QUEUES; i++)
		bf_put_be32(c + BF_RQTC_RQNS + (size_t)i * 4, x->rq[i].qpn);
	rqt = rig_do(n, BF_MLX5_CMD_CREATE_RQT, in, sizeof(in));
	memset(in, 0, sizeof(in));
	BF_MLX5_SET(c, BF_TIRC_TYPE, BF_TIRC_INDIRECT);
	BF_MLX5_SET(c, BF_TIRC_RQT, rqt);
	BF_MLX5_SET(c, BF_TIRC_HASH, BF_TIRC_HASH_TOEPLITZ);
	BF_MLX5_SET(c, BF_TIRC_DOMAIN, domain);
	memcpy(c + BF_TIRC_KEY, key, sizeof(key));
	bf_put_be32(c + BF_TIRC_FIELDS, 15); /* addresses and ports of TCP over IPv4 */
	x->hashed = rig_do(n, BF_MLX5_CMD_CREATE_TIR, in, BF_ETH_LEN);
}

static uint32_t make_table(struct rig_node *n, uint32_t level, uint32_t miss)
{
	uint8_t in[BF_FT_CREATE_LEN] = { 0 }, *ftc = in + BF_FT_CONTEXT;

	BF_MLX5_SET(ftc, BF_FTC_LEVEL, level);
	BF_MLX5_SET(ftc, BF_FTC_LOG_SIZE, 4);
	BF_MLX5_SET(ftc, BF_FTC_MISS_ACTION, miss != 0);
	BF_MLX5_SET(ftc, BF_FTC_MISS_ID, miss);
	return rig_do(n, BF_MLX5_CMD_CREATE_FLOW_TABLE, in, sizeof(in));
}

static void set_root(struct rig_node *n, uint32_t table)
{
	uint8_t in[0x18] = { 0 };

	BF_MLX5_SET(in, BF_FT_ID, table);
	rig_do(n, BF_MLX5_CMD_SET_FLOW_TABLE_ROOT, in, sizeof(in));
}

/* A group of the entry `index`, and the entry, which leads `times` to the same place. */
static uint32_t add_flows(struct rig_node *n, uint32_t table, uint32_t index, const uint8_t *mask, const uint8_t *value,
			  uint32_t type, uint32_t to, uint32_t times)
{
	uint8_t in[BF_FTE_LEN + 16] = { 0 }, group[BF_FG_LEN] = { 0 }, *fc = in + BF_FTE_CONTEXT;

	BF_MLX5_SET(group, BF_FT_ID, table);
	BF_MLX5_SET(group, BF_FG_START, index);
	BF_MLX5_SET(group, BF_FG_END, index);
	BF_MLX5_SET(group, BF_FG_CRITERIA, BF_FG_OUTER);
	memcpy(group + BF_FG_MASK, mask, BF_MATCH_LEN);
	BF_MLX5_SET(in, BF_FT_ID, table);
	BF_MLX5_SET(in, BF_FTE_INDEX, index);
	BF_MLX5_SET(fc, BF_FTE_GROUP, rig_do(n, BF_MLX5_CMD_CREATE_FLOW_GROUP, group, sizeof(group)));
	BF_MLX5_SET(fc, BF_FTE_TAG, TAG);
	BF_MLX5_SET(fc, BF_FTE_ACTION, to ? BF_FTE_FORWARD : BF_FTE_DROP);
	BF_MLX5_SET(fc, BF_FTE_DESTINATIONS, to ? times : 0);
	memcpy(fc + BF_FTE_VALUE, value, BF_MATCH_LEN);
	for (uint32_t i = 0; i < times; i++) {
		BF_MLX5_SET(fc + BF_FTE_LIST + (size_t)i * 8, BF_FD_TYPE, type);
		BF_MLX5_SET(fc + BF_FTE_LIST + (size_t)i * 8, BF_FD_ID, to);
	}
	return status_of(n, BF_MLX5_CMD_SET_FLOW_TABLE_ENTRY, in, sizeof(in));
}

static uint32_t add_flow(struct rig_node *n, uint32_t table, uint32_t index, const uint8_t *mask, const uint8_t *value,
			 uint32_t type, uint32_t to)
{
	return add_flows(n, table, index, mask, value, type, to, 1);
}

static void begin(struct raw *x)
{
	struct bf_port_info info;

	memset(x, 0, sizeof(*x));
	rig_open(&x->r, 1, &bf_mlx5_cx7);
	for (uint32_t i = 0; i < 2; i++) {
		bf_port_info(bf_mlx5_port(x->r.node[i].dev, 1), &info);
		memcpy(x->mac[i], info.mac, 6);
	}
	make_sender(x);
	make_receivers(x);
	x->table = make_table(&x->r.node[1], 2, 0);
	set_root(&x->r.node[1], x->table);
}

/* A frame of TCP or UDP over IPv4, in node 0's data. */
static uint32_t build(struct raw *x, uint8_t protocol, uint32_t src, uint32_t dst, uint16_t from, uint16_t to)
{
	uint8_t *p = x->r.node[0].data;
	const uint32_t len = 14 + 20 + 20 + 30;

	memset(p, 0, len);
	memcpy(p, x->mac[1], 6);
	memcpy(p + 6, x->mac[0], 6);
	bf_put_be16(p + 12, BF_ETHERTYPE_IPV4);
	p[14] = 0x45;
	bf_put_be16(p + 16, (uint16_t)(len - 14));
	p[22] = 64;
	p[23] = protocol;
	bf_put_be32(p + 26, src);
	bf_put_be32(p + 30, dst);
	bf_put_be16(p + 34, from);
	bf_put_be16(p + 36, to);
	p[46] = 0x50;
	for (uint32_t i = 54; i < len; i++)
		p[i] = (uint8_t)i;
	return len;
}

/* Sends `len` bytes, the first `head` of them in the entry itself. */
static void send_frame(struct raw *x, uint32_t len, uint32_t head, uint8_t checksums)
{
	uint8_t w[128] = { 0 };
	const uint32_t more = head > 2 ? (head - 2 + 15) & ~15u : 0;
	uint32_t at = 32 + more;

	w[11] = BF_MLX5_CTRL_CQ_UPDATE;
	w[20] = checksums;
	bf_put_be16(w + 28, (uint16_t)head);
	memcpy(w + 30, x->r.node[0].data, head);
	if (len > head)
		at += rig_put_data(w + at, len - head, x->r.node[0].key, x->r.node[0].data_va + head);
	rig_post(&x->sq, w, BF_MLX5_OP_SEND, 0, at / 16);
	rig_db(&x->sq);
	rig_run(&x->r);
	ck_assert_ptr_nonnull(rig_poll(&x->scq));
}

/* Which queue has got the frame; QUEUES: none. */
static uint32_t who(struct raw *x, const struct bf_mlx5_cqe **cqe)
{
	for (uint32_t i = 0; i < QUEUES; i++) {
		*cqe = rig_poll(&x->rcq[i]);
		if (*cqe)
			return i;
	}
	return QUEUES;
}

static const uint8_t all[BF_MATCH_LEN];

START_TEST(test_frame)
{
	static const uint32_t heads[] = { 0, 2, 14, 18, 84 };
	const struct bf_mlx5_cqe *cqe;
	struct raw x;
	uint32_t len;

	begin(&x);
	ck_assert_int_eq(add_flow(&x.r.node[1], x.table, 3, all, all, BF_FD_TIR, x.tir[2]), 0);
	for (uint32_t i = 0; i < BF_ARRAY_LEN(heads); i++) {
		const uint8_t *got = x.r.node[1].data + ((2ull << LOG_WQES) + i) * ROOM;

		len = build(&x, BF_IP_TCP, 0x0a000002, 0x0a000003, 100, 200);
		send_frame(&x, len, heads[i], BF_MLX5_ETH_L3 | BF_MLX5_ETH_L4);
		ck_assert_uint_eq(who(&x, &cqe), 2);
		ck_assert_uint_eq(bf_be32(cqe->byte_cnt), len);
		ck_assert_uint_eq(bf_be32(cqe->srqn_uidx), 0x52);
		ck_assert_uint_eq(bf_be32(cqe->sop_drop_qpn), TAG);
		ck_assert_uint_eq(bf_be16(cqe->wqe_counter), i);
		ck_assert_uint_eq(cqe->rx[BF_MLX5_CQE_HDS], 7); /* the checksums that the NIC put in are right */
		ck_assert_uint_eq(cqe->rx[BF_MLX5_CQE_L4_TYPE], 1 << 4 | 2 << 2);
		ck_assert_mem_eq(got, x.r.node[0].data, 24);
		ck_assert_mem_eq(got + 26, x.r.node[0].data + 26, 24);
		ck_assert_mem_eq(got + 54, x.r.node[0].data + 54, len - 54);
	}
	/* Short ones grow, wrong checksums are said, foreign types arrive. */
	send_frame(&x, 20, 0, 0);
	ck_assert_uint_eq(who(&x, &cqe), 2);
	ck_assert_uint_eq(bf_be32(cqe->byte_cnt), BF_ETH_MIN);
	len = build(&x, BF_IP_UDP, 1, 2, 3, 4);
	x.r.node[0].data[40] = 1;
	send_frame(&x, len, 0, 0);
	ck_assert_uint_eq(who(&x, &cqe), 2);
	ck_assert_uint_eq(cqe->rx[BF_MLX5_CQE_HDS], 1);
	ck_assert_uint_eq(cqe->rx[BF_MLX5_CQE_L4_TYPE], 2 << 4 | 2 << 2);
	set_root(&x.r.node[1], 0);
	send_frame(&x, len, 0, 0);
	ck_assert_uint_eq(who(&x, &cqe), QUEUES);
	rig_close(&x.r);
}
END_TEST

/* The lowest index counts; a table leads to others; what drops, drops. */
START_TEST(test_match)
{
	uint8_t mask[BF_MATCH_LEN] = { 0 }, value[BF_MATCH_LEN] = { 0 };
	const struct bf_mlx5_cqe *cqe;
	struct rig_node *n;
	struct raw x;
	uint32_t len, later, last;

	begin(&x);
	n = &x.r.node[1];
	last = make_table(n, 9, 0);
	later = make_table(n, 5, last);
	ck_assert_int_eq(add_flow(n, x.table, 7, all, all, BF_FD_TABLE, later), 0);
	ck_assert_int_eq(add_flow(n, last, 0, all, all, BF_FD_TIR, x.tir[3]), 0);
	BF_MLX5_SET(mask, BF_MATCH_UDP_DPORT, 0xffff);
	BF_MLX5_SET(value, BF_MATCH_UDP_DPORT, 53);
	ck_assert_int_eq(add_flow(n, x.table, 2, mask, value, BF_FD_TIR, x.tir[0]), 0);
	BF_MLX5_SET(value, BF_MATCH_UDP_DPORT, 99);
	ck_assert_int_eq(add_flow(n, x.table, 3, mask, value, 0, 0), 0);
	memset(mask, 0, sizeof(mask));
	memset(value, 0, sizeof(value));
	memset(mask + BF_MATCH_SRC_IP + 12, 0xff, 3);
	bf_put_be32(value + BF_MATCH_SRC_IP + 12, 0x0a010100);
	ck_assert_int_eq(add_flow(n, later, 0, mask, value, BF_FD_TIR, x.tir[1]), 0);

	len = build(&x, BF_IP_UDP, 0x0a010105, 9, 1, 53);
	send_frame(&x, len, 0, 0);
	ck_assert_uint_eq(who(&x, &cqe), 0);
	build(&x, BF_IP_UDP, 0x0a010105, 9, 1, 99);
	send_frame(&x, len, 0, 0);
	ck_assert_uint_eq(who(&x, &cqe), QUEUES);
	build(&x, BF_IP_UDP, 0x0a010105, 9, 1, 54);
	send_frame(&x, len, 0, 0);
	ck_assert_uint_eq(who(&x, &cqe), 1);
	build(&x, BF_IP_TCP, 0x0a010205, 9, 1, 53); /* the port of another protocol */
	send_frame(&x, len, 0, 0);
	ck_assert_uint_eq(who(&x, &cqe), 3);
	rig_close(&x.r);
}
END_TEST

/* Vectors of Microsoft's "Verifying the RSS Hash Calculation". */
START_TEST(test_hash)
{
	static const struct {
		uint32_t src, dst;
		uint16_t from, to;
		uint32_t hash;
	} v[] = {
		{ 0x420995bb, 0xa18e6450, 2794, 1766, 0x51ccc178 },
		{ 0xc75c6f02, 0x41458c53, 14230, 4739, 0xc626b0ea },
		{ 0x1813c65f, 0x0c16cfb8, 12898, 38024, 0x5c2b394a },
	};
	const struct bf_mlx5_cqe *cqe;
	struct raw x;

	begin(&x);
	ck_assert_int_eq(add_flow(&x.r.node[1], x.table, 0, all, all, BF_FD_TIR, x.hashed), 0);
	for (uint32_t i = 0; i < BF_ARRAY_LEN(v); i++) {
		send_frame(&x, build(&x, BF_IP_TCP, v[i].src, v[i].dst, v[i].from, v[i].to), 0, 0);
		ck_assert_uint_eq(who(&x, &cqe), v[i].hash % QUEUES);
		ck_assert_uint_eq(bf_get_be32(cqe->rx + BF_MLX5_CQE_HASH), v[i].hash);
		ck_assert_uint_eq(cqe->rx[BF_MLX5_CQE_HASH_TYPE], 1 << 6 | 1 << 2);
	}
	/* What has none of the fields goes to the first queue. */
	send_frame(&x, build(&x, BF_IP_UDP, 1, 2, 3, 4), 0, 0);
	ck_assert_uint_eq(who(&x, &cqe), 0);
	rig_close(&x.r);
}
END_TEST

/* What is in use stays, and what is not modelled is refused. */
START_TEST(test_refused)
{
	uint8_t mask[BF_MATCH_LEN] = { 0 }, in[BF_FG_LEN] = { 0 }, table[BF_FT_CREATE_LEN] = { 0 };
	struct rig_node *n;
	struct raw x;

	begin(&x);
	n = &x.r.node[1];
	ck_assert_int_eq(add_flow(n, x.table, 0, all, all, BF_FD_TIR, 0xbad), BF_MLX5_CMD_BAD_RES);
	ck_assert_int_eq(add_flow(n, x.table, 1, all, all, BF_FD_TABLE, x.table), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_int_eq(add_flows(n, x.table, 4, all, all, BF_FD_TABLE, make_table(n, 1, 0), 2),
			 BF_MLX5_CMD_BAD_PARAM);
	ck_assert_int_eq(add_flow(n, x.table, 2, all, all, BF_FD_TIR, x.tir[0]), 0);
	ck_assert_int_eq(rig_simple(n, BF_MLX5_CMD_DESTROY_TIR, x.tir[0]), BF_MLX5_CMD_RES_BUSY);
	ck_assert_int_eq(rig_simple(n, BF_MLX5_CMD_DESTROY_RQ, x.rq[1].qpn), BF_MLX5_CMD_RES_BUSY);
	ck_assert_int_eq(rig_simple(n, BF_MLX5_CMD_DESTROY_QP, x.rq[1].qpn), BF_MLX5_CMD_BAD_RES);
	BF_MLX5_SET(in, BF_FT_ID, x.table);
	BF_MLX5_SET(in, BF_FG_START, 8);
	BF_MLX5_SET(in, BF_FG_END, 8);
	BF_MLX5_SET(in, BF_FG_CRITERIA, 2); /* metadata */
	ck_assert_int_eq(status_of(n, BF_MLX5_CMD_CREATE_FLOW_GROUP, in, sizeof(in)), BF_MLX5_CMD_BAD_PARAM);
	BF_MLX5_SET(in, BF_FG_CRITERIA, 1);
	mask[0x18] = 1; /* c_dscp and what lies there */
	memcpy(in + BF_FG_MASK, mask, sizeof(mask));
	ck_assert_int_eq(status_of(n, BF_MLX5_CMD_CREATE_FLOW_GROUP, in, sizeof(in)), BF_MLX5_CMD_BAD_PARAM);
	bf_put_be32(table + BF_FT_CONTEXT, 0x20000000); /* sw_owner */
	ck_assert_int_eq(status_of(n, BF_MLX5_CMD_CREATE_FLOW_TABLE, table, sizeof(table)), BF_MLX5_CMD_BAD_PARAM);
	bf_put_be32(table + BF_FT_CONTEXT, 0);
	BF_MLX5_SET(table, BF_FT_TYPE, 1); /* of what is sent */
	ck_assert_int_eq(status_of(n, BF_MLX5_CMD_CREATE_FLOW_TABLE, table, sizeof(table)), BF_MLX5_CMD_BAD_PARAM);
	rig_close(&x.r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_raw");
	TCase *tc = tcase_create("raw");
	SRunner *runner;
	int failed;

	tcase_add_test(tc, test_frame);
	tcase_add_test(tc, test_match);
	tcase_add_test(tc, test_hash);
	tcase_add_test(tc, test_refused);
	suite_add_tcase(s, tc);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
