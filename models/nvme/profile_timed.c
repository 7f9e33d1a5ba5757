/*
 * Drives of published figures. Link rates: PCIe Base Specification, 3.938 GB/s for Gen3 x4, 7.877 GB/s for Gen4 x4.
 * Times of a read and what limits many are fitted to the figures (docs/timing.md); of writes, data sheets tell
 * sequential rates, and the rest is the 970 PRO's. Limits are the 970 PRO's where no capture of the drive is known.
 */
#include "models/nvme/nvme.h"

#define LINK(ps)                                                                                                       \
	{                                                                                                              \
		.latency_ps = 250 * BF_NS, .mem_ps = 200 * BF_NS, .ps_per_kib = (ps), .max_payload = 256,              \
		.max_read_request = 512, .tlp_overhead = 24                                                            \
	}
#define GEN3 260000
#define GEN4 130000

#define COMMON                                                                                                         \
	.doorbell_ps = 200 * BF_NS, .completion_ps = 300 * BF_NS, .ready_ps = 50 * BF_MS, .disable_ps = 1 * BF_MS,     \
	.fetch_entries = 16, .erase_ps = 5 * BF_MS, .cache_bytes = 64u << 20, .max_io_queues = 128, .mqes = 16383,     \
	.mdts = 9, .vectors = 129, .cqr = true

#define DRIVE(id, text, link, command, read, ahead, program, cached, rate, units, page)                                \
	const struct bf_nvme_profile bf_nvme_##id = {                                                                  \
		.name = text,                                                                                          \
		.pcie = LINK(link),                                                                                    \
		.command_ps = (command),                                                                               \
		.read_ps = (read),                                                                                     \
		.ahead_ps = (ahead),                                                                                   \
		.program_ps = (program),                                                                               \
		.cache_write_ps = (cached),                                                                            \
		.ps_per_kib = (rate),                                                                                  \
		.channels = (units),                                                                                   \
		.media_page = (page),                                                                                  \
		COMMON,                                                                                                \
	}

/* Samsung 980 PRO of 1 TB: 7,000 and 5,000 MB/s, 1,000,000 reads a second (data sheet); 22,000 at depth 1. */
DRIVE(980pro, "980pro", GEN4, 1252 * BF_NS, 42 * BF_US, 0, 210 * BF_US, 12 * BF_US, 146000, 64, 16384);
/* Samsung PM1733 of 3.84 TB: 7,000 and 3,800 MB/s, 1,450,000 reads a second (data sheet). */
DRIVE(pm1733, "pm1733", GEN4, 690 * BF_NS, 80 * BF_US, 0, 1104 * BF_US, 20 * BF_US, 146000, 256, 16384);
/* Intel Optane P5800X: 7,200 and 6,100 MB/s, 1,550,000 reads of 4 KiB a second, 5 us at depth 1 (product brief). */
DRIVE(optane, "optane", GEN4, 200 * BF_NS, 3500 * BF_NS, 0, 18800 * BF_NS, 3 * BF_US, 163772, 28, 4096);
/* Intel P3700 of 800 GB: 2,800 and 1,900 MB/s, 460,000 reads a second (product specification). */
DRIVE(p3700, "p3700", GEN3, 2170 * BF_NS, 78755 * BF_NS, 0, 552 * BF_US, 12 * BF_US, 365000, 64, 16384);
/* Micron 9100 MAX: 3,000 and 2,000 MB/s, 750,000 reads a second (product brief). */
DRIVE(m9100, "m9100", GEN3, 1333 * BF_NS, 101102 * BF_NS, 0, 524 * BF_US, 20 * BF_US, 341000, 64, 16384);
/* Intel P4510 of 4 TB: 3,000 and 2,900 MB/s, 637,000 reads a second (product brief). */
DRIVE(p4510, "p4510", GEN3, 1570 * BF_NS, 77 * BF_US, 0, 361 * BF_US, 18 * BF_US, 341000, 64, 16384);
/* WD SN850X of 2 TB: 7,300 and 6,600 MB/s, 1,200,000 reads a second (data sheet); a read: 56.7 us less fio (rocm-xio).
 */
DRIVE(sn850x, "sn850x", GEN4, 833 * BF_NS, 51700 * BF_NS, 8 * BF_US, 39720 * BF_NS, 10 * BF_US, 140000, 16, 16384);
/* An SLC drive of 16 GB that rocm-xio's authors have; no data sheet. */
DRIVE(mtr, "mtr-slc", GEN4, 2842 * BF_NS, 6447 * BF_NS, 0, 100 * BF_US, 5 * BF_US, 193226, 16, 4096);
