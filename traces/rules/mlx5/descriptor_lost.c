#include <inttypes.h>

#include <string.h>

#include "traces/rules/machine/machine.h"
#include "traces/rules/mlx5/mlx5.h"

/* What was asked for on a queue, and what the proxy did about it: numbers of descriptors, from 1. */
struct state {
	uint64_t asked, taken, entry; /* `entry`: that the last one became */
	uint32_t proxy;
};

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = bf_rule_queue_state(r, e->queue);
	struct bf_finding *f;

	if (e->kind == BF_SEEN_gin_descriptor) {
		s->asked = s->asked > e->gin_descriptor.index ? s->asked : e->gin_descriptor.index + 1;
		return;
	}
	s->taken = e->gin_taken.index + 1;
	s->entry = e->gin_taken.entry;
	s->proxy = e->actor;
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

/* A thread that waits until the proxy says that it is through. */
static const struct bf_machine_thread *awaits(struct bf_rules *r, uint32_t pe)
{
	const struct bf_machine *m = bf_rule_run_facts(r, &bf_rules_machine);

	for (uint32_t i = 0; m && i < BF_MACHINE_THREADS; i++)
		if (m->thread[i].runs && m->thread[i].waits && m->thread[i].pe == pe &&
		    strstr(m->thread[i].what, "descriptors that the proxy"))
			return &m->thread[i];
	return NULL;
}

/* All that was asked for on all queues of the PE is done. */
static bool through(struct bf_rule_run *r, uint32_t pe)
{
	const struct bf_rule_queue *q;

	for (uint32_t i = 0; (q = bf_rule_queue_at(r->rules, i)) != NULL; i++) {
		const struct state *s = q->family == &bf_rules_mlx5 && q->pe == pe ? bf_rule_queue_state(r, q) : NULL;

		if (s && s->asked && (s->taken < s->asked || bf_mlx5_rule_of(q)->done.upto <= s->entry))
			return false;
	}
	return true;
}

static void end_queue(struct bf_rule_run *r, struct bf_rule_queue *queue, bool complete)
{
	const struct state *s = bf_rule_queue_state(r, queue);
	const struct bf_machine_thread *t = complete && s->taken ? awaits(r->rules, queue->pe) : NULL;
	struct bf_finding *f = t && through(r, queue->pe) ? bf_rule_find(r, NULL, queue) : NULL;

	if (!f)
		return;
	f->found.at_ps = t->since_ps;
	bf_finding_since(f, t->since_ps, t->record);
	bf_finding_index(f, s->taken - 1);
	bf_finding_say(f,
		       "%s waits for descriptors, and %s has taken and posted all %" PRIu64 " of QP 0x%" PRIx64
		       " on PE %" PRIu32 ", and the device has completed them: the proxy does not say so",
		       bf_rule_actor(r->rules, t->actor), bf_rule_actor(r->rules, s->proxy), s->taken, queue->number,
		       queue->pe);
}

const struct bf_rule bf_rule_mlx5_descriptor_lost = {
	.about = {
		.id = "MLX5-DESCRIPTOR-LOST",
		.family = "mlx5",
		.title = "a request to a proxy is lost: taken and not posted, or done and not told",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The NIC sees only its send queue. A request that was cleared from the queue of "
			    "descriptors exists nowhere else.",
		.wrong = "The proxy takes a descriptor before it knows that its send queue or its table of requests "
			 "has room, and cannot put it back: under back pressure the request is lost. Or it does not "
			 "advance the index that tells the requesters.",
		.fix = "Check for room first and leave the descriptor where it is until there is some, or keep it and "
		       "try again.",
		.sources = "NVIDIA/nccl#2119",
		.example = "run gin-put --handler gfd --messages 20 --bug gin-gfd-lost",
		.twin = "run gin-put --handler gfd --messages 20",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(gin_taken, gin_descriptor),
	.queue_bytes = sizeof(struct state),
	.end_queue = end_queue,
	.on = on,
};
