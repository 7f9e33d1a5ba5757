/*
 * Graphs that run: a copy of the graph, all of its nodes (those of graphs inside, too) as steps in an order that the
 * edges allow. A step goes behind one that it waits for, into the same stream, when that is the last there so far;
 * else into a stream of its own. So a chain runs in the stream that it is launched into and costs no more than without
 * a graph.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "tools/cuda/graph.h"

#define EXEC_MAGIC 0x63657865u

/* More branches than this share streams: the order stays one that the edges allow. */
#define BRANCHES_MAX 64u

struct step {
	struct bf_cu_node *node; /* NULL: the end of a graph inside */
	uint32_t *from, count;   /* steps that it waits for */
	uint32_t branch;
	uint64_t number; /* in its stream, of the last launch */
};

struct bf_cu_exec {
	uint32_t magic;
	struct bf_cu_graph *graph;
	unsigned long long flags;
	struct step *steps;
	uint32_t count, cap;
	uint32_t branches;
	struct bf_cu_stream *stream[BRANCHES_MAX]; /* of branches; 0 is the one that it is launched into */
	uint32_t last[BRANCHES_MAX];               /* while branches are dealt out: the last step there */
	struct bf_cu_stream *ended_in;             /* the last launch, and where it is over */
	uint64_t ended;
};

static bool is_exec(const struct bf_cu_exec *e)
{
	return e && e->magic == EXEC_MAGIC;
}

struct bf_cu_node *bf_cu_exec_node(CUgraphExec e, const struct bf_cu_node *n)
{
	return is_exec(e) ? bf_cu_node_copied(e->graph, n) : NULL;
}

/* ---- order ---- */

/* Nodes so that each is behind those that it waits for. 0, BF_CU_INVALID_VALUE: they wait in a circle. */
static int in_order(struct bf_cu_graph *g, struct bf_cu_node **out)
{
	struct bf_cu_node **path = calloc(g->count + 1u, sizeof(struct bf_cu_node *));
	uint32_t n = 0, depth = 0;
	int rc = path ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;

	for (uint32_t i = 0; i < g->count; i++)
		g->nodes[i]->mark = g->nodes[i]->cursor = 0;
	for (uint32_t i = 0; !rc && i < g->count; i++) {
		if (g->nodes[i]->mark)
			continue;
		path[depth++] = g->nodes[i];
		g->nodes[i]->mark = 1;
		while (!rc && depth) {
			struct bf_cu_node *at = path[depth - 1], *next;

			if (at->cursor == at->count) {
				at->mark = 2;
				out[n++] = at;
				depth--;
				continue;
			}
			next = at->from[at->cursor++];
			if (next->mark == 1)
				rc = BF_CU_INVALID_VALUE;
			else if (!next->mark) {
				next->mark = 1;
				path[depth++] = next;
			}
		}
	}
	free(path);
	return rc;
}

static void deal(struct bf_cu_exec *e, uint32_t index)
{
	struct step *s = &e->steps[index];

	s->branch = e->branches < BRANCHES_MAX ? e->branches : index % BRANCHES_MAX;
	for (uint32_t i = 0; i < s->count; i++) {
		const uint32_t of = e->steps[s->from[i]].branch;

		if (e->last[of] == s->from[i]) {
			s->branch = of;
			break;
		}
	}
	if (s->branch == e->branches)
		e->branches++;
	e->last[s->branch] = index;
}

static int add_step(struct bf_cu_exec *e, struct bf_cu_node *n, const uint32_t *from, uint32_t count)
{
	struct step s = { .node = n, .count = count, .from = calloc(count + 1u, sizeof(uint32_t)) };

	if (!s.from || BF_GROW(e->steps, e->cap, e->count + 1)) {
		free(s.from);
		return BF_CU_OUT_OF_MEMORY;
	}
	if (count)
		memcpy(s.from, from, count * sizeof(uint32_t));
	e->steps[e->count] = s;
	deal(e, e->count++);
	return BF_CU_OK;
}

static int add_graph(struct bf_cu_exec *e, struct bf_cu_graph *g, const uint32_t *entry, uint32_t entries);

/* The nodes of a graph inside, then its end, which is what others wait for. */
static int add_child(struct bf_cu_exec *e, struct bf_cu_node *n, const uint32_t *from, uint32_t count)
{
	struct bf_cu_graph *g = n->child;
	uint32_t *ends = calloc(g->count + count + 1u, sizeof(*ends)), n_ends = 0;
	int rc = ends ? add_graph(e, g, from, count) : BF_CU_OUT_OF_MEMORY;

	for (uint32_t i = 0; !rc && i < g->count; i++)
		g->nodes[i]->mark = 0;
	for (uint32_t i = 0; !rc && i < g->count; i++)
		for (uint32_t k = 0; k < g->nodes[i]->count; k++)
			g->nodes[i]->from[k]->mark = 1;
	for (uint32_t i = 0; !rc && i < g->count; i++)
		if (!g->nodes[i]->mark)
			ends[n_ends++] = g->nodes[i]->step;
	for (uint32_t i = 0; !rc && !g->count && i < count; i++)
		ends[n_ends++] = from[i];
	rc = rc ? rc : add_step(e, n, ends, n_ends);
	free(ends);
	return rc;
}

static int add_graph(struct bf_cu_exec *e, struct bf_cu_graph *g, const uint32_t *entry, uint32_t entries)
{
	struct bf_cu_node **order = calloc(g->count + 1u, sizeof(struct bf_cu_node *));
	uint32_t *from = calloc(g->count + entries + 1u, sizeof(*from));
	int rc = order && from ? in_order(g, order) : BF_CU_OUT_OF_MEMORY;

	for (uint32_t i = 0; !rc && i < g->count; i++) {
		struct bf_cu_node *n = order[i];
		const uint32_t count = n->count ? n->count : entries;

		for (uint32_t k = 0; k < count; k++)
			from[k] = n->count ? n->from[k]->step : entry[k];
		rc = n->child ? add_child(e, n, from, count) : add_step(e, n, from, count);
		n->step = e->count - 1;
	}
	free(order);
	free(from);
	return rc;
}

/* ---- life ---- */

void bf_cu_exec_drop(struct bf_cu_exec *e)
{
	e->magic = 0;
	for (uint32_t i = 0; i < e->count; i++)
		free(e->steps[i].from);
	free(e->steps);
	if (e->graph)
		bf_cu_graph_free(e->graph, e->ended_in, e->ended);
	for (uint32_t i = 1; i < e->branches; i++)
		if (e->stream[i])
			e->stream[i]->dead = true;
	free(e);
}

int bf_cu_exec_make(struct bf_cu_graph *g, unsigned long long flags, struct bf_cu_exec **out)
{
	struct bf_cu_exec *e = calloc(1, sizeof(*e));
	int rc;

	*out = NULL;
	if (!e)
		return BF_CU_OUT_OF_MEMORY;
	e->magic = EXEC_MAGIC;
	e->flags = flags;
	e->graph = g;
	rc = add_graph(e, g, NULL, 0);
	for (uint32_t i = 0; !rc && i < e->count; i++)
		if (e->steps[i].node->condition)
			rc = bf_cu_condition_ready(e->steps[i].node->condition, g->context);
	for (uint32_t i = 1; !rc && i < e->branches; i++) {
		e->stream[i] = bf_cu_stream_make(g->context, 1, 0);
		rc = e->stream[i] ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
	}
	if (rc) {
		e->graph = NULL;
		bf_cu_exec_drop(e);
	} else {
		*out = e;
	}
	return rc;
}

static int instantiate(struct bf_cu_graph *g, unsigned long long flags, struct bf_cu_exec **out)
{
	struct bf_cu_graph *copy = bf_cu_graph_copy(g);
	int rc;

	*out = NULL;
	if (!copy)
		return BF_CU_OUT_OF_MEMORY;
	rc = bf_cu_exec_make(copy, flags, out);
	if (rc)
		bf_cu_graph_free(copy, NULL, 0);
	return rc;
}

/* Conditions that still run hold on to what they run. */
static void wait_for_conditions(struct bf_cu_exec *e)
{
	for (uint32_t i = 0; i < e->count; i++)
		if (e->steps[i].node->condition && e->ended_in) {
			bf_cu_wait_number(e->ended_in, e->ended);
			return;
		}
}

/* Flags: 1 frees at the next launch, 2 uploads, 4 is launched by kernels, 8 has priorities of nodes. */
int cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph g, unsigned long long flags)
{
	int rc;

	if (!out || !bf_cu_is_graph(g) || flags & ~15ull)
		return BF_CU_INVALID_VALUE;
	if (flags & 4)
		return bf_cu_unsupported("cuGraphInstantiate: launches by kernels");
	bf_cu_lock();
	rc = instantiate(g, flags, out);
	bf_cu_unlock();
	return rc;
}

int cuGraphInstantiate_v2(CUgraphExec *out, CUgraph g, CUgraphNode *failed, char *log, size_t size)
{
	if (failed)
		*failed = NULL;
	if (log && size)
		*log = '\0';
	return cuGraphInstantiateWithFlags(out, g, 0);
}

int cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph g, struct bf_cu_instantiate *p)
{
	int rc;

	if (!p)
		return BF_CU_INVALID_VALUE;
	rc = cuGraphInstantiateWithFlags(out, g, p->flags);
	p->failed = NULL;
	p->result = rc ? 1 : 0; /* the reason is what the call returns */
	return rc;
}

int cuGraphExecDestroy(CUgraphExec e)
{
	if (!is_exec(e))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	wait_for_conditions(e);
	bf_cu_exec_drop(e);
	bf_cu_unlock();
	return BF_CU_OK;
}

int cuGraphExecGetFlags(CUgraphExec e, uint64_t *flags)
{
	if (!is_exec(e) || !flags)
		return BF_CU_INVALID_VALUE;
	*flags = e->flags;
	return BF_CU_OK;
}

/* ---- launch ---- */

/* Memory that a graph allocates and does not free must have been freed before it is launched again. */
static int check_memory(const struct bf_cu_exec *e)
{
	for (uint32_t i = 0; i < e->count; i++) {
		const struct bf_cu_node *n = e->steps[i].node;

		if (n->type == BF_CU_NODE_ALLOCATE && n->memory->live && !(e->flags & 1))
			return BF_CU_INVALID_VALUE;
	}
	for (uint32_t i = 0; i < e->count; i++) {
		const struct bf_cu_node *n = e->steps[i].node;

		if (n->memory)
			bf_cu_graph_memory_live(n->memory, n->type == BF_CU_NODE_ALLOCATE);
	}
	return BF_CU_OK;
}

/* One operation into the stream of a branch. What it waits for is told before. */
static int put(struct bf_cu_stream *s, struct bf_cu_op *op)
{
	struct bf_cu_event *e;

	op->stream = s;
	if (op->kind == BF_CU_OP_RECORD) {
		bf_cu_event_put(op->event.event, op, s);
	} else if (op->kind == BF_CU_OP_WAIT_EVENT) {
		e = op->event.event;
		op->kind = BF_CU_OP_NOTHING;
		if (e->stream && e->completed < e->recorded && bf_cu_op_after(op, e->stream, e->number)) {
			bf_cu_event_drop(e);
			free(op);
			return BF_CU_OUT_OF_MEMORY;
		}
		bf_cu_event_drop(e);
	}
	return bf_cu_enqueue(s, op);
}

/* `first`: the launch begins when that number of that stream is reached. */
static int launch_step(struct bf_cu_exec *e, struct step *s, struct bf_cu_stream *first, uint64_t number)
{
	struct bf_cu_stream *to = e->stream[s->branch];
	const bool idle = !s->node->ops || s->node->disabled;
	struct bf_cu_op *op = idle ? bf_cu_op_make(BF_CU_OP_NOTHING, 0) : bf_cu_ops_copy(s->node->ops);
	int rc = op ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;

	if (op)
		op->stream = to;
	if (op && !s->count)
		rc = bf_cu_op_after(op, first, number);
	for (uint32_t i = 0; !rc && i < s->count; i++) {
		const struct step *from = &e->steps[s->from[i]];

		rc = bf_cu_op_after(op, e->stream[from->branch], from->number);
	}
	if (rc) {
		bf_cu_ops_free(op);
		return rc;
	}
	while (!rc && op) {
		struct bf_cu_op *next = op->next;

		op->next = NULL;
		rc = put(to, op);
		op = next;
	}
	bf_cu_ops_free(op);
	s->number = to->queued;
	return rc;
}

/* Something in the stream that waits for a number of another, and does nothing. */
static int marker(struct bf_cu_stream *s, struct bf_cu_stream *const *others, const uint64_t *numbers, uint32_t count)
{
	struct bf_cu_op *op = bf_cu_op_make(BF_CU_OP_NOTHING, 0);
	int rc = op ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;

	if (op)
		op->stream = s;
	for (uint32_t i = 0; !rc && i < count; i++)
		if (others[i])
			rc = bf_cu_op_after(op, others[i], numbers[i]);
	if (rc) {
		if (op)
			free(op->after);
		free(op);
		return rc;
	}
	return bf_cu_enqueue(s, op);
}

int bf_cu_graph_launch(CUgraphExec e, struct bf_cu_stream *s)
{
	uint64_t numbers[BRANCHES_MAX] = { 0 }, begun;
	int rc = check_memory(e);

	if (rc)
		return rc;
	e->stream[0] = s;
	/* Launches of one do not overlap; and branches begin when the stream has come so far. */
	if (e->branches > 1 || (e->ended_in && e->ended_in != s))
		rc = marker(s, &e->ended_in, &e->ended, 1);
	rc = rc ? rc : bf_cu_words_begin(e->graph, s);
	begun = s->queued;
	for (uint32_t i = 0; !rc && i < e->count; i++)
		rc = launch_step(e, &e->steps[i], s, begun);
	for (uint32_t i = 1; i < e->branches; i++)
		numbers[i] = e->stream[i]->queued;
	if (!rc && e->branches > 1)
		rc = marker(s, e->stream, numbers, e->branches);
	e->ended_in = s;
	e->ended = s->queued;
	return rc;
}

/* Into a stream that is captured a launch goes as a graph inside the captured one. */
static int capture_launch(CUgraphExec e, struct bf_cu_stream *s)
{
	struct bf_cu_graph *copy = bf_cu_graph_copy(e->graph);
	struct bf_cu_node *n;

	if (!copy || s->capture->invalid) {
		if (copy)
			bf_cu_graph_free(copy, NULL, 0);
		return copy ? BF_CU_CAPTURE_INVALIDATED : BF_CU_OUT_OF_MEMORY;
	}
	n = bf_cu_node_make(s->capture->graph, BF_CU_NODE_GRAPH, NULL, s->captured, s->captured_count);
	if (!n) {
		bf_cu_graph_free(copy, NULL, 0);
		return BF_CU_OUT_OF_MEMORY;
	}
	n->child = copy;
	copy->parent = n;
	return bf_cu_capture_node(s, n);
}

int cuGraphLaunch(CUgraphExec e, CUstream handle)
{
	struct bf_cu_stream *s;
	int rc;

	if (!is_exec(e))
		return BF_CU_INVALID_VALUE;
	rc = bf_cu_enter_stream(handle, &s);
	if (rc)
		return rc;
	rc = s->capture ? capture_launch(e, s) : bf_cu_capture_legacy(s);
	if (!rc && !s->capture)
		rc = bf_cu_graph_launch(e, s);
	bf_cu_unlock();
	return rc;
}

/* There is nothing to bring to a device before the launch. */
int cuGraphUpload(CUgraphExec e, CUstream handle)
{
	struct bf_cu_stream *s;
	int rc;

	if (!is_exec(e))
		return BF_CU_INVALID_VALUE;
	rc = bf_cu_enter_stream(handle, &s);
	if (!rc)
		bf_cu_unlock();
	return rc;
}

/* ---- update ---- */

enum { UPDATED, UPDATE_ERROR, TOPOLOGY_CHANGED, TYPE_CHANGED };

static int compare(const struct bf_cu_graph *own, const struct bf_cu_graph *other, struct bf_cu_update *info);

static int compare_conditions(const struct bf_cu_condition *own, const struct bf_cu_condition *other,
			      struct bf_cu_update *info)
{
	if (own->type != other->type || own->count != other->count || own->word != other->word) {
		info->result = TOPOLOGY_CHANGED;
		return BF_CU_GRAPH_UPDATE;
	}
	for (uint32_t i = 0; i < own->count; i++)
		if (compare(own->bodies[i], other->bodies[i], info))
			return BF_CU_GRAPH_UPDATE;
	return BF_CU_OK;
}

/* Whether two graphs have the same shape, node by node in the order in which they were made. */
static int compare(const struct bf_cu_graph *own, const struct bf_cu_graph *other, struct bf_cu_update *info)
{
	if (own->count != other->count) {
		info->result = TOPOLOGY_CHANGED;
		return BF_CU_GRAPH_UPDATE;
	}
	for (uint32_t i = 0; i < own->count; i++)
		own->nodes[i]->step = other->nodes[i]->step = i;
	for (uint32_t i = 0; i < own->count; i++) {
		const struct bf_cu_node *a = own->nodes[i], *b = other->nodes[i];
		bool same = a->count == b->count;

		for (uint32_t k = 0; same && k < a->count; k++)
			same = a->from[k]->step == b->from[k]->step;
		if (!same || a->type != b->type) {
			info->result = same ? TYPE_CHANGED : TOPOLOGY_CHANGED;
			info->node = other->nodes[i];
			return BF_CU_GRAPH_UPDATE;
		}
		if (a->child && compare(a->child, b->child, info))
			return BF_CU_GRAPH_UPDATE;
		if (a->condition && compare_conditions(a->condition, b->condition, info))
			return BF_CU_GRAPH_UPDATE;
	}
	return BF_CU_OK;
}

static int take_over(struct bf_cu_graph *own, const struct bf_cu_graph *other)
{
	int rc = BF_CU_OK;

	for (uint32_t i = 0; !rc && i < own->count; i++) {
		const struct bf_cu_condition *inside = other->nodes[i]->condition;
		struct bf_cu_op *ops;

		for (uint32_t k = 0; !rc && inside && k < inside->count; k++)
			rc = take_over(own->nodes[i]->condition->bodies[k], inside->bodies[k]);
		if (inside)
			continue;
		ops = bf_cu_ops_copy(other->nodes[i]->ops);
		if (other->nodes[i]->ops && !ops)
			return BF_CU_OUT_OF_MEMORY;
		rc = bf_cu_node_replace(own->nodes[i], ops);
		if (!rc && own->nodes[i]->child)
			rc = take_over(own->nodes[i]->child, other->nodes[i]->child);
	}
	return rc;
}

int cuGraphExecUpdate_v2(CUgraphExec e, CUgraph g, struct bf_cu_update *info)
{
	struct bf_cu_update own;
	int rc;

	if (!is_exec(e) || !bf_cu_is_graph(g))
		return BF_CU_INVALID_VALUE;
	info = info ? info : &own;
	*info = (struct bf_cu_update){ .result = UPDATED };
	bf_cu_lock();
	rc = compare(e->graph, g, info);
	if (!rc)
		rc = take_over(e->graph, g);
	bf_cu_unlock();
	if (rc && info->result == UPDATED)
		info->result = UPDATE_ERROR;
	return rc;
}

int cuGraphExecUpdate(CUgraphExec e, CUgraph g, CUgraphNode *node, int *result)
{
	struct bf_cu_update info = { 0 };
	const int rc = cuGraphExecUpdate_v2(e, g, &info);

	if (node)
		*node = info.node;
	if (result)
		*result = info.result;
	return rc;
}

int cuGraphExecChildGraphNodeSetParams(CUgraphExec e, CUgraphNode n, CUgraph child)
{
	struct bf_cu_node *own = bf_cu_is_node(n) ? bf_cu_exec_node(e, n) : NULL;
	struct bf_cu_update info = { 0 };
	int rc;

	if (!own || !own->child || !bf_cu_is_graph(child))
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	rc = compare(own->child, child, &info) ? BF_CU_INVALID_VALUE : take_over(own->child, child);
	bf_cu_unlock();
	return rc;
}
