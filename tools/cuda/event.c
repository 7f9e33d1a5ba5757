/* Events: a place in a stream, the time when it was reached, and streams that wait for it. */
#include <stdlib.h>

#include "tools/cuda/driver_internal.h"

#define EVENT_MAGIC 0x746e7665u

int cuEventCreate(CUevent *out, unsigned flags)
{
	struct bf_cu_context *c;
	struct bf_cu_event *e;
	const int rc = bf_cu_enter(&c);

	if (rc || !out || flags & ~7u)
		return rc ? rc : BF_CU_INVALID_VALUE;
	if (flags & 4)
		return bf_cu_unsupported("events for other processes");
	e = calloc(1, sizeof(*e));
	if (!e)
		return BF_CU_OUT_OF_MEMORY;
	e->magic = EVENT_MAGIC;
	e->flags = flags;
	e->timed = !(flags & 2);
	e->device = c->device;
	*out = e;
	return BF_CU_OK;
}

bool bf_cu_is_event(const struct bf_cu_event *e)
{
	return e && e->magic == EVENT_MAGIC;
}

int cuEventDestroy_v2(CUevent e)
{
	if (!bf_cu_is_event(e))
		return BF_CU_INVALID_HANDLE;
	bf_cu_lock();
	e->magic = 0;
	free(e->captured);
	e->captured = NULL;
	if (!e->refs)
		free(e);
	bf_cu_unlock();
	return BF_CU_OK;
}

void bf_cu_event_drop(struct bf_cu_event *e)
{
	if (!--e->refs && !e->magic)
		free(e);
}

void bf_cu_event_put(struct bf_cu_event *e, struct bf_cu_op *op, struct bf_cu_stream *s)
{
	op->event.event = e;
	op->event.round = ++e->recorded;
	e->stream = s;
	e->number = s->queued + 1;
	e->capture = 0;
}

/* Flag 1: in a captured stream it is the graph that records it, each time. */
int cuEventRecordWithFlags(CUevent e, CUstream handle, unsigned flags)
{
	struct bf_cu_stream *s;
	struct bf_cu_op *op;
	int rc;

	if (!bf_cu_is_event(e) || flags & ~1u)
		return flags & ~1u ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	rc = bf_cu_enter_stream(handle, &s);
	if (rc)
		return rc;
	if (s->capture && !flags) {
		rc = bf_cu_capture_record(s, e);
		bf_cu_unlock();
		return rc;
	}
	rc = s->capture ? BF_CU_OK : bf_cu_capture_legacy(s);
	op = rc ? NULL : bf_cu_op_make(BF_CU_OP_RECORD, 0);
	if (op) {
		op->event.event = e;
		e->refs++;
		if (!s->capture)
			bf_cu_event_put(e, op, s);
		rc = bf_cu_enqueue(s, op);
	} else if (!rc) {
		rc = BF_CU_OUT_OF_MEMORY;
	}
	bf_cu_unlock();
	return rc;
}

int cuEventRecord(CUevent e, CUstream handle)
{
	return cuEventRecordWithFlags(e, handle, 0);
}

/* Whether it may be asked about: then the lock is held. */
static int enter_to_look(CUevent e)
{
	int rc;

	if (!bf_cu_is_event(e))
		return BF_CU_INVALID_HANDLE;
	rc = e->capture ? BF_CU_OK : bf_cu_capture_unsafe();
	if (rc)
		return rc;
	bf_cu_lock();
	rc = bf_cu_capture_event(e);
	if (rc)
		bf_cu_unlock();
	return rc;
}

int cuEventQuery(CUevent e)
{
	int rc = enter_to_look(e);

	if (rc)
		return rc;
	bf_cu_advance();
	rc = bf_cu_check(e->device);
	if (!rc && e->completed < e->recorded)
		rc = BF_CU_NOT_READY;
	bf_cu_unlock();
	if (rc == BF_CU_NOT_READY)
		bf_cu_rest();
	return rc;
}

int cuEventSynchronize(CUevent e)
{
	int rc = enter_to_look(e);

	if (rc)
		return rc;
	if (e->completed < e->recorded)
		rc = bf_cu_wait_number(e->stream, e->number);
	else
		rc = bf_cu_check(e->device);
	bf_cu_unlock();
	bf_cu_print();
	return rc;
}

int cuEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	int rc = BF_CU_OK;

	if (!ms || !bf_cu_is_event(from) || !bf_cu_is_event(to) || !from->timed || !to->timed || !from->recorded ||
	    !to->recorded)
		return BF_CU_INVALID_HANDLE;
	bf_cu_lock();
	bf_cu_advance();
	if (from->completed < from->recorded || to->completed < to->recorded)
		rc = BF_CU_NOT_READY;
	else
		*ms = (float)((double)(int64_t)(to->when_ns - from->when_ns) / 1e6);
	bf_cu_unlock();
	return rc;
}

int cuEventElapsedTime_v2(float *ms, CUevent from, CUevent to)
{
	return cuEventElapsedTime(ms, from, to);
}

/*
 * What comes later in the stream waits for what was in the event's stream when it was recorded. Flag 1: in a captured
 * stream it is the graph that waits, each time.
 */
int cuStreamWaitEvent(CUstream handle, CUevent e, unsigned flags)
{
	struct bf_cu_stream *s;
	struct bf_cu_op *op;
	int rc;

	if (!bf_cu_is_event(e) || flags & ~1u)
		return flags & ~1u ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	rc = bf_cu_enter_stream(handle, &s);
	if (rc)
		return rc;
	if ((s->capture && !flags) || e->capture) {
		rc = bf_cu_capture_wait(s, e);
		bf_cu_unlock();
		return rc;
	}
	op = bf_cu_op_make(s->capture ? BF_CU_OP_WAIT_EVENT : BF_CU_OP_NOTHING, 0);
	if (!op) {
		bf_cu_unlock();
		return BF_CU_OUT_OF_MEMORY;
	}
	op->stream = s;
	if (s->capture) {
		op->event.event = e;
		e->refs++;
	} else if (e->stream && e->completed < e->recorded) {
		rc = bf_cu_op_after(op, e->stream, e->number);
	}
	if (rc)
		free(op);
	else
		rc = bf_cu_enqueue(s, op);
	bf_cu_unlock();
	return rc;
}
