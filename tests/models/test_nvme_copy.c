/* Copy: random ranges against an array, overlaps included; limits and statuses. */
#include <check.h>
#include <unistd.h>

#include "tests/models/nvme_host.h"

#define DNR 0x4000u
#define BLOCKS 16384u
#define BYTES (BLOCKS * 512ull)

struct copy_rig {
	struct host h;
	struct host_queue q;
	struct bf_rng rng;
	uint8_t *p, *list, *ranges, *disk;
	char path[64];
};

static void rig_open(struct copy_rig *r, const struct bf_nvme_profile *profile, bool file, const char *errors)
{
	struct bf_nvme_ns_opts ns = { .bytes = BYTES };
	struct host_opts o = { .nvme = { .profile = profile, .ns = &ns, .nns = 1, .media_errors = errors } };
	int fd;

	memset(r, 0, sizeof(*r));
	if (file) {
		snprintf(r->path, sizeof(r->path), "/tmp/belfry-copy-XXXXXX");
		fd = mkstemp(r->path);
		ck_assert_int_ge(fd, 0);
		close(fd);
		ns.file = r->path;
	}
	host_open(&r->h, &o);
	host_queue_open(&r->h, &r->q, 1, 16);
	bf_rng_init(&r->rng, 1, "copy");
	r->p = host_alloc(&r->h, 1u << 20, 4096);
	r->list = host_alloc(&r->h, 4096, 4096);
	r->ranges = host_alloc(&r->h, 8192, 4096);
	r->disk = malloc(BYTES);
	for (uint64_t at = 0; at < BYTES; at += 8)
		bf_put_le64(r->disk + at, bf_rng_next(&r->rng));
	for (uint64_t at = 0; at < BYTES; at += 4096) {
		memcpy(r->p, r->disk + at, 4096);
		host_rw(&r->h, &r->q, BF_NVME_IO_WRITE, 1, at / 512, 8, host_va(&r->h, r->p), 0);
		if (host_do(&r->h, &r->q, NULL))
			memset(r->disk + at, 0, 4096); /* a rule of the error map */
	}
}

static void rig_close(struct copy_rig *r)
{
	host_close(&r->h);
	free(r->disk);
	if (*r->path)
		unlink(r->path);
}

static void set_range(struct copy_rig *r, uint32_t i, uint64_t slba, uint32_t blocks)
{
	struct bf_nvme_copy_range *c = (struct bf_nvme_copy_range *)(void *)r->ranges + i;

	memset(c, 0, sizeof(*c));
	bf_put_le64(c->slba.b, slba);
	bf_put_le16(c->nlb.b, (uint16_t)(blocks - 1));
}

static uint32_t copy(struct copy_rig *r, uint64_t to, uint32_t n, uint32_t bits, uint32_t *dw0)
{
	struct bf_nvme_sqe *e = host_rw(&r->h, &r->q, BF_NVME_IO_COPY, 1, to, 1, host_va(&r->h, r->ranges),
					host_va(&r->h, r->ranges) + 4096);
	struct bf_nvme_cqe c;
	uint32_t status;

	bf_put_le32(e->cdw12.b, (n - 1) | bits);
	status = host_do(&r->h, &r->q, &c);
	if (dw0)
		*dw0 = bf_le32(c.dw0);
	return status;
}

static void check_disk(struct copy_rig *r)
{
	for (uint64_t at = 0; at < BYTES; at += 1u << 20) {
		host_rw(&r->h, &r->q, BF_NVME_IO_READ, 1, at / 512, 2048, host_va(&r->h, r->p),
			host_prp2(&r->h, host_va(&r->h, r->p), 1u << 20, 4096, r->list));
		ck_assert_uint_eq(host_do(&r->h, &r->q, NULL), 0);
		ck_assert(memcmp(r->p, r->disk + at, 1u << 20) == 0);
	}
}

START_TEST(random_copies)
{
	struct copy_rig r;

	rig_open(&r, _i == 1 ? &bf_nvme_970pro : &bf_nvme_instant, _i == 2, NULL);
	for (uint32_t round = 0; round < 60; round++) {
		uint32_t n = 1 + (uint32_t)bf_rng_below(&r.rng, round % 10 ? 6 : 128), total = 0, length[128];
		uint64_t from[128], to;

		for (uint32_t i = 0; i < n; i++) {
			length[i] = 1 + (uint32_t)bf_rng_below(&r.rng, n > 6 ? 20 : 1200);
			from[i] = bf_rng_below(&r.rng, BLOCKS - length[i] + 1);
			set_range(&r, i, from[i], length[i]);
			total += length[i];
		}
		to = bf_rng_below(&r.rng, BLOCKS - total + 1);
		if (n == 1) /* over itself, one way or the other */
			to = from[0] > 100 ? from[0] - bf_rng_below(&r.rng, 100) : from[0] + bf_rng_below(&r.rng, 100);
		if (to > BLOCKS - total)
			to = BLOCKS - total;
		for (uint32_t i = 0, at = 0; i < n; at += length[i++])
			memmove(r.disk + (to + at) * 512, r.disk + from[i] * 512, length[i] * 512ull);
		ck_assert_uint_eq(copy(&r, to, n, 0, NULL), 0);
	}
	check_disk(&r);
	rig_close(&r);
}
END_TEST

START_TEST(limits)
{
	const uint32_t size = BF_NVME_SC_SIZE_LIMIT | DNR, range = BF_NVME_SC_LBA_RANGE | DNR;
	const uint32_t info = BF_NVME_SC_PROTECTION_INFO | DNR;
	struct copy_rig r;
	uint32_t dw0;

	rig_open(&r, &bf_nvme_instant, false, NULL);
	for (uint32_t i = 0; i < 256; i++)
		set_range(&r, i, i, 1);
	ck_assert_uint_eq(copy(&r, 1000, 129, 0, NULL), size); /* MSRC */
	set_range(&r, 1, 0, 0x8001);                           /* MSSRL */
	ck_assert_uint_eq(copy(&r, 1000, 2, 0, &dw0), size);
	ck_assert_uint_eq(dw0, 1);
	set_range(&r, 0, 0, 16384); /* MCL: the sum */
	set_range(&r, 1, 0, 16384);
	set_range(&r, 2, 0, 1);
	ck_assert_uint_eq(copy(&r, 0, 3, 0, NULL), size);
	set_range(&r, 0, BLOCKS - 1, 1);
	set_range(&r, 1, BLOCKS - 1, 2);
	ck_assert_uint_eq(copy(&r, 0, 2, 0, &dw0), range);
	ck_assert_uint_eq(dw0, 1);
	set_range(&r, 1, UINT64_MAX, 2);
	ck_assert_uint_eq(copy(&r, 0, 2, 0, NULL), range);
	set_range(&r, 0, 0, 2);
	ck_assert_uint_eq(copy(&r, BLOCKS - 1, 1, 0, NULL), range);
	ck_assert_uint_eq(copy(&r, UINT64_MAX, 1, 0, NULL), range);
	ck_assert_uint_eq(copy(&r, 100, 1, 1u << 8, NULL), BF_NVME_SC_INVALID_FIELD | DNR); /* descriptor format */
	ck_assert_uint_eq(copy(&r, 100, 1, 1u << 12, NULL), info);
	ck_assert_uint_eq(copy(&r, 100, 1, 1u << 26, NULL), info);
	check_disk(&r); /* nothing was copied */
	rig_close(&r);
}
END_TEST

/* Media errors of either side: what came before is there, dword 0 tells where it stopped. */
START_TEST(media_errors)
{
	struct copy_rig r;
	uint32_t dw0;

	rig_open(&r, &bf_nvme_instant, false, "read-error 500 count=1; write-error 9000");
	set_range(&r, 0, 100, 4);
	set_range(&r, 1, 498, 4);
	set_range(&r, 2, 200, 4);
	ck_assert_uint_eq(copy(&r, 8000, 3, 0, &dw0), BF_NVME_SC_UNRECOVERED_READ);
	ck_assert_uint_eq(dw0, 1);
	memcpy(r.disk + 8000 * 512, r.disk + 100 * 512, 4 * 512);
	check_disk(&r);
	ck_assert_uint_eq(copy(&r, 9000 - 8, 3, 0, &dw0), BF_NVME_SC_WRITE_FAULT);
	ck_assert_uint_eq(dw0, 2);
	rig_close(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme_copy");
	TCase *tc = tcase_create("copy");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, random_copies, 0, 3);
	tcase_add_test(tc, limits);
	tcase_add_test(tc, media_errors);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
