/*
 * Rules about what is waited for in vain, and what a device read instead of what was meant, on records made by hand.
 * Each is shown with its mistake and, silent, where a neighbour's mistake or none is made.
 */
#include <errno.h>
#include <stdio.h>

#include "models/mlx5/records.h"
#include "models/nvme/records.h"
#include "models/rdma/records.h"
#include "sim/bytes.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "tests/traces/rules_story.h"
#include "traces/records/gin.h"
#include "traces/records/ibgda.h"
#include "traces/records/ll.h"
#include "traces/records/nvme_driver.h"

#define QPN 0x101u
#define DEPTH 16u
#define SQ 0x10000ull
#define DBREC 0x20000ull
#define CQ 0x30000ull

struct rig {
	struct story s;
	uint32_t nic, qp, cq, thread;
};

static void begin(struct rig *r)
{
	story_begin(&r->s);
	r->nic = story_actor(&r->s, "device", "nic0");
	r->qp = story_actor(&r->s, "queue", "nic0.qp0x101");
	r->cq = story_actor(&r->s, "queue", "nic0.cq0x41");
	r->thread = story_actor(&r->s, "agent", "pe0.b0.w0.l0");
	STORY(&r->s, agent_start, r->thread, .name = "pe0.b0.w0.l0");
	STORY(&r->s, qp_config, r->qp, .qpn = QPN, .sq_wqebbs = DEPTH, .sq = SQ, .dbrec = DBREC, .send_cqn = 0x41);
}

static void waits(struct rig *r, const char *what)
{
	struct bf_rec_agent_wait wait = { .va = CQ, .lines = 1, .timeout = UINT64_MAX };
	struct bf_rec_deadlock dead = { .va = CQ };

	snprintf(wait.what, sizeof(wait.what), "%s", what);
	snprintf(dead.what, sizeof(dead.what), "%s", what);
	bf_record(&r->s.st, &bf_rec_agent_wait_schema, r->thread, &wait, NULL, 0);
	r->s.now++;
	bf_record(&r->s.st, &bf_rec_deadlock_schema, r->thread, &dead, NULL, 0);
	r->s.now++;
}

/* All that is to come has come: the thread waits on, or has ended. */
static void ends(struct rig *r, const char *wait, const char *id, const char *text)
{
	if (wait)
		waits(r, wait);
	else
		STORY(&r->s, agent_end, r->thread, .ahead = 0);
	story_ends(&r->s, id, text);
}

/* The driver's word that it has built, published and rung for entries below `to`, and the device's that it fetched
 * them. */
static void post(struct rig *r, uint64_t to)
{
	STORY(&r->s, ibgda_build, r->thread, .index = to - 1, .qpn = QPN, .ds = 4);
	STORY(&r->s, ibgda_publish, r->thread, .base = to - 1, .count = 1, .qpn = QPN, .posts = 1);
	STORY(&r->s, ibgda_post, r->thread, .from = to - 1, .to = to, .qpn = QPN, .dbrec = (uint32_t)to & 0xffff);
}

static void fetch(struct rig *r, uint16_t index)
{
	STORY(&r->s, wqe_fetch, r->qp, .qpn = QPN, .index = index, .ctrl_index = index, .ctrl_qpn = QPN, .wqebbs = 1,
	      .ds = 4);
}

static void done(struct rig *r, uint16_t index, bool signalled)
{
	STORY(&r->s, wqe_done, r->qp, .qpn = QPN, .index = index, .next = (uint16_t)(index + 1), .opcode = 8,
	      .signalled = signalled);
}

static void cqe(struct rig *r, uint32_t count, uint16_t index, uint8_t syndrome)
{
	STORY(&r->s, cqe, r->cq, .qpn = QPN, .cqn = 0x41, .iova = CQ + count % 16 * 64, .count = count, .index = index,
	      .opcode = syndrome ? 13 : 0, .syndrome = syndrome);
}

/*
 * RNR NAKs without end (0); once, which may be a receiver that is late (1); until the entry was done after all (2); and
 * packets that are lost (3).
 */
START_TEST(a_receive_never_comes)
{
	struct rig r;

	begin(&r);
	post(&r, 1);
	fetch(&r, 0);
	STORY(&r.s, retransmit, r.qp, .qpn = QPN, .cause = _i == 3 ? BF_RDMA_AGAIN_TIME_OUT : BF_RDMA_AGAIN_RNR);
	if (_i != 1)
		STORY(&r.s, retransmit, r.qp, .qpn = QPN,
		      .cause = _i == 3 ? BF_RDMA_AGAIN_TIME_OUT : BF_RDMA_AGAIN_RNR);
	if (_i == 2) {
		done(&r, 0, true);
		cqe(&r, 0, 0, 0);
		STORY(&r.s, ibgda_poll, r.thread, .qpn = QPN, .wanted = 1, .done = 1);
	}
	ends(&r, _i == 2 ? NULL : "completion",
	     _i == 0   ? "MLX5-RNR-ENDLESS"
	     : _i == 2 ? NULL
		       : "MACHINE-STUCK",
	     _i == 0 ? "was sent 3 times, from PSN 0 on" : "");
}
END_TEST

/* Both ends of a connection; the other end dropped packets behind a request that it NAKed for want of a receive. */
START_TEST(psns_agree_while_a_receive_is_missing)
{
	struct rig r;
	uint32_t far;

	begin(&r);
	far = story_actor(&r.s, "queue", "nic1.qp0x102");
	STORY(&r.s, qp_config, far, .qpn = 0x102, .sq_wqebbs = DEPTH);
	STORY(&r.s, qp_path, r.qp, .qpn = QPN, .remote_qpn = 0x102, .ipv4 = 1, .remote_ipv4 = 2, .timeout = 14,
	      .rnr_retries = 7);
	STORY(&r.s, qp_path, far, .qpn = 0x102, .remote_qpn = QPN, .ipv4 = 2, .remote_ipv4 = 1, .timeout = 14);
	post(&r, 1);
	fetch(&r, 0);
	STORY(&r.s, wqe_start, r.qp, .qpn = QPN, .psn = 0, .npsn = 1);
	fetch(&r, 1);
	STORY(&r.s, wqe_start, r.qp, .qpn = QPN, .index = 1, .psn = 1, .npsn = 1);
	STORY(&r.s, rx_drop, far, .qpn = 0x102, .why = BF_RDMA_DROP_SEQUENCE, .psn = 1, .expected = _i ? 9 : 0);
	if (_i) {
		ends(&r, NULL, "MLX5-PEER-PSN", "PSN 1, when it expected 9");
		return;
	}
	for (uint32_t i = 0; i < 3; i++)
		STORY(&r.s, retransmit, r.qp, .qpn = QPN, .cause = BF_RDMA_AGAIN_RNR);
	ends(&r, NULL, "MLX5-RNR-ENDLESS", "with rnr_retry 7 this goes on forever. That is nic1.qp0x102");
}
END_TEST

/*
 * A thread waits for a completion, and an error is there (0); it was seen (1); it was gone past (2); the thread waits
 * for something else (3); the completion is a good one that no poller takes (4).
 */
START_TEST(an_error_is_there)
{
	static const char *const ids[] = { "MLX5-ERROR-UNSEEN",     "MLX5-ERROR-UNSEEN", "MLX5-ERROR-IGNORED",
					   "MLX5-ERROR-COMPLETION", "MLX5-POLL-WINDOW",  "MLX5-ERROR-COMPLETION" };
	const uint32_t other = _i == 5 ? 1 : 0;
	struct rig r;

	begin(&r);
	post(&r, 1);
	fetch(&r, 0);
	done(&r, 0, true);
	cqe(&r, 0, 0, _i == 4 ? 0 : 0x15);
	if (_i == 1 || _i == 2 || other)
		STORY(&r.s, ibgda_poll, other ? story_actor(&r.s, "agent", "pe0.b0.w1.l0") : r.thread, .qpn = QPN,
		      .wanted = 1, .done = _i == 2, .syndrome = _i == 2 ? 0 : 0x15);
	ends(&r, _i == 3 ? "its turn" : "completion in a collapsed CQ", ids[_i],
	     _i == 0   ? "pe0.b0.w0.l0 waits for completion in a collapsed CQ"
	     : _i == 1 ? "the thread has read it and waits on"
	     : _i == 2 ? "had failed with syndrome 15"
		       : "");
}
END_TEST

/*
 * Slots were taken, no entry was laid, and the thread waits: the ring is empty (0), nobody has completed what fills it
 * (1), the entry was laid (2), or another thread waits (3).
 */
START_TEST(room_in_an_empty_ring)
{
	struct rig r;

	begin(&r);
	for (uint32_t i = 0; _i == 1 && i < DEPTH; i++)
		post(&r, i + 1);
	STORY(&r.s, ibgda_reserve, _i == 3 ? story_actor(&r.s, "agent", "pe0.b0.w1.l0") : r.thread,
	      .base = _i == 1 ? DEPTH : 0, .count = 1, .qpn = QPN);
	if (_i == 2)
		STORY(&r.s, ibgda_build, r.thread, .index = 0, .qpn = QPN, .ds = 4);
	ends(&r, "a doorbell for these entries",
	     _i == 0   ? "MLX5-ROOM"
	     : _i == 1 ? "MLX5-DOORBELL-LOST"
	     : _i == 2 ? "MLX5-NOT-PUBLISHED"
		       : "MACHINE-STUCK",
	     _i == 0 ? "the ring of 16 WQEBBs is empty" : "");
}
END_TEST

/*
 * A receiver takes the count of two rounds before (0), one that no round had: another sender's, which went by the wrong
 * queue pair (1), or the right one (2).
 */
START_TEST(counts_of_other_rounds)
{
	static const int32_t taken[] = { -3, -7, -5 };
	uint32_t from, to;
	struct story s;

	story_begin(&s);
	from = story_actor(&s, "agent", "pe0.b0.w0.l0");
	to = story_actor(&s, "agent", "pe1.b0.w0.l0");
	for (uint32_t round = 0; round < 3; round += 2) {
		const int32_t sent = round ? -5 : -3;

		for (int32_t token = 0; token < -sent - 1; token++)
			STORY(&s, ll_send, from, .round = round, .expert = 4, .dst = 1, .slot = (uint32_t)token,
			      .token = (uint32_t)token, .qpn = QPN);
		STORY(&s, ll_count, from, .round = round, .expert = 4, .dst = 1, .value = sent, .qpn = QPN);
		STORY(&s, ll_recv, to, .round = round, .expert = 4, .src = 0, .value = round ? taken[_i] : sent);
	}
	story_ends(&s, _i ? NULL : "LL-COUNT-STALE",
		   "took -3 for the count of expert 4 from PE 0, which had sent another one");
}
END_TEST

/* The run was stopped by an access where nothing is (0), or because a device refused what it was asked for (1). */
START_TEST(a_run_is_stopped)
{
	static const char text[] = "the run was stopped: agent 'pe0.b0.w0.l0': access to 1 bytes at 0x18";
	struct rig r;

	begin(&r);
	STORY_TAIL(&r.s, run_failed, 0, text, sizeof(text) - 1, .code = _i ? EIO : EFAULT);
	story_ends(&r.s, _i ? "MACHINE-STOPPED" : "MACHINE-WILD", text);
}
END_TEST

/*
 * The last entry asked for no completion (0), also by a driver that says nothing (1); a later one did (2); it did, and
 * pollers do not take it (3); the driver is silent, and another completion of the queue may be the one (4).
 */
START_TEST(nobody_asked_for_a_completion)
{
	struct rig r;

	begin(&r);
	if (_i != 1 && _i != 4)
		post(&r, 1);
	fetch(&r, 0);
	done(&r, 0, _i >= 3);
	if (_i == 2 && (post(&r, 2), fetch(&r, 1), done(&r, 1, true), 1)) {
		cqe(&r, 0, 1, 0);
		STORY(&r.s, ibgda_poll, r.thread, .qpn = QPN, .wanted = 2, .done = 2);
	}
	if (_i >= 3)
		cqe(&r, 0, 0, 0);
	if (_i < 2)
		ends(&r, "completion", "MLX5-UNSIGNALLED", "none from 0 on asked for a completion");
	else
		ends(&r, "completion", _i == 3 ? "MLX5-POLL-WINDOW" : "MACHINE-STUCK", "");
}
END_TEST

/* A store of four bytes into the doorbell record, and the device's look at it. */
static void store_dbrec(struct rig *r, uint64_t offset, uint32_t bytes)
{
	STORY_TAIL(&r->s, store, r->thread, (const uint8_t *)&bytes, 4, .va = DBREC + offset, .seq = ++r->s.seq,
		   .len = 4);
}

static void look(struct rig *r, uint32_t send, uint16_t doorbell)
{
	uint8_t both[8] = { 0 };

	memcpy(both + 4, &send, 4);
	STORY_TAIL(&r->s, dma_read, r->nic, both, 8, .iova = DBREC, .va = DBREC, .len = 8, .done_ps = r->s.now + 1);
	STORY(&r->s, dbrec, r->qp, .qpn = QPN, .producer = bf_get_be16(both + 6), .doorbell = doorbell);
}

/*
 * What was stored for 3 entries: nothing (0), the index into the receive word (1), in the processor's byte order (2),
 * one less (3), or the index (4).
 */
START_TEST(the_record_says_something_else)
{
	static const struct {
		const char *id, *text;
	} expected[] = { { "MLX5-DBREC-STILL", "which nobody stores to" },
			 { "MLX5-DBREC-STILL", "pe0.b0.w0.l0 stored 3 into the receive word" },
			 { "MLX5-DBREC-ENDIAN",
			   "stored 3 into the doorbell record of QP 0x101 on PE 0 in the CPU's byte order" },
			 { "MLX5-DBREC-INDEX", "pe0.b0.w0.l0 stored 2 into the doorbell record" },
			 { NULL, NULL } };
	const uint32_t right = __builtin_bswap32(3);
	const uint32_t word = _i < 2 ? 0 : _i == 2 ? 3 : _i == 3 ? __builtin_bswap32(2) : right;
	struct rig r;

	begin(&r);
	if (_i == 1)
		store_dbrec(&r, 0, right);
	else if (_i >= 2)
		store_dbrec(&r, 4, word);
	post(&r, 3);
	STORY(&r.s, doorbell, r.qp, .qpn = QPN, .index = 3);
	look(&r, word, 3);
	for (uint16_t i = 0; _i >= 3 && i < (_i == 3 ? 2 : 3); i++) {
		fetch(&r, i);
		done(&r, i, true);
	}
	if (_i == 4) {
		cqe(&r, 0, 2, 0);
		STORY(&r.s, ibgda_poll, r.thread, .qpn = QPN, .wanted = 3, .done = 3);
	}
	ends(&r, NULL, expected[_i].id, expected[_i].text);
}
END_TEST

/* The record went back to 1, a thread says: since this queue was made (0), or before that, in another's record (1). */
START_TEST(memory_was_anothers_record)
{
	uint8_t far[4], near[4];
	struct rig r;
	uint32_t other, word;

	bf_put_be32(far, 528);
	bf_put_be32(near, 1);
	memcpy(&word, near, 4);
	begin(&r);
	other = story_actor(&r.s, "agent", "pe0.b1.w0.l0");
	STORY(&r.s, agent_start, other, .name = "pe0.b1.w0.l0");
	STORY_TAIL(&r.s, store, other, far, 4, .va = DBREC + 4, .seq = 1, .len = 4);
	STORY(&r.s, store_visible, other, .va = DBREC + 4, .seq = 1, .age = 1, .len = 4);
	STORY(&r.s, agent_end, other, .ahead = 0);
	if (_i)
		STORY(&r.s, qp_config, r.qp, .qpn = QPN, .sq_wqebbs = DEPTH, .sq = SQ, .dbrec = DBREC,
		      .send_cqn = 0x41);
	STORY_TAIL(&r.s, store, r.thread, near, 4, .va = DBREC + 4, .seq = ++r.s.seq, .len = 4);
	STORY(&r.s, store_visible, r.thread, .va = DBREC + 4, .seq = r.s.seq, .age = 1, .len = 4);
	post(&r, 1);
	STORY(&r.s, doorbell, r.qp, .qpn = QPN, .index = 1);
	look(&r, word, 1);
	fetch(&r, 0);
	done(&r, 0, true);
	cqe(&r, 0, 0, 0);
	STORY(&r.s, ibgda_poll, r.thread, .qpn = QPN, .wanted = 1, .done = 1);
	ends(&r, NULL, _i ? NULL : "MLX5-DBREC-LOCK", _i ? "" : "went back from 528 to 1");
}
END_TEST

/*
 * A CQ of 16 that is a ring. CQEs 0 to 15 are there, and pollers go on into the lap before (0) or wait at its end when
 * 4 is there, too (1). Or the pollers are right (2), misread a counter in the first lap (3), or look at another queue
 * (4).
 */
START_TEST(laps_of_a_completion_queue)
{
	static const char *const ids[] = { "MLX5-CQE-OWNER", "MLX5-CQE-OWNER", NULL, "MLX5-POLL-EARLY",
					   "MLX5-POLL-WINDOW" };
	static const char *const texts[] = { "read on into those of the lap before",
					     "the poller takes that for an old one", NULL,
					     "misread the completion's counter", "no poller takes the counter" };
	const uint16_t n = _i == 0 || _i == 4 ? 16 : _i == 3 ? 2 : 17;
	struct rig r;

	begin(&r);
	STORY(&r.s, cq_config, r.cq, .cqn = 0x41, .cqes = 16, .cqe_size = 64);
	for (uint16_t i = 0; i < n; i++) {
		post(&r, i + 1u);
		fetch(&r, i);
		done(&r, i, true);
		cqe(&r, i, i, 0);
	}
	STORY(&r.s, ibgda_poll, r.thread, .qpn = QPN, .wanted = n,
	      .done = _i == 0   ? 17
		      : _i == 1 ? 16
		      : _i == 2 ? 17
		      : _i == 3 ? 3
				: 10);
	if (_i == 1)
		STORY(&r.s, load, r.thread, .va = CQ + 60, .len = 4, .value = 0x01000000, .sem = 1);
	ends(&r, _i == 1 || _i == 4 ? "completion in a CQ" : NULL, ids[_i], texts[_i]);
}
END_TEST

/* Who takes completions has polled with relaxed loads (0), with none that is recorded (1), or elsewhere only (2). */
START_TEST(plain_polls)
{
	struct rig r;

	begin(&r);
	post(&r, 1);
	fetch(&r, 0);
	done(&r, 0, true);
	cqe(&r, 0, 0, 0);
	STORY(&r.s, load, r.thread, .va = _i == 0 ? CQ + 60 : CQ + 0x1000, .len = 4, .sem = 1, .scope = 1);
	if (_i == 1)
		STORY(&r.s, load, r.thread, .va = SQ, .len = 8, .sem = 1, .scope = 1);
	STORY(&r.s, ibgda_poll, r.thread, .qpn = QPN, .wanted = 1, .done = 1);
	if (_i)
		ends(&r, NULL, "MLX5-WEAK-POLL", "by weak loads alone");
	else
		ends(&r, NULL, NULL, NULL);
}
END_TEST

/*
 * A key is refused that another NIC of the PE took (0, 1: remote, local), that this one took and has freed (2), or that
 * the other NIC took but that does not reach here (3).
 */
START_TEST(keys_of_other_nics)
{
	const bool local = _i == 1;
	struct rig r;
	uint32_t first, second;

	begin(&r);
	first = story_actor(&r.s, "queue", "nic0.0.qp0x201");
	second = story_actor(&r.s, "queue", "nic0.1.qp0x301");
	STORY(&r.s, qp_config, first, .qpn = 0x201, .sq_wqebbs = DEPTH);
	STORY(&r.s, qp_config, second, .qpn = 0x301, .sq_wqebbs = DEPTH);
	if (local) {
		STORY(&r.s, wqe_start, first, .qpn = 0x201, .lkey = 0x1007, .npsn = 1);
		STORY(&r.s, wqe_done, first, .qpn = 0x201, .next = 1, .signalled = 1, .opcode = 8);
	} else {
		STORY(&r.s, request_done, _i == 2 ? second : first, .qpn = _i == 2 ? 0x301 : 0x201, .rkey = 0x1007);
	}
	STORY(&r.s, mkey_error, second, .qpn = 0x301, .key = 0x1007, .access = local ? 1 : 8,
	      .why = _i == 3 ? BF_MLX5_KEY_BOUNDS : BF_MLX5_KEY_VARIANT);
	story_ends(&r.s,
		   _i < 2    ? "MLX5-KEY-ELSEWHERE"
		   : _i == 2 ? "MLX5-KEY-UNKNOWN"
			     : "MLX5-KEY-BOUNDS",
		   _i < 2 ? "nic0.0.qp0x201 took it before" : "refused a request");
}
END_TEST

/* An atomic that changes nothing (0), one that does (1), one that does behind it (2); one elsewhere (3). */
START_TEST(signals_that_add_nothing)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, dma_rmw, r.nic, .va = CQ + (_i == 3 ? 8 : 0), .before = 5, .after = _i == 1 ? 6 : 5, .len = 8);
	if (_i == 2)
		STORY(&r.s, dma_rmw, r.nic, .va = CQ, .before = 5, .after = 6, .len = 8);
	ends(&r, "a signal", _i ? "MACHINE-STUCK" : "MLX5-SIGNAL-ZERO",
	     _i ? "waits for a signal" : "the last atomic that came there left it as it was, 0x5");
}
END_TEST

/* A proxy that has posted what it was asked for; the device is through (0), or is not (1). */
START_TEST(a_proxy_that_does_not_say_so)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, gin_descriptor, r.thread, .index = 0, .qpn = QPN);
	STORY(&r.s, gin_taken, r.thread, .index = 0, .entry = 0, .qpn = QPN, .posted = 1);
	fetch(&r, 0);
	if (!_i)
		STORY(&r.s, wqe_done, r.qp, .qpn = QPN, .next = 1, .signalled = 1, .opcode = 8);
	ends(&r, "descriptors that the proxy exec", _i ? "MACHINE-STUCK" : "MLX5-DESCRIPTOR-LOST",
	     _i ? "waits for descriptors" : "the proxy does not say so");
}
END_TEST

/* Control segments by a driver that says nothing: with room (0), without (1), and of another queue pair (2). */
START_TEST(a_ring_without_room)
{
	uint8_t ctrl[16] = { 0 };
	const uint16_t index = _i ? 17 : 16;
	struct rig r;

	begin(&r);
	look(&r, 0, 0);
	for (uint16_t i = 0; i < 16; i++)
		fetch(&r, i);
	done(&r, 0, true);
	cqe(&r, 0, 0, 0);
	bf_put_be16(ctrl + 1, index);
	bf_put_be24(ctrl + 4, _i == 2 ? 0x555 : QPN);
	STORY_TAIL(&r.s, store, r.thread, ctrl, 16, .va = SQ + index % DEPTH * 64, .seq = ++r.s.seq, .len = 16);
	if (_i == 1)
		ends(&r, NULL, "MLX5-RING-OVERRUN", "stored WQE 17 of QP 0x101 on PE 0 over WQE 1");
	else
		ends(&r, NULL, NULL, NULL);
}
END_TEST

/*
 * Admin queues of 8 for the driver. The controller has the sizes exchanged and fetches beyond the ring (0), twice the
 * size (1), or the same (2).
 */
START_TEST(sizes_of_admin_queues)
{
	const uint32_t sq = _i == 0 ? 16 : _i == 1 ? 16 : 8, cq = _i == 0 ? 8 : sq;
	uint32_t device, queue, thread;
	struct story s;

	story_begin(&s);
	device = story_actor(&s, "device", "ssd0");
	queue = story_actor(&s, "queue", "ssd0.sq0");
	thread = story_actor(&s, "agent", "pe0.cpu0");
	STORY(&s, nvme_queue, device, .qid = 0, .queue = 0, .base = SQ, .size = sq, .flags = 1);
	STORY(&s, nvme_queue, device, .qid = 0, .queue = 1, .base = CQ, .size = cq, .flags = 1);
	for (uint32_t i = 0; i < 2; i++) {
		STORY(&s, nvm_build, thread, .qid = 0, .slot = i, .entries = 8, .va = SQ + i * 64);
		STORY(&s, nvme_fetch, queue, .sqid = 0, .slot = (uint16_t)i, .cid = (uint16_t)i);
	}
	if (_i < 2)
		STORY(&s, nvme_fetch, queue, .sqid = 0, .slot = 8);
	if (_i == 2)
		story_ends(&s, NULL, NULL);
	else
		story_ends(&s, _i ? "NVME-QUEUE-SIZE" : "NVME-AQA-SWAPPED",
			   _i ? "8 entries for the driver and 16 for the controller" : "fetched slot 8 of the admin");
}
END_TEST

/*
 * What lies in a slot: nothing (0), an entry with another index (1), one of another queue pair (2), or what belongs
 * there (3). The driver says nothing of entries.
 */
START_TEST(what_a_slot_holds)
{
	uint8_t wqe[64] = { 0 };
	struct rig r;

	begin(&r);
	if (_i) {
		bf_put_be16(wqe + 1, _i == 1 ? 9 : 0);
		bf_put_be24(wqe + 4, _i == 2 ? 0x55 : QPN);
		wqe[3] = 8;
		wqe[7] = 2;
	}
	STORY_TAIL(&r.s, wqe_fetch, r.qp, wqe, 64, .qpn = QPN, .index = 0, .ctrl_index = _i == 1 ? 9 : 0,
		   .ctrl_qpn = _i == 0   ? 0
			       : _i == 2 ? 0x55
					 : QPN,
		   .wqebbs = 1,
		   .verdict = _i == 0   ? BF_MLX5_FETCH_QPN
			      : _i == 1 ? BF_MLX5_FETCH_INDEX
			      : _i == 2 ? BF_MLX5_FETCH_QPN
					: BF_MLX5_FETCH_OK);
	if (_i == 3) {
		done(&r, 0, true);
		cqe(&r, 0, 0, 0);
	}
	ends(&r, NULL,
	     _i < 2    ? "MLX5-ENTRY-INDEX"
	     : _i == 2 ? "MLX5-ENTRY-QPN"
		       : NULL,
	     _i == 0   ? "holds zeros where a control segment belongs"
	     : _i == 1 ? "says index 9"
		       : "names QP 0x55");
}
END_TEST

/*
 * A WAIT for a completion that its CQ does not have (0); one of its own queue pair's (1); it was over (2).
 */
START_TEST(a_wait_is_never_over)
{
	uint8_t wqe[64] = { 0 };
	struct rig r;

	begin(&r);
	STORY(&r.s, cq_config, r.cq, .cqn = 0x42, .cqes = 16, .cqe_size = 64);
	bf_put_be32(wqe + 24, 5);
	bf_put_be32(wqe + 28, _i == 1 ? 0x41 : 0x42);
	STORY_TAIL(&r.s, wqe_fetch, r.qp, wqe, sizeof(wqe), .qpn = QPN, .index = 0, .ctrl_index = 0, .ctrl_qpn = QPN,
		   .wqebbs = 1, .ds = 2, .opcode = 0x0f);
	if (_i == 2)
		STORY(&r.s, wqe_done, r.qp, .qpn = QPN, .index = 0, .next = 1, .opcode = 0x0f, .signalled = 1);
	ends(&r, _i == 2 ? NULL : "a counter", _i == 2 ? NULL : "MLX5-WAIT-UNMET",
	     _i ? "which is its own queue pair's" : "is a WAIT for completion 5 of CQ 0x42, which has 0 so far");
}
END_TEST

/* A poller looks behind the end of the ring of completions (0), at its last slot (1), or into the next CQ's (2). */
START_TEST(a_completion_queue_is_smaller_than_its_poller_thinks)
{
	struct rig r;
	uint32_t next;

	begin(&r);
	next = story_actor(&r.s, "queue", "nic0.cq0x42");
	STORY(&r.s, cq_config, r.cq, .cqn = 0x41, .cqes = 8, .cqe_size = 64);
	STORY(&r.s, cq_config, next, .cqn = 0x42, .cqes = 8, .cqe_size = 64);
	cqe(&r, 0, 0, 0);
	if (_i == 2)
		STORY(&r.s, cqe, next, .qpn = QPN, .cqn = 0x42, .iova = CQ + 8 * 64, .count = 0, .index = 0);
	STORY(&r.s, load, r.thread, .va = CQ + (_i == 1 ? 7u : 9u) * 64 + 60, .value = 0xf1000000, .len = 4);
	ends(&r, "the CQE of an entry", _i ? "MACHINE-STUCK" : "MLX5-CQ-VIEW", _i ? "" : "slot 9 of CQ 0x41");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rules_waits");
	TCase *t = tcase_create("rules");
	SRunner *sr;
	int failed;

	tcase_add_loop_test(t, a_receive_never_comes, 0, 4);
	tcase_add_loop_test(t, psns_agree_while_a_receive_is_missing, 0, 2);
	tcase_add_loop_test(t, an_error_is_there, 0, 6);
	tcase_add_loop_test(t, room_in_an_empty_ring, 0, 4);
	tcase_add_loop_test(t, counts_of_other_rounds, 0, 3);
	tcase_add_loop_test(t, a_run_is_stopped, 0, 2);
	tcase_add_loop_test(t, nobody_asked_for_a_completion, 0, 5);
	tcase_add_loop_test(t, the_record_says_something_else, 0, 5);
	tcase_add_loop_test(t, memory_was_anothers_record, 0, 2);
	tcase_add_loop_test(t, laps_of_a_completion_queue, 0, 5);
	tcase_add_loop_test(t, plain_polls, 0, 3);
	tcase_add_loop_test(t, signals_that_add_nothing, 0, 4);
	tcase_add_loop_test(t, a_proxy_that_does_not_say_so, 0, 2);
	tcase_add_loop_test(t, keys_of_other_nics, 0, 4);
	tcase_add_loop_test(t, a_ring_without_room, 0, 3);
	tcase_add_loop_test(t, sizes_of_admin_queues, 0, 3);
	tcase_add_loop_test(t, what_a_slot_holds, 0, 4);
	tcase_add_loop_test(t, a_wait_is_never_over, 0, 3);
	tcase_add_loop_test(t, a_completion_queue_is_smaller_than_its_poller_thinks, 0, 3);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
