/*
 * belfry explore: a search (drivers/trial/search.h) over the workloads of any family, and its report.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_EXPLORE_H
#define BELFRY_TOOLS_WORKLOADS_EXPLORE_H

#include "tools/workloads/family.h"

/* The whole of `belfry explore` with a workload that is parsed: search, shrink, report. Exit code. */
int bf_explore(const struct bf_args *args, const struct bf_family *f, const void *w, const struct bf_backend *backend);

/* The options that it reads; --trace, too, which families have among theirs. */
#define BF_EXPLORE_OPTIONS                                                                                             \
	{ .name = "seeds",                                                                                             \
	  .kind = BF_OPT_U64,                                                                                          \
	  .arg = "N",                                                                                                  \
	  .initial = "200",                                                                                            \
	  .help = "how many seeds, from --seed on",                                                                    \
	  .min = 1,                                                                                                    \
	  .max = 1u << 30 },                                                                                           \
	    { .name = "orderings",                                                                                     \
	      .kind = BF_OPT_TEXT,                                                                                     \
	      .arg = "O[,O]",                                                                                          \
	      .initial = "sc,tso,gpu,adversarial",                                                                     \
	      .help = "orderings to run each seed under" },                                                            \
	{                                                                                                              \
		.name = "jobs", .kind = BF_OPT_U64, .arg = "N",                                                        \
		.help = "runs at a time; default: one for each processor", .min = 1, .max = 256                        \
	}

#endif
