/*
 * NVM commands: each status by itself, then random commands over several namespaces and formats against plain arrays,
 * with and without DMA faults.
 */
#include <check.h>

#include "sim/fault.h"
#include "tests/models/nvme_host.h"

#define DNR 0x4000u
#define NS_BYTES (2u << 20)
#define DATA (512u << 10)

struct io_rig {
	struct host h;
	struct host_queue q;
	struct bf_rng rng;
	uint8_t *data, *list;
	uint64_t data_va;
};

static const struct bf_nvme_ns_opts spaces[] = {
	{ .bytes = NS_BYTES, .lba = BF_NVME_LBA_512 },
	{ .bytes = NS_BYTES, .lba = BF_NVME_LBA_4096 },
	{ .bytes = 3u << 20, .lba = BF_NVME_LBA_512 },
	{ .bytes = NS_BYTES, .lba = BF_NVME_LBA_512, .read_only = true },
};

static void rig_open(struct io_rig *r, uint64_t seed, const struct bf_nvme_profile *profile)
{
	struct host_opts o = { .seed = seed, .nvme = { .profile = profile, .ns = spaces, .nns = 4 } };

	memset(r, 0, sizeof(*r));
	host_open(&r->h, &o);
	host_queue_open(&r->h, &r->q, 1, 64);
	bf_rng_init(&r->rng, seed, "io");
	r->data = host_alloc(&r->h, DATA, 4096);
	r->data_va = host_va(&r->h, r->data);
	r->list = host_alloc(&r->h, 65536, 4096);
}

static void rig_close(struct io_rig *r)
{
	host_close(&r->h);
}

/* A command with one buffer of enough pages, at `offset` of the data. */
static struct bf_nvme_sqe *put(struct io_rig *r, uint8_t opcode, uint32_t nsid, uint64_t slba, uint32_t blocks,
			       uint64_t offset)
{
	uint64_t len = (uint64_t)blocks * (nsid == 2 ? 4096 : 512);

	if (len > DATA - offset)
		len = DATA - offset;
	return host_rw(&r->h, &r->q, opcode, nsid, slba, blocks, r->data_va + offset,
		       host_prp2(&r->h, r->data_va + offset, len, 4096, r->list));
}

static uint32_t io(struct io_rig *r, uint8_t opcode, uint32_t nsid, uint64_t slba, uint32_t blocks)
{
	put(r, opcode, nsid, slba, blocks, 0);
	return host_do(&r->h, &r->q, NULL);
}

static const uint8_t ranged[] = { BF_NVME_IO_READ,   BF_NVME_IO_WRITE,        BF_NVME_IO_COMPARE,
				  BF_NVME_IO_VERIFY, BF_NVME_IO_WRITE_ZEROES, BF_NVME_IO_WRITE_UNCORRECTABLE };

START_TEST(opcodes_and_namespaces)
{
	struct io_rig r;

	rig_open(&r, 1, &bf_nvme_instant);
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		bool known = opcode == BF_NVME_IO_FLUSH || opcode == BF_NVME_IO_DSM || opcode == BF_NVME_IO_COPY;

		for (size_t i = 0; i < BF_ARRAY_LEN(ranged); i++)
			known |= opcode == ranged[i];
		if (!known)
			ck_assert_uint_eq(io(&r, (uint8_t)opcode, 1, 0, 1), BF_NVME_SC_INVALID_OPCODE | DNR);
		else
			ck_assert_uint_ne(io(&r, (uint8_t)opcode, 1, 0, 1), BF_NVME_SC_INVALID_OPCODE | DNR);
	}
	for (size_t i = 0; i < BF_ARRAY_LEN(ranged); i++) {
		ck_assert_uint_eq(io(&r, ranged[i], 0, 0, 1), BF_NVME_SC_INVALID_NS_OR_FORMAT | DNR);
		ck_assert_uint_eq(io(&r, ranged[i], 65, 0, 1), BF_NVME_SC_INVALID_NS_OR_FORMAT | DNR);
		ck_assert_uint_eq(io(&r, ranged[i], BF_NVME_NSID_ALL, 0, 1), BF_NVME_SC_INVALID_NS_OR_FORMAT | DNR);
		ck_assert_uint_eq(io(&r, ranged[i], 5, 0, 1), BF_NVME_SC_INVALID_FIELD | DNR); /* inactive */
	}
	ck_assert_uint_eq(io(&r, BF_NVME_IO_FLUSH, BF_NVME_NSID_ALL, 0, 1), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_FLUSH, 2, 0, 1), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_FLUSH, 0, 0, 1), BF_NVME_SC_INVALID_NS_OR_FORMAT | DNR);
	rig_close(&r);
}
END_TEST

START_TEST(ranges)
{
	const uint32_t range = BF_NVME_SC_LBA_RANGE | DNR;
	struct io_rig r;

	rig_open(&r, 2, &bf_nvme_instant);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_WRITE_ZEROES, 1, 0, 4096), 0); /* what is read must not be marked bad */
	for (size_t i = 0; i + 1 < BF_ARRAY_LEN(ranged); i++) {
		ck_assert_uint_eq(io(&r, ranged[i], 1, 4095, 1), 0);
		ck_assert_uint_eq(io(&r, ranged[i], 1, 4096, 1), range);
		ck_assert_uint_eq(io(&r, ranged[i], 1, 4095, 2), range);
		ck_assert_uint_eq(io(&r, ranged[i], 1, UINT64_MAX, 2), range);
		ck_assert_uint_eq(io(&r, ranged[i], 1, UINT64_MAX - 1, 1), range);
		ck_assert_uint_eq(io(&r, ranged[i], 1, 1ull << 55, 8), range); /* times 512 is 0 */
		ck_assert_uint_eq(io(&r, ranged[i], 2, 511, 1), 0);
		ck_assert_uint_eq(io(&r, ranged[i], 2, 512, 1), range);
	}
	ck_assert_uint_eq(io(&r, BF_NVME_IO_VERIFY, 1, 0, 65536), range);
	rig_close(&r);
}
END_TEST

START_TEST(fields)
{
	struct bf_nvme_sqe *e;
	struct io_rig r;

	rig_open(&r, 3, &bf_nvme_instant);
	for (uint32_t bit = 26; bit < 32; bit++) {
		e = put(&r, BF_NVME_IO_WRITE, 1, 0, 1, 0);
		bf_put_le32(e->cdw12.b, 1u << bit);
		ck_assert_uint_eq(host_do(&r.h, &r.q, NULL), bit < 30 ? BF_NVME_SC_PROTECTION_INFO | DNR : 0);
		e = put(&r, BF_NVME_IO_READ, 1, 0, 1, 0);
		bf_put_le32(e->cdw12.b, 1u << bit);
		ck_assert_uint_eq(host_do(&r.h, &r.q, NULL), bit < 30 ? BF_NVME_SC_PROTECTION_INFO | DNR : 0);
	}
	e = put(&r, BF_NVME_IO_WRITE, 1, 0, 1, 0);
	bf_put_le32(e->cdw12.b, 1u << 20); /* directive type: streams */
	ck_assert_uint_eq(host_do(&r.h, &r.q, NULL), BF_NVME_SC_INVALID_FIELD | DNR);
	e = put(&r, BF_NVME_IO_READ, 1, 0, 1, 0);
	bf_put_le32(e->cdw13.b, 7); /* hints */
	ck_assert_uint_eq(host_do(&r.h, &r.q, NULL), 0);
	rig_close(&r);
}
END_TEST

static uint32_t dsm(struct io_rig *r, uint32_t nsid, const struct bf_nvme_dsm_range *list, uint32_t n, uint32_t bits)
{
	struct bf_nvme_sqe *e = host_slot(&r->h, &r->q, BF_NVME_IO_DSM, nsid);
	uint8_t *p = r->data + DATA / 2;

	memcpy(p, list, n * sizeof(*list));
	bf_put_le64(e->prp1.b, host_va(&r->h, p));
	bf_put_le32(e->cdw10.b, n - 1);
	bf_put_le32(e->cdw11.b, bits);
	return host_do(&r->h, &r->q, NULL);
}

static struct bf_nvme_dsm_range dsm_range(uint64_t slba, uint32_t blocks)
{
	struct bf_nvme_dsm_range d = { 0 };

	bf_put_le32(d.blocks.b, blocks);
	bf_put_le64(d.slba.b, slba);
	return d;
}

START_TEST(read_only)
{
	struct bf_nvme_dsm_range d = dsm_range(0, 8);
	const uint32_t protected = BF_NVME_SC_NS_WRITE_PROTECTED | DNR;
	struct io_rig r;

	rig_open(&r, 4, &bf_nvme_instant);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_WRITE, 4, 0, 1), protected);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_WRITE_ZEROES, 4, 0, 1), protected);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_WRITE_UNCORRECTABLE, 4, 0, 1), protected);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_COPY, 4, 0, 1), protected);
	ck_assert_uint_eq(dsm(&r, 4, &d, 1, 4), protected);
	ck_assert_uint_eq(dsm(&r, 4, &d, 1, 3), 0); /* hints only */
	ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 4, 0, 1), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_FLUSH, 4, 0, 1), 0);
	rig_close(&r);
}
END_TEST

static bool all(const uint8_t *p, uint8_t value, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (p[i] != value)
			return false;
	return true;
}

START_TEST(uncorrectable)
{
	struct io_rig r;

	rig_open(&r, 5, &bf_nvme_instant);
	memset(r.data, 7, 8192);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_WRITE, 1, 0, 16), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_WRITE_UNCORRECTABLE, 1, 5, 2), 0);
	for (uint32_t lba = 0; lba < 16; lba++) {
		uint32_t want = lba == 5 || lba == 6 ? BF_NVME_SC_UNRECOVERED_READ : 0;

		ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 1, lba, 1), want);
		ck_assert_uint_eq(io(&r, BF_NVME_IO_COMPARE, 1, lba, 1), want);
		ck_assert_uint_eq(io(&r, BF_NVME_IO_VERIFY, 1, lba, 1), want);
	}
	ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 1, 0, 16), BF_NVME_SC_UNRECOVERED_READ);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_WRITE, 1, 5, 1), 0); /* until it is written again */
	ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 1, 0, 6), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_WRITE_ZEROES, 1, 6, 1), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 1, 0, 16), 0);
	ck_assert(all(r.data, 7, 3072) && all(r.data + 3072, 0, 512) && all(r.data + 3584, 7, 4608));
	rig_close(&r);
}
END_TEST

START_TEST(comparisons)
{
	struct io_rig r;

	rig_open(&r, 6, &bf_nvme_instant);
	for (uint32_t i = 0; i < DATA; i++)
		r.data[i] = (uint8_t)(i * 5 + (i >> 9));
	ck_assert_uint_eq(io(&r, BF_NVME_IO_WRITE, 1, 9, 200), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_COMPARE, 1, 9, 200), 0);
	r.data[199 * 512 + 511] ^= 1;
	ck_assert_uint_eq(io(&r, BF_NVME_IO_COMPARE, 1, 9, 200), BF_NVME_SC_COMPARE | DNR);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_COMPARE, 1, 9, 199), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_COMPARE, 1, 1000, 1), BF_NVME_SC_COMPARE | DNR); /* zeros */
	memset(r.data, 0, 512);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_COMPARE, 1, 1000, 1), 0);
	rig_close(&r);
}
END_TEST

START_TEST(deallocation)
{
	struct bf_nvme_dsm_range d[256];
	struct bf_nvme_sqe *e;
	struct io_rig r;

	rig_open(&r, 7, &bf_nvme_instant);
	memset(r.data, 0xab, 131072);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_WRITE, 1, 0, 256), 0);
	/* DULBE: Error Recovery, namespace 1. */
	e = host_slot(&r.h, &r.h.admin, BF_NVME_ADM_SET_FEATURES, 1);
	bf_put_le32(e->cdw10.b, 5);
	bf_put_le32(e->cdw11.b, 1u << 16);
	ck_assert_uint_eq(host_do(&r.h, &r.h.admin, NULL), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 1, 0, 256), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 1, 0, 257), BF_NVME_SC_DEALLOCATED | DNR);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 3, 0, 257), 0); /* not there */
	/* 256 ranges of one block each, not 0-based; a range of none. */
	for (uint32_t i = 0; i < 256; i++)
		d[i] = dsm_range(i * 2 % 256, i < 128);
	ck_assert_uint_eq(dsm(&r, 1, d, 256, 4), 0);
	for (uint32_t lba = 0; lba < 256; lba++)
		ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 1, lba, 1), lba % 2 ? 0 : BF_NVME_SC_DEALLOCATED | DNR);
	e = host_slot(&r.h, &r.h.admin, BF_NVME_ADM_SET_FEATURES, 1);
	bf_put_le32(e->cdw10.b, 5);
	ck_assert_uint_eq(host_do(&r.h, &r.h.admin, NULL), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 1, 0, 256), 0);
	for (uint32_t lba = 0; lba < 256; lba++)
		ck_assert(all(r.data + lba * 512, lba % 2 ? 0xab : 0, 512));
	/* Out of range: nothing happens. */
	d[0] = dsm_range(1, 1);
	d[1] = dsm_range(4095, 2);
	ck_assert_uint_eq(dsm(&r, 1, d, 2, 4), BF_NVME_SC_LBA_RANGE | DNR);
	d[1] = dsm_range(UINT64_MAX, UINT32_MAX);
	ck_assert_uint_eq(dsm(&r, 1, d, 2, 4), BF_NVME_SC_LBA_RANGE | DNR);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 1, 1, 1), 0);
	ck_assert(all(r.data, 0xab, 512));
	/* Write Zeroes with and without DEAC. */
	ck_assert_uint_eq(io(&r, BF_NVME_IO_WRITE_ZEROES, 1, 1, 1), 0);
	e = put(&r, BF_NVME_IO_WRITE_ZEROES, 1, 3, 1, 0);
	bf_put_le32(e->cdw12.b, 1u << 25);
	ck_assert_uint_eq(host_do(&r.h, &r.q, NULL), 0);
	ck_assert_uint_eq(io(&r, BF_NVME_IO_READ, 1, 0, 5), 0);
	ck_assert(all(r.data, 0, 5 * 512));
	rig_close(&r);
}
END_TEST

/*
 * Random commands, several in flight at a time, on blocks that no two of them share (their order is not defined). With
 * faults a write that failed leaves each of its blocks old or new, which the next read settles.
 */
#define INFLIGHT 16u

struct job {
	uint8_t opcode;
	uint32_t nsid, blocks;
	uint64_t slba, offset, len;
	uint8_t before[65536]; /* of a write: what the blocks held; of a read: what they hold */
	uint8_t want[65536];   /* what a write brings */
};

struct model {
	uint8_t *disk[4];
	struct job job[INFLIGHT];
};

static uint32_t block_of(uint32_t nsid)
{
	return nsid == 2 ? 4096 : 512;
}

static bool clashes(const struct model *m, uint32_t n, const struct job *j)
{
	for (uint32_t i = 0; i < n; i++)
		if (m->job[i].nsid == j->nsid && m->job[i].slba < j->slba + j->blocks &&
		    j->slba < m->job[i].slba + m->job[i].blocks)
			return true;
	return false;
}

static void random_job(struct io_rig *r, struct model *m, uint32_t i)
{
	static const uint8_t opcodes[] = { BF_NVME_IO_READ,  BF_NVME_IO_READ,    BF_NVME_IO_WRITE,
					   BF_NVME_IO_WRITE, BF_NVME_IO_COMPARE, BF_NVME_IO_WRITE_ZEROES };
	struct job *j = &m->job[i];
	uint8_t *buffer;

	do {
		j->opcode = opcodes[bf_rng_below(&r->rng, BF_ARRAY_LEN(opcodes))];
		j->nsid = 1 + (uint32_t)bf_rng_below(&r->rng, 3);
		j->blocks = 1 + (uint32_t)bf_rng_below(&r->rng, 12288 / block_of(j->nsid));
		j->slba = bf_rng_below(&r->rng, spaces[j->nsid - 1].bytes / block_of(j->nsid) - j->blocks + 1);
	} while (clashes(m, i, j));
	j->len = (uint64_t)j->blocks * block_of(j->nsid);
	j->offset = i * 16384u + bf_rng_below(&r->rng, 1024) * 4;
	buffer = r->data + j->offset;
	for (uint64_t at = 0; at < j->len; at += 4)
		bf_put_le32(buffer + at, (uint32_t)bf_rng_next(&r->rng));
	memcpy(j->before, m->disk[j->nsid - 1] + j->slba * block_of(j->nsid), j->len);
	memcpy(j->want, buffer, j->len);
	if (j->opcode == BF_NVME_IO_WRITE_ZEROES)
		memset(j->want, 0, j->len);
	if (j->opcode == BF_NVME_IO_COMPARE && bf_rng_chance(&r->rng, 700000))
		memcpy(buffer, j->before, j->len);
	host_rw(&r->h, &r->q, j->opcode, j->nsid, j->slba, j->blocks, r->data_va + j->offset,
		host_prp2(&r->h, r->data_va + j->offset, j->len, 4096, r->list + i * 4096));
}

/* The blocks of a write that failed: each must be one of the two, and is known then. */
static void settle(struct io_rig *r, struct model *m, const struct job *j)
{
	uint8_t *disk = m->disk[j->nsid - 1] + j->slba * block_of(j->nsid), *read = r->data + DATA / 2;
	const uint32_t n = block_of(j->nsid);
	struct bf_fault_plan *plan = r->h.sim->faults;

	r->h.sim->faults = NULL;
	host_rw(&r->h, &r->q, BF_NVME_IO_READ, j->nsid, j->slba, j->blocks, host_va(&r->h, read),
		host_prp2(&r->h, host_va(&r->h, read), j->len, 4096, r->list));
	ck_assert_uint_eq(host_do(&r->h, &r->q, NULL), 0);
	r->h.sim->faults = plan;
	for (uint32_t at = 0; at < j->len; at += n) {
		ck_assert(!memcmp(read + at, j->before + at, n) || !memcmp(read + at, j->want + at, n));
		memcpy(disk + at, read + at, n);
	}
}

static void check_job(struct io_rig *r, struct model *m, const struct job *j, uint32_t status, bool faults)
{
	uint8_t *disk = m->disk[j->nsid - 1] + j->slba * block_of(j->nsid);
	const uint8_t *buffer = r->data + j->offset;

	if (faults && status == BF_NVME_SC_DATA_TRANSFER) {
		if (j->opcode == BF_NVME_IO_WRITE)
			settle(r, m, j);
		return;
	}
	if (j->opcode == BF_NVME_IO_COMPARE) {
		bool same = !memcmp(buffer, j->before, j->len);

		ck_assert_uint_eq(status, same ? 0 : BF_NVME_SC_COMPARE | DNR);
		return;
	}
	ck_assert_uint_eq(status, 0);
	if (j->opcode == BF_NVME_IO_READ)
		ck_assert(!memcmp(buffer, j->before, j->len));
	else
		memcpy(disk, j->want, j->len);
}

enum faults { NO_FAULTS, HOLES, PLAN };

/* Takes pages of the data and their lists away from the controller, or gives them back. */
static void punch(struct io_rig *r, bool away)
{
	static uint8_t gone[(DATA + 65536) / 4096];

	if (!away) {
		for (uint32_t i = 0; i < BF_ARRAY_LEN(gone); i++)
			if (gone[i])
				ck_assert(!bf_ioas_map(&r->h.ioas, r->data_va + i * 4096u, r->h.mem,
						       r->data_va + i * 4096u - r->h.mem->va, 4096,
						       BF_IOMMU_READ | BF_IOMMU_WRITE));
		return;
	}
	for (uint32_t i = 0; i < BF_ARRAY_LEN(gone); i++) {
		gone[i] = bf_rng_chance(&r->rng, 100000);
		if (gone[i])
			ck_assert(!bf_ioas_unmap(&r->h.ioas, r->data_va + i * 4096u, 4096));
	}
}

/* False when the controller gave up, as it must when it cannot reach its queues. */
static bool random_round(struct io_rig *r, struct model *m, enum faults faults)
{
	uint32_t n = 1 + (uint32_t)bf_rng_below(&r->rng, INFLIGHT - 1), first = r->h.next_cid, got = 0;
	uint32_t status[INFLIGHT] = { 0 };
	struct bf_nvme_cqe c;

	for (uint32_t i = 0; i < n; i++)
		random_job(r, m, i);
	if (faults == HOLES)
		punch(r, true);
	host_ring(&r->h, &r->q);
	host_run(&r->h);
	for (; host_poll(&r->h, &r->q, &c); got++)
		status[bf_le16(c.cid) - first] = host_status(&c);
	if (faults == HOLES)
		punch(r, false);
	if (faults == PLAN && got < n) {
		ck_assert(bf_nvme_csts(r->h.dev) & 2);
		return false;
	}
	ck_assert_uint_eq(got, n);
	for (uint32_t i = 0; i < n; i++)
		check_job(r, m, &m->job[i], status[i], faults != NO_FAULTS);
	return true;
}

static void random_run(uint64_t seed, const struct bf_nvme_profile *profile, enum faults faults)
{
	struct bf_fault_plan *plan = NULL;
	struct model *m = calloc(1, sizeof(*m));
	struct bf_error err = { 0 };
	struct io_rig r;

	rig_open(&r, seed, profile);
	for (uint32_t i = 0; i < 4; i++)
		m->disk[i] = calloc(1, spaces[i].bytes);
	if (faults == PLAN) {
		ck_assert(!bf_fault_plan_parse("dma-fault on=ssd0.dma prob=0.004", seed, &err, &plan));
		r.h.sim->faults = plan;
	}
	for (uint32_t round = 0; round < 60 && random_round(&r, m, faults); round++)
		;
	rig_close(&r);
	bf_fault_plan_destroy(plan);
	for (uint32_t i = 0; i < 4; i++)
		free(m->disk[i]);
	free(m);
}

START_TEST(random_commands)
{
	random_run(1000 + (uint64_t)_i, _i % 2 ? &bf_nvme_970pro : &bf_nvme_instant, NO_FAULTS);
}
END_TEST

START_TEST(random_commands_with_holes)
{
	random_run(2000 + (uint64_t)_i, _i % 2 ? &bf_nvme_970pro : &bf_nvme_instant, HOLES);
}
END_TEST

START_TEST(random_commands_with_faults)
{
	random_run(3000 + (uint64_t)_i, _i % 2 ? &bf_nvme_970pro : &bf_nvme_instant, PLAN);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme_io");
	TCase *tc = tcase_create("io");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, opcodes_and_namespaces);
	tcase_add_test(tc, ranges);
	tcase_add_test(tc, fields);
	tcase_add_test(tc, read_only);
	tcase_add_test(tc, uncorrectable);
	tcase_add_test(tc, comparisons);
	tcase_add_test(tc, deallocation);
	tcase_add_loop_test(tc, random_commands, 0, 8);
	tcase_add_loop_test(tc, random_commands_with_holes, 0, 8);
	tcase_add_loop_test(tc, random_commands_with_faults, 0, 16);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
