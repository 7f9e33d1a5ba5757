/*
 * The host's part: rings, pointers and memory of each PE's copy engine, through a backend.
 *
 * One thread calls these functions, none while the world runs.
 */
#ifndef BELFRY_DRIVERS_SDMA_HOST_H
#define BELFRY_DRIVERS_SDMA_HOST_H

#include "drivers/backend/backend.h"
#include "drivers/backend/sdma_world.h"
#include "drivers/sdma/sdma.h"

struct bf_sdma_drv_host; /* opaque */

struct bf_sdma_drv_host_opts {
	const struct bf_sdma_drv_caps *caps; /* copied */
	uint64_t bugs;                       /* BF_SDMA_BUG_* */
	uint32_t queues;                     /* of each PE, 1..64 */
	uint64_t ring_bytes;                 /* power of two */
	uint64_t heap_bytes;                 /* of each PE */
	enum bf_placement place;             /* of the heap; rings lie in host memory */
	bool wrapped, strict;                /* as in struct bf_sdma_ring */
	bool exact_fit, wait_idle;           /* as in struct bf_sdma_drv_writer */
};

/*
 * Creates all queues, empty, and a zeroed heap on each of `npes` PEs of `world`, which must outlive this. 0, or a
 * negative errno with `err` set: -ENOTSUP when the backend has no copy engines. Free with bf_sdma_drv_host_close().
 */
int bf_sdma_drv_host_open(const struct bf_backend *backend, struct bf_world *world, uint32_t npes,
			  const struct bf_sdma_drv_host_opts *opts, struct bf_error *err,
			  struct bf_sdma_drv_host **out);
void bf_sdma_drv_host_close(struct bf_sdma_drv_host *h);

/* A queue as producers use it, and what it was created with. */
struct bf_sdma_drv_writer *bf_sdma_drv_host_writer(struct bf_sdma_drv_host *h, uint32_t pe, uint32_t queue);
const struct bf_sdma_ring *bf_sdma_drv_host_ring(const struct bf_sdma_drv_host *h, uint32_t pe, uint32_t queue);

struct bf_memory bf_sdma_drv_host_heap(const struct bf_sdma_drv_host *h, uint32_t pe);

/* Pause: the queue is given a null ring, as AMDKFD_IOC_UPDATE_QUEUE allows; resume gives the ring back. */
int bf_sdma_drv_host_pause(struct bf_sdma_drv_host *h, uint32_t pe, uint32_t queue);
int bf_sdma_drv_host_resume(struct bf_sdma_drv_host *h, uint32_t pe, uint32_t queue);

/* Ends a queue that hangs and puts a new one, empty, in its place. */
int bf_sdma_drv_host_reset(struct bf_sdma_drv_host *h, uint32_t pe, uint32_t queue);

#endif
