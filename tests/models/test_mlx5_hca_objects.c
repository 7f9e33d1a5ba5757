/*
 * What a kernel's driver makes on the mlx5 device behind PCI: rings in pages, queue pair 1, keys of others; and what an
 * InfiniBand port and its registers tell.
 */
#include <check.h>

#include "tests/models/mlx5_hca_rig.h"

static struct host h;

static void setup(void)
{
	host_open(&h);
}

static void teardown(void)
{
	host_close(&h);
}

/* A queue whose ring begins in the middle of a page and goes on in another, as programs' buffers do. */
static uint32_t make_cq(uint32_t uar, uint32_t eqn, const uint64_t *pages, uint64_t dbr, uint8_t expected)
{
	uint8_t in[BF_CREATE_PAS + 16] = { 0 }, out[16], *cqc = in + BF_CREATE_CQ_CQC;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_CQ);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, 6);
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, uar);
	BF_MLX5_SET(cqc, BF_CQC_EQN, eqn);
	BF_MLX5_SET(cqc, BF_CQC_PAGE_OFFSET, 63); /* the last 64 bytes of the first */
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, dbr);
	bf_put_be64(in + BF_CREATE_PAS, pages[0]);
	bf_put_be64(in + BF_CREATE_PAS + 8, pages[1]);
	ck_assert_uint_eq(host_cmd(&h, in, expected ? sizeof(in) - 8 : sizeof(in), out, 16), expected);
	return BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
}

static const struct bf_mlx5_cqe *cqe_at(const uint64_t *pages, uint32_t i)
{
	return (const void *)host_at(&h, i ? pages[1] + (i - 1) * 64 : pages[0] + 63 * 64);
}

static uint32_t make_qp(uint32_t st, uint32_t pd, uint32_t uar, uint32_t cqn, uint64_t ring, uint64_t dbr)
{
	uint8_t in[BF_CREATE_PAS + 8] = { 0 }, out[16], *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_QP);
	BF_MLX5_SET(qpc, BF_QPC_ST, st);
	BF_MLX5_SET(qpc, BF_QPC_PD, pd);
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, uar);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, cqn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, cqn);
	BF_MLX5_SET(qpc, BF_QPC_LOG_RQ_SIZE, 2);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, 4);
	BF_MLX5_SET(qpc, BF_QPC_PAGE_OFFSET, 2);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, dbr);
	bf_put_be64(in + BF_CREATE_PAS, ring);
	ck_assert_uint_eq(host_cmd(&h, in, sizeof(in), out, 16), 0);
	return BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
}

static uint8_t modify_qp(uint32_t opcode, uint32_t qpn)
{
	uint8_t in[BF_MODIFY_QP_LEN] = { 0 }, out[16], *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qpn);
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, 3);
	BF_MLX5_SET(qpc + BF_QPC_PATH, BF_PATH_PORT, 1);
	BF_MLX5_SET(qpc, BF_QPC_Q_KEY, 0x80010000);
	BF_MLX5_SET(qpc, BF_QPC_MTU, 1);
	BF_MLX5_SET(qpc, BF_QPC_LOG_MSG_MAX, 8);
	return host_cmd(&h, in, sizeof(in), out, 16);
}

static uint32_t make_key(uint32_t pd)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 }, out[16], *mkc = in + BF_CREATE_MKEY_MKC;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_MKEY);
	BF_MLX5_SET(mkc, BF_MKC_LR, 1);
	BF_MLX5_SET(mkc, BF_MKC_LW, 1);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff);
	BF_MLX5_SET(mkc, BF_MKC_LENGTH64, 1);
	BF_MLX5_SET(mkc, BF_MKC_PD, pd);
	ck_assert_uint_eq(host_cmd(&h, in, sizeof(in), out, 16), 0);
	return BF_MLX5_GET(out, BF_CMD_OUT_NUMBER) << 8;
}

struct queues {
	uint32_t uar, pd, cqn, qpn, key;
	uint64_t pages[2], ring, dbr, data;
};

static void make_queues(struct queues *q, uint32_t st)
{
	host_start(&h);
	q->pages[0] = host_page(&h);
	host_page(&h); /* so that they do not follow each other */
	q->pages[1] = host_page(&h);
	q->ring = host_page(&h);
	q->dbr = host_page(&h);
	q->data = host_page(&h);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_UAR, 0, 0, &q->uar), 0);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_PD, 0, 0, &q->pd), 0);
	q->cqn = make_cq(q->uar, 0, q->pages, q->dbr + 64, 0);
	q->qpn = make_qp(st, q->pd, q->uar, q->cqn, q->ring, q->dbr);
	q->key = make_key(q->pd);
	ck_assert_uint_eq(modify_qp(BF_MLX5_CMD_RST2INIT_QP, q->qpn), 0);
	ck_assert_uint_eq(modify_qp(BF_MLX5_CMD_INIT2RTR_QP, q->qpn), 0);
	ck_assert_uint_eq(modify_qp(BF_MLX5_CMD_RTR2RTS_QP, q->qpn), 0);
}

/* The send ring lies behind 64 bytes of receives, which begin 128 bytes into the page. */
static uint8_t *send_slot(const struct queues *q, uint32_t i)
{
	return host_at(&h, q->ring + 128 + 64 + 64ull * i);
}

static void ring_bell(const struct queues *q, uint32_t producer)
{
	uint8_t bell[8];

	bf_put_be32(host_at(&h, q->dbr + 4), producer);
	bf_put_be32(bell, producer << 8);
	bf_put_be32(bell + 4, q->qpn << 8);
	bf_mmio_post(bf_mlx5_hca_bar0(h.hca), q->uar * BF_MLX5_UAR_BYTES + BF_MLX5_UAR_BF, bell, 8);
	host_run(&h);
}

START_TEST(rings_in_pages)
{
	struct queues q;
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 }, out[16];

	make_queues(&q, BF_QPC_ST_UD);
	for (uint32_t i = 0; i < 3; i++) {
		bf_put_be32(send_slot(&q, i), i << 8 | BF_MLX5_OP_NOP);
		bf_put_be32(send_slot(&q, i) + 4, q.qpn << 8 | 1);
		send_slot(&q, i)[11] = BF_MLX5_CTRL_CQ_UPDATE;
		ring_bell(&q, i + 1);
	}
	for (uint32_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(bf_be16(cqe_at(q.pages, i)->wqe_counter), i);
		ck_assert_uint_eq(cqe_at(q.pages, i)->op_own, 0);
		ck_assert_uint_eq(bf_be32(cqe_at(q.pages, i)->sop_drop_qpn) & 0xffffff, q.qpn);
	}
	make_cq(q.uar, 0, q.pages, q.dbr + 64, BF_MLX5_CMD_BAD_INP_LEN); /* one page for what needs two */
	/* Pages that came with a command have no number that another could use. */
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_CQ);
	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_UAR_PAGE, q.uar);
	BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_VALID, 1);
	for (uint32_t id = 0; id < 8; id++) {
		BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_ID, id);
		ck_assert_uint_eq(host_cmd(&h, in, sizeof(in), out, 16), BF_MLX5_CMD_BAD_RES);
		ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_DESTROY_UMEM, 0, id, NULL), BF_MLX5_CMD_BAD_RES);
	}
	/* Without bus mastering nothing is read or written for a doorbell. */
	memset(host_at(&h, q.pages[1] + 2 * 64), 0xee, 64);
	bf_mlx5_hca_bus_master(h.hca, false);
	memcpy(send_slot(&q, 3), send_slot(&q, 2), 64);
	ring_bell(&q, 4);
	bf_mlx5_hca_bus_master(h.hca, true);
	host_run(&h);
	ck_assert_uint_eq(cqe_at(q.pages, 3)->op_own, 0xee);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_DEALLOC_UAR, 0, q.uar, NULL), 0); /* with queues behind it */
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_DESTROY_QP, 0, q.qpn, NULL), 0);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_DESTROY_CQ, 0, q.cqn, NULL), 0);
}
END_TEST

/* A management datagram to the port's own LID: from and to queue pair 1, whatever that is called. */
START_TEST(queue_pair_one)
{
	struct queues q;
	struct bf_mlx5_av *av;
	struct bf_mlx5_data *seg;
	uint8_t *wqe;

	make_queues(&q, BF_QPC_ST_QP1);
	seg = (void *)host_at(&h, q.ring + 128);
	seg->byte_count = bf_to_be32(1024);
	seg->lkey = bf_to_be32(q.key);
	seg->va = bf_to_be64(q.data);
	bf_put_be32(host_at(&h, q.dbr), 1);
	memcpy(host_at(&h, q.data + 2048), "a datagram of management", 24);
	wqe = send_slot(&q, 0);
	bf_put_be32(wqe, BF_MLX5_OP_SEND);
	bf_put_be32(wqe + 4, q.qpn << 8 | 5);
	wqe[11] = BF_MLX5_CTRL_CQ_UPDATE;
	av = (void *)(wqe + 16);
	av->dqp_dct = bf_to_be32(BF_MLX5_AV_EXT | 1);
	bf_put_be32((uint8_t *)&av->dc_key, 0x80010000);
	av->rlid = bf_to_be16(HOST_IPV4 & 0xffff);
	seg = (void *)(wqe + 64);
	seg->byte_count = bf_to_be32(24);
	seg->lkey = bf_to_be32(q.key);
	seg->va = bf_to_be64(q.data + 2048);
	ring_bell(&q, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct bf_mlx5_cqe *cqe = cqe_at(q.pages, i);

		if (cqe->op_own >> 4 != BF_MLX5_CQE_RESP_SEND)
			continue;
		ck_assert_uint_eq(bf_be32(cqe->byte_cnt), 40 + 24);
		ck_assert_uint_eq(bf_get_be16(cqe->rx + BF_MLX5_CQE_SLID), HOST_IPV4 & 0xffff);
		ck_assert_uint_eq(bf_get_be32(cqe->rx + BF_MLX5_CQE_FLAGS_RQPN), 1);
		ck_assert_uint_eq(bf_be32(cqe->imm_inval_pkey), 0xffff);
		ck_assert_mem_eq(host_at(&h, q.data + 40), "a datagram of management", 24);
		return;
	}
	ck_abort_msg("nothing was received");
}
END_TEST

static uint8_t query_vport(uint32_t opcode, uint32_t index, uint8_t *out, size_t len)
{
	uint8_t in[16] = { 0 };

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	BF_MLX5_SET(in, BF_HCA_VPORT_INDEX, index);
	return host_cmd(&h, in, sizeof(in), out, len);
}

START_TEST(infiniband_port)
{
	static uint8_t out[0x400], in[BF_HCA_VPORT_LEN];
	const uint64_t guid = 0x0000c6fffe336407ull; /* of 198.51.100.7, as RoCE's link-local address has it */
	const uint8_t *ctx = out + BF_HCA_VPORT_CTX;

	host_start(&h);
	ck_assert_uint_eq(query_vport(BF_MLX5_CMD_QUERY_HCA_VPORT_CONTEXT, 0, out, BF_HCA_VPORT_LEN), 0);
	ck_assert_uint_eq(BF_MLX5_GET(ctx, BF_HCA_VPORT_STATE), 4);
	ck_assert_uint_eq(BF_MLX5_GET(ctx, BF_HCA_VPORT_LID), 0x6407);
	ck_assert(bf_get_be64(ctx + BF_HCA_VPORT_PORT_GUID) == guid);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_MODIFY_HCA_VPORT_CONTEXT);
	BF_MLX5_SET(in + BF_HCA_VPORT_CTX, BF_HCA_VPORT_CAP1, 0xffff0000);
	BF_MLX5_SET(in + BF_HCA_VPORT_CTX, BF_HCA_VPORT_CAP1_MAY, 0x00030000);
	ck_assert_uint_eq(host_cmd(&h, in, sizeof(in), out, 16), 0);
	ck_assert_uint_eq(query_vport(BF_MLX5_CMD_QUERY_HCA_VPORT_CONTEXT, 0, out, BF_HCA_VPORT_LEN), 0);
	ck_assert_uint_eq(BF_MLX5_GET(ctx, BF_HCA_VPORT_CAP1), 0x00030000);
	ck_assert_uint_eq(query_vport(BF_MLX5_CMD_QUERY_HCA_VPORT_GID, 0, out, 32), 0);
	ck_assert(bf_get_be64(out + 16) == 0xfe80000000000000ull && bf_get_be64(out + 24) == guid);
	ck_assert_uint_eq(query_vport(BF_MLX5_CMD_QUERY_HCA_VPORT_GID, 8, out, 32), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_uint_eq(query_vport(BF_MLX5_CMD_QUERY_HCA_VPORT_GID, 0xffff, out, 16 + 8 * 16), 0);
	ck_assert_uint_eq(query_vport(BF_MLX5_CMD_QUERY_HCA_VPORT_GID, 0xffff, out, 32), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_uint_eq(query_vport(BF_MLX5_CMD_QUERY_HCA_VPORT_PKEY, 0, out, 20), 0);
	ck_assert_uint_eq(bf_get_be32(out + 16), 0xffff);
	ck_assert_uint_eq(query_vport(BF_MLX5_CMD_QUERY_HCA_VPORT_PKEY, 127, out, 20), 0);
	ck_assert_uint_eq(query_vport(BF_MLX5_CMD_QUERY_HCA_VPORT_PKEY, 128, out, 20), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_uint_eq(query_vport(BF_MLX5_CMD_QUERY_VPORT_COUNTER, 0, out, BF_VPORT_COUNTER_LEN), 0);
}
END_TEST

static uint8_t access_reg(uint32_t id, bool read, const uint8_t *data, uint8_t *out, size_t len)
{
	uint8_t in[16 + 256] = { 0 };

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_ACCESS_REG);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, read);
	BF_MLX5_SET(in, BF_ACCESS_REG_ID, id);
	memcpy(in + 16, data, len);
	return host_cmd(&h, in, 16 + len, out, 16 + len);
}

START_TEST(registers)
{
	uint8_t reg[256] = { 0 }, out[16 + 256];

	host_start(&h);
	BF_MLX5_SET(reg, BF_PAOS_PORT, 1);
	ck_assert_uint_eq(access_reg(BF_REG_PMTU, true, reg, out, BF_PMTU_LEN), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out + 16, BF_PMTU_OPER), 4096);
	ck_assert_uint_eq(access_reg(BF_REG_PVLC, true, reg, out, BF_PVLC_LEN), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out + 16, BF_PVLC_CAP), 4);
	ck_assert_uint_eq(access_reg(BF_REG_PPCNT, true, reg, out, BF_PPCNT_LEN), 0);
	ck_assert_uint_eq(access_reg(BF_REG_PTYS, true, reg, out, BF_PTYS_LEN), BF_MLX5_CMD_BAD_PARAM);
	BF_MLX5_SET(reg, BF_PTYS_PROTO_MASK, BF_PTYS_PROTO_IB);
	ck_assert_uint_eq(access_reg(BF_REG_PTYS, true, reg, out, BF_PTYS_LEN), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out + 16, BF_PTYS_PROTO_OPER), 128);
	ck_assert_uint_eq(access_reg(BF_REG_PTYS, true, reg, out, 32), BF_MLX5_CMD_BAD_INP_LEN);
	ck_assert_uint_eq(access_reg(BF_REG_PTYS, false, reg, out, BF_PTYS_LEN), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_uint_eq(access_reg(0x1234, true, reg, out, 64), BF_MLX5_CMD_BAD_PARAM);
	BF_MLX5_SET(reg, BF_PAOS_PORT, 2);
	ck_assert_uint_eq(access_reg(BF_REG_PMTU, true, reg, out, BF_PMTU_LEN), BF_MLX5_CMD_BAD_PARAM);
	memset(reg, 'n', BF_NODE_DESC_LEN);
	ck_assert_uint_eq(access_reg(BF_REG_NODE_DESC, false, reg, out, BF_NODE_DESC_LEN), 0);
	ck_assert_uint_eq(access_reg(BF_REG_NODE_DESC, true, reg, out, BF_NODE_DESC_LEN), 0);
	ck_assert_mem_eq(out + 16, reg, BF_NODE_DESC_LEN);
	ck_assert_uint_eq(access_reg(BF_REG_HOST_ENDIANNESS, false, reg, out, BF_HOST_ENDIANNESS_LEN), 0);
}
END_TEST

/* The kernel's own queue pair changes a key of another protection domain, and gives it another. */
START_TEST(keys_of_others)
{
	struct queues q;
	uint8_t *wqe, out[16 + 64], in[16] = { 0 };
	uint32_t other;

	make_queues(&q, BF_QPC_ST_REG_UMR);
	ck_assert_uint_eq(host_simple(&h, BF_MLX5_CMD_ALLOC_PD, 0, 0, &other), 0);
	wqe = send_slot(&q, 0);
	bf_put_be32(wqe, BF_MLX5_OP_UMR);
	bf_put_be32(wqe + 4, q.qpn << 8 | 8);
	wqe[11] = BF_MLX5_CTRL_CQ_UPDATE;
	bf_put_be32(wqe + 12, q.key);
	wqe[16] = BF_MLX5_UMR_INLINE;
	bf_put_be64(wqe + 16 + offsetof(struct bf_mlx5_umr_ctrl, mkey_mask), BF_MLX5_UMR_MASK_PD | BF_MLX5_UMR_MASK_RW);
	BF_MLX5_SET(wqe + 64, BF_MKC_PD, other);
	BF_MLX5_SET(wqe + 64, BF_MKC_RW, 1);
	ring_bell(&q, 2);
	/* Keys that UMR may not change are safe from it, too. */
	ck_assert_uint_eq(cqe_at(q.pages, 0)->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_MKEY);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, q.key >> 8);
	ck_assert_uint_eq(host_cmd(&h, in, sizeof(in), out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out + 16, BF_MKC_RW), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_hca_objects");
	TCase *tc = tcase_create("objects");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, rings_in_pages);
	tcase_add_test(tc, queue_pair_one);
	tcase_add_test(tc, infiniband_port);
	tcase_add_test(tc, registers);
	tcase_add_test(tc, keys_of_others);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
