/*
 * mlx5 layouts: commands that make, change and query objects, and the contexts of those. Part of models/mlx5/prm.h,
 * which see.
 */
#ifndef BELFRY_MODELS_MLX5_PRM_CONTEXT_H
#define BELFRY_MODELS_MLX5_PRM_CONTEXT_H

/* QP states as the device encodes them (mlx5_ifc.h). */
enum bf_mlx5_qp_state {
	BF_MLX5_QPS_RST = 0,
	BF_MLX5_QPS_INIT = 1,
	BF_MLX5_QPS_RTR = 2,
	BF_MLX5_QPS_RTS = 3,
	BF_MLX5_QPS_SQER = 4,
	BF_MLX5_QPS_SQD = 5,
	BF_MLX5_QPS_ERR = 6,
	BF_MLX5_QPS_SQ_DRAINING = 7, /* what QUERY_QP says of SQD until it is drained */
};

/*
 * Rings that no UMEM names may come as a list of pages (be64 each) behind the command: of CREATE_CQ, MODIFY_CQ,
 * CREATE_QP, CREATE_SRQ and CREATE_RMP at the same place. The context says how large pages are, above 4 KiB, and where
 * in the first the ring begins, in 64ths of a page (Linux drivers/infiniband/hw/mlx5/mem.c).
 */
#define BF_CREATE_PAS 0x110

/* CREATE_CQ input: context at 0x10. */
#define BF_CREATE_CQ_CQC 0x10
#define BF_CREATE_CQ_UMEM_OFFSET 0x50 /* be64 */
#define BF_CREATE_CQ_UMEM_ID 0x58, 0xffffffffu
#define BF_CREATE_CQ_UMEM_VALID 0x5c, 0x80000000u
#define BF_CREATE_CQ_LEN 272

#define BF_CQC_LEN 64
#define BF_CQC_STATUS 0x00, 0xf0000000u
#define BF_CQC_DBR_UMEM_VALID 0x00, 0x02000000u
#define BF_CQC_CQE_SZ 0x00, 0x00e00000u /* 0: 64, 1: 128, 2: 128 of which all are written */
#define BF_CQC_CC 0x00, 0x00100000u
#define BF_CQC_OI 0x00, 0x00020000u
#define BF_CQC_COMP_EN 0x00, 0x00004000u
#define BF_CQC_MINI_FORMAT 0x00, 0x00003000u
#define BF_CQC_ST 0x00, 0x00000f00u
#define BF_CQC_DBR_UMEM_ID 0x04, 0xffffffffu
#define BF_CQC_PAGE_OFFSET 0x08, 0x00000fc0u
#define BF_CQC_LOG_SIZE 0x0c, 0x1f000000u
#define BF_CQC_UAR_PAGE 0x0c, 0x00ffffffu
#define BF_CQC_PERIOD 0x10, 0x0fff0000u /* us; with MAX_COUNT: how long and for how many CQEs an event may wait */
#define BF_CQC_MAX_COUNT 0x10, 0x0000ffffu
#define BF_CQC_EQN 0x14, 0x000000ffu
#define BF_CQC_LOG_PAGE_SIZE 0x18, 0x1f000000u
#define BF_CQC_LAST_NOTIFIED 0x20, 0x00ffffffu
#define BF_CQC_LAST_SOLICIT 0x24, 0x00ffffffu
#define BF_CQC_CONSUMER 0x28, 0x00ffffffu
#define BF_CQC_PRODUCER 0x2c, 0x00ffffffu
#define BF_CQC_DBR_ADDR 0x38 /* be64 */

/* MODIFY_CQ: context and rings as in CREATE_CQ; what changes is selected (Linux include/linux/mlx5/cq.h). */
#define BF_MODIFY_CQ_SELECT 0x0c, 0xffffffffu
#define BF_MODIFY_CQ_RESIZE 1u /* op_mod; then the fields are: */
#define BF_MODIFY_CQ_LOG_SIZE 1u
#define BF_MODIFY_CQ_PERIOD 1u /* of the other op_mod, 0 */
#define BF_MODIFY_CQ_COUNT 2u
#define BF_MODIFY_CQ_OVERRUN 4u

/* CREATE_EQ input, QUERY_EQ output: context at 0x10. The ring is a list of pages. */
#define BF_EQ_EQC 0x10
#define BF_CREATE_EQ_MASK 0x58 /* be64: a bit for each type of asynchronous event that comes here */
#define BF_CREATE_EQ_PAS 0x110 /* be64 each */
#define BF_EQC_LEN 64
#define BF_EQC_STATUS 0x00, 0xf0000000u
#define BF_EQC_OI 0x00, 0x00020000u
#define BF_EQC_ST 0x00, 0x00000f00u
#define BF_EQC_ST_ARMED 9u
#define BF_EQC_ST_FIRED 10u
#define BF_EQC_LOG_SIZE 0x0c, 0x1f000000u
#define BF_EQC_UAR_PAGE 0x0c, 0x00ffffffu
#define BF_EQC_INTR 0x14, 0x000000ffu
#define BF_EQC_LOG_PAGE_SIZE 0x18, 0x1f000000u /* above 4 KiB */
#define BF_EQC_CONSUMER 0x28, 0x00ffffffu
#define BF_EQC_PRODUCER 0x2c, 0x00ffffffu

/* CREATE_SRQ input, QUERY_SRQ output: context at 0x10. The ring as in CREATE_CQ, by address or UMEM. */
#define BF_SRQ_SRQC 0x10
#define BF_CREATE_SRQ_UMEM_OFFSET 0x50 /* be64 */
#define BF_CREATE_SRQ_UMEM_ID 0x58, 0xffffffffu
#define BF_CREATE_SRQ_UMEM_VALID 0x5c, 0x80000000u
#define BF_CREATE_SRQ_UMEM_END 0x60
#define BF_CREATE_SRQ_LEN 272
#define BF_SRQC_LEN 64
#define BF_SRQC_STATE 0x00, 0xf0000000u
#define BF_SRQC_LOG_SIZE 0x00, 0x0f000000u
#define BF_SRQC_WQ_SIGNATURE 0x04, 0x80000000u
#define BF_SRQC_LOG_STRIDE 0x04, 0x07000000u /* above 16 bytes */
#define BF_SRQC_PAGE_OFFSET 0x08, 0xfc000000u
#define BF_SRQC_LOG_PAGE_SIZE 0x10, 0x3f000000u
#define BF_SRQC_PD 0x18, 0x00ffffffu
#define BF_SRQC_LWM 0x1c, 0xffff0000u
#define BF_SRQC_WQE_COUNT 0x1c, 0x0000ffffu
#define BF_SRQC_DBR_ADDR 0x28 /* be64 */
/* Of an XRC SRQ (mlx5_ifc.h xrc_srqc) also: */
#define BF_XRC_SRQC_XRCD 0x04, 0x00ffffffu
#define BF_XRC_SRQC_CQN 0x08, 0x00ffffffu
#define BF_XRC_SRQC_USER_INDEX 0x10, 0x00ffffffu
/* ARM_RQ with op_mod 1: an event when fewer WQEs than this are left. */
#define BF_ARM_RQ_SRQ 1u
#define BF_ARM_RQ_LWM 0x0c, 0x0000ffffu

/* CREATE_RMP, MODIFY_RMP input, QUERY_RMP output: context at 0x20, its work queue at 0x30 in that. */
#define BF_RMP_RMPC 0x20
#define BF_CREATE_RMP_LEN (BF_RMP_RMPC + BF_RMPC_LEN)
#define BF_MODIFY_RMP_STATE 0x08, 0xf0000000u
#define BF_MODIFY_RMP_BITMASK 0x14, 0x00000001u /* the limit changes */
#define BF_RMPC_LEN 0xf0
#define BF_RMPC_STATE 0x00, 0x00f00000u
#define BF_RMPC_READY 1u
#define BF_RMPC_WQ 0x30
#define BF_WQ_TYPE 0x00, 0xf0000000u
#define BF_WQ_LINKED_LIST 0u
#define BF_WQ_CYCLIC 1u
#define BF_WQ_SIGNATURE 0x00, 0x08000000u
#define BF_WQ_PAGE_OFFSET 0x04, 0x001f0000u
#define BF_WQ_LWM 0x04, 0x0000ffffu
#define BF_WQ_PD 0x08, 0x00ffffffu
#define BF_WQ_UAR_PAGE 0x0c, 0x00ffffffu
#define BF_WQ_DBR_ADDR 0x10 /* be64 */
#define BF_WQ_HW_COUNTER 0x18, 0xffffffffu
#define BF_WQ_SW_COUNTER 0x1c, 0xffffffffu
#define BF_WQ_LOG_STRIDE 0x20, 0x000f0000u /* bytes */
#define BF_WQ_LOG_PAGE_SIZE 0x20, 0x00001f00u
#define BF_WQ_LOG_SIZE 0x20, 0x0000001fu
#define BF_WQ_DBR_UMEM_VALID 0x24, 0x80000000u
#define BF_WQ_UMEM_VALID 0x24, 0x40000000u
#define BF_WQ_DBR_UMEM_ID 0x28, 0xffffffffu
#define BF_WQ_UMEM_ID 0x2c, 0xffffffffu
#define BF_WQ_UMEM_OFFSET 0x30 /* be64 */

/* CREATE_QP input and the modify commands: context at 0x18. */
#define BF_QP_QPC 0x18
#define BF_CREATE_QP_UMEM_OFFSET 0x100 /* be64 */
#define BF_CREATE_QP_UMEM_ID 0x108, 0xffffffffu
#define BF_CREATE_QP_UMEM_VALID 0x10c, 0x80000000u
#define BF_CREATE_QP_LEN 272
#define BF_MODIFY_QP_LEN 272

/*
 * RTS2RTS with more optional parameters: another UDP source port (libmlx5 mlx5dv_modify_qp_udp_sport()); with an
 * extended context, the reset of an errored stream of a DCI (mlx5dv_dci_stream_id_reset()).
 */
#define BF_MODIFY_QP_EXT 0x08, 0x80000000u
#define BF_MODIFY_QP_EXT_MASK 0x108 /* be64 */
#define BF_MODIFY_QP_EXT_MASK_STREAM 1ull
#define BF_MODIFY_QP_EXT_MASK_UDP_SPORT 4ull
#define BF_MODIFY_QP_EXT_STREAM 0x110, 0x0000ffffu
#define BF_MODIFY_QP_EXT_STREAM_END 0x114u /* least length of the command */
#define BF_MODIFY_QP_EXT_LEN 0x1d0

/* CREATE_GENERAL_OBJECT and DESTROY_GENERAL_OBJECT. */
#define BF_OBJ_TYPE 0x04, 0x0000ffffu
#define BF_OBJ_LOG_RANGE 0x0c, 0x1f000000u
#define BF_OBJ_RESERVED_QPN 0x2cu

#define BF_QPC_LEN 232
#define BF_QPC_STATE 0x00, 0xf0000000u
#define BF_QPC_ST 0x00, 0x00ff0000u
#define BF_QPC_ST_RC 0u
#define BF_QPC_ST_UC 1u
#define BF_QPC_ST_UD 2u
#define BF_QPC_ST_XRC 3u
#define BF_QPC_ST_DCI 5u
#define BF_QPC_ST_QP0 7u /* datagrams; what is for queue pair 0 or 1 of the port comes here */
#define BF_QPC_ST_QP1 8u
#define BF_QPC_ST_REG_UMR 12u /* the kernel's own: changes keys of all protection domains, sends nothing */
#define BF_QPC_PM_STATE 0x00, 0x00001800u
#define BF_QPC_WQ_SIGNATURE 0x04, 0x80000000u
#define BF_QPC_BLOCK_LB_MC 0x04, 0x40000000u   /* its own multicasts do not come back */
#define BF_QPC_DP_ORDERING_0 0x04, 0x02000000u /* with DP_ORDERING_1 above it: BF_DP_ORDERING_* */
#define BF_QPC_DP_ORDERING_FORCE 0x04, 0x01000000u
#define BF_DP_ORDERING_IBTA 0u
#define BF_DP_ORDERING_OOO_RW 1u /* data of READs and WRITEs are placed in any order */
#define BF_DP_ORDERING_OOO_ALL 2u
#define BF_QPC_PD 0x04, 0x00ffffffu
#define BF_QPC_MTU 0x08, 0xe0000000u /* 1: 256 .. 5: 4096 */
#define BF_QPC_LOG_MSG_MAX 0x08, 0x1f000000u
#define BF_QPC_LOG_RQ_SIZE 0x08, 0x00780000u
#define BF_QPC_LOG_RQ_STRIDE 0x08, 0x00070000u
#define BF_QPC_NO_SQ 0x08, 0x00008000u
#define BF_QPC_LOG_SQ_SIZE 0x08, 0x00007800u
#define BF_QPC_UAR_PAGE 0x0c, 0x00ffffffu
#define BF_QPC_SEND_DBR_MODE 0x10, 0xc0000000u
#define BF_DBR_VALID 0u
#define BF_DBR_NONE 1u                          /* no doorbell record: BF_MLX5_UAR_NO_RECORD rings (NO_DBR_EXT) */
#define BF_QPC_FULL_HANDSHAKE 0x10, 0x10000000u /* DCI: data wait for the connection's acknowledgement */
#define BF_QPC_USER_INDEX 0x10, 0x00ffffffu
#define BF_QPC_LOG_PAGE_SIZE 0x14, 0x1f000000u
#define BF_QPC_REMOTE_QPN 0x14, 0x00ffffffu
#define BF_QPC_PATH 0x18
#define BF_QPC_LOG_ACK_REQ_FREQ 0x70, 0xf0000000u
#define BF_QPC_LOG_SRA_MAX 0x70, 0x00e00000u
#define BF_QPC_RETRY_COUNT 0x70, 0x00070000u
#define BF_QPC_RNR_RETRY 0x70, 0x0000e000u
#define BF_QPC_NEXT_SEND_PSN 0x78, 0x00ffffffu
#define BF_QPC_LOG_DCI_STREAMS 0x7c, 0x1f000000u
#define BF_QPC_CQN_SND 0x7c, 0x00ffffffu
#define BF_QPC_LOG_DCI_ERRORED 0x80, 0x1f000000u /* this many streams in error put the DCI into error, too */
#define BF_QPC_LAST_ACKED_PSN 0x88, 0x00ffffffu
#define BF_QPC_SSN 0x8c, 0x00ffffffu
#define BF_QPC_LOG_RRA_MAX 0x90, 0x00e00000u
#define BF_QPC_ATOMIC_MODE 0x90, 0x000f0000u
#define BF_QPC_RRE 0x90, 0x00008000u
#define BF_QPC_RWE 0x90, 0x00004000u
#define BF_QPC_RAE 0x90, 0x00002000u
#define BF_QPC_PAGE_OFFSET 0x90, 0x00000fc0u
#define BF_QPC_DP_ORDERING_1 0x90, 0x00000008u
#define BF_QPC_CD_SLAVE_RECEIVE 0x90, 0x00000004u
#define BF_QPC_CD_SLAVE_SEND 0x90, 0x00000002u
#define BF_QPC_CD_MASTER 0x90, 0x00000001u /* may WAIT */
#define BF_QPC_MIN_RNR_NAK 0x94, 0x1f000000u
#define BF_QPC_NEXT_RCV_PSN 0x94, 0x00ffffffu
#define BF_QPC_CQN_RCV 0x9c, 0x00ffffffu
#define BF_QPC_XRCD 0x98, 0x00ffffffu
#define BF_QPC_DBR_ADDR 0xa0 /* be64 */
#define BF_QPC_Q_KEY 0xa8, 0xffffffffu
#define BF_QPC_RQ_TYPE 0xac, 0x07000000u
#define BF_QPC_RQ_OWN 0u
#define BF_QPC_RQ_SRQ 1u /* or RMP */
#define BF_QPC_RQ_NONE 3u
#define BF_QPC_SRQN 0xac, 0x00ffffffu
#define BF_QPC_HW_SQ_COUNTER 0xb4, 0xffff0000u
#define BF_QPC_SW_SQ_COUNTER 0xb4, 0x0000ffffu
#define BF_QPC_HW_RQ_COUNTER 0xb8, 0xffffffffu
#define BF_QPC_SW_RQ_COUNTER 0xbc, 0xffffffffu
#define BF_QPC_CS_REQ 0xc4, 0x0000ff00u /* small answers of READs and atomics go into the CQE: BF_CS_REQ_* */
#define BF_QPC_CS_RES 0xc4, 0x000000ffu /* small receives: BF_CS_RES_* */
#define BF_CS_REQ_32 0x11u              /* up to 32 bytes; 64 needs 128-byte CQEs (Linux include/linux/mlx5/qp.h) */
#define BF_CS_REQ_64 0x22u
#define BF_CS_RES_32 0x1u
#define BF_CS_RES_64 0x2u
#define BF_QPC_DC_ACCESS_KEY 0xc8 /* be64 */
#define BF_QPC_DBR_UMEM_VALID 0xd0, 0x10000000u
#define BF_QPC_DBR_UMEM_ID 0xe4, 0xffffffffu

/* Address path, relative to itself. RoCEv2 over IPv4: rgid is ::ffff:a.b.c.d. */
#define BF_PATH_LEN 44
#define BF_PATH_PKEY_INDEX 0x00, 0x0000ffffu
#define BF_PATH_GRH 0x04, 0x00800000u /* InfiniBand: there is a GID; else the LID alone names the peer */
#define BF_PATH_RLID 0x04, 0x0000ffffu
#define BF_PATH_ACK_TIMEOUT 0x08, 0xf8000000u
#define BF_PATH_SRC_ADDR_INDEX 0x08, 0x00ff0000u
#define BF_PATH_HOP_LIMIT 0x08, 0x000000ffu
#define BF_PATH_RGID 0x10 /* 16 bytes */
#define BF_PATH_DSCP 0x20, 0x003f0000u
#define BF_PATH_UDP_SPORT 0x20, 0x0000ffffu
#define BF_PATH_ETH_PRIO 0x24, 0x70000000u
#define BF_PATH_PORT 0x24, 0x00ff0000u
#define BF_PATH_RMAC_HI 0x24, 0x0000ffffu
#define BF_PATH_RMAC_LO 0x28, 0xffffffffu

/* CREATE_DCT input, QUERY_DCT output: context at 0x10. Without a number there is no SRQ. */
#define BF_DCT_DCTC 0x10
#define BF_CREATE_DCT_LEN 128

#define BF_DCTC_LEN 64
#define BF_DCTC_STATE 0x00, 0x0f000000u
#define BF_DCTC_STATE_ACTIVE 0u
#define BF_DCTC_STATE_DRAINING 1u
#define BF_DCTC_STATE_DRAINED 2u
#define BF_DCTC_USER_INDEX 0x04, 0x00ffffffu
#define BF_DCTC_CQN 0x08, 0x00ffffffu
#define BF_DCTC_ATOMIC_MODE 0x0c, 0x00f00000u
#define BF_DCTC_RRE 0x0c, 0x00080000u
#define BF_DCTC_RWE 0x0c, 0x00040000u
#define BF_DCTC_RAE 0x0c, 0x00020000u
#define BF_DCTC_FULL_HANDSHAKE 0x0c, 0x00002000u /* refuses initiators that do half a handshake */
#define BF_DCTC_MIN_RNR_NAK 0x10, 0x00001f00u
#define BF_DCTC_SRQN 0x14, 0x00ffffffu
#define BF_DCTC_PD 0x18, 0x00ffffffu
#define BF_DCTC_TCLASS 0x1c, 0xff000000u
#define BF_DCTC_ACCESS_KEY 0x20 /* be64 */
#define BF_DCTC_MTU 0x28, 0x07000000u
#define BF_DCTC_PORT 0x28, 0x00ff0000u
#define BF_DCTC_GID_INDEX 0x2c, 0x00ff0000u
#define BF_DCTC_HOP_LIMIT 0x2c, 0x000000ffu
#define BF_DCTC_KEY_VIOLATIONS 0x30, 0xffffffffu
#define BF_DCTC_DSCP 0x34, 0x0000003fu

/* ATTACH_TO_MCG and DETACH_FROM_MCG input: the queue pair's number at 0x08, the group's address here. */
#define BF_MCG_GID 0x10 /* 16 bytes */
#define BF_MCG_LEN 32

/*
 * CREATE_MKEY input: context at 0x10, translation entries behind it. Without entries (an actual size of 0) translation
 * is by address: IOVA is the address in requests. With entries an access mode of MTT has page addresses (be64, as in
 * CREATE_UMEM), KLM has struct bf_mlx5_klm. A key of KLMs without entries is one for UMR WQEs to fill. KSM has the same
 * entries, all of the size that the context's LOG_PAGE_SIZE says, whatever their byte counts (UCX
 * src/uct/ib/mlx5/dv/ib_mlx5dv_md.c uct_ib_mlx5_devx_reg_ksm(); mlx5_ifc.h log_entity_size). DEVX programs
 * have the pages in a UMEM instead: its byte at the offset is the key's first (DPDK
 * drivers/common/mlx5/mlx5_devx_cmds.c mlx5_devx_cmd_mkey_create(); Linux drivers/infiniband/hw/mlx5/devx.c insists).
 */
#define BF_CREATE_MKEY_MKC 0x10
#define BF_CREATE_MKEY_PG_ACCESS 0x0c, 0x80000000u /* pages say whether they are there; without a list none is */
#define BF_CREATE_MKEY_UMEM_VALID 0x0c, 0x40000000u
#define BF_CREATE_MKEY_XLT_ACTUAL 0x60, 0xffffffffu /* octowords: two page addresses, or one KLM or KSM */
#define BF_CREATE_MKEY_UMEM_ID 0x64, 0xffffffffu
#define BF_CREATE_MKEY_UMEM_OFFSET 0x68 /* be64 */
#define BF_CREATE_MKEY_XLT 0x110
#define BF_CREATE_MKEY_LEN 272
#define BF_MKC_FREE 0x00, 0x40000000u
#define BF_MKC_ACCESS_MODE_HIGH 0x00, 0x1c000000u /* bits 4:2 */
#define BF_MKC_ACCESS_MODE 0x00, 0x00000300u      /* bits 1:0 */
#define BF_MKC_ACCESS_PA 0u
#define BF_MKC_ACCESS_MTT 1u
#define BF_MKC_ACCESS_KLM 2u
#define BF_MKC_ACCESS_KSM 3u
#define BF_MKC_ACCESS_MEMIC 5u /* with its high bits */
#define BF_MKC_UMR_EN 0x00, 0x00008000u
#define BF_MKC_RELAXED_WRITE 0x00, 0x00040000u
#define BF_MKC_A 0x00, 0x00004000u
#define BF_MKC_RW 0x00, 0x00002000u
#define BF_MKC_RR 0x00, 0x00001000u
#define BF_MKC_LW 0x00, 0x00000800u
#define BF_MKC_LR 0x00, 0x00000400u
#define BF_MKC_QPN 0x04, 0xffffff00u
#define BF_MKC_KEY 0x04, 0x000000ffu
#define BF_MKC_LENGTH64 0x0c, 0x80000000u
#define BF_MKC_BSF_EN 0x0c, 0x40000000u
#define BF_MKC_EN_RINVAL 0x0c, 0x01000000u
#define BF_MKC_PD 0x0c, 0x00ffffffu
#define BF_MKC_START 0x10 /* be64 */
#define BF_MKC_SIZE 0x18  /* be64 */
#define BF_MKC_XLT_OCTOWORDS 0x34, 0xffffffffu
#define BF_MKC_LOG_PAGE_SIZE 0x38, 0x0000001fu

/* CREATE_UMEM input: context at 0x10, page list (be64, permission bits in [1:0]) behind it. */
#define BF_CREATE_UMEM_CTX 0x10
#define BF_UMEM_LOG_PAGE_SIZE 0x04, 0x0000001fu
#define BF_UMEM_PAGE_OFFSET 0x08, 0xffffffffu
#define BF_UMEM_NUM_MTT 0x0c, 0xffffffffu
#define BF_CREATE_UMEM_MTT 0x40

#endif
