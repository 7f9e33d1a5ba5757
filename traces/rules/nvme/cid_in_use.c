#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->nvme_driver_error.wrong == BF_NVME_WRONG_CID ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(f,
			       "command identifier 0x%" PRIx64 " was used again on SQ %" PRIu64
			       " while a command with it was in flight: a free slot does "
			       "not mean a free identifier",
			       e->nvme_driver_error.value, e->nvme_driver_error.qid);
}

const struct bf_rule bf_rule_nvme_cid_in_use = {
	.about = {
		.id = "NVME-CID-IN-USE",
		.family = "nvme",
		.title = "a command identifier was used again while in flight",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Queue and identifier together name a command until it completes. Commands complete in "
			    "any order.",
		.wrong = "Two commands with one identifier are in flight: their completions cannot be told apart. A "
			 "slot may be free (SQHD has passed it) long before its command is done.",
		.fix = "Take identifiers from a list of free ones, not from the slot's number.",
		.sources = "NVM Express Base 2.0, 3.3.1 and 5.2; docs/hardware/nvme.md#queues-3; spdk/spdk#1795",
		.example = "run nvme-mixed --commands 300 --depth 8 --size 512 --bug cid-by-tail",
		.twin = "run nvme-mixed --commands 300 --depth 8 --size 512",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(nvme_driver_error),
	.on = on,
};
