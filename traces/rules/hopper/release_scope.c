#include <inttypes.h>

#include "traces/rules/hopper/hopper.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_seen_hopper_hazard *h = &e->hopper_hazard;
	struct bf_finding *f;

	if (h->event != BF_HAZARD_UNRELEASED || h->by_rank == h->rank)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_say(f,
		       "warp %" PRIu64 " of block %" PRIu64 " read shared memory at 0x%" PRIx64
		       " before the store there by warp %" PRIu64 " lane %" PRIu64 " of rank %" PRIu64
		       " had been released to it (.release.cluster is missing)",
		       h->warp, h->block, h->address, h->by / 32, h->by % 32, h->by_rank);
}

const struct bf_rule bf_rule_hopper_release_scope = {
	.about = {
		.id = "HOPPER-RELEASE-SCOPE",
		.family = "hopper",
		.title = "an arrival for another block does not release to it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An arrival releases as far as its scope says: .relaxed nowhere, .cta (the default) within the block. Another block needs .release.cluster, and .acquire.cluster on its wait.",
		.wrong = "A thread read what another block stored into its memory before that store had been released to it.",
		.fix = "mbarrier.arrive.release.cluster on the peer's barrier, try_wait.acquire.cluster there.",
		.sources = "docs/hardware/hopper.md#symptoms-14; NVIDIA/cutlass#3324",
		.example = "run mbarrier-cluster --ordering adversarial --bug relaxed-peer",
		.twin = "run mbarrier-cluster --ordering adversarial",
	},
	.rank = BF_RANK_DATA,
	.records = BF_SEES(hopper_hazard),
	.on = on,
};
