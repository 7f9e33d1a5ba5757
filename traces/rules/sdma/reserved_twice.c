#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

#define RECENT 32u

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_span *s;

	/* The facts have it already: number 0. */
	for (uint64_t back = 1; back < RECENT && (s = bf_sdma_rule_reserve(q, back)) != NULL; back++) {
		struct bf_finding *f;

		if (e->sdma_reserve.from >= s->to || s->from >= e->sdma_reserve.to)
			continue;
		f = bf_rule_find(r, e, e->queue);
		if (!f)
			return;
		bf_finding_since(f, s->at_ps, s->record);
		bf_finding_index(f, e->sdma_reserve.from);
		bf_finding_say(f,
			       "%s reserved bytes %" PRIu64 " to %" PRIu64 " of %s, and %s had reserved %" PRIu64
			       " to %" PRIu64 " %s before: both write their packets there",
			       bf_rule_actor(r->rules, e->actor), e->sdma_reserve.from, e->sdma_reserve.to,
			       bf_rule_queue_name(r->rules, e->queue), bf_rule_actor(r->rules, s->actor), s->from,
			       s->to, bf_span_of(e->time_ps - s->at_ps).text);
		return;
	}
}

const struct bf_rule bf_rule_sdma_reserved_twice = {
	.about = {
		.id = "SDMA-RESERVED-TWICE",
		.family = "sdma",
		.title = "two producers reserved the same bytes of the ring",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine reads the ring's bytes in order. The producers must agree on who owns which bytes, " "by one index in memory.",
		.wrong = "The index was read and stored in two steps, so two producers got the same region: packets "
			 "overwrite each other, and one of the two submissions is never seen.",
		.fix = "Move the index by compare-and-swap from the value that was read, and begin again when somebody "
		       "else was faster.",
		.sources = "ROCm/ROCR-Runtime amd_blit_sdma.cpp BlitSdma::AcquireWriteAddress",
		.example = "run sdma-concurrent --producers 2 --queues 1 --commands 4 --bug reserve-store",
		.twin = "run sdma-concurrent --producers 2 --queues 1 --commands 4",
	},
	.rank = BF_RANK_ENTRY - 1,
	.records = BF_SEES(sdma_reserve),
	.on = on,
};
