/*
 * The NVMe driver on real threads against the model on its loop's thread: private and shared queue pairs, GPU warps and
 * CPU threads, and a doorbell that another thread rings. Built for ThreadSanitizer too.
 */
#include <check.h>
#include <stdlib.h>

#include "drivers/backend/nvme_world.h"
#include "drivers/nvme/host.h"
#include "models/nvme/nvme.h"
#include "sim/sim.h"

#define BYTES 512u
#define COMMANDS 24u
#define DEPTH 4u

struct rig {
	const struct bf_backend *be;
	struct bf_world *world;
	struct bf_nvme_drv_host *host;
	struct bf_nvme_drv_job job;
	struct bf_error err;
	uint32_t threads, share;
};

static struct bf_nvme_drv_room room(struct rig *r, uint64_t bytes)
{
	struct bf_nvme_drv_room out;

	ck_assert_msg(!bf_nvme_drv_host_room(r->host, BF_PLACE_HOST, bytes, "test", &out), "%s", r->err.text);
	return out;
}

static void rig_open(struct rig *r, enum bf_nvme_drv_work work, uint32_t threads, uint32_t share, bool dbbuf)
{
	const struct bf_world_opts world = { .seed = 1,
					     .devices = BF_DEVICE_NVME,
					     .device_opts[BF_DEVICE_AT_NVME] =
						 &(struct bf_nvme_world_opts){ .profile = &bf_nvme_instant },
					     .npes = 1,
					     .limit_ps = 60 * BF_S };
	const struct bf_nvme_drv_host_opts opts = { .nqps = threads / share,
						    .entries = share * DEPTH + 1,
						    .cids = share > 1 ? share * DEPTH : 0,
						    .dbbuf = dbbuf,
						    .timeout_ns = 30000000000u };

	*r = (struct rig){ .be = bf_backend_find("live"), .threads = threads, .share = share };
	ck_assert_msg(!r->be->open(&world, &r->err, &r->world), "%s", r->err.text);
	ck_assert_msg(!bf_nvme_drv_host_open(r->be, r->world, 0, &opts, &r->err, &r->host), "%s", r->err.text);
	r->job = (struct bf_nvme_drv_job){
		.work = work,
		.ctrl = bf_nvme_drv_host_ctrl(r->host),
		.qps = bf_nvme_drv_host_qps(r->host),
		.shape = { .threads = threads,
			   .lanes = 1,
			   .share = share,
			   .depth = DEPTH,
			   .batch = 2,
			   .commands = COMMANDS,
			   .bytes = BYTES,
			   .span = COMMANDS,
			   .check = 1,
			   .seed = 3 },
		.requests = DEPTH,
		.slots = DEPTH,
		.data_stride = 4096,
	};
	r->job.data = room(r, (uint64_t)threads * DEPTH * 4096);
	r->job.request = (void *)room(r, (uint64_t)threads * DEPTH * sizeof(struct bf_nvme_drv_request)).vaddr;
	r->job.version = (void *)room(r, (uint64_t)threads * COMMANDS * 4).vaddr;
	r->job.result = (void *)room(r, threads * sizeof(struct bf_nvme_drv_result)).vaddr;
}

static void rig_run(struct rig *r, bool cpu, uint64_t commands)
{
	const struct bf_nvme_drv_kernels *k = bf_nvme_drv_kernels(r->be->platform);
	struct bf_world_result result;

	r->job.shape.lanes = cpu ? 1 : r->threads / 2;
	if (cpu)
		ck_assert_int_eq(r->be->launch_cpu(r->world, 0, r->threads, k->run[r->job.work], &r->job), 0);
	else
		ck_assert_int_eq(r->be->launch(r->world, 0, 1, 2, k->run[r->job.work], &r->job), 0);
	if (r->job.mailbox)
		ck_assert_int_eq(r->be->launch(r->world, 0, 1, 1, k->ring, &r->job), 0);
	ck_assert_msg(!r->be->run(r->world, &result), "%s", r->err.text);
	ck_assert_msg(result.end == BF_END_DONE, "%s", result.report);
	for (uint32_t t = 0; t < r->threads; t++) {
		ck_assert_int_eq(r->job.result[t].ended, 1);
		ck_assert_int_eq(r->job.result[t].failure, 0);
		ck_assert_uint_eq(r->job.result[t].mismatches, 0);
		ck_assert_uint_eq(r->job.result[t].completed, commands);
	}
	ck_assert_msg(!bf_nvme_drv_host_close(r->host), "%s", r->err.text);
	r->be->close(r->world);
}

/* Bits of the loop's number: on the CPU, shared, with shadow doorbells. */
START_TEST(threads_verify_what_they_wrote)
{
	const uint32_t share = _i & 2 ? 4 : 1;
	struct rig r;

	rig_open(&r, BF_NVME_DRV_VERIFY, 8, share, _i & 4);
	rig_run(&r, _i & 1, COMMANDS * 2 + 1);
}
END_TEST

START_TEST(a_mix_is_right)
{
	struct rig r;

	rig_open(&r, BF_NVME_DRV_MIXED, 4, 2, false);
	rig_run(&r, _i, COMMANDS);
}
END_TEST

START_TEST(another_thread_rings_the_doorbell)
{
	struct rig r;

	rig_open(&r, BF_NVME_DRV_ADMIN, 1, 1, false);
	r.job.mailbox = (void *)room(&r, 4).vaddr;
	rig_run(&r, true, COMMANDS);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("nvme live");
	TCase *tc = tcase_create("live");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 240);
	tcase_add_loop_test(tc, threads_verify_what_they_wrote, 0, 8);
	tcase_add_loop_test(tc, a_mix_is_right, 0, 2);
	tcase_add_test(tc, another_thread_rings_the_doorbell);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
