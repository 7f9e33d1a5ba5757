/*
 * What a simulation counted: its statistics by name, and how often each rule of its fault plan fired. A copy that
 * outlives the simulation, and how it is told to people and as JSON.
 */
#ifndef BELFRY_TOOLS_REPORT_COUNTS_H
#define BELFRY_TOOLS_REPORT_COUNTS_H

#include <stdio.h>

#include "sim/sim.h"
#include "tools/cli/cli.h"

struct bf_counts; /* opaque */
struct bf_boot;

/* NULL on lack of memory. Free with bf_counts_free(), which takes NULL. */
struct bf_counts *bf_counts_take(const struct bf_sim *sim);
void bf_counts_free(struct bf_counts *c);

/*
 * Adds what the other processes of a simulation have counted; collective, and only rank 0 has it all afterwards.
 * Counters of one name are added up; a histogram belongs to a device and so to one process. Negative errno with `err`
 * set.
 */
int bf_counts_gather(struct bf_counts *c, struct bf_boot *ranks, struct bf_error *err);

/* All statistics, aligned; those that are zero or empty are only counted. */
void bf_counts_print_stats(FILE *out, const struct bf_counts *c);
/* Member "stats" of the open object: every statistic, zero or not. Times and sizes as they are counted. */
void bf_counts_json_stats(struct bf_json *j, const struct bf_counts *c);

/* One line for each rule of the plan; a rule that never fired says why. Nothing without a plan. */
void bf_counts_print_faults(FILE *out, const struct bf_counts *c);
/* Member "fault_rules" of the open object. Nothing without a plan. */
void bf_counts_json_faults(struct bf_json *j, const struct bf_counts *c);

#endif
