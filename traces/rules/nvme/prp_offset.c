#include <inttypes.h>

#include "traces/rules/nvme/prp.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_prp p = bf_nvme_rule_prp_of(e);
	struct bf_finding *f;
	uint64_t va = p.prp2;

	if (!p.entries || p.prp2 % BF_NVME_RULE_PAGE != 0 || !bf_nvme_rule_never_stored(r, p.prp2))
		return;
	do
		va += 8;
	while (va <= p.end && !bf_nvme_rule_word(r, va));
	f = va <= p.end ? bf_rule_find(r, e, e->queue) : NULL;
	if (!f)
		return;
	bf_finding_index(f, e->nvme_fetch.slot);
	bf_finding_say(f,
		       "PRP2 of the entry in slot %" PRIu64 " of SQ %" PRIu64 " is 0x%" PRIx64
		       ", where no list was stored: the list begins %" PRIu64 " bytes into that page",
		       e->nvme_fetch.slot, e->queue->number, p.prp2, va - p.prp2);
}

const struct bf_rule bf_rule_nvme_prp_offset = {
	.about = {
		.id = "NVME-PRP-OFFSET",
		.family = "nvme",
		.title = "PRP2 names the list's page, not where the list begins",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A PRP list may begin anywhere in its page, on eight bytes; PRP2 is the address of its "
			    "first entry.",
		.wrong = "The controller reads the start of the page as addresses: zeros, or another command's list.",
		.fix = "PRP2 = I/O address of the page + offset of the list.",
		.sources = "NVM Express Base 2.0, Physical Region Page Entry and List; "
			   "docs/hardware/nvme.md#data-pointers-1",
		.example = "run nvme-verify --size 64K --list-offset 512 --commands 4 --bug prp-list-offset",
		.twin = "run nvme-verify --size 64K --list-offset 512 --commands 4",
	},
	.rank = BF_RANK_ENTRY + 4,
	.records = BF_SEES(nvme_fetch),
	.when = BF_NVME_RULE_SECOND,
	.whens = 1,
	.on = on,
	.needs = BF_SEES(store, nvme_fetch),
};
