#include <inttypes.h>

#include "traces/rules/sdma.h"

#define STRADDLES 5u
#define MEMORY 6u

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_queue *q = bf_sdma_of(e->queue);
	const struct bf_sdma_span *s = bf_sdma_reserve_of(q, e->sdma_fault.index);
	const struct bf_sdma_begun *k = bf_sdma_packet_at(q, e->sdma_fault.index);
	struct bf_finding *f;

	if (e->sdma_fault.reason == STRADDLES || bf_sdma_unpadded(q, e->sdma_fault.index))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->sdma_fault.index);
	bf_finding_say(f, "%s at byte %" PRIu64 " of %s", k ? k->p.name : "the packet", e->sdma_fault.index,
		       bf_rule_queue_name(r->rules, e->queue));
	if (s) {
		bf_finding_since(f, s->at_ps, s->record);
		bf_finding_say(f, ", submitted by %s", bf_rule_actor(r->rules, s->actor));
	}
	bf_finding_say(f, ": %s", bf_sdma_reason_name((enum bf_sdma_reason)e->sdma_fault.reason));
	if (e->sdma_fault.reason == MEMORY)
		bf_finding_say(f, " at 0x%" PRIx64, e->sdma_fault.address);
	bf_finding_say(f, ", by dword %" PRIu64 " (0x%08" PRIx64 ")", e->sdma_fault.dword, e->sdma_fault.value);
}

const struct bf_rule bf_rule_sdma_packet = {
	.about = {
		.id = "SDMA-PACKET",
		.family = "sdma",
		.title = "a packet that the engine cannot execute",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine stops the queue at a packet with a wrong opcode, reserved value, alignment "
			    "or address.",
		.wrong = "The packet says something that this generation of the engine does not do.",
		.fix = "Look at the dword that the finding names: counts and pitches are stored minus one, extents "
		       "in elements.",
		.sources = "reference sdma; ROCR-Runtime amd_blit_sdma.cpp; Linux amdgpu *_sdma_pkt_open.h",
		.test = "tests/traces/test_rules_nvme.c",
	},
	.rank = BF_RANK_ENTRY + 4,
	.records = (const uint8_t[]){ BF_SEEN_sdma_fault, 0 },
	.on = on,
};
