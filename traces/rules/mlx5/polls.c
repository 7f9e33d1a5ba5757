#include "traces/rules/mlx5/polls.h"

#include <stdlib.h>

#include "models/mlx5/prm.h"
#include "sim/bytes.h"

static struct bf_mlx5_rule_polled_cq *cq_of(struct bf_mlx5_rule_polls *p, const struct bf_seen *e, uint32_t cqn)
{
	struct bf_mlx5_rule_polled_cq *cq = &p->cq[bf_mlx5_rule_cq_place(e->pe, e->unit, cqn)];

	return cq->cqes && cq->pe == e->pe && cq->unit == e->unit && cq->cqn == cqn ? cq : NULL;
}

const struct bf_mlx5_rule_polled_cq *bf_mlx5_rule_polled(const struct bf_mlx5_rule_polls *p,
							 const struct bf_rule_queue *of, uint32_t cqn)
{
	const struct bf_mlx5_rule_polled_cq *cq = &p->cq[bf_mlx5_rule_cq_place(of->pe, of->unit, cqn)];

	return cq->cqes && cq->pe == of->pe && cq->unit == of->unit && cq->cqn == cqn ? cq : NULL;
}

bool bf_mlx5_rule_last_in(const struct bf_mlx5_rule_polled_cq *cq, uint64_t slot, uint64_t *number)
{
	if (cq->written <= slot)
		return false;
	*number = slot + (cq->written - 1 - slot) / cq->cqes * cq->cqes;
	return true;
}

const struct bf_mlx5_rule_poller *bf_mlx5_rule_awaited_slot(struct bf_rules *r, const struct bf_mlx5_rule_polled_cq *cq,
							    uint64_t slot)
{
	const struct bf_mlx5_rule_polls *p = bf_mlx5_rule_polls_of(r);
	const uint64_t from = cq->area->va + slot * cq->size;

	for (uint32_t i = 0; i < BF_MLX5_POLLERS; i++)
		if (p->poller[i].wait_va >= from && p->poller[i].wait_va < from + cq->size)
			return &p->poller[i];
	return NULL;
}

/* A number that is given out again names another queue; of two that share a place the later one is kept. */
static void note_config(struct bf_mlx5_rule_polls *p, const struct bf_seen *e)
{
	struct bf_mlx5_rule_polled_cq *cq = &p->cq[bf_mlx5_rule_cq_place(e->pe, e->unit, e->cq_config.cqn)];

	free(cq->slots);
	*cq = (struct bf_mlx5_rule_polled_cq){ .area = cq->area };
	if (e->cq_config.collapsed || e->cq_config.cqe_size != 64 || !e->cq_config.cqes ||
	    e->cq_config.cqes > BF_MLX5_RING_MAX)
		return;
	cq->pe = e->pe;
	cq->unit = e->unit;
	cq->cqn = (uint32_t)e->cq_config.cqn;
	cq->cqes = (uint32_t)e->cq_config.cqes;
	cq->size = (uint32_t)e->cq_config.cqe_size;
}

static void note_cqe(struct bf_rules *r, struct bf_mlx5_rule_polls *p, const struct bf_seen *e)
{
	struct bf_mlx5_rule_polled_cq *cq = cq_of(p, e, (uint32_t)e->cqe.cqn);

	if (!cq || e->cqe.verdict || e->cqe.slot >= cq->cqes)
		return;
	if (!cq->slots) {
		cq->slots = calloc(cq->cqes, sizeof(*cq->slots));
		cq->area = bf_stores_area(bf_rule_stores(r), cq->area, e->queue, e->cqe.iova - e->cqe.slot * cq->size,
					  (uint64_t)cq->cqes * cq->size);
		if (!cq->slots || !cq->area) {
			free(cq->slots);
			*cq = (struct bf_mlx5_rule_polled_cq){ .area = cq->area };
			return;
		}
		cq->area->number = (uint32_t)(cq - p->cq);
	}
	cq->written = e->cqe.count + 1;
	cq->queue = e->queue;
	cq->slots[e->cqe.slot] = (struct bf_mlx5_rule_cq_slot){ e->queue, bf_mlx5_rule_of(e->queue)->done.upto, 0 };
	/* The title of a block has its 64 bytes in the record, the others of the block have none. */
	if (e->tail_len == 64 && (e->tail[63] & BF_MLX5_CQE_COMPRESSED) == BF_MLX5_CQE_COMPRESSED) {
		cq->title = e->cqe.count + 1;
		p->blocks = true;
	} else if (e->tail_len) {
		cq->title = 0;
	} else {
		cq->slots[e->cqe.slot].title = cq->title;
	}
}

/* Completions are looked at in order: who has seen one knows of all before it. */
static void have_seen(struct bf_mlx5_rule_polled_cq *cq, uint64_t below)
{
	if (below <= cq->seen || below > cq->written)
		return;
	for (uint64_t n = below - cq->seen > cq->cqes ? below - cq->cqes : cq->seen; n < below; n++) {
		const struct bf_mlx5_rule_cq_slot *s = &cq->slots[n % cq->cqes];

		if (s->queue && bf_mlx5_rule_of(s->queue)->seen_done < s->done)
			bf_mlx5_rule_of(s->queue)->seen_done = s->done;
	}
	cq->seen = below;
}

static struct bf_mlx5_rule_poller *poller_of(struct bf_mlx5_rule_polls *p, uint32_t actor)
{
	struct bf_mlx5_rule_poller *t = &p->poller[actor % BF_MLX5_POLLERS];

	if (t->actor != actor)
		*t = (struct bf_mlx5_rule_poller){ .actor = actor };
	return t;
}

/*
 * Whoever takes completions in order looks at each of them, if not always at the first one first. Who takes completion
 * i for that of entry i leaves some out forever.
 */
static void note_ahead(struct bf_mlx5_rule_polled_cq *cq, const struct bf_seen *e, uint64_t number)
{
	if (cq->skipped && number < cq->ahead && number >= cq->ahead - cq->skipped) {
		cq->skipped = 0;
	} else if (!cq->skipped && number > cq->seen && cq->slots[number % cq->cqes].done != number + 1) {
		cq->ahead = number;
		cq->skipped = number - cq->seen;
		cq->ahead_ps = e->time_ps;
		cq->ahead_record = e->number;
		cq->ahead_actor = e->actor;
	}
}

/*
 * Short entries lie where the rest of a block's completions would be. Whoever takes blocks apart copies those, eight
 * bytes at least, and passes over them or gives their slots an op_own; a look at the op_own of one is for a completion.
 */
static void note_inside(struct bf_mlx5_rule_poller *t, const struct bf_mlx5_rule_polled_cq *cq, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_cq_slot *s = &cq->slots[t->slot];

	if (!s->title || t->inside || e->load.len >= 8)
		return;
	t->inside = s->queue;
	t->title = s->title - 1;
	t->inside_number = t->title + (t->slot + cq->cqes - t->title % cq->cqes) % cq->cqes;
	t->inside_ps = e->time_ps;
	t->inside_record = e->number;
	t->inside_cqn = cq->cqn;
}

/* A slot that software has stored to holds no entry of a block any more. */
static void note_unpacked(struct bf_rules *r, struct bf_mlx5_rule_polls *p, const struct bf_seen *e)
{
	const struct bf_ring *area = bf_stores_ring_at(bf_rule_stores(r), e->store.va);
	struct bf_mlx5_rule_polled_cq *cq = area ? &p->cq[area->number % BF_MLX5_CQS] : NULL;

	if (cq && cq->area == area && cq->slots)
		cq->slots[(e->store.va - area->va) / cq->size].title = 0;
}

static void note_load(struct bf_rules *r, struct bf_mlx5_rule_polls *p, const struct bf_seen *e)
{
	struct bf_mlx5_rule_poller *t = poller_of(p, e->actor);
	const struct bf_ring *area = bf_stores_ring_at(bf_rule_stores(r), e->load.va);
	struct bf_mlx5_rule_polled_cq *cq = area ? &p->cq[area->number % BF_MLX5_CQS] : NULL;
	uint64_t number, at;
	uint8_t own;

	t->load_va = e->load.va;
	t->load_len = (uint32_t)e->load.len;
	t->load_ps = e->time_ps;
	t->value = e->load.value;
	t->cq = 0;
	if (!cq || cq->area != area || !cq->slots)
		return;
	t->cq = (uint32_t)(cq - p->cq) + 1;
	t->slot = (uint32_t)((e->load.va - area->va) / cq->size);
	at = area->va + (uint64_t)(t->slot + 1) * cq->size - 1 - e->load.va; /* op_own, among the bytes of the load */
	if (at >= e->load.len || at >= 8 || !bf_mlx5_rule_last_in(cq, t->slot, &number))
		return;
	note_inside(t, cq, e);
	own = (uint8_t)(e->load.value >> at * 8);
	if (own >> 4 == BF_MLX5_CQE_INVALID || (own & BF_MLX5_CQE_OWNER) != (number / cq->cqes & 1))
		return;
	cq->loads++;
	note_ahead(cq, e, number);
	have_seen(cq, number + 1);
	if (own >> 4 == BF_MLX5_CQE_REQ_ERR && !t->error) {
		t->error = cq->slots[t->slot].queue;
		t->error_index = cq->slots[t->slot].done - 1;
		t->error_ps = e->time_ps;
		t->error_record = e->number;
	}
}

/*
 * The consumer's word of a CQ's doorbell record says how many were taken, 24 bits of it. Where it lies shows by who
 * stores there what: the thread that has just looked at slot n - 1 stores n, twice.
 */
static void note_store(struct bf_rules *r, struct bf_mlx5_rule_polls *p, const struct bf_seen *e)
{
	const struct bf_mlx5_rule_poller *t = &p->poller[e->actor % BF_MLX5_POLLERS];
	struct bf_mlx5_rule_polled_cq *cq;
	uint32_t taken, more;

	if (t->actor != e->actor || !t->cq)
		return;
	cq = &p->cq[t->cq - 1];
	taken = bf_get_be32(e->tail);
	if (!cq->cqes || taken > 0xffffff)
		return;
	if (!cq->dbrec && (taken - 1) % cq->cqes == t->slot) {
		if (cq->maybe == e->store.va && cq->maybe_value != taken)
			cq->dbrec = cq->maybe;
		cq->maybe = e->store.va;
		cq->maybe_value = taken;
	}
	if (cq->dbrec != e->store.va)
		return;
	more = (taken - (uint32_t)cq->written) & 0xffffff;
	if (more && more <= cq->cqes) {
		p->early = cq;
		p->early_taken = taken;
		bf_rule_notice(r, BF_MLX5_TOOK_EARLY);
	}
}

static void note_wait(struct bf_mlx5_rule_polls *p, const struct bf_seen *e)
{
	struct bf_mlx5_rule_poller *t = poller_of(p, e->actor);

	/* Of several lines, it looked at the last one last. */
	t->wait_more = e->kind == BF_SEEN_agent_wait && e->agent_wait.lines > 1;
	t->wait_va = e->kind != BF_SEEN_agent_wait ? 0 : t->wait_more ? t->load_va : e->agent_wait.va;
	t->wait_ps = e->time_ps;
	t->wait_record = e->number;
}

void bf_mlx5_rule_note_polls(struct bf_rules *r, struct bf_mlx5_rule_polls *p, const struct bf_seen *e)
{
	switch (e->kind) {
	case BF_SEEN_cq_config:
		note_config(p, e);
		break;
	case BF_SEEN_cqe:
		note_cqe(r, p, e);
		break;
	case BF_SEEN_load:
		note_load(r, p, e);
		break;
	case BF_SEEN_store:
		if (p->blocks)
			note_unpacked(r, p, e);
		if (e->store.va % 8 == 0 && e->tail_len >= 4)
			note_store(r, p, e);
		break;
	default:
		note_wait(p, e);
		break;
	}
}

void bf_mlx5_rule_forget_polls(struct bf_mlx5_rule_polls *p)
{
	for (uint32_t i = 0; i < BF_MLX5_CQS; i++)
		free(p->cq[i].slots);
}
