/*
 * Stress: all warps at random on shared barriers, round by round, then each alone on one of its own, where every token
 * and answer is noted.
 */
#ifndef BELFRY_DRIVERS_MBARRIER_STRESS_INTERNAL_H
#define BELFRY_DRIVERS_MBARRIER_STRESS_INTERNAL_H

#include "drivers/mbarrier/share_internal.h"

/* A round: each warp arrives 32 times on each shared barrier, in an order and in pieces of its own. */
BF_DEVICE void bf_mbar_stress_round(struct bf_thread *t, const struct bf_mbar_job *j, uint32_t *random, uint32_t round)
{
	const uint32_t start = bf_mbar_random(random) % j->barriers;

	for (uint32_t k = 0; k < j->barriers; k++) {
		const uint32_t bar = bf_shared_base(t) + 8 * ((start + k) % j->barriers);
		const uint32_t how = bf_mbar_random(random), tx = how >> 8 & 0xfff, split = 1 + (how >> 20) % 31;

		if (how & 1 && bf_lane(t) == 0)
			bf_bar_expect_tx(t, bar, tx);
		bf_warp_sync(t, BF_FULL_WARP);
		if (how & 2)
			bf_bar_arrive(t, bar, 1);
		else if (bf_lane(t) == split)
			bf_bar_arrive(t, bar, split);
		else if (bf_lane(t) == 0)
			bf_bar_arrive(t, bar, BF_LANES - split);
		bf_warp_sync(t, BF_FULL_WARP);
		if (how & 1 && bf_lane(t) == 0)
			bf_bar_complete_tx(t, bar, tx + (j->bugs & BF_MBAR_BUG_COMPLETE_MORE ? 16 : 0));
	}
	for (uint32_t k = 0; k < j->barriers; k++)
		bf_mbar_wait_warp(t, j, bf_shared_base(t) + 8 * k, round & 1);
}

/* One step of the sequence on the warp's own barrier: legal whatever came before, as the counts kept here say. */
struct bf_mbar_walk {
	uint32_t bar, random;
	uint32_t expected, pending, phase;
	int32_t tx;
	uint64_t token;
};

BF_DEVICE void bf_mbar_walk_settle(struct bf_mbar_walk *w)
{
	if (w->pending || w->tx)
		return;
	w->pending = w->expected;
	w->phase ^= 1;
}

BF_DEVICE uint64_t bf_mbar_walk_arrive(struct bf_thread *t, struct bf_mbar_walk *w, uint32_t n, uint32_t drop)
{
	const uint64_t token = drop ? bf_bar_drop_token(t, w->bar, n) : bf_bar_arrive_token(t, w->bar, n);

	w->expected -= drop ? n : 0;
	w->pending -= n;
	bf_mbar_walk_settle(w);
	return token;
}

BF_DEVICE void bf_mbar_walk_step(struct bf_thread *t, struct bf_mbar_walk *w, uint32_t step, struct bf_mbar_note *note)
{
	const uint32_t random = bf_mbar_random(&w->random), what = random % 8, n = 1 + (random >> 8) % 3;
	const uint32_t bytes = 1 + (random >> 12) % 5000;

	if (step == 0 || (what == 0 && n == 1)) {
		w->expected = w->pending = 2 + (random >> 16) % 12;
		w->tx = 0;
		w->phase = 0;
		bf_bar_init(t, w->bar, w->expected);
		bf_mbar_note(note, BF_MBAR_NOTE_WORD, w->bar - bf_shared_base(t), step, 0, 0);
	} else if (what <= 2 && w->pending >= n) {
		w->token = bf_mbar_walk_arrive(t, w, n, 0);
		bf_mbar_note(note, BF_MBAR_NOTE_TOKEN, w->bar - bf_shared_base(t), step, n, w->token);
	} else if (what == 3 && w->pending >= n && w->expected > n) {
		w->token = bf_mbar_walk_arrive(t, w, n, 1);
		bf_mbar_note(note, BF_MBAR_NOTE_TOKEN, w->bar - bf_shared_base(t), step, n, w->token);
	} else if (what == 4 && w->pending && w->tx < 500000) {
		bf_bar_expect_tx(t, w->bar, bytes);
		w->tx += (int32_t)bytes;
		bf_mbar_walk_settle(w);
		bf_mbar_note(note, BF_MBAR_NOTE_TEST, w->bar - bf_shared_base(t), step, bytes, 0);
	} else if (what == 5 && w->tx > -500000) {
		const uint32_t settle = w->tx > 0 && random >> 30 ? (uint32_t)w->tx : bytes;

		bf_bar_complete_tx(t, w->bar, settle);
		w->tx -= (int32_t)settle;
		bf_mbar_walk_settle(w);
		bf_mbar_note(note, BF_MBAR_NOTE_TEST, w->bar - bf_shared_base(t), step, settle, 0);
	} else if (what == 6) {
		bf_mbar_note(note, BF_MBAR_NOTE_COUNT, w->bar - bf_shared_base(t), step,
			     bf_bar_pending_count(t, w->token), 0);
	} else {
		bf_mbar_note(note, BF_MBAR_NOTE_TEST, w->bar - bf_shared_base(t), step,
			     (uint32_t)bf_bar_test(t, w->bar, random >> 9 & 1) << 1 |
				 (uint32_t)bf_bar_test_token(t, w->bar, w->token),
			     0);
	}
}

BF_DEVICE void bf_mbar_stress_walk(struct bf_thread *t, const struct bf_mbar_job *j)
{
	struct bf_mbar_note *notes =
	    bf_mbar_notes_of(t, j) + bf_mbar_barriers(j) + j->iterations * j->barriers + bf_warp(t) * BF_MBAR_STEPS;
	struct bf_mbar_walk w;

	if (bf_lane(t))
		return;
	w.bar = bf_shared_base(t) + 8 * (j->barriers + bf_warp(t));
	w.random = bf_mbar_random_seed(j->seed ^ 0x5bd1e995u, bf_block(t), bf_warp(t));
	w.expected = w.pending = w.phase = 0;
	w.tx = 0;
	w.token = 0;
	for (uint32_t i = 0; i < BF_MBAR_STEPS; i++)
		bf_mbar_walk_step(t, &w, i, &notes[i]);
}

BF_DEVICE void bf_mbar_stress(struct bf_thread *t, const struct bf_mbar_job *j)
{
	const uint32_t warps = bf_mbar_warps(j);
	struct bf_mbar_note *notes = bf_mbar_notes_of(t, j) + bf_mbar_barriers(j);
	uint32_t random = bf_mbar_random_seed(j->seed, bf_block(t), bf_warp(t));

	if (bf_warp(t) == 0 && bf_lane(t) == 0)
		for (uint32_t i = 0; i < j->barriers; i++) {
			const struct bf_bar_label label = {
				"shared", "all warps", i, 1, bf_mbar_warp_mask(0, warps), BF_LANES, 0
			};

			bf_bar_init(t, bf_shared_base(t) + 8 * i, warps * BF_LANES);
			bf_bar_label(t, bf_shared_base(t) + 8 * i, label);
		}
	bf_mbar_published(t, j);
	for (uint32_t i = 0; i < j->iterations; i++) {
		bf_mbar_stress_round(t, j, &random, i);
		bf_block_sync(t);
		for (uint32_t k = 0; bf_warp(t) == 0 && bf_lane(t) == 0 && k < j->barriers; k++)
			bf_mbar_note(&notes[i * j->barriers + k], BF_MBAR_NOTE_WORD, k, i, 0,
				     bf_mbar_retire(t, bf_shared_base(t) + 8 * k));
		bf_block_sync(t);
	}
	bf_mbar_stress_walk(t, j);
	bf_mbar_abandoned(t, j);
}

#endif
