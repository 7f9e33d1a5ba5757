#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	struct bf_finding *f;

	if (!q->bytes || e->sdma_reserve.to < q->reserved_retired + q->bytes)
		return;
	/* Who goes further has not looked at all, unless full was taken for empty before. */
	if (e->sdma_reserve.to > q->reserved_retired + q->bytes) {
		f = q->wrapped ? NULL : bf_rule_found(r, e->queue);
		if (f)
			f->dropped = true;
		return;
	}
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->sdma_reserve.from);
	bf_finding_say(f,
		       "%s reserved bytes %" PRIu64 " to %" PRIu64 " of %s when the engine was at %" PRIu64
		       ", exactly a ring of %" PRIu64 " bytes behind: full and empty look alike",
		       bf_rule_actor(r->rules, e->actor), e->sdma_reserve.from, e->sdma_reserve.to - 1,
		       bf_rule_queue_name(r->rules, e->queue), q->reserved_retired, q->bytes);
}

const struct bf_rule bf_rule_sdma_ring_full = {
	.about = {
		.id = "SDMA-RING-FULL",
		.family = "sdma",
		.title = "the ring is filled to its last byte",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The ring is empty when read and write pointer are equal. Indices that wrap are equal as "
"well when all of it is full.",
		.wrong = "A reservation ends exactly a ring ahead of the read pointer. Where indices wrap, the "
"doorbell then repeats the old value and the engine takes the full ring for an empty one.",
		.fix = "Leave at least one dword free: index + bytes - read pointer must stay below the ring's size.",
		.sources = "docs/hardware/sdma.md#ring-5; ROCR-Runtime amd_blit_sdma.cpp CanWriteUpto",
		.example = "run sdma-wrap --wrapped --producers 4 --seed 6 --limit 10ms --bug full-ring",
		.twin = "run sdma-wrap --wrapped --producers 4 --seed 6 --limit 10ms",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(sdma_reserve),
	.on = on,
};
