#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

#define FOR_EVER 7u

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	struct bf_finding *f;

	if (e->retransmit.cause != BF_RDMA_AGAIN_RNR || !q->connected || q->rnr_retries == FOR_EVER)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->retransmit.index);
	bf_finding_say(f,
		       "the peer of QP 0x%" PRIx64 " on PE %" PRIu32 " was not ready for WQE %" PRIu64
		       ", and rnr_retry is %" PRIu32 ": %" PRIu64 " more and the queue pair fails",
		       e->queue->number, e->queue->pe, e->retransmit.index, q->rnr_retries, e->retransmit.left);
}

const struct bf_rule bf_rule_mlx5_rnr_finite = {
	.about = {
		.id = "MLX5-RNR-FINITE",
		.family = "mlx5",
		.title = "the receiver was not ready, and the sender's RNR retries are limited",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "rnr_retry 7 means forever; smaller numbers are counted down with each RNR NAK and end "
			    "in syndrome 16.",
		.wrong = "It worked this time; a slower receiver makes the queue pair fail.",
		.fix = "Set rnr_retry to 7, or post receives before the sender may send.",
		.sources = "spdk/spdk#2429",
		.test = "tests/traces/test_rules_errors.c",
		.why = "No workload posts receives too late and yet in time: without them the patience ends, which is MLX5-RNR-EXCEEDED.",
	},
	.rank = BF_RANK_LUCK,
	.records = BF_SEES(retransmit),
	.on = on,
};
