/*
 * What the controller tells of its own accord: asynchronous events, and the error log.
 *
 * An event is reported by an outstanding Asynchronous Event Request. After that its type is masked until the log page
 * that goes with it has been read with RAE = 0 (Base specification, section 5.2). Without a request an event waits,
 * once for each kind; errors of the driver's (type 0) do not wait, they would be stale.
 */
#include "models/nvme/device_internal.h"

enum { TYPE_ERROR, TYPE_SMART, TYPE_NOTICE };

static uint32_t event_dw0(const struct bf_nvme_event *e)
{
	return e->type | (uint32_t)e->info << 8 | (uint32_t)e->page << 16;
}

static void record_event(struct bf_nvme *dev, const struct bf_nvme_event *e, uint16_t cid, uint16_t fate)
{
	BF_EMIT(dev->sim, dev->actor, nvme_event, .dw0 = event_dw0(e), .cid = cid, .fate = fate);
}

/*
 * Feature 0Bh: SMART events by their bit in the critical warning (reliability 2, temperature 1, spare 0), notices by
 * their own bits from 8 up.
 */
static bool wanted(const struct bf_nvme *dev, const struct bf_nvme_event *e)
{
	if (e->type == TYPE_SMART)
		return e->info <= 2 && dev->feat.events >> (2 - e->info) & 1;
	if (e->type == TYPE_NOTICE)
		return dev->feat.events >> (8 + e->info) & 1;
	return true;
}

static void report(struct bf_nvme *dev, const struct bf_nvme_event *e)
{
	struct bf_nvme_rq *rq = dev->aers[0];

	dev->naers--;
	memmove(dev->aers, dev->aers + 1, dev->naers * sizeof(dev->aers[0]));
	dev->masked |= (uint8_t)(1u << e->type);
	dev->count.async_events++;
	record_event(dev, e, rq->cid, BF_NVME_EVENT_REPORTED);
	rq->dw0 = event_dw0(e);
	bf_nvme_complete(rq, 0);
}

static bool keep(struct bf_nvme *dev, const struct bf_nvme_event *e)
{
	for (uint32_t i = 0; i < dev->nevents; i++)
		if (event_dw0(&dev->events[i]) == event_dw0(e))
			return true;
	if (dev->nevents == BF_NVME_EVENTS)
		return false;
	dev->events[dev->nevents++] = *e;
	return true;
}

void bf_nvme_async_event(struct bf_nvme *dev, uint8_t type, uint8_t info, uint8_t page)
{
	struct bf_nvme_event e = { .type = type, .info = info, .page = page };
	bool masked = dev->masked >> type & 1;

	if (dev->phase != BF_NVME_ON || !wanted(dev, &e))
		return;
	if (!masked && dev->naers)
		report(dev, &e);
	else if (type == TYPE_ERROR)
		record_event(dev, &e, 0, masked ? BF_NVME_EVENT_MASKED : BF_NVME_EVENT_LOST);
	else
		record_event(dev, &e, 0, keep(dev, &e) ? BF_NVME_EVENT_KEPT : BF_NVME_EVENT_LOST);
}

/* Reports what waits and may be reported now. */
static void report_waiting(struct bf_nvme *dev)
{
	uint32_t i = 0;

	while (dev->naers && i < dev->nevents) {
		struct bf_nvme_event e = dev->events[i];

		if (dev->masked >> e.type & 1) {
			i++;
			continue;
		}
		dev->nevents--;
		memmove(dev->events + i, dev->events + i + 1, (dev->nevents - i) * sizeof(e));
		report(dev, &e);
	}
}

void bf_nvme_async_request(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;

	if (dev->naers == BF_NVME_AER_LIMIT) {
		bf_nvme_complete(rq, BF_NVME_SC_AER_LIMIT | BF_NVME_DNR);
		return;
	}
	dev->aers[dev->naers++] = rq;
	report_waiting(dev);
}

bool bf_nvme_async_take(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;

	for (uint32_t i = 0; i < dev->naers; i++) {
		if (dev->aers[i] != rq)
			continue;
		dev->naers--;
		memmove(dev->aers + i, dev->aers + i + 1, (dev->naers - i) * sizeof(dev->aers[0]));
		return true;
	}
	return false;
}

/* Which type a log page clears: 01h errors, 02h SMART, the others notices (04h namespaces, 03h firmware). */
void bf_nvme_async_read(struct bf_nvme *dev, uint8_t page)
{
	uint32_t type = page == 1 ? TYPE_ERROR : page == 2 ? TYPE_SMART : TYPE_NOTICE;

	if (page != 1 && page != 2 && page != 3 && page != 4)
		return;
	dev->masked &= (uint8_t) ~(1u << type);
	report_waiting(dev);
}

void bf_nvme_log_error(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	struct bf_nvme_error *e = &dev->errors[dev->error_count++ % BF_NVME_ERROR_ENTRIES];

	*e = (struct bf_nvme_error){
		.count = dev->error_count,
		.lba = rq->error_lba,
		.nsid = bf_le32(rq->sqe.nsid),
		.sqid = rq->sqid,
		.cid = rq->cid,
		.status = (uint16_t)(rq->status << 1),
		.pel = rq->pel,
		.opcode = rq->opcode,
	};
}

void bf_nvme_event_reset(struct bf_nvme *dev)
{
	dev->naers = 0;
	dev->nevents = 0;
	dev->masked = 0;
}
