/* Closed-form charging of a link, shared by MMIO (pcie.c) and DMA (dma_port.c). */
#ifndef BELFRY_SIM_PCIE_INTERNAL_H
#define BELFRY_SIM_PCIE_INTERNAL_H

#include "sim/pcie.h"

/* TLPs that carry `len` bytes, at most `max` each; nothing still takes one. */
static inline uint32_t link_tlps(uint32_t len, uint32_t max)
{
	if (BF_LIKELY(len <= max))
		return 1;
	return len / max + (len % max != 0);
}

/* Occupies a direction with `bytes` from now on, or from when it is idle. Returns when the last byte has left. */
static inline uint64_t link_charge(const struct bf_link *l, uint64_t *free_ps, uint64_t *total, uint64_t bytes)
{
	uint64_t start = *free_ps > l->sim->now_ps ? *free_ps : l->sim->now_ps;

	*total += bytes;
	*free_ps = start + (bytes * l->profile.ps_per_kib + 1023) / 1024;
	return *free_ps;
}

static inline uint64_t link_charge_up(struct bf_link *l, uint64_t bytes)
{
	return link_charge(l, &l->up_free_ps, &l->up_bytes, bytes);
}

static inline uint64_t link_charge_down(struct bf_link *l, uint64_t bytes)
{
	return link_charge(l, &l->down_free_ps, &l->down_bytes, bytes);
}

/*
 * Data of a read that GPU memory gave: later and slower than a host's. Reads stay in order, so what was asked for
 * afterwards comes no earlier.
 */
static inline uint64_t link_from_vram(struct bf_link *l, uint32_t len, uint64_t at_ps)
{
	const struct bf_link_profile *p = &l->profile;
	uint64_t start = l->vram_free_ps > l->sim->now_ps ? l->vram_free_ps : l->sim->now_ps;

	l->vram_free_ps = start + ((uint64_t)len * p->vram_ps_per_kib + 1023) / 1024;
	start = l->vram_free_ps + p->latency_ps;
	return (start > at_ps ? start : at_ps) + p->vram_ps;
}

#endif
