#include "sim/notice_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/view_internal.h"

enum shadow_of { OF_STORE, OF_COPY, OF_STALLED_LOAD, OF_STALLED_STORE };

struct shadow {
	enum shadow_of of;
	uint8_t ordering; /* of a store */
	bool mmio;        /* likewise */
	uint32_t len;     /* 0: nothing left to notice, or nothing yet */
	uint64_t key, until_ps;
	const uint8_t *at;
	const struct bf_buffer *in; /* where it would wait; its thread's for a stall */
	uint8_t bytes[BF_LINE];     /* of a copy */
};

struct bf_notice {
	struct shadow *shadow;
	uint32_t count, cap;
};

void bf_notice_free(struct bf_notice *n)
{
	if (n)
		free(n->shadow);
	free(n);
}

uint32_t bf_choose_watched(struct bf_sim *sim, enum bf_choice_kind kind, uint64_t key)
{
	uint32_t taken;

	sim->chooser->key = key;
	sim->chooser->watched = true;
	taken = sim->chooser->choose(sim->chooser, kind, 2);
	sim->chooser->watched = false;
	sim->chooser->key = 0;
	return taken;
}

static void take_out(struct bf_notice *n, uint32_t i)
{
	n->shadow[i] = n->shadow[--n->count];
}

static void forget_past(const struct bf_sim *sim, struct bf_notice *n)
{
	const uint64_t now = bf_agents_now(sim);

	for (uint32_t i = n->count; i-- > 0;)
		if (n->shadow[i].until_ps <= now)
			take_out(n, i);
}

static struct shadow *add(struct bf_sim *sim, const struct shadow *s)
{
	struct bf_notice *n = sim->agents->notice;

	if (!n)
		n = sim->agents->notice = calloc(1, sizeof(*n));
	if (n && n->count == n->cap)
		forget_past(sim, n);
	if (!n || BF_GROW(n->shadow, n->cap, n->count + 1)) {
		bf_fail(&sim->error, -ENOMEM, "no memory for what a search could have made late");
		bf_sim_stop(sim);
		return NULL;
	}
	n->shadow[n->count] = *s;
	return &n->shadow[n->count++];
}

/* From now on it is a choice of the search; its shadows have done their work. */
static void noticed(struct bf_sim *sim, uint64_t key)
{
	struct bf_notice *n = sim->agents->notice;

	sim->chooser->noticed(sim->chooser, key);
	for (uint32_t i = n->count; i-- > 0;)
		if (n->shadow[i].key == key)
			take_out(n, i);
}

static bool overlap(const struct shadow *s, const uint8_t *p, uint64_t len)
{
	return len && s->len && s->at < p + len && p < s->at + s->len;
}

/* Whether who looks through `from` looks through `b`. */
static bool looks_through(const struct bf_buffer *from, const struct bf_buffer *b)
{
	while (from && from != b)
		from = from->above;
	return from;
}

/* The thread's last stall would have made bytes that others see from now on late, too. */
static void extend_stall(struct bf_sim *sim, const struct bf_buffer *thread, const uint8_t *at, uint32_t len)
{
	struct bf_notice *n = sim->agents->notice;
	struct shadow s = { .of = OF_STALLED_STORE, .at = at, .len = len, .in = thread };

	for (uint32_t i = n ? n->count : 0; i-- > 0;) {
		if (n->shadow[i].of < OF_STALLED_LOAD || n->shadow[i].in != thread || !n->shadow[i].bytes[0])
			continue;
		s.key = n->shadow[i].key;
		s.until_ps = n->shadow[i].until_ps;
		s.bytes[0] = 1;
		add(sim, &s);
		return;
	}
}

void bf_notice_issue(struct bf_sim *sim, const struct bf_buffer *thread, const struct bf_buffered *e)
{
	extend_stall(sim, thread, e->at, e->len);
}

void bf_notice_store(struct bf_buffer *b, const struct bf_buffered *e, uint64_t key, uint64_t until_ps)
{
	const struct shadow s = { .of = OF_STORE,
				  .ordering = e->ordering,
				  .key = key,
				  .until_ps = until_ps,
				  .at = e->at,
				  .len = e->len,
				  .in = b };

	add(b->sim, &s);
}

/* As bf_buffered stores do in their buffer (sim/view_buffer.c). */
static bool ordered(const struct shadow *earlier, const struct bf_buffered *later)
{
	if (later->ordering == BF_ORDER_TSO)
		return true;
	if (later->ordering == BF_ORDER_GPU)
		return bf_line_of(earlier->at) == bf_line_of(later->at);
	return overlap(earlier, later->at, later->len);
}

void bf_notice_arrival(struct bf_buffer *b, const struct bf_buffered *e, uint64_t until_ps)
{
	struct bf_notice *n = b->sim->agents->notice;

	for (uint32_t i = n ? n->count : 0; i-- > 0;) {
		struct shadow s = n->shadow[i];

		if (s.of != OF_STORE || s.in != b || !ordered(&s, e))
			continue;
		if (e->ordering != BF_ORDER_TSO && e->at <= s.at && s.at + s.len <= e->at + e->len) {
			take_out(n, i); /* nobody will see the older value */
			continue;
		}
		s.at = e->at;
		s.len = e->len;
		s.until_ps = until_ps < s.until_ps ? until_ps : s.until_ps;
		add(b->sim, &s);
		n = b->sim->agents->notice;
	}
}

void bf_notice_push(const struct bf_buffer *b, int level, const uint8_t *line)
{
	struct bf_notice *n = b->sim->agents->notice;

	for (uint32_t i = n ? n->count : 0; i-- > 0;) {
		const struct shadow s = n->shadow[i];

		if (s.of != OF_STORE || (int)s.in->level >= level || !looks_through(b, s.in) ||
		    (line && bf_line_of(s.at) != line))
			continue;
		take_out(n, i);
		extend_stall(b->sim, b, s.at, s.len); /* had it been late: until this push, which would be later */
		n = b->sim->agents->notice;
	}
}

static void look(struct bf_sim *sim, const struct bf_buffer *from, const uint8_t *p, uint64_t len, bool writes)
{
	struct bf_notice *n = sim->agents->notice;
	const uint64_t now = bf_agents_now(sim);

	for (uint32_t i = n ? n->count : 0; i-- > 0;) {
		const struct shadow *s = i < n->count ? &n->shadow[i] : NULL;

		if (!s || s->of == OF_COPY || !overlap(s, p, len))
			continue;
		if (s->until_ps <= now)
			take_out(n, i);
		else if (!looks_through(from, s->in) && (writes || s->of != OF_STALLED_LOAD))
			noticed(sim, s->key);
	}
}

void bf_notice_read(struct bf_sim *sim, const struct bf_buffer *from, const void *p, uint64_t len)
{
	look(sim, from, p, len, false);
}

void bf_notice_write(struct bf_sim *sim, const struct bf_buffer *from, const void *p, uint64_t len)
{
	look(sim, from, p, len, true);
}

void bf_notice_copy(struct bf_buffer *block, const uint8_t *line, const uint8_t *bytes, uint64_t key, uint64_t until_ps)
{
	struct shadow s = { .of = OF_COPY, .key = key, .until_ps = until_ps, .at = line, .len = BF_LINE, .in = block };

	memcpy(s.bytes, bytes, BF_LINE);
	add(block->sim, &s);
}

void bf_notice_copy_read(struct bf_buffer *block, const uint8_t *p, uint32_t len, const uint8_t *fresh)
{
	struct bf_notice *n = block->sim->agents->notice;
	const uint64_t now = bf_agents_now(block->sim);

	for (uint32_t i = n ? n->count : 0; i-- > 0;) {
		const struct shadow *s = i < n->count ? &n->shadow[i] : NULL;

		if (!s || s->of != OF_COPY || s->in != block || !overlap(s, p, len))
			continue;
		if (s->until_ps <= now)
			take_out(n, i);
		else if (memcmp(s->bytes + (p - s->at), fresh, len) != 0)
			noticed(block->sim, s->key);
	}
}

void bf_notice_copy_drop(struct bf_buffer *block, const uint8_t *line)
{
	struct bf_notice *n = block->sim->agents->notice;

	for (uint32_t i = n ? n->count : 0; i-- > 0;)
		if (n->shadow[i].of == OF_COPY && n->shadow[i].in == block && (!line || n->shadow[i].at == line))
			take_out(n, i);
}

void bf_notice_stall(struct bf_sim *sim, const struct bf_buffer *thread, const void *p, uint32_t len, bool loads,
		     uint64_t key, uint64_t until_ps)
{
	struct bf_notice *n = sim->agents->notice;
	struct shadow s = { .of = loads ? OF_STALLED_LOAD : OF_STALLED_STORE,
			    .key = key,
			    .until_ps = until_ps,
			    .at = p,
			    .len = len,
			    .in = thread };

	/* What the thread stores from here on belongs to this stall. */
	for (uint32_t i = n ? n->count : 0; i-- > 0;)
		if (n->shadow[i].of >= OF_STALLED_LOAD && n->shadow[i].in == thread)
			n->shadow[i].bytes[0] = 0;
	s.bytes[0] = 1;
	add(sim, &s);
}
