/* Findings: made by rules, completed at the end, ordered, one of them the root cause. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/rules/engine_internal.h"

const char *bf_severity_name(enum bf_severity s)
{
	static const char *const names[] = { "error", "warning", "note" };

	return (size_t)s < BF_ARRAY_LEN(names) ? names[s] : "?";
}

struct bf_span bf_span_of(uint64_t ps)
{
	struct bf_span s;

	if (ps == 0)
		snprintf(s.text, sizeof(s.text), "immediately");
	else if (ps < BF_NS)
		snprintf(s.text, sizeof(s.text), "%" PRIu64 " ps", ps);
	else if (ps < BF_US)
		snprintf(s.text, sizeof(s.text), "%" PRIu64 ".%03u ns", ps / 1000, (unsigned)(ps % 1000));
	else
		snprintf(s.text, sizeof(s.text), "%" PRIu64 ".%03u us", ps / 1000000, (unsigned)(ps / 1000 % 1000));
	return s;
}

struct bf_span bf_store_lateness(const struct bf_store *s, uint64_t at_ps)
{
	static const struct bf_span never = { "not at all, before or" };

	return s->visible_ps == BF_NEVER ? never : bf_span_of(s->visible_ps > at_ps ? s->visible_ps - at_ps : 0);
}

/* ---- making ---- */

static struct bf_finding *find(struct bf_rule_run *r, const struct bf_rule_queue *queue, uint32_t actor)
{
	for (uint32_t i = 0; i < r->rules->nfindings; i++) {
		struct bf_finding *f = r->rules->findings[i];

		if (f->rule == r->rule && f->queue == queue && (queue || f->actor == actor))
			return f;
	}
	return NULL;
}

struct bf_finding *bf_rule_found(struct bf_rule_run *r, const struct bf_rule_queue *queue)
{
	return find(r, queue, 0);
}

struct bf_finding *bf_rule_find(struct bf_rule_run *r, const struct bf_seen *e, struct bf_rule_queue *queue)
{
	struct bf_rules *all = r->rules;
	struct bf_finding *f = find(r, queue, e ? e->actor : 0);

	if (f) {
		f->found.more++;
		return NULL;
	}
	if (!all->findings)
		all->findings = calloc(BF_FINDINGS_MAX, sizeof(struct bf_finding *));
	if (!all->findings || all->nfindings == BF_FINDINGS_MAX)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f)
		return NULL;
	f->rule = r->rule;
	f->queue = queue;
	f->actor = e ? e->actor : 0;
	f->found.rule = &r->rule->about;
	f->found.at_ps = f->found.begin_ps = f->found.end_ps = e ? e->time_ps : all->now_ps;
	f->found.first_record = f->found.last_record = e ? e->number : all->records ? all->records - 1 : 0;
	f->found.text = f->text;
	all->findings[all->nfindings++] = f;
	return f;
}

void bf_finding_index(struct bf_finding *f, uint64_t index)
{
	f->found.has_index = true;
	f->found.index = index;
}

void bf_finding_say(struct bf_finding *f, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(f->text + f->len, sizeof(f->text) - f->len, fmt, ap);
	va_end(ap);
	if (n > 0)
		f->len = f->len + (uint32_t)n < sizeof(f->text) ? f->len + (uint32_t)n : (uint32_t)sizeof(f->text) - 1;
}

void bf_finding_since(struct bf_finding *f, uint64_t ps, uint64_t record)
{
	if (ps < f->found.begin_ps)
		f->found.begin_ps = ps;
	if (record < f->found.first_record)
		f->found.first_record = record;
}

void bf_finding_until(struct bf_finding *f, uint64_t ps, uint64_t record)
{
	if (ps > f->found.end_ps)
		f->found.end_ps = ps;
	if (record > f->found.last_record)
		f->found.last_record = record;
}

void bf_finding_watch(struct bf_rules *r, struct bf_finding *f, const struct bf_store *late)
{
	f->late = *late;
	if (late->visible_ps == BF_NEVER)
		r->nwatched++;
	else
		bf_finding_until(f, late->visible_ps, late->visible_record);
	bf_finding_since(f, late->issued_ps, late->record);
}

void bf_findings_store_visible(struct bf_rules *r, const struct bf_store *s)
{
	for (uint32_t i = 0; i < r->nfindings; i++) {
		struct bf_finding *f = r->findings[i];

		if (f->late.seq != s->seq || f->late.actor != s->actor || f->late.visible_ps != BF_NEVER ||
		    !f->late.len)
			continue;
		f->late.visible_ps = s->visible_ps;
		f->late.visible_record = s->visible_record;
		bf_finding_until(f, s->visible_ps, s->visible_record);
		r->nwatched--;
	}
}

/* ---- settling ---- */

static struct bf_rule_run *run_of(struct bf_rules *r, const struct bf_rule *rule)
{
	for (uint32_t i = 0; i < r->nruns; i++)
		if (r->runs[i].rule == rule)
			return &r->runs[i];
	return NULL;
}

/* Without a store that was visible later than issued, memory shows every store at once and none was late. */
static bool void_finding(const struct bf_rules *r, const struct bf_finding *f)
{
	return f->late.len && !bf_stores_buffered(r->stores);
}

static void complete(struct bf_rules *r, struct bf_finding *f)
{
	if (f->late.len && f->late.visible_ps == BF_NEVER)
		bf_finding_until(f, r->now_ps, r->records ? r->records - 1 : 0);
	if (f->rule->tell)
		f->rule->tell(run_of(r, f->rule), f);
	f->found.where = f->queue && f->queue->actor ? bf_rule_actor(r, f->queue->actor) : bf_rule_actor(r, f->actor);
	f->found.suppressed = r->suppress ? bf_suppressed(r->suppress, f->rule->about.id) : NULL;
}

static uint32_t weight(const struct bf_finding *f)
{
	return (f->found.suppressed ? 1000u : 0u) + (f->rule->about.severity == BF_SEVERITY_NOTE ? 500u : 0u) +
	       f->rule->rank;
}

static int compare(const void *a, const void *b)
{
	const struct bf_finding *x = *(struct bf_finding *const *)a, *y = *(struct bf_finding *const *)b;

	if (weight(x) != weight(y))
		return weight(x) < weight(y) ? -1 : 1;
	if (x->found.at_ps != y->found.at_ps)
		return x->found.at_ps < y->found.at_ps ? -1 : 1;
	if (x->found.last_record != y->found.last_record)
		return x->found.last_record < y->found.last_record ? -1 : 1;
	return strcmp(x->rule->about.id, y->rule->about.id);
}

void bf_findings_complete(struct bf_rules *r)
{
	for (uint32_t i = r->settled; i < r->nfindings; i++) {
		struct bf_finding *f = r->findings[i];

		if (!void_finding(r, f))
			complete(r, f);
		else
			f->dropped = true;
		if (f->dropped) {
			free(f);
			continue;
		}
		r->findings[r->settled++] = f;
		r->problems += !f->found.suppressed && f->rule->about.severity != BF_SEVERITY_NOTE;
	}
	r->nfindings = r->settled;
}

bool bf_rule_silent(const struct bf_rule_run *r, const struct bf_rule_queue *queue)
{
	for (uint32_t i = 0; i < r->rules->settled; i++) {
		const struct bf_finding *f = r->rules->findings[i];

		if (f->rule->about.severity != BF_SEVERITY_NOTE && (!queue || f->queue == queue))
			return false;
	}
	return true;
}

void bf_findings_settle(struct bf_rules *r)
{
	if (r->nfindings)
		qsort(r->findings, r->nfindings, sizeof(*r->findings), compare);
	if (r->problems)
		r->findings[0]->found.root = true;
}

void bf_findings_free(struct bf_rules *r)
{
	for (uint32_t i = 0; i < r->nfindings; i++)
		free(r->findings[i]);
	free(r->findings);
}

uint32_t bf_rules_count(const struct bf_rules *r)
{
	return r->nfindings;
}

const struct bf_found *bf_rules_found(const struct bf_rules *r, uint32_t i)
{
	return i < r->nfindings ? &r->findings[i]->found : NULL;
}

const struct bf_found *bf_rules_root(const struct bf_rules *r)
{
	return r->problems ? &r->findings[0]->found : NULL;
}

uint32_t bf_rules_problems(const struct bf_rules *r)
{
	return r->problems;
}

uint64_t bf_rules_faults(const struct bf_rules *r, const char **text)
{
	*text = r->faults ? r->fault_text : NULL;
	return r->faults;
}

/* ---- rules that lacked evidence ---- */

static bool family_present(const struct bf_rules *r, const struct bf_rule *rule)
{
	for (uint32_t i = 0; i < r->nfamilies; i++)
		if (strcmp(r->families[i].family->name, rule->about.family) == 0)
			return r->families[i].present;
	return false;
}

static size_t name_missing(const struct bf_rules *r, const struct bf_rule *rule, char *out, size_t cap)
{
	size_t len = 0;

	for (const uint16_t *k = rule->needs; k && *k; k++) {
		const char *name = bf_seen_name(*k);

		if (r->listeners[*k].seen || len + strlen(name) + 2 > cap)
			continue;
		len += (size_t)snprintf(out + len, cap - len, "%s%s", len ? " " : "", name);
	}
	return len;
}

void bf_rules_note_unable(struct bf_rules *r)
{
	enum { NAMES_MAX = 160 };

	r->unable = calloc(r->nruns + 1, sizeof(*r->unable));
	r->unable_text = calloc(r->nruns + 1, NAMES_MAX);
	for (uint32_t i = 0; r->unable && r->unable_text && i < r->nruns; i++) {
		char *text = r->unable_text + (size_t)i * NAMES_MAX;

		if (family_present(r, r->runs[i].rule) && name_missing(r, r->runs[i].rule, text, NAMES_MAX))
			r->unable[r->nunable++] = (struct bf_unable){ &r->runs[i].rule->about, text };
	}
}

const struct bf_unable *bf_rules_unable(const struct bf_rules *r, uint32_t i)
{
	return i < r->nunable ? &r->unable[i] : NULL;
}

const struct bf_rule_about *bf_rules_judging(const struct bf_rules *r, uint32_t i)
{
	for (uint32_t k = 0; k < r->nruns; k++)
		if (family_present(r, r->runs[k].rule) && i-- == 0)
			return &r->runs[k].rule->about;
	return NULL;
}
