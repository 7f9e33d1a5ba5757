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
struct bf_sdma_caps {
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
const struct bf_sdma_caps *bf_sdma_caps_at(uint32_t i);
/* The generation with number `gen`; NULL when there is none. */
const struct bf_sdma_caps *bf_sdma_caps_of(enum bf_sdma_gen gen);

/*
 * Wrong on purpose, for tests and teaching: each bit removes or swaps one step. Never set by default.
 */
#define BF_SDMA_BUG_DOORBELL_FIRST (1u << 0)  /* doorbell rung before the packets are stored */
#define BF_SDMA_BUG_NO_FENCE (1u << 1)        /* no release fence before the doorbell */
#define BF_SDMA_BUG_NO_FULL_CHECK (1u << 2)   /* reservation does not look at the read pointer */
#define BF_SDMA_BUG_COMMIT_ORDER (1u << 3)    /* publishes without waiting for earlier reservations */
#define BF_SDMA_BUG_STRADDLE (1u << 4)        /* packets run over the end of the ring */
#define BF_SDMA_BUG_NO_NOPS (1u << 5)         /* the rest of the ring is skipped, not filled with NOPs */
#define BF_SDMA_BUG_WRAP_INDEX (1u << 6)      /* a queue with growing indices gets the offset in the ring */
#define BF_SDMA_BUG_COPY_COUNT (1u << 7)      /* a copy's count field holds the bytes, not one less */
#define BF_SDMA_BUG_FILL_COUNT (1u << 8)      /* a fill's count field holds dwords, not bytes */
#define BF_SDMA_BUG_RECT_PITCH (1u << 9)      /* pitches are stored as they are, not minus one */
#define BF_SDMA_BUG_RECT_BYTES (1u << 10)     /* a rect's width is stored in bytes, not elements */
#define BF_SDMA_BUG_NO_COPY_ORDER (1u << 11)  /* nothing between a copy and the one that reads its result */
#define BF_SDMA_BUG_SIGNAL_FIRST (1u << 12)   /* completion is signalled before the body */
#define BF_SDMA_BUG_SIGNAL_WRITE (1u << 13)   /* completion by WRITE, which may overtake a copy */
#define BF_SDMA_BUG_POLL_LOW_FIRST (1u << 14) /* a 64-bit dependency is polled low half first */

/* Table of the bits above: option name and one line of what is wrong, for help texts. Ends with a NULL name. */
struct bf_sdma_bug {
	uint32_t bit;
	const char *name; /* "no-fence" */
	const char *summary;
};
extern const struct bf_sdma_bug bf_sdma_bugs[];

/*
 * A queue as its producers share it; lives in memory of the PE, host code fills it in (host.h). `reserve` and `commit`
 * count bytes and grow for ever, whatever the queue's own indices do.
 */
struct bf_sdma_writer {
	uint64_t reserve __attribute__((aligned(64)));
	uint64_t commit __attribute__((aligned(64)));
	/* Constant while producers run. */
	uint8_t *ring __attribute__((aligned(64)));
	uint64_t bytes; /* of the ring, power of two */
	uint64_t *rptr; /* the engine's read pointer */
	uint64_t *wptr; /* ours */
	void *doorbell;
	uint32_t id;
	uint32_t bugs;     /* BF_SDMA_BUG_* */
	uint8_t wrapped;   /* indices of 32 bits that stay below `bytes` (before gfx9) */
	uint8_t exact_fit; /* a request may end exactly at the ring's end, as in KFDTest; ROCr pads there, too */
	uint8_t wait_idle; /* HSA_SDMA_WAIT_IDLE: the engine has caught up before each doorbell */
	struct bf_sdma_caps caps;
};

#endif
