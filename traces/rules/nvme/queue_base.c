#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	const uint64_t base = e->nvm_build.va - e->nvm_build.slot * BF_NVME_RULE_ENTRY;
	struct bf_finding *f;

	if (!q->sq_base || q->sq_base == base)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(
		    f, "SQ %" PRIu64 " begins at 0x%" PRIx64 " for the driver and at 0x%" PRIx64 " for the controller",
		    e->queue->number, base, q->sq_base);
}

const struct bf_rule bf_rule_nvme_queue_base = {
	.about = {
		.id = "NVME-QUEUE-BASE",
		.family = "nvme",
		.title = "the controller looks for a queue at another address",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The controller fetches from the address in ASQ or in PRP1 of the creating command. The "
			    "low twelve bits of ASQ and ACQ do not exist: they read as 0.",
		.wrong = "The driver stores entries at another address, so the controller executes what lies where it "
			 "looks.",
		.fix = "Allocate queues in whole pages and name their I/O address, not a virtual or an offset one.",
		.sources = "NVM Express Base 2.0, 3.1.3.9 and 3.1.3.10",
		.example = "run nvme-verify --commands 8 --size 512 --bug asq-misaligned",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 1,
	.records = BF_SEES(nvm_build),
	.needs = BF_SEES(nvm_build, nvme_queue),
	.on = on,
};
