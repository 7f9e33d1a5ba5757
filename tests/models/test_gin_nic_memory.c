/*
 * What GPUNetIO, UCX's GDA and NCCL's GIN need of a ConnectX beyond NVSHMEM's IBGDA: memory, keys, ports. Each test
 * names the row of the inventory that it is for; see test_gin_nic.c.
 */
#include <check.h>

#include "tests/models/gin_rig.h"

static uint32_t umem(struct rig_node *n, uint64_t at, uint32_t pages, uint32_t log_page)
{
	uint8_t in[BF_CREATE_UMEM_MTT + 64 * 8] = { 0 }, *ctx = in + BF_CREATE_UMEM_CTX;
	const uint64_t page = 1ull << log_page;

	BF_MLX5_SET(ctx, BF_UMEM_LOG_PAGE_SIZE, log_page - 12);
	BF_MLX5_SET(ctx, BF_UMEM_PAGE_OFFSET, (uint32_t)(at & (page - 1)));
	BF_MLX5_SET(ctx, BF_UMEM_NUM_MTT, pages);
	for (uint32_t i = 0; i < pages; i++)
		bf_put_be64(in + BF_CREATE_UMEM_MTT + 8 * i, (at & ~(page - 1)) + i * page);
	return rig_do(n, BF_MLX5_CMD_CREATE_UMEM, in, BF_CREATE_UMEM_MTT + 8 * pages);
}

/* Status of a CREATE_CQ as UCX makes it: collapsed, of one entry, overrun ignored, at `at` of the UMEM. */
static uint32_t collapsed_cq(struct rig_node *n, uint32_t id, uint64_t at, uint64_t dbr, uint32_t *cqn)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 }, *cqc = in + BF_CREATE_CQ_CQC, out[16];
	uint32_t status;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_CQ);
	BF_MLX5_SET(cqc, BF_CQC_CC, 1);
	BF_MLX5_SET(cqc, BF_CQC_OI, 1);
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, n->uar);
	BF_MLX5_SET(cqc, BF_CQC_DBR_UMEM_VALID, 1);
	BF_MLX5_SET(cqc, BF_CQC_DBR_UMEM_ID, id);
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, dbr);
	BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_VALID, 1);
	BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_ID, id);
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, at);
	status = rig_cmd(n, in, sizeof(in), out, sizeof(out));
	*cqn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return status;
}

/* Row 13: a collapsed CQ of one entry at any 64 bytes. */
START_TEST(row_13_collapsed_cq_at_any_64_bytes)
{
	uint8_t *memory = rig_alloc(a, 4 * 65536);
	uint32_t small = umem(a, rig_va(a, memory), 16, 12), cqn;

	for (uint64_t at = 0; at < 8192; at += 64)
		ck_assert_uint_eq(collapsed_cq(a, small, at, 8192, &cqn), 0);
	ck_assert_uint_ne(collapsed_cq(a, small, 32, 8192, &cqn), 0);
}
END_TEST

/* Row 13, assumed: refused where its place in a page of more than 4 KiB does not fit six bits of 64 bytes. */
START_TEST(row_13_large_pages)
{
	uint64_t va;
	uint32_t large, cqn;

	profile.traits.any_cq_offset = _i;
	reopen();
	va = (rig_va(a, rig_alloc(a, 4 * 65536)) + 65535) & ~65535ull;
	large = umem(a, va, 2, 16);
	ck_assert_uint_eq(collapsed_cq(a, large, 0, 512, &cqn), 0);
	ck_assert_uint_eq(collapsed_cq(a, large, 63 * 64, 512, &cqn), 0);
	ck_assert_uint_eq(collapsed_cq(a, large, 64 * 64, 512, &cqn), _i ? 0 : BF_MLX5_CMD_BAD_PARAM);
	ck_assert_uint_eq(collapsed_cq(a, large, 65536, 512, &cqn), 0);
}
END_TEST

/* A queue pair with ring and record at offsets of UMEMs, connected to the rig's second one. */
static void open_in_umem(struct rig_qp *q, uint32_t cqn, uint32_t ring_id, uint64_t ring, uint32_t dbr_id, uint64_t dbr)
{
	uint8_t in[BF_CREATE_QP_LEN] = { 0 }, *qpc = in + BF_QP_QPC;

	BF_MLX5_SET(qpc, BF_QPC_PD, a->pd);
	BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, 4);
	BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, BF_QPC_RQ_NONE);
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, a->uar);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, cqn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, cqn);
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_VALID, 1);
	BF_MLX5_SET(qpc, BF_QPC_DBR_UMEM_ID, dbr_id);
	bf_put_be64(qpc + BF_QPC_DBR_ADDR, dbr);
	BF_MLX5_SET(in, BF_CREATE_QP_UMEM_VALID, 1);
	BF_MLX5_SET(in, BF_CREATE_QP_UMEM_ID, ring_id);
	bf_put_be64(in + BF_CREATE_QP_UMEM_OFFSET, ring);
	q->node = a;
	q->sq_size = 16;
	q->qpn = rig_do(a, BF_MLX5_CMD_CREATE_QP, in, sizeof(in));
	rig_qp_open(b, &created, &p.scq[1], &p.rcq[1], &o);
	rig_connect(q, &created, &o);
	rig_connect(&created, q, &o);
}

static void write_by(struct rig_qp *q, const uint8_t *cqe)
{
	memset(b->data, 0, 64);
	rig_rdma(q, BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
	rig_db(q);
	rig_run(&p.rig);
	ck_assert_mem_eq(b->data, a->data, 64);
	ck_assert_uint_eq(cqe[63] >> 4, BF_MLX5_CQE_REQ);
}

/* Row 14: CQE, records and ring of an endpoint in one UMEM, on the same page, as UCX lays them out. */
START_TEST(row_14_all_in_one_umem)
{
	struct rig_qp q = { 0 };
	uint8_t *memory;
	uint32_t id, cqn;

	o.dbr_mode = BF_DBR_VALID;
	reopen();
	memory = rig_alloc(a, 8192);
	memset(memory, 0xff, 256);
	id = umem(a, rig_va(a, memory), 2, 12);
	ck_assert_uint_eq(collapsed_cq(a, id, 64, 128, &cqn), 0);
	q.dbr = memory + 136;
	q.sq = memory + 256;
	open_in_umem(&q, cqn, id, 256, id, 136);
	write_by(&q, memory + 64);
	write_by(&q, memory + 64);
	ck_assert_uint_eq(bf_get_be16(memory + 64 + 60), 1);
}
END_TEST

/* Row 24: the ring in one UMEM, the record in another; which memory each is in is no matter of the device's. */
START_TEST(row_24_record_elsewhere)
{
	struct rig_qp q = { 0 };
	uint8_t *gpu, *host;
	uint32_t first, second, cqn;

	o.dbr_mode = BF_DBR_VALID;
	reopen();
	gpu = rig_alloc(a, 8192);
	host = rig_alloc(a, 4096);
	memset(gpu, 0xff, 64);
	first = umem(a, rig_va(a, gpu), 2, 12);
	second = umem(a, rig_va(a, host), 1, 12);
	ck_assert_uint_eq(collapsed_cq(a, first, 0, 64, &cqn), 0);
	q.dbr = host + 512;
	q.sq = gpu + 4096;
	open_in_umem(&q, cqn, first, 4096, second, 512);
	write_by(&q, gpu);
	ck_assert_uint_eq(bf_get_be32(host + 512 + 4), 1);
}
END_TEST

static uint16_t garbage_write(uint32_t raddr_reserved)
{
	uint8_t w[64];

	memset(w, 0xc3, sizeof(w)); /* signature, stream, immediate */
	w[11] = RIG_CQE;
	rig_put_raddr(w + 16, b->data_va, b->key);
	bf_put_be32(w + 28, raddr_reserved);
	rig_put_data(w + 32, 64, a->key, a->data_va);
	return rig_post(&p.q[0], w, BF_MLX5_OP_RDMA_WRITE, 0, 3);
}

/* Row 15, assumed: bytes that the builders leave as the stack had them are not looked at. */
START_TEST(row_15_bytes_that_do_not_matter)
{
	const struct bf_mlx5_cqe *c;

	profile.traits.looks_at_reserved = _i;
	reopen();
	garbage_write(0x55aa55aa);
	ring_any(&p.q[0]);
	if (!_i) {
		expect_good(&p.scq[0], 0);
		ck_assert_mem_eq(b->data, a->data, 64);
		return;
	}
	c = rig_poll(&p.scq[0]);
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
}
END_TEST

/* Row 16, assumed: a queue pair with rq_type 3 has no receive queue, and a SEND to it is refused for good. */
START_TEST(row_16_no_receive_queue)
{
	const struct bf_mlx5_err_cqe *c;

	profile.traits.waits_for_receive = _i;
	o.no_rq = true;
	o.no_retry = true;
	reopen();
	o.no_rq = o.no_retry = false;
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 64, 0, RIG_CQE);
	ring_any(&p.q[0]);
	c = (const void *)rig_poll(&p.scq[0]);
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->syndrome, _i ? BF_MLX5_SYND_RNR_EXC : BF_MLX5_SYND_REM_INV_REQ);
}
END_TEST

/* Row 16: such a queue pair names no CQ for receives, and has an MTU before anybody set one: GPUNetIO needs both. */
START_TEST(row_16_no_receive_cq)
{
	const struct rig_qp_opts opts = { .no_rq = true };
	uint8_t in[16] = { 0 }, out[BF_QP_QPC + BF_QPC_LEN];
	uint32_t status;

	rig_qp_open(a, &created, &p.scq[0], NULL,
		    &(struct rig_qp_opts){ .log_sq = 4, .no_rq = true, .status = &status });
	ck_assert_uint_eq(status, BF_MLX5_CMD_OK);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_QP);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, created.qpn);
	ck_assert_int_eq(bf_mlx5_cmd(a->dev, in, sizeof(in), out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_CMD_OUT_STATUS), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(BF_MLX5_GET(out + BF_QP_QPC, BF_QPC_MTU), 1);
	ck_assert_uint_eq(create(&opts), BF_MLX5_CMD_OK);
}
END_TEST

/* Row 17: what INIT2RTR asks for on RoCE: the range of source ports, and what kind of address an index is. */
START_TEST(row_17_roce_address)
{
	uint8_t caps[16 + BF_HCA_CAP_LEN], in[16] = { 0 }, out[BF_ROCE_ADDRESS_LEN];
	const uint8_t *entry = out + BF_ROCE_ADDRESS_ENTRY;
	uint32_t entries;

	query_caps(BF_HCA_CAP_ROCE, caps);
	ck_assert_uint_eq(BF_MLX5_GET(caps + BF_HCA_CAP, BF_ROCE_CAP_MIN_UDP_SPORT), 0xc000);
	ck_assert_uint_eq(BF_MLX5_GET(caps + BF_HCA_CAP, BF_ROCE_CAP_MAX_UDP_SPORT), 0xffff);
	entries = BF_MLX5_GET(caps + BF_HCA_CAP, BF_ROCE_CAP_TABLE_SIZE);
	ck_assert_uint_ge(entries, 4);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_ROCE_ADDRESS);
	for (uint32_t i = 0; i < entries; i++) {
		BF_MLX5_SET(in, BF_ROCE_ADDRESS_INDEX, i);
		ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), 0);
		if (i >= 4) {
			ck_assert_uint_eq(bf_get_be64(entry), 0);
			continue;
		}
		ck_assert_uint_eq(BF_MLX5_GET(entry, BF_ROCE_ADDRESS_VERSION), i & 1 ? BF_ROCE_V2 : BF_ROCE_V1);
		ck_assert_uint_eq(BF_MLX5_GET(entry, BF_ROCE_ADDRESS_L3_TYPE), i < 2);
		if (i >= 2)
			ck_assert_uint_eq(bf_get_be32(entry + 12), a->ipv4);
	}
	BF_MLX5_SET(in, BF_ROCE_ADDRESS_INDEX, entries);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_PARAM);
}
END_TEST

static uint16_t add(struct rig_qp *q, uint64_t at, uint32_t key)
{
	uint8_t w[64] = { 0 };

	w[11] = RIG_CQE;
	rig_put_raddr(w + 16, at, key);
	bf_put_be64(w + 32, 1);
	rig_put_data(w + 48, 8, q->node->key, q->node->data_va + 0x8000);
	return rig_post(q, w, BF_MLX5_OP_ATOMIC_FA, 0, 4);
}

/* Time of eight atomics with room for 2^log of them at a time. */
static uint64_t time_of_adds(uint32_t log)
{
	uint64_t from;

	o.log_rd = log;
	reopen();
	from = p.rig.sim->now_ps;
	for (int i = 0; i < 8; i++)
		add(&p.q[0], b->data_va + 0x100, b->key);
	ring_any(&p.q[0]);
	ck_assert_uint_eq(count_good(&p.scq[0]), 8);
	return p.rig.sim->now_ps - from;
}

/* Row 18: an attribute that nobody gave is a depth of one, so that atomics go one round trip at a time. */
START_TEST(row_18_depth_of_one)
{
	const uint64_t one = time_of_adds(0), all = time_of_adds(4);

	ck_assert_uint_gt(one, 3 * all);
}
END_TEST

/* Row 19: a key that begins at 0: the address in an entry is an offset into the window. */
START_TEST(row_19_zero_based_key)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 }, *mkc = in + BF_CREATE_MKEY_MKC;
	uint8_t *window = rig_alloc(b, 8192);
	uint32_t key;

	BF_MLX5_SET(in, BF_CREATE_MKEY_UMEM_VALID, 1);
	BF_MLX5_SET(in, BF_CREATE_MKEY_UMEM_ID, umem(b, rig_va(b, window), 2, 12));
	bf_put_be32(mkc, RIG_ALL_RIGHTS);
	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_MTT);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff);
	BF_MLX5_SET(mkc, BF_MKC_PD, b->pd);
	bf_put_be64(mkc + BF_MKC_SIZE, 8192);
	key = rig_do(b, BF_MLX5_CMD_CREATE_MKEY, in, sizeof(in)) << 8;
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, 4096 - 32, key, 64, RIG_CQE);
	ring_any(&p.q[0]);
	expect_good(&p.scq[0], 0);
	ck_assert_mem_eq(window + 4096 - 32, a->data, 64);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, 8192 - 32, key, 64, RIG_CQE);
	ring_any(&p.q[0]);
	ck_assert_uint_eq(rig_poll(&p.scq[0])->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
}
END_TEST

/* Whether, with any of some seeds, the counter was seen changed while data that were sent before were not there. */
static bool signal_passes(uint32_t rights, uint32_t order)
{
	bool passed = false;

	for (uint64_t seed = 1; seed <= 40 && !passed; seed++) {
		uint32_t key;

		teardown();
		o.order = order;
		rig_pair_open(&p, seed, &profile, &o);
		o.order = 0;
		a = &p.rig.node[0];
		b = &p.rig.node[1];
		memset(a->data, 0x77, 4096);
		key = rig_mkey(b, b->pd, b->data_va, 0x4000, RIG_ALL_RIGHTS | rights, 0x12);
		rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, key, 64, 0);
		add(&p.q[0], b->data_va + 0x8000, b->key);
		bell_any(&p.q[0]);
		while (!b->data[0x8000] && bf_sim_run(p.rig.sim, p.rig.sim->now_ps + 5 * BF_NS) != BF_RUN_IDLE)
			;
		passed = b->data[63] != 0x77;
		rig_run(&p.rig);
		ck_assert_uint_eq(b->data[0x8000], 1);
		ck_assert_uint_eq(b->data[63], 0x77);
	}
	return passed;
}

#define RELAXED 0x40000u

/* Row 20, assumed: an atomic may be seen before the data of the WRITE in front of it, if those are relaxed. */
START_TEST(row_20_atomic_passes_relaxed_writes)
{
	ck_assert(signal_passes(RELAXED, BF_DP_ORDERING_IBTA));
	ck_assert(!signal_passes(0, BF_DP_ORDERING_IBTA));
	profile.traits.atomics_wait = true;
	ck_assert(!signal_passes(RELAXED, BF_DP_ORDERING_IBTA));
}
END_TEST

/* Row 21: a queue pair whose data are placed in any order, where the device can; order is by completion alone. */
START_TEST(row_21_data_path_ordering)
{
	static const struct rig_qp_opts rw = { .order = BF_DP_ORDERING_OOO_RW },
					all = { .order = BF_DP_ORDERING_OOO_ALL };
	const uint32_t refused = _i ? 0 : BF_MLX5_CMD_BAD_PARAM;

	ck_assert(signal_passes(0, BF_DP_ORDERING_OOO_RW));
	ck_assert_uint_eq(create(&all), 0);
	profile.traits.order_ignored = _i;
	profile.traits.ooo_all = profile.traits.ordering_force = false;
	reopen();
	ck_assert_uint_eq(create(&rw), 0);
	ck_assert_uint_eq(create(&all), refused);
	ck_assert_uint_eq(create(&(struct rig_qp_opts){ .order = BF_DP_ORDERING_OOO_RW, .force = true }), refused);
}
END_TEST

/* Row 22: a queue pair whose peer is on the same port: an atomic onto the own memory never leaves. */
START_TEST(row_22_loopback)
{
	struct rig_cq cq;
	struct rig_qp here, there;
	struct bf_port_info before, after;

	rig_cq_open(a, &cq, 4, 4);
	rig_qp_open(a, &here, &cq, &p.rcq[0], &o);
	rig_qp_open(a, &there, &cq, &p.rcq[0], &o);
	rig_connect(&here, &there, &o);
	rig_connect(&there, &here, &o);
	bf_port_info(bf_mlx5_port(b->dev, 1), &before);
	bf_put_le64(a->data + 0x100, 41);
	add(&here, a->data_va + 0x100, a->key);
	ring_any(&here);
	expect_good(&cq, 0);
	ck_assert_uint_eq(bf_get_le64(a->data + 0x100), 42);
	bf_port_info(bf_mlx5_port(b->dev, 1), &after);
	ck_assert_mem_eq(&before, &after, sizeof(before));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gin_nic_memory");
	TCase *tc = tcase_create("rows");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, row_13_collapsed_cq_at_any_64_bytes);
	tcase_add_loop_test(tc, row_13_large_pages, 0, 2);
	tcase_add_test(tc, row_14_all_in_one_umem);
	tcase_add_loop_test(tc, row_15_bytes_that_do_not_matter, 0, 2);
	tcase_add_loop_test(tc, row_16_no_receive_queue, 0, 2);
	tcase_add_test(tc, row_16_no_receive_cq);
	tcase_add_test(tc, row_17_roce_address);
	tcase_add_test(tc, row_18_depth_of_one);
	tcase_add_test(tc, row_19_zero_based_key);
	tcase_add_test(tc, row_20_atomic_passes_relaxed_writes);
	tcase_add_loop_test(tc, row_21_data_path_ordering, 0, 2);
	tcase_add_test(tc, row_22_loopback);
	tcase_add_test(tc, row_24_record_elsewhere);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
