#include <inttypes.h>

#include "traces/rules/mlx5/cqs.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bf_mlx5_rule_note_cq(r->state, e);
}

/* Of a driver whose entries are all known; others may signal so few that a smaller queue does. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_mlx5_rule_cq *cq = bf_mlx5_rule_find_cq(r->state, queue, q->send_cqn);
	struct bf_finding *f;

	(void)complete;
	if (!cq || cq->collapsed || cq->overrun_ignore || !q->driver_speaks || q->depth <= cq->cqes)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (f)
		bf_finding_say(f,
			       "QP 0x%" PRIx64 " on PE %" PRIu32 " can have %" PRIu32
			       " entries under way, each with a completion, and its CQ 0x%" PRIx32 " has %" PRIu32
			       " slots",
			       queue->number, queue->pe, q->depth, cq->cqn, cq->cqes);
}

const struct bf_rule bf_rule_mlx5_cq_too_small = {
	.about = {
		.id = "MLX5-CQ-TOO-SMALL",
		.family = "mlx5",
		.title = "a completion queue with fewer slots than its send queue has entries",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "Every signalled entry takes a slot of the CQ until the consumer gives it back; the NIC "
			    "does not wait for one.",
		.wrong = "As long as the poller keeps up nothing happens. With more queue pairs, or a slower poller, "
			    "the CQ overruns and its queue pairs fail with it.",
		.fix = "Give the CQ at least as many slots as all send queues on it have entries, or collapse it.",
		.sources = "ROCm/TransferBench#239; ofiwg/libfabric#4525",
		.example = "run ibgda-put --plain-cq --depth 64 --batch 8 --messages 64 --bug cq-too-small",
		.twin = "run ibgda-put --plain-cq --depth 64 --batch 8 --messages 64",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(cq_config),
	.needs = BF_SEES(cq_config, qp_config, ibgda_build),
	.state_bytes = sizeof(struct bf_mlx5_rule_cqs),
	.on = on,
	.end_queue = end_queue,
};
