/* The requester, packet by packet: IBA vol. 1 section 9.7; docs/hardware/mlx5.md#qp-states, docs/hardware/roce.md. */
#include "tests/models/mlx5_peer.h"

static void post_write(uint64_t local, uint32_t len, uint8_t flags)
{
	rig_rdma(&q, BF_MLX5_OP_RDMA_WRITE, local, 0x10000, 0x700, len, flags);
}

static void post_read(uint64_t local, uint32_t len, uint8_t flags)
{
	rig_rdma(&q, BF_MLX5_OP_RDMA_READ, local, 0x10000, 0x700, len, flags);
}

static void aeth(uint8_t syndrome, uint32_t k)
{
	send_packet((struct bf_roce){ .opcode = BF_RC_ACK, .psn = psn(k), .aeth_syndrome = syndrome }, filler);
}

static void read_response(uint8_t opcode, uint32_t k, uint32_t len, uint8_t fill)
{
	memset(filler, fill, sizeof(filler));
	send_packet(
	    (struct bf_roce){ .opcode = opcode, .psn = psn(k), .aeth_syndrome = BF_AETH_ACK, .payload_len = len },
	    filler);
}

static void ring(void)
{
	rig_db(&q);
	settle();
}

static void expect_done(uint16_t index)
{
	const struct bf_mlx5_cqe *c = rig_poll(&scq);

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_uint_eq(bf_be16(c->wqe_counter), index);
}

static void expect_failed(uint16_t index, uint8_t syndrome)
{
	const struct bf_mlx5_err_cqe *c = (const void *)rig_poll(&scq);

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	ck_assert_uint_eq(bf_be16(c->wqe_counter), index);
	ck_assert_uint_eq(c->syndrome, syndrome);
}

static void expect_no_cqe(void)
{
	ck_assert_ptr_null(rig_poll(&scq));
}

/* Another UDP source port on the way, as mlx5dv_modify_qp_udp_sport() asks: all else of the path stays. */
START_TEST(source_port_changes)
{
	uint8_t in[BF_MODIFY_QP_EXT_LEN] = { 0 }, out[16];
	struct bf_roce before;

	post_write(0, 64, 0);
	ring();
	before = seen[0].r;
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_RTS2RTS_QP);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, q.qpn);
	BF_MLX5_SET(in + BF_QP_QPC + BF_QPC_PATH, BF_PATH_UDP_SPORT, 55555);
	bf_put_be64(in + BF_MODIFY_QP_EXT_MASK, 1 << 3);
	ck_assert_uint_eq(rig_cmd(n, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_PARAM);
	bf_put_be64(in + BF_MODIFY_QP_EXT_MASK, BF_MODIFY_QP_EXT_MASK_STREAM); /* without the extension, of no DCI */
	ck_assert_uint_eq(rig_cmd(n, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_PARAM);
	bf_put_be64(in + BF_MODIFY_QP_EXT_MASK, BF_MODIFY_QP_EXT_MASK_UDP_SPORT);
	ck_assert_uint_eq(rig_cmd(n, in, sizeof(in), out, sizeof(out)), 0);
	post_write(0, 64, 0);
	ring();
	ck_assert_uint_ne(before.src_port, 55555);
	ck_assert_uint_eq(seen[1].r.src_port, 55555);
	ck_assert_uint_eq(seen[1].r.src_ipv4, before.src_ipv4);
	ck_assert_uint_eq(seen[1].r.dst_ipv4, PEER_IPV4);
}
END_TEST

START_TEST(one_ack_completes_all_before_it)
{
	for (uint32_t i = 0; i < 5; i++)
		post_write(0, 64, i == 3 ? 0 : RIG_CQE);
	ring();
	for (uint32_t k = 0; k < 5; k++)
		expect(BF_RC_WRITE_ONLY, k);
	aeth(BF_AETH_ACK, 5); /* never sent */
	aeth(BF_AETH_ACK, 2);
	settle();
	for (uint16_t i = 0; i < 3; i++)
		expect_done(i);
	expect_no_cqe();
	aeth(BF_AETH_ACK, 1); /* old */
	aeth(BF_AETH_ACK, 4);
	settle();
	expect_done(4);
	expect_no_cqe();
	expect_nothing();
}
END_TEST

/* Only every CE value of 2 and 3 makes a CQE of a success. */
START_TEST(completion_modes)
{
	for (uint8_t ce = 0; ce < 4; ce++)
		post_write(0, 64, (uint8_t)(ce << 2));
	ring();
	aeth(BF_AETH_ACK, 3);
	settle();
	expect_done(2);
	expect_done(3);
	expect_no_cqe();
}
END_TEST

START_TEST(go_back_into_a_message)
{
	post_write(0, 5000, RIG_CQE); /* 5 packets */
	post_write(0, 64, RIG_CQE);
	ring();
	at = nseen;
	ck_assert_uint_eq(nseen, 6);
	aeth(BF_AETH_NAK_SEQ, 2);
	settle();
	expect(BF_RC_WRITE_MIDDLE, 2);
	ck_assert_uint_eq(seen[6].payload[0], n->data[2048]);
	expect(BF_RC_WRITE_MIDDLE, 3);
	expect(BF_RC_WRITE_LAST, 4);
	expect(BF_RC_WRITE_ONLY, 5);
	expect_nothing();
	expect_no_cqe();
	aeth(BF_AETH_ACK, 5);
	settle();
	expect_done(0);
	expect_done(1);
}
END_TEST

/* Each time-out sends from the oldest unacknowledged packet; retry_count of them, and progress gives all of them back.
 */
START_TEST(retries)
{
	o.retry = 2;
	again();
	post_write(0, 64, RIG_CQE);
	post_write(0, 64, RIG_CQE);
	ring();
	bf_sim_run(rig.sim, rig.sim->now_ps + 2300 * BF_US); /* time-out 8 is 1.05 ms */
	for (uint32_t i = 0; i < 3; i++) {
		expect(BF_RC_WRITE_ONLY, 0);
		expect(BF_RC_WRITE_ONLY, 1);
	}
	expect_nothing();
	aeth(BF_AETH_ACK, 0);
	settle();
	expect_done(0);
	bf_sim_run(rig.sim, rig.sim->now_ps + 20 * BF_MS);
	expect(BF_RC_WRITE_ONLY, 1);
	expect(BF_RC_WRITE_ONLY, 1);
	expect_nothing();
	expect_failed(1, BF_MLX5_SYND_RETRY_EXC);
	ck_assert_uint_eq(state(), BF_MLX5_QPS_ERR);
}
END_TEST

/* Every entry of the RNR timer table is waited for, and no longer. */
static const uint32_t rnr_us[32] = { 655360, 10,    20,    30,    40,    60,     80,     120,    160,    240,   320,
				     480,    640,   960,   1280,  1920,  2560,   3840,   5120,   7680,   10240, 15360,
				     20480,  30720, 40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520 };

START_TEST(rnr_timer)
{
	rig_send(&q, BF_MLX5_OP_SEND, 0, 64, 0, RIG_CQE);
	ring();
	expect(BF_RC_SEND_ONLY, 0);
	aeth((uint8_t)(BF_AETH_RNR | (uint32_t)_i), 0);
	bf_sim_run(rig.sim, rig.sim->now_ps + 700 * BF_MS);
	ck_assert_uint_ge(nseen, 2);
	ck_assert_uint_ge(seen[1].at_ps - seen[0].at_ps, rnr_us[_i] * BF_US);
	ck_assert_uint_le(seen[1].at_ps - seen[0].at_ps, (rnr_us[_i] + 55) * BF_US);
}
END_TEST

/* A READ whose second of three answers is lost is asked for again from there; data and length fit. */
START_TEST(read_restart)
{
	const struct bf_roce *r;

	post_read(0x4000, 2500, RIG_CQE);
	post_write(0, 64, RIG_CQE);
	ring();
	r = expect(BF_RC_READ_REQUEST, 0);
	ck_assert_uint_eq(r->dma_len, 2500);
	expect(BF_RC_WRITE_ONLY, 3);
	read_response(BF_RC_READ_RESP_FIRST, 0, 1024, 0xa1);
	read_response(BF_RC_READ_RESP_LAST, 2, 452, 0xee);
	aeth(BF_AETH_ACK, 3); /* says that the READ was answered, too */
	settle();
	r = expect(BF_RC_READ_REQUEST, 1);
	ck_assert_uint_eq(r->va, 0x10000 + 1024);
	ck_assert_uint_eq(r->dma_len, 1476);
	expect(BF_RC_WRITE_ONLY, 3);
	expect_nothing();
	expect_no_cqe();
	read_response(BF_RC_READ_RESP_FIRST, 1, 1024, 0xa2);
	read_response(BF_RC_READ_RESP_LAST, 2, 452, 0xa3);
	aeth(BF_AETH_ACK, 3);
	settle();
	expect_done(0);
	expect_done(1);
	ck_assert_uint_eq(n->data[0x4000], 0xa1);
	ck_assert_uint_eq(n->data[0x4000 + 2047], 0xa2);
	ck_assert_uint_eq(n->data[0x4000 + 2048], 0xa3);
	ck_assert_uint_eq(n->data[0x4000 + 2499], 0xa3);
}
END_TEST

START_TEST(answers_acknowledge_what_came_before)
{
	post_write(0, 64, RIG_CQE);
	post_read(0x4000, 64, RIG_CQE);
	ring();
	read_response(BF_RC_READ_RESP_ONLY, 1, 64, 1);
	settle();
	expect_done(0);
	expect_done(1);
	bf_sim_run(rig.sim, rig.sim->now_ps + 20 * BF_MS);
	ck_assert_uint_eq(nseen, 2); /* no time-out was left behind */
}
END_TEST

START_TEST(bad_answers)
{
	post_read(0x4000, 2500, RIG_CQE);
	post_write(0, 64, 0);
	ring();
	if (_i == 0)
		read_response(BF_RC_READ_RESP_FIRST, 0, 1000, 1); /* not a whole packet */
	else if (_i == 1)
		read_response(BF_RC_READ_RESP_ONLY, 0, 1024, 1); /* more is due */
	else
		send_packet((struct bf_roce){ .opcode = BF_RC_ATOMIC_ACK, .psn = psn(0) }, filler);
	settle();
	expect_failed(0, BF_MLX5_SYND_BAD_RESP);
	expect_failed(1, BF_MLX5_SYND_WR_FLUSH);
	expect_no_cqe();
}
END_TEST

/* A fatal NAK completes what came before it, fails its own WQE and flushes the rest, signalled or not. */
START_TEST(fatal_nak)
{
	static const uint8_t syndromes[] = { BF_MLX5_SYND_REM_INV_REQ, BF_MLX5_SYND_REM_ACCESS, BF_MLX5_SYND_REM_OP };

	for (int i = 0; i < 4; i++)
		post_write(0, i == 1 ? 3000 : 64, i == 0 ? RIG_CQE : 0);
	ring();
	aeth((uint8_t)(BF_AETH_NAK_INV_REQ + _i), 2); /* the second packet of WQE 1 */
	settle();
	expect_done(0);
	expect_failed(1, syndromes[_i]);
	expect_failed(2, BF_MLX5_SYND_WR_FLUSH);
	expect_failed(3, BF_MLX5_SYND_WR_FLUSH);
	expect_no_cqe();
}
END_TEST

START_TEST(fences)
{
	const uint8_t fm = (uint8_t)_i;

	post_write(0, 64, 0);
	post_read(0x4000, 64, 0);
	post_write(0, 64, (uint8_t)(fm << 5 | RIG_CQE));
	ring();
	expect(BF_RC_WRITE_ONLY, 0);
	expect(BF_RC_READ_REQUEST, 1);
	if (fm == BF_MLX5_FM_NONE || fm == BF_MLX5_FM_SMALL)
		expect(BF_RC_WRITE_ONLY, 2);
	expect_nothing();
	read_response(BF_RC_READ_RESP_ONLY, 1, 64, 1);
	settle();
	if (fm >= BF_MLX5_FM_FENCE)
		expect(BF_RC_WRITE_ONLY, 2);
	expect_nothing();
	post_write(0, 64, (uint8_t)(fm << 5)); /* behind a WRITE without answer */
	ring();
	if (fm == BF_MLX5_FM_STRONG)
		expect_nothing();
	else
		expect(BF_RC_WRITE_ONLY, 3);
	aeth(BF_AETH_ACK, 2);
	settle();
	if (fm == BF_MLX5_FM_STRONG)
		expect(BF_RC_WRITE_ONLY, 3);
	expect_done(2);
}
END_TEST

/* No more READs at once than log_sra_max allows, and what follows waits in order. */
START_TEST(initiator_depth)
{
	o.log_rd = 1;
	again();
	for (uint32_t i = 0; i < 3; i++)
		post_read(0x4000, 64, RIG_CQE);
	post_write(0, 64, RIG_CQE);
	ring();
	expect(BF_RC_READ_REQUEST, 0);
	expect(BF_RC_READ_REQUEST, 1);
	expect_nothing();
	read_response(BF_RC_READ_RESP_ONLY, 0, 64, 1);
	settle();
	expect(BF_RC_READ_REQUEST, 2);
	expect(BF_RC_WRITE_ONLY, 3);
}
END_TEST

START_TEST(key_gone_before_a_retransmission)
{
	post_write(0, 64, RIG_CQE);
	ring();
	destroy_key(n->key);
	bf_sim_run(rig.sim, rig.sim->now_ps + 2 * BF_MS);
	ck_assert_uint_eq(nseen, 1);
	expect_failed(0, BF_MLX5_SYND_LOCAL_PROT);
}
END_TEST

START_TEST(key_gone_before_the_answer)
{
	uint32_t other = rig_mkey(n, n->pd, n->data_va, 64, RIG_ALL_RIGHTS, 1);

	post_read(0x4000, 2048, RIG_CQE);
	ring();
	destroy_key(other); /* does not matter */
	read_response(BF_RC_READ_RESP_FIRST, 0, 1024, 0xc1);
	settle();
	destroy_key(n->key);
	read_response(BF_RC_READ_RESP_LAST, 1, 1024, 0xc2);
	settle();
	expect_failed(0, BF_MLX5_SYND_LOCAL_PROT);
	ck_assert_uint_eq(n->data[0x4000], 0xc1);
	ck_assert_uint_ne(n->data[0x4400], 0xc2);
}
END_TEST

/* Bytes of a later WQE in a BlueFlame buffer whose WQE has rung, but is not looked at yet, do not mix with it. */
START_TEST(blueflame_is_not_mixed)
{
	struct bf_region *uar = bf_mlx5_uar(n->dev, n->uar);
	uint8_t garbage[32];

	memset(garbage, 0xee, sizeof(garbage));
	post_write(0, 64, RIG_CQE);
	bf_put_be32(q.dbr + 4, q.sq_pi);
	bf_mmio_post(uar, BF_MLX5_UAR_BF, q.sq, 64);
	bf_mmio_post(uar, BF_MLX5_UAR_BF + 32, garbage, 32);
	settle();
	ck_assert_uint_eq(expect(BF_RC_WRITE_ONLY, 0)->payload_len, 64);
	aeth(BF_AETH_ACK, 0);
	settle();
	expect_done(0);
}
END_TEST

/* Answers that make no sense to whatever is outstanding: nothing crashes, and a fresh connection works. */
START_TEST(nonsense)
{
	static const uint8_t opcodes[] = { BF_RC_ACK,
					   BF_RC_ACK,
					   BF_RC_ACK,
					   BF_RC_READ_RESP_FIRST,
					   BF_RC_READ_RESP_MIDDLE,
					   BF_RC_READ_RESP_LAST,
					   BF_RC_READ_RESP_ONLY,
					   BF_RC_ATOMIC_ACK };
	static const uint8_t syndromes[] = { 0x1f, 0x1f, 0x1f, 0x20, 0x21, 0x60, 0x61, 0x62, 0x63, 0x64, 0x7f, 0xff };
	struct bf_mlx5_qp_info info;
	struct bf_rng rng;

	bf_rng_init(&rng, (uint64_t)_i, "nonsense");
	for (uint32_t i = 0; i < 2000; i++) {
		struct bf_roce r = { .opcode = opcodes[bf_rng_below(&rng, BF_ARRAY_LEN(opcodes))] };

		ck_assert(!bf_mlx5_qp_info(n->dev, q.qpn, &info));
		if (info.state == BF_MLX5_QPS_ERR || (uint16_t)(q.sq_pi - info.sq_completed) > q.sq_size - 8)
			reconnect();
		if (bf_rng_chance(&rng, 500000))
			post_write(0, 1 + (uint32_t)bf_rng_below(&rng, 4000), 0);
		else
			post_read(0x4000, 1 + (uint32_t)bf_rng_below(&rng, 4000), 0);
		rig_db(&q);
		bf_sim_run(rig.sim, rig.sim->now_ps + bf_rng_below(&rng, 4000) * BF_NS);
		r.psn = (info.acked_psn + (uint32_t)bf_rng_below(&rng, 8)) & 0xffffff;
		r.aeth_syndrome =
		    syndromes[bf_rng_below(&rng, bf_rng_chance(&rng, 800000) ? 3 : BF_ARRAY_LEN(syndromes))];
		if (bf_roce_opcode_info(r.opcode) & BF_ROCE_HAS_PAYLOAD)
			r.payload_len = bf_rng_chance(&rng, 800000) ? 1024 : (uint32_t)bf_rng_below(&rng, 1200);
		send_packet(r, filler);
		nseen = at = 0;
		while (rig_poll(&scq))
			;
	}
	reconnect();
	settle();
	while (rig_poll(&scq))
		;
	post_write(0, 64, RIG_CQE);
	ring();
	aeth(BF_AETH_ACK, 0);
	settle();
	expect_done(0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_requester");
	TCase *tc = tcase_create("requester");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, one_ack_completes_all_before_it);
	tcase_add_test(tc, source_port_changes);
	tcase_add_test(tc, completion_modes);
	tcase_add_test(tc, go_back_into_a_message);
	tcase_add_test(tc, retries);
	tcase_add_loop_test(tc, rnr_timer, 0, 32);
	tcase_add_test(tc, read_restart);
	tcase_add_test(tc, answers_acknowledge_what_came_before);
	tcase_add_loop_test(tc, bad_answers, 0, 3);
	tcase_add_loop_test(tc, fatal_nak, 0, 3);
	tcase_add_loop_test(tc, fences, 0, 5);
	tcase_add_test(tc, initiator_depth);
	tcase_add_test(tc, key_gone_before_a_retransmission);
	tcase_add_test(tc, key_gone_before_the_answer);
	tcase_add_test(tc, blueflame_is_not_mixed);
	tcase_add_loop_test(tc, nonsense, 0, 5);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
