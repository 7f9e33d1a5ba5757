#include "traces/rules/mlx5/key.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->mkey_error.why >= BF_MLX5_KEY_UNKNOWN && e->mkey_error.why <= BF_MLX5_KEY_FREE)
		bf_mlx5_key_finding(r, e);
}

const struct bf_rule bf_rule_mlx5_key_unknown = {
	.about = {
		.id = "MLX5-KEY-UNKNOWN",
		.family = "mlx5",
		.title = "an access with a memory key that does not exist",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A key is an index into the NIC's table and a variant byte that changes with each "
			    "registration.",
		.wrong = "The key was never created, was freed, or belongs to an earlier registration of that memory.",
		.fix = "Exchange keys after registration, in the byte order that the entry wants, and exchange them "
		       "anew after registering again.",
		.sources = "mlx5 PRM, Memory Key; NVIDIA/nccl#523, #928; openucx/ucx#3564",
		.example = "run ibgda-put --bug lkey-swapped",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(mkey_error),
	.on = on,
};
