#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

#define CODE 0x7ffu

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_slot *s =
	    e->nvm_completion.stray ? NULL : bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_completion.slot);
	struct bf_finding *f;

	if (!s || !s->nposted || s->ntaken != s->nposted || s->posted_cid != e->nvm_completion.cid ||
	    !(s->posted_status & CODE) || e->nvm_completion.status & CODE)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, s->posted_ps, s->posted_record);
	bf_finding_index(f, e->nvm_completion.slot);
	bf_finding_say(f,
		       "command %" PRIu64 " on SQ %" PRIu64 " ended with status 0x%03x, and %s took it for a success",
		       e->nvm_completion.cid, e->queue->number, (unsigned)(s->posted_status & CODE),
		       bf_rule_actor(r->rules, e->actor));
}

const struct bf_rule bf_rule_nvme_status_ignored = {
	.about = {
		.id = "NVME-STATUS-IGNORED",
		.family = "nvme",
		.title = "an error completion was treated as success",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Status in bits 15:1 of the last word of a completion says whether the command did what "
			    "it was asked for.",
		.wrong = "The controller said that it did not, and the driver went on as if it had: data that never "
			 "came is used.",
		.fix = "Look at SC and SCT of each completion; retry unless DNR is set.",
		.sources = "NVM Express Base 2.0, 3.3.3.2.1",
		.example = "run nvme-verify --media-errors 'read-error 3' --size 512 --bug ignore-status",
		.twin = "run nvme-verify --size 512",
	},
	.rank = BF_RANK_COMPLETION,
	.records = BF_SEES(nvm_completion),
	.needs = BF_SEES(nvm_completion, nvme_completion),
	.on = on,
};
