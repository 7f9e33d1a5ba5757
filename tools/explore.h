/*
 * Searching seeds and orderings for a run that fails, and making that run small: for workloads of any family.
 */
#ifndef BELFRY_TOOLS_EXPLORE_H
#define BELFRY_TOOLS_EXPLORE_H

#include "drivers/backend/backend.h"
#include "tools/cli.h"
#include "tools/findings.h"
#include "tools/member.h"

/* A number among the choices that may get smaller. */
struct bf_explore_part {
	size_t offset, size; /* BF_MEMBER() */
	uint64_t least;
};

/*
 * What a family of workloads tells of itself. A workload is a struct with every choice, a result is a struct, too;
 * neither owns memory that a plain copy would not share. Functions are called on any thread, several at a time.
 */
struct bf_explore_family {
	size_t choice_bytes, result_bytes;
	struct bf_explore_part seed, ordering, records; /* where the workload has them */
	const struct bf_explore_part *parts;            /* in the order in which they are made smaller: */
	uint32_t nparts;                                /* the first ones shorten the story most */
	/* Whether the choices fit each other: 0, or a negative errno with `err` set. */
	int (*check)(const void *w, struct bf_error *err);
	/* 0 when it ran, however it ended; a negative errno with `err` set when it could not start. */
	int (*run)(const void *w, struct bf_sink *sink, void *result, struct bf_error *err);
	uint32_t (*verdict)(const void *result); /* 0: good */
	const char *(*verdict_name)(uint32_t verdict);
	const char *(*name)(const void *w);
	/* The command line that runs `w` again. */
	void (*command)(const void *w, char *buf, size_t cap);
	void (*print_failure)(FILE *out, const void *result);
	void (*json_failure)(struct bf_json *j, const void *result);
	/* Runs `w`, which ended in `result`, once more and says why; `out` stays empty when that cannot be told. */
	void (*cause)(const void *w, const void *result, struct bf_cause *out);
};

struct bf_search {
	const struct bf_explore_family *family;
	uint64_t seeds;             /* the workload's, the one after it, ... */
	enum bf_ordering orders[4]; /* tried in this order for each seed */
	uint32_t norders;
	uint32_t jobs;                /* threads */
	uint32_t want;                /* a verdict; 0: any failure counts */
	struct bf_progress *progress; /* may be NULL */
};

/*
 * Runs `base` under each seed and ordering until one fails. Returns 1 with the first failure (the lowest seed, then the
 * first ordering, whatever the number of threads) in `*found` and its result in `*result`, 0 when none failed, a
 * negative errno with `err` set when a run could not start. `*found` borrows the texts of `base`. Adds to `*runs` the
 * runs up to the failure.
 */
int bf_search_run(const struct bf_search *s, const void *base, void *found, void *result, uint64_t *runs,
		  struct bf_error *err);

/*
 * Makes a failing run smaller as long as it fails in the same way under one of `s->seeds` seeds from `first_seed`: a
 * simpler ordering, then the family's parts. `*w` and `*result` are replaced. Returns 0 or a negative errno.
 */
int bf_search_shrink(const struct bf_search *s, uint64_t first_seed, void *w, void *result, uint64_t *runs,
		     struct bf_error *err);

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
