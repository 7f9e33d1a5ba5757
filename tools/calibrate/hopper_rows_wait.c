/* Warps that wait: waking, its order, what may park. */
#include <stdio.h>
#include <string.h>

#include "tools/calibrate/hopper_rows.h"

#define MANY (1u << 19)
#define WAITERS 64u
#define WORDS_MAX_PAIRS 128u

/*
 * Code around the operations, in thousandths of a cycle. PINGPONG: from a true wait to the next arrive. SPIN: the same
 * behind a spinning test, whose loop takes SPIN_LOOP. LOOP: from a false to the next try. ARRIVES: between the
 * completing arrives of one warp of the second probe, with a clock read before each. SKEW: between the first tries of a
 * block's warps. SECOND: what the second probe's code adds to a resumption, SECOND_AGAIN after a false.
 */
#define PINGPONG 53000
#define SPIN 60000
#define SPIN_LOOP 30000
#define LOOP 34000
#define ARRIVES 12000
#define SKEW 8000
#define SECOND 8000
#define SECOND_AGAIN 3000

/* ---- two warps in turn ---- */

struct pingpong {
	bool spin;
	uint32_t rounds;
	uint64_t falses;
	int64_t each;
};

static void turn(struct bf_warp *w, struct pingpong *p, uint32_t own, uint32_t other, uint32_t parity)
{
	const enum bf_sync_op op = p->spin ? BF_SYNC_TEST_PARITY : BF_SYNC_TRY_PARITY;

	for (;;) {
		bf_lab_instr(w, op, own, parity);
		bf_warp_do(w);
		if (w->instr.result)
			break;
		p->falses++;
		bf_lab_spend(w, SPIN_LOOP);
	}
	bf_lab_spend(w, p->spin ? SPIN : PINGPONG);
	bf_lab_instr(w, BF_SYNC_ARRIVE, other, 1);
	bf_warp_push(w);
}

static void pingpong_main(struct bf_warp *w)
{
	struct pingpong *p = w->arg;
	const uint32_t own = bf_lab_barrier(w->cta, w->warp, 64), other = bf_lab_barrier(w->cta, 1 - w->warp, 64);
	const int64_t start = bf_lab_clock(w);

	bf_warp_init(w, own, 1);
	bf_lab_spend(w, 500000);
	if (w->warp == 0) {
		bf_lab_instr(w, BF_SYNC_ARRIVE, other, 1);
		bf_warp_push(w);
	}
	for (uint32_t n = 0; n < p->rounds; n++)
		turn(w, p, own, other, n & 1);
	if (w->warp == 0)
		p->each = (bf_lab_clock(w) - start - 564000) / (2 * (int64_t)p->rounds);
}

void bf_row_pingpong(struct bf_row *row)
{
	struct pingpong p = { .spin = bf_row_is(row, "mode", "test_wait_spin"), .rounds = 500 };
	struct bf_lab lab;

	if (bf_lab_open(&lab, row, 1, 2)) {
		for (uint32_t i = 0; i < 2; i++)
			bf_lab_alone(bf_lab_warp(&lab, lab.cta[0], i, 1, pingpong_main, &p));
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	bf_row_compare(row, "cycles_one_way", bf_row_number(row, "cycles_one_way"), p.each);
	if (!p.spin)
		bf_row_exact(row, "false_returns", bf_row_number(row, "false_returns"), (int64_t)p.falses * 1000);
}

/* ---- waiters, and a warp that completes their barriers ---- */

struct wake {
	uint32_t waiters, barriers;
	int64_t delay;           /* of the completing warp */
	int64_t start[WAITERS];  /* of each waiter's first try */
	uint32_t others, rounds; /* pairs that the completing warp uses meanwhile, and how often */
	enum bf_sync_op op;      /* with this */
	uint32_t fetch;          /* struct bf_row_code */
	int64_t others_start, others_end;
	int64_t arrived[WAITERS]; /* out, by barrier */
	int64_t resumed[WAITERS]; /* out, by waiter */
	int64_t tries[WAITERS], longest[WAITERS], first_false[WAITERS];
	uint32_t stride; /* of barriers */
	bool loop;       /* they are completed by the first probe's loop */
};

static void wait_main(struct bf_warp *w)
{
	struct wake *k = w->arg;
	const uint32_t i = w->warp, barrier = bf_lab_barrier(w->cta, i % k->barriers, k->stride);

	bf_lab_spend(w, k->start[i]);
	k->first_false[i] = -1000;
	for (bool over = false; !over;) {
		const int64_t start = bf_lab_clock(w);

		over = bf_warp_try(w, barrier, 0);
		k->tries[i] += 1000;
		k->resumed[i] = bf_lab_clock(w);
		if (k->resumed[i] - start > k->longest[i])
			k->longest[i] = k->resumed[i] - start;
		if (!over && k->first_false[i] < 0)
			k->first_false[i] = k->resumed[i];
		if (!over)
			bf_lab_spend(w, LOOP);
	}
}

/*
 * The first probe's loop: an arrive that is left over stands behind its clock read in code that has not run. Its fetch
 * waits for those of the warps which the last group of four has woken: `fetch` for each that is more than FETCHERS.
 */
#define FETCHERS 6

static int64_t fetched(const struct wake *k, uint32_t b)
{
	const uint32_t woken = k->waiters * 4 / k->barriers;

	return b < k->barriers / 4 * 4 || b < 4 || woken < FETCHERS ? 0 : (woken - FETCHERS) * (int64_t)k->fetch;
}

static void complete_all(struct bf_warp *w, struct wake *k)
{
	for (uint32_t b = 0; b < k->barriers; b++) {
		k->arrived[b] = bf_lab_clock(w);
		if (k->loop)
			bf_lab_spend(w, fetched(k, b));
		bf_lab_instr(w, BF_SYNC_ARRIVE, bf_lab_barrier(w->cta, b, k->stride), 1);
		bf_warp_push(w);
		bf_lab_spend(w, (k->loop ? bf_lab_between(b, k->barriers) : ARRIVES) - 8000);
	}
}

static void init_main(struct bf_warp *w)
{
	const struct wake *k = w->arg;

	for (uint32_t b = 0; b < k->others; b++)
		bf_warp_init(w, bf_lab_barrier(w->cta, k->barriers + b, k->stride), MANY);
	for (uint32_t b = 0; b < k->barriers; b++)
		bf_warp_init(w, bf_lab_barrier(w->cta, b, k->stride), 1);
}

static void init_all(struct bf_lab *lab, struct wake *k)
{
	bf_lab_warp(lab, lab->cta[0], 0, 1, init_main, k);
	bf_lab_run(lab);
}

static void wake_main(struct bf_warp *w)
{
	struct wake *k = w->arg;

	bf_lab_spend(w, k->delay);
	complete_all(w, k);
}

/*
 * Warps that resume together run the code behind the wait together, and get in each other's way: one that resumes while
 * more than one of its sub-partition have done so within CROWD_TIME reads its clock later (`crowd` for each, four at
 * most).
 */
#define CROWD_TIME 90000

const struct bf_row_code bf_row_code = { .crowd = 2600, .fetch = 2050 };

static void crowd(struct wake *k, const struct bf_row_code *code)
{
	int64_t later[WAITERS];

	for (uint32_t i = 0; i < k->waiters; i++) {
		int64_t before = 0;

		for (uint32_t j = i % 4; j < k->waiters; j += 4)
			before += k->resumed[j] < k->resumed[i] && k->resumed[j] + CROWD_TIME > k->resumed[i];
		before = before < 1 ? 0 : before > 5 ? 4 : before - 1;
		later[i] = before * code->crowd;
	}
	for (uint32_t i = 0; i < k->waiters; i++)
		k->resumed[i] += later[i];
}

/* Runs it; times in `k` are then relative to when all began. */
static bool run_wake(struct bf_row *row, struct wake *k, bf_warp_fn *completing)
{
	struct bf_lab lab;
	int64_t begin = 0;

	if (k->waiters == 0 || k->waiters >= WAITERS || k->barriers == 0 || k->barriers > k->waiters ||
	    k->others > 1024) {
		row->problem = "the row's numbers do not fit the experiment";
		return false;
	}
	if (bf_lab_open(&lab, row, 1, k->waiters + 1)) {
		init_all(&lab, k);
		begin = (int64_t)(lab.sim->now_ps * 1000 / row->profile->cycle_ps);
		for (uint32_t i = 0; i < k->waiters; i++)
			bf_lab_warp(&lab, lab.cta[0], i, 0, wait_main, k);
		bf_lab_warp(&lab, lab.cta[0], k->waiters, 1, completing, k);
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	if (k->barriers == 1 || k->loop)
		crowd(k, row->code);
	for (uint32_t i = 0; i < k->waiters; i++) {
		k->resumed[i] -= k->arrived[i % k->barriers];
		k->first_false[i] -= k->first_false[i] < 0 ? 0 : begin;
	}
	return !row->problem;
}

/* A block's warps begin in groups of four, the last group first, and the first warp of a group last. */
static void block_skew(struct wake *k, int64_t base, int64_t step)
{
	for (uint32_t i = 0; i < k->waiters && i < WAITERS; i++) {
		const uint32_t group = (k->waiters - 1) / 4 - i / 4, in_group = (i + 3) % 4;

		k->start[i] = base + (int64_t)(group * 4 + in_group) * step;
	}
}

void bf_row_wake(struct bf_row *row)
{
	struct wake k = {
		.waiters = bf_row_u32(row, "warps"),
		.barriers = bf_row_u32(row, "barriers"),
		.delay = bf_row_number(row, "delay"),
		.stride = 8,
		.loop = true,
		.fetch = row->code->fetch,
	};
	int64_t resume[BF_ROW_LIST], attempts[BF_ROW_LIST], longest[BF_ROW_LIST];
	const uint32_t n = bf_row_list(row, "resume", resume);

	if (n != k.waiters || bf_row_list(row, "attempts", attempts) != n ||
	    bf_row_list(row, "longest", longest) != n) {
		row->problem = "the row's lists have different lengths";
		return;
	}
	block_skew(&k, 185000, SKEW);
	if (!run_wake(row, &k, wake_main))
		return;
	if (n > 8) {
		bf_row_spread(row, "resume", resume, n, k.resumed, n);
		bf_row_spread(row, "attempts", attempts, n, k.tries, n);
		bf_row_spread(row, "longest", longest, n, k.longest, n);
	} else {
		bf_row_ranks(row, "resume", resume, k.resumed, n);
		bf_row_ranks(row, "attempts", attempts, k.tries, n);
		bf_row_ranks(row, "longest", longest, k.longest, n);
	}
}

void bf_row_wake_order(struct bf_row *row)
{
	struct wake k = { .waiters = bf_row_u32(row, "waiters"), .barriers = 1, .delay = 7000000, .stride = 8 };
	const int64_t gap = bf_row_number(row, "gap");
	int64_t position[BF_ROW_LIST], resume[BF_ROW_LIST], tries[BF_ROW_LIST];
	const uint32_t n = bf_row_list(row, "park_position", position);

	if (n != k.waiters || bf_row_list(row, "resume_fourth_round", resume) != n ||
	    bf_row_list(row, "tries", tries) != n) {
		row->problem = "the row's lists have different lengths";
		return;
	}
	for (uint32_t i = 0; i < n && i < WAITERS; i++)
		k.start[i] = 1000 + position[i] / 1000 * gap;
	if (gap == 0)
		block_skew(&k, 1000, SKEW);
	if (!run_wake(row, &k, wake_main))
		return;
	for (uint32_t i = 0; i < n; i++) {
		k.resumed[i] += SECOND;
		bf_row_exact(row, "tries", tries[i], k.tries[i]);
	}
	if (n > 8)
		bf_row_spread(row, "resume_fourth_round", resume, n, k.resumed, n);
	else if (gap == 0) /* the order of parking is not known */
		bf_row_ranks(row, "resume_fourth_round", resume, k.resumed, n);
	else /* in order of parking, which another row of the same numbers has, too */
		for (uint32_t p = 0; p < n; p++)
			for (uint32_t i = 0; i < n; i++)
				if (position[i] == p * 1000)
					bf_row_compare(row, "resume_fourth_round", resume[i], k.resumed[i]);
}

/* ---- other barriers used meanwhile ---- */

/*
 * noise: the loop's part of an arrive of 15.5 cycles, and of one that its unrolling by four leaves over; before the
 * loop.
 */
#define NOISE_OP 7500
#define NOISE_LEFT_OVER 17000
#define NOISE_START 112000
#define NOISE_LAST 65000 /* from the loop's last arrive to the completing one */
#define NOISE_COLD 81000 /* the code behind a wait that was false before */

static void noise_main(struct bf_warp *w)
{
	struct wake *k = w->arg;

	bf_lab_spend(w, k->delay);
	k->others_start = bf_lab_clock(w);
	bf_lab_spend(w, NOISE_START);
	for (uint32_t i = 0; i < k->rounds; i++) {
		bf_lab_instr(w, BF_SYNC_ARRIVE, bf_lab_barrier(w->cta, k->barriers + i % k->others, k->stride), 1);
		bf_warp_push(w);
		bf_lab_spend(w, i < k->rounds / 4 * 4 ? NOISE_OP : NOISE_LEFT_OVER);
	}
	k->others_end = bf_lab_clock(w);
	complete_all(w, k);
}

void bf_row_noise(struct bf_row *row)
{
	struct wake k = {
		.waiters = 1,
		.barriers = 1,
		.others = bf_row_u32(row, "barriers"),
		.rounds = bf_row_u32(row, "ops"),
		.delay = 0,
		.stride = 8,
	};

	if (k.others == 0 || !run_wake(row, &k, noise_main))
		return;
	bf_row_exact(row, "attempts", bf_row_number(row, "attempts"), k.tries[0]);
	bf_row_compare(row, "resume", bf_row_number(row, "resume"),
		       k.resumed[0] + NOISE_LAST + (k.tries[0] > 1000 ? NOISE_COLD : 0));
	bf_row_compare(row, "noise_cycles", bf_row_number(row, "noise_cycles"), k.others_end - k.others_start);
	if (k.tries[0] > 1000)
		bf_row_compare(row, "false_max", bf_row_number(row, "false_max"), k.longest[0]);
}

/*
 * evict_parked: dependent uses of other pairs (OTHER more than the operation alone, ROUND a round, BEGIN once), then a
 * look at each pair by a plain load (LOOK), then the completing arrives.
 */
#define OTHER_ARRIVE 37000
#define OTHER_TEST 40700
#define ROUND 120000
#define BEGIN 105000
#define BEGIN_ONE 30000
#define LOOK 45400

struct evict {
	struct wake wake; /* first: the waiters' code knows it alone */
	char never[WORDS_MAX_PAIRS];
};

static void evict_main(struct bf_warp *w)
{
	struct evict *e = w->arg;
	struct wake *k = &e->wake;

	bf_lab_spend(w, k->delay);
	k->others_start = bf_lab_clock(w);
	bf_lab_spend(w, BEGIN + (k->waiters == 1 ? BEGIN_ONE : 0));
	for (uint32_t r = 0; r < k->rounds; r++) {
		for (uint32_t i = 0; i < k->others; i++) {
			bf_lab_instr(w, k->op, bf_lab_barrier(w->cta, k->barriers + i, k->stride),
				     k->op == BF_SYNC_ARRIVE ? 1 : 0);
			bf_warp_do(w);
			bf_lab_spend(w, k->op == BF_SYNC_ARRIVE ? OTHER_ARRIVE : OTHER_TEST);
		}
		bf_lab_spend(w, ROUND);
	}
	k->others_end = bf_lab_clock(w);
	for (uint32_t i = 0; i < k->barriers + k->others; i++) {
		const bool memory_is_old = bf_warp_load(w, bf_lab_barrier(w->cta, i, k->stride)) == 0;

		e->never[i] = memory_is_old ? '1' : '0';
		bf_lab_spend(w, LOOK);
	}
	complete_all(w, k);
}

/* In which order the probe's warps came to park: which pairs its evictions took tells. */
static const uint8_t park_order[] = { 0, 4, 8, 9, 5, 7, 11, 10, 1, 3, 6, 2 }, park_order_four[] = { 0, 1, 3, 2 };

void bf_row_evict_parked(struct bf_row *row)
{
	struct evict e = {
		.wake = {
			.waiters = bf_row_u32(row, "waiters"),
			.others = bf_row_u32(row, "other_pairs"),
			.rounds = bf_row_u32(row, "rounds"),
			.op = bf_row_is(row, "op", "arrive") ? BF_SYNC_ARRIVE : BF_SYNC_TEST_PARITY,
			.delay = 1200000,
			.stride = 16,
		},
	};
	struct wake *k = &e.wake;
	int64_t resume[BF_ROW_LIST], tries[BF_ROW_LIST], first_false[BF_ROW_LIST];
	char silicon[WORDS_MAX_PAIRS];
	const uint32_t n = bf_row_list(row, "resume", resume);

	k->barriers = k->waiters;
	bf_row_text(row, "never_written_back", silicon, sizeof(silicon));
	if (n != k->waiters || bf_row_list(row, "tries", tries) != n ||
	    bf_row_list(row, "first_false", first_false) != n || k->barriers + k->others >= WORDS_MAX_PAIRS) {
		row->problem = "the row's lists have different lengths";
		return;
	}
	for (uint32_t i = 0; i < n && i < BF_ARRAY_LEN(park_order); i++)
		k->start[n > 4 ? park_order[i] : park_order_four[i]] = 190000 + (int64_t)i * SKEW;
	if (n > BF_ARRAY_LEN(park_order))
		row->problem = "the row's numbers do not fit the experiment";
	if (row->problem || !run_wake(row, k, evict_main))
		return;
	bf_row_exact_text(row, "never_written_back", silicon, e.never);
	bf_row_compare(row, "noise_cycles", bf_row_number(row, "noise_cycles"), k->others_end - k->others_start);
	for (uint32_t i = 0; i < n; i++) {
		bf_row_exact(row, "tries", tries[i], k->tries[i]);
		bf_row_compare(row, "first_false", first_false[i],
			       k->first_false[i] < 0 ? -1000 : k->first_false[i] - k->delay);
		k->resumed[i] += k->tries[i] > 1000 ? SECOND_AGAIN : SECOND;
	}
	if (n > 8)
		bf_row_spread(row, "resume", resume, n, k->resumed, n);
	else
		bf_row_ranks(row, "resume", resume, k->resumed, n);
}
