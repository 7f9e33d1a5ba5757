/* The graph's events and relations. A relation is a row of bits for each event: bit k of row i says "i before k". */
#ifndef BELFRY_SIM_GRAPH_INTERNAL_H
#define BELFRY_SIM_GRAPH_INTERNAL_H

#include "sim/graph.h"

enum bf_graph_kind {
	BF_GRAPH_READ,
	BF_GRAPH_WRITE,
	BF_GRAPH_FENCE,
	BF_GRAPH_FENCE_SC,
	BF_GRAPH_FENCE_PROXY,
	BF_GRAPH_BARRIER,
};

/* Events of one thread stand in program order. */
struct bf_graph_event {
	uint8_t kind, scope, proxy;
	bool strong;
	bool ordering;            /* read: acquire; write: release; barrier: it waits */
	bool guessed;             /* a read whose value came before its write */
	int16_t from;             /* a read's write, -1: none yet */
	int16_t pair;             /* the write of an atomic: its read */
	uint32_t thread;          /* BF_GRAPH_THREADS: an initial value */
	uint32_t memory, generic; /* locations: whose bytes, whose generic address */
	uint32_t round;           /* of a barrier with this key */
	uint64_t value;           /* of a barrier: its key */
	uint64_t depends;         /* reads */
	uint64_t met;             /* barriers, when it met those that had come; 0: those of its round */
};

struct bf_graph_thread {
	const struct bf_agent *agent;
	uint32_t cta, gpu;
	enum bf_proxy proxy; /* of the next access, with what it depends on */
	uint64_t depends, loaded;
	bool finished;
};

struct bf_graph_location {
	const void *at;
	uint32_t memory, generic;
};

typedef uint64_t bf_graph_relation[BF_GRAPH_EVENTS];

struct bf_graph {
	struct bf_sim *sim;
	struct bf_graph_values *values;
	enum bf_graph_end end;
	uint32_t n, nthreads, nlocations, ninitial;
	struct bf_graph_event event[BF_GRAPH_EVENTS];
	struct bf_graph_thread thread[BF_GRAPH_THREADS];
	struct bf_graph_location location[BF_GRAPH_LOCATIONS];
	bf_graph_relation later, sc; /* chosen: of writes, of fence.sc */
	/* What follows, as of the last bf_graph_consistent(): base causality order, coherence order. */
	bf_graph_relation cause, coherence;
};

/* Derives the relations and says whether the axioms hold; reads without a write are left out. */
bool bf_graph_consistent(struct bf_graph *g);
bool bf_graph_morally_strong(const struct bf_graph *g, uint32_t i, uint32_t k);
static inline bool bf_graph_coherent(const struct bf_graph *g, uint32_t i, uint32_t k)
{
	return g->coherence[i] >> k & 1;
}

#endif
