/*
 * The NVMe controller model: registers, queues, commands, media, seen from PCIe.
 *
 * It sees what the hardware sees: loads and stores of its BAR and queue bytes read by DMA. A request travels through
 * the files in this order: bar.c (doorbell) -> sq.c (arbitration, fetch) -> admin*.c or io*.c (decode, check) ->
 * data.c (PRP and SGL, data by DMA) -> media*.c -> cq.c (completion, interrupt). Beside the path: ctrl.c (enable,
 * reset, shutdown), queue.c (creation and deletion), event.c (asynchronous events, error log), dbbuf.c (shadow
 * doorbells), cmb.c (controller memory buffer).
 *
 * What is known of the hardware, and how well: docs/hardware/nvme.md. One thread per device, the simulation's.
 */
#ifndef BELFRY_MODELS_NVME_NVME_H
#define BELFRY_MODELS_NVME_NVME_H

#include <stdbool.h>

#include "models/nvme/prm.h"
#include "models/nvme/profile.h"
#include "sim/pcie.h"

struct bf_nvme; /* opaque */
struct bf_live;

struct bf_nvme_opts {
	const char *name;                      /* "ssd0" */
	const struct bf_nvme_profile *profile; /* NULL: bf_nvme_970pro; copied */
	struct bf_space *space;                /* where BAR0 (and the CMB) appear */
	struct bf_ioas *ioas;                  /* what DMA sees */
	const struct bf_nvme_ns_opts *ns;      /* NULL: one of 64 MiB in memory with 512-byte blocks */
	uint32_t nns;                          /* 0 with NULL */
	uint64_t cmb_bytes;                    /* controller memory buffer; 0: none */
	const char *serial;                    /* 1 to 20 printable characters; NULL: made from the name */
	const char *media_errors;              /* error map as text, see media.h; NULL: none */
	/*
	 * An interrupt: vector `vector` of MSI-X fires. Called after the completion that it announces is in memory.
	 * NULL: nobody listens (polled).
	 */
	void (*interrupt)(void *arg, uint32_t vector);
	void *interrupt_arg;
	bool direct; /* no PCIe link for the BAR: stores arrive at once (a server whose client is beyond a socket) */
	/*
	 * Live mode: file operations run in the loop's thread pool (sim/live.h) and do not block it. NULL: they block,
	 * as they must in virtual time. It outlives the device.
	 */
	struct bf_live *live;
};

/* Returns 0, -ENOMEM, -EINVAL, or what opening a file said, with sim->error set. */
int bf_nvme_create(struct bf_sim *sim, const struct bf_nvme_opts *opts, struct bf_nvme **out);
void bf_nvme_destroy(struct bf_nvme *dev);

/*
 * The MMIO region of BAR0: registers, then doorbells. Its ops may be called directly by whoever stands for the link
 * (a PCI function behind a socket): region->mmio->write and ->read with offsets inside it. MSI-X tables are not the
 * model's business.
 */
struct bf_region *bf_nvme_bar0(struct bf_nvme *dev);

/* The controller memory buffer's region; NULL without one. */
struct bf_region *bf_nvme_cmb(struct bf_nvme *dev);

/*
 * What reaches the controller through PCI: function-level or conventional reset (all registers to their defaults, all
 * commands dropped; the bus master bit is the caller's to clear); the bus master enable bit, on after creation. While
 * it is off the controller fetches nothing, posts nothing, interrupts nobody, and data transfers fail.
 */
void bf_nvme_reset(struct bf_nvme *dev);
/*
 * Power goes and comes back: a reset that the SMART log counts, as an unsafe one when the controller had been enabled
 * and no shutdown was completed since. What the host was told is written stays: the cache is kept alive to the end.
 */
void bf_nvme_power_cycle(struct bf_nvme *dev);
void bf_nvme_bus_master(struct bf_nvme *dev, bool on);

/*
 * Live mode: looks once at BAR0 as memory (registers and doorbells that others stored to) and acts on what changed;
 * non-zero when something had. `arg` is the struct bf_nvme. Doorbell values between two looks are not seen. Before the
 * first call the region's bytes must be readable and writable; that call puts the registers there, so make it before
 * others look. Registers that hosts only read are kept up to date there from then on, with release stores.
 */
int bf_nvme_poll_bar(void *arg);

/* Where a queue pair stands; for "why is there no completion". */
struct bf_nvme_queue_info {
	uint16_t qid, cqid;
	uint32_t sq_size, cq_size;
	uint32_t sq_tail, sq_head;           /* last doorbell value; next slot to fetch */
	uint32_t cq_tail, cq_head, cq_phase; /* next slot to post; last doorbell value; phase tag of the next entry */
	uint32_t executing;                  /* fetched, not completed */
	uint32_t held;                       /* completions that wait for room in the CQ */
	uint64_t doorbells, completed, errors;
};
void bf_nvme_each_queue(struct bf_nvme *dev, void (*fn)(void *arg, const struct bf_nvme_queue_info *info), void *arg);

/* The registers as they stand, for reports. */
uint32_t bf_nvme_csts(const struct bf_nvme *dev);

/* The DMA port, for pictures and reports. */
struct bf_dma_port *bf_nvme_dma(struct bf_nvme *dev);

/*
 * Statistics (sim/stats.h), by name behind the device's: commands, completions, doorbells and so on, and the histograms
 * of one command's time in its parts: `queue.doorbell`, `queue.fetch`, `queue.data`, `queue.completion` and, apart from
 * them, `media`.
 */

/* Records: models/nvme/records.h (types 300 to 349). Each queue is an actor of kind "queue": "ssd0.sq1", "ssd0.cq1". */

#endif
