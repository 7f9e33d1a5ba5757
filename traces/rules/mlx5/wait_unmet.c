#include <inttypes.h>

#include "models/mlx5/prm.h"
#include "sim/bytes.h"
#include "traces/rules/mlx5/polls.h"

#define WAIT_SEGMENT 16u /* behind the control segment: two reserved words, index, CQ */

/* The WAIT that was fetched last. */
struct state {
	uint64_t index, at_ps, record;
	uint32_t cqn, count;
	bool set;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);

	if (e->wqe_fetch.opcode != BF_MLX5_OP_WAIT || e->tail_len < WAIT_SEGMENT + 16)
		return;
	*s = (struct state){ .index = bf_mlx5_rule_of(e->queue)->fetch.index,
			     .at_ps = e->time_ps,
			     .record = e->number,
			     .cqn = bf_get_be32(e->tail + WAIT_SEGMENT + 12) & 0xffffff,
			     .count = bf_get_be32(e->tail + WAIT_SEGMENT + 8),
			     .set = true };
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct state *s = bf_rule_queue_state(r, queue);
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct bf_mlx5_rule_polled_cq *cq;
	struct bf_finding *f;

	if (!complete || !s->set || q->done.upto != s->index || q->failed)
		return;
	cq = bf_mlx5_rule_polled(bf_mlx5_rule_polls_of(r->rules), queue, s->cqn);
	f = bf_rule_find(r, NULL, queue);
	if (!f)
		return;
	f->found.at_ps = s->at_ps;
	bf_finding_since(f, s->at_ps, s->record);
	bf_finding_index(f, s->index);
	bf_finding_say(f,
		       "%s is a WAIT for completion %" PRIu32 " of CQ 0x%" PRIx32 ", %s has %" PRIu64
		       " so far: what follows on this queue pair waits forever",
		       bf_mlx5_rule_entry(queue, s->index).text, s->count, s->cqn,
		       s->cqn == q->send_cqn ? "which is its own queue pair's and" : "which", cq ? cq->written : 0);
}

const struct bf_rule bf_rule_mlx5_wait_unmet = {
	.about = {
		.id = "MLX5-WAIT-UNMET",
		.family = "mlx5",
		.title = "a WAIT entry waits for a completion that does not come",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A WAIT holds up its queue pair until the named CQ has the completion with the named number; "
			    "numbers count completions from the CQ's beginning.",
		.wrong = "The number is one too high, the entry meant asks for no completion, or the CQ is not that of the "
			 "queue pair that is waited for.",
		.fix = "Number of the entry's completion, from 0, and the CQN that CREATE_CQ returned for the queue pair "
		       "waited for.",
		.sources = "mlx5 PRM, WAIT; docs/gin.md",
		.test = "tests/traces/test_rules_waits.c",
		.why = "The driver computes both from the queue pair that it has just posted to.",
	},
	.rank = BF_RANK_STUCK - 2,
	.records = BF_SEES(wqe_fetch),
	.needs = BF_SEES(wqe_fetch, cq_config, cqe),
	.queue_bytes = sizeof(struct state),
	.on = on,
	.end_queue = end_queue,
};
