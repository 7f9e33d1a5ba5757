/*
 * The part of the kernel's compute interface that backend "kfd" uses (Linux include/uapi/linux/kfd_ioctl.h, version
 * 1.x; the system's copy of that header needs libdrm's). Field names and order as there.
 */
#ifndef BELFRY_DRIVERS_BACKEND_KFD_UAPI_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_KFD_UAPI_INTERNAL_H

#include <stdint.h>
#include <sys/ioctl.h>

#include "sim/compiler.h"

struct kfd_ioctl_get_version_args {
	uint32_t major_version, minor_version;
};

/* As up to 1.16: what came later names an engine for a type of queue that is not used here, and may be left out. */
struct kfd_ioctl_create_queue_args {
	uint64_t ring_base_address;
	uint64_t write_pointer_address, read_pointer_address;
	uint64_t doorbell_offset; /* from the kernel */
	uint32_t ring_size, gpu_id, queue_type, queue_percentage, queue_priority;
	uint32_t queue_id; /* from the kernel */
	uint64_t eop_buffer_address, eop_buffer_size;
	uint64_t ctx_save_restore_address;
	uint32_t ctx_save_restore_size, ctl_stack_size;
};
BF_STATIC_ASSERT(sizeof(struct kfd_ioctl_create_queue_args) == 88, "CREATE_QUEUE");

struct kfd_ioctl_destroy_queue_args {
	uint32_t queue_id, pad;
};

struct kfd_ioctl_update_queue_args {
	uint64_t ring_base_address;
	uint32_t queue_id, ring_size, queue_percentage, queue_priority;
};
BF_STATIC_ASSERT(sizeof(struct kfd_ioctl_update_queue_args) == 24, "UPDATE_QUEUE");

struct kfd_ioctl_acquire_vm_args {
	uint32_t drm_fd, gpu_id;
};

struct kfd_ioctl_alloc_memory_of_gpu_args {
	uint64_t va_addr, size;
	uint64_t handle, mmap_offset; /* from the kernel */
	uint32_t gpu_id, flags;
};
BF_STATIC_ASSERT(sizeof(struct kfd_ioctl_alloc_memory_of_gpu_args) == 40, "ALLOC_MEMORY_OF_GPU");

struct kfd_ioctl_free_memory_of_gpu_args {
	uint64_t handle;
};

/* MAP and UNMAP. */
struct kfd_ioctl_map_memory_args {
	uint64_t handle, device_ids_array_ptr;
	uint32_t n_devices, n_success;
};
BF_STATIC_ASSERT(sizeof(struct kfd_ioctl_map_memory_args) == 24, "MAP_MEMORY_TO_GPU");

#define KFD_IOCTL_MAJOR_VERSION 1u
#define KFD_IOC_QUEUE_TYPE_SDMA 1u
#define KFD_MAX_QUEUE_PERCENTAGE 100u
#define KFD_IOC_ALLOC_MEM_FLAGS_VRAM (1u << 0)
#define KFD_IOC_ALLOC_MEM_FLAGS_GTT (1u << 1)
#define KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL (1u << 3)
#define KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED (1u << 25)
#define KFD_IOC_ALLOC_MEM_FLAGS_COHERENT (1u << 26)
#define KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC (1u << 29)
#define KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE (1u << 30)
#define KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE (1u << 31)

#define AMDKFD_IOC_GET_VERSION _IOR('K', 0x01, struct kfd_ioctl_get_version_args)
#define AMDKFD_IOC_CREATE_QUEUE _IOWR('K', 0x02, struct kfd_ioctl_create_queue_args)
#define AMDKFD_IOC_DESTROY_QUEUE _IOWR('K', 0x03, struct kfd_ioctl_destroy_queue_args)
#define AMDKFD_IOC_UPDATE_QUEUE _IOW('K', 0x07, struct kfd_ioctl_update_queue_args)
#define AMDKFD_IOC_ACQUIRE_VM _IOW('K', 0x15, struct kfd_ioctl_acquire_vm_args)
#define AMDKFD_IOC_ALLOC_MEMORY_OF_GPU _IOWR('K', 0x16, struct kfd_ioctl_alloc_memory_of_gpu_args)
#define AMDKFD_IOC_FREE_MEMORY_OF_GPU _IOW('K', 0x17, struct kfd_ioctl_free_memory_of_gpu_args)
#define AMDKFD_IOC_MAP_MEMORY_TO_GPU _IOWR('K', 0x18, struct kfd_ioctl_map_memory_args)
#define AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU _IOWR('K', 0x19, struct kfd_ioctl_map_memory_args)

#endif
