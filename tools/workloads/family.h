/*
 * Families of workloads: what `belfry run` and `belfry explore` do alike with all of them. A family tells in a table
 * what is its own; one run, its listeners and its report are here, a search over many runs is in
 * tools/workloads/explore.h.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_FAMILY_H
#define BELFRY_TOOLS_WORKLOADS_FAMILY_H

#include "drivers/backend/backend.h"
#include "drivers/trial/search.h"
#include "tools/cli/cli.h"
#include "tools/report/counts.h"
#include "tools/report/findings.h"

/* Every family's result begins with it. */
struct bf_result {
	uint32_t verdict;         /* one of the family's; 0: good */
	uint64_t wall_ns;         /* of the run itself, set-up and check left out */
	struct bf_counts *counts; /* NULL unless the choices ask; freed with the result */
};

/*
 * A workload is a struct with every choice, `w` below, and its result a struct, too. search.run() runs it in a world of
 * its own, on any thread, several at a time.
 */
struct bf_family {
	struct bf_search_family search;        /* choices, result, check() and run() */
	struct bf_search_part records, counts; /* where the choices have the record mask; whether counts are wanted */
	const char *(*verdict_name)(uint32_t verdict);
	const char *(*name)(const void *w);
	/* The command line that runs `w` again. */
	void (*command)(const void *w, char *buf, size_t cap);
	/* Makes choices for one more run, with no ties to the first one's; NULL: nothing to do. */
	void (*alone)(void *w);
	/* What a run found out: its lines, then those of a failure; behind the name, members of the open object. */
	void (*print)(const void *w, const void *result, bool stats);
	void (*json)(struct bf_json *j, const void *w, const void *result);
	void (*print_failure)(FILE *out, const void *result);
	void (*json_failure)(struct bf_json *j, const void *result);
	/* The cause of a failure as far as the result knows it, for when records do not tell; NULL: it knows nothing.
	 */
	void (*guess)(const void *result, struct bf_cause *out);
	/* Frees what a result owns beside its counts; NULL: nothing. */
	void (*release)(void *result);
	/* A member of the result, and its name as a rate of the wall clock in JSON; NULL: none is told. */
	struct bf_search_part done;
	const char *per_second;
};

/* The rows of a family's table that follow from its two structs. */
#define BF_FAMILY_STRUCTS(choices, outcome)                                                                            \
	.search.choice_bytes = sizeof(choices), .search.result_bytes = sizeof(outcome),                                \
	.search.seed = { BF_MEMBER(choices, seed), 0 }, .search.ordering = { BF_MEMBER(choices, ordering), 0 },        \
	.search.verdict = bf_family_verdict, .records = { BF_MEMBER(choices, records), 0 },                            \
	.counts = { BF_MEMBER(choices, counts), 0 }

/* The search.verdict() of all families. */
uint32_t bf_family_verdict(const void *result);

/* Runs a copy of `w` that records `classes` and counts nothing. 0 when it ran; a negative errno with `err` set. */
int bf_family_again(const struct bf_family *f, const void *w, uint32_t classes, struct bf_sink *sink,
		    struct bf_error *err);

/*
 * Why `w` ended in `result`, which is not good: from the records of one more run if runs on `backend` repeat
 * themselves, or from the result. `out` stays empty when that cannot be told.
 */
void bf_family_cause(const struct bf_family *f, const void *w, const struct bf_backend *backend, const void *result,
		     struct bf_cause *out);

/* --ordering and --records, and whether `be` keeps what they and --trace ask for. Exit code. */
int bf_choose_recording(const struct bf_args *args, const struct bf_backend *be, enum bf_ordering *ordering,
			uint32_t *records);

/* One run. */
struct bf_run {
	const struct bf_family *family;
	const void *w;
	const struct bf_backend *backend;
	bool silent;          /* another process tells what came of it */
	struct bf_sink *sink; /* listens beside the trace and the rules; NULL: nobody */
	/* After a run, before its report: what `sink` has to write. 0 or a negative errno; NULL: nothing. */
	int (*write)(struct bf_run *run, struct bf_error *err);
	struct bf_error err; /* why it could not run to its end; what `w` is tied to may note it here, too */
};

/* Runs it as --lint, --trace, --stats and --json say, and tells what came of it. Exit code. */
int bf_run_once(const struct bf_args *args, struct bf_run *run);

/* Operations a second at `ns` for `n` of them. */
uint64_t bf_rate(uint64_t n, uint64_t ns);

/* Indents each line of `text`. */
void bf_print_lines(FILE *out, const char *text);

#endif
