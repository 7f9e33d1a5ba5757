/* AMD's copy engine, and its driver: what those who read traces know of it. */
#include <string.h>

#include "models/sdma/decode.h"
#include "traces/device.h"

extern const struct bf_rule_family bf_rules_sdma;

static const struct bf_rule_family *const families[] = { &bf_rules_sdma, NULL };

static const struct bf_life_row packets_rows[] = {
	{ .type = "sdma_doorbell",
	  .point = 0,
	  .entries = BF_LIFE_UPTO,
	  .first = "published",
	  .when = "verdict",
	  .is = 0 },
	{ .type = "sdma_packet", .point = 1, .entries = BF_LIFE_ONE, .first = "index", .when = "indirect", .is = 0 },
	{ .type = "sdma_copied", .point = 2, .entries = BF_LIFE_ONE, .first = "index", .when = "indirect", .is = 0 },
	{ .type = "sdma_result", .point = 2, .entries = BF_LIFE_ONE, .first = "index", .when = "indirect", .is = 0 },
	{ .type = NULL },
};

static const struct bf_life packets = {
	.name = "sdma",
	.points = { "doorbell", "dispatch", "done" },
	.rows = packets_rows,
};

static const struct bf_life *const lives[] = { &packets, NULL };

static const struct bf_busy_row busy[] = {
	{ "sdma_copied", "start_ps", "bytes", true },
	{ .type = NULL },
};

static const struct bf_timeline_row timeline[] = {
	{ .type = "sdma_doorbell", .verb = BF_ROW_INSTANT, .label = "doorbell $published", .flow = BF_FLOW_RINGS },
	{ .type = "sdma_packet", .verb = BF_ROW_INSTANT, .label = "$name", .flow = BF_FLOW_FOLLOWS },
	{ .type = "sdma_copied", .verb = BF_ROW_SINCE, .label = "copies $bytes B", .until = "start_ps" },
	{ .type = "sdma_fault", .verb = BF_ROW_INSTANT, .label = "stops: $reason", .bad = true },
	{ .type = "sdma_suspect", .verb = BF_ROW_INSTANT, .label = "suspect: $what", .bad = true },
	/* Only for other pictures. */
	{ .type = "sdma_surface", .verb = BF_ROW_HIDDEN },
	{ .type = NULL },
};

static const struct bf_timeline_signal_row signals[] = {
	{ "sdma_doorbell", "published", 64, "published", NULL, NULL, BF_SIGNAL_PLAIN },
	{ "sdma_rptr", "read pointer", 64, "index", NULL, NULL, BF_SIGNAL_PLAIN },
	{ .type = NULL },
};

/* The dialect of its packets is in the record of a queue's creation. */
static void print_packet(FILE *out, const struct bf_device_record *e, const struct bf_device_record *about)
{
	struct bf_sdma_dialect dialect = { .gen = BF_SDMA_V4 };
	const uint32_t n = e->tail_len / 4 < 64 ? e->tail_len / 4 : 64;
	struct bf_sdma_packet p;
	uint32_t dw[64];

	if (about) {
		dialect.gen = (enum bf_sdma_gen)bf_device_u64(about, "gen");
		dialect.wide_rect = bf_device_u64(about, "wide_rect") != 0;
		dialect.wide_count = bf_device_u64(about, "wide_count") != 0;
	}
	memcpy(dw, e->tail, n * sizeof(*dw));
	bf_sdma_decode(&dialect, dw, n, &p);
	bf_sdma_print(out, &p, dw, n);
}

static const struct bf_entry_row entries[] = {
	{ .type = "sdma_packet", .slot = "index", .label = "name", .print = print_packet, .about = "sdma_queue" },
	{ .type = NULL },
};

extern const struct bf_device bf_device_sdma;
const struct bf_device bf_device_sdma = {
	.name = "sdma",
	.summary = "SDMA copy engine",
	.lives = lives,
	.families = families,
	.busy = busy,
	.timeline = timeline,
	.signals = signals,
	.entries = entries,
};
