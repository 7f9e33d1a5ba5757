#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* The field is a rounder number than the pitch that it means: of the slice, of dwords, or of two. */
static bool looks_raw(const struct bf_sdma_packet *p, uint64_t field, uint64_t slice)
{
	if (!field || !p->y)
		return false;
	if (slice)
		return (slice + 1) % field == 0 && (slice + 1) % (field + 1) != 0;
	return (((field + 1) << p->element) % 4 && (field << p->element) % 4 == 0) || (field & (field - 1)) == 0;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bool written;
	struct bf_sdma_packet p;
	const struct bf_sdma_rule_begun *k = bf_sdma_rule_near(r, e->sdma_mismatch.va, &p, &written);
	struct bf_finding *f;
	bool src, dst;

	if (!k || k->kind != BF_SDMA_KIND_RECT)
		return;
	src = looks_raw(&p, p.src_pitch, p.src_slice);
	dst = looks_raw(&p, p.dst_pitch, p.dst_slice);
	f = src || dst ? bf_rule_find(r, e, NULL) : NULL;
	if (!f)
		return;
	if (!bf_sdma_rule_blame(r, f, e->sdma_mismatch.va))
		f->dropped = true;
	bf_finding_say(
	    f,
	    ". Its %s pitch is stored as %" PRIu64 ", which means %" PRIu64 " elements: it looks like the pitch itself",
	    dst ? "destination" : "source", dst ? p.dst_pitch : p.src_pitch, (dst ? p.dst_pitch : p.src_pitch) + 1);
}

const struct bf_rule bf_rule_sdma_rect_pitch = {
	.about = {
		.id = "SDMA-RECT-PITCH",
		.family = "sdma",
		.title = "a pitch is stored without subtracting one",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Pitch, slice pitch and the three extents of a sub-window are stored minus one; offsets "
"are stored as they are.",
		.wrong = "The engine uses a pitch of one element more: each row begins one element later than the one " "before.",
		.fix = "Store pitch - 1.",
		.sources = "docs/hardware/sdma.md#rects-1; ROCR-Runtime amd_blit_sdma.cpp BuildCopyRectCommand; Linux amdgpu *_sdma_pkt_open.h",
		.example = "run sdma-rect --limit 10ms --bug rect-pitch",
		.twin = "run sdma-rect --limit 10ms",
	},
	.rank = BF_RANK_EFFECT - 12,
	.records = BF_SEES(sdma_mismatch),
	.on = on,
};
