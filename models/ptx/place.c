/* Addresses: which byte of which memory an address of a program means. */
#include <stdio.h>
#include <string.h>

#include "models/ptx/machine_internal.h"

#define SHARED_WINDOW_SIZE (1ull << 32)

/* The region of a global address: a simulated one, or the host's of the same byte; of a mapped GPU, too. `*base`: how
 * programs name it. */
static struct bf_region *find_region(struct bf_ptx_machine_warp *w, uint64_t address, uint64_t *base)
{
	struct bf_space *space = w->device->opts.space;
	struct bf_region *r;

	for (uint32_t i = 0; i < BF_PTX_REGIONS; i++)
		if (w->met[i].region && address - w->met[i].base < w->met[i].region->size) {
			*base = w->met[i].base;
			return w->met[i].region;
		}
	r = bf_space_find(space, address);
	if (!r)
		r = bf_space_find_mapped(space, address);
	*base = r ? r->va : 0;
	if (!r) {
		r = bf_space_find_host(space, (const void *)(uintptr_t)address);
		*base = r ? (uint64_t)(uintptr_t)r->bytes : 0;
	}
	if (!r)
		return NULL;
	memmove(w->met + 1, w->met, sizeof(w->met) - sizeof(w->met[0]));
	w->met[0].region = r;
	w->met[0].base = *base;
	/* What is plain memory the core may reach by itself from now on. */
	if (r->kind != BF_MEM_MMIO && !r->cache) {
		memmove(w->core.global + 1, w->core.global, sizeof(w->core.global) - sizeof(w->core.global[0]));
		w->core.global[0] = (struct bf_ptx_window){ .host = r->bytes, .base = *base, .size = r->size };
	}
	return r;
}

static void forget_in_warp(struct bf_ptx_machine_warp *w, const struct bf_region *region)
{
	for (uint32_t i = 0; i < BF_PTX_REGIONS; i++)
		if (w->met[i].region == region)
			w->met[i].region = NULL;
	for (uint32_t i = 0; i < BF_ARRAY_LEN(w->core.global); i++)
		if (w->core.global[i].host == region->bytes)
			w->core.global[i] = (struct bf_ptx_window){ 0 };
}

void bf_ptx_device_forget(struct bf_ptx_device *d, const struct bf_region *region)
{
	for (uint32_t i = 0; i < d->nsms; i++)
		for (struct bf_ptx_block *b = d->sm[i].blocks; b; b = b->next)
			for (uint32_t j = 0; j < b->nwarps; j++)
				if (b->warp[j])
					forget_in_warp(b->warp[j], region);
}

static bool place_global(struct bf_ptx_machine_warp *w, uint32_t lane, uint64_t address, uint32_t len,
			 struct bf_ptx_place *out)
{
	uint64_t base;
	struct bf_region *r = find_region(w, address, &base);

	if (!r || r->size - (address - base) < len) {
		bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_ADDRESS, address, "%u bytes at 0x%llx%s%s", len,
				(unsigned long long)address, r ? " run past the end of " : " are nobody's memory",
				r ? r->name : "");
		return false;
	}
	out->space = BF_PTX_GLOBAL;
	out->host = r->bytes + (address - base);
	out->region = r;
	return true;
}

static bool place_shared(struct bf_ptx_machine_warp *w, uint32_t lane, uint32_t address, uint32_t len,
			 struct bf_ptx_place *out)
{
	struct bf_ptx_cluster *c = w->block->cluster;
	const uint32_t rank = address >> BF_HOPPER_RANK_SHIFT;
	const uint32_t offset = address & ((1u << BF_HOPPER_RANK_SHIFT) - 1);
	struct bf_ptx_block *b = rank < c->grid->ctas ? c->block[rank] : NULL;

	if (!b || offset < BF_PTX_SHARED_FIRST ||
	    offset - BF_PTX_SHARED_FIRST + (uint64_t)len > c->grid->shared_bytes) {
		bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_ADDRESS, BF_PTX_SHARED_WINDOW + address,
				"%u bytes at 0x%x of shared memory%s: a block has 0x%x to 0x%x", len, address,
				b                      ? ""
				: rank < c->grid->ctas ? " of a block that has ended"
						       : " of a rank that the cluster lacks",
				BF_PTX_SHARED_FIRST, BF_PTX_SHARED_FIRST + c->grid->shared_bytes);
		return false;
	}
	out->space = BF_PTX_SHARED;
	out->host = b->shared + (offset - BF_PTX_SHARED_FIRST);
	out->block = b;
	out->offset = offset;
	return true;
}

static bool place_bank(struct bf_ptx_machine_warp *w, uint32_t lane, const struct bf_ptx_window *bank, uint64_t va,
		       uint64_t offset, uint32_t len, struct bf_ptx_place *out)
{
	if (offset > bank->size || bank->size - offset < len) {
		bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_ADDRESS, va + offset, "%u bytes at 0x%llx of %llu", len,
				(unsigned long long)offset, (unsigned long long)bank->size);
		return false;
	}
	return place_global(w, lane, va + offset, len, out);
}

static bool read_only(const struct bf_ptx_machine_warp *w, uint64_t address)
{
	const struct bf_ptx_warp *c = &w->core;

	return address - c->constant_va < c->constant.size || address - c->param_va < c->param.size;
}

static bool place_generic(struct bf_ptx_machine_warp *w, uint32_t lane, uint64_t address, uint32_t len,
			  struct bf_ptx_place *out)
{
	if (address - BF_PTX_SHARED_WINDOW < SHARED_WINDOW_SIZE)
		return place_shared(w, lane, (uint32_t)(address - BF_PTX_SHARED_WINDOW), len, out);
	if (address - BF_PTX_LOCAL_WINDOW >= BF_PTX_LOCAL_SIZE)
		return place_global(w, lane, address, len, out);
	out->space = BF_PTX_LOCAL;
	out->local = address - BF_PTX_LOCAL_WINDOW;
	return true;
}

bool bf_ptx_place(struct bf_ptx_machine_warp *w, uint32_t lane, uint32_t space, uint64_t address, uint32_t len,
		  bool writes, struct bf_ptx_place *out)
{
	const struct bf_ptx_warp *c = &w->core;

	*out = (struct bf_ptx_place){ 0 };
	if (address & (len - 1)) {
		bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_MISALIGNED, address,
				"an access of %u bytes at 0x%llx, which is not a multiple of it", len,
				(unsigned long long)address);
		return false;
	}
	switch (space) {
	case BF_PTX_SHARED:
		return place_shared(w, lane, (uint32_t)address, len, out);
	case BF_PTX_CONST:
		return place_bank(w, lane, &c->constant, c->constant_va, address, len, out);
	case BF_PTX_PARAM:
		return place_bank(w, lane, &c->param, c->param_va, address, len, out);
	default:
		break;
	}
	if (writes && read_only(w, address)) {
		bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_ADDRESS, address, "a store to what is read-only");
		return false;
	}
	return space == BF_PTX_GLOBAL ? place_global(w, lane, address, len, out)
				      : place_generic(w, lane, address, len, out);
}

bool bf_ptx_shared_address(struct bf_ptx_machine_warp *w, uint32_t lane, uint32_t space, uint64_t address,
			   uint32_t *out)
{
	if (space == BF_PTX_SPACE_NONE && address - BF_PTX_SHARED_WINDOW >= SHARED_WINDOW_SIZE) {
		bf_ptx_fault_at(w, 1u << lane, BF_PTX_FAULT_SPACE, address, "0x%llx is not an address of shared memory",
				(unsigned long long)address);
		return false;
	}
	*out = (uint32_t)(space == BF_PTX_SPACE_NONE ? address - BF_PTX_SHARED_WINDOW : address);
	return true;
}

uint64_t bf_ptx_global_va(struct bf_ptx_machine_warp *w, uint64_t address)
{
	uint64_t base;
	const struct bf_region *r = find_region(w, address, &base);

	return r ? r->va + (address - base) : 0;
}

void bf_ptx_peek(struct bf_ptx_machine_warp *w, uint32_t lane, uint64_t address, void *out, uint32_t len)
{
	const struct bf_ptx_cluster *c = w->block->cluster;
	uint8_t *to = out;
	uint64_t base;

	for (uint32_t i = 0; i < len; i++, address++) {
		const uint32_t shared = (uint32_t)(address - BF_PTX_SHARED_WINDOW);
		const uint32_t rank = shared >> BF_HOPPER_RANK_SHIFT;
		const uint32_t at = (shared & 0xffffffu) - BF_PTX_SHARED_FIRST;
		const uint8_t *from = NULL;
		uint8_t local;
		const struct bf_region *r;

		if (address - BF_PTX_SHARED_WINDOW < SHARED_WINDOW_SIZE) {
			if (rank < c->grid->ctas && c->block[rank] && at < c->grid->shared_bytes)
				from = c->block[rank]->shared + at;
		} else if (address - BF_PTX_LOCAL_WINDOW < BF_PTX_LOCAL_SIZE) {
			from = bf_ptx_warp_local_read(&w->core, lane, address - BF_PTX_LOCAL_WINDOW, &local, 1) ? &local
														: NULL;
		} else if ((r = find_region(w, address, &base)) && r->kind != BF_MEM_MMIO) {
			from = r->bytes + (address - base);
		}
		to[i] = from ? *from : 0;
	}
}

void bf_ptx_read_text(struct bf_ptx_machine_warp *w, uint32_t lane, uint64_t address, char *out, size_t cap)
{
	size_t n = 0;

	if (!address) {
		snprintf(out, cap, "(null)");
		return;
	}
	while (n + 1 < cap) {
		bf_ptx_peek(w, lane, address + n, &out[n], 1);
		if (!out[n])
			return;
		n++;
	}
	out[n] = '\0';
}

void bf_ptx_shared_changed(struct bf_ptx_block *b)
{
	if (BF_LIKELY(!b->listeners))
		return;
	for (uint32_t rank = 0; rank < b->grid->ctas; rank++) {
		struct bf_ptx_block *other = b->cluster->block[rank];

		for (uint32_t i = 0; other && i < other->nwarps; i++)
			if (other->warp[i]->polls_shared && other->warp[i]->agent)
				bf_agent_nudge(other->warp[i]->agent);
	}
}
