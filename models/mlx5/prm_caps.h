/*
 * mlx5 layouts: what a device tells of itself: capabilities, ports, identity. Part of models/mlx5/prm.h, which see.
 */
#ifndef BELFRY_MODELS_MLX5_PRM_CAPS_H
#define BELFRY_MODELS_MLX5_PRM_CAPS_H

/* QUERY_HCA_CAP: op_mod = type << 1 | 1 for the current values; capabilities at 0x10 (mlx5_ifc.h cmd_hca_cap). */
#define BF_HCA_CAP 0x10
#define BF_HCA_CAP_GENERAL 0u
#define BF_HCA_CAP_ODP 2u
#define BF_HCA_CAP_ATOMIC 3u
#define BF_HCA_CAP_ROCE 4u
#define BF_HCA_CAP_MEMIC 0xfu
#define BF_HCA_CAP_GENERAL_2 0x20u
#define BF_CAP_HAS_GENERAL_2 0x04, 0x80000000u
#define BF_CAP_LOG_MAX_SRQ_SZ 0x10, 0xff000000u
#define BF_CAP_LOG_MAX_QP_SZ 0x10, 0x00ff0000u
#define BF_CAP_LOG_MAX_QP 0x10, 0x0000001fu
#define BF_CAP_LOG_MAX_SRQ 0x14, 0x001f0000u
#define BF_CAP_LOG_MAX_CQ_SZ 0x18, 0x00ff0000u
#define BF_CAP_LOG_MAX_CQ 0x18, 0x0000001fu
#define BF_CAP_LOG_MAX_EQ_SZ 0x1c, 0xff000000u
#define BF_CAP_LOG_MAX_MKEY 0x1c, 0x003f0000u
#define BF_CAP_TERMINATE_MKEY 0x1c, 0x00000200u
#define BF_CAP_LOG_MAX_EQ 0x1c, 0x0000000fu
#define BF_CAP_FIXED_BUFFER_SIZE 0x20, 0x00800000u /* keys of KSMs */
#define BF_CAP_LOG_MAX_MRW_SZ 0x20, 0x007f0000u
#define BF_CAP_LOG_MAX_RA_REQ_DC 0x24, 0x003f0000u
#define BF_CAP_LOG_MAX_RA_RES_DC 0x24, 0x0000003fu
#define BF_CAP_LOG_MAX_RA_REQ_QP 0x28, 0x003f0000u
#define BF_CAP_LOG_MAX_RA_RES_QP 0x28, 0x0000003fu
#define BF_CAP_GID_TABLE_SIZE 0x2c, 0x0000ffffu /* 0: 8 entries .. 4: 128 */
#define BF_CAP_RTS2RTS_DSCP 0x2c, 0x00200000u
#define BF_CAP_PORT_TYPE 0x34, 0x00000300u /* 1: Ethernet */
#define BF_CAP_NUM_PORTS 0x34, 0x000000ffu
#define BF_CAP_LOG_MAX_MSG 0x38, 0x1f000000u
#define BF_CAP_OOO_RW_RC 0x38, 0x00200000u
#define BF_CAP_QPC_EXTENSION 0x24, 0x20000000u
#define BF_CAP_RTS2RTS_UDP_SPORT 0x28, 0x00004000u
#define BF_CAP_CQE_VERSION 0x3c, 0x0000000fu
#define BF_CAP_COMPACT_AV 0x40, 0x80000000u
#define BF_CAP_DC_REQ_SCAT_CQE 0x40, 0x00080000u
#define BF_CAP_SCAT_CQE 0x40, 0x00000400u
#define BF_CAP_DCT 0x40, 0x00000020u
#define BF_CAP_ROCE 0x40, 0x00000004u
#define BF_CAP_ATOMIC 0x40, 0x00000002u
#define BF_CAP_CQ_OI 0x44, 0x80000000u
#define BF_CAP_CQ_RESIZE 0x44, 0x40000000u
#define BF_CAP_CQ_MODERATION 0x44, 0x20000000u
#define BF_CAP_PG 0x44, 0x01000000u
#define BF_CAP_BLOCK_LB_MC 0x44, 0x00800000u
#define BF_CAP_CD 0x44, 0x00080000u /* core-direct: WAIT */
#define BF_CAP_XRC 0x44, 0x00000008u
#define BF_CAP_UD 0x44, 0x00000004u
#define BF_CAP_UC 0x44, 0x00000002u
#define BF_CAP_RC 0x44, 0x00000001u
#define BF_CAP_UAR_4K 0x48, 0x80000000u
#define BF_CAP_BF 0x4c, 0x80000000u
#define BF_CAP_LOG_BF_REG_SIZE 0x4c, 0x001f0000u
#define BF_CAP_MAX_WQE_SQ 0x50, 0x0000ffffu
#define BF_CAP_MAX_WQE_RQ 0x54, 0x0000ffffu
#define BF_CAP_MAX_WQE_SQ_DC 0x58, 0x0000ffffu
#define BF_CAP_LOG_MAX_XRCD 0x64, 0x0000001fu
#define BF_CAP_LOG_MAX_PD 0x64, 0x001f0000u
#define BF_CAP_OOO_ALL_RC 0x64, 0x00000800u
#define BF_CAP_LOG_MAX_RMP 0x70, 0x1f000000u
#define BF_CAP_OBJECT_TYPES 0x80 /* be64: a bit for each BF_OBJ_* */
#define BF_CAP_MAX_EQS 0x8c, 0x0000ffffu
#define BF_CAP_FREQUENCY_MHZ 0x98, 0xffffffffu /* of the clock in CQEs */
#define BF_CAP_FREQUENCY_KHZ 0x9c, 0xffffffffu
#define BF_CAP_LOG_MAX_DCT_CONNECTIONS 0xac, 0x0000001fu
#define BF_CAP_LOG_MAX_DCI_STREAMS 0xb0, 0x001f0000u
#define BF_CAP_LOG_MAX_DCI_ERRORED 0xb0, 0x00001f00u
#define BF_CAP_CQE_COMPRESSION 0xb4, 0x00000001u
#define BF_CAP_CQE_COMPRESSION_128 0xb4, 0x00000002u
#define BF_CAP_CQE_COMPRESSION_TIMEOUT 0xb8, 0xffff0000u
#define BF_CAP_CQE_COMPRESSION_MAX 0xb8, 0x0000ffffu
#define BF_CAP2_LOG_RESERVED_QPNS 0x10, 0x00001f00u /* that one object has */
#define BF_CAP2_DP_ORDERING_FORCE 0x10, 0x00800000u
#define BF_CAP2_NO_RECORD 0x5c, 0x40000000u /* send_dbr_mode_no_dbr_ext */
#define BF_CAP_NUM_VHCA_PORTS 0xc0, 0x0000ff00u
#define BF_HCA_CAP_LEN 0xc4
#define BF_ATOMIC_CAP_8B_HOST 0x08, 0xc0000000u
#define BF_ATOMIC_CAP_OPERATIONS 0x10, 0x0000ffffu
#define BF_ATOMIC_CS 1u
#define BF_ATOMIC_FA 2u
#define BF_ATOMIC_MASKED_CS 4u
#define BF_ATOMIC_MASKED_FA 8u
#define BF_ATOMIC_CAP_SIZE_QP 0x14, 0x0000ffffu /* a bit for each size in bytes, at its value */
#define BF_ATOMIC_CAP_SIZE_DC 0x18, 0x0000ffffu
#define BF_ATOMIC_CAP_LEN 0x1c
/* Of paging on demand, for each service (mlx5_ifc.h odp_cap). */
#define BF_ODP_CAP_RC 0x10, 0xfc000000u
#define BF_ODP_CAP_UC 0x14, 0xfc000000u
#define BF_ODP_CAP_UD 0x18, 0xfc000000u
#define BF_ODP_CAP_XRC 0x1c, 0xfc000000u
#define BF_ODP_SEND 0x20u /* then receive, WRITE, READ, atomics, shared receive queues */
#define BF_ODP_ALL 0x3fu
#define BF_ROCE_CAP_MAX_UDP_SPORT 0x18, 0xffff0000u
#define BF_ROCE_CAP_MIN_UDP_SPORT 0x18, 0x0000ffffu
#define BF_ROCE_CAP_TABLE_SIZE 0x1c, 0x0000ffffu

/* QUERY_ROCE_ADDRESS: an entry of the GID table of a port, at 0x10 of the output (mlx5_ifc.h roce_addr_layout). */
#define BF_ROCE_ADDRESS_INDEX 0x08, 0xffff0000u
#define BF_ROCE_ADDRESS_PORT 0x08, 0x0000000fu
#define BF_ROCE_ADDRESS_ENTRY 0x10 /* 16 bytes of GID, then: */
#define BF_ROCE_ADDRESS_MAC_HI 0x10, 0x0000ffffu
#define BF_ROCE_ADDRESS_MAC_LO 0x14, 0xffffffffu
#define BF_ROCE_ADDRESS_L3_TYPE 0x18, 0x00000f00u /* 0: IPv4, 1: IPv6 */
#define BF_ROCE_ADDRESS_VERSION 0x18, 0x000000ffu
#define BF_ROCE_V1 0u
#define BF_ROCE_V2 2u
#define BF_ROCE_ADDRESS_LEN 0x30

/* ACCESS_REG: register number at 0x08, register at 0x10; op_mod 1 reads. PAOS tells a port's state. */
#define BF_ACCESS_REG_ID 0x08, 0x0000ffffu
#define BF_ACCESS_REG_READ 1u
#define BF_ACCESS_REG_DATA 0x10
#define BF_REG_PAOS 0x5006u
#define BF_PAOS_LEN 16
#define BF_PAOS_PORT 0x00, 0x00ff0000u
#define BF_PAOS_ADMIN 0x00, 0x00000f00u
#define BF_PAOS_OPER 0x00, 0x0000000fu
#define BF_PAOS_UP 1u
#define BF_PAOS_DOWN 2u

/* The firmware's revision, as ConnectX-7's are numbered. */
#define BF_MLX5_FW_MAJOR 28u
#define BF_MLX5_FW_MINOR 39u
#define BF_MLX5_FW_SUBMINOR 1002u

/* What identifies a device (Linux include/linux/mlx5/mlx5_ifc.h query_adapter_param_block, nic_vport_context). */
#define BF_QUERY_ADAPTER_VENDOR 0x28, 0x00ffffffu /* IEEE */
#define BF_QUERY_ADAPTER_PSID 0x100               /* 16 bytes of text */
#define BF_QUERY_ADAPTER_LEN 0x110
#define BF_QUERY_ISSI_CURRENT 0x08, 0x0000ffffu
#define BF_QUERY_ISSI_SUPPORTED 0x6c, 0xffffffffu /* a bit for each */
#define BF_QUERY_ISSI_LEN 0x70
#define BF_SET_ISSI_CURRENT 0x08, 0x0000ffffu
#define BF_SPECIAL_TERMINATE 0x14, 0xffffffffu /* the lkey that ends a scatter list */
#define BF_SPECIAL_LEN 0x20
#define BF_VPORT_STATE_ADMIN 0x0c, 0x000000f0u
#define BF_VPORT_STATE 0x0c, 0x0000000fu /* 1: up */
#define BF_NIC_VPORT_CTX 0x10
#define BF_NIC_VPORT_ROCE 0x00, 0x00000001u
#define BF_NIC_VPORT_MTU 0x24, 0x0000ffffu
#define BF_NIC_VPORT_SYSTEM_GUID 0x28 /* be64; then those of the port and of the node */
#define BF_NIC_VPORT_PORT_GUID 0x30
#define BF_NIC_VPORT_NODE_GUID 0x38
#define BF_NIC_VPORT_LEN 0x110

#endif
