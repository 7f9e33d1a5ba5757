#include <inttypes.h>

#include "sim/bytes.h"
#include "traces/rules/nvme.h"

#define UNMAPPED 1u

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	uint8_t *seen = r->state;
	struct bf_rule_queue *queue;

	if (*seen || e->iommu_fault.reason != UNMAPPED)
		return;
	*seen = 1;
	for (uint32_t n = 0; (queue = bf_rule_queue_at(r->rules, n)) != NULL; n++) {
		const struct bf_nvme_queue *q = queue->family == &bf_rules_nvme ? bf_nvme_of(queue) : NULL;

		for (uint32_t i = 0; q && i < q->nslots; i++)
			for (uint32_t prp = 1; prp <= 2; prp++) {
				struct bf_finding *f;

				/* A PRP2 of 0 is none: see NVME-NLB. */
				if (!q->slots[i].in_flight || (prp == 2 && !e->iommu_fault.iova) ||
				    bf_get_le64(q->slots[i].fetched + 16 + prp * 8) != e->iommu_fault.iova)
					continue;
				f = bf_rule_find(r, e, queue);
				if (!f)
					return;
				bf_finding_since(f, q->slots[i].fetched_ps, q->slots[i].fetched_record);
				bf_finding_index(f, i);
				bf_finding_say(
				    f,
				    "PRP%" PRIu32 " of the entry in slot %" PRIu32 " of SQ %" PRIu64 " is 0x%" PRIx64
				    ", and nothing is mapped there for the controller: its IOMMU refused the access",
				    prp, i, queue->number, e->iommu_fault.iova);
				return;
			}
	}
}

const struct bf_rule bf_rule_nvme_unmapped = {
	.about = {
		.id = "NVME-UNMAPPED",
		.family = "nvme",
		.title = "a PRP names memory that is not mapped for the controller",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "With an IOMMU the controller reaches only what was mapped for it, by I/O address.",
		.wrong = "The entry holds an address that was never mapped or is unmapped already: an offset, a "
			 "virtual address, a physical one.",
		.fix = "Use the I/O address that mapping the buffer gave, until the command is complete.",
		.sources = "Linux Documentation/core-api/dma-api.rst; enfiskutensykkel/ssd-gpu-dma PR#23; "
			   "xnvme/xnvme#735",
		.example = "run nvme-verify --commands 8 --size 512 --bug unmapped-buffer",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_EFFECT,
	.records = (const uint8_t[]){ BF_SEEN_iommu_fault, 0 },
	.on = on,
	.state_bytes = 1,
};
