#include <inttypes.h>
#include <stdio.h>

#include "traces/rules/machine/machine.h"
#include "traces/rules/mlx5/polls.h"

struct state {
	bool written; /* an error completion lies in the queue's CQ */
	bool seen;    /* and some poller says that it saw one */
	/* The last one that said so, by a poll: who, when. */
	uint32_t actor;
	uint64_t at_ps;
	uint64_t good; /* entries below are complete, by polls that saw no error */
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);

	if (e->kind == BF_SEEN_cqe)
		s->written = s->written || (e->cqe.syndrome && e->cqe.verdict == BF_MLX5_POST_WRITTEN);
	else if (e->kind == BF_SEEN_ibgda_quiet)
		s->seen = s->seen || e->ibgda_quiet.status;
	if (e->kind != BF_SEEN_ibgda_poll)
		return;
	if (!e->ibgda_poll.syndrome) {
		s->good = e->ibgda_poll.done > s->good ? e->ibgda_poll.done : s->good;
		return;
	}
	s->seen = true;
	s->actor = e->actor;
	s->at_ps = e->time_ps;
}

/* Who has seen it and has gone on to wait, for good, for what this queue was to complete. */
static const struct bf_machine_thread *waits_on(struct bf_rules *rules, const struct state *s)
{
	const struct bf_machine *m = bf_rule_run_facts(rules, &bf_rules_machine);
	const struct bf_machine_thread *t = m ? &m->thread[s->actor % BF_MACHINE_THREADS] : NULL;

	return t && t->actor == s->actor && t->runs && t->waits && t->since_ps >= s->at_ps &&
		       bf_mlx5_rule_is_completion(t->what)
		   ? t
		   : NULL;
}

/* What became of it: of a driver that says nothing, by its loads. */
static void fate(struct bf_rules *rules, const struct bf_rule_queue *queue, char *text, size_t size)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of((struct bf_rule_queue *)(uintptr_t)queue);
	const struct bf_mlx5_rule_polls *p = bf_mlx5_rule_polls_of(rules);

	if (q->driver_speaks) {
		snprintf(text, size, "no poller of the queue takes it");
		return;
	}
	for (uint32_t i = 0; i < BF_MLX5_POLLERS; i++)
		if (p->poller[i].error == queue && p->poller[i].error_index == q->error_index) {
			snprintf(text, size, "%s read it and no wait ended", bf_rule_actor(rules, p->poller[i].actor));
			return;
		}
	snprintf(text, size, "no wait ended for it");
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);
	const struct state *s = bf_rule_queue_state(r, queue);
	const struct bf_machine_thread *t;
	struct bf_finding *f;
	char what[128];

	/* Who went past it took it for a good one: MLX5-ERROR-IGNORED. Traffic that moved is awaited elsewhere. */
	if (!complete || !s->written || s->good > q->error_index || q->moved || q->stopped)
		return;
	t = s->seen ? waits_on(r->rules, s) : bf_mlx5_rule_completion_awaited(r->rules, queue->pe);
	f = t ? bf_rule_find(r, NULL, queue) : NULL;
	if (!f)
		return;
	if (s->seen)
		snprintf(what, sizeof(what), "the thread has read it and waits on");
	else
		fate(r->rules, queue, what, sizeof(what));
	f->actor = t->actor;
	f->found.at_ps = q->error_ps;
	bf_finding_since(f, q->error_ps, q->error_record);
	bf_finding_index(f, q->error_index);
	bf_finding_say(f,
		       "%s waits for %s since %" PRIu64 " ps, while the completion of %s is there since %" PRIu64
		       " ps: it is an error, syndrome %02x (%s), and %s",
		       bf_rule_actor(r->rules, t->actor), t->what, t->since_ps,
		       bf_mlx5_rule_entry(queue, q->error_index).text, q->error_ps, q->error_syndrome,
		       bf_mlx5_rule_syndrome(q->error_syndrome), what);
}

const struct bf_rule bf_rule_mlx5_error_unseen = {
	.about = {
		.id = "MLX5-ERROR-UNSEEN",
		.family = "mlx5",
		.title = "a poller waits on although an error completion is there",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An entry that fails is completed, too: opcode 13 (14 for a receive) in bits 7:4 of op_own. "
			    "The queue pair is in error state then, and no good completion will ever come.",
		.wrong = "The poller looks for a good completion, or for a counter, and takes everything else for \"not "
			 "yet\": the program hangs where it could have said what failed.",
		.fix = "Stop at opcodes 13 and 14, report syndrome and vendor syndrome, and let all who wait for the queue "
		       "know.",
		.sources = "NVIDIA/nccl#2383; deepseek-ai/DeepEP#558; docs/hardware/mlx5.md#collapsed-cq-5",
		.example = "run ibgda-put --faults 'drop prob=1' --retries 2 --ack-timeout 5 --limit 1s --bug error-waits",
		.twin = "run ibgda-put",
	},
	.rank = BF_RANK_COMPLETION + 2,
	.records = BF_SEES(cqe, ibgda_poll, ibgda_quiet),
	.queue_bytes = sizeof(struct state),
	.on = on,
	.end_queue = end_queue,
};
