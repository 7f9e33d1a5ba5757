#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bf_mlx5_rule_failed_with(r, e, 0x04u, "");
}

const struct bf_rule bf_rule_mlx5_local_protection = {
	.about = {
		.id = "MLX5-LOCAL-PROTECTION",
		.family = "mlx5",
		.title = "the NIC may not read or write local memory",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Each scatter-gather element names a local key; the NIC checks it, and with GPU memory "
			    "the PCIe path must let it through.",
		.wrong = "The key does not fit, or the access to memory failed on the way (ACS or IOMMU between NIC "
			 "and GPU): vendor 51 or 52.",
		.fix = "If a MLX5-KEY finding is there, it says which key. Otherwise check ACS, IOMMU and "
		       "peer-memory support.",
		.sources = "FDio/csit#3988; openucx/ucx#3564; NVIDIA/nccl#928, #523",
		.example = "run ibgda-put --faults 'dma-fault skip=4 count=1'",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_REFUSED + 1,
	.records = BF_SEES(qp_error),
	.on = on,
};
