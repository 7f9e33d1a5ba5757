#include "sim/view.h"

const struct bf_cost bf_cost_zero = { 0 };

/* Assumed */
const struct bf_cost bf_cost_gpu = {
	.load = 150 * BF_NS,
	.load_dram = 900 * BF_NS,
	.store = 4 * BF_NS,
	.atomic = 200 * BF_NS,
	.fence_cta = 10 * BF_NS,
	.fence_gpu = 400 * BF_NS,
	.fence_sys = 800 * BF_NS,
	.mmio = 10 * BF_NS,
	.poll = 300 * BF_NS,
};
const struct bf_cost bf_cost_cpu = {
	.load = 1 * BF_NS,
	.load_dram = 90 * BF_NS,
	.store = 1 * BF_NS,
	.atomic = 6 * BF_NS,
	.fence_cta = 0,
	.fence_gpu = 0,
	.fence_sys = 10 * BF_NS,
	.mmio = 20 * BF_NS,
	.poll = 20 * BF_NS,
};
