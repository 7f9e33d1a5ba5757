/*
 * Where a send ring and its doorbell record lie, and what was stored there: by the driver's word and the stores just
 * before it, or, of a driver that says nothing, by what the device knows and reads.
 */
#include "traces/rules/mlx5/ring.h"

#include <stdlib.h>

#include "models/mlx5/prm.h"
#include "models/mlx5/wqe.h"
#include "sim/bytes.h"
#include "sim/mem.h"

void bf_mlx5_rule_set_depth(struct bf_mlx5_rule_queue *q, uint64_t depth)
{
	struct bf_mlx5_rule_slot *slots;

	if (!depth || depth > BF_MLX5_RING_MAX || (depth & (depth - 1)))
		return;
	slots = calloc((size_t)depth, sizeof(*slots));
	if (!slots)
		return;
	free(q->slots);
	q->slots = slots;
	q->depth = (uint32_t)depth;
}

/*
 * The driver says that it has stored an entry. Its control segment, among the stores just before, tells where the ring
 * is (bytes 1-2 are the index, 4-6 the QPN: mlx5dv.h struct mlx5_wqe_ctrl_seg).
 */
void bf_mlx5_rule_find_ring(struct bf_rules *r, struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	const uint64_t index = e->ibgda_build.index;
	uint64_t at;

	for (uint32_t back = 0; back < 64; back++) {
		const struct bf_store *s = bf_stores_recent(bf_rule_stores(r), back);

		if (!s)
			return;
		if (s->actor != e->actor || s->len < 8 || s->va % BF_MLX5_WQEBB != 0 ||
		    bf_get_be24(s->bytes + 4) != e->queue->number || bf_get_be16(s->bytes + 1) != (uint16_t)index)
			continue;
		q->assumed = false;
		at = s->va - index % q->depth * BF_MLX5_WQEBB;
		if (!q->ring || q->ring->va != at || q->ring->entries != q->depth)
			q->ring = bf_stores_ring(bf_rule_stores(r), q->ring, e->queue, at, BF_MLX5_WQEBB, q->depth);
		return;
	}
}

static bool rang_before(const struct bf_stores *stores, const struct bf_store *record, uint16_t value)
{
	for (uint32_t back = 0; back < 128; back++) {
		const struct bf_store *s = bf_stores_recent(stores, back);

		if (!s)
			return false;
		/* A doorbell carries the index in bytes 1-2, like a control segment. */
		if (s->actor == record->actor && s->len == 8 && s->record < record->record &&
		    s->va % BF_PAGE == BF_MLX5_UAR_BF && bf_get_be16(s->bytes + 1) == value)
			return true;
	}
	return false;
}

/*
 * The index stands in bytes 0-1, where the NIC looks at bytes 2-3: as a number of the CPU it is one that could come
 * next, and as it stands it is none.
 */
static bool is_swapped(const struct bf_mlx5_rule_queue *q, const struct bf_store *s)
{
	const uint16_t meant = bf_get_le16(s->bytes), ahead = (uint16_t)(meant - q->fetched.upto);
	const uint16_t as_is = (uint16_t)-q->fetched.upto;

	return !bf_get_be16(s->bytes + 2) && meant && q->depth && ahead && ahead <= q->depth &&
	       (!as_is || as_is > q->depth);
}

static void note_dbrec_store(struct bf_rules *r, struct bf_mlx5_rule_queue *q, const struct bf_store *s)
{
	struct bf_mlx5_rule_dbrec_store d = { .store = *s, .value = bf_get_be16(s->bytes + 2), .set = true };

	if (!q->swapped.set && is_swapped(q, s)) {
		q->swapped = d;
		q->swapped.value = bf_get_le16(s->bytes);
	}
	if (!q->after.set) {
		q->after = d;
		q->after.rang_before = rang_before(bf_rule_stores(r), s, d.value);
	}
	if (!q->most.set || (int16_t)(d.value - q->most.value) > 0)
		q->most = d;
}

static void note_receive_word(struct bf_mlx5_rule_queue *q, const struct bf_store *s)
{
	if (s)
		q->receive =
		    (struct bf_mlx5_rule_dbrec_store){ .store = *s, .value = bf_get_be16(s->bytes + 2), .set = true };
}

/*
 * A recorded store to `va` has become visible since the device looked last, or stores that did are forgotten. It may
 * have been made so long before that it is none of the recent ones.
 */
static bool shown_since(struct bf_rules *r, const struct bf_mlx5_rule_queue *q, uint64_t va)
{
	const struct bf_store *s = bf_stores_recent(bf_rule_stores(r), 127);
	uint32_t back;

	if (s && s->issued_ps >= q->dbrec.sampled_ps)
		return true;
	for (back = 0; (s = bf_stores_shown(bf_rule_stores(r), back)) && s->visible_ps >= q->dbrec.sampled_ps; back++)
		if (s->va == va)
			return true;
	return !s && back >= 64;
}

bool bf_mlx5_rule_of_another(const struct bf_mlx5_rule_queue *q, const struct bf_store *s)
{
	return s->record < q->made && bf_get_be16(s->bytes + 2);
}

/* The record's place is known from now on; what was stored there before is made up for. */
void bf_mlx5_rule_learn_dbrec(struct bf_rules *r, struct bf_rule_queue *queue, uint64_t va)
{
	struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);

	q->dbrec_ring = bf_stores_area(bf_rule_stores(r), q->dbrec_ring, queue, va, BF_MLX5_DBR_BYTES);
	for (uint32_t back = 128; back-- > 0;) {
		const struct bf_store *s = bf_stores_recent(bf_rule_stores(r), back);

		if (s && s->len == 4 && s->va == va + 4 * BF_MLX5_DBR_SND) {
			if (!bf_mlx5_rule_of_another(q, s))
				note_dbrec_store(r, q, s);
		} else if (s && s->len == 4 && s->va == va + 4 * BF_MLX5_DBR_RCV) {
			note_receive_word(q, s);
		}
	}
	q->dbrec_shown |= shown_since(r, q, va + 4 * BF_MLX5_DBR_SND);
}

/* The same of a driver that spoke before it stored: the first store behind what it said the last time. */
static void find_dbrec_behind(struct bf_rules *r, struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	const struct bf_store *found = NULL, *s = NULL;

	for (uint32_t back = 0; back < 128 && (s = bf_stores_recent(bf_rule_stores(r), back)) != NULL; back++) {
		if (s->record < q->tells.record)
			break;
		if (s->actor == q->tells.actor && s->len == 4 && s->va % 8 == 4 &&
		    bf_get_be16(s->bytes + 2) == q->tells.value)
			found = s;
	}
	/* Behind more stores than are kept another one may have been the first. */
	if (q->tells.record && found && s && s->record < q->tells.record) {
		q->dbrec_stored = found->va;
		if (!q->dbrec_ring)
			bf_mlx5_rule_learn_dbrec(r, e->queue, found->va - 4 * BF_MLX5_DBR_SND);
	}
	q->tells.actor = e->actor;
	q->tells.record = e->number;
	q->tells.value = (uint16_t)e->ibgda_post.dbrec;
}

/* The driver says that it has stored record and doorbell: the store tells where the record lies. */
void bf_mlx5_rule_find_dbrec(struct bf_rules *r, struct bf_mlx5_rule_queue *q, const struct bf_seen *e)
{
	if (q->tells.first) {
		find_dbrec_behind(r, q, e);
		return;
	}
	for (uint32_t back = 0; back < 64; back++) {
		const struct bf_store *s = bf_stores_recent(bf_rule_stores(r), back);

		if (!s)
			return;
		if (s->actor != e->actor || s->len != 4 || s->va % 8 != 4 ||
		    bf_get_be16(s->bytes + 2) != (uint16_t)e->ibgda_post.dbrec)
			continue;
		q->dbrec_stored = s->va;
		if (!q->dbrec_ring)
			bf_mlx5_rule_learn_dbrec(r, e->queue, s->va - 4 * BF_MLX5_DBR_SND);
		return;
	}
}

/* A driver that says nothing of its entries has its ring where the device knows it to be. */
void bf_mlx5_rule_assume_ring(struct bf_rules *r, struct bf_rule_queue *queue)
{
	struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);

	if (!q->sq || !q->depth || (q->ring && q->ring->va == q->sq && q->ring->entries == q->depth))
		return;
	q->ring = bf_stores_ring(bf_rule_stores(r), q->ring, queue, q->sq, BF_MLX5_WQEBB, q->depth);
	q->assumed = true;
}

/* A thread may lay its entry again; another one that lays the same has been given the same slot. */
static void note_twice(struct bf_mlx5_rule_queue *q, struct bf_mlx5_rule_slot *slot, const struct bf_store *s)
{
	if (slot->laid_index == q->laid.index + 1 && slot->laid_actor != s->actor && !q->twice.set)
		q->twice = (struct bf_mlx5_rule_laid_twice){ .set = true,
							     .index = q->laid.index,
							     .first_ps = slot->laid_ps,
							     .first_record = slot->laid_record,
							     .ps = s->issued_ps,
							     .first = slot->laid_actor,
							     .second = s->actor };
	slot->laid_index = q->laid.index + 1;
	slot->laid_ps = s->issued_ps;
	slot->laid_record = s->record;
	slot->laid_actor = s->actor;
}

/*
 * A store into the first eight bytes of a block. With the second four of them a control segment is whole: it has the
 * queue pair's number and an index that belongs there, which other bytes of an entry hardly have.
 */
static void note_laid(struct bf_rules *r, const struct bf_store *s)
{
	const struct bf_ring *ring = bf_stores_ring_at(bf_rule_stores(r), s->va);
	struct bf_rule_queue *queue = ring ? ring->queue : NULL;
	struct bf_mlx5_rule_slot *slot;
	struct bf_mlx5_rule_queue *q;
	const uint8_t *qpn;
	uint64_t place;

	if (!queue || queue->family != &bf_rules_mlx5 || bf_mlx5_rule_of(queue)->ring != ring ||
	    !bf_mlx5_rule_of(queue)->slots)
		return;
	q = bf_mlx5_rule_of(queue);
	place = (s->va - ring->va) / BF_MLX5_WQEBB % q->depth;
	slot = &q->slots[place];
	if (s->va % 8 == 0 && s->len >= 4)
		slot->begun = bf_get_be32(s->bytes);
	qpn = s->va % 8 == 4 ? s->bytes : s->len >= 8 ? s->bytes + 4 : NULL;
	if (!qpn || s->len < 4 || bf_get_be24(qpn) != queue->number || (slot->begun >> 8 & (q->depth - 1)) != place)
		return;
	slot->laid = (slot->begun >> 8 & 0xffff) + 1;
	q->laid =
	    (struct bf_mlx5_rule_laid){ .index = q->done.upto + (uint16_t)((slot->laid - 1) - (uint16_t)q->done.upto),
					.at_ps = s->issued_ps,
					.record = s->record,
					.actor = s->actor };
	if (!q->driver_speaks)
		note_twice(q, slot, s);
	bf_rule_notice(r, BF_MLX5_TO_ENTRY);
}

static struct bf_mlx5_rule_queue *dbrec_at(struct bf_rules *r, uint64_t va)
{
	const struct bf_ring *ring = bf_stores_ring_at(bf_rule_stores(r), va);
	struct bf_rule_queue *queue = ring ? ring->queue : NULL;

	if (!queue || queue->family != &bf_rules_mlx5 || bf_mlx5_rule_of(queue)->dbrec_ring != ring)
		return NULL;
	return bf_mlx5_rule_of(queue);
}

static void show_dbrec_store(struct bf_mlx5_rule_dbrec_store *d, const struct bf_store *shown)
{
	if (d->set && d->store.actor == shown->actor && d->store.seq == shown->seq)
		d->store = *shown;
}

void bf_mlx5_rule_note_store(struct bf_rules *r, const struct bf_seen *e)
{
	struct bf_mlx5_rule_queue *q = e->store.len == 4 ? dbrec_at(r, e->store.va) : NULL;
	const bool begins = e->store.va % BF_MLX5_WQEBB < 8;
	const struct bf_store *s = begins || q ? bf_stores_recent(bf_rule_stores(r), 0) : NULL;

	if (s && begins)
		note_laid(r, s);
	if (!s || !q)
		return;
	if (e->store.va != q->dbrec_ring->va + 4 * BF_MLX5_DBR_SND) {
		note_receive_word(q, s);
		return;
	}
	bf_rule_notice(r, BF_MLX5_TO_DBREC);
	note_dbrec_store(r, q, s);
}

void bf_mlx5_rule_note_visible(struct bf_rules *r, const struct bf_seen *e)
{
	struct bf_mlx5_rule_queue *q = e->store_visible.len == 4 ? dbrec_at(r, e->store_visible.va) : NULL;
	const struct bf_store *s = q && e->store_visible.va == q->dbrec_ring->va + 4 * BF_MLX5_DBR_SND
				       ? bf_stores_shown(bf_rule_stores(r), 0)
				       : NULL;

	if (!s)
		return;
	bf_rule_notice(r, BF_MLX5_TO_DBREC);
	q->dbrec_shown = true;
	show_dbrec_store(&q->after, s);
	show_dbrec_store(&q->most, s);
}

/* A queue pair that is destroyed leaves its record's memory to others. */
void bf_mlx5_rule_note_command(struct bf_rules *r, const struct bf_seen *e)
{
	struct bf_rule_queue *queue;

	if (e->cmd.opcode != BF_MLX5_CMD_DESTROY_QP || e->cmd.status)
		return;
	for (uint32_t i = 0; (queue = bf_rule_queue_at(r, i)); i++) {
		struct bf_mlx5_rule_queue *q = bf_mlx5_rule_of(queue);

		if (queue->family != &bf_rules_mlx5 || queue->pe != e->pe || queue->number != e->cmd.number)
			continue;
		q->destroyed = true;
		if (q->dbrec_ring)
			bf_stores_drop(bf_rule_stores(r), q->dbrec_ring);
	}
}
