#include <inttypes.h>

#include "traces/rules/machine/machine.h"
#include "traces/rules/mlx5/polls.h"

/*
 * A thread that waits for a completion, by its own word; or one that has stored entries here, and waits for who knows
 * what.
 */
static const struct bf_machine_thread *awaits(struct bf_rules *r, const struct bf_rule_queue *queue)
{
	const struct bf_machine *m = bf_rule_run_facts(r, &bf_rules_machine);
	const struct bf_machine_thread *says = bf_mlx5_rule_completion_awaited(r, queue->pe);
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);

	for (uint32_t i = 0; m && !says && q->laid.actor && i < BF_MACHINE_THREADS; i++)
		if (m->thread[i].runs && m->thread[i].waits && m->thread[i].actor == q->laid.actor)
			return &m->thread[i];
	return says;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_mlx5_rule_polled_cq *cq =
	    bf_mlx5_rule_polled(bf_mlx5_rule_polls_of(r->rules), queue, q->send_cqn);
	const struct bf_machine_thread *t;
	struct bf_finding *f;

	/* What is behind an error is another matter, and while entries are under way more may come. */
	if (!complete || !cq || !cq->slots || cq->written <= cq->seen + cq->cqes || q->failed || q->was_reset ||
	    q->done.upto < q->fetched.upto)
		return;
	t = awaits(r->rules, queue);
	f = t ? bf_rule_find(r, NULL, queue) : NULL;
	if (!f)
		return;
	f->found.at_ps = t->since_ps;
	bf_finding_since(f, t->since_ps, t->record);
	bf_finding_index(f, cq->seen);
	bf_finding_say(f,
		       "%s waits for %s, and nobody has looked at CQ 0x%" PRIx32 ", a ring of %" PRIu32
		       ", for more than a lap: the device has written %" PRIu64
		       " completions, of which those below %" PRIu64 " were seen",
		       bf_rule_actor(r->rules, t->actor), t->what, cq->cqn, cq->cqes, cq->written, cq->seen);
}

const struct bf_rule bf_rule_mlx5_poll_lapped = {
	.about = {
		.id = "MLX5-POLL-LAPPED",
		.family = "mlx5",
		.title = "completions went once round their ring, and nobody looked",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A completion queue that ignores overrun (oi) is overwritten lap after lap, even if nobody "
			    "polls it. The owner bit tells one lap from the next, and no more.",
		.wrong = "Slots were used again without polling the completions of their last entries. The wait at the "
			 "end counts from the last completion that was seen: its window has passed, and the wait never "
			 "ends.",
		.fix = "Poll at least once for each length of the ring, best when reserving slots.",
		.sources = "NVIDIA-DOCA/gpunetio doca_gpunetio_dev_verbs_cq.cuh, SKIP_AVAILABILITY_CHECK",
		.example = "run gin-signal --bug gin-no-credit --messages 40 --depth 8",
		.twin = "run gin-signal --messages 40 --depth 8",
	},
	.rank = BF_RANK_COMPLETION - 1,
	.needs = BF_SEES(cq_config, cqe, load, agent_wait),
	.end_queue = end_queue,
};
