/*
 * GIN by a proxy: NCCL's queue of GIN function descriptors (GFD).
 *
 *   post    the GPU takes a number, waits while the queue is full, and stores 16 words, each with a flag of its own
 *   take    the CPU waits for each word's flag, copies, clears all, and posts what they say on its own queue pair
 *   done    in order: the consumer index, by which the GPU knows of room and of completion, and the counter
 *
 * No order among the words is needed. Signals and counters are named by number: here their offset in the heap / 8.
 */
#ifndef BELFRY_DRIVERS_GIN_GFD_H
#define BELFRY_DRIVERS_GIN_GFD_H

#include "drivers/gin/cq.h"
#include "drivers/gin/gfd_words.h"
#include "traces/records/gin.h"

/*
 * Returns the ticket: the descriptor's number. The fence is for the data: the CPU's NIC reads them (NCCL has it where
 * its caller asked for the scope of the system). NCCL stores 16 bytes at a time, weakly, which no memory model lets the
 * CPU see; the words are the same.
 */
BF_DEVICE uint64_t bf_gfd_post(struct bf_thread *t, struct bf_gin_qp *qp, const struct bf_gfd *d)
{
	const uint64_t index = bf_atomic_add64(t, &qp->gfd->pi, 1, BF_AT_SYS);
	uint8_t *slot = qp->gfd->slots + (index & (qp->gfd->size - 1)) * BF_GFD_WORDS * 8;
	uint64_t word[BF_GFD_WORDS];

	bf_fence_sys(t);
	bf_gfd_encode(d, word);
	while (qp->gfd->size <= index - bf_ld_acquire64(t, &qp->gfd->ci, BF_AT_SYS))
		bf_spin(t, &qp->gfd->ci, "room in the proxy's queue");
	BF_DRIVER_RECORD(t, gin_descriptor, .index = index, .qpn = qp->sq_num, .op = d->op);
	for (uint32_t i = 0; i < BF_GFD_WORDS; i++)
		bf_st_relaxed64(t, slot + i * 8, word[i], BF_AT_SYS);
	return index;
}

/* All descriptors before `upto` were executed. */
BF_DEVICE void bf_gfd_wait(struct bf_thread *t, const struct bf_gin_qp *qp, uint64_t upto)
{
	while (bf_ld_acquire64(t, &qp->gfd->ci, BF_AT_SYS) < upto)
		bf_spin(t, &qp->gfd->ci, "descriptors that the proxy executes");
}

/* The CPU's side: whether descriptor `index` has begun to come; then all of it, or what is there (`hasty`). */
BF_DEVICE int bf_gfd_take(struct bf_thread *t, struct bf_gin_qp *qp, uint64_t index, int hasty, struct bf_gfd *d)
{
	uint8_t *slot = qp->gfd->slots + (index & (qp->gfd->size - 1)) * BF_GFD_WORDS * 8;
	uint64_t word[BF_GFD_WORDS];

	if (!(bf_ld_acquire64(t, slot, BF_AT_SYS) & 1))
		return 0;
	for (uint32_t i = 0; i < BF_GFD_WORDS; i++)
		while (!((word[i] = bf_ld_acquire64(t, slot + i * 8, BF_AT_SYS)) & 1) && !hasty)
			bf_spin(t, slot + i * 8, "a word of a descriptor");
	for (uint32_t i = 0; i < BF_GFD_WORDS; i++)
		bf_st_relaxed64(t, slot + i * 8, 0, BF_AT_SYS);
	bf_gfd_decode(word, d);
	return 1;
}

#endif
