#include <inttypes.h>

#include "traces/rules/nvme/nvme.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_nvme_rule_queue *q = bf_nvme_rule_of(e->queue);
	struct bf_finding *f = q->fetch.what == BF_NVME_RULE_FETCHED_LATE ? bf_rule_find(r, e, e->queue) : NULL;

	if (!f)
		return;
	bf_finding_index(f, q->fetch.slot);
	bf_finding_watch(r->rules, f, &q->fetch.late);
	f->n[0] = q->fetch.own.va;
	f->n[1] = q->fetch.sampled_ps;
}

static void tell(struct bf_rule_run *r, struct bf_finding *f)
{
	const uint64_t first = f->late.va - f->n[0];

	bf_finding_say(
	    f,
	    "store of bytes %" PRIu64 "-%" PRIu64 " of the entry in slot %" PRIu64 " of SQ %" PRIu64
	    " by %s became visible %s after the controller, told by the doorbell, had fetched it: no fence stands "
	    "between entry and doorbell",
	    first, first + f->late.len - 1, f->found.index, f->queue->number, bf_rule_actor(r->rules, f->late.actor),
	    bf_store_lateness(&f->late, f->n[1]).text);
}

const struct bf_rule bf_rule_nvme_entry_order = {
	.about = {
		.id = "NVME-ENTRY-ORDER",
		.family = "nvme",
		.title = "no fence between an entry and its doorbell",
		.severity = BF_SEVERITY_ERROR,
		.hardware = "The controller fetches by DMA what memory shows when the doorbell arrives, not what a "
			    "store buffer or write-combining buffer still holds.",
		.wrong = "Part of the entry became visible after the controller had fetched it: it executed a "
			 "mixture of two commands.",
		.fix = "Between the last store into the entry and the doorbell put a release fence that reaches the "
		       "device (sfence or dma_wmb() on a CPU, __threadfence_system() on a GPU).",
		.sources = "NVM Express Base 2.0, Queue Model; Linux Documentation/memory-barriers.txt; "
			   "docs/hardware/nvme.md#queues; spdk/spdk#1828",
		.example = "run nvme-verify --commands 8 --size 512 --bug no-fence-before-doorbell",
		.twin = "run nvme-verify --commands 8 --size 512",
	},
	.rank = BF_RANK_ENTRY,
	.records = BF_SEES(nvme_fetch),
	.when = BF_NVME_RULE_BAD_FETCH,
	.whens = 1,
	.on = on,
	.tell = tell,
};
