/* The command interface: every mailbox is answered, wrong ones with the status that says why. */
#include <check.h>

#include "models/mlx5/device_internal.h"
#include "sim/rng.h"
#include "tests/models/mlx5_rig.h"

static const struct rig_qp_opts o = { .log_sq = 4, .log_rq = 3, .log_stride = 0, .log_rd = 2 };
static struct rig_pair p;
static struct rig_node *a;

static void setup(void)
{
	rig_pair_open(&p, 1, NULL, &o);
	a = &p.rig.node[0];
}

static void teardown(void)
{
	rig_close(&p.rig);
}

static uint32_t simple(uint32_t opcode, uint32_t number)
{
	return rig_simple(a, opcode, number);
}

START_TEST(lengths_and_opcodes)
{
	uint8_t in[BF_CREATE_QP_LEN] = { 0 }, out[64];

	ck_assert_int_eq(bf_mlx5_cmd(a->dev, in, 15, out, 16), -22);
	ck_assert_int_eq(bf_mlx5_cmd(a->dev, in, 16, out, 8), -22);
	ck_assert_uint_eq(simple(0x7777, 0), BF_MLX5_CMD_BAD_OP);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_CREATE_QP, 0), BF_MLX5_CMD_BAD_INP_LEN);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_QUERY_QP, p.q[0].qpn), BF_MLX5_CMD_BAD_OUTP_LEN);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_QUERY_HCA_CAP, 0), BF_MLX5_CMD_OK);
}
END_TEST

/* There is nothing to tell of ports that are one, and UCX asks each time. */
START_TEST(ports_are_not_aggregated)
{
	ck_assert_uint_eq(simple(BF_MLX5_CMD_QUERY_LAG, 0x1234), 0);
}
END_TEST

START_TEST(objects_that_are_not_there)
{
	static const uint32_t ops[] = { BF_MLX5_CMD_DESTROY_MKEY, BF_MLX5_CMD_DESTROY_CQ,  BF_MLX5_CMD_DESTROY_QP,
					BF_MLX5_CMD_2ERR_QP,      BF_MLX5_CMD_2RST_QP,     BF_MLX5_CMD_DEALLOC_PD,
					BF_MLX5_CMD_DEALLOC_UAR,  BF_MLX5_CMD_DESTROY_UMEM };

	for (size_t i = 0; i < BF_ARRAY_LEN(ops); i++)
		ck_assert_uint_eq(simple(ops[i], 0xabcdef), BF_MLX5_CMD_BAD_RES);
}
END_TEST

START_TEST(busy_objects)
{
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DEALLOC_PD, a->pd), BF_MLX5_CMD_RES_BUSY);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_CQ, p.scq[0].cqn), BF_MLX5_CMD_RES_BUSY);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DEALLOC_UAR, a->uar), BF_MLX5_CMD_RES_BUSY);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_QP, p.q[0].qpn), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_QP, p.q[0].qpn), BF_MLX5_CMD_BAD_RES);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_CQ, p.scq[0].cqn), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_CQ, p.rcq[0].cqn), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DEALLOC_PD, a->pd), BF_MLX5_CMD_RES_BUSY); /* the data key */
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_MKEY, a->key >> 8), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DEALLOC_PD, a->pd), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DEALLOC_UAR, a->uar), BF_MLX5_CMD_OK);
}
END_TEST

START_TEST(transitions)
{
	static const struct {
		uint32_t opcode, status;
	} steps[] = {
		{ BF_MLX5_CMD_INIT2RTR_QP, BF_MLX5_CMD_BAD_QP_STATE },
		{ BF_MLX5_CMD_RTR2RTS_QP, BF_MLX5_CMD_BAD_QP_STATE },
		{ BF_MLX5_CMD_RST2INIT_QP, BF_MLX5_CMD_OK },
		{ BF_MLX5_CMD_RST2INIT_QP, BF_MLX5_CMD_BAD_QP_STATE },
		{ BF_MLX5_CMD_RTR2RTS_QP, BF_MLX5_CMD_BAD_QP_STATE },
		{ BF_MLX5_CMD_INIT2RTR_QP, BF_MLX5_CMD_OK },
		{ BF_MLX5_CMD_RTS2SQD_QP, BF_MLX5_CMD_BAD_QP_STATE },
		{ BF_MLX5_CMD_RTR2RTS_QP, BF_MLX5_CMD_OK },
		{ BF_MLX5_CMD_RTS2RTS_QP, BF_MLX5_CMD_OK },
		{ BF_MLX5_CMD_SQERR2RTS_QP, BF_MLX5_CMD_BAD_QP_STATE },
		{ BF_MLX5_CMD_RTS2SQD_QP, BF_MLX5_CMD_OK },
		{ BF_MLX5_CMD_SQD_RTS_QP, BF_MLX5_CMD_OK },
		{ BF_MLX5_CMD_2ERR_QP, BF_MLX5_CMD_OK },
		{ BF_MLX5_CMD_INIT2RTR_QP, BF_MLX5_CMD_BAD_QP_STATE },
		{ BF_MLX5_CMD_2RST_QP, BF_MLX5_CMD_OK },
		{ BF_MLX5_CMD_RST2INIT_QP, BF_MLX5_CMD_OK },
	};
	struct rig_qp q;

	rig_qp_open(a, &q, &p.scq[0], &p.rcq[0], &o);
	for (size_t i = 0; i < BF_ARRAY_LEN(steps); i++)
		ck_assert_msg(rig_modify(&q, steps[i].opcode, &p.q[1], &o) == steps[i].status, "step %zu", i);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_QP, q.qpn), 0);
}
END_TEST

/* One required attribute at a time is missing or wrong. */
START_TEST(required_attributes)
{
	uint8_t in[BF_MODIFY_QP_LEN], out[16], *qpc = in + BF_QP_QPC;
	struct rig_qp q;

	rig_qp_open(a, &q, &p.scq[0], &p.rcq[0], &o);
	for (int wrong = 0; wrong < 2; wrong++) {
		rig_modify_fill(in, BF_MLX5_CMD_RST2INIT_QP, &q, &p.q[1], &o);
		if (wrong)
			BF_MLX5_SET(qpc, BF_QPC_PM_STATE, 0);
		else
			BF_MLX5_SET(qpc + BF_QPC_PATH, BF_PATH_PORT, 2); /* the device has one */
		ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_PARAM);
	}
	ck_assert_uint_eq(rig_modify(&q, BF_MLX5_CMD_RST2INIT_QP, &p.q[1], &o), 0);
	static const char *const says[] = { "mtu 0: must be 1 to 5", "mtu 6: must be 1 to 5", "log_msg_max 31",
					    "rgid_rip", "rgid_rip" };

	for (int wrong = 0; wrong < 5; wrong++) {
		rig_modify_fill(in, BF_MLX5_CMD_INIT2RTR_QP, &q, &p.q[1], &o);
		if (wrong == 0)
			BF_MLX5_SET(qpc, BF_QPC_MTU, 0);
		else if (wrong == 1)
			BF_MLX5_SET(qpc, BF_QPC_MTU, 6);
		else if (wrong == 2)
			BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, 31);
		else if (wrong == 3)
			qpc[BF_QPC_PATH + BF_PATH_RGID] = 0xfe;
		else
			memset(qpc + BF_QPC_PATH + BF_PATH_RGID + 12, 0, 4);
		ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_PARAM);
		ck_assert_msg(strstr(a->dev->refusal, says[wrong]) != NULL, "%s", a->dev->refusal);
	}
	ck_assert_uint_eq(rig_modify(&q, BF_MLX5_CMD_INIT2RTR_QP, &p.q[1], &o), 0);
}
END_TEST

START_TEST(wrong_queue_pairs)
{
	/* Which field; the umem's number is not a field of the context. */
	static const char *const says[] = { "pd 0xfff", "cqn_snd 0xfff", "cqn_rcv 0xfff",          "uar_page 0x3f",
					    "",         "st 9",          "doorbell record at 0x4", "wq_signature" };
	uint8_t in[BF_CREATE_QP_LEN], out[16], *qpc = in + BF_QP_QPC;

	for (int wrong = 0; wrong < 8; wrong++) {
		uint32_t expected = BF_MLX5_CMD_BAD_RES;

		memset(in, 0, sizeof(in));
		BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_QP);
		BF_MLX5_SET(qpc, BF_QPC_PD, wrong == 0 ? 0xfff : a->pd);
		BF_MLX5_SET(qpc, BF_QPC_CQN_SND, wrong == 1 ? 0xfff : p.scq[0].cqn);
		BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, wrong == 2 ? 0xfff : p.scq[0].cqn);
		BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, wrong == 3 ? 63 : a->uar);
		BF_MLX5_SET(in, BF_CREATE_QP_UMEM_VALID, wrong == 4);
		BF_MLX5_SET(in, BF_CREATE_QP_UMEM_ID, 0x123);
		if (wrong >= 5)
			expected = BF_MLX5_CMD_BAD_PARAM;
		if (wrong == 5)
			BF_MLX5_SET(qpc, BF_QPC_ST, 9); /* raw packets */
		if (wrong == 6)
			bf_put_be64(qpc + BF_QPC_DBR_ADDR, 4);
		if (wrong == 7)
			BF_MLX5_SET(qpc, BF_QPC_WQ_SIGNATURE, 1);
		ck_assert_msg(rig_cmd(a, in, sizeof(in), out, sizeof(out)) == expected, "case %d", wrong);
		ck_assert_msg(strstr(a->dev->refusal, says[wrong]) != NULL, "case %d: %s", wrong, a->dev->refusal);
	}
	ck_assert_uint_eq(simple(BF_MLX5_CMD_QUERY_ADAPTER, 0), BF_MLX5_CMD_BAD_OUTP_LEN);
	ck_assert_str_eq(a->dev->refusal, "room for 16 bytes of answer: must be 272 at least");
	/* The next command that is taken has nothing to say. */
	ck_assert_uint_eq(simple(BF_MLX5_CMD_ALLOC_PD, 0), BF_MLX5_CMD_OK);
	ck_assert_str_eq(a->dev->refusal, "");
}
END_TEST

/* What is not modelled, or would put an entry on two pages, is refused. */
START_TEST(wrong_completion_queues)
{
	uint8_t in[BF_CREATE_CQ_LEN], out[16], *cqc = in + BF_CREATE_CQ_CQC;

	for (int wrong = 0; wrong < 6; wrong++) {
		memset(in, 0, sizeof(in));
		BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_CQ);
		BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, a->uar);
		BF_MLX5_SET(cqc, BF_CQC_COMP_EN, wrong == 0);
		if (wrong == 0)
			BF_MLX5_SET(cqc, BF_CQC_MINI_FORMAT, 2);
		else if (wrong == 1)
			BF_MLX5_SET(cqc, BF_CQC_CQE_SZ, 3);
		else if (wrong == 2)
			BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, 23);
		else if (wrong == 3)
			bf_put_be64(cqc + BF_CQC_DBR_ADDR, 4);
		else if (wrong == 4)
			bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, 4096 - 32);
		ck_assert_msg(rig_cmd(a, in, sizeof(in), out, sizeof(out)) ==
				  (wrong < 5 ? BF_MLX5_CMD_BAD_PARAM : BF_MLX5_CMD_OK),
			      "case %d", wrong);
	}
}
END_TEST

START_TEST(umems_bound_their_contents)
{
	uint8_t in[BF_CREATE_UMEM_MTT + 16] = { 0 }, cq[BF_CREATE_CQ_LEN] = { 0 }, out[16];
	uint8_t *cqc = cq + BF_CREATE_CQ_CQC;
	uint32_t umem;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_UMEM);
	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT, 3);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_INP_LEN);
	ck_assert_ptr_nonnull(strstr(a->dev->refusal, "num_of_mtt 3: must be 1 to the 2 that"));
	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT, 2);
	bf_put_be64(in + BF_CREATE_UMEM_MTT, 0x1100); /* not a page */
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_str_eq(a->dev->refusal, "page 0 of the list, 0x1100: must be a multiple of 2^12");
	bf_put_be64(in + BF_CREATE_UMEM_MTT, a->data_va | 3);
	bf_put_be64(in + BF_CREATE_UMEM_MTT + 8, (a->data_va + 4096) | 3);
	umem = rig_do(a, BF_MLX5_CMD_CREATE_UMEM, in, sizeof(in));
	BF_MLX5_SET(cq, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_CQ);
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, a->uar);
	BF_MLX5_SET(cq, BF_CREATE_CQ_UMEM_VALID, 1);
	BF_MLX5_SET(cq, BF_CREATE_CQ_UMEM_ID, umem);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, 8); /* 16 KiB in 8 KiB */
	ck_assert_uint_eq(rig_cmd(a, cq, sizeof(cq), out, sizeof(out)), BF_MLX5_CMD_BAD_SIZE);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, 6);
	ck_assert_uint_eq(rig_cmd(a, cq, sizeof(cq), out, sizeof(out)), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_UMEM, umem), BF_MLX5_CMD_RES_BUSY);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_CQ, BF_MLX5_GET(out, BF_CMD_OUT_NUMBER)), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_UMEM, umem), BF_MLX5_CMD_OK);
}
END_TEST

/* A guest that registers without end is refused, and goes on where it gives back. */
START_TEST(translations_are_bounded)
{
	const uint32_t pages = 1u << 20, most = BF_MLX5_ENTRIES / pages;
	const size_t umem_len = BF_CREATE_UMEM_MTT + 8ull * pages, key_len = BF_CREATE_MKEY_XLT + 8ull * pages;
	uint8_t *in = calloc(1, umem_len), *key = calloc(1, key_len), out[16];
	uint32_t umem[BF_MLX5_ENTRIES >> 20], n = 0, number;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_UMEM);
	BF_MLX5_SET(in + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT, pages);
	BF_MLX5_SET(key, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_MKEY);
	BF_MLX5_SET(key + BF_CREATE_MKEY_MKC, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_MTT);
	BF_MLX5_SET(key + BF_CREATE_MKEY_MKC, BF_MKC_LOG_PAGE_SIZE, 12);
	BF_MLX5_SET(key + BF_CREATE_MKEY_MKC, BF_MKC_QPN, 0xffffff);
	BF_MLX5_SET(key + BF_CREATE_MKEY_MKC, BF_MKC_PD, a->pd);
	bf_put_be64(key + BF_CREATE_MKEY_MKC + BF_MKC_SIZE, 4096ull * pages);
	BF_MLX5_SET(key, BF_CREATE_MKEY_XLT_ACTUAL, pages / 2);
	for (uint32_t i = 0; i < pages; i++) {
		bf_put_be64(in + BF_CREATE_UMEM_MTT + 8ull * i, 8192ull * i);
		bf_put_be64(key + BF_CREATE_MKEY_XLT + 8ull * i, 8192ull * i);
	}
	while (n < most && rig_cmd(a, in, umem_len, out, sizeof(out)) == BF_MLX5_CMD_OK)
		umem[n++] = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	ck_assert_uint_ge(n, most - 1); /* the node has a few of its own */
	ck_assert_uint_eq(rig_cmd(a, in, umem_len, out, sizeof(out)), BF_MLX5_CMD_NO_RES);
	ck_assert_uint_eq(rig_cmd(a, key, key_len, out, sizeof(out)), BF_MLX5_CMD_NO_RES);
	ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_UMEM, umem[--n]), BF_MLX5_CMD_OK);
	for (int again = 0; again < 3; again++) {
		ck_assert_uint_eq(rig_cmd(a, key, key_len, out, sizeof(out)), BF_MLX5_CMD_OK);
		number = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
		ck_assert_uint_eq(rig_cmd(a, in, umem_len, out, sizeof(out)), BF_MLX5_CMD_NO_RES);
		ck_assert_uint_eq(simple(BF_MLX5_CMD_DESTROY_MKEY, number), BF_MLX5_CMD_OK);
	}
	free(in);
	free(key);
}
END_TEST

START_TEST(chosen_numbers)
{
	struct bf_mlx5_qp_info info;
	struct rig_qp q;

	ck_assert_int_eq(bf_mlx5_next_number(a->dev, BF_MLX5_OBJ_QP, p.q[0].qpn), -17);
	ck_assert_int_eq(bf_mlx5_next_number(a->dev, BF_MLX5_OBJ_QP, 1u << 24), -34);
	ck_assert_int_eq(bf_mlx5_next_number(a->dev, BF_MLX5_OBJ_QP, 0x101001), 0);
	rig_qp_open(a, &q, &p.scq[0], &p.rcq[0], &o);
	ck_assert_uint_eq(q.qpn, 0x101001);
	rig_qp_open(a, &q, &p.scq[0], &p.rcq[0], &o);
	ck_assert_uint_eq(q.qpn, p.q[0].qpn + 1);
	ck_assert_int_eq(bf_mlx5_next_number(a->dev, BF_MLX5_OBJ_MKEY, 0x10000), 0);
	ck_assert_uint_eq(rig_mkey(a, a->pd, 0, 4096, 0, 0x42), 0x1000042);
	ck_assert_int_eq(bf_mlx5_qp_info(a->dev, 0x999, &info), -2);
	ck_assert_int_eq(bf_mlx5_qp_info(a->dev, 0x101001, &info), 0);
	ck_assert_uint_eq(info.state, BF_MLX5_QPS_RST);
}
END_TEST

START_TEST(query_says_what_was_set)
{
	uint8_t in[16] = { 0 }, out[BF_QP_QPC + BF_QPC_LEN], *qpc = out + BF_QP_QPC;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_QP);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, p.q[0].qpn);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(qpc, BF_QPC_STATE), BF_MLX5_QPS_RTS);
	ck_assert_uint_eq(BF_MLX5_GET(qpc, BF_QPC_MTU), 5);
	ck_assert_uint_eq(BF_MLX5_GET(qpc, BF_QPC_REMOTE_QPN), p.q[1].qpn);
	ck_assert_uint_eq(BF_MLX5_GET(qpc, BF_QPC_RETRY_COUNT), 7);
	ck_assert_uint_eq(BF_MLX5_GET(qpc, BF_QPC_RRE), 1);
	ck_assert_uint_eq(BF_MLX5_GET(qpc, BF_QPC_LOG_RRA_MAX), o.log_rd);
	ck_assert_uint_eq(BF_MLX5_GET(qpc, BF_QPC_LOG_SRA_MAX), o.log_rd);
	ck_assert_uint_eq(BF_MLX5_GET(qpc + BF_QPC_PATH, BF_PATH_ACK_TIMEOUT), 8);
	ck_assert_uint_eq(bf_get_be32(qpc + BF_QPC_PATH + BF_PATH_RGID + 12), p.rig.node[1].ipv4);
	ck_assert_uint_eq(BF_MLX5_GET(qpc, BF_QPC_USER_INDEX), 0x77);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_MKEY);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, a->key >> 8);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), 0);
	ck_assert_uint_eq(bf_get_be64(out + 16 + BF_MKC_START), a->data_va);
}
END_TEST

/* Random mailboxes with good opcodes: always a status, never a crash (sanitizers watch), and the device lives on. */
START_TEST(random_mailboxes)
{
	static const uint32_t ops[] = { 0x100, 0x200, 0x201, 0x202, 0x400, 0x401, 0x402, 0x500, 0x501,
					0x502, 0x503, 0x504, 0x505, 0x506, 0x507, 0x50a, 0x50b, 0x50c,
					0x50d, 0x800, 0x801, 0x802, 0x803, 0xa08, 0xa0a };
	struct bf_rng r;

	bf_rng_init(&r, 7, "mail");
	for (int i = 0; i < 20000; i++) {
		uint8_t in[320], out[320];
		size_t in_len = 16 + bf_rng_below(&r, sizeof(in) - 16), out_len = 16 + bf_rng_below(&r, 300);

		for (size_t k = 0; k < sizeof(in); k++)
			in[k] = bf_rng_chance(&r, 200000) ? (uint8_t)bf_rng_next(&r) : 0;
		BF_MLX5_SET(in, BF_CMD_OPCODE, ops[bf_rng_below(&r, BF_ARRAY_LEN(ops))]);
		if (bf_rng_chance(&r, 500000))
			BF_MLX5_SET(in, BF_CMD_IN_NUMBER, (uint32_t)bf_rng_below(&r, 0x140));
		memset(out, 0xcc, sizeof(out));
		ck_assert_int_eq(bf_mlx5_cmd(a->dev, in, in_len, out, out_len), 0);
		ck_assert_uint_ne(out[0], 0xcc);
	}
	rig_run(&p.rig);
}
END_TEST

static void query_qp(uint32_t qpn, uint8_t out[BF_QP_QPC + BF_QPC_LEN])
{
	uint8_t in[16] = { 0 };

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_QP);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qpn);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, BF_QP_QPC + BF_QPC_LEN), 0);
}

#define OPTPAR 0x10, 0xffffffffu

/* INIT to INIT takes what is selected, and nothing else. */
START_TEST(init_to_init)
{
	uint8_t in[BF_MODIFY_QP_LEN], out[16], query[BF_QP_QPC + BF_QPC_LEN];
	const uint8_t *got = query + BF_QP_QPC;
	struct rig_qp q;

	rig_qp_open(a, &q, &p.scq[0], &p.rcq[0], &o);
	ck_assert_uint_eq(rig_modify(&q, BF_MLX5_CMD_INIT2INIT_QP, &p.q[1], &o), BF_MLX5_CMD_BAD_QP_STATE);
	ck_assert_uint_eq(rig_modify(&q, BF_MLX5_CMD_RST2INIT_QP, &p.q[1], &o), 0);
	rig_modify_fill(in, BF_MLX5_CMD_INIT2INIT_QP, &q, &p.q[1], &o);
	BF_MLX5_SET(in, OPTPAR, 1u << 1 | 1u << 4 | 1u << 5); /* remote reads, P_Key index, Q_Key */
	BF_MLX5_SET(in + BF_QP_QPC, BF_QPC_RRE, 0);
	BF_MLX5_SET(in + BF_QP_QPC, BF_QPC_RWE, 0);
	BF_MLX5_SET(in + BF_QP_QPC + BF_QPC_PATH, BF_PATH_PKEY_INDEX, 7);
	BF_MLX5_SET(in + BF_QP_QPC, BF_QPC_Q_KEY, 0x11223344);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), 0);
	query_qp(q.qpn, query);
	ck_assert_uint_eq(BF_MLX5_GET(got, BF_QPC_STATE), BF_MLX5_QPS_INIT);
	ck_assert_uint_eq(BF_MLX5_GET(got, BF_QPC_RRE), 0);
	ck_assert_uint_eq(BF_MLX5_GET(got, BF_QPC_RWE), 1);
	ck_assert_uint_eq(BF_MLX5_GET(got, BF_QPC_Q_KEY), 0x11223344);
	ck_assert_uint_eq(BF_MLX5_GET(got, BF_QPC_PM_STATE), 3);
	ck_assert_uint_eq(BF_MLX5_GET(got + BF_QPC_PATH, BF_PATH_PKEY_INDEX), 7);
	BF_MLX5_SET(in, OPTPAR, 1u << 16); /* a port that is not there */
	BF_MLX5_SET(in + BF_QP_QPC + BF_QPC_PATH, BF_PATH_PORT, 2);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_PARAM);
}
END_TEST

/* A path by the link-local address that is made of the peer's MAC; any other leads nowhere. */
START_TEST(link_local)
{
	uint8_t in[BF_MODIFY_QP_LEN], out[16], *gid = in + BF_QP_QPC + BF_QPC_PATH + BF_PATH_RGID;
	struct bf_mlx5_qp_info info;
	struct bf_port_info port;
	struct rig_qp q[2];

	for (uint32_t i = 0; i < 2; i++)
		rig_qp_open(&p.rig.node[i], &q[i], &p.scq[i], &p.rcq[i], &o);
	rig_connect(&q[1], &q[0], &o);
	ck_assert_uint_eq(rig_modify(&q[0], BF_MLX5_CMD_RST2INIT_QP, &q[1], &o), 0);
	rig_modify_fill(in, BF_MLX5_CMD_INIT2RTR_QP, &q[0], &q[1], &o);
	bf_port_info(bf_mlx5_port(p.rig.node[1].dev, 1), &port);
	memset(gid, 0, 16);
	gid[0] = 0xfe;
	gid[1] = 0x80;
	gid[8] = port.mac[0] ^ 2;
	memcpy(gid + 9, port.mac + 1, 2);
	gid[11] = 0xff;
	memcpy(gid + 13, port.mac + 3, 3);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_PARAM);
	gid[12] = 0xfe;
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(rig_modify(&q[0], BF_MLX5_CMD_RTR2RTS_QP, &q[1], &o), 0);
	rig_rdma(&q[0], BF_MLX5_OP_RDMA_WRITE, 0, p.rig.node[1].data_va, p.rig.node[1].key, 64, RIG_CQE);
	rig_db(&q[0]);
	rig_run(&p.rig);
	ck_assert(!bf_mlx5_qp_info(a->dev, q[0].qpn, &info));
	ck_assert_uint_eq(info.sq_completed, 1);
	ck_assert_uint_eq(rig_poll(&p.scq[0])->op_own >> 4, BF_MLX5_CQE_REQ);
}
END_TEST

static void query(uint32_t opcode, uint32_t op_mod, uint8_t *out, size_t len)
{
	uint8_t in[16] = { 0 };

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, op_mod);
	memset(out, 0xaa, len);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, len), 0);
}

START_TEST(identity)
{
	uint8_t out[BF_QUERY_ADAPTER_LEN], in[16] = { 0 };

	query(BF_MLX5_CMD_QUERY_ADAPTER, 0, out, BF_QUERY_ADAPTER_LEN);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_QUERY_ADAPTER_VENDOR), 0x0002c9);
	ck_assert_mem_eq(out + BF_QUERY_ADAPTER_PSID, "BELFRY", 6);
	query(BF_MLX5_CMD_QUERY_ISSI, 0, out, BF_QUERY_ISSI_LEN);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_QUERY_ISSI_CURRENT), 1);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_QUERY_ISSI_SUPPORTED), 2);
	query(BF_MLX5_CMD_QUERY_SPECIAL_CONTEXTS, 0, out, BF_SPECIAL_LEN);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_SPECIAL_TERMINATE), BF_MLX5_INVALID_LKEY);
	query(BF_MLX5_CMD_QUERY_VPORT_STATE, 0, out, 16);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_VPORT_STATE), 1);
	bf_port_set_link(bf_mlx5_port(a->dev, 1), false);
	query(BF_MLX5_CMD_QUERY_VPORT_STATE, 0, out, 16);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_VPORT_STATE), 0);
	query(BF_MLX5_CMD_QUERY_NIC_VPORT_CONTEXT, 0, out, BF_NIC_VPORT_LEN);
	ck_assert_uint_eq(bf_get_be64(out + BF_NIC_VPORT_CTX + BF_NIC_VPORT_NODE_GUID), 0x02000afffe000001);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_SET_ISSI);
	BF_MLX5_SET(in, BF_SET_ISSI_CURRENT, 1);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, 16), 0);
	BF_MLX5_SET(in, BF_SET_ISSI_CURRENT, 0);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, 16), BF_MLX5_CMD_BAD_OP);
}
END_TEST

START_TEST(capabilities)
{
	uint8_t out[BF_HCA_CAP + BF_HCA_CAP_LEN], *cap = out + BF_HCA_CAP;

	query(BF_MLX5_CMD_QUERY_HCA_CAP, BF_HCA_CAP_GENERAL << 1 | 1, out, sizeof(out));
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_RC), 1);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_UD), 1);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_CQ_RESIZE), 1);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_CQE_VERSION), 1);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_LOG_MAX_SRQ_SZ), 15);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_FREQUENCY_KHZ), 1000000);
	query(BF_MLX5_CMD_QUERY_HCA_CAP, 5u << 1 | 1, out, sizeof(out)); /* of another kind: nothing optional */
	for (size_t i = BF_HCA_CAP; i < sizeof(out); i++)
		ck_assert_uint_eq(out[i], 0);
}
END_TEST

/* Numbers come from the range that was asked for, and wrap in it; DC targets have its end. */
START_TEST(number_range)
{
	struct bf_mlx5_opts opts = { .name = "y",
				     .space = &a->space,
				     .ioas = &a->ioas,
				     .fabric = p.rig.fabric,
				     .ipv4 = { 0x0a000201 },
				     .first_qpn = 0x8000,
				     .qpns = 16 };
	struct rig_node n = *a;
	struct rig_cq cq;
	struct rig_qp q[15];
	uint8_t in[16] = { 0 };

	opts.first_qpn = 0xffffff;
	ck_assert_int_eq(bf_mlx5_create(p.rig.sim, &opts, &n.dev), -22);
	opts.first_qpn = 0x8000;
	ck_assert(!bf_mlx5_create(p.rig.sim, &opts, &n.dev));
	n.pd = rig_do(&n, BF_MLX5_CMD_ALLOC_PD, in, sizeof(in));
	memset(in, 0, sizeof(in));
	n.uar = rig_do(&n, BF_MLX5_CMD_ALLOC_UAR, in, sizeof(in));
	rig_cq_open(&n, &cq, 2, 0);
	for (uint32_t i = 0; i < 14; i++) {
		rig_qp_open(&n, &q[i], &cq, &cq, &o);
		ck_assert_uint_eq(q[i].qpn, 0x8000 + i);
	}
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(rig_simple(&n, BF_MLX5_CMD_DESTROY_QP, 0x8004 + i), 0);
	rig_qp_open(&n, &q[14], &cq, &cq, &o);
	ck_assert_uint_eq(q[14].qpn, 0x8004);
	bf_mlx5_destroy(n.dev);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_cmd");
	TCase *tc = tcase_create("commands");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, lengths_and_opcodes);
	tcase_add_test(tc, ports_are_not_aggregated);
	tcase_add_test(tc, objects_that_are_not_there);
	tcase_add_test(tc, busy_objects);
	tcase_add_test(tc, transitions);
	tcase_add_test(tc, init_to_init);
	tcase_add_test(tc, link_local);
	tcase_add_test(tc, identity);
	tcase_add_test(tc, capabilities);
	tcase_add_test(tc, number_range);
	tcase_add_test(tc, required_attributes);
	tcase_add_test(tc, wrong_queue_pairs);
	tcase_add_test(tc, wrong_completion_queues);
	tcase_add_test(tc, umems_bound_their_contents);
	tcase_add_test(tc, translations_are_bounded);
	tcase_add_test(tc, chosen_numbers);
	tcase_add_test(tc, query_says_what_was_set);
	tcase_add_test(tc, random_mailboxes);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
