/*
 * What each fence, release, acquire and scope of a piece of code is good for.
 *
 * A first pass runs the code and finds the places, by the records of accesses with their code addresses. Then each
 * place is made weaker by a fault plan (fence-none, fence-cta, fence-gpu; sim/fault.h), and a search through all runs
 * with delays (drivers/trial/exhaust.h) says whether that harms. Who brings the code says how it runs: a workload, a
 * PTX kernel, a program of trials.
 */
#ifndef BELFRY_TOOLS_FENCES_FENCES_H
#define BELFRY_TOOLS_FENCES_FENCES_H

#include "sim/record.h"
#include "tools/cli/cli.h"
#include "tools/report/source_line.h"
#include "traces/life/places.h"

#define BF_FENCE_DELAYS 2u /* of a run, where nobody asks for more */
#define BF_FENCE_STALLS 1u

/* A plan that makes nothing weaker, but lets code that is interpreted tell its places as for one that does. */
#define BF_FENCE_NOWHERE "fence-none site=0xffffffff"

/* What a search has come to. */
struct bf_fence_search {
	uint64_t runs;
	bool whole;       /* up to the numbers that were asked for */
	char what[96];    /* a failing run: how it ended */
	char again[2048]; /* the command that repeats it; "" */
	char cause[1024]; /* what a rule says of it; of good code as it is: what may have been luck; "" */
};

/* A piece of code. */
struct bf_fence_code {
	const char *name;
	uint32_t delays, stalls; /* of one run */
	uint32_t first_runs;     /* runs that find the places */
	void *own;
	/* One run by seed, the first one is 0, with records of memory and of class where. 0 or a negative errno. */
	int (*watch)(void *own, uint32_t run, struct bf_sink *records, struct bf_error *err);
	/* 1: some run fails, 0: none, or a negative errno. `plan` NULL: the code as it is. */
	int (*search)(void *own, const char *plan, struct bf_fence_search *out, struct bf_error *err);
	/*
	 * The line of a place, and what stands there ("" if that is all that is known); it may know the scope
	 * better. False: nothing to judge. NULL: debug information tells.
	 */
	bool (*line)(void *own, const struct bf_place *at, struct bf_source_line *out, char *text, size_t cap,
		     uint32_t *scope);
};

/* Judges it and tells the verdicts, as text or JSON. Exit code. */
int bf_fences(const struct bf_args *args, const struct bf_fence_code *code);

/* Options that all forms of `belfry fences` have. */
#define BF_FENCE_OPTIONS                                                                                               \
	{ .name = "delays",                                                                                            \
	  .kind = BF_OPT_U64,                                                                                          \
	  .arg = "K",                                                                                                  \
	  .initial = "2",                                                                                              \
	  .help = "search all runs with at most K delays (stores, stale copies, stalls)",                              \
	  .min = 1,                                                                                                    \
	  .max = 64 },                                                                                                 \
	    { .name = "stalls",                                                                                        \
	      .kind = BF_OPT_U64,                                                                                      \
	      .arg = "N",                                                                                              \
	      .initial = "1",                                                                                          \
	      .help = "at most N of the delays of one run are stalls of threads",                                      \
	      .max = 64 },                                                                                             \
	{                                                                                                              \
		.name = "runs", .kind = BF_OPT_U64, .arg = "N", .initial = "100000",                                   \
		.help = "give up a search after so many runs: \"not decided\"", .min = 1, .max = UINT32_MAX            \
	}

#endif
