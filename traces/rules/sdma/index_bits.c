#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_span *s;
	struct bf_finding *f;

	/* A queue that never got past its first lap may have been given offsets in the ring. */
	if (e->sdma_doorbell.verdict != BF_SDMA_BELL_BACK || e->sdma_doorbell.before <= q->bytes)
		return;
	for (uint64_t back = 0; (s = bf_sdma_rule_reserve(q, back)) != NULL && back < 64; back++) {
		for (unsigned bits = 12; bits <= 32; bits += 4) {
			if (s->to >> bits == 0 || (s->to & ((1ull << bits) - 1)) != e->sdma_doorbell.value)
				continue;
			f = bf_rule_find(r, e, e->queue);
			if (!f)
				return;
			bf_finding_index(f, s->from);
			bf_finding_say(f,
				       "%s filled %s up to %" PRIu64 " and rang with %" PRIu64
				       ", its low %u bits, after %" PRIu64 ": the index lost its upper bits on the way",
				       bf_rule_actor(r->rules, s->actor), bf_rule_queue_name(r->rules, e->queue), s->to,
				       e->sdma_doorbell.value, bits, e->sdma_doorbell.before);
			return;
		}
	}
}

const struct bf_rule bf_rule_sdma_index_bits = {
	.about = {
		.id = "SDMA-INDEX-BITS",
		.family = "sdma",
		.title = "an index that grows forever is kept in too few bits",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "From gfx9 on indices count bytes in 64 bits and never go back.",
		.wrong = "Some variable on the way has fewer bits: when it wraps, the doorbell goes back, and the "
"engine stops the queue or takes nothing more. With 32 bits that is after 4 GiB of packets: "
"days, or minutes under load.",
		.fix = "Keep reserve, commit, write pointer and doorbell in 64 bits, and subtract before comparing.",
		.sources = "docs/hardware/sdma.md#ring-3; ROCR-Runtime amd_blit_sdma.cpp BlitSdmaV4 (64-bit indices), BlitSdmaV2V3 (32-bit)",
		.example = "run sdma-wrap --commands 400 --limit 20ms --bug index-16",
		.twin = "run sdma-wrap --commands 400 --limit 20ms",
	},
	.rank = BF_RANK_ENTRY + 1,
	.records = BF_SEES(sdma_doorbell),
	.on = on,
};
