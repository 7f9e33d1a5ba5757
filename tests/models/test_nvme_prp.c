/*
 * PRPs: thousands of random layouts against a walker that knows nothing of the model's; then each rule by itself.
 */
#include <check.h>

#include "tests/models/nvme_host.h"

#define DISK (8u << 20)
#define AREA_PAGES 72u /* of data */
#define LIST_PAGES 72u

struct prp_rig {
	struct host h;
	struct host_queue q;
	struct bf_rng rng;
	uint32_t page;
	uint8_t *area, *lists; /* what commands may touch */
	uint8_t *shadow;       /* what the area should hold */
	uint8_t *disk;         /* what the namespace should hold */
};

static void rig_open(struct prp_rig *r, uint64_t seed, uint32_t mps)
{
	const struct bf_nvme_ns_opts ns = { .bytes = DISK, .lba = BF_NVME_LBA_512 };
	struct host_opts o = { .seed = seed, .mps = mps, .nvme = { .profile = &bf_nvme_instant, .ns = &ns, .nns = 1 } };

	memset(r, 0, sizeof(*r));
	host_open(&r->h, &o);
	host_queue_open(&r->h, &r->q, 1, 16);
	bf_rng_init(&r->rng, seed, "prp");
	r->page = 4096u << mps;
	r->area = host_alloc(&r->h, (uint64_t)AREA_PAGES * r->page, r->page);
	r->lists = host_alloc(&r->h, (uint64_t)LIST_PAGES * r->page, r->page);
	r->shadow = malloc((size_t)AREA_PAGES * r->page);
	r->disk = calloc(1, DISK);
	for (uint32_t i = 0; i < AREA_PAGES * r->page; i += 8)
		bf_put_le64(r->area + i, bf_rng_next(&r->rng));
	memcpy(r->shadow, r->area, (size_t)AREA_PAGES * r->page);
}

static void rig_close(struct prp_rig *r)
{
	host_close(&r->h);
	free(r->shadow);
	free(r->disk);
}

/* Pages in random order, the first `n` of `total`. */
static void pick(struct bf_rng *rng, uint32_t *out, uint32_t n, uint32_t total)
{
	uint32_t all[AREA_PAGES];

	for (uint32_t i = 0; i < total; i++)
		all[i] = i;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = i + (uint32_t)bf_rng_below(rng, total - i), t = all[i];

		all[i] = all[j];
		all[j] = t;
		out[i] = all[i];
	}
}

/* PRP1 and PRP2 for `len` bytes at random places. */
static void build(struct prp_rig *r, uint64_t len, uint64_t prp[2])
{
	const uint64_t page = r->page, area = host_va(&r->h, r->area), lists = host_va(&r->h, r->lists);
	const uint64_t off = bf_rng_chance(&r->rng, 500000) ? bf_rng_below(&r->rng, page / 512) * 512
							    : bf_rng_below(&r->rng, page / 4) * 4;
	uint32_t n = (uint32_t)((off + len + page - 1) / page), data[AREA_PAGES], list[LIST_PAGES], at = 0;
	uint64_t slot;

	pick(&r->rng, data, n, AREA_PAGES);
	pick(&r->rng, list, LIST_PAGES, LIST_PAGES);
	memset(r->lists, 0x5a, (size_t)LIST_PAGES * page);
	prp[0] = area + data[0] * page + off;
	prp[1] = bf_rng_next(&r->rng); /* reserved */
	if (n == 1)
		return;
	prp[1] = area + data[1] * page;
	if (n == 2)
		return;
	/* Often so close to the list page's end that chains are needed. */
	slot =
	    bf_rng_chance(&r->rng, 600000) ? page / 8 - 1 - bf_rng_below(&r->rng, 8) : bf_rng_below(&r->rng, page / 8);
	prp[1] = lists + list[0] * page + slot * 8;
	for (uint32_t i = 1; i < n; i++) {
		uint8_t *p = r->lists + list[at] * page;

		if (slot == page / 8 - 1 && i + 1 < n) {
			bf_put_le64(p + slot * 8, lists + list[++at] * page);
			p = r->lists + list[at] * page;
			slot = 0;
		}
		bf_put_le64(p + slot++ * 8, area + data[i] * page);
	}
}

/* The address of byte `at`, found from the two fields and memory, byte by byte as the specification tells it. */
static uint64_t where(const struct prp_rig *r, const uint64_t prp[2], uint64_t len, uint64_t at)
{
	const uint64_t page = r->page, first = page - prp[0] % page;
	uint64_t left, list = prp[1], skip;

	if (at < first)
		return prp[0] + at;
	left = len - first;
	skip = (at - first) / page;
	if (left <= page)
		return prp[1] + (at - first);
	for (;;) {
		uint64_t slots = (page - list % page) / 8, pages = (left + page - 1) / page;
		uint64_t usable = pages > slots ? slots - 1 : pages;

		if (skip < usable)
			return bf_get_le64(host_ptr(&r->h, list + skip * 8)) + (at - first) % page;
		skip -= usable;
		left -= usable * page;
		list = bf_get_le64(host_ptr(&r->h, list + usable * 8));
	}
}

static void one_command(struct prp_rig *r, bool write)
{
	const uint32_t most = (AREA_PAGES - 4) * (r->page / 512) < 4096 ? (AREA_PAGES - 4) * (r->page / 512) : 4096;
	const uint32_t blocks = 1 + (uint32_t)bf_rng_below(&r->rng, bf_rng_chance(&r->rng, 300000) ? 24 : most);
	const uint64_t slba = bf_rng_below(&r->rng, DISK / 512 - blocks + 1), len = (uint64_t)blocks * 512;
	const uint64_t area = host_va(&r->h, r->area);
	uint64_t prp[2];

	build(r, len, prp);
	for (uint64_t at = 0; at < len; at += 4) {
		uint8_t *host = r->shadow + (where(r, prp, len, at) - area), *disk = r->disk + slba * 512 + at;

		memcpy(write ? disk : host, write ? host : disk, 4);
	}
	host_rw(&r->h, &r->q, write ? BF_NVME_IO_WRITE : BF_NVME_IO_READ, 1, slba, blocks, prp[0], prp[1]);
	ck_assert_uint_eq(host_do(&r->h, &r->q, NULL), 0);
	ck_assert(!memcmp(r->area, r->shadow, (size_t)AREA_PAGES * r->page));
}

START_TEST(random_layouts)
{
	const uint32_t mps = (uint32_t)_i % 5;
	struct prp_rig r;

	rig_open(&r, 100 + (uint64_t)_i, mps);
	for (uint32_t i = 0; i < 600u >> mps; i++)
		one_command(&r, bf_rng_chance(&r.rng, 500000));
	rig_close(&r);
}
END_TEST

/* 2 MiB behind an offset: a full list page and a chain. */
START_TEST(longest_transfer)
{
	struct prp_rig r;
	uint8_t *data, *back, *list;

	rig_open(&r, 7, 0);
	data = host_alloc(&r.h, (2u << 20) + 4096, 4096);
	back = host_alloc(&r.h, (2u << 20) + 4096, 4096);
	list = host_alloc(&r.h, 8192, 4096);
	for (uint32_t i = 0; i < (2u << 20) + 4096; i += 8)
		bf_put_le64(data + i, bf_rng_next(&r.rng));
	host_rw(&r.h, &r.q, BF_NVME_IO_WRITE, 1, 3, 4096, host_va(&r.h, data) + 1024,
		host_prp2(&r.h, host_va(&r.h, data) + 1024, 2u << 20, 4096, list));
	ck_assert_uint_eq(host_do(&r.h, &r.q, NULL), 0);
	host_rw(&r.h, &r.q, BF_NVME_IO_READ, 1, 3, 4096, host_va(&r.h, back) + 4,
		host_prp2(&r.h, host_va(&r.h, back) + 4, 2u << 20, 4096, list));
	ck_assert_uint_eq(host_do(&r.h, &r.q, NULL), 0);
	ck_assert(!memcmp(data + 1024, back + 4, 2u << 20));
	ck_assert(!bf_get_le32(back));
	for (uint32_t i = 0; i < 1023; i++)
		ck_assert(!bf_get_le32(back + (2u << 20) + 4 + i * 4));
	rig_close(&r);
}
END_TEST

static uint32_t read_status(struct prp_rig *r, uint32_t blocks, uint64_t prp1, uint64_t prp2)
{
	uint32_t status;

	memcpy(r->shadow, r->area, (size_t)AREA_PAGES * r->page);
	host_rw(&r->h, &r->q, BF_NVME_IO_READ, 1, 0, blocks, prp1, prp2);
	status = host_do(&r->h, &r->q, NULL);
	host_rw(&r->h, &r->q, BF_NVME_IO_WRITE, 1, 0, blocks, prp1, prp2);
	ck_assert_uint_eq(host_do(&r->h, &r->q, NULL), status);
	return status;
}

static bool untouched(const struct prp_rig *r)
{
	return !memcmp(r->area, r->shadow, (size_t)AREA_PAGES * r->page);
}

START_TEST(offset_errors)
{
	const uint32_t offset = BF_NVME_SC_PRP_OFFSET | 0x4000u;
	uint64_t area, lists;
	struct prp_rig r;

	rig_open(&r, 8, 0);
	area = host_va(&r.h, r.area);
	lists = host_va(&r.h, r.lists);
	for (uint32_t i = 0; i < 1024; i++)
		bf_put_le64(r.lists + i * 8, area + (i % 16) * 4096);
	for (uint32_t off = 1; off < 4; off++)
		ck_assert_uint_eq(read_status(&r, 1, area + off, 0), offset);
	ck_assert_uint_eq(read_status(&r, 16, area, area + 4096 + 4), offset); /* second page */
	ck_assert_uint_eq(read_status(&r, 16, area, area + 4096 + 512), offset);
	ck_assert_uint_eq(read_status(&r, 17, area, lists + 4), offset); /* list pointer */
	ck_assert(untouched(&r));
	ck_assert_uint_eq(read_status(&r, 17, area, lists + 8), 0); /* which may have an offset */
	bf_put_le64(r.lists + 8, area + 4096 + 512);                /* entry */
	ck_assert_uint_eq(read_status(&r, 24, area, lists), offset);
	bf_put_le64(r.lists + 8, area + 4096);
	bf_put_le64(r.lists + 4088, lists + 4096 + 8); /* chain pointer with an offset */
	ck_assert_uint_eq(read_status(&r, 32, area, lists + 4096 - 16), offset);
	bf_put_le64(r.lists + 4088, lists + 4096);
	ck_assert_uint_eq(read_status(&r, 32, area, lists + 4096 - 16), 0);
	/* Exactly one page left in the last slot: data, not a pointer. */
	bf_put_le64(r.lists + 4088, area + 5 * 4096);
	ck_assert_uint_eq(read_status(&r, 24, area, lists + 4096 - 16), 0);
	rig_close(&r);
}
END_TEST

START_TEST(unreadable)
{
	const uint32_t transfer = BF_NVME_SC_DATA_TRANSFER;
	uint64_t area, lists, end;
	struct prp_rig r;

	rig_open(&r, 9, 0);
	area = host_va(&r.h, r.area);
	lists = host_va(&r.h, r.lists);
	end = r.h.mem->va + r.h.mem->size;
	ck_assert_uint_eq(read_status(&r, 1, end, 0), transfer);
	ck_assert_uint_eq(read_status(&r, 1, 0, 0), transfer);
	ck_assert_uint_eq(read_status(&r, 16, area, end), transfer);
	ck_assert_uint_eq(read_status(&r, 17, area, end), transfer); /* the list */
	ck_assert_uint_eq(read_status(&r, 1, 1ull << 63, 0), transfer);
	ck_assert_uint_eq(read_status(&r, 1, UINT64_MAX & ~3ull, 0), transfer);
	bf_put_le64(r.lists, area + 4096);
	bf_put_le64(r.lists + 8, end);
	ck_assert_uint_eq(read_status(&r, 24, area, lists), transfer);
	/* Only the entries that the transfer uses are fetched: the list may end where memory ends. */
	host_alloc(&r.h, r.h.mem->size - r.h.used, 1);
	bf_put_le64(r.h.mem->bytes + r.h.mem->size - 16, area + 4096);
	bf_put_le64(r.h.mem->bytes + r.h.mem->size - 8, area + 8192);
	ck_assert_uint_eq(read_status(&r, 24, area, end - 16), 0);
	ck_assert_uint_eq(read_status(&r, 32, area, end - 16), transfer);
	rig_close(&r);
}
END_TEST

/* In units of the smallest page, whatever CC.MPS says. */
START_TEST(mdts)
{
	struct bf_nvme_profile p = bf_nvme_instant;
	struct host_opts o = { .mps = (uint32_t)_i, .nvme = { .profile = &p } };
	const uint32_t page = 4096u << _i;
	struct host_queue q;
	struct host h;
	uint8_t *data, *list;

	p.mdts = 5; /* 128 KiB */
	host_open(&h, &o);
	host_queue_open(&h, &q, 1, 16);
	data = host_alloc(&h, 1u << 20, page);
	list = host_alloc(&h, page, page);
	for (uint32_t blocks = 255; blocks <= 257; blocks++) {
		uint64_t prp2 = host_prp2(&h, host_va(&h, data), blocks * 512, page, list);

		host_rw(&h, &q, BF_NVME_IO_READ, 1, 0, blocks, host_va(&h, data), prp2);
		ck_assert_uint_eq(host_do(&h, &q, NULL), blocks <= 256 ? 0 : BF_NVME_SC_INVALID_FIELD | 0x4000u);
	}
	/* Not for commands without data. */
	host_rw(&h, &q, BF_NVME_IO_WRITE_ZEROES, 1, 0, 4096, 0, 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	host_rw(&h, &q, BF_NVME_IO_VERIFY, 1, 0, 4096, 0, 0);
	ck_assert_uint_eq(host_do(&h, &q, NULL), 0);
	host_close(&h);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme_prp");
	TCase *tc = tcase_create("prp");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, random_layouts, 0, 10);
	tcase_add_test(tc, longest_transfer);
	tcase_add_test(tc, offset_errors);
	tcase_add_test(tc, unreadable);
	tcase_add_loop_test(tc, mdts, 0, 5);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
