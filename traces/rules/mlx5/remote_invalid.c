#include "models/mlx5/prm_cqe.h"
#include "traces/rules/mlx5/far.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bf_mlx5_rule_failed_with(r, e, BF_MLX5_SYND_REM_INV_REQ, "");
}

const struct bf_rule bf_rule_mlx5_remote_invalid = {
	.about = {
		.id = "MLX5-REMOTE-INVALID",
		.family = "mlx5",
		.title = "the peer found the request invalid",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The responder checks each request packet against its queue pair: length, path MTU, order of the packets of a message, which operations it allows, how many READs and atomics. It answers NAK code 1, and the entry fails with syndrome 12.",
		.wrong = "Both ends do not agree on something that was set up: path MTU, remote access flags of the queue pair, READs in flight, or the receive buffer is smaller than the message.",
		.fix = "Compare both ends: MTU, qp_access_flags, max_rd_atomic and max_dest_rd_atomic, and the length of the receive buffer. The responder has its own completion or event for the same request.",
		.sources = "InfiniBand Architecture vol. 1, 9.7.5.2.4 and 9.9.3; openucx/ucx#1770; spdk/spdk#961",
		.test = "tests/traces/test_rules_errors.c",
		.why = "No workload does so: the driver sets both ends up from one place.",
	},
	.rank = BF_RANK_EFFECT,
	.records = BF_SEES(qp_error),
	.on = on,
};
