/* The SDMA workloads' plans, and what they share. */
#ifndef BELFRY_TOOLS_WORKLOADS_SDMA_WORKS_H
#define BELFRY_TOOLS_WORKLOADS_SDMA_WORKS_H

#include "tools/workloads/sdma_plan.h"

/* Most bytes that one surface of sdma-tiles and sdma-memcpy3d takes. */
#define BF_SDMA_WORK_TILES_BYTES (96u << 10)
/* sdma-rect: one surface. */
#define BF_SDMA_WORK_RECT_BYTES (128ull * 128 * 128)
/* sdma-concurrent: destinations, and submissions between two idle waits, as KFDTest's. */
#define BF_SDMA_WORK_WINDOW 8u

/* Each makes the plan of the workload of its name: sdma_works_copy.c, sdma_works_queue.c, sdma_works_memcpy3d.c. */
void bf_sdma_work_plan_of_rect(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_tiles(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_copy(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_fill(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_write(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_broadcast(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_fence(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_queues(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_concurrent(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_wrap(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_pause(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_doorbell(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_reset(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_of_memcpy3d(struct bf_sdma_work_plan *p);

/* The queue that a producer submits to. */
uint32_t bf_sdma_work_queue_of(const struct bf_sdma_work_plan *p, uint32_t producer);
/* Packets of at most `most` bytes that `bytes` take. */
uint32_t bf_sdma_work_pieces(uint64_t bytes, uint32_t most);
/* Submits `body`, waits for it and looks at the destination. */
void bf_sdma_work_plan_blocking(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t queue,
				const struct bf_sdma_drv_body *body, uint32_t packets, uint64_t dst, uint64_t bytes);
/* WRITEs of at most 64 dwords, `n` in all, drawn by seed. */
void bf_sdma_work_plan_random_write(struct bf_sdma_work_plan *p, struct bf_sdma_drv_body *body, uint64_t dst,
				    uint32_t n);

#endif
