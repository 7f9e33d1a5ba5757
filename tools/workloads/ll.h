/* The low-latency exchange as a family of workloads: its choices and how they become a shape. */
#ifndef BELFRY_TOOLS_WORKLOADS_LL_H
#define BELFRY_TOOLS_WORKLOADS_LL_H

#include "drivers/ibgda/ll.h"
#include "tools/workloads/pes.h"

/* Fields in the order of BF_LL_OPTIONS; meanings stand there. */
struct bf_ll_workload {
	struct bf_pes pes;
	uint32_t tokens, hidden, topk, experts;
	uint32_t dtype, scales, routing, zipf_milli;
	uint32_t rounds, blocks, groups, group_warps;
};

#define BF_LL_OPTIONS(O)                                                                                               \
	O("tokens", U64, "N", "8", "tokens of each PE", 1, 1024, tokens)                                               \
	O("hidden", U64, "N", "512", "elements of a token, a multiple of 512", 512, 8192, hidden)                      \
	O("topk", U64, "N", "2", "experts that each token goes to", 1, 16, topk)                                       \
	O("experts", U64, "N", "8", "experts in all, a multiple of the PEs", 2, 4096, experts)                         \
	O("dtype", ENUM, "fp8|bf16", "fp8", "how a dispatch sends tokens; a combine sends BF16", 0, 0, dtype)          \
	O("scales", ENUM, "f32|pow2|ue8m0", "f32", "FP8: scales are any floats, powers of two, or their exponents", 0, \
	  0, scales)                                                                                                   \
	O("routing", ENUM, "uniform|zipf|hot", "uniform",                                                              \
	  "how experts are chosen: alike, by Zipf's law, or one of "                                                   \
	  "them by every token",                                                                                       \
	  0, 0, routing)                                                                                               \
	O("zipf", U64, "N", "1000", "exponent of Zipf's law, in thousandths", 0, 4000, zipf_milli)                     \
	O("rounds", U64, "N", "1", "exchanges, one after the other", 1, 1000, rounds)                                  \
	O("blocks", U64, "N", "1", "blocks of warps on each PE (DeepEP: as many as SMs or experts)", 1, 1024, blocks)  \
	O("groups", U64, "N", "2", "warp groups in a block; each looks after experts", 1, 16, groups)                  \
	O("warps", U64, "N", "2", "warps in a group", 1, 32, group_warps)

extern const struct bf_pes_family bf_ll_family;

#endif
