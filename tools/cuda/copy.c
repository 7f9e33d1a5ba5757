/* Copies and fills: of lines, areas and volumes, at once or in a stream. Arrays there are none of. */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tools/cuda/driver_internal.h"

/* ---- bytes ---- */

/* An address that nobody is known to have: a variable of a module, or a mistake of the program's. */
static int copy_checked(void *to, const void *from, size_t len)
{
	struct iovec mine = { (void *)(uintptr_t)to, len }, theirs = { (void *)(uintptr_t)from, len };
	ssize_t n = process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0);

	if (n == (ssize_t)len)
		return BF_CU_OK;
	if (n >= 0 || errno == EFAULT)
		return BF_CU_INVALID_VALUE;
	memmove(to, from, len);
	return BF_CU_OK;
}

static int copy_bytes(void *to, const void *from, size_t len)
{
	if (!len)
		return BF_CU_OK;
	if (len > 4096 || bf_cu_block_at((uintptr_t)to) || bf_cu_block_at((uintptr_t)from)) {
		memmove(to, from, len);
		return BF_CU_OK;
	}
	return copy_checked(to, from, len);
}

int bf_cu_copy_now(const struct bf_cu_copy3d *c)
{
	const uint8_t *from = c->src_type == BF_CU_HOST ? c->src_host : (const uint8_t *)(uintptr_t)c->src_device;
	uint8_t *to = c->dst_type == BF_CU_HOST ? c->dst_host : (uint8_t *)(uintptr_t)c->dst_device;
	const size_t src_row = c->src_pitch ? c->src_pitch : c->width, dst_row = c->dst_pitch ? c->dst_pitch : c->width;
	const size_t src_plane = src_row * (c->src_height ? c->src_height : c->height);
	const size_t dst_plane = dst_row * (c->dst_height ? c->dst_height : c->height);
	int rc = BF_CU_OK;

	from += c->src_x + c->src_y * src_row + c->src_z * src_plane;
	to += c->dst_x + c->dst_y * dst_row + c->dst_z * dst_plane;
	if (c->height == 1 && c->depth == 1)
		return copy_bytes(to, from, c->width);
	for (size_t z = 0; !rc && z < c->depth; z++)
		for (size_t y = 0; !rc && y < c->height; y++)
			rc = copy_bytes(to + z * dst_plane + y * dst_row, from + z * src_plane + y * src_row, c->width);
	return rc;
}

/* ---- into a stream ---- */

static int submit(const struct bf_cu_copy3d *copy, CUstream handle, bool wait)
{
	struct bf_cu_context *c;
	struct bf_cu_stream *s;
	struct bf_cu_op *op;
	int rc = bf_cu_enter(&c);

	if (rc)
		return rc;
	if (copy->src_type == BF_CU_ARRAY || copy->dst_type == BF_CU_ARRAY)
		return bf_cu_unsupported("copies of arrays");
	if ((copy->src_pitch && copy->src_pitch < copy->width && copy->height > 1) ||
	    (copy->dst_pitch && copy->dst_pitch < copy->width && copy->height > 1))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	s = bf_cu_stream_of(handle, c);
	op = s ? bf_cu_op_make(BF_CU_OP_COPY, 0) : NULL;
	if (op) {
		op->copy = *copy;
		rc = bf_cu_enqueue(s, op);
		if (!rc && wait && !s->capture)
			rc = bf_cu_wait_stream(s);
	} else {
		rc = s ? BF_CU_OUT_OF_MEMORY : BF_CU_INVALID_HANDLE;
	}
	bf_cu_unlock();
	return rc;
}

static bool is_pageable(uint64_t at)
{
	bool known;

	bf_cu_lock();
	known = bf_cu_block_at(at) != NULL;
	bf_cu_unlock();
	return !known;
}

/* Whether the process has memory there: blocks are known, and of other memory the ends are looked at. */
static bool is_there(uint64_t at, size_t len)
{
	for (int end = 0; end < 2; end++) {
		uint8_t byte;
		struct iovec mine = { &byte, 1 }, theirs = { (void *)(uintptr_t)(end ? at + len - 1 : at), 1 };

		if (process_vm_readv(getpid(), &mine, 1, &theirs, 1, 0) < 0 && errno == EFAULT)
			return false;
	}
	return true;
}

static int line(uint64_t to, uint64_t from, size_t len, CUstream stream, bool wait)
{
	const struct bf_cu_copy3d c = { .src_type = BF_CU_UNIFIED,
					.src_device = from,
					.dst_type = BF_CU_UNIFIED,
					.dst_device = to,
					.width = len,
					.height = 1,
					.depth = 1 };

	if (!len)
		return bf_cu_ready();
	if (!to || !from || (is_pageable(to) && !is_there(to, len)) || (is_pageable(from) && !is_there(from, len)))
		return BF_CU_INVALID_VALUE;
	return submit(&c, stream, wait);
}

int cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t len)
{
	return line(to, from, len, NULL, true);
}

/* From pageable memory the bytes are taken before the call returns, to it they are there then. */
int cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t len, CUstream stream)
{
	return line(to, from, len, stream, len && (is_pageable(to) || is_pageable(from)));
}

int cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t len)
{
	return line(to, (uintptr_t)from, len, NULL, true);
}

int cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t len)
{
	return line((uintptr_t)to, from, len, NULL, true);
}

int cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t len)
{
	return line(to, from, len, NULL, false);
}

int cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t len, CUstream stream)
{
	return line(to, (uintptr_t)from, len, stream, is_pageable((uintptr_t)from));
}

int cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t len, CUstream stream)
{
	return line((uintptr_t)to, from, len, stream, is_pageable((uintptr_t)to));
}

int cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t len, CUstream stream)
{
	return line(to, from, len, stream, false);
}

int cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t len)
{
	(void)to_context;
	(void)from_context;
	return line(to, from, len, NULL, true);
}

int cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context, size_t len,
		      CUstream stream)
{
	(void)to_context;
	(void)from_context;
	return line(to, from, len, stream, false);
}

static struct bf_cu_copy3d volume_of(const struct bf_cu_copy2d *c)
{
	return (struct bf_cu_copy3d){ .src_x = c->src_x,
				      .src_y = c->src_y,
				      .src_type = c->src_type,
				      .src_host = c->src_host,
				      .src_device = c->src_device,
				      .src_pitch = c->src_pitch,
				      .dst_x = c->dst_x,
				      .dst_y = c->dst_y,
				      .dst_type = c->dst_type,
				      .dst_host = c->dst_host,
				      .dst_device = c->dst_device,
				      .dst_pitch = c->dst_pitch,
				      .width = c->width,
				      .height = c->height,
				      .depth = 1 };
}

int cuMemcpy2D_v2(const struct bf_cu_copy2d *copy)
{
	struct bf_cu_copy3d c;

	if (!copy)
		return BF_CU_INVALID_VALUE;
	c = volume_of(copy);
	return submit(&c, NULL, true);
}

int cuMemcpy2DUnaligned_v2(const struct bf_cu_copy2d *copy)
{
	return cuMemcpy2D_v2(copy);
}

int cuMemcpy2DAsync_v2(const struct bf_cu_copy2d *copy, CUstream stream)
{
	struct bf_cu_copy3d c;

	if (!copy)
		return BF_CU_INVALID_VALUE;
	c = volume_of(copy);
	return submit(&c, stream, false);
}

int cuMemcpy3D_v2(const struct bf_cu_copy3d *copy)
{
	return copy ? submit(copy, NULL, true) : BF_CU_INVALID_VALUE;
}

int cuMemcpy3DAsync_v2(const struct bf_cu_copy3d *copy, CUstream stream)
{
	return copy ? submit(copy, stream, false) : BF_CU_INVALID_VALUE;
}

/* Their structures differ in what the others do not use: the contexts. */
int cuMemcpy3DPeer(const struct bf_cu_copy3d *copy)
{
	return cuMemcpy3D_v2(copy);
}

int cuMemcpy3DPeerAsync(const struct bf_cu_copy3d *copy, CUstream stream)
{
	return cuMemcpy3DAsync_v2(copy, stream);
}

/* Attributes are hints, but for that one: the sources may change as soon as the call is back. */
#define DURING_CALL 2u

int cuMemcpyBatchAsync_v2(const CUdeviceptr *to, const CUdeviceptr *from, const size_t *sizes, size_t count,
			  const struct bf_cu_copy_attribute *attributes, const size_t *first, size_t kinds,
			  CUstream stream)
{
	size_t kind = 0;
	int rc = to && from && sizes && attributes && first && count && kinds && !first[0] && stream &&
			 stream != BF_CU_STREAM_LEGACY
		     ? BF_CU_OK
		     : BF_CU_INVALID_VALUE;

	for (size_t i = 0; !rc && i < count; i++) {
		while (kind + 1 < kinds && first[kind + 1] <= i)
			kind++;
		rc = !sizes[i]
			 ? BF_CU_INVALID_VALUE
			 : line(to[i], from[i], sizes[i], stream,
				attributes[kind].order == DURING_CALL || is_pageable(to[i]) || is_pageable(from[i]));
	}
	return rc;
}

int cuMemcpyBatchAsync(const CUdeviceptr *to, const CUdeviceptr *from, const size_t *sizes, size_t count,
		       const struct bf_cu_copy_attribute *attributes, const size_t *first, size_t kinds, size_t *failed,
		       CUstream stream)
{
	const int rc = cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, first, kinds, stream);

	if (rc && failed)
		*failed = SIZE_MAX; /* none in particular */
	return rc;
}

/* ---- fills ---- */

static int fill(CUdeviceptr at, size_t pitch, uint32_t value, uint32_t size, size_t width, size_t height,
		CUstream handle, bool wait)
{
	struct bf_cu_context *c;
	struct bf_cu_stream *s;
	struct bf_cu_op *op;
	int rc = bf_cu_enter(&c);

	if (rc || !width || !height)
		return rc;
	if (!at || at % size || (height > 1 && pitch < width * size))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	s = bf_cu_stream_of(handle, c);
	op = s ? bf_cu_op_make(BF_CU_OP_FILL, 0) : NULL;
	if (op) {
		op->fill.at = at;
		op->fill.pitch = pitch;
		op->fill.value = value;
		op->fill.size = size;
		op->fill.width = width;
		op->fill.height = height;
		rc = bf_cu_enqueue(s, op);
		if (!rc && wait)
			rc = bf_cu_wait_stream(s);
	} else {
		rc = s ? BF_CU_OUT_OF_MEMORY : BF_CU_INVALID_HANDLE;
	}
	bf_cu_unlock();
	return rc;
}

int cuMemsetD8_v2(CUdeviceptr at, unsigned char value, size_t n)
{
	return fill(at, 0, value, 1, n, 1, NULL, false);
}

int cuMemsetD16_v2(CUdeviceptr at, unsigned short value, size_t n)
{
	return fill(at, 0, value, 2, n, 1, NULL, false);
}

int cuMemsetD32_v2(CUdeviceptr at, unsigned value, size_t n)
{
	return fill(at, 0, value, 4, n, 1, NULL, false);
}

int cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t n, CUstream stream)
{
	return fill(at, 0, value, 1, n, 1, stream, false);
}

int cuMemsetD16Async(CUdeviceptr at, unsigned short value, size_t n, CUstream stream)
{
	return fill(at, 0, value, 2, n, 1, stream, false);
}

int cuMemsetD32Async(CUdeviceptr at, unsigned value, size_t n, CUstream stream)
{
	return fill(at, 0, value, 4, n, 1, stream, false);
}

int cuMemsetD2D8_v2(CUdeviceptr at, size_t pitch, unsigned char value, size_t width, size_t height)
{
	return fill(at, pitch, value, 1, width, height, NULL, false);
}

int cuMemsetD2D16_v2(CUdeviceptr at, size_t pitch, unsigned short value, size_t width, size_t height)
{
	return fill(at, pitch, value, 2, width, height, NULL, false);
}

int cuMemsetD2D32_v2(CUdeviceptr at, size_t pitch, unsigned value, size_t width, size_t height)
{
	return fill(at, pitch, value, 4, width, height, NULL, false);
}

int cuMemsetD2D8Async(CUdeviceptr at, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream)
{
	return fill(at, pitch, value, 1, width, height, stream, false);
}

int cuMemsetD2D16Async(CUdeviceptr at, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream)
{
	return fill(at, pitch, value, 2, width, height, stream, false);
}

int cuMemsetD2D32Async(CUdeviceptr at, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream)
{
	return fill(at, pitch, value, 4, width, height, stream, false);
}
