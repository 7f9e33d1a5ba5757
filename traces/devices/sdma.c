/* AMD's copy engine, and its driver: what those who read traces know of it. */
#include <string.h>

#include "models/sdma/decode.h"
#include "traces/devices/moves.h"
#include "traces/devices/points.h"

extern const struct bf_rule_family bf_rules_sdma;

static const struct bf_rule_family *const families[] = { &bf_rules_sdma, NULL };

static const struct bf_life_row packets_rows[] = {
#include "traces/devices/sdma_packets.def"
	{ .type = NULL },
};

#define BYTES "bytes $#from to $#to-1 "
static const struct bf_life_end packets_ends[] = {
	{ "ring", BYTES
	  "were reserved by @reserve and never published: [sdma_publish?the last doorbell, by @sdma_publish, was for "
	  "what lies below $#sdma_publish.to|nobody has rung]" },
	{ "doorbell", BYTES
	  "were published by @ring: [sdma_doorbell?the last doorbell that arrived said $sdma_doorbell.published|no "
	  "doorbell has arrived]" },
	{ "fetch", BYTES "were announced by a doorbell, and the engine has asked for nothing there" },
	{ "dispatch", "[around?the engine finds no packet at $#index: the byte lies inside that of $#around-1|" BYTES
		      "were announced by a doorbell, and the engine has decoded no packet there; its read pointer is "
		      "$#sdma_rptr.index]" },
	{ "done", BYTES "are being executed: the read pointer is at $#sdma_rptr.index" },
	{ "retire", BYTES "are being executed: the read pointer is at $#sdma_rptr.index" },
	{ "completion", BYTES "are behind the engine, which found nothing but NOPs there: no packet that signals" },
	{ .name = NULL },
};

static const struct bf_life packets = {
	.name = "sdma",
	.points = { "reserve", "ring", "doorbell", "fetch", "dispatch", "done", "retire" },
	.basis = { [1] = BF_TIME_MEASURED }, /* sim/view_cost.c */
	.rows = packets_rows,
	.device_last = BF_SDMA_AT_DISPATCH, /* not every packet moves bytes */
	.prefix = "q",
	.entry = "packet",
	.group = "submission",
	.hex = true,
	.needs = "work",
	.ends = packets_ends,
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
	{ "sdma_doorbell", "published", 64, "published", NULL, NULL, NULL },
	{ "sdma_rptr", "read pointer", 64, "index", NULL, NULL, NULL },
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

static const struct bf_memory_row memory[] = {
	{ "sdma_queue", "ring", "bytes", .label = "ring of @actor", .entry = "4", .element = "dword",
	  .when = "event=0" },
	{ "sdma_queue", "rptr", "8", .label = "read pointer of @actor", .when = "event=0" },
	{ "sdma_queue", "wptr", "8", .label = "write pointer of @actor", .when = "event=0" },
	{ .type = NULL },
};

/* models/sdma/profile_timed.c */
static const char *const fitted[] = { "mi50", "mi200", "mi300x", "mi350x", NULL };

static const struct bf_fill_row fills[] = {
	{ "sdma_doorbell", "published", "retired", "sdma_queue", "bytes" },
	{ .type = NULL },
};

static const char *const named[] = {
	"sdma0.q0:0x60                  the packet at a byte of the ring, counted since the queue began",
	NULL,
};

extern const struct bf_device bf_device_sdma;
const struct bf_device bf_device_sdma = {
	.name = "sdma",
	.summary = "SDMA copy engine",
	.lives = lives,
	.fitted = fitted,
	.families = families,
	.fills = fills,
	.busy = busy,
	.timeline = timeline,
	.signals = signals,
	.entries = entries,
	.memory = memory,
	.named = named,
};
