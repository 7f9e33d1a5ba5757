#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	if (!complete || !bf_mlx5_rule_all_ended(r->rules) || q->polled.upto >= q->posted.upto || q->failed ||
	    q->error_syndrome || !q->driver_speaks || q->waits)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->posted.at_ps;
	bf_finding_since(f, q->posted.at_ps, q->posted.record);
	bf_finding_index(f, q->polled.upto);
	bf_finding_say(f,
		       "entries of QP 0x%" PRIx64 " on PE %" PRIu32 " below %" PRIu64
		       " were posted, and all threads ended without having waited for those from %" PRIu64 " on",
		       queue->number, queue->pe, q->posted.upto, q->polled.upto);
}

const struct bf_rule bf_rule_mlx5_no_quiet = {
	.about = {
		.id = "MLX5-NO-QUIET",
		.family = "mlx5",
		.title = "all threads ended without waiting for the last entries",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A kernel's end does not wait for the NIC: entries that were posted go on by themselves.",
		.wrong = "Data of the last entries may still be in flight when the memory is used again or freed. This "
			 "time they had arrived. Nobody sees errors of those entries.",
		.fix = "Call quiet on every queue pair that was used before the kernel ends, or in the next kernel "
		       "before it touches the same memory.",
		.sources = "OpenSHMEM 1.5, 9.10.2 SHMEM_QUIET; NVIDIA/nvshmem ibgda_device.cuh ibgda_quiet",
		.example = "run ibgda-put --messages 2 --bug no-quiet",
		.twin = "run ibgda-put --messages 2",
	},
	.rank = BF_RANK_LUCK,
	.needs = BF_SEES(ibgda_build, ibgda_post),
	.end_queue = end_queue,
};
