/* Memory, copies and symbols. */
#include <string.h>

#include "tools/cudart/runtime.h"

enum { TO_DEVICE = 1, FROM_DEVICE = 2, WITHIN_DEVICE = 3, ANY = 4 };

static CUdeviceptr va(const void *p)
{
	return (uintptr_t)p;
}

/* ---- allocation ---- */

/* Nothing is asked for: the runtime gives NULL and no error. */
BF_CU_API int cudaMalloc(void **out, size_t size)
{
	CUdeviceptr at = 0;
	int rc = bf_rt_enter();

	if (!out)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	if (!rc && size)
		rc = cuMemAlloc_v2(&at, size);
	*out = (void *)(uintptr_t)at;
	return bf_rt_done(rc);
}

BF_CU_API int cudaFree(void *p)
{
	BF_RT_ENTERED(cuMemFree_v2(va(p)));
}

BF_CU_API int cudaMallocPitch(void **out, size_t *pitch, size_t width, size_t height)
{
	CUdeviceptr at = 0;
	int rc = bf_rt_enter();

	rc = rc ? rc : cuMemAllocPitch_v2(&at, pitch, width, height, 4);
	if (out)
		*out = (void *)(uintptr_t)at;
	return bf_rt_done(rc);
}

BF_CU_API int cudaMalloc3D(struct bf_rt_pitched *out, struct bf_rt_extent e)
{
	const int rc = cudaMallocPitch(&out->at, &out->pitch, e.width, e.height * e.depth);

	out->x = e.width;
	out->y = e.height;
	return rc;
}

BF_CU_API int cudaHostAlloc(void **out, size_t size, unsigned flags)
{
	const int rc = bf_rt_enter();

	if (!out)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	*out = NULL;
	return bf_rt_done(rc || !size ? rc : cuMemHostAlloc(out, size, flags));
}

BF_CU_API int cudaMallocHost(void **out, size_t size)
{
	return cudaHostAlloc(out, size, 0);
}

BF_CU_API int cudaFreeHost(void *p)
{
	BF_RT_ENTERED(cuMemFreeHost(p));
}

BF_CU_API int cudaMallocManaged(void **out, size_t size, unsigned flags)
{
	CUdeviceptr at = 0;
	int rc = bf_rt_enter();

	if (!rc && size)
		rc = cuMemAllocManaged(&at, size, flags);
	if (out)
		*out = (void *)(uintptr_t)at;
	return bf_rt_done(rc);
}

BF_CU_API int cudaHostRegister(void *p, size_t size, unsigned flags)
{
	BF_RT_ENTERED(cuMemHostRegister_v2(p, size, flags));
}

BF_CU_API int cudaHostUnregister(void *p)
{
	BF_RT_ENTERED(cuMemHostUnregister(p));
}

BF_CU_API int cudaHostGetDevicePointer(void **out, void *p, unsigned flags)
{
	CUdeviceptr at = 0;
	int rc = bf_rt_enter();

	rc = rc ? rc : cuMemHostGetDevicePointer_v2(&at, p, flags);
	*out = (void *)(uintptr_t)at;
	return bf_rt_done(rc);
}

BF_CU_API int cudaHostGetFlags(unsigned *flags, void *p)
{
	BF_RT_ENTERED(cuMemHostGetFlags(flags, p));
}

BF_CU_API int cudaMemGetInfo(size_t *unused, size_t *total)
{
	BF_RT_ENTERED(cuMemGetInfo_v2(unused, total));
}

int bf_rt_pointer(struct bf_rt_pointer *out, const void *p)
{
	int asked[] = { 2, 9, 8, 3 }, ordinal = -2;
	unsigned type = 0;
	uint8_t managed = 0;
	uint64_t at = 0;
	void *values[] = { &type, &ordinal, &managed, &at };
	int rc = bf_rt_enter();

	rc = rc ? rc : cuPointerGetAttributes(4, asked, values, va(p));
	if (rc || !out)
		return bf_rt_done(rc ? rc : BF_CU_INVALID_VALUE);
	out->type = managed ? 3 : (int)type; /* 0 nobody's, 1 the host's, 2 a device's, 3 managed */
	out->device = ordinal;
	out->device_at = (void *)(uintptr_t)at;
	out->host_at = !type || type == BF_CU_HOST || managed ? (void *)(uintptr_t)p : NULL;
	return 0;
}

BF_CU_API int cudaIpcGetMemHandle(struct bf_cu_ipc *out, void *p)
{
	BF_RT_ENTERED(cuIpcGetMemHandle(out, va(p)));
}

BF_CU_API int cudaIpcOpenMemHandle(void **out, struct bf_cu_ipc handle, unsigned flags)
{
	CUdeviceptr at = 0;
	int rc = bf_rt_enter();

	rc = rc ? rc : cuIpcOpenMemHandle_v2(&at, handle, flags);
	*out = (void *)(uintptr_t)at;
	return bf_rt_done(rc);
}

BF_CU_API int cudaIpcCloseMemHandle(void *p)
{
	BF_RT_ENTERED(cuIpcCloseMemHandle(va(p)));
}

/* ---- copies ---- */

static int copy(void *to, const void *from, size_t size, int kind, CUstream stream, bool wait)
{
	int rc = bf_rt_enter();

	if (rc || !size)
		return bf_rt_done(rc);
	if (kind < 0 || kind > ANY)
		return bf_rt_done(BF_RT_INVALID_DIRECTION);
	if (!to || !from)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	rc = cuMemcpyAsync(va(to), va(from), size, stream);
	if (!rc && wait && kind != WITHIN_DEVICE)
		rc = cuStreamSynchronize(stream);
	return bf_rt_done(rc);
}

BF_CU_API int cudaMemcpy(void *to, const void *from, size_t size, int kind)
{
	return copy(to, from, size, kind, NULL, true);
}

BF_CU_API int cudaMemcpy_ptds(void *to, const void *from, size_t size, int kind)
{
	return copy(to, from, size, kind, BF_CU_STREAM_THREAD, true);
}

BF_CU_API int cudaMemcpyAsync(void *to, const void *from, size_t size, int kind, CUstream stream)
{
	return copy(to, from, size, kind, stream, false);
}

BF_CU_API int cudaMemcpyAsync_ptsz(void *to, const void *from, size_t size, int kind, CUstream stream)
{
	return copy(to, from, size, kind, stream ? stream : BF_CU_STREAM_THREAD, false);
}

BF_CU_API int cudaMemcpyPeer(void *to, int device, const void *from, int other, size_t size)
{
	(void)device;
	(void)other;
	return copy(to, from, size, ANY, NULL, true);
}

BF_CU_API int cudaMemcpyPeerAsync(void *to, int device, const void *from, int other, size_t size, CUstream stream)
{
	(void)device;
	(void)other;
	return copy(to, from, size, ANY, stream, false);
}

static int area(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
		CUstream stream, bool wait)
{
	const struct bf_cu_copy2d c = { .src_type = BF_CU_UNIFIED,
					.src_device = va(from),
					.src_pitch = from_pitch,
					.dst_type = BF_CU_UNIFIED,
					.dst_device = va(to),
					.dst_pitch = to_pitch,
					.width = width,
					.height = height };
	int rc = bf_rt_enter();

	if (rc || !width || !height)
		return bf_rt_done(rc);
	if (width > to_pitch || width > from_pitch)
		return bf_rt_done(12); /* invalid pitch */
	rc = cuMemcpy2DAsync_v2(&c, stream);
	if (!rc && wait)
		rc = cuStreamSynchronize(stream);
	return bf_rt_done(rc);
}

BF_CU_API int cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width, size_t height,
			   int kind)
{
	(void)kind;
	return area(to, to_pitch, from, from_pitch, width, height, NULL, true);
}

BF_CU_API int cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
				size_t height, int kind, CUstream stream)
{
	(void)kind;
	return area(to, to_pitch, from, from_pitch, width, height, stream, false);
}

int bf_rt_volume(const struct bf_rt_volume *v, struct bf_cu_copy3d *out)
{
	const int rc = bf_rt_enter();

	if (rc || !v)
		return rc ? rc : BF_CU_INVALID_VALUE;
	if (v->src_array || v->dst_array)
		return bf_cu_unsupported("copies of arrays");
	*out = (struct bf_cu_copy3d){ .src_x = v->src_pos[0],
				      .src_y = v->src_pos[1],
				      .src_z = v->src_pos[2],
				      .src_type = BF_CU_UNIFIED,
				      .src_device = va(v->src.at),
				      .src_pitch = v->src.pitch,
				      .src_height = v->src.y,
				      .dst_x = v->dst_pos[0],
				      .dst_y = v->dst_pos[1],
				      .dst_z = v->dst_pos[2],
				      .dst_type = BF_CU_UNIFIED,
				      .dst_device = va(v->dst.at),
				      .dst_pitch = v->dst.pitch,
				      .dst_height = v->dst.y,
				      .width = v->extent.width,
				      .height = v->extent.height,
				      .depth = v->extent.depth };
	return BF_CU_OK;
}

static int volume(const struct bf_rt_volume *v, CUstream stream, bool wait)
{
	struct bf_cu_copy3d c;
	int rc = bf_rt_volume(v, &c);

	rc = rc ? rc : cuMemcpy3DAsync_v2(&c, stream);
	if (!rc && wait)
		rc = cuStreamSynchronize(stream);
	return bf_rt_done(rc);
}

BF_CU_API int cudaMemcpy3D(const struct bf_rt_volume *v)
{
	return volume(v, NULL, true);
}

BF_CU_API int cudaMemcpy3DAsync(const struct bf_rt_volume *v, CUstream stream)
{
	return volume(v, stream, false);
}

/* ---- fills ---- */

BF_CU_API int cudaMemset(void *at, int value, size_t n)
{
	BF_RT_ENTERED(cuMemsetD8_v2(va(at), (unsigned char)value, n));
}

BF_CU_API int cudaMemset_ptds(void *at, int value, size_t n)
{
	BF_RT_ENTERED(cuMemsetD8Async(va(at), (unsigned char)value, n, BF_CU_STREAM_THREAD));
}

BF_CU_API int cudaMemsetAsync(void *at, int value, size_t n, CUstream stream)
{
	BF_RT_ENTERED(cuMemsetD8Async(va(at), (unsigned char)value, n, stream));
}

BF_CU_API int cudaMemsetAsync_ptsz(void *at, int value, size_t n, CUstream stream)
{
	return cudaMemsetAsync(at, value, n, stream ? stream : BF_CU_STREAM_THREAD);
}

BF_CU_API int cudaMemset2D(void *at, size_t pitch, int value, size_t width, size_t height)
{
	BF_RT_ENTERED(cuMemsetD2D8_v2(va(at), pitch, (unsigned char)value, width, height));
}

BF_CU_API int cudaMemset2DAsync(void *at, size_t pitch, int value, size_t width, size_t height, CUstream stream)
{
	BF_RT_ENTERED(cuMemsetD2D8Async(va(at), pitch, (unsigned char)value, width, height, stream));
}

/* ---- symbols ---- */

BF_CU_API int cudaGetSymbolAddress(void **out, const void *symbol)
{
	CUdeviceptr at = 0;
	const int rc = bf_rt_symbol(symbol, &at, NULL);

	*out = (void *)(uintptr_t)at;
	return bf_rt_done(rc);
}

BF_CU_API int cudaGetSymbolSize(size_t *size, const void *symbol)
{
	return bf_rt_done(bf_rt_symbol(symbol, NULL, size));
}

int bf_rt_symbol_place(const void *symbol, size_t size, size_t offset, void **out)
{
	CUdeviceptr at = 0;
	size_t all = 0;
	const int rc = bf_rt_symbol(symbol, &at, &all);

	*out = (void *)(uintptr_t)(at + offset);
	return rc ? rc : size > all || offset > all - size ? BF_CU_INVALID_VALUE : BF_CU_OK;
}

static int to_symbol(const void *symbol, const void *from, size_t size, size_t offset, int kind, CUstream stream,
		     bool wait)
{
	void *at;
	const int rc = bf_rt_symbol_place(symbol, size, offset, &at);

	return rc ? bf_rt_done(rc) : copy(at, from, size, kind, stream, wait);
}

static int from_symbol(void *to, const void *symbol, size_t size, size_t offset, int kind, CUstream stream, bool wait)
{
	void *at;
	const int rc = bf_rt_symbol_place(symbol, size, offset, &at);

	return rc ? bf_rt_done(rc) : copy(to, at, size, kind, stream, wait);
}

BF_CU_API int cudaMemcpyToSymbol(const void *symbol, const void *from, size_t size, size_t offset, int kind)
{
	return to_symbol(symbol, from, size, offset, kind, NULL, true);
}

BF_CU_API int cudaMemcpyToSymbol_ptds(const void *symbol, const void *from, size_t size, size_t offset, int kind)
{
	return to_symbol(symbol, from, size, offset, kind, BF_CU_STREAM_THREAD, true);
}

BF_CU_API int cudaMemcpyToSymbolAsync(const void *symbol, const void *from, size_t size, size_t offset, int kind,
				      CUstream stream)
{
	return to_symbol(symbol, from, size, offset, kind, stream, false);
}

BF_CU_API int cudaMemcpyFromSymbol(void *to, const void *symbol, size_t size, size_t offset, int kind)
{
	return from_symbol(to, symbol, size, offset, kind, NULL, true);
}

BF_CU_API int cudaMemcpyFromSymbol_ptds(void *to, const void *symbol, size_t size, size_t offset, int kind)
{
	return from_symbol(to, symbol, size, offset, kind, BF_CU_STREAM_THREAD, true);
}

BF_CU_API int cudaMemcpyFromSymbolAsync(void *to, const void *symbol, size_t size, size_t offset, int kind,
					CUstream stream)
{
	return from_symbol(to, symbol, size, offset, kind, stream, false);
}

/* ---- advice about managed memory ---- */

BF_CU_API int cudaMemRangeGetAttribute(void *out, size_t size, int attribute, const void *p, size_t len)
{
	BF_RT_ENTERED(cuMemRangeGetAttribute(out, size, attribute, va(p), len));
}

BF_CU_API int cudaMemRangeGetAttributes(void **out, size_t *sizes, int *attributes, size_t count, const void *p,
					size_t len)
{
	BF_RT_ENTERED(cuMemRangeGetAttributes(out, sizes, attributes, count, va(p), len));
}
