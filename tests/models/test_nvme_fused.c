/* Fused Compare and Write: results, statuses, order of completions, and that nothing comes between the two. */
#include <check.h>
#include <unistd.h>

#include "tests/models/nvme_host.h"

#define DNR 0x4000u

struct fused_rig {
	struct host h;
	struct host_queue q, other;
	uint8_t *p;
	char path[64];
};

static void rig_open(struct fused_rig *r, const struct bf_nvme_profile *profile, bool file)
{
	struct bf_nvme_ns_opts ns = { .bytes = 1u << 20 };
	struct host_opts o = { .nvme = { .profile = profile, .ns = &ns, .nns = 1 } };
	int fd;

	memset(r, 0, sizeof(*r));
	if (file) {
		snprintf(r->path, sizeof(r->path), "/tmp/belfry-fused-XXXXXX");
		fd = mkstemp(r->path);
		ck_assert_int_ge(fd, 0);
		close(fd);
		ns.file = r->path;
	}
	host_open(&r->h, &o);
	host_queue_open(&r->h, &r->q, 1, 8); /* pairs wrap soon */
	host_queue_open(&r->h, &r->other, 2, 64);
	r->p = host_alloc(&r->h, 1u << 20, 4096);
}

static void rig_close(struct fused_rig *r)
{
	host_close(&r->h);
	if (*r->path)
		unlink(r->path);
}

static struct bf_nvme_sqe *put(struct fused_rig *r, struct host_queue *q, uint8_t opcode, uint32_t fuse, uint64_t slba,
			       uint32_t blocks, const uint8_t *p)
{
	struct bf_nvme_sqe *e = host_rw(&r->h, q, opcode, 1, slba, blocks, host_va(&r->h, p), 0);

	e->flags = (uint8_t)fuse;
	return e;
}

/* Rings, waits, and takes two completions in their order; the slots' identifiers follow each other. */
static void both(struct fused_rig *r, uint32_t first, uint32_t second)
{
	uint16_t cid = (uint16_t)(r->h.next_cid - 2);
	struct bf_nvme_cqe c;

	host_ring(&r->h, &r->q);
	host_run(&r->h);
	ck_assert(host_poll(&r->h, &r->q, &c));
	ck_assert_uint_eq(bf_le16(c.cid), cid);
	ck_assert_uint_eq(host_status(&c), first);
	ck_assert(host_poll(&r->h, &r->q, &c));
	ck_assert_uint_eq(bf_le16(c.cid), cid + 1);
	ck_assert_uint_eq(host_status(&c), second);
	ck_assert(!host_poll(&r->h, &r->q, &c));
}

static void pair(struct fused_rig *r, uint64_t slba, uint32_t blocks, const uint8_t *compare, const uint8_t *write)
{
	put(r, &r->q, BF_NVME_IO_COMPARE, 1, slba, blocks, compare);
	put(r, &r->q, BF_NVME_IO_WRITE, 2, slba, blocks, write);
}

static void expect_bytes(struct fused_rig *r, uint64_t slba, uint8_t value)
{
	put(r, &r->other, BF_NVME_IO_READ, 0, slba, 1, r->p + 65536);
	ck_assert_uint_eq(host_do(&r->h, &r->other, NULL), 0);
	for (uint32_t i = 0; i < 512; i++)
		ck_assert_uint_eq(r->p[65536 + i], value);
}

/* Memory with both profiles, and a file. */
START_TEST(results)
{
	struct fused_rig r;

	rig_open(&r, _i == 1 ? &bf_nvme_970pro : &bf_nvme_instant, _i == 2);
	memset(r.p + 4096, 5, 4096);
	pair(&r, 3, 1, r.p, r.p + 4096); /* zeros are there */
	both(&r, 0, 0);
	expect_bytes(&r, 3, 5);
	for (uint32_t i = 0; i < 10; i++) {
		pair(&r, 3, 1, r.p, r.p + 8192);
		both(&r, BF_NVME_SC_COMPARE | DNR, BF_NVME_SC_FAILED_FUSED);
		expect_bytes(&r, 3, 5);
	}
	for (uint32_t i = 5; i < 20; i++) {
		memset(r.p + 8192, (int)i + 1, 4096);
		memset(r.p + 4096, (int)i, 4096);
		pair(&r, 3, 1, r.p + 4096, r.p + 8192);
		both(&r, 0, 0);
		expect_bytes(&r, 3, (uint8_t)(i + 1));
	}
	rig_close(&r);
}
END_TEST

START_TEST(wrong_pairs)
{
	const uint32_t field = BF_NVME_SC_INVALID_FIELD | DNR, failed = BF_NVME_SC_FAILED_FUSED;
	struct fused_rig r;
	struct bf_nvme_sqe *e;

	rig_open(&r, &bf_nvme_instant, false);
	/* Other commands, other blocks. */
	put(&r, &r.q, BF_NVME_IO_READ, 1, 0, 1, r.p);
	put(&r, &r.q, BF_NVME_IO_WRITE, 2, 0, 1, r.p);
	both(&r, field, field);
	put(&r, &r.q, BF_NVME_IO_COMPARE, 1, 0, 1, r.p);
	put(&r, &r.q, BF_NVME_IO_READ, 2, 0, 1, r.p);
	both(&r, field, field);
	put(&r, &r.q, BF_NVME_IO_COMPARE, 1, 0, 1, r.p);
	put(&r, &r.q, BF_NVME_IO_WRITE, 2, 1, 1, r.p);
	both(&r, field, field);
	put(&r, &r.q, BF_NVME_IO_COMPARE, 1, 0, 1, r.p);
	put(&r, &r.q, BF_NVME_IO_WRITE, 2, 0, 2, r.p);
	both(&r, field, field);
	/* One of them wrong by itself. */
	pair(&r, 2048, 1, r.p, r.p);
	both(&r, BF_NVME_SC_LBA_RANGE | DNR, BF_NVME_SC_LBA_RANGE | DNR);
	put(&r, &r.q, BF_NVME_IO_COMPARE, 1, 0, 1, r.p);
	e = put(&r, &r.q, BF_NVME_IO_WRITE, 2, 0, 1, r.p);
	bf_put_le32(e->cdw12.b, 1u << 26);
	both(&r, failed, BF_NVME_SC_PROTECTION_INFO | DNR);
	put(&r, &r.q, BF_NVME_IO_COMPARE, 1, 0, 1, r.p);
	e = put(&r, &r.q, BF_NVME_IO_WRITE, 2, 0, 1, r.p);
	bf_put_le64(e->prp1.b, 4096);
	both(&r, failed, BF_NVME_SC_DATA_TRANSFER);
	e = put(&r, &r.q, BF_NVME_IO_COMPARE, 1, 0, 1, r.p);
	bf_put_le64(e->prp1.b, 4096);
	put(&r, &r.q, BF_NVME_IO_WRITE, 2, 0, 1, r.p);
	both(&r, BF_NVME_SC_DATA_TRANSFER, failed);
	rig_close(&r);
}
END_TEST

START_TEST(halves)
{
	const uint32_t missing = BF_NVME_SC_MISSING_FUSED | DNR;
	struct bf_nvme_cqe c;
	struct fused_rig r;

	rig_open(&r, &bf_nvme_instant, false);
	put(&r, &r.q, BF_NVME_IO_COMPARE, 1, 0, 1, r.p); /* a doorbell that covers the first only */
	ck_assert_uint_eq(host_do(&r.h, &r.q, &c), missing);
	put(&r, &r.q, BF_NVME_IO_WRITE, 2, 0, 1, r.p);
	ck_assert_uint_eq(host_do(&r.h, &r.q, &c), missing);
	put(&r, &r.q, BF_NVME_IO_COMPARE, 1, 0, 1, r.p); /* something else follows */
	put(&r, &r.q, BF_NVME_IO_READ, 0, 0, 1, r.p);
	both(&r, missing, 0);
	put(&r, &r.q, BF_NVME_IO_WRITE, 3, 0, 1, r.p); /* reserved */
	ck_assert_uint_eq(host_do(&r.h, &r.q, &c), BF_NVME_SC_INVALID_FIELD | DNR);
	rig_close(&r);
}
END_TEST

/*
 * A counter that two queues increment by compare and write, each with several in flight and a stale idea of the value:
 * every success must have seen the value of the one before it.
 */
START_TEST(atomic)
{
	uint32_t successes = 0, value = 0;
	struct fused_rig r;

	rig_open(&r, &bf_nvme_970pro, false);
	for (uint32_t round = 0; round < 200; round++) {
		struct host_queue *queues[2] = { &r.q, &r.other };
		uint32_t won = 0;

		for (uint32_t i = 0; i < 6; i++) {
			struct host_queue *q = queues[i % 2];
			uint8_t *p = r.p + i * 8192u;

			bf_put_le32(p, value);
			bf_put_le32(p + 4096, value + 1);
			put(&r, q, BF_NVME_IO_COMPARE, 1, 9, 1, p);
			put(&r, q, BF_NVME_IO_WRITE, 2, 9, 1, p + 4096);
		}
		host_ring(&r.h, &r.q);
		host_ring(&r.h, &r.other);
		host_run(&r.h);
		for (uint32_t i = 0; i < 2; i++) {
			struct bf_nvme_cqe c;

			while (host_poll(&r.h, queues[i], &c))
				won += host_status(&c) == 0;
		}
		ck_assert_uint_eq(won, 2); /* one pair */
		successes++;
		value++;
	}
	put(&r, &r.other, BF_NVME_IO_READ, 0, 9, 1, r.p);
	ck_assert_uint_eq(host_do(&r.h, &r.other, NULL), 0);
	ck_assert_uint_eq(bf_get_le32(r.p), successes);
	rig_close(&r);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme_fused");
	TCase *tc = tcase_create("fused");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(tc, results, 0, 3);
	tcase_add_test(tc, wrong_pairs);
	tcase_add_test(tc, halves);
	tcase_add_test(tc, atomic);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
