#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, true);
	struct bf_finding *f;

	if (!a || !(a->code == BF_NVME_SC_ABORT_LIMIT || a->code == BF_NVME_SC_AER_LIMIT))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f, "%s was refused because too many of them were outstanding",
			       a->code == BF_NVME_SC_ABORT_LIMIT ? "Abort" : "Asynchronous Event Request");
}

const struct bf_rule bf_rule_nvme_request_limit = {
	.about = {
		.id = "NVME-REQUEST-LIMIT",
		.family = "nvme",
		.title = "more Aborts or event requests than the controller accepts",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "ACL and AERL of Identify Controller, both from 0, say how many Abort and Asynchronous "
			    "Event Request commands may be outstanding.",
		.wrong = "One more was sent, and was refused.",
		.fix = "Count what is outstanding. QEMU never refuses an Abort: what works there is no proof.",
		.sources = "NVM Express Base 2.0, Abort and Asynchronous Event Request; "
			   "docs/hardware/nvme.md#other-controllers-1",
		.test = "tests/traces/test_rules_nvme_more.c",
		.why = "The driver has no event request and no Abort more than it may.",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
