/*
 * SGLs: thousands of random lists, of any alignment, with bit buckets and chained segments, against a walker that knows
 * nothing of the model's; then each error by itself.
 */
#include <check.h>

#include "tests/models/nvme_host.h"

#define DISK (4u << 20)
#define AREA (1u << 20)  /* data */
#define LISTS (1u << 20) /* segments */
#define DNR 0x4000u

struct sgl_rig {
	struct host h;
	struct host_queue q;
	struct bf_rng rng;
	uint8_t *area, *lists, *shadow, *disk;
	uint64_t lists_used;
};

static void rig_open(struct sgl_rig *r, uint64_t seed)
{
	const struct bf_nvme_ns_opts ns = { .bytes = DISK, .lba = BF_NVME_LBA_512 };
	struct host_opts o = { .seed = seed, .nvme = { .profile = &bf_nvme_instant, .ns = &ns, .nns = 1 } };

	memset(r, 0, sizeof(*r));
	host_open(&r->h, &o);
	host_queue_open(&r->h, &r->q, 1, 16);
	bf_rng_init(&r->rng, seed, "sgl");
	r->area = host_alloc(&r->h, AREA, 4096);
	r->lists = host_alloc(&r->h, LISTS, 4096);
	r->shadow = malloc(AREA);
	r->disk = calloc(1, DISK);
	for (uint32_t i = 0; i < AREA; i += 8)
		bf_put_le64(r->area + i, bf_rng_next(&r->rng));
	memcpy(r->shadow, r->area, AREA);
}

static void rig_close(struct sgl_rig *r)
{
	host_close(&r->h);
	free(r->shadow);
	free(r->disk);
}

static struct bf_nvme_sgl descriptor(uint32_t type, uint64_t addr, uint32_t len)
{
	struct bf_nvme_sgl s = { .type = (uint8_t)(type << 4) };

	bf_put_le64(s.addr.b, addr);
	bf_put_le32(s.len.b, len);
	return s;
}

/* Descriptors for `len` bytes: blocks one after the other through the area, so that no byte is named twice. */
static uint32_t make_blocks(struct sgl_rig *r, struct bf_nvme_sgl *out, uint64_t len, bool write)
{
	uint64_t at = host_va(&r->h, r->area) + bf_rng_below(&r->rng, 4096);
	uint32_t n = 0;

	while (len) {
		uint64_t most = bf_rng_chance(&r->rng, 500000) ? 700 : 40000, part = 1 + bf_rng_below(&r->rng, most);

		part = part < len && n < 500 ? part : len;
		if (bf_rng_chance(&r->rng, 100000))
			out[n++] = descriptor(BF_NVME_SGL_DATA, 0, 0); /* describes nothing */
		if (bf_rng_chance(&r->rng, 200000)) {
			out[n++] = descriptor(BF_NVME_SGL_BUCKET, bf_rng_next(&r->rng), (uint32_t)part);
			len -= write ? 0 : part;
			continue;
		}
		out[n++] = descriptor(BF_NVME_SGL_DATA, at, (uint32_t)part);
		at += part + bf_rng_below(&r->rng, 300);
		len -= part;
	}
	if (bf_rng_chance(&r->rng, 200000)) /* longer than the data */
		out[n++] = descriptor(BF_NVME_SGL_DATA, at, 1 + (uint32_t)bf_rng_below(&r->rng, 5000));
	return n;
}

/* Puts the descriptors into segments of random lengths; the command's descriptor is the first's. */
static struct bf_nvme_sgl make_segments(struct sgl_rig *r, const struct bf_nvme_sgl *s, uint32_t n)
{
	struct bf_nvme_sgl first = { 0 }, *pointer = &first;

	r->lists_used = 0;
	if (n == 1 && bf_rng_chance(&r->rng, 500000))
		return s[0];
	while (n) {
		uint32_t most = bf_rng_chance(&r->rng, 500000) ? 6 : 200,
			 part = 1 + (uint32_t)bf_rng_below(&r->rng, most);
		bool last = part >= n;
		struct bf_nvme_sgl *segment = (void *)(r->lists + r->lists_used);

		part = last ? n : part;
		*pointer = descriptor(last ? BF_NVME_SGL_LAST_SEGMENT : BF_NVME_SGL_SEGMENT, host_va(&r->h, segment),
				      (part + !last) * 16);
		memcpy(segment, s, part * sizeof(*s));
		pointer = segment + part;
		s += part;
		n -= part;
		r->lists_used += (part + 1) * 16 + bf_rng_below(&r->rng, 100) * 8;
		ck_assert(r->lists_used < LISTS - 65536);
	}
	return first;
}

/* Moves the command's bytes between `disk` and the shadow, descriptor by descriptor. */
static void walk(struct sgl_rig *r, struct bf_nvme_sgl s, uint8_t *disk, uint64_t *left, bool write)
{
	const uint32_t type = s.type >> 4;
	uint64_t addr = bf_le64(s.addr), len = bf_le32(s.len);

	if (type == BF_NVME_SGL_SEGMENT || type == BF_NVME_SGL_LAST_SEGMENT) {
		for (uint64_t i = 0; i < len; i += 16) {
			uint64_t before = *left;

			memcpy(&s, host_ptr(&r->h, addr + i), 16);
			walk(r, s, disk, left, write);
			disk += before - *left;
		}
		return;
	}
	if (type == BF_NVME_SGL_BUCKET && write)
		return;
	len = len < *left ? len : *left;
	*left -= len;
	if (type == BF_NVME_SGL_BUCKET || !len)
		return;
	memcpy(write ? disk : r->shadow + (addr - host_va(&r->h, r->area)),
	       write ? r->shadow + (addr - host_va(&r->h, r->area)) : disk, len);
}

static uint32_t command(struct sgl_rig *r, uint8_t opcode, uint64_t slba, uint32_t blocks, struct bf_nvme_sgl s)
{
	struct bf_nvme_sqe *e = host_rw(&r->h, &r->q, opcode, 1, slba, blocks, 0, 0);

	e->flags = (uint8_t)(1u << 6);
	memcpy(&e->prp1, &s, sizeof(s));
	return host_do(&r->h, &r->q, NULL);
}

START_TEST(random_lists)
{
	struct bf_nvme_sgl blocks[1200];
	struct sgl_rig r;

	rig_open(&r, 200 + (uint64_t)_i);
	for (uint32_t i = 0; i < 300; i++) {
		bool write = bf_rng_chance(&r.rng, 500000);
		uint32_t nlb = 1 + (uint32_t)bf_rng_below(&r.rng, bf_rng_chance(&r.rng, 500000) ? 16 : 600);
		uint64_t slba = bf_rng_below(&r.rng, DISK / 512 - nlb + 1), left = nlb * 512ull;
		uint32_t n = make_blocks(&r, blocks, left, write);
		struct bf_nvme_sgl s = make_segments(&r, blocks, n);

		walk(&r, s, r.disk + slba * 512, &left, write);
		ck_assert_uint_eq(left, 0);
		ck_assert_uint_eq(command(&r, write ? BF_NVME_IO_WRITE : BF_NVME_IO_READ, slba, nlb, s), 0);
		ck_assert(!memcmp(r.area, r.shadow, AREA));
	}
	rig_close(&r);
}
END_TEST

/* Read and Write with the same list; both must say `status` and move nothing that the list does not name. */
static void expect(struct sgl_rig *r, struct bf_nvme_sgl s, uint32_t status)
{
	memcpy(r->shadow, r->area, AREA);
	ck_assert_uint_eq(command(r, BF_NVME_IO_READ, 0, 4, s), status);
	ck_assert(!memcmp(r->area, r->shadow, AREA));
	ck_assert_uint_eq(command(r, BF_NVME_IO_WRITE, 0, 4, s), status);
	ck_assert_uint_eq(command(r, BF_NVME_IO_COMPARE, 0, 4, s), status);
}

/* A segment of `n` descriptors at the start of the lists, as a last or another one. */
static struct bf_nvme_sgl segment(struct sgl_rig *r, const struct bf_nvme_sgl *s, uint32_t n, bool last)
{
	memcpy(r->lists, s, n * sizeof(*s));
	return descriptor(last ? BF_NVME_SGL_LAST_SEGMENT : BF_NVME_SGL_SEGMENT, host_va(&r->h, r->lists), n * 16);
}

START_TEST(errors)
{
	struct sgl_rig r;
	struct bf_nvme_sgl s, list[4];
	uint64_t area, lists, end;

	rig_open(&r, 1);
	area = host_va(&r.h, r.area);
	lists = host_va(&r.h, r.lists);
	end = r.h.mem->va + r.h.mem->size;
	/* Types and subtypes. */
	for (uint32_t type = 4; type < 16; type++)
		expect(&r, descriptor(type, area, 2048), BF_NVME_SC_SGL_TYPE | DNR);
	s = descriptor(BF_NVME_SGL_DATA, area, 2048);
	s.type |= 1;
	expect(&r, s, BF_NVME_SC_SGL_TYPE | DNR);
	list[0] = descriptor(BF_NVME_SGL_DATA, area, 1024);
	list[1] = descriptor(5, area, 1024);
	expect(&r, segment(&r, list, 2, true), BF_NVME_SC_SGL_TYPE | DNR);
	/* Lengths. */
	expect(&r, descriptor(BF_NVME_SGL_DATA, area, 2047), BF_NVME_SC_SGL_LENGTH | DNR);
	list[1] = descriptor(BF_NVME_SGL_DATA, area, 1023);
	expect(&r, segment(&r, list, 2, true), BF_NVME_SC_SGL_LENGTH | DNR);
	/* Segment descriptors: length, address. */
	expect(&r, descriptor(BF_NVME_SGL_SEGMENT, lists, 0), BF_NVME_SC_SGL_SEGMENT | DNR);
	expect(&r, descriptor(BF_NVME_SGL_LAST_SEGMENT, lists, 24), BF_NVME_SC_SGL_SEGMENT | DNR);
	expect(&r, descriptor(BF_NVME_SGL_LAST_SEGMENT, lists + 4, 16), BF_NVME_SC_SGL_SEGMENT | DNR);
	/* A segment in a last segment; none in one that is not the last; one that is not at the end. */
	list[1] = descriptor(BF_NVME_SGL_LAST_SEGMENT, lists + 1024, 16);
	expect(&r, segment(&r, list, 2, true), BF_NVME_SC_SGL_SEGMENT | DNR);
	list[1] = descriptor(BF_NVME_SGL_DATA, area, 512);
	expect(&r, segment(&r, list, 2, false), BF_NVME_SC_SGL_SEGMENT | DNR);
	list[1] = descriptor(BF_NVME_SGL_LAST_SEGMENT, lists + 1024, 16);
	list[2] = descriptor(BF_NVME_SGL_DATA, area, 1024);
	expect(&r, segment(&r, list, 3, false), BF_NVME_SC_SGL_COUNT | DNR);
	expect(&r, segment(&r, list, 3, true), BF_NVME_SC_SGL_COUNT | DNR);
	/* Segments that go round in circles. */
	list[0] = descriptor(BF_NVME_SGL_SEGMENT, lists, 16);
	expect(&r, segment(&r, list, 1, false), BF_NVME_SC_SGL_COUNT | DNR);
	/* Memory that is not there. */
	expect(&r, descriptor(BF_NVME_SGL_DATA, end, 2048), BF_NVME_SC_DATA_TRANSFER);
	expect(&r, descriptor(BF_NVME_SGL_DATA, end - 1024, 2048), BF_NVME_SC_DATA_TRANSFER);
	expect(&r, descriptor(BF_NVME_SGL_LAST_SEGMENT, end, 16), BF_NVME_SC_DATA_TRANSFER);
	rig_close(&r);
}
END_TEST

START_TEST(selectors)
{
	struct bf_nvme_sgl s;
	struct bf_nvme_sqe *e;
	struct sgl_rig r;

	rig_open(&r, 2);
	s = descriptor(BF_NVME_SGL_DATA, host_va(&r.h, r.area), 4096);
	for (uint32_t psdt = 1; psdt < 4; psdt++) {
		e = host_rw(&r.h, &r.q, BF_NVME_IO_READ, 1, 0, 8, 0, 0);
		e->flags = (uint8_t)(psdt << 6);
		memcpy(&e->prp1, &s, sizeof(s));
		ck_assert_uint_eq(host_do(&r.h, &r.q, NULL), psdt == 3 ? BF_NVME_SC_INVALID_FIELD | DNR : 0);
		/* Admin commands use PRPs only. */
		e = host_slot(&r.h, &r.h.admin, BF_NVME_ADM_IDENTIFY, 0);
		e->flags = (uint8_t)(psdt << 6);
		memcpy(&e->prp1, &s, sizeof(s));
		bf_put_le32(e->cdw10.b, 1);
		ck_assert_uint_eq(host_do(&r.h, &r.h.admin, NULL), BF_NVME_SC_INVALID_FIELD | DNR);
	}
	rig_close(&r);
}
END_TEST

/* A read into nothing at all. */
START_TEST(bucket)
{
	struct sgl_rig r;

	rig_open(&r, 3);
	ck_assert_uint_eq(command(&r, BF_NVME_IO_READ, 0, 8, descriptor(BF_NVME_SGL_BUCKET, 0, 4096)), 0);
	ck_assert(!memcmp(r.area, r.shadow, AREA));
	ck_assert_uint_eq(command(&r, BF_NVME_IO_WRITE, 0, 8, descriptor(BF_NVME_SGL_BUCKET, 0, 4096)),
			  BF_NVME_SC_SGL_LENGTH | DNR);
	rig_close(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme_sgl");
	TCase *tc = tcase_create("sgl");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, random_lists, 0, 10);
	tcase_add_test(tc, errors);
	tcase_add_test(tc, selectors);
	tcase_add_test(tc, bucket);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
