/*
 * Loops that poll: a warp sleeps instead of going round.
 *
 * A round of a loop that looked at memory, stored nothing and left every register as it was will go on like that until
 * memory changes: its lanes sleep on the lines that they looked at, for as long as it takes. If only registers change
 * (a counter, a clock), the lanes sleep on the lines too, but a little while at most, which grows with the time that
 * they have polled: so that a program's own time-out comes, and soon. Whatever a lane does otherwise goes on meanwhile.
 */
#include <stdlib.h>
#include <string.h>

#include "models/ptx/machine_internal.h"

#define STEP_PART 8u /* of the time that a loop has polled it may sleep */
#define STEP_MAX (10 * BF_US)
/* Where only threads outside of the simulation can end a loop unheard: each look costs them time, and records. */
#define STEP_OUTSIDE BF_MS

/* ---- what lanes look at ---- */

/* The lane's place for what is at `at`: one that it has, or the one that it has had longest. */
static struct bf_ptx_look *place_for(struct bf_ptx_machine_warp *w, uint32_t lane, const void *at, uint32_t len)
{
	struct bf_ptx_look *k = w->looks[lane];

	for (uint32_t i = 0; i < w->nlooks[lane]; i++)
		if (k[i].at == at && k[i].len == len)
			return &k[i];
	if (w->nlooks[lane] < BF_PTX_POLLS) {
		k += w->nlooks[lane]++;
	} else {
		k += w->oldest[lane];
		w->oldest[lane] = (uint8_t)((w->oldest[lane] + 1) % BF_PTX_POLLS);
		if (w->lane[lane].lost < k->round)
			w->lane[lane].lost = k->round;
	}
	*k = (struct bf_ptx_look){ .changed = w->round };
	return k;
}

void bf_ptx_looked(struct bf_ptx_machine_warp *w, uint32_t lane, void *at, uint32_t len, const void *value, bool shared)
{
	const uint32_t kept = len < sizeof(w->looks[0]->value) ? len : (uint32_t)sizeof(w->looks[0]->value);
	struct bf_ptx_look *k;

	w->core.polls++;
	if (!w->looks)
		w->looks = calloc(BF_PTX_LANES, sizeof(*w->looks));
	if (!w->looks) {
		w->lane[lane].lost = w->round;
		return;
	}
	k = place_for(w, lane, at, len);
	if (value && memcmp(k->value, value, kept) != 0) {
		memcpy(k->value, value, kept);
		k->changed = w->round;
	}
	k->at = at;
	k->len = len;
	k->shared = shared;
	k->round = w->round;
}

/*
 * What the lanes have looked at since a round, in one number: to be compared with the round before. 0: they have found
 * different things in one place meanwhile, or have forgotten where they looked, or have looked at nothing.
 */
static uint64_t signature(const struct bf_ptx_machine_warp *w, uint32_t mask, uint64_t from)
{
	uint64_t h = 0;

	for (uint32_t left = mask; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		if (w->lane[lane].lost >= from)
			return 0;
		for (uint32_t i = 0; i < w->nlooks[lane]; i++) {
			const struct bf_ptx_look *k = &w->looks[lane][i];
			const uint64_t words[3] = { h, (uint64_t)(uintptr_t)k->at, (uint64_t)lane << 8 | k->len };

			if (k->round < from)
				continue;
			if (k->changed >= from)
				return 0;
			h = bf_hash_bytes(words, sizeof(words));
			h ^= bf_hash_bytes(k->value, sizeof(k->value));
		}
	}
	return h;
}

static bool has_read_clock(const struct bf_ptx_machine_warp *w, uint32_t mask, uint64_t from)
{
	for (uint32_t left = mask; left; left &= left - 1)
		if (w->lane[__builtin_ctz(left)].timed >= from)
			return true;
	return false;
}

/* ---- the end of a round ---- */

static struct bf_ptx_loop *round_of(struct bf_ptx_machine_warp *w, uint32_t mask, uint32_t target, bool *known)
{
	struct bf_ptx_loop *r;

	*known = true;
	for (uint32_t i = 0; i < BF_PTX_LOOPS; i++)
		if (w->loops[i].mask == mask && w->loops[i].target == target)
			return &w->loops[i];
	*known = false;
	r = &w->loops[w->next_loop];
	w->next_loop = (w->next_loop + 1) % BF_PTX_LOOPS;
	*r = (struct bf_ptx_loop){ .mask = mask, .target = target };
	return r;
}

static enum bf_ptx_result sleep_until(struct bf_ptx_machine_warp *w, uint32_t mask, uint64_t from, uint64_t until_ps)
{
	for (uint32_t left = mask; left; left &= left - 1) {
		w->lane[__builtin_ctz(left)].until_ps = until_ps;
		w->lane[__builtin_ctz(left)].from = from;
	}
	return bf_ptx_wait(w, mask, BF_PTX_POLLING);
}

enum bf_ptx_result bf_ptx_spin(struct bf_ptx_warp *core, uint32_t mask, uint32_t target, uint64_t hash)
{
	struct bf_ptx_machine_warp *w = bf_ptx_machine_of(core);
	struct bf_ptx_loop *r;
	uint64_t now, step, looks, from;
	bool known, again, pure, timed;

	if (bf_ptx_is_dead(w->device))
		return BF_PTX_FAULT;
	bf_ptx_settle(w);
	bf_agent_sync(w->agent);
	now = bf_agent_now(w->agent);
	r = round_of(w, mask, target, &known);
	from = known ? r->from : w->round;
	looks = signature(w, mask, from);
	again = known && looks != 0 && r->looks == looks && r->progress == core->progress;
	timed = has_read_clock(w, mask, from);
	pure = again && r->hash == hash && !timed;
	if (!again)
		r->since_ps = now;
	r->hash = hash;
	r->looks = looks;
	r->progress = core->progress;
	r->from = ++w->round;
	step = (now - r->since_ps) / STEP_PART;
	if (pure && !w->device->sim->shared)
		return sleep_until(w, mask, from, BF_NEVER);
	/* Stores by threads outside of the simulation wake nobody. */
	if (pure && step < w->device->pays->poll)
		step = w->device->pays->poll + 1;
	/* A time-out comes no more than a part of itself too late; a counter would make that part a power. */
	if (!timed && step > (pure ? STEP_OUTSIDE : STEP_MAX))
		step = pure ? STEP_OUTSIDE : STEP_MAX;
	if (again && step > w->device->pays->poll)
		return sleep_until(w, mask, from, now + step);
	return BF_PTX_DONE;
}

/* ---- every lane waits ---- */

static uint32_t lanes_that(const struct bf_ptx_machine_warp *w, enum bf_ptx_waits why)
{
	uint32_t lanes = 0;

	for (uint32_t i = 0; i < BF_PTX_LANES; i++)
		if (w->lane[i].waits == why)
			lanes |= 1u << i;
	return lanes;
}

static void wake(struct bf_ptx_machine_warp *w, uint32_t lanes)
{
	for (uint32_t left = lanes; left; left &= left - 1)
		lanes |= w->lane[__builtin_ctz(left)].party;
	if (!lanes)
		return;
	bf_ptx_ready(w, lanes);
}

/* Who has slept long enough. Returns when the next one will have; BF_NEVER. */
static uint64_t wake_sleepers(struct bf_ptx_machine_warp *w)
{
	const uint64_t now = bf_agent_now(w->agent);
	uint64_t next = BF_NEVER;
	uint32_t over = 0;

	for (uint32_t i = 0; i < BF_PTX_LANES; i++) {
		const struct bf_ptx_machine_lane *l = &w->lane[i];

		if (l->waits != BF_PTX_SLEEPING && l->waits != BF_PTX_POLLING)
			continue;
		if (l->until_ps <= now)
			over |= 1u << i;
		else if (l->until_ps < next)
			next = l->until_ps;
	}
	wake(w, over);
	return next;
}

/* Whether a lane would find something else now than it has found. */
static bool has_changed(struct bf_ptx_machine_warp *w, uint32_t lane, const struct bf_ptx_look *k)
{
	uint8_t now[16] = { 0 };
	const uint32_t len = k->len < sizeof(now) ? k->len : (uint32_t)sizeof(now);

	if (!k->at)
		return memcmp(&w->block->phases, k->value, sizeof(w->block->phases)) != 0;
	if (k->shared || !bf_ptx_as_lane(w, lane)) {
		memcpy(now, k->at, len);
	} else {
		bf_load_peek(w->agent, k->at, now, len);
		bf_ptx_as_warp(w);
	}
	return memcmp(now, k->value, len) != 0;
}

struct listening {
	const void *lines[BF_WAIT_LINES_MAX];
	uint32_t n;
	bool shared, phase, too_many;
};

static void add_line(struct listening *l, const void *at)
{
	for (uint32_t i = 0; i < l->n; i++)
		if ((uintptr_t)l->lines[i] / BF_LINE == (uintptr_t)at / BF_LINE)
			return;
	if (l->n == BF_WAIT_LINES_MAX)
		l->too_many = true;
	else
		l->lines[l->n++] = at;
}

/* What the polling lanes look at. Lanes for whom it has changed already go on. */
static void listen(struct bf_ptx_machine_warp *w, uint32_t polling, struct listening *out)
{
	uint32_t changed = 0;

	*out = (struct listening){ 0 };
	for (uint32_t left = polling; left; left &= left - 1) {
		const uint32_t lane = (uint32_t)__builtin_ctz(left);

		for (uint32_t i = 0; i < w->nlooks[lane]; i++) {
			const struct bf_ptx_look *k = &w->looks[lane][i];

			if (k->round < w->lane[lane].from)
				continue;
			if (has_changed(w, lane, k))
				changed |= 1u << lane;
			else if (!k->at)
				out->phase = true;
			else if (k->shared)
				out->shared = true;
			else
				add_line(out, k->at);
		}
	}
	if (changed) {
		/* A weak load may go on seeing an old copy: it looks again, in its own time. */
		bf_agent_delay(w->agent, w->device->pays->poll);
		wake(w, changed);
	}
}

/* A block whose shared memory somebody watches tells of each store. */
static void watch_shared(struct bf_ptx_machine_warp *w, bool on)
{
	struct bf_ptx_cluster *c = w->block->cluster;

	if (w->polls_shared == on)
		return;
	w->polls_shared = on;
	for (uint32_t r = 0; r < c->grid->ctas; r++) {
		struct bf_ptx_block *b = c->block[r];

		if (!b)
			continue;
		b->listeners += on ? 1 : -1u;
		for (uint32_t i = 0; i < b->nwarps; i++)
			b->warp[i]->core.plain_store = !b->grid->copies_shared && !b->listeners;
	}
}

static const char *reason(const struct bf_ptx_machine_warp *w, uint32_t polling)
{
	if (polling)
		return "memory that it polls";
	if (lanes_that(w, BF_PTX_AT_BARRIER))
		return "a barrier";
	if (lanes_that(w, BF_PTX_SLEEPING))
		return "the end of a nanosleep";
	return "the sync unit or a copy";
}

enum bf_ptx_result bf_ptx_idle(struct bf_ptx_warp *core)
{
	struct bf_ptx_machine_warp *w = bf_ptx_machine_of(core);
	struct listening l;

	bf_ptx_settle(w);
	while (!bf_ptx_is_dead(w->device) && !core->ready && !w->device->sim->stopped) {
		const uint32_t polling = lanes_that(w, BF_PTX_POLLING);
		const uint64_t next = wake_sleepers(w), now = bf_agent_now(w->agent);
		int rc;

		if (!core->ready)
			listen(w, polling, &l);
		if (core->ready)
			break;
		watch_shared(w, l.shared);
		w->polls_phase = l.phase;
		rc = bf_agent_wait(w->agent, l.lines, l.n,
				   l.too_many && next - now > STEP_MAX ? STEP_MAX
				   : next == BF_NEVER                  ? BF_NEVER
								       : next - now,
				   l.n ? w->device->pays->poll : 0, reason(w, polling));
		watch_shared(w, false);
		w->polls_phase = false;
		if (rc == 0 || l.too_many)
			wake(w, lanes_that(w, BF_PTX_POLLING));
	}
	return bf_ptx_is_dead(w->device) || w->device->sim->stopped ? BF_PTX_FAULT : BF_PTX_DONE;
}
