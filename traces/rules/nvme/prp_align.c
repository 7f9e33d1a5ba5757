#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, false);
	struct bf_finding *f;

	if (!a || !(a->code == BF_NVME_SC_PRP_OFFSET))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f,
			       "PRP1 of the entry in slot %" PRIu32 " is 0x%" PRIx64 ", PRP2 0x%" PRIx64
			       ": a PRP that is not the first has an offset into its page",
			       a->slot, bf_nvme_rule_prp1(a), bf_get_le64(a->entry + 32));
}

const struct bf_rule bf_rule_nvme_prp_align = {
	.about = {
		.id = "NVME-PRP-ALIGN",
		.family = "nvme",
		.title = "a PRP after the first has an offset",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "PRP1 may begin inside a page (on a dword); PRP2 as a page and all entries of a list "
			    "begin one.",
		.wrong = "The offset of the buffer was carried into the other entries: PRP Offset Invalid, or, with "
			 "controllers that ignore the low bits, data in the wrong place.",
		.fix = "Round every address but the first down to its page.",
		.sources = "NVM Express Base 2.0, Physical Region Page Entry and List",
		.example = "run nvme-verify --commands 8 --size 8192 --offset 512 --bug prp2-unaligned",
		.twin = "run nvme-verify --commands 8 --size 8192 --offset 512",
	},
	.rank = BF_RANK_ENTRY + 5,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
