#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_answer *a = bf_nvme_rule_refused(r, true);
	struct bf_finding *f;

	if (!a || !(a->code == BF_NVME_SC_QID && !bf_nvme_rule_dword(a, 1)))
		return;
	f = bf_nvme_rule_find_refused(r, e, a);
	if (f)
		bf_finding_say(f,
			       "opcode %02x%s named queue %" PRIu32 " and CQ %" PRIu32 ", and one of the two cannot be",
			       a->entry[0], "h", bf_nvme_rule_dword(a, 10) & 0xffff, bf_nvme_rule_dword(a, 11) >> 16);
}

const struct bf_rule bf_rule_nvme_queue_id = {
	.about = {
		.id = "NVME-QUEUE-ID",
		.family = "nvme",
		.title = "an invalid queue number",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "Queue numbers go from 1 to what Set Features, Number of Queues granted; 0 is the admin "
			    "queue. A number is in use from creation to deletion.",
		.wrong = "The controller refused the command with Invalid Queue Identifier.",
		.fix = "Number I/O queues from 1, name an I/O completion queue (1 up) for each submission queue, and "
		       "look at the granted counts, which are from 0.",
		.sources = "NVM Express Base 2.0, 5.4, 5.5 and Number of Queues; "
			   "docs/hardware/nvme.md#admin-commands-9",
		.example = "run nvme-verify --commands 8 --size 512 --bug cqid-zero",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_SET_UP + 3,
	.records = BF_SEES(nvme_completion),
	.when = BF_NVME_RULE_REFUSED,
	.whens = 1,
	.on = on,
};
