#include <inttypes.h>

#include "sim/bytes.h"
#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f = q->fetch.what == BF_NVME_RULE_FETCHED_FIELD ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, q->fetch.slot);
	bf_finding_say(f,
		       "dword %" PRIu32 " of the entry in slot %" PRIu32 " of SQ %" PRIu64 " was 0x%08" PRIx32
		       " when the controller fetched it and should have been 0x%08" PRIx32
		       ": the driver did not write that field and the slot's last user had",
		       q->fetch.dword, q->fetch.slot, e->queue->number, bf_get_le32(e->tail + q->fetch.dword * 4),
		       bf_get_le32(q->fetch.own.bytes + q->fetch.dword * 4));
}

const struct bf_rule bf_rule_nvme_entry_field = {
	.about = {
		.id = "NVME-ENTRY-FIELD",
		.family = "nvme",
		.title = "a field of an entry holds what the slot's last user left",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The controller looks at all 64 bytes. Reserved and unused fields must be 0.",
		.wrong = "The driver wrote only the fields that its command uses; another one, from the slot's last "
			 "command, was still there and meant something.",
		.fix = "Clear or copy the whole entry, all 16 dwords, each time.",
		.sources = "NVM Express Base 2.0, 3.3.3.1; docs/hardware/nvme.md#entries-5",
		.example = "run nvme-mixed --commands 60 --size 512 --bug stale-cdw12",
		.twin = "run nvme-mixed --commands 60 --size 512",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(nvme_fetch),
	.when = BF_NVME_RULE_BAD_FETCH,
	.whens = 1,
	.on = on,
};
