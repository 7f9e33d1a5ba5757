#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	if (!complete || !q->dbrec.set || !q->after.set || !q->after.rang_before)
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

	bf_finding_say(f,
		       "store of %" PRIu64 " into the doorbell record of QP 0x%" PRIx64
		       " by %s became visible %s after the device, rung for %" PRIu16 ", had read %" PRIu16
		       " there, and no doorbell followed: the doorbell was rung before the record was stored",
		       f->found.index, f->queue->number, bf_rule_actor(r->rules, f->late.actor),
		       bf_store_lateness(&f->late, q->dbrec.sampled_ps).text, q->dbrec.doorbell, q->dbrec.producer);
}

const struct bf_rule bf_rule_mlx5_doorbell_first = {
	.about = {
		.id = "MLX5-DOORBELL-FIRST",
		.family = "mlx5",
		.title = "the doorbell is rung before its record is stored",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A doorbell makes the NIC read the doorbell record from memory; the index in the "
			    "doorbell itself is only a hint.",
		.wrong = "The program order is wrong: the NIC reads the record before the new index is in it, and nobody " "rings again.",
		.fix = "Store the record, fence, then ring.",
		.sources = "mlx5 PRM, Ringing Doorbell; rdma-core providers/mlx5/qp.c post_send_db",
		.example = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial --bug "
			   "doorbell-first",
		.twin = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial",
	},
	.rank = BF_RANK_INDEX + 2,
	.needs = BF_SEES(store, mmio_store, dma_read, dbrec),
	.end_queue = end_queue,
	.tell = tell,
};
