/* A litmus test's world, and its threads. */
#ifndef BELFRY_DRIVERS_TRIAL_LITMUS_INTERNAL_H
#define BELFRY_DRIVERS_TRIAL_LITMUS_INTERNAL_H

#include "drivers/trial/litmus.h"
#include "sim/choice.h"
#include "sim/mem.h"

#define BF_LITMUS_ANY UINT32_MAX
#define BF_LITMUS_PAGE 4096u
BF_STATIC_ASSERT(BF_LITMUS_LOCATIONS *BF_LINE <= BF_LITMUS_PAGE, "a line for each location");

struct bf_litmus_world;

/* A thread while it runs. */
struct bf_litmus_runner {
	struct bf_litmus_world *w;
	const struct bf_litmus_thread *t;
	struct bf_agent *agent;
	struct bf_view *view;
	int64_t value[BF_LITMUS_REGISTERS];
	uint64_t depends[BF_LITMUS_REGISTERS], control; /* loads behind registers and branches */
	uint32_t at;
	uint32_t visits[BF_LITMUS_OPS];
	uint64_t key[BF_LITMUS_OPS]; /* of a barrier, when it was visited */
	bool done;                   /* with this run */
	bool waits;                  /* at a barrier */
};

struct bf_litmus_world {
	const struct bf_litmus *t;
	struct bf_litmus_opts opts;
	struct bf_enumeration choices;
	struct bf_graph_values values;
	uint8_t *bytes; /* a page for the locations */
	struct bf_sim *sim;
	struct bf_space space;
	bool has_space;
	bool too_often, over; /* this run: a loop went round too often; threads are to end */
	struct bf_region *memory;
	struct bf_graph *graph; /* NULL: the views' buffers */
	struct bf_litmus_runner runner[BF_LITMUS_THREADS];
	uint32_t ndomains;
	struct {
		uint32_t gpu, cta;
		struct bf_domain *domain;
	} domain[2 * BF_LITMUS_THREADS];
	uint32_t decided; /* locations whose final value was chosen */
	int64_t final[BF_LITMUS_LOCATIONS];
};

uint8_t *bf_litmus_at(const struct bf_litmus_world *w, uint32_t location);
bool bf_litmus_compare(enum bf_litmus_compare c, int64_t a, int64_t b);

/* An agent's main function; its argument is a runner. */
void bf_litmus_thread_main(struct bf_agent *self, void *arg);

/* Has everybody come to the barrier at which the thread is? */
bool bf_litmus_met(const struct bf_litmus_runner *r);

/* One run on the views' buffers: who goes on and what drains next is chosen. False: some thread waits for ever. */
bool bf_litmus_direct(struct bf_litmus_world *w);

/* Between runs: buffers are empty afterwards, and no block has copies. */
void bf_litmus_settle(struct bf_litmus_world *w);

#endif
