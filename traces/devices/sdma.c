/* AMD's copy engine, and its driver: what those who read traces know of it. */
#include <string.h>

#include "models/sdma/decode.h"
#include "traces/device.h"

extern const struct bf_rule_family bf_rules_sdma;

static const struct bf_rule_family *const families[] = { &bf_rules_sdma, NULL };

/* A packet goes by its byte in the ring. Its submission is what the driver reserved, or a doorbell announced. */
enum packet_point { RESERVE, RING, DOORBELL, FETCH, DISPATCH, DONE, RETIRE };

static const struct bf_life_row packets_rows[] = {
	{ "sdma_queue", .role = BF_LIFE_OPEN, .when = "event=0", .va = "ring", .bytes = "bytes" },
	/* padding is nothing but NOPs */
	{ "sdma_reserve", RESERVE, BF_LIFE_BYTES, "queue", "from", "to", .software = true, .keep = "work=pad",
	  .says = "reserves bytes $#from to $#to-1 of the ring[pad?, to fill them with NOPs]",
	  .again = "reserves the same place of the ring again, as bytes $#from to $#to-1" },
	{ "sdma_publish", RING, BF_LIFE_BYTES, "queue", "from", "to", .software = true, .rings = true,
	  .says = "has stored the write pointer and rung for bytes $#from to $#to-1" },
	{ "sdma_doorbell", DOORBELL, BF_LIFE_BYTES, NULL, "before", "published",
	  .says = "the doorbell arrives: $published, was $before: $verdict",
	  .also = "[wptr-published?the write pointer in memory is $wptr at this moment]" },
	{ "sdma_fetch", FETCH, BF_LIFE_BYTES, NULL, "index", "index+len", .when = "ring!=0", .reads = true,
	  .says = "asks for ring bytes $index to $#index+len-1" },
	{ "sdma_packet", RESERVE, BF_LIFE_BYTES, NULL, "index+1", "dwords*4+index", .role = BF_LIFE_ASIDE,
	  .when = "indirect=0", .keep = "around=index+1" },
	{ "sdma_packet", DISPATCH, BF_LIFE_ONE, NULL, "index", .when = "indirect=0", .bytes = "dwords*4",
	  .keep = "work=op", .says = "decodes $name: $dwords dwords, $bytes bytes to move" },
	{ "sdma_packet", RESERVE, BF_LIFE_IN, NULL, "index", .role = BF_LIFE_ASIDE, .keep = "work=op" },
	{ "sdma_packet", DISPATCH, BF_LIFE_ONE, NULL, "index", .role = BF_LIFE_ASIDE, .when = "indirect!=0",
	  .says = "in its indirect buffer, decodes $name: $dwords dwords, $bytes bytes to move" },
	{ "sdma_copied", DISPATCH, BF_LIFE_ONE, NULL, "index", .role = BF_LIFE_ASIDE, .when = "indirect!=0",
	  .step = "done", .says = "every byte is in memory: $bytes bytes, begun $time-start_ps/1000 ns ago" },
	{ "sdma_copied", DONE, BF_LIFE_ONE, NULL, "index", .when = "indirect=0",
	  .says = "every byte is in memory: $bytes bytes, begun $time-start_ps/1000 ns ago" },
	{ "sdma_result", DONE, BF_LIFE_ONE, NULL, "index", .when = "indirect=0 verdict!=1", .step = "result",
	  .keep = "signal=address", .says = "its result at $address: $after, was $before ($verdict)" },
	{ "sdma_result", DISPATCH, BF_LIFE_ONE, NULL, "index", .role = BF_LIFE_ASIDE, .when = "indirect!=0 verdict!=1",
	  .step = "result", .keep = "signal=address",
	  .says = "its result at $address: $after, was $before ($verdict)" },
	{ "sdma_result", DISPATCH, BF_LIFE_IN, NULL, "index", .role = BF_LIFE_ASIDE, .when = "verdict!=1",
	  .step = "signal", .keep = "signal=address",
	  .says = "the submission's signal at $address: $after, was $before ($verdict)" },
	{ "sdma_rptr", RETIRE, BF_LIFE_BEHIND, NULL, "index", .after = "dispatch", .step = "rptr",
	  .says = "moves the read pointer to $index: the place is free again" },
	{ "sdma_fault", RESERVE, BF_LIFE_ALL, NULL, "index", .role = BF_LIFE_STOP, .step = "fault",
	  .says = "the queue stopped at packet $index, dword $dword: $reason" },
	{ "sdma_waited", RESERVE, BF_LIFE_ONE, NULL, "va", .role = BF_LIFE_ASIDE, .of = "signal", .software = true,
	  .once = true, .step = "seen", .says = "sees the signal: $va holds $value" },
	{ "sdma_queue", .role = BF_LIFE_SHUT, .when = "event=3" },
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
	.device_last = DISPATCH, /* not every packet moves bytes */
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
