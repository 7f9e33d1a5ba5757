/*
 * Stale copies: the L1 cache of a block, as far as a driver can notice it.
 *
 * A weak load may leave a copy of its line; later weak loads of the block read the copy, whatever memory holds by then,
 * until the copy expires, gives way to another, or an acquire, a fence or a stronger access drops it. Each copy expires
 * by an event that wakes pollers of the line, so that a loop of weak loads sees the news late but does see it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/notice_internal.h"
#include "sim/view_internal.h"

#define COPIES 16

struct copy {
	struct bf_event expire;
	struct bf_stale *stale;
	uint8_t *line; /* NULL: free */
	uint8_t bytes[BF_LINE];
};

struct bf_stale {
	struct bf_sim *sim;
	uint32_t live, hand; /* copies in use; the next one to give way */
	struct copy copy[COPIES];
};

static void drop(struct copy *c)
{
	bf_sim_cancel(c->stale->sim, &c->expire);
	c->line = NULL;
	c->stale->live--;
}

static void expire(struct bf_event *ev)
{
	struct copy *c = BF_CONTAINER_OF(ev, struct copy, expire);
	const uint8_t *line = c->line;

	drop(c);
	bf_agents_line_touched(c->stale->sim, line);
}

int bf_stale_init(struct bf_buffer *block)
{
	struct bf_stale *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->sim = block->sim;
	for (uint32_t i = 0; i < COPIES; i++) {
		s->copy[i].stale = s;
		bf_event_init(&s->copy[i].expire, expire);
	}
	block->stale = s;
	return 0;
}

void bf_stale_fini(struct bf_buffer *block)
{
	if (!block->stale)
		return;
	bf_stale_drop_all(block);
	free(block->stale);
	block->stale = NULL;
}

static struct copy *find(const struct bf_buffer *block, const uint8_t *line)
{
	struct bf_stale *s = block->stale;

	for (uint32_t i = 0; s->live && i < COPIES; i++) {
		if (s->copy[i].line == line)
			return &s->copy[i];
	}
	return NULL;
}

void bf_stale_drop_line(struct bf_buffer *block, const uint8_t *line)
{
	struct copy *c = find(block, line);

	if (c)
		drop(c);
	if (bf_noticing(block->stale->sim))
		bf_notice_copy_drop(block, line);
}

void bf_stale_drop_all(struct bf_buffer *block)
{
	struct bf_stale *s = block->stale;

	for (uint32_t i = 0; s->live && i < COPIES; i++) {
		if (s->copy[i].line)
			drop(&s->copy[i]);
	}
	if (bf_noticing(s->sim))
		bf_notice_copy_drop(block, NULL);
}

const uint8_t *bf_stale_find(const struct bf_buffer *block, const uint8_t *line)
{
	const struct copy *c = find(block, line);

	return c ? c->bytes : NULL;
}

void bf_stale_keep(struct bf_buffer *block, uint8_t *line, const uint8_t *bytes, uint64_t life_ps)
{
	struct bf_stale *s = block->stale;
	struct copy *c = &s->copy[s->hand];

	s->hand = (s->hand + 1) % COPIES;
	if (c->line)
		drop(c);
	c->line = line;
	memcpy(c->bytes, bytes, BF_LINE);
	s->live++;
	bf_sim_at(s->sim, &c->expire, bf_agents_now(s->sim) + life_ps);
}
