/* The ConnectX, and the IBGDA drivers that fill its queues: what those who read traces know of it. */
#include <inttypes.h>
#include <stdarg.h>

#include "models/fabric/roce.h"
#include "models/mlx5/wqe.h"
#include "traces/device.h"

extern const struct bf_rule_family bf_rules_mlx5, bf_rules_ll, bf_rules_shmem;

static const struct bf_rule_family *const families[] = { &bf_rules_mlx5, &bf_rules_ll, &bf_rules_shmem, NULL };

enum send_point { RESERVE, BUILD, PUBLISH, RING, DOORBELL, FETCH, START, DONE, COMPLETION, SEEN };

/* ---- what the bytes say ---- */

struct lines {
	unsigned wanted, at;
	char *out;
	size_t cap;
};

static void line(struct lines *l, const char *fmt, ...) BF_PRINTF(2, 3);
static void line(struct lines *l, const char *fmt, ...)
{
	va_list ap;

	if (l->at++ != l->wanted)
		return;
	va_start(ap, fmt);
	vsnprintf(l->out, l->cap, fmt, ap);
	va_end(ap);
}

#define SGE_LINES_MAX 4u

static void data_lines(struct lines *l, const struct bf_mlx5_wqe *w)
{
	if (w->has_inline)
		line(l, "%" PRIu32 " bytes inline, at byte %" PRIu32 " of the entry", w->inline_len, w->inline_offset);
	for (uint32_t i = 0; i < w->nsge && i < SGE_LINES_MAX; i++)
		line(l, "segment %" PRIu32 ": %" PRIu32 " bytes at 0x%" PRIx64 ", lkey 0x%" PRIx32, i, w->sge[i].len,
		     w->sge[i].va, w->sge[i].lkey);
	if (w->nsge > SGE_LINES_MAX)
		line(l, "and %" PRIu32 " segments more", w->nsge - SGE_LINES_MAX);
}

/* `about`: the last entry that had an address vector, which changes how the bytes are read. */
static bool wqe_lines(const struct bf_device_record *e, const struct bf_device_record *about, unsigned n, char *out,
		      size_t cap)
{
	static const char *const when[] = { "only on error", "on the first error", "always", "always, with an event" };
	const bool dc = about && bf_device_u64(about, "index") == bf_device_u64(e, "index");
	struct lines l = { .wanted = n, .out = out, .cap = cap };
	struct bf_error err = { 0 };
	struct bf_mlx5_wqe w;

	if (dc ? bf_mlx5_dc_wqe_decode(e->tail, e->tail_len, &w, &err)
	       : bf_mlx5_wqe_decode(e->tail, e->tail_len, &w, &err)) {
		line(&l, "malformed: %.120s", err.text);
		return l.at > n;
	}
	line(&l, "%s, entry %u, %u segments of 16 bytes in %u block%s, %" PRIu32 " bytes of data",
	     bf_mlx5_opcode_name(w.opcode), w.index, w.ds, w.wqebbs, w.wqebbs == 1 ? "" : "s", w.length);
	if (w.av_len)
		line(&l, "for DCT 0x%" PRIx32 " with key 0x%" PRIx64 ", stream %u (%u bytes of address vector)", w.dct,
		     w.dc_key, w.stream, w.av_len);
	if (w.rkey || w.raddr)
		line(&l, "remote address 0x%" PRIx64 ", rkey 0x%" PRIx32, w.raddr, w.rkey);
	if (w.atomic_size)
		line(&l, "%u-byte atomic: operand 0x%" PRIx64 ", compare 0x%" PRIx64, w.atomic_size, w.swap_add,
		     w.compare);
	data_lines(&l, &w);
	line(&l, "completion %s%s%s%s", when[w.ce & 3],
	     w.fm == BF_MLX5_FM_NONE ? "" : ", fenced: waits for earlier READs and atomics",
	     w.solicited ? ", solicited" : "", w.signature ? ", signed" : "");
	return l.at > n;
}

static bool syndrome_lines(const struct bf_device_record *e, const struct bf_device_record *about, unsigned n,
			   char *out, size_t cap)
{
	const uint8_t syndrome = (uint8_t)bf_device_u64(e, "syndrome"), vendor = (uint8_t)bf_device_u64(e, "vendor");
	const char *meaning = bf_mlx5_vendor_text(syndrome, vendor);

	(void)about;
	if (n || !syndrome)
		return false;
	snprintf(out, cap, "syndrome 0x%02x (%s), vendor syndrome 0x%02x%s%s", syndrome,
		 bf_mlx5_syndrome_text(syndrome), vendor, *meaning ? ": " : "", meaning);
	return true;
}

/* A captured completion is its bytes. */
static bool is_captured(const struct bf_device_record *e, uint64_t queue, uint64_t index)
{
	const struct bf_mlx5_cqe *c = (const void *)e->tail;
	uint8_t opcode;

	if (e->tail_len != sizeof(*c))
		return false;
	opcode = (uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, c->op_own);
	return BF_FIELD_GET(BF_MLX5_CQE_QPN, bf_be32(c->sop_drop_qpn)) == queue && bf_be16(c->wqe_counter) == index &&
	       (opcode == BF_MLX5_CQE_REQ || opcode == BF_MLX5_CQE_REQ_ERR);
}

static bool captured_lines(const struct bf_device_record *e, const struct bf_device_record *about, unsigned n,
			   char *out, size_t cap)
{
	const struct bf_mlx5_err_cqe *bad = (const void *)e->tail;
	const struct bf_mlx5_cqe *c = (const void *)e->tail;
	const uint8_t opcode = (uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, c->op_own);
	struct lines l = { .wanted = n, .out = out, .cap = cap };

	(void)about;
	line(&l, "has completion %" PRIu64 " of CQ 0x%" PRIx64 ": %s, wqe_counter %u (line %" PRIu64 ")",
	     bf_device_u64(e, "index"), bf_device_u64(e, "cqn"), bf_mlx5_cqe_opcode_name(opcode),
	     bf_be16(c->wqe_counter), bf_device_u64(e, "line"));
	if (opcode == BF_MLX5_CQE_REQ_ERR)
		line(&l, "syndrome 0x%02x (%s), vendor syndrome 0x%02x", bad->syndrome,
		     bf_mlx5_syndrome_text(bad->syndrome), bad->vendor_err_synd);
	return l.at > n;
}

/* What the other end did for a message: with a key when it names memory. */
static bool request_lines(const struct bf_device_record *e, const struct bf_device_record *about, unsigned n, char *out,
			  size_t cap)
{
	const uint8_t opcode = (uint8_t)bf_device_u64(e, "opcode");
	const bool keyed = opcode >= BF_RC_WRITE_FIRST && opcode <= BF_RC_READ_REQUEST && bf_device_u64(e, "rkey") != 0;
	struct lines l = { .wanted = n, .out = out, .cap = cap };

	(void)about;
	if (keyed)
		line(&l, "%s done: rkey 0x%" PRIx64 " is good, %" PRIu64 " bytes at 0x%" PRIx64,
		     bf_roce_opcode_name(opcode), bf_device_u64(e, "rkey"), bf_device_u64(e, "length"),
		     bf_device_u64(e, "va"));
	else
		line(&l, "%s done: %" PRIu64 " bytes", bf_roce_opcode_name(opcode), bf_device_u64(e, "length"));
	return l.at > n;
}

/* ---- a send entry, from its driver to the other end and back ---- */

#define ENTRIES(from, count) "[" count "=1?entry $" from "|entries $" from " to $" from "+" count "-1]"
#define RUNG "[to-from=1?entry $from|entries $from to $to-1]"
#define WRITES "[verdict?$verdict|writes] CQE $count of CQ $cqn: $opcode, wqe_counter $index"
#define FAILS "QP $qpn fails: $why"
#define KEY "checks key $key for $access of $length bytes at $va: $why"
#define TURNS "QP $qpn goes from $from to $to"

/*
 * Of the requester's completions, good (0) or not (13), which are not the receiver's. One may have been lost, or not
 * asked for: then a later one covers the entry.
 */
#define COVERED(value, name)                                                                                           \
	{                                                                                                              \
		.type = "cqe", .point = COMPLETION, .entries = BF_LIFE_ALL, .queue = "qpn",                            \
		.when = "opcode=" value " verdict=0", .story = true, .after = "done", .given = name, .lands = "iova",  \
		.says = WRITES ", which covers this one too", .lines = syndrome_lines                                  \
	}
#define CQE(value)                                                                                                     \
	{ .type = "cqe",                                                                                               \
	  .point = COMPLETION,                                                                                         \
	  .queue = "qpn",                                                                                              \
	  .first = "index",                                                                                            \
	  .when = "opcode=" value " verdict=0",                                                                        \
	  .elsewhere = true,                                                                                           \
	  .covers = "lost",                                                                                            \
	  .answers = "cqn",                                                                                            \
	  .lands = "iova",                                                                                             \
	  .says = WRITES,                                                                                              \
	  .lines = syndrome_lines },                                                                                   \
	    { .type = "cqe",                                                                                           \
	      .role = BF_LIFE_ASIDE,                                                                                   \
	      .point = FETCH,                                                                                          \
	      .queue = "qpn",                                                                                          \
	      .first = "index",                                                                                        \
	      .when = "opcode=" value " verdict!=0",                                                                   \
	      .elsewhere = true,                                                                                       \
	      .keep = "lost=1",                                                                                        \
	      .answers = "cqn",                                                                                        \
	      .step = "completion",                                                                                    \
	      .says = WRITES,                                                                                          \
	      .lines = syndrome_lines,                                                                                 \
	      .until = "completion" },                                                                                 \
	    COVERED(value, "silent"), COVERED(value, "lost")

/* A row of the story alone, from one point to another. */
#define STORY(record, from, to)                                                                                        \
	.type = record, .point = from, .until = to, .role = BF_LIFE_ASIDE, .story = true, .queue = "qpn"
#define OF_QUEUE .entries = BF_LIFE_ALL
#define AT_PEER .entries = BF_LIFE_ALL, .peer = true, .by = BF_LIFE_BY_FAR

static const struct bf_life_row sends_rows[] = {
	{ "qp_config", 0, BF_LIFE_ONE, "qpn", .role = BF_LIFE_ASIDE, .bytes = "sq_wqebbs" },
	{ "qp_state", 0, BF_LIFE_ONE, "qpn", .role = BF_LIFE_OPEN, .when = "to=0" },
	{ "qp_state", 0, BF_LIFE_ONE, "qpn", .role = BF_LIFE_ASIDE },
	{ "qp_path", 0, BF_LIFE_ONE, "qpn", "remote_qpn", "remote_ipv4", .role = BF_LIFE_PEER, .va = "ipv4" },
	/* A capture knows both ends, and what was in the ring when the doorbell rang. */
	{ "capture_qp", 0, BF_LIFE_ALL, "qpn", "dest_qpn", .role = BF_LIFE_PEER, .story = true, .by = BF_LIFE_BY_ANY },
	{ "capture_qp", 0, BF_LIFE_ALL, "dest_qpn", "qpn", .role = BF_LIFE_PEER, .story = true, .by = BF_LIFE_BY_ANY },
	{ "capture_doorbell", 0, BF_LIFE_BELOW, "qpn", "dbrec", .role = BF_LIFE_AHEAD, .story = true, .software = true,
	  .captured = true, .by = BF_LIFE_BY_ANY, .until = "fetch", .step = "post",
	  .says = "sets the doorbell record to $dbrec and rings (line $line)" },
	{ STORY("capture_wqe", 0, "fetch"), .first = "index", .software = true, .captured = true, .by = BF_LIFE_BY_ANY,
	  .first_known = true, .once = true, .with = "capture_doorbell", .step = "write",
	  .says = "writes entry $index into the ring: $tail bytes (line $line)" },
	{ STORY("capture_cqe", 0, NULL), .is_about = is_captured, .captured = true, .by = BF_LIFE_BY_ANY,
	  .first_known = true, .once = true, .keep = "captured=1", .step = "capture", .lines = captured_lines },

	{ "ibgda_reserve", RESERVE, BF_LIFE_COUNT, "qpn", "base", "count", .software = true,
	  .says = "reserves " ENTRIES("base", "count") " of QP $qpn",
	  .again = "reserves the slot again: " ENTRIES("base", "count") },
	{ "ibgda_build", BUILD, BF_LIFE_SLOTS, "qpn", "index", "ds+3/4", .software = true,
	  .says = "has stored the entry, $ds segments of 16 bytes" },
	{ "ibgda_publish", PUBLISH, BF_LIFE_COUNT, "qpn", "base", "count", .keep = "posts=posts", .software = true,
	  .says = "publishes " ENTRIES("base", "count") ", and [posts?goes on to ring|leaves it to others to ring]" },
	{ STORY("ibgda_handoff", RESERVE, NULL), .entries = BF_LIFE_RANGE, .first = "from", .second = "to",
	  .software = true, .once = true, .step = "handoff", .says = "tells the CPU proxy of " RUNG },
	{ "ibgda_post", RING, BF_LIFE_RANGE, "qpn", "from", "to", .software = true, .rings = true,
	  .says = "has stored $dbrec+0 into the doorbell record and rung for " RUNG },
	{ "doorbell", 0, BF_LIFE_ONE, "qpn", .role = BF_LIFE_ASIDE },
	{ "doorbell", DOORBELL, BF_LIFE_ALL, "qpn", .role = BF_LIFE_AHEAD, .story = true, .until = "fetch",
	  .says = "the doorbell arrives: QP $qpn, index $index ($len bytes at $offset of UAR page $uar)"
		  "[verdict?, refused: $verdict]" },
	{ "dbrec", DOORBELL, BF_LIFE_RANGE, "qpn", "before", .second = "producer", .with = "doorbell", .step = "record",
	  .says = "reads the doorbell record: producer $producer, was $before: $producer-before[15:0] new "
		  "block[producer-before[15:0]=1?|s]" },

	{ STORY("dc_wqe", 0, "fetch"), .first = "index", .first_known = true, .keep = "dc=1" },
	{ "wqe_fetch", FETCH, BF_LIFE_SLOTS, "qpn", "index", "wqebbs", .begins = true, .bytes = "wqebbs*64",
	  .says = "has the entry ($source, $tail bytes) and decodes it[verdict?: $verdict]", .lines = wqe_lines,
	  .about = "dc_wqe" },
	{ "wqe_start", START, BF_LIFE_ONE, "qpn", .first = "index", .psn = "psn", .npsn = "npsn",
	  .says = "[npsn=0?starts it: nothing goes on the wire|local keys are good; starts it as PSN $psn"
		  "[npsn=1?| to $psn+npsn-1[23:0]] with $in_flight in flight]" },
	{ "retransmit", START, BF_LIFE_ONE, "qpn", "index", .role = BF_LIFE_ASIDE, .keep = "retried=1" },
	{ STORY("retransmit", START, "done"), OF_QUEUE, .psn = "psn", .step = "retry",
	  .says = "goes back to PSN $psn ($cause), $left retries left" },
	{ "packet", START, BF_LIFE_ALL, "*", .role = BF_LIFE_PACKETS, .story = true, .by = BF_LIFE_BY_ANY,
	  .until = "completion" },

	/* The connection of an initiator that has one for all its targets. */
	{ STORY("dc_connection", FETCH, "completion"), OF_QUEUE, .given = "dc", .step = "connection",
	  .says = "[what=0?needs a connection to][what=1?connects to][what=2?is connected to][what=3?disconnects from] "
		  "DCT $dct (session $session, PSN $psn)" },
	{ STORY("dc_context", FETCH, "completion"), OF_QUEUE, .given = "dc", .by = BF_LIFE_BY_ANY, .step = "context",
	  .says = "DCT $dct, context for initiator $qpn: $what ($contexts in use)" },
	{ STORY("dc_cnak", FETCH, "completion"), OF_QUEUE, .given = "dc", .step = "refused",
	  .says = "DCT $dct refuses PSN $psn: $reason" },

	/* The other end. */
	{ STORY("recv_wqe_fetch", START, "completion"), AT_PEER, .psn = "psn", .keep = "taken=1", .step = "receive",
	  .says = "takes receive entry $index: room for $room bytes in $nsge segment[nsge=1?|s]" },
	{ STORY("request_done", START, "completion"), AT_PEER, .psn = "psn", .keep = "taken=1", .step = "execute",
	  .lines = request_lines },
	{ STORY("nak_sent", START, "completion"), AT_PEER, .psn = "psn", .step = "nak",
	  .says = "refuses PSN $psn with AETH syndrome $syndrome" },
	{ STORY("cqe", START, "completion"), AT_PEER, .given = "taken", .keep = "taken=0",
	  .when = "opcode!=0 opcode!=13", .step = "completion", .lines = syndrome_lines,
	  .says = "writes CQE $count of CQ $cqn: $opcode, receive entry $index, $byte_cnt bytes" },

	/* Errors, of either end. */
	{ STORY("mkey_error", FETCH, "completion"), .first = "index", .step = "key", .says = KEY },
	{ STORY("mkey_error", START, "completion"), AT_PEER, .message = true, .step = "key", .says = KEY },
	{ "qp_error", 0, BF_LIFE_ALL, "qpn", "index", .role = BF_LIFE_STOP, .until = "completion", .step = "error",
	  .says = "the queue pair failed at entry $index: $why" },
	{ STORY("qp_error", START, "completion"), AT_PEER, .message = true, .step = "error", .says = FAILS },
	{ STORY("qp_state", FETCH, "completion"), OF_QUEUE, .step = "state", .says = TURNS },
	{ STORY("qp_state", FETCH, "completion"), AT_PEER, .step = "state", .says = TURNS },
	/* Of the connection manager's messages only DREQ (21) names a queue pair that is connected: its receiver's. */
	{ STORY("cm_message", FETCH, "completion"), OF_QUEUE, .by = BF_LIFE_BY_ANY, .software = true,
	  .when = "kind=21 what=2", .step = "disconnect", .says = "the peer ends the connection of QP $qpn (DREQ)" },
	{ STORY("cm_message", FETCH, "completion"), OF_QUEUE, .by = BF_LIFE_BY_ANY, .peer = true, .software = true,
	  .when = "kind=21 what!=2 what!=3 what!=4", .step = "disconnect",
	  .says = "the program ends the connection with QP $qpn (DREQ)" },

	/* ---- back ---- */
	{ "wqe_done", DONE, BF_LIFE_ONE, "qpn", .first = "index",
	  .says = "retires the entry[signalled?| without a completion of its own]; the next one is entry $next" },
	{ STORY("wqe_done", DONE, "completion"), .first = "index", .keep = "silent=1-signalled" },
	/* One that asked for no completion has nothing more to come. */
	{ "wqe_done", 0, BF_LIFE_ONE, "qpn", "index", .role = BF_LIFE_IDLE, .when = "signalled=0" },
	CQE("0"),
	CQE("13"),
	{ "ibgda_poll", SEEN, BF_LIFE_BELOW, "qpn", "done", .after = "completion", .software = true,
	  .says = "learns that entries below $done are complete[syndrome?, with syndrome $syndrome|: the slot is free "
		  "again]" },
	{ STORY("ibgda_poll", RESERVE, "completion"), .entries = BF_LIFE_BELOW, .first = "done", .software = true,
	  .once = true, .step = "seen",
	  .says = "learns that entries below $done are complete[syndrome?, with syndrome $syndrome|: the slot is free "
		  "again]",
	  .also = "[@fetch?|although the device has not fetched the entry]" },
	{ STORY("ibgda_quiet", SEEN, NULL), .entries = BF_LIFE_BELOW, .first = "upto", .software = true, .once = true,
	  .step = "quiet", .says = "returns from quiet: all below $upto is complete" },
	/* What a failed queue had is another one's now, or accounted for. */
	{ "ibgda_replay", 0, BF_LIFE_ONE, "from_qpn", "index", .role = BF_LIFE_IDLE, .software = true },
	{ .type = "ibgda_replay",
	  .role = BF_LIFE_ASIDE,
	  .story = true,
	  .queue = "from_qpn",
	  .first = "index",
	  .software = true,
	  .step = "failover",
	  .says = "hands the failed entry on to QP $to_qpn as entry $again: $fate" },
	{ .type = NULL },
};

static const struct bf_life_end sends_ends[] = {
	{ "build", "[early?the device fetched entry $index before @reserve had filled it|slot $index was reserved by "
		   "@reserve and never filled]" },
	{ "publish", "reserved and built by @build, never published[@before?: @build waits for slot $before, which "
		     "@before reserved and never [before.build?published|filled]]" },
	{ "ring", "entry $index was published by @publish, which [posts?was to ring and did not|left it to a later "
		  "submission to ring]; [ibgda_post?the last doorbell, by @ibgda_post, covered the entries below "
		  "$ibgda_post.to|nobody has ever rung this queue]" },
	{ "doorbell", "[@ring?@ring rang for it; ][doorbell?doorbells arrived, and [dbrec?the doorbell record said "
		      "$dbrec.producer when the device read it last: entry $index is not below that|the device has not "
		      "read the doorbell record]|no doorbell of this queue has reached the device]" },
	{ "fetch", "the device knows of entry $index and has not fetched it[qp_state?; the queue pair is in "
		   "$qp_state.to]" },
	{ "start", "entry $index was fetched and has not been started: it waits behind others, or for a connection" },
	{ "done", "entry $index was started[retried?, sent again] and has not been acknowledged" },
	{ "completion", "entry $index is done[silent? and asked for no completion; no later one covers it|; its "
			"completion [lost?was lost on the way to memory|has not been written]]" },
	{ "seen", "entry $index is complete, and pollers know of those below $ibgda_poll.done" },
	{ .name = NULL },
};

static const struct bf_life sends = {
	.name = "mlx5 send",
	.points = { "reserve", "build", "publish", "ring", "doorbell", "fetch", "start", "done", "completion", "seen" },
	/* Threads of a GPU have an H200's costs (sim/view_cost.c); the rest is PCIe, the device and the network. */
	.basis = { [1] = BF_TIME_MEASURED, BF_TIME_MEASURED, BF_TIME_MEASURED, [9] = BF_TIME_MEASURED },
	.rows = sends_rows,
	.wrap = 65536,
	.device_last = DONE,
	.prefix = "qp",
	.queue = "QP",
	.key = "qpn",
	.count = "count",
	.group = "send entry",
	.ends = sends_ends,
	.unheard = "[dbrec?no doorbell covers it: the doorbell record said $dbrec.producer when it was last read]",
	.recorded = "captured",
};

static const struct bf_life *const lives[] = { &sends, NULL };

static const struct bf_timeline_row timeline[] = {
	{ .type = "doorbell", .verb = BF_ROW_INSTANT, .label = "doorbell $index", .flow = BF_FLOW_RINGS },
	{ .type = "wqe_fetch",
	  .verb = BF_ROW_OPENS,
	  .label = "$opcode $index",
	  .keys = { "qpn", "index" },
	  .group = 3,
	  .flow = BF_FLOW_FOLLOWS },
	{ .type = "wqe_done", .verb = BF_ROW_CLOSES, .keys = { "qpn", "index" }, .group = 3 },
	{ .type = "cqe",
	  .verb = BF_ROW_INSTANT,
	  .label = "CQE $opcode, WQE $index",
	  .keys = { "qpn" },
	  .flow = BF_FLOW_COMPLETES,
	  .error = "syndrome" },
	{ .type = "dbrec", .verb = BF_ROW_INSTANT, .label = "doorbell record says $producer" },
	{ .type = "ibgda_poll",
	  .verb = BF_ROW_INSTANT,
	  .label = "saw completion up to $done",
	  .keys = { "qpn" },
	  .flow = BF_FLOW_SEEN,
	  .error = "syndrome" },
	{ .type = "qp_error", .verb = BF_ROW_INSTANT, .label = "error: $why", .bad = true },
	{ .type = "mkey_error", .verb = BF_ROW_INSTANT, .label = "key error: $why", .bad = true },
	{ .type = "rx_drop", .verb = BF_ROW_INSTANT, .label = "drops packet: $why", .bad = true },
	{ .type = "nak_sent", .verb = BF_ROW_INSTANT, .label = "NAK $syndrome for PSN $psn", .bad = true },
	{ .type = "retransmit", .verb = BF_ROW_INSTANT, .label = "sends again from PSN $psn: $cause", .bad = true },
	{ .type = "cmd", .verb = BF_ROW_INSTANT, .label = "$name", .error = "status" },
	{ .type = "qp_state", .verb = BF_ROW_INSTANT, .label = "$from to $to" },
	/* Its DC transport. dc_wqe stands right before the fetch of its entry, whose span has the flow as well. */
	{ .type = "dc_wqe",
	  .verb = BF_ROW_INSTANT,
	  .label = "WQE $index is for DCT $dct, stream $stream",
	  .flow = BF_FLOW_FOLLOWS },
	{ .type = "dc_connection", .verb = BF_ROW_INSTANT, .label = "session $session with DCT $dct: $what" },
	{ .type = "dc_context", .verb = BF_ROW_INSTANT, .label = "context for DCI $qpn: $what" },
	{ .type = "dct_state", .verb = BF_ROW_INSTANT, .label = "$to" },
	{ .type = "dc_cnak", .verb = BF_ROW_INSTANT, .label = "DCT $dct refuses PSN $psn: $reason", .bad = true },
	{ .type = "dci_stream", .verb = BF_ROW_INSTANT, .label = "stream $stream $what", .error = "syndrome" },
	{ .type = NULL },
};

static const struct bf_timeline_signal_row signals[] = {
	{ "ibgda_reserve", "resv_head", 64, "base", "count", "qpn", NULL },
	{ "ibgda_publish", "ready_head", 64, "base", "count", "qpn", NULL },
	{ "ibgda_post", "prod_idx", 64, "to", NULL, "qpn", NULL },
	{ "ibgda_poll", "cons_idx", 64, "done", NULL, "qpn", NULL },
	{ "dbrec", "producer", 16, "producer", NULL, NULL, NULL },
	{ "wqe_fetch", "fetched", 16, "index", "wqebbs", NULL, NULL },
	{ "wqe_done", "completed", 16, "next", NULL, NULL, NULL },
	{ "cqe", "wqe_counter", 16, "index", NULL, NULL, NULL },
	{ "qp_state", "state", 4, "to", NULL, NULL, NULL },
	{ "dc_context", "contexts", 16, "contexts", NULL, NULL, NULL },
	{ "dct_state", "contexts", 16, "contexts", NULL, NULL, NULL },
	{ .type = NULL },
};

static void print_wqe(FILE *out, const struct bf_device_record *e, const struct bf_device_record *about)
{
	(void)about;
	bf_mlx5_wqe_print(out, e->tail, e->tail_len);
}

static void print_cqe(FILE *out, const struct bf_device_record *e, const struct bf_device_record *about)
{
	(void)about;
	bf_mlx5_cqe_print(out, e->tail);
}

static const struct bf_entry_row entries[] = {
	{ "wqe_fetch", "index", "opcode", "verdict", .print = print_wqe },
	{ "cqe", "slot", "opcode", "syndrome", .bytes = 64, .print = print_cqe },
	{ .type = "recv_wqe_fetch", .slot = "index" },
	{ .type = NULL },
};

static const struct bf_memory_row memory[] = {
	{ "qp_config", "sq", "sq_wqebbs*64", .label = "send ring of QP $qpn", .entry = "64", .element = "block" },
	{ "dbrec", NULL, "8", .label = "doorbell record of QP $qpn" },
	{ "cqe", "iova", "64", .label = "CQE $slot of CQ $cqn" },
	{ .type = NULL },
};

/* models/mlx5/profile_timed.c */
static const char *const fitted[] = { "cx5-timed", "cx6-timed", "cx7-timed", "cx8-timed", NULL };

static const struct bf_fill_row fills[] = {
	{ "dbrec", "in_ring", NULL, "qp_config", "sq_wqebbs" },
	{ .type = NULL },
};

static const char *const named[] = {
	"nic0.qp0x100:81, 0x100:81      entry 81 of a queue pair (blocks of 64 bytes since the queue began)",
	"nic0.cq0x40:#57                the entry that completion 57 of a queue completes, counted from 0",
	NULL,
};

extern const struct bf_device bf_device_mlx5;
const struct bf_device bf_device_mlx5 = {
	.name = "mlx5",
	.summary = "ConnectX",
	.lives = lives,
	.fitted = fitted,
	.families = families,
	.fills = fills,
	.timeline = timeline,
	.signals = signals,
	.entries = entries,
	.memory = memory,
	.named = named,
};
