#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	char verdict[32];
	struct bf_finding *f;

	if (e->cqe.verdict == BF_MLX5_POST_WRITTEN)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->cqe.index);
	f->n[0] = e->cqe.cqn;
	bf_finding_say(f,
		       "the completion of WQE %" PRIu64 " of QP 0x%" PRIx64 " on PE %" PRIu32
		       " was lost on its way to CQ 0x%" PRIx64 " (%s)",
		       e->cqe.index, e->queue->number, e->queue->pe, e->cqe.cqn,
		       bf_seen_text(e, "verdict", verdict, sizeof(verdict)));
}

/* The device completed everything, and of the last completion nobody hears. */
static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(f->queue);

	(void)r;
	if (q->posted.upto && q->done.upto == q->posted.upto && q->polled.upto < q->posted.upto)
		bf_finding_say(f,
			       ": the device completed all entries of QP 0x%" PRIx64 " on PE %" PRIu32 " below %" PRIu64
			       " and its last completion, for entry %" PRIu16 ", was lost",
			       f->queue->number, f->queue->pe, q->posted.upto, q->cqe_counter);
}

const struct bf_rule bf_rule_mlx5_completion_lost = {
	.about = {
		.id = "MLX5-COMPLETION-LOST",
		.family = "mlx5",
		.title = "a completion never reached its queue",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A completion is a posted write of 64 bytes. When the completion queue has failed, or "
			    "the write is lost, nothing tells the driver.",
		.wrong = "A thread that waits for this completion waits forever, unless a later one on the same queue "
			 "covers it.",
		.fix = "With a collapsed CQ a later completion covers earlier ones, so a watchdog that posts a NOP "
		       "finds out. Look at the CQ's state (QUERY_CQ) and at PCIe error counters.",
		.sources = "mlx5 PRM, Completion Queue; ofiwg/libfabric#4525",
		.example = "run ibgda-put --faults 'lost-completion count=1'",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_COMPLETION,
	.records = BF_SEES(cqe),
	.on = on,
	.tell = tell,
};
