/* Shared receive queues: the list, several queue pairs, the limit, errors, DC targets. */
#include <check.h>

#include "sim/rng.h"
#include "tests/models/mlx5_dc.h"
#include "tests/models/mlx5_events.h"

#define QPS 4u
#define SLOT 256u

static struct rig rig;
static struct rig_node *a, *b;
static struct rig_eq async;
static struct rig_cq scq, rcq;
static struct rig_srq srq;
static struct rig_qp tx[QPS], rx[QPS];

/* Queue pairs of node 0, each to one of node 1; those share a queue of 8 WQEs. Loops: an SRQ, an RMP. */
static void open_as(const struct bf_mlx5_profile *profile, bool rmp, const struct rig_qp_opts *more)
{
	struct rig_qp_opts opts = *more;

	opts.log_sq = 6;
	opts.log_rd = 2;
	opts.no_rq = true;
	rig_open(&rig, 1, profile);
	a = &rig.node[0];
	b = &rig.node[1];
	rig_eq_open(b, &async, 8, 2, RIG_ALL_EVENTS, 0);
	rig_eq_update(&async, true);
	rig_cq_open(a, &scq, 10, 4);
	rig_cq_open(b, &rcq, 10, 4);
	rig_srq_open(b, &srq, rmp, 3, 5);
	for (uint32_t i = 0; i < QPS; i++) {
		struct rig_qp_opts to = opts;

		to.srqn = srq.srqn;
		rig_qp_open(a, &tx[i], &scq, &scq, &opts);
		rig_qp_open(b, &rx[i], &rcq, &rcq, &to);
		rig_connect(&tx[i], &rx[i], &opts);
		rig_connect(&rx[i], &tx[i], &opts);
	}
	for (uint32_t i = 0; i < 4096; i++)
		a->data[i] = (uint8_t)(i * 7 + i / 256);
}

static const struct rig_qp_opts plain = { .rnr_timer = 1 };

static void setup(void)
{
	open_as(NULL, false, &plain);
}

static void teardown(void)
{
	rig_close(&rig);
}

static void send(uint32_t q, uint32_t from, uint32_t len)
{
	rig_send(&tx[q], BF_MLX5_OP_SEND, from, len, 0, RIG_CQE);
	rig_db(&tx[q]);
}

static uint32_t place[8]; /* by WQE: where its buffer is, another one each time */

static uint32_t post(void)
{
	place[srq.head] = 0x10000 + srq.head * SLOT + srq.counter % 13 * 0x1000;
	return rig_srq_post(&srq, place[srq.head], SLOT);
}

/* The next receive is of queue pair `q`, in WQE `index`, with `len` bytes from `from`. */
static void expect(uint32_t q, uint32_t index, uint32_t from, uint32_t len)
{
	const struct bf_mlx5_cqe *c = rig_poll(&rcq);

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_RESP_SEND);
	ck_assert_uint_eq(bf_be32(c->sop_drop_qpn) & 0xffffff, rx[q].qpn);
	ck_assert_uint_eq(bf_be16(c->wqe_counter), index);
	ck_assert_uint_eq(bf_be32(c->byte_cnt), len);
	ck_assert_uint_eq(bf_be32(c->srqn_uidx), 0x77);
	ck_assert_mem_eq(b->data + place[index], a->data + from, len);
	memset(b->data + place[index], 0, len);
}

static void expect_event(uint8_t type, uint32_t number)
{
	const struct bf_mlx5_eqe *e = rig_eq_poll(&async);

	ck_assert_ptr_nonnull(e);
	ck_assert_uint_eq(e->type, type);
	ck_assert_uint_eq(bf_get_be32(e->data + BF_EQE_QP_SRQ_NUMBER), number);
}

static bool connected(uint32_t q)
{
	struct bf_mlx5_qp_info info;

	ck_assert(!bf_mlx5_qp_info(b->dev, rx[q].qpn, &info));
	return info.state == BF_MLX5_QPS_RTS;
}

/* WQEs go to whoever needs one first, in the order of the list. */
START_TEST(shared)
{
	rig_close(&rig);
	open_as(NULL, _i, &plain);
	for (uint32_t i = 0; i < 6; i++)
		post();
	for (uint32_t i = 0; i < 6; i++) {
		send(i % QPS, i * 64, 40 + i);
		rig_run(&rig);
		expect(i % QPS, i, i * 64, 40 + i);
	}
	ck_assert_ptr_null(rig_poll(&rcq));
}
END_TEST

/* Freed WQEs are linked at the tail in another order: the device follows the links, also into what it has cached. */
START_TEST(list_order)
{
	static const uint8_t order[] = { 0, 1, 2, 5, 3, 7, 6, 4 };
	struct bf_rng rng;
	uint32_t next[3], free_list[8], frees = 0, tail = 4;

	rig_close(&rig);
	open_as(_i % 2 ? &bf_mlx5_instant : NULL, _i / 2 % 2, &plain);
	bf_rng_init(&rng, (uint64_t)_i, "list");
	for (uint32_t i = 0; i < 8; i++)
		rig_srq_link(&srq, order[i], order[(i + 1) % 8]);
	for (uint32_t i = 0; i < 3; i++)
		next[i] = post();
	for (uint32_t round = 0; round < 200; round++) {
		uint32_t q = (uint32_t)bf_rng_below(&rng, QPS);

		send(q, round * 8 % 2048, 100);
		rig_run(&rig);
		expect(q, next[0], round * 8 % 2048, 100);
		free_list[frees++] = next[0];
		memmove(next, next + 1, 2 * sizeof(next[0]));
		/* Give back one of those that were freed, then post the next of the list. */
		if (round >= 2) {
			uint32_t pick = (uint32_t)bf_rng_below(&rng, frees);

			rig_srq_link(&srq, tail, free_list[pick]);
			tail = free_list[pick];
			free_list[pick] = free_list[--frees];
		}
		next[2] = post();
		if (_i & 4) /* the device learns of it before anyone needs it */
			ck_assert_uint_eq(rig_srq_limit(&srq, _i / 2 % 2, 1), 0);
		rig_run(&rig);
	}
}
END_TEST

/* All want one at once, there are fewer, more come later: everyone gets one, none is lost. */
START_TEST(in_line)
{
	const struct bf_mlx5_profile *profiles[] = { &bf_mlx5_cx7, &bf_mlx5_instant };
	bool used[8] = { false }, done[QPS] = { false };

	rig_close(&rig);
	open_as(profiles[_i % 2], _i / 2, &plain);
	post();
	post();
	for (uint32_t q = 0; q < QPS; q++)
		send(q, 512 * q, 77);
	bf_sim_run(rig.sim, rig.sim->now_ps + 5 * BF_US);
	post();
	post();
	rig_run(&rig);
	for (uint32_t i = 0; i < QPS; i++) {
		const struct bf_mlx5_cqe *c = rig_poll(&rcq);
		uint32_t index, q = 0;

		ck_assert_ptr_nonnull(c);
		index = bf_be16(c->wqe_counter);
		while (rx[q].qpn != (bf_be32(c->sop_drop_qpn) & 0xffffff))
			q++;
		ck_assert(index < 4 && !used[index] && !done[q]);
		used[index] = done[q] = true;
		ck_assert_mem_eq(b->data + place[index], a->data + 512 * q, 77);
	}
	ck_assert_ptr_null(rig_poll(&rcq));
}
END_TEST

/* An empty queue is an RNR NAK, forever or until retries are used up. */
START_TEST(empty)
{
	const struct bf_mlx5_cqe *c;
	struct rig_qp_opts few = plain;

	rig_close(&rig);
	few.rnr_retry = 2;
	open_as(NULL, false, &few);
	send(0, 0, 64);
	rig_run(&rig);
	c = rig_poll(&scq);
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(((const struct bf_mlx5_err_cqe *)(const void *)c)->syndrome, BF_MLX5_SYND_RNR_EXC);
}
END_TEST

/* The limit: once, when fewer are left; counted with what was posted since the device last looked. */
START_TEST(limit)
{
	rig_close(&rig);
	open_as(NULL, _i, &plain);
	for (uint32_t i = 0; i < 4; i++)
		post();
	ck_assert_uint_eq(rig_srq_limit(&srq, _i, 9), BF_MLX5_CMD_BAD_PARAM);
	ck_assert_uint_eq(rig_srq_limit(&srq, _i, 3), 0);
	rig_run(&rig);
	send(0, 0, 64);
	rig_run(&rig);
	ck_assert_ptr_null(rig_eq_poll(&async)); /* 3 left */
	post();
	send(1, 0, 64);
	rig_run(&rig);
	ck_assert_ptr_null(rig_eq_poll(&async)); /* 2 that the device knew of, and one more */
	send(2, 0, 64);
	rig_run(&rig);
	expect_event(BF_MLX5_EVENT_SRQ_RQ_LIMIT, srq.srqn);
	send(3, 0, 64);
	rig_run(&rig);
	ck_assert_ptr_null(rig_eq_poll(&async));          /* once */
	ck_assert_uint_eq(rig_srq_limit(&srq, _i, 3), 0); /* there are fewer already */
	rig_run(&rig);
	expect_event(BF_MLX5_EVENT_SRQ_RQ_LIMIT, srq.srqn);
}
END_TEST

/* A queue pair that fails says that it takes no more, and leaves the WQEs to the others. */
START_TEST(last_wqe)
{
	for (uint32_t i = 0; i < 4; i++)
		post();
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_2ERR_QP, rx[1].qpn), 0);
	rig_run(&rig);
	expect_event(BF_MLX5_EVENT_SRQ_LAST_WQE, rx[1].qpn);
	ck_assert_ptr_null(rig_eq_poll(&async));
	ck_assert_ptr_null(rig_poll(&rcq));
	send(0, 64, 64);
	rig_run(&rig);
	expect(0, 0, 64, 64);
}
END_TEST

/* One that fails in the middle of a message gives the WQE at hand back, flushed. */
START_TEST(wqe_at_hand)
{
	const struct bf_mlx5_cqe *c;
	struct bf_mlx5_qp_info info;

	rig_srq_post(&srq, 0x10000, 65536);
	send(2, 0, 65536);
	do {
		bf_sim_run(rig.sim, rig.sim->now_ps + 10 * BF_NS);
		ck_assert(!bf_mlx5_qp_info(b->dev, rx[2].qpn, &info));
	} while (info.recv_psn < 3);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_2ERR_QP, rx[2].qpn), 0);
	c = (rig_run(&rig), rig_poll(&rcq));
	ck_assert_ptr_nonnull(c);
	ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_RESP_ERR);
	ck_assert_uint_eq(bf_be16(c->wqe_counter), 0);
	ck_assert_ptr_null(rig_poll(&rcq));
}
END_TEST

/* A receive that is too short is that queue pair's error alone. */
START_TEST(too_short)
{
	rig_srq_post(&srq, 0, 16);
	post();
	send(0, 0, 64);
	rig_run(&rig);
	ck_assert_uint_eq(rig_poll(&rcq)->op_own >> 4, BF_MLX5_CQE_RESP_ERR);
	ck_assert(!connected(0));
	send(1, 128, 64);
	rig_run(&rig);
	expect(1, 1, 128, 64);
	ck_assert(connected(1));
}
END_TEST

/* A link that leads out of the ring, and a record or ring that cannot be read: the queue is dead, and says so once. */
START_TEST(broken)
{
	if (_i == 0) {
		rig_srq_link(&srq, 0, 8);
		srq.counter = 2;
		rig_put_data(rig_srq_wqe(&srq, 0) + 16, 64, b->key, b->data_va);
		bf_put_be32(srq.dbr, 2);
		send(0, 0, 64);
		rig_run(&rig);
		ck_assert_uint_eq(rig_poll(&rcq)->op_own >> 4, BF_MLX5_CQE_RESP_SEND); /* that one was good */
	} else {
		post();
		bf_ioas_unmap(&b->ioas, rig_va(b, _i == 1 ? srq.dbr : srq.ring) & ~4095ull, 4096);
		send(0, 0, 64);
		rig_run(&rig);
	}
	expect_event(BF_MLX5_EVENT_SRQ_CATAS_ERROR, srq.srqn);
	send(1, 0, 64);
	rig_run(&rig);
	ck_assert(!connected(1));
	ck_assert_uint_eq(rig_poll(&scq)->op_own >> 4, _i ? BF_MLX5_CQE_REQ_ERR : BF_MLX5_CQE_REQ);
}
END_TEST

/* Reset and destroyed while they stand in line, and at other moments: the others get theirs. */
START_TEST(leave_the_line)
{
	for (uint32_t q = 0; q < QPS; q++)
		send(q, 0, 64);
	bf_sim_run(rig.sim, rig.sim->now_ps + (uint64_t)(1000 + _i * 50) * (uint64_t)BF_NS);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_2RST_QP, rx[0].qpn), 0);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_QP, rx[1].qpn), 0);
	post();
	post();
	bf_sim_run(rig.sim, rig.sim->now_ps + 2 * BF_MS);
	ck_assert_ptr_nonnull(rig_poll(&rcq));
	ck_assert_ptr_nonnull(rig_poll(&rcq));
	ck_assert(connected(2) && connected(3));
}
END_TEST

START_TEST(commands)
{
	uint8_t in[BF_CREATE_RMP_LEN], out[BF_CREATE_RMP_LEN];
	const uint32_t destroy = _i ? BF_MLX5_CMD_DESTROY_RMP : BF_MLX5_CMD_DESTROY_SRQ;
	const uint32_t query = _i ? BF_MLX5_CMD_QUERY_RMP : BF_MLX5_CMD_QUERY_SRQ;
	struct rig_srq other;
	uint32_t opcode;

	rig_close(&rig);
	open_as(NULL, _i, &plain);
	post();
	send(0, 0, 64);
	post();
	ck_assert_uint_eq(rig_srq_limit(&srq, _i, 1), 0);
	rig_run(&rig);
	memset(in, 0, sizeof(in));
	BF_MLX5_SET(in, BF_CMD_OPCODE, query);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, srq.srqn);
	ck_assert_uint_eq(rig_cmd(b, in, sizeof(in), out, sizeof(out)), 0);
	if (_i) {
		ck_assert_uint_eq(BF_MLX5_GET(out + BF_RMP_RMPC, BF_RMPC_STATE), BF_RMPC_READY);
		ck_assert_uint_eq(BF_MLX5_GET(out + BF_RMP_RMPC + BF_RMPC_WQ, BF_WQ_LWM), 1);
		ck_assert_uint_eq(BF_MLX5_GET(out + BF_RMP_RMPC + BF_RMPC_WQ, BF_WQ_HW_COUNTER), 1);
		ck_assert_uint_eq(BF_MLX5_GET(out + BF_RMP_RMPC + BF_RMPC_WQ, BF_WQ_SW_COUNTER), 2);
	} else {
		ck_assert_uint_eq(BF_MLX5_GET(out + BF_SRQ_SRQC, BF_SRQC_LWM), 1);
		ck_assert_uint_eq(BF_MLX5_GET(out + BF_SRQ_SRQC, BF_SRQC_WQE_COUNT), 1);
		ck_assert_uint_eq(BF_MLX5_GET(out + BF_SRQ_SRQC, BF_SRQC_LOG_SIZE), 3);
	}
	/* Of the other kind there is none with this number. */
	ck_assert_uint_eq(rig_simple(b, _i ? BF_MLX5_CMD_DESTROY_SRQ : BF_MLX5_CMD_DESTROY_RMP, srq.srqn),
			  BF_MLX5_CMD_BAD_RES);
	ck_assert_uint_eq(rig_simple(b, destroy, srq.srqn), BF_MLX5_CMD_RES_BUSY);
	for (uint32_t i = 0; i < QPS; i++)
		ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_QP, rx[i].qpn), 0);
	ck_assert_uint_eq(rig_simple(b, destroy, srq.srqn), BF_MLX5_CMD_OK);
	ck_assert_uint_eq(rig_simple(b, destroy, srq.srqn), BF_MLX5_CMD_BAD_RES);
	other = srq;
	for (int wrong = 0; wrong < 4; wrong++) {
		other.ring = srq.ring + (wrong == 0 ? 8 : 0);
		other.dbr = srq.dbr + (wrong == 1 ? 4 : 0);
		opcode = rig_srq_fill(&other, in, _i, 3, wrong == 2 ? 4 : wrong == 3 && _i ? 12 : 5);
		if (wrong == 3 && !_i)
			BF_MLX5_SET(in + BF_SRQ_SRQC, BF_SRQC_WQ_SIGNATURE, 1);
		BF_MLX5_SET(in, BF_CMD_OPCODE, opcode);
		ck_assert_msg(rig_cmd(b, in, sizeof(in), out, 16) == BF_MLX5_CMD_BAD_PARAM, "case %d", wrong);
	}
}
END_TEST

/* SENDs to a DC target: WQEs come from its queue, whoever sends. */
START_TEST(dc_target)
{
	const struct bf_mlx5_cqe *c;
	struct dc_target t;
	struct rig_qp dci[2];
	struct rig_qp_opts opts = { .log_sq = 6 };

	dc_target_open(b, &t, &rcq, DC_KEY, &(struct dc_target_opts){ .srqn = srq.srqn });
	dc_initiator_open(a, &dci[0], &scq, &opts);
	dc_initiator_open(a, &dci[1], &scq, &opts);
	for (uint32_t i = 0; i < 6; i++)
		post();
	for (uint32_t i = 0; i < 6; i++) {
		dc_send(&dci[i & 1], &t, i & 2 ? DC_FULL : 0, 64 * i, 100, RIG_CQE);
		rig_db(&dci[i & 1]);
		rig_run(&rig);
		ck_assert_uint_eq(rig_poll(&scq)->op_own >> 4, BF_MLX5_CQE_REQ);
		c = rig_poll(&rcq);
		ck_assert_ptr_nonnull(c);
		ck_assert_uint_eq(c->op_own >> 4, BF_MLX5_CQE_RESP_SEND);
		ck_assert_uint_eq(bf_be32(c->sop_drop_qpn) & 0xffffff, t.dctn);
		ck_assert_uint_eq(bf_be32(c->srqn_uidx), 0xdc7);
		ck_assert_uint_eq(bf_be16(c->wqe_counter), i);
		ck_assert_mem_eq(b->data + place[i], a->data + 64 * i, 100);
	}
	/* None left: the initiator waits for one. */
	dc_send(&dci[0], &t, 0, 0, 10, RIG_CQE);
	rig_db(&dci[0]);
	bf_sim_run(rig.sim, rig.sim->now_ps + 20 * BF_US);
	ck_assert_ptr_null(rig_poll(&scq));
	post();
	rig_run(&rig);
	ck_assert_uint_eq(rig_poll(&scq)->op_own >> 4, BF_MLX5_CQE_REQ);
	ck_assert_uint_eq(rig_simple(b, BF_MLX5_CMD_DESTROY_SRQ, srq.srqn), BF_MLX5_CMD_RES_BUSY);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("mlx5_srq");
	TCase *t = tcase_create("srq");
	SRunner *r;
	int failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, shared, 0, 2);
	tcase_add_loop_test(t, list_order, 0, 8);
	tcase_add_loop_test(t, in_line, 0, 4);
	tcase_add_test(t, empty);
	tcase_add_loop_test(t, limit, 0, 2);
	tcase_add_test(t, last_wqe);
	tcase_add_test(t, wqe_at_hand);
	tcase_add_test(t, too_short);
	tcase_add_loop_test(t, broken, 0, 3);
	tcase_add_loop_test(t, leave_the_line, 0, 40);
	tcase_add_loop_test(t, commands, 0, 2);
	tcase_add_test(t, dc_target);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
