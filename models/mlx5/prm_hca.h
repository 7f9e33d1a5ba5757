/*
 * The mlx5 device as a PCI function, beside what prm.h has: initialization segment, command queue, life cycle, ports
 * as the kernel's driver asks for them.
 *
 * Sources: Linux include/linux/mlx5/device.h (mlx5_init_seg, health_buffer, mlx5_cmd_layout),
 * include/linux/mlx5/mlx5_ifc.h, drivers/net/ethernet/mellanox/mlx5/core/{cmd,fw,health,pagealloc}.c. Fields are (byte
 * offset of a big-endian dword, mask) as in prm.h. Names only, no code.
 */
#ifndef BELFRY_MODELS_MLX5_PRM_HCA_H
#define BELFRY_MODELS_MLX5_PRM_HCA_H

#include "models/mlx5/prm.h"

/* Initialization segment, at the beginning of BAR 0. Dwords, big-endian. */
#define BF_SEG_FW_REV 0x0000u    /* minor << 16 | major */
#define BF_SEG_CMDIF_REV 0x0004u /* revision of the command interface << 16 | sub-minor of the firmware */
#define BF_SEG_CMDQ_HIGH 0x0010u
#define BF_SEG_CMDQ_LOW 0x0014u /* address, and: */
#define BF_SEG_CMDQ_ADDRESS 0xfffff000u
#define BF_SEG_CMDQ_NIC 0x00000700u /* BF_SEG_NIC_* */
#define BF_SEG_CMDQ_LOG_SIZE 0x000000f0u
#define BF_SEG_CMDQ_LOG_STRIDE 0x0000000fu
#define BF_SEG_CMD_DOORBELL 0x0018u /* a bit for each entry */
#define BF_SEG_INITIALIZING 0x01fcu /* bit 31: not yet ready */
#define BF_SEG_HEALTH 0x0200u
#define BF_SEG_HEALTH_FW_VER 0x0230u
#define BF_SEG_HEALTH_HW_ID 0x0234u
#define BF_SEG_HEALTH_SYNDROME 0x023cu
#define BF_SEG_TIMER_HIGH 0x1000u
#define BF_SEG_TIMER_LOW 0x1004u
#define BF_SEG_HEALTH_COUNTER 0x1010u
#define BF_SEG_BYTES 0x2000u

#define BF_SEG_NIC_FULL 0u
#define BF_SEG_NIC_DISABLED 1u
#define BF_SEG_NIC_RESET 7u

#define BF_CMDIF_REV 5u

/* Command queue entry. */
struct bf_mlx5_cmd_entry {
	uint8_t type;
	uint8_t reserved_1[3];
	struct bf_be32 in_len;
	struct bf_be64 in_ptr;
	uint8_t in[16];
	uint8_t out[16];
	struct bf_be64 out_ptr;
	struct bf_be32 out_len;
	uint8_t token;
	uint8_t signature; /* all 64 bytes together: exclusive or 0xff */
	uint8_t reserved_62;
	uint8_t status_own;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_cmd_entry) == 64, "command queue entry");

#define BF_CMD_TYPE_PCI 7u
#define BF_CMD_OWN_HW 0x01u /* of status_own; above it the delivery status */
#define BF_CMD_INLINE 16u   /* bytes of a message that lie in the entry */

/* A mailbox holds the next 512 bytes of a message. */
struct bf_mlx5_cmd_block {
	uint8_t data[512];
	uint8_t reserved_512[48];
	struct bf_be64 next;
	struct bf_be32 number;
	uint8_t reserved_572;
	uint8_t token;
	uint8_t ctrl_signature, signature;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_cmd_block) == 576, "command mailbox");
#define BF_CMD_BLOCK_ALIGN 512u

/* Whether a command came across; what became of it is in its output (Linux cmd.c MLX5_CMD_DELIVERY_STAT_*). */
enum bf_mlx5_delivery {
	BF_MLX5_DELIVERY_OK = 0x0,
	BF_MLX5_DELIVERY_SIGNATURE = 0x1,
	BF_MLX5_DELIVERY_TOKEN = 0x2,
	BF_MLX5_DELIVERY_BLOCK_NUMBER = 0x3,
	BF_MLX5_DELIVERY_OUT_POINTER = 0x4,
	BF_MLX5_DELIVERY_IN_POINTER = 0x5,
	BF_MLX5_DELIVERY_FIRMWARE = 0x6,
	BF_MLX5_DELIVERY_IN_LENGTH = 0x7,
	BF_MLX5_DELIVERY_OUT_LENGTH = 0x8,
	BF_MLX5_DELIVERY_RESERVED = 0x9,
	BF_MLX5_DELIVERY_TYPE = 0x10,
};

enum bf_mlx5_hca_op {
	BF_MLX5_CMD_INIT_HCA = 0x102,
	BF_MLX5_CMD_TEARDOWN_HCA = 0x103,
	BF_MLX5_CMD_ENABLE_HCA = 0x104,
	BF_MLX5_CMD_DISABLE_HCA = 0x105,
	BF_MLX5_CMD_QUERY_PAGES = 0x107,
	BF_MLX5_CMD_MANAGE_PAGES = 0x108,
	BF_MLX5_CMD_SET_HCA_CAP = 0x109,
	BF_MLX5_CMD_SET_DRIVER_VERSION = 0x10d,
};

/* QUERY_PAGES: op_mod tells which; MANAGE_PAGES: op_mod tells who gives. */
#define BF_PAGES_BOOT 1u
#define BF_PAGES_INIT 2u
#define BF_PAGES_REGULAR 3u
#define BF_QUERY_PAGES_COUNT 0x0c, 0xffffffffu
#define BF_PAGES_CANT_GIVE 0u
#define BF_PAGES_GIVE 1u
#define BF_PAGES_TAKE 2u
#define BF_MANAGE_PAGES_IN_COUNT 0x0c, 0xffffffffu
#define BF_MANAGE_PAGES_OUT_COUNT 0x08, 0xffffffffu
#define BF_MANAGE_PAGES_PAS 0x10 /* be64 each, both ways */

#define BF_DRIVER_VERSION 0x10 /* 64 bytes of text */
#define BF_DRIVER_VERSION_LEN 64u

/* QUERY_HCA_VPORT_CONTEXT output and MODIFY_HCA_VPORT_CONTEXT input: context at 0x10. */
#define BF_HCA_VPORT_PORT 0x08, 0x000f0000u /* of the input; 0 with one port */
#define BF_HCA_VPORT_CTX 0x10
#define BF_HCA_VPORT_LEN 0x210
#define BF_HCA_VPORT_HAS_SMI 0x20, 0x40000000u
#define BF_HCA_VPORT_PHYSICAL 0x20, 0x0000f000u /* 5: up, 3: disabled */
#define BF_HCA_VPORT_STATE 0x20, 0x0000000fu    /* 4: active, 1: down */
#define BF_HCA_VPORT_SYSTEM_GUID 0x28           /* be64; then those of the port and of the node */
#define BF_HCA_VPORT_PORT_GUID 0x30
#define BF_HCA_VPORT_NODE_GUID 0x38
#define BF_HCA_VPORT_CAP1 0x40, 0xffffffffu
#define BF_HCA_VPORT_CAP1_MAY 0x44, 0xffffffffu /* which of them may change; of the input: which do */
#define BF_HCA_VPORT_LID 0x60, 0xffff0000u
#define BF_HCA_VPORT_SUBNET_TIMEOUT 0x60, 0x0000001fu

/* QUERY_HCA_VPORT_GID and _PKEY: number at 0x0c of the input, 0xffff: all; entries at 0x10 of the output. */
#define BF_HCA_VPORT_INDEX 0x0c, 0x0000ffffu
#define BF_HCA_VPORT_ALL 0xffffu
#define BF_HCA_VPORT_GIDS 0x0c, 0xffff0000u
#define BF_HCA_VPORT_ENTRIES 0x10

/* QUERY_VPORT_COUNTER: packets and bytes, be64 each. */
#define BF_VPORT_COUNTER_RECEIVED 0x30 /* InfiniBand unicast */
#define BF_VPORT_COUNTER_TRANSMITTED 0x40
#define BF_VPORT_COUNTER_LEN 0x210

/* ACCESS_REG: registers of a port, its number in the first dword as in PAOS. */
#define BF_REG_PMTU 0x5003u
#define BF_REG_PTYS 0x5004u
#define BF_REG_PPCNT 0x5008u
#define BF_REG_PVLC 0x500fu
#define BF_REG_NODE_DESC 0x6001u
#define BF_REG_HOST_ENDIANNESS 0x7004u
#define BF_PMTU_LEN 16
#define BF_PMTU_MAX 0x04, 0xffff0000u
#define BF_PMTU_ADMIN 0x08, 0xffff0000u
#define BF_PMTU_OPER 0x0c, 0xffff0000u
#define BF_PTYS_LEN 64
#define BF_PTYS_PROTO_MASK 0x00, 0x00000007u
#define BF_PTYS_PROTO_IB 1u
#define BF_PTYS_WIDTH_CAP 0x10, 0xffff0000u
#define BF_PTYS_PROTO_CAP 0x10, 0x0000ffffu
#define BF_PTYS_WIDTH_ADMIN 0x1c, 0xffff0000u
#define BF_PTYS_PROTO_ADMIN 0x1c, 0x0000ffffu
#define BF_PTYS_WIDTH_OPER 0x28, 0xffff0000u
#define BF_PTYS_PROTO_OPER 0x28, 0x0000ffffu
#define BF_PVLC_LEN 16
#define BF_PVLC_CAP 0x04, 0x0000000fu
#define BF_PVLC_ADMIN 0x08, 0x0000000fu
#define BF_PVLC_OPER 0x0c, 0x0000000fu
#define BF_PPCNT_LEN 256 /* two dwords that say which counters, and those */
#define BF_NODE_DESC_LEN 64
#define BF_HOST_ENDIANNESS_LEN 16

/* ALLOC_MEMIC, DEALLOC_MEMIC (mlx5_ifc.h): device memory. */
#define BF_ALLOC_MEMIC_LOG_ALIGNMENT 0x0c, 0x000000ffu
#define BF_ALLOC_MEMIC_RANGE 0x10 /* be64: where it may lie */
#define BF_ALLOC_MEMIC_RANGE_BYTES 0x18, 0xffffffffu
#define BF_ALLOC_MEMIC_BYTES 0x1c, 0xffffffffu
#define BF_ALLOC_MEMIC_LEN 0x20
#define BF_ALLOC_MEMIC_OUT_START 0x08 /* be64 */
#define BF_DEALLOC_MEMIC_START 0x10   /* be64 */
#define BF_DEALLOC_MEMIC_BYTES 0x18, 0xffffffffu
#define BF_DEALLOC_MEMIC_LEN 0x20

/* PAGE_FAULT_RESUME, of faults that the memory scheme told of (mlx5_ifc.h mem_page_fault_info). */
#define BF_RESUME_ERROR 0x08, 0x80000000u
#define BF_RESUME_TOKEN 0x0c, 0xffffffffu

/* Capabilities of device memory (mlx5_ifc.h device_mem_cap). */
#define BF_MEMIC_CAP_MEMIC 0x00, 0x80000000u
#define BF_MEMIC_CAP_LOG_MIN 0x04, 0x001f0000u
#define BF_MEMIC_CAP_LOG_ALIGNMENT 0x04, 0x000000ffu
#define BF_MEMIC_CAP_START 0x08 /* be64 */
#define BF_MEMIC_CAP_BYTES 0x10, 0xffffffffu
#define BF_MEMIC_CAP_MAX 0x14, 0xffffffffu

/* Capabilities that only the kernel's driver asks for (mlx5_ifc.h cmd_hca_cap). */
#define BF_CAP_LOG_MAX_KLM 0x20, 0x0000003fu
#define BF_CAP_VPORT_COUNTERS 0x30, 0x40000000u
#define BF_CAP_IB_VIRT 0x34, 0x20000000u
#define BF_CAP_UMR_NO_ENTITY_SIZE 0x40, 0x01000000u
#define BF_CAP_CMDIF_CHECKSUM 0x40, 0x0000c000u
#define BF_CAP_LOG_PG_SZ 0x48, 0x000000ffu
#define BF_CAP_DRIVER_VERSION 0x4c, 0x40000000u
#define BF_CAP_MAX_QP_MCG 0x5c, 0x01ffffffu
#define BF_CAP_LOG_MAX_MCG 0x60, 0x000000ffu
#define BF_CAP_LOG_UAR_PAGE_SZ 0x90, 0x0000ffffu
#define BF_CAP_UARS_PER_PAGE 0xa4, 0xffffffffu

#endif
