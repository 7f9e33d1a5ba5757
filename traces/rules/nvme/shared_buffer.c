#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f = q->shared.set ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_since(f, q->shared.at_ps, q->shared.record);
	bf_finding_index(f, q->shared.slot);
	bf_nvme_rule_say_both(f, "command", q->shared.slot, e->queue, q->shared.other, q->shared.other_queue);
	bf_finding_say(f,
		       " were in flight together and both name 0x%" PRIx64
		       ": a buffer was used again before its command was complete",
		       q->shared.data);
}

const struct bf_rule bf_rule_nvme_shared_buffer = {
	.about = {
		.id = "NVME-BUFFER-SHARED",
		.family = "nvme",
		.title = "two commands in flight shared one buffer",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A controller moves data of a command whenever it likes until it completes, in pieces "
			    "and in any order.",
		.wrong = "A buffer was used again before its command was complete, so one read overwrites what "
			 "another delivered.",
		.fix = "Give a buffer back when its command's own completion has come, not when its slot is free.",
		.sources = "NVM Express Base 2.0, Command Submission and Completion",
		.example = "run nvme-verify --commands 8 --depth 4 --size 512 --bug buffer-shared",
		.twin = "run nvme-verify --commands 8 --depth 4 --size 512",
	},
	.rank = BF_RANK_STUCK + 4,
	.records = BF_SEES(nvm_mismatch),
	.on = on,
};
