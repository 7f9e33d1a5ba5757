#include "traces/rules/order/order.h"

static void on(struct bf_rule_run *r, const struct bf_seen *e)
{
	const struct bf_order_race *race = bf_order_race(r->facts);
	struct bf_finding *f = bf_order_find(r, e, race, true);

	if (!f)
		return;
	bf_finding_say(f, "; %s read them %s, and could have read what was there before: nothing orders the two",
		       bf_rule_actor(r->rules, e->actor), bf_order_when(e->time_ps, e->number).text);
	bf_order_say_remedy(f, race);
}

const struct bf_rule bf_rule_order_device_read = {
	.about = {
		.id = "ORDER-DEVICE-READ",
		.family = "order",
		.title = "a device reads what nothing orders before its read",
		.severity = BF_SEVERITY_WARNING,
		.hardware = "A plain store becomes visible at any time before the thread's next fence of sufficient scope. A "
			    "device that a doorbell sets to work reads memory whenever it likes.",
		.wrong = "No chain of fences, releases and acquires leads from the store to the device's read. It did "
			 "no harm in this run; in another run, or on another GPU, it could.",
		.fix = "Put a fence that reaches the device (GPU scope for data in the GPU's memory, system scope for "
		       "data in host memory) between the store and the doorbell. If another thread rings, add a "
		       "release after the store and an acquire before the doorbell, both of a scope that includes "
		       "both threads.",
		.sources = "PTX ISA, Memory Consistency Model, Causality order; docs/memory-model.md",
		.example = "run ibgda-put --messages 1 --ordering sc --bug cta-fence",
		.twin = "run ibgda-put --messages 1 --ordering sc",
	},
	.rank = BF_RANK_LUCK + 5,
	.records = BF_SEES(dma_read),
	.when = BF_ORDER_UNORDERED_READ,
	.whens = 1,
	.needs = BF_SEES(store),
	.on = on,
};
