/* A timeline as protobuf: a message is put together in a buffer, because its length stands before it. */
#include "traces/export/perfetto.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"

/* Field numbers. */
enum { TRACE_PACKET = 1 };
enum { PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_TRACK_EVENT = 11, PACKET_TRACK_DESCRIPTOR = 60 };
enum { TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_PARENT = 5, TRACK_COUNTER = 8 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum {
	EVENT_ANNOTATION = 4,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_CATEGORY = 22,
	EVENT_NAME = 23,
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOW = 47,
};
enum { TYPE_BEGIN = 1, TYPE_END = 2, TYPE_INSTANT = 3, TYPE_COUNTER = 4 };
enum { ANNOTATION_UINT = 3, ANNOTATION_INT = 4, ANNOTATION_STRING = 6, ANNOTATION_POINTER = 7, ANNOTATION_NAME = 10 };

#define SEQUENCE 1u
#define COUNTER_UUID (1ull << 32) /* counters' tracks are numbered from here on, others from 1 */

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2 };

struct message {
	uint8_t *bytes;
	size_t len, cap;
	bool failed;
};

struct perfetto {
	struct bf_timeline_out out;
	struct message packet, event, inner;
	FILE *file;
	struct bf_error *err;
	struct bf_perfetto_result result;
};

/* ---- protobuf ---- */

static void put_bytes(struct message *m, const void *bytes, size_t len)
{
	if (BF_GROW(m->bytes, m->cap, m->len + len)) {
		m->failed = true;
		return;
	}
	memcpy(m->bytes + m->len, bytes, len);
	m->len += len;
}

static void put_varint(struct message *m, uint64_t v)
{
	uint8_t out[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		out[n++] = (uint8_t)(v | 0x80);
	out[n++] = (uint8_t)v;
	put_bytes(m, out, n);
}

static void put_tag(struct message *m, unsigned field, enum wire wire)
{
	put_varint(m, (uint64_t)field << 3 | wire);
}

static void put_number(struct message *m, unsigned field, uint64_t v)
{
	put_tag(m, field, VARINT);
	put_varint(m, v);
}

static void put_fixed64(struct message *m, unsigned field, uint64_t v)
{
	uint8_t out[8];

	for (unsigned i = 0; i < 8; i++)
		out[i] = (uint8_t)(v >> 8 * i);
	put_tag(m, field, FIXED64);
	put_bytes(m, out, sizeof(out));
}

static void put_text(struct message *m, unsigned field, const char *text, size_t len)
{
	put_tag(m, field, BYTES);
	put_varint(m, len);
	put_bytes(m, text, len);
}

/* `inner` as a field of `m`; it is empty afterwards. */
static void put_message(struct message *m, unsigned field, struct message *inner)
{
	put_text(m, field, (const char *)inner->bytes, inner->len);
	m->failed |= inner->failed;
	inner->len = 0;
}

static int write_packet(struct perfetto *p)
{
	uint8_t head[12] = { TRACE_PACKET << 3 | BYTES };
	size_t n = 1;
	const bool failed = p->packet.failed;

	put_number(&p->packet, PACKET_SEQUENCE, SEQUENCE);
	for (size_t len = p->packet.len;; len >>= 7) {
		head[n++] = (uint8_t)(len >= 0x80 ? len | 0x80 : len);
		if (len < 0x80)
			break;
	}
	if (failed || p->packet.failed)
		return bf_fail(p->err, -ENOMEM, "out of memory for a packet of the trace");
	if (fwrite(head, 1, n, p->file) != n || fwrite(p->packet.bytes, 1, p->packet.len, p->file) != p->packet.len)
		return bf_fail(p->err, -EIO, "cannot write the trace: %s", strerror(errno));
	p->packet.len = 0;
	return 0;
}

/* ---- tracks ---- */

static int add_track(struct bf_timeline_out *o, uint32_t track, uint32_t parent, const char *kind, const char *name)
{
	struct perfetto *p = (struct perfetto *)o;

	(void)kind;
	put_number(&p->event, TRACK_UUID, track);
	if (parent) {
		put_text(&p->event, TRACK_NAME, name, strlen(name));
		put_number(&p->event, TRACK_PARENT, parent);
	} else {
		put_number(&p->inner, PROCESS_PID, track);
		put_text(&p->inner, PROCESS_NAME, name, strlen(name));
		put_message(&p->event, TRACK_PROCESS, &p->inner);
	}
	put_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->event);
	p->result.tracks++;
	return write_packet(p);
}

static int add_signal(struct bf_timeline_out *o, uint32_t signal, uint32_t track, const char *name, uint32_t bits)
{
	struct perfetto *p = (struct perfetto *)o;

	(void)bits;
	put_number(&p->event, TRACK_UUID, COUNTER_UUID + signal);
	put_text(&p->event, TRACK_NAME, name, strlen(name));
	put_number(&p->event, TRACK_PARENT, track);
	put_message(&p->event, TRACK_COUNTER, &p->inner);
	put_message(&p->packet, PACKET_TRACK_DESCRIPTOR, &p->event);
	p->result.tracks++;
	return write_packet(p);
}

/* ---- events ---- */

/* Puts the event into a packet of its time and writes that. */
static int write_event(struct perfetto *p, uint64_t time_ps)
{
	put_number(&p->packet, PACKET_TIMESTAMP, time_ps / 1000);
	put_message(&p->packet, PACKET_TRACK_EVENT, &p->event);
	return write_packet(p);
}

static int add_value(struct bf_timeline_out *o, uint32_t signal, uint64_t time_ps, uint64_t value)
{
	struct perfetto *p = (struct perfetto *)o;

	put_number(&p->event, EVENT_TYPE, TYPE_COUNTER);
	put_number(&p->event, EVENT_TRACK, COUNTER_UUID + signal);
	put_number(&p->event, EVENT_COUNTER_VALUE, value);
	p->result.events++;
	return write_event(p, time_ps);
}

static void annotate(struct perfetto *p, const char *name, unsigned kind, uint64_t value)
{
	put_text(&p->inner, ANNOTATION_NAME, name, strlen(name));
	put_number(&p->inner, kind, value);
	put_message(&p->event, EVENT_ANNOTATION, &p->inner);
}

static void annotate_text(struct perfetto *p, const char *name, const char *text, size_t len)
{
	put_text(&p->inner, ANNOTATION_NAME, name, strlen(name));
	put_text(&p->inner, ANNOTATION_STRING, text, len);
	put_message(&p->event, EVENT_ANNOTATION, &p->inner);
}

static void annotate_record(struct perfetto *p, const struct bf_trace_record *rec)
{
	for (uint16_t i = 0; i < rec->type->nfields; i++) {
		const struct bf_rec_field *f = &rec->type->fields[i];
		const char *text = (const char *)rec->fixed + f->offset;
		size_t len;

		if (f->kind == BF_FIELD_TEXT)
			annotate_text(p, f->name, text, strnlen(text, f->size));
		else if (f->kind == BF_FIELD_ENUM && (text = bf_field_enum_name(f, bf_field_u64(f, rec->fixed), &len)))
			annotate_text(p, f->name, text, len);
		else
			annotate(p, f->name,
				 f->kind == BF_FIELD_HEX   ? ANNOTATION_POINTER
				 : f->kind == BF_FIELD_INT ? ANNOTATION_INT
							   : ANNOTATION_UINT,
				 bf_field_u64(f, rec->fixed));
	}
}

static int begin_or_instant(struct perfetto *p, const struct bf_timeline_item *it)
{
	put_number(&p->event, EVENT_TYPE, it->span ? TYPE_BEGIN : TYPE_INSTANT);
	put_number(&p->event, EVENT_TRACK, it->track);
	put_text(&p->event, EVENT_NAME, it->name, strlen(it->name));
	if (it->bad)
		put_text(&p->event, EVENT_CATEGORY, "error", 5);
	if (it->flow)
		put_fixed64(&p->event, EVENT_FLOW, it->flow);
	annotate(p, "begin_ps", ANNOTATION_UINT, it->begin_ps);
	if (it->span)
		annotate(p, "end_ps", ANNOTATION_UINT, it->end_ps);
	annotate(p, "record", ANNOTATION_UINT, it->first);
	if (it->rec)
		annotate_record(p, it->rec);
	p->result.events++;
	return write_event(p, it->begin_ps);
}

static int add_item(struct bf_timeline_out *o, const struct bf_timeline_item *it)
{
	struct perfetto *p = (struct perfetto *)o;
	int rc = begin_or_instant(p, it);

	/* Without a record it never ended, and the slice stays open. */
	if (rc || !it->span || !it->rec)
		return rc;
	put_number(&p->event, EVENT_TYPE, TYPE_END);
	put_number(&p->event, EVENT_TRACK, it->track);
	return write_event(p, it->end_ps);
}

int bf_perfetto_export(struct bf_trace *t, const struct bf_timeline_options *options, FILE *out,
		       struct bf_perfetto_result *result, struct bf_error *err)
{
	struct perfetto p = {
		.out = { .track = add_track, .item = add_item, .signal = add_signal, .value = add_value },
		.file = out,
		.err = err,
	};
	int rc = bf_timeline_read(t, options, &p.out, err);

	free(p.packet.bytes);
	free(p.event.bytes);
	free(p.inner.bytes);
	if (result)
		*result = p.result;
	return rc;
}
