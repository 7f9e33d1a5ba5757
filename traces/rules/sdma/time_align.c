#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (e->sdma_suspect.what != BF_SDMA_SUSPECT_TIMESTAMP)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->sdma_suspect.index);
	bf_finding_say(f, "TIMESTAMP at byte %" PRIu64 " of %s stores at 0x%" PRIx64 ", which is not a multiple of 32",
		       e->sdma_suspect.index, bf_rule_queue_name(r->rules, e->queue), e->sdma_suspect.address);
}

const struct bf_rule bf_rule_sdma_time_align = {
	.about = {
		.id = "SDMA-TIME-ALIGN",
		.family = "sdma",
		.title = "a timestamp is not 32-byte aligned",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "TIMESTAMP has address bits 31:3, and stores 8 bytes. ROCr and KFDTest give it 32-byte "
"aligned places.",
		.wrong = "Nothing public promises less than 32.",
		.fix = "Align timestamp slots to 32 bytes.",
		.sources = "docs/hardware/sdma.md#other-packets-9; ROCR-Runtime amd_blit_sdma.cpp BuildGetGlobalTimestampCommand; ROCm/rocm-systems KFDTest",
		.example = "run sdma-fence --limit 10ms --bug time-align",
		.twin = "run sdma-fence --limit 10ms",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(sdma_suspect),
	.on = on,
};
