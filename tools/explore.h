/*
 * belfry explore: a search (drivers/trial/search.h) over the workloads of any family, and its report.
 */
#ifndef BELFRY_TOOLS_EXPLORE_H
#define BELFRY_TOOLS_EXPLORE_H

#include "drivers/backend/backend.h"
#include "drivers/trial/search.h"
#include "tools/cli.h"
#include "tools/findings.h"

/*
 * What a family of workloads tells of itself. A workload is a struct with every choice, a result is a struct, too;
 * neither owns memory that a plain copy would not share. Functions are called on any thread, several at a time.
 */
struct bf_explore_family {
	struct bf_search_family search;
	struct bf_search_part records; /* where the workload has its record mask */
	const char *(*verdict_name)(uint32_t verdict);
	const char *(*name)(const void *w);
	/* The command line that runs `w` again. */
	void (*command)(const void *w, char *buf, size_t cap);
	void (*print_failure)(FILE *out, const void *result);
	void (*json_failure)(struct bf_json *j, const void *result);
	/* Runs `w`, which ended in `result`, once more and says why; `out` stays empty when that cannot be told. */
	void (*cause)(const void *w, const void *result, struct bf_cause *out);
};

/* The whole of `belfry explore` with a workload that is parsed: search, shrink, report. Exit code. */
int bf_explore(const struct bf_args *args, const struct bf_explore_family *f, const void *w,
	       const struct bf_backend *backend);

/* The options that it reads; --trace, too, which families have among theirs. */
#define BF_EXPLORE_OPTIONS                                                                                             \
	{ .name = "seeds",                                                                                             \
	  .kind = BF_OPT_U64,                                                                                          \
	  .arg = "N",                                                                                                  \
	  .initial = "200",                                                                                            \
	  .help = "how many seeds, from --seed on",                                                                    \
	  .min = 1,                                                                                                    \
	  .max = 1u << 30 },                                                                                           \
	{ .name = "orderings",                                                                                         \
	  .kind = BF_OPT_TEXT,                                                                                         \
	  .arg = "O[,O]",                                                                                              \
	  .initial = "sc,tso,gpu,adversarial",                                                                         \
	  .help = "orderings to run each seed under" },                                                                \
	{ .name = "jobs",                                                                                              \
	  .kind = BF_OPT_U64,                                                                                          \
	  .arg = "N",                                                                                                  \
	  .help = "runs at a time; default: one for each processor",                                                   \
	  .min = 1,                                                                                                    \
	  .max = 256 }

#endif
