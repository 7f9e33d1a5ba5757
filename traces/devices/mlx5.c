/* The ConnectX, and the IBGDA drivers that fill its queues: what those who read traces know of it. */
#include "models/mlx5/wqe.h"
#include "traces/device.h"

extern const struct bf_rule_family bf_rules_mlx5, bf_rules_ll, bf_rules_shmem;

static const struct bf_rule_family *const families[] = { &bf_rules_mlx5, &bf_rules_ll, &bf_rules_shmem, NULL };

enum send_point { RESERVE, BUILD, PUBLISH, RING, DOORBELL, FETCH, START, DONE, COMPLETION, SEEN };

/* Of the requester's completions, good (0) or not (13), which are not the receiver's. */
#define CQE(value)                                                                                                     \
	{ .type = "cqe",                                                                                               \
	  .point = COMPLETION,                                                                                         \
	  .queue = "qpn",                                                                                              \
	  .first = "index",                                                                                            \
	  .when = "opcode=" value " verdict=0",                                                                        \
	  .elsewhere = true,                                                                                           \
	  .covers = "lost" },                                                                                          \
	{                                                                                                              \
		.type = "cqe", .role = BF_LIFE_ASIDE, .point = FETCH, .queue = "qpn", .first = "index",                \
		.when = "opcode=" value " verdict!=0", .elsewhere = true, .keep = "lost=1"                             \
	}

static const struct bf_life_row sends_rows[] = {
	{ "qp_config", 0, BF_LIFE_ONE, "qpn", .role = BF_LIFE_ASIDE },
	{ "qp_state", 0, BF_LIFE_ONE, "qpn", .role = BF_LIFE_OPEN, .when = "to=0" },
	{ "qp_state", 0, BF_LIFE_ONE, "qpn", .role = BF_LIFE_ASIDE },
	{ "qp_path", 0, BF_LIFE_ONE, "qpn", "remote_qpn", "remote_ipv4", .role = BF_LIFE_PEER, .va = "ipv4" },
	{ "ibgda_reserve", RESERVE, BF_LIFE_COUNT, "qpn", "base", "count", .software = true },
	{ "ibgda_build", BUILD, BF_LIFE_SLOTS, "qpn", "index", "ds+3/4", .software = true },
	{ "ibgda_publish", PUBLISH, BF_LIFE_COUNT, "qpn", "base", "count", .keep = "posts=posts", .software = true },
	{ "ibgda_post", RING, BF_LIFE_RANGE, "qpn", "from", "to", .software = true },
	{ "doorbell", 0, BF_LIFE_ONE, "qpn", .role = BF_LIFE_ASIDE },
	{ "dbrec", DOORBELL, BF_LIFE_RANGE, "qpn", "before", .second = "producer" },
	{ "wqe_fetch", FETCH, BF_LIFE_SLOTS, "qpn", "index", "wqebbs", .begins = true },
	{ "wqe_start", START, BF_LIFE_ONE, "qpn", .first = "index" },
	{ "retransmit", START, BF_LIFE_ONE, "qpn", "index", .role = BF_LIFE_ASIDE, .keep = "retried=1" },
	{ "wqe_done", DONE, BF_LIFE_ONE, "qpn", .first = "index" },
	/* One that asked for no completion has nothing more to come. */
	{ "wqe_done", 0, BF_LIFE_ONE, "qpn", "index", .role = BF_LIFE_IDLE, .when = "signalled=0" },
	CQE("0"),
	CQE("13"),
	{ "ibgda_poll", SEEN, BF_LIFE_BELOW, "qpn", "done", .after = "completion", .software = true },
	{ "qp_error", 0, BF_LIFE_ALL, "qpn", "index", .role = BF_LIFE_STOP,
	  .says = "the queue pair failed at entry $index: $why" },
	/* What a failed queue had is another one's now, or accounted for. */
	{ "ibgda_replay", 0, BF_LIFE_ONE, "from_qpn", "index", .role = BF_LIFE_IDLE, .software = true },
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
	{ "doorbell", "@ring rang for it; [doorbell?doorbells arrived, and [dbrec?the doorbell record said "
		      "$dbrec.producer when the device read it last: entry $index is not below that|the device has not "
		      "read the doorbell record]|no doorbell of this queue has reached the device]" },
	{ "fetch", "the device knows of entry $index and has not fetched it[qp_state?; the queue pair is in "
		   "$qp_state.to]" },
	{ "start", "entry $index was fetched and has not been started: it waits behind others, or for a connection" },
	{ "done", "entry $index was started[retried?, sent again] and has not been acknowledged" },
	{ "completion", "entry $index is done; its completion [lost?was lost on the way to memory|has not been "
			"written]" },
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
	.group = "send entry",
	.ends = sends_ends,
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
	{ "ibgda_reserve", "resv_head", 64, "base", "count", "qpn", BF_SIGNAL_PLAIN },
	{ "ibgda_publish", "ready_head", 64, "base", "count", "qpn", BF_SIGNAL_PLAIN },
	{ "ibgda_post", "prod_idx", 64, "to", NULL, "qpn", BF_SIGNAL_PLAIN },
	{ "ibgda_poll", "cons_idx", 64, "done", NULL, "qpn", BF_SIGNAL_PLAIN },
	{ "dbrec", "producer", 16, "producer", NULL, NULL, BF_SIGNAL_PLAIN },
	{ "wqe_fetch", "fetched", 16, "index", "wqebbs", NULL, BF_SIGNAL_PLAIN },
	{ "wqe_done", "completed", 16, "next", NULL, NULL, BF_SIGNAL_PLAIN },
	{ "cqe", "wqe_counter", 16, "index", NULL, NULL, BF_SIGNAL_PLAIN },
	{ "qp_state", "state", 4, "to", NULL, NULL, BF_SIGNAL_PLAIN },
	{ "dc_context", "contexts", 16, "contexts", NULL, NULL, BF_SIGNAL_PLAIN },
	{ "dct_state", "contexts", 16, "contexts", NULL, NULL, BF_SIGNAL_PLAIN },
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

extern const struct bf_device bf_device_mlx5;
const struct bf_device bf_device_mlx5 = {
	.name = "mlx5",
	.summary = "ConnectX",
	.lives = lives,
	.fitted = fitted,
	.families = families,
	.timeline = timeline,
	.signals = signals,
	.entries = entries,
	.memory = memory,
};
