/* Regions of memory, as they were allocated: a ring that runs past the end of its own is too long, or begins too late.
 */
#ifndef BELFRY_TRACES_RULES_REGIONS_H
#define BELFRY_TRACES_RULES_REGIONS_H

#include "traces/rules/rule.h"

#define BF_RULE_REGIONS 1024u /* what comes later is not known */

struct bf_rule_regions {
	struct bf_rule_region {
		uint64_t va, end;
		char name[32];
	} region[BF_RULE_REGIONS];
	uint32_t n;
};

/* Takes a region record in. */
void bf_rule_regions_note(struct bf_rule_regions *s, const struct bf_seen *e);

/* The region that `va` lies in, if [va, va + bytes) goes on behind its end; NULL otherwise, or when none is known. */
const struct bf_rule_region *bf_rule_regions_left(const struct bf_rule_regions *s, uint64_t va, uint64_t bytes);

#endif
