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
#define START 123000
#define CODE 86000

/* How the lanes ask: each part is lanes that go through the code together. */
static const struct shape {
	const char *name;
	uint32_t part[2]; /* lanes; 0: there is no such part */
	uint32_t gone;    /* lanes that have exited */
	uint32_t second;  /* lanes that name the second barrier */
	int64_t loop;
	bool tokens;       /* every lane has a token of its own of the current phase */
	bool opposite;     /* the high lanes have tokens of the phase before */
	int64_t arrive_at; /* of the completing arrive; 0: after 6000 cycles */
} shapes[] = {
	{ .name = "all lanes, one barrier", .part = { ALL } },
	{ .name = "halves split by a branch, one barrier", .part = { LOW, HIGH }, .loop = IN_TURN },
	{ .name = "halves split by a branch, two barriers", .part = { LOW, HIGH }, .second = HIGH, .loop = IN_TURN },
	{ .name = "one lane, others exited", .part = { 1 }, .gone = ~1u },
	{ .name = "16 lanes, others exited", .part = { LOW }, .gone = HIGH },
	{ .name = "16 lanes, others at the rejoin", .part = { LOW }, .loop = ALONE },
	{ .name = "one lane, others at the rejoin", .part = { 1 }, .loop = ALONE },
	{ .name = "last lane, others at the rejoin", .part = { 1u << 31 }, .loop = ALONE },
	{ .name = "16 lanes, other half spinning", .part = { LOW }, .loop = ALONE },
	{ .name = "31 lanes against 1, rejoined after each try",
	  .part = { ALL },
	  .second = 1u << 31,
	  .loop = REJOINED },
	{ .name = "halves on two barriers of one pair, rejoined after each try",
	  .part = { ALL },
	  .second = HIGH,
	  .loop = REJOINED },
	{ .name = "halves on two barriers, rejoined after each try",
	  .part = { ALL },
	  .second = HIGH,
	  .loop = REJOINED },
	{ .name = "all lanes, 32 different tokens of one phase",
	  .part = { ALL },
	  .tokens = true,
	  .arrive_at = 1085000 },
	{ .name = "halves with tokens of opposite phase",
	  .part = { ALL },
	  .tokens = true,
	  .opposite = true,
	  .loop = REJOINED + 129000,
	  .arrive_at = 1240000 },
};

struct park {
	const struct shape *shape;
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
		in = bf_lab_instr(w, k->shape->tokens ? BF_SYNC_TRY_STATE : BF_SYNC_TRY_PARITY, near, 0);
		for (uint32_t lane = 0; lane < BF_WARP_LANES; lane++) {
			in->address[lane] = k->shape->second >> lane & 1 ? far : near;
			in->token[lane] = k->token[lane];
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
			bf_lab_spend(w, k->shape->loop);
	}
}

static void park_init(struct bf_warp *w)
{
	struct park *k = w->arg;

	bf_warp_init(w, bf_lab_barrier(w->cta, 1, 8), 1);
	bf_warp_init(w, bf_lab_barrier(w->cta, 0, 8), k->shape->tokens ? 33 : 1);
	for (uint32_t lane = 0; k->shape->tokens && lane < BF_WARP_LANES; lane++) {
		k->token[lane] = bf_warp_arrive(w, bf_lab_barrier(w->cta, 0, 8));
		if (k->shape->opposite && HIGH >> lane & 1)
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

static const struct shape *find_shape(struct bf_row *row)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(shapes); i++)
		if (bf_row_is(row, "shape", shapes[i].name))
			return &shapes[i];
	row->problem = "there is no such shape";
	return NULL;
}

void bf_row_park_shape(struct bf_row *row)
{
	struct park k = { .shape = find_shape(row) };
	int64_t lanes[BF_ROW_LIST], tries[BF_ROW_LIST], first[BF_ROW_LIST], result[BF_ROW_LIST], total[BF_ROW_LIST],
	    each[BF_ROW_LIST];
	const uint32_t n = bf_row_list(row, "lanes", lanes);
	struct bf_lab lab;

	if (!k.shape)
		return;
	if (bf_row_list(row, "tries", tries) != n || bf_row_list(row, "first_try", first) != n ||
	    bf_row_list(row, "first_result", result) != n || bf_row_list(row, "total", total) != n ||
	    bf_row_list(row, "mean_try", each) != n) {
		row->problem = "the row's lists have different lengths";
		return;
	}
	k.arrive_at = k.shape->arrive_at ? k.shape->arrive_at : 5934000;
	if (bf_lab_open(&lab, row, 1, 2)) {
		bf_lab_warp(&lab, lab.cta[0], 1, 1, park_init, &k);
		bf_lab_run(&lab);
		for (uint32_t p = 0; p < 2; p++)
			if (k.shape->part[p])
				bf_lab_warp(&lab, lab.cta[0], 0, k.shape->part[p], park_main, &k)->exited =
				    k.shape->gone;
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

#define LANES_LOOP 87000  /* from a false to the next try */
#define LANES_COLD 248000 /* after the first try: that loop's code is not there sooner */
#define LANES_ARRIVES 12000

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
			if (bf_lab_clock(w) - start < LANES_COLD)
				bf_lab_spend(w, LANES_COLD - (bf_lab_clock(w) - start));
			k->first += bf_lab_clock(w) - start;
		}
		k->attempts += __builtin_popcount(left) * 1000;
		left &= ~in->result;
		bf_lab_spend(w, LANES_LOOP);
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
		bf_lab_spend(w, LANES_ARRIVES - 8000);
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
