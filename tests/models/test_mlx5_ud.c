/* Datagrams and unreliable connections: what arrives, what is dropped, and what a failed send does. */
#include <check.h>

#include "sim/fault.h"
#include "tests/models/mlx5_rig.h"

#define QKEY 0x11111111u
#define GRH 40u
#define PATH_MTU 1024u

static const struct rig_qp_opts ud = {
	.log_sq = 6, .log_rq = 5, .log_stride = 2, .mtu = 3, .st = BF_QPC_ST_UD, .qkey = QKEY
};
static const struct rig_qp_opts uc = { .log_sq = 6, .log_rq = 5, .log_stride = 2, .mtu = 3, .st = BF_QPC_ST_UC };

static struct rig_pair p;
static struct rig_node *a, *b;

static void open_with(const struct rig_qp_opts *o)
{
	rig_pair_open(&p, 1, NULL, o);
	a = &p.rig.node[0];
	b = &p.rig.node[1];
	for (uint32_t i = 0; i < RIG_DATA; i++)
		a->data[i] = (uint8_t)(i * 7 + i / 251);
}

static void setup(void)
{
	open_with(&ud);
}

static void setup_uc(void)
{
	open_with(&uc);
}

static void teardown(void)
{
	rig_close(&p.rig);
}

static const struct bf_mlx5_cqe *expect(struct rig_cq *cq, uint8_t opcode, uint16_t index)
{
	const struct bf_mlx5_cqe *c = rig_poll(cq);

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, opcode);
	ck_assert_uint_eq(bf_be16(c->wqe_counter), index);
	return c;
}

static void expect_error(struct rig_cq *cq, uint8_t opcode, uint16_t index, uint8_t syndrome)
{
	ck_assert_uint_eq(((const struct bf_mlx5_err_cqe *)(const void *)expect(cq, opcode, index))->syndrome,
			  syndrome);
}

static uint32_t state(struct rig_qp *q)
{
	struct bf_mlx5_qp_info info;

	ck_assert(!bf_mlx5_qp_info(q->node->dev, q->qpn, &info));
	return info.state;
}

static void ring_and_run(uint32_t who)
{
	rig_db(&p.q[who]);
	rig_run(&p.rig);
}

/* Control segment's flags and the address vector of a datagram for `to`. Returns where the data begin. */
static uint32_t head(uint8_t *w, const struct rig_qp *to, uint32_t qkey, uint32_t imm, uint8_t flags, bool full)
{
	struct bf_port_info info;

	bf_port_info(bf_mlx5_port(to->node->dev, 1), &info);
	w[11] = flags;
	bf_put_be32(w + 12, imm);
	bf_put_be32(w + 16, qkey);
	bf_put_be32(w + 24, to->qpn | (full ? BF_MLX5_AV_EXT : 0));
	if (!full) {
		bf_put_be16(w + 30, (uint16_t)info.ipv4);
		return 32;
	}
	memcpy(w + 36, info.mac, 6);
	w[42] = 0x28; /* traffic class */
	w[43] = 17;   /* hop limit */
	w[58] = w[59] = 0xff;
	bf_put_be32(w + 60, info.ipv4);
	return 64;
}

struct datagram {
	uint32_t opcode, qkey, imm, len, local;
	uint8_t flags;
	bool compact;
};

static uint16_t post(struct rig_qp *q, const struct rig_qp *to, const struct datagram *d)
{
	uint8_t w[128] = { 0 };
	uint32_t at = head(w, to, d->qkey, d->imm, d->flags, !d->compact);

	if (d->len)
		at += rig_put_data(w + at, d->len, q->node->key, q->node->data_va + d->local);
	return rig_post(q, w, d->opcode, 0, at / 16);
}

START_TEST(datagram_arrives_behind_its_header)
{
	const struct datagram d = { .opcode = BF_MLX5_OP_SEND_IMM,
				    .qkey = QKEY,
				    .imm = 0xfeedf00d,
				    .len = 1000,
				    .local = 3,
				    .flags = RIG_CQE | BF_MLX5_CTRL_SOLICITED };
	const struct bf_mlx5_cqe *c;
	const uint8_t *ip = b->data + 20;

	memset(b->data, 0xee, 2048);
	rig_recv(&p.q[1], 0, 2048);
	post(&p.q[0], &p.q[1], &d);
	ring_and_run(0);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 0);
	c = expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND_IMM, 0);
	ck_assert_uint_eq(bf_be32(c->byte_cnt), GRH + 1000);
	ck_assert_uint_eq(bf_be32(c->imm_inval_pkey), 0xfeedf00d);
	ck_assert_uint_eq(bf_get_be32(c->rx + 24) & 0xffffff, p.q[0].qpn);
	ck_assert_uint_eq(bf_get_be32(c->rx + 24) >> 28 & 3, 1); /* a header is there */
	ck_assert_uint_eq(bf_get_be32(c->rx + 24) >> 24 & 3, 2); /* that of IPv4 */
	ck_assert(c->op_own & BF_MLX5_CQE_SE);
	ck_assert_mem_eq(b->data + GRH, a->data + 3, 1000);
	ck_assert_uint_eq(b->data[GRH + 1000], 0xee);
	for (uint32_t i = 0; i < 20; i++)
		ck_assert_uint_eq(b->data[i], 0);
	ck_assert_uint_eq(ip[0], 0x45);
	ck_assert_uint_eq(ip[1] >> 2, 0x28 >> 2);
	ck_assert_uint_eq(ip[8], 17);
	ck_assert_uint_eq(bf_get_be32(ip + 12), a->ipv4);
	ck_assert_uint_eq(bf_get_be32(ip + 16), b->ipv4);
}
END_TEST

START_TEST(datagrams_of_every_form)
{
	static const uint32_t lengths[] = { 0, 1, 3, 64, 511, PATH_MTU };
	uint8_t w[128] = { 0 };
	uint32_t at, n = 0;

	for (uint32_t i = 0; i < 2 * BF_ARRAY_LEN(lengths); i++) {
		struct datagram d = { .opcode = BF_MLX5_OP_SEND,
				      .qkey = QKEY,
				      .len = lengths[i / 2],
				      .local = i * 11,
				      .flags = RIG_CQE,
				      .compact = i & 1 };

		rig_recv(&p.q[1], 4096 * n++, GRH + PATH_MTU);
		post(&p.q[0], &p.q[1], &d);
	}
	/* Inline, with the sending queue pair's own Q_Key. */
	rig_recv(&p.q[1], 4096 * n++, 100);
	at = head(w, &p.q[1], BF_MLX5_QKEY_OWN, 0, RIG_CQE, true);
	bf_put_be32(w + at, BF_MLX5_INLINE_FLAG | 20);
	memcpy(w + at + 4, "twenty bytes exactly", 20);
	rig_post(&p.q[0], w, BF_MLX5_OP_SEND, 0, at / 16 + 2);
	ring_and_run(0);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t len = i < n - 1 ? lengths[i / 2] : 20;
		const struct bf_mlx5_cqe *c = expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND, (uint16_t)i);

		ck_assert_ptr_nonnull(rig_poll(&p.scq[0]));
		ck_assert_uint_eq(bf_be32(c->byte_cnt), GRH + len);
		ck_assert_mem_eq(b->data + 4096 * i + GRH,
				 i < n - 1 ? a->data + i * 11 : (const uint8_t *)"twenty bytes exactly", len);
	}
}
END_TEST

START_TEST(datagram_to_oneself)
{
	const struct datagram d = { .opcode = BF_MLX5_OP_SEND, .qkey = QKEY, .len = 77, .flags = RIG_CQE };

	rig_recv(&p.q[0], 8192, 1000);
	post(&p.q[0], &p.q[0], &d);
	ring_and_run(0);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 0);
	ck_assert_uint_eq(bf_get_be32(expect(&p.rcq[0], BF_MLX5_CQE_RESP_SEND, 0)->rx + 24) & 0xffffff, p.q[0].qpn);
	ck_assert_mem_eq(a->data + 8192 + GRH, a->data, 77);
}
END_TEST

START_TEST(what_nobody_wants_is_dropped_in_silence)
{
	struct datagram d = { .opcode = BF_MLX5_OP_SEND, .qkey = QKEY + 1, .len = 64, .flags = RIG_CQE };
	struct rig_qp nobody = p.q[1];

	/* Wrong Q_Key, no such queue pair, no receive. */
	rig_recv(&p.q[1], 0, 2048);
	post(&p.q[0], &p.q[1], &d);
	d.qkey = QKEY;
	nobody.qpn = 0x4444;
	post(&p.q[0], &nobody, &d);
	ring_and_run(0);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 0);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 2);
	ck_assert_ptr_null(rig_poll(&p.rcq[1]));
	for (uint32_t i = 0; i < 2; i++)
		post(&p.q[0], &p.q[1], &d);
	ring_and_run(0);
	expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND, 0);
	ck_assert_ptr_null(rig_poll(&p.rcq[1]));
	/* A receive that comes later is for what is sent later. */
	rig_recv(&p.q[1], 4096, 2048);
	d.len = 99;
	post(&p.q[0], &p.q[1], &d);
	ring_and_run(0);
	ck_assert_uint_eq(bf_be32(expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND, 1)->byte_cnt), GRH + 99);
	ck_assert_uint_eq(state(&p.q[0]), BF_MLX5_QPS_RTS);
	ck_assert_uint_eq(state(&p.q[1]), BF_MLX5_QPS_RTS);
}
END_TEST

static uint32_t group_cmd(struct rig_qp *q, uint32_t opcode, const uint8_t gid[16])
{
	uint8_t in[BF_MCG_LEN] = { 0 }, out[16];

	BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, q->qpn);
	memcpy(in + BF_MCG_GID, gid, 16);
	return rig_cmd(q->node, in, sizeof(in), out, sizeof(out));
}

static uint64_t received(const struct rig_qp *q)
{
	struct bf_port_info info;

	bf_port_info(bf_mlx5_port(q->node->dev, 1), &info);
	return info.rx_packets;
}

START_TEST(groups_get_a_copy_each)
{
	static const uint8_t gids[2][16] = { { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 9 },
					     { 0xff, 0x0e, [12] = 0x12, [15] = 7 } };
	const uint8_t *gid = gids[_i];
	struct rig_qp everybody = p.q[1];
	uint8_t w[128] = { 0 };
	uint32_t at;

	ck_assert_uint_eq(group_cmd(&p.q[1], BF_MLX5_CMD_DETACH_FROM_MCG, gid), BF_MLX5_CMD_BAD_PARAM);
	for (uint32_t i = 0; i < 2; i++)
		ck_assert_uint_eq(group_cmd(&p.q[i], BF_MLX5_CMD_ATTACH_TO_MCG, gid), 0);
	ck_assert_uint_eq(group_cmd(&p.q[1], BF_MLX5_CMD_ATTACH_TO_MCG, (const uint8_t[16]){ 0 }),
			  BF_MLX5_CMD_BAD_PARAM);
	everybody.qpn = 0xffffff;
	at = head(w, &everybody, QKEY, 0, RIG_CQE, true);
	memcpy(w + 48, gid, 16);
	at += rig_put_data(w + at, 500, a->key, a->data_va);
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < 2; i++)
			rig_recv(&p.q[i], 0x10000, 2048);
		rig_post(&p.q[0], w, BF_MLX5_OP_SEND, 0, at / 16);
		ring_and_run(0);
		expect(&p.scq[0], BF_MLX5_CQE_REQ, (uint16_t)(2 * round));
		expect(&p.rcq[0], BF_MLX5_CQE_RESP_SEND, (uint16_t)round);
		ck_assert_mem_eq(a->data + 0x10000 + GRH, a->data, 500);
		if (round) {
			ck_assert_ptr_null(rig_poll(&p.rcq[1]));
			ck_assert_uint_eq(received(&p.q[1]), 1); /* the switch knows */
			break;
		}
		expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND, 0);
		ck_assert_mem_eq(b->data + 0x10000 + GRH, a->data, 500);
		ck_assert_uint_eq(group_cmd(&p.q[1], BF_MLX5_CMD_DETACH_FROM_MCG, gid), 0);
	}
}
END_TEST

/* One that wants nothing of its own in a group gets what others send there. */
START_TEST(own_multicasts_are_blocked)
{
	static const uint8_t gid[16] = { [10] = 0xff, [11] = 0xff, [12] = 239, [15] = 9 };
	struct rig_qp_opts o = ud;
	struct rig_qp everybody;

	rig_close(&p.rig);
	o.block_own = true;
	open_with(&o);
	everybody = p.q[1];
	everybody.qpn = 0xffffff;
	for (uint32_t i = 0; i < 2; i++) {
		ck_assert_uint_eq(group_cmd(&p.q[i], BF_MLX5_CMD_ATTACH_TO_MCG, gid), 0);
		rig_recv(&p.q[i], 0x10000, 2048);
	}
	for (uint32_t i = 0; i < 2; i++) {
		uint8_t w[128] = { 0 };
		uint32_t at = head(w, &everybody, QKEY, 0, RIG_CQE, true);

		memcpy(w + 48, gid, 16);
		at += rig_put_data(w + at, 100, p.q[i].node->key, p.q[i].node->data_va);
		rig_post(&p.q[i], w, BF_MLX5_OP_SEND, 0, at / 16);
		ring_and_run(i);
		ck_assert_ptr_null(rig_poll(&p.rcq[i]));
		expect(&p.rcq[1 - i], BF_MLX5_CQE_RESP_SEND, 0);
	}
}
END_TEST

/* What is wrong with a send stops the send queue, and only that. */
START_TEST(send_error_stops_the_send_queue_alone)
{
	struct datagram d = { .opcode = BF_MLX5_OP_SEND, .qkey = QKEY, .len = PATH_MTU + 1 };
	uint8_t syndrome = BF_MLX5_SYND_LOCAL_LENGTH;
	uint8_t w[128] = { 0 };
	uint16_t second, third;
	uint32_t at;

	if (_i == 0) {
		post(&p.q[0], &p.q[1], &d);
	} else if (_i == 1) { /* bad key */
		syndrome = BF_MLX5_SYND_LOCAL_PROT;
		at = head(w, &p.q[1], QKEY, 0, 0, true);
		at += rig_put_data(w + at, 8, a->key + 1, a->data_va);
		rig_post(&p.q[0], w, BF_MLX5_OP_SEND, 0, at / 16);
	} else if (_i == 2) { /* an address that cannot be */
		syndrome = BF_MLX5_SYND_LOCAL_QP_OP;
		at = head(w, &p.q[1], QKEY, 0, 0, true);
		memset(w + 48, 0, 16);
		rig_post(&p.q[0], w, BF_MLX5_OP_SEND, 0, at / 16);
	} else { /* not a datagram */
		syndrome = BF_MLX5_SYND_LOCAL_QP_OP;
		d.opcode = BF_MLX5_OP_RDMA_WRITE;
		d.len = 0;
		post(&p.q[0], &p.q[1], &d);
	}
	d.opcode = BF_MLX5_OP_SEND;
	d.len = 10;
	second = post(&p.q[0], &p.q[1], &d);
	rig_recv(&p.q[1], 0, 2048);
	ring_and_run(0);
	expect_error(&p.scq[0], BF_MLX5_CQE_REQ_ERR, 0, syndrome);
	expect_error(&p.scq[0], BF_MLX5_CQE_REQ_ERR, second, BF_MLX5_SYND_WR_FLUSH);
	ck_assert_uint_eq(state(&p.q[0]), BF_MLX5_QPS_SQER);
	ck_assert_ptr_null(rig_poll(&p.rcq[1]));

	/* It still receives. */
	rig_recv(&p.q[0], 0x10000, 2048);
	post(&p.q[1], &p.q[0], &d);
	ring_and_run(1);
	expect(&p.rcq[0], BF_MLX5_CQE_RESP_SEND, 0);

	/* And sends again, once it was told to. */
	ck_assert_uint_eq(rig_modify(&p.q[0], BF_MLX5_CMD_SQERR2RTS_QP, &p.q[1], &ud), 0);
	d.flags = RIG_CQE;
	third = post(&p.q[0], &p.q[1], &d);
	ring_and_run(0);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, third);
	expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND, 0);
}
END_TEST

START_TEST(receive_that_is_too_short_fails_its_queue_pair)
{
	const struct datagram d = { .opcode = BF_MLX5_OP_SEND, .qkey = QKEY, .len = 100, .flags = RIG_CQE };

	rig_recv(&p.q[1], 0, GRH + 99);
	rig_recv(&p.q[1], 0, GRH + 100);
	post(&p.q[0], &p.q[1], &d);
	ring_and_run(0);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 0);
	expect_error(&p.rcq[1], BF_MLX5_CQE_RESP_ERR, 0, BF_MLX5_SYND_LOCAL_LENGTH);
	expect_error(&p.rcq[1], BF_MLX5_CQE_RESP_ERR, 1, BF_MLX5_SYND_WR_FLUSH);
	ck_assert_uint_eq(state(&p.q[1]), BF_MLX5_QPS_ERR);
}
END_TEST

/* More than fits into the port's or the model's windows, to a queue pair that keeps up and one that does not. */
START_TEST(many_datagrams_in_order)
{
	struct datagram d = { .opcode = BF_MLX5_OP_SEND_IMM, .qkey = QKEY, .len = PATH_MTU };
	uint32_t sent = 0, came = 0;

	for (uint32_t i = 0; i < 32; i++)
		rig_recv(&p.q[1], 4096 * i, 2048);
	for (uint32_t round = 0; round < 40; round++) {
		const struct bf_mlx5_cqe *c;

		for (uint32_t i = 0; i < 32; i++) {
			d.imm = sent++;
			d.flags = i == 31 ? RIG_CQE : 0;
			post(&p.q[0], &p.q[1], &d);
		}
		ring_and_run(0);
		expect(&p.scq[0], BF_MLX5_CQE_REQ, (uint16_t)(sent * 2 - 2));
		while ((c = rig_poll(&p.rcq[1]))) {
			ck_assert_uint_eq(bf_be32(c->imm_inval_pkey), came);
			came++;
			rig_recv(&p.q[1], 4096 * (came % 32), 2048);
		}
	}
	ck_assert_uint_eq(came, sent);
}
END_TEST

START_TEST(unreliable_connection_writes_and_sends)
{
	static const uint32_t lengths[] = { 0, 1, 8, PATH_MTU, PATH_MTU + 1, 100001 };

	for (size_t i = 0; i < BF_ARRAY_LEN(lengths); i++) {
		uint16_t index =
		    rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, i, b->data_va + 64 * i, b->key, lengths[i], RIG_CQE);

		ring_and_run(0);
		expect(&p.scq[0], BF_MLX5_CQE_REQ, index);
		ck_assert_mem_eq(b->data + 64 * i, a->data + i, lengths[i]);
		memset(b->data, 0, 200000);
		rig_recv(&p.q[1], 0, 200000);
		index = rig_send(&p.q[0], BF_MLX5_OP_SEND_IMM, i, lengths[i], 7, RIG_CQE);
		ring_and_run(0);
		expect(&p.scq[0], BF_MLX5_CQE_REQ, index);
		ck_assert_uint_eq(bf_be32(expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND_IMM, (uint16_t)i)->byte_cnt),
				  lengths[i]);
		ck_assert_mem_eq(b->data, a->data + i, lengths[i]);
	}
	ck_assert_uint_eq(state(&p.q[0]), BF_MLX5_QPS_RTS);
}
END_TEST

START_TEST(unreliable_connection_refuses_in_silence)
{
	/* No such key: nothing is written, nobody is told. */
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key + 1, 5000, RIG_CQE);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 5000, RIG_CQE);
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 3000, 0, RIG_CQE); /* no receive */
	memset(b->data, 0, 8192);
	ring_and_run(0);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 0);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 1);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 2);
	ck_assert_mem_eq(b->data, a->data, 5000);
	ck_assert_ptr_null(rig_poll(&p.rcq[1]));
	ck_assert_uint_eq(state(&p.q[1]), BF_MLX5_QPS_RTS);
	/* What cannot be on such a connection. */
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_READ, 0, b->data_va, b->key, 8, 0);
	ring_and_run(0);
	expect_error(&p.scq[0], BF_MLX5_CQE_REQ_ERR, 3, BF_MLX5_SYND_LOCAL_QP_OP);
	ck_assert_uint_eq(state(&p.q[0]), BF_MLX5_QPS_SQER);
}
END_TEST

/* A lost packet takes its message with it, and no other. */
START_TEST(unreliable_connection_loses_whole_messages)
{
	struct bf_fault_plan *plan = NULL;
	uint32_t good = 0;

	ck_assert(!bf_fault_plan_parse("drop prob=0.05", 1, NULL, &plan));
	p.rig.sim->faults = plan;
	for (uint32_t i = 0; i < 30; i++)
		rig_recv(&p.q[1], 20000 * i, 20000);
	for (uint32_t i = 0; i < 30; i++)
		rig_send(&p.q[0], BF_MLX5_OP_SEND_IMM, i * 5, 5000 + i, i, i == 29 ? RIG_CQE : 0);
	ring_and_run(0);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 29);
	for (const struct bf_mlx5_cqe *c; (c = rig_poll(&p.rcq[1])); good++) {
		uint32_t i = bf_be32(c->imm_inval_pkey);

		ck_assert_uint_eq(bf_be16(c->wqe_counter), good);
		ck_assert_uint_eq(bf_be32(c->byte_cnt), 5000 + i);
		ck_assert_mem_eq(b->data + 20000 * good, a->data + i * 5, 5000 + i);
	}
	ck_assert_uint_gt(good, 10);
	ck_assert_uint_lt(good, 30);
	p.rig.sim->faults = NULL;
	bf_fault_plan_destroy(plan);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_ud");
	TCase *tc = tcase_create("datagrams"), *connected = tcase_create("unreliable connections");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, datagram_arrives_behind_its_header);
	tcase_add_test(tc, datagrams_of_every_form);
	tcase_add_test(tc, datagram_to_oneself);
	tcase_add_test(tc, what_nobody_wants_is_dropped_in_silence);
	tcase_add_loop_test(tc, groups_get_a_copy_each, 0, 2);
	tcase_add_test(tc, own_multicasts_are_blocked);
	tcase_add_loop_test(tc, send_error_stops_the_send_queue_alone, 0, 4);
	tcase_add_test(tc, receive_that_is_too_short_fails_its_queue_pair);
	tcase_add_test(tc, many_datagrams_in_order);
	suite_add_tcase(s, tc);
	tcase_set_timeout(connected, 60);
	tcase_add_checked_fixture(connected, setup_uc, teardown);
	tcase_add_test(connected, unreliable_connection_writes_and_sends);
	tcase_add_test(connected, unreliable_connection_refuses_in_silence);
	tcase_add_test(connected, unreliable_connection_loses_whole_messages);
	suite_add_tcase(s, connected);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
