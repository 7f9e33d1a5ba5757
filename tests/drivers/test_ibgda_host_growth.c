/* IBGDA's host side under running kernels: connections and heap are added, nothing that runs is disturbed. */
#include "drivers/platform/platform_sim.h"
/* after the platform */
#include "drivers/ibgda/device.h"
#include "tests/drivers/host_rig.h"

#define GROWTHS 3u

struct grower {
	struct bf_ibgda_host *h;
	uint32_t pause_ns, qps;
	uint64_t bytes;
	int rc;
};

/* A thread of the CPU, as an application's that asks for more queue pairs (nvshmemx_qp_create) amid its kernels. */
static void grow(struct bf_thread *t, void *arg)
{
	struct grower *g = arg;

	for (uint32_t i = 0; i < GROWTHS && !g->rc; i++) {
		bf_pause(t, g->pause_ns);
		g->rc = g->qps ? bf_ibgda_host_add_qps(g->h, g->qps, NULL) : bf_ibgda_host_grow_heap(g->h, g->bytes);
	}
}

static void run_beside(struct rig *r, struct grower *g)
{
	for (uint32_t i = 0; i < r->world.npes; i++)
		ck_assert_int_eq(r->be->launch(r->w, i, r->shape.blocks, r->shape.warps,
					       bf_ibgda_kernels(r->be->platform)->run[r->work], &r->job[i]),
				 0);
	ck_assert_int_eq(r->be->launch_cpu(r->w, 0, 1, grow, g), 0);
	ck_assert_int_eq(r->be->run(r->w, &r->result), 0);
	ck_assert_msg(!g->rc, "%s", r->err.text);
	ck_assert_msg(r->result.end == BF_END_DONE, "%.1500s", r->result.report);
	ck_assert_msg(!bf_ibgda_verify(r->work, &r->shape, r->world.npes, r->heap, &r->bad), "%s", r->bad.text);
}

static struct rig busy_rig(uint32_t seed)
{
	struct rig r = rig_default(BF_IBGDA_MIXED);

	r.world.npes = 3;
	r.world.nics = 2;
	r.world.seed = seed;
	r.world.ordering = seed % 2 ? BF_ORDER_ADVERSARIAL : BF_ORDER_GPU;
	r.host.devices = 2;
	r.host.rc_room = 12;
	r.host.layout = seed % 3 ? BF_IBGDA_L3 : BF_IBGDA_L1;
	r.host.backup = seed % 4 == 0;
	r.shape.route = BF_IBGDA_ALL;
	r.shape.choice = BF_IBGDA_QP_BY_MESSAGE;
	/* Lanes of one warp could see growth apart from each other and disagree about the queue pair to use. */
	r.shape.per_lane = true;
	r.shape.lanes = 1;
	r.shape.warps = 4;
	r.shape.messages = 60;
	r.shape.seed = seed;
	return r;
}

/* Kernels that choose among all queue pairs that they see take to the new ones in the middle of the run. */
START_TEST(queue_pairs_while_kernels_run)
{
	uint64_t used = 0;

	for (uint32_t seed = 0; seed < 12; seed++) {
		struct rig r = busy_rig(seed);
		struct grower g = { .pause_ns = 3000 + 500 * seed, .qps = 2 };

		rig_open(&r);
		g.h = r.h;
		run_beside(&r, &g);
		ck_assert_uint_eq(bf_ibgda_host_state(r.h, 1)->num_rc_per_pe, 4 + GROWTHS * 2);
		for (uint32_t i = 4; i < 4 + GROWTHS * 2; i++)
			used += bf_ibgda_host_qp(r.h, 0, 1, i)->mvars.prod_idx;
		rig_close(&r);
	}
	ck_assert_uint_gt(used, 100);
}
END_TEST

START_TEST(heap_while_kernels_run)
{
	for (uint32_t seed = 0; seed < 6; seed++) {
		struct rig r = busy_rig(seed);
		struct grower g = { .pause_ns = 4000, .bytes = 8192 };

		r.host.log2_granularity = 12;
		bf_ibgda_shape_check(&r.shape, r.work, 3, r.host.flavour, 2, 1024, &r.err);
		bf_ibgda_layout(&r.shape, 3, &r.at);
		r.host.heap_first_bytes = r.at.end;
		r.host.heap_bytes = r.at.end + 6 * 8192;
		rig_open(&r);
		g.h = r.h;
		run_beside(&r, &g);
		ck_assert_uint_ge(bf_ibgda_host_state(r.h, 2)->heap_size, r.at.end + GROWTHS * 8192);
		rig_close(&r);
	}
}
END_TEST

/*
 * What NVSHMEM's host side does to what runs: the table of CQs is freed under queue pairs that point into it (whoever
 * gets the memory next decides what they poll), and the counters are copied away from under the CQs that count in them.
 */
START_TEST(stale_pointers_after_growth)
{
	struct rig r = busy_rig(1);
	struct bf_ibgda_state *s;
	struct bf_ibgda_qp *qp;
	const struct bf_ibgda_cq *cq;

	r.host.suspects = _i ? BF_IBGDA_SUSPECT_MVARS_POINTERS_STALE : BF_IBGDA_SUSPECT_CQ_POINTERS_STALE;
	rig_open(&r);
	ck_assert_int_eq(bf_ibgda_host_add_qps(r.h, 2, NULL), 0);
	s = bf_ibgda_host_state(r.h, 0);
	qp = bf_ibgda_host_qp(r.h, 0, 1, 0);
	cq = qp->tx_wq.cq;
	if (_i) {
		ck_assert_uint_lt((uint64_t)(cq - s->globalmem.cqs), 1000);
		ck_assert_ptr_ne(cq->cons_idx, &qp->mvars.cons_idx);
		ck_assert_ptr_ne(qp->tx_wq.prod_idx, &qp->mvars.prod_idx);
	} else {
		/* Outside of the table that there is, and somebody else's. */
		ck_assert_uint_ge((uint64_t)(cq - s->globalmem.cqs), 1000);
		ck_assert_uint_ne(cq->qpn, qp->qpn);
		rig_run_kernel(&r, bf_ibgda_kernels(BF_PLATFORM_SIM)->run[r.work]);
		ck_assert(r.result.end != BF_END_DONE ||
			  bf_ibgda_verify(r.work, &r.shape, r.world.npes, r.heap, &r.bad));
	}
	rig_close(&r);
}
END_TEST

/* The second translation of a device number: to another device, or to one that is not there. */
START_TEST(device_numbers_translated_twice)
{
	struct host_rig r = host_rig(2);
	struct bf_ibgda_env env;
	const char *text = _i ? "HCA_LIST=^mlx5_0" : "HCA_LIST=mlx5_1,mlx5_0,mlx5_2";

	bf_ibgda_env_init(&env);
	ck_assert_int_eq(bf_ibgda_env_parse(&env, "IB_ENABLE_IBGDA=1 ENABLE_NIC_PE_MAPPING=1 ", 42, &r.err), 0);
	ck_assert_int_eq(bf_ibgda_env_parse(&env, text, strlen(text), &r.err), 0);
	r.world.nics = 3;
	r.opts.devices = 2;
	r.opts.env = &env;
	r.opts.suspects = BF_IBGDA_SUSPECT_DEV_ID_TWICE;
	host_open(&r);
	/* PE 1 begins with its second candidate: devices 0 and 1 are candidates 1 and 2 (or 1 and 0). */
	ck_assert_int_eq(bf_ibgda_host_add_qps(r.h, 2, NULL), _i ? 0 : -ENODEV);
	if (_i) {
		ck_assert_uint_eq(bf_ibgda_host_qp(r.h, 0, 1, 4)->dev_idx, 0);
		ck_assert_uint_eq(bf_ibgda_host_qp(r.h, 1, 0, 4)->dev_idx, 1); /* should be 0 there, too */
	}
	host_close(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ibgda_host_growth");
	TCase *tc = tcase_create("ibgda_host_growth");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, queue_pairs_while_kernels_run);
	tcase_add_test(tc, heap_while_kernels_run);
	tcase_add_loop_test(tc, stale_pointers_after_growth, 0, 2);
	tcase_add_loop_test(tc, device_numbers_translated_twice, 0, 2);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
