/* The life of a DC initiator's entry: its address vector, the connection, the context at the target. */
#include <check.h>

#include "tests/models/mlx5_dc.h"
#include "traces/life/explain.h"

static bool tells(const struct bf_explain *l, const char *text)
{
	size_t n;
	const struct bf_explain_step *steps = bf_explain_steps(l, &n);

	for (size_t i = 0; i < n; i++)
		if (strstr(steps[i].text, text))
			return true;
	return false;
}

START_TEST(a_write_to_a_target)
{
	static const char *const good[] = { "for DCT 0x400000 with key 0x5623ceaf",
					    "needs a connection to DCT 0x400000",
					    "connects to DCT 0x400000",
					    "context for initiator 0x100: opened",
					    "WRITE_ONLY done",
					    "retires the entry" };
	static const char *const bad[] = { "context for initiator 0x100: key-violation",
					   "DCT 0x400000 refuses PSN 0: key-violation" };
	const struct rig_qp_opts o = { .log_sq = 6, .log_rd = 2 };
	struct rig_cq cq[2];
	struct dc_target t;
	struct bf_explain *l;
	struct rig_qp q;
	struct rig rig;

	rig_open(&rig, 1, NULL);
	ck_assert(!bf_explain_create(NULL, 0x100, 0, &l));
	for (uint32_t i = 0; i < 2; i++)
		rig_cq_open(&rig.node[i], &cq[i], 6, 0);
	dc_target_open(&rig.node[1], &t, &cq[1], DC_KEY, &(struct dc_target_opts){ 0 });
	t.key += (uint64_t)_i;
	ck_assert(!bf_stream_open(&rig.sim->rec, &rig.sim->now_ps, BF_CLASS_ALL, bf_explain_sink(l)));
	dc_initiator_open(&rig.node[0], &q, &cq[0], &o);
	dc_rdma(&q, &t, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x1000, 100, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	ck_assert(!bf_stream_close(&rig.sim->rec));
	bf_explain_finish(l);
	for (size_t i = 0; i < (_i ? BF_ARRAY_LEN(bad) : BF_ARRAY_LEN(good)); i++)
		ck_assert_msg(tells(l, _i ? bad[i] : good[i]), "%s", _i ? bad[i] : good[i]);
	bf_explain_free(l);
	rig_close(&rig);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("life_dc");
	TCase *tc = tcase_create("life");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, a_write_to_a_target, 0, 2);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
