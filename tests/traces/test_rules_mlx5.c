/* Rules of mlx5 queues on records made by hand: the right one finds it, its words name who did it, no other accuses. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "traces/records/ibgda.h"
#include "models/mlx5/prm.h"
#include "models/mlx5/records.h"
#include "sim/bytes.h"
#include "sim/records_agent.h"
#include "sim/records_io.h"
#include "traces/records/capture.h"
#include "traces/rules/rules.h"

/* A stream of records by hand: one PE, one queue pair 0x101 with a ring of 16 blocks at RING, its record at DBREC. */
#define RING 0x10000010000ull
#define DBREC 0x10000020000ull
#define QPN 0x101u
#define DEPTH 16u

struct story {
	uint64_t now;
	uint64_t seq;
	struct bf_stream st;
	struct bf_rules *rules;
	uint32_t thread, other, queue, dma;
};

/* What the rules make of a story. */
struct verdict {
	char rule[64], text[1024]; /* of the root cause; empty: none */
	uint64_t begin_ps, end_ps, records;
	uint32_t found, unable;
};

static void begin(struct story *s)
{
	const struct bf_rec_qp_config config = { .qpn = QPN, .sq_wqebbs = DEPTH };

	*s = (struct story){ 0 };
	ck_assert_int_eq(bf_rules_create(NULL, &s->rules, NULL), 0);
	ck_assert_int_eq(bf_stream_open(&s->st, &s->now, BF_CLASS_ALL, bf_rules_sink(s->rules)), 0);
	s->thread = bf_stream_actor(&s->st, "agent", "pe0.w3.l0");
	s->other = bf_stream_actor(&s->st, "agent", "pe0.w4.l0");
	s->queue = bf_stream_actor(&s->st, "queue", "nic0.qp0x101");
	s->dma = bf_stream_actor(&s->st, "device", "nic0");
	bf_record(&s->st, &bf_rec_qp_config_schema, s->queue, &config, NULL, 0);
}

static uint64_t store(struct story *s, uint32_t who, uint64_t va, const void *bytes, uint32_t len)
{
	struct bf_rec_store r = { .va = va, .seq = ++s->seq, .len = len };

	bf_record(&s->st, &bf_rec_store_schema, who, &r, bytes, len);
	return s->seq;
}

static void visible(struct story *s, uint32_t who, uint64_t seq, uint64_t va, uint32_t len)
{
	struct bf_rec_store_visible r = { .va = va, .seq = seq, .len = len };

	bf_record(&s->st, &bf_rec_store_visible_schema, who, &r, NULL, 0);
}

/* Stores entry `index` in three segments and says so. Returns the number of the first store. */
static uint64_t build(struct story *s, uint32_t who, uint64_t index)
{
	struct bf_rec_ibgda_build b = { .index = index, .qpn = QPN, .ds = 3 };
	const uint64_t va = RING + index % DEPTH * 64;
	uint8_t ctrl[16] = { 0, (uint8_t)(index >> 8), (uint8_t)index, BF_MLX5_OP_RDMA_WRITE }, rest[16] = { 0 };
	uint64_t first;

	bf_put_be32(ctrl + 4, QPN << 8 | 3);
	first = store(s, who, va, ctrl, 16);
	store(s, who, va + 16, rest, 16);
	store(s, who, va + 32, rest, 16);
	bf_record(&s->st, &bf_rec_ibgda_build_schema, who, &b, NULL, 0);
	return first;
}

static void entry_visible(struct story *s, uint32_t who, uint64_t first, uint64_t index)
{
	for (uint32_t i = 0; i < 3; i++)
		visible(s, who, first + i, RING + index % DEPTH * 64 + i * 16, 16);
}

static void fetch(struct story *s, uint64_t index, uint16_t ctrl_index)
{
	struct bf_rec_dma_read d = { .va = RING + index % DEPTH * 64, .done_ps = s->now + 500, .len = 64 };
	struct bf_rec_wqe_fetch w = { .qpn = QPN,
				      .index = (uint16_t)index,
				      .ctrl_index = ctrl_index,
				      .wqebbs = 1,
				      .verdict = index != ctrl_index };
	uint8_t bytes[64] = { 0 };

	bf_record(&s->st, &bf_rec_dma_read_schema, s->dma, &d, bytes, sizeof(bytes));
	s->now += 500;
	bf_record(&s->st, &bf_rec_wqe_fetch_schema, s->queue, &w, bytes, sizeof(bytes));
}

static uint64_t store_dbrec(struct story *s, uint32_t who, uint32_t value)
{
	uint8_t bytes[4];

	bf_put_be32(bytes, value);
	return store(s, who, DBREC + 4, bytes, 4);
}

static void ring(struct story *s, uint32_t who, uint32_t index)
{
	struct bf_rec_mmio_store r = { .va = 0x10000000000ull + BF_MLX5_UAR_BF, .seq = ++s->seq, .len = 8 };
	uint8_t bytes[8] = { 0 };

	bf_put_be32(bytes, index << 8);
	bf_put_be32(bytes + 4, QPN << 8);
	bf_record(&s->st, &bf_rec_mmio_store_schema, who, &r, bytes, 8);
}

static void sample_dbrec(struct story *s, uint16_t producer)
{
	struct bf_rec_dma_read d = { .va = DBREC, .done_ps = s->now + 500, .len = 8 };
	uint8_t bytes[8] = { 0 };

	bf_put_be16(bytes + 6, producer);
	bf_record(&s->st, &bf_rec_dma_read_schema, s->dma, &d, bytes, sizeof(bytes));
	s->now += 500;
}

static void tell_dbrec(struct story *s, uint16_t producer, uint16_t doorbell)
{
	struct bf_rec_dbrec r = { .qpn = QPN, .producer = producer, .doorbell = doorbell };

	bf_record(&s->st, &bf_rec_dbrec_schema, s->queue, &r, NULL, 0);
}

static void read_dbrec(struct story *s, uint16_t producer, uint16_t doorbell)
{
	sample_dbrec(s, producer);
	tell_dbrec(s, producer, doorbell);
}

/* Ends the story and asks for the cause. */
static struct verdict end(struct story *s)
{
	struct verdict v = { 0 };
	const struct bf_found *root;

	ck_assert_int_eq(bf_stream_close(&s->st), 0);
	bf_rules_finish(s->rules, true);
	root = bf_rules_root(s->rules);
	v.found = bf_rules_count(s->rules);
	while (bf_rules_unable(s->rules, v.unable))
		v.unable++;
	if (root) {
		snprintf(v.rule, sizeof(v.rule), "%s", root->rule->id);
		snprintf(v.text, sizeof(v.text), "%s", root->text);
		v.begin_ps = root->begin_ps;
		v.end_ps = root->end_ps;
		v.records = root->last_record - root->first_record + 1;
	}
	bf_stream_fini(&s->st);
	bf_rules_destroy(s->rules);
	return v;
}

static void is(const struct verdict *v, const char *rule)
{
	ck_assert_msg(strcmp(v->rule, rule) == 0, "%s instead of %s: %s", v->rule[0] ? v->rule : "nothing", rule,
		      v->text);
}

static void says(const struct verdict *v, const char *text)
{
	ck_assert_msg(strstr(v->text, text) != NULL, "\"%s\" is not in: %s", text, v->text);
}

/* Entries of two laps, every store visible before the doorbell: nothing to blame. */
START_TEST(good_order_has_no_cause)
{
	struct story s;
	struct verdict c;

	begin(&s);
	for (uint64_t i = 0; i < 2 * DEPTH; i++) {
		uint64_t first, record;

		s.now += 1000;
		first = build(&s, s.thread, i);
		s.now += 1000;
		entry_visible(&s, s.thread, first, i);
		record = store_dbrec(&s, s.thread, (uint32_t)i + 1);
		s.now += 1000;
		visible(&s, s.thread, record, DBREC + 4, 4);
		read_dbrec(&s, (uint16_t)(i + 1), (uint16_t)(i + 1));
		fetch(&s, i, (uint16_t)i);
	}
	c = end(&s);
	ck_assert_msg(c.text[0] == '\0', "%s", c.text);
}
END_TEST

START_TEST(late_entry_is_named)
{
	struct story s;
	struct verdict c;
	uint64_t first;

	begin(&s);
	first = build(&s, s.thread, 0);
	s.now = 1000;
	visible(&s, s.thread, first, RING, 16);
	visible(&s, s.thread, first + 2, RING + 32, 16);
	s.now = 2000;
	fetch(&s, 0, 0);
	s.now = 1805000;
	visible(&s, s.thread, first + 1, RING + 16, 16);
	c = end(&s);
	says(&c, "store of WQE 0 (its bytes 16-31) of QP 0x101 by pe0.w3.l0 became visible 1.803 us after");
	ck_assert_uint_eq(c.begin_ps, 0);
	ck_assert_uint_eq(c.end_ps, 1805000);
	ck_assert_uint_eq(c.records, 8);
	is(&c, "MLX5-ENTRY-ORDER");
}
END_TEST

START_TEST(entry_that_was_announced_too_early)
{
	struct story s;
	struct verdict c;
	uint64_t first;

	begin(&s);
	first = build(&s, s.thread, 0);
	entry_visible(&s, s.thread, first, 0);
	s.now = 1000;
	fetch(&s, 0, 0);
	fetch(&s, 1, 0);
	s.now = 4000;
	build(&s, s.other, 1);
	c = end(&s);
	says(&c, "WQE 1 of QP 0x101 on PE 0 2.500 ns before pe0.w4.l0 wrote it");
}
END_TEST

START_TEST(slot_that_was_reused_too_early)
{
	struct story s;
	struct verdict c;
	uint64_t first;

	begin(&s);
	first = build(&s, s.thread, 0);
	entry_visible(&s, s.thread, first, 0);
	s.now = 1000;
	first = build(&s, s.other, DEPTH);
	entry_visible(&s, s.other, first, DEPTH);
	s.now = 3000;
	fetch(&s, 0, DEPTH);
	c = end(&s);
	says(&c, "pe0.w4.l0 overwrote WQE 0 of QP 0x101 on PE 0 with WQE 16, 2.000 ns before");
}
END_TEST

/* The next lap's entry comes after the fetch: whatever was wrong with the fetch, that entry did not do it. */
START_TEST(slot_that_was_reused_in_time)
{
	struct story s;
	struct verdict c;
	uint64_t first;

	begin(&s);
	first = build(&s, s.thread, 0);
	entry_visible(&s, s.thread, first, 0);
	s.now = 1000;
	fetch(&s, 0, 5);
	first = build(&s, s.other, DEPTH);
	entry_visible(&s, s.other, first, DEPTH);
	c = end(&s);
	ck_assert_msg(strstr(c.text, "overwrote") == NULL, "%s", c.text);
}
END_TEST

START_TEST(late_record_and_early_doorbell)
{
	for (int early = 0; early <= 1; early++) {
		struct story s;
		struct verdict c;
		uint64_t first, record = 0;

		begin(&s);
		first = build(&s, s.thread, 0);
		entry_visible(&s, s.thread, first, 0);
		if (!early)
			record = store_dbrec(&s, s.thread, 1);
		s.now = 1000;
		read_dbrec(&s, 0, 1);
		if (early) {
			ring(&s, s.thread, 1);
			record = store_dbrec(&s, s.thread, 1);
		}
		s.now = 4000;
		visible(&s, s.thread, record, DBREC + 4, 4);
		c = end(&s);
		says(&c, "store of 1 into the doorbell record of QP 0x101 by pe0.w3.l0 became visible 3.000 ns after");
		says(&c, early ? "rung before the record was stored"
			       : "no fence that reaches the device stands between record");
	}
}
END_TEST

/* A later doorbell makes up for a record that came late: that is how concurrent posts work. */
START_TEST(late_record_that_a_later_doorbell_covers)
{
	struct story s;
	struct verdict c;
	uint64_t first, record;

	begin(&s);
	first = build(&s, s.thread, 0);
	entry_visible(&s, s.thread, first, 0);
	record = store_dbrec(&s, s.thread, 1);
	s.now = 1000;
	read_dbrec(&s, 0, 1);
	s.now = 4000;
	visible(&s, s.thread, record, DBREC + 4, 4);
	read_dbrec(&s, 1, 1);
	fetch(&s, 0, 0);
	c = end(&s);
	ck_assert_msg(c.text[0] == '\0', "%s", c.text);
}
END_TEST

START_TEST(records_that_crossed)
{
	struct story s;
	struct verdict c;
	uint64_t older, newer;

	begin(&s);
	older = store_dbrec(&s, s.thread, 4);
	newer = store_dbrec(&s, s.other, 7);
	s.now = 1000;
	visible(&s, s.other, newer, DBREC + 4, 4);
	s.now = 2000;
	visible(&s, s.thread, older, DBREC + 4, 4);
	s.now = 3000;
	read_dbrec(&s, 4, 7);
	c = end(&s);
	says(&c,
	     "went back from 7 to 4: the store by pe0.w3.l0 became visible 1.000 ns after the later one by pe0.w4.l0");
}
END_TEST

/* The record of a queue pair that is destroyed: its memory is the next one's, which begins at 1. */
START_TEST(record_that_was_given_back)
{
	const struct bf_rec_cmd destroy = { .number = QPN, .opcode = BF_MLX5_CMD_DESTROY_QP };
	struct story s;
	struct verdict c;
	uint64_t older, newer;

	begin(&s);
	newer = store_dbrec(&s, s.other, 7);
	visible(&s, s.other, newer, DBREC + 4, 4);
	read_dbrec(&s, 7, 7);
	if (!_i)
		bf_record(&s.st, &bf_rec_cmd_schema, s.dma, &destroy, NULL, 0);
	older = store_dbrec(&s, s.thread, 1);
	visible(&s, s.thread, older, DBREC + 4, 4);
	c = end(&s);
	if (_i)
		says(&c, "went back from 7 to 1");
	else
		ck_assert_str_eq(c.rule, "");
}
END_TEST

START_TEST(entries_that_nobody_rang_for)
{
	const struct bf_rec_ibgda_publish p = { .base = 0, .count = 3, .qpn = QPN };
	struct story s;
	struct verdict c;

	begin(&s);
	s.now = 700;
	bf_record(&s.st, &bf_rec_ibgda_publish_schema, s.thread, &p, NULL, 0);
	c = end(&s);
	says(&c, "pe0.w3.l0 published the entries of QP 0x101 below 3, and nobody rang");
}
END_TEST

/*
 * An index that was stored long before its place was known, and became visible behind the device's first look (0),
 * during it (1), or was never stored (2).
 */
START_TEST(record_that_was_stored_before_its_place_was_known)
{
	struct story s;
	struct verdict c;
	uint64_t record = 0;

	begin(&s);
	if (_i < 2)
		record = store_dbrec(&s, s.thread, 2);
	for (uint64_t i = 0; i < 200; i++) {
		const uint64_t va = 0x10000400000 + i * 8;

		visible(&s, s.other, store(&s, s.other, va, &va, 8), va, 8);
	}
	ring(&s, s.thread, 1);
	s.now = 1000;
	sample_dbrec(&s, 1);
	if (_i == 1)
		visible(&s, s.thread, record, DBREC + 4, 4);
	tell_dbrec(&s, 1, 1);
	if (_i == 0)
		visible(&s, s.thread, record, DBREC + 4, 4);
	s.now = 3000;
	read_dbrec(&s, 2, 2);
	c = end(&s);
	is(&c, _i < 2 ? "" : "MLX5-ENTRY-UNSEEN");
}
END_TEST

START_TEST(index_of_the_last_entry_in_the_record)
{
	const struct bf_rec_ibgda_post p = { .from = 65535, .to = 65538, .qpn = QPN, .dbrec = 1 };
	struct story s;
	struct verdict c;

	begin(&s);
	bf_record(&s.st, &bf_rec_ibgda_post_schema, s.thread, &p, NULL, 0);
	c = end(&s);
	says(&c, "stored 1 into the doorbell record of QP 0x101, where the index of the next free slot belongs, 2");
}
END_TEST

START_TEST(poll_that_ended_too_early)
{
	const struct bf_rec_wqe_done d = { .qpn = QPN, .index = 2, .next = 3 };
	const struct bf_rec_ibgda_poll good = { .wanted = 3, .done = 3, .qpn = QPN }, early = { .done = 5, .qpn = QPN };
	struct story s;
	struct verdict c;

	begin(&s);
	bf_record(&s.st, &bf_rec_wqe_done_schema, s.queue, &d, NULL, 0);
	bf_record(&s.st, &bf_rec_ibgda_poll_schema, s.other, &good, NULL, 0);
	bf_record(&s.st, &bf_rec_ibgda_poll_schema, s.thread, &early, NULL, 0);
	c = end(&s);
	says(&c,
	     "pe0.w3.l0 took all entries of QP 0x101 below 5 for complete when the device had completed those below 3");
}
END_TEST

START_TEST(completion_that_nobody_takes)
{
	for (int lost = 0; lost <= 1; lost++) {
		const struct bf_rec_ibgda_post p = { .to = 3, .qpn = QPN, .dbrec = 3 };
		const struct bf_rec_wqe_done d = { .qpn = QPN, .index = 2, .next = 3 };
		const struct bf_rec_cqe q = { .qpn = QPN, .index = 2, .verdict = (uint8_t)lost };
		struct story s;
		struct verdict c;

		begin(&s);
		bf_record(&s.st, &bf_rec_ibgda_post_schema, s.thread, &p, NULL, 0);
		bf_record(&s.st, &bf_rec_wqe_done_schema, s.queue, &d, NULL, 0);
		bf_record(&s.st, &bf_rec_cqe_schema, s.queue, &q, NULL, 0);
		c = end(&s);
		says(&c, "the device completed all entries of QP 0x101 on PE 0 below 3");
		says(&c, lost ? "its last completion, for entry 2, was lost" : "the counter of the last completion, 2");
	}
}
END_TEST

/* Who hangs at something else has not misread a completion; another thread of the PE may have, of another PE not. */
START_TEST(completion_that_nobody_looks_for)
{
	static const struct {
		const char *who, *what;
		bool found;
	} cases[] = {
		{ NULL, "the count of a source", false },
		{ "pe0.w9.l0", "completion in a collapsed CQ", true },
		{ "pe1.w0.l0", "completion in a collapsed CQ", false },
	};
	const struct bf_rec_ibgda_post p = { .to = 3, .qpn = QPN, .dbrec = 3 };
	const struct bf_rec_wqe_done d = { .qpn = QPN, .index = 2, .next = 3 };
	const struct bf_rec_cqe q = { .qpn = QPN, .index = 2 };

	for (int i = 0; i < 3; i++) {
		struct bf_rec_deadlock stuck = { .since = 1 };
		struct story s;
		struct verdict c;

		begin(&s);
		bf_record(&s.st, &bf_rec_ibgda_post_schema, s.thread, &p, NULL, 0);
		bf_record(&s.st, &bf_rec_wqe_done_schema, s.queue, &d, NULL, 0);
		bf_record(&s.st, &bf_rec_cqe_schema, s.queue, &q, NULL, 0);
		snprintf(stuck.what, sizeof(stuck.what), "%s", cases[i].what);
		bf_record(&s.st, &bf_rec_deadlock_schema,
			  cases[i].who ? bf_stream_actor(&s.st, "agent", cases[i].who) : s.thread, &stuck, NULL, 0);
		c = end(&s);
		is(&c, cases[i].found ? "MLX5-POLL-WINDOW" : "");
	}
}
END_TEST

START_TEST(request_that_was_refused)
{
	const struct bf_rec_mkey_error k = {
		.va = 0x1000, .start = 0x2000, .size = 64, .key = 0x77, .length = 8, .access = 8, .why = 6, .qpn = QPN
	};
	const struct bf_rec_qp_error e = { .qpn = QPN, .side = 1, .why = "WRITE refused" };
	struct story s;
	struct verdict c;

	begin(&s);
	bf_record(&s.st, &bf_rec_mkey_error_schema, s.queue, &k, NULL, 0);
	bf_record(&s.st, &bf_rec_qp_error_schema, s.queue, &e, NULL, 0);
	c = end(&s);
	says(&c, "nic0.qp0x101 refused a request: remote-write, out-of-bounds (8 bytes at 0x1000, key 0x77 covers 64 "
		 "bytes at 0x2000)");
}
END_TEST

START_TEST(data_that_was_late)
{
	const struct bf_rec_dma_read d = { .va = 0x10000400000, .done_ps = 2500, .len = 4096 };
	const struct bf_rec_wqe_start w = {
		.va = 0x10000400000, .qpn = QPN, .length = 4096, .nsge = 1, .opcode = BF_MLX5_OP_RDMA_WRITE
	};
	const uint8_t bytes[8] = { 1 };
	struct story s;
	struct verdict c;
	uint64_t seq;

	begin(&s);
	bf_record(&s.st, &bf_rec_wqe_start_schema, s.queue, &w, NULL, 0);
	seq = store(&s, s.thread, 0x10000400040, bytes, 8);
	s.now = 2000;
	bf_record(&s.st, &bf_rec_dma_read_schema, s.dma, &d, NULL, 0);
	s.now = 2700;
	visible(&s, s.thread, seq, 0x10000400040, 8);
	c = end(&s);
	says(&c, "store of 8 bytes at 0x10000400040 by pe0.w3.l0 became visible 700 ps after the device had read them");
	is(&c, "MLX5-DATA-ORDER");
}
END_TEST

int main(void)
{
	Suite *s = suite_create("rules_mlx5");
	TCase *tc = tcase_create("rules");
	SRunner *sr;
	int failed;

	tcase_add_test(tc, good_order_has_no_cause);
	tcase_add_test(tc, late_entry_is_named);
	tcase_add_test(tc, entry_that_was_announced_too_early);
	tcase_add_test(tc, slot_that_was_reused_too_early);
	tcase_add_test(tc, slot_that_was_reused_in_time);
	tcase_add_test(tc, late_record_and_early_doorbell);
	tcase_add_test(tc, late_record_that_a_later_doorbell_covers);
	tcase_add_test(tc, records_that_crossed);
	tcase_add_loop_test(tc, record_that_was_given_back, 0, 2);
	tcase_add_test(tc, entries_that_nobody_rang_for);
	tcase_add_loop_test(tc, record_that_was_stored_before_its_place_was_known, 0, 3);
	tcase_add_test(tc, index_of_the_last_entry_in_the_record);
	tcase_add_test(tc, poll_that_ended_too_early);
	tcase_add_test(tc, completion_that_nobody_takes);
	tcase_add_test(tc, completion_that_nobody_looks_for);
	tcase_add_test(tc, request_that_was_refused);
	tcase_add_test(tc, data_that_was_late);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
