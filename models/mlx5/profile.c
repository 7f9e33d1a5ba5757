/*
 * Timing and limits of a ConnectX-7.
 *
 * Sources: [1] NVIDIA, "NVIDIA ConnectX-7 400G Ethernet" product brief: 400 Gb/s, PCIe Gen5 x16. [2] Kalia, Kaminsky,
 * Andersen, "Design Guidelines for High Performance RDMA Systems" (USENIX ATC 2016): doorbell and DMA costs of earlier
 * ConnectX generations, the order of magnitude taken for this one. [3] sim/pcie.c for the link. Everything that says
 * "assumed" has no public measurement behind it.
 */
#include "models/mlx5/mlx5.h"

const struct bf_mlx5_profile bf_mlx5_cx7 = {
	.name = "cx7",
	/* [1], [3]: 63 GB/s; 512-byte payloads and 4096-byte requests are what servers negotiate (assumed). */
	.pcie = {
		.latency_ps = 150 * BF_NS,
		.mem_ps = 200 * BF_NS,
		.ps_per_kib = 16250,
		.max_payload = 512,
		.max_read_request = 4096,
		.tlp_overhead = 24,
		.relaxed_ps = 100 * BF_NS,
	},
	.port_latency_ps = 150 * BF_NS, /* MAC, PHY with RS-FEC, half a switch; two make a way: assumed */
	.port_ps_per_kib = 20480,       /* [1]: 400 Gb/s */
	.doorbell_ps = 50 * BF_NS,      /* assumed */
	.wqe_ps = 4 * BF_NS,            /* assumed: about 250 M WQE/s */
	.packet_tx_ps = 1 * BF_NS,      /* assumed */
	.packet_rx_ps = 4 * BF_NS,      /* assumed */
	.ack_delay_ps = 100 * BF_NS,    /* assumed; that ACKs are coalesced: docs/hardware/roce.md#acknowledgements-2 */
	.ack_every = 16,                /* assumed */
	.fetch_wqebbs = 16,             /* assumed: 1 KiB a fetch */
	.bf_bytes = 64,                 /* assumed: cx7-timed has what cards show */
	.max_outstanding = 512,         /* assumed */
	.log_max_qp = 18,               /* what ConnectX-5 and later report (ibv_devinfo max_qp 262144) */
	.log_max_cq = 24,               /* likewise (max_cq 16777216) */
	.log_max_mkey = 24,             /* the width of the key's index */
	.dct_contexts = 128,            /* assumed */
	.dct_idle_ps = 100 * BF_MS,     /* assumed */
	.dc_busy_ps = 10 * BF_US,       /* assumed */
	.log_dci_streams = 6,           /* assumed */
	.host_endian_atomics = true,    /* docs/hardware/mlx5.md#atomics-5: what the drivers select where it exists */
	.icrc = true,
	.traits = BF_MLX5_TRAITS_CX7,
};

/*
 * The generations beside it: port and link are what their product briefs say (ConnectX-6: 200 Gb/s, PCIe Gen4 x16;
 * ConnectX-8: 800 Gb/s, Gen6 x16); the rest is taken from the ConnectX-7 (assumed).
 */
#define BESIDE_CX7(link_ps_per_kib, port_ps)                                                                           \
	.pcie = {                                                                                                      \
		.latency_ps = 150 * BF_NS,                                                                             \
		.mem_ps = 200 * BF_NS,                                                                                 \
		.ps_per_kib = link_ps_per_kib,                                                                         \
		.max_payload = 512,                                                                                    \
		.max_read_request = 4096,                                                                              \
		.tlp_overhead = 24,                                                                                    \
		.relaxed_ps = 100 * BF_NS,                                                                             \
	},                                                                                                             \
	.port_latency_ps = 150 * BF_NS, .port_ps_per_kib = port_ps, .doorbell_ps = 50 * BF_NS, .wqe_ps = 4 * BF_NS,    \
	.packet_tx_ps = 1 * BF_NS, .packet_rx_ps = 4 * BF_NS, .ack_delay_ps = 100 * BF_NS, .ack_every = 16,            \
	.fetch_wqebbs = 16, .bf_bytes = 64, .max_outstanding = 512, .log_max_qp = 18, .log_max_cq = 24, .log_max_mkey = 24,            \
	.dct_contexts = 128, .dct_idle_ps = 100 * BF_MS, .dc_busy_ps = 10 * BF_US, .log_dci_streams = 6,               \
	.host_endian_atomics = true, .icrc = true

const struct bf_mlx5_profile bf_mlx5_cx6 = {
	.name = "cx6",
	BESIDE_CX7(32500, 40960),
	.traits = BF_MLX5_TRAITS_CX6,
};

const struct bf_mlx5_profile bf_mlx5_cx8 = {
	.name = "cx8",
	BESIDE_CX7(8125, 10240),
	.traits = BF_MLX5_TRAITS_CX8,
};

/* The limits of a ConnectX-7; where time passes by itself, on the wall clock, nothing of the device adds to it. */
const struct bf_mlx5_profile bf_mlx5_instant = {
	.name = "instant",
	.pcie = { .max_payload = 4096, .max_read_request = 4096 },
	.ack_every = 16,
	.fetch_wqebbs = 64, /* a batch of a program's in one read */
	.bf_bytes = 64,
	.max_outstanding = 128, /* of each of many queue pairs: half of the ring to another process */
	.log_max_qp = 18,
	.log_max_cq = 24,
	.log_max_mkey = 24,
	.dct_contexts = 128,
	.dct_idle_ps = 100 * BF_MS,
	.dc_busy_ps = 10 * BF_US,
	.log_dci_streams = 6,
	.host_endian_atomics = true,
	.traits = BF_MLX5_TRAITS_CX7,
};
