/* --lint of `belfry run`: a run put before all rules while it goes on, for every family of workloads. */
#ifndef BELFRY_TOOLS_REPORT_LINT_RUN_H
#define BELFRY_TOOLS_REPORT_LINT_RUN_H

#include "tools/report/findings.h"
#include "tools/workloads/family.h"

struct bf_lint_run {
	struct bf_rules *rules;   /* NULL: --lint was not given */
	struct bf_places *places; /* NULL: nothing found, or no records of class where */
	uint32_t records;         /* classes that the run records */
	struct bf_sink_tee tee;
};

/* Opens the rules when --lint was given. Returns an exit code; BF_EXIT_GOOD: go on. */
int bf_lint_run_begin(const struct bf_args *args, uint32_t records, struct bf_lint_run *l);

/* What a run gives its records to, so that rules hear them beside `other`; either may be absent. */
struct bf_sink *bf_lint_run_sink(struct bf_lint_run *l, struct bf_sink *other);

/*
 * The run of `w` has ended. With `again`, the family of a workload that repeats itself, it is run once more when
 * something was found and its lines of code are wanted. Takes the cause of a failure; empty for a run that was good.
 * 0, or -ENOMEM: rules lacked memory, so there is no verdict.
 */
int bf_lint_run_end(struct bf_lint_run *l, bool good, struct bf_cause *cause, const struct bf_family *again,
		    const void *w);

/* What was found; nothing without --lint. JSON: a member "lint" of the open object. */
void bf_lint_run_print(FILE *out, const struct bf_lint_run *l);
void bf_lint_run_json(struct bf_json *j, const struct bf_lint_run *l);

/* The exit code of a run that was good. */
int bf_lint_run_code(const struct bf_lint_run *l);
void bf_lint_run_free(struct bf_lint_run *l);

#endif
