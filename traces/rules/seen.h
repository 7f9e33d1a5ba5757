/*
 * Records as rules see them: of each type in traces/records/all.def a kind, BF_SEEN_<type>, and a view, struct
 * bf_seen_<type>, in which each number of the record is an uint64_t. Fields are found by name in whatever the stream
 * declares; one that the stream's type lacks reads 0. Texts: bf_seen_text() in rule.h.
 */
#ifndef BELFRY_TRACES_RULES_SEEN_H
#define BELFRY_TRACES_RULES_SEEN_H

#include <stdint.h>

#include "sim/each.h"

#define BF_NAMES(...)
#define BF_TEXTS(...)

#define BF_RECORD(rec, ...) BF_SEEN_##rec,
enum bf_seen_kind {
	BF_SEEN_NONE,
#include "traces/records/all.def"
	BF_SEEN_KINDS
};
#undef BF_RECORD

/* F(field) for each field that is a number. */
#define BF_SEEN_FIELDS_(F, ...) BF_EACH(BF_SEEN_FIELD_, F, __VA_ARGS__)
#define BF_SEEN_FIELD_(F, field) BF_SEEN_FIELD_OF_(F, BF_BARE field)
#define BF_SEEN_FIELD_OF_(...) BF_SEEN_FIELD_BY_(__VA_ARGS__, "")
#define BF_SEEN_FIELD_BY_(F, type, name, kind, ...) BF_SEEN_IF_##kind##_(F, name)
#define BF_SEEN_IF_DEC_(F, name) F(name)
#define BF_SEEN_IF_INT_(F, name) F(name)
#define BF_SEEN_IF_HEX_(F, name) F(name)
#define BF_SEEN_IF_TIME_(F, name) F(name)
#define BF_SEEN_IF_ENUM_(F, name) F(name)
#define BF_SEEN_IF_NAMES_(F, name) F(name)
#define BF_SEEN_IF_PAD_(F, name)
#define BF_SEEN_IF_TEXT_(F, name)

#define BF_SEEN_MEMBER_(name) uint64_t name;
#define BF_RECORD(rec, number, cls, queue, ...)                                                                        \
	struct bf_seen_##rec {                                                                                         \
		BF_SEEN_FIELDS_(BF_SEEN_MEMBER_, __VA_ARGS__)                                                          \
	};
#include "traces/records/all.def"
#undef BF_RECORD

#undef BF_NAMES
#undef BF_TEXTS

/* No view has more fields. */
#define BF_SEEN_FIELDS_MAX 20u

/* A list of kinds: BF_SEES(wqe_fetch, cqe). */
#define BF_SEES(...) ((const uint16_t[]){ BF_EACH(BF_SEES_, , __VA_ARGS__) BF_SEEN_NONE })
#define BF_SEES_(none, rec) BF_SEEN_##rec,

#endif
