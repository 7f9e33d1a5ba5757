/* Threads by their records: who a record is of, and where it runs. */
#include <errno.h>
#include <string.h>

#include "sim/grow.h"
#include "traces/rules/order/order_internal.h"

void bf_order_no_memory(struct bf_order *o)
{
	o->gave_up = true;
	errno = ENOMEM;
}

void bf_order_add(struct bf_order *o, struct bf_order_clock *to, const struct bf_order_clock *from)
{
	if (!bf_order_join(to, from))
		bf_order_no_memory(o);
}

void bf_order_become(struct bf_order *o, struct bf_order_clock *to, const struct bf_order_clock *from)
{
	if (to->n)
		memset(to->at, 0, to->n * sizeof(*to->at));
	bf_order_add(o, to, from);
}

/* Where the part of a name begins that is `letter` and a number, ".b12"; `*end` is behind it. NULL: nowhere. */
static const char *part(const char *name, char letter, const char **end)
{
	for (const char *p = name; p; p = strchr(p, '.') ? strchr(p, '.') + 1 : NULL) {
		const size_t digits = *p == letter ? strspn(p + 1, "0123456789") : 0;

		if (!digits || (p[1 + digits] && p[1 + digits] != '.'))
			continue;
		*end = p + 1 + digits;
		return p;
	}
	return NULL;
}

static uint32_t find_block(struct bf_order *o, const char *name, size_t len)
{
	for (uint32_t i = 0; i < o->nblocks; i++)
		if (strlen(o->blocks[i].name) == len && !memcmp(o->blocks[i].name, name, len))
			return i + 1;
	if (BF_GROW(o->blocks, o->blocks_cap, o->nblocks + 1)) {
		bf_order_no_memory(o);
		return 0;
	}
	memcpy(o->blocks[o->nblocks].name, name, len);
	return ++o->nblocks;
}

static uint32_t new_thread(struct bf_order *o, const struct bf_seen *e, const char *name, size_t len)
{
	struct bf_order_thread *t;
	const char *end;

	if (BF_GROW(o->threads, o->threads_cap, o->nthreads + 1)) {
		bf_order_no_memory(o);
		return 0;
	}
	t = &o->threads[o->nthreads++];
	memcpy(t->name, name, len);
	t->pe = e->pe;
	t->actor = e->actor;
	t->stirred = true;
	if (part(t->name, 'b', &end))
		t->block = find_block(o, t->name, (size_t)(end - t->name));
	/* Drivers' threads ("pe0.b1.w2.l3") meet in their warp alone; those of kernels at barriers as well. */
	o->barriers |= t->block && memcmp(t->name, "pe", 2) != 0;
	bf_order_add(o, &t->knows, &o->ended);
	/* Whoever started it was a processor. */
	for (uint32_t i = 0; t->block && i < o->nthreads; i++)
		if (!o->threads[i].block)
			bf_order_add(o, &t->knows, &o->threads[i].knows);
	return o->nthreads;
}

struct bf_order_thread *bf_order_thread_of(struct bf_rules *r, struct bf_order *o, const struct bf_seen *e)
{
	const uint32_t place = bf_numbering_add(&o->actors, e->actor);
	const char *name, *lane, *end;
	uint32_t *of;
	size_t len;

	if (!place || BF_GROW(o->thread_of, o->thread_of_cap, place)) {
		bf_order_no_memory(o);
		return NULL;
	}
	of = &o->thread_of[place - 1];
	if (*of)
		return &o->threads[*of - 1];
	name = bf_rule_actor(r, e->actor);
	lane = part(name, 'l', &end);
	len = lane && !*end && lane > name && part(name, 'b', &end) ? (size_t)(lane - 1 - name) : strlen(name);
	len = len < sizeof(o->threads->name) ? len : sizeof(o->threads->name) - 1;
	for (uint32_t i = 0; i < o->nthreads && !*of; i++)
		if (strlen(o->threads[i].name) == len && !memcmp(o->threads[i].name, name, len))
			*of = i + 1;
	if (!*of)
		*of = new_thread(o, e, name, len);
	return *of ? &o->threads[*of - 1] : NULL;
}
