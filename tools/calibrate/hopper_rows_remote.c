/* Barriers of other blocks of a cluster. */
#include <stdio.h>
#include <string.h>

#include "tools/calibrate/hopper_rows.h"

#define MANY (1u << 19)

/*
 * Code around the operations, in thousandths of a cycle. TURN: from a true wait to the next remote operation. POLL:
 * from a false to the next try, when the other 31 lanes wait at the cluster barrier and the wait cannot park. OLD: what
 * the first probe's loop adds.
 */
#define TURN 53000
#define POLL 226500
#define RELEASES 32000 /* the rolled loop with the fences of a release */
#define AHEAD 200000   /* the other block waits before the first signal leaves */
#define ROUNDS 200u

struct turns {
	uint32_t peer;
	enum bf_sync_op op;
	bool release, acquire;
	bool itself;
	int64_t each;
};

static void wait_own(struct bf_warp *w, const struct turns *k, uint32_t own, uint32_t parity)
{
	for (;;) {
		bf_lab_instr(w, BF_SYNC_TRY_PARITY, own, parity)->release = k->acquire;
		bf_warp_do(w);
		w->instr.release = false;
		if (w->instr.result)
			return;
		bf_lab_spend(w, POLL);
	}
}

static void signal_other(struct bf_warp *w, const struct turns *k, uint32_t other)
{
	struct bf_sync_instr *in = bf_lab_instr(w, k->op, other, 1);

	in->release = k->release;
	for (uint32_t lane = 0; k->op == BF_SYNC_ST_ASYNC && lane < BF_WARP_LANES; lane++) {
		in->tx[lane] = 8;
		in->data[lane] = other + 64;
	}
	bf_warp_push(w);
	in->release = false;
}

static void turns_main(struct bf_warp *w)
{
	struct turns *k = w->arg;
	const uint32_t rank = bf_hopper_cta_rank(w->cta), own = bf_lab_barrier(w->cta, 0, 64);
	const uint32_t other = bf_hopper_map(own, k->itself ? rank : rank ? 0 : k->peer);
	const bool stores = k->op == BF_SYNC_ST_ASYNC;
	int64_t start;

	bf_warp_init(w, own, 1);
	bf_lab_spend(w, rank ? 1000000 - AHEAD : 1000000);
	start = bf_lab_clock(w);
	if (rank == 0)
		signal_other(w, k, other);
	for (uint32_t n = 0; n < ROUNDS; n++) {
		if (stores) {
			bf_lab_instr(w, BF_SYNC_ARRIVE, own, 1)->tx[__builtin_ctz(w->active)] = 8;
			bf_warp_do(w);
		}
		wait_own(w, k, own, n & 1);
		bf_lab_spend(w, k->itself ? 0 : TURN);
		signal_other(w, k, other);
	}
	if (rank == 0)
		k->each = (bf_lab_clock(w) - start) / (2 * (int64_t)ROUNDS);
}

static int64_t run_turns(struct bf_row *row, struct turns *k, uint32_t cluster, uint32_t lanes)
{
	struct bf_lab lab;

	k->itself |= k->peer == 0;
	if (cluster < 1 || cluster > BF_HOPPER_CLUSTER_MAX || k->peer >= cluster) {
		row->problem = "the row's numbers do not fit the experiment";
		return 0;
	}
	if (bf_lab_open(&lab, row, cluster, 1)) {
		struct bf_warp *a = bf_lab_warp(&lab, lab.cta[0], 0, 1, turns_main, k), *b = a;

		if (!k->itself)
			b = bf_lab_warp(&lab, lab.cta[k->peer], 0, 1, turns_main, k);
		if (lanes == 1) {
			bf_lab_alone(a);
			bf_lab_alone(b);
		}
		bf_lab_run(&lab);
	}
	bf_lab_close(&lab);
	return k->itself ? k->each * 2 : k->each;
}

void bf_row_remote_pingpong(struct bf_row *row)
{
	struct turns k = { .peer = bf_row_u32(row, "peer"), .op = BF_SYNC_ARRIVE };
	char mode[64];
	uint32_t n = bf_row_text(row, "mode", mode, sizeof(mode));

	k.release = strncmp(mode, "release", 7) == 0;
	k.acquire = n > 20 && strstr(mode, "acquire.cluster") != NULL;
	k.itself = strstr(mode, "itself") || strncmp(mode, "local", 5) == 0;
	if (strncmp(mode, "st.async", 8) == 0)
		k.op = BF_SYNC_ST_ASYNC;
	else if (!k.release && !k.itself && strncmp(mode, "relaxed", 7) != 0)
		row->problem = "there is no such mode";
	n = bf_row_is(row, "other_lanes", "none");
	bf_row_compare(row, "cycles_one_way", bf_row_number(row, "cycles_one_way"),
		       run_turns(row, &k, bf_row_u32(row, "cluster"), n ? 1 : 32));
}

void bf_row_cluster_remote_arrive(struct bf_row *row)
{
	struct turns k = { .peer = 1, .op = BF_SYNC_ARRIVE, .release = true };

	bf_row_compare(row, "cycles_one_way", bf_row_number(row, "cycles_one_way"), run_turns(row, &k, 2, 32));
}

/* ---- rates ---- */

struct flood {
	uint32_t each, warps;
	bool same, release, rolled;
	int64_t start, pushed; /* the senders' time in all */
	int64_t woken;
};

static void flood_main(struct bf_warp *w)
{
	struct flood *k = w->arg;
	const uint32_t sender = (bf_hopper_cta_rank(w->cta) - 1) * k->warps + w->warp;
	const uint32_t to = bf_hopper_map((k->same ? 0 : (1 + sender % 255) * 8), 0);
	const int64_t start = bf_lab_clock(w);

	for (uint32_t i = 0; i < k->each; i++) {
		bf_lab_instr(w, BF_SYNC_ARRIVE, to, 1)->release = k->release;
		if (k->rolled)
			bf_warp_push_rolled(w);
		else
			bf_warp_push(w);
		bf_lab_spend(w, k->release ? RELEASES : 0);
	}
	k->pushed += bf_lab_clock(w) - start;
}

static void receive_main(struct bf_warp *w)
{
	struct flood *k = w->arg;

	while (!bf_warp_try(w, bf_lab_barrier(w->cta, 0, 8), 0))
		;
	k->woken = bf_lab_clock(w);
}

/* With a barrier for each sender there is no one waiter: when the last arrival came. */
static int64_t last_arrival(struct bf_lab *lab)
{
	const struct bf_sync_unit *unit = bf_hopper_cta_unit(lab->cta[0]);
	uint64_t last = 0;

	for (uint32_t i = 0; i < 256; i++) {
		const uint64_t when = bf_sync_history(unit, bf_hopper_cta_base(lab->cta[0]) + i * 8).when_ps;

		last = when > last ? when : last;
	}
	return (int64_t)(last * 1000 / lab->row->profile->cycle_ps);
}

struct counts {
	uint32_t count[256];
};

static void counts_main(struct bf_warp *w)
{
	const struct counts *c = w->arg;

	for (uint32_t i = 0; i < 256; i++)
		bf_warp_init(w, bf_lab_barrier(w->cta, i, 8), c->count[i] ? c->count[i] : 1);
	for (uint32_t i = 0; i < 256; i++)
		if (!c->count[i])
			bf_warp_arrive(w, bf_lab_barrier(w->cta, i, 8));
}

void bf_row_remote_throughput(struct bf_row *row)
{
	const uint32_t cluster = bf_row_u32(row, "cluster"), senders = bf_row_u32(row, "senders");
	const uint32_t lanes = bf_row_u32(row, "lanes");
	struct flood k = {
		.each = bf_row_u32(row, "each"),
		.warps = bf_row_u32(row, "warps"),
		.same = bf_row_u32(row, "same_barrier"),
		.release = bf_row_is(row, "sem", "release"),
		.rolled = bf_row_is(row, "loop", "rolled"),
	};
	const int64_t instrs = (int64_t)senders * k.warps * k.each;
	struct counts c = { { 0 } };
	struct bf_lab lab;
	int64_t start = 0;

	if (cluster < 2 || cluster > BF_HOPPER_CLUSTER_MAX || senders == 0 || senders >= cluster || k.warps == 0 ||
	    k.warps > 32 || lanes == 0 || lanes > 32 || instrs * lanes > (1 << 20) * 32ll || instrs == 0) {
		row->problem = "the row's numbers do not fit the experiment";
		return;
	}
	for (uint32_t s = 0; s < senders * k.warps; s++)
		c.count[k.same ? 0 : 1 + s % 255] += k.each * lanes;
	if (bf_lab_open(&lab, row, cluster, k.warps + 1)) {
		bf_lab_warp(&lab, lab.cta[0], 0, 1, counts_main, &c);
		bf_lab_run(&lab);
		start = (int64_t)(lab.sim->now_ps * 1000 / row->profile->cycle_ps);
		if (k.same)
			bf_lab_warp(&lab, lab.cta[0], 0, 0, receive_main, &k);
		for (uint32_t s = 1; s <= senders; s++)
			for (uint32_t i = 0; i < k.warps; i++)
				bf_lab_warp(&lab, lab.cta[s], i, lanes == 32 ? 0 : (1u << lanes) - 1, flood_main, &k);
		bf_lab_run(&lab);
		k.woken = k.same ? k.woken : last_arrival(&lab);
	}
	bf_lab_close(&lab);
	bf_row_compare(row, "cycles_per_warp_instr", bf_row_number(row, "cycles_per_warp_instr"),
		       (k.woken - start) / instrs);
	bf_row_compare(row, "cycles_per_arrive", bf_row_number(row, "cycles_per_arrive"),
		       (k.woken - start) / (instrs * lanes));
}
