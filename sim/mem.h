/*
 * Memory regions and address spaces.
 *
 * A space is the memory map that one host's processor, its GPU and its devices share: DRAM, VRAM and MMIO regions at
 * simulated virtual addresses that depend only on the order of creation, never on the host's allocator. A region's
 * bytes are ordinary host memory, so drivers keep ordinary pointers; whatever goes on a wire or into a record is the
 * simulated address (bf_va()). One thread per space, except region bytes in live mode.
 */
#ifndef BELFRY_SIM_MEM_H
#define BELFRY_SIM_MEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/compiler.h"
#include "sim/sim.h"

BF_API_BEGIN

#define BF_LINE 64u /* bytes in a memory line: the unit of watching and of store buffers */
#define BF_PAGE 4096u

enum bf_mem_kind {
	BF_MEM_DRAM, /* host memory: visible to devices after a system-scope fence */
	BF_MEM_VRAM, /* GPU memory: its L2 is the point of coherence, a GPU-scope fence suffices */
	BF_MEM_MMIO, /* device registers: stores have effects */
};

struct bf_region;
struct bf_link;

/*
 * Called when a store of 1..64 bytes arrives at the device (after the link's latency, in posted order), and for loads.
 * `offset` is inside the region. Unhandled offsets are the device's to ignore.
 */
struct bf_mmio_ops {
	void (*write)(struct bf_region *region, uint64_t offset, const void *data, uint32_t len);
	uint64_t (*read)(struct bf_region *region, uint64_t offset, uint32_t len);
	/* A store is on its way: a hint to have at hand what it will need. May be NULL. */
	void (*expect)(const struct bf_region *region, const void *data, uint32_t len);
};

struct bf_dma_port;

/*
 * An MMIO region whose bytes are beyond a channel of messages: memory of a guest whose monitor does not share it. A DMA
 * port asks for what it reads there and is answered later (bf_dma_answer() in sim/pcie.h); its writes are sent off.
 * Or beyond a call, which brings them at once: memory of a real GPU.
 */
struct bf_far_ops {
	/*
	 * Reads all of `len` bytes from `offset` on before it returns: 0 or -EFAULT. NULL: `read` does it. Where it is,
	 * `write` has changed the bytes when it returns, atomics are done by the two, and the others may be NULL.
	 */
	int (*get)(struct bf_region *region, uint64_t offset, void *dst, uint32_t len);
	/*
	 * Starts to read bytes from `offset` on into `dst` for `port`. Returns how many, 1..len (the port asks for the
	 * rest afterwards), or -EFAULT; answers never before it returns. A port has one read of this kind at a time.
	 */
	int64_t (*read)(struct bf_region *region, uint64_t offset, void *dst, uint32_t len, struct bf_dma_port *port);
	/* Sends `len` bytes off; in order with the reads that follow. */
	void (*write)(struct bf_region *region, uint64_t offset, const void *src, uint32_t len);
	/* `port` is gone: forget its read. */
	void (*cancel)(struct bf_region *region, struct bf_dma_port *port);
};

struct bf_space;
struct bf_region;
struct bf_ioas;

/* Who touches memory from outside the GPU that owns it. */
struct bf_visitor {
	const struct bf_ioas *ioas; /* that the access was translated by; NULL: a processor's, through the BAR */
	uint64_t iova;
	uint32_t actor;
};

/*
 * What stands between a GPU's threads and its memory: caches that writes from outside do not update (models/gpu). The
 * region's bytes are what PCIe sees. Threads whose view belongs to a GPU go through `load` and `store` (within one line
 * of BF_LINE bytes; `through`: accesses of system scope, which pass caches by); everybody else sees the bytes, and says
 * so. A region without a cache is coherent, and accesses to it cost nothing more.
 */
struct bf_cache;
struct bf_cache_ops {
	void (*load)(struct bf_cache *c, struct bf_region *r, uint64_t offset, void *data, uint32_t len, bool through);
	void (*store)(struct bf_cache *c, struct bf_region *r, uint64_t offset, const void *data, uint32_t len,
		      bool through, uint32_t actor);
	/* Stores of all threads reach the bytes: a fence or a release of system scope. */
	void (*write_back)(struct bf_cache *c);
	/* A write from outside is about to change bytes; a device is about to read bytes. */
	void (*landing)(struct bf_cache *c, struct bf_region *r, uint64_t offset, uint64_t len,
			const struct bf_visitor *by);
	void (*sampled)(struct bf_cache *c, struct bf_region *r, uint64_t offset, uint64_t len,
			const struct bf_visitor *by);
};
struct bf_cache {
	const struct bf_cache_ops *ops;
};

struct bf_region {
	uint64_t va;
	uint64_t size;
	uint8_t *bytes; /* page-aligned; for MMIO an address range that is not dereferenced in virtual time */
	struct bf_space *space;
	const struct bf_mmio_ops *mmio; /* MMIO only */
	void *owner;                    /* MMIO: the device; behind a cache: the cache's */
	struct bf_link *link;           /* MMIO: the link that stores travel; NULL = arrives at once */
	uint32_t id;                    /* in order of creation, from 1 */
	enum bf_mem_kind kind : 8;
	bool owns_bytes;
	bool pooled;                  /* its bytes are the simulation's (sim/pool.h) */
	bool guarded;                 /* an inaccessible page follows */
	struct bf_cache *cache;       /* what GPU threads go through; NULL: nothing */
	const struct bf_far_ops *far; /* MMIO only; NULL: DMA makes loads and stores */
	uint8_t *known;               /* bf_space_know(): the bytes as records tell them; NULL: nobody asked */
	const char *name; /* behind the region itself: a large job has one for each queue pair's doorbell page */
};

/* Where a region's bytes end, beside it: a device may have a thousand doorbell pages, and who looks for one looks here.
 */
struct bf_host_range {
	uintptr_t end;
	struct bf_region *region;
};

/* `name` shows in reports. Regions live until the space is destroyed or they are. */
struct bf_space {
	struct bf_sim *sim;
	char name[24];
	struct bf_region **by_va;      /* sorted */
	struct bf_host_range *by_host; /* likewise */
	uint32_t count, cap;
	uint32_t last_id;
	uint64_t next_va;
	struct bf_region *last; /* the last hit of either lookup */
	struct bf_cache *cache; /* of the GPU of this space: what a system-scope fence of its threads writes back */
	bool at_host; /* automatic addresses are those of the bytes: set after bf_space_init() by who wants it */
	struct bf_space *mapped; /* the next of a ring of spaces whose memory is mapped here, too; NULL: none */
};

/* `index` separates the address ranges of several spaces of one simulation (PE number): va = (index + 1) << 40 up. */
int bf_space_init(struct bf_space *sp, struct bf_sim *sim, const char *name, uint32_t index);
void bf_space_fini(struct bf_space *sp);

struct bf_image;

struct bf_region_opts {
	const char *name;
	enum bf_mem_kind kind;
	uint64_t size; /* rounded up to pages */
	uint64_t va;   /* 0: next free address; otherwise page-aligned and free (-EEXIST if not) */
	void *bytes;   /* NULL: allocated and zeroed; otherwise borrowed, page-aligned (live mode, shared memory) */
	const struct bf_image *image; /* what its own bytes begin with (sim/image.h); the size is the image's */
	const struct bf_mmio_ops *mmio;
	const struct bf_far_ops *far;
	void *owner;
	struct bf_link *link;
};

/*
 * Returns 0, -EINVAL, -EEXIST or -ENOMEM with sim->error set. MMIO regions, and only they, need `mmio`. Automatic
 * addresses leave one page free behind each region, and regions of 2 MiB and more start on a multiple of 2 MiB. Emits a
 * region record.
 */
int bf_region_create(struct bf_space *sp, const struct bf_region_opts *opts, struct bf_region **out);

/* Unmap it from every I/O address space first. Stores still on their way to an MMIO region are dropped. */
void bf_region_destroy(struct bf_region *r);

/* Puts `r` behind `cache`, or (NULL) makes it coherent. One cache a space: that of its GPU. */
void bf_region_set_cache(struct bf_region *r, struct bf_cache *cache);

/* Emits a region record for each region, for a stream that was opened after they were created. */
void bf_space_describe(const struct bf_space *sp);

/* The region that holds simulated address `va` or host pointer `p`; NULL when none does. */
struct bf_region *bf_space_find(struct bf_space *sp, uint64_t va);
struct bf_region *bf_space_find_host(struct bf_space *sp, const void *p);

/*
 * Threads of either space reach the memory of both, as GPUs do over NVLink that have mapped each other's:
 * bf_space_find_host() finds memory there, too (no device registers). Devices do not: bf_space_find() is what it was.
 * `b` is in no ring yet; all of a ring end together.
 */
void bf_space_map(struct bf_space *a, struct bf_space *b);
/* The memory that lies at simulated address `va` in one of the spaces that are mapped here; NULL: none. */
struct bf_region *bf_space_find_mapped(struct bf_space *sp, uint64_t va);

/* The region whose guard page, the free page after its end, holds `p`; NULL. */
const struct bf_region *bf_space_overrun(const struct bf_space *sp, const void *p);

static inline uint64_t bf_va(const struct bf_region *r, const void *p)
{
	return r->va + (uint64_t)((const uint8_t *)p - r->bytes);
}

static inline void *bf_host(const struct bf_region *r, uint64_t va)
{
	return r->bytes + (va - r->va);
}

/*
 * Bytes of `va`..`va + len` just changed for everybody (DMA landed, a store drained): wakes agents that sleep on
 * those lines. One branch when none sleeps. Call it after changing region bytes without the memory primitives.
 */
void bf_mem_touched_slow(struct bf_region *r, const void *p, uint64_t len);
static inline void bf_mem_touched(struct bf_region *r, const void *p, uint64_t len)
{
	if (BF_UNLIKELY(r->space->sim->slow & (BF_SLOW_WATCH | BF_SLOW_NOTICE | BF_SLOW_KNOWN)))
		bf_mem_touched_slow(r, p, len);
}

/* Device `actor` reads bytes: for checks of which stores it could have missed, and who wrote them. */
void bf_mem_seen_slow(struct bf_region *r, const void *p, uint64_t len, uint32_t actor);
static inline void bf_mem_seen(struct bf_region *r, const void *p, uint64_t len, uint32_t actor)
{
	if (BF_UNLIKELY(r->space->sim->slow & (BF_SLOW_NOTICE | BF_SLOW_KNOWN)))
		bf_mem_seen_slow(r, p, len, actor);
}

/*
 * From now on, record `unrecorded` reports each device read of bytes that neither a thread stored through its view nor
 * a device wrote: the program wrote them outside the simulation. What memory holds now counts as known. Not for regions
 * behind a cache, nor for registers. Call it again after host code has written more. Costs the
 * size of what is written. -ENOMEM with sim->error set.
 */
int bf_space_know(struct bf_space *sp);

BF_API_END

#endif
