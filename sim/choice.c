#include "sim/choice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"

const char *bf_choice_name(enum bf_choice_kind kind)
{
	static const char *const names[BF_CHOICE_KINDS] = { "schedule", "drain", "stale", "combine", "dma",
							    "wake",     "loss",  "read",  "order" };

	return kind < BF_CHOICE_KINDS ? names[kind] : "?";
}

static uint32_t choose(struct bf_chooser *c, enum bf_choice_kind kind, uint32_t n)
{
	struct bf_enumeration *e = BF_CONTAINER_OF(c, struct bf_enumeration, chooser);
	struct bf_choice *now;

	if (BF_GROW(e->list, e->cap, e->at + 1)) {
		e->failed = true;
		return 0;
	}
	now = &e->list[e->at];
	if (e->at++ == e->count) {
		*now = (struct bf_choice){ .kind = (uint8_t)kind, .n = n };
		e->count++;
	} else if (!now->n) { /* from a text, which says no more than what was taken */
		now->kind = (uint8_t)kind;
		now->n = n;
	}
	if (now->kind != kind || now->n != n || now->taken >= n) {
		e->failed = true;
		return 0;
	}
	return now->taken;
}

void bf_enumeration_init(struct bf_enumeration *e, uint32_t limit)
{
	*e = (struct bf_enumeration){ .chooser.choose = choose, .limit = limit };
}

void bf_enumeration_fini(struct bf_enumeration *e)
{
	free(e->list);
	e->list = NULL;
	e->count = e->cap = 0;
}

void bf_enumeration_begin(struct bf_enumeration *e)
{
	e->at = 0;
}

bool bf_enumeration_next(struct bf_enumeration *e)
{
	uint32_t deviations = 0;

	if (e->failed)
		return false;
	e->count = e->at < e->count ? e->at : e->count; /* a run may have ended early */
	for (uint32_t i = 0; i < e->count; i++)
		deviations += e->list[i].taken != 0;
	for (; e->count; e->count--) {
		struct bf_choice *last = &e->list[e->count - 1];

		deviations -= last->taken != 0;
		if (last->taken + 1 == last->n)
			continue;
		if (deviations >= e->limit) {
			e->skipped++;
			continue;
		}
		last->taken++;
		return true;
	}
	return false;
}

size_t bf_enumeration_print(const struct bf_enumeration *e, char *buf, size_t cap)
{
	size_t len = 0;

	if (cap)
		buf[0] = '\0';
	for (uint32_t i = 0; i < e->count; i++) {
		const size_t at = len < cap ? len : cap;

		if (e->list[i].taken)
			len += (size_t)snprintf(buf + at, cap - at, "%s%" PRIu32 ":%" PRIu32, len ? "," : "", i,
						e->list[i].taken);
	}
	return len;
}

int bf_enumeration_parse(struct bf_enumeration *e, const char *text, struct bf_error *err)
{
	enum { CHOICES_MAX = 1 << 20 };
	const char *p = text;

	e->count = 0;
	while (*p) {
		unsigned long at, taken = 0;
		char *end = NULL;

		at = *p >= '0' && *p <= '9' ? strtoul(p, &end, 10) : CHOICES_MAX;
		if (end && *end == ':' && end[1] >= '0' && end[1] <= '9')
			taken = strtoul(end + 1, &end, 10);
		if (at >= CHOICES_MAX || at < e->count || !taken || taken > UINT16_MAX || (*end && *end != ','))
			return bf_fail(err, -EINVAL,
				       "choices \"%s\", character %zu: a list such as 3:1,17:2 (choice:alternative, "
				       "choices rising) was expected",
				       text, (size_t)(p - text) + 1);
		while (e->count <= at) {
			if (BF_GROW(e->list, e->cap, e->count + 1))
				return bf_fail(err, -ENOMEM, "no memory for choices");
			e->list[e->count++] = (struct bf_choice){ 0 };
		}
		e->list[at].taken = (uint32_t)taken;
		p = *end ? end + 1 : end;
	}
	return 0;
}
