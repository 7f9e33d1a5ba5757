#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bf_mlx5_rule_failed_with(r, e, 0x16u, "");
}

const struct bf_rule bf_rule_mlx5_rnr_exceeded = {
	.about = {
		.id = "MLX5-RNR-EXCEEDED",
		.family = "mlx5",
		.title = "the peer had no receive buffer for too long",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A SEND or WRITE with immediate takes a receive entry; without one the responder "
			    "answers RNR NAK and the requester waits and sends again, rnr_retry times; 7 means for "
			    "ever.",
		.wrong = "rnr_retry is finite and ran out before the receiver posted buffers.",
		.fix = "Post receives before the sender may send (or use credits), and set rnr_retry to 7.",
		.sources = "spdk/spdk#2429; InfiniBand Architecture vol. 1, 9.7.5.2.8",
		.example = "run ibgda-put --bug write-imm --bug rnr-finite",
		.twin = "run ibgda-put --bug rnr-finite",
	},
	.rank = BF_RANK_EFFECT,
	.records = BF_SEES(qp_error),
	.on = on,
};
