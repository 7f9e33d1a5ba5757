/* The DC transport when something is wrong: keys, targets, ports; and streams, which fail alone. */
#include "tests/models/mlx5_dc_rig.h"

/* Errors. */

enum {
	BAD_KEY,
	UNKNOWN_DCT,
	DRAINED,
	WRONG_PORT,
	PORT_DOWN,
	NEEDS_FULL,
	BAD_RKEY,
	NO_WRITE,
	BAD_GID,
	BAD_LKEY,
	ERRORS
};

START_TEST(errors_reach_the_initiator)
{
	static const struct {
		uint8_t syndrome, vendor;
	} expected[ERRORS] = {
		[BAD_KEY] = { BF_MLX5_SYND_REM_ACCESS, 0x88 },  [UNKNOWN_DCT] = { BF_MLX5_SYND_RETRY_EXC, 0x81 },
		[DRAINED] = { BF_MLX5_SYND_RETRY_EXC, 0x81 },   [WRONG_PORT] = { BF_MLX5_SYND_RETRY_EXC, 0x81 },
		[PORT_DOWN] = { BF_MLX5_SYND_RETRY_EXC, 0x81 }, [NEEDS_FULL] = { BF_MLX5_SYND_REM_INV_REQ, 0x8a },
		[BAD_RKEY] = { BF_MLX5_SYND_REM_ACCESS, 0x88 }, [NO_WRITE] = { BF_MLX5_SYND_REM_INV_REQ, 0x8a },
		[BAD_GID] = { BF_MLX5_SYND_LOCAL_QP_OP, 0x61 }, [BAD_LKEY] = { BF_MLX5_SYND_LOCAL_PROT, 0x53 },
	};
	struct dc_target_opts to = { .port = _i == WRONG_PORT ? 2 : 1,
				     .no_access = _i == NO_WRITE ? 2 : 0,
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

/* The refused message is over, though it has no end: the target need not wait for more of it when it drains. */
START_TEST(a_target_drains_after_a_refusal)
{
	struct dc_target t;
	struct rig_qp q;
	uint16_t index;

	open_pair(&q, &t, true);
	index = dc_rdma(&q, &t, DC_FULL, BF_MLX5_OP_RDMA_WRITE, 0, 0x7fffffff, 100, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
	expect_bad(index, BF_MLX5_SYND_REM_ACCESS, 0x88);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DRAIN_DCT, t.dctn), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_DCT, t.dctn), BF_MLX5_CMD_OK);
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

static void add(TCase *tc)
{
	tcase_add_loop_test(tc, errors_reach_the_initiator, 0, ERRORS);
	tcase_add_test(tc, a_target_drains_after_a_refusal);
	tcase_add_test(tc, an_initiator_recovers);
	tcase_add_loop_test(tc, a_queue_pair_uses_its_port, 0, 8);
	tcase_add_test(tc, a_port_that_is_down);
	tcase_add_test(tc, streams_fail_alone);
	tcase_add_test(tc, too_many_streams_fail);
	tcase_add_test(tc, stream_numbers_fold);
	tcase_add_test(tc, streams_share_a_ring);
}

int main(void)
{
	return dc_main("mlx5_dc_errors", add);
}
