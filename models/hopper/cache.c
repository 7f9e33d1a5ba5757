/*
 * The barrier cache: fully associative, exact LRU, written back on eviction, not coherent with shared memory (row kinds
 * stride, replacement, stale, plain_store). The unit works on cached words only; plain accesses work on memory only.
 */
#include <string.h>

#include "models/hopper/records.h"
#include "models/hopper/unit_internal.h"

enum { FILLED, WRITTEN_BACK, INVALIDATED, DROPPED };

static void record_line(const struct bf_sync_unit *u, const struct bf_sync_line *l, uint32_t event)
{
	BF_EMIT(u->sim, u->opts.actor, hopper_cache, .word = l->word[0], .address = l->tag << u->shift, .event = event);
}

static void unlink_line(struct bf_sync_unit *u, uint8_t i)
{
	struct bf_sync_line *l = &u->line[i];

	if (i == u->newest)
		u->newest = l->older;
	else
		u->line[l->newer].older = l->older;
	if (i == u->oldest)
		u->oldest = l->newer;
	else
		u->line[l->older].newer = l->newer;
}

static void make_newest(struct bf_sync_unit *u, uint8_t i, bool only)
{
	u->line[i].older = u->newest;
	if (only)
		u->oldest = i;
	else
		u->line[u->newest].newer = i;
	u->newest = i;
}

static void write_back(struct bf_sync_unit *u, const struct bf_sync_line *l)
{
	uint8_t *memory = u->shared + ((size_t)l->tag << u->shift);

	for (uint32_t left = l->dirty; left; left &= left - 1) {
		const uint32_t w = (uint32_t)__builtin_ctz(left);

		memcpy(memory + w * 8, &l->word[w], 8);
	}
}

/* A line to fill: one that was never used, or the one that was used longest ago. */
static uint8_t take_line(struct bf_sync_unit *u)
{
	struct bf_sync_line *l;
	uint8_t i;

	if (u->lines < u->profile->cache_lines) {
		make_newest(u, (uint8_t)u->lines, u->lines == 0);
		return (uint8_t)u->lines++;
	}
	i = u->oldest;
	l = &u->line[i];
	write_back(u, l);
	record_line(u, l, WRITTEN_BACK);
	u->line_of[l->tag] = 0;
	u->counts.evictions++;
	if (u->profile->evict_fails && u->parked)
		bf_sync_pool_evict(u, l->tag << u->shift, 1u << u->shift, false);
	unlink_line(u, i);
	make_newest(u, i, u->lines == 1);
	return i;
}

static uint8_t fill(struct bf_sync_unit *u, uint32_t tag)
{
	const uint8_t i = take_line(u);
	struct bf_sync_line *l = &u->line[i];

	l->tag = tag;
	l->dirty = 0;
	memcpy(l->word, u->shared + ((size_t)tag << u->shift), (size_t)1 << u->shift);
	u->line_of[tag] = (uint8_t)(i + 1);
	record_line(u, l, FILLED);
	return i;
}

uint64_t *bf_sync_cache_use(struct bf_sync_unit *u, uint32_t address, bool *hit)
{
	const uint32_t tag = address >> u->shift, at = u->line_of[tag];
	uint8_t i;

	*hit = at != 0;
	if (BF_LIKELY(at)) {
		i = (uint8_t)(at - 1);
		u->counts.hits++;
		if (i != u->newest) {
			unlink_line(u, i);
			make_newest(u, i, false);
		}
	} else {
		u->counts.misses++;
		i = fill(u, tag);
	}
	return &u->line[i].word[address >> 3 & ((1u << (u->shift - 3)) - 1)];
}

void bf_sync_cache_dirty(struct bf_sync_unit *u, uint32_t address)
{
	u->line[u->line_of[address >> u->shift] - 1].dirty |=
	    (uint8_t)(1u << (address >> 3 & ((1u << (u->shift - 3)) - 1)));
}

void bf_sync_cache_remove(struct bf_sync_unit *u, uint32_t address, bool back)
{
	const uint32_t at = u->line_of[address >> u->shift];
	const uint8_t i = (uint8_t)(at - 1), end = (uint8_t)(u->lines - 1);
	struct bf_sync_line *l = &u->line[i];

	if (!at)
		return;
	if (back)
		write_back(u, l);
	record_line(u, l, back ? INVALIDATED : DROPPED);
	u->line_of[l->tag] = 0;
	unlink_line(u, i);
	u->lines--;
	if (i == end)
		return;
	/* The last line moves into the gap, so that those in use stay in front. */
	*l = u->line[end];
	u->line_of[l->tag] = (uint8_t)(i + 1);
	if (u->newest == end)
		u->newest = i;
	else
		u->line[l->newer].older = i;
	if (u->oldest == end)
		u->oldest = i;
	else
		u->line[l->older].newer = i;
}
