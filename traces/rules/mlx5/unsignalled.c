#include <inttypes.h>

#include "traces/rules/machine/machine.h"
#include "traces/rules/mlx5/polls.h"

/*
 * Of a driver that says nothing it is not known for which queue its threads wait: it must have no other answer, or
 * somebody waits where the queue's next completion comes.
 */
static bool next_is_awaited(struct bf_rule_run *r, const struct bf_rule_queue *queue)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_mlx5_rule_polled_cq *cq =
	    bf_mlx5_rule_polled(bf_mlx5_rule_polls_of(r->rules), queue, q->send_cqn);

	if (!q->cqes)
		return true;
	return cq && cq->slots && cq->written == q->cqes &&
	       bf_mlx5_rule_awaited_slot(r->rules, cq, cq->written % cq->cqes) != NULL;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_machine_thread *t;
	struct bf_finding *f;

	if (!complete || q->failed || q->covered >= q->done.upto || q->done.upto < q->fetched.upto ||
	    (q->driver_speaks ? q->done.upto != q->posted.upto || q->polled.upto >= q->posted.upto
			      : !next_is_awaited(r, queue)))
		return;
	t = bf_mlx5_rule_completion_awaited(r->rules, queue->pe);
	f = t ? bf_rule_find(r, NULL, queue) : NULL;
	if (!f)
		return;
	f->found.at_ps = q->done.at_ps;
	bf_finding_since(f, q->done.at_ps, q->done.record);
	bf_finding_index(f, q->done.upto - 1);
	bf_finding_say(f,
		       "%s waits for %s since %" PRIu64 " ps, and the device has executed all entries of QP 0x%" PRIx64
		       " on PE %" PRIu32 ", those below %" PRIu64 ": none from %" PRIu64
		       " on asked for a completion (CQ_UPDATE, bits 3:2 of fm_ce_se), so none comes",
		       bf_rule_actor(r->rules, t->actor), t->what, t->since_ps, queue->number, queue->pe, q->done.upto,
		       q->covered);
}

const struct bf_rule bf_rule_mlx5_unsignalled = {
	.about = {
		.id = "MLX5-UNSIGNALLED",
		.family = "mlx5",
		.title = "an entry is waited for that asked for no completion",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A good entry has a completion only if its control segment asks for one (CQ_UPDATE). A later "
			    "one that does covers those before it.",
		.wrong = "The last entries have no such flag, and nothing follows them: they are done, and nobody "
			 "can know.",
		.fix = "Set CQ_UPDATE in the last entry of whatever is waited for, or post a NOP with it.",
		.sources = "mlx5 PRM, Control Segment; man ibv_post_send (IBV_SEND_SIGNALED); NVIDIA/nvshmem#85",
		.example = "run ibgda-put --limit 10ms --bug no-cqe",
		.twin = "run ibgda-put --limit 10ms",
	},
	.rank = BF_RANK_STUCK - 2,
	.end_queue = end_queue,
};
