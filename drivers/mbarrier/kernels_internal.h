/* The kernels for one platform; its header comes first. */
#ifndef BELFRY_DRIVERS_MBARRIER_KERNELS_INTERNAL_H
#define BELFRY_DRIVERS_MBARRIER_KERNELS_INTERNAL_H

#include "drivers/mbarrier/ampere.h"
#include "drivers/mbarrier/kernels.h"
#include "drivers/mbarrier/order.h"
#include "drivers/mbarrier/share_internal.h"
#include "drivers/mbarrier/stress_internal.h"

/* ---- pipeline: one thread loads, consumer warps transform and store ---- */

BF_DEVICE void bf_mbar_pipeline_producer(struct bf_thread *t, const struct bf_mbar_job *j)
{
	struct bf_mbar_state s = bf_mbar_producer_start(j);

	if (bf_lane(t))
		return;
	for (uint32_t i = 0; i < j->iterations; i++) {
		bf_mbar_note_token(t, j, 0, s.index, i, bf_mbar_load_tile(t, j, &s, i));
		bf_mbar_advance(j, &s);
	}
	for (uint32_t i = 0; i < j->stages && j->bugs & BF_MBAR_BUG_EARLY_INVAL; i++) {
		bf_bar_inval(t, bf_mbar_full(t, i));
		bf_bar_init(t, bf_mbar_full(t, i), 1);
	}
	bf_mbar_tail(t, j, s);
}

/* A consumer warp waits for the tile in a stage, in one of several ways that are wrong where asked. */
BF_DEVICE void bf_mbar_await_tile(struct bf_thread *t, const struct bf_mbar_job *j, const struct bf_mbar_state *s)
{
	const uint32_t full = bf_mbar_full(t, s->index);

	if (j->bugs & BF_MBAR_BUG_PEEK_WORD) {
		while (bf_lane(t) == 0 && (uint32_t)(bf_shared_ld64(t, full) >> 63) == s->phase)
			bf_pause(t, 500);
		bf_warp_sync(t, BF_FULL_WARP);
		return;
	}
	bf_mbar_wait_warp(t, j, j->bugs & BF_MBAR_BUG_WRONG_WAIT ? bf_mbar_empty(t, j, s->index) : full, s->phase);
	if (j->bugs & BF_MBAR_BUG_DOUBLE_WAIT)
		bf_mbar_wait_warp(t, j, full, s->phase ^ 1);
}

/* The first consumer warp may forget its third tile. */
BF_DEVICE int bf_mbar_forgets(const struct bf_thread *t, const struct bf_mbar_job *j, uint32_t tile)
{
	return j->bugs & BF_MBAR_BUG_SKIP_ARRIVE && tile == 2 && bf_warp(t) == j->producers;
}

BF_DEVICE void bf_mbar_pipeline_consumer(struct bf_thread *t, const struct bf_mbar_job *j)
{
	struct bf_mbar_state s = bf_mbar_consumer_start();

	if (bf_mbar_stand(t, j) == BF_LED)
		return;
	for (uint32_t i = 0; i < j->iterations; i++) {
		bf_mbar_await_tile(t, j, &s);
		bf_mbar_consume(t, j, s.index, i, bf_warp(t) - 1, j->consumers);
		if (!bf_mbar_forgets(t, j, i))
			bf_mbar_note_token(t, j, 1 + bf_warp(t), j->stages + s.index, i, bf_mbar_release(t, j, &s));
		bf_mbar_advance_consumer(j, &s);
	}
	bf_mbar_stores_done(t);
	bf_stand_end(t);
}

BF_DEVICE struct bf_mbar_parties bf_mbar_pipeline_parties(const struct bf_mbar_job *j)
{
	struct bf_mbar_parties p;

	p.full_who = "producer";
	p.full_count = 1;
	p.full_warps = 1;
	p.full_each = 1;
	p.empty_count = j->consumers * (j->bugs & BF_MBAR_BUG_EMPTY_COUNT ? BF_LANES : 1);
	p.empty_warps = p.odd_empty_warps = bf_mbar_warp_mask(1, j->consumers);
	p.empty_each = 1;
	p.full_ranks = 1;
	p.empty_ranks = 1;
	return p;
}

/* What a warp that believes the barriers to be its own does before it starts. */
BF_DEVICE void bf_mbar_init_late(struct bf_thread *t, const struct bf_mbar_job *j, const struct bf_mbar_parties *p)
{
	bf_pause(t, 200);
	if (bf_lane(t) == 0)
		bf_mbar_pipeline_init(t, j, p);
	bf_warp_sync(t, BF_FULL_WARP);
}

BF_DEVICE void bf_mbar_pipeline(struct bf_thread *t, const struct bf_mbar_job *j)
{
	const struct bf_mbar_parties p = bf_mbar_pipeline_parties(j);

	if (bf_warp(t) == 0 && bf_lane(t) == 0)
		bf_mbar_pipeline_init(t, j, &p);
	bf_mbar_published(t, j);
	if (j->bugs & BF_MBAR_BUG_INIT_TWICE && bf_warp(t) == j->consumers)
		bf_mbar_init_late(t, j, &p);
	if (bf_warp(t) == 0)
		bf_mbar_pipeline_producer(t, j);
	else
		bf_mbar_pipeline_consumer(t, j);
	bf_mbar_abandoned(t, j);
}

/* ---- the programming guide's style: every thread of the block arrives, one of them with the bytes ---- */

BF_DEVICE void bf_mbar_guide_tile(struct bf_thread *t, const struct bf_mbar_job *j, uint32_t tile)
{
	const struct bf_mbar_state s = bf_mbar_consumer_start();
	const uint32_t bar = bf_mbar_full(t, 0);
	uint64_t token;

	if (j->bugs & BF_MBAR_BUG_ELECTED_WAIT && bf_warp(t) == 0) {
		if (bf_lane(t))
			bf_mbar_wait_token(t, bar, bf_bar_arrive_token(t, bar, 1));
		bf_warp_sync(t, BF_FULL_WARP);
	}
	if (j->bugs & BF_MBAR_BUG_SPLIT_ARRIVE)
		for (uint32_t lane = 0; lane <= bf_lane(t); lane++) /* each its own instruction */
			bf_pause(t, 20);
	if (bf_warp(t) == 0 && bf_lane(t) == 0) {
		bf_tma_load(t, bf_mbar_stage(t, j, 0), bf_mbar_tile_in(t, j, tile), j->bytes, bar);
		token = bf_mbar_arm(t, j, &s, j->bytes);
	} else {
		token = bf_bar_arrive_token(t, bar, 1);
	}
	if (j->bugs & BF_MBAR_BUG_EXPECT_ONLY)
		bf_mbar_wait(t, bar, tile & 1, j->bugs);
	else
		bf_mbar_wait_token(t, bar, token);
}

BF_DEVICE void bf_mbar_guide(struct bf_thread *t, const struct bf_mbar_job *j)
{
	const uint32_t warps = bf_mbar_warps(j);
	struct bf_mbar_parties p = bf_mbar_pipeline_parties(j);

	p.full_who = "all threads";
	p.full_count = warps * BF_LANES;
	p.full_warps = bf_mbar_warp_mask(0, warps);
	p.full_each = BF_LANES;
	p.empty_warps = p.odd_empty_warps = 0;
	if (bf_warp(t) == 0 && bf_lane(t) == 0)
		bf_mbar_pipeline_init(t, j, &p);
	bf_mbar_published(t, j);
	for (uint32_t i = 0; i < j->iterations; i++) {
		bf_mbar_guide_tile(t, j, i);
		bf_mbar_consume(t, j, 0, i, bf_warp(t), warps);
		bf_block_sync(t); /* the stage is loaded again only when all have read it */
	}
	bf_mbar_stores_done(t);
	bf_mbar_abandoned(t, j);
}

/* ---- ring: producer warps store tiles themselves ---- */

BF_DEVICE void bf_mbar_ring_producer(struct bf_thread *t, const struct bf_mbar_job *j)
{
	struct bf_mbar_state s = bf_mbar_producer_start(j);
	const uint32_t bytes = j->bytes / j->producers, from = bf_warp(t) * bytes;

	for (uint32_t i = 0; i < j->iterations; i++) {
		const uint8_t *in = bf_mbar_tile_in(t, j, i) + from;

		if (!(j->bugs & BF_MBAR_BUG_NO_EMPTY_WAIT))
			bf_mbar_wait_warp(t, j, bf_mbar_empty(t, j, s.index), s.phase);
		for (uint32_t at = 16 * bf_lane(t); at < bytes; at += 16 * BF_LANES) {
			struct bf_vec128 v;

			for (uint32_t k = 0; k < 4; k++)
				v.w[k] = bf_ld_weak32(t, in + at + 4 * k);
			bf_shared_st128(t, bf_mbar_stage(t, j, s.index) + from + at, v);
		}
		if (!(j->bugs & BF_MBAR_BUG_NO_WARP_SYNC))
			bf_warp_sync(t, BF_FULL_WARP);
		if (bf_lane(t) == 0)
			bf_mbar_note_token(t, j, bf_warp(t), s.index, i,
					   bf_bar_arrive_token(t, bf_mbar_full(t, s.index), 1));
		bf_mbar_advance(j, &s);
	}
}

BF_DEVICE void bf_mbar_ring_consumer(struct bf_thread *t, const struct bf_mbar_job *j)
{
	struct bf_mbar_state s = bf_mbar_consumer_start();
	const uint32_t share = bf_warp(t) - j->producers, bytes = j->bytes / j->consumers, from = share * bytes;
	uint32_t random = bf_mbar_random_seed(j->seed, bf_block(t), bf_warp(t));

	for (uint32_t i = 0; i < j->iterations; i++) {
		uint8_t *out = bf_mbar_tile_out(t, j, i) + from;

		bf_mbar_await_tile(t, j, &s);
		if (j->lag && bf_mbar_random(&random) % j->lag == 0)
			bf_pause(t, 2000);
		for (uint32_t at = 16 * bf_lane(t); at < bytes; at += 16 * BF_LANES) {
			const struct bf_vec128 v = bf_shared_ld128(t, bf_mbar_stage(t, j, s.index) + from + at);

			for (uint32_t k = 0; k < 4; k++)
				bf_st_weak32(t, out + at + 4 * k, bf_mbar_transform(v.w[k], i));
		}
		if (!bf_mbar_forgets(t, j, i))
			bf_mbar_note_token(t, j, bf_warp(t), j->stages + s.index, i, bf_mbar_release(t, j, &s));
		bf_mbar_advance_consumer(j, &s);
	}
}

BF_DEVICE void bf_mbar_ring(struct bf_thread *t, const struct bf_mbar_job *j)
{
	struct bf_mbar_parties p = bf_mbar_pipeline_parties(j);

	p.full_who = "producers";
	p.full_count = j->producers;
	p.full_warps = bf_mbar_warp_mask(0, j->producers);
	p.empty_warps = p.odd_empty_warps = bf_mbar_warp_mask(j->producers, j->consumers);
	if (bf_warp(t) == 0 && bf_lane(t) == 0)
		bf_mbar_pipeline_init(t, j, &p);
	bf_mbar_published(t, j);
	if (j->bugs & BF_MBAR_BUG_INIT_TWICE && bf_warp(t) == bf_mbar_warps(j) - 1)
		bf_mbar_init_late(t, j, &p);
	if (bf_warp(t) < j->producers)
		bf_mbar_ring_producer(t, j);
	else
		bf_mbar_ring_consumer(t, j);
	bf_mbar_abandoned(t, j);
}

/* ---- ping-pong: tiles go to two groups in turn, and so do the two sections of the work on them ---- */

/* Notes whose turn it is; whoever finds another group inside says so by the group that it names. */
BF_DEVICE void bf_mbar_turn(struct bf_thread *t, const struct bf_mbar_job *j, const struct bf_mbar_order *o,
			    uint32_t tile)
{
	const uint32_t at = bf_shared_base(t) + BF_MBAR_TURN_OFFSET + 8 * o->section;
	struct bf_mbar_note *notes = bf_mbar_notes_of(t, j) + bf_mbar_barriers(j);
	const uint32_t turns = bf_shared_ld32(t, at + 4);

	if (turns < j->iterations)
		bf_mbar_note(&notes[o->section * j->iterations + turns], BF_MBAR_NOTE_TURN, o->section, turns, o->group,
			     tile);
	bf_shared_st32(t, at + 4, turns + 1);
}

BF_DEVICE void bf_mbar_pingpong_consumer(struct bf_thread *t, const struct bf_mbar_job *j, uint32_t group)
{
	const uint32_t share = (bf_warp(t) - 1) % j->consumers;
	struct bf_mbar_order o = bf_mbar_order_start(j, bf_shared_base(t) + 16 * j->stages, group);
	struct bf_mbar_state s = bf_mbar_consumer_start();

	if (bf_mbar_stand(t, j) == BF_LED)
		return;
	for (uint32_t i = 0; i < j->iterations; i++) {
		if (i % 2 == group) {
			bf_mbar_order_enter(t, j, &o);
			if (share == 0 && bf_lane(t) == 0)
				bf_mbar_turn(t, j, &o, i);
			bf_mbar_wait_warp(t, j, bf_mbar_full(t, s.index), s.phase);
			bf_mbar_order_leave(t, &o);
			bf_mbar_order_enter(t, j, &o);
			if (share == 0 && bf_lane(t) == 0)
				bf_mbar_turn(t, j, &o, i);
			bf_mbar_consume(t, j, s.index, i, share, j->consumers);
			if (bf_lane(t) == 0)
				bf_tma_wait_read(t, 0); /* the store buffer passes to the other group */
			bf_mbar_order_leave(t, &o);
			bf_mbar_release(t, j, &s);
		}
		bf_mbar_advance_consumer(j, &s);
	}
	bf_mbar_stores_done(t);
	bf_stand_end(t);
}

BF_DEVICE void bf_mbar_pingpong_producer(struct bf_thread *t, const struct bf_mbar_job *j)
{
	struct bf_mbar_state s = bf_mbar_producer_start(j);

	if (bf_lane(t))
		return;
	for (uint32_t i = 0; i < j->iterations; i++) {
		bf_mbar_load_tile(t, j, &s, i);
		bf_mbar_advance(j, &s);
	}
	bf_mbar_tail(t, j, s);
}

BF_DEVICE void bf_mbar_pingpong(struct bf_thread *t, const struct bf_mbar_job *j)
{
	struct bf_mbar_parties p = bf_mbar_pipeline_parties(j);

	/* With an even number of stages each belongs to one group; otherwise to both in turn. */
	p.empty_warps = j->stages & 1 ? 0 : bf_mbar_warp_mask(1, j->consumers);
	p.odd_empty_warps = j->stages & 1 ? 0 : bf_mbar_warp_mask(1 + j->consumers, j->consumers);
	if (bf_warp(t) == 0 && bf_lane(t) == 0) {
		bf_mbar_pipeline_init(t, j, &p);
		bf_mbar_order_init(t, j, bf_shared_base(t) + 16 * j->stages);
		for (uint32_t i = 0; i < 4; i++)
			bf_shared_st32(t, bf_shared_base(t) + BF_MBAR_TURN_OFFSET + 4 * i, 0);
	}
	bf_mbar_published(t, j);
	if (bf_warp(t) == 0)
		bf_mbar_pingpong_producer(t, j);
	else
		bf_mbar_pingpong_consumer(t, j, (bf_warp(t) - 1) / j->consumers);
	bf_mbar_abandoned(t, j);
}

/* ---- cluster: each block loads a share of each tile for all; a stage is free when all blocks have read it ---- */

BF_DEVICE uint32_t bf_mbar_cluster_trips(const struct bf_thread *t, const struct bf_mbar_job *j)
{
	return j->bugs & BF_MBAR_BUG_TRIPS && bf_rank(t) == bf_ranks(t) - 1 ? j->iterations - 1 : j->iterations;
}

/* The cluster's tile: that of its first block. */
BF_DEVICE const uint8_t *bf_mbar_cluster_tile(const struct bf_thread *t, const struct bf_mbar_job *j, uint32_t tile)
{
	return j->in + ((uint64_t)(bf_block(t) - bf_rank(t)) * j->iterations + tile) * j->bytes;
}

BF_DEVICE void bf_mbar_cluster_producer(struct bf_thread *t, const struct bf_mbar_job *j)
{
	const uint32_t ranks = bf_ranks(t), bytes = j->bytes / ranks, from = bf_rank(t) * bytes;
	const uint32_t trips = bf_mbar_cluster_trips(t, j);
	struct bf_mbar_state s = bf_mbar_producer_start(j);

	if (bf_lane(t))
		return;
	for (uint32_t i = 0; i < trips; i++) {
		if (j->pace_ns)
			bf_pause(t, j->pace_ns);
		bf_mbar_acquire(t, j, &s);
		bf_mbar_note_token(t, j, 0, s.index, i,
				   bf_mbar_arm(t, j, &s,
					       j->bugs & BF_MBAR_BUG_MULTICAST_BYTES ? bytes
					       : j->bugs & BF_MBAR_BUG_TX_RANKS      ? j->bytes * ranks
										     : j->bytes));
		bf_tma_load_all(t, bf_mbar_stage(t, j, s.index) + from, bf_mbar_cluster_tile(t, j, i) + from, bytes,
				bf_mbar_full(t, s.index), bf_mbar_warp_mask(0, ranks));
		bf_mbar_advance(j, &s);
	}
	bf_mbar_tail(t, j, s);
}

/* All lanes of the warp have read the stage: a lane for each block tells it so. */
BF_DEVICE void bf_mbar_cluster_release(struct bf_thread *t, const struct bf_mbar_job *j, const struct bf_mbar_state *s)
{
	const uint32_t bar = bf_mbar_empty(t, j, s->index);

	bf_warp_sync(t, BF_FULL_WARP);
	if (bf_lane(t) >= bf_ranks(t))
		return;
	if (j->bugs & BF_MBAR_BUG_LOCAL_ARRIVE)
		bf_bar_arrive(t, bar, 1);
	else
		bf_bar_arrive_cluster(t, bf_shared_map(t, bar, bf_lane(t)), 1);
}

/*
 * The first consumer warp hands a line of its own to the next block, as a halo exchange would: plain stores to the
 * peer's memory, then an arrival that must release them at cluster scope.
 */
BF_DEVICE uint32_t bf_mbar_halo(struct bf_thread *t, const struct bf_mbar_job *j, uint32_t tile, uint32_t word)
{
	const uint32_t next = bf_rank(t) + 1 < bf_ranks(t) ? bf_rank(t) + 1 : 0;
	const uint32_t last = bf_rank(t) ? bf_rank(t) - 1 : bf_ranks(t) - 1;
	const uint32_t full = bf_shared_base(t) + 16 * j->stages, empty = full + 8;
	const uint32_t box = bf_shared_base(t) + BF_MBAR_BOX_OFFSET + 4 * bf_lane(t);
	uint32_t got;

	bf_mbar_wait_cluster(t, empty, (tile & 1) ^ 1);
	bf_peer_st32(t, bf_shared_map(t, box, next), word);
	bf_warp_sync(t, BF_FULL_WARP);
	if (bf_lane(t) == 0 && j->bugs & BF_MBAR_BUG_RELAXED_PEER)
		bf_bar_arrive_relaxed(t, bf_shared_map(t, full, next), 1);
	else if (bf_lane(t) == 0)
		bf_bar_arrive_cluster(t, bf_shared_map(t, full, next), 1);
	bf_mbar_wait_cluster(t, full, tile & 1);
	got = bf_shared_ld32(t, box);
	bf_warp_sync(t, BF_FULL_WARP);
	if (bf_lane(t) == 0)
		bf_bar_arrive_cluster(t, bf_shared_map(t, empty, last), 1);
	return got;
}

/* What the halo brought stands for the first words of the block's output: one word a lane. */
BF_DEVICE void bf_mbar_cluster_consumer(struct bf_thread *t, const struct bf_mbar_job *j)
{
	const uint32_t share = bf_warp(t) - 1, bytes = j->bytes / j->consumers, from = share * bytes;
	const uint32_t trips = bf_mbar_cluster_trips(t, j);
	struct bf_mbar_state s = bf_mbar_consumer_start();

	for (uint32_t i = 0; i < trips; i++) {
		uint8_t *out = bf_mbar_tile_out(t, j, i) + from;
		uint32_t own = 0;

		bf_mbar_wait_warp(t, j, bf_mbar_full(t, s.index), s.phase);
		for (uint32_t at = 4 * bf_lane(t); at < bytes; at += 4 * BF_LANES) {
			const uint32_t word = bf_shared_ld32(t, bf_mbar_stage(t, j, s.index) + from + at);

			own = at < 4 * BF_LANES ? word : own;
			if (share || at >= 4 * BF_LANES)
				bf_st_weak32(t, out + at, bf_mbar_transform(word, i) + bf_rank(t));
		}
		bf_mbar_cluster_release(t, j, &s);
		if (share == 0)
			bf_st_weak32(t, out + 4 * bf_lane(t), bf_mbar_halo(t, j, i, own + bf_rank(t)));
		bf_mbar_advance_consumer(j, &s);
	}
	if (share == 0 &&
	    !(j->bugs &
	      BF_MBAR_BUG_EARLY_EXIT)) /* the last arrival from the block behind, too, is here before this block ends */
		bf_mbar_wait_cluster(t, bf_shared_base(t) + 16 * j->stages + 8, (trips & 1) ^ 1);
}

BF_DEVICE void bf_mbar_cluster(struct bf_thread *t, const struct bf_mbar_job *j)
{
	struct bf_mbar_parties p = bf_mbar_pipeline_parties(j);
	const uint32_t all = bf_mbar_warp_mask(0, bf_ranks(t)), full = bf_shared_base(t) + 16 * j->stages;
	const uint32_t next = bf_rank(t) + 1 < bf_ranks(t) ? bf_rank(t) + 1 : 0;
	const uint32_t last = bf_rank(t) ? bf_rank(t) - 1 : bf_ranks(t) - 1;
	const struct bf_bar_label box_full = { "box full", "the block before", 0, 1u << last, 2, 1, 0 };
	const struct bf_bar_label box_empty = { "box empty", "the block behind", 0, 1u << next, 2, 1, 1 };

	p.full_ranks = 1u << bf_rank(t);
	p.empty_ranks = all;
	if (!(j->bugs & BF_MBAR_BUG_CLUSTER_COUNT))
		p.empty_count *= bf_ranks(t);
	if (bf_warp(t) == 0 && bf_lane(t) == 0) {
		bf_mbar_pipeline_init(t, j, &p);
		bf_bar_init(t, full, 1);
		bf_bar_init(t, full + 8, 1);
		bf_bar_label(t, full, box_full);
		bf_bar_label(t, full + 8, box_empty);
		if (!(j->bugs & BF_MBAR_BUG_NO_INIT_FENCE))
			bf_bar_init_fence(t);
	}
	bf_mbar_published(t, j);
	if (bf_warp(t) == 0)
		bf_mbar_cluster_producer(t, j);
	else
		bf_mbar_cluster_consumer(t, j);
	bf_mbar_abandoned(t, j);
}

/* ---- Ampere ---- */

BF_DEVICE void bf_mbar_ampere(struct bf_thread *t, const struct bf_mbar_job *j)
{
	const uint32_t warps = bf_mbar_warps(j), bytes = j->bytes / warps, from = bf_warp(t) * bytes;
	struct bf_mbar_parties p = bf_mbar_pipeline_parties(j);

	p.full_who = "all threads";
	p.full_count = warps * BF_LANES;
	p.full_each = BF_LANES;
	p.full_warps = bf_mbar_warp_mask(0, warps);
	p.empty_warps = p.odd_empty_warps = 0;
	if (bf_warp(t) == 0 && bf_lane(t) == 0)
		bf_mbar_pipeline_init(t, j, &p);
	bf_mbar_published(t, j);
	for (uint32_t i = 0; i + 1 < j->stages; i++)
		bf_mbar_ampere_load(t, j, i);
	for (uint32_t i = 0; i < j->iterations; i++) {
		uint8_t *out = bf_mbar_tile_out(t, j, i) + from;

		bf_mbar_ampere_wait(t, j, i);
		for (uint32_t at = 4 * bf_lane(t); at < bytes; at += 4 * BF_LANES)
			bf_st_weak32(
			    t, out + at,
			    bf_mbar_transform(bf_shared_ld32(t, bf_mbar_stage(t, j, i % j->stages) + from + at), i));
		bf_block_sync(t); /* the stage of the tile before is loaded again */
		bf_mbar_ampere_load(t, j, i + j->stages - 1);
	}
	bf_mbar_abandoned(t, j);
}

BF_DEVICE void bf_mbar_work(struct bf_thread *t, const struct bf_mbar_job *j)
{
	switch (j->work) {
	case BF_MBAR_PIPELINE:
		if (j->style == BF_MBAR_STYLE_GUIDE)
			bf_mbar_guide(t, j);
		else
			bf_mbar_pipeline(t, j);
		break;
	case BF_MBAR_RING:
		bf_mbar_ring(t, j);
		break;
	case BF_MBAR_PINGPONG:
		bf_mbar_pingpong(t, j);
		break;
	case BF_MBAR_CLUSTER:
		bf_mbar_cluster(t, j);
		break;
	case BF_MBAR_AMPERE:
		bf_mbar_ampere(t, j);
		break;
	default:
		bf_mbar_stress(t, j);
		break;
	}
}

#if !defined(__CUDACC__) && !defined(__HIPCC__)
static void bf_mbar_run_kernel(struct bf_thread *t, void *arg)
{
	bf_mbar_work(t, (const struct bf_mbar_job *)arg);
}

extern bf_kernel_fn *const bf_mbar_kernel_sim;
#endif

#endif
