/* The ConnectX, and the IBGDA drivers that fill its queues: what those who read traces know of it. */
#include <inttypes.h>
#include <stdarg.h>

#include "models/fabric/roce.h"
#include "models/mlx5/wqe.h"
#include "traces/devices/moves.h"
#include "traces/devices/points.h"

extern const struct bf_rule_family bf_rules_mlx5, bf_rules_ll, bf_rules_shmem;

static const struct bf_rule_family *const families[] = { &bf_rules_mlx5, &bf_rules_ll, &bf_rules_shmem, NULL };

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
		.type = "cqe", .point = BF_MLX5_AT_COMPLETION, .entries = BF_LIFE_ALL, .queue = "qpn",                 \
		.when = "opcode=" value " verdict=0", .story = true, .after = "done", .given = name, .lands = "iova",  \
		.says = WRITES ", which covers this one too", .lines = syndrome_lines                                  \
	}
#define CQE(value)                                                                                                     \
	{ .type = "cqe",                                                                                               \
	  .point = BF_MLX5_AT_COMPLETION,                                                                              \
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
	      .point = BF_MLX5_AT_FETCH,                                                                               \
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
#include "traces/devices/mlx5_sends.def"
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
	.device_last = BF_MLX5_AT_DONE,
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
