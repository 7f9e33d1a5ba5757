/* Seeding of random streams; the generator itself is inline in rng.h. */
#include "sim/rng.h"

uint64_t bf_splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

uint64_t bf_fnv1a64(const char *text)
{
	uint64_t hash = 0xcbf29ce484222325;

	while (*text)
		hash = (hash ^ (unsigned char)*text++) * 0x100000001b3;
	return hash;
}

void bf_rng_init(struct bf_rng *r, uint64_t seed, const char *name)
{
	uint64_t state = seed ^ bf_fnv1a64(name);

	/* All four words zero, the one state the generator cannot leave, does not occur: splitmix64 is a bijection. */
	for (int i = 0; i < 4; i++)
		r->s[i] = bf_splitmix64(&state);
}
