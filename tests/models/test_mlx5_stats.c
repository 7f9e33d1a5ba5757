/* What a device counts, against what must have happened. */
#include <check.h>

#include "sim/fault.h"
#include "sim/stats.h"
#include "tests/models/mlx5_rig.h"

#define WRITES 200u

static struct rig_pair p;
static struct bf_fault_plan *plan;

static void open_with(const char *faults)
{
	struct rig_qp_opts o = { .log_sq = 8, .log_rq = 4, .timeout = 4, .rnr_retry = 2 };

	rig_pair_open(&p, 1, NULL, &o);
	if (!faults)
		return;
	ck_assert(!bf_fault_plan_parse(faults, 3, NULL, &plan));
	p.rig.sim->faults = plan;
}

static void tear_down(void)
{
	p.rig.sim->faults = NULL;
	rig_close(&p.rig);
	bf_fault_plan_destroy(plan);
	plan = NULL;
}

struct wanted {
	const char *name;
	uint64_t value;
	const struct bf_hist *hist;
	bool found;
};

static void look(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *hist)
{
	struct wanted *w = arg;

	(void)unit;
	if (strcmp(name, w->name) != 0)
		return;
	w->found = true;
	w->value = counter ? *counter : 0;
	w->hist = hist;
}

static uint64_t stat(const char *name)
{
	struct wanted w = { .name = name };

	bf_stats_each(p.rig.sim, look, &w);
	ck_assert_msg(w.found, "no statistic %s", name);
	return w.value;
}

static const struct bf_hist *latency(const char *name)
{
	struct wanted w = { .name = name };

	bf_stats_each(p.rig.sim, look, &w);
	ck_assert_ptr_nonnull(w.hist);
	return w.hist;
}

/* Signalled WRITEs of `len` bytes, `batch` of them a doorbell. */
static void write_all(uint32_t len, uint32_t batch)
{
	struct rig_node *peer = &p.rig.node[1];

	for (uint32_t i = 1; i <= WRITES; i++) {
		rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, peer->data_va, peer->key, len, RIG_CQE);
		if (i % batch == 0) {
			rig_db(&p.q[0]);
			rig_run(&p.rig);
		}
	}
}

START_TEST(every_step_of_a_write)
{
	open_with(NULL);
	write_all(64, 10);
	ck_assert_uint_eq(stat("nic0.doorbells"), WRITES / 10);
	ck_assert_uint_eq(stat("nic0.dbrec_reads"), WRITES / 10);
	ck_assert_uint_eq(stat("nic0.wqes_fetched"), WRITES);
	ck_assert_uint_eq(stat("nic0.wqes_completed"), WRITES);
	ck_assert_uint_eq(stat("nic0.cqes"), WRITES);
	ck_assert_uint_eq(stat("nic0.error_cqes"), 0);
	ck_assert_uint_eq(stat("nic0.packets_resent"), 0);
	ck_assert_uint_eq(stat("nic0.p1.tx_packets"), WRITES);
	ck_assert_uint_eq(stat("nic0.p1.tx_packets"), stat("nic1.p1.rx_packets"));
	ck_assert_uint_eq(stat("nic0.p1.tx_bytes"), stat("nic1.p1.rx_bytes"));
	ck_assert_uint_gt(stat("nic1.acks_sent"), 0);
	ck_assert_uint_eq(stat("nic1.acks_sent"), stat("nic0.acks_received"));
	ck_assert_uint_eq(stat("nic1.cqes"), 0);
	/* Payloads and CQEs are writes; payloads, rings and doorbell records are reads. */
	ck_assert_uint_eq(stat("nic1.dma.writes"), WRITES);
	ck_assert_uint_ge(stat("nic0.dma.writes"), WRITES);
	ck_assert_uint_ge(stat("nic0.dma.reads"), WRITES + WRITES / 10 + stat("nic0.ring_reads"));
	ck_assert_uint_eq(stat("nic0.pcie.up_bytes"), bf_mlx5_dma(p.rig.node[0].dev)->link->up_bytes);
	ck_assert_uint_eq(latency("nic0.latency")->count, WRITES);
	ck_assert_uint_eq(latency("nic1.latency")->count, 0);
}
END_TEST

static uint64_t step(void)
{
	bf_sim_run(p.rig.sim, bf_sim_next(p.rig.sim));
	return p.rig.sim->now_ps;
}

static uint32_t doorbells(void)
{
	struct bf_mlx5_qp_info info;

	ck_assert(!bf_mlx5_qp_info(p.rig.node[0].dev, p.q[0].qpn, &info));
	return info.doorbells;
}

/* From the store that arrives to the bytes that a poller can see, for two requests that overlap. */
START_TEST(latency_of_each)
{
	struct rig_node *peer = &p.rig.node[1];
	uint64_t rang[2] = { 0 }, seen[2] = { 0 };
	uint32_t done = 0;

	open_with(NULL);
	for (uint32_t i = 0; i < 2; i++) {
		rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, peer->data_va, peer->key, i ? 4000 : 8, RIG_CQE);
		rig_db(&p.q[0]);
		while (doorbells() == i)
			rang[i] = step();
		bf_sim_run(p.rig.sim, p.rig.sim->now_ps + 700 * BF_NS); /* beyond the doorbell record's read */
	}
	while (done < 2) {
		uint64_t now = step();

		if (rig_poll(&p.scq[0]))
			seen[done++] = now;
	}
	rig_run(&p.rig);
	ck_assert_uint_lt(rang[1], seen[0]);
	ck_assert_uint_eq(latency("nic0.latency")->count, 2);
	ck_assert_uint_eq(latency("nic0.latency")->sum, seen[0] - rang[0] + seen[1] - rang[1]);
}
END_TEST

/* Empty WRITEs leave the moment they are made: on the wire is what was sent for the first time, and what was sent
 * again. */
START_TEST(loss)
{
	uint64_t resent;

	open_with("drop on=nic0.p1 prob=0.1");
	write_all(0, 20);
	resent = stat("nic0.packets_resent");
	ck_assert_uint_gt(resent, 0);
	ck_assert_uint_eq(stat("nic0.p1.tx_packets"), WRITES + resent);
	ck_assert_uint_eq(stat("nic0.p1.lost_injected"), bf_fault_plan_fired(plan, 0));
	ck_assert_uint_eq(stat("nic0.p1.lost_link_down"), 0);
	ck_assert_uint_eq(stat("nic0.cqes"), WRITES);
	ck_assert_uint_gt(stat("nic1.naks_sent.sequence"), 0);
	ck_assert_uint_eq(stat("nic1.naks_sent.sequence"), stat("nic0.naks_received.sequence"));
	ck_assert_uint_gt(stat("nic1.rx_drops.sequence"), 0);
	/* The last packet of a batch leaves no gap behind it that the receiver could see. */
	ck_assert_uint_gt(stat("nic0.timeouts"), 0);
}
END_TEST

START_TEST(corruption)
{
	open_with("corrupt on=nic0.p1 prob=0.1");
	write_all(0, 20);
	ck_assert_uint_gt(bf_fault_plan_fired(plan, 0), 0);
	ck_assert_uint_gt(stat("nic1.rx_drops.icrc"), bf_fault_plan_fired(plan, 0) / 2);
	/* Some bits make a frame that is not even looked at for its ICRC. */
	ck_assert_uint_eq(stat("nic1.rx_drops.icrc") + stat("nic1.rx_drops.not_roce") + stat("nic1.rx_drops.length"),
			  bf_fault_plan_fired(plan, 0));
	ck_assert_uint_eq(stat("nic0.p1.lost_injected"), 0);
}
END_TEST

START_TEST(refused_and_flushed)
{
	struct rig_node *peer = &p.rig.node[1];

	open_with(NULL);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, peer->data_va, peer->key ^ 0x100, 8, RIG_CQE);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, peer->data_va, peer->key, 8, 0);
	rig_db(&p.q[0]);
	rig_run(&p.rig);
	ck_assert_uint_eq(stat("nic1.naks_sent.access"), 1);
	ck_assert_uint_eq(stat("nic0.naks_received.access"), 1);
	ck_assert_uint_eq(stat("nic0.cqes"), 2);
	ck_assert_uint_eq(stat("nic0.error_cqes"), 2);
	ck_assert_uint_eq(latency("nic0.latency")->count, 0);
}
END_TEST

START_TEST(receiver_not_ready)
{
	open_with(NULL);
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 8, 0, RIG_CQE);
	rig_db(&p.q[0]);
	rig_run(&p.rig);
	ck_assert_uint_eq(stat("nic1.naks_sent.rnr"), 3);
	ck_assert_uint_eq(stat("nic0.naks_received.rnr"), 3);
	ck_assert_uint_eq(stat("nic0.packets_resent"), 2);
	ck_assert_uint_eq(stat("nic0.error_cqes"), 1);
}
END_TEST

START_TEST(silence)
{
	struct rig_node *peer = &p.rig.node[1];

	open_with(NULL);
	bf_port_set_link(bf_mlx5_port(peer->dev, 1), false);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, peer->data_va, peer->key, 8, RIG_CQE);
	rig_db(&p.q[0]);
	rig_run(&p.rig);
	ck_assert_uint_eq(stat("nic0.timeouts"), 8); /* seven retries, and the one that gives up */
	ck_assert_uint_eq(stat("nic0.packets_resent"), 7);
	ck_assert_uint_eq(stat("nic0.p1.lost_link_down"), 8);
	ck_assert_uint_eq(stat("nic0.error_cqes"), 1);
}
END_TEST

START_TEST(doorbells_that_nobody_heeds_and_faults)
{
	uint8_t bell[8] = { 0 };

	open_with("dma-fault on=nic0.dma count=1");
	bf_put_be32(bell + 4, 0xabcdefu << 8);
	bf_mmio_post(bf_mlx5_uar(p.rig.node[0].dev, p.rig.node[0].uar), BF_MLX5_UAR_BF, bell, 8);
	rig_run(&p.rig);
	ck_assert_uint_eq(stat("nic0.doorbells_ignored"), 1);
	ck_assert_uint_eq(stat("nic0.doorbells"), 0);
	write_all(8, WRITES);
	ck_assert_uint_eq(stat("nic0.dma.faults"), 1);
}
END_TEST

START_TEST(counts_outlive_the_device)
{
	open_with(NULL);
	write_all(8, 10);
	bf_mlx5_destroy(p.rig.node[0].dev);
	p.rig.node[0].dev = NULL;
	ck_assert_uint_eq(stat("nic0.cqes"), WRITES);
	ck_assert_uint_ge(stat("nic0.dma.reads"), WRITES);
	ck_assert_uint_gt(stat("nic0.pcie.up_bytes"), 0);
	ck_assert_uint_eq(latency("nic0.latency")->count, WRITES);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_stats");
	TCase *tc = tcase_create("stats");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, NULL, tear_down);
	tcase_add_test(tc, every_step_of_a_write);
	tcase_add_test(tc, latency_of_each);
	tcase_add_test(tc, loss);
	tcase_add_test(tc, corruption);
	tcase_add_test(tc, refused_and_flushed);
	tcase_add_test(tc, receiver_not_ready);
	tcase_add_test(tc, silence);
	tcase_add_test(tc, doorbells_that_nobody_heeds_and_faults);
	tcase_add_test(tc, counts_outlive_the_device);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
