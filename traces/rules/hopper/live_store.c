#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_seen_hopper_hazard *h = &e->hopper_hazard;
	struct bf_finding *f;

	if (h->event != BF_HAZARD_STORED)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_say(
	    f,
	    "warp %" PRIu64 " of block %" PRIu64 " stored data at 0x%" PRIx64
	    ", where a barrier is alive: it takes an mbarrier.inval before, or the unit writes the barrier over them",
	    h->warp, h->block, h->address);
}

const struct bf_rule bf_rule_hopper_live_store = {
	.about = {
		.id = "HOPPER-LIVE-STORE",
		.family = "hopper",
		.title = "data are stored over a live barrier",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The unit keeps a barrier's word in its cache and writes it back when the entry is needed. A plain store changes memory below it, and is lost or changes the barrier.",
		.wrong = "A thread stored data over a barrier that was not invalidated.",
		.fix = "mbarrier.inval before the bytes are used for anything else.",
		.sources = "docs/hardware/hopper.md#symptoms-17; triton-lang/triton#3858; facebookexperimental/triton#462",
		.example = "run mbarrier-pipeline --bug no-inval",
		.twin = "run mbarrier-pipeline",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(hopper_hazard),
	.on = on,
};
