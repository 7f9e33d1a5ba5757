#include <inttypes.h>

#include "traces/rules/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = e->nvme_driver_error.wrong == 1 ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(f,
			       "tail %" PRIu64 " on SQ %" PRIu64
			       " runs over entries that were not fetched: the driver did not look whether the ring was "
			       "full",
			       e->nvme_driver_error.value, e->nvme_driver_error.qid);
}

const struct bf_rule bf_rule_nvme_tail_overrun = {
	.about = {
		.id = "NVME-TAIL-OVERRUN",
		.family = "nvme",
		.title = "the tail was moved over entries that were not fetched",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A ring of n slots holds n - 1 entries, so that full and empty differ.",
		.wrong = "The new tail passes the head: the controller takes the ring for nearly empty and skips a "
			 "whole lap.",
		.fix = "Ring only for entries for which SQHD has made room.",
		.sources = "NVM Express Base 2.0, 3.3.1 and 5.2; reference nvme, section 14",
		.test = "tests/traces/test_rules_nvme.c",
	},
	.rank = BF_RANK_INDEX,
	.records = (const uint8_t[]){ BF_SEEN_nvme_driver_error, 0 },
	.on = on,
};
