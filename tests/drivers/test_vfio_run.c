/* Backend "vfio" with the NVMe model behind the stand-in of the kernel: workloads from end to end. */
#include "drivers/nvme/host.h"
#include "drivers/platform/platform_native.h"
#include "tests/drivers/vfio_kernel.h"

#define THREADS 4u
#define DEPTH 4u
#define COMMANDS 16u
#define BYTES 512u

struct rig {
	struct fake *k;
	struct bf_world *world;
	struct bf_nvme_drv_host *host;
	struct bf_nvme_drv_job job;
	struct bf_error err;
	struct bf_world_result result;
};

static struct bf_nvme_drv_room room(struct rig *r, uint64_t bytes)
{
	struct bf_nvme_drv_room out;

	ck_assert_msg(!bf_nvme_drv_host_room(r->host, BF_PLACE_HOST, bytes, "test", &out), "%s", r->err.text);
	return out;
}

static void rig_open(struct rig *r, const char *device)
{
	const struct bf_world_opts opts = options(device);
	const struct bf_nvme_drv_host_opts ho = { .nqps = THREADS, .entries = DEPTH + 1, .timeout_ns = 30000000000u };

	*r = (struct rig){ .k = new_fake() };
	plug_in(r->k);
	ck_assert_msg(!bf_vfio_open(system_of(r->k), &opts, &r->err, &r->world), "%s", r->err.text);
	ck_assert_msg(!bf_nvme_drv_host_open(&bf_backend_vfio, r->world, 0, &ho, &r->err, &r->host), "%s", r->err.text);
	r->job = (struct bf_nvme_drv_job){
		.work = BF_NVME_DRV_VERIFY,
		.ctrl = bf_nvme_drv_host_ctrl(r->host),
		.qps = bf_nvme_drv_host_qps(r->host),
		.shape = { .threads = THREADS,
			   .lanes = 2,
			   .share = 1,
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
	r->job.data = room(r, (uint64_t)THREADS * DEPTH * 4096);
	r->job.request = (void *)room(r, (uint64_t)THREADS * DEPTH * sizeof(struct bf_nvme_drv_request)).vaddr;
	r->job.version = (void *)room(r, (uint64_t)THREADS * COMMANDS * 4).vaddr;
	r->job.result = (void *)room(r, THREADS * sizeof(struct bf_nvme_drv_result)).vaddr;
}

static void rig_run(struct rig *r)
{
	bf_kernel_fn *kernel = bf_nvme_drv_kernels(bf_backend_vfio.platform)->run[r->job.work];

	ck_assert_int_eq(bf_backend_vfio.launch(r->world, 0, 1, THREADS / 2, kernel, &r->job), 0);
	ck_assert_msg(!bf_backend_vfio.run(r->world, &r->result), "%s", r->err.text);
}

static void rig_close(struct rig *r)
{
	bf_backend_vfio.close(r->world);
	unplug(r->k);
	free_fake(r->k);
}

START_TEST(bytes_arrive)
{
	struct rig r;

	rig_open(&r, ways[_i]);
	rig_run(&r);
	ck_assert_int_eq(r.result.end, BF_END_DONE);
	ck_assert_str_eq(r.result.report, "");
	ck_assert_uint_gt(r.result.time_ps, 0);
	for (uint32_t t = 0; t < THREADS; t++) {
		ck_assert_int_eq(r.job.result[t].ended, 1);
		ck_assert_int_eq(r.job.result[t].failure, 0);
		ck_assert_uint_eq(r.job.result[t].mismatches, 0);
		ck_assert_uint_eq(r.job.result[t].completed, COMMANDS * 2 + 1);
	}
	ck_assert_msg(!bf_nvme_drv_host_close(r.host), "%s", r.err.text);
	rig_close(&r);
}
END_TEST

/* An address that nobody mapped: the completion says so, and the report has what the IOMMU said. */
START_TEST(unmapped_memory_is_named)
{
	struct rig r;

	rig_open(&r, ways[_i]);
	r.job.data.ioaddr = 0x5000;
	r.k->no_log = false;
	r.k->messages[0] =
	    "3,1,1,-;DMAR: [DMA Read NO_PASID] Request device [02:00.0] fault addr 0x5000 [fault reason 0x06]";
	r.k->messages[1] =
	    "3,1,1,-;DMAR: [DMA Read NO_PASID] Request device [02:00.0] fault addr 0x5200 [fault reason 0x06]";
	r.k->messages[2] = "3,1,1,-;DMAR: [DMA Write NO_PASID] Request device [02:00.0] fault addr 0x900000000 [...]";
	r.k->nmessages = 3;
	rig_run(&r);
	ck_assert_int_eq(r.job.result[0].failure, 4); /* Data Transfer Error */
	ck_assert(!bf_backend_vfio.reachable(r.world, 0, 0x5000, 1));
	ck_assert_ptr_nonnull(strstr(r.result.report, "a read at 0x5200: nothing was ever mapped there or below\n"));
	ck_assert_ptr_null(strstr(r.result.report, "0x5000"));
	ck_assert_ptr_nonnull(strstr(r.result.report,
				     "a write at 0x900000000: nothing was ever mapped there; the memory "
				     "below it, 'test', ends at 0x"));
	bf_nvme_drv_host_abandon(r.host);
	rig_close(&r);
}
END_TEST

static void spin_for_ever(struct bf_thread *t, void *arg)
{
	while (!__atomic_load_n((uint32_t *)arg, __ATOMIC_RELAXED))
		bf_spin(t, arg, "what never comes");
}

/* Threads that do not end are told to, and the report says who they were; and that nobody can read the log. */
START_TEST(the_limit_strikes)
{
	struct fake *k = new_fake();
	struct bf_world_opts opts = options(NULL);
	struct bf_world_result result;
	struct bf_error err = { 0 };
	struct bf_world *w;
	uint32_t never = 0;

	k->no_log = true;
	opts.limit_ps = BF_MS;
	ck_assert_int_eq(bf_vfio_open(system_of(k), &opts, &err, &w), 0);
	ck_assert_int_eq(bf_backend_vfio.launch_cpu(w, 0, 1, spin_for_ever, &never), 0);
	ck_assert_int_eq(bf_backend_vfio.run(w, &result), 0);
	ck_assert_int_eq(result.end, BF_END_LIMIT);
	ck_assert_ptr_nonnull(strstr(result.report, "pe0.cpu0 waits for what never comes"));
	ck_assert_ptr_nonnull(strstr(result.report, "/dev/kmsg: Operation not permitted"));
	bf_backend_vfio.close(w);
	free_fake(k);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("vfio_run");
	TCase *tc = tcase_create("vfio_run");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, bytes_arrive, 0, 2);
	tcase_add_loop_test(tc, unmapped_memory_is_named, 0, 2);
	tcase_add_test(tc, the_limit_strikes);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
