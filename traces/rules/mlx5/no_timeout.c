#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	if (!complete || !q->connected || q->timeout || q->failed || q->done.upto >= q->fetched.upto)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->done.at_ps;
	bf_finding_index(f, q->done.upto);
	bf_finding_say(f,
		       "%s and what follows are not acknowledged, and the ACK time-out of the queue pair is 0: the NIC "
		       "waits forever and never sends again",
		       bf_mlx5_rule_entry(queue, q->done.upto).text);
}

const struct bf_rule bf_rule_mlx5_no_timeout = {
	.about = {
		.id = "MLX5-NO-TIMEOUT",
		.family = "mlx5",
		.title = "a lost packet is never sent again: the ACK time-out is 0",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A requester sends again what is not acknowledged within 4.096 us * 2^timeout. timeout 0 "
			    "means never.",
		.wrong = "The attribute was left at 0. A packet or acknowledgement that is lost stops the queue pair for "
			 "good, without an error.",
		.fix = "Set ibv_qp_attr.timeout (14 to 20) on the way to RTS.",
		.sources = "InfiniBand Architecture vol. 1, 9.7.6.1.3; man ibv_modify_qp",
		.test = "tests/traces/test_rules_errors.c",
		.why = "The driver sets a time-out.",
	},
	.rank = BF_RANK_SET_UP + 3,
	.needs = BF_SEES(qp_path),
	.end_queue = end_queue,
};
