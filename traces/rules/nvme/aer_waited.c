#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"
#include "models/nvme/prm.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	const struct bf_nvme_rule_command *waits = NULL;
	struct bf_finding *f;

	if (e->nvm_timeout.qid)
		return;
	for (uint32_t i = 0; i < q->in_flight; i++) {
		if (q->commands[i].entry[0] != BF_NVME_ADM_ASYNC_EVENT)
			return;
		waits = &q->commands[i];
	}
	f = waits ? bf_rule_find(r, e, e->queue) : NULL;
	if (!f)
		return;
	bf_finding_since(f, waits->fetched_ps, waits->fetched_record);
	bf_finding_say(f, "%s waited %s for the completion of an Asynchronous Event Request, and there was no event",
		       bf_rule_actor(r->rules, e->actor), bf_span_of(e->time_ps - waits->fetched_ps).text);
}

const struct bf_rule bf_rule_nvme_aer_waited = {
	.about = {
		.id = "NVME-AER-WAITED",
		.family = "nvme",
		.title = "an event request is waited for like a command",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "An Asynchronous Event Request completes when there is an event, which may be never.",
		.wrong = "The driver waits for it with the time-out of a command. Some emulators complete it at once, "
			 "so that it seems to work.",
		.fix = "Leave event requests outstanding, with identifiers of their own, and take their completions "
		       "when they come.",
		.sources = "NVM Express Base 2.0, Asynchronous Event Request; "
			   "docs/hardware/nvme.md#other-controllers-3",
		.example = "run nvme-admin --commands 13 --bug aer-waited",
		.twin = "run nvme-admin --commands 13",
	},
	.rank = BF_RANK_STUCK - 2,
	.records = BF_SEES(nvm_timeout),
	.needs = BF_SEES(nvm_build, nvme_fetch),
	.on = on,
};
