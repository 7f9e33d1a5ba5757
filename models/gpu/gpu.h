/*
 * A GPU's memory, as far as a device that writes into it by DMA can make it go wrong.
 *
 * VRAM lies behind a bf_cache (sim/mem.h). The region's bytes are what PCIe sees. Between them and the GPU's threads
 * stand two things, each in lines of 64 or 128 bytes:
 *
 *   arrived, not visible  A write from outside lands in the bytes and the GPU goes on seeing the line as it was. That
 *                         ends with a heavyweight invalidation (GCVM_INVALIDATE_ENG17_REQ, flush type 2, any VMID bit),
 *                         with other work on the GPU, or with an eviction of the line from the L2.
 *   L2                    Memory mapped cached (MTYPE RW) is read and written there. A copy does not notice writes from
 *                         outside, nor the invalidation; a store stays there until a fence or release of system scope,
 *                         or an eviction. The memory-side cache (MALL) counts as part of it. Memory mapped uncached
 *                         (MTYPE UC) never enters it.
 *
 * Loads and stores of system scope ("glc slc dlc") pass the L2 by, but see no line before it is visible. The
 * first-level caches of a block are part of the view (sim/view.h) as for any GPU.
 *
 * This reproduces what a published experiment on an RX 7900 XTX observed. Its author calls the explanation uncertain,
 * and so do we: which unit of the chip holds the old bytes is not known, what ends it is (docs/hardware/gpu.md#vram).
 *
 * One GPU a space. One thread, the simulation's.
 */
#ifndef BELFRY_MODELS_GPU_GPU_H
#define BELFRY_MODELS_GPU_GPU_H

#include "models/gpu/prm.h"
#include "models/gpu/profile.h"
#include "sim/dmabuf.h"
#include "sim/pcie.h"

struct bf_gpu; /* opaque */
struct bf_gpu_bo;

/* How a GPU's page tables map memory. */
enum bf_gpu_mtype { BF_GPU_MTYPE_RW, BF_GPU_MTYPE_UC };

struct bf_gpu_opts {
	const char *name;                     /* "gpu0" */
	const struct bf_gpu_profile *profile; /* NULL: bf_gpu_navi31; copied */
	struct bf_space *space;
	/*
	 * What the kernel driver's DMA-BUF exporter is like. `no_pal`: as in stock kernels it offers no physical
	 * addresses. `pal_without_pin`: it hands them out and does not pin the buffer.
	 */
	bool no_pal, pal_without_pin;
};

/* Returns 0, -ENOMEM or -EINVAL with sim->error set. Destroying it frees all buffers; no device may still map them. */
int bf_gpu_create(struct bf_sim *sim, const struct bf_gpu_opts *opts, struct bf_gpu **out);
void bf_gpu_destroy(struct bf_gpu *gpu);

/* The region of its registers (prm.h): 32-bit accesses. */
struct bf_region *bf_gpu_regs(struct bf_gpu *gpu);

/*
 * The aperture (BAR0) through which PCIe reaches VRAM: physical address of VRAM offset 0, and its size. As memory it
 * holds what no buffer owns.
 */
struct bf_region *bf_gpu_aperture(struct bf_gpu *gpu);

/*
 * Zeroed VRAM of `size` bytes (rounded up to pages) mapped with `mtype`. Its region is the GPU's virtual mapping, which
 * stays where it is when the buffer moves. -ENOMEM when VRAM is full, -EINVAL.
 */
int bf_gpu_vram_alloc(struct bf_gpu *gpu, const char *name, uint64_t size, enum bf_gpu_mtype mtype,
		      struct bf_gpu_bo **out);
/* -EBUSY while a DMA-BUF of it is in use. */
int bf_gpu_vram_free(struct bf_gpu_bo *bo);

struct bf_region *bf_gpu_bo_region(const struct bf_gpu_bo *bo);

/* Where a buffer lies: VRAM, or host memory that the GPU reaches over PCIe, coherently. */
enum bf_gpu_place { BF_GPU_IN_VRAM, BF_GPU_IN_GTT };
enum bf_gpu_place bf_gpu_bo_place(const struct bf_gpu_bo *bo);

/* Physical address of byte `offset`; 0 in host memory or past the end. */
uint64_t bf_gpu_bo_paddr(const struct bf_gpu_bo *bo, uint64_t offset);

/* The buffer that owns a physical address, NULL: nobody. */
struct bf_gpu_bo *bf_gpu_owner(struct bf_gpu *gpu, uint64_t paddr);

/*
 * The kernel driver moves a buffer: into VRAM, to other addresses when it lies there already, or out to host memory.
 * The GPU's mapping follows. Importers that can move are told first; addresses that others hold stay what they were.
 * -EBUSY while it is pinned, -ENOMEM.
 */
int bf_gpu_bo_move(struct bf_gpu_bo *bo, enum bf_gpu_place to);

/*
 * Exports a buffer as a DMA-BUF; the reference is the caller's. It offers, in this order, PAL (unless no_pal), SGT with
 * P2P, SGT. Mapping as PAL pins the buffer and wants it in VRAM (-EINVAL). Mapping as SGT without P2P moves it to host
 * memory first, without a word (-EINVAL when it is pinned in VRAM).
 */
int bf_gpu_bo_export(struct bf_gpu_bo *bo, struct bf_dmabuf **out);

/*
 * Why GPU threads wait: a line for each line of memory that the GPU serves from before a write and that an agent sleeps
 * on or has looked at since, naming the write, its time, who holds the old bytes and what would help; one for each
 * device that wrote to a moved buffer's old address; and one for each that read what a store in the L2 had yet to
 * change. Same conventions as bf_agents_describe().
 */
size_t bf_gpu_describe(struct bf_gpu *gpu, char *buf, size_t cap);

struct bf_gpu_stats {
	uint64_t arrived;       /* lines that a write from outside left unseen */
	uint64_t visible;       /* lines that became visible after that */
	uint64_t stale_loads;   /* loads that missed bytes which had arrived */
	uint64_t invalidations; /* requests with effect */
	uint64_t ignored;       /* requests without */
	uint64_t hdp_flushes;
	uint64_t write_backs;  /* lines that a fence or an eviction wrote to memory */
	uint64_t late_stores;  /* lines that a device read before a store in the L2 had got there */
	uint64_t evictions;    /* lines that left the L2 for lack of room or by chance */
	uint64_t stray_writes; /* writes to the address of a buffer that had moved away */
};
/* Also as statistics NAME.arrived and so on. */
const struct bf_gpu_stats *bf_gpu_stats(const struct bf_gpu *gpu);

/* Records: models/gpu/records.h (types 350 to 369). The GPU is an actor of kind "gpu". */

#endif
