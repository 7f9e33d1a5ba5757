/* What a search by seed went through, and what not. */
#ifndef BELFRY_TOOLS_WORKLOADS_COVERAGE_H
#define BELFRY_TOOLS_WORKLOADS_COVERAGE_H

#include "drivers/trial/search.h"
#include "tools/workloads/family.h"

/*
 * Runs `w` once more under each ordering of the search, with records, and prints what happened in these runs, what did
 * not, and what could have gone wrong in another order (rules of the family "order"). 0, or a negative errno with `err`
 * set.
 */
int bf_coverage_print(const struct bf_family *f, const struct bf_search *s, const void *w, struct bf_error *err);

#endif
