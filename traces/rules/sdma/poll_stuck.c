#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

struct state {
	uint64_t index, seen;
	bool again;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);

	*s = (struct state){ e->sdma_result.index, e->sdma_result.before, e->sdma_result.verdict == BF_SDMA_AGAIN };
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct state *s = bf_rule_queue_state(r, queue);
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(queue);
	const struct bf_sdma_rule_begun *k = bf_sdma_rule_packet_back(q, 0);
	struct bf_sdma_packet p;
	struct bf_finding *f;

	if (!complete || !s->again || q->stopped || !k || k->index != s->index || k->kind != BF_SDMA_KIND_POLL)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	bf_sdma_rule_whole(q, k, &p);
	f->found.at_ps = k->at_ps;
	bf_finding_since(f, k->at_ps, k->record);
	bf_finding_index(f, k->index);
	bf_finding_say(f,
		       "the poll at byte %" PRIu64 " of %s waits since %s for the word at 0x%" PRIx64
		       " to be %s 0x%" PRIx64 "; when it looked first it was 0x%" PRIx64,
		       k->index, bf_rule_queue_name(r->rules, queue), bf_span_of(k->at_ps).text, k->dst,
		       bf_sdma_func_name((uint32_t)p.func), p.reference, s->seen);
}

const struct bf_rule bf_rule_sdma_poll_stuck = {
	.about = {
		.id = "SDMA-POLL-STUCK",
		.family = "sdma",
		.title = "a poll is never satisfied",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A POLL_REGMEM with 0xfff retries polls forever, and the packets after it wait. The "
"engine's other queues go on.",
		.wrong = "Nobody stores the value that the poll waits for: the wrong word, the wrong value, or a "
"producer that never came.",
		.fix = "Look at who is to store the word that the finding names; HSA signals are awaited at 0, members "
"of a gang at 1.",
		.sources = "docs/hardware/sdma.md#other-packets-4; ROCR-Runtime amd_blit_sdma.cpp SubmitCommand",
		.example = "run sdma-fence --limit 10ms --bug poll-value",
		.twin = "run sdma-fence --limit 10ms",
	},
	.rank = BF_RANK_STUCK - 1,
	.records = BF_SEES(sdma_result),
	.on = on,
	.queue_bytes = sizeof(struct state),
	.end_queue = end_queue,
};
