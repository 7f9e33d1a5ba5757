/* Memory in the order of streams, and its pools. */
#include "tools/cudart/runtime.h"

/* Nothing is asked for: NULL, and no error. */
static int allocate(void **out, size_t size, CUmemoryPool p, CUstream stream)
{
	CUdeviceptr at = 0;
	int rc = bf_rt_enter();

	if (!out)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	if (!rc && size)
		rc = p ? cuMemAllocFromPoolAsync(&at, size, p, stream) : cuMemAllocAsync(&at, size, stream);
	*out = (void *)(uintptr_t)at;
	return bf_rt_done(rc);
}

BF_CU_API int cudaMallocAsync(void **out, size_t size, CUstream stream)
{
	return allocate(out, size, NULL, stream);
}

BF_CU_API int cudaMallocAsync_ptsz(void **out, size_t size, CUstream stream)
{
	return cudaMallocAsync(out, size, stream ? stream : BF_CU_STREAM_THREAD);
}

BF_CU_API int cudaMallocFromPoolAsync(void **out, size_t size, CUmemoryPool p, CUstream stream)
{
	return p ? allocate(out, size, p, stream) : bf_rt_done(BF_CU_INVALID_VALUE);
}

BF_CU_API int cudaMallocFromPoolAsync_ptsz(void **out, size_t size, CUmemoryPool p, CUstream stream)
{
	return cudaMallocFromPoolAsync(out, size, p, stream ? stream : BF_CU_STREAM_THREAD);
}

BF_CU_API int cudaFreeAsync(void *p, CUstream stream)
{
	BF_RT_ENTERED(cuMemFreeAsync((uintptr_t)p, stream));
}

BF_CU_API int cudaFreeAsync_ptsz(void *p, CUstream stream)
{
	return cudaFreeAsync(p, stream ? stream : BF_CU_STREAM_THREAD);
}

BF_CU_API int cudaDeviceGetDefaultMemPool(CUmemoryPool *out, int device)
{
	BF_RT_ENTERED(cuDeviceGetDefaultMemPool(out, device));
}

BF_CU_API int cudaDeviceGetMemPool(CUmemoryPool *out, int device)
{
	BF_RT_ENTERED(cuDeviceGetMemPool(out, device));
}

BF_CU_API int cudaDeviceSetMemPool(int device, CUmemoryPool p)
{
	BF_RT_ENTERED(cuDeviceSetMemPool(device, p));
}

BF_CU_API int cudaMemPoolCreate(CUmemoryPool *out, const struct bf_cu_pool_properties *is)
{
	BF_RT_ENTERED(cuMemPoolCreate(out, is));
}

BF_CU_API int cudaMemPoolDestroy(CUmemoryPool p)
{
	BF_RT_ENTERED(cuMemPoolDestroy(p));
}

BF_CU_API int cudaMemPoolTrimTo(CUmemoryPool p, size_t keep)
{
	BF_RT_ENTERED(cuMemPoolTrimTo(p, keep));
}

BF_CU_API int cudaMemPoolGetAttribute(CUmemoryPool p, int attribute, void *value)
{
	BF_RT_ENTERED(cuMemPoolGetAttribute(p, attribute, value));
}

BF_CU_API int cudaMemPoolSetAttribute(CUmemoryPool p, int attribute, void *value)
{
	BF_RT_ENTERED(cuMemPoolSetAttribute(p, attribute, value));
}

BF_CU_API int cudaMemPoolSetAccess(CUmemoryPool p, const struct bf_cu_access *access, size_t count)
{
	BF_RT_ENTERED(cuMemPoolSetAccess(p, access, count));
}

BF_CU_API int cudaMemPoolGetAccess(int *flags, CUmemoryPool p, const struct bf_cu_location *where)
{
	BF_RT_ENTERED(cuMemPoolGetAccess(flags, p, where));
}

BF_CU_API int cudaMemPoolExportToShareableHandle(void *out, CUmemoryPool p, int type, unsigned flags)
{
	BF_RT_ENTERED(cuMemPoolExportToShareableHandle(out, p, type, flags));
}

BF_CU_API int cudaMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle, int type, unsigned flags)
{
	BF_RT_ENTERED(cuMemPoolImportFromShareableHandle(out, handle, type, flags));
}

BF_CU_API int cudaMemPoolExportPointer(struct bf_cu_ipc *out, void *p)
{
	BF_RT_ENTERED(cuMemPoolExportPointer(out, (uintptr_t)p));
}

BF_CU_API int cudaMemPoolImportPointer(void **out, CUmemoryPool p, struct bf_cu_ipc *data)
{
	CUdeviceptr at = 0;
	int rc = bf_rt_enter();

	rc = rc ? rc : cuMemPoolImportPointer(&at, p, data);
	if (!rc)
		*out = (void *)(uintptr_t)at;
	return bf_rt_done(rc);
}
