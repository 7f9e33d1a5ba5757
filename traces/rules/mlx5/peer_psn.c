#include "traces/rules/mlx5/far.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_rule_queue *far = bf_mlx5_far(r->rules, e->queue);
	const struct bf_mlx5_queue *theirs = far ? bf_mlx5_of(far) : NULL;

	/* Where any request was taken both had begun alike. */
	if (!theirs || theirs->answers.taken)
		return;
	bf_mlx5_dropped_for(r, e, BF_RDMA_DROP_SEQUENCE, "the other end waits for another PSN");
	bf_mlx5_dropped_for(r, e, BF_RDMA_DROP_STALE, "the other end takes its packets for old ones");
}

const struct bf_rule bf_rule_mlx5_peer_psn = {
	.about = {
		.id = "MLX5-PEER-PSN",
		.family = "mlx5",
		.title = "retries ran out because both ends count packets differently",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The first packet has the sq_psn of the requester, and the responder takes only what has its rq_psn. One that is ahead is answered once by a NAK and dropped, one that is behind is taken for an old one.",
		.wrong = "sq_psn of one end is not rq_psn of the other: they were exchanged wrongly, or one end was reset and the other was not.",
		.fix = "Exchange starting PSNs with the addresses, use the peer's as rq_psn, and reconnect both ends together.",
		.sources = "InfiniBand Architecture vol. 1, 9.7.1 and 9.7.5.1.1; man ibv_modify_qp",
		.test = "tests/traces/test_rules_errors.c",
		.why = "No workload does so: the driver sets both ends up from one place.",
	},
	.rank = BF_RANK_EFFECT - 2,
	.records = BF_SEES(qp_error),
	.on = on,
};
