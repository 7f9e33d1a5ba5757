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
	{ "sq", BF_EXPLAIN_NVME, 0xffff },
	{ "sm", BF_EXPLAIN_BARRIER, 0xffff },
	{ "cq", BF_EXPLAIN_COMPLETION, 0xffffff },
};

/* "81", "cid=5", "slot=5#2", "#57", "0x60" */
static bool parse_index(const char *at, struct bf_explain_target *out)
{
	uint64_t nth = 1;

	if (out->kind == BF_EXPLAIN_COMPLETION && !literal(&at, "#"))
		return false;
	if (out->kind == BF_EXPLAIN_NVME)
		out->by_slot = !literal(&at, "cid=");
	if (out->by_slot)
		literal(&at, "slot=");
	if (!number(&at, out->kind == BF_EXPLAIN_NVME ? 0xffff : UINT64_MAX >> 1, &out->index))
		return false;
	if (out->kind == BF_EXPLAIN_NVME && literal(&at, "#") && (!number(&at, UINT32_MAX, &nth) || !nth))
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
			if ((*life)->prefix && literal(&at, (*life)->prefix) && number(&at, UINT32_MAX, &out->queue))
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
		[BF_EXPLAIN_MLX5] = "entry",         [BF_EXPLAIN_NVME] = "command", [BF_EXPLAIN_BARRIER] = "barrier",
		[BF_EXPLAIN_COMPLETION] = "command", [BF_EXPLAIN_ROWS] = "entry",
	};

	return t->life && t->life->entry ? t->life->entry : things[t->kind];
}

const char *bf_explain_target_text(const struct bf_explain_target *t, char *buf, size_t cap)
{
	const char *device = t->device, *dot = *device ? "." : "";
	char nth[16] = "";

	if (t->nth > 1)
		snprintf(nth, sizeof(nth), "#%" PRIu32, t->nth);
	switch (t->kind) {
	case BF_EXPLAIN_NVME:
		snprintf(buf, cap, "%s%ssq%" PRIu64 ":%s=%" PRIu64 "%s", device, dot, t->queue,
			 t->by_slot ? "slot" : "cid", t->index, nth);
		break;
	case BF_EXPLAIN_ROWS:
		snprintf(buf, cap, t->life->hex ? "%s%s%s%" PRIu64 ":0x%" PRIx64 : "%s%s%s%" PRIu64 ":%" PRIu64, device,
			 dot, t->life->prefix, t->queue, t->index);
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

/* What is known when the completion comes: laps of the queue's counter, uses of an identifier. */
struct search {
	const struct bf_explain_target *want;
	struct bf_explain_target found;
	bool done;
	uint64_t count;              /* NVMe: completions of the queue so far */
	struct bf_number_map places; /* where each queue pair (or identifier) is, plus one */
};

static uint64_t place_of(const struct search *s, uint64_t number)
{
	const uint64_t key[3] = { number, 0, 0 };
	const uint64_t at = bf_number_get(&s->places, key);

	return at ? at - 1 : 0;
}

static int set_place(struct search *s, uint64_t number, uint64_t at)
{
	const uint64_t key[3] = { number, 0, 0 };

	return bf_number_put(&s->places, key, at + 1);
}

static bool of_device(const struct search *s, const char *actor)
{
	const size_t n = strlen(s->want->device);

	return n == 0 || (strncmp(actor, s->want->device, n) == 0 && actor[n] == '.');
}

static uint64_t field(const struct bf_trace_record *rec, const char *name)
{
	uint64_t value = 0;

	bf_trace_field_u64(rec, name, &value);
	return value;
}

static void found_mlx5(struct search *s, const struct bf_trace_record *rec)
{
	const uint64_t qpn = field(rec, "qpn"), at = place_of(s, qpn);
	const uint16_t back = (uint16_t)(at - field(rec, "index"));

	/* Not beyond what has been fetched: the counter tells the rest. */
	s->found = (struct bf_explain_target){ .kind = BF_EXPLAIN_MLX5, .queue = qpn };
	s->found.index = back <= at ? at - back : field(rec, "index");
	s->done = true;
}

static void found_nvme(struct search *s, const struct bf_trace_record *rec)
{
	const uint64_t sqid = field(rec, "sqid"), cid = field(rec, "cid");

	s->found = (struct bf_explain_target){ .kind = BF_EXPLAIN_NVME, .queue = sqid, .index = cid };
	s->found.nth = (uint32_t)place_of(s, sqid << 16 | cid);
	s->done = true;
}

/* 0, or -ENOMEM. */
static int look_at(struct search *s, const struct bf_trace_record *rec, const char *actor)
{
	const char *type = rec->type->name;
	int rc = 0;

	if (!of_device(s, actor))
		return 0;
	if (strcmp(type, "wqe_fetch") == 0) {
		const uint64_t at = place_of(s, field(rec, "qpn"));

		rc = set_place(s, field(rec, "qpn"), at + (uint16_t)(field(rec, "index") - at));
	} else if (strcmp(type, "nvme_fetch") == 0) {
		const uint64_t key = field(rec, "sqid") << 16 | field(rec, "cid");

		rc = set_place(s, key, place_of(s, key) + 1);
	} else if (strcmp(type, "cqe") == 0) {
		if (field(rec, "cqn") == s->want->queue && field(rec, "count") == s->want->index)
			found_mlx5(s, rec);
	} else if (strcmp(type, "nvme_completion") == 0) {
		if (field(rec, "cqid") == s->want->queue && s->count++ == s->want->index)
			found_nvme(s, rec);
	}
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
