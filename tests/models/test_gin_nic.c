/*
 * What GPUNetIO, UCX's GDA and NCCL's GIN need of a ConnectX beyond NVSHMEM's IBGDA: doorbells, WAIT, completion
 * queues. Each test names the row of the inventory that it is for. Where the model assumes something, the test asks for
 * both answers (models/mlx5/traits.h). The rows on memory, keys and ports are in test_gin_nic_memory.c.
 */
#include <check.h>

#include "tests/models/gin_rig.h"

/* Row 1: the register at 0x600 has the producer index in it, and the record is not read. */
START_TEST(row_01_no_record_register)
{
	write64(RIG_CQE);
	write64(RIG_CQE);
	ring_no_record(&p.q[0], 2);
	expect_good(&p.scq[0], 0);
	expect_good(&p.scq[0], 1);
	ck_assert_uint_eq(bf_get_be32(p.q[0].dbr + 4), 0);
	ck_assert_mem_eq(b->data, a->data, 64);
}
END_TEST

/* Row 1, assumed: 0x800 does not ring such a queue pair, 0x600 does not ring another. */
START_TEST(row_01_each_register_rings_its_own_kind)
{
	profile.traits.any_register = _i & 1;
	o.dbr_mode = _i & 2 ? BF_DBR_NONE : BF_DBR_VALID;
	reopen();
	write64(RIG_CQE);
	if (o.dbr_mode == BF_DBR_NONE) {
		rig_db(&p.q[0]);
		rig_run(&p.rig);
	} else {
		bf_put_be32(p.q[0].dbr + 4, 1);
		ring_no_record(&p.q[0], 1);
	}
	if (profile.traits.any_register)
		expect_good(&p.scq[0], 0);
	else
		ck_assert_ptr_null(rig_poll(&p.scq[0]));
}
END_TEST

/* Row 2: mode 1 needs the capability; the other modes are none. */
START_TEST(row_02_mode_needs_the_capability)
{
	const uint32_t refused = _i ? BF_MLX5_CMD_NO_RES : BF_MLX5_CMD_BAD_PARAM;

	profile.traits.mode_refused_res = _i;
	reopen();
	ck_assert_uint_eq(create(&(struct rig_qp_opts){ .dbr_mode = BF_DBR_NONE }), 0);
	ck_assert_uint_eq(create(&(struct rig_qp_opts){ .dbr_mode = 2 }), refused);
	profile.traits.no_record = false;
	o.dbr_mode = BF_DBR_VALID;
	reopen();
	ck_assert_uint_eq(create(&(struct rig_qp_opts){ .dbr_mode = BF_DBR_NONE }), refused);
	ck_assert_uint_eq(create(&(struct rig_qp_opts){ .dbr_mode = BF_DBR_VALID }), 0);
}
END_TEST

/* Row 3: which generation says so, and that it needs the second general capabilities to say it. */
START_TEST(row_03_capability)
{
	static const struct {
		const struct bf_mlx5_profile *profile;
		bool no_record, cd, ooo_rw, ooo_all;
	} cases[] = {
		{ &bf_mlx5_cx6, false, true, false, false },
		{ &bf_mlx5_cx7, false, true, true, false },
		{ &bf_mlx5_cx8, true, true, true, true },
	};
	uint8_t general[16 + BF_HCA_CAP_LEN], second[16 + BF_HCA_CAP_LEN];

	profile = *cases[_i].profile;
	o.dbr_mode = BF_DBR_VALID;
	reopen();
	query_caps(BF_HCA_CAP_GENERAL, general);
	query_caps(BF_HCA_CAP_GENERAL_2, second);
	ck_assert_uint_eq(BF_MLX5_GET(general + BF_HCA_CAP, BF_CAP_HAS_GENERAL_2), 1);
	ck_assert_uint_eq(BF_MLX5_GET(second + BF_HCA_CAP, BF_CAP2_NO_RECORD), cases[_i].no_record);
	ck_assert_uint_eq(BF_MLX5_GET(second + BF_HCA_CAP, BF_CAP2_DP_ORDERING_FORCE), cases[_i].ooo_all);
	ck_assert_uint_eq(BF_MLX5_GET(general + BF_HCA_CAP, BF_CAP_CD), cases[_i].cd);
	ck_assert_uint_eq(BF_MLX5_GET(general + BF_HCA_CAP, BF_CAP_OOO_RW_RC), cases[_i].ooo_rw);
	ck_assert_uint_eq(BF_MLX5_GET(general + BF_HCA_CAP, BF_CAP_OOO_ALL_RC), cases[_i].ooo_all);
	ck_assert_uint_eq(second[BF_HCA_CAP + 0x5c] >> 6 & 1, cases[_i].no_record);
}
END_TEST

/* Row 4: there are only so many of these queue pairs; one that goes makes room. */
START_TEST(row_04_limit)
{
	const uint32_t refused = _i ? BF_MLX5_CMD_LIM : BF_MLX5_CMD_NO_RES;
	const struct rig_qp_opts one = { .dbr_mode = BF_DBR_NONE };

	profile.traits.no_record_max = 4; /* two nodes: each has one of the pair */
	profile.traits.limit_is_lim = _i;
	reopen();
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(create(&one), 0);
	ck_assert_uint_eq(create(&one), refused);
	ck_assert_uint_eq(create(&(struct rig_qp_opts){ 0 }), 0);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_QP, created.qpn - 1), 0);
	ck_assert_uint_eq(create(&one), 0);
}
END_TEST

/* Row 5, assumed: an index older than the last is no step back, in 16 bits. */
START_TEST(row_05_older_index_is_no_step_back)
{
	profile.traits.bell_back = _i;
	reopen();
	for (int i = 0; i < 12; i++)
		write64(RIG_CQE);
	bell_no_record(&p.q[0], 12);
	bell_no_record(&p.q[0], 5);
	rig_run(&p.rig);
	if (!_i) {
		for (uint16_t i = 0; i < 12; i++)
			expect_good(&p.scq[0], i);
		return;
	}
	ck_assert_uint_eq(count_good(&p.scq[0]), 5);
	ring_no_record(&p.q[0], 12);
	ck_assert_uint_eq(count_good(&p.scq[0]), 7);
}
END_TEST

/* Row 6, assumed: a doorbell before the record starts nothing, and the next ring finds the entry; or it starts. */
START_TEST(row_06_doorbell_before_the_record)
{
	o.dbr_mode = BF_DBR_VALID;
	profile.traits.bell_leads = _i;
	reopen();
	write64(RIG_CQE);
	bell_at(BF_MLX5_UAR_BF, &p.q[0], 1);
	rig_run(&p.rig);
	if (_i)
		expect_good(&p.scq[0], 0);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
	bf_put_be32(p.q[0].dbr + 4, 1);
	bell_at(BF_MLX5_UAR_BF, &p.q[0], 1);
	rig_run(&p.rig);
	if (!_i)
		expect_good(&p.scq[0], 0);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
}
END_TEST

/* Row 7, assumed: bits 16 to 23 of an index that was not cut land in the opmod byte, and do not matter. */
START_TEST(row_07_opmod_of_a_doorbell)
{
	profile.traits.bell_opmod = _i;
	reopen();
	write64(RIG_CQE);
	ring_no_record(&p.q[0], 0x7f0001);
	if (!_i)
		expect_good(&p.scq[0], 0);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
	ring_no_record(&p.q[0], 1);
	if (_i)
		expect_good(&p.scq[0], 0);
}
END_TEST

/* Row 8, assumed: a ring of eight bytes at the same place leaves the copy alone. The ring of entries has a NOP there.
 */
START_TEST(row_08_copy_and_ring)
{
	const struct bf_mlx5_cqe *c;
	uint8_t w[64];

	o.dbr_mode = BF_DBR_VALID;
	profile.traits.ring_voids_copy = _i;
	reopen();
	write64(RIG_CQE);
	memcpy(w, p.q[0].sq, 64);
	p.q[0].sq[3] = BF_MLX5_OP_NOP;
	bell(BF_MLX5_UAR_BF, w, 64);
	bf_put_be32(p.q[0].dbr + 4, 1);
	bell_at(BF_MLX5_UAR_BF, &p.q[0], 1);
	rig_run(&p.rig);
	c = expect_good(&p.scq[0], 0);
	ck_assert_uint_eq(bf_be32(c->sop_drop_qpn) >> 24, _i ? BF_MLX5_OP_NOP : BF_MLX5_OP_RDMA_WRITE);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
}
END_TEST

static uint16_t add(struct rig_qp *q, uint64_t at, uint64_t value)
{
	uint8_t w[64] = { 0 };

	w[11] = RIG_CQE;
	rig_put_raddr(w + 16, at, b->key);
	bf_put_be64(w + 32, value);
	memset(w + 40, 0xab, 8); /* compare: row 15 */
	rig_put_data(w + 48, 8, q->node->key, q->node->data_va + 0x8000);
	return rig_post(q, w, BF_MLX5_OP_ATOMIC_FA, 0, 4);
}

static uint16_t wait_for(struct rig_qp *q, uint32_t cqn, uint32_t index)
{
	uint8_t w[64];

	memset(w, 0x5a, sizeof(w)); /* what is not looked at has garbage */
	memset(w + 8, 0, 4);
	bf_put_be32(w + 24, index);
	bf_put_be32(w + 28, cqn);
	return rig_post(q, w, BF_MLX5_OP_WAIT, 0, 2);
}

static struct rig_cq companion_cq;
static struct rig_qp companion;

static void open_companion(void)
{
	struct rig_qp_opts like = o;

	like.companion = true;
	rig_cq_open(a, &companion_cq, 6, 4);
	rig_qp_open(a, &companion, &companion_cq, &p.rcq[0], &like);
	rig_qp_open(b, &created, &p.scq[1], &p.rcq[1], &o);
	rig_connect(&companion, &created, &o);
	rig_connect(&created, &companion, &o);
}

/* Row 9: WAIT holds its queue until the CQ's count is above the index, and what is behind it too. */
START_TEST(row_09_wait)
{
	open_companion();
	wait_for(&companion, p.scq[0].cqn, 1);
	add(&companion, b->data_va + 0x100, 7);
	bf_put_le64(b->data + 0x100, 0);
	ring_any(&companion);
	ck_assert_ptr_null(rig_poll(&companion_cq));
	write64(RIG_CQE);
	ring_any(&p.q[0]);
	ck_assert_ptr_null(rig_poll(&companion_cq));
	ck_assert_uint_eq(bf_get_le64(b->data + 0x100), 0);
	write64(RIG_CQE);
	ring_any(&p.q[0]);
	expect_good(&companion_cq, 1);
	ck_assert_uint_eq(bf_get_le64(b->data + 0x100), 7);
}
END_TEST

/* Row 9, assumed: 32 bits. With 16 a WAIT for 70000 passes as soon as there are 4465 entries. */
START_TEST(row_09_width)
{
	profile.traits.wait_16 = _i;
	reopen();
	open_companion();
	wait_for(&companion, p.scq[0].cqn, 65536);
	add(&companion, b->data_va + 0x100, 7);
	ring_any(&companion);
	ck_assert_ptr_null(rig_poll(&companion_cq));
	write64(RIG_CQE);
	ring_any(&p.q[0]);
	if (_i)
		expect_good(&companion_cq, 1);
	else
		ck_assert_ptr_null(rig_poll(&companion_cq));
}
END_TEST

/* Row 10: without the capability there are no companions; who is none may WAIT, too, as GPUNetIO's and NCCL's do. */
START_TEST(row_10_core_direct)
{
	const struct bf_mlx5_cqe *c;

	profile.traits.wait_needs_master = _i;
	reopen();
	write64(RIG_CQE);
	wait_for(&p.q[0], p.scq[0].cqn, 0);
	write64(RIG_CQE);
	ring_any(&p.q[0]);
	expect_good(&p.scq[0], 0);
	if (!_i) {
		expect_good(&p.scq[0], 2);
	} else {
		c = rig_poll(&p.scq[0]);
		ck_assert_ptr_nonnull(c);
		ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
		ck_assert_uint_eq(((const struct bf_mlx5_err_cqe *)c)->syndrome, BF_MLX5_SYND_LOCAL_QP_OP);
	}
	profile.traits.core_direct = false;
	reopen();
	ck_assert_uint_eq(create(&(struct rig_qp_opts){ .companion = true }), BF_MLX5_CMD_BAD_PARAM);
}
END_TEST

/* Row 11, assumed: the CQE of an error wakes as well, so a counter may report an operation that failed. */
START_TEST(row_11_errors_wake)
{
	profile.traits.wait_for_good = _i;
	reopen();
	open_companion();
	wait_for(&companion, p.scq[0].cqn, 0);
	add(&companion, b->data_va + 0x100, 7);
	bf_put_le64(b->data + 0x100, 0);
	ring_any(&companion);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key + 1, 64, RIG_CQE);
	ring_any(&p.q[0]);
	ck_assert_uint_eq(rig_poll(&p.scq[0])->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	ck_assert_uint_eq(bf_get_le64(b->data + 0x100), _i ? 0 : 7);
}
END_TEST

/* A companion that is reset or destroyed at its WAIT, and a CQ with companions that fails, leave nothing behind. */
START_TEST(row_11_wait_ends_with_its_queue)
{
	open_companion();
	wait_for(&companion, p.scq[0].cqn, 0);
	ring_any(&companion);
	if (_i == 0) {
		ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_2RST_QP, companion.qpn), 0);
	} else if (_i == 1) {
		ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_QP, companion.qpn), 0);
	} else {
		ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_2ERR_QP, companion.qpn), 0);
		rig_run(&p.rig);
		ck_assert_uint_eq(rig_poll(&companion_cq)->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	}
	write64(RIG_CQE);
	ring_any(&p.q[0]);
	expect_good(&p.scq[0], 0);
	ck_assert_ptr_null(rig_poll(&companion_cq));
}
END_TEST

/* Row 12: the producer wraps freely in a ring that nobody tells what was consumed; the phase outlives the QP's reset.
 */
START_TEST(row_12_ring_without_consumer)
{
	struct rig_cq cq;
	struct rig_qp q, peer;

	rig_cq_open(a, &cq, 2, 4);
	for (uint32_t i = 0; i < 4; i++)
		cq.ring[i * 64 + 63] = 0xf1;
	rig_qp_open(a, &q, &cq, &p.rcq[0], &o);
	rig_qp_open(b, &peer, &p.scq[1], &p.rcq[1], &o);
	for (uint32_t life = 0; life < 2; life++) {
		rig_connect(&q, &peer, &o);
		rig_connect(&peer, &q, &o);
		for (uint32_t i = 0; i < 10; i++) {
			const uint32_t n = life * 10 + i;
			const uint8_t *last = cq.ring + (n & 3) * 64 + 63;

			ck_assert(n < 4 ? *last == 0xf1 : (*last & 1) == ((n >> 2 & 1) ^ 1));
			rig_rdma(&q, BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
			ring_any(&q);
			ck_assert_uint_eq(*last, n >> 2 & 1);
			ck_assert_uint_eq(bf_get_be16(cq.ring + (n & 3) * 64 + 60), i);
		}
		ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_2RST_QP, q.qpn), 0);
		ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_2RST_QP, peer.qpn), 0);
		q.sq_pi = 0;
		bf_put_be32(q.dbr + 4, 0);
	}
}
END_TEST

/* Row 23: main queue pair and companion ring in one cell of one page, one behind the other. */
START_TEST(row_23_two_queues_in_one_cell)
{
	open_companion();
	bf_put_le64(b->data + 0x100, 0);
	write64(RIG_CQE);
	wait_for(&companion, p.scq[0].cqn, 0);
	add(&companion, b->data_va + 0x100, 7);
	bell_any(&p.q[0]);
	bell_any(&companion);
	rig_run(&p.rig);
	expect_good(&p.scq[0], 0);
	expect_good(&companion_cq, 1);
	ck_assert_uint_eq(bf_get_le64(b->data + 0x100), 7);
}
END_TEST

/* Row 27: an atomic is executed, and neither its answer nor any later one arrives: 15/83, and 7 retries did not help.
 */
START_TEST(row_27_answer_that_never_comes)
{
	struct bf_fault_plan *plan;
	struct bf_error err;
	const struct bf_mlx5_err_cqe *c;

	o.dbr_mode = BF_DBR_VALID;
	reopen();
	ck_assert(!bf_fault_plan_parse("qp-mute on=nic1*", 1, &err, &plan));
	p.rig.sim->faults = plan;
	bf_put_le64(b->data + 0x100, 0);
	write64(RIG_CQE);
	ring_and_run();
	expect_good(&p.scq[0], 0);
	add(&p.q[0], b->data_va + 0x100, 7);
	ring_and_run();
	c = (const void *)rig_poll(&p.scq[0]);
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->syndrome, BF_MLX5_SYND_RETRY_EXC);
	ck_assert_uint_eq(c->vendor_err_synd, 0x83);
	ck_assert_uint_eq(bf_get_le64(b->data + 0x100), 7);
	/* The other direction is dead, too. */
	rig_rdma(&p.q[1], BF_MLX5_OP_RDMA_WRITE, 0, a->data_va + 0x9000, a->key, 64, RIG_CQE);
	rig_db(&p.q[1]);
	rig_run(&p.rig);
	ck_assert_uint_eq(rig_poll(&p.scq[1])->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	p.rig.sim->faults = NULL;
	bf_fault_plan_destroy(plan);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("gin_nic");
	TCase *tc = tcase_create("rows");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, row_01_no_record_register);
	tcase_add_loop_test(tc, row_01_each_register_rings_its_own_kind, 0, 4);
	tcase_add_loop_test(tc, row_02_mode_needs_the_capability, 0, 2);
	tcase_add_loop_test(tc, row_03_capability, 0, 3);
	tcase_add_loop_test(tc, row_04_limit, 0, 2);
	tcase_add_loop_test(tc, row_05_older_index_is_no_step_back, 0, 2);
	tcase_add_loop_test(tc, row_06_doorbell_before_the_record, 0, 2);
	tcase_add_loop_test(tc, row_07_opmod_of_a_doorbell, 0, 2);
	tcase_add_loop_test(tc, row_08_copy_and_ring, 0, 2);
	tcase_add_test(tc, row_09_wait);
	tcase_add_loop_test(tc, row_09_width, 0, 2);
	tcase_add_loop_test(tc, row_10_core_direct, 0, 2);
	tcase_add_loop_test(tc, row_11_errors_wake, 0, 2);
	tcase_add_loop_test(tc, row_11_wait_ends_with_its_queue, 0, 3);
	tcase_add_test(tc, row_12_ring_without_consumer);
	tcase_add_test(tc, row_23_two_queues_in_one_cell);
	tcase_add_test(tc, row_27_answer_that_never_comes);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
