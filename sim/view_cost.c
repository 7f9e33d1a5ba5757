/* What primitives cost: profiles of platforms. */
#include "sim/view.h"

const struct bf_cost bf_cost_zero = { 0 };

/*
 * One thread of an NVIDIA H200 at 1980 MHz, otherwise idle, measured with tests/bench/gpu_cost.cu. Fences: the measured
 * store with fence less the store. `poll` is a polling loop on its own: one load after the other.
 */
const struct bf_cost bf_cost_gpu = {
	.load = 139100,
	.load_dram = 1139200,
	.store = 6200,
	.atomic = 156700,
	.fence_cta = 6800,
	.fence_gpu = 244400,
	.fence_sys = 518500,
	.mmio = 6200,
	.poll = 139100,
};

/*
 * One core of a current x86-64 server at about 3 GHz. Assumed: L1 hit 5 cycles, DRAM 90 ns, a locked operation and a
 * fence about 20 cycles once the store buffer is empty, an uncached store some tens of nanoseconds of issue.
 */
const struct bf_cost bf_cost_cpu = {
	.load = 1600,
	.load_dram = 90 * BF_NS,
	.store = 400,
	.atomic = 6500,
	.fence_cta = 0,
	.fence_gpu = 0,
	.fence_sys = 6500,
	.mmio = 20 * BF_NS,
	.poll = 2 * BF_NS,
};
