/* The words of NCCL's GIN function descriptor, version 2. */
#ifndef BELFRY_DRIVERS_GIN_GFD_WORDS_H
#define BELFRY_DRIVERS_GIN_GFD_WORDS_H

#include "sim/bytes.h"

#define BF_GFD_WORDS 16u
#define BF_GFD_VERSION 2u
#define BF_GFD_SIGNALS (1ull << 24) /* numbers that fit: those of counters are one bit shorter */

/* op: what is asked for; several at once. */
#define BF_GFD_PUT 1u
#define BF_GFD_INLINE 2u
#define BF_GFD_COUNTER 4u
#define BF_GFD_SIGNAL_ADD 16u
#define BF_GFD_GET 64u

struct bf_gfd {
	uint32_t op, counter, signal;
	uint64_t bytes, src, dst;
	uint64_t value; /* inline */
	uint64_t add;   /* to the signal */
};

/* Of what it says, for records; two that differ hardly have the same. */
BF_FN uint16_t bf_gfd_sum(const struct bf_gfd *d)
{
	uint64_t z = d->op ^ d->bytes << 8;

	z = (z ^ (d->op & BF_GFD_INLINE ? d->value : d->src)) * 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 29 ^ d->dst) * 0x9e3779b97f4a7c15ull;
	z = (z ^ z >> 29 ^ d->add ^ (uint64_t)d->signal << 40 ^ (uint64_t)d->counter << 20) * 0x9e3779b97f4a7c15ull;
	return (uint16_t)(z >> 48);
}

/* The words; bit 0 of each is its flag (NCCL gin_proxy_device_host_common.h). */
BF_FN void bf_gfd_encode(const struct bf_gfd *d, uint64_t *word)
{
	for (uint32_t i = 0; i < BF_GFD_WORDS; i++)
		word[i] = 1;
	word[0] |= BF_GFD_VERSION << 1 | d->bytes << 7;
	if (d->op & BF_GFD_INLINE) {
		word[1] |= (d->value & 0xffffffffffffull) << 1;
		word[2] |= d->value >> 48 << 1;
	} else {
		word[1] |= d->src << 1;
	}
	word[3] |= d->dst << 1;
	word[5] |= (uint64_t)d->counter << 1 | (uint64_t)d->signal << 24 | d->add << 48;
	word[6] |= (d->add >> 16 & 0xffff) << 8 | d->add >> 32 << 24;
	word[7] |= (uint64_t)d->op << 8;
}

BF_FN void bf_gfd_decode(const uint64_t *word, struct bf_gfd *d)
{
	d->bytes = word[0] >> 7;
	d->src = word[1] >> 1;
	d->value = (word[1] >> 1 & 0xffffffffffffull) | (word[2] >> 1 & 0xffff) << 48;
	d->dst = word[3] >> 1;
	d->counter = word[5] >> 1 & 0x7fffff;
	d->signal = word[5] >> 24 & 0xffffff;
	d->add = word[5] >> 48 | (word[6] >> 8 & 0xffff) << 16 | (word[6] >> 24 & 0xffffffff) << 32;
	d->op = word[7] >> 8 & 0xffff;
}

#endif
