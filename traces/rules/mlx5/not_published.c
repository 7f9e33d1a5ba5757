#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "traces/rules/mlx5/mlx5.h"

/* Whose slot has its turn: is it the thread's to publish? */
static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_mlx5_rule_slot *slot = q->depth ? &q->slots[q->published.upto % q->depth] : NULL;
	struct bf_finding *f;
	bool known;

	if (!complete || !slot || q->reserved.upto <= q->published.upto || q->failed || q->error_syndrome ||
	    q->state == BF_MLX5_QPS_ERR)
		return;
	known = slot->reserved == q->published.upto + 1;
	/* Who has yet to build its entry may wait for room, and misread what tells it of that. */
	if (known &&
	    (slot->first + slot->count > q->done.upto + q->depth || slot->built[0].index != q->published.upto + 1))
		return;
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = q->reserved.at_ps;
	bf_finding_since(f, q->reserved.at_ps, q->reserved.record);
	bf_finding_index(f, q->published.upto);
	if (known)
		bf_finding_say(f,
			       "%s reserved %" PRIu32 " slots of QP 0x%" PRIx64 " on PE %" PRIu32 " from %" PRIu64
			       " on and never published them; slots up to %" PRIu64 " have been reserved behind",
			       bf_rule_actor(r->rules, slot->reserver), slot->count, queue->number, queue->pe,
			       slot->first, q->reserved.upto);
	else
		bf_finding_say(f,
			       "nobody was given slot %" PRIu64 " of QP 0x%" PRIx64 " on PE %" PRIu32
			       ", and slots up to %" PRIu64 " behind it have been reserved: their turn never comes",
			       q->published.upto, queue->number, queue->pe, q->reserved.upto);
}

const struct bf_rule bf_rule_mlx5_not_published = {
	.about = {
		.id = "MLX5-NOT-PUBLISHED",
		.family = "mlx5",
		.title = "slots were reserved and never published",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC executes a send queue in ring order. A slot that is never announced holds up all "
			    "behind it.",
		.wrong = "A thread took slots and left on a path that does not submit them, or the counter of "
			 "reservations went further than the slots that were handed out: later threads wait for their "
			 "turn forever.",
		.fix = "After a reservation, submit on every path; on an error, fill the slots with NOPs and publish " "those. Advance the counter by the number of slots taken.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_submit_requests; ROCm/mori PR#622",
		.example = "run ibgda-put --messages 2 --bug no-publish",
		.twin = "run ibgda-put --messages 2",
	},
	.rank = BF_RANK_STUCK - 2,
	.needs = BF_SEES(ibgda_reserve, ibgda_publish, qp_config),
	.end_queue = end_queue,
};
