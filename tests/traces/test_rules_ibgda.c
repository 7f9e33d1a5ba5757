/* Rules about what the IBGDA driver and NVSHMEM-style callers say of themselves, on records made by hand. */
#include "traces/records/ibgda.h"
#include "traces/records/shmem.h"
#include "models/mlx5/prm.h"
#include "models/mlx5/records.h"
#include "sim/bytes.h"
#include "sim/records_io.h"
#include "sim/records_agent.h"
#include "tests/traces/rules_story.h"

#define QPN 0x101u
#define DEPTH 16u
#define RING 0x10000010000ull
#define DBREC 0x10000020000ull
#define UAR 0x10000000000ull
#define FENCED (BF_MLX5_FM_FENCE << 5)

struct rig {
	struct story s;
	uint32_t a, b, queue; /* two threads, the device's queue pair */
};

static void begin(struct rig *r)
{
	story_begin(&r->s);
	r->a = story_actor(&r->s, "agent", "pe0.w0.l0");
	r->b = story_actor(&r->s, "agent", "pe0.w1.l0");
	r->queue = story_actor(&r->s, "queue", "nic0.qp0x101");
	STORY(&r->s, qp_config, r->queue, .qpn = QPN, .sq_wqebbs = DEPTH);
}

static void reserve(struct rig *r, uint32_t who, uint64_t base, uint32_t count)
{
	STORY(&r->s, ibgda_reserve, who, .base = base, .count = count, .qpn = QPN);
}

static void build(struct rig *r, uint32_t who, uint64_t index, uint32_t ds)
{
	STORY(&r->s, ibgda_build, who, .index = index, .qpn = QPN, .ds = ds);
}

static void publish(struct rig *r, uint32_t who, uint64_t base, uint32_t count)
{
	STORY(&r->s, ibgda_publish, who, .base = base, .count = count, .qpn = QPN, .posts = 1);
}

static void post(struct rig *r, uint32_t who, uint64_t from, uint64_t to)
{
	STORY(&r->s, ibgda_post, who, .from = from, .to = to, .qpn = QPN, .dbrec = (uint32_t)to);
}

/* One entry of one block from reservation to doorbell. */
static void submit(struct rig *r, uint32_t who, uint64_t index)
{
	reserve(r, who, index, 1);
	build(r, who, index, 3);
	publish(r, who, index, 1);
	post(r, who, index, index + 1);
}

static void fetch(struct rig *r, uint64_t index, uint8_t opcode, uint8_t ds, uint8_t flags)
{
	const uint8_t bytes[64] = { 0 };

	STORY_TAIL(&r->s, wqe_fetch, r->queue, bytes, 64, .qpn = QPN, .ctrl_qpn = QPN, .length = 64,
		   .index = (uint16_t)index, .ctrl_index = (uint16_t)index, .producer = (uint16_t)(index + 1),
		   .opcode = opcode, .ds = ds, .wqebbs = 1, .fm_ce_se = flags);
}

static void done(struct rig *r, uint64_t index, uint8_t opcode)
{
	STORY(&r->s, wqe_done, r->queue, .qpn = QPN, .index = (uint16_t)index, .next = (uint16_t)(index + 1),
	      .opcode = opcode, .signalled = 1);
}

static void execute(struct rig *r, uint64_t index, uint8_t opcode, uint8_t flags)
{
	fetch(r, index, opcode, 3, flags);
	done(r, index, opcode);
}

static void polled(struct rig *r, uint32_t who, uint64_t upto)
{
	STORY(&r->s, ibgda_poll, who, .wanted = upto, .done = upto, .qpn = QPN);
}

static void quiet(struct rig *r, uint32_t who, uint64_t upto)
{
	STORY(&r->s, ibgda_quiet, who, .upto = upto, .qpn = QPN);
}

/* ---- where things lie ---- */

#define SQ 0x100000ull
#define RECORD 0x200000ull

static void lay(struct rig *r, uint64_t index, uint64_t at)
{
	uint8_t ctrl[16] = { 0 };

	ctrl[2] = (uint8_t)index;
	bf_put_be24(ctrl + 4, QPN);
	STORY_TAIL(&r->s, store, r->a, ctrl, 16, .va = at, .seq = 100 + index, .len = 16);
	build(r, r->a, index, 1);
}

/* The base of the ring; its size, where the driver's is twice as large. */
START_TEST(driver_and_device_see_another_ring)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, qp_config, r.queue, .qpn = QPN, .sq_wqebbs = DEPTH, .sq = SQ);
	for (uint64_t i = 0; i < DEPTH + 2; i++)
		lay(&r, i, SQ + (_i == 1 ? 1024 : 0) + i % (_i == 2 ? 2 * DEPTH : DEPTH) * 64);
	story_ends(&r.s, _i ? "MLX5-RING-VIEW" : NULL, "base or size of the ring differ between driver and device");
}
END_TEST

/* The device reads the record of the neighbour. */
START_TEST(driver_and_device_see_another_record)
{
	const uint8_t stored[4] = { 0, 0, 0, 1 }, read[8] = { 0, 0, 0, 0, 0, 0, 0, (uint8_t)!_i };
	struct rig r;

	begin(&r);
	reserve(&r, r.a, 0, 1);
	build(&r, r.a, 0, 3);
	publish(&r, r.a, 0, 1);
	STORY_TAIL(&r.s, store, r.a, stored, 4, .va = RECORD + 4, .seq = 200, .len = 4);
	post(&r, r.a, 0, 1);
	STORY_TAIL(&r.s, dma_read, story_actor(&r.s, "device", "nic0"), read, 8, .va = RECORD + (_i ? 8 : 0), .len = 8,
		   .done_ps = r.s.now + 1);
	STORY(&r.s, dbrec, r.queue, .qpn = QPN, .producer = !_i, .doorbell = 1);
	if (!_i)
		execute(&r, 0, BF_MLX5_OP_NOP, 0);
	polled(&r, r.a, !_i);
	story_ends(&r.s, _i ? "MLX5-DBREC-VIEW" : NULL, "the device reads it at 0x20000c, where it says 0");
}
END_TEST

/* ---- slots ---- */

START_TEST(slots_are_given_out_twice)
{
	struct rig r;

	begin(&r);
	reserve(&r, r.a, 0, 2);
	reserve(&r, r.b, 1, 2);
	story_ends(&r.s, "MLX5-SLOT-SHARED", "slot 1 of QP 0x101");
}
END_TEST

START_TEST(an_entry_is_longer_than_its_slots)
{
	struct rig r;

	begin(&r);
	reserve(&r, r.a, 0, 1);
	build(&r, r.a, 0, 5);
	story_ends(&r.s, "MLX5-SLOT-SHARED", "over slots up to 2, when those below 1");
}
END_TEST

START_TEST(two_entries_are_laid_in_one_slot)
{
	struct rig r;

	begin(&r);
	reserve(&r, r.a, 0, 2);
	build(&r, r.a, 0, 3);
	build(&r, r.b, 0, 3);
	story_ends(&r.s, "MLX5-SLOT-SHARED", "pe0.w0.l0 had laid an entry");
}
END_TEST

START_TEST(fewer_slots_are_published_than_reserved)
{
	struct rig r;

	begin(&r);
	reserve(&r, r.a, 0, 2);
	build(&r, r.a, 0, 5);
	publish(&r, r.a, 0, 1);
	story_ends(&r.s, "MLX5-PUBLISH-COUNT", "published 1 slots");
}
END_TEST

/* A thread that leaves without publishing; a counter that went too far. */
START_TEST(slots_are_never_published)
{
	struct rig r;

	begin(&r);
	reserve(&r, r.a, 0, 1);
	build(&r, r.a, 0, 3);
	if (_i) {
		publish(&r, r.a, 0, 1);
		post(&r, r.a, 0, 1);
		execute(&r, 0, BF_MLX5_OP_RDMA_WRITE, 0);
		polled(&r, r.a, 1);
	}
	reserve(&r, r.b, _i ? 2 : 1, 1);
	story_ends(&r.s, "MLX5-NOT-PUBLISHED",
		   _i ? "nobody was given slot 1" : "pe0.w0.l0 reserved 1 slots of QP 0x101 on PE 0 from 0 on");
}
END_TEST

/* Who waits for room in the ring has not forgotten to publish. */
START_TEST(a_full_ring_is_waited_for)
{
	struct rig r;

	begin(&r);
	for (uint64_t i = 0; i < DEPTH; i++)
		submit(&r, r.a, i);
	for (uint64_t i = 0; i < DEPTH; i++)
		fetch(&r, i, BF_MLX5_OP_RDMA_WRITE, 3, 0);
	reserve(&r, r.b, DEPTH, 1);
	story_ends(&r.s, NULL, NULL);
}
END_TEST

START_TEST(an_entry_is_written_after_it_was_published)
{
	struct rig r;

	begin(&r);
	reserve(&r, r.a, 0, 1);
	publish(&r, r.a, 0, 1);
	build(&r, r.a, 0, 3);
	story_ends(&r.s, "MLX5-ENTRY-EARLY", "after it had published it");
}
END_TEST

START_TEST(a_slot_is_used_again_before_it_is_done)
{
	struct rig r;

	begin(&r);
	for (uint64_t i = 0; i < DEPTH; i++)
		submit(&r, r.a, i);
	execute(&r, 0, BF_MLX5_OP_RDMA_WRITE, 0);
	reserve(&r, r.b, DEPTH, 2);
	build(&r, r.b, DEPTH, 5);
	story_ends(&r.s, "MLX5-RING-OVERRUN", "had not completed");
}
END_TEST

START_TEST(a_control_segment_gives_another_size)
{
	struct rig r;

	begin(&r);
	submit(&r, r.a, 0);
	fetch(&r, 0, BF_MLX5_OP_RDMA_WRITE, 2, 0);
	done(&r, 0, BF_MLX5_OP_RDMA_WRITE);
	polled(&r, r.a, 1);
	story_ends(&r.s, "MLX5-ENTRY-SHAPE", "says 2 segments");
}
END_TEST

/* ---- doorbells and ends ---- */

static uint64_t store(struct rig *r, uint64_t va, const void *bytes, uint32_t len)
{
	const uint64_t seq = ++r->s.seq;

	STORY_TAIL(&r->s, store, r->a, bytes, len, .va = va, .seq = seq, .len = len);
	return seq;
}

/* The second doorbell sets out with its record in a store buffer (_i 0), or when all can see that. */
START_TEST(a_doorbell_overtakes_its_record)
{
	uint8_t record[4], bell[8] = { 0 };
	struct rig r;

	begin(&r);
	for (uint32_t n = 1; n <= 2; n++) {
		uint64_t seq;

		reserve(&r, r.a, n - 1, 1);
		build(&r, r.a, n - 1, 3);
		publish(&r, r.a, n - 1, 1);
		bf_put_be32(record, n);
		seq = store(&r, DBREC + 4, record, 4);
		if (n == 1 || _i)
			STORY(&r.s, store_visible, r.a, .va = DBREC + 4, .seq = seq, .len = 4);
		bf_put_be32(bell, n << 8);
		bf_put_be32(bell + 4, QPN << 8);
		STORY_TAIL(&r.s, mmio_store, r.a, bell, 8, .va = UAR + BF_MLX5_UAR_BF, .seq = ++r.s.seq, .len = 8);
		if (n == 2 && !_i)
			STORY(&r.s, store_visible, r.a, .va = DBREC + 4, .seq = seq, .len = 4);
		post(&r, r.a, n - 1, n);
		execute(&r, n - 1, BF_MLX5_OP_RDMA_WRITE, 0);
		polled(&r, r.a, n);
	}
	story_ends(&r.s, _i ? NULL : "MLX5-DBREC-UNFENCED", "its store of 2 into the doorbell record");
}
END_TEST

/* All threads end; the last entry was waited for (_i 1) or not. */
START_TEST(nobody_waits_at_the_end)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, agent_start, r.a, .stack = 0);
	submit(&r, r.a, 0);
	execute(&r, 0, BF_MLX5_OP_RDMA_WRITE, 0);
	if (_i)
		polled(&r, r.a, 1);
	STORY(&r.s, agent_end, r.a, .ahead = 0);
	story_ends(&r.s, _i ? NULL : "MLX5-NO-QUIET", "without having waited for those from 0 on");
}
END_TEST

/* A thread that has not ended waits, and does not understand what it sees. */
START_TEST(somebody_waits_for_ever)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, agent_start, r.a, .stack = 0);
	submit(&r, r.a, 0);
	execute(&r, 0, BF_MLX5_OP_RDMA_WRITE, 0);
	r.s.now += 10000000; /* so that nothing is under way */
	STORY(&r.s, agent_wake, r.a, .reason = 1);
	story_ends(&r.s, "MLX5-POLL-WINDOW", "no poller takes the counter");
}
END_TEST

/* ---- results ---- */

START_TEST(a_fetched_value_is_read_early)
{
	struct rig r;

	begin(&r);
	submit(&r, r.a, 0);
	fetch(&r, 0, BF_MLX5_OP_ATOMIC_FA, 3, 0);
	if (_i)
		done(&r, 0, BF_MLX5_OP_ATOMIC_FA);
	STORY(&r.s, ibgda_result, r.a, .upto = 1, .qpn = QPN);
	if (!_i)
		done(&r, 0, BF_MLX5_OP_ATOMIC_FA);
	polled(&r, r.a, 1);
	story_ends(&r.s, _i ? NULL : "MLX5-GET-EARLY", "it has not waited for the completion");
}
END_TEST

/* After a READ: no DUMP (0); one that does not wait for it (1); one that does (2); one behind its completion (3). */
START_TEST(got_data_are_read_early)
{
	struct rig r;

	begin(&r);
	submit(&r, r.a, 0);
	fetch(&r, 0, BF_MLX5_OP_RDMA_READ, 3, 0);
	if (_i == 1 || _i == 2) {
		submit(&r, r.a, 1);
		fetch(&r, 1, BF_MLX5_OP_DUMP, 3, _i == 2 ? FENCED : 0);
	}
	done(&r, 0, BF_MLX5_OP_RDMA_READ);
	if (_i == 3) {
		submit(&r, r.a, 1);
		fetch(&r, 1, BF_MLX5_OP_DUMP, 3, 0);
	}
	if (_i)
		done(&r, 1, BF_MLX5_OP_DUMP);
	polled(&r, r.a, _i ? 2 : 1);
	quiet(&r, r.a, _i ? 2 : 1);
	STORY(&r.s, ibgda_result, r.a, .qpn = QPN, .kind = 1);
	story_ends(&r.s, _i < 2 ? "MLX5-GET-EARLY" : NULL, "no DUMP after it");
}
END_TEST

START_TEST(an_internal_buffer_is_shared)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, ibgda_ibuf, r.a, .base = 0, .count = 24, .qpn = QPN, .slots = 32);
	if (_i)
		STORY(&r.s, ibgda_ibuf, r.a, .base = 0, .count = 24, .qpn = QPN, .slots = 32, .given = 1);
	STORY(&r.s, ibgda_ibuf, r.b, .base = 24, .count = 24, .qpn = QPN, .slots = 32);
	story_ends(&r.s, _i ? NULL : "MLX5-IBUF-SHARED", "48 are taken now");
}
END_TEST

/* ---- NVSHMEM's calls ---- */

START_TEST(a_quiet_leaves_a_queue_pair_out)
{
	struct rig r;

	begin(&r);
	submit(&r, r.a, 0);
	if (_i)
		execute(&r, 0, BF_MLX5_OP_RDMA_WRITE, 0);
	STORY(&r.s, shmem_call, r.a, .call = BF_SHMEM_CALL_COMPLETE);
	if (!_i)
		execute(&r, 0, BF_MLX5_OP_RDMA_WRITE, 0);
	polled(&r, r.a, 1);
	story_ends(&r.s, _i ? NULL : "SHMEM-QUIET-EARLY", "completed the entries of QP 0x101 on PE 0 below 0");
}
END_TEST

START_TEST(a_barrier_is_left_early)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, shmem_call, r.a, .call = BF_SHMEM_CALL_MEET);
	if (_i)
		STORY(&r.s, shmem_call, r.b, .call = BF_SHMEM_CALL_MEET);
	STORY(&r.s, shmem_call, r.a, .call = BF_SHMEM_CALL_LEAVE);
	if (!_i)
		STORY(&r.s, shmem_call, r.b, .call = BF_SHMEM_CALL_MEET);
	STORY(&r.s, shmem_call, r.b, .call = BF_SHMEM_CALL_LEAVE);
	story_ends(&r.s, _i ? NULL : "SHMEM-LEFT-EARLY", "pe0.w1.l0 comes to barrier 1, which pe0.w0.l0 left");
}
END_TEST

START_TEST(a_wait_ends_early)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, shmem_call, r.a, .call = BF_SHMEM_CALL_MEET);
	STORY(&r.s, shmem_waited, r.a, .wanted = 3, .found = _i ? 4 : 2);
	story_ends(&r.s, _i ? NULL : "SHMEM-WAIT-EARLY", "the last it had seen there was 2");
}
END_TEST

/* The first wrong byte lies where an entry wrote (0), or beside it (1); there is none (2). */
START_TEST(memory_holds_something_else)
{
	static const char words[] = "word 0 is 0x1, not 0x2";
	struct rig r;

	begin(&r);
	STORY(&r.s, wqe_start, r.queue, .qpn = QPN, .index = 3, .opcode = BF_MLX5_OP_RDMA_WRITE, .raddr = 0x8000,
	      .length = 64);
	if (_i < 2)
		STORY_TAIL(&r.s, ibgda_mismatch, r.a, words, sizeof(words) - 1, .va = _i ? 0x8040 : 0x8010, .pe = 1);
	story_ends(&r.s, _i == 2 ? NULL : "MLX5-WRONG-BYTES",
		   _i ? "no entry wrote it, the nearest is WQE 3"
		      : "what wrote it last is WQE 3 of QP 0x101 on PE 0, a WRITE");
}
END_TEST

/* Traffic of a failed queue pair goes on by itself (0), or by its backup (1). */
START_TEST(a_backup_is_the_queue_itself)
{
	struct rig r;

	begin(&r);
	STORY(&r.s, ibgda_move, r.a, .rc = 1, .word = 8, .from_qpn = QPN, .to_qpn = QPN + (uint32_t)_i);
	story_ends(&r.s, _i ? NULL : "MLX5-BACKUP-SELF", "from QP 0x101, which has failed, to that same queue pair");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rules on what the ibgda driver says");
	TCase *tc = tcase_create("rules");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(tc, memory_holds_something_else, 0, 3);
	tcase_add_loop_test(tc, driver_and_device_see_another_ring, 0, 3);
	tcase_add_loop_test(tc, driver_and_device_see_another_record, 0, 2);
	tcase_add_test(tc, slots_are_given_out_twice);
	tcase_add_test(tc, an_entry_is_longer_than_its_slots);
	tcase_add_test(tc, two_entries_are_laid_in_one_slot);
	tcase_add_test(tc, fewer_slots_are_published_than_reserved);
	tcase_add_loop_test(tc, slots_are_never_published, 0, 2);
	tcase_add_test(tc, a_full_ring_is_waited_for);
	tcase_add_test(tc, an_entry_is_written_after_it_was_published);
	tcase_add_test(tc, a_slot_is_used_again_before_it_is_done);
	tcase_add_test(tc, a_control_segment_gives_another_size);
	tcase_add_loop_test(tc, a_doorbell_overtakes_its_record, 0, 2);
	tcase_add_loop_test(tc, nobody_waits_at_the_end, 0, 2);
	tcase_add_test(tc, somebody_waits_for_ever);
	tcase_add_loop_test(tc, a_fetched_value_is_read_early, 0, 2);
	tcase_add_loop_test(tc, got_data_are_read_early, 0, 4);
	tcase_add_loop_test(tc, an_internal_buffer_is_shared, 0, 2);
	tcase_add_loop_test(tc, a_quiet_leaves_a_queue_pair_out, 0, 2);
	tcase_add_loop_test(tc, a_barrier_is_left_early, 0, 2);
	tcase_add_loop_test(tc, a_wait_ends_early, 0, 2);
	tcase_add_loop_test(tc, a_backup_is_the_queue_itself, 0, 2);
	suite_add_tcase(suite, tc);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
