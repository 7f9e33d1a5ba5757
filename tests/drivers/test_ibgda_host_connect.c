/* IBGDA's host side: how queues are numbered, created and connected, and what a failure leaves behind. */
#include "tests/drivers/host_rig.h"

#define PES 4u
#define RCS 3u

/* Where things are by each line of the sources, written down once more and differently from ibgda.h. */
static uint32_t rc_place(enum bf_ibgda_layout_id layout, uint32_t pe, uint32_t i)
{
	uint32_t at = 0;

	/* Walk the table as the source's loops do. */
	if (layout == BF_IBGDA_L2) {
		for (uint32_t p = 0; p < PES; p++)
			for (uint32_t k = 0; k < RCS; k++, at++)
				if (p == pe && k == i)
					return at;
	} else {
		for (uint32_t k = 0; k < RCS; k++)
			for (uint32_t p = 0; p < PES; p++, at++)
				if (p == pe && k == i)
					return at;
	}
	return at;
}

/* cq_idx after populating everything in front of this RC. */
static uint32_t cq_place(enum bf_ibgda_layout_id layout, uint32_t me, uint32_t dcis, uint32_t pe, uint32_t i)
{
	const uint32_t place = rc_place(layout, pe, i);
	uint32_t cq = dcis;

	for (uint32_t at = 0; at < place; at++) {
		const bool self = me == (layout == BF_IBGDA_L2 ? at / RCS : at % PES);

		if (layout == BF_IBGDA_L3)
			cq += 2;
		else if (layout == BF_IBGDA_L1 || !self)
			cq += 1;
	}
	return cq;
}

static void check_qp(struct host_rig *r, uint32_t pe, uint32_t peer, uint32_t i)
{
	const enum bf_ibgda_layout_id layout = r->opts.layout;
	const struct bf_ibgda_state *s = bf_ibgda_host_state(r->h, pe);
	const struct bf_ibgda_qp *qp = &s->globalmem.rcs[rc_place(layout, peer, i)];
	const struct bf_ibgda_cq *cq = &s->globalmem.cqs[cq_place(layout, pe, s->num_dci, peer, i)];

	if (peer == pe) {
		ck_assert_uint_eq(qp->qpn, BF_IBGDA_UNUSED);
		ck_assert_ptr_null(qp->tx_wq.cq);
		ck_assert_ptr_null(bf_ibgda_host_qp(r->h, pe, peer, i));
		return;
	}
	ck_assert_ptr_eq(bf_ibgda_host_qp(r->h, pe, peer, i), qp);
	ck_assert_uint_eq(qp->peer, peer);
	ck_assert_uint_eq(qp->ordinal, rc_place(layout, peer, i));
	ck_assert_uint_eq(qp->qp_type, BF_IBGDA_RC);
	ck_assert_uint_eq(qp->version, (uint32_t)layout << 16 | sizeof(*qp));
	ck_assert_ptr_eq(qp->tx_wq.cq, cq);
	ck_assert_uint_eq(cq->qpn, qp->qpn);
	ck_assert_ptr_eq(cq->prod_idx, &qp->mvars.prod_idx);
	ck_assert_ptr_eq(cq->cons_idx, &qp->mvars.cons_idx);
	ck_assert_ptr_eq(cq->resv_head, &qp->mvars.resv_head);
	ck_assert_ptr_eq(cq->ready_head, &qp->mvars.ready_head);
	ck_assert_uint_eq(cq->cqn, device_qp(r, pe, 0, qp->qpn, BF_QPC_CQN_SND));
	ck_assert_uint_eq(device_qp(r, pe, 0, qp->qpn, BF_QPC_USER_INDEX), qp->ordinal);
	ck_assert_uint_eq(device_qp(r, pe, 0, qp->qpn, BF_QPC_REMOTE_QPN), bf_ibgda_host_qp(r->h, peer, pe, i)->qpn);
	ck_assert_uint_eq(device_qp(r, pe, 0, qp->qpn, BF_QPC_STATE), BF_MLX5_QPS_RTS);
	if (layout != BF_IBGDA_L3) {
		ck_assert_ptr_null(qp->rx_wq.cq);
		return;
	}
	ck_assert_ptr_eq(qp->rx_wq.cq, cq + 1);
	ck_assert_uint_eq(cq[1].cqn, device_qp(r, pe, 0, qp->qpn, BF_QPC_CQN_RCV));
	ck_assert_ptr_eq(cq[1].cons_idx, &qp->mvars.rx_cons_idx);
	ck_assert_ptr_eq(cq[1].resv_head, &qp->mvars.rx_resv_head);
	ck_assert_ptr_eq(qp->rx_wq.prod_idx, &qp->mvars.rx_resv_head);
	ck_assert_ptr_eq((uint8_t *)qp->rx_wq.wqe + r->opts.qp_depth * 16, qp->tx_wq.wqe);
}

START_TEST(tables_are_in_the_order_of_the_layout)
{
	struct host_rig r = host_rig(PES);

	r.opts.layout = (enum bf_ibgda_layout_id)(_i + 1);
	r.opts.num_rc_per_pe = RCS;
	host_open(&r);
	for (uint32_t pe = 0; pe < PES; pe++)
		for (uint32_t peer = 0; peer < PES; peer++)
			for (uint32_t i = 0; i < RCS; i++)
				check_qp(&r, pe, peer, i);
	host_close(&r);
}
END_TEST

/* setup_rc_endpoints(): round after round, beginning behind oneself. The device numbers queue pairs as they come. */
START_TEST(queue_pairs_are_created_in_turn)
{
	struct host_rig r = host_rig(PES);

	r.opts.num_rc_per_pe = RCS;
	host_open(&r);
	for (uint32_t pe = 0; pe < PES; pe++) {
		uint32_t last = 0;

		for (uint32_t i = 0; i < RCS; i++)
			for (uint32_t j = 0; j < PES; j++) {
				const struct bf_ibgda_qp *qp =
				    bf_ibgda_host_qp(r.h, pe, (i * PES + 1 + pe + j) % PES, i);

				if (!qp)
					continue;
				ck_assert_uint_gt(qp->qpn, last);
				last = qp->qpn;
			}
	}
	host_close(&r);
}
END_TEST

/* Shared objects are one ring buffer, one of records and one of CQs; layout L1 has a set for each queue pair. */
START_TEST(control_memory_is_carved)
{
	struct host_rig r = host_rig(3);
	const struct bf_ibgda_qp *a, *b;

	r.opts.layout = _i ? BF_IBGDA_L2 : BF_IBGDA_L1;
	r.opts.num_rc_per_pe = 2;
	host_open(&r);
	a = bf_ibgda_host_qp(r.h, 0, 1, 0);
	b = bf_ibgda_host_qp(r.h, 0, 2, 0);
	if (_i) {
		ck_assert_int_eq((uint8_t *)b->tx_wq.wqe - (uint8_t *)a->tx_wq.wqe, 16 * 64);
		ck_assert_int_eq((uint8_t *)b->tx_wq.dbrec - (uint8_t *)a->tx_wq.dbrec, 8);
		ck_assert_int_eq((uint8_t *)b->tx_wq.cq->cqe - (uint8_t *)a->tx_wq.cq->cqe, 64);
	} else {
		ck_assert_uint_ne((uintptr_t)a->tx_wq.wqe & ~4095ull, (uintptr_t)b->tx_wq.wqe & ~4095ull);
		ck_assert_uint_ne((uintptr_t)a->tx_wq.dbrec & ~4095ull, (uintptr_t)b->tx_wq.dbrec & ~4095ull);
	}
	host_close(&r);
}
END_TEST

/* The k-th command fails, for all k: the failure is told with its command, and nothing stays. */
START_TEST(every_command_may_fail)
{
	static const enum bf_ibgda_layout_id layouts[] = { BF_IBGDA_L3, BF_IBGDA_L1 };
	uint32_t k = 0;
	int rc;

	do {
		struct host_rig r = host_rig(3);

		r.world.nics = 2;
		r.opts.devices = 2;
		r.opts.backup = true;
		r.opts.layout = layouts[_i];
		r.opts.num_rc_per_pe = 2;
		watch.fail_at = ++k;
		rc = host_try(&r);
		if (rc) {
			ck_assert_ptr_null(r.h);
			ck_assert_uint_gt(strlen(r.err.text), 10);
			ck_assert_msg(rc == -EIO || rc == -ENODEV || rc == -ENOSPC, "%d %s", rc, r.err.text);
			ck_assert_msg(!watch.objects, "%" PRId64 " objects after command %u (0x%x)", watch.objects, k,
				      watch.failed_op);
			/* And the same world takes the same again. */
			watch.fail_at = 0;
			host_open(&r);
		}
		watch.fail_at = 0;
		host_close(&r);
	} while (rc);
	ck_assert_uint_gt(k, 100);
}
END_TEST

START_TEST(every_allocation_may_fail)
{
	uint32_t k = 0;
	int rc;

	do {
		struct host_rig r = host_rig(2);

		r.world.nics = 2;
		r.opts.devices = 2;
		r.opts.backup = true;
		r.opts.heap_bytes = _i ? 400 << 12 : r.opts.heap_bytes; /* tables of which there is one for both PEs */
		watch.fail_alloc = ++k;
		rc = host_try(&r);
		if (rc) {
			ck_assert_int_eq(rc, -ENOMEM);
			ck_assert_msg(strstr(r.err.text, "PE ") && strstr(r.err.text, "memory"), "%s", r.err.text);
			ck_assert_int_eq(watch.objects, 0);
			r.be->close(r.w);
		} else {
			ck_assert_uint_eq(watch.images, _i ? 2 : 0);
			host_close(&r);
		}
	} while (rc);
	ck_assert_uint_gt(k, 20);
}
END_TEST

/* ---- growth ---- */

START_TEST(growth_adds_behind)
{
	struct host_rig r = host_rig(3);
	struct bf_ibgda_qp *old[3][2];
	uint32_t handles[4];
	struct bf_ibgda_state *s;

	r.opts.layout = _i ? BF_IBGDA_L1 : BF_IBGDA_L3;
	r.opts.rc_room = 7;
	r.world.nics = 2;
	r.opts.devices = 2;
	r.opts.num_rc_per_pe = 1;
	host_open(&r);
	s = bf_ibgda_host_state(r.h, 0);
	for (uint32_t peer = 1; peer < 3; peer++)
		for (uint32_t i = 0; i < 2; i++) {
			old[peer][i] = bf_ibgda_host_qp(r.h, 0, peer, i);
			old[peer][i]->mvars.resv_head = 77;
		}
	ck_assert_msg(!bf_ibgda_host_add_qps(r.h, 3, handles), "%s", r.err.text);
	ck_assert_uint_eq(s->num_rc_per_pe, 5);
	ck_assert_uint_eq(s->num_default_rc_per_pe, 2);
	for (uint32_t i = 0; i < 3; i++) {
		const struct bf_ibgda_qp *qp = &s->globalmem.rcs[handles[i] + 1];

		ck_assert_uint_eq(handles[i], (2 + i) * 3);
		ck_assert_ptr_eq(qp, bf_ibgda_host_qp(r.h, 0, 1, 2 + i));
		ck_assert_uint_eq(qp->dev_idx, i % 2);
		ck_assert_uint_eq(device_qp(&r, 0, i % 2, qp->qpn, BF_QPC_REMOTE_QPN),
				  bf_ibgda_host_qp(r.h, 1, 0, 2 + i)->qpn);
	}
	/* What there was is where it was, its counters too, and its CQ is an entry of the table there is now. */
	for (uint32_t peer = 1; peer < 3; peer++)
		for (uint32_t i = 0; i < 2; i++) {
			ck_assert_ptr_eq(bf_ibgda_host_qp(r.h, 0, peer, i), old[peer][i]);
			ck_assert_uint_eq(old[peer][i]->mvars.resv_head, 77);
			ck_assert_ptr_eq(old[peer][i]->tx_wq.cq->resv_head, &old[peer][i]->mvars.resv_head);
			ck_assert_uint_lt((uint64_t)(old[peer][i]->tx_wq.cq - s->globalmem.cqs), 1000);
		}
	/* The next one goes to the device whose turn it is; then there is no more room. */
	ck_assert_int_eq(bf_ibgda_host_add_qps(r.h, 1, handles), 0);
	ck_assert_uint_eq(bf_ibgda_host_qp(r.h, 0, 1, 5)->dev_idx, 1);
	ck_assert_int_eq(bf_ibgda_host_add_qps(r.h, 2, handles), -ENOSPC);
	ck_assert_msg(strstr(r.err.text, "room for 7"), "%s", r.err.text);
	host_close(&r);
}
END_TEST

START_TEST(growth_fails_whole)
{
	struct host_rig r = host_rig(3);
	uint32_t k = 0;
	int rc;

	r.world.nics = 2;
	r.opts.devices = 2;
	r.opts.backup = true;
	r.opts.rc_room = 5;
	host_open(&r);
	do {
		const int64_t before = watch.objects;

		watch.commands = 0;
		watch.fail_at = ++k;
		rc = bf_ibgda_host_add_qps(r.h, 0, NULL);
		ck_assert_int_eq(rc, 0);
		rc = bf_ibgda_host_add_qps(r.h, 1, NULL);
		watch.fail_at = 0;
		for (uint32_t pe = 0; pe < 3; pe++)
			ck_assert_uint_eq(bf_ibgda_host_state(r.h, pe)->num_rc_per_pe, 4 + !rc);
		ck_assert_msg(!rc || watch.objects == before, "command %u (0x%x)", k, watch.failed_op);
		ck_assert_msg(!rc || watch.failed_op, "%s", r.err.text);
	} while (rc);
	ck_assert_uint_gt(k, 60);
	host_close(&r);
}
END_TEST

START_TEST(layouts_without_growth)
{
	struct host_rig r = host_rig(3);

	r.opts.layout = BF_IBGDA_L2;
	host_open(&r);
	ck_assert_int_eq(bf_ibgda_host_add_qps(r.h, 1, NULL), -ENOTSUP);
	ck_assert_msg(strstr(r.err.text, "L2"), "%s", r.err.text);
	host_close(&r);
}
END_TEST

/* Each layout carries every workload. */
START_TEST(layouts_work)
{
	struct rig r = rig_default(BF_IBGDA_MIXED);

	r.host.layout = (enum bf_ibgda_layout_id)(_i + 1);
	r.world.npes = 4;
	r.world.ordering = BF_ORDER_GPU;
	r.host.num_rc_per_pe = 3;
	r.shape.route = BF_IBGDA_ALL;
	r.shape.choice = BF_IBGDA_QP_BY_MESSAGE;
	r.shape.messages = 24;
	RIG_GOOD(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("ibgda_host_connect");
	TCase *tc = tcase_create("ibgda_host_connect");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, tables_are_in_the_order_of_the_layout, 0, 3);
	tcase_add_test(tc, queue_pairs_are_created_in_turn);
	tcase_add_loop_test(tc, control_memory_is_carved, 0, 2);
	tcase_add_loop_test(tc, every_command_may_fail, 0, 2);
	tcase_add_loop_test(tc, every_allocation_may_fail, 0, 2);
	tcase_add_loop_test(tc, growth_adds_behind, 0, 2);
	tcase_add_test(tc, growth_fails_whole);
	tcase_add_test(tc, layouts_without_growth);
	tcase_add_loop_test(tc, layouts_work, 0, 3);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
