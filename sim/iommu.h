/*
 * An IOMMU's I/O address spaces.
 *
 * An IOAS maps page-aligned ranges of I/O virtual addresses (IOVA) to ranges of regions with permissions. Devices
 * reach memory only through one. A failed translation is a fault: recorded, counted and kept (bf_ioas.last_fault) with
 * IOVA, access and device. Semantics follow Linux iommufd (include/uapi/linux/iommufd.h): maps may not overlap, unmap
 * takes whole maps or, with split allowed, parts of them on page boundaries.
 */
#ifndef BELFRY_SIM_IOMMU_H
#define BELFRY_SIM_IOMMU_H

#include "sim/compiler.h"
#include "sim/mem.h"

BF_API_BEGIN

#define BF_IOMMU_READ 1u
#define BF_IOMMU_WRITE 2u

enum bf_iommu_reason { BF_IOMMU_OK, BF_IOMMU_UNMAPPED, BF_IOMMU_PERM, BF_IOMMU_INJECTED, BF_IOMMU_OWN };

struct bf_iommu_fault {
	uint64_t iova;
	uint64_t time_ps;
	uint32_t access; /* BF_IOMMU_* wanted */
	enum bf_iommu_reason reason;
	uint32_t actor; /* the device */
};

#define BF_IOAS_HINTS 64u

/* Read-only outside iommu.c. */
struct bf_ioas {
	struct bf_sim *sim;
	struct bf_iomap *maps; /* sorted by IOVA */
	uint32_t count, cap;
	uint64_t generation;           /* counts unmaps: what was translated before one may no longer hold */
	uint16_t hints[BF_IOAS_HINTS]; /* by page number: index of the map that was hit there last, or another one */
	uint64_t page;                 /* granularity, power of two >= 4096 */
	uint64_t faults;
	struct bf_iommu_fault last_fault;
	char name[24];
};

/*
 * An empty address space. `name` (copied) shows in reports. -EINVAL when `page_bytes` is no power of two or below 4096.
 * One thread. A region must be unmapped before it is destroyed.
 */
int bf_ioas_init(struct bf_ioas *as, struct bf_sim *sim, const char *name, uint64_t page_bytes);
void bf_ioas_fini(struct bf_ioas *as);

/*
 * Maps `len` bytes at `iova` to region offset `offset`; `perm` is BF_IOMMU_READ, BF_IOMMU_WRITE or both. -EINVAL when
 * something is unaligned to the granularity or lies outside of the region, -EEXIST on overlap, -ENOMEM; text in
 * sim->error.
 */
int bf_ioas_map(struct bf_ioas *as, uint64_t iova, struct bf_region *r, uint64_t offset, uint64_t len, uint32_t perm);

/* Identity: maps the whole region at iova = its va. */
int bf_ioas_map_region(struct bf_ioas *as, struct bf_region *r, uint32_t perm);

/*
 * Unmaps page-aligned [iova, iova + len), splitting maps that reach over its ends; holes in it are fine. -ENOENT when
 * nothing was mapped there, -EINVAL unaligned, -ENOMEM (a split that found no memory changes nothing). Posted writes
 * that were issued before and land after are translated again, as an IOTLB invalidation makes the hardware do.
 */
int bf_ioas_unmap(struct bf_ioas *as, uint64_t iova, uint64_t len);

/*
 * Translates the longest contiguous run at `iova`, at most `len` bytes: `*host` gets the pointer, `*region` the region.
 * Returns its length in bytes (> 0), or -EFAULT after recording the fault for device `actor`. Neighbouring maps that
 * continue in the same region count as one run. `len` 0 is a caller's mistake and gives 0. Each call is an opportunity
 * for the fault plan's dma-fault.
 */
int64_t bf_ioas_translate(struct bf_ioas *as, uint64_t iova, uint64_t len, uint32_t access, uint32_t actor, void **host,
			  struct bf_region **region);

/* The same for the rest of an access whose start was translated: not an opportunity for the fault plan. */
int64_t bf_ioas_lookup(struct bf_ioas *as, uint64_t iova, uint64_t len, uint32_t access, uint32_t actor, void **host,
		       struct bf_region **region);

/* Where `iova` is in memory, as far as that is at hand, otherwise NULL: for hints, without a translation's checks. */
const void *bf_ioas_likely(const struct bf_ioas *as, uint64_t iova);

/* Records a fault that somebody else has found, and returns -EFAULT. */
int64_t bf_ioas_fault(struct bf_ioas *as, uint64_t iova, uint64_t len, uint32_t access, uint32_t actor,
		      enum bf_iommu_reason reason);

BF_API_END

#endif
