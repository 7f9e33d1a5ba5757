#include <inttypes.h>

#include "traces/rules/machine/machine.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f = bf_rule_find(r, e, NULL);
	char name[40];

	if (!f)
		return;
	bf_finding_say(
	    f,
	    "%s read %" PRIu64 " bytes at 0x%" PRIx64 " (%s+0x%" PRIx64
	    ") that were changed while the code ran, and no store that was recorded had changed them: fences and "
	    "order of these bytes were not looked at",
	    bf_rule_actor(r->rules, e->actor), e->unrecorded.len, e->unrecorded.va,
	    bf_seen_text(e, "name", name, sizeof(name)), e->unrecorded.offset);
}

const struct bf_rule bf_rule_machine_unseen = {
	.about = {
		.id = "MACHINE-UNSEEN",
		.family = "machine",
		.title = "a device read bytes that no recorded store had written",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A device reads what is in memory: entries, lists of addresses, data. It cannot tell who "
			    "wrote it, or by which instruction.",
		.wrong = "A plain store, memcpy() or code in another library wrote there while the code under test "
			 "ran. Such bytes bypass the simulated processor and are visible at once, so a missing fence "
			 "does no harm here and is not found. On a real processor or GPU nothing orders them.",
		.fix = "Store through the platform (bf_st_weak32() and its like), or compile the code with gcc's "
		       "-fsanitize=thread and link it with libbelfry-plain (docs/embedding.md). Write initial data in "
		       "setup().",
		.sources = "drivers/platform/platform.h; PTX ISA, Memory Consistency Model",
		.test = "tests/drivers/test_trial_unseen.c",
		.why = "The drivers of belfry store through the platform.",
	},
	.rank = BF_RANK_ENTRY + 6,
	.records = BF_SEES(unrecorded),
	.on = on,
};
