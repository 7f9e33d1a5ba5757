/*
 * Random traffic over a fabric that loses, duplicates, reorders, delays and corrupts: whatever happens, data end up
 * right, atomics happen once, completions come in order. Same seed, same records.
 */
#include <check.h>

#include "sim/fault.h"
#include "tests/models/mlx5_rig.h"

#define AREA 0x30000u /* node 0: sources; node 1: targets; same layout */
#define OPS 60u

struct run {
	struct rig_pair p;
	struct bf_rng rng;
	struct bf_fault_plan *plan;
	uint64_t sum; /* of all fetch-and-adds */
	uint32_t reads, sends, adds;
	struct {
		uint32_t at, len;
	} read[OPS], send[OPS];
	uint32_t add_slot[OPS];
	uint64_t add_value[OPS];
};

static const char *const plans[] = {
	"drop prob=0.05",
	"duplicate prob=0.1",
	"reorder prob=0.1 delay=3us",
	"corrupt prob=0.05",
	"delay prob=0.05 delay=30us; drop prob=0.02",
	"drop prob=0.03; duplicate prob=0.03; reorder prob=0.03; corrupt prob=0.03; delay prob=0.02",
	"link-down on=nic1.p1 after=20us count=2 delay=300us; drop prob=0.02",
	"drop on=nic1.p1 prob=0.15",
	"device-stall prob=0.05 delay=50us; drop prob=0.02",
};

/* One random operation. Every byte of the target is written at most once, so the end state is known. */
static void post_one(struct run *r, uint32_t *next)
{
	struct rig_node *b = &r->p.rig.node[1];
	struct rig_qp *q = &r->p.q[0];
	uint32_t len = 1 + (uint32_t)bf_rng_below(&r->rng, bf_rng_chance(&r->rng, 300000) ? 9000 : 900);
	uint8_t flags = bf_rng_chance(&r->rng, 700000) ? RIG_CQE : 0;
	uint8_t w[64] = { 0 };

	if (bf_rng_chance(&r->rng, 200000))
		flags |= BF_MLX5_FM_FENCE << 5;
	switch (bf_rng_below(&r->rng, 4)) {
	case 0:
		rig_rdma(q, BF_MLX5_OP_RDMA_WRITE, *next, b->data_va + *next, b->key, len, flags);
		break;
	case 1: /* READ of bytes that nobody writes, into the upper half of node 0 */
		r->read[r->reads].at = *next;
		r->read[r->reads++].len = len;
		rig_rdma(q, BF_MLX5_OP_RDMA_READ, 2 * AREA + *next, b->data_va + 3 * AREA + *next, b->key, len, flags);
		break;
	case 2:
		r->send[r->sends].at = *next;
		r->send[r->sends++].len = len;
		rig_recv(&r->p.q[1], *next, len);
		rig_send(q, BF_MLX5_OP_SEND_IMM, *next, len, *next, flags);
		break;
	default:
		w[11] = flags;
		rig_put_raddr(w + 16, b->data_va + 0xf0000, b->key);
		r->add_value[r->adds] = bf_rng_next(&r->rng) >> 8;
		bf_put_be64(w + 32, r->add_value[r->adds]);
		rig_put_data(w + 48, 8, q->node->key, q->node->data_va + 0xe0000 + 8 * r->adds);
		rig_post(q, w, BF_MLX5_OP_ATOMIC_FA, 0, 4);
		r->adds++;
		break;
	}
	*next += len;
}

static void fill(struct run *r)
{
	for (uint32_t i = 0; i < RIG_DATA; i++)
		r->p.rig.node[0].data[i] = i < AREA ? (uint8_t)(i * 7 + i / 256) : 0;
	memset(r->p.rig.node[1].data, 0, RIG_DATA);
	for (uint32_t i = 0; i < AREA; i++)
		r->p.rig.node[1].data[3 * AREA + i] = (uint8_t)(i * 5 + i / 128);
}

/* Posts everything in bursts with time between them, then runs to the end. */
static void drive(struct run *r, uint32_t plan, uint64_t seed)
{
	struct rig_qp_opts o = { .log_sq = 8, .log_rq = 7, .log_stride = 0, .log_rd = 2, .timeout = 6 };
	uint32_t next = 0;

	memset(r, 0, sizeof(*r));
	o.mtu = 1 + (uint32_t)(seed % 5);
	o.psn = seed & 1 ? 0xfffff0 : 7;
	rig_pair_open(&r->p, seed, NULL, &o);
	bf_rng_init(&r->rng, seed, "traffic");
	ck_assert(!bf_stream_open(&r->p.rig.sim->rec, &r->p.rig.sim->now_ps, BF_CLASS_ALL, NULL));
	ck_assert(!bf_fault_plan_parse(plans[plan], seed, NULL, &r->plan));
	r->p.rig.sim->faults = r->plan;
	fill(r);
	for (uint32_t i = 0; i < OPS; i++) {
		post_one(r, &next);
		if (bf_rng_chance(&r->rng, 300000)) {
			rig_db(&r->p.q[0]);
			bf_sim_run(r->p.rig.sim, r->p.rig.sim->now_ps + bf_rng_below(&r->rng, 20) * BF_US);
		}
	}
	rig_rdma(&r->p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, r->p.rig.node[1].data_va, r->p.rig.node[1].key, 0, RIG_CQE);
	rig_db(&r->p.q[0]);
	rig_run(&r->p.rig);
	ck_assert_uint_lt(next, AREA);
}

static void check_completions(struct run *r)
{
	const struct bf_mlx5_cqe *c;
	uint32_t last = 0, n = 0;

	while ((c = rig_poll(&r->p.scq[0]))) {
		ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_REQ);
		ck_assert(!n || bf_be16(c->wqe_counter) > last);
		last = bf_be16(c->wqe_counter);
		n++;
	}
	ck_assert_uint_eq(last + 1, r->p.q[0].sq_pi);
	for (uint32_t i = 0; i < r->sends; i++) {
		c = rig_poll(&r->p.rcq[1]);
		ck_assert_ptr_nonnull(c);
		ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_RESP_SEND_IMM);
		ck_assert_uint_eq(bf_be16(c->wqe_counter), i);
		ck_assert_uint_eq(bf_be32(c->byte_cnt), r->send[i].len);
		ck_assert_uint_eq(bf_be32(c->imm_inval_pkey), r->send[i].at);
	}
	ck_assert_ptr_null(rig_poll(&r->p.rcq[1]));
}

static void check_data(struct run *r)
{
	const uint8_t *from = r->p.rig.node[0].data, *to = r->p.rig.node[1].data;
	uint32_t strange = 0;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < r->reads; i++)
		ck_assert_mem_eq(from + 2 * AREA + r->read[i].at, to + 3 * AREA + r->read[i].at, r->read[i].len);
	for (uint32_t i = 0; i < r->sends; i++)
		ck_assert_mem_eq(to + r->send[i].at, from + r->send[i].at, r->send[i].len);
	for (uint32_t i = 0; i < AREA; i++) /* what was not sent or written stayed 0 */
		strange += to[i] != from[i] && to[i] != 0;
	ck_assert_uint_eq(strange, 0);
	for (uint32_t i = 0; i < r->adds; i++) { /* each saw the sum of those before it */
		ck_assert_uint_eq(bf_get_le64(from + 0xe0000 + 8 * i), sum);
		sum += r->add_value[i];
	}
	ck_assert_uint_eq(bf_get_le64(to + 0xf0000), sum);
}

static void finish(struct run *r, uint64_t *hash, uint64_t *retries)
{
	struct bf_mlx5_qp_info info;

	ck_assert(!bf_mlx5_qp_info(r->p.rig.node[0].dev, r->p.q[0].qpn, &info));
	*retries += info.retries;
	*hash = bf_stream_hash(&r->p.rig.sim->rec);
	ck_assert(!bf_stream_close(&r->p.rig.sim->rec));
	r->p.rig.sim->faults = NULL;
	bf_fault_plan_destroy(r->plan);
	rig_close(&r->p.rig);
}

START_TEST(survives)
{
	static struct run r;
	uint64_t retries = 0;

	for (uint64_t seed = 1; seed <= 15; seed++) {
		uint64_t hash[2];

		drive(&r, (uint32_t)_i, seed);
		check_completions(&r);
		check_data(&r);
		finish(&r, &hash[0], &retries);
		if (seed > 2)
			continue;
		drive(&r, (uint32_t)_i, seed);
		finish(&r, &hash[1], &retries);
		ck_assert_uint_eq(hash[0], hash[1]);
	}
	if (_i != 1) /* duplicates alone need no retry */
		ck_assert_uint_gt(retries, 0);
}
END_TEST

static const uint8_t mix[] = { BF_MLX5_OP_RDMA_WRITE, BF_MLX5_OP_RDMA_READ, BF_MLX5_OP_SEND,
			       BF_MLX5_OP_ATOMIC_FA,  BF_MLX5_OP_DUMP,      BF_MLX5_OP_RDMA_WRITE_IMM };

static void post_mix(struct rig_pair *p)
{
	struct rig_node *b = &p->rig.node[1];

	for (uint32_t i = 0; i < 4; i++)
		rig_recv(&p->q[1], 0x1000 * i, 4000);
	for (uint32_t i = 0; i < BF_ARRAY_LEN(mix); i++) {
		bool dump = mix[i] == BF_MLX5_OP_DUMP, atomic = mix[i] == BF_MLX5_OP_ATOMIC_FA;
		uint8_t w[64] = { 0 };

		if (mix[i] == BF_MLX5_OP_SEND) {
			rig_send(&p->q[0], mix[i], 0, 2000, 0, RIG_CQE);
			continue;
		}
		w[11] = RIG_CQE;
		if (!dump)
			rig_put_raddr(w + 16, b->data_va, b->key);
		rig_put_data(w + (dump     ? 16
				  : atomic ? 48
					   : 32),
			     atomic ? 8 : 3000, p->rig.node[0].key, p->rig.node[0].data_va + 0x8000 * i);
		rig_post(&p->q[0], w, mix[i], 0, dump ? 2 : atomic ? 4 : 3);
	}
	rig_db(&p->q[0]);
}

static bool cq_failed(const struct rig_cq *cq)
{
	uint8_t in[16] = { 0 }, out[80];

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_CQ);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, cq->cqn);
	ck_assert_uint_eq(rig_cmd(cq->node, in, sizeof(in), out, sizeof(out)), 0);
	return BF_MLX5_GET(out + 16, BF_CQC_STATUS) == 10; /* write error */
}

/* The n-th DMA of one side fails, for each n: no WQE is left without a CQE, unless it is the CQ that failed. */
START_TEST(every_dma_fails_once)
{
	struct rig_qp_opts o = {
		.log_sq = 5, .log_rq = 4, .log_stride = 2, .log_rd = 2, .mtu = 3, .retry = 3, .timeout = 4
	};
	uint64_t fired = 1;

	for (uint32_t skip = 0; fired; skip++) {
		static struct rig_pair p;
		struct bf_mlx5_qp_info info;
		struct bf_fault_plan *plan;
		const struct bf_mlx5_cqe *c;
		char text[64];
		uint32_t n = 0;

		rig_pair_open(&p, 1, NULL, &o);
		snprintf(text, sizeof(text), "dma-fault on=nic%d.dma skip=%u count=1", _i, skip);
		ck_assert(!bf_fault_plan_parse(text, 1, NULL, &plan));
		p.rig.sim->faults = plan;
		post_mix(&p);
		rig_run(&p.rig);
		fired = bf_fault_plan_fired(plan, 0);
		for (; (c = rig_poll(&p.scq[0])); n++)
			ck_assert_uint_eq(bf_be16(c->wqe_counter), n);
		ck_assert(n == BF_ARRAY_LEN(mix) || cq_failed(&p.scq[0]));
		ck_assert(!bf_mlx5_qp_info(p.rig.node[0].dev, p.q[0].qpn, &info));
		ck_assert_uint_eq(info.state, fired ? BF_MLX5_QPS_ERR : BF_MLX5_QPS_RTS);
		p.rig.sim->faults = NULL;
		bf_fault_plan_destroy(plan);
		rig_close(&p.rig);
		ck_assert_uint_lt(skip, 100);
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_faults");
	TCase *tc = tcase_create("faults");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 280);
	tcase_add_loop_test(tc, survives, 0, BF_ARRAY_LEN(plans));
	tcase_add_loop_test(tc, every_dma_fails_once, 0, 2);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
