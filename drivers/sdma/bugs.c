#include <stddef.h>

#include "drivers/sdma/sdma.h"

const struct bf_sdma_bug bf_sdma_bugs[] = {
	{ BF_SDMA_BUG_DOORBELL_FIRST, "doorbell-first", "the doorbell is rung before the packets are stored" },
	{ BF_SDMA_BUG_NO_FENCE, "no-fence", "no release fence between packets and doorbell" },
	{ BF_SDMA_BUG_NO_FULL_CHECK, "no-full-check", "the reservation does not wait for the read pointer" },
	{ BF_SDMA_BUG_COMMIT_ORDER, "commit-order", "a submission is published before earlier ones are filled" },
	{ BF_SDMA_BUG_STRADDLE, "straddle", "packets run over the end of the ring" },
	{ BF_SDMA_BUG_NO_NOPS, "no-nops", "the rest of the ring is skipped, not filled with NOPs" },
	{ BF_SDMA_BUG_WRAP_INDEX, "wrap-index", "growing indices are published as offsets in the ring" },
	{ BF_SDMA_BUG_COPY_COUNT, "copy-count", "a copy's count is the bytes, not the bytes minus one" },
	{ BF_SDMA_BUG_FILL_COUNT, "fill-count", "a fill's count is in dwords, not in bytes" },
	{ BF_SDMA_BUG_RECT_PITCH, "rect-pitch", "pitches of a rect are stored without subtracting one" },
	{ BF_SDMA_BUG_RECT_BYTES, "rect-bytes", "a rect's width is stored in bytes, not in elements" },
	{ BF_SDMA_BUG_NO_COPY_ORDER, "no-copy-order", "a copy follows the one it depends on with nothing between" },
	{ BF_SDMA_BUG_SIGNAL_FIRST, "signal-first", "completion is signalled before the body" },
	{ BF_SDMA_BUG_SIGNAL_WRITE, "signal-write", "completion is a WRITE, which may overtake a copy" },
	{ BF_SDMA_BUG_POLL_LOW_FIRST, "poll-low-first", "a 64-bit dependency is polled low half first" },
	{ 0, NULL, NULL },
};
