#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bf_mlx5_rule_failed_with(r, e, 0x02u, "");
}

const struct bf_rule bf_rule_mlx5_local_qp = {
	.about = {
		.id = "MLX5-LOCAL-QP-OP",
		.family = "mlx5",
		.title = "an entry that the queue pair cannot execute",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC decodes each entry: opcode, number of segments, inline lengths, the QPN in the "
			    "control segment.",
		.wrong = "The entry is malformed, or asks for what this transport does not have.",
		.fix = "Compare the entry with belfry decode wqe; check ds, opcode modifier and segment types.",
		.sources = "InfiniBand Architecture vol. 1, 10.8.6; docs/hardware/mlx5.md#syndromes-1",
		.test = "tests/traces/test_rules_errors.c",
		.why = "Entries that cannot be executed are those that were fetched too early here, and the rules about that are the root cause.",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(qp_error),
	.on = on,
};
