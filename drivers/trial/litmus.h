/*
 * Litmus tests on the views: each thread an agent, every choice enumerated.
 *
 * A test of the PTX model runs on an execution graph (sim/graph.h), which shows what a GPU may do at most; one of the
 * TSO model on the store buffers of the views, where drains and turns are the choices. On the buffers runs a test of
 * the PTX model, too, when that is asked for: it says which outcomes drivers can meet in an ordinary run.
 */
#ifndef BELFRY_DRIVERS_TRIAL_LITMUS_H
#define BELFRY_DRIVERS_TRIAL_LITMUS_H

#include "traces/import/litmus.h"

struct bf_litmus_opts {
	bool buffers;        /* not the graph */
	uint32_t visits;     /* of one operation by its thread in one run: a bound for loops; 0: 2 */
	uint64_t executions; /* at most; 0: 2,000,000 */
};

struct bf_litmus_result {
	bool seen;           /* some execution ends so */
	bool whole;          /* all executions up to the bound of loops were seen */
	uint64_t executions; /* runs that came to their end */
	uint64_t pruned;     /* that contradict the model, and were given up */
	uint64_t stuck;      /* that wait for ever */
	uint64_t bounded;    /* that went round a loop too often */
	char choices[192];   /* of the run that ends so (sim/choice.h); "" */
};

/* 0, or a negative errno with `err` set: -E2BIG when the test does not fit, -ENOTSUP when it cannot be run so. */
int bf_litmus_run(const struct bf_litmus *t, const struct bf_litmus_opts *opts, struct bf_litmus_result *out,
		  struct bf_error *err);

#endif
