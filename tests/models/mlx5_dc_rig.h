/*
 * The bench that tests of the DC transport work at: two NICs of two ports each, a CQ and 4096 bytes of a pattern on
 * either, and two contexts at targets. The variables are for the one program that includes this.
 */
#ifndef BELFRY_TESTS_MLX5_DC_RIG_H
#define BELFRY_TESTS_MLX5_DC_RIG_H

#include <check.h>

#include "sim/stats.h"
#include "tests/models/mlx5_dc.h"

static struct rig rig;
static struct rig_node *a, *b;
static struct rig_cq acq, bcq;
static struct bf_mlx5_profile profile;

static const struct rig_qp_opts usual = { .log_sq = 6, .log_rd = 3, .retry = 2, .timeout = 4 };
static const struct dc_target_opts plain;

static inline void setup(void)
{
	profile = bf_mlx5_cx7;
	profile.dct_contexts = 2;
	profile.dct_idle_ps = BF_MS;
	rig_open_ports(&rig, 1, &profile, 2);
	a = &rig.node[0];
	b = &rig.node[1];
	rig_cq_open(a, &acq, 10, 0);
	rig_cq_open(b, &bcq, 10, 0);
	for (uint32_t i = 0; i < 4096; i++) {
		a->data[i] = (uint8_t)(i * 7 + 1);
		b->data[0x8000 + i] = (uint8_t)(i * 5 + 3);
	}
}

static inline void teardown(void)
{
	rig_close(&rig);
}

static inline uint32_t state_of(const struct rig_qp *q)
{
	struct bf_mlx5_qp_info info;

	ck_assert(!bf_mlx5_qp_info(q->node->dev, q->qpn, &info));
	return info.state;
}

static inline void expect_good(uint16_t index)
{
	const struct bf_mlx5_cqe *c = rig_poll(&acq);

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_uint_eq(bf_be16(c->wqe_counter), index);
}

static inline void expect_bad(uint16_t index, uint8_t syndrome, uint8_t vendor)
{
	const struct bf_mlx5_err_cqe *e = (const void *)rig_poll(&acq);

	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	ck_assert_uint_eq(bf_be16(e->wqe_counter), index);
	ck_assert_uint_eq(e->syndrome, syndrome);
	ck_assert_uint_eq(e->vendor_err_synd, vendor);
}

static inline void expect_no_more(void)
{
	ck_assert_ptr_null(rig_poll(&acq));
}

struct wanted {
	char name[48];
	uint64_t value;
	bool found;
};

static inline void look(void *arg, const char *name, const char *unit, const uint64_t *counter,
			const struct bf_hist *hist)
{
	struct wanted *w = arg;

	(void)unit;
	(void)hist;
	if (strcmp(name, w->name))
		return;
	w->value = counter ? *counter : 0;
	w->found = true;
}

static inline uint64_t count(struct rig_node *n, const char *name)
{
	struct wanted w = { .value = 0 };

	snprintf(w.name, sizeof(w.name), "%s.%s", n == a ? "nic0" : "nic1", name);
	bf_stats_each(rig.sim, look, &w);
	ck_assert_msg(w.found, "%s", w.name);
	return w.value;
}

static inline void open_pair(struct rig_qp *q, struct dc_target *t, bool full)
{
	struct rig_qp_opts o = usual;

	o.full = full;
	dc_target_open(b, t, &bcq, DC_KEY, &plain);
	dc_initiator_open(a, q, &acq, &o);
}

/* Of a port that only sends. */
static inline void nobody_home(void *owner, struct bf_packet *pkt)
{
	(void)owner;
	bf_packet_free(pkt);
}

/* Runs the tests that `add` adds. */
static inline int dc_main(const char *name, void (*add)(TCase *tc))
{
	Suite *s = suite_create(name);
	TCase *tc = tcase_create("dc");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	add(tc);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}

#endif
