/* The NVMe controller, and its driver: what those who read traces know of it. */
#include <inttypes.h>

#include "sim/bytes.h"
#include "traces/device.h"

#define SOURCE "[source=1? (shadow doorbell)][source=2? (in memory)]"

extern const struct bf_rule_family bf_rules_nvme;

static const struct bf_rule_family *const families[] = { &bf_rules_nvme, NULL };

/* A command goes by its slot until it is fetched, and by its identifier from then on. */
enum command_point { BUILD, RING, DOORBELL, FETCH, START, COMPLETION, SEEN };

/* What the controller has, which may not be what was built. */
static bool sqe_lines(const struct bf_device_record *e, unsigned n, char *out, size_t cap)
{
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

/* models/nvme/profile_timed.c */
static const char *const fitted[] = { "980pro", "optane", "p3700", "m9100", "mtr-slc", NULL };

extern const struct bf_device bf_device_nvme;
const struct bf_device bf_device_nvme = {
	.name = "nvme",
	.summary = "NVMe controller",
	.lives = lives,
	.fitted = fitted,
	.families = families,
	.timeline = timeline,
	.signals = signals,
	.entries = entries,
};
