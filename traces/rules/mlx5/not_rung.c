#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

/* Of a driver that says nothing: an entry is in the ring since after the last doorbell, and some thread waits. */
static void end_laid(struct bf_rule_run *r, struct bf_rule_queue *queue)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	if (!q->laid.actor || !q->configured || q->was_reset || q->failed || q->laid.index < q->fetched.upto ||
	    (q->dbrec.set && q->dbrec.at_ps >= q->laid.at_ps) || bf_mlx5_rule_all_ended(r->rules))
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->laid.at_ps;
	bf_finding_since(f, q->laid.at_ps, q->laid.record);
	bf_finding_index(f, q->laid.index);
	bf_finding_say(f,
		       "%s stored %s into the ring, and no doorbell reached the device afterwards: it has fetched the "
		       "entries below %" PRIu64 " and does not look for more",
		       bf_rule_actor(r->rules, q->laid.actor), bf_mlx5_rule_entry(queue, q->laid.index).text,
		       q->fetched.upto);
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	if (complete && !q->driver_speaks)
		end_laid(r, queue);

	/* Nobody rings for a queue pair that has failed. What was fetched was rung for, whoever did it. */
	if (!complete || q->published.upto <= q->posted.upto || q->published.upto <= q->fetched.upto ||
	    q->state == BF_MLX5_QPS_ERR)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->published.at_ps;
	bf_finding_since(f, q->published.at_ps, q->published.record);
	bf_finding_index(f, q->posted.upto);
	bf_finding_say(f,
		       "%s published the entries of QP 0x%" PRIx64 " below %" PRIu64
		       ", and nobody rang: the last doorbell covered those below %" PRIu64,
		       bf_rule_actor(r->rules, q->published.actor), queue->number, q->published.upto, q->posted.upto);
}

const struct bf_rule bf_rule_mlx5_not_rung = {
	.about = {
		.id = "MLX5-NOT-RUNG",
		.family = "mlx5",
		.title = "published entries that nobody rings for",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC looks at a send queue only after a doorbell.",
		.wrong = "A submitter left its entries to a later one to ring for, as batching does, and no later one "
			 "came. They wait forever, and so does every thread that waits for them.",
		.fix = "The last submission of a batch always rings; quiet rings for whatever is published before "
		       "it waits.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_submit_requests, ibgda_quiet; deepseek-ai/DeepEP "
			   "ibgda_device.cuh kAlwaysDoPostSend",
		.example = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --messages 5 --bug lost-batch",
		.twin = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --messages 5",
	},
	.rank = BF_RANK_STUCK,
	.needs = BF_SEES(store, qp_config, wqe_fetch),
	.end_queue = end_queue,
};
