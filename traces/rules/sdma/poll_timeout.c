#include <inttypes.h>

#include "traces/rules/sdma/sdma.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (e->sdma_suspect.what != BF_SDMA_SUSPECT_POLL_TIMEOUT)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->sdma_suspect.index);
	bf_finding_say(f,
		       "the poll of 0x%" PRIx64 " at byte %" PRIu64 " of %s gave up after %" PRIu64
		       " retries, and the packets after it ran",
		       e->sdma_suspect.address, e->sdma_suspect.index, bf_rule_queue_name(r->rules, e->queue),
		       e->sdma_suspect.value);
}

const struct bf_rule bf_rule_sdma_poll_timeout = {
	.about = {
		.id = "SDMA-POLL-TIMEOUT",
		.family = "sdma",
		.title = "a poll gave up and the queue went on",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Bits 27:16 of the last dword of POLL_REGMEM count retries; 0xfff means forever. No "
"document says that the queue stops when they run out.",
		.wrong = "The dependency was not satisfied, and what depends on it ran.",
		.fix = "Set the retry count to 0xfff.",
		.sources = "docs/hardware/sdma.md#other-packets-13; ROCR-Runtime amd_blit_sdma.cpp BuildPollCommand (0x0FFF0004)",
		.example = "run sdma-fence --limit 10ms --bug poll-retries",
		.twin = "run sdma-fence --limit 10ms",
	},
	.rank = BF_RANK_INDEX,
	.records = BF_SEES(sdma_suspect),
	.on = on,
};
