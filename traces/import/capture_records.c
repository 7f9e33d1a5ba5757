/*
 * Events of a capture as records, and back: the table of the event's kind names the fields of both.
 */
#include "traces/import/capture_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/bytes.h"
#include "traces/records/capture.h"

/* ---- to records ---- */

/* A queue's key has its kind above the 24 bits of its number. */
enum { QUEUE_KEYS = 1u << 24, QUEUE_CQ = 2u << 24, QUEUE_QP = 3u << 24, QUEUE_SRQ = 4u << 24 };

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

static uint32_t new_actor(struct bf_stream *st, uint32_t queue)
{
	const uint32_t number = queue & BF_CAPTURE_QPN_MAX, kind = queue - number;
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
	const uint64_t key[3] = { queue };
	const uint64_t known = bf_number_get(&as->actors, key);
	const uint32_t actor = known ? (uint32_t)(known - 1) : new_actor(st, queue);

	if (!known && bf_number_put(&as->actors, key, actor + 1ull))
		st->nameless = true; /* and fails */
	return actor;
}

void bf_capture_actors_free(struct bf_capture_actors *as)
{
	bf_number_map_free(&as->actors);
}

static uint64_t get_field(const struct bf_capture_event *ev, const struct bf_capture_field *f)
{
	const uint8_t *p = (const uint8_t *)ev + f->offset;

	return f->size == 8 ? bf_get_le64(p) : bf_get_le32(p);
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
	const struct bf_capture_form *k = &bf_capture_forms[ev->kind];
	_Alignas(8) uint8_t fixed[sizeof(struct bf_rec_capture_qp)] = { 0 };

	BF_STATIC_ASSERT(sizeof(struct bf_rec_capture_mkey) <= sizeof(fixed), "the queue pair's record is the largest");
	for (const struct bf_capture_field *f = k->fields; f->name; f++)
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
	bf_stream_fini(&st);
	bf_capture_actors_free(&actors);
	if (!rc)
		rc = closed;
	return rc ? bf_fail(err, rc, "cannot write the records: %s", strerror(-rc)) : 0;
}

/* ---- from records ---- */

/* The event's bytes become the capture's. Returns 1, or a negative errno. */
static int take_bytes(struct bf_capture *c, const struct bf_trace_record *rec, struct bf_capture_event *ev,
		      struct bf_error *err)
{
	const struct bf_capture_form *k = &bf_capture_forms[ev->kind];
	uint8_t *bytes;
	int rc;

	if (k->most) {
		if (ev->len == 0 || ev->len % k->unit || ev->len > k->most)
			return bf_fail(err, -EBADMSG, "record %" PRIu64 " (%s) has %" PRIu32 " bytes", rec->number,
				       rec->type->name, ev->len);
		bytes = bf_capture_room(c, ev->len);
		if (!bytes)
			return bf_fail(err, -ENOMEM, "out of memory");
		memcpy(bytes, ev->bytes, ev->len);
		ev->bytes = bytes;
	} else {
		ev->bytes = NULL;
		ev->len = 0;
	}
	rc = bf_capture_check(c, ev, err);
	return rc ? rc : 1;
}

/* Records of the model have fields of 32 bits, whatever they count. */
static int check_limits(const struct bf_capture_event *ev, struct bf_error *err)
{
	const struct bf_capture_form *k = &bf_capture_forms[ev->kind];

	for (const struct bf_capture_field *f = k->fields; f->name; f++) {
		const uint64_t value = get_field(ev, f);

		if (value > f->max)
			return bf_fail(err, -EBADMSG,
				       "line %" PRIu32 ": field \"%s\" of event \"%s\" is %" PRIu64
				       ", the most is %" PRIu64,
				       ev->line, f->name, k->name, value, f->max);
	}
	return 0;
}

static int event_from_model(struct bf_capture *c, struct bf_capture_model *m, const struct bf_trace_record *rec,
			    struct bf_capture_event *ev, struct bf_error *err)
{
	int rc = bf_capture_from_model(m, rec, ev);

	if (rc < 0)
		return bf_fail(err, rc, "out of memory");
	if (rc == 0)
		return 0;
	rc = check_limits(ev, err);
	return rc ? rc : take_bytes(c, rec, ev, err);
}

static int event_from_record(struct bf_capture *c, const struct bf_trace_record *rec, struct bf_capture_event *ev,
			     struct bf_error *err)
{
	const struct bf_capture_form *k = NULL;
	uint64_t value;

	for (int i = 0; i < BF_CAPTURE_KINDS && !k; i++) {
		if (strcmp(rec->type->name, bf_capture_forms[i].schema->name) == 0)
			k = &bf_capture_forms[i];
	}
	if (!k)
		return 0;
	*ev = (struct bf_capture_event){ .kind = (enum bf_capture_kind)(k - bf_capture_forms),
					 .t_ns = rec->time_ps / 1000 };
	if (!bf_trace_field_u64(rec, "line", &value) || value > UINT32_MAX)
		return bf_fail(err, -EBADMSG, "record %" PRIu64 " (%s) has no line", rec->number, rec->type->name);
	ev->line = (uint32_t)value;
	for (const struct bf_capture_field *f = k->fields; f->name; f++) {
		if (!bf_trace_field_u64(rec, f->name, &value) || value > f->max)
			return bf_fail(err, -EBADMSG, "record %" PRIu64 " (%s): field \"%s\" is missing or too large",
				       rec->number, rec->type->name, f->name);
		bf_capture_set(ev, f, value);
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

		rc = m ? event_from_model(c, m, &rec, &ev, err) : event_from_record(c, &rec, &ev, err);
		if (rc > 0)
			rc = bf_capture_append(c, &ev, err);
		if (rc < 0)
			return rc;
	}
	return rc;
}

int bf_capture_read(struct bf_trace *t, struct bf_capture *c, struct bf_error *err)
{
	const char *tool = bf_trace_meta_get(t, "tool"), *command;
	struct bf_capture_model *m = NULL;
	int rc = 0;

	if (tool && !strcmp(tool, "belfry exec"))
		rc = bf_capture_model_create(&m);
	rc = rc ? bf_fail(err, rc, "out of memory") : take_records(t, c, m, err);
	bf_capture_model_destroy(m);
	if (rc || c->count)
		return rc;
	command = bf_trace_meta_get(t, "command");
	if (!command)
		return bf_fail(err, -EBADMSG, "the trace holds no captured events");
	return bf_fail(err, -EBADMSG, "the trace of '%.100s' holds no captured events", command);
}
