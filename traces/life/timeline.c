/*
 * From records to a timeline: find the row of the record's type, its track, its flow; open or close a span, or tell an
 * instant; then the values that it changes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/container/numbering_internal.h"
#include "traces/device.h"
#include "traces/life/label.h"
#include "traces/life/timeline.h"

#define LABEL_MAX 120u
#define TYPES_MAX 1024u /* numbers of record types are below */

/* ---- the state of a reading ---- */

struct lane {
	uint32_t track;
	bool open;
	uint64_t busy_ps; /* until then */
};

struct actor {
	uint32_t track, group; /* 0: not announced yet */
	uint64_t number;       /* at the end of its group's name: pe1 and nic1 belong together */
	uint64_t flow;         /* of the last doorbell */
	struct lane *lanes;
	uint32_t nlanes, cap_lanes;
};

struct span {
	uint64_t begin_ps, first, flow;
	uint64_t key[3];
	uint32_t actor, lane;
	bool bad;
	char name[LABEL_MAX];
};

/* A record type with its fields looked up. */
struct type {
	const struct bf_rec_schema *schema;
	const struct bf_timeline_row *row;
	const struct bf_rec_field *key[2], *until, *error;
	const struct bf_timeline_signal_row *signals; /* the first of its rows; they stand together */
};

enum map_name { SPANS = 1, FLOWS_AT, FLOWS_DONE, FLOWS_TOLD, SIGNALS, GROUPS };

struct timeline {
	struct bf_trace *trace;
	struct bf_timeline_out *out;
	struct bf_error *err;
	bool memory;
	struct bf_number_map maps[GROUPS + 1];
	struct type types[TYPES_MAX];
	struct actor *actors;
	uint32_t actors_cap;
	struct bf_numbering places; /* among them */
	struct span *spans;
	size_t nspans, cap_spans, free_span; /* unused ones are linked by `first`; indices plus 1 */
	uint64_t flows, pending_flow, now_ps;
	uint32_t tracks, signals;
};

static int no_memory(struct timeline *t)
{
	return bf_fail(t->err, -ENOMEM, "out of memory for the timeline");
}

/* ---- tracks ---- */

static int new_track(struct timeline *t, uint32_t parent, const char *kind, const char *name, uint32_t *track)
{
	*track = ++t->tracks;
	return t->out->track(t->out, *track, parent, kind, name);
}

/* The track of everything whose name begins alike: "nic0" of "nic0.qp0x100". */
static int group_of(struct timeline *t, const char *name, size_t len, const char *kind, uint32_t *group)
{
	const uint64_t key[3] = { bf_hash_bytes(name, len), len, 0 };
	char text[64];
	int rc;

	*group = (uint32_t)bf_number_get(&t->maps[GROUPS], key);
	if (*group)
		return 0;
	snprintf(text, sizeof(text), "%.*s", (int)len, name);
	rc = new_track(t, 0, kind, text, group);
	if (!rc && bf_number_put(&t->maps[GROUPS], key, *group))
		rc = no_memory(t);
	return rc;
}

static int announce(struct timeline *t, uint32_t number, struct actor *a)
{
	const struct bf_trace_actor *who = bf_trace_actor(t->trace, number);
	const char *name = who ? who->name : "no actor", *dot = who ? strchr(name, '.') : NULL;
	const size_t len = dot ? (size_t)(dot - name) : strlen(name);
	int rc = group_of(t, name, len, dot || !who ? "group" : who->kind, &a->group);
	size_t digits = len;

	if (rc)
		return rc;
	while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	a->number = strtoull(name + digits, NULL, 10);
	a->track = a->group;
	return dot ? new_track(t, a->group, who->kind, name, &a->track) : 0;
}

static int actor_of(struct timeline *t, uint32_t number, struct actor **out)
{
	const uint32_t place = bf_numbering_add(&t->places, number);

	if (!place || BF_GROW(t->actors, t->actors_cap, place))
		return no_memory(t);
	*out = &t->actors[place - 1];
	return (*out)->track ? 0 : announce(t, number, *out);
}

/* One of which there was a record. */
static struct actor *known_actor(const struct timeline *t, uint32_t number)
{
	return &t->actors[bf_numbering_find(&t->places, number) - 1];
}

/* The first lane of an actor that is idle since `begin_ps`; the first of all is the actor's own track. */
static int lane_of(struct timeline *t, uint32_t number, uint64_t begin_ps, uint32_t *lane)
{
	struct actor *a = known_actor(t, number);
	char name[80];
	int rc = 0;

	for (*lane = 0; *lane < a->nlanes; ++*lane) {
		if (!a->lanes[*lane].open && a->lanes[*lane].busy_ps <= begin_ps)
			return 0;
	}
	if (BF_GROW(a->lanes, a->cap_lanes, a->nlanes + 1))
		return no_memory(t);
	a->lanes[a->nlanes] = (struct lane){ .track = a->track };
	if (a->nlanes) {
		const char *actor = bf_trace_actor_name(t->trace, number);

		snprintf(name, sizeof(name), "%.60s +%u", actor, a->nlanes);
		rc = new_track(t, a->track, "lane", name, &a->lanes[a->nlanes].track);
	}
	a->nlanes++;
	return rc;
}

/* ---- types ---- */

static const struct bf_rec_field *field_of(const struct bf_rec_schema *s, const char *name)
{
	return name ? bf_schema_field(s, name) : NULL;
}

static struct type *type_of(struct timeline *t, const struct bf_rec_schema *s)
{
	struct type *k = &t->types[s->id % TYPES_MAX];
	const struct bf_device *d;

	if (k->schema == s)
		return k;
	*k = (struct type){ .schema = s };
	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL && !(k->row && k->signals); i++) {
		for (const struct bf_timeline_row *row = d->timeline; !k->row && row && row->type; row++)
			k->row = strcmp(row->type, s->name) == 0 ? row : NULL;
		for (const struct bf_timeline_signal_row *row = d->signals; !k->signals && row && row->type; row++)
			k->signals = strcmp(row->type, s->name) == 0 ? row : NULL;
	}
	if (k->row) {
		k->key[0] = field_of(s, k->row->keys[0]);
		k->key[1] = field_of(s, k->row->keys[1]);
		k->until = field_of(s, k->row->until);
		k->error = field_of(s, k->row->error);
	}
	return k;
}

static uint64_t value_of(const struct bf_rec_field *f, const struct bf_trace_record *rec)
{
	return f ? bf_field_u64(f, rec->fixed) : 0;
}

/* ---- flows ---- */

static int remember(struct timeline *t, enum map_name map, uint64_t a, uint64_t b, uint64_t flow)
{
	const uint64_t key[3] = { a, b, 0 };

	return flow && bf_number_put(&t->maps[map], key, flow) ? no_memory(t) : 0;
}

static uint64_t recall(const struct timeline *t, enum map_name map, uint64_t a, uint64_t b)
{
	const uint64_t key[3] = { a, b, 0 };

	return bf_number_get(&t->maps[map], key);
}

/* Which flow the record belongs to; `own` is what the span it closes has. */
static int flow_of(struct timeline *t, const struct type *k, const struct bf_trace_record *rec, struct actor *a,
		   uint64_t own, uint64_t *flow)
{
	const uint64_t key = value_of(k->key[0], rec);

	*flow = own;
	switch (k->row->flow) {
	case BF_FLOW_BEGINS:
		*flow = ++t->flows;
		return remember(t, FLOWS_AT, key, 0, *flow);
	case BF_FLOW_ARRIVES:
		*flow = t->pending_flow = recall(t, FLOWS_AT, key, 0);
		return 0;
	case BF_FLOW_RINGS:
		*flow = a->flow = t->pending_flow ? t->pending_flow : ++t->flows;
		t->pending_flow = 0;
		return 0;
	case BF_FLOW_FOLLOWS:
		*flow = a->flow;
		return 0;
	case BF_FLOW_COMPLETES:
		if (!*flow)
			*flow = recall(t, FLOWS_DONE, a->group, key);
		return remember(t, FLOWS_TOLD, a->number, key, *flow);
	case BF_FLOW_SEEN:
		*flow = recall(t, FLOWS_TOLD, a->number, key);
		return 0;
	case BF_FLOW_NONE:
	default:
		return 0;
	}
}

/* ---- spans and instants ---- */

static void span_key(const struct type *k, const struct bf_trace_record *rec, const struct actor *a, uint64_t key[3])
{
	key[0] = (uint64_t)k->row->group << 32 | (k->key[0] ? a->group : rec->actor);
	key[1] = value_of(k->key[0], rec);
	key[2] = value_of(k->key[1], rec);
	/* A packet's number is its own wherever it is seen. */
	if (k->row->verb == BF_ROW_PACKET)
		key[0] = (uint64_t)k->row->group << 32;
}

static struct span *new_span(struct timeline *t)
{
	if (!t->free_span) {
		const size_t had = t->cap_spans;

		if (BF_GROW(t->spans, t->cap_spans, had + 1))
			return NULL;
		for (size_t i = t->cap_spans; i-- > had;) {
			t->spans[i].first = t->free_span;
			t->free_span = i + 1;
		}
	}
	{
		struct span *s = &t->spans[t->free_span - 1];

		t->free_span = s->first;
		return s;
	}
}

static int end_span(struct timeline *t, struct span *s, uint64_t end_ps, const struct bf_trace_record *rec,
		    uint64_t flow, bool bad)
{
	struct actor *a = known_actor(t, s->actor);
	struct bf_number_entry *e = bf_number_find(&t->maps[SPANS], s->key);
	const struct bf_timeline_item item = {
		.begin_ps = s->begin_ps,
		.end_ps = end_ps,
		.flow = flow,
		.first = s->first,
		.last = rec ? rec->number : s->first,
		.track = a->lanes[s->lane].track,
		.name = s->name,
		.rec = rec,
		.span = true,
		.bad = bad || s->bad,
	};
	int rc = t->out->item(t->out, &item);

	a->lanes[s->lane].open = false;
	a->lanes[s->lane].busy_ps = end_ps;
	if (e)
		bf_number_take_out(&t->maps[SPANS], e);
	s->first = t->free_span;
	s->begin_ps = BF_TRACE_UNKNOWN;
	t->free_span = (size_t)(s - t->spans) + 1;
	return rc;
}

static int opens(struct timeline *t, const struct type *k, const struct bf_trace_record *rec, uint64_t flow, bool bad)
{
	struct span *s;
	uint64_t key[3];
	uint32_t lane;
	int rc;

	span_key(k, rec, known_actor(t, rec->actor), key);
	/* A second one with these keys: what the first waited for never came, or the trace lost it. */
	if (bf_number_find(&t->maps[SPANS], key)) {
		rc = end_span(t, &t->spans[bf_number_get(&t->maps[SPANS], key) - 1], rec->time_ps, NULL, 0, true);
		if (rc)
			return rc;
	}
	rc = lane_of(t, rec->actor, rec->time_ps, &lane);
	if (rc)
		return rc;
	s = new_span(t);
	if (!s || bf_number_put(&t->maps[SPANS], key, (uint64_t)(s - t->spans) + 1))
		return no_memory(t);
	*s = (struct span){
		.begin_ps = rec->time_ps,
		.first = rec->number,
		.flow = flow,
		.key = { key[0], key[1], key[2] },
		.actor = rec->actor,
		.lane = lane,
		.bad = bad,
	};
	bf_label_make(k->row && k->row->label ? k->row->label : rec->type->name, rec->type, rec->fixed, s->name,
		      LABEL_MAX);
	known_actor(t, rec->actor)->lanes[lane].open = true;
	return 0;
}

static int closes(struct timeline *t, const struct type *k, const struct bf_trace_record *rec, bool bad)
{
	struct actor *a = known_actor(t, rec->actor);
	uint64_t key[3], flow;
	struct span *s;
	int rc;

	span_key(k, rec, a, key);
	if (!bf_number_find(&t->maps[SPANS], key))
		return 0;
	s = &t->spans[bf_number_get(&t->maps[SPANS], key) - 1];
	rc = flow_of(t, k, rec, a, s->flow, &flow);
	if (!rc)
		rc = remember(t, FLOWS_DONE, a->group, value_of(k->key[0], rec), flow);
	return rc ? rc : end_span(t, s, rec->time_ps, rec, flow, bad);
}

/* A span whose two ends one record tells. */
static int whole(struct timeline *t, const struct type *k, const struct bf_trace_record *rec, uint64_t begin_ps,
		 uint64_t end_ps, bool bad)
{
	char name[LABEL_MAX];
	struct bf_timeline_item item = {
		.begin_ps = begin_ps,
		.end_ps = end_ps < begin_ps ? begin_ps : end_ps,
		.first = rec->number,
		.last = rec->number,
		.name = name,
		.rec = rec,
		.span = true,
		.bad = bad,
	};
	uint32_t lane;
	int rc = lane_of(t, rec->actor, begin_ps, &lane);

	if (rc)
		return rc;
	bf_label_make(k->row && k->row->label ? k->row->label : rec->type->name, rec->type, rec->fixed, name,
		      LABEL_MAX);
	item.track = known_actor(t, rec->actor)->lanes[lane].track;
	known_actor(t, rec->actor)->lanes[lane].busy_ps = item.end_ps;
	return t->out->item(t->out, &item);
}

static int instant(struct timeline *t, const struct type *k, const struct bf_trace_record *rec, uint64_t flow, bool bad)
{
	char name[LABEL_MAX];
	const struct bf_timeline_item item = {
		.begin_ps = rec->time_ps,
		.end_ps = rec->time_ps,
		.flow = flow,
		.first = rec->number,
		.last = rec->number,
		.track = known_actor(t, rec->actor)->track,
		.name = name,
		.rec = rec,
		.bad = bad,
	};

	bf_label_make(k->row && k->row->label ? k->row->label : rec->type->name, rec->type, rec->fixed, name,
		      LABEL_MAX);
	return t->out->item(t->out, &item);
}

/* What a row of the verb BY_EVENT or PACKET means for this record. */
static enum bf_timeline_verb verb_of(const struct type *k, const struct bf_trace_record *rec)
{
	const enum bf_timeline_verb verb = k->row->verb;
	uint64_t which = 0;

	if (verb == BF_ROW_PACKET) {
		bf_trace_field_u64(rec, "dir", &which);
		return which ? BF_ROW_CLOSES : BF_ROW_OPENS;
	}
	if (verb != BF_ROW_BY_EVENT)
		return verb;
	which = value_of(k->until, rec);
	if (k->row->label)
		return which == 0 ? BF_ROW_OPENS : which > 1 ? BF_ROW_CLOSES : BF_ROW_INSTANT;
	return which == 1 ? BF_ROW_CLOSES : BF_ROW_HIDDEN;
}

static int show(struct timeline *t, const struct type *k, const struct bf_trace_record *rec)
{
	const bool bad = k->row->bad || value_of(k->error, rec);
	uint64_t flow = 0;
	int rc;

	switch (verb_of(k, rec)) {
	case BF_ROW_OPENS:
		rc = flow_of(t, k, rec, known_actor(t, rec->actor), 0, &flow);
		return rc ? rc : opens(t, k, rec, flow, bad);
	case BF_ROW_CLOSES:
		return closes(t, k, rec, bad);
	case BF_ROW_UNTIL:
		return whole(t, k, rec, rec->time_ps, value_of(k->until, rec), bad);
	case BF_ROW_SINCE:
		return whole(t, k, rec, value_of(k->until, rec), rec->time_ps, bad);
	case BF_ROW_MEMORY:
		return t->memory ? instant(t, k, rec, 0, bad) : 0;
	case BF_ROW_INSTANT:
		rc = flow_of(t, k, rec, known_actor(t, rec->actor), 0, &flow);
		return rc ? rc : instant(t, k, rec, flow, bad);
	case BF_ROW_HIDDEN:
	case BF_ROW_BY_EVENT:
	case BF_ROW_PACKET:
	default:
		return 0;
	}
}

/* ---- values ---- */

static int tell_value(struct timeline *t, const struct bf_timeline_signal_row *row, const struct bf_trace_record *rec)
{
	const struct bf_rec_field *field = bf_schema_field(rec->type, row->field), *of = field_of(rec->type, row->of);
	const struct bf_rec_field *plus = field_of(rec->type, row->plus);
	/* Signals of software are the PE's, whichever of its threads speaks. */
	const struct actor *a = known_actor(t, rec->actor);
	const bool shared = of && rec->type->class_ == BF_CLASS_DRIVER;
	const uint32_t track = shared ? a->group : a->track;
	const uint64_t which = of ? value_of(of, rec) : 0;
	const uint64_t key[3] = { (uint64_t)track << 32 | 1, which, bf_hash_bytes(row->name, strlen(row->name)) };
	uint64_t signal = bf_number_get(&t->maps[SIGNALS], key), value;
	int rc = 0;

	if (!field)
		return 0;
	if (!signal) {
		char name[64];

		signal = ++t->signals;
		if (bf_number_put(&t->maps[SIGNALS], key, signal))
			return no_memory(t);
		snprintf(name, sizeof(name), of && of->kind == BF_FIELD_HEX ? "%s[%s=0x%llx]" : "%s[%s=%llu]",
			 row->name, of ? of->name : "", (unsigned long long)which);
		rc = t->out->signal(t->out, (uint32_t)signal, track, of ? name : row->name, row->bits);
	}
	value = value_of(field, rec);
	value = (row->make ? row->make(value) : value) + (plus ? value_of(plus, rec) : 0);
	return rc ? rc
		  : t->out->value(t->out, (uint32_t)signal, rec->time_ps,
				  row->bits < 64 ? value & ((1ull << row->bits) - 1) : value);
}

static int tell_values(struct timeline *t, const struct type *k, const struct bf_trace_record *rec)
{
	int rc = 0;

	for (const struct bf_timeline_signal_row *s = k->signals;
	     !rc && s && s->type && strcmp(s->type, k->signals->type) == 0; s++)
		rc = tell_value(t, s, rec);
	return rc;
}

/* ---- reading ---- */

/* Types without a row: what drivers say, queues do and faults are is shown. */
static const struct bf_timeline_row plain_row = { .verb = BF_ROW_INSTANT };
static const struct bf_timeline_row fault_row = { .verb = BF_ROW_INSTANT, .bad = true };

static int take(struct timeline *t, const struct bf_trace_record *rec)
{
	struct type k = *type_of(t, rec->type);
	struct actor *a;
	int rc;

	t->now_ps = rec->time_ps;
	if (!k.row && (rec->type->class_ & BF_CLASS_FAULT))
		k.row = &fault_row;
	else if (!k.row && (rec->type->class_ & (BF_CLASS_DRIVER | BF_CLASS_QUEUE | BF_CLASS_NET)))
		k.row = &plain_row;
	if (!k.row || (k.row->verb == BF_ROW_HIDDEN && !k.signals))
		return 0;
	rc = actor_of(t, rec->actor, &a);
	if (!rc)
		rc = show(t, &k, rec);
	if (!rc && t->out->signal && k.signals)
		rc = tell_values(t, &k, rec);
	return rc;
}

/* What is still open when the records end: told in the order in which it began. */
static int close_all(struct timeline *t)
{
	int rc = 0;

	while (!rc) {
		struct span *first = NULL;

		for (size_t i = 0; i < t->maps[SPANS].cap; i++) {
			const uint64_t at = t->maps[SPANS].slots[i].value;

			if (at && (!first || t->spans[at - 1].first < first->first))
				first = &t->spans[at - 1];
		}
		if (!first)
			return 0;
		rc = end_span(t, first, t->now_ps, NULL, first->flow, true);
	}
	return rc;
}

int bf_timeline_read(struct bf_trace *trace, const struct bf_timeline_options *options, struct bf_timeline_out *out,
		     struct bf_error *err)
{
	struct timeline *t = calloc(1, sizeof(*t));
	struct bf_trace_record rec;
	int rc = 0, damage = 0;

	if (!t)
		return bf_fail(err, -ENOMEM, "out of memory for the timeline");
	t->trace = trace;
	t->out = out;
	t->err = err;
	t->memory = options && options->memory;
	while (!rc && (rc = bf_trace_next_good(trace, &rec, &damage)) > 0)
		rc = take(t, &rec);
	if (!rc)
		rc = close_all(t);
	for (uint32_t i = 0; i < t->actors_cap; i++)
		free(t->actors[i].lanes);
	for (size_t i = 0; i <= GROUPS; i++)
		bf_number_map_free(&t->maps[i]);
	free(t->actors);
	bf_numbering_free(&t->places);
	free(t->spans);
	free(t);
	return rc ? rc : damage;
}
