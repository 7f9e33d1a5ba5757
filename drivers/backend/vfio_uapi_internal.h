/*
 * The parts of the kernel's VFIO and IOMMUFD interfaces that backend "vfio" uses (Linux include/uapi/linux/vfio.h and
 * iommufd.h, up to 7.3; the system's copies may be older than IOMMUFD). Names and order of fields as there.
 */
#ifndef BELFRY_DRIVERS_BACKEND_VFIO_UAPI_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_VFIO_UAPI_INTERNAL_H

#include <stdint.h>
#include <sys/ioctl.h>

#include "sim/compiler.h"

/* ---- container and group ---- */

#define VFIO_API_VERSION 0
#define VFIO_TYPE1v2_IOMMU 3u
#define VFIO_GROUP_FLAGS_VIABLE 1u

struct vfio_group_status {
	uint32_t argsz, flags;
};

struct vfio_iommu_type1_info {
	uint32_t argsz, flags;
	uint64_t iova_pgsizes; /* bit n: pages of 2^n bytes */
	uint32_t cap_offset, pad;
};
BF_STATIC_ASSERT(sizeof(struct vfio_iommu_type1_info) == 24, "VFIO_IOMMU_GET_INFO");
#define VFIO_IOMMU_INFO_PGSIZES 1u
#define VFIO_IOMMU_INFO_CAPS 2u
#define VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE 1u

struct vfio_info_cap_header {
	uint16_t id, version;
	uint32_t next; /* from the start of the whole structure; 0: the last */
};

struct vfio_iommu_type1_info_cap_iova_range {
	struct vfio_info_cap_header header;
	uint32_t nr_iovas, reserved;
	/* struct vfio_iova_range[nr_iovas] follows. */
};
BF_STATIC_ASSERT(sizeof(struct vfio_iommu_type1_info_cap_iova_range) == 16, "IOVA_RANGE");

struct vfio_iova_range {
	uint64_t start, end; /* both belong to it; struct iommu_iova_range is the same */
};

struct vfio_iommu_type1_dma_map {
	uint32_t argsz, flags;
	uint64_t vaddr, iova, size;
};
#define VFIO_DMA_MAP_FLAG_READ 1u /* by the device */
#define VFIO_DMA_MAP_FLAG_WRITE 2u

struct vfio_iommu_type1_dma_unmap {
	uint32_t argsz, flags;
	uint64_t iova, size;
};

/* ---- device ---- */

struct vfio_device_info {
	uint32_t argsz, flags, num_regions, num_irqs, cap_offset, pad;
};
BF_STATIC_ASSERT(sizeof(struct vfio_device_info) == 24, "VFIO_DEVICE_GET_INFO");
#define VFIO_DEVICE_FLAGS_RESET 1u
#define VFIO_DEVICE_FLAGS_PCI 2u

struct vfio_region_info {
	uint32_t argsz, flags, index, cap_offset;
	uint64_t size, offset; /* offset: in the device's file */
};
BF_STATIC_ASSERT(sizeof(struct vfio_region_info) == 32, "VFIO_DEVICE_GET_REGION_INFO");
#define VFIO_REGION_INFO_FLAG_MMAP 4u
#define VFIO_PCI_BAR0_REGION_INDEX 0u
#define VFIO_PCI_CONFIG_REGION_INDEX 7u

struct vfio_device_bind_iommufd {
	uint32_t argsz, flags;
	int32_t iommufd;
	uint32_t out_devid;
};

struct vfio_device_attach_iommufd_pt {
	uint32_t argsz, flags, pt_id;
};

/* VFIO_DEVICE_FEATURE_GET with feature 11 and one range: gives a descriptor. */
struct vfio_device_feature_dma_buf {
	uint32_t argsz, flags;
	uint32_t region_index, open_flags, dma_buf_flags, nr_ranges;
	uint64_t offset, length;
};
BF_STATIC_ASSERT(sizeof(struct vfio_device_feature_dma_buf) == 40, "VFIO_DEVICE_FEATURE_DMA_BUF");
#define VFIO_DEVICE_FEATURE_GET (1u << 16)
#define VFIO_DEVICE_FEATURE_DMA_BUF 11u

#define VFIO_GET_API_VERSION _IO(';', 100)
#define VFIO_CHECK_EXTENSION _IO(';', 101)
#define VFIO_SET_IOMMU _IO(';', 102)
#define VFIO_GROUP_GET_STATUS _IO(';', 103)
#define VFIO_GROUP_SET_CONTAINER _IO(';', 104)
#define VFIO_GROUP_GET_DEVICE_FD _IO(';', 106)
#define VFIO_DEVICE_GET_INFO _IO(';', 107)
#define VFIO_DEVICE_GET_REGION_INFO _IO(';', 108)
#define VFIO_DEVICE_RESET _IO(';', 111)
#define VFIO_IOMMU_GET_INFO _IO(';', 112)
#define VFIO_IOMMU_MAP_DMA _IO(';', 113)
#define VFIO_IOMMU_UNMAP_DMA _IO(';', 114)
#define VFIO_DEVICE_FEATURE _IO(';', 117)
#define VFIO_DEVICE_BIND_IOMMUFD _IO(';', 118)
#define VFIO_DEVICE_ATTACH_IOMMUFD_PT _IO(';', 119)

/* ---- IOMMUFD ---- */

struct iommu_ioas_alloc {
	uint32_t size, flags, out_ioas_id;
};

struct iommu_ioas_iova_ranges {
	uint32_t size, ioas_id, num_iovas, reserved;
	uint64_t allowed_iovas; /* pointer to struct vfio_iova_range[num_iovas] */
	uint64_t out_iova_alignment;
};
BF_STATIC_ASSERT(sizeof(struct iommu_ioas_iova_ranges) == 32, "IOMMU_IOAS_IOVA_RANGES");

struct iommu_ioas_map {
	uint32_t size, flags, ioas_id, reserved;
	uint64_t user_va, length, iova;
};
BF_STATIC_ASSERT(sizeof(struct iommu_ioas_map) == 40, "IOMMU_IOAS_MAP");
#define IOMMU_IOAS_MAP_FIXED_IOVA 1u
#define IOMMU_IOAS_MAP_WRITEABLE 2u /* by the device */
#define IOMMU_IOAS_MAP_READABLE 4u

struct iommu_ioas_unmap {
	uint32_t size, ioas_id;
	uint64_t iova, length;
};

#define IOMMU_IOAS_ALLOC _IO(';', 0x81)
#define IOMMU_IOAS_IOVA_RANGES _IO(';', 0x84)
#define IOMMU_IOAS_MAP _IO(';', 0x85)
#define IOMMU_IOAS_UNMAP _IO(';', 0x86)

#endif
