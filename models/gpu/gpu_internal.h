/* Inside the GPU's memory: what its files share. */
#ifndef BELFRY_MODELS_GPU_GPU_INTERNAL_H
#define BELFRY_MODELS_GPU_GPU_INTERNAL_H

#include "models/gpu/gpu.h"
#include "models/gpu/records.h"
#include "sim/rng.h"

#define BF_GPU_LINE_MAX 128u

/* A run of physical VRAM. */
struct bf_gpu_extent {
	uint64_t start, len; /* offsets in VRAM */
};

struct bf_gpu_bo {
	struct bf_gpu *gpu;
	struct bf_gpu_bo *next; /* in order of allocation */
	struct bf_region *region;
	enum bf_gpu_mtype mtype;
	struct bf_gpu_extent *extents; /* none while it is in host memory */
	uint32_t nextents;
	uint32_t pins;
	struct bf_dmabuf *buf; /* the export, while it has references */
	/* By line, 0 or 1 + the index of a copy in gpu->copies. */
	uint32_t *held; /* as it was before writes that the GPU does not see yet */
	uint32_t *l2;
};

/* Owned VRAM: a run, whose it is, and where it lies in the buffer. */
struct bf_gpu_block {
	uint64_t start, len, offset;
	struct bf_gpu_bo *bo;
};

/* Copies are in one of these lists, or free. */
enum bf_gpu_list { BF_GPU_HELD, BF_GPU_CLEAN, BF_GPU_DIRTY, BF_GPU_UNUSED, BF_GPU_LISTS };

struct bf_gpu_copy {
	struct bf_gpu_bo *bo;
	uint32_t line;
	uint32_t next, prev; /* 1 + index; 0: none */
	uint8_t list;        /* enum bf_gpu_list */
	bool told;           /* a stale load of it was recorded */
	uint32_t missed;     /* stale loads since its last change */
	uint32_t by, dirty_by;
	uint64_t since_ps, last_ps; /* HELD: first and last unseen write. L2: first one it missed, BF_NEVER if none */
	uint64_t dirty_ps;          /* first store that memory lacks */
	uint64_t dirty[BF_GPU_LINE_MAX / 64]; /* bytes that memory lacks */
	uint8_t bytes[BF_GPU_LINE_MAX];
};

struct bf_gpu_chain {
	uint32_t first, last, count;
};

/* Addresses that an importer put into an IOAS: they stay what they are when the buffer moves. */
struct bf_gpu_window {
	struct bf_gpu_window *next;
	struct bf_gpu_bo *meant;
	struct bf_ioas *as;
	uint64_t iova, start, len; /* `start` in VRAM */
	uint32_t perm;
	bool stray; /* part of it is no longer the buffer that was meant */
};

/* A write that went astray; the first ones are kept for the report. */
struct bf_gpu_stray {
	uint64_t time_ps, iova, paddr;
	uint32_t len, by, count;
	char meant[32], owner[32];
};
#define BF_GPU_STRAYS 8u

/* A read by a device of what a store in the L2 had yet to change; likewise. */
struct bf_gpu_late {
	uint64_t time_ps, since_ps, va;
	uint32_t by, reader, count;
	char buffer[32];
};
#define BF_GPU_LATES 8u

/* One invalidation engine. */
struct bf_gpu_engine {
	struct bf_event done;
	struct bf_gpu *gpu;
	uint32_t request, ack;
	uint8_t hub, index;
};

struct bf_gpu {
	struct bf_cache cache;
	struct bf_sim *sim;
	struct bf_space *space;
	struct bf_gpu_profile profile;
	struct bf_gpu_stats stats;
	struct bf_link link;
	struct bf_region *regs, *aperture;
	struct bf_gpu_bo *bos, **bos_tail;
	struct bf_gpu_bo *free_memory; /* stands for what nobody owns: the aperture's bytes */
	struct bf_gpu_block *blocks;   /* what is owned, sorted */
	uint32_t nblocks, blocks_cap;
	struct bf_gpu_window *windows;
	uint32_t nstray; /* windows */
	struct bf_gpu_stray stray[BF_GPU_STRAYS];
	uint32_t strays;
	struct bf_gpu_late late[BF_GPU_LATES];
	uint32_t lates;
	/* cache.c */
	struct bf_gpu_copy *copies;
	uint32_t ncopies;
	struct bf_gpu_chain list[BF_GPU_LISTS];
	uint32_t nstale; /* copies in the L2 that missed a write */
	struct bf_event evict, background;
	struct bf_rng rng;
	/* regs.c */
	struct bf_gpu_engine engine[2][BF_GPU_INVALIDATE_ENGINES]; /* graphics, multimedia */
	uint32_t hdp;
	uint32_t actor;
	bool no_pal, pal_without_pin, has_link, has_stats;
	char name[24];
};

static inline struct bf_gpu_bo *bf_gpu_bo_of(const struct bf_region *r)
{
	return r->owner;
}

/* cache.c */
extern const struct bf_cache_ops bf_gpu_cache_ops;
void bf_gpu_cache_init(struct bf_gpu *gpu);
void bf_gpu_cache_fini(struct bf_gpu *gpu);
/* Every line is visible from now on; returns how many were not. */
uint32_t bf_gpu_make_visible(struct bf_gpu *gpu, enum bf_gpu_cause cause);
/* Nothing of `bo` is in a cache any more, and what the GPU stored is in its bytes. */
void bf_gpu_cache_forget(struct bf_gpu_bo *bo);

/* regs.c */
extern const struct bf_mmio_ops bf_gpu_regs_ops;
void bf_gpu_regs_init(struct bf_gpu *gpu);
void bf_gpu_regs_fini(struct bf_gpu *gpu);

/* vram.c. A buffer stands for what nobody owns; it is made first. */
int bf_gpu_vram_init(struct bf_gpu *gpu);
void bf_gpu_vram_fini(struct bf_gpu *gpu);
void bf_gpu_bo_pin(struct bf_gpu_bo *bo);
void bf_gpu_bo_unpin(struct bf_gpu_bo *bo);
/* Index of the first block that ends above `at`, an offset in VRAM. */
uint32_t bf_gpu_block_above(const struct bf_gpu *gpu, uint64_t at);

/* export.c. Runs of VRAM changed hands: windows lead to the new owners. */
void bf_gpu_rewire(struct bf_gpu *gpu, const struct bf_gpu_extent *extents, uint32_t n);
/* A write by `by` is about to land in `bo`: says so when it was meant for another buffer. */
void bf_gpu_check_stray(struct bf_gpu_bo *bo, uint64_t offset, uint64_t len, const struct bf_visitor *by);

#endif
