/*
 * The DC transport: commands, every operation in both forms of address vector, connections, contexts, errors, ports,
 * streams, faults.
 */
#include <check.h>

#include "models/fabric/roce.h"
#include "sim/fault.h"
#include "sim/rng.h"
#include "sim/stats.h"
#include "tests/models/mlx5_dc.h"

static struct rig rig;
static struct rig_node *a, *b;
static struct rig_cq acq, bcq;
static struct bf_mlx5_profile profile;

static const struct rig_qp_opts usual = { .log_sq = 6, .log_rd = 3, .retry = 2, .timeout = 4 };
static const struct dc_target_opts plain;

static void setup(void)
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

static void teardown(void)
{
	rig_close(&rig);
}

static uint32_t state_of(const struct rig_qp *q)
{
	struct bf_mlx5_qp_info info;

	ck_assert(!bf_mlx5_qp_info(q->node->dev, q->qpn, &info));
	return info.state;
}

static void expect_good(uint16_t index)
{
	const struct bf_mlx5_cqe *c = rig_poll(&acq);

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_uint_eq(bf_be16(c->wqe_counter), index);
}

static void expect_bad(uint16_t index, uint8_t syndrome, uint8_t vendor)
{
	const struct bf_mlx5_err_cqe *e = (const void *)rig_poll(&acq);

	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	ck_assert_uint_eq(bf_be16(e->wqe_counter), index);
	ck_assert_uint_eq(e->syndrome, syndrome);
	ck_assert_uint_eq(e->vendor_err_synd, vendor);
}

static void expect_no_more(void)
{
	ck_assert_ptr_null(rig_poll(&acq));
}

struct wanted {
	char name[48];
	uint64_t value;
	bool found;
};

static void look(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *hist)
{
	struct wanted *w = arg;

	(void)unit;
	(void)hist;
	if (strcmp(name, w->name))
		return;
	w->value = counter ? *counter : 0;
	w->found = true;
}

static uint64_t count(struct rig_node *n, const char *name)
{
	struct wanted w = { .value = 0 };

	snprintf(w.name, sizeof(w.name), "%s.%s", n == a ? "nic0" : "nic1", name);
	bf_stats_each(rig.sim, look, &w);
	ck_assert_msg(w.found, "%s", w.name);
	return w.value;
}

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

static void open_pair(struct rig_qp *q, struct dc_target *t, bool full)
{
	struct rig_qp_opts o = usual;

	o.full = full;
	dc_target_open(b, t, &bcq, DC_KEY, &plain);
	dc_initiator_open(a, q, &acq, &o);
}

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

static void nobody_home(void *owner, struct bf_packet *pkt)
{
	(void)owner;
	bf_packet_free(pkt);
}

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
		struct bf_roce r = { .opcode = BF_RC_ACK, .dc = true, .pkey = 0xffff, .dest_qp = q.qpn,
				     .aeth_syndrome = BF_AETH_ACK, .src_qp = t.dctn, .session = session };

		bf_sim_run(rig.sim, rig.sim->now_ps + 5 * BF_US);
		expect_no_more();
		pkt->len = bf_roce_finish(pkt->data, &r, bf_roce_build(pkt->data, &path, &r), true);
		bf_port_send(port, pkt);
	}
	bf_sim_run(rig.sim, rig.sim->now_ps + 5 * BF_US);
	expect_good(0);
}
END_TEST

/* Errors. */

enum { BAD_KEY, UNKNOWN_DCT, DRAINED, WRONG_PORT, PORT_DOWN, NEEDS_FULL, BAD_RKEY, NO_WRITE, BAD_GID, BAD_LKEY,
       ERRORS };

START_TEST(errors_reach_the_initiator)
{
	static const struct {
		uint8_t syndrome, vendor;
	} expected[ERRORS] = {
		[BAD_KEY] = { BF_MLX5_SYND_REM_ACCESS, 0x88 },
		[UNKNOWN_DCT] = { BF_MLX5_SYND_RETRY_EXC, 0x81 },
		[DRAINED] = { BF_MLX5_SYND_RETRY_EXC, 0x81 },
		[WRONG_PORT] = { BF_MLX5_SYND_RETRY_EXC, 0x81 },
		[PORT_DOWN] = { BF_MLX5_SYND_RETRY_EXC, 0x81 },
		[NEEDS_FULL] = { BF_MLX5_SYND_REM_INV_REQ, 0x8a },
		[BAD_RKEY] = { BF_MLX5_SYND_REM_ACCESS, 0x88 },
		[NO_WRITE] = { BF_MLX5_SYND_REM_INV_REQ, 0x8a },
		[BAD_GID] = { BF_MLX5_SYND_LOCAL_QP_OP, 0x61 },
		[BAD_LKEY] = { BF_MLX5_SYND_LOCAL_PROT, 0x53 },
	};
	struct dc_target_opts to = { .port = _i == WRONG_PORT ? 2 : 1, .no_access = _i == NO_WRITE ? 2 : 0,
				     .full = _i == NEEDS_FULL };
	uint8_t out[BF_DCT_DCTC + BF_DCTC_LEN], w[128] = { 0 };
	struct dc_target t, other;
	struct rig_qp q, q2;
	uint16_t index;
	uint32_t at;

	dc_target_open(b, &t, &bcq, DC_KEY, &to);
	dc_target_open(b, &other, &bcq, DC_KEY, &plain);
	dc_initiator_open(a, &q, &acq, &usual);
	if (_i == BAD_KEY)
		t.key++;
	if (_i == UNKNOWN_DCT)
		t.dctn += 100;
	if (_i == DRAINED)
		ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DRAIN_DCT, t.dctn), 0);
	if (_i == WRONG_PORT)
		t.port = 1;
	if (_i == PORT_DOWN)
		bf_port_set_link(bf_mlx5_port(b->dev, 1), false);
	at = dc_head(w, &t, RIG_CQE, DC_FULL);
	if (_i == BAD_GID)
		w[48] = 0xfe;
	at += rig_put_raddr(w + at, b->data_va + 0x20000, _i == BAD_RKEY ? b->key + 1 : b->key);
	at += rig_put_data(w + at, 100, a->key, _i == BAD_LKEY ? a->data_va + RIG_DATA : a->data_va);
	index = rig_post(&q, w, BF_MLX5_OP_RDMA_WRITE, 0, at / 16);
	dc_rdma(&q, &other, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 100, 0);
	rig_db(&q);
	rig_run(&rig);
	expect_bad(index, expected[_i].syndrome, expected[_i].vendor);
	expect_bad((uint16_t)(index + 2), BF_MLX5_SYND_WR_FLUSH, 0xf9);
	expect_no_more();
	ck_assert_uint_eq(state_of(&q), BF_MLX5_QPS_ERR);
	ck_assert_uint_eq(b->data[0x20000], 0);
	dc_query(b, _i == BAD_KEY ? t.dctn : other.dctn, out);
	ck_assert_uint_eq(BF_MLX5_GET(out + BF_DCT_DCTC, BF_DCTC_KEY_VIOLATIONS), _i == BAD_KEY);
	/* The target is there for others all the same. */
	if (_i == PORT_DOWN)
		bf_port_set_link(bf_mlx5_port(b->dev, 1), true);
	dc_initiator_open(a, &q2, &acq, &usual);
	index = dc_rdma(&q2, &other, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 100, RIG_CQE);
	rig_db(&q2);
	rig_run(&rig);
	expect_good(index);
}
END_TEST

/* After an error the initiator goes through RESET and is as new; sessions keep counting, so the target knows it. */
START_TEST(an_initiator_recovers)
{
	struct dc_target t;
	struct rig_qp q;
	struct rig_qp_opts o = usual;
	uint16_t index;

	open_pair(&q, &t, false);
	index = dc_rdma(&q, &t, DC_FULL, BF_MLX5_OP_RDMA_WRITE_IMM, 0, 0, 100, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	expect_bad(index, BF_MLX5_SYND_REM_INV_REQ, 0x8a);
	o.st = BF_QPC_ST_DCI;
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_2RST_QP, q.qpn), 0);
	bf_put_be32(q.dbr + 4, 0);
	q.sq_pi = 0;
	rig_connect(&q, &q, &o);
	index = dc_rdma(&q, &t, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 100, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	expect_good(index);
	ck_assert(!memcmp(b->data + 0x20000, a->data, 100));
}
END_TEST

/* Ports. */

static uint32_t port_state(struct rig_node *n, uint32_t port)
{
	uint8_t in[32] = { 0 }, out[32];

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_ACCESS_REG);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, BF_ACCESS_REG_READ);
	BF_MLX5_SET(in, BF_ACCESS_REG_ID, BF_REG_PAOS);
	BF_MLX5_SET(in + BF_ACCESS_REG_DATA, BF_PAOS_PORT, port);
	if (rig_cmd(n, in, sizeof(in), out, sizeof(out)))
		return 0;
	return BF_MLX5_GET(out + BF_ACCESS_REG_DATA, BF_PAOS_OPER);
}

/* The same traffic over either port; the other one is down. */
START_TEST(a_queue_pair_uses_its_port)
{
	uint32_t port = 1 + ((uint32_t)_i & 1), other = 3 - port;
	struct rig_qp_opts o = usual;
	struct dc_target_opts to = { .port = port };
	struct bf_port_info info;
	struct dc_target t;
	struct rig_qp q, peer;
	uint16_t index;

	o.port = port;
	for (uint32_t i = 0; i < 2; i++)
		bf_port_set_link(bf_mlx5_port(rig.node[i].dev, other), false);
	ck_assert_uint_eq(port_state(a, port), BF_PAOS_UP);
	ck_assert_uint_eq(port_state(a, other), BF_PAOS_DOWN);
	ck_assert_uint_eq(port_state(a, 3), 0);
	if (_i & 2) {
		dc_target_open(b, &t, &bcq, DC_KEY, &to);
		dc_initiator_open(a, &q, &acq, &o);
		index = dc_rdma(&q, &t, _i & 4 ? 0 : DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 100, RIG_CQE);
	} else {
		o.no_rq = true;
		rig_qp_open(a, &q, &acq, &acq, &o);
		rig_qp_open(b, &peer, &bcq, &bcq, &o);
		rig_connect(&q, &peer, &o);
		rig_connect(&peer, &q, &o);
		index = rig_rdma(&q, BF_MLX5_OP_RDMA_WRITE, 0, b->data_va + 0x20000, b->key, 100, RIG_CQE);
	}
	rig_db(&q);
	rig_run(&rig);
	expect_good(index);
	ck_assert(!memcmp(b->data + 0x20000, a->data, 100));
	bf_port_info(bf_mlx5_port(b->dev, port), &info);
	ck_assert_uint_gt(info.rx_packets, 0);
	bf_port_info(bf_mlx5_port(b->dev, other), &info);
	ck_assert_uint_eq(info.rx_packets, 0);
}
END_TEST

/* A link that is down costs the retries, then 0x15; the other port is not tried. */
START_TEST(a_port_that_is_down)
{
	struct rig_qp_opts o = usual;
	struct rig_qp q, peer;
	uint16_t index;

	o.no_rq = true;
	o.port = 2;
	rig_qp_open(a, &q, &acq, &acq, &o);
	rig_qp_open(b, &peer, &bcq, &bcq, &o);
	rig_connect(&q, &peer, &o);
	rig_connect(&peer, &q, &o);
	bf_port_set_link(bf_mlx5_port(a->dev, 2), false);
	index = rig_rdma(&q, BF_MLX5_OP_RDMA_WRITE, 0, b->data_va + 0x20000, b->key, 100, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	expect_bad(index, BF_MLX5_SYND_RETRY_EXC, 0x81);
	ck_assert_uint_eq(count(a, "timeouts"), 3);
}
END_TEST

/* Streams. */

static uint32_t reset_stream(struct rig_qp *q, uint32_t stream)
{
	uint8_t in[BF_MODIFY_QP_EXT_LEN] = { 0 }, out[16];

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_RTS2RTS_QP);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, q->qpn);
	BF_MLX5_SET(in, BF_MODIFY_QP_EXT, 1);
	bf_put_be64(in + BF_MODIFY_QP_EXT_MASK, BF_MODIFY_QP_EXT_MASK_STREAM);
	BF_MLX5_SET(in, BF_MODIFY_QP_EXT_STREAM, stream);
	return rig_cmd(q->node, in, sizeof(in), out, sizeof(out));
}

/* A stream whose target is dead does not hold up the others, and fails alone; reset, it works again. */
START_TEST(streams_fail_alone)
{
	struct rig_qp_opts o = usual;
	struct dc_target t[2], dead;
	struct rig_qp q;
	uint16_t bad, good[2];

	o.log_streams = 2;
	o.log_errored = 1;
	for (uint32_t i = 0; i < 2; i++)
		dc_target_open(b, &t[i], &bcq, DC_KEY + i, &plain);
	dead = t[1];
	dead.dctn += 100;
	dc_initiator_open(a, &q, &acq, &o);
	bad = dc_rdma(&q, &dead, DC_FULL | 1 * DC_STREAM, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 100, RIG_CQE);
	good[0] = dc_rdma(&q, &t[0], DC_FULL | 0 * DC_STREAM, BF_MLX5_OP_RDMA_WRITE, 0, 0x21000, 5000, RIG_CQE);
	good[1] = dc_rdma(&q, &t[1], DC_FULL | 3 * DC_STREAM, BF_MLX5_OP_RDMA_READ, 0x40000, 0x8000, 1000, RIG_CQE);
	dc_rdma(&q, &t[0], DC_FULL | 1 * DC_STREAM, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 100, 0);
	rig_db(&q);
	rig_run(&rig);
	expect_good(good[1]); /* one packet's answer is back before three are acknowledged */
	expect_good(good[0]);
	expect_bad(bad, BF_MLX5_SYND_RETRY_EXC, 0x81);
	expect_bad((uint16_t)(bad + 6), BF_MLX5_SYND_WR_FLUSH, 0xf9);
	expect_no_more();
	ck_assert_uint_eq(state_of(&q), BF_MLX5_QPS_RTS);
	ck_assert_uint_eq(b->data[0x20000], 0);
	ck_assert(!memcmp(b->data + 0x21000, a->data, 5000));
	ck_assert(!memcmp(a->data + 0x40000, b->data + 0x8000, 1000));
	ck_assert_uint_eq(reset_stream(&q, 0), BF_MLX5_CMD_BAD_PARAM); /* is well */
	ck_assert_uint_eq(reset_stream(&q, 4), BF_MLX5_CMD_BAD_PARAM); /* the same one */
	ck_assert_uint_eq(reset_stream(&q, 5), BF_MLX5_CMD_OK);        /* 1 */
	ck_assert_uint_eq(reset_stream(&q, 1), BF_MLX5_CMD_BAD_PARAM); /* is well again */
	good[0] = dc_rdma(&q, &t[0], DC_FULL | 1 * DC_STREAM, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 100, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	expect_good(good[0]);
	ck_assert(!memcmp(b->data + 0x20000, a->data, 100));
}
END_TEST

/* The number of streams in error that the DCI bears is reached: everything is flushed. */
START_TEST(too_many_streams_fail)
{
	struct rig_qp_opts o = usual;
	struct dc_target t;
	struct rig_qp q;
	uint16_t bad[2];

	o.log_streams = 2;
	o.log_errored = 1;
	dc_target_open(b, &t, &bcq, DC_KEY, &plain);
	dc_initiator_open(a, &q, &acq, &o);
	for (uint32_t i = 0; i < 2; i++)
		bad[i] = dc_rdma(&q, &t, DC_FULL | i * DC_STREAM, BF_MLX5_OP_RDMA_WRITE_IMM, 0, 0, 100, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	expect_bad(bad[0], BF_MLX5_SYND_REM_INV_REQ, 0x8a);
	expect_bad(bad[1], BF_MLX5_SYND_REM_INV_REQ, 0x8a);
	ck_assert_uint_eq(state_of(&q), BF_MLX5_QPS_ERR);
	bad[0] = dc_rdma(&q, &t, DC_FULL | 2 * DC_STREAM, BF_MLX5_OP_RDMA_WRITE, 0, 0, 100, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	expect_bad(bad[0], BF_MLX5_SYND_WR_FLUSH, 0xf9);
	expect_no_more();
}
END_TEST

/* Of a channel's number the low bits count: 2 of two channels is 0, and fails with it. */
START_TEST(stream_numbers_fold)
{
	struct rig_qp_opts o = usual;
	struct dc_target t, wrong;
	struct rig_qp q;
	uint16_t index[3];

	o.log_streams = 1;
	o.log_errored = 1;
	dc_target_open(b, &t, &bcq, DC_KEY, &plain);
	wrong = t;
	wrong.key++;
	dc_initiator_open(a, &q, &acq, &o);
	index[0] = dc_rdma(&q, &wrong, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 100, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	expect_bad(index[0], BF_MLX5_SYND_REM_ACCESS, 0x88);
	index[1] = dc_rdma(&q, &t, DC_FULL | 2 * DC_STREAM, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 100, RIG_CQE);
	index[2] = dc_rdma(&q, &t, DC_FULL | 3 * DC_STREAM, BF_MLX5_OP_RDMA_WRITE, 0, 0x20000, 100, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	expect_bad(index[1], BF_MLX5_SYND_WR_FLUSH, 0xf9);
	expect_good(index[2]);
}
END_TEST

/* All streams, all targets, a ring that wraps many times. */
START_TEST(streams_share_a_ring)
{
	struct rig_qp_opts o = usual;
	struct dc_target t[4];
	struct rig_qp q;
	uint32_t done = 0;

	o.log_streams = 3;
	for (uint32_t i = 0; i < 4; i++)
		dc_target_open(i & 1 ? a : b, &t[i], i & 1 ? &acq : &bcq, DC_KEY, &plain);
	dc_initiator_open(a, &q, &acq, &o);
	for (uint32_t i = 0; i < 400; i++) {
		dc_add(&q, &t[i % 4], DC_FULL | (i % 8) * DC_STREAM, 0x6000, 0x50000, 1, RIG_CQE);
		if (i % 16 == 15) {
			rig_db(&q);
			rig_run(&rig);
			while (rig_poll(&acq))
				done++;
		}
	}
	ck_assert_uint_eq(done, 400);
	ck_assert_uint_eq(bf_get_le64(a->data + 0x50000), 200);
	ck_assert_uint_eq(bf_get_le64(b->data + 0x50000), 200);
	ck_assert_uint_eq(count(a, "error_cqes"), 0);
}
END_TEST

/* Packets that nobody of ours sent: spoofed, random, in any order. The work under way goes on. */
START_TEST(hostile_packets)
{
	const struct bf_port_opts po = {
		.name = "stranger", .ipv4 = 0x0a000063, .ps_per_kib = 20480, .rx = nobody_home
	};
	struct bf_roce_path_opts ro = { .src_ipv4 = po.ipv4, .dst_ipv4 = b->ipv4, .udp_src_port = 0xc001, .ttl = 64 };
	struct bf_roce_path path;
	struct bf_port *port;
	struct dc_target t;
	struct bf_rng rng;
	struct rig_qp q;
	uint32_t added = 0;

	open_pair(&q, &t, false);
	ck_assert(!bf_fabric_attach(rig.fabric, &po, &port));
	bf_rng_init(&rng, 7, "hostile");
	for (uint32_t i = 0; i < 3000; i++) {
		struct bf_packet *pkt = bf_packet_alloc(rig.fabric);
		uint8_t op = (uint8_t)(BF_DC_FIRST + bf_rng_below(&rng, 32));
		struct bf_roce r = {
			.opcode = bf_roce_rc_opcode(op), .dc = true, .ack_req = true, .pkey = 0xffff,
			.dest_qp = bf_rng_chance(&rng, 500000) ? t.dctn : q.qpn,
			.psn = (uint32_t)bf_rng_below(&rng, 4), .va = b->data_va + 0x70000, .rkey = b->key,
			.dma_len = (uint32_t)bf_rng_below(&rng, 200), .atomic_size = 8,
			.src_qp = bf_rng_chance(&rng, 500000) ? t.dctn : (uint32_t)bf_rng_below(&rng, 3),
			.session = (uint32_t)bf_rng_below(&rng, 3), .stream = (uint16_t)bf_rng_below(&rng, 2),
			.dc_key = bf_rng_chance(&rng, 800000) ? DC_KEY : 1,
			.dc_flags = (uint8_t)bf_rng_below(&rng, 2), .dc_info = (uint32_t)bf_rng_below(&rng, 6),
		};

		if (!bf_roce_opcode_info(op)) {
			bf_packet_free(pkt);
			continue;
		}
		if (bf_roce_opcode_info(op) & BF_ROCE_HAS_PAYLOAD)
			r.payload_len = r.dma_len;
		ro.dst_ipv4 = bf_rng_chance(&rng, 700000) ? b->ipv4 : a->ipv4;
		bf_roce_path_init(&path, &ro);
		pkt->len = bf_roce_finish(pkt->data, &r, bf_roce_build(pkt->data, &path, &r), true);
		bf_port_send(port, pkt);
		if (i % 50 == 0) {
			uint16_t index = dc_add(&q, &t, DC_FULL, 0x6000, 0x9000, 1, RIG_CQE);

			rig_db(&q);
			rig_run(&rig);
			expect_good(index);
			added++;
		}
	}
	rig_run(&rig);
	ck_assert_uint_eq(bf_get_le64(b->data + 0x9000), added);
	ck_assert_uint_eq(state_of(&q), BF_MLX5_QPS_RTS);
}
END_TEST

/* Faults: whatever the network does, data are right and atomics happen once. */

static const char *const plans[] = {
	"drop prob=0.05",
	"duplicate prob=0.1",
	"reorder prob=0.1 delay=3us",
	"corrupt prob=0.05",
	"delay prob=0.05 delay=30us; drop prob=0.02",
	"drop prob=0.03; duplicate prob=0.03; reorder prob=0.03; corrupt prob=0.03; delay prob=0.02",
};
#define PLANS 6

#define ROUNDS 25u

struct chaos {
	struct dc_target t[4];
	struct rig_qp q[3];
	uint64_t sum[4];
	uint64_t writes[3 * ROUNDS * 4]; /* place << 13 | length */
};

static void chaos_post(struct chaos *c, struct bf_rng *rng, uint32_t i, uint32_t *at)
{
	struct rig_qp *q = &c->q[i % 3];

	for (uint32_t k = 0; k < 4; k++) {
		uint32_t to = (uint32_t)bf_rng_below(rng, 4), len = 1 + (uint32_t)bf_rng_below(rng, 6000);
		uint32_t form = bf_rng_chance(rng, 500000) ? DC_FULL : 0;
		uint64_t value = bf_rng_next(rng) >> 8;

		if (i % 3 == 2)
			form |= (uint32_t)bf_rng_below(rng, 4) * DC_STREAM;
		if (bf_rng_chance(rng, 400000)) {
			dc_add(q, &c->t[to], form, 0x6000 + 8 * (i % 64), 0x9000 + 8 * to, value, RIG_CQE);
			c->sum[to] += value;
		} else {
			dc_rdma(q, &c->t[to], form, BF_MLX5_OP_RDMA_WRITE, 0xc0000 + *at % 0x1000, 0x40000 + *at, len,
				RIG_CQE);
			c->writes[i * 4 + k] = (uint64_t)*at << 13 | len;
			*at += len;
		}
	}
	rig_db(q);
}

static uint64_t chaos_run(const char *plan_text, uint64_t seed, bool full)
{
	struct rig_qp_opts o = { .log_sq = 6, .log_rd = 3, .retry = 7, .timeout = 5, .full = full };
	static struct chaos c;
	struct bf_fault_plan *plan;
	struct bf_rng rng;
	uint32_t at = 0, done = 0;
	uint64_t end;

	teardown();
	memset(&c, 0, sizeof(c));
	profile = bf_mlx5_cx7;
	profile.dct_contexts = 16;
	rig_open_ports(&rig, seed, &profile, 2);
	a = &rig.node[0];
	b = &rig.node[1];
	rig_cq_open(a, &acq, 10, 0);
	rig_cq_open(b, &bcq, 10, 0);
	for (uint32_t i = 0; i < 0x8000; i++)
		a->data[0xc0000 + i] = (uint8_t)(i * 7 + i / 256);
	ck_assert(!bf_fault_plan_parse(plan_text, seed, NULL, &plan));
	rig.sim->faults = plan;
	bf_rng_init(&rng, seed, "dc");
	for (uint32_t i = 0; i < 4; i++)
		dc_target_open(b, &c.t[i], &bcq, DC_KEY + i, &plain);
	for (uint32_t i = 0; i < 3; i++) {
		o.log_streams = i == 2 ? 2 : 0;
		dc_initiator_open(a, &c.q[i], &acq, &o);
	}
	for (uint32_t i = 0; i < 3 * ROUNDS; i++) {
		chaos_post(&c, &rng, i, &at);
		if (i % 3 == 2 && i % 6 == 5)
			rig_run(&rig);
	}
	rig_run(&rig);
	for (const struct bf_mlx5_cqe *e; (e = rig_poll(&acq)); done++)
		ck_assert_msg(e->op_own >> 4 == BF_MLX5_CQE_REQ, "%s, seed %llu: syndrome 0x%x", plan_text,
			      (unsigned long long)seed, ((const struct bf_mlx5_err_cqe *)(const void *)e)->syndrome);
	ck_assert_uint_eq(done, 3 * ROUNDS * 4);
	for (uint32_t i = 0; i < 4; i++)
		ck_assert_msg(bf_get_le64(b->data + 0x9000 + 8 * i) == c.sum[i], "%s, seed %llu: sum %u", plan_text,
			      (unsigned long long)seed, i);
	for (uint32_t i = 0; i < BF_ARRAY_LEN(c.writes); i++)
		ck_assert(!memcmp(b->data + 0x40000 + (c.writes[i] >> 13),
				  a->data + 0xc0000 + (c.writes[i] >> 13) % 0x1000, c.writes[i] & 0x1fff));
	end = rig.sim->now_ps;
	rig.sim->faults = NULL;
	bf_fault_plan_destroy(plan);
	return end;
}

START_TEST(faults)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		for (int full = 0; full < 2; full++)
			ck_assert_uint_eq(chaos_run(plans[_i], seed, full), chaos_run(plans[_i], seed, full));
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_dc");
	TCase *tc = tcase_create("dc");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
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
	tcase_add_loop_test(tc, errors_reach_the_initiator, 0, ERRORS);
	tcase_add_test(tc, an_initiator_recovers);
	tcase_add_loop_test(tc, a_queue_pair_uses_its_port, 0, 8);
	tcase_add_test(tc, a_port_that_is_down);
	tcase_add_test(tc, streams_fail_alone);
	tcase_add_test(tc, too_many_streams_fail);
	tcase_add_test(tc, stream_numbers_fold);
	tcase_add_test(tc, streams_share_a_ring);
	tcase_add_test(tc, hostile_packets);
	tcase_add_loop_test(tc, faults, 0, PLANS);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
