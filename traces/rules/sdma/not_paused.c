#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* Per queue: the last time that it was told to go on though nothing had stopped it. */
struct state {
	uint64_t at_ps, record; /* record 0: never */
	bool paused;
};

static void on_queue(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);

	if (e->sdma_queue.event == BF_SDMA_QUEUE_RESUMED && !s->paused) {
		s->at_ps = e->time_ps;
		s->record = e->number;
	}
	s->paused = e->sdma_queue.event == BF_SDMA_QUEUE_PAUSED;
}

/* Wrong bytes that a copy of such a queue wrote behind that. */
static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_piece *p;
	struct bf_finding *f;
	const struct state *s;

	if (e->kind == BF_SEEN_sdma_queue) {
		on_queue(r, e);
		return;
	}
	for (uint64_t back = 0; (p = bf_sdma_rule_piece_back(bf_sdma_rule_run(r), back)) != NULL; back++)
		if (bf_sdma_rule_packet_of(p) && bf_sdma_rule_writes(p, e->sdma_mismatch.va))
			break;
	s = p ? bf_rule_queue_state(r, p->queue) : NULL;
	if (!s || !s->record || p->at_ps < s->at_ps)
		return;
	f = bf_rule_find(r, e, p->queue);
	if (!f)
		return;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_index(f, p->packet_index);
	bf_finding_say(
	    f,
	    "the byte at 0x%" PRIx64 " was written by a copy at byte %" PRIu64 " of %s, which ran on: at %" PRIu64
	    " ps it was updated with its ring while nothing had stopped it; only an update without a ring pauses",
	    e->sdma_mismatch.va, p->packet_index, bf_rule_queue_name(r->rules, p->queue), s->at_ps);
}

const struct bf_rule bf_rule_sdma_not_paused = {
	.about = {
		.id = "SDMA-NOT-PAUSED",
		.family = "sdma",
		.title = "a queue that was to stand still went on",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "AMDKFD_IOC_UPDATE_QUEUE pauses a queue when it names no ring (address or size 0) or 0 percent. With a "
			    "ring the queue goes on, whatever its state was.",
		.wrong = "The update that was meant to pause the queue named the ring, so packets ran and changed "
			 "memory too early.",
		.fix = "Pause with address and size 0, or with 0 percent, and look at the queue's state before relying on it.",
		.sources = "docs/hardware/sdma.md#ring-8; Linux kfd_ioctl.h; ROCm/rocm-systems KFDQMTest.DisableSdmaQueueByUpdateWithNullAddress",
		.test = "tests/traces/test_rules_order.c",
		.why = "The driver has no such mistake to switch on.",
	},
	.rank = BF_RANK_EFFECT - 1,
	.records = BF_SEES(sdma_queue, sdma_mismatch),
	.queue_bytes = sizeof(struct state),
	.on = on,
};
