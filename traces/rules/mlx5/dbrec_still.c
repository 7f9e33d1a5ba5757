#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

/*
 * Rung and read, and the index there is still the one that everything has been fetched up to. A word that was stored
 * to, other than to clear it, holds a wrong index: MLX5-DBREC-INDEX, or MLX5-DBREC-ENDIAN.
 */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	if (!complete || !q->dbrec.set || !q->posted.upto || q->fetched.upto >= q->posted.upto ||
	    q->dbrec.at_ps < q->posted.at_ps || q->dbrec.producer != (uint16_t)q->fetched.upto || q->after.set ||
	    q->swapped.set || (q->most.set && (q->most.value || q->dbrec.producer)))
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->dbrec.sampled_ps;
	bf_finding_since(f, q->posted.at_ps, q->posted.record);
	bf_finding_index(f, q->fetched.upto);
	bf_finding_say(f,
		       "the device was rung for %" PRIu16 " of QP 0x%" PRIx64 " on PE %" PRIu32 " and read %" PRIu16
		       " in the doorbell record's send word, which %s",
		       q->dbrec.doorbell, queue->number, queue->pe, q->dbrec.producer,
		       q->most.set ? "was cleared and never stored to since" : "nobody stores to");
	if (q->receive.set && q->receive.value == (uint16_t)q->posted.upto)
		bf_finding_say(f, "; %s stored %" PRIu16 " into the receive word, four bytes before it",
			       bf_rule_actor(r->rules, q->receive.store.actor), q->receive.value);
}

const struct bf_rule bf_rule_mlx5_dbrec_still = {
	.about = {
		.id = "MLX5-DBREC-STILL",
		.family = "mlx5",
		.title = "doorbells are rung, but the doorbell record never changes",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A doorbell record has two words: bytes 0 to 3 are the receive queue's, bytes 4 to 7 the "
			    "send queue's. A doorbell makes the NIC read them; the index in the doorbell is only a "
			    "hint.",
		.wrong = "The index was stored elsewhere, to the receive word for instance: the NIC looks each time "
			    "it is rung and finds nothing new.",
		.fix = "Store the send counter at offset 4 of the record.",
		.sources = "deepseek-ai/DeepEP commit 91848ed; NVIDIA/nvshmem ibgda.cpp ibgda_dci_progress; mlx5 "
			    "PRM, Doorbell Record",
		.example = "run ibgda-put --proxy --limit 10ms --bug proxy-recv-word",
		.twin = "run ibgda-put --proxy --limit 10ms",
	},
	.rank = BF_RANK_INDEX,
	.needs = BF_SEES(store, dbrec, ibgda_post),
	.end_queue = end_queue,
};
