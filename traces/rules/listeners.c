/* Who listens to which records, by the families that are present; and rules' states, which begin with a record. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "traces/rules/engine_internal.h"

bool bf_rules_lists(const uint16_t *kinds, enum bf_seen_kind kind)
{
	for (; kinds && *kinds; kinds++)
		if (*kinds == kind)
			return true;
	return false;
}

/* Records that are many: a family gets them once the stream has its device. */
bool bf_rules_many(enum bf_seen_kind kind)
{
	return kind == BF_SEEN_store || kind == BF_SEEN_store_visible || kind == BF_SEEN_load ||
	       kind == BF_SEEN_atomic || kind == BF_SEEN_fence || kind == BF_SEEN_mmio_store ||
	       kind == BF_SEEN_mmio_load || kind == BF_SEEN_dma_read || kind == BF_SEEN_dma_write;
}

/* A family whose rules are all off needs no facts. */
static void add_facts(struct bf_rules *r, struct bf_listeners *l, enum bf_seen_kind kind)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->nfamilies; i++) {
		struct bf_family_run *f = &r->families[i];

		if (!f->on || !bf_rules_lists(f->family->records, kind))
			continue;
		l->owner = l->owner ? l->owner : f->family;
		if ((bf_rules_many(kind) && !f->present) || f->enough[kind])
			continue;
		assert(n + 1 < BF_ARRAY_LEN(l->facts));
		l->facts[n++] = (struct bf_listening_facts){ f->family->on, f->facts };
	}
	l->facts[n] = (struct bf_listening_facts){ 0 };
	l->any = n > 0;
}

/* Which of a rule's records it waits with until facts notice something. */
static uint16_t when_of(const struct bf_rule *rule, enum bf_seen_kind kind)
{
	for (uint32_t i = 0; i < rule->whens; i++)
		if (rule->records[i] == kind)
			return rule->when;
	return 0;
}

bool bf_rules_make_state(struct bf_rule_run *run)
{
	if (bf_rules_has_state(run))
		return true;
	run->state = calloc(1, run->rule->state_bytes);
	if (!run->state)
		run->rules->status = -ENOMEM;
	return run->state;
}

/* A rule's first record: from now on they go to it directly. States are large, and most rules never get one. */
static void begins(struct bf_rule_run *run, const struct bf_seen *e)
{
	if (!bf_rules_make_state(run))
		return;
	for (const uint16_t *kind = run->rule->records; *kind; kind++) {
		struct bf_listeners *l = &run->rules->listeners[*kind];

		for (struct bf_listening_rule *rule = l->rules; rule->on; rule++)
			rule->on = rule->run == run ? run->rule->on : rule->on;
		for (struct bf_listening_rule *rule = l->always; rule->on; rule++)
			rule->on = rule->run == run ? run->rule->on : rule->on;
	}
	run->rule->on(run, e);
}

static void add_rules(const struct bf_rules *r, struct bf_listeners *l, enum bf_seen_kind kind)
{
	struct bf_listening_rule *all = l->rules, *always = l->always;

	for (uint32_t i = 0; i < l->nlisted; i++) {
		struct bf_rule_run *run = &r->runs[l->listed[i]];
		const struct bf_listening_rule one = { .when = when_of(run->rule, kind),
						       .on = bf_rules_has_state(run) ? run->rule->on : begins,
						       .run = run };

		if (run->spared == kind || (bf_rules_many(kind) && !run->family->present))
			continue;
		*all++ = one;
		if (!one.when)
			*always++ = one;
	}
	l->any |= all > l->rules;
	*all = *always = (struct bf_listening_rule){ 0 };
}

/* Some rule works with stores to registers, whether its family has shown yet or not. */
static bool wants_registers(const struct bf_rules *r)
{
	for (uint32_t i = 0; i < r->nruns; i++)
		if (bf_rules_lists(r->runs[i].rule->records, BF_SEEN_mmio_store) ||
		    bf_rules_lists(r->runs[i].rule->needs, BF_SEEN_mmio_store))
			return true;
	return false;
}

/* What the engine itself takes in: the table of stores, and the count of faults. */
static bool takes(const struct bf_rules *r, enum bf_seen_kind kind)
{
	return kind == BF_SEEN_agent_start || kind == BF_SEEN_agent_end || kind == BF_SEEN_deadlock ||
	       kind == BF_SEEN_store || kind == BF_SEEN_store_visible || kind == BF_SEEN_dma_read ||
	       kind == BF_SEEN_fault_injected || (kind == BF_SEEN_mmio_store && wants_registers(r));
}

void bf_rules_listen_to(struct bf_rules *r, enum bf_seen_kind kind)
{
	struct bf_listeners *l = &r->listeners[kind];

	l->stale = false;
	add_facts(r, l, kind);
	add_rules(r, l, kind);
	l->wanted = l->any || takes(r, kind);
}

/* Which rules have which kind on their list, and room for both lists of each kind. */
static int make_lists(struct bf_rules *r)
{
	struct bf_listening_rule *room;
	uint32_t n = 0, *at;

	for (uint32_t i = 0; i < r->nruns; i++)
		for (const uint16_t *kind = r->runs[i].rule->records; kind && *kind; kind++, n++)
			r->listeners[*kind].nlisted++;
	at = r->listed = calloc(n + 1, sizeof(*r->listed));
	room = r->listening = calloc(2 * ((size_t)n + BF_SEEN_KINDS), sizeof(*r->listening));
	if (!at || !room)
		return -ENOMEM;
	for (uint32_t kind = 0; kind < BF_SEEN_KINDS; kind++) {
		struct bf_listeners *l = &r->listeners[kind];

		l->listed = at;
		l->rules = room;
		l->always = room + l->nlisted + 1;
		at += l->nlisted;
		room += 2 * (l->nlisted + 1);
		l->nlisted = 0;
	}
	for (uint32_t i = 0; i < r->nruns; i++)
		for (const uint16_t *kind = r->runs[i].rule->records; kind && *kind; kind++)
			r->listeners[*kind].listed[r->listeners[*kind].nlisted++] = i;
	return 0;
}

int bf_rules_make_listeners(struct bf_rules *r)
{
	const int rc = make_lists(r);

	for (enum bf_seen_kind kind = BF_SEEN_NONE + 1; !rc && kind < BF_SEEN_KINDS; kind++)
		bf_rules_listen_to(r, kind);
	return rc;
}
