/* What is told of things in traces, and what is stuck: small streams made here, true ones and wild ones. */
#include <check.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "traces/records/ibgda.h"
#include "traces/records/nvme_driver.h"
#include "traces/records/sdma_driver.h"
#include "models/fabric/records.h"
#include "models/hopper/records.h"
#include "models/hopper/word.h"
#include "models/mlx5/prm.h"
#include "models/mlx5/records.h"
#include "models/rdma/records.h"
#include "models/nvme/records.h"
#include "models/sdma/records.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "tests/traces/tape.h"
#include "traces/records/capture.h"
#include "traces/life/explain.h"
#include "traces/life/stuck.h"
#include "traces/records/ftrace.h"

/* ---- names ---- */

static const struct {
	const char *text;
	enum bf_explain_kind kind;
	const char *device;
	uint64_t queue, index;
	uint32_t nth;
	bool by_slot;
	const char *again; /* as bf_explain_target_text() writes it */
} names[] = {
	{ "0x100:81", BF_EXPLAIN_ROWS, "", 0x100, 81, 1, false, "0x100:81" },
	{ "256:0x51", BF_EXPLAIN_ROWS, "", 0x100, 81, 1, false, "0x100:81" },
	{ "nic0.qp0x100:65617", BF_EXPLAIN_ROWS, "nic0", 0x100, 65617, 1, false, "nic0.qp0x100:65617" },
	{ "nic0.1.qp0x100:1", BF_EXPLAIN_ROWS, "nic0.1", 0x100, 1, 1, false, "nic0.1.qp0x100:1" },
	{ "ssd0.sq1:cid=5", BF_EXPLAIN_ROWS, "ssd0", 1, 5, 1, false, "ssd0.sq1:cid=5" },
	{ "ssd0.sq1:cid=0x5#3", BF_EXPLAIN_ROWS, "ssd0", 1, 5, 3, false, "ssd0.sq1:cid=5#3" },
	{ "ssd0.sq1:slot=7", BF_EXPLAIN_ROWS, "ssd0", 1, 7, 1, true, "ssd0.sq1:slot=7" },
	{ "ssd0.sq1:7", BF_EXPLAIN_ROWS, "ssd0", 1, 7, 1, true, "ssd0.sq1:slot=7" },
	{ "sdma0.q0:0x60", BF_EXPLAIN_ROWS, "sdma0", 0, 0x60, 1, false, "sdma0.q0:0x60" },
	{ "gpu0.sm3:0x400", BF_EXPLAIN_BARRIER, "gpu0", 3, 0x400, 1, false, "gpu0.sm3:0x400" },
	{ "nic0.cq0x40:#57", BF_EXPLAIN_COMPLETION, "nic0", 0x40, 57, 1, false, "nic0.cq0x40:#57" },
};

START_TEST(names_are_read)
{
	struct bf_explain_target t;
	char text[80];

	ck_assert(bf_explain_parse(names[_i].text, &t));
	ck_assert_int_eq(t.kind, names[_i].kind);
	ck_assert_str_eq(t.device, names[_i].device);
	ck_assert_uint_eq(t.queue, names[_i].queue);
	ck_assert_uint_eq(t.index, names[_i].index);
	ck_assert_uint_eq(t.nth, names[_i].nth);
	ck_assert_int_eq(t.by_slot, names[_i].by_slot);
	ck_assert_str_eq(bf_explain_target_text(&t, text, sizeof(text)), names[_i].again);
}
END_TEST

START_TEST(other_names_are_refused)
{
	static const char *const bad[] = { "",
					   ":",
					   "0x100",
					   "0x100:",
					   ":5",
					   "0x:5",
					   "0x100:5x",
					   "0x1000000:5",
					   "qp0x100:5",
					   ".qp0x100:5",
					   "nic0.qp:5",
					   "nic0.xx1:5",
					   "nic0.cq0x40:57",
					   "nic0.qp0x100:#5",
					   "ssd0.sq1:cid=70000",
					   "ssd0.sq1:cid=5#0",
					   "ssd0.sq1:cid=5#",
					   "ssd0.sq70000:5",
					   "a-device-name-that-is-too-long.qp0x100:5",
					   "nic0.qp0x100:99999999999999999999" };
	struct bf_explain_target t;

	for (size_t i = 0; i < BF_ARRAY_LEN(bad); i++)
		ck_assert_msg(!bf_explain_parse(bad[i], &t), "%s", bad[i]);
}
END_TEST

/* ---- what is stuck ---- */

static const struct bf_stuck_group *group(const struct bf_stuck *s, const char *where, const char *missing)
{
	for (uint32_t i = 0; i < bf_stuck_count(s); i++) {
		const struct bf_stuck_group *g = bf_stuck_group(s, i);

		if (strcmp(g->where, where) == 0 && strcmp(g->missing, missing) == 0)
			return g;
	}
	for (uint32_t i = 0; i < bf_stuck_count(s); i++)
		fprintf(stderr, "%s misses %s: %s\n", bf_stuck_group(s, i)->where, bf_stuck_group(s, i)->missing,
			bf_stuck_group(s, i)->text);
	ck_abort_msg("nothing at %s misses %s", where, missing);
	return NULL;
}

static void config(struct tape *p)
{
	PUT(p, qp_config, "queue", "nic0.qp0x100", .qpn = 0x100, .sq_wqebbs = 64);
}

static void reserve(struct tape *p, const char *thread, uint64_t base)
{
	PUT(p, ibgda_reserve, "agent", thread, .base = base, .count = 1, .qpn = 0x100);
}

static void build(struct tape *p, const char *thread, uint64_t index)
{
	PUT(p, ibgda_build, "agent", thread, .index = index, .qpn = 0x100, .ds = 3);
}

static void publish(struct tape *p, const char *thread, uint64_t base)
{
	PUT(p, ibgda_publish, "agent", thread, .base = base, .count = 1, .qpn = 0x100);
}

static void device_does(struct tape *p, uint64_t index, bool signalled)
{
	const uint16_t at = (uint16_t)index;

	PUT(p, doorbell, "queue", "nic0.qp0x100", .qpn = 0x100);
	PUT(p, dbrec, "queue", "nic0.qp0x100", .qpn = 0x100, .before = at, .producer = (uint16_t)(at + 1));
	PUT(p, wqe_fetch, "queue", "nic0.qp0x100", .qpn = 0x100, .index = at, .wqebbs = 1);
	PUT(p, wqe_start, "queue", "nic0.qp0x100", .qpn = 0x100, .index = at, .npsn = 1);
	PUT(p, wqe_done, "queue", "nic0.qp0x100", .qpn = 0x100, .index = at, .next = (uint16_t)(at + 1),
	    .signalled = signalled);
}

static void cqe(struct tape *p, uint64_t index, uint8_t verdict)
{
	PUT(p, cqe, "queue", "nic0.cq0x40", .cqn = 0x40, .qpn = 0x100, .index = (uint16_t)index,
	    .count = (uint32_t)index, .opcode = BF_MLX5_CQE_REQ, .verdict = verdict);
}

/* The one from the book: a later slot is ready, an earlier one is reserved and stays empty. */
START_TEST(a_slot_that_is_never_filled)
{
	const struct bf_stuck_group *g;
	struct bf_stuck *s;
	struct tape p;

	tape_open(&p);
	config(&p);
	reserve(&p, "pe0.b0.w0.l0", 4);
	reserve(&p, "pe0.b0.w1.l0", 5);
	build(&p, "pe0.b0.w1.l0", 5);
	ck_assert(!bf_stuck_read(tape_read(&p), &s, &p.err));
	ck_assert_uint_eq(bf_stuck_count(s), 2);
	g = group(s, "nic0.qp0x100", "build");
	ck_assert_uint_eq(g->oldest.index, 4);
	g = group(s, "nic0.qp0x100", "publish");
	ck_assert_uint_eq(g->count, 1);
	ck_assert_uint_eq(g->oldest.index, 5);
	ck_assert_ptr_nonnull(strstr(g->text, "never published: pe0.b0.w1.l0 waits for slot 4, which pe0.b0.w0.l0 "
					      "reserved and never filled"));
	bf_stuck_free(s);
	tape_close(&p);
}
END_TEST

START_TEST(entries_that_end_are_not_stuck)
{
	struct bf_stuck *s;
	struct tape p;

	tape_open(&p);
	config(&p);
	/* Twice around the 16 bits of the counter; completions for every fourth entry, one of them lost. */
	for (uint64_t i = 65500; i < 65600; i++) {
		reserve(&p, "pe0.b0.w0.l0", i);
		build(&p, "pe0.b0.w0.l0", i);
		publish(&p, "pe0.b0.w0.l0", i);
		PUT(&p, ibgda_post, "agent", "pe0.b0.w0.l0", .from = i, .to = i + 1, .qpn = 0x100);
		device_does(&p, i, i % 4 == 3);
		if (i % 4 == 3)
			cqe(&p, i, i == 65535);
	}
	ck_assert(!bf_stuck_read(tape_read(&p), &s, &p.err));
	ck_assert_uint_eq(bf_stuck_count(s), 0);
	bf_stuck_free(s);
	tape_close(&p);
}
END_TEST

/* Each prefix of an entry's way names the step behind it. */
START_TEST(the_first_missing_step)
{
	static const char *const steps[] = { "build", "publish", "ring", "doorbell",
					     "fetch", "start",   "done", "completion" };
	const char *thread = "pe0.b0.w0.l0";
	struct bf_stuck *s;
	struct tape p;

	tape_open(&p);
	config(&p);
	reserve(&p, thread, 9);
	if (_i > 0)
		build(&p, thread, 9);
	if (_i > 1)
		publish(&p, thread, 9);
	if (_i > 2)
		PUT(&p, ibgda_post, "agent", thread, .from = 9, .to = 10, .qpn = 0x100);
	if (_i > 3)
		PUT(&p, dbrec, "queue", "nic0.qp0x100", .qpn = 0x100, .before = 9, .producer = 10);
	if (_i > 4)
		PUT(&p, wqe_fetch, "queue", "nic0.qp0x100", .qpn = 0x100, .index = 9, .wqebbs = 1);
	if (_i > 5)
		PUT(&p, wqe_start, "queue", "nic0.qp0x100", .qpn = 0x100, .index = 9);
	if (_i > 6)
		PUT(&p, wqe_done, "queue", "nic0.qp0x100", .qpn = 0x100, .index = 9, .signalled = 1);
	ck_assert(!bf_stuck_read(tape_read(&p), &s, &p.err));
	ck_assert_uint_eq(bf_stuck_count(s), 1);
	ck_assert_uint_eq(group(s, "nic0.qp0x100", steps[_i])->oldest.index, 9);
	bf_stuck_free(s);
	tape_close(&p);
}
END_TEST

/*
 * A kernel that looks at a CQE with naps in between, after the queue pair has failed: it waits since it looks there
 * alone. Without the failure (1), or when it has come to its end (2) or was woken (4), there is nothing to tell. The
 * stream may end between two naps (3).
 */
START_TEST(a_poll_that_no_error_ends)
{
	const struct bf_stuck_group *g;
	struct bf_stuck *s;
	struct tape p;

	tape_open(&p);
	config(&p);
	if (_i != 1)
		PUT(&p, qp_error, "queue", "nic0.qp0x100", .qpn = 0x100, .index = 0, .syndrome = 0x15, .vendor = 0x83);
	for (int i = 0; i < 8; i++) {
		PUT(&p, agent_wait, "agent", "b0.w0", .va = i ? 0x7000 : 0x6000, .timeout = 10000000000, .lines = 1);
		p.clock += 10000000000;
		PUT(&p, agent_wake, "agent", "b0.w0", .slept = 10000000000, .reason = i < 7 || _i != 4);
	}
	if (_i < 3)
		PUT(&p, agent_wait, "agent", "b0.w0", .va = 0x7000, .timeout = 10000000000, .lines = 1);
	if (_i == 2)
		PUT(&p, agent_end, "agent", "b0.w0", 0);
	ck_assert(!bf_stuck_read(tape_read(&p), &s, &p.err));
	if (_i && _i != 3) {
		ck_assert_uint_eq(bf_stuck_count(s), 0);
	} else {
		g = group(s, "b0.w0", "wake-up");
		ck_assert_uint_lt(g->since_ps, 20000000000);
		ck_assert_uint_eq(g->oldest.index, 0x7000);
	}
	bf_stuck_free(s);
	tape_close(&p);
}
END_TEST

/* What a device never told is no proof that it did nothing. */
START_TEST(a_stream_without_the_device)
{
	struct bf_stuck *s;
	struct tape p;

	tape_open(&p);
	reserve(&p, "pe0.b0.w0.l0", 0);
	build(&p, "pe0.b0.w0.l0", 0);
	publish(&p, "pe0.b0.w0.l0", 0);
	PUT(&p, ibgda_post, "agent", "pe0.b0.w0.l0", .from = 0, .to = 1, .qpn = 0x100);
	ck_assert(!bf_stuck_read(tape_read(&p), &s, &p.err));
	ck_assert_uint_eq(bf_stuck_count(s), 0);
	ck_assert_ptr_nonnull(bf_stuck_unknown(s, 0));
	ck_assert_ptr_nonnull(strstr(bf_stuck_unknown(s, 0), "wqe_fetch"));
	bf_stuck_free(s);
	tape_close(&p);
}
END_TEST

START_TEST(a_barrier_without_its_bytes)
{
	const struct bf_stuck_group *g;
	uint64_t word = 0, before;
	struct bf_stuck *s;
	struct tape p;
	bool completed;

	tape_open(&p);
	ck_assert(!bf_mbar_init(&word, 2));
	PUT(&p, hopper_op, "sm", "gpu0.sm1", .after = word, .address = 0x400, .count = 2, .op = 0);
	before = word;
	ck_assert(!bf_mbar_arrive(&word, 1, false, 64, &completed));
	PUT(&p, hopper_op, "sm", "gpu0.sm1", .before = before, .after = word, .address = 0x400, .warp = 3, .lanes = 1,
	    .count = 1, .tx = 64, .op = 2);
	PUT(&p, hopper_wait, "sm", "gpu0.sm1", .word = word, .address = 0x400, .warp = 5, .event = 0);
	ck_assert(!bf_stuck_read(tape_read(&p), &s, &p.err));
	ck_assert_uint_eq(bf_stuck_count(s), 1);
	g = group(s, "gpu0.sm1:0x400", "arrivals");
	ck_assert_ptr_nonnull(strstr(g->text, "1 of 2 arrivals are missing, there have been those of warp 3"));
	ck_assert_ptr_nonnull(strstr(g->text, "64 bytes are expected and have not come"));
	ck_assert_ptr_nonnull(strstr(g->text, "waiting: warp 5"));
	bf_stuck_free(s);
	tape_close(&p);
}
END_TEST

/* ---- lives ---- */

static bool tells(const struct bf_explain *l, const char *text)
{
	size_t n;
	const struct bf_explain_step *step = bf_explain_steps(l, &n);

	for (size_t i = 0; i < n; i++)
		if (strstr(step[i].text, text))
			return true;
	return false;
}

/* Entries 3 and 65539 have the same counter; the second one is later and another thread's. */
START_TEST(laps_are_told_apart)
{
	static const uint64_t index[] = { 3, 65539 };
	struct bf_explain_target t;
	struct bf_explain *l;
	struct tape p;

	ck_assert(bf_explain_parse("nic0.qp0x100:0", &t));
	t.index = index[_i];
	tape_open(&p);
	config(&p);
	for (uint64_t i = 0; i < 65545; i++) {
		const bool shown = i == 3 || i == 65539;

		if (shown) {
			reserve(&p, i == 3 ? "pe0.b0.w0.l0" : "pe0.b0.w1.l0", i);
			device_does(&p, i, true);
			cqe(&p, i, 0);
		} else {
			PUT(&p, wqe_fetch, "queue", "nic0.qp0x100", .qpn = 0x100, .index = (uint16_t)i, .wqebbs = 1);
		}
	}
	ck_assert(!bf_explain_trace(&t, tape_read(&p), &l, &p.err));
	ck_assert(tells(l, _i ? "reserves entry 65539" : "reserves entry 3 "));
	ck_assert(!tells(l, _i ? "reserves entry 3 " : "reserves entry 65539"));
	ck_assert(tells(l, _i ? "writes CQE 65539" : "writes CQE 3 "));
	bf_explain_free(l);
	/* A completion knows which lap it is of. */
	t = (struct bf_explain_target){
		.kind = BF_EXPLAIN_COMPLETION, .device = "nic0", .queue = 0x40, .index = index[_i]
	};
	ck_assert(!bf_explain_trace(&t, p.t, &l, &p.err));
	ck_assert_uint_eq(bf_explain_target_of(l)->index, index[_i]);
	bf_explain_free(l);
	t.index = 7;
	ck_assert_int_eq(bf_explain_trace(&t, p.t, &l, &p.err), -ENOENT);
	ck_assert_ptr_null(l);
	tape_close(&p);
}
END_TEST

/* Bytes 16-31 of the entry were in the buffer of its thread when the device read them. */
START_TEST(bytes_that_were_not_visible)
{
	struct bf_explain_target t;
	const uint8_t bytes[16] = { 0 };
	struct bf_explain *l;
	uint32_t thread;
	struct tape p;

	ck_assert(bf_explain_parse("ssd0.sq1:slot=2", &t));
	tape_open(&p);
	thread = actor_of(&p, "agent", "pe0.cpu0");
	for (uint64_t i = 0; i < 4; i++) {
		struct bf_rec_store r = { .va = 0x1080 + 16 * i, .seq = i + 1, .len = 16 };

		bf_record(&p.st, &bf_rec_store_schema, thread, &r, bytes, sizeof(bytes));
	}
	PUT(&p, nvm_build, "agent", "pe0.cpu0", .va = 0x1080, .qid = 1, .slot = 2, .entries = 8, .q0 = 9 << 16 | 2);
	for (uint64_t i = 0; i < 4; i++)
		if (i != 1)
			PUT(&p, store_visible, "agent", "pe0.cpu0", .va = 0x1080 + 16 * i, .seq = i + 1, .len = 16);
	PUT(&p, nvm_ring, "agent", "pe0.cpu0", .qid = 1, .from = 2, .to = 3, .entries = 8, .mmio = 1);
	PUT(&p, nvme_doorbell, "queue", "ssd0.sq1", .qid = 1, .before = 2, .value = 3, .accepted = 1);
	PUT(&p, dma_read, "dma", "ssd0.dma", .va = 0x1080, .iova = 0x1080, .len = 64);
	PUT(&p, nvme_fetch, "queue", "ssd0.sq1", .sqid = 1, .slot = 2, .cid = 9, .opcode = 2);
	ck_assert(!bf_explain_trace(&t, tape_read(&p), &l, &p.err));
	ck_assert(tells(l, "stores bytes 0-63 of the entry (4 stores)"));
	ck_assert(tells(l, "bytes 48-63 of the entry are visible"));
	ck_assert(tells(l, "16 bytes were not visible yet, from byte 16 on: in the store buffer of pe0.cpu0"));
	ck_assert(tells(l, "bytes 16-31 of the entry never left the store buffer of pe0.cpu0"));
	ck_assert(tells(l, "CID 0x9 was fetched from slot 2 and has not begun"));
	ck_assert(!bf_explain_ended(l));
	bf_explain_free(l);
	tape_close(&p);
}
END_TEST

/* ---- records that lie ---- */

static uint64_t draw(uint64_t *seed)
{
	uint64_t x = *seed += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Half of the fields are small, so that records meet; the others are anything. */
static void wild_record(struct tape *p, uint64_t *seed)
{
	static const struct bf_rec_schema *const types[] = {
		&bf_rec_ibgda_reserve_schema,
		&bf_rec_ibgda_build_schema,
		&bf_rec_ibgda_publish_schema,
		&bf_rec_ibgda_post_schema,
		&bf_rec_ibgda_poll_schema,
		&bf_rec_ibgda_quiet_schema,
		&bf_rec_ibgda_handoff_schema,
		&bf_rec_ibgda_replay_schema,
		&bf_rec_doorbell_schema,
		&bf_rec_dbrec_schema,
		&bf_rec_wqe_fetch_schema,
		&bf_rec_wqe_start_schema,
		&bf_rec_wqe_done_schema,
		&bf_rec_cqe_schema,
		&bf_rec_qp_state_schema,
		&bf_rec_qp_error_schema,
		&bf_rec_qp_config_schema,
		&bf_rec_qp_path_schema,
		&bf_rec_retransmit_schema,
		&bf_rec_dc_wqe_schema,
		&bf_rec_packet_schema,
		&bf_rec_nvm_build_schema,
		&bf_rec_nvm_ring_schema,
		&bf_rec_nvm_completion_schema,
		&bf_rec_nvm_timeout_schema,
		&bf_rec_nvme_doorbell_schema,
		&bf_rec_nvme_fetch_schema,
		&bf_rec_nvme_start_schema,
		&bf_rec_nvme_completion_schema,
		&bf_rec_nvme_held_schema,
		&bf_rec_nvme_queue_schema,
		&bf_rec_sdma_reserve_schema,
		&bf_rec_sdma_publish_schema,
		&bf_rec_sdma_doorbell_schema,
		&bf_rec_sdma_packet_schema,
		&bf_rec_sdma_rptr_schema,
		&bf_rec_sdma_fault_schema,
		&bf_rec_sdma_queue_schema,
		&bf_rec_sdma_result_schema,
		&bf_rec_hopper_op_schema,
		&bf_rec_hopper_wait_schema,
		&bf_rec_capture_wqe_schema,
		&bf_rec_capture_doorbell_schema,
		&bf_rec_capture_cqe_schema,
		&bf_rec_ftrace_setup_schema,
		&bf_rec_ftrace_complete_schema,
		&bf_rec_store_schema,
		&bf_rec_store_visible_schema,
		&bf_rec_dma_read_schema,
		&bf_rec_dma_write_schema,
		&bf_rec_load_schema,
		&bf_rec_mmio_store_schema,
		&bf_rec_agent_wait_schema,
		&bf_rec_deadlock_schema,
	};
	static const char *const actors[] = { "nic0.qp0x1",
					      "pe0.b0.w0.l0",
					      "ssd0.sq1",
					      "sdma0.q1",
					      "gpu0.sm1",
					      "nic1.cq0x1",
					      "pe1",
					      "x",
					      "",
					      "..",
					      "pe99999999999999999999.q" };
	const struct bf_rec_schema *type = types[draw(seed) % BF_ARRAY_LEN(types)];
	uint8_t fixed[256] = { 0 }, tail[96];
	uint64_t x = draw(seed);

	for (uint32_t i = 0; i < type->size; i++) {
		x = i % 8 ? x : draw(seed);
		fixed[i] = (uint8_t)(x & 1 ? (i % 4 ? 0 : x >> 8 & 3) : x >> (8 * (i % 7)));
	}
	for (size_t i = 0; i < sizeof(tail); i++)
		tail[i] = (uint8_t)draw(seed);
	p->clock += draw(seed) % 4096;
	bf_record(&p->st, type, actor_of(p, "queue", actors[draw(seed) % BF_ARRAY_LEN(actors)]), fixed, tail,
		  (uint32_t)(draw(seed) % sizeof(tail)));
}

START_TEST(wild_records)
{
	static const char *const what[] = { "0x1:1",        "nic0.qp0x1:65537", "ssd0.sq1:cid=1", "ssd0.sq1:1#2",
					    "sdma0.q1:0x1", "gpu0.sm1:0x1",     "nic1.cq0x1:#1",  "ssd0.cq1:#0" };
	uint64_t seed = (uint64_t)_i;
	struct bf_stuck *s;
	struct tape p;
	int rc;

	tape_open(&p);
	for (int i = 0; i < 400; i++)
		wild_record(&p, &seed);
	rc = bf_stuck_read(tape_read(&p), &s, &p.err);
	ck_assert(!rc || rc == -E2BIG);
	bf_stuck_free(s);
	for (size_t i = 0; i < BF_ARRAY_LEN(what); i++) {
		struct bf_explain_target t;
		struct bf_explain *l;
		FILE *null = fopen("/dev/null", "w");

		ck_assert(bf_explain_parse(what[i], &t));
		rc = bf_explain_trace(&t, p.t, &l, &p.err);
		ck_assert(!rc || rc == -ENOENT);
		if (l)
			bf_explain_print(l, null, BF_EXPLAIN_COLUMNS);
		bf_explain_free(l);
		fclose(null);
	}
	tape_close(&p);
}
END_TEST

/* Whatever is missing from the end, what is before it is told, and the damage is named. */
START_TEST(cut_traces)
{
	struct bf_stuck *s;
	struct bf_trace *t;
	struct tape p;
	int rc;

	tape_open(&p);
	config(&p);
	for (uint64_t i = 0; i < 50; i++) {
		reserve(&p, "pe0.b0.w0.l0", i);
		build(&p, "pe0.b0.w0.l0", i);
	}
	tape_read(&p);
	for (size_t size = p.size - 1; size > 64; size -= 1 + size / 16) {
		if (bf_trace_open_memory(p.bytes, size, &t, &p.err))
			continue;
		rc = bf_stuck_read(t, &s, &p.err);
		ck_assert(rc == 0 || rc == -EBADMSG);
		ck_assert_ptr_nonnull(s);
		bf_stuck_free(s);
		bf_trace_close(t);
	}
	tape_close(&p);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("explain");
	TCase *tc = tcase_create("explain");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, names_are_read, 0, (int)BF_ARRAY_LEN(names));
	tcase_add_test(tc, other_names_are_refused);
	tcase_add_test(tc, a_slot_that_is_never_filled);
	tcase_add_test(tc, entries_that_end_are_not_stuck);
	tcase_add_loop_test(tc, the_first_missing_step, 0, 8);
	tcase_add_loop_test(tc, a_poll_that_no_error_ends, 0, 5);
	tcase_add_test(tc, a_stream_without_the_device);
	tcase_add_test(tc, a_barrier_without_its_bytes);
	tcase_add_loop_test(tc, laps_are_told_apart, 0, 2);
	tcase_add_test(tc, bytes_that_were_not_visible);
	tcase_add_loop_test(tc, wild_records, 0, 10);
	tcase_add_test(tc, cut_traces);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
