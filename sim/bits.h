/* Arithmetic of powers of two, which is how devices count ring sizes. */
#ifndef BELFRY_SIM_BITS_H
#define BELFRY_SIM_BITS_H

#include <stdint.h>

/* The least n with 1 << n not below `value`: of a power of two its logarithm, of 0 and 1 it is 0. */
static inline uint32_t bf_log2_up(uint64_t value)
{
	return value <= 1 ? 0 : 64u - (uint32_t)__builtin_clzll(value - 1);
}

#endif
