/* The life of an entry of a device that tells it by rows (traces/device.h): each record that speaks of the entry. */
#include <errno.h>

#include "traces/device.h"
#include "traces/life/explain_internal.h"

#define ENTRY_MAX 4096u /* bytes of an entry whose stores are followed */

static bool is_queue(const struct bf_explain *l, const char *actor)
{
	uint64_t number;

	return bf_life_queue_number(l->target.life, actor, &number) && number == l->target.queue;
}

static bool is_own(const struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	if (!bf_life_holds(row, v->type, v->fixed))
		return false;
	if (row->software ? !bf_explain_from_driver(l, v) : !bf_explain_from_device(l, v->actor))
		return false;
	if (row->queue)
		return strcmp(row->queue, "*") == 0 || bf_explain_get(v, row->queue) == l->target.queue;
	return row->software || is_queue(l, v->actor);
}

static bool has_passed(const struct bf_explain *l, uint32_t point)
{
	return l->facts.points >> point != 0;
}

static bool is_over(const struct bf_explain *l)
{
	return l->facts.points >> (bf_life_points(l->target.life) - 1) & 1;
}

/* ---- steps ---- */

static const char *who(const void *of, uint32_t point)
{
	const struct bf_explain *l = of;

	return l->by[point][0] ? l->by[point] : NULL;
}

static struct bf_explain_step make(const struct bf_explain *l, const struct bf_explain_view *v,
				   const struct bf_life_row *row, const char *step, const char *says)
{
	const struct bf_life_story story = { .q = &l->queue, .entry = &l->facts, .who = who, .of = l };
	struct bf_explain_step s =
	    row->software ? bf_explain_by(v, step, "%s", "")
			  : bf_explain_make(v, row->captured ? BF_EXPLAIN_CAPTURE : BF_EXPLAIN_DEVICE, step, "%s", "");

	bf_life_say(&story, v->type, v->fixed, v->time_ps, says, s.text, sizeof(s.text));
	return s;
}

static void tell(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const struct bf_device_record e = { .time_ps = v->time_ps,
					    .number = v->number,
					    .type = v->type,
					    .fixed = v->fixed,
					    .tail = v->tail,
					    .tail_len = v->tail_len };
	const char *point = l->target.life->points[row->point], *step = row->step ? row->step : point;
	struct bf_explain_step s = make(l, v, row, step, row->says ? row->says : point);

	if (!s.text[0])
		return;
	bf_explain_push(l, s);
	s = make(l, v, row, "fields", row->also ? row->also : "");
	if (s.text[0])
		bf_explain_detail(l, s);
	for (unsigned n = 0; row->lines && row->lines(&e, n, s.text, sizeof(s.text)); n++)
		bf_explain_detail(l, s);
}

/* The entry's memory, as far as the record tells, and how far the device is with it. */
static void note_memory(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	if (row->va) {
		const uint64_t key[3] = { bf_life_u64(row->va, v->type, v->fixed), 0, 0 };

		/* Stores belong to it that came when the entry that had the place before had been read. */
		l->begin_record = bf_number_get(&l->last_read, key);
		if (l->begin_record < l->fetch_before)
			l->begin_record = l->fetch_before;
		l->entry_va = key[0];
	}
	if (row->bytes)
		l->entry_len = bf_life_u64(row->bytes, v->type, v->fixed);
	if (row->reads || (!row->software && (row->va || row->bytes)))
		l->fetch_record = v->number;
	if (row->lands) {
		l->cqe_known = true;
		l->cqe_iova = l->cq_base + bf_life_u64(row->lands, v->type, v->fixed);
		l->cqe_bytes = row->lands_bytes;
	}
}

/* What the thread stored last to a device was this doorbell. */
static void note_ring(struct bf_explain *l, const struct bf_explain_view *v)
{
	l->posted_by_driver = true;
	snprintf(l->ringer, sizeof(l->ringer), "%.47s", v->actor);
	if (strcmp(l->mmio_actor, v->actor) == 0)
		l->ring_seq = l->mmio_seq + 1;
}

static void pass(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	if (!l->facts.points && !row->va)
		l->begin_record = v->number;
	l->told_by_software = l->told_by_software || row->software;
	if (row->software)
		l->pe = bf_explain_pe(v->actor);
	else
		bf_explain_device_name(v->actor, l->device, sizeof(l->device));
	tell(l, v, row);
	l->facts.points |= 1u << row->point;
	snprintf(l->by[row->point], sizeof(*l->by), "%.47s", v->actor);
	l->polled = is_over(l);
	l->captured = l->captured || row->captured;
	note_memory(l, v, row);
	if (row->rings)
		note_ring(l, v);
}

/* Another entry takes the place that this one had in the ring. */
static void take_again(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	struct bf_life_facts next = l->facts;

	next.index += l->ring_bytes;
	if (!row->again || l->recycled || !l->ring_bytes ||
	    !bf_life_is_about(l->target.life, row, &next, v->type, v->fixed))
		return;
	l->recycled = true;
	bf_explain_push(l, make(l, v, row, "recycle", row->again));
}

/* ---- entries that have a slot, and a name from some point on ---- */

static bool may_begin(const struct bf_explain *l, const struct bf_life_row *row)
{
	return row->point == 0 || (row->begins && !l->built);
}

/* An entry of the slot or name begins: it is this one, an earlier one, or the one that has its place now. */
static bool begin(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const struct bf_life *life = l->target.life;
	const bool named = row->point > bf_life_named(life);
	const uint64_t first = bf_life_u64(row->first, v->type, v->fixed);
	const uint64_t slot = named ? UINT64_MAX : first;
	const uint64_t name = named ? first : bf_life_u64(row->second, v->type, v->fixed);
	const uint32_t nth = l->target.nth ? l->target.nth : 1;

	l->built = l->built || row->point == 0;
	if (l->target.index != (l->target.by_slot ? slot : name))
		return false;
	if (l->seen_nth == nth && is_over(l)) {
		struct bf_explain_step s = make(l, v, row, "recycle", "uses the ");

		snprintf(s.text + strlen(s.text), sizeof(s.text) - strlen(s.text), "%s again",
			 l->target.by_slot ? "slot" : "identifier");
		bf_explain_push(l, s);
	}
	l->over = l->over || l->seen_nth == nth;
	if (++l->seen_nth != nth)
		return false;
	l->facts = (struct bf_life_facts){ .index = slot, .name = name };
	return true;
}

static bool has_names(const struct bf_explain *l)
{
	return bf_life_named(l->target.life) < BF_LIFE_POINTS;
}

/* The entry has begun, and its slot or name is not another's yet. */
static bool is_known(const struct bf_explain *l)
{
	return !has_names(l) || (l->seen_nth >= (l->target.nth ? l->target.nth : 1) && !l->over);
}

/* ---- records ---- */

static void note_place(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const uint64_t key[3] = { bf_life_u64(row->va, v->type, v->fixed), 0, 0 };

	if (row->va && bf_number_put(&l->last_read, key, v->number + 1))
		l->status = -ENOMEM;
}

static void take_point(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	/* A driver may speak of what it did after the device has gone on. */
	const bool late = row->software ? l->facts.points >> row->point & 1 : has_passed(l, row->point);

	/* What software stores into a slot comes when what was there before has been fetched. */
	if (row->entries == BF_LIFE_NAMED && !is_known(l) &&
	    (!l->target.by_slot || bf_life_u64(row->first, v->type, v->fixed) == l->target.index))
		l->fetch_before = v->number;
	if (has_names(l) && may_begin(l, row) && !begin(l, v, row)) {
		note_place(l, v, row);
	} else if (!is_known(l)) {
		return;
	} else if (late) {
		take_again(l, v, row);
	} else if (bf_life_is_about(l->target.life, row, &l->facts, v->type, v->fixed)) {
		bf_life_note(l->target.life, row, &l->facts, v->type, v->fixed);
		pass(l, v, row);
	} else {
		/* Another entry of the queue was read there. */
		note_place(l, v, row);
	}
}

static void take_aside(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const uint64_t bit = 1ull << ((row - l->target.life->rows) & 63);

	if (!is_known(l) || (row->says && !has_passed(l, row->point)) || (row->role == BF_LIFE_STOP && is_over(l)) ||
	    (row->once && l->told & bit) || !bf_life_is_about(l->target.life, row, &l->facts, v->type, v->fixed))
		return;
	bf_life_note(l->target.life, row, &l->facts, v->type, v->fixed);
	l->told |= bit;
	if (row->says)
		tell(l, v, row);
}

static void take_row(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	if (!is_own(l, v, row))
		return;
	if (row->role == BF_LIFE_POINT && bf_life_mentions(l->target.life, row->type) &&
	    bf_life_note_queue(&l->queue, v->type, v->fixed, v->actor))
		l->status = -ENOMEM;
	switch (row->role) {
	case BF_LIFE_POINT:
		take_point(l, v, row);
		break;
	case BF_LIFE_ASIDE:
	case BF_LIFE_STOP:
		take_aside(l, v, row);
		break;
	case BF_LIFE_OPEN:
		l->ring_va = bf_life_u64(row->va, v->type, v->fixed);
		l->ring_bytes = bf_life_u64(row->bytes, v->type, v->fixed);
		break;
	case BF_LIFE_ANSWERS:
		l->cq_base = bf_life_u64(row->va, v->type, v->fixed);
		break;
	case BF_LIFE_SHUT:
	case BF_LIFE_PEER:
	case BF_LIFE_IDLE:
	default:
		break;
	}
}

void bf_explain_rows_take(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (strcmp(v->type->name, "mmio_store") == 0)
		bf_explain_on_mmio_store(l, v);
	else if (strcmp(v->type->name, "store_visible") == 0)
		bf_explain_on_store_visible(l, v);
	else if (strcmp(v->type->name, "dma_write") == 0)
		bf_explain_on_dma_write(l, v);
	else if (strcmp(v->type->name, "load") == 0)
		bf_explain_on_load(l, v);
	for (const struct bf_life_row *row = l->target.life->rows; row->type; row++)
		if (strcmp(row->type, v->type->name) == 0)
			take_row(l, v, row);
}

/* ---- what never came ---- */

/* The first point behind the last one that it has passed. */
void bf_explain_rows_end(struct bf_explain *l)
{
	const struct bf_life *life = l->target.life;
	const struct bf_life_story story = { .q = &l->queue, .entry = &l->facts, .who = who, .of = l };
	const struct bf_life_row *row = life->rows;
	const uint32_t n = bf_life_points(life);
	const struct bf_life_end *end;
	uint32_t next = 0;
	char text[200];

	if (!l->entry_va && l->ring_bytes)
		l->entry_va = l->ring_va + l->facts.index % l->ring_bytes * (life->slot_bytes ? life->slot_bytes : 1);
	if (!l->entry_len)
		l->entry_len = life->slot_bytes;
	if (!l->entry_len && l->facts.to > l->facts.from)
		l->entry_len = l->facts.to - l->facts.index;
	if (l->entry_len > ENTRY_MAX)
		l->entry_len = ENTRY_MAX;
	while (l->facts.points >> next)
		next++;
	if (!l->facts.points || (next == n && !bf_life_in_vain(life, &l->facts)))
		return;
	while (row->type && (row->point != next || row->role != BF_LIFE_POINT))
		row++;
	/* Software that has not spoken of the entry before does not do so now. */
	if (next < n && row->software && !l->told_by_software)
		return;
	end = bf_life_missing(&story, next, text, sizeof(text));
	bf_explain_missing(l,
			   l->captured     ? BF_EXPLAIN_CAPTURE
			   : row->software ? BF_EXPLAIN_SOFTWARE
					   : BF_EXPLAIN_DEVICE,
			   next < n ? life->points[next]
			   : end    ? end->name
				    : "end",
			   "%s", text);
}
