/*
 * Backend "vfio": what its files share.
 *
 * vfio_find.c chooses a device and says what is missing, vfio_group.c and vfio_cdev.c open it by one of the kernel's
 * two interfaces, vfio_device.c is what both have in common behind that (registers, configuration space, reset),
 * backend_vfio.c makes a world of it. vfio_system.c are the system's calls, so that a test can stand in for them.
 */
#ifndef BELFRY_DRIVERS_BACKEND_VFIO_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_VFIO_INTERNAL_H

#include <sys/types.h>

#include "drivers/backend/backend.h"

/* Calls of the system, most as their names in libc; `arg` is the stand-in's. Negative errno instead of errno. */
struct bf_vfio_sys {
	void *arg;
	int (*open)(void *arg, const char *path);
	void (*close)(void *arg, int fd);
	/* `data` is a pointer, or the number that some requests take instead. */
	int (*ioctl)(void *arg, int fd, unsigned long request, void *data);
	/* fd -1: zeroed memory of this process, in base pages. NULL when it cannot be had. */
	void *(*mmap)(void *arg, size_t len, int fd, off_t offset);
	void (*munmap)(void *arg, void *addr, size_t len);
	ssize_t (*pread)(void *arg, int fd, void *buf, size_t len, off_t offset);
	ssize_t (*pwrite)(void *arg, int fd, const void *buf, size_t len, off_t offset);
	/* The text of a small file, NUL-terminated and without its line end; 0. */
	int (*read)(void *arg, const char *path, char *buf, size_t cap);
	/* The last part of what a symbolic link points to; 0. */
	int (*link)(void *arg, const char *path, char *buf, size_t cap);
	/* The first name in a folder that sorts behind `after` (""). 0; -ENOENT behind the last or without a folder. */
	int (*next)(void *arg, const char *folder, const char *after, char *buf, size_t cap);
	bool (*exists)(void *arg, const char *path);
	/* The kernel's log from here on: a descriptor. Its next line, or -EAGAIN when there is none yet. */
	int (*log_open)(void *arg);
	int (*log_read)(void *arg, int fd, char *buf, size_t cap);
};
extern const struct bf_vfio_sys bf_vfio_system;

/* ---- which device ---- */

enum bf_vfio_way { BF_VFIO_GROUP, BF_VFIO_CDEV };

struct bf_vfio_spot {
	char address[32]; /* "0000:01:00.0" */
	enum bf_vfio_way way;
	char group[16]; /* number of its IOMMU group */
	char node[32];  /* cdev: file in /dev/vfio/devices */
};

/*
 * `device`: "ADDRESS", "ADDRESS,group" or "ADDRESS,cdev"; without an address the first NVMe controller at vfio-pci,
 * without a way IOMMUFD where it is there. NULL: neither. 0 or a negative errno with what is missing in `err`.
 */
int bf_vfio_find(const struct bf_vfio_sys *sys, const char *device, struct bf_vfio_spot *out, struct bf_error *err);

/* Names of the devices of the spot's group that other drivers have, and which; "" when there are none. */
void bf_vfio_group_strangers(const struct bf_vfio_sys *sys, const struct bf_vfio_spot *spot, char *buf, size_t cap);

/* bf_backend.probe() on `sys`. */
int bf_vfio_probe(const struct bf_vfio_sys *sys, char *why, size_t cap);

/* ---- an open device ---- */

#define BF_VFIO_RANGES_MAX 64u

struct bf_vfio_range {
	uint64_t first, last;
};

struct bf_vfio_device {
	const struct bf_vfio_sys *sys;
	struct bf_error *err;
	struct bf_vfio_spot spot;
	int container, group; /* by group; -1: not open, as all descriptors here */
	int iommufd;          /* by cdev */
	uint32_t ioas;
	int fd;
	/* What addresses the IOMMU takes, in order, and what they and sizes must be multiples of. */
	struct bf_vfio_range range[BF_VFIO_RANGES_MAX];
	uint32_t nranges;
	uint64_t alignment;
	bool resets, mastering;
	uint64_t config; /* offset of configuration space in its file */
	uint8_t *bar;
	uint64_t bar_bytes;
};

/*
 * Opens the device, switches its memory space and bus mastering on, and maps BAR0. 0 or a negative errno with the step,
 * the file and what to do in `err`; closes what it had opened. `dev` is filled in by this call.
 */
int bf_vfio_device_open(struct bf_vfio_device *dev, const struct bf_vfio_sys *sys, const struct bf_vfio_spot *spot,
			struct bf_error *err);

/* Ends its DMA: bus mastering off, reset. Mappings go after that; then close() gives everything back. */
void bf_vfio_device_quiet(struct bf_vfio_device *dev);
void bf_vfio_device_close(struct bf_vfio_device *dev);

/* Maps memory for its DMA, reading and writing. 0 or a negative errno with `err` set. */
int bf_vfio_map(struct bf_vfio_device *dev, void *at, uint64_t size, uint64_t iova);
void bf_vfio_unmap(struct bf_vfio_device *dev, uint64_t iova, uint64_t size);

/* A DMA-BUF of part of BAR0: its descriptor, the caller's to close, or a negative errno with `err` set. */
int bf_vfio_export_bar(struct bf_vfio_device *dev, uint64_t offset, uint64_t bytes);

static inline int bf_vfio_ioctl(const struct bf_vfio_device *dev, int fd, unsigned long request, void *data)
{
	return dev->sys->ioctl(dev->sys->arg, fd, request, data);
}

/* "STEP of FILE: errno in words; ADVICE" (NULL: none). */
int bf_vfio_fail(struct bf_vfio_device *dev, int rc, const char *step, const char *file, const char *advice);

/* The two interfaces: up to dev->fd, dev->range and dev->alignment; on failure the caller closes. */
int bf_vfio_group_open(struct bf_vfio_device *dev);
int bf_vfio_group_map(struct bf_vfio_device *dev, void *at, uint64_t size, uint64_t iova);
void bf_vfio_group_unmap(struct bf_vfio_device *dev, uint64_t iova, uint64_t size);
int bf_vfio_cdev_open(struct bf_vfio_device *dev);
int bf_vfio_cdev_map(struct bf_vfio_device *dev, void *at, uint64_t size, uint64_t iova);
void bf_vfio_cdev_unmap(struct bf_vfio_device *dev, uint64_t iova, uint64_t size);

/* ---- the world ---- */

int bf_vfio_open(const struct bf_vfio_sys *sys, const struct bf_world_opts *opts, struct bf_error *err,
		 struct bf_world **out);

/*
 * Whether a line of the kernel's log is an IOMMU's report of a fault of the device at `address`: then the address that
 * it accessed, and whether it wrote.
 */
bool bf_vfio_fault_line(const char *line, const char *address, uint64_t *iova, bool *write);

#endif
