#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

/* How far the ring is filled: published by the word of the driver, or, of one that says nothing, stored. */
static uint64_t filled(const struct bf_mlx5_rule_queue *q)
{
	if (q->driver_speaks)
		return q->published.upto;
	return q->laid.actor && !(q->dbrec.set && q->dbrec.at_ps >= q->laid.at_ps) ? q->laid.index + 1 : 0;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const uint64_t rung = q->posted.upto > q->fetched.upto ? q->posted.upto : q->fetched.upto, upto = filled(q);
	struct bf_finding *f;

	if (!complete || !q->configured || !q->depth || q->was_reset || q->failed || q->state == BF_MLX5_QPS_ERR ||
	    upto < rung + q->depth || bf_mlx5_rule_all_ended(r->rules))
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->driver_speaks ? q->published.at_ps : q->laid.at_ps;
	bf_finding_since(f, f->found.at_ps, q->driver_speaks ? q->published.record : q->laid.record);
	bf_finding_index(f, rung);
	bf_finding_say(f,
		       "all %" PRIu32 " slots of QP 0x%" PRIx64 " on PE %" PRIu32
		       " hold entries that nobody rang for, %" PRIu64 " to %" PRIu64
		       ", the last one by %s: who wants another slot waits for a completion that cannot come",
		       q->depth, queue->number, queue->pe, rung, upto - 1,
		       bf_rule_actor(r->rules, q->driver_speaks ? q->published.actor : q->laid.actor));
}

const struct bf_rule bf_rule_mlx5_ring_unrung = {
	.about = {
		.id = "MLX5-RING-UNRUNG",
		.family = "mlx5",
		.title = "a send queue is full of entries that nobody rang for",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC executes what a doorbell has announced. A slot is free again when its entry is "
			    "complete.",
		.wrong = "A run of operations leaves the ringing to a later one, as aggregated requests do, and is longer than "
			 "the queue: the reservation after the last slot waits for the first entry, for which the doorbell is never rung.",
		.fix = "Ring at least once for each length of the queue; DeepEP does after 768 of 1024.",
		.sources = "deepseek-ai/DeepEP kGinQPDepth, kGinQPFlushDepth; NVIDIA/nccl ncclGinOptFlagsAggregateRequests; "
			   "NVIDIA-DOCA/gpunetio SKIP_DB_RINGING",
		.example = "run gin-hybrid --messages 200 --batch 4 --bug gin-fill-no-ring",
		.twin = "run gin-hybrid --messages 200 --batch 4",
	},
	.rank = BF_RANK_STUCK - 1,
	.needs = BF_SEES(store, qp_config, wqe_fetch),
	.end_queue = end_queue,
};
