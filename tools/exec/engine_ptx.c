/*
 * GPUs that run PTX beside the NIC: their memory, their turn on the wall clock, and the calls of gpu.h.
 *
 * Kernels and the NIC share one simulation, so what a kernel stores is seen by the NIC when the GPU's ordering lets it,
 * and what the NIC writes wakes kernels that poll. Kernels take longer here than on a GPU. The clock does not wait for
 * them: what they are late with happens now, and after each piece of work whoever waits for the lock gets it.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "models/hopper/profile.h"
#include "sim/grow.h"
#include "sim/stats.h"
#include "tools/exec/engine_internal.h"

/* A piece of work: simulated time that doubles as long as it costs no more of the real time than this. */
#define SLICE_PS (100 * BF_NS)
#define PIECE_NS 200000u

/* A timer that is closer than this is not slept for. */
#define NEAR_PS (20 * BF_US)
#define SLEEP_MAX_NS 1000000u

/* Space numbers above those of engine_world.c's. */
#define GPU_SPACE ((1ull << 48) / (1ull << 40) + 1)

struct bf_engine_ptx {
	struct bf_space space; /* what kernels may touch, at the process's own addresses */
	struct bf_ptx_device *device[BF_EXEC_GPUS_MAX];
	struct bf_hopper_profile hopper;
	char *printed;
	size_t printed_len, printed_cap;
};

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- life ---- */

/* Under the lock: kept until somebody synchronises, as on a GPU. */
static void print(void *arg, const char *text, size_t len)
{
	struct bf_engine_ptx *p = arg;

	if (BF_GROW(p->printed, p->printed_cap, p->printed_len + len))
		return;
	memcpy(p->printed + p->printed_len, text, len);
	p->printed_len += len;
}

static int attach_stats(struct bf_engine *e, uint32_t index)
{
	struct bf_ptx_device *d = e->ptx->device[index];
	const struct bf_ptx_counts *c = bf_ptx_device_counts(d);
	const struct {
		const char *name;
		const uint64_t *field;
	} all[] = { { "grids", &c->grids },
		    { "blocks", &c->blocks },
		    { "warps", &c->warps },
		    { "lane_instructions", &c->instructions } };
	char name[40];
	int rc = 0;

	for (uint32_t i = 0; !rc && i < BF_ARRAY_LEN(all); i++) {
		snprintf(name, sizeof(name), "gpu%u.%s", (unsigned)index, all[i].name);
		rc = bf_stats_attach(e->sim, d, name, "", all[i].field);
	}
	return rc;
}

static int open_device(struct bf_engine *e, uint32_t index)
{
	char name[16];
	int rc;
	const struct bf_ptx_device_opts opts = { .name = e->opts.gpus > 1 ? name : NULL,
						 .space = &e->ptx->space,
						 .ordering = e->opts.ordering,
						 .profile = &e->ptx->hopper,
						 .print = print,
						 .print_arg = e->ptx };

	snprintf(name, sizeof(name), "gpu%u.", (unsigned)index);
	rc = bf_ptx_device_create(e->sim, &opts, &e->ptx->device[index]);
	return rc ? rc : attach_stats(e, index);
}

static int open_gpus(struct bf_engine *e)
{
	const struct bf_exec_gpu_profile *is = e->opts.gpu;
	int rc;

	if (e->ptx)
		return 0;
	if (!e->opts.gpus)
		return -ENODEV;
	e->ptx = calloc(1, sizeof(*e->ptx));
	if (!e->ptx)
		return -ENOMEM;
	e->ptx->hopper = bf_hopper_h200;
	e->ptx->hopper.sms = is->sms;
	e->ptx->hopper.shared_bytes = is->shared_sm;
	e->ptx->hopper.warps = is->threads / 32;
	rc = bf_space_init(&e->ptx->space, e->sim, "gpus.memory", GPU_SPACE);
	if (rc) {
		free(e->ptx);
		e->ptx = NULL;
		return rc;
	}
	e->ptx->space.at_host = true;
	for (uint32_t i = 0; !rc && i < e->opts.gpus; i++)
		rc = open_device(e, i);
	if (rc)
		bf_engine_ptx_close(e);
	return rc;
}

void bf_engine_ptx_close(struct bf_engine *e)
{
	if (!e->ptx)
		return;
	for (uint32_t i = 0; i < BF_EXEC_GPUS_MAX; i++) {
		if (e->ptx->device[i])
			bf_stats_detach(e->sim, e->ptx->device[i]);
		bf_ptx_device_destroy(e->ptx->device[i]);
	}
	bf_space_fini(&e->ptx->space);
	free(e->ptx->printed);
	free(e->ptx);
	e->ptx = NULL;
}

/* ---- time ---- */

void bf_engine_ptx_run(struct bf_engine *e, uint64_t until_ps)
{
	const uint64_t begin = clock_ns();
	uint64_t slice = SLICE_PS, next;

	while ((next = bf_sim_next(e->sim)) <= until_ps && next != BF_NEVER) {
		const uint64_t from = next > e->sim->now_ps ? next : e->sim->now_ps;

		bf_sim_run(e->sim, until_ps - from < slice ? until_ps : from + slice);
		if (clock_ns() - begin > PIECE_NS || e->sim->now_ps >= until_ps)
			break;
		slice *= 2;
	}
}

/* One look of a thread that waits; how long it may sleep now, in ns. */
static uint64_t drive(struct bf_engine *e)
{
	struct bf_engine_caller c;
	uint64_t next, now;

	if (!bf_engine_call(e, &c))
		return SLEEP_MAX_NS;
	next = bf_sim_next(e->sim);
	now = e->sim->now_ps;
	bf_engine_return(e, &c);
	if (next == BF_NEVER || next - now > SLEEP_MAX_NS * BF_NS)
		return SLEEP_MAX_NS;
	return next > now + NEAR_PS ? (next - now) / BF_NS : 0;
}

void bf_engine_ptx_wait(struct bf_engine *e, const uint32_t *word, uint32_t value, uint64_t most_ns)
{
	const uint64_t end = clock_ns() + most_ns;

	__atomic_add_fetch(&e->drivers, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value) {
		uint64_t ns = drive(e), now = clock_ns();
		struct timespec t;

		if (now >= end || __atomic_load_n(word, __ATOMIC_ACQUIRE) != value)
			break;
		if (__atomic_load_n(&e->dead, __ATOMIC_RELAXED))
			break;
		if (!ns)
			continue;
		ns = ns < end - now ? ns : end - now;
		t = (struct timespec){ .tv_nsec = (long)ns };
		syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
	}
	/* The engine's thread has left the GPUs to this one. */
	if (!__atomic_sub_fetch(&e->drivers, 1, __ATOMIC_RELAXED))
		bf_outside_wake(e->outside);
}

/* ---- memory ---- */

int bf_engine_ptx_give(struct bf_engine *e, void *at, uint64_t size, enum bf_exec_gpu_memory kind)
{
	const struct bf_region_opts opts = { .name = kind == BF_EXEC_GPU_DEVICE ? "device memory" : "host memory",
					     .kind = kind == BF_EXEC_GPU_DEVICE ? BF_MEM_VRAM : BF_MEM_DRAM,
					     .bytes = at,
					     .size = size };
	struct bf_region *r;
	struct bf_engine_caller c;
	int rc;

	if (!bf_engine_call(e, &c))
		return -EIO;
	rc = open_gpus(e);
	if (!rc)
		rc = bf_region_create(&e->ptx->space, &opts, &r);
	bf_engine_return(e, &c);
	return rc;
}

void bf_engine_ptx_take(struct bf_engine *e, void *at)
{
	struct bf_engine_caller c;
	struct bf_region *r;

	if (!bf_engine_call(e, &c))
		return;
	r = e->ptx ? bf_space_find(&e->ptx->space, (uintptr_t)at) : NULL;
	if (r && r->bytes == at) {
		for (uint32_t i = 0; i < e->opts.gpus; i++)
			bf_ptx_device_forget(e->ptx->device[i], r);
		bf_region_destroy(r);
	}
	bf_engine_return(e, &c);
}

bool bf_engine_ptx_has(struct bf_engine *e, uint64_t first, uint64_t end)
{
	const struct bf_region *r;

	if (!e->ptx)
		return false;
	while (first < end && (r = bf_space_find(&e->ptx->space, first)) && r->kind == BF_MEM_VRAM)
		first = r->va + r->size;
	return first >= end;
}

/* A kernel's store to a doorbell page has arrived. The program may have given the page up meanwhile. */
static void ring(struct bf_region *region, uint64_t offset, const void *data, uint32_t len)
{
	struct bf_engine *e = region->owner;
	const struct bf_engine_page *page = bf_engine_page_find(e, (uintptr_t)(region->va + offset));

	if (page)
		bf_engine_deliver(e, page->region, region->va + offset - page->at, data, len, 0);
}

int bf_engine_ptx_give_doorbell(struct bf_engine *e, void *at, uint64_t size)
{
	static const struct bf_mmio_ops ops = { .write = ring };
	const struct bf_region_opts opts = {
		.name = "doorbells", .kind = BF_MEM_MMIO, .bytes = at, .size = size, .mmio = &ops, .owner = e
	};
	struct bf_engine_caller c;
	struct bf_region *r;
	int rc;

	if (!bf_engine_call(e, &c))
		return -EIO;
	rc = bf_engine_page_find(e, (uintptr_t)at) ? open_gpus(e) : -ENOENT;
	if (!rc)
		rc = bf_region_create(&e->ptx->space, &opts, &r);
	bf_engine_return(e, &c);
	return rc;
}

/* ---- kernels ---- */

/* What the simulation says of a failure, once: later calls begin without it. */
static void tell(struct bf_engine *e, int rc, char *why, size_t cap)
{
	snprintf(why, cap, "%s", !rc ? "" : e->sim->error.code ? e->sim->error.text : strerror(-rc));
	e->sim->error = (struct bf_error){ 0 };
}

int bf_engine_ptx_load(struct bf_engine *e, uint32_t device, const struct bf_ptx_source *sources, uint32_t count,
		       struct bf_ptx_library **out, char *why, size_t cap)
{
	struct bf_engine_caller c;
	int rc;

	*out = NULL;
	why[0] = '\0';
	if (!bf_engine_call(e, &c))
		return -EIO;
	rc = open_gpus(e);
	if (!rc)
		rc = bf_ptx_device_load(e->ptx->device[device], sources, count, out);
	tell(e, rc, why, cap);
	bf_engine_return(e, &c);
	return rc;
}

int bf_engine_ptx_launch(struct bf_engine *e, uint32_t device, struct bf_ptx_library *lib,
			 const struct bf_ptx_launch *launch, char *why, size_t cap)
{
	struct bf_engine_caller c;
	int rc;

	why[0] = '\0';
	if (!bf_engine_call(e, &c))
		return -EIO;
	rc = bf_ptx_device_launch(e->ptx->device[device], lib, launch);
	tell(e, rc, why, cap);
	bf_engine_return(e, &c);
	return rc;
}

int bf_engine_ptx_unload(struct bf_engine *e, uint32_t device, struct bf_ptx_library *lib)
{
	struct bf_engine_caller c;
	int rc;

	if (!bf_engine_call(e, &c))
		return -EIO;
	rc = bf_ptx_device_unload(e->ptx->device[device], lib);
	bf_engine_return(e, &c);
	return rc;
}

void bf_engine_ptx_renew(struct bf_engine *e, struct bf_ptx_library *lib)
{
	struct bf_engine_caller c;

	if (!bf_engine_call(e, &c))
		return;
	bf_ptx_library_renew(lib);
	bf_engine_return(e, &c);
}

int bf_engine_ptx_limits(struct bf_engine *e, uint32_t device, uint64_t heap, uint32_t stack)
{
	struct bf_engine_caller c;
	int rc;

	if (!bf_engine_call(e, &c))
		return -EIO;
	rc = open_gpus(e);
	if (!rc && heap)
		rc = bf_ptx_device_set_heap(e->ptx->device[device], heap);
	if (!rc && stack)
		bf_ptx_device_set_stack(e->ptx->device[device], stack);
	bf_engine_return(e, &c);
	return rc;
}

const struct bf_ptx_fault *bf_engine_ptx_fault(struct bf_engine *e, uint32_t device)
{
	return e->ptx ? bf_ptx_device_fault(e->ptx->device[device]) : NULL;
}

size_t bf_engine_ptx_printed(struct bf_engine *e, char *to, size_t cap)
{
	struct bf_engine_caller c;
	size_t n = 0;

	if (!bf_engine_call(e, &c))
		return 0;
	if (e->ptx && e->ptx->printed) {
		n = e->ptx->printed_len < cap ? e->ptx->printed_len : cap;
		memcpy(to, e->ptx->printed, n);
		memmove(e->ptx->printed, e->ptx->printed + n, e->ptx->printed_len - n);
		e->ptx->printed_len -= n;
	}
	bf_engine_return(e, &c);
	return n;
}
