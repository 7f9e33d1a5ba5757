/* Which warps may park: divergence, several barriers, parities, tokens. */
#include <stdio.h>
#include <string.h>

#include "tools/calibrate/hopper_rows.h"

#define ALL 0xffffffffu
#define LOW 0x0000ffffu
#define HIGH 0xffff0000u
#define MANY (1u << 19)

/* ---- park_shape ---- */

/*
 * Code from a false to the next try, in thousandths of a cycle: of a part of a warp whose other lanes wait; of two
 * parts in branches of their own, which take turns; of a warp that meets again after each try. START: to the first try,
 * since the common start; CLOCK: clock reads around a try; CODE: in a wait's total beside the tries.
 */
#define CLOCK 7500
#define ALONE 161000
#define IN_TURN 232000
#define REJOINED 126000
#define OPPOSITE 129000 /* ... and whose tokens are of two phases */
#define START 123000
#define CODE 86000

/* How the lanes ask, as a row's "shape" says it in words: each part is lanes that go through the code together. */
struct shape {
	uint32_t part[2]; /* lanes; 0: there is no such part */
	uint32_t gone;    /* lanes that have exited */
	uint32_t second;  /* lanes that name the second barrier */
	uint32_t odd;     /* lanes that ask for parity 1 */
	int64_t loop;
	bool tokens;       /* every lane has a token of its own of the current phase */
	bool opposite;     /* the high lanes have tokens of the phase before */
	int64_t arrive_at; /* of the completing arrive; 0: after 6000 cycles */
};

/* The lanes that `text` begins with: "all lanes", "halves", "one lane", "last lane", "16 lanes"; 0: none of these. */
static uint32_t lanes_named(const char *text)
{
	unsigned n = 0;

	if (strncmp(text, "all", 3) == 0 || strncmp(text, "halves", 6) == 0)
		return ALL;
	if (strncmp(text, "last lane", 9) == 0)
		return 1u << 31;
	if (strncmp(text, "one lane", 8) == 0 || strncmp(text, "first lane", 10) == 0 ||
	    strncmp(text, "lane 0", 6) == 0)
		return 1;
	if (sscanf(text, "%u lane", &n) != 1 || n == 0 || n > BF_WARP_LANES)
		return 0;
	return n == BF_WARP_LANES ? ALL : (1u << n) - 1;
}

/* "31 lanes against 1", "halves on two barriers", "16+16": the lanes of the other side; 0: the text names none. */
static uint32_t other_side(const char *text)
{
	const char *against = strstr(text, "against");
	unsigned n = 0, m = 0;

	if (sscanf(text, "%u+%u", &n, &m) == 2 || (against && sscanf(against, "against %u", &m) == 1))
		return m > 0 && m < BF_WARP_LANES ? ALL << (BF_WARP_LANES - m) : 0;
	return strncmp(text, "halves", 6) == 0 || strstr(text, "two") ? HIGH : 0;
}

static bool in_words(const char *text, const char *a, const char *b, const char *c)
{
	return strstr(text, a) || strstr(text, b) || strstr(text, c);
}

/* False: the words do not say an experiment. */
static bool read_shape(const char *text, struct shape *s)
{
	const uint32_t other = other_side(text), named = lanes_named(text);
	const bool branch = in_words(text, "branch", "split", "diverge");

	*s = (struct shape){ .part = { other ? ALL : named }, .loop = REJOINED };
	if (strstr(text, "token")) {
		s->tokens = true;
		s->opposite = strstr(text, "opposite") != NULL;
		s->loop = s->opposite ? REJOINED + OPPOSITE : REJOINED;
		s->arrive_at = s->opposite ? 1240000 : 1085000;
		s->part[0] = ALL;
		return named || other;
	}
	if (other && branch) {
		s->part[0] = ~other;
		s->part[1] = other;
		s->loop = IN_TURN;
	}
	if (strstr(text, "parit"))
		s->odd = other ? other : HIGH;
	else if (other && in_words(text, "two barriers", "against", "distinct") && !strstr(text, "one barrier"))
		s->second = other;
	if (other)
		return s->second || s->odd || branch;
	if (strstr(text, "exited"))
		s->gone = ~named;
	else if (named != ALL)
		s->loop = ALONE;
	return named && (named == ALL || s->gone || in_words(text, "other", "rest", "wait"));
}

struct park {
	struct shape shape;
	uint64_t token[BF_WARP_LANES];
	int64_t arrive_at;
	int64_t tries[BF_WARP_LANES], first[BF_WARP_LANES], result[BF_WARP_LANES], total[BF_WARP_LANES],
	    sum[BF_WARP_LANES];
};

static void park_main(struct bf_warp *w)
{
	struct park *k = w->arg;
	const uint32_t near = bf_lab_barrier(w->cta, 0, 8), far = bf_lab_barrier(w->cta, 1, 8);
	uint32_t left = w->active;
	int64_t begin;

	bf_lab_spend(w, w->active == HIGH ? START + IN_TURN / 2 : START);
	begin = bf_lab_clock(w);
	while (left) {
		const int64_t start = bf_lab_clock(w);
		struct bf_sync_instr *in;

		w->active = left;
		in = bf_lab_instr(w, k->shape.tokens ? BF_SYNC_TRY_STATE : BF_SYNC_TRY_PARITY, near, 0);
		for (uint32_t lane = 0; lane < BF_WARP_LANES; lane++) {
			in->address[lane] = k->shape.second >> lane & 1 ? far : near;
			in->token[lane] = k->token[lane];
			in->count[lane] = k->shape.odd >> lane & 1;
		}
		bf_warp_do(w);
		bf_lab_spend(w, in->parked ? 0 : CLOCK);
		for (uint32_t lane = 0; lane < BF_WARP_LANES; lane++) {
			if (!(left >> lane & 1))
				continue;
			if (k->tries[lane]++ == 0) {
				k->first[lane] = bf_lab_clock(w) - start;
				k->result[lane] = in->result >> lane & 1;
			}
			k->sum[lane] += bf_lab_clock(w) - start;
			k->total[lane] = bf_lab_clock(w) - begin + CODE;
		}
		w->exited |= in->result;
		left &= ~in->result;
		if (left)
			bf_lab_spend(w, k->shape.loop);
	}
}

static void park_init(struct bf_warp *w)
{
	struct park *k = w->arg;

	bf_warp_init(w, bf_lab_barrier(w->cta, 1, 8), 1);
	bf_warp_init(w, bf_lab_barrier(w->cta, 0, 8), k->shape.tokens ? 33 : 1);
	for (uint32_t lane = 0; k->shape.tokens && lane < BF_WARP_LANES; lane++) {
		k->token[lane] = bf_warp_arrive(w, bf_lab_barrier(w->cta, 0, 8));
		if (k->shape.opposite && HIGH >> lane & 1)
			k->token[lane] ^= BF_MBAR_PHASE;
	}
}

static void park_arrive(struct bf_warp *w)
{
	const struct park *k = w->arg;

	bf_lab_spend(w, k->arrive_at);
	bf_warp_arrive(w, bf_lab_barrier(w->cta, 0, 8));
	bf_warp_arrive(w, bf_lab_barrier(w->cta, 1, 8));
}

void bf_row_park_shape(struct bf_row *row)
{
	struct park k = { 0 };
	char text[96];
	int64_t lanes[BF_ROW_LIST], tries[BF_ROW_LIST], first[BF_ROW_LIST], result[BF_ROW_LIST], total[BF_ROW_LIST],
	    each[BF_ROW_LIST];
	const uint32_t n = bf_row_list(row, "lanes", lanes);
	struct bf_lab lab;

	bf_row_text(row, "shape", text, sizeof(text));
	if (!read_shape(text, &k.shape)) {
		row->problem = "the words of its shape say no experiment";
		return;
	}
	if (bf_row_list(row, "tries", tries) != n || bf_row_list(row, "first_try", first) != n ||
	    bf_row_list(row, "first_result", result) != n || bf_row_list(row, "total", total) != n ||
	    bf_row_list(row, "mean_try", each) != n) {
		row->problem = "the row's lists have different lengths";
		return;
	}
	k.arrive_at = k.shape.arrive_at ? k.shape.arrive_at : 5934000;
	if (bf_lab_open(&lab, row, 1, 2)) {
		bf_lab_warp(&lab, lab.cta[0], 1, 1, park_init, &k);
		bf_lab_run(&lab);
		for (uint32_t p = 0; p < 2; p++)
			if (k.shape.part[p])
				bf_lab_warp(&lab, lab.cta[0], 0, k.shape.part[p], park_main, &k)->exited = k.shape.gone;
		bf_lab_warp(&lab, lab.cta[0], 1, 1, park_arrive, &k);
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t lane = (uint32_t)(lanes[i] / 1000) % BF_WARP_LANES;

		bf_row_compare(row, "tries", tries[i], k.tries[lane] * 1000);
		bf_row_compare(row, "first_try", first[i], k.first[lane]);
		bf_row_exact(row, "first_result", result[i], k.result[lane] * 1000);
		bf_row_compare(row, "total", total[i], k.total[lane]);
		bf_row_compare(row, "mean_try", each[i], k.tries[lane] ? k.sum[lane] / k.tries[lane] : 0);
	}
}

/* ---- wake_lanes: each lane waits on a barrier of its own ---- */

#define LANES_LOOP 89000  /* from a false to the next try */
#define LANES_EACH 900    /* ... for each barrier that is waited for */
#define LANES_CLOCK 3000  /* clock reads, within the first try */
#define LANES_COLD 248000 /* after the first try: that loop's code is not there sooner */

struct lanes {
	uint32_t warps, lanes;
	int64_t begin, attempts, first, total_max;
};

static void lanes_main(struct bf_warp *w)
{
	struct lanes *k = w->arg;
	uint32_t left = w->active, tries = 0;
	const int64_t begin = bf_lab_clock(w);

	while (left) {
		const int64_t start = bf_lab_clock(w);
		struct bf_sync_instr *in;

		w->active = left;
		in = bf_lab_instr(w, BF_SYNC_TRY_PARITY, 0, 0);
		for (uint32_t lane = 0; lane < BF_WARP_LANES; lane++)
			in->address[lane] = bf_lab_barrier(w->cta, lane % k->lanes, 8);
		bf_warp_do(w);
		if (tries++ == 0) {
			bf_lab_spend(w, in->parked ? 0 : LANES_CLOCK);
			if (bf_lab_clock(w) - start < LANES_COLD)
				bf_lab_spend(w, LANES_COLD - (bf_lab_clock(w) - start));
			k->first += bf_lab_clock(w) - start;
		}
		k->attempts += __builtin_popcount(left) * 1000;
		left &= ~in->result;
		bf_lab_spend(w, LANES_LOOP + LANES_EACH * __builtin_popcount(left) * (int64_t)k->lanes / BF_WARP_LANES);
	}
	if (bf_lab_clock(w) - begin > k->total_max)
		k->total_max = bf_lab_clock(w) - begin;
}

static void lanes_init(struct bf_warp *w)
{
	const struct lanes *k = w->arg;

	for (uint32_t i = 0; i < k->lanes; i++)
		bf_warp_init(w, bf_lab_barrier(w->cta, i, 8), 1);
}

static void lanes_complete(struct bf_warp *w)
{
	const struct lanes *k = w->arg;

	bf_lab_spend(w, 3100000);
	for (uint32_t i = 0; i < k->lanes; i++) {
		bf_lab_instr(w, BF_SYNC_ARRIVE, bf_lab_barrier(w->cta, i, 8), 1);
		bf_warp_push(w);
		bf_lab_spend(w, bf_lab_between(i, k->lanes) - 8000);
	}
}

void bf_row_wake_lanes(struct bf_row *row)
{
	struct lanes k = { .warps = bf_row_u32(row, "warps"), .lanes = bf_row_u32(row, "lanes") };
	struct bf_lab lab;

	if (k.warps == 0 || k.warps > 31 || k.lanes == 0 || k.lanes > 32) {
		row->problem = "the row's numbers do not fit the experiment";
		return;
	}
	if (bf_lab_open(&lab, row, 1, k.warps + 1)) {
		bf_lab_warp(&lab, lab.cta[0], k.warps, 1, lanes_init, &k);
		bf_lab_run(&lab);
		for (uint32_t i = 0; i < k.warps; i++)
			bf_lab_warp(&lab, lab.cta[0], i, 0, lanes_main, &k);
		bf_lab_warp(&lab, lab.cta[0], k.warps, 1, lanes_complete, &k);
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	bf_row_compare(row, "total_max", bf_row_number(row, "total_max"), k.total_max);
	bf_row_compare(row, "attempts_mean", bf_row_number(row, "attempts_mean"),
		       k.attempts / (int64_t)(k.warps * BF_WARP_LANES));
	bf_row_compare(row, "first_try_mean", bf_row_number(row, "first_try_mean"), k.first / k.warps);
}
