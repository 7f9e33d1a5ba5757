/* GIN, host side: queues, companions, keys and connections, by commands. */
#ifndef BELFRY_DRIVERS_GIN_HOST_H
#define BELFRY_DRIVERS_GIN_HOST_H

#include "drivers/backend/backend.h"
#include "drivers/gin/kernels.h"

struct bf_gin_opts {
	uint32_t npes, contexts, depth; /* WQEBBs of a send queue, entries of its CQ */
	enum bf_gin_handler handler;
	enum bf_gin_sharing sharing;
	bool counters; /* companions, and for each a queue pair on the own port that answers it */
	uint64_t bugs, heap_bytes, sink;
	uint32_t issuers;
};

struct bf_gin_host; /* opaque */

/* 0, or a negative errno with `err` set. All but the world's memory is freed by bf_gin_host_close(). */
int bf_gin_host_open(const struct bf_backend *be, struct bf_world *world, const struct bf_gin_opts *opts,
		     struct bf_error *err, struct bf_gin_host **out);
void bf_gin_host_close(struct bf_gin_host *h); /* NULL is fine */
struct bf_gin_state *bf_gin_host_state(struct bf_gin_host *h, uint32_t pe);
uint8_t *bf_gin_host_heap(struct bf_gin_host *h, uint32_t pe);
struct bf_gin_proxy *bf_gin_host_proxy(struct bf_gin_host *h, uint32_t pe); /* NULL: GPU threads ring */

#endif
