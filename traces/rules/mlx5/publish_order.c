#include "traces/rules/mlx5/mlx5.h"

/* Its own thread had not said a word when the device fetched it: somebody else's index covered it. */
static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	bf_mlx5_rule_early_build(r, e, false);
}

static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	(void)r;
	bf_finding_say(f, ", by a thread that published a later entry and did not wait for this one");
}

const struct bf_rule bf_rule_mlx5_publish_order = {
	.about = {
		.id = "MLX5-PUBLISH-ORDER",
		.family = "mlx5",
		.title = "entries were published ahead of earlier ones that were not ready",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC takes entries in ring order up to one index. There is no way to announce an "
			    "entry and leave out the one before.",
		.wrong = "A thread moved ready_head over slots that another thread had reserved and not yet filled, "
			 "so the next doorbell hands over unfinished entries.",
		.fix = "Move ready_head from the reservation's own base only: compare-and-swap base to base + count "
		       "and try again until the earlier ones have been published.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_submit_requests; deepseek-ai/DeepEP#181; docs/hardware/mlx5.md#variants-5",
		.example = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial --bug "
			   "no-ready-order",
		.twin = "run ibgda-put --blocks 2 --warps 2 --qp-choice first --ordering adversarial",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(wqe_fetch, ibgda_build),
	.needs = BF_SEES(ibgda_build, ibgda_publish, wqe_fetch, qp_config),
	.on = on,
	.tell = tell,
};
