/* The try-wait buffer's time limit, and what happens when it is full. */
#include <stdio.h>
#include <string.h>

#include "sim/rng.h"
#include "tools/calibrate/hopper_rows.h"

#define MANY (1u << 19)
#define WAITERS 64u

/*
 * Code around the tries, in thousandths of a cycle. CODE: clock reads and the loop's end, within a try as the first
 * probe took it. COLD: its first pass. BETWEEN: from one try's end to the next one's start in the second probe.
 * HINT_START: from the common start to the first try of hint_arrive; HINT_LOOP, and
 * PLAIN_LOOP without a hint: between two of its tries, the first two excepted; HINT_CODE: within one. BACKGROUND: a
 * loop's part beside its arrive.
 */
#define CODE 30000
#define COLD 25000
#define BETWEEN 34000
#define HINT_START 94000
#define HINT_LOOP 149000
#define PLAIN_LOOP 136000
#define HINT_LOOP_FIRST 115000
#define HINT_CODE 32000
#define BACKGROUND 40000
#define SKEW 8000

/* ---- expiries ---- */

struct limit {
	uint32_t waiters, runs;
	int64_t gap; /* between the waiters' starts, or: */
	const int64_t *begins;
	bool hinted;
	int64_t code;
	int64_t start[WAITERS][16], end[WAITERS][16]; /* out */
	uint32_t background;                          /* barriers that other warps use */
	uint32_t done;
};

static void limit_main(struct bf_warp *w)
{
	struct limit *k = w->arg;

	bf_lab_spend(w, 1000 + (k->begins ? k->begins[w->warp] : (int64_t)w->warp * k->gap));
	for (uint32_t r = 0; r < k->runs; r++) {
		k->start[w->warp][r] = bf_lab_clock(w);
		bf_lab_instr(w, BF_SYNC_TRY_PARITY, bf_lab_barrier(w->cta, 0, 8), 0)->hinted = k->hinted;
		bf_warp_do(w);
		k->end[w->warp][r] = bf_lab_clock(w);
		bf_lab_spend(w, k->code);
	}
	k->done++;
}

static void background_main(struct bf_warp *w)
{
	struct limit *k = w->arg;

	while (k->done < k->waiters) {
		bf_lab_instr(w, BF_SYNC_ARRIVE, bf_lab_barrier(w->cta, 1 + w->warp % k->background, 8), 1);
		bf_warp_do(w);
		bf_lab_spend(w, BACKGROUND);
	}
}

static void limit_init(struct bf_warp *w)
{
	for (uint32_t i = 0; i < 32; i++)
		bf_warp_init(w, bf_lab_barrier(w->cta, i, 8), MANY);
}

static bool run_limit(struct bf_row *row, struct limit *k, uint32_t background_warps)
{
	struct bf_lab lab;

	if (k->waiters == 0 || k->waiters + background_warps > WAITERS || k->runs == 0 || k->runs > 16) {
		row->problem = "the row's numbers do not fit the experiment";
		return false;
	}
	if (bf_lab_open(&lab, row, 1, k->waiters + background_warps)) {
		bf_lab_warp(&lab, lab.cta[0], 0, 1, limit_init, NULL);
		bf_lab_run(&lab);
		for (uint32_t i = 0; i < k->waiters; i++)
			bf_lab_warp(&lab, lab.cta[0], i, 0, limit_main, k);
		for (uint32_t i = 0; i < background_warps; i++)
			bf_lab_warp(&lab, lab.cta[0], k->waiters + i, 1, background_main, k);
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	return !row->problem;
}

void bf_row_timeout(struct bf_row *row)
{
	struct limit k = { .waiters = 1, .runs = 8, .hinted = bf_row_has(row, "hint"), .code = CODE };
	int64_t cycles[BF_ROW_LIST], ns[BF_ROW_LIST];
	const uint32_t n = bf_row_list(row, "cycles", cycles);

	if (n > 8 || bf_row_list(row, "ns", ns) != n) {
		row->problem = "the row's lists have different lengths";
		return;
	}
	if (!run_limit(row, &k, 0))
		return;
	for (uint32_t i = 0; i < n; i++) {
		const int64_t model = k.end[0][i] - k.start[0][i] + CODE + (i % 4 ? 0 : COLD);

		bf_row_compare(row, "cycles", cycles[i], model);
		bf_row_compare(row, "ns", ns[i], model * row->profile->cycle_ps / 1000);
	}
}

void bf_row_timeout_bg(struct bf_row *row)
{
	struct limit k = { .waiters = 1, .runs = 16, .background = bf_row_u32(row, "bg_barriers"), .code = CODE };
	int64_t cycles[BF_ROW_LIST];
	const uint32_t n = bf_row_list(row, "cycles", cycles);

	if (n > 16 || k.background == 0 || k.background > 31 || !run_limit(row, &k, bf_row_u32(row, "bg_warps")))
		return;
	for (uint32_t i = 0; i < n; i++)
		bf_row_compare(row, "cycles", cycles[i], k.end[0][i] - k.start[0][i]);
}

void bf_row_limit_spread(struct bf_row *row)
{
	const uint32_t runs = bf_row_u32(row, "runs");
	struct bf_rng rng;
	int64_t low = INT64_MAX, high = 0;

	bf_rng_init(&rng, bf_row_u32(row, "seed"), "starts");
	for (uint32_t i = 0; i < runs && i < 10000 && !row->problem; i += 10) {
		struct limit k = { .waiters = 1, .runs = 10, .code = (int64_t)bf_rng_below(&rng, 20000000) };

		run_limit(row, &k, 0);
		for (uint32_t r = 0; r < k.runs; r++) {
			const int64_t took = k.end[0][r] - k.start[0][r];

			low = took < low ? took : low;
			high = took > high ? took : high;
		}
	}
	if (runs == 0)
		row->problem = "the row's numbers do not fit the experiment";
	if (row->problem)
		return;
	bf_row_compare(row, "min", bf_row_number(row, "min"), low);
	bf_row_compare(row, "max", bf_row_number(row, "max"), high);
}

/* `ends` and `cycles` are waiter-major. Ends count from the first waiter's start: its code before is not told. */
void bf_row_limit_many(struct bf_row *row)
{
	struct limit k = {
		.waiters = bf_row_u32(row, "waiters"),
		.runs = bf_row_u32(row, "runs"),
		.gap = bf_row_number(row, "gap"),
		.code = BETWEEN,
	};
	int64_t ends[BF_ROW_LIST], cycles[BF_ROW_LIST], begins[WAITERS], shift;
	const uint32_t n = bf_row_list(row, "ends", ends);

	if (bf_row_list(row, "cycles", cycles) != n || n != k.waiters * k.runs || k.waiters > WAITERS) {
		row->problem = "the row's lists have different lengths";
		return;
	}
	/* The waiters' loops before their first wait end up to 20 cycles after the gap: as in the row. */
	for (uint32_t i = 0; i < k.waiters; i++)
		begins[i] = ends[i * k.runs] - cycles[i * k.runs] - (ends[0] - cycles[0]) + 1000000;
	k.begins = begins;
	if (!run_limit(row, &k, 0))
		return;
	shift = ends[0] - k.end[0][0];
	for (uint32_t i = 0; i < n; i++) {
		bf_row_compare(row, "ends", ends[i], k.end[i / k.runs][i % k.runs] + shift);
		bf_row_compare(row, "cycles", cycles[i],
			       k.end[i / k.runs][i % k.runs] - k.start[i / k.runs][i % k.runs]);
	}
}

void bf_row_limit_pair(struct bf_row *row)
{
	struct limit k = { .waiters = 2, .runs = bf_row_u32(row, "runs"), .code = 87000 };
	int64_t starts[BF_ROW_LIST], ends[BF_ROW_LIST];
	const uint32_t n = bf_row_list(row, "starts", starts);

	if (bf_row_list(row, "ends", ends) != n || n != 2 * k.runs || !n) {
		row->problem = "the row's lists have different lengths";
		return;
	}
	k.gap = starts[k.runs] - starts[0];
	if (!run_limit(row, &k, 0))
		return;
	for (uint32_t i = 0; i < n; i++) {
		const int64_t shift = starts[0] - k.start[0][0];

		bf_row_compare(row, "starts", starts[i], k.start[i / k.runs][i % k.runs] + shift);
		bf_row_compare(row, "ends", ends[i], k.end[i / k.runs][i % k.runs] + shift);
	}
}

/* ---- a hint, and an arrive ---- */

struct hint {
	bool hinted;
	int64_t delay;
	int64_t arrived, resumed;
	int64_t tries, each[12];
};

static void hint_main(struct bf_warp *w)
{
	struct hint *k = w->arg;
	bool over = false;

	bf_lab_spend(w, HINT_START);
	while (!over) {
		const int64_t start = bf_lab_clock(w);

		bf_lab_instr(w, BF_SYNC_TRY_PARITY, bf_lab_barrier(w->cta, 0, 8), 0)->hinted = k->hinted;
		bf_warp_do(w);
		over = w->instr.result != 0;
		k->resumed = bf_lab_clock(w);
		bf_lab_spend(w, over ? 5000 : HINT_CODE);
		if (k->tries < 12)
			k->each[k->tries] = bf_lab_clock(w) - start;
		k->tries++;
		bf_lab_spend(w, k->tries == 1 ? HINT_LOOP_FIRST : k->hinted ? HINT_LOOP : PLAIN_LOOP);
	}
}

static void hint_arrive(struct bf_warp *w)
{
	struct hint *k = w->arg;

	bf_lab_spend(w, k->delay);
	k->arrived = bf_lab_clock(w);
	bf_warp_arrive(w, bf_lab_barrier(w->cta, 0, 8));
}

static void hint_init(struct bf_warp *w)
{
	bf_warp_init(w, bf_lab_barrier(w->cta, 0, 8), 1);
}

void bf_row_hint_arrive(struct bf_row *row)
{
	struct hint k = { .hinted = bf_row_has(row, "hint"), .delay = bf_row_number(row, "delay") };
	const uint32_t lanes = bf_row_u32(row, "lanes");
	int64_t each[BF_ROW_LIST];
	const uint32_t n = bf_row_list(row, "try_cycles", each);
	struct bf_lab lab;

	if (n > 12 || lanes == 0 || lanes > 32) {
		row->problem = "the row's numbers do not fit the experiment";
		return;
	}
	if (bf_lab_open(&lab, row, 1, 2)) {
		bf_lab_warp(&lab, lab.cta[0], 1, 1, hint_init, NULL);
		bf_lab_run(&lab);
		for (uint32_t i = 0; i < 2; i++) {
			bf_lab_alone(bf_lab_warp(&lab, lab.cta[0], i,
						 i             ? 1
						 : lanes == 32 ? 0
							       : (1u << lanes) - 1,
						 i ? hint_arrive : hint_main, &k));
		}
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	bf_row_exact(row, "tries", bf_row_number(row, "tries"), k.tries * 1000);
	bf_row_compare(row, "resume", bf_row_number(row, "resume"), k.resumed - k.arrived + 5000);
	for (uint32_t i = 0; i < n; i++)
		bf_row_compare(row, "try_cycles", each[i], k.each[i]);
}

/* ---- more waiters than entries ---- */

/*
 * Two blocks of 32 warps on one SM; warp 31 of each completes its block's barriers. POLL: a loop's part of a refused
 * try, as 30 warps in turn see it.
 */
#define POLL 170000
#define DRIFT 40000
#define BLOCK_SKEW 25000 /* the second block's clock reads */
#define TIMER_SKEW 600000
#define SECOND_BLOCK 200000

struct crowd {
	uint32_t barriers;
	int64_t delay;
	int64_t arrived[2][32];
	int64_t resumed[WAITERS], tries[WAITERS], shortest[WAITERS];
	int64_t one_try, waiters;
	int64_t skew;      /* the second block completes so much later */
	struct bf_rng rng; /* retries drift */
};

static void crowd_main(struct bf_warp *w)
{
	struct crowd *k = w->arg;
	const uint32_t block = bf_hopper_cta_slot(w->cta, 0) / 32, i = (uint32_t)k->waiters++;
	const uint32_t barrier = bf_lab_barrier(w->cta, w->warp % k->barriers, 8);
	bool over = false;

	bf_lab_spend(w, 160000 + block * SECOND_BLOCK + (int64_t)w->warp * SKEW);
	k->shortest[i] = 0;
	while (!over) {
		const int64_t start = bf_lab_clock(w);

		over = bf_warp_try(w, barrier, 0);
		k->tries[i] += 1000;
		if (!over && (k->shortest[i] == 0 || bf_lab_clock(w) - start < k->shortest[i]))
			k->shortest[i] = bf_lab_clock(w) - start;
		if (!over)
			bf_lab_spend(w, POLL - DRIFT + (int64_t)bf_rng_below(&k->rng, 2 * DRIFT));
	}
	k->resumed[i] = bf_lab_clock(w) - k->arrived[block][w->warp % k->barriers];
	k->one_try += k->tries[i] == 1000;
}

static void crowd_complete(struct bf_warp *w)
{
	struct crowd *k = w->arg;
	const uint32_t block = bf_hopper_cta_slot(w->cta, 0) / 32;

	bf_lab_spend(w, k->delay + block * k->skew);
	for (uint32_t b = 0; b < k->barriers; b++) {
		k->arrived[block][b] = bf_lab_clock(w);
		bf_lab_instr(w, BF_SYNC_ARRIVE, bf_lab_barrier(w->cta, b, 8), 1);
		bf_warp_push(w);
		bf_lab_spend(w, 4000);
	}
}

static void crowd_init(struct bf_warp *w)
{
	const struct crowd *k = w->arg;

	for (uint32_t b = 0; b < k->barriers; b++)
		bf_warp_init(w, bf_lab_barrier(w->cta, b, 8), 1);
}

/* The warps of one block, of `n` waiters; a warp that does not wait completes. */
static void start_block(struct bf_lab *lab, struct bf_hopper_cta *block, struct crowd *k, const uint8_t *slot,
			uint32_t n)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < n; i++) {
		bf_lab_warp(lab, block, slot[i], 0, crowd_main, k);
		used |= 1u << slot[i];
	}
	bf_lab_warp(lab, block, used == UINT32_MAX ? 0 : 31 - (uint32_t)__builtin_clz(~used), 1, crowd_complete, k);
}

/* `slot` has the waiters' warps in their blocks, those of the first block first. */
static bool run_crowd(struct bf_row *row, struct crowd *k, const uint8_t *slot, uint32_t waiters)
{
	struct bf_hopper_cta *block[2] = { NULL, NULL };
	struct bf_lab lab;

	if (k->barriers == 0 || k->barriers > 31) {
		row->problem = "the row's numbers do not fit the experiment";
		return false;
	}
	bf_rng_init(&k->rng, 1, "retries");
	if (bf_lab_open(&lab, row, 1, 32)) {
		block[0] = lab.cta[0];
		block[1] = bf_lab_block(&lab, 0, 32);
		for (uint32_t b = 0; b < 2 && block[b]; b++)
			bf_lab_warp(&lab, block[b], 31, 1, crowd_init, k);
		bf_lab_run(&lab);
		for (uint32_t b = 0; b < 2 && block[b]; b++)
			start_block(&lab, block[b], k, slot + b * (waiters / 2), waiters / 2);
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	return !row->problem;
}

static void compare_crowd(struct bf_row *row, struct crowd *k, const char *tries_name)
{
	int64_t resume[BF_ROW_LIST], tries[BF_ROW_LIST];
	const uint32_t n = bf_row_list(row, "resume", resume), m = bf_row_list(row, tries_name, tries);

	bf_row_spread(row, "resume", resume, n, k->resumed, (uint32_t)k->waiters);
	bf_row_spread(row, tries_name, tries, m, k->tries, (uint32_t)k->waiters);
}

void bf_row_wait62(struct bf_row *row)
{
	struct crowd k = { .barriers = bf_row_u32(row, "barriers_per_block"), .skew = TIMER_SKEW };
	uint8_t slot[62];

	k.delay = bf_row_number(row, "delay_ns") * 1000 / row->profile->cycle_ps;
	for (uint32_t i = 0; i < 62; i++)
		slot[i] = (uint8_t)(i % 31);
	if (run_crowd(row, &k, slot, 62))
		compare_crowd(row, &k, "attempts");
}

void bf_row_pool(struct bf_row *row)
{
	struct crowd k = { .barriers = 1, .delay = bf_row_number(row, "delay"), .skew = BLOCK_SKEW };
	int64_t hw_warp[BF_ROW_LIST];
	const uint32_t n = bf_row_list(row, "hw_warp", hw_warp);
	uint8_t slot[62] = { 0 };

	if (n == 0 || n > 62 || n % 2) {
		row->problem = "the row's numbers do not fit the experiment";
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		slot[i] = (uint8_t)(hw_warp[i] / 1000 % 32);
	if (!run_crowd(row, &k, slot, n))
		return;
	bf_row_exact(row, "waiters", bf_row_number(row, "waiters"), k.waiters * 1000);
	bf_row_exact(row, "one_try", bf_row_number(row, "one_try"), k.one_try * 1000);
	compare_crowd(row, &k, "tries");
}
