/* What host.c (life of the whole) and host_qp.c (queues and connections) share. */
#ifndef BELFRY_DRIVERS_IBGDA_HOST_INTERNAL_H
#define BELFRY_DRIVERS_IBGDA_HOST_INTERNAL_H

#include "drivers/ibgda/host.h"
#include "models/mlx5/prm.h"

#define BF_IBGDA_NONE 0xffffffffu

/* Numbers of the device's objects; BF_IBGDA_NONE until they exist. */
struct bf_ibgda_objects {
	uint32_t qpn, cqn, uar, ibuf_key;
};

enum bf_ibgda_umem { BF_IBGDA_UMEM_RING, BF_IBGDA_UMEM_DBR, BF_IBGDA_UMEM_CQ, BF_IBGDA_UMEMS };

struct bf_ibgda_pe {
	struct bf_memory heap, mem[BF_IBGDA_UMEMS], ibuf, tables;
	uint32_t pd;
	uint32_t umem[BF_IBGDA_UMEMS];
	uint32_t *keys; /* [registrations] of the heap, as the device numbers them: index << 8 | variant */
	struct bf_ibgda_objects *obj; /* [npes * num_rc]; self entries unused */
	struct bf_ibgda_state *state; /* in `tables`, with what follows */
	struct bf_ibgda_lkey *lkeys;
	struct bf_ibgda_rkey *rkeys;
	uint64_t *peer_heap_va;
	struct bf_ibgda_qp *rcs;
	struct bf_ibgda_cq *cqs;
	uint8_t *switches;
	uint8_t gid[16], mac[6];
};

struct bf_ibgda_host {
	const struct bf_backend *be;
	struct bf_world *world;
	struct bf_error *err;
	struct bf_ibgda_host_opts opts; /* defaults filled in */
	uint32_t npes;
	uint32_t nregs; /* registrations of each heap */
	uint64_t granules;
	uint64_t reg_bytes;
	struct bf_ibgda_pe *pe;
};

/*
 * Runs a command; -EIO with PE, name, status and syndrome in the error text when the device refused. `number` (may be
 * NULL) gets the object's number.
 */
int bf_ibgda_cmd(struct bf_ibgda_host *h, uint32_t pe, enum bf_mlx5_cmd_op op, const char *name, void *in, size_t len,
		 uint32_t *number);
/* The same for commands that carry only an object's number: destroy, dealloc. */
int bf_ibgda_cmd_number(struct bf_ibgda_host *h, uint32_t pe, enum bf_mlx5_cmd_op op, const char *name,
			uint32_t number);

/* A memory key over [va, va + size) of a PE: index << 8 | variant. */
int bf_ibgda_create_key(struct bf_ibgda_host *h, uint32_t pe, uint64_t va, uint64_t size, uint8_t variant,
			uint32_t *key);

/* What the numbering of a PE's CQs depends on. */
struct bf_ibgda_counts bf_ibgda_counts_of(const struct bf_ibgda_host *h, uint32_t pe);

/* Bytes of one QP's completion queue. */
uint64_t bf_ibgda_cq_bytes(const struct bf_ibgda_host *h);

/* host_qp.c: all queues of one PE, in RESET; and what connects `pe`'s QP number `ordinal` to its peer. */
int bf_ibgda_create_queues(struct bf_ibgda_host *h, uint32_t pe);
int bf_ibgda_connect(struct bf_ibgda_host *h, uint32_t pe, uint32_t ordinal);
void bf_ibgda_destroy_queues(struct bf_ibgda_host *h, uint32_t pe);

#endif
