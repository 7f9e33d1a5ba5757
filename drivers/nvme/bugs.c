#include "drivers/nvme/nvme.h"

#include <stddef.h>

const struct bf_nvm_bug bf_nvm_bugs[] = {
	{ BF_NVM_BUG_AQA_SWAPPED, "aqa-swapped", "sizes of the admin queues exchanged in AQA" },
	{ BF_NVM_BUG_OPCODE_MASK, "opcode-mask", "opcodes lose bit 7: Format NVM becomes Delete I/O SQ" },
	{ BF_NVM_BUG_STALE_FIELDS, "stale-cdw12", "fields that a command does not use keep what the slot held before" },
	{ BF_NVM_BUG_PRP_NO_CHAIN, "prp-no-chain", "a PRP list runs on past its page instead of chaining" },
	{ BF_NVM_BUG_PRP_LIST_OFFSET, "prp-list-offset", "PRP2 names the list's page, not where the list begins" },
	{ BF_NVM_BUG_NUMD, "numd-off-by-one", "Get Log Page asks for one dword more than the buffer holds" },
	{ BF_NVM_BUG_PHASE_INVERTED, "phase-inverted", "the poller takes old completions for new ones" },
	{ BF_NVM_BUG_SQ_BY_COUNT, "sq-update-by-count", "slots are freed by counting completions, not by SQHD" },
	{ BF_NVM_BUG_NO_FENCE, "no-fence-before-doorbell", "no order between an entry and its doorbell" },
	{ BF_NVM_BUG_CQ_NOT_RUNG, "cq-head-never-rung", "the controller never learns of consumed completions" },
	{ BF_NVM_BUG_LOST_BATCH, "doorbell-per-n", "only whole batches are announced; the rest never is" },
	{ BF_NVM_BUG_CID_BY_TAIL, "cid-by-tail", "the slot's number is the command's: reused while in flight" },
	{ BF_NVM_BUG_PLAIN_POLL, "plain-load-poll", "completions are polled with loads that caches may serve" },
	{ BF_NVM_BUG_NO_INVALIDATE, "no-invalidate", "the GPU is never told to look at what DMA wrote" },
	{ BF_NVM_BUG_FLUSH_TYPE, "wrong-flush-type", "it is told so with a flush that is not heavyweight" },
	{ BF_NVM_BUG_CACHED_SQ, "cached-sq", "submission queues in VRAM lie behind the L2" },
	{ BF_NVM_BUG_MOVED_BUFFER, "moved-buffer", "data goes to where the buffer was before it moved" },
	{ BF_NVM_BUG_NO_FULL_CHECK, "no-full-check", "entries are laid over such that were not fetched" },
	{ BF_NVM_BUG_IGNORE_STATUS, "ignore-status", "error completions are taken for good ones" },
	{ BF_NVM_BUG_UNMAPPED, "unmapped-buffer", "PRPs name data by its offset, where nothing is mapped for DMA" },
	{ 0, NULL, NULL },
};
