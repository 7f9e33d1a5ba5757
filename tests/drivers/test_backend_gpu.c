/* Placements in a GPU's VRAM and its registers, as drivers meet them through the backends. */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "drivers/backend/backend.h"
#include "drivers/platform/platform_sim.h"
#include "models/gpu/gpu.h"
#include "sim/stats.h"

static struct bf_error err;
static struct bf_world *world;
static const struct bf_backend *be;

static void open_world(const char *name, const struct bf_gpu_profile *gpu)
{
	const struct bf_world_opts opts = {
		.seed = 1, .npes = 2, .limit_ps = BF_S, .devices = BF_DEVICE_NVME, .ordering = BF_ORDER_SC, .gpu = gpu
	};

	be = bf_backend_find(name);
	ck_assert_msg(!be->open(&opts, &err, &world), "%s", err.text);
}

static void count(void *arg, const char *name, const char *unit, const uint64_t *counter, const struct bf_hist *hist)
{
	(void)unit;
	(void)hist;
	if (counter && !strcmp(name, "gpu0.write_backs"))
		*(uint64_t *)arg = *counter;
}

struct job {
	struct bf_memory cached, uncached, coherent;
	uint8_t *regs;
	bool unseen, seen;
};

/* The host stores through the BAR; the GPU looks before and after it was made to. */
static void cpu_kernel(struct bf_thread *t, void *arg)
{
	struct job *j = arg;
	const uint32_t request = (uint32_t)(BF_FIELD_PREP(BF_GPU_INVALIDATE_FLUSH_TYPE, BF_GPU_FLUSH_HEAVYWEIGHT) |
					    BF_FIELD_PREP(BF_GPU_INVALIDATE_VMIDS, 2));

	bf_st_relaxed32(t, j->uncached.ptr, 5, BF_AT_SYS);
	bf_st_release32(t, j->coherent.ptr, 1, BF_AT_SYS);
	bf_pause(t, 100000);
	bf_mmio_st32(t, j->regs + BF_GPU_GCVM_INVALIDATE_ENG17_REQ, request);
	while (bf_mmio_ld32(t, j->regs + BF_GPU_GCVM_INVALIDATE_ENG17_ACK) != 2)
		bf_pause(t, 1000);
	bf_st_release32(t, j->coherent.ptr, 2, BF_AT_SYS);
}

static void gpu_kernel(struct bf_thread *t, void *arg)
{
	struct job *j = arg;

	if (bf_lane(t))
		return;
	while (bf_ld_acquire32(t, j->coherent.ptr, BF_AT_SYS) < 1)
		bf_spin(t, j->coherent.ptr, "the host's store");
	j->unseen = !bf_ld_relaxed32(t, j->uncached.ptr, BF_AT_SYS);
	bf_st_weak32(t, j->cached.ptr, 9);
	bf_fence_gpu(t);
	while (bf_ld_acquire32(t, j->coherent.ptr, BF_AT_SYS) < 2)
		bf_spin(t, j->coherent.ptr, "the invalidation");
	j->seen = bf_ld_relaxed32(t, j->uncached.ptr, BF_AT_SYS) == 5;
	j->unseen &= !bf_get_le32(j->cached.ptr);
	bf_fence_sys(t);
	j->seen &= bf_get_le32(j->cached.ptr) == 9;
}

START_TEST(vram_is_as_its_placement_says)
{
	struct job j = { 0 };
	struct bf_world_result r;
	uint64_t written_back = 0;
	void *regs;

	open_world("sim", NULL);
	ck_assert_int_eq(be->alloc(world, 0, BF_PLACE_GPU_CACHED, 4096, "cached", &j.cached), 0);
	ck_assert_int_eq(be->alloc(world, 0, BF_PLACE_GPU_UC, 4096, "uncached", &j.uncached), 0);
	ck_assert_int_eq(be->alloc(world, 0, BF_PLACE_GPU, 4096, "coherent", &j.coherent), 0);
	ck_assert_int_eq(be->gpu_regs(world, 0, &regs), 0);
	j.regs = regs;
	ck_assert_int_eq(be->launch_cpu(world, 0, 1, cpu_kernel, &j), 0);
	ck_assert_int_eq(be->launch(world, 0, 1, 1, gpu_kernel, &j), 0);
	ck_assert_msg(!be->run(world, &r), "%s", err.text);
	ck_assert_int_eq(r.end, BF_END_DONE);
	ck_assert(j.unseen && j.seen);
	bf_stats_each(be->sim(world), count, &written_back);
	ck_assert_uint_eq(written_back, 1);
	ck_assert_int_eq(be->gpu_regs(world, 2, &regs), -EINVAL);
	ck_assert_ptr_null(regs);
	be->close(world);
}
END_TEST

static void wait_for_ever(struct bf_thread *t, void *arg)
{
	struct job *j = arg;

	if (bf_lane(t))
		return;
	while (!bf_ld_relaxed32(t, j->uncached.ptr, BF_AT_SYS))
		bf_spin(t, j->uncached.ptr, "what nobody shows");
}

static void store_once(struct bf_thread *t, void *arg)
{
	struct job *j = arg;

	bf_pause(t, 10000);
	bf_st_relaxed32(t, j->uncached.ptr, 5, BF_AT_SYS);
}

START_TEST(a_report_names_what_the_gpu_does_not_see)
{
	struct job j = { 0 };
	struct bf_world_result r;

	open_world("sim", NULL);
	ck_assert_int_eq(be->alloc(world, 1, BF_PLACE_GPU_UC, 4096, "cq", &j.uncached), 0);
	ck_assert_int_eq(be->launch(world, 1, 1, 1, wait_for_ever, &j), 0);
	ck_assert_int_eq(be->launch_cpu(world, 1, 1, store_once, &j), 0);
	ck_assert_msg(!be->run(world, &r), "%s", err.text);
	ck_assert_int_eq(r.end, BF_END_DEADLOCK);
	ck_assert_msg(strstr(r.report, "gpu1: 'pe1.b0.w0.l0' waits for what nobody shows: what pe1.cpu0 wrote"), "%s",
		      r.report);
	be->close(world);
}
END_TEST

/* Live threads have this machine's memory. */
START_TEST(live_memory_is_coherent_and_its_registers_do_nothing)
{
	struct bf_memory m;
	void *regs, *again;

	open_world("live", NULL);
	ck_assert_int_eq(be->alloc(world, 0, BF_PLACE_GPU_UC, 4096, "uncached", &m), 0);
	memset(m.ptr, 1, m.size);
	ck_assert_int_eq(be->gpu_regs(world, 0, &regs), 0);
	bf_put_le32((uint8_t *)regs + BF_GPU_GCVM_INVALIDATE_ENG17_REQ, 0x20001);
	ck_assert_uint_eq(bf_get_le32((uint8_t *)regs + BF_GPU_GCVM_INVALIDATE_ENG17_ACK), 0xffff);
	ck_assert_int_eq(be->gpu_regs(world, 0, &again), 0);
	ck_assert_ptr_eq(again, regs);
	ck_assert_int_eq(be->gpu_regs(world, 9, &again), -EINVAL);
	be->close(world);
}
END_TEST

START_TEST(a_bad_profile_is_refused)
{
	struct bf_gpu_profile p = bf_gpu_navi31;
	struct bf_memory m;

	p.line = 1;
	open_world("sim", &p);
	ck_assert_int_eq(be->alloc(world, 0, BF_PLACE_GPU_UC, 4096, "uncached", &m), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "lines of 1 bytes"));
	be->close(world);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("backend_gpu");
	TCase *tc = tcase_create("vram");
	SRunner *sr = srunner_create(s);
	int failed;

	tcase_add_test(tc, vram_is_as_its_placement_says);
	tcase_add_test(tc, a_report_names_what_the_gpu_does_not_see);
	tcase_add_test(tc, live_memory_is_coherent_and_its_registers_do_nothing);
	tcase_add_test(tc, a_bad_profile_is_refused);
	suite_add_tcase(s, tc);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
