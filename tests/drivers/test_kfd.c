/*
 * Backend "kfd" against a stand-in of the kernel: the sequence of calls, refusals, clean-up; and with the SDMA model
 * behind the stand-in's queues, copies from end to end.
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drivers/backend/backends_internal.h"
#include "drivers/backend/sdma_world.h"
#include "drivers/backend/kfd_internal.h"
#include "drivers/backend/kfd_uapi_internal.h"
#include "drivers/sdma/host.h"
#include "drivers/sdma/kernels.h"
#include "models/sdma/sdma.h"

#define KFD 100
#define RENDER 101
#define PIECES 64

/* A kernel that notes each call and can refuse the n-th ioctl. */
struct fake {
	char log[16384];
	uint32_t gpus, version, ioctls, fail_at;
	int fail_with;
	int open_fds, mappings;
	uint64_t piece_va[PIECES], piece_size[PIECES];
	uint32_t npieces;
	/* The engine behind its queue: the model, driven by a thread that looks at the doorbell. */
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_sdma *engine;
	struct bf_sdma_queue *queue;
	uint64_t *doorbell;
	pthread_t thread;
	atomic_bool stop;
	bool with_engine, running;
};

static void note(struct fake *k, const char *fmt, ...)
{
	const size_t used = strlen(k->log);
	va_list args;

	va_start(args, fmt);
	vsnprintf(k->log + used, sizeof(k->log) - used, fmt, args);
	va_end(args);
}

static int fake_open(void *arg, const char *path)
{
	struct fake *k = arg;

	note(k, "open %s\n", path);
	k->open_fds++;
	if (strcmp(path, "/dev/kfd") == 0)
		return k->gpus ? KFD : (k->open_fds--, -ENOENT);
	return RENDER;
}

static void fake_close(void *arg, int fd)
{
	struct fake *k = arg;

	note(k, "close %s\n", fd == KFD ? "kfd" : "render");
	k->open_fds--;
}

static int fake_read(void *arg, const char *path, char *buf, size_t cap)
{
	struct fake *k = arg;
	unsigned node = 0;

	if (sscanf(path, "/sys/class/kfd/kfd/topology/nodes/%u/", &node) != 1 || node > k->gpus)
		return -ENOENT;
	if (strstr(path, "gpu_id"))
		return snprintf(buf, cap, "%u\n", node ? 0xa0 + node : 0); /* node 0 is the processor */
	return snprintf(buf, cap,
			"cpu_cores_count 0\nsimd_count 256\ngfx_target_version %u\nnum_sdma_engines 2\n"
			"num_sdma_xgmi_engines 0\nnum_sdma_queues_per_engine 8\ndrm_render_minor %u\n",
			k->version, 127 + node);
}

static void *fake_mmap(void *arg, void *addr, size_t len, int fd, off_t offset)
{
	struct fake *k = arg;
	void *p;

	if (addr && fd == KFD) {
		note(k, "mmap doorbells %zu at 0x%jx\n", len, (intmax_t)offset);
		k->doorbell = (uint64_t *)addr + 5;
		return addr;
	}
	if (addr) { /* memory behind a reserved range */
		note(k, "mmap render %zu\n", len);
		return addr;
	}
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	k->mappings++;
	note(k, "reserve %zu\n", len);
	return p == MAP_FAILED ? NULL : p;
}

static void fake_munmap(void *arg, void *addr, size_t len)
{
	struct fake *k = arg;

	note(k, "munmap %zu\n", len);
	k->mappings--;
	munmap(addr, len);
}

/* ---- the engine ---- */

static void *engine_main(void *arg)
{
	struct fake *k = arg;
	uint64_t seen = 0;

	while (!atomic_load(&k->stop)) {
		uint64_t offset, value = __atomic_load_n(k->doorbell, __ATOMIC_ACQUIRE);
		struct bf_region *r = bf_sdma_doorbell(k->queue, &offset);

		if (value == seen)
			continue;
		seen = value;
		r->mmio->write(r, offset, &value, 8);
		bf_sim_run(k->sim, BF_NEVER);
	}
	return NULL;
}

static void start_engine(struct fake *k, const struct kfd_ioctl_create_queue_args *a)
{
	const struct bf_sdma_opts opts = {
		.name = "sdma", .profile = &bf_sdma_v4, .space = &k->space, .ioas = &k->ioas
	};
	const struct bf_sdma_queue_opts q = { .ring = a->ring_base_address,
					      .bytes = a->ring_size,
					      .rptr = a->read_pointer_address,
					      .wptr = a->write_pointer_address };

	ck_assert_int_eq(bf_sim_create(1, &k->sim), 0);
	ck_assert_int_eq(bf_space_init(&k->space, k->sim, "gpu", 0), 0);
	ck_assert_int_eq(bf_ioas_init(&k->ioas, k->sim, "gpu", 4096), 0);
	for (uint32_t i = 0; i < k->npieces; i++) {
		const struct bf_region_opts ro = { .name = "piece",
						   .kind = BF_MEM_DRAM,
						   .size = k->piece_size[i],
						   .va = k->piece_va[i],
						   .bytes = (void *)(uintptr_t)k->piece_va[i] };
		struct bf_region *r;

		ck_assert_int_eq(bf_region_create(&k->space, &ro, &r), 0);
		ck_assert_int_eq(bf_ioas_map_region(&k->ioas, r, BF_IOMMU_READ | BF_IOMMU_WRITE), 0);
	}
	ck_assert_int_eq(bf_sdma_create(k->sim, &opts, &k->engine), 0);
	ck_assert_int_eq(bf_sdma_queue_create(k->engine, &q, &k->queue), 0);
	k->running = true;
}

static void stop_engine(struct fake *k)
{
	if (!k->running)
		return;
	atomic_store(&k->stop, true);
	pthread_join(k->thread, NULL);
	bf_sdma_queue_destroy(k->queue);
	bf_sdma_destroy(k->engine);
	bf_ioas_fini(&k->ioas);
	bf_space_fini(&k->space);
	bf_sim_destroy(k->sim);
	k->running = false;
}

/* ---- ioctls ---- */

static void alloc_memory(struct fake *k, struct kfd_ioctl_alloc_memory_of_gpu_args *a)
{
	note(k, "ALLOC_MEMORY_OF_GPU %" PRIu64 " gpu 0x%x flags 0x%x\n", a->size, a->gpu_id, a->flags);
	ck_assert_uint_lt(k->npieces, PIECES);
	k->piece_va[k->npieces] = a->va_addr;
	k->piece_size[k->npieces] = a->size;
	a->handle = ++k->npieces;
	a->mmap_offset = a->handle << 20;
}

static void create_queue(struct fake *k, struct kfd_ioctl_create_queue_args *a)
{
	note(k, "CREATE_QUEUE ring %u gpu 0x%x type %u percent %u priority %u\n", a->ring_size, a->gpu_id,
	     a->queue_type, a->queue_percentage, a->queue_priority);
	a->queue_id = 3;
	a->doorbell_offset = 0x1240000000028; /* type and GPU in the upper bits, this queue's slot in the lower 13 */
	if (k->with_engine)
		start_engine(k, a);
}

static int fake_ioctl(void *arg, int fd, unsigned long request, void *data)
{
	struct fake *k = arg;

	ck_assert_int_eq(fd, KFD);
	if (++k->ioctls == k->fail_at) {
		note(k, "(refused)\n");
		return k->fail_with;
	}
	if (request == AMDKFD_IOC_GET_VERSION) {
		*(struct kfd_ioctl_get_version_args *)data = (struct kfd_ioctl_get_version_args){ 1, 17 };
	} else if (request == AMDKFD_IOC_ACQUIRE_VM) {
		note(k, "ACQUIRE_VM gpu 0x%x\n", ((struct kfd_ioctl_acquire_vm_args *)data)->gpu_id);
	} else if (request == AMDKFD_IOC_ALLOC_MEMORY_OF_GPU) {
		alloc_memory(k, data);
	} else if (request == AMDKFD_IOC_MAP_MEMORY_TO_GPU) {
		struct kfd_ioctl_map_memory_args *a = data;

		note(k, "MAP_MEMORY_TO_GPU %" PRIu64 " gpu 0x%x\n", a->handle,
		     *(uint32_t *)(uintptr_t)a->device_ids_array_ptr);
		a->n_success = a->n_devices;
	} else if (request == AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU) {
		note(k, "UNMAP_MEMORY_FROM_GPU %" PRIu64 "\n", ((struct kfd_ioctl_map_memory_args *)data)->handle);
	} else if (request == AMDKFD_IOC_FREE_MEMORY_OF_GPU) {
		note(k, "FREE_MEMORY_OF_GPU %" PRIu64 "\n", ((struct kfd_ioctl_free_memory_of_gpu_args *)data)->handle);
	} else if (request == AMDKFD_IOC_CREATE_QUEUE) {
		create_queue(k, data);
	} else if (request == AMDKFD_IOC_UPDATE_QUEUE) {
		const struct kfd_ioctl_update_queue_args *a = data;

		note(k, "UPDATE_QUEUE %u ring %s %u\n", a->queue_id, a->ring_base_address ? "given" : "null",
		     a->ring_size);
	} else if (request == AMDKFD_IOC_DESTROY_QUEUE) {
		note(k, "DESTROY_QUEUE %u\n", ((struct kfd_ioctl_destroy_queue_args *)data)->queue_id);
		stop_engine(k);
	} else {
		ck_abort_msg("ioctl 0x%lx is not expected", request);
	}
	return 0;
}

static struct bf_kfd_sys system_of(struct fake *k)
{
	return (struct bf_kfd_sys){ .arg = k,
				    .open = fake_open,
				    .close = fake_close,
				    .ioctl = fake_ioctl,
				    .mmap = fake_mmap,
				    .munmap = fake_munmap,
				    .read = fake_read };
}

static struct fake *new_fake(void)
{
	struct fake *k = calloc(1, sizeof(*k));

	k->gpus = 1;
	k->version = 90400;
	return k;
}

/* ---- tests ---- */

static const struct bf_world_opts world_opts = { .devices = BF_DEVICE_SDMA, .npes = 1 };

static int open_host(struct fake *k, const struct bf_kfd_sys *sys, struct bf_world **w, struct bf_sdma_drv_host **h,
		     struct bf_error *err)
{
	const struct bf_sdma_drv_host_opts ho = { .caps = bf_sdma_drv_caps_of(BF_SDMA_V4),
						  .queues = 1,
						  .ring_bytes = 4096,
						  .heap_bytes = 65536,
						  .place = BF_PLACE_GPU };
	int rc = bf_kfd_open(sys, &world_opts, err, w);

	*h = NULL;
	if (!rc)
		rc = bf_sdma_drv_host_open(&bf_backend_kfd, *w, 1, &ho, err, h);
	(void)k;
	return rc;
}

static void close_host(struct bf_world *w, struct bf_sdma_drv_host *h)
{
	bf_sdma_drv_host_close(h);
	bf_backend_kfd.close(w);
}

/* The calls in order, as libhsakmt makes them. */
START_TEST(sequence)
{
	static const char expected[] = "open /dev/kfd\n"
				       "open /dev/dri/renderD128\n"
				       "ACQUIRE_VM gpu 0xa1\n"
				       "reserve 65536\n"
				       "ALLOC_MEMORY_OF_GPU 65536 gpu 0xa1 flags 0xe0000001\n"
				       "mmap render 65536\n"
				       "MAP_MEMORY_TO_GPU 1 gpu 0xa1\n"
				       "reserve 4096\n"
				       "ALLOC_MEMORY_OF_GPU 4096 gpu 0xa1 flags 0xc6000002\n"
				       "mmap render 4096\n"
				       "MAP_MEMORY_TO_GPU 2 gpu 0xa1\n";
	struct fake *k = new_fake();
	const struct bf_kfd_sys sys = system_of(k);
	struct bf_error err = { 0 };
	struct bf_sdma_standing standing;
	struct bf_sdma_drv_host *h;
	struct bf_world *w;

	ck_assert_msg(open_host(k, &sys, &w, &h, &err) == 0, "%s", err.text);
	ck_assert_msg(strncmp(k->log, expected, strlen(expected)) == 0, "%s", k->log);
	ck_assert_msg(strstr(k->log, "CREATE_QUEUE ring 4096 gpu 0xa1 type 1 percent 100 priority 7\n"
				     "reserve 8192\n"
				     "ALLOC_MEMORY_OF_GPU 8192 gpu 0xa1 flags 0x84000008\n"
				     "mmap doorbells 8192 at 0x1240000000000\n"
				     "MAP_MEMORY_TO_GPU 6 gpu 0xa1\n") != NULL,
		      "%s", k->log);
	ck_assert_uint_eq(bf_sdma_drv_host_ring(h, 0, 0)->doorbell_va, (uintptr_t)k->doorbell);
	*bf_sdma_drv_host_writer(h, 0, 0)->wptr = 64;
	*bf_sdma_drv_host_writer(h, 0, 0)->rptr = 48;
	ck_assert_int_eq(bf_sdma_world(&bf_backend_kfd)->standing(w, 0, 3, &standing), 0);
	ck_assert_uint_eq(standing.doorbell, 64);
	ck_assert_uint_eq(standing.retired, 48);
	ck_assert_int_eq(bf_sdma_world(&bf_backend_kfd)->standing(w, 0, 4, &standing), -ENOENT);
	ck_assert_ptr_eq(bf_sdma_drv_host_ring(h, 0, 0)->doorbell, k->doorbell);
	ck_assert_uint_eq(bf_sdma_drv_host_ring(h, 0, 0)->id, 3);
	ck_assert_int_eq(bf_sdma_drv_host_pause(h, 0, 0), 0);
	ck_assert_ptr_nonnull(strstr(k->log, "UPDATE_QUEUE 3 ring null 0\n"));
	ck_assert_int_eq(bf_sdma_drv_host_resume(h, 0, 0), 0);
	ck_assert_ptr_nonnull(strstr(k->log, "UPDATE_QUEUE 3 ring given 4096\n"));
	close_host(w, h);
	ck_assert_ptr_nonnull(strstr(k->log, "DESTROY_QUEUE 3\n"));
	ck_assert_ptr_nonnull(strstr(k->log, "UNMAP_MEMORY_FROM_GPU 1\nFREE_MEMORY_OF_GPU 1\n"));
	ck_assert_str_eq(k->log + strlen(k->log) - strlen("close render\nclose kfd\n"), "close render\nclose kfd\n");
	ck_assert_int_eq(k->open_fds, 0);
	ck_assert_int_eq(k->mappings, 0);
	free(k);
}
END_TEST

/* Whatever call is refused, the error says which and everything is given back. */
START_TEST(refusals)
{
	struct fake *k = new_fake();
	const struct bf_kfd_sys sys = system_of(k);
	struct bf_error err = { 0 };
	struct bf_sdma_drv_host *h;
	struct bf_world *w;
	int rc;

	k->fail_at = (uint32_t)_i;
	k->fail_with = -EPERM;
	rc = open_host(k, &sys, &w, &h, &err);
	if (rc) {
		ck_assert_int_eq(rc, -EPERM);
		ck_assert_ptr_nonnull(strstr(err.text, "Operation not permitted"));
	}
	if (w)
		close_host(w, h);
	ck_assert_int_eq(k->open_fds, 0);
	ck_assert_int_eq(k->mappings, 0);
	free(k);
}
END_TEST

START_TEST(what_is_missing_is_said)
{
	struct fake *k = new_fake();
	const struct bf_kfd_sys sys = system_of(k);
	struct bf_world_opts wo = world_opts;
	struct bf_error err = { 0 };
	struct bf_world *w;
	char why[256];

	ck_assert_int_eq(bf_kfd_probe(&sys, why, sizeof(why)), 0);
	ck_assert_ptr_nonnull(strstr(why, "gfx940"));
	wo.npes = 2;
	ck_assert_int_eq(bf_kfd_open(&sys, &wo, &err, &w), -ENODEV);
	ck_assert_ptr_nonnull(strstr(err.text, "2 PEs, but this machine has 1 GPU"));
	wo.npes = 1;
	wo.device_opts[BF_DEVICE_AT_SDMA] = &bf_sdma_v6;
	ck_assert_int_eq(bf_kfd_open(&sys, &wo, &err, &w), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "--gen=v4"));
	wo.device_opts[BF_DEVICE_AT_SDMA] = &bf_sdma_v4;
	ck_assert_int_eq(bf_kfd_open(&sys, &wo, &err, &w), 0);
	bf_backend_kfd.close(w);
	wo.devices = BF_DEVICE_NVME;
	ck_assert_int_eq(bf_kfd_open(&sys, &wo, &err, &w), -ENOTSUP);
	k->gpus = 0;
	ck_assert_int_eq(bf_kfd_probe(&sys, why, sizeof(why)), -ENOENT);
	ck_assert_ptr_nonnull(strstr(why, "no /dev/kfd"));
	ck_assert_int_eq(k->open_fds, 0);
	free(k);
}
END_TEST

/* A copy through ring, doorbell and signal; the model stands behind the stand-in's queue. */
START_TEST(copies_arrive)
{
	struct fake *k = new_fake();
	const struct bf_kfd_sys sys = system_of(k);
	struct bf_sdma_drv_submission s = { 0 };
	struct bf_sdma_drv_step steps[2] = { 0 };
	struct bf_sdma_drv_thread thread = { .steps = steps, .nsteps = 2 };
	struct bf_sdma_drv_job job = { .threads = &thread, .nthreads = 1 };
	struct bf_world_result result;
	struct bf_error err = { 0 };
	struct bf_sdma_drv_host *h;
	struct bf_memory heap;
	struct bf_world *w;
	uint8_t *bytes;
	uint32_t body[7];

	k->with_engine = true;
	ck_assert_msg(open_host(k, &sys, &w, &h, &err) == 0, "%s", err.text);
	ck_assert_int_eq(pthread_create(&k->thread, NULL, engine_main, k), 0);
	heap = bf_sdma_drv_host_heap(h, 0);
	bytes = heap.ptr;
	for (uint32_t i = 0; i < 4096; i++)
		bytes[i] = (uint8_t)(i * 7 + 1);
	body[0] = 1;
	body[1] = 4096 - 1;
	body[2] = 0;
	bf_put_le64(&body[3], heap.va);
	bf_put_le64(&body[5], heap.va + 8192);
	thread.status = (uint64_t *)(bytes + 32768);
	*(uint64_t *)(bytes + 16384) = 1;
	s.body = body;
	s.dwords = 7;
	s.done = (struct bf_sdma_drv_signal){ .va = heap.va + 16384, .value = (uint64_t *)(bytes + 16384) };
	steps[0] = (struct bf_sdma_drv_step){ .kind = BF_SDMA_DRV_STEP_SUBMIT,
					      .writer = bf_sdma_drv_host_writer(h, 0, 0),
					      .submission = &s };
	steps[1] = (struct bf_sdma_drv_step){
		.kind = BF_SDMA_DRV_STEP_WAIT, .at = (uint64_t *)(bytes + 16384), .va = heap.va + 16384, .value = 0
	};
	ck_assert_int_eq(bf_backend_kfd.launch_cpu(w, 0, 1, bf_sdma_drv_kernel(BF_PLATFORM_NATIVE), &job), 0);
	ck_assert_msg(bf_backend_kfd.run(w, &result) == 0, "%s", err.text);
	ck_assert_int_eq(result.end, BF_END_DONE);
	ck_assert_uint_eq(*thread.status, BF_SDMA_DRV_THREAD_DONE);
	ck_assert_mem_eq(bytes, bytes + 8192, 4096);
	ck_assert_uint_eq(bytes[8192 + 4096], 0);
	close_host(w, h);
	free(k);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("kfd");
	TCase *tc = tcase_create("kfd");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, sequence);
	tcase_add_loop_test(tc, refusals, 1, 18);
	tcase_add_test(tc, what_is_missing_is_said);
	tcase_add_test(tc, copies_arrive);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
