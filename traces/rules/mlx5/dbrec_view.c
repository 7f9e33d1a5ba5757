#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	if (!complete || !q->dbrec_stored || !q->dbrec_read || q->dbrec_stored == q->dbrec_read ||
	    q->fetched.upto >= q->posted.upto)
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->dbrec.sampled_ps;
	bf_finding_index(f, q->fetched.upto);
	bf_finding_say(f,
		       "the driver keeps the send counter of QP 0x%" PRIx64 " on PE %" PRIu32 " at 0x%" PRIx64
		       ", and the device reads it at 0x%" PRIx64 ", where it says %" PRIu16,
		       queue->number, queue->pe, q->dbrec_stored, q->dbrec_read, q->dbrec.producer);
}

const struct bf_rule bf_rule_mlx5_dbrec_view = {
	.about = {
		.id = "MLX5-DBREC-VIEW",
		.family = "mlx5",
		.title = "driver and device disagree about where a doorbell record lies",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The context of the queue pair has the address of its doorbell record, 8 bytes: the receive counter "
			    "first, then the send counter. A doorbell makes the NIC read there.",
		.wrong = "The driver stores its counter elsewhere, in the record of another queue pair for instance: the NIC finds "
			 "nothing new, or another queue's index.",
		.fix = "Compute the record's address once, for the context and for the driver; the send counter is at 4.",
		.sources = "mlx5 PRM, Doorbell Record; Queue Pair Context, dbr_addr",
		.test = "tests/traces/test_rules_ibgda.c",
		.why = "The driver takes both from one place.",
	},
	.rank = BF_RANK_SET_UP + 1,
	.needs = BF_SEES(store, dma_read, dbrec, ibgda_post),
	.end_queue = end_queue,
};
