/* Calls about streams: made, asked, waited for, and what a program puts into them beside kernels and copies. */
#include <stdlib.h>

#include "tools/cuda/driver_internal.h"

int cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
	struct bf_cu_context *c;
	int rc = bf_cu_enter(&c);

	if (rc || !out || flags > 1)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	*out = bf_cu_stream_make(c, flags, priority > 0 ? 0 : priority < -5 ? -5 : priority);
	bf_cu_unlock();
	return *out ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
}

int cuStreamCreate(CUstream *out, unsigned flags)
{
	return cuStreamCreateWithPriority(out, flags, 0);
}

/* What is in it still happens; nobody may put anything more into it. */
int cuStreamDestroy_v2(CUstream handle)
{
	int rc = bf_cu_ready();

	if (rc)
		return rc;
	bf_cu_lock();
	if (handle && bf_cu_is_stream(handle) && handle != handle->context->legacy) {
		bf_cu_capture_gone(handle);
		handle->dead = true;
	} else {
		rc = BF_CU_INVALID_HANDLE;
	}
	bf_cu_unlock();
	return rc;
}

/* As bf_cu_enter_stream(), to ask or to wait: what may not be while streams are captured. */
static int enter_to_look(CUstream handle, struct bf_cu_stream **out)
{
	int rc = bf_cu_capture_unsafe();

	rc = rc ? rc : bf_cu_enter_stream(handle, out);
	if (rc)
		return rc;
	rc = bf_cu_capture_stream(*out);
	if (rc)
		bf_cu_unlock();
	return rc;
}

int cuStreamSynchronize(CUstream handle)
{
	struct bf_cu_stream *s;
	int rc = enter_to_look(handle, &s);

	if (rc)
		return rc;
	/* The legacy stream is done when those that it waits for are. */
	rc = s == s->context->legacy ? bf_cu_wait_all(s->context) : bf_cu_wait_stream(s);
	bf_cu_unlock();
	bf_cu_print();
	return rc;
}

int cuStreamQuery(CUstream handle)
{
	struct bf_cu_stream *s;
	int rc = enter_to_look(handle, &s);

	if (rc)
		return rc;
	bf_cu_advance();
	rc = bf_cu_check(s->context->device);
	if (!rc && s->done < s->queued)
		rc = BF_CU_NOT_READY;
	bf_cu_unlock();
	if (rc == BF_CU_NOT_READY)
		bf_cu_rest();
	return rc;
}

/* One call for each thing that a stream can be asked. */
#define STREAM_GET(name, type, value)                                                                                  \
	int name(CUstream handle, type *out)                                                                           \
	{                                                                                                              \
		struct bf_cu_stream *s;                                                                                \
		const int rc = bf_cu_enter_stream(handle, &s);                                                         \
                                                                                                                       \
		if (!rc) {                                                                                             \
			*out = value;                                                                                  \
			bf_cu_unlock();                                                                                \
		}                                                                                                      \
		return rc;                                                                                             \
	}
STREAM_GET(cuStreamGetFlags, unsigned, s->flags)
STREAM_GET(cuStreamGetPriority, int, s->priority)
STREAM_GET(cuStreamGetCtx, CUcontext, s->context)
STREAM_GET(cuStreamGetDevice, int, s->context->device)
STREAM_GET(cuStreamGetId, unsigned long long, s->id)

int cuStreamGetCtx_v2(CUstream handle, CUcontext *out, void **green)
{
	if (green)
		*green = NULL; /* none has */
	return cuStreamGetCtx(handle, out);
}

static int put(CUstream handle, struct bf_cu_op *op)
{
	struct bf_cu_stream *s;
	int rc;

	if (!op)
		return BF_CU_OUT_OF_MEMORY;
	rc = bf_cu_enter_stream(handle, &s);
	if (rc) {
		free(op);
		return rc;
	}
	rc = bf_cu_enqueue(s, op);
	bf_cu_unlock();
	return rc;
}

int cuLaunchHostFunc(CUstream handle, bf_cu_host_fn *fn, void *arg)
{
	struct bf_cu_op *op = fn ? bf_cu_op_make(BF_CU_OP_HOST, 0) : NULL;

	if (!fn)
		return BF_CU_INVALID_VALUE;
	if (op) {
		op->host.fn = fn;
		op->host.arg = arg;
	}
	return put(handle, op);
}

int cuStreamAddCallback(CUstream handle, bf_cu_stream_fn *fn, void *arg, unsigned flags)
{
	struct bf_cu_op *op = fn && !flags ? bf_cu_op_make(BF_CU_OP_HOST, 0) : NULL;

	if (!fn || flags)
		return BF_CU_INVALID_VALUE;
	if (op) {
		op->host.old = fn;
		op->host.arg = arg;
	}
	return put(handle, op);
}

static int make_word(enum bf_cu_op_kind kind, CUdeviceptr at, uint64_t value, uint32_t bytes, unsigned flags,
		     struct bf_cu_op **out)
{
	struct bf_cu_op *op;

	if (!at || at % bytes)
		return BF_CU_INVALID_VALUE;
	op = bf_cu_op_make(kind, 0);
	if (op) {
		op->word.at = at;
		op->word.value = value;
		op->word.bytes = bytes;
		op->word.flags = flags;
	}
	*out = op;
	return op ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
}

static int put_word(CUstream handle, enum bf_cu_op_kind kind, CUdeviceptr at, uint64_t value, uint32_t bytes,
		    unsigned flags)
{
	struct bf_cu_op *op;
	const int rc = make_word(kind, at, value, bytes, flags, &op);

	return rc ? rc : put(handle, op);
}

int cuStreamWriteValue32_v2(CUstream s, CUdeviceptr at, uint32_t value, unsigned flags)
{
	return put_word(s, BF_CU_OP_WRITE, at, value, 4, flags);
}

int cuStreamWriteValue64_v2(CUstream s, CUdeviceptr at, uint64_t value, unsigned flags)
{
	return put_word(s, BF_CU_OP_WRITE, at, value, 8, flags);
}

int cuStreamWaitValue32_v2(CUstream s, CUdeviceptr at, uint32_t value, unsigned flags)
{
	return put_word(s, BF_CU_OP_WAIT, at, value, 4, flags);
}

int cuStreamWaitValue64_v2(CUstream s, CUdeviceptr at, uint64_t value, unsigned flags)
{
	return put_word(s, BF_CU_OP_WAIT, at, value, 8, flags);
}

/* CUstreamBatchMemOpParams: 48 bytes each. */
struct memop {
	uint32_t what;
	uint32_t pad;
	uint64_t at, value;
	uint32_t flags, pad2;
	uint64_t alias, pad3;
};

/* One of them; NULL, where nothing is to be done: each operation is a barrier, and what others have written is there.
 */
static int make_memop(const struct memop *o, struct bf_cu_op **out)
{
	*out = NULL;
	switch (o->what) {
	case 1:
		return make_word(BF_CU_OP_WAIT, o->at, (uint32_t)o->value, 4, o->flags, out);
	case 2:
		return make_word(BF_CU_OP_WRITE, o->at, (uint32_t)o->value, 4, o->flags, out);
	case 3: /* flush of remote writes */
	case 6: /* barrier */
		return BF_CU_OK;
	case 4:
		return make_word(BF_CU_OP_WAIT, o->at, o->value, 8, o->flags, out);
	case 5:
		return make_word(BF_CU_OP_WRITE, o->at, o->value, 8, o->flags, out);
	default:
		return BF_CU_INVALID_VALUE;
	}
}

#define MEMOPS_MAX 256u

int bf_cu_words_make(const void *params, unsigned count, struct bf_cu_op **out)
{
	const struct memop *ops = params;
	struct bf_cu_op **end = out;
	int rc = params && count <= MEMOPS_MAX ? BF_CU_OK : BF_CU_INVALID_VALUE;

	*out = NULL;
	for (unsigned i = 0; !rc && i < count; i++) {
		rc = make_memop(&ops[i], end);
		end = *end ? &(*end)->next : end;
	}
	while (rc && *out) {
		struct bf_cu_op *next = (*out)->next;

		free(*out);
		*out = next;
	}
	return rc;
}

/* All of them, or none. */
int cuStreamBatchMemOp_v2(CUstream s, unsigned count, const void *params, unsigned flags)
{
	struct bf_cu_op *ops;
	int rc = flags ? BF_CU_INVALID_VALUE : bf_cu_words_make(params, count, &ops);

	if (rc)
		return rc;
	while (ops) {
		struct bf_cu_op *next = ops->next;

		ops->next = NULL;
		if (rc)
			free(ops);
		else
			rc = put(s, ops);
		ops = next;
	}
	return rc;
}
