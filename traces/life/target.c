/* How things are named on a command line, and which entry a completion belongs to. */
#include <errno.h>
#include <stdlib.h>

#include "traces/life/explain_internal.h"
#include "traces/container/number_map_internal.h"
#include "traces/device.h"

/* A decimal or hexadecimal number at `*text`, which moves behind it. */
static bool number(const char **text, uint64_t max, uint64_t *out)
{
	const bool hex = (*text)[0] == '0' && ((*text)[1] == 'x' || (*text)[1] == 'X');
	char *stop;

	if (**text < '0' || **text > '9')
		return false;
	errno = 0;
	*out = strtoull(*text, &stop, hex ? 16 : 10);
	if (errno || *out > max || stop == *text || (hex && stop == *text + 1))
		return false;
	*text = stop;
	return true;
}

static bool literal(const char **text, const char *word)
{
	const size_t n = strlen(word);

	if (strncmp(*text, word, n) != 0)
		return false;
	*text += n;
	return true;
}

static const struct kind_name {
	const char *prefix;
	enum bf_explain_kind kind;
	uint64_t max_queue;
} kinds[] = {
	{ "sm", BF_EXPLAIN_BARRIER, 0xffff },
	{ "cq", BF_EXPLAIN_COMPLETION, 0xffffff },
};

/* "cid=", where `word` is "cid". */
static bool word_is(const char **text, const char *word)
{
	const char *at = *text;

	if (!word || !literal(&at, word) || !literal(&at, "="))
		return false;
	*text = at;
	return true;
}

/* "81", "cid=5", "slot=5#2", "#57", "0x60" */
static bool parse_index(const char *at, struct bf_explain_target *out)
{
	const struct bf_life *life = out->life;
	const bool named = life && life->id;
	uint64_t nth = 1;

	if (out->kind == BF_EXPLAIN_COMPLETION && !literal(&at, "#"))
		return false;
	if (named) {
		out->by_slot = !word_is(&at, life->id);
		if (out->by_slot)
			word_is(&at, life->slot);
	}
	if (!number(&at, named ? 0xffff : UINT64_MAX >> 1, &out->index))
		return false;
	if (named && literal(&at, "#") && (!number(&at, UINT32_MAX, &nth) || !nth))
		return false;
	out->nth = (uint32_t)nth;
	return *at == '\0';
}

/* "r1:7": by the prefixes of all devices' lives. */
/* Queues whose numbers are hexadecimal have 24 bits of them. */
static uint64_t max_queue(const struct bf_life *life)
{
	return life->queue ? 0xffffff : life->id ? 0xffff : UINT32_MAX;
}

static bool parse_life(const char *queue, const char *colon, struct bf_explain_target *out)
{
	const struct bf_device *d;

	out->kind = BF_EXPLAIN_ROWS;
	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++)
		for (const struct bf_life *const *life = d->lives; life && *life; life++) {
			const char *at = queue;

			out->life = *life;
			if ((*life)->prefix && literal(&at, (*life)->prefix) &&
			    number(&at, max_queue(*life), &out->queue))
				return at == colon && parse_index(colon + 1, out);
		}
	return false;
}

const struct bf_life *bf_explain_plain_life(void)
{
	const struct bf_device *d;

	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++)
		for (const struct bf_life *const *life = d->lives; life && *life; life++)
			if ((*life)->queue)
				return *life;
	return NULL;
}

bool bf_explain_parse(const char *text, struct bf_explain_target *out)
{
	const char *colon = strchr(text, ':'), *dot = colon, *at = text;

	*out = (struct bf_explain_target){ .kind = BF_EXPLAIN_ROWS, .life = bf_explain_plain_life() };
	if (!colon)
		return false;
	if (out->life && number(&at, max_queue(out->life), &out->queue))
		return at == colon && parse_index(colon + 1, out);
	while (dot > text && *dot != '.')
		dot--;
	if (dot == text || (size_t)(dot - text) >= sizeof(out->device))
		return false;
	snprintf(out->device, sizeof(out->device), "%.*s", (int)(dot - text), text);
	out->life = NULL;
	for (size_t i = 0; i < BF_ARRAY_LEN(kinds); i++) {
		at = dot + 1;
		out->kind = kinds[i].kind;
		if (literal(&at, kinds[i].prefix) && number(&at, kinds[i].max_queue, &out->queue))
			return at == colon && parse_index(colon + 1, out);
	}
	return parse_life(dot + 1, colon, out);
}

const char *bf_explain_thing(const struct bf_explain_target *t)
{
	if (t->kind == BF_EXPLAIN_BARRIER)
		return "barrier";
	return t->life && t->life->entry ? t->life->entry : "entry";
}

const char *bf_explain_target_text(const struct bf_explain_target *t, char *buf, size_t cap)
{
	const char *device = t->device, *dot = *device ? "." : "";
	const char *word = !t->life ? NULL : t->by_slot ? t->life->slot : t->life->id;
	char nth[16] = "";

	if (t->nth > 1)
		snprintf(nth, sizeof(nth), "#%" PRIu32, t->nth);
	switch (t->kind) {
	case BF_EXPLAIN_ROWS:
	default:
		if (t->life->queue) {
			snprintf(buf, cap, "%s%s%s0x%" PRIx64 ":%" PRIu64, device, dot, *device ? t->life->prefix : "",
				 t->queue, t->index);
			break;
		}
		snprintf(buf, cap,
			 t->life->hex ? "%s%s%s%" PRIu64 ":%s%s0x%" PRIx64 "%s" : "%s%s%s%" PRIu64 ":%s%s%" PRIu64 "%s",
			 device, dot, t->life->prefix, t->queue, word ? word : "", word ? "=" : "", t->index, nth);
		break;
	case BF_EXPLAIN_BARRIER:
		snprintf(buf, cap, "%s%ssm%" PRIu64 ":0x%" PRIx64, device, dot, t->queue, t->index);
		break;
	case BF_EXPLAIN_COMPLETION:
		snprintf(buf, cap, "%s%scq0x%" PRIx64 ":#%" PRIu64, device, dot, t->queue, t->index);
		break;
	}
	return buf;
}

/* ---- completions ---- */

/* What is known when the completion comes: laps of the queue's counter, uses of a name. */
struct search {
	const struct bf_explain_target *want;
	struct bf_explain_target found;
	bool done;
	uint64_t count;              /* completions of the queue so far */
	struct bf_number_map places; /* how far each queue pair, or name of a queue, has come, plus one */
};

static uint64_t place_of(const struct search *s, const void *life, uint64_t queue, uint64_t name)
{
	const uint64_t at = bf_number_get(&s->places, (const uint64_t[]){ (uint64_t)(uintptr_t)life, queue, name });

	return at ? at - 1 : 0;
}

static int set_place(struct search *s, const void *life, uint64_t queue, uint64_t name, uint64_t at)
{
	return bf_number_put(&s->places, (const uint64_t[]){ (uint64_t)(uintptr_t)life, queue, name }, at + 1);
}

static bool of_device(const struct search *s, const char *actor)
{
	const size_t n = strlen(s->want->device);

	return n == 0 || (strncmp(actor, s->want->device, n) == 0 && actor[n] == '.');
}

static uint64_t field(const struct bf_trace_record *rec, const char *name)
{
	return bf_life_u64(name, rec->type, rec->fixed);
}

/* The device has read an entry: a lap of its queue's counter goes on, or another use of a name begins. */
static int note_read(struct search *s, const struct bf_trace_record *rec, const struct bf_life *life,
		     const struct bf_life_row *row)
{
	const uint64_t queue = field(rec, row->queue);
	const uint64_t name = field(rec, row->entries == BF_LIFE_NAMED ? row->second : row->first);
	const uint64_t at = place_of(s, life, queue, life->wrap ? 0 : name);

	if (row->entries == BF_LIFE_NAMED)
		return set_place(s, life, queue, name, at + 1);
	if (row->entries == BF_LIFE_SLOTS && !row->software && row->role == BF_LIFE_POINT && life->wrap)
		return set_place(s, life, queue, 0, at + (name - at) % life->wrap);
	return 0;
}

/* The number of a completion, from 0: it says so itself, or they are counted. */
static bool is_wanted(struct search *s, const struct bf_trace_record *rec, const struct bf_life *life,
		      const struct bf_life_row *row)
{
	if (!row->answers || field(rec, row->answers) != s->want->queue || !bf_life_holds(row, rec->type, rec->fixed))
		return false;
	return (life->count ? field(rec, life->count) : s->count++) == s->want->index;
}

/* By the rows of a life whose completions have numbers. 0, or -ENOMEM. */
static int look_by_rows(struct search *s, const struct bf_trace_record *rec, const struct bf_life *life)
{
	int rc = 0;

	for (const struct bf_life_row *row = life->rows; row->type && !rc && !s->done; row++) {
		const uint64_t queue = field(rec, row->queue), name = field(rec, row->first);

		if (strcmp(row->type, rec->type->name) != 0)
			continue;
		rc = note_read(s, rec, life, row);
		if (rc || !is_wanted(s, rec, life, row))
			continue;
		s->found = (struct bf_explain_target){ .kind = BF_EXPLAIN_ROWS, .life = life, .queue = queue };
		if (life->wrap) {
			/* Not beyond what has been fetched: the counter tells the rest. */
			const uint64_t at = place_of(s, life, queue, 0), back = (at - name) % life->wrap;

			s->found.index = back <= at ? at - back : name;
			s->found.nth = 1;
		} else {
			s->found.index = name;
			s->found.nth = (uint32_t)place_of(s, life, queue, name);
		}
		s->done = true;
	}
	return rc;
}

/* 0, or -ENOMEM. */
static int look_at(struct search *s, const struct bf_trace_record *rec, const char *actor)
{
	const struct bf_device *d;
	int rc = 0;

	if (!of_device(s, actor))
		return 0;
	for (uint32_t i = 0; !rc && (d = bf_device_at(i)) != NULL; i++)
		for (const struct bf_life *const *life = d->lives; !rc && life && *life; life++)
			if ((*life)->id || (*life)->count)
				rc = look_by_rows(s, rec, *life);
	if (s->done)
		bf_explain_device_name(actor, s->found.device, sizeof(s->found.device));
	return rc;
}

int bf_explain_resolve(const struct bf_explain_target *want, struct bf_trace *t, struct bf_explain_target *out,
		       struct bf_error *err)
{
	struct search s = { .want = want };
	struct bf_trace_record rec;
	char text[80];
	int rc = 0, damage;

	while (!rc && !s.done && (rc = bf_trace_next_good(t, &rec, &damage)) > 0)
		rc = look_at(&s, &rec, bf_trace_actor_name(t, rec.actor));
	bf_number_map_free(&s.places);
	if (!rc && !s.done)
		return bf_fail(err, -ENOENT, "the trace has no completion %s of an entry that it tells the life of",
			       bf_explain_target_text(want, text, sizeof(text)));
	*out = s.found;
	return rc ? bf_fail(err, rc, "completions could not be looked up") : 0;
}
