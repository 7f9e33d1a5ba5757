/*
 * NVSHMEM-style workloads on the models: each promise holds under every ordering, with lost packets and odd numbers of
 * PEs; each that is broken shows; and the check sees damage.
 */
#include <check.h>
#include <errno.h>

#include "drivers/backend/backend.h"
#include "drivers/ibgda/host.h"
#include "drivers/ibgda/shmem.h"
#include "models/mlx5/mlx5.h"

#define PES_MAX 8u

struct rig {
	struct bf_shmem_shape shape;
	struct bf_world_opts world;
	struct bf_ibgda_host_opts host;
	/* What run() fills in. */
	struct bf_world_result result;
	struct bf_ibgda_mismatch bad;
	uint64_t bytes;
	struct bf_shmem_job job[PES_MAX];
	void *heap[PES_MAX];
	struct bf_error err;
	const struct bf_backend *be;
	struct bf_world *w;
	struct bf_ibgda_host *h;
};

static struct rig rig_of(enum bf_shmem_work work)
{
	struct rig r = {
		.shape = bf_shmem_shape_default,
		.world = { .seed = 1, .npes = 3, .limit_ps = BF_S, .ordering = BF_ORDER_GPU },
		.host = { .num_rc_per_pe = 2, .qp_depth = 64, .batch = 16 },
	};

	r.shape.work = work;
	r.shape.warps = 2;
	r.shape.max_bytes = 256;
	r.shape.step = 8;
	return r;
}

static void rig_open(struct rig *r)
{
	struct bf_shmem_layout at;

	r->be = bf_backend_find("sim");
	ck_assert_msg(!bf_shmem_shape_check(&r->shape, r->world.npes, &r->err), "%s", r->err.text);
	bf_shmem_layout(&r->shape, r->world.npes, &at);
	r->host.heap_bytes = at.end;
	ck_assert_msg(!r->be->open(&r->world, &r->err, &r->w), "%s", r->err.text);
	ck_assert_msg(!bf_ibgda_host_open(r->be, r->w, r->world.npes, &r->host, &r->err, &r->h), "%s", r->err.text);
	for (uint32_t pe = 0; pe < r->world.npes; pe++) {
		r->job[pe] = (struct bf_shmem_job){ bf_ibgda_host_state(r->h, pe), r->shape, at };
		r->heap[pe] = bf_ibgda_host_heap(r->h, pe).ptr;
		ck_assert_int_eq(r->be->launch(r->w, pe, r->shape.blocks, r->shape.warps,
					       bf_shmem_kernel(BF_PLATFORM_SIM), &r->job[pe]),
				 0);
	}
	bf_shmem_prepare(&r->shape, r->world.npes, r->heap);
}

static int rig_verify(struct rig *r)
{
	r->bytes = 0;
	return bf_shmem_verify(&r->shape, r->world.npes, r->heap, &r->bad, &r->bytes);
}

static void rig_close(struct rig *r)
{
	bf_ibgda_host_close(r->h);
	r->be->close(r->w);
}

static bool rig_run(struct rig *r)
{
	bool good;

	rig_open(r);
	ck_assert_msg(!r->be->run(r->w, &r->result), "%s", r->err.text);
	good = r->result.end == BF_END_DONE && rig_verify(r) == 0;
	rig_close(r);
	return good;
}

#define GOOD(r)                                                                                                        \
	ck_assert_msg(rig_run(r), "work %d, ordering %d: end %d: %s\n%.800s", (r)->shape.work, (r)->world.ordering,    \
		      (r)->result.end, (r)->bad.text, (r)->result.report)

START_TEST(promises_hold)
{
	for (enum bf_shmem_work work = BF_SHMEM_PUT; work < BF_SHMEM_WORKS; work++)
		for (enum bf_ordering o = BF_ORDER_SC; o <= BF_ORDER_ADVERSARIAL; o++) {
			struct rig r = rig_of(work);

			r.world.ordering = o;
			GOOD(&r);
			ck_assert_uint_gt(r.bytes, 0);
		}
}
END_TEST

START_TEST(packets_get_lost)
{
	for (enum bf_shmem_work work = BF_SHMEM_PUT; work < BF_SHMEM_PUT_LATENCY; work++) {
		struct rig r = rig_of(work);

		r.world.faults = "drop prob=0.02; duplicate prob=0.02";
		r.host.ack_timeout = 4;
		r.shape.bytes = 1024;
		GOOD(&r);
	}
}
END_TEST

/* One more than a power of two in a tree, two in a ring, several blocks. */
START_TEST(odd_shapes)
{
	struct rig r = rig_of(BF_SHMEM_BROADCAST);

	r.world.npes = 5;
	GOOD(&r);
	r.shape.work = BF_SHMEM_RING;
	r.shape.blocks = 3;
	GOOD(&r);
	r.world.npes = 2;
	GOOD(&r);
	r.world.npes = 8;
	r.shape.blocks = 1;
	r.shape.warps = 1;
	r.shape.work = BF_SHMEM_ALLTOALL;
	GOOD(&r);
	r.shape.work = BF_SHMEM_BARRIER;
	r.host.num_rc_per_pe = 1;
	GOOD(&r);
}
END_TEST

/* A broken promise shows under one of some seeds: only where packets are late, so some are lost. */
static void fails(enum bf_shmem_work work, uint32_t bug, uint32_t rounds)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct rig r = rig_of(work);

		r.world.seed = seed;
		r.world.faults = "drop prob=0.05";
		r.host.ack_timeout = 4;
		r.shape.bytes = 4096;
		r.shape.rounds = rounds;
		GOOD(&r);
		r.shape.bugs = bug;
		if (!rig_run(&r)) {
			ck_assert_int_eq(r.result.end, BF_END_DONE);
			return;
		}
	}
	ck_abort_msg("bug 0x%x is not seen", bug);
}

START_TEST(mistakes_show)
{
	fails(BF_SHMEM_FENCE, BF_SHMEM_BUG_NO_FENCE, 8);
	fails(BF_SHMEM_QUIET, BF_SHMEM_BUG_NO_QUIET, 8);
	fails(BF_SHMEM_PUT_SIGNAL, BF_SHMEM_BUG_SIGNAL_FIRST, 1); /* later rounds bring the same bytes */
	fails(BF_SHMEM_BARRIER, BF_SHMEM_BUG_SYNC_ONLY, 8);
}
END_TEST

START_TEST(check_sees_damage)
{
	for (enum bf_shmem_work work = BF_SHMEM_PUT; work < BF_SHMEM_PUT_LATENCY; work++) {
		struct rig r = rig_of(work);
		const struct bf_shmem_layout *at = &r.job[1].at;
		uint8_t *p;

		rig_open(&r);
		ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
		ck_assert_int_eq(rig_verify(&r), 0);
		p = (uint8_t *)r.heap[1];
		switch (work) {
		case BF_SHMEM_PUT:
		case BF_SHMEM_GET:
		case BF_SHMEM_ALLTOALL:
			p += at->dst + 2 * 2 * at->stride + 63;
			break;
		case BF_SHMEM_PUT_SIGNAL:
		case BF_SHMEM_RING:
			p += at->out + 2 * 2 * at->stride + 63;
			break;
		case BF_SHMEM_BROADCAST:
			p += at->out + 63;
			break;
		default:
			p += at->value;
			break;
		}
		*p ^= 1;
		ck_assert_msg(rig_verify(&r) == -EBADMSG, "work %d", work);
		ck_assert_uint_eq(r.bad.pe, 1);
		rig_close(&r);
	}
}
END_TEST

/* A put takes at least two ways over the wire, and a large one what the wire takes for it: 400 Gb/s are 50 GB/s. */
START_TEST(times_make_sense)
{
	struct rig r = rig_of(BF_SHMEM_PUT_LATENCY);
	const uint8_t *times;

	r.world.ordering = BF_ORDER_SC;
	r.shape.min_bytes = 4;
	r.shape.max_bytes = 1u << 20;
	r.shape.step = 1u << 18;
	rig_open(&r);
	ck_assert_int_eq(r.be->run(r.w, &r.result), 0);
	ck_assert_int_eq(rig_verify(&r), 0);
	times = (const uint8_t *)r.heap[0] + r.job[0].at.times;
	ck_assert_uint_gt(bf_get_le64(times), r.shape.rounds * 1000ull);
	ck_assert_uint_lt(bf_get_le64(times), r.shape.rounds * 10000ull);
	ck_assert_uint_gt(bf_get_le64(times + 8), r.shape.rounds * (1u << 20) / 50ull);
	ck_assert_uint_lt(bf_get_le64(times + 8), r.shape.rounds * (1u << 20) / 30ull);
	rig_close(&r);
}
END_TEST

START_TEST(what_does_not_fit_is_refused)
{
	struct bf_shmem_shape s = bf_shmem_shape_default;
	struct bf_error err = { 0 };

	ck_assert_int_eq(bf_shmem_shape_check(&s, 1, &err), -EINVAL);
	s.bytes = 24;
	ck_assert_int_eq(bf_shmem_shape_check(&s, 2, &err), -EINVAL);
	s = bf_shmem_shape_default;
	s.rounds = 0;
	ck_assert_int_eq(bf_shmem_shape_check(&s, 2, &err), -EINVAL);
	s = bf_shmem_shape_default;
	s.work = BF_SHMEM_PUT_BW;
	s.min_bytes = 12;
	ck_assert_int_eq(bf_shmem_shape_check(&s, 2, &err), -EINVAL);
	s.min_bytes = 4;
	s.step = 1;
	ck_assert_int_eq(bf_shmem_shape_check(&s, 2, &err), -EINVAL);
	s.step = 4;
	ck_assert_int_eq(bf_shmem_shape_check(&s, 2, &err), 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { promises_hold,
				       packets_get_lost,
				       odd_shapes,
				       mistakes_show,
				       check_sees_damage,
				       times_make_sense,
				       what_does_not_fit_is_refused };
	Suite *s = suite_create("shmem_run");
	TCase *tc = tcase_create("shmem_run");
	SRunner *sr;
	int failed;

	for (size_t i = 0; i < BF_ARRAY_LEN(tests); i++)
		tcase_add_test(tc, tests[i]);
	tcase_set_timeout(tc, 120);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
