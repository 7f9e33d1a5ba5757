#include "drivers/ibgda/ibgda.h"

#include <stddef.h>

const struct bf_ibgda_bug bf_ibgda_bugs[] = {
	{ BF_IBGDA_BUG_NO_WQE_FENCE, "no-wqe-fence", "no fence between an entry's bytes and its publication" },
	{ BF_IBGDA_BUG_NO_DBREC_FENCE, "no-dbrec-fence", "no order between the doorbell record and the doorbell" },
	{ BF_IBGDA_BUG_DOORBELL_FIRST, "doorbell-first", "the doorbell is rung before its record is stored" },
	{ BF_IBGDA_BUG_NO_OVERFLOW_WAIT, "no-overflow-wait", "the reservation does not wait for free slots" },
	{ BF_IBGDA_BUG_CTA_FENCE, "cta-fence", "fences reach only the block, not the GPU or the system" },
	{ BF_IBGDA_BUG_NO_READY_ORDER, "no-ready-order", "slots are published past earlier ones that are not filled" },
	{ BF_IBGDA_BUG_NO_LOCK, "no-lock", "doorbells are rung without the lock" },
	{ BF_IBGDA_BUG_LOST_BATCH, "lost-batch", "the last group of a batch is never rung" },
	{ BF_IBGDA_BUG_POLL_NO_MINUS2, "poll-no-minus2", "the poller's 16-bit window takes done for pending" },
	{ BF_IBGDA_BUG_DBREC_INDEX, "dbrec-index", "the doorbell record holds the last index, not the next" },
	{ BF_IBGDA_BUG_NO_CHUNK, "no-chunk", "transfers cross memory-key boundaries" },
	{ BF_IBGDA_BUG_IGNORE_ERROR, "ignore-error", "the poller takes error completions for good ones" },
	{ BF_IBGDA_BUG_WQE_AFTER_READY, "wqe-after-ready", "entries are written after they were published" },
	{ 0, NULL, NULL },
};
