/*
 * Every run with delays, instead of runs by seed.
 *
 * Where a run asks (sim/choice.h), alternative 0 is what a quiet machine does: stores drain at once, no load leaves a
 * stale copy, no thread stalls. Every other alternative is a delay. The search runs the quiet machine, then every run
 * with one delay, then every one with two: the first failure has the fewest delays that a failure can have.
 *
 * A delay that nobody could have noticed leaves a run as it is, and is not tried there (sim/notice_internal.h): partial
 * order reduction. Whatever set of delays a run has, the first thing that tells it from one with fewer of them is an
 * access that notices one of the others; so the search comes to it, delay by delay, in any order. No seed, no luck: the
 * same search gives the same answer.
 */
#ifndef BELFRY_DRIVERS_TRIAL_EXHAUST_H
#define BELFRY_DRIVERS_TRIAL_EXHAUST_H

#include "drivers/trial/search.h"
#include "sim/choice.h"
#include "traces/rules/rules.h"

struct bf_exhaust_opts {
	const struct bf_search_family *family; /* with a chooser */
	uint32_t delays;                       /* at most, in one run */
	uint32_t stalls;                       /* of these, stalls of threads */
	uint64_t runs;                         /* at most, in all */
	uint64_t ns;                           /* of the wall clock, at most; 0: as long as it takes */
	/* So many of the delays that nobody noticed are tried all the same: nothing may become of them (-EIO). */
	uint64_t doubts;
	bool rules; /* what rules call an error or a warning is a failure, too */
	/* Before each run: how many there were, and how many are known, more of which may follow; may be NULL. */
	void (*progress)(void *owner, uint64_t done, uint64_t known);
	void *owner;
};

struct bf_exhaust_result {
	uint64_t runs;                   /* made */
	uint64_t doubted;                /* delays that were tried although nobody noticed them */
	uint64_t unnoticed;              /* of all runs: delays that nobody noticed */
	uint32_t delays;                 /* all runs with at most so many were made (bf_exhaust() returned 0 or 1) */
	bool whole;                      /* up to the numbers asked for */
	bool all;                        /* there are no others: no delay is left to try */
	bool stalled;                    /* others would have more stalls, and only those */
	uint32_t choices;                /* of the quiet machine's run */
	uint64_t asked[BF_CHOICE_KINDS]; /* of all runs */
	char found[600];                 /* the root cause, with `rules`; "" */
	char list[256];                  /* of the run that fails (bf_enumeration_parse()); "" */
};

/*
 * Runs `w` with its ordering and seed, in every way. 1: some run fails, its result is in `*result`; 0: none does, as
 * far as `out` says; a negative errno with `err` set when a run could not start.
 */
int bf_exhaust(const struct bf_exhaust_opts *opts, const void *w, void *result, struct bf_exhaust_result *out,
	       struct bf_error *err);

#endif
