/* The NVMe controller, and its driver: what those who read traces know of it. */
#include "traces/device.h"

extern const struct bf_rule_family bf_rules_nvme;

static const struct bf_rule_family *const families[] = { &bf_rules_nvme, NULL };

static const struct bf_life_row commands_rows[] = {
	{ .type = "nvm_build", .point = 0, .entries = BF_LIFE_ONE, .queue = "qid", .first = "slot", .software = true },
	{ .type = "nvm_ring",
	  .point = 1,
	  .entries = BF_LIFE_RANGE,
	  .queue = "qid",
	  .first = "from",
	  .second = "to",
	  .when = "queue",
	  .is = 0,
	  .software = true },
	{ .type = "nvme_doorbell",
	  .point = 2,
	  .entries = BF_LIFE_RANGE,
	  .queue = "qid",
	  .first = "before",
	  .second = "value",
	  .when = "queue",
	  .is = 0 },
	{ .type = "nvme_fetch",
	  .point = 3,
	  .entries = BF_LIFE_NAMED,
	  .queue = "sqid",
	  .first = "slot",
	  .second = "cid" },
	{ .type = "nvme_start", .point = 4, .entries = BF_LIFE_ONE, .queue = "sqid", .first = "cid" },
	{ .type = "nvme_completion",
	  .point = 5,
	  .entries = BF_LIFE_ONE,
	  .queue = "sqid",
	  .first = "cid",
	  .software = true },
	{ .type = "nvm_completion",
	  .point = 6,
	  .entries = BF_LIFE_ONE,
	  .queue = "qid",
	  .first = "cid",
	  .software = true },
	{ .type = NULL },
};

static const struct bf_life commands = {
	.name = "nvme",
	.points = { "build", "ring", "doorbell", "fetch", "start", "completion", "seen" },
	.rows = commands_rows,
	.slots = "entries",
};

static const struct bf_life *const lives[] = { &commands, NULL };

static const struct bf_timeline_row timeline[] = {
	{ .type = "nvme_doorbell", .verb = BF_ROW_INSTANT, .label = "doorbell $queue $value", .flow = BF_FLOW_RINGS },
	{ .type = "nvme_fetch",
	  .verb = BF_ROW_OPENS,
	  .label = "opcode $opcode, CID $cid",
	  .keys = { "sqid", "cid" },
	  .group = 4,
	  .flow = BF_FLOW_FOLLOWS },
	{ .type = "nvme_completion",
	  .verb = BF_ROW_CLOSES,
	  .keys = { "sqid", "cid" },
	  .group = 4,
	  .flow = BF_FLOW_COMPLETES,
	  .error = "status" },
	{ .type = "nvme_driver_error", .verb = BF_ROW_INSTANT, .label = "driver error: $wrong", .bad = true },
	{ .type = "nvme_state", .verb = BF_ROW_INSTANT, .label = "controller $state" },
	{ .type = "nvm_completion",
	  .verb = BF_ROW_INSTANT,
	  .label = "saw completion of CID $cid",
	  .keys = { "qid" },
	  .flow = BF_FLOW_SEEN,
	  .error = "status" },
	{ .type = "nvm_timeout", .verb = BF_ROW_INSTANT, .label = "gives up on queue $qid", .bad = true },
	{ .type = "nvm_mismatch", .verb = BF_ROW_INSTANT, .label = "wrong data in block $block", .bad = true },
	{ .type = NULL },
};

static const struct bf_timeline_signal_row signals[] = {
	{ "nvm_ring", "tail or head", 16, "to", NULL, "qid", BF_SIGNAL_PLAIN },
	{ "nvm_completion", "phase seen", 1, "phase", NULL, "qid", BF_SIGNAL_PLAIN },
	{ "nvme_doorbell", "doorbell", 16, "value", NULL, "qid", BF_SIGNAL_PLAIN },
	{ "nvme_completion", "sqhd", 16, "sqhd", NULL, NULL, BF_SIGNAL_PLAIN },
	{ "nvme_completion", "phase", 1, "phase", NULL, NULL, BF_SIGNAL_PLAIN },
	{ "nvme_completion", "cq_slot", 16, "cqslot", NULL, NULL, BF_SIGNAL_PLAIN },
	{ "nvme_state", "state", 4, "state", NULL, NULL, BF_SIGNAL_PLAIN },
	{ .type = NULL },
};

static const struct bf_entry_row entries[] = {
	{ .type = "nvme_fetch", .slot = "slot", .label = "opcode" },
	{ .type = "nvme_completion", .slot = "cqslot", .label = "opcode", .error = "status" },
	{ .type = NULL },
};

extern const struct bf_device bf_device_nvme;
const struct bf_device bf_device_nvme = {
	.name = "nvme",
	.summary = "NVMe controller",
	.lives = lives,
	.families = families,
	.timeline = timeline,
	.signals = signals,
	.entries = entries,
};
