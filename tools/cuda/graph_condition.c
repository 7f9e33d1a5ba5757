/*
 * Nodes that decide while a graph runs: if, while, switch. Each has graphs inside, of which it runs the one that a word
 * in the device's memory chooses; kernels set the word by cudaGraphSetConditional(), whose handle is its address.
 *
 * The node is an operation that lasts as long as what it runs. That runs on a stream of its own; when the stream has
 * come to the end, whoever lets streams go on asks again.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "tools/cuda/graph.h"

enum { IF, WHILE, SWITCH };

#define ASSIGN_DEFAULT 1u /* CU_GRAPH_COND_ASSIGN_DEFAULT */
#define BODIES_MAX 65536u

/* ---- words ---- */

static void drop_word(struct bf_cu_condition_word *w)
{
	if (--w->refs)
		return;
	bf_cu_release(w->at);
	free(w);
}

static int hold_word(struct bf_cu_graph *g, struct bf_cu_condition_word *w)
{
	if (BF_GROW(g->words, g->word_cap, g->word_count + 1))
		return BF_CU_OUT_OF_MEMORY;
	w->refs++;
	g->words[g->word_count++] = w;
	return BF_CU_OK;
}

int bf_cu_words_share(struct bf_cu_graph *to, const struct bf_cu_graph *from)
{
	int rc = BF_CU_OK;

	for (uint32_t i = 0; !rc && i < from->word_count; i++)
		rc = hold_word(to, from->words[i]);
	return rc;
}

void bf_cu_words_drop(struct bf_cu_graph *g)
{
	for (uint32_t i = 0; i < g->word_count; i++)
		drop_word(g->words[i]);
	free(g->words);
	g->words = NULL;
	g->word_count = g->word_cap = 0;
}

int cuGraphConditionalHandleCreate(uint64_t *out, CUgraph g, CUcontext context, unsigned initial, unsigned flags)
{
	struct bf_cu_condition_word *w;
	struct bf_cu_block *b;
	int rc;

	(void)context;
	if (!out || !bf_cu_is_graph(g) || flags & ~ASSIGN_DEFAULT)
		return BF_CU_INVALID_VALUE;
	w = calloc(1, sizeof(*w));
	if (!w)
		return BF_CU_OUT_OF_MEMORY;
	bf_cu_lock();
	rc = bf_cu_allocate(g->context->device, sizeof(uint32_t), &b);
	if (rc) {
		free(w);
	} else {
		*w = (struct bf_cu_condition_word){ .at = b->at, .initial = initial, .assign = flags & ASSIGN_DEFAULT };
		__atomic_store_n((uint32_t *)(uintptr_t)w->at, initial, __ATOMIC_RELAXED);
		rc = hold_word(g, w);
		if (rc) {
			bf_cu_release(w->at);
			free(w);
		} else {
			*out = w->at;
		}
	}
	bf_cu_unlock();
	return rc;
}

/* The words that have a value to begin with get it in the stream. */
int bf_cu_words_begin(const struct bf_cu_graph *g, struct bf_cu_stream *s)
{
	int rc = BF_CU_OK;

	for (uint32_t i = 0; !rc && i < g->word_count; i++) {
		struct bf_cu_op *op = g->words[i]->assign ? bf_cu_op_make(BF_CU_OP_WRITE, 0) : NULL;

		if (!g->words[i]->assign)
			continue;
		if (!op)
			return BF_CU_OUT_OF_MEMORY;
		op->word.at = g->words[i]->at;
		op->word.value = g->words[i]->initial;
		op->word.bytes = sizeof(uint32_t);
		rc = bf_cu_enqueue(s, op);
	}
	return rc;
}

/* ---- nodes ---- */

void bf_cu_condition_free(struct bf_cu_condition *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->count; i++) {
		if (c->execs && c->execs[i])
			bf_cu_exec_drop(c->execs[i]);
		else if (c->bodies[i])
			bf_cu_graph_free(c->bodies[i], NULL, 0);
	}
	if (c->stream)
		c->stream->dead = true;
	free(c->execs);
	free(c->bodies);
	free(c);
}

static struct bf_cu_condition *make(uint64_t word, int type, uint32_t count)
{
	struct bf_cu_condition *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->word = word;
	c->type = type;
	c->bodies = calloc(count, sizeof(c->bodies[0]));
	c->count = c->bodies ? count : 0;
	if (c->bodies)
		return c;
	free(c);
	return NULL;
}

struct bf_cu_condition *bf_cu_condition_copy(const struct bf_cu_condition *from, struct bf_cu_node *to)
{
	struct bf_cu_condition *c = make(from->word, from->type, from->count);

	for (uint32_t i = 0; c && i < c->count; i++) {
		c->bodies[i] = bf_cu_graph_copy(from->bodies[i]);
		if (!c->bodies[i]) {
			bf_cu_condition_free(c);
			return NULL;
		}
		c->bodies[i]->parent = to;
	}
	return c;
}

/* The word of a handle that was made for the graph or one around it. */
static struct bf_cu_condition_word *word_of(const struct bf_cu_graph *g, uint64_t handle)
{
	for (; g; g = g->parent ? g->parent->graph : NULL)
		for (uint32_t i = 0; i < g->word_count; i++)
			if (g->words[i]->at == handle)
				return g->words[i];
	return NULL;
}

int bf_cu_condition_add(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count,
			struct bf_cu_condition_node *p)
{
	const bool sized = p->type == IF       ? p->size == 1 || p->size == 2
			   : p->type == WHILE  ? p->size == 1
			   : p->type == SWITCH ? p->size && p->size <= BODIES_MAX
					       : false;
	struct bf_cu_condition_word *w;
	struct bf_cu_condition *c;
	struct bf_cu_op *op;

	if (!out || !bf_cu_nodes_of(g, from, count) || !sized)
		return BF_CU_INVALID_VALUE;
	w = word_of(g, p->handle);
	if (!w || w->used)
		return BF_CU_INVALID_VALUE;
	bf_cu_lock();
	c = make(p->handle, p->type, p->size);
	op = c ? bf_cu_op_make(BF_CU_OP_CONDITION, 0) : NULL;
	if (op)
		op->condition.is = c;
	*out = op ? bf_cu_node_make(g, BF_CU_NODE_CONDITION, op, from, count) : NULL;
	if (*out)
		(*out)->condition = c;
	for (uint32_t i = 0; *out && i < c->count; i++) {
		c->bodies[i] = bf_cu_graph_make(g->context);
		if (c->bodies[i])
			c->bodies[i]->parent = *out;
	}
	w->used = *out != NULL;
	if (*out)
		p->graphs = c->bodies;
	else
		bf_cu_condition_free(c);
	bf_cu_unlock();
	return *out ? BF_CU_OK : BF_CU_OUT_OF_MEMORY;
}

/* ---- what was instantiated ---- */

/* What the device decides itself may hold only what a device can do alone. */
static bool may_be_inside(const struct bf_cu_graph *g)
{
	for (uint32_t i = 0; i < g->count; i++) {
		const struct bf_cu_node *n = g->nodes[i];

		if (n->type != BF_CU_NODE_KERNEL && n->type != BF_CU_NODE_COPY && n->type != BF_CU_NODE_FILL &&
		    n->type != BF_CU_NODE_EMPTY && n->type != BF_CU_NODE_GRAPH && n->type != BF_CU_NODE_CONDITION)
			return false;
		if (n->child && !may_be_inside(n->child))
			return false;
	}
	return true;
}

int bf_cu_condition_ready(struct bf_cu_condition *c, struct bf_cu_context *context)
{
	int rc = BF_CU_OK;

	c->execs = calloc(c->count, sizeof(c->execs[0]));
	c->stream = bf_cu_stream_make(context, 1, 0);
	if (!c->execs || !c->stream)
		return BF_CU_OUT_OF_MEMORY;
	for (uint32_t i = 0; !rc && i < c->count; i++)
		rc = may_be_inside(c->bodies[i]) ? bf_cu_exec_make(c->bodies[i], 0, &c->execs[i]) : BF_CU_INVALID_VALUE;
	return rc;
}

/* ---- running ---- */

static uint32_t chosen(const struct bf_cu_condition *c)
{
	const uint32_t value = __atomic_load_n((const uint32_t *)(uintptr_t)c->word, __ATOMIC_ACQUIRE);

	if (c->type == SWITCH)
		return value;
	return value ? 0 : c->type == IF ? 1 : UINT32_MAX;
}

bool bf_cu_condition_step(struct bf_cu_op *op)
{
	struct bf_cu_condition *c = op->condition.is;
	uint32_t body;

	if (op->condition.busy || (op->condition.runs && c->stream->done < op->condition.number))
		return false;
	body = op->condition.runs && c->type != WHILE ? UINT32_MAX : chosen(c);
	if (body >= c->count || bf_cu.device[op->stream->context->device].fault)
		return true;
	/* The launch lets streams go on, this one among them. */
	op->condition.busy = op->condition.runs = true;
	if (bf_cu_graph_launch(c->execs[body], c->stream))
		bf_cu_say("a graph inside a condition could not be launched");
	op->condition.number = c->stream->queued;
	op->condition.busy = false;
	return false;
}
