/* Event queues: what is an event, when it interrupts, and what a full queue does. */
#include <check.h>
#include <sys/mman.h>

#include "sim/fault.h"
#include "tests/models/mlx5_dc.h"
#include "tests/models/mlx5_events.h"

static const struct rig_qp_opts o = { .log_sq = 6, .log_rq = 4, .log_stride = 0, .log_rd = 2 };
static struct rig_pair p;
static struct rig_node *a, *b;
static struct rig_eq comp[2], async[2]; /* of each node: vectors 1 and 2 */

/* As rig_pair_open(), with event queues and CQs that use them. */
static void open_pair(const struct bf_mlx5_profile *profile, const struct rig_qp_opts *opts)
{
	rig_open(&p.rig, 1, profile);
	for (uint32_t i = 0; i < 2; i++) {
		struct rig_node *n = &p.rig.node[i];

		rig_eq_open(n, &comp[i], 4, 1, 0, 0);
		rig_eq_open(n, &async[i], 8, 2, RIG_ALL_EVENTS, 0);
		n->eqn = comp[i].eqn;
		rig_cq_open(n, &p.scq[i], 6, 0);
		rig_cq_open(n, &p.rcq[i], 6, 0);
		rig_qp_open(n, &p.q[i], &p.scq[i], &p.rcq[i], opts);
		rig_eq_update(&comp[i], true);
		rig_eq_update(&async[i], true);
	}
	rig_connect(&p.q[0], &p.q[1], opts);
	rig_connect(&p.q[1], &p.q[0], opts);
	rig_run(&p.rig);
	a = &p.rig.node[0];
	b = &p.rig.node[1];
}

static void setup(void)
{
	open_pair(NULL, &o);
}

static void teardown(void)
{
	rig_close(&p.rig);
}

static void write64(uint8_t flags)
{
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, flags);
}

static void ring_and_run(void)
{
	rig_db(&p.q[0]);
	rig_run(&p.rig);
}

static void expect_completion(struct rig_eq *eq, uint32_t cqn)
{
	const struct bf_mlx5_eqe *e = rig_eq_poll(eq);

	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->type, BF_MLX5_EVENT_COMP);
	ck_assert_uint_eq(bf_get_be32(e->data + BF_EQE_COMP_CQN), cqn);
}

static void expect_queue_event(struct rig_eq *eq, uint8_t type, uint8_t queue, uint32_t number)
{
	const struct bf_mlx5_eqe *e = rig_eq_poll(eq);

	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->type, type);
	ck_assert_uint_eq(e->data[BF_EQE_QP_SRQ_TYPE], queue);
	ck_assert_uint_eq(bf_get_be32(e->data + BF_EQE_QP_SRQ_NUMBER), number);
}

/* An armed CQ writes one entry, the queue interrupts once for each time that it was armed. */
START_TEST(one_event_an_arming)
{
	write64(RIG_CQE);
	ring_and_run();
	ck_assert_ptr_null(rig_eq_poll(&comp[0]));
	ck_assert_ptr_nonnull(rig_poll(&p.scq[0]));
	rig_cq_arm(&p.scq[0], 0, false);
	rig_run(&p.rig);
	ck_assert_uint_eq(a->irqs[1], 0);
	write64(RIG_CQE);
	write64(RIG_CQE);
	ring_and_run();
	ck_assert_uint_eq(a->irqs[1], 1);
	expect_completion(&comp[0], p.scq[0].cqn);
	ck_assert_ptr_null(rig_eq_poll(&comp[0]));
	/* Not armed again: an entry, no interrupt. */
	rig_cq_arm(&p.scq[0], 1, false); /* two CQEs were not seen: at once */
	rig_run(&p.rig);
	expect_completion(&comp[0], p.scq[0].cqn);
	ck_assert_uint_eq(a->irqs[1], 1);
	rig_eq_update(&comp[0], false);
	rig_run(&p.rig);
	ck_assert_uint_eq(a->irqs[1], 1);
	rig_eq_update(&comp[0], true);
	rig_run(&p.rig);
	ck_assert_uint_eq(a->irqs[1], 1);
	ck_assert_uint_eq(b->irqs[1], 0);
}
END_TEST

/* Entries that the driver had not seen when it armed the queue interrupt at once. */
START_TEST(arming_late)
{
	rig_cq_arm(&p.scq[0], 0, false);
	write64(RIG_CQE);
	ring_and_run();
	ck_assert_uint_eq(a->irqs[1], 1);
	rig_eq_update(&comp[0], true); /* with the old index */
	rig_run(&p.rig);
	ck_assert_uint_eq(a->irqs[1], 2);
	expect_completion(&comp[0], p.scq[0].cqn);
	rig_eq_update(&comp[0], true);
	rig_run(&p.rig);
	ck_assert_uint_eq(a->irqs[1], 2);
}
END_TEST

/* As perftest does it: event, arm, poll. One event for each entry, and none for one that was told of. */
START_TEST(arm_before_poll)
{
	rig_cq_arm(&p.scq[0], 0, false);
	for (uint32_t i = 1; i < 20; i++) {
		write64(RIG_CQE);
		ring_and_run();
		expect_completion(&comp[0], p.scq[0].cqn);
		rig_cq_arm(&p.scq[0], i & 3, false);
		rig_run(&p.rig);
		ck_assert_ptr_null(rig_eq_poll(&comp[0]));
		ck_assert_ptr_nonnull(rig_poll(&p.scq[0]));
		rig_eq_update(&comp[0], false);
	}
}
END_TEST

/* An arming whose number had its event is void; it is no event more. */
START_TEST(stale_arming)
{
	rig_cq_arm(&p.scq[0], 2, false);
	write64(RIG_CQE);
	ring_and_run();
	expect_completion(&comp[0], p.scq[0].cqn);
	rig_cq_arm(&p.scq[0], 2, false);
	write64(RIG_CQE);
	ring_and_run();
	ck_assert_ptr_null(rig_eq_poll(&comp[0]));
	rig_cq_arm(&p.scq[0], 3, false);
	rig_run(&p.rig);
	expect_completion(&comp[0], p.scq[0].cqn);
}
END_TEST

/*
 * On the wall clock all CQs of a page are armed by stores to one cell, of which a poller sees the last: it finds the
 * others by their doorbell records, also those of queues that need no record against overrun.
 */
START_TEST(arming_found_in_the_record)
{
	struct bf_region *uar = bf_mlx5_uar(a->dev, a->uar);
	struct rig_cq cq[2];
	struct rig_qp q[2];
	uint8_t word[8];

	ck_assert(!mprotect(uar->bytes, 4096, PROT_READ | PROT_WRITE));
	for (uint32_t i = 0; i < 2; i++) {
		rig_cq_open(&p.rig.node[i], &cq[i], 4, _i ? 4 : 0);
		rig_qp_open(&p.rig.node[i], &q[i], &cq[i], &cq[i], &o);
	}
	rig_connect(&q[0], &q[1], &o);
	rig_connect(&q[1], &q[0], &o);
	bf_put_be32(cq[0].dbr + 4 * BF_MLX5_CQ_DBR_ARM, 1u << 28);
	bf_put_be32(word, 1u << 28);
	bf_put_be32(word + 4, p.scq[0].cqn);
	memcpy(uar->bytes + BF_MLX5_UAR_CQ_ARM, word, sizeof(word));
	ck_assert_int_ne(bf_mlx5_poll_uars(a->dev), 0);
	rig_rdma(&q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
	rig_db(&q[0]);
	rig_run(&p.rig);
	expect_completion(&comp[0], cq[0].cqn);
}
END_TEST

/* Solicited only: of receives those that ask for it, before and after the arming; errors always. */
START_TEST(solicited)
{
	for (int i = 0; i < 8; i++)
		rig_recv(&p.q[1], 4096, 64);
	rig_cq_arm(&p.rcq[1], 0, true);
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 64, 0, 0);
	ring_and_run();
	ck_assert_ptr_null(rig_eq_poll(&comp[1]));
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 64, 0, BF_MLX5_CTRL_SOLICITED);
	ring_and_run();
	expect_completion(&comp[1], p.rcq[1].cqn);
	rig_cq_arm(&p.rcq[1], 1, true); /* with an index before one that was told of */
	rig_run(&p.rig);
	ck_assert_ptr_null(rig_eq_poll(&comp[1]));
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 64, 0, BF_MLX5_CTRL_SOLICITED);
	ring_and_run();
	expect_completion(&comp[1], p.rcq[1].cqn);
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 64, 0, BF_MLX5_CTRL_SOLICITED);
	ring_and_run();
	rig_cq_arm(&p.rcq[1], 2, true); /* before one that came after that */
	rig_run(&p.rig);
	expect_completion(&comp[1], p.rcq[1].cqn);
	for (int i = 0; i < 4; i++)
		ck_assert_ptr_nonnull(rig_poll(&p.rcq[1]));
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 64, 0, 0);
	ring_and_run();
	rig_cq_arm(&p.rcq[1], 3, true); /* behind them, and before one that was not solicited */
	rig_run(&p.rig);
	ck_assert_ptr_null(rig_eq_poll(&comp[1]));
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_2ERR_QP, p.q[1].qpn), 0);
	rig_run(&p.rig);
	expect_completion(&comp[1], p.rcq[1].cqn);
}
END_TEST

/* Entries over many rounds, in a ring of two pages that lie the wrong way round. */
START_TEST(ring_wraps)
{
	struct rig_cq cq;
	struct rig_eq eq;
	struct rig_qp q;

	rig_eq_open(a, &eq, 7, 3, 0, 0);
	a->eqn = eq.eqn;
	rig_cq_open(a, &cq, 6, 0);
	rig_qp_open(a, &q, &cq, &cq, &o);
	rig_connect(&q, &p.q[1], &o);
	for (uint32_t i = 0; i < 600; i++) {
		rig_cq_arm(&cq, i & 3, false);
		rig_rdma(&q, BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 0xffffff, RIG_CQE); /* its key has less */
		rig_db(&q);
		rig_run(&p.rig);
		expect_completion(&eq, cq.cqn);
		ck_assert_ptr_nonnull(rig_poll(&cq));
		rig_eq_update(&eq, true);
	}
	ck_assert_uint_eq(a->irqs[3], 599); /* the first came unarmed */
}
END_TEST

/* The number of the interrupt is there only when the entry is: whoever is interrupted finds it. */
static uint32_t found;
static void irq_looks(void *owner, uint32_t vector)
{
	struct rig_eq *eq = owner;

	if (vector == 1 && rig_eq_poll(eq))
		found++;
}

START_TEST(entry_before_interrupt)
{
	const struct bf_mlx5_profile *profiles[] = { &bf_mlx5_cx7, &bf_mlx5_instant };
	struct rig_node n = { 0 };
	struct rig_eq eq;
	struct rig_cq cq;
	struct rig_qp q;
	struct bf_mlx5_opts opts = { .name = "x",
				     .profile = profiles[_i],
				     .space = &a->space,
				     .ioas = &a->ioas,
				     .fabric = p.rig.fabric,
				     .ipv4 = { 0x0a000101 },
				     .irq = irq_looks,
				     .irq_owner = &eq };
	uint8_t in[16] = { 0 };

	found = 0;
	n = *a;
	ck_assert(!bf_mlx5_create(p.rig.sim, &opts, &n.dev));
	n.pd = rig_do(&n, BF_MLX5_CMD_ALLOC_PD, in, sizeof(in));
	n.uar = rig_do(&n, BF_MLX5_CMD_ALLOC_UAR, in, sizeof(in));
	rig_eq_open(&n, &eq, 4, 1, 0, 0);
	n.eqn = eq.eqn;
	rig_cq_open(&n, &cq, 6, 0);
	rig_qp_open(&n, &q, &cq, &cq, &o);
	rig_connect(&q, &q, &o);
	for (uint32_t i = 0; i < 50; i++) {
		rig_eq_update(&eq, true);
		rig_cq_arm(&cq, i & 3, false);
		memset(in, 0, sizeof(in));
		rig_rdma(&q, BF_MLX5_OP_NOP, 0, 0, 0, 0, RIG_CQE);
		rig_db(&q);
		rig_run(&p.rig);
		ck_assert_uint_eq(found, i + 1);
		ck_assert_ptr_nonnull(rig_poll(&cq));
	}
	bf_mlx5_destroy(n.dev);
}
END_TEST

/* A full queue loses what comes; with overrun ignored it goes on over what is there. */
START_TEST(overflow)
{
	struct rig_eq eq;
	uint8_t in[16] = { 0 }, out[BF_EQ_EQC + BF_EQC_LEN];

	rig_eq_open(a, &eq, 2, 3, 0, _i ? 1 : 0);
	a->eqn = eq.eqn;
	for (uint32_t i = 0; i < 7; i++) {
		struct rig_cq cq;
		struct rig_qp q;

		rig_cq_open(a, &cq, 2, 0);
		rig_qp_open(a, &q, &cq, &cq, &o);
		rig_connect(&q, &p.q[1], &o);
		rig_cq_arm(&cq, 0, false);
		rig_rdma(&q, BF_MLX5_OP_NOP, 0, 0, 0, 0, RIG_CQE);
		rig_db(&q);
		rig_run(&p.rig);
	}
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_EQ);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, eq.eqn);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out + BF_EQ_EQC, BF_EQC_PRODUCER), _i ? 7u : 4u);
	ck_assert_uint_eq(BF_MLX5_GET(out + BF_EQ_EQC, BF_EQC_ST), BF_EQC_ST_FIRED);
	ck_assert_int_eq(rig_eqe(&eq, 0)->owner, _i); /* written over in the second round, or not */
}
END_TEST

/* What happens to queue pairs, and who hears of it. */
START_TEST(responder_errors)
{
	static const struct {
		uint32_t len, key_wrong, no_access, event;
	} cases[] = {
		{ 64, 1, 0, BF_MLX5_EVENT_WQ_ACCESS_ERROR },
		{ 64, 0, 2, BF_MLX5_EVENT_WQ_INVAL_REQ_ERROR },
	};
	struct rig_qp_opts opts = o;

	rig_close(&p.rig);
	opts.no_access = cases[_i].no_access;
	open_pair(NULL, &opts);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key ^ cases[_i].key_wrong, cases[_i].len, RIG_CQE);
	ring_and_run();
	expect_queue_event(&async[1], (uint8_t)cases[_i].event, BF_EQE_QUEUE_QP, p.q[1].qpn);
	ck_assert_ptr_null(rig_eq_poll(&async[1]));
	ck_assert_ptr_null(rig_eq_poll(&async[0])); /* the requester has its CQE */
	ck_assert_uint_eq(b->irqs[2], 1);
}
END_TEST

/* A receive that completes with an error tells of it: no event. */
START_TEST(responder_error_with_completion)
{
	rig_recv(&p.q[1], 0, 16);
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 64, 0, 0);
	ring_and_run();
	ck_assert_ptr_nonnull(rig_poll(&p.rcq[1]));
	ck_assert_ptr_null(rig_eq_poll(&async[1]));
}
END_TEST

START_TEST(communication_established)
{
	struct rig_qp x, y;

	rig_qp_open(a, &x, &p.scq[0], &p.rcq[0], &o);
	rig_qp_open(b, &y, &p.scq[1], &p.rcq[1], &o);
	rig_connect(&x, &y, &o);
	ck_assert_uint_eq(rig_modify(&y, BF_MLX5_CMD_RST2INIT_QP, &x, &o), 0);
	ck_assert_uint_eq(rig_modify(&y, BF_MLX5_CMD_INIT2RTR_QP, &x, &o), 0);
	for (int i = 0; i < 3; i++)
		rig_rdma(&x, BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
	rig_db(&x);
	rig_run(&p.rig);
	expect_queue_event(&async[1], BF_MLX5_EVENT_COMM_EST, BF_EQE_QUEUE_QP, y.qpn);
	ck_assert_ptr_null(rig_eq_poll(&async[1]));
	/* In RTS nothing is new. */
	write64(RIG_CQE);
	ring_and_run();
	ck_assert_ptr_null(rig_eq_poll(&async[1]));
	ck_assert_ptr_null(rig_eq_poll(&async[0]));
}
END_TEST

static uint32_t query_state(struct rig_node *n, uint32_t qpn)
{
	uint8_t in[16] = { 0 }, out[BF_QP_QPC + BF_QPC_LEN];

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_QP);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qpn);
	ck_assert_uint_eq(rig_cmd(n, in, sizeof(in), out, sizeof(out)), 0);
	return BF_MLX5_GET(out + BF_QP_QPC, BF_QPC_STATE);
}

/* SQD says that it drains until what was started is done; then there is an event, and parameters may change. */
START_TEST(drained)
{
	uint8_t in[BF_MODIFY_QP_LEN], out[16], query[BF_QP_QPC + BF_QPC_LEN], *qpc = in + BF_QP_QPC;

	for (int i = 0; i < 8; i++)
		rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 65536, RIG_CQE);
	rig_db(&p.q[0]);
	bf_sim_run(p.rig.sim, p.rig.sim->now_ps + 2 * BF_US);
	ck_assert_uint_eq(rig_modify(&p.q[0], BF_MLX5_CMD_RTS2SQD_QP, &p.q[1], &o), 0);
	ck_assert_uint_eq(query_state(a, p.q[0].qpn), BF_MLX5_QPS_SQ_DRAINING);
	rig_run(&p.rig);
	ck_assert_uint_eq(query_state(a, p.q[0].qpn), BF_MLX5_QPS_SQD);
	expect_queue_event(&async[0], BF_MLX5_EVENT_SQ_DRAINED, BF_EQE_QUEUE_QP, p.q[0].qpn);
	ck_assert_ptr_null(rig_eq_poll(&async[0]));
	rig_modify_fill(in, BF_MLX5_CMD_SQD_RTS_QP, &p.q[0], &p.q[1], &o);
	bf_put_be32(in + 0x10, 1u << 12 | 1u << 3); /* retry count, remote write; the RNR timer stays */
	BF_MLX5_SET(qpc, BF_QPC_RETRY_COUNT, 3);
	BF_MLX5_SET(qpc, BF_QPC_RWE, 0);
	BF_MLX5_SET(qpc, BF_QPC_MIN_RNR_NAK, 9);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), 0);
	memset(in, 0, 16);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_QP);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, p.q[0].qpn);
	ck_assert_uint_eq(rig_cmd(a, in, 16, query, sizeof(query)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(query + BF_QP_QPC, BF_QPC_RETRY_COUNT), 3);
	ck_assert_uint_eq(BF_MLX5_GET(query + BF_QP_QPC, BF_QPC_RWE), 0);
	ck_assert_uint_eq(BF_MLX5_GET(query + BF_QP_QPC, BF_QPC_MIN_RNR_NAK), 1);
	rig_run(&p.rig);
	for (int i = 0; i < 8; i++)
		ck_assert_ptr_nonnull(rig_poll(&p.scq[0]));
}
END_TEST

/* Overrun: the CQ's event, and one for each queue pair that goes with it. */
START_TEST(cq_overrun)
{
	struct rig_cq cq;
	struct rig_qp q;
	const struct bf_mlx5_eqe *e;

	rig_cq_open(a, &cq, 2, 0);
	rig_qp_open(a, &q, &cq, &cq, &o);
	rig_connect(&q, &p.q[1], &o);
	for (int i = 0; i < 6; i++)
		rig_rdma(&q, BF_MLX5_OP_NOP, 0, 0, 0, 0, RIG_CQE);
	rig_db(&q);
	rig_run(&p.rig);
	e = rig_eq_poll(&async[0]);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->type, BF_MLX5_EVENT_CQ_ERROR);
	ck_assert_uint_eq(bf_get_be32(e->data + BF_EQE_CQ_ERR_CQN), cq.cqn);
	ck_assert_uint_eq(e->data[BF_EQE_CQ_ERR_SYNDROME], BF_EQE_CQ_ERR_OVERRUN);
	expect_queue_event(&async[0], BF_MLX5_EVENT_WQ_CATAS_ERROR, BF_EQE_QUEUE_QP, q.qpn);
	ck_assert_uint_eq(query_state(a, q.qpn), BF_MLX5_QPS_ERR);
}
END_TEST

START_TEST(port_change)
{
	const struct bf_mlx5_eqe *e;

	bf_port_set_link(bf_mlx5_port(a->dev, 1), false);
	rig_run(&p.rig);
	e = rig_eq_poll(&async[0]);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->type, BF_MLX5_EVENT_PORT_CHANGE);
	ck_assert_uint_eq(e->sub_type, BF_EQE_PORT_DOWN);
	ck_assert_uint_eq(e->data[BF_EQE_PORT_NUMBER], 1 << 4);
	bf_port_set_link(bf_mlx5_port(a->dev, 1), true);
	rig_run(&p.rig);
	e = rig_eq_poll(&async[0]);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->sub_type, BF_EQE_PORT_ACTIVE);
	ck_assert_ptr_null(rig_eq_poll(&async[1]));
}
END_TEST

/* Events go to the queue that has their bit; without one nobody hears of them. */
START_TEST(mask)
{
	struct rig_eq only;

	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_EQ, async[0].eqn), 0);
	bf_port_set_link(bf_mlx5_port(a->dev, 1), false);
	rig_eq_open(a, &only, 2, 3, RIG_EVENTS(BF_MLX5_EVENT_PORT_CHANGE), 0);
	bf_port_set_link(bf_mlx5_port(a->dev, 1), true);
	rig_run(&p.rig);
	ck_assert_uint_eq(rig_eq_poll(&only)->sub_type, BF_EQE_PORT_ACTIVE);
	ck_assert_ptr_null(rig_eq_poll(&only));
}
END_TEST

START_TEST(commands)
{
	uint8_t in[RIG_CREATE_EQ_LEN], out[16];
	struct rig_eq eq;

	rig_eq_open(a, &eq, 2, 3, 0, 0);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_EQ, comp[0].eqn), BF_MLX5_CMD_RES_BUSY); /* CQs */
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DEALLOC_UAR, a->uar), BF_MLX5_CMD_RES_BUSY);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_EQ, eq.eqn), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_DESTROY_EQ, eq.eqn), BF_MLX5_CMD_BAD_RES);
	rig_eq_fill(a, in, rig_va(a, eq.ring), 2, 0, 0, 0);
	ck_assert_uint_eq(rig_cmd(a, in, BF_CREATE_EQ_PAS, out, sizeof(out)), BF_MLX5_CMD_BAD_INP_LEN);
	rig_eq_fill(a, in, rig_va(a, eq.ring) + 64, 2, 0, 0, 0);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_PARAM);
	rig_eq_fill(a, in, rig_va(a, eq.ring), 23, 0, 0, 0);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_PARAM);
	rig_eq_fill(a, in, rig_va(a, eq.ring), 2, 0, 0, 0);
	BF_MLX5_SET(in + BF_EQ_EQC, BF_EQC_UAR_PAGE, 63);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_BAD_RES);
	rig_eq_fill(a, in, 1ull << 40, 2, 0, 0, 0); /* no memory: found when it is written */
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, sizeof(out)), BF_MLX5_CMD_OK);
}
END_TEST

/* A DC target that drains says when it has. */
START_TEST(target_drained)
{
	const struct bf_mlx5_eqe *e;
	struct dc_target t;
	struct rig_qp q;

	dc_target_open(b, &t, &p.rcq[1], DC_KEY, &(struct dc_target_opts){ 0 });
	dc_initiator_open(a, &q, &p.scq[0], &o);
	memset(a->data, 0x5a, 65536);
	dc_rdma(&q, &t, 0, BF_MLX5_OP_RDMA_WRITE, 0, 0, 65536, RIG_CQE);
	rig_db(&q);
	while (!bf_get_be64(b->data + 8192)) /* the message's third packet is not there yet */
		bf_sim_run(p.rig.sim, p.rig.sim->now_ps + 10 * BF_NS);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DRAIN_DCT, t.dctn), 0);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_DCT, t.dctn), BF_MLX5_CMD_BAD_RES_STATE);
	rig_run(&p.rig);
	e = rig_eq_poll(&async[1]);
	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->type, BF_MLX5_EVENT_DCT_DRAINED);
	ck_assert_uint_eq(bf_get_be32(e->data + BF_EQE_DCTN), t.dctn);
	ck_assert_uint_eq(rig_poll(&p.scq[0])->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_DCT, t.dctn), 0);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_events");
	TCase *t = tcase_create("events");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, one_event_an_arming);
	tcase_add_test(t, arming_late);
	tcase_add_test(t, arm_before_poll);
	tcase_add_test(t, stale_arming);
	tcase_add_loop_test(t, arming_found_in_the_record, 0, 2);
	tcase_add_test(t, solicited);
	tcase_add_test(t, ring_wraps);
	tcase_add_loop_test(t, entry_before_interrupt, 0, 2);
	tcase_add_loop_test(t, overflow, 0, 2);
	tcase_add_loop_test(t, responder_errors, 0, 2);
	tcase_add_test(t, responder_error_with_completion);
	tcase_add_test(t, communication_established);
	tcase_add_test(t, drained);
	tcase_add_test(t, cq_overrun);
	tcase_add_test(t, port_change);
	tcase_add_test(t, mask);
	tcase_add_test(t, commands);
	tcase_add_test(t, target_drained);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
