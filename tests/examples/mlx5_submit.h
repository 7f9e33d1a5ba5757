/*
 * The code under test: a driver's data path that writes to a peer over an mlx5 queue pair, one entry at a time, in the
 * primitives of belfry's platform. Compiled as it is for a GPU, too (drivers/platform/platform_cuda.h).
 */
#ifndef MLX5_SUBMIT_H
#define MLX5_SUBMIT_H

#include <belfry.h>

struct my_queue {
	struct bf_trial_mlx5_queue hw;
	uint32_t produced, consumed; /* WQEBBs and CQEs, never wrapping in these tests */
	int no_entry_fence;          /* the mistake: the index may overtake the entry */
	int no_doorbell_fence;       /* another one: the doorbell may overtake the index */
};

static inline struct bf_vec128 my_vec(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	struct bf_vec128 v;

	v.w[0] = bf_htobe32(a);
	v.w[1] = bf_htobe32(b);
	v.w[2] = bf_htobe32(c);
	v.w[3] = bf_htobe32(d);
	return v;
}

/* RDMA WRITE of `bytes` bytes between the same offset of both heaps. */
static inline void my_write(struct bf_thread *t, struct my_queue *q, uint64_t offset, uint32_t bytes)
{
	const struct bf_trial_mlx5_queue *hw = &q->hw;
	const uint64_t from = hw->local_va + offset, to = hw->remote_va + offset;
	const uint32_t first = (q->produced & 0xffff) << 8 | BF_MLX5_OP_RDMA_WRITE;
	uint8_t *slot = hw->sq + (q->produced & (hw->wqebbs - 1)) * BF_MLX5_WQEBB;
	const uint32_t ds = 3;
	uint64_t doorbell;

	bf_st_weak128(t, slot, my_vec(first, hw->qpn << 8 | ds, BF_MLX5_CTRL_CQ_UPDATE, 0));
	bf_st_weak128(t, slot + 16, my_vec((uint32_t)(to >> 32), (uint32_t)to, hw->rkey, 0));
	bf_st_weak128(t, slot + 32, my_vec(bytes, hw->lkey, (uint32_t)(from >> 32), (uint32_t)from));
	q->produced++;
	if (!q->no_entry_fence)
		bf_fence_sys(t);
	bf_st_relaxed32(t, hw->dbrec, bf_htobe32(q->produced & 0xffff), BF_AT_SYS);
	if (!q->no_doorbell_fence)
		bf_fence_sys(t);
	doorbell = (uint64_t)bf_htobe32(hw->qpn << 8 | ds) << 32 | bf_htobe32(first);
	bf_mmio_st64(t, hw->doorbell, doorbell);
}

/* Waits for the next completion. Returns its opcode: 0 is good, 13 an error of ours. */
static inline uint32_t my_wait(struct bf_thread *t, struct my_queue *q)
{
	const struct bf_trial_mlx5_queue *hw = &q->hw;
	const uint8_t *last = hw->cq + (q->consumed & (hw->cqes - 1)) * 64 + 60;
	const uint32_t owner = q->consumed / hw->cqes & 1;
	uint32_t word = bf_ld_acquire32(t, last, BF_AT_SYS);

	while (word >> 28 == BF_MLX5_CQE_INVALID || (word >> 24 & BF_MLX5_CQE_OWNER) != owner) {
		bf_spin(t, last, "completion");
		word = bf_ld_acquire32(t, last, BF_AT_SYS);
	}
	q->consumed++;
	bf_st_relaxed32(t, hw->cq_dbrec, bf_htobe32(q->consumed & 0xffffff), BF_AT_SYS);
	return word >> 28;
}

#endif
