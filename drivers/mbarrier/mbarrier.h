/*
 * Code that synchronises through Hopper's barriers: what host and device code share.
 *
 * A tile travels through these files:
 *   kernels_internal.h  the workloads: who loads, who computes, who waits for whom (share_internal.h,
 * stress_internal.h) pipeline.h          stages with a full and an empty barrier each, stage index and phase (CUTLASS's
 * PipelineTmaAsync) order.h             two groups of consumers in turns (CUTLASS's OrderedSequenceBarrier) ampere.h
 * the same pipeline with cp.async, by groups or by barriers barrier.h           loops around the waits, wrong on
 * purpose where asked C and CUDA clean.
 */
#ifndef BELFRY_DRIVERS_MBARRIER_MBARRIER_H
#define BELFRY_DRIVERS_MBARRIER_MBARRIER_H

#include <stdint.h>

enum bf_mbar_work {
	BF_MBAR_PIPELINE, /* a producer warp loads tiles in bulk, consumer warps transform and store them in bulk */
	BF_MBAR_RING,     /* producer warps store tiles themselves */
	BF_MBAR_PINGPONG, /* two groups of consumers take tiles and the turn alternately */
	BF_MBAR_CLUSTER,  /* blocks load a share of each tile for all; stages are released across blocks */
	BF_MBAR_AMPERE,   /* cp.async, by groups or by barriers that are polled */
	BF_MBAR_STRESS,   /* random operations on many barriers */
	BF_MBAR_WORKS
};

/* Pipeline: who arrives on a full barrier. */
enum bf_mbar_style {
	BF_MBAR_STYLE_ONE,   /* the thread that loads, alone (DeepGEMM, ThunderKittens, CUTLASS) */
	BF_MBAR_STYLE_GUIDE, /* all threads of the block, 127 of 128 as bystanders (CUDA C++ Programming Guide) */
};

/*
 * Wrong on purpose, for tests and teaching: each bit removes or swaps one step. Never set by default.
 */
#define BF_MBAR_BUG_FIRST_PHASE (1u << 0)      /* the producer's first wait has the consumer's parity */
#define BF_MBAR_BUG_EMPTY_COUNT (1u << 1)      /* empty barriers expect every lane, one lane a warp arrives */
#define BF_MBAR_BUG_NO_INIT_SYNC (1u << 2)     /* no block barrier behind the inits */
#define BF_MBAR_BUG_NO_PROXY_FENCE (1u << 3)   /* plain stores, then a bulk store of the same bytes, no proxy fence */
#define BF_MBAR_BUG_TWO_BEHIND (1u << 4)       /* the parity does not flip with the lap */
#define BF_MBAR_BUG_TX_OVER (1u << 5)          /* more bytes are expected than come */
#define BF_MBAR_BUG_TX_UNDER (1u << 6)         /* fewer */
#define BF_MBAR_BUG_EXPECT_ONLY (1u << 7)      /* expect_tx without the arrival */
#define BF_MBAR_BUG_CLUSTER_COUNT (1u << 8)    /* empty barriers are counted for one block, all blocks arrive */
#define BF_MBAR_BUG_NO_WARP_SYNC (1u << 9)     /* one lane arrives for 32 lanes' stores */
#define BF_MBAR_BUG_TRY_ONCE (1u << 10)        /* a try_wait that returns counts as over */
#define BF_MBAR_BUG_INIT_TWICE (1u << 11)      /* another warp inits the barriers, too */
#define BF_MBAR_BUG_NO_INVAL (1u << 12)        /* a barrier's bytes are used for data with the barrier still alive */
#define BF_MBAR_BUG_RELAXED_PEER (1u << 13)    /* the arrival for a peer does not release at cluster scope */
#define BF_MBAR_BUG_EARLY_EXIT (1u << 14)      /* a block ends while peers still arrive in it */
#define BF_MBAR_BUG_LOCAL_ARRIVE (1u << 15)    /* the release for a peer goes to the block's own barrier */
#define BF_MBAR_BUG_NO_ENTRY_SYNC (1u << 16)   /* peers are used before they have started */
#define BF_MBAR_BUG_TRIPS (1u << 17)           /* one block of the cluster goes round once less */
#define BF_MBAR_BUG_EARLY_COMMIT (1u << 18)    /* the group is closed before the copies that it should cover */
#define BF_MBAR_BUG_ASYNC_INC (1u << 19)       /* the counted arrival is of the kind that counts itself */
#define BF_MBAR_BUG_ORDER_PHASE (1u << 20)     /* both groups believe that the first turn is theirs */
#define BF_MBAR_BUG_NO_EMPTY_WAIT (1u << 21)   /* the producer does not wait for the stage to be empty */
#define BF_MBAR_BUG_MULTICAST_BYTES (1u << 22) /* each block expects its own share of the tile only */
#define BF_MBAR_BUG_NO_INIT_FENCE (1u << 23)   /* inits are not fenced for copies and other blocks */
#define BF_MBAR_BUG_NO_INIT (1u << 24)         /* an arrival stands where a barrier's init should */
#define BF_MBAR_BUG_NO_EXPECT (1u << 25)       /* the arrival expects no bytes */
#define BF_MBAR_BUG_LATE_EXPECT (1u << 26)     /* bytes are expected after the arrival and the copy */
#define BF_MBAR_BUG_TX_RANKS (1u << 27)        /* each block expects the bytes of all blocks, times their number */
#define BF_MBAR_BUG_TX_RANGE (1u << 28)        /* more bytes than a barrier can count */
#define BF_MBAR_BUG_COMPLETE_MORE (1u << 29)   /* complete_tx of more than was expected */
#define BF_MBAR_BUG_SHORT_TILE (1u << 30)      /* the last tile is half as long and expected whole */
#define BF_MBAR_BUG_DOUBLE_WAIT (1u << 31)     /* consumers wait twice for a tile */
#define BF_MBAR_BUG_WRONG_WAIT (1ull << 32)    /* consumers wait on the empty barrier */
#define BF_MBAR_BUG_ELECTED_WAIT (1ull << 33)  /* a warp waits for what its elected lane does afterwards */
#define BF_MBAR_BUG_PEEK_WORD (1ull << 34)     /* consumers look at the barrier's word in place of waiting */
#define BF_MBAR_BUG_SKIP_ARRIVE (1ull << 35)   /* a consumer forgets to release one tile */
#define BF_MBAR_BUG_EXTRA_ARRIVE (1ull << 36)  /* a consumer releases each tile twice */
#define BF_MBAR_BUG_LANES_ARRIVE (1ull << 37)  /* all lanes arrive where one a warp is counted */
#define BF_MBAR_BUG_EARLY_INVAL (1ull << 38)   /* barriers are initialised again while copies still signal them */
#define BF_MBAR_BUG_NO_STORE_WAIT (1ull << 39) /* the store buffer is filled again without waiting for its reader */
#define BF_MBAR_BUG_NO_COMMIT (1ull << 40)     /* bulk stores are in no group */
#define BF_MBAR_BUG_ODD_SIZE (1ull << 41)      /* a copy's size is no multiple of 16 */
#define BF_MBAR_BUG_ODD_ADDRESS (1ull << 42)   /* a copy's destination is not aligned */
#define BF_MBAR_BUG_FAR_STAGE (1ull << 43)     /* a copy's destination is outside the block's memory */
#define BF_MBAR_BUG_READ_AGAIN (1ull << 44)    /* a stage is read after the fence that lets a copy overwrite it */
#define BF_MBAR_BUG_SPLIT_ARRIVE (1ull << 45)  /* lanes arrive one after the other */
#define BF_MBAR_BUG_SPIN (1ull << 46)          /* waits spin on test_wait */
#define BF_MBAR_BUG_COUNT_ARRIVE (1ull << 47)  /* one arrival for all lanes where one a warp is counted */
#define BF_MBAR_BUG_GROUP_LESS (1ull << 48)    /* the wait leaves the group of the tile itself pending */
#define BF_MBAR_BUG_STAGES_MEET (1ull << 49)   /* two stages share the same memory */

/* Table of the bits above: option name, what is wrong, and the workloads (as a mask) that it shows in. */
struct bf_mbar_bug {
	uint64_t bit;
	uint32_t works;
	const char *name; /* "first-phase" */
	const char *summary;
};
extern const struct bf_mbar_bug bf_mbar_bugs[]; /* ends with a NULL name */

/* Argument of the kernel; lies where the threads can read it. */
struct bf_mbar_job {
	uint32_t work;       /* enum bf_mbar_work */
	uint32_t style;      /* enum bf_mbar_style */
	uint32_t stages;     /* of the pipeline, 1..BF_MBAR_STAGES_MAX */
	uint32_t bytes;      /* of a tile, a multiple of 512 for each consumer warp */
	uint32_t producers;  /* warps; RING only, 1 otherwise */
	uint32_t consumers;  /* warps (of each group) */
	uint32_t iterations; /* tiles of each block */
	uint32_t barriers;   /* STRESS */
	uint32_t by_barrier; /* AMPERE: barriers in place of groups */
	uint32_t lane_waits; /* one lane of a warp waits and the others at a warp barrier */
	uint32_t pace_ns;    /* the producer pauses that long before each tile */
	uint32_t lag;        /* RING: 1 in so many tiles a consumer takes its time; 0: never */
	uint32_t seed;
	uint64_t bugs;              /* BF_MBAR_BUG_* */
	const uint8_t *in;          /* iterations * bytes of each block */
	uint8_t *out;               /* the same size */
	struct bf_mbar_note *notes; /* bf_mbar_notes() of each block */
};

/* What threads note of barriers, for comparisons: tokens and words. */
struct bf_mbar_note {
	uint32_t kind;  /* enum bf_mbar_note_kind */
	uint32_t bar;   /* number of the barrier in its block */
	uint32_t order; /* tile, round or step */
	uint32_t value; /* of other results */
	uint64_t word;  /* or token */
};

enum bf_mbar_note_kind {
	BF_MBAR_NOTE_NONE,
	BF_MBAR_NOTE_TOKEN, /* of an arrival: its upper half is defined */
	BF_MBAR_NOTE_WORD,  /* the barrier in memory after its invalidation */
	BF_MBAR_NOTE_TEST,  /* value: what a wait said */
	BF_MBAR_NOTE_COUNT, /* value: pending count of a token */
	BF_MBAR_NOTE_TURN,  /* value: the group whose turn it was */
	BF_MBAR_NOTE_DATA,  /* what lies where a barrier was */
};

#define BF_MBAR_STAGES_MAX 16u
#define BF_MBAR_BARRIERS_MAX 96u
#define BF_MBAR_RANKS_MAX 16u
#define BF_MBAR_HEAD_BYTES 1024u /* of shared memory, for barriers and words */

/* Of the head, behind the barriers of the workloads that use them. */
#define BF_MBAR_BOX_OFFSET 448u   /* CLUSTER: a line from the block before */
#define BF_MBAR_REUSE_OFFSET 512u /* PIPELINE: 24 more barriers, one a pair */
#define BF_MBAR_TURN_OFFSET 992u  /* PINGPONG: turns so far, of two sections */
#define BF_MBAR_REUSE_DATA 0x1122334455667788u

#ifdef __CUDACC__
#define BF_MBAR_FN static inline __host__ __device__
#else
#define BF_MBAR_FN static inline
#endif

BF_MBAR_FN uint32_t bf_mbar_warps(const struct bf_mbar_job *j)
{
	if (j->work == BF_MBAR_AMPERE || j->work == BF_MBAR_STRESS)
		return j->consumers;
	if (j->work == BF_MBAR_PINGPONG)
		return 1 + 2 * j->consumers;
	if (j->work == BF_MBAR_PIPELINE && j->style == BF_MBAR_STYLE_GUIDE)
		return j->consumers;
	return j->producers + j->consumers;
}

/* Barriers of a block: full, empty, then the workload's own. */
BF_MBAR_FN uint32_t bf_mbar_barriers(const struct bf_mbar_job *j)
{
	switch (j->work) {
	case BF_MBAR_STRESS:
		return j->barriers + j->consumers;
	case BF_MBAR_PINGPONG:
		return 2 * j->stages + 4;
	case BF_MBAR_CLUSTER:
		return 2 * j->stages + 2;
	default:
		return 2 * j->stages;
	}
}

/* Offset of a stage, of a consumer's store buffer, of a mailbox from a peer; and all that a block needs. */
BF_MBAR_FN uint32_t bf_mbar_stage_offset(const struct bf_mbar_job *j, uint32_t stage)
{
	return BF_MBAR_HEAD_BYTES + stage * j->bytes;
}
BF_MBAR_FN uint32_t bf_mbar_shared_bytes(const struct bf_mbar_job *j)
{
	return bf_mbar_stage_offset(j, j->stages + 1);
}

/* Steps of the random sequence that each warp of STRESS makes on its own barrier. */
#define BF_MBAR_STEPS 48u

/* Notes of one block; who writes which is the workload's business, each at a place that depends on nothing else. */
BF_MBAR_FN uint32_t bf_mbar_notes(const struct bf_mbar_job *j)
{
	const uint32_t end = bf_mbar_barriers(j);

	if (j->work == BF_MBAR_STRESS)
		return end + j->iterations * j->barriers + j->consumers * BF_MBAR_STEPS;
	if (j->work == BF_MBAR_PINGPONG)
		return end + 2 * j->iterations;
	return end + j->iterations * (1 + bf_mbar_warps(j)) + 1;
}

/* What a consumer makes of word `index` of tile `tile`. */
BF_MBAR_FN uint32_t bf_mbar_transform(uint32_t word, uint32_t tile)
{
	return (word ^ 0x9e3779b9u * (tile + 1)) + 0x7f4a7c15u;
}

/* A small generator that host and device share. */
BF_MBAR_FN uint32_t bf_mbar_random(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}
BF_MBAR_FN uint32_t bf_mbar_random_seed(uint32_t seed, uint32_t block, uint32_t warp)
{
	uint32_t state = (seed + 1) * 2654435761u ^ (block * 64 + warp + 1) * 2246822519u;

	state = state ? state : 1;
	bf_mbar_random(&state);
	return state;
}

#endif
