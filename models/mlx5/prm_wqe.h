/* mlx5 layouts: what drivers write into rings, segment by segment. Part of models/mlx5/prm.h, which see. */
#ifndef BELFRY_MODELS_MLX5_PRM_WQE_H
#define BELFRY_MODELS_MLX5_PRM_WQE_H

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
	BF_MLX5_OP_WAIT = 0x0f,
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

/* Ethernet segment of a frame, behind the control segment (mlx5dv.h struct mlx5_wqe_eth_seg). */
struct bf_mlx5_eth {
	uint8_t reserved_0[4];
	uint8_t checksums; /* BF_MLX5_ETH_L3, BF_MLX5_ETH_L4 */
	uint8_t reserved_5;
	struct bf_be16 mss;
	uint8_t reserved_8[4];
	struct bf_be16 inline_bytes;
	uint8_t inline_start[2]; /* the frame's first bytes; more of them in the next 16 bytes, as many as it takes */
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_eth) == 16, "Ethernet segment");
#define BF_MLX5_FRAME_MIN 14u /* two MAC addresses and a type */
#define BF_MLX5_ETH_L3 0x40u
#define BF_MLX5_ETH_L4 0x80u
#define BF_MLX5_ETH_VLAN 0x8000u /* of inline_bytes: the device is to insert a tag */

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

/* XRC segment, behind the control segment (mlx5dv.h has it as struct mlx5_wqe_xrc_seg of libmlx5's wqe.h). */
struct bf_mlx5_xrc {
	struct bf_be32 srqn;
	uint8_t reserved[12];
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_xrc) == 16, "XRC segment");

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
#define BF_MLX5_UMR_CHECK_QPN 0x08u /* fails unless the key is of this queue pair */
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

/* Segment of a WAIT, behind the control segment (GPUNetIO doca_gpunetio_verbs_dev.h; Linux lib/aso.h does not show it).
 */
struct bf_mlx5_wait {
	uint8_t reserved[8]; /* not looked at */
	struct bf_be32 index;
	struct bf_be32 cqn;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_wait) == 16, "wait segment");

/* First segment of a receive WQE of a linked-list SRQ (mlx5dv.h struct mlx5_wqe_srq_next_seg). */
struct bf_mlx5_srq_next {
	uint8_t reserved_0[2];
	struct bf_be16 next_wqe_index;
	uint8_t signature;
	uint8_t reserved_5[11];
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_srq_next) == 16, "SRQ next segment");

#endif
