/*
 * Searching seeds and orderings for a run that fails, and making that run small.
 */
#ifndef BELFRY_TOOLS_EXPLORE_H
#define BELFRY_TOOLS_EXPLORE_H

#include "tools/workload.h"

struct bf_search {
	uint64_t seeds;             /* base->seed, base->seed + 1, ... */
	enum bf_ordering orders[4]; /* tried in this order for each seed */
	uint32_t norders;
	uint32_t jobs;              /* threads */
	enum bf_verdict want;       /* BF_VERDICT_GOOD: any failure counts */
	struct bf_progress *progress; /* may be NULL */
};

/*
 * Runs `base` under each seed and ordering until one fails. Returns 1 with the first failure (the lowest seed, then the
 * first ordering, whatever the number of threads) in `*found` and its result in `*result`, 0 when none failed, a
 * negative errno with `err` set when a run could not start. `*found` borrows the texts of `base`. Adds to `*runs` the
 * runs up to the failure.
 */
int bf_search_run(const struct bf_search *s, const struct bf_workload *base, struct bf_workload *found,
		  struct bf_run_result *result, uint64_t *runs, struct bf_error *err);

/*
 * Makes a failing run smaller as long as it fails in the same way under one of `s->seeds` seeds from `first_seed`: a
 * simpler ordering, fewer messages, warps, blocks, PEs and queue pairs, smaller payload. `*w` and `*result` are
 * replaced. Returns 0 or a negative errno.
 */
int bf_search_shrink(const struct bf_search *s, uint64_t first_seed, struct bf_workload *w,
		     struct bf_run_result *result, uint64_t *runs, struct bf_error *err);

#endif
