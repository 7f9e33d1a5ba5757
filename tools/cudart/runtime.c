/* Devices, streams, events, kernels' attributes, errors. */
#include <stdio.h>
#include <string.h>

#include "tools/cudart/runtime.h"

static _Thread_local struct {
	int device, error;
} thread;

/* ---- errors ---- */

int bf_rt_done(int error)
{
	if (error && error != BF_CU_NOT_READY)
		thread.error = error;
	return error;
}

BF_CU_API int cudaGetLastError(void)
{
	const int error = thread.error;

	thread.error = 0;
	return error;
}

BF_CU_API int cudaPeekAtLastError(void)
{
	return thread.error;
}

BF_CU_API const char *cudaGetErrorName(int error)
{
	const char *text = bf_cu_runtime_name(error);

	return text ? text : "unrecognized error code";
}

BF_CU_API const char *cudaGetErrorString(int error)
{
	const char *text;

	return cuGetErrorString(error, &text) ? "unrecognized error code" : text;
}

/* ---- devices ---- */

/* Of cudaDeviceProp, in all versions. */
#define AT_UUID 256u
#define AT_MEMORY 288u

int bf_rt_device(void)
{
	return thread.device;
}

int bf_rt_enter(void)
{
	CUcontext c = NULL;
	int rc = cuInit(0);

	rc = rc ? rc : cuCtxGetCurrent(&c);
	if (rc || c)
		return rc;
	rc = cuDevicePrimaryCtxRetain(&c, thread.device);
	return rc ? rc : cuCtxSetCurrent(c);
}

BF_CU_API int cudaGetDeviceCount(int *count)
{
	int rc = cuInit(0);

	if (count)
		*count = 0;
	rc = rc ? rc : cuDeviceGetCount(count);
	return bf_rt_done(rc);
}

BF_CU_API int cudaSetDevice(int device)
{
	CUcontext c;
	int rc = cuInit(0);

	rc = rc ? rc : cuDevicePrimaryCtxRetain(&c, device);
	rc = rc ? rc : cuCtxSetCurrent(c);
	if (!rc)
		thread.device = device;
	return bf_rt_done(rc);
}

/* All are alike, so the first is as good as any. */
BF_CU_API int cudaChooseDevice(int *device, const void *properties)
{
	if (!device || !properties)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	*device = 0;
	return bf_rt_done(cuInit(0));
}

/* Which ones a thread that has chosen none may be given, in order: the first of them becomes its device. */
BF_CU_API int cudaSetValidDevices(int *devices, int count)
{
	int all = 0, rc = cuInit(0);

	rc = rc ? rc : cuDeviceGetCount(&all);
	if (!rc && count && !devices)
		rc = BF_CU_INVALID_VALUE;
	for (int i = 0; !rc && i < count; i++)
		rc = devices[i] < 0 || devices[i] >= all ? BF_CU_INVALID_DEVICE : BF_CU_OK;
	if (!rc && count)
		thread.device = devices[0];
	return bf_rt_done(rc);
}

BF_CU_API int cudaInitDevice(int device, unsigned flags, unsigned more)
{
	CUcontext c;
	int rc = cuInit(0);

	(void)flags;
	(void)more;
	return bf_rt_done(rc ? rc : cuDevicePrimaryCtxRetain(&c, device));
}

BF_CU_API int cudaGetDevice(int *device)
{
	int rc = bf_rt_enter();

	return bf_rt_done(rc ? rc : cuCtxGetDevice(device));
}

BF_CU_API int cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	int rc = cuInit(0);

	return bf_rt_done(rc ? rc : cuDeviceGetAttribute(value, attribute, device));
}

int bf_rt_properties(void *out, const struct bf_rt_layout *l, int device)
{
	uint8_t *p = out;
	size_t bytes;
	int rc = cuInit(0), value;

	if (rc || !out)
		return bf_rt_done(rc ? rc : BF_CU_INVALID_VALUE);
	memset(p, 0, l->size);
	rc = cuDeviceGetName(out, AT_UUID, device);
	rc = rc ? rc : cuDeviceGetUuid_v2((struct bf_cu_uuid *)(void *)(p + AT_UUID), device);
	rc = rc ? rc : cuDeviceTotalMem_v2(&bytes, device);
	if (rc)
		return bf_rt_done(rc);
	memcpy(p + AT_MEMORY, &bytes, sizeof(bytes));
	for (size_t i = 0; i < l->int_count; i++)
		if (!cuDeviceGetAttribute(&value, l->ints[i].attribute, device))
			memcpy(p + l->ints[i].at, &value, sizeof(value));
	for (size_t i = 0; i < l->size_count; i++)
		if (!cuDeviceGetAttribute(&value, l->sizes[i].attribute, device)) {
			bytes = (size_t)value;
			memcpy(p + l->sizes[i].at, &bytes, sizeof(bytes));
		}
	return 0;
}

BF_CU_API int cudaDriverGetVersion(int *version)
{
	return bf_rt_done(cuDriverGetVersion(version));
}

BF_CU_API int cudaDeviceSynchronize(void)
{
	const int rc = bf_rt_enter();

	return bf_rt_done(rc ? rc : cuCtxSynchronize());
}

BF_CU_API int cudaDeviceReset(void)
{
	const int rc = bf_rt_enter();

	return bf_rt_done(rc ? rc : cuDevicePrimaryCtxReset_v2(thread.device));
}

BF_CU_API int cudaGetDeviceFlags(unsigned *flags)
{
	const int rc = bf_rt_enter();

	return bf_rt_done(rc ? rc : cuCtxGetFlags(flags));
}

BF_CU_API int cudaSetDeviceFlags(unsigned flags)
{
	const int rc = bf_rt_enter();

	return bf_rt_done(rc ? rc : cuCtxSetFlags(flags));
}

BF_CU_API int cudaDeviceGetLimit(size_t *value, int limit)
{
	const int rc = bf_rt_enter();

	return bf_rt_done(rc ? rc : cuCtxGetLimit(value, limit));
}

BF_CU_API int cudaDeviceSetLimit(int limit, size_t value)
{
	const int rc = bf_rt_enter();

	return bf_rt_done(rc ? rc : cuCtxSetLimit(limit, value));
}

BF_CU_API int cudaDeviceGetCacheConfig(int *config)
{
	return bf_rt_done(cuCtxGetCacheConfig(config));
}

BF_CU_API int cudaDeviceSetCacheConfig(int config)
{
	return bf_rt_done(cuCtxSetCacheConfig(config));
}

BF_CU_API int cudaDeviceGetPCIBusId(char *text, int len, int device)
{
	const int rc = cuInit(0);

	return bf_rt_done(rc ? rc : cuDeviceGetPCIBusId(text, len, device));
}

BF_CU_API int cudaDeviceGetByPCIBusId(int *device, const char *text)
{
	const int rc = cuInit(0);

	return bf_rt_done(rc ? rc : cuDeviceGetByPCIBusId(device, text));
}

BF_CU_API int cudaDeviceGetStreamPriorityRange(int *least, int *greatest)
{
	const int rc = bf_rt_enter();

	return bf_rt_done(rc ? rc : cuCtxGetStreamPriorityRange(least, greatest));
}

BF_CU_API int cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	const int rc = cuInit(0);

	return bf_rt_done(rc ? rc : cuDeviceCanAccessPeer(can, device, peer));
}

BF_CU_API int cudaDeviceGetP2PAttribute(int *value, int attribute, int from, int to)
{
	const int rc = cuInit(0);

	return bf_rt_done(rc ? rc : cuDeviceGetP2PAttribute(value, attribute, from, to));
}

BF_CU_API int cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	CUcontext c = NULL;
	int rc = bf_rt_enter();

	rc = rc ? rc : cuDevicePrimaryCtxRetain(&c, peer);
	return bf_rt_done(rc ? rc : cuCtxEnablePeerAccess(c, flags));
}

BF_CU_API int cudaDeviceDisablePeerAccess(int peer)
{
	CUcontext c = NULL;
	int rc = bf_rt_enter();

	rc = rc ? rc : cuDevicePrimaryCtxRetain(&c, peer);
	return bf_rt_done(rc ? rc : cuCtxDisablePeerAccess(c));
}

BF_CU_API int cudaDeviceFlushGPUDirectRDMAWrites(int target, int scope)
{
	const int rc = bf_rt_enter();

	return bf_rt_done(rc ? rc : cuFlushGPUDirectRDMAWrites(target, scope));
}

BF_CU_API int cudaProfilerStart(void)
{
	return 0;
}

BF_CU_API int cudaProfilerStop(void)
{
	return 0;
}

/* ---- streams and events; _ptsz: stream 0 is the thread's own ---- */

BF_CU_API int cudaStreamCreate(CUstream *out)
{
	BF_RT_ENTERED(cuStreamCreate(out, 0));
}

BF_CU_API int cudaStreamCreateWithFlags(CUstream *out, unsigned flags)
{
	BF_RT_ENTERED(cuStreamCreate(out, flags));
}

BF_CU_API int cudaStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
	BF_RT_ENTERED(cuStreamCreateWithPriority(out, flags, priority));
}

BF_CU_API int cudaStreamDestroy(CUstream s)
{
	BF_RT_ENTERED(cuStreamDestroy_v2(s));
}

BF_RT_BOTH(cudaStreamSynchronize, (CUstream s), cuStreamSynchronize(s))
BF_RT_BOTH(cudaStreamQuery, (CUstream s), cuStreamQuery(s))
BF_RT_BOTH(cudaStreamGetFlags, (CUstream s, unsigned *flags), cuStreamGetFlags(s, flags))
BF_RT_BOTH(cudaStreamGetPriority, (CUstream s, int *priority), cuStreamGetPriority(s, priority))
BF_RT_BOTH(cudaStreamGetId, (CUstream s, unsigned long long *id), cuStreamGetId(s, id))
BF_RT_BOTH(cudaStreamGetDevice, (CUstream s, int *device), cuStreamGetDevice(s, device))
BF_RT_BOTH(cudaStreamWaitEvent, (CUstream s, CUevent event, unsigned flags), cuStreamWaitEvent(s, event, flags))
BF_RT_BOTH(cudaStreamAddCallback, (CUstream s, bf_cu_stream_fn *fn, void *arg, unsigned flags),
	   cuStreamAddCallback(s, fn, arg, flags))
BF_RT_BOTH(cudaLaunchHostFunc, (CUstream s, bf_cu_host_fn *fn, void *arg), cuLaunchHostFunc(s, fn, arg))
BF_RT_BOTH(cudaEventRecord, (CUevent event, CUstream s), cuEventRecord(event, s))
BF_RT_BOTH(cudaEventRecordWithFlags, (CUevent event, CUstream s, unsigned flags),
	   cuEventRecordWithFlags(event, s, flags))

BF_RT_BOTH(cudaStreamSetAttribute, (CUstream s, int id, const union bf_cu_attribute_value *value),
	   cuStreamSetAttribute(s, id, value))
BF_RT_BOTH(cudaStreamGetAttribute, (CUstream s, int id, union bf_cu_attribute_value *value),
	   cuStreamGetAttribute(s, id, value))

BF_CU_API int cudaCtxResetPersistingL2Cache(void)
{
	BF_RT_ENTERED(cuCtxResetPersistingL2Cache());
}

BF_CU_API int cudaStreamCopyAttributes(CUstream to, CUstream from)
{
	BF_RT_ENTERED(cuStreamCopyAttributes(to, from));
}

BF_CU_API int cudaStreamCopyAttributes_ptsz(CUstream to, CUstream from)
{
	return cudaStreamCopyAttributes(to ? to : BF_CU_STREAM_THREAD, from ? from : BF_CU_STREAM_THREAD);
}

BF_CU_API int cudaEventCreate(CUevent *out)
{
	BF_RT_ENTERED(cuEventCreate(out, 0));
}

BF_CU_API int cudaEventCreateWithFlags(CUevent *out, unsigned flags)
{
	BF_RT_ENTERED(cuEventCreate(out, flags));
}

BF_CU_API int cudaEventDestroy(CUevent event)
{
	BF_RT_ENTERED(cuEventDestroy_v2(event));
}

BF_CU_API int cudaEventQuery(CUevent event)
{
	BF_RT_ENTERED(cuEventQuery(event));
}

BF_CU_API int cudaEventSynchronize(CUevent event)
{
	BF_RT_ENTERED(cuEventSynchronize(event));
}

BF_CU_API int cudaEventElapsedTime(float *ms, CUevent from, CUevent to)
{
	BF_RT_ENTERED(cuEventElapsedTime(ms, from, to));
}

BF_CU_API int cudaIpcGetEventHandle(struct bf_cu_ipc *out, CUevent event)
{
	BF_RT_ENTERED(cuIpcGetEventHandle(out, event));
}

BF_CU_API int cudaIpcOpenEventHandle(CUevent *out, struct bf_cu_ipc handle)
{
	BF_RT_ENTERED(cuIpcOpenEventHandle(out, handle));
}

/* ---- kernels ---- */

struct function_attributes {
	size_t shared, constants, local;
	int threads, registers, ptx, binary, cache, dynamic, carveout, cluster_set, cluster[3], policy, wide;
	int reserved[17];
};

BF_CU_API int cudaFuncGetAttributes(struct function_attributes *out, const void *stub)
{
	CUfunction f;
	int rc = bf_rt_kernel(stub, &f), v[16] = { 0 };

	if (rc || !out)
		return bf_rt_done(rc ? rc : BF_CU_INVALID_VALUE);
	for (int i = 0; !rc && i < 16; i++)
		rc = cuFuncGetAttribute(&v[i], i, f);
	*out = (struct function_attributes){ .shared = (size_t)v[1],
					     .constants = (size_t)v[2],
					     .local = (size_t)v[3],
					     .threads = v[0],
					     .registers = v[4],
					     .ptx = v[5],
					     .binary = v[6],
					     .cache = v[7],
					     .dynamic = v[8],
					     .carveout = v[9],
					     .cluster_set = v[10],
					     .cluster = { v[11], v[12], v[13] },
					     .policy = v[15],
					     .wide = v[14] };
	return bf_rt_done(rc);
}

BF_CU_API int cudaFuncSetAttribute(const void *stub, int attribute, int value)
{
	CUfunction f;
	const int rc = bf_rt_kernel(stub, &f);

	return bf_rt_done(rc ? rc : cuFuncSetAttribute(f, attribute, value));
}

BF_CU_API int cudaFuncSetCacheConfig(const void *stub, int config)
{
	CUfunction f;
	const int rc = bf_rt_kernel(stub, &f);

	return bf_rt_done(rc ? rc : cuFuncSetCacheConfig(f, config));
}

BF_CU_API int cudaFuncGetName(const char **name, const void *stub)
{
	CUfunction f;
	const int rc = bf_rt_kernel(stub, &f);

	return bf_rt_done(rc ? rc : cuFuncGetName(name, f));
}

BF_CU_API int cudaFuncGetParamInfo(const void *stub, size_t index, size_t *offset, size_t *size)
{
	CUfunction f;
	const int rc = bf_rt_kernel(stub, &f);

	return bf_rt_done(rc ? rc : cuFuncGetParamInfo(f, index, offset, size));
}

BF_CU_API int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *stub, int threads,
								     size_t dynamic, unsigned flags)
{
	CUfunction f;
	const int rc = bf_rt_kernel(stub, &f);

	return bf_rt_done(
	    rc ? rc : cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, f, threads, dynamic, flags));
}

BF_CU_API int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *stub, int threads, size_t dynamic)
{
	return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, stub, threads, dynamic, 0);
}

BF_CU_API int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *stub, int blocks, int threads)
{
	CUfunction f;
	const int rc = bf_rt_kernel(stub, &f);

	return bf_rt_done(rc ? rc : cuOccupancyAvailableDynamicSMemPerBlock(bytes, f, blocks, threads));
}

/* ---- the driver's entry points ---- */

/* cudaEnableLegacyStream is 1, cudaEnablePerThreadDefaultStream 2, as in cuGetProcAddress(). */
#define ENTRY_PER_THREAD 2u

static int entry_point(const char *name, void **fn, int version, unsigned long long flags, int *result)
{
	int status = 1;
	const int rc = cuGetProcAddress_v2(name, fn, version, flags, &status);

	if (result)
		*result = status == 1 ? 1 : status;
	return rc == BF_CU_NOT_FOUND ? 0 : rc;
}

BF_CU_API int cudaGetDriverEntryPoint(const char *name, void **fn, unsigned long long flags, int *result)
{
	int rc = bf_rt_enter(), version;

	rc = rc ? rc : cudaRuntimeGetVersion(&version);
	return bf_rt_done(rc ? rc : entry_point(name, fn, version, flags, result));
}

BF_CU_API int cudaGetDriverEntryPoint_ptsz(const char *name, void **fn, unsigned long long flags, int *result)
{
	return cudaGetDriverEntryPoint(name, fn, flags ? flags : ENTRY_PER_THREAD, result);
}

BF_CU_API int cudaGetDriverEntryPointByVersion(const char *name, void **fn, unsigned version, unsigned long long flags,
					       int *result)
{
	const int rc = bf_rt_enter();

	return bf_rt_done(rc ? rc : entry_point(name, fn, (int)version, flags, result));
}

BF_CU_API int cudaGetDriverEntryPointByVersion_ptsz(const char *name, void **fn, unsigned version,
						    unsigned long long flags, int *result)
{
	return cudaGetDriverEntryPointByVersion(name, fn, version, flags ? flags : ENTRY_PER_THREAD, result);
}

BF_CU_API int cudaGetExportTable(const void **table, const struct bf_cu_uuid *id)
{
	(void)id;
	*table = NULL;
	return bf_rt_done(bf_cu_unsupported("cudaGetExportTable"));
}
