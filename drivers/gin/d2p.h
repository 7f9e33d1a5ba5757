/*
 * Puts and adds by a proxy: UCX's device-to-proxy queue (uct_ib_d2p).
 *
 * - Post: the GPU takes a number by compare-and-swap while there is room, stores the fields, and releases the first
 *   word, whose lowest bit, the owner, is that of the lap.
 * - Take: the CPU looks for the lap's owner bit, and copies.
 * - Done: the consumer index.
 *
 * UCX's snapshot has the GPU's side alone. Assumed of the CPU's: memory begins with the other owner bit, since the
 * first lap's is 0; and the consumer index moves when a request is done, as NCCL's does, so that it can be waited for
 * (UCX's own check of a completion says yes to everything).
 */
#ifndef BELFRY_DRIVERS_GIN_D2P_H
#define BELFRY_DRIVERS_GIN_D2P_H

#include "drivers/gin/cq.h"
#include "drivers/gin/d2p_words.h"
#include "traces/records/gin.h"

BF_FN uint8_t bf_d2p_lap(const struct bf_gin_gfds *q, uint64_t index)
{
	return (index & q->size) != 0;
}

/* A number, when there is room for it. */
BF_DEVICE uint64_t bf_d2p_take_number(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_gfds *q)
{
	uint64_t pi = bf_ld_relaxed64(t, &q->pi, BF_AT_GPU), prev;

	for (;;) {
		if (pi - bf_ld_acquire64(t, &q->ci, BF_AT_SYS) >= q->size && !(s->bugs & BF_GIN_BUG_D2P_ROOM)) {
			bf_spin(t, &q->ci,
				"room in the proxy's queue"); /* UCX: NO_RESOURCE, and its caller tries again */
			pi = bf_ld_relaxed64(t, &q->pi, BF_AT_GPU);
			continue;
		}
		prev = bf_atomic_cas64(t, &q->pi, pi, pi + 1, BF_AT_GPU);
		if (prev == pi)
			return pi;
		pi = prev;
	}
}

/* Returns the ticket: the descriptor's number. The owner's release orders fields, and data that this thread stored. */
BF_DEVICE uint64_t bf_d2p_post(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint32_t rkey,
			       const struct bf_gfd *d)
{
	struct bf_gin_gfds *q = qp->gfd;
	const uint64_t index = bf_d2p_take_number(t, s, q);
	uint8_t *slot = q->slots + (index & (q->size - 1)) * BF_D2P_WORDS * 8;
	uint64_t word[BF_D2P_WORDS];

	bf_d2p_encode(d, bf_d2p_lap(q, index), (uint64_t)rkey << 32 | s->lkey, word);
	BF_DRIVER_RECORD(t, d2p_descriptor, .index = index, .qpn = qp->sq_num, .sum = bf_gfd_sum(d));
	for (uint32_t i = 1; i < 6; i++)
		bf_st_relaxed64(t, slot + i * 8, word[i], BF_AT_SYS);
	if (s->bugs & BF_GIN_BUG_D2P_RELEASE)
		bf_st_relaxed64(t, slot, word[0], BF_AT_SYS);
	else
		bf_st_release64(t, slot, word[0], BF_AT_SYS);
	return index;
}

/* The CPU's side: whether descriptor `index` is there; then it is copied. */
BF_DEVICE int bf_d2p_take(struct bf_thread *t, const struct bf_gin_state *s, struct bf_gin_qp *qp, uint64_t index,
			  struct bf_gfd *d)
{
	const uint8_t *slot = qp->gfd->slots + (index & (qp->gfd->size - 1)) * BF_D2P_WORDS * 8;
	const uint8_t lap = s->bugs & BF_GIN_BUG_D2P_LAP ? 0 : bf_d2p_lap(qp->gfd, index);
	uint64_t word[BF_D2P_WORDS];

	word[0] = bf_ld_acquire64(t, slot, BF_AT_SYS);
	if ((word[0] & 0xff) != lap)
		return 0;
	for (uint32_t i = 1; i < BF_D2P_WORDS; i++)
		word[i] = bf_ld_relaxed64(t, slot + i * 8, BF_AT_SYS);
	bf_d2p_decode(word, d);
	return 1;
}

#endif
