/* Memory in the order of streams, and its pools. */
#include "tools/cudart/runtime.h"

#define ENTERED(call)                                                                                                  \
	do {                                                                                                           \
		const int entered = bf_rt_enter();                                                                     \
                                                                                                                       \
		return bf_rt_done(entered ? entered : (call));                                                         \
	} while (0)

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
	ENTERED(cuMemFreeAsync((uintptr_t)p, stream));
}

BF_CU_API int cudaFreeAsync_ptsz(void *p, CUstream stream)
{
	return cudaFreeAsync(p, stream ? stream : BF_CU_STREAM_THREAD);
}

BF_CU_API int cudaDeviceGetDefaultMemPool(CUmemoryPool *out, int device)
{
	ENTERED(cuDeviceGetDefaultMemPool(out, device));
}

BF_CU_API int cudaDeviceGetMemPool(CUmemoryPool *out, int device)
{
	ENTERED(cuDeviceGetMemPool(out, device));
}

BF_CU_API int cudaDeviceSetMemPool(int device, CUmemoryPool p)
{
	ENTERED(cuDeviceSetMemPool(device, p));
}

BF_CU_API int cudaMemPoolCreate(CUmemoryPool *out, const struct bf_cu_pool_properties *is)
{
	ENTERED(cuMemPoolCreate(out, is));
}

BF_CU_API int cudaMemPoolDestroy(CUmemoryPool p)
{
	ENTERED(cuMemPoolDestroy(p));
}

BF_CU_API int cudaMemPoolTrimTo(CUmemoryPool p, size_t keep)
{
	ENTERED(cuMemPoolTrimTo(p, keep));
}

BF_CU_API int cudaMemPoolGetAttribute(CUmemoryPool p, int attribute, void *value)
{
	ENTERED(cuMemPoolGetAttribute(p, attribute, value));
}

BF_CU_API int cudaMemPoolSetAttribute(CUmemoryPool p, int attribute, void *value)
{
	ENTERED(cuMemPoolSetAttribute(p, attribute, value));
}

BF_CU_API int cudaMemPoolSetAccess(CUmemoryPool p, const struct bf_cu_access *access, size_t count)
{
	ENTERED(cuMemPoolSetAccess(p, access, count));
}

BF_CU_API int cudaMemPoolGetAccess(int *flags, CUmemoryPool p, const struct bf_cu_location *where)
{
	ENTERED(cuMemPoolGetAccess(flags, p, where));
}
