/* What is published of Hopper beside the rows of `belfry check hopper-timing`. */
#include "tools/timing/trial_internal.h"

const struct bf_trial_rule bf_trials_hopper[] = {
	{ "hopper", "copy_engine_sync_latency", NULL, NULL, "the GPU's copy engine is not modelled" },
	{ "hopper", "copy_engine_visible_latency", NULL, NULL, "the GPU's copy engine is not modelled" },
	{ "hopper", "copy_engine_triggered_latency", NULL, NULL, "the GPU's copy engine is not modelled" },
	{ "hopper", "copy_engine_bandwidth", NULL, NULL, "the GPU's copy engine is not modelled" },
	{ "hopper", "kernel_latency", NULL, NULL, "launches of kernels are not modelled" },
	{ "hopper", "store_bandwidth", NULL, NULL, "loads and stores of SMs have no rate in the model" },
	{ "hopper", "load_bandwidth", NULL, NULL, "loads and stores of SMs have no rate in the model" },
	{ "hopper", "memory_bandwidth", NULL, NULL, "loads and stores of SMs have no rate in the model" },
	{ "hopper", "atomic_rate", NULL, NULL, "atomics of SMs have no rate in the model" },
	{ "hopper", "load_latency", NULL, NULL, "caches of SMs are not modelled" },
	{ "hopper", "signal_latency", NULL, NULL, "words in global memory have no latency in the model" },
	{ "hopper", "tma_bandwidth", NULL, NULL,
	  "needs DRAM and L2 at their rates; rows of one SM: check hopper-timing" },
	{ "hopper", "tma_latency", NULL, NULL, "clock not pinned; measured rows of it: check hopper-timing" },
	{ "hopper", "tma_latency_slope", NULL, NULL, "clock not pinned; measured rows of it: check hopper-timing" },
	{ "hopper", "tma_ring_step", NULL, NULL, "clock not pinned; measured rows of it: check hopper-timing" },
	{ "hopper", "barrier_time", NULL, NULL, "barrier.cluster is not the sync unit's, and not modelled" },
	{ "hopper", "throughput", NULL, NULL, "loads and stores of SMs have no rate in the model" },
	{ "hopper", "dsm_latency", NULL, NULL, "loads from another SM's memory are not modelled" },
	{ "hopper", "dsm_throughput", NULL, NULL, "loads from another SM's memory are not modelled" },
	{ 0 },
};
