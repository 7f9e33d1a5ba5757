/*
 * The RC protocol, packet by packet: one end is a queue pair of the model, the other one is this test, which sends and
 * receives raw packets and so decides what is lost, late or wrong. Rules: IBA vol. 1 section 9.7; mlx5.md sections 5-9.
 */
#include <check.h>

#include "models/fabric/roce.h"
#include "sim/fault.h"
#include "tests/models/mlx5_rig.h"

#define PEER_IPV4 0x0a000009u
#define PEER_QPN 0x4242u
#define SEEN 4096u

struct seen {
	struct bf_roce r;
	uint64_t at_ps;
	uint8_t payload[16]; /* the first bytes */
};

static struct rig rig;
static struct rig_node *n;
static struct rig_cq scq, rcq;
static struct rig_qp q;
static struct rig_qp_opts o;
static struct bf_port *peer;
static struct bf_roce_path path;
static struct seen seen[SEEN];
static uint8_t filler[4096]; /* what packets carry */
static uint32_t nseen, at; /* packets that came; the next one to look at */

static void peer_rx(void *owner, struct bf_packet *pkt)
{
	struct seen *s = &seen[nseen++];
	uint32_t len;

	(void)owner;
	ck_assert_uint_lt(nseen, SEEN);
	ck_assert(!bf_roce_parse(pkt->data, pkt->len, true, &s->r, NULL));
	ck_assert_uint_eq(s->r.dest_qp, PEER_QPN);
	len = s->r.payload_len < sizeof(s->payload) ? s->r.payload_len : (uint32_t)sizeof(s->payload);
	memcpy(s->payload, pkt->data + s->r.payload_offset, len);
	s->at_ps = rig.sim->now_ps;
	bf_packet_free(pkt);
}

static void open_peer(void)
{
	struct bf_port_opts opts = { .name = "peer", .ipv4 = PEER_IPV4, .latency_ps = 100 * BF_NS, .ps_per_kib = 20480,
				     .rx = peer_rx };
	struct bf_roce_path_opts p = { .src_ipv4 = PEER_IPV4, .dst_ipv4 = n->ipv4, .udp_src_port = 0xc001, .ttl = 64 };
	struct bf_port_info info;

	RIG_MUST(!bf_fabric_attach(rig.fabric, &opts, &peer));
	bf_port_info(peer, &info);
	memcpy(p.src_mac, info.mac, 6);
	bf_port_info(bf_mlx5_port(n->dev), &info);
	memcpy(p.dst_mac, info.mac, 6);
	bf_roce_path_init(&path, &p);
}

static void step(uint32_t opcode)
{
	struct rig_qp remote = { .node = n, .qpn = PEER_QPN };
	uint8_t in[BF_MODIFY_QP_LEN], out[16];

	rig_modify_fill(in, opcode, &q, &remote, &o);
	bf_put_be32(in + BF_QP_QPC + BF_QPC_PATH + BF_PATH_RGID + 12, PEER_IPV4);
	ck_assert_uint_eq(rig_cmd(n, in, sizeof(in), out, sizeof(out)), 0);
}

static void open_all(void)
{
	nseen = at = 0;
	rig_open(&rig, 1, NULL);
	n = &rig.node[0];
	open_peer();
	rig_cq_open(n, &scq, 10, 0);
	rig_cq_open(n, &rcq, 10, 0);
	rig_qp_open(n, &q, &scq, &rcq, &o);
	step(BF_MLX5_CMD_RST2INIT_QP);
	step(BF_MLX5_CMD_INIT2RTR_QP);
	step(BF_MLX5_CMD_RTR2RTS_QP);
	for (uint32_t i = 0; i < RIG_DATA; i++)
		n->data[i] = (uint8_t)(i * 7 + i / 256);
}

static void setup(void)
{
	o = (struct rig_qp_opts){ .log_sq = 7, .log_rq = 5, .log_stride = 0, .mtu = 3, .log_rd = 2, .psn = 0xfffffe,
				  .timeout = 8 };
	open_all();
}

static void teardown(void)
{
	rig_close(&rig);
}

static void again(void)
{
	teardown();
	open_all();
}

/* PSN `k` counted from the first, which lies just before the end of the circle. */
static uint32_t psn(uint32_t k)
{
	return (o.psn + k) & 0xffffff;
}

static void send_packet(struct bf_roce r, const void *payload)
{
	struct bf_packet *pkt = bf_packet_alloc(rig.fabric);
	uint32_t offset;

	r.pkey = 0xffff;
	r.dest_qp = q.qpn;
	r.pad = (uint8_t)(-r.payload_len & 3);
	offset = bf_roce_build(pkt->data, &path, &r);
	memcpy(pkt->data + offset, payload, r.payload_len);
	pkt->len = bf_roce_finish(pkt->data, &r, offset, true);
	bf_port_send(peer, pkt);
}

/* Lets everything happen that is not a time-out. */
static void settle(void)
{
	bf_sim_run(rig.sim, rig.sim->now_ps + 50 * BF_US);
}

static const struct bf_roce *expect(uint8_t opcode, uint32_t k)
{
	ck_assert_uint_lt(at, nseen);
	ck_assert_str_eq(bf_roce_opcode_name(seen[at].r.opcode), bf_roce_opcode_name(opcode));
	ck_assert_uint_eq(seen[at].r.psn, psn(k));
	return &seen[at++].r;
}

static void expect_aeth(uint8_t syndrome, uint32_t k)
{
	ck_assert_uint_eq(expect(BF_RC_ACK, k)->aeth_syndrome, syndrome);
}

static void expect_nothing(void)
{
	ck_assert_uint_eq(at, nseen);
}

static uint32_t state(void)
{
	struct bf_mlx5_qp_info info;

	ck_assert(!bf_mlx5_qp_info(n->dev, q.qpn, &info));
	return info.state;
}

/* ---- the model answers ---- */

static void write_packet(uint8_t opcode, uint32_t k, uint64_t offset, uint32_t dma_len, uint32_t len, uint8_t fill)
{
	memset(filler, fill, sizeof(filler));
	send_packet((struct bf_roce){ .opcode = opcode, .psn = psn(k), .ack_req = true, .va = n->data_va + offset,
				      .rkey = n->key, .dma_len = dma_len, .imm = 0x55, .payload_len = len },
		    filler);
}

static void write_only(uint32_t k, uint64_t offset, uint8_t fill)
{
	write_packet(BF_RC_WRITE_ONLY, k, offset, 64, 64, fill);
}

static void read_request(uint32_t k, uint64_t offset, uint32_t len)
{
	send_packet((struct bf_roce){ .opcode = BF_RC_READ_REQUEST, .psn = psn(k), .ack_req = true,
				      .va = n->data_va + offset, .rkey = n->key, .dma_len = len },
		    filler);
}

static void fetch_add(uint32_t k, uint64_t va, uint64_t add)
{
	send_packet((struct bf_roce){ .opcode = BF_RC_FETCH_ADD, .psn = psn(k), .ack_req = true, .va = va,
				      .rkey = n->key, .swap_add = add },
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
	send_packet((struct bf_roce){ .opcode = BF_RC_WRITE_ONLY, .psn = psn(59), .va = 1, .rkey = 0xbad00,
				      .dma_len = 8, .payload_len = 8 },
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

/* ---- the model asks ---- */

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
	send_packet((struct bf_roce){ .opcode = opcode, .psn = psn(k), .aeth_syndrome = BF_AETH_ACK, .payload_len = len },
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

/* Each time-out sends from the oldest unacknowledged packet; retry_count of them, and progress gives all of them back. */
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
static const uint32_t rnr_us[32] = { 655360, 10,   20,   30,   40,    60,    80,    120,   160,   240,	320,
				     480,    640,  960,  1280, 1920,  2560,  3840,  5120,  7680,  10240, 15360,
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

/* ---- keys, rings and records under way ---- */

static void destroy_key(uint32_t key)
{
	ck_assert_uint_eq(rig_simple(n, BF_MLX5_CMD_DESTROY_MKEY, key >> 8), 0);
}

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

int main(void)
{
	Suite *s = suite_create("mlx5_rc");
	TCase *tc = tcase_create("rc");
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
	tcase_add_test(tc, one_ack_completes_all_before_it);
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
	tcase_add_test(tc, key_gone_in_a_write);
	tcase_add_test(tc, key_gone_in_an_answer);
	tcase_add_test(tc, key_gone_before_a_retransmission);
	tcase_add_test(tc, key_gone_before_the_answer);
	tcase_add_test(tc, blueflame_is_not_mixed);
	tcase_add_loop_test(tc, reset_during_a_receive_fetch, 0, 60);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
