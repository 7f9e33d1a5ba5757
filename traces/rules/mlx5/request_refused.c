#include <inttypes.h>

#include "traces/rules/mlx5/far.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_answers *a = &bf_mlx5_rule_of(queue)->answers;
	struct bf_rule_queue *far;
	struct bf_finding *f;

	(void)complete;
	far = a->refused ? bf_mlx5_rule_far(r->rules, queue) : NULL;
	if (!a->refused || !bf_rule_silent(r, queue) || (far && !bf_rule_silent(r, far)))
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = a->refused_ps;
	bf_finding_since(f, a->refused_ps, a->refused_record);
	bf_finding_say(f, "%s refused a request of its peer, PSN %" PRIu32 " (NAK %02x): %s",
		       bf_rule_queue_name(r->rules, queue), a->refused_psn, a->refused_nak, a->refused_why);
	if (far)
		bf_mlx5_rule_compare(f, queue, far);
}

const struct bf_rule bf_rule_mlx5_request_refused = {
	.about = {
		.id = "MLX5-REQUEST-REFUSED",
		.family = "mlx5",
		.title = "a responder refused a request, and the requester has no completion that says so",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A responder that refuses a request answers with a NAK and moves its queue pair to error "
			    "state; its own entries are flushed.",
		.wrong = "Both ends do not agree: path MTU, access flags, length of the receive. The completion that would "
			 "say so was flushed, lost, or is not in the trace.",
		.fix = "Compare what both ends set up.",
		.sources = "InfiniBand Architecture vol. 1, 9.9.3",
		.test = "tests/traces/test_rules_errors.c",
		.why = "It speaks where no rule about the requester does.",
	},
	.rank = BF_RANK_EFFECT,
	.net = 1,
	.end_queue = end_queue,
};
