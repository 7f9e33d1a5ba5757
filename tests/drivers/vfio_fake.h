/*
 * A stand-in of the kernel for backend "vfio": a machine by sysfs, files, memory that is mapped for the device, and the
 * log of the IOMMU. vfio_kernel.h has its requests and the device.
 */
#ifndef BELFRY_TESTS_DRIVERS_VFIO_FAKE_H
#define BELFRY_TESTS_DRIVERS_VFIO_FAKE_H

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

#include "drivers/backend/vfio_internal.h"
#include "drivers/backend/vfio_uapi_internal.h"
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

static inline void note(struct fake *k, const char *fmt, ...)
{
	const size_t used = strlen(k->log);
	va_list args;

	va_start(args, fmt);
	vsnprintf(k->log + used, sizeof(k->log) - used, fmt, args);
	va_end(args);
}

/* Whether this call is the one to refuse; `name` is what the error has to mention. */
static inline bool refuse(struct fake *k, const char *name)
{
	if (++k->calls != k->fail_at)
		return false;
	snprintf(k->refused, sizeof(k->refused), "%s", name);
	return true;
}

/* ---- files ---- */

static inline const struct entry *entry_at(const struct fake *k, size_t i)
{
	if (i < OVERRIDES)
		return k->override[i].path ? &k->override[i] : NULL;
	return &machine[i - OVERRIDES];
}

#define ENTRIES (OVERRIDES + BF_ARRAY_LEN(machine))

static inline bool covered(const struct fake *k, size_t i)
{
	for (size_t o = 0; i >= OVERRIDES && o < OVERRIDES; o++)
		if (k->override[o].path && strcmp(k->override[o].path, machine[i - OVERRIDES].path) == 0)
			return true;
	return false;
}

static inline const struct entry *find_entry(const struct fake *k, const char *path, bool below)
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

static inline int fake_read(void *arg, const char *path, char *buf, size_t cap)
{
	const struct entry *e = find_entry(arg, path, false);

	snprintf(buf, cap, "%s", e ? e->text : "");
	return e ? 0 : -ENOENT;
}

static inline bool fake_exists(void *arg, const char *path)
{
	return find_entry(arg, path, true) != NULL;
}

static inline int fake_next(void *arg, const char *folder, const char *after, char *buf, size_t cap)
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

static inline const char *fd_name(int fd)
{
	static const char *const names[] = { "container", "group", "device", "iommufd", "log", "dma-buf" };

	ck_assert_int_ge(fd, CONTAINER);
	ck_assert_int_le(fd, DMABUF);
	return names[fd - CONTAINER];
}

static inline int fake_open(void *arg, const char *path)
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

static inline void fake_close(void *arg, int fd)
{
	struct fake *k = arg;

	note(k, "close %s\n", fd_name(fd));
	k->open_fds--;
}

static inline int fake_log_open(void *arg)
{
	struct fake *k = arg;

	if (k->no_log)
		return -EPERM;
	k->open_fds++;
	return LOG;
}

static inline int fake_log_read(void *arg, int fd, char *buf, size_t cap)
{
	struct fake *k = arg;

	ck_assert_int_eq(fd, LOG);
	if (!k->nmessages)
		return -EAGAIN;
	snprintf(buf, cap, "%s", k->messages[--k->nmessages]);
	return 0;
}

/* ---- memory ---- */

static inline void *fake_mmap(void *arg, size_t len, int fd, off_t offset)
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

static inline void fake_munmap(void *arg, void *addr, size_t len)
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

static inline ssize_t fake_pread(void *arg, int fd, void *buf, size_t len, off_t offset)
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

static inline ssize_t fake_pwrite(void *arg, int fd, const void *buf, size_t len, off_t offset)
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
static inline void map(struct fake *k, uint64_t at, uint64_t iova, uint64_t size)
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

static inline void unmap(struct fake *k, uint64_t iova, uint64_t size)
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

#endif
