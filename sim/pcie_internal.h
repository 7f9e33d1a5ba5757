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

#endif
