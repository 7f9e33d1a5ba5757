/*
 * NVSHMEM-style workloads on IBGDA: what its one-sided calls promise, checked on many PEs, and forms of its perftest.
 *
 * Addresses are symmetric: pointers into the caller's heap stand for the same offset at another PE. Each warp uses the
 * queue pairs to a PE in turn, as NVSHMEM's default handle does, so that nothing but fence, quiet and signals orders
 * one put behind another. A PE's puts to itself are plain copies (NVSHMEM: peers with a P2P mapping).
 *
 * Every work runs in one launch on every PE; the device code is in shmem_calls_internal.h and
 * shmem_kernels_internal.h.
 */
#ifndef BELFRY_DRIVERS_IBGDA_SHMEM_H
#define BELFRY_DRIVERS_IBGDA_SHMEM_H

#include "drivers/ibgda/kernels.h"

enum bf_shmem_work {
	BF_SHMEM_PUT,         /* each warp puts a block to every PE; quiet, barrier */
	BF_SHMEM_GET,         /* each warp gets a block from every PE */
	BF_SHMEM_PUT_SIGNAL,  /* put with signal to every PE; who waits for the signal finds the data */
	BF_SHMEM_AMO,         /* tickets by fetching adds, and sums by others */
	BF_SHMEM_FENCE,       /* data, fence, flag: who sees the flag sees the data */
	BF_SHMEM_QUIET,       /* after a quiet the source may be written over */
	BF_SHMEM_BARRIER,     /* after a barrier everybody has what was put before it */
	BF_SHMEM_ALLTOALL,    /* block j of PE i becomes block i of PE j */
	BF_SHMEM_BROADCAST,   /* PE 0's block to all, along a binomial tree */
	BF_SHMEM_RING,        /* ring all-reduce: sums of 64-bit words */
	BF_SHMEM_PUT_LATENCY, /* put and quiet, one after the other */
	BF_SHMEM_GET_LATENCY, /* blocking gets */
	BF_SHMEM_P_LATENCY,   /* 4-byte puts by lanes, and quiet */
	BF_SHMEM_G_LATENCY,   /* 4-byte gets by lanes */
	BF_SHMEM_AMO_LATENCY, /* fetching adds of 8 bytes */
	BF_SHMEM_PING_PONG,   /* put with signal there and back; half of it */
	BF_SHMEM_PUT_BW,      /* puts by all warps, quiet at the end */
	BF_SHMEM_GET_BW,      /* gets by all warps, quiet at the end */
	BF_SHMEM_WORKS
};

/* Wrong on purpose, beside BF_IBGDA_BUG_*. */
#define BF_SHMEM_BUG_NO_FENCE (1u << 0)     /* the flag is not fenced from the data */
#define BF_SHMEM_BUG_NO_QUIET (1u << 1)     /* the source is overwritten without a quiet */
#define BF_SHMEM_BUG_SIGNAL_FIRST (1u << 2) /* the signal is sent before the put, by another queue pair */
#define BF_SHMEM_BUG_SYNC_ONLY (1u << 3)    /* the barrier meets without a quiet before */
#define BF_SHMEM_BUG_ROUND_LESS (1u << 4)   /* the barrier leaves its last round out */
#define BF_SHMEM_BUG_WAIT_SHORT (1u << 5)   /* waits end at the value before the one that stands for the data */

/* Name and one line for each; ends with a NULL name. */
extern const struct bf_ibgda_bug bf_shmem_bugs[];

struct bf_shmem_shape {
	enum bf_shmem_work work;
	uint32_t blocks, warps;
	uint32_t rounds; /* of a check; iterations of each size of a measurement */
	uint32_t bytes;  /* of a block, multiple of 8 */
	uint32_t min_bytes, max_bytes,
	    step;      /* measurements: min, min * step, ... up to max; powers of two, at least 4 */
	uint64_t bugs; /* BF_SHMEM_BUG_* */
};

extern const struct bf_shmem_shape bf_shmem_shape_default;

#define BF_SHMEM_SIZES_MAX 64u
#define BF_SHMEM_TREE_MAX 16u /* PEs: up to 2^16 meet in a barrier */

BF_FN int bf_shmem_measures(enum bf_shmem_work work)
{
	return work >= BF_SHMEM_PUT_LATENCY;
}

/* -EINVAL with `err` set when something does not fit. */
int bf_shmem_shape_check(const struct bf_shmem_shape *s, uint32_t npes, struct bf_error *err);

/*
 * Heap offsets. With W warps on a PE of R, a slot is (pe * W + warp), `stride` bytes in an area, 8 bytes in words.
 */
struct bf_shmem_layout {
	uint64_t stride;
	uint64_t src, dst, out; /* R * W * stride each */
	uint64_t signal;        /* 2 * R * W * 8 */
	uint64_t value;         /* R * W * 8: violations seen, or tickets at (round * W + warp) */
	uint64_t counter;       /* 2 * 8: what atomics hit */
	uint64_t sync;          /* BF_SHMEM_TREE_MAX * 8: the barrier's words */
	uint64_t meet;          /* where the warps of a PE meet */
	uint64_t times;         /* BF_SHMEM_SIZES_MAX * 8: ns of all iterations of a size */
	uint64_t end;
};
void bf_shmem_layout(const struct bf_shmem_shape *s, uint32_t npes, struct bf_shmem_layout *out);

/* How many sizes a measurement takes, and the n-th. */
BF_FN uint32_t bf_shmem_sizes(const struct bf_shmem_shape *s)
{
	uint32_t n = 0;

	for (uint64_t bytes = s->min_bytes; bytes <= s->max_bytes; bytes *= s->step)
		n++;
	return n;
}
BF_FN uint32_t bf_shmem_size(const struct bf_shmem_shape *s, uint32_t n)
{
	uint64_t bytes = s->min_bytes;

	while (n--)
		bytes *= s->step;
	return (uint32_t)bytes;
}

/* What the kernel of each PE gets; lives as long as the run. */
struct bf_shmem_job {
	struct bf_ibgda_state *state;
	struct bf_shmem_shape shape;
	struct bf_shmem_layout at;
};

/* Fills the sources. heaps[pe] is the heap as host code sees it, zero so far. */
void bf_shmem_prepare(const struct bf_shmem_shape *s, uint32_t npes, void *const *heaps);

/* 0, -EBADMSG with `bad` filled in, or -ENOMEM. Adds to `bytes` what was compared. */
int bf_shmem_verify(const struct bf_shmem_shape *s, uint32_t npes, void *const *heaps, struct bf_ibgda_mismatch *bad,
		    uint64_t *bytes);

/* The kernel of a platform: sim and native are built in; NULL for the others. Argument: struct bf_shmem_job. */
bf_kernel_fn *bf_shmem_kernel(enum bf_platform_id platform);

#endif
