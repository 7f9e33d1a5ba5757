#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(e->queue);
	const uint64_t base = e->ibgda_publish.base;
	const struct bf_mlx5_rule_slot *slot = q->depth ? &q->slots[base % q->depth] : NULL;
	struct bf_finding *f;

	if (!slot || slot->reserved != base + 1 || slot->first != base || slot->count == e->ibgda_publish.count)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, base);
	bf_finding_say(f,
		       "%s published %" PRIu64 " slots of QP 0x%" PRIx64 " on PE %" PRIu32 " from %" PRIu64
		       " on, of which %s had reserved %" PRIu32 ": whoever has the slots behind waits for a turn that "
		       "does not come",
		       bf_rule_actor(r->rules, e->actor), e->ibgda_publish.count, e->queue->number, e->queue->pe, base,
		       bf_rule_actor(r->rules, slot->reserver), slot->count);
}

const struct bf_rule bf_rule_mlx5_publish_count = {
	.about = {
		.id = "MLX5-PUBLISH-COUNT",
		.family = "mlx5",
		.title = "the number of published slots differs from the number reserved",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC takes entries in ring order up to one index, so slots are published in the order "
			    "in which they were reserved, without a gap.",
		.wrong = "ready_head ends at an index where no reservation begins: with too few the last entries are "
			 "never announced and the next thread never has its turn, with too many slots are announced "
			 "that somebody else is still filling.",
		.fix = "Publish exactly base to base + count of one reservation; keep the count with the base "
		       "rather than computing it anew.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_submit_requests; deepseek-ai/DeepEP#181",
		.example = "run ibgda-put --messages 2 --bug publish-more",
		.twin = "run ibgda-put --messages 2",
	},
	.rank = BF_RANK_ENTRY - 1,
	.records = BF_SEES(ibgda_publish),
	.needs = BF_SEES(ibgda_reserve, ibgda_publish, qp_config),
	.on = on,
};
