#include <inttypes.h>

#include "sim/bytes.h"
#include "traces/rules/sdma/sdma.h"

/* The last store to the low half of a signal whose two halves are polled, as it became visible. */
struct state {
	struct bf_store shown[16];
	uint32_t n;
};

static const struct bf_store *between(const struct state *s, uint64_t va, uint64_t low_ps, uint64_t high_ps)
{
	for (uint32_t i = 0; i < s->n && i < BF_ARRAY_LEN(s->shown); i++) {
		const struct bf_store *x = &s->shown[i];

		if (x->va == va && x->visible_ps > low_ps && x->visible_ps <= high_ps && bf_get_le32(x->bytes))
			return x;
	}
	return NULL;
}

static void judge(struct bf_rule_run *r, const struct bf_seen *e, const struct bf_sdma_rule_begun *low,
		  const struct bf_sdma_rule_begun *high)
{
	const struct bf_store *s = between(r->state, low->dst, low->held_ps, high->held_ps);
	struct bf_finding *f = s ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, low->index);
	bf_finding_since(f, low->held_ps, low->record);
	bf_finding_say(
	    f,
	    "the polls at bytes %" PRIu64 " and %" PRIu64 " of %s look at the low half of the signal at 0x%" PRIx64
	    " and then at the high half: the low one was 0 before %s stored 0x%" PRIx64
	    ", the high one after it, and the signal was never 0 as a whole; a counter that falls is polled high half "
	    "first",
	    low->index, high->index, bf_rule_queue_name(r->rules, e->queue), low->dst,
	    bf_rule_actor(r->rules, s->actor), bf_get_le64(s->bytes));
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *low = NULL, *high;
	struct state *s = r->state;
	const struct bf_store *shown;

	if (e->kind == BF_SEEN_store_visible) {
		shown = e->store_visible.len == 8 ? bf_stores_shown(bf_rule_stores(r->rules), 0) : NULL;
		if (shown)
			s->shown[s->n++ % BF_ARRAY_LEN(s->shown)] = *shown;
		return;
	}
	for (uint64_t back = 0; (high = bf_sdma_rule_packet_back(bf_sdma_rule_of(e->queue), back)) != NULL; back++) {
		low = bf_sdma_rule_packet_back(bf_sdma_rule_of(e->queue), back + 1);
		if (high->index == e->sdma_result.index)
			break;
	}
	/* Stores after the first poll are the first that matter. */
	if (high && high->kind == BF_SDMA_KIND_POLL)
		bf_rule_spare(r, BF_SEEN_NONE);
	if (high && low && high->held_ps == e->time_ps && low->held_ps != BF_NEVER && low->kind == BF_SDMA_KIND_POLL &&
	    high->dst == low->dst + 4)
		judge(r, e, low, high);
}

const struct bf_rule bf_rule_sdma_poll_halves = {
	.about = {
		.id = "SDMA-POLL-HALVES",
		.family = "sdma",
		.title = "a 64-bit dependency is polled low half first",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "POLL_REGMEM compares 32 bits (before v7: no 64-bit form). A counter that falls borrows "
			    "from its high half.",
		.wrong = "The low half was 0 before a store and the high half after it: the signal was never 0 as a "
			 "whole, and both polls held.",
		.fix = "Poll the high half first, then the low one, when the counter falls.",
		.sources = "docs/hardware/sdma.md#other-packets-6; ROCR-Runtime amd_blit_sdma.cpp BuildPollCommand",
		.example = "run sdma-fence --limit 10ms --bug poll-low-first",
		.twin = "run sdma-fence --limit 10ms",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(sdma_result, store_visible),
	.spares = BF_SEEN_store_visible,
	.on = on,
	.state_bytes = sizeof(struct state),
};
