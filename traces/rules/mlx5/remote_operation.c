#include "models/mlx5/prm_cqe.h"
#include "traces/rules/mlx5/far.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bf_mlx5_rule_failed_with(r, e, BF_MLX5_SYND_REM_OP, "");
}

const struct bf_rule bf_rule_mlx5_remote_operation = {
	.about = {
		.id = "MLX5-REMOTE-OPERATION",
		.family = "mlx5",
		.title = "the peer could not carry the request out",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The responder accepted the request, and then could not read or write its own memory or its receive queue. It answers NAK code 3, and the entry fails with syndrome 14.",
		.wrong = "The memory behind a key or a receive entry that is valid cannot be reached: an IOMMU mapping that is gone, memory that was freed while it was registered, a receive entry with a bad local key.",
		.fix = "Look at the other machine: its IOMMU and PCIe errors, the lifetime of the registered memory, its receive entries.",
		.sources = "InfiniBand Architecture vol. 1, 9.7.5.2.4 and 9.9.3; docs/hardware/mlx5.md#syndromes-1",
		.test = "tests/traces/test_rules_errors.c",
		.why = "No workload does so: the driver sets both ends up from one place.",
	},
	.rank = BF_RANK_EFFECT,
	.records = BF_SEES(qp_error),
	.on = on,
};
