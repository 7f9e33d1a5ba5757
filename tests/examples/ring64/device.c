/* What traces, rules and pictures know of ring64. */
#include "ring64.h"

#include "traces/device.h"

/* The life of an entry: belfry explain ring0.r0:7, belfry stats. */
static const struct bf_life_row rows[] = {
	{ "ring64_doorbell", 0, BF_LIFE_RANGE, NULL, "before", "index", .says = "gets doorbell $index, was $before" },
	{ "ring64_fetch", 1, BF_LIFE_ONE, NULL, "index", .va = "address", .bytes = "entry_bytes",
	  .says = "has entry $index from slot $slot: opcode $opcode, $bytes bytes" },
	{ "ring64_completion", 2, BF_LIFE_ONE, NULL, "index", .says = "writes completion $index: $status" },
	{ .type = NULL },
};
static const struct bf_life life = {
	.name = "ring64", .points = { "doorbell", "fetch", "completion" }, .rows = rows, .prefix = "r"
};
static const struct bf_life *const lives[] = { &life, NULL };

/* Pictures: belfry export. */
static const struct bf_timeline_row timeline[] = {
	{ "ring64_doorbell", BF_ROW_INSTANT, "doorbell $index", .flow = BF_FLOW_RINGS },
	{ "ring64_fetch", BF_ROW_OPENS, "entry $index, $bytes B", { "index" }, 100, .flow = BF_FLOW_FOLLOWS },
	{ "ring64_completion", BF_ROW_CLOSES, .keys = { "index" }, .group = 100 },
	{ .type = NULL },
};
static const struct bf_timeline_signal_row signals[] = {
	{ "ring64_doorbell", "produced", 64, .field = "index" },
	{ "ring64_completion", "completed", 64, .field = "index" },
	{ .type = NULL },
};

/* Rules: belfry rules, belfry lint. */
static void on_fetch(struct bf_device_judge *j, void *queue, const struct bf_device_record *e)
{
	(void)queue;
	bf_device_find_late(j, e, bf_device_u64(e, "index"), (uint32_t)bf_device_u64(e, "slot"));
}

static const struct bf_device_rule entry_order = {
	.about = { .id = "RING64-ENTRY-ORDER",
		   .family = "ring64",
		   .title = "An entry was fetched before its bytes were visible",
		   .severity = BF_SEVERITY_ERROR,
		   .hardware =
		       "The doorbell makes the device read the entry. It gets the bytes that memory holds then.",
		   .wrong =
		       "Stores of the entry that wait in a buffer come too late: the device executes what was there.",
		   .fix = "Put a fence of system scope between the entry and its doorbell.",
		   .sources = "ring64.h",
		   .example = "run ring64-copy --bug no-fence --ordering adversarial",
		   .twin = "run ring64-copy --ordering adversarial" },
	.records = "ring64_fetch",
	.on = on_fetch,
};

static void on_doorbell(struct bf_device_judge *j, void *queue, const struct bf_device_record *e)
{
	const uint64_t index = bf_device_u64(e, "index"), completed = bf_device_u64(e, "completed");

	(void)queue;
	if (index - completed > bf_device_u64(e, "entries"))
		bf_device_find(j, e, index,
			       "the doorbell says %llu entries, %llu are complete: more than the ring of %llu holds",
			       (unsigned long long)index, (unsigned long long)completed,
			       (unsigned long long)bf_device_u64(e, "entries"));
}

static const struct bf_device_rule overrun = {
	.about = { .id = "RING64-OVERRUN",
		   .family = "ring64",
		   .title = "The doorbell is ahead of the ring",
		   .severity = BF_SEVERITY_ERROR,
		   .hardware = "The device counts entries; a slot is fetched again for each lap.",
		   .wrong = "A slot that is filled again before its entry is complete loses that entry.",
		   .fix = "Wait for the completion of the entry that had the slot before.",
		   .sources = "ring64.h",
		   .example = "run ring64-copy --bug no-wait --entries 4",
		   .twin = "run ring64-copy --entries 4" },
	.rank = 10,
	.records = "ring64_doorbell",
	.on = on_doorbell,
};

static const struct bf_device_rule *const rules[] = { &entry_order, &overrun, NULL };

static const struct bf_device_ring ring = {
	.type = "ring64_queue", .va = "base", .bytes = "entry_bytes", .entries = "entries"
};

/* Bytes: belfry decode ring64. */
static void print_entry(FILE *out, const uint8_t *bytes, size_t len)
{
	(void)len;
	fprintf(out, "opcode  %u%s\nbytes   %u\nsource  0x%llx\ntarget  0x%llx\n", bf_get_le32(bytes + RING64_OPCODE),
		bf_get_le32(bytes + RING64_OPCODE) == RING64_OP_COPY ? " (copy)" : "",
		bf_get_le32(bytes + RING64_BYTES), (unsigned long long)bf_get_le64(bytes + RING64_SRC),
		(unsigned long long)bf_get_le64(bytes + RING64_DST));
}

static const struct bf_device_form forms[] = {
	{ .name = "ring64", .bytes = RING64_ENTRY, .print = print_entry },
	{ .name = NULL },
};

const struct bf_device ring64_device = { .name = "ring64",
					 .summary = "a ring of copies",
					 .lives = lives,
					 .rules = rules,
					 .ring = &ring,
					 .timeline = timeline,
					 .signals = signals,
					 .forms = forms };

/* This program has one device of its own. */
const struct bf_device *const bf_devices_outside[] = { &ring64_device, NULL };
