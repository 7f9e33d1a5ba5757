#include <inttypes.h>

#include "models/nvme/prm.h"
#include "models/nvme/text.h"
#include "traces/rules/nvme/nvme.h"

#define CODE 0x7ffu
#define DNR 0x4000u

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const uint32_t code = (uint32_t)e->ftrace_complete.status & CODE;
	const char *text = bf_nvme_status_text(code);
	struct bf_finding *f;

	if (!code || code == BF_NVME_SC_COMPARE)
		return;
	f = bf_rule_find(r, e, NULL);
	if (!f)
		return;
	bf_finding_say(f,
		       "command 0x%" PRIx64 " of queue %" PRIu64 " (line %" PRIu64
		       " of the trace) ended with status 0x%03" PRIx32 ", %s; %s, tried again %" PRIu64 " times",
		       e->ftrace_complete.cid, e->ftrace_complete.qid, e->ftrace_complete.line, code,
		       text ? text : "which is not known",
		       e->ftrace_complete.status & DNR ? "it says not to try again" : "trying again may help",
		       e->ftrace_complete.retries);
}

const struct bf_rule bf_rule_nvme_captured_status = {
	.about = {
		.id = "NVME-CAPTURED-STATUS",
		.family = "nvme",
		.title = "a captured command ended with an error status",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "Each completion carries a status code and DNR, do not retry.",
		.wrong = "The drive that was traced refused the command, or failed at it. A trace of Linux has no data "
			 "pointers, so what was wrong with those shows only in the status.",
		.fix = "belfry rules with the status, 0x2013 for instance, tells likely causes; belfry replay says "
		       "whether the model answers alike.",
		.sources = "NVM Express Base 2.0, 3.3.3.2.1; Linux drivers/nvme/host/trace.h nvme_complete_rq",
		.test = "tests/traces/test_rules_errors.c",
		.why = "It speaks of traces of real drives.",
	},
	.rank = BF_RANK_EFFECT + 4,
	.records = BF_SEES(ftrace_complete),
	.on = on,
};
