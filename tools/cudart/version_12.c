/*
 * What CUDA 12 has otherwise than CUDA 13: layouts, devices instead of locations, and calls of which newer ones, with
 * data of edges, have a name of their own (_v2, _v3). By driver_types.h and cuda_runtime_api.h of CUDA 12.6.
 */
#include <string.h>

#include "sim/compiler.h"
#include "tools/cudart/runtime.h"

BF_CU_API int cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	*version = 12060;
	return 0;
}

/* ---- devices and memory ---- */

static const struct bf_rt_member ints[] = {
	{ 304, 12 },  { 308, 10 },  { 320, 1 },   { 324, 2 },   { 328, 3 },   { 332, 4 },   { 336, 5 },   { 340, 6 },
	{ 344, 7 },   { 348, 13 },  { 360, 75 },  { 364, 76 },  { 384, 15 },  { 388, 16 },  { 392, 17 },  { 396, 18 },
	{ 400, 19 },  { 404, 20 },  { 576, 31 },  { 580, 32 },  { 584, 33 },  { 588, 34 },  { 592, 50 },  { 596, 35 },
	{ 600, 40 },  { 604, 41 },  { 608, 36 },  { 612, 37 },  { 616, 38 },  { 620, 108 }, { 624, 39 },  { 628, 78 },
	{ 632, 79 },  { 636, 80 },  { 648, 82 },  { 652, 83 },  { 656, 84 },  { 660, 85 },  { 664, 86 },  { 668, 87 },
	{ 672, 88 },  { 676, 89 },  { 680, 90 },  { 684, 91 },  { 688, 95 },  { 704, 100 }, { 708, 101 }, { 712, 106 },
	{ 716, 109 }, { 728, 99 },  { 732, 112 }, { 736, 113 }, { 740, 114 }, { 744, 115 }, { 748, 116 }, { 752, 117 },
	{ 756, 118 }, { 760, 119 }, { 764, 121 }, { 768, 125 }, { 772, 120 }, { 776, 129 }
};

static const struct bf_rt_member sizes[] = { { 296, 8 },  { 312, 11 }, { 352, 9 },  { 368, 14 },
					     { 376, 51 }, { 640, 81 }, { 696, 97 }, { 720, 111 } };

BF_CU_API int cudaGetDeviceProperties_v2(void *out, int device)
{
	static const struct bf_rt_layout layout = { .size = 1032,
						    .ints = ints,
						    .sizes = sizes,
						    .int_count = BF_ARRAY_LEN(ints),
						    .size_count = BF_ARRAY_LEN(sizes) };

	return bf_rt_properties(out, &layout, device);
}

/* What programs of CUDA 11 ask: another layout. */
BF_CU_API int cudaGetDeviceProperties(void *out, int device)
{
	(void)out;
	(void)device;
	return bf_rt_done(bf_cu_unsupported("cudaGetDeviceProperties of CUDA 11"));
}

BF_CU_API int cudaPointerGetAttributes(struct bf_rt_pointer *out, const void *p)
{
	return bf_rt_pointer(out, p);
}

BF_CU_API int cudaMemAdvise(const void *p, size_t size, int advice, int device)
{
	BF_RT_ENTERED(cuMemAdvise((uintptr_t)p, size, advice, device));
}

BF_CU_API int cudaMemAdvise_v2(const void *p, size_t size, int advice, struct bf_cu_location where)
{
	BF_RT_ENTERED(cuMemAdvise_v2((uintptr_t)p, size, advice, where));
}

BF_CU_API int cudaMemPrefetchAsync(const void *p, size_t size, int device, CUstream stream)
{
	BF_RT_ENTERED(cuMemPrefetchAsync((uintptr_t)p, size, device, stream));
}

BF_CU_API int cudaMemPrefetchAsync_v2(const void *p, size_t size, struct bf_cu_location where, unsigned flags,
				      CUstream stream)
{
	BF_RT_ENTERED(cuMemPrefetchAsync_v2((uintptr_t)p, size, where, flags, stream));
}

BF_CU_API int cudaMemPrefetchAsync_ptsz(const void *p, size_t size, int device, CUstream stream)
{
	return cudaMemPrefetchAsync(p, size, device, stream ? stream : BF_CU_STREAM_THREAD);
}

BF_CU_API int cudaMemPrefetchAsync_v2_ptsz(const void *p, size_t size, struct bf_cu_location where, unsigned flags,
					   CUstream stream)
{
	return cudaMemPrefetchAsync_v2(p, size, where, flags, stream ? stream : BF_CU_STREAM_THREAD);
}

BF_RT_BOTH(cudaMemcpyBatchAsync,
	   (const CUdeviceptr *to, const CUdeviceptr *from, const size_t *lens, size_t count,
	    const struct bf_cu_copy_attribute *attributes, const size_t *first, size_t kinds, size_t *failed,
	    CUstream s),
	   cuMemcpyBatchAsync(to, from, lens, count, attributes, first, kinds, failed, s))

/* Banks of shared memory, which have had one width since Maxwell. */
BF_CU_API int cudaDeviceSetSharedMemConfig(int config)
{
	BF_RT_ENTERED(cuCtxSetSharedMemConfig(config));
}

BF_CU_API int cudaDeviceGetSharedMemConfig(int *config)
{
	BF_RT_ENTERED(cuCtxGetSharedMemConfig(config));
}

BF_CU_API int cudaFuncSetSharedMemConfig(const void *stub, int config)
{
	CUfunction f;
	const int rc = bf_rt_kernel(stub, &f);

	return bf_rt_done(rc ? rc : cuFuncSetSharedMemConfig(f, config));
}

/* ---- names of before CUDA 4, for what a thread has shared with its process since ---- */

BF_CU_API int cudaDeviceSynchronize(void);
BF_CU_API int cudaDeviceReset(void);
BF_CU_API int cudaDeviceGetLimit(size_t *value, int limit);
BF_CU_API int cudaDeviceSetLimit(int limit, size_t value);
BF_CU_API int cudaDeviceGetCacheConfig(int *config);
BF_CU_API int cudaDeviceSetCacheConfig(int config);

BF_CU_API int cudaThreadSynchronize(void)
{
	return cudaDeviceSynchronize();
}

BF_CU_API int cudaThreadExit(void)
{
	return cudaDeviceReset();
}

BF_CU_API int cudaThreadGetLimit(size_t *value, int limit)
{
	return cudaDeviceGetLimit(value, limit);
}

BF_CU_API int cudaThreadSetLimit(int limit, size_t value)
{
	return cudaDeviceSetLimit(limit, value);
}

BF_CU_API int cudaThreadGetCacheConfig(int *config)
{
	return cudaDeviceGetCacheConfig(config);
}

BF_CU_API int cudaThreadSetCacheConfig(int config)
{
	return cudaDeviceSetCacheConfig(config);
}

/* GPUs have had doubles since 2008. */
BF_CU_API int cudaSetDoubleForDevice(double *value)
{
	(void)value;
	return 0;
}

BF_CU_API int cudaSetDoubleForHost(double *value)
{
	(void)value;
	return 0;
}

BF_RT_ABSENT(cudaLaunchCooperativeKernelMultiDevice)
BF_RT_ABSENT(cudaSignalExternalSemaphoresAsync_v2)
BF_RT_ABSENT(cudaSignalExternalSemaphoresAsync_v2_ptsz)
BF_RT_ABSENT(cudaWaitExternalSemaphoresAsync_v2)
BF_RT_ABSENT(cudaWaitExternalSemaphoresAsync_v2_ptsz)

/* ---- graphs ---- */

BF_CU_API int cudaGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	BF_RT_ENTERED(cuGraphGetEdges(g, from, to, count));
}

BF_CU_API int cudaGraphGetEdges_v2(CUgraph g, CUgraphNode *from, CUgraphNode *to, void *edges, size_t *count)
{
	BF_RT_ENTERED(cuGraphGetEdges_v2(g, from, to, edges, count));
}

BF_CU_API int cudaGraphNodeGetDependencies(CUgraphNode n, CUgraphNode *nodes, size_t *count)
{
	BF_RT_ENTERED(cuGraphNodeGetDependencies(n, nodes, count));
}

BF_CU_API int cudaGraphNodeGetDependencies_v2(CUgraphNode n, CUgraphNode *nodes, void *edges, size_t *count)
{
	BF_RT_ENTERED(cuGraphNodeGetDependencies_v2(n, nodes, edges, count));
}

BF_CU_API int cudaGraphNodeGetDependentNodes(CUgraphNode n, CUgraphNode *nodes, size_t *count)
{
	BF_RT_ENTERED(cuGraphNodeGetDependentNodes(n, nodes, count));
}

BF_CU_API int cudaGraphNodeGetDependentNodes_v2(CUgraphNode n, CUgraphNode *nodes, void *edges, size_t *count)
{
	BF_RT_ENTERED(cuGraphNodeGetDependentNodes_v2(n, nodes, edges, count));
}

BF_CU_API int cudaGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	BF_RT_ENTERED(cuGraphAddDependencies(g, from, to, count));
}

BF_CU_API int cudaGraphAddDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, const void *edges,
					  size_t count)
{
	BF_RT_ENTERED(cuGraphAddDependencies_v2(g, from, to, edges, count));
}

BF_CU_API int cudaGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	BF_RT_ENTERED(cuGraphRemoveDependencies(g, from, to, count));
}

BF_CU_API int cudaGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to,
					     const void *edges, size_t count)
{
	BF_RT_ENTERED(cuGraphRemoveDependencies_v2(g, from, to, edges, count));
}

BF_CU_API int cudaGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count, void *params)
{
	return bf_rt_add_node(out, g, from, count, params);
}

BF_CU_API int cudaGraphAddNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode *from, const void *edges, size_t count,
				  void *params)
{
	(void)edges;
	return bf_rt_add_node(out, g, from, count, params);
}

BF_CU_API int cudaGraphInstantiate(CUgraphExec *out, CUgraph g, unsigned long long flags)
{
	BF_RT_ENTERED(cuGraphInstantiateWithFlags(out, g, flags));
}

BF_CU_API int cudaGraphExecUpdate(CUgraphExec e, CUgraph g, struct bf_cu_update *info)
{
	BF_RT_ENTERED(cuGraphExecUpdate_v2(e, g, info));
}

BF_RT_BOTH(cudaStreamGetCaptureInfo, (CUstream s, int *status, uint64_t *id), cuStreamGetCaptureInfo(s, status, id))
BF_RT_BOTH(cudaStreamGetCaptureInfo_v2,
	   (CUstream s, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes, size_t *count),
	   cuStreamGetCaptureInfo_v2(s, status, id, graph, nodes, count))
BF_RT_BOTH(cudaStreamGetCaptureInfo_v3,
	   (CUstream s, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes, const void **edges,
	    size_t *count),
	   cuStreamGetCaptureInfo_v3(s, status, id, graph, nodes, edges, count))
BF_RT_BOTH(cudaStreamUpdateCaptureDependencies, (CUstream s, const CUgraphNode *nodes, size_t count, unsigned flags),
	   cuStreamUpdateCaptureDependencies(s, nodes, count, flags))
BF_RT_BOTH(cudaStreamUpdateCaptureDependencies_v2,
	   (CUstream s, const CUgraphNode *nodes, const void *edges, size_t count, unsigned flags),
	   cuStreamUpdateCaptureDependencies_v2(s, nodes, edges, count, flags))
