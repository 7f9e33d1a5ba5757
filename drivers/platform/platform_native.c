/* A warp on an OS thread: 32 coroutines in turn, their meetings, and giving way when all of them spin. */
#include "drivers/platform/platform_native.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>

#include "sim/clock.h"
#include "sim/coro.h"

#define LANE_STACK (64u << 10)

struct lane {
	struct bf_thread thread;
	struct bf_coro *coro;
	struct bf_native_warp *team;
	const char *waits_for; /* while it spins or meets */
	/* The meeting it is in: mask 0 = none. Who comes last fills in the results of all. */
	uint64_t value, result;
	uint32_t mask, src;
	enum bf_native_meeting kind;
};

struct bf_native_warp {
	struct lane lane[BF_LANES];
	const struct bf_native_warp_opts *opts;
	bool spun; /* the lane that just ran found nothing to do */
};

static struct lane *lane_of(struct bf_thread *t)
{
	return BF_CONTAINER_OF(t, struct lane, thread);
}

static void lane_main(void *arg)
{
	struct lane *l = arg;

	l->team->opts->kernel(&l->thread, l->team->opts->arg);
}

static uint64_t outcome(const struct bf_native_warp *w, const struct lane *l)
{
	uint64_t set = 0;

	switch (l->kind) {
	case BF_NATIVE_SYNC:
		return 0;
	case BF_NATIVE_SHUFFLE:
		return l->src < BF_LANES && l->mask >> l->src & 1 ? w->lane[l->src].value : l->value;
	case BF_NATIVE_BALLOT:
	case BF_NATIVE_MATCH:
		for (uint32_t i = 0; i < BF_LANES; i++)
			if (l->mask >> i & 1 &&
			    (l->kind == BF_NATIVE_BALLOT ? w->lane[i].value != 0 : w->lane[i].value == l->value))
				set |= 1ull << i;
		return set;
	}
	return 0;
}

uint64_t bf_native_meet(struct bf_thread *t, enum bf_native_meeting kind, uint32_t mask, uint64_t value, uint32_t src)
{
	struct bf_native_warp *w = t->team;
	struct lane *self = lane_of(t);

	self->kind = kind;
	self->mask = mask;
	self->value = value;
	self->src = src;
	for (uint32_t i = 0; i < BF_LANES; i++) {
		if (!(mask >> i & 1) || w->lane[i].mask == mask)
			continue;
		self->waits_for = "sibling lanes";
		while (self->mask)
			bf_coro_leave(self->coro);
		self->waits_for = NULL;
		return self->result;
	}
	for (uint32_t i = 0; i < BF_LANES; i++)
		if (mask >> i & 1)
			w->lane[i].result = outcome(w, &w->lane[i]);
	for (uint32_t i = 0; i < BF_LANES; i++)
		if (mask >> i & 1)
			w->lane[i].mask = 0;
	return self->result;
}

void bf_native_fence(struct bf_thread *t)
{
	atomic_fetch_add_explicit(t->team->opts->fence, 1, memory_order_acq_rel);
}

void bf_native_yield(struct bf_thread *t, const char *what)
{
	struct lane *self = lane_of(t);

	self->waits_for = what;
	t->team->spun = true;
	bf_coro_leave(self->coro);
	self->waits_for = NULL;
}

uint64_t bf_native_clock_ns(void)
{
	return bf_monotonic_ns();
}

void bf_native_pause(struct bf_thread *t, uint32_t ns)
{
	const uint64_t until = bf_native_clock_ns() + ns;

	do
		bf_native_yield(t, "a pause");
	while (bf_native_clock_ns() < until);
}

/* One turn: each lane that can run does so until it meets, spins or ends. False when none of them got anywhere. */
static bool take_turn(struct bf_native_warp *w, uint32_t *alive)
{
	bool moved = false;

	for (uint32_t i = 0; i < BF_LANES; i++) {
		struct lane *l = &w->lane[i];

		if (!(*alive >> i & 1) || l->mask)
			continue;
		w->spun = false;
		bf_coro_enter(l->coro);
		moved |= !w->spun;
		if (bf_coro_finished(l->coro))
			*alive &= ~(1u << i);
	}
	return moved;
}

int bf_native_warp_run(const struct bf_native_warp_opts *opts, struct bf_native_warp_end *end)
{
	struct bf_native_warp *w = calloc(1, sizeof(*w));
	const uint32_t lanes = opts->lanes ? opts->lanes : BF_LANES;
	uint32_t alive = 0;
	int rc = w ? 0 : -ENOMEM;

	*end = (struct bf_native_warp_end){ .unfinished = BF_FULL_WARP };
	for (uint32_t i = 0; !rc && i < lanes; i++) {
		struct lane *l = &w->lane[i];

		l->team = w;
		l->thread = (struct bf_thread){ .team = w,
						.lane = i,
						.warp = opts->warp,
						.warps = opts->warps,
						.block = opts->block,
						.blocks = opts->blocks };
		rc = bf_coro_create(&l->coro, lane_main, l, LANE_STACK);
		alive |= 1u << i;
	}
	if (!rc) {
		w->opts = opts;
		while (alive) {
			if (take_turn(w, &alive))
				continue;
			if (atomic_load_explicit(opts->stop, memory_order_relaxed))
				break;
			sched_yield();
		}
		end->unfinished = alive;
		for (uint32_t i = 0; i < BF_LANES; i++)
			if (alive >> i & 1 && (!end->waits_for || !w->lane[i].mask))
				end->waits_for = w->lane[i].waits_for;
	}
	for (uint32_t i = 0; w && i < BF_LANES; i++)
		if (w->lane[i].coro)
			bf_coro_destroy(w->lane[i].coro);
	free(w);
	return rc;
}
