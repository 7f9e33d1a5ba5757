#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* Cut by the element size, rows would fit. */
static bool bytes_for_elements(const struct bf_sdma_packet *p)
{
	const uint64_t width = (p->x + 1) >> p->element;

	return p->element && (p->x + 1) % (1ull << p->element) == 0 && p->src_x + width <= p->src_pitch + 1 &&
	       p->dst_x + width <= p->dst_pitch + 1;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *k =
	    bf_sdma_rule_packet_in(bf_sdma_rule_of(e->queue), e->sdma_suspect.index, e->sdma_suspect.indirect);
	struct bf_finding *f =
	    e->sdma_suspect.what == BF_SDMA_SUSPECT_OUT_OF_SURFACE && k ? bf_rule_find(r, e, e->queue) : NULL;
	struct bf_sdma_packet p;

	if (!f)
		return;
	bf_sdma_rule_whole(bf_sdma_rule_of(e->queue), k, &p);
	bf_finding_index(f, k->index);
	bf_finding_say(f,
		       "%s at byte %" PRIu64 " of %s, which moves %" PRIu64 " bytes to 0x%" PRIx64 ", has %" PRIu64
		       " rows of %" PRIu64 " elements of %u bytes and pitches of %" PRIu64 " and %" PRIu64
		       ": rows run into each other%s",
		       k->name, k->index, bf_rule_queue_name(r->rules, e->queue), k->bytes, k->dst, p.y + 1, p.x + 1,
		       1u << p.element, p.src_pitch + 1, p.dst_pitch + 1,
		       bytes_for_elements(&p) ? "; the width looks like bytes where elements are counted" : "");
}

const struct bf_rule bf_rule_sdma_surface = {
	.about = {
		.id = "SDMA-SURFACE",
		.family = "sdma",
		.title = "a rect's rows or slices run into each other",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "x, pitch, slice and width of a sub-window count elements, y rows, z slices. The engine "
"adds them up and checks nothing.",
		.wrong = "A row is wider than its pitch, or the rows of a slice reach into the next one: the copy "
"reads and writes other rows than were meant. No document says what is done where they meet.",
		.fix = "Divide bytes by the element size before storing; keep offset + width within the pitch and (y + "
"rows) * pitch within the slice, as ROCr checks (width_range, height_range).",
		.sources = "docs/hardware/sdma.md#rects-5; ROCR-Runtime amd_blit_sdma.cpp SubmitCopyRectCommand",
		.example = "run sdma-rect --element 16 --limit 10ms --bug rect-bytes",
		.twin = "run sdma-rect --element 16 --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 5,
	.records = BF_SEES(sdma_suspect),
	.on = on,
};
