#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_sdma_packet p;
	struct bf_finding *f;
	uint32_t header;

	if (e->sdma_fault.reason != BF_SDMA_MISALIGNED || !bf_sdma_rule_fault_header(e, &header))
		return;
	bf_sdma_decode(&bf_sdma_rule_of(e->queue)->dialect, &header, 1, &p);
	f = p.kind == BF_SDMA_KIND_RECT ? bf_sdma_rule_find_fault(r, e) : NULL;
	if (f)
		bf_finding_say(f, ": the low bits of the base belong into the x offset");
}

const struct bf_rule bf_rule_sdma_rect_base = {
	.about = {
		.id = "SDMA-RECT-BASE",
		.family = "sdma",
		.title = "a sub-window's base is not dword aligned",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Both bases of a sub-window are dword aligned; a start inside a dword is said by the x "
"offset.",
		.wrong = "The engine stops the queue. hipMemcpy3D with an x position that is not a multiple of 4 and "
"aligned pitches gets ROCr's base_align error for the same reason, and falls back to a "
"shader.",
		.fix = "Round the base down to 4 and add (address & 3) >> element to x.",
		.sources = "docs/hardware/sdma.md#rects-3; ROCR-Runtime amd_blit_sdma.cpp BuildCopyRectCommand, SubmitCopyRectCommand; ROCm/clr rocblit.cpp copyBufferRect",
		.example = "run sdma-tiles --limit 10ms --bug rect-base",
		.twin = "run sdma-tiles --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 3,
	.records = BF_SEES(sdma_fault),
	.on = on,
};
