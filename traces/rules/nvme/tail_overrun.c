#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

/* With every slot filled the tail is back at the head, and says that there is nothing. */
static void on_timeout(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f = bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_FULL) ? bf_rule_find(r, e, e->queue) : NULL;

	if (f)
		bf_finding_say(f,
			       "all %" PRIu32 " slots of SQ %" PRIu64
			       " hold entries that were never announced: the tail, %" PRIu32
			       ", is where it was before them, so that there is nothing to ring for",
			       q->entries, e->queue->number, q->last_rung);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f;

	if (e->kind == BF_SEEN_nvm_timeout) {
		on_timeout(r, e);
		return;
	}
	if (e->nvme_driver_error.wrong != BF_NVME_WRONG_TAIL_OVERRUN)
		return;
	for (uint32_t i = 1; i < q->ntails; i++) /* NVME-DOORBELL-REORDERED */
		if (q->tails[i] == e->nvme_driver_error.value)
			return;
	f = bf_rule_find(r, e, e->queue);

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
		.wrong = "The new tail passes the head: the controller treats the ring as nearly empty and skips a whole " "lap. If it only reaches the head, the ring looks empty, and nothing is fetched.",
		.fix = "Ring only for entries for which SQHD has made room.",
		.sources = "NVM Express Base 2.0, Queue Model and Asynchronous Event Request; "
			   "docs/hardware/nvme.md#doorbells-2; spdk/spdk#2171",
		.test = "tests/traces/test_rules_nvme.c",
		.why = "The variant that does not look for room (no-full-check) overwrites entries before its tail passes the head.",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(nvme_driver_error, nvm_timeout),
	.on = on,
};
