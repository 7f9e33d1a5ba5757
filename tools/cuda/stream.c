/*
 * Streams: queues of operations on the wall clock.
 *
 * An operation begins when the one before it in its stream has ended, and those of other streams that it waits for.
 * Kernels go to the machine as soon as only kernels are before them, which it keeps in order by itself. Whoever waits
 * for a stream lets its operations go on, and runs the machine meanwhile; when nobody waits, a thread does it.
 * Functions of the program have a thread of their own, since they may take as long as they like.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sim/grow.h"
#include "tools/cuda/graph.h"

/* How long a wait lasts at most before memory that streams wait for is looked at again; and without such. */
#define LOOK_NS 20000u
#define WAIT_NS 1000000u

static struct {
	struct bf_cu_stream **all; /* of all contexts */
	uint32_t count, cap, ids;
	uint32_t unstarted;  /* operations that have not begun */
	uint32_t words;      /* among them those that look at memory */
	uint32_t waiting;    /* threads in bf_cu_wait_*() */
	bool started, ended; /* the two threads */
	pthread_cond_t work, call;
	struct bf_cu_op *first_call, *last_call; /* functions of the program for the thread that calls them */
} streams = { .work = PTHREAD_COND_INITIALIZER, .call = PTHREAD_COND_INITIALIZER };

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Somebody may go on. Without any lock. */
static void signal_word(void)
{
	__atomic_add_fetch(&bf_cu.word, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &bf_cu.word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* ---- streams ---- */

/* One that was destroyed and has done all that it had. Who still has its numbers finds them passed. */
static struct bf_cu_stream *used_before(const struct bf_cu_context *c)
{
	for (uint32_t i = 0; i < streams.count; i++) {
		struct bf_cu_stream *s = streams.all[i];

		if (s->dead && !s->head && !s->capture && s->context == c)
			return s;
	}
	return NULL;
}

struct bf_cu_stream *bf_cu_stream_make(struct bf_cu_context *c, unsigned flags, int priority)
{
	struct bf_cu_stream *s = used_before(c);

	if (s) {
		s->dead = false;
		s->flags = flags;
		s->priority = priority;
		return s;
	}
	s = calloc(1, sizeof(*s));
	if (!s || BF_GROW(streams.all, streams.cap, streams.count + 1)) {
		free(s);
		return NULL;
	}
	s->context = c;
	s->flags = flags;
	s->priority = priority;
	s->id = ++streams.ids;
	s->tail = &s->head;
	streams.all[streams.count++] = s;
	return s;
}

void bf_cu_each_stream(void (*fn)(struct bf_cu_stream *s, void *arg), void *arg)
{
	for (uint32_t i = 0; i < streams.count; i++)
		fn(streams.all[i], arg);
}

bool bf_cu_is_stream(const struct bf_cu_stream *s)
{
	for (uint32_t i = 0; i < streams.count; i++)
		if (streams.all[i] == s)
			return !s->dead;
	return false;
}

/* The default stream of a thread, one for each device. */
static struct bf_cu_stream *of_thread(struct bf_cu_context *c)
{
	static _Thread_local struct bf_cu_stream *own[BF_EXEC_GPUS_MAX];

	if (!own[c->device]) {
		own[c->device] = bf_cu_stream_make(c, 0, 0);
		if (own[c->device])
			own[c->device]->per_thread = true;
	}
	return own[c->device];
}

struct bf_cu_stream *bf_cu_stream_of(CUstream handle, struct bf_cu_context *c)
{
	if (!handle && bf_cu_per_thread)
		handle = BF_CU_STREAM_THREAD;
	if (!handle || handle == BF_CU_STREAM_LEGACY)
		return c->legacy;
	if (handle == BF_CU_STREAM_THREAD)
		return of_thread(c);
	return bf_cu_is_stream(handle) ? handle : NULL;
}

int bf_cu_enter_stream(CUstream handle, struct bf_cu_stream **out)
{
	struct bf_cu_context *c;
	int rc = bf_cu_enter(&c);

	*out = NULL;
	if (rc)
		return rc;
	bf_cu_lock();
	*out = bf_cu_stream_of(handle, c);
	if (!*out)
		bf_cu_unlock();
	return *out ? BF_CU_OK : BF_CU_INVALID_HANDLE;
}

/* ---- operations ---- */

struct bf_cu_op *bf_cu_op_make(enum bf_cu_op_kind kind, size_t extra)
{
	struct bf_cu_op *op = calloc(1, sizeof(*op) + extra);

	if (op)
		op->kind = kind;
	return op;
}

static bool done(const struct bf_cu_op *op)
{
	return __atomic_load_n(&op->state, __ATOMIC_ACQUIRE) == BF_CU_OP_DONE;
}

/* From the machine, under its lock: nothing but the word. */
static void kernel_ended(void *arg, bool failed)
{
	struct bf_cu_op *op = arg;

	(void)failed;
	__atomic_store_n(&op->state, BF_CU_OP_DONE, __ATOMIC_RELEASE);
	signal_word();
}

int bf_cu_op_after(struct bf_cu_op *op, struct bf_cu_stream *s, uint64_t number)
{
	if (s == op->stream || s->done >= number)
		return BF_CU_OK;
	if (BF_GROW(op->after, op->after_cap, op->after_count + 1))
		return BF_CU_OUT_OF_MEMORY;
	op->after[op->after_count].stream = s;
	op->after[op->after_count++].number = number;
	return BF_CU_OK;
}

/* The legacy stream waits for all streams of its context that are not non-blocking, and they wait for it. */
static int after_default(struct bf_cu_op *op)
{
	struct bf_cu_stream *s = op->stream, *legacy = s->context->legacy;
	int rc = BF_CU_OK;

	if (s != legacy)
		return s->flags & 1 ? BF_CU_OK : bf_cu_op_after(op, legacy, legacy->queued);
	for (uint32_t i = 0; !rc && i < streams.count; i++)
		if (streams.all[i]->context == s->context && !(streams.all[i]->flags & 1))
			rc = bf_cu_op_after(op, streams.all[i], streams.all[i]->queued);
	return rc;
}

static bool others_done(const struct bf_cu_op *op)
{
	for (uint32_t i = 0; i < op->after_count; i++)
		if (op->after[i].stream->done < op->after[i].number)
			return false;
	return true;
}

/* ---- doing them ---- */

static void start_kernel(struct bf_cu_op *op)
{
	const struct bf_cu_function *f = op->kernel.fn;
	const int device = op->stream->context->device;
	struct bf_ptx_library *lib;
	char why[1024] = "";
	int rc = bf_cu_load(f->module, device, &lib);

	op->kernel.launch.done = kernel_ended;
	op->kernel.launch.arg = op;
	op->kernel.launch.stream = op->stream->id;
	if (!rc)
		rc = bf_cu.machine->launch((uint32_t)device, lib, &op->kernel.launch, why, sizeof(why));
	if (!rc)
		return;
	if (why[0] && !bf_cu.device[device].fault && !bf_cu.machine->fault((uint32_t)device))
		bf_cu_say("%s", why);
	if (!bf_cu.device[device].fault)
		bf_cu.device[device].fault = rc == -ENOSPC ? BF_CU_LAUNCH_OUT_OF_RESOURCES : BF_CU_LAUNCH_FAILED;
	__atomic_store_n(&op->state, BF_CU_OP_DONE, __ATOMIC_RELEASE);
}

static void fill(const struct bf_cu_op *op)
{
	for (size_t y = 0; y < op->fill.height; y++) {
		uint8_t *row = (uint8_t *)(uintptr_t)op->fill.at + y * op->fill.pitch;

		if (op->fill.size == 1)
			memset(row, (int)op->fill.value, op->fill.width);
		else
			for (size_t x = 0; x < op->fill.width; x++)
				memcpy(row + x * op->fill.size, &op->fill.value, op->fill.size);
	}
}

static void record(const struct bf_cu_op *op)
{
	struct bf_cu_event *e = op->event.event;

	bf_cu_event_complete(e, op->event.round, clock_ns());
	bf_cu_event_drop(e);
}

static bool word_is_there(const struct bf_cu_op *op)
{
	const uint64_t mask = op->word.bytes == 4 ? UINT32_MAX : UINT64_MAX;
	const uint64_t now = op->word.bytes == 4
				 ? __atomic_load_n((const uint32_t *)(uintptr_t)op->word.at, __ATOMIC_ACQUIRE)
				 : __atomic_load_n((const uint64_t *)(uintptr_t)op->word.at, __ATOMIC_ACQUIRE);
	const uint64_t value = op->word.value & mask;

	switch (op->word.flags & 3) {
	case 0: /* at least, as a difference with a sign */
		return op->word.bytes == 4 ? (int32_t)(uint32_t)(now - value) >= 0 : (int64_t)(now - value) >= 0;
	case 1:
		return now == value;
	case 2:
		return (now & value) != 0;
	default:
		return (~(now | value) & mask) != 0;
	}
}

static void hand_to_caller(struct bf_cu_op *op)
{
	op->state = BF_CU_OP_STARTED;
	if (streams.first_call)
		streams.last_call->next_call = op;
	else
		streams.first_call = op;
	streams.last_call = op;
	pthread_cond_signal(&streams.call);
}

/* What a device that died leaves undone: only what others wait for. */
static void start(struct bf_cu_op *op)
{
	const bool dead = bf_cu.device[op->stream->context->device].fault != 0;

	op->state = BF_CU_OP_STARTED;
	switch (op->kind) {
	case BF_CU_OP_KERNEL:
		if (!dead) {
			start_kernel(op);
			return;
		}
		break;
	case BF_CU_OP_COPY:
		if (!dead && bf_cu_copy_now(&op->copy))
			bf_cu_say("a copy of %zu bytes from or to an address that is not there", op->copy.width);
		break;
	case BF_CU_OP_FILL:
		if (!dead)
			fill(op);
		break;
	case BF_CU_OP_WRITE:
		if (op->word.bytes == 4)
			__atomic_store_n((uint32_t *)(uintptr_t)op->word.at, (uint32_t)op->word.value,
					 __ATOMIC_RELEASE);
		else
			__atomic_store_n((uint64_t *)(uintptr_t)op->word.at, op->word.value, __ATOMIC_RELEASE);
		break;
	case BF_CU_OP_RECORD:
		record(op);
		break;
	case BF_CU_OP_FREE:
		bf_cu_give_back(op->free);
		break;
	case BF_CU_OP_HOST:
		hand_to_caller(op);
		return;
	case BF_CU_OP_CONDITION:
		streams.unstarted++; /* somebody has to ask again */
		return;
	case BF_CU_OP_WAIT_EVENT:
	case BF_CU_OP_WAIT:
	case BF_CU_OP_NOTHING:
		break;
	}
	__atomic_store_n(&op->state, BF_CU_OP_DONE, __ATOMIC_RELEASE);
}

static bool may_start(const struct bf_cu_op *op)
{
	if (!others_done(op))
		return false;
	return op->kind != BF_CU_OP_WAIT || word_is_there(op) || bf_cu.device[op->stream->context->device].fault;
}

/* True when something went on. */
static bool advance_stream(struct bf_cu_stream *s)
{
	bool moved = false;

	for (;;) {
		struct bf_cu_op *op = s->head;

		if (op && done(op)) {
			s->head = op->next;
			if (!s->head)
				s->tail = &s->head;
			s->done = op->number;
			free(op->after);
			free(op);
			moved = true;
			continue;
		}
		if (op && op->kind == BF_CU_OP_CONDITION && op->state == BF_CU_OP_STARTED && bf_cu_condition_step(op)) {
			streams.unstarted--;
			op->state = BF_CU_OP_DONE;
			continue;
		}
		while (op && op->state != BF_CU_OP_QUEUED && op->kind == BF_CU_OP_KERNEL)
			op = op->next;
		/* Behind kernels that run only a kernel may go, too. */
		if (!op || op->state != BF_CU_OP_QUEUED || (op != s->head && op->kind != BF_CU_OP_KERNEL) ||
		    !may_start(op))
			return moved;
		streams.unstarted--;
		streams.words -= op->kind == BF_CU_OP_WAIT;
		start(op);
		moved = true;
	}
}

void bf_cu_advance(void)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < streams.count; i++)
			if (streams.all[i]->head)
				moved = advance_stream(streams.all[i]) || moved;
	}
}

/* ---- threads ---- */

static void *work(void *arg)
{
	(void)arg;
	bf_cu_lock();
	while (!streams.ended) {
		const uint32_t seen = __atomic_load_n(&bf_cu.word, __ATOMIC_ACQUIRE);
		const struct timespec t = { .tv_nsec = streams.words ? LOOK_NS : WAIT_NS };

		bf_cu_advance();
		if (!streams.unstarted || streams.waiting) {
			/* Who waits does it; the last of them says when that is over. */
			pthread_cond_wait(&streams.work, &bf_cu.lock);
			continue;
		}
		bf_cu_unlock();
		syscall(SYS_futex, &bf_cu.word, FUTEX_WAIT_PRIVATE, seen, &t, NULL, 0);
		bf_cu_lock();
	}
	bf_cu_unlock();
	return NULL;
}

static void *call(void *arg)
{
	(void)arg;
	bf_cu_lock();
	while (!streams.ended) {
		struct bf_cu_op *op = streams.first_call;
		int result;

		if (!op) {
			pthread_cond_wait(&streams.call, &bf_cu.lock);
			continue;
		}
		streams.first_call = op->next_call;
		result = bf_cu.device[op->stream->context->device].fault;
		bf_cu_unlock();
		if (op->host.old)
			op->host.old(op->stream, result, op->host.arg);
		else if (!result)
			op->host.fn(op->host.arg);
		bf_cu_lock();
		__atomic_store_n(&op->state, BF_CU_OP_DONE, __ATOMIC_RELEASE);
		signal_word();
		bf_cu_advance();
	}
	bf_cu_unlock();
	return NULL;
}

static void start_threads(void)
{
	pthread_t thread;

	if (streams.started)
		return;
	streams.started = true;
	if (!pthread_create(&thread, NULL, work, NULL))
		pthread_detach(thread);
	if (!pthread_create(&thread, NULL, call, NULL))
		pthread_detach(thread);
}

bool bf_cu_streams_idle(void)
{
	bf_cu_advance();
	for (uint32_t i = 0; i < streams.count; i++)
		if (streams.all[i]->head)
			return false;
	return true;
}

void bf_cu_streams_drop(const struct bf_cu_context *c)
{
	for (uint32_t i = 0; i < streams.count; i++)
		if (streams.all[i]->context == c && streams.all[i] != c->legacy && !streams.all[i]->per_thread)
			streams.all[i]->dead = true;
}

/* At exit: what has not begun never will. The threads may be gone already. */
void bf_cu_streams_end(void)
{
	streams.ended = true;
	bf_cu.ended = true;
}

int bf_cu_enqueue(struct bf_cu_stream *s, struct bf_cu_op *op)
{
	int rc;

	if (s->capture)
		return bf_cu_capture_op(s, op);
	op->stream = s;
	rc = bf_cu_capture_legacy(s);
	rc = rc ? rc : after_default(op);
	if (rc) {
		free(op->after);
		free(op);
		return rc;
	}
	op->number = ++s->queued;
	*s->tail = op;
	s->tail = &op->next;
	streams.unstarted++;
	streams.words += op->kind == BF_CU_OP_WAIT;
	bf_cu_advance();
	if (streams.unstarted && !streams.waiting) {
		start_threads();
		pthread_cond_signal(&streams.work);
	} else if (op->kind == BF_CU_OP_HOST) {
		start_threads();
	}
	return bf_cu.device[s->context->device].fault;
}

/* ---- waiting ---- */

int bf_cu_check(int device)
{
	struct bf_cu_device *d = &bf_cu.device[device];
	const struct bf_ptx_fault *f;

	if (d->fault)
		return d->fault;
	f = bf_cu.machine->fault((uint32_t)device);
	if (!f || __atomic_exchange_n(&d->fault, (int)f->kind, __ATOMIC_RELAXED))
		return d->fault;
	bf_cu_print();
	bf_cu_say("%s", f->text);
	return d->fault;
}

static void wait_a_little(uint32_t seen)
{
	const uint64_t most = streams.words ? LOOK_NS : WAIT_NS;

	streams.waiting++;
	bf_cu_unlock();
	bf_cu.machine->wait(&bf_cu.word, seen, most);
	bf_cu_lock();
	if (!--streams.waiting && streams.unstarted)
		pthread_cond_signal(&streams.work);
}

int bf_cu_wait_number(struct bf_cu_stream *s, uint64_t number)
{
	for (;;) {
		const uint32_t seen = __atomic_load_n(&bf_cu.word, __ATOMIC_ACQUIRE);

		bf_cu_advance();
		if (s->done >= number || bf_cu.ended)
			break;
		if (bf_cu_check(s->context->device) && (!s->head || s->head->state != BF_CU_OP_STARTED))
			break;
		wait_a_little(seen);
	}
	return bf_cu_check(s->context->device);
}

int bf_cu_wait_stream(struct bf_cu_stream *s)
{
	return bf_cu_wait_number(s, s->queued);
}

int bf_cu_wait_all(struct bf_cu_context *c)
{
	int rc = bf_cu_check(c->device);

	for (uint32_t i = 0; i < streams.count; i++)
		if (streams.all[i]->context == c)
			rc = bf_cu_wait_number(streams.all[i], streams.all[i]->queued);
	return rc;
}

/* A program that asks again and again gives the machine its time. Without the lock. */
void bf_cu_rest(void)
{
	bf_cu.machine->wait(&bf_cu.word, __atomic_load_n(&bf_cu.word, __ATOMIC_ACQUIRE), 1);
}
