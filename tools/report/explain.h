/* The life of an entry, command, packet or barrier as commands show it, and what is stuck. */
#ifndef BELFRY_TOOLS_REPORT_EXPLAIN_H
#define BELFRY_TOOLS_REPORT_EXPLAIN_H

#include "tools/cli/cli.h"
#include "traces/life/explain.h"
#include "traces/life/stuck.h"
#include "traces/rules/rules.h"

/* "0x100001:81" or decimal. False when it is not that. */
bool bf_explain_entry(const char *text, uint32_t *qpn, uint16_t *index);

/* The steps as the member "life" of an open JSON object. */
void bf_explain_json(struct bf_json *j, const struct bf_explain *l);

/*
 * Prints it as the whole output of a command, in JSON with `error` (NULL: none) as well. BF_EXIT_FAILED when there is
 * nothing to tell.
 */
int bf_explain_out(const struct bf_args *args, const struct bf_explain *l, const char *error);

/*
 * The same for what is stuck, with the root cause on top; `damage` NULL: the trace is whole. BF_EXIT_FINDINGS when
 * something is.
 */
int bf_stuck_out(const struct bf_args *args, const struct bf_stuck *s, const struct bf_rules *r, const char *damage);

#endif
