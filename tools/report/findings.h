/* What rules found, for commands: the cause of a failed run, findings as text and JSON. */
#ifndef BELFRY_TOOLS_REPORT_FINDINGS_H
#define BELFRY_TOOLS_REPORT_FINDINGS_H

#include "tools/cli/cli.h"
#include "tools/report/source_line.h"
#include "traces/rules/rules.h"

/* Why a run failed. */
struct bf_cause {
	char rule[48];             /* id; empty when only the fault plan explains it */
	char text[1200];           /* sentences; empty when the records do not tell */
	uint64_t begin_ps, end_ps; /* the records that show it lie in this interval */
	uint64_t records;          /* from the first of them to the last there are so many */
};

/* The root cause among what was found, and how many faults of the plan fired. */
void bf_cause_take(const struct bf_rules *r, struct bf_cause *out);

/* "cause: ..." and the rule's id. Nothing for an empty cause. */
void bf_cause_print(FILE *out, const struct bf_cause *cause);

/* As a member "cause" of the open object. */
void bf_cause_json(struct bf_json *j, const struct bf_cause *cause);

/*
 * All findings: the root cause, its consequences, what is suppressed; and rules that could not judge, with `unjudged`
 * each in a line of its own. `places` tells where in the code they come from; it may be NULL.
 */
void bf_findings_print(FILE *out, const struct bf_rules *r, struct bf_places *places, bool unjudged);

/* The same as members "root", "findings", "unable", "unknown" and "faults" of the open object. */
void bf_findings_json(struct bf_json *j, const struct bf_rules *r, struct bf_places *places);

/* The ids of all rules, for shells that complete (struct bf_opt). */
const char *bf_rule_names(const void *own, uint32_t i);

#endif
