/*
 * A peer behind an uplink that takes no frames for a while: how many a queue pair makes for it meanwhile, that nothing
 * runs out, and that all arrives once there is room.
 */
#include <check.h>

#include "tests/models/mlx5_rig.h"

#define PATH_MTU 1024u
#define PACKETS 100u

/* The way to node 1: frames wait here in order while it is shut. */
static struct {
	struct bf_port *to;
	struct bf_packet *first, **last;
	uint32_t qpn, held, most, sent;
	uint32_t asked, began; /* time-outs, and those that were new ones */
	bool shut, idle;       /* the peer takes what comes, and has no processor to answer */
} way;

static struct rig_pair p;

static bool takes(void *owner, uint32_t ipv4, const struct bf_packet *pkt)
{
	(void)owner;
	(void)pkt;
	return ipv4 == p.rig.node[1].ipv4;
}

static void send(void *owner, struct bf_packet *pkt)
{
	(void)owner;
	way.sent++;
	if (!way.shut) {
		bf_port_receive(way.to, pkt);
		return;
	}
	pkt->next = NULL;
	*way.last = pkt;
	way.last = &pkt->next;
	way.held++;
	way.most = way.held > way.most ? way.held : way.most;
}

static uint32_t held(void *owner, uint32_t qpn)
{
	(void)owner;
	return qpn == way.qpn ? way.held : 0;
}

/* Frames that wait here are not the peer's fault. */
static bool unanswered(void *owner, uint32_t ipv4, uint32_t qpn, struct bf_fabric_wait *wait)
{
	(void)owner;
	if (!wait->sent)
		way.began++;
	wait->sent = 1;
	way.asked++;
	ck_assert_uint_eq(ipv4, p.rig.node[1].ipv4);
	return qpn != way.qpn || !(way.held || way.idle);
}

static void open_way(void)
{
	way.shut = false;
	while (way.first) {
		struct bf_packet *pkt = way.first;

		way.first = pkt->next;
		way.held--;
		bf_port_receive(way.to, pkt);
	}
	way.last = &way.first;
}

static void setup(void)
{
	static const struct rig_qp_opts o = { .log_sq = 6, .log_rq = 5, .log_stride = 2, .mtu = 3, .retry = 1 };
	static const struct bf_fabric_uplink uplink = {
		.takes = takes, .send = send, .held = held, .unanswered = unanswered
	};

	rig_pair_open(&p, 1, &bf_mlx5_instant, &o); /* where frames leave as they are made */
	memset(&way, 0, sizeof(way));
	way.last = &way.first;
	way.to = bf_mlx5_port(p.rig.node[1].dev, 1);
	way.qpn = p.q[1].qpn;
	way.shut = true;
	ck_assert(!bf_fabric_set_uplink(p.rig.fabric, &uplink));
	for (uint32_t i = 0; i < PACKETS * PATH_MTU; i++)
		p.rig.node[0].data[i] = (uint8_t)(i * 7 + i / 251);
}

static void teardown(void)
{
	open_way();
	rig_close(&p.rig);
}

static void write_packets(uint32_t first, uint32_t n)
{
	struct rig_node *to = &p.rig.node[1];
	const uint32_t at = first * PATH_MTU;

	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, at, to->data_va + at, to->key, n * PATH_MTU, RIG_CQE);
	rig_db(&p.q[0]);
}

static void wait(uint64_t ps)
{
	ck_assert_int_eq(bf_sim_run(p.rig.sim, p.rig.sim->now_ps + ps), BF_RUN_LIMIT);
}

static void expect(uint8_t opcode)
{
	const struct bf_mlx5_cqe *c = rig_poll(&p.scq[0]);

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, opcode);
}

static uint32_t state(void)
{
	struct bf_mlx5_qp_info info;

	ck_assert(!bf_mlx5_qp_info(p.rig.node[0].dev, p.q[0].qpn, &info));
	return info.state;
}

/* Its time-out is 1 ms, and it may try once more: if it did not ask what is held, it would have failed long since. */
START_TEST(no_more_than_the_window_and_no_time_out)
{
	write_packets(0, BF_UPLINK_HELD_MAX);
	wait(BF_US);
	ck_assert_uint_eq(way.held, BF_UPLINK_HELD_MAX);
	write_packets(BF_UPLINK_HELD_MAX, PACKETS - BF_UPLINK_HELD_MAX);
	wait(100 * BF_MS);
	ck_assert_uint_eq(way.sent, BF_UPLINK_HELD_MAX);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
	ck_assert_uint_eq(state(), BF_MLX5_QPS_RTS);

	open_way();
	rig_run(&p.rig);
	expect(BF_MLX5_CQE_REQ);
	expect(BF_MLX5_CQE_REQ);
	ck_assert_uint_eq(way.sent, PACKETS); /* none of them twice */
	ck_assert_mem_eq(p.rig.node[1].data, p.rig.node[0].data, PACKETS * PATH_MTU);
}
END_TEST

/* One less leaves room. */
START_TEST(below_the_window)
{
	write_packets(0, BF_UPLINK_HELD_MAX - 1);
	wait(BF_US);
	write_packets(BF_UPLINK_HELD_MAX - 1, 1);
	wait(BF_US);
	ck_assert_uint_eq(way.sent, BF_UPLINK_HELD_MAX);
}
END_TEST

/* What others have held back is no reason to wait. */
START_TEST(held_for_another_queue_pair)
{
	way.qpn = p.q[1].qpn + 1;
	write_packets(0, BF_UPLINK_HELD_MAX);
	wait(BF_US);
	write_packets(BF_UPLINK_HELD_MAX, PACKETS - BF_UPLINK_HELD_MAX);
	wait(BF_US);
	ck_assert_uint_eq(way.sent, PACKETS);
	open_way();
	rig_run(&p.rig);
	expect(BF_MLX5_CQE_REQ);
	expect(BF_MLX5_CQE_REQ);
	ck_assert_mem_eq(p.rig.node[1].data, p.rig.node[0].data, PACKETS * PATH_MTU);
}
END_TEST

/* Frames that have left and are not answered are what a time-out is for: each twice, then it is over. */
START_TEST(what_has_left_runs_out)
{
	way.qpn = 0;
	write_packets(0, PACKETS);
	rig_run(&p.rig);
	expect(BF_MLX5_CQE_REQ_ERR);
	ck_assert_uint_eq(way.sent, 2 * PACKETS);
}
END_TEST

/* What was held finds a receiver that is no more: it is silent, and its peer gives up. */
START_TEST(the_receiver_goes_meanwhile)
{
	write_packets(0, PACKETS);
	wait(BF_MS);
	ck_assert_uint_eq(way.held, PACKETS);
	ck_assert(!rig_modify(&p.q[1], BF_MLX5_CMD_2RST_QP, &p.q[0], &(struct rig_qp_opts){ 0 }));
	open_way();
	rig_run(&p.rig);
	expect(BF_MLX5_CQE_REQ_ERR);
	ck_assert_uint_eq(p.rig.node[1].data[0], 0);
}
END_TEST

/*
 * Its time-out asks every millisecond. Those that it had to wait for did not use up its only retry: from then on it has
 * both time-outs, of 1 ms each, and not sooner.
 */
START_TEST(a_peer_without_a_processor)
{
	way.idle = true;
	ck_assert(!rig_modify(&p.q[1], BF_MLX5_CMD_2RST_QP, &p.q[0], &(struct rig_qp_opts){ 0 }));
	open_way();
	write_packets(0, 1); /* it leaves, and is lost */
	wait(100 * BF_MS);
	ck_assert_uint_eq(way.sent, 1);
	ck_assert_uint_ge(way.asked, 90);
	ck_assert_uint_le(way.asked, 101);
	ck_assert_uint_eq(way.began, 1);
	ck_assert_uint_eq(state(), BF_MLX5_QPS_RTS);
	way.idle = false;
	wait(BF_MS);
	ck_assert_uint_eq(way.sent, 2);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
	rig_run(&p.rig);
	expect(BF_MLX5_CQE_REQ_ERR);
	ck_assert_uint_eq(way.sent, 2);
	ck_assert_uint_eq(way.began, 2);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_uplink");
	TCase *tc = tcase_create("held");
	SRunner *sr;
	int failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, no_more_than_the_window_and_no_time_out);
	tcase_add_test(tc, below_the_window);
	tcase_add_test(tc, held_for_another_queue_pair);
	tcase_add_test(tc, what_has_left_runs_out);
	tcase_add_test(tc, the_receiver_goes_meanwhile);
	tcase_add_test(tc, a_peer_without_a_processor);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
