#include "traces/replay/nvme_host_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ADMIN_ENTRIES 32u
#define CC_USUAL 0x00460000u /* 64- and 16-byte entries, 4 KiB pages, round robin, NVM command set */

/* The largest transfer that a list describes: 65536 blocks of 4096 bytes. */
#define LIST_ENTRIES (65536u + 512u)
#define LISTS (LIST_ENTRIES / 511u + 2u)
#define SCRATCH_PAGES (2u + LISTS)

static int alloc(struct bf_nvme_replay_host *h, const char *name, uint64_t size, struct bf_region **out)
{
	const struct bf_region_opts opts = { .name = name, .kind = BF_MEM_DRAM, .size = size };
	int rc = bf_region_create(&h->space, &opts, out);

	return rc ? rc : bf_ioas_map_region(&h->ioas, *out, BF_IOMMU_READ | BF_IOMMU_WRITE);
}

/* A chain of list pages whose every entry is the first scratch page and whose every last one is the next list. */
static void fill_lists(struct bf_nvme_replay_host *h)
{
	for (uint32_t page = 0; page < LISTS; page++) {
		uint8_t *list = h->scratch->bytes + (uint64_t)(2 + page) * BF_PAGE;

		for (uint32_t i = 0; i < 511; i++)
			bf_put_le64(list + i * 8, h->scratch->va);
		bf_put_le64(list + 511 * 8, h->scratch->va + (uint64_t)(2 + (page + 1) % LISTS) * BF_PAGE);
	}
}

int bf_nvme_replay_host_init(struct bf_nvme_replay_host *h, struct bf_sim *sim, uint32_t index, const char *name,
			     const struct bf_nvme_profile *profile, const struct bf_nvme_ns_opts *ns, uint32_t nns)
{
	struct bf_nvme_opts opts = { .name = name, .profile = profile, .ns = ns, .nns = nns, .direct = true };
	int rc;

	*h = (struct bf_nvme_replay_host){ .sim = sim, .cid = 0x8000 };
	rc = bf_space_init(&h->space, sim, name, index);
	if (rc)
		return rc;
	h->has_space = true;
	rc = bf_ioas_init(&h->ioas, sim, name, BF_PAGE);
	if (rc)
		return rc;
	h->has_ioas = true;
	rc = alloc(h, "scratch", (uint64_t)SCRATCH_PAGES * BF_PAGE, &h->scratch);
	if (rc)
		return rc;
	fill_lists(h);
	opts.space = &h->space;
	opts.ioas = &h->ioas;
	rc = bf_nvme_create(sim, &opts, &h->dev);
	if (!rc)
		h->bar = bf_nvme_bar0(h->dev);
	return rc;
}

void bf_nvme_replay_host_fini(struct bf_nvme_replay_host *h)
{
	if (h->dev)
		bf_nvme_destroy(h->dev);
	if (h->has_ioas)
		bf_ioas_fini(&h->ioas);
	if (h->has_space)
		bf_space_fini(&h->space);
}

uint64_t bf_nvme_replay_host_read(struct bf_nvme_replay_host *h, uint32_t offset, uint32_t len)
{
	return h->bar->mmio->read(h->bar, offset, len);
}

void bf_nvme_replay_host_write(struct bf_nvme_replay_host *h, uint32_t offset, uint64_t value, uint32_t len)
{
	uint8_t bytes[8];

	bf_put_le64(bytes, value);
	h->bar->mmio->write(h->bar, offset, bytes, len);
}

static int make_memory(struct bf_nvme_replay_host *h, struct bf_nvme_replay_host_queue *q, uint32_t qid,
		       uint32_t entries)
{
	char name[24];
	int rc = 0;

	if (q->sq)
		return 0;
	snprintf(name, sizeof(name), "sq%" PRIu32, qid);
	rc = alloc(h, name, (uint64_t)entries * sizeof(struct bf_nvme_sqe), &q->sq);
	snprintf(name, sizeof(name), "cq%" PRIu32, qid);
	if (!rc)
		rc = alloc(h, name, (uint64_t)entries * sizeof(struct bf_nvme_cqe), &q->cq);
	q->entries = entries;
	q->phase = 1;
	return rc;
}

int bf_nvme_replay_host_prepare(struct bf_nvme_replay_host *h)
{
	struct bf_nvme_replay_host_queue *q = &h->queue[0];
	int rc = make_memory(h, q, 0, ADMIN_ENTRIES);

	if (rc)
		return rc;
	bf_nvme_replay_host_write(h, BF_NVME_AQA, (ADMIN_ENTRIES - 1) << 16 | (ADMIN_ENTRIES - 1), 4);
	bf_nvme_replay_host_write(h, BF_NVME_ASQ, q->sq->va, 8);
	bf_nvme_replay_host_write(h, BF_NVME_ACQ, q->cq->va, 8);
	return 0;
}

int bf_nvme_replay_host_enable(struct bf_nvme_replay_host *h)
{
	struct bf_nvme_replay_host_queue *q = &h->queue[0];
	int rc = bf_nvme_replay_host_prepare(h);

	if (rc)
		return rc;
	bf_nvme_replay_host_write(h, BF_NVME_CC, CC_USUAL | 1, 4);
	bf_sim_run(h->sim, BF_NEVER);
	if (!(bf_nvme_replay_host_read(h, BF_NVME_CSTS, 4) & BF_NVME_CSTS_RDY))
		return bf_fail(&h->sim->error, -EIO, "the controller does not become ready");
	q->ready = true;
	return 0;
}

void bf_nvme_replay_host_post(struct bf_nvme_replay_host *h, uint32_t qid, const struct bf_nvme_sqe *sqe)
{
	struct bf_nvme_replay_host_queue *q = &h->queue[qid];

	memcpy(q->sq->bytes + (uint64_t)q->tail * sizeof(*sqe), sqe, sizeof(*sqe));
	q->tail = (q->tail + 1) % q->entries;
	bf_nvme_replay_host_write(h, bf_nvme_sq_doorbell(qid, 0), q->tail, 4);
}

bool bf_nvme_replay_host_poll(struct bf_nvme_replay_host *h, uint32_t qid, struct bf_nvme_cqe *out)
{
	struct bf_nvme_replay_host_queue *q = &h->queue[qid];
	const uint8_t *slot = q->cq->bytes + (uint64_t)q->head * sizeof(*out);

	bf_sim_run(h->sim, BF_NEVER);
	memcpy(out, slot, sizeof(*out));
	if ((bf_le16(out->status) & 1u) != q->phase)
		return false;
	q->head++;
	if (q->head == q->entries) {
		q->head = 0;
		q->phase ^= 1;
	}
	bf_nvme_replay_host_write(h, bf_nvme_cq_doorbell(qid, 0), q->head, 4);
	return true;
}

static int own_command(struct bf_nvme_replay_host *h, struct bf_nvme_sqe *sqe)
{
	struct bf_nvme_cqe cqe;
	uint16_t cid = h->cid++;

	sqe->cid = bf_to_le16(cid);
	bf_nvme_replay_host_post(h, 0, sqe);
	while (bf_nvme_replay_host_poll(h, 0, &cqe)) {
		if (bf_le16(cqe.cid) != cid)
			continue;
		return bf_le16(cqe.status) >> 1
			   ? bf_fail(&h->sim->error, -EIO, "command 0x%02x of the set-up ended with 0x%x", sqe->opcode,
				     bf_le16(cqe.status) >> 1)
			   : 0;
	}
	return bf_fail(&h->sim->error, -EIO, "command 0x%02x of the set-up did not end", sqe->opcode);
}

int bf_nvme_replay_host_queue(struct bf_nvme_replay_host *h, uint32_t qid, uint32_t entries, bool create)
{
	struct bf_nvme_replay_host_queue *q = &h->queue[qid];
	struct bf_nvme_sqe cq = { .opcode = BF_NVME_ADM_CREATE_CQ }, sq = { .opcode = BF_NVME_ADM_CREATE_SQ };
	int rc = make_memory(h, q, qid, entries);

	if (rc || !create)
		return rc;
	cq.prp1 = bf_to_le64(q->cq->va);
	cq.cdw10 = sq.cdw10 = bf_to_le32((entries - 1) << 16 | qid);
	cq.cdw11 = bf_to_le32(1);
	sq.prp1 = bf_to_le64(q->sq->va);
	sq.cdw11 = bf_to_le32(qid << 16 | 1);
	rc = own_command(h, &cq);
	if (!rc)
		rc = own_command(h, &sq);
	q->ready = rc == 0;
	return rc;
}

void bf_nvme_replay_host_data(struct bf_nvme_replay_host *h, struct bf_nvme_sqe *sqe, uint64_t len)
{
	const uint64_t base = h->scratch->va, pages = (len + BF_PAGE - 1) / BF_PAGE;

	sqe->prp1 = bf_to_le64(base);
	sqe->prp2 = bf_to_le64(pages < 2 ? 0 : pages == 2 ? base + BF_PAGE : base + 2 * BF_PAGE);
}
