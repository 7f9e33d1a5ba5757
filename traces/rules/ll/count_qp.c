#include <inttypes.h>

#include "traces/rules/ll/ll.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_ll_exchange *x = bf_ll_exchange_of(r->rules, e, 0);
	struct bf_finding *f;

	if (!x || !x->messages || x->qpn == x->count_qpn)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_since(f, x->sent_ps, x->sent_record);
	bf_finding_say(f,
		       "in the %s of round %" PRIu32 " %s sent the count for expert %" PRIu32 " by QP 0x%" PRIx32
		       " and the messages by QP 0x%" PRIx32 ": nothing orders one queue pair after another",
		       bf_ll_kernel(x->phase), x->round, bf_rule_actor(r->rules, e->actor), x->expert, x->count_qpn,
		       x->qpn);
}

const struct bf_rule bf_rule_ll_count_qp = {
	.about = {
		.id = "LL-COUNT-QP",
		.family = "ll",
		.title = "a count uses another queue pair than its messages",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Order is within a queue pair. Two of them may take different paths (adaptive routing, "
			    "ECMP, ports) and are retransmitted each by itself.",
		.wrong = "The count may arrive first, and the receiver reads what is not there yet. On an idle "
			    "network it hardly ever does.",
		.fix = "Send data and flag by the same queue pair (DeepEP: by local expert index on both), or wait "
			    "for the data's completion.",
		.sources = "deepseek-ai/DeepEP#74, #137; InfiniBand Architecture vol. 1, 9.5",
		.example = "run ll-dispatch --bug ll-count-qp",
		.twin = "run ll-dispatch",
	},
	.rank = BF_RANK_DATA,
	.records = BF_SEES(ll_count),
	.on = on,
};
