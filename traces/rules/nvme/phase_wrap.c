#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_slot *s =
	    e->nvm_completion.stray ? NULL : bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_completion.slot);
	struct bf_finding *f;

	if (!s || !s->nposted || s->ntaken <= s->nposted)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, s->posted_ps, s->posted_record);
	bf_finding_index(f, e->nvm_completion.slot);
	bf_finding_say(f,
		       "%s took slot %" PRIu64 " of CQ %" PRIu64 " more often (%" PRIu64
		       ") than the controller has posted there (%" PRIu64 "): the entry is from the lap before",
		       bf_rule_actor(r->rules, e->actor), e->nvm_completion.slot, e->queue->number, s->ntaken,
		       s->nposted);
}

const struct bf_rule bf_rule_nvme_phase_wrap = {
	.about = {
		.id = "NVME-PHASE-WRAP",
		.family = "nvme",
		.title = "completions of the previous lap are treated as new",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The controller inverts the phase tag each time it wraps. Entries of the last lap stay in memory " "with the other tag.",
		.wrong = "The driver went on with the tag of the lap before, so each old entry looks new: commands that " "are still in flight look finished.",
		.fix = "Invert the expected phase when the head wraps to 0, and nowhere else.",
		.sources = "NVM Express Base 2.0, 3.3.3.2 and 4.2.4",
		.example = "run nvme-verify --commands 60 --depth 8 --size 512 --bug phase-not-flipped",
		.twin = "run nvme-verify --commands 60 --depth 8 --size 512",
	},
	.rank = BF_RANK_ENTRY + 2,
	.records = BF_SEES(nvm_completion),
	.needs = BF_SEES(nvm_completion, nvme_completion),
	.on = on,
};
