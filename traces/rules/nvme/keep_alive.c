#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const bool late = e->nvme_state.state == BF_NVME_FAILED && e->nvme_state.reason == BF_NVME_FATAL_KEEP_ALIVE;
	struct bf_finding *f = late ? bf_rule_find(r, e, NULL) : NULL;

	if (f)
		bf_finding_say(f,
			       "the controller failed (CSTS 0x%" PRIx64 ") because no Keep Alive command came in time",
			       e->nvme_state.csts);
}

const struct bf_rule bf_rule_nvme_keep_alive = {
	.about = {
		.id = "NVME-KEEP-ALIVE",
		.family = "nvme",
		.title = "the controller was not kept alive",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "With a Keep Alive Timeout set (feature 0Fh, or by the Connect command), a controller that "
			    "gets no Keep Alive in time assumes that the host is dead, sets CSTS.CFS and stops.",
		.wrong = "The driver set the time-out, or left one from before in force, and its Keep Alive came too "
			 "late or never.",
		.fix = "Send Keep Alive at half the time-out, from a thread that no I/O can hold up, or set the "
		       "feature to 0.",
		.sources = "NVM Express Base 2.0, Keep Alive and Keep Alive Timer",
		.test = "tests/traces/test_rules_nvme_more.c",
		.why = "The driver sets no keep-alive timer.",
	},
	.rank = BF_RANK_SET_UP + 5,
	.records = BF_SEES(nvme_state),
	.on = on,
};
