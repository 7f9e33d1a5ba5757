/* What the workloads share: where tiles and notes lie, barriers' beginning and end, a consumer's work on its share. */
#ifndef BELFRY_DRIVERS_MBARRIER_SHARE_INTERNAL_H
#define BELFRY_DRIVERS_MBARRIER_SHARE_INTERNAL_H

#include "drivers/mbarrier/pipeline.h"

BF_DEVICE uint32_t bf_mbar_warp_mask(uint32_t first, uint32_t n)
{
	return (n < 32 ? (1u << n) - 1 : ~0u) << first;
}

BF_DEVICE const uint8_t *bf_mbar_tile_in(const struct bf_thread *t, const struct bf_mbar_job *j, uint32_t tile)
{
	return j->in + ((uint64_t)bf_block(t) * j->iterations + tile) * j->bytes;
}
BF_DEVICE uint8_t *bf_mbar_tile_out(const struct bf_thread *t, const struct bf_mbar_job *j, uint32_t tile)
{
	return j->out + ((uint64_t)bf_block(t) * j->iterations + tile) * j->bytes;
}
BF_DEVICE struct bf_mbar_note *bf_mbar_notes_of(const struct bf_thread *t, const struct bf_mbar_job *j)
{
	return j->notes + (uint64_t)bf_block(t) * bf_mbar_notes(j);
}

/* The note of a warp's arrival for a tile (not PINGPONG, not STRESS). */
BF_DEVICE void bf_mbar_note_token(const struct bf_thread *t, const struct bf_mbar_job *j, uint32_t slot, uint32_t bar,
				  uint32_t tile, uint64_t token)
{
	struct bf_mbar_note *at = bf_mbar_notes_of(t, j) + bf_mbar_barriers(j);

	if (bf_lane(t) == 0)
		bf_mbar_note(&at[tile * (1 + bf_mbar_warps(j)) + slot], BF_MBAR_NOTE_TOKEN, bar, tile, 0, token);
}

BF_DEVICE struct bf_vec128 bf_mbar_transform128(struct bf_vec128 v, uint32_t tile)
{
	for (uint32_t i = 0; i < 4; i++)
		v.w[i] = bf_mbar_transform(v.w[i], tile);
	return v;
}

/* The barriers as the kernel leaves them; one thread, when nobody uses them any more. */
BF_DEVICE void bf_mbar_note_words(struct bf_thread *t, const struct bf_mbar_job *j)
{
	struct bf_mbar_note *at = bf_mbar_notes_of(t, j);

	for (uint32_t i = j->bugs & BF_MBAR_BUG_NO_INVAL ? 1 : 0; i < bf_mbar_barriers(j); i++)
		bf_mbar_note(&at[i], BF_MBAR_NOTE_WORD, i, 0, 0, bf_mbar_retire(t, bf_shared_base(t) + 8 * i));
}

/*
 * The barriers are no more, and the bytes of the first get data. Then more barriers come to life than the unit caches:
 * an old one that it still has would be written over the data.
 */
BF_DEVICE void bf_mbar_note_reuse(struct bf_thread *t, const struct bf_mbar_job *j)
{
	const uint32_t bytes = bf_shared_base(t), other = bytes + BF_MBAR_REUSE_OFFSET;
	struct bf_mbar_note *at = bf_mbar_notes_of(t, j) + bf_mbar_notes(j) - 1;

	bf_shared_st64(t, bytes, BF_MBAR_REUSE_DATA);
	bf_fence_cta(t);
	for (uint32_t i = 0; i < 24; i++)
		bf_bar_init(t, other + 16 * i, 1);
	bf_mbar_note(at, BF_MBAR_NOTE_DATA, 0, 0, 0, bf_shared_ld64(t, bytes));
	for (uint32_t i = 0; i < 24; i++)
		bf_bar_inval(t, other + 16 * i);
}

/* Mistakes are of single lanes, and what others make of them is to be seen. */
BF_DEVICE enum bf_led bf_mbar_stand(struct bf_thread *t, const struct bf_mbar_job *j)
{
	return j->bugs ? BF_APART : bf_stand(t);
}

/* Barriers are there for the whole block, or for all blocks of the cluster. */
BF_DEVICE void bf_mbar_published(struct bf_thread *t, const struct bf_mbar_job *j)
{
	if (j->work == BF_MBAR_CLUSTER && !(j->bugs & BF_MBAR_BUG_NO_ENTRY_SYNC))
		bf_cluster_sync(t);
	else if (!(j->bugs & BF_MBAR_BUG_NO_INIT_SYNC))
		bf_block_sync(t);
}

/* The same at the end: nobody uses them any more. */
BF_DEVICE void bf_mbar_abandoned(struct bf_thread *t, const struct bf_mbar_job *j)
{
	if (j->work == BF_MBAR_CLUSTER && !(j->bugs & BF_MBAR_BUG_EARLY_EXIT))
		bf_cluster_sync(t);
	else
		bf_block_sync(t);
	if (bf_warp(t) || bf_lane(t))
		return;
	bf_mbar_note_words(t, j);
	if (j->work == BF_MBAR_PIPELINE)
		bf_mbar_note_reuse(t, j);
}

/*
 * A consumer warp's share of a tile goes from the stage to its share of the store buffer, and from there to global
 * memory by a bulk store, which sees only what has been fenced for the async proxy.
 */
BF_DEVICE void bf_mbar_consume(struct bf_thread *t, const struct bf_mbar_job *j, uint32_t stage, uint32_t tile,
			       uint32_t share, uint32_t shares)
{
	const uint32_t bytes = j->bytes / shares, from = share * bytes;
	const uint32_t buffer = bf_mbar_stage(t, j, j->stages) + from, source = bf_mbar_stage(t, j, stage) + from;

	if (bf_lane(t) == 0 && !(j->bugs & BF_MBAR_BUG_NO_STORE_WAIT))
		bf_tma_wait_read(t, 0);
	bf_warp_sync(t, BF_FULL_WARP);
	for (uint32_t at = 16 * bf_lane(t); at < bytes; at += 16 * BF_LANES) {
		struct bf_vec128 row[BF_ROW];

		bf_shared_ld_row(t, source + at, row);
		for (uint32_t i = 0; i < bf_row(t); i++)
			row[i] = bf_mbar_transform128(row[i], tile);
		bf_shared_st_row(t, buffer + at, row);
	}
	if (!(j->bugs & BF_MBAR_BUG_NO_PROXY_FENCE))
		bf_proxy_fence(t);
	bf_warp_sync(t, BF_FULL_WARP);
	if (bf_lane(t) == 0) {
		bf_tma_store(t, bf_mbar_tile_out(t, j, tile) + from, buffer, bytes);
		if (!(j->bugs & BF_MBAR_BUG_NO_COMMIT))
			bf_tma_commit(t);
	}
	if (j->bugs & BF_MBAR_BUG_READ_AGAIN)
		bf_shared_ld128(t, source + 16 * bf_lane(t));
}

BF_DEVICE void bf_mbar_stores_done(struct bf_thread *t)
{
	if (bf_lane(t) == 0)
		bf_tma_wait(t, 0);
}

/* A tile on its way to a stage; the last one, where asked, is a short one. */
BF_DEVICE void bf_mbar_start_tile(struct bf_thread *t, const struct bf_mbar_job *j, const struct bf_mbar_state *s,
				  uint32_t tile)
{
	uint32_t to = bf_mbar_stage(t, j, s->index), bytes = j->bytes;

	if (j->bugs & BF_MBAR_BUG_SHORT_TILE && tile == j->iterations - 1)
		bytes /= 2;
	bytes -= j->bugs & BF_MBAR_BUG_ODD_SIZE ? 8 : 0;
	to += j->bugs & BF_MBAR_BUG_ODD_ADDRESS ? 8 : 0;
	to += j->bugs & BF_MBAR_BUG_FAR_STAGE ? bf_mbar_shared_bytes(j) : 0;
	bf_tma_load(t, to, bf_mbar_tile_in(t, j, tile), bytes, bf_mbar_full(t, s->index));
}

/* Lane 0 of the producer warp: a tile into a stage, armed first. */
BF_DEVICE uint64_t bf_mbar_load_tile(struct bf_thread *t, const struct bf_mbar_job *j, const struct bf_mbar_state *s,
				     uint32_t tile)
{
	uint64_t token;

	if (j->pace_ns)
		bf_pause(t, j->pace_ns);
	bf_mbar_acquire(t, j, s);
	token = bf_mbar_arm(t, j, s, j->bytes);
	bf_mbar_start_tile(t, j, s, tile);
	if (j->bugs & BF_MBAR_BUG_LATE_EXPECT)
		bf_bar_expect_tx(t, bf_mbar_full(t, s->index), j->bytes);
	return token;
}

#endif
