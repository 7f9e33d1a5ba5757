/*
 * Events: a place in a stream, the time when it was reached, and streams that wait for it. Those for other processes
 * count their rounds in memory that all of them map.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tools/cuda/driver_internal.h"

#define EVENT_MAGIC 0x746e7665u
#define IPC_MAGIC 0x65706962u
#define SHARED_BYTES 4096u

enum { NO_TIMES = 2, FOR_OTHERS = 4 };

/* How often who waits for another process looks. */
#define LOOK_NS 20000u

static int map_shared(struct bf_cu_event *e, int fd)
{
	void *at = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return BF_CU_OPERATING_SYSTEM;
	e->shared = at;
	return BF_CU_OK;
}

static int make_shared(struct bf_cu_event *e)
{
	int rc;

	e->fd = memfd_create("belfry-event", MFD_CLOEXEC);
	if (e->fd < 0)
		return BF_CU_OPERATING_SYSTEM;
	rc = ftruncate(e->fd, SHARED_BYTES) ? BF_CU_OPERATING_SYSTEM : map_shared(e, e->fd);
	if (rc)
		close(e->fd);
	return rc;
}

static void free_event(struct bf_cu_event *e)
{
	if (e->shared && !e->waited)
		munmap(e->shared, SHARED_BYTES);
	if (e->fd >= 0)
		close(e->fd);
	free(e);
}

/* The round that was recorded last, and the last that is over, in whatever process. */
static uint64_t recorded(const struct bf_cu_event *e)
{
	return e->shared ? __atomic_load_n(&e->shared->recorded, __ATOMIC_ACQUIRE) : e->recorded;
}

static uint64_t completed(const struct bf_cu_event *e)
{
	return e->shared ? __atomic_load_n(&e->shared->completed, __ATOMIC_ACQUIRE) : e->completed;
}

int cuEventCreate(CUevent *out, unsigned flags)
{
	struct bf_cu_context *c;
	struct bf_cu_event *e;
	const int rc = bf_cu_enter(&c);

	if (rc || !out || flags & ~7u)
		return rc ? rc : BF_CU_INVALID_VALUE;
	if (flags & FOR_OTHERS && !(flags & NO_TIMES))
		return BF_CU_INVALID_VALUE;
	e = calloc(1, sizeof(*e));
	if (!e)
		return BF_CU_OUT_OF_MEMORY;
	e->fd = -1;
	if (flags & FOR_OTHERS && make_shared(e)) {
		free(e);
		return BF_CU_OPERATING_SYSTEM;
	}
	e->magic = EVENT_MAGIC;
	e->flags = flags;
	e->timed = !(flags & NO_TIMES);
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
	e->captured_cap = 0;
	if (!e->refs)
		free_event(e);
	bf_cu_unlock();
	return BF_CU_OK;
}

void bf_cu_event_drop(struct bf_cu_event *e)
{
	if (!--e->refs && !e->magic)
		free_event(e);
}

void bf_cu_event_complete(struct bf_cu_event *e, uint64_t round, uint64_t now_ns)
{
	if (round <= completed(e))
		return;
	e->completed = round;
	e->when_ns = now_ns;
	if (e->shared)
		__atomic_store_n(&e->shared->completed, round, __ATOMIC_RELEASE);
}

void bf_cu_event_put(struct bf_cu_event *e, struct bf_cu_op *op, struct bf_cu_stream *s)
{
	op->event.event = e;
	if (e->shared)
		e->recorded = __atomic_add_fetch(&e->shared->recorded, 1, __ATOMIC_ACQ_REL);
	else
		e->recorded++;
	op->event.round = e->recorded;
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
	if (!rc && completed(e) < recorded(e))
		rc = BF_CU_NOT_READY;
	bf_cu_unlock();
	if (rc == BF_CU_NOT_READY)
		bf_cu_rest();
	return rc;
}

/* Another process recorded it: it says so in memory, and nobody wakes who waits. */
static int wait_for_other(struct bf_cu_event *e)
{
	const uint64_t round = recorded(e);
	int rc;

	while (!(rc = bf_cu_check(e->device)) && completed(e) < round && !bf_cu.ended) {
		const uint32_t seen = __atomic_load_n(&bf_cu.word, __ATOMIC_ACQUIRE);

		bf_cu_advance();
		bf_cu_unlock();
		bf_cu.machine->wait(&bf_cu.word, seen, LOOK_NS);
		bf_cu_lock();
	}
	return rc;
}

int cuEventSynchronize(CUevent e)
{
	int rc = enter_to_look(e);

	if (rc)
		return rc;
	if (e->shared && recorded(e) != e->recorded)
		rc = wait_for_other(e);
	else if (e->completed < e->recorded)
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
	if (s->capture && flags && e->shared) {
		bf_cu_unlock();
		return bf_cu_unsupported("events of other processes in graphs");
	}
	if ((s->capture && !flags) || e->capture) {
		rc = bf_cu_capture_wait(s, e);
		bf_cu_unlock();
		return rc;
	}
	op = bf_cu_op_make(s->capture ? BF_CU_OP_WAIT_EVENT : BF_CU_OP_NOTHING, 0);
	if (op && !s->capture && e->shared && recorded(e) != e->recorded) {
		op->kind = BF_CU_OP_WAIT; /* until the word has at least this */
		op->word.at = (uintptr_t)&e->shared->completed;
		op->word.value = recorded(e);
		op->word.bytes = 8;
		e->waited = true;
		rc = bf_cu_enqueue(s, op);
		bf_cu_unlock();
		return rc;
	}
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

/* ---- for other processes ---- */

/* What a handle's bytes are. */
struct ipc {
	uint32_t magic, pid;
	int32_t fd;
};

int cuIpcGetEventHandle(struct bf_cu_ipc *out, CUevent e)
{
	struct ipc ipc = { .magic = IPC_MAGIC, .pid = (uint32_t)getpid() };

	if (!out || !bf_cu_is_event(e) || e->fd < 0)
		return out && bf_cu_is_event(e) ? BF_CU_INVALID_VALUE : BF_CU_INVALID_HANDLE;
	ipc.fd = e->fd;
	memset(out, 0, sizeof(*out));
	memcpy(out->bytes, &ipc, sizeof(ipc));
	return BF_CU_OK;
}

int cuIpcOpenEventHandle(CUevent *out, struct bf_cu_ipc handle)
{
	struct bf_cu_context *c;
	struct bf_cu_event *e;
	struct ipc ipc;
	int fd, rc = bf_cu_enter(&c);

	memcpy(&ipc, handle.bytes, sizeof(ipc));
	if (rc || !out || ipc.magic != IPC_MAGIC)
		return rc ? rc : BF_CU_INVALID_VALUE;
	rc = bf_cu_ipc_open(ipc.pid, ipc.fd, &fd);
	if (rc)
		return rc;
	e = calloc(1, sizeof(*e));
	rc = e ? map_shared(e, fd) : BF_CU_OUT_OF_MEMORY;
	close(fd);
	if (rc) {
		free(e);
		return rc;
	}
	e->magic = EVENT_MAGIC;
	e->fd = -1;
	e->flags = NO_TIMES | FOR_OTHERS;
	e->device = c->device;
	*out = e;
	return BF_CU_OK;
}
