/* Each failing check with the syndromes of docs/hardware/mlx5.md#checks, at both ends; flushes; retries. */
#include <check.h>

#include "sim/fault.h"
#include "tests/models/mlx5_pair.h"

static void setup(void)
{
	o = (struct rig_qp_opts){ .log_sq = 6, .log_rq = 5, .log_stride = 2, .log_rd = 2 };
	open_pair();
}

static void expect_error(struct rig_cq *cq, uint8_t opcode, uint16_t index, uint8_t syndrome, uint8_t vendor)
{
	const struct bf_mlx5_err_cqe *c = (const void *)rig_poll(cq);

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, opcode);
	ck_assert_uint_eq(c->op_own & 0x0e, 2);
	ck_assert_uint_eq(bf_be16(c->wqe_counter), index);
	ck_assert_uint_eq(c->syndrome, syndrome);
	ck_assert_uint_eq(c->vendor_err_synd, vendor);
}

static uint8_t state_of(const struct rig_qp *q)
{
	struct bf_mlx5_qp_info info;

	ck_assert(!bf_mlx5_qp_info(q->node->dev, q->qpn, &info));
	return (uint8_t)info.state;
}

/*
 * The failing WQE stands between a good one and two more, none of the neighbours signalled except the last: one good
 * CQE is not made, the error CQE names the cause, both followers are flushed, and so is one that is posted later.
 */
static void expect_failure(uint16_t first, uint16_t bad, uint16_t after, uint8_t syndrome, uint8_t vendor)
{
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, 0);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
	ring_and_run();
	expect_good(&p.scq[0], first);
	expect_error(&p.scq[0], BF_MLX5_CQE_REQ_ERR, bad, syndrome, vendor);
	expect_error(&p.scq[0], BF_MLX5_CQE_REQ_ERR, after, BF_MLX5_SYND_WR_FLUSH, 0xf9);
	expect_error(&p.scq[0], BF_MLX5_CQE_REQ_ERR, (uint16_t)(after + 1), BF_MLX5_SYND_WR_FLUSH, 0xf9);
	ck_assert_uint_eq(state_of(&p.q[0]), BF_MLX5_QPS_ERR);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, 0);
	ring_and_run();
	expect_error(&p.scq[0], BF_MLX5_CQE_REQ_ERR, (uint16_t)(after + 2), BF_MLX5_SYND_WR_FLUSH, 0xf9);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
}

static uint16_t good(void)
{
	return rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
}

/* A WQE with one data segment under full control of the test. */
static uint16_t rdma_with(uint32_t opcode, uint32_t lkey, uint64_t va, uint32_t rkey, uint64_t raddr, uint32_t len)
{
	uint8_t w[64] = { 0 };

	w[11] = RIG_CQE;
	rig_put_raddr(w + 16, raddr, rkey);
	rig_put_data(w + 32, len, lkey, va);
	return rig_post(&p.q[0], w, opcode, 0, 3);
}

/* Rights in the first dword of an mkey context. */
enum { A = 0x4000, RW = 0x2000, RR = 0x1000, LW = 0x800, LR = 0x400 };

static const struct {
	uint32_t opcode;
	uint32_t rights;
	int32_t key_off; /* added to the key */
	int64_t va_off;
	uint32_t other_pd;
	uint8_t vendor;
} local_faults[] = {
	{ BF_MLX5_OP_RDMA_WRITE, LR | LW, 0x7700, 0, 0, 0x52 },    /* no such index */
	{ BF_MLX5_OP_RDMA_WRITE, LR | LW, 1, 0, 0, 0x52 },         /* wrong variant */
	{ BF_MLX5_OP_RDMA_WRITE, LR | LW, 0, -1, 0, 0x53 },        /* below */
	{ BF_MLX5_OP_RDMA_WRITE, LR | LW, 0, 4096 - 63, 0, 0x53 }, /* beyond, by one byte */
	{ BF_MLX5_OP_RDMA_WRITE, LW, 0, 0, 0, 0x53 },              /* not readable */
	{ BF_MLX5_OP_RDMA_READ, LR, 0, 0, 0, 0x53 },               /* not writable */
	{ BF_MLX5_OP_RDMA_WRITE, LR | LW, 0, 0, 1, 0x53 },         /* another protection domain */
};

START_TEST(local_key_faults)
{
	uint8_t in[16] = { 0 };
	uint32_t pd = local_faults[_i].other_pd ? rig_do(a, BF_MLX5_CMD_ALLOC_PD, in, sizeof(in)) : a->pd;
	uint32_t key = rig_mkey(a, pd, a->data_va + 4096, 4096, local_faults[_i].rights, 9);
	uint16_t first = good();
	uint16_t bad = rdma_with(local_faults[_i].opcode, key + (uint32_t)local_faults[_i].key_off,
				 a->data_va + 4096 + (uint64_t)local_faults[_i].va_off, b->key, b->data_va, 64);

	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_LOCAL_PROT, local_faults[_i].vendor);
}
END_TEST

static const struct {
	uint32_t opcode, rights, qp_deny;
	int32_t key_off;
	int64_t va_off;
	uint32_t other_pd, len;
	uint8_t syndrome, vendor;
} remote_faults[] = {
	{ BF_MLX5_OP_RDMA_WRITE, RW, 0, 0x7700, 0, 0, 64, 0x13, 0x88 },
	{ BF_MLX5_OP_RDMA_WRITE, RW, 0, 1, 0, 0, 64, 0x13, 0x88 },
	{ BF_MLX5_OP_RDMA_WRITE, RW, 0, 0, -1, 0, 64, 0x13, 0x88 },
	{ BF_MLX5_OP_RDMA_WRITE, RW, 0, 0, 4096 - 63, 0, 64, 0x13, 0x88 },
	{ BF_MLX5_OP_RDMA_WRITE, RW, 0, 0, 0, 0, 4097, 0x13, 0x88 },
	{ BF_MLX5_OP_RDMA_WRITE, RR | LW | LR | A, 0, 0, 0, 0, 64, 0x13, 0x88 },
	{ BF_MLX5_OP_RDMA_WRITE, RW, 0, 0, 0, 1, 64, 0x13, 0x88 },
	{ BF_MLX5_OP_RDMA_WRITE, RW, 2, 0, 0, 0, 64, 0x12, 0x8a },
	{ BF_MLX5_OP_RDMA_READ, RW | LW | LR | A, 0, 0, 0, 0, 64, 0x13, 0x88 },
	{ BF_MLX5_OP_RDMA_READ, RR, 1, 0, 0, 0, 64, 0x12, 0x8a },
	{ BF_MLX5_OP_RDMA_READ, RR, 0, 0, 1, 0, 4096, 0x13, 0x88 },
};

START_TEST(remote_key_faults)
{
	uint8_t in[16] = { 0 };
	uint16_t first, bad;
	uint32_t pd, key;

	pd = remote_faults[_i].other_pd ? rig_do(b, BF_MLX5_CMD_ALLOC_PD, in, sizeof(in)) : b->pd;
	key = rig_mkey(b, pd, b->data_va + 8192, 4096, remote_faults[_i].rights, 9);
	first = good();
	ring_and_run();
	if (remote_faults[_i].qp_deny) {
		struct rig_qp_opts deny = { .no_access = 7 };
		uint8_t modify[BF_MODIFY_QP_LEN], out[16];

		rig_modify_fill(modify, BF_MLX5_CMD_RTS2RTS_QP, &p.q[1], &p.q[0], &deny);
		bf_put_be32(modify + 0x10, 0xe); /* RRE, RAE, RWE */
		ck_assert_uint_eq(rig_cmd(b, modify, sizeof(modify), out, sizeof(out)), 0);
	}
	bad = rdma_with(remote_faults[_i].opcode, a->key, a->data_va, key + (uint32_t)remote_faults[_i].key_off,
			b->data_va + 8192 + (uint64_t)remote_faults[_i].va_off, remote_faults[_i].len);
	expect_failure(first, bad, (uint16_t)(bad + 1), remote_faults[_i].syndrome, remote_faults[_i].vendor);
	ck_assert_uint_eq(state_of(&p.q[1]), BF_MLX5_QPS_ERR);
	ck_assert_ptr_null(rig_poll(&p.rcq[1]));
}
END_TEST

static uint16_t post_atomic(uint32_t opcode, uint32_t opmod, uint64_t raddr, uint32_t rkey, uint32_t len)
{
	uint8_t w[64] = { 0 };

	w[11] = RIG_CQE;
	rig_put_raddr(w + 16, raddr, rkey);
	bf_put_be64(w + 32, 1);
	rig_put_data(w + 48, len, a->key, a->data_va);
	return rig_post(&p.q[0], w, opcode, opmod, 4);
}

START_TEST(unaligned_atomic)
{
	uint16_t first = good(), bad = post_atomic(BF_MLX5_OP_ATOMIC_FA, 0, b->data_va + 4, b->key, 8);

	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_REM_INV_REQ, 0x8a);
}
END_TEST

START_TEST(atomic_mode_must_cover_extended_ones)
{
	uint16_t first, bad;

	o.atomic_mode = 1;
	again();
	first = post_atomic(BF_MLX5_OP_ATOMIC_FA, 0, b->data_va, b->key, 8);
	bad = post_atomic(BF_MLX5_OP_ATOMIC_MASKED_FA, BF_MLX5_OPMOD_EXT_4B, b->data_va, b->key, 4);
	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_REM_INV_REQ, 0x8a);
}
END_TEST

START_TEST(atomic_without_right)
{
	uint32_t key = rig_mkey(b, b->pd, b->data_va, 4096, RW | RR, 9);
	uint16_t first = good(), bad = post_atomic(BF_MLX5_OP_ATOMIC_CS, 0, b->data_va, key, 8);

	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_REM_ACCESS, 0x88);
}
END_TEST

START_TEST(malformed_wqes)
{
	uint8_t w[64] = { 0 };
	uint16_t first = good(), bad;

	w[11] = RIG_CQE;
	switch (_i) {
	case 0: /* DS 0: a WQE that was never written */
		memset(w, 0, sizeof(w));
		bad = p.q[0].sq_pi++;
		memset(p.q[0].sq + bad * 64u, 0, 64);
		break;
	case 1: /* no such opcode */
		bad = rig_post(&p.q[0], w, 0x7f, 0, 2);
		break;
	case 2: /* too short for its segments */
		bad = rig_post(&p.q[0], w, BF_MLX5_OP_ATOMIC_FA, 0, 2);
		break;
	case 3: /* result buffer of the wrong size */
		bad = post_atomic(BF_MLX5_OP_ATOMIC_FA, 0, b->data_va, b->key, 4);
		break;
	default: /* inline data in a READ */
		bf_put_be32(w + 32, BF_MLX5_INLINE_FLAG | 4);
		bad = rig_post(&p.q[0], w, BF_MLX5_OP_RDMA_READ, 0, 3);
		break;
	}
	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_LOCAL_QP_OP, 0x61);
}
END_TEST

START_TEST(message_too_long)
{
	uint16_t first = good();
	uint32_t key = rig_mkey(a, a->pd, 0, ~0ull, 0x7c00, 3);
	uint16_t bad = rdma_with(BF_MLX5_OP_RDMA_WRITE, key, a->data_va, b->key, b->data_va, 0x7fffffff);

	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_LOCAL_LENGTH, 0);
}
END_TEST

START_TEST(data_that_cannot_be_read)
{
	/* The key covers it, the IOMMU does not. */
	uint64_t hole = a->mem->va + RIG_MEM + (1u << 20);
	uint32_t key = rig_mkey(a, a->pd, hole, 4096, 0x7c00, 3);
	uint16_t first = good(), bad = rdma_with(BF_MLX5_OP_RDMA_WRITE, key, hole, b->key, b->data_va, 64);

	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_LOCAL_PROT, 0x51);
}
END_TEST

START_TEST(remote_memory_that_is_not_there)
{
	uint64_t hole = b->mem->va + RIG_MEM + (1u << 20);
	uint32_t key = rig_mkey(b, b->pd, hole, 4096, 0x7c00, 3);
	uint16_t first = good(), bad;

	bad = rdma_with(_i == 0 ? BF_MLX5_OP_RDMA_WRITE : BF_MLX5_OP_RDMA_READ, a->key, a->data_va, key, hole, 64);
	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_REM_OP, 0x89);
}
END_TEST

START_TEST(send_longer_than_receive)
{
	uint16_t first = good(), bad;

	rig_recv(&p.q[1], 0, 99);
	rig_recv(&p.q[1], 4096, 99);
	bad = rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 100, 0, RIG_CQE);
	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_REM_INV_REQ, 0x8a);
	expect_error(&p.rcq[1], BF_MLX5_CQE_RESP_ERR, 0, BF_MLX5_SYND_LOCAL_LENGTH, 0);
	expect_error(&p.rcq[1], BF_MLX5_CQE_RESP_ERR, 1, BF_MLX5_SYND_WR_FLUSH, 0xf9);
	ck_assert_ptr_null(rig_poll(&p.rcq[1]));
	ck_assert_uint_eq(state_of(&p.q[1]), BF_MLX5_QPS_ERR);
}
END_TEST

START_TEST(receive_with_bad_key)
{
	uint16_t first = good(), bad;

	rig_recv_sge(&p.q[1], 0, 4096, b->key + 0x100000, b->data_va);
	rig_recv_post(&p.q[1]);
	bad = rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 100, 0, RIG_CQE);
	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_REM_OP, 0x89);
	expect_error(&p.rcq[1], BF_MLX5_CQE_RESP_ERR, 0, BF_MLX5_SYND_LOCAL_PROT, 0x32);
}
END_TEST

START_TEST(send_to_a_queue_without_receives)
{
	struct rig_qp_opts no_rq = o;
	uint16_t bad;

	no_rq.no_rq = true;
	rig_qp_open(a, &p.q[0], &p.scq[0], &p.rcq[0], &o);
	rig_qp_open(b, &p.q[1], &p.scq[1], &p.rcq[1], &no_rq);
	rig_connect(&p.q[0], &p.q[1], &o);
	rig_connect(&p.q[1], &p.q[0], &no_rq);
	good();
	bad = rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 100, 0, RIG_CQE);
	expect_failure(0, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_REM_INV_REQ, 0x8a);
}
END_TEST

START_TEST(rnr_retries_run_out)
{
	uint16_t first, bad;

	o.rnr_retry = 3;
	again();
	first = good();
	bad = rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 100, 0, RIG_CQE);
	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_RNR_EXC, 0x87);
}
END_TEST

/* A receive that comes late: the sender waits as the receiver asks (timer 14: 1.28 ms) and nothing is lost. */
struct late {
	struct bf_event ev;
	struct rig_qp *q;
};

static void post_late(struct bf_event *ev)
{
	rig_recv(BF_CONTAINER_OF(ev, struct late, ev)->q, 0x40000, 50000);
}

START_TEST(rnr_wait)
{
	struct bf_mlx5_qp_info info;
	struct late late = { .q = &p.q[1] };

	o.rnr_timer = 14;
	again();
	bf_event_init(&late.ev, post_late);
	bf_sim_at(p.rig.sim, &late.ev, 3 * BF_MS);
	rig_send(&p.q[0], BF_MLX5_OP_SEND, 0, 50000, 0, RIG_CQE);
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, RIG_CQE);
	ring_and_run();
	expect_good(&p.scq[0], 0);
	expect_good(&p.scq[0], 1);
	expect_good(&p.rcq[1], 0);
	ck_assert_mem_eq(b->data + 0x40000, a->data, 50000);
	ck_assert(!bf_mlx5_qp_info(a->dev, p.q[0].qpn, &info));
	ck_assert_uint_eq(info.rnr_naks, 3); /* at 0, 1.28 and 2.56 ms */
	ck_assert_uint_gt(p.rig.sim->now_ps, 3840 * BF_US);
	ck_assert_uint_lt(p.rig.sim->now_ps, 3900 * BF_US);
}
END_TEST

START_TEST(dead_peer)
{
	uint16_t first, bad;

	o.retry = 3;
	o.timeout = 10; /* 4.19 ms */
	again();
	first = good();
	ring_and_run();
	bf_port_set_link(bf_mlx5_port(b->dev, 1), false);
	bad = good();
	expect_failure(first, bad, (uint16_t)(bad + 1), BF_MLX5_SYND_RETRY_EXC, 0x81);
	/* Three retries and the first try, each a time-out apart. */
	ck_assert_uint_ge(p.rig.sim->now_ps, 4 * (4096 * BF_NS << 10));
	ck_assert_uint_lt(p.rig.sim->now_ps, 4 * (4096 * BF_NS << 10) + BF_MS);
}
END_TEST

START_TEST(command_to_error_flushes_everything)
{
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_READ, 0, b->data_va, b->key, 100000, 0);
	for (int i = 0; i < 10; i++)
		rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, 0);
	for (uint32_t i = 0; i < 20; i++)
		rig_recv(&p.q[0], 0, 64);
	rig_db(&p.q[0]);
	ck_assert_int_eq(bf_sim_run(p.rig.sim, 2 * BF_US), BF_RUN_LIMIT);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_2ERR_QP, p.q[0].qpn), 0);
	rig_run(&p.rig);
	for (uint16_t i = 0; i < 11; i++)
		expect_error(&p.scq[0], BF_MLX5_CQE_REQ_ERR, i, BF_MLX5_SYND_WR_FLUSH, 0xf9);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
	for (uint16_t i = 0; i < 20; i++)
		expect_error(&p.rcq[0], BF_MLX5_CQE_RESP_ERR, i, BF_MLX5_SYND_WR_FLUSH, 0xf9);
	ck_assert_ptr_null(rig_poll(&p.rcq[0]));

	/* And out of error through RESET, both ends, to work again. */
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_2RST_QP, p.q[0].qpn), 0);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_2RST_QP, p.q[1].qpn), 0);
	memset(p.q[0].dbr, 0, 8);
	p.q[0].sq_pi = p.q[0].rq_pi = 0;
	rig_connect(&p.q[0], &p.q[1], &o);
	rig_connect(&p.q[1], &p.q[0], &o);
	good();
	rdma_with(BF_MLX5_OP_RDMA_WRITE, 0, 0, b->key, b->data_va, 8);
	expect_failure(0, 1, 2, BF_MLX5_SYND_LOCAL_PROT, 0x52);
}
END_TEST

/* Destroyed or reset with everything in flight: nothing crashes, no CQE comes, the peer does not care. */
START_TEST(destroyed_in_flight)
{
	for (int i = 0; i < 8; i++)
		rig_rdma(&p.q[0], i & 1 ? BF_MLX5_OP_RDMA_READ : BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 30000,
			 RIG_CQE);
	rig_db(&p.q[0]);
	bf_sim_run(p.rig.sim, (uint64_t)_i * 100 * BF_NS);
	ck_assert_uint_eq(rig_simple(a, _i & 1 ? BF_MLX5_CMD_DESTROY_QP : BF_MLX5_CMD_2RST_QP, p.q[0].qpn), 0);
	if (_i % 3 == 0)
		ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_QP, p.q[1].qpn), 0);
	while (rig_poll(&p.scq[0]))
		;
	rig_run(&p.rig);
	if (_i % 4 == 0) { /* a reset queue pair works again at once */
		struct rig_qp fresh;

		rig_qp_open(b, &fresh, &p.scq[1], &p.rcq[1], &o);
		ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_2RST_QP, p.q[0].qpn), 0);
		while (rig_poll(&p.scq[0]))
			;
		memset(p.q[0].dbr, 0, 8);
		p.q[0].sq_pi = 0;
		rig_connect(&p.q[0], &fresh, &o);
		rig_connect(&fresh, &p.q[0], &o);
		good();
		ring_and_run();
		expect_good(&p.scq[0], 0);
	}
}
END_TEST

/* SQD finishes the message at hand, starts no other, and resumes. */
START_TEST(drain)
{
	o.mtu = 1; /* 1954 packets: more than the window */
	again();
	rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 500000, RIG_CQE);
	good();
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_RTS2SQD_QP, p.q[0].qpn), 0);
	ring_and_run();
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_SQD_RTS_QP, p.q[0].qpn), 0);
	ck_assert_int_eq(bf_sim_run(p.rig.sim, p.rig.sim->now_ps + 5 * BF_US), BF_RUN_LIMIT);
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_RTS2SQD_QP, p.q[0].qpn), 0);
	rig_run(&p.rig);
	expect_good(&p.scq[0], 0);
	ck_assert_ptr_null(rig_poll(&p.scq[0]));
	ck_assert_uint_eq(rig_simple(a, BF_MLX5_CMD_SQD_RTS_QP, p.q[0].qpn), 0);
	rig_run(&p.rig);
	expect_good(&p.scq[0], 1);
}
END_TEST

START_TEST(lost_completion)
{
	struct bf_fault_plan *plan;

	ck_assert(!bf_fault_plan_parse("lost-completion on=nic0.cq* skip=1 count=1", 1, NULL, &plan));
	p.rig.sim->faults = plan;
	for (int i = 0; i < 3; i++)
		good();
	ring_and_run();
	p.rig.sim->faults = NULL;
	bf_fault_plan_destroy(plan);
	expect_good(&p.scq[0], 0);
	ck_assert_ptr_null(rig_poll(&p.scq[0])); /* the hole */
	p.scq[0].ci = 2;
	expect_good(&p.scq[0], 2);
}
END_TEST

START_TEST(device_stall)
{
	struct bf_fault_plan *plan;

	ck_assert(!bf_fault_plan_parse("device-stall on=nic0 count=1 delay=5ms", 1, NULL, &plan));
	p.rig.sim->faults = plan;
	good();
	ring_and_run();
	p.rig.sim->faults = NULL;
	bf_fault_plan_destroy(plan);
	expect_good(&p.scq[0], 0);
	ck_assert_uint_gt(p.rig.sim->now_ps, 5 * BF_MS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_errors");
	TCase *tc = tcase_create("errors");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_loop_test(tc, local_key_faults, 0, BF_ARRAY_LEN(local_faults));
	tcase_add_loop_test(tc, remote_key_faults, 0, BF_ARRAY_LEN(remote_faults));
	tcase_add_test(tc, unaligned_atomic);
	tcase_add_test(tc, atomic_mode_must_cover_extended_ones);
	tcase_add_test(tc, atomic_without_right);
	tcase_add_loop_test(tc, malformed_wqes, 0, 5);
	tcase_add_test(tc, message_too_long);
	tcase_add_test(tc, data_that_cannot_be_read);
	tcase_add_loop_test(tc, remote_memory_that_is_not_there, 0, 2);
	tcase_add_test(tc, send_longer_than_receive);
	tcase_add_test(tc, receive_with_bad_key);
	tcase_add_test(tc, send_to_a_queue_without_receives);
	tcase_add_test(tc, rnr_retries_run_out);
	tcase_add_test(tc, rnr_wait);
	tcase_add_test(tc, dead_peer);
	tcase_add_test(tc, command_to_error_flushes_everything);
	tcase_add_loop_test(tc, destroyed_in_flight, 0, 40);
	tcase_add_test(tc, drain);
	tcase_add_test(tc, lost_completion);
	tcase_add_test(tc, device_stall);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
