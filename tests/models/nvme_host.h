/*
 * A host for the NVMe model's I/O tests and benchmark: memory, controller bring-up, I/O queue pairs, commands, all by
 * bytes and doorbells as a driver does. No agent, no driver code.
 */
#ifndef BELFRY_TESTS_NVME_HOST_H
#define BELFRY_TESTS_NVME_HOST_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/nvme/nvme.h"
#include "sim/stats.h"

#define HOST_PAGE 4096u
#define HOST_MUST(x)                                                                                                   \
	do {                                                                                                           \
		if (!(x)) {                                                                                            \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x);                                        \
			abort();                                                                                       \
		}                                                                                                      \
	} while (0)

struct host_queue {
	uint16_t qid;
	uint32_t size, tail, head, phase;
	uint32_t cq_size; /* where it is not `size` */
	struct bf_nvme_sqe *sq;
	const struct bf_nvme_cqe *cq;
};

struct host {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_region *mem;
	struct bf_nvme *dev;
	uint64_t used;
	struct host_queue admin;
	uint16_t next_cid;
};

struct host_opts {
	uint64_t seed;
	uint64_t mem;             /* 0: 64 MiB */
	uint32_t mps;             /* CC.MPS */
	uint32_t admin_size;      /* 0: 16 */
	struct bf_nvme_opts nvme; /* name, space, ioas are filled in */
};

static inline uint64_t host_va(const struct host *h, const void *p)
{
	return bf_va(h->mem, p);
}

static inline void *host_ptr(const struct host *h, uint64_t va)
{
	return bf_host(h->mem, va);
}

/* Zeroed memory, aligned to `align` (a power of two). */
static inline void *host_alloc(struct host *h, uint64_t bytes, uint64_t align)
{
	uint8_t *p;

	h->used = (h->used + align - 1) & ~(align - 1);
	p = h->mem->bytes + h->used;
	h->used += bytes;
	HOST_MUST(h->used <= h->mem->size);
	memset(p, 0, bytes);
	return p;
}

static inline void host_run(struct host *h)
{
	HOST_MUST(bf_sim_run(h->sim, BF_NEVER) == BF_RUN_IDLE);
}

static inline void host_write32(struct host *h, uint32_t reg, uint32_t value)
{
	uint8_t b[4];

	bf_put_le32(b, value);
	bf_mmio_post(bf_nvme_bar0(h->dev), reg, b, 4);
}

static inline void host_write64(struct host *h, uint32_t reg, uint64_t value)
{
	uint8_t b[8];

	bf_put_le64(b, value);
	bf_mmio_post(bf_nvme_bar0(h->dev), reg, b, 8);
}

/* The next slot, cleared, with a fresh identifier. */
static inline struct bf_nvme_sqe *host_slot(struct host *h, struct host_queue *q, uint8_t opcode, uint32_t nsid)
{
	struct bf_nvme_sqe *e = &q->sq[q->tail];

	memset(e, 0, sizeof(*e));
	e->opcode = opcode;
	bf_put_le16(e->cid.b, h->next_cid++);
	bf_put_le32(e->nsid.b, nsid);
	q->tail = q->tail + 1 == q->size ? 0 : q->tail + 1;
	return e;
}

static inline void host_ring(struct host *h, struct host_queue *q)
{
	host_write32(h, bf_nvme_sq_doorbell(q->qid, 0), q->tail);
}

/* The next completion; false when there is none. Rings the head doorbell. */
static inline bool host_poll(struct host *h, struct host_queue *q, struct bf_nvme_cqe *out)
{
	const struct bf_nvme_cqe *c = &q->cq[q->head];

	if ((bf_le16(c->status) & 1u) != q->phase)
		return false;
	*out = *c;
	q->head = q->head + 1 == (q->cq_size ? q->cq_size : q->size) ? 0 : q->head + 1;
	q->phase ^= !q->head;
	host_write32(h, bf_nvme_cq_doorbell(q->qid, 0), q->head);
	return true;
}

static inline uint32_t host_status(const struct bf_nvme_cqe *c)
{
	return bf_le16(c->status) >> 1;
}

/* Rings for what was put last and waits for its completion. Status with DNR. */
static inline uint32_t host_do(struct host *h, struct host_queue *q, struct bf_nvme_cqe *out)
{
	struct bf_nvme_cqe c;

	host_ring(h, q);
	host_run(h);
	HOST_MUST(host_poll(h, q, &c));
	if (out)
		*out = c;
	return host_status(&c);
}

static inline void host_queue_memory(struct host *h, struct host_queue *q, uint16_t qid, uint32_t size)
{
	*q = (struct host_queue){ .qid = qid, .size = size, .phase = 1 };
	q->sq = host_alloc(h, size * sizeof(*q->sq), 65536);
	q->cq = host_alloc(h, size * sizeof(*q->cq), 65536);
}

static inline void host_queue_open(struct host *h, struct host_queue *q, uint16_t qid, uint32_t size)
{
	struct bf_nvme_sqe *e;

	host_queue_memory(h, q, qid, size);
	e = host_slot(h, &h->admin, BF_NVME_ADM_CREATE_CQ, 0);
	bf_put_le64(e->prp1.b, host_va(h, q->cq));
	bf_put_le32(e->cdw10.b, qid | (size - 1) << 16);
	bf_put_le32(e->cdw11.b, 1);
	HOST_MUST(!host_do(h, &h->admin, NULL));
	e = host_slot(h, &h->admin, BF_NVME_ADM_CREATE_SQ, 0);
	bf_put_le64(e->prp1.b, host_va(h, q->sq));
	bf_put_le32(e->cdw10.b, qid | (size - 1) << 16);
	bf_put_le32(e->cdw11.b, 1 | (uint32_t)qid << 16);
	HOST_MUST(!host_do(h, &h->admin, NULL));
}

static inline void host_enable(struct host *h, uint32_t mps)
{
	host_write32(h, BF_NVME_AQA, (h->admin.size - 1) << 16 | (h->admin.size - 1));
	host_write64(h, BF_NVME_ASQ, host_va(h, h->admin.sq));
	host_write64(h, BF_NVME_ACQ, host_va(h, h->admin.cq));
	host_write32(h, BF_NVME_CC,
		     (uint32_t)(BF_FIELD_PREP(BF_NVME_CC_EN, 1) | BF_FIELD_PREP(BF_NVME_CC_MPS, mps) |
				BF_FIELD_PREP(BF_NVME_CC_IOSQES, 6) | BF_FIELD_PREP(BF_NVME_CC_IOCQES, 4)));
	host_run(h);
	HOST_MUST(bf_nvme_csts(h->dev) == 1);
}

/* 0 or what creating the controller said, with the text in h->sim->error. */
static inline int host_try_open(struct host *h, const struct host_opts *o)
{
	struct bf_nvme_opts nvme = o->nvme;

	memset(h, 0, sizeof(*h));
	HOST_MUST(!bf_sim_create(o->seed, &h->sim));
	HOST_MUST(!bf_space_init(&h->space, h->sim, "host", 0));
	HOST_MUST(!bf_ioas_init(&h->ioas, h->sim, "host", 4096));
	HOST_MUST(!bf_region_create(
	    &h->space, &(struct bf_region_opts){ .name = "host", .size = o->mem ? o->mem : 64u << 20 }, &h->mem));
	HOST_MUST(!bf_ioas_map_region(&h->ioas, h->mem, BF_IOMMU_READ | BF_IOMMU_WRITE));
	nvme.name = "ssd0";
	nvme.space = &h->space;
	nvme.ioas = &h->ioas;
	return bf_nvme_create(h->sim, &nvme, &h->dev);
}

static inline void host_close(struct host *h)
{
	bf_nvme_destroy(h->dev);
	bf_ioas_fini(&h->ioas);
	bf_space_fini(&h->space);
	bf_sim_destroy(h->sim);
}

static inline void host_open(struct host *h, const struct host_opts *o)
{
	HOST_MUST(!host_try_open(h, o));
	host_queue_memory(h, &h->admin, 0, o->admin_size ? o->admin_size : 16);
	host_enable(h, o->mps);
}

/* A command on blocks with PRP1 and PRP2 as they are. */
static inline struct bf_nvme_sqe *host_rw(struct host *h, struct host_queue *q, uint8_t opcode, uint32_t nsid,
					  uint64_t slba, uint32_t blocks, uint64_t prp1, uint64_t prp2)
{
	struct bf_nvme_sqe *e = host_slot(h, q, opcode, nsid);

	bf_put_le64(e->prp1.b, prp1);
	bf_put_le64(e->prp2.b, prp2);
	bf_put_le32(e->cdw10.b, (uint32_t)slba);
	bf_put_le32(e->cdw11.b, (uint32_t)(slba >> 32));
	bf_put_le32(e->cdw12.b, blocks - 1);
	return e;
}

/*
 * PRP2 for `len` bytes from `va` on, in pages of `page` bytes that follow each other; the list, if one is needed, goes
 * to `list`, which has room for all its pages.
 */
static inline uint64_t host_prp2(struct host *h, uint64_t va, uint64_t len, uint64_t page, uint8_t *list)
{
	uint64_t at = (va & ~(page - 1)) + page, end = va + len, n = 0, start = host_va(h, list);

	if (end <= at)
		return 0;
	if (end <= at + page)
		return at;
	for (; at < end; at += page) {
		if ((n + 1) % (page / 8) == 0 && at + page < end) {
			bf_put_le64(list + n * 8, start + (n + 1) * 8);
			n++;
		}
		bf_put_le64(list + n++ * 8, at);
	}
	return start;
}

#endif
