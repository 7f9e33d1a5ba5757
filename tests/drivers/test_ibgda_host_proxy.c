/* A thread of the CPU rings for the GPU: every workload works, new queues are served, and NVSHMEM's faults show. */
#include "drivers/platform/platform_sim.h"
/* after the platform */
#include "drivers/ibgda/device.h"
#include "drivers/ibgda/proxy.h"
#include "tests/drivers/rig.h"

#define PES 3u

/* Kernels that say when the last thread of a PE is done. */
struct told_job {
	bf_kernel_fn *kernel;
	struct bf_ibgda_job *job;
	uint32_t threads;
	uint32_t *ended; /* in memory of the PE */
	uint32_t *stop;
};

static void run_and_tell(struct bf_thread *t, void *arg)
{
	const struct told_job *j = arg;

	j->kernel(t, j->job);
	if (bf_atomic_add32(t, j->ended, 1, BF_AT_SYS) + 1 == j->threads)
		bf_st_release32(t, j->stop, 1, BF_AT_SYS);
}

static void proxy(struct bf_thread *t, void *arg)
{
	bf_ibgda_proxy_run(t, arg);
}

static void run_with_proxies(struct rig *r)
{
	struct told_job jobs[PES];

	for (uint32_t pe = 0; pe < PES; pe++) {
		struct bf_ibgda_proxy *p = bf_ibgda_host_proxy(r->h, pe);
		struct bf_memory m;

		ck_assert_int_eq(r->be->alloc(r->w, pe, BF_PLACE_HOST, 64, "ended", &m), 0);
		jobs[pe] = (struct told_job){ .kernel = bf_ibgda_kernels(r->be->platform)->run[r->work],
					      .job = &r->job[pe],
					      .threads = r->shape.blocks * r->shape.warps * BF_LANES,
					      .ended = m.ptr,
					      .stop = &p->stop };
		ck_assert_int_eq(r->be->launch(r->w, pe, r->shape.blocks, r->shape.warps, run_and_tell, &jobs[pe]), 0);
		ck_assert_int_eq(r->be->launch_cpu(r->w, pe, 1, proxy, p), 0);
	}
	ck_assert_int_eq(r->be->run(r->w, &r->result), 0);
}

static struct rig proxied(enum bf_ibgda_work work, uint32_t seed)
{
	struct rig r = rig_default(work);

	r.world.npes = PES;
	r.world.seed = seed;
	r.world.ordering = (enum bf_ordering)(seed % 4);
	r.world.limit_ps = 20 * BF_MS;
	r.host.cpu_proxy = true;
	r.host.layout = (enum bf_ibgda_layout_id)(seed % 3 + 1);
	r.host.system_scope = seed % 2;
	r.shape.route = BF_IBGDA_ALL;
	r.shape.choice = BF_IBGDA_QP_BY_MESSAGE;
	r.shape.warps = 2;
	r.shape.messages = 20;
	return r;
}

START_TEST(workloads_through_the_proxy)
{
	for (uint32_t seed = 0; seed < 12; seed++) {
		struct rig r = proxied((enum bf_ibgda_work)(seed % BF_IBGDA_WORKS), seed);

		rig_open(&r);
		run_with_proxies(&r);
		ck_assert_msg(r.result.end == BF_END_DONE, "seed %u: %.1500s", seed, r.result.report);
		ck_assert_msg(!bf_ibgda_verify(r.work, &r.shape, PES, r.heap, &r.bad), "%s", r.bad.text);
		rig_close(&r);
	}
}
END_TEST

/* Queues that came later, and backups, have slots of their own behind the others. */
START_TEST(new_queues_are_served)
{
	struct rig r = proxied(BF_IBGDA_MIXED, 5);
	const struct bf_ibgda_proxy *p;

	r.world.nics = 2;
	r.host.devices = 2;
	r.host.backup = true;
	rig_open(&r);
	p = bf_ibgda_host_proxy(r.h, 1);
	ck_assert_uint_eq(p->nqueues, bf_ibgda_host_state(r.h, 1)->num_dci + 2 * 4 * (PES - 1));
	ck_assert_int_eq(bf_ibgda_host_add_qps(r.h, 2, NULL), 0);
	ck_assert_uint_eq(p->nqueues, bf_ibgda_host_state(r.h, 1)->num_dci + 2 * 6 * (PES - 1));
	for (uint32_t i = 0; i < p->nqueues; i++)
		for (uint32_t k = 0; k < i; k++)
			ck_assert_ptr_ne(p->queues[i].slot, p->queues[k].slot);
	run_with_proxies(&r);
	ck_assert_msg(r.result.end == BF_END_DONE, "%.1500s", r.result.report);
	ck_assert_msg(!bf_ibgda_verify(r.work, &r.shape, PES, r.heap, &r.bad), "%s", r.bad.text);
	ck_assert_uint_gt(bf_ibgda_host_qp(r.h, 1, 0, 5)->mvars.prod_idx, 0);
	rig_close(&r);
}
END_TEST

static const struct {
	uint64_t suspect;
	bool bells; /* the proxy rings, in vain */
} faults[] = {
	{ BF_IBGDA_SUSPECT_PROXY_RECV_WORD, true },
	{ BF_IBGDA_SUSPECT_PROXY_SLOT_ZERO, false },
	{ BF_IBGDA_SUSPECT_PROXY_NULL_SELF, false },
};

/* Each of the three leaves every entry with the GPU: nothing completes. */
START_TEST(faults_of_the_progress_functions)
{
	struct rig r = proxied(BF_IBGDA_PUT, 2);
	const struct bf_ibgda_qp *qp;

	r.host.suspects = faults[_i].suspect;
	rig_open(&r);
	run_with_proxies(&r);
	ck_assert_int_ne(r.result.end, BF_END_DONE);
	qp = bf_ibgda_host_qp(r.h, 0, 1, 0);
	ck_assert_uint_gt(qp->mvars.prod_idx, 0);
	ck_assert_uint_eq(qp->mvars.cons_idx, 0);
	ck_assert_uint_eq(*qp->tx_wq.dbrec, 0);
	/* In the first case the send counter stands in the receive word. */
	ck_assert_uint_eq(qp->tx_wq.dbrec[BF_MLX5_DBR_RCV - BF_MLX5_DBR_SND] != 0, faults[_i].bells);
	rig_close(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ibgda_host_proxy");
	TCase *tc = tcase_create("ibgda_host_proxy");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, workloads_through_the_proxy);
	tcase_add_test(tc, new_queues_are_served);
	tcase_add_loop_test(tc, faults_of_the_progress_functions, 0, (int)BF_ARRAY_LEN(faults));
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
