/*
 * Who sleeps on which memory line.
 *
 * A hash table of queues. Watches are embedded in their agents, so waiting for a few lines never allocates, and for
 * more only once; those of one line stand in order of arrival in their bucket, so the order of waking does not depend
 * on where memory lies.
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/agent_internal.h"
#include "sim/notice_internal.h"

static const void *line_of(const void *p)
{
	return (const char *)p - ((uintptr_t)p & (BF_LINE - 1));
}

static struct bf_watch_bucket *bucket_of(struct bf_agents *ags, const void *line)
{
	const uint64_t x = ((uint64_t)(uintptr_t)line / BF_LINE) * 0x9e3779b97f4a7c15ull;

	return &ags->bucket[x >> (64 - ags->bucket_bits)];
}

/* How many watches there are in a page, and in others of the same hash. */
static uint32_t *watched_at(struct bf_agents *ags, uintptr_t at)
{
	return &ags->watched[(at / BF_WATCH_PAGE * 0x9e3779b97f4a7c15ull) >> 54];
}

static void append(struct bf_watch_bucket *b, struct bf_watch *w)
{
	w->next = NULL;
	w->prev = b->last;
	if (b->last)
		b->last->next = w;
	else
		b->first = w;
	b->last = w;
}

int bf_watch_reserve(struct bf_agents *ags, uint32_t agents)
{
	struct bf_watch_bucket *old = ags->bucket;
	const uint32_t n = ags->bucket_bits ? 1u << ags->bucket_bits : 0;
	uint32_t bits = ags->bucket_bits ? ags->bucket_bits : 6;

	while ((1u << bits) < agents && bits < 24)
		bits++;
	if (bits == ags->bucket_bits)
		return 0;
	ags->bucket = calloc((size_t)1 << bits, sizeof(*ags->bucket));
	if (!ags->bucket) {
		ags->bucket = old;
		return -ENOMEM;
	}
	ags->bucket_bits = bits;
	/* All watches of one line come from one old bucket, in order. */
	for (uint32_t i = 0; i < n; i++) {
		for (struct bf_watch *w = old[i].first, *next; w; w = next) {
			next = w->next;
			append(bucket_of(ags, line_of(w->addr)), w);
		}
	}
	free(old);
	return 0;
}

int bf_watch_room(struct bf_agent_wait *wait, uint32_t n)
{
	struct bf_watch *many;

	if (n <= wait->room)
		return 0;
	many = calloc(BF_WAIT_LINES_MAX, sizeof(*many));
	if (!many)
		return -ENOMEM;
	wait->watch = many;
	wait->room = BF_WAIT_LINES_MAX;
	return 0;
}

void bf_watch_add(struct bf_agent *a, const void *const *lines, uint32_t n)
{
	struct bf_agents *ags = a->sim->agents;
	struct bf_agent_wait *wait = a->wait;

	if (!ags->watches) {
		ags->watch_low = UINTPTR_MAX;
		ags->watch_high = 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		struct bf_watch *w = &wait->watch[i];
		const uintptr_t line = (uintptr_t)line_of(lines[i]);

		ags->watch_low = line < ags->watch_low ? line : ags->watch_low;
		ags->watch_high = line + BF_LINE > ags->watch_high ? line + BF_LINE : ags->watch_high;
		w->agent = a;
		w->addr = lines[i];
		append(bucket_of(ags, line_of(w->addr)), w);
		++*watched_at(ags, line);
	}
	wait->n = n;
	ags->watches += n;
	a->sim->slow |= BF_SLOW_WATCH;
}

void bf_watch_remove(struct bf_agent *a)
{
	struct bf_agents *ags = a->sim->agents;
	struct bf_agent_wait *wait = a->wait;

	for (uint32_t i = 0; i < wait->n; i++) {
		struct bf_watch *w = &wait->watch[i];
		struct bf_watch_bucket *b = bucket_of(ags, line_of(w->addr));

		--*watched_at(ags, (uintptr_t)w->addr);
		if (w->prev)
			w->prev->next = w->next;
		else
			b->first = w->next;
		if (w->next)
			w->next->prev = w->prev;
		else
			b->last = w->prev;
	}
	ags->watches -= wait->n;
	wait->n = 0;
	if (!ags->watches)
		a->sim->slow &= ~BF_SLOW_WATCH;
}

/* A poller would have seen a write of time `at` with its next look, and would have given up at its deadline. */
static uint64_t next_poll(const struct bf_agent_wait *w, uint64_t at)
{
	if (at < w->since_ps)
		at = w->since_ps;
	if (w->poll_ps) {
		const uint64_t polls = (at - w->origin_ps + w->poll_ps - 1) / w->poll_ps;

		at = w->origin_ps + polls * w->poll_ps;
	}
	return at < w->deadline_ps ? at : w->deadline_ps;
}

void bf_agents_line_touched(struct bf_sim *sim, const void *line)
{
	struct bf_agents *ags = sim->agents;
	struct bf_watch_bucket *b;

	if (!*watched_at(ags, (uintptr_t)line))
		return;
	line = line_of(line);
	b = bucket_of(ags, line);
	for (struct bf_watch *w = b->first, *next; w; w = next) {
		struct bf_agent *a = w->agent;

		next = w->next;
		if (line_of(w->addr) != line)
			continue;
		if (bf_noticing(sim)) /* it looks at the line now, and whatever is there */
			bf_notice_read(sim, bf_view_buffer(a->view), line, BF_LINE);
		/* Taking the agent out takes all of its watches: go past those that stand in this bucket too. */
		while (next && next->agent == a)
			next = next->next;
		bf_watch_remove(a);
		a->wait->touched = true;
		bf_agent_wake_at(a, next_poll(a->wait, bf_agents_now(sim)));
	}
}

void bf_agents_touched(struct bf_sim *sim, const void *p, uint64_t len)
{
	const struct bf_agents *ags = sim->agents;
	uintptr_t at = (uintptr_t)line_of(p), end = (uintptr_t)p + len;

	if (!ags->watches || end <= ags->watch_low || at >= ags->watch_high)
		return;
	while (len && at < end) {
		const uintptr_t next = (at | (BF_WATCH_PAGE - 1)) + 1, stop = next < end ? next : end;

		for (; *watched_at(sim->agents, at) && at < stop; at += BF_LINE)
			bf_agents_line_touched(sim, (const void *)at);
		at = next;
	}
}

const struct bf_agent *bf_agents_waiter(const struct bf_sim *sim, const void *addr)
{
	struct bf_agents *ags = sim->agents;
	const void *line = line_of(addr);

	if (!ags->watches)
		return NULL;
	for (const struct bf_watch *w = bucket_of(ags, line)->first; w; w = w->next)
		if (line_of(w->addr) == line)
			return w->agent;
	return NULL;
}
