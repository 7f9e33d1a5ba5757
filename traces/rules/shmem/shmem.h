/* Facts about NVSHMEM-style callers: the puts of each warp that no fence or quiet has covered, and to whom they went.
 */
#ifndef BELFRY_TRACES_RULES_SHMEM_SHMEM_H
#define BELFRY_TRACES_RULES_SHMEM_SHMEM_H

#include "traces/records/shmem.h"
#include "traces/rules/rule.h"

/* The last put of a warp to a PE since its last fence or quiet. A signal behind it closes it, too. */
struct bf_shmem_put {
	uint32_t actor, pe, qpn;
	bool open;
	uint32_t epoch;         /* fences and quiets of the warp before it */
	uint32_t opens;         /* of a warp: PEs that it has open puts to */
	uint64_t signal_record; /* of the signal that closed it */
	uint64_t at_ps, record;
	uint32_t meets, leaves; /* of a warp: barriers that it has come to, and left */
};

extern const struct bf_rule_family bf_rules_shmem;

/* The open put of the warp to the PE that the record names, or to any; NULL: there is none. */
const struct bf_shmem_put *bf_shmem_open_put(struct bf_rules *r, const struct bf_seen *e, bool any_pe);

/* The warp whose call the record is; NULL on lack of memory. */
const struct bf_shmem_put *bf_shmem_warp(struct bf_rules *r, const struct bf_seen *e);

#endif
