/* What the tests of packets share: bytes of memory, and the generations. */
#ifndef BELFRY_TESTS_SDMA_PACKETS_H
#define BELFRY_TESTS_SDMA_PACKETS_H

#include <check.h>

#include "tests/models/sdma_rig.h"

static inline uint32_t word(const struct bf_region *region, uint64_t at)
{
	return bf_get_le32(region->bytes + at);
}

static inline uint64_t quad(const struct bf_region *region, uint64_t at)
{
	return bf_get_le64(region->bytes + at);
}

/* Bytes of a region that are not `value`. */
static inline uint64_t others(const struct bf_region *region, uint64_t from, uint64_t to, uint8_t value)
{
	uint64_t n = 0;

	for (uint64_t i = from; i < to; i++)
		n += region->bytes[i] != value;
	return n;
}

static inline void ramp(struct bf_region *region)
{
	for (uint64_t i = 0; i < region->size; i++)
		region->bytes[i] = (uint8_t)(i * 11 + i / 256 + 1);
}

#define VA(region, at) RIG_LO((region)->va + (at)), RIG_HI((region)->va + (at))

static const struct bf_sdma_profile *const profiles[] = { &bf_sdma_v4, &bf_sdma_v5, &bf_sdma_v6, &bf_sdma_v7,
							  &bf_sdma_v7_1 };

#endif
