/* Graphs: nodes, copies, and objects of the program that live as long as they do. */
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "tools/cuda/graph.h"

#define GRAPH_MAGIC 0x68706172u
#define NODE_MAGIC 0x65646f6eu
#define OBJECT_MAGIC 0x6a626f75u

static uint64_t ids; /* of nodes */

bool bf_cu_is_graph(const struct bf_cu_graph *g)
{
	return g && g->magic == GRAPH_MAGIC;
}

bool bf_cu_is_node(const struct bf_cu_node *n)
{
	return n && n->magic == NODE_MAGIC;
}

bool bf_cu_nodes_of(const struct bf_cu_graph *g, struct bf_cu_node *const *nodes, size_t count)
{
	if (!bf_cu_is_graph(g) || (count && !nodes))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!bf_cu_is_node(nodes[i]) || nodes[i]->graph != g)
			return false;
	return true;
}

/* ---- operations as templates ---- */

static struct bf_cu_op *copy_op(const struct bf_cu_op *from)
{
	const size_t extra = from->kind == BF_CU_OP_KERNEL ? from->kernel.launch.param_bytes + 1u : 0;
	struct bf_cu_op *op = bf_cu_op_make(from->kind, extra);

	if (!op)
		return NULL;
	memcpy(op, from, sizeof(*op) + extra);
	op->next = op->next_call = NULL;
	op->after = NULL;
	op->after_count = op->after_cap = 0;
	op->state = BF_CU_OP_QUEUED;
	if (op->kind == BF_CU_OP_KERNEL) {
		op->kernel.params = (uint8_t *)(op + 1);
		op->kernel.launch.params = op->kernel.params;
	} else if (op->kind == BF_CU_OP_RECORD || op->kind == BF_CU_OP_WAIT_EVENT) {
		op->event.event->refs++;
	}
	return op;
}

void bf_cu_ops_free(struct bf_cu_op *op)
{
	while (op) {
		struct bf_cu_op *next = op->next;

		if (op->kind == BF_CU_OP_RECORD || op->kind == BF_CU_OP_WAIT_EVENT)
			bf_cu_event_drop(op->event.event);
		free(op->after);
		free(op);
		op = next;
	}
}

struct bf_cu_op *bf_cu_ops_copy(const struct bf_cu_op *from)
{
	struct bf_cu_op *first = NULL, **to = &first;

	for (; from; from = from->next) {
		*to = copy_op(from);
		if (!*to) {
			bf_cu_ops_free(first);
			return NULL;
		}
		to = &(*to)->next;
	}
	return first;
}

/* ---- nodes ---- */

static int point_at_params(struct bf_cu_node *n)
{
	const struct bf_cu_op *op = n->ops;
	const struct bf_cu_function *f;

	free(n->params);
	n->params = NULL;
	if (!op || op->kind != BF_CU_OP_KERNEL)
		return BF_CU_OK;
	f = op->kernel.fn;
	n->params = calloc(f->info.params + 1u, sizeof(n->params[0]));
	for (uint32_t i = 0; n->params && i < f->info.params; i++)
		n->params[i] = op->kernel.params + f->params[i].offset;
	return n->params ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
}

int bf_cu_node_replace(struct bf_cu_node *n, struct bf_cu_op *ops)
{
	struct bf_cu_op *before = n->ops;

	n->ops = ops;
	if (before != ops)
		bf_cu_ops_free(before);
	return point_at_params(n);
}

int bf_cu_node_after(struct bf_cu_node *n, struct bf_cu_node *from)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (n->from[i] == from)
			return BF_CU_INVALID_VALUE;
	if (BF_GROW(n->from, n->cap, n->count + 1))
		return BF_CU_OUT_OF_MEMORY;
	n->from[n->count++] = from;
	return BF_CU_OK;
}

bool bf_cu_node_forget(struct bf_cu_node *n, const struct bf_cu_node *from)
{
	for (uint32_t i = 0; i < n->count; i++)
		if (n->from[i] == from) {
			memmove(&n->from[i], &n->from[i + 1], (--n->count - i) * sizeof(struct bf_cu_node *));
			return true;
		}
	return false;
}

static void free_node(struct bf_cu_node *n)
{
	n->magic = 0;
	bf_cu_ops_free(n->ops);
	bf_cu_condition_free(n->condition);
	free(n->params);
	free(n->from);
	free(n);
}

struct bf_cu_node *bf_cu_node_make(struct bf_cu_graph *g, enum bf_cu_node_type type, struct bf_cu_op *ops,
				   struct bf_cu_node *const *from, size_t count)
{
	struct bf_cu_node *n = calloc(1, sizeof(*n));
	int rc = n && !BF_GROW(g->nodes, g->cap, g->count + 1) ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;

	if (!n) {
		bf_cu_ops_free(ops);
		return NULL;
	}
	n->magic = NODE_MAGIC;
	n->type = type;
	n->graph = g;
	n->id = ++ids;
	n->ops = ops;
	for (size_t i = 0; !rc && i < count; i++)
		rc = bf_cu_node_after(n, from[i]) == BF_CU_OUT_OF_MEMORY ? BF_CU_OUT_OF_MEMORY : BF_CU_OK;
	rc = rc ? rc : point_at_params(n);
	if (rc) {
		free_node(n);
		return NULL;
	}
	g->nodes[g->count++] = n;
	return n;
}

/* ---- graphs ---- */

struct bf_cu_graph *bf_cu_graph_make(struct bf_cu_context *c)
{
	struct bf_cu_graph *g = calloc(1, sizeof(*g));

	if (g) {
		g->magic = GRAPH_MAGIC;
		g->context = c;
	}
	return g;
}

/* Something for later, in a stream that nobody else has. */
static void after(struct bf_cu_stream *keeper, struct bf_cu_op *op, struct bf_cu_stream *s, uint64_t number)
{
	if (!op)
		return;
	op->stream = keeper;
	if (s && bf_cu_op_after(op, s, number))
		free(op);
	else
		bf_cu_enqueue(keeper, op);
}

static void drop_object(struct bf_cu_user_object *o, uint32_t refs, struct bf_cu_stream *keeper, struct bf_cu_stream *s,
			uint64_t number)
{
	struct bf_cu_op *op;

	o->refs -= refs < o->refs ? refs : o->refs;
	if (o->refs)
		return;
	op = bf_cu_op_make(BF_CU_OP_HOST, 0);
	if (op) {
		op->host.fn = o->destroy;
		op->host.arg = o->arg;
	}
	o->magic = 0;
	free(o);
	after(keeper, op, s, number);
}

static void drop_memory(struct bf_cu_graph_memory *m, struct bf_cu_stream *keeper, struct bf_cu_stream *s,
			uint64_t number)
{
	struct bf_cu_block *b;
	struct bf_cu_op *op;

	if (!m || --m->refs)
		return;
	bf_cu_graph_memory_gone(m);
	b = bf_cu_block_at(m->at);
	if (b)
		b->graph = NULL; /* as if cuMemAllocAsync() had given it */
	op = b && !m->live ? bf_cu_op_make(BF_CU_OP_FREE, 0) : NULL;
	if (op)
		op->free = m->at;
	free(m);
	after(keeper, op, s, number);
}

void bf_cu_graph_free(struct bf_cu_graph *g, struct bf_cu_stream *s, uint64_t number)
{
	struct bf_cu_stream *keeper = bf_cu_stream_make(g->context, 1, 0);

	g->magic = 0;
	for (uint32_t i = 0; i < g->count; i++) {
		if (g->nodes[i]->child)
			bf_cu_graph_free(g->nodes[i]->child, s, number);
		if (keeper)
			drop_memory(g->nodes[i]->memory, keeper, s, number);
		free_node(g->nodes[i]);
	}
	for (uint32_t i = 0; keeper && i < g->held_count; i++)
		drop_object(g->held[i].object, g->held[i].refs, keeper, s, number);
	if (keeper)
		keeper->dead = true;
	bf_cu_words_drop(g);
	free(g->held);
	free(g->nodes);
	free(g);
}

static int hold(struct bf_cu_graph *g, struct bf_cu_user_object *o, uint32_t refs)
{
	for (uint32_t i = 0; i < g->held_count; i++)
		if (g->held[i].object == o) {
			g->held[i].refs += refs;
			return BF_CU_OK;
		}
	if (BF_GROW(g->held, g->held_cap, g->held_count + 1))
		return BF_CU_OUT_OF_MEMORY;
	g->held[g->held_count++] = (struct bf_cu_held){ o, refs };
	return BF_CU_OK;
}

static int copy_node(struct bf_cu_graph *to, const struct bf_cu_node *n)
{
	struct bf_cu_op *ops = bf_cu_ops_copy(n->ops);
	struct bf_cu_node *made;

	if (n->ops && !ops)
		return BF_CU_OUT_OF_MEMORY;
	made = bf_cu_node_make(to, n->type, ops, NULL, 0);
	if (!made)
		return BF_CU_OUT_OF_MEMORY;
	made->origin = n->id;
	made->priority = n->priority;
	made->memory = n->memory;
	if (made->memory)
		made->memory->refs++;
	if (n->condition) {
		made->condition = bf_cu_condition_copy(n->condition, made);
		made->ops->condition.is = made->condition;
		if (!made->condition)
			return BF_CU_OUT_OF_MEMORY;
	}
	made->child = n->child ? bf_cu_graph_copy(n->child) : NULL;
	if (made->child)
		made->child->parent = made;
	return n->child && !made->child ? BF_CU_OUT_OF_MEMORY : BF_CU_OK;
}

struct bf_cu_graph *bf_cu_graph_copy(const struct bf_cu_graph *g)
{
	struct bf_cu_graph *to = bf_cu_graph_make(g->context);
	int rc = to ? bf_cu_words_share(to, g) : BF_CU_OUT_OF_MEMORY;

	for (uint32_t i = 0; !rc && i < g->count; i++) {
		g->nodes[i]->step = i;
		rc = copy_node(to, g->nodes[i]);
	}
	for (uint32_t i = 0; !rc && i < g->count; i++)
		for (uint32_t k = 0; !rc && k < g->nodes[i]->count; k++)
			rc = bf_cu_node_after(to->nodes[i], to->nodes[g->nodes[i]->from[k]->step]);
	for (uint32_t i = 0; !rc && i < g->held_count; i++) {
		g->held[i].object->refs++;
		rc = hold(to, g->held[i].object, 1);
	}
	if (rc && to) {
		bf_cu_graph_free(to, NULL, 0);
		to = NULL;
	}
	return to;
}

struct bf_cu_node *bf_cu_node_copied(struct bf_cu_graph *g, const struct bf_cu_node *from)
{
	struct bf_cu_node *found = NULL;

	for (uint32_t i = 0; !found && i < g->count; i++) {
		if (g->nodes[i]->origin == from->id)
			found = g->nodes[i];
		else if (g->nodes[i]->child)
			found = bf_cu_node_copied(g->nodes[i]->child, from);
		else if (g->nodes[i]->condition)
			for (uint32_t k = 0; !found && k < g->nodes[i]->condition->count; k++)
				found = bf_cu_node_copied(g->nodes[i]->condition->bodies[k], from);
	}
	return found;
}

int bf_cu_graph_mark(struct bf_cu_graph *g, struct bf_cu_node *const *to, size_t count, uint32_t mark)
{
	struct bf_cu_node **todo = calloc(g->count + 1u, sizeof(struct bf_cu_node *));
	uint32_t n = 0;

	if (!todo)
		return BF_CU_OUT_OF_MEMORY;
	for (size_t i = 0; i < count; i++)
		if (to[i]->mark != mark) {
			to[i]->mark = mark;
			todo[n++] = to[i];
		}
	while (n) {
		const struct bf_cu_node *at = todo[--n];

		for (uint32_t i = 0; i < at->count; i++)
			if (at->from[i]->mark != mark) {
				at->from[i]->mark = mark;
				todo[n++] = at->from[i];
			}
	}
	free(todo);
	return BF_CU_OK;
}

/* ---- calls ---- */

int cuGraphCreate(CUgraph *out, unsigned flags)
{
	struct bf_cu_context *c;
	const int rc = bf_cu_enter(&c);

	if (rc || !out || flags)
		return rc ? rc : BF_CU_INVALID_VALUE;
	*out = bf_cu_graph_make(c);
	return *out ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
}

int cuGraphDestroy(CUgraph g)
{
	if (!bf_cu_is_graph(g) || g->parent)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	bf_cu_graph_free(g, NULL, 0);
	bf_cu_unlock();
	return BF_CU_OK;
}

int cuGraphClone(CUgraph *out, CUgraph g)
{
	if (!out || !bf_cu_is_graph(g))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	for (uint32_t i = 0; i < g->count; i++)
		if (g->nodes[i]->memory || g->nodes[i]->condition) {
			bf_cu_unlock();
			return BF_CU_NOT_SUPPORTED; /* by CUDA, too */
		}
	*out = bf_cu_graph_copy(g);
	bf_cu_unlock();
	return *out ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
}

int cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode node, CUgraph copy)
{
	if (!out || !bf_cu_is_node(node) || !bf_cu_is_graph(copy))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	*out = NULL;
	for (uint32_t i = 0; i < copy->count; i++)
		if (copy->nodes[i]->origin == node->id)
			*out = copy->nodes[i];
	bf_cu_unlock();
	return *out ? BF_CU_OK : BF_CU_INVALID_VALUE;
}

int cuGraphNodeGetType(CUgraphNode n, int *type)
{
	if (!bf_cu_is_node(n) || !type)
		return BF_CU_INVALID_VALUE;
	*type = (int)n->type;
	return BF_CU_OK;
}

int cuGraphDestroyNode(CUgraphNode n)
{
	struct bf_cu_graph *g;
	struct bf_cu_stream *keeper;

	if (!bf_cu_is_node(n))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	g = n->graph;
	for (uint32_t i = 0; i < g->count; i++)
		bf_cu_node_forget(g->nodes[i], n);
	for (uint32_t i = 0; i < g->count; i++)
		if (g->nodes[i] == n) {
			memmove(&g->nodes[i], &g->nodes[i + 1], (--g->count - i) * sizeof(struct bf_cu_node *));
			break;
		}
	if (n->child)
		bf_cu_graph_free(n->child, NULL, 0);
	keeper = n->memory ? bf_cu_stream_make(g->context, 1, 0) : NULL;
	if (keeper) {
		drop_memory(n->memory, keeper, NULL, 0);
		keeper->dead = true;
	}
	free_node(n);
	bf_cu_unlock();
	return BF_CU_OK;
}

/* ---- objects of the program ---- */

int cuUserObjectCreate(CUuserObject *out, void *arg, bf_cu_host_fn *destroy, unsigned refs, unsigned flags)
{
	if (!out || !destroy || !refs || flags != 1)
		return BF_CU_INVALID_VALUE;
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return BF_CU_OUT_OF_MEMORY;
	**out = (struct bf_cu_user_object){ .magic = OBJECT_MAGIC, .refs = refs, .destroy = destroy, .arg = arg };
	return BF_CU_OK;
}

static bool is_object(const struct bf_cu_user_object *o)
{
	return o && o->magic == OBJECT_MAGIC;
}

int cuUserObjectRetain(CUuserObject o, unsigned count)
{
	if (!is_object(o) || !count)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	o->refs += count;
	bf_cu_unlock();
	return BF_CU_OK;
}

static int release(struct bf_cu_context *c, struct bf_cu_user_object *o, unsigned count)
{
	struct bf_cu_stream *keeper = bf_cu_stream_make(c, 1, 0);

	if (!keeper)
		return BF_CU_OUT_OF_MEMORY;
	drop_object(o, count, keeper, NULL, 0);
	keeper->dead = true;
	return BF_CU_OK;
}

int cuUserObjectRelease(CUuserObject o, unsigned count)
{
	struct bf_cu_context *c;
	int rc = bf_cu_enter(&c);

	if (rc || !is_object(o) || !count || count > o->refs)
		return rc ? rc : BF_CU_INVALID_VALUE;
	bf_cu_lock();
	rc = release(c, o, count);
	bf_cu_unlock();
	return rc;
}

/* Flag 1: the references are the caller's own, which become the graph's. */
int cuGraphRetainUserObject(CUgraph g, CUuserObject o, unsigned count, unsigned flags)
{
	int rc;

	if (!bf_cu_is_graph(g) || !is_object(o) || !count || flags & ~1u)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	rc = hold(g, o, count);
	if (!rc && !flags)
		o->refs += count;
	bf_cu_unlock();
	return rc;
}

int cuGraphReleaseUserObject(CUgraph g, CUuserObject o, unsigned count)
{
	int rc = BF_CU_INVALID_VALUE;

	if (!bf_cu_is_graph(g) || !is_object(o) || !count)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	for (uint32_t i = 0; i < g->held_count; i++)
		if (g->held[i].object == o && g->held[i].refs >= count) {
			g->held[i].refs -= count;
			if (!g->held[i].refs)
				g->held[i] = g->held[--g->held_count];
			rc = release(g->context, o, count);
			break;
		}
	bf_cu_unlock();
	return rc;
}
