/*
 * IBGDA: which memory key covers an address, and how far.
 *
 * One operation of the device may not cross from one registration into the next, at either end. Both sides are looked
 * up by granule of the symmetric heap; each entry says where its registration ends. The local end may also lie in other
 * registered memory, which is found by walking a list. (NVSHMEM ibgda_get_lkey, ibgda_get_raddr_rkey.)
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

/* A piece of a transfer that one entry can carry. Keys big-endian; 0 (never valid) where nothing is registered. */
struct bf_ibgda_chunk {
	uint64_t lva, rva, bytes;
	uint32_t lkey, rkey;
	uint32_t sysmem; /* the local end is in host memory: what was stored there needs a system fence */
};

BF_DEVICE uint64_t bf_ibgda_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Where a pointer into this PE's heap lies in every PE's. */
BF_DEVICE uint64_t bf_ibgda_offset(const struct bf_ibgda_state *state, const void *p)
{
	return (uint64_t)((const uint8_t *)p - (const uint8_t *)state->heap);
}

/* An RC queue pair as a target; for DCIs see select.h. */
BF_DEVICE struct bf_ibgda_to bf_ibgda_to_rc(struct bf_ibgda_qp *qp)
{
	struct bf_ibgda_to to;

	to.qp = qp;
	to.pe = qp->peer;
	to.dct = 0;
	return to;
}

BF_DEVICE const struct bf_ibgda_lkey *bf_ibgda_lkey_at(const struct bf_ibgda_state *state, uint64_t i)
{
	if (i < BF_IBGDA_CONST_KEYS)
		return &state->constmem.lkeys[i];
	/* DeepEP looks in the constant part whatever the index: behind it lie remote keys. */
	if (BF_UNLIKELY(bf_ibgda_suspected(state) & BF_IBGDA_SUSPECT_LKEY_NO_OVERFLOW))
		return (const struct bf_ibgda_lkey *)(const void *)&state->constmem.rkeys[i % BF_IBGDA_CONST_KEYS];
	return &state->globalmem.lkeys[i - BF_IBGDA_CONST_KEYS];
}
BF_DEVICE const struct bf_ibgda_rkey *bf_ibgda_rkey_at(const struct bf_ibgda_state *state, uint64_t i)
{
	return i < BF_IBGDA_CONST_KEYS ? &state->constmem.rkeys[i] : &state->globalmem.rkeys[i - BF_IBGDA_CONST_KEYS];
}

/*
 * The remote address and key of heap offset `off` on the target; returns how many bytes of it the key covers. The key
 * is the one of the device that the target's queue belongs to.
 */
BF_DEVICE uint64_t bf_ibgda_remote(const struct bf_ibgda_state *state, const struct bf_ibgda_to *to, uint64_t off,
				   uint64_t *rva, uint32_t *rkey)
{
	const uint64_t granule = off >> state->log2_granularity;
	const struct bf_ibgda_rkey *k;

	*rva = state->globalmem.peer_heap_va[to->pe] + off;
	*rkey = 0;
	if (BF_UNLIKELY(off >= state->heap_size))
		return ~0ull;
	k = bf_ibgda_rkey_at(state, (granule * state->npes + to->pe) * state->num_devices +
					(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_KEY_DEVICE_0 ? 0 : to->qp->dev_idx));
	*rkey = k->key;
	return k->end - off;
}

/* The same for memory outside of the heap: the registration that holds `p`, whose last byte belongs to it. */
BF_DEVICE uint64_t bf_ibgda_local_only(const struct bf_ibgda_state *state, uint32_t dev, const void *p, uint64_t *lva,
				       uint32_t *lkey, uint32_t *sysmem)
{
	for (const struct bf_ibgda_local_only *r = state->globalmem.local_only; r; r = r->next) {
		const uintptr_t at = (uintptr_t)p, first = (uintptr_t)r->first, last = (uintptr_t)r->last;

		if (at < first || at > last)
			continue;
		*lva = r->va + (at - first);
		*lkey = r->lkeys[dev];
		*sysmem |= r->sysmem;
		return bf_ibgda_min((uint64_t)(last - at) + 1, BF_IBGDA_MAX_LOCAL);
	}
	return ~0ull;
}

/* The address and key of local memory at `p`; returns how many bytes the key covers. Sets `sysmem` for host memory. */
BF_DEVICE uint64_t bf_ibgda_local(const struct bf_ibgda_state *state, uint32_t dev, const void *p, uint64_t *lva,
				  uint32_t *lkey, uint32_t *sysmem)
{
	const uint64_t off = bf_ibgda_offset(state, p);
	const struct bf_ibgda_lkey *k;

	*lva = state->heap_va + off;
	*lkey = 0;
	if (BF_UNLIKELY(off >= state->heap_size))
		return bf_ibgda_local_only(state, dev, p, lva, lkey, sysmem);
	k = bf_ibgda_lkey_at(state, (off >> state->log2_granularity) * state->num_devices + dev);
	*lkey = BF_UNLIKELY(bf_ibgda_mistakes(state) & BF_IBGDA_BUG_LKEY_SWAPPED) ? bf_htobe32(k->key) : k->key;
	return bf_ibgda_min(k->end - *lva, BF_IBGDA_MAX_LOCAL);
}

/* The first piece of a transfer of `bytes` between local memory at `local` and the target's heap offset `roff`. */
BF_DEVICE struct bf_ibgda_chunk bf_ibgda_chunk(const struct bf_ibgda_state *state, const struct bf_ibgda_to *to,
					       const void *local, uint64_t roff, uint64_t bytes)
{
	struct bf_ibgda_chunk c;
	uint64_t near, far;

	c.sysmem = 0;
	near = bf_ibgda_local(state, to->qp->dev_idx, local, &c.lva, &c.lkey, &c.sysmem);
	far = bf_ibgda_remote(state, to, roff, &c.rva, &c.rkey);
	c.bytes = bf_ibgda_min(bytes, BF_IBGDA_MAX_TRANSFER);
	if (BF_LIKELY(!(bf_ibgda_mistakes(state) & (BF_IBGDA_BUG_NO_CHUNK | BF_IBGDA_BUG_NO_REMOTE_CHUNK))))
		c.bytes = bf_ibgda_min(c.bytes, bf_ibgda_min(near, far));
	else if (bf_ibgda_mistakes(state) & BF_IBGDA_BUG_NO_REMOTE_CHUNK)
		c.bytes = bf_ibgda_min(c.bytes, near);
	return c;
}

#endif
