#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, false);
	struct bf_finding *f;

	if (!a || !(a->code == BF_NVME_SC_PROTECTION_INFO))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f,
			       "opcode %02xh had PRINFO %" PRIx32
			       "h, and the namespace is formatted without protection information",
			       a->entry[0], bf_nvme_rule_dword(a, 12) >> 26 & 0xf);
}

const struct bf_rule bf_rule_nvme_protection = {
	.about = {
		.id = "NVME-PROTECTION",
		.family = "nvme",
		.title = "protection information is requested, but the format has none",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "PRINFO (PRACT, PRCHK) is for formats with metadata and end-to-end protection (DPS). With "
			    "PRACT = 1 and 8 bytes of metadata no metadata is transferred.",
		.wrong = "The controller refused the command with Invalid Protection Information; some drives ignore "
			 "the bits.",
		.fix = "Set PRINFO only when Identify Namespace DPS says so, and leave the metadata buffer out with "
		       "PRACT = 1.",
		.sources = "NVM Command Set 1.0, End-to-end Data Protection; linux-nvme/nvme-cli#2016, #2085",
		.example = "run nvme-verify --commands 8 --size 512 --bug pract",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
