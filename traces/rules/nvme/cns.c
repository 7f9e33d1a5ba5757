#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, true);
	struct bf_finding *f;

	if (!a || !(a->entry[0] == BF_NVME_ADM_IDENTIFY &&
		    (a->code == BF_NVME_SC_INVALID_FIELD || a->code == BF_NVME_SC_INVALID_OPCODE)))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f, "Identify with CNS %02" PRIx32 "h was refused", bf_nvme_rule_dword(a, 10) & 0xff);
}

const struct bf_rule bf_rule_nvme_cns = {
	.about = {
		.id = "NVME-CNS",
		.family = "nvme",
		.title = "Identify asks for a structure that this controller does not have",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "CNS values were added with versions of the specification and with command sets. An "
			    "unknown one is Invalid Field; old drives answer 03h so, too, and some models 0/01.",
		.wrong = "The driver asked and cannot do without.",
		.fix = "Look at VS and at what the controller says it supports first, and take a refusal of an "
		       "optional structure for \"not there\".",
		.sources = "NVM Express Base 2.0, 5.17; docs/hardware/nvme.md#other-controllers-3",
		.example = "run nvme-admin --commands 13 --bug identify-unknown-cns",
		.twin = "run nvme-admin --commands 13",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
