/* Completion queues: collapsed, with an owner bit, overrun; arming and its events; a drained send queue. */
#include <check.h>

#include "models/mlx5/records.h"
#include "tests/models/mlx5_pair.h"

static void setup(void)
{
	o = (struct rig_qp_opts){ .log_sq = 4, .log_rq = 3, .log_stride = 2, .log_rd = 2 };
	open_pair();
}

/* As NVSHMEM: one slot, overrun ignored, the latest counter is all there is. */
START_TEST(collapsed_cq)
{
	struct rig_qp_opts no_rq = o;
	struct rig_cq cq[2];
	struct rig_qp q[2];
	uint32_t total = 0;

	no_rq.no_rq = true;
	for (uint32_t i = 0; i < 2; i++) {
		rig_cq_open(&p.rig.node[i], &cq[i], 4, 1);
		rig_qp_open(&p.rig.node[i], &q[i], &cq[i], &cq[i], &no_rq);
	}
	rig_connect(&q[0], &q[1], &no_rq);
	rig_connect(&q[1], &q[0], &no_rq);
	for (int round = 0; round < 40; round++) {
		const struct bf_mlx5_cqe *c = (const void *)cq[0].ring;

		for (int i = 0; i < 8; i++, total++)
			rig_rdma(&q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
		rig_db(&q[0]);
		rig_run(&p.rig);
		ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_REQ);
		ck_assert_uint_eq(bf_be16(c->wqe_counter), (uint16_t)(total - 1));
	}
	for (uint32_t i = 64; i < 16 * 64; i++)
		ck_assert_uint_eq(cq[0].ring[i], 0xff);
}
END_TEST

/* Owner bit over several passes, with the driver's consumer index; 128-byte CQEs use their second half. */
START_TEST(owner_bit_and_128_byte_cqes)
{
	struct rig_cq cq[2];
	struct rig_qp q[2];

	for (uint32_t i = 0; i < 2; i++) {
		rig_cq_open(&p.rig.node[i], &cq[i], 2, 2 | 4);
		rig_qp_open(&p.rig.node[i], &q[i], &cq[i], &cq[i], &o);
	}
	rig_connect(&q[0], &q[1], &o);
	rig_connect(&q[1], &q[0], &o);
	for (uint32_t i = 0; i < 20; i++) {
		const uint8_t *slot = cq[0].ring + (i & 3) * 128;
		uint8_t sum = 0;

		rig_rdma(&q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
		rig_db(&q[0]);
		rig_run(&p.rig);
		ck_assert_uint_eq(slot[127], i / 4 & 1); /* opcode 0, owner */
		ck_assert_uint_eq(bf_get_be16(slot + 124), i);
		ck_assert_uint_eq(slot[63], 0xff);
		for (int k = 64; k < 128; k++)
			sum ^= slot[k];
		ck_assert_uint_eq(sum, 0xff ^ i); /* the signature */
	}
}
END_TEST

static uint32_t cq_status(struct rig_node *n, uint32_t cqn)
{
	uint8_t in[16] = { 0 }, out[80];

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_CQ);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, cqn);
	ck_assert_uint_eq(rig_cmd(n, in, sizeof(in), out, sizeof(out)), 0);
	return BF_MLX5_GET(out + 16, BF_CQC_STATUS);
}

/* Four entries: 4 CQEs fit, a fifth that nobody made room for is an overrun, which fails the queue pair. */
START_TEST(overrun)
{
	struct bf_mlx5_qp_info info;
	struct rig_cq cq[2];
	struct rig_qp q[2];

	for (uint32_t i = 0; i < 2; i++) {
		rig_cq_open(&p.rig.node[i], &cq[i], 2, 0);
		rig_qp_open(&p.rig.node[i], &q[i], &cq[i], &cq[i], &o);
	}
	rig_connect(&q[0], &q[1], &o);
	rig_connect(&q[1], &q[0], &o);
	for (uint32_t i = 0; i < 12; i++) { /* polled in time: any number */
		rig_rdma(&q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
		if (i % 4 == 3) {
			rig_db(&q[0]);
			rig_run(&p.rig);
			for (uint32_t k = 0; k < 4; k++)
				expect_good(&cq[0], (uint16_t)(i - 3 + k));
		}
	}
	ck_assert_uint_eq(cq_status(a, cq[0].cqn), 0);
	for (uint32_t i = 0; i < 5; i++)
		rig_rdma(&q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
	rig_db(&q[0]);
	rig_run(&p.rig);
	ck_assert_uint_eq(cq_status(a, cq[0].cqn), 9);
	ck_assert(!bf_mlx5_qp_info(a->dev, q[0].qpn, &info));
	ck_assert_uint_eq(info.state, BF_MLX5_QPS_ERR);
	for (uint16_t i = 12; i < 16; i++)
		expect_good(&cq[0], i);
	ck_assert_ptr_null(rig_poll(&cq[0]));
}
END_TEST

/* Arm and event, told by the records. */
struct events {
	struct bf_sink sink;
	uint32_t arms, events, drains;
};

static int count_events(struct bf_sink *s, const void *records, size_t len)
{
	struct events *n = BF_CONTAINER_OF(s, struct events, sink);
	const uint8_t *at = records, *end = at + len;

	while (at < end) {
		struct bf_rec_header h;

		memcpy(&h, at, sizeof(h));
		n->arms += h.type == BF_REC_ID_cq_arm;
		n->events += h.type == BF_REC_ID_cq_event;
		if (h.type == BF_REC_ID_qp_state) {
			struct bf_rec_qp_state st;

			memcpy(&st, at + sizeof(h), sizeof(st));
			n->drains += st.cause == 4;
		}
		at += (sizeof(h) + h.fixed + h.tail + 7) & ~7u;
	}
	return 0;
}

static void arm(uint32_t cqn, uint32_t sn, uint32_t ci, bool solicited_only)
{
	uint8_t db[8];

	bf_put_be32(db, sn << 28 | (solicited_only ? 1u << 24 : 0) | ci);
	bf_put_be32(db + 4, cqn);
	bell(BF_MLX5_UAR_CQ_ARM, db, 8);
	rig_run(&p.rig);
}

START_TEST(arming)
{
	struct events n = { .sink = {
				.declare_type = ignore_type, .declare_actor = ignore_actor, .write = count_events } };
	struct bf_stream *rec = &p.rig.sim->rec;

	ck_assert(!bf_stream_open(rec, &p.rig.sim->now_ps, BF_CLASS_QUEUE, &n.sink));
	write64(RIG_CQE);
	ring_and_run();
	bf_stream_flush(rec);
	ck_assert_uint_eq(n.events, 0); /* not armed */
	arm(p.scq[0].cqn, 0, 0, false);
	bf_stream_flush(rec);
	ck_assert_uint_eq(n.events, 1); /* armed with an old consumer index: at once */
	arm(p.scq[0].cqn, 0, 0, false);
	bf_stream_flush(rec);
	ck_assert_uint_eq(n.events, 1); /* that number had its event, which was not known yet when this was sent */
	arm(p.scq[0].cqn, 1, 1, false);
	bf_stream_flush(rec);
	ck_assert_uint_eq(n.events, 1);
	write64(RIG_CQE);
	write64(RIG_CQE);
	ring_and_run();
	bf_stream_flush(rec);
	ck_assert_uint_eq(n.events, 2); /* one event an arming */
	arm(p.scq[0].cqn, 2, 3, true);
	write64(RIG_CQE);
	ring_and_run();
	bf_stream_flush(rec);
	ck_assert_uint_eq(n.events, 2); /* not solicited */
	ck_assert_uint_eq(n.arms, 4);
	ck_assert(!bf_stream_close(rec));
}
END_TEST

/* One event when all that was started is done; what was not started waits for RTS. */
START_TEST(drained_once)
{
	struct events n = { .sink = {
				.declare_type = ignore_type, .declare_actor = ignore_actor, .write = count_events } };
	struct bf_stream *rec = &p.rig.sim->rec;

	ck_assert(!bf_stream_open(rec, &p.rig.sim->now_ps, BF_CLASS_QUEUE, &n.sink));
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 500000, RIG_CQE);
	rig_db(&p.q[0]);
	bf_sim_run(p.rig.sim, 5 * BF_US);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_RTS2SQD_QP, p.q[0].qpn), 0);
	bf_stream_flush(rec);
	ck_assert_uint_eq(n.drains, 0);
	memset(p.q[0].sq + 64, 0, 64); /* a malformed one */
	p.q[0].sq_pi++;
	ring_and_run();
	bf_stream_flush(rec);
	ck_assert_uint_eq(n.drains, 1);
	expect_good(&p.scq[0], 0);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_SQD_RTS_QP, p.q[0].qpn), 0);
	rig_run(&p.rig);
	ck_assert_uint_eq(rig_poll(&p.scq[0])->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	ck_assert(!bf_stream_close(rec));
	ck_assert_uint_eq(n.drains, 1);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_completions");
	TCase *tc = tcase_create("completions");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, collapsed_cq);
	tcase_add_test(tc, owner_bit_and_128_byte_cqes);
	tcase_add_test(tc, overrun);
	tcase_add_test(tc, arming);
	tcase_add_test(tc, drained_once);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
