#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, true);
	struct bf_finding *f;

	if (!a || !(a->code == BF_NVME_SC_SEQUENCE))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f,
			       "opcode %02x%s (feature %02" PRIx32 "h) came when it was too late or too early for it",
			       a->entry[0], "h", bf_nvme_rule_dword(a, 10) & 0xff);
}

const struct bf_rule bf_rule_nvme_sequence = {
	.about = {
		.id = "NVME-SEQUENCE",
		.family = "nvme",
		.title = "a command came at the wrong time",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Some commands must come at a certain time: Set Features, Number of Queues, before any I/O queue " "is created.",
		.wrong = "The controller refused it with Command Sequence Error.",
		.fix = "Ask for queues once, between Identify and the first Create I/O Completion Queue.",
		.sources = "NVM Express Base 2.0, Number of Queues",
		.example = "run nvme-verify --commands 8 --size 512 --bug queue-count-late",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
