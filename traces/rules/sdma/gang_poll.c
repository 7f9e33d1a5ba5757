#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* In the submission of `k` another word is counted down behind it, and its own is not polled before it. */
static bool steps_blindly(const struct bf_sdma_rule_queue *q, const struct bf_sdma_rule_span *s,
			  const struct bf_sdma_rule_begun *k)
{
	const struct bf_sdma_rule_begun *other;
	bool leads = false;

	for (uint64_t back = 0; (other = bf_sdma_rule_packet_back(q, back)) != NULL && other->index >= s->from;
	     back++) {
		if (other->index >= s->to || other->indirect)
			continue;
		if (other->kind == BF_SDMA_KIND_POLL && other->dst == k->dst && other->index < k->index)
			return false;
		leads |= other->kind == BF_SDMA_KIND_ATOMIC && other->dst != k->dst && other->index > k->index;
	}
	return leads;
}

/* Another queue counts the word down, too. */
static struct bf_rule_queue *member(struct bf_rule_run *r, const struct bf_rule_queue *leader, uint64_t va)
{
	const struct bf_sdma_rule_begun *k;
	struct bf_rule_queue *queue;

	for (uint32_t i = 0; (queue = bf_rule_queue_at(r->rules, i)) != NULL; i++)
		for (uint64_t back = 0; queue != leader && queue->family == &bf_rules_sdma &&
					(k = bf_sdma_rule_packet_back(bf_sdma_rule_of(queue), back)) != NULL;
		     back++)
			if (k->kind == BF_SDMA_KIND_ATOMIC && k->dst == va)
				return queue;
	return NULL;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_sdma_rule_queue *q = bf_sdma_rule_of(queue);
	const struct bf_sdma_rule_begun *k;
	struct bf_rule_queue *with;
	struct bf_finding *f;

	(void)complete;
	for (uint64_t back = 0; (k = bf_sdma_rule_packet_back(q, back)) != NULL; back++) {
		const struct bf_sdma_rule_span *s =
		    k->kind == BF_SDMA_KIND_ATOMIC && !k->indirect ? bf_sdma_rule_reserve_of(q, k->index) : NULL;

		with = s && steps_blindly(q, s, k) ? member(r, queue, k->dst) : NULL;
		f = with ? bf_rule_find(r, NULL, queue) : NULL;
		if (!f)
			continue;
		f->found.at_ps = k->at_ps;
		bf_finding_since(f, k->at_ps, k->record);
		bf_finding_index(f, k->index);
		bf_finding_say(f,
			       "the ATOMIC at byte %" PRIu64 " of %s takes a step of the signal at 0x%" PRIx64
			       ", which %s counts down as well, without a poll for it before: what it signals behind "
			       "that does not wait for %s",
			       k->index, bf_rule_queue_name(r->rules, queue), k->dst,
			       bf_rule_queue_name(r->rules, with), bf_rule_queue_name(r->rules, with));
	}
}

const struct bf_rule bf_rule_sdma_gang_poll = {
	.about = {
		.id = "SDMA-GANG-POLL",
		.family = "sdma",
		.title = "a gang's leader does not await its members",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Copies of a gang run on several engines. Each member brings its signal from 2 to 1; the "
"leader polls it for 1, takes the last step, and then signals for all.",
		.wrong = "The leader took the last step without the poll: it signals for the gang while members may "
"still copy.",
		.fix = "POLL_REGMEM(member == 1), then ATOMIC(member, -1), for each member, before the leader's own "
"signal.",
		.sources = "docs/hardware/sdma.md#signals-2; ROCR-Runtime amd_blit_sdma.cpp SubmitCommand (gang_signals)",
		.example = "run sdma-fence --gang 2 --queues 3 --limit 10ms --bug no-gang-poll",
		.twin = "run sdma-fence --gang 2 --queues 3 --limit 10ms",
	},
	.rank = BF_RANK_INDEX,
	.end_queue = end_queue,
};
