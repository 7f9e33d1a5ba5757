/* The words of UCX's device-to-proxy descriptor, in the terms of NCCL's. */
#ifndef BELFRY_DRIVERS_GIN_D2P_WORDS_H
#define BELFRY_DRIVERS_GIN_D2P_WORDS_H

#include "drivers/gin/gfd_words.h"

#define BF_D2P_WORDS 8u
#define BF_D2P_WRITE 0u
#define BF_D2P_ADD 1u
#define BF_D2P_CQ_UPDATE 1u
#define BF_D2P_RING 2u

/* uct_ib_d2p_desc_t: owner 8, opcode 8, flags 16, length 32; endpoint; lkey 32, rkey 32; laddr; raddr; add. */
BF_FN void bf_d2p_encode(const struct bf_gfd *d, uint64_t owner, uint64_t keys, uint64_t *word)
{
	const uint64_t add = (d->op & BF_GFD_SIGNAL_ADD) != 0;

	word[0] = owner | (add ? BF_D2P_ADD : BF_D2P_WRITE) << 8 | (BF_D2P_CQ_UPDATE | BF_D2P_RING) << 16 |
		  (add ? 8 : d->bytes) << 32;
	word[1] = 0;
	word[2] = keys;
	word[3] = d->src;
	word[4] = add ? d->signal * 8ull : d->dst;
	word[5] = d->add;
	word[6] = word[7] = 0;
}

BF_FN void bf_d2p_decode(const uint64_t *word, struct bf_gfd *d)
{
	const uint32_t add = (word[0] >> 8 & 0xff) == BF_D2P_ADD;

	d->op = add ? BF_GFD_SIGNAL_ADD : BF_GFD_PUT;
	d->bytes = add ? 0 : word[0] >> 32;
	d->src = d->value = word[3];
	d->dst = add ? 0 : word[4];
	d->signal = add ? (uint32_t)(word[4] / 8) : 0;
	d->counter = 0;
	d->add = word[5];
}

#endif
