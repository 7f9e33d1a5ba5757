/* The DC transport: commands, every operation in both forms of address vector, connections, contexts. */
#include "models/fabric/roce.h"
#include "sim/fault.h"
#include "tests/models/mlx5_dc_rig.h"

/* Commands. */

START_TEST(target_lives_and_drains)
{
	uint8_t out[BF_DCT_DCTC + BF_DCTC_LEN], *dctc = out + BF_DCT_DCTC;
	struct dc_target t;

	dc_target_open(b, &t, &bcq, DC_KEY, &plain);
	dc_query(b, t.dctn, out);
	ck_assert_uint_eq(BF_MLX5_GET(dctc, BF_DCTC_STATE), BF_DCTC_STATE_ACTIVE);
	ck_assert_uint_eq(bf_get_be64(dctc + BF_DCTC_ACCESS_KEY), DC_KEY);
	ck_assert_uint_eq(BF_MLX5_GET(dctc, BF_DCTC_MTU), 5);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_CQ, bcq.cqn), BF_MLX5_CMD_RES_BUSY);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_DCT, t.dctn), BF_MLX5_CMD_BAD_RES_STATE);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DRAIN_DCT, t.dctn), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DRAIN_DCT, t.dctn), BF_MLX5_CMD_BAD_RES_STATE);
	dc_query(b, t.dctn, out);
	ck_assert_uint_eq(BF_MLX5_GET(dctc, BF_DCTC_STATE), BF_DCTC_STATE_DRAINED);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_DCT, t.dctn), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_DCT, t.dctn), BF_MLX5_CMD_BAD_RES);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_CQ, bcq.cqn), BF_MLX5_CMD_OK);
}
END_TEST

START_TEST(wrong_targets_are_refused)
{
	uint8_t in[BF_CREATE_DCT_LEN], out[16], *dctc = in + BF_DCT_DCTC;

	for (int wrong = 0; wrong < 6; wrong++) {
		memset(in, 0, sizeof(in));
		BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_DCT);
		BF_MLX5_SET(dctc, BF_DCTC_PD, wrong == 0 ? 0xfff : b->pd);
		BF_MLX5_SET(dctc, BF_DCTC_CQN, wrong == 1 ? 0xfff : bcq.cqn);
		BF_MLX5_SET(dctc, BF_DCTC_MTU, wrong == 2 ? 0 : wrong == 3 ? 6 : 5);
		BF_MLX5_SET(dctc, BF_DCTC_PORT, wrong == 4 ? 3 : 2);
		ck_assert_uint_eq(rig_cmd(b, in, sizeof(in), out, sizeof(out)), wrong < 2   ? BF_MLX5_CMD_BAD_RES
										: wrong < 5 ? BF_MLX5_CMD_BAD_PARAM
											    : BF_MLX5_CMD_OK);
	}
}
END_TEST

START_TEST(capabilities)
{
	uint8_t in[16] = { 0 }, out[BF_HCA_CAP + BF_HCA_CAP_LEN], *cap = out + BF_HCA_CAP;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_HCA_CAP);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, BF_HCA_CAP_GENERAL << 1 | 1);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_DCT), 1);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_COMPACT_AV), 1);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_DC_REQ_SCAT_CQE), 0);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_CQE_VERSION), 1);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_NUM_PORTS), 2);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_LOG_MAX_DCI_STREAMS), 6);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_CAP_LOG_MAX_DCT_CONNECTIONS), 1);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, BF_HCA_CAP_ATOMIC << 1 | 1);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_ATOMIC_CAP_OPERATIONS), 15);
	ck_assert_uint_eq(BF_MLX5_GET(cap, BF_ATOMIC_CAP_SIZE_DC), 12);
}
END_TEST

/* Operations: `_i` is the form of the address vector; + 2: with a full handshake. */

START_TEST(every_operation)
{
	uint32_t form = (uint32_t)_i & 1;
	uint16_t last;
	struct dc_target t;
	struct rig_qp q;
	uint8_t w[128] = { 0 };
	uint32_t at;

	open_pair(&q, &t, _i & 2);
	dc_rdma(&q, &t, form, BF_MLX5_OP_RDMA_WRITE, 0, 0x1000, 3000, 0);
	dc_inline(&q, &t, form, 0x3000, "forty bytes of inline data, with a wrap", 40, 0);
	dc_rdma(&q, &t, form, BF_MLX5_OP_RDMA_READ, 0x4000, 0x8000, 4096, 0);
	dc_add(&q, &t, form, 0x6000, 0x9000, 5, 0);
	dc_add(&q, &t, form, 0x6008, 0x9000, 7, 0);
	/* A masked compare-and-swap of 4 bytes. */
	at = dc_head(w, &t, 0, form);
	at += rig_put_raddr(w + at, b->data_va + 0x9008, b->key);
	bf_put_be32(w + at, 0xabcd);
	bf_put_be32(w + at + 8, 0xffff);
	at += 16;
	at += rig_put_data(w + at, 4, a->key, a->data_va + 0x6010);
	rig_post(&q, w, BF_MLX5_OP_ATOMIC_MASKED_CS, BF_MLX5_OPMOD_EXT_4B, at / 16);
	/* NOP and DUMP have no address vector. */
	memset(w, 0, sizeof(w));
	rig_post(&q, w, BF_MLX5_OP_NOP, 0, 1);
	w[11] = RIG_CQE | BF_MLX5_FM_FENCE << 5;
	rig_put_data(w + 16, 1, a->key, a->data_va);
	last = rig_post(&q, w, BF_MLX5_OP_DUMP, 0, 2);
	rig_db(&q);
	rig_run(&rig);
	expect_good(last);
	expect_no_more();
	ck_assert(!memcmp(b->data + 0x1000, a->data, 3000));
	ck_assert_str_eq((const char *)b->data + 0x3000, "forty bytes of inline data, with a wrap");
	ck_assert(!memcmp(a->data + 0x4000, b->data + 0x8000, 4096));
	ck_assert_uint_eq(bf_get_le64(b->data + 0x9000), 12 + (uint64_t)0);
	ck_assert_uint_eq(bf_get_le64(a->data + 0x6008), 5);
	ck_assert_uint_eq(bf_get_le32(b->data + 0x9008), 0xabcd);
	ck_assert_uint_eq(count(a, "dc_connects"), 1);
	ck_assert_uint_eq(count(a, "packets_resent"), 0);
	ck_assert_uint_eq(state_of(&q), BF_MLX5_QPS_RTS);
}
END_TEST

/* SEND and WRITE_IMM need a shared receive queue at the target. */
START_TEST(what_needs_a_receive_queue_is_refused)
{
	struct dc_target t;
	struct rig_qp q;
	uint16_t index;

	open_pair(&q, &t, false);
	index = dc_rdma(&q, &t, DC_FULL, BF_MLX5_OP_RDMA_WRITE_IMM, 0, 0, 100, RIG_CQE);
	dc_rdma(&q, &t, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0, 100, 0);
	rig_db(&q);
	rig_run(&rig);
	expect_bad(index, BF_MLX5_SYND_REM_INV_REQ, 0x8a);
	expect_bad((uint16_t)(index + 2), BF_MLX5_SYND_WR_FLUSH, 0xf9);
	expect_no_more();
	ck_assert_uint_eq(state_of(&q), BF_MLX5_QPS_ERR);
}
END_TEST

/* Connections. */

START_TEST(targets_change)
{
	struct dc_target t[3];
	struct rig_qp q;
	uint16_t last = 0;

	for (uint32_t i = 0; i < 3; i++) /* the last one is at home */
		dc_target_open(i == 2 ? a : b, &t[i], i == 2 ? &acq : &bcq, DC_KEY + i, &plain);
	dc_initiator_open(a, &q, &acq, &usual);
	for (uint32_t i = 0; i < 12; i++)
		last = dc_rdma(&q, &t[i % 3], i & 1, BF_MLX5_OP_RDMA_WRITE, i * 100, 0x20000 + i * 100, 100,
			       i == 11 ? RIG_CQE : 0);
	rig_db(&q);
	rig_run(&rig);
	expect_good(last);
	for (uint32_t i = 0; i < 12; i++)
		ck_assert(!memcmp(t[i % 3].node->data + 0x20000 + i * 100, a->data + i * 100, 100));
	ck_assert_uint_eq(count(a, "dc_connects"), 12);
	ck_assert_uint_eq(count(b, "dc_cnaks_sent"), 0);
}
END_TEST

/* A new target is only spoken to when the old one has acknowledged everything: data there first. */
START_TEST(the_old_target_finishes_first)
{
	struct dc_target t[2];
	struct rig_qp q;

	dc_target_open(b, &t[0], &bcq, DC_KEY, &plain);
	dc_target_open(a, &t[1], &acq, DC_KEY, &plain);
	dc_initiator_open(a, &q, &acq, &usual);
	dc_rdma(&q, &t[0], DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 4096, 0);
	dc_rdma(&q, &t[1], DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 4, RIG_CQE);
	rig_db(&q);
	while (memcmp(a->data, a->data + 0x20000, 4))
		ck_assert(bf_sim_run(rig.sim, rig.sim->now_ps + 10 * BF_NS) != BF_RUN_IDLE);
	ck_assert(!memcmp(b->data + 0x20000, a->data, 4096));
	rig_run(&rig);
}
END_TEST

/* Two contexts, four initiators: those who come when both are taken wait until one is free. */
START_TEST(contexts_are_given_on)
{
	struct dc_target t, home;
	struct rig_qp q[4];

	dc_target_open(b, &t, &bcq, DC_KEY, &plain);
	dc_target_open(a, &home, &acq, DC_KEY, &plain);
	for (uint32_t i = 0; i < 4; i++)
		dc_initiator_open(a, &q[i], &acq, &usual);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 4; i++) {
			dc_add(&q[i], &t, DC_FULL, 0x6000 + 8 * i, 0x9000 + 8 * i, 1 + round, 0);
			dc_rdma(&q[i], &t, 0, BF_MLX5_OP_RDMA_WRITE, i * 64, 0x20000 + i * 64, 64, RIG_CQE);
			rig_db(&q[i]);
		}
		rig_run(&rig);
		for (uint32_t i = 0; i < 4; i++)
			ck_assert_ptr_nonnull(rig_poll(&acq));
		expect_no_more();
		ck_assert_uint_ge(rig.sim->now_ps, BF_MS); /* the first two had to be silent for so long */
	}
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_uint_eq(bf_get_le64(b->data + 0x9000 + 8 * i), 6);
	ck_assert_uint_gt(count(b, "dct_evictions"), 0);
	ck_assert_uint_gt(count(b, "dc_cnaks_sent"), 0);
	ck_assert_uint_eq(count(a, "error_cqes"), 0);
	(void)home;
}
END_TEST

/* The context of an initiator that has gone elsewhere is free at once, and is made again when it comes back. */
START_TEST(disconnected_contexts_go_first)
{
	struct dc_target t, home;
	struct rig_qp q[3];

	dc_target_open(b, &t, &bcq, DC_KEY, &plain);
	dc_target_open(a, &home, &acq, DC_KEY, &plain);
	for (uint32_t i = 0; i < 3; i++) {
		dc_initiator_open(a, &q[i], &acq, &usual);
		dc_add(&q[i], &t, DC_FULL, 0x6000, 0x9000, 1, 0);
		dc_rdma(&q[i], &home, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 8, RIG_CQE);
		rig_db(&q[i]);
		rig_run(&rig);
	}
	ck_assert_uint_eq(count(b, "dct_evictions"), 1);
	ck_assert_uint_eq(count(b, "dc_cnaks_sent"), 0);
	dc_add(&q[0], &t, DC_FULL, 0x6000, 0x9000, 1, RIG_CQE);
	rig_db(&q[0]);
	rig_run(&rig);
	ck_assert_uint_eq(bf_get_le64(b->data + 0x9000), 4);
	ck_assert_uint_eq(count(b, "dct_evictions"), 2);
}
END_TEST

/* A connected initiator whose context was given away in the meantime connects again by itself. */
START_TEST(an_evicted_initiator_comes_back)
{
	struct dc_target t;
	struct rig_qp q[3];

	dc_target_open(b, &t, &bcq, DC_KEY, &plain);
	for (uint32_t i = 0; i < 3; i++) {
		dc_initiator_open(a, &q[i], &acq, &usual);
		dc_add(&q[i], &t, DC_FULL, 0x6000, 0x9000, 1, RIG_CQE);
		rig_db(&q[i]);
		rig_run(&rig);
		bf_sim_run(rig.sim, rig.sim->now_ps + 2 * BF_MS);
	}
	dc_add(&q[0], &t, DC_FULL, 0x6000, 0x9000, 1, RIG_CQE);
	rig_db(&q[0]);
	rig_run(&rig);
	ck_assert_uint_eq(bf_get_le64(b->data + 0x9000), 4);
	ck_assert_uint_eq(count(b, "dct_evictions"), 2);
	ck_assert_uint_ge(count(b, "dc_cnaks_sent"), 1);
	ck_assert_uint_eq(count(a, "error_cqes"), 0);
}
END_TEST

/* CONNECT is lost, twenty packets arrive behind it: each is refused, and they are sent again once. */
START_TEST(a_lost_connect)
{
	struct bf_fault_plan *plan;
	struct dc_target t;
	struct rig_qp q;
	uint16_t index;

	open_pair(&q, &t, false);
	ck_assert(!bf_fault_plan_parse("drop on=nic0.p1 count=1", 1, NULL, &plan));
	rig.sim->faults = plan;
	index = dc_rdma(&q, &t, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 20 * 4096, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	expect_good(index);
	ck_assert(!memcmp(b->data + 0x20000, a->data, 20 * 4096));
	ck_assert_uint_gt(count(b, "dc_cnaks_sent"), 1);
	ck_assert_uint_le(count(a, "packets_resent"), 20);
	ck_assert_uint_eq(count(a, "timeouts"), 0);
	rig.sim->faults = NULL;
	bf_fault_plan_destroy(plan);
}
END_TEST

/* An acknowledgement of another session is none: only that of this one completes the WRITE. */
START_TEST(sessions_are_kept_apart)
{
	const struct bf_port_opts po = {
		.name = "stranger", .ipv4 = 0x0a000063, .ps_per_kib = 20480, .rx = nobody_home
	};
	struct bf_roce_path_opts ro = { .src_ipv4 = b->ipv4, .dst_ipv4 = a->ipv4, .udp_src_port = 0xc001, .ttl = 64 };
	struct bf_roce_path path;
	struct bf_port *port;
	struct dc_target t;
	struct rig_qp q;

	open_pair(&q, &t, false);
	ck_assert(!bf_fabric_attach(rig.fabric, &po, &port));
	bf_port_set_link(bf_mlx5_port(b->dev, 1), false);
	bf_roce_path_init(&path, &ro);
	dc_rdma(&q, &t, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 100, RIG_CQE);
	rig_db(&q);
	for (uint32_t session = 3; session; session--) {
		struct bf_packet *pkt = bf_packet_alloc(rig.fabric);
		struct bf_roce r = { .opcode = BF_RC_ACK,
				     .dc = true,
				     .pkey = 0xffff,
				     .dest_qp = q.qpn,
				     .aeth_syndrome = BF_AETH_ACK,
				     .src_qp = t.dctn,
				     .session = session };

		bf_sim_run(rig.sim, rig.sim->now_ps + 5 * BF_US);
		expect_no_more();
		pkt->len = bf_roce_finish(pkt->data, &r, bf_roce_build(pkt->data, &path, &r), true);
		bf_port_send(port, pkt);
	}
	bf_sim_run(rig.sim, rig.sim->now_ps + 5 * BF_US);
	expect_good(0);
}
END_TEST

static void add(TCase *tc)
{
	tcase_add_test(tc, target_lives_and_drains);
	tcase_add_test(tc, wrong_targets_are_refused);
	tcase_add_test(tc, capabilities);
	tcase_add_loop_test(tc, every_operation, 0, 4);
	tcase_add_test(tc, what_needs_a_receive_queue_is_refused);
	tcase_add_test(tc, targets_change);
	tcase_add_test(tc, the_old_target_finishes_first);
	tcase_add_test(tc, contexts_are_given_on);
	tcase_add_test(tc, disconnected_contexts_go_first);
	tcase_add_test(tc, an_evicted_initiator_comes_back);
	tcase_add_test(tc, a_lost_connect);
	tcase_add_test(tc, sessions_are_kept_apart);
}

int main(void)
{
	return dc_main("mlx5_dc", add);
}
