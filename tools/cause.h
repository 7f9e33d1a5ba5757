/* Why a run failed: the store that came late, the key that did not fit, the doorbell that never rang. */
#ifndef BELFRY_TOOLS_CAUSE_H
#define BELFRY_TOOLS_CAUSE_H

#include "tools/findings.h"
#include "traces/rules/rule.h"
#include "tools/workload.h"

/* The cause that a log of all records of a run shows, whose send rings have `depth` blocks. */
struct bf_record_log;
void bf_cause_read(const struct bf_record_log *log, uint32_t depth, struct bf_cause *out);

/*
 * Runs the failing workload `w` once more with all records and names the cause. Only virtual time repeats itself, so
 * with other backends, and when the records outgrow memory, `out` stays empty.
 */
void bf_cause_of(const struct bf_workload *w, struct bf_cause *out);

/* For those who name causes: the sentence and the interval of records that shows it. */
void bf_cause_say(struct bf_cause *c, uint64_t begin_ps, uint64_t end_ps, const char *fmt, ...) BF_PRINTF(4, 5);
/* How many faults of the plan fired and which was first, behind whatever else was found. */
void bf_cause_mention_faults(const struct bf_record_log *log, uint64_t end_ps, struct bf_cause *out);

/* Counts the records in the cause's interval. */
void bf_cause_count(const struct bf_record_log *log, struct bf_cause *c);

#endif
