/* The sync unit: values against a reference without cache or time, LRU, parking, waking, limits, faults, clusters. */
#include <check.h>

#include "models/hopper/program.h"
#include "sim/rng.h"
#include "tests/models/hopper_rig.h"

#define CYCLE 505u
#define BARRIER(i) ((i)*8)

static void ignore(struct bf_sync_instr *in)
{
	(void)in;
}

static void nothing(struct bf_event *ev)
{
	(void)ev;
}

/* Lets time pass, also where nothing happens. */
static void pass(struct rig *r, uint64_t cycles)
{
	struct bf_event ev;

	bf_event_init(&ev, nothing);
	bf_sim_after(r->sim, &ev, cycles * CYCLE);
	bf_sim_run(r->sim, ev.when);
}

static struct bf_sync_unit *unit_of(const struct rig *r)
{
	return bf_hopper_cta_unit(r->cta[0]);
}

static const struct bf_sync_counts *counts_of(const struct rig *r)
{
	return bf_sync_counts(unit_of(r));
}

/* ---- values ---- */

#define BARRIERS 96u
#define STEPS 4000u

struct reference {
	uint64_t word[BARRIERS];
	uint64_t token[BARRIERS];
	uint32_t flips;
};

static bool legal(uint64_t word, enum bf_sync_op op, uint32_t count, uint32_t tx, uint64_t *after, bool *flipped)
{
	*after = word;
	*flipped = false;
	switch (op) {
	case BF_SYNC_INIT:
		return bf_mbar_init(after, count) == BF_MBAR_OK;
	case BF_SYNC_ARRIVE:
		return bf_mbar_arrive(after, count, false, tx, flipped) == BF_MBAR_OK;
	case BF_SYNC_ARRIVE_DROP:
		return bf_mbar_arrive(after, count, true, tx, flipped) == BF_MBAR_OK;
	case BF_SYNC_EXPECT_TX:
		return bf_mbar_expect_tx(after, tx, flipped) == BF_MBAR_OK;
	case BF_SYNC_COMPLETE_TX:
		return bf_mbar_complete_tx(after, tx, flipped) == BF_MBAR_OK;
	default:
		return true;
	}
}

/* A random instruction whose lanes are all legal one after the other; what it should give goes into `want`. */
static void random_instr(struct reference *ref, struct bf_rng *rng, struct bf_sync_instr *in, uint64_t *want,
			 uint32_t *result)
{
	static const enum bf_sync_op ops[] = { BF_SYNC_INIT,        BF_SYNC_ARRIVE,     BF_SYNC_ARRIVE,
					       BF_SYNC_ARRIVE_DROP, BF_SYNC_EXPECT_TX,  BF_SYNC_COMPLETE_TX,
					       BF_SYNC_TEST_PARITY, BF_SYNC_TRY_PARITY, BF_SYNC_TEST_STATE,
					       BF_SYNC_INVAL };
	const uint32_t lanes = bf_rng_chance(rng, 300000) ? BF_WARP_LANES : 1;

	*in = (struct bf_sync_instr){ .op = (uint8_t)ops[bf_rng_below(rng, BF_ARRAY_LEN(ops))], .done = ignore };
	in->warp = (uint8_t)bf_rng_below(rng, 8);
	*result = 0;
	for (uint32_t lane = 0; lane < lanes; lane++) {
		const uint32_t b = (uint32_t)bf_rng_below(rng, bf_rng_chance(rng, 500000) ? 8 : BARRIERS);
		const uint32_t count = 1 + (uint32_t)bf_rng_below(rng, in->op == BF_SYNC_INIT ? 40 : 3);
		const uint32_t tx = (uint32_t)bf_rng_below(rng, 3) * 64;
		uint64_t after;
		bool flipped;

		if (!legal(ref->word[b], (enum bf_sync_op)in->op, count, tx, &after, &flipped))
			continue;
		in->active |= 1u << lane;
		in->address[lane] = BARRIER(b);
		in->count[lane] = count;
		in->tx[lane] = tx;
		in->token[lane] = ref->token[b];
		want[lane] = ref->word[b];
		if (in->op == BF_SYNC_TEST_STATE)
			*result |= (bf_mbar_phase(ref->word[b]) != bf_mbar_phase(ref->token[b])) * 1u << lane;
		else
			*result |= (bf_mbar_phase(ref->word[b]) != (count & 1)) * 1u << lane;
		if (in->op == BF_SYNC_ARRIVE)
			ref->token[b] = ref->word[b];
		ref->word[b] = after;
		ref->flips += flipped;
	}
}

static uint64_t run_random(uint64_t seed, const struct bf_hopper_profile *profile)
{
	struct reference ref = { .flips = 0 };
	struct bf_rng rng;
	struct rig r;
	uint64_t hash;

	rig_open(&r, &(struct rig_opts){ .profile = profile });
	ck_assert_int_eq(bf_stream_open(&r.sim->rec, &r.sim->now_ps, BF_CLASS_ALL, NULL), 0);
	bf_rng_init(&rng, seed, "programs");
	for (uint32_t b = 0; b < BARRIERS; b++) {
		rig_do(&r, 0, BF_SYNC_INIT, BARRIER(b), 5, 0);
		bf_mbar_init(&ref.word[b], 5);
	}
	for (uint32_t n = 0; n < STEPS; n++) {
		struct bf_sync_instr in;
		uint64_t want[BF_WARP_LANES];
		uint32_t result;

		random_instr(&ref, &rng, &in, want, &result);
		if (!in.active)
			continue;
		bf_hopper_issue(r.cta[0], &in);
		rig_run(&r);
		ck_assert_uint_eq(in.fault, BF_MBAR_OK);
		for (uint32_t left = in.active; left && in.op == BF_SYNC_ARRIVE; left &= left - 1)
			ck_assert_uint_eq(in.token[__builtin_ctz(left)], want[__builtin_ctz(left)]);
		if (in.op >= BF_SYNC_TEST_PARITY)
			ck_assert_uint_eq(in.result, result);
	}
	for (uint32_t b = 0; b < BARRIERS; b++)
		ck_assert_uint_eq(rig_word(&r, 0, BARRIER(b)), ref.word[b]);
	ck_assert_uint_eq(counts_of(&r)->completed, ref.flips);
	ck_assert_uint_gt(ref.flips, 50);
	hash = bf_stream_hash(&r.sim->rec);
	rig_close(&r);
	return hash;
}

START_TEST(values_as_without_a_cache)
{
	const uint64_t one = run_random((uint64_t)_i, &bf_hopper_h200),
		       other = run_random((uint64_t)_i, &bf_hopper_patent);

	ck_assert_uint_eq(one, run_random((uint64_t)_i, &bf_hopper_h200));
	ck_assert_uint_ne(one, other);
}
END_TEST

/* ---- the barrier cache ---- */

START_TEST(replacement_is_lru)
{
	const struct bf_hopper_profile *p = _i ? &bf_hopper_patent : &bf_hopper_h200;
	uint64_t used[BARRIERS] = { 0 }; /* by line: when, 0 = not cached */
	const uint32_t per_line = p->cache_line_bytes / 8;
	uint64_t hits, misses;
	struct bf_rng rng;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = p });
	bf_rng_init(&rng, 7, "lru");
	for (uint64_t n = 1; n < 5000; n++) {
		const uint32_t b = (uint32_t)bf_rng_below(&rng, bf_rng_chance(&rng, 700000) ? 20 : BARRIERS);
		uint32_t cached = 0, oldest = UINT32_MAX;

		hits = counts_of(&r)->hits;
		misses = counts_of(&r)->misses;
		rig_do(&r, 0, n % 3 ? BF_SYNC_INIT : BF_SYNC_EXPECT_TX, BARRIER(n % 3 ? b : 0), 9, 0);
		for (uint32_t l = 0; l < BARRIERS; l++) {
			cached += used[l] != 0;
			if (used[l] && (oldest == UINT32_MAX || used[l] < used[oldest]))
				oldest = l;
		}
		ck_assert_uint_eq(counts_of(&r)->hits - hits, used[(n % 3 ? b : 0) / per_line] != 0);
		ck_assert_uint_eq(counts_of(&r)->misses - misses, used[(n % 3 ? b : 0) / per_line] == 0);
		if (!used[(n % 3 ? b : 0) / per_line] && cached == p->cache_lines)
			used[oldest] = 0;
		used[(n % 3 ? b : 0) / per_line] = n;
		for (uint32_t i = 0; i < BARRIERS; i++) {
			bool is;

			bf_sync_peek(unit_of(&r), bf_hopper_cta_base(r.cta[0]) + BARRIER(i), &is);
			ck_assert_int_eq(is, used[i / per_line] != 0);
		}
		if (n == 1)
			rig_do(&r, 0, BF_SYNC_INIT, BARRIER(0), 9, 0), used[0] = n;
	}
	rig_close(&r);
}
END_TEST

static uint64_t load(struct rig *r, uint32_t address)
{
	return rig_do(r, 0, BF_SYNC_LOAD, address, 0, 0).token[0];
}

START_TEST(memory_is_stale_while_cached)
{
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	rig_do(&r, 0, BF_SYNC_INIT, 0, 3, 0);
	ck_assert_uint_eq(load(&r, 0), 0);
	for (uint32_t i = 1; i <= 15; i++)
		rig_do(&r, 0, BF_SYNC_INIT, i * 16, 3, 0);
	ck_assert_uint_eq(load(&r, 0), 0);
	rig_do(&r, 0, BF_SYNC_INIT, 16 * 16, 3, 0); /* the 17th pair: the first is written back */
	ck_assert_uint_eq(load(&r, 0), bf_mbar_word(0, 3, 0, 3));
	ck_assert_uint_eq(counts_of(&r)->evictions, 1);
	rig_do(&r, 0, BF_SYNC_INVAL, 16, 0, 0);
	ck_assert_uint_eq(load(&r, 16), bf_mbar_word(0, 3, 0, 3));
	rig_close(&r);
}
END_TEST

START_TEST(an_exit_drops_lines)
{
	struct bf_hopper_launch l = { .shared_bytes = 4096, .warps = 1 };
	struct bf_hopper_cta *cta;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	ck_assert_int_eq(bf_hopper_launch(r.gpu, &l, &cta), 0);
	bf_hopper_exit(r.cta[0]);
	r.cta[0] = cta;
	rig_do(&r, 0, BF_SYNC_INIT, 64, 3, 0);
	bf_hopper_exit(cta);
	ck_assert_int_eq(
	    bf_hopper_launch(r.gpu, &(struct bf_hopper_launch){ .shared_bytes = RIG_SHARED, .warps = 8 }, r.cta), 0);
	for (uint32_t a = 0; a + 8 <= RIG_SHARED; a += 8)
		ck_assert_uint_eq(rig_word(&r, 0, a), 0);
	rig_close(&r);
}
END_TEST

/* ---- waiting ---- */

struct waiter {
	struct bf_sync_instr in; /* first: `done` gets it */
	struct bf_sim *sim;
	uint64_t when;
	uint32_t order;
	uint32_t *next;
};

static void waiter_done(struct bf_sync_instr *in)
{
	struct waiter *w = BF_CONTAINER_OF(in, struct waiter, in);

	w->when = w->sim->now_ps;
	w->order = (*w->next)++;
}

static void park(struct rig *r, struct waiter *w, uint32_t warp, uint32_t address, uint32_t *next)
{
	*w = (struct waiter){ .sim = r->sim, .next = next };
	w->in.op = BF_SYNC_TRY_PARITY;
	w->in.active = UINT32_MAX;
	w->in.warp = (uint8_t)warp;
	w->in.done = waiter_done;
	for (uint32_t lane = 0; lane < BF_WARP_LANES; lane++)
		w->in.address[lane] = address;
	bf_hopper_issue(r->cta[0], &w->in);
}

START_TEST(wakes_in_order_of_parking)
{
	static const uint32_t warps[] = { 6, 2, 5, 1, 4, 7, 3, 0 }, order[] = { 0, 4, 1, 5, 2, 3, 7, 6 };
	struct waiter w[8];
	uint32_t next = 0;
	uint64_t start;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	rig_do(&r, 0, BF_SYNC_INIT, 0, 1, 0);
	for (uint32_t i = 0; i < 8; i++) {
		park(&r, &w[i], warps[i], 0, &next);
		pass(&r, 100);
		ck_assert(w[i].in.parked);
		ck_assert_ptr_eq(bf_sync_waiter(unit_of(&r), i), &w[i].in);
	}
	start = r.sim->now_ps;
	rig_do(&r, 0, BF_SYNC_ARRIVE, 0, 1, 0);
	rig_run(&r);
	for (uint32_t i = 0; i < 8; i++) {
		ck_assert_uint_eq(w[i].in.result, UINT32_MAX);
		ck_assert_uint_eq(w[i].order, order[i]);
		ck_assert_uint_le(w[i].when - start, (66 + 18) * CYCLE);
	}
	ck_assert_uint_eq(w[0].when - start, 66 * CYCLE);
	rig_close(&r);
}
END_TEST

/* The search for the woken looks at one entry after the other; who is called meanwhile is found on its way. */
START_TEST(a_waiter_parked_last_is_found_last)
{
	const uint64_t scan = (uint64_t)bf_hopper_h200.wake_scan_mc * bf_hopper_h200.cycle_ps / 1000;
	struct waiter w[8];
	uint32_t next = 0;
	uint64_t start;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	for (uint32_t i = 0; i < 8; i++)
		rig_do(&r, 0, BF_SYNC_INIT, i * 8, 1, 0);
	for (uint32_t i = 0; i < 8; i++) {
		park(&r, &w[i], i, i * 8, &next);
		pass(&r, 100);
	}
	start = r.sim->now_ps;
	rig_do(&r, 0, BF_SYNC_ARRIVE, 7 * 8, 1, 0);
	pass(&r, 100);
	ck_assert_uint_eq(w[7].when - start, 66 * CYCLE + 7 * scan);
	start = r.sim->now_ps;
	rig_do(&r, 0, BF_SYNC_ARRIVE, 0, 1, 0);
	pass(&r, 100);
	ck_assert_uint_eq(w[0].when - start, 66 * CYCLE);
	ck_assert_uint_eq(counts_of(&r)->woken, 2);
	for (uint32_t i = 1; i < 7; i++) {
		rig_do(&r, 0, BF_SYNC_ARRIVE, i * 8, 1, 0);
		pass(&r, 100);
		ck_assert_uint_eq(w[i].in.result, UINT32_MAX);
	}
	ck_assert_uint_eq(counts_of(&r)->woken, 8);
	ck_assert_ptr_null(bf_sync_waiter(unit_of(&r), 0));
	rig_close(&r);
}
END_TEST

/* On the wall clock the search may come 1000 s late, which must not take as long again. */
START_TEST(a_search_that_is_late_looks_only_at_who_is_there)
{
	struct waiter w[3];
	uint32_t next = 0;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	for (uint32_t i = 0; i < 3; i++) {
		rig_do(&r, 0, BF_SYNC_INIT, i * 8, 1, 0);
		park(&r, &w[i], i, i * 8, &next);
		pass(&r, 100);
	}
	rig_do(&r, 0, BF_SYNC_ARRIVE, 2 * 8, 1, 0);
	rig_do(&r, 0, BF_SYNC_ARRIVE, 0, 1, 0);
	ck_assert_uint_eq(next, 0);
	r.sim->now_ps += 1000 * BF_S;
	rig_run(&r);
	ck_assert_uint_eq(next, 3);
	ck_assert_uint_eq(counts_of(&r)->woken, 2);
	ck_assert_uint_eq(counts_of(&r)->expired, 1);
	rig_close(&r);
}
END_TEST

/* `warp`'s lanes ask for barriers 0 to `barriers` - 1 in turn. */
static void look(struct rig *r, struct waiter *w, uint32_t warp, uint32_t barriers, uint32_t *next)
{
	*w = (struct waiter){ .sim = r->sim, .next = next };
	w->in.op = BF_SYNC_TEST_PARITY;
	w->in.active = UINT32_MAX;
	w->in.warp = (uint8_t)warp;
	w->in.done = waiter_done;
	for (uint32_t lane = 0; lane < BF_WARP_LANES; lane++)
		w->in.address[lane] = lane % barriers * 8;
	bf_hopper_issue(r->cta[0], &w->in);
}

/* One warp's looks are 13 cycles apart; those of four sub-partitions take turns; each has one such wait at a time. */
START_TEST(a_wait_on_several_barriers_looks_at_one_after_the_other)
{
	const uint64_t test = bf_hopper_h200.test_mc, each = bf_hopper_h200.lane_test_mc,
		       op = bf_hopper_h200.test_op_mc;
	static const uint32_t warps[] = { 1, 4, 8 };
	struct waiter w[8];
	uint32_t next = 0;
	struct rig r;

	for (uint32_t c = 0; c < BF_ARRAY_LEN(warps); c++) {
		const uint32_t batches = (warps[c] + 3) / 4;
		const uint64_t apart = warps[c] == 1 ? each : 4 * op;
		uint64_t start, last = 0;

		rig_open(&r, &(struct rig_opts){ 0 });
		for (uint32_t i = 0; i < 16; i++)
			rig_do(&r, 0, BF_SYNC_INIT, i * 8, i == 9 ? 2 : 1, 0);
		pass(&r, 1000);
		start = r.sim->now_ps;
		for (uint32_t i = 0; i < warps[c]; i++)
			look(&r, &w[i], i, 16, &next);
		/* What completes while they look is seen by looks that come later. */
		rig_do(&r, 0, BF_SYNC_ARRIVE, 15 * 8, 1, 0);
		pass(&r, 2000);
		for (uint32_t i = 0; i < warps[c]; i++) {
			ck_assert_uint_eq(w[i].in.result, 0x80008000);
			last = w[i].when - start > last ? w[i].when - start : last;
		}
		/* Within one look of each warp, and the arrive. */
		ck_assert_uint_ge(last * 1000 / CYCLE + 1000, test + apart * (16 * batches - 1));
		ck_assert_uint_le(last * 1000 / CYCLE, test + apart * 16 * batches + bf_hopper_h200.op_mc);
		/* A warp goes on when the last one that stood behind it in its sub-partition does. */
		for (uint32_t i = 4; i < warps[c]; i++)
			ck_assert_uint_eq(w[i].when, w[i - 4].when);
		rig_close(&r);
	}
}
END_TEST

START_TEST(a_wait_ends_at_its_15th_tick)
{
	struct waiter w[2];
	uint32_t next = 0;
	uint64_t start;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	rig_do(&r, 0, BF_SYNC_INIT, 0, 1, 0);
	pass(&r, 12345);
	start = r.sim->now_ps;
	park(&r, &w[0], 0, 0, &next);
	pass(&r, 600);
	park(&r, &w[1], 1, 0, &next);
	rig_run(&r);
	ck_assert_uint_eq(w[0].in.result, 0);
	ck_assert_uint_eq((w[0].when - start) / CYCLE, 15 * 512 + 106);
	ck_assert_uint_eq((w[1].when - start) / CYCLE, 16 * 512 + 106); /* the counter is the first's */
	ck_assert_uint_eq(counts_of(&r)->expired, 2);
	rig_close(&r);
}
END_TEST

START_TEST(thirty_two_may_wait)
{
	struct waiter w[34];
	struct bf_hopper_launch l = { .shared_bytes = 8192, .warps = 48 };
	uint32_t next = 0;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	bf_hopper_exit(r.cta[0]);
	ck_assert_int_eq(bf_hopper_launch(r.gpu, &l, r.cta), 0);
	rig_do(&r, 0, BF_SYNC_INIT, 0, 1, 0);
	for (uint32_t i = 0; i < 34; i++)
		park(&r, &w[i], i, 0, &next);
	ck_assert_uint_eq(counts_of(&r)->parked, 32);
	bf_sim_run(r.sim, 1000 * CYCLE);
	ck_assert_uint_eq(next, 2);
	ck_assert(!w[32].in.parked && !w[33].in.parked && w[33].in.result == 0);
	rig_do(&r, 0, BF_SYNC_ARRIVE, 0, 1, 0);
	bf_sim_run(r.sim, 3000 * CYCLE);
	ck_assert_uint_eq(next, 34);
	rig_close(&r);
}
END_TEST

/* Divergent warps and those that name two barriers or two phases get their answer at once. */
START_TEST(only_converged_warps_park)
{
	struct waiter w;
	uint32_t next = 0;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	rig_do(&r, 0, BF_SYNC_INIT, 0, 1, 0);
	rig_do(&r, 0, BF_SYNC_INIT, 8, 1, 0);
	for (uint32_t shape = 0; shape < 4; shape++) {
		w = (struct waiter){ .sim = r.sim, .next = &next };
		w.in.op = BF_SYNC_TRY_PARITY;
		w.in.active = shape == 0 ? 0xffff : UINT32_MAX;
		w.in.done = waiter_done;
		w.in.address[31] = shape == 1 ? 8 : 0;
		w.in.count[31] = shape == 2;
		bf_hopper_issue(r.cta[0], &w.in);
		bf_sim_run(r.sim, r.sim->now_ps + 200 * CYCLE);
		ck_assert_int_eq(w.in.parked, shape == 3);
		ck_assert_uint_eq(w.in.result, shape == 2 ? 1u << 31 : 0);
	}
	rig_run(&r);
	rig_close(&r);
}
END_TEST

/* The patent's unit gives a wait up when its barrier leaves the cache; the chip does not. */
START_TEST(eviction_of_a_waited_barrier)
{
	struct waiter w;
	uint32_t next = 0;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .profile = _i ? &bf_hopper_patent : &bf_hopper_h200 });
	rig_do(&r, 0, BF_SYNC_INIT, 0, 1, 0);
	park(&r, &w, 0, 0, &next);
	for (uint32_t i = 1; i <= 40; i++)
		rig_do(&r, 0, BF_SYNC_INIT, i * 16, 1, 0);
	bf_sim_run(r.sim, 2000 * CYCLE);
	ck_assert_uint_eq(next, (uint32_t)_i);
	rig_do(&r, 0, BF_SYNC_ARRIVE, 0, 1, 0);
	bf_sim_run(r.sim, 4000 * CYCLE);
	ck_assert_uint_eq(next, 1);
	ck_assert_uint_eq(w.in.result, _i ? 0 : UINT32_MAX);
	rig_close(&r);
}
END_TEST

/* ---- time ---- */

START_TEST(arrivals_on_one_barrier_merge)
{
	uint64_t next[2];
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	for (uint32_t i = 0; i < 64; i++)
		rig_do(&r, 0, BF_SYNC_INIT, BARRIER(i), 1000, 0);
	for (uint32_t distinct = 0; distinct < 2; distinct++) {
		pass(&r, 100000);
		for (uint32_t i = 0; i < 32; i++)
			rig_do(&r, 0, BF_SYNC_ARRIVE, BARRIER(distinct ? i : 0), 1, 0);
		/* another barrier's turn comes behind them all */
		next[distinct] = rig_do(&r, 0, BF_SYNC_ARRIVE, BARRIER(40), 1, 0).next_ps - r.sim->now_ps;
	}
	ck_assert_uint_eq(counts_of(&r)->merged, 30); /* the first has its turn at once, the second waits for it */
	ck_assert_uint_ge(next[1], 32 * 7 * CYCLE);
	ck_assert_uint_le(next[0], 80 * CYCLE);
	ck_assert_uint_ge(next[0], 70 * CYCLE);
	rig_close(&r);
}
END_TEST

START_TEST(a_remote_arrive_wakes_the_other_block)
{
	struct bf_sync_instr in = { .op = BF_SYNC_ARRIVE, .active = UINT32_MAX, .release = _i };
	uint32_t next = 0;
	uint64_t start;
	struct waiter w;
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .ctas = 2 });
	rig_do(&r, 0, BF_SYNC_INIT, 0, 32, 0);
	park(&r, &w, 0, 0, &next);
	pass(&r, 300);
	start = r.sim->now_ps;
	for (uint32_t lane = 0; lane < 32; lane++)
		in.count[lane] = 1; /* at barrier 0 of rank 0 */
	bf_hopper_issue(r.cta[1], &in);
	bf_sim_run(r.sim, start + 1000 * CYCLE);
	ck_assert_uint_eq(w.in.result, UINT32_MAX);
	ck_assert_uint_gt(w.when - start, (_i ? 330 : 60) * CYCLE);
	ck_assert_uint_lt(w.when - start, (_i ? 360 : 90) * CYCLE);
	ck_assert_uint_eq(bf_mbar_phase(rig_word(&r, 0, 0)), 1);
	ck_assert(bf_sync_history(unit_of(&r), bf_hopper_cta_base(r.cta[0])).remote);
	rig_close(&r);
}
END_TEST

/* ---- faults and reports ---- */

START_TEST(a_fault_ends_the_kernel)
{
	struct waiter w;
	uint32_t next = 0;
	struct bf_sync_instr in;
	const struct bf_hopper_fault *f;
	char text[600];
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .ctas = 2 });
	rig_do(&r, 0, BF_SYNC_INIT, 0, 1, 0);
	park(&r, &w, 3, 0, &next);
	in = rig_do(&r, 1, BF_SYNC_ARRIVE, 64, 1, 0);
	ck_assert_uint_eq(in.fault, BF_MBAR_FAULT_UNINITIALISED);
	f = bf_hopper_fault(r.gpu);
	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(f->kind, BF_HOPPER_FAULT_BARRIER);
	ck_assert_uint_eq(f->sm, 1);
	bf_sim_run(r.sim, 1000 * CYCLE);
	ck_assert(w.in.killed && next == 1);
	in = rig_do(&r, 0, BF_SYNC_ARRIVE, 0, 1, 0);
	ck_assert(in.killed);
	ck_assert_uint_eq(bf_mbar_pending(rig_word(&r, 0, 0)), 1);
	bf_hopper_describe(r.gpu, text, sizeof(text));
	ck_assert_ptr_nonnull(strstr(text, "gpu0.sm1: unspecified launch failure"));
	ck_assert_ptr_nonnull(strstr(text, "not initialised"));
	rig_close(&r);
}
END_TEST

START_TEST(addresses_are_checked)
{
	static const struct {
		uint32_t address;
		enum bf_sync_op op;
		enum bf_hopper_fault_kind kind;
	} cases[] = {
		{ 4, BF_SYNC_ARRIVE, BF_HOPPER_FAULT_ADDRESS },
		{ RIG_SHARED, BF_SYNC_ARRIVE, BF_HOPPER_FAULT_ADDRESS },
		{ RIG_SHARED - 4, BF_SYNC_LOAD, BF_HOPPER_FAULT_ADDRESS },
		{ 2u << 24, BF_SYNC_ARRIVE, BF_HOPPER_FAULT_GONE },
		{ 1u << 24, BF_SYNC_INIT, BF_HOPPER_FAULT_REMOTE },
		{ 1u << 24, BF_SYNC_TRY_PARITY, BF_HOPPER_FAULT_REMOTE },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(cases); i++) {
		struct bf_sync_instr in = { .op = (uint8_t)cases[i].op, .active = 1, .address = { cases[i].address } };
		struct rig r;

		rig_open(&r, &(struct rig_opts){ .ctas = 2 });
		bf_hopper_issue(r.cta[0], &in);
		ck_assert_ptr_nonnull(bf_hopper_fault(r.gpu));
		ck_assert_uint_eq(bf_hopper_fault(r.gpu)->kind, cases[i].kind);
		rig_close(&r);
	}
}
END_TEST

START_TEST(an_arrive_at_a_block_that_has_gone)
{
	struct bf_sync_instr in = { .op = BF_SYNC_ARRIVE, .active = 1, .address = { 1u << 24 }, .count = { 1 } };
	struct rig r;

	rig_open(&r, &(struct rig_opts){ .ctas = 2 });
	rig_do(&r, 1, BF_SYNC_INIT, 0, 2, 0);
	bf_hopper_issue(r.cta[0], &in);
	bf_hopper_exit(r.cta[1]); /* while it is on its way */
	rig_run(&r);
	ck_assert_ptr_nonnull(bf_hopper_fault(r.gpu));
	ck_assert_uint_eq(bf_hopper_fault(r.gpu)->kind, BF_HOPPER_FAULT_GONE);
	rig_close(&r);
}
END_TEST

START_TEST(a_report_names_what_is_missing)
{
	struct waiter w[2];
	uint32_t next = 0;
	char text[400];
	struct rig r;

	rig_open(&r, &(struct rig_opts){ 0 });
	rig_do(&r, 0, BF_SYNC_INIT, 0x20, 3, 0);
	rig_do(&r, 0, BF_SYNC_ARRIVE, 0x20, 1, 512);
	park(&r, &w[0], 4, 0x20, &next);
	park(&r, &w[1], 6, 0x20, &next);
	bf_hopper_describe(r.gpu, text, sizeof(text));
	ck_assert_msg(strstr(text, "barrier 0x20: phase 0 (parity 0), 2 of 3 arrivals missing, 512 B outstanding; "
				   "waits: warp 4, 6; last arrival: warp slot 0") != NULL,
		      "%s", text);
	ck_assert_uint_eq(bf_hopper_describe(r.gpu, NULL, 0), strlen(text));
	rig_run(&r);
	rig_close(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hopper_unit");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, values_as_without_a_cache, 0, 4);
	tcase_add_loop_test(tc, replacement_is_lru, 0, 2);
	tcase_add_test(tc, memory_is_stale_while_cached);
	tcase_add_test(tc, an_exit_drops_lines);
	tcase_add_test(tc, wakes_in_order_of_parking);
	tcase_add_test(tc, a_waiter_parked_last_is_found_last);
	tcase_add_test(tc, a_search_that_is_late_looks_only_at_who_is_there);
	tcase_add_test(tc, a_wait_on_several_barriers_looks_at_one_after_the_other);
	tcase_add_test(tc, a_wait_ends_at_its_15th_tick);
	tcase_add_test(tc, thirty_two_may_wait);
	tcase_add_test(tc, only_converged_warps_park);
	tcase_add_loop_test(tc, eviction_of_a_waited_barrier, 0, 2);
	tcase_add_test(tc, arrivals_on_one_barrier_merge);
	tcase_add_loop_test(tc, a_remote_arrive_wakes_the_other_block, 0, 2);
	tcase_add_test(tc, a_fault_ends_the_kernel);
	tcase_add_test(tc, addresses_are_checked);
	tcase_add_test(tc, an_arrive_at_a_block_that_has_gone);
	tcase_add_test(tc, a_report_names_what_is_missing);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
