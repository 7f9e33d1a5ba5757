/* For trials: reliable connections between all PEs, made by command mailboxes (drivers/ibgda/host.h). */
#ifndef BELFRY_DRIVERS_TRIAL_MLX5_H
#define BELFRY_DRIVERS_TRIAL_MLX5_H

#include "drivers/trial/trial.h"

BF_API_BEGIN

struct bf_trial_mlx5_opts {
	uint64_t heap_bytes; /* of registered memory of each PE; 0: 2 MiB */
	uint32_t queues;     /* to each other PE; 0: 1 */
	uint32_t wqebbs;     /* of each send ring, a power of two 16..32768; 0: 64 */
	bool collapsed;      /* completions go to one entry; otherwise to a ring of twice as many as the send ring */
	bool rings_in_host;  /* rings and doorbell records in host memory, not in the GPU's */
	uint8_t ack_timeout; /* 4.096 us * 2^n; 0: 20 */
	uint8_t retry_count; /* 0: 7 */
};

/* Once, in setup. `opts` may be NULL. */
int bf_trial_mlx5(struct bf_trial *t, const struct bf_trial_mlx5_opts *opts);

/*
 * One end of a connection, ready to send, all that a driver gets from its control path. Pointers are for threads of the
 * PE, addresses (_va) and keys for entries. Numbers are in the CPU's byte order.
 */
struct bf_trial_mlx5_queue {
	uint32_t qpn, cqn;
	uint32_t wqebbs;    /* send ring */
	uint32_t cqes;      /* completion ring; collapsed: only entry 0 is used */
	uint8_t *sq;        /* wqebbs * BF_MLX5_WQEBB bytes, zeroed */
	uint8_t *cq;        /* cqes * 64 bytes, all ones: opcode 15, owner 1 */
	uint32_t *dbrec;    /* be32: WQEBBs produced, 16 bits count */
	uint32_t *cq_dbrec; /* be32: CQEs consumed, 24 bits count; not read when collapsed */
	void *doorbell;     /* the first 8 bytes of the last entry go here, in one store */
	uint8_t *local;     /* the PE's heap, heap_bytes long */
	uint64_t local_va;
	uint64_t remote_va; /* the peer's heap */
	uint64_t heap_bytes;
	uint32_t lkey, rkey;
};

/* Queue `i` of `pe` towards `peer`. -EINVAL for a pair that has none. */
int bf_trial_mlx5_queue(struct bf_trial *t, uint32_t pe, uint32_t peer, uint32_t i, struct bf_trial_mlx5_queue *out);
/* The heap of a PE, for setup and verify. */
struct bf_memory bf_trial_heap(const struct bf_trial *t, uint32_t pe);

BF_API_END

#endif
