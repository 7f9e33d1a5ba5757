/* A barrier phase by phase: who arrived, which bytes were expected and came, who waited; of the last one, who is
 * missing. */
#include <errno.h>
#include <stdlib.h>

#include "models/hopper/word.h"
#include "models/hopper/unit.h"
#include "traces/life/explain_internal.h"

#define WARPS 64u /* of an SM; others are counted as the last one */

struct phase {
	uint64_t begin_ps;
	uint32_t arrivals, remote, by[WARPS]; /* by[]: of each warp of the barrier's own SM */
	uint64_t expected, came;
	uint64_t waits; /* warps that have waited, a bit each */
	uint32_t pieces;
};

struct bf_explain_barrier {
	struct phase now, before; /* the open phase, and the one that ended last */
	uint64_t number, word, parked, asking;
	bool live, has_before;
};

void bf_explain_barrier_free(struct bf_explain *l)
{
	free(l->barrier);
}

static struct bf_explain_barrier *barrier_of(struct bf_explain *l, const struct bf_explain_view *v)
{
	const char *sm = strstr(v->actor, ".sm");
	char name[24];

	snprintf(name, sizeof(name), ".sm%" PRIu64, l->target.queue);
	if (!sm || strcmp(sm, name) != 0 || !bf_explain_from_device(l, v->actor) ||
	    bf_explain_get(v, "address") != l->target.index)
		return NULL;
	if (!l->barrier) {
		l->barrier = calloc(1, sizeof(*l->barrier));
		if (!l->barrier)
			l->status = -ENOMEM;
		else
			l->barrier->now.begin_ps = v->time_ps;
		snprintf(l->device, sizeof(l->device), "%.*s", (int)(sm - v->actor), v->actor);
	}
	return l->barrier;
}

/* "warps 1 to 4 and 7", or "no warp". */
static void warps_text(uint64_t mask, char *buf, size_t cap)
{
	size_t used = (size_t)snprintf(buf, cap, "%s", mask ? mask & (mask - 1) ? "warps" : "warp" : "no warp");

	for (uint32_t w = 0; w < WARPS && used < cap; w++) {
		uint32_t last = w;

		if (!(mask >> w & 1))
			continue;
		while (last + 1 < WARPS && mask >> (last + 1) & 1)
			last++;
		used += (size_t)snprintf(buf + used, cap - used, last > w ? "%s %u-%u" : "%s %u",
					 mask & ((1ull << w) - 1) ? "," : "", w, last);
		w = last;
	}
}

static uint64_t arrived_mask(const struct phase *p)
{
	uint64_t mask = 0;

	for (uint32_t w = 0; w < WARPS; w++)
		mask |= (uint64_t)(p->by[w] != 0) << w;
	return mask;
}

/* What a phase has had so far, as one sentence. */
static void phase_text(const struct phase *p, char *buf, size_t cap)
{
	char warps[80], bytes[64] = "";

	warps_text(arrived_mask(p), warps, sizeof(warps));
	if (p->expected || p->came)
		snprintf(bytes, sizeof(bytes), ", %" PRIu64 " bytes expected, %" PRIu64 " came", p->expected, p->came);
	snprintf(buf, cap, "%u arrivals (%s%s)%s", p->arrivals, warps, p->remote ? ", and peers" : "", bytes);
}

static void end_phase(struct bf_explain *l, struct bf_explain_barrier *b, const struct bf_explain_view *v,
		      const char *by)
{
	char text[160], warps[80];

	phase_text(&b->now, text, sizeof(text));
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "phase", "phase %" PRIu64 " ends with %s: %.140s",
					   b->number, by, text));
	if (b->now.waits) {
		warps_text(b->now.waits, warps, sizeof(warps));
		bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "waits",
						     "%s waited for it; it took %" PRIu64 " ns", warps,
						     (v->time_ps - b->now.begin_ps) / 1000));
	}
	b->before = b->now;
	b->has_before = true;
	b->now = (struct phase){ .begin_ps = v->time_ps };
	b->asking = 0;
	b->number++;
}

static void arrival(struct phase *p, const struct bf_explain_view *v, uint32_t lanes)
{
	const uint64_t warp = bf_explain_get(v, "warp"), count = bf_explain_get(v, "count");
	uint32_t n = 0;

	for (; lanes; lanes &= lanes - 1)
		n++;
	n = (n ? n : 1) * (uint32_t)(count < 1u << 20 ? count : 0);
	p->arrivals += n;
	p->expected += bf_explain_get(v, "tx");
	if (bf_explain_get(v, "remote"))
		p->remote += n;
	else
		p->by[warp < WARPS ? warp : WARPS - 1] += n;
}

static void on_op(struct bf_explain *l, const struct bf_explain_view *v)
{
	struct bf_explain_barrier *b = barrier_of(l, v);
	const uint64_t op = bf_explain_get(v, "op"), warp = bf_explain_get(v, "warp");
	const uint64_t before = bf_explain_get(v, "before"), after = bf_explain_get(v, "after");
	char name[24], by[64];

	if (!b)
		return;
	bf_explain_get_name(v, "op", name, sizeof(name));
	b->word = after;
	switch (op) {
	case BF_SYNC_INIT:
		b->number = 0;
		b->live = true;
		b->has_before = false;
		b->now = (struct phase){ .begin_ps = v->time_ps };
		bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "init",
						   "warp %" PRIu64 " initialises it for %u arrivals a phase", warp,
						   bf_mbar_expected(after)));
		return;
	case BF_SYNC_INVAL:
		b->live = false;
		bf_explain_push(
		    l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "inval", "warp %" PRIu64 " invalidates it", warp));
		return;
	case BF_SYNC_ARRIVE:
	case BF_SYNC_ARRIVE_DROP:
		arrival(&b->now, v, (uint32_t)bf_explain_get(v, "lanes"));
		break;
	case BF_SYNC_EXPECT_TX:
		b->now.expected += bf_explain_get(v, "tx");
		break;
	case BF_SYNC_COMPLETE_TX:
		b->now.came += bf_explain_get(v, "tx");
		b->now.pieces++;
		break;
	default:
		if (op >= BF_SYNC_TEST_PARITY && op <= BF_SYNC_TRY_STATE && !bf_explain_get(v, "result"))
			b->asking |= 1ull << (warp < WARPS ? warp : WARPS - 1);
		else if (op >= BF_SYNC_TEST_PARITY && op <= BF_SYNC_TRY_STATE)
			b->asking &= ~(1ull << (warp < WARPS ? warp : WARPS - 1));
		b->now.waits |= b->asking;
		return;
	}
	if (bf_mbar_phase(before) != bf_mbar_phase(after)) {
		snprintf(by, sizeof(by), op == BF_SYNC_COMPLETE_TX ? "the last bytes" : "%s by warp %" PRIu64, name,
			 warp);
		end_phase(l, b, v, by);
	}
}

static void on_wait(struct bf_explain *l, const struct bf_explain_view *v)
{
	struct bf_explain_barrier *b = barrier_of(l, v);
	const uint64_t warp = bf_explain_get(v, "warp"), event = bf_explain_get(v, "event");
	const uint64_t bit = 1ull << (warp < WARPS ? warp : WARPS - 1);

	if (!b)
		return;
	if (event == 0) {
		b->parked |= bit;
		b->now.waits |= bit;
	} else if (event >= 2 && event != 5) {
		b->parked &= ~bit; /* killed at the end of the kernel is still waiting */
	}
}

static void on_fault(struct bf_explain *l, const struct bf_explain_view *v)
{
	char reason[24];

	if (!barrier_of(l, v))
		return;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fault", "fault of warp %" PRIu64 ": %s",
					   bf_explain_get(v, "warp"),
					   bf_explain_get_name(v, "reason", reason, sizeof(reason))));
}

void bf_explain_barrier_end(struct bf_explain *l)
{
	struct bf_explain_barrier *b = l->barrier;
	char text[160], warps[80];
	uint64_t missing;
	int32_t tx;

	if (!b || !b->live)
		return;
	/* Without a wait nothing hangs on the phase that is open when a kernel ends. */
	if (!(b->parked | b->asking))
		return;
	tx = bf_mbar_tx(b->word);
	phase_text(&b->now, text, sizeof(text));
	warps_text(b->parked | b->asking, warps, sizeof(warps));
	bf_explain_missing(l, BF_EXPLAIN_DEVICE, "phase", "phase %" PRIu64 " never ends: %s; %.70s still wait",
			   b->number, text, warps);
	if (bf_mbar_pending(b->word))
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "arrivals", "missing: %u of %u arrivals",
				   bf_mbar_pending(b->word), bf_mbar_expected(b->word));
	missing = b->has_before ? arrived_mask(&b->before) & ~arrived_mask(&b->now) : 0;
	if (bf_mbar_pending(b->word) && missing) {
		warps_text(missing, warps, sizeof(warps));
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "arrivals", "of those who arrived in the phase before: %s",
				   warps);
	}
	if (tx)
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "bytes", "%s: %u bytes, where a phase ends at none",
				   tx > 0 ? "expected and not come" : "come and not expected",
				   (unsigned int)(tx > 0 ? tx : -tx));
	for (size_t i = l->nsteps; i-- > 0 && l->steps[i].record == UINT64_MAX;)
		l->steps[i].detail = i > 0 && l->steps[i - 1].record == UINT64_MAX;
}

const struct bf_explain_handler bf_explain_barrier_handlers[] = {
	{ "hopper_op", on_op },
	{ "hopper_wait", on_wait },
	{ "hopper_fault", on_fault },
	{ NULL, NULL },
};
