#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

#define FEWEST 32u
#define SMALL 4096u

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const uint64_t *doorbells = bf_rule_queue_state(r, queue);
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(queue);
	const struct bf_sdma_rule_begun *k;
	uint64_t bytes = 0, data = 0;
	struct bf_finding *f;

	(void)complete;
	for (uint64_t back = 0; (k = bf_sdma_rule_packet_back(q, back)) != NULL; back++) {
		bytes += k->bytes;
		data += bf_sdma_rule_is_data(k);
	}
	if (*doorbells < FEWEST || !data || data * 2 > q->w->npackets || bytes / data >= SMALL)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (f)
		bf_finding_say(f, "%" PRIu64 " doorbells of %s for copies of %" PRIu64 " bytes each", *doorbells,
			       bf_rule_queue_name(r->rules, queue), bytes / data);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	++*(uint64_t *)bf_rule_queue_state(r, e->queue);
}

const struct bf_rule bf_rule_sdma_doorbell_each = {
	.about = {
		.id = "SDMA-DOORBELL-EACH",
		.family = "sdma",
		.title = "small copies are submitted one by one",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "A submission costs a doorbell through PCIe, a fetch, cache control and a signal, whatever "
"it moves.",
		.wrong = "Most submissions move less than 4 KiB: correct, but the cost of submitting is larger than that " "of copying.",
		.fix = "Several copies in one submission, with one signal after them.",
		.sources = "docs/hardware/sdma.md#submission-4; ROCR-Runtime amd_blit_sdma.cpp SubmitCommand",
		.example = "run sdma-copy --commands 64 --size 256",
		.twin = "run sdma-copy --commands 64 --size 65536",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(sdma_doorbell),
	.on = on,
	.queue_bytes = sizeof(uint64_t),
	.end_queue = end_queue,
};
