#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

/* Taken back at the end unless the thread has fenced since, for its block only. */
static void judge(struct bf_rule_run *r, const struct bf_seen *e, const struct bf_store *late, uint64_t read_ps,
		  uint64_t index, bool entry)
{
	struct bf_finding *f = bf_rule_find(r, e, e->queue);

	if (!f)
		return;
	bf_finding_index(f, index);
	bf_finding_watch(r->rules, f, late);
	f->n[0] = read_ps;
	f->n[1] = entry;
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);

	if (q->fetch.what == BF_MLX5_FETCHED_LATE)
		judge(r, e, &q->fetch.late, q->fetch.sampled_ps, q->fetch.index, true);
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_seen e = { .time_ps = q->dbrec.at_ps, .number = q->dbrec.record, .queue = queue };

	if (complete && q->dbrec.set && q->after.set && !q->after.rang_before)
		judge(r, &e, &q->after.store, q->dbrec.sampled_ps, q->after.value, false);
}

static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	f->dropped = !bf_mlx5_rule_fences_in_block(r->rules, f->late.actor, f->late.record);
	bf_finding_say(f, "store of ");
	if (f->n[1])
		bf_finding_say(f, "WQE %" PRIu64 " of QP 0x%" PRIx64, f->found.index, f->queue->number);
	else
		bf_finding_say(f, "%" PRIu64 " into the doorbell record of QP 0x%" PRIx64, f->found.index,
			       f->queue->number);
	bf_finding_say(
	    f,
	    " by %s became visible %s after the device had read there, although the thread has fenced since: no "
	    "fence that reaches the device stands in between, those of this thread reach its block only",
	    bf_rule_actor(r->rules, f->late.actor), bf_store_lateness(&f->late, f->n[0]).text);
}

const struct bf_rule bf_rule_mlx5_fence_scope = {
	.about = {
		.id = "MLX5-FENCE-SCOPE",
		.family = "mlx5",
		.title = "a fence that does not reach the device",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A fence of CTA scope orders stores for the threads of one block: it leaves them in the "
			    "SM's buffers, where neither other SMs nor the NIC look.",
		.wrong = "The entry (or the doorbell record) and the index that announces it are ordered for the "
			 "wrong observers, so the NIC may still see them the other way round.",
		.fix = "Use the scope of whoever reads: __threadfence_system() (fence.acq_rel.sys) before what the "
		       "NIC reads in host memory, at least __threadfence() (gpu) for what it reads in GPU memory.",
		.sources = "PTX ISA, Memory Consistency Model, Scope; NVIDIA/nvshmem ibgda_device.cuh "
			   "ibgda_post_send",
		.example = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial --bug "
			   "cta-fence",
		.twin = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(wqe_fetch),
	.needs = BF_SEES(store, fence, dma_read, ibgda_build, wqe_fetch),
	.on = on,
	.end_queue = end_queue,
	.tell = tell,
};
