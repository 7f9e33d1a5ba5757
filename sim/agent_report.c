/* Who waits for what: the text and the records of a deadlock. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/agent_internal.h"
#include "sim/bytes.h"
#include "sim/records_agent.h"

/* A text that grows like snprintf(): `len` counts what did not fit, too. */
struct text {
	char *buf;
	size_t cap, len;
};

static char *room(const struct text *t, size_t *cap)
{
	*cap = t->len < t->cap ? t->cap - t->len : 0;
	return *cap ? t->buf + t->len : NULL;
}

static void BF_PRINTF(2, 3) add(struct text *t, const char *fmt, ...)
{
	size_t cap;
	char *at = room(t, &cap);
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(at, cap, fmt, ap);
	va_end(ap);
	t->len += n > 0 ? (size_t)n : 0;
}

static struct bf_region *region_of(const struct bf_agent *a, const void *p)
{
	return a->view->space ? bf_space_find_host(a->view->space, p) : NULL;
}

/* Up to 8 bytes at `p` as a little-endian number. */
static uint64_t value_at(const struct bf_region *r, const void *p)
{
	const uint64_t left = r->size - (bf_va(r, p) - r->va);
	uint64_t v = 0;

	if (r->kind != BF_MEM_MMIO)
		memcpy(&v, p, left < 8 ? (size_t)left : 8);
	return v;
}

/* Where it stands, or whoever stands for it. */
static const struct bf_agent *place_of(const struct bf_agent *a)
{
	return a->wait->stand_in ? a->wait->stand_in : a;
}

static bool blocked(const struct bf_agent *a)
{
	a = place_of(a);
	return a->state == BF_AGENT_WAITING && !bf_event_pending(&a->wake);
}

static void describe_place(struct text *t, const struct bf_agent *a)
{
	const struct bf_agent_wait *w = a->wait;
	size_t cap;
	char *at;
	int n;

	for (uint32_t i = 0; i < w->n; i++) {
		const void *p = w->watch[i].addr;
		const struct bf_region *r = region_of(a, p);

		if (r)
			add(t, "%s %s+0x%" PRIx64 " (holds 0x%" PRIx64 ")", i ? "," : " at", r->name,
			    bf_va(r, p) - r->va, value_at(r, p));
	}
	if (w->describe) {
		at = room(t, &cap);
		n = w->describe(a, w->describe_arg, at, cap);
		t->len += n > 0 ? (size_t)n : 0;
	}
}

static void describe_agent(struct text *t, const struct bf_agent *a)
{
	const struct bf_agent *place = place_of(a);

	add(t, "'%s' waits for %s", a->name, place->waits_for ? place->waits_for : "nothing that it named");
	describe_place(t, place);
}

static void add_time(struct text *t, uint64_t ps)
{
	add(t, "%llu.%06llu us", ps / BF_US, ps % BF_US);
}

static void describe_line(struct text *t, const struct bf_agent *a)
{
	describe_agent(t, a);
	add(t, ", since ");
	add_time(t, place_of(a)->wait->since_ps);
}

size_t bf_agents_describe(const struct bf_sim *sim, char *buf, size_t cap)
{
	struct text t = { .buf = buf, .cap = cap };

	if (cap)
		buf[0] = '\0';
	for (const struct bf_agent *a = sim->agents->first; a; a = a->next) {
		if (!blocked(a))
			continue;
		describe_line(&t, a);
		add(&t, "\n");
	}
	return t.len;
}

static void record_deadlock(struct bf_sim *sim, const struct bf_agent *a)
{
	const struct bf_agent_wait *w = a->wait;
	const struct bf_region *r = w->n ? region_of(a, w->watch[0].addr) : NULL;
	struct bf_rec_deadlock rec = { .since = w->since_ps };
	char line[512];
	struct text t = { .buf = line, .cap = sizeof(line) };

	if (r) {
		rec.va = bf_va(r, w->watch[0].addr);
		rec.value = value_at(r, w->watch[0].addr);
	}
	strncpy(rec.what, a->waits_for ? a->waits_for : "", sizeof(rec.what) - 1);
	describe_line(&t, a);
	BF_EMIT_MADE(sim, a->actor, deadlock, rec, line, (uint32_t)(t.len < sizeof(line) ? t.len : sizeof(line) - 1));
}

void bf_agents_report(struct bf_sim *sim, struct bf_error *err)
{
	char line[sizeof(err->text)];
	struct text t = { .buf = line, .cap = sizeof(line) };
	uint32_t count = 0, told = 0;

	for (const struct bf_agent *a = sim->agents->first; a; a = a->next) {
		if (!blocked(a))
			continue;
		count++;
		if (bf_probe(sim, BF_CLASS_AGENT))
			record_deadlock(sim, a);
	}
	add(&t, "deadlock at ");
	add_time(&t, sim->now_ps);
	add(&t, ", %u blocked: ", count);
	for (const struct bf_agent *a = sim->agents->first; a; a = a->next) {
		const size_t before = t.len;

		if (!blocked(a))
			continue;
		add(&t, "%s", told ? "; " : "");
		describe_agent(&t, a);
		/* Whole entries only, with room for the count of the others; the first one may be cut. */
		if (told && t.len + sizeof("; and 4294967295 more") > t.cap) {
			t.len = before;
			add(&t, "; and %u more", count - told);
			break;
		}
		told++;
	}
	bf_fail(err, -EDEADLK, "%s", line);
}
