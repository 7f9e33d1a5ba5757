#include <inttypes.h>

#include "traces/rules/nvme/prp.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_prp p = bf_nvme_rule_prp_of(e);
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f;

	for (uint32_t i = 0; p.entries && i < q->in_flight; i++) {
		const struct bf_nvme_rule_command *c = &q->commands[i];

		/* The same list for the same data is no harm. */
		if (bf_get_le64(c->entry + 32) != p.prp2 || bf_get_le64(c->entry + 24) == p.prp1)
			continue;
		f = bf_rule_find(r, e, e->queue);
		if (!f)
			return;
		bf_finding_since(f, c->fetched_ps, c->fetched_record);
		bf_finding_index(f, e->nvme_fetch.slot);
		bf_finding_say(f,
			       "the entries in slots %" PRIu32 " and %" PRIu64 " of SQ %" PRIu64
			       " are in flight together, have data at 0x%" PRIx64 " and 0x%" PRIx64
			       ", and one PRP list, at 0x%" PRIx64,
			       c->slot, e->nvme_fetch.slot, e->queue->number, bf_get_le64(c->entry + 24), p.prp1,
			       p.prp2);
		return;
	}
}

const struct bf_rule bf_rule_nvme_prp_list_shared = {
	.about = {
		.id = "NVME-PRP-LIST-SHARED",
		.family = "nvme",
		.title = "commands in flight share one PRP list",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "A controller reads PRP lists when it likes: at once, in pieces, while data moves, and "
			    "again for a retry.",
		.wrong = "The list was filled again for another command before the one that it belongs to was "
			 "complete: data goes to the pages of the other one.",
		.fix = "One list for each command identifier, free again when that command has completed.",
		.sources = "NVM Express Base 2.0, Physical Region Page Entry and List; ROCm/rocm-xio PR#164",
		.example = "run nvme-verify --size 64K --commands 8 --bug prp-list-shared",
		.twin = "run nvme-verify --size 64K --commands 8",
	},
	.rank = BF_RANK_ENTRY + 4,
	.records = BF_SEES(nvme_fetch),
	.when = BF_NVME_RULE_SECOND,
	.whens = 1,
	.on = on,
};
