/*
 * SDMA user queues, the driver's side: what a part can do, and the state that producers of a queue share.
 *
 * Protocol and packets after ROCm/ROCR-Runtime src/core/runtime/amd_blit_sdma.cpp (class BlitSdma) and, where it
 * differs, the tests of libhsakmt (KFDTest, SDMAQueue.cpp). A submission travels through these files:
 *   memcpy3d.h   hipMemcpy3D: which copies, and who does them
 *   copy.h       linear copies, fills, broadcasts cut to what a packet can say
 *   rect.h       a rectangle cut into tiles
 *   build.h      the packets
 *   submit.h     one submission: waits, body, timestamps, completion
 *   ring.h       room in the ring, write pointer, doorbell
 * C and CUDA/HIP clean.
 */
#ifndef BELFRY_DRIVERS_SDMA_SDMA_H
#define BELFRY_DRIVERS_SDMA_SDMA_H

#include <stdint.h>

#include "models/sdma/prm.h"

/* What one generation's packets hold and what ROCr does for it. A copy may be changed before it is used. */
struct bf_sdma_drv_caps {
	const char *name; /* "v4", "gfx908" */
	enum bf_sdma_gen gen;
	/* Sub-window packets: bits of the fields as ROCr uses them (sdma_registers.h). */
	uint8_t pitch_bits, slice_bits, xy_bits, z_bits;
	uint8_t wide_rect;   /* the gfx12 layout */
	uint8_t gcr;         /* cache control packets around the body */
	uint8_t hdp_flush;   /* flush the host data path before the body */
	uint8_t uncached;    /* FENCE carries MTYPE UC */
	uint8_t polls;       /* how often each POLL_REGMEM is repeated: 2 on gfx908, where one may return early */
	uint8_t atomics;     /* completion by ATOMIC; 0: by FENCE (no 64-bit PCIe atomics) */
	uint16_t min_dwords; /* a submission has at least as many (64 on gfx9.0.0 to 9.0.4 and 9.0.12); 0: any */
	uint32_t copy_max;   /* bytes of one linear copy */
	uint32_t fill_max;   /* bytes of one fill, a multiple of 4 */
};

/* The generations in order ("v4", "v5", "v6", "v7", "v7.1"), then parts by name ("gfx908"); NULL past the last. */
const struct bf_sdma_drv_caps *bf_sdma_drv_caps_at(uint32_t i);
/* The generation with number `gen`; NULL when there is none. */
const struct bf_sdma_drv_caps *bf_sdma_drv_caps_of(enum bf_sdma_gen gen);

/*
 * Wrong on purpose, for tests and teaching: each bit removes or swaps one step. Never set by default.
 */
#define BF_SDMA_DRV_BUG_DOORBELL_FIRST (1ull << 0)  /* doorbell rung before the packets are stored */
#define BF_SDMA_DRV_BUG_NO_FENCE (1ull << 1)        /* no release fence before the doorbell */
#define BF_SDMA_DRV_BUG_NO_FULL_CHECK (1ull << 2)   /* reservation does not look at the read pointer */
#define BF_SDMA_DRV_BUG_COMMIT_ORDER (1ull << 3)    /* publishes without waiting for earlier reservations */
#define BF_SDMA_DRV_BUG_STRADDLE (1ull << 4)        /* packets run over the end of the ring */
#define BF_SDMA_DRV_BUG_NO_NOPS (1ull << 5)         /* the rest of the ring is skipped, not filled with NOPs */
#define BF_SDMA_DRV_BUG_WRAP_INDEX (1ull << 6)      /* a queue with growing indices gets the offset in the ring */
#define BF_SDMA_DRV_BUG_COPY_COUNT (1ull << 7)      /* a copy's count field holds the bytes, not one less */
#define BF_SDMA_DRV_BUG_FILL_COUNT (1ull << 8)      /* a fill's count field holds dwords, not bytes */
#define BF_SDMA_DRV_BUG_RECT_PITCH (1ull << 9)      /* pitches are stored as they are, not minus one */
#define BF_SDMA_DRV_BUG_RECT_BYTES (1ull << 10)     /* a rect's width is stored in bytes, not elements */
#define BF_SDMA_DRV_BUG_NO_COPY_ORDER (1ull << 11)  /* nothing between a copy and the one that reads its result */
#define BF_SDMA_DRV_BUG_SIGNAL_FIRST (1ull << 12)   /* completion is signalled before the body */
#define BF_SDMA_DRV_BUG_SIGNAL_WRITE (1ull << 13)   /* completion by WRITE, which may overtake a copy */
#define BF_SDMA_DRV_BUG_POLL_LOW_FIRST (1ull << 14) /* a 64-bit dependency is polled low half first */
/* As bugs.c says of each. */
#define BF_SDMA_DRV_BUG_WPTR_LATE (1ull << 15)
#define BF_SDMA_DRV_BUG_DWORD_INDEX (1ull << 16)
#define BF_SDMA_DRV_BUG_BELL_WIDTH (1ull << 17)
#define BF_SDMA_DRV_BUG_GROW_INDEX (1ull << 18)
#define BF_SDMA_DRV_BUG_INDEX_16 (1ull << 19)
#define BF_SDMA_DRV_BUG_NO_DOORBELL (1ull << 20)
#define BF_SDMA_DRV_BUG_SHORT_INDEX (1ull << 21)
#define BF_SDMA_DRV_BUG_RPTR_DONE (1ull << 22)
#define BF_SDMA_DRV_BUG_FULL_RING (1ull << 23)
#define BF_SDMA_DRV_BUG_NOP_COUNT (1ull << 24)
#define BF_SDMA_DRV_BUG_WRITE_COUNT (1ull << 25)
#define BF_SDMA_DRV_BUG_COUNT_LIMIT (1ull << 26)
#define BF_SDMA_DRV_BUG_COPY_TAIL (1ull << 27)
#define BF_SDMA_DRV_BUG_FILL_OVER (1ull << 28)
#define BF_SDMA_DRV_BUG_SHARED_FENCE (1ull << 29)
#define BF_SDMA_DRV_BUG_TIME_ALIGN (1ull << 30)
#define BF_SDMA_DRV_BUG_POLL_VALUE (1ull << 31)
#define BF_SDMA_DRV_BUG_POLL_MASK (1ull << 32)
#define BF_SDMA_DRV_BUG_POLL_RETRIES (1ull << 33)
#define BF_SDMA_DRV_BUG_POLL_REGISTER (1ull << 34)
#define BF_SDMA_DRV_BUG_RECT_BASE (1ull << 35)
#define BF_SDMA_DRV_BUG_RECT_LIMIT (1ull << 36)
#define BF_SDMA_DRV_BUG_RECT_LAYOUT (1ull << 37)
#define BF_SDMA_DRV_BUG_OVERLAP (1ull << 38)
#define BF_SDMA_DRV_BUG_CAST_BIT (1ull << 39)
#define BF_SDMA_DRV_BUG_NO_INVALIDATE (1ull << 40)
#define BF_SDMA_DRV_BUG_NO_WRITEBACK (1ull << 41)
#define BF_SDMA_DRV_BUG_TRAP_FIRST (1ull << 42)
#define BF_SDMA_DRV_BUG_SIGNAL_ALIGN (1ull << 43)
#define BF_SDMA_DRV_BUG_SHORT_ADDRESS (1ull << 44)
#define BF_SDMA_DRV_BUG_FOREIGN_GCR (1ull << 45)
#define BF_SDMA_DRV_BUG_FENCE_MTYPE (1ull << 46)
#define BF_SDMA_DRV_BUG_ATOMIC_OP (1ull << 47)
#define BF_SDMA_DRV_BUG_NO_RESUME (1ull << 48)
#define BF_SDMA_DRV_BUG_LEAK (1ull << 49)
#define BF_SDMA_DRV_BUG_ZERO_EXTENT (1ull << 50)
#define BF_SDMA_DRV_BUG_WEAK_DATA (1ull << 51)
#define BF_SDMA_DRV_BUG_CPV_SHORT (1ull << 52)
#define BF_SDMA_DRV_BUG_NO_HDP_FLUSH (1ull << 53)
#define BF_SDMA_DRV_BUG_NO_GANG_POLL (1ull << 54)
#define BF_SDMA_DRV_BUG_POLL_ONCE (1ull << 55)
#define BF_SDMA_DRV_BUG_RESERVE_STORE (1ull << 56)
#define BF_SDMA_DRV_BUG_SIGNAL_STEP (1ull << 57)

/* Table of the bits above: option name and one line of what is wrong, for help texts. Ends with a NULL name. */
struct bf_sdma_drv_bug {
	uint64_t bit;
	const char *name; /* "no-fence" */
	const char *summary;
};
extern const struct bf_sdma_drv_bug bf_sdma_drv_bugs[];

/*
 * A queue as its producers share it; lives in memory of the PE, host code fills it in (host.h). `reserve` and `commit`
 * count bytes and grow for ever, whatever the queue's own indices do.
 */
struct bf_sdma_drv_writer {
	uint64_t reserve __attribute__((aligned(64)));
	uint64_t commit __attribute__((aligned(64)));
	/* Constant while producers run. */
	uint8_t *ring __attribute__((aligned(64)));
	uint64_t bytes;   /* of the ring, power of two */
	uint64_t *rptr;   /* the engine's read pointer */
	uint64_t rptr_va; /* the same, for records */
	uint64_t *wptr;   /* ours */
	void *doorbell;
	uint64_t bugs; /* BF_SDMA_BUG_* */
	uint32_t id;
	uint8_t wrapped;   /* indices of 32 bits that stay below `bytes` (before gfx9) */
	uint8_t exact_fit; /* a request may end exactly at the ring's end, as in KFDTest; ROCr pads there, too */
	uint8_t wait_idle; /* HSA_SDMA_WAIT_IDLE: the engine has caught up before each doorbell */
	struct bf_sdma_drv_caps caps;
};

#endif
