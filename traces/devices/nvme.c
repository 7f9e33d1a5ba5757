/* The NVMe controller, and its driver: what those who read traces know of it. */
#include <inttypes.h>

#include "models/nvme/prm.h"
#include "models/nvme/text.h"
#include "sim/bytes.h"
#include "sim/member.h"
#include "traces/evidence/evidence.h"
#include "traces/device.h"

#define SOURCE "[source=1? (shadow doorbell)][source=2? (in memory)]"

extern const struct bf_rule_family bf_rules_nvme;

static const struct bf_rule_family *const families[] = { &bf_rules_nvme, NULL };

/* A command goes by its slot until it is fetched, and by its identifier from then on. */
enum command_point { BUILD, RING, DOORBELL, FETCH, START, COMPLETION, SEEN };

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
	{ "nvme_queue", 0, BF_LIFE_ONE, "qid", .role = BF_LIFE_OPEN, .when = "queue=0 what=0", .va = "base",
	  .bytes = "size" },
	{ "nvme_queue", 0, BF_LIFE_ONE, "qid", .role = BF_LIFE_ANSWERS, .when = "queue=1 what=0", .va = "base",
	  .elsewhere = true },
	{ "nvm_build", BUILD, BF_LIFE_ONE, "qid", "slot", "q0[31:16]", .software = true, .keep = "built=q0[31:16]+1",
	  .va = "va", .bytes = "64",
	  .says = "stores an entry into slot $slot of SQ $qid: opcode $#q0[7:0], CID $#q0[31:16]",
	  .also = "namespace $q0[63:32], PRP1 $q3, PRP2 $q4, block $q5-0" },
	/* Asynchronous event requests wait until there is something to say. */
	{ "nvm_build", 0, BF_LIFE_ONE, "qid", "slot", .role = BF_LIFE_IDLE, .software = true,
	  .when = "qid=0 q0[7:0]=12" },
	{ "nvm_ring", RING, BF_LIFE_RANGE, "qid", "from", "to", .when = "queue=0", .software = true, .rings = true,
	  .says = "rings: tail $to, was $from[mmio?| (shadow doorbell only)]" },
	{ "nvme_doorbell", DOORBELL, BF_LIFE_RANGE, "qid", "before", "value", .when = "queue=0 accepted!=0",
	  .says = "the doorbell arrives: tail $value, was $before: $pending entries to fetch" SOURCE },
	{ "nvme_doorbell", BUILD, BF_LIFE_RANGE, "qid", "before", "value", .role = BF_LIFE_ASIDE,
	  .when = "queue=0 accepted=0",
	  .says = "the doorbell arrives: tail $value, was $before" SOURCE "; it is not accepted" },
	{ "nvme_fetch", FETCH, BF_LIFE_NAMED, "sqid", "slot", "cid", .begins = true, .reads = true,
	  .says = "has the entry of slot $slot: opcode $opcode, CID $cid"
		  "[built?[cid+1-built?, which is not what was built there]]",
	  .lines = sqe_lines },
	{ "nvme_fetch", START, BF_LIFE_ONE, "sqid", "cid", .role = BF_LIFE_IDLE, .when = "sqid=0 opcode=12" },
	{ "nvme_start", START, BF_LIFE_ONE, "sqid", "cid", .says = "starts it" },
	{ "nvme_held", START, BF_LIFE_ONE, "sqid", "cid", .role = BF_LIFE_ASIDE, .elsewhere = true, .keep = "held=1",
	  .step = "held", .says = "keeps its completion: CQ $cqid is full, its head is at $head" },
	{ "nvme_completion", COMPLETION, BF_LIFE_ONE, "sqid", "cid", .elsewhere = true, .lands = "cqslot*16",
	  .lands_bytes = 16, .answers = "cqid",
	  .says = "completes it: slot $cqslot of CQ $cqid, status $status, phase $phase, SQ head $sqhd",
	  .also = "of that: fetch $fetch_ps/1000 ns, data $data_ps/1000 ns, medium $media_ps/1000 ns" },
	{ "nvm_completion", BUILD, BF_LIFE_ONE, "qid", "cid", .role = BF_LIFE_ASIDE, .software = true, .step = "seen",
	  .says = "[@completion?|takes the completion from slot $slot, although the controller has not completed it]" },
	{ "nvm_completion", SEEN, BF_LIFE_ONE, "qid", "cid", .software = true, .after = "completion",
	  .keep = "answered=slot",
	  .says = "takes the completion from slot $slot: status $status, phase $phase; slots before $freed are free "
		  "again" },
	{ "nvm_ring", SEEN, BF_LIFE_RANGE, "qid", "from", "to", .role = BF_LIFE_ASIDE, .of = "answered",
	  .when = "queue=1", .software = true, .once = true, .step = "cq-ring",
	  .says = "tells the controller that slot $answered of the completion queue is free" },
	{ "nvm_timeout", BUILD, BF_LIFE_ALL, "qid", .role = BF_LIFE_STOP, .software = true, .once = true,
	  .step = "gives-up",
	  .says = "gave up after $waited ns: $inflight commands out, tail $sq_tail, rung $sq_rung, waits at CQ slot "
		  "$cq_head for phase $cq_phase" },
	{ "nvme_state", BUILD, BF_LIFE_ALL, "*", .role = BF_LIFE_ASIDE, .step = "state",
	  .says = "[@seen?|the controller is $state now ($reason)]" },
	{ "nvme_driver_error", BUILD, BF_LIFE_ALL, "qid", .role = BF_LIFE_ASIDE, .elsewhere = true, .step = "error",
	  .says = "[@seen?|the driver did wrong: $wrong, value $#value]" },
	{ "nvme_queue", 0, BF_LIFE_ONE, "qid", .role = BF_LIFE_SHUT, .when = "queue=0 what!=0 what!=1" },
	/* Linux' trace events tell of set-up and completion alone. */
	{ "ftrace_setup", START, BF_LIFE_ONE, "qid", "cid", .when = "side=0", .captured = true, .begins = true,
	  .keep = "line=line", .step = "setup",
	  .says = "the kernel sets the command up: opcode $opcode, CID $cid (line $line)" },
	{ "ftrace_setup", START, BF_LIFE_ONE, "qid", "cid", .role = BF_LIFE_IDLE, .when = "side=0 qid=0 opcode=12",
	  .captured = true },
	{ "ftrace_complete", SEEN, BF_LIFE_ONE, "qid", "cid", .when = "side=0", .captured = true, .after = "start",
	  .says = "the kernel has its completion: status $status (line $line)" },
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
	const int64_t status = e->device == BF_EVIDENCE_NVME ? e->fact[BF_FACT_NVME] : -1;

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
