/*
 * Completion queues: the completion unit, posting, and interrupts.
 *
 * A queue with (tail + 1) % size == head is full: completions wait for its head doorbell, in order. An interrupt is
 * raised after the completion that it announces is in memory.
 */
#include "models/nvme/device_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/fault.h"
#include "sim/train.h"

#define COALESCE_UNIT_PS (100 * BF_US) /* feature 08h, aggregation time */
#define MSIX_BYTES 4u

static void on_completion(struct bf_event *ev);
static void on_interrupt(struct bf_event *ev);

void bf_nvme_cq_init(struct bf_nvme *dev)
{
	bf_nvme_list_init(&dev->completing);
	bf_event_init(&dev->completion_event, on_completion);
}

int bf_nvme_cq_open(struct bf_nvme *dev)
{
	uint32_t n = dev->profile.vectors;

	dev->vectors = calloc(n, sizeof(*dev->vectors));
	if (!dev->vectors)
		return bf_fail(&dev->sim->error, -ENOMEM, "%s: no memory for %u vectors", dev->name, n);
	for (uint32_t i = 0; i < n; i++) {
		dev->vectors[i].dev = dev;
		bf_event_init(&dev->vectors[i].event, on_interrupt);
	}
	dev->nvectors = n;
	return 0;
}

void bf_nvme_cq_close(struct bf_nvme *dev)
{
	bf_sim_cancel(dev->sim, &dev->completion_event);
	for (uint32_t i = 0; i < dev->nvectors; i++)
		bf_sim_cancel(dev->sim, &dev->vectors[i].event);
	free(dev->vectors);
}

/* Interrupts. ---------------------------------------------------------------------------------------------------- */

/* INTMS is for pin and MSI interrupts, of which there are 32 at most; the reset value masks nothing. */
static bool is_masked(const struct bf_nvme *dev, uint32_t vector)
{
	return vector < 32 && dev->regs.intms >> vector & 1;
}

/* A message is a posted write behind the completion: it is there a little after. */
static uint64_t message_ps(const struct bf_nvme *dev, uint64_t landed_ps)
{
	const struct bf_link_profile *p = &dev->link.profile;

	return landed_ps + (MSIX_BYTES + p->tlp_overhead) * p->ps_per_kib / 1024 + 1;
}

/*
 * Aggregation (features 08h, 09h) holds an interrupt of an I/O queue back until enough completions are there or the
 * first of them is old enough; either limit at 0 switches it off. The admin queue's interrupts never wait.
 */
static uint64_t due_ps(const struct bf_nvme_cq *cq, const struct bf_nvme_vector *v, uint64_t at_ps)
{
	uint32_t limit = cq->dev->feat.coalescing & 0xff, units = cq->dev->feat.coalescing >> 8 & 0xff;

	if (!cq->qid || v->uncoalesced || !limit || !units || v->waiting > limit)
		return at_ps;
	return at_ps + units * COALESCE_UNIT_PS;
}

static void announce(struct bf_nvme_cq *cq, uint64_t landed_ps)
{
	struct bf_nvme *dev = cq->dev;
	struct bf_nvme_vector *v = &dev->vectors[cq->vector];
	uint64_t due;

	v->waiting++;
	if (is_masked(dev, cq->vector))
		return;
	due = due_ps(cq, v, message_ps(dev, landed_ps));
	if (!bf_event_pending(&v->event) || v->waiting > (dev->feat.coalescing & 0xff))
		bf_sim_at(dev->sim, &v->event,
			  bf_event_pending(&v->event) && v->event.when < due ? v->event.when : due);
}

static void on_interrupt(struct bf_event *ev)
{
	struct bf_nvme_vector *v = BF_CONTAINER_OF(ev, struct bf_nvme_vector, event);
	struct bf_nvme *dev = v->dev;
	uint32_t vector = (uint32_t)(v - dev->vectors);

	if (!dev->bus_master || is_masked(dev, vector))
		return;
	dev->count.interrupts++;
	BF_EMIT(dev->sim, dev->actor, nvme_interrupt, .vector = vector, .completions = v->waiting);
	v->waiting = 0;
	dev->interrupt(dev->interrupt_arg, vector);
}

void bf_nvme_unmasked(struct bf_nvme *dev)
{
	for (uint32_t i = 0; i < dev->nvectors && i < 32; i++)
		if (dev->vectors[i].waiting && !is_masked(dev, i) && !bf_event_pending(&dev->vectors[i].event))
			bf_sim_after(dev->sim, &dev->vectors[i].event, 0);
}

/* Posting. ------------------------------------------------------------------------------------------------------- */

static bool is_full(const struct bf_nvme_cq *cq)
{
	return (cq->tail + 1 == cq->ring.size ? 0 : cq->tail + 1) == cq->head;
}

/* Data that are still on their way to memory when the command ends count as its data's time. */
static void count_times(struct bf_nvme *dev, struct bf_nvme_rq *rq, uint64_t landed_ps)
{
	uint64_t ready = rq->data_end_ps > rq->end_ps ? rq->data_end_ps : rq->end_ps;

	rq->data_ps += ready - rq->end_ps;
	bf_hist_add(dev->hist_doorbell, rq->fetch_ps - rq->told_ps);
	bf_hist_add(dev->hist_fetch, rq->start_ps - rq->fetch_ps);
	bf_hist_add(dev->hist_data, rq->data_ps);
	bf_hist_add(dev->hist_media, rq->media_ps);
	bf_hist_add(dev->hist_completion, landed_ps > ready ? landed_ps - ready : 0);
}

static void record_completion(const struct bf_nvme_cq *cq, const struct bf_nvme_rq *rq, uint64_t landed_ps,
			      const struct bf_nvme_cqe *cqe)
{
	BF_EMIT_TAIL(cq->dev->sim, cq->actor, nvme_completion, cqe, sizeof(*cqe), .landed_ps = landed_ps,
		     .doorbell_ps = rq->fetch_ps - rq->told_ps, .fetch_ps = rq->start_ps - rq->fetch_ps,
		     .data_ps = rq->data_ps, .media_ps = rq->media_ps, .dw0 = rq->dw0, .dw1 = rq->dw1, .sqid = rq->sqid,
		     .cqid = cq->qid, .sqslot = rq->slot, .cqslot = (uint16_t)cq->tail, .cid = rq->cid,
		     .sqhd = rq->sqhd, .status = (uint16_t)rq->status, .phase = cq->phase, .opcode = rq->opcode);
}

/* The dword with the phase tag is the last of the 16 bytes to change; on request it is a write of its own. */
static uint32_t write_entry(struct bf_nvme_cq *cq, const struct bf_nvme_cqe *cqe)
{
	struct bf_nvme *dev = cq->dev;
	uint32_t one, first = dev->profile.split_completions ? 12 : 0, status = 0;
	uint64_t iova = bf_nvme_ring_iova(&cq->ring, cq->tail, 1, &one);
	struct bf_fault lost;

	if (bf_fault_check(dev->sim, BF_FAULT_LOST_COMPLETION, cq->actor, cq->qid, &lost))
		return 0;
	if (first)
		status = bf_nvme_dma_write(dev, iova, cqe, first);
	return status ? status : bf_nvme_dma_write(dev, iova + first, (const uint8_t *)cqe + first, 16 - first);
}

/* There is room, and the controller runs. The request is free afterwards. */
static void post(struct bf_nvme_cq *cq, struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = cq->dev;
	struct bf_nvme_cqe cqe = {
		.dw0 = { { 0 } },
	};
	uint64_t landed;

	bf_put_le32(&cqe.dw0, rq->dw0);
	bf_put_le32(&cqe.dw1, rq->dw1);
	bf_put_le16(&cqe.sqhd, rq->sqhd);
	bf_put_le16(&cqe.sqid, rq->sqid);
	bf_put_le16(&cqe.cid, rq->cid);
	bf_put_le16(&cqe.status, (uint16_t)(rq->status << 1 | cq->phase));
	if (BF_UNLIKELY(write_entry(cq, &cqe) != 0)) {
		bf_nvme_fatal(dev, BF_NVME_FATAL_POST, cq->tail);
		bf_nvme_rq_free(rq);
		return;
	}
	landed = dev->link.posted_ps > dev->sim->now_ps ? dev->link.posted_ps : dev->sim->now_ps;
	count_times(dev, rq, landed);
	record_completion(cq, rq, landed, &cqe);
	dev->count.completions++;
	if (++cq->tail == cq->ring.size) {
		cq->tail = 0;
		cq->phase ^= 1;
	}
	if (cq->interrupts && dev->interrupt)
		announce(cq, landed);
	bf_nvme_rq_free(rq);
}

static void hold(struct bf_nvme_cq *cq, struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = cq->dev;

	rq->state = BF_NVME_RQ_HELD;
	bf_nvme_list_add(&cq->held, rq);
	cq->nheld++;
	dev->count.held++;
	BF_EMIT(dev->sim, cq->actor, nvme_held, .held = cq->nheld, .sqid = rq->sqid, .cqid = cq->qid, .cid = rq->cid,
		.head = (uint16_t)cq->head);
	if (dev->dbbuf_shadow && cq->qid)
		bf_nvme_shadow_sleep_cq(cq);
}

static void post_or_hold(struct bf_nvme_rq *rq)
{
	struct bf_nvme_cq *cq = rq->cq;

	if (BF_UNLIKELY(!cq))
		bf_nvme_rq_free(rq);
	else if (BF_UNLIKELY(cq->nheld || is_full(cq)))
		hold(cq, rq);
	else
		post(cq, rq);
}

void bf_nvme_post(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint64_t now = dev->sim->now_ps;

	dev->completer_ps = (dev->completer_ps > now ? dev->completer_ps : now) + dev->profile.completion_ps;
	if (dev->completer_ps == now && !dev->completing.head && bf_nvme_running(dev)) {
		post_or_hold(rq);
		return;
	}
	rq->post_ps = dev->completer_ps;
	bf_nvme_list_add(&dev->completing, rq);
	if (dev->completing.head == rq)
		bf_sim_at(dev->sim, &dev->completion_event, rq->post_ps);
}

static void on_completion(struct bf_event *ev)
{
	struct bf_nvme *dev = BF_CONTAINER_OF(ev, struct bf_nvme, completion_event);

	while (bf_nvme_running(dev) && dev->completing.head) {
		post_or_hold(bf_nvme_list_pop(&dev->completing));
		if (dev->completing.head && !bf_sim_step(dev->sim, ev, dev->completing.head->post_ps))
			return;
	}
}

/* Room in the queue: what waits is posted, and its submission queues are fetched from again. */
static void release_held(struct bf_nvme_cq *cq)
{
	struct bf_nvme *dev = cq->dev;

	while (cq->nheld && !is_full(cq) && bf_nvme_running(dev)) {
		cq->nheld--;
		post(cq, bf_nvme_list_pop(&cq->held));
	}
	if (cq->nheld)
		return;
	for (uint32_t i = 0; i < dev->nlive_sqs; i++)
		if (dev->sqs[dev->live_sqs[i]]->cq == cq)
			bf_nvme_sq_ready(dev->sqs[dev->live_sqs[i]]);
	bf_nvme_arbitrate(dev);
}

void bf_nvme_cq_head(struct bf_nvme_cq *cq, uint32_t head)
{
	cq->head = head;
	if (cq->nheld)
		release_held(cq);
}

void bf_nvme_cq_resume(struct bf_nvme *dev)
{
	if (dev->completing.head)
		bf_sim_after(dev->sim, &dev->completion_event, 0);
	for (uint32_t i = 0; i < dev->nlive_cqs; i++)
		if (dev->cqs[dev->live_cqs[i]]->nheld)
			release_held(dev->cqs[dev->live_cqs[i]]);
	for (uint32_t i = 0; i < dev->nvectors; i++)
		if (dev->vectors[i].waiting && !bf_event_pending(&dev->vectors[i].event))
			bf_sim_after(dev->sim, &dev->vectors[i].event, 0);
}

void bf_nvme_cq_forget(struct bf_nvme_cq *cq)
{
	while (cq->held.head) {
		cq->nheld--;
		bf_nvme_rq_free(bf_nvme_list_pop(&cq->held));
	}
	for (struct bf_nvme_rq *rq = cq->dev->completing.head; rq; rq = rq->next)
		if (rq->cq == cq)
			rq->cq = NULL;
}

uint32_t bf_nvme_drop_completions(struct bf_nvme *dev)
{
	uint32_t n = 0;

	bf_sim_cancel(dev->sim, &dev->completion_event);
	dev->completer_ps = 0;
	for (; dev->completing.head; n++)
		bf_nvme_rq_free(bf_nvme_list_pop(&dev->completing));
	for (uint32_t i = 0; i < dev->nvectors; i++) {
		bf_sim_cancel(dev->sim, &dev->vectors[i].event);
		dev->vectors[i].waiting = 0;
	}
	return n;
}
