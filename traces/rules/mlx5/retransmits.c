#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = bf_rule_find(r, e, e->queue);
	char why[32];

	if (!f)
		return;
	bf_finding_index(f, e->retransmit.index);
	bf_finding_say(
	    f, "QP 0x%" PRIx64 " on PE %" PRIu32 " went back to PSN %" PRIu64 " (%s) and sent %" PRIu64 " again",
	    e->queue->number, e->queue->pe, e->retransmit.psn, bf_seen_text(e, "cause", why, sizeof(why)),
	    e->retransmit.sent);
}

const struct bf_rule bf_rule_mlx5_retransmits = {
	.about = {
		.id = "MLX5-RETRANSMITS",
		.family = "mlx5",
		.title = "packets were retransmitted",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "After a loss or a time-out the requester goes back and sends everything from there "
			    "again.",
		.wrong = "It works, at the price of a time-out or of the window sent twice.",
		.fix = "Look at the path: loss, reordering by multiple paths, PFC, or an ACK time-out that is too "
		       "short.",
		.sources = "InfiniBand Architecture vol. 1, 9.7.5; deepseek-ai/DeepEP#74, #137",
		.example = "run ibgda-put --messages 8 --faults 'drop prob=0.1'",
		.twin = "run ibgda-put --messages 8",
	},
	.rank = BF_RANK_SPEED,
	.records = BF_SEES(retransmit),
	.on = on,
};
