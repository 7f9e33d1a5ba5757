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
#include "sim/pcie.h"

struct bf_nvme; /* opaque */
struct bf_live;

/*
 * Timing of the queue protocol (everything but the media) and limits. bf_nvme_970pro is modelled after published
 * figures of a Samsung 970 PRO/EVO on PCIe Gen3 x4; each constant has its source, or "assumed", where it is defined.
 */
struct bf_nvme_profile {
	const char *name;
	struct bf_link_profile pcie;
	/* Queue protocol, charged apart from the media. */
	uint64_t doorbell_ps;   /* doorbell arrival to first fetch */
	uint64_t command_ps;    /* decode and dispatch one command; commands follow each other at this distance */
	uint64_t completion_ps; /* build one completion */
	uint64_t ready_ps;      /* CC.EN = 1 to CSTS.RDY = 1 */
	uint64_t disable_ps;    /* CC.EN = 0 to CSTS.RDY = 0, and the least time of a shutdown */
	uint32_t fetch_entries; /* most SQEs in one fetch */
	/* Media. */
	uint64_t read_ps, program_ps, erase_ps; /* one media page */
	uint64_t cache_write_ps;                /* a write that the DRAM cache takes */
	uint64_t ps_per_kib;                    /* of the media's total bandwidth */
	uint32_t channels;                      /* pages that are read or programmed at the same time */
	uint32_t media_page;                    /* bytes */
	uint64_t cache_bytes;                   /* DRAM write cache; 0: none */
	/* Limits. */
	uint32_t max_io_queues; /* 1..65535 */
	uint32_t mqes;          /* 0-based, as in CAP */
	uint32_t dstrd, mdts, mpsmax;
	uint32_t vectors; /* MSI-X */
	bool cqr;         /* queues must be physically contiguous (CAP.CQR) */
	/* A completion leaves as two posted writes, the dword with the phase tag last: for drivers that assume one. */
	bool split_completions;
};
extern const struct bf_nvme_profile bf_nvme_970pro;
/* Queue protocol and media in no time at all: for functional runs and for servers on the wall clock. */
extern const struct bf_nvme_profile bf_nvme_instant;

enum bf_nvme_lba { BF_NVME_LBA_512, BF_NVME_LBA_4096 };

struct bf_nvme_ns_opts {
	uint64_t bytes; /* capacity, a multiple of 4096; 0 with `file`: the file's size */
	enum bf_nvme_lba lba;
	const char *file; /* regular file that holds the data, created when absent and `bytes` is given; NULL: memory */
	bool read_only;
};

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
 * non-zero when something had. `dev` is the struct bf_nvme. Doorbell values between two looks are not seen. Before the
 * first call the region's bytes must be readable and writable; that call puts the registers there, so make it before
 * others look. Registers that hosts only read are kept up to date there from then on, with release stores.
 */
int bf_nvme_poll_bar(void *dev);

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
