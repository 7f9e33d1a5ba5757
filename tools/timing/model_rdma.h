/* NICs that published figures were measured on, and what software takes that sends through one. */
#ifndef BELFRY_TOOLS_TIMING_MODEL_RDMA_H
#define BELFRY_TOOLS_TIMING_MODEL_RDMA_H

#include "models/mlx5/profile.h"

enum bf_timing_nic { BF_NIC_CX5, BF_NIC_CX6, BF_NIC_CX7, BF_NICS };

struct bf_timing_nics {
	struct bf_mlx5_profile nic[BF_NICS];
};

/* clang-format off */
#define BF_TIMING_NIC_PROFILES \
	{ .nic = { [BF_NIC_CX5] = bf_mlx5_cx5_timed, [BF_NIC_CX6] = bf_mlx5_cx6_timed, [BF_NIC_CX7] = bf_mlx5_cx7_timed } }
#define BF_TIMING_NIC_DEVICE "mlx5" /* as figures name it */

/* Constants that figures may speak to: rows of struct bf_timing_constant. */
#define BF_NIC_CONSTANT(short_name, id, member, text) \
	{ short_name "." #member, BF_TIMING_NIC_DEVICE, BF_MEMBER(struct bf_timing_model, nics.nic[id].member), BF_BASIS_FITTED, text }
#define BF_NIC_PART(short_name, id) \
	BF_NIC_CONSTANT(short_name, id, pcie.latency_ps, "PCIe, one way"), \
	BF_NIC_CONSTANT(short_name, id, pcie.mem_ps, "host memory"), \
	BF_NIC_CONSTANT(short_name, id, pcie.vram_ps, "GPU memory, beyond that"), \
	BF_NIC_CONSTANT(short_name, id, port_latency_ps, "port and half a switch"), \
	BF_NIC_CONSTANT(short_name, id, doorbell_ps, "doorbell to first fetch"), \
	BF_NIC_CONSTANT(short_name, id, packet_tx_ps, "one packet built"), \
	BF_NIC_CONSTANT(short_name, id, packet_rx_ps, "one packet checked"), \
	BF_NIC_CONSTANT(short_name, id, answer_ps, "between two READ responses of a queue pair"), \
	BF_NIC_CONSTANT(short_name, id, gather_window, "payload reads of a queue pair under way")
#define BF_TIMING_NICS \
	BF_NIC_PART("cx5", BF_NIC_CX5), \
	BF_NIC_PART("cx6", BF_NIC_CX6), \
	BF_NIC_PART("cx7", BF_NIC_CX7)

/* As BF_TIMING_SOFTWARE; expert parallelism (ep_): phases that SMs and NVLink do. */
#define BF_TIMING_SOFTWARE_NIC(X) \
	X(BF_TIMING_NIC_DEVICE, mpi_way, 231 * BF_NS, FITTED, "MPI's share of a message, one way") \
	X(BF_TIMING_NIC_DEVICE, mpi_copy, 253 * BF_NS, FITTED, "MPI's copies of 1 KiB, one way") \
	X(BF_TIMING_NIC_DEVICE, script_post, 3345 * BF_NS, FITTED, "a transfer through a scripting language: MORI-IO's benchmark") \
	X(BF_TIMING_NIC_DEVICE, dispatch_deepep, 13824 * BF_NS, FITTED, "MoE dispatch with DeepEP's posting: counting, barrier, what is not posting") \
	X(BF_TIMING_NIC_DEVICE, dispatch_puts, 53641 * BF_NS, FITTED, "the same with NVSHMEM's puts") \
	X(BF_TIMING_NIC_DEVICE, dispatch_packed, 31172 * BF_NS, FITTED, "the same when tokens are packed first") \
	X(BF_TIMING_NIC_DEVICE, dispatch_proxy, 167175 * BF_NS, FITTED, "the same by the CPU proxy") \
	X(BF_TIMING_NIC_DEVICE, ep_base, 4436 * BF_NS, FITTED, "low-latency dispatch or combine: what no byte takes") \
	X(BF_TIMING_NIC_DEVICE, ep_peer, 250 * BF_NS, FITTED, "for each rank of it") \
	X(BF_TIMING_NIC_DEVICE, ep_local, 8365, FITTED, "1 KiB that stays in the node, low-latency kernels") \
	X(BF_TIMING_NIC_DEVICE, ep_remote, 22483, FITTED, "1 KiB that leaves it: links, imbalance and kernel together, at 400 Gb/s") \
	X(BF_TIMING_NIC_DEVICE, ep_mori, 532, FITTED, "MORI's low-latency kernels take so many thousandths of DeepEP's") \
	X(BF_TIMING_NIC_DEVICE, ep_normal_remote, 23256, FITTED, "1 KiB over the NIC, normal kernels, at 400 Gb/s")
/* clang-format on */

#endif
