#include "traces/rules/mlx5/far.h"

#define SENTENCE "the other end was not in a state in which it answers"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_rule_queue *far = bf_mlx5_rule_far(r->rules, e->queue);

	/* One that failed by itself has an error of its own, which came before. */
	if (far && !bf_mlx5_rule_of(far)->failed)
		bf_mlx5_rule_dropped_for(r, e, BF_RDMA_DROP_STATE, SENTENCE);
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_rule_queue *far = bf_mlx5_rule_far(r->rules, queue);

	if (complete && far && !bf_mlx5_rule_of(far)->failed &&
	    bf_mlx5_rule_of(queue)->done.upto < bf_mlx5_rule_of(queue)->fetched.upto)
		bf_mlx5_rule_drops_for(r, queue, BF_RDMA_DROP_STATE, SENTENCE);
}

const struct bf_rule bf_rule_mlx5_peer_state = {
	.about = {
		.id = "MLX5-PEER-STATE",
		.family = "mlx5",
		.title = "retries ran out because the peer was not ready or had failed",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A queue pair answers requests in states RTR and RTS only. In RESET, INIT and ERR it drops "
			    "them silently.",
		.wrong = "The sender began before the receiver was ready, or the receiver had failed before: its own first error is the cause.",
		.fix = "Exchange a message outside of the connection (a barrier) between moving to RTR and the first request, and look for the first error of the other end.",
		.sources = "InfiniBand Architecture vol. 1, 10.3.1; NVIDIA/nccl#426, #1405",
		.test = "tests/traces/test_rules_errors.c",
		.why = "No workload does so: the driver sets both ends up from one place.",
	},
	.rank = BF_RANK_EFFECT - 2,
	.records = BF_SEES(qp_error),
	.on = on,
	.end_queue = end_queue,
};
