#include "traces/rules/mlx5/far.h"

#define NO_QP "the other end has no such queue pair"
#define OTHER "the other end is connected to somebody else"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bf_mlx5_dropped_for(r, e, BF_RDMA_DROP_NO_QP, NO_QP);
	bf_mlx5_dropped_for(r, e, BF_RDMA_DROP_PEER, OTHER);
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	(void)complete; /* a run that was cut has seen the drop as well */
	if (bf_mlx5_of(queue)->done >= bf_mlx5_of(queue)->fetched)
		return;
	bf_mlx5_drops_for(r, queue, BF_RDMA_DROP_NO_QP, NO_QP);
	bf_mlx5_drops_for(r, queue, BF_RDMA_DROP_PEER, OTHER);
}

const struct bf_rule bf_rule_mlx5_peer_gone = {
	.about = {
		.id = "MLX5-PEER-GONE",
		.family = "mlx5",
		.title = "retries ran out because nobody has the queue pair that was addressed",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A packet for a queue pair number that does not exist, or from another address than the one that it is connected to, is dropped without a word.",
		.wrong = "The number or the address (GID) was exchanged wrongly or is byte-swapped, or the other end has destroyed its queue pair.",
		.fix = "Compare the destination number and GID with what the other end printed when it created its queue pair.",
		.sources = "InfiniBand Architecture vol. 1, 9.6.1.1; NVIDIA/nccl#1664",
		.test = "tests/traces/test_rules_errors.c",
		.why = "No workload does so: the driver sets both ends up from one place.",
	},
	.rank = BF_RANK_EFFECT - 2,
	.records = BF_SEES(qp_error),
	.on = on,
	.end_queue = end_queue,
};
