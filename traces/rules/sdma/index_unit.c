#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const uint64_t value = e->sdma_doorbell.value;
	const struct bf_sdma_rule_span *s, *meant = NULL;
	struct bf_finding *f;

	for (uint64_t back = 0; value && (s = bf_sdma_rule_reserve(q, back)) != NULL && back < 64; back++) {
		const uint64_t to = q->wrapped ? s->to % q->bytes : s->to;

		if (to == value)
			return;
		if (to == value * 4)
			meant = s;
	}
	f = meant ? bf_rule_find(r, e, e->queue) : NULL;
	if (!f)
		return;
	bf_finding_since(f, meant->at_ps, meant->record);
	bf_finding_index(f, meant->from);
	bf_finding_say(f,
		       "%s filled bytes %" PRIu64 " to %" PRIu64 " of %s and rang its doorbell with %" PRIu64
		       ", which is %" PRIu64 " dwords: the engine takes it for bytes",
		       bf_rule_actor(r->rules, meant->actor), meant->from, meant->to - 1,
		       bf_rule_queue_name(r->rules, e->queue), value, value);
}

const struct bf_rule bf_rule_sdma_index_unit = {
	.about = {
		.id = "SDMA-INDEX-UNIT",
		.family = "sdma",
		.title = "a doorbell counts dwords, but the engine counts bytes",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Read pointer, write pointer and doorbell of a user queue count bytes on every generation. "
"Rings of the kernel's driver keep dwords and shift them at the doorbell; PM4 compute "
"queues count dwords, AQL queues packets.",
		.wrong = "The doorbell holds a quarter of the index: the engine stops inside the first packet, or "
"never sees the last ones.",
		.fix = "Publish bytes: shift a count of dwords left by 2.",
		.sources = "docs/hardware/sdma.md#ring-2; ROCm/rocm-systems KFDTest SDMAQueue.cpp; Linux sdma_v7_0.c ring_set_wptr",
		.example = "run sdma-copy --limit 10ms --bug dword-index",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_ENTRY + 1,
	.records = BF_SEES(sdma_doorbell),
	.on = on,
};
