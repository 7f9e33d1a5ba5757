/* IBGDA's host side: which devices a PE takes, why not others, and where the backups of its connections are. */
#include "tests/drivers/host_rig.h"

static struct bf_ibgda_env env_of(const char *text)
{
	struct bf_ibgda_env env;
	struct bf_error err = { 0 };

	bf_ibgda_env_init(&env);
	env.ib_enable_ibgda = 1;
	ck_assert_msg(!bf_ibgda_env_parse(&env, text, strlen(text), &err), "%s", err.text);
	return env;
}

/* "0.1 2.0": NIC and port of each device of a PE. */
static const char *devices_of(struct host_rig *r, uint32_t pe)
{
	static char text[64];
	uint32_t nic, port;

	text[0] = '\0';
	for (uint32_t d = 0; !bf_ibgda_host_device(r->h, pe, d, &nic, &port); d++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%u.%u", d ? " " : "", nic, port);
	return text;
}

static const struct choice {
	const char *options;
	uint32_t nics, ports, devices;
	const char *pe[3]; /* NULL: fails with... */
	const char *why;   /* ...this in the text */
} choices[] = {
	{ "", 3, 1, 0, { "0.0", "0.0", "0.0" }, NULL },
	{ "IBGDA_ENABLE_MULTI_PORT=1", 3, 1, 0, { "0.0 1.0 2.0", "0.0 1.0 2.0", "0.0 1.0 2.0" }, NULL },
	{ "IBGDA_ENABLE_MULTI_PORT=1", 2, 2, 0, { "0.0 0.1 1.0 1.1", "0.0 0.1 1.0 1.1", "0.0 0.1 1.0 1.1" }, NULL },
	{ "", 3, 1, 2, { "0.0 1.0", "0.0 1.0", "0.0 1.0" }, NULL },
	{ "ENABLE_NIC_PE_MAPPING=1", 2, 1, 0, { "0.0", "1.0", "0.0" }, NULL },
	{ "ENABLE_NIC_PE_MAPPING=1 HCA_LIST=^mlx5_0", 3, 1, 0, { "1.0", "2.0", "1.0" }, NULL },
	{ "ENABLE_NIC_PE_MAPPING=1 HCA_LIST=mlx5_2,mlx5_1:2", 3, 2, 0, { "1.1", "2.0", "2.1" }, NULL },
	/* Without ENABLE_NIC_PE_MAPPING the lists do not count. */
	{ "HCA_LIST=^mlx5_0", 3, 1, 0, { "0.0", "0.0", "0.0" }, NULL },
	{ "ENABLE_NIC_PE_MAPPING=1 HCA_PE_MAPPING=mlx5_1:1:2,mlx5_0:1:1", 2, 1, 0, { "1.0", "1.0", "0.0" }, NULL },
	{ "ENABLE_NIC_PE_MAPPING=1 HCA_PE_MAPPING=mlx5_0:2:1", 2, 2, 0, { "0.1", "0.1", "0.1" }, NULL },
	{ "ENABLE_NIC_PE_MAPPING=1 HCA_PE_MAPPING=mlx5_7:1:1", 2, 1, 0, { NULL }, "mlx5_7:1, which is not there" },
	{ "HCA_PREFIX=ibp", 2, 1, 0, { NULL }, "mlx5_0:1 is not named as HCA_PREFIX wants; mlx5_1:1" },
	{ "HCA_PREFIX=^mlx5", 1, 1, 0, { NULL }, "no device left" },
	{ "ENABLE_NIC_PE_MAPPING=1 HCA_LIST=^mlx5_0", 1, 1, 0, { NULL }, "mlx5_0:1 is excluded by HCA_LIST" },
	{ "ENABLE_NIC_PE_MAPPING=1 HCA_LIST=mlx5_3", 1, 1, 0, { NULL }, "mlx5_0:1 is not in HCA_LIST" },
	{ "IB_GID_INDEX=3", 1, 1, 0, { NULL }, "IB_GID_INDEX" },
	{ "", 2, 1, 3, { NULL }, "3 devices wanted, there are 2" },
	{ "IB_ENABLE_IBGDA=0", 1, 1, 0, { NULL }, "IB_ENABLE_IBGDA" },
	{ "DISABLE_IB_NATIVE_ATOMICS=1", 1, 1, 0, { NULL }, "DISABLE_IB_NATIVE_ATOMICS" },
	{ "IBGDA_RC_MAP_BY=cta SRQ_DEPTH=16384", 1, 1, 0, { "0.0", "0.0", "0.0" }, NULL },
	{ "IBGDA_RC_MAP_BY=sm", 1, 1, 0, { NULL }, "IBGDA_RC_MAP_BY: only cta" },
	{ "IBGDA_RC_MAP_BY=warp", 1, 1, 0, { NULL }, "IBGDA_RC_MAP_BY: only cta" },
	{ "SRQ_DEPTH=16383", 1, 1, 0, { NULL }, "SRQ_DEPTH: only 16384" },
	{ "SRQ_DEPTH=32768", 1, 1, 0, { NULL }, "SRQ_DEPTH: only 16384" },
	{ "IBGDA_NUM_SHARED_DCI=3", 1, 1, 0, { NULL }, "IBGDA_NUM_SHARED_DCI is 3" },
	{ "QP_DEPTH=65536 IBGDA_NUM_REQUESTS_IN_BATCH=32768", 1, 1, 0, { NULL }, "batch 32768" },
};

START_TEST(devices_are_chosen)
{
	const struct choice *c = &choices[_i];
	struct bf_ibgda_env env = env_of(c->options);
	struct host_rig r = host_rig(3);

	r.world.nics = c->nics;
	r.world.ports = c->ports;
	r.opts.devices = c->devices;
	r.opts.env = &env;
	r.opts.qp_depth = env.set ? 0 : 16;
	if (c->pe[0]) {
		host_open(&r);
		for (uint32_t pe = 0; pe < 3; pe++)
			ck_assert_str_eq(devices_of(&r, pe), c->pe[pe]);
		host_close(&r);
		return;
	}
	ck_assert_int_lt(host_try(&r), 0);
	ck_assert_msg(strstr(r.err.text, c->why), "%s", r.err.text);
	ck_assert_int_eq(watch.objects, 0);
	r.be->close(r.w);
}
END_TEST

START_TEST(unfit_devices_are_passed_over)
{
	struct bf_ibgda_env env = env_of("IBGDA_ENABLE_MULTI_PORT=1");
	struct host_rig r = host_rig(3);

	r.world.nics = 3;
	r.world.ports = 2;
	r.opts.env = &env;
	watch.no_atomics = 1 << 1;
	watch.down_mask = 1 << 0 | 1 << 5;
	host_open(&r);
	ck_assert_str_eq(devices_of(&r, 2), "0.1 2.0");
	host_close(&r);
	/* With reasons, when none is left. */
	watch.no_atomics = 7;
	ck_assert_int_eq(host_try(&r), -ENODEV);
	ck_assert_msg(strstr(r.err.text, "mlx5_0:1 lacks atomics"), "%s", r.err.text);
	watch.no_atomics = 0;
	watch.down_mask = 63;
	ck_assert_int_eq(host_try(&r), -ENODEV);
	ck_assert_msg(strstr(r.err.text, "mlx5_0:1 is down; mlx5_0:2 is down"), "%s", r.err.text);
	/* PEs that found different numbers of them cannot be connected. */
	watch.down_mask = 1 << 2;
	watch.down_pe = 1;
	ck_assert_int_eq(host_try(&r), -EINVAL);
	ck_assert_msg(strstr(r.err.text, "must be the same"), "%s", r.err.text);
	ck_assert_int_eq(watch.objects, 0);
	r.be->close(r.w);
}
END_TEST

/* ---- backups ---- */

static void check_backup(struct host_rig *r, uint32_t pe, uint32_t peer, uint32_t i, uint32_t nic, uint32_t port)
{
	const struct bf_ibgda_state *s = bf_ibgda_host_state(r->h, pe);
	const struct bf_ibgda_qp *qp = bf_ibgda_host_qp(r->h, pe, peer, i);
	const struct bf_ibgda_qp *b = bf_ibgda_host_backup_qp(r->h, pe, peer, i);

	ck_assert_ptr_nonnull(b);
	ck_assert_uint_eq(b->is_backup, 1);
	ck_assert_uint_eq(b->ordinal, qp->ordinal);
	ck_assert_uint_eq(b->peer, peer);
	ck_assert_ptr_ne(b->tx_wq.cq, qp->tx_wq.cq);
	ck_assert_ptr_eq(b->tx_wq.cq->cons_idx, &b->mvars.cons_idx);
	ck_assert_uint_lt((uint64_t)(b->tx_wq.cq - s->globalmem.cqs),
			  s->num_dci + 2 * (s->num_rc_per_pe + s->num_backup_per_pe) * s->npes);
	ck_assert_uint_eq(device_qp(r, pe, nic, b->qpn, BF_QPC_STATE), BF_MLX5_QPS_RTS);
	ck_assert_uint_eq(device_qp(r, pe, nic, b->qpn, BF_QPC_USER_INDEX), qp->ordinal);
	ck_assert_uint_eq(device_qp(r, pe, nic, b->qpn, BF_QPC_REMOTE_QPN),
			  bf_ibgda_host_backup_qp(r->h, peer, pe, i)->qpn);
	ck_assert_uint_eq(device_qp(r, pe, nic, b->qpn, BF_QPC_PATH + 0x24, 0x00ff0000u), port + 1);
}

/* Single-port NICs: 0 with 1, and the odd last one has none. The backup's keys are its own NIC's. */
START_TEST(neighbours_back_each_other)
{
	struct host_rig r = host_rig(3);

	r.world.nics = 3;
	r.opts.devices = 3;
	r.opts.backup = true;
	host_open(&r);
	for (uint32_t pe = 0; pe < 3; pe++)
		for (uint32_t i = 0; i < 6; i++) {
			const uint32_t peer = (pe + 1) % 3;
			const struct bf_ibgda_qp *qp = bf_ibgda_host_qp(r.h, pe, peer, i);

			ck_assert_uint_eq(qp->dev_idx, i / 2);
			if (qp->dev_idx == 2) {
				ck_assert_ptr_null(bf_ibgda_host_backup_qp(r.h, pe, peer, i));
				continue;
			}
			ck_assert_uint_eq(bf_ibgda_host_backup_qp(r.h, pe, peer, i)->dev_idx, qp->dev_idx ^ 1);
			check_backup(&r, pe, peer, i, qp->dev_idx ^ 1, 0);
		}
	ck_assert_int_eq(bf_ibgda_host_add_qps(r.h, 2, NULL), 0);
	check_backup(&r, 0, 2, 6, 1, 0);
	check_backup(&r, 2, 0, 7, 0, 0);
	check_backup(&r, 1, 0, 3, 0, 0);
	host_close(&r);
}
END_TEST

/* Dual-port NICs: the other port of the same one, with the same keys. */
START_TEST(ports_back_each_other)
{
	struct host_rig r = host_rig(2);

	r.world.ports = 2;
	r.opts.devices = (uint32_t)_i + 1;
	r.opts.backup = true;
	host_open(&r);
	/* Of 2 PEs: 2 RCs on each device, as many backups on the other port, 1 DCI on each device. */
	ck_assert_uint_eq(watch.inits[1], _i ? 10 : 6);
	ck_assert_uint_eq(watch.inits[2], _i ? 10 : 4);
	for (uint32_t i = 0; i < 2 * r.opts.devices; i++) {
		const struct bf_ibgda_qp *qp = bf_ibgda_host_qp(r.h, 1, 0, i);

		ck_assert_uint_eq(device_qp(&r, 1, 0, qp->qpn, BF_QPC_PATH + 0x24, 0x00ff0000u), qp->dev_idx + 1);
		check_backup(&r, 1, 0, i, 0, !qp->dev_idx);
	}
	host_close(&r);
}
END_TEST

/* From any state back to RTS towards the same peer; then it carries data again. */
START_TEST(queue_pairs_come_back)
{
	struct rig r = rig_default(BF_IBGDA_PUT);
	struct bf_ibgda_qp *qp;

	r.host.num_rc_per_pe = 1;
	r.shape.messages = 5;
	rig_open(&r);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t pe = 0; pe < 2; pe++) {
			uint8_t in[16] = { 0 }, out[16] = { 0 };

			qp = bf_ibgda_host_qp(r.h, pe, !pe, 0);
			BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_2ERR_QP);
			BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qp->qpn);
			ck_assert_int_eq(r.be->command(r.w, pe, 0, in, sizeof(in), out, sizeof(out)), 0);
			ck_assert_int_eq(bf_ibgda_host_reconnect(r.h, pe, qp), 0);
			memset(&qp->mvars, 0, sizeof(qp->mvars));
		}
		bf_ibgda_prepare(r.work, &r.shape, 2, r.heap);
		rig_run_kernel(&r, bf_ibgda_kernels(BF_PLATFORM_SIM)->run[r.work]);
		ck_assert_int_eq(r.result.end, BF_END_DONE);
		ck_assert_int_eq(bf_ibgda_verify(r.work, &r.shape, 2, r.heap, &r.bad), 0);
	}
	ck_assert_int_eq(bf_ibgda_host_reconnect(r.h, 0, bf_ibgda_host_dci(r.h, 0, 0)), -EINVAL);
	rig_close(&r);
}
END_TEST

/* Data go through all devices of a PE, with the keys of each. */
START_TEST(several_devices_carry_data)
{
	for (uint32_t i = 0; i < 6; i++) {
		struct rig r = rig_default(i % 2 ? BF_IBGDA_MIXED : BF_IBGDA_PUT);

		r.world.npes = 3;
		r.world.nics = i < 3 ? 3 : 1;
		r.world.ports = 2;
		r.host.devices = i < 3 ? 6 : 2;
		r.host.layout = (enum bf_ibgda_layout_id)(i % 3 + 1);
		r.host.log2_granularity = 12;
		r.host.granules_per_mr = 2;
		r.shape.route = BF_IBGDA_ALL;
		r.shape.choice = BF_IBGDA_QP_BY_MESSAGE;
		r.shape.messages = 40;
		r.shape.bytes = 9000;
		RIG_GOOD(&r);
	}
}
END_TEST

/* ---- suspects ---- */

/* Endpoints of the second device are looked up one device's worth too far: some queue pairs never reach the table. */
START_TEST(later_devices_lose_endpoints)
{
	struct host_rig r = host_rig(3);
	uint32_t missing = 0;

	r.world.nics = 2;
	r.opts.devices = 2;
	r.opts.suspects = _i ? BF_IBGDA_SUSPECT_EPS_INDEX_DEVICE0 : 0;
	host_open(&r);
	for (uint32_t i = 0; i < 4; i++)
		for (uint32_t peer = 1; peer < 3; peer++)
			missing += !bf_ibgda_host_qp(r.h, 0, peer, i);
	ck_assert_uint_eq(missing, _i ? 1 : 0);
	ck_assert_ptr_nonnull(bf_ibgda_host_qp(r.h, 0, 1, 0));
	host_close(&r);
}
END_TEST

/* The flag goes to the GPU before it is cleared, and is right only after the next update. */
START_TEST(skip_cst_is_cleared_late)
{
	struct host_rig r = host_rig(2);

	r.world.nics = 2;
	r.opts.devices = 2;
	r.opts.may_skip_cst = true;
	r.opts.suspects = _i ? BF_IBGDA_SUSPECT_SKIP_CST_LATE : 0;
	host_open(&r);
	ck_assert_uint_eq(bf_ibgda_host_state(r.h, 0)->may_skip_cst, (uint32_t)_i);
	ck_assert_int_eq(bf_ibgda_host_add_qps(r.h, 1, NULL), 0);
	ck_assert_uint_eq(bf_ibgda_host_state(r.h, 0)->may_skip_cst, 0);
	host_close(&r);
}
END_TEST

/* One endpoint for each initiator is lost, and the report names it. */
START_TEST(leaks_are_told_by_kind)
{
	struct host_rig r = host_rig(2);
	char leaks[128];

	r.opts.num_dci = 3;
	r.opts.suspects = BF_IBGDA_SUSPECT_DCI_EP_LEAK;
	host_open(&r);
	ck_assert_uint_eq(bf_ibgda_host_close_report(r.h, leaks, sizeof(leaks)), 6);
	ck_assert_str_eq(leaks, "6 ep");
	ck_assert_int_eq(watch.objects, 0);
	/* A device that refuses to end its CQs keeps what they hold, too. */
	r.opts.suspects = 0;
	host_open(&r);
	watch.swallow_op = BF_MLX5_CMD_DESTROY_CQ;
	ck_assert_uint_gt(bf_ibgda_host_close_report(r.h, leaks, sizeof(leaks)), 0);
	ck_assert_msg(strstr(leaks, "16 cq, 12 umem") == leaks, "%s", leaks);
	r.be->close(r.w);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ibgda_host_devices");
	TCase *tc = tcase_create("ibgda_host_devices");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, devices_are_chosen, 0, (int)BF_ARRAY_LEN(choices));
	tcase_add_test(tc, unfit_devices_are_passed_over);
	tcase_add_test(tc, neighbours_back_each_other);
	tcase_add_loop_test(tc, ports_back_each_other, 0, 2);
	tcase_add_test(tc, queue_pairs_come_back);
	tcase_add_test(tc, several_devices_carry_data);
	tcase_add_loop_test(tc, later_devices_lose_endpoints, 0, 2);
	tcase_add_loop_test(tc, skip_cst_is_cleared_late, 0, 2);
	tcase_add_test(tc, leaks_are_told_by_kind);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
