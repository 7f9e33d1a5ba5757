#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (!e->cq_config.collapsed || e->cq_config.overrun_ignore)
		return;
	f = bf_rule_find(r, e, NULL);
	if (f)
		bf_finding_say(f,
			       "CQ 0x%" PRIx64 " is collapsed and does not ignore overrun: it fails after %" PRIu64
			       " completions, because nobody gives slots of such a CQ back",
			       e->cq_config.cqn, e->cq_config.cqes);
}

const struct bf_rule bf_rule_mlx5_cq_config = {
	.about = {
		.id = "MLX5-CQ-CONFIG",
		.family = "mlx5",
		.title = "a collapsed completion queue without overrun-ignore",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A collapsed CQ (cc) writes every completion to slot 0. Overrun is still counted unless " "overrun-ignore (oi) is set, and the consumer of a collapsed CQ frees no slots.",
		.wrong = "With cc and without oi the CQ fails after as many completions as it has slots.",
		.fix = "Set oi together with cc.",
		.sources = "ROCm/rocSHMEM#371; ROCm/rocm-systems PR#4431, #4574; NVIDIA/nvshmem#20",
		.example = "run ibgda-put --depth 16 --batch 4 --messages 64 --bug cq-no-oi",
		.twin = "run ibgda-put --depth 16 --batch 4 --messages 64",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(cq_config),
	.on = on,
};
