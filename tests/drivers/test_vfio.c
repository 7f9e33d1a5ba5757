/*
 * Backend "vfio" against a stand-in of the kernel: which device it takes, the sequence of calls by either interface,
 * refusals, clean-up, what it says of IOMMU faults; and with the NVMe model behind the stand-in's BAR and address
 * space, workloads from end to end.
 */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "drivers/backend/backends_internal.h"
#include "drivers/backend/vfio_internal.h"
#include "drivers/backend/vfio_uapi_internal.h"
#include "drivers/nvme/host.h"
#include "drivers/platform/platform_native.h"
#include "models/nvme/nvme.h"
#include "sim/iommu.h"

enum { CONTAINER = 100, GROUP, DEVICE, IOMMUFD, LOG, DMABUF };

#define CONFIG_AT 0x70000000000ull
#define BAR_BYTES 16384u
#define PIECES 64
#define OVERRIDES 8

struct entry {
	const char *path, *text;
};

/* A disk, an NVMe controller of the kernel's and one at vfio-pci, by sysfs; texts stand for links as well. */
#define PCI "/sys/bus/pci/devices/"
static const struct entry machine[] = {
	{ PCI "0000:00:1f.2/class", "0x010601" },
	{ PCI "0000:00:1f.2/driver", "ahci" },
	{ PCI "0000:01:00.0/class", "0x010802" },
	{ PCI "0000:01:00.0/driver", "nvme" },
	{ PCI "0000:01:00.0/iommu_group", "6" },
	{ PCI "0000:02:00.0/class", "0x010802" },
	{ PCI "0000:02:00.0/driver", "vfio-pci" },
	{ PCI "0000:02:00.0/iommu_group", "7" },
	{ PCI "0000:02:00.0/vfio-dev/vfio0/dev", "510:0" },
	{ PCI "0000:02:00.0/vfio-dev/vfio0/uevent", "" },
	{ PCI "0000:03:00.0/class", "0x020000" },
	{ "/sys/kernel/iommu_groups/7/devices/0000:02:00.0/class", "" },
	{ "/sys/kernel/iommu_groups/7/devices/0000:03:00.0/class", "" },
	{ "/dev/iommu", "" },
};

struct piece {
	uint64_t iova, size;
	struct bf_region *region;
};

/* A kernel that notes each call and can refuse the n-th. */
struct fake {
	struct bf_vfio_sys sys;
	char log[8192];
	struct entry override[OVERRIDES]; /* text NULL: it is not there */
	uint32_t calls, fail_at;
	int fail_with;
	char refused[64]; /* which call that was, as errors name it */
	int open_fds, mappings, nmaps;
	uint16_t command;
	bool unviable, no_ranges, tight, short_config, no_log, unmappable;
	const char *messages[4]; /* of the kernel's log */
	uint32_t nmessages;
	struct piece pieces[PIECES];
	/* The device: the model, on a thread that looks at BAR0. */
	struct bf_sim *sim;
	struct bf_space space;
	struct bf_ioas ioas;
	struct bf_nvme *ssd;
	pthread_mutex_t lock;
	pthread_t thread;
	atomic_bool stop;
	bool started;
};

static void note(struct fake *k, const char *fmt, ...)
{
	const size_t used = strlen(k->log);
	va_list args;

	va_start(args, fmt);
	vsnprintf(k->log + used, sizeof(k->log) - used, fmt, args);
	va_end(args);
}

/* Whether this call is the one to refuse; `name` is what the error has to mention. */
static bool refuse(struct fake *k, const char *name)
{
	if (++k->calls != k->fail_at)
		return false;
	snprintf(k->refused, sizeof(k->refused), "%s", name);
	return true;
}

/* ---- files ---- */

static const struct entry *entry_at(const struct fake *k, size_t i)
{
	if (i < OVERRIDES)
		return k->override[i].path ? &k->override[i] : NULL;
	return &machine[i - OVERRIDES];
}

#define ENTRIES (OVERRIDES + BF_ARRAY_LEN(machine))

static bool covered(const struct fake *k, size_t i)
{
	for (size_t o = 0; i >= OVERRIDES && o < OVERRIDES; o++)
		if (k->override[o].path && strcmp(k->override[o].path, machine[i - OVERRIDES].path) == 0)
			return true;
	return false;
}

static const struct entry *find_entry(const struct fake *k, const char *path, bool below)
{
	for (size_t i = 0; i < ENTRIES; i++) {
		const struct entry *e = entry_at(k, i);

		if (!e || !e->text || covered(k, i) || strncmp(e->path, path, strlen(path)) != 0)
			continue;
		if (!e->path[strlen(path)] || (below && e->path[strlen(path)] == '/'))
			return e;
	}
	return NULL;
}

static int fake_read(void *arg, const char *path, char *buf, size_t cap)
{
	const struct entry *e = find_entry(arg, path, false);

	snprintf(buf, cap, "%s", e ? e->text : "");
	return e ? 0 : -ENOENT;
}

static bool fake_exists(void *arg, const char *path)
{
	return find_entry(arg, path, true) != NULL;
}

static int fake_next(void *arg, const char *folder, const char *after, char *buf, size_t cap)
{
	const struct fake *k = arg;
	const size_t len = strlen(folder);
	char name[64];

	buf[0] = '\0';
	for (size_t i = 0; i < ENTRIES; i++) {
		const struct entry *e = entry_at(k, i);

		if (!e || !e->text || covered(k, i) || strncmp(e->path, folder, len) != 0 || e->path[len] != '/')
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(e->path + len + 1, "/"), e->path + len + 1);
		if (strcmp(name, after) > 0 && (!buf[0] || strcmp(name, buf) < 0))
			snprintf(buf, cap, "%s", name);
	}
	return buf[0] ? 0 : -ENOENT;
}

static const char *fd_name(int fd)
{
	static const char *const names[] = { "container", "group", "device", "iommufd", "log", "dma-buf" };

	ck_assert_int_ge(fd, CONTAINER);
	ck_assert_int_le(fd, DMABUF);
	return names[fd - CONTAINER];
}

static int fake_open(void *arg, const char *path)
{
	static const struct {
		const char *path;
		int fd;
	} files[] = { { "/dev/vfio/vfio", CONTAINER },
		      { "/dev/vfio/7", GROUP },
		      { "/dev/vfio/devices/vfio0", DEVICE },
		      { "/dev/iommu", IOMMUFD } };
	struct fake *k = arg;

	note(k, "open %s\n", path);
	if (refuse(k, path))
		return k->fail_with;
	for (size_t i = 0; i < BF_ARRAY_LEN(files); i++)
		if (strcmp(files[i].path, path) == 0) {
			k->open_fds++;
			return files[i].fd;
		}
	return -ENOENT;
}

static void fake_close(void *arg, int fd)
{
	struct fake *k = arg;

	note(k, "close %s\n", fd_name(fd));
	k->open_fds--;
}

static int fake_log_open(void *arg)
{
	struct fake *k = arg;

	if (k->no_log)
		return -EPERM;
	k->open_fds++;
	return LOG;
}

static int fake_log_read(void *arg, int fd, char *buf, size_t cap)
{
	struct fake *k = arg;

	ck_assert_int_eq(fd, LOG);
	if (!k->nmessages)
		return -EAGAIN;
	snprintf(buf, cap, "%s", k->messages[--k->nmessages]);
	return 0;
}

/* ---- memory ---- */

static void *fake_mmap(void *arg, size_t len, int fd, off_t offset)
{
	struct fake *k = arg;
	void *p;

	note(k, fd < 0 ? "memory %zu\n" : "mmap BAR0 %zu at 0x%jx\n", len, (intmax_t)offset);
	if (refuse(k, fd < 0 ? "memory '" : "mmap of BAR0"))
		return NULL;
	k->mappings++;
	if (fd >= 0 && k->ssd)
		return bf_nvme_bar0(k->ssd)->bytes;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void fake_munmap(void *arg, void *addr, size_t len)
{
	struct fake *k = arg;

	note(k, "munmap %zu\n", len);
	k->mappings--;
	for (size_t i = 0; i < PIECES; i++) /* the device must not reach memory that is gone */
		if (k->pieces[i].region)
			ck_assert_ptr_ne(k->pieces[i].region->bytes, addr);
	if (!k->ssd || addr != bf_nvme_bar0(k->ssd)->bytes)
		munmap(addr, len);
}

static ssize_t fake_pread(void *arg, int fd, void *buf, size_t len, off_t offset)
{
	struct fake *k = arg;

	ck_assert_int_eq(fd, DEVICE);
	ck_assert_int_eq(offset, (off_t)CONFIG_AT + 4);
	ck_assert_uint_eq(len, 2);
	note(k, "command?\n");
	if (refuse(k, "configuration space"))
		return k->fail_with;
	memcpy(buf, &k->command, 2);
	return k->short_config ? 1 : 2;
}

static ssize_t fake_pwrite(void *arg, int fd, const void *buf, size_t len, off_t offset)
{
	struct fake *k = arg;

	ck_assert_int_eq(fd, DEVICE);
	ck_assert_int_eq(offset, (off_t)CONFIG_AT + 4);
	if (refuse(k, "configuration space"))
		return k->fail_with;
	memcpy(&k->command, buf, 2);
	note(k, "command 0x%x\n", k->command);
	return (ssize_t)len;
}

/* Memory of ours becomes memory of the model's, at the addresses that were asked for. */
static void map(struct fake *k, uint64_t at, uint64_t iova, uint64_t size)
{
	struct piece *p = k->pieces;

	note(k, "map 0x%" PRIx64 " %" PRIu64 "\n", iova, size);
	k->nmaps++;
	if (!k->ssd)
		return;
	while (p->size)
		ck_assert_ptr_ne(++p, k->pieces + PIECES);
	p->iova = iova;
	p->size = size;
	pthread_mutex_lock(&k->lock);
	ck_assert_int_eq(
	    bf_region_create(
		&k->space,
		&(struct bf_region_opts){
		    .name = "piece", .kind = BF_MEM_DRAM, .size = size, .va = iova, .bytes = (void *)(uintptr_t)at },
		&p->region),
	    0);
	ck_assert_int_eq(bf_ioas_map_region(&k->ioas, p->region, BF_IOMMU_READ | BF_IOMMU_WRITE), 0);
	pthread_mutex_unlock(&k->lock);
}

static void unmap(struct fake *k, uint64_t iova, uint64_t size)
{
	note(k, "unmap 0x%" PRIx64 " %" PRIu64 "\n", iova, size);
	ck_assert_uint_eq(k->command & 4, 0); /* no bus master any more */
	k->nmaps--;
	pthread_mutex_lock(&k->lock);
	for (struct piece *p = k->pieces; k->ssd && p < k->pieces + PIECES; p++)
		if (p->iova == iova && p->size == size) {
			bf_ioas_unmap(&k->ioas, iova, size);
			bf_region_destroy(p->region);
			*p = (struct piece){ 0 };
		}
	pthread_mutex_unlock(&k->lock);
}

/* ---- requests ---- */

#define REQUEST(name)                                                                                                  \
	{                                                                                                              \
		name, #name                                                                                            \
	}
static const struct {
	unsigned long request;
	const char *name;
} requests[] = {
	REQUEST(VFIO_GET_API_VERSION),  REQUEST(VFIO_CHECK_EXTENSION),        REQUEST(VFIO_SET_IOMMU),
	REQUEST(VFIO_GROUP_GET_STATUS), REQUEST(VFIO_GROUP_SET_CONTAINER),    REQUEST(VFIO_GROUP_GET_DEVICE_FD),
	REQUEST(VFIO_DEVICE_GET_INFO),  REQUEST(VFIO_DEVICE_GET_REGION_INFO), REQUEST(VFIO_DEVICE_RESET),
	REQUEST(VFIO_IOMMU_GET_INFO),   REQUEST(VFIO_IOMMU_MAP_DMA),          REQUEST(VFIO_IOMMU_UNMAP_DMA),
	REQUEST(VFIO_DEVICE_FEATURE),   REQUEST(VFIO_DEVICE_BIND_IOMMUFD),    REQUEST(VFIO_DEVICE_ATTACH_IOMMUFD_PT),
	REQUEST(IOMMU_IOAS_ALLOC),      REQUEST(IOMMU_IOAS_IOVA_RANGES),      REQUEST(IOMMU_IOAS_MAP),
	REQUEST(IOMMU_IOAS_UNMAP),
};

static const struct vfio_iova_range ranges[] = { { 0, 0xfedfffff }, { 0xfef00000, 0x7fffffffff } };
/* Room for a page and the gap behind it above 4 GiB, and more below. */
static const struct vfio_iova_range tight[] = { { 0, 0xfedfffff }, { 0xfef00000, 0x100001fff } };

static int type1_info(const struct fake *k, void *data)
{
	struct {
		struct vfio_iommu_type1_info info;
		struct vfio_info_cap_header other;
		struct vfio_iommu_type1_info_cap_iova_range cap;
		struct vfio_iova_range range[2];
	} *a = data;

	a->info.flags = VFIO_IOMMU_INFO_PGSIZES | (k->no_ranges ? 0 : VFIO_IOMMU_INFO_CAPS);
	a->info.iova_pgsizes = 0x40201000;
	if (k->no_ranges)
		return 0;
	if (a->info.argsz < sizeof(*a)) {
		a->info.argsz = sizeof(*a);
		a->info.cap_offset = 0;
		return 0;
	}
	a->info.cap_offset = offsetof(__typeof__(*a), other);
	a->other = (struct vfio_info_cap_header){ .id = 3, .version = 1, .next = offsetof(__typeof__(*a), cap) };
	a->cap.header = (struct vfio_info_cap_header){ .id = 1, .version = 1 };
	a->cap.nr_iovas = 2;
	memcpy(a->range, k->tight ? tight : ranges, sizeof(ranges));
	return 0;
}

static int region_info(const struct fake *k, struct vfio_region_info *r)
{
	r->size = r->index == VFIO_PCI_BAR0_REGION_INDEX ? BAR_BYTES : 4096;
	r->offset = r->index == VFIO_PCI_BAR0_REGION_INDEX ? 0 : CONFIG_AT;
	r->flags = 3 | (r->index == VFIO_PCI_BAR0_REGION_INDEX && !k->unmappable ? VFIO_REGION_INFO_FLAG_MMAP : 0);
	return 0;
}

static int export_bar(struct fake *k, const struct vfio_device_feature_dma_buf *a)
{
	ck_assert_uint_eq(a->argsz, 40);
	ck_assert_uint_eq(a->flags, 1u << 16 | 11);
	ck_assert_uint_eq(a->nr_ranges, 1);
	note(k, "export region %u 0x%" PRIx64 " %" PRIu64 "\n", a->region_index, a->offset, a->length);
	k->open_fds++;
	return DMABUF;
}

/* By the interface that the descriptor belongs to; what is not expected there is a failure. */
static int answer(struct fake *k, int fd, unsigned long request, void *data)
{
	switch (request) {
	case VFIO_GET_API_VERSION:
		return 0;
	case VFIO_CHECK_EXTENSION:
	case VFIO_SET_IOMMU:
		ck_assert_int_eq(fd, CONTAINER);
		ck_assert_uint_eq((uintptr_t)data, 3);
		return request == VFIO_CHECK_EXTENSION;
	case VFIO_GROUP_GET_STATUS:
		((struct vfio_group_status *)data)->flags = k->unviable ? 0 : VFIO_GROUP_FLAGS_VIABLE;
		return 0;
	case VFIO_GROUP_SET_CONTAINER:
		ck_assert_int_eq(*(int *)data, CONTAINER);
		return 0;
	case VFIO_GROUP_GET_DEVICE_FD:
		ck_assert_str_eq(data, "0000:02:00.0");
		k->open_fds++;
		return DEVICE;
	case VFIO_DEVICE_GET_INFO:
		*(struct vfio_device_info *)data =
		    (struct vfio_device_info){ .flags = 3, .num_regions = 9, .num_irqs = 5 };
		return 0;
	case VFIO_DEVICE_GET_REGION_INFO:
		return region_info(k, data);
	case VFIO_DEVICE_RESET:
		ck_assert_int_eq(fd, DEVICE);
		k->command = 0;
		return 0;
	case VFIO_DEVICE_FEATURE:
		return export_bar(k, data);
	case VFIO_DEVICE_BIND_IOMMUFD:
		ck_assert_int_eq(((struct vfio_device_bind_iommufd *)data)->iommufd, IOMMUFD);
		return 0;
	case IOMMU_IOAS_ALLOC:
		((struct iommu_ioas_alloc *)data)->out_ioas_id = 5;
		return 0;
	case VFIO_DEVICE_ATTACH_IOMMUFD_PT:
		ck_assert_uint_eq(((struct vfio_device_attach_iommufd_pt *)data)->pt_id, 5);
		return 0;
	default:
		ck_abort_msg("request 0x%lx is not expected", request);
	}
}

static int address_space(struct fake *k, int fd, unsigned long request, void *data)
{
	if (request == VFIO_IOMMU_GET_INFO) {
		return type1_info(k, data);
	} else if (request == VFIO_IOMMU_MAP_DMA) {
		const struct vfio_iommu_type1_dma_map *a = data;

		ck_assert_uint_eq(a->flags, 3);
		map(k, a->vaddr, a->iova, a->size);
	} else if (request == VFIO_IOMMU_UNMAP_DMA) {
		unmap(k, ((struct vfio_iommu_type1_dma_unmap *)data)->iova,
		      ((struct vfio_iommu_type1_dma_unmap *)data)->size);
	} else if (request == IOMMU_IOAS_MAP) {
		const struct iommu_ioas_map *a = data;

		ck_assert_uint_eq(a->flags, 7);
		ck_assert_uint_eq(a->ioas_id, 5);
		map(k, a->user_va, a->iova, a->length);
	} else if (request == IOMMU_IOAS_UNMAP) {
		unmap(k, ((struct iommu_ioas_unmap *)data)->iova, ((struct iommu_ioas_unmap *)data)->length);
	} else if (request == IOMMU_IOAS_IOVA_RANGES) {
		struct iommu_ioas_iova_ranges *a = data;

		ck_assert_uint_ge(a->num_iovas, 2);
		memcpy((void *)(uintptr_t)a->allowed_iovas, ranges, sizeof(ranges));
		a->num_iovas = 2;
		a->out_iova_alignment = 4096;
	} else {
		return answer(k, fd, request, data);
	}
	return 0;
}

static int fake_ioctl(void *arg, int fd, unsigned long request, void *data)
{
	struct fake *k = arg;
	const char *name = "?";

	for (size_t i = 0; i < BF_ARRAY_LEN(requests); i++)
		if (requests[i].request == request)
			name = requests[i].name;
	note(k, "%s\n", name);
	return refuse(k, name) ? k->fail_with : address_space(k, fd, request, data);
}

/* Lives as long as `k`, since worlds keep it. */
static const struct bf_vfio_sys *system_of(struct fake *k)
{
	k->sys = (struct bf_vfio_sys){
		.arg = k,
		.open = fake_open,
		.close = fake_close,
		.ioctl = fake_ioctl,
		.mmap = fake_mmap,
		.munmap = fake_munmap,
		.pread = fake_pread,
		.pwrite = fake_pwrite,
		.read = fake_read,
		.link = fake_read,
		.next = fake_next,
		.exists = fake_exists,
		.log_open = fake_log_open,
		.log_read = fake_log_read,
	};
	return &k->sys;
}

static struct fake *new_fake(void)
{
	struct fake *k = calloc(1, sizeof(*k));

	k->fail_with = -EPERM;
	pthread_mutex_init(&k->lock, NULL);
	return k;
}

static void free_fake(struct fake *k)
{
	ck_assert_int_eq(k->open_fds, 0);
	ck_assert_int_eq(k->mappings, 0);
	ck_assert_uint_eq(k->command & 4, 0);
	pthread_mutex_destroy(&k->lock);
	free(k);
}

/* ---- the device ---- */

static void *device_main(void *arg)
{
	struct fake *k = arg;

	while (!atomic_load(&k->stop)) {
		pthread_mutex_lock(&k->lock);
		bf_nvme_poll_bar(k->ssd);
		bf_sim_run(k->sim, BF_NEVER);
		pthread_mutex_unlock(&k->lock);
		sched_yield();
	}
	return NULL;
}

static void plug_in(struct fake *k)
{
	struct bf_region *bar;

	ck_assert_int_eq(bf_sim_create(1, &k->sim), 0);
	ck_assert_int_eq(bf_space_init(&k->space, k->sim, "host", 0), 0);
	ck_assert_int_eq(bf_ioas_init(&k->ioas, k->sim, "host", 4096), 0);
	ck_assert_int_eq(
	    bf_nvme_create(k->sim,
			   &(struct bf_nvme_opts){
			       .name = "ssd", .profile = &bf_nvme_instant, .space = &k->space, .ioas = &k->ioas },
			   &k->ssd),
	    0);
	bar = bf_nvme_bar0(k->ssd);
	ck_assert_int_eq(mprotect(bar->bytes, bar->size, PROT_READ | PROT_WRITE), 0);
	bf_nvme_poll_bar(k->ssd);
	ck_assert_int_eq(pthread_create(&k->thread, NULL, device_main, k), 0);
	k->started = true;
}

static void unplug(struct fake *k)
{
	atomic_store(&k->stop, true);
	pthread_join(k->thread, NULL);
	bf_nvme_destroy(k->ssd);
	bf_ioas_fini(&k->ioas);
	bf_space_fini(&k->space);
	bf_sim_destroy(k->sim);
	k->ssd = NULL;
}

/* ---- tests ---- */

static struct bf_world_opts options(const char *device)
{
	return (struct bf_world_opts){ .devices = BF_DEVICE_NVME, .npes = 1, .limit_ps = 60 * BF_S, .device = device };
}

static const char *const ways[] = { "0000:02:00.0,group", "02:00.0,cdev" };

/* Everything but a run: a world, two pieces of memory, a DMA-BUF. */
static int use(struct fake *k, const char *device, struct bf_world **w, struct bf_error *err)
{
	const struct bf_world_opts opts = options(device);
	struct bf_memory m[2];
	int rc = bf_vfio_open(system_of(k), &opts, err, w);

	if (!rc)
		rc = bf_backend_vfio.alloc(*w, 0, BF_PLACE_HOST, 5000, "first", &m[0]);
	if (!rc)
		rc = bf_backend_vfio.alloc(*w, 0, BF_PLACE_HOST, 64, "second", &m[1]);
	if (!rc) {
		rc = bf_backend_vfio.nvme_bar_dmabuf(*w, 0, 4096, 4096);
		if (rc == DMABUF)
			fake_close(k, DMABUF);
		rc = rc < 0 ? rc : 0;
	}
	return rc;
}

START_TEST(sequence)
{
	static const char *const by[] = { "open /dev/vfio/vfio\n"
					  "VFIO_GET_API_VERSION\n"
					  "VFIO_CHECK_EXTENSION\n"
					  "open /dev/vfio/7\n"
					  "VFIO_GROUP_GET_STATUS\n"
					  "VFIO_GROUP_SET_CONTAINER\n"
					  "VFIO_SET_IOMMU\n"
					  "VFIO_IOMMU_GET_INFO\n"
					  "VFIO_IOMMU_GET_INFO\n"
					  "VFIO_GROUP_GET_DEVICE_FD\n",
					  "open /dev/vfio/devices/vfio0\n"
					  "open /dev/iommu\n"
					  "VFIO_DEVICE_BIND_IOMMUFD\n"
					  "IOMMU_IOAS_ALLOC\n"
					  "VFIO_DEVICE_ATTACH_IOMMUFD_PT\n"
					  "IOMMU_IOAS_IOVA_RANGES\n" };
	static const char *const maps[] = { "VFIO_IOMMU_MAP_DMA", "IOMMU_IOAS_MAP" };
	static const char *const unmaps[] = { "VFIO_IOMMU_UNMAP_DMA", "IOMMU_IOAS_UNMAP" };
	static const char *const ends[] = { "close device\nclose group\nclose container\nclose log\n",
					    "close device\nclose iommufd\nclose log\n" };
	struct fake *k = new_fake();
	struct bf_error err = { 0 };
	struct bf_world *w;
	char expected[2048];

	ck_assert_msg(use(k, ways[_i], &w, &err) == 0, "%s", err.text);
	ck_assert_uint_eq(k->command, 0x406); /* memory, bus master, no interrupt pin */
	bf_backend_vfio.close(w);
	snprintf(expected, sizeof(expected),
		 "%sVFIO_DEVICE_GET_INFO\nVFIO_DEVICE_GET_REGION_INFO\nVFIO_DEVICE_GET_REGION_INFO\n"
		 "command?\ncommand 0x406\nmmap BAR0 16384 at 0x0\n"
		 "memory 8192\n%s\nmap 0x100000000 8192\nmemory 4096\n%s\nmap 0x100003000 4096\n"
		 "VFIO_DEVICE_FEATURE\nexport region 0 0x1000 4096\nclose dma-buf\n"
		 "command?\ncommand 0x402\nVFIO_DEVICE_RESET\n"
		 "%s\nunmap 0x100003000 4096\nmunmap 4096\n%s\nunmap 0x100000000 8192\nmunmap 8192\nmunmap 16384\n%s",
		 by[_i], maps[_i], maps[_i], unmaps[_i], unmaps[_i], ends[_i]);
	ck_assert_str_eq(k->log, expected);
	ck_assert_int_eq(k->nmaps, 0);
	free_fake(k);
}
END_TEST

/* Whatever call is refused: the error says which and why, and everything is given back. */
START_TEST(refusals)
{
	for (uint32_t way = 0; way < 2; way++) {
		struct fake *k = new_fake();
		struct bf_error err = { 0 };
		struct bf_world *w;
		uint32_t calls;

		ck_assert_int_eq(use(k, ways[way], &w, &err), 0);
		calls = k->calls;
		bf_backend_vfio.close(w);
		ck_assert_uint_gt(calls, 12);
		free_fake(k);
		for (uint32_t n = 1; n <= calls; n++) {
			k = new_fake();
			k->fail_at = n;
			err = (struct bf_error){ 0 };
			ck_assert_msg(use(k, ways[way], &w, &err) < 0, "call %u, %s, was refused for nothing", n,
				      k->refused);
			ck_assert_msg(strstr(err.text, k->refused) != NULL, "%s: %s", k->refused, err.text);
			if (!strstr(k->refused, "mmap") && !strstr(k->refused, "memory"))
				ck_assert_msg(strstr(err.text, "Operation not permitted") != NULL, "%s", err.text);
			bf_backend_vfio.close(w);
			free_fake(k);
		}
		/* An end that goes wrong is an end all the same. */
		for (uint32_t n = calls + 1; n <= calls + 5; n++) {
			k = new_fake();
			ck_assert_int_eq(use(k, ways[way], &w, &err), 0);
			k->fail_at = n;
			bf_backend_vfio.close(w);
			free_fake(k);
		}
	}
}
END_TEST

static void expect_error(struct fake *k, const char *device, int rc, const char *text)
{
	const struct bf_world_opts opts = options(device);
	struct bf_error err = { 0 };
	struct bf_world *w;

	ck_assert_int_eq(bf_vfio_open(system_of(k), &opts, &err, &w), rc);
	ck_assert_msg(strstr(err.text, text) != NULL, "%s", err.text);
	ck_assert_ptr_null(w);
	free_fake(k);
}

static struct fake *without(const char *path, const char *text)
{
	struct fake *k = new_fake();

	k->override[0] = (struct entry){ path, text };
	return k;
}

START_TEST(what_is_missing_is_said)
{
	struct fake *k;

	expect_error(new_fake(), "0000:09:00.0", -ENODEV, "there is no PCI device 0000:09:00.0");
	expect_error(new_fake(), "0000:00:1f.2", -ENODEV, "is no NVMe controller");
	expect_error(new_fake(), "0000:01:00.0", -ENODEV, "at driver nvme, not at vfio-pci");
	expect_error(new_fake(), "0000:02:00.0,user", -EINVAL, "is not a PCI address");
	expect_error(new_fake(), "../../etc", -EINVAL, "is not a PCI address");
	expect_error(new_fake(), "nvme0", -EINVAL, "is not a PCI address");
	expect_error(without(PCI "0000:02:00.0/driver", NULL), NULL, -ENODEV, "driver_override");
	expect_error(without(PCI "0000:02:00.0/iommu_group", NULL), NULL, -ENODEV, "intel_iommu=on");
	expect_error(without(PCI "0000:02:00.0/vfio-dev/vfio0/dev", NULL), ",cdev", -ENODEV, "CONFIG_VFIO_DEVICE_CDEV");
	k = without(PCI "0000:03:00.0/driver", "mlx5_core");
	k->unviable = true;
	expect_error(k, ",group", -EPERM, "0000:03:00.0 (mlx5_core)");
	k = new_fake();
	k->fail_at = 1;
	k->fail_with = -EACCES;
	expect_error(k, NULL, -EACCES, "open of /dev/vfio/devices/vfio0: Permission denied");
	k = new_fake();
	k->fail_at = 4; /* the group's file */
	k->fail_with = -EBUSY;
	expect_error(k, ",group", -EBUSY, "another process has it");
	k = new_fake();
	k->short_config = true;
	expect_error(k, NULL, -EIO, "configuration space");
	k = new_fake();
	k->unmappable = true;
	expect_error(k, NULL, -ENODEV, "cannot be mapped");
}
END_TEST

START_TEST(other_worlds_are_refused)
{
	struct fake *k = new_fake();
	struct bf_world_opts o[6];
	struct bf_error err = { 0 };
	struct bf_memory m;
	struct bf_world *w;

	for (size_t i = 0; i < BF_ARRAY_LEN(o); i++)
		o[i] = options(NULL);
	o[0].devices = BF_DEVICE_NVME | BF_DEVICE_SDMA;
	o[1].npes = 2;
	o[2].faults = "drop prob=1";
	o[3].nvme_errors = "read-error 3";
	o[4].nvme_ns = &(struct bf_nvme_ns_opts){ .file = "disk" };
	o[5].nvme_cmb = 4096;
	for (size_t i = 0; i < BF_ARRAY_LEN(o); i++)
		ck_assert_int_eq(bf_vfio_open(system_of(k), &o[i], &err, &w), -ENOTSUP);
	o[0] = options(NULL);
	ck_assert_int_eq(bf_vfio_open(system_of(k), &o[0], &err, &w), 0);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_GPU, 64, "x", &m), -ENOTSUP);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_CMB, 64, "x", &m), -ENOTSUP);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 0, "x", &m), -EINVAL);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 1, BF_PLACE_HOST, 64, "x", &m), -EINVAL);
	bf_backend_vfio.close(w);
	free_fake(k);
}
END_TEST

START_TEST(probe_tells_what_is_there)
{
	struct fake *k = new_fake();
	char why[512];

	ck_assert_int_eq(bf_vfio_probe(system_of(k), why, sizeof(why)), 0);
	ck_assert_str_eq(why, "1 NVMe controller at vfio-pci, the first 0000:02:00.0, by IOMMUFD (cdev) or group");
	k->override[0] = (struct entry){ "/dev/iommu", NULL };
	k->override[1] = (struct entry){ PCI "0000:01:00.0/driver", "vfio-pci" };
	ck_assert_int_eq(bf_vfio_probe(system_of(k), why, sizeof(why)), 0);
	ck_assert_str_eq(why, "2 NVMe controllers at vfio-pci, the first 0000:01:00.0, by group");
	k->fail_at = k->calls + 1;
	ck_assert_int_eq(bf_vfio_probe(system_of(k), why, sizeof(why)), -EPERM);
	ck_assert_ptr_nonnull(strstr(why, "/dev/vfio/vfio cannot be opened"));
	k->override[1] = (struct entry){ PCI "0000:02:00.0/driver", NULL };
	ck_assert_int_eq(bf_vfio_probe(system_of(k), why, sizeof(why)), -ENODEV);
	ck_assert_ptr_nonnull(strstr(why, "0000:01:00.0 is at driver nvme, not at vfio-pci"));
	k->override[0] = (struct entry){ PCI "0000:01:00.0/class", NULL };
	k->override[2] = (struct entry){ PCI "0000:02:00.0/class", NULL };
	ck_assert_int_eq(bf_vfio_probe(system_of(k), why, sizeof(why)), -ENODEV);
	ck_assert_ptr_nonnull(strstr(why, "no NVMe controller on PCI"));
	free_fake(k);
}
END_TEST

/* Addresses stay inside the IOMMU's ranges and apart from each other. */
START_TEST(addresses_come_from_the_ranges)
{
	struct fake *k = new_fake();
	const struct bf_world_opts opts = options(",group");
	struct bf_error err = { 0 };
	struct bf_memory m[3];
	struct bf_world *w;

	k->tight = true;
	ck_assert_int_eq(bf_vfio_open(system_of(k), &opts, &err, &w), 0);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 8192, "a", &m[0]), 0);
	ck_assert_uint_eq(m[0].va, 0x100000000);
	ck_assert(bf_backend_vfio.reachable(w, 0, m[0].va, 8192));
	ck_assert(bf_backend_vfio.reachable(w, 0, m[0].va + 8191, 1));
	ck_assert(!bf_backend_vfio.reachable(w, 0, m[0].va + 8191, 2));
	ck_assert(!bf_backend_vfio.reachable(w, 0, m[0].va - 1, 1));
	/* The part above 4 GiB is used up. */
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 1 << 20, "b", &m[1]), 0);
	ck_assert_uint_eq(m[1].va, 0x100000);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 4096, "c", &m[2]), 0);
	ck_assert_uint_eq(m[2].va, 0x201000);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 5ull << 30, "d", &m[2]), -ENOSPC);
	ck_assert_ptr_nonnull(strstr(err.text, "no addresses left"));
	bf_backend_vfio.close(w);
	free_fake(k);

	k = new_fake();
	k->no_ranges = true; /* a kernel before 5.4 */
	ck_assert_int_eq(bf_vfio_open(system_of(k), &opts, &err, &w), 0);
	ck_assert_int_eq(bf_backend_vfio.alloc(w, 0, BF_PLACE_HOST, 4096, "a", &m[0]), 0);
	ck_assert_uint_eq(m[0].va, 0x100000000);
	bf_backend_vfio.close(w);
	free_fake(k);
}
END_TEST

START_TEST(faults_are_read_from_the_log)
{
	static const struct {
		const char *line;
		uint64_t iova;
		bool fault, write;
	} lines[] = {
		{ "3,812,1,-;DMAR: [DMA Read NO_PASID] Request device [02:00.0] fault addr 0x1000 [fault reason 0x06] "
		  "PTE "
		  "Read access is not set",
		  0x1000, true, false },
		{ "3,812,1,-;DMAR: [DMA Write] Request device [02:00.0] fault addr 12345000 [fault reason 05]",
		  0x12345000, true, true },
		{ "3,9,1,-;vfio-pci 0000:02:00.0: AMD-Vi: Event logged [IO_PAGE_FAULT domain=0x001b address=0xfffe0000 "
		  "flags=0x0020]",
		  0xfffe0000, true, true },
		{ "3,9,1,-;AMD-Vi: Event logged [IO_PAGE_FAULT device=02:00.0 domain=0x001b address=0x2000 "
		  "flags=0x0000]",
		  0x2000, true, false },
		{ "3,812,1,-;DMAR: [DMA Read] Request device [03:00.0] fault addr 0x1000 [fault reason 06]", 0, false,
		  false },
		{ "6,1,1,-;nvme nvme0: pci function 0000:02:00.0", 0, false, false },
		{ "3,812,1,-;DMAR: DRHD: handling fault status reg 2", 0, false, false },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(lines); i++) {
		uint64_t iova = 0;
		bool write = false;

		ck_assert_int_eq(bf_vfio_fault_line(lines[i].line, "0000:02:00.0", &iova, &write), lines[i].fault);
		ck_assert_uint_eq(iova, lines[i].iova);
		ck_assert_int_eq(write, lines[i].write);
	}
}
END_TEST

/* ---- end to end ---- */

#define THREADS 4u
#define DEPTH 4u
#define COMMANDS 16u
#define BYTES 512u

struct rig {
	struct fake *k;
	struct bf_world *world;
	struct bf_nvm_host *host;
	struct bf_nvm_job job;
	struct bf_error err;
	struct bf_world_result result;
};

static struct bf_nvm_room room(struct rig *r, uint64_t bytes)
{
	struct bf_nvm_room out;

	ck_assert_msg(!bf_nvm_host_room(r->host, BF_PLACE_HOST, bytes, "test", &out), "%s", r->err.text);
	return out;
}

static void rig_open(struct rig *r, const char *device)
{
	const struct bf_world_opts opts = options(device);
	const struct bf_nvm_host_opts ho = { .nqps = THREADS, .entries = DEPTH + 1, .timeout_ns = 30000000000u };

	*r = (struct rig){ .k = new_fake() };
	plug_in(r->k);
	ck_assert_msg(!bf_vfio_open(system_of(r->k), &opts, &r->err, &r->world), "%s", r->err.text);
	ck_assert_msg(!bf_nvm_host_open(&bf_backend_vfio, r->world, 0, &ho, &r->err, &r->host), "%s", r->err.text);
	r->job = (struct bf_nvm_job){
		.work = BF_NVM_VERIFY,
		.ctrl = bf_nvm_host_ctrl(r->host),
		.qps = bf_nvm_host_qps(r->host),
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
	r->job.request = (void *)room(r, (uint64_t)THREADS * DEPTH * sizeof(struct bf_nvm_request)).vaddr;
	r->job.version = (void *)room(r, (uint64_t)THREADS * COMMANDS * 4).vaddr;
	r->job.result = (void *)room(r, THREADS * sizeof(struct bf_nvm_result)).vaddr;
}

static void rig_run(struct rig *r)
{
	bf_kernel_fn *kernel = bf_nvm_kernels(bf_backend_vfio.platform)->run[r->job.work];

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
	ck_assert_msg(!bf_nvm_host_close(r.host), "%s", r.err.text);
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
	bf_nvm_host_abandon(r.host);
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
	Suite *s = suite_create("vfio");
	TCase *tc = tcase_create("vfio");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, sequence, 0, 2);
	tcase_add_test(tc, refusals);
	tcase_add_test(tc, what_is_missing_is_said);
	tcase_add_test(tc, other_worlds_are_refused);
	tcase_add_test(tc, probe_tells_what_is_there);
	tcase_add_test(tc, addresses_come_from_the_ranges);
	tcase_add_test(tc, faults_are_read_from_the_log);
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
