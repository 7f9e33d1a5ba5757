#include "traces/life/last.h"

#include <string.h>

#include "traces/container/number_map_internal.h"
#include "traces/life/explain_internal.h"
#include "traces/life/stuck.h"

#define MISSING 4u /* groups that are told; behind them more of the same follows */

/* The device shows that it has one entry. */
static bool is_of_one(const struct bf_life_row *row)
{
	return !row->software && !row->elsewhere && !row->captured && row->role == BF_LIFE_POINT &&
	       (row->entries == BF_LIFE_ONE || row->entries == BF_LIFE_SLOTS || row->entries == BF_LIFE_NAMED) &&
	       !(row->queue && *row->queue == '*');
}

/* The first record of the device that tells of one entry: it has read it. */
static const struct bf_life_row *row_of(const struct bf_trace_record *rec, const struct bf_life **life)
{
	const struct bf_device *d;

	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++)
		for (const struct bf_life *const *l = d->lives; l && *l; l++) {
			uint32_t first = BF_LIFE_POINTS;

			for (const struct bf_life_row *row = (*l)->rows; row->type; row++)
				first = is_of_one(row) && row->point < first ? row->point : first;
			for (const struct bf_life_row *row = (*l)->rows; row->type; row++)
				if (is_of_one(row) && row->point == first && strcmp(row->type, rec->type->name) == 0 &&
				    bf_life_holds(row, rec->type, rec->fixed)) {
					*life = *l;
					return row;
				}
		}
	return NULL;
}

struct last {
	struct bf_explain_target target;
	struct bf_number_map times, laps; /* of a slot: how many entries; of a queue: its last index, plus one */
	bool found;
};

/* Counters of 16 bits go on counting in targets. */
static int unwrap(struct last *l, const struct bf_life *life, uint64_t queue, uint32_t actor, uint64_t *index)
{
	const uint64_t key[3] = { actor, queue, 0 }, before = bf_number_get(&l->laps, key);

	if (!life->wrap)
		return 0;
	if (before) {
		const uint64_t step = (*index - (before - 1)) % life->wrap;

		*index = before - 1 + (step <= life->wrap / 2 ? step : 0);
	}
	return bf_number_put(&l->laps, key, *index + 1);
}

static int take(struct last *l, const struct bf_trace *t, const struct bf_trace_record *rec)
{
	const char *actor = bf_trace_actor_name(t, rec->actor);
	const struct bf_life *life;
	const struct bf_life_row *row = row_of(rec, &life);
	struct bf_explain_target target = { .nth = 1 };
	int rc;

	if (!row)
		return 0;
	target.index = bf_life_u64(row->first, rec->type, rec->fixed);
	target.queue = row->queue ? bf_life_u64(row->queue, rec->type, rec->fixed) : 0;
	if (!row->queue && !bf_life_queue_number(life, actor, &target.queue))
		return 0;
	rc = unwrap(l, life, target.queue, rec->actor, &target.index);
	if (life->prefix) {
		target.kind = BF_EXPLAIN_ROWS;
		target.life = life;
	}
	if (!rc && life->id) {
		const uint64_t key[3] = { rec->actor, target.queue, target.index };

		target.by_slot = true;
		target.nth = (uint32_t)bf_number_get(&l->times, key) + 1;
		rc = bf_number_put(&l->times, key, target.nth);
	}
	bf_explain_device_name(actor, target.device, sizeof(target.device));
	l->target = target;
	l->found = true;
	return rc;
}

bool bf_last_entry(struct bf_trace *t, struct bf_explain_target *out)
{
	struct last l = { .found = false };
	struct bf_trace_record rec;
	int rc = 0, damage = 0;

	while (!rc && (rc = bf_trace_next_good(t, &rec, &damage)) > 0)
		rc = rec.type->class_ & BF_CLASS_QUEUE ? take(&l, t, &rec) : 0;
	bf_number_map_free(&l.times);
	bf_number_map_free(&l.laps);
	*out = l.target;
	return !rc && l.found;
}

void bf_last_missing(struct bf_trace *t, bool threads, FILE *out)
{
	const struct bf_stuck_group *g;
	struct bf_stuck *stuck = NULL;

	if (bf_trace_seek_time(t, 0) == 0)
		bf_stuck_read(t, &stuck, NULL);
	for (uint32_t i = 0, told = 0; stuck && told < MISSING && (g = bf_stuck_group(stuck, i)) != NULL; i++) {
		if (!threads && strstr(g->kind, "thread"))
			continue;
		fprintf(out, "missing: %s: %s\n", g->where, g->text);
		told++;
	}
	bf_stuck_free(stuck);
}

void bf_last_life(struct bf_trace *t, FILE *out)
{
	struct bf_explain_target target;
	struct bf_explain *life = NULL;
	char text[80];

	if (bf_trace_seek_time(t, 0) != 0 || !bf_last_entry(t, &target))
		return;
	bf_explain_trace(&target, t, &life, NULL);
	if (!life)
		return;
	fprintf(out, "the last %s that a device took, %s:\n", bf_explain_thing(&target),
		bf_explain_target_text(&target, text, sizeof(text)));
	bf_explain_print(life, out, BF_EXPLAIN_COLUMNS);
	bf_explain_free(life);
}

const char *bf_last_failed(const struct bf_trace *t, const struct bf_rules *r)
{
	const char *verdict = bf_trace_meta_get(t, "verdict");
	const struct bf_found *f;

	if (!verdict || strcmp(verdict, "good") == 0 || strcmp(verdict, "not run") == 0)
		return NULL;
	for (uint32_t i = 0; (f = bf_rules_found(r, i)) != NULL; i++)
		if (f->rule->severity != BF_SEVERITY_NOTE && strcmp(f->rule->id, "MACHINE-STUCK") != 0)
			return NULL;
	return verdict;
}

void bf_last_story(struct bf_trace *t, FILE *out)
{
	const char *reason = bf_trace_meta_get(t, "reason");

	if (reason)
		fprintf(out, "what: %s\n", reason);
	bf_last_missing(t, true, out);
	bf_last_life(t, out);
}
