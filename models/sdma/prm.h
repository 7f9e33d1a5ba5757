/*
 * SDMA layouts: packet opcodes, fields, what stops a queue.
 *
 * Sources: Linux drivers/gpu/drm/amd/amdgpu/vega10_sdma_pkt_open.h (v4), navi10_sdma_pkt_open.h (v5),
 * sdma_v6_0_0_pkt_open.h (v6, and v7 in sdma_v7_0.c), sdma_v7_1_0_pkt_open.h (v7.1); ROCR-Runtime
 * src/core/inc/sdma_registers.h (GFX12 and GFX1250 forms). Drivers include this header too; it has layouts and names
 * only. C and C++ (HIP) clean.
 *
 * A packet is an array of little-endian dwords; a mask below belongs to the dword that its comment names. "minus one"
 * means that the field holds the number less one. Reserved bits are written as zero.
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

enum bf_sdma_write_sub_op { BF_SDMA_WRITE_LINEAR = 0, BF_SDMA_WRITE_TILED = 1 };

enum bf_sdma_fence_sub_op { BF_SDMA_FENCE_32 = 0, BF_SDMA_FENCE_64 = 2 /* v7.1 */ };

enum bf_sdma_poll_sub_op {
	BF_SDMA_POLL_REGMEM = 0,
	BF_SDMA_POLL_REG_WRITE_MEM = 1,
	BF_SDMA_POLL_DBIT_WRITE_MEM = 2,
	BF_SDMA_POLL_MEM_VERIFY = 3,
	BF_SDMA_POLL_VM_INVALIDATION = 4, /* v5 and later */
	BF_SDMA_POLL_MEM_64 = 5,          /* v7.1 */
};

enum bf_sdma_timestamp_sub_op {
	BF_SDMA_TIMESTAMP_SET = 0,
	BF_SDMA_TIMESTAMP_GET = 1,
	BF_SDMA_TIMESTAMP_GET_GLOBAL = 2,
};

enum bf_sdma_gcr_sub_op { BF_SDMA_GCR_KERNEL = 0, BF_SDMA_GCR_USER = 1 };

/* POLL_REGMEM func: true when `memory FUNC reference`. */
enum bf_sdma_func {
	BF_SDMA_ALWAYS = 0,
	BF_SDMA_LT = 1,
	BF_SDMA_LE = 2,
	BF_SDMA_EQ = 3,
	BF_SDMA_NE = 4,
	BF_SDMA_GE = 5,
	BF_SDMA_GT = 6,
};

/*
 * ATOMIC operations are the cache's (Mesa and Linux headers: TC_OP_ATOMIC_*, GL2_OP_ATOMIC_*): the number below is the
 * 32-bit form with return; a 64-bit form adds BF_SDMA_ATOMIC_64, a form without return BF_SDMA_ATOMIC_NO_RETURN. ROCr's
 * signal decrement is ADD | 64 = 47.
 */
enum bf_sdma_atomic {
	BF_SDMA_ATOMIC_SWAP = 7,
	BF_SDMA_ATOMIC_CMPSWAP = 8,
	BF_SDMA_ATOMIC_ADD = 15,
	BF_SDMA_ATOMIC_SUB = 16,
	BF_SDMA_ATOMIC_SMIN = 17,
	BF_SDMA_ATOMIC_UMIN = 18,
	BF_SDMA_ATOMIC_SMAX = 19,
	BF_SDMA_ATOMIC_UMAX = 20,
	BF_SDMA_ATOMIC_AND = 21,
	BF_SDMA_ATOMIC_OR = 22,
	BF_SDMA_ATOMIC_XOR = 23,
	BF_SDMA_ATOMIC_INC = 24, /* memory >= source ? 0 : memory + 1 */
	BF_SDMA_ATOMIC_DEC = 25, /* memory == 0 or memory > source ? source : memory - 1 */
	BF_SDMA_ATOMIC_64 = 32,
	BF_SDMA_ATOMIC_NO_RETURN = 64,
	BF_SDMA_ATOMIC_ADD64 = 47,
};

/* Why a queue stopped. */
enum bf_sdma_reason {
	BF_SDMA_RUNS,
	BF_SDMA_BAD_OPCODE,     /* no such packet on this generation */
	BF_SDMA_RESERVED,       /* a reserved value in a field that decides (element 5..7) */
	BF_SDMA_MISALIGNED,     /* an address whose low bits must be zero */
	BF_SDMA_TRUNCATED,      /* the packet needs more dwords than were published */
	BF_SDMA_STRADDLES,      /* the packet crosses the end of the ring */
	BF_SDMA_MEMORY,         /* translation failed */
	BF_SDMA_PRIVILEGED,     /* not for user queues */
	BF_SDMA_DOORBELL_BACK,  /* the doorbell went back, or past a whole ring */
	BF_SDMA_OUT_OF_SURFACE, /* strict: a rect that leaves its rows or slices */
	BF_SDMA_OVERLAP,        /* strict: source and destination overlap */
	BF_SDMA_INDIRECT_BAD,   /* an indirect buffer's address, size or nesting */
	BF_SDMA_UNMODELLED,     /* the packet exists, and this model does not execute it (tiled surfaces) */
};

/* Dword 0 of every packet. */
#define BF_SDMA_HDR_OP BF_MASK(7, 0)
#define BF_SDMA_HDR_SUB_OP BF_MASK(15, 8)

/* NOP: 1 + count dwords. */
#define BF_SDMA_NOP_DWORDS 1u
#define BF_SDMA_NOP_COUNT BF_MASK(29, 16) /* dword 0: payload dwords to skip */

/*
 * COPY linear: 0 header, 1 count, 2 parameters, 3-4 source, 5-6 destination. With broadcast, 7-8 are the second
 * destination. On v7 a header with CPV has an eighth dword (DCC control, 0 = off): Linux sdma_v7_0.c.
 */
#define BF_SDMA_COPY_LINEAR_DWORDS 7u
#define BF_SDMA_COPY_LINEAR_DCC_DWORDS 8u
#define BF_SDMA_COPY_BROADCAST_DWORDS 9u
#define BF_SDMA_COPY_ENCRYPT BF_MASK(16, 16)           /* dword 0 */
#define BF_SDMA_COPY_TMZ BF_MASK(18, 18)               /* dword 0 */
#define BF_SDMA_COPY_CPV BF_MASK(19, 19)               /* dword 0, v6 and later */
#define BF_SDMA_COPY_BACKWARDS BF_MASK(25, 25)         /* dword 0, v5 and later: from the last byte to the first */
#define BF_SDMA_COPY_BROADCAST BF_MASK(27, 27)         /* dword 0 */
#define BF_SDMA_COPY_NPD BF_MASK(28, 28)               /* dword 0, v7.1 */
#define BF_SDMA_COPY_COUNT BF_MASK(21, 0)              /* dword 1, v4 and v5: bytes minus one */
#define BF_SDMA_COPY_COUNT_WIDE BF_MASK(29, 0)         /* dword 1, gfx90a, gfx10.3 and v6 on: bytes minus one */
#define BF_SDMA_COPY_DST2_SW BF_MASK(9, 8)             /* dword 2, broadcast */
#define BF_SDMA_COPY_DST2_CACHE_POLICY BF_MASK(12, 10) /* dword 2, broadcast, v6 and later */
#define BF_SDMA_COPY_DST_SW BF_MASK(17, 16)            /* dword 2 */
#define BF_SDMA_COPY_DST_CACHE_POLICY BF_MASK(20, 18)  /* dword 2, v6 and v7 */
#define BF_SDMA_COPY_SRC_SW BF_MASK(25, 24)            /* dword 2 */
#define BF_SDMA_COPY_SRC_CACHE_POLICY BF_MASK(28, 26)  /* dword 2, v6 and v7 */
#define BF_SDMA_COPY_DST_SCOPE BF_MASK(19, 18)         /* dword 2, v7.1 */
#define BF_SDMA_COPY_DST_TEMPORAL_HINT BF_MASK(22, 20) /* dword 2, v7.1 */
#define BF_SDMA_COPY_SRC_SCOPE BF_MASK(27, 26)         /* dword 2, v7.1 */
#define BF_SDMA_COPY_SRC_TEMPORAL_HINT BF_MASK(30, 28) /* dword 2, v7.1 */

/*
 * COPY linear sub-window: 0 header, 1-2 source, 3 x and y, 4 z and pitch, 5 slice, 6-7 destination, 8-10 the same as
 * 3-5, 11 extent x and y, 12 extent z. x, pitch, slice and extent x are in elements, y in rows, z in slices; pitch,
 * slice and extents are stored minus one. The NARROW layout has two widths for z; ROCr's gfx12 layout is WIDE.
 */
#define BF_SDMA_RECT_DWORDS 13u
#define BF_SDMA_RECT_TMZ BF_MASK(18, 18)                   /* dword 0 */
#define BF_SDMA_RECT_CPV BF_MASK(19, 19)                   /* dword 0, v6 and later */
#define BF_SDMA_RECT_NPD BF_MASK(28, 28)                   /* dword 0, wide */
#define BF_SDMA_RECT_ELEMENT BF_MASK(31, 29)               /* dword 0: log2 of the bytes, 0..4 */
#define BF_SDMA_RECT_X BF_MASK(13, 0)                      /* dwords 3, 8; extent minus one: 11 */
#define BF_SDMA_RECT_Y BF_MASK(29, 16)                     /* dwords 3, 8; extent minus one: 11 */
#define BF_SDMA_RECT_Z_V4 BF_MASK(10, 0)                   /* dwords 4, 9; extent minus one: 12 */
#define BF_SDMA_RECT_Z BF_MASK(12, 0)                      /* v5 and later: dwords 4, 9; extent minus one: 12 */
#define BF_SDMA_RECT_PITCH BF_MASK(31, 13)                 /* dwords 4, 9: minus one */
#define BF_SDMA_RECT_SLICE BF_MASK(27, 0)                  /* dwords 5, 10: minus one */
#define BF_SDMA_RECT_DST_SW BF_MASK(17, 16)                /* dword 12 */
#define BF_SDMA_RECT_DST_CACHE_POLICY BF_MASK(20, 18)      /* dword 12, v6 and later */
#define BF_SDMA_RECT_SRC_SW BF_MASK(25, 24)                /* dword 12 */
#define BF_SDMA_RECT_SRC_CACHE_POLICY BF_MASK(28, 26)      /* dword 12, v6 and later */
#define BF_SDMA_RECT_WIDE_X BF_MASK(15, 0)                 /* as RECT_X */
#define BF_SDMA_RECT_WIDE_Y BF_MASK(31, 16)                /* as RECT_Y */
#define BF_SDMA_RECT_WIDE_Z BF_MASK(13, 0)                 /* as RECT_Z */
#define BF_SDMA_RECT_WIDE_PITCH BF_MASK(31, 16)            /* as RECT_PITCH */
#define BF_SDMA_RECT_WIDE_SLICE BF_MASK(31, 0)             /* as RECT_SLICE */
#define BF_SDMA_RECT_WIDE_DST_CACHE_POLICY BF_MASK(22, 20) /* dword 12, gfx12; gfx1250: temporal hint */
#define BF_SDMA_RECT_WIDE_SRC_CACHE_POLICY BF_MASK(30, 28) /* dword 12, gfx12; gfx1250: temporal hint */
#define BF_SDMA_RECT_WIDE_DST_SCOPE BF_MASK(19, 18)        /* dword 12, gfx1250 */
#define BF_SDMA_RECT_WIDE_SRC_SCOPE BF_MASK(27, 26)        /* dword 12, gfx1250 */

/*
 * COPY linear sub-window LARGE, v6 and later: 0 header, 1-2 source, 3-5 source x y z, 6 source pitch, 7 and 8[15:0]
 * source slice, 9-10 destination, 11-13 destination x y z, 14 destination pitch, 15 and 16[15:0] destination slice,
 * 17-19 extent x y z. Stored minus one: pitches, slices and extents. The header lists no element size: bytes.
 */
#define BF_SDMA_RECT_LARGE_DWORDS 20u
#define BF_SDMA_RECT_LARGE_SLICE_HI BF_MASK(15, 0)          /* dwords 8, 16 */
#define BF_SDMA_RECT_LARGE_DST_SW BF_MASK(17, 16)           /* dword 16 */
#define BF_SDMA_RECT_LARGE_DST_CACHE_POLICY BF_MASK(20, 18) /* dword 16 */
#define BF_SDMA_RECT_LARGE_SRC_SW BF_MASK(25, 24)           /* dword 16 */
#define BF_SDMA_RECT_LARGE_SRC_CACHE_POLICY BF_MASK(28, 26) /* dword 16 */

/* WRITE linear: 0 header, 1-2 destination, 3 count, 4.. data. */
#define BF_SDMA_WRITE_DWORDS 4u                    /* before the data */
#define BF_SDMA_WRITE_ENCRYPT BF_MASK(16, 16)      /* dword 0 */
#define BF_SDMA_WRITE_TMZ BF_MASK(18, 18)          /* dword 0 */
#define BF_SDMA_WRITE_CPV BF_MASK(28, 28)          /* dword 0, v6 and later */
#define BF_SDMA_WRITE_COUNT BF_MASK(19, 0)         /* dword 3: dwords minus one */
#define BF_SDMA_WRITE_SW BF_MASK(25, 24)           /* dword 3 */
#define BF_SDMA_WRITE_CACHE_POLICY BF_MASK(28, 26) /* dword 3, v6 and later */

/* INDIRECT: 0 header, 1-2 base (32-byte aligned), 3 size, 4-5 context save area. Ends on a multiple of 8 dwords. */
#define BF_SDMA_INDIRECT_DWORDS 6u
#define BF_SDMA_INDIRECT_VMID BF_MASK(19, 16) /* dword 0 */
#define BF_SDMA_INDIRECT_PRIV BF_MASK(31, 31) /* dword 0, v5 and later */
#define BF_SDMA_INDIRECT_SIZE BF_MASK(19, 0)  /* dword 3: dwords */

/* FENCE: 0 header, 1-2 address (4-byte aligned), 3 data. 64-bit form (v7.1): 8-byte aligned, 3-4 data. */
#define BF_SDMA_FENCE_DWORDS 4u
#define BF_SDMA_FENCE64_DWORDS 5u
#define BF_SDMA_FENCE_MTYPE BF_MASK(18, 16)         /* dword 0, v5 and later; ROCr: 3, uncached */
#define BF_SDMA_FENCE_GCC BF_MASK(19, 19)           /* dword 0, v5 and v6 */
#define BF_SDMA_FENCE_SYS BF_MASK(20, 20)           /* dword 0, v5 and later */
#define BF_SDMA_FENCE_SNP BF_MASK(22, 22)           /* dword 0, v5 and later */
#define BF_SDMA_FENCE_GPA BF_MASK(23, 23)           /* dword 0, v5 and later */
#define BF_SDMA_FENCE_L2_POLICY BF_MASK(25, 24)     /* dword 0, v5 and v6; scope from v7 */
#define BF_SDMA_FENCE_SCOPE BF_MASK(25, 24)         /* dword 0, v7 and later */
#define BF_SDMA_FENCE_LLC_POLICY BF_MASK(26, 26)    /* dword 0, v6 */
#define BF_SDMA_FENCE_CPV BF_MASK(28, 28)           /* dword 0, v6 */
#define BF_SDMA_FENCE_TEMPORAL_HINT BF_MASK(28, 26) /* dword 0, v7 and later */

/* TRAP: 0 header, 1 event. */
#define BF_SDMA_TRAP_DWORDS 2u
#define BF_SDMA_TRAP_CONTEXT BF_MASK(27, 0) /* dword 1 */

/*
 * POLL_REGMEM: 0 header, 1-2 address, 3 reference, 4 mask, 5 interval and retries. The 64-bit form (v7.1): 3-4
 * reference, 5-6 mask, 7 retries. ROCr's HDP flush is the six dwords 8, 0, BF_SDMA_HDP_FLUSH_DW2, 0, 0, 0.
 */
#define BF_SDMA_POLL_DWORDS 6u
#define BF_SDMA_POLL64_DWORDS 8u
#define BF_SDMA_POLL_CACHE_POLICY BF_MASK(22, 20)   /* dword 0, v6 and later */
#define BF_SDMA_POLL_CPV BF_MASK(24, 24)            /* dword 0, v6 and later */
#define BF_SDMA_POLL_HDP_FLUSH BF_MASK(26, 26)      /* dword 0: a register handshake of the kernel's */
#define BF_SDMA_POLL_FUNC BF_MASK(30, 28)           /* dword 0 */
#define BF_SDMA_POLL_MEM BF_MASK(31, 31)            /* dword 0: memory, not a register */
#define BF_SDMA_POLL_INTERVAL BF_MASK(15, 0)        /* dword 5 */
#define BF_SDMA_POLL_RETRIES BF_MASK(27, 16)        /* dword 5 */
#define BF_SDMA_POLL_SCOPE BF_MASK(29, 28)          /* dword 5, v7.1 */
#define BF_SDMA_POLL_FOREVER 0xfffu                 /* in RETRIES */
#define BF_SDMA_POLL64_MTYPE BF_MASK(17, 16)        /* dword 0 */
#define BF_SDMA_POLL64_SYS BF_MASK(20, 20)          /* dword 0 */
#define BF_SDMA_POLL64_SNP BF_MASK(22, 22)          /* dword 0 */
#define BF_SDMA_POLL64_GPA BF_MASK(23, 23)          /* dword 0 */
#define BF_SDMA_POLL64_CACHE_POLICY BF_MASK(26, 24) /* dword 0 */
#define BF_SDMA_POLL64_RETRIES BF_MASK(23, 16)      /* dword 7; ROCr: 0 */
#define BF_SDMA_POLL64_SCOPE BF_MASK(29, 28)        /* dword 7 */
#define BF_SDMA_HDP_FLUSH_DW2 0x80000000u

/* COND_EXE: 0 header, 1-2 address, 3 reference, 4 dwords to skip when memory is not the reference. */
#define BF_SDMA_COND_EXE_DWORDS 5u
#define BF_SDMA_COND_EXE_CACHE_POLICY BF_MASK(26, 24) /* dword 0, v6 and later */
#define BF_SDMA_COND_EXE_CPV BF_MASK(28, 28)          /* dword 0, v6 and later */
#define BF_SDMA_COND_EXE_COUNT BF_MASK(13, 0)         /* dword 4 */

/* ATOMIC: 0 header, 1-2 address, 3-4 source, 5-6 compare, 7 loop interval. */
#define BF_SDMA_ATOMIC_DWORDS 8u
#define BF_SDMA_ATOMIC_LOOP BF_MASK(16, 16)          /* dword 0: again until the compare holds */
#define BF_SDMA_ATOMIC_TMZ BF_MASK(18, 18)           /* dword 0 */
#define BF_SDMA_ATOMIC_CACHE_POLICY BF_MASK(22, 20)  /* dword 0, v6 */
#define BF_SDMA_ATOMIC_CPV BF_MASK(24, 24)           /* dword 0, v6 */
#define BF_SDMA_ATOMIC_SCOPE BF_MASK(21, 20)         /* dword 0, v7 and later */
#define BF_SDMA_ATOMIC_TEMPORAL_HINT BF_MASK(24, 22) /* dword 0, v7 and later */
#define BF_SDMA_ATOMIC_OPERATION BF_MASK(31, 25)     /* dword 0: enum bf_sdma_atomic */
#define BF_SDMA_ATOMIC_INTERVAL BF_MASK(12, 0)       /* dword 7 */

/*
 * CONST_FILL: 0 header, 1-2 destination, 3 data, 4 count. Bytes minus one whatever the fill size; with dwords the two
 * low bits of the count are ignored, which makes ROCr's (dwords - 1) * 4 right, too.
 */
#define BF_SDMA_FILL_DWORDS 5u
#define BF_SDMA_FILL_SW BF_MASK(17, 16)            /* dword 0 */
#define BF_SDMA_FILL_CACHE_POLICY BF_MASK(26, 24)  /* dword 0, v6 and v7 */
#define BF_SDMA_FILL_CPV BF_MASK(28, 28)           /* dword 0, v6 and v7 */
#define BF_SDMA_FILL_SIZE BF_MASK(31, 30)          /* dword 0: 0 byte, 1 half, 2 dword */
#define BF_SDMA_FILL_MTYPE BF_MASK(17, 16)         /* dword 0, v7.1 */
#define BF_SDMA_FILL_SYS BF_MASK(20, 20)           /* dword 0, v7.1 */
#define BF_SDMA_FILL_SNP BF_MASK(22, 22)           /* dword 0, v7.1 */
#define BF_SDMA_FILL_GPA BF_MASK(23, 23)           /* dword 0, v7.1 */
#define BF_SDMA_FILL_SCOPE BF_MASK(25, 24)         /* dword 0, v7.1 */
#define BF_SDMA_FILL_TEMPORAL_HINT BF_MASK(28, 26) /* dword 0, v7.1 */
#define BF_SDMA_FILL_NPD BF_MASK(29, 29)           /* dword 0, v7.1 */
#define BF_SDMA_FILL_COUNT BF_MASK(21, 0)          /* dword 4, v4 and v5: bytes minus one */
#define BF_SDMA_FILL_COUNT_WIDE BF_MASK(29, 0)     /* dword 4, v6 and later: bytes minus one */
#define BF_SDMA_FILL_BYTES 0u
#define BF_SDMA_FILL_HALVES 1u
#define BF_SDMA_FILL_WORDS 2u

/* TIMESTAMP: 0 header, 1-2 value to set, or address (8-byte aligned; 32 by convention) to write the time to. */
#define BF_SDMA_TIMESTAMP_DWORDS 3u
#define BF_SDMA_TIMESTAMP_L2_POLICY BF_MASK(25, 24)     /* dword 0, v6 */
#define BF_SDMA_TIMESTAMP_LLC_POLICY BF_MASK(26, 26)    /* dword 0, v6 */
#define BF_SDMA_TIMESTAMP_CPV BF_MASK(28, 28)           /* dword 0, v6 */
#define BF_SDMA_TIMESTAMP_SCOPE BF_MASK(25, 24)         /* dword 0, v7 and later */
#define BF_SDMA_TIMESTAMP_TEMPORAL_HINT BF_MASK(28, 26) /* dword 0, v7 and later */

/* SRBM_WRITE: 0 header, 1 register, 2 data. Not for user queues. */
#define BF_SDMA_SRBM_WRITE_DWORDS 3u
#define BF_SDMA_SRBM_BYTE_ENABLE BF_MASK(31, 28) /* dword 0 */

/* GCR_REQ, v5 and later: 5 dwords, 6 on v7.1. Base and limit 0: the whole address space. */
#define BF_SDMA_GCR_DWORDS 5u
#define BF_SDMA_GCR_DWORDS_V7_1 6u
#define BF_SDMA_GCR_BASE_LO BF_MASK(31, 7)        /* dword 1: address bits 31:7 */
#define BF_SDMA_GCR_BASE_HI BF_MASK(15, 0)        /* dword 2: address bits 47:32 */
#define BF_SDMA_GCR_CONTROL_LO BF_MASK(31, 16)    /* dword 2: control bits 15:0 */
#define BF_SDMA_GCR_CONTROL_HI BF_MASK(2, 0)      /* dword 3: control bits 18:16 */
#define BF_SDMA_GCR_LIMIT_LO BF_MASK(31, 7)       /* dword 3: address bits 31:7 */
#define BF_SDMA_GCR_LIMIT_HI BF_MASK(15, 0)       /* dword 4: address bits 47:32 */
#define BF_SDMA_GCR_VMID BF_MASK(27, 24)          /* dword 4 */
#define BF_SDMA_GCR_V7_1_BASE_HI BF_MASK(24, 0)   /* dword 2: address bits 56:32 */
#define BF_SDMA_GCR_V7_1_CONTROL BF_MASK(18, 0)   /* dword 3 */
#define BF_SDMA_GCR_V7_1_LIMIT_LO BF_MASK(31, 23) /* dword 3: address bits 15:7 */
#define BF_SDMA_GCR_V7_1_LIMIT_MID BF_MASK(31, 0) /* dword 4: address bits 47:16 */
#define BF_SDMA_GCR_V7_1_LIMIT_HI BF_MASK(8, 0)   /* dword 5: address bits 56:48 */
#define BF_SDMA_GCR_V7_1_VMID BF_MASK(29, 26)     /* dword 5 */
/* Whole dword 2 of ROCr's requests: invalidate before a copy, write back after it. */
#define BF_SDMA_GCR_DW2_INVALIDATE 0xc3c00000u
#define BF_SDMA_GCR_DW2_WRITEBACK 0x80400000u

#endif
