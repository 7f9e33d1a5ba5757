#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f =
	    bf_nvme_rule_stuck_for(r, BF_NVME_RULE_STUCK_NO_ANSWER) ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_say(f,
		       "the controller knows of all commands on SQ %" PRIu64 " up to slot %" PRIu64
		       " and did not complete %" PRIu64 " of them",
		       e->nvm_timeout.qid, e->nvm_timeout.sq_rung, e->nvm_timeout.inflight);
}

const struct bf_rule bf_rule_nvme_no_answer = {
	.about = {
		.id = "NVME-NO-ANSWER",
		.family = "nvme",
		.title = "the controller knows of commands and does not complete them",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A command has no fixed time limit; a controller that has failed (CSTS.CFS) completes none.",
		.wrong = "Nothing that the driver did explains it.",
		.fix = "Abort, then reset the controller; look at CSTS and at the medium.",
		.sources = "NVM Express Base 2.0, Abort and Resets",
		.test = "tests/traces/test_rules_nvme.c",
		.why = "The model answers every command that it has fetched.",
	},
	.rank = BF_RANK_STUCK,
	.records = BF_SEES(nvm_timeout),
	.on = on,
};
