/* Completion queues: another ring, moderated events, data in CQEs. */
#include <check.h>

#include "tests/models/mlx5_events.h"

static const struct rig_qp_opts o = { .log_sq = 6, .log_rq = 4, .log_stride = 0, .log_rd = 2 };
static struct rig rig;
static struct rig_node *a, *b;
static struct rig_eq eq;
static struct rig_cq cq, rcq;
static struct rig_qp q, peer;

/* `flags` as rig_cq_open(). */
static void open_as(uint32_t log_size, uint32_t flags, const struct rig_qp_opts *opts)
{
	rig_open(&rig, 1, NULL);
	a = &rig.node[0];
	b = &rig.node[1];
	rig_eq_open(a, &eq, 8, 1, 0, 0);
	a->eqn = eq.eqn;
	rig_cq_open(a, &cq, log_size, flags);
	rig_cq_open(b, &rcq, 6, flags);
	rig_qp_open(a, &q, &cq, &cq, opts);
	rig_qp_open(b, &peer, &rcq, &rcq, opts);
	rig_connect(&q, &peer, opts);
	rig_connect(&peer, &q, opts);
	for (uint32_t i = 0; i < 4096; i++)
		a->data[i] = b->data[i + 8192] = (uint8_t)(i * 11 + 1);
}

static void setup(void)
{
	open_as(2, 0, &o);
}

static void teardown(void)
{
	rig_close(&rig);
}

static void complete(uint32_t n)
{
	while (n--)
		rig_rdma(&q, BF_MLX5_OP_NOP, 0, 0, 0, 0, RIG_CQE);
	rig_db(&q);
	rig_run(&rig);
}

static uint32_t modify(uint32_t op_mod, uint32_t select, uint8_t *in)
{
	uint8_t out[16];

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_MODIFY_CQ);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, op_mod);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, cq.cqn);
	BF_MLX5_SET(in, BF_MODIFY_CQ_SELECT, select);
	return rig_cmd(a, in, BF_CREATE_CQ_LEN, out, sizeof(out));
}

static uint8_t *new_ring(uint8_t *in, uint32_t log_size, bool wide)
{
	uint8_t *ring = rig_alloc(a, (wide ? 128ull : 64ull) << log_size);

	memset(in, 0, BF_CREATE_CQ_LEN);
	memset(ring, 0xff, (wide ? 128u : 64u) << log_size);
	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_LOG_SIZE, log_size);
	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_CQE_SZ, wide);
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, rig_va(a, ring));
	return ring;
}

static uint8_t *cqe_at(uint8_t *ring, uint32_t entries, uint32_t index)
{
	return ring + (index & (entries - 1)) * 64;
}

/* What libmlx5 does after the command: entries not seen yet move behind their place, up to the one that says RESIZE. */
static void move(uint8_t *ring, uint32_t entries)
{
	uint32_t i = cq.ci, old_mask = cq.entries - 1;
	const uint8_t *from = cqe_at(cq.ring, cq.entries, i);

	ck_assert_uint_eq(from[63] & 1u, (i & cq.entries) != 0);
	while (from[63] >> 4 != BF_MLX5_CQE_RESIZE) {
		uint8_t *to = cqe_at(ring, entries, i + 1);

		memcpy(to, from, 64);
		to[63] = (uint8_t)((to[63] & ~1u) | (((i + 1) & entries) != 0));
		from = cq.ring + (++i & old_mask) * 64;
		ck_assert_uint_eq(from[63] & 1u, (i & cq.entries) != 0);
		ck_assert_uint_ne(i, cq.ci + cq.entries);
	}
	cq.ci++;
	cq.ring = ring;
	cq.entries = entries;
	bf_put_be32(cq.dbr, cq.ci & 0xffffff);
}

static uint32_t drain(uint16_t *expect)
{
	const struct bf_mlx5_cqe *c;
	uint32_t n = 0;

	for (; (c = rig_poll(&cq)); n++)
		ck_assert_uint_eq(bf_be16(c->wqe_counter), (*expect)++);
	return n;
}

/* Grows and shrinks with entries unseen, at every offset in the old ring; completions go on in order. */
START_TEST(resize)
{
	static const uint32_t sizes[] = { 5, 3, 7, 2, 3, 6 };
	uint8_t in[BF_CREATE_CQ_LEN], query[16 + BF_CQC_LEN];
	uint16_t expected = 0;

	complete((uint32_t)_i);
	ck_assert_uint_eq(drain(&expected), (uint32_t)_i);
	for (size_t i = 0; i < BF_ARRAY_LEN(sizes); i++) {
		uint8_t *ring = new_ring(in, sizes[i], false);

		complete(2);
		ck_assert_uint_eq(modify(BF_MODIFY_CQ_RESIZE, BF_MODIFY_CQ_LOG_SIZE, in), 0);
		rig_run(&rig);
		move(ring, 1u << sizes[i]);
		complete(1);
		ck_assert_uint_eq(drain(&expected), 3);
		for (uint32_t k = 0; k < 5; k++) {
			complete(2);
			ck_assert_uint_eq(drain(&expected), 2);
		}
	}
	memset(in, 0, sizeof(in));
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_CQ);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, cq.cqn);
	ck_assert_uint_eq(rig_cmd(a, in, 16, query, sizeof(query)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(query + 16, BF_CQC_LOG_SIZE), 6);
}
END_TEST

/* The old ring's UMEM is free then, the new one's is not. */
START_TEST(resize_umems)
{
	uint8_t in[BF_CREATE_CQ_LEN], um[BF_CREATE_UMEM_MTT + 8] = { 0 };
	uint32_t umem[2];

	for (uint32_t i = 0; i < 2; i++) {
		uint8_t *ring = new_ring(in, 4, false);

		memset(um, 0, sizeof(um));
		BF_MLX5_SET(um + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT, 1);
		bf_put_be64(um + BF_CREATE_UMEM_MTT, rig_va(a, ring));
		umem[i] = rig_do(a, BF_MLX5_CMD_CREATE_UMEM, um, sizeof(um));
		bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, 0);
		BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_ID, umem[i]);
		BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_VALID, 1);
		ck_assert_uint_eq(modify(BF_MODIFY_CQ_RESIZE, BF_MODIFY_CQ_LOG_SIZE, in), 0);
		ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_UMEM, umem[i]), BF_MLX5_CMD_RES_BUSY);
	}
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_UMEM, umem[0]), 0);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_QP, q.qpn), 0);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_CQ, cq.cqn), 0);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_UMEM, umem[1]), 0);
}
END_TEST

START_TEST(modify_wrong)
{
	uint8_t in[BF_CREATE_CQ_LEN];

	new_ring(in, 4, false);
	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_LOG_SIZE, 23);
	ck_assert_uint_eq(modify(BF_MODIFY_CQ_RESIZE, BF_MODIFY_CQ_LOG_SIZE, in), BF_MLX5_CMD_BAD_PARAM);
	new_ring(in, 4, false);
	ck_assert_uint_eq(modify(BF_MODIFY_CQ_RESIZE, 0, in), BF_MLX5_CMD_BAD_PARAM);
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, 8);
	ck_assert_uint_eq(modify(BF_MODIFY_CQ_RESIZE, BF_MODIFY_CQ_LOG_SIZE, in), BF_MLX5_CMD_BAD_PARAM);
	BF_MLX5_SET(in, BF_CREATE_CQ_UMEM_VALID, 1);
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, 0);
	ck_assert_uint_eq(modify(BF_MODIFY_CQ_RESIZE, BF_MODIFY_CQ_LOG_SIZE, in), BF_MLX5_CMD_BAD_RES);
	ck_assert_uint_eq(modify(0, BF_MODIFY_CQ_OVERRUN, in), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_uint_eq(modify(2, 0, in), BF_MLX5_CMD_BAD_PARAM);
	complete(2); /* and it works as before */
	ck_assert_ptr_nonnull(rig_poll(&cq));
	ck_assert_ptr_nonnull(rig_poll(&cq));
}
END_TEST

static uint32_t events(void)
{
	uint32_t n = 0;

	while (rig_eq_poll(&eq))
		n++;
	return n;
}

/* An event waits for as many entries as were asked for, or until its time is up. */
START_TEST(moderation)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 }, query[16 + BF_CQC_LEN];
	uint16_t expected = 0;
	uint64_t from;

	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_PERIOD, 50);
	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_MAX_COUNT, 3);
	ck_assert_uint_eq(modify(0, BF_MODIFY_CQ_PERIOD | BF_MODIFY_CQ_COUNT, in), 0);
	rig_cq_arm(&cq, 0, false);
	complete(0);
	from = rig.sim->now_ps;
	complete(3);
	ck_assert_uint_eq(events(), 1);
	ck_assert_uint_lt(rig.sim->now_ps - from, 10 * BF_US);
	drain(&expected);
	rig_cq_arm(&cq, 1, false);
	complete(0);
	from = rig.sim->now_ps;
	rig_rdma(&q, BF_MLX5_OP_NOP, 0, 0, 0, 0, RIG_CQE);
	rig_db(&q);
	bf_sim_run(rig.sim, from + 40 * BF_US);
	ck_assert_uint_eq(events(), 0);
	rig_run(&rig);
	ck_assert_uint_eq(events(), 1);
	ck_assert_uint_ge(rig.sim->now_ps - from, 50 * BF_US);
	drain(&expected);
	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_MAX_COUNT, 1);
	ck_assert_uint_eq(modify(0, BF_MODIFY_CQ_COUNT, in), 0);
	rig_cq_arm(&cq, 2, false);
	from = rig.sim->now_ps;
	complete(1);
	ck_assert_uint_eq(events(), 1);
	ck_assert_uint_lt(rig.sim->now_ps - from, 10 * BF_US);
	memset(in, 0, sizeof(in));
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_CQ);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, cq.cqn);
	ck_assert_uint_eq(rig_cmd(a, in, 16, query, sizeof(query)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(query + 16, BF_CQC_PERIOD), 50);
	ck_assert_uint_eq(BF_MLX5_GET(query + 16, BF_CQC_MAX_COUNT), 1);
}
END_TEST

/* Destroyed while an event waits. */
START_TEST(moderation_ends)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 };

	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_PERIOD, 50);
	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_MAX_COUNT, 3);
	ck_assert_uint_eq(modify(0, BF_MODIFY_CQ_PERIOD | BF_MODIFY_CQ_COUNT, in), 0);
	rig_cq_arm(&cq, 0, false);
	rig_rdma(&q, BF_MLX5_OP_NOP, 0, 0, 0, 0, RIG_CQE);
	rig_db(&q);
	bf_sim_run(rig.sim, rig.sim->now_ps + 20 * BF_US);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_QP, q.qpn), 0);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_CQ, cq.cqn), 0);
	rig_run(&rig);
	ck_assert_uint_eq(events(), 0);
}
END_TEST

static const uint8_t *poll_wide(struct rig_cq *c)
{
	uint8_t *e = c->ring + (c->ci & (c->entries - 1)) * 128;

	if (e[127] >> 4 == BF_MLX5_CQE_INVALID || (e[127] & 1u) != ((c->ci & c->entries) != 0))
		return NULL;
	c->ci++;
	bf_put_be32(c->dbr, c->ci & 0xffffff);
	return e + 64;
}

static bool signature_holds(const uint8_t *e, uint32_t slot)
{
	uint8_t x = (uint8_t)slot;

	for (uint32_t i = 0; i < 64; i++)
		x ^= e[i];
	return x == 0xff;
}

/* Small data are in the CQE and not in the buffers; larger ones the other way round. 128-byte CQEs carry 64 bytes. */
START_TEST(data_in_cqe)
{
	static const uint32_t lengths[] = { 1, 31, 32, 33, 64, 65, 300 };
	const bool wide = _i & 1, read = _i & 2;
	const uint32_t carries = wide ? 64 : 32;
	struct rig_qp_opts opts = o;

	rig_close(&rig);
	opts.cs_req = wide ? BF_CS_REQ_64 : BF_CS_REQ_32;
	opts.cs_res = wide ? BF_CS_RES_64 : BF_CS_RES_32;
	open_as(6, wide ? 2 : 0, &opts);
	for (size_t i = 0; i < BF_ARRAY_LEN(lengths); i++) {
		struct rig_cq *at = read ? &cq : &rcq;
		uint8_t *buffer = (read ? a : b)->data + 4096, *data = read ? b->data + 8192 : a->data;
		const uint32_t len = lengths[i];
		const uint8_t *e;

		memset(buffer, 0, 512);
		if (read) {
			rig_rdma(&q, BF_MLX5_OP_RDMA_READ, 4096, b->data_va + 8192, b->key, len, RIG_CQE);
		} else {
			rig_recv(&peer, 4096, 512);
			rig_send(&q, BF_MLX5_OP_SEND, 0, len, 0, 0);
		}
		rig_db(&q);
		rig_run(&rig);
		e = wide ? poll_wide(at) : (const uint8_t *)rig_poll(at);
		ck_assert_ptr_nonnull(e);
		ck_assert_uint_eq(bf_get_be32(e + 44), len);
		ck_assert(signature_holds(e, at->ci - 1));
		if (len <= carries) {
			ck_assert_uint_eq(e[63] & 0xcu, wide ? BF_MLX5_CQE_INLINE_64 : BF_MLX5_CQE_INLINE_32);
			ck_assert_mem_eq(wide ? e - 64 : e, data, len);
			ck_assert_uint_eq(buffer[0], 0);
		} else {
			ck_assert_uint_eq(e[63] & 0xcu, 0);
			ck_assert_mem_eq(buffer, data, len);
		}
	}
}
END_TEST

/* A queue that pads writes the first half of each entry, be there data in it or not; a query tells. */
START_TEST(padded)
{
	uint8_t in[16] = { 0 }, out[16 + BF_CQC_LEN], zeros[64] = { 0 };

	for (uint32_t pads = 0; pads < 2; pads++) {
		rig_close(&rig);
		open_as(6, pads ? 8 : 2, &o);
		complete(1);
		ck_assert_ptr_nonnull(poll_wide(&cq));
		ck_assert_int_eq(!memcmp(cq.ring, zeros, sizeof(zeros)), pads);
		BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_CQ);
		BF_MLX5_SET(in, BF_CMD_IN_NUMBER, cq.cqn);
		ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), 0);
		ck_assert_uint_eq(BF_MLX5_GET(out + 16, BF_CQC_CQE_SZ), 1 + pads);
	}
}
END_TEST

/* A READ without a CQE has no place but its buffer; an atomic's old value goes into the CQE. */
START_TEST(data_in_cqe_or_not)
{
	struct rig_qp_opts opts = o;
	const struct bf_mlx5_cqe *c;
	uint8_t w[64] = { 0 };

	rig_close(&rig);
	opts.cs_req = BF_CS_REQ_32;
	open_as(6, 0, &opts);
	rig_rdma(&q, BF_MLX5_OP_RDMA_READ, 4096, b->data_va + 8192, b->key, 16, 0);
	w[11] = RIG_CQE;
	bf_put_le64(b->data, 0x1122334455667788);
	rig_put_raddr(w + 16, b->data_va, b->key);
	bf_put_be64(w + 32, 1);
	rig_put_data(w + 48, 8, a->key, a->data_va + 5000);
	rig_post(&q, w, BF_MLX5_OP_ATOMIC_FA, 0, 4);
	rig_db(&q);
	rig_run(&rig);
	ck_assert_mem_eq(a->data + 4096, b->data + 8192, 16);
	c = rig_poll(&cq);
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own & 0xcu, BF_MLX5_CQE_INLINE_32);
	ck_assert_uint_eq(bf_get_be64(c->rx),
			  0x1122334455667788); /* although in a buffer it has the order of the host */
	ck_assert_uint_eq(bf_get_le64(b->data), 0x1122334455667789);
	ck_assert_uint_eq(bf_get_le64(a->data + 5000), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_cq");
	TCase *t = tcase_create("cq");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, resize, 0, 5);
	tcase_add_test(t, resize_umems);
	tcase_add_test(t, modify_wrong);
	tcase_add_test(t, moderation);
	tcase_add_test(t, moderation_ends);
	tcase_add_loop_test(t, data_in_cqe, 0, 4);
	tcase_add_test(t, data_in_cqe_or_not);
	tcase_add_test(t, padded);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
