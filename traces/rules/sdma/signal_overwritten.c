#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_sdma_rule_run *run = bf_sdma_rule_run(r);
	const struct bf_sdma_rule_piece *p;
	struct bf_finding *f;

	for (uint64_t back = 0; (p = bf_sdma_rule_piece_back(run, back)) != NULL; back++) {
		if (!bf_sdma_rule_writes(p, e->deadlock.va))
			continue;
		f = bf_rule_find(r, e, NULL);
		if (f && !bf_sdma_rule_blame(r, f, e->deadlock.va))
			f->dropped = true;
		return;
	}
}

const struct bf_rule bf_rule_sdma_signal_overwritten = {
	.about = {
		.id = "SDMA-SIGNAL-OVERWRITTEN",
		.family = "sdma",
		.title = "a copy wrote over the word that a thread waits for",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A copy writes what its packet says: counts are minus one, pitches in elements or bytes "
			    "as the form wants.",
		.wrong = "The copy went further than was meant and destroyed a signal. A thread that waits for it "
			 "waits forever.",
		.fix = "Check the packet that the finding names.",
		.sources = "docs/hardware/sdma.md#signals; ROCR-Runtime amd_blit_sdma.cpp",
		.example = "run sdma-fill --limit 10ms --bug fill-over",
		.twin = "run sdma-fill --limit 10ms",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(deadlock),
	.on = on,
};
