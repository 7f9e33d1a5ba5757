#include <inttypes.h>

#include "sim/bytes.h"
#include "sim/iommu.h"
#include "traces/rules/nvme/nvme.h"

/* No PRP1 or PRP2: of the commands in flight with a list, the one that was fetched last is at work. */
static void in_a_list(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_command *last = NULL;
	struct bf_rule_queue *queue, *at = NULL;
	struct bf_finding *f;

	for (uint32_t n = 0; (queue = bf_rule_queue_at(r->rules, n)) != NULL; n++) {
		const struct bf_nvme_rule_queue *q = queue->family == &bf_rules_nvme ? bf_nvme_rule_of(queue) : NULL;

		for (uint32_t i = 0; q && i < q->in_flight; i++)
			if (bf_get_le64(q->commands[i].entry + 32) &&
			    (!last || q->commands[i].fetched_record > last->fetched_record)) {
				last = &q->commands[i];
				at = queue;
			}
	}
	f = last ? bf_rule_find(r, e, at) : NULL;
	if (!f)
		return;
	bf_finding_since(f, last->fetched_ps, last->fetched_record);
	bf_finding_index(f, last->slot);
	bf_finding_say(
	    f,
	    "the controller used 0x%" PRIx64 " for the command in slot %" PRIu32 " of SQ %" PRIu64
	    ", which is neither its PRP1 nor its PRP2, and nothing is mapped there: an entry of its PRP list "
	    "is wrong, or the list is too short",
	    e->iommu_fault.iova, last->slot, at->number);
}

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	uint8_t *seen = r->state;
	struct bf_rule_queue *queue;

	if (*seen || e->iommu_fault.reason != BF_IOMMU_UNMAPPED)
		return;
	*seen = 1;
	for (uint32_t n = 0; (queue = bf_rule_queue_at(r->rules, n)) != NULL; n++) {
		const struct bf_nvme_rule_queue *q = queue->family == &bf_rules_nvme ? bf_nvme_rule_of(queue) : NULL;

		for (uint32_t i = 0; q && i < q->in_flight; i++)
			for (uint32_t prp = 1; prp <= 2; prp++) {
				const struct bf_nvme_rule_command *c = &q->commands[i];
				struct bf_finding *f;

				/* A PRP2 of 0 is none: see NVME-NLB. */
				if ((prp == 2 && !e->iommu_fault.iova) ||
				    bf_get_le64(c->entry + 16 + prp * 8) != e->iommu_fault.iova)
					continue;
				f = bf_rule_find(r, e, queue);
				if (!f)
					return;
				bf_finding_since(f, c->fetched_ps, c->fetched_record);
				bf_finding_index(f, c->slot);
				bf_finding_say(
				    f,
				    "PRP%" PRIu32 " of the entry in slot %" PRIu32 " of SQ %" PRIu64 " is 0x%" PRIx64
				    ", and nothing is mapped there for the controller: its IOMMU refused the access",
				    prp, c->slot, queue->number, e->iommu_fault.iova);
				return;
			}
	}
	in_a_list(r, e);
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
	.records = BF_SEES(iommu_fault),
	.on = on,
	.state_bytes = 1,
};
