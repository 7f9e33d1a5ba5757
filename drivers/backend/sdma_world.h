/* Copy engines of a world: what their driver calls beside memory and threads. */
#ifndef BELFRY_DRIVERS_BACKEND_SDMA_WORLD_H
#define BELFRY_DRIVERS_BACKEND_SDMA_WORLD_H

#include "drivers/backend/backend.h"

BF_API_BEGIN

/* A user queue of a copy engine as the kernel driver creates it; `bf_memory.va` addresses are what it takes. */
struct bf_sdma_ring {
	struct bf_memory ring;       /* in */
	struct bf_memory rptr, wptr; /* in: 8 bytes each */
	bool wrapped;                /* in: 32-bit indices that wrap (before gfx9) */
	bool strict;                 /* in: models stop at what is undefined */
	void *doorbell;              /* out */
	uint64_t doorbell_va;        /* out: for other engines that ring it */
	uint32_t id;                 /* out */
};

/* Where the engine stands in such a queue. Indices count bytes and grow for ever. */
struct bf_sdma_standing {
	uint64_t doorbell, fetched, retired, packets;
	bool paused;
	uint32_t reason;   /* enum bf_sdma_reason: why it stopped */
	char waits[32];    /* what the packet in front waits for; "": nothing */
	char stopped[160]; /* the same as text, and where; "": it runs */
};

/* All return 0 or a negative errno. */
struct bf_sdma_world_ops {
	/* A user queue of the PE's copy engine, its update (ring.ptr NULL: pause) and end. */
	int (*create)(struct bf_world *w, uint32_t pe, struct bf_sdma_ring *ring);
	int (*update)(struct bf_world *w, uint32_t pe, uint32_t id, const struct bf_memory *ring);
	int (*destroy)(struct bf_world *w, uint32_t pe, uint32_t id);
	int (*standing)(struct bf_world *w, uint32_t pe, uint32_t id, struct bf_sdma_standing *out);
	/* How often the engine has signalled the kernel driver's event `event` (TRAP). NULL: it cannot be asked. */
	int (*traps)(struct bf_world *w, uint32_t pe, uint32_t event, uint64_t *out);
};

/* NULL: the backend has no such devices. */
static inline const struct bf_sdma_world_ops *bf_sdma_world(const struct bf_backend *b)
{
	return (const struct bf_sdma_world_ops *)bf_backend_ops(b, BF_DEVICE_AT_SDMA);
}

BF_API_END

#endif
