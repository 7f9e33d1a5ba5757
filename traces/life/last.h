/*
 * The last entry that a device took, and its life: where to begin when something is wrong and no rule knows what.
 */
#ifndef BELFRY_TRACES_LIFE_LAST_H
#define BELFRY_TRACES_LIFE_LAST_H

#include <stdbool.h>
#include <stdio.h>

#include "traces/life/explain.h"
#include "traces/rules/rules.h"

/* Reads `t` from where it stands. False: no device took any, or the trace cannot be read. */
bool bf_last_entry(struct bf_trace *t, struct bf_explain_target *out);

/*
 * What is unfinished at the end of a trace that can seek, a line each: "missing: nic0.qp0x100: ...", with `threads`
 * also those that wait. Nothing where nothing is.
 */
void bf_last_missing(struct bf_trace *t, bool threads, FILE *out);

/* The life of the last entry, with what it still waits for: a heading and lines of at most 100 columns, or nothing. */
void bf_last_life(struct bf_trace *t, FILE *out);

/*
 * The verdict that a trace has of its run, when that failed and `r`, which has read it, found nothing wrong, or only
 * that somebody waits; NULL otherwise. Valid until the trace is read further.
 */
const char *bf_last_failed(const struct bf_trace *t, const struct bf_rules *r);

/* What is to be said of such a run: its own reason, what is missing, the life of the last entry. */
void bf_last_story(struct bf_trace *t, FILE *out);

#endif
