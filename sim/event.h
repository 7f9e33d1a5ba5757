/*
 * The event queue: things that happen at a time.
 *
 * An event is embedded in its owner and found again with BF_CONTAINER_OF: scheduling never allocates. Events fire in
 * order of (time, insertion): two events of one picosecond fire in the order in which they were scheduled, so that the
 * order never depends on addresses or hashing. One thread per queue.
 */
#ifndef BELFRY_SIM_EVENT_H
#define BELFRY_SIM_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/compiler.h"

BF_API_BEGIN

#define BF_NEVER UINT64_MAX

struct bf_sim;
struct bf_event;
typedef void bf_event_fn(struct bf_event *ev);

/*
 * Made ready by bf_event_init(). `when` is the due time in ps while pending, BF_NEVER otherwise (also while it fires);
 * `next` and `link` belong to the queue. The owner must cancel a pending event before it frees or moves it.
 */
struct bf_event {
	uint64_t when;
	bf_event_fn *fire;
	struct bf_event *next;
	struct bf_event **link;
};

/* Prepares an event that calls `fire`. The event must not be pending. */
static inline void bf_event_init(struct bf_event *ev, bf_event_fn *fire)
{
	ev->when = BF_NEVER;
	ev->fire = fire;
	ev->next = NULL;
	ev->link = NULL;
}

static inline bool bf_event_pending(const struct bf_event *ev)
{
	return ev->when != BF_NEVER;
}

/*
 * Schedules `ev` at absolute time `when_ps`. A pending event is moved (and counts as newly inserted). A time before
 * the current one is clamped to the current one; BF_NEVER cancels. Events may schedule themselves again from their own
 * callback. O(1).
 */
void bf_sim_at(struct bf_sim *sim, struct bf_event *ev, uint64_t when_ps);

/* The same, `delay_ps` from now. A sum past the end of time is BF_NEVER. */
void bf_sim_after(struct bf_sim *sim, struct bf_event *ev, uint64_t delay_ps);

/* Takes a pending event out of the queue; does nothing to one that is not pending. O(1). */
void bf_sim_cancel(struct bf_sim *sim, struct bf_event *ev);

/*
 * Asks the caches for what an event that calls `fire` will need, one or two events before it is `ev`'s turn: `first`
 * before the second call, which may follow pointers that the first asked for. A hint: it changes nothing, may be left
 * out, and is asked for in crowds only (struct bf_sim.crowded).
 */
typedef void bf_event_ahead_fn(const struct bf_event *ev, bool first);
void bf_sim_look_ahead(struct bf_sim *sim, bf_event_fn *fire, bf_event_ahead_fn *ahead);

/* Time of the earliest pending event, BF_NEVER when there is none. O(1) amortised. */
uint64_t bf_sim_next(struct bf_sim *sim);

BF_API_END

#endif
