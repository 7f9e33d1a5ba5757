#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

/* Everything was posted; the device never read the record, or read it for the last time before the last post. */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	struct bf_finding *f;

	if (!complete || !q->posted.upto || q->posted.upto < q->published.upto || q->fetched.upto >= q->posted.upto ||
	    q->done.upto >= q->posted.upto || (q->dbrec.set && q->dbrec.at_ps >= q->posted.at_ps))
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->posted.at_ps;
	bf_finding_since(f, q->posted.at_ps, q->posted.record);
	bf_finding_index(f, q->fetched.upto);
	bf_finding_say(f,
		       "the entries of QP 0x%" PRIx64 " on PE %" PRIu32 " below %" PRIu64
		       " were posted, and no doorbell reached the device since: it has fetched those below %" PRIu64,
		       queue->number, queue->pe, q->posted.upto, q->fetched.upto);
}

const struct bf_rule bf_rule_mlx5_doorbell_lost = {
	.about = {
		.id = "MLX5-DOORBELL-LOST",
		.family = "mlx5",
		.title = "a doorbell never reached the device",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A doorbell is a posted write to the UAR page: nobody acknowledges it, and the NIC "
			    "looks at a queue only after one.",
		.wrong = "The driver posted and the NIC never looked at the doorbell record afterwards.",
		.fix = "Check that the UAR is mapped write-combining or uncached as the doorbell method wants, that "
		       "write-combining is flushed, and that IoMemory registration succeeded.",
		.sources = "deepseek-ai/DeepEP#163, commit 91848ed; mlx5 PRM, Ringing Doorbell",
		.example = "run ibgda-put --faults 'lost-doorbell prob=1' --limit 10ms",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_STUCK - 2,
	.needs = BF_SEES(ibgda_build, qp_config),
	.end_queue = end_queue,
};
