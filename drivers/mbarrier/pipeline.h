/*
 * A pipeline of stages, each with a barrier that says "full" and one that says "empty": CUTLASS's PipelineTmaAsync
 * (NVIDIA/cutlass include/cutlass/pipeline/sm90_pipeline.hpp).
 *
 * Both sides go round the stages with an index and a phase that flips with each lap. A wait with a parity is over when
 * the barrier's phase has the other one; a fresh barrier has phase 0. So the consumer begins with phase 0 (nothing is
 * full) and the producer with phase 1 (everything is empty).
 */
#ifndef BELFRY_DRIVERS_MBARRIER_PIPELINE_H
#define BELFRY_DRIVERS_MBARRIER_PIPELINE_H

#include "drivers/mbarrier/barrier.h"

struct bf_mbar_state {
	uint32_t index, phase;
};

BF_DEVICE struct bf_mbar_state bf_mbar_producer_start(const struct bf_mbar_job *j)
{
	struct bf_mbar_state s;

	s.index = 0;
	s.phase = j->bugs & BF_MBAR_BUG_FIRST_PHASE ? 0 : 1;
	return s;
}
BF_DEVICE struct bf_mbar_state bf_mbar_consumer_start(void)
{
	struct bf_mbar_state s;

	s.index = 0;
	s.phase = 0;
	return s;
}
BF_DEVICE void bf_mbar_advance(const struct bf_mbar_job *j, struct bf_mbar_state *s)
{
	if (++s->index < j->stages)
		return;
	s->index = 0;
	s->phase ^= 1;
}

/* Consumers that flip with every tile instead of every lap are two phases behind after the first lap. */
BF_DEVICE void bf_mbar_advance_consumer(const struct bf_mbar_job *j, struct bf_mbar_state *s)
{
	if (j->bugs & BF_MBAR_BUG_TWO_BEHIND) {
		s->index = s->index + 1 < j->stages ? s->index + 1 : 0;
		s->phase ^= 1;
		return;
	}
	bf_mbar_advance(j, s);
}

BF_DEVICE uint32_t bf_mbar_full(const struct bf_thread *t, uint32_t stage)
{
	return bf_shared_base(t) + 8 * stage;
}
BF_DEVICE uint32_t bf_mbar_empty(const struct bf_thread *t, const struct bf_mbar_job *j, uint32_t stage)
{
	return bf_shared_base(t) + 8 * (j->stages + stage);
}
BF_DEVICE uint32_t bf_mbar_stage(const struct bf_thread *t, const struct bf_mbar_job *j, uint32_t stage)
{
	return bf_shared_base(t) + bf_mbar_stage_offset(j, j->bugs & BF_MBAR_BUG_STAGES_MEET ? stage / 2 : stage);
}

/* Who arrives on a pipeline's barriers. */
struct bf_mbar_parties {
	const char *full_who;
	uint32_t full_count, empty_count;
	uint32_t full_warps, empty_warps; /* masks */
	uint32_t odd_empty_warps;         /* of stages with an odd number */
	uint32_t full_each, empty_each;   /* arrivals of one warp in a phase */
	uint32_t full_ranks, empty_ranks; /* masks */
};

/* One thread; whoever else uses the barriers must wait until it has. */
BF_DEVICE void bf_mbar_pipeline_init(struct bf_thread *t, const struct bf_mbar_job *j, const struct bf_mbar_parties *p)
{
	for (uint32_t i = 0; i < j->stages; i++) {
		const struct bf_bar_label full = {
			"full", p->full_who, i, p->full_ranks, p->full_warps, p->full_each, 0
		};
		const uint32_t readers = i & 1 ? p->odd_empty_warps : p->empty_warps;
		const struct bf_bar_label empty = {
			"empty", "consumers", i, p->empty_ranks, readers, p->empty_each, 1
		};

		if (j->bugs & BF_MBAR_BUG_NO_INIT && i == j->stages - 1)
			bf_bar_arrive(t, bf_mbar_full(t, i), p->full_count);
		else
			bf_bar_init(t, bf_mbar_full(t, i), p->full_count);
		bf_bar_init(t, bf_mbar_empty(t, j, i), p->empty_count);
		bf_bar_label(t, bf_mbar_full(t, i), full);
		bf_bar_label(t, bf_mbar_empty(t, j, i), empty);
	}
	if (!(j->bugs & BF_MBAR_BUG_NO_INIT_FENCE))
		bf_bar_init_fence(t);
}

/* The stage is ours to fill. */
BF_DEVICE void bf_mbar_acquire(struct bf_thread *t, const struct bf_mbar_job *j, const struct bf_mbar_state *s)
{
	if (!(j->bugs & BF_MBAR_BUG_NO_EMPTY_WAIT))
		bf_mbar_wait(t, bf_mbar_empty(t, j, s->index), s->phase, j->bugs & ~(uint64_t)BF_MBAR_BUG_TRY_ONCE);
}

/* Arms the full barrier for the bytes that come; the token is what it was before. */
BF_DEVICE uint64_t bf_mbar_arm(struct bf_thread *t, const struct bf_mbar_job *j, const struct bf_mbar_state *s,
			       uint32_t bytes)
{
	const uint32_t bar = bf_mbar_full(t, s->index);

	if (j->bugs & BF_MBAR_BUG_TX_OVER)
		bytes += 16;
	if (j->bugs & BF_MBAR_BUG_TX_UNDER)
		bytes -= 16;
	if (j->bugs & BF_MBAR_BUG_TX_RANGE)
		bytes = 1u << 20;
	if (j->bugs & BF_MBAR_BUG_EXPECT_ONLY) {
		bf_bar_expect_tx(t, bar, bytes);
		return 0;
	}
	if (j->bugs & (BF_MBAR_BUG_NO_EXPECT | BF_MBAR_BUG_LATE_EXPECT))
		return bf_bar_arrive_token(t, bar, 1);
	return bf_bar_arrive_tx_token(t, bar, bytes);
}

/* All lanes of a consumer warp have read the stage: one arrives for all. */
BF_DEVICE uint64_t bf_mbar_release(struct bf_thread *t, const struct bf_mbar_job *j, const struct bf_mbar_state *s)
{
	const uint32_t empty = bf_mbar_empty(t, j, s->index);

	bf_warp_sync(t, BF_FULL_WARP);
	if (j->bugs & BF_MBAR_BUG_LANES_ARRIVE || (j->bugs & BF_MBAR_BUG_EXTRA_ARRIVE && bf_lane(t) == 0))
		bf_bar_arrive(t, empty, 1);
	if (bf_lane(t) || j->bugs & BF_MBAR_BUG_LANES_ARRIVE)
		return 0;
	return bf_bar_arrive_token(t, empty, j->bugs & BF_MBAR_BUG_COUNT_ARRIVE ? BF_LANES : 1);
}

/* Before a producer ends: every stage has come back, so nobody will arrive any more. A stage never used is free at
 * once. */
BF_DEVICE void bf_mbar_tail(struct bf_thread *t, const struct bf_mbar_job *j, struct bf_mbar_state s)
{
	if (j->bugs & (BF_MBAR_BUG_NO_EMPTY_WAIT | BF_MBAR_BUG_EARLY_EXIT))
		return;
	for (uint32_t i = 0; i < j->stages; i++) {
		bf_mbar_acquire(t, j, &s);
		bf_mbar_advance(j, &s);
	}
}

#endif
