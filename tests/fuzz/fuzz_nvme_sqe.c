/*
 * A stream of submission queue entries, register stores and doorbells against the NVMe controller model.
 *
 * The input is a sequence of items. First byte: what follows.
 *   0x00..0x3f  64 bytes: an entry of the admin queue, announced at once
 *   0x40..0x9f  64 bytes: an entry of I/O queue 1 + (byte & 1), announced at once
 *   0xa0..0xbf  3 bytes: store of the 16-bit value to doorbell number (byte)
 *   0xc0..0xcf  5 bytes: store of a 32-bit value to register 4 * (byte); enabling is kept within reason below
 *   0xd0..0xff  time passes
 *
 * The controller's DMA may reach the middle part of host memory. What lies around it has a pattern that must stay, and
 * every run must end: the number of events per item is bounded.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "models/nvme/nvme.h"

#define GUARD (64u << 10)
#define REACH (256u << 10)
#define NS_BYTES (256u << 10)
#define PATTERN 0xa7
#define EVENTS_PER_ITEM 2000000u
#define ENTRIES 16u
#define CHECK(x)                                                                                                       \
	do {                                                                                                           \
		if (!(x))                                                                                              \
			abort();                                                                                       \
	} while (0)

/* Where things lie in what DMA reaches. */
enum { ASQ = 0x0, ACQ = 0x1000, SQ = 0x2000, CQ = 0x4000, DATA = 0x6000 };

struct world {
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_region *mem;
	struct bf_nvme *dev;
	uint16_t tail[3];
	uint16_t cid;
};

static uint8_t *reachable(const struct world *w)
{
	return w->mem->bytes + GUARD;
}

static uint64_t iova(const struct world *w, uint32_t offset)
{
	return w->mem->va + GUARD + offset;
}

static void settle(struct world *w)
{
	uint64_t before = w->sim->events;

	/* Self-tests and the like take minutes of simulated time; nothing of the data path takes more than a second. */
	bf_sim_run(w->sim, w->sim->now_ps + BF_S);
	CHECK(w->sim->events - before < EVENTS_PER_ITEM);
}

static void store(struct world *w, uint32_t reg, uint64_t value, uint32_t len)
{
	uint8_t b[8];

	bf_put_le64(b, value);
	bf_mmio_post(bf_nvme_bar0(w->dev), reg, b, len);
}

static void announce(struct world *w, uint32_t qid, const struct bf_nvme_sqe *e)
{
	uint32_t at = qid ? SQ + (qid - 1) * 0x1000 : ASQ;

	memcpy(reachable(w) + at + w->tail[qid] * 64u, e, 64);
	w->tail[qid] = (uint16_t)((w->tail[qid] + 1) % ENTRIES);
	store(w, bf_nvme_sq_doorbell(qid, 0), w->tail[qid], 4);
	settle(w);
}

/* Takes all completions there are by returning as many entries as the controller has posted. */
static void take_completions(void *arg, const struct bf_nvme_queue_info *info)
{
	struct world *w = arg;

	if (info->cq_head != info->cq_tail)
		store(w, bf_nvme_cq_doorbell(info->cqid, 0), info->cq_tail, 4);
}

static void create_queues(struct world *w)
{
	for (uint32_t qid = 1; qid <= 2; qid++) {
		struct bf_nvme_sqe e = { .opcode = BF_NVME_ADM_CREATE_CQ };

		bf_put_le16(e.cid.b, w->cid++);
		bf_put_le64(e.prp1.b, iova(w, CQ + (qid - 1) * 0x1000));
		bf_put_le32(e.cdw10.b, qid | (ENTRIES - 1) << 16);
		bf_put_le32(e.cdw11.b, 1);
		announce(w, 0, &e);
		e.opcode = BF_NVME_ADM_CREATE_SQ;
		bf_put_le16(e.cid.b, w->cid++);
		bf_put_le64(e.prp1.b, iova(w, SQ + (qid - 1) * 0x1000));
		bf_put_le32(e.cdw11.b, 1 | qid << 16);
		announce(w, 0, &e);
		bf_nvme_each_queue(w->dev, take_completions, w);
		settle(w);
	}
}

static void enable(struct world *w)
{
	memset(w->tail, 0, sizeof(w->tail));
	store(w, BF_NVME_AQA, (ENTRIES - 1) << 16 | (ENTRIES - 1), 4);
	store(w, BF_NVME_ASQ, iova(w, ASQ), 8);
	store(w, BF_NVME_ACQ, iova(w, ACQ), 8);
	store(w, BF_NVME_CC, 0x00460001, 4);
	settle(w);
	create_queues(w);
}

static void open_world(struct world *w)
{
	static const struct bf_nvme_ns_opts ns[2] = {
		{ .bytes = NS_BYTES, .lba = BF_NVME_LBA_512 },
		{ .bytes = NS_BYTES, .lba = BF_NVME_LBA_4096 },
	};
	struct bf_nvme_profile profile = bf_nvme_instant;
	struct bf_nvme_opts o = {
		.name = "ssd0",
		.profile = &profile,
		.space = &w->space,
		.ioas = &w->ioas,
		.ns = ns,
		.nns = 2,
		.cmb_bytes = 65536,
	};

	profile.max_io_queues = 8; /* small tables: an input is a fresh controller */
	profile.vectors = 4;
	memset(w, 0, sizeof(*w));
	CHECK(!bf_sim_create(1, &w->sim));
	CHECK(!bf_space_init(&w->space, w->sim, "fuzz", 0));
	CHECK(!bf_ioas_init(&w->ioas, w->sim, "fuzz", 4096));
	CHECK(!bf_region_create(&w->space, &(struct bf_region_opts){ .name = "mem", .size = REACH + 2 * GUARD },
				&w->mem));
	memset(w->mem->bytes, PATTERN, REACH + 2 * GUARD);
	memset(reachable(w), 0, REACH);
	CHECK(!bf_ioas_map(&w->ioas, iova(w, 0), w->mem, GUARD, REACH, BF_IOMMU_READ | BF_IOMMU_WRITE));
	CHECK(!bf_nvme_create(w->sim, &o, &w->dev));
	store(w, BF_NVME_CMBMSC, 0x7000000003ull, 8);
	enable(w);
}

static void close_world(struct world *w)
{
	static const uint8_t pattern[16] = { PATTERN, PATTERN, PATTERN, PATTERN, PATTERN, PATTERN, PATTERN, PATTERN,
					     PATTERN, PATTERN, PATTERN, PATTERN, PATTERN, PATTERN, PATTERN, PATTERN };

	for (uint32_t i = 0; i < GUARD; i += sizeof(pattern)) {
		CHECK(!memcmp(w->mem->bytes + i, pattern, sizeof(pattern)));
		CHECK(!memcmp(w->mem->bytes + GUARD + REACH + i, pattern, sizeof(pattern)));
	}
	bf_nvme_destroy(w->dev);
	bf_ioas_fini(&w->ioas);
	bf_space_fini(&w->space);
	bf_sim_destroy(w->sim);
}

/* Addresses of the input are offsets, most of the time, so that many of them can be reached. */
static uint64_t steer(const struct world *w, uint64_t address)
{
	if (address >> 56 == 0xff)
		return address;
	if (address >> 56 == 0xfe)
		return 0x7000000000ull + address % 0x11000;
	return iova(w, DATA) + address % (REACH - DATA + 0x1000);
}

static void entry(struct world *w, uint32_t qid, const uint8_t *bytes)
{
	struct bf_nvme_sqe e;

	memcpy(&e, bytes, sizeof(e));
	bf_put_le64(e.prp1.b, steer(w, bf_le64(e.prp1)));
	bf_put_le64(e.prp2.b, steer(w, bf_le64(e.prp2)));
	announce(w, qid, &e);
	bf_nvme_each_queue(w->dev, take_completions, w);
	settle(w);
}

/* Returns how many bytes the item took, 0 at the end. */
static size_t item(struct world *w, const uint8_t *in, size_t left)
{
	if (in[0] < 0xa0 && left >= 65) {
		entry(w, in[0] < 0x40 ? 0 : 1u + (in[0] & 1), in + 1);
		return 65;
	}
	if (in[0] >= 0xa0 && in[0] < 0xc0 && left >= 4) {
		store(w, BF_NVME_DOORBELLS + 4u * in[1], bf_get_le16(in + 2), 4);
		return 4;
	}
	if (in[0] >= 0xc0 && in[0] < 0xd0 && left >= 6) {
		store(w, 4u * in[1], bf_get_le32(in + 2), 4);
		return 6;
	}
	if (in[0] < 0xd0)
		return 0;
	settle(w);
	if (!(bf_nvme_csts(w->dev) & 1) || bf_nvme_csts(w->dev) & 2) {
		store(w, BF_NVME_CC, 0, 4);
		settle(w);
		enable(w);
	}
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w;
	size_t at = 0, n = 1;

	open_world(&w);
	memcpy(reachable(&w) + DATA, data, size < REACH - DATA ? size : REACH - DATA); /* lists to be found there */
	for (uint32_t items = 0; at < size && n && items < 64; items++) {
		n = item(&w, data + at, size - at);
		at += n;
	}
	settle(&w);
	close_world(&w);
	return 0;
}
