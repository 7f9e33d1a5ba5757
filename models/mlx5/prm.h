/*
 * mlx5 layouts: WQE segments, CQEs, doorbells, command opcodes.
 *
 * Sources: rdma-core providers/mlx5/mlx5dv.h, mlx5_ifc.h, wqe.h, cq.c; Linux include/linux/mlx5/{qp,cq,device}.h;
 * NVSHMEM src/modules/transport/common/mlx5_prm.h. Drivers include this header too; it has layouts and names only.
 * C and C++ (CUDA) clean.
 */
#ifndef BELFRY_MODELS_MLX5_PRM_H
#define BELFRY_MODELS_MLX5_PRM_H

#include "sim/bytes.h"
#include "sim/compiler.h"

#define BF_MLX5_WQEBB 64u
#define BF_MLX5_WQEBB_SHIFT 6
#define BF_MLX5_DS 16u
#define BF_MLX5_MAX_WQEBBS 16u
#define BF_MLX5_MAX_DS 63u
#define BF_MLX5_INVALID_LKEY 0x100u

/* Send opcodes (mlx5dv.h MLX5_OPCODE_*; DUMP from NVSHMEM mlx5_prm.h). */
enum bf_mlx5_opcode {
	BF_MLX5_OP_NOP = 0x00,
	BF_MLX5_OP_SEND_INVAL = 0x01,
	BF_MLX5_OP_RDMA_WRITE = 0x08,
	BF_MLX5_OP_RDMA_WRITE_IMM = 0x09,
	BF_MLX5_OP_SEND = 0x0a,
	BF_MLX5_OP_SEND_IMM = 0x0b,
	BF_MLX5_OP_TSO = 0x0e,
	BF_MLX5_OP_RDMA_READ = 0x10,
	BF_MLX5_OP_ATOMIC_CS = 0x11,
	BF_MLX5_OP_ATOMIC_FA = 0x12,
	BF_MLX5_OP_ATOMIC_MASKED_CS = 0x14,
	BF_MLX5_OP_ATOMIC_MASKED_FA = 0x15,
	BF_MLX5_OP_SET_PSV = 0x20,
	BF_MLX5_OP_DUMP = 0x23,
	BF_MLX5_OP_UMR = 0x25,
	BF_MLX5_OP_TAG_MATCHING = 0x28,
	BF_MLX5_OP_FLOW_TBL_ACCESS = 0x2c,
	BF_MLX5_OP_MMO = 0x2f,
};

/* Control segment, 16 bytes, always at a WQEBB boundary (mlx5dv.h struct mlx5_wqe_ctrl_seg). */
struct bf_mlx5_ctrl {
	struct bf_be32 opmod_idx_opcode;
	struct bf_be32 qpn_ds;
	uint8_t signature;
	struct bf_be16 dci_stream;
	uint8_t fm_ce_se;
	struct bf_be32 imm;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_ctrl) == 16, "ctrl segment");

#define BF_MLX5_CTRL_OPMOD BF_MASK(31, 24)
#define BF_MLX5_CTRL_INDEX BF_MASK(23, 8)
#define BF_MLX5_CTRL_OPCODE BF_MASK(7, 0)
#define BF_MLX5_CTRL_QPN BF_MASK(31, 8)
#define BF_MLX5_CTRL_DS BF_MASK(5, 0)
#define BF_MLX5_CTRL_FM BF_MASK(7, 5)
#define BF_MLX5_CTRL_CE BF_MASK(3, 2)
#define BF_MLX5_CTRL_CQ_UPDATE 0x08u /* CE = 2: always a CQE */
#define BF_MLX5_CTRL_SOLICITED 0x02u
#define BF_MLX5_FM_NONE 0u
#define BF_MLX5_FM_SMALL 1u
#define BF_MLX5_FM_FENCE 2u
#define BF_MLX5_FM_STRONG 3u
#define BF_MLX5_FM_FENCE_SMALL 4u
#define BF_MLX5_OPMOD_EXT_4B 0x08u /* 0x08 | (log2(size) - 2) */
#define BF_MLX5_OPMOD_EXT_8B 0x09u

/*
 * Address vector of a DC or UD WQE, behind the control segment (mlx5dv.h struct mlx5_wqe_av): the first 16 bytes
 * (compact form), or all 48 when BF_MLX5_AV_EXT is set. For UD the key is a Q_Key and 4 reserved bytes. Compact vectors
 * name the peer by LID. Ethernet has none: the model takes `rlid` as the low 16 bits of the peer's IPv4 address in the
 * sending port's /16 network, so that the form can be used (assumed); that is what LIDs are where the link layer is
 * said to be InfiniBand, too. In the full form of RoCE it is the UDP source port, 0 for one of the device's choice.
 */
struct bf_mlx5_av {
	struct bf_be64 dc_key;
	struct bf_be32 dqp_dct;
	uint8_t stat_rate_sl, fl_mlid;
	struct bf_be16 rlid;
	/* Full form. */
	uint8_t reserved[4];
	uint8_t rmac[6];
	uint8_t tclass, hop_limit;
	struct bf_be32 grh_gid_fl;
	uint8_t rgid[16]; /* ::ffff:a.b.c.d */
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_av) == 48, "address vector");

#define BF_MLX5_AV_COMPACT 16u /* bytes */
#define BF_MLX5_AV_FULL 48u
#define BF_MLX5_AV_EXT 0x80000000u /* of dqp_dct */
#define BF_MLX5_AV_GRH 0x40000000u /* of grh_gid_fl: there is a GID (always with RoCE) */
#define BF_MLX5_AV_DCT BF_MASK(23, 0)
#define BF_MLX5_QKEY_OWN 0x80000000u /* the Q_Key of the sending queue pair instead (IBA vol. 1 section 10.2.5) */

struct bf_mlx5_raddr {
	struct bf_be64 va;
	struct bf_be32 rkey;
	struct bf_be32 reserved;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_raddr) == 16, "raddr segment");

struct bf_mlx5_data {
	struct bf_be32 byte_count; /* 0 means 2^31 */
	struct bf_be32 lkey;
	struct bf_be64 va;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_data) == 16, "data segment");

/* UMR WQE, behind the control segment: this, a memory key context (BF_MKC_*, 64 bytes), and a list of KLMs. */
struct bf_mlx5_umr_ctrl {
	uint8_t flags; /* BF_MLX5_UMR_* */
	uint8_t reserved_1[3];
	struct bf_be16 klm_octowords;
	struct bf_be16 offset; /* of the first entry that changes; without BF_MLX5_UMR_OFFSET: octowords of BSF */
	struct bf_be64 mkey_mask;
	uint8_t reserved_16[32];
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_umr_ctrl) == 48, "UMR control segment");

#define BF_MLX5_UMR_INLINE 0x80u     /* the list is in the WQE */
#define BF_MLX5_UMR_CHECK_FREE 0x20u /* fails unless the key is free */
#define BF_MLX5_UMR_OFFSET 0x10u
#define BF_MLX5_UMR_CHECK_QPN 0x08u  /* fails unless the key is of this queue pair */
/* Which fields of the context count (mlx5dv.h MLX5_WQE_UMR_CTRL_MKEY_MASK_*, Linux MLX5_MKEY_MASK_*). */
#define BF_MLX5_UMR_MASK_LEN (1u << 0)
#define BF_MLX5_UMR_MASK_PAGE_SIZE (1u << 1)
#define BF_MLX5_UMR_MASK_START (1u << 6)
#define BF_MLX5_UMR_MASK_PD (1u << 7)
#define BF_MLX5_UMR_MASK_EN_RINVAL (1u << 8)
#define BF_MLX5_UMR_MASK_SIG_ERR (1u << 9)
#define BF_MLX5_UMR_MASK_BSF_ENABLE (1u << 12)
#define BF_MLX5_UMR_MASK_KEY (1u << 13)
#define BF_MLX5_UMR_MASK_QPN (1u << 14)
#define BF_MLX5_UMR_MASK_LR (1u << 17)
#define BF_MLX5_UMR_MASK_LW (1u << 18)
#define BF_MLX5_UMR_MASK_RR (1u << 19)
#define BF_MLX5_UMR_MASK_RW (1u << 20)
#define BF_MLX5_UMR_MASK_A (1u << 21)
#define BF_MLX5_UMR_MASK_SMALL_FENCE (1u << 23)
#define BF_MLX5_UMR_MASK_RELAXED_WRITE (1u << 24)
#define BF_MLX5_UMR_MASK_FREE (1u << 29)

/* An entry of an indirect key: bytes of another key. The same layout as a data segment. */
struct bf_mlx5_klm {
	struct bf_be32 byte_count; /* 0 means 2^31 */
	struct bf_be32 mkey;
	struct bf_be64 va;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_klm) == 16, "KLM");

/* The other form of the list (mlx5dv_wr_mr_interleaved(3)): this header, then entries that take turns. */
struct bf_mlx5_strided {
	struct bf_be32 byte_count; /* of one round */
	struct bf_be32 op;         /* BF_MLX5_STRIDED */
	struct bf_be32 repeat_count;
	struct bf_be16 reserved;
	struct bf_be16 entries;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_strided) == 16, "strided header");
#define BF_MLX5_STRIDED 0x400u

struct bf_mlx5_strided_entry {
	struct bf_be16 stride, byte_count;
	struct bf_be32 mkey;
	struct bf_be64 va;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_strided_entry) == 16, "strided entry");

#define BF_MLX5_INLINE_FLAG 0x80000000u /* first word of an inline segment; [9:0] length; payload at byte 4 */
#define BF_MLX5_INLINE_LEN 0x3ffu

struct bf_mlx5_atomic {
	struct bf_be64 swap_add;
	struct bf_be64 compare;
};
struct bf_mlx5_masked_fa32 {
	struct bf_be32 add;
	struct bf_be32 field_boundary;
	struct bf_be64 reserved;
};
struct bf_mlx5_masked_fa64 {
	struct bf_be64 add;
	struct bf_be64 field_boundary;
};
struct bf_mlx5_masked_cs32 {
	struct bf_be32 swap, compare, swap_mask, compare_mask;
};
struct bf_mlx5_masked_cs64 {
	struct bf_be64 swap, compare, swap_mask, compare_mask;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_atomic) == 16, "atomic segment");
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_masked_fa32) == 16, "masked FA 4 B");
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_masked_fa64) == 16, "masked FA 8 B");
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_masked_cs32) == 16, "masked CS 4 B");
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_masked_cs64) == 32, "masked CS 8 B");

/* CQE, 64 bytes (mlx5dv.h struct mlx5_cqe64; the error form is mlx5_err_cqe). */
struct bf_mlx5_cqe {
	uint8_t rx[32]; /* receive information or scattered inline data */
	struct bf_be32 srqn_uidx;
	struct bf_be32 imm_inval_pkey;
	uint8_t app[4];
	struct bf_be32 byte_cnt;
	struct bf_be64 timestamp; /* error form: bytes 52-55 below */
	struct bf_be32 sop_drop_qpn;
	struct bf_be16 wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_cqe) == 64, "CQE");

struct bf_mlx5_err_cqe {
	uint8_t reserved_0[32];
	struct bf_be32 srqn_uidx;
	uint8_t reserved_36[16];
	uint8_t hw_err_synd;
	uint8_t hw_synd_type;
	uint8_t vendor_err_synd;
	uint8_t syndrome;
	struct bf_be32 s_wqe_opcode_qpn;
	struct bf_be16 wqe_counter;
	uint8_t signature;
	uint8_t op_own;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_err_cqe) == 64, "error CQE");

#define BF_MLX5_CQE_OPCODE BF_MASK(7, 4) /* of op_own */
#define BF_MLX5_CQE_FORMAT BF_MASK(3, 2)
#define BF_MLX5_CQE_INLINE_32 0x04u /* format: the data are in this CQE's first 32 bytes */
#define BF_MLX5_CQE_INLINE_64 0x08u /* in the first half of a 128-byte CQE */
#define BF_MLX5_CQE_SE 0x02u
#define BF_MLX5_CQE_OWNER 0x01u
#define BF_MLX5_CQE_SOP BF_MASK(31, 24) /* of sop_drop_qpn */
#define BF_MLX5_CQE_QPN BF_MASK(23, 0)

#define BF_MLX5_CQE_SLID 22u /* be16: an InfiniBand datagram's sender */

/* be32 at byte 24 of a datagram's CQE (mlx5dv.h flags_rqpn; Linux drivers/infiniband/hw/mlx5/cq.c). */
#define BF_MLX5_CQE_FLAGS_RQPN 24u
#define BF_MLX5_CQE_RQPN BF_MASK(23, 0)
#define BF_MLX5_CQE_L3 BF_MASK(25, 24)
#define BF_MLX5_CQE_L3_IPV4 2u
#define BF_MLX5_CQE_GRH BF_MASK(29, 28)

enum bf_mlx5_cqe_opcode {
	BF_MLX5_CQE_REQ = 0,
	BF_MLX5_CQE_RESP_WRITE_IMM = 1,
	BF_MLX5_CQE_RESP_SEND = 2,
	BF_MLX5_CQE_RESP_SEND_IMM = 3,
	BF_MLX5_CQE_RESP_SEND_INV = 4,
	BF_MLX5_CQE_RESIZE = 5,
	BF_MLX5_CQE_SIG_ERR = 12,
	BF_MLX5_CQE_REQ_ERR = 13,
	BF_MLX5_CQE_RESP_ERR = 14,
	BF_MLX5_CQE_INVALID = 15,
};

/* Syndromes (mlx5dv.h MLX5_CQE_SYNDROME_*). */
enum bf_mlx5_syndrome {
	BF_MLX5_SYND_LOCAL_LENGTH = 0x01,
	BF_MLX5_SYND_LOCAL_QP_OP = 0x02,
	BF_MLX5_SYND_LOCAL_PROT = 0x04,
	BF_MLX5_SYND_WR_FLUSH = 0x05,
	BF_MLX5_SYND_MW_BIND = 0x06,
	BF_MLX5_SYND_BAD_RESP = 0x10,
	BF_MLX5_SYND_LOCAL_ACCESS = 0x11,
	BF_MLX5_SYND_REM_INV_REQ = 0x12,
	BF_MLX5_SYND_REM_ACCESS = 0x13,
	BF_MLX5_SYND_REM_OP = 0x14,
	BF_MLX5_SYND_RETRY_EXC = 0x15,
	BF_MLX5_SYND_RNR_EXC = 0x16,
	BF_MLX5_SYND_REM_ABORT = 0x22,
};

/* Event queue entry, 64 bytes (Linux include/linux/mlx5/device.h struct mlx5_eqe); `data` depends on the type. */
struct bf_mlx5_eqe {
	uint8_t reserved_0;
	uint8_t type;
	uint8_t reserved_2;
	uint8_t sub_type;
	uint8_t reserved_4[28];
	uint8_t data[28];
	uint8_t reserved_60[2];
	uint8_t signature;
	uint8_t owner;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_eqe) == 64, "EQE");

/* Offsets in `data`. */
#define BF_EQE_COMP_CQN 24       /* be32 */
#define BF_EQE_QP_SRQ_TYPE 20    /* BF_EQE_QUEUE_* */
#define BF_EQE_QP_SRQ_NUMBER 24  /* be32 */
#define BF_EQE_CQ_ERR_CQN 0      /* be32 */
#define BF_EQE_CQ_ERR_SYNDROME 11
#define BF_EQE_CQ_ERR_OVERRUN 1u
#define BF_EQE_CQ_ERR_ACCESS 2u
#define BF_EQE_CMD_VECTOR 0      /* be32, a bit for each entry of the command queue */
#define BF_EQE_PORT_NUMBER 8     /* in the high four bits */
#define BF_EQE_DCTN 24           /* be32 */
#define BF_EQE_QUEUE_QP 0u
#define BF_EQE_QUEUE_DCT 6u
#define BF_EQE_PORT_DOWN 1u      /* sub-types of PORT_CHANGE */
#define BF_EQE_PORT_ACTIVE 4u
#define BF_MLX5_EQE_OWNER 0x01u

enum bf_mlx5_event {
	BF_MLX5_EVENT_COMP = 0x00,
	BF_MLX5_EVENT_COMM_EST = 0x02,
	BF_MLX5_EVENT_SQ_DRAINED = 0x03,
	BF_MLX5_EVENT_CQ_ERROR = 0x04,
	BF_MLX5_EVENT_WQ_CATAS_ERROR = 0x05,
	BF_MLX5_EVENT_PORT_CHANGE = 0x09,
	BF_MLX5_EVENT_CMD = 0x0a, /* entries of the command queue are done */
	BF_MLX5_EVENT_WQ_INVAL_REQ_ERROR = 0x10,
	BF_MLX5_EVENT_WQ_ACCESS_ERROR = 0x11,
	BF_MLX5_EVENT_SRQ_CATAS_ERROR = 0x12,
	BF_MLX5_EVENT_SRQ_LAST_WQE = 0x13,
	BF_MLX5_EVENT_SRQ_RQ_LIMIT = 0x14,
	BF_MLX5_EVENT_DCT_DRAINED = 0x1c,
};

/* First segment of a receive WQE of a linked-list SRQ (mlx5dv.h struct mlx5_wqe_srq_next_seg). */
struct bf_mlx5_srq_next {
	uint8_t reserved_0[2];
	struct bf_be16 next_wqe_index;
	uint8_t signature;
	uint8_t reserved_5[11];
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_srq_next) == 16, "SRQ next segment");

/* Doorbell record: two be32 (mlx5dv.h MLX5_RCV_DBR, MLX5_SND_DBR). */
#define BF_MLX5_DBR_RCV 0
#define BF_MLX5_DBR_SND 1
#define BF_MLX5_DBR_BYTES 8u
#define BF_MLX5_CQ_DBR_CI 0
#define BF_MLX5_CQ_DBR_ARM 1

/* The firmware's revision, as ConnectX-7's are numbered. */
#define BF_MLX5_FW_MAJOR 28u
#define BF_MLX5_FW_MINOR 39u
#define BF_MLX5_FW_SUBMINOR 1002u

/* UAR page. */
#define BF_MLX5_UAR_BYTES 4096u
#define BF_MLX5_UAR_CQ_ARM 0x20u
#define BF_MLX5_UAR_EQ_ARM 0x40u   /* be32: EQ number << 24 | consumer index; arms */
#define BF_MLX5_UAR_EQ_NO_ARM 0x48u /* the same without arming (Linux drivers/net/ethernet/mellanox/mlx5/core/lib/eq.h) */
#define BF_MLX5_UAR_BF 0x800u
#define BF_MLX5_BF_REG 512u
#define BF_MLX5_BF_BUF 256u /* half a register: software alternates */

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

/* Command opcodes (mlx5_ifc.h MLX5_CMD_OP_*). */
enum bf_mlx5_cmd_op {
	BF_MLX5_CMD_QUERY_HCA_CAP = 0x100,
	BF_MLX5_CMD_QUERY_ADAPTER = 0x101,
	BF_MLX5_CMD_QUERY_ISSI = 0x10a,
	BF_MLX5_CMD_SET_ISSI = 0x10b,
	BF_MLX5_CMD_CREATE_MKEY = 0x200,
	BF_MLX5_CMD_QUERY_MKEY = 0x201,
	BF_MLX5_CMD_DESTROY_MKEY = 0x202,
	BF_MLX5_CMD_QUERY_SPECIAL_CONTEXTS = 0x203,
	BF_MLX5_CMD_CREATE_EQ = 0x301,
	BF_MLX5_CMD_DESTROY_EQ = 0x302,
	BF_MLX5_CMD_QUERY_EQ = 0x303,
	BF_MLX5_CMD_CREATE_CQ = 0x400,
	BF_MLX5_CMD_DESTROY_CQ = 0x401,
	BF_MLX5_CMD_QUERY_CQ = 0x402,
	BF_MLX5_CMD_MODIFY_CQ = 0x403,
	BF_MLX5_CMD_CREATE_QP = 0x500,
	BF_MLX5_CMD_DESTROY_QP = 0x501,
	BF_MLX5_CMD_RST2INIT_QP = 0x502,
	BF_MLX5_CMD_INIT2RTR_QP = 0x503,
	BF_MLX5_CMD_RTR2RTS_QP = 0x504,
	BF_MLX5_CMD_RTS2RTS_QP = 0x505,
	BF_MLX5_CMD_SQERR2RTS_QP = 0x506,
	BF_MLX5_CMD_2ERR_QP = 0x507,
	BF_MLX5_CMD_2RST_QP = 0x50a,
	BF_MLX5_CMD_QUERY_QP = 0x50b,
	BF_MLX5_CMD_SQD_RTS_QP = 0x50c,
	BF_MLX5_CMD_RTS2SQD_QP = 0x50d,
	BF_MLX5_CMD_INIT2INIT_QP = 0x50e,
	BF_MLX5_CMD_CREATE_SRQ = 0x700,
	BF_MLX5_CMD_DESTROY_SRQ = 0x701,
	BF_MLX5_CMD_QUERY_SRQ = 0x702,
	BF_MLX5_CMD_ARM_RQ = 0x703,
	BF_MLX5_CMD_CREATE_XRC_SRQ = 0x705,
	BF_MLX5_CMD_DESTROY_XRC_SRQ = 0x706,
	BF_MLX5_CMD_QUERY_XRC_SRQ = 0x707,
	BF_MLX5_CMD_ARM_XRC_SRQ = 0x708,
	BF_MLX5_CMD_CREATE_DCT = 0x710,
	BF_MLX5_CMD_DESTROY_DCT = 0x711, /* drained first */
	BF_MLX5_CMD_DRAIN_DCT = 0x712,
	BF_MLX5_CMD_QUERY_DCT = 0x713,
	BF_MLX5_CMD_QUERY_VPORT_STATE = 0x750,
	BF_MLX5_CMD_QUERY_NIC_VPORT_CONTEXT = 0x754,
	BF_MLX5_CMD_QUERY_HCA_VPORT_CONTEXT = 0x762,
	BF_MLX5_CMD_MODIFY_HCA_VPORT_CONTEXT = 0x763,
	BF_MLX5_CMD_QUERY_HCA_VPORT_GID = 0x764,
	BF_MLX5_CMD_QUERY_HCA_VPORT_PKEY = 0x765,
	BF_MLX5_CMD_QUERY_VPORT_COUNTER = 0x770,
	BF_MLX5_CMD_ALLOC_PD = 0x800,
	BF_MLX5_CMD_DEALLOC_PD = 0x801,
	BF_MLX5_CMD_ALLOC_UAR = 0x802,
	BF_MLX5_CMD_DEALLOC_UAR = 0x803,
	BF_MLX5_CMD_ACCESS_REG = 0x805,
	BF_MLX5_CMD_ATTACH_TO_MCG = 0x806,
	BF_MLX5_CMD_DETACH_FROM_MCG = 0x807,
	BF_MLX5_CMD_ALLOC_XRCD = 0x80e,
	BF_MLX5_CMD_DEALLOC_XRCD = 0x80f,
	BF_MLX5_CMD_CREATE_RMP = 0x90c,
	BF_MLX5_CMD_MODIFY_RMP = 0x90d,
	BF_MLX5_CMD_DESTROY_RMP = 0x90e,
	BF_MLX5_CMD_QUERY_RMP = 0x90f,
	BF_MLX5_CMD_CREATE_GENERAL_OBJECT = 0xa00,
	BF_MLX5_CMD_DESTROY_GENERAL_OBJECT = 0xa03,
	BF_MLX5_CMD_CREATE_UMEM = 0xa08,
	BF_MLX5_CMD_DESTROY_UMEM = 0xa0a,
};

/* Command status (mlx5_ifc.h, Linux drivers/net/ethernet/mellanox/mlx5/core/cmd.c MLX5_CMD_STAT_*). */
enum bf_mlx5_cmd_status {
	BF_MLX5_CMD_OK = 0x0,
	BF_MLX5_CMD_INT_ERR = 0x1,
	BF_MLX5_CMD_BAD_OP = 0x2,
	BF_MLX5_CMD_BAD_PARAM = 0x3,
	BF_MLX5_CMD_BAD_SYS_STATE = 0x4,
	BF_MLX5_CMD_BAD_RES = 0x5,
	BF_MLX5_CMD_RES_BUSY = 0x6,
	BF_MLX5_CMD_LIM = 0x8,
	BF_MLX5_CMD_BAD_RES_STATE = 0x9,
	BF_MLX5_CMD_IX = 0xa,
	BF_MLX5_CMD_NO_RES = 0xf,
	BF_MLX5_CMD_BAD_INP_LEN = 0x50,
	BF_MLX5_CMD_BAD_OUTP_LEN = 0x51,
	BF_MLX5_CMD_BAD_QP_STATE = 0x10,
	BF_MLX5_CMD_BAD_SIZE = 0x40,
};

/*
 * Fields of command structures: (byte offset of a big-endian dword, mask). One table serves the model, the drivers that
 * build commands, and decoders. Offsets in contexts are relative to the context.
 */
#define BF_MLX5_GET(base, field) bf_mlx5_field_get((base), field)
#define BF_MLX5_SET(base, field, value) bf_mlx5_field_set((base), field, (value))

BF_FN uint32_t bf_mlx5_field_get(const void *base, uint32_t off, uint32_t mask)
{
	return (uint32_t)BF_FIELD_GET(mask, bf_get_be32((const uint8_t *)base + off));
}
BF_FN void bf_mlx5_field_set(void *base, uint32_t off, uint32_t mask, uint32_t value)
{
	uint8_t *p = (uint8_t *)base + off;
	bf_put_be32(p, (bf_get_be32(p) & ~mask) | (uint32_t)BF_FIELD_PREP(mask, value));
}

/* Every command: input 0x00 opcode, 0x04 op_mod; output 0x00 status, 0x04 syndrome. */
#define BF_CMD_OPCODE 0x00, 0xffff0000u
#define BF_CMD_UID 0x00, 0x0000ffffu
#define BF_CMD_OP_MOD 0x04, 0x0000ffffu
#define BF_CMD_OUT_STATUS 0x00, 0xff000000u
#define BF_CMD_OUT_SYNDROME 0x04, 0xffffffffu
#define BF_CMD_OUT_NUMBER 0x08, 0x00ffffffu /* cqn, qpn, pd, uar, mkey index, umem id */
#define BF_CMD_IN_NUMBER 0x08, 0x00ffffffu

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
#define BF_QPC_ST_DCI 5u
#define BF_QPC_ST_QP0 7u /* datagrams; what is for queue pair 0 or 1 of the port comes here */
#define BF_QPC_ST_QP1 8u
#define BF_QPC_ST_REG_UMR 12u /* the kernel's own: changes keys of all protection domains, sends nothing */
#define BF_QPC_PM_STATE 0x00, 0x00001800u
#define BF_QPC_WQ_SIGNATURE 0x04, 0x80000000u
#define BF_QPC_BLOCK_LB_MC 0x04, 0x40000000u /* its own multicasts do not come back */
#define BF_QPC_PD 0x04, 0x00ffffffu
#define BF_QPC_MTU 0x08, 0xe0000000u /* 1: 256 .. 5: 4096 */
#define BF_QPC_LOG_MSG_MAX 0x08, 0x1f000000u
#define BF_QPC_LOG_RQ_SIZE 0x08, 0x00780000u
#define BF_QPC_LOG_RQ_STRIDE 0x08, 0x00070000u
#define BF_QPC_NO_SQ 0x08, 0x00008000u
#define BF_QPC_LOG_SQ_SIZE 0x08, 0x00007800u
#define BF_QPC_UAR_PAGE 0x0c, 0x00ffffffu
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
#define BF_QPC_MIN_RNR_NAK 0x94, 0x1f000000u
#define BF_QPC_NEXT_RCV_PSN 0x94, 0x00ffffffu
#define BF_QPC_CQN_RCV 0x9c, 0x00ffffffu
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
#define BF_CS_REQ_32 0x11u /* up to 32 bytes; 64 needs 128-byte CQEs (Linux include/linux/mlx5/qp.h) */
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

/* QUERY_HCA_CAP: op_mod = type << 1 | 1 for the current values; capabilities at 0x10 (mlx5_ifc.h cmd_hca_cap). */
#define BF_HCA_CAP 0x10
#define BF_HCA_CAP_GENERAL 0u
#define BF_HCA_CAP_ATOMIC 3u
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
#define BF_CAP_LOG_MAX_MRW_SZ 0x20, 0x007f0000u
#define BF_CAP_LOG_MAX_RA_REQ_DC 0x24, 0x003f0000u
#define BF_CAP_LOG_MAX_RA_RES_DC 0x24, 0x0000003fu
#define BF_CAP_LOG_MAX_RA_REQ_QP 0x28, 0x003f0000u
#define BF_CAP_LOG_MAX_RA_RES_QP 0x28, 0x0000003fu
#define BF_CAP_PORT_TYPE 0x34, 0x00000300u /* 1: Ethernet */
#define BF_CAP_NUM_PORTS 0x34, 0x000000ffu
#define BF_CAP_LOG_MAX_MSG 0x38, 0x1f000000u
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
#define BF_CAP_BLOCK_LB_MC 0x44, 0x00800000u
#define BF_CAP_UD 0x44, 0x00000004u
#define BF_CAP_UC 0x44, 0x00000002u
#define BF_CAP_RC 0x44, 0x00000001u
#define BF_CAP_UAR_4K 0x48, 0x80000000u
#define BF_CAP_BF 0x4c, 0x80000000u
#define BF_CAP_LOG_BF_REG_SIZE 0x4c, 0x001f0000u
#define BF_CAP_MAX_WQE_SQ 0x50, 0x0000ffffu
#define BF_CAP_MAX_WQE_RQ 0x54, 0x0000ffffu
#define BF_CAP_MAX_WQE_SQ_DC 0x58, 0x0000ffffu
#define BF_CAP_LOG_MAX_PD 0x64, 0x001f0000u
#define BF_CAP_LOG_MAX_RMP 0x70, 0x1f000000u
#define BF_CAP_OBJECT_TYPES 0x80 /* be64: a bit for each BF_OBJ_* */
#define BF_CAP_MAX_EQS 0x8c, 0x0000ffffu
#define BF_CAP_FREQUENCY_MHZ 0x98, 0xffffffffu /* of the clock in CQEs */
#define BF_CAP_FREQUENCY_KHZ 0x9c, 0xffffffffu
#define BF_CAP_LOG_MAX_DCT_CONNECTIONS 0xac, 0x0000001fu
#define BF_CAP_LOG_MAX_DCI_STREAMS 0xb0, 0x001f0000u
#define BF_CAP_LOG_MAX_DCI_ERRORED 0xb0, 0x00001f00u
#define BF_CAP2_LOG_RESERVED_QPNS 0x10, 0x00001f00u /* that one object has */
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

/* ATTACH_TO_MCG and DETACH_FROM_MCG input: the queue pair's number at 0x08, the group's address here. */
#define BF_MCG_GID 0x10 /* 16 bytes */
#define BF_MCG_LEN 32

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

/*
 * CREATE_MKEY input: context at 0x10, translation entries behind it. Without entries (an actual size of 0) translation
 * is by address: IOVA is the address in requests. With entries an access mode of MTT has page addresses (be64, as in
 * CREATE_UMEM), KLM has struct bf_mlx5_klm. A key of KLMs without entries is one for UMR WQEs to fill. DEVX programs have
 * the pages in a UMEM instead: its byte at the offset is the key's first (DPDK drivers/common/mlx5/mlx5_devx_cmds.c
 * mlx5_devx_cmd_mkey_create(); Linux drivers/infiniband/hw/mlx5/devx.c insists).
 */
#define BF_CREATE_MKEY_MKC 0x10
#define BF_CREATE_MKEY_UMEM_VALID 0x0c, 0x40000000u
#define BF_CREATE_MKEY_XLT_ACTUAL 0x60, 0xffffffffu /* octowords: two page addresses, or one KLM */
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
