#include "traces/rules/order/order.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_order_race *race = bf_order_race(r->facts);
	struct bf_finding *f = bf_order_find(r, e, race, false);

	if (!f)
		return;
	bf_finding_say(
	    f,
	    " and rang %s; the doorbell could have been faster, and %s, which read there %s, could have found "
	    "the value from before, with no other doorbell to come",
	    bf_order_when(race->by->arrived.at_ps, race->by->arrived.record).text, bf_rule_actor(r->rules, e->actor),
	    bf_order_when(e->time_ps, e->number).text);
	bf_order_say_remedy(f, race);
}

const struct bf_rule bf_rule_order_doorbell = {
	.about = {
		.id = "ORDER-DOORBELL",
		.family = "order",
		.title = "a doorbell could overtake what it announces",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A store to a device and a store to memory take different paths. Without a fence between "
			    "them the later one may arrive first, whatever the semantics of the store to memory.",
		.wrong = "The thread stored an index that the device reads, then rang, and nothing orders the two. It "
			 "came in time in this run. If it does not, the device finds the old index and nobody rings "
			 "again.",
		.fix = "A fence that reaches the device between the index and the doorbell, or a doorbell with release "
		       "semantics.",
		.sources = "PTX ISA, Memory Consistency Model, Causality order; NVIDIA/nvshmem ibgda_device.cuh ibgda_post_send; docs/memory-model.md",
		.example = "run ibgda-put --messages 1 --ordering sc --bug no-dbrec-fence",
		.twin = "run ibgda-put --messages 1 --ordering sc",
	},
	.rank = BF_RANK_LUCK + 6,
	.records = BF_SEES(dma_read),
	.when = BF_ORDER_RECORD_BEHIND,
	.whens = 1,
	.needs = BF_SEES(store),
	.on = on,
};
