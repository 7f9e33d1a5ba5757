/* Barriers of SMs: which record moves which, and of those that warps wait at, what is missing. */
#include <stdlib.h>

#include "models/hopper/unit.h"
#include "models/hopper/word.h"
#include "sim/grow.h"
#include "traces/life/explain_internal.h"
#include "traces/life/stuck_internal.h"

static struct bf_stuck_barrier *barrier_of(struct bf_stuck *s, uint32_t actor, uint64_t address)
{
	const uint64_t key[3] = { actor, address, 0 };
	uint64_t at = bf_number_get(&s->barriers, key);
	struct bf_stuck_barrier *b;

	if (at)
		return &s->barrier[at - 1];
	if (BF_GROW(s->barrier, s->cap_barriers, s->nbarriers + 1))
		return NULL;
	b = &s->barrier[s->nbarriers++];
	*b = (struct bf_stuck_barrier){ .actor = actor, .address = address };
	if (bf_number_put(&s->barriers, key, s->nbarriers))
		return NULL;
	return b;
}

ROW(on_hopper_op)
{
	struct bf_stuck_barrier *b = barrier_of(s, rec->actor, bf_stuck_field(rec, "address"));
	const uint64_t op = bf_stuck_field(rec, "op"), before = bf_stuck_field(rec, "before"),
		       after = bf_stuck_field(rec, "after");
	const uint64_t warp = 1ull << (bf_stuck_field(rec, "warp") & 63);

	(void)actor;
	s->ran = true;
	if (!b)
		return bf_stuck_no_memory(s);
	if (op >= BF_SYNC_TEST_PARITY && op <= BF_SYNC_TRY_STATE) {
		if (bf_stuck_field(rec, "result"))
			b->asking &= ~warp;
		else if (!(b->asking & warp))
			b->asking |= warp;
		return 0;
	}
	if (op > BF_SYNC_ARRIVE_DROP + 2)
		return 0;
	b->word = after;
	b->live = op != BF_SYNC_INVAL;
	if (op == BF_SYNC_INIT) {
		b->phases = b->parked = b->asking = b->arrived = b->arrived_before = 0;
		b->since_ps = rec->time_ps;
	} else if (op == BF_SYNC_ARRIVE || op == BF_SYNC_ARRIVE_DROP) {
		b->arrived |= bf_stuck_field(rec, "remote") ? 0 : warp;
	}
	if (op != BF_SYNC_INIT && bf_mbar_phase(before) != bf_mbar_phase(after)) {
		b->phases++;
		b->arrived_before = b->arrived;
		b->arrived = b->asking = 0;
		b->since_ps = rec->time_ps;
	}
	return 0;
}

ROW(on_hopper_wait)
{
	struct bf_stuck_barrier *b = barrier_of(s, rec->actor, bf_stuck_field(rec, "address"));
	const uint64_t event = bf_stuck_field(rec, "event"), warp = 1ull << (bf_stuck_field(rec, "warp") & 63);

	(void)actor;
	if (!b)
		return bf_stuck_no_memory(s);
	if (event == 0)
		b->parked |= warp;
	else if (event >= 2 && event != 5)
		b->parked &= ~warp;
	return 0;
}

const struct bf_stuck_row bf_stuck_barrier_rows[] = {
	{ "hopper_op", on_hopper_op },
	{ "hopper_wait", on_hopper_wait },
	{ NULL, NULL },
};

/* ---- what is left ---- */

/* "warp 5", "warps 1, 2" */
static void say_warps(struct bf_stuck_group *g, uint64_t mask)
{
	const char *comma = mask & (mask - 1) ? "warps " : "warp ";

	for (unsigned w = 0; w < 64; w++) {
		if (!(mask >> w & 1))
			continue;
		bf_stuck_say(g, "%s%u", comma, w);
		comma = ", ";
	}
}

/* Where warps wait that were to arrive here. */
static void say_elsewhere(const struct bf_stuck *s, const struct bf_stuck_barrier *b, uint64_t missing,
			  struct bf_stuck_group *g)
{
	for (size_t i = 0; i < s->nbarriers; i++) {
		const struct bf_stuck_barrier *x = &s->barrier[i];

		if (x == b || x->actor != b->actor || !((x->parked | x->asking) & missing))
			continue;
		bf_stuck_say(g, " (");
		say_warps(g, (x->parked | x->asking) & missing);
		bf_stuck_say(g, " at barrier 0x%" PRIx64 ")", x->address);
	}
}

static void say_barrier(const struct bf_stuck *s, const struct bf_stuck_barrier *b, struct bf_stuck_group *g)
{
	const uint32_t pending = bf_mbar_pending(b->word);
	const int32_t tx = bf_mbar_tx(b->word);
	const uint64_t missing = b->arrived_before & ~b->arrived;

	bf_stuck_say(g, "phase %" PRIu64 " of barrier 0x%" PRIx64 " does not end: ", b->phases, b->address);
	if (pending) {
		bf_stuck_say(g, "%u of %u arrivals are missing", pending, bf_mbar_expected(b->word));
		if (b->arrived) {
			bf_stuck_say(g, ", there have been those of ");
			say_warps(g, b->arrived);
		}
		if (missing) {
			bf_stuck_say(g, "; of those who arrived in the phase before, these have not: ");
			say_warps(g, missing);
			say_elsewhere(s, b, missing, g);
		}
	}
	if (tx)
		bf_stuck_say(g, "%s%u bytes %s", pending ? "; " : "", (unsigned int)(tx > 0 ? tx : -tx),
			     tx > 0 ? "are expected and have not come" : "have come that were not expected");
	if (!pending && !tx)
		bf_stuck_say(g, "all has come; the wait is for another phase");
	bf_stuck_say(g, "; waiting: ");
	say_warps(g, b->parked | b->asking);
}

static unsigned count_bits(uint64_t x)
{
	unsigned n = 0;

	for (; x; x &= x - 1)
		n++;
	return n;
}

static int by_since(const void *a, const void *b)
{
	const struct bf_stuck_group *x = a, *y = b;

	if (x->since_ps != y->since_ps)
		return x->since_ps < y->since_ps ? -1 : 1;
	return strcmp(x->where, y->where);
}

/* The one whose phase began first is what the others wait for, as a rule. */
int bf_stuck_group_barriers(struct bf_stuck *s)
{
	const uint32_t first = s->ngroups;

	for (size_t i = 0; i < s->nbarriers; i++) {
		const struct bf_stuck_barrier *b = &s->barrier[i];
		const uint64_t waiting = b->parked | b->asking;
		const char *actor = bf_trace_actor_name(s->trace, b->actor), *sm = strstr(actor, ".sm");
		struct bf_stuck_group *g;

		if (!b->live || !waiting)
			continue;
		g = bf_stuck_new_group(s);
		if (!g)
			return bf_stuck_no_memory(s);
		snprintf(g->where, sizeof(g->where), "%.40s:0x%" PRIx64, actor, b->address);
		g->kind = "waiting warp";
		g->missing = bf_mbar_pending(b->word) ? "arrivals" : bf_mbar_tx(b->word) ? "bytes" : "phase";
		g->count = count_bits(waiting);
		g->since_ps = b->since_ps;
		g->explained = sm != NULL;
		g->oldest = (struct bf_explain_target){ .kind = BF_EXPLAIN_BARRIER, .index = b->address, .nth = 1 };
		if (sm) {
			snprintf(g->oldest.device, sizeof(g->oldest.device), "%.*s", (int)(sm - actor), actor);
			g->oldest.queue = strtoull(sm + 3, NULL, 10);
		}
		say_barrier(s, b, g);
	}
	if (s->ngroups > first)
		qsort(s->groups + first, s->ngroups - first, sizeof(*s->groups), by_since);
	return 0;
}
