#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, true);
	struct bf_finding *f;

	if (!a || !((a->entry[0] == BF_NVME_ADM_CREATE_SQ || a->entry[0] == BF_NVME_ADM_CREATE_CQ) &&
		    a->code == BF_NVME_SC_INVALID_FIELD && bf_nvme_rule_dword(a, 11) & 1))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f,
			       "queue %" PRIu32 " was refused with Invalid Field, and its PC, size and number are "
			       "good: CC.IOSQES or CC.IOCQES is not 6 and 4",
			       bf_nvme_rule_dword(a, 10) & 0xffff);
}

const struct bf_rule bf_rule_nvme_entry_size = {
	.about = {
		.id = "NVME-ENTRY-SIZE",
		.family = "nvme",
		.title = "the sizes of queue entries are not set",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "CC.IOSQES and CC.IOCQES give the entry sizes of I/O queues as powers of two: 6 (64 "
			    "bytes) and 4 (16 bytes). Admin queues have these sizes always.",
		.wrong = "The admin queue works and the first I/O queue is refused with Invalid Field.",
		.fix = "CC.IOSQES = 6 and CC.IOCQES = 4, within Identify SQES and CQES.",
		.sources = "NVM Express Base 2.0, 3.1.3.5 and 5.4",
		.example = "run nvme-verify --commands 8 --size 512 --bug iosqes-unset",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 4,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
