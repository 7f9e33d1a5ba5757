/* The rare half of the event queue; the hot half is inline in event_queue.h, where the structure is explained. */
#include "sim/event_queue.h"

#include <assert.h>
#include <string.h>

void bf_queue_init(struct bf_queue *q)
{
	memset(q, 0, sizeof(*q));
	for (uint32_t level = 0; level < BF_QUEUE_LEVELS; level++)
		for (uint32_t digit = 0; digit < BF_QUEUE_SLOTS; digit++)
			bf_queue_clear_slot(q, level, digit);
}

/* Merges two lists in order of time, of which `a` was inserted before `b`. */
static struct bf_event *merge(struct bf_event *a, struct bf_event *b)
{
	struct bf_event *head, **tail = &head;

	while (a && b) {
		struct bf_event **least = b->when < a->when ? &b : &a;

		*tail = *least;
		tail = &(*least)->next;
		*least = (*least)->next;
	}
	*tail = a ? a : b;
	return head;
}

/* Stable merge sort: run[i] holds a sorted list of 2^i events, inserted before those of run[i - 1], or nothing. */
static struct bf_event *sort(struct bf_event *list)
{
	struct bf_event *run[64] = { NULL }, *sorted = NULL;
	uint32_t i;

	while (list) {
		struct bf_event *ev = list;

		list = ev->next;
		ev->next = NULL;
		for (i = 0; run[i]; i++) {
			ev = merge(run[i], ev);
			run[i] = NULL;
		}
		run[i] = ev;
	}
	for (i = 0; i < 64; i++)
		sorted = merge(run[i], sorted);
	return sorted;
}

static void settle(struct bf_queue *q, uint32_t level, uint32_t digit)
{
	struct bf_queue_slot *slot = &q->slot[level][digit];
	struct bf_event *ev;

	slot->head = sort(slot->head);
	assert(slot->head);
	slot->tail = &slot->head;
	for (ev = slot->head; ev; ev = ev->next) {
		ev->link = slot->tail;
		slot->tail = &ev->next;
		slot->last = ev->when;
	}
	slot->min = slot->head->when;
	q->stale[level] &= ~(1ull << digit);
}

void bf_queue_look(struct bf_queue *q)
{
	if (q->levels) {
		const uint32_t level = (uint32_t)__builtin_ctz(q->levels);
		const uint32_t digit = (uint32_t)__builtin_ctzll(q->full[level]);

		/* Not so at time 0, which reads like "unknown" and merely costs this call. */
		if (q->stale[level] >> digit & 1)
			settle(q, level, digit);
	}
	q->next = bf_queue_peek(q);
}
