#include <inttypes.h>

#include "traces/rules/ll/ll.h"

/* Late, because messages that come behind their count are another rule's. */
static void end(struct bf_rule_run *r, bool complete)
{
	const struct bf_ll_exchange *x;

	for (x = NULL; complete && (x = bf_ll_exchange_next(r->rules, x)) != NULL;) {
		struct bf_seen e = { .actor = x->count_actor, .time_ps = x->count_ps, .number = x->count_record };
		struct bf_finding *f;

		if (!x->counted || x->phase || x->value == -(int32_t)x->messages - 1)
			continue;
		f = bf_rule_find(r, &e, NULL);
		if (f)
			bf_finding_say(
			    f,
			    "%s sent %" PRIi32 " as the count of %" PRIu32 " tokens to expert %" PRIu32
			    ", where -%" PRIu32
			    " - 1 belongs: the receiver takes 0 for \"not yet\" and anything else for one token less",
			    bf_rule_actor(r->rules, x->count_actor), x->value, x->messages, x->expert, x->messages);
	}
}

const struct bf_rule bf_rule_ll_count_value = {
	.about = {
		.id = "LL-COUNT-VALUE",
		.family = "ll",
		.title = "the receiver misreads a count",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Counts are words of memory that the receiver polls; their buffer starts as zeros.",
		.wrong = "0 means \"not yet\", so a count of n is sent as -n - 1. Sent as -n, no tokens look like "
			    "none yet, and others like one token less.",
		.fix = "Send -n - 1 and take the value back as -value - 1.",
		.sources = "deepseek-ai/DeepEP csrc/kernels/internode_ll.cu dispatch (-num_tokens_sent - 1)",
		.example = "run ll-dispatch --bug ll-sentinel",
		.twin = "run ll-dispatch",
	},
	.rank = BF_RANK_DATA - 1,
	.end = end,
};
