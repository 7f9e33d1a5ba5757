#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bf_mlx5_rule_failed_with(r, e, 0x13u, "");
}

const struct bf_rule bf_rule_mlx5_remote_access = {
	.about = {
		.id = "MLX5-REMOTE-ACCESS",
		.family = "mlx5",
		.title = "the peer refused the access",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The responder checks the remote key and answers with a NAK; the requester's entry "
			    "fails with syndrome 13, vendor 88.",
		.wrong = "The other side's record of the same request says which check failed; this completion only "
			 "reports it.",
		.fix = "Find the refusal of the responder (MLX5-KEY-*) and look at remote address and key of this "
		       "entry.",
		.sources = "open-mpi/ompi#1241; meta-pytorch/monarch#3759; InfiniBand Architecture vol. 1, 9.9.3",
		.test = "tests/traces/test_rules_errors.c",
		.why = "The model says what is wrong with the key, so another rule is the root cause; this one speaks where only the refusal is known.",
	},
	.rank = BF_RANK_EFFECT - 1,
	.records = BF_SEES(qp_error),
	.on = on,
};
