/*
 * The events of a Linux NVMe trace as records.
 */
#include "traces/ftrace_records.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "traces/ftrace.h"

#define F(type, name, kind, unit) BF_RECORD_FIELD_(ftrace_setup, type, name, kind, unit)
BF_RECORD_DEFINE(ftrace_setup, BF_REC_FTRACE_SETUP_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ftrace_sq, type, name, kind, unit)
BF_RECORD_DEFINE(ftrace_sq, BF_REC_FTRACE_SQ_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ftrace_complete, type, name, kind, unit)
BF_RECORD_DEFINE(ftrace_complete, BF_REC_FTRACE_COMPLETE_FIELDS(F));
#undef F
#define F(type, name, kind, unit) BF_RECORD_FIELD_(ftrace_aen, type, name, kind, unit)
BF_RECORD_DEFINE(ftrace_aen, BF_REC_FTRACE_AEN_FIELDS(F));
#undef F

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
	bf_stream_free(&st);
	if (!rc)
		rc = closed;
	return rc ? bf_fail(err, rc, "cannot write the records: %s", strerror(-rc)) : 0;
}
