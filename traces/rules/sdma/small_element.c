#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* Everything that the element divides, or'ed together: bases may be aligned to a dword and still have large elements.
 */
static uint64_t divided(const struct bf_sdma_packet *p)
{
	return (p->x + 1) | (p->src_pitch + 1) | (p->dst_pitch + 1) | p->src_x | p->dst_x |
	       (p->z ? (p->src_slice + 1) | (p->dst_slice + 1) : 0);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_begun *k = bf_sdma_rule_packet_back(q, 0);
	struct bf_sdma_packet p;
	struct bf_finding *f;

	if (!k || k->kind != BF_SDMA_KIND_RECT || k->dwords != BF_SDMA_RECT_DWORDS)
		return;
	bf_sdma_rule_whole(q, k, &p);
	if (p.element >= 2 || divided(&p) & ((4u >> p.element) - 1))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, k->index);
	bf_finding_say(f,
		       "%s at byte %" PRIu64 " of %s moves %" PRIu64
		       " elements of %u bytes a row, and everything in it is a "
		       "multiple of 4 bytes",
		       k->name, k->index, bf_rule_queue_name(r->rules, e->queue), p.x + 1, 1u << p.element);
}

const struct bf_rule bf_rule_sdma_small_element = {
	.about = {
		.id = "SDMA-SMALL-ELEMENT",
		.family = "sdma",
		.title = "a sub-window is copied in small elements",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "A sub-window copy moves elements of 1 to 16 bytes, and small ones at the same rate as "
"large ones.",
		.wrong = "Rows, pitches and offsets would allow a larger element: correct, but several times slower than " "necessary.",
		.fix = "The largest element that divides pitches, slices, offsets and width; cut off an odd end as a "
"tile of its own.",
		.sources = "docs/hardware/sdma.md#rects-7; ROCR-Runtime amd_blit_sdma.cpp BuildCopyRectCommand; Mesa src/amd/common/ac_cmdbuf_sdma.c",
		.example = "run sdma-rect --element 1",
		.twin = "run sdma-rect --element 16",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(sdma_packet),
	.when = BF_SDMA_RULE_RECT,
	.whens = 1,
	.on = on,
};
