#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	struct bf_finding *f;

	if (q->fetch.what != BF_MLX5_FETCHED_LATE)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, q->fetch.index);
	bf_finding_watch(r->rules, f, &q->fetch.late);
	f->n[0] = q->fetch.slot_va;
	f->n[1] = q->fetch.sampled_ps;
}

static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	const uint64_t first = f->late.va - f->n[0];

	/* A thread whose fences do not reach far enough is another rule's. */
	f->dropped = bf_mlx5_rule_fences_in_block(r->rules, f->late.actor, f->late.record);
	bf_finding_say(
	    f,
	    "store of WQE %" PRIu64 " (its bytes %" PRIu64 "-%" PRIu64 ") of QP 0x%" PRIx64
	    " by %s became visible %s after the device, told by the doorbell record, had fetched the entry: no "
	    "fence that reaches it stands between the entry and the index that announces it",
	    f->found.index, first, first + f->late.len - 1, f->queue->number, bf_rule_actor(r->rules, f->late.actor),
	    bf_store_lateness(&f->late, f->n[1]).text);
}

const struct bf_rule bf_rule_mlx5_entry_order = {
	.about = {
		.id = "MLX5-ENTRY-ORDER",
		.family = "mlx5",
		.title = "no fence between an entry's bytes and the index that announces it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC fetches a WQE by DMA as soon as the doorbell record covers it. DMA reads what "
			    "memory shows, not what a store buffer or a GPU's cache still holds.",
		.wrong = "Stores of one thread may become visible in any order. Without a fence the index may "
			 "overtake the entry, and the NIC executes what the slot held a lap ago.",
		.fix = "After the last store into the entry and before the store that publishes it (ready_head, "
		       "then the doorbell record) put a release fence that reaches the device: __threadfence() "
		       "before ready_head when the rings lie in GPU memory, __threadfence_system() when they lie in "
		       "host memory.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_post_send; mlx5 PRM, Posting a Work Request to a "
			   "Work Queue; deepseek-ai/DeepEP#181",
		.example = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial --bug "
			   "no-wqe-fence",
		.twin = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(wqe_fetch),
	.needs = BF_SEES(store, dma_read, qp_config, wqe_fetch),
	.on = on,
	.tell = tell,
};
