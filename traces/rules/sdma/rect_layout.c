#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* In this queue's layout the packet makes no sense, and in the other one it does. */
static bool other_layout(const struct bf_sdma_rule_queue *q, const struct bf_sdma_rule_begun *k,
			 struct bf_sdma_packet *as_is, struct bf_sdma_packet *other)
{
	struct bf_sdma_dialect d = q->dialect;

	if (!k || k->kind != BF_SDMA_KIND_RECT || k->dwords != BF_SDMA_RECT_DWORDS)
		return false;
	bf_sdma_rule_whole(q, k, as_is);
	if (bf_sdma_rule_rect_fits(as_is))
		return false;
	d.wide_rect = !d.wide_rect;
	return bf_sdma_decode(&d, k->dw, BF_SDMA_RECT_DWORDS, other) == BF_SDMA_RUNS && bf_sdma_rule_rect_fits(other);
}

static void judge(struct bf_rule_run *r, const struct bf_seen *e, struct bf_rule_queue *queue,
		  const struct bf_sdma_rule_begun *k)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(queue);
	struct bf_sdma_packet as_is, p;
	struct bf_finding *f = other_layout(q, k, &as_is, &p) ? bf_rule_find(r, e, queue) : NULL;

	if (!f)
		return;
	f->found.at_ps = k->at_ps;
	bf_finding_since(f, k->at_ps, k->record);
	bf_finding_index(f, k->index);
	bf_finding_say(f,
		       "%s at byte %" PRIu64 " of %s has a destination pitch of %" PRIu64 " elements and %" PRIu64
		       " by %" PRIu64 " by %" PRIu64
		       " elements in the %s layout that this engine reads, which do not go together; in the %s one "
		       "it is %" PRIu64 " and %" PRIu64 " by %" PRIu64 " by %" PRIu64 ", which do",
		       k->name, k->index, bf_rule_queue_name(r->rules, queue), as_is.dst_pitch + 1, as_is.x + 1,
		       as_is.y + 1, as_is.z + 1, q->dialect.wide_rect ? "wide" : "narrow",
		       q->dialect.wide_rect ? "narrow" : "wide", p.dst_pitch + 1, p.x + 1, p.y + 1, p.z + 1);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_piece *p;

	if (e->kind == BF_SEEN_sdma_suspect)
		judge(
		    r, e, e->queue,
		    bf_sdma_rule_packet_in(bf_sdma_rule_of(e->queue), e->sdma_suspect.index, e->sdma_suspect.indirect));
	else if (e->kind == BF_SEEN_sdma_fault)
		judge(r, e, e->queue,
		      bf_sdma_rule_packet_in(bf_sdma_rule_of(e->queue), e->sdma_fault.index, e->sdma_fault.indirect));
	else
		for (uint64_t back = 0; (p = bf_sdma_rule_piece_back(bf_sdma_rule_run(r), back)) != NULL; back++)
			if (bf_sdma_rule_packet_of(p))
				judge(r, e, p->queue, bf_sdma_rule_packet_of(p));
}

const struct bf_rule bf_rule_sdma_rect_layout = {
	.about = {
		.id = "SDMA-RECT-LAYOUT",
		.family = "sdma",
		.title = "a sub-window is laid out as another generation reads it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "ROCr lays sub-windows out with wider fields for every ISA from gfx12 on: pitch at 31:16 "
"and z at 13:0 where earlier parts have 31:13 and 12:0.",
		.wrong = "The engine finds other pitches, offsets and extents in the same bits.",
		.fix = "Choose the layout by the part. Which parts read which is not settled: Linux's sdma_v7_1_0 "
"header still lists the narrow one; the model takes ROCr's choice, and --profile wide-rect=0|1 "
"the other.",
		.sources = "docs/hardware/sdma.md#rects-4; ROCm/rocm-systems sdma_registers.h; Linux sdma_v7_1_0_pkt_open.h",
		.example = "run sdma-rect --gen v7 --element 4 --limit 10ms --bug rect-layout",
		.twin = "run sdma-rect --gen v7 --element 4 --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 1,
	.records = BF_SEES(sdma_suspect, sdma_fault, sdma_mismatch),
	.on = on,
};
