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

static bool is_event(const struct bf_cu_event *e)
{
	return e && e->magic == EVENT_MAGIC;
}

int cuEventDestroy_v2(CUevent e)
{
	if (!is_event(e))
		return BF_CU_INVALID_HANDLE;
	bf_cu_lock();
	e->magic = 0;
	if (!e->refs)
		free(e);
	bf_cu_unlock();
	return BF_CU_OK;
}

int cuEventRecordWithFlags(CUevent e, CUstream handle, unsigned flags)
{
	struct bf_cu_stream *s;
	struct bf_cu_op *op;
	int rc;

	(void)flags;
	if (!is_event(e))
		return BF_CU_INVALID_HANDLE;
	rc = bf_cu_enter_stream(handle, &s);
	if (rc)
		return rc;
	op = bf_cu_op_make(BF_CU_OP_RECORD, 0);
	if (op) {
		op->event.event = e;
		op->event.round = ++e->recorded;
		e->refs++;
		e->stream = s;
		e->number = s->queued + 1;
		rc = bf_cu_enqueue(s, op);
	}
	bf_cu_unlock();
	return op ? rc : BF_CU_OUT_OF_MEMORY;
}

int cuEventRecord(CUevent e, CUstream handle)
{
	return cuEventRecordWithFlags(e, handle, 0);
}

int cuEventQuery(CUevent e)
{
	int rc;

	if (!is_event(e))
		return BF_CU_INVALID_HANDLE;
	bf_cu_lock();
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
	int rc = BF_CU_OK;

	if (!is_event(e))
		return BF_CU_INVALID_HANDLE;
	bf_cu_lock();
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

	if (!ms || !is_event(from) || !is_event(to) || !from->timed || !to->timed || !from->recorded || !to->recorded)
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

/* What comes later in the stream waits for what was in the event's stream when it was recorded. */
int cuStreamWaitEvent(CUstream handle, CUevent e, unsigned flags)
{
	struct bf_cu_stream *s;
	struct bf_cu_op *op;
	int rc;

	(void)flags;
	if (!is_event(e))
		return BF_CU_INVALID_HANDLE;
	rc = bf_cu_enter_stream(handle, &s);
	if (rc)
		return rc;
	op = bf_cu_op_make(BF_CU_OP_WAIT_EVENT, 0);
	if (!op) {
		bf_cu_unlock();
		return BF_CU_OUT_OF_MEMORY;
	}
	op->stream = s;
	if (e->stream && e->completed < e->recorded)
		rc = bf_cu_op_after(op, e->stream, e->number);
	if (rc)
		free(op);
	else
		rc = bf_cu_enqueue(s, op);
	bf_cu_unlock();
	return rc;
}
