/* The responder, packet by packet: IBA vol. 1 section 9.7; docs/hardware/mlx5.md#checks, docs/hardware/roce.md. */
#include "tests/models/mlx5_peer.h"

static void write_packet(uint8_t opcode, uint32_t k, uint64_t offset, uint32_t dma_len, uint32_t len, uint8_t fill)
{
	memset(filler, fill, sizeof(filler));
	send_packet((struct bf_roce){ .opcode = opcode,
				      .psn = psn(k),
				      .ack_req = true,
				      .va = n->data_va + offset,
				      .rkey = n->key,
				      .dma_len = dma_len,
				      .imm = 0x55,
				      .payload_len = len },
		    filler);
}

static void write_only(uint32_t k, uint64_t offset, uint8_t fill)
{
	write_packet(BF_RC_WRITE_ONLY, k, offset, 64, 64, fill);
}

static void read_request(uint32_t k, uint64_t offset, uint32_t len)
{
	send_packet((struct bf_roce){ .opcode = BF_RC_READ_REQUEST,
				      .psn = psn(k),
				      .ack_req = true,
				      .va = n->data_va + offset,
				      .rkey = n->key,
				      .dma_len = len },
		    filler);
}

static void fetch_add(uint32_t k, uint64_t va, uint64_t add)
{
	send_packet(
	    (struct bf_roce){
		.opcode = BF_RC_FETCH_ADD, .psn = psn(k), .ack_req = true, .va = va, .rkey = n->key, .swap_add = add },
	    filler);
}

static void send_only(uint32_t k, uint32_t len)
{
	send_packet((struct bf_roce){ .opcode = BF_RC_SEND_ONLY, .psn = psn(k), .ack_req = true, .payload_len = len },
		    filler);
}

START_TEST(one_nak_a_gap)
{
	write_only(0, 0, 1);
	settle();
	expect_aeth(BF_AETH_ACK, 0);
	for (uint32_t k = 2; k < 6; k++)
		write_only(k, k * 64, 0xee);
	settle();
	expect_aeth(BF_AETH_NAK_SEQ, 1);
	expect_nothing();
	ck_assert_uint_ne(n->data[2 * 64], 0xee);
	write_only(0, 0, 2); /* a duplicate does not end the gap */
	settle();
	expect_aeth(BF_AETH_ACK, 0);
	write_only(3, 0, 2);
	settle();
	expect_nothing();
	write_only(1, 64, 1);
	settle();
	expect_aeth(BF_AETH_ACK, 1);
	write_only(4, 0, 2); /* another gap */
	settle();
	expect_aeth(BF_AETH_NAK_SEQ, 2);
	expect_nothing();
	ck_assert_uint_eq(n->data[0], 1);
}
END_TEST

START_TEST(duplicates_are_acknowledged_not_repeated)
{
	rig_recv(&q, 0x1000, 100);
	rig_recv(&q, 0x2000, 100);
	write_only(0, 0, 1);
	send_only(1, 50);
	settle();
	at = nseen - 1;
	expect_aeth(BF_AETH_ACK, 1);
	memset(n->data, 9, 64);
	write_only(0, 0, 1);
	send_only(1, 50);
	settle();
	for (; at < nseen; at++) {
		ck_assert_uint_eq(seen[at].r.opcode, BF_RC_ACK);
		ck_assert_uint_eq(seen[at].r.psn, psn(1));
		ck_assert_uint_eq(seen[at].r.aeth_syndrome, BF_AETH_ACK);
		ck_assert_uint_eq(seen[at].r.msn, 2);
	}
	ck_assert_uint_eq(n->data[0], 9);
	ck_assert_ptr_nonnull(rig_poll(&rcq));
	ck_assert_ptr_null(rig_poll(&rcq));
}
END_TEST

/* A READ is executed again, from where the duplicate asks, and sees memory as it is by then. */
START_TEST(duplicate_read)
{
	read_request(0, 0, 2500);
	settle();
	ck_assert_uint_eq(expect(BF_RC_READ_RESP_FIRST, 0)->payload_len, 1024);
	ck_assert_uint_eq(expect(BF_RC_READ_RESP_MIDDLE, 1)->payload_len, 1024);
	ck_assert_uint_eq(expect(BF_RC_READ_RESP_LAST, 2)->payload_len, 452);
	ck_assert_uint_eq(seen[2].r.msn, 1);
	memset(n->data + 1024, 0x77, 2048);
	read_request(1, 1024, 1476);
	settle();
	expect(BF_RC_READ_RESP_FIRST, 1);
	ck_assert_uint_eq(seen[3].payload[0], 0x77);
	ck_assert_uint_eq(expect(BF_RC_READ_RESP_LAST, 2)->msn, 1);
	read_request(2, 2048, 452);
	settle();
	expect(BF_RC_READ_RESP_ONLY, 2);
	expect_nothing();
	write_only(3, 0, 1); /* the next new PSN */
	settle();
	expect_aeth(BF_AETH_ACK, 3);
}
END_TEST

START_TEST(duplicate_atomic)
{
	bf_put_le64(n->data + 64, 100);
	fetch_add(0, n->data_va + 64, 1);
	fetch_add(1, n->data_va + 64, 10);
	settle();
	ck_assert_uint_eq(expect(BF_RC_ATOMIC_ACK, 0)->atomic_orig, 100);
	ck_assert_uint_eq(expect(BF_RC_ATOMIC_ACK, 1)->atomic_orig, 101);
	fetch_add(0, n->data_va + 64, 1);
	settle();
	ck_assert_uint_eq(expect(BF_RC_ATOMIC_ACK, 0)->atomic_orig, 100);
	expect_nothing();
	ck_assert_uint_eq(bf_get_le64(n->data + 64), 111);
}
END_TEST

/* More READs and atomics than log_rra_max promises; one that the network repeats does not count. */
START_TEST(responder_resources)
{
	o.log_rd = 1;
	again();
	read_request(0, 0, 200000); /* 196 packets */
	read_request(0, 0, 200000);
	read_request(196, 0, 200000);
	settle();
	ck_assert_uint_eq(state(), BF_MLX5_QPS_RTS);
	nseen = at = 0;
	for (uint32_t i = 2; i < 5; i++)
		read_request(196 * i, 0, 200000);
	settle();
	at = nseen - 1;
	expect_aeth(BF_AETH_NAK_INV_REQ, 196 * 4);
	ck_assert_uint_eq(state(), BF_MLX5_QPS_ERR);
}
END_TEST

START_TEST(zero_length_checks_no_key)
{
	send_packet((struct bf_roce){ .opcode = BF_RC_WRITE_ONLY, .psn = psn(0), .ack_req = true, .rkey = 0xbad00 },
		    filler);
	settle();
	expect_aeth(BF_AETH_ACK, 0);
	send_packet((struct bf_roce){ .opcode = BF_RC_READ_REQUEST, .psn = psn(1), .rkey = 0xbad00 }, filler);
	settle();
	ck_assert_uint_eq(expect(BF_RC_READ_RESP_ONLY, 1)->payload_len, 0);
}
END_TEST

/* Requests that no requester makes: one NAK of the code, then silence. */
static const struct {
	uint8_t first, second; /* second 0xff: none */
	uint32_t dma_len, len[2];
	uint8_t nak;
} invalid[] = {
	{ BF_RC_WRITE_ONLY, 0xff, 64, { 63, 0 }, BF_AETH_NAK_INV_REQ },
	{ BF_RC_WRITE_ONLY, 0xff, 64, { 65, 0 }, BF_AETH_NAK_INV_REQ },
	{ BF_RC_WRITE_ONLY, 0xff, 2000, { 2000, 0 }, BF_AETH_NAK_INV_REQ }, /* longer than the MTU */
	{ BF_RC_WRITE_FIRST, 0xff, 2000, { 1000, 0 }, BF_AETH_NAK_INV_REQ },
	{ BF_RC_WRITE_FIRST, BF_RC_WRITE_LAST, 2000, { 1024, 975 }, BF_AETH_NAK_INV_REQ },
	{ BF_RC_WRITE_FIRST, BF_RC_WRITE_LAST, 1024, { 1024, 0 }, BF_AETH_NAK_INV_REQ },
	{ BF_RC_WRITE_FIRST, BF_RC_WRITE_FIRST, 2000, { 1024, 1024 }, BF_AETH_NAK_INV_REQ },
	{ BF_RC_WRITE_FIRST, BF_RC_SEND_LAST, 2000, { 1024, 10 }, BF_AETH_NAK_INV_REQ },
	{ BF_RC_WRITE_FIRST, BF_RC_READ_REQUEST, 2000, { 1024, 0 }, BF_AETH_NAK_INV_REQ },
	{ BF_RC_WRITE_MIDDLE, 0xff, 0, { 1024, 0 }, BF_AETH_NAK_INV_REQ },
	{ BF_RC_SEND_LAST, 0xff, 0, { 10, 0 }, BF_AETH_NAK_INV_REQ },
	{ BF_RC_WRITE_ONLY, 0xff, 0x80000000u, { 64, 0 }, BF_AETH_NAK_INV_REQ }, /* beyond log_msg_max */
};

START_TEST(invalid_requests)
{
	uint32_t k = 0;

	write_packet(invalid[_i].first, k++, 0, invalid[_i].dma_len, invalid[_i].len[0], 1);
	if (invalid[_i].second != 0xff)
		write_packet(invalid[_i].second, k++, 0, invalid[_i].dma_len, invalid[_i].len[1], 1);
	settle();
	at = nseen - 1;
	expect_aeth(invalid[_i].nak, k - 1);
	ck_assert_uint_eq(state(), BF_MLX5_QPS_ERR);
	write_only(k - 1, 0, 1);
	write_only(k, 0, 1);
	settle();
	expect_nothing();
}
END_TEST

START_TEST(receiver_not_ready)
{
	o.rnr_timer = 9;
	again();
	send_only(0, 50);
	write_only(1, 0, 1);
	settle();
	expect_aeth(BF_AETH_RNR | 9, 0);
	expect_nothing(); /* what follows is dropped without a word */
	rig_recv(&q, 0x1000, 100);
	send_only(0, 50);
	write_only(1, 0, 1);
	settle();
	at = nseen - 1;
	ck_assert_uint_eq(seen[at].r.msn, 2);
	expect_aeth(BF_AETH_ACK, 1);
}
END_TEST

START_TEST(coalesced_acks)
{
	for (uint32_t k = 0; k < 40; k++)
		write_only(k, k * 64, (uint8_t)k);
	settle();
	ck_assert_uint_lt(nseen, 10);
	at = nseen - 1;
	expect_aeth(BF_AETH_ACK, 39);
	send_packet((struct bf_roce){ .opcode = BF_RC_WRITE_ONLY, .psn = psn(40) }, filler); /* asks for none */
	settle();
	expect_nothing();
}
END_TEST

/* The ACK of a WRITE behind a long READ comes behind the READ's data. */
START_TEST(no_ack_overtakes_an_answer)
{
	read_request(0, 0, 100000); /* 98 packets */
	write_only(98, 0x80000, 1);
	fetch_add(99, n->data_va + 0x80000, 1);
	settle();
	ck_assert_uint_ge(nseen, 99);
	for (uint32_t k = 0; k < 98; k++)
		ck_assert_uint_eq(seen[k].r.psn, psn(k));
	at = nseen - 1;
	ck_assert_uint_eq(expect(BF_RC_ATOMIC_ACK, 99)->atomic_orig, 0x0101010101010101);
}
END_TEST

/* An atomic whose memory is not there, behind a READ: the READ's data still come, the NAK behind them. */
START_TEST(failed_atomic_behind_a_read)
{
	uint64_t hole = n->mem->va + RIG_MEM + (1u << 20);
	uint32_t key = rig_mkey(n, n->pd, hole, 4096, RIG_ALL_RIGHTS, 3);

	read_request(0, 0, 100000);
	send_packet((struct bf_roce){ .opcode = BF_RC_FETCH_ADD, .psn = psn(98), .va = hole, .rkey = key }, filler);
	settle();
	ck_assert_uint_eq(nseen, 99);
	for (uint32_t k = 0; k < 98; k++)
		ck_assert_uint_eq(seen[k].r.psn, psn(k));
	at = 98;
	expect_aeth(BF_AETH_NAK_OP, 98);
	ck_assert_uint_eq(state(), BF_MLX5_QPS_ERR);
}
END_TEST

/* The same with a WRITE that is refused: an error does not take the answers before it along. */
START_TEST(refusal_behind_a_read)
{
	read_request(0, 0, 60000); /* 59 packets, all on their way from memory at once */
	send_packet(
	    (struct bf_roce){
		.opcode = BF_RC_WRITE_ONLY, .psn = psn(59), .va = 1, .rkey = 0xbad00, .dma_len = 8, .payload_len = 8 },
	    filler);
	settle();
	ck_assert_uint_eq(nseen, 60);
	at = 58;
	expect(BF_RC_READ_RESP_LAST, 58);
	expect_aeth(BF_AETH_NAK_ACCESS, 59);
}
END_TEST

START_TEST(unreadable_receive_queue)
{
	rig_recv(&q, 0x1000, 100);
	ck_assert(!bf_ioas_unmap(&n->ioas, rig_va(n, q.rq), 4096));
	send_only(0, 50);
	settle();
	expect_aeth(BF_AETH_NAK_OP, 0);
	ck_assert_uint_eq(state(), BF_MLX5_QPS_ERR);
}
END_TEST

/* A key that goes between two packets is used no more, at either end. */
START_TEST(key_gone_in_a_write)
{
	write_packet(BF_RC_WRITE_FIRST, 0, 0, 2000, 1024, 0xb1);
	settle();
	destroy_key(n->key);
	write_packet(BF_RC_WRITE_LAST, 1, 0, 2000, 976, 0xb2);
	settle();
	at = nseen - 1;
	expect_aeth(BF_AETH_NAK_ACCESS, 1);
	ck_assert_uint_eq(n->data[1023], 0xb1);
	ck_assert_uint_ne(n->data[1024], 0xb2);
}
END_TEST

START_TEST(key_gone_in_an_answer)
{
	read_request(0, 0, 1000000);
	bf_sim_run(rig.sim, rig.sim->now_ps + 10 * BF_US);
	ck_assert_uint_gt(nseen, 10);
	destroy_key(n->key);
	settle();
	ck_assert_uint_lt(nseen, 900);
	ck_assert_uint_eq(seen[nseen - 1].r.opcode, BF_RC_ACK);
	ck_assert_uint_eq(seen[nseen - 1].r.aeth_syndrome, BF_AETH_NAK_ACCESS);
}
END_TEST

/* Whatever was being fetched when the queue pair was reset: the receives posted after that are found. */
START_TEST(reset_during_a_receive_fetch)
{
	rig_recv(&q, 0x1000, 100);
	send_only(0, 50);
	bf_sim_run(rig.sim, (uint64_t)_i * 50 * BF_NS);
	step(BF_MLX5_CMD_2RST_QP);
	memset(q.dbr, 0, 8);
	q.rq_pi = 0;
	step(BF_MLX5_CMD_RST2INIT_QP);
	step(BF_MLX5_CMD_INIT2RTR_QP);
	nseen = at = 0;
	rig_recv(&q, 0x2000, 100);
	send_only(0, 50);
	settle();
	ck_assert_uint_ge(nseen, 1);
	for (; at < nseen;)
		expect_aeth(BF_AETH_ACK, 0);
}
END_TEST

/* Requests that make no sense, in any order: nothing crashes, and a fresh connection works. */
START_TEST(nonsense)
{
	static const uint8_t opcodes[] = { 0,  1,  2,  3,  4,  5,  6,  7,    8,    9,   10,
					   11, 12, 12, 19, 20, 22, 23, 0xd3, 0xd4, 0x7f };
	struct bf_mlx5_qp_info info;
	struct bf_rng rng;

	bf_rng_init(&rng, (uint64_t)_i, "nonsense");
	for (uint32_t i = 0; i < 2000; i++) {
		struct bf_roce r = { .opcode = opcodes[bf_rng_below(&rng, BF_ARRAY_LEN(opcodes))],
				     .ack_req = true,
				     .rkey = n->key,
				     .dma_len = (uint32_t)bf_rng_below(&rng, 5000),
				     .atomic_size = 8,
				     .swap_add = 3,
				     .imm = n->key + 1 };

		ck_assert(!bf_mlx5_qp_info(n->dev, q.qpn, &info));
		if (info.state == BF_MLX5_QPS_ERR)
			reconnect();
		r.psn = (info.recv_psn + (bf_rng_chance(&rng, 700000) ? 0 : (uint32_t)bf_rng_below(&rng, 8) - 4)) &
			0xffffff;
		r.va = n->data_va + 8 * bf_rng_below(&rng, 1000);
		if (bf_roce_opcode_info(r.opcode) & BF_ROCE_HAS_PAYLOAD)
			r.payload_len = bf_rng_chance(&rng, 500000) ? 1024 : (uint32_t)bf_rng_below(&rng, 1200);
		if (bf_rng_chance(&rng, 300000))
			r.dma_len = r.payload_len;
		if (bf_rng_chance(&rng, 200000))
			rig_recv(&q, 0x8000, 1 + (uint32_t)bf_rng_below(&rng, 4000));
		send_packet(r, filler);
		if (bf_rng_chance(&rng, 600000))
			bf_sim_run(rig.sim, rig.sim->now_ps + bf_rng_below(&rng, 3000) * BF_NS);
		nseen = at = 0;
	}
	settle();
	reconnect();
	write_only(0, 0, 1);
	settle();
	expect_aeth(BF_AETH_ACK, 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_responder");
	TCase *tc = tcase_create("responder");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, one_nak_a_gap);
	tcase_add_test(tc, duplicates_are_acknowledged_not_repeated);
	tcase_add_test(tc, duplicate_read);
	tcase_add_test(tc, duplicate_atomic);
	tcase_add_test(tc, responder_resources);
	tcase_add_test(tc, zero_length_checks_no_key);
	tcase_add_loop_test(tc, invalid_requests, 0, BF_ARRAY_LEN(invalid));
	tcase_add_test(tc, receiver_not_ready);
	tcase_add_test(tc, coalesced_acks);
	tcase_add_test(tc, no_ack_overtakes_an_answer);
	tcase_add_test(tc, failed_atomic_behind_a_read);
	tcase_add_test(tc, refusal_behind_a_read);
	tcase_add_test(tc, unreadable_receive_queue);
	tcase_add_test(tc, key_gone_in_a_write);
	tcase_add_test(tc, key_gone_in_an_answer);
	tcase_add_loop_test(tc, reset_during_a_receive_fetch, 0, 60);
	tcase_add_loop_test(tc, nonsense, 0, 5);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
