/*
 * The async proxy: what copies see of shared memory.
 *
 * A plain store leaves the byte's former value behind, for as long as its warp has not executed fence.proxy.async;
 * copies read that. A warp's fence is for its own stores only (PTX ISA 9.0, "proxies"): that a barrier orders the warps
 * does not help. What a copy writes is the byte's value for everybody.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/hopper/bulk_internal.h"
#include "models/hopper/records_bulk.h"
#include "sim/error.h"

static bool track(struct bf_bulk_sm *s)
{
	const uint32_t bytes = s->bulk->gpu->profile.shared_bytes;

	if (!s->old) {
		s->old = malloc(bytes);
		s->owner = calloc(1, bytes);
	}
	if (s->old && s->owner)
		return true;
	free(s->old);
	s->old = NULL;
	bf_fail(&s->bulk->gpu->sim->error, -ENOMEM, "out of memory: a store is visible to copies without a fence");
	return false;
}

/* How many bytes from `at` on are all of one owner, counted in words: warps store and fence rows of them. 0: nobody. */
static uint32_t owned_by(const struct bf_bulk_sm *s, uint32_t at, uint32_t end, uint32_t owner)
{
	const uint64_t all = owner * UINT64_C(0x0101010101010101);
	const uint32_t first = at;
	uint64_t word;

	for (; at + sizeof(word) <= end; at += (uint32_t)sizeof(word)) {
		memcpy(&word, s->owner + at, sizeof(word));
		if (word != all)
			break;
	}
	return at - first;
}

static void own(struct bf_bulk_sm *s, uint32_t at, uint32_t len, uint32_t slot)
{
	memcpy(s->old + at, s->sm->shared + at, len);
	memset(s->owner + at, (int)slot + 1, len);
	s->stale += len;
}

void bf_bulk_view_stored(void *arg, struct bf_hopper_cta *cta, uint32_t slot, uint32_t address, uint32_t len)
{
	struct bf_bulk_sm *s = bf_bulk_sm(cta->sm);
	const uint32_t first = cta->base + (address & BF_HOPPER_OFFSET);

	(void)arg;
	if (!s || !track(s))
		return;
	for (uint32_t i = first, n; i < first + len; i += n) {
		n = owned_by(s, i, first + len, 0);
		n += n == 0;
		if (!s->owner[i])
			own(s, i, n, slot);
		s->owner[i] = (uint8_t)(slot + 1);
	}
	if (s->unfenced[slot].low >= s->unfenced[slot].high)
		s->unfenced[slot].low = UINT32_MAX;
	if (first < s->unfenced[slot].low)
		s->unfenced[slot].low = first;
	if (first + len > s->unfenced[slot].high)
		s->unfenced[slot].high = first + len;
}

void bf_bulk_plain_store(struct bf_hopper_cta *cta, uint32_t warp, uint32_t address, const void *data, uint32_t len)
{
	const uint32_t offset = address & BF_HOPPER_OFFSET;

	if (address >> BF_HOPPER_RANK_SHIFT != cta->rank || (uint64_t)offset + len > cta->bytes) {
		const struct bf_hopper_fault f = {
			.kind = BF_HOPPER_FAULT_ADDRESS,
			.op = BF_SYNC_STORE,
			.sm = cta->sm->id,
			.warp = cta->first_warp + warp,
			.address = address,
		};

		bf_hopper_raise(cta->sm->gpu, &f);
		return;
	}
	if (cta->stored)
		cta->stored(cta->stored_arg, cta, cta->first_warp + warp, address, len);
	memcpy(cta->sm->shared + cta->base + offset, data, len);
}

uint64_t bf_bulk_fence(struct bf_hopper_cta *cta, uint32_t warp)
{
	struct bf_hopper *gpu = cta->sm->gpu;
	struct bf_bulk_sm *s = bf_bulk_sm(cta->sm);
	const uint32_t slot = cta->first_warp + warp;
	uint32_t bytes = 0;

	if (s && s->stale) {
		for (uint32_t i = s->unfenced[slot].low, n; i < s->unfenced[slot].high; i += n) {
			n = owned_by(s, i, s->unfenced[slot].high, slot + 1);
			n += n == 0;
			if (s->owner[i] == slot + 1) {
				memset(s->owner + i, 0, n);
				bytes += n;
			}
		}
		s->stale -= bytes;
		s->unfenced[slot].low = s->unfenced[slot].high = 0;
	}
	BF_EMIT(gpu->sim, cta->sm->actor, hopper_proxy_fence, .warp = slot, .bytes = bytes);
	return gpu->sim->now_ps + bf_hopper_mc(gpu, gpu->profile.proxy_fence_mc);
}

uint32_t bf_bulk_stale(const struct bf_hopper_cta *cta)
{
	const struct bf_bulk *b = cta->sm->gpu->bulk;
	const struct bf_bulk_sm *s = b ? b->sm[cta->sm->id] : NULL;
	uint32_t bytes = 0;

	for (uint32_t i = 0; s && s->stale && i < cta->bytes; i++)
		bytes += s->owner[cta->base + i] != 0;
	return bytes;
}

void bf_bulk_view_read(struct bf_bulk_sm *s, uint32_t address, void *data, uint32_t len, uint32_t copy)
{
	struct bf_sim *sim = s->bulk->gpu->sim;
	struct bf_rec_hopper_stale_read r = { .copy = copy };
	uint8_t *out = data;

	memcpy(out, s->sm->shared + address, len);
	if (BF_LIKELY(!s->stale))
		return;
	for (uint32_t i = owned_by(s, address, address + len, 0); i < len; i++) {
		if (!s->owner[address + i])
			continue;
		out[i] = s->old[address + i];
		if (r.bytes++ == 0) {
			r.address = address + i;
			r.warp = s->owner[address + i] - 1u;
		}
	}
	s->bulk->counts.stale += r.bytes;
	if (r.bytes && bf_probe(sim, BF_CLASS_MEM))
		BF_EMIT_MADE(sim, s->sm->actor, hopper_stale_read, r, NULL, 0);
}

void bf_bulk_view_forget(struct bf_bulk_sm *s, uint32_t address, uint32_t len)
{
	if (!s->stale)
		return;
	for (uint32_t i = address + owned_by(s, address, address + len, 0); i < address + len; i++) {
		s->stale -= s->owner[i] != 0;
		s->owner[i] = 0;
	}
}

void bf_bulk_view_write(struct bf_bulk_sm *s, uint32_t address, const void *data, uint32_t len)
{
	bf_bulk_view_forget(s, address, len);
	memcpy(s->sm->shared + address, data, len);
}
