/* Calls about graphs whose parameters changed with CUDA 13: edges have data. */
#include "tools/cudart/runtime.h"

#define ENTERED(call)                                                                                                  \
	do {                                                                                                           \
		const int entered = bf_rt_enter();                                                                     \
                                                                                                                       \
		return bf_rt_done(entered ? entered : (call));                                                         \
	} while (0)

BF_CU_API int cudaGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, void *edges, size_t *count)
{
	ENTERED(cuGraphGetEdges_v2(g, from, to, edges, count));
}

BF_CU_API int cudaGraphNodeGetDependencies(CUgraphNode n, CUgraphNode *nodes, void *edges, size_t *count)
{
	ENTERED(cuGraphNodeGetDependencies_v2(n, nodes, edges, count));
}

BF_CU_API int cudaGraphNodeGetDependentNodes(CUgraphNode n, CUgraphNode *nodes, void *edges, size_t *count)
{
	ENTERED(cuGraphNodeGetDependentNodes_v2(n, nodes, edges, count));
}

BF_CU_API int cudaGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, const void *edges,
				       size_t count)
{
	ENTERED(cuGraphAddDependencies_v2(g, from, to, edges, count));
}

BF_CU_API int cudaGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, const void *edges,
					  size_t count)
{
	ENTERED(cuGraphRemoveDependencies_v2(g, from, to, edges, count));
}

BF_CU_API int cudaGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, const void *edges, size_t count,
			       void *params)
{
	(void)edges;
	return bf_rt_add_node(out, g, from, count, params);
}

BF_CU_API int cudaGraphInstantiate(CUgraphExec *out, CUgraph g, unsigned long long flags)
{
	ENTERED(cuGraphInstantiateWithFlags(out, g, flags));
}

BF_CU_API int cudaGraphExecUpdate(CUgraphExec e, CUgraph g, struct bf_cu_update *info)
{
	ENTERED(cuGraphExecUpdate_v2(e, g, info));
}

BF_CU_API int cudaStreamGetCaptureInfo(CUstream s, int *status, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
				       const void **edges, size_t *count)
{
	ENTERED(cuStreamGetCaptureInfo_v3(s, status, id, graph, nodes, edges, count));
}

BF_CU_API int cudaStreamGetCaptureInfo_ptsz(CUstream s, int *status, uint64_t *id, CUgraph *graph,
					    const CUgraphNode **nodes, const void **edges, size_t *count)
{
	return cudaStreamGetCaptureInfo(s ? s : BF_CU_STREAM_THREAD, status, id, graph, nodes, edges, count);
}

BF_CU_API int cudaStreamUpdateCaptureDependencies(CUstream s, const CUgraphNode *nodes, const void *edges, size_t count,
						  unsigned flags)
{
	ENTERED(cuStreamUpdateCaptureDependencies_v2(s, nodes, edges, count, flags));
}

BF_CU_API int cudaStreamUpdateCaptureDependencies_ptsz(CUstream s, const CUgraphNode *nodes, const void *edges,
						       size_t count, unsigned flags)
{
	return cudaStreamUpdateCaptureDependencies(s ? s : BF_CU_STREAM_THREAD, nodes, edges, count, flags);
}
