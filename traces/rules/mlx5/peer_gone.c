#include <inttypes.h>

#include "models/mlx5/prm_cqe.h"
#include "traces/rules/mlx5/far.h"

#define NO_QP "the other end has no such queue pair"
#define OTHER "the other end is connected to somebody else"

/* The number is nobody's, and the queue pair that was meant is there; or its peer answers another queue pair. */
static void misled(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *mine = bf_mlx5_rule_of(e->queue);
	const struct bf_rule_queue *far, *meant;
	const uint32_t swapped = __builtin_bswap32(mine->remote_qpn);
	struct bf_finding *f;

	if (e->qp_error.syndrome != BF_MLX5_SYND_RETRY_EXC || e->qp_error.side != BF_MLX5_REQUESTER)
		return;
	far = bf_mlx5_rule_far(r->rules, e->queue);
	meant = far ? NULL : bf_mlx5_rule_meant(r->rules, e->queue);
	if (!meant && !(far && bf_mlx5_rule_of(far)->connected && bf_mlx5_rule_of(far)->remote_qpn != e->queue->number))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->qp_error.index);
	bf_finding_say(f, "WQE %" PRIu64 " on %s failed with syndrome 15: %s", e->qp_error.index,
		       bf_rule_actor(r->rules, e->actor), meant ? NO_QP : "the other end answers another queue pair");
	if (meant && (swapped == meant->number || swapped >> 8 == meant->number))
		bf_finding_say(f, ": 0x%" PRIx32 " is 0x%" PRIx64 " with its bytes swapped", mine->remote_qpn,
			       meant->number);
	bf_mlx5_rule_say_far(r->rules, f, e->queue);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	misled(r, e);
	bf_mlx5_rule_dropped_for(r, e, BF_RDMA_DROP_NO_QP, NO_QP);
	bf_mlx5_rule_dropped_for(r, e, BF_RDMA_DROP_PEER, OTHER);
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	(void)complete; /* a run that was cut has seen the drop as well */
	if (bf_mlx5_rule_of(queue)->done.upto >= bf_mlx5_rule_of(queue)->fetched.upto)
		return;
	bf_mlx5_rule_drops_for(r, queue, BF_RDMA_DROP_NO_QP, NO_QP);
	bf_mlx5_rule_drops_for(r, queue, BF_RDMA_DROP_PEER, OTHER);
}

const struct bf_rule bf_rule_mlx5_peer_gone = {
	.about = {
		.id = "MLX5-PEER-GONE",
		.family = "mlx5",
		.title = "retries ran out because nobody has the queue pair that was addressed",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A packet for a queue pair number that does not exist, or from another address than the "
			    "one that it is connected to, is dropped silently.",
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
