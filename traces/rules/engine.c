/* The engine: who listens to which records, what the stream declares, and its queues. take.c hands the records out. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "traces/rules/engine_internal.h"

#include "sim/grow.h"

/* ---- setting up ---- */

bool bf_rules_has_word(const char *text, const char *word)
{
	const size_t len = strlen(word);

	for (const char *at = text; (at = strstr(at, word)) != NULL; at += len)
		if ((at == text || at[-1] == ' ') && (at[len] == '\0' || at[len] == ' '))
			return true;
	return false;
}

static bool wanted(const struct bf_rules_opts *o, const struct bf_rule *rule)
{
	if (o && o->families && !bf_rules_has_word(o->families, rule->about.family))
		return false;
	if (!o || !o->only)
		return true;
	for (uint32_t i = 0; i < o->nonly; i++)
		if (strcasecmp(o->only[i], rule->about.id) == 0)
			return true;
	return false;
}

static void add_run(struct bf_rules *r, struct bf_family_run *f, const struct bf_rule *rule)
{
	struct bf_rule_run *run = &r->runs[r->nruns++];

	*run = (struct bf_rule_run){
		.rules = r,
		.rule = rule,
		.family = f,
		.facts = f->facts,
		.queue_offset = f->queue_bytes,
		.spared = (enum bf_seen_kind)rule->spares,
	};
	f->queue_bytes += (rule->queue_bytes + 7u) & ~7u;
}

static int add_family(struct bf_rules *r, const struct bf_rule_family *family, const struct bf_rules_opts *o)
{
	struct bf_family_run *f = &r->families[r->nfamilies++];
	int rc = 0;

	*f = (struct bf_family_run){ .family = family, .queue_bytes = (family->queue_bytes + 7u) & ~7u };
	if (family->run_bytes) {
		f->facts = calloc(1, family->run_bytes);
		rc = f->facts ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; !rc && family->rules[i]; i++)
		if (wanted(o, family->rules[i])) {
			f->on = true;
			add_run(r, f, family->rules[i]);
		}
	return rc;
}

/* Ours, then those of the program. */
static const struct bf_rule_family *family_at(const struct bf_rules *r, uint32_t i)
{
	const uint32_t ours = r->nours;

	if (i < ours)
		return bf_rule_family_at(i);
	return i - ours < r->noutside ? bf_device_rules_family(r->outside, i - ours) : NULL;
}

static int set_up(struct bf_rules *r, const struct bf_rules_opts *o)
{
	const struct bf_rule_family *f;
	uint32_t nfamilies = 0, nrules = 0;
	int rc = bf_device_rules_open(&r->outside, &r->noutside);

	if (rc)
		return rc;
	while (bf_rule_family_at(r->nours))
		r->nours++;
	for (; (f = family_at(r, nfamilies)) != NULL; nfamilies++)
		for (uint32_t i = 0; f->rules[i]; i++)
			nrules++;
	r->families = calloc(nfamilies + 1, sizeof(*r->families));
	r->runs = calloc(nrules + 1, sizeof(*r->runs));
	r->stores = bf_stores_open();
	if (!r->families || !r->runs || !r->stores)
		return -ENOMEM;
	for (uint32_t i = 0; !rc && i < nfamilies; i++)
		rc = add_family(r, family_at(r, i), o);
	return rc ? rc : bf_rules_make_listeners(r);
}

static struct bf_family_run *family_run(struct bf_rules *r, const struct bf_rule_family *family);
static int declare_type(struct bf_sink *sink, const struct bf_rec_schema *type);
static int declare_actor(struct bf_sink *sink, uint32_t actor, const char *kind, const char *name);

int bf_rules_create(const struct bf_rules_opts *opts, struct bf_rules **out, struct bf_error *err)
{
	struct bf_rules *r;
	int rc;

	*out = NULL;
	for (uint32_t i = 0; opts && opts->only && i < opts->nonly; i++)
		if (!bf_rule_by_id(opts->only[i]))
			return bf_rules_no_such(opts->only[i], strlen(opts->only[i]), -ENOENT, err);
	r = calloc(1, sizeof(*r));
	if (!r)
		return bf_fail(err, -ENOMEM, "no memory for rules");
	r->sink =
	    (struct bf_sink){ .declare_type = declare_type, .declare_actor = declare_actor, .write = bf_rules_write };
	r->suppress = opts ? opts->suppress : NULL;
	r->processors_keep_order = opts && opts->processors_keep_order;
	for (uint32_t t = 0; t < BF_RECORD_TYPES; t++)
		r->take[t] = bf_rules_take_first;
	rc = set_up(r, opts);
	if (rc) {
		bf_rules_destroy(r);
		return bf_fail(err, rc, "no memory for rules");
	}
	*out = r;
	return 0;
}

void bf_rules_destroy(struct bf_rules *r)
{
	if (!r)
		return;
	for (uint32_t i = 0; i < r->nqueues; i++) {
		if (r->queues[i]->family->forget)
			r->queues[i]->family->forget(r->queues[i]->memory);
		free(r->queues[i]->memory);
		free(r->queues[i]);
	}
	for (uint32_t i = 0; i < r->nfamilies; i++) {
		if (r->families[i].facts && r->families[i].family->forget_run)
			r->families[i].family->forget_run(r->families[i].facts);
		free(r->families[i].facts);
	}
	for (uint32_t i = 0; i < r->nruns; i++)
		free(r->runs[i].state);
	free(r->listed);
	free(r->listening);
	for (uint32_t i = 0; i < BF_RECORD_TYPES; i++)
		free(r->plans[i]);
	bf_findings_free(r);
	bf_device_rules_free(r->outside, r->noutside);
	bf_stores_close(r->stores);
	free(r->families);
	free(r->runs);
	free(r->actors);
	bf_numbering_free(&r->actor_places);
	free(r->queues);
	free(r->queue_table);
	free(r->unable);
	free(r->unjudged);
	free(r->unable_text);
	free(r);
}

struct bf_sink *bf_rules_sink(struct bf_rules *r)
{
	return &r->sink;
}

struct bf_sink *bf_rules_only_sink(struct bf_rules *r)
{
	r->sink.take = r->take;
	return &r->sink;
}

uint32_t bf_rules_classes(const struct bf_rules *r)
{
	uint32_t classes = BF_CLASS_META | BF_CLASS_FAULT;

	for (uint32_t f = 0; f < r->nfamilies; f++)
		if (r->families[f].on)
			classes |= r->families[f].family->classes;
	return classes;
}

/* ---- what the stream declares ---- */

/* Those that the stream has not come up with yet stay wanted. */
static void want(struct bf_rules *r, uint32_t type)
{
	const struct bf_plan *p = r->plans[type];

	if (!r->types[type])
		return;
	if (p)
		r->take[type] = r->listeners[p->kind].wanted ? bf_rules_take_by(p) : NULL;
	else /* without a sink of its own the stream has all records, and whose nobody knows can be told */
		r->take[type] = (!r->sink.take && r->types[type]->class_ & BF_CLASS_QUEUE) ||
					bf_device_rules_wants(r, r->types[type])
				    ? bf_rules_take_device
				    : NULL;
}

static void want_all(struct bf_rules *r)
{
	for (uint32_t t = 0; t < BF_RECORD_TYPES; t++)
		want(r, t);
}

/* A family has shown, and gets what it has waited for. */
static void listen_to_many(struct bf_rules *r)
{
	for (enum bf_seen_kind kind = BF_SEEN_NONE + 1; kind < BF_SEEN_KINDS; kind++)
		if (bf_rules_many(kind))
			bf_rules_listen_to(r, kind);
	want_all(r);
}

static void facts_listen(struct bf_rules *r, const struct bf_rule_family *family, enum bf_seen_kind kind, bool enough)
{
	struct bf_family_run *f = family_run(r, family);

	if (f->enough[kind] == enough)
		return;
	f->enough[kind] = enough;
	bf_rules_listen_to(r, kind);
	want_all(r);
}

void bf_rule_enough(struct bf_rules *r, const struct bf_rule_family *family, enum bf_seen_kind kind)
{
	facts_listen(r, family, kind, true);
}

void bf_rule_again(struct bf_rules *r, const struct bf_rule_family *family, enum bf_seen_kind kind)
{
	facts_listen(r, family, kind, false);
}

/* Others may be looking at the record at hand: lists change when all have. */
void bf_rule_spare(struct bf_rule_run *run, enum bf_seen_kind kind)
{
	struct bf_rules *r = run->rules;

	if (kind == run->spared)
		return;
	r->listeners[run->spared].stale = r->listeners[kind].stale = r->stale = true;
	run->spared = kind;
}

void bf_rules_listen_again(struct bf_rules *r)
{
	r->stale = false;
	for (enum bf_seen_kind kind = BF_SEEN_NONE + 1; kind < BF_SEEN_KINDS; kind++)
		if (r->listeners[kind].stale)
			bf_rules_listen_to(r, kind);
	want_all(r);
}

static int declare_type(struct bf_sink *sink, const struct bf_rec_schema *type)
{
	struct bf_rules *r = BF_CONTAINER_OF(sink, struct bf_rules, sink);
	bool shown = false;
	struct bf_plan *p;
	int rc;

	if (type->id >= BF_RECORD_TYPES || r->types[type->id])
		return 0;
	rc = bf_plan_make(type, &p);
	if (rc)
		return rc;
	r->plans[type->id] = p;
	r->types[type->id] = type;
	want(r, type->id);
	if (!p) {
		bf_device_rules_declare(r, type);
		return 0;
	}
	r->listeners[p->kind].seen = true;
	for (uint32_t i = 0; i < r->nfamilies; i++)
		if (!r->families[i].present && bf_rules_lists(r->families[i].family->signs, p->kind)) {
			r->families[i].present = true;
			shown = true;
		}
	if (shown)
		listen_to_many(r);
	return 0;
}

static int declare_actor(struct bf_sink *sink, uint32_t actor, const char *kind, const char *name)
{
	struct bf_rules *r = BF_CONTAINER_OF(sink, struct bf_rules, sink);
	const char *queue = strstr(name, ".q");
	struct bf_rules_actor *a;
	uint32_t place;

	if (BF_GROW(r->actors, r->actors_cap, r->actor_places.count + 1))
		return -ENOMEM;
	place = bf_numbering_add(&r->actor_places, actor);
	if (!place)
		return -ENOMEM;
	a = &r->actors[place - 1];
	snprintf(a->name, sizeof(a->name), "%s", name);
	/* A capture is one machine's, and the first number there is a queue's; a kernel's "b2.w0" is a block's. */
	if (strncmp(name, "cap.", 4) != 0 && !(name[0] == 'b' && strspn(name + 1, "0123456789"))) {
		char *end;

		a->pe = (uint32_t)strtoul(name + strcspn(name, "0123456789"), &end, 10);
		a->unit = *end == '.' ? (uint32_t)strtoul(end + 1, NULL, 10) : 0;
	}
	a->queue = queue ? strtoul(queue + 2, NULL, 10) : 0;
	a->is_queue = strcmp(kind, "queue") == 0;
	return 0;
}

bool bf_rules_processors_keep_order(const struct bf_rules *r)
{
	return r->processors_keep_order;
}

const char *bf_rule_actor(const struct bf_rules *r, uint32_t actor)
{
	const struct bf_rules_actor *a = bf_rules_actor_of(r, actor);

	return a && a->name[0] ? a->name : "?";
}

/* ---- queues ---- */

static uint32_t queue_place(const struct bf_rules *r, const struct bf_rule_family *family, uint32_t pe, uint64_t number)
{
	uint64_t x =
	    number * 0x9e3779b97f4a7c15ull ^ (pe + 1) * 0xc2b2ae3d27d4eb4full ^ (uint64_t)family->name[0] << 40;

	return (uint32_t)(x * 0x9e3779b97f4a7c15ull >> 32) & (r->table_cap - 1);
}

static struct bf_rule_queue **queue_slot(const struct bf_rules *r, const struct bf_rule_family *family, uint32_t pe,
					 uint64_t number)
{
	uint32_t i = queue_place(r, family, pe, number);

	for (;; i = (i + 1) & (r->table_cap - 1)) {
		const struct bf_rule_queue *q = r->queue_table[i];

		if (!q || (q->number == number && q->pe == pe && q->family == family))
			return &r->queue_table[i];
	}
}

/* Room for one more; both tables hold the same queues. */
static bool grow_queues(struct bf_rules *r)
{
	struct bf_rule_queue **table;
	uint32_t cap;

	if (BF_GROW(r->queues, r->queue_cap, r->nqueues + 1))
		return false;
	cap = r->queue_cap * 2;
	if (r->table_cap == cap)
		return true;
	table = calloc(cap, sizeof(*table));
	if (!table)
		return false;
	free(r->queue_table);
	r->queue_table = table;
	r->table_cap = cap;
	for (uint32_t i = 0; i < r->nqueues; i++)
		*queue_slot(r, r->queues[i]->family, r->queues[i]->pe, r->queues[i]->number) = r->queues[i];
	return true;
}

static struct bf_family_run *family_run(struct bf_rules *r, const struct bf_rule_family *family)
{
	for (uint32_t i = 0; i < r->nfamilies; i++)
		if (r->families[i].family == family)
			return &r->families[i];
	return NULL;
}

struct bf_rule_queue *bf_rule_queue(struct bf_rules *r, const struct bf_rule_family *family, uint32_t pe,
				    uint64_t number, bool make)
{
	struct bf_rule_queue *q = r->latest;

	if (q && q->number == number && q->pe == pe && q->family == family)
		return q;
	q = r->table_cap ? *queue_slot(r, family, pe, number) : NULL;
	if (q)
		r->latest = q;
	if (q || !make)
		return q;
	q = calloc(1, sizeof(*q));
	if (q)
		q->memory = calloc(1, family_run(r, family)->queue_bytes + 8);
	if (!q || !q->memory || !grow_queues(r)) {
		if (q)
			free(q->memory);
		free(q);
		r->status = -ENOMEM;
		return NULL;
	}
	q->family = family;
	q->pe = pe;
	q->number = number;
	q->place = r->nqueues;
	r->queues[r->nqueues++] = q;
	*queue_slot(r, family, pe, number) = q;
	return q;
}

struct bf_rule_queue *bf_rule_queue_at(struct bf_rules *r, uint32_t i)
{
	return i < r->nqueues ? r->queues[i] : NULL;
}

const char *bf_rule_queue_name(const struct bf_rules *r, const struct bf_rule_queue *q)
{
	return q->actor ? bf_rule_actor(r, q->actor) : "a queue that its device never spoke of";
}

void *bf_rule_run_facts(struct bf_rules *r, const struct bf_rule_family *family)
{
	const struct bf_family_run *f = family_run(r, family);

	return f ? f->facts : NULL;
}

struct bf_stores *bf_rule_stores(struct bf_rules *r)
{
	return r->stores;
}

uint64_t bf_rule_now(const struct bf_rules *r)
{
	return r->now_ps;
}

/* ---- the end ---- */

/* A thread that is under way stores something again and again, if only where it polls from. */
#define MOVES_WITHIN (5 * BF_US)

bool bf_rules_cut(const struct bf_rules *r)
{
	return r->cut;
}

uint64_t bf_rules_moved(const struct bf_rules *r)
{
	return r->moved_ps;
}

static bool is_left(const struct bf_rule_queue *q)
{
	return q->family->left && q->family->left(q->memory);
}

/* A rule that got no record has nothing to say of a device that is not there. */
static bool ends(struct bf_rule_run *run)
{
	const struct bf_rule *rule = run->rule;

	if ((!rule->end && !rule->end_queue) || (!bf_rules_has_state(run) && !run->family->present))
		return false;
	return bf_rules_make_state(run);
}

static void judge_end(struct bf_rules *r, uint32_t net, bool complete)
{
	for (uint32_t i = 0; i < r->nruns; i++) {
		struct bf_rule_run *run = &r->runs[i];

		if (run->rule->net != net || !ends(run))
			continue;
		for (uint32_t q = 0; run->rule->end_queue && q < r->nqueues; q++)
			if (strcmp(r->queues[q]->family->name, run->rule->about.family) == 0 &&
			    (net || !is_left(r->queues[q])))
				run->rule->end_queue(run, r->queues[q], complete);
		if (run->rule->end)
			run->rule->end(run, complete);
	}
	bf_findings_complete(r);
}

int bf_rules_finish(struct bf_rules *r, bool complete)
{
	if (r->finished)
		return r->status;
	r->finished = true;
	errno = 0;
	r->cut = r->started > r->ended && !r->deadlocked && r->now_ps - r->moved_ps < MOVES_WITHIN;
	complete = complete && !r->cut;
	for (uint32_t net = 0; net <= BF_RULE_NETS; net++)
		judge_end(r, net, complete);
	bf_findings_settle(r);
	bf_rules_note_unable(r);
	bf_device_rules_note_unjudged(r);
	if (errno == ENOMEM) /* as done() of take.c does it */
		r->status = -ENOMEM;
	return r->status;
}
