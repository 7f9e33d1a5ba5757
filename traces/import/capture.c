/*
 * From a line of a capture to an event: the object's members are found first, then the table of the event's kind says
 * which of them it needs, and checks each. capture_records.c copies events to and from records with the same table.
 */
#include "traces/container/text.h"
#include "traces/import/capture_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/grow.h"
#include "traces/records/capture.h"

#define MAX_LINE (1u << 20)
#define MAX_FILE (1ull << 32) /* offsets and line numbers are 32 bits */

/* ---- the tables ---- */

#define FIELD(fname, fform, member, limit)                                                                             \
	{                                                                                                              \
		.name = fname, .form = fform, .offset = offsetof(struct bf_capture_event, member),                     \
		.size = sizeof(((struct bf_capture_event *)0)->member), .max = limit                                   \
	}

static const struct bf_capture_field mkey_fields[] = {
	FIELD("key", BF_JSON_HEX, mkey.key, UINT32_MAX),
	FIELD("addr", BF_JSON_HEX, mkey.addr, UINT64_MAX),
	FIELD("length", BF_JSON_DECIMAL, mkey.length, UINT64_MAX),
	FIELD("access", BF_JSON_DECIMAL, mkey.access, UINT32_MAX),
	{ 0 },
};
static const struct bf_capture_field qp_fields[] = {
	FIELD("qpn", BF_JSON_HEX, qp.qpn, BF_CAPTURE_QPN_MAX),
	FIELD("dest_qpn", BF_JSON_HEX, qp.dest_qpn, BF_CAPTURE_QPN_MAX),
	FIELD("sq_wqebbs", BF_JSON_DECIMAL, qp.sq_wqebbs, 32768),
	FIELD("rq_wqes", BF_JSON_DECIMAL, qp.rq_wqes, 32768),
	FIELD("rq_stride_log2", BF_JSON_DECIMAL, qp.rq_stride_log2, 10),
	FIELD("user_index", BF_JSON_DECIMAL, qp.user_index, BF_CAPTURE_QPN_MAX),
	FIELD("send_cqn", BF_JSON_HEX, qp.send_cqn, BF_CAPTURE_QPN_MAX),
	FIELD("send_cqes", BF_JSON_DECIMAL, qp.send_cqes, 1u << 22),
	FIELD("recv_cqn", BF_JSON_HEX, qp.recv_cqn, BF_CAPTURE_QPN_MAX),
	FIELD("recv_cqes", BF_JSON_DECIMAL, qp.recv_cqes, 1u << 22),
	FIELD("state", BF_JSON_DECIMAL, qp.state, 15),
	{ 0 },
};
static const struct bf_capture_field doorbell_fields[] = {
	FIELD("qpn", BF_JSON_HEX, queue.qpn, BF_CAPTURE_QPN_MAX),
	FIELD("dbrec", BF_JSON_DECIMAL, queue.dbrec, 0xffff),
	{ 0 },
};
static const struct bf_capture_field entry_fields[] = {
	FIELD("qpn", BF_JSON_HEX, queue.qpn, BF_CAPTURE_QPN_MAX),
	FIELD("index", BF_JSON_DECIMAL, queue.index, UINT32_MAX),
	{ 0 },
};
static const struct bf_capture_field cqe_fields[] = {
	FIELD("cqn", BF_JSON_HEX, queue.cqn, BF_CAPTURE_QPN_MAX),
	FIELD("index", BF_JSON_DECIMAL, queue.index, UINT32_MAX),
	{ 0 },
};
static const struct bf_capture_field srq_fields[] = {
	FIELD("srqn", BF_JSON_HEX, srq.srqn, BF_CAPTURE_QPN_MAX),
	FIELD("qpn", BF_JSON_HEX, srq.qpn, BF_CAPTURE_QPN_MAX),
	FIELD("wqes", BF_JSON_DECIMAL, srq.wqes, 32768),
	FIELD("stride_log2", BF_JSON_DECIMAL, srq.stride_log2, 10),
	{ 0 },
};
static const struct bf_capture_field srq_entry_fields[] = {
	FIELD("srqn", BF_JSON_HEX, queue.srqn, BF_CAPTURE_QPN_MAX),
	FIELD("index", BF_JSON_DECIMAL, queue.index, UINT16_MAX),
	{ 0 },
};

const struct bf_capture_form bf_capture_forms[BF_CAPTURE_KINDS] = {
	[BF_CAPTURE_MKEY] = { "mkey", mkey_fields, &bf_rec_capture_mkey_schema, 0, 0 },
	[BF_CAPTURE_QP] = { "qp", qp_fields, &bf_rec_capture_qp_schema, 0, 0 },
	[BF_CAPTURE_DOORBELL] = { "sq_doorbell", doorbell_fields, &bf_rec_capture_doorbell_schema, 0, 0 },
	[BF_CAPTURE_WQE] = { "wqe", entry_fields, &bf_rec_capture_wqe_schema, 64, 1024 },
	[BF_CAPTURE_RECV_WQE] = { "recv_wqe", entry_fields, &bf_rec_capture_recv_wqe_schema, 16, 1024 },
	[BF_CAPTURE_CQE] = { "cqe", cqe_fields, &bf_rec_capture_cqe_schema, 64, 64 },
	[BF_CAPTURE_SRQ] = { "srq", srq_fields, &bf_rec_capture_srq_schema, 0, 0 },
	[BF_CAPTURE_SRQ_WQE] = { "srq_wqe", srq_entry_fields, &bf_rec_capture_srq_wqe_schema, 16, 1024 },
};

void bf_capture_set(struct bf_capture_event *ev, const struct bf_capture_field *f, uint64_t value)
{
	uint8_t *p = (uint8_t *)ev + f->offset;

	if (f->size == 8)
		memcpy(p, &value, 8);
	else
		memcpy(p, &(uint32_t){ (uint32_t)value }, 4);
}

/* ---- storage ---- */

struct bf_arena {
	struct bf_arena *next;
	size_t used, cap;
	uint8_t bytes[];
};

uint8_t *bf_capture_room(struct bf_capture *c, size_t len)
{
	struct bf_arena *a = c->arena;

	if (!a || a->cap - a->used < len) {
		size_t cap = 64 * 1024;

		a = malloc(sizeof(*a) + cap);
		if (!a)
			return NULL;
		a->next = c->arena;
		a->used = 0;
		a->cap = cap;
		c->arena = a;
	}
	a->used += len;
	return a->bytes + a->used - len;
}

int bf_capture_append(struct bf_capture *c, const struct bf_capture_event *ev, struct bf_error *err)
{
	if (BF_GROW(c->events, c->cap, c->count + 1))
		return bf_fail(err, -ENOMEM, "out of memory at line %" PRIu32, ev->line);
	c->events[c->count++] = *ev;
	return 0;
}

void bf_capture_free(struct bf_capture *c)
{
	if (!c)
		return;
	while (c->arena) {
		struct bf_arena *next = c->arena->next;

		free(c->arena);
		c->arena = next;
	}
	free(c->events);
	free(c);
}

/* ---- from members to an event ---- */

static int parse_bytes(struct bf_capture *c, struct bf_json_line *l, const struct bf_capture_form *k,
		       struct bf_capture_event *ev)
{
	const struct bf_json_member *m = bf_json_line_find(l, "bytes");
	uint8_t *bytes;

	if (!m)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": event \"%s\" lacks field \"bytes\"", l->number,
			       k->name);
	if (m->token != BF_JSON_STRING || m->value_len % 2)
		return bf_json_line_fail(l, m, "bytes", "wants a text of pairs of hex digits");
	size_t len = m->value_len / 2;
	if (len == 0 || len % k->unit || len > k->most)
		return bf_fail(l->err, -EBADMSG,
			       "line %" PRIu32
			       ", column %zu: field \"bytes\" of \"%s\" has %zu bytes; multiples of %" PRIu32
			       " up to %" PRIu32 " are possible",
			       l->number, (size_t)(m->value - l->start) + 1, k->name, len, k->unit, k->most);
	bytes = bf_capture_room(c, len);
	if (!bytes)
		return bf_fail(l->err, -ENOMEM, "out of memory at line %" PRIu32, l->number);
	for (size_t i = 0; i < len; i++) {
		int high = bf_hex_digit(m->value[2 * i]), low = bf_hex_digit(m->value[2 * i + 1]);

		if (high < 0 || low < 0)
			return bf_json_line_fail(l, m, "bytes", "has a character that is not a hex digit");
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	ev->bytes = bytes;
	ev->len = (uint32_t)len;
	return 0;
}

static const struct bf_capture_form *find_kind(const char *name, size_t len)
{
	for (int i = 0; i < BF_CAPTURE_KINDS; i++) {
		if (strlen(bf_capture_forms[i].name) == len && memcmp(bf_capture_forms[i].name, name, len) == 0)
			return &bf_capture_forms[i];
	}
	return NULL;
}

/* What a table cannot say: depths are rings, rings are powers of two. */
static int check_qp(const struct bf_capture_event *ev, struct bf_error *err)
{
	const struct {
		const char *name;
		uint32_t value;
		bool optional;
	} depths[] = {
		{ "sq_wqebbs", ev->qp.sq_wqebbs, true },
		{ "rq_wqes", ev->qp.rq_wqes, true },
		{ "send_cqes", ev->qp.send_cqes, false },
		{ "recv_cqes", ev->qp.recv_cqes, false },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(depths); i++) {
		uint32_t v = depths[i].value;

		if ((v == 0 && !depths[i].optional) || (v & (v - 1)))
			return bf_fail(err, -EBADMSG,
				       "line %" PRIu32 ": field \"%s\" is %" PRIu32 ", which is not a power of two",
				       ev->line, depths[i].name, v);
	}
	if (ev->qp.rq_wqes && ev->qp.rq_stride_log2 < 4)
		return bf_fail(err, -EBADMSG, "line %" PRIu32 ": field \"rq_stride_log2\" is below 4 (16 bytes)",
			       ev->line);
	return 0;
}

static int check_srq(const struct bf_capture_event *ev, struct bf_error *err)
{
	const uint32_t n = ev->srq.wqes;

	if (!n || (n & (n - 1)))
		return bf_fail(err, -EBADMSG,
			       "line %" PRIu32 ": field \"wqes\" is %" PRIu32 ", which is not a power of two", ev->line,
			       n);
	if (ev->srq.stride_log2 < 5)
		return bf_fail(err, -EBADMSG, "line %" PRIu32 ": field \"stride_log2\" is below 5 (32 bytes)",
			       ev->line);
	return 0;
}

int bf_capture_check(const struct bf_capture *c, const struct bf_capture_event *ev, struct bf_error *err)
{
	if (c->count && ev->t_ns < c->events[c->count - 1].t_ns)
		return bf_fail(err, -EBADMSG,
			       "line %" PRIu32 ": time %" PRIu64 " ns lies before the event's in front of it", ev->line,
			       ev->t_ns);
	if (ev->kind == BF_CAPTURE_SRQ)
		return check_srq(ev, err);
	return ev->kind == BF_CAPTURE_QP ? check_qp(ev, err) : 0;
}

static int parse_event(struct bf_capture *c, struct bf_json_line *l, struct bf_capture_event *ev)
{
	const struct bf_json_member *m = bf_json_line_find(l, "ev");
	const struct bf_capture_form *k;
	int rc;

	*ev = (struct bf_capture_event){ .line = l->number };
	if (!m || m->token != BF_JSON_STRING)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": the object has no \"ev\" that names an event",
			       l->number);
	k = find_kind(m->value, m->value_len);
	if (!k)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ", column %zu: unknown event \"%.*s\"", l->number,
			       (size_t)(m->value - l->start) + 1, (int)(m->value_len < 32 ? m->value_len : 32),
			       m->value);
	ev->kind = (enum bf_capture_kind)(k - bf_capture_forms);
	m = bf_json_line_find(l, "t_ns");
	if (!m)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": event \"%s\" lacks field \"t_ns\"", l->number,
			       k->name);
	/* Times are picoseconds everywhere else. */
	rc = bf_json_line_integer(l, m, "t_ns", BF_JSON_DECIMAL, UINT64_MAX / 2000, &ev->t_ns);
	for (const struct bf_capture_field *f = k->fields; !rc && f->name; f++) {
		uint64_t value;

		m = bf_json_line_find(l, f->name);
		if (!m)
			return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": event \"%s\" lacks field \"%s\"", l->number,
				       k->name, f->name);
		rc = bf_json_line_integer(l, m, f->name, f->form, f->max, &value);
		if (!rc)
			bf_capture_set(ev, f, value);
	}
	if (!rc && k->most)
		rc = parse_bytes(c, l, k, ev);
	return rc ? rc : bf_capture_check(c, ev, l->err);
}

static int parse_line(struct bf_capture *c, const char *text, size_t len, struct bf_error *err)
{
	struct bf_json_line l = { .start = text, .p = text, .end = text + len, .number = c->line, .err = err };
	struct bf_capture_event ev;
	int rc;

	if (bf_json_line_blank(&l))
		return 0;
	if (len > MAX_LINE)
		return bf_fail(err, -EBADMSG, "line %" PRIu32 " is longer than %u bytes", c->line, MAX_LINE);
	rc = bf_json_line_scan(&l);
	if (!rc)
		rc = parse_event(c, &l, &ev);
	return rc ? rc : bf_capture_append(c, &ev, err);
}

int bf_capture_parse(const char *text, size_t len, struct bf_capture **out, struct bf_error *err)
{
	struct bf_capture *c = calloc(1, sizeof(*c));
	int rc = 0;

	*out = c;
	if (!c)
		return bf_fail(err, -ENOMEM, "out of memory");
	if (len >= MAX_FILE)
		return bf_fail(err, -EBADMSG, "a capture of %zu bytes is longer than this reader takes", len);
	while (len && !rc) {
		const char *newline = memchr(text, '\n', len);
		size_t n = newline ? (size_t)(newline - text) : len;

		c->line++;
		rc = parse_line(c, text, n, err);
		if (rc == -EBADMSG && !newline && err) {
			struct bf_error cause = *err;

			rc = bf_fail(err, -EBADMSG, "the capture ends inside line %" PRIu32 " (%.180s)", c->line,
				     cause.text);
		}
		n += newline != NULL;
		text += n;
		len -= n;
	}
	return rc;
}

bool bf_capture_probe(const char *text, size_t len)
{
	const char *newline = memchr(text, '\n', len);
	struct bf_json_line l = { .start = text, .p = text, .end = newline ? newline : text + len };

	bf_json_line_scan(&l); /* a line that ends too early still shows its first members */
	return bf_json_line_find(&l, "ev") != NULL;
}

/* ---- files ---- */

static int load_records(const char *text, size_t len, struct bf_capture **out, struct bf_error *err)
{
	struct bf_trace *t;
	int rc = bf_trace_open_memory(text, len, &t, err);

	if (rc == -EBADMSG)
		return bf_fail(err, rc, "neither a capture nor a trace");
	if (rc)
		return rc;
	*out = calloc(1, sizeof(**out));
	rc = *out ? bf_capture_read(t, *out, err) : bf_fail(err, -ENOMEM, "out of memory");
	bf_trace_close(t);
	return rc;
}

int bf_capture_load_file(FILE *f, const char *path, struct bf_capture **out, struct bf_error *err)
{
	struct bf_error cause = { 0 };
	char *text;
	size_t len;
	int rc;

	*out = NULL;
	rc = bf_text_whole(f, path, &text, &len, err);
	if (!rc) {
		if (len == 0)
			rc = bf_fail(&cause, -EBADMSG, "the file is empty");
		else if (bf_capture_probe(text, len))
			rc = bf_capture_parse(text, len, out, &cause);
		else
			rc = load_records(text, len, out, &cause);
		if (rc)
			bf_fail(err, rc, "%s: %.220s", path, cause.text);
	}
	free(text);
	return rc;
}

int bf_capture_load(const char *path, struct bf_capture **out, struct bf_error *err)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	int rc;

	*out = NULL;
	if (!f)
		return bf_fail(err, -errno, "cannot open %s: %s", path, strerror(errno));
	rc = bf_capture_load_file(f, path, out, err);
	if (f != stdin)
		fclose(f);
	return rc;
}
