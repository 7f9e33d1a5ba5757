#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f =
	    bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_SHADOW) ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(f,
			       "tail %" PRIu64 " of SQ %" PRIu64
			       " is in the shadow doorbell; the register was not written, "
			       "and the controller still has tail %" PRIu32,
			       e->nvm_timeout.sq_rung, e->nvm_timeout.qid, q->ntails ? q->tails[0] : 0);
}

const struct bf_rule bf_rule_nvme_shadow_missed = {
	.about = {
		.id = "NVME-SHADOW-MISSED",
		.family = "nvme",
		.title = "a doorbell went to memory, and the controller does not look there",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "With shadow doorbells the controller sleeps until the register is written, after it has "
			    "stored EventIdx. The register is due when EventIdx lies in [old, new), modulo 2^16.",
		.wrong = "The host left the register alone: it compared without regard to wrapping, read EventIdx "
			 "before its own store was visible, or found in EventIdx what was there before a reset.",
		.fix = "Clear both buffers before Doorbell Buffer Config. Store the shadow doorbell, full fence, read "
		       "EventIdx, ring when (u16)(new - event - 1) < (u16)(new - old).",
		.sources = "NVM Express Base 2.0, Doorbell Buffer Config and annex on shadow doorbells; "
			   "Linux drivers/nvme/host/pci.c, "
			   "nvme_dbbuf_need_event(); microsoft/openvmm PR#4011",
		.example = "run nvme-verify --commands 60 --depth 8 --size 512 --dbbuf --timeout 10ms --bug "
			   "shadow-compare",
		.twin = "run nvme-verify --commands 60 --depth 8 --size 512 --dbbuf --timeout 10ms",
	},
	.rank = BF_RANK_STUCK - 1,
	.records = BF_SEES(nvm_timeout),
	.needs = BF_SEES(nvm_build, nvme_doorbell),
	.on = on,
};
