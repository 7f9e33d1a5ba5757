/* Capture and graphs. Kernels are named by the host's functions, copies by the runtime's structure. */
#include <string.h>

#include "tools/cudart/runtime.h"

/* A call of the driver under the runtime's name. */
#define SAME(name, driver, params, args)                                                                               \
	BF_CU_API int name params                                                                                      \
	{                                                                                                              \
		BF_RT_ENTERED(driver args);                                                                            \
	}

/* The same, where the stream may be the thread's own. */
#define BOTH(name, driver, params, args) BF_RT_BOTH(name, params, driver args)

/* ---- capture ---- */

BOTH(cudaStreamBeginCapture, cuStreamBeginCapture_v2, (CUstream s, int mode), (s, mode))
BOTH(cudaStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph,
     (CUstream s, CUgraph g, const CUgraphNode *from, const void *edges, size_t count, int mode),
     (s, g, from, edges, count, mode))
BOTH(cudaStreamEndCapture, cuStreamEndCapture, (CUstream s, CUgraph *out), (s, out))
BOTH(cudaStreamIsCapturing, cuStreamIsCapturing, (CUstream s, int *status), (s, status))

SAME(cudaThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, (int *mode), (mode))

/* ---- graphs ---- */

SAME(cudaGraphCreate, cuGraphCreate, (CUgraph * out, unsigned flags), (out, flags))
SAME(cudaGraphDestroy, cuGraphDestroy, (CUgraph g), (g))
SAME(cudaGraphClone, cuGraphClone, (CUgraph * out, CUgraph g), (out, g))
SAME(cudaGraphNodeFindInClone, cuGraphNodeFindInClone, (CUgraphNode * out, CUgraphNode n, CUgraph g), (out, n, g))
SAME(cudaGraphNodeGetType, cuGraphNodeGetType, (CUgraphNode n, int *type), (n, type))
SAME(cudaGraphGetNodes, cuGraphGetNodes, (CUgraph g, CUgraphNode *nodes, size_t *count), (g, nodes, count))
SAME(cudaGraphGetRootNodes, cuGraphGetRootNodes, (CUgraph g, CUgraphNode *nodes, size_t *count), (g, nodes, count))
SAME(cudaGraphDestroyNode, cuGraphDestroyNode, (CUgraphNode n), (n))
SAME(cudaGraphAddEmptyNode, cuGraphAddEmptyNode, (CUgraphNode * out, CUgraph g, const CUgraphNode *from, size_t count),
     (out, g, from, count))
SAME(cudaGraphAddHostNode, cuGraphAddHostNode,
     (CUgraphNode * out, CUgraph g, const CUgraphNode *from, size_t count, const struct bf_cu_host_node *h),
     (out, g, from, count, h))
SAME(cudaGraphAddChildGraphNode, cuGraphAddChildGraphNode,
     (CUgraphNode * out, CUgraph g, const CUgraphNode *from, size_t count, CUgraph child), (out, g, from, count, child))
SAME(cudaGraphAddEventRecordNode, cuGraphAddEventRecordNode,
     (CUgraphNode * out, CUgraph g, const CUgraphNode *from, size_t count, CUevent e), (out, g, from, count, e))
SAME(cudaGraphAddEventWaitNode, cuGraphAddEventWaitNode,
     (CUgraphNode * out, CUgraph g, const CUgraphNode *from, size_t count, CUevent e), (out, g, from, count, e))
SAME(cudaGraphHostNodeGetParams, cuGraphHostNodeGetParams, (CUgraphNode n, struct bf_cu_host_node *h), (n, h))
SAME(cudaGraphHostNodeSetParams, cuGraphHostNodeSetParams, (CUgraphNode n, const struct bf_cu_host_node *h), (n, h))
SAME(cudaGraphExecHostNodeSetParams, cuGraphExecHostNodeSetParams,
     (CUgraphExec e, CUgraphNode n, const struct bf_cu_host_node *h), (e, n, h))
SAME(cudaGraphChildGraphNodeGetGraph, cuGraphChildGraphNodeGetGraph, (CUgraphNode n, CUgraph *g), (n, g))
SAME(cudaGraphExecChildGraphNodeSetParams, cuGraphExecChildGraphNodeSetParams,
     (CUgraphExec e, CUgraphNode n, CUgraph g), (e, n, g))
SAME(cudaGraphEventRecordNodeGetEvent, cuGraphEventRecordNodeGetEvent, (CUgraphNode n, CUevent *v), (n, v))
SAME(cudaGraphEventRecordNodeSetEvent, cuGraphEventRecordNodeSetEvent, (CUgraphNode n, CUevent v), (n, v))
SAME(cudaGraphExecEventRecordNodeSetEvent, cuGraphExecEventRecordNodeSetEvent,
     (CUgraphExec e, CUgraphNode n, CUevent v), (e, n, v))
SAME(cudaGraphEventWaitNodeGetEvent, cuGraphEventWaitNodeGetEvent, (CUgraphNode n, CUevent *v), (n, v))
SAME(cudaGraphEventWaitNodeSetEvent, cuGraphEventWaitNodeSetEvent, (CUgraphNode n, CUevent v), (n, v))
SAME(cudaGraphExecEventWaitNodeSetEvent, cuGraphExecEventWaitNodeSetEvent, (CUgraphExec e, CUgraphNode n, CUevent v),
     (e, n, v))
SAME(cudaGraphKernelNodeSetAttribute, cuGraphKernelNodeSetAttribute, (CUgraphNode n, int id, const void *v), (n, id, v))
SAME(cudaGraphKernelNodeGetAttribute, cuGraphKernelNodeGetAttribute, (CUgraphNode n, int id, void *v), (n, id, v))
SAME(cudaGraphKernelNodeCopyAttributes, cuGraphKernelNodeCopyAttributes, (CUgraphNode to, CUgraphNode from), (to, from))
SAME(cudaGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, (CUgraphExec * out, CUgraph g, unsigned long long f),
     (out, g, f))
SAME(cudaGraphInstantiateWithParams, cuGraphInstantiateWithParams,
     (CUgraphExec * out, CUgraph g, struct bf_cu_instantiate *p), (out, g, p))
SAME(cudaGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams,
     (CUgraphExec * out, CUgraph g, struct bf_cu_instantiate *p), (out, g, p))
SAME(cudaGraphExecGetFlags, cuGraphExecGetFlags, (CUgraphExec e, uint64_t *flags), (e, flags))
SAME(cudaGraphExecDestroy, cuGraphExecDestroy, (CUgraphExec e), (e))
BOTH(cudaGraphLaunch, cuGraphLaunch, (CUgraphExec e, CUstream s), (e, s))
BOTH(cudaGraphUpload, cuGraphUpload, (CUgraphExec e, CUstream s), (e, s))
SAME(cudaGraphNodeSetEnabled, cuGraphNodeSetEnabled, (CUgraphExec e, CUgraphNode n, unsigned on), (e, n, on))
SAME(cudaGraphNodeGetEnabled, cuGraphNodeGetEnabled, (CUgraphExec e, CUgraphNode n, unsigned *on), (e, n, on))
SAME(cudaUserObjectCreate, cuUserObjectCreate,
     (CUuserObject * out, void *arg, bf_cu_host_fn *destroy, unsigned refs, unsigned flags),
     (out, arg, destroy, refs, flags))
SAME(cudaUserObjectRetain, cuUserObjectRetain, (CUuserObject o, unsigned count), (o, count))
SAME(cudaUserObjectRelease, cuUserObjectRelease, (CUuserObject o, unsigned count), (o, count))
SAME(cudaGraphRetainUserObject, cuGraphRetainUserObject, (CUgraph g, CUuserObject o, unsigned count, unsigned flags),
     (g, o, count, flags))
SAME(cudaGraphReleaseUserObject, cuGraphReleaseUserObject, (CUgraph g, CUuserObject o, unsigned count), (g, o, count))

/* ---- kernels ---- */

/* cudaKernelNodeParams, and cudaKernelNodeParamsV2: the same. */
struct kernel {
	const void *stub;
	struct bf_dim3 grid, block;
	unsigned shared;
	void **params, **extra;
};

static int driver_kernel(const struct kernel *k, struct bf_cu_kernel_node *out)
{
	CUfunction f;
	const int rc = k ? bf_rt_kernel(k->stub, &f) : BF_CU_INVALID_VALUE;

	if (rc)
		return rc;
	*out = (struct bf_cu_kernel_node){ .fn = f,
					   .grid = { k->grid.x, k->grid.y, k->grid.z },
					   .block = { k->block.x, k->block.y, k->block.z },
					   .shared = k->shared,
					   .params = k->params,
					   .extra = k->extra };
	return BF_CU_OK;
}

BF_CU_API int cudaGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count,
				     const struct kernel *k)
{
	struct bf_cu_kernel_node own;
	const int rc = driver_kernel(k, &own);

	return bf_rt_done(rc ? rc : cuGraphAddKernelNode_v2(out, g, from, count, &own));
}

BF_CU_API int cudaGraphKernelNodeGetParams(CUgraphNode n, struct kernel *k)
{
	struct bf_cu_kernel_node own;
	int rc = bf_rt_enter();

	rc = rc ? rc : k ? cuGraphKernelNodeGetParams_v2(n, &own) : BF_CU_INVALID_VALUE;
	if (!rc)
		*k = (struct kernel){ .stub = bf_rt_stub(own.fn),
				      .grid = { own.grid[0], own.grid[1], own.grid[2] },
				      .block = { own.block[0], own.block[1], own.block[2] },
				      .shared = own.shared,
				      .params = own.params };
	return bf_rt_done(rc);
}

BF_CU_API int cudaGraphKernelNodeSetParams(CUgraphNode n, const struct kernel *k)
{
	struct bf_cu_kernel_node own;
	const int rc = driver_kernel(k, &own);

	return bf_rt_done(rc ? rc : cuGraphKernelNodeSetParams_v2(n, &own));
}

BF_CU_API int cudaGraphExecKernelNodeSetParams(CUgraphExec e, CUgraphNode n, const struct kernel *k)
{
	struct bf_cu_kernel_node own;
	const int rc = driver_kernel(k, &own);

	return bf_rt_done(rc ? rc : cuGraphExecKernelNodeSetParams_v2(e, n, &own));
}

/* ---- copies ---- */

static struct bf_cu_copy3d line(void *to, const void *from, size_t size)
{
	return (struct bf_cu_copy3d){ .src_type = BF_CU_UNIFIED,
				      .src_device = (uintptr_t)from,
				      .dst_type = BF_CU_UNIFIED,
				      .dst_device = (uintptr_t)to,
				      .width = size,
				      .height = 1,
				      .depth = 1 };
}

static int add_copy(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count, int rc,
		    const struct bf_cu_copy3d *copy)
{
	return bf_rt_done(rc ? rc : cuGraphAddMemcpyNode(out, g, from, count, copy, NULL));
}

static int set_copy(CUgraphNode n, int rc, const struct bf_cu_copy3d *copy)
{
	return bf_rt_done(rc ? rc : cuGraphMemcpyNodeSetParams(n, copy));
}

static int set_exec_copy(CUgraphExec e, CUgraphNode n, int rc, const struct bf_cu_copy3d *copy)
{
	return bf_rt_done(rc ? rc : cuGraphExecMemcpyNodeSetParams(e, n, copy, NULL));
}

BF_CU_API int cudaGraphAddMemcpyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count,
				     const struct bf_rt_volume *v)
{
	struct bf_cu_copy3d c;

	return add_copy(out, g, from, count, bf_rt_volume(v, &c), &c);
}

BF_CU_API int cudaGraphMemcpyNodeSetParams(CUgraphNode n, const struct bf_rt_volume *v)
{
	struct bf_cu_copy3d c;

	return set_copy(n, bf_rt_volume(v, &c), &c);
}

BF_CU_API int cudaGraphExecMemcpyNodeSetParams(CUgraphExec e, CUgraphNode n, const struct bf_rt_volume *v)
{
	struct bf_cu_copy3d c;

	return set_exec_copy(e, n, bf_rt_volume(v, &c), &c);
}

BF_CU_API int cudaGraphMemcpyNodeGetParams(CUgraphNode n, struct bf_rt_volume *v)
{
	struct bf_cu_copy3d c;
	int rc = bf_rt_enter();

	rc = rc ? rc : v ? cuGraphMemcpyNodeGetParams(n, &c) : BF_CU_INVALID_VALUE;
	if (!rc)
		*v = (struct bf_rt_volume){
			.src_pos = { c.src_x, c.src_y, c.src_z },
			.src = { (void *)(uintptr_t)c.src_device, c.src_pitch, c.width, c.src_height },
			.dst_pos = { c.dst_x, c.dst_y, c.dst_z },
			.dst = { (void *)(uintptr_t)c.dst_device, c.dst_pitch, c.width, c.dst_height },
			.extent = { c.width, c.height, c.depth },
			.kind = 4, /* by the addresses */
		};
	return bf_rt_done(rc);
}

BF_CU_API int cudaGraphAddMemcpyNode1D(CUgraphNode *out, CUgraph g, const CUgraphNode *after, size_t count, void *to,
				       const void *from, size_t size, int kind)
{
	const struct bf_cu_copy3d c = line(to, from, size);

	(void)kind;
	return add_copy(out, g, after, count, bf_rt_enter(), &c);
}

BF_CU_API int cudaGraphMemcpyNodeSetParams1D(CUgraphNode n, void *to, const void *from, size_t size, int kind)
{
	const struct bf_cu_copy3d c = line(to, from, size);

	(void)kind;
	return set_copy(n, bf_rt_enter(), &c);
}

BF_CU_API int cudaGraphExecMemcpyNodeSetParams1D(CUgraphExec e, CUgraphNode n, void *to, const void *from, size_t size,
						 int kind)
{
	const struct bf_cu_copy3d c = line(to, from, size);

	(void)kind;
	return set_exec_copy(e, n, bf_rt_enter(), &c);
}

static int to_symbol(const void *symbol, const void *from, size_t size, size_t offset, struct bf_cu_copy3d *out)
{
	void *at;
	const int rc = bf_rt_symbol_place(symbol, size, offset, &at);

	*out = line(at, from, size);
	return rc;
}

static int from_symbol(void *to, const void *symbol, size_t size, size_t offset, struct bf_cu_copy3d *out)
{
	void *at;
	const int rc = bf_rt_symbol_place(symbol, size, offset, &at);

	*out = line(to, at, size);
	return rc;
}

BF_CU_API int cudaGraphAddMemcpyNodeToSymbol(CUgraphNode *out, CUgraph g, const CUgraphNode *after, size_t count,
					     const void *symbol, const void *from, size_t size, size_t offset, int kind)
{
	struct bf_cu_copy3d c;

	(void)kind;
	return add_copy(out, g, after, count, to_symbol(symbol, from, size, offset, &c), &c);
}

BF_CU_API int cudaGraphAddMemcpyNodeFromSymbol(CUgraphNode *out, CUgraph g, const CUgraphNode *after, size_t count,
					       void *to, const void *symbol, size_t size, size_t offset, int kind)
{
	struct bf_cu_copy3d c;

	(void)kind;
	return add_copy(out, g, after, count, from_symbol(to, symbol, size, offset, &c), &c);
}

BF_CU_API int cudaGraphMemcpyNodeSetParamsToSymbol(CUgraphNode n, const void *symbol, const void *from, size_t size,
						   size_t offset, int kind)
{
	struct bf_cu_copy3d c;

	(void)kind;
	return set_copy(n, to_symbol(symbol, from, size, offset, &c), &c);
}

BF_CU_API int cudaGraphMemcpyNodeSetParamsFromSymbol(CUgraphNode n, void *to, const void *symbol, size_t size,
						     size_t offset, int kind)
{
	struct bf_cu_copy3d c;

	(void)kind;
	return set_copy(n, from_symbol(to, symbol, size, offset, &c), &c);
}

BF_CU_API int cudaGraphExecMemcpyNodeSetParamsToSymbol(CUgraphExec e, CUgraphNode n, const void *symbol,
						       const void *from, size_t size, size_t offset, int kind)
{
	struct bf_cu_copy3d c;

	(void)kind;
	return set_exec_copy(e, n, to_symbol(symbol, from, size, offset, &c), &c);
}

BF_CU_API int cudaGraphExecMemcpyNodeSetParamsFromSymbol(CUgraphExec e, CUgraphNode n, void *to, const void *symbol,
							 size_t size, size_t offset, int kind)
{
	struct bf_cu_copy3d c;

	(void)kind;
	return set_exec_copy(e, n, from_symbol(to, symbol, size, offset, &c), &c);
}

/* ---- fills: cudaMemsetParams has the members of the driver's in another order ---- */

struct fill {
	void *at;
	size_t pitch;
	unsigned value, size;
	size_t width, height;
};

static int driver_fill(const struct fill *m, struct bf_cu_fill_node *out)
{
	if (!m)
		return BF_CU_INVALID_VALUE;
	*out = (struct bf_cu_fill_node){ (uintptr_t)m->at, m->pitch, m->value, m->size, m->width, m->height };
	return bf_rt_enter();
}

BF_CU_API int cudaGraphAddMemsetNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count,
				     const struct fill *m)
{
	struct bf_cu_fill_node own;
	const int rc = driver_fill(m, &own);

	return bf_rt_done(rc ? rc : cuGraphAddMemsetNode(out, g, from, count, &own, NULL));
}

BF_CU_API int cudaGraphMemsetNodeGetParams(CUgraphNode n, struct fill *m)
{
	struct bf_cu_fill_node own;
	int rc = bf_rt_enter();

	rc = rc ? rc : m ? cuGraphMemsetNodeGetParams(n, &own) : BF_CU_INVALID_VALUE;
	if (!rc)
		*m = (struct fill){ (void *)(uintptr_t)own.at, own.pitch, own.value, own.size, own.width, own.height };
	return bf_rt_done(rc);
}

BF_CU_API int cudaGraphMemsetNodeSetParams(CUgraphNode n, const struct fill *m)
{
	struct bf_cu_fill_node own;
	const int rc = driver_fill(m, &own);

	return bf_rt_done(rc ? rc : cuGraphMemsetNodeSetParams(n, &own));
}

BF_CU_API int cudaGraphExecMemsetNodeSetParams(CUgraphExec e, CUgraphNode n, const struct fill *m)
{
	struct bf_cu_fill_node own;
	const int rc = driver_fill(m, &own);

	return bf_rt_done(rc ? rc : cuGraphExecMemsetNodeSetParams(e, n, &own, NULL));
}

/* ---- any kind ---- */

/* cudaGraphNodeParams */
struct node {
	int type, reserved[3];
	union {
		long long all[29];
		struct kernel kernel;
		struct {
			int flags, reserved[3];
			struct bf_rt_volume volume;
		} copy;
		struct fill fill;
		struct bf_cu_host_node host;
		CUgraph child;
		CUevent event;
	};
	long long last;
};

enum { NODE_KERNEL, NODE_COPY };

static int driver_node(const struct node *p, struct bf_cu_node_params *out)
{
	if (!p)
		return BF_CU_INVALID_VALUE;
	*out = (struct bf_cu_node_params){ .type = p->type };
	if (p->type == NODE_KERNEL)
		return driver_kernel(&p->kernel, &out->kernel);
	if (p->type == NODE_COPY)
		return bf_rt_volume(&p->copy.volume, &out->copy.copy);
	memcpy(out->all, p->all, sizeof(out->all)); /* the same structures */
	return bf_rt_enter();
}

BF_CU_API int cudaGraphNodeSetParams(CUgraphNode n, const struct node *p)
{
	struct bf_cu_node_params own;
	const int rc = driver_node(p, &own);

	return bf_rt_done(rc ? rc : cuGraphNodeSetParams(n, &own));
}

BF_CU_API int cudaGraphExecNodeSetParams(CUgraphExec e, CUgraphNode n, const struct node *p)
{
	struct bf_cu_node_params own;
	const int rc = driver_node(p, &own);

	return bf_rt_done(rc ? rc : cuGraphExecNodeSetParams(e, n, &own));
}

int bf_rt_add_node(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count, void *params)
{
	struct bf_cu_node_params own;
	struct node *p = params;
	int rc = driver_node(p, &own);

	rc = rc ? rc : cuGraphAddNode(out, g, from, count, &own);
	if (!rc && own.type == 4) /* the graph inside */
		p->child = own.child;
	if (!rc && own.type == 13) /* the graphs inside */
		memcpy(p->all, own.all, sizeof(own.condition));
	if (!rc && own.type == 10) /* where the memory is */
		memcpy(p->all, own.all, sizeof(own.alloc));
	return bf_rt_done(rc);
}

/* ---- memory of graphs ---- */

BF_CU_API int cudaGraphAddMemAllocNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count,
				       struct bf_cu_alloc_node *p)
{
	BF_RT_ENTERED(cuGraphAddMemAllocNode(out, g, from, count, p));
}

BF_CU_API int cudaGraphMemAllocNodeGetParams(CUgraphNode n, struct bf_cu_alloc_node *out)
{
	BF_RT_ENTERED(cuGraphMemAllocNodeGetParams(n, out));
}

BF_CU_API int cudaGraphAddMemFreeNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count, void *at)
{
	BF_RT_ENTERED(cuGraphAddMemFreeNode(out, g, from, count, (uintptr_t)at));
}

BF_CU_API int cudaGraphMemFreeNodeGetParams(CUgraphNode n, CUdeviceptr *out)
{
	BF_RT_ENTERED(cuGraphMemFreeNodeGetParams(n, out));
}

BF_CU_API int cudaDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
	BF_RT_ENTERED(cuDeviceGetGraphMemAttribute(device, attribute, value));
}

BF_CU_API int cudaDeviceSetGraphMemAttribute(int device, int attribute, const void *value)
{
	BF_RT_ENTERED(cuDeviceSetGraphMemAttribute(device, attribute, value));
}

BF_CU_API int cudaDeviceGraphMemTrim(int device)
{
	BF_RT_ENTERED(cuDeviceGraphMemTrim(device));
}

/* ---- conditions ---- */

BF_CU_API int cudaGraphConditionalHandleCreate(uint64_t *out, CUgraph g, unsigned initial, unsigned flags)
{
	BF_RT_ENTERED(cuGraphConditionalHandleCreate(out, g, NULL, initial, flags));
}
