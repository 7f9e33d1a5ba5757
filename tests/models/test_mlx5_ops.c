/* Each opcode of a reliable connection, end to end between two devices, data verified. */
#include <check.h>

#include "sim/rng.h"
#include "tests/models/mlx5_rig.h"

static const struct rig_qp_opts usual = { .log_sq = 6, .log_rq = 5, .log_stride = 2, .log_rd = 4 };

static struct rig_pair p;
static struct rig_node *a, *b;

static void open_with(const struct rig_qp_opts *o, const struct bf_mlx5_profile *profile)
{
	struct bf_rng r;

	rig_pair_open(&p, 1, profile, o);
	a = &p.rig.node[0];
	b = &p.rig.node[1];
	bf_rng_init(&r, 1, "payload");
	for (uint32_t i = 0; i < RIG_DATA / 2; i++)
		a->data[i] = (uint8_t)bf_rng_next(&r);
}

static void setup(void)
{
	open_with(&usual, NULL);
}

static void teardown(void)
{
	rig_close(&p.rig);
}

/* The next CQE must be a good one of this kind for this WQE. */
static const struct bf_mlx5_cqe *expect(struct rig_cq *cq, uint8_t opcode, uint16_t index)
{
	const struct bf_mlx5_cqe *c = rig_poll(cq);

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, opcode);
	ck_assert_uint_eq(bf_be16(c->wqe_counter), index);
	return c;
}

static void ring_and_run(void)
{
	rig_db(&p.q[0]);
	rig_run(&p.rig);
}

START_TEST(write_moves_bytes_of_every_length)
{
	static const uint32_t lengths[] = { 1, 3, 64, 255, 256, 257, 511, 512, 1024, 4095, 4096, 4097, 12288, 100001 };
	struct rig_qp_opts o = usual;

	teardown();
	o.mtu = (uint32_t)_i + 1;
	open_with(&o, NULL);
	for (size_t i = 0; i < BF_ARRAY_LEN(lengths); i++) {
		uint16_t index =
		    rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, i * 7, b->data_va + 13 * i, b->key, lengths[i], RIG_CQE);
		const struct bf_mlx5_cqe *c;

		b->data[13 * i + lengths[i]] = 0xa5;
		ring_and_run();
		c = expect(&p.scq[0], BF_MLX5_CQE_REQ, index);
		ck_assert_uint_eq(bf_be32(c->byte_cnt), lengths[i]);
		ck_assert_uint_eq(bf_be32(c->sop_drop_qpn), (uint32_t)BF_MLX5_OP_RDMA_WRITE << 24 | p.q[0].qpn);
		ck_assert_uint_eq(bf_be32(c->srqn_uidx), 0x77);
		ck_assert_mem_eq(b->data + 13 * i, a->data + i * 7, lengths[i]);
		ck_assert_uint_eq(b->data[13 * i + lengths[i]], 0xa5);
	}
	ck_assert_ptr_null(rig_poll(&p.rcq[1]));
}
END_TEST

START_TEST(zero_length_write_needs_no_key)
{
	uint16_t index = rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, 0x123, 0xbad00, 0, RIG_CQE);

	ring_and_run();
	expect(&p.scq[0], BF_MLX5_CQE_REQ, index);
}
END_TEST

START_TEST(write_imm_takes_a_receive)
{
	const struct bf_mlx5_cqe *c;

	rig_recv(&p.q[1], 0, 16);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE_IMM, 5, b->data_va + 99, b->key, 9000, RIG_CQE | 0x02);
	ring_and_run();
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 0);
	c = expect(&p.rcq[1], BF_MLX5_CQE_RESP_WRITE_IMM, 0);
	ck_assert_uint_eq(bf_be32(c->byte_cnt), 9000);
	ck_assert_uint_eq(bf_be32(c->imm_inval_pkey), 0x1234abcd);
	ck_assert_uint_eq(c->op_own & BF_MLX5_CQE_SE, BF_MLX5_CQE_SE);
	ck_assert_mem_eq(b->data + 99, a->data + 5, 9000);
}
END_TEST

START_TEST(read_fetches_bytes)
{
	static const uint32_t lengths[] = { 1, 4096, 4097, 50000 };

	for (size_t i = 0; i < BF_ARRAY_LEN(lengths); i++) {
		uint32_t to = RIG_DATA / 2 + 1;
		uint16_t index;

		for (uint32_t k = 0; k < lengths[i]; k++)
			b->data[k + 11] = (uint8_t)(k * 31 + i);
		index = rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_READ, to, b->data_va + 11, b->key, lengths[i], RIG_CQE);
		ring_and_run();
		ck_assert_uint_eq(bf_be32(expect(&p.scq[0], BF_MLX5_CQE_REQ, index)->byte_cnt), lengths[i]);
		ck_assert_mem_eq(a->data + to, b->data + 11, lengths[i]);
	}
}
END_TEST

START_TEST(many_reads_share_the_limit)
{
	/* 32 READs, four at a time (log_sra_max 2), then one fenced WRITE of what came back. */
	struct rig_qp_opts o = usual;

	teardown();
	o.log_rd = 2;
	open_with(&o, NULL);
	for (uint32_t i = 0; i < 32 * 5000; i++)
		b->data[i] = (uint8_t)(i * 13 + i / 5000);
	for (uint32_t i = 0; i < 32; i++)
		rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_READ, RIG_DATA / 2 + i * 5000, b->data_va + i * 5000, b->key, 5000,
			 i == 31 ? RIG_CQE : 0);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, RIG_DATA / 2, b->data_va + RIG_DATA / 2, b->key, 32 * 5000,
		 RIG_CQE | BF_MLX5_FM_FENCE << 5);
	ring_and_run();
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 31);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 32);
	ck_assert_mem_eq(a->data + RIG_DATA / 2, b->data, 32 * 5000);
	ck_assert_mem_eq(b->data + RIG_DATA / 2, b->data, 32 * 5000);
}
END_TEST

START_TEST(sends_arrive_in_their_receives)
{
	const struct bf_mlx5_cqe *c;
	uint32_t key = rig_mkey(b, b->pd, b->data_va, 4096, RIG_ALL_RIGHTS, 0x5a);

	for (uint32_t i = 0; i < 4; i++)
		rig_recv(&p.q[1], 0x10000 * i, 0x10000);
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 1, 100, 0, 0);
	rig_send(&p.q[0], BF_MLX5_OP_SEND_IMM, 1000, 9999, 0xfeedf00d, 0);
	rig_send(&p.q[0], BF_MLX5_OP_SEND_INVAL, 2000, 4096, key, RIG_CQE);
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 0, 0, RIG_CQE);
	ring_and_run();
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 2);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 3);
	ck_assert_uint_eq(bf_be32(expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND, 0)->byte_cnt), 100);
	c = expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND_IMM, 1);
	ck_assert_uint_eq(bf_be32(c->byte_cnt), 9999);
	ck_assert_uint_eq(bf_be32(c->imm_inval_pkey), 0xfeedf00d);
	ck_assert_uint_eq(bf_be32(expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND_INV, 2)->imm_inval_pkey), key);
	ck_assert_uint_eq(bf_be32(expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND, 3)->byte_cnt), 0);
	ck_assert_mem_eq(b->data, a->data + 1, 100);
	ck_assert_mem_eq(b->data + 0x10000, a->data + 1000, 9999);
	ck_assert_mem_eq(b->data + 0x20000, a->data + 2000, 4096);

	/* The invalidated key is dead now. */
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, key, 8, RIG_CQE);
	ring_and_run();
	c = expect(&p.scq[0], BF_MLX5_CQE_REQ_ERR, 4);
	ck_assert_uint_eq(((const struct bf_mlx5_err_cqe *)c)->syndrome, BF_MLX5_SYND_REM_ACCESS);
}
END_TEST

/* Inline bytes and data segments in one entry, as UCX sends headers; of every length around a packet's end. */
START_TEST(inline_bytes_before_segments)
{
	static const uint32_t inline_len[] = { 1, 8, 12, 13, 200, 255, 256, 257, 300 };
	static const uint32_t tail_len[] = { 1, 56, 255, 256, 700 };
	struct rig_qp_opts o = usual;

	teardown();
	o.mtu = 1;
	open_with(&o, NULL);
	for (size_t i = 0; i < BF_ARRAY_LEN(inline_len) * BF_ARRAY_LEN(tail_len); i++) {
		uint32_t n = inline_len[i / BF_ARRAY_LEN(tail_len)], m = tail_len[i % BF_ARRAY_LEN(tail_len)];
		uint32_t at = 32 + ((4 + n + 15) & ~15u);
		uint8_t w[512] = { 0 };
		uint16_t index;

		w[11] = RIG_CQE;
		rig_put_raddr(w + 16, b->data_va, b->key);
		bf_put_be32(w + 32, BF_MLX5_INLINE_FLAG | n);
		memcpy(w + 36, a->data + 5000, n);
		at += rig_put_data(w + at, m, a->key, a->data_va + 9000);
		at += rig_put_data(w + at, 33, a->key, a->data_va + 12000);
		memset(b->data, 0, 2048);
		index = rig_post(&p.q[0], w, BF_MLX5_OP_RDMA_WRITE, 0, at / 16);
		ring_and_run();
		ck_assert_uint_eq(bf_be32(expect(&p.scq[0], BF_MLX5_CQE_REQ, index)->byte_cnt), n + m + 33);
		ck_assert_mem_eq(b->data, a->data + 5000, n);
		ck_assert_mem_eq(b->data + n, a->data + 9000, m);
		ck_assert_mem_eq(b->data + n + m, a->data + 12000, 33);
		ck_assert_uint_eq(b->data[n + m + 33], 0);
	}
}
END_TEST

START_TEST(lists_are_gathered_and_scattered)
{
	static const uint32_t gather[] = { 1, 5000, 7, 300, 4096, 2 }, scatter[] = { 3, 2000, 1, 9000 };
	uint8_t w[128] = { 0 }, flat[16384];
	uint32_t at = 16, total = 0, from = 0;

	w[11] = RIG_CQE;
	for (size_t i = 0; i < BF_ARRAY_LEN(gather); i++) {
		memcpy(flat + total, a->data + from, gather[i]);
		at += rig_put_data(w + at, gather[i], a->key, a->data_va + from);
		total += gather[i];
		from += gather[i] + 123;
	}
	for (uint32_t i = 0; i < BF_ARRAY_LEN(scatter); i++)
		rig_recv_sge(&p.q[1], i, scatter[i], b->key, b->data_va + i * 20000);
	rig_recv_post(&p.q[1]);
	rig_post(&p.q[0], w, BF_MLX5_OP_SEND, 0, at / 16);
	ring_and_run();
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 0);
	ck_assert_uint_eq(bf_be32(expect(&p.rcq[1], BF_MLX5_CQE_RESP_SEND, 0)->byte_cnt), total);
	for (uint32_t i = 0, done = 0; done < total; done += scatter[i++]) {
		uint32_t n = total - done < scatter[i] ? total - done : scatter[i];

		ck_assert_mem_eq(b->data + i * 20000, flat + done, n);
	}

	/* A READ into a list. */
	memset(w, 0, sizeof(w));
	w[11] = RIG_CQE;
	at = 16 + rig_put_raddr(w + 16, b->data_va, b->key);
	at += rig_put_data(w + at, 100, a->key, a->data_va + 0xa0000);
	at += rig_put_data(w + at, 8000, a->key, a->data_va + 0xb0000);
	rig_post(&p.q[0], w, BF_MLX5_OP_RDMA_READ, 0, at / 16);
	ring_and_run();
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 2);
	ck_assert_mem_eq(a->data + 0xa0000, b->data, 100);
	ck_assert_mem_eq(a->data + 0xb0000, b->data + 100, 8000);
}
END_TEST

static uint16_t post_atomic(uint32_t opcode, uint32_t opmod, uint64_t raddr, const uint8_t *operands, uint32_t nops,
			    uint64_t local, uint32_t size)
{
	uint8_t w[128] = { 0 };
	uint32_t at = 16 + rig_put_raddr(w + 16, raddr, b->key);

	w[11] = RIG_CQE;
	memcpy(w + at, operands, nops);
	at += nops;
	at += rig_put_data(w + at, size, a->key, a->data_va + local);
	return rig_post(&p.q[0], w, opcode, opmod, at / 16);
}

/* Runs one atomic on `before`; checks the new value and the returned old one. */
static void atomic64(uint32_t opcode, uint32_t opmod, const uint64_t *ops, uint32_t nops, uint64_t before,
		     uint64_t after)
{
	uint8_t raw[32] = { 0 };
	uint16_t index;

	for (uint32_t i = 0; i < nops; i++)
		bf_put_be64(raw + 8 * i, ops[i]);
	bf_put_le64(b->data + 64, before);
	index = post_atomic(opcode, opmod, b->data_va + 64, raw, nops <= 2 ? 16 : 32, 0x80000, 8);
	ring_and_run();
	ck_assert_uint_eq(bf_be32(expect(&p.scq[0], BF_MLX5_CQE_REQ, index)->byte_cnt), 8);
	ck_assert_uint_eq(bf_get_le64(b->data + 64), after);
	ck_assert_uint_eq(bf_get_le64(a->data + 0x80000), before);
}

static void atomic32(uint32_t opcode, const uint32_t *ops, uint32_t nops, uint32_t before, uint32_t after)
{
	uint8_t raw[16] = { 0 };
	uint16_t index;

	for (uint32_t i = 0; i < nops; i++)
		bf_put_be32(raw + 4 * i, ops[i]);
	bf_put_le32(b->data + 68, before);
	index = post_atomic(opcode, BF_MLX5_OPMOD_EXT_4B, b->data_va + 68, raw, 16, 0x80000, 4);
	ring_and_run();
	expect(&p.scq[0], BF_MLX5_CQE_REQ, index);
	ck_assert_uint_eq(bf_get_le32(b->data + 68), after);
	ck_assert_uint_eq(bf_get_be32(a->data + 0x80000), before); /* 4-byte results are big-endian */
}

START_TEST(atomics)
{
	atomic64(BF_MLX5_OP_ATOMIC_FA, 0, (uint64_t[]){ 5, 0 }, 2, ~0ull, 4);
	atomic64(BF_MLX5_OP_ATOMIC_CS, 0, (uint64_t[]){ 77, 42 }, 2, 42, 77);
	atomic64(BF_MLX5_OP_ATOMIC_CS, 0, (uint64_t[]){ 77, 42 }, 2, 43, 43);
	/* Masked FA: no boundary adds, all ones is XOR, a boundary at bit 31 keeps the low half's carry in. */
	atomic64(BF_MLX5_OP_ATOMIC_MASKED_FA, 9, (uint64_t[]){ 3, 0 }, 2, 0xffffffff, 0x100000002);
	atomic64(BF_MLX5_OP_ATOMIC_MASKED_FA, 9, (uint64_t[]){ 0xff00ff, ~0ull }, 2, 0x0ff0f0, 0xf0f00f);
	atomic64(BF_MLX5_OP_ATOMIC_MASKED_FA, 9, (uint64_t[]){ 1, 0x80000000 }, 2, 0x5ffffffff, 0x500000000);
	/* Masked CS: swap (compare mask 0), set bits, compare under a mask. */
	atomic64(BF_MLX5_OP_ATOMIC_MASKED_CS, 9, (uint64_t[]){ 0x1234, 0, ~0ull, 0 }, 4, 99, 0x1234);
	atomic64(BF_MLX5_OP_ATOMIC_MASKED_CS, 9, (uint64_t[]){ 0xf0, 0, 0xf0, 0 }, 4, 0x0f, 0xff);
	atomic64(BF_MLX5_OP_ATOMIC_MASKED_CS, 9, (uint64_t[]){ 0, 7, ~0ull, 0xf }, 4, 0x97, 0);
	atomic64(BF_MLX5_OP_ATOMIC_MASKED_CS, 9, (uint64_t[]){ 0, 7, ~0ull, 0xf }, 4, 0x98, 0x98);
	atomic32(BF_MLX5_OP_ATOMIC_MASKED_FA, (uint32_t[]){ 2, 0 }, 2, ~0u, 1);
	atomic32(BF_MLX5_OP_ATOMIC_MASKED_FA, (uint32_t[]){ 0x8001, 0x8000 }, 2, 0xffff, 0x8000);
	atomic32(BF_MLX5_OP_ATOMIC_MASKED_CS, (uint32_t[]){ 0xab, 0x11, 0xff, 0xff }, 4, 0x2211, 0x22ab);
	atomic32(BF_MLX5_OP_ATOMIC_MASKED_CS, (uint32_t[]){ 0xab, 0x12, 0xff, 0xff }, 4, 0x2211, 0x2211);
}
END_TEST

START_TEST(big_endian_results_when_the_device_is_set_so)
{
	struct bf_mlx5_profile profile = bf_mlx5_cx7;
	uint8_t ops[16] = { 0 };

	teardown();
	profile.host_endian_atomics = false;
	open_with(&usual, &profile);
	bf_put_le64(b->data, 0x1122334455667788);
	bf_put_be64(ops, 1);
	post_atomic(BF_MLX5_OP_ATOMIC_FA, 0, b->data_va, ops, 16, 0x80000, 8);
	ring_and_run();
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 0);
	ck_assert_uint_eq(bf_get_be64(a->data + 0x80000), 0x1122334455667788);
	ck_assert_uint_eq(bf_get_le64(b->data), 0x1122334455667789);
}
END_TEST

START_TEST(nop_and_dump_complete_locally)
{
	uint8_t w[64] = { 0 };

	w[11] = RIG_CQE;
	rig_post(&p.q[0], w, BF_MLX5_OP_NOP, 0, 1);
	rig_post(&p.q[0], w, BF_MLX5_OP_NOP, 0, 2);
	w[11] = RIG_CQE | BF_MLX5_FM_FENCE << 5;
	rig_put_data(w + 16, 1, a->key, a->data_va);
	rig_post(&p.q[0], w, BF_MLX5_OP_DUMP, 0, 2);
	ring_and_run();
	for (uint16_t i = 0; i < 3; i++)
		expect(&p.scq[0], BF_MLX5_CQE_REQ, i);
}
END_TEST

/*
 * A READ into a buffer, then a WRITE from that buffer: without a fence the WRITE's payload is read before the READ's
 * data have come; with one it is not.
 */
START_TEST(fence_orders_write_after_read)
{
	uint8_t flags = (uint8_t)(RIG_CQE | (_i << 5));
	bool fenced = _i >= (int)BF_MLX5_FM_FENCE;

	memset(a->data, 0, 64);
	memset(b->data, 0x77, 64);
	memset(b->data + 4096, 0x11, 64);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_READ, 0, b->data_va, b->key, 64, 0);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va + 4096, b->key, 64, flags);
	ring_and_run();
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 1);
	ck_assert_uint_eq(b->data[4096], fenced ? 0x77 : 0);
}
END_TEST

START_TEST(unsignalled_wqes_make_no_cqe)
{
	for (int i = 0; i < 20; i++)
		rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, i % 5 == 4 ? RIG_CQE : 0);
	ring_and_run();
	for (uint16_t i = 4; i < 20; i = (uint16_t)(i + 5))
		expect(&p.scq[0], BF_MLX5_CQE_REQ, i);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
}
END_TEST

START_TEST(queue_pair_connected_to_itself)
{
	struct rig_qp self;

	rig_qp_open(a, &self, &p.scq[0], &p.rcq[0], &usual);
	rig_connect(&self, &self, &usual);
	rig_recv(&self, 0x90000, 4096);
	rig_rdma(&self, BF_MLX5_OP_RDMA_WRITE, 0, a->data_va + 0x80000, a->key, 5000, RIG_CQE);
	rig_send(&self, BF_MLX5_OP_SEND, 10, 3000, 0, RIG_CQE);
	rig_db(&self);
	rig_run(&p.rig);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 0);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 1);
	expect(&p.rcq[0], BF_MLX5_CQE_RESP_SEND, 0);
	ck_assert_mem_eq(a->data + 0x80000, a->data, 5000);
	ck_assert_mem_eq(a->data + 0x90000, a->data + 10, 3000);
}
END_TEST

START_TEST(both_directions_at_once)
{
	for (int i = 0; i < 30; i++) {
		rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 10000, i == 29 ? RIG_CQE : 0);
		rig_rdma(&p.q[1], BF_MLX5_OP_RDMA_READ, 0x80000, a->data_va, a->key, 10000, i == 29 ? RIG_CQE : 0);
	}
	rig_db(&p.q[0]);
	rig_db(&p.q[1]);
	rig_run(&p.rig);
	expect(&p.scq[0], BF_MLX5_CQE_REQ, 29);
	expect(&p.scq[1], BF_MLX5_CQE_REQ, 29);
	ck_assert_mem_eq(b->data, a->data, 10000);
	ck_assert_mem_eq(b->data + 0x80000, a->data, 10000);
}
END_TEST

/* Nothing is lost, so nothing is sent again: no ACK overtakes a READ's answer, no time-out is too short. */
START_TEST(clean_fabric_needs_no_retry)
{
	struct rig_qp_opts o = usual;
	struct bf_mlx5_qp_info info;

	teardown();
	o.mtu = 1; /* 157 packets an answer: more than are gathered at once */
	open_with(&o, NULL);
	for (int i = 0; i < 10; i++) {
		rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_READ, RIG_DATA / 2, b->data_va, b->key, 40000, 0);
		rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
	}
	ring_and_run();
	for (uint16_t i = 0; i < 10; i++)
		expect(&p.scq[0], BF_MLX5_CQE_REQ, (uint16_t)(2 * i + 1));
	ck_assert(!bf_mlx5_qp_info(a->dev, p.q[0].qpn, &info));
	ck_assert_uint_eq(info.retries, 0);
}
END_TEST

START_TEST(same_seed_same_records)
{
	uint64_t hash[2], count[2];

	teardown();
	for (int round = 0; round < 2; round++) {
		rig_open(&p.rig, 3, NULL);
		ck_assert(!bf_stream_open(&p.rig.sim->rec, &p.rig.sim->now_ps, BF_CLASS_ALL, NULL));
		for (uint32_t i = 0; i < 2; i++) {
			rig_cq_open(&p.rig.node[i], &p.scq[i], 10, 0);
			rig_qp_open(&p.rig.node[i], &p.q[i], &p.scq[i], &p.scq[i], &usual);
		}
		rig_connect(&p.q[0], &p.q[1], &usual);
		rig_connect(&p.q[1], &p.q[0], &usual);
		for (int i = 0; i < 20; i++)
			rig_rdma(&p.q[0], i & 1 ? BF_MLX5_OP_RDMA_READ : BF_MLX5_OP_RDMA_WRITE, 64u * (unsigned)i,
				 p.rig.node[1].data_va, p.rig.node[1].key, 700, RIG_CQE);
		ring_and_run();
		hash[round] = bf_stream_hash(&p.rig.sim->rec);
		count[round] = p.rig.sim->rec.count;
		ck_assert(!bf_stream_close(&p.rig.sim->rec));
		if (!round)
			teardown();
	}
	ck_assert_uint_eq(hash[0], hash[1]);
	ck_assert_uint_eq(count[0], count[1]);
	ck_assert_uint_gt(count[0], 200);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_ops");
	TCase *tc = tcase_create("opcodes");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, write_moves_bytes_of_every_length, 0, 5);
	tcase_add_test(tc, zero_length_write_needs_no_key);
	tcase_add_test(tc, write_imm_takes_a_receive);
	tcase_add_test(tc, read_fetches_bytes);
	tcase_add_test(tc, many_reads_share_the_limit);
	tcase_add_test(tc, sends_arrive_in_their_receives);
	tcase_add_test(tc, inline_bytes_before_segments);
	tcase_add_test(tc, lists_are_gathered_and_scattered);
	tcase_add_test(tc, atomics);
	tcase_add_test(tc, big_endian_results_when_the_device_is_set_so);
	tcase_add_test(tc, nop_and_dump_complete_locally);
	tcase_add_loop_test(tc, fence_orders_write_after_read, 0, 5);
	tcase_add_test(tc, unsignalled_wqes_make_no_cqe);
	tcase_add_test(tc, queue_pair_connected_to_itself);
	tcase_add_test(tc, both_directions_at_once);
	tcase_add_test(tc, clean_fabric_needs_no_retry);
	tcase_add_test(tc, same_seed_same_records);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
