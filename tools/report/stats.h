/* Stages of a trace as members of a JSON object: those of `belfry stats --json`, and of the page. */
#ifndef BELFRY_TOOLS_REPORT_STATS_H
#define BELFRY_TOOLS_REPORT_STATS_H

#include "tools/cli/cli.h"
#include "traces/life/stages.h"

/*
 * "queues": their stages and the histogram of the whole, [upper bound in ps, count] for each power of two; "engines":
 * how busy they were. `queue`: only queues with this in their names, or NULL.
 */
void bf_stats_json(struct bf_json *j, const struct bf_stages *s, const char *queue);

/* How much of a histogram lies in each power of two: of[i] counts values below 2 << i. */
void bf_hist_by_power(const struct bf_hist *h, uint64_t of[64]);

#endif
