/*
 * Thousands of queue pairs in one device: what each costs, and that those which do nothing cost nothing.
 *
 * A full mesh of 512 PEs has 523,264 queue pairs, and with the driver's part one may take 2 KiB at most. The model's is
 * the queue pair, its CQ, its UAR page, their places in tables. Copies of rings belong to those at work and are shared
 * (sq_copy.c).
 */
#include <check.h>
#include <malloc.h>

#include "models/mlx5/device_internal.h"
#include "sim/sanitizers.h"
#include "tests/models/mlx5_dc.h"

#define LIMIT 1280u
#define SLACK 1024u /* what Check itself and the allocator's rounding may add */

#define HEAP_IS_PLAIN !BF_ASAN

static struct rig rig;
static struct rig_node *a, *b;
static struct rig_cq acq, bcq;

static const struct rig_qp_opts usual = { .log_sq = 7, .log_rd = 4, .no_rq = true };

static void open_all(uint32_t uar_pages)
{
	rig_open_as(&rig, 1, NULL, 1, uar_pages);
	a = &rig.node[0];
	b = &rig.node[1];
	rig_cq_open(a, &acq, 10, 1);
	rig_cq_open(b, &bcq, 10, 1);
}

static void teardown(void)
{
	rig_close(&rig);
}

static uint32_t alloc_uar(struct rig_node *n)
{
	uint8_t in[16] = { 0 };

	return rig_do(n, BF_MLX5_CMD_ALLOC_UAR, in, sizeof(in));
}

/* Queue pairs with a CQ and a UAR page of their own each; rings and records lie in the same few bytes. */
static void crowd(struct rig_node *n, uint32_t count, const struct rig_qp *peer)
{
	uint8_t *ring = rig_alloc(n, 64u << usual.log_sq);

	for (uint32_t i = 0; i < count; i++) {
		uint8_t in[BF_CREATE_QP_LEN] = { 0 }, *qpc = in + BF_QP_QPC, *cqc = in + BF_CREATE_CQ_CQC;
		struct rig_qp q = { .node = n };
		uint32_t uar = alloc_uar(n), cqn;

		BF_MLX5_SET(cqc, BF_CQC_CC, 1);
		BF_MLX5_SET(cqc, BF_CQC_OI, 1);
		BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, 10);
		BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, uar);
		bf_put_be64(cqc + BF_CQC_DBR_ADDR, rig_va(n, ring));
		bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, rig_va(n, ring));
		cqn = rig_do(n, BF_MLX5_CMD_CREATE_CQ, in, sizeof(in));
		memset(in, 0, sizeof(in));
		BF_MLX5_SET(qpc, BF_QPC_PD, n->pd);
		BF_MLX5_SET(qpc, BF_QPC_LOG_SQ_SIZE, usual.log_sq);
		BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, uar);
		BF_MLX5_SET(qpc, BF_QPC_CQN_SND, cqn);
		BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, cqn);
		BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, 3);
		bf_put_be64(qpc + BF_QPC_DBR_ADDR, rig_va(n, ring));
		bf_put_be64(in + BF_CREATE_QP_UMEM_OFFSET, rig_va(n, ring));
		q.qpn = rig_do(n, BF_MLX5_CMD_CREATE_QP, in, sizeof(in));
		rig_connect(&q, peer, &usual);
	}
}

static uint64_t heap(void)
{
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
}

START_TEST(bytes_of_a_queue_pair)
{
	uint32_t qp = sizeof(struct bf_mlx5_qp), cq = sizeof(struct bf_mlx5_cq), entries = 3 * sizeof(void *);
	uint32_t uar = sizeof(struct bf_mlx5_uar), bf = 2 * sizeof(struct bf_mlx5_bf);
	uint32_t region = sizeof(struct bf_region) + 2 * sizeof(void *);

	printf("queue pair %u, CQ %u, table entries %u, UAR %u, BlueFlame halves %u, region %u: %u bytes\n", qp, cq,
	       entries, uar, bf, region, qp + cq + entries + uar + bf + region);
	ck_assert_uint_le(qp + cq + entries + uar + bf + region, LIMIT);
	printf("at its first READ or atomic: %zu bytes for each that its peer may ask for, twice\n",
	       sizeof(struct bf_rdma_answer));
	ck_assert_uint_le(sizeof(struct bf_rdma_answer), 64);
}
END_TEST

/* The same as the heap has it: names of actors and the allocator's share included. */
START_TEST(heap_of_a_queue_pair)
{
	const uint32_t count = 3000;
	struct rig_qp q;
	uint64_t before;

	open_all(count + 64);
	rig_qp_open(b, &q, &bcq, &bcq, &usual);
	crowd(a, 100, &q); /* tables and lists have their first pieces */
	before = heap();
	crowd(a, count - 100, &q);
	printf("%u queue pairs: %.0f bytes of heap each\n", count, (double)(heap() - before) / (count - 100));
	if (HEAP_IS_PLAIN)
		ck_assert_uint_le((heap() - before) / (count - 100), LIMIT);
}
END_TEST

/* Memory and steps of a transfer are the same whether the device has one queue pair or ten thousand. */
START_TEST(idle_queue_pairs_cost_nothing)
{
	uint64_t end[2], grown[2], events[2];

	for (uint32_t i = 0; i < 2; i++) {
		struct rig_qp q[2];

		open_all(i ? 10064 : 64);
		rig_qp_open(a, &q[0], &acq, &acq, &usual);
		rig_qp_open(b, &q[1], &bcq, &bcq, &usual);
		if (i)
			crowd(a, 10000, &q[1]);
		rig_connect(&q[0], &q[1], &usual);
		rig_connect(&q[1], &q[0], &usual);
		rig_rdma(&q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
		rig_db(&q[0]);
		rig_run(&rig); /* pools have filled */
		end[i] = rig.sim->now_ps;
		grown[i] = heap();
		events[i] = rig.sim->events;
		for (uint32_t k = 0; k < 100; k++)
			rig_rdma(&q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, k == 99 ? RIG_CQE : 0);
		rig_db(&q[0]);
		rig_run(&rig);
		end[i] = rig.sim->now_ps - end[i];
		grown[i] = heap() - grown[i];
		events[i] = rig.sim->events - events[i];
		if (!i)
			rig_close(&rig);
	}
	ck_assert_uint_eq(end[0], end[1]);
	ck_assert_uint_eq(events[0], events[1]);
	if (HEAP_IS_PLAIN)
		ck_assert_uint_le(grown[1], grown[0] + SLACK);
}
END_TEST

/* Queue pairs that take turns share the copies of their rings. */
START_TEST(copies_of_rings_are_shared)
{
	struct rig_qp q[2][64];
	uint64_t first = 0, all;

	open_all(0);
	for (uint32_t i = 0; i < 64; i++) {
		rig_qp_open(a, &q[0][i], &acq, &acq, &usual);
		rig_qp_open(b, &q[1][i], &bcq, &bcq, &usual);
		rig_connect(&q[0][i], &q[1][i], &usual);
		rig_connect(&q[1][i], &q[0][i], &usual);
	}
	all = heap();
	for (uint32_t i = 0; i < 64; i++) {
		uint16_t index = rig_rdma(&q[0][i], BF_MLX5_OP_RDMA_WRITE, i, b->data_va + i, b->key, 1, RIG_CQE);

		rig_db(&q[0][i]);
		rig_run(&rig);
		ck_assert_uint_eq(bf_be16(((const struct bf_mlx5_cqe *)(const void *)acq.ring)->wqe_counter), index);
		if (!i)
			first = heap() - all;
	}
	/* What one needed, once; the others have no copy of their own. */
	if (HEAP_IS_PLAIN)
		ck_assert_uint_le(heap() - all - first, 64 * sizeof(struct bf_mlx5_bf));
}
END_TEST

START_TEST(all_uar_pages)
{
	const uint32_t pages = HEAP_IS_PLAIN ? 65536 : 8192; /* sanitizers make it slow */
	uint32_t last = 0;
	uint8_t in[16] = { 0 }, out[16];

	open_all(pages);
	for (uint32_t i = 1; i < pages; i++) /* the rig has one */
		last = alloc_uar(a);
	ck_assert_uint_eq(last, pages - 1);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_ALLOC_UAR);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_NO_RES);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DEALLOC_UAR, 77), 0);
	ck_assert_uint_eq(alloc_uar(a), 77);
}
END_TEST

/* Responder contexts appear with their initiators and are as many as the profile says. */
START_TEST(contexts_are_made_on_demand)
{
	struct dc_target t, home;
	struct rig_qp q;
	uint64_t before;

	open_all(0);
	dc_target_open(b, &t, &bcq, DC_KEY, &(struct dc_target_opts){ 0 });
	dc_target_open(a, &home, &acq, DC_KEY, &(struct dc_target_opts){ 0 });
	dc_initiator_open(a, &q, &acq, &usual);
	dc_rdma(&q, &t, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0, 64, RIG_CQE);
	dc_rdma(&q, &home, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0, 64, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	before = heap();
	for (uint32_t i = 0; i < 60; i++) {
		dc_rdma(&q, &t, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0, 64, RIG_CQE);
		dc_rdma(&q, &home, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0, 64, RIG_CQE);
		if (i % 10 == 9) {
			rig_db(&q);
			rig_run(&rig);
		}
	}
	if (HEAP_IS_PLAIN)
		ck_assert_uint_le(heap(), before + SLACK);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_scale");
	TCase *tc = tcase_create("scale");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, bytes_of_a_queue_pair);
	suite_add_tcase(s, tc);
	tc = tcase_create("devices");
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, NULL, teardown);
	tcase_add_test(tc, heap_of_a_queue_pair);
	tcase_add_test(tc, idle_queue_pairs_cost_nothing);
	tcase_add_test(tc, copies_of_rings_are_shared);
	tcase_add_test(tc, all_uar_pages);
	tcase_add_test(tc, contexts_are_made_on_demand);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
