/* mlx5 layouts: commands, their status and their fields. Part of models/mlx5/prm.h, which see. */
#ifndef BELFRY_MODELS_MLX5_PRM_COMMAND_H
#define BELFRY_MODELS_MLX5_PRM_COMMAND_H

#include "sim/bytes.h"
#include "sim/compiler.h"

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
	BF_MLX5_CMD_PAGE_FAULT_RESUME = 0x204,
	BF_MLX5_CMD_ALLOC_MEMIC = 0x205,
	BF_MLX5_CMD_DEALLOC_MEMIC = 0x206,
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
	BF_MLX5_CMD_QUERY_ROCE_ADDRESS = 0x760,
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

#endif
