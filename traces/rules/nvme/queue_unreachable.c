#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const bool fatal = e->nvme_state.state == BF_NVME_FAILED &&
			   (e->nvme_state.reason == BF_NVME_FATAL_FETCH || e->nvme_state.reason == BF_NVME_FATAL_POST);
	struct bf_finding *f = fatal ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f, "the controller failed (CSTS.CFS) because it could not %s slot %" PRIu64,
			       e->nvme_state.reason == BF_NVME_FATAL_FETCH ? "fetch from a submission queue, at"
									   : "post to a completion queue, in",
			       e->nvme_state.value);
}

const struct bf_rule bf_rule_nvme_queue_unreachable = {
	.about = {
		.id = "NVME-QUEUE-UNREACHABLE",
		.family = "nvme",
		.title = "the controller cannot reach a queue",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Queues are read and written by DMA. When that fails a controller cannot report it by a "
			    "completion: it sets CSTS.CFS and stops.",
		.wrong = "The queue lies where nothing is mapped for the controller: a virtual address, an offset, "
			 "memory that was unmapped, or an IOMMU domain that the device is not in.",
		.fix = "Create queues with the I/O address that mapping their memory gave, and unmap it after "
		       "deleting them.",
		.sources = "NVM Express Base 2.0, Controller Fatal Status Condition; xnvme/xnvme#770",
		.example = "run nvme-verify --commands 8 --size 512 --bug unmapped-queue",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 2,
	.records = BF_SEES(nvme_state),
	.on = on,
};
