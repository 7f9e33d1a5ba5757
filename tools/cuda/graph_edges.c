/* Which nodes a graph has, and which of them waits for which: questions and changes. */
#include <string.h>

#include "tools/cuda/graph.h"

/* Handles into an array of the program's: how many there are, or as many as there is room for, then NULLs. */
struct list {
	CUgraphNode *to;
	size_t room, n;
};

static void put(struct list *l, CUgraphNode n)
{
	if (l->to && l->n < l->room)
		l->to[l->n] = n;
	l->n++;
}

static int end(struct list *l, size_t *count)
{
	for (size_t i = l->n; l->to && i < l->room; i++)
		l->to[i] = NULL;
	*count = l->to && l->n > l->room ? l->room : l->n;
	return BF_CU_OK;
}

int cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *count)
{
	struct list l = { .to = nodes };

	if (!bf_cu_is_graph(g) || !count)
		return BF_CU_INVALID_VALUE;
	l.room = nodes ? *count : 0;
	for (uint32_t i = 0; i < g->count; i++)
		put(&l, g->nodes[i]);
	return end(&l, count);
}

int cuGraphGetRootNodes(CUgraph g, CUgraphNode *nodes, size_t *count)
{
	struct list l = { .to = nodes };

	if (!bf_cu_is_graph(g) || !count)
		return BF_CU_INVALID_VALUE;
	l.room = nodes ? *count : 0;
	for (uint32_t i = 0; i < g->count; i++)
		if (!g->nodes[i]->count)
			put(&l, g->nodes[i]);
	return end(&l, count);
}

int cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *count)
{
	struct list a = { .to = from }, b = { .to = to };

	if (!bf_cu_is_graph(g) || !count || !from != !to)
		return BF_CU_INVALID_VALUE;
	a.room = b.room = from ? *count : 0;
	for (uint32_t i = 0; i < g->count; i++)
		for (uint32_t k = 0; k < g->nodes[i]->count; k++) {
			put(&a, g->nodes[i]->from[k]);
			put(&b, g->nodes[i]);
		}
	end(&a, count);
	*count = from ? b.room : 0;
	return end(&b, count);
}

int cuGraphNodeGetDependencies(CUgraphNode n, CUgraphNode *nodes, size_t *count)
{
	struct list l = { .to = nodes };

	if (!bf_cu_is_node(n) || !count)
		return BF_CU_INVALID_VALUE;
	l.room = nodes ? *count : 0;
	for (uint32_t i = 0; i < n->count; i++)
		put(&l, n->from[i]);
	return end(&l, count);
}

int cuGraphNodeGetDependentNodes(CUgraphNode n, CUgraphNode *nodes, size_t *count)
{
	struct list l = { .to = nodes };

	if (!bf_cu_is_node(n) || !count)
		return BF_CU_INVALID_VALUE;
	l.room = nodes ? *count : 0;
	for (uint32_t i = 0; i < n->graph->count; i++)
		for (uint32_t k = 0; k < n->graph->nodes[i]->count; k++)
			if (n->graph->nodes[i]->from[k] == n)
				put(&l, n->graph->nodes[i]);
	return end(&l, count);
}

/* Newer calls give what an edge is, too: nothing but the end of the node before. */
static void plain_edges(void *edges, const size_t *count)
{
	if (edges && count)
		memset(edges, 0, 8 * *count);
}

int cuGraphGetEdges_v2(CUgraph g, CUgraphNode *from, CUgraphNode *to, void *edges, size_t *count)
{
	const int rc = cuGraphGetEdges(g, from, to, count);

	if (!rc && from)
		plain_edges(edges, count);
	return rc;
}

int cuGraphNodeGetDependencies_v2(CUgraphNode n, CUgraphNode *nodes, void *edges, size_t *count)
{
	const int rc = cuGraphNodeGetDependencies(n, nodes, count);

	if (!rc && nodes)
		plain_edges(edges, count);
	return rc;
}

int cuGraphNodeGetDependentNodes_v2(CUgraphNode n, CUgraphNode *nodes, void *edges, size_t *count)
{
	const int rc = cuGraphNodeGetDependentNodes(n, nodes, count);

	if (!rc && nodes)
		plain_edges(edges, count);
	return rc;
}

int cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	int rc = BF_CU_OK;

	if (!bf_cu_nodes_of(g, from, count) || !bf_cu_nodes_of(g, to, count))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	for (size_t i = 0; !rc && i < count; i++)
		rc = from[i] == to[i] ? BF_CU_INVALID_VALUE : bf_cu_node_after(to[i], from[i]);
	bf_cu_unlock();
	return rc;
}

int cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t count)
{
	int rc = BF_CU_OK;

	if (!bf_cu_nodes_of(g, from, count) || !bf_cu_nodes_of(g, to, count))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	for (size_t i = 0; !rc && i < count; i++)
		rc = bf_cu_node_forget(to[i], from[i]) ? BF_CU_OK : BF_CU_INVALID_VALUE;
	bf_cu_unlock();
	return rc;
}

/* An edge is more than the end of a node when a byte of its is set: a kernel's trigger, which here is its end. */
int cuGraphAddDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, const void *edges,
			      size_t count)
{
	(void)edges;
	return cuGraphAddDependencies(g, from, to, count);
}

int cuGraphRemoveDependencies_v2(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, const void *edges,
				 size_t count)
{
	(void)edges;
	return cuGraphRemoveDependencies(g, from, to, count);
}
