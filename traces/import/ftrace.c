/*
 * Reading Linux traces of NVMe commands, line by line: what stands before the event's name, then its fields.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/container/text.h"
#include "traces/import/ftrace_internal.h"

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int bf_ftrace_fail(const struct bf_ftrace_line *l, const char *p, const char *what)
{
	return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ", column %zu: %s", l->number, (size_t)(p - l->start) + 1,
		       what);
}

void bf_ftrace_skip(struct bf_ftrace_line *l, const char *set)
{
	while (l->p < l->end && strchr(set, *l->p))
		l->p++;
}

bool bf_ftrace_number(struct bf_ftrace_line *l, uint64_t *out)
{
	const char *first;
	uint64_t base = 10;

	if (l->end - l->p > 2 && l->p[0] == '0' && l->p[1] == 'x') {
		base = 16;
		l->p += 2;
	}
	*out = 0;
	for (first = l->p; l->p < l->end; l->p++) {
		const uint64_t d = (uint64_t)bf_hex_digit(*l->p); /* -1: larger than any base */

		if (d >= base)
			break;
		if (*out > (UINT64_MAX - d) / base)
			return false;
		*out = *out * base + d;
	}
	return l->p > first;
}

bool bf_ftrace_time(struct bf_ftrace_line *l, uint64_t *ns)
{
	uint64_t seconds = 0, fraction = 0, unit = 1000000000u;
	const char *first = l->p;

	for (; l->p < l->end && is_digit(*l->p); l->p++) {
		if (l->p - first > 9)
			return false;
		seconds = seconds * 10 + (uint64_t)(*l->p - '0');
	}
	if (l->p == first || l->p == l->end || *l->p != '.')
		return false;
	first = ++l->p;
	for (; l->p < l->end && is_digit(*l->p); l->p++) {
		unit /= 10;
		fraction += unit * (uint64_t)(*l->p - '0');
	}
	*ns = seconds * 1000000000u + fraction;
	return l->p > first;
}

/* ---- tracepoints ---- */

static const struct point {
	const char *name;
	enum bf_ftrace_kind kind;
	enum bf_ftrace_side side;
} points[] = {
	{ "nvme_setup_cmd:", BF_FTRACE_SETUP, BF_FTRACE_HOST },
	{ "nvme_sq:", BF_FTRACE_SQ, BF_FTRACE_HOST },
	{ "nvme_complete_rq:", BF_FTRACE_COMPLETE, BF_FTRACE_HOST },
	{ "nvme_async_event:", BF_FTRACE_AEN, BF_FTRACE_HOST },
	{ "nvmet_req_init:", BF_FTRACE_SETUP, BF_FTRACE_TARGET },
	{ "nvmet_req_complete:", BF_FTRACE_COMPLETE, BF_FTRACE_TARGET },
	{ "nvmet_async_event:", BF_FTRACE_AEN, BF_FTRACE_TARGET },
};

/* Finds a tracepoint's name behind a blank and leaves the line's cursor behind it; NULL when there is none. */
static const struct point *find_point(struct bf_ftrace_line *l, const char **name)
{
	for (const char *p = l->start; p < l->end; p++) {
		if (p > l->start && p[-1] != ' ')
			continue;
		for (size_t i = 0; i < BF_ARRAY_LEN(points); i++) {
			const size_t n = strlen(points[i].name);

			if ((size_t)(l->end - p) < n || memcmp(p, points[i].name, n) != 0)
				continue;
			*name = p;
			l->p = p + n;
			return &points[i];
		}
	}
	return NULL;
}

/* function_graph prints events as comments, without a time: " 13)Q  |  / * nvme_sq: ... * /"; then l->end moves. */
static bool is_comment(struct bf_ftrace_line *l, const char *name)
{
	if (name - l->start < 3 || memcmp(name - 3, "/* ", 3) != 0)
		return false;
	while (l->end > l->p && (l->end[-1] == ' ' || l->end[-1] == '*' || l->end[-1] == '/'))
		l->end--;
	return true;
}

/* The time stands right before the event's name: "... 9203.271124: nvme_sq:". */
static int read_stamp(const struct bf_ftrace_line *l, const char *name, struct bf_ftrace_event *ev)
{
	struct bf_ftrace_line t = *l;
	const char *end = name;

	while (end > l->start && end[-1] == ' ')
		end--;
	if (end == l->start || end[-1] != ':')
		return bf_ftrace_fail(l, name, "a time and ':' are expected before the event");
	t.end = --end;
	while (end > l->start && (is_digit(end[-1]) || end[-1] == '.'))
		end--;
	t.p = end;
	if (!bf_ftrace_time(&t, &ev->t_ns) || t.p != t.end)
		return bf_ftrace_fail(l, end, "this is no time in seconds");
	return 0;
}

/* "nvme0: " in front of the fields. */
static int read_ctrl(struct bf_ftrace_line *l, struct bf_ftrace_event *ev)
{
	const char *first;

	bf_ftrace_skip(l, " ");
	first = l->p;
	while (l->p < l->end && *l->p != ':' && *l->p != ' ')
		l->p++;
	if (l->p == first || l->p == l->end || *l->p != ':')
		return bf_ftrace_fail(l, first, "a controller's name and ':' is expected here");
	snprintf(ev->ctrl, sizeof(ev->ctrl), "%.*s", (int)(l->p - first < 15 ? l->p - first : 15), first);
	l->p++;
	return 0;
}

/* The command in parentheses may come before or behind "qid=", on which its meaning depends: noted, read last. */
struct fields {
	uint64_t qid, cid, nsid, flags, head, tail, result, status, retries;
	uint32_t seen;
	const char *command;
	size_t command_len;
};

enum { QID, CID, NSID, FLAGS, HEAD, TAIL, RESULT, STATUS, RETRIES, FIELDS };

static const struct {
	const char *name;
	size_t offset;
	uint64_t max;
} numbers[FIELDS] = {
	[QID] = { "qid", offsetof(struct fields, qid), UINT16_MAX },
	[CID] = { "cmdid", offsetof(struct fields, cid), UINT16_MAX },
	[NSID] = { "nsid", offsetof(struct fields, nsid), UINT32_MAX },
	[FLAGS] = { "flags", offsetof(struct fields, flags), UINT8_MAX },
	[HEAD] = { "head", offsetof(struct fields, head), UINT16_MAX },
	[TAIL] = { "tail", offsetof(struct fields, tail), UINT16_MAX },
	[RESULT] = { "res", offsetof(struct fields, result), UINT64_MAX },
	[STATUS] = { "status", offsetof(struct fields, status), UINT16_MAX },
	[RETRIES] = { "retries", offsetof(struct fields, retries), UINT8_MAX },
};

static int read_command_span(struct bf_ftrace_line *l, struct fields *f)
{
	const char *close;

	if (l->p == l->end || *l->p != '(')
		return bf_ftrace_fail(l, l->p, "the command is expected in parentheses");
	close = memchr(l->p, ')', (size_t)(l->end - l->p));
	if (!close)
		return bf_ftrace_fail(l, l->p, "the command's parenthesis is not closed");
	f->command = l->p + 1;
	f->command_len = (size_t)(close - f->command);
	l->p = close + 1;
	return 0;
}

static int read_field(struct bf_ftrace_line *l, struct fields *f)
{
	const char *name = l->p, *value;
	uint64_t v;
	size_t len;

	while (l->p < l->end && *l->p != '=' && *l->p != ',' && *l->p != ' ')
		l->p++;
	len = (size_t)(l->p - name);
	if (l->p == l->end || *l->p != '=')
		return 0; /* a remark of the one who posted it */
	value = ++l->p;
	if (len == 3 && memcmp(name, "cmd", 3) == 0)
		return read_command_span(l, f);
	for (uint32_t i = 0; i < FIELDS; i++) {
		if (strlen(numbers[i].name) != len || memcmp(numbers[i].name, name, len) != 0)
			continue;
		if (!bf_ftrace_number(l, &v) || (l->p < l->end && *l->p != ',' && *l->p != ' '))
			return bf_ftrace_fail(l, value, "a number is expected here");
		if (v > numbers[i].max)
			return bf_ftrace_fail(l, value, "the number is too large for its field");
		memcpy((char *)f + numbers[i].offset, &v, sizeof(v));
		f->seen |= 1u << i;
		return 0;
	}
	while (l->p < l->end && *l->p != ',' && *l->p != ' ')
		l->p++;
	return 0;
}

static int read_fields(struct bf_ftrace_line *l, struct fields *f)
{
	int rc = 0;

	for (bf_ftrace_skip(l, " ,"); !rc && l->p < l->end; bf_ftrace_skip(l, " ,"))
		rc = read_field(l, f);
	return rc;
}

static int fill_setup(const struct bf_ftrace_line *l, const struct fields *f, struct bf_ftrace_event *ev)
{
	struct bf_nvme_sqe *s = &ev->setup.sqe;
	const char *why;
	size_t bad;

	if (!f->command)
		return bf_ftrace_fail(l, l->end, "there is no cmd=(...)");
	s->nsid = bf_to_le32((uint32_t)f->nsid);
	bad = bf_ftrace_command_parse(f->command, f->command_len, ev->qid, ev, &why);
	if (bad)
		return bf_ftrace_fail(l, f->command + bad - 1, why);
	s->flags = (uint8_t)f->flags;
	s->cid = bf_to_le16((uint16_t)f->cid);
	return 0;
}

static int fill(const struct bf_ftrace_line *l, const struct fields *f, struct bf_ftrace_event *ev)
{
	static const uint32_t needed[BF_FTRACE_KINDS] = {
		[BF_FTRACE_SETUP] = 1u << QID | 1u << CID,
		[BF_FTRACE_SQ] = 1u << QID | 1u << HEAD,
		[BF_FTRACE_COMPLETE] = 1u << QID | 1u << CID | 1u << STATUS,
	};
	const uint32_t missing = needed[ev->kind] & ~f->seen;
	char text[64];

	if (missing) {
		snprintf(text, sizeof(text), "there is no %s=", numbers[__builtin_ctz(missing)].name);
		return bf_ftrace_fail(l, l->end, text);
	}
	ev->qid = (uint32_t)f->qid;
	ev->cid = (uint32_t)f->cid;
	if (ev->kind == BF_FTRACE_SETUP)
		return fill_setup(l, f, ev);
	if (ev->kind == BF_FTRACE_SQ) {
		ev->sq.head = (uint32_t)f->head;
		ev->sq.tail = (uint32_t)f->tail;
	} else {
		ev->complete.result = f->result;
		ev->complete.status = (uint32_t)f->status;
		ev->complete.retries = (uint32_t)f->retries;
	}
	return 0;
}

/* "NVME_AEN=0x000100 [...]" or the target's "aer_type=..., ..." text. */
static int read_event(struct bf_ftrace_line *l, struct bf_ftrace_event *ev)
{
	static const char name[] = "NVME_AEN=";
	uint64_t v;

	bf_ftrace_skip(l, " ");
	if ((size_t)(l->end - l->p) < sizeof(name) - 1 || memcmp(l->p, name, sizeof(name) - 1) != 0)
		return bf_ftrace_fail(l, l->p, "NVME_AEN= is expected here");
	l->p += sizeof(name) - 1;
	if (!bf_ftrace_number(l, &v) || v > UINT32_MAX)
		return bf_ftrace_fail(l, l->p, "a number of 32 bits is expected here");
	ev->aen = (uint32_t)v;
	return 0;
}

static int read_point(struct bf_ftrace_line *l, const struct point *point, const char *name, struct bf_ftrace_event *ev)
{
	struct fields f = { 0 };
	int rc;

	ev->kind = point->kind;
	ev->side = point->side;
	rc = is_comment(l, name) ? 0 : read_stamp(l, name, ev);
	if (!rc)
		rc = read_ctrl(l, ev);
	if (rc || ev->kind == BF_FTRACE_AEN)
		return rc ? rc : read_event(l, ev);
	rc = read_fields(l, &f);
	return rc ? rc : fill(l, &f, ev);
}

/* ---- the whole ---- */

int bf_ftrace_append(struct bf_ftrace *t, const struct bf_ftrace_event *ev, struct bf_error *err)
{
	if (BF_GROW(t->events, t->cap, t->count + 1))
		return bf_fail(err, -ENOMEM, "out of memory at line %" PRIu32, ev->line);
	t->events[t->count++] = *ev;
	return 0;
}

/* Lines of different CPUs may stand a little out of order. */
static void set_time(const struct bf_ftrace *t, struct bf_ftrace_event *ev, uint64_t *first_ns)
{
	if (t->count == 0)
		*first_ns = ev->t_ns;
	ev->t_ns = ev->t_ns > *first_ns ? ev->t_ns - *first_ns : 0;
	if (t->count && ev->t_ns < t->events[t->count - 1].t_ns)
		ev->t_ns = t->events[t->count - 1].t_ns;
}

static int take_line(struct bf_ftrace *t, struct bf_ftrace_line *l, uint64_t *first_ns)
{
	struct bf_ftrace_event ev = { 0 };
	const struct point *point;
	const char *name;
	int rc;

	l->p = l->start;
	bf_ftrace_skip(l, " \t");
	point = l->p == l->end || *l->p == '#' ? NULL : find_point(l, &name);
	if (point)
		rc = read_point(l, point, name, &ev);
	else
		rc = l->p == l->end || *l->p == '#' ? 0 : bf_ftrace_block(l, t, &ev);
	if (rc < 0)
		return rc;
	if (!point && rc == 0) {
		t->skipped++;
		return 0;
	}
	set_time(t, &ev, first_ns);
	ev.line = t->line;
	return bf_ftrace_append(t, &ev, l->err);
}

int bf_ftrace_parse(const char *text, size_t len, struct bf_ftrace **out, struct bf_error *err)
{
	struct bf_ftrace *t = calloc(1, sizeof(*t));
	const char *p = text, *end = text + len;
	uint64_t first_ns = 0;
	int rc = 0;

	*out = t;
	if (!t)
		return bf_fail(err, -ENOMEM, "out of memory");
	while (!rc && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p)), *stop = newline ? newline : end;
		struct bf_ftrace_line l = { .start = p,
					    .end = stop > p && stop[-1] == '\r' ? stop - 1 : stop,
					    .err = err };

		l.number = ++t->line;
		rc = take_line(t, &l, &first_ns);
		p = newline ? newline + 1 : end;
	}
	if (rc == -ENOMEM) {
		bf_ftrace_free(t);
		*out = NULL;
	}
	return rc;
}

/* The names of tracepoints, or the first line of a block trace. */
bool bf_ftrace_probe(const char *text, size_t len)
{
	struct bf_error err = { 0 };
	struct bf_ftrace *t;
	const char *cut = len ? memrchr(text, '\n', len) : NULL;
	bool found;

	if (memchr(text, '\0', len))
		return false;
	bf_ftrace_parse(text, cut ? (size_t)(cut - text) : len, &t, &err);
	found = t && (t->count > 0 || (err.text[0] && t->skipped < t->line));
	bf_ftrace_free(t);
	return found;
}

int bf_ftrace_load(const char *path, struct bf_ftrace **out, struct bf_error *err)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
	int rc;

	*out = NULL;
	if (!f)
		return bf_fail(err, -errno, "cannot open %s: %s", path, strerror(errno));
	rc = bf_ftrace_load_file(f, path, out, err);
	if (f != stdin)
		fclose(f);
	return rc;
}

int bf_ftrace_load_file(FILE *f, const char *path, struct bf_ftrace **out, struct bf_error *err)
{
	char *text;
	size_t n;
	int rc = bf_text_whole(f, path, &text, &n, err);

	*out = NULL;
	if (!rc && memchr(text, '\0', n))
		rc = bf_fail(err, -EBADMSG, "%s is not text", path);
	if (!rc)
		rc = bf_ftrace_parse(text, n, out, err);
	free(text);
	return rc;
}

void bf_ftrace_free(struct bf_ftrace *t)
{
	if (t)
		free(t->events);
	free(t);
}
