/*
 * Random numbers: one documented generator (xoshiro256**, Blackman and Vigna, seeded by splitmix64), streams by name.
 *
 * A stream's four state words are the first four outputs of splitmix64 started at seed XOR fnv1a64(name): adding a
 * consumer never disturbs another one's numbers. Streams are plain structs owned by their user. Not thread-safe; one
 * thread per stream.
 *
 * Sources: Blackman and Vigna, "Scrambled Linear Pseudorandom Number Generators" (ACM TOMS 47, 2021), with
 * prng.di.unimi.it for the seeding; Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators" (OOPSLA
 * 2014); FNV-1a: draft-eastlake-fnv; Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019).
 */
#ifndef BELFRY_SIM_RNG_H
#define BELFRY_SIM_RNG_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/compiler.h"

BF_API_BEGIN

struct bf_rng {
	uint64_t s[4];
};

/* One step of splitmix64: moves `state` on and returns 64 bits. */
uint64_t bf_splitmix64(uint64_t *state);

/* FNV-1a, 64 bits, of a NUL-terminated string (the NUL not included). */
uint64_t bf_fnv1a64(const char *text);

/* Starts the stream called `name` (borrowed during the call only) of simulation seed `seed`. */
void bf_rng_init(struct bf_rng *r, uint64_t seed, const char *name);

static inline uint64_t bf_rng_rotl(uint64_t x, int k)
{
	return (x << k) | (x >> (64 - k));
}

/* 64 uniform bits. */
static inline uint64_t bf_rng_next(struct bf_rng *r)
{
	const uint64_t result = bf_rng_rotl(r->s[1] * 5, 7) * 9;
	const uint64_t t = r->s[1] << 17;

	r->s[2] ^= r->s[0];
	r->s[3] ^= r->s[1];
	r->s[1] ^= r->s[2];
	r->s[0] ^= r->s[3];
	r->s[2] ^= t;
	r->s[3] = bf_rng_rotl(r->s[3], 45);
	return result;
}

/* Uniform in [0, n); n = 0 gives 0. Multiply-shift (Lemire) without rejection: bias below n / 2^64. */
static inline uint64_t bf_rng_below(struct bf_rng *r, uint64_t n)
{
	return (uint64_t)(((bf_u128)bf_rng_next(r) * n) >> 64);
}

/* True with probability ppm / 1,000,000. Integer arithmetic, so the same on every machine. */
static inline bool bf_rng_chance(struct bf_rng *r, uint32_t ppm)
{
	return bf_rng_below(r, 1000000) < ppm;
}

BF_API_END

#endif
