#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_slot *s =
	    e->nvm_completion.stray ? NULL : bf_nvme_rule_slot(bf_nvme_rule_of(e->queue), e->nvm_completion.slot);
	struct bf_finding *f;

	if (!s || !s->nposted || s->ntaken != s->nposted ||
	    (s->posted_cid == e->nvm_completion.cid && s->posted_sqhd == e->nvm_completion.sqhd))
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_since(f, s->posted_ps, s->posted_record);
	bf_finding_index(f, e->nvm_completion.slot);
	bf_finding_say(f,
		       "%s found command %" PRIu64 " and SQHD %" PRIu64 " in slot %" PRIu64 " of CQ %" PRIu64
		       ", and the controller had posted command %u and SQHD %u there",
		       bf_rule_actor(r->rules, e->actor), e->nvm_completion.cid, e->nvm_completion.sqhd,
		       e->nvm_completion.slot, e->queue->number, (unsigned)s->posted_cid, (unsigned)s->posted_sqhd);
}

const struct bf_rule bf_rule_nvme_cqe_misread = {
	.about = {
		.id = "NVME-CQE-MISREAD",
		.family = "nvme",
		.title = "a completion was read before it was complete",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The dword with the phase tag is what the controller writes last. Only what is read after "
			    "that tag was seen belongs to the new entry.",
		.wrong = "Identifier or SQHD were read first, by a hoisted load, from a cache line of the lap before, "
			 "or in halves: they are those of an older entry.",
		.fix = "Load the dword with the phase tag with acquire semantics and everything else after it, past "
		       "caches.",
		.sources = "NVM Express Base 2.0, 3.3.3.2; docs/hardware/gpu.md#vram-6; xnvme/xnvme#767",
		.example = "run nvme-verify --commands 60 --depth 8 --size 512 --timeout 10ms --bug cqe-read-early",
		.twin = "run nvme-verify --commands 60 --depth 8 --size 512 --timeout 10ms",
	},
	.rank = BF_RANK_COMPLETION - 1,
	.records = BF_SEES(nvm_completion),
	.needs = BF_SEES(nvm_completion, nvme_completion),
	.on = on,
};
