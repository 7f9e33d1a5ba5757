/*
 * Families of workloads: what `belfry run` and `belfry explore` do alike with all of them. A family tells in a table
 * what is its own; one run, its listeners and its report are here, a search over many runs is in
 * tools/workloads/explore.h.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_FAMILY_H
#define BELFRY_TOOLS_WORKLOADS_FAMILY_H

#include "drivers/backend/backend.h"
#include "drivers/trial/search.h"
#include "tools/report/counts.h"
#include "tools/workloads/choice.h"

/* Every family's result begins with it. */
struct bf_result {
	uint32_t verdict;         /* one of the family's; 0: good */
	uint64_t wall_ns;         /* of the run itself, set-up and check left out */
	struct bf_counts *counts; /* NULL unless the choices ask; freed with the result */
};

struct bf_cause;
struct bf_family;
struct bf_run;

/* A workload: ends with a NULL name. */
struct bf_work {
	const char *name, *summary; /* "ring-copy" */
};

/* Another value of an option. */
struct bf_shape {
	const char *option; /* "depth" */
	uint64_t value;
	const char *text; /* of "faults", in place of a number */
};

/* What `belfry run` or `belfry explore` says of a family; a NULL summary: the command does not have it. */
struct bf_family_help {
	const char *summary;
	const char *details;          /* paragraphs for --help, between those that all families have; may be NULL */
	const char *exit_codes;       /* run: where they are other than the usual ones */
	const char *examples;         /* lines, each begins with two blanks */
	const struct bf_opt *options; /* of this command alone, before the family's; may be NULL */
	/* Other defaults than the family's, as pairs of an option and its value, ends with NULL; may be NULL. */
	const char *const *initial;
};

/*
 * A family is a row: from it come the forms of `run` and `explore` with their options, help, completion, lists and
 * error texts. A workload is a struct with every choice, `w` below, and its result a struct, too. search.run() runs it
 * in a world of its own, on any thread, several at a time.
 */
struct bf_family {
	const char *prefix; /* with which the names of its workloads begin: "ring-" */
	const struct bf_work *works;
	const struct bf_opt *options; /* of both commands; --trace, --list and those of all families are added */
	const struct bf_words *words; /* ends with a NULL option; NULL: no such options */
	struct bf_family_help run, explore;
	/*
	 * Other shapes, which some seeds of a search have: rings that are near full, more blocks, losses. Each a list
	 * that ends with a NULL option; the list of them ends with NULL. An option that the user gives stays as it is.
	 */
	const struct bf_shape *const *shapes;
	/* Pairs of an option and its value: a size that `belfry fences` can search to its end; NULL: the defaults. */
	const char *const *small;
	bool ranks;      /* PEs may be spread over processes */
	const void *own; /* the family's, for its functions */
	/* The whole of `belfry run` for workloads that have nothing of what follows. */
	int (*command_line)(const struct bf_args *args);

	struct bf_search_family search; /* choices, result, check() and run() */
	/* Where the choices have them; size 0: they have not. `work` is an index into `works`. */
	struct bf_search_part work, records, counts, top;
	struct bf_search_part backend, faults; /* pointers: struct bf_backend; the text of a plan, owned */
	uint32_t device;                       /* one of BF_DEVICE_*: what `backend` is asked for */
	/*
	 * After numbers, texts and words were taken from the command line: derives the rest and says what does not fit.
	 * 0 or a negative errno with `err` set. Then, with the backend chosen, what depends on it: exit code. May be
	 * NULL, as the next ones.
	 */
	int (*fill)(const struct bf_family *f, const struct bf_args *args, void *w, struct bf_error *err);
	int (*settle)(const struct bf_args *args, void *w);
	/* What `explore` cannot have: exit code. */
	int (*admit)(const struct bf_args *args, const void *w);
	/* Around bf_run_once() for `belfry run`: exit code. */
	int (*run_once)(const struct bf_args *args, void *w, struct bf_run *run);
	/* Turns numbers that the workload has of its own back into what asks for them: for the command line. */
	void (*forget)(void *w);
	/* Makes choices for one more run, with no ties to the first one's. */
	void (*alone)(void *w);
	const char *(*verdict_name)(uint32_t verdict);
	/*
	 * What a run found out: lines behind its command, then those of a failure; members of the open object, those of
	 * "options", and a failure's. All may be NULL: then
	 * the verdict is what is told.
	 */
	void (*print)(const void *w, const void *result, bool stats);
	void (*json)(struct bf_json *j, const void *w, const void *result);
	void (*json_options)(struct bf_json *j, const void *w);
	void (*print_failure)(FILE *out, const void *result);
	void (*json_failure)(struct bf_json *j, const void *result);
	/* The cause of a failure as far as the result knows it, for when records do not tell; NULL: it knows nothing.
	 */
	void (*guess)(const void *result, struct bf_cause *out);
	/* Frees what a result owns beside its counts; NULL: nothing. */
	void (*release)(void *result);
	/* What --list shows beside workloads and words: text on standard output, or members when `j`. */
	void (*list)(struct bf_json *j);
	/* A member of the result, and its name as a rate of the wall clock in JSON; NULL: none is told. */
	struct bf_search_part done;
	const char *per_second;
};

/* `explore --exhaustive` (tools/workloads/explore_all.c): exit code. */
int bf_explore_all(const struct bf_args *args, const struct bf_family *f, const void *w, const enum bf_ordering *orders,
		   uint32_t norders);

struct bf_exhaust_opts;
struct bf_exhaust_result;
/* bf_exhaust() with progress on a terminal. */
int bf_explore_exhaust(const struct bf_args *args, const struct bf_exhaust_opts *opts, const void *w, void *result,
		       struct bf_exhaust_result *r, struct bf_error *err);
/* `belfry fences` (tools/fences/workload.c): exit code. */
int bf_fences_workload(const struct bf_args *args, const struct bf_family *f, const void *w);

/* Those of this program, ends with NULL. The first one is what the commands have without a prefix. */
extern const struct bf_family *const bf_families[];

/* What follows from the two structs of a family. */
#define BF_FAMILY_STRUCTS(choices, outcome)                                                                            \
	.search.choice_bytes = sizeof(choices), .search.result_bytes = sizeof(outcome),                                \
	.search.seed = { BF_MEMBER(choices, seed), 0 }, .search.ordering = { BF_MEMBER(choices, ordering), 0 },        \
	.search.verdict = bf_family_verdict, .records = { BF_MEMBER(choices, records), 0 },                            \
	.counts = { BF_MEMBER(choices, counts), 0 }
/* The same for those whose worlds take a chooser: explore --exhaustive, run --choices. */
#define BF_FAMILY_CHOOSER(choices)                                                                                     \
	.search.chooser = { BF_MEMBER(choices, chooser), 0 }, .search.stacks = { BF_MEMBER(choices, stacks), 0 }

/* The workload that is chosen, and who provides its devices. */
const struct bf_work *bf_family_work(const struct bf_family *f, const void *w);
const struct bf_backend *bf_family_backend(const struct bf_family *f, const void *w);
const char *bf_family_faults(const struct bf_family *f, const void *w); /* NULL: none */

/* The command line that runs `w` again, options at their default left out. Truncated to `cap`. */
void bf_family_command(const struct bf_family *f, const void *w, char *buf, size_t cap);

/*
 * Fills `w`, of search.choice_bytes zeroed bytes, from the command line; ordering and records are left at their
 * defaults. BF_EXIT_GOOD, or the exit code after reporting what is wrong. Free with bf_family_free() either way.
 */
int bf_family_parse(const struct bf_family *f, const struct bf_args *args, void *w);
void bf_family_free(const struct bf_family *f, void *w);

/* Reports that the first argument names no workload of the family: the nearest that there is, and all. Exit code. */
int bf_family_refuse(const struct bf_family *f, const struct bf_args *args);

/* What --list shows. Exit code. */
int bf_family_list(const struct bf_family *f, const struct bf_args *args);

/* `belfry run`, `belfry explore` and `belfry fences` with the workloads of all families. */
struct bf_forms {
	struct bf_command run, explore, fences;
	struct bf_form *forms; /* what they point to */
	size_t nforms;
	const struct bf_command **families;
};
/* `families` ends with NULL and outlives it. 0 or -ENOMEM; free with bf_forms_free(). */
int bf_forms_make(const struct bf_family *const *families, struct bf_forms *out);
void bf_forms_free(struct bf_forms *f);
int bf_run_command(const struct bf_args *args); /* of a form: bf_arg_own() is its family */
int bf_explore_command(const struct bf_args *args);
int bf_fences_command(const struct bf_args *args);

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

/* The whole of `belfry explore` with a workload that is parsed: search, shrink, report. Exit code. */
int bf_explore(const struct bf_args *args, const struct bf_family *f, const void *w, const struct bf_backend *backend);

/* Operations a second at `ns` for `n` of them. */
uint64_t bf_rate(uint64_t n, uint64_t ns);

/* Indents each line of `text`. */
void bf_print_lines(FILE *out, const char *text);

#endif
