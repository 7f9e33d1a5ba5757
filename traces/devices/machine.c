/* Processors, GPUs and the links between them: agents, memory, DMA: what those who read traces know of it. */
#include "traces/device.h"

static const struct bf_busy_row busy[] = {
	{ "dma_read", "done_ps", "len", false },
	{ .type = NULL },
};

static const struct bf_timeline_row timeline[] = {
	/* Who runs and who waits. */
	{ .type = "agent_wait", .verb = BF_ROW_OPENS, .label = "waits for $what", .group = 1 },
	{ .type = "agent_wake", .verb = BF_ROW_CLOSES, .group = 1 },
	{ .type = "agent_start", .verb = BF_ROW_HIDDEN },
	{ .type = "agent_end", .verb = BF_ROW_INSTANT, .label = "ends" },
	{ .type = "deadlock", .verb = BF_ROW_INSTANT, .label = "waits forever: $what", .bad = true },
	/* Memory and links. */
	{ .type = "fence", .verb = BF_ROW_INSTANT, .label = "fence.$scope" },
	{ .type = "store", .verb = BF_ROW_MEMORY, .label = "store $len B at $va" },
	{ .type = "store_visible", .verb = BF_ROW_MEMORY, .label = "visible: $len B at $va" },
	{ .type = "load", .verb = BF_ROW_MEMORY, .label = "load $len B at $va" },
	{ .type = "atomic", .verb = BF_ROW_MEMORY, .label = "atomic $op at $va" },
	{ .type = "stale_load", .verb = BF_ROW_INSTANT, .label = "stale load at $va", .bad = true },
	{ .type = "mmio_store",
	  .verb = BF_ROW_INSTANT,
	  .label = "stores to the device at $va",
	  .keys = { "va" },
	  .flow = BF_FLOW_BEGINS },
	{ .type = "wc_evict", .verb = BF_ROW_INSTANT, .label = "write-combined store at $va", .keys = { "va" } },
	{ .type = "mmio_arrive",
	  .verb = BF_ROW_INSTANT,
	  .label = "store arrives at $va",
	  .keys = { "va" },
	  .flow = BF_FLOW_ARRIVES },
	{ .type = "mmio_load", .verb = BF_ROW_UNTIL, .label = "reads register $va", .until = "done_ps" },
	{ .type = "dma_read", .verb = BF_ROW_UNTIL, .label = "reads $len B at $va", .until = "done_ps" },
	{ .type = "dma_write", .verb = BF_ROW_INSTANT, .label = "writes $len B at $va" },
	{ .type = "dma_rmw", .verb = BF_ROW_UNTIL, .label = "atomic on $len B at $va", .until = "done_ps" },
	{ .type = "iommu_fault", .verb = BF_ROW_INSTANT, .label = "IOMMU fault ($reason) at $iova", .bad = true },
	{ .type = "fault_injected", .verb = BF_ROW_INSTANT, .label = "injected: $kind", .bad = true },
	/* Only for other pictures. */
	{ .type = "region", .verb = BF_ROW_HIDDEN },
	{ .type = NULL },
};

extern const struct bf_rule_family bf_rules_machine, bf_rules_order;

static const struct bf_rule_family *const families[] = { &bf_rules_machine, &bf_rules_order, NULL };

extern const struct bf_device bf_device_machine;
const struct bf_device bf_device_machine = {
	.name = "machine",
	.summary = "what every machine has",
	.families = families,
	.busy = busy,
	.timeline = timeline,
};
