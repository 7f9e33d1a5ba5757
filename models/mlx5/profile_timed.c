/*
 * ConnectX profiles whose timing is fitted to published figures, and says so: docs/timing.md has method, data and what
 * the figures leave open. Link and port rates are those of product briefs: ConnectX-5 100 Gb/s on PCIe Gen3 x16,
 * ConnectX-6 200 Gb/s on Gen4 x16, ConnectX-7 400 Gb/s on Gen5 x16, ConnectX-8 800 Gb/s on Gen6 x16. (PCIe Base
 * Specification 6.0, sections 4.2.2 and 4.2.3: 8, 16 and 32 GT/s with 128b/130b coding; 64 GT/s, 236 of 256 bytes of a
 * FLIT.) "fitted": by tools/calibrate/fit_timing.
 */
#include "models/mlx5/mlx5.h"

/* What no published figure tells apart from that of the default profile: as there. */
#define AS_CX7                                                                                                         \
	.ack_delay_ps = 100 * BF_NS, .ack_every = 16, .fetch_wqebbs = 16, .bf_bytes = 256, .max_outstanding = 512,     \
	.log_max_qp = 18, .log_max_cq = 24, .log_max_mkey = 24, .dct_contexts = 128, .dct_idle_ps = 100 * BF_MS,       \
	.dc_busy_ps = 10 * BF_US, .log_dci_streams = 6, .host_endian_atomics = true, .icrc = true,                     \
	.atomics_hold = true /* the rate of FETCH_ADDs on one word: docs/timing.md */
#define LINK(ps)                                                                                                       \
	.ps_per_kib = (ps), .max_payload = 256, .max_read_request = 4096, .tlp_overhead = 24, .relaxed_ps = 100 * BF_NS

const struct bf_mlx5_profile bf_mlx5_cx5_timed = {
	.name = "cx5-timed",
	.pcie = { LINK(65000), .latency_ps = 159 * BF_NS, .mem_ps = 150 * BF_NS }, /* latency, mem: fitted */
	.port_latency_ps = 150 * BF_NS,                                            /* fitted */
	.port_ps_per_kib = 81920,
	.doorbell_ps = 50 * BF_NS, /* fitted */
	.answer_ps = 93881,        /* fitted; the same in three generations */
	.gather_window = 20,       /* fitted */
	.wqe_ps = 10 * BF_NS,      /* unconstrained: posters are slower */
	.packet_tx_ps = 20 * BF_NS,
	.packet_rx_ps = 20 * BF_NS,
	AS_CX7,
	.traits = BF_MLX5_TRAITS_CX6,
};

const struct bf_mlx5_profile bf_mlx5_cx6_timed = {
	.name = "cx6-timed",
	.pcie = { LINK(32500), .latency_ps = 150 * BF_NS, .mem_ps = 200 * BF_NS },
	.port_latency_ps = 200 * BF_NS,
	.port_ps_per_kib = 40960,
	.doorbell_ps = 50 * BF_NS,
	.answer_ps = 92 * BF_NS, /* fitted; the same in three generations */
	.gather_window = 20,     /* fitted */
	.wqe_ps = 4650,          /* 215 M messages a second: ConnectX-6 EN product brief */
	.packet_tx_ps = 4 * BF_NS,
	.packet_rx_ps = 4 * BF_NS,
	AS_CX7,
	.traits = BF_MLX5_TRAITS_CX6,
};

/* Times of a ConnectX-7, with the rates of the generation: picoseconds for 1 KiB on PCIe and on the wire. */
#define TIMED_CX7(pcie_rate, port_rate)                                                                                \
	.pcie = { LINK(pcie_rate), .latency_ps = 192 * BF_NS, .mem_ps = 200 * BF_NS }, .port_latency_ps = 163 * BF_NS, \
	.port_ps_per_kib = (port_rate), .doorbell_ps = 50 * BF_NS,                                                     \
	.answer_ps = 91658,      /* fitted; the same in three generations */                                           \
	    .gather_window = 24, /* fitted */                                                                          \
	    .wqe_ps = 4 * BF_NS, .packet_tx_ps = 4 * BF_NS, .packet_rx_ps = 4 * BF_NS, AS_CX7

const struct bf_mlx5_profile bf_mlx5_cx7_timed = {
	.name = "cx7-timed",
	TIMED_CX7(16250, 20480),
	.traits = BF_MLX5_TRAITS_CX7,
};

/* No figure of a ConnectX-8 is published that would constrain more than its rates: latencies are the ConnectX-7's. */
const struct bf_mlx5_profile bf_mlx5_cx8_timed = {
	.name = "cx8-timed",
	TIMED_CX7(8678, 10240),
	.traits = BF_MLX5_TRAITS_CX8,
};
