#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (e->gin_taken.posted)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->gin_taken.index);
	bf_finding_say(f,
		       "%s took descriptor %" PRIu64 " for QP 0x%" PRIx64 " on PE %" PRIu32
		       " out of its queue and posted nothing for it: what it asks for never happens",
		       bf_rule_actor(r->rules, e->actor), e->gin_taken.index, e->queue->number, e->queue->pe);
}

const struct bf_rule bf_rule_mlx5_descriptor_lost = {
	.about = {
		.id = "MLX5-DESCRIPTOR-LOST",
		.family = "mlx5",
		.title = "a proxy took a request out of its queue and did not post it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC knows what stands in its send queue. A request that was cleared in the queue of "
			    "descriptors stands nowhere.",
		.wrong = "The proxy takes a descriptor before it knows of room in its send queue or among its requests, and "
			 "has nowhere to put it back: under back pressure it is lost.",
		.fix = "Look for room first and leave the descriptor where it is until there is some, or keep it and try "
		       "again.",
		.sources = "NVIDIA/nccl#2119",
		.example = "run gin-put --handler gfd --messages 20 --bug gin-gfd-lost",
		.twin = "run gin-put --handler gfd --messages 20",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(gin_taken),
	.on = on,
};
