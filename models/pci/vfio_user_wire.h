/*
 * The vfio-user protocol: layouts and numbers as they travel on the socket, in host order (little-endian here).
 *
 * Source: QEMU docs/interop/vfio-user.rst and hw/vfio-user/protocol.h; numbers of regions, interrupts and flags are
 * those of Linux include/uapi/linux/vfio.h. Client and server, tests included, share this header. Names only, no code.
 */
#ifndef BELFRY_MODELS_PCI_VFIO_USER_WIRE_H
#define BELFRY_MODELS_PCI_VFIO_USER_WIRE_H

#include "sim/bytes.h"
#include "sim/compiler.h"

enum bf_vfu_command {
	BF_VFU_VERSION = 1,
	BF_VFU_DMA_MAP = 2,
	BF_VFU_DMA_UNMAP = 3,
	BF_VFU_GET_INFO = 4,
	BF_VFU_REGION_INFO = 5,
	BF_VFU_REGION_IO_FDS = 6,
	BF_VFU_IRQ_INFO = 7,
	BF_VFU_SET_IRQS = 8,
	BF_VFU_REGION_READ = 9,
	BF_VFU_REGION_WRITE = 10,
	BF_VFU_DMA_READ = 11,  /* server to client */
	BF_VFU_DMA_WRITE = 12, /* server to client */
	BF_VFU_RESET = 13,
	BF_VFU_DIRTY_PAGES = 14, /* removed from the protocol */
	BF_VFU_REGION_WRITE_MULTI = 15,
	BF_VFU_FEATURE = 16,
	BF_VFU_MIG_READ = 17,
	BF_VFU_MIG_WRITE = 18,
};

/* What each side assumes of the other that says nothing else (section "Version"). */
#define BF_VFU_MAX_FDS 16u
#define BF_VFU_MAX_TRANSFER 1048576u
#define BF_VFU_MAX_MAPS 65535u

struct bf_vfu_header {
	struct bf_le16 id; /* the sender's choice; in a reply that of its command */
	struct bf_le16 command;
	struct bf_le32 size; /* of the message, this header included */
	struct bf_le32 flags;
	struct bf_le32 error; /* errno, in a reply with the error flag */
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_header) == 16, "header");

#define BF_VFU_TYPE 0xfu
#define BF_VFU_TYPE_COMMAND 0u
#define BF_VFU_TYPE_REPLY 1u
#define BF_VFU_NO_REPLY 0x10u
#define BF_VFU_ERROR 0x20u

/* Followed by NUL-terminated JSON text. */
struct bf_vfu_version {
	struct bf_le16 major, minor;
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_version) == 4, "version");

#define BF_VFU_MAP_READ 1u
#define BF_VFU_MAP_WRITE 2u
struct bf_vfu_dma_map {
	struct bf_le32 argsz, flags;
	struct bf_le64 offset; /* in the file that comes with the message */
	struct bf_le64 iova, size;
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_dma_map) == 32, "DMA map");

#define BF_VFU_UNMAP_ALL 2u
struct bf_vfu_dma_unmap {
	struct bf_le32 argsz, flags;
	struct bf_le64 iova, size;
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_dma_unmap) == 24, "DMA unmap");

#define BF_VFU_INFO_RESET 1u
#define BF_VFU_INFO_PCI 2u
struct bf_vfu_info {
	struct bf_le32 argsz, flags, regions, irqs;
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_info) == 16, "device info");

/* Regions of a PCI device: 0 to 5 the BARs. */
#define BF_VFU_REGION_ROM 6u
#define BF_VFU_REGION_CONFIG 7u
#define BF_VFU_REGIONS 9u

#define BF_VFU_REGION_CAN_READ 1u
#define BF_VFU_REGION_CAN_WRITE 2u
#define BF_VFU_REGION_CAN_MMAP 4u
#define BF_VFU_REGION_HAS_CAPS 8u
struct bf_vfu_region_info {
	struct bf_le32 argsz, flags, index, cap_offset;
	struct bf_le64 size, offset;
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_region_info) == 32, "region info");

#define BF_VFU_CAP_SPARSE_MMAP 1u
struct bf_vfu_cap_sparse { /* with one area */
	struct bf_le16 id, version;
	struct bf_le32 next, areas, reserved;
	struct bf_le64 offset, size;
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_cap_sparse) == 32, "sparse mmap capability");

struct bf_vfu_region_io_fds {
	struct bf_le32 argsz, flags, index, count;
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_region_io_fds) == 16, "region IO fds");

/* Interrupt types of a PCI device. */
#define BF_VFU_IRQ_MSIX 2u
#define BF_VFU_IRQS 5u

#define BF_VFU_IRQ_EVENTFD 1u
#define BF_VFU_IRQ_NORESIZE 8u
struct bf_vfu_irq_info {
	struct bf_le32 argsz, flags, index, count;
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_irq_info) == 16, "interrupt info");

#define BF_VFU_SET_NONE 0x01u
#define BF_VFU_SET_BOOL 0x02u
#define BF_VFU_SET_EVENTFD 0x04u
#define BF_VFU_SET_MASK 0x08u
#define BF_VFU_SET_UNMASK 0x10u
#define BF_VFU_SET_TRIGGER 0x20u
struct bf_vfu_set_irqs { /* followed by `count` bytes with the bool flag */
	struct bf_le32 argsz, flags, index, start, count;
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_set_irqs) == 20, "set interrupts");

/* Followed by the data: of a write in the command, of a read in the reply. */
struct bf_vfu_region_access {
	struct bf_le64 offset;
	struct bf_le32 region, count;
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_region_access) == 16, "region access");

struct bf_vfu_write_multi { /* followed by `count` entries */
	struct bf_le64 count;
};
struct bf_vfu_write_entry {
	struct bf_le64 offset;
	struct bf_le32 region, count;
	uint8_t data[8];
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_write_entry) == 24, "write of several");

/* Followed by the data as above. */
struct bf_vfu_dma_access {
	struct bf_le64 iova, count;
};
BF_STATIC_ASSERT(sizeof(struct bf_vfu_dma_access) == 16, "DMA access");

#endif
