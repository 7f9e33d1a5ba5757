/* Facts of threads, and the list of their rules. */
#include "traces/rules/machine/machine.h"

#include <errno.h>

const struct bf_machine_thread *bf_machine_waits(const struct bf_machine *m, uint64_t *n)
{
	const struct bf_machine_thread *first = NULL;

	*n = 0;
	for (uint32_t i = 0; i < BF_MACHINE_THREADS; i++) {
		const struct bf_machine_thread *t = &m->thread[i];

		if (!t->runs || !t->waits)
			continue;
		(*n)++;
		if (!first || t->since_ps < first->since_ps)
			first = t;
	}
	return first;
}

static void on(struct bf_rules *r, void *facts, const struct bf_seen *e)
{
	struct bf_machine *m = facts;
	struct bf_machine_thread *t = &m->thread[e->actor % BF_MACHINE_THREADS];

	(void)r;
	switch (e->kind) {
	case BF_SEEN_agent_start:
		m->started++;
		*t = (struct bf_machine_thread){ .actor = e->actor, .pe = e->pe, .runs = true };
		break;
	case BF_SEEN_agent_wait:
		if (t->actor != e->actor)
			break;
		t->waits = true;
		t->since_ps = e->time_ps;
		t->record = e->number;
		bf_seen_text(e, "what", t->what, sizeof(t->what));
		break;
	case BF_SEEN_agent_wake:
		if (t->actor == e->actor)
			t->waits = false;
		break;
	case BF_SEEN_deadlock:
		m->deadlocked++;
		break;
	case BF_SEEN_run_failed:
		m->failed = e->run_failed.code != ETIMEDOUT; /* set-up at the time limit was cut, too */
		break;
	default:
		m->ended++;
		if (t->actor == e->actor)
			t->runs = false;
		break;
	}
}

extern const struct bf_rule bf_rule_machine_cut, bf_rule_machine_meeting, bf_rule_machine_stopped,
    bf_rule_machine_stuck, bf_rule_machine_unseen, bf_rule_machine_wild;

static const struct bf_rule *const rules[] = { &bf_rule_machine_meeting,
					       &bf_rule_machine_unseen,
					       &bf_rule_machine_wild,
					       &bf_rule_machine_stopped,
					       &bf_rule_machine_stuck,
					       &bf_rule_machine_cut,
					       NULL };

static const uint16_t signs[] = { BF_SEEN_agent_start, BF_SEEN_run_failed, BF_SEEN_unrecorded, 0 };
static const uint16_t records[] = { BF_SEEN_agent_start,
				    BF_SEEN_agent_wait,
				    BF_SEEN_agent_wake,
				    BF_SEEN_agent_end,
				    BF_SEEN_deadlock,
				    BF_SEEN_run_failed,
				    0 };

const struct bf_rule_family bf_rules_machine = {
	.name = "machine",
	.classes = BF_CLASS_AGENT | BF_CLASS_MEM,
	.rules = rules,
	.signs = signs,
	.records = records,
	.run_bytes = sizeof(struct bf_machine),
	.on = on,
};
