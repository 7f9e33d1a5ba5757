/* Keys that translate: memory windows, layouts of pieces, zero-based regions; what binds and invalidates them. */
#include <check.h>

#include "tests/models/mlx5_rig.h"

#define BIND_MASK                                                                                                      \
	(BF_MLX5_UMR_MASK_LEN | BF_MLX5_UMR_MASK_START | BF_MLX5_UMR_MASK_LW | BF_MLX5_UMR_MASK_RR |                   \
	 BF_MLX5_UMR_MASK_RW | BF_MLX5_UMR_MASK_A)
#define RW 0x2000u
#define RR 0x1000u
#define ATOMIC 0x4000u

static const struct rig_qp_opts usual = { .log_sq = 7, .log_rq = 5, .log_stride = 2, .log_rd = 4, .mtu = 1 };

static struct rig_pair p;
static struct rig_node *a, *b;
static struct rig_qp *q; /* of the window's owner */

static void setup(void)
{
	rig_pair_open(&p, 1, NULL, &usual);
	a = &p.rig.node[0];
	b = &p.rig.node[1];
	q = &p.q[1];
	for (uint32_t i = 0; i < RIG_DATA; i++)
		a->data[i] = (uint8_t)(i * 7 + i / 251);
}

static void teardown(void)
{
	rig_close(&p.rig);
}

static uint8_t syndrome_of(struct rig_cq *cq)
{
	const struct bf_mlx5_cqe *c = rig_poll(cq);

	ck_assert_ptr_nonnull(c);
	if (c->op_own >> 4 == BF_MLX5_CQE_REQ)
		return 0;
	ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_REQ_ERR);
	return ((const struct bf_mlx5_err_cqe *)(const void *)c)->syndrome;
}

/* Runs what was posted; the syndrome of its one CQE, 0 when it is a good one. */
static uint8_t ring(struct rig_qp *who)
{
	rig_db(who);
	rig_run(&p.rig);
	return syndrome_of(who->scq);
}

/* A key for UMR WQEs to fill, as a driver makes it for a window. */
static uint32_t make_window(struct rig_node *n, bool type_2, bool umr_en)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 }, *mkc = in + BF_CREATE_MKEY_MKC;

	BF_MLX5_SET(mkc, BF_MKC_FREE, 1);
	BF_MLX5_SET(mkc, BF_MKC_UMR_EN, umr_en);
	BF_MLX5_SET(mkc, BF_MKC_LR, 1);
	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_KLM);
	BF_MLX5_SET(mkc, BF_MKC_EN_RINVAL, type_2);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff);
	BF_MLX5_SET(mkc, BF_MKC_KEY, 0x20);
	BF_MLX5_SET(mkc, BF_MKC_PD, n->pd);
	return rig_do(n, BF_MLX5_CMD_CREATE_MKEY, in, sizeof(in)) << 8 | 0x20;
}

struct umr {
	uint32_t key, variant, qpn, rights, lkey;
	uint64_t va, len;
	bool type_2, zero_based;
};

/* A UMR WQE in the shape of libmlx5's bind and invalidate requests; length 0 invalidates. */
static uint32_t fill(uint8_t *w, const struct umr *u)
{
	uint8_t *mkc = w + BF_MLX5_UMR_MKC_AT;
	uint64_t mask = BF_MLX5_UMR_MASK_FREE | BF_MLX5_UMR_MASK_KEY | (u->type_2 ? BF_MLX5_UMR_MASK_QPN : 0) |
			(u->len ? BIND_MASK : 0);

	w[11] = RIG_CQE;
	bf_put_be32(w + 12, u->key);
	w[16] = BF_MLX5_UMR_INLINE | BF_MLX5_UMR_OFFSET;
	if (u->type_2)
		w[16] |= u->len ? BF_MLX5_UMR_CHECK_FREE : BF_MLX5_UMR_CHECK_QPN;
	bf_put_be64(w + 24, mask);
	BF_MLX5_SET(mkc, BF_MKC_KEY, u->variant);
	BF_MLX5_SET(mkc, BF_MKC_QPN, u->type_2 && u->len ? u->qpn : 0xffffff);
	if (!u->len) {
		BF_MLX5_SET(mkc, BF_MKC_FREE, 1);
		return BF_MLX5_UMR_LIST_AT / 16;
	}
	bf_put_be16(w + 20, 4);
	bf_put_be32(mkc, bf_get_be32(mkc) | u->rights);
	bf_put_be64(mkc + BF_MKC_START, u->zero_based ? 0 : u->va);
	bf_put_be64(mkc + BF_MKC_SIZE, u->len);
	rig_put_data(w + BF_MLX5_UMR_LIST_AT, (uint32_t)u->len, u->lkey, u->va);
	return BF_MLX5_UMR_LIST_AT / 16 + 4;
}

static uint8_t change(struct rig_qp *who, const struct umr *u)
{
	uint8_t w[256] = { 0 };
	uint32_t ds = fill(w, u);

	rig_post(who, w, BF_MLX5_OP_UMR, 0, ds);
	return ring(who);
}

static uint8_t access_at(uint32_t opcode, uint64_t va, uint32_t key, uint32_t len)
{
	rig_rdma(&p.q[0], opcode, 0, va, key, len, RIG_CQE);
	return ring(&p.q[0]);
}

/* Both queue pairs anew, after one of them failed. */
static void again(void)
{
	for (uint32_t i = 0; i < 2; i++) {
		RIG_MUST(!rig_modify(&p.q[i], BF_MLX5_CMD_2RST_QP, &p.q[!i], &usual));
		memset(p.q[i].dbr, 0, 8);
		p.q[i].sq_pi = p.q[i].rq_pi = 0;
		while (rig_poll(&p.scq[i]) || rig_poll(&p.rcq[i]))
			;
	}
	rig_connect(&p.q[0], &p.q[1], &usual);
	rig_connect(&p.q[1], &p.q[0], &usual);
}

START_TEST(window_gives_part_of_a_region)
{
	uint32_t key = make_window(b, false, true), bound = (key & ~0xffu) | 0x21;
	struct umr u = { .key = key,
			 .variant = 0x21,
			 .rights = RW | RR | ATOMIC,
			 .lkey = b->key,
			 .va = b->data_va + 4096,
			 .len = 3000 };
	uint64_t at = u.va;

	/* Nothing before it is bound, and nothing under its old name after. */
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, at, key, 8), BF_MLX5_SYND_REM_ACCESS);
	again();
	ck_assert_uint_eq(change(q, &u), 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, at, bound, 3000), 0);
	ck_assert_mem_eq(b->data + 4096, a->data, 3000);
	memset(a->data, 0, 3000);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_READ, at + 1, bound, 2999), 0);
	ck_assert_mem_eq(a->data, b->data + 4097, 2999);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, at, key, 8), BF_MLX5_SYND_REM_ACCESS);
	again();
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, at + 2993, bound, 8), BF_MLX5_SYND_REM_ACCESS);
	again();
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, at - 1, bound, 8), BF_MLX5_SYND_REM_ACCESS);
	again();

	/* Bound again, to something else and for reading only. */
	u.key = bound;
	u.variant = 0x22;
	u.va = b->data_va + 0x10000;
	u.rights = RR;
	ck_assert_uint_eq(change(q, &u), 0);
	bound = (key & ~0xffu) | 0x22;
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_READ, u.va, bound, 3000), 0);
	ck_assert_mem_eq(a->data, b->data + 0x10000, 3000);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, u.va, bound, 8), BF_MLX5_SYND_REM_ACCESS);
	again();

	/* Unbound. */
	u.key = bound;
	u.len = 0;
	ck_assert_uint_eq(change(q, &u), 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_READ, u.va, bound, 8), BF_MLX5_SYND_REM_ACCESS);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_MKEY, key >> 8), 0);
}
END_TEST

START_TEST(zero_based_window_and_atomics)
{
	uint32_t key = make_window(b, false, true), bound = (key & ~0xffu) | 0x21;
	const struct umr u = { .key = key,
			       .variant = 0x21,
			       .rights = RW | RR | ATOMIC,
			       .lkey = b->key,
			       .va = b->data_va + 8000,
			       .len = 4096,
			       .zero_based = true };
	uint8_t w[64] = { 0 };

	ck_assert_uint_eq(change(q, &u), 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, 100, bound, 3996), 0);
	ck_assert_mem_eq(b->data + 8100, a->data, 3996);
	bf_put_le64(b->data + 8000 + 64, 40);
	w[11] = RIG_CQE;
	rig_put_raddr(w + 16, 64, bound);
	bf_put_be64(w + 32, 2);
	rig_put_data(w + 48, 8, a->key, a->data_va);
	rig_post(&p.q[0], w, BF_MLX5_OP_ATOMIC_FA, 0, 4);
	ck_assert_uint_eq(ring(&p.q[0]), 0);
	ck_assert_uint_eq(bf_get_le64(a->data), 40);
	ck_assert_uint_eq(bf_get_le64(b->data + 8000 + 64), 42);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_READ, 4089, bound, 8), BF_MLX5_SYND_REM_ACCESS);
}
END_TEST

START_TEST(type_2_window_belongs_to_its_queue_pair)
{
	uint32_t key = make_window(b, true, true), bound = (key & ~0xffu) | 0x33;
	struct umr u = { .key = key,
			 .variant = 0x33,
			 .qpn = q->qpn,
			 .rights = RW,
			 .lkey = b->key,
			 .va = b->data_va,
			 .len = 4096,
			 .type_2 = true };
	struct umr invalidate = { .key = bound, .type_2 = true };

	ck_assert_uint_eq(change(q, &u), 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, b->data_va, bound, 4096), 0);
	/* It must be free to be bound. */
	u.key = bound;
	ck_assert_uint_eq(change(q, &u), BF_MLX5_SYND_MW_BIND);
	again();
	ck_assert_uint_eq(change(q, &invalidate), 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, b->data_va, bound, 8), BF_MLX5_SYND_REM_ACCESS);
	again();
	u.variant = 0x34;
	u.qpn = q->qpn + 1;
	ck_assert_uint_eq(change(q, &u), 0);
	/* Of another queue pair: no access, and no invalidation. */
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, b->data_va, (bound & ~0xffu) | 0x34, 8),
			  BF_MLX5_SYND_REM_ACCESS);
	again();
	invalidate.key = (bound & ~0xffu) | 0x34;
	ck_assert_uint_eq(change(q, &invalidate), BF_MLX5_SYND_MW_BIND);
}
END_TEST

START_TEST(peer_invalidates_what_it_may)
{
	uint32_t window = make_window(b, _i == 0, true), bound = (window & ~0xffu) | 0x44;
	const struct umr u = { .key = window,
			       .variant = 0x44,
			       .qpn = q->qpn,
			       .rights = RW,
			       .lkey = b->key,
			       .va = b->data_va,
			       .len = 4096,
			       .type_2 = true };
	const struct bf_mlx5_cqe *c;

	ck_assert_uint_eq(change(q, &u), 0);
	rig_recv(q, 0, 4096);
	rig_send(&p.q[0], BF_MLX5_OP_SEND_INVAL, 0, 100, bound, RIG_CQE);
	if (_i) { /* made without the right to be invalidated from afar */
		ck_assert_uint_eq(ring(&p.q[0]), BF_MLX5_SYND_REM_ACCESS);
		return;
	}
	ck_assert_uint_eq(ring(&p.q[0]), 0);
	c = rig_poll(&p.rcq[1]);
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_RESP_SEND_INV);
	ck_assert_uint_eq(bf_be32(c->imm_inval_pkey), bound);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, b->data_va, bound, 8), BF_MLX5_SYND_REM_ACCESS);
}
END_TEST

START_TEST(what_umr_refuses)
{
	struct umr u = { .key = make_window(b, false, true),
			 .variant = 0x21,
			 .rights = RW,
			 .lkey = b->key,
			 .va = b->data_va,
			 .len = 64 };
	uint8_t expected = BF_MLX5_SYND_MW_BIND, w[256] = { 0 }, in[16] = { 0 };
	uint32_t ds;

	switch (_i) {
	case 0: /* no such key */
		u.key += 0x100;
		break;
	case 1: /* that UMR may not change */
		u.key = make_window(b, false, false);
		break;
	case 2: { /* of another protection domain */
		uint32_t pd = b->pd;

		b->pd = rig_do(b, BF_MLX5_CMD_ALLOC_PD, in, sizeof(in));
		u.key = make_window(b, false, true);
		b->pd = pd;
		break;
	}
	case 3: /* a list for a key that is no list */
		u.key = b->key;
		break;
	default:
		expected = BF_MLX5_SYND_LOCAL_QP_OP;
		break;
	}
	ds = fill(w, &u);
	if (_i == 4) /* signatures */
		bf_put_be64(w + 24, bf_get_be64(w + 24) | BF_MLX5_UMR_MASK_BSF_ENABLE);
	if (_i == 5) /* list in memory */
		w[16] = 0;
	if (_i == 6) /* longer than the WQE */
		bf_put_be16(w + 20, 5);
	rig_post(q, w, _i == 7 ? BF_MLX5_OP_SET_PSV : _i == 8 ? BF_MLX5_OP_TSO : BF_MLX5_OP_UMR, 0, ds);
	ck_assert_uint_eq(ring(q), expected);
}
END_TEST

/* The region below must allow it, as long as the window is used. */
START_TEST(window_is_no_better_than_its_region)
{
	uint32_t region = rig_mkey(b, b->pd, b->data_va, 4096, 0x0400 /* local read */, 0x61);
	uint32_t key = make_window(b, false, true), bound = (key & ~0xffu) | 0x21;
	struct umr u = {
		.key = key, .variant = 0x21, .rights = RW | RR, .lkey = region, .va = b->data_va, .len = 8192
	};

	ck_assert_uint_eq(change(q, &u), 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_READ, b->data_va, bound, 4096), 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, b->data_va, bound, 8), BF_MLX5_SYND_REM_ACCESS);
	again();
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_READ, b->data_va, bound, 4097), BF_MLX5_SYND_REM_ACCESS);
	again();
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_MKEY, region >> 8), 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_READ, b->data_va, bound, 8), BF_MLX5_SYND_REM_ACCESS);
}
END_TEST

/* Layouts: pieces in a row, or in turns; as local and as remote side of a transfer. */
static uint32_t layout(struct rig_qp *who, const uint8_t *list, uint32_t n, uint64_t len)
{
	uint32_t key = make_window(who->node, false, true);
	uint8_t w[BF_MLX5_MAX_WQEBBS * 64] = { 0 };
	uint32_t octowords = (n + 3) & ~3u;

	w[11] = RIG_CQE;
	bf_put_be32(w + 12, key);
	w[16] = BF_MLX5_UMR_INLINE;
	bf_put_be16(w + 20, (uint16_t)octowords);
	bf_put_be64(w + 24, BF_MLX5_UMR_MASK_FREE | BF_MLX5_UMR_MASK_KEY | BF_MLX5_UMR_MASK_LEN | BF_MLX5_UMR_MASK_LW |
				BF_MLX5_UMR_MASK_RR | BF_MLX5_UMR_MASK_RW);
	bf_put_be32(w + 64, 0x3800);
	bf_put_be32(w + 68, 0xffffff00u | (key & 0xff));
	bf_put_be64(w + 64 + BF_MKC_SIZE, len);
	memcpy(w + BF_MLX5_UMR_LIST_AT, list, n * 16);
	rig_post(who, w, BF_MLX5_OP_UMR, 0, BF_MLX5_UMR_LIST_AT / 16 + octowords);
	ck_assert_uint_eq(ring(who), 0);
	return key;
}

START_TEST(pieces_in_a_row)
{
	static const uint32_t at[] = { 70000, 5, 40000 }, len[] = { 1000, 300, 2500 };
	uint8_t list[3 * 16], want[3800], w[64] = { 0 };
	uint32_t remote, mine, done = 0;

	for (uint32_t i = 0; i < 3; i++)
		rig_put_data(list + 16 * i, len[i], b->key, b->data_va + at[i]);
	remote = layout(q, list, 3, 3800);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, 0, remote, 3800), 0);
	for (uint32_t i = 0; i < 3; done += len[i++])
		ck_assert_mem_eq(b->data + at[i], a->data + done, len[i]);
	/* Back, into another layout here. */
	memcpy(want, a->data, sizeof(want));
	for (uint32_t i = 0; i < 3; i++)
		rig_put_data(list + 16 * i, len[2 - i], a->key, a->data_va + 0x20000 + at[i]);
	mine = layout(&p.q[0], list, 3, 3800);
	w[11] = RIG_CQE;
	rig_put_raddr(w + 16, 0, remote);
	rig_put_data(w + 32, 3800, mine, 0);
	rig_post(&p.q[0], w, BF_MLX5_OP_RDMA_READ, 0, 3);
	ck_assert_uint_eq(ring(&p.q[0]), 0);
	done = 0;
	for (uint32_t i = 0; i < 3; done += len[2 - i++])
		ck_assert_mem_eq(a->data + 0x20000 + at[i], want + done, len[2 - i]);
	/* And out again from there, into a receive that is laid out. */
	memset(b->data, 0, 0x20000);
	rig_recv_sge(q, 0, 3800, remote, 0);
	rig_recv_post(q);
	memset(w, 0, sizeof(w));
	w[11] = RIG_CQE;
	rig_put_data(w + 16, 3800, mine, 0);
	rig_post(&p.q[0], w, BF_MLX5_OP_SEND, 0, 2);
	ck_assert_uint_eq(ring(&p.q[0]), 0);
	done = 0;
	for (uint32_t i = 0; i < 3; done += len[i++])
		ck_assert_mem_eq(b->data + at[i], want + done, len[i]);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, 3793, remote, 8), BF_MLX5_SYND_REM_ACCESS);
}
END_TEST

/* A key of `n` KSMs of 4 KiB, as UCX makes it for what a peer reads to flush: entries of `b`'s region, or key 0. */
static uint32_t key_of_ksms(uint32_t n, uint64_t len, bool nobodys, uint8_t *status)
{
	uint8_t in[BF_CREATE_MKEY_XLT + 3 * 16] = { 0 }, out[16] = { 0 };
	uint8_t *mkc = in + BF_CREATE_MKEY_MKC;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_MKEY);
	bf_put_be32(mkc, RW | RR | ATOMIC);
	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_KSM);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff);
	BF_MLX5_SET(mkc, BF_MKC_PD, b->pd);
	BF_MLX5_SET(mkc, BF_MKC_LOG_PAGE_SIZE, 12);
	bf_put_be64(mkc + BF_MKC_SIZE, len);
	BF_MLX5_SET(in, BF_CREATE_MKEY_XLT_ACTUAL, n);
	for (uint32_t i = 0; i < n; i++) /* their byte counts do not count */
		rig_put_data(in + BF_CREATE_MKEY_XLT + 16 * i, 7, nobodys ? 0 : b->key,
			     b->data_va + 100 + (n - 1 - i) * 8192);
	*status = (uint8_t)rig_cmd(b, in, sizeof(in), out, sizeof(out));
	return BF_MLX5_GET(out, BF_CMD_OUT_NUMBER) << 8;
}

START_TEST(pieces_of_one_size)
{
	uint8_t status;
	uint32_t key = key_of_ksms(3, 12000, false, &status);

	ck_assert_uint_eq(status, 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, 0, key, 12000), 0);
	ck_assert_mem_eq(b->data + 100 + 2 * 8192, a->data, 4096);
	ck_assert_mem_eq(b->data + 100 + 8192, a->data + 4096, 4096);
	ck_assert_mem_eq(b->data + 100, a->data + 8192, 12000 - 8192);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, 11993, key, 8), BF_MLX5_SYND_REM_ACCESS);
}
END_TEST

START_TEST(pieces_of_one_size_that_are_refused)
{
	uint8_t status;
	uint32_t key;

	key_of_ksms(3, 12289, false, &status);
	ck_assert_uint_eq(status, BF_MLX5_CMD_BAD_SIZE);
	key_of_ksms(0, 8, false, &status);
	ck_assert_uint_eq(status, BF_MLX5_CMD_BAD_SIZE);
	/* Key 0 is nobody's. */
	key = key_of_ksms(1, 8, true, &status);
	ck_assert_uint_eq(status, 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_READ, 0, key, 8), BF_MLX5_SYND_REM_ACCESS);
}
END_TEST

/* Three pages of `b` are a UMEM, the first two perhaps in the wrong order. */
static uint32_t key_in_umem(bool turned, uint64_t start, uint64_t offset, uint64_t len, uint32_t *umem, uint8_t *status)
{
	uint8_t list[BF_CREATE_UMEM_MTT + 24] = { 0 }, in[BF_CREATE_MKEY_LEN] = { 0 }, out[16] = { 0 };
	uint8_t *mkc = in + BF_CREATE_MKEY_MKC;

	BF_MLX5_SET(list + BF_CREATE_UMEM_CTX, BF_UMEM_NUM_MTT, 3);
	for (uint32_t i = 0; i < 3; i++)
		bf_put_be64(list + BF_CREATE_UMEM_MTT + i * 8, (b->data_va + (turned && i < 2 ? !i : i) * 4096ull) | 3);
	*umem = rig_do(b, BF_MLX5_CMD_CREATE_UMEM, list, sizeof(list));
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_MKEY);
	bf_put_be32(mkc, RW | RR);
	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_MTT);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff);
	BF_MLX5_SET(mkc, BF_MKC_KEY, 0x44);
	BF_MLX5_SET(mkc, BF_MKC_PD, b->pd);
	bf_put_be64(mkc + BF_MKC_START, start);
	bf_put_be64(mkc + BF_MKC_SIZE, len);
	BF_MLX5_SET(in, BF_CREATE_MKEY_XLT_ACTUAL, 2); /* told, though none follow */
	BF_MLX5_SET(in, BF_CREATE_MKEY_UMEM_VALID, 1);
	BF_MLX5_SET(in, BF_CREATE_MKEY_UMEM_ID, *umem);
	bf_put_be64(in + BF_CREATE_MKEY_UMEM_OFFSET, offset);
	*status = (uint8_t)rig_cmd(b, in, sizeof(in), out, sizeof(out));
	return BF_MLX5_GET(out, BF_CMD_OUT_NUMBER) << 8 | 0x44;
}

START_TEST(pages_in_a_umem)
{
	const bool turned = _i;
	const uint64_t start = turned ? 0x7000000 : b->data_va + 100;
	uint8_t status;
	uint32_t umem, key = key_in_umem(turned, start, 100, 9000, &umem, &status);

	ck_assert_uint_eq(status, 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, start, key, 9000), 0);
	ck_assert_mem_eq(b->data + (turned ? 4096 : 0) + 100, a->data, 3996);
	ck_assert_mem_eq(b->data + (turned ? 0 : 4096), a->data + 3996, 4096);
	ck_assert_mem_eq(b->data + 8192, a->data + 8092, 908);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, start + 8993, key, 8), BF_MLX5_SYND_REM_ACCESS);
	/* The UMEM is in use as long as the key is there. */
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_UMEM, umem), BF_MLX5_CMD_RES_BUSY);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_MKEY, key >> 8), 0);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_UMEM, umem), 0);
	/* More than it has, far beyond it, and nothing at all. */
	key_in_umem(turned, start, 100, 3 * 4096 - 99, &umem, &status);
	ck_assert_uint_eq(status, BF_MLX5_CMD_BAD_SIZE);
	key_in_umem(turned, start, ~0ull, 2, &umem, &status);
	ck_assert_uint_eq(status, BF_MLX5_CMD_BAD_SIZE);
	key_in_umem(turned, start, 0, 0, &umem, &status);
	ck_assert_uint_eq(status, BF_MLX5_CMD_BAD_SIZE);
}
END_TEST

START_TEST(pieces_in_turns)
{
	/* 50 rounds of 16 bytes from here and 24 from there. */
	uint8_t list[3 * 16] = { 0 };
	uint32_t key;

	bf_put_be32(list, 40);
	bf_put_be32(list + 4, BF_MLX5_STRIDED);
	bf_put_be32(list + 8, 50);
	bf_put_be16(list + 14, 2);
	for (uint32_t i = 0; i < 2; i++) {
		bf_put_be16(list + 16 + 16 * i, i ? 64 : 20);
		bf_put_be16(list + 18 + 16 * i, i ? 24 : 16);
		bf_put_be32(list + 20 + 16 * i, b->key);
		bf_put_be64(list + 24 + 16 * i, b->data_va + 10000 * i);
	}
	key = layout(q, list, 3, 2000);
	memset(b->data, 0, 20000);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, 0, key, 2000), 0);
	for (uint32_t i = 0; i < 50; i++) {
		ck_assert_mem_eq(b->data + 20 * i, a->data + 40 * i, 16);
		ck_assert_uint_eq(b->data[20 * i + 16], 0);
		ck_assert_mem_eq(b->data + 10000 + 64 * i, a->data + 40 * i + 16, 24);
		ck_assert_uint_eq(b->data[10000 + 64 * i + 24], 0);
	}
}
END_TEST

/* A region whose addresses are not the program's: pages that follow one another, and pages that do not. */
START_TEST(zero_based_region)
{
	uint8_t in[BF_CREATE_MKEY_LEN + 4 * 8] = { 0 }, out[16], *mkc = in + BF_CREATE_MKEY_MKC;
	static const uint32_t page[2][3] = { { 4, 5, 6 }, { 9, 2, 5 } };
	uint64_t base = (b->data_va + 4095) & ~4095ull;
	uint8_t *bytes = b->data + (base - b->data_va);
	uint32_t key;

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_MKEY);
	bf_put_be32(mkc, RIG_ALL_RIGHTS);
	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_MTT);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff);
	BF_MLX5_SET(mkc, BF_MKC_PD, b->pd);
	BF_MLX5_SET(mkc, BF_MKC_LOG_PAGE_SIZE, 12);
	bf_put_be64(mkc + BF_MKC_START, 100);
	bf_put_be64(mkc + BF_MKC_SIZE, 3 * 4096 - 100);
	BF_MLX5_SET(in, BF_CREATE_MKEY_XLT_ACTUAL, 2);
	for (uint32_t i = 0; i < 3; i++)
		bf_put_be64(in + BF_CREATE_MKEY_XLT + 8 * i, base + page[_i][i] * 4096ull);
	/* Too few pages for the length, or fewer entries than it says. */
	bf_put_be64(mkc + BF_MKC_SIZE, 4 * 4096);
	ck_assert_uint_eq(rig_cmd(b, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_uint_eq(rig_cmd(b, in, sizeof(in) - 32, out, sizeof(out)), BF_MLX5_CMD_BAD_INP_LEN);
	bf_put_be64(mkc + BF_MKC_SIZE, 3 * 4096 - 100);
	key = rig_do(b, BF_MLX5_CMD_CREATE_MKEY, in, sizeof(in)) << 8;
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, 100, key, 3 * 4096 - 100), 0);
	ck_assert_mem_eq(bytes + page[_i][0] * 4096 + 100, a->data, 3996);
	ck_assert_mem_eq(bytes + page[_i][1] * 4096, a->data + 3996, 4096);
	ck_assert_mem_eq(bytes + page[_i][2] * 4096, a->data + 3996 + 4096, 4096);
	memset(a->data, 0, 0x8000);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_READ, 4000, key, 5000), 0);
	ck_assert_mem_eq(a->data, bytes + page[_i][0] * 4096 + 4000, 96);
	ck_assert_mem_eq(a->data + 96, bytes + page[_i][1] * 4096, 4096);
	ck_assert_mem_eq(a->data + 96 + 4096, bytes + page[_i][2] * 4096, 808);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_READ, 99, key, 8), BF_MLX5_SYND_REM_ACCESS);
}
END_TEST

/* A key that lies in itself ends, too. */
START_TEST(keys_within_keys_have_an_end)
{
	uint32_t key = make_window(b, false, true);
	struct umr u = {
		.key = key, .variant = key & 0xff, .rights = RW | 0x0800, .lkey = key, .va = b->data_va, .len = 4096
	};

	ck_assert_uint_eq(change(q, &u), 0);
	ck_assert_uint_eq(access_at(BF_MLX5_OP_RDMA_WRITE, b->data_va, key, 8), BF_MLX5_SYND_REM_ACCESS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_umr");
	TCase *tc = tcase_create("keys that translate");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, window_gives_part_of_a_region);
	tcase_add_test(tc, zero_based_window_and_atomics);
	tcase_add_test(tc, type_2_window_belongs_to_its_queue_pair);
	tcase_add_loop_test(tc, peer_invalidates_what_it_may, 0, 2);
	tcase_add_loop_test(tc, what_umr_refuses, 0, 9);
	tcase_add_test(tc, window_is_no_better_than_its_region);
	tcase_add_test(tc, pieces_in_a_row);
	tcase_add_test(tc, pieces_of_one_size);
	tcase_add_test(tc, pieces_of_one_size_that_are_refused);
	tcase_add_loop_test(tc, pages_in_a_umem, 0, 2);
	tcase_add_test(tc, pieces_in_turns);
	tcase_add_loop_test(tc, zero_based_region, 0, 2);
	tcase_add_test(tc, keys_within_keys_have_an_end);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
