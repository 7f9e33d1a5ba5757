/*
 * A plan of an SDMA run while it is made: threads with their steps, heaps with what must be in them in the end.
 *
 * Functions that can run out of memory note it in the plan and go on without effect; bf_sdma_plan_end() tells.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_SDMA_PLAN_H
#define BELFRY_TOOLS_WORKLOADS_SDMA_PLAN_H

#include "drivers/sdma/copy.h"
#include "drivers/sdma/kernels.h"
#include "sim/rng.h"
#include "tools/workloads/sdma.h"

/* Host code between two runs of threads. */
enum bf_sdma_work_action {
	BF_SDMA_WORK_ACT_PAUSE,
	BF_SDMA_WORK_ACT_RESUME,
	BF_SDMA_WORK_ACT_UNTOUCHED,
	BF_SDMA_WORK_ACT_HUNG,
	BF_SDMA_WORK_ACT_RESET
};

struct bf_sdma_work_plan_thread {
	uint32_t pe, phase;
	struct bf_sdma_drv_step *steps;
	size_t nsteps, cap;
	uint64_t *status;
};

struct bf_sdma_work_plan_action {
	enum bf_sdma_work_action kind;
	uint32_t phase; /* before its threads */
	uint32_t pe, queue;
};

/* Bytes that no plain loop can foretell: two timestamps, of which the second is not before the first. */
struct bf_sdma_work_plan_times {
	uint32_t pe;
	uint64_t first, second; /* heap offsets */
};

/* The first slice of a destination, for pictures: its heap offset on PE 0, and the window that a rect copy fills. */
struct bf_sdma_work_plan_picture {
	uint64_t at;
	uint32_t side; /* bytes of a row, and rows */
	uint32_t element, x, y, width, height;
};

/* A part of a heap, for messages. */
struct bf_sdma_work_plan_area {
	uint32_t pe;
	uint64_t at, bytes;
	char name[40];
};

struct bf_sdma_work_plan {
	const struct bf_sdma_workload *w;
	struct bf_sdma_drv_host *host;
	struct bf_sdma_work_result *result;
	struct bf_rng rng;
	struct bf_memory heap[64];
	uint8_t *shadow[64]; /* what the heap must be */
	uint64_t used[64];
	struct bf_sdma_work_plan_thread *threads;
	uint32_t nthreads, threads_cap;
	struct bf_sdma_work_plan_action *actions;
	uint32_t nactions, actions_cap;
	struct bf_sdma_work_plan_times *times;
	uint32_t ntimes, times_cap;
	struct bf_sdma_work_plan_area *areas;
	uint32_t nareas, areas_cap;
	struct bf_sdma_work_plan_chunk *chunks; /* bodies and submissions, at addresses that stay */
	struct bf_sdma_work_plan_picture *pictures;
	uint32_t npictures, pictures_cap;
	uint64_t traps; /* of event BF_SDMA_WORK_PLAN_EVENT on PE 0 */
	uint32_t phase;
	int rc;
	char refused[120]; /* with -ENOTSUP */
};

#define BF_SDMA_WORK_PLAN_EVENT 0x2a5u

/* An empty plan, and its end: 0, -ENOMEM, or -ENOSPC when the heaps were too small. */
int bf_sdma_work_plan_begin(struct bf_sdma_work_plan *p, const struct bf_sdma_workload *w,
			    struct bf_sdma_drv_host *host, struct bf_sdma_work_result *result);
void bf_sdma_work_plan_free(struct bf_sdma_work_plan *p);

/* The workloads (sdma_works.c): heap bytes that `w` needs on each PE, and the plan of it. */
uint64_t bf_sdma_work_heap(const struct bf_sdma_workload *w);
void bf_sdma_work_plan(struct bf_sdma_work_plan *p);
/* Puts a workload's own numbers where the command line said 0, and checks that they fit. */
int bf_sdma_work_defaults(struct bf_sdma_workload *w, struct bf_error *err);

/* What workloads are made with (sdma_plan.c). Offsets are in the heap of PE `pe`. */

/* A fresh area of zeros, aligned to 64; `name` for messages. Fails the plan when the heap has no room. */
uint64_t bf_sdma_work_plan_area(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t bytes, const char *name);
/* Puts bytes there, or random ones, before the run. */
void bf_sdma_work_plan_before(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at, const void *bytes, uint64_t n);
void bf_sdma_work_plan_random(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at, uint64_t bytes);
/* A 64-bit word with `before` in it before the run and `after` at the end; returns a signal for it. */
struct bf_sdma_drv_signal bf_sdma_work_plan_signal(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t before,
						   uint64_t after);

uint64_t bf_sdma_work_plan_va(const struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at);

/* Plain loops on what must be in the end. */
void bf_sdma_work_plan_copied(struct bf_sdma_work_plan *p, uint32_t dst_pe, uint64_t dst, uint32_t src_pe, uint64_t src,
			      uint64_t bytes);
void bf_sdma_work_plan_filled(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at, uint32_t value, uint64_t dwords);
void bf_sdma_work_plan_stored(struct bf_sdma_work_plan *p, uint32_t pe, uint64_t at, const void *bytes, uint64_t n);

/* A thread of PE `pe` in the current phase; its number. */
uint32_t bf_sdma_work_plan_thread(struct bf_sdma_work_plan *p, uint32_t pe);
/* Everything from here on happens when all threads before have ended. */
void bf_sdma_work_plan_next_phase(struct bf_sdma_work_plan *p);
void bf_sdma_work_plan_act(struct bf_sdma_work_plan *p, enum bf_sdma_work_action kind, uint32_t pe, uint32_t queue);

/* A body that the plan keeps. */
void bf_sdma_work_plan_body(struct bf_sdma_work_plan *p, struct bf_sdma_drv_body *b, uint32_t dwords);

/* Steps of a thread. */
void bf_sdma_work_plan_submit(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t queue,
			      const struct bf_sdma_drv_body *body, const struct bf_sdma_drv_submission *how,
			      uint32_t packets);
void bf_sdma_work_plan_quietly(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t queue,
			       const struct bf_sdma_drv_body *body, uint32_t packets);
void bf_sdma_work_plan_delay(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t ns);
void bf_sdma_work_plan_idle(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t queue);
void bf_sdma_work_plan_wait(struct bf_sdma_work_plan *p, uint32_t thread, const struct bf_sdma_drv_signal *s,
			    uint64_t value);
void bf_sdma_work_plan_store(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t pe, uint64_t at, uint64_t value);
/* The thread looks itself at the 64-bit words at both ends of an area, which must be what they must be by now. */
void bf_sdma_work_plan_check(struct bf_sdma_work_plan *p, uint32_t thread, uint32_t pe, uint64_t at, uint64_t bytes);

/* Timestamp slots (32 bytes each), checked at the end; put into `how`. */
void bf_sdma_work_plan_timed(struct bf_sdma_work_plan *p, uint32_t pe, struct bf_sdma_drv_submission *how);

void bf_sdma_work_plan_picture(struct bf_sdma_work_plan *p, uint64_t at, uint32_t element, uint32_t x, uint32_t y,
			       uint32_t width, uint32_t height, uint32_t side);

/* The plan cannot be: why. The first reason stays. */
void bf_sdma_work_plan_refuse(struct bf_sdma_work_plan *p, const char *fmt, ...) BF_PRINTF(2, 3);

/* A line for the report. */
void bf_sdma_work_plan_say(struct bf_sdma_work_plan *p, const char *fmt, ...) BF_PRINTF(2, 3);

#endif
