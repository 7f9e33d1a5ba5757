#include <inttypes.h>

#include "models/nvme/prm.h"
#include "traces/rules/nvme/prp.h"

static bool moves_data(const uint8_t *entry)
{
	return !(entry[1] >> 6) &&
	       (entry[0] == BF_NVME_IO_WRITE || entry[0] == BF_NVME_IO_READ || entry[0] == BF_NVME_IO_COMPARE);
}

/* Address 0 was asked for: by a command in flight whose PRP2 is 0. Tells of blocks larger than 512 bytes, too. */
static void on_fault(struct bf_rule_run *r, const struct bf_seen *e)
{
	struct bf_rule_queue *queue;
	struct bf_finding *f;

	for (uint32_t n = 0; (queue = bf_rule_queue_at(r->rules, n)) != NULL; n++) {
		const struct bf_nvme_rule_queue *q =
		    queue->family == &bf_rules_nvme && queue->number ? bf_nvme_rule_of(queue) : NULL;

		for (uint32_t i = 0; q && i < q->in_flight; i++) {
			const struct bf_nvme_rule_command *c = &q->commands[i];

			if (!moves_data(c->entry) || bf_get_le64(c->entry + 32))
				continue;
			f = bf_rule_find(r, e, queue);
			if (!f)
				return;
			bf_finding_since(f, c->fetched_ps, c->fetched_record);
			bf_finding_index(f, c->slot);
			bf_finding_say(f,
				       "the controller asked for address 0 because the entry in slot %" PRIu32
				       " of SQ %" PRIu64 " asks for %u blocks (NLB counts from 0) and has no PRP2",
				       c->slot, queue->number, bf_get_le16(c->entry + 48) + 1u);
			return;
		}
	}
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	uint64_t prp1, prp2, blocks;
	struct bf_finding *f;

	if (e->kind == BF_SEEN_iommu_fault) {
		if (e->iommu_fault.iova < BF_NVME_RULE_PAGE)
			on_fault(r, e);
		return;
	}
	if (!e->nvme_fetch.sqid || e->tail_len < BF_NVME_RULE_ENTRY || !moves_data(e->tail))
		return;
	prp1 = bf_get_le64(e->tail + 24);
	blocks = bf_get_le16(e->tail + 48) + 1ull;
	prp2 = bf_get_le64(e->tail + 32);
	if ((prp2 && prp2 / BF_NVME_RULE_PAGE != prp1 / BF_NVME_RULE_PAGE) ||
	    prp1 % BF_NVME_RULE_PAGE + (blocks << 9) <= BF_NVME_RULE_PAGE)
		return;
	f = bf_rule_find(r, e, e->queue);
	if (!f)
		return;
	bf_finding_index(f, e->nvme_fetch.slot);
	bf_finding_say(f,
		       "the entry in slot %" PRIu64 " of SQ %" PRIu64 " asks for %" PRIu64
		       " blocks (NLB counts from 0) at PRP1 0x%" PRIx64 ", which pass that page, and %s",
		       e->nvme_fetch.slot, e->queue->number, blocks, prp1,
		       prp2 ? "its PRP2 is that page again" : "has no PRP2");
}

const struct bf_rule bf_rule_nvme_nlb = {
	.about = {
		.id = "NVME-NLB",
		.family = "nvme",
		.title = "a transfer needs more pages than its PRPs name",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "NLB counts blocks from 0: the controller moves NLB + 1 of them, and follows PRP2 when "
			    "they pass the first page.",
		.wrong = "PRP2 is 0 and the transfer goes beyond the first page: the controller reads or writes "
			 "address 0, or fails.",
		.fix = "NLB = blocks - 1, and as many PRPs as (offset + bytes) has pages.",
		.sources = "NVM Command Set 1.0, Read and Write; "
			   "NVM Express Base 2.0, Physical Region Page Entry and List",
		.example = "run nvme-verify --commands 8 --bug nlb-off-by-one",
		.twin = "run nvme-verify --commands 8",
	},
	.rank = BF_RANK_ENTRY + 5,
	.records = BF_SEES(nvme_fetch, iommu_fault),
	.on = on,
};
