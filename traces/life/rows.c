/* The life of an entry of a device that tells it by rows (traces/device.h): each record that speaks of the entry. */
#include <errno.h>

#include "traces/device.h"
#include "traces/life/explain_internal.h"

#define ENTRY_MAX 4096u /* bytes of an entry whose stores are followed */

/* ---- whose record it is ---- */

static bool is_queue(const struct bf_explain *l, const char *actor)
{
	uint64_t number;

	return bf_life_queue_number(l->target.life, actor, &number) && number == l->target.queue;
}

static bool names_queue(const struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	if (row->is_about)
		return true;
	if (row->peer)
		return l->has_remote && bf_explain_get(v, row->queue) == l->remote;
	if (row->queue)
		return strcmp(row->queue, "*") == 0 || bf_explain_get(v, row->queue) == l->target.queue;
	return row->software || is_queue(l, v->actor);
}

static bool is_by(const struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	switch (row->by) {
	case BF_LIFE_BY_ANY:
		return true;
	case BF_LIFE_BY_FAR:
		/* A device may be connected with itself. */
		return bf_explain_from_far(l, v->actor) &&
		       !(bf_explain_get(v, row->queue) == l->target.queue && bf_explain_from_device(l, v->actor));
	case BF_LIFE_BY_OWN:
	default:
		return row->software ? !l->device_only && bf_explain_from_driver(l, v)
				     : bf_explain_from_device(l, v->actor);
	}
}

static struct bf_device_record record_of(const struct bf_explain_view *v)
{
	return (struct bf_device_record){ .time_ps = v->time_ps,
					  .number = v->number,
					  .type = v->type,
					  .fixed = v->fixed,
					  .tail = v->tail,
					  .tail_len = v->tail_len };
}

static bool is_own(const struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	return is_by(l, v, row) && names_queue(l, v, row) && bf_life_holds(row, v->type, v->fixed) &&
	       (!row->given || bf_life_kept(l->target.life, &l->facts, row->given)) &&
	       (row->by != BF_LIFE_BY_FAR || !row->psn ||
		bf_explain_psn_is_mine(l, (uint32_t)bf_explain_get(v, row->psn))) &&
	       (!row->message || (l->has_psn && l->arrived && !l->answered));
}

/* ---- laps of a counter that wraps ---- */

/* The device counts in this row what it fetches. */
static bool is_count(const struct bf_life *life, const struct bf_life_row *row)
{
	return life->wrap && row->entries == BF_LIFE_SLOTS && !row->software && row->role == BF_LIFE_POINT;
}

/* How far the device is, beyond the bits of its counter. A stream may begin anywhere, and errors go back. */
static void note_count(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const uint64_t wrap = l->target.life->wrap, index = bf_life_u64(row->first, v->type, v->fixed);
	const uint64_t ahead = (index - l->next_fetch) % wrap, back = wrap - ahead;

	if (!l->has_fetched || (ahead >= wrap / 2 && l->next_fetch < back))
		l->next_fetch = index;
	else
		l->next_fetch += ahead < wrap / 2 ? ahead : 0 - back;
	l->has_fetched = true;
}

/* What the device says of a counter is about this lap of it. */
static bool is_this_lap(const struct bf_explain *l, const struct bf_life_row *row)
{
	const uint64_t wrap = l->target.life->wrap, ahead = l->target.index - l->next_fetch;
	const struct bf_life_row *count = l->target.life->rows;

	if (!wrap || !l->has_fetched || (row->software && !row->captured) || row->by != BF_LIFE_BY_OWN ||
	    row->entries == BF_LIFE_ALL)
		return true;
	while (count->type && !is_count(l->target.life, count))
		count++;
	/* Before it has been fetched, what is fetched already is of another lap. */
	return count->type && row->point < count->point ? ahead < wrap / 2 : ahead + wrap / 2 < wrap;
}

static bool is_about(const struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const struct bf_life *life = l->target.life;
	const struct bf_device_record e = record_of(v);

	if (row->is_about)
		return row->is_about(&e, l->target.queue, life->wrap ? l->facts.index % life->wrap : l->facts.index);
	return is_this_lap(l, row) && bf_life_is_about(life, row, &l->facts, v->type, v->fixed);
}

/* ---- how far it has come ---- */

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

static enum bf_explain_place place_of(const struct bf_life_row *row)
{
	if (row->captured)
		return row->software ? BF_EXPLAIN_SOFTWARE : BF_EXPLAIN_CAPTURE;
	return row->by == BF_LIFE_BY_OWN ? BF_EXPLAIN_DEVICE : BF_EXPLAIN_REMOTE;
}

static struct bf_explain_step make(const struct bf_explain *l, const struct bf_explain_view *v,
				   const struct bf_life_row *row, const char *step, const char *says)
{
	const struct bf_life_story story = {
		.q = &l->queue, .entry = &l->facts, .who = who, .of = l, .tail = v->tail_len
	};
	struct bf_explain_step s = row->software && !row->captured ? bf_explain_by(v, step, "%s", "")
								   : bf_explain_make(v, place_of(row), step, "%s", "");

	bf_life_say(&story, v->type, v->fixed, v->time_ps, says, s.text, sizeof(s.text));
	return s;
}

/* The n-th line that the row's code has to say. */
static bool line_of(const struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row,
		    unsigned n, char *out, size_t cap)
{
	const struct bf_life_last *last =
	    row->about ? bf_life_last_of(&l->queue, row->about, strlen(row->about)) : NULL;
	const struct bf_device_record e = record_of(v),
				      about = { .type = last ? last->type : NULL, .fixed = last ? last->fixed : NULL };

	return row->lines && row->lines(&e, last ? &about : NULL, n, out, cap);
}

/* What was kept to be told with a record like this. */
static void tell_ahead(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	for (uint32_t i = 0; row->with && i < BF_EXPLAIN_AHEAD; i++) {
		struct bf_explain_step s = l->ahead[i].step;

		if (!l->ahead[i].row || !l->ahead[i].about || strcmp(l->ahead[i].row->type, row->with) != 0 ||
		    (!row->captured && strcmp(s.device, l->device) != 0))
			continue;
		/* Captures note entries when the doorbell rings; they were written before. */
		if (row->captured)
			s.record = v->number;
		bf_explain_push(l, s);
	}
}

static void tell(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const char *point = l->target.life->points[row->point], *step = row->step ? row->step : point;
	const bool by_code = !row->says && row->role == BF_LIFE_ASIDE;
	struct bf_explain_step s = make(l, v, row, step, by_code ? "" : row->says ? row->says : point);

	if (by_code && !line_of(l, v, row, 0, s.text, sizeof(s.text)))
		return;
	if (!s.text[0])
		return;
	if (!row->captured)
		tell_ahead(l, v, row);
	bf_explain_push(l, s);
	if (row->captured)
		tell_ahead(l, v, row);
	s = make(l, v, row, "fields", row->also ? row->also : "");
	if (s.text[0])
		bf_explain_detail(l, s);
	for (unsigned n = by_code; line_of(l, v, row, n, s.text, sizeof(s.text)); n++)
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
		l->cqe_bytes = row->lands_bytes ? row->lands_bytes : v->tail_len;
		l->ends_itself = row->entries != BF_LIFE_ALL;
	}
}

/* What the thread stored last to a device was this doorbell. */
static void note_ring(struct bf_explain *l, const struct bf_explain_view *v)
{
	l->posted = true;
	snprintf(l->ringer, sizeof(l->ringer), "%.47s", v->actor);
	if (strcmp(l->mmio_actor, v->actor) == 0)
		l->ring_seq = l->mmio_seq + 1;
}

static void pass(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	if (row->software && !row->rings && !l->begun && !row->va)
		l->begin_record = v->number;
	l->begun = l->begun || (row->software && !row->rings);
	l->told_by_software = l->told_by_software || row->software;
	if (row->software)
		l->pe = bf_explain_pe(v->actor);
	else
		bf_explain_device_name(v->actor, l->device, sizeof(l->device));
	tell(l, v, row);
	l->facts.points |= 1u << row->point;
	l->at_ps[row->point] = v->time_ps;
	snprintf(l->by[row->point], sizeof(*l->by), "%.47s", v->actor);
	l->polled = is_over(l);
	l->captured = l->captured || row->captured;
	note_memory(l, v, row);
	if (row->rings)
		note_ring(l, v);
	if (row->npsn) {
		l->psn = (uint32_t)bf_explain_get(v, row->psn);
		l->npsn = (uint32_t)bf_explain_get(v, row->npsn);
		l->has_psn = true;
	}
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
	} else if (is_about(l, v, row)) {
		bf_life_note(l->target.life, row, &l->facts, v->type, v->fixed);
		pass(l, v, row);
	} else {
		/* Another entry of the queue was read there. */
		note_place(l, v, row);
	}
}

/* The entry is behind the point that the row ends at; what the queue says at that very time still counts. */
static bool is_late(const struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const uint32_t until = row->until ? bf_life_point(l->target.life, row->until) : BF_LIFE_POINTS;

	return until < BF_LIFE_POINTS && has_passed(l, until) &&
	       (row->by != BF_LIFE_BY_OWN || v->time_ps != l->at_ps[until]);
}

static bool may_tell(const struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	if (!is_known(l) || is_late(l, v, row) || (row->role == BF_LIFE_STOP && is_over(l)))
		return false;
	return row->first_known || has_passed(l, row->point) || (!row->says && !row->lines);
}

static void take_aside(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const size_t at = (size_t)(row - l->target.life->rows);
	const uint64_t bit = 1ull << at % 64;
	uint64_t *told = &l->told[at / 64];

	if (row->bytes && !row->says)
		l->ring_bytes = bf_life_u64(row->bytes, v->type, v->fixed);
	if (!may_tell(l, v, row) || (row->once && *told & bit) || !is_about(l, v, row))
		return;
	bf_life_note(l->target.life, row, &l->facts, v->type, v->fixed);
	*told |= bit;
	if (row->says || row->lines)
		tell(l, v, row);
	if (row->psn && row->by == BF_LIFE_BY_OWN)
		l->answered = false;
}

/* The last one of its row is kept. */
static void keep_ahead(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	uint32_t i = 0;

	if (is_late(l, v, row) || !is_this_lap(l, row))
		return;
	while (i < BF_EXPLAIN_AHEAD && l->ahead[i].row && l->ahead[i].row != row)
		i++;
	if (i == BF_EXPLAIN_AHEAD)
		return;
	l->ahead[i].row = row;
	l->ahead[i].step = make(l, v, row, row->step ? row->step : l->target.life->points[row->point], row->says);
	l->ahead[i].about = is_about(l, v, row);
}

/* Whoever asks for a queue that is not there wants to know which are rung. */
static void note_other(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	const uint64_t queue = bf_life_u64(row->queue, v->type, v->fixed);

	if (row->captured || queue == l->target.queue)
		return;
	for (uint32_t i = 0; i < l->nothers && i < BF_EXPLAIN_OTHERS; i++)
		if (l->others[i] == queue)
			return;
	if (l->nothers < BF_EXPLAIN_OTHERS)
		l->others[l->nothers] = queue;
	if (l->nothers <= BF_EXPLAIN_OTHERS)
		l->nothers++;
}

static void note_remote(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row)
{
	l->remote = bf_life_u64(row->first, v->type, v->fixed);
	l->has_remote = true;
}

static void take_row(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_life_row *row,
		     bool mentioned)
{
	if (row->role == BF_LIFE_AHEAD)
		note_other(l, v, row);
	if (!is_own(l, v, row))
		return;
	if (mentioned && (row->role == BF_LIFE_POINT || (row->role == BF_LIFE_ASIDE && !row->says)) &&
	    bf_life_note_queue(&l->queue, v->type, v->fixed, v->actor))
		l->status = -ENOMEM;
	if (is_count(l->target.life, row))
		note_count(l, v, row);
	switch (row->role) {
	case BF_LIFE_POINT:
		take_point(l, v, row);
		break;
	case BF_LIFE_ASIDE:
	case BF_LIFE_STOP:
		take_aside(l, v, row);
		break;
	case BF_LIFE_AHEAD:
		keep_ahead(l, v, row);
		break;
	case BF_LIFE_PACKETS:
		if (l->has_psn && !is_late(l, v, row))
			bf_explain_on_packet(l, v);
		break;
	case BF_LIFE_OPEN:
		l->ring_va = bf_life_u64(row->va, v->type, v->fixed);
		l->ring_bytes = bf_life_u64(row->bytes, v->type, v->fixed);
		break;
	case BF_LIFE_ANSWERS:
		l->cq_base = bf_life_u64(row->va, v->type, v->fixed);
		break;
	case BF_LIFE_PEER:
		if (row->story)
			note_remote(l, v, row);
		break;
	case BF_LIFE_SHUT:
	case BF_LIFE_IDLE:
	default:
		break;
	}
}

const struct bf_explain_handler bf_explain_rows_handlers[] = {
	{ "mmio_store", bf_explain_on_mmio_store },
	{ "store_visible", bf_explain_on_store_visible },
	{ "dma_write", bf_explain_on_dma_write },
	{ "load", bf_explain_on_load },
	{ NULL, NULL },
};

void bf_explain_rows_take(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint32_t at = v->type->id % BF_EXPLAIN_TYPES;

	for (uint32_t word = 0; word < BF_EXPLAIN_ROW_WORDS; word++)
		for (uint64_t left = l->cache[at].rows[word]; left; left &= left - 1)
			take_row(l, v, &l->target.life->rows[word * 64 + (uint32_t)__builtin_ctzll(left)],
				 l->cache[at].mentioned);
}

/* ---- what never came ---- */

/* A capture is replayed, which has had no completion of an entry that has its own now. */
static bool lacks_capture(const struct bf_explain *l)
{
	const char *recorded = l->target.life->recorded;

	return recorded && l->capture_line && l->ends_itself && !bf_life_kept(l->target.life, &l->facts, recorded);
}

static void end_of_capture(struct bf_explain *l)
{
	const uint64_t last = l->steps[l->nsteps - 1].time_ps;

	bf_explain_missing(l, BF_EXPLAIN_CAPTURE, "end", "ends at line %" PRIu64 " without a completion of this %s",
			   l->capture_line, bf_explain_thing(&l->target));
	l->steps[l->nsteps - 1].time_ps = l->capture_ps > last ? l->capture_ps : last;
}

/* Where its bytes lie, if no record has said so. */
static void note_ring_place(struct bf_explain *l)
{
	const struct bf_life *life = l->target.life;

	if (!l->entry_va && l->ring_va && l->ring_bytes)
		l->entry_va = l->ring_va + l->facts.index % l->ring_bytes * (life->slot_bytes ? life->slot_bytes : 1);
	if (!l->entry_len)
		l->entry_len = life->slot_bytes;
	if (!l->entry_len && l->facts.to > l->facts.from)
		l->entry_len = l->facts.to - l->facts.index;
	if (l->entry_len > ENTRY_MAX)
		l->entry_len = ENTRY_MAX;
}

static uint32_t first_of_device(const struct bf_life *life)
{
	const struct bf_life_row *row = life->rows;

	while (row->type && (row->software || row->story || row->role != BF_LIFE_POINT))
		row++;
	return row->point;
}

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

	note_ring_place(l);
	if (bf_explain_never_ran(l))
		return;
	if (l->nsteps && lacks_capture(l)) {
		end_of_capture(l);
		return;
	}
	while (l->facts.points >> next)
		next++;
	/* What is only known to lie in the ring has still to reach the device. */
	if (!l->facts.points)
		next = first_of_device(life);
	if (!l->nsteps || (next == n && !bf_life_in_vain(life, &l->facts)))
		return;
	while (row->type && (row->point != next || row->role != BF_LIFE_POINT || row->story))
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
