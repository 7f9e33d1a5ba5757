/* Posted writes of a DMA port: lanes of what is on its way, and their landing in memory. */
#include <errno.h>
#include <string.h>

#include "sim/bytes.h"
#include "sim/dma_internal.h"
#include "sim/pool.h"
#include "sim/records_io.h"
#include "sim/word.h"

/* A posted write on its way, followed by its bytes in the lane's buffer. */
struct posted {
	uint64_t at_ps;
	uint64_t iova;
	uint8_t *host; /* of the first run */
	struct bf_region *region;
	uint64_t generation; /* of the IOAS when `host` was translated */
	uint32_t len, run;   /* bytes in all, in the first run */
	uint32_t flags;
	uint32_t kept; /* bytes behind this header: the data, or where lent ones are */
};
BF_STATIC_ASSERT(sizeof(struct posted) % 8 == 0, "payload alignment");

static struct posted *lane_head(const struct bf_dma_lane *l)
{
	return (struct posted *)(void *)(l->buf + l->head);
}

/* Twice the size, the writes moved to its start in their order. */
static bool lane_grow(struct bf_sim *sim, struct bf_dma_lane *l, size_t room)
{
	size_t used = l->wrapped ? l->end - l->head + l->tail : l->tail - l->head;
	size_t cap = l->cap ? l->cap : 4096, first = l->wrapped ? l->end - l->head : used;
	uint8_t *buf;

	while (cap < l->cap * 2 || cap - used < room)
		cap *= 2;
	buf = bf_pool_take(sim, cap);
	if (!buf)
		return false;
	if (used) {
		memcpy(buf, l->buf + l->head, first);
		memcpy(buf + first, l->buf, used - first);
	}
	bf_pool_give(sim, l->buf, l->cap);
	l->buf = buf;
	l->cap = cap;
	l->head = 0;
	l->tail = used;
	l->wrapped = false;
	return true;
}

/* What a write of `len` bytes takes in the lane, its header included. */
static size_t room_of(uint32_t len)
{
	return (sizeof(struct posted) + len + 7) & ~(size_t)7;
}

/* Room in one piece behind the youngest write, or NULL. */
static struct posted *lane_push(struct bf_sim *sim, struct bf_dma_lane *l, uint32_t len)
{
	size_t room = room_of(len);
	struct posted *w;

	if (!l->count) {
		l->head = l->tail = 0;
		l->wrapped = false;
	}
	if (!l->wrapped && l->cap - l->tail < room && l->head >= room) {
		l->end = l->tail;
		l->tail = 0;
		l->wrapped = true;
	}
	if ((l->wrapped ? l->head : l->cap) - l->tail < room && !lane_grow(sim, l, room))
		return NULL;
	w = (struct posted *)(void *)(l->buf + l->tail);
	l->tail += room;
	l->count++;
	return w;
}

/* A write's data. */
static const uint8_t *bytes_of(const struct posted *w)
{
	const uint8_t *lent;

	if (!(w->flags & BF_DMA_LENT))
		return (const uint8_t *)(w + 1);
	memcpy(&lent, w + 1, sizeof(lent));
	return lent;
}

static void lane_pop(struct bf_dma_lane *l)
{
	l->head += room_of(lane_head(l)->kept);
	l->count--;
	if (l->wrapped && l->head == l->end) {
		l->head = 0;
		l->wrapped = false;
	}
}

static bool is_late(struct bf_dma_port *p)
{
	if (BF_UNLIKELY(p->sim->chooser))
		return bf_choose(p->sim, BF_CHOICE_DMA, 2);
	return bf_rng_chance(&p->rings->rng, 500000);
}

/*
 * When a write that leaves now lands, and in which lane it waits. A relaxed one may wait for nobody; half of them, by
 * seed, are late for reasons of their own (another path through the root complex).
 */
static uint64_t landing_time(struct bf_dma_port *p, uint32_t len, uint32_t flags, int *lane)
{
	struct bf_link *l = p->link;
	struct bf_dma_rings *r = p->rings;
	uint64_t tlps = link_tlps(len, l->profile.max_payload);
	uint64_t at = link_charge_up(l, len + tlps * l->profile.tlp_overhead) + l->profile.latency_ps;

	*lane = BF_DMA_LANE_STRICT;
	if (BF_UNLIKELY(flags & BF_DMA_RELAXED)) {
		*lane = is_late(p) ? BF_DMA_LANE_LATE : BF_DMA_LANE_RELAXED;
		if (*lane == BF_DMA_LANE_LATE)
			at += BF_UNLIKELY(p->sim->chooser) ? l->profile.relaxed_ps
							   : bf_rng_below(&r->rng, l->profile.relaxed_ps + 1);
		if (at < r->lanes[*lane].last_ps)
			at = r->lanes[*lane].last_ps;
	} else if (at < l->posted_ps) {
		at = l->posted_ps;
	}
	r->lanes[*lane].last_ps = at;
	if (l->posted_ps < at)
		l->posted_ps = at;
	if (*lane == BF_DMA_LANE_STRICT)
		l->strict_ps = at;
	return at;
}

int bf_dma_write(struct bf_dma_port *p, uint64_t iova, const void *src, uint32_t len, uint32_t flags)
{
	struct bf_dma_rings *r = p->rings;
	struct bf_region *region;
	struct posted *w;
	void *host;
	int64_t run;
	int lane = flags & BF_DMA_RELAXED ? BF_DMA_LANE_RELAXED : BF_DMA_LANE_STRICT;
	uint32_t kept;
	uint64_t at;

	if (BF_UNLIKELY(!len)) {
		link_charge_up(p->link, p->link->profile.tlp_overhead);
		return 0;
	}
	run = bf_ioas_translate(p->ioas, iova, len, BF_IOMMU_WRITE, p->actor, &host, &region);
	if (run < 0 || (run < len && bf_dma_check_rest(p, iova + (uint64_t)run, len - (uint64_t)run, BF_IOMMU_WRITE)))
		return -EFAULT;
	if (BF_UNLIKELY(bf_dma_is_own(p, region)))
		return (int)bf_ioas_fault(p->ioas, iova, len, BF_IOMMU_WRITE, p->actor, BF_IOMMU_OWN);
	__builtin_prefetch(host, 1);
	p->writes++;
	at = landing_time(p, len, flags, &lane);
	kept = flags & BF_DMA_LENT ? (uint32_t)sizeof(src) : len;
	w = lane_push(p->sim, &r->lanes[lane], kept);
	if (!w)
		return bf_fail(&p->sim->error, -ENOMEM, "DMA port: no memory for a write of %u bytes", len);
	w->at_ps = at;
	w->iova = iova;
	w->host = host;
	w->region = region;
	w->generation = p->ioas->generation;
	w->len = len;
	w->run = (uint32_t)run;
	w->flags = flags;
	w->kept = kept;
	memcpy(w + 1, flags & BF_DMA_LENT ? (const void *)&src : src, kept);
	if (r->lanes[lane].count == 1)
		bf_dma_set_due(p, lane, at);
	return 0;
}

static void record_write(struct bf_dma_port *p, uint64_t iova, uint64_t va, const void *bytes, uint32_t len,
			 uint32_t flags)
{
	BF_EMIT_TAIL(p->sim, p->actor, dma_write, bytes, len <= BF_DMA_INLINE_MAX ? len : 0, .iova = iova, .va = va,
		     .len = len, .flags = flags & BF_DMA_RELAXED);
}

/* One run of a write changes memory. */
static void land_run(struct bf_dma_port *p, uint64_t iova, struct bf_region *region, uint8_t *host,
		     const uint8_t *bytes, uint32_t len, uint32_t flags)
{
	if (BF_UNLIKELY(p->sim->slow & BF_SLOW_CACHE))
		bf_dma_tell_cache(p, region, host, iova, len, true);
	if (len <= BF_DMA_INLINE_MAX)
		bf_words_store(host, bytes, len);
	else
		memcpy(host, bytes, len);
	record_write(p, iova, bf_va(region, host), bytes, len, flags);
	bf_mem_touched(region, host, len);
}

/*
 * Writes that span runs, target another device's registers, or were overtaken by an unmap. The other device's callback
 * may write on this port and move the lane's buffer, so nothing keeps a pointer into it over that call.
 */
static void BF_NOINLINE land_slowly(struct bf_dma_port *p, struct bf_dma_lane *l)
{
	uint32_t done = 0;

	while (done < lane_head(l)->len) {
		struct posted *w = lane_head(l);
		const uint8_t *bytes = bytes_of(w) + done;
		uint64_t iova = w->iova + done;
		struct bf_region *region;
		void *host;
		int64_t run = bf_ioas_lookup(p->ioas, iova, w->len - done, BF_IOMMU_WRITE, p->actor, &host, &region);

		if (run < 0)
			return;
		if (region->far) {
			region->far->write(region, (uint64_t)((uint8_t *)host - region->bytes), bytes, (uint32_t)run);
			record_write(p, iova, bf_va(region, host), bytes, (uint32_t)run, w->flags);
		} else if (region->kind == BF_MEM_MMIO) {
			uint8_t store[64];

			run = run < 64 ? run : 64;
			memcpy(store, bytes, (size_t)run);
			record_write(p, iova, bf_va(region, host), store, (uint32_t)run, w->flags);
			region->mmio->write(region, (uint64_t)((uint8_t *)host - region->bytes), store, (uint32_t)run);
		} else {
			land_run(p, iova, region, host, bytes, (uint32_t)run, w->flags);
		}
		done += (uint32_t)run;
	}
}

void bf_dma_land_ahead(const struct bf_dma_rings *r, int lane, bool first)
{
	const struct posted *w;

	if (!r->lanes[lane].count)
		return;
	w = lane_head(&r->lanes[lane]);
	__builtin_prefetch(w, 1);
	if (first)
		return;
	__builtin_prefetch(w->host, 1);
	__builtin_prefetch(w->region);
	__builtin_prefetch(w + 1);
}

void bf_dma_land(struct bf_dma_port *p, int lane)
{
	struct bf_dma_lane *l = &p->rings->lanes[lane];
	struct posted *w = lane_head(l);

	if (BF_LIKELY(w->generation == p->ioas->generation && w->run == w->len && w->region->kind != BF_MEM_MMIO))
		land_run(p, w->iova, w->region, w->host, bytes_of(w), w->len, w->flags);
	else
		land_slowly(p, l);
	lane_pop(l);
	p->rings->due[lane] = l->count ? lane_head(l)->at_ps : BF_NEVER;
}
