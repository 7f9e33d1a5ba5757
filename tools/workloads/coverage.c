/*
 * What a search by seed went through, and what not: from the records of one more run under each ordering. No failure
 * says little about what never happened.
 */
#include "tools/workloads/coverage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "traces/device.h"

/* A queue: how much was in its ring at most, of how much it takes. */
struct ring {
	uint32_t actor;
	uint64_t used, size;
};

struct coverage {
	struct bf_sink sink;
	const struct bf_rec_schema *type[BF_RECORD_TYPES];
	const struct bf_fill_row *fill[BF_RECORD_TYPES], *size[BF_RECORD_TYPES]; /* of the type; NULL: none */
	struct ring *rings;
	uint32_t nrings, rings_cap;
	struct ring full; /* size 0: none was used */
	uint64_t threads, late, stale, faults;
	bool faulty; /* some shape has a fault plan */
	bool no_memory;
};

static struct ring *ring_of(struct coverage *c, uint32_t actor)
{
	for (uint32_t i = 0; i < c->nrings; i++)
		if (c->rings[i].actor == actor)
			return &c->rings[i];
	if (BF_GROW(c->rings, c->rings_cap, c->nrings + 1)) {
		c->no_memory = true;
		return NULL;
	}
	c->rings[c->nrings] = (struct ring){ .actor = actor };
	return &c->rings[c->nrings++];
}

static int declare_type(struct bf_sink *s, const struct bf_rec_schema *type)
{
	struct coverage *c = BF_CONTAINER_OF(s, struct coverage, sink);
	const struct bf_device *d;

	c->type[type->id] = type;
	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++) {
		for (const struct bf_fill_row *row = d->fills; row && row->type; row++) {
			if (strcmp(row->type, type->name) == 0)
				c->fill[type->id] = row;
			if (strcmp(row->size_type, type->name) == 0)
				c->size[type->id] = row;
		}
	}
	return 0;
}

static void take_device(struct coverage *c, const struct bf_device_record *e)
{
	const struct bf_fill_row *fill = c->fill[e->type->id], *size = c->size[e->type->id];
	struct ring *r = fill || size ? ring_of(c, e->actor) : NULL;
	uint64_t used;

	if (!r)
		return;
	if (size)
		r->size = bf_device_u64(e, size->size);
	if (!fill)
		return;
	used = bf_device_u64(e, fill->used) - (fill->less ? bf_device_u64(e, fill->less) : 0);
	r->used = used > r->used ? used : r->used;
}

static void take(struct coverage *c, const struct bf_rec_header *head, const uint8_t *fixed)
{
	const struct bf_device_record e = {
		.time_ps = head->time_ps, .actor = head->actor, .type = c->type[head->type], .fixed = fixed
	};

	switch (head->type) {
	case BF_REC_ID_agent_start:
		c->threads++;
		break;
	case BF_REC_ID_store_visible:
		c->late += ((const struct bf_rec_store_visible *)(const void *)fixed)->age > 0;
		break;
	case BF_REC_ID_stale_load:
		c->stale++;
		break;
	case BF_REC_ID_fault_injected:
		c->faults++;
		break;
	default:
		if (e.type)
			take_device(c, &e);
		break;
	}
}

static int write_records(struct bf_sink *s, const void *records, size_t len)
{
	struct coverage *c = BF_CONTAINER_OF(s, struct coverage, sink);
	const uint8_t *at = records, *end = at + len;

	for (; at < end; at += bf_record_span((const void *)at)) {
		const struct bf_rec_header *head = (const void *)at;

		if (head->type < BF_RECORD_TYPES)
			take(c, head, (const uint8_t *)(head + 1));
	}
	return 0;
}

/* The ring that was fullest, by share. */
static void keep_fullest(struct coverage *c)
{
	for (uint32_t i = 0; i < c->nrings; i++) {
		const struct ring *r = &c->rings[i];

		if (r->size && r->used && (!c->full.size || r->used * c->full.size > c->full.used * r->size))
			c->full = *r;
	}
}

static int run_orders(struct coverage *c, const struct bf_search *s, const struct bf_family *f, void *w,
		      struct bf_rules *rules, struct bf_error *err)
{
	struct bf_sink_tee tee;
	int rc = 0;

	for (uint32_t i = 0; i < s->norders && !rc; i++) {
		memset(c->type, 0, sizeof(c->type));
		c->nrings = 0; /* queues of another machine */
		bf_member_set(w, f->search.ordering.offset, f->search.ordering.size, s->orders[i]);
		/* One stream for the rules: the last and weakest ordering. */
		if (rules && i + 1 == s->norders)
			bf_sink_tee_init(&tee, &c->sink, bf_rules_sink(rules));
		rc = bf_family_again(f, w, BF_CLASS_ALL, rules && i + 1 == s->norders ? &tee.sink : &c->sink, err);
		keep_fullest(c);
	}
	return rc;
}

static int run(struct coverage *c, const struct bf_search *s, const struct bf_family *f, const void *w, void *mine,
	       struct bf_rules *rules, struct bf_error *err)
{
	int rc = 0;

	for (uint32_t i = 0; i <= s->nshapes && !rc; i++) {
		const void *const shape = i ? s->shapes[i - 1] : w;

		c->faulty |= bf_family_faults(f, shape) != NULL;
		memcpy(mine, shape, f->search.choice_bytes);
		rc = run_orders(c, s, f, mine, i ? NULL : rules, err);
	}
	return rc ? rc : bf_rules_finish(rules, true);
}

/* What did not happen. */
static uint32_t not_covered(const struct coverage *c, const char *out[4])
{
	uint32_t n = 0;

	if (c->full.size && c->full.used * 8 < c->full.size * 7 && c->full.used + 1 < c->full.size)
		out[n++] = "no run filled a ring (a smaller one does)";
	if (c->full.size && !c->faulty)
		out[n++] = "nothing was lost or late on links (--faults)";
	else if (c->full.size && !c->faults)
		out[n++] = "no fault of the plan came up";
	out[n++] = "other sizes and shapes than these";
	return n;
}

static void tell_json(const struct coverage *c, const struct bf_search *s, const struct bf_found *could,
		      struct bf_json *j)
{
	const char *missed[4];
	const uint32_t n = not_covered(c, missed);

	bf_json_open(j, "covered", '{');
	bf_json_u64(j, "shapes", 1 + s->nshapes);
	bf_json_u64(j, "threads", c->threads);
	bf_json_u64(j, "late_stores", c->late);
	bf_json_u64(j, "stale_loads", c->stale);
	bf_json_u64(j, "faults", c->faults);
	bf_json_u64(j, "ring_used", c->full.used);
	bf_json_u64(j, "ring_size", c->full.size);
	bf_json_open(j, "not", '[');
	for (uint32_t i = 0; i < n; i++)
		bf_json_text(j, NULL, missed[i]);
	bf_json_close(j, ']');
	if (could) {
		bf_json_text(j, "luck", could->rule->id);
		bf_json_text(j, "luck_text", could->text);
	}
	bf_json_close(j, '}');
}

static void tell(const struct coverage *c, const struct bf_search *s, const struct bf_found *could)
{
	const char *missed[4];
	const uint32_t n = not_covered(c, missed);

	printf("in one more run of each ordering");
	if (s->nshapes)
		printf(" and of %u shapes", s->nshapes + 1);
	printf(": %" PRIu64 " threads started, %" PRIu64 " late stores, %" PRIu64 " stale loads, ", c->threads, c->late,
	       c->stale);
	if (c->faulty)
		printf("%" PRIu64 " faults, ", c->faults);
	if (c->full.size)
		printf("the fullest ring held %" PRIu64 " of %" PRIu64 "\n", c->full.used, c->full.size);
	else
		printf("no ring was used\n");
	printf("not covered: ");
	for (uint32_t i = 0; i < n; i++)
		printf("%s%s", i ? "; " : "", missed[i]);
	printf("\n");
	if (could) {
		printf("good by luck: %s\n  ", could->rule->id);
		bf_cli_wrap(stdout, could->text, 2, 2);
	}
}

int bf_coverage_tell(const struct bf_family *f, const struct bf_search *s, const void *w, struct bf_json *j,
		     struct bf_error *err)
{
	const struct bf_rules_opts opts = { .families = "order" };
	struct coverage *c = calloc(1, sizeof(*c));
	void *mine = malloc(f->search.choice_bytes);
	struct bf_rules *rules = NULL;
	int rc = c && mine ? bf_rules_create(&opts, &rules, err) : bf_fail(err, -ENOMEM, "no memory for records");

	if (!rc) {
		c->sink = (struct bf_sink){ .declare_type = declare_type,
					    .declare_actor = bf_sink_ignore_actor,
					    .write = write_records };
		rc = run(c, s, f, w, mine, rules, err);
	}
	if (!rc && c->no_memory)
		rc = bf_fail(err, -ENOMEM, "no memory for records");
	if (!rc && j)
		tell_json(c, s, bf_rules_root(rules), j);
	else if (!rc)
		tell(c, s, bf_rules_root(rules));
	bf_rules_destroy(rules);
	if (c)
		free(c->rings);
	free(c);
	free(mine);
	return rc;
}
