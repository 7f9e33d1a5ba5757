/* Backend "vfio": a device behind either interface: registers, configuration space, mappings, its end. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "drivers/backend/vfio_internal.h"
#include "drivers/backend/vfio_uapi_internal.h"
#include "models/nvme/prm.h"

/* PCI Local Bus Specification 3.0, section 6.2.2: the command register. */
#define PCI_COMMAND 4u
#define PCI_COMMAND_MEMORY 2u
#define PCI_COMMAND_MASTER 4u
#define PCI_COMMAND_INTX_DISABLE 0x400u

int bf_vfio_fail(struct bf_vfio_device *dev, int rc, const char *step, const char *file, const char *advice)
{
	return bf_fail(dev->err, rc, "%s of %s: %s%s%s", step, file, strerror(-rc), advice ? "; " : "",
		       advice ? advice : "");
}

static int fail_device(struct bf_vfio_device *dev, int rc, const char *step, const char *advice)
{
	return bf_vfio_fail(dev, rc, step, dev->spot.address, advice);
}

static int ask_region(struct bf_vfio_device *dev, uint32_t index, const char *what, struct vfio_region_info *r)
{
	char step[64];
	int rc;

	*r = (struct vfio_region_info){ .argsz = sizeof(*r), .index = index };
	rc = bf_vfio_ioctl(dev, dev->fd, VFIO_DEVICE_GET_REGION_INFO, r);
	snprintf(step, sizeof(step), "VFIO_DEVICE_GET_REGION_INFO(%s)", what);
	return rc < 0 ? fail_device(dev, rc, step, NULL) : 0;
}

/* Sets or clears bits of the command register. 0 or a negative errno. */
static int command(struct bf_vfio_device *dev, uint16_t set, uint16_t clear)
{
	const off_t at = (off_t)(dev->config + PCI_COMMAND);
	uint8_t bytes[2];
	ssize_t n = dev->sys->pread(dev->sys->arg, dev->fd, bytes, sizeof(bytes), at);
	uint16_t value;

	if (n == sizeof(bytes)) {
		value = (uint16_t)((bytes[0] | bytes[1] << 8) & ~clear) | set;
		bytes[0] = (uint8_t)value;
		bytes[1] = (uint8_t)(value >> 8);
		n = dev->sys->pwrite(dev->sys->arg, dev->fd, bytes, sizeof(bytes), at);
	}
	return n == sizeof(bytes) ? 0 : n < 0 ? (int)n : -EIO;
}

/* What the driver needs of it, and nothing of it touched yet. */
static int look(struct bf_vfio_device *dev, struct vfio_region_info *bar)
{
	struct vfio_device_info info = { .argsz = sizeof(info) };
	struct vfio_region_info config;
	int rc = bf_vfio_ioctl(dev, dev->fd, VFIO_DEVICE_GET_INFO, &info);

	if (rc < 0)
		return fail_device(dev, rc, "VFIO_DEVICE_GET_INFO", NULL);
	if (!(info.flags & VFIO_DEVICE_FLAGS_PCI) || info.num_regions <= VFIO_PCI_CONFIG_REGION_INDEX)
		return fail_device(dev, -ENODEV, "VFIO_DEVICE_GET_INFO", "it is not a PCI device");
	dev->resets = info.flags & VFIO_DEVICE_FLAGS_RESET;
	rc = ask_region(dev, VFIO_PCI_CONFIG_REGION_INDEX, "configuration space", &config);
	if (!rc)
		rc = ask_region(dev, VFIO_PCI_BAR0_REGION_INDEX, "BAR0", bar);
	if (rc)
		return rc;
	dev->config = config.offset;
	if (!(bar->flags & VFIO_REGION_INFO_FLAG_MMAP) || bar->size <= BF_NVME_DOORBELLS)
		return bf_fail(dev->err, -ENODEV, "BAR0 of %s, %" PRIu64 " bytes, cannot be mapped or has no doorbells",
			       dev->spot.address, bar->size);
	return 0;
}

static int set_up(struct bf_vfio_device *dev)
{
	struct vfio_region_info bar;
	int rc = look(dev, &bar);

	if (rc)
		return rc;
	/* Nobody would answer the interrupt pin, which admin completions pull otherwise. */
	rc = command(dev, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_INTX_DISABLE, 0);
	if (rc)
		return fail_device(dev, rc, "switching bus mastering on in the configuration space", NULL);
	dev->mastering = true;
	dev->bar = dev->sys->mmap(dev->sys->arg, bar.size, dev->fd, (off_t)bar.offset);
	dev->bar_bytes = bar.size;
	return dev->bar ? 0 : fail_device(dev, -ENOMEM, "mmap of BAR0", NULL);
}

/* Where a kernel does not tell: below the window of interrupt messages, and above it as far as any IOMMU reaches. */
static void assume_ranges(struct bf_vfio_device *dev)
{
	dev->range[dev->nranges++] = (struct bf_vfio_range){ 0, 0xfedfffff };
	dev->range[dev->nranges++] = (struct bf_vfio_range){ 0xfef00000, (1ull << 39) - 1 };
}

int bf_vfio_device_open(struct bf_vfio_device *dev, const struct bf_vfio_sys *sys, const struct bf_vfio_spot *spot,
			struct bf_error *err)
{
	int rc;

	*dev = (struct bf_vfio_device){
		.sys = sys, .err = err, .spot = *spot, .container = -1, .group = -1, .iommufd = -1, .fd = -1
	};
	rc = spot->way == BF_VFIO_CDEV ? bf_vfio_cdev_open(dev) : bf_vfio_group_open(dev);
	if (!rc && !dev->nranges)
		assume_ranges(dev);
	if (dev->alignment < 4096)
		dev->alignment = 4096;
	if (!rc)
		rc = set_up(dev);
	if (!rc)
		return 0;
	bf_vfio_device_quiet(dev);
	bf_vfio_device_close(dev);
	return rc;
}

void bf_vfio_device_quiet(struct bf_vfio_device *dev)
{
	if (!dev->mastering)
		return;
	command(dev, 0, PCI_COMMAND_MASTER);
	if (dev->resets)
		bf_vfio_ioctl(dev, dev->fd, VFIO_DEVICE_RESET, NULL);
	dev->mastering = false;
}

/* The device's file before its address space's: closing the former detaches it. */
void bf_vfio_device_close(struct bf_vfio_device *dev)
{
	const int fds[] = { dev->fd, dev->group, dev->container, dev->iommufd };

	if (dev->bar)
		dev->sys->munmap(dev->sys->arg, dev->bar, dev->bar_bytes);
	for (size_t i = 0; i < BF_ARRAY_LEN(fds); i++)
		if (fds[i] >= 0)
			dev->sys->close(dev->sys->arg, fds[i]);
}

int bf_vfio_map(struct bf_vfio_device *dev, void *at, uint64_t size, uint64_t iova)
{
	const bool cdev = dev->spot.way == BF_VFIO_CDEV;
	const int rc = cdev ? bf_vfio_cdev_map(dev, at, size, iova) : bf_vfio_group_map(dev, at, size, iova);

	if (rc >= 0)
		return 0;
	return bf_vfio_fail(dev, rc, cdev ? "IOMMU_IOAS_MAP" : "VFIO_IOMMU_MAP_DMA", dev->spot.address,
			    rc == -ENOMEM ? "mapped memory is locked in memory: ulimit -l" : NULL);
}

void bf_vfio_unmap(struct bf_vfio_device *dev, uint64_t iova, uint64_t size)
{
	if (dev->spot.way == BF_VFIO_CDEV)
		bf_vfio_cdev_unmap(dev, iova, size);
	else
		bf_vfio_group_unmap(dev, iova, size);
}

int bf_vfio_export_bar(struct bf_vfio_device *dev, uint64_t offset, uint64_t bytes)
{
	struct vfio_device_feature_dma_buf a = {
		.argsz = sizeof(a),
		.flags = VFIO_DEVICE_FEATURE_GET | VFIO_DEVICE_FEATURE_DMA_BUF,
		.region_index = VFIO_PCI_BAR0_REGION_INDEX,
		.open_flags = O_RDWR | O_CLOEXEC,
		.nr_ranges = 1,
		.offset = offset,
		.length = bytes,
	};
	const int fd = bf_vfio_ioctl(dev, dev->fd, VFIO_DEVICE_FEATURE, &a);

	return fd < 0 ? fail_device(dev, fd, "VFIO_DEVICE_FEATURE(DMA_BUF)",
				    fd == -ENOTTY ? "kernels from 6.19 on with CONFIG_VFIO_PCI_DMABUF have it" : NULL)
		      : fd;
}
