#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void compare(struct bf_rule_run *r, const struct bf_seen *e, struct bf_rule_queue *from,
		    struct bf_rule_queue *to)
{
	const struct bf_mlx5_rule_queue *a = bf_mlx5_rule_of(from), *b = bf_mlx5_rule_of(to);
	struct bf_finding *f = a->max_reads > b->max_answers ? bf_rule_find(r, e, from) : NULL;

	if (f)
		bf_finding_say(f,
			       "QP 0x%" PRIx64 " on PE %" PRIu32 " may have %" PRIu32
			       " reads and atomics outstanding, and its peer, QP 0x%" PRIx64 " on PE %" PRIu32
			       ", answers %" PRIu32,
			       from->number, from->pe, a->max_reads, to->number, to->pe, b->max_answers);
}

/* When the second end of a connection is ready, both are known. */
static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *mine = bf_mlx5_rule_of(e->queue);
	struct bf_rule_queue *far;

	for (uint32_t i = 0; i < 256 && (far = bf_rule_queue_at(r->rules, i)) != NULL; i++) {
		const struct bf_mlx5_rule_queue *theirs = far->family == &bf_rules_mlx5 ? bf_mlx5_rule_of(far) : NULL;

		if (!theirs || !theirs->connected || far->number != mine->remote_qpn ||
		    theirs->ipv4 != mine->remote_ipv4 || theirs->remote_qpn != e->queue->number)
			continue;
		compare(r, e, e->queue, far);
		compare(r, e, far, e->queue);
		return;
	}
}

const struct bf_rule bf_rule_mlx5_read_depth = {
	.about = {
		.id = "MLX5-READ-DEPTH",
		.family = "mlx5",
		.title = "more reads and atomics outstanding than the peer accepts",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "max_rd_atomic of the requester bounds its outstanding READs and atomics; "
			    "max_dest_rd_atomic of the responder bounds those that it keeps.",
		.wrong = "The requester may have more outstanding than the responder keeps: it answers with a NAK "
			 "(12/8a), or RTR2RTS fails with a bad parameter.",
		.fix = "max_rd_atomic of each side must not exceed max_dest_rd_atomic of the other; exchange them "
		       "with the handles.",
		.sources = "charmplusplus/charm#2532; InfiniBand Architecture vol. 1, 9.7.7.1 and 12.7.29",
		.example = "run ibgda-get --bug read-depth",
		.twin = "run ibgda-get",
	},
	.rank = BF_RANK_SET_UP + 1,
	.records = BF_SEES(qp_path),
	.on = on,
	.needs = BF_SEES(qp_path),
};
