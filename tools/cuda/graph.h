/*
 * Graphs: nodes that hold operations of streams (driver_internal.h) as templates, and edges between them. What is
 * launched is a copy of its own: its nodes in an order that the edges allow, on as many streams as they leave room for.
 *
 * All under the library's lock.
 */
#ifndef BELFRY_TOOLS_CUDA_GRAPH_H
#define BELFRY_TOOLS_CUDA_GRAPH_H

#include "tools/cuda/driver_internal.h"

/* CUgraphNodeType. */
enum bf_cu_node_type {
	BF_CU_NODE_KERNEL,
	BF_CU_NODE_COPY,
	BF_CU_NODE_FILL,
	BF_CU_NODE_HOST,
	BF_CU_NODE_GRAPH,
	BF_CU_NODE_EMPTY,
	BF_CU_NODE_WAIT_EVENT,
	BF_CU_NODE_RECORD,
	BF_CU_NODE_ALLOCATE = 10,
	BF_CU_NODE_FREE,
	BF_CU_NODE_WORDS,
	BF_CU_NODE_CONDITION,
};

/* Memory that belongs to graphs, and stays where it is while one of them is there. */
struct bf_cu_graph_memory {
	CUdeviceptr at;
	size_t size;
	int device;
	uint32_t refs; /* nodes */
	bool live;     /* allocated by a launch and not freed */
};

/* What a program wants to be told of when nothing needs it any more. */
struct bf_cu_user_object {
	uint32_t magic;
	uint32_t refs;
	bf_cu_host_fn *destroy;
	void *arg;
};

/* A word of the device's memory that conditions look at. */
struct bf_cu_condition_word {
	CUdeviceptr at;
	uint32_t initial;
	bool assign;   /* each launch of its graph begins with the initial value */
	bool used;     /* by a node: there can be one */
	uint32_t refs; /* graphs */
};

/* What a node that decides has inside. */
struct bf_cu_condition {
	CUdeviceptr word;
	int type;
	struct bf_cu_graph **bodies;
	uint32_t count;
	struct bf_cu_exec **execs; /* of something instantiated; they own the bodies then */
	struct bf_cu_stream *stream;
};

struct bf_cu_node {
	uint32_t magic;
	enum bf_cu_node_type type;
	struct bf_cu_graph *graph;
	uint64_t id, origin;  /* its own; of what it was copied from */
	struct bf_cu_op *ops; /* one after the other */
	void **params;        /* KERNEL: where each argument is */
	struct bf_cu_graph *child;
	struct bf_cu_graph_memory *memory; /* ALLOCATE, FREE */
	struct bf_cu_condition *condition; /* CONDITION */
	int priority;
	bool disabled;            /* of something instantiated */
	struct bf_cu_node **from; /* that it waits for */
	uint32_t count, cap;
	uint32_t mark, cursor, step; /* while its graph is put in order */
};

struct bf_cu_graph {
	uint32_t magic;
	struct bf_cu_context *context; /* that it was made in */
	struct bf_cu_node *parent;     /* whose child it is */
	struct bf_cu_node **nodes;     /* in the order in which they were made */
	uint32_t count, cap;
	struct bf_cu_held {
		struct bf_cu_user_object *object;
		uint32_t refs;
	} * held;
	uint32_t held_count, held_cap;
	struct bf_cu_condition_word **words; /* whose handles were made for it */
	uint32_t word_count, word_cap;
};

/* ---- graph.c ---- */

struct bf_cu_graph *bf_cu_graph_make(struct bf_cu_context *c);
/* A copy, whose nodes know what they were copied from. NULL: no memory. */
struct bf_cu_graph *bf_cu_graph_copy(const struct bf_cu_graph *g);
/* Its memory and the objects that it holds go when that number of that stream (NULL: none) has been reached. */
void bf_cu_graph_free(struct bf_cu_graph *g, struct bf_cu_stream *s, uint64_t number);
bool bf_cu_is_graph(const struct bf_cu_graph *g);
bool bf_cu_is_node(const struct bf_cu_node *n);
/* A graph and nodes of it; NULL will do for none. */
bool bf_cu_nodes_of(const struct bf_cu_graph *g, struct bf_cu_node *const *nodes, size_t count);
/* It does not wait for that one any more; false: it did not. */
bool bf_cu_node_forget(struct bf_cu_node *n, const struct bf_cu_node *from);
/* A node behind others; takes the operations. NULL: no memory, and they are gone. */
struct bf_cu_node *bf_cu_node_make(struct bf_cu_graph *g, enum bf_cu_node_type type, struct bf_cu_op *ops,
				   struct bf_cu_node *const *from, size_t count);
/* It waits for another. 0 or BF_CU_OUT_OF_MEMORY; BF_CU_INVALID_VALUE: it does already. */
int bf_cu_node_after(struct bf_cu_node *n, struct bf_cu_node *from);
/* Takes the operations instead of those that it has. */
int bf_cu_node_replace(struct bf_cu_node *n, struct bf_cu_op *ops);
/* The node that was copied from this one, also in graphs inside. */
struct bf_cu_node *bf_cu_node_copied(struct bf_cu_graph *g, const struct bf_cu_node *from);
/* All nodes that a node waits for, directly or not, get this mark, and it does. */
int bf_cu_graph_mark(struct bf_cu_graph *g, struct bf_cu_node *const *to, size_t count, uint32_t mark);

/* A copy of operations, to be put into a stream. */
struct bf_cu_op *bf_cu_ops_copy(const struct bf_cu_op *from);
void bf_cu_ops_free(struct bf_cu_op *ops);

/* ---- graph_memory.c ---- */

/* A node that allocates memory, which is there from now on, and one that frees it. 0 or an error. */
int bf_cu_graph_allocate(struct bf_cu_graph *g, int device, size_t size, struct bf_cu_node *const *from,
			 size_t count_from, struct bf_cu_node **out);
int bf_cu_graph_release(struct bf_cu_graph *g, struct bf_cu_graph_memory *m, struct bf_cu_node *const *from,
			size_t count_from, struct bf_cu_node **out);
/* A launch has allocated it, or freed it; the last of its graphs is gone. */
void bf_cu_graph_memory_live(struct bf_cu_graph_memory *m, bool live);
void bf_cu_graph_memory_gone(struct bf_cu_graph_memory *m);

/* ---- graph_condition.c ---- */

int bf_cu_words_share(struct bf_cu_graph *to, const struct bf_cu_graph *from);
void bf_cu_words_drop(struct bf_cu_graph *g);
int bf_cu_words_begin(const struct bf_cu_graph *g, struct bf_cu_stream *s);
/* A node, as cuGraphAddNode() is asked for it; its graphs inside go into `p`. */
int bf_cu_condition_add(CUgraphNode *out, CUgraph g, const CUgraphNode *from, size_t count,
			struct bf_cu_condition_node *p);
/* A copy for another node. NULL: no memory. */
struct bf_cu_condition *bf_cu_condition_copy(const struct bf_cu_condition *from, struct bf_cu_node *to);
void bf_cu_condition_free(struct bf_cu_condition *c);
/* Its graph is being instantiated: those inside, too. */
int bf_cu_condition_ready(struct bf_cu_condition *c, struct bf_cu_context *context);

/* ---- graph_exec.c ---- */

/* What runs the graph, which it owns from now on (not when this fails). 0 or an error. */
int bf_cu_exec_make(struct bf_cu_graph *g, unsigned long long flags, struct bf_cu_exec **out);
void bf_cu_exec_drop(struct bf_cu_exec *e);

int bf_cu_graph_launch(CUgraphExec e, struct bf_cu_stream *s);

/* ---- capture.c ---- */

struct bf_cu_capture {
	struct bf_cu_capture *next;
	uint64_t id;
	struct bf_cu_graph *graph;
	bool given; /* the graph is the program's */
	int mode;   /* 0 global, 1 of the thread, 2 relaxed */
	pthread_t thread;
	struct bf_cu_stream *origin;
	bool invalid;
};

/* A node in the place of an operation that a captured stream was given; takes it. */
int bf_cu_capture_op(struct bf_cu_stream *s, struct bf_cu_op *op);
/* The same for a node that is there. */
int bf_cu_capture_node(struct bf_cu_stream *s, struct bf_cu_node *n);

#endif
