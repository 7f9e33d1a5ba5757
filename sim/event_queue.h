/*
 * The queue behind bf_sim_at(): a radix wheel with exact order.
 *
 * Time is read as eleven digits of six bits. An event lies at the level of the highest digit in which its time differs
 * from `base` (the time of an event taken out, at or before the last one), in the slot of that digit's value; so
 * everything at one level is earlier than everything above it, and slots of one level are in order of time. The
 * earliest event is in the lowest non-empty slot of the lowest non-empty level: two bit scans. As long as that slot is
 * in order, its first event is taken out and the base stays. Otherwise the earliest one's time becomes the new base,
 * which only its slot-mates notice: they now share one more digit with the base and move down. An event therefore moves
 * at most ten times, in practice two or three times, however the times are distributed: nothing needs tuning to the
 * spread, nothing collapses when all times are equal, and a far-off timer that is re-armed again and again costs an
 * unlink and an append.
 *
 * Equal times need no sequence number. Slots are FIFO lists, an event can only enter a slot directly once the slots
 * above it can no longer feed it, and moving down keeps the order; hence of two events of one time the one inserted
 * first always stands first. The same property makes a slot of level 0 (one exact picosecond) a plain queue.
 *
 * A slot knows its earliest time, so asking for the next event is O(1) and moves nothing (the base must not run ahead
 * of the clock, or earlier events could no longer be inserted); the answer is kept until that event leaves. Removing
 * the earliest event of a slot in disorder is the one case in which that time is lost; the slot is then sorted when
 * somebody asks (bf_queue_look()), and stays sorted while events are appended in order, as timers of one period are.
 *
 * Used through sim/event.h by everything except the simulation itself, its agents and its tests. No allocation. One
 * thread.
 */
#ifndef BELFRY_SIM_EVENT_QUEUE_H
#define BELFRY_SIM_EVENT_QUEUE_H

#include <assert.h>

#include "sim/event.h"

#define BF_QUEUE_BITS 6
#define BF_QUEUE_SLOTS (1u << BF_QUEUE_BITS)
#define BF_QUEUE_LEVELS 11 /* ceil(64 / 6) */

struct bf_queue_slot {
	struct bf_event *head;
	struct bf_event **tail; /* the last event's `next`, or &head */
	/* Earliest time in here, BF_NEVER when it is empty. Wrong while the slot's bit in `stale` is set. */
	uint64_t min;
	uint64_t last; /* latest time as long as the list is in order of time, BF_NEVER when it is not; 0 when empty */
};

struct bf_queue {
	uint64_t base;                   /* no event is earlier, and none may be inserted that is */
	uint64_t next;                   /* bf_queue_next()'s answer; 0 when it has to look */
	uint32_t levels;                 /* bit l: level l has events */
	uint64_t full[BF_QUEUE_LEVELS];  /* bit d: slot d has events */
	uint64_t stale[BF_QUEUE_LEVELS]; /* bit d: slot d has lost its earliest event and must be sorted before use */
	struct bf_queue_slot slot[BF_QUEUE_LEVELS][BF_QUEUE_SLOTS];
	struct { /* bf_sim_look_ahead(); here and not in each event, of which a queue pair has half a dozen */
		bf_event_fn *fire;
		bf_event_ahead_fn *ahead;
	} aheads[8];
	uint32_t naheads;
};

/* An empty queue whose base is time 0. */
void bf_queue_init(struct bf_queue *q);

/* Finds the earliest time again. A stale slot is put in order of time (stable) if it is there. */
void bf_queue_look(struct bf_queue *q);

/* Level of the highest digit in which two times differ, given their exclusive or. b * 43 / 256 is b / 6 for b < 64. */
static inline uint32_t bf_queue_level(uint64_t diff)
{
	return (uint32_t)(63 - __builtin_clzll(diff | 1)) * 43 >> 8;
}

static inline uint32_t bf_queue_digit(uint64_t when, uint32_t level)
{
	return (uint32_t)(when >> (level * BF_QUEUE_BITS)) & (BF_QUEUE_SLOTS - 1);
}

/* The slot's events are gone. */
static inline void bf_queue_clear_slot(struct bf_queue *q, uint32_t level, uint32_t digit)
{
	struct bf_queue_slot *slot = &q->slot[level][digit];

	slot->head = NULL;
	slot->tail = &slot->head;
	slot->min = BF_NEVER;
	slot->last = 0;
	q->full[level] &= ~(1ull << digit);
	if (!q->full[level])
		q->levels &= ~(1u << level);
}

/* Appends `ev`, whose time is set and which is in no list, to the slot of its time. */
static inline void bf_queue_append(struct bf_queue *q, struct bf_event *ev)
{
	const uint64_t when = ev->when;
	const uint32_t level = bf_queue_level(when ^ q->base);
	const uint32_t digit = bf_queue_digit(when, level);
	struct bf_queue_slot *slot = &q->slot[level][digit];

	q->levels |= 1u << level;
	q->full[level] |= 1ull << digit;
	slot->min = when < slot->min ? when : slot->min;
	slot->last = when < slot->last ? BF_NEVER : when;
	ev->next = NULL;
	ev->link = slot->tail;
	*slot->tail = ev;
	slot->tail = &ev->next;
}

/* Inserts `ev`, which is not pending, at `when`: not before the last event taken out and not BF_NEVER. */
static inline void bf_queue_insert(struct bf_queue *q, struct bf_event *ev, uint64_t when)
{
	assert(when >= q->base && when != BF_NEVER && !bf_event_pending(ev));
	ev->when = when;
	if (when < q->next)
		q->next = when;
	bf_queue_append(q, ev);
}

/* Takes out `ev`, which is pending in `q`. */
static inline void bf_queue_remove(struct bf_queue *q, struct bf_event *ev)
{
	const uint32_t level = bf_queue_level(ev->when ^ q->base);
	const uint32_t digit = bf_queue_digit(ev->when, level);
	struct bf_queue_slot *slot = &q->slot[level][digit];

	if (ev->when == q->next)
		q->next = 0;
	*ev->link = ev->next;
	if (ev->next)
		ev->next->link = ev->link;
	else
		slot->tail = ev->link;
	if (!slot->head) {
		bf_queue_clear_slot(q, level, digit);
		q->stale[level] &= ~(1ull << digit);
	} else if (slot->last != BF_NEVER) {
		slot->min = slot->head->when;
	} else if (ev->when == slot->min) {
		q->stale[level] |= 1ull << digit;
	}
	ev->when = BF_NEVER;
}

/* Whether no event of the same time was inserted after `ev`, which is pending. May say no where none was. */
static inline bool bf_queue_is_last(const struct bf_queue *q, const struct bf_event *ev)
{
	const uint32_t level = bf_queue_level(ev->when ^ q->base);

	return q->slot[level][bf_queue_digit(ev->when, level)].tail == &ev->next;
}

/* Time of the earliest event, BF_NEVER when there is none, 0 when its slot is stale. */
static inline uint64_t bf_queue_peek(const struct bf_queue *q)
{
	uint32_t level, digit;

	if (!q->levels)
		return BF_NEVER;
	level = (uint32_t)__builtin_ctz(q->levels);
	digit = (uint32_t)__builtin_ctzll(q->full[level]);
	return q->stale[level] >> digit & 1 ? 0 : q->slot[level][digit].min;
}

/* The same; asks the caches for an event that is likely to be next. */
static inline uint64_t bf_queue_ahead(const struct bf_queue *q)
{
	uint32_t level, digit;

	if (!q->levels)
		return BF_NEVER;
	level = (uint32_t)__builtin_ctz(q->levels);
	digit = (uint32_t)__builtin_ctzll(q->full[level]);
	__builtin_prefetch(q->slot[level][digit].head, 1);
	return q->stale[level] >> digit & 1 ? 0 : q->slot[level][digit].min;
}

/* An event that is likely to be next, with those behind it as `next`; NULL: there is none. */
static inline const struct bf_event *bf_queue_likely(const struct bf_queue *q)
{
	uint32_t level;

	if (!q->levels)
		return NULL;
	level = (uint32_t)__builtin_ctz(q->levels);
	return q->slot[level][__builtin_ctzll(q->full[level])].head;
}

/* Time of the earliest event, BF_NEVER when there is none. */
static inline uint64_t bf_queue_next(struct bf_queue *q)
{
	if (BF_UNLIKELY(!q->next))
		bf_queue_look(q);
	return q->next;
}

/*
 * The lowest slot holds several events and lies above level 0: its first one of the earliest time is taken out, that
 * time becomes the base and the others move down.
 */
static inline struct bf_event *bf_queue_cascade(struct bf_queue *q, uint32_t level, uint32_t digit)
{
	struct bf_queue_slot *slot = &q->slot[level][digit];
	struct bf_event *ev = slot->head, *first, *next;

	q->base = slot->min;
	bf_queue_clear_slot(q, level, digit);
	for (; ev->when != q->base; ev = next) {
		next = ev->next;
		bf_queue_append(q, ev);
	}
	first = ev;
	for (ev = ev->next; ev; ev = next) {
		next = ev->next;
		bf_queue_append(q, ev);
	}
	return first;
}

/* Takes out the earliest event, which must exist and be due at `when`, bf_queue_next()'s last answer. */
static inline struct bf_event *bf_queue_pop(struct bf_queue *q, uint64_t when)
{
	const uint32_t level = (uint32_t)__builtin_ctz(q->levels);
	const uint32_t digit = (uint32_t)__builtin_ctzll(q->full[level]);
	struct bf_queue_slot *slot = &q->slot[level][digit];
	struct bf_event *ev = slot->head;

	if (!ev->next) {
		bf_queue_clear_slot(q, level, digit);
		q->base = when;
	} else if (slot->last != BF_NEVER) {
		slot->head = ev->next;
		ev->next->link = &slot->head;
		slot->min = ev->next->when;
	} else {
		ev = bf_queue_cascade(q, level, digit);
	}
	assert(ev->when == when && q->base <= when);
	q->next = bf_queue_ahead(q);
	ev->when = BF_NEVER;
	return ev;
}

#endif
