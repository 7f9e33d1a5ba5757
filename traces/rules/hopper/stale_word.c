#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_seen_hopper_hazard *h = &e->hopper_hazard;
	struct bf_finding *f;

	if (h->event != BF_HAZARD_LOADED)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_say(f,
		       "warp %" PRIu64 " of block %" PRIu64 " loaded the word of the barrier at 0x%" PRIx64
		       ", which is alive: memory holds what the unit last wrote back, not how the barrier stands",
		       h->warp, h->block, h->address);
}

const struct bf_rule bf_rule_hopper_stale_word = {
	.about = {
		.id = "HOPPER-STALE-WORD",
		.family = "hopper",
		.title = "a barrier's word is loaded as data",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "While a barrier is in the unit's cache its word in shared memory is that of its last eviction; an H200 left it stale for as long as was waited.",
		.wrong = "A thread looks at a live barrier by a plain load: it sees an old word, forever if nothing evicts it.",
		.fix = "mbarrier.test_wait or try_wait, which ask the unit.",
		.sources = "docs/hardware/hopper.md#barrier-cache-3; docs/hardware/hopper.md#word-1",
		.example = "run mbarrier-pipeline --limit 200us --bug peek-word",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_ENTRY + 2,
	.records = BF_SEES(hopper_hazard),
	.on = on,
};
