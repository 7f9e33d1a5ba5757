/*
 * From a line of a capture to an event: the object's members are found first, then the table of the event's kind says
 * which of them it needs, and checks each. The same table copies events to and from records.
 */
#include "traces/capture_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "traces/capture_records.h"
#include "traces/json_line.h"
#include "traces/trace.h"

#define MAX_LINE (1u << 20)
#define MAX_FILE (1ull << 32) /* offsets and line numbers are 32 bits */

#define F(type, name, kind, unit) BF_RECORD_FIELD_(capture_mkey, type, name, kind, unit)
BF_RECORD_DEFINE(capture_mkey, BF_REC_CAPTURE_MKEY_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(capture_qp, type, name, kind, unit)
BF_RECORD_DEFINE(capture_qp, BF_REC_CAPTURE_QP_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(capture_doorbell, type, name, kind, unit)
BF_RECORD_DEFINE(capture_doorbell, BF_REC_CAPTURE_DOORBELL_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(capture_wqe, type, name, kind, unit)
BF_RECORD_DEFINE(capture_wqe, BF_REC_CAPTURE_WQE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(capture_recv_wqe, type, name, kind, unit)
BF_RECORD_DEFINE(capture_recv_wqe, BF_REC_CAPTURE_WQE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(capture_cqe, type, name, kind, unit)
BF_RECORD_DEFINE(capture_cqe, BF_REC_CAPTURE_CQE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(capture_srq, type, name, kind, unit)
BF_RECORD_DEFINE(capture_srq, BF_REC_CAPTURE_SRQ_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(capture_srq_wqe, type, name, kind, unit)
BF_RECORD_DEFINE(capture_srq_wqe, BF_REC_CAPTURE_SRQ_WQE_FIELDS(F));
#undef F

/* ---- the tables ---- */

struct field {
	const char *name; /* in the line and in the record */
	enum bf_json_form form;
	uint16_t offset, size; /* in struct bf_capture_event */
	uint64_t max;
};

#define FIELD(fname, fform, member, limit)                                                                             \
	{                                                                                                              \
		.name = fname, .form = fform, .offset = offsetof(struct bf_capture_event, member),                     \
		.size = sizeof(((struct bf_capture_event *)0)->member), .max = limit                                   \
	}

#define QPN_MAX 0xffffffu /* queue numbers have 24 bits */

static const struct field mkey_fields[] = {
	FIELD("key", BF_JSON_HEX, mkey.key, UINT32_MAX),
	FIELD("addr", BF_JSON_HEX, mkey.addr, UINT64_MAX),
	FIELD("length", BF_JSON_DECIMAL, mkey.length, UINT64_MAX),
	FIELD("access", BF_JSON_DECIMAL, mkey.access, UINT32_MAX),
	{ 0 },
};
static const struct field qp_fields[] = {
	FIELD("qpn", BF_JSON_HEX, qp.qpn, QPN_MAX),
	FIELD("dest_qpn", BF_JSON_HEX, qp.dest_qpn, QPN_MAX),
	FIELD("sq_wqebbs", BF_JSON_DECIMAL, qp.sq_wqebbs, 32768),
	FIELD("rq_wqes", BF_JSON_DECIMAL, qp.rq_wqes, 32768),
	FIELD("rq_stride_log2", BF_JSON_DECIMAL, qp.rq_stride_log2, 10),
	FIELD("user_index", BF_JSON_DECIMAL, qp.user_index, QPN_MAX),
	FIELD("send_cqn", BF_JSON_HEX, qp.send_cqn, QPN_MAX),
	FIELD("send_cqes", BF_JSON_DECIMAL, qp.send_cqes, 1u << 22),
	FIELD("recv_cqn", BF_JSON_HEX, qp.recv_cqn, QPN_MAX),
	FIELD("recv_cqes", BF_JSON_DECIMAL, qp.recv_cqes, 1u << 22),
	FIELD("state", BF_JSON_DECIMAL, qp.state, 15),
	{ 0 },
};
static const struct field doorbell_fields[] = {
	FIELD("qpn", BF_JSON_HEX, queue.qpn, QPN_MAX),
	FIELD("dbrec", BF_JSON_DECIMAL, queue.dbrec, 0xffff),
	{ 0 },
};
static const struct field entry_fields[] = {
	FIELD("qpn", BF_JSON_HEX, queue.qpn, QPN_MAX),
	FIELD("index", BF_JSON_DECIMAL, queue.index, UINT32_MAX),
	{ 0 },
};
static const struct field cqe_fields[] = {
	FIELD("cqn", BF_JSON_HEX, queue.cqn, QPN_MAX),
	FIELD("index", BF_JSON_DECIMAL, queue.index, UINT32_MAX),
	{ 0 },
};
static const struct field srq_fields[] = {
	FIELD("srqn", BF_JSON_HEX, srq.srqn, QPN_MAX),
	FIELD("qpn", BF_JSON_HEX, srq.qpn, QPN_MAX),
	FIELD("wqes", BF_JSON_DECIMAL, srq.wqes, 32768),
	FIELD("stride_log2", BF_JSON_DECIMAL, srq.stride_log2, 10),
	{ 0 },
};
static const struct field srq_entry_fields[] = {
	FIELD("srqn", BF_JSON_HEX, queue.srqn, QPN_MAX),
	FIELD("index", BF_JSON_DECIMAL, queue.index, UINT16_MAX),
	{ 0 },
};

/* `unit` and `most`: how many bytes the "bytes" of this kind may have; 0: it has none. */
static const struct kind {
	const char *name;
	const struct field *fields;
	const struct bf_rec_schema *schema;
	uint32_t unit, most;
} kinds[BF_CAPTURE_KINDS] = {
	[BF_CAPTURE_MKEY] = { "mkey", mkey_fields, &bf_rec_capture_mkey_schema, 0, 0 },
	[BF_CAPTURE_QP] = { "qp", qp_fields, &bf_rec_capture_qp_schema, 0, 0 },
	[BF_CAPTURE_DOORBELL] = { "sq_doorbell", doorbell_fields, &bf_rec_capture_doorbell_schema, 0, 0 },
	[BF_CAPTURE_WQE] = { "wqe", entry_fields, &bf_rec_capture_wqe_schema, 64, 1024 },
	[BF_CAPTURE_RECV_WQE] = { "recv_wqe", entry_fields, &bf_rec_capture_recv_wqe_schema, 16, 1024 },
	[BF_CAPTURE_CQE] = { "cqe", cqe_fields, &bf_rec_capture_cqe_schema, 64, 64 },
	[BF_CAPTURE_SRQ] = { "srq", srq_fields, &bf_rec_capture_srq_schema, 0, 0 },
	[BF_CAPTURE_SRQ_WQE] = { "srq_wqe", srq_entry_fields, &bf_rec_capture_srq_wqe_schema, 16, 1024 },
};

static void set_field(struct bf_capture_event *ev, const struct field *f, uint64_t value)
{
	uint8_t *p = (uint8_t *)ev + f->offset;

	if (f->size == 8)
		memcpy(p, &value, 8);
	else
		memcpy(p, &(uint32_t){ (uint32_t)value }, 4);
}

static uint64_t get_field(const struct bf_capture_event *ev, const struct field *f)
{
	const uint8_t *p = (const uint8_t *)ev + f->offset;

	return f->size == 8 ? bf_get_le64(p) : bf_get_le32(p);
}

/* ---- storage ---- */

struct bf_arena {
	struct bf_arena *next;
	size_t used, cap;
	uint8_t bytes[];
};

static uint8_t *arena_take(struct bf_capture *c, size_t len)
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

static int append(struct bf_capture *c, const struct bf_capture_event *ev, struct bf_error *err)
{
	if (c->count == c->cap) {
		size_t cap = c->cap ? c->cap * 2 : 256;
		struct bf_capture_event *events = realloc(c->events, cap * sizeof(*events));

		if (!events)
			return bf_fail(err, -ENOMEM, "out of memory at line %" PRIu32, ev->line);
		c->events = events;
		c->cap = cap;
	}
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

static int parse_bytes(struct bf_capture *c, struct bf_json_line *l, const struct kind *k, struct bf_capture_event *ev)
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
	bytes = arena_take(c, len);
	if (!bytes)
		return bf_fail(l->err, -ENOMEM, "out of memory at line %" PRIu32, l->number);
	for (size_t i = 0; i < len; i++) {
		int high = bf_hex_digit(m->value[2 * i]), low = bf_hex_digit(m->value[2 * i + 1]);

		if (high < 0 || low < 0)
			return bf_json_line_fail(l, m, "bytes", "has a character that is no hex digit");
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	ev->bytes = bytes;
	ev->len = (uint32_t)len;
	return 0;
}

static const struct kind *find_kind(const char *name, size_t len)
{
	for (int i = 0; i < BF_CAPTURE_KINDS; i++) {
		if (strlen(kinds[i].name) == len && memcmp(kinds[i].name, name, len) == 0)
			return &kinds[i];
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
				       "line %" PRIu32 ": field \"%s\" is %" PRIu32 ", which is no power of two",
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
			       "line %" PRIu32 ": field \"wqes\" is %" PRIu32 ", which is no power of two", ev->line,
			       n);
	if (ev->srq.stride_log2 < 5)
		return bf_fail(err, -EBADMSG, "line %" PRIu32 ": field \"stride_log2\" is below 5 (32 bytes)",
			       ev->line);
	return 0;
}

static int check_event(const struct bf_capture *c, const struct bf_capture_event *ev, struct bf_error *err)
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
	const struct kind *k;
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
	ev->kind = (enum bf_capture_kind)(k - kinds);
	m = bf_json_line_find(l, "t_ns");
	if (!m)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": event \"%s\" lacks field \"t_ns\"", l->number,
			       k->name);
	/* Times are picoseconds everywhere else. */
	rc = bf_json_line_integer(l, m, "t_ns", BF_JSON_DECIMAL, UINT64_MAX / 2000, &ev->t_ns);
	for (const struct field *f = k->fields; !rc && f->name; f++) {
		uint64_t value;

		m = bf_json_line_find(l, f->name);
		if (!m)
			return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": event \"%s\" lacks field \"%s\"", l->number,
				       k->name, f->name);
		rc = bf_json_line_integer(l, m, f->name, f->form, f->max, &value);
		if (!rc)
			set_field(ev, f, value);
	}
	if (!rc && k->most)
		rc = parse_bytes(c, l, k, ev);
	return rc ? rc : check_event(c, ev, l->err);
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
	return rc ? rc : append(c, &ev, err);
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

/* ---- to and from records ---- */

/* A queue's key has its kind above the 24 bits of its number, so none is 0, which marks an empty slot. */
enum { QUEUE_KEYS = 1u << 24, QUEUE_CQ = 2u << 24, QUEUE_QP = 3u << 24, QUEUE_SRQ = 4u << 24 };

struct bf_capture_actor {
	uint32_t queue, actor;
};

static uint32_t queue_of(const struct bf_capture_event *ev)
{
	if (ev->kind == BF_CAPTURE_MKEY)
		return QUEUE_KEYS;
	if (ev->kind == BF_CAPTURE_CQE)
		return QUEUE_CQ | ev->queue.cqn;
	if (ev->kind == BF_CAPTURE_SRQ || ev->kind == BF_CAPTURE_SRQ_WQE)
		return QUEUE_SRQ | (ev->kind == BF_CAPTURE_SRQ ? ev->srq.srqn : ev->queue.srqn);
	return QUEUE_QP | (ev->kind == BF_CAPTURE_QP ? ev->qp.qpn : ev->queue.qpn);
}

/* The slot of `queue`, or the empty one where it belongs. */
static struct bf_capture_actor *find_slot(const struct bf_capture_actors *as, uint32_t queue)
{
	uint32_t at = (queue * 0x9e3779b1u) >> 4 & (as->slots - 1);

	while (as->slot[at].queue && as->slot[at].queue != queue)
		at = (at + 1) & (as->slots - 1);
	return &as->slot[at];
}

/* Twice the slots. False on lack of memory. */
static bool grow_actors(struct bf_capture_actors *as)
{
	struct bf_capture_actors more = { .slots = as->slots ? as->slots * 2 : 64, .count = as->count };

	more.slot = calloc(more.slots, sizeof(*more.slot));
	if (!more.slot)
		return false;
	for (uint32_t i = 0; i < as->slots; i++) {
		if (as->slot[i].queue)
			*find_slot(&more, as->slot[i].queue) = as->slot[i];
	}
	free(as->slot);
	*as = more;
	return true;
}

static uint32_t new_actor(struct bf_stream *st, uint32_t queue)
{
	const uint32_t number = queue & QPN_MAX, kind = queue - number;
	char name[32];

	if (queue == QUEUE_KEYS)
		return bf_stream_actor(st, "keys", "cap.keys");
	snprintf(name, sizeof(name), "cap.%s%" PRIx32,
		 kind == QUEUE_CQ    ? "cq"
		 : kind == QUEUE_SRQ ? "srq"
				     : "qp",
		 number);
	return bf_stream_actor(st, "queue", name);
}

static uint32_t actor_of(struct bf_stream *st, struct bf_capture_actors *as, const struct bf_capture_event *ev)
{
	const uint32_t queue = queue_of(ev);
	struct bf_capture_actor *a;

	if (as->count >= as->slots / 2 && !grow_actors(as))
		return 0;
	a = find_slot(as, queue);
	if (!a->queue) {
		*a = (struct bf_capture_actor){ queue, new_actor(st, queue) };
		as->count++;
	}
	return a->actor;
}

void bf_capture_actors_free(struct bf_capture_actors *as)
{
	free(as->slot);
	*as = (struct bf_capture_actors){ 0 };
}

static void put_record_field(const struct bf_rec_schema *schema, const char *name, uint64_t value, uint8_t *fixed)
{
	const struct bf_rec_field *f = bf_schema_field(schema, name);

	if (f->size == 8)
		bf_put_le64(fixed + f->offset, value);
	else
		bf_put_le32(fixed + f->offset, (uint32_t)value);
}

void bf_capture_record(struct bf_stream *st, struct bf_capture_actors *actors, const struct bf_capture_event *ev)
{
	const struct kind *k = &kinds[ev->kind];
	_Alignas(8) uint8_t fixed[sizeof(struct bf_rec_capture_qp)] = { 0 };

	BF_STATIC_ASSERT(sizeof(struct bf_rec_capture_mkey) <= sizeof(fixed), "the queue pair's record is the largest");
	for (const struct field *f = k->fields; f->name; f++)
		put_record_field(k->schema, f->name, get_field(ev, f), fixed);
	put_record_field(k->schema, "line", ev->line, fixed);
	bf_record(st, k->schema, actor_of(st, actors, ev), fixed, ev->bytes, ev->len);
}

int bf_capture_emit(const struct bf_capture *c, struct bf_sink *sink, struct bf_error *err)
{
	struct bf_capture_actors actors = { 0 };
	struct bf_stream st = { 0 };
	uint64_t clock_ps = 0;
	int rc = bf_stream_open(&st, &clock_ps, BF_CLASS_ALL, sink);

	for (size_t i = 0; i < c->count && !rc; i++) {
		clock_ps = c->events[i].t_ns * 1000;
		bf_capture_record(&st, &actors, &c->events[i]);
		rc = st.status;
	}
	int closed = bf_stream_close(&st);
	bf_stream_free(&st);
	bf_capture_actors_free(&actors);
	if (!rc)
		rc = closed;
	return rc ? bf_fail(err, rc, "cannot write the records: %s", strerror(-rc)) : 0;
}

/* The event's bytes become the capture's. Returns 1, or a negative errno. */
static int take_bytes(struct bf_capture *c, const struct bf_trace_record *rec, struct bf_capture_event *ev,
		      struct bf_error *err)
{
	const struct kind *k = &kinds[ev->kind];
	uint8_t *bytes;
	int rc;

	if (k->most) {
		if (ev->len == 0 || ev->len % k->unit || ev->len > k->most)
			return bf_fail(err, -EBADMSG, "record %" PRIu64 " (%s) has %" PRIu32 " bytes", rec->number,
				       rec->type->name, ev->len);
		bytes = arena_take(c, ev->len);
		if (!bytes)
			return bf_fail(err, -ENOMEM, "out of memory");
		memcpy(bytes, ev->bytes, ev->len);
		ev->bytes = bytes;
	} else {
		ev->bytes = NULL;
		ev->len = 0;
	}
	rc = check_event(c, ev, err);
	return rc ? rc : 1;
}

static int event_from_record(struct bf_capture *c, const struct bf_trace_record *rec, struct bf_capture_event *ev,
			     struct bf_error *err)
{
	const struct kind *k = NULL;
	uint64_t value;

	for (int i = 0; i < BF_CAPTURE_KINDS && !k; i++) {
		if (strcmp(rec->type->name, kinds[i].schema->name) == 0)
			k = &kinds[i];
	}
	if (!k)
		return 0;
	*ev = (struct bf_capture_event){ .kind = (enum bf_capture_kind)(k - kinds), .t_ns = rec->time_ps / 1000 };
	if (!bf_trace_field_u64(rec, "line", &value) || value > UINT32_MAX)
		return bf_fail(err, -EBADMSG, "record %" PRIu64 " (%s) has no line", rec->number, rec->type->name);
	ev->line = (uint32_t)value;
	for (const struct field *f = k->fields; f->name; f++) {
		if (!bf_trace_field_u64(rec, f->name, &value) || value > f->max)
			return bf_fail(err, -EBADMSG, "record %" PRIu64 " (%s): field \"%s\" is missing or too large",
				       rec->number, rec->type->name, f->name);
		set_field(ev, f, value);
	}
	ev->bytes = rec->tail;
	ev->len = rec->tail_len;
	return take_bytes(c, rec, ev, err);
}

static int take_records(struct bf_trace *t, struct bf_capture *c, struct bf_capture_model *m, struct bf_error *err)
{
	struct bf_trace_record rec;
	int rc;

	while ((rc = bf_trace_next(t, &rec)) > 0) {
		struct bf_capture_event ev;

		rc = m ? bf_capture_from_model(m, &rec, &ev) : event_from_record(c, &rec, &ev, err);
		if (rc == -ENOMEM && m)
			return bf_fail(err, rc, "out of memory");
		if (m && rc > 0)
			rc = take_bytes(c, &rec, &ev, err);
		if (rc > 0)
			rc = append(c, &ev, err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

static int load_trace(struct bf_trace *t, struct bf_capture *c, struct bf_error *err)
{
	const char *tool = bf_trace_meta_get(t, "tool");
	struct bf_capture_model *m = NULL;
	int rc = 0;

	if (tool && !strcmp(tool, "belfry exec"))
		rc = bf_capture_model_create(&m);
	rc = rc ? bf_fail(err, rc, "out of memory") : take_records(t, c, m, err);
	bf_capture_model_destroy(m);
	if (!rc && c->count == 0)
		rc = bf_fail(err, -EBADMSG, "the trace holds no captured events");
	return rc;
}

/* ---- files ---- */

static int read_all(FILE *f, const char *path, char **text, size_t *len, struct bf_error *err)
{
	size_t cap = 1 << 16;

	*len = 0;
	*text = NULL;
	for (;;) {
		char *more = realloc(*text, cap);

		if (!more)
			return bf_fail(err, -ENOMEM, "%s is too large for this machine's memory", path);
		*text = more;
		*len += fread(*text + *len, 1, cap - *len, f);
		if (*len < cap)
			break;
		cap *= 2;
	}
	return ferror(f) ? bf_fail(err, -EIO, "cannot read %s: %s", path, strerror(errno)) : 0;
}

static int load_records(const char *text, size_t len, struct bf_capture **out, struct bf_error *err)
{
	struct bf_trace *t;
	int rc = bf_trace_open_memory(text, len, &t, err);

	if (rc == -EBADMSG)
		return bf_fail(err, rc, "neither a capture nor a trace");
	if (rc)
		return rc;
	*out = calloc(1, sizeof(**out));
	rc = *out ? load_trace(t, *out, err) : bf_fail(err, -ENOMEM, "out of memory");
	bf_trace_free(t);
	return rc;
}

int bf_capture_load_file(FILE *f, const char *path, struct bf_capture **out, struct bf_error *err)
{
	struct bf_error cause = { 0 };
	char *text;
	size_t len;
	int rc;

	*out = NULL;
	rc = read_all(f, path, &text, &len, err);
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
