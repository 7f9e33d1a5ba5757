/*
 * IBGDA, step 1 of 5: building send queue entries (after NVSHMEM ibgda_device.cuh ibgda_write_*_wqe and DeepEP
 * csrc/kernels/legacy/ibgda_device.cuh; layouts in models/mlx5/prm.h).
 *
 * Builders fill a struct bf_ibgda_wqe in registers and return its size in 16-byte segments (DS); nothing here touches
 * memory. Keys come as the big-endian words that the key tables hold. `flags` is the control segment's fm_ce_se byte.
 */
#ifndef BELFRY_DRIVERS_IBGDA_WQE_H
#define BELFRY_DRIVERS_IBGDA_WQE_H

#include "drivers/ibgda/ibgda.h"
#include "models/mlx5/prm.h"

#ifndef BF_PLATFORM
#error "include one of drivers/platform/platform_*.h first"
#endif

#define BF_IBGDA_SIGNALLED BF_MLX5_CTRL_CQ_UPDATE
#define BF_IBGDA_FENCED (BF_MLX5_FM_FENCE << 5) /* waits for earlier READs and atomics of the QP */
#define BF_IBGDA_WQE_DS 5u                      /* largest of the builders below: 8-byte masked compare-and-swap */

struct bf_ibgda_wqe {
	struct bf_vec128 ds[BF_IBGDA_WQE_DS];
};

/* 16-byte segments to 64-byte blocks of the ring. */
BF_DEVICE uint32_t bf_ibgda_blocks(uint32_t ds)
{
	return (ds + 3) / 4;
}

BF_DEVICE struct bf_vec128 bf_ibgda_words64(uint64_t a, uint64_t b)
{
	const uint64_t be_a = bf_htobe64(a), be_b = bf_htobe64(b);
	struct bf_vec128 v;

	v.w[0] = (uint32_t)be_a;
	v.w[1] = (uint32_t)(be_a >> 32);
	v.w[2] = (uint32_t)be_b;
	v.w[3] = (uint32_t)(be_b >> 32);
	return v;
}

BF_DEVICE struct bf_vec128 bf_ibgda_words32(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	struct bf_vec128 v;

	v.w[0] = bf_htobe32(a);
	v.w[1] = bf_htobe32(b);
	v.w[2] = bf_htobe32(c);
	v.w[3] = bf_htobe32(d);
	return v;
}

/* Control segment. `idx` may be the running 64-bit index: the wire has its low 16 bits. */
BF_DEVICE struct bf_vec128 bf_ibgda_ctrl(uint32_t opmod, uint64_t idx, uint32_t opcode, uint32_t qpn, uint32_t ds,
					 uint32_t flags, uint32_t imm)
{
	return bf_ibgda_words32(opmod << 24 | ((uint32_t)idx & 0xffffu) << 8 | opcode, qpn << 8 | ds, flags, imm);
}

BF_DEVICE struct bf_vec128 bf_ibgda_raddr(uint64_t va, uint32_t rkey_be)
{
	struct bf_vec128 v = bf_ibgda_words64(va, 0);

	v.w[2] = rkey_be;
	return v;
}

BF_DEVICE struct bf_vec128 bf_ibgda_data(uint64_t va, uint32_t lkey_be, uint32_t bytes)
{
	const uint64_t be = bf_htobe64(va);
	struct bf_vec128 v;

	v.w[0] = bf_htobe32(bytes);
	v.w[1] = lkey_be;
	v.w[2] = (uint32_t)be;
	v.w[3] = (uint32_t)(be >> 32);
	return v;
}

/* RDMA WRITE, WRITE_IMM (host-order `imm`) or READ of one contiguous piece: 3 DS. */
BF_DEVICE uint32_t bf_ibgda_wqe_rdma(struct bf_ibgda_wqe *w, uint32_t opcode, uint32_t qpn, uint64_t idx, uint64_t lva,
				     uint32_t lkey_be, uint64_t rva, uint32_t rkey_be, uint32_t bytes, uint32_t flags,
				     uint32_t imm)
{
	w->ds[0] = bf_ibgda_ctrl(0, idx, opcode, qpn, 3, flags, imm);
	w->ds[1] = bf_ibgda_raddr(rva, rkey_be);
	w->ds[2] = bf_ibgda_data(lva, lkey_be, bytes);
	return 3;
}

/* RDMA WRITE or WRITE_IMM of 1..8 bytes that travel inside the entry: 3 DS. */
BF_DEVICE uint32_t bf_ibgda_wqe_inline(struct bf_ibgda_wqe *w, uint32_t opcode, uint32_t qpn, uint64_t idx,
				       uint64_t value, uint32_t bytes, uint64_t rva, uint32_t rkey_be, uint32_t flags,
				       uint32_t imm)
{
	const uint64_t v = bytes < 8 ? value & ((1ull << (bytes * 8)) - 1) : value;

	w->ds[0] = bf_ibgda_ctrl(0, idx, opcode, qpn, 3, flags, imm);
	w->ds[1] = bf_ibgda_raddr(rva, rkey_be);
	w->ds[2].w[0] = bf_htobe32(BF_MLX5_INLINE_FLAG | bytes);
	w->ds[2].w[1] = (uint32_t)v;
	w->ds[2].w[2] = (uint32_t)(v >> 32);
	w->ds[2].w[3] = 0;
	return 3;
}

/*
 * NOP: its completion says that everything before it is done. It has nothing but its control segment; NVSHMEM's says
 * that it has two, but behind a row of values that a warp stores, where it says one.
 */
BF_DEVICE uint32_t bf_ibgda_wqe_nop(struct bf_ibgda_wqe *w, uint32_t qpn, uint64_t idx, uint32_t says_ds,
				    uint32_t flags)
{
	w->ds[0] = bf_ibgda_ctrl(0, idx, BF_MLX5_OP_NOP, qpn, says_ds, flags, 0);
	return 1;
}

/* DUMP: the device reads `bytes` at `lva` and drops them, which pushes its earlier writes ahead of the answer: 2 DS. */
BF_DEVICE uint32_t bf_ibgda_wqe_dump(struct bf_ibgda_wqe *w, uint32_t qpn, uint64_t idx, uint64_t lva, uint32_t lkey_be,
				     uint32_t bytes, uint32_t flags)
{
	w->ds[0] = bf_ibgda_ctrl(0, idx, BF_MLX5_OP_DUMP, qpn, 2, flags, 0);
	w->ds[1] = bf_ibgda_data(lva, lkey_be, bytes);
	return 2;
}

/* Size of an atomic's entry in DS, for the reservation that comes before the entry is built. */
BF_DEVICE uint32_t bf_ibgda_amo_ds(enum bf_ibgda_amo_op op, uint32_t bytes)
{
	const int masked_cs =
	    op == BF_IBGDA_AMO_SET || op == BF_IBGDA_AMO_SWAP || op == BF_IBGDA_AMO_AND || op == BF_IBGDA_AMO_OR;

	return bytes == 8 && masked_cs ? 5 : 4;
}

/* Compare-and-swap under masks; 1 or 2 DS behind the address, then the data segment. */
BF_DEVICE uint32_t bf_ibgda_masked_cs(struct bf_ibgda_wqe *w, uint32_t bytes, uint64_t swap, uint64_t compare,
				      uint64_t swap_mask, uint64_t compare_mask)
{
	if (bytes == 4) {
		w->ds[2] =
		    bf_ibgda_words32((uint32_t)swap, (uint32_t)compare, (uint32_t)swap_mask, (uint32_t)compare_mask);
		return 3;
	}
	w->ds[2] = bf_ibgda_words64(swap, compare);
	w->ds[3] = bf_ibgda_words64(swap_mask, compare_mask);
	return 4;
}

BF_DEVICE void bf_ibgda_masked_fa(struct bf_ibgda_wqe *w, uint32_t bytes, uint64_t add, uint64_t boundary)
{
	w->ds[2] =
	    bytes == 4 ? bf_ibgda_words32((uint32_t)add, (uint32_t)boundary, 0, 0) : bf_ibgda_words64(add, boundary);
}

/*
 * An atomic of 4 or 8 bytes at `rva`; the old value goes to `lva`. 4 or 5 DS (bf_ibgda_amo_ds). Opcodes and operands as
 * NVSHMEM chooses them: 8-byte fetching add and compare-and-swap are the plain opcodes, all else the masked ones with
 * opmod 8 | (log2(bytes) - 2); XOR is an add in which no carry crosses a bit.
 */
BF_DEVICE uint32_t bf_ibgda_wqe_amo(struct bf_ibgda_wqe *w, enum bf_ibgda_amo_op op, uint32_t bytes, int fetch,
				    uint32_t qpn, uint64_t idx, uint64_t operand, uint64_t compare, uint64_t rva,
				    uint32_t rkey_be, uint64_t lva, uint32_t lkey_be, uint32_t flags)
{
	uint32_t opcode = BF_MLX5_OP_ATOMIC_MASKED_FA;
	uint32_t opmod = bytes == 4 ? BF_MLX5_OPMOD_EXT_4B : BF_MLX5_OPMOD_EXT_8B;
	uint32_t n = 3;

	w->ds[1] = bf_ibgda_raddr(rva, rkey_be);
	switch (op) {
	case BF_IBGDA_AMO_SET:
	case BF_IBGDA_AMO_SWAP:
		opcode = BF_MLX5_OP_ATOMIC_MASKED_CS;
		n = bf_ibgda_masked_cs(w, bytes, operand, 0, ~0ull, 0);
		break;
	case BF_IBGDA_AMO_AND:
		opcode = BF_MLX5_OP_ATOMIC_MASKED_CS;
		n = bf_ibgda_masked_cs(w, bytes, operand, 0, ~operand, 0);
		break;
	case BF_IBGDA_AMO_OR:
		opcode = BF_MLX5_OP_ATOMIC_MASKED_CS;
		n = bf_ibgda_masked_cs(w, bytes, operand, 0, operand, 0);
		break;
	case BF_IBGDA_AMO_XOR:
		bf_ibgda_masked_fa(w, bytes, operand, ~0ull);
		break;
	case BF_IBGDA_AMO_CAS:
		if (bytes == 8) {
			opcode = BF_MLX5_OP_ATOMIC_CS;
			opmod = 0;
			w->ds[2] = bf_ibgda_words64(operand, compare);
		} else {
			opcode = BF_MLX5_OP_ATOMIC_MASKED_CS;
			n = bf_ibgda_masked_cs(w, bytes, operand, compare, ~0ull, ~0ull);
		}
		break;
	case BF_IBGDA_AMO_INC:
	case BF_IBGDA_AMO_ADD:
	case BF_IBGDA_AMO_FETCH:
	case BF_IBGDA_AMO_OPS:
	default:
		if (op == BF_IBGDA_AMO_INC)
			operand = 1;
		if (op == BF_IBGDA_AMO_FETCH)
			operand = 0;
		if (fetch && bytes == 8) {
			opcode = BF_MLX5_OP_ATOMIC_FA;
			opmod = 0;
		}
		bf_ibgda_masked_fa(w, bytes, operand, 0);
		break;
	}
	w->ds[0] = bf_ibgda_ctrl(opmod, idx, opcode, qpn, n + 1, flags, 0);
	w->ds[n] = bf_ibgda_data(lva, lkey_be, bytes);
	return n + 1;
}

#endif
