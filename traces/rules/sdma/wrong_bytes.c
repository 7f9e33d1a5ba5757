#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = bf_rule_find(r, e, NULL);

	if (f && !bf_sdma_rule_blame(r, f, e->sdma_mismatch.va))
		bf_finding_say(f,
			       "the byte at 0x%" PRIx64 " is 0x%02" PRIx64 " and should be 0x%02" PRIx64
			       ": no copy went near it",
			       e->sdma_mismatch.va, e->sdma_mismatch.found, e->sdma_mismatch.wanted);
}

const struct bf_rule bf_rule_sdma_wrong_bytes = {
	.about = {
		.id = "SDMA-WRONG-BYTES",
		.family = "sdma",
		.title = "the result differs from what the workload expects",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine moves exactly the bytes that its packets describe.",
		.wrong = "Everything was executed in order and the result is wrong: a count, a pitch, an extent or "
			 "an address in a packet differs from what was meant.",
		.fix = "Counts are bytes minus one; pitches minus one, in elements or bytes as the form wants; "
		       "extents minus one in elements.",
		.sources = "docs/hardware/sdma.md#copy; ROCR-Runtime amd_blit_sdma.cpp; Linux amdgpu *_sdma_pkt_open.h",
		.example = "run sdma-copy --size 4104 --limit 10ms --bug copy-tail",
		.twin = "run sdma-copy --size 4104 --limit 10ms",
	},
	.rank = BF_RANK_EFFECT,
	.records = BF_SEES(sdma_mismatch),
	.on = on,
};
