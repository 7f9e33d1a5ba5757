/* Nodes that allocate and free memory, which is there as long as its graphs are, and nodes that wait for words. */
#include <stdlib.h>
#include <string.h>

#include "tools/cuda/graph.h"

/* What cuDeviceGetGraphMemAttribute() tells. */
enum { USED, USED_HIGH, RESERVED, RESERVED_HIGH };

static void count(struct bf_cu_device *d, uint32_t what, uint64_t now)
{
	d->graphs[what] = now;
	if (now > d->graphs[what + 1])
		d->graphs[what + 1] = now;
}

void bf_cu_graph_memory_live(struct bf_cu_graph_memory *m, bool live)
{
	struct bf_cu_device *d = &bf_cu.device[m->device];

	if (m->live != live)
		count(d, USED, live ? d->graphs[USED] + m->size : d->graphs[USED] - m->size);
	m->live = live;
}

void bf_cu_graph_memory_gone(struct bf_cu_graph_memory *m)
{
	struct bf_cu_device *d = &bf_cu.device[m->device];

	if (m->live) /* from now on it is the program's own */
		d->graphs[USED] -= m->size;
	d->graphs[RESERVED] -= m->size;
}

int bf_cu_graph_allocate(struct bf_cu_graph *g, int device, size_t size, struct bf_cu_node *const *from,
			 size_t count_from, struct bf_cu_node **out)
{
	struct bf_cu_graph_memory *m = calloc(1, sizeof(*m));
	struct bf_cu_device *d = &bf_cu.device[device];
	struct bf_cu_block *b = NULL;
	int rc = m ? bf_cu_allocate(device, size, &b) : BF_CU_OUT_OF_MEMORY;

	if (rc) {
		free(m);
		return rc;
	}
	*out = bf_cu_node_make(g, BF_CU_NODE_ALLOCATE, NULL, from, count_from);
	if (!*out) {
		bf_cu_release(b->at);
		free(m);
		return BF_CU_OUT_OF_MEMORY;
	}
	*m = (struct bf_cu_graph_memory){ .at = b->at, .size = size, .device = device, .refs = 1 };
	b->graph = (*out)->memory = m;
	count(d, RESERVED, d->graphs[RESERVED] + size);
	return BF_CU_OK;
}

int bf_cu_graph_release(struct bf_cu_graph *g, struct bf_cu_graph_memory *m, struct bf_cu_node *const *from,
			size_t count_from, struct bf_cu_node **out)
{
	*out = bf_cu_node_make(g, BF_CU_NODE_FREE, NULL, from, count_from);
	if (!*out)
		return BF_CU_OUT_OF_MEMORY;
	(*out)->memory = m;
	m->refs++;
	return BF_CU_OK;
}

/* ---- by hand ---- */

int cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t n, struct bf_cu_alloc_node *p)
{
	int rc;

	if (!out || !p || !p->size || !bf_cu_nodes_of(g, from, n))
		return BF_CU_INVALID_VALUE;
	if (p->pool.type != 1 || p->pool.location.type != 1 || p->pool.location.id < 0 ||
	    (uint32_t)p->pool.location.id >= bf_cu.count)
		return BF_CU_INVALID_VALUE;
	if (p->pool.handles) /* no process but this one may have it */
		return BF_CU_NOT_SUPPORTED;
	bf_cu_lock();
	rc = bf_cu_graph_allocate(g, p->pool.location.id, p->size, from, n, out);
	if (!rc)
		p->at = (*out)->memory->at;
	bf_cu_unlock();
	return rc;
}

int cuGraphMemAllocNodeGetParams(CUgraphNode n, struct bf_cu_alloc_node *out)
{
	if (!out || !bf_cu_is_node(n) || n->type != BF_CU_NODE_ALLOCATE)
		return BF_CU_INVALID_VALUE;
	*out = (struct bf_cu_alloc_node){
		.pool = { .type = 1, .location = { .type = 1, .id = n->memory->device } },
		.size = n->memory->size,
		.at = n->memory->at,
	};
	return BF_CU_OK;
}

int cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t n, CUdeviceptr at)
{
	const struct bf_cu_block *b;
	int rc;

	if (!out || !bf_cu_nodes_of(g, from, n))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	b = bf_cu_block_at(at);
	rc = b && b->at == at && b->graph ? BF_CU_OK : BF_CU_INVALID_VALUE;
	for (uint32_t i = 0; !rc && i < g->count; i++) /* once is enough */
		if (g->nodes[i]->type == BF_CU_NODE_FREE && g->nodes[i]->memory == b->graph)
			rc = BF_CU_INVALID_VALUE;
	rc = rc ? rc : bf_cu_graph_release(g, b->graph, from, n, out);
	bf_cu_unlock();
	return rc;
}

int cuGraphMemFreeNodeGetParams(CUgraphNode n, CUdeviceptr *out)
{
	if (!out || !bf_cu_is_node(n) || n->type != BF_CU_NODE_FREE)
		return BF_CU_INVALID_VALUE;
	*out = n->memory->at;
	return BF_CU_OK;
}

int cuDeviceGetGraphMemAttribute(int device, int attribute, void *value)
{
	const int rc = bf_cu_check_device(device);

	if (rc || !value || attribute < USED || attribute > RESERVED_HIGH)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	memcpy(value, &bf_cu.device[device].graphs[attribute], sizeof(uint64_t));
	bf_cu_unlock();
	return BF_CU_OK;
}

/* The highest values begin anew; nothing else can be set. */
int cuDeviceSetGraphMemAttribute(int device, int attribute, const void *value)
{
	const int rc = bf_cu_check_device(device);
	uint64_t zero;

	if (rc || !value || (attribute != USED_HIGH && attribute != RESERVED_HIGH))
		return rc ? rc : BF_CU_INVALID_VALUE;
	memcpy(&zero, value, sizeof(zero));
	if (zero)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	bf_cu.device[device].graphs[attribute] = bf_cu.device[device].graphs[attribute - 1];
	bf_cu_unlock();
	return BF_CU_OK;
}

/* Graphs keep no more than they need: what is freed with the last of them goes to the device. */
int cuDeviceGraphMemTrim(int device)
{
	return bf_cu_check_device(device);
}

/* ---- words ---- */

int cuGraphAddBatchMemOpNode(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t n,
			     const struct bf_cu_words_node *p)
{
	struct bf_cu_op *ops = NULL;
	int rc;

	if (!out || !p || p->flags || !bf_cu_nodes_of(g, from, n))
		return BF_CU_INVALID_VALUE;
	rc = bf_cu_words_make(p->params, p->count, &ops);
	if (rc)
		return rc;
	bf_cu_lock();
	*out = bf_cu_node_make(g, BF_CU_NODE_WORDS, ops, from, n);
	bf_cu_unlock();
	return *out ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
}
