/*
 * An RC whose connection fails under load: posters, waiters and the thread that moves the traffic to the backup, under
 * every ordering; what is repeated, what is not, and the way back.
 */
#include "drivers/platform/platform_sim.h"

#include "drivers/ibgda/device.h"
#include "tests/drivers/rig.h"

/* A CPU thread of each PE that breaks its connections at a time and moves their traffic. */
struct guard {
	struct rig *r;
	uint32_t pe;
	uint64_t fail_ns, back_ns; /* when; back_ns 0: never */
	uint32_t *broken;          /* ends in the error state, of both PEs */
	uint32_t *mended;          /* ends that are connected again */
	uint32_t *idle;            /* PEs whose traffic is on backups */
	struct bf_ibgda_replay replay[4];
	uint32_t trips; /* there and back; 0: one */
	int over, back;
};

static void to_error(const struct guard *g, const struct bf_ibgda_qp *qp)
{
	uint8_t in[16] = { 0 }, out[16] = { 0 };
	uint32_t nic, port;

	ck_assert_int_eq(bf_ibgda_host_device(g->r->h, g->pe, qp->dev_idx, &nic, &port), 0);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_2ERR_QP);
	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, qp->qpn);
	ck_assert_int_eq(g->r->be->command(g->r->w, g->pe, nic, in, sizeof(in), out, sizeof(out)), 0);
	ck_assert_uint_eq(BF_MLX5_GET(out, BF_CMD_OUT_STATUS), BF_MLX5_CMD_OK);
}

static void wait_for(struct bf_thread *t, const uint32_t *count, uint32_t n)
{
	while (*count < n)
		bf_pause(t, 300);
}

/* Once to the backups and, if so wished, back: the `trip`-th time. */
static void one_trip(struct bf_thread *t, struct guard *g, uint32_t trip)
{
	struct bf_ibgda_state *st = g->r->job[g->pe].state;
	const uint32_t n = st->num_rc_per_pe;

	bf_pause(t, (uint32_t)g->fail_ns + g->pe * 700);
	for (uint32_t i = 0; i < n; i++)
		to_error(g, bf_ibgda_rc(st, 1 - g->pe, i));
	++*g->broken;
	wait_for(t, g->broken, 2 * trip);
	for (uint32_t i = 0; i < n; i++)
		g->over |= bf_ibgda_fail_over(t, st, bf_ibgda_rc(st, 1 - g->pe, i), 0, &g->replay[i]);
	++*g->idle;
	if (!g->back_ns)
		return;
	bf_pause(t, (uint32_t)g->back_ns);
	wait_for(t, g->idle, 2 * trip);
	for (uint32_t i = 0; i < n; i++) {
		struct bf_ibgda_qp *qp = bf_ibgda_rc(st, 1 - g->pe, i);

		ck_assert_int_eq(bf_ibgda_host_reconnect(g->r->h, g->pe, qp), 0);
		bf_ibgda_reopen(t, qp);
	}
	++*g->mended;
	wait_for(t, g->mended, 2 * trip);
	for (uint32_t i = 0; i < n; i++)
		g->back |= bf_ibgda_fail_back(t, st, &st->globalmem.backups[bf_ibgda_rc(st, 1 - g->pe, i)->ordinal]);
	/* Somebody saw the queue fail, and slept until its traffic was back on it. */
	for (uint32_t i = 0; i < n; i++)
		ck_assert_int_eq(bf_ibgda_await_move(t, st, bf_ibgda_rc(st, 1 - g->pe, i)), 0);
}

static void guard_rcs(struct bf_thread *t, void *arg)
{
	struct guard *g = arg;

	for (uint32_t trip = 1; trip <= (g->trips ? g->trips : 1); trip++)
		one_trip(t, g, trip);
}

static struct rig guarded(enum bf_ibgda_work work)
{
	struct rig r = rig_default(work);

	r.world.nics = 2;
	r.world.limit_ps = 200 * BF_MS;
	r.host.backup = true;
	r.host.no_dc = true;
	r.host.devices = 2;
	r.host.num_rc_per_pe = 1; /* on each device, with its backup on the other one */
	r.host.qp_depth = 64;
	r.host.log2_granularity = 12;
	r.host.granules_per_mr = 1;
	r.shape.blocks = 2;
	r.shape.warps = 2;
	r.shape.messages = 60;
	r.shape.bytes = 600;
	r.shape.stride = 640;
	return r;
}

/* Opens the world, with guards on both PEs. */
static void start(struct rig *r, uint64_t fail_ns, uint64_t back_ns, struct guard g[2])
{
	static uint32_t broken, mended, idle;

	broken = mended = idle = 0;
	rig_open(r);
	for (uint32_t pe = 0; pe < 2; pe++) {
		g[pe] = (struct guard){ .r = r, .pe = pe, .fail_ns = fail_ns, .back_ns = back_ns };
		g[pe].broken = &broken;
		g[pe].mended = &mended;
		g[pe].idle = &idle;
		ck_assert_int_eq(r->be->launch_cpu(r->w, pe, 1, guard_rcs, &g[pe]), 0);
	}
}

/* The run. Returns how many entries were replayed by the last move. */
static uint32_t finish(struct rig *r, struct guard g[2])
{
	uint32_t replayed = 0;

	rig_run_kernel(r, bf_ibgda_kernels(r->be->platform)->run[r->work]);
	ck_assert_msg(r->result.end == BF_END_DONE, "%s", r->result.report);
	ck_assert_msg(!bf_ibgda_verify(r->work, &r->shape, 2, r->heap, &r->bad), "%s", r->bad.text);
	for (uint32_t pe = 0; pe < 2; pe++) {
		ck_assert_int_eq(g[pe].over, 0);
		ck_assert_int_eq(g[pe].back, 0);
		for (uint32_t i = 0; i < 2; i++) {
			const struct bf_ibgda_qp *b = bf_ibgda_host_backup_qp(r->h, pe, 1 - pe, i);

			replayed += g[pe].replay[i].fates[BF_IBGDA_REPLAYED];
			ck_assert_uint_eq(g[pe].replay[i].fates[BF_IBGDA_NO_KEY], 0);
			ck_assert_uint_eq(b->mvars.cons_idx, b->mvars.ready_head);
		}
	}
	return replayed;
}

static uint32_t run_guarded(struct rig *r, uint64_t fail_ns, uint64_t back_ns, struct guard g[2])
{
	start(r, fail_ns, back_ns, g);
	return finish(r, g);
}

/* Moments from before the first message to after the last: nothing is lost, every worker ends well. */
START_TEST(nothing_is_lost)
{
	static const enum bf_ibgda_work works[] = { BF_IBGDA_PUT, BF_IBGDA_GET };
	uint32_t replayed[2] = { 0 }, on_backup = 0;

	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
			for (uint64_t seed = 1; seed <= 12; seed += BELFRY_WIDE ? 1 : 3) {
				struct rig r = guarded(works[k]);
				struct guard g[2];

				r.world.ordering = (enum bf_ordering)o;
				r.world.seed = seed;
				r.shape.quiet_every = seed % 2 ? 0 : 20;
				r.host.qp_depth = seed % 3 ? 64 : 16; /* the ring is full most of the time */
				r.host.plain_cq = seed % 5 == 0;
				r.host.system_scope = seed % 4 == 0;
				replayed[k] += run_guarded(&r, 2000 + 2300 * (seed - 1) + 777 * o, 0, g);
				on_backup += bf_ibgda_host_backup_qp(r.h, 0, 1, 0)->mvars.cons_idx > 0;
				rig_close(&r);
			}
	ck_assert_uint_gt(replayed[0], BELFRY_WIDE ? 100 : 33);
	ck_assert_uint_gt(replayed[1], BELFRY_WIDE ? 100 : 33);
	ck_assert_uint_gt(on_backup, BELFRY_WIDE ? 30 : 10);
}
END_TEST

/* And back again, while workers go on. Counters of the mended queue go on from a multiple of 65536. */
START_TEST(there_and_back)
{
	uint32_t again = 0;

	for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
		for (uint64_t seed = 1; seed <= 4; seed++) {
			struct rig r = guarded(seed % 2 ? BF_IBGDA_PUT : BF_IBGDA_GET);
			const struct bf_ibgda_qp *qp;
			struct guard g[2];

			r.world.ordering = (enum bf_ordering)o;
			r.world.seed = seed;
			r.shape.messages = 200;
			r.shape.window = 8;
			r.shape.quiet_every = 8;
			r.host.plain_cq = seed > 2;
			run_guarded(&r, 3000 + 1500 * seed, 12000, g);
			qp = bf_ibgda_host_qp(r.h, 0, 1, 0);
			ck_assert_uint_ge(qp->mvars.cons_idx, 0x10000);
			ck_assert_uint_eq(qp->mvars.cons_idx, qp->mvars.ready_head);
			ck_assert_uint_eq(r.job[0].state->globalmem.failover[qp->ordinal], 2 * BF_IBGDA_EPOCH);
			again += qp->mvars.cons_idx > 0x10000;
			rig_close(&r);
		}
	ck_assert_uint_gt(again, 8);
}
END_TEST

/*
 * Three times, with rings that are full: who waits for room in a backup's ring when its traffic goes back leaves slots
 * that are never filled, and the next trip finds a queue that knows nothing of them.
 */
START_TEST(there_and_back_again)
{
	for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
		for (uint64_t seed = 1; seed <= 2; seed++) {
			struct rig r = guarded(BF_IBGDA_PUT);
			const struct bf_ibgda_qp *qp;
			struct guard g[2];

			r.world.ordering = (enum bf_ordering)o;
			r.world.seed = seed;
			r.shape.messages = 300;
			r.host.qp_depth = 16;
			r.host.plain_cq = seed > 1;
			start(&r, 3000, 12000, g);
			g[0].trips = g[1].trips = 3;
			finish(&r, g);
			qp = bf_ibgda_host_qp(r.h, 0, 1, 0);
			ck_assert_uint_eq(r.job[0].state->globalmem.failover[qp->ordinal], 6 * BF_IBGDA_EPOCH);
			rig_close(&r);
		}
}
END_TEST

#define COUNTS 24u

/* Each warp counts up in a word of its own at the peer, without ever waiting. */
static void count_up(struct bf_thread *t, void *arg)
{
	const struct bf_ibgda_job *job = arg;
	const uint32_t warp = bf_block(t) * bf_warps(t) + bf_warp(t);
	struct bf_ibgda_qp *qp = bf_ibgda_rc(job->state, 1 - job->state->mype, warp);

	if (bf_lane(t))
		return;
	for (uint32_t i = 1; i <= COUNTS; i++)
		bf_ibgda_p(t, 1, job->state, qp, (uint8_t *)job->state->heap + 0x4000 + warp * 8, i, 8, BF_IBGDA_NO_IMM,
			   BF_IBGDA_ALWAYS_POST);
	ck_assert_int_eq(bf_ibgda_quiet(t, job->state, qp), 0);
}

/* A repeated write never comes after a later one of the same thread: the last value is what stays. */
START_TEST(nothing_is_overtaken)
{
	for (uint32_t o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++)
		for (uint64_t seed = 1; seed <= 24; seed += BELFRY_WIDE ? 1 : 5) {
			struct rig r = guarded(BF_IBGDA_PUT);
			struct guard g[2];

			r.world.ordering = (enum bf_ordering)o;
			r.world.seed = seed;
			r.host.heap_bytes = 1 << 16;
			r.shape.messages = 1;
			start(&r, 1000 + 300 * seed, 0, g);
			memset((uint8_t *)r.heap[0] + 0x4000, 0, 64);
			memset((uint8_t *)r.heap[1] + 0x4000, 0, 64);
			rig_run_kernel(&r, count_up);
			ck_assert_msg(r.result.end == BF_END_DONE, "%s", r.result.report);
			for (uint32_t i = 0; i < 8; i++)
				ck_assert_uint_eq(bf_get_le64((uint8_t *)r.heap[i % 2] + 0x4000 + i / 2 * 8), COUNTS);
			rig_close(&r);
		}
}
END_TEST

/* What lane 0 leaves in flight on a queue that is already in the error state, for the replay to judge. */
struct judged {
	struct guard g;
	int fetch, g_status, set_quiet;
	uint64_t value;
	uint32_t posted;
};

static void leave_in_flight(struct bf_thread *t, void *arg)
{
	struct judged *j = arg;
	const struct bf_ibgda_state *st = j->g.r->job[0].state;
	struct bf_ibgda_qp *qp = bf_ibgda_rc(st, 1, 0);
	uint8_t *heap = st->heap;
	struct bf_ibgda_amo a = { .op = BF_IBGDA_AMO_ADD, .bytes = 8, .addr = heap + 0x8000, .operand = 5 };
	struct bf_ibgda_signal set = { .addr = heap + 0x8040, .value = 77, .op = BF_IBGDA_AMO_SET };
	uint64_t old;

	if (bf_warp(t) == 1) { /* values that a thread waits for */
		if (bf_lane(t) == 0)
			j->g_status = bf_ibgda_g(t, 1, st, bf_ibgda_rc(st, 1, 1), heap + 0x9000, 8, &j->value);
		return;
	}
	bf_ibgda_p_warp(t, st, qp, heap + 0x7000, 0x1111 + bf_lane(t), 4, BF_IBGDA_ALWAYS_POST);
	if (bf_lane(t))
		return;
	bf_ibgda_put_signal(t, 1, st, qp, heap + 0x5000, heap + 0x1000, 100, &set, BF_IBGDA_ALWAYS_POST);
	bf_ibgda_amo_nonfetch(t, 1, st, qp, &a, BF_IBGDA_ALWAYS_POST);
	bf_ibgda_get(t, 1, st, qp, heap + 0x6000, heap + 0x9000, 64, 0, BF_IBGDA_ALWAYS_POST);
	bf_ibgda_p(t, 1, st, qp, heap + 0x8080, 9, 4, 3, BF_IBGDA_ALWAYS_POST);
	a.addr = heap + 0x80c0;
	j->posted = 1;
	j->fetch = bf_ibgda_amo_fetch(t, 1, st, qp, &a, &old);
	j->set_quiet = bf_ibgda_quiet_with_cst(t, st, qp);
}

static void judge(struct bf_thread *t, void *arg)
{
	struct judged *j = arg;
	struct bf_ibgda_state *st = j->g.r->job[0].state;

	for (uint32_t i = 0; i < 2; i++)
		to_error(&j->g, bf_ibgda_rc(st, 1, i));
	while (!j->posted)
		bf_pause(t, 1000);
	bf_pause(t, 20000);
	for (uint32_t i = 0; i < 2; i++)
		j->g.over |= bf_ibgda_fail_over(t, st, bf_ibgda_rc(st, 1, i), 0, &j->g.replay[i]);
	/* It is not there any more. */
	ck_assert_int_eq(bf_ibgda_fail_over(t, st, bf_ibgda_rc(st, 1, 0), 0, &j->g.replay[2]), BF_IBGDA_MOVED);
}

START_TEST(what_is_repeated)
{
	struct rig r = guarded(BF_IBGDA_PUT);
	struct judged j = { .g = { .r = &r } };
	uint8_t *here, *there;

	r.host.heap_bytes = 1 << 20;
	r.host.log2_granularity = 0;
	rig_open(&r);
	here = r.heap[0];
	there = r.heap[1];
	memset(here, 0, 1 << 20);
	memset(there, 0, 1 << 20);
	memset(here + 0x1000, 0x5a, 100);
	for (uint32_t i = 0; i < 64; i++)
		there[0x9000 + i] = (uint8_t)(i + 1);
	ck_assert_int_eq(r.be->launch_cpu(r.w, 0, 1, judge, &j), 0);
	ck_assert_int_eq(r.be->launch(r.w, 0, 1, 2, leave_in_flight, &j), 0);
	ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
	ck_assert_msg(r.result.end == BF_END_DONE, "%s", r.result.report);
	ck_assert_int_eq(j.g.over, 0);
	ck_assert_int_eq(j.set_quiet, 0);
	/* A warp's p, a put with SET, a get; not an add, a WRITE_IMM, a fetching add, whose DUMP nobody needs. NOPs
	 * come anew. */
	ck_assert_uint_eq(j.g.replay[0].fates[BF_IBGDA_REPLAYED], 4);
	ck_assert_uint_eq(j.g.replay[0].fates[BF_IBGDA_IN_DOUBT], 3);
	ck_assert_uint_eq(j.g.replay[0].fates[BF_IBGDA_NOT_NEEDED], 3);
	ck_assert_uint_eq(j.g.replay[0].first_unknown, 4 + 4);
	ck_assert_int_eq(j.fetch, BF_IBGDA_UNKNOWN);
	for (uint32_t i = 0; i < BF_LANES; i++)
		ck_assert_uint_eq(bf_get_le32(there + 0x7000 + i * 4), 0x1111 + i);
	ck_assert_mem_eq(there + 0x5000, here + 0x1000, 100);
	ck_assert_uint_eq(bf_get_le64(there + 0x8040), 77);
	ck_assert_uint_eq(bf_get_le64(there + 0x8000), 0);
	ck_assert_uint_eq(bf_get_le32(there + 0x8080), 0);
	ck_assert_mem_eq(here + 0x6000, there + 0x9000, 64);
	/* The value was asked for once more by its own thread. */
	ck_assert_int_eq(j.g_status, 0);
	ck_assert_uint_eq(j.value, bf_get_le64(there + 0x9000));
	ck_assert_uint_eq(j.g.replay[1].fates[BF_IBGDA_REPLAYED], 0);
	rig_close(&r);
}
END_TEST

/* Both queues fail: nobody waits forever, and everybody learns it. */
static void lose(struct bf_thread *t, void *arg)
{
	struct judged *j = arg;
	struct bf_ibgda_state *st = j->g.r->job[0].state;

	for (uint32_t i = 0; i < 2; i++) {
		struct bf_ibgda_qp *qp = bf_ibgda_rc(st, 1, i);

		to_error(&j->g, qp);
		to_error(&j->g, &st->globalmem.backups[qp->ordinal]);
	}
	while (!j->posted)
		bf_pause(t, 1000);
	for (uint32_t i = 0; i < 2; i++) {
		struct bf_ibgda_qp *qp = bf_ibgda_rc(st, 1, i);

		j->g.over |= bf_ibgda_fail_over(t, st, qp, 0, &j->g.replay[i]);
		bf_pause(t, 20000);
		/* The backup takes the replay and fails it; the primary is as it was, so there is no third way. */
		j->g.back = bf_ibgda_fail_over(t, st, &st->globalmem.backups[qp->ordinal], 0, &j->g.replay[2]);
		ck_assert_int_eq(j->g.back, BF_IBGDA_FAILED);
	}
}

START_TEST(lost_for_good)
{
	struct rig r = guarded(BF_IBGDA_PUT);
	struct judged j = { .g = { .r = &r } };

	r.host.heap_bytes = 1 << 20;
	r.host.log2_granularity = 0;
	rig_open(&r);
	memset(r.heap[0], 0, 1 << 20);
	ck_assert_int_eq(r.be->launch_cpu(r.w, 0, 1, lose, &j), 0);
	ck_assert_int_eq(r.be->launch(r.w, 0, 1, 2, leave_in_flight, &j), 0);
	ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
	ck_assert_msg(r.result.end == BF_END_DONE, "%s", r.result.report);
	ck_assert_int_eq(j.set_quiet, BF_IBGDA_FAILED);
	ck_assert_int_eq(j.g_status, BF_IBGDA_FAILED);
	rig_close(&r);
}
END_TEST

RIG_MAIN("ibgda_move", nothing_is_lost, there_and_back, there_and_back_again, nothing_is_overtaken, what_is_repeated,
	 lost_for_good)
