/*
 * Records as rules see them: the fields that some rule reads, found by name in whatever the stream declares.
 *
 * A record type that rules subscribe to has a row X(name, FIELDS, key) in its family's seen_*.h: `FIELDS(F)` lists the
 * integer fields that are wanted, `key` the field that names its queue (or none). All fields become uint64_t members of
 * `struct bf_seen_<name>`; one that the stream's type lacks reads 0. Texts and rare fields: bf_seen_u64(),
 * bf_seen_text() in rule.h.
 */
#ifndef BELFRY_TRACES_RULES_SEEN_H
#define BELFRY_TRACES_RULES_SEEN_H

#include <stdint.h>

#include "traces/rules/seen_capture.h"
#include "traces/rules/seen_hopper.h"
#include "traces/rules/seen_ll.h"
#include "traces/rules/seen_mlx5.h"
#include "traces/rules/seen_nvme.h"
#include "traces/rules/seen_sdma.h"
#include "traces/rules/seen_sim.h"

#define BF_SEEN_ALL(X)                                                                                                 \
	BF_SEEN_SIM(X)                                                                                                 \
	BF_SEEN_MLX5(X) BF_SEEN_NVME(X) BF_SEEN_SDMA(X) BF_SEEN_HOPPER(X) BF_SEEN_LL(X) BF_SEEN_CAPTURE(X)

#define BF_SEEN_KIND_(name, FIELDS, key) BF_SEEN_##name,
enum bf_seen_kind { BF_SEEN_NONE, BF_SEEN_ALL(BF_SEEN_KIND_) BF_SEEN_KINDS };

#define BF_SEEN_FIELD_(name) uint64_t name;
#define BF_SEEN_STRUCT_(name, FIELDS, key)                                                                             \
	struct bf_seen_##name {                                                                                        \
		FIELDS(BF_SEEN_FIELD_)                                                                                 \
	};
BF_SEEN_ALL(BF_SEEN_STRUCT_)

/* No type has more wanted fields. */
#define BF_SEEN_FIELDS_MAX 20u

#endif
