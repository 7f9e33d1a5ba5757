#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"
#include "models/mlx5/prm_cqe.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->cqe.syndrome == BF_MLX5_SYND_WR_FLUSH ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, e->cqe.index);
	bf_finding_say(f,
		       "entries of QP 0x%" PRIx64 " on PE %" PRIu32 " from WQE %" PRIu64
		       " on were flushed (05/%02" PRIx64 "): look for the first error of this queue pair",
		       e->queue->number, e->queue->pe, e->cqe.index, e->cqe.vendor);
}

const struct bf_rule bf_rule_mlx5_flushed = {
	.about = {
		.id = "MLX5-FLUSHED",
		.family = "mlx5",
		.title = "entries were flushed because of an earlier error",
		.severity = BF_SEVERITY_NOTE,
		.hardware = "After the first error a queue pair is in error state, and each entry that waits "
			    "completes with syndrome 05.",
		.wrong = "A flush says nothing about its own entry. Look at the first error.",
		.fix = "Report the first completion with another syndrome than 05.",
		.sources = "FDio/csit#3988; NVIDIA/nccl#426",
		.test = "tests/traces/test_rules_errors.c",
		.why = "It follows from an error, and a run with one has that as its root cause.",
	},
	.rank = BF_RANK_EFFECT + 2,
	.records = BF_SEES(cqe),
	.on = on,
};
