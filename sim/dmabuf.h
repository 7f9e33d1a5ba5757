/*
 * DMA-BUF: memory of one device, shared with another by the kernel.
 *
 * An exporter owns the buffer. An importer attaches, and the two agree on how addresses travel: the importer brings a
 * list of mapping types, the exporter answers with its own, and the first of the importer's that the exporter has is
 * taken. An SGT is a list of addresses made for one device; with P2P they may lie in another device's BAR. A PAL
 * (physical address list) is the bare bus addresses, which is what an IOMMU's page tables need. This follows the series
 * that reworks DMA-BUF for Linux (dma-buf mapping types, by J. Gunthorpe).
 *
 * Addresses that were handed out stay true only while the buffer is pinned or the importer follows moves. The model
 * lets both go wrong: what is mapped through an address belongs to whoever owns the address at that time.
 *
 * Buses have one address space here, that of struct bf_space: a BAR's bus address is its region's va. One thread.
 */
#ifndef BELFRY_SIM_DMABUF_H
#define BELFRY_SIM_DMABUF_H

#include "sim/iommu.h"

enum bf_dmabuf_type { BF_DMABUF_SGT, BF_DMABUF_SGT_P2P, BF_DMABUF_PAL };
#define BF_DMABUF_TYPES 3u

/* "SGT", "SGT-P2P", "PAL". */
const char *bf_dmabuf_type_name(enum bf_dmabuf_type type);

/* A run of bus addresses. */
struct bf_dma_range {
	uint64_t addr, len;
};

struct bf_dmabuf;
struct bf_dmabuf_attach;

/* What an exporter does. Functions that may be NULL say so. */
struct bf_dmabuf_ops {
	/* The types it offers now; returns how many. */
	uint32_t (*types)(struct bf_dmabuf *buf, enum bf_dmabuf_type out[BF_DMABUF_TYPES]);
	/* Keeps the buffer where it is; both NULL when it never moves. */
	int (*pin)(struct bf_dmabuf *buf);
	void (*unpin)(struct bf_dmabuf *buf);
	/* Gives the addresses for a mapping of type a->type: an array from malloc() for the caller to free. */
	int (*map)(struct bf_dmabuf_attach *a, struct bf_dma_range **ranges, uint32_t *count);
	void (*unmap)(struct bf_dmabuf_attach *a); /* may be NULL */
	/*
	 * Points [iova, iova + len) of `as` at bus addresses from `addr` on, and keeps it there whoever owns them
	 * later; and takes that back.
	 */
	int (*enter)(struct bf_dmabuf_attach *a, struct bf_ioas *as, uint64_t iova, uint64_t addr, uint64_t len,
		     uint32_t perm);
	void (*leave)(struct bf_dmabuf_attach *a, struct bf_ioas *as, uint64_t iova, uint64_t len);
	void (*release)(struct bf_dmabuf *buf); /* the last reference is gone: free it */
};

struct bf_dmabuf {
	struct bf_sim *sim;
	const struct bf_dmabuf_ops *ops;
	void *owner; /* the exporter's */
	uint64_t size;
	uint32_t refs;
	bool revoked;
	struct bf_dmabuf_attach *attached; /* in order of attaching */
	char name[32];
};

/* An importer. Static ones cannot follow a move, so the buffer is pinned for them while they map it. */
struct bf_dmabuf_importer {
	const char *name;
	enum bf_dmabuf_type types[BF_DMABUF_TYPES]; /* best first */
	uint32_t ntypes;
	bool pins; /* static, but trusts the mapping type to keep the buffer in place (PAL) */
	/* The buffer is about to move: unmap, and map again later. NULL: static. */
	void (*move_notify)(struct bf_dmabuf_attach *a);
	/* The buffer is gone for good: stop using it. May be NULL. */
	void (*revoked)(struct bf_dmabuf_attach *a);
};

struct bf_dmabuf_attach {
	struct bf_dmabuf *buf;
	const struct bf_dmabuf_importer *importer;
	void *arg; /* the importer's */
	enum bf_dmabuf_type type;
	uint32_t pins; /* by this importer */
	bool mapped;
	bool core_pinned;            /* for the duration of the mapping, because the importer is static */
	struct bf_dma_range *ranges; /* while mapped */
	uint32_t count;
	struct bf_dmabuf_attach *next;
};

/* For exporters: makes `buf` ready, with one reference. `name` is copied. Emits a record. */
void bf_dmabuf_init(struct bf_dmabuf *buf, struct bf_sim *sim, const char *name, uint64_t size,
		    const struct bf_dmabuf_ops *ops, void *owner);

/* For exporters: tells importers that the buffer is about to move, and records those who cannot follow. */
void bf_dmabuf_moving(struct bf_dmabuf *buf);

/* For exporters: no mapping from now on (-ENODEV); importers are told to stop. As after a VFIO device's reset. */
void bf_dmabuf_revoke(struct bf_dmabuf *buf);

void bf_dmabuf_get(struct bf_dmabuf *buf);
void bf_dmabuf_put(struct bf_dmabuf *buf);

/*
 * Attaches with a reference of its own and settles the type. -EINVAL when no type suits both, -ENODEV when revoked,
 * -ENOMEM; text in sim->error.
 */
int bf_dmabuf_attach(struct bf_dmabuf *buf, const struct bf_dmabuf_importer *importer, void *arg,
		     struct bf_dmabuf_attach **out);
/* Unmaps and unpins what is left. */
void bf_dmabuf_detach(struct bf_dmabuf_attach *a);

/* What the exporter says, or -ENODEV. Pins of one attachment add up. */
int bf_dmabuf_pin(struct bf_dmabuf_attach *a);
void bf_dmabuf_unpin(struct bf_dmabuf_attach *a);

/* Fills a->ranges and a->count. -EBUSY when mapped, -ENODEV when revoked, or what the exporter says. */
int bf_dmabuf_map(struct bf_dmabuf_attach *a);
void bf_dmabuf_unmap(struct bf_dmabuf_attach *a);

/*
 * Points `len` bytes of I/O addresses at bytes `start` and up of a mapped buffer. All of it or nothing. -EINVAL out of
 * the buffer or unaligned, -EEXIST, -ENOMEM. Undone by bf_dmabuf_leave() with the same range.
 */
int bf_dmabuf_enter(struct bf_dmabuf_attach *a, struct bf_ioas *as, uint64_t iova, uint64_t start, uint64_t len,
		    uint32_t perm);
void bf_dmabuf_leave(struct bf_dmabuf_attach *a, struct bf_ioas *as, uint64_t iova, uint64_t len);

/*
 * Exports pages of a device's BAR, as vfio-pci does since Linux 6.19 (VFIO_DEVICE_FEATURE_DMA_BUF): PAL, then SGT with
 * P2P; it never moves. -EINVAL when it is unaligned or out of the region. The region must outlive it or revoke it.
 */
int bf_dmabuf_export_bar(struct bf_region *bar, uint64_t offset, uint64_t len, struct bf_dmabuf **out);

#endif
