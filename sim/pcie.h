/*
 * PCIe: links and DMA ports.
 *
 * A link has two directions, each with latency, bandwidth and TLP overhead. Transfers are charged in closed form (bytes
 * plus headers per MaxPayload), not per TLP. Ordering (PCIe Base Specification 5.0, section 2.4.1, "Transaction
 * Ordering Rules"): a posted write does not pass earlier posted writes unless it carries relaxed ordering (A2a, A2b); a
 * read does not pass an earlier posted write (B2a); the completion of a load does not pass earlier posted writes (D2a).
 * Reads complete in order only, as they do for a requester with one tag. MMIO stores to the device travel the other
 * direction as posted writes, also in order.
 *
 * A DMA port belongs to a device: it translates by an IOAS, splits at page runs, charges the link and touches region
 * bytes at the moment the request is at the memory: a read samples then, its data arrive at the device later. A port
 * keeps its requests in rings of its own and one event in the queue: no allocation in steady state.
 *
 * Facts and sources: docs/hardware/pcie.md. One thread per link. Small aligned accesses to memory (up to
 * BF_DMA_INLINE_MAX bytes) are made of atomic words, the last word of a write with release order, so that in live mode
 * other threads may poll and post with C11 atomics.
 */
#ifndef BELFRY_SIM_PCIE_H
#define BELFRY_SIM_PCIE_H

#include "sim/compiler.h"
#include "sim/iommu.h"

BF_API_BEGIN

struct bf_link_profile {
	uint64_t latency_ps;       /* one way */
	uint64_t mem_ps;           /* root complex and memory, added to reads */
	uint64_t ps_per_kib;       /* payload time of 1024 bytes */
	uint32_t max_payload;      /* bytes of data in a write or completion TLP */
	uint32_t max_read_request; /* bytes of a read request */
	uint32_t tlp_overhead;     /* header, framing, CRC: bytes charged for each TLP */
	uint64_t relaxed_ps;       /* a relaxed write may land this much later than it could; 0: never */
	/* GPU memory (BF_MEM_VRAM) behind another link: what reads of it take more, and its own rate; 0: none. */
	uint64_t vram_ps, vram_ps_per_kib;
};

/* PCIe 5.0 with 16 lanes; each constant's source is in pcie.c. */
extern const struct bf_link_profile bf_link_profile_gen5_x16;

struct bf_link {
	struct bf_sim *sim;
	struct bf_link_profile profile;
	uint64_t up_free_ps, down_free_ps; /* when each direction is next idle; up = device to memory */
	uint64_t up_bytes, down_bytes;     /* statistics, TLP overhead included */
	uint64_t posted_ps;                /* when the last posted write issued so far is in memory */
	uint64_t strict_ps;                /* of those without relaxed ordering */
	uint64_t vram_free_ps;             /* when what GPU memory was asked for so far has come */
	uint32_t actor;
	struct bf_link_mmio *mmio; /* stores on their way to the device */
};

/*
 * `name` and `profile` are copied. Its bytes count as statistics NAME.up_bytes and NAME.down_bytes. It must not move.
 * Returns 0, -EINVAL (payload or request size 0) or -ENOMEM, text in sim->error.
 */
int bf_link_init(struct bf_link *l, struct bf_sim *sim, const char *name, const struct bf_link_profile *profile);

/* Drops what is on its way. Its ports and the regions behind it must be gone. */
void bf_link_fini(struct bf_link *l);

/* Stores on their way to `r` are dropped: it is about to be destroyed. */
void bf_link_forget(struct bf_link *l, const struct bf_region *r);

/*
 * A processor's store (1..64 bytes) to an MMIO region starts its way down `region->link`; the region's write op runs
 * when it arrives (at once when there is no link). Never fails towards the caller: a lost doorbell is the fault plan's
 * business. A store outside of the region or of another length is dropped, as hardware drops what no device claims.
 */
void bf_mmio_post(struct bf_region *region, uint64_t offset, const void *data, uint32_t len);

/*
 * A processor's load of 1..8 bytes from an MMIO region; all ones when the region has no read op or does not reach that
 * far. In closed form: stores still on their way on this link arrive now, then the read op runs now, and `*done_ps` is
 * when the processor has the value: after those stores, the round trip and the device's earlier posted
 * writes. The caller spends the time.
 */
uint64_t bf_mmio_load(struct bf_region *region, uint64_t offset, uint32_t len, uint64_t *done_ps);

struct bf_dma_op;
typedef void bf_dma_fn(struct bf_dma_op *op);

/*
 * One DMA read (or read-modify-write), embedded in its owner and owned by the port from the call until `done`.
 * `status` is 0 or -EFAULT (nothing was read). `modify`, if set, is called with the bytes at the moment they are read
 * and may change them in place: that is how the device's atomics stay atomic (length 4, 8, 16, naturally aligned; else
 * -EFAULT without a translation). It is called again when another thread came between. `dst` then gets the bytes from
 * before, and may be NULL. Zero the struct before the first use; all fields but `status` and `at_ps` are the owner's
 * and survive the operation.
 */
struct bf_dma_op {
	uint64_t iova;
	uint32_t len;
	int32_t status;
	void *dst; /* len bytes, valid until done */
	bf_dma_fn *done;
	void (*modify)(struct bf_dma_op *op, void *bytes);
	/*
	 * With `modify`: earlier writes with the relaxed ordering attribute may land later than it changes memory
	 * (section 2.4.1, C2b: an AtomicOp request that has the attribute itself).
	 */
	bool passes_relaxed;
	uint64_t at_ps; /* the port's */
};

struct bf_dma_port {
	struct bf_sim *sim;
	struct bf_link *link;
	struct bf_ioas *ioas;
	uint32_t actor;
	uint64_t reads, writes;     /* statistics: operations started; atomics are reads */
	struct bf_dma_rings *rings; /* requests in flight */
	bool loops;                 /* the device routes requests to its own registers by itself; set after the init */
};

#define BF_DMA_RELAXED 1u /* relaxed ordering attribute */
#define BF_DMA_LENT 2u    /* `src` stays in place until the write has landed: no copy is made */
#define BF_DMA_INLINE_MAX 64u

/*
 * A port of device `name` on `link`, translating by `ioas`; both borrowed. The name becomes an actor of kind "dma", the
 * one that faults and records show; statistics are NAME.reads, .writes and .faults (of the address space). A port needs
 * room of its own: it must not move. Returns 0 or -ENOMEM.
 */
int bf_dma_port_init(struct bf_dma_port *p, struct bf_sim *sim, const char *name, struct bf_link *link,
		     struct bf_ioas *ioas);

/* Drops what is in flight: no `done` runs any more. Not from a callback of this port. */
void bf_dma_port_fini(struct bf_dma_port *p);

/*
 * Starts a read; op->done runs when its data (or its failure) are at the device, in the order of the calls. A read of 0
 * bytes translates nothing and is done after the round trip: it flushes earlier posted writes. `done` may start new
 * operations. On lack of memory `done` runs before this returns, with -ENOMEM.
 */
void bf_dma_read(struct bf_dma_port *p, struct bf_dma_op *op);

/*
 * Starts a posted write; the bytes are copied now (or, with BF_DMA_LENT, when they land, at one moment for what the
 * IOAS maps in one run) and change memory when they arrive. `flags` BF_DMA_*. Returns 0 or
 * -EFAULT (translation failed, fault recorded; no byte is written) or -ENOMEM. A write of 0 bytes costs its header on
 * the link and does nothing else.
 */
int bf_dma_write(struct bf_dma_port *p, uint64_t iova, const void *src, uint32_t len, uint32_t flags);

/*
 * The answer to what a far region (struct bf_far_ops) was asked for by this port: `status` 0 when the bytes are in
 * their place, else the read fails with -EFAULT. Later reads of the port have waited for it; writes have not, as
 * posted writes may pass reads.
 */
void bf_dma_answer(struct bf_dma_port *p, int status);

/*
 * For engines that move data between memories: the move itself and its cost on the link are apart, so that the engine
 * decides when bytes change and no byte is staged.
 */

/* Rows of `bytes` bytes, their starts `src_pitch` and `dst_pitch` apart (any, also 0; one row needs none). */
struct bf_dma_rows {
	uint64_t dst, src; /* IOVAs of the first row */
	uint64_t bytes, rows;
	uint64_t dst_pitch, src_pitch;
	bool backwards; /* from the last byte of the last row to the first */
};

/* Bytes that an engine reads before it writes any of them; decides what overlapping rows give. */
#define BF_DMA_BURST 256u

/*
 * Copies rows now, in order; watchers and GPU caches are told. Where source and destination meet, the bytes are those
 * of bursts of BF_DMA_BURST bytes, each read before it is written, one after the other. Returns 0, or -EFAULT: then
 * port->ioas->last_fault says where, and what comes before it in order has been copied. Registers are read and written
 * in accesses of at most 8 and 64 bytes; memory that only messages can read cannot be a source. The call is one
 * opportunity for the fault plan on each side.
 */
int bf_dma_copy(struct bf_dma_port *p, const struct bf_dma_rows *c);

/* Sets `len` bytes from `iova` on to the little-endian `pattern` of `unit` (1, 2, 4) bytes, now. Returns as above. */
int bf_dma_fill(struct bf_dma_port *p, uint64_t iova, uint64_t len, uint32_t pattern, uint32_t unit);

/* Charges the link for data that cross it from now on: `up` bytes to memory, `down` from it. When both are through. */
uint64_t bf_dma_charge(struct bf_dma_port *p, uint64_t up, uint64_t down);

BF_API_END

#endif
