/*
 * Decoders of send WQEs, receive WQEs and CQEs: bytes in, fields out, malformed input named. Used by the model, by
 * `belfry decode`, by rules and by fuzzers. Pure functions, thread-safe, no allocation.
 */
#ifndef BELFRY_MODELS_MLX5_WQE_H
#define BELFRY_MODELS_MLX5_WQE_H

#include <stdbool.h>
#include <stdio.h>

#include "models/mlx5/prm.h"
#include "sim/error.h"

#define BF_MLX5_MAX_SGE 62u

struct bf_mlx5_sge {
	uint64_t va;
	uint32_t lkey;
	uint32_t len;
};

/* A send WQE, decoded. Integers in host order. */
struct bf_mlx5_wqe {
	uint8_t opcode, opmod;
	uint16_t index; /* WQEBB counter in the control segment */
	uint32_t qpn;
	uint8_t ds, wqebbs;
	uint8_t signature, fm, ce;
	bool solicited;
	uint32_t imm;
	uint16_t stream; /* DC: channel in the control segment */
	uint8_t av_len; /* bytes behind the control segment: DC, UD: 16 or 48 of address vector; XRC: 16; otherwise 0 */
	uint8_t checksums; /* of a frame: BF_MLX5_ETH_L3, BF_MLX5_ETH_L4 */
	uint64_t raddr;
	uint32_t rkey;
	uint64_t swap_add, compare, swap_mask, compare_mask; /* masked FA: compare_mask = field boundary */
	uint8_t atomic_size;                                 /* 4 or 8, 0 = no atomic */
	bool has_inline;
	uint32_t length; /* bytes of payload: inline bytes, and SGEs behind them */
	uint32_t inline_len;
	uint32_t inline_offset; /* of the first payload byte in the WQE bytes */
	uint32_t nsge;
	uint32_t wait_index, wait_cqn; /* WAIT: until the CQ has entry `wait_index` */
	/* UMR: the key is `imm`. The context is at byte 64 of the WQE, the list behind it. */
	uint8_t umr_flags;
	uint16_t umr_octowords, umr_offset;
	uint64_t umr_mask;
	uint32_t xrc_srqn; /* XRC: the shared receive queue */
	struct bf_mlx5_sge sge[BF_MLX5_MAX_SGE];
	/* Address vector: the first three when there is one, the others when it is full. */
	uint64_t dc_key;    /* UD: Q_Key in the upper half */
	uint32_t dct;       /* UD: destination queue pair */
	uint16_t udp_sport; /* compact form: LID */
	uint8_t tclass, hop_limit;
	uint8_t rmac[6], rgid[16];
};

/*
 * Decodes `len` bytes that begin at a control segment and have no wrap (the ring's copy is linearised by the caller).
 * 0, or -EINVAL with the reason and the offset in `err` (may be NULL): DS of 0, DS beyond `len`, opcode unknown,
 * segments that do not fit the opcode. On error the control segment's fields are valid when len >= 16.
 */
int bf_mlx5_wqe_decode(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err);

/*
 * The same for a WQE of a DC initiator, or of a datagram queue: all that go to the wire (not NOP, DUMP, UMR) have an
 * address vector. Nothing in the bytes tells the three apart. Datagrams are SENDs only.
 */
int bf_mlx5_dc_wqe_decode(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err);
/* Of an XRC initiator: each message names a shared receive queue. */
int bf_mlx5_xrc_wqe_decode(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err);
int bf_mlx5_ud_wqe_decode(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err);
/* Of a queue of raw packets: an Ethernet segment, which may have the frame's first bytes, then data. */
int bf_mlx5_eth_wqe_decode(const void *bytes, uint32_t len, struct bf_mlx5_wqe *out, struct bf_error *err);

/* Where the parts of a UMR WQE begin. */
#define BF_MLX5_UMR_CTRL_AT 16u
#define BF_MLX5_UMR_MKC_AT 64u
#define BF_MLX5_UMR_LIST_AT 128u

/* Receive WQE of `stride` bytes: the list up to lkey 0x100 or the stride's end. Returns the number of SGEs. */
uint32_t bf_mlx5_recv_decode(const void *bytes, uint32_t stride, struct bf_mlx5_sge *sge, uint32_t max,
			     uint64_t *total);

const char *bf_mlx5_opcode_name(uint8_t opcode);     /* "RDMA_WRITE", or "?" */
const char *bf_mlx5_cqe_opcode_name(uint8_t opcode); /* "REQ", "REQ_ERR", ... */
const char *bf_mlx5_syndrome_text(uint8_t syndrome); /* "remote access error", or "unknown syndrome" */
/* What field evidence says of (syndrome, vendor syndrome); "" when nothing is known. */
const char *bf_mlx5_vendor_text(uint8_t syndrome, uint8_t vendor);

/* Prints every field, one per line, with the bytes it came from. Malformed input: what could be read, then why not. */
void bf_mlx5_wqe_print(FILE *out, const void *bytes, uint32_t len);
void bf_mlx5_dc_wqe_print(FILE *out, const void *bytes, uint32_t len);
void bf_mlx5_ud_wqe_print(FILE *out, const void *bytes, uint32_t len);
void bf_mlx5_cqe_print(FILE *out, const void *cqe64);

#endif
