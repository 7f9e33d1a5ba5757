#include "models/nvme/nvme.h"

/*
 * PCIe 3.0 with 4 lanes: 8 GT/s with 128b/130b coding is 3.938 GB/s (PCI Express Base Specification 3.0, section
 * 4.2.2), 260 ns for 1024 bytes. Payload 256 and request 512 are what client platforms negotiate: assumed. TLP overhead
 * as in sim/pcie.c. Latency 250 ns one way and 200 ns in root complex and memory: assumed, so that a small DMA read
 * takes the 0.7 us that Neugebauer et al. (SIGCOMM 2018) measured on Gen3.
 *
 * Samsung 970 PRO of 1 TB (data sheet revision 1.0, 2018): 15,000 random reads of 4 KiB a second at queue depth 1 with
 * one thread (66 us), 55,000 writes (18 us); 500,000 of either at depth 32 with four threads; 3,500 MB/s sequential
 * read, 2,700 MB/s sequential write. The parts of those times are assumed so that the sums fit: tests/models/
 * test_nvme_media.c prints how well they do. Two packages of 16 dies with two planes: 64 pages at a time.
 */
const struct bf_nvme_profile bf_nvme_970pro = {
	.name = "970pro",
	.pcie = {
		.latency_ps = 250 * BF_NS,
		.mem_ps = 200 * BF_NS,
		.ps_per_kib = 260000,
		.max_payload = 256,
		.max_read_request = 512,
		.tlp_overhead = 24,
	},
	.doorbell_ps = 200 * BF_NS,   /* assumed */
	.command_ps = 1950 * BF_NS,   /* from the 500,000 commands a second that reads and writes share */
	.completion_ps = 300 * BF_NS, /* assumed */
	.ready_ps = 50 * BF_MS,       /* assumed; drives take from some milliseconds to seconds */
	.disable_ps = 1 * BF_MS,      /* assumed */
	.fetch_entries = 16,          /* assumed */
	.read_ps = 60 * BF_US,        /* MLC page read with ECC: from the depth-1 figure above */
	.program_ps = 388 * BF_US,    /* from the sequential write figure: 64 pages at a time */
	.erase_ps = 5 * BF_MS,        /* block erase: assumed */
	.cache_write_ps = 12 * BF_US, /* from the depth-1 write figure above */
	.ps_per_kib = 290000,         /* 3,500 MB/s */
	.channels = 64,               /* planes; see above */
	.media_page = 16384,          /* assumed */
	.cache_bytes = 64u << 20,     /* assumed: most of the 1 GiB of LPDDR4 holds the map */
	.max_io_queues = 128,         /* assumed: drives of the family grant 127 or 128 */
	.mqes = 16383,                /* low half of CAP: 0x3c033fff, as nvme-cli prints it */
	.dstrd = 0,
	.mdts = 9,                    /* 2 MiB, as nvme-cli prints it for this family */
	.mpsmax = 0,                  /* 4 KiB pages only, as in that CAP */
	.vectors = 33,                /* as lspci prints it for this family */
	.cqr = true,                  /* CAP again: 0x3c033fff in its low half */
};

/* Latency and bandwidth of nothing at all; payload sizes keep the number of TLPs that statistics count. */
const struct bf_nvme_profile bf_nvme_instant = {
	.name = "instant",
	.pcie = { .max_payload = 512, .max_read_request = 4096, .tlp_overhead = 24 },
	.fetch_entries = 64,
	.channels = 32,
	.media_page = 4096,
	.cache_bytes = 64u << 20,
	.max_io_queues = 65535,
	.mqes = 65535,
	.mdts = 9,
	.mpsmax = 4,
	.vectors = 2048,
};
