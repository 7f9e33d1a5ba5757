/*
 * What a ConnectX can do, and how it does what no source says.
 *
 * The first part differs between generations, and commands tell of it. Each member of the second turns one assumption
 * of the model round: false is what docs/hardware/mlx5.md assumes under the number beside it. A driver that holds in
 * both cases does not depend on the answer (`--profile cx7,traits.bell_leads=1`).
 */
#ifndef BELFRY_MODELS_MLX5_TRAITS_H
#define BELFRY_MODELS_MLX5_TRAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/compiler.h"

BF_API_BEGIN

struct bf_mlx5_traits {
	bool no_record;         /* queue pairs without a doorbell record (HCA_CAP_2.send_dbr_mode_no_dbr_ext) */
	uint32_t no_record_max; /* of those at a time; 0: as many as there may be queue pairs */
	bool core_direct;       /* queue pairs may WAIT for a CQ (HCA_CAP.cd) */
	bool ooo_rw, ooo_all;   /* data of WRITEs, of all requests, may land out of order (dp_ordering_*) */
	bool ordering_force;    /* a requester may ask for that alone */

	bool any_register;      /* gpu-initiated-1: both registers ring both kinds of queue pair */
	bool mode_refused_res;  /* gpu-initiated-2: a mode that is not there: NO_RESOURCES instead of BAD_PARAM */
	bool limit_is_lim;      /* gpu-initiated-3: one too many: LIM instead of NO_RESOURCES */
	bool bell_back;         /* gpu-initiated-4: an older index is a step back */
	bool bell_leads;        /* gpu-initiated-5: starts from the index in the register, before the record is read */
	bool bell_opmod;        /* gpu-initiated-6: a doorbell whose opmod byte is not 0 is not listened to */
	bool ring_voids_copy;   /* gpu-initiated-7: a later ring at the same register voids the 64 bytes before it */
	bool wait_16;           /* gpu-initiated-8: WAIT compares 16 bits of the index */
	bool wait_needs_master; /* gpu-initiated-9: only queue pairs with cd_master may WAIT */
	bool wait_for_good;     /* gpu-initiated-10: CQEs of errors do not count */
	bool any_cq_offset;     /* gpu-initiated-11: a CQ may begin anywhere in a large page */
	bool looks_at_reserved; /* gpu-initiated-12: entries with reserved bytes that are not 0 are malformed */
	bool waits_for_receive; /* gpu-initiated-13: a SEND to a queue pair without receive queue gets RNR NAKs */
	bool atomics_wait;      /* gpu-initiated-14: an atomic waits for relaxed writes before it, too */
	bool order_ignored;     /* gpu-initiated-15: a data-path ordering that is not there is ignored, not refused */
};

/* clang-format off */
/* ConnectX-6 and 7 differ in nothing here that is known, but for the placement of data (assumed). */
#define BF_MLX5_TRAITS_CX6 { .core_direct = true }
#define BF_MLX5_TRAITS_CX7 { .core_direct = true, .ooo_rw = true }
#define BF_MLX5_TRAITS_CX8                                                                                             \
	{ .no_record = true, .no_record_max = 4096, .core_direct = true, .ooo_rw = true, .ooo_all = true,              \
	  .ordering_force = true }
/* clang-format on */

BF_API_END

#endif
