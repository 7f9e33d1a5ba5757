/*
 * Backend "vfio" by VFIO's older interface: a container of IOMMU groups, /dev/vfio/vfio and /dev/vfio/GROUP (Linux
 * Documentation/driver-api/vfio.rst).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/backend/vfio_internal.h"
#include "drivers/backend/vfio_uapi_internal.h"

#define CONTAINER "/dev/vfio/vfio"
#define INFO_MAX 65536u

static int open_container(struct bf_vfio_device *dev)
{
	int rc;

	dev->container = dev->sys->open(dev->sys->arg, CONTAINER);
	if (dev->container < 0)
		return bf_vfio_fail(dev, dev->container, "open", CONTAINER, "modprobe vfio, or permissions");
	rc = bf_vfio_ioctl(dev, dev->container, VFIO_GET_API_VERSION, NULL);
	if (rc != VFIO_API_VERSION)
		return bf_vfio_fail(dev, rc < 0 ? rc : -EPROTO, "VFIO_GET_API_VERSION", CONTAINER,
				    "version 0 is needed");
	rc = bf_vfio_ioctl(dev, dev->container, VFIO_CHECK_EXTENSION, (void *)(uintptr_t)VFIO_TYPE1v2_IOMMU);
	if (rc <= 0)
		return bf_vfio_fail(dev, rc ? rc : -ENODEV, "VFIO_CHECK_EXTENSION(TYPE1v2)", CONTAINER,
				    "modprobe vfio_iommu_type1");
	return 0;
}

static int join_group(struct bf_vfio_device *dev)
{
	struct vfio_group_status status = { .argsz = sizeof(status) };
	char path[40], strangers[96];
	int rc;

	snprintf(path, sizeof(path), "/dev/vfio/%s", dev->spot.group);
	dev->group = dev->sys->open(dev->sys->arg, path);
	if (dev->group < 0)
		return bf_vfio_fail(dev, dev->group, "open", path,
				    dev->group == -EBUSY ? "another process has it"
							 : "the user needs access to this file");
	rc = bf_vfio_ioctl(dev, dev->group, VFIO_GROUP_GET_STATUS, &status);
	if (rc < 0)
		return bf_vfio_fail(dev, rc, "VFIO_GROUP_GET_STATUS", path, NULL);
	if (!(status.flags & VFIO_GROUP_FLAGS_VIABLE)) {
		bf_vfio_group_strangers(dev->sys, &dev->spot, strangers, sizeof(strangers));
		return bf_fail(
		    dev->err, -EPERM,
		    "IOMMU group %s of %s is not viable: other drivers have devices in it, %s; unbind them or bind "
		    "them to vfio-pci",
		    dev->spot.group, dev->spot.address, strangers);
	}
	rc = bf_vfio_ioctl(dev, dev->group, VFIO_GROUP_SET_CONTAINER, &dev->container);
	if (rc < 0)
		return bf_vfio_fail(dev, rc, "VFIO_GROUP_SET_CONTAINER", path, NULL);
	rc = bf_vfio_ioctl(dev, dev->container, VFIO_SET_IOMMU, (void *)(uintptr_t)VFIO_TYPE1v2_IOMMU);
	if (rc < 0)
		return bf_vfio_fail(dev, rc, "VFIO_SET_IOMMU(TYPE1v2)", CONTAINER,
				    "an IOMMU without interrupt remapping needs allow_unsafe_interrupts=1");
	return 0;
}

/* The list of address ranges among the capabilities; none in kernels before 5.4. */
static int take_ranges(struct bf_vfio_device *dev, const uint8_t *info, uint32_t len, uint32_t at)
{
	struct vfio_iommu_type1_info_cap_iova_range cap;
	struct vfio_iova_range r;

	while (at) {
		if (at > len || len - at < sizeof(cap.header))
			return bf_vfio_fail(dev, -EPROTO, "VFIO_IOMMU_GET_INFO", CONTAINER,
					    "a capability lies outside");
		memcpy(&cap.header, info + at, sizeof(cap.header));
		if (cap.header.id == VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE)
			break;
		if (cap.header.next && cap.header.next <= at)
			return bf_vfio_fail(dev, -EPROTO, "VFIO_IOMMU_GET_INFO", CONTAINER,
					    "capabilities go in circles");
		at = cap.header.next;
	}
	if (!at)
		return 0;
	if (len - at < sizeof(cap))
		return bf_vfio_fail(dev, -EPROTO, "VFIO_IOMMU_GET_INFO", CONTAINER, "a capability is cut off");
	memcpy(&cap, info + at, sizeof(cap));
	at += (uint32_t)sizeof(cap);
	for (uint32_t i = 0; i < cap.nr_iovas && i < BF_VFIO_RANGES_MAX && (len - at) / sizeof(r) > i; i++) {
		memcpy(&r, info + at + i * sizeof(r), sizeof(r));
		dev->range[dev->nranges++] = (struct bf_vfio_range){ r.start, r.end };
	}
	return 0;
}

/* Asked twice: the first answer tells how long the second is. */
static int ask_ranges(struct bf_vfio_device *dev)
{
	struct vfio_iommu_type1_info info = { .argsz = sizeof(info) };
	uint8_t *all;
	int rc = bf_vfio_ioctl(dev, dev->container, VFIO_IOMMU_GET_INFO, &info);

	if (rc < 0)
		return bf_vfio_fail(dev, rc, "VFIO_IOMMU_GET_INFO", CONTAINER, NULL);
	if (info.flags & VFIO_IOMMU_INFO_PGSIZES && info.iova_pgsizes)
		dev->alignment = info.iova_pgsizes & -info.iova_pgsizes;
	if (!(info.flags & VFIO_IOMMU_INFO_CAPS) || info.argsz <= sizeof(info))
		return 0;
	if (info.argsz > INFO_MAX)
		return bf_vfio_fail(dev, -E2BIG, "VFIO_IOMMU_GET_INFO", CONTAINER, "more than 64 KiB of capabilities");
	all = calloc(1, info.argsz);
	if (!all)
		return bf_fail(dev->err, -ENOMEM, "no memory for the IOMMU's capabilities");
	memcpy(all, &info.argsz, sizeof(info.argsz));
	rc = bf_vfio_ioctl(dev, dev->container, VFIO_IOMMU_GET_INFO, all);
	if (rc < 0)
		rc = bf_vfio_fail(dev, rc, "VFIO_IOMMU_GET_INFO", CONTAINER, NULL);
	else
		rc = take_ranges(dev, all, info.argsz, ((struct vfio_iommu_type1_info *)(void *)all)->cap_offset);
	free(all);
	return rc;
}

int bf_vfio_group_open(struct bf_vfio_device *dev)
{
	char path[40];
	int rc = open_container(dev);

	if (!rc)
		rc = join_group(dev);
	if (!rc)
		rc = ask_ranges(dev);
	if (rc)
		return rc;
	snprintf(path, sizeof(path), "/dev/vfio/%s", dev->spot.group);
	dev->fd = bf_vfio_ioctl(dev, dev->group, VFIO_GROUP_GET_DEVICE_FD, dev->spot.address);
	return dev->fd < 0 ? bf_vfio_fail(dev, dev->fd, "VFIO_GROUP_GET_DEVICE_FD", path, "another process may have it")
			   : 0;
}

int bf_vfio_group_map(struct bf_vfio_device *dev, void *at, uint64_t size, uint64_t iova)
{
	struct vfio_iommu_type1_dma_map a = { .argsz = sizeof(a),
					      .flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
					      .vaddr = (uint64_t)(uintptr_t)at,
					      .iova = iova,
					      .size = size };

	return bf_vfio_ioctl(dev, dev->container, VFIO_IOMMU_MAP_DMA, &a);
}

void bf_vfio_group_unmap(struct bf_vfio_device *dev, uint64_t iova, uint64_t size)
{
	struct vfio_iommu_type1_dma_unmap a = { .argsz = sizeof(a), .iova = iova, .size = size };

	bf_vfio_ioctl(dev, dev->container, VFIO_IOMMU_UNMAP_DMA, &a);
}
