/* What CUDA 13 has otherwise than CUDA 12: layouts, locations instead of devices, data of edges. */
#include <string.h>

#include "sim/compiler.h"
#include "tools/cudart/runtime.h"

BF_CU_API int cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	*version = 13000;
	return 0;
}

/* ---- devices and memory ---- */

static const struct bf_rt_member ints[] = {
	{ 304, 12 },  { 308, 10 },  { 320, 1 },   { 324, 2 },   { 328, 3 },   { 332, 4 },   { 336, 5 },   { 340, 6 },
	{ 344, 7 },   { 360, 75 },  { 364, 76 },  { 384, 16 },  { 388, 18 },  { 392, 19 },  { 560, 31 },  { 564, 32 },
	{ 568, 33 },  { 572, 34 },  { 576, 50 },  { 580, 35 },  { 584, 40 },  { 588, 41 },  { 592, 37 },  { 596, 38 },
	{ 600, 108 }, { 604, 39 },  { 608, 78 },  { 612, 79 },  { 616, 80 },  { 632, 82 },  { 636, 83 },  { 640, 84 },
	{ 644, 85 },  { 648, 86 },  { 652, 88 },  { 656, 89 },  { 660, 90 },  { 664, 91 },  { 668, 95 },  { 680, 100 },
	{ 684, 101 }, { 688, 106 }, { 692, 109 }, { 704, 99 },  { 708, 112 }, { 712, 113 }, { 716, 114 }, { 720, 115 },
	{ 724, 116 }, { 728, 117 }, { 732, 118 }, { 736, 119 }, { 740, 121 }, { 744, 125 }, { 748, 120 }, { 752, 129 },
	{ 756, 130 }, { 760, 131 }, { 764, 133 }, { 768, 134 }, { 772, 139 }, { 776, 140 }, { 780, 143 },
};

static const struct bf_rt_member sizes[] = {
	{ 296, 8 }, { 312, 11 }, { 352, 9 }, { 368, 14 }, { 376, 51 }, { 624, 81 }, { 672, 97 }, { 696, 111 },
};

BF_CU_API int cudaGetDeviceProperties(void *out, int device)
{
	static const struct bf_rt_layout layout = { .size = 1008,
						    .ints = ints,
						    .sizes = sizes,
						    .int_count = BF_ARRAY_LEN(ints),
						    .size_count = BF_ARRAY_LEN(sizes) };

	return bf_rt_properties(out, &layout, device);
}

BF_CU_API int cudaPointerGetAttributes(void *out, const void *p)
{
	struct bf_rt_pointer is;
	int rc;

	if (!out)
		return bf_rt_done(BF_CU_INVALID_VALUE);
	rc = bf_rt_pointer(&is, p);
	if (rc)
		return rc;
	memset(out, 0, sizeof(is) + 8 * sizeof(long));
	memcpy(out, &is, sizeof(is));
	return 0;
}

BF_CU_API int cudaMemAdvise(const void *p, size_t size, int advice, struct bf_cu_location where)
{
	BF_RT_ENTERED(cuMemAdvise_v2((uintptr_t)p, size, advice, where));
}

BF_CU_API int cudaMemPrefetchAsync(const void *p, size_t size, struct bf_cu_location where, unsigned flags,
				   CUstream stream)
{
	BF_RT_ENTERED(cuMemPrefetchAsync_v2((uintptr_t)p, size, where, flags, stream));
}

BF_CU_API int cudaMemPrefetchAsync_ptsz(const void *p, size_t size, struct bf_cu_location where, unsigned flags,
					CUstream stream)
{
	return cudaMemPrefetchAsync(p, size, where, flags, stream ? stream : BF_CU_STREAM_THREAD);
}

BF_RT_BOTH(cudaMemcpyBatchAsync,
	   (const CUdeviceptr *to, const CUdeviceptr *from, const size_t *lens, size_t count,
	    const struct bf_cu_copy_attribute *attributes, const size_t *first, size_t kinds, CUstream s),
	   cuMemcpyBatchAsync_v2(to, from, lens, count, attributes, first, kinds, s))

BF_CU_API int cudaMemGetDefaultMemPool(CUmemoryPool *out, const struct bf_cu_location *where, int type)
{
	BF_RT_ENTERED(cuMemGetDefaultMemPool(out, where, type));
}

BF_CU_API int cudaMemGetMemPool(CUmemoryPool *out, const struct bf_cu_location *where, int type)
{
	BF_RT_ENTERED(cuMemGetMemPool(out, where, type));
}

BF_CU_API int cudaMemSetMemPool(const struct bf_cu_location *where, int type, CUmemoryPool p)
{
	BF_RT_ENTERED(cuMemSetMemPool(where, type, p));
}

/* ---- graphs ---- */

BF_CU_API int cudaGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, void *edges, size_t *count)
{
	BF_RT_ENTERED(cuGraphGetEdges_v2(g, from, to, edges, count));
}

BF_CU_API int cudaGraphNodeGetDependencies(CUgraphNode n, CUgraphNode *nodes, void *edges, size_t *count)
{
	BF_RT_ENTERED(cuGraphNodeGetDependencies_v2(n, nodes, edges, count));
}

BF_CU_API int cudaGraphNodeGetDependentNodes(CUgraphNode n, CUgraphNode *nodes, void *edges, size_t *count)
{
	BF_RT_ENTERED(cuGraphNodeGetDependentNodes_v2(n, nodes, edges, count));
}

BF_CU_API int cudaGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, const void *edges,
				       size_t count)
{
	BF_RT_ENTERED(cuGraphAddDependencies_v2(g, from, to, edges, count));
}

BF_CU_API int cudaGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, const void *edges,
					  size_t count)
{
	BF_RT_ENTERED(cuGraphRemoveDependencies_v2(g, from, to, edges, count));
}

BF_CU_API int cudaGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, const void *edges, size_t count,
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

BF_CU_API int cudaStreamGetCaptureInfo(CUstream s, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
				       const void **edges, size_t *count)
{
	BF_RT_ENTERED(cuStreamGetCaptureInfo_v3(s, status, id, graph, nodes, edges, count));
}

BF_CU_API int cudaStreamGetCaptureInfo_ptsz(CUstream s, int *status, uint64_t *id, CUgraph *graph,
					    const CUgraphNode **nodes, const void **edges, size_t *count)
{
	return cudaStreamGetCaptureInfo(s ? s : BF_CU_STREAM_THREAD, status, id, graph, nodes, edges, count);
}

BF_CU_API int cudaStreamUpdateCaptureDependencies(CUstream s, const CUgraphNode *nodes, const void *edges, size_t count,
						  unsigned flags)
{
	BF_RT_ENTERED(cuStreamUpdateCaptureDependencies_v2(s, nodes, edges, count, flags));
}

BF_CU_API int cudaStreamUpdateCaptureDependencies_ptsz(CUstream s, const CUgraphNode *nodes, const void *edges,
						       size_t count, unsigned flags)
{
	return cudaStreamUpdateCaptureDependencies(s ? s : BF_CU_STREAM_THREAD, nodes, edges, count, flags);
}
