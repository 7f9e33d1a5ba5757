#include "traces/rules/mlx5/key.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->mkey_error.why == BF_MLX5_KEY_ACCESS || e->mkey_error.why == BF_MLX5_KEY_PD ||
	    e->mkey_error.why == BF_MLX5_KEY_QP)
		bf_mlx5_rule_key_finding(r, e);
}

const struct bf_rule bf_rule_mlx5_key_access = {
	.about = {
		.id = "MLX5-KEY-ACCESS",
		.family = "mlx5",
		.title = "an access that its memory key does not allow",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A key belongs to a protection domain and allows local writes, remote reads, writes and "
			    "atomics one by one.",
		.wrong = "The region was registered without this right, or by another protection domain than the "
			 "queue pair's.",
		.fix = "Register with every right that the operations need (IBV_ACCESS_REMOTE_ATOMIC for atomics) "
		       "in the queue pair's domain.",
		.sources = "open-mpi/ompi#1241; linux-rdma/perftest#394; InfiniBand Architecture vol. 1, 10.6.3",
		.example = "run ibgda-amo --bug key-no-atomic",
		.twin = "run ibgda-amo",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(mkey_error),
	.on = on,
};
