/*
 * IBGDA, host side: heaps, keys, queues and device state for every PE of a world, through nothing but command mailboxes
 * and memory (NVSHMEM src/modules/transport/ibgda/ibgda.cpp does the same through DEVX).
 *
 * For each PE: one symmetric heap in GPU memory under one or more memory keys, num_rc_per_pe RC queue pairs to every
 * other PE, each with its own send ring, doorbell record, completion queue (collapsed, overrun ignored, filled with
 * 0xff) and UAR, an ibuf for fetched results with a key of its own, and the struct bf_ibgda_state that device code
 * works on. Queue pairs are numbered user_index = ordinal = peer * num_rc_per_pe + i; entries for a PE itself stay
 * unused.
 *
 * One thread, while no kernel runs. Memory belongs to the world and goes with it.
 */
#ifndef BELFRY_DRIVERS_IBGDA_HOST_H
#define BELFRY_DRIVERS_IBGDA_HOST_H

#include "drivers/backend/backend.h"
#include "drivers/ibgda/ibgda.h"

struct bf_ibgda_host_opts {
	enum bf_ibgda_flavour flavour;
	uint32_t bugs;             /* BF_IBGDA_BUG_* */
	uint64_t heap_bytes;       /* of each PE; rounded up to granules */
	uint32_t log2_granularity; /* of the key tables; 0: 21 (2 MiB) */
	uint32_t granules_per_mr;  /* registrations of this many granules each; 0: one for the whole heap */
	uint32_t num_rc_per_pe;    /* 0: 2, NVSHMEM's default */
	uint32_t qp_depth;         /* WQEBBs, power of two 16..32768; 0: 1024 */
	uint32_t batch;            /* num_requests_in_batch, power of two; 0: 32 */
	uint32_t ibuf_slots;       /* power of two; 0: 1024 */
	bool system_scope;         /* rings, records and completion queues in host memory */
	bool plain_cq; /* not collapsed: a ring of CQEs (what libmlx5 uses); device code then needs the option too */
	uint8_t ack_timeout; /* 4.096 us * 2^n; 0: 20, NVSHMEM's */
	uint8_t retry_count; /* 0: 7 */
};

struct bf_ibgda_host; /* opaque */

/*
 * Builds everything and connects all pairs (RESET to RTS). On failure returns a negative errno, `err` names the
 * command, PE and status, and everything is undone.
 */
int bf_ibgda_host_open(const struct bf_backend *be, struct bf_world *w, uint32_t npes,
		       const struct bf_ibgda_host_opts *opts, struct bf_error *err, struct bf_ibgda_host **out);

/* Destroys in the order the device demands: QPs, CQs, umems, keys, protection domain. */
void bf_ibgda_host_close(struct bf_ibgda_host *h);

/* The device state of a PE, dereferenceable by its threads. */
struct bf_ibgda_state *bf_ibgda_host_state(struct bf_ibgda_host *h, uint32_t pe);

/* The heap of a PE. Host code may touch its bytes while nothing runs. */
struct bf_memory bf_ibgda_host_heap(const struct bf_ibgda_host *h, uint32_t pe);

/* The QP `i` (0..num_rc_per_pe-1) of `pe` towards `peer`; NULL for itself or out of range. */
struct bf_ibgda_qp *bf_ibgda_host_qp(struct bf_ibgda_host *h, uint32_t pe, uint32_t peer, uint32_t i);

#endif
