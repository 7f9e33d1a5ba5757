#include <inttypes.h>

#include "traces/rules/ll/ll.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_ll_exchange *x = bf_ll_exchange_of(r->rules, e, 0);
	struct bf_finding *f;

	if (!x || !x->counted || e->time_ps <= x->count_ps)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	f->found.at_ps = x->count_ps;
	bf_finding_since(f, x->count_ps, x->count_record);
	bf_finding_say(f,
		       "in the %s of round %" PRIu32 " %s sent the count for expert %" PRIu32
		       " %s before %s sent the last of the messages that it stands for",
		       bf_ll_kernel(x->phase), x->round, bf_rule_actor(r->rules, x->count_actor), x->expert,
		       bf_span_of(e->time_ps - x->count_ps).text, bf_rule_actor(r->rules, e->actor));
}

const struct bf_rule bf_rule_ll_count_first = {
	.about = {
		.id = "LL-COUNT-FIRST",
		.family = "ll",
		.title = "a count was sent before its messages",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A queue pair delivers in the order of its entries, which is the order in which slots "
			    "were reserved.",
		.wrong = "The receiver sees the count and reads messages that are still to come.",
		.fix = "Send the count when the last message has been handed to its queue pair: wait for the counter "
			    "that senders add to after each message.",
		.sources = "deepseek-ai/DeepEP csrc/kernels/internode_ll.cu dispatch "
			    "(atomic_finish_counter_per_expert)",
		.example = "run ll-dispatch --tokens 1 --topk 1 --experts 2 --blocks 2 --groups 1 --pes 2 --seed 16 "
			    "--ordering adversarial --bug ll-count-early",
		.twin = "run ll-dispatch --tokens 1 --topk 1 --experts 2 --blocks 2 --groups 1 --pes 2 --seed 16 "
			    "--ordering adversarial",
	},
	.rank = BF_RANK_DATA,
	.records = BF_SEES(ll_send),
	.on = on,
};
