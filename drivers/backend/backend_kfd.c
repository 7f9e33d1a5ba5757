/*
 * Backend "kfd": user queues of real AMD SDMA engines, made by the kernel's compute driver.
 *
 * The sequence is that of ROCm's libhsakmt (ROCR-Runtime libhsakmt/src/{openclose,topology,memory,queues}.c) against
 * the interface of kfd_uapi_internal.h: topology from sysfs, ACQUIRE_VM once, then for each piece of memory an address
 * range of our own, ALLOC_MEMORY_OF_GPU, mmap through the render node, MAP_MEMORY_TO_GPU; for each queue CREATE_QUEUE.
 * Doorbells are memory of that kind, too, so that an engine may ring. A PE is a GPU with its memory; its threads are
 * this process's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/backends_internal.h"
#include "drivers/backend/sdma_world.h"
#include "drivers/backend/kfd_internal.h"
#include "drivers/backend/kfd_uapi_internal.h"
#include "drivers/backend/workers_internal.h"
#include "models/sdma/sdma.h"

#define NODES "/sys/class/kfd/kfd/topology/nodes"
#define NODES_MAX 64u
#define QUEUES_MAX 256u
/* From gfx9 on: two pages, of which a queue has 8 bytes (kfd_doorbell.c, kfd_doorbell_process_slice). */
#define DOORBELL_AREA 8192u

struct gpu {
	uint32_t id, render_minor, version; /* version: gfx_target_version, major * 10000 + minor * 100 + stepping */
	uint32_t engines, queues_per_engine;
	int render;
	bool acquired;
	uint8_t *doorbells; /* once a queue has one */
};

struct piece {
	struct piece *next;
	void *at;
	uint64_t size, handle;
	uint32_t pe;
	bool allocated, mapped;
};

struct user_queue {
	uint32_t id, pe;
	uint64_t ring_bytes;
	const uint64_t *rptr, *wptr;
	bool live;
};

struct kfd_world {
	struct bf_world m; /* without a simulation */
	const struct bf_kfd_sys *sys;
	int fd;
	struct gpu gpu[NODES_MAX];
	struct piece *pieces;
	struct user_queue queue[QUEUES_MAX];
	struct bf_workers workers;
	bool has_workers;
};

static struct kfd_world *world_of(struct bf_world *m)
{
	return BF_CONTAINER_OF(m, struct kfd_world, m);
}

/* ---- topology ---- */

/* "name value" in the lines of a node's properties. */
static uint32_t property(const char *text, const char *name)
{
	const size_t n = strlen(name);

	for (const char *p = text; p; p = strchr(p, '\n')) {
		p += *p == '\n';
		if (strncmp(p, name, n) == 0 && p[n] == ' ')
			return (uint32_t)strtoul(p + n, NULL, 10);
	}
	return 0;
}

/* The GPUs with SDMA engines, in order of node; nodes of processors have the GPU number 0. */
static uint32_t find_gpus(const struct bf_kfd_sys *sys, struct gpu *gpus, uint32_t cap)
{
	char path[128], text[8192];
	uint32_t n = 0;

	for (uint32_t node = 0; node < NODES_MAX && n < cap; node++) {
		struct gpu g = { .render = -1 };

		snprintf(path, sizeof(path), NODES "/%" PRIu32 "/gpu_id", node);
		if (sys->read(sys->arg, path, text, sizeof(text)) <= 0)
			continue;
		g.id = (uint32_t)strtoul(text, NULL, 10);
		snprintf(path, sizeof(path), NODES "/%" PRIu32 "/properties", node);
		if (g.id == 0 || sys->read(sys->arg, path, text, sizeof(text)) <= 0)
			continue;
		g.render_minor = property(text, "drm_render_minor");
		g.version = property(text, "gfx_target_version");
		g.engines = property(text, "num_sdma_engines");
		g.queues_per_engine = property(text, "num_sdma_queues_per_engine");
		if (g.engines)
			gpus[n++] = g;
	}
	return n;
}

static enum bf_sdma_gen generation(uint32_t version)
{
	const uint32_t major = version / 10000, minor = version / 100 % 100;

	if (major <= 9)
		return BF_SDMA_V4;
	if (major == 10)
		return BF_SDMA_V5;
	if (major == 11)
		return BF_SDMA_V6;
	return major == 12 && minor < 5 ? BF_SDMA_V7 : BF_SDMA_V7_1;
}

int bf_kfd_probe(const struct bf_kfd_sys *sys, char *why, size_t cap)
{
	struct kfd_ioctl_get_version_args v = { 0 };
	struct gpu gpus[NODES_MAX];
	int fd = sys->open(sys->arg, "/dev/kfd"), rc = 0;
	uint32_t n;

	if (fd < 0) {
		snprintf(why, cap,
			 fd == -EACCES ? "/dev/kfd is there but not for this user; its group is usually 'render'"
				       : "no /dev/kfd: needs an AMD GPU and the amdgpu driver with compute support");
		return fd;
	}
	n = find_gpus(sys, gpus, BF_ARRAY_LEN(gpus));
	if (sys->ioctl(sys->arg, fd, AMDKFD_IOC_GET_VERSION, &v) < 0 || v.major_version != KFD_IOCTL_MAJOR_VERSION) {
		snprintf(why, cap, "/dev/kfd speaks version %u.%u; 1.x is needed", v.major_version, v.minor_version);
		rc = -ENOTSUP;
	} else if (n == 0) {
		snprintf(why, cap, "/dev/kfd is there, but no GPU with SDMA engines in " NODES);
		rc = -ENODEV;
	} else {
		snprintf(why, cap,
			 "%" PRIu32 " GPU%s, the first is gfx%" PRIu32 "%" PRIu32 "%" PRIx32 " with %" PRIu32
			 " SDMA engines",
			 n, n == 1 ? "" : "s", gpus[0].version / 10000, gpus[0].version / 100 % 100,
			 gpus[0].version % 100, gpus[0].engines);
	}
	sys->close(sys->arg, fd);
	return rc;
}

/* ---- opening ---- */

static int open_gpu(struct kfd_world *w, uint32_t pe)
{
	struct gpu *g = &w->gpu[pe];
	struct kfd_ioctl_acquire_vm_args acquire = { .gpu_id = g->id };
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "/dev/dri/renderD%" PRIu32, g->render_minor);
	g->render = w->sys->open(w->sys->arg, path);
	if (g->render < 0)
		return bf_fail(w->m.err, g->render, "cannot open %s: %s", path, strerror(-g->render));
	acquire.drm_fd = (uint32_t)g->render;
	rc = w->sys->ioctl(w->sys->arg, w->fd, AMDKFD_IOC_ACQUIRE_VM, &acquire);
	if (rc < 0)
		return bf_fail(w->m.err, rc, "ACQUIRE_VM of GPU 0x%" PRIx32 ": %s", g->id, strerror(-rc));
	g->acquired = true;
	return 0;
}

/* Packets are built for one generation before the device is asked; a different one would misread them. */
static int check_generation(struct kfd_world *w, const struct bf_world_opts *opts, uint32_t pe)
{
	const struct bf_sdma_profile *wants = opts->device_opts[BF_DEVICE_AT_SDMA];
	const enum bf_sdma_gen has = generation(w->gpu[pe].version);
	static const char *const names[BF_SDMA_GENS] = { "v4", "v5", "v6", "v7", "v7.1" };

	if (!wants || wants->gen == has)
		return 0;
	return bf_fail(w->m.err, -EINVAL, "GPU %" PRIu32 " has SDMA %s (gfx%" PRIu32 "); packets are for %s: --gen=%s",
		       pe, names[has], w->gpu[pe].version / 10000, names[wants->gen], names[has]);
}

static int open_all(struct kfd_world *w, const struct bf_world_opts *opts)
{
	uint32_t n;
	int rc = 0;

	if (opts->devices & ~BF_DEVICE_SDMA || !(opts->devices & BF_DEVICE_SDMA))
		return bf_fail(w->m.err, -ENOTSUP, "backend kfd has SDMA engines only");
	if (opts->faults)
		return bf_fail(w->m.err, -ENOTSUP, "backend kfd cannot inject faults: the device is real");
	w->fd = w->sys->open(w->sys->arg, "/dev/kfd");
	if (w->fd < 0) {
		char why[160];

		rc = bf_kfd_probe(w->sys, why, sizeof(why));
		return bf_fail(w->m.err, rc ? rc : w->fd, "backend kfd: %s", why);
	}
	n = find_gpus(w->sys, w->gpu, NODES_MAX);
	if (n < opts->npes)
		return bf_fail(w->m.err, -ENODEV,
			       "%" PRIu32 " PEs, but this machine has %" PRIu32 " GPU%s with SDMA engines", opts->npes,
			       n, n == 1 ? "" : "s");
	for (uint32_t pe = 0; !rc && pe < opts->npes; pe++) {
		rc = check_generation(w, opts, pe);
		if (!rc)
			rc = open_gpu(w, pe);
	}
	if (!rc)
		rc = bf_workers_init(&w->workers);
	w->has_workers = rc == 0;
	return rc;
}

static void free_piece(struct kfd_world *w, struct piece *p)
{
	if (p->mapped) {
		struct kfd_ioctl_map_memory_args a = { .handle = p->handle,
						       .device_ids_array_ptr = (uint64_t)(uintptr_t)&w->gpu[p->pe].id,
						       .n_devices = 1 };

		w->sys->ioctl(w->sys->arg, w->fd, AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU, &a);
	}
	if (p->allocated) {
		struct kfd_ioctl_free_memory_of_gpu_args a = { .handle = p->handle };

		w->sys->ioctl(w->sys->arg, w->fd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &a);
	}
	if (p->at)
		w->sys->munmap(w->sys->arg, p->at, p->size);
	free(p);
}

static void end_queue(struct kfd_world *w, struct user_queue *q)
{
	struct kfd_ioctl_destroy_queue_args a = { .queue_id = q->id };

	w->sys->ioctl(w->sys->arg, w->fd, AMDKFD_IOC_DESTROY_QUEUE, &a);
	q->live = false;
}

/* Queues before the memory that they pin, memory before the device files. */
static void world_close(struct bf_world *m)
{
	struct kfd_world *w = m ? world_of(m) : NULL;
	struct piece *p;
	struct bf_grid *g;

	if (!w)
		return;
	for (uint32_t i = 0; i < QUEUES_MAX; i++)
		if (w->queue[i].live)
			end_queue(w, &w->queue[i]);
	while ((p = w->pieces)) {
		w->pieces = p->next;
		free_piece(w, p);
	}
	for (uint32_t i = 0; i < NODES_MAX; i++)
		if (w->gpu[i].acquired || w->gpu[i].render > 0)
			w->sys->close(w->sys->arg, w->gpu[i].render);
	if (w->fd >= 0)
		w->sys->close(w->sys->arg, w->fd);
	while ((g = bf_machine_next_grid(&w->m)))
		free(g);
	if (w->has_workers)
		bf_workers_fini(&w->workers);
	free(w);
}

int bf_kfd_open(const struct bf_kfd_sys *sys, const struct bf_world_opts *opts, struct bf_error *err,
		struct bf_world **out)
{
	struct kfd_world *w = calloc(1, sizeof(*w));
	int rc;

	*out = NULL;
	if (!w)
		return bf_fail(err, -ENOMEM, "no memory for a world");
	w->m = (struct bf_world){ .err = err, .npes = opts->npes, .count = opts->npes };
	w->m.grids_tail = &w->m.grids;
	w->m.limit_ps = opts->limit_ps ? opts->limit_ps : BF_NEVER;
	w->sys = sys;
	w->fd = -1;
	rc = open_all(w, opts);
	if (rc) {
		world_close(&w->m);
		return rc;
	}
	*out = &w->m;
	return 0;
}

/* ---- memory ---- */

static int fail_alloc(struct kfd_world *w, struct piece *p, const char *step, const char *name, int rc)
{
	const uint64_t size = p->size;

	free_piece(w, p);
	return bf_fail(w->m.err, rc, "memory '%s' of %" PRIu64 " bytes: %s: %s", name, size, step, strerror(-rc));
}

/* Memory at one address for processor and engine. Doorbells are mapped from the device's file, at `offset`. */
static int add_piece(struct kfd_world *w, uint32_t pe, uint64_t size, uint32_t flags, uint64_t offset, const char *name,
		     uint8_t **out)
{
	const bool doorbells = flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL;
	struct kfd_ioctl_alloc_memory_of_gpu_args a = { .gpu_id = w->gpu[pe].id,
							.flags = flags,
							.mmap_offset = offset };
	struct kfd_ioctl_map_memory_args map = { 0 };
	struct piece *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return bf_fail(w->m.err, -ENOMEM, "no memory for '%s'", name);
	p->pe = pe;
	p->size = (size + 4095) & ~(uint64_t)4095;
	p->at = w->sys->mmap(w->sys->arg, NULL, p->size, -1, 0);
	if (!p->at)
		return fail_alloc(w, p, "no address space", name, -ENOMEM);
	a.va_addr = (uint64_t)(uintptr_t)p->at;
	a.size = p->size;
	rc = w->sys->ioctl(w->sys->arg, w->fd, AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &a);
	if (rc < 0)
		return fail_alloc(w, p, "ALLOC_MEMORY_OF_GPU", name, rc);
	p->handle = a.handle;
	p->allocated = true;
	if (!w->sys->mmap(w->sys->arg, p->at, p->size, doorbells ? w->fd : w->gpu[pe].render,
			  (off_t)(doorbells ? offset : a.mmap_offset)))
		return fail_alloc(w, p, doorbells ? "mmap of /dev/kfd" : "mmap of the render node", name, -ENOMEM);
	map = (struct kfd_ioctl_map_memory_args){ .handle = p->handle,
						  .device_ids_array_ptr = (uint64_t)(uintptr_t)&w->gpu[pe].id,
						  .n_devices = 1 };
	rc = w->sys->ioctl(w->sys->arg, w->fd, AMDKFD_IOC_MAP_MEMORY_TO_GPU, &map);
	if (rc < 0 || map.n_success != 1)
		return fail_alloc(w, p, "MAP_MEMORY_TO_GPU", name, rc < 0 ? rc : -EIO);
	p->mapped = true;
	p->next = w->pieces;
	w->pieces = p;
	*out = p->at;
	return 0;
}

static int alloc(struct bf_world *m, uint32_t pe, enum bf_placement place, uint64_t size, const char *name,
		 struct bf_memory *out)
{
	const uint32_t flags = KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE |
			       (place == BF_PLACE_GPU ? KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC
						      : KFD_IOC_ALLOC_MEM_FLAGS_GTT | KFD_IOC_ALLOC_MEM_FLAGS_COHERENT |
							    KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED);
	uint8_t *at;
	int rc;

	if (pe >= m->npes || (place != BF_PLACE_HOST && place != BF_PLACE_GPU))
		return bf_fail(m->err, -EINVAL, "memory '%s': PE %" PRIu32 ", placement %d", name, pe, (int)place);
	rc = add_piece(world_of(m), pe, size, flags, 0, name, &at);
	if (rc)
		return rc;
	size = (size + 4095) & ~(uint64_t)4095;
	memset(at, 0, size);
	*out = (struct bf_memory){ .ptr = at, .va = (uint64_t)(uintptr_t)at, .size = size };
	return 0;
}

/* ---- queues ---- */

static struct user_queue *find_queue(struct kfd_world *w, uint32_t pe, uint32_t id)
{
	for (uint32_t i = 0; i < QUEUES_MAX; i++)
		if (w->queue[i].live && w->queue[i].pe == pe && w->queue[i].id == id)
			return &w->queue[i];
	return NULL;
}

/* The area of a process's doorbells on a GPU is mapped once (libhsakmt queues.c, map_doorbell_dgpu). */
static int map_doorbells(struct kfd_world *w, uint32_t pe, uint64_t offset)
{
	if (w->gpu[pe].doorbells)
		return 0;
	return add_piece(w, pe, DOORBELL_AREA,
			 KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE |
			     KFD_IOC_ALLOC_MEM_FLAGS_COHERENT,
			 offset & ~(uint64_t)(DOORBELL_AREA - 1), "doorbells", &w->gpu[pe].doorbells);
}

static int sdma_create(struct bf_world *m, uint32_t pe, struct bf_sdma_ring *ring)
{
	struct kfd_world *w = world_of(m);
	struct kfd_ioctl_create_queue_args a = { 0 };
	struct user_queue *q = w->queue;
	int rc;

	while (q < w->queue + QUEUES_MAX && q->live)
		q++;
	if (pe >= m->npes || q == w->queue + QUEUES_MAX)
		return bf_fail(m->err, -ENOSPC, "no room for another SDMA queue of PE %" PRIu32, pe);
	if (ring->wrapped)
		return bf_fail(m->err, -ENOTSUP,
			       "32-bit indices that wrap are for parts before gfx9, which have no "
			       "user queues here");
	a.ring_base_address = ring->ring.va;
	a.ring_size = (uint32_t)ring->ring.size;
	a.write_pointer_address = ring->wptr.va;
	a.read_pointer_address = ring->rptr.va;
	a.gpu_id = w->gpu[pe].id;
	a.queue_type = KFD_IOC_QUEUE_TYPE_SDMA;
	a.queue_percentage = KFD_MAX_QUEUE_PERCENTAGE;
	a.queue_priority = 7;
	rc = w->sys->ioctl(w->sys->arg, w->fd, AMDKFD_IOC_CREATE_QUEUE, &a);
	if (rc < 0)
		return bf_fail(m->err, rc, "CREATE_QUEUE with a ring of %" PRIu64 " bytes on GPU 0x%" PRIx32 ": %s",
			       ring->ring.size, a.gpu_id, strerror(-rc));
	*q = (struct user_queue){ .id = a.queue_id,
				  .pe = pe,
				  .ring_bytes = ring->ring.size,
				  .rptr = ring->rptr.ptr,
				  .wptr = ring->wptr.ptr,
				  .live = true };
	rc = map_doorbells(w, pe, a.doorbell_offset);
	if (rc) {
		end_queue(w, q);
		return rc;
	}
	ring->doorbell = w->gpu[pe].doorbells + (a.doorbell_offset & (DOORBELL_AREA - 1));
	ring->doorbell_va = (uint64_t)(uintptr_t)ring->doorbell;
	ring->id = a.queue_id;
	return 0;
}

static int sdma_update(struct bf_world *m, uint32_t pe, uint32_t id, const struct bf_memory *ring)
{
	struct kfd_world *w = world_of(m);
	struct kfd_ioctl_update_queue_args a = { .queue_id = id,
						 .queue_percentage = KFD_MAX_QUEUE_PERCENTAGE,
						 .queue_priority = 7 };
	const struct user_queue *q = find_queue(w, pe, id);
	int rc;

	if (!q)
		return bf_fail(m->err, -ENOENT, "PE %" PRIu32 " has no SDMA queue %" PRIu32, pe, id);
	if (ring && ring->ptr) {
		a.ring_base_address = ring->va;
		a.ring_size = (uint32_t)q->ring_bytes;
	}
	rc = w->sys->ioctl(w->sys->arg, w->fd, AMDKFD_IOC_UPDATE_QUEUE, &a);
	return rc < 0 ? bf_fail(m->err, rc, "UPDATE_QUEUE of queue %" PRIu32 ": %s", id, strerror(-rc)) : 0;
}

static int sdma_destroy(struct bf_world *m, uint32_t pe, uint32_t id)
{
	struct kfd_world *w = world_of(m);
	struct user_queue *q = find_queue(w, pe, id);

	if (!q)
		return bf_fail(m->err, -ENOENT, "PE %" PRIu32 " has no SDMA queue %" PRIu32, pe, id);
	end_queue(w, q);
	return 0;
}

/* What memory tells: the engine shows its read pointer and nothing else, and that late. */
static int sdma_standing(struct bf_world *m, uint32_t pe, uint32_t id, struct bf_sdma_standing *out)
{
	const struct user_queue *q = find_queue(world_of(m), pe, id);

	*out = (struct bf_sdma_standing){ 0 };
	if (!q)
		return bf_fail(m->err, -ENOENT, "PE %" PRIu32 " has no SDMA queue %" PRIu32, pe, id);
	out->doorbell = __atomic_load_n(q->wptr, __ATOMIC_ACQUIRE);
	out->fetched = out->retired = __atomic_load_n(q->rptr, __ATOMIC_ACQUIRE);
	return 0;
}

/* ---- running ---- */

static int run(struct bf_world *m, struct bf_world_result *out)
{
	return bf_workers_run(&world_of(m)->workers, m, out);
}

static struct bf_sim *no_sim(struct bf_world *m)
{
	(void)m;
	return NULL;
}

static int probe(char *why, size_t cap)
{
	return bf_kfd_probe(&bf_kfd_system, why, cap);
}

static int world_open(const struct bf_world_opts *opts, struct bf_error *err, struct bf_world **out)
{
	return bf_kfd_open(&bf_kfd_system, opts, err, out);
}

static const struct bf_sdma_world_ops sdma_ops = {
	.create = sdma_create,
	.update = sdma_update,
	.destroy = sdma_destroy,
	.standing = sdma_standing,
};
static const void *const world_ops[BF_DEVICE_KINDS] = { [BF_DEVICE_AT_SDMA] = &sdma_ops };

const struct bf_backend bf_backend_kfd = {
	BF_BACKEND_HEAD,
	.name = "kfd",
	.summary = "real AMD SDMA engines through /dev/kfd",
	.devices = BF_DEVICE_SDMA,
	.probe = probe,
	.open = world_open,
	.close = world_close,
	.alloc = alloc,
	.launch_cpu = bf_machine_launch_cpu,
	.ops = world_ops,
	.run = run,
	.sim = no_sim,
	.platform = BF_PLATFORM_NATIVE,
};
