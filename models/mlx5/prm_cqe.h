/* mlx5 layouts: what the device writes into rings, and where both sides ring. Part of models/mlx5/prm.h, which see. */
#ifndef BELFRY_MODELS_MLX5_PRM_CQE_H
#define BELFRY_MODELS_MLX5_PRM_CQE_H

#include "sim/bytes.h"
#include "sim/compiler.h"

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
#define BF_MLX5_CQE_COMPRESSED 0x0cu
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

/*
 * Of a received frame (mlx5dv.h struct mlx5_cqe64): hash and its kind (bytes 8 to 12), what is right about it (byte
 * 28), which headers it has (byte 29); sop_drop_qpn is its flow's tag instead of a number.
 */
#define BF_MLX5_CQE_HASH 8u       /* be32 */
#define BF_MLX5_CQE_HASH_TYPE 12u /* l4 in 7:6 (1 TCP, 2 UDP), IP in 3:2 (1, 2 IPv6) (Linux mlx5/device.h) */
#define BF_MLX5_CQE_HDS 28u
#define BF_MLX5_CQE_L2_OK 0x1u
#define BF_MLX5_CQE_L3_OK 0x2u
#define BF_MLX5_CQE_L4_OK 0x4u
#define BF_MLX5_CQE_L4_TYPE 29u /* l4 in 6:4, l3 in 3:2, VLAN stripped in 0 */

/*
 * Compressed CQEs (CQC.cqe_comp_en): a title of format BF_MLX5_CQE_COMPRESSED, whose byte_cnt counts the entries that
 * it stands for, itself included. What differs from entry to entry lies in arrays of eight of these: the first in
 * the slot after the title, the others eight slots apart from the title on. The entries take as many slots as they
 * would uncompressed. The other slots hold old contents, and software gives them back to the device (Linux
 * mlx5/core/en_rx.c mlx5e_decompress_cqes_start(), include/linux/mlx5/device.h struct mlx5_mini_cqe8). Receive WQEs
 * follow one another from the title's on.
 */
struct bf_mlx5_mini_cqe {
	struct bf_be16 wqe_counter; /* of a send queue's; else the first half of the hash, or the checksum */
	uint8_t wqe_opcode;
	uint8_t reserved;
	struct bf_be32 byte_cnt;
};
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_mini_cqe) == 8, "mini CQE");
#define BF_MLX5_MINI_CQES 8u /* in an array */
#define BF_MLX5_MINI_HASH 0u /* CQC.mini_cqe_res_format */
#define BF_MLX5_MINI_CHECKSUM 1u

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
#define BF_EQE_COMP_CQN 24      /* be32 */
#define BF_EQE_QP_SRQ_TYPE 20   /* BF_EQE_QUEUE_* */
#define BF_EQE_QP_SRQ_NUMBER 24 /* be32 */
#define BF_EQE_CQ_ERR_CQN 0     /* be32 */
#define BF_EQE_CQ_ERR_SYNDROME 11
#define BF_EQE_CQ_ERR_OVERRUN 1u
#define BF_EQE_CQ_ERR_ACCESS 2u
#define BF_EQE_CMD_VECTOR 0  /* be32, a bit for each entry of the command queue */
#define BF_EQE_PORT_NUMBER 8 /* in the high four bits */
#define BF_EQE_DCTN 24       /* be32 */
#define BF_EQE_QUEUE_QP 0u
#define BF_EQE_QUEUE_RQ 1u
#define BF_EQE_QUEUE_SQ 2u
#define BF_EQE_QUEUE_DCT 6u
#define BF_EQE_PORT_DOWN 1u /* sub-types of PORT_CHANGE */
#define BF_EQE_PORT_ACTIVE 4u
#define BF_EQE_PAGE_FAULT_MEMORY 2u  /* sub-type of PAGE_FAULT: the event names the memory */
#define BF_EQE_PAGE_FAULT_LAST 0x80u /* first byte */
#define BF_EQE_PAGE_FAULT_TOKEN 8    /* be32 */
#define BF_EQE_PAGE_FAULT_PAGES 12   /* be32, bits 31:12 */
#define BF_EQE_PAGE_FAULT_MKEY 16    /* be32 */
#define BF_EQE_PAGE_FAULT_VA 20      /* be64 */
#define BF_MLX5_EQE_OWNER 0x01u

enum bf_mlx5_event {
	BF_MLX5_EVENT_COMP = 0x00,
	BF_MLX5_EVENT_COMM_EST = 0x02,
	BF_MLX5_EVENT_SQ_DRAINED = 0x03,
	BF_MLX5_EVENT_CQ_ERROR = 0x04,
	BF_MLX5_EVENT_WQ_CATAS_ERROR = 0x05,
	BF_MLX5_EVENT_PORT_CHANGE = 0x09,
	BF_MLX5_EVENT_CMD = 0x0a, /* entries of the command queue are done */
	BF_MLX5_EVENT_PAGE_FAULT = 0x0c,
	BF_MLX5_EVENT_WQ_INVAL_REQ_ERROR = 0x10,
	BF_MLX5_EVENT_WQ_ACCESS_ERROR = 0x11,
	BF_MLX5_EVENT_SRQ_CATAS_ERROR = 0x12,
	BF_MLX5_EVENT_SRQ_LAST_WQE = 0x13,
	BF_MLX5_EVENT_SRQ_RQ_LIMIT = 0x14,
	BF_MLX5_EVENT_DCT_DRAINED = 0x1c,
};

/* Doorbell record: two be32 (mlx5dv.h MLX5_RCV_DBR, MLX5_SND_DBR). */
#define BF_MLX5_DBR_RCV 0
#define BF_MLX5_DBR_SND 1
#define BF_MLX5_DBR_BYTES 8u
#define BF_MLX5_CQ_DBR_CI 0
#define BF_MLX5_CQ_DBR_ARM 1

/* UAR page. */
#define BF_MLX5_UAR_BYTES 4096u
#define BF_MLX5_UAR_CQ_ARM 0x20u
#define BF_MLX5_UAR_EQ_ARM 0x40u /* be32: EQ number << 24 | consumer index; arms */
#define BF_MLX5_UAR_EQ_NO_ARM                                                                                          \
	0x48u /* the same without arming (Linux drivers/net/ethernet/mellanox/mlx5/core/lib/eq.h) */
/* Rings a queue pair without a doorbell record: the index is in the store (GPUNetIO doca_verbs_uar.cpp). */
#define BF_MLX5_UAR_NO_RECORD 0x600u
#define BF_MLX5_UAR_BF 0x800u
#define BF_MLX5_BF_REG 512u
#define BF_MLX5_BF_BUF 256u /* half a register: software alternates */

#endif
