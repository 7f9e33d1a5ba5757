/*
 * Event queues, CQs, shared receive queues and queue pairs made, changed and destroyed in any order, with traffic, bad
 * memory and a bad network in between. Nothing crashes or hangs, the same seed gives the same records, and in the end
 * everything can be destroyed: no object is held by one that is gone.
 */
#include <check.h>

#include "sim/fault.h"
#include "tests/models/mlx5_events.h"

#define EQS 3u
#define CQS 4u
#define SRQS 2u
#define QPS 4u
#define STEPS 1500u
#define LOG_CQ_MAX 6u

struct side {
	struct rig_node *node;
	struct rig_eq eq[EQS];
	struct rig_cq cq[CQS];
	struct rig_srq srq[SRQS];
	struct rig_qp q[QPS];
	bool has_eq[EQS], has_cq[CQS], has_srq[SRQS], has_qp[QPS];
	uint32_t sn[CQS], srq_of[QPS];
	uint8_t *eq_ring[EQS], *cq_ring[CQS], *srq_ring[SRQS];
	bool rmp[SRQS];
};

struct chaos {
	struct rig rig;
	struct bf_rng rng;
	struct bf_fault_plan *plan;
	struct side side[RIG_NODES];
};

static const char *const plans[] = {
	"",
	"drop prob=0.05; duplicate prob=0.05; reorder prob=0.05",
	"dma-fault prob=0.01; lost-completion prob=0.02",
	"link-down prob=0.002 delay=30us; lost-doorbell prob=0.1",
};

static const struct rig_qp_opts o = { .log_sq = 4, .log_rd = 2, .timeout = 2, .retry = 3, .rnr_retry = 3 };

static uint32_t below(struct chaos *c, uint32_t n)
{
	return (uint32_t)bf_rng_below(&c->rng, n);
}

static bool chance(struct chaos *c, uint32_t percent)
{
	return below(c, 100) < percent;
}

static void make_eq(struct chaos *c, struct side *s, uint32_t i)
{
	uint8_t in[RIG_CREATE_EQ_LEN];
	uint32_t log_size = below(c, 7);

	s->eq[i] = (struct rig_eq){ .node = s->node, .ring = s->eq_ring[i], .entries = 1u << log_size };
	memset(s->eq_ring[i], 0xff, 4096);
	rig_eq_fill(s->node, in, rig_va(s->node, s->eq_ring[i]), log_size, i, i ? bf_rng_next(&c->rng) : 0,
		    chance(c, 20));
	s->eq[i].eqn = rig_do(s->node, BF_MLX5_CMD_CREATE_EQ, in, sizeof(in));
	s->has_eq[i] = true;
}

static void fill_cq(struct side *s, uint32_t i, uint8_t *in, uint32_t log_size)
{
	uint8_t *cqc = in + BF_CREATE_CQ_CQC;

	memset(in, 0, BF_CREATE_CQ_LEN);
	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, log_size);
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, s->node->uar);
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, rig_va(s->node, s->cq[i].dbr));
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, rig_va(s->node, s->cq_ring[i]));
}

static void make_cq(struct chaos *c, struct side *s, uint32_t i)
{
	uint32_t eq = below(c, EQS), log_size = 2 + below(c, LOG_CQ_MAX - 1);
	uint8_t in[BF_CREATE_CQ_LEN];

	fill_cq(s, i, in, log_size);
	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_EQN, s->has_eq[eq] ? s->eq[eq].eqn : 0);
	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_OI, chance(c, 50));
	memset(s->cq_ring[i], 0xff, 64u << LOG_CQ_MAX);
	memset(s->cq[i].dbr, 0, 8);
	s->cq[i].ring = s->cq_ring[i];
	s->cq[i].entries = 1u << log_size;
	s->cq[i].ci = s->sn[i] = 0;
	s->cq[i].cqn = rig_do(s->node, BF_MLX5_CMD_CREATE_CQ, in, sizeof(in));
	s->has_cq[i] = true;
}

/* The ring starts anew at the same place: entries that were not read are lost, which is the driver's business. */
static void change_cq(struct chaos *c, struct side *s, uint32_t i)
{
	uint32_t log_size = 2 + below(c, LOG_CQ_MAX - 1);
	bool resize = chance(c, 50);
	uint8_t in[BF_CREATE_CQ_LEN], out[16];

	fill_cq(s, i, in, log_size);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_MODIFY_CQ);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, resize);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, s->cq[i].cqn);
	BF_MLX5_SET(in, BF_MODIFY_CQ_SELECT, 1 + below(c, 3));
	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_PERIOD, below(c, 20));
	BF_MLX5_SET(in + BF_CREATE_CQ_CQC, BF_CQC_MAX_COUNT, below(c, 4));
	if (!rig_cmd(s->node, in, sizeof(in), out, sizeof(out)) && resize)
		s->cq[i].entries = 1u << log_size;
}

static void make_srq(struct chaos *c, struct side *s, uint32_t i)
{
	struct rig_srq *q = &s->srq[i];
	uint8_t in[BF_CREATE_RMP_LEN];
	uint32_t opcode, log_size = 2 + below(c, 3);

	*q = (struct rig_srq){ .node = s->node, .entries = 1u << log_size, .stride = 64 };
	q->ring = s->srq_ring[i];
	q->dbr = s->srq_ring[i] + 2048;
	memset(q->dbr, 0, 8);
	for (uint32_t k = 0; k < q->entries; k++)
		rig_srq_link(q, k, (k + 1) & (q->entries - 1));
	s->rmp[i] = chance(c, 50);
	opcode = rig_srq_fill(q, in, s->rmp[i], log_size, 6);
	q->srqn = rig_do(s->node, opcode, in, sizeof(in));
	s->has_srq[i] = true;
}

static void connect(struct chaos *c, uint32_t i)
{
	static const uint32_t steps[] = { BF_MLX5_CMD_2RST_QP, BF_MLX5_CMD_RST2INIT_QP, BF_MLX5_CMD_INIT2INIT_QP,
					  BF_MLX5_CMD_INIT2RTR_QP, BF_MLX5_CMD_RTR2RTS_QP };

	for (uint32_t n = 0; n < RIG_NODES; n++) {
		struct rig_qp *q = &c->side[n].q[i];

		if (!c->side[0].has_qp[i] || !c->side[1].has_qp[i])
			return;
		memset(q->dbr, 0, 8);
		q->sq_pi = 0;
		for (size_t k = 0; k < BF_ARRAY_LEN(steps); k++)
			rig_modify(q, steps[k], &c->side[!n].q[i], &o);
	}
}

static void make_qp(struct chaos *c, struct side *s, uint32_t i)
{
	uint32_t x = below(c, CQS), y = below(c, CQS), srq = below(c, SRQS);
	struct rig_qp_opts opts = o;

	if (!s->has_cq[x] || !s->has_cq[y] || !s->has_srq[srq])
		return;
	opts.no_rq = true;
	opts.srqn = s->srq[srq].srqn;
	opts.cs_req = chance(c, 50) ? BF_CS_REQ_32 : 0;
	opts.cs_res = chance(c, 50) ? BF_CS_RES_32 : 0;
	s->srq_of[i] = srq;
	rig_qp_open(s->node, &s->q[i], &s->cq[x], &s->cq[y], &opts);
	s->has_qp[i] = true;
	connect(c, i);
}

static void use_qp(struct chaos *c, struct side *s, uint32_t i)
{
	static const uint32_t states[] = { BF_MLX5_CMD_2ERR_QP, BF_MLX5_CMD_RTS2SQD_QP, BF_MLX5_CMD_SQD_RTS_QP,
					   BF_MLX5_CMD_2RST_QP };
	struct rig_node *peer = c->side[s == &c->side[0]].node;
	uint32_t what = below(c, 100), len = 1 + below(c, chance(c, 50) ? 40 : 5000);

	if (what < 40)
		rig_send(&s->q[i], BF_MLX5_OP_SEND, 0, len, 0, (uint8_t)(chance(c, 50) ? RIG_CQE | 2 : RIG_CQE));
	else if (what < 60)
		rig_rdma(&s->q[i], chance(c, 50) ? BF_MLX5_OP_RDMA_READ : BF_MLX5_OP_RDMA_WRITE_IMM, 0, peer->data_va,
			 chance(c, 98) ? peer->key : 0, len, RIG_CQE);
	else if (what < 90)
		rig_db(&s->q[i]);
	else if (what < 95)
		rig_modify(&s->q[i], states[below(c, BF_ARRAY_LEN(states))], &s->q[i], &o);
	else
		connect(c, i);
}

static void use_srq(struct chaos *c, struct side *s, uint32_t i)
{
	struct rig_srq *q = &s->srq[i];

	if (chance(c, 10))
		rig_srq_limit(q, s->rmp[i], below(c, 6));
	else
		rig_srq_post(q, below(c, 100000), chance(c, 95) ? 8192 : 16);
	q->head &= (uint16_t)(q->entries - 1);
	if (chance(c, 1))
		rig_srq_link(q, below(c, q->entries), below(c, 2 * q->entries));
}

static bool gone(struct side *s, uint32_t opcode, uint32_t number)
{
	return rig_simple(s->node, opcode, number) == BF_MLX5_CMD_OK;
}

static uint32_t destroy_srq(const struct side *s, uint32_t i)
{
	return s->rmp[i] ? BF_MLX5_CMD_DESTROY_RMP : BF_MLX5_CMD_DESTROY_SRQ;
}

static void destroy_any(struct chaos *c, struct side *s)
{
	uint32_t i = below(c, 4);

	switch (below(c, 4)) {
	case 0:
		if (i < EQS && s->has_eq[i])
			s->has_eq[i] = !gone(s, BF_MLX5_CMD_DESTROY_EQ, s->eq[i].eqn);
		break;
	case 1:
		if (s->has_cq[i])
			s->has_cq[i] = !gone(s, BF_MLX5_CMD_DESTROY_CQ, s->cq[i].cqn);
		break;
	case 2:
		if (i < SRQS && s->has_srq[i])
			s->has_srq[i] = !gone(s, destroy_srq(s, i), s->srq[i].srqn);
		break;
	default:
		if (s->has_qp[i])
			s->has_qp[i] = !gone(s, BF_MLX5_CMD_DESTROY_QP, s->q[i].qpn);
	}
}

static void make_missing(struct chaos *c, struct side *s)
{
	uint32_t i = below(c, 4);

	if (i < EQS && !s->has_eq[i])
		make_eq(c, s, i);
	if (!s->has_cq[i])
		make_cq(c, s, i);
	if (i < SRQS && !s->has_srq[i])
		make_srq(c, s, i);
	if (!s->has_qp[i])
		make_qp(c, s, i);
}

static void use_events(struct chaos *c, struct side *s)
{
	uint32_t i = below(c, CQS);

	if (s->has_cq[i] && chance(c, 60)) {
		while (rig_poll(&s->cq[i]))
			;
		rig_cq_arm(&s->cq[i], s->sn[i]++ & 3, chance(c, 30));
	} else if (i < EQS && s->has_eq[i]) {
		while (rig_eq_poll(&s->eq[i]))
			;
		rig_eq_update(&s->eq[i], chance(c, 80));
	}
}

static void one_step(struct chaos *c)
{
	struct side *s = &c->side[below(c, RIG_NODES)];
	uint32_t what = below(c, 100), i = below(c, QPS);

	make_missing(c, s);
	if (what < 50 && s->has_qp[i])
		use_qp(c, s, i);
	else if (what < 70 && s->has_srq[i % SRQS])
		use_srq(c, s, i % SRQS);
	else if (what < 94)
		use_events(c, s);
	else if (what < 96 && s->has_cq[i])
		change_cq(c, s, i);
	else if (what < 97)
		bf_port_set_link(bf_mlx5_port(s->node->dev, 1), chance(c, 80));
	else
		destroy_any(c, s);
	if (chance(c, 40))
		bf_sim_run(c->rig.sim, c->rig.sim->now_ps + below(c, 4000) * BF_NS);
}

/* In order, and with nothing left that holds anything. */
static void destroy_all(struct chaos *c)
{
	for (uint32_t n = 0; n < RIG_NODES; n++) {
		struct side *s = &c->side[n];

		for (uint32_t i = 0; i < QPS; i++)
			ck_assert(!s->has_qp[i] || gone(s, BF_MLX5_CMD_DESTROY_QP, s->q[i].qpn));
		for (uint32_t i = 0; i < CQS; i++)
			ck_assert(!s->has_cq[i] || gone(s, BF_MLX5_CMD_DESTROY_CQ, s->cq[i].cqn));
		for (uint32_t i = 0; i < SRQS; i++)
			ck_assert(!s->has_srq[i] || gone(s, destroy_srq(s, i), s->srq[i].srqn));
		for (uint32_t i = 0; i < EQS; i++)
			ck_assert(!s->has_eq[i] || gone(s, BF_MLX5_CMD_DESTROY_EQ, s->eq[i].eqn));
		ck_assert(gone(s, BF_MLX5_CMD_DESTROY_MKEY, s->node->key >> 8));
		ck_assert(gone(s, BF_MLX5_CMD_DEALLOC_PD, s->node->pd));
		ck_assert(gone(s, BF_MLX5_CMD_DEALLOC_UAR, s->node->uar));
	}
}

static void open_chaos(struct chaos *c, uint64_t seed)
{
	memset(c, 0, sizeof(*c));
	bf_rng_init(&c->rng, seed, "chaos");
	rig_open(&c->rig, seed, seed % 3 ? NULL : &bf_mlx5_instant);
	ck_assert(!bf_stream_open(&c->rig.sim->rec, &c->rig.sim->now_ps, BF_CLASS_ALL, NULL));
	ck_assert(!bf_fault_plan_parse(plans[seed % BF_ARRAY_LEN(plans)], seed, NULL, &c->plan));
	for (uint32_t n = 0; n < RIG_NODES; n++) {
		struct side *s = &c->side[n];

		s->node = &c->rig.node[n];
		for (uint32_t i = 0; i < EQS; i++)
			s->eq_ring[i] = rig_alloc(s->node, 4096);
		for (uint32_t i = 0; i < CQS; i++) {
			s->cq_ring[i] = rig_alloc(s->node, 64u << LOG_CQ_MAX);
			s->cq[i] = (struct rig_cq){ .node = s->node, .dbr = rig_alloc(s->node, 8) };
		}
		for (uint32_t i = 0; i < SRQS; i++)
			s->srq_ring[i] = rig_alloc(s->node, 4096);
	}
	c->rig.sim->faults = c->plan;
}

static uint64_t chaos(uint64_t seed)
{
	static struct chaos c;
	uint64_t hash;

	open_chaos(&c, seed);
	for (uint32_t i = 0; i < STEPS; i++)
		one_step(&c);
	if (seed & 1) {
		destroy_all(&c);
	} else {
		bf_mlx5_destroy(c.side[0].node->dev); /* with everything in it */
		c.side[0].node->dev = NULL;
	}
	bf_sim_run(c.rig.sim, c.rig.sim->now_ps + 10 * BF_MS);
	hash = bf_stream_hash(&c.rig.sim->rec);
	ck_assert(!bf_stream_close(&c.rig.sim->rec));
	c.rig.sim->faults = NULL;
	bf_fault_plan_destroy(c.plan);
	rig_close(&c.rig);
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
	Suite *s = suite_create("mlx5_chaos_events");
	TCase *tc = tcase_create("chaos");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, anything_goes, 0, 10);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
