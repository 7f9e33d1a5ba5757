/*
 * What the times of a run stand on. Each stage of an entry's life counts for the constants that make most of it:
 * measured on hardware with a program of this repository, sourced (a data sheet or specification), fitted to published
 * figures (docs/timing.md), or assumed.
 */
#ifndef BELFRY_TOOLS_REPORT_BASIS_H
#define BELFRY_TOOLS_REPORT_BASIS_H

#include "tools/cli/cli.h"
#include "traces/life/stages.h"

/* Time of entries by basis, over all queues; `told` is false when the run was no simulation in virtual time. */
struct bf_basis_share {
	uint64_t ps[BF_TIME_BASES];
	bool told;
};

/* `t`: whose command line names profile and backend. `queue` as in bf_stats_json(). */
void bf_basis_share(const struct bf_stages *s, const struct bf_trace *t, const char *queue, struct bf_basis_share *out);

/* A member "stands_on": shares in per cent, or null. */
void bf_basis_json(struct bf_json *j, const struct bf_basis_share *b);

/* "measured 43 %, sourced 0 %, fitted 0 %, assumed 57 %" */
void bf_basis_text(const struct bf_basis_share *b, char *out, size_t cap);

#endif
