/* What an NVMe controller takes for each step, what it has room for, and what its namespaces are. */
#ifndef BELFRY_MODELS_NVME_PROFILE_H
#define BELFRY_MODELS_NVME_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/compiler.h"
#include "sim/pcie.h"

BF_API_BEGIN

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
	uint64_t ahead_ps;                      /* a read that begins where the last one ended; 0: as any other */
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
/* Drives of published figures (profile_timed.c). */
extern const struct bf_nvme_profile bf_nvme_980pro, bf_nvme_pm1733, bf_nvme_optane, bf_nvme_p3700, bf_nvme_m9100,
    bf_nvme_p4510, bf_nvme_sn850x, bf_nvme_mtr;

enum bf_nvme_lba { BF_NVME_LBA_512, BF_NVME_LBA_4096 };

struct bf_nvme_ns_opts {
	uint64_t bytes; /* capacity, a multiple of 4096; 0 with `file`: the file's size */
	enum bf_nvme_lba lba;
	const char *file; /* regular file that holds the data, created when absent and `bytes` is given; NULL: memory */
	bool read_only;
};

BF_API_END

#endif
