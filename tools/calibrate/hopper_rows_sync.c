/* Warps that do not wait: latencies, rates, the barrier cache. */
#include <stdio.h>
#include <string.h>

#include "tools/calibrate/hopper_rows.h"

#define MANY (1u << 19) /* a count that no experiment reaches */
#define SENTINEL 0x1234u

/*
 * Code around an operation, in thousandths of a cycle. STRIDE: the loop of the stride probe computes addresses.
 * SINGLE: two clock reads. SINGLE_ARRIVE: the same, and the token's way into a register that is used.
 * SINGLE_EXPECT, SINGLE_OTHER: what rounds of those take more or less. COLD: a line of
 * instructions that is fetched for the first time.
 */
#define STRIDE 2900
#define SINGLE 7500
#define SINGLE_ARRIVE 26000
#define SINGLE_EXPECT 1500
#define SINGLE_OTHER 10000
#define CLOCK 2000
#define COLD 21000

/* ---- one dependent operation after the other ---- */

struct chain {
	uint32_t barriers, stride;
	enum bf_sync_op op;
	bool dependent;
	int64_t code;
	int64_t first, each; /* out: cycles an operation in the first pass, and later */
};

static void chain_op(struct bf_warp *w, const struct chain *c, uint32_t i)
{
	bf_lab_instr(w, c->op, bf_lab_barrier(w->cta, i, c->stride), c->op == BF_SYNC_ARRIVE ? 1 : 0);
	if (c->dependent)
		bf_warp_do(w);
	else
		bf_warp_push_rolled(w);
	bf_lab_spend(w, c->code);
}

static void chain_main(struct bf_warp *w)
{
	struct chain *c = w->arg;
	const uint32_t passes = 1 + 512 / c->barriers;
	int64_t start, mid;

	for (uint32_t i = 0; i < c->barriers; i++)
		bf_warp_init(w, bf_lab_barrier(w->cta, i, c->stride), MANY);
	start = bf_lab_clock(w);
	for (uint32_t i = 0; i < c->barriers; i++)
		chain_op(w, c, i);
	mid = bf_lab_clock(w);
	for (uint32_t p = 0; p < passes; p++)
		for (uint32_t i = 0; i < c->barriers; i++)
			chain_op(w, c, i);
	c->first = (mid - start) / c->barriers;
	c->each = (bf_lab_clock(w) - mid) / (int64_t)(passes * c->barriers);
}

static bool run_chain(struct bf_row *row, struct chain *c)
{
	struct bf_lab lab;

	if (c->barriers == 0 || c->barriers > 1024 || c->stride % 8 || (uint64_t)c->barriers * c->stride > 65536) {
		row->problem = "the row's numbers do not fit an SM";
		return false;
	}
	if (bf_lab_open(&lab, row, 1, 1)) {
		bf_lab_warp(&lab, lab.cta[0], 0, 1, chain_main, c);
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	return !row->problem;
}

void bf_row_arrive_cycle(struct bf_row *row)
{
	struct chain c = {
		.barriers = bf_row_u32(row, "barriers"),
		.stride = 8,
		.op = BF_SYNC_ARRIVE,
		.dependent = bf_row_u32(row, "dependent"),
	};

	if (!run_chain(row, &c))
		return;
	bf_row_compare(row, "cycles_per_op", bf_row_number(row, "cycles_per_op"), c.each);
	bf_row_compare(row, "first_pass", bf_row_number(row, "first_pass"), c.first);
}

void bf_row_test_cycle(struct bf_row *row)
{
	struct chain c = {
		.barriers = bf_row_u32(row, "barriers"), .stride = 8, .op = BF_SYNC_TEST_PARITY, .dependent = true
	};

	if (run_chain(row, &c))
		bf_row_compare(row, "cycles_per_op", bf_row_number(row, "cycles_per_op"), c.each);
}

void bf_row_stride(struct bf_row *row)
{
	struct chain c = {
		.barriers = bf_row_u32(row, "barriers"),
		.stride = bf_row_u32(row, "stride"),
		.op = bf_row_is(row, "op", "arrive") ? BF_SYNC_ARRIVE : BF_SYNC_TEST_PARITY,
		.dependent = true,
		.code = STRIDE,
	};

	if (run_chain(row, &c))
		bf_row_compare(row, "cycles_per_op", bf_row_number(row, "cycles_per_op"), c.each);
}

void bf_row_plain(struct bf_row *row)
{
	struct chain load = { .barriers = 1, .stride = 8, .op = BF_SYNC_LOAD, .dependent = true }, add = load;

	add.op = BF_SYNC_ADD;
	if (!run_chain(row, &load) || !run_chain(row, &add))
		return;
	bf_row_compare(row, "lds_latency", bf_row_number(row, "lds_latency"), load.each);
	bf_row_compare(row, "atom_add_u64_latency", bf_row_number(row, "atom_add_u64_latency"), add.each);
}

/* ---- rates ---- */

struct rate {
	uint32_t same_barrier, distinct, each;
	int64_t last; /* when the last instruction could be followed by another */
};

static void rate_main(struct bf_warp *w)
{
	struct rate *r = w->arg;

	for (uint32_t n = 0; n < r->each; n++) {
		bf_lab_instr(w, BF_SYNC_ARRIVE, bf_lab_barrier(w->cta, r->same_barrier ? 0 : w->warp, 8), 1);
		for (uint32_t lane = 0; r->distinct && lane < BF_WARP_LANES; lane++)
			w->instr.address[lane] = bf_lab_barrier(w->cta, lane % r->distinct, 8);
		bf_warp_push(w);
	}
	if (bf_lab_clock(w) > r->last)
		r->last = bf_lab_clock(w);
}

static void init_main(struct bf_warp *w)
{
	for (uint32_t i = 0; i < 32; i++)
		bf_warp_init(w, bf_lab_barrier(w->cta, i, 8), MANY);
}

/* Cycles an instruction of `warps` warps that all do as `r` says, from the moment when the barriers are there. */
static int64_t run_rate(struct bf_row *row, struct rate *r, uint32_t warps, uint32_t lanes)
{
	struct bf_lab lab;
	int64_t start;

	r->each = 256;
	if (bf_lab_open(&lab, row, 1, warps ? warps : 1)) {
		bf_lab_warp(&lab, lab.cta[0], 0, 1, init_main, NULL);
		bf_lab_run(&lab);
		start = (int64_t)(lab.sim->now_ps * 1000 / row->profile->cycle_ps);
		for (uint32_t i = 0; i < warps; i++)
			bf_lab_warp(&lab, lab.cta[0], i, lanes, rate_main, r);
		bf_lab_run(&lab);
		r->last -= start;
	}
	bf_lab_close(&lab);
	return r->last / ((int64_t)(warps ? warps : 1) * r->each);
}

void bf_row_merge(struct bf_row *row)
{
	struct rate r = { .distinct = bf_row_u32(row, "barriers") };
	const int64_t each = r.distinct && r.distinct <= 32 ? run_rate(row, &r, 1, 0) : 0;

	bf_row_compare(row, "cycles_per_warp_instr", bf_row_number(row, "cycles_per_warp_instr"), each);
}

void bf_row_arrive_throughput(struct bf_row *row)
{
	struct rate r = { .same_barrier = bf_row_u32(row, "same_barrier") };
	const int64_t each = run_rate(row, &r, bf_row_u32(row, "warps"), 1);

	bf_row_compare(row, "cycles_per_arrive", bf_row_number(row, "cycles_per_arrive"), each);
}

/* ---- each operation alone ---- */

struct single {
	bool cold;
	int64_t arrive, test_false, test_true, try_true, init_test, expect_test, test_other, clock;
};

static int64_t timed(struct bf_warp *w, enum bf_sync_op op, uint32_t address, uint32_t count, int64_t code)
{
	const int64_t start = bf_lab_clock(w);

	bf_lab_instr(w, op, address, count);
	bf_warp_do(w);
	bf_lab_spend(w, code);
	return bf_lab_clock(w) - start;
}

static void single_main(struct bf_warp *w)
{
	struct single *s = w->arg;
	const uint32_t one = bf_lab_barrier(w->cta, 0, 64), other = bf_lab_barrier(w->cta, 1, 64);
	const int64_t cold = s->cold ? COLD : 0;
	int64_t start;

	bf_warp_init(w, one, MANY);
	bf_warp_init(w, other, MANY);
	s->clock = CLOCK + cold;
	s->arrive = timed(w, BF_SYNC_ARRIVE, one, 1, SINGLE_ARRIVE + cold);
	s->test_false = timed(w, BF_SYNC_TEST_PARITY, one, 0, SINGLE);
	s->test_true = timed(w, BF_SYNC_TEST_PARITY, one, 1, SINGLE + cold);
	s->try_true = timed(w, BF_SYNC_TRY_PARITY, one, 1, SINGLE);
	s->test_other = timed(w, BF_SYNC_TEST_PARITY, other, 0, SINGLE_OTHER);
	start = bf_lab_clock(w);
	timed(w, BF_SYNC_INIT, other, MANY, 0);
	timed(w, BF_SYNC_TEST_PARITY, other, 0, SINGLE);
	s->init_test = bf_lab_clock(w) - start;
	start = bf_lab_clock(w);
	bf_lab_instr(w, BF_SYNC_EXPECT_TX, other, 0)->tx[0] = 16;
	bf_warp_push(w);
	timed(w, BF_SYNC_TEST_PARITY, other, 0, SINGLE + SINGLE_EXPECT);
	s->expect_test = bf_lab_clock(w) - start;
}

void bf_row_single_latency(struct bf_row *row)
{
	struct single s = { .cold = bf_row_u32(row, "round") == 0 };
	struct bf_lab lab;

	if (bf_lab_open(&lab, row, 1, 1)) {
		bf_lab_warp(&lab, lab.cta[0], 0, 1, single_main, &s);
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	bf_row_compare(row, "arrive", bf_row_number(row, "arrive"), s.arrive);
	bf_row_compare(row, "test_wait_false", bf_row_number(row, "test_wait_false"), s.test_false);
	bf_row_compare(row, "test_wait_true", bf_row_number(row, "test_wait_true"), s.test_true);
	bf_row_compare(row, "try_wait_true", bf_row_number(row, "try_wait_true"), s.try_true);
	bf_row_compare(row, "init_then_test", bf_row_number(row, "init_then_test"), s.init_test);
	bf_row_compare(row, "expect_then_test", bf_row_number(row, "expect_then_test"), s.expect_test);
	bf_row_compare(row, "test_other", bf_row_number(row, "test_other"), s.test_other);
}

/* ---- what memory holds beside the cache ---- */

#define WORDS_MAX 128u

struct words {
	uint32_t n, first_count;
	enum bf_sync_op op;
	const int64_t *touch;
	uint32_t touches;
	uint64_t word[WORDS_MAX]; /* out: what plain loads see */
};

static void store(struct bf_warp *w, uint32_t address, uint64_t value)
{
	bf_lab_instr(w, BF_SYNC_STORE, address, 0)->token[0] = value;
	bf_warp_do(w);
}

static void words_main(struct bf_warp *w)
{
	struct words *s = w->arg;

	for (uint32_t i = 0; i < s->n; i++)
		store(w, bf_lab_barrier(w->cta, i, 8), SENTINEL);
	for (uint32_t i = 0; i < s->n; i++)
		bf_warp_init(w, bf_lab_barrier(w->cta, i, 8), s->first_count + i);
	for (uint32_t i = 0; i < s->touches; i++) {
		bf_lab_instr(w, s->op, bf_lab_barrier(w->cta, (uint32_t)(s->touch[i] / 1000), 8),
			     s->op == BF_SYNC_ARRIVE ? 1 : 0);
		bf_warp_do(w);
	}
	for (uint32_t i = 0; i < s->n; i++)
		s->word[i] = bf_warp_load(w, bf_lab_barrier(w->cta, i, 8));
}

void bf_row_stale(struct bf_row *row)
{
	static const enum bf_sync_op ops[] = { BF_SYNC_ARRIVE, BF_SYNC_TEST_PARITY, BF_SYNC_LOAD };
	const uint32_t op = bf_row_u32(row, "op");
	int64_t touch[BF_ROW_LIST];
	uint64_t silicon[WORDS_MAX];
	struct words s = { .n = bf_row_u32(row, "n"), .first_count = 100, .touch = touch };
	struct bf_lab lab;

	s.touches = bf_row_list(row, "touch", touch);
	if (op >= BF_ARRAY_LEN(ops) || s.n > WORDS_MAX || bf_row_words(row, "words", silicon, WORDS_MAX) != s.n)
		row->problem = "the row's numbers do not fit the experiment";
	s.op = ops[op % BF_ARRAY_LEN(ops)];
	if (row->problem)
		return;
	if (bf_lab_open(&lab, row, 1, 1)) {
		bf_lab_warp(&lab, lab.cta[0], 0, 1, words_main, &s);
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	for (uint32_t i = 0; i < s.n; i++) {
		char a[20], b[20];

		snprintf(a, sizeof(a), "%016llx", (unsigned long long)silicon[i]);
		snprintf(b, sizeof(b), "%016llx", (unsigned long long)s.word[i]);
		bf_row_exact_text(row, "words", a, b);
	}
}

#define PAIRS 16u

struct replacement {
	uint32_t retouched, news;
	enum bf_sync_op op;
	char cached[WORDS_MAX];
};

static void touch_pair(struct bf_warp *w, enum bf_sync_op op, uint32_t pair)
{
	bf_lab_instr(w, op, bf_lab_barrier(w->cta, pair, 16), op == BF_SYNC_ARRIVE ? 1 : 0);
	bf_warp_do(w);
}

static void replacement_main(struct bf_warp *w)
{
	struct replacement *r = w->arg;

	for (uint32_t i = 0; i < PAIRS + r->news; i++)
		store(w, bf_lab_barrier(w->cta, i, 16), SENTINEL);
	for (uint32_t i = 0; i < PAIRS; i++)
		bf_warp_init(w, bf_lab_barrier(w->cta, i, 16), 100);
	for (uint32_t i = 0; i < r->retouched; i++)
		touch_pair(w, r->op, i);
	for (uint32_t i = PAIRS; i < PAIRS + r->news; i++)
		bf_warp_init(w, bf_lab_barrier(w->cta, i, 16), 100);
	for (uint32_t i = 0; i < PAIRS + r->news; i++)
		r->cached[i] = bf_warp_load(w, bf_lab_barrier(w->cta, i, 16)) == SENTINEL ? '1' : '0';
}

void bf_row_replacement(struct bf_row *row)
{
	struct replacement r = {
		.retouched = bf_row_u32(row, "retouched"),
		.news = bf_row_u32(row, "new_pairs"),
		.op = bf_row_is(row, "op", "arrive") ? BF_SYNC_ARRIVE : BF_SYNC_TEST_PARITY,
	};
	struct bf_lab lab;
	char silicon[WORDS_MAX];

	bf_row_text(row, "still_cached", silicon, sizeof(silicon));
	if (r.news > WORDS_MAX - PAIRS - 1 || r.retouched > PAIRS) {
		row->problem = "the row's numbers do not fit the experiment";
		return;
	}
	if (bf_lab_open(&lab, row, 1, 1)) {
		bf_lab_warp(&lab, lab.cta[0], 0, 1, replacement_main, &r);
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	bf_row_exact_text(row, "still_cached", silicon, r.cached);
}

struct plain_store {
	uint64_t v0, token, v1, token_after, v2;
};

/* The word is in memory as it was after init; 46 arrivals later it is still that. Then a plain store changes memory. */
static void plain_store_main(struct bf_warp *w)
{
	struct plain_store *s = w->arg;
	const uint32_t one = bf_lab_barrier(w->cta, 0, 16);

	bf_warp_init(w, one, 50);
	for (uint32_t i = 1; i <= PAIRS; i++)
		bf_warp_init(w, bf_lab_barrier(w->cta, i, 16), 50);
	for (uint32_t i = 0; i < 46; i++)
		bf_warp_arrive(w, one);
	s->v0 = bf_warp_load(w, one);
	s->token = bf_warp_arrive(w, one);
	s->v1 = bf_warp_load(w, one);
	store(w, one, bf_mbar_word(0, 1, 0, 1));
	s->token_after = bf_warp_arrive(w, one);
	s->v2 = bf_warp_load(w, one);
}

static void compare_word(struct bf_row *row, const char *name, uint64_t model, uint32_t shift)
{
	uint64_t silicon = 0;
	char a[20], b[20];

	bf_row_words(row, name, &silicon, 1);
	snprintf(a, sizeof(a), "%llx", (unsigned long long)(silicon >> shift));
	snprintf(b, sizeof(b), "%llx", (unsigned long long)(model >> shift));
	bf_row_exact_text(row, name, a, b);
}

void bf_row_plain_store(struct bf_row *row)
{
	struct plain_store s = { 0 };
	struct bf_lab lab;

	if (bf_lab_open(&lab, row, 1, 1)) {
		bf_lab_warp(&lab, lab.cta[0], 0, 1, plain_store_main, &s);
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	compare_word(row, "v0", s.v0, 0);
	compare_word(row, "token", s.token, 32);
	compare_word(row, "v1", s.v1, 0);
	compare_word(row, "token_after_store", s.token_after, 32);
	compare_word(row, "v2", s.v2, 0);
}

#define EXIT_PAIRS 40u

static void exit_main(struct bf_warp *w)
{
	for (uint32_t i = 0; i < EXIT_PAIRS; i++)
		store(w, bf_lab_barrier(w->cta, i, 16), SENTINEL);
	for (uint32_t i = 0; i < EXIT_PAIRS; i++)
		bf_warp_init(w, bf_lab_barrier(w->cta, i, 16), 100);
	for (uint32_t i = 0; i < EXIT_PAIRS; i++)
		bf_warp_arrive(w, bf_lab_barrier(w->cta, i, 16));
}

static void exit_read(struct bf_warp *w)
{
	char *seen = w->arg;

	for (uint32_t i = 0; i < EXIT_PAIRS; i++) {
		const uint64_t word = bf_warp_load(w, bf_lab_barrier(w->cta, i, 16));

		seen[i] = word == SENTINEL                       ? 's'
			  : word == bf_mbar_word(0, 100, 0, 100) ? 'i'
			  : word == bf_mbar_word(0, 99, 0, 100)  ? 'a'
								 : '?';
	}
}

void bf_row_cta_exit(struct bf_row *row)
{
	const bool next_kernel = bf_row_is(row, "read", "next kernel");
	const uint32_t sms = bf_row_u32(row, "sms");
	char silicon[WORDS_MAX], seen[EXIT_PAIRS + 1] = "";
	struct bf_lab lab;

	bf_row_text(row, "words", silicon, sizeof(silicon));
	for (uint32_t sm = 0; sm < sms && sm < row->profile->sms; sm++) {
		struct bf_hopper_cta *cta = NULL;

		if (bf_lab_open(&lab, row, 1, 1)) {
			bf_hopper_exit(lab.cta[0]);
			cta = bf_lab_block(&lab, sm, 1);
		}
		if (cta) {
			bf_lab_warp(&lab, cta, 0, 1, exit_main, NULL);
			bf_lab_run(&lab);
			if (next_kernel) {
				bf_hopper_exit(cta);
				cta = bf_lab_block(&lab, sm, 1);
			}
		}
		if (cta) {
			bf_lab_warp(&lab, cta, 0, 1, exit_read, seen);
			bf_lab_run(&lab);
		}
		bf_lab_close(&lab);
		bf_row_exact_text(row, "words", silicon, seen);
	}
}
