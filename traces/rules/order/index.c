#include "traces/rules/order/order.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_order_race *race = bf_order_race(r->facts);
	struct bf_finding *f = bf_order_find(r, e, race, true);

	if (!f)
		return;
	bf_finding_say(
	    f,
	    " and 0x%llx, which %s reads to learn how far it may go, %s; a doorbell of earlier was not known to be "
	    "served then, so the device could have read the second for that one, before the first was there. A "
	    "fence of %s scope between the two stores would have ordered them",
	    (unsigned long long)race->index.va, bf_rule_actor(r->rules, e->actor),
	    bf_order_when(race->index.at_ps, race->index.record).text, bf_order_wanted(race));
}

const struct bf_rule bf_rule_order_index = {
	.about = {
		.id = "ORDER-INDEX",
		.family = "order",
		.title = "an index in memory could be seen before what it announces",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A device whose index is in memory reads it at each doorbell, and executes up to it. A "
			    "fence before the next doorbell does not order what an earlier doorbell reads.",
		.wrong = "Only the doorbell orders the entry. The index was stored without a fence in between, so an "
			 "earlier doorbell could have made the device read it, and fetch the entry before it was "
			 "written.",
		.fix = "A fence that reaches the device between the last store into the entry and the index.",
		.sources = "NVIDIA/nvshmem ibgda_device.cuh ibgda_submit_requests; PTX ISA, "
			   "Memory Consistency Model, Causality order; docs/memory-model.md",
		.example = "run ibgda-put --messages 4 --batch 1 --ordering sc --bug no-wqe-fence",
		.twin = "run ibgda-put --messages 4 --batch 1 --ordering sc",
	},
	.rank = BF_RANK_LUCK + 5,
	.records = BF_SEES(dma_read),
	.when = BF_ORDER_UNORDERED_INDEX,
	.whens = 1,
	.needs = BF_SEES(store),
	.on = on,
};
