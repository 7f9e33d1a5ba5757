#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, false);
	struct bf_finding *f;

	if (!a || !(a->entry[1] >> 6))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(
		    f,
		    "the entry in slot %" PRIu32
		    " has PSDT %d, and as an SGL descriptor its data pointer has type %02xh and length %" PRIu32
		    ": status 0x%03" PRIx32,
		    a->slot, a->entry[1] >> 6, a->entry[39], bf_nvme_rule_dword(a, 8), a->code);
}

const struct bf_rule bf_rule_nvme_sgl = {
	.about = {
		.id = "NVME-SGL",
		.family = "nvme",
		.title = "a data pointer is read as an SGL",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "PSDT 1 and 2 say that the data pointer is an SGL descriptor: address, length, type. "
			    "Controllers without Identify SGLS refuse it; admin commands have PRPs only.",
		.wrong = "Where the controller looks for a descriptor the entry holds something else: a PRP, a length "
			 "that is too short, a list without a last segment.",
		.fix = "PSDT 0 for PRPs. For SGLs: length in bytes that covers the transfer, type 0 for data, "
		       "segments in multiples of 16 that end with a last segment.",
		.sources = "NVM Express Base 2.0, Scatter Gather List",
		.example = "run nvme-verify --commands 8 --size 512 --bug sgl-flag",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_ENTRY + 5,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
