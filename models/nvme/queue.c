/*
 * Queues: creation, deletion, and where their entries lie.
 *
 * Creation checks in this order, and reports the first that fails:
 *   Create CQ: QID (0, above what there can be, in use), QSIZE, vector, contiguity (CAP.CQR), entry size, PRP1
 *   Create SQ: QID, QSIZE, CQID (0 or above what there can be; not created), contiguity, entry size, PRP1
 */
#include "models/nvme/device_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SQE_SHIFT 6u
#define CQE_SHIFT 4u
#define QUEUE_PC 1u /* CDW11: physically contiguous */
#define QUEUE_IEN 2u
#define ADMIN_PRIO 0u

uint64_t bf_nvme_ring_iova(const struct bf_nvme_ring *r, uint32_t slot, uint32_t n, uint32_t *run)
{
	uint64_t at = (uint64_t)slot << r->shift;
	uint32_t room = r->size - slot;

	if (r->pages) {
		uint32_t in_page = (uint32_t)(at & ((1u << r->page_shift) - 1));
		uint32_t left = ((1u << r->page_shift) - in_page) >> r->shift;

		room = room < left ? room : left;
		at = r->pages[at >> r->page_shift] + in_page;
	} else {
		at += r->base;
	}
	*run = n < room ? n : room;
	return at;
}

static void record_sq(const struct bf_nvme_sq *sq, uint8_t what)
{
	BF_EMIT(sq->dev->sim, sq->actor, nvme_queue, .base = sq->ring.pages ? sq->ring.pages[0] : sq->ring.base,
		.size = sq->ring.size, .qid = sq->qid, .cqid = sq->cq->qid, .what = what,
		.flags = sq->ring.pages == NULL);
}

static void record_cq(const struct bf_nvme_cq *cq, uint8_t what)
{
	BF_EMIT(cq->dev->sim, cq->actor, nvme_queue, .base = cq->ring.pages ? cq->ring.pages[0] : cq->ring.base,
		.size = cq->ring.size, .qid = cq->qid, .cqid = cq->qid, .vector = cq->vector, .queue = 1, .what = what,
		.flags = (uint32_t)(cq->ring.pages == NULL) | (cq->interrupts ? QUEUE_IEN : 0));
}

int bf_nvme_queue_open(struct bf_nvme *dev)
{
	uint32_t n = dev->profile.max_io_queues + 1;

	dev->max_sqs = dev->max_cqs = n;
	dev->sqs = calloc(n, sizeof(struct bf_nvme_sq *));
	dev->cqs = calloc(n, sizeof(struct bf_nvme_cq *));
	dev->sq_actors = calloc(n, sizeof(*dev->sq_actors));
	dev->cq_actors = calloc(n, sizeof(*dev->cq_actors));
	dev->live_sqs = calloc(n, sizeof(*dev->live_sqs));
	dev->live_cqs = calloc(n, sizeof(*dev->live_cqs));
	if (!dev->sqs || !dev->cqs || !dev->sq_actors || !dev->cq_actors || !dev->live_sqs || !dev->live_cqs)
		return bf_fail(&dev->sim->error, -ENOMEM, "%s: no memory for %u queues", dev->name, n);
	return 0;
}

void bf_nvme_queue_close(struct bf_nvme *dev)
{
	while (dev->dead_sqs) {
		struct bf_nvme_sq *sq = dev->dead_sqs;

		dev->dead_sqs = sq->next;
		free(sq);
	}
	while (dev->dead_cqs) {
		struct bf_nvme_cq *cq = dev->dead_cqs;

		dev->dead_cqs = cq->next;
		free(cq);
	}
	free(dev->sqs);
	free(dev->cqs);
	free(dev->sq_actors);
	free(dev->cq_actors);
	free(dev->live_sqs);
	free(dev->live_cqs);
}

/* A queue keeps its actor over deletion and creation: the name is the same. */
static uint32_t actor_of(struct bf_nvme *dev, uint32_t *actors, const char *kind, uint32_t qid)
{
	char name[40];

	if (!actors[qid]) {
		snprintf(name, sizeof(name), "%s.%s%u", dev->name, kind, qid);
		actors[qid] = bf_stream_actor(&dev->sim->rec, "queue", name);
	}
	return actors[qid];
}

static struct bf_nvme_cq *add_cq(struct bf_nvme *dev, uint16_t qid, const struct bf_nvme_ring *ring)
{
	struct bf_nvme_cq *cq = calloc(1, sizeof(*cq));

	if (!cq)
		return NULL;
	cq->dev = dev;
	cq->ring = *ring;
	cq->ring.shift = CQE_SHIFT;
	cq->qid = qid;
	cq->phase = 1;
	cq->actor = actor_of(dev, dev->cq_actors, "cq", qid);
	cq->place = dev->nlive_cqs;
	bf_nvme_list_init(&cq->held);
	dev->live_cqs[dev->nlive_cqs++] = qid;
	dev->cqs[qid] = cq;
	bf_nvme_clear_cell(dev, bf_nvme_cq_doorbell(qid, dev->profile.dstrd));
	return cq;
}

static struct bf_nvme_sq *add_sq(struct bf_nvme *dev, uint16_t qid, struct bf_nvme_cq *cq,
				 const struct bf_nvme_ring *ring)
{
	struct bf_nvme_sq *sq = calloc(1, sizeof(*sq));

	if (!sq)
		return NULL;
	sq->dev = dev;
	sq->cq = cq;
	sq->ring = *ring;
	sq->ring.shift = SQE_SHIFT;
	sq->qid = qid;
	sq->actor = actor_of(dev, dev->sq_actors, "sq", qid);
	sq->place = dev->nlive_sqs;
	dev->live_sqs[dev->nlive_sqs++] = qid;
	dev->sqs[qid] = sq;
	cq->users++;
	bf_nvme_clear_cell(dev, bf_nvme_sq_doorbell(qid, dev->profile.dstrd));
	return sq;
}

/* A read of the shadow doorbell may be on its way into the queue: then it is freed when that is back. */
static void remove_sq(struct bf_nvme_sq *sq, uint8_t what)
{
	struct bf_nvme *dev = sq->dev;
	uint16_t last = dev->live_sqs[--dev->nlive_sqs];

	record_sq(sq, what);
	dev->live_sqs[sq->place] = last;
	dev->sqs[last]->place = sq->place;
	dev->sqs[sq->qid] = NULL;
	sq->cq->users--;
	free(sq->ring.pages);
	sq->ring.pages = NULL;
	sq->dead = true;
	sq->next = dev->dead_sqs;
	dev->dead_sqs = sq;
	bf_nvme_sq_put(sq);
}

void bf_nvme_sq_put(struct bf_nvme_sq *sq)
{
	struct bf_nvme_sq **at = &sq->dev->dead_sqs;

	if (sq->shadow_busy || sq->fetching)
		return;
	while (*at != sq)
		at = &(*at)->next;
	*at = sq->next;
	free(sq);
}

static void remove_cq(struct bf_nvme_cq *cq, uint8_t what)
{
	struct bf_nvme *dev = cq->dev;
	uint16_t last = dev->live_cqs[--dev->nlive_cqs];

	record_cq(cq, what);
	bf_nvme_cq_forget(cq);
	dev->live_cqs[cq->place] = last;
	dev->cqs[last]->place = cq->place;
	dev->cqs[cq->qid] = NULL;
	free(cq->ring.pages);
	cq->ring.pages = NULL;
	cq->dead = true;
	cq->next = dev->dead_cqs;
	dev->dead_cqs = cq;
	bf_nvme_cq_put(cq);
}

void bf_nvme_cq_put(struct bf_nvme_cq *cq)
{
	struct bf_nvme_cq **at = &cq->dev->dead_cqs;

	if (cq->shadow_busy)
		return;
	while (*at != cq)
		at = &(*at)->next;
	*at = cq->next;
	free(cq);
}

/* The admin queues are contiguous and have fixed entry sizes. */
int bf_nvme_admin_queues(struct bf_nvme *dev)
{
	const struct bf_nvme_regs *r = &dev->regs;
	struct bf_nvme_ring sring = { .base = r->asq, .size = (uint32_t)BF_FIELD_GET(BF_NVME_AQA_ASQS, r->aqa) + 1 };
	struct bf_nvme_ring cring = { .base = r->acq, .size = (uint32_t)BF_FIELD_GET(BF_NVME_AQA_ACQS, r->aqa) + 1 };
	struct bf_nvme_cq *cq = add_cq(dev, 0, &cring);
	struct bf_nvme_sq *sq = cq ? add_sq(dev, 0, cq, &sring) : NULL;

	if (!sq)
		return bf_fail(&dev->sim->error, -ENOMEM, "%s: no memory for the admin queues", dev->name);
	cq->interrupts = true;
	sq->prio = ADMIN_PRIO;
	record_cq(cq, BF_NVME_QUEUE_CREATED);
	record_sq(sq, BF_NVME_QUEUE_CREATED);
	return 0;
}

uint32_t bf_nvme_drop_queues(struct bf_nvme *dev)
{
	uint32_t dropped;

	dev->phase = BF_NVME_OFF; /* what becomes free must not be used for more commands */
	dropped = bf_nvme_drop_completions(dev) + bf_nvme_drop_commands(dev);
	while (dev->nlive_sqs) {
		bf_nvme_arbiter_forget(dev->sqs[dev->live_sqs[0]]);
		remove_sq(dev->sqs[dev->live_sqs[0]], BF_NVME_QUEUE_DROPPED);
	}
	while (dev->nlive_cqs)
		remove_cq(dev->cqs[dev->live_cqs[0]], BF_NVME_QUEUE_DROPPED);
	return dropped;
}

/* Creation, the part that is the same for both kinds: a queue of `pages` pages whose addresses come by DMA. -------- */

static uint32_t check_place(struct bf_nvme_rq *rq, uint32_t entry_shift, uint32_t wanted_shift)
{
	const struct bf_nvme *dev = rq->dev;
	bool contiguous = bf_le32(rq->sqe.cdw11) & QUEUE_PC;
	uint64_t prp1 = bf_le64(rq->sqe.prp1);

	if (!contiguous && dev->profile.cqr)
		return bf_nvme_bad_field(rq, 44, 0);
	if (entry_shift != wanted_shift)
		return BF_NVME_SC_INVALID_FIELD | BF_NVME_DNR;
	if (!prp1 || prp1 & ((1ull << dev->page_shift) - 1))
		return BF_NVME_SC_PRP_OFFSET | BF_NVME_DNR;
	return 0;
}

static uint32_t ring_pages(const struct bf_nvme_rq *rq, uint32_t shift)
{
	uint64_t bytes = ((bf_le32(rq->sqe.cdw10) >> 16) + 1ull) << shift;

	return (uint32_t)((bytes + (1ull << rq->dev->page_shift) - 1) >> rq->dev->page_shift);
}

/* The list of a queue's pages chains like a data PRP list: the last entry of a full page points to the next page. */
static void read_page_list(struct bf_nvme_rq *rq, uint64_t iova);

static void page_list_read(struct bf_nvme_rq *rq, uint32_t status)
{
	uint32_t per_page = 1u << (rq->dev->page_shift - 3), need = rq->buf_len / 8, got = rq->io.n;
	uint64_t *pages = (uint64_t *)(void *)rq->buf, mask = (1ull << rq->dev->page_shift) - 1;
	uint32_t fresh = need - got;
	uint64_t next = 0;

	if (status) {
		bf_nvme_complete(rq, status);
		return;
	}
	if (fresh > per_page) {
		fresh = per_page - 1;
		next = pages[got + fresh];
	}
	for (uint32_t i = got; i < got + fresh; i++) {
		if (pages[i] & mask || !pages[i]) {
			bf_nvme_complete(rq, BF_NVME_SC_PRP_OFFSET | BF_NVME_DNR);
			return;
		}
	}
	rq->io.n = got + fresh;
	if (rq->io.n < need)
		read_page_list(rq, next);
	else
		rq->wake(rq);
}

static void read_page_list(struct bf_nvme_rq *rq, uint64_t iova)
{
	uint32_t per_page = 1u << (rq->dev->page_shift - 3), left = rq->buf_len / 8 - rq->io.n;

	if (iova & ((1ull << rq->dev->page_shift) - 1)) {
		bf_nvme_complete(rq, BF_NVME_SC_PRP_OFFSET | BF_NVME_DNR);
		return;
	}
	bf_nvme_read(rq, iova, rq->buf + (size_t)rq->io.n * 8, (left < per_page ? left : per_page) * 8);
	bf_nvme_reads(rq, page_list_read);
}

/* Calls `create` when the queue's pages are known: rq->buf has them, or is NULL for a contiguous queue. */
static void place_queue(struct bf_nvme_rq *rq, uint32_t shift, void (*create)(struct bf_nvme_rq *rq))
{
	if (bf_le32(rq->sqe.cdw11) & QUEUE_PC) {
		create(rq);
		return;
	}
	rq->buf_len = ring_pages(rq, shift) * 8;
	rq->buf = malloc(rq->buf_len);
	if (!rq->buf) {
		bf_nvme_complete(rq, bf_nvme_no_memory(rq->dev));
		return;
	}
	rq->io.n = 0;
	rq->wake = create;
	rq->stuck = true;
	read_page_list(rq, bf_le64(rq->sqe.prp1));
}

static struct bf_nvme_ring ring_of(struct bf_nvme_rq *rq)
{
	struct bf_nvme_ring r = {
		.base = bf_le64(rq->sqe.prp1),
		.pages = (uint64_t *)(void *)rq->buf,
		.size = (bf_le32(rq->sqe.cdw10) >> 16) + 1,
		.page_shift = (uint8_t)rq->dev->page_shift,
	};

	return r;
}

/* Create I/O Completion Queue. ----------------------------------------------------------------------------------- */

static uint32_t check_cq(struct bf_nvme_rq *rq)
{
	const struct bf_nvme *dev = rq->dev;
	uint32_t cdw10 = bf_le32(rq->sqe.cdw10), cdw11 = bf_le32(rq->sqe.cdw11);
	uint32_t qid = cdw10 & 0xffff, size = cdw10 >> 16;

	if (!qid || qid >= dev->max_cqs || dev->cqs[qid])
		return BF_NVME_SC_QID | BF_NVME_DNR;
	if (!size || size > dev->profile.mqes)
		return BF_NVME_SC_QUEUE_SIZE | BF_NVME_DNR;
	if (cdw11 & QUEUE_IEN && cdw11 >> 16 >= dev->profile.vectors)
		return BF_NVME_SC_VECTOR | BF_NVME_DNR;
	return check_place(rq, (uint32_t)BF_FIELD_GET(BF_NVME_CC_IOCQES, dev->regs.cc), CQE_SHIFT);
}

/* Another command may have created the queue while this one's page list was read. */
static void create_cq(struct bf_nvme_rq *rq)
{
	uint32_t qid = bf_le32(rq->sqe.cdw10) & 0xffff, cdw11 = bf_le32(rq->sqe.cdw11);
	struct bf_nvme_ring ring = ring_of(rq);
	struct bf_nvme_cq *cq;

	if (rq->dev->cqs[qid]) {
		bf_nvme_complete(rq, BF_NVME_SC_QID | BF_NVME_DNR);
		return;
	}
	cq = add_cq(rq->dev, (uint16_t)qid, &ring);
	if (!cq) {
		bf_nvme_complete(rq, bf_nvme_no_memory(rq->dev));
		return;
	}
	rq->buf = NULL;
	cq->interrupts = cdw11 & QUEUE_IEN;
	cq->vector = cq->interrupts ? (uint16_t)(cdw11 >> 16) : 0;
	record_cq(cq, BF_NVME_QUEUE_CREATED);
	bf_nvme_complete(rq, 0);
}

void bf_nvme_create_cq(struct bf_nvme_rq *rq)
{
	uint32_t status = check_cq(rq);

	if (status)
		bf_nvme_complete(rq, status);
	else
		place_queue(rq, CQE_SHIFT, create_cq);
}

/* Create I/O Submission Queue. ----------------------------------------------------------------------------------- */

static uint32_t check_sq(struct bf_nvme_rq *rq)
{
	const struct bf_nvme *dev = rq->dev;
	uint32_t cdw10 = bf_le32(rq->sqe.cdw10), cqid = bf_le32(rq->sqe.cdw11) >> 16;
	uint32_t qid = cdw10 & 0xffff, size = cdw10 >> 16;

	if (!qid || qid >= dev->max_sqs || dev->sqs[qid])
		return BF_NVME_SC_QID | BF_NVME_DNR;
	if (!size || size > dev->profile.mqes)
		return BF_NVME_SC_QUEUE_SIZE | BF_NVME_DNR;
	if (!cqid || cqid >= dev->max_cqs)
		return BF_NVME_SC_QID | BF_NVME_DNR;
	if (!dev->cqs[cqid])
		return BF_NVME_SC_CQ_INVALID | BF_NVME_DNR;
	return check_place(rq, (uint32_t)BF_FIELD_GET(BF_NVME_CC_IOSQES, dev->regs.cc), SQE_SHIFT);
}

static void create_sq(struct bf_nvme_rq *rq)
{
	uint32_t qid = bf_le32(rq->sqe.cdw10) & 0xffff, cdw11 = bf_le32(rq->sqe.cdw11);
	struct bf_nvme_cq *cq = rq->dev->cqs[cdw11 >> 16];
	struct bf_nvme_ring ring = ring_of(rq);
	struct bf_nvme_sq *sq;

	if (rq->dev->sqs[qid] || !cq) {
		bf_nvme_complete(rq, (cq ? BF_NVME_SC_QID : BF_NVME_SC_CQ_INVALID) | BF_NVME_DNR);
		return;
	}
	sq = add_sq(rq->dev, (uint16_t)qid, cq, &ring);
	if (!sq) {
		bf_nvme_complete(rq, bf_nvme_no_memory(rq->dev));
		return;
	}
	rq->buf = NULL;
	sq->prio = (uint8_t)(cdw11 >> 1 & 3);
	record_sq(sq, BF_NVME_QUEUE_CREATED);
	bf_nvme_complete(rq, 0);
}

void bf_nvme_create_sq(struct bf_nvme_rq *rq)
{
	uint32_t status = check_sq(rq);

	if (status)
		bf_nvme_complete(rq, status);
	else
		place_queue(rq, SQE_SHIFT, create_sq);
}

/* Deletion. ------------------------------------------------------------------------------------------------------ */

/*
 * What was announced and is not complete ends first, with Command Aborted due to SQ Deletion where it can be taken
 * back: commands that wait, and entries that are fetched for that purpose. Then the deletion itself completes.
 */
void bf_nvme_delete_sq(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint32_t qid = bf_le32(rq->sqe.cdw10) & 0xffff;
	struct bf_nvme_sq *sq = qid && qid < dev->max_sqs ? dev->sqs[qid] : NULL;

	if (!sq || sq->deleter) {
		bf_nvme_complete(rq, BF_NVME_SC_QID | BF_NVME_DNR);
		return;
	}
	sq->deleter = rq;
	rq->stuck = true;
	record_sq(sq, BF_NVME_QUEUE_DELETING);
	bf_nvme_sq_abort_all(sq);
	bf_nvme_sq_idle(sq);
}

void bf_nvme_sq_idle(struct bf_nvme_sq *sq)
{
	struct bf_nvme_rq *deleter = sq->deleter;

	if (!deleter || sq->executing || sq->fetching || sq->tail != sq->head)
		return;
	sq->deleter = NULL;
	bf_nvme_arbiter_forget(sq);
	remove_sq(sq, BF_NVME_QUEUE_DELETED);
	bf_nvme_complete(deleter, 0);
}

void bf_nvme_delete_cq(struct bf_nvme_rq *rq)
{
	struct bf_nvme *dev = rq->dev;
	uint32_t qid = bf_le32(rq->sqe.cdw10) & 0xffff;
	struct bf_nvme_cq *cq = qid && qid < dev->max_cqs ? dev->cqs[qid] : NULL;
	uint32_t status = 0;

	if (!cq)
		status = BF_NVME_SC_QID | BF_NVME_DNR;
	else if (cq->users)
		status = BF_NVME_SC_QUEUE_DELETION | BF_NVME_DNR;
	else
		remove_cq(cq, BF_NVME_QUEUE_DELETED);
	bf_nvme_complete(rq, status);
}

void bf_nvme_each_queue(struct bf_nvme *dev, void (*fn)(void *arg, const struct bf_nvme_queue_info *info), void *arg)
{
	for (uint32_t qid = 0; dev->nlive_sqs && qid < dev->max_sqs; qid++) {
		const struct bf_nvme_sq *sq = dev->sqs[qid];
		struct bf_nvme_queue_info info;

		if (!sq)
			continue;
		info = (struct bf_nvme_queue_info){
			.qid = sq->qid,
			.cqid = sq->cq->qid,
			.sq_size = sq->ring.size,
			.cq_size = sq->cq->ring.size,
			.sq_tail = sq->tail,
			.sq_head = sq->head,
			.cq_tail = sq->cq->tail,
			.cq_head = sq->cq->head,
			.cq_phase = sq->cq->phase,
			.executing = sq->executing,
			.held = sq->cq->nheld,
			.doorbells = sq->doorbells,
			.completed = sq->completed,
			.errors = sq->errors,
		};
		fn(arg, &info);
	}
}
