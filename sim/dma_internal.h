/* A DMA port's parts: what it has under way. Not installed. */
#ifndef BELFRY_SIM_DMA_INTERNAL_H
#define BELFRY_SIM_DMA_INTERNAL_H

#include "sim/event.h"
#include "sim/pcie_internal.h"
#include "sim/rng.h"

/*
 * The order of the lanes breaks ties: relaxed writes first (a later strict write must not pass them), reads last (they
 * must not pass any write).
 */
enum { BF_DMA_LANE_RELAXED, BF_DMA_LANE_LATE, BF_DMA_LANE_STRICT, BF_DMA_LANES };
enum { BF_DMA_DUE_READ_AT_MEMORY = BF_DMA_LANES, BF_DMA_DUE_READ_RETURNED, BF_DMA_DUES };

/*
 * Writes in order of landing, back to back in a ring of bytes; each lies in one piece. Once `wrapped`, the writes from
 * `head` to `end` come first and those from 0 to `tail` after them.
 */
struct bf_dma_lane {
	uint8_t *buf;
	size_t cap, head, tail, end;
	uint32_t count;
	bool wrapped;
	uint64_t last_ps; /* when its youngest write lands */
};

/* A read on its way, and where its first byte was when it left, as far as that was at hand: to ask the caches for it.
 */
struct bf_dma_going {
	struct bf_dma_op *op;
	const void *host;
};

struct bf_dma_rings {
	struct bf_event event;
	struct bf_dma_port *port;
	struct bf_ioas *ioas; /* the port's */
	/* Reads: [head, mid) are on their way back, [mid, tail) on their way to memory; modulo `cap`. */
	struct bf_dma_going *ops;
	uint32_t head, mid, tail, cap;
	uint64_t due[BF_DMA_DUES];
	/* The read at `mid`, while it samples: how far it has come, and the far region that it waits for, if any. */
	struct bf_region *far;
	uint32_t sampled;
	bool vram; /* from GPU memory */
	bool busy; /* inside on_due(), which schedules the event itself */
	uint64_t sampled_va;
	uint64_t back_ps; /* when the last read that GPU memory gave is back: none after it is earlier */
	struct bf_dma_lane lanes[BF_DMA_LANES];
	uint32_t asked; /* of `far` */
	struct bf_rng rng;
};
/* What each request touches is two lines, what strict writes touch besides is one. */
BF_STATIC_ASSERT(offsetof(struct bf_dma_rings, sampled_va) == 2 * BF_LINE, "rings of a DMA port");
BF_STATIC_ASSERT(offsetof(struct bf_dma_rings, lanes[BF_DMA_LANE_STRICT]) % BF_LINE == 0, "strict writes");

/* Something of kind `which` is due at `when` and nothing of that kind is before it. */
static inline void bf_dma_set_due(struct bf_dma_port *p, int which, uint64_t when)
{
	struct bf_dma_rings *r = p->rings;

	r->due[which] = when;
	if (!r->busy && when < r->event.when)
		bf_sim_at(p->sim, &r->event, when);
}

/*
 * The device's own registers: a request that would come back over the link that it left by is not completed
 * (docs/hardware/pcie.md#link-8).
 */
static inline bool bf_dma_is_own(const struct bf_dma_port *p, const struct bf_region *region)
{
	return region->kind == BF_MEM_MMIO && region->link == p->link && !p->loops;
}

/* Translates the whole range for its checks. The first run was translated; the fault plan had its say there. */
int bf_dma_check_rest(struct bf_dma_port *p, uint64_t iova, uint64_t len, uint32_t access);

/* Memory behind a GPU's cache is about to be changed, or read. */
void bf_dma_tell_cache(struct bf_dma_port *p, struct bf_region *region, const void *host, uint64_t iova, uint32_t len,
		       bool write);

/* What is due: the next write of a lane lands, the next read is at the memory and samples, the oldest one is back. */
void bf_dma_land(struct bf_dma_port *p, int lane);
void bf_dma_read_at_memory(struct bf_dma_port *p);
void bf_dma_read_returned(struct bf_dma_port *p);

/* The same is going to happen soon: asks the caches for what it takes. */
void bf_dma_land_ahead(const struct bf_dma_rings *r, int lane, bool first);
void bf_dma_read_ahead(const struct bf_dma_rings *r, int which, bool first);

#endif
