#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->cq_event.kind == BF_MLX5_CQ_EVENT_OVERRUN ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f,
			       "CQ 0x%" PRIx64 " overran at completion %" PRIu64 " when its consumer stood at %" PRIu64
			       ": its queue pairs have failed with it",
			       e->cq_event.cqn, e->cq_event.producer, e->cq_event.consumer);
}

const struct bf_rule bf_rule_mlx5_cq_overrun = {
	.about = {
		.id = "MLX5-CQ-OVERRUN",
		.family = "mlx5",
		.title = "a completion queue overran",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A CQ has a fixed number of slots. Without overrun-ignore, a completion that finds none fails " "the CQ (event syndrome 1) and the queue pairs on it.",
		.wrong = "More completions were due than the consumer had freed slots for: the CQ is too small for its " "queue pairs, or the consumer's doorbell record is not updated.",
		.fix = "Give the CQ as many slots as all its send and receive queues can have signalled entries, or "
		       "create it collapsed with overrun-ignore, as IBGDA does.",
		.sources = "ofiwg/libfabric#4525; ROCm/TransferBench#239; ROCm/rocSHMEM#371",
		.example = "run ibgda-put --plain-cq --depth 16 --batch 4 --messages 64 --bug cq-no-consumer",
		.twin = "run ibgda-put --plain-cq --depth 16 --batch 4 --messages 64",
	},
	.rank = BF_RANK_REFUSED - 2,
	.records = BF_SEES(cq_event),
	.on = on,
};
