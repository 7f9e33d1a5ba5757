#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f =
	    bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_DOORBELL) ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_say(f, "doorbell %" PRIu64 " of SQ %" PRIu64 " never reached the controller", e->nvm_timeout.sq_rung,
		       e->nvm_timeout.qid);
}

const struct bf_rule bf_rule_nvme_doorbell_lost = {
	.about = {
		.id = "NVME-DOORBELL-LOST",
		.family = "nvme",
		.title = "a doorbell never reached the controller",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A doorbell is a posted write: nobody acknowledges it.",
		.wrong = "The driver rang, and the controller never saw that tail.",
		.fix = "Flush write-combining before the doorbell; check the BAR mapping, and with shadow doorbells "
		       "when an MMIO write is due.",
		.sources = "NVM Express Base 2.0, Queue Model and Doorbell Buffer Config; xnvme/xnvme#770; "
			   "enfiskutensykkel/ssd-gpu-dma#32",
		.example = "run nvme-read --commands 8 --timeout 1ms --faults 'lost-doorbell skip=5 count=1'",
		.twin = "run nvme-read --commands 8 --timeout 1ms",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(nvm_timeout),
	.on = on,
};
