/*
 * Submission queues: from the doorbell's arrival to the entries' arrival.
 *
 * A doorbell puts its queue into the list `bell`; after profile.doorbell_ps the queue joins the arbiter's lists, and
 * stays there as long as it has entries that are not fetched. The arbiter takes queues in turn (Base specification,
 * section 3.4.4, "Command Arbitration") and fetches a burst from each.
 */
#include "models/nvme/device_internal.h"

#include <errno.h>
#include <stdlib.h>

/* Round robin: all queues are in one class. Weighted: admin and urgent come first, strictly, then three by weight. */
enum { CLASS_ADMIN, CLASS_URGENT, CLASS_HIGH, CLASS_MEDIUM, CLASS_LOW };
BF_STATIC_ASSERT(CLASS_LOW + 1 == BF_NVME_CLASSES, "arbitration classes");

#define AMS_WRR 1u

struct bf_nvme_fetch {
	struct bf_dma_op op;
	struct bf_nvme_sq *sq;
	struct bf_nvme_fetch *next;
	uint64_t told_ps, start_ps;
	uint32_t slot, count;
	uint8_t bytes[BF_NVME_FETCH_MAX * sizeof(struct bf_nvme_sqe)];
};

static void on_bell(struct bf_event *ev);
static void fetch_done(struct bf_dma_op *op);

void bf_nvme_sq_init(struct bf_nvme *dev)
{
	for (uint32_t i = 0; i < BF_NVME_CLASSES; i++)
		dev->classes[i].tail = &dev->classes[i].head;
	dev->bell_tail = &dev->bell_head;
	bf_event_init(&dev->bell_event, on_bell);
}

int bf_nvme_sq_open(struct bf_nvme *dev)
{
	dev->fetch_memory = calloc(BF_NVME_FETCHES, sizeof(*dev->fetch_memory));
	if (!dev->fetch_memory)
		return bf_fail(&dev->sim->error, -ENOMEM, "%s: no memory for fetches", dev->name);
	for (uint32_t i = 0; i < BF_NVME_FETCHES; i++) {
		dev->fetch_memory[i].next = dev->fetches;
		dev->fetches = &dev->fetch_memory[i];
	}
	return 0;
}

void bf_nvme_sq_close(struct bf_nvme *dev)
{
	bf_sim_cancel(dev->sim, &dev->bell_event);
	free(dev->fetch_memory);
}

/* Which doorbell told of which entries. When more arrive than can be told apart the youngest are taken for one. */
static void note_bell(struct bf_nvme_sq *sq, uint32_t tail)
{
	if (sq->nbells == BF_NVME_BELLS) {
		sq->bells[BF_NVME_BELLS - 1].tail = tail;
		return;
	}
	sq->bells[sq->nbells++] = (struct bf_nvme_bell){ .at_ps = sq->dev->sim->now_ps, .tail = tail };
}

/* Arrival of the doorbell that announced `slot`; older ones, whose entries lie before, are forgotten. */
static uint64_t told_at(struct bf_nvme_sq *sq, uint32_t slot)
{
	uint32_t size = sq->ring.size, old = 0;

	while (old + 1 < sq->nbells &&
	       bf_nvme_ahead(sq->bells[old].tail, sq->head, size) <= bf_nvme_ahead(slot, sq->head, size))
		old++;
	if (old) {
		sq->nbells -= old;
		memmove(sq->bells, sq->bells + old, sq->nbells * sizeof(sq->bells[0]));
	}
	return sq->bells[0].at_ps;
}

void bf_nvme_sq_tail(struct bf_nvme_sq *sq, uint32_t tail)
{
	struct bf_nvme *dev = sq->dev;

	if (sq->fetch == sq->tail)
		sq->nbells = 0;
	note_bell(sq, tail);
	sq->tail = tail;
	sq->doorbells++;
	if (sq->ready || sq->ringing)
		return;
	sq->ringing = true;
	sq->ready_ps = dev->sim->now_ps + dev->profile.doorbell_ps;
	sq->ring_next = NULL;
	*dev->bell_tail = sq;
	dev->bell_tail = &sq->ring_next;
	if (!bf_event_pending(&dev->bell_event))
		bf_sim_at(dev->sim, &dev->bell_event, dev->bell_head->ready_ps);
}

static void on_bell(struct bf_event *ev)
{
	struct bf_nvme *dev = BF_CONTAINER_OF(ev, struct bf_nvme, bell_event);

	while (dev->bell_head && dev->bell_head->ready_ps <= dev->sim->now_ps) {
		struct bf_nvme_sq *sq = dev->bell_head;

		dev->bell_head = sq->ring_next;
		if (!dev->bell_head)
			dev->bell_tail = &dev->bell_head;
		sq->ringing = false;
		bf_nvme_sq_ready(sq);
	}
	if (dev->bell_head)
		bf_sim_at(dev->sim, ev, dev->bell_head->ready_ps);
	bf_nvme_arbitrate(dev);
}

/* Arbitration. --------------------------------------------------------------------------------------------------- */

static bool weighted(const struct bf_nvme *dev)
{
	return BF_FIELD_GET(BF_NVME_CC_AMS, dev->regs.cc) == AMS_WRR;
}

static struct bf_nvme_ready *class_of(const struct bf_nvme_sq *sq)
{
	struct bf_nvme *dev = sq->dev;

	if (!weighted(dev) || !sq->qid)
		return &dev->classes[CLASS_ADMIN];
	return &dev->classes[CLASS_URGENT + sq->prio];
}

static void push(struct bf_nvme_ready *c, struct bf_nvme_sq *sq)
{
	sq->ready = true;
	sq->next = NULL;
	*c->tail = sq;
	c->tail = &sq->next;
}

static struct bf_nvme_sq *pop(struct bf_nvme_ready *c)
{
	struct bf_nvme_sq *sq = c->head;

	c->head = sq->next;
	if (!c->head)
		c->tail = &c->head;
	sq->ready = false;
	return sq;
}

/*
 * A queue whose completion queue is full is left alone, so that completions that nobody takes do not eat up what the
 * controller can work on; its deletion goes on.
 */
static bool fetchable(const struct bf_nvme_sq *sq)
{
	return sq->fetch != sq->tail && (!sq->cq->nheld || sq->deleter);
}

void bf_nvme_sq_ready(struct bf_nvme_sq *sq)
{
	if (!sq->ready && !sq->ringing && fetchable(sq))
		push(class_of(sq), sq);
}

void bf_nvme_arbiter_forget(struct bf_nvme_sq *sq)
{
	struct bf_nvme *dev = sq->dev;
	struct bf_nvme_ready *c = class_of(sq);

	if (sq->ready) {
		struct bf_nvme_sq **at = &c->head;

		while (*at != sq)
			at = &(*at)->next;
		*at = sq->next;
		if (c->tail == &sq->next)
			c->tail = at;
		sq->ready = false;
	}
	if (sq->ringing) {
		struct bf_nvme_sq **at = &dev->bell_head;

		while (*at != sq)
			at = &(*at)->ring_next;
		*at = sq->ring_next;
		if (dev->bell_tail == &sq->ring_next)
			dev->bell_tail = at;
		sq->ringing = false;
	}
}

/* Weights are 0-based: high 31:24, medium 23:16, low 15:8 (feature 01h). A round gives each class its credit anew. */
static void refill(struct bf_nvme *dev)
{
	for (uint32_t i = CLASS_HIGH; i <= CLASS_LOW; i++)
		dev->classes[i].credit = (dev->feat.arbitration >> (24 - 8 * (i - CLASS_HIGH)) & 0xff) + 1;
}

/* The class whose turn it is; NULL when no queue is ready. `*most` gets how many entries it may send. */
static struct bf_nvme_ready *turn(struct bf_nvme *dev, uint32_t *most)
{
	uint32_t ab = dev->feat.arbitration & 7, burst = ab == 7 ? UINT32_MAX : 1u << ab;

	*most = burst;
	for (uint32_t i = CLASS_ADMIN; i <= CLASS_URGENT; i++)
		if (dev->classes[i].head)
			return &dev->classes[i];
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = CLASS_HIGH; i <= CLASS_LOW; i++) {
			struct bf_nvme_ready *c = &dev->classes[i];

			if (!c->head || !c->credit)
				continue;
			*most = burst < c->credit ? burst : c->credit;
			return c;
		}
		refill(dev);
	}
	return NULL;
}

/* Starts a fetch of at most `most` entries; returns how many, 0 when the controller has no room for more commands. */
static uint32_t fetch(struct bf_nvme_sq *sq, uint32_t most)
{
	struct bf_nvme *dev = sq->dev;
	uint32_t n = bf_nvme_ahead(sq->tail, sq->fetch, sq->ring.size), limit = dev->profile.fetch_entries;
	struct bf_nvme_fetch *f = dev->fetches;

	n = n < most ? n : most;
	limit = limit && limit < BF_NVME_FETCH_MAX ? limit : BF_NVME_FETCH_MAX;
	n = n < limit ? n : limit;
	if (sq->qid && n > BF_NVME_COMMANDS_MAX - dev->executing)
		n = BF_NVME_COMMANDS_MAX - dev->executing;
	if (!n)
		return 0;
	dev->fetches = f->next;
	f->op.iova = bf_nvme_ring_iova(&sq->ring, sq->fetch, n, &n);
	f->op.len = n * (uint32_t)sizeof(struct bf_nvme_sqe);
	f->op.dst = f->bytes;
	f->op.done = fetch_done;
	f->sq = sq;
	f->slot = sq->fetch;
	f->count = n;
	f->told_ps = told_at(sq, sq->fetch);
	f->start_ps = dev->sim->now_ps;
	sq->fetch = sq->fetch + n == sq->ring.size ? 0 : sq->fetch + n;
	sq->fetching++;
	dev->executing += sq->qid ? n : 0;
	dev->count.fetches++;
	bf_nvme_dma_read(dev, &f->op);
	return n;
}

/* A queue in the controller's own memory is read at once: then fetch_done() comes back here before fetch() returns. */
void bf_nvme_arbitrate(struct bf_nvme *dev)
{
	struct bf_nvme_ready *c;
	uint32_t most, n;

	if (dev->arbitrating)
		return;
	dev->arbitrating = true;
	while (bf_nvme_running(dev) && dev->fetches && (c = turn(dev, &most))) {
		struct bf_nvme_sq *sq = c->head;

		if (!fetchable(sq)) {
			pop(c);
			continue;
		}
		if (sq->qid && dev->executing >= BF_NVME_COMMANDS_MAX) {
			/* Only the admin queue could go on, and its turn comes when it is first in its list. */
			dev->starved = true;
			if (!dev->sqs[0]->ready)
				break;
			push(c, pop(c));
			continue;
		}
		pop(c);
		sq->fetching++; /* it cannot go while it is looked at */
		n = fetch(sq, most);
		sq->fetching--;
		c->credit -= c->credit < n ? c->credit : n;
		if (!sq->dead)
			bf_nvme_sq_ready(sq);
		bf_nvme_sq_idle(sq);
	}
	dev->arbitrating = false;
}

static void fetch_done(struct bf_dma_op *op)
{
	struct bf_nvme_fetch *f = BF_CONTAINER_OF(op, struct bf_nvme_fetch, op);
	struct bf_nvme_sq *sq = f->sq;
	struct bf_nvme *dev = sq->dev;
	uint32_t taken = 0;

	if (!sq->dead && op->status && dev->phase == BF_NVME_ON)
		bf_nvme_fatal(dev, BF_NVME_FATAL_FETCH, op->iova);
	for (; !sq->dead && dev->phase == BF_NVME_ON && taken < f->count; taken++) {
		uint32_t slot = f->slot + taken;

		sq->head = slot + 1 == sq->ring.size ? 0 : slot + 1;
		if (!bf_nvme_accept(sq, slot, f->bytes + taken * sizeof(struct bf_nvme_sqe), f->count, f->told_ps,
				    f->start_ps))
			bf_nvme_fatal(dev, BF_NVME_FATAL_MEMORY, slot);
	}
	dev->executing -= sq->qid ? f->count - taken : 0;
	f->next = dev->fetches;
	dev->fetches = f;
	sq->fetching--;
	if (sq->dead) {
		bf_nvme_sq_put(sq);
	} else {
		if (sq->fetch == sq->tail && dev->dbbuf_shadow && sq->qid)
			bf_nvme_shadow_sleep_sq(sq);
		bf_nvme_sq_idle(sq);
	}
	bf_nvme_arbitrate(dev);
}
