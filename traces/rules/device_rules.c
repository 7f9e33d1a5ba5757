/*
 * Rules of devices that come with a program (struct bf_device_rule): families and rules of the engine's own form are
 * made of them, which take records of types that no other rule knows.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"
#include "sim/grow.h"
#include "traces/rules/engine_internal.h"
#include "traces/rules/device_rules_internal.h"

/* A device's family. */
struct bf_device_family {
	const struct bf_device *device;
	struct bf_rule_family family;
	struct bf_rule *rules;
	const struct bf_rule **list; /* of the family */
	uint32_t nrules;
};

/* What is kept of each queue before the states of rules. */
struct facts {
	struct bf_ring *ring;
};

struct bf_device_judge {
	struct bf_rule_run *run;
	struct bf_rule_queue *queue;
	const struct bf_rule_about *about;
};

/* ---- made of the device's tables ---- */

static const struct bf_device_rule *rule_of(const struct bf_device_family *o, const struct bf_rule *rule)
{
	return o->device->rules[rule - o->rules];
}

static const struct bf_device_family *outside_of(const struct bf_rule_run *run)
{
	return BF_CONTAINER_OF(run->family->family, struct bf_device_family, family);
}

static void end_queue(struct bf_rule_run *run, struct bf_rule_queue *q, bool complete)
{
	const struct bf_device_rule *rule = rule_of(outside_of(run), run->rule);
	struct bf_device_judge j = { .run = run, .queue = q, .about = &rule->about };

	if (rule->end)
		rule->end(&j, bf_rule_queue_state(run, q), complete);
}

/* What shows only later: when the store became visible. */
static void tell(struct bf_rule_run *run, struct bf_finding *f)
{
	(void)run;
	if (f->late.len)
		bf_finding_say(f, "; it became visible %s later", bf_store_lateness(&f->late, f->n[0]).text);
}

static int make(struct bf_device_family *o, const struct bf_device *device)
{
	while (device->rules[o->nrules])
		o->nrules++;
	o->device = device;
	o->rules = calloc(o->nrules + 1, sizeof(*o->rules));
	o->list = calloc(o->nrules + 1, sizeof(*o->list));
	if (!o->rules || !o->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < o->nrules; i++) {
		const struct bf_device_rule *from = device->rules[i];

		o->rules[i] = (struct bf_rule){ .about = from->about,
						.rank = from->rank ? from->rank : BF_RANK_ENTRY,
						.queue_bytes = from->queue_bytes,
						.end_queue = end_queue,
						.tell = tell };
		o->rules[i].about.family = device->name;
		o->list[i] = &o->rules[i];
	}
	o->family = (struct bf_rule_family){ .name = device->name,
					     .classes = BF_CLASS_MEM | BF_CLASS_DMA | BF_CLASS_QUEUE | BF_CLASS_DRIVER,
					     .rules = o->list,
					     .queue_bytes = sizeof(struct facts) };
	return 0;
}

int bf_device_rules_open(struct bf_device_family **out, uint32_t *count)
{
	const struct bf_device *d;
	uint32_t n = 0;
	int rc = 0;

	*count = 0;
	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++)
		n += d->rules != NULL;
	*out = calloc(n + 1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && (d = bf_device_at(i)) != NULL; i++)
		if (d->rules)
			rc = make(&(*out)[(*count)++], d);
	return rc;
}

void bf_device_rules_free(struct bf_device_family *o, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		free(o[i].rules);
		free(o[i].list);
	}
	free(o);
}

const struct bf_rule_family *bf_device_rules_family(const struct bf_device_family *o, uint32_t i)
{
	return &o[i].family;
}

/* ---- records ---- */

static bool is_ring(const struct bf_device *d, const char *type)
{
	return d->ring && strcmp(d->ring->type, type) == 0;
}

static bool wants(const struct bf_device_family *o, const struct bf_rec_schema *type)
{
	if (is_ring(o->device, type->name))
		return true;
	for (uint32_t i = 0; i < o->nrules; i++)
		if (bf_rules_has_word(o->device->rules[i]->records, type->name))
			return true;
	return false;
}

bool bf_device_rules_wants(const struct bf_rules *r, const struct bf_rec_schema *type)
{
	for (uint32_t i = 0; i < r->noutside; i++)
		if (wants(&r->outside[i], type))
			return true;
	return false;
}

void bf_device_rules_declare(struct bf_rules *r, const struct bf_rec_schema *type)
{
	for (uint32_t i = 0; i < r->nfamilies; i++)
		for (uint32_t k = 0; k < r->noutside; k++)
			if (r->families[i].family == &r->outside[k].family && wants(&r->outside[k], type))
				r->families[i].present = true;
}

static uint64_t get(const struct bf_device_record *e, const char *field)
{
	const struct bf_rec_field *f = field ? bf_schema_field(e->type, field) : NULL;

	return f ? bf_field_u64(f, e->fixed) : 0;
}

uint64_t bf_device_u64(const struct bf_device_record *e, const char *field)
{
	return get(e, field);
}

/* The queue of a record: by a field, or the actor by its last number. */
static struct bf_rule_queue *queue_of(struct bf_rules *r, const struct bf_device_family *o, const char *field,
				      const struct bf_device_record *e)
{
	struct bf_rules_actor *a = bf_rules_actor_of(r, e->actor);
	const char *digits = a ? a->name + strlen(a->name) : "";
	struct bf_rule_queue *q;

	while (a && digits > a->name && digits[-1] >= '0' && digits[-1] <= '9')
		digits--;
	q = bf_rule_queue(r, &o->family, a ? a->pe : 0, field ? get(e, field) : strtoul(digits, NULL, 10), true);
	if (q && a)
		a->latest = q;
	if (q && a && a->is_queue)
		q->actor = e->actor;
	return q;
}

static void note_ring(struct bf_rules *r, const struct bf_device_family *o, const struct bf_device_record *e)
{
	const struct bf_device_ring *ring = o->device->ring;
	struct bf_rule_queue *q = queue_of(r, o, ring->queue, e);
	struct facts *facts = q ? bf_rule_facts(q) : NULL;

	if (facts)
		facts->ring = bf_stores_ring(r->stores, facts->ring, q, get(e, ring->va), (uint32_t)get(e, ring->bytes),
					     (uint32_t)get(e, ring->entries));
}

static void call(struct bf_rule_run *run, const struct bf_device_family *o, const struct bf_device_record *e)
{
	const struct bf_device_rule *rule = rule_of(o, run->rule);
	struct bf_device_judge j = { .run = run, .about = &rule->about };

	if (!rule->on || !bf_rules_has_word(rule->records, e->type->name))
		return;
	j.queue = queue_of(run->rules, o, rule->queue, e);
	if (j.queue)
		rule->on(&j, bf_rule_queue_state(run, j.queue), e);
}

void bf_device_rules_take(struct bf_rules *r, const struct bf_device_record *e)
{
	struct bf_rules_actor *a = bf_rules_actor_of(r, e->actor);
	bool known = false;

	for (uint32_t k = 0; k < r->noutside; k++) {
		const struct bf_device_family *o = &r->outside[k];

		if (!wants(o, e->type))
			continue;
		known = true;
		if (is_ring(o->device, e->type->name))
			note_ring(r, o, e);
		for (uint32_t i = 0; i < r->nruns; i++)
			if (r->runs[i].family->family == &o->family)
				call(&r->runs[i], o, e);
	}
	if (!known && a)
		a->unjudged = true;
}

/* ---- devices that no rule knows ---- */

/* "ring0" of "ring0.r1". */
static int device_len(const char *actor)
{
	return (int)strcspn(actor, ".");
}

/* Some rule knows a queue of the same device. */
static bool knows(const struct bf_rules *r, const char *actor)
{
	const int n = device_len(actor);

	for (uint32_t i = 0; i < r->actor_places.count; i++)
		if (r->actors[i].latest && device_len(r->actors[i].name) == n &&
		    strncmp(r->actors[i].name, actor, (size_t)n) == 0)
			return true;
	for (uint32_t i = 0; i < r->nunjudged; i++)
		if (device_len(r->unjudged[i]) == n && strncmp(r->unjudged[i], actor, (size_t)n) == 0)
			return true;
	return false;
}

void bf_device_rules_note_unjudged(struct bf_rules *r)
{
	for (uint32_t i = 0; i < r->actor_places.count; i++) {
		const struct bf_rules_actor *a = &r->actors[i];

		if (!a->unjudged || knows(r, a->name))
			continue;
		if (BF_GROW(r->unjudged, r->unjudged_cap, r->nunjudged + 1))
			return;
		snprintf(r->unjudged[r->nunjudged++], sizeof(*r->unjudged), "%.*s", device_len(a->name), a->name);
	}
}

const char *bf_rules_unjudged(const struct bf_rules *r, uint32_t i)
{
	return i < r->nunjudged ? r->unjudged[i] : NULL;
}

/* ---- findings ---- */

static struct bf_finding *find(struct bf_device_judge *j, const struct bf_device_record *e, uint64_t index)
{
	const struct bf_seen seen = { .time_ps = e ? e->time_ps : 0,
				      .number = e ? e->number : 0,
				      .actor = e ? e->actor : 0,
				      .type = e ? e->type : NULL,
				      .fixed = e ? e->fixed : NULL };
	struct bf_finding *f = bf_rule_find(j->run, e ? &seen : NULL, j->queue);

	if (!f)
		return NULL;
	f->found.rule = j->about; /* which outlives the engine */
	bf_finding_index(f, index);
	return f;
}

void bf_device_find(struct bf_device_judge *j, const struct bf_device_record *e, uint64_t index, const char *fmt, ...)
{
	struct bf_finding *f = find(j, e, index);
	char text[400];
	va_list ap;

	if (!f)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bf_finding_say(f, "%s", text);
}

bool bf_device_find_late(struct bf_device_judge *j, const struct bf_device_record *e, uint64_t index, uint32_t slot)
{
	struct bf_rules *r = j->run->rules;
	const struct facts *facts = bf_rule_facts(j->queue);
	const struct bf_sample *x = facts->ring ? bf_ring_sample(facts->ring, slot, e->time_ps) : NULL;
	const struct bf_store *late = x ? bf_sample_late(r->stores, x) : NULL;
	struct bf_finding *f = late ? find(j, e, index) : NULL;

	if (f) {
		f->n[0] = x->sampled_ps;
		bf_finding_watch(r, f, late);
		bf_finding_say(f,
			       "the device read entry %" PRIu64 " at %" PRIu64 " ps, and the store of bytes %" PRIu64
			       "-%" PRIu64 " by %s had not become visible",
			       index, x->sampled_ps, late->va - facts->ring->va - (uint64_t)slot * facts->ring->bytes,
			       late->va - facts->ring->va - (uint64_t)slot * facts->ring->bytes + late->len - 1,
			       bf_rule_actor(r, late->actor));
	}
	return late != NULL;
}
