#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *admin = bf_nvme_rule_refused(r, true),
					 *a = admin ? admin : bf_nvme_rule_refused(r, false);
	struct bf_finding *f;

	if (!a || a->code != BF_NVME_SC_INVALID_NS_OR_FORMAT)
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(
		    f, "opcode %02xh of %s queue %" PRIu64 " named namespace 0x%" PRIx32 ", which is not active",
		    a->entry[0], admin ? "the admin" : "I/O", a->queue->number, bf_nvme_rule_dword(a, 1));
}

const struct bf_rule bf_rule_nvme_nsid = {
	.about = {
		.id = "NVME-NSID",
		.family = "nvme",
		.title = "a command names a namespace that does not exist",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "I/O commands name an active namespace, from 1. Features that belong to a namespace need "
			    "one, too: drives answer Get Features, Error Recovery, for NSID 0 with Invalid Namespace "
			    "or Format.",
		.wrong = "NSID is 0, FFFFFFFFh where that is not allowed, or a namespace that is not attached.",
		.fix = "Take NSIDs from Identify, active namespace list (CNS 02h).",
		.sources = "NVM Express Base 2.0, Namespaces and 5.27; spdk/spdk#1955",
		.example = "run nvme-verify --commands 8 --size 512 --bug nsid-zero",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_REFUSED,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
