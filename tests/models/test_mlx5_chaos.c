/*
 * Anything at any time: posts, doorbells, state changes, destruction of queue pairs, keys and devices, windows bound
 * and invalidated, unmapped memory and a bad network, in random order, on queue pairs of every kind of service. Nothing
 * crashes or hangs (the point of a run under sanitizers), the same seed gives the same records, and the devices still
 * work afterwards.
 */
#include <check.h>

#include "sim/fault.h"
#include "tests/models/mlx5_rig.h"

#define PAIRS 4u
#define KEYS 4u
#define STEPS 250u
#define SEEDS 100u
#define WINDOW_PAGES 4u /* of each data buffer, at its end: what is unmapped and mapped again */

struct chaos {
	struct rig rig;
	struct bf_rng rng;
	struct bf_fault_plan *plan;
	struct rig_cq cq[RIG_NODES][3];
	struct rig_qp q[PAIRS][RIG_NODES];
	bool alive[PAIRS][RIG_NODES];
	uint32_t key[RIG_NODES][KEYS], window[RIG_NODES];
	bool unmapped[RIG_NODES], gone[RIG_NODES];
	struct rig_qp_opts opts;
};

static const char *const plans[] = {
	"",
	"drop prob=0.05; duplicate prob=0.05; reorder prob=0.05; delay prob=0.02",
	"corrupt prob=0.05; link-down prob=0.002 delay=30us",
	"dma-fault prob=0.01; lost-completion prob=0.02",
	"dma-fault prob=0.001; device-stall prob=0.05 delay=20us; lost-doorbell prob=0.1; drop prob=0.01",
};

static uint32_t below(struct chaos *c, uint32_t n)
{
	return (uint32_t)bf_rng_below(&c->rng, n);
}

static bool chance(struct chaos *c, uint32_t percent)
{
	return below(c, 100) < percent;
}

static struct rig_node *node(struct chaos *c, uint32_t side)
{
	return &c->rig.node[side];
}

static uint32_t key_of(struct chaos *c, uint32_t side)
{
	return chance(c, 85) ? c->key[side][below(c, KEYS)] : c->window[side];
}

/* Reliable connections, an unreliable one and one for datagrams. */
static uint32_t service_of(uint32_t pair)
{
	return pair == 2 ? BF_QPC_ST_UC : pair == 3 ? BF_QPC_ST_UD : BF_QPC_ST_RC;
}

/* A pair of fresh queue pairs; one that was there is forgotten by the test only when it was destroyed. */
static void open_half(struct chaos *c, uint32_t pair, uint32_t side)
{
	struct rig_qp_opts o = c->opts;

	o.st = service_of(pair);
	rig_qp_open(node(c, side), &c->q[pair][side], &c->cq[side][below(c, 3)], &c->cq[side][below(c, 3)], &o);
	c->alive[pair][side] = true;
}

static void step_state(struct chaos *c, uint32_t pair, uint32_t side, uint32_t opcode)
{
	struct rig_qp_opts o = c->opts;

	o.no_access = chance(c, 5) ? below(c, 8) : 0;
	o.no_timeout = false;
	rig_modify(&c->q[pair][side], opcode, &c->q[pair][!side], &o);
}

/* From whatever state to ready to send, with rings that begin anew. */
static void connect(struct chaos *c, uint32_t pair, uint32_t side)
{
	struct rig_qp *q = &c->q[pair][side];

	step_state(c, pair, side, BF_MLX5_CMD_2RST_QP);
	memset(q->dbr, 0, 8);
	q->sq_pi = q->rq_pi = 0;
	step_state(c, pair, side, BF_MLX5_CMD_RST2INIT_QP);
	step_state(c, pair, side, BF_MLX5_CMD_INIT2RTR_QP);
	step_state(c, pair, side, BF_MLX5_CMD_RTR2RTS_QP);
}

static void connect_pair(struct chaos *c, uint32_t pair)
{
	for (uint32_t side = 0; side < RIG_NODES; side++)
		if (c->alive[pair][side] && !c->gone[side])
			connect(c, pair, side);
}

static void change_state(struct chaos *c, uint32_t pair, uint32_t side)
{
	static const uint32_t steps[] = {
		BF_MLX5_CMD_2ERR_QP,      BF_MLX5_CMD_2RST_QP,     BF_MLX5_CMD_RTS2SQD_QP, BF_MLX5_CMD_SQD_RTS_QP,
		BF_MLX5_CMD_RST2INIT_QP,  BF_MLX5_CMD_INIT2RTR_QP, BF_MLX5_CMD_RTR2RTS_QP, BF_MLX5_CMD_RTS2RTS_QP,
		BF_MLX5_CMD_SQERR2RTS_QP, BF_MLX5_CMD_RTS2SQD_QP,  BF_MLX5_CMD_SQD_RTS_QP,
	};

	step_state(c, pair, side, steps[below(c, BF_ARRAY_LEN(steps))]);
}

/* Up to 16 SGEs or inline bytes behind `at`; now and then with a key or address that is no good. */
static uint32_t put_payload(struct chaos *c, uint8_t *w, uint32_t at, uint32_t side, bool may_inline)
{
	uint32_t n = chance(c, 80) ? 1 : below(c, 16);

	if (may_inline && chance(c, 20)) {
		uint32_t len = below(c, 700);

		bf_put_be32(w + at, BF_MLX5_INLINE_FLAG | len);
		return at + ((len + 4 + 15) & ~15u);
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t len = 1 + below(c, chance(c, 10) ? 100000 : 5000);
		uint32_t key = chance(c, 97) ? key_of(c, side) : below(c, 1u << 16);

		at += rig_put_data(w + at, len, key, node(c, side)->data_va + below(c, RIG_DATA - 100000));
	}
	return at;
}

/* The address vector of a datagram, of either form. */
static uint32_t put_address(struct chaos *c, uint8_t *av, uint32_t pair, uint32_t side)
{
	bool full = chance(c, 70);

	bf_put_be32(av, chance(c, 90) ? 0 : below(c, UINT32_MAX));
	bf_put_be32(av + 8, c->q[pair][!side].qpn | (full ? BF_MLX5_AV_EXT : 0));
	if (!full) {
		bf_put_be16(av + 14, (uint16_t)node(c, !side)->ipv4);
		return BF_MLX5_AV_COMPACT;
	}
	bf_put_be16(av + 20, 0x0200);
	bf_put_be32(av + 22, node(c, !side)->ipv4);
	av[42] = av[43] = chance(c, 97) ? 0xff : 0;
	bf_put_be32(av + 44, node(c, !side)->ipv4);
	return BF_MLX5_AV_FULL;
}

/* Binds the window to part of a region, of itself or of nothing, or invalidates it. */
static void post_umr(struct chaos *c, uint32_t pair, uint32_t side)
{
	uint8_t w[256] = { 0 }, *mkc = w + BF_MLX5_UMR_MKC_AT;
	uint32_t variant = below(c, 4), ds = BF_MLX5_UMR_LIST_AT / 16;
	uint64_t va = node(c, side)->data_va + below(c, RIG_DATA / 2);
	uint64_t mask = BF_MLX5_UMR_MASK_FREE | BF_MLX5_UMR_MASK_KEY;
	bool bind = chance(c, 70), type_2 = chance(c, 30);

	w[11] = (uint8_t)(chance(c, 60) ? RIG_CQE : 0);
	bf_put_be32(w + 12, chance(c, 90) ? c->window[side] : key_of(c, side));
	w[16] = BF_MLX5_UMR_INLINE | BF_MLX5_UMR_OFFSET;
	BF_MLX5_SET(mkc, BF_MKC_KEY, variant);
	BF_MLX5_SET(mkc, BF_MKC_QPN, type_2 ? c->q[pair][side].qpn : 0xffffff);
	BF_MLX5_SET(mkc, BF_MKC_FREE, !bind);
	if (type_2)
		mask |= BF_MLX5_UMR_MASK_QPN;
	if (bind) {
		uint32_t len = 1 + below(c, 100000);

		mask |= BF_MLX5_UMR_MASK_LEN | BF_MLX5_UMR_MASK_START | BF_MLX5_UMR_MASK_LW | BF_MLX5_UMR_MASK_RR |
			BF_MLX5_UMR_MASK_RW | BF_MLX5_UMR_MASK_A;
		bf_put_be32(mkc, bf_get_be32(mkc) | below(c, 32) << 10);
		bf_put_be64(mkc + BF_MKC_START, chance(c, 50) ? va : 0);
		bf_put_be64(mkc + BF_MKC_SIZE, len);
		bf_put_be16(w + 20, 4);
		rig_put_data(w + BF_MLX5_UMR_LIST_AT, len, key_of(c, side), va);
		ds += 4;
	}
	bf_put_be64(w + 24, mask);
	rig_post(&c->q[pair][side], w, BF_MLX5_OP_UMR, 0, ds);
	c->window[side] = (c->window[side] & ~0xffu) | variant;
}

static void post(struct chaos *c, uint32_t pair, uint32_t side)
{
	static const uint8_t opcodes[] = {
		BF_MLX5_OP_NOP,       BF_MLX5_OP_SEND_INVAL,       BF_MLX5_OP_RDMA_WRITE, BF_MLX5_OP_RDMA_WRITE_IMM,
		BF_MLX5_OP_SEND,      BF_MLX5_OP_SEND_IMM,         BF_MLX5_OP_RDMA_READ,  BF_MLX5_OP_ATOMIC_CS,
		BF_MLX5_OP_ATOMIC_FA, BF_MLX5_OP_ATOMIC_MASKED_FA, BF_MLX5_OP_DUMP,       BF_MLX5_OP_RDMA_WRITE,
		BF_MLX5_OP_RDMA_READ, BF_MLX5_OP_RDMA_WRITE,
	};
	uint8_t w[1024 + 64] = { 0 };
	uint32_t op = opcodes[below(c, BF_ARRAY_LEN(opcodes))], at = 16;
	bool atomic = op >= BF_MLX5_OP_ATOMIC_CS && op <= BF_MLX5_OP_ATOMIC_MASKED_FA;

	if (chance(c, 8)) {
		post_umr(c, pair, side);
		return;
	}
	w[11] = (uint8_t)(chance(c, 60) ? RIG_CQE : below(c, 256));
	bf_put_be32(w + 12, key_of(c, !side));
	if (service_of(pair) == BF_QPC_ST_UD && op != BF_MLX5_OP_NOP && op != BF_MLX5_OP_DUMP)
		at += put_address(c, w + at, pair, side);
	if (op >= BF_MLX5_OP_RDMA_WRITE && op <= BF_MLX5_OP_ATOMIC_MASKED_FA && op != BF_MLX5_OP_SEND &&
	    op != BF_MLX5_OP_SEND_IMM)
		at += rig_put_raddr(w + at, node(c, !side)->data_va + (below(c, RIG_DATA - 100000) & ~7u),
				    key_of(c, !side));
	if (atomic) {
		bf_put_be64(w + at, bf_rng_next(&c->rng));
		at += 16;
		at += rig_put_data(w + at, 8, c->key[side][0], node(c, side)->data_va + 8 * below(c, 1000));
	} else if (op != BF_MLX5_OP_NOP) {
		at = put_payload(c, w, at, side, op != BF_MLX5_OP_RDMA_READ && op != BF_MLX5_OP_DUMP);
	}
	if (chance(c, 2))
		w[below(c, at)] ^= (uint8_t)(1u << below(c, 8));
	rig_post(&c->q[pair][side], w, chance(c, 1) ? below(c, 256) : op, 0,
		 chance(c, 1) ? below(c, 64) : (at + 15) / 16);
}

static void post_receive(struct chaos *c, uint32_t pair, uint32_t side)
{
	struct rig_qp *q = &c->q[pair][side];

	if (chance(c, 95))
		rig_recv_sge(q, 0, 1 + below(c, 20000), key_of(c, side),
			     node(c, side)->data_va + below(c, RIG_DATA - 20000));
	rig_recv_post(q);
}

/* A doorbell, or a BlueFlame write in one to three pieces in any order. */
static void ring(struct chaos *c, uint32_t pair, uint32_t side)
{
	struct rig_qp *q = &c->q[pair][side];
	struct bf_region *uar = bf_mlx5_uar(q->node->dev, q->node->uar);
	uint32_t first = 8u << below(c, 3), at = BF_MLX5_UAR_BF + below(c, 8) * BF_MLX5_BF_BUF;
	uint8_t wqe[64];

	if (chance(c, 70) || !q->sq_pi) {
		rig_db(q);
		return;
	}
	memcpy(wqe, q->sq + ((q->sq_pi - 1u) & (q->sq_size - 1)) * 64, sizeof(wqe));
	bf_put_be32(q->dbr + 4, q->sq_pi);
	if (chance(c, 50)) {
		bf_mmio_post(uar, at, wqe, 64);
		return;
	}
	for (uint32_t i = 0, swap = below(c, 2); i < 2; i++) {
		if (i == swap)
			bf_mmio_post(uar, at, wqe, first);
		else
			bf_mmio_post(uar, at + first, wqe + first, 64 - first);
	}
}

static void change_key(struct chaos *c, uint32_t side)
{
	struct rig_node *n = node(c, side);
	uint32_t *key = &c->key[side][1 + below(c, KEYS - 1)];

	ck_assert_uint_eq(rig_simple(n, BF_MLX5_CMD_DESTROY_MKEY, *key >> 8), 0);
	*key = rig_mkey(n, n->pd, n->data_va, RIG_DATA, chance(c, 80) ? RIG_ALL_RIGHTS : below(c, 32) << 10,
			(uint8_t)below(c, 256));
}

static void change_map(struct chaos *c, uint32_t side)
{
	struct rig_node *n = node(c, side);
	uint64_t len = WINDOW_PAGES * 4096u, at = n->data_va + RIG_DATA / 2;

	if (c->unmapped[side])
		ck_assert(!bf_ioas_map(&n->ioas, at, n->mem, at - n->mem->va, len, BF_IOMMU_READ | BF_IOMMU_WRITE));
	else
		ck_assert(!bf_ioas_unmap(&n->ioas, at, len));
	c->unmapped[side] = !c->unmapped[side];
}

static void poll(struct chaos *c, uint32_t side)
{
	for (uint32_t i = 0; i < 3; i++)
		if (!c->cq[side][i].collapsed)
			while (rig_poll(&c->cq[side][i]))
				;
}

static void one_step(struct chaos *c)
{
	uint32_t pair = below(c, PAIRS), side = below(c, RIG_NODES), what = below(c, 100);

	if (c->gone[side])
		side = !side;
	if (!c->alive[pair][side]) {
		open_half(c, pair, side);
		connect_pair(c, pair);
	}
	if (what < 45)
		post(c, pair, side);
	else if (what < 58)
		post_receive(c, pair, side);
	else if (what < 80)
		ring(c, pair, side);
	else if (what < 84)
		connect_pair(c, pair);
	else if (what < 88)
		change_state(c, pair, side);
	else if (what < 90)
		c->alive[pair][side] = rig_simple(node(c, side), BF_MLX5_CMD_DESTROY_QP, c->q[pair][side].qpn) != 0;
	else if (what < 92)
		change_key(c, side);
	else if (what < 93)
		change_map(c, side);
	else
		poll(c, side);
	if (chance(c, 40))
		bf_sim_run(c->rig.sim, c->rig.sim->now_ps + below(c, 4000) * BF_NS);
}

static uint32_t make_window(struct rig_node *n)
{
	uint8_t in[BF_CREATE_MKEY_LEN] = { 0 }, *mkc = in + BF_CREATE_MKEY_MKC;

	BF_MLX5_SET(mkc, BF_MKC_FREE, 1);
	BF_MLX5_SET(mkc, BF_MKC_UMR_EN, 1);
	BF_MLX5_SET(mkc, BF_MKC_LR, 1);
	BF_MLX5_SET(mkc, BF_MKC_EN_RINVAL, 1);
	BF_MLX5_SET(mkc, BF_MKC_ACCESS_MODE, BF_MKC_ACCESS_KLM);
	BF_MLX5_SET(mkc, BF_MKC_QPN, 0xffffff);
	BF_MLX5_SET(mkc, BF_MKC_PD, n->pd);
	return rig_do(n, BF_MLX5_CMD_CREATE_MKEY, in, sizeof(in)) << 8;
}

static void open_chaos(struct chaos *c, uint64_t seed)
{
	memset(c, 0, sizeof(*c));
	bf_rng_init(&c->rng, seed, "chaos");
	rig_open(&c->rig, seed, NULL);
	ck_assert(!bf_stream_open(&c->rig.sim->rec, &c->rig.sim->now_ps, BF_CLASS_ALL, NULL));
	ck_assert(!bf_fault_plan_parse(plans[seed % BF_ARRAY_LEN(plans)], seed, NULL, &c->plan));
	c->opts = (struct rig_qp_opts){ .log_sq = 4 + below(c, 3),
					.log_rq = 3,
					.log_stride = below(c, 3),
					.mtu = 1 + below(c, 5),
					.timeout = 4,
					.retry = 1 + below(c, 7),
					.rnr_retry = 1 + below(c, 7),
					.log_rd = below(c, 4) };
	c->opts.psn = chance(c, 50) ? 0xffffe0 : below(c, 1u << 24);
	for (uint32_t side = 0; side < RIG_NODES; side++) {
		struct rig_node *n = node(c, side);

		rig_cq_open(n, &c->cq[side][0], 4 + below(c, 4), 0);
		rig_cq_open(n, &c->cq[side][1], 6, 1);
		rig_cq_open(n, &c->cq[side][2], 10, 4);
		for (uint32_t i = 0; i < KEYS; i++)
			c->key[side][i] = rig_mkey(n, n->pd, n->data_va, RIG_DATA, RIG_ALL_RIGHTS, (uint8_t)i);
		c->window[side] = make_window(n);
		for (uint32_t pair = 0; pair < PAIRS; pair++)
			open_half(c, pair, side);
	}
	for (uint32_t pair = 0; pair < PAIRS; pair++)
		connect_pair(c, pair);
	c->rig.sim->faults = c->plan;
}

/* After all that: a queue pair of its own completes a WRITE, and the data are there. */
static void still_works(struct chaos *c)
{
	struct rig_cq cq[RIG_NODES];
	struct rig_qp q[RIG_NODES];
	struct rig_node *a = node(c, 0), *b = node(c, 1);
	const struct bf_mlx5_cqe *cqe;

	for (uint32_t side = 0; side < RIG_NODES; side++) {
		bf_port_set_link(bf_mlx5_port(node(c, side)->dev, 1), true);
		rig_cq_open(node(c, side), &cq[side], 4, 0);
		rig_qp_open(node(c, side), &q[side], &cq[side], &cq[side], &c->opts);
	}
	rig_connect(&q[0], &q[1], &c->opts);
	rig_connect(&q[1], &q[0], &c->opts);
	memset(a->data, 0x5a, 3000);
	memset(b->data, 0, 3000);
	rig_rdma(&q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 3000, RIG_CQE);
	rig_db(&q[0]);
	bf_sim_run(c->rig.sim, c->rig.sim->now_ps + BF_MS);
	cqe = rig_poll(&cq[0]);
	ck_assert_ptr_nonnull(cqe);
	ck_assert_uint_eq(cqe->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_mem_eq(b->data, a->data, 3000);
}

static void destroy_device(struct chaos *c, uint32_t side)
{
	bf_mlx5_destroy(node(c, side)->dev);
	node(c, side)->dev = NULL;
	c->gone[side] = true;
}

/* The end comes in the middle of traffic: of one device first, while the other one still talks to it. */
static void close_chaos(struct chaos *c)
{
	uint32_t side = below(c, RIG_NODES);

	for (uint32_t i = 0; i < 20; i++)
		one_step(c);
	destroy_device(c, side);
	bf_sim_run(c->rig.sim, c->rig.sim->now_ps + 20 * BF_US);
	ck_assert(!bf_stream_close(&c->rig.sim->rec));
	c->rig.sim->faults = NULL;
	bf_fault_plan_destroy(c->plan);
	rig_close(&c->rig);
}

static uint64_t chaos(uint64_t seed)
{
	static struct chaos c;
	uint64_t hash;

	open_chaos(&c, seed);
	for (uint32_t i = 0; i < STEPS; i++)
		one_step(&c);
	c.rig.sim->faults = NULL;
	bf_sim_run(c.rig.sim, c.rig.sim->now_ps + BF_MS);
	still_works(&c);
	hash = bf_stream_hash(&c.rig.sim->rec);
	c.rig.sim->faults = c.plan;
	close_chaos(&c);
	return hash;
}

START_TEST(anything_goes)
{
	for (uint64_t seed = 1 + (uint64_t)_i * 10; seed <= 10 + (uint64_t)_i * 10; seed++) {
		uint64_t hash = chaos(seed);

		if (seed % 5 == 0)
			ck_assert_uint_eq(chaos(seed), hash);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_chaos");
	TCase *tc = tcase_create("chaos");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, anything_goes, 0, SEEDS / 10);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
