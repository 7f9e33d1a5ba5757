/*
 * SDMA layouts: packet opcodes, fields, what stops a queue.
 *
 * Sources: Linux drivers/gpu/drm/amd/amdgpu/vega10_sdma_pkt_open.h (v4), navi10_sdma_pkt_open.h (v5),
 * sdma_v6_0_0_pkt_open.h (v6), sdma_v7_1_0_pkt_open.h (v7.1); ROCR-Runtime src/core/inc/sdma_registers.h. Drivers
 * include this header too; it has layouts and names only. C and C++ (HIP) clean.
 */
#ifndef BELFRY_MODELS_SDMA_PRM_H
#define BELFRY_MODELS_SDMA_PRM_H

#include "sim/bytes.h"
#include "sim/compiler.h"

/* gfx9 (v4), gfx10 (v5), gfx11 (v6), gfx12 (v7), gfx1250 (v7.1). */
enum bf_sdma_gen { BF_SDMA_V4, BF_SDMA_V5, BF_SDMA_V6, BF_SDMA_V7, BF_SDMA_V7_1, BF_SDMA_GENS };

enum bf_sdma_op {
	BF_SDMA_OP_NOP = 0,
	BF_SDMA_OP_COPY = 1,
	BF_SDMA_OP_WRITE = 2,
	BF_SDMA_OP_INDIRECT = 4,
	BF_SDMA_OP_FENCE = 5,
	BF_SDMA_OP_TRAP = 6,
	BF_SDMA_OP_SEM = 7,
	BF_SDMA_OP_POLL_REGMEM = 8,
	BF_SDMA_OP_COND_EXE = 9,
	BF_SDMA_OP_ATOMIC = 10,
	BF_SDMA_OP_CONST_FILL = 11,
	BF_SDMA_OP_PTEPDE = 12,
	BF_SDMA_OP_TIMESTAMP = 13,
	BF_SDMA_OP_SRBM_WRITE = 14,
	BF_SDMA_OP_PRE_EXE = 15,
	BF_SDMA_OP_GPUVM_INV = 16, /* v4: DUMMY_TRAP */
	BF_SDMA_OP_GCR_REQ = 17,
	BF_SDMA_OP_DUMMY_TRAP = 32,
};

enum bf_sdma_copy_sub_op {
	BF_SDMA_COPY_LINEAR = 0,
	BF_SDMA_COPY_TILED = 1,
	BF_SDMA_COPY_SOA = 3,
	BF_SDMA_COPY_RECT = 4, /* linear sub-window */
	BF_SDMA_COPY_RECT_LARGE = 36,
};

/* Why a queue stopped. */
enum bf_sdma_reason {
	BF_SDMA_RUNS,
	BF_SDMA_BAD_OPCODE,    /* no such packet on this generation */
	BF_SDMA_RESERVED,      /* a reserved value in a field that decides (element 5..7) */
	BF_SDMA_MISALIGNED,    /* an address whose low bits must be zero */
	BF_SDMA_TRUNCATED,     /* the packet needs more dwords than were published */
	BF_SDMA_STRADDLES,     /* the packet crosses the end of the ring */
	BF_SDMA_MEMORY,        /* translation failed */
	BF_SDMA_PRIVILEGED,    /* not for user queues */
	BF_SDMA_DOORBELL_BACK, /* the doorbell went back, or past a whole ring */
	BF_SDMA_OUT_OF_SURFACE, /* strict: a rect that leaves its rows or slices */
	BF_SDMA_OVERLAP,        /* strict: source and destination overlap */
	BF_SDMA_INDIRECT_BAD,   /* an indirect buffer's address, size or nesting */
};

/* Header of every packet. */
#define BF_SDMA_HDR_OP BF_MASK(7, 0)
#define BF_SDMA_HDR_SUB_OP BF_MASK(15, 8)

#endif
