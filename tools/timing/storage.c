#include "tools/timing/storage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim/rng.h"

#define BLOCK 512u
#define CAPACITY (256u << 20)
#define ADMIN_ENTRIES 16u
#define LOOK_PS (20 * BF_NS) /* between two looks of who waits */
#define LEAST 300u
#define MOST 12000u

struct queue {
	uint16_t qid;
	uint32_t size, tail, head, phase, under_way, left; /* of a batch */
	struct bf_nvme_sqe *sq;
	const struct bf_nvme_cqe *cq;
	uint64_t *since_ps; /* by command identifier */
	uint32_t *free_ids, nfree;
	uint64_t batch_ps;
};

struct bench {
	struct bf_storage_run run;
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_region *mem;
	struct bf_nvme *dev;
	struct queue admin, *queues;
	struct bf_event event;
	struct bf_rng rng;
	uint64_t used, data_va, list_va, next_block, busy_ps;
	uint64_t total, done, warm, sum_ps, samples, min_ps, from_ps, from_done;
	bool failed, opened;
	struct bf_error *err;
};

static void *take(struct bench *b, uint64_t bytes)
{
	uint8_t *p = b->mem->bytes + b->used;

	b->used += (bytes + 4095) & ~4095ull;
	return b->used <= b->mem->size ? p : NULL;
}

static void write_register(struct bench *b, uint64_t reg, uint64_t value, uint32_t len)
{
	uint8_t bytes[8];

	bf_put_le64(bytes, value);
	bf_mmio_post(bf_nvme_bar0(b->dev), reg, bytes, len);
}

static struct bf_nvme_sqe *slot(struct queue *q, uint8_t opcode, uint16_t cid)
{
	struct bf_nvme_sqe *e = &q->sq[q->tail];

	memset(e, 0, sizeof(*e));
	e->opcode = opcode;
	bf_put_le16(e->cid.b, cid);
	q->tail = q->tail + 1 == q->size ? 0 : q->tail + 1;
	return e;
}

/* The next completion, or NULL. */
static const struct bf_nvme_cqe *poll(struct bench *b, struct queue *q)
{
	const struct bf_nvme_cqe *c = &q->cq[q->head];

	if ((bf_le16(c->status) & 1u) != q->phase)
		return NULL;
	q->head = q->head + 1 == q->size ? 0 : q->head + 1;
	q->phase ^= !q->head;
	write_register(b, bf_nvme_cq_doorbell(q->qid, 0), q->head, 4);
	return c;
}

static int open_queue(struct bench *b, struct queue *q, uint16_t qid, uint32_t size)
{
	*q = (struct queue){ .qid = qid, .size = size, .phase = 1 };
	q->sq = take(b, size * sizeof(*q->sq));
	q->cq = take(b, size * sizeof(*q->cq));
	q->since_ps = calloc(size, sizeof(*q->since_ps));
	q->free_ids = calloc(size, sizeof(*q->free_ids));
	if (!q->sq || !q->cq || !q->since_ps || !q->free_ids)
		return bf_fail(b->err, -ENOMEM, "no memory for a queue of %u entries", size);
	for (uint32_t i = 0; i < size; i++)
		q->free_ids[q->nfree++] = i;
	return 0;
}

static int admin(struct bench *b, uint8_t opcode, const void *prp, uint32_t cdw10, uint32_t cdw11)
{
	struct bf_nvme_sqe *e = slot(&b->admin, opcode, 0);
	const struct bf_nvme_cqe *c;

	bf_put_le64(e->prp1.b, bf_va(b->mem, prp));
	bf_put_le32(e->cdw10.b, cdw10);
	bf_put_le32(e->cdw11.b, cdw11);
	write_register(b, bf_nvme_sq_doorbell(0, 0), b->admin.tail, 4);
	bf_sim_run(b->sim, BF_NEVER);
	c = poll(b, &b->admin);
	if (!c || bf_le16(c->status) >> 1)
		return bf_fail(b->err, -EIO, "admin command 0x%x failed", opcode);
	return 0;
}

static int open_queues(struct bench *b)
{
	const uint32_t size = b->run.depth + 1 < 2 ? 2 : b->run.depth + 1;
	int rc = 0;

	b->queues = calloc(b->run.queues, sizeof(*b->queues));
	if (!b->queues)
		return bf_fail(b->err, -ENOMEM, "no memory for queues");
	for (uint32_t i = 0; !rc && i < b->run.queues; i++) {
		struct queue *q = &b->queues[i];

		rc = open_queue(b, q, (uint16_t)(i + 1), size);
		if (!rc)
			rc = admin(b, BF_NVME_ADM_CREATE_CQ, q->cq, q->qid | (size - 1) << 16, 1);
		if (!rc)
			rc = admin(b, BF_NVME_ADM_CREATE_SQ, q->sq, q->qid | (size - 1) << 16,
				   1 | (uint32_t)q->qid << 16);
	}
	return rc;
}

static int enable(struct bench *b)
{
	int rc = open_queue(b, &b->admin, 0, ADMIN_ENTRIES);

	if (rc)
		return rc;
	write_register(b, BF_NVME_AQA, (ADMIN_ENTRIES - 1) << 16 | (ADMIN_ENTRIES - 1), 4);
	write_register(b, BF_NVME_ASQ, bf_va(b->mem, b->admin.sq), 8);
	write_register(b, BF_NVME_ACQ, bf_va(b->mem, b->admin.cq), 8);
	write_register(b, BF_NVME_CC,
		       BF_FIELD_PREP(BF_NVME_CC_EN, 1) | BF_FIELD_PREP(BF_NVME_CC_IOSQES, 6) |
			   BF_FIELD_PREP(BF_NVME_CC_IOCQES, 4),
		       4);
	bf_sim_run(b->sim, BF_NEVER);
	return bf_nvme_csts(b->dev) == 1 ? 0 : bf_fail(b->err, -EIO, "the controller is not ready");
}

/* One buffer for all requests: nobody looks at the data. PRP list behind it, for requests of more than two pages. */
static void open_data(struct bench *b)
{
	uint8_t *data = take(b, b->run.size), *list = take(b, b->run.size / 512 + 8);

	b->data_va = bf_va(b->mem, data);
	b->list_va = bf_va(b->mem, list);
	for (uint64_t at = 4096; at < b->run.size; at += 4096)
		bf_put_le64(list + (at / 4096 - 1) * 8, b->data_va + at);
}

static int bench_open(struct bench *b)
{
	const uint64_t per_queue = (b->run.depth + 2) * 80ull + 16384;
	const struct bf_region_opts mem = { .name = "host",
					    .size = 2 * b->run.size + b->run.queues * per_queue + (1u << 20) };
	const struct bf_nvme_ns_opts ns = { .bytes = CAPACITY };
	const struct bf_nvme_opts opts = {
		.name = "ssd0", .profile = b->run.drive, .space = &b->space, .ioas = &b->ioas, .ns = &ns, .nns = 1
	};
	int rc = bf_sim_create(1, &b->sim);

	if (rc)
		return bf_fail(b->err, rc, "no memory");
	rc = bf_space_init(&b->space, b->sim, "host", 0);
	if (!rc)
		rc = bf_ioas_init(&b->ioas, b->sim, "host", 4096);
	b->opened = !rc;
	if (!rc)
		rc = bf_region_create(&b->space, &mem, &b->mem);
	if (!rc)
		rc = bf_ioas_map_region(&b->ioas, b->mem, BF_IOMMU_READ | BF_IOMMU_WRITE);
	if (!rc)
		rc = bf_nvme_create(b->sim, &opts, &b->dev);
	if (rc)
		return bf_fail(b->err, rc, "%s", b->sim->error.text);
	open_data(b);
	rc = enable(b);
	return rc ? rc : open_queues(b);
}

static void close_queue(struct queue *q)
{
	free(q->since_ps);
	free(q->free_ids);
}

static void bench_close(struct bench *b)
{
	for (uint32_t i = 0; b->queues && i < b->run.queues; i++)
		close_queue(&b->queues[i]);
	close_queue(&b->admin);
	free(b->queues);
	if (b->dev)
		bf_nvme_destroy(b->dev);
	if (b->opened) {
		bf_ioas_fini(&b->ioas);
		bf_space_fini(&b->space);
	}
	if (b->sim)
		bf_sim_destroy(b->sim);
}

/* ---- the load ---- */

static void submit(struct bench *b, struct queue *q)
{
	const uint64_t blocks = CAPACITY / b->run.size;
	const uint32_t id = q->free_ids[--q->nfree];
	struct bf_nvme_sqe *e = slot(q, b->run.write ? BF_NVME_IO_WRITE : BF_NVME_IO_READ, (uint16_t)id);
	const uint64_t at = b->run.sequential ? b->next_block++ % blocks : bf_rng_below(&b->rng, blocks);
	const uint64_t slba = at * (b->run.size / BLOCK);

	bf_put_le32(e->nsid.b, 1);
	bf_put_le64(e->prp1.b, b->data_va);
	if (b->run.size > 8192)
		bf_put_le64(e->prp2.b, b->list_va);
	else if (b->run.size > 4096)
		bf_put_le64(e->prp2.b, b->data_va + 4096);
	bf_put_le32(e->cdw10.b, (uint32_t)slba);
	bf_put_le32(e->cdw11.b, (uint32_t)(slba >> 32));
	bf_put_le32(e->cdw12.b, (uint32_t)(b->run.size / BLOCK - 1));
	q->since_ps[id] = b->sim->now_ps > b->run.submit_ps ? b->sim->now_ps - b->run.submit_ps : 0;
	if (!q->under_way++)
		q->batch_ps = q->since_ps[id];
	if (!b->run.batches || q->under_way == b->run.depth)
		write_register(b, bf_nvme_sq_doorbell(q->qid, 0), q->tail, 4);
}

static void sample(struct bench *b, uint64_t since_ps)
{
	const uint64_t took = b->sim->now_ps + b->run.complete_ps - since_ps;

	if (!b->warm)
		return;
	b->sum_ps += took;
	b->samples++;
	if (!b->min_ps || took < b->min_ps)
		b->min_ps = took;
}

static void collect(struct bench *b, struct queue *q)
{
	const struct bf_nvme_cqe *c;

	while ((c = poll(b, q))) {
		const uint32_t id = bf_le16(c->cid);

		if (bf_le16(c->status) >> 1) {
			b->failed = true;
			return;
		}
		b->done++;
		q->under_way--;
		q->free_ids[q->nfree++] = id;
		if (!b->run.batches)
			sample(b, q->since_ps[id]);
		else if (!q->under_way)
			sample(b, q->batch_ps);
		b->busy_ps += b->run.complete_ps;
	}
	if (!b->warm && b->done > b->total / 4) {
		b->warm = 1;
		b->from_ps = b->sim->now_ps;
		b->from_done = b->done;
	}
}

/* A queue that may get one more request. */
static struct queue *with_room(struct bench *b)
{
	for (uint32_t i = 0; i < b->run.queues; i++) {
		struct queue *q = &b->queues[i];

		if (b->run.batches ? q->left || !q->under_way : q->under_way < b->run.depth)
			return q;
	}
	return NULL;
}

static void on_step(struct bf_event *ev)
{
	struct bench *b = BF_CONTAINER_OF(ev, struct bench, event);
	uint64_t next = LOOK_PS;
	struct queue *q;

	b->busy_ps = 0;
	for (uint32_t i = 0; i < b->run.queues; i++)
		collect(b, &b->queues[i]);
	if (b->failed || b->done >= b->total) {
		bf_sim_stop(b->sim);
		return;
	}
	q = with_room(b);
	if (q) {
		if (b->run.batches)
			q->left = q->left ? q->left - 1 : b->run.depth - 1;
		submit(b, q);
		next = b->run.submit_ps ? b->run.submit_ps : BF_NS;
	}
	bf_sim_after(b->sim, ev, next + b->busy_ps);
}

int bf_storage_measure(const struct bf_storage_run *run, struct bf_storage_result *out, struct bf_error *err)
{
	struct bench b = { .run = *run, .err = err };
	const uint64_t under_way = (uint64_t)run->queues * run->depth;
	int rc;

	*out = (struct bf_storage_result){ 0 };
	if (!run->size || run->size % BLOCK || run->size > CAPACITY / 4)
		return bf_fail(err, -EINVAL, "requests of %llu bytes are not whole blocks, or too large",
			       (unsigned long long)run->size);
	rc = bench_open(&b);
	if (!rc) {
		b.total = under_way * 6 < LEAST ? LEAST : under_way * 6 > MOST ? under_way * 2 + MOST : under_way * 6;
		bf_rng_init(&b.rng, 1, "offsets");
		bf_event_init(&b.event, on_step);
		bf_sim_after(b.sim, &b.event, BF_US);
		bf_sim_run(b.sim, b.sim->now_ps + 100 * BF_S);
		if (b.failed || b.done < b.total || !b.samples || b.done == b.from_done)
			rc = bf_fail(err, -EIO, "the load did not come to its end");
		else
			*out = (struct bf_storage_result){ .mean_ps = b.sum_ps / b.samples,
							   .min_ps = b.min_ps,
							   .interval_ps =
							       (b.sim->now_ps - b.from_ps) / (b.done - b.from_done) };
		bf_sim_cancel(b.sim, &b.event);
	}
	bench_close(&b);
	return rc;
}
