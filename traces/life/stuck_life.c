/* Which record moves which entry, by the rows of the devices' lives (traces/device.h). */
#include <errno.h>

#include "traces/life/explain_internal.h"
#include "traces/life/label.h"
#include "traces/life/stuck_internal.h"

#define ENTRIES_MAX 65536u /* of one record: no ring is longer, and a record may lie */
#define SLOTS_MAX 16u      /* of one entry, likewise */

/* A life that is told by rows alone. */
static bool is_told(const struct bf_life *life)
{
	return life->prefix || life->ends;
}

/* Sentences may speak of what moves entries, and of rows that do nothing else. */
static bool is_noted(const struct bf_life *life, const struct bf_life_row *row)
{
	return (row->role == BF_LIFE_POINT || (row->role == BF_LIFE_ASIDE && !row->says && !row->keep)) &&
	       bf_life_mentions(life, row->type);
}

uint32_t bf_stuck_life_find(const char *type, struct bf_stuck_move moves[BF_STUCK_MOVES])
{
	uint32_t kind = BF_STUCK_KINDS, n = 0;
	const struct bf_device *d;

	for (uint32_t i = 0; (d = bf_device_at(i)) != NULL; i++)
		for (const struct bf_life *const *life = d->lives; life && *life; life++, kind++)
			for (const struct bf_life_row *row = (*life)->rows; is_told(*life) && row->type; row++)
				if (!row->story && strcmp(row->type, type) == 0 && n < BF_STUCK_MOVES)
					moves[n++] = (struct bf_stuck_move){ *life, row, kind, is_noted(*life, row) };
	return n;
}

/* ---- entries ---- */

struct moving {
	struct bf_stuck *s;
	struct bf_stuck_queue *q;
	const struct bf_life_row *row;
	const struct bf_trace_record *rec;
};

static bool is_bytes(const struct bf_life_row *row)
{
	return row->entries == BF_LIFE_BYTES || row->entries == BF_LIFE_BEHIND || row->entries == BF_LIFE_IN;
}

static uint64_t value(const struct moving *m, const char *expression)
{
	return bf_life_u64(expression, m->rec->type, m->rec->fixed);
}

static bool is_software(const struct bf_life *life, uint32_t point)
{
	for (const struct bf_life_row *row = life->rows; row->type; row++)
		if (row->role == BF_LIFE_POINT && row->point == point)
			return row->software;
	return false;
}

/* Nothing is to come: software that has not spoken of the entry before will not do so behind the device either. */
static bool is_last(const struct moving *m, const struct bf_stuck_entry *e)
{
	const struct bf_life *life = m->q->life.life;
	const uint32_t n = bf_life_points(life);
	uint32_t left = n;

	for (uint32_t p = 0; p < n; p++)
		if (e->points >> p & 1 && is_software(life, p))
			return m->row->point + 1 == n;
	while (left && is_software(life, left - 1))
		left--;
	return m->row->point + 1 >= left;
}

/* The entry is at the row's point, or the row keeps something of it. */
static void move(const struct moving *m, struct bf_stuck_entry *e)
{
	const struct bf_life *life = m->q->life.life;

	bf_life_note(life, m->row, &e->facts, m->rec->type, m->rec->fixed);
	m->q->lost += m->row->role == BF_LIFE_ASIDE; /* whatever is kept may be covered */
	if (m->row->role != BF_LIFE_POINT)
		return;
	bf_stuck_pass(e, m->row->point, m->rec);
	e->facts.points = e->points;
	if (is_last(m, e) && !bf_life_in_vain(life, &e->facts))
		bf_stuck_end(m->s, e);
}

/* Submissions: an entry is moved by what lies in it, and by what it lies in. */
static bool touches(const struct moving *m, const struct bf_stuck_entry *e)
{
	const uint64_t first = value(m, m->row->first), second = value(m, m->row->second);

	switch (m->row->entries) {
	case BF_LIFE_BYTES:
		return e->facts.from < second && e->facts.to > first;
	case BF_LIFE_BEHIND:
		return e->facts.to <= first;
	case BF_LIFE_ALL:
		return true;
	default:
		return !m->row->of && first >= e->facts.from && first < e->facts.to;
	}
}

static int move_bytes(const struct moving *m)
{
	const uint64_t first = value(m, m->row->first), second = value(m, m->row->second);
	const bool begins = m->row->entries == BF_LIFE_BYTES && m->row->role == BF_LIFE_POINT &&
			    (m->row->point == 0 || (!m->q->driver && !m->row->software)) && second > first;
	const uint64_t queue = (uint64_t)(m->q - m->s->queue);
	bool known = false;

	for (size_t i = 0; begins && m->row->point && i < m->s->nentries; i++)
		known = known || (m->s->entry[i].open && m->s->entry[i].key[0] == queue && touches(m, &m->s->entry[i]));
	if (begins && !known) {
		struct bf_stuck_entry *e = bf_stuck_begin(m->s, m->q, first, 0);

		if (!e)
			return bf_stuck_no_memory(m->s);
		e->facts = (struct bf_life_facts){ .index = first, .from = first, .to = second };
	}
	for (size_t i = 0; i < m->s->nentries; i++)
		if (m->s->entry[i].open && m->s->entry[i].key[0] == queue && touches(m, &m->s->entry[i]))
			move(m, &m->s->entry[i]);
	return 0;
}

/* Entries have a slot, and behind some point a name; this is what the row's `first` is. */
static bool by_name(const struct moving *m)
{
	return m->row->point > bf_life_named(m->q->life.life);
}

static uint64_t place_of(const struct moving *m, uint64_t index)
{
	const struct bf_life *life = m->q->life.life;

	if (by_name(m))
		return index;
	return life->wrap ? index % life->wrap : life->slots && m->q->size ? index % m->q->size : index;
}

/* How many entries the slot has had, this one included. */
static uint32_t count_slot(const struct moving *m, uint64_t slot)
{
	const uint64_t key[3] = { (uint64_t)(m->q - m->s->queue), slot, 0 };
	const uint64_t n = bf_number_get(&m->s->counts, key) + 1;

	return bf_number_put(&m->s->counts, key, n) ? 1 : (uint32_t)n;
}

/* An entry whose first number this is. NULL on lack of memory. */
static struct bf_stuck_entry *begin_one(const struct moving *m, uint64_t index)
{
	struct bf_stuck_entry *e = bf_stuck_begin(m->s, m->q, place_of(m, index), by_name(m));

	if (!e)
		return NULL;
	e->index = e->facts.index = by_name(m) ? UINT64_MAX : index;
	e->facts.early = m->row->point == 0 && m->q->has_fetched && index < m->q->fetched;
	e->facts.name = by_name(m) ? index : 0;
	if (m->q->life.life->id && !by_name(m))
		e->nth = count_slot(m, index);
	return e;
}

/* Further slots of an entry have no life of their own; software may have taken them for others by now. */
static void end_slots(const struct moving *m, uint64_t index, uint64_t slots)
{
	for (uint64_t i = 1; i < slots && i < SLOTS_MAX; i++) {
		struct bf_stuck_entry *e = bf_stuck_find(m->s, m->q, place_of(m, index + i), 0);

		if (e && (!m->row->software || e->index == index + i))
			bf_stuck_end(m->s, e);
	}
}

/* How far the device has read, beyond the bits of its counter, which never goes back by more than half of them. */
static void note_fetched(const struct moving *m, uint64_t index, uint64_t slots)
{
	const uint64_t wrap = m->q->life.life->wrap;
	uint64_t step;

	if (!wrap)
		return;
	if (!m->q->has_fetched)
		m->q->fetched = index;
	step = (index + slots - m->q->fetched) % wrap;
	m->q->fetched += step <= wrap / 2 ? step : 0;
	m->q->has_fetched = true;
}

/* A completion speaks for those before its own that lost theirs. */
static void end_covered(const struct moving *m, uint64_t index)
{
	const struct bf_life *life = m->q->life.life;

	for (size_t i = 0; i < m->s->nentries; i++) {
		struct bf_stuck_entry *e = &m->s->entry[i];
		const uint64_t ahead = life->wrap ? (index - e->index) % life->wrap : index - e->index;

		if (e->open && e->key[0] == (uint64_t)(m->q - m->s->queue) && ahead &&
		    ahead < (life->wrap ? life->wrap : UINT64_MAX) / 2 &&
		    bf_life_kept(life, &e->facts, m->row->covers)) {
			bf_stuck_end(m->s, e);
			m->q->lost--;
		}
	}
}

/* Entry `index` is begun, or moved when it is there. */
static int move_one(const struct moving *m, uint64_t index, bool begins)
{
	struct bf_stuck_entry *e = bf_stuck_find(m->s, m->q, place_of(m, index), by_name(m));

	if (m->row->after && e && e->points < 1u << bf_life_point(m->q->life.life, m->row->after))
		return 0;
	if (begins && (!e || m->row->point == 0)) {
		e = begin_one(m, index);
		if (!e)
			return bf_stuck_no_memory(m->s);
	}
	if (e && m->row->entries == BF_LIFE_NAMED && bf_stuck_rename(m->s, e, value(m, m->row->second), 1))
		return bf_stuck_no_memory(m->s);
	if (e && m->row->role == BF_LIFE_IDLE)
		bf_stuck_end(m->s, e);
	else if (e)
		move(m, e);
	return 0;
}

static int move_entries(const struct moving *m)
{
	const struct bf_life *life = m->q->life.life;
	const uint64_t first = value(m, m->row->first), second = value(m, m->row->second);
	const bool begins =
	    m->row->role == BF_LIFE_POINT &&
	    (m->row->point == 0 || m->row->begins || (!m->q->driver && !m->row->software && !m->row->elsewhere));
	uint64_t last = first + 1;
	int rc = 0;

	switch (m->row->entries) {
	case BF_LIFE_COUNT:
		last = first + second;
		break;
	case BF_LIFE_RANGE:
		last = second < first ? second + (life->wrap ? life->wrap : m->q->size) : second;
		break;
	case BF_LIFE_BELOW:
		if (first > m->q->below + ENTRIES_MAX)
			m->q->below = first - ENTRIES_MAX;
		for (; !rc && m->q->below < first; m->q->below++)
			rc = move_one(m, m->q->below, false);
		return rc;
	case BF_LIFE_SLOTS:
		end_slots(m, first, second);
		if (!m->row->software)
			note_fetched(m, first, second);
		break;
	default:
		break;
	}
	if (m->row->covers && m->q->lost)
		end_covered(m, first);
	for (uint64_t i = first; !rc && i < last && i - first < ENTRIES_MAX; i++)
		rc = move_one(m, i, begins);
	return rc;
}

/* ---- rows ---- */

/* Why nothing goes on: the first such record. */
static void stop(const struct moving *m)
{
	const size_t cap = sizeof(m->q->trouble);
	size_t used = 0;

	if (m->q->stopped)
		return;
	if (m->row->software)
		used = (size_t)snprintf(m->q->trouble, cap, "%.40s ", bf_trace_actor_name(m->s->trace, m->rec->actor));
	m->q->stopped = true;
	m->q->stopped_at = value(m, m->row->first);
	bf_label_make(m->row->says, m->rec->type, m->rec->fixed, m->q->trouble + used, cap - used);
}

static bool has_bytes(const struct bf_life *life)
{
	for (const struct bf_life_row *row = life->rows; row->type; row++)
		if (is_bytes(row))
			return true;
	return false;
}

static int take_row(const struct moving *m)
{
	const uint64_t size = value(m, m->q->life.life->slots);

	if (size && size <= ENTRIES_MAX)
		m->q->size = size;
	switch (m->row->role) {
	case BF_LIFE_STOP:
		m->s->failed = true;
		stop(m);
		return 0;
	case BF_LIFE_PEER:
		m->q->remote_qpn = value(m, m->row->first);
		m->q->remote_ipv4 = value(m, m->row->second);
		m->q->ipv4 = value(m, m->row->va);
		return 0;
	case BF_LIFE_OPEN:
		if (m->row->bytes)
			m->q->size = value(m, m->row->bytes);
		bf_stuck_forget(m->s, m->q);
		return 0;
	case BF_LIFE_SHUT:
		if (!m->q->stopped && !m->s->deadlock)
			bf_stuck_forget(m->s, m->q);
		return 0;
	case BF_LIFE_ASIDE:
		if (!m->row->keep || m->row->of)
			return 0;
		break;
	case BF_LIFE_ANSWERS:
		return 0;
	case BF_LIFE_IDLE:
	case BF_LIFE_POINT:
	default:
		break;
	}
	return has_bytes(m->q->life.life) ? move_bytes(m) : move_entries(m);
}

int bf_stuck_life_take(struct bf_stuck *s, const struct bf_stuck_move *move, const struct bf_trace_record *rec,
		       const char *actor)
{
	const struct bf_life_row *row = move->row;
	struct moving m = { .s = s, .row = row, .rec = rec };
	uint64_t number = value(&m, row->queue);

	/* Software that names no queue speaks of memory, and moves nothing. */
	if (!bf_life_holds(row, rec->type, rec->fixed) ||
	    (row->queue ? *row->queue == '*' : row->software || !bf_life_queue_number(move->life, actor, &number)))
		return 0;
	m.q = bf_stuck_queue_of(s, move->kind, actor, !row->software && !row->elsewhere, number);
	if (!m.q)
		return bf_stuck_no_memory(s);
	m.q->life.life = move->life;
	m.q->driver = m.q->driver || row->software;
	m.q->captured = m.q->captured || row->captured;
	s->device = s->device || !row->software;
	s->ran = s->ran || !row->software;
	if (move->noted && bf_life_note_queue(&m.q->life, rec->type, rec->fixed, actor))
		return bf_stuck_no_memory(s);
	return take_row(&m);
}

/* ---- what is left ---- */

struct story {
	const struct bf_stuck *s;
	const struct bf_stuck_entry *e;
};

static const char *who(const void *of, uint32_t point)
{
	const struct story *story = of;
	const uint32_t actor = story->e->who[point];

	return actor ? bf_trace_actor_name(story->s->trace, actor - 1) : NULL;
}

/* A thread of the PE waits for completions. */
static bool is_waited_for(const struct bf_stuck *s, const struct bf_stuck_queue *q)
{
	for (size_t i = 0; i < s->nthreads; i++)
		if (s->thread[i].waits && strstr(s->thread[i].what, "completion") &&
		    bf_explain_pe(bf_trace_actor_name(s->trace, s->thread[i].actor)) == (int64_t)q->pe)
			return true;
	return false;
}

/* Software learns of entries in groups, and need not look. */
bool bf_stuck_life_may_be_left(const struct bf_life *life, uint32_t point)
{
	for (const struct bf_life_row *row = life->rows; row->type; row++)
		if (row->role == BF_LIFE_POINT && row->point == point)
			return row->software && row->entries == BF_LIFE_BELOW;
	return false;
}

uint32_t bf_stuck_life_step(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e)
{
	const struct bf_life *life = q->life.life;
	uint32_t missing = 0;

	if (e->facts.early)
		return 1;
	while (e->points >> missing)
		missing++;
	/* The device's steps are missing from the stream, not from the device. */
	if (missing < bf_life_points(life) && !is_software(life, missing) && !s->device)
		return BF_STUCK_NOTHING;
	return bf_stuck_life_may_be_left(life, missing) && !is_waited_for(s, q) ? BF_STUCK_NOTHING : missing;
}

/* The lowest entry of the queue that has not come to `missing` either: what later ones may wait for. */
static const struct bf_stuck_entry *first_before(const struct bf_stuck *s, const struct bf_stuck_entry *e,
						 uint32_t missing)
{
	const struct bf_stuck_entry *first = NULL;

	for (size_t i = 0; i < s->nentries; i++) {
		const struct bf_stuck_entry *x = &s->entry[i];

		if (x->open && x->key[0] == e->key[0] && !(x->points >> missing) && x->index < e->index &&
		    (!first || x->index < first->index))
			first = x;
	}
	return first;
}

/* What is wrong at the other end of a connection. */
static void say_peer(const struct bf_stuck *s, const struct bf_stuck_queue *q, struct bf_stuck_group *g)
{
	for (size_t i = 0; q->remote_qpn && i < s->nqueues; i++) {
		const struct bf_stuck_queue *x = &s->queue[i];

		if (x->kind == q->kind && x->number == q->remote_qpn && x->ipv4 == q->remote_ipv4 && x->trouble[0])
			bf_stuck_say(g, "; its peer %s: %s", x->name, x->trouble);
	}
}

void bf_stuck_life_group(const struct bf_stuck *s, const struct bf_stuck_queue *q, const struct bf_stuck_entry *e,
			 uint32_t missing, struct bf_stuck_group *g)
{
	const struct bf_life *life = q->life.life;
	const struct story story = { .s = s, .e = e };
	const struct bf_stuck_entry *before = first_before(s, e, missing);
	const struct story beginning = { .s = s, .e = before };
	const struct bf_life_story told = {
		.q = &q->life,
		.entry = &e->facts,
		.who = who,
		.of = &story,
		.before = before ? &before->facts : NULL,
		.before_by = before ? who(&beginning, 0) : NULL,
	};
	const uint32_t n = bf_life_points(life);
	const struct bf_life_end *end = bf_life_missing(&told, missing, g->text, sizeof(g->text));
	uint32_t thread = 0;

	g->kind = life->group ? life->group : life->entry ? life->entry : "entry";
	g->missing = missing < n ? life->points[missing] : end ? end->name : "end";
	for (uint32_t p = 0; p < n; p++)
		if (e->who[p] && is_software(life, p))
			thread = e->who[p];
	bf_stuck_say_thread(s, g, thread);
	if (q->trouble[0])
		bf_stuck_say(g, "; %s", q->trouble);
	else if (missing < n && !is_software(life, missing))
		say_peer(s, q, g);
	g->explained = q->device[0] != '\0';
	g->oldest = (struct bf_explain_target){ .queue = q->number, .index = e->facts.index, .nth = 1 };
	if (life->prefix) {
		g->oldest.kind = BF_EXPLAIN_ROWS;
		g->oldest.life = life;
	}
	if (life->id) {
		g->oldest.by_slot = e->facts.index != UINT64_MAX;
		g->oldest.index = g->oldest.by_slot ? e->facts.index : e->facts.name;
		g->oldest.nth = e->nth;
	}
	snprintf(g->oldest.device, sizeof(g->oldest.device), "%s", q->device);
	/* Of a submission, the packet that the device stopped at. */
	if (q->stopped && q->stopped_at >= e->facts.from && q->stopped_at < e->facts.to)
		g->oldest.index = q->stopped_at;
}
