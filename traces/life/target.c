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
	{ "qp", BF_EXPLAIN_MLX5, 0xffffff },
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
static bool parse_life(const char *queue, const char *colon, struct bf_explain_target *out)
{
	const struct bf_device *d;

	out->kind = BF_EXPLAIN_ROWS;
	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++)
		for (const struct bf_life *const *life = d->lives; life && *life; life++) {
			const char *at = queue;

			out->life = *life;
			if ((*life)->prefix && literal(&at, (*life)->prefix) &&
			    number(&at, (*life)->id ? 0xffff : UINT32_MAX, &out->queue))
				return at == colon && parse_index(colon + 1, out);
		}
	return false;
}

bool bf_explain_parse(const char *text, struct bf_explain_target *out)
{
	const char *colon = strchr(text, ':'), *dot = colon, *at = text;

	*out = (struct bf_explain_target){ .kind = BF_EXPLAIN_MLX5 };
	if (!colon)
		return false;
	if (number(&at, 0xffffff, &out->queue))
		return at == colon && parse_index(colon + 1, out);
	while (dot > text && *dot != '.')
		dot--;
	if (dot == text || (size_t)(dot - text) >= sizeof(out->device))
		return false;
	snprintf(out->device, sizeof(out->device), "%.*s", (int)(dot - text), text);
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
	static const char *const things[] = {
		[BF_EXPLAIN_MLX5] = "entry",
		[BF_EXPLAIN_BARRIER] = "barrier",
		[BF_EXPLAIN_COMPLETION] = "entry",
		[BF_EXPLAIN_ROWS] = "entry",
	};

	return t->life && t->life->entry ? t->life->entry : things[t->kind];
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
	case BF_EXPLAIN_MLX5:
	default:
		snprintf(buf, cap, "%s%s0x%" PRIx64 ":%" PRIu64, device, *device ? ".qp" : "", t->queue, t->index);
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

static void found_mlx5(struct search *s, const struct bf_trace_record *rec)
{
	const uint64_t qpn = field(rec, "qpn"), at = place_of(s, NULL, qpn, 0);
	const uint16_t back = (uint16_t)(at - field(rec, "index"));

	/* Not beyond what has been fetched: the counter tells the rest. */
	s->found = (struct bf_explain_target){ .kind = BF_EXPLAIN_MLX5, .queue = qpn };
	s->found.index = back <= at ? at - back : field(rec, "index");
	s->done = true;
}

/* By the rows of a life whose entries have names. 0, or -ENOMEM. */
static int look_by_rows(struct search *s, const struct bf_trace_record *rec, const struct bf_life *life)
{
	int rc = 0;

	for (const struct bf_life_row *row = life->rows; row->type && !rc && !s->done; row++) {
		const uint64_t queue = field(rec, row->queue);

		if (strcmp(row->type, rec->type->name) != 0)
			continue;
		if (row->entries == BF_LIFE_NAMED) {
			const uint64_t name = field(rec, row->second);

			rc = set_place(s, life, queue, name, place_of(s, life, queue, name) + 1);
		} else if (row->answers && field(rec, row->answers) == s->want->queue && s->count++ == s->want->index) {
			const uint64_t name = field(rec, row->first);

			s->found = (struct bf_explain_target){ .kind = BF_EXPLAIN_ROWS,
							       .life = life,
							       .queue = queue,
							       .index = name,
							       .nth = (uint32_t)place_of(s, life, queue, name) };
			s->done = true;
		}
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
	if (strcmp(rec->type->name, "wqe_fetch") == 0) {
		const uint64_t at = place_of(s, NULL, field(rec, "qpn"), 0);

		rc = set_place(s, NULL, field(rec, "qpn"), 0, at + (uint16_t)(field(rec, "index") - at));
	} else if (strcmp(rec->type->name, "cqe") == 0) {
		if (field(rec, "cqn") == s->want->queue && field(rec, "count") == s->want->index)
			found_mlx5(s, rec);
	}
	for (uint32_t i = 0; !rc && (d = bf_device_at(i)) != NULL; i++)
		for (const struct bf_life *const *life = d->lives; !rc && life && *life; life++)
			if ((*life)->id)
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
		return bf_fail(err, -ENOENT, "the trace has no completion %s",
			       bf_explain_target_text(want, text, sizeof(text)));
	*out = s.found;
	return rc ? bf_fail(err, rc, "completions could not be looked up") : 0;
}
