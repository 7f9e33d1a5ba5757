/*
 * Nodes of graphs by kind: what is asked for becomes an operation that is kept. The same for what has been
 * instantiated: its node is the one that was copied from the program's.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/cuda/graph.h"

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_CLUSTER = 4, ATTRIBUTE_PRIORITY = 8 };

/* ---- operations ---- */

static int kernel_op(const struct bf_cu_kernel_node *k, const struct bf_ptx_launch *like, struct bf_cu_op **out)
{
	struct bf_cu_function *f = bf_cu_function_of(k->fn ? k->fn : k->kernel);
	struct bf_cu_asked asked = { .cooperative = like && like->cooperative };
	struct bf_cu_config config = { .shared = k->shared };

	if (!f)
		return BF_CU_INVALID_HANDLE;
	memcpy(config.grid, k->grid, sizeof(config.grid));
	memcpy(config.block, k->block, sizeof(config.block));
	if (like)
		memcpy(asked.cluster, like->cluster, sizeof(asked.cluster));
	return bf_cu_kernel_op(f, &config, &asked, k->params, k->extra, out);
}

static int copy_op(const struct bf_cu_copy3d *copy, struct bf_cu_op **out)
{
	if (copy->src_type == BF_CU_ARRAY || copy->dst_type == BF_CU_ARRAY)
		return bf_cu_unsupported("copies of arrays");
	*out = bf_cu_op_make(BF_CU_OP_COPY, 0);
	if (*out)
		(*out)->copy = *copy;
	return *out ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
}

static int fill_op(const struct bf_cu_fill_node *m, struct bf_cu_op **out)
{
	if (!m->at || (m->size != 1 && m->size != 2 && m->size != 4) || m->at % m->size || !m->width || !m->height ||
	    (m->height > 1 && m->pitch < m->width * m->size))
		return BF_CU_INVALID_VALUE;
	*out = bf_cu_op_make(BF_CU_OP_FILL, 0);
	if (!*out)
		return BF_CU_OUT_OF_MEMORY;
	(*out)->fill.at = m->at;
	(*out)->fill.pitch = m->pitch;
	(*out)->fill.value = m->value;
	(*out)->fill.size = m->size;
	(*out)->fill.width = m->width;
	(*out)->fill.height = m->height;
	return BF_CU_OK;
}

static int host_op(const struct bf_cu_host_node *h, struct bf_cu_op **out)
{
	if (!h->fn)
		return BF_CU_INVALID_VALUE;
	*out = bf_cu_op_make(BF_CU_OP_HOST, 0);
	if (!*out)
		return BF_CU_OUT_OF_MEMORY;
	(*out)->host.fn = h->fn;
	(*out)->host.arg = h->arg;
	return BF_CU_OK;
}

static int event_op(enum bf_cu_op_kind kind, CUevent e, struct bf_cu_op **out)
{
	if (!bf_cu_is_event(e))
		return BF_CU_INVALID_HANDLE;
	if (e->shared && kind == BF_CU_OP_WAIT_EVENT)
		return bf_cu_unsupported("events of other processes in graphs");
	*out = bf_cu_op_make(kind, 0);
	if (!*out)
		return BF_CU_OUT_OF_MEMORY;
	(*out)->event.event = e;
	e->refs++;
	return BF_CU_OK;
}

/* ---- adding ---- */

/* The operation, if its making went well, in a node of its own. */
static int add(CUgraphNode *out, CUgraph g, enum bf_cu_node_type type, int rc, struct bf_cu_op *op,
	       const CUgraphNode *from, size_t count)
{
	if (rc)
		return rc;
	if (!out || !bf_cu_nodes_of(g, from, count)) {
		bf_cu_ops_free(op);
		return BF_CU_INVALID_VALUE;
	}
	bf_cu_lock();
	*out = bf_cu_node_make(g, type, op, from, count);
	bf_cu_unlock();
	return *out ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
}

int cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count,
			    const struct bf_cu_kernel_node *k)
{
	struct bf_cu_op *op = NULL;
	const int rc = k ? kernel_op(k, NULL, &op) : BF_CU_INVALID_VALUE;

	return add(out, g, BF_CU_NODE_KERNEL, rc, op, from, count);
}

/* Of before CUDA 12: two members less at the end. */
static struct bf_cu_kernel_node newer(const void *k)
{
	struct bf_cu_kernel_node n = { 0 };

	memcpy(&n, k, offsetof(struct bf_cu_kernel_node, kernel));
	return n;
}

int cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count, const void *k)
{
	const struct bf_cu_kernel_node n = k ? newer(k) : (struct bf_cu_kernel_node){ 0 };

	return k ? cuGraphAddKernelNode_v2(out, g, from, count, &n) : BF_CU_INVALID_VALUE;
}

int cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count,
			 const struct bf_cu_copy3d *copy, CUcontext c)
{
	struct bf_cu_op *op = NULL;
	const int rc = copy ? copy_op(copy, &op) : BF_CU_INVALID_VALUE;

	(void)c;
	return add(out, g, BF_CU_NODE_COPY, rc, op, from, count);
}

int cuGraphAddMemsetNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count,
			 const struct bf_cu_fill_node *m, CUcontext c)
{
	struct bf_cu_op *op = NULL;
	const int rc = m ? fill_op(m, &op) : BF_CU_INVALID_VALUE;

	(void)c;
	return add(out, g, BF_CU_NODE_FILL, rc, op, from, count);
}

int cuGraphAddHostNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count,
		       const struct bf_cu_host_node *h)
{
	struct bf_cu_op *op = NULL;
	const int rc = h ? host_op(h, &op) : BF_CU_INVALID_VALUE;

	return add(out, g, BF_CU_NODE_HOST, rc, op, from, count);
}

int cuGraphAddEmptyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count)
{
	return add(out, g, BF_CU_NODE_EMPTY, BF_CU_OK, NULL, from, count);
}

int cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count, CUevent e)
{
	struct bf_cu_op *op = NULL;
	const int rc = event_op(BF_CU_OP_RECORD, e, &op);

	return add(out, g, BF_CU_NODE_RECORD, rc, op, from, count);
}

int cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count, CUevent e)
{
	struct bf_cu_op *op = NULL;
	const int rc = event_op(BF_CU_OP_WAIT_EVENT, e, &op);

	return add(out, g, BF_CU_NODE_WAIT_EVENT, rc, op, from, count);
}

static bool has_memory(const struct bf_cu_graph *g)
{
	for (uint32_t i = 0; i < g->count; i++)
		if (g->nodes[i]->memory || (g->nodes[i]->child && has_memory(g->nodes[i]->child)))
			return true;
	return false;
}

int cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count, CUgraph child)
{
	struct bf_cu_graph *copy;
	int rc = BF_CU_OUT_OF_MEMORY;

	if (!bf_cu_is_graph(child) || !out || !bf_cu_nodes_of(g, from, count) || has_memory(child))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	copy = bf_cu_graph_copy(child);
	*out = copy ? bf_cu_node_make(g, BF_CU_NODE_GRAPH, NULL, from, count) : NULL;
	if (*out) {
		(*out)->child = copy;
		copy->parent = *out;
		rc = BF_CU_OK;
	} else if (copy) {
		bf_cu_graph_free(copy, NULL, 0);
	}
	bf_cu_unlock();
	return rc;
}

/* ---- what a node has ---- */

static bool is(const struct bf_cu_node *n, enum bf_cu_node_type type)
{
	return bf_cu_is_node(n) && n->type == type;
}

int cuGraphKernelNodeGetParams_v2(CUgraphNode n, struct bf_cu_kernel_node *out)
{
	const struct bf_ptx_launch *l;

	if (!is(n, BF_CU_NODE_KERNEL) || !out)
		return BF_CU_INVALID_VALUE;
	l = &n->ops->kernel.launch;
	*out = (struct bf_cu_kernel_node){ .fn = n->ops->kernel.fn, .shared = l->shared_bytes, .params = n->params };
	memcpy(out->grid, l->grid, sizeof(out->grid));
	memcpy(out->block, l->block, sizeof(out->block));
	return BF_CU_OK;
}

int cuGraphKernelNodeGetParams(CUgraphNode n, void *out)
{
	struct bf_cu_kernel_node k;
	const int rc = out ? cuGraphKernelNodeGetParams_v2(n, &k) : BF_CU_INVALID_VALUE;

	if (!rc)
		memcpy(out, &k, offsetof(struct bf_cu_kernel_node, kernel));
	return rc;
}

int cuGraphMemcpyNodeGetParams(CUgraphNode n, struct bf_cu_copy3d *out)
{
	if (!is(n, BF_CU_NODE_COPY) || !out)
		return BF_CU_INVALID_VALUE;
	*out = n->ops->copy;
	return BF_CU_OK;
}

int cuGraphMemsetNodeGetParams(CUgraphNode n, struct bf_cu_fill_node *out)
{
	if (!is(n, BF_CU_NODE_FILL) || !out)
		return BF_CU_INVALID_VALUE;
	*out = (struct bf_cu_fill_node){ n->ops->fill.at,   n->ops->fill.pitch, n->ops->fill.value,
					 n->ops->fill.size, n->ops->fill.width, n->ops->fill.height };
	return BF_CU_OK;
}

int cuGraphHostNodeGetParams(CUgraphNode n, struct bf_cu_host_node *out)
{
	if (!is(n, BF_CU_NODE_HOST) || !out)
		return BF_CU_INVALID_VALUE;
	*out = (struct bf_cu_host_node){ n->ops->host.fn, n->ops->host.arg };
	return BF_CU_OK;
}

int cuGraphChildGraphNodeGetGraph(CUgraphNode n, CUgraph *out)
{
	if (!is(n, BF_CU_NODE_GRAPH) || !out)
		return BF_CU_INVALID_VALUE;
	*out = n->child;
	return BF_CU_OK;
}

static int get_event(CUgraphNode n, enum bf_cu_node_type type, CUevent *out)
{
	if (!is(n, type) || !out)
		return BF_CU_INVALID_VALUE;
	*out = n->ops->event.event;
	return BF_CU_OK;
}

int cuGraphEventRecordNodeGetEvent(CUgraphNode n, CUevent *out)
{
	return get_event(n, BF_CU_NODE_RECORD, out);
}

int cuGraphEventWaitNodeGetEvent(CUgraphNode n, CUevent *out)
{
	return get_event(n, BF_CU_NODE_WAIT_EVENT, out);
}

/* ---- changes, of a graph and of what was instantiated ---- */

static int change(struct bf_cu_node *n, int rc, struct bf_cu_op *op)
{
	if (rc)
		return rc;
	bf_cu_lock();
	rc = bf_cu_node_replace(n, op);
	bf_cu_unlock();
	return rc;
}

/* The node of what was instantiated that a node of the graph became. */
static struct bf_cu_node *inside(CUgraphExec e, CUgraphNode n, enum bf_cu_node_type type)
{
	return is(n, type) ? bf_cu_exec_node(e, n) : NULL;
}

static int set_kernel(struct bf_cu_node *n, const struct bf_cu_kernel_node *k)
{
	struct bf_cu_op *op = NULL;
	int rc;

	if (!n || !k)
		return BF_CU_INVALID_VALUE;
	rc = kernel_op(k, &n->ops->kernel.launch, &op);
	return change(n, rc, op);
}

int cuGraphKernelNodeSetParams_v2(CUgraphNode n, const struct bf_cu_kernel_node *k)
{
	return is(n, BF_CU_NODE_KERNEL) ? set_kernel(n, k) : BF_CU_INVALID_VALUE;
}

int cuGraphExecKernelNodeSetParams_v2(CUgraphExec e, CUgraphNode n, const struct bf_cu_kernel_node *k)
{
	return set_kernel(inside(e, n, BF_CU_NODE_KERNEL), k);
}

int cuGraphKernelNodeSetParams(CUgraphNode n, const void *k)
{
	const struct bf_cu_kernel_node wider = k ? newer(k) : (struct bf_cu_kernel_node){ 0 };

	return k ? cuGraphKernelNodeSetParams_v2(n, &wider) : BF_CU_INVALID_VALUE;
}

int cuGraphExecKernelNodeSetParams(CUgraphExec e, CUgraphNode n, const void *k)
{
	const struct bf_cu_kernel_node wider = k ? newer(k) : (struct bf_cu_kernel_node){ 0 };

	return k ? cuGraphExecKernelNodeSetParams_v2(e, n, &wider) : BF_CU_INVALID_VALUE;
}

static int set_copy(struct bf_cu_node *n, const struct bf_cu_copy3d *copy)
{
	struct bf_cu_op *op = NULL;
	const int rc = n && copy ? copy_op(copy, &op) : BF_CU_INVALID_VALUE;

	return change(n, rc, op);
}

int cuGraphMemcpyNodeSetParams(CUgraphNode n, const struct bf_cu_copy3d *copy)
{
	return set_copy(is(n, BF_CU_NODE_COPY) ? n : NULL, copy);
}

int cuGraphExecMemcpyNodeSetParams(CUgraphExec e, CUgraphNode n, const struct bf_cu_copy3d *copy, CUcontext c)
{
	(void)c;
	return set_copy(inside(e, n, BF_CU_NODE_COPY), copy);
}

static int set_fill(struct bf_cu_node *n, const struct bf_cu_fill_node *m)
{
	struct bf_cu_op *op = NULL;
	const int rc = n && m ? fill_op(m, &op) : BF_CU_INVALID_VALUE;

	return change(n, rc, op);
}

int cuGraphMemsetNodeSetParams(CUgraphNode n, const struct bf_cu_fill_node *m)
{
	return set_fill(is(n, BF_CU_NODE_FILL) ? n : NULL, m);
}

int cuGraphExecMemsetNodeSetParams(CUgraphExec e, CUgraphNode n, const struct bf_cu_fill_node *m, CUcontext c)
{
	(void)c;
	return set_fill(inside(e, n, BF_CU_NODE_FILL), m);
}

static int set_host(struct bf_cu_node *n, const struct bf_cu_host_node *h)
{
	struct bf_cu_op *op = NULL;
	const int rc = n && h ? host_op(h, &op) : BF_CU_INVALID_VALUE;

	return change(n, rc, op);
}

int cuGraphHostNodeSetParams(CUgraphNode n, const struct bf_cu_host_node *h)
{
	return set_host(is(n, BF_CU_NODE_HOST) ? n : NULL, h);
}

int cuGraphExecHostNodeSetParams(CUgraphExec e, CUgraphNode n, const struct bf_cu_host_node *h)
{
	return set_host(inside(e, n, BF_CU_NODE_HOST), h);
}

static int set_event(struct bf_cu_node *n, CUevent event)
{
	struct bf_cu_op *op = NULL;
	const int rc = n ? event_op(n->ops->kind, event, &op) : BF_CU_INVALID_VALUE;

	return change(n, rc, op);
}

int cuGraphEventRecordNodeSetEvent(CUgraphNode n, CUevent event)
{
	return set_event(is(n, BF_CU_NODE_RECORD) ? n : NULL, event);
}

int cuGraphEventWaitNodeSetEvent(CUgraphNode n, CUevent event)
{
	return set_event(is(n, BF_CU_NODE_WAIT_EVENT) ? n : NULL, event);
}

int cuGraphExecEventRecordNodeSetEvent(CUgraphExec e, CUgraphNode n, CUevent event)
{
	return set_event(inside(e, n, BF_CU_NODE_RECORD), event);
}

int cuGraphExecEventWaitNodeSetEvent(CUgraphExec e, CUgraphNode n, CUevent event)
{
	return set_event(inside(e, n, BF_CU_NODE_WAIT_EVENT), event);
}

int cuGraphNodeSetEnabled(CUgraphExec e, CUgraphNode n, unsigned enabled)
{
	struct bf_cu_node *own = bf_cu_is_node(n) ? bf_cu_exec_node(e, n) : NULL;

	if (!own || own->type > BF_CU_NODE_FILL)
		return BF_CU_INVALID_VALUE;
	own->disabled = !enabled;
	return BF_CU_OK;
}

int cuGraphNodeGetEnabled(CUgraphExec e, CUgraphNode n, unsigned *enabled)
{
	const struct bf_cu_node *own = bf_cu_is_node(n) ? bf_cu_exec_node(e, n) : NULL;

	if (!own || own->type > BF_CU_NODE_FILL || !enabled)
		return BF_CU_INVALID_VALUE;
	*enabled = !own->disabled;
	return BF_CU_OK;
}

/* ---- attributes of kernels ---- */

int cuGraphKernelNodeSetAttribute(CUgraphNode n, int id, const void *value)
{
	struct bf_ptx_launch *l;
	int word;

	if (!is(n, BF_CU_NODE_KERNEL) || !value)
		return BF_CU_INVALID_VALUE;
	l = &n->ops->kernel.launch;
	memcpy(&word, value, sizeof(word));
	switch (id) {
	case ATTRIBUTE_COOPERATIVE:
		l->cooperative = word != 0;
		return BF_CU_OK;
	case ATTRIBUTE_CLUSTER:
		memcpy(l->cluster, value, sizeof(l->cluster));
		return BF_CU_OK;
	case ATTRIBUTE_PRIORITY:
		n->priority = word; /* a hint */
		return BF_CU_OK;
	default:
		return bf_cu_unsupported("cuGraphKernelNodeSetAttribute: other than cooperative, cluster, priority");
	}
}

int cuGraphKernelNodeGetAttribute(CUgraphNode n, int id, void *value)
{
	const struct bf_ptx_launch *l;
	int word;

	if (!is(n, BF_CU_NODE_KERNEL) || !value)
		return BF_CU_INVALID_VALUE;
	l = &n->ops->kernel.launch;
	memset(value, 0, 64);
	switch (id) {
	case ATTRIBUTE_COOPERATIVE:
		word = l->cooperative;
		memcpy(value, &word, sizeof(word));
		return BF_CU_OK;
	case ATTRIBUTE_CLUSTER:
		memcpy(value, l->cluster, sizeof(l->cluster));
		return BF_CU_OK;
	case ATTRIBUTE_PRIORITY:
		memcpy(value, &n->priority, sizeof(n->priority));
		return BF_CU_OK;
	default:
		return bf_cu_unsupported("cuGraphKernelNodeGetAttribute: other than cooperative, cluster, priority");
	}
}

int cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from)
{
	if (!is(to, BF_CU_NODE_KERNEL) || !is(from, BF_CU_NODE_KERNEL))
		return BF_CU_INVALID_VALUE;
	to->priority = from->priority;
	to->ops->kernel.launch.cooperative = from->ops->kernel.launch.cooperative;
	memcpy(to->ops->kernel.launch.cluster, from->ops->kernel.launch.cluster, 3 * sizeof(uint32_t));
	return BF_CU_OK;
}

/* ---- any kind, by a structure that says which ---- */

int cuGraphAddNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode *from, const void *edges, size_t count,
		      struct bf_cu_node_params *p)
{
	int rc;

	(void)edges;
	if (!p)
		return BF_CU_INVALID_VALUE;
	switch (p->type) {
	case BF_CU_NODE_KERNEL:
		return cuGraphAddKernelNode_v2(out, g, from, count, &p->kernel);
	case BF_CU_NODE_COPY:
		return cuGraphAddMemcpyNode(out, g, from, count, &p->copy.copy, NULL);
	case BF_CU_NODE_FILL:
		return cuGraphAddMemsetNode(out, g, from, count, &p->fill, NULL);
	case BF_CU_NODE_HOST:
		return cuGraphAddHostNode(out, g, from, count, &p->host);
	case BF_CU_NODE_GRAPH:
		rc = cuGraphAddChildGraphNode(out, g, from, count, p->child);
		if (!rc)
			p->child = (*out)->child;
		return rc;
	case BF_CU_NODE_EMPTY:
		return cuGraphAddEmptyNode(out, g, from, count);
	case BF_CU_NODE_WAIT_EVENT:
		return cuGraphAddEventWaitNode(out, g, from, count, p->event);
	case BF_CU_NODE_RECORD:
		return cuGraphAddEventRecordNode(out, g, from, count, p->event);
	case BF_CU_NODE_ALLOCATE:
		return cuGraphAddMemAllocNode(out, g, from, count, &p->alloc);
	case BF_CU_NODE_FREE:
		return cuGraphAddMemFreeNode(out, g, from, count, p->freed);
	case BF_CU_NODE_WORDS:
		return cuGraphAddBatchMemOpNode(out, g, from, count, &p->words);
	case BF_CU_NODE_CONDITION:
		return bf_cu_condition_add(out, g, from, count, &p->condition);
	default:
		return bf_cu_unsupported("cuGraphAddNode: semaphores");
	}
}

int cuGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count, struct bf_cu_node_params *p)
{
	return cuGraphAddNode_v2(out, g, from, NULL, count, p);
}

static int set_node(struct bf_cu_node *n, const struct bf_cu_node_params *p)
{
	if (!n || !p || (int)n->type != p->type)
		return BF_CU_INVALID_VALUE;
	switch (p->type) {
	case BF_CU_NODE_KERNEL:
		return set_kernel(n, &p->kernel);
	case BF_CU_NODE_COPY:
		return set_copy(n, &p->copy.copy);
	case BF_CU_NODE_FILL:
		return set_fill(n, &p->fill);
	case BF_CU_NODE_HOST:
		return set_host(n, &p->host);
	case BF_CU_NODE_WAIT_EVENT:
	case BF_CU_NODE_RECORD:
		return set_event(n, p->event);
	default:
		return bf_cu_unsupported("cuGraphNodeSetParams: of this kind of node");
	}
}

int cuGraphNodeSetParams(CUgraphNode n, struct bf_cu_node_params *p)
{
	return bf_cu_is_node(n) ? set_node(n, p) : BF_CU_INVALID_VALUE;
}

int cuGraphExecNodeSetParams(CUgraphExec e, CUgraphNode n, struct bf_cu_node_params *p)
{
	return bf_cu_is_node(n) ? set_node(bf_cu_exec_node(e, n), p) : BF_CU_INVALID_VALUE;
}
