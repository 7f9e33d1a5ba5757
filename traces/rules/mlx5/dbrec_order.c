#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

/* The device looked at the record for the last time before its last value was there. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	/* What was in memory when the device looked was not late. */
	if (!complete || !q->dbrec.set || !q->after.set || q->after.rang_before ||
	    q->after.store.visible_ps < q->dbrec.sampled_ps ||
	    bf_mlx5_rule_fences_in_block(r->rules, q->after.store.actor, q->after.store.record))
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->dbrec.sampled_ps;
	bf_finding_index(f, q->after.value);
	bf_finding_since(f, q->dbrec.sampled_ps, q->dbrec.record);
	bf_finding_watch(r->rules, f, &q->after.store);
}

static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(f->queue);

	bf_finding_say(
	    f,
	    "store of %" PRIu64 " into the doorbell record of QP 0x%" PRIx64
	    " by %s became visible %s after the device, rung for %" PRIu16 ", had read %" PRIu16
	    " there, and no doorbell followed: no fence that reaches the device stands between record and doorbell",
	    f->found.index, f->queue->number, bf_rule_actor(r->rules, f->late.actor),
	    bf_store_lateness(&f->late, q->dbrec.sampled_ps).text, q->dbrec.doorbell, q->dbrec.producer);
}

const struct bf_rule bf_rule_mlx5_dbrec_order = {
	.about = {
		.id = "MLX5-DBREC-ORDER",
		.family = "mlx5",
		.title = "no fence between the doorbell record and the doorbell",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A doorbell makes the NIC read the doorbell record from memory; the index in the "
			    "doorbell itself is only a hint. What the record says then is what it fetches.",
		.wrong = "The doorbell travelled faster than the record: the NIC read the old index, found nothing "
			 "new, and nobody rings again.",
		.fix = "Put a fence that reaches the system between the store into the record and the store to the "
		       "UAR, or store the doorbell with release semantics of system scope.",
		.sources = "mlx5 PRM, Ringing Doorbell; rdma-core util/udma_barrier.h udma_to_device_barrier; "
			   "NVIDIA/nvshmem ibgda_device.cuh ibgda_ring_db; deepseek-ai/DeepEP commit 91848ed",
		.example = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial --bug "
			   "no-dbrec-fence",
		.twin = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial",
	},
	.rank = BF_RANK_INDEX + 2,
	.needs = BF_SEES(store, dma_read, dbrec),
	.end_queue = end_queue,
	.tell = tell,
};
