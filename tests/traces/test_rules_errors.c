/* Rules that no command of belfry can show, on records made by hand: mlx5 errors and set-up, captures. */
#include "traces/records/ibgda.h"
#include "models/mlx5/prm.h"
#include "models/mlx5/records.h"
#include "models/nvme/records.h"
#include "models/rdma/records.h"
#include "sim/bytes.h"
#include "tests/traces/rules_story.h"
#include "traces/records/capture.h"
#include "traces/records/ftrace.h"

#define QPN 0x101u
#define DEPTH 16u

struct rig {
	struct story s;
	uint32_t qp, cq, thread;
};

static void begin(struct rig *r)
{
	story_begin(&r->s);
	r->qp = story_actor(&r->s, "queue", "nic0.qp0x101");
	r->cq = story_actor(&r->s, "queue", "nic0.cq0x41");
	r->thread = story_actor(&r->s, "agent", "pe0.b0.w0.l0");
	STORY(&r->s, qp_config, r->qp, .qpn = QPN, .sq_wqebbs = DEPTH);
}

START_TEST(keys)
{
	static const struct {
		uint8_t why;
		const char *id;
	} cases[] = { { 1, "MLX5-KEY-UNKNOWN" }, { 2, "MLX5-KEY-UNKNOWN" }, { 3, "MLX5-KEY-UNKNOWN" },
		      { 4, "MLX5-KEY-ACCESS" },  { 5, "MLX5-KEY-ACCESS" },  { 7, "MLX5-KEY-ACCESS" } };
	struct rig r;

	begin(&r);
	STORY(&r.s, mkey_error, r.qp, .qpn = QPN, .why = cases[_i].why, .access = 1, .index = 7, .key = 0x99);
	/* What the completion says about it explains nothing. */
	STORY(&r.s, qp_error, r.qp, .qpn = QPN, .index = 7, .syndrome = 0x04);
	story_ends(&r.s, cases[_i].id, "WQE 7 on nic0.qp0x101 was refused: local-read");
}
END_TEST

START_TEST(syndromes)
{
	static const struct {
		uint8_t syndrome;
		const char *id;
	} cases[] = {
		{ 0x16, "MLX5-RNR-EXCEEDED" }, { 0x13, "MLX5-REMOTE-ACCESS" },    { 0x01, "MLX5-LOCAL-LENGTH" },
		{ 0x02, "MLX5-LOCAL-QP-OP" },  { 0x04, "MLX5-LOCAL-PROTECTION" }, { 0x15, "MLX5-RETRY-EXCEEDED" }
	};
	struct rig r;

	begin(&r);
	STORY(&r.s, qp_error, r.qp, .qpn = QPN, .index = 3, .syndrome = cases[_i].syndrome, .vendor = 0x81);
	STORY(&r.s, cqe, r.cq, .qpn = QPN, .index = 4, .opcode = 13, .syndrome = 0x05, .vendor = 0xf9);
	story_ends(&r.s, cases[_i].id, "WQE 3 on nic0.qp0x101 failed with syndrome");
}
END_TEST

/* The peer's refusal explains the requester's error. */
START_TEST(refusal_comes_first)
{
	struct rig r;
	uint32_t far;

	begin(&r);
	far = story_actor(&r.s, "queue", "nic1.qp0x101");
	STORY(&r.s, qp_error, r.qp, .qpn = QPN, .index = 3, .syndrome = 0x13);
	STORY(&r.s, mkey_error, far, .qpn = QPN, .why = 6, .access = 8);
	story_ends(&r.s, "MLX5-KEY-BOUNDS", "nic1.qp0x101 refused a request: remote-write, out-of-bounds");
}
END_TEST

/* Both ends of a connection, 10.0.0.1 and 10.0.0.2. */
static uint32_t connect(struct rig *r, uint32_t far_mtu)
{
	uint32_t far;

	begin(r);
	far = story_actor(&r->s, "queue", "nic1.qp0x102");
	STORY(&r->s, qp_config, far, .qpn = 0x102, .sq_wqebbs = DEPTH);
	STORY(&r->s, qp_path, r->qp, .qpn = QPN, .remote_qpn = 0x102, .ipv4 = 0x0a000001, .remote_ipv4 = 0x0a000002,
	      .mtu = 4096, .access = 8, .max_reads = 1, .max_answers = 1);
	STORY(&r->s, qp_path, far, .qpn = 0x102, .remote_qpn = QPN, .ipv4 = 0x0a000002, .remote_ipv4 = 0x0a000001,
	      .mtu = far_mtu, .access = 8, .max_reads = 1, .max_answers = 1);
	return far;
}

/* A refusal quotes what the responder recorded, and where both ends disagree. */
START_TEST(both_ends_speak)
{
	static const struct {
		uint8_t syndrome, nak;
		const char *id;
	} cases[] = { { 0x12, 0x61, "MLX5-REMOTE-INVALID" },
		      { 0x13, 0x62, "MLX5-REMOTE-ACCESS" },
		      { 0x14, 0x63, "MLX5-REMOTE-OPERATION" } };
	struct rig r;
	uint32_t far;

	far = connect(&r, 1024);
	STORY(&r.s, qp_error, far, .qpn = 0x102, .side = 1, .psn = 7, .nak = cases[_i].nak, .why = "as it says");
	STORY(&r.s, qp_error, r.qp, .qpn = QPN, .index = 3, .syndrome = cases[_i].syndrome, .vendor = 0x8a);
	story_ends(&r.s, cases[_i].id,
		   _i == 0   ? "nic1.qp0x102, in state RESET, refused PSN 7 (NAK 61): as it says"
		   : _i == 1 ? "path MTU 4096 here, 1024 there"
			     : "its remote access is WRITE");
}
END_TEST

/*
 * Packets that the peer drops without a word: why tells which rule. Where the peer took some, PSNs agree; also where it
 * drops only what was sent again.
 */
START_TEST(the_peer_drops)
{
	static const struct {
		uint8_t why;
		bool taken;
		const char *id, *text;
		bool again;
	} cases[] = {
		{ 5, false, "MLX5-PEER-STATE", "dropped 1 packets, the last for \"qp-state\": PSN 9", false },
		{ 6, false, "MLX5-PEER-PSN", "PSN 9, when it expected 4", false },
		{ 7, false, "MLX5-PEER-PSN", "takes its packets for old ones", false },
		{ 3, false, "MLX5-PEER-GONE", "has no such queue pair", false },
		{ 4, false, "MLX5-PEER-GONE", "is connected to somebody else", false },
		{ 6, true, "MLX5-RETRY-EXCEEDED", "out-of-sequence", false },
		{ 2, false, "MLX5-RETRY-EXCEEDED", "bad-icrc", false },
		{ 7, false, "MLX5-RETRY-EXCEEDED", "no retry was acknowledged", true },
	};
	struct rig r;
	uint32_t far;

	far = connect(&r, 4096);
	if (cases[_i].taken)
		STORY(&r.s, request_done, far, .qpn = 0x102, .psn = 1);
	if (cases[_i].again)
		STORY(&r.s, retransmit, r.qp, .qpn = QPN, .psn = 9, .cause = BF_RDMA_AGAIN_TIME_OUT);
	STORY(&r.s, rx_drop, far, .qpn = 0x102, .psn = 9, .expected = 4, .why = cases[_i].why);
	STORY(&r.s, qp_error, r.qp, .qpn = QPN, .index = 3, .syndrome = 0x15, .vendor = 0x81);
	story_ends(&r.s, cases[_i].id, cases[_i].text);
}
END_TEST

/* A number with its bytes swapped; a peer that answers somebody else; a peer of the same NIC that never got ready. */
START_TEST(the_wrong_one_is_addressed)
{
	static const struct {
		const char *id, *text;
	} cases[] = { { "MLX5-PEER-GONE", "no such queue pair: 0x20100 is 0x102 with its bytes swapped" },
		      { "MLX5-PEER-GONE", "it is connected to QP 0x177, not to 0x101" },
		      { "MLX5-PEER-STATE", "nic0.qp0x102, in state RESET, dropped 1 packets" } };
	const uint32_t there = _i == 2 ? 0x0a000001 : 0x0a000002;
	struct rig r;
	uint32_t far;

	begin(&r);
	far = story_actor(&r.s, "queue", _i == 2 ? "nic0.qp0x102" : "nic1.qp0x102");
	STORY(&r.s, qp_config, far, .qpn = 0x102, .sq_wqebbs = DEPTH);
	if (_i == 0)
		STORY(&r.s, qp_path, far, .qpn = 0x102, .remote_qpn = QPN, .ipv4 = there, .remote_ipv4 = 0x0a000001);
	STORY(&r.s, qp_path, r.qp, .qpn = QPN, .remote_qpn = _i == 0 ? 0x20100 : 0x102, .ipv4 = 0x0a000001,
	      .remote_ipv4 = there);
	if (_i == 1)
		STORY(&r.s, qp_path, far, .qpn = 0x102, .remote_qpn = 0x177, .ipv4 = there, .remote_ipv4 = 0x0a000001);
	if (_i == 2)
		STORY(&r.s, rx_drop, far, .qpn = 0x102, .psn = 9, .why = BF_RDMA_DROP_STATE);
	STORY(&r.s, qp_error, r.qp, .qpn = QPN, .index = 3, .syndrome = 0x15, .vendor = 0x81);
	story_ends(&r.s, cases[_i].id, cases[_i].text);
}
END_TEST

/* An error of which only the completion is known; a queue pair that a command stopped has none. */
START_TEST(completions_are_never_nothing)
{
	struct rig r;

	begin(&r);
	if (_i == 1)
		STORY(&r.s, qp_state, r.qp, .qpn = QPN, .from = 3, .to = 6, .cause = 0);
	STORY(&r.s, cqe, r.cq, .qpn = QPN, .index = 4, .opcode = 13, .syndrome = _i == 2 ? 0x10 : 0x05, .vendor = 0xf9);
	story_ends(&r.s, _i == 1 ? NULL : "MLX5-ERROR-COMPLETION", "WQE 4 of QP 0x101 on PE 0 completed with syndrome");
}
END_TEST

/* Set-up: rings that overlap, and those that lie side by side; a path without a time-out. */
START_TEST(rings_that_overlap)
{
	static const struct {
		uint64_t second;
		const char *id;
		bool works; /* the first queue, after that: memory of one that is gone may be another's */
	} cases[] = { { 0x1000 + DEPTH * 64, NULL, true },
		      { 0x1000 + DEPTH * 64 - 64, "MLX5-RING-OVERLAP", true },
		      { 0x1000 + DEPTH * 64 - 64, NULL, false } };
	struct rig r;
	uint32_t other;

	begin(&r);
	other = story_actor(&r.s, "queue", "nic0.qp0x102");
	STORY(&r.s, qp_config, r.qp, .qpn = QPN, .sq = 0x1000, .sq_wqebbs = DEPTH);
	STORY(&r.s, qp_config, other, .qpn = 0x102, .sq = cases[_i].second, .sq_wqebbs = DEPTH);
	STORY(&r.s, wqe_fetch, cases[_i].works ? r.qp : other, .qpn = cases[_i].works ? QPN : 0x102);
	story_ends(&r.s, cases[_i].id, "the send ring of QP 0x102 on PE 0, 1024 bytes");
}
END_TEST

START_TEST(completion_queues_that_overlap)
{
	struct rig r;
	uint32_t other;

	begin(&r);
	other = story_actor(&r.s, "queue", "nic0.cq0x42");
	STORY(&r.s, cq_config, r.cq, .cqn = 0x41, .cqes = 16, .cqe_size = 64);
	STORY(&r.s, cq_config, other, .cqn = 0x42, .cqes = 16, .cqe_size = 64);
	STORY(&r.s, cqe, r.cq, .qpn = QPN, .cqn = 0x41, .iova = 0x2000 + 3 * 64, .slot = 3);
	STORY(&r.s, cqe, other, .qpn = QPN, .cqn = 0x42, .iova = _i ? 0x2000 + 16 * 64 : 0x2200, .slot = 0);
	STORY(&r.s, cqe, r.cq, .qpn = QPN, .cqn = 0x41, .iova = 0x2000 + 4 * 64, .slot = 4);
	story_ends(&r.s, _i ? NULL : "MLX5-RING-OVERLAP", "the ring of CQ 0x42 on PE 0, 1024 bytes");
}
END_TEST

START_TEST(nvme_queues_that_overlap)
{
	struct rig r;
	uint32_t sq, cq;

	story_begin(&r.s);
	sq = story_actor(&r.s, "queue", "ssd0.sq1");
	cq = story_actor(&r.s, "queue", "ssd0.cq1");
	STORY(&r.s, nvme_queue, cq, .qid = 1, .cqid = 1, .base = 0x1000, .size = 64, .queue = 1, .flags = 1);
	STORY(&r.s, nvme_queue, sq, .qid = 1, .cqid = 1, .base = _i ? 0x1400 : 0x1000, .size = 64, .flags = 1);
	story_ends(&r.s, _i ? NULL : "NVME-QUEUE-OVERLAP", "SQ 1 was created at 0x1000 with 4096 bytes");
}
END_TEST

START_TEST(never_sent_again)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, qp_path, r.qp, .qpn = QPN, .remote_qpn = 0x102, .ipv4 = 1, .remote_ipv4 = 2,
	      .timeout = _i ? 14 : 0);
	STORY(&r.s, wqe_fetch, r.qp, .qpn = QPN, .ctrl_qpn = QPN, .wqebbs = 1, .ds = 1);
	story_ends(&r.s, _i ? NULL : "MLX5-NO-TIMEOUT", "never sends again");
}
END_TEST

/* The run ends too early, or whoever has the queue pair wants no more of it. */
START_TEST(not_acknowledged)
{
	struct rig r;
	uint32_t nic;

	begin(&r);
	nic = story_actor(&r.s, "device", "nic0");
	STORY(&r.s, qp_path, r.qp, .qpn = QPN, .remote_qpn = 0x102, .ipv4 = 1, .remote_ipv4 = 2, .timeout = 14);
	STORY(&r.s, wqe_fetch, r.qp, .qpn = QPN, .ctrl_qpn = QPN, .wqebbs = 1, .ds = 1);
	STORY(&r.s, wqe_start, r.qp, .qpn = QPN);
	if (_i)
		STORY(&r.s, cmd, nic, .opcode = BF_MLX5_CMD_DESTROY_QP, .number = QPN, .name = "DESTROY_QP");
	story_ends(&r.s, _i == 1 ? NULL : "MLX5-TIMEOUT-PENDING", "are not acknowledged");
}
END_TEST

/* A responder's refusal, where the requester has no completion of its own. */
START_TEST(a_refused_request)
{
	struct rig r;
	uint32_t far;

	far = connect(&r, 1024);
	STORY(&r.s, qp_error, far, .qpn = 0x102, .side = 1, .psn = 7, .nak = 0x61, .why = "as it says");
	story_ends(&r.s, "MLX5-REQUEST-REFUSED", "path MTU 1024 here, 4096 there");
}
END_TEST

/* A path to another MAC than the peer's: the frames are lost, and the peer is there. */
START_TEST(a_path_to_another_mac)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, path_mac, r.qp, .qpn = QPN, .remote_ipv4 = 0x0a000002, .mac = 0x02000a000003,
	      .theirs = 0x02000a000002);
	story_ends(&r.s, "MLX5-PATH-MAC",
		   "to 10.0.0.2 names MAC 02000a000003, and the port with that address has 02000a000002");
}
END_TEST

/* The command's name and the field (0). What is in use is destroyed later (1). */
START_TEST(a_refused_command)
{
	static const char why[] = "mtu 0: must be 1 to 5, for 256 bytes to 4096";
	struct rig r;

	begin(&r);
	STORY_TAIL(&r.s, cmd_refused, story_actor(&r.s, "device", "nic0"), why, sizeof(why) - 1, .opcode = 0x503,
		   .status = _i ? 6 : 3, .name = "INIT2RTR_QP");
	story_ends(&r.s, _i ? NULL : "MLX5-COMMAND-REFUSED",
		   "INIT2RTR_QP (0x503) ended with status 0x3: mtu 0: must be 1 to 5, for 256");
}
END_TEST

/* Its handler takes an entry and arms; the next one is not taken, soon enough, or the queue goes. */
START_TEST(an_event_nobody_came_for)
{
	static const struct {
		uint64_t after_ms;
		bool armed, taken, gone;
		const char *id, *text;
	} cases[] = { { 20, true, false, false, "MLX5-NO-INTERRUPT", "raised its interrupt, and no handler came" },
		      { 20, false, false, false, "MLX5-NO-INTERRUPT", "was not armed, so that no interrupt was due" },
		      { 5, true, false, false, NULL, NULL },
		      { 20, true, true, false, NULL, NULL },
		      { 20, true, false, true, NULL, NULL } };
	struct rig r;
	uint32_t nic, eq;

	begin(&r);
	nic = story_actor(&r.s, "device", "nic0");
	eq = story_actor(&r.s, "queue", "nic0.eq5");
	STORY(&r.s, eq_update, eq, .eqn = 5, .consumer = 0, .arm = 1);
	STORY(&r.s, eqe, eq, .eqn = 5, .count = 0, .number = 0x41, .interrupt = 1);
	STORY(&r.s, eq_update, eq, .eqn = 5, .consumer = 1, .arm = cases[_i].armed);
	STORY(&r.s, eqe, eq, .eqn = 5, .count = 1, .number = 0x41, .interrupt = cases[_i].armed);
	if (cases[_i].taken)
		STORY(&r.s, eq_update, eq, .eqn = 5, .consumer = 2, .arm = 1);
	if (cases[_i].gone)
		STORY(&r.s, cmd, nic, .opcode = BF_MLX5_CMD_DESTROY_EQ, .number = 5, .name = "DESTROY_EQ");
	r.s.now += cases[_i].after_ms * 1000 * 1000 * 1000;
	STORY(&r.s, cmd, nic, .opcode = BF_MLX5_CMD_ALLOC_PD, .name = "ALLOC_PD");
	story_ends(&r.s, cases[_i].id, cases[_i].text);
}
END_TEST

/* Linux traces of real drives: statuses, and commands that take longer than Linux waits. */
START_TEST(drives_that_were_traced)
{
	static const struct {
		uint32_t status;
		uint64_t after_s;
		const char *id, *text;
	} cases[] = { { 0x4002, 0, "NVME-CAPTURED-STATUS", "status 0x002, Invalid Field" },
		      { 0, 31, "NVME-CAPTURED-LATE", "ended 31000000.000 us after it was set up" },
		      { 0, 29, NULL, NULL },
		      { 0x285, 0, NULL, NULL } }; /* a comparison failed: an answer */
	struct rig r;
	uint32_t q;

	story_begin(&r.s);
	q = story_actor(&r.s, "queue", "nvme0.q1");
	STORY(&r.s, ftrace_setup, q, .qid = 1, .cid = 7, .opcode = 2, .line = 1);
	r.s.now += cases[_i].after_s * 1000 * 1000 * 1000 * 1000;
	STORY(&r.s, ftrace_complete, q, .qid = 1, .cid = 7, .status = cases[_i].status, .line = 2);
	story_ends(&r.s, cases[_i].id, cases[_i].text);
}
END_TEST

/* One that has no end; an event request may wait forever. */
START_TEST(a_drive_that_says_nothing)
{
	struct rig r;
	uint32_t q;

	story_begin(&r.s);
	q = story_actor(&r.s, "queue", "nvme0.q0");
	STORY(&r.s, ftrace_setup, q, .qid = 0, .cid = 7, .opcode = _i ? 0x0c : 0x06, .line = 1);
	r.s.now += 61ull * 1000 * 1000 * 1000 * 1000;
	STORY(&r.s, ftrace_setup, q, .qid = 0, .cid = 8, .opcode = 6, .line = 2);
	story_ends(&r.s, _i ? NULL : "NVME-CAPTURED-LATE", "command 0x7 (line 1) has no end");
}
END_TEST

/* What DC targets refuse, and one that is not there. */
START_TEST(dc_targets)
{
	static const struct {
		uint8_t what;
		const char *id, *text;
	} cases[] = {
		{ 6, "MLX5-DC-KEY", "DC target 0x300 on PE 1 refused initiator 0x101: the access key" },
		{ 5, "MLX5-DC-CONTEXTS", "DC target 0x300 on PE 1 had 4 responder contexts, all in use" },
		{ 0, "MLX5-DC-UNKNOWN",
		  "an entry of DC initiator 0x101 on PE 0 is for DC target 0x300, which PE 1 does not" },
	};
	struct rig r;
	uint32_t far;

	begin(&r);
	far = story_actor(&r.s, "queue", "nic1.dct0x300");
	STORY(&r.s, dc_wqe, r.qp, .qpn = QPN, .dct = 0x300, .index = 2);
	if (cases[_i].what)
		STORY(&r.s, dc_context, far, .dct = 0x300, .qpn = QPN, .contexts = 4, .what = cases[_i].what);
	else
		STORY(&r.s, rx_drop, far, .qpn = 0x300, .why = 3);
	story_ends(&r.s, cases[_i].id, cases[_i].text);
}
END_TEST

START_TEST(flushes_are_told)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, qp_state, r.qp, .qpn = QPN, .from = 3, .to = 6, .cause = 0);
	STORY(&r.s, cqe, r.cq, .qpn = QPN, .index = 4, .opcode = 13, .syndrome = 0x05, .vendor = 0xf9);
	story_ends(&r.s, "MLX5-FLUSHED", "from WQE 4 on were flushed (05/f9)");
}
END_TEST

START_TEST(early_poll_and_quiet)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, wqe_done, r.qp, .qpn = QPN, .index = 2, .next = 3);
	if (_i == 0)
		STORY(&r.s, ibgda_poll, r.thread, .qpn = QPN, .done = 5);
	else
		STORY(&r.s, ibgda_quiet, r.thread, .qpn = QPN, .upto = 5);
	story_ends(&r.s, _i == 0 ? "MLX5-POLL-EARLY" : "MLX5-QUIET-EARLY", "had completed those below 3");
}
END_TEST

START_TEST(doorbell_before_rts)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, doorbell, r.qp, .qpn = QPN, .index = 1, .verdict = 4);
	story_ends(&r.s, "MLX5-DOORBELL-REFUSED", "had no effect: not-ready");
}
END_TEST

START_TEST(connections)
{
	struct rig r;
	uint32_t far;

	begin(&r);
	far = story_actor(&r.s, "queue", "nic1.qp0x102");
	STORY(&r.s, qp_path, r.qp, .qpn = QPN, .remote_qpn = 0x102, .ipv4 = 1, .remote_ipv4 = 2, .max_reads = 16,
	      .max_answers = 16);
	STORY(&r.s, qp_path, far, .qpn = 0x102, .remote_qpn = _i == 1 ? 0x777 : QPN, .ipv4 = 2, .remote_ipv4 = 1,
	      .max_reads = 16, .max_answers = _i == 2 ? 8 : 16);
	/* The first end learns of the second one when it looks again. */
	if (_i == 1)
		STORY(&r.s, qp_path, r.qp, .qpn = QPN, .remote_qpn = 0x102, .ipv4 = 1, .remote_ipv4 = 2);
	story_ends(&r.s,
		   _i == 0   ? NULL
		   : _i == 1 ? "MLX5-WRONG-PEER"
			     : "MLX5-READ-DEPTH",
		   _i == 1 ? "connected to QP 0x777" : "answers 8");
}
END_TEST

/* Connected to itself: whether that is wrong shows when its requests ask for a key that its NIC does not know. */
START_TEST(own_address)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, qp_path, r.qp, .qpn = QPN, .remote_qpn = QPN, .ipv4 = 1, .remote_ipv4 = 1);
	if (_i)
		STORY(&r.s, mkey_error, r.qp, .qpn = QPN, .why = _i == 1 ? 2 : 6, .access = 8, .key = 0x1002);
	story_ends(&r.s,
		   _i == 0   ? NULL
		   : _i == 1 ? "MLX5-WRONG-PEER"
			     : "MLX5-KEY-BOUNDS",
		   _i == 1 ? "is connected to itself" : "refused a request");
}
END_TEST

START_TEST(receiver_not_ready)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, qp_path, r.qp, .qpn = QPN, .rnr_retries = _i ? 7 : 3);
	STORY(&r.s, retransmit, r.qp, .qpn = QPN, .index = 9, .cause = 2, .left = 2);
	if (_i)
		story_ends(&r.s, "MLX5-RETRANSMITS", "(rnr-nak)");
	else
		story_ends(&r.s, "MLX5-RNR-FINITE", "rnr_retry is 3: 2 more");
}
END_TEST

START_TEST(completion_queues)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, cq_config, r.cq, .cqn = 0x41, .cqes = 64, .collapsed = _i == 0, .overrun_ignore = 0);
	if (_i)
		STORY(&r.s, cq_event, r.cq, .cqn = 0x41, .kind = 1, .producer = 64, .consumer = 0);
	story_ends(&r.s, _i ? "MLX5-CQ-OVERRUN" : "MLX5-CQ-CONFIG", _i ? "overran at completion 64" : "fails after 64");
}
END_TEST

START_TEST(control_segments)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, wqe_fetch, r.qp, .qpn = QPN, .index = 2, .ctrl_index = _i ? 2 : 9, .ctrl_qpn = _i ? 0x55 : QPN,
	      .wqebbs = 1, .verdict = _i ? 2 : 1);
	STORY(&r.s, ibgda_build, r.thread, .qpn = 0x999);
	story_ends(&r.s, _i ? "MLX5-ENTRY-QPN" : "MLX5-ENTRY-INDEX", _i ? "names QP 0x55" : "says index 9");
}
END_TEST

START_TEST(remote_address_zero)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, wqe_start, r.qp, .qpn = QPN, .index = 1, .opcode = 16, .rkey = 0x1234);
	story_ends(&r.s, "MLX5-RADDR-ZERO", "RDMA_READ, names remote address 0 with key 0x1234");
}
END_TEST

/* The key begins at 0: the entry was executed. */
START_TEST(remote_address_zero_that_is_served)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, wqe_start, r.qp, .qpn = QPN, .index = 1, .opcode = 16, .rkey = 0x1234);
	STORY(&r.s, wqe_done, r.qp, .qpn = QPN, .index = 1, .next = 2, .opcode = 16, .signalled = 1);
	story_ends(&r.s, NULL, NULL);
}
END_TEST

START_TEST(captures)
{
	uint8_t wqe[64] = { 0, 0, 5, 8 }, cqe[64] = { 0 };
	struct story s;

	story_begin(&s);
	bf_put_be32(wqe + 4, QPN << 8 | 3);
	bf_put_be16(cqe + 60, 5);
	cqe[55] = 0x04;
	cqe[54] = 0x51;
	cqe[63] = 0xd2;
	if (_i == 3)
		wqe[7] = 5; /* segments in a block of four */
	STORY_TAIL(&s, capture_wqe, story_actor(&s, "queue", "cap.qp101"), wqe, 64, .qpn = _i == 2 ? 0x77 : QPN,
		   .index = _i == 1 ? 6 : 5, .line = 1);
	if (_i == 0)
		STORY_TAIL(&s, capture_cqe, 0, cqe, 64, .cqn = 0x41, .index = 0, .line = 2);
	story_ends(&s,
		   _i == 0   ? "MLX5-CAPTURED-ERROR"
		   : _i == 1 ? "MLX5-ENTRY-INDEX"
		   : _i == 2 ? "MLX5-ENTRY-QPN"
			     : "MLX5-ENTRY-SHAPE",
		   _i == 0   ? "WQE 5 of QP 0x0 failed with syndrome 04, vendor 51"
		   : _i == 3 ? "WQE 5 of QP 0x101 on PE 0 (line 1 of the capture) says 5 segments"
			     : "on PE 0");
}
END_TEST

START_TEST(suppressed_findings_do_not_count)
{
	struct bf_suppressions *sup;
	struct bf_error err = { 0 };
	struct bf_rules_opts o = { 0 };
	struct rig r;

	ck_assert_int_eq(bf_suppressions_create(&sup), 0);
	ck_assert_int_lt(bf_suppress_text(sup, "MLX5-NO-SUCH-RULE why\n", "list", &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "list, line 1"));
	ck_assert_int_lt(bf_suppress_text(sup, "# nothing\n\nMLX5-FLUSHED  \n", "list", &err), 0);
	ck_assert_ptr_nonnull(strstr(err.text, "line 3"));
	ck_assert_int_eq(bf_suppress_text(sup, " mlx5-doorbell-* the test does so # and so\n", "list", &err), 0);
	ck_assert_str_eq(bf_suppressed(sup, "MLX5-DOORBELL-REFUSED"), "the test does so");
	ck_assert_ptr_null(bf_suppressed(sup, "MLX5-DBREC-ORDER"));
	begin(&r);
	bf_stream_close(&r.s.st);
	bf_rules_destroy(r.s.rules);
	o.suppress = sup;
	ck_assert_int_eq(bf_rules_create(&o, &r.s.rules, &err), 0);
	ck_assert_int_eq(bf_stream_open(&r.s.st, &r.s.now, BF_CLASS_ALL, bf_rules_sink(r.s.rules)), 0);
	STORY(&r.s, doorbell, r.qp, .qpn = QPN, .verdict = 4);
	story_ends(&r.s, NULL, NULL);
	bf_suppressions_destroy(sup);
}
END_TEST

START_TEST(one_rule_alone)
{
	const char *const only[] = { "mlx5-flushed" }, *const none[] = { "MLX5-NOTHING" };
	struct bf_error err = { 0 };
	struct rig r;

	begin(&r);
	bf_stream_close(&r.s.st);
	bf_rules_destroy(r.s.rules);
	ck_assert_int_lt(bf_rules_create(&(struct bf_rules_opts){ .only = none, .nonly = 1 }, &r.s.rules, &err), 0);
	ck_assert_int_eq(bf_rules_create(&(struct bf_rules_opts){ .only = only, .nonly = 1 }, &r.s.rules, &err), 0);
	ck_assert_int_eq(bf_stream_open(&r.s.st, &r.s.now, BF_CLASS_ALL, bf_rules_sink(r.s.rules)), 0);
	STORY(&r.s, doorbell, r.qp, .qpn = QPN, .verdict = 4);
	story_ends(&r.s, NULL, NULL);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rules_errors");
	TCase *t = tcase_create("rules");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(t, keys, 0, 6);
	tcase_add_loop_test(t, syndromes, 0, 6);
	tcase_add_test(t, refusal_comes_first);
	tcase_add_loop_test(t, a_refused_command, 0, 2);
	tcase_add_test(t, a_path_to_another_mac);
	tcase_add_loop_test(t, rings_that_overlap, 0, 3);
	tcase_add_loop_test(t, completion_queues_that_overlap, 0, 2);
	tcase_add_loop_test(t, nvme_queues_that_overlap, 0, 2);
	tcase_add_loop_test(t, never_sent_again, 0, 2);
	tcase_add_loop_test(t, not_acknowledged, 0, 2);
	tcase_add_test(t, a_refused_request);
	tcase_add_loop_test(t, drives_that_were_traced, 0, 4);
	tcase_add_loop_test(t, a_drive_that_says_nothing, 0, 2);
	tcase_add_loop_test(t, both_ends_speak, 0, 3);
	tcase_add_loop_test(t, the_peer_drops, 0, 8);
	tcase_add_loop_test(t, the_wrong_one_is_addressed, 0, 3);
	tcase_add_loop_test(t, completions_are_never_nothing, 0, 3);
	tcase_add_loop_test(t, dc_targets, 0, 3);
	tcase_add_test(t, flushes_are_told);
	tcase_add_loop_test(t, early_poll_and_quiet, 0, 2);
	tcase_add_test(t, doorbell_before_rts);
	tcase_add_loop_test(t, connections, 0, 3);
	tcase_add_loop_test(t, own_address, 0, 3);
	tcase_add_loop_test(t, receiver_not_ready, 0, 2);
	tcase_add_loop_test(t, completion_queues, 0, 2);
	tcase_add_loop_test(t, control_segments, 0, 2);
	tcase_add_test(t, remote_address_zero);
	tcase_add_test(t, remote_address_zero_that_is_served);
	tcase_add_loop_test(t, captures, 0, 4);
	tcase_add_loop_test(t, an_event_nobody_came_for, 0, 5);
	tcase_add_test(t, suppressed_findings_do_not_count);
	tcase_add_test(t, one_rule_alone);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
