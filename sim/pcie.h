/*
 * PCIe: links and DMA ports.
 *
 * A link has two directions, each with latency, bandwidth and TLP overhead. Transfers are charged in closed form (bytes
 * plus headers per MaxPayload), not per TLP. Ordering (PCIe Base Specification, "Transaction Ordering"): posted writes
 * of one port land in order unless both carry relaxed ordering; a read does not pass an earlier posted write; reads may
 * complete in order only here (one requester tag space). MMIO stores to the device travel the other direction as posted
 * writes, also in order.
 *
 * A DMA port belongs to a device: it translates by an IOAS, splits at page runs, charges the link and touches region
 * bytes at the moment the request is at the memory: a read samples then, its data arrive at the device later.
 */
#ifndef BELFRY_SIM_PCIE_H
#define BELFRY_SIM_PCIE_H

#include "sim/iommu.h"

struct bf_link_profile {
	uint64_t latency_ps;       /* one way */
	uint64_t mem_ps;           /* root complex and memory, added to reads */
	uint64_t ps_per_kib;       /* payload time of 1024 bytes */
	uint32_t max_payload;      /* bytes of data in a write or completion TLP */
	uint32_t max_read_request; /* bytes of a read request */
	uint32_t tlp_overhead;     /* header, framing, CRC: bytes charged for each TLP */
};

struct bf_link {
	struct bf_sim *sim;
	struct bf_link_profile profile;
	uint64_t up_free_ps, down_free_ps; /* when each direction is next idle; up = device to memory */
	uint64_t up_bytes, down_bytes;     /* statistics, TLP overhead included */
	uint32_t actor;
	struct bf_link_mmio *mmio; /* stores on their way to the device */
};

int bf_link_init(struct bf_link *l, struct bf_sim *sim, const char *name, const struct bf_link_profile *profile);
void bf_link_fini(struct bf_link *l);

/*
 * A processor's store (1..64 bytes) to an MMIO region starts its way down `region->link`; the region's write op runs
 * when it arrives. Never fails towards the caller: a lost doorbell is the fault plan's business.
 */
void bf_mmio_post(struct bf_region *region, uint64_t offset, const void *data, uint32_t len);

struct bf_dma_op;
typedef void bf_dma_fn(struct bf_dma_op *op);

/*
 * One DMA read (or read-modify-write), embedded in its owner and owned by the port from the call until `done`.
 * `status` is 0 or -EFAULT (nothing was read). `modify`, if set, is called with the bytes at the moment they are read
 * and may change them in place: that is how the device's atomics stay atomic (length 4, 8, 16, naturally aligned).
 */
struct bf_dma_op {
	uint64_t iova;
	uint32_t len;
	int32_t status;
	void *dst; /* len bytes, valid until done */
	bf_dma_fn *done;
	void (*modify)(struct bf_dma_op *op, void *bytes);
	uint64_t at_ps; /* the port's */
};

struct bf_dma_port {
	struct bf_sim *sim;
	struct bf_link *link;
	struct bf_ioas *ioas;
	uint32_t actor;
	struct bf_dma_rings *rings; /* requests in flight */
};

#define BF_DMA_RELAXED 1u /* relaxed ordering attribute */
#define BF_DMA_INLINE_MAX 64u

int bf_dma_port_init(struct bf_dma_port *p, struct bf_sim *sim, const char *name, struct bf_link *link,
		     struct bf_ioas *ioas);
void bf_dma_port_fini(struct bf_dma_port *p);

/* Starts a read; op->done runs when its data (or its failure) are at the device, in the order of the calls. */
void bf_dma_read(struct bf_dma_port *p, struct bf_dma_op *op);

/*
 * Starts a posted write; the bytes are copied now and change memory when they arrive. `flags` BF_DMA_*. Returns 0 or
 * -EFAULT (translation failed, fault recorded; no byte is written).
 */
int bf_dma_write(struct bf_dma_port *p, uint64_t iova, const void *src, uint32_t len, uint32_t flags);

#endif
