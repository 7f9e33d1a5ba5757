/* The sync unit behind Hopper's barriers, and bulk copies: what those who read traces know of it. */
#include "models/hopper/word.h"
#include "traces/devices/moves.h"
#include "traces/devices/points.h"

extern const struct bf_rule_family bf_rules_hopper;

static const struct bf_rule_family *const families[] = { &bf_rules_hopper, NULL };

static const struct bf_life_row waits_rows[] = {
	{ "hopper_wait", 0, BF_LIFE_ONE, NULL, "warp", .when = "event", .is = 0 },
	{ "hopper_wait", 1, BF_LIFE_ONE, NULL, "warp", .when = "event", .is = 2 },
	{ .type = NULL },
};

static const struct bf_life waits = {
	.name = "barrier waits",
	.points = { "park", "wake" },
	.basis = { [1] = BF_TIME_MEASURED }, /* models/hopper/profile.c */
	.rows = waits_rows,
};

static const struct bf_life_row copies_rows[] = {
#include "traces/devices/hopper_copies.def"
	{ .type = NULL },
};

static const struct bf_life copies = {
	.name = "bulk copies",
	.points = { "issue", "read", "end" },
	.basis = { [1] = BF_TIME_MEASURED, BF_TIME_MEASURED }, /* likewise */
	.rows = copies_rows,
};

static const struct bf_life *const lives[] = { &waits, &copies, NULL };

static const struct bf_timeline_row timeline[] = {
	{ .type = "hopper_op", .verb = BF_ROW_INSTANT, .label = "$op at $address" },
	{ .type = "hopper_wait",
	  .verb = BF_ROW_BY_EVENT,
	  .label = "warp $warp waits at $address",
	  .keys = { "address", "warp" },
	  .group = 5,
	  .until = "event" },
	{ .type = "hopper_bulk", .verb = BF_ROW_OPENS, .label = "$kind $bytes B", .keys = { "copy" }, .group = 6 },
	{ .type = "hopper_bulk_end", .verb = BF_ROW_BY_EVENT, .keys = { "copy" }, .group = 6, .until = "event" },
	{ .type = "hopper_fault", .verb = BF_ROW_INSTANT, .label = "fault: $kind $reason", .bad = true },
	{ .type = "hopper_bulk_fault", .verb = BF_ROW_INSTANT, .label = "copy fault: $reason", .bad = true },
	{ .type = "hopper_stale_read",
	  .verb = BF_ROW_INSTANT,
	  .label = "copy reads stale bytes at $address",
	  .bad = true },
	{ .type = NULL },
};

/* Of a barrier's word. */
static uint64_t phase(uint64_t word)
{
	return bf_mbar_phase(word);
}

static uint64_t pending(uint64_t word)
{
	return bf_mbar_pending(word);
}

static uint64_t tx_count(uint64_t word)
{
	return (uint64_t)(int64_t)bf_mbar_tx(word);
}

static const struct bf_timeline_signal_row signals[] = {
	{ "hopper_op", "phase", 1, "after", NULL, "address", phase },
	{ "hopper_op", "pending", 20, "after", NULL, "address", pending },
	{ "hopper_op", "tx_count", 21, "after", NULL, "address", tx_count },
	{ "hopper_bulk_signal", "phase", 1, "word", NULL, "address", phase },
	{ "hopper_bulk_signal", "pending", 20, "word", NULL, "address", pending },
	{ "hopper_bulk_signal", "tx_count", 21, "word", NULL, "address", tx_count },
	{ .type = NULL },
};

static const char *const named[] = {
	"gpu0.sm0:0x400                 a barrier, phase by phase",
	NULL,
};

extern const struct bf_device bf_device_hopper;
const struct bf_device bf_device_hopper = {
	.name = "hopper",
	.summary = "Hopper barriers and bulk copies",
	.lives = lives,
	.families = families,
	.timeline = timeline,
	.signals = signals,
	.named = named,
};
