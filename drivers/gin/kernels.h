/*
 * GIN kernels: what the threads of each PE run in the workloads gin-*, and where every byte must be afterwards.
 *
 * Lane 0 of each warp is an issuer, numbered block * warps + warp. Puts, gets and signals go to the next PE; the
 * exchange and the hybrid one send each token to the PE that its number is hashed to.
 */
#ifndef BELFRY_DRIVERS_GIN_KERNELS_H
#define BELFRY_DRIVERS_GIN_KERNELS_H

#include "drivers/gin/gin.h"
#include "drivers/platform/platform.h"
#include "sim/bytes.h"

enum bf_gin_work {
	BF_GIN_PUT,      /* puts, `batch` to a doorbell, flush at the end */
	BF_GIN_SIGNAL,   /* put and signal: after the signal the data are there */
	BF_GIN_COUNTER,  /* put with counter: after the counter the source is overwritten */
	BF_GIN_GET,      /* gets, flush */
	BF_GIN_BARRIER,  /* a word to all, barrier, look */
	BF_GIN_EXCHANGE, /* DeepEP V2's dispatch and combine: counts, tokens, closing barriers */
	BF_GIN_HYBRID,   /* aggregated tokens, and packed tails as flow control */
	BF_GIN_WORKS
};

struct bf_gin_shape {
	uint32_t work, blocks, warps, messages, bytes, batch;
	uint32_t
	    prepared; /* BF_GIN_PUT: sources are ready before the first message; else each is written before its put */
	uint64_t seed;
};

/* Offsets in the heap. I issuers, M messages; areas by source have npes of them. */
struct bf_gin_layout {
	uint32_t issuers, stride;
	uint64_t src, dst, back, counts, signals, barriers, counters, bad, done, sink, end;
};
BF_FN void bf_gin_layout(const struct bf_gin_shape *s, uint32_t npes, struct bf_gin_layout *at)
{
	const uint64_t issuers = (uint64_t)s->blocks * s->warps;
	uint64_t area;

	at->issuers = (uint32_t)issuers;
	at->stride = (s->bytes + 63) & ~63u;
	area = issuers * s->messages * at->stride;
	at->src = 0;
	at->dst = area;
	at->back = at->dst + npes * area;
	at->counts = at->back + area;
	at->signals = at->counts + npes * issuers * 8;
	at->barriers = at->signals + npes * issuers * 8;
	at->counters = at->barriers + npes * issuers * 8;
	at->bad = at->counters + issuers * 64;
	at->done = at->bad + issuers * 8;
	at->sink = at->done + issuers * 8;
	at->end = at->sink + 8;
}

/* Word `w` of message `m` of an issuer; and the PE that token `m` goes to. */
BF_FN uint64_t bf_gin_word(uint32_t pe, uint32_t issuer, uint32_t m, uint32_t w)
{
	uint64_t z = ((uint64_t)(pe + 1) << 48 ^ (uint64_t)issuer << 32 ^ (uint64_t)m << 8 ^ w) * 0x9e3779b97f4a7c15ull;

	return z ^ (z >> 29);
}
BF_FN uint32_t bf_gin_route(const struct bf_gin_shape *s, uint32_t npes, uint32_t pe, uint32_t issuer, uint32_t m)
{
	return (uint32_t)(bf_gin_word(pe, issuer, m ^ (uint32_t)s->seed, 0xff) >> 33) % npes;
}

struct bf_gin_job {
	struct bf_gin_state *state;
	struct bf_gin_shape shape;
	struct bf_gin_layout at;
};

/* An entry that the CPU has posted for a descriptor. */
struct bf_gin_posted {
	uint64_t ticket, counter; /* of the last entry; offset of a word to add to, 0: none */
	uint32_t lost;            /* taken and not posted */
};

/* What a thread of the CPU rings for: argument of the proxy kernel. */
struct bf_gin_proxy {
	struct bf_gin_state *state;
	struct bf_gin_qp *qps; /* all, companions included */
	uint32_t count;
	uint64_t **slots; /* [count]; NULL: not in use */
	void **registers; /* [count] */
	uint32_t *told;   /* [count], of the proxy itself */
	/* Of BF_GIN_GFD: the state with which the CPU posts, and for each queue pair what it has posted. */
	struct bf_gin_state *posts;
	struct bf_gin_posted *posted; /* [count * size] */
	uint64_t *head, *tail;        /* [count]: done, taken */
	uint32_t queues;              /* count of those */
};

struct bf_gin_kernels {
	bf_kernel_fn *run, *proxy;
};
/* Those of a platform: sim and native; NULL for the others. */
const struct bf_gin_kernels *bf_gin_kernels(enum bf_platform_id platform);

#endif
