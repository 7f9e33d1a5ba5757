#include <inttypes.h>

#include "sim/bytes.h"
#include "models/mlx5/prm_cqe.h"
#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const uint8_t opcode = e->tail_len >= 64 ? e->tail[63] >> 4 : 0;
	struct bf_finding *f;

	if ((opcode != 13 && opcode != 14) || e->tail[55] == BF_MLX5_SYND_WR_FLUSH)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_index(f, bf_get_be16(e->tail + 60));
	bf_finding_say(f,
		       "completion %" PRIu64 " of CQ 0x%" PRIx64 " (line %" PRIu64
		       " of the capture) says that WQE %u of QP 0x%x "
		       "failed with syndrome %02x, vendor %02x: %s",
		       e->capture_cqe.index, e->capture_cqe.cqn, e->capture_cqe.line,
		       (unsigned)bf_get_be16(e->tail + 60), (unsigned)bf_get_be24(e->tail + 57), (unsigned)e->tail[55],
		       (unsigned)e->tail[54], bf_mlx5_rule_syndrome(e->tail[55]));
}

const struct bf_rule bf_rule_mlx5_capture_error = {
	.about = {
		.id = "MLX5-CAPTURED-ERROR",
		.family = "mlx5",
		.title = "a captured completion reports an error",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Opcode 13 or 14 in a completion means that an entry failed; the first one with another "
			    "syndrome than 05 is the error, the others are flushes.",
		.wrong = "The machine that was captured had this error. What it did wrong shows only when the "
			 "capture is replayed, or when memory was captured, too.",
		.fix = "belfry replay runs the captured entries on the model and says where it differs.",
		.sources = "FDio/csit#3988; NVIDIA/nccl#426; docs/hardware/mlx5.md#syndromes-1",
		.test = "tests/traces/test_rules_errors.c",
		.why = "It speaks of captures of real machines.",
	},
	.rank = BF_RANK_EFFECT,
	.records = BF_SEES(capture_cqe),
	.on = on,
};
