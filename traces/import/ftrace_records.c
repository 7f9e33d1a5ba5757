/*
 * The events of a Linux NVMe trace as records, and back.
 */
#include "traces/records/ftrace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/import/ftrace_internal.h"
#include "traces/container/trace.h"

static void record(struct bf_stream *st, const struct bf_ftrace_event *ev)
{
	char name[48];
	uint32_t actor;

	snprintf(name, sizeof(name), "%s.q%" PRIu32, ev->ctrl, ev->qid);
	actor = bf_stream_actor(st, "queue", name);
	if (ev->kind == BF_FTRACE_SETUP) {
		const struct bf_rec_ftrace_setup r = { .qid = ev->qid,
						       .cid = ev->cid,
						       .opcode = ev->setup.opcode,
						       .nsid = bf_le32(ev->setup.sqe.nsid),
						       .fctype = ev->setup.fctype,
						       .side = ev->side,
						       .line = ev->line };

		bf_record(st, &bf_rec_ftrace_setup_schema, actor, &r, &ev->setup.sqe, sizeof(ev->setup.sqe));
	} else if (ev->kind == BF_FTRACE_SQ) {
		const struct bf_rec_ftrace_sq r = {
			.qid = ev->qid, .head = ev->sq.head, .tail = ev->sq.tail, .line = ev->line
		};

		bf_record(st, &bf_rec_ftrace_sq_schema, actor, &r, NULL, 0);
	} else if (ev->kind == BF_FTRACE_COMPLETE) {
		const struct bf_rec_ftrace_complete r = { .result = ev->complete.result,
							  .qid = ev->qid,
							  .cid = ev->cid,
							  .status = ev->complete.status,
							  .retries = ev->complete.retries,
							  .side = ev->side,
							  .line = ev->line };

		bf_record(st, &bf_rec_ftrace_complete_schema, actor, &r, NULL, 0);
	} else {
		const struct bf_rec_ftrace_aen r = { .event = ev->aen, .line = ev->line };

		bf_record(st, &bf_rec_ftrace_aen_schema, actor, &r, NULL, 0);
	}
}

int bf_ftrace_emit(const struct bf_ftrace *t, struct bf_sink *sink, struct bf_error *err)
{
	struct bf_stream st = { 0 };
	uint64_t clock_ps = 0;
	int rc = bf_stream_open(&st, &clock_ps, BF_CLASS_ALL, sink), closed;

	for (size_t i = 0; i < t->count && !rc; i++) {
		clock_ps = t->events[i].t_ns * 1000;
		record(&st, &t->events[i]);
		rc = st.status;
	}
	closed = bf_stream_close(&st);
	bf_stream_fini(&st);
	if (!rc)
		rc = closed;
	return rc ? bf_fail(err, rc, "cannot write the records: %s", strerror(-rc)) : 0;
}

/* ---- back ---- */

static uint64_t field(const struct bf_trace_record *rec, const char *name)
{
	uint64_t v = 0;

	bf_trace_field_u64(rec, name, &v);
	return v;
}

/* 1: an event; 0: another record; -EBADMSG. */
static int from_record(const struct bf_trace *trace, const struct bf_trace_record *rec, struct bf_ftrace_event *ev,
		       struct bf_error *err)
{
	static const char *const types[BF_FTRACE_KINDS] = { "ftrace_setup", "ftrace_sq", "ftrace_complete",
							    "ftrace_aen" };
	const char *name = bf_trace_actor_name(trace, rec->actor);
	const char *dot = strrchr(name, '.');
	int kind = 0;

	while (kind < BF_FTRACE_KINDS && strcmp(types[kind], rec->type->name) != 0)
		kind++;
	if (kind == BF_FTRACE_KINDS)
		return 0;
	*ev = (struct bf_ftrace_event){ .kind = (enum bf_ftrace_kind)kind, .t_ns = rec->time_ps / 1000 };
	snprintf(ev->ctrl, sizeof(ev->ctrl), "%.*s", dot && dot - name < 15 ? (int)(dot - name) : 15, name);
	ev->line = (uint32_t)field(rec, "line");
	ev->qid = (uint32_t)field(rec, "qid") & 0xffff;
	ev->cid = (uint32_t)field(rec, "cid") & 0xffff;
	ev->side = field(rec, "side") <= BF_FTRACE_BLOCK ? (enum bf_ftrace_side)field(rec, "side") : BF_FTRACE_HOST;
	if (kind == BF_FTRACE_SETUP) {
		if (rec->tail_len != sizeof(ev->setup.sqe))
			return bf_fail(err, -EBADMSG, "record %" PRIu64 " (%s) has %" PRIu32 " bytes, a command has 64",
				       rec->number, rec->type->name, rec->tail_len);
		memcpy(&ev->setup.sqe, rec->tail, sizeof(ev->setup.sqe));
		ev->setup.opcode = (uint32_t)field(rec, "opcode") & 0xff;
		ev->setup.fctype = (int32_t)field(rec, "fctype");
	} else if (kind == BF_FTRACE_SQ) {
		ev->sq.head = (uint32_t)field(rec, "head") & 0xffff;
		ev->sq.tail = (uint32_t)field(rec, "tail") & 0xffff;
	} else if (kind == BF_FTRACE_COMPLETE) {
		ev->complete.result = field(rec, "result");
		ev->complete.status = (uint32_t)field(rec, "status") & 0xffff;
		ev->complete.retries = (uint32_t)field(rec, "retries");
	} else {
		ev->aen = (uint32_t)field(rec, "event");
	}
	return 1;
}

int bf_ftrace_from_trace(struct bf_trace *trace, struct bf_ftrace **out, struct bf_error *err)
{
	struct bf_ftrace *t = calloc(1, sizeof(*t));
	struct bf_trace_record rec;
	int rc;

	*out = t;
	if (!t)
		return bf_fail(err, -ENOMEM, "out of memory");
	while ((rc = bf_trace_next(trace, &rec)) > 0) {
		struct bf_ftrace_event ev;

		rc = from_record(trace, &rec, &ev, err);
		if (rc > 0)
			rc = bf_ftrace_append(t, &ev, err);
		if (rc < 0)
			break;
	}
	if (!rc && t->count == 0)
		rc = bf_fail(err, -EBADMSG, "the trace holds no NVMe commands");
	return rc;
}
