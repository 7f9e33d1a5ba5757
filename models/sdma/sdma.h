/*
 * The SDMA model: AMD's copy engine with user queues.
 *
 * It sees what the hardware sees: doorbell stores, ring bytes read by DMA, packets. A packet travels through the files
 * in this order: doorbell.c -> queue.c (fetch) -> decode.c (dwords to a packet, checks) -> exec.c (one function each)
 * -> copy.c and rect.c (data) -> queue.c (retirement, read pointer). queue_life.c is the kernel driver's side.
 *
 * What is known of the hardware, and how well: docs/hardware/sdma.md. One thread per engine, the simulation's.
 */
#ifndef BELFRY_MODELS_SDMA_SDMA_H
#define BELFRY_MODELS_SDMA_SDMA_H

#include <stdbool.h>

#include "models/sdma/profile.h"
#include "sim/pcie.h"

struct bf_sdma;       /* an engine; opaque */
struct bf_sdma_queue; /* a user queue on it; opaque */

struct bf_sdma_opts {
	const char *name;                      /* "sdma0" */
	const struct bf_sdma_profile *profile; /* NULL: bf_sdma_v6; copied */
	struct bf_space *space;                /* where the doorbell page appears */
	struct bf_ioas *ioas;                  /* what the engine sees */
	/* A trap: event `id` was signalled. NULL: nobody listens. */
	void (*trap)(void *arg, uint32_t id);
	void *trap_arg;
};

/* Returns 0, -ENOMEM or -EINVAL with sim->error set. */
int bf_sdma_create(struct bf_sim *sim, const struct bf_sdma_opts *opts, struct bf_sdma **out);
void bf_sdma_destroy(struct bf_sdma *dev);

/* As AMDKFD_IOC_CREATE_QUEUE (Linux include/uapi/linux/kfd_ioctl.h) has it. Addresses are the engine's. */
struct bf_sdma_queue_opts {
	uint64_t ring;  /* 256-byte aligned */
	uint64_t bytes; /* of the ring, power of two, at least 1024 */
	uint64_t rptr;  /* where the engine writes its read pointer: 8 bytes */
	uint64_t wptr;  /* where the driver keeps its write pointer: 8 bytes */
	bool wrapped;   /* indices are 32 bits and stay below `bytes` (before gfx9) instead of growing for ever */
	bool strict;    /* what is undefined stops the queue: overlap, rows that run into each other */
};

/* -EINVAL naming the field, -ENOSPC when all queues are in use, -ENOMEM. */
int bf_sdma_queue_create(struct bf_sdma *dev, const struct bf_sdma_queue_opts *opts, struct bf_sdma_queue **out);
void bf_sdma_queue_destroy(struct bf_sdma_queue *q);

/*
 * As AMDKFD_IOC_UPDATE_QUEUE: ring 0 or bytes 0 pauses the queue, a ring lets it go on; nothing is lost meanwhile, nor
 * is a doorbell.
 */
int bf_sdma_queue_update(struct bf_sdma_queue *q, uint64_t ring, uint64_t bytes);

/* The region with the queue's doorbell (8 bytes; before gfx9: 4) and its offset there. */
struct bf_region *bf_sdma_doorbell(struct bf_sdma_queue *q, uint64_t *offset);

/* Live mode: looks once at all doorbells in memory; non-zero when one had rung. `arg` is the struct bf_sdma. */
int bf_sdma_poll_doorbells(void *arg);

/* What stopped a queue; also in a record. */
struct bf_sdma_fault {
	enum bf_sdma_reason reason; /* prm.h; 0: it runs */
	uint64_t index;             /* of the packet's first byte, monotonic */
	uint32_t dword;             /* which dword of the packet */
	uint32_t value;
	uint64_t address;  /* of a memory fault: the page */
	bool in_indirect;  /* the packet lies in the buffer of the INDIRECT packet at `index` */
	uint64_t indirect; /* then its first byte there */
};

struct bf_sdma_queue_info {
	uint32_t id;
	/*
	 * Monotonic byte indices: published, read from the ring, and dispatched. A packet counts as retired when the
	 * engine has gone past it; its copy may still run: rptr == wptr means "taken", and only FENCE,
	 * ATOMIC and TRAP tell of completion (ROCr amd_blit_sdma.cpp, SubmitCommand).
	 */
	uint64_t doorbell, fetched, retired;
	uint32_t copies; /* still running */
	uint64_t packets, bytes;
	bool paused;
	const char *waits; /* what the packet in front waits for ("POLL_REGMEM"); NULL */
	struct bf_sdma_fault fault;
};
void bf_sdma_queue_info(struct bf_sdma_queue *q, struct bf_sdma_queue_info *out);

/*
 * Order. COPY, WRITE and CONST_FILL of a queue may overlap in time; every other packet waits until all copies and fills
 * before it are in memory, and what it writes lands after what WRITE packets before it wrote. A WRITE may land before
 * the copies in front of it have: that is why ROCr signals with FENCE (SubmitCommand). A copy whose source is the
 * destination of one that still runs reads what happens to be there. Packets of different queues have no order.
 *
 * A POLL_REGMEM that never succeeds polls for ever: give bf_sim_run() a limit.
 */

/* Statistics by name behind the queue's: packets, bytes, doorbells, faults, and so on. */
/* Records: models/sdma/records.h (types 400 to 449). Each queue is an actor of kind "queue": "sdma0.q0". */

#endif
