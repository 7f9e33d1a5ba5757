/*
 * IOMMUFD: how user space gives a device addresses (Linux include/uapi/linux/iommufd.h; the errno values are those of
 * drivers/iommu/iommufd/, read in version 6.12).
 *
 * An IOAS is a table of I/O addresses, made of areas of user memory or of DMA-BUFs. A device is bound and then attached
 * to an IOAS, or to a hardware page table (HWPT) of one; from then on its DMA is translated there and nowhere else.
 * Objects have the kernel's ids: the lowest free number from 1. Differences: an IOAS wants pages from the start, as a
 * kernel's does once a device is attached; limits of locked memory are not modelled. A DMA-BUF is accepted when it can
 * be mapped as PAL.
 *
 * Functions return 0 or the ioctl's negative errno with sim->error set, and emit a record (sim/records_share.h) either
 * way. One thread.
 */
#ifndef BELFRY_SIM_IOMMUFD_H
#define BELFRY_SIM_IOMMUFD_H

#include "sim/dmabuf.h"
#include "sim/pcie.h"

struct bf_iommufd; /* opaque */

/* One open /dev/iommu of a process whose memory is `space`. Returns 0 or -ENOMEM. */
int bf_iommufd_open(struct bf_sim *sim, struct bf_space *space, struct bf_iommufd **out);

/* Closes it: devices are unbound and get back what they had, maps and references go. */
void bf_iommufd_close(struct bf_iommufd *fd);

/* IOMMU_IOAS_ALLOC. -ENOMEM. */
int bf_iommufd_ioas_alloc(struct bf_iommufd *fd, uint32_t *id);

#define BF_IOMMUFD_FIXED_IOVA 1u
#define BF_IOMMUFD_WRITEABLE 2u
#define BF_IOMMUFD_READABLE 4u

/*
 * IOMMU_IOAS_MAP: `len` bytes of host memory at simulated address `user_va`. `*iova` is taken when fixed, given
 * otherwise. -EOPNOTSUPP unknown flags, -EOVERFLOW, -EINVAL neither readable nor writeable, empty, unaligned or in a
 * reserved range, -EEXIST overlap, -ENOSPC no address left, -EFAULT no such memory, -ENOENT no such IOAS, -ENOMEM.
 */
int bf_iommufd_map(struct bf_iommufd *fd, uint32_t ioas, uint32_t flags, uint64_t user_va, uint64_t len,
		   uint64_t *iova);

/* IOMMU_IOAS_MAP_FILE with a DMA-BUF: the same, and what attaching and mapping it says. `buf` NULL: -EBADF. */
int bf_iommufd_map_file(struct bf_iommufd *fd, uint32_t ioas, uint32_t flags, struct bf_dmabuf *buf, uint64_t start,
			uint64_t len, uint64_t *iova);

/*
 * IOMMU_IOAS_COPY: maps what `src` has at `src_iova` into `dst`. -ENOENT when `src` does not map all of it, otherwise
 * as bf_iommufd_map().
 */
int bf_iommufd_copy(struct bf_iommufd *fd, uint32_t dst, uint32_t src, uint32_t flags, uint64_t len, uint64_t src_iova,
		    uint64_t *dst_iova);

/*
 * IOMMU_IOAS_UNMAP: whole areas only; iova 0 and length UINT64_MAX unmap all. `*unmapped` (may be NULL) gets the bytes.
 * -ENOENT nothing there or an area reaches over the ends (areas before it are gone then), -EINVAL, -EOVERFLOW.
 */
int bf_iommufd_unmap(struct bf_iommufd *fd, uint32_t ioas, uint64_t iova, uint64_t len, uint64_t *unmapped);

struct bf_iova_range {
	uint64_t start, last; /* inclusive */
};

/*
 * IOMMU_IOAS_IOVA_RANGES: what may be mapped. `*count` is the room in `out` and becomes the number there are. -EMSGSIZE
 * when there are more. With a device attached the window of its interrupts is cut out.
 */
int bf_iommufd_iova_ranges(struct bf_iommufd *fd, uint32_t ioas, struct bf_iova_range *out, uint32_t *count,
			   uint64_t *alignment);

/*
 * IOMMU_IOAS_ALLOW_IOVAS: addresses are given out from these ranges only, and no device that reserves any of them can
 * be attached. -EINVAL empty or overlapping ranges, -EADDRINUSE reserved ones.
 */
int bf_iommufd_allow_iovas(struct bf_iommufd *fd, uint32_t ioas, const struct bf_iova_range *ranges, uint32_t count);

/*
 * VFIO_DEVICE_BIND_IOMMUFD: the device whose DMA goes through `port` (borrowed until closed or destroyed). All of its
 * DMA faults until it is attached. -EBUSY when it is bound already.
 */
int bf_iommufd_bind(struct bf_iommufd *fd, const char *name, struct bf_dma_port *port, uint32_t *id);

/*
 * VFIO_DEVICE_ATTACH_IOMMUFD_PT: `*pt` is an IOAS or a HWPT and becomes the HWPT in use. A device that is attached
 * already changes over. -ENOENT, -EINVAL when it is neither, -EADDRINUSE when areas or allowed ranges are in the way of
 * its interrupts.
 */
int bf_iommufd_attach(struct bf_iommufd *fd, uint32_t device, uint32_t *pt);
/* VFIO_DEVICE_DETACH_IOMMUFD_PT; fine when it is not attached. */
int bf_iommufd_detach(struct bf_iommufd *fd, uint32_t device);

/* IOMMU_HWPT_ALLOC of a page table for `device` that follows an IOAS. -ENOENT, -EINVAL. */
int bf_iommufd_hwpt_alloc(struct bf_iommufd *fd, uint32_t device, uint32_t ioas, uint32_t *id);

/* IOMMU_DESTROY. -ENOENT, -EBUSY while another object uses it. */
int bf_iommufd_destroy(struct bf_iommufd *fd, uint32_t id);

#endif
