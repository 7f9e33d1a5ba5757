#include "traces/rules/mlx5/key.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->mkey_error.why == BF_MLX5_KEY_BOUNDS)
		bf_mlx5_rule_key_finding(r, e);
}

const struct bf_rule bf_rule_mlx5_key_bounds = {
	.about = {
		.id = "MLX5-KEY-BOUNDS",
		.family = "mlx5",
		.title = "an access beyond what its memory key covers",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC compares address and length of each access with the key's start and size, at "
			    "both ends.",
		.wrong = "A transfer crosses the end of a memory region. The symmetric heap is registered in "
			 "granules, each with keys of its own, and one entry has one key for each side.",
		.fix = "Cut transfers at granule boundaries and look up both keys for each piece.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_get_lkey, ibgda_get_raddr_rkey; "
			   "linux-rdma/perftest#394",
		.example = "run ibgda-put --size 9000 --granule 4096 --granules-per-mr 1 --bug no-chunk",
		.twin = "run ibgda-put --size 9000 --granule 4096 --granules-per-mr 1",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(mkey_error),
	.on = on,
};
