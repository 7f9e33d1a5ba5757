/*
 * What software and machines around the devices take, in picoseconds unless it says otherwise, as the experiments of
 * `belfry check timing` have it: X(device, name, value, basis, what it is, and where from). Device: whose figures alone
 * it can change; NULL: any. Basis: SOURCED: read in the source named; FITTED: by tools/calibrate/fit_timing
 * (docs/timing.md). What concerns one device alone is in model_*.h.
 */
#ifndef BELFRY_TOOLS_TIMING_SOFTWARE_H
#define BELFRY_TOOLS_TIMING_SOFTWARE_H

#include "sim/sim.h"

/* clang-format off */
#define BF_TIMING_SOFTWARE(X) \
	/* Who posts. */ \
	X(NULL, cpu_post, 75 * BF_NS, SOURCED, "a CPU writes an entry and rings: proxy_post_time of loom-motivation-experiments") \
	X(NULL, cpu_poll, 50 * BF_NS, FITTED, "a CPU sees a change in memory and goes on") \
	X(NULL, cpu_interval, 142 * BF_NS, FITTED, "between two posts of perftest's loop") \
	X(NULL, vm_interval, 387 * BF_NS, FITTED, "the same in a virtual machine, and in logs of unnamed InfiniBand hosts") \
	X(NULL, vm_extra, 542 * BF_NS, FITTED, "what a read of memory takes more in a virtual machine") \
	X(NULL, proxy_hop, 1450 * BF_NS, FITTED, "GPU tells the proxy, and the proxy the GPU, together") \
	X(NULL, proxy_put, 4413 * BF_NS, FITTED, "NVSHMEM's proxy: from one put to the next of a block") \
	X(NULL, proxy_scalar, 312 * BF_NS, FITTED, "NVSHMEM's proxy: from one scalar put to the next") \
	X(NULL, gpu_post_deepep, 2914 * BF_NS, FITTED, "DeepEP's put returns") \
	X(NULL, gpu_post_warp, 6775 * BF_NS, FITTED, "NVSHMEM's put of a warp or block returns") \
	X(NULL, gpu_post_thread, 6276 * BF_NS, FITTED, "NVSHMEM's put of one thread returns") \
	X(NULL, gpu_poll, 1696 * BF_NS, FITTED, "a GPU thread sees a completion and goes on") \
	X(NULL, gpu_scalar_get, 8000 * BF_NS, FITTED, "NVSHMEM's scalar get: software around it") \
	X(NULL, gpu_scalar_more, 107 * BF_NS, FITTED, "each further scalar get of a block's") \
	X(NULL, gpu_scalar_put, 75307, FITTED, "scalar puts of one block of 1024 threads: from one to the next") \
	X(NULL, gpu_scalar_floor, 12 * BF_NS, FITTED, "and of all blocks together") \
	X(NULL, gpu_block_put, 7609 * BF_NS, FITTED, "shmem_put_bw: an iteration of blocks that do not meet at a queue pair") \
	X(NULL, gpu_block_more, 160 * BF_NS, FITTED, "for each block that takes part") \
	X(NULL, gpu_signal_round, 59886 * BF_NS, FITTED, "put plus signal by the proxy, both ways") \
	X(NULL, gpu_scalar_round, 51156 * BF_NS, FITTED, "scalar put, both ways") \
	X(NULL, gpu_warp_message, 140 * BF_NS, FITTED, "warps of 20 blocks that post: from one message to the next") \
	/* Other parts of the machine. */ \
	X(NULL, far_socket, 188 * BF_NS, FITTED, "one way more between the sockets of a host") \
	X(NULL, gpu_path_late, 559 * BF_NS, FITTED, "what such a read takes more than one of host memory") \
	/* GPUs with bulk copies: rates in MB/s or GB/s where they say so. */ \
	X(NULL, tma_step, 271 * BF_NS, FITTED, "flash-vla's ring: one warp waits for a stage and refills it") \
	X(NULL, tma_code, 56 * BF_NS, FITTED, "clock reads and addresses around a lone bulk copy, as rows bulk have them") \
	X(NULL, tma_copy, 704 * BF_NS, FITTED, "a stage of 32 KiB that is loaded and stored again") \
	X(NULL, sm_copy, 34400, FITTED, "MB/s that a block copies with ordinary stores") \
	X(NULL, l2_all, 55000, FITTED, "GB/s that L2 gives all SMs together when they read the same lines") \
	X(NULL, hbm_h100, 3350, SOURCED, "GB/s: NVIDIA H100 SXM5 data sheet") \
	X(NULL, hbm_h200, 4800, SOURCED, "GB/s: NVIDIA H200 data sheet") \
	X(NULL, hbm_share, 890, FITTED, "thousandths of that which reads and copies reach") \
	X(NULL, ce_sync, 6450 * BF_NS, FITTED, "submission of a copy to the GPU's copy engine, and the wait for it") \
	X(NULL, ce_visible, 4620 * BF_NS, FITTED, "the same until a polled word in host memory changes") \
	X(NULL, ce_trigger, 2500 * BF_NS, FITTED, "a word that the engine waits for, to its signal; within the GPU") \
	X(NULL, ce_trigger_host, 10800 * BF_NS, FITTED, "the same with the copy to host memory") \
	X(NULL, ce_link_kib, 35310, FITTED, "1 KiB of the engine's over PCIe Gen5 x8") \
	X(NULL, ce_device_kib, 12080, FITTED, "1 KiB of the engine's within the GPU") \
	/* Threads of a GPU and a BAR. */ \
	X(NULL, gpu_bell, 233 * BF_NS, FITTED, "a GPU thread's fence and doorbell store, beside the link") \
	X(NULL, gpu_load, 100 * BF_NS, FITTED, "a GPU thread's load or fence over PCIe, beside the link") \
	X(NULL, gpu_spin, 653 * BF_NS, FITTED, "a GPU thread sees a word change in its memory and answers") \
	X(NULL, gpu_store, 32 * BF_NS, SOURCED, "a GPU thread's store without a fence: gpu_access_time of loom-motivation-experiments")
/* The processor's way into a BAR. */
#define BF_TIMING_SOFTWARE_BAR(X) \
	X("pcie", bar_store, 90200, FITTED, "a call that copies to a write-combined BAR") \
	X("pcie", bar_load, 1151 * BF_NS, FITTED, "a call that copies from one") \
	X("pcie", bar_line, 54912, FITTED, "and each 32 bytes of it")
/* clang-format on */

#endif
