/*
 * Requests: one for each command from its arrival in the controller to its completion, and the command processor that
 * starts them one after the other at a distance of profile.command_ps.
 *
 * They come from a pool that grows in blocks up to the number of commands that the controller works on. A hash by
 * queue and command identifier finds the ones in flight, for Abort and for identifiers that are used twice.
 */
#include "models/nvme/device_internal.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/train.h"

#define BLOCK 64u
#define FUSE_RESERVED 3u

struct bf_nvme_block {
	struct bf_nvme_block *next;
	struct bf_nvme_rq rqs[BLOCK];
};

static void on_start(struct bf_event *ev);
static void on_wake(struct bf_event *ev);

void bf_nvme_request_init(struct bf_nvme *dev)
{
	bf_nvme_list_init(&dev->starting);
	bf_event_init(&dev->start_event, on_start);
}

/* What is still there was dropped while DMA reads were in flight. */
void bf_nvme_request_close(struct bf_nvme *dev)
{
	bf_sim_cancel(dev->sim, &dev->start_event);
	while (dev->blocks) {
		struct bf_nvme_block *block = dev->blocks;

		for (uint32_t i = 0; i < BLOCK; i++) {
			if (block->rqs[i].dropped)
				bf_nvme_rq_free(&block->rqs[i]);
			free(block->rqs[i].data.list);
		}
		dev->blocks = block->next;
		free(block);
	}
}

uint32_t bf_nvme_no_memory(struct bf_nvme *dev)
{
	bf_fail(&dev->sim->error, -ENOMEM, "%s: no memory for a command", dev->name);
	return BF_NVME_SC_INTERNAL;
}

static struct bf_nvme_rq *get(struct bf_nvme *dev)
{
	struct bf_nvme_rq *rq = dev->pool;
	struct bf_nvme_block *block;

	if (BF_LIKELY(rq != NULL)) {
		dev->pool = rq->next;
		return rq;
	}
	block = calloc(1, sizeof(*block));
	if (!block) {
		bf_nvme_no_memory(dev);
		return NULL;
	}
	block->next = dev->blocks;
	dev->blocks = block;
	for (uint32_t i = 0; i < BLOCK; i++) {
		block->rqs[i].dev = dev;
		bf_event_init(&block->rqs[i].event, on_wake);
		if (i) {
			block->rqs[i].next = dev->pool;
			dev->pool = &block->rqs[i];
		}
	}
	return &block->rqs[0];
}

static uint32_t bucket(uint16_t sqid, uint16_t cid)
{
	return (cid + sqid * 2654435761u) % BF_NVME_COMMANDS_MAX;
}

struct bf_nvme_rq *bf_nvme_rq_find(struct bf_nvme *dev, uint16_t sqid, uint16_t cid)
{
	struct bf_nvme_rq *rq = dev->hash[bucket(sqid, cid)];

	while (rq && (rq->sqid != sqid || rq->cid != cid))
		rq = rq->hash_next;
	return rq;
}

static void unname(struct bf_nvme_rq *rq)
{
	struct bf_nvme_rq **at = &rq->dev->hash[bucket(rq->sqid, rq->cid)];

	while (*at != rq)
		at = &(*at)->hash_next;
	*at = rq->hash_next;
	rq->unnamed = true;
}

/* An identifier that is in use already: the command fails, the one that has it goes on (Command ID Conflict). */
static void name(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	struct bf_nvme_rq **at = &dev->hash[bucket(rq->sqid, rq->cid)];

	rq->unnamed = bf_nvme_rq_find(dev, rq->sqid, rq->cid) != NULL;
	if (rq->unnamed) {
		bf_nvme_driver_error(dev, BF_NVME_WRONG_CID, rq->sqid, rq->cid, 0);
		rq->status = BF_NVME_SC_CID_CONFLICT | BF_NVME_DNR;
		return;
	}
	rq->hash_next = *at;
	*at = rq;
}

void bf_nvme_rq_free(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;

	if (!rq->unnamed)
		unname(rq);
	if (rq->release)
		rq->release(rq);
	free(rq->buf);
	rq->buf = NULL;
	rq->dropped = false;
	rq->next = dev->pool;
	dev->pool = rq;
	if (!rq->sqid)
		return;
	dev->executing--;
	if (BF_UNLIKELY(dev->starved)) {
		dev->starved = false;
		bf_nvme_arbitrate(dev);
	}
}

static void record_fetch(const struct bf_nvme_sq *sq, const struct bf_nvme_rq *rq, uint32_t batch)
{
	BF_EMIT_TAIL(sq->dev->sim, sq->actor, nvme_fetch, &rq->sqe, sizeof(rq->sqe), .nsid = bf_le32(rq->sqe.nsid),
		     .sqid = rq->sqid, .slot = rq->slot, .cid = rq->cid, .sqhd = (uint16_t)sq->head,
		     .opcode = rq->opcode, .flags = rq->sqe.flags, .batch = (uint16_t)batch);
}

static void enlist(struct bf_nvme_sq *sq, struct bf_nvme_rq *rq)
{
	rq->sq_next = sq->rqs;
	rq->sq_link = &sq->rqs;
	if (sq->rqs)
		sq->rqs->sq_link = &rq->sq_next;
	sq->rqs = rq;
	sq->executing++;
}

static void delist(struct bf_nvme_rq *rq)
{
	*rq->sq_link = rq->sq_next;
	if (rq->sq_next)
		rq->sq_next->sq_link = rq->sq_link;
	rq->sq->executing--;
}

static void start(struct bf_nvme_rq *rq);

/* Takes its turn in the command processor, which works on one command at a time. */
static void queue_start(struct bf_nvme *dev, struct bf_nvme_rq *rq)
{
	uint64_t now = dev->sim->now_ps;

	dev->processor_ps = (dev->processor_ps > now ? dev->processor_ps : now) + dev->profile.command_ps;
	rq->start_ps = dev->processor_ps;
	if (!dev->starting.head && rq->start_ps == now) {
		start(rq);
		return;
	}
	bf_nvme_list_add(&dev->starting, rq);
	if (dev->starting.head == rq)
		bf_sim_at(dev->sim, &dev->start_event, rq->start_ps);
}

bool bf_nvme_accept(struct bf_nvme_sq *sq, uint32_t slot, const uint8_t *entry, uint32_t batch, uint64_t told_ps,
		    uint64_t fetch_ps)
{
	struct bf_nvme *dev = sq->dev;
	struct bf_nvme_rq *rq = get(dev);

	if (!rq)
		return false;
	memcpy(&rq->sqe, entry, sizeof(rq->sqe));
	rq->sq = sq;
	rq->cq = sq->cq;
	rq->ns = NULL;
	rq->mate = NULL;
	rq->sqid = sq->qid;
	rq->cid = bf_le16(rq->sqe.cid);
	rq->slot = (uint16_t)slot;
	rq->opcode = rq->sqe.opcode;
	rq->state = BF_NVME_RQ_STARTING;
	rq->stuck = false;
	rq->dw0 = rq->dw1 = 0;
	rq->status = 0;
	rq->pel = 0xffff;
	rq->error_lba = 0;
	rq->reads = 0;
	rq->read_status = 0;
	rq->reads_done = NULL;
	rq->release = NULL;
	rq->told_ps = told_ps;
	rq->fetch_ps = fetch_ps;
	rq->data_ps = rq->media_ps = rq->data_end_ps = 0;
	memset(&rq->data, 0, offsetof(struct bf_nvme_data_state, list));
	memset(&rq->io, 0, sizeof(rq->io));
	name(rq);
	enlist(sq, rq);
	dev->count.commands++;
	record_fetch(sq, rq, batch);
	queue_start(dev, rq);
	return true;
}

static void on_start(struct bf_event *ev)
{
	struct bf_nvme *dev = BF_CONTAINER_OF(ev, struct bf_nvme, start_event);

	while (dev->phase == BF_NVME_ON) {
		start(bf_nvme_list_pop(&dev->starting));
		if (!dev->starting.head || !bf_sim_step(dev->sim, ev, dev->starting.head->start_ps))
			return;
	}
}

static void record_start(const struct bf_nvme_rq *rq)
{
	BF_EMIT(rq->dev->sim, rq->sq->actor, nvme_start,
		.slba = bf_le32(rq->sqe.cdw10) | (uint64_t)bf_le32(rq->sqe.cdw11) << 32, .nsid = bf_le32(rq->sqe.nsid),
		.cdw12 = bf_le32(rq->sqe.cdw12), .sqid = rq->sqid, .slot = rq->slot, .cid = rq->cid,
		.opcode = rq->opcode, .admin = !rq->sqid);
}

static void run_formatting(struct bf_nvme_rq *rq)
{
	struct bf_nvme_rq *mate = rq->mate;

	bf_nvme_complete(rq, BF_NVME_SC_FORMAT_IN_PROGRESS);
	if (mate)
		bf_nvme_complete(mate, BF_NVME_SC_FAILED_FUSED);
}

static void run(struct bf_nvme_rq *rq)
{
	rq->state = BF_NVME_RQ_RUNNING;
	record_start(rq);
	if (!rq->sqid)
		bf_nvme_admin_start(rq);
	else if (BF_UNLIKELY(rq->dev->formatting != NULL) && bf_nvme_is_formatting(rq->dev, bf_le32(rq->sqe.nsid)))
		run_formatting(rq);
	else
		bf_nvme_io_start(rq);
}

static void half_of_fused(struct bf_nvme_rq *rq)
{
	bf_nvme_driver_error(rq->dev, BF_NVME_WRONG_FUSED, rq->sqid, rq->cid, 0);
	bf_nvme_complete(rq, BF_NVME_SC_MISSING_FUSED | BF_NVME_DNR);
}

/* When one of the two must not run, neither does (section 3.4.2, "Fused Operations"). */
static void run_fused(struct bf_nvme_rq *first, struct bf_nvme_rq *second)
{
	uint32_t status = first->status, other = second->status;

	if (status || other) {
		bf_nvme_complete(first, status ? status : BF_NVME_SC_FAILED_FUSED);
		bf_nvme_complete(second, other ? other : BF_NVME_SC_FAILED_FUSED);
		return;
	}
	first->mate = second;
	second->mate = first;
	first->stuck = second->stuck = true;
	record_start(second);
	run(first);
}

/*
 * The two commands of a fused operation lie next to each other in the queue and one doorbell tells of both: the first
 * waits for the next entry of its queue if that is announced already. True: `rq` is taken care of.
 */
static bool start_fused(struct bf_nvme_rq *rq)
{
	struct bf_nvme_sq *sq = rq->sq;
	struct bf_nvme_rq *first = sq->fused;
	uint32_t fuse = rq->sqe.flags & (uint32_t)BF_NVME_FUSE, next = rq->slot + 1u;

	sq->fused = NULL;
	if (first && fuse == BF_NVME_FUSE_SECOND) {
		run_fused(first, rq);
		return true;
	}
	if (first)
		half_of_fused(first);
	if (fuse == BF_NVME_FUSE_SECOND) {
		half_of_fused(rq);
		return true;
	}
	if (fuse != BF_NVME_FUSE_FIRST)
		return false;
	if ((next == sq->ring.size ? 0 : next) == sq->tail)
		half_of_fused(rq);
	else
		sq->fused = rq;
	return true;
}

static void start(struct bf_nvme_rq *rq)
{
	struct bf_nvme_sq *sq = rq->sq;
	uint32_t fuse = rq->sqe.flags & (uint32_t)BF_NVME_FUSE;

	if (sq->deleter && !rq->status)
		rq->status = BF_NVME_SC_ABORT_SQ_DELETION;
	if (BF_UNLIKELY(sq->fused || fuse) && sq->qid && fuse != FUSE_RESERVED && start_fused(rq))
		return;
	if (BF_UNLIKELY(rq->status))
		bf_nvme_complete(rq, rq->status);
	else if (BF_UNLIKELY(fuse))
		bf_nvme_complete(rq, bf_nvme_bad_field(rq, 1, 0));
	else
		run(rq);
}

uint32_t bf_nvme_bad_field(struct bf_nvme_rq *rq, uint32_t byte, uint32_t bit)
{
	rq->pel = (uint16_t)(byte | bit << 8);
	return BF_NVME_SC_INVALID_FIELD | BF_NVME_DNR;
}

void bf_nvme_wait_until(struct bf_nvme_rq *rq, uint64_t when_ps, void (*wake)(struct bf_nvme_rq *rq))
{
	rq->wake = wake;
	bf_sim_at(rq->dev->sim, &rq->event, when_ps);
}

static void on_wake(struct bf_event *ev)
{
	struct bf_nvme_rq *rq = BF_CONTAINER_OF(ev, struct bf_nvme_rq, event);

	rq->wake(rq);
}

void bf_nvme_complete(struct bf_nvme_rq *rq, uint32_t status)
{
	struct bf_nvme_sq *sq = rq->sq;

	delist(rq);
	rq->status = status;
	rq->sqhd = (uint16_t)sq->head;
	rq->end_ps = rq->dev->sim->now_ps;
	rq->state = BF_NVME_RQ_COMPLETING;
	rq->sq = NULL;
	sq->completed++;
	if (BF_UNLIKELY(status & BF_NVME_STATUS_MASK)) {
		sq->errors++;
		rq->dev->count.errors++;
		bf_nvme_log_error(rq);
	}
	bf_nvme_post(rq);
	if (BF_UNLIKELY(sq->deleter != NULL))
		bf_nvme_sq_idle(sq);
}

bool bf_nvme_rq_take(struct bf_nvme_rq *rq, uint32_t status)
{
	if (rq->state == BF_NVME_RQ_STARTING && !rq->stuck) {
		if (!rq->status)
			rq->status = status;
		return true;
	}
	if (rq->state != BF_NVME_RQ_RUNNING || rq->stuck || rq->reads)
		return false;
	if (!bf_event_pending(&rq->event) && !bf_nvme_async_take(rq))
		return false;
	bf_sim_cancel(rq->dev->sim, &rq->event);
	bf_nvme_complete(rq, status);
	return true;
}

/* The queue is not freed meanwhile: its deletion waits for what is being fetched, and that is counted here. */
void bf_nvme_sq_abort_all(struct bf_nvme_sq *sq)
{
	struct bf_nvme_rq *rq = sq->rqs;

	sq->fetching++;
	while (rq) {
		struct bf_nvme_rq *next = rq->sq_next;

		bf_nvme_rq_take(rq, BF_NVME_SC_ABORT_SQ_DELETION);
		rq = next;
	}
	sq->fetching--;
}

static void drop(struct bf_nvme_rq *rq)
{
	bf_sim_cancel(rq->dev->sim, &rq->event);
	delist(rq);
	if (!rq->unnamed)
		unname(rq);
	rq->dropped = true;
	if (!rq->reads)
		bf_nvme_rq_free(rq);
}

uint32_t bf_nvme_drop_commands(struct bf_nvme *dev)
{
	uint32_t n = 0;

	bf_sim_cancel(dev->sim, &dev->start_event);
	bf_nvme_list_init(&dev->starting);
	dev->processor_ps = 0;
	for (uint32_t i = 0; i < dev->nlive_sqs; i++) {
		struct bf_nvme_sq *sq = dev->sqs[dev->live_sqs[i]];

		sq->deleter = NULL;
		for (; sq->rqs; n++)
			drop(sq->rqs);
	}
	dev->starved = false;
	return n;
}
