/* The life of an entry of a device that tells it by rows (traces/device.h): each record that speaks of the entry. */
#include <errno.h>

#include "traces/device.h"
#include "traces/life/explain_internal.h"
#include "traces/life/label.h"

/* The number behind the prefix in the last part of an actor's name: 1 of "ring0.r1". */
static bool is_queue(const struct bf_explain *l, const char *actor)
{
	const char *dot = strrchr(actor, '.');
	char name[48];

	snprintf(name, sizeof(name), "%s%" PRIu64, l->target.life->prefix, l->target.queue);
	return dot && strcmp(dot + 1, name) == 0;
}

static bool is_own(const struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	if (row->when && bf_explain_get(v, row->when) != row->is)
		return false;
	if (row->software ? !bf_explain_from_driver(l, v) : !bf_explain_from_device(l, v->actor))
		return false;
	return row->queue ? bf_explain_get(v, row->queue) == l->target.queue : is_queue(l, v->actor);
}

static bool is_about(const struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const struct bf_life *life = l->target.life;
	const uint64_t index = life->wrap ? l->target.index % life->wrap : l->target.index;
	const uint64_t first = row->first ? bf_explain_get(v, row->first) : 0;
	const uint64_t second = row->second ? bf_explain_get(v, row->second) : 0;

	switch (row->entries) {
	case BF_LIFE_COUNT:
		return index - first < second;
	case BF_LIFE_RANGE:
		return index >= first && index < second;
	case BF_LIFE_BELOW:
	case BF_LIFE_UPTO:
		return index < first;
	case BF_LIFE_ONE:
	case BF_LIFE_SLOTS:
	case BF_LIFE_NAMED:
	default:
		return index == first;
	}
}

static void tell(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const char *point = l->target.life->points[row->point];
	struct bf_explain_step s =
	    row->software ? bf_explain_by(v, point, "%s", "") : bf_explain_make(v, BF_EXPLAIN_DEVICE, point, "%s", "");

	bf_label_make(row->says ? row->says : point, v->type, v->fixed, s.text, sizeof(s.text));
	bf_explain_push(l, s);
	if (!l->device[0] && !row->software)
		bf_explain_device_name(v->actor, l->device, sizeof(l->device));
	l->passed |= 1u << row->point;
	l->failed = l->failed || (row->error && bf_explain_get(v, row->error));
	if (row->va) {
		const uint64_t key[3] = { bf_explain_get(v, row->va), 0, 0 };

		/* Stores belong to it that came when the entry that had the place before had been read. */
		l->begin_record = bf_number_get(&l->last_read, key);
		l->entry_va = key[0];
		l->entry_len = row->bytes ? bf_explain_get(v, row->bytes) : 0;
		l->fetch_record = v->number;
	}
}

/* Another entry of the queue was read there. */
static void note_place(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const uint64_t key[3] = { row->va ? bf_explain_get(v, row->va) : 0, 0, 0 };

	if (row->va && bf_number_put(&l->last_read, key, v->number + 1))
		l->status = -ENOMEM;
}

void bf_explain_rows_take(struct bf_explain *l, const struct bf_explain_view *v)
{
	uint32_t last = 0;

	while (last + 1 < BF_LIFE_POINTS && l->target.life->points[last + 1])
		last++;
	for (const struct bf_life_row *row = l->target.life->rows; row->type && !(l->passed >> last & 1); row++) {
		if (strcmp(row->type, v->type->name) != 0 || l->passed >> row->point & 1 || !is_own(l, v, row))
			continue;
		if (is_about(l, v, row))
			tell(l, v, row);
		else
			note_place(l, v, row);
	}
}

/* The first point behind the last one that it has passed. */
void bf_explain_rows_end(struct bf_explain *l)
{
	const struct bf_life *life = l->target.life;
	const struct bf_life_row *row = life->rows;
	uint32_t next = 0;

	while (l->passed >> next)
		next++;
	if (!l->passed || next == BF_LIFE_POINTS || !life->points[next])
		return;
	while (row->type && row->point != next)
		row++;
	bf_explain_missing(l, row->software ? BF_EXPLAIN_SOFTWARE : BF_EXPLAIN_DEVICE, life->points[next],
			   "no %s: no record %s of this entry has come", life->points[next],
			   row->type ? row->type : "?");
}
