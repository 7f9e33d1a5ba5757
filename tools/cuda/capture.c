/*
 * Capture: what a program puts into a stream becomes nodes of a graph instead.
 *
 * A captured stream has the nodes that the next one will wait for. An event that is recorded there takes them along,
 * and a stream that waits for the event is captured from then on, too. What cannot be in a graph, or would wait for
 * something that has not happened, invalidates the capture: it can only be ended. Errors are those that an H100's
 * driver gives (tests/long/cuda/capture.cu).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "tools/cuda/graph.h"

enum { NONE, ACTIVE, INVALIDATED };
enum { GLOBAL, OF_THREAD, RELAXED };

static struct bf_cu_capture *captures;
static uint64_t ids;
static _Thread_local int thread_mode;

static struct bf_cu_capture *find(uint64_t id)
{
	struct bf_cu_capture *c = captures;

	while (c && c->id != id)
		c = c->next;
	return c;
}

/* ---- what a captured stream waits for next ---- */

static int add_captured(struct bf_cu_stream *s, struct bf_cu_node *const *nodes, uint32_t count)
{
	if (BF_GROW(s->captured, s->captured_cap, s->captured_count + count))
		return BF_CU_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t k = 0;

		while (k < s->captured_count && s->captured[k] != nodes[i])
			k++;
		if (k == s->captured_count)
			s->captured[s->captured_count++] = nodes[i];
	}
	return BF_CU_OK;
}

int bf_cu_capture_node(struct bf_cu_stream *s, struct bf_cu_node *n)
{
	s->captured_count = 0;
	return add_captured(s, &n, 1);
}

int bf_cu_capture_op(struct bf_cu_stream *s, struct bf_cu_op *op)
{
	static const uint8_t types[] = {
		[BF_CU_OP_KERNEL] = BF_CU_NODE_KERNEL, [BF_CU_OP_COPY] = BF_CU_NODE_COPY,
		[BF_CU_OP_FILL] = BF_CU_NODE_FILL,     [BF_CU_OP_HOST] = BF_CU_NODE_HOST,
		[BF_CU_OP_RECORD] = BF_CU_NODE_RECORD, [BF_CU_OP_WAIT_EVENT] = BF_CU_NODE_WAIT_EVENT,
		[BF_CU_OP_WRITE] = BF_CU_NODE_WORDS,   [BF_CU_OP_WAIT] = BF_CU_NODE_WORDS,
		[BF_CU_OP_FREE] = BF_CU_NODE_FREE,     [BF_CU_OP_NOTHING] = BF_CU_NODE_EMPTY,
	};
	struct bf_cu_node *n;

	if (s->capture->invalid || (op->kind == BF_CU_OP_HOST && op->host.old)) {
		const int rc = s->capture->invalid ? BF_CU_CAPTURE_INVALIDATED : BF_CU_CAPTURE_UNSUPPORTED;

		s->capture->invalid = true;
		bf_cu_ops_free(op);
		return rc;
	}
	n = bf_cu_node_make(s->capture->graph, types[op->kind], op, s->captured, s->captured_count);
	return n ? bf_cu_capture_node(s, n) : BF_CU_OUT_OF_MEMORY;
}

/* ---- what may not be done meanwhile ---- */

static bool waits_for_legacy(const struct bf_cu_stream *s, const struct bf_cu_context *c)
{
	return s->capture && s->context == c && !(s->flags & 1);
}

struct blocked {
	const struct bf_cu_context *context;
	bool invalidate, found;
};

static void see_blocking(struct bf_cu_stream *s, void *arg)
{
	struct blocked *b = arg;

	if (!waits_for_legacy(s, b->context))
		return;
	b->found = true;
	if (b->invalidate)
		s->capture->invalid = true;
}

static int legacy(const struct bf_cu_stream *s, bool invalidate)
{
	struct blocked b = { .context = s->context, .invalidate = invalidate };

	if (captures && s == s->context->legacy)
		bf_cu_each_stream(see_blocking, &b);
	return b.found ? BF_CU_CAPTURE_IMPLICIT : BF_CU_OK;
}

int bf_cu_capture_legacy(const struct bf_cu_stream *s)
{
	return legacy(s, true);
}

int bf_cu_capture_unsafe(void)
{
	int rc = BF_CU_OK;

	if (thread_mode == RELAXED || !__atomic_load_n(&captures, __ATOMIC_RELAXED))
		return BF_CU_OK;
	bf_cu_lock();
	for (struct bf_cu_capture *c = captures; c; c = c->next) {
		const bool own = pthread_equal(c->thread, pthread_self()) && c->mode != RELAXED;

		if (own || (thread_mode == GLOBAL && c->mode == GLOBAL)) {
			c->invalid = true;
			rc = BF_CU_CAPTURE_UNSUPPORTED;
		}
	}
	bf_cu_unlock();
	return rc;
}

static void invalidate_context(struct bf_cu_stream *s, void *arg)
{
	struct blocked *b = arg;

	if (!s->capture || s->context != b->context)
		return;
	b->found = true;
	s->capture->invalid = true;
}

int bf_cu_capture_context(const struct bf_cu_context *c)
{
	struct blocked b = { .context = c };

	if (captures)
		bf_cu_each_stream(invalidate_context, &b);
	return b.found ? BF_CU_CAPTURE_UNSUPPORTED : BF_CU_OK;
}

int bf_cu_capture_stream(struct bf_cu_stream *s)
{
	if (!s->capture)
		return legacy(s, true);
	s->capture->invalid = true;
	return BF_CU_CAPTURE_UNSUPPORTED;
}

/* ---- events ---- */

int bf_cu_capture_event(const struct bf_cu_event *e)
{
	struct bf_cu_capture *c;

	if (!e->capture)
		return BF_CU_OK;
	c = find(e->capture);
	if (!c)
		return BF_CU_INVALID_VALUE;
	c->invalid = true;
	return BF_CU_CAPTURED_EVENT;
}

int bf_cu_capture_record(struct bf_cu_stream *s, struct bf_cu_event *e)
{
	if (s->capture->invalid)
		return BF_CU_CAPTURE_INVALIDATED;
	if (BF_GROW(e->captured, e->captured_cap, s->captured_count))
		return BF_CU_OUT_OF_MEMORY;
	if (s->captured_count)
		memcpy(e->captured, s->captured, s->captured_count * sizeof(*s->captured));
	e->captured_count = s->captured_count;
	e->capture = s->capture->id;
	return BF_CU_OK;
}

int bf_cu_capture_wait(struct bf_cu_stream *s, const struct bf_cu_event *e)
{
	struct bf_cu_capture *c = e->capture ? find(e->capture) : NULL;

	if (e->capture && !c)
		return BF_CU_INVALID_VALUE;
	if ((c && c->invalid) || (s->capture && s->capture->invalid))
		return BF_CU_CAPTURE_INVALIDATED;
	assert(c || s->capture);
	if (!c) { /* it would wait for something that has no place in the graph */
		s->capture->invalid = true;
		return BF_CU_CAPTURE_ISOLATION;
	}
	if (s->capture && s->capture != c) {
		s->capture->invalid = c->invalid = true;
		return BF_CU_CAPTURE_MERGE;
	}
	if (s == s->context->legacy) {
		c->invalid = true;
		return BF_CU_CAPTURE_IMPLICIT;
	}
	s->capture = c;
	return add_captured(s, e->captured, e->captured_count);
}

/* ---- begin and end ---- */

static int begin(struct bf_cu_stream *s, int mode, struct bf_cu_graph *given, struct bf_cu_node *const *from,
		 size_t count)
{
	struct bf_cu_capture *c;

	if (s->capture)
		return BF_CU_ILLEGAL_STATE;
	if (s == s->context->legacy)
		return BF_CU_CAPTURE_UNSUPPORTED;
	c = calloc(1, sizeof(*c));
	if (!c)
		return BF_CU_OUT_OF_MEMORY;
	c->graph = given ? given : bf_cu_graph_make(s->context);
	if (!c->graph) {
		free(c);
		return BF_CU_OUT_OF_MEMORY;
	}
	c->given = given != NULL;
	c->id = ++ids;
	c->mode = mode;
	c->thread = pthread_self();
	c->origin = s;
	c->next = captures;
	__atomic_store_n(&captures, c, __ATOMIC_RELAXED);
	s->capture = c;
	s->captured_count = 0;
	return add_captured(s, from, (uint32_t)count);
}

int cuStreamBeginCaptureToGraph(CUstream handle, CUgraph g, const CUgraphNode *from, const void *edges, size_t count,
				int mode)
{
	struct bf_cu_stream *s;
	int rc;

	(void)edges;
	if (mode < GLOBAL || mode > RELAXED || !bf_cu_is_graph(g) || (count && !from))
		return BF_CU_INVALID_VALUE;
	for (size_t i = 0; i < count; i++)
		if (!bf_cu_is_node(from[i]) || from[i]->graph != g)
			return BF_CU_INVALID_VALUE;
	rc = bf_cu_enter_stream(handle, &s);
	if (!rc) {
		rc = begin(s, mode, g, from, count);
		bf_cu_unlock();
	}
	return rc;
}

int cuStreamBeginCapture_v2(CUstream handle, int mode)
{
	struct bf_cu_stream *s;
	int rc;

	if (mode < GLOBAL || mode > RELAXED)
		return BF_CU_INVALID_VALUE;
	rc = bf_cu_enter_stream(handle, &s);
	if (!rc) {
		rc = begin(s, mode, NULL, NULL, 0);
		bf_cu_unlock();
	}
	return rc;
}

int cuStreamBeginCapture(CUstream handle)
{
	return cuStreamBeginCapture_v2(handle, GLOBAL);
}

struct joined {
	const struct bf_cu_capture *capture;
	bool all;
};

/* All that a stream did is behind what the origin has come to, if its last nodes are. */
static void see_joined(struct bf_cu_stream *s, void *arg)
{
	struct joined *j = arg;

	for (uint32_t i = 0; s->capture == j->capture && i < s->captured_count; i++)
		j->all = j->all && s->captured[i]->mark;
}

static int all_joined(const struct bf_cu_capture *c, bool *out)
{
	struct joined j = { .capture = c, .all = true };
	int rc;

	for (uint32_t i = 0; i < c->graph->count; i++)
		c->graph->nodes[i]->mark = 0;
	rc = bf_cu_graph_mark(c->graph, c->origin->captured, c->origin->captured_count, 1);
	bf_cu_each_stream(see_joined, &j);
	*out = j.all;
	return rc;
}

static void leave(struct bf_cu_stream *s, void *arg)
{
	if (s->capture != arg)
		return;
	s->capture = NULL;
	free(s->captured);
	s->captured = NULL;
	s->captured_cap = 0;
	s->captured_count = 0;
}

static void finish(struct bf_cu_capture *c, bool keep)
{
	struct bf_cu_capture **link = &captures;

	bf_cu_each_stream(leave, c);
	while (*link != c)
		link = &(*link)->next;
	__atomic_store_n(link, c->next, __ATOMIC_RELAXED);
	if (!keep && !c->given)
		bf_cu_graph_free(c->graph, NULL, 0);
	free(c);
}

static int end(struct bf_cu_stream *s, CUgraph *out)
{
	struct bf_cu_capture *c = s->capture;
	bool joined = true;
	int rc;

	if (!c)
		return BF_CU_ILLEGAL_STATE;
	if (c->origin != s) {
		c->invalid = true;
		return BF_CU_CAPTURE_UNMATCHED;
	}
	if (c->mode != RELAXED && !pthread_equal(c->thread, pthread_self()))
		rc = BF_CU_CAPTURE_WRONG_THREAD;
	else if (c->invalid)
		rc = BF_CU_CAPTURE_INVALIDATED;
	else
		rc = all_joined(c, &joined);
	if (!rc && !joined)
		rc = BF_CU_CAPTURE_UNJOINED;
	if (out)
		*out = rc ? NULL : c->graph;
	finish(c, !rc && out);
	return rc;
}

int cuStreamEndCapture(CUstream handle, CUgraph *out)
{
	struct bf_cu_stream *s;
	int rc = bf_cu_enter_stream(handle, &s);

	if (!rc) {
		rc = end(s, out);
		bf_cu_unlock();
	}
	return rc;
}

/* A stream goes: what it began to capture ends without a graph. */
void bf_cu_capture_gone(struct bf_cu_stream *s)
{
	if (s->capture && s->capture->origin == s)
		finish(s->capture, false);
}

/* ---- questions ---- */

static int status(const struct bf_cu_stream *s)
{
	return !s->capture ? NONE : s->capture->invalid ? INVALIDATED : ACTIVE;
}

int cuStreamIsCapturing(CUstream handle, int *out)
{
	return cuStreamGetCaptureInfo_v2(handle, out, NULL, NULL, NULL, NULL);
}

int cuStreamGetCaptureInfo_v2(CUstream handle, int *out, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
			      size_t *count)
{
	struct bf_cu_stream *s;
	int rc;

	if (!out)
		return BF_CU_INVALID_VALUE;
	rc = bf_cu_enter_stream(handle, &s);
	if (rc)
		return rc;
	rc = legacy(s, false);
	*out = status(s);
	if (!rc && *out == ACTIVE) {
		if (id)
			*id = s->capture->id;
		if (graph)
			*graph = s->capture->graph;
		if (nodes)
			*nodes = s->captured;
		if (count)
			*count = s->captured_count;
	}
	bf_cu_unlock();
	return rc;
}

int cuStreamGetCaptureInfo(CUstream handle, int *out, uint64_t *id)
{
	return cuStreamGetCaptureInfo_v2(handle, out, id, NULL, NULL, NULL);
}

int cuStreamGetCaptureInfo_v3(CUstream handle, int *out, uint64_t *id, CUgraph *graph, const CUgraphNode **nodes,
			      const void **edges, size_t *count)
{
	if (edges)
		*edges = NULL; /* all wait for the end of the node before */
	return cuStreamGetCaptureInfo_v2(handle, out, id, graph, nodes, count);
}

/* Flags: 0 adds, 1 replaces. */
int cuStreamUpdateCaptureDependencies(CUstream handle, const CUgraphNode *nodes, size_t count, unsigned flags)
{
	struct bf_cu_stream *s;
	int rc;

	if (flags > 1 || (count && !nodes))
		return BF_CU_INVALID_VALUE;
	rc = bf_cu_enter_stream(handle, &s);
	if (rc)
		return rc;
	rc = !s->capture ? BF_CU_ILLEGAL_STATE : s->capture->invalid ? BF_CU_CAPTURE_INVALIDATED : BF_CU_OK;
	for (size_t i = 0; !rc && i < count; i++)
		if (!bf_cu_is_node(nodes[i]) || nodes[i]->graph != s->capture->graph)
			rc = BF_CU_INVALID_VALUE;
	if (!rc && flags)
		s->captured_count = 0;
	rc = rc ? rc : add_captured(s, nodes, (uint32_t)count);
	bf_cu_unlock();
	return rc;
}

int cuStreamUpdateCaptureDependencies_v2(CUstream handle, const CUgraphNode *nodes, const void *edges, size_t count,
					 unsigned flags)
{
	(void)edges;
	return cuStreamUpdateCaptureDependencies(handle, nodes, count, flags);
}

int cuThreadExchangeStreamCaptureMode(int *mode)
{
	const int before = thread_mode;

	if (!mode || *mode < GLOBAL || *mode > RELAXED)
		return BF_CU_INVALID_VALUE;
	thread_mode = *mode;
	*mode = before;
	return BF_CU_OK;
}
