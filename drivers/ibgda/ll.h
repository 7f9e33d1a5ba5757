/*
 * The low-latency all-to-all of DeepEP on IBGDA: `dispatch` sends every token to the experts that its router chose,
 * `combine` sends what the experts made of it back and adds it up with the router's weights.
 *
 * Roles, buffers and protocol follow deepseek-ai/DeepEP csrc/kernels/legacy/internode_ll.cu and csrc/legacy/config.hpp
 * (LowLatencyLayout):
 *   - in each block all warps but the last cast tokens and send them, one warp a chosen expert; the last warp counts
 * how many go to each expert;
 *   - a message is 16 bytes whose first word is the token's index at its source, the hidden values as FP8 with a float
 *     for every 128 or as BF16; it lands in the slot [expert of the destination][source][n] of the receive buffer;
 *   - messages to one expert use one queue pair; a doorbell rings for every fourth; when the last one is published, the
 *     count goes behind them by an atomic add that always rings: -count - 1, so that "none" is told from "not yet";
 *   - combine writes to the slot [expert][token] of the token's source, and adds 1 to the expert's flag;
 *   - two sets of buffers take turns; each kernel clears the counts of the other set before it says that it is done.
 *
 * A grid is `blocks` blocks of `groups` groups of `group_warps` warps. Where the real launch has a group for every
 * expert, here each group takes experts in turn, so that small grids work. All PEs run the same shape. Between dispatch
 * and combine every expert multiplies what it received by a number of its own, in BF16.
 */
#ifndef BELFRY_DRIVERS_IBGDA_LL_H
#define BELFRY_DRIVERS_IBGDA_LL_H

#include "drivers/ibgda/kernels.h"
#include "drivers/ibgda/ll_number.h"

enum bf_ll_work { BF_LL_DISPATCH, BF_LL_COMBINE, BF_LL_WORKS };

enum bf_ll_dtype { BF_LL_FP8, BF_LL_BF16 };

/* Scales of FP8: any float; powers of two, as floats; powers of two, of which the receiver keeps the exponent byte. */
enum bf_ll_scales { BF_LL_SCALES_F32, BF_LL_SCALES_POW2, BF_LL_SCALES_UE8M0 };

/* Which experts a router chooses. Chosen experts of a token are distinct. */
enum bf_ll_routing {
	BF_LL_UNIFORM, /* all alike */
	BF_LL_ZIPF,    /* expert k with weight 1 / (k + 1)^s */
	BF_LL_HOT,     /* every token chooses expert 0, and others alike */
};

/* Wrong on purpose, beside BF_IBGDA_BUG_*. */
#define BF_LL_BUG_NO_FINAL_POST (1u << 0) /* the count is no always-post: what is left of a batch stays unrung */
#define BF_LL_BUG_COUNT_EARLY (1u << 1)   /* the count goes before the messages were all published */
#define BF_LL_BUG_COUNT_QP (1u << 2)      /* the count goes by another queue pair than the messages */
#define BF_LL_BUG_SENTINEL (1u << 3)      /* the count is sent as -count: none looks like not yet */
#define BF_LL_BUG_NO_CLEAN (1u << 4)      /* nobody clears the counts of the other set of buffers */
#define BF_LL_BUG_NO_BARRIER (1u << 5)    /* messages are sent while other warps still write them */
#define BF_LL_BUG_COUNT_SET (1u << 6)     /* the count goes into the other set of buffers */

/* Name and one line for each; ends with a NULL name. Bits are BF_LL_BUG_*. */
extern const struct bf_ibgda_bug bf_ll_bugs[];

/* The same on all PEs. */
struct bf_ll_shape {
	uint32_t tokens;  /* of each PE, 1..1024 (DeepEP's limit) */
	uint32_t hidden;  /* multiple of 512, at most 8192 */
	uint32_t topk;    /* 1..16 */
	uint32_t experts; /* multiple of the number of PEs, at most 4096 */
	enum bf_ll_dtype dtype;
	enum bf_ll_scales scales;
	enum bf_ll_routing routing;
	uint32_t zipf_milli; /* s times 1000 */
	uint64_t seed;
	uint32_t rounds; /* each is a dispatch, or a dispatch and a combine */
	uint32_t blocks, groups, group_warps;
	bool zero_copy; /* experts write their answers where they are sent from (DeepEP: low_latency_combine) */
	uint64_t bugs;  /* BF_LL_BUG_* */
};

/* 8 tokens of 512 to 2 of 8 experts, FP8; one block of two groups of two warps. */
extern const struct bf_ll_shape bf_ll_shape_default;

/* The most experts that the counting warp of one block looks after. */
#define BF_LL_BLOCK_EXPERTS_MAX 256u

/*
 * -EINVAL with `err` set when something does not fit: the shape itself, or the queues. `nwqes` must hold what a round
 * can have in flight on one queue pair, because nothing waits for room (DeepEP asserts depth >= 2 * (tokens + 1)).
 */
int bf_ll_shape_check(const struct bf_ll_shape *s, uint32_t npes, uint32_t num_rc_per_pe, uint32_t nwqes,
		      struct bf_error *err);

/* Bytes of a dispatched message on the wire, of a combined one, of its hidden part; scales of a token. */
BF_FN uint32_t bf_ll_scales_per_token(const struct bf_ll_shape *s)
{
	return s->hidden / BF_LL_CHANNELS;
}
BF_FN uint32_t bf_ll_hidden_bytes(const struct bf_ll_shape *s)
{
	return s->dtype == BF_LL_FP8 ? s->hidden : s->hidden * 2;
}
BF_FN uint32_t bf_ll_dispatch_bytes(const struct bf_ll_shape *s)
{
	return 16 + bf_ll_hidden_bytes(s) + (s->dtype == BF_LL_FP8 ? bf_ll_scales_per_token(s) * 4 : 0);
}
BF_FN uint32_t bf_ll_combine_slot(const struct bf_ll_shape *s)
{
	return s->hidden * 2 + bf_ll_scales_per_token(s) * 4;
}

/* Heap offsets, the same on every PE; [2] are the sets of buffers that take turns. */
struct bf_ll_heap {
	uint64_t count[2]; /* experts * 4: counts of a dispatch, flags of a combine */
	uint64_t send[2], recv[2];
	uint64_t sync; /* npes * 4: the barrier at the end */
	uint64_t end;
};

/*
 * A PE's own tensors, as offsets; what a round reads and leaves is kept for each round. With L experts on a PE of R, a
 * row r of expert e is row e * R * tokens + r.
 */
struct bf_ll_tensors {
	uint32_t rows;     /* R * tokens: of each expert of this PE */
	uint64_t in_step;  /* from one round's inputs to the next */
	uint64_t x;        /* tokens * hidden * 2: BF16 */
	uint64_t topk_idx; /* tokens * topk * 8 */
	uint64_t weights;  /* tokens * topk * 4 */
	uint64_t out_step; /* likewise for outputs */
	uint64_t packed_x; /* L * rows * hidden bytes */
	uint64_t
	    packed_scales; /* L * scales * rows * 4: scale c of row r at (c * rows + r) * 4; UE8M0: four to a word */
	uint64_t src_info; /* L * rows * 4: the token's index at its source */
	uint64_t layout_range; /* L * R * 8: count << 32 | first row, of each source */
	uint64_t packed_count; /* L * 4 */
	uint64_t expert_out;   /* L * rows * hidden * 2; with zero_copy, or acting lanes, untouched */
	uint64_t combined;     /* tokens * hidden * 2 */
	uint64_t times;        /* 4 * 8: clock at the start and end of dispatch, of combine, ns */
	uint64_t work;         /* counters and meeting points of the kernels, see ll_area_internal.h */
	uint64_t end;
};

void bf_ll_heap_layout(const struct bf_ll_shape *s, uint32_t npes, struct bf_ll_heap *out);
void bf_ll_tensor_layout(const struct bf_ll_shape *s, uint32_t npes, struct bf_ll_tensors *out);

/* What the kernel of each PE gets; lives as long as the run. `tensors` is dereferenceable by its threads. */
struct bf_ll_job {
	struct bf_ibgda_state *state;
	struct bf_ll_shape shape;
	struct bf_ll_heap heap;
	struct bf_ll_tensors at;
	uint8_t *tensors;
};

/* Fills tokens, choices and weights of PE `pe` for all rounds, and clears what the kernels count with. */
int bf_ll_prepare(const struct bf_ll_shape *s, uint32_t npes, uint32_t pe, uint8_t *tensors, struct bf_error *err);

/* What a check looked at. */
struct bf_ll_checked {
	uint64_t messages;    /* dispatched or combined tokens */
	uint64_t bytes;       /* compared */
	uint32_t least, most; /* tokens that an expert got in one round */
};

/*
 * Compares with a plain computation of the same routing: counts, layout ranges, each token of each expert exactly once
 * and with all its bytes and scales, and after a combine the sum of each token, bit for bit. 0, -EBADMSG with `bad`
 * filled in, or -ENOMEM.
 */
int bf_ll_verify(enum bf_ll_work work, const struct bf_ll_shape *s, uint32_t npes, uint8_t *const *tensors,
		 struct bf_ibgda_mismatch *bad, struct bf_ll_checked *checked);

/* The kernels of a platform: sim and native are built in; NULL for the others. Argument: struct bf_ll_job. */
struct bf_ll_kernels {
	bf_kernel_fn *run[BF_LL_WORKS];
};
const struct bf_ll_kernels *bf_ll_kernels(enum bf_platform_id platform);

/* BF16 bits of element `i` of a token; and the number (a float) that expert `e` multiplies by. */
BF_FN uint16_t bf_ll_input(uint64_t word, uint32_t i)
{
	const uint16_t bits = (uint16_t)(word >> i % 4 * 16);

	/* Exponents 2^-7 to 2^8: groups differ in scale, nothing overflows. */
	return (uint16_t)((bits & 0x807fu) | (120u + (bits >> 7 & 15u)) << 7);
}
BF_FN float bf_ll_expert_factor(uint32_t e)
{
	return 1.0f + (float)(e % 16) / 16.0f;
}

#endif
