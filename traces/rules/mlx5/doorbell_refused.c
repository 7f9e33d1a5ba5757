#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->doorbell.verdict ? bf_rule_find(r, e, e->queue) : NULL;
	char why[32];

	if (!f)
		return;
	bf_finding_index(f, e->doorbell.index);
	bf_finding_say(f, "the doorbell for index %" PRIu64 " of QP 0x%" PRIx64 " on PE %" PRIu32 " had no effect: %s",
		       e->doorbell.index, e->doorbell.qpn, e->pe, bf_seen_text(e, "verdict", why, sizeof(why)));
}

const struct bf_rule bf_rule_mlx5_doorbell_refused = {
	.about = {
		.id = "MLX5-DOORBELL-REFUSED",
		.family = "mlx5",
		.title = "a doorbell for a queue pair that cannot accept it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A doorbell names a queue pair, comes through the UAR page that it was created with, "
			    "and is obeyed in state RTS.",
		.wrong = "The NIC ignored it: no such queue pair, another one's UAR page, or a state before RTS.",
		.fix = "Ring through the queue pair's own UAR page, after RTR2RTS has succeeded.",
		.sources = "mlx5 PRM, Ringing Doorbell and QP state machine; docs/hardware/mlx5.md#qp-states-3",
		.example = "run ibgda-put --bug rts-skipped",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_SET_UP + 2,
	.records = BF_SEES(doorbell),
	.on = on,
};
