/*
 * What a load may see at most: the execution graph of a run, and the axioms of the PTX memory model.
 *
 * The buffers of sim/view.h are a machine that a GPU could be; a driver that fails on it is wrong, but a machine can be
 * weaker than that one. With a graph in place (sim->graph) the views of ordering gpu and adversarial keep no buffers:
 * every access becomes an event of the graph, a load is answered by a choice among all writes that the model permits it
 * to see, writes and fences of fence.sc that must be ordered choose their order, and a run that comes to contradict the
 * model is given up. A load may also see a write that its thread's later stores make possible (load buffering): it
 * guesses a value, and the run is given up unless somebody writes it. With an enumeration as chooser (sim/choice.h) the
 * runs are then exactly the executions that PTX allows.
 *
 * Source: PTX ISA 8.7, "Memory Consistency Model" (causality order, proxy-preserved base causality order, the axioms);
 * No-Thin-Air as acyclic(rf | dependency), as the ISA says of values that compute themselves. Where the ISA and
 * published formal models differ the ISA counts: any fence may begin a release pattern or end an acquire pattern, and
 * observation goes through chains of atomics.
 *
 * For runs of a few dozen accesses: at most BF_GRAPH_EVENTS, of whole locations. One thread.
 */
#ifndef BELFRY_SIM_GRAPH_H
#define BELFRY_SIM_GRAPH_H

#include "sim/agent.h"
#include "sim/view.h"

#define BF_GRAPH_EVENTS 64u
#define BF_GRAPH_THREADS 16u
#define BF_GRAPH_LOCATIONS 24u
#define BF_GRAPH_VALUES 64u

enum bf_proxy {
	BF_PROXY_GENERIC,
	BF_PROXY_TEXTURE,
	BF_PROXY_SURFACE,
	BF_PROXY_CONSTANT,
	BF_PROXY_ASYNC,
	BF_PROXY_ALIAS
};

/*
 * Values that threads wrote. Kept by who repeats the runs, who sets `known` to `count` before an enumeration, and
 * repeats it when it has found more: loads guess the first `known` ones.
 */
struct bf_graph_values {
	struct {
		uint32_t thread, location;
		uint64_t value;
	} list[BF_GRAPH_VALUES];
	uint32_t count, known;
	bool overrun; /* there were more, and not all executions are seen */
};

/* Why a run was given up. */
enum bf_graph_end {
	BF_GRAPH_GOOD,
	BF_GRAPH_FORBIDDEN, /* a choice contradicts the model */
	BF_GRAPH_TOO_BIG,   /* more events than fit, or at no location */
};

struct bf_graph;
/* Puts a graph in place; `values` is borrowed. 0 or -ENOMEM. Before the simulation ends: bf_graph_destroy(). */
int bf_graph_create(struct bf_sim *sim, struct bf_graph_values *values, struct bf_graph **out);
void bf_graph_destroy(struct bf_graph *g);

/* Before a run that is not the first one: threads and locations stay, events go. */
void bf_graph_reset(struct bf_graph *g);
/* The agent has made its last access of this run: nobody guesses that it will store. */
void bf_graph_finished(struct bf_graph *g, const struct bf_agent *a);

/* The agent's place: numbered from 0 in the order of the calls. -E2BIG. */
int bf_graph_thread(struct bf_graph *g, const struct bf_agent *a, uint32_t cta, uint32_t gpu);
/*
 * Declares the bytes at `at` as a location; `memory` is the location whose bytes it names (itself, or an alias's), and
 * `generic` the one whose generic address it has. Both were declared before, or are `at`. -E2BIG.
 */
int bf_graph_location(struct bf_graph *g, const void *at, const void *memory, const void *generic, uint64_t initial);

/*
 * Of the agent's next access: its proxy, and the loads (bits as bf_graph_loaded() gives them) on which its value or
 * address and its being made depend. Forgotten after that access.
 */
void bf_graph_hint(struct bf_graph *g, const struct bf_agent *a, enum bf_proxy proxy, uint64_t data, uint64_t control);
/* Bit of the agent's last load. */
uint64_t bf_graph_loaded(const struct bf_graph *g, const struct bf_agent *a);

/* Self: what views do, by the model. Once the run is given up (bf_graph_ended()) they do nothing, and loads give 0. */
void bf_graph_load(struct bf_agent *a, const void *p, void *data, uint32_t len, enum bf_sem sem, enum bf_scope scope);
void bf_graph_store(struct bf_agent *a, void *p, const void *data, uint32_t len, enum bf_sem sem, enum bf_scope scope);
void bf_graph_modify(struct bf_agent *a, void *p, uint32_t len, bf_atomic_fn *fn, void *arg, void *old, void *now,
		     enum bf_sem sem, enum bf_scope scope);
void bf_graph_fence(struct bf_agent *a, bool sc, enum bf_scope scope);
void bf_graph_fence_proxy(struct bf_agent *a, enum bf_proxy proxy);
/*
 * Self: a barrier that others of the block with the same key meet; `waits`: it is no mere arrival. Those who meet are
 * all that come for the same time, or (bf_graph_meet()) those that have come when enough have.
 */
void bf_graph_barrier(struct bf_agent *a, uint64_t key, bool waits);
void bf_graph_meet(struct bf_agent *a, uint64_t key);

/* After the last access of all threads: were all guesses kept? */
bool bf_graph_whole(const struct bf_graph *g);
enum bf_graph_end bf_graph_ended(const struct bf_graph *g);
/* The value of a location at the end: chosen among the writes that no other one follows. */
uint64_t bf_graph_final(struct bf_graph *g, const void *at);

#endif
