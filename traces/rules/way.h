/*
 * How far a queue has come, for facts: from the list that the life of its entries is made from as well
 * (traces/devices/moves.h). A family includes the list in a function that has the record `e`, its `kind` and the
 *queue's facts `q`; for each line that is about the record
 *
 *	came(q, point, device, from, upto, e)
 *
 * is called, which the family defines: entries from..upto-1 have come there. The kind is best a constant: then nothing
 * is left but the one line.
 */
#ifndef BELFRY_TRACES_RULES_WAY_H
#define BELFRY_TRACES_RULES_WAY_H

#include "traces/rules/rule.h"

/* clang-format off */
#define BF_MOVES(who, rec, at, which, when, ...) \
	if (kind == BF_SEEN_##rec) { \
		const struct bf_seen_##rec *v = &e->rec; \
		if (BF_WAY_##when) \
			came(q, at, BF_WAY_##who, BF_WAY_FROM_##which, BF_WAY_UPTO_##which, e); \
	}
#define BF_TELLS(...)

#define BF_WAY_SOFTWARE false
#define BF_WAY_DEVICE true

#define BF_WAY_FROM_ONE(at) v->at
#define BF_WAY_UPTO_ONE(at) v->at + 1
#define BF_WAY_FROM_COUNT(at, count) v->at
#define BF_WAY_UPTO_COUNT(at, count) v->at + v->count
#define BF_WAY_FROM_RANGE(from, to) v->from
#define BF_WAY_UPTO_RANGE(from, to) v->to
#define BF_WAY_FROM_BELOW(to) 0
#define BF_WAY_UPTO_BELOW(to) v->to
#define BF_WAY_FROM_SLOTS(at, count) v->at
#define BF_WAY_UPTO_SLOTS(at, count) v->at + v->count
#define BF_WAY_FROM_NEXT(at, next) v->at
#define BF_WAY_UPTO_NEXT(at, next) v->next
#define BF_WAY_FROM_NAMED(at, name) v->at
#define BF_WAY_UPTO_NAMED(at, name) v->at + 1
#define BF_WAY_FROM_BYTES(from, to) v->from
#define BF_WAY_UPTO_BYTES(from, to) v->to
#define BF_WAY_FROM_DWORDS(at, count) v->at
#define BF_WAY_UPTO_DWORDS(at, count) v->at + v->count * 4

#define BF_WAY_ALWAYS true
#define BF_WAY_IF(field, value) v->field == (value)
/* clang-format on */

/* Where entries have come to a point: all below `upto`. The record that took the furthest there, and whose it was. */
struct bf_rule_way {
	uint64_t upto, at_ps, record;
	uint32_t actor;
};

/* Of what threads say, the furthest counts; of what the device says, the last. */
static inline void bf_rule_way_to(struct bf_rule_way *way, bool device, uint64_t upto, const struct bf_seen *e)
{
	if (device || upto > way->upto)
		*way = (struct bf_rule_way){ upto, e->time_ps, e->number, e->actor };
}

#endif
