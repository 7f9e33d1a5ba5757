/*
 * The rows of a life (device.h) from a list, traces/devices/<life>.def. The facts of rules are made from the same list
 * (traces/rules/way.h): it alone says which records take which entries to which point. Its lines are
 *
 *	BF_MOVES(who, record, point, which, when, ...)  entries come to a point; `...` is the rest of the row
 *	BF_TELLS({ ... })                               rows that rules do not need
 *
 * who: SOFTWARE, whose records may come in any order, or DEVICE, whose last word counts. which: one of BF_MOVES_* below
 * with its fields. when: ALWAYS; IF(field, value).
 */
#ifndef BELFRY_TRACES_DEVICES_MOVES_H
#define BELFRY_TRACES_DEVICES_MOVES_H

#include "traces/device.h"

/* clang-format off */
#define BF_MOVES(who, record, at, which, when, ...) \
	{ .type = #record, .point = at, BF_MOVES_##who BF_MOVES_##which BF_MOVES_##when __VA_ARGS__ },
#define BF_TELLS(...) __VA_ARGS__,

#define BF_MOVES_SOFTWARE .software = true,
#define BF_MOVES_DEVICE

#define BF_MOVES_ONE(at) .first = #at,
#define BF_MOVES_COUNT(at, count) .entries = BF_LIFE_COUNT, .first = #at, .second = #count,
#define BF_MOVES_RANGE(from, to) .entries = BF_LIFE_RANGE, .first = #from, .second = #to,
#define BF_MOVES_BELOW(to) .entries = BF_LIFE_BELOW, .first = #to,
#define BF_MOVES_SLOTS(at, count) .entries = BF_LIFE_SLOTS, .first = #at, .second = #count,
/* An entry, with the index of the next one. */
#define BF_MOVES_NEXT(at, next) .first = #at,
#define BF_MOVES_NAMED(at, name) .entries = BF_LIFE_NAMED, .first = #at, .second = #name,
#define BF_MOVES_BYTES(from, to) .entries = BF_LIFE_BYTES, .first = #from, .second = #to,
/* A packet, by the byte at which it begins, and how many dwords it has. */
#define BF_MOVES_DWORDS(at, count) .first = #at, .bytes = #count "*4",

#define BF_MOVES_ALWAYS
#define BF_MOVES_IF(field, value) .when = #field, .is = value,
/* clang-format on */

#endif
