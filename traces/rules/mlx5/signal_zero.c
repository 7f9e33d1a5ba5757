#include <inttypes.h>

#include "traces/rules/mlx5/mlx5.h"

#define WORDS 1024u   /* by address; of two that share a place the later counts */
#define WAITERS 1024u /* by number; likewise */

/* A word that an atomic of a NIC came to. */
struct word {
	uint64_t va, value, at_ps, record;
	uint32_t actor, kept; /* how many have left it as it was since one changed it */
};

struct waiter {
	uint32_t actor;
	uint64_t va, at_ps;
};

struct state {
	struct word word[WORDS];
	struct waiter waiter[WAITERS];
};

static struct word *word_of(struct state *s, uint64_t va)
{
	return &s->word[va / 4 % WORDS];
}

static void note_atomic(struct state *s, const struct bf_seen *e)
{
	struct word *w = word_of(s, e->dma_rmw.va);
	const bool kept = e->dma_rmw.before == e->dma_rmw.after;
	const uint32_t before = w->va == e->dma_rmw.va ? w->kept : 0;

	*w = (struct word){ .va = e->dma_rmw.va,
			    .value = e->dma_rmw.after,
			    .at_ps = e->time_ps,
			    .record = e->number,
			    .actor = e->actor,
			    .kept = kept ? before + 1 : 0 };
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct state *s = r->state;

	if (e->kind == BF_SEEN_dma_rmw && e->dma_rmw.va && !e->dma_rmw.status)
		note_atomic(s, e);
	else if (e->kind == BF_SEEN_agent_wait)
		s->waiter[e->actor % WAITERS] = (struct waiter){ e->actor, e->agent_wait.va, e->time_ps };
	else if (s->waiter[e->actor % WAITERS].actor == e->actor)
		s->waiter[e->actor % WAITERS].va = 0;
}

static void end(struct bf_rule_run *r, bool complete)
{
	struct state *s = r->state;

	for (uint32_t i = 0; complete && i < WAITERS; i++) {
		const struct waiter *t = &s->waiter[i];
		const struct word *w = word_of(s, t->va);
		struct bf_finding *f;

		if (!t->va || w->va != t->va || !w->kept)
			continue;
		f = bf_rule_find(r, NULL, NULL);
		if (!f)
			return;
		f->actor = t->actor;
		f->found.at_ps = w->at_ps;
		bf_finding_since(f, w->at_ps, w->record);
		bf_finding_say(f, "%s waits for the word at 0x%" PRIx64 ", and the last ",
			       bf_rule_actor(r->rules, t->actor), t->va);
		bf_finding_say(f, w->kept > 1 ? "%" PRIu32 " atomics" : "atomic", w->kept);
		bf_finding_say(f,
			       " that came there left it as it was, 0x%" PRIx64
			       ": nothing was added, or it was compared with something else",
			       w->value);
	}
}

const struct bf_rule bf_rule_mlx5_signal_zero = {
	.about = {
		.id = "MLX5-SIGNAL-ZERO",
		.family = "mlx5",
		.title = "atomics come to a word that somebody waits for, and do not change it",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A fetch-and-add adds what its entry says, in big-endian. A compare-and-swap stores only "
			    "if it finds the value that it compares with. Both complete normally even if nothing "
			    "changes.",
		.wrong = "A signal that adds 0 arrives and is not seen: the operand was not filled in, was taken from another "
			 "field, or was lost on its way through a proxy's descriptor.",
		.fix = "Print operand and address of the signal where it is asked for and in the entry that is posted.",
		.sources = "mlx5 PRM, Atomic Segment; NVIDIA/nccl gin_signal",
		.test = "tests/traces/test_rules_waits.c",
		.why = "No workload's mistake adds 0: those that lose signals do not send them.",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(dma_rmw, agent_wait, agent_wake, agent_end),
	.state_bytes = sizeof(struct state),
	.on = on,
	.end = end,
};
