#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, true);
	struct bf_finding *f;

	if (!a || !((a->entry[0] == BF_NVME_ADM_CREATE_SQ || a->entry[0] == BF_NVME_ADM_CREATE_CQ) &&
		    !(bf_nvme_rule_dword(a, 11) & 1)))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(
		    f,
		    "queue %" PRIu32 " of %" PRIu32 " entries was to be created with PC = 0 and PRP1 = 0x%" PRIx64
		    ", where no list of its pages is",
		    bf_nvme_rule_dword(a, 10) & 0xffff, (bf_nvme_rule_dword(a, 10) >> 16) + 1, bf_nvme_rule_prp1(a));
}

const struct bf_rule bf_rule_nvme_queue_pieces = {
	.about = {
		.id = "NVME-QUEUE-PIECES",
		.family = "nvme",
		.title = "PC is clear, but PRP1 is not a list of pages",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "With PC = 0 a queue lies in pages anywhere, and PRP1 names a list of all of them; PRP2 "
			    "is reserved. Controllers with CAP.CQR take PC = 1 only.",
		.wrong = "The controller took the ring itself for a list of pages, or refused: Invalid Field, PRP "
			 "Offset Invalid. One that reads PRP1 as the first page works until the ring leaves it.",
		.fix = "Set PC for queues in one piece; otherwise build the list, one entry for each page of the "
		       "ring, and look at CAP.CQR first.",
		.sources = "NVM Express Base 2.0, 5.4 and 5.5; ROCm/rocm-xio#200, PR#84; docs/hardware/nvme.md#data-pointers-4",
		.example = "run nvme-verify --commands 8 --size 512 --bug queue-pc-clear",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
