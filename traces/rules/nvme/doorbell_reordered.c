#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f;
	uint32_t i = 1;

	if (e->nvme_driver_error.wrong != BF_NVME_WRONG_TAIL_OVERRUN)
		return;
	/* The doorbell that is too old was on its way when the newest one of these was accepted. */
	while (i < q->ntails && q->tails[i] != e->nvme_driver_error.value)
		i++;
	f = i < q->ntails ? bf_rule_find(r, e, e->queue) : NULL;
	if (f)
		bf_finding_say(f,
			       "tail %" PRIu64 " of SQ %" PRIu64 " arrived after tail %" PRIu32
			       ", which had been announced after it",
			       e->nvme_driver_error.value, e->nvme_driver_error.qid, q->tails[0]);
}

const struct bf_rule bf_rule_nvme_doorbell_reordered = {
	.about = {
		.id = "NVME-DOORBELL-REORDERED",
		.family = "nvme",
		.title = "an older tail came after a newer one",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The controller takes the last value that arrives for the tail. Doorbells are posted writes; if " "a GPU or a write-combining mapping reorders them, nothing restores the order.",
		.wrong = "The tail went back: a controller that accepts it treats the ring as nearly full and fetches a " "whole lap of old entries; one that does not ignores the doorbell.",
		.fix = "Map doorbells uncached, one thread rings at a time, and each doorbell is drained (s_waitcnt "
		       "vmcnt and vscnt, __threadfence_system()) before the next one.",
		.sources = "NVM Express Base 2.0, Queue Model; ROCm/rocm-xio PR#114",
		.example = "run nvme-verify --commands 8 --size 512 --bug doorbell-reorder",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_INDEX - 1,
	.records = BF_SEES(nvme_driver_error),
	.on = on,
};
