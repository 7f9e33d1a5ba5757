#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *k =
	    bf_sdma_rule_packet_in(bf_sdma_rule_of(e->queue), e->sdma_suspect.index, e->sdma_suspect.indirect);
	struct bf_sdma_packet p;
	struct bf_finding *f;

	if (e->sdma_suspect.what != BF_SDMA_SUSPECT_RESERVED_BITS || !k || k->kind != BF_SDMA_KIND_RECT ||
	    !e->sdma_suspect.dword)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_sdma_rule_whole(bf_sdma_rule_of(e->queue), k, &p);
	bf_finding_index(f, k->index);
	bf_finding_say(f,
		       "dword %" PRIu64 " of %s at byte %" PRIu64 " of %s is 0x%08" PRIx64
		       ": a number in it is longer than its field, so that the engine copies %" PRIu64
		       " elements by %" PRIu64 " rows by %" PRIu64 " slices",
		       e->sdma_suspect.dword, k->name, k->index, bf_rule_queue_name(r->rules, e->queue),
		       e->sdma_suspect.value, p.x + 1, p.y + 1, p.z + 1);
}

const struct bf_rule bf_rule_sdma_rect_limit = {
	.about = {
		.id = "SDMA-RECT-LIMIT",
		.family = "sdma",
		.title = "a sub-window is larger than its fields",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Up to gfx11 x and y have 14 bits, z 11 or 13, a pitch 19 and a slice 28; ROCr's gfx12 "
"layout has 16, 14, 16 and 32.",
		.wrong = "A number does not fit: its upper bits fall into reserved ones or into its neighbour, and the " "engine copies only the size modulo the field's range.",
		.fix = "Cut the rectangle into tiles at 2^14 (2^16) elements and rows; for wider pitches take larger "
"elements or the X-Z form.",
		.sources = "docs/hardware/sdma.md#rects-4; ROCR-Runtime amd_blit_sdma.cpp BuildCopyRectCommand; ROCm/rocm-systems sdma_registers.h",
		.example = "run sdma-tiles --seed 2 --limit 10ms --bug rect-limit",
		.twin = "run sdma-tiles --seed 2 --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 2,
	.records = BF_SEES(sdma_suspect),
	.on = on,
};
