/* The NVMe controller, and its driver: what those who read traces know of it. */
#include <inttypes.h>

#include "models/nvme/prm.h"
#include "models/nvme/text.h"
#include "sim/bytes.h"
#include "sim/member.h"
#include "traces/evidence/evidence.h"
#include "traces/devices/moves.h"
#include "traces/devices/points.h"

#define SOURCE "[source=1? (shadow doorbell)][source=2? (in memory)]"

extern const struct bf_rule_family bf_rules_nvme;

static const struct bf_rule_family *const families[] = { &bf_rules_nvme, NULL };

/* What the controller has, which may not be what was built. */
static bool sqe_lines(const struct bf_device_record *e, const struct bf_device_record *about, unsigned n, char *out,
		      size_t cap)
{
	(void)about;
	if (n || e->tail_len != 64)
		return false;
	snprintf(out, cap, "CID 0x%x, namespace %u, PRP1 0x%" PRIx64 ", PRP2 0x%" PRIx64 ", block %" PRIu64,
		 bf_get_le16(e->tail + 2), bf_get_le32(e->tail + 4), bf_get_le64(e->tail + 24),
		 bf_get_le64(e->tail + 32), bf_get_le64(e->tail + 40));
	return true;
}

static const struct bf_life_row commands_rows[] = {
#include "traces/devices/nvme_commands.def"
	{ .type = NULL },
};

static const struct bf_life_end commands_ends[] = {
	{ "ring",
	  "@build filled slot $slot (CID $#cid), and the controller was never told: [nvm_ring?the last doorbell, by "
	  "@nvm_ring, said $nvm_ring.to|nobody has rung this queue]" },
	{ "doorbell", "@ring rang for slot $slot (CID $#cid); [nvme_doorbell?the last doorbell that arrived said "
		      "$nvme_doorbell.value|no doorbell has arrived]" },
	{ "fetch", "the controller was told of slot $slot (CID $#cid) and has not fetched it" },
	{ "start", "CID $#cid was fetched from slot $slot and has not begun" },
	{ "completion",
	  "CID $#cid [held?is done, and its completion is kept: the completion queue is full|[line?was set "
	  "up (line $line), and the trace has no completion of it|was begun and is not complete]]" },
	{ "seen", "CID $#cid is complete, and nobody has taken the completion" },
	{ .name = NULL },
};

static const struct bf_life commands = {
	.name = "nvme",
	.points = { "build", "ring", "doorbell", "fetch", "start", "completion", "seen" },
	/* Threads of a GPU: sim/view_cost.c. A command is its medium's time, for which a data sheet stands. */
	.basis = { [1] = BF_TIME_MEASURED, [5] = BF_TIME_SOURCED, BF_TIME_MEASURED },
	.rows = commands_rows,
	.slots = "entries",
	.prefix = "sq",
	.entry = "command",
	.bytes = "entry",
	.slot = "slot",
	.id = "cid",
	.slot_bytes = 64,
	.ends = commands_ends,
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
	{ "nvm_ring", "tail or head", 16, "to", NULL, "qid", NULL },
	{ "nvm_completion", "phase seen", 1, "phase", NULL, "qid", NULL },
	{ "nvme_doorbell", "doorbell", 16, "value", NULL, "qid", NULL },
	{ "nvme_completion", "sqhd", 16, "sqhd", NULL, NULL, NULL },
	{ "nvme_completion", "phase", 1, "phase", NULL, NULL, NULL },
	{ "nvme_completion", "cq_slot", 16, "cqslot", NULL, NULL, NULL },
	{ "nvme_state", "state", 4, "state", NULL, NULL, NULL },
	{ .type = NULL },
};

static const struct bf_entry_row entries[] = {
	{ .type = "nvme_fetch", .slot = "slot", .label = "opcode" },
	{ .type = "nvme_completion", .slot = "cqslot", .label = "opcode", .error = "status" },
	{ .type = NULL },
};

/* ---- bytes of an entry, a completion, a status ---- */

static void status_fields(FILE *out, uint32_t status)
{
	const uint32_t code = status & 0x7ff;
	const char *text = bf_nvme_status_text(code);

	fprintf(out, "status  type %u, code 0x%02x: %s%s%s\n", code >> 8, code & 0xff,
		code == 0       ? "success"
		: text          ? text
		: code >= 0x700 ? "the vendor's own"
				: "not known",
		status & 1u << 14 ? ", do not retry" : "", status & 1u << 13 ? ", more in the error log" : "");
}

/* As drivers and nvme-cli print it: without the phase, the last two bytes of a number. */
static void print_status(FILE *out, const uint8_t *bytes, size_t len)
{
	status_fields(out, bf_get_be16(bytes + len - 2));
}

static bool status_said(const struct bf_evidence *e, uint8_t *bytes)
{
	const int64_t status = e->device == BF_EVIDENCE_DRIVE ? e->fact[BF_FACT_STATUS] : -1;

	if (status < 0)
		return false;
	bf_put_be16(bytes, (uint16_t)(status | (e->fact[BF_FACT_DNR] > 0 ? 1 << 14 : 0)));
	return true;
}

static void print_cqe(FILE *out, const uint8_t *bytes, size_t len)
{
	const uint32_t status = bf_get_le16(bytes + 14);

	(void)len;
	fprintf(out, "dw0     0x%x\nsqhd    %u\nsqid    %u\ncid     0x%x\nphase   %u\n", bf_get_le32(bytes),
		bf_get_le16(bytes + 8), bf_get_le16(bytes + 10), bf_get_le16(bytes + 12), status & 1);
	status_fields(out, status >> 1);
}

/* Whether it is a command of the admin queue, the bytes do not say: the opcode is read as one of the other queues. */
static void print_sqe(FILE *out, const uint8_t *bytes, size_t len)
{
	static const char *const io[] = { [BF_NVME_IO_FLUSH] = "Flush",
					  [BF_NVME_IO_WRITE] = "Write",
					  [BF_NVME_IO_READ] = "Read",
					  [BF_NVME_IO_WRITE_UNCORRECTABLE] = "Write Uncorrectable",
					  [BF_NVME_IO_COMPARE] = "Compare",
					  [BF_NVME_IO_WRITE_ZEROES] = "Write Zeroes",
					  [BF_NVME_IO_DSM] = "Dataset Management",
					  [BF_NVME_IO_VERIFY] = "Verify",
					  [BF_NVME_IO_COPY] = "Copy" };
	const char *name = bytes[0] < BF_ARRAY_LEN(io) && io[bytes[0]] ? io[bytes[0]] : "none that is known";

	(void)len;
	fprintf(out, "opcode  0x%02x: on an I/O queue %s\nfuse    %u\npsdt    %u\ncid     0x%x\nnsid    %u\n", bytes[0],
		name, bytes[1] & 3u, bytes[1] >> 6, bf_get_le16(bytes + 2), bf_get_le32(bytes + 4));
	fprintf(out, "mptr    0x%" PRIx64 "\nprp1    0x%" PRIx64 "\nprp2    0x%" PRIx64 "\n", bf_get_le64(bytes + 16),
		bf_get_le64(bytes + 24), bf_get_le64(bytes + 32));
	for (uint32_t i = 10; i < 16; i++)
		fprintf(out, "cdw%u   0x%08x\n", i, bf_get_le32(bytes + 4 * (size_t)i));
	if (bytes[0] == BF_NVME_IO_READ || bytes[0] == BF_NVME_IO_WRITE)
		fprintf(out, "blocks  %u from %" PRIu64 ", if it is a %s\n", bf_get_le16(bytes + 48) + 1u,
			bf_get_le64(bytes + 40), name);
}

static const struct bf_device_form forms[] = {
	{ "nvme-sqe", sizeof(struct bf_nvme_sqe), print_sqe, NULL },
	{ "nvme-cqe", sizeof(struct bf_nvme_cqe), print_cqe, NULL },
	{ "nvme-status", 2, print_status, status_said },
	{ .name = NULL },
};

static const struct bf_memory_row memory[] = {
	{ "nvme_queue", "base", "size*64", .label = "ring of SQ $qid", .entry = "64", .element = "slot",
	  .when = "queue=0 what=0" },
	{ "nvme_queue", "base", "size*16", .label = "ring of CQ $cqid", .entry = "16", .element = "slot",
	  .when = "queue=1 what=0" },
	{ .type = NULL },
};

/* models/nvme/profile_timed.c */
static const char *const fitted[] = { "980pro", "optane", "p3700", "m9100", "mtr-slc", NULL };

static const struct bf_fill_row fills[] = {
	{ "nvme_doorbell", "pending", NULL, "nvme_queue", "size" },
	{ .type = NULL },
};

static const char *const named[] = {
	"ssd0.sq1:cid=5, ssd0.sq1:3#2   a command by its identifier or slot; #2: the second use",
	"ssd0.cq1:#3                    the command that completion 3 of a queue completes, counted from 0",
	NULL,
};

extern const struct bf_device bf_device_nvme;
const struct bf_device bf_device_nvme = {
	.name = "nvme",
	.summary = "NVMe controller",
	.lives = lives,
	.fitted = fitted,
	.families = families,
	.fills = fills,
	.timeline = timeline,
	.signals = signals,
	.entries = entries,
	.memory = memory,
	.forms = forms,
	.named = named,
};
