/*
 * Every run with at most so many delays, instead of runs by seed.
 *
 * Where a run asks (sim/choice.h), alternative 0 is what a quiet machine does: stores drain at once, no load leaves a
 * stale copy, no thread stalls. Every other alternative is a delay. The search runs the quiet machine, then every run
 * with one delay, then every one with two: the first failure has the fewest delays that a failure can have. A run whose
 * records are those of an earlier one, but for when stores became visible, is equal to it: a delay that nobody noticed
 * is not combined with others. No seed, no luck: the same search gives the same answer.
 */
#ifndef BELFRY_DRIVERS_TRIAL_EXHAUST_H
#define BELFRY_DRIVERS_TRIAL_EXHAUST_H

#include "drivers/trial/search.h"
#include "sim/choice.h"

struct bf_exhaust_opts {
	const struct bf_search_family *family; /* with a chooser */
	uint32_t delays;                       /* at most, in one run */
	uint64_t runs;                         /* at most, in all */
};

struct bf_exhaust_result {
	uint64_t runs;                   /* made */
	uint64_t equal;                  /* of these, equal to an earlier one */
	uint32_t delays;                 /* all runs with at most so many were made (bf_exhaust() returned 0 or 1) */
	bool whole;                      /* up to the number asked for */
	bool all;                        /* there are no others: no run is left with more delays either */
	uint32_t choices;                /* of the quiet machine's run */
	uint64_t asked[BF_CHOICE_KINDS]; /* of all runs */
	char list[256];                  /* of the run that fails (bf_enumeration_parse()); "" */
};

/*
 * Runs `w` with its ordering and seed, in every way. 1: some run fails, its result is in `*result`; 0: none does, as
 * far as `out` says; a negative errno with `err` set when a run could not start.
 */
int bf_exhaust(const struct bf_exhaust_opts *opts, const void *w, void *result, struct bf_exhaust_result *out,
	       struct bf_error *err);

#endif
