#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, true);
	struct bf_finding *f;

	if (!a || !(a->code == BF_NVME_SC_VECTOR))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f, "CQ %" PRIu32 " was to be created with interrupt vector %" PRIu32,
			       bf_nvme_rule_dword(a, 10) & 0xffff, bf_nvme_rule_dword(a, 11) >> 16);
}

const struct bf_rule bf_rule_nvme_vector = {
	.about = {
		.id = "NVME-VECTOR",
		.family = "nvme",
		.title = "a completion queue has an interrupt vector that does not exist",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "IV counts MSI-X (or MSI) vectors from 0 and must be one that the function has; it "
			    "matters only with IEN = 1.",
		.wrong = "The controller refused the queue with Invalid Interrupt Vector.",
		.fix = "Polled queues: IEN = 0 and IV = 0. Others: a vector below the size of the MSI-X table, with "
		       "MSI-X enabled.",
		.sources = "NVM Express Base 2.0, 5.4; QEMU hw/nvme/ctrl.c",
		.example = "run nvme-verify --commands 8 --size 512 --bug vector-invalid",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
