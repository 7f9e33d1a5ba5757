/* What a search by seed went through, and what not. */
#ifndef BELFRY_TOOLS_WORKLOADS_COVERAGE_H
#define BELFRY_TOOLS_WORKLOADS_COVERAGE_H

#include "drivers/trial/search.h"
#include "tools/workloads/family.h"

struct bf_json;

/*
 * Runs `w` and the other shapes of the search once more under each of its orderings, with records, and tells what
 * happened in these runs, what did not, and what could have gone wrong in another order (rules of the family "order",
 * of `w`): as text, or with `j` as the member "covered" of its open object. 0, or a negative errno with `err` set.
 */
int bf_coverage_tell(const struct bf_family *f, const struct bf_search *s, const void *w, struct bf_json *j,
		     struct bf_error *err);

#endif
