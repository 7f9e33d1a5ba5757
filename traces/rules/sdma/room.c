#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* The queue whose read pointer lies at `va`. */
static struct bf_rule_queue *queue_of(struct bf_rules *rules, uint64_t va)
{
	struct bf_rule_queue *queue;

	for (uint32_t i = 0; (queue = bf_rule_queue_at(rules, i)) != NULL; i++) {
		const struct bf_sdma_rule_queue *q = queue->family == &bf_rules_sdma ? bf_sdma_rule_of(queue) : NULL;

		if (q && q->rptr && va - q->rptr < 8)
			return queue;
	}
	return NULL;
}

/* Who waits for a read pointer forever, while the engine has taken all that there is. */
static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_rule_queue *queue = queue_of(r->rules, e->deadlock.va);
	const struct bf_sdma_rule_queue *q = queue ? bf_sdma_rule_of(queue) : NULL;
	struct bf_finding *f;

	if (!q || q->stopped || q->paused || q->announced.upto > q->decoded.upto || q->reserved.upto > q->decoded.upto)
		return;
	f = bf_rule_find(r, e, queue);
	if (!f)
		return;
	bf_finding_index(f, q->decoded.upto);
	bf_finding_say(f,
		       "%s waits for the read pointer of %s at 0x%" PRIx64
		       " to move on, and it will not: the engine has taken all of the %" PRIu64
		       " bytes that were ever reserved, and the ring of %" PRIu64
		       " bytes is empty; the pointer says 0x%" PRIx64 "%s",
		       bf_rule_actor(r->rules, e->actor), bf_rule_queue_name(r->rules, queue), e->deadlock.va,
		       q->decoded.upto, q->bytes, e->deadlock.value,
		       q->wrapped ? ", an offset into the ring, not an index that grows" : "");
}

const struct bf_rule bf_rule_sdma_room = {
	.about = {
		.id = "SDMA-ROOM",
		.family = "sdma",
		.title = "a thread waits for room in a ring that is empty",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The engine writes how far it has read to the read pointer's address: an index of bytes that grows, "
			    "or, in a queue of SDMA 4 whose indices wrap, the offset into the ring.",
		.wrong = "The thread computes the ring's room wrong: an offset is taken for an index that grows, or another "
			 "word or size is looked at.",
		.fix = "Grow an offset to an index before indices are compared: commit - ((commit - offset) & (size - 1)).",
		.sources = "docs/hardware/sdma.md#ring-5; ROCR-Runtime amd_blit_sdma.cpp CanWriteUpto",
		.test = "tests/traces/test_rules_order.c",
		.why = "The driver has no such mistake to switch on.",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(deadlock),
	.on = on,
};
