/*
 * NVSHMEM's calls as both sides make them: NVSHMEM's device functions (tests/long/cuda/nvshmem_calls.cuh) and, here,
 * drivers/ibgda. And a state made by hand, with queues that no device reads, on which both post the same bytes whatever
 * machine they run on. Include a platform and drivers/ibgda/device.h first; C17 and CUDA.
 */
#ifndef BELFRY_TESTS_DRIVERS_NVSHMEM_CALLS_H
#define BELFRY_TESTS_DRIVERS_NVSHMEM_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum nvshmem_call {
	PUT,
	PUT_WARP,
	PUT_LANES,
	PUT_SIGNAL_SET,
	PUT_SIGNAL_ADD_WARP,
	P4,
	P8_LANES,
	GET_NBI,
	GET,
	GET_WARP,
	G4,
	ADD4,
	ADD8,
	INC8,
	SET4,
	SET8,
	AND4,
	OR8,
	XOR4,
	FETCH_ADD4,
	FETCH_ADD8,
	FETCH_INC8,
	FETCH8,
	SWAP4,
	SWAP8,
	FETCH_AND8,
	FETCH_OR4,
	FETCH_XOR8,
	CAS4,
	CAS8,
	SIGNAL_SET,
	SIGNAL_ADD,
	ADD8_LANES,
	FETCH_ADD8_LANES,
	QUIET_AFTER_GET,
	NVSHMEM_LIVE_CALLS, /* those above need 8 KiB at each place; those below more than there is */
	PUT_ODD = NVSHMEM_LIVE_CALLS,
	PUT_WAITS,
	PUT_PIECES,
	PUT_PIECES_WARP,
	PUT_BLOCK,
	PUT_PIECES_BLOCK,
	GET_PIECES,
	GET_PIECES_NBI,
	GET_PIECES_WARP,
	GET_BLOCK,
	PUT_SIGNAL_PIECES,
	PUT_SIGNAL_PIECES_WARP,
	PUT_SIGNAL_BLOCK,
	P1,
	P2,
	P8,
	P4_ROW,
	P8_ROW,
	G1,
	G8,
	G4_ROW,
	G8_LANES,
	FETCH_ADD4_LANES,
	CAS8_LANES,
	NVSHMEM_CALLS
};

static const char *const nvshmem_names[NVSHMEM_CALLS] = {
	"putmem_nbi of 64",
	"putmem_nbi_warp of 4096",
	"putmem_nbi by 32 lanes",
	"putmem_signal_nbi, set",
	"putmem_signal_nbi_warp, add",
	"int_p",
	"uint64_p by 32 lanes",
	"getmem_nbi",
	"getmem",
	"getmem_warp",
	"int_g",
	"int_atomic_add",
	"uint64_atomic_add",
	"uint64_atomic_inc",
	"int_atomic_set",
	"uint64_atomic_set",
	"uint_atomic_and",
	"uint64_atomic_or",
	"uint_atomic_xor",
	"int_atomic_fetch_add",
	"uint64_atomic_fetch_add",
	"uint64_atomic_fetch_inc",
	"uint64_atomic_fetch",
	"int_atomic_swap",
	"uint64_atomic_swap",
	"uint64_atomic_fetch_and",
	"uint_atomic_fetch_or",
	"uint64_atomic_fetch_xor",
	"int_atomic_compare_swap",
	"uint64_atomic_compare_swap",
	"signal_op, set",
	"signal_op, add",
	"uint64_atomic_add by 32 lanes",
	"uint64_atomic_fetch_add by 32 lanes",
	"getmem_nbi and quiet",
	"putmem_nbi of 4097 at odd places",
	"putmem of 3",
	"putmem_nbi of 300001",
	"putmem_nbi_warp of 300001",
	"putmem_nbi_block of 12345",
	"putmem_block of 200003",
	"getmem of 200003",
	"getmem_nbi of 140000",
	"getmem_nbi_warp of 300001",
	"getmem_block of 777",
	"putmem_signal_nbi of 150001, set",
	"putmem_signal_nbi_warp of 150001, add",
	"putmem_signal_block of 5, set",
	"char_p",
	"short_p",
	"double_p",
	"int_p by 32 lanes in a row",
	"uint64_p by 32 lanes in a row",
	"char_g",
	"uint64_g",
	"int_g by 32 lanes in a row",
	"uint64_g by 32 lanes",
	"int_atomic_fetch_add by 32 lanes",
	"uint64_atomic_compare_swap by 32 lanes",
};

/* What both sides work with. */
struct nvshmem_work {
	char *dst, *src; /* symmetric */
	uint64_t *words; /* symmetric, 64 */
	int pe;
};

BF_DEVICE bool nvshmem_by_lanes(int call)
{
	return call == PUT_LANES || call == P8_LANES || call == ADD8_LANES || call == FETCH_ADD8_LANES ||
	       call == P4_ROW || call == P8_ROW || call == G4_ROW || call == G8_LANES || call == FETCH_ADD4_LANES ||
	       call == CAS8_LANES;
}

/* By all lanes of a warp; blocks have one. */
BF_DEVICE bool nvshmem_by_warp(int call)
{
	return nvshmem_by_lanes(call) || call == PUT_WARP || call == PUT_SIGNAL_ADD_WARP || call == GET_WARP ||
	       call == PUT_PIECES_WARP || call == PUT_BLOCK || call == PUT_PIECES_BLOCK || call == GET_PIECES_WARP ||
	       call == GET_BLOCK || call == PUT_SIGNAL_PIECES_WARP || call == PUT_SIGNAL_BLOCK;
}

/* The call as drivers/ibgda makes it. */
BF_DEVICE void nvshmem_ours(struct bf_thread *t, const struct bf_ibgda_state *s, const struct nvshmem_work *w, int call)
{
	const uint32_t lane = bf_lane(t), pe = (uint32_t)w->pe, qp = BF_IBGDA_QP_DEFAULT;
	const uint32_t mask = nvshmem_by_lanes(call) ? BF_FULL_WARP : 1;
	uint8_t *dst = (uint8_t *)w->dst, *src = (uint8_t *)w->src;
	struct bf_ibgda_signal signal = { w->words, 0, BF_IBGDA_AMO_SET };
	struct bf_ibgda_amo a = { BF_IBGDA_AMO_ADD, 8, w->words, 0, 0 };
	uint64_t old;

#define AMO(fetch, what, size, value, expected)                                                                        \
	do {                                                                                                           \
		a.op = what;                                                                                           \
		a.bytes = size;                                                                                        \
		a.addr = w->words + (size == 8 ? 0 : 8);                                                               \
		a.operand = value;                                                                                     \
		a.compare = expected;                                                                                  \
		if (nvshmem_by_lanes(call))                                                                            \
			a.addr = w->words + lane;                                                                      \
		if (fetch)                                                                                             \
			bf_ibgda_pe_amo_fetch(t, mask, s, pe, qp, &a, &old);                                           \
		else                                                                                                   \
			bf_ibgda_pe_amo_nonfetch(t, mask, s, pe, qp, &a);                                              \
	} while (0)

	switch (call) {
	case PUT:
		bf_ibgda_pe_put_nbi(t, mask, s, pe, qp, dst, src, 64);
		break;
	case PUT_WARP:
		bf_ibgda_pe_put_nbi_warp(t, s, pe, qp, dst, src, 4096);
		break;
	case PUT_LANES:
		bf_ibgda_pe_put_nbi(t, mask, s, pe, qp, dst + 64 * lane, src + 128 * lane, 8 + lane);
		break;
	case PUT_SIGNAL_SET:
		signal.value = 77;
		bf_ibgda_pe_put_signal(t, mask, s, pe, qp, dst, src, 256, &signal);
		break;
	case PUT_SIGNAL_ADD_WARP:
		signal.value = 5;
		signal.op = BF_IBGDA_AMO_ADD;
		bf_ibgda_pe_put_signal_warp(t, s, pe, qp, dst, src, 1024, &signal);
		break;
	case P4:
		bf_ibgda_pe_p(t, mask, s, pe, qp, dst, 0x12345678, 4);
		break;
	case P8_LANES:
		bf_ibgda_pe_p(t, mask, s, pe, qp, dst + 24 * lane, 0x1122334455667788ull * (lane + 1), 8);
		break;
	case GET_NBI:
		bf_ibgda_pe_get(t, mask, s, pe, qp, dst, src, 128, 0);
		break;
	case GET:
		bf_ibgda_pe_get(t, mask, s, pe, qp, dst, src, 256, 1);
		break;
	case GET_WARP:
		bf_ibgda_pe_get_warp(t, s, pe, qp, dst, src, 512, 1);
		break;
	case G4:
		bf_ibgda_pe_g(t, mask, s, pe, qp, src, 4, &old);
		break;
	case ADD4:
		AMO(0, BF_IBGDA_AMO_ADD, 4, 5, 0);
		break;
	case ADD8:
		AMO(0, BF_IBGDA_AMO_ADD, 8, 0x100000005ull, 0);
		break;
	case INC8:
		AMO(0, BF_IBGDA_AMO_INC, 8, 1, 0);
		break;
	case SET4:
		AMO(0, BF_IBGDA_AMO_SET, 4, 0x1234567, 0);
		break;
	case SET8:
		AMO(0, BF_IBGDA_AMO_SET, 8, 0x123456789abcdefull, 0);
		break;
	case AND4:
		AMO(0, BF_IBGDA_AMO_AND, 4, 0xff00ffu, 0);
		break;
	case OR8:
		AMO(0, BF_IBGDA_AMO_OR, 8, 0x10000000001ull, 0);
		break;
	case XOR4:
		AMO(0, BF_IBGDA_AMO_XOR, 4, 0x1001u, 0);
		break;
	case FETCH_ADD4:
		AMO(1, BF_IBGDA_AMO_ADD, 4, 5, 0);
		break;
	case FETCH_ADD8:
		AMO(1, BF_IBGDA_AMO_ADD, 8, 0x500000001ull, 0);
		break;
	case FETCH_INC8:
		AMO(1, BF_IBGDA_AMO_INC, 8, 1, 0);
		break;
	case FETCH8:
		AMO(1, BF_IBGDA_AMO_OR, 8, 0, 0); /* what NVSHMEM makes of a fetch of 8 bytes */
		break;
	case SWAP4:
		AMO(1, BF_IBGDA_AMO_SWAP, 4, 0x7654321, 0);
		break;
	case SWAP8:
		AMO(1, BF_IBGDA_AMO_SWAP, 8, 0x76543210fedcba98ull, 0);
		break;
	case FETCH_AND8:
		AMO(1, BF_IBGDA_AMO_AND, 8, 0xffff00000000ffffull, 0);
		break;
	case FETCH_OR4:
		AMO(1, BF_IBGDA_AMO_OR, 4, 0x110u, 0);
		break;
	case FETCH_XOR8:
		AMO(1, BF_IBGDA_AMO_XOR, 8, 0x1010101010101010ull, 0);
		break;
	case CAS4:
		AMO(1, BF_IBGDA_AMO_CAS, 4, 4, 3);
		break;
	case CAS8:
		AMO(1, BF_IBGDA_AMO_CAS, 8, 0x400000004ull, 0x300000003ull);
		break;
	case SIGNAL_SET:
		AMO(0, BF_IBGDA_AMO_SET, 8, 9, 0);
		break;
	case SIGNAL_ADD:
		AMO(0, BF_IBGDA_AMO_ADD, 8, 9, 0);
		break;
	case ADD8_LANES:
		AMO(0, BF_IBGDA_AMO_ADD, 8, lane, 0);
		break;
	case FETCH_ADD8_LANES:
		AMO(1, BF_IBGDA_AMO_ADD, 8, lane, 0);
		break;
	case QUIET_AFTER_GET:
		bf_ibgda_pe_get(t, mask, s, pe, qp, dst, src, 32, 0);
		bf_ibgda_pe_quiet(t, mask, s);
		break;
	case PUT_ODD:
		bf_ibgda_pe_put_nbi(t, mask, s, pe, qp, dst + 1, src + 3, 4097);
		break;
	case PUT_WAITS:
		bf_ibgda_pe_put_nbi(t, mask, s, pe, qp, dst, src, 3);
		break;
	case PUT_PIECES:
		bf_ibgda_pe_put_nbi(t, mask, s, pe, qp, dst + 5, src + 7, 300001);
		break;
	case PUT_PIECES_WARP:
		bf_ibgda_pe_put_nbi_warp(t, s, pe, qp, dst + 5, src + 7, 300001);
		break;
	case PUT_BLOCK:
		bf_ibgda_pe_put_nbi_block(t, s, pe, qp, dst, src, 12345);
		break;
	case PUT_PIECES_BLOCK:
		bf_ibgda_pe_put_nbi_block(t, s, pe, qp, dst, src + 1, 200003);
		break;
	case GET_PIECES:
		bf_ibgda_pe_get(t, mask, s, pe, qp, dst + 2, src, 200003, 1);
		break;
	case GET_PIECES_NBI:
		bf_ibgda_pe_get(t, mask, s, pe, qp, dst, src, 140000, 0);
		break;
	case GET_PIECES_WARP:
		bf_ibgda_pe_get_warp(t, s, pe, qp, dst, src + 9, 300001, 0);
		break;
	case GET_BLOCK:
		bf_ibgda_pe_get_block(t, s, pe, qp, dst, src, 777, 1);
		break;
	case PUT_SIGNAL_PIECES:
		signal.value = 0x1122334455667788ull;
		bf_ibgda_pe_put_signal(t, mask, s, pe, qp, dst, src, 150001, &signal);
		break;
	case PUT_SIGNAL_PIECES_WARP:
		signal.value = 3;
		signal.op = BF_IBGDA_AMO_ADD;
		bf_ibgda_pe_put_signal_warp(t, s, pe, qp, dst, src, 150001, &signal);
		break;
	case PUT_SIGNAL_BLOCK:
		signal.value = 1;
		bf_ibgda_pe_put_signal_block(t, s, pe, qp, dst, src, 5, &signal);
		break;
	case P1:
		bf_ibgda_pe_p(t, mask, s, pe, qp, dst + 3, 0x5a, 1);
		break;
	case P2:
		bf_ibgda_pe_p(t, mask, s, pe, qp, dst + 2, 0x1234, 2);
		break;
	case P8:
		bf_ibgda_pe_p(t, mask, s, pe, qp, dst, 0x3ff8000000000000ull, 8);
		break;
	case P4_ROW:
		bf_ibgda_pe_p(t, mask, s, pe, qp, dst + 4 * lane, 0x01010101u * (lane + 1), 4);
		break;
	case P8_ROW:
		bf_ibgda_pe_p(t, mask, s, pe, qp, dst + 8 * lane, 0x0101010101010101ull * (lane + 1), 8);
		break;
	case G1:
		bf_ibgda_pe_g(t, mask, s, pe, qp, src + 1, 1, &old);
		break;
	case G8:
		bf_ibgda_pe_g(t, mask, s, pe, qp, src, 8, &old);
		break;
	case G4_ROW:
		bf_ibgda_pe_g(t, mask, s, pe, qp, src + 4 * lane, 4, &old);
		break;
	case G8_LANES:
		bf_ibgda_pe_g(t, mask, s, pe, qp, src + 40 * lane, 8, &old);
		break;
	case FETCH_ADD4_LANES:
		AMO(1, BF_IBGDA_AMO_ADD, 4, lane, 0);
		break;
	case CAS8_LANES:
		AMO(1, BF_IBGDA_AMO_CAS, 8, lane + 100, lane);
		break;
	default:
		break;
	}
#undef AMO
}

/* ---- the state made by hand: this is PE 0 of two, and nobody looks into the heap ---- */

#define HAND_HEAP 0x7c0000000000ull
#define HAND_PEER_HEAP 0x7d1234560000ull
#define HAND_HEAP_BYTES (2u << 20)
#define HAND_LOG2_GRANULE 16u /* so large is a registration */
#define HAND_GRANULES (HAND_HEAP_BYTES >> HAND_LOG2_GRANULE)
#define HAND_IBUF 0x7e0000100000ull /* as entries have it */
#define HAND_IBUF_SLOTS 64u
#define HAND_IBUF_SLOT 256u
#define HAND_WQES 256u
#define HAND_BATCH 32u

/* RC with and without DUMPs behind what is read; DC with the compact and with the whole address vector. */
enum hand_mode { HAND_RC, HAND_RC_SKIP, HAND_DC, HAND_DC_WHOLE, HAND_MODES };
static const char *const hand_modes[HAND_MODES] = { "RC", "RC without DUMPs", "DC", "DC, whole vector" };

enum hand_queue { HAND_QUEUE_RC, HAND_QUEUE_DCI, HAND_QUEUES };
static const char *const hand_queues[HAND_QUEUES] = { "RC", "DCI" };
static const uint32_t hand_qpns[HAND_QUEUES] = { 0x12a, 0x5c3 };

static inline struct nvshmem_work hand_work(void)
{
	struct nvshmem_work w = { (char *)(uintptr_t)(HAND_HEAP + 0x1000), (char *)(uintptr_t)(HAND_HEAP + 0x88000),
				  (uint64_t *)(uintptr_t)(HAND_HEAP + 0x1f0000), 1 };

	return w;
}

/* As keys lie in memory. */
static inline uint32_t hand_lkey(uint32_t granule)
{
	return bf_htobe32(0x1000 + granule);
}

static inline uint32_t hand_rkey(uint32_t granule, uint32_t pe)
{
	return bf_htobe32(0x200000 + 0x100 * granule + pe);
}

/* The address vector of DCT 0 of a PE. */
static inline void hand_dct(uint32_t pe, bool whole, uint32_t *w)
{
	for (uint32_t i = 0; i < 12; i++)
		w[i] = bf_htobe32(0x01020304u * (i + 1) + pe);
	w[2] = bf_htobe32((whole ? 0x80000000u : 0) | (0x700 + pe));
}

/* Where a call begins in its ring: everywhere, also where the index of 16 bits goes round. */
static inline uint64_t hand_index(int call)
{
	return 65500 + 11 * (uint64_t)call;
}

/* What a queue has after a call. */
struct hand_posted {
	const uint8_t *ring, *record, *doorbell; /* the record of sends; 8 bytes of the register */
	uint64_t index;                          /* where it began */
	uint64_t reserved, ready, rung, get_head, ibuf_head, ibuf_tail;
};

static inline uint64_t hand_hash(uint64_t hash, const uint8_t *bytes, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		hash = (hash ^ bytes[i]) * 0x100000001b3ull;
	return hash;
}

/* Bytes of the entry at `at` that are its own, and in `blocks` how many blocks it takes. A NOP is its control segment.
 */
static inline uint32_t hand_entry(const uint8_t *at, uint32_t *blocks)
{
	const uint32_t bytes = (at[7] & 0x3fu) * 16;

	*blocks = bytes ? (bytes + 63) / 64 : 1;
	return at[3] ? bytes : 16;
}

/* Says in text what a call has left in one queue; nothing, if nothing. Of many entries the first two and the last. */
static inline void hand_show(FILE *out, const char *queue, const struct hand_posted *p)
{
	const uint64_t n = p->reserved - p->index;
	uint64_t hash = 0xcbf29ce484222325ull;
	uint32_t blocks, entries = 0, last = 0;

	if (!n)
		return;
	for (uint64_t at = 0; at < n; at += blocks) {
		hand_entry(p->ring + (p->index + at) % HAND_WQES * 64, &blocks);
		last = entries++;
	}
	fprintf(out,
		"  %s: %u blocks, ready %u, rung %u, reads %u, slots %u and %u, record %02x%02x%02x%02x, doorbell ",
		queue, (unsigned)n, (unsigned)(p->ready - p->index), (unsigned)(p->rung - p->index),
		(unsigned)(p->get_head > p->index ? p->get_head - p->index : 0), (unsigned)p->ibuf_head,
		(unsigned)p->ibuf_tail, p->record[0], p->record[1], p->record[2], p->record[3]);
	for (uint32_t i = 0; i < 8; i++)
		fprintf(out, "%02x", p->doorbell[i]);
	fputc('\n', out);
	entries = 0;
	for (uint64_t at = 0; at < n; at += blocks, entries++) {
		/* An entry goes round at the end of the ring block by block. */
		uint8_t entry[4 * 64 * 4];
		uint32_t bytes = hand_entry(p->ring + (p->index + at) % HAND_WQES * 64, &blocks);

		for (uint32_t b = 0; b < blocks; b++)
			memcpy(entry + 64 * b, p->ring + (p->index + at + b) % HAND_WQES * 64, 64);
		hash = hand_hash(hash, entry, bytes);
		if (entries >= 2 && entries != last)
			continue;
		fprintf(out, "    ");
		for (uint32_t i = 0; i < bytes; i++)
			fprintf(out, "%s%02x", i && i % 16 == 0 ? " " : "", entry[i]);
		fputc('\n', out);
	}
	if (entries > 3)
		fprintf(out, "    %u entries, all of them %016llx\n", entries, (unsigned long long)hash);
}

#endif
