#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

#define FEWEST 32u

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	(void)complete;
	/* Entries of two blocks count as two: more than three doorbells for four blocks is one for each. */
	if (q->posted.upto < FEWEST || q->doorbells * 4 <= q->posted.upto * 3)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (f)
		bf_finding_say(f, "%" PRIu64 " doorbells for %" PRIu64 " WQEBBs of QP 0x%" PRIx64 " on PE %" PRIu32,
			       q->doorbells, q->posted.upto, queue->number, queue->pe);
}

const struct bf_rule bf_rule_mlx5_doorbell_each = {
	.about = {
		.id = "MLX5-DOORBELL-EACH",
		.family = "mlx5",
		.title = "a doorbell for each entry",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "A doorbell is a posted write of its own through PCIe, and makes the NIC read the "
			    "doorbell record.",
		.wrong = "Correct, but slower than necessary: one doorbell for many entries costs the same as one for one.",
		.fix = "Publish several entries and ring once (NVSHMEM_IBGDA_NUM_REQUESTS_IN_BATCH); ring at the "
		       "latest when somebody waits.",
		.sources = "NVIDIA/nvshmem NVSHMEM_IBGDA_NUM_REQUESTS_IN_BATCH",
		.example = "run ibgda-put --messages 64 --batch 1",
		.twin = "run ibgda-put --warps 4 --per-lane --lanes 8 --qp-choice first",
	},
	.rank = BF_RANK_SPEED,
	.end_queue = end_queue,
};
