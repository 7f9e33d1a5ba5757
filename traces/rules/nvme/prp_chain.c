#include <inttypes.h>

#include "traces/rules/nvme/prp.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_prp p = bf_nvme_rule_prp_of(e);
	const struct bf_nvme_rule_word *begin, *link, *behind;
	struct bf_finding *f;

	if (p.entries <= (p.end + 8 - p.prp2) / 8)
		return;
	begin = bf_nvme_rule_word(r, p.prp2);
	link = bf_nvme_rule_word(r, p.end);
	behind = bf_nvme_rule_word(r, p.end + 8);
	if (!begin || !link || !behind || link->value == p.end + 8 || link->actor != begin->actor)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->nvme_fetch.slot);
	bf_finding_say(f,
		       "the PRP list at 0x%" PRIx64 " of the entry in slot %" PRIu64 " of SQ %" PRIu64
		       " (PRP1 0x%" PRIx64 ") goes on beyond its page, and the last slot of the page, 0x%" PRIx64
		       ", holds 0x%" PRIx64 " instead of a pointer to the next page: the list is not chained",
		       p.prp2, e->nvme_fetch.slot, e->queue->number, p.prp1, p.end, link->value);
}

const struct bf_rule bf_rule_nvme_prp_chain = {
	.about = {
		.id = "NVME-PRP-CHAIN",
		.family = "nvme",
		.title = "a PRP list runs on past its page instead of chaining",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "When more entries follow than fit the page, its last slot holds the address of the "
			    "list's next page.",
		.wrong = "The last slot holds a data address and the list continues beyond the page: the controller reads " "data as a list.",
		.fix = "Put the address of the next page into the last slot and go on at that page's start.",
		.sources = "NVM Express Base 2.0, Physical Region Page Entry and List; "
			   "docs/hardware/nvme.md#data-pointers-2; ROCm/rocm-xio PR#133",
		.example = "run nvme-verify --size 64K --list-offset 4032 --commands 4 --bug prp-no-chain",
		.twin = "run nvme-verify --size 64K --list-offset 4032 --commands 4",
	},
	.rank = BF_RANK_ENTRY + 4,
	.records = BF_SEES(nvme_fetch),
	.when = BF_NVME_RULE_SECOND,
	.whens = 1,
	.on = on,
	.needs = BF_SEES(store, nvme_fetch),
};
