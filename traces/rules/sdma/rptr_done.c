#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

/* Threads whose last wait was for a read pointer, and what they looked at since. */
#define THREADS 64u
#define LOADS 256u

struct look {
	uint64_t va, at_ps, record;
	uint32_t actor;
};

struct state {
	uint32_t actor[THREADS], nactors;
	struct look looks[LOADS];
	uint64_t nlooks;
};

static void waited(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;
	struct bf_rule_queue *queue;
	uint32_t i = 0;
	bool rptr = false;

	for (uint32_t n = 0; (queue = bf_rule_queue_at(r->rules, n)) != NULL; n++)
		rptr |= queue->family == &bf_rules_sdma && queue->pe == e->pe &&
			bf_sdma_rule_of(queue)->rptr == e->sdma_waited.va;
	while (i < s->nactors && s->actor[i] != e->actor)
		i++;
	if (rptr && i == s->nactors && i < THREADS)
		s->actor[s->nactors++] = e->actor;
	else if (!rptr && i < s->nactors)
		s->actor[i] = s->actor[--s->nactors];
	bf_rule_spare(r, s->nactors ? BF_SEEN_NONE : BF_SEEN_load);
}

static void looked(struct state *s, const struct bf_seen *e)
{
	for (uint32_t i = 0; i < s->nactors; i++)
		if (s->actor[i] == e->actor)
			s->looks[s->nlooks++ % LOADS] = (struct look){ e->load.va, e->time_ps, e->number, e->actor };
}

static bool too_early(const struct look *l, const struct bf_sdma_rule_begun *c)
{
	return l->at_ps > c->at_ps && l->va >= c->dst && l->va - c->dst < c->bytes;
}

static void copied(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_sdma_rule_begun *c = bf_sdma_rule_run(r)->copied;
	const struct state *s = r->state;
	struct bf_finding *f;

	for (uint64_t i = 0; c && i < s->nlooks && i < LOADS; i++) {
		const struct look *l = &s->looks[(s->nlooks - 1 - i) % LOADS];

		if (!too_early(l, c))
			continue;
		f = bf_rule_find(r, e, e->queue);
		if (!f)
			return;
		f->found.at_ps = l->at_ps;
		bf_finding_since(f, l->at_ps, l->record);
		bf_finding_index(f, c->index);
		bf_finding_say(f,
			       "%s waited for the read pointer of %s and looked at 0x%" PRIx64
			       " %s before %s at byte %" PRIu64
			       " had written its last byte: the read pointer tells what was taken, not what is done",
			       bf_rule_actor(r->rules, l->actor), bf_rule_queue_name(r->rules, e->queue), l->va,
			       bf_span_of(e->time_ps - l->at_ps).text, c->name, c->index);
		return;
	}
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	if (e->kind == BF_SEEN_sdma_waited)
		waited(r, e);
	else if (e->kind == BF_SEEN_load)
		looked(r->state, e);
	else
		copied(r, e);
}

const struct bf_rule bf_rule_sdma_rptr_done = {
	.about = {
		.id = "SDMA-RPTR-DONE",
		.family = "sdma",
		.title = "the read pointer is used as completion",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The read pointer says which packets the engine has taken. Their copies may still run, and "
"it is written back late.",
		.wrong = "A thread saw the read pointer reach its packets and looked at the destination while the copy "
"was under way.",
		.fix = "Signal by FENCE or ATOMIC after the body, and wait for that. The read pointer is for room in "
"the ring.",
		.sources = "docs/hardware/sdma.md#ring-7; ROCR-Runtime amd_blit_sdma.cpp SubmitCommand; Linux kfd_mqd_manager_v9.c (RPTR_WRITEBACK)",
		.example = "run sdma-copy --size 65536 --limit 10ms --bug rptr-done",
		.twin = "run sdma-copy --size 65536 --limit 10ms",
	},
	.rank = BF_RANK_INDEX + 1,
	.records = BF_SEES(sdma_waited, load, sdma_copied),
	.on = on,
	.state_bytes = sizeof(struct state),
};
