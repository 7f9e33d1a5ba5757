/* Doorbells: what a store says, whether it can be, and what begins after it. */
#include "models/sdma/engine_internal.h"

#include "sim/fault.h"

/* The engine stopped looking at doorbells for this long, unless the plan says otherwise. */
#define STALL_PS (100 * BF_US)

/* The write pointer in memory, as the index it means; `published` itself when it cannot be read. */
static uint64_t peek_wptr(struct bf_sdma_queue *q, uint64_t published)
{
	struct bf_region *region;
	void *host;
	uint64_t value, ahead;

	if (!q->opts.wptr ||
	    bf_ioas_lookup(q->dev->dma.ioas, q->opts.wptr, 8, BF_IOMMU_READ, q->actor, &host, &region) < 8 ||
	    region->kind == BF_MEM_MMIO)
		return published;
	value = __atomic_load_n((const uint64_t *)host, __ATOMIC_ACQUIRE);
	ahead = (value - published) & q->mask;
	if (q->opts.wrapped)
		value = ahead < q->opts.bytes / 2 ? published + ahead : published + ahead - q->opts.bytes;
	return value;
}

/* Takes the doorbell's index; says what is wrong with it. */
static uint32_t judge(struct bf_sdma_queue *q, uint64_t value, uint64_t *published, uint64_t *wptr)
{
	*published = value & ~3ull;
	if (q->opts.wrapped)
		*published = q->published + ((value - q->published) & q->mask & ~3ull);
	*wptr = q->published;
	if (q->fault.reason)
		return BF_SDMA_BELL_STOPPED;
	if (q->opts.wrapped && value > q->mask)
		return BF_SDMA_BELL_PAST_RING;
	if (*published < q->published)
		return BF_SDMA_BELL_BACK;
	if (*published - q->retired > q->opts.bytes)
		return BF_SDMA_BELL_PAST_RING;
	*wptr = peek_wptr(q, *published);
	if (value & 3)
		return BF_SDMA_BELL_UNALIGNED;
	if (*wptr < *published)
		return BF_SDMA_BELL_WPTR_BEHIND;
	return *published == q->published ? BF_SDMA_BELL_AGAIN : BF_SDMA_BELL_OK;
}

/* Before the first fetch of an idle queue. */
static void start_after_bell(struct bf_sdma_queue *q)
{
	struct bf_sdma *dev = q->dev;
	struct bf_fault stall = { 0 };
	uint64_t when = dev->sim->now_ps + dev->profile.doorbell_ps;

	if (bf_fault_check(dev->sim, BF_FAULT_DEVICE_STALL, dev->actor, q->id, &stall))
		dev->front_free_ps = dev->sim->now_ps + (stall.delay_ps ? stall.delay_ps : STALL_PS);
	if (q->paused || q->in_packet || q->waits || bf_event_pending(&q->step))
		return;
	bf_sim_at(dev->sim, &q->step, dev->front_free_ps > when ? dev->front_free_ps : when);
}

static void ring_bell(struct bf_sdma_queue *q, uint64_t value, uint32_t len)
{
	uint64_t published, wptr = 0, before = q->published;
	uint32_t verdict = BF_SDMA_BELL_WRONG_WIDTH;

	published = before;
	if (len == (q->opts.wrapped ? 4u : 8u))
		verdict = judge(q, value, &published, &wptr);
	q->count.doorbells++;
	q->count.doorbells_early += verdict == BF_SDMA_BELL_WPTR_BEHIND;
	BF_EMIT(q->dev->sim, q->actor, sdma_doorbell, .value = value, .published = published, .before = before,
		.wptr = wptr, .retired = q->retired, .len = len, .verdict = verdict);
	if (verdict == BF_SDMA_BELL_BACK || verdict == BF_SDMA_BELL_PAST_RING) {
		bf_sdma_stop_at(q, published, 0, BF_SDMA_DOORBELL_BACK, 0, (uint32_t)value, 0);
	} else if (verdict != BF_SDMA_BELL_WRONG_WIDTH && verdict != BF_SDMA_BELL_STOPPED) {
		q->published = published;
		start_after_bell(q);
	}
}

static void bell_write(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	struct bf_sdma *dev = region->owner;
	const bool wrapped = offset >= BF_SDMA_BELL_WRAPPED;
	const uint64_t id = wrapped ? (offset - BF_SDMA_BELL_WRAPPED) / 4 : offset / 8;
	struct bf_sdma_queue *q = id < dev->profile.queues ? dev->queues[id] : NULL;

	if (!q || q->opts.wrapped != wrapped)
		return;
	if (offset % (wrapped ? 4 : 8))
		len = 0; /* in the middle of a slot: no width is right */
	ring_bell(q, len >= 8 ? bf_get_le64(data) : len >= 4 ? bf_get_le32(data) : 0, len);
}

const struct bf_mmio_ops bf_sdma_bell_ops = { .write = bell_write };

struct bf_region *bf_sdma_doorbell(struct bf_sdma_queue *q, uint64_t *offset)
{
	*offset = q->opts.wrapped ? BF_SDMA_BELL_WRAPPED + q->id * 4 : q->id * 8;
	return q->dev->bells;
}

/*
 * A doorbell is a cell in memory then. A look replaces what it found by a value that no doorbell has, so that a write
 * of the old value shows, and so that a queue does not hear the one that had its slot before.
 */
static bool look_at_cell(struct bf_sdma_queue *q, uint64_t *value)
{
	uint64_t offset;
	uint8_t *cell = bf_sdma_doorbell(q, &offset)->bytes;
	uint32_t *narrow = (uint32_t *)(void *)(cell + offset);
	uint64_t *wide = (uint64_t *)(void *)(cell + offset);

	if (q->opts.wrapped) {
		if (__atomic_load_n(narrow, __ATOMIC_RELAXED) == UINT32_MAX)
			return false;
		*value = __atomic_exchange_n(narrow, UINT32_MAX, __ATOMIC_ACQ_REL);
		return *value != UINT32_MAX;
	}
	if (__atomic_load_n(wide, __ATOMIC_RELAXED) == UINT64_MAX)
		return false;
	*value = __atomic_exchange_n(wide, UINT64_MAX, __ATOMIC_ACQ_REL);
	return *value != UINT64_MAX;
}

int bf_sdma_poll_doorbells(void *arg)
{
	struct bf_sdma *dev = arg;
	int rung = 0;

	for (uint32_t i = 0; i < dev->profile.queues; i++) {
		struct bf_sdma_queue *q = dev->queues[i];
		uint64_t value;

		if (!q || !look_at_cell(q, &value) || (!value && !q->published))
			continue;
		ring_bell(q, value, q->opts.wrapped ? 4 : 8);
		rung = 1;
	}
	return rung;
}
