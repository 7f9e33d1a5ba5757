#include <inttypes.h>

#include "traces/rules/mlx5.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_queue *q = bf_mlx5_of(queue);
	struct bf_finding *f;

	/*
	 * A completion that was written: one that was lost, or never due, has a rule of its own. Who sees an error is right
	 * not to take it for "done"; who waits for entries that nobody rang for does not wait for this one; and where all
	 * have ended, nobody waits.
	 */
	if (!complete || q->published > q->posted || bf_mlx5_all_ended(r->rules) ||
	    !q->posted || q->done != q->posted || q->polled >= q->posted || q->cqe_verdict != 0 ||
	    q->failed || q->error_syndrome)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->done_ps;
	bf_finding_since(f, q->done_ps, q->done_record);
	bf_finding_index(f, q->cqe_counter);
	bf_finding_say(f,
		       "the device completed all entries of QP 0x%" PRIx64 " on PE %" PRIu32 " below %" PRIu64
		       ", and no poller takes the counter of the last completion, %" PRIu16 ", for that",
		       queue->number, queue->pe, q->posted, q->cqe_counter);
}

const struct bf_rule bf_rule_mlx5_poll_window = {
	.about = {
		.id = "MLX5-POLL-WINDOW",
		.family = "mlx5",
		.title = "a completion is there and no poller understands it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A completion's counter is 16 bits and wraps. The collapsed CQ's slot starts as the "
			    "driver left it, usually 0xff.",
		.wrong = "The poller's comparison in 16 bits takes \"done\" for \"not yet\": off by the size of an "
			 "entry, or with the initial value inside the window.",
		.fix = "Compare as NVSHMEM does: (uint16_t)(wanted - counter - 2) >= number of slots means done; or "
		       "widen the counter and compare in 64 bits.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_poll_cq; deepseek-ai/DeepEP PR#371; "
			   "NVIDIA/nvshmem#20",
		.example = "run ibgda-put --bug poll-no-minus2",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_STUCK,
	.records = (const uint8_t[]){ 0 },
	.needs = (const uint8_t[]){ BF_SEEN_ibgda_build, BF_SEEN_wqe_fetch, 0 },
	.end_queue = end_queue,
};
