#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static bool is_header(const struct bf_sdma_rule_queue *q, uint32_t dword)
{
	struct bf_sdma_packet p;

	bf_sdma_decode(&q->dialect, &dword, 1, &p);
	return p.form && p.kind != BF_SDMA_KIND_NOP && p.kind != BF_SDMA_KIND_PRIVILEGED &&
	       p.kind != BF_SDMA_KIND_UNMODELLED;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_span *s = bf_sdma_rule_reserve_of(q, e->sdma_fault.index);
	const struct bf_sdma_rule_begun *k;
	struct bf_finding *f;

	/* The last WRITE of the submission that failed. */
	for (uint64_t back = 0; s && (k = bf_sdma_rule_packet_back(q, back)) != NULL && k->index >= s->from; back++) {
		if (k->kind != BF_SDMA_KIND_WRITE || k->indirect || !is_header(q, k->last))
			continue;
		f = bf_rule_find(r, e, e->queue);
		if (!f)
			return;
		f->found.at_ps = k->at_ps;
		bf_finding_since(f, k->at_ps, k->record);
		bf_finding_index(f, k->index);
		bf_finding_say(
		    f,
		    "the WRITE at byte %" PRIu64 " of %s says %" PRIu64 " dwords, and the last of them, 0x%08" PRIx32
		    ", is the header of the next packet: the engine went on behind it and stopped at %" PRIu64,
		    k->index, bf_rule_queue_name(r->rules, e->queue), k->count + 1, k->last, e->sdma_fault.index);
		return;
	}
}

const struct bf_rule bf_rule_sdma_write_count = {
	.about = {
		.id = "SDMA-WRITE-COUNT",
		.family = "sdma",
		.title = "a WRITE's count swallows the header behind it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "From v4 on the count of a WRITE is its dwords minus one; v2 and v3 had the dwords "
"themselves.",
		.wrong = "The engine reads one dword too many as data: the header of the next packet. Then it reads data " "as a header.",
		.fix = "Store n - 1 (SizeToCountOffset is -1 from gfx9 on).",
		.sources = "docs/hardware/sdma.md#copy-4; ROCR-Runtime amd_blit_sdma.cpp BlitSdmaV2V3, BlitSdmaV4 (SizeToCountOffset)",
		.example = "run sdma-write --limit 10ms --bug write-count",
		.twin = "run sdma-write --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 2,
	.records = BF_SEES(sdma_fault),
	.on = on,
};
