#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *c = bf_sdma_rule_run(r)->copied;
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(e->queue);
	const struct bf_sdma_rule_span *s = c && c->bytes ? bf_sdma_rule_reserve_of(q, c->index) : NULL;
	const struct bf_sdma_rule_told *t = s ? &q->w->told[s - q->w->reserves] : NULL;
	struct bf_finding *f;

	if (!t || t->at_ps == BF_NEVER || t->at_ps >= e->time_ps)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	f->found.at_ps = t->at_ps;
	bf_finding_since(f, t->at_ps, t->record);
	bf_finding_index(f, c->index);
	bf_finding_say(f,
		       "%s saw the completion of bytes %" PRIu64 " to %" PRIu64 " of %s %s before the %s at %" PRIu64
		       " had written its last byte: %s at %" PRIu64 " signals, %s",
		       bf_rule_actor(r->rules, t->actor), s->from, s->to - 1, bf_rule_queue_name(r->rules, e->queue),
		       bf_span_of(e->time_ps - t->at_ps).text, c->name, c->index, t->signal_name, t->signal_index,
		       c->index > t->signal_index
			   ? "and comes before the body"
			   : "and may overtake the copies before it; FENCE and ATOMIC wait for them");
}

const struct bf_rule bf_rule_sdma_signal_early = {
	.about = {
		.id = "SDMA-SIGNAL-EARLY",
		.family = "sdma",
		.title = "completion is signalled before the copies are done",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Copies overlap in time with the packets after them; FENCE, ATOMIC and TRAP wait for "
			    "all copies before them, WRITE does not.",
		.wrong = "The signal stands in front of the body, or is a packet that may overtake it: a thread was "
			 "told that a submission is done while a copy ran.",
		.fix = "Put the signal last, and make it a FENCE or an ATOMIC.",
		.sources = "docs/hardware/sdma.md#other-packets-3; ROCR-Runtime amd_blit_sdma.cpp SubmitCommand",
		.example = "run sdma-copy --limit 10ms --bug signal-first",
		.twin = "run sdma-copy --limit 10ms",
	},
	.rank = BF_RANK_INDEX + 1,
	.records = BF_SEES(sdma_copied),
	.on = on,
};
