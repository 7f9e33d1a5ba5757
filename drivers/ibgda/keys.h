/*
 * IBGDA: which memory key covers an address, and how far.
 *
 * One operation of the device may not cross from one registration into the next, at either end. Both sides are looked
 * up by granule of the symmetric heap; each entry says where its registration ends. (NVSHMEM ibgda_get_lkey,
 * ibgda_get_raddr_rkey.)
 */
#ifndef BELFRY_DRIVERS_IBGDA_KEYS_H
#define BELFRY_DRIVERS_IBGDA_KEYS_H

#include "drivers/ibgda/ibgda.h"
#include "sim/compiler.h"

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_*.h first"
#endif

#define BF_IBGDA_MAX_LOCAL (1ull << 30) /* NVSHMEM's cap on a local chunk; DeepEP has none but the chunk itself */
#define BF_IBGDA_MAX_TRANSFER (1ull << 31)

/* A piece of a transfer that one entry can carry. Keys big-endian; 0 (never valid) outside of the heap. */
struct bf_ibgda_chunk {
	uint64_t lva, rva, bytes;
	uint32_t lkey, rkey;
};

BF_DEVICE uint64_t bf_ibgda_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

BF_DEVICE uint64_t bf_ibgda_offset(const struct bf_ibgda_state *state, const void *p)
{
	return (uint64_t)((const uint8_t *)p - (const uint8_t *)state->heap);
}

BF_DEVICE const struct bf_ibgda_lkey *bf_ibgda_lkey_at(const struct bf_ibgda_state *state, uint64_t i)
{
	return i < BF_IBGDA_CONST_KEYS ? &state->constmem.lkeys[i] : &state->globalmem.lkeys[i - BF_IBGDA_CONST_KEYS];
}
BF_DEVICE const struct bf_ibgda_rkey *bf_ibgda_rkey_at(const struct bf_ibgda_state *state, uint64_t i)
{
	return i < BF_IBGDA_CONST_KEYS ? &state->constmem.rkeys[i] : &state->globalmem.rkeys[i - BF_IBGDA_CONST_KEYS];
}

/* The remote address and key of heap offset `off` on the QP's peer; returns how many bytes of it the key covers. */
BF_DEVICE uint64_t bf_ibgda_remote(const struct bf_ibgda_state *state, const struct bf_ibgda_qp *qp, uint64_t off,
				   uint64_t *rva, uint32_t *rkey)
{
	const uint64_t granule = off >> state->log2_granularity;
	const struct bf_ibgda_rkey *k;

	*rva = state->globalmem.peer_heap_va[qp->peer] + off;
	*rkey = 0;
	if (BF_UNLIKELY(off >= state->heap_size))
		return ~0ull;
	k = bf_ibgda_rkey_at(state, (granule * state->npes + qp->peer) * state->num_devices + qp->dev_idx);
	*rkey = k->key;
	return k->end - off;
}

BF_DEVICE uint64_t bf_ibgda_local(const struct bf_ibgda_state *state, const struct bf_ibgda_qp *qp, uint64_t off,
				  uint64_t *lva, uint32_t *lkey)
{
	const uint64_t granule = off >> state->log2_granularity;
	const struct bf_ibgda_lkey *k;

	*lva = state->heap_va + off;
	*lkey = 0;
	if (BF_UNLIKELY(off >= state->heap_size))
		return ~0ull;
	k = bf_ibgda_lkey_at(state, granule * state->num_devices + qp->dev_idx);
	*lkey = k->key;
	return bf_ibgda_min(k->end - *lva, BF_IBGDA_MAX_LOCAL);
}

/* The first piece of a transfer of `bytes` between local heap offset `loff` and the peer's `roff`. */
BF_DEVICE struct bf_ibgda_chunk bf_ibgda_chunk(const struct bf_ibgda_state *state, const struct bf_ibgda_qp *qp,
					       uint64_t loff, uint64_t roff, uint64_t bytes)
{
	struct bf_ibgda_chunk c;
	const uint64_t local = bf_ibgda_local(state, qp, loff, &c.lva, &c.lkey);
	const uint64_t remote = bf_ibgda_remote(state, qp, roff, &c.rva, &c.rkey);

	c.bytes = bf_ibgda_min(bytes, BF_IBGDA_MAX_TRANSFER);
	if (BF_LIKELY(!(state->bugs & BF_IBGDA_BUG_NO_CHUNK)))
		c.bytes = bf_ibgda_min(c.bytes, bf_ibgda_min(local, remote));
	return c;
}

#endif
