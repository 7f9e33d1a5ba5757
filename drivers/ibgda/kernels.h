/*
 * IBGDA kernels: what the threads of each PE run in the workloads ibgda-put, ibgda-get, ibgda-amo and ibgda-mixed, and
 * where every byte must be afterwards.
 *
 * The work is divided among issuers. An issuer is a warp (its lanes work together through the warp-scope calls; atomics
 * and `p` are issued by lane 0) or, with `per_lane`, one lane. Issuers of a PE are numbered 0..issuers-1: global warp
 * block * warps + warp, or that times `lanes` plus lane. Each issues `messages` messages, numbered from 0, and uses its
 * own `window` slots in turn (slot = message % window). Which peer a message goes to depends on the slot alone.
 *
 * How to run one:
 *
 *   shape = bf_ibgda_shape_default; set fields; bf_ibgda_shape_check(&shape, ...)
 *   bf_ibgda_layout(&shape, npes, &layout)         -> heap bytes that are needed
 *   bf_ibgda_host_open(...)                        -> heaps, queues, device state (drivers/ibgda/host.h)
 *   bf_ibgda_prepare(work, &shape, npes, heaps)    fill sources, clear the rest
 *   for each PE: job = { state, shape }; backend->launch(w, pe, blocks, warps, kernel of the platform, &job)
 *   backend->run()
 *   bf_ibgda_verify(work, &shape, npes, heaps, &bad)
 */
#ifndef BELFRY_DRIVERS_IBGDA_KERNELS_H
#define BELFRY_DRIVERS_IBGDA_KERNELS_H

#include <stdbool.h>
#include <stdint.h>

#include "drivers/ibgda/ibgda.h"
#include "drivers/platform/platform.h"
#include "sim/bytes.h"
#include "sim/error.h"

enum bf_ibgda_work { BF_IBGDA_PUT, BF_IBGDA_GET, BF_IBGDA_AMO, BF_IBGDA_MIXED, BF_IBGDA_WORKS };

/* Where a message goes: the peer of PE s for slot k. */
enum bf_ibgda_route {
	BF_IBGDA_RING, /* (s + 1) % npes */
	BF_IBGDA_ALL,  /* (s + 1 + k % (npes - 1)) % npes */
	BF_IBGDA_PAIR, /* s ^ 1; needs an even number of PEs */
};

/* Which of the QPs to the peer a message uses. */
enum bf_ibgda_qp_choice {
	BF_IBGDA_QP_BY_WARP,    /* global warp % num_rc_per_pe */
	BF_IBGDA_QP_BY_MESSAGE, /* (global warp + slot) % num_rc_per_pe */
	BF_IBGDA_QP_FIRST,      /* all share the first */
};

/* The same on all PEs. */
struct bf_ibgda_shape {
	uint32_t blocks, warps; /* grid on each PE: warps per block */
	bool per_lane;          /* issuers are lanes */
	uint32_t lanes;         /* with per_lane: how many lanes of each warp take part, 1..32; 0: 32 */
	enum bf_ibgda_route route;
	enum bf_ibgda_qp_choice choice;
	uint32_t messages;    /* of each issuer, >= 1 */
	uint32_t window;      /* slots of each issuer; 0: = messages */
	uint32_t bytes;       /* of a put or get, >= 1 */
	uint32_t stride;      /* between slots in the heap; 0: bytes rounded up to 64 */
	uint64_t base;        /* heap offset where the layout begins, multiple of 64 */
	uint32_t quiet_every; /* quiet after this many messages; 0: only at the end. There is always one at the end */
	uint32_t pace_ns;     /* pause before each message */
	uint64_t seed;        /* of the mix of operations (mixed) and of which counter is hit */
	/*
	 * The issuer writes the payload itself, right before each put (puts and mixed). It is what prepare() had put
	 * there, so that gets of a mixed run find the same bytes whenever they come.
	 */
	bool fill;
	bool blocking_get; /* gets wait for their data, with the consistency step; otherwise quiet covers them */
	enum bf_ibgda_amo_op amo;
	uint32_t amo_bytes; /* 4 or 8 */
	bool amo_fetch;     /* use the fetching form and store what came back */
	uint32_t counters;  /* words that atomics hit on each PE, >= 1 */
	/*
	 * Puts carry an immediate (BF_IBGDA_BUG_WRITE_IMM, which here is none): the first thread of each PE posts a
	 * receive for each that is to come, and waits for all of them at the end. One entry a put, and no more for a
	 * queue pair than its ring holds.
	 */
	bool imm;
	bool pe_quiet; /* a quiet covers all queue pairs of the PE, as nvshmem_quiet() does, not the issuer's alone */
};

/* One warp, one message of 64 bytes, ring, 8-byte adds on one counter. */
extern const struct bf_ibgda_shape bf_ibgda_shape_default;

/* What the kernel gets; lives as long as the run. `state` is the PE's device state. */
struct bf_ibgda_job {
	struct bf_ibgda_state *state;
	struct bf_ibgda_shape shape;
};

/*
 * Fills in `window`, `stride` and `lanes`, and in the DeepEP flavour a `quiet_every` that keeps the WQEs in flight
 * within a ring of `nwqes` WQEBBs (that flavour has no overflow wait; 0 there means "choose"). -EINVAL with `err` set
 * when a field makes no sense: no peers for the route, an operation that cannot be non-fetching, a size beyond limits,
 * or a quiet interval that overflows the ring in the DeepEP flavour.
 */
int bf_ibgda_shape_check(struct bf_ibgda_shape *s, enum bf_ibgda_work work, uint32_t npes,
			 enum bf_ibgda_flavour flavour, uint32_t num_rc_per_pe, uint32_t nwqes, struct bf_error *err);

/*
 * Heap offsets of each area (symmetric: the same on every PE) for a checked shape. I = issuers, W = window; index of
 * (issuer i, slot k) is i * W + k.
 *
 *   src      I * W * stride       payload of (this PE, i, k) at index * stride
 *   put_dst  npes * I * W * stride  what PE s put: at (s * I * W + index) * stride
 *   get_dst  I * W * stride       what this PE got from its peer: the peer's src at the same index
 *   word     npes * I * W * 8     what PE s wrote with `p`: at (s * I * W + index) * 8, 4 bytes: the payload's first
 *   signal   npes * I * 8         counts the puts-with-signal of issuer i of PE s: at (s * I + i) * 8
 *   counter  counters * 8         what atomics hit
 *   fetched  I * messages * 8     old values that this PE's fetching atomics brought back: at (i * messages + m) * 8
 *   done     I * 8                messages that issuer i has finished
 */
struct bf_ibgda_layout {
	uint32_t issuers;
	uint64_t src, put_dst, get_dst, word, signal, counter, fetched, done;
	uint64_t end; /* heap bytes needed */
};
BF_FN void bf_ibgda_layout(const struct bf_ibgda_shape *s, uint32_t npes, struct bf_ibgda_layout *out)
{
	const uint32_t warps = s->blocks * s->warps;
	const uint64_t issuers = s->per_lane ? (uint64_t)warps * s->lanes : warps;
	const uint64_t slots = issuers * s->window;

	out->issuers = (uint32_t)issuers;
	out->src = s->base;
	out->put_dst = out->src + slots * s->stride;
	out->get_dst = out->put_dst + npes * slots * s->stride;
	out->word = out->get_dst + slots * s->stride;
	out->signal = out->word + npes * slots * 8;
	out->counter = out->signal + npes * issuers * 8;
	out->fetched = out->counter + (uint64_t)s->counters * 8;
	out->done = out->fetched + issuers * s->messages * 8;
	out->end = out->done + issuers * 8;
}

/*
 * Payload: 64-bit little-endian word w of (pe, issuer, slot) is key + w * 0x9e3779b97f4a7c15, where key mixes the three
 * numbers; the last word may be cut short.
 */
BF_FN uint64_t bf_ibgda_pattern_key(uint32_t pe, uint32_t issuer, uint32_t slot)
{
	uint64_t z = ((uint64_t)pe << 48 ^ (uint64_t)issuer << 24 ^ slot) + 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

BF_FN uint64_t bf_ibgda_pattern_word(uint64_t key, uint32_t w)
{
	return key + w * 0x9e3779b97f4a7c15ull;
}

/* What message m of a mixed run is. */
enum bf_ibgda_mixed_op {
	BF_IBGDA_MIXED_PUT,
	BF_IBGDA_MIXED_GET,
	BF_IBGDA_MIXED_P,
	BF_IBGDA_MIXED_PUT_SIGNAL,
	BF_IBGDA_MIXED_ADD,       /* non-fetching, 8 bytes, by 1 */
	BF_IBGDA_MIXED_FETCH_ADD, /* 8 bytes, by 1 */
	BF_IBGDA_MIXED_OPS
};
BF_FN uint32_t bf_ibgda_mixed_pick(uint64_t seed, uint32_t pe, uint32_t issuer, uint32_t message)
{
	return (uint32_t)(bf_ibgda_pattern_key(pe, issuer, message ^ (uint32_t)(seed * 0x9e3779b1u)) >> 33) %
	       BF_IBGDA_MIXED_OPS;
}

/* Peer of PE `pe` for slot k, and which counter message m of an issuer hits. */
BF_FN uint32_t bf_ibgda_peer(const struct bf_ibgda_shape *s, uint32_t npes, uint32_t pe, uint32_t slot)
{
	switch (s->route) {
	case BF_IBGDA_ALL:
		return (pe + 1 + slot % (npes - 1)) % npes;
	case BF_IBGDA_PAIR:
		return pe ^ 1u;
	case BF_IBGDA_RING:
	default:
		return (pe + 1) % npes;
	}
}
BF_FN uint32_t bf_ibgda_counter(const struct bf_ibgda_shape *s, uint32_t issuer, uint32_t message)
{
	return (uint32_t)((issuer + message + s->seed) % s->counters);
}

/* Operand of an atomic: 1 for inc, add, cas; one bit for or, xor and (cleared) and; a unique value for set and swap. */
BF_FN uint64_t bf_ibgda_operand(const struct bf_ibgda_shape *s, uint32_t pe, uint32_t issuer, uint32_t message)
{
	const uint32_t bits = s->amo_bytes * 8;
	const uint64_t mask = s->amo_bytes == 4 ? 0xffffffffull : ~0ull;
	const uint64_t key = bf_ibgda_pattern_key(pe, issuer, message);

	switch (s->amo) {
	case BF_IBGDA_AMO_SET:
	case BF_IBGDA_AMO_SWAP:
		return key & mask;
	case BF_IBGDA_AMO_AND:
		return ~(1ull << key % bits) & mask;
	case BF_IBGDA_AMO_OR:
	case BF_IBGDA_AMO_XOR:
		return 1ull << key % bits;
	case BF_IBGDA_AMO_FETCH:
		return 0;
	case BF_IBGDA_AMO_INC:
	case BF_IBGDA_AMO_ADD:
	case BF_IBGDA_AMO_CAS:
	case BF_IBGDA_AMO_OPS:
	default:
		return 1;
	}
}

/*
 * Fills the sources and clears everything else of the layout on each PE. heaps[pe] is the heap as host code sees it,
 * NULL for a PE of another process.
 */
void bf_ibgda_prepare(enum bf_ibgda_work work, const struct bf_ibgda_shape *s, uint32_t npes, void *const *heaps);

/* The first difference between what a run left behind and what it must have. */
struct bf_ibgda_mismatch {
	uint64_t count;  /* wrong slots, words or counters in all; 0 = good */
	uint32_t pe;     /* where the first one lies */
	uint64_t offset; /* its heap offset */
	char text[160];  /* what it is, wanted and found */
};

/* Checks every area after a run. Returns 0 when all is right, -EBADMSG with `out` filled in otherwise. */
int bf_ibgda_verify(enum bf_ibgda_work work, const struct bf_ibgda_shape *s, uint32_t npes, void *const *heaps,
		    struct bf_ibgda_mismatch *out);

/*
 * The same for PEs first..first + count - 1, whose heaps are here. Of the others it looks at what atomics brought back
 * to them, from bf_ibgda_layout.fetched to .done of heaps[pe].
 */
int bf_ibgda_verify_some(enum bf_ibgda_work work, const struct bf_ibgda_shape *s, uint32_t npes, uint32_t first,
			 uint32_t count, void *const *heaps, struct bf_ibgda_mismatch *out);

/* The kernels of a platform: sim and native are built in; NULL for the others. Argument: struct bf_ibgda_job. */
struct bf_ibgda_kernels {
	bf_kernel_fn *run[BF_IBGDA_WORKS];
};
const struct bf_ibgda_kernels *bf_ibgda_kernels(enum bf_platform_id platform);

#endif
