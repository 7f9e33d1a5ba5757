#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_finding *f;

	if (e->nvm_completion.stray || e->nvm_completion.freed == e->nvm_completion.sqhd)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (f)
		bf_finding_say(f,
			       "%s took a completion on SQ %" PRIu64 " that says SQHD %" PRIu64
			       ", and goes on with head %" PRIu64
			       ": it counts completions, which tell nothing of what was fetched",
			       bf_rule_actor(r->rules, e->actor), e->nvm_completion.qid, e->nvm_completion.sqhd,
			       e->nvm_completion.freed);
}

const struct bf_rule bf_rule_nvme_sqhd_count = {
	.about = {
		.id = "NVME-SQHD-COUNT",
		.family = "nvme",
		.title = "slots are freed by counting completions",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "SQHD in a completion says how far the controller has fetched. Commands complete in any "
			    "order and the fetch runs ahead of completions.",
		.wrong = "The driver counts completions instead, so it frees slots that are still pending and keeps slots " "that are free.",
		.fix = "Take the head from SQHD of the newest completion.",
		.sources = "NVM Express Base 2.0, 3.3.3.2; docs/hardware/nvme.md#other-controllers-6",
		.example = "run nvme-verify --commands 40 --size 512 --bug sq-update-by-count",
		.twin = "run nvme-verify --commands 40 --size 512",
	},
	.rank = BF_RANK_STUCK + 6,
	.records = BF_SEES(nvm_completion),
	.on = on,
};
