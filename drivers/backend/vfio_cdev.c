/*
 * Backend "vfio" by the newer interface: a file for each device, /dev/vfio/devices/vfioN, and I/O address spaces of
 * /dev/iommu (Linux Documentation/userspace-api/iommufd.rst).
 */
#include <errno.h>
#include <stdio.h>

#include "drivers/backend/vfio_internal.h"
#include "drivers/backend/vfio_uapi_internal.h"

#define IOMMU "/dev/iommu"

static int bind_device(struct bf_vfio_device *dev, const char *path)
{
	struct vfio_device_bind_iommufd bind = { .argsz = sizeof(bind) };
	int rc;

	dev->fd = dev->sys->open(dev->sys->arg, path);
	if (dev->fd < 0)
		return bf_vfio_fail(dev, dev->fd, "open", path, "the user needs access to this file");
	dev->iommufd = dev->sys->open(dev->sys->arg, IOMMU);
	if (dev->iommufd < 0)
		return bf_vfio_fail(dev, dev->iommufd, "open", IOMMU, "modprobe iommufd, or permissions");
	bind.iommufd = dev->iommufd;
	rc = bf_vfio_ioctl(dev, dev->fd, VFIO_DEVICE_BIND_IOMMUFD, &bind);
	if (rc < 0)
		return bf_vfio_fail(dev, rc, "VFIO_DEVICE_BIND_IOMMUFD", path,
				    rc == -EBUSY ? "another process has the device or its group" : NULL);
	return 0;
}

static int attach(struct bf_vfio_device *dev, const char *path)
{
	struct iommu_ioas_alloc alloc = { .size = sizeof(alloc) };
	struct vfio_device_attach_iommufd_pt pt = { .argsz = sizeof(pt) };
	char strangers[96];
	int rc = bf_vfio_ioctl(dev, dev->iommufd, IOMMU_IOAS_ALLOC, &alloc);

	if (rc < 0)
		return bf_vfio_fail(dev, rc, "IOMMU_IOAS_ALLOC", IOMMU, NULL);
	dev->ioas = alloc.out_ioas_id;
	pt.pt_id = alloc.out_ioas_id;
	rc = bf_vfio_ioctl(dev, dev->fd, VFIO_DEVICE_ATTACH_IOMMUFD_PT, &pt);
	if (rc >= 0)
		return 0;
	bf_vfio_group_strangers(dev->sys, &dev->spot, strangers, sizeof(strangers));
	return bf_vfio_fail(dev, rc, "VFIO_DEVICE_ATTACH_IOMMUFD_PT", path,
			    strangers[0] ? strangers : "an IOMMU without interrupt remapping is refused");
}

static int ask_ranges(struct bf_vfio_device *dev)
{
	struct vfio_iova_range r[BF_VFIO_RANGES_MAX];
	struct iommu_ioas_iova_ranges a = { .size = sizeof(a),
					    .ioas_id = dev->ioas,
					    .num_iovas = BF_VFIO_RANGES_MAX,
					    .allowed_iovas = (uint64_t)(uintptr_t)r };
	const int rc = bf_vfio_ioctl(dev, dev->iommufd, IOMMU_IOAS_IOVA_RANGES, &a);

	if (rc < 0)
		return bf_vfio_fail(dev, rc, "IOMMU_IOAS_IOVA_RANGES", IOMMU,
				    rc == -EMSGSIZE ? "there are more than 64" : NULL);
	dev->alignment = a.out_iova_alignment;
	for (uint32_t i = 0; i < a.num_iovas && i < BF_VFIO_RANGES_MAX; i++)
		dev->range[dev->nranges++] = (struct bf_vfio_range){ r[i].start, r[i].end };
	return 0;
}

int bf_vfio_cdev_open(struct bf_vfio_device *dev)
{
	char path[64];
	int rc;

	snprintf(path, sizeof(path), "/dev/vfio/devices/%s", dev->spot.node);
	rc = bind_device(dev, path);
	if (!rc)
		rc = attach(dev, path);
	return rc ? rc : ask_ranges(dev);
}

int bf_vfio_cdev_map(struct bf_vfio_device *dev, void *at, uint64_t size, uint64_t iova)
{
	struct iommu_ioas_map a = {
		.size = sizeof(a),
		.flags = IOMMU_IOAS_MAP_FIXED_IOVA | IOMMU_IOAS_MAP_READABLE | IOMMU_IOAS_MAP_WRITEABLE,
		.ioas_id = dev->ioas,
		.user_va = (uint64_t)(uintptr_t)at,
		.length = size,
		.iova = iova,
	};

	return bf_vfio_ioctl(dev, dev->iommufd, IOMMU_IOAS_MAP, &a);
}

void bf_vfio_cdev_unmap(struct bf_vfio_device *dev, uint64_t iova, uint64_t size)
{
	struct iommu_ioas_unmap a = { .size = sizeof(a), .ioas_id = dev->ioas, .iova = iova, .length = size };

	bf_vfio_ioctl(dev, dev->iommufd, IOMMU_IOAS_UNMAP, &a);
}
