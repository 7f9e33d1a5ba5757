#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bf_mlx5_rule_failed_with(r, e, 0x01u, "");
}

const struct bf_rule bf_rule_mlx5_local_length = {
	.about = {
		.id = "MLX5-LOCAL-LENGTH",
		.family = "mlx5",
		.title = "an entry moves more bytes than allowed",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The length of a message is bounded by log_msg_max, and a READ's result by its buffers.",
		.wrong = "The entry asks for more.",
		.fix = "Cut transfers at the queue pair's log_msg_max and at the end of buffers.",
		.sources = "InfiniBand Architecture vol. 1, 10.8.6; docs/hardware/mlx5.md#syndromes-1",
		.test = "tests/traces/test_rules_errors.c",
		.why = "No workload asks for a message beyond the limit of the NIC.",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(qp_error),
	.on = on,
};
