/*
 * Queues whose driver says nothing of what it does: what doorbells announce and give back, what the controller posts,
 * and where threads look for it.
 */
#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

#define COMPLETION 16u
#define PHASE_DWORD 12u /* of a completion: the bytes of the dword that tells a new one */

bool bf_nvme_rule_is_silent(const struct bf_rule_queue *queue)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(queue);

	return queue->number && !q->driver_speaks && q->silent.cq && q->silent.cqes && q->silent.sqes;
}

/* From `from` to `to` in a ring of `n`. */
static uint32_t steps(uint64_t from, uint64_t to, uint32_t n)
{
	return n && from < n && to < n ? (uint32_t)((to + n - from) % n) : 0;
}

static void note_doorbell(struct bf_nvme_rule_queue *q, const struct bf_seen *e)
{
	if (!e->nvme_doorbell.accepted)
		return;
	if (e->nvme_doorbell.queue)
		q->silent.freed += steps(e->nvme_doorbell.before, e->nvme_doorbell.value, q->silent.cqes);
	else
		q->silent.announced += steps(e->nvme_doorbell.before, e->nvme_doorbell.value, q->silent.sqes);
}

static void note_completion(struct bf_rules *r, struct bf_nvme_rule_queue *cq, const struct bf_seen *e)
{
	struct bf_rule_queue *sq = bf_rule_queue(r, &bf_rules_nvme, e->pe, e->nvme_completion.sqid, false);
	struct bf_nvme_rule_queue *q = sq ? bf_nvme_rule_of(sq) : NULL;

	cq->silent.posted++;
	if (!q)
		return;
	q->silent.reported += steps(q->silent.sqhd, e->nvme_completion.sqhd, q->silent.sqes);
	q->silent.sqhd = (uint32_t)e->nvme_completion.sqhd;
}

static void note_queue(struct bf_rules *r, struct bf_nvme_rule_queue *q, const struct bf_seen *e)
{
	const uint64_t size = e->nvme_queue.size * COMPLETION;

	if (e->nvme_queue.what != BF_NVME_QUEUE_CREATED)
		return;
	if (e->nvme_queue.queue) {
		q->silent.posted = q->silent.freed = q->silent.looks = 0;
		q->silent.past_tail = false;
		q->silent.cqes = (uint32_t)e->nvme_queue.size;
		q->silent.cq = bf_stores_area(bf_rule_stores(r), q->silent.cq, e->queue, e->nvme_queue.base, size);
	} else {
		q->silent.announced = q->silent.reported = q->silent.sqhd = 0;
		q->silent.sqes = (uint32_t)e->nvme_queue.size;
	}
}

/* The completion queue that an address lies in; NULL. */
static struct bf_ring *cq_at(struct bf_rules *r, uint64_t va)
{
	struct bf_ring *area = va ? bf_stores_ring_at(bf_rule_stores(r), va) : NULL;

	return area && area->queue && area->queue->family == &bf_rules_nvme &&
		       bf_nvme_rule_of(area->queue)->silent.cq == area
		   ? area
		   : NULL;
}

static struct bf_nvme_rule_poller *poller_of(struct bf_nvme_rule_run *run, uint32_t actor)
{
	struct bf_nvme_rule_poller *p = &run->poller[actor % BF_NVME_RULE_POLLERS];

	if (p->actor != actor)
		*p = (struct bf_nvme_rule_poller){ .actor = actor };
	return p;
}

static void note_load(struct bf_rules *r, struct bf_nvme_rule_run *run, const struct bf_seen *e)
{
	const struct bf_ring *area = cq_at(r, e->load.va);
	struct bf_nvme_rule_poller *p = poller_of(run, e->actor);
	const uint64_t at = area ? e->load.va - area->va : 0;
	struct bf_nvme_rule_queue *q;
	struct bf_nvme_rule_slot *s;

	p->looked = area ? area->queue->place + 1 : 0;
	if (!area || at % COMPLETION > PHASE_DWORD || at % COMPLETION + e->load.len <= PHASE_DWORD)
		return;
	q = bf_nvme_rule_of(area->queue);
	s = bf_nvme_rule_slot(q, at / COMPLETION);
	if (!s)
		return;
	s->looked = e->number + 1;
	q->silent.looks++;
	p->look_slot = (uint32_t)(at / COMPLETION);
	p->look_queue = area->queue->place + 1;
}

/* A doorbell travels: when it arrives, who rang it may look elsewhere. */
static void note_ring(struct bf_rules *r, struct bf_nvme_rule_run *run, const struct bf_seen *e)
{
	const struct bf_nvme_rule_poller *p = poller_of(run, e->actor);
	struct bf_rule_queue *queue = p->look_queue ? bf_rule_queue_at(r, p->look_queue - 1) : NULL;
	struct bf_nvme_rule_slot *s;

	if (!queue || e->tail_len != 4 || bf_get_le32(e->tail) >= bf_nvme_rule_of(queue)->silent.cqes)
		return;
	s = bf_nvme_rule_slot(bf_nvme_rule_of(queue), bf_get_le32(e->tail));
	if (s)
		s->rung_at = p->look_slot + 1;
}

static void note_wait(struct bf_rules *r, struct bf_nvme_rule_run *run, const struct bf_seen *e)
{
	struct bf_nvme_rule_poller *p = poller_of(run, e->actor);

	p->waits = e->kind == BF_SEEN_agent_wait && e->agent_wait.lines == 1 ? cq_at(r, e->agent_wait.va) : NULL;
	if (!p->waits)
		return;
	/* The record names the line; of its four completions the one that was looked at last. */
	p->slot = (uint32_t)((e->agent_wait.va - p->waits->va) / COMPLETION);
	p->wait_ps = e->time_ps;
	p->wait_record = e->number;
	if (p->looked == p->waits->queue->place + 1 || p->unseen_at)
		return;
	p->unseen_at = p->waits;
	p->unseen_ps = e->time_ps;
	p->unseen_record = e->number;
}

const struct bf_nvme_rule_poller *bf_nvme_rule_waiting(const struct bf_nvme_rule_run *run, uint32_t *i)
{
	while (*i < BF_NVME_RULE_POLLERS) {
		const struct bf_nvme_rule_poller *p = &run->poller[(*i)++];

		if (p->waits)
			return p;
	}
	return NULL;
}

const struct bf_nvme_rule_slot *bf_nvme_rule_took_old(const struct bf_seen *e, uint32_t *slot)
{
	struct bf_nvme_rule_queue *q = e->queue ? bf_nvme_rule_of(e->queue) : NULL;
	const struct bf_nvme_rule_slot *s;

	if (e->nvme_driver_error.wrong != BF_NVME_WRONG_HEAD_PAST_TAIL || !q || !bf_nvme_rule_is_silent(e->queue) ||
	    !q->silent.looks || e->nvme_driver_error.value >= q->silent.cqes)
		return NULL;
	s = bf_nvme_rule_slot(q, e->nvme_driver_error.value);
	*slot = (uint32_t)(e->nvme_driver_error.value + q->silent.cqes - 1) % q->silent.cqes;
	return s && s->rung_at == *slot + 1 ? bf_nvme_rule_slot(q, *slot) : NULL;
}

/* Of a driver that speaks nobody needs to know where it looks. */
static void listen(struct bf_rules *r, bool on)
{
	static const enum bf_seen_kind kinds[] = { BF_SEEN_load, BF_SEEN_agent_wait, BF_SEEN_agent_wake,
						   BF_SEEN_mmio_store };

	for (uint32_t i = 0; i < BF_ARRAY_LEN(kinds); i++)
		(on ? bf_rule_again : bf_rule_enough)(r, &bf_rules_nvme, kinds[i]);
}

void bf_nvme_rule_note_silent(struct bf_rules *r, struct bf_nvme_rule_run *run, const struct bf_seen *e)
{
	struct bf_nvme_rule_queue *q = e->queue ? bf_nvme_rule_of(e->queue) : NULL;

	if (!run->begun)
		listen(r, false);
	run->begun = true;
	switch (e->kind) {
	case BF_SEEN_load:
		note_load(r, run, e);
		break;
	case BF_SEEN_agent_wait:
	case BF_SEEN_agent_wake:
		note_wait(r, run, e);
		break;
	case BF_SEEN_mmio_store:
		note_ring(r, run, e);
		break;
	case BF_SEEN_nvme_driver_error:
		if (q)
			q->silent.past_tail |= e->nvme_driver_error.wrong == BF_NVME_WRONG_HEAD_PAST_TAIL;
		break;
	case BF_SEEN_nvme_doorbell:
		if (q)
			note_doorbell(q, e);
		break;
	case BF_SEEN_nvme_completion:
		if (q)
			note_completion(r, q, e);
		break;
	case BF_SEEN_nvme_queue:
		if (q)
			note_queue(r, q, e);
		if (q && e->queue->number && !q->driver_speaks)
			listen(r, true);
		break;
	case BF_SEEN_nvm_build:
		if (e->queue && e->queue->number)
			listen(r, false);
		break;
	default:
		break;
	}
}
