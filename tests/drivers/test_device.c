/*
 * A device that comes with the program: the example of docs/adding-a-device.md, in trials and in traces. The rules and
 * the lives of such devices are known by names alone, so records that lie are among the tests.
 */
#include <check.h>
#include <stdlib.h>
#include <unistd.h>

#include "ring64.h"
#include "traces/device.h"
#include "traces/life/explain.h"
#include "traces/life/stages.h"
#include "traces/life/stuck.h"
#include "tests/traces/tape.h"

#define ENTRIES 4u
#define COPIES 12u
#define BYTES 48u

enum mistake { NONE, NO_FENCE, NO_WAIT, BAD_OPCODE, BAD_ADDRESS, LOST_BELL };

struct state {
	enum mistake mistake;
	uint8_t *regs;
	struct bf_memory ring, done, from, to;
	uint32_t status[COPIES];
};

static void wait_for(struct bf_thread *t, struct state *s, uint32_t n)
{
	const uint8_t *at = (uint8_t *)s->done.ptr + (n - 1) % ENTRIES * RING64_CQE;

	while (bf_ld_acquire32(t, at + RING64_CQE_COUNT, BF_AT_SYS) != n)
		bf_spin(t, at, "completion");
	s->status[n - 1] = bf_ld_acquire32(t, at + RING64_CQE_STATUS, BF_AT_SYS);
}

static void submit(struct bf_thread *t, void *arg)
{
	struct state *s = arg;

	bf_mmio_st64(t, s->regs + RING64_REG_BASE, s->ring.va);
	bf_mmio_st64(t, s->regs + RING64_REG_COMPLETIONS, s->done.va);
	bf_mmio_st32(t, s->regs + RING64_REG_ENTRIES, ENTRIES);
	for (uint32_t i = 0; i < COPIES; i++) {
		uint8_t *entry = (uint8_t *)s->ring.ptr + i % ENTRIES * RING64_ENTRY;
		const uint64_t opcode = s->mistake == BAD_OPCODE && i == 5 ? 9 : RING64_OP_COPY;

		if (i >= ENTRIES && s->mistake != NO_WAIT)
			wait_for(t, s, i - ENTRIES + 1);
		bf_st_weak64(t, entry + RING64_OPCODE, opcode | (uint64_t)BYTES << 32);
		bf_st_weak64(t, entry + RING64_SRC,
			     s->mistake == BAD_ADDRESS && i == 5 ? 4096 : s->from.va + i * BYTES);
		bf_st_weak64(t, entry + RING64_DST, s->to.va + i * BYTES);
		if (s->mistake != NO_FENCE)
			bf_fence_sys(t);
		if (s->mistake != LOST_BELL || i + 1 < COPIES)
			bf_mmio_st64(t, s->regs + RING64_REG_DOORBELL, i + 1);
	}
	for (uint32_t i = s->mistake == NO_WAIT ? COPIES : COPIES - ENTRIES + 1; i <= COPIES; i++)
		wait_for(t, s, i);
}

static enum mistake wanted; /* set before a run by the one thread that runs trials */

static int setup(struct bf_trial *t, void *state)
{
	struct state *s = state;

	s->mistake = wanted;
	s->regs = ring64_registers(bf_trial_backend(t)->model(bf_trial_world(t), 0));
	ck_assert_ptr_null(bf_trial_backend(t)->model(bf_trial_world(t), 1));
	if (bf_trial_memory(t, 0, BF_PLACE_HOST, ENTRIES * RING64_ENTRY, "ring", &s->ring) ||
	    bf_trial_memory(t, 0, BF_PLACE_HOST, ENTRIES * RING64_CQE, "done", &s->done) ||
	    bf_trial_memory(t, 0, BF_PLACE_HOST, COPIES * BYTES, "from", &s->from) ||
	    bf_trial_memory(t, 0, BF_PLACE_HOST, COPIES * BYTES, "to", &s->to))
		return -1;
	for (uint32_t i = 0; i < COPIES * BYTES; i++)
		((uint8_t *)s->from.ptr)[i] = (uint8_t)(i * 5 + 3);
	return bf_trial_launch_cpu(t, 0, 1, submit, s);
}

static int verify(struct bf_trial *t, void *state)
{
	const struct state *s = state;

	for (uint32_t i = 0; i < COPIES && s->mistake != NO_WAIT; i++)
		bf_trial_check(t, s->status[i] == RING64_OK, "entry %u ended with status %u", i, s->status[i]);
	bf_trial_equal(t, "what was copied", s->to.ptr, s->from.ptr, COPIES * BYTES);
	return 0;
}

static struct bf_trial_spec spec = {
	.name = "ring64",
	.world = { .seed = 1, .model = &ring64_model },
	.setup = setup,
	.verify = verify,
	.state_bytes = sizeof(struct state),
};

START_TEST(right_code_is_right)
{
	struct bf_trial_result r;

	wanted = NONE;
	ck_assert_msg(bf_trial_search(&spec, &(struct bf_trial_search_opts){ .seeds = 10 }, &r), "%s", r.text);
	ck_assert_uint_eq(r.nfindings, 0);
}
END_TEST

START_TEST(mistakes_have_their_rules)
{
	static const struct {
		enum mistake mistake;
		enum bf_trial_verdict verdict;
		const char *rule, *text;
	} rows[] = {
		{ NO_FENCE, BF_TRIAL_WRONG, "RING64-ENTRY-ORDER",
		  "by pe0.cpu0 had not become visible; it became visible" },
		{ NO_WAIT, BF_TRIAL_WRONG, "RING64-OVERRUN", "the doorbell says 5 entries, 0 are complete" },
		{ BAD_OPCODE, BF_TRIAL_WRONG, NULL, "entry 5 ended with status 2" },
		{ BAD_ADDRESS, BF_TRIAL_WRONG, NULL, "entry 5 ended with status 3" },
		{ LOST_BELL, BF_TRIAL_STUCK, NULL, "completion" },
	};
	struct bf_trial_result r;

	wanted = rows[_i].mistake;
	ck_assert(!bf_trial_search(&spec, &(struct bf_trial_search_opts){ .seeds = 20 }, &r));
	ck_assert_int_eq(r.verdict, rows[_i].verdict);
	ck_assert_msg(strstr(r.text, rows[_i].text) != NULL, "%s", r.text);
	if (rows[_i].rule) {
		ck_assert_ptr_nonnull(r.root);
		ck_assert_str_eq(r.root->id, rows[_i].rule);
		/* What a result says outlives the engine that found it. */
		ck_assert_ptr_eq(r.root, bf_rule_by_id(rows[_i].rule));
		ck_assert_uint_eq(r.finding[0].rule == r.root, 1);
	}
}
END_TEST

/* ---- in a trace ---- */

static const char *const path = "device_test.bft";

static struct bf_trace *trace_of(enum mistake mistake)
{
	struct bf_error err = { 0 };
	struct bf_trial_result r;
	struct bf_trace *t;

	wanted = mistake;
	spec.trace = path;
	spec.world.ordering = BF_ORDER_ADVERSARIAL;
	ck_assert(!bf_trial_run(&spec, &r));
	spec.trace = NULL;
	spec.world.ordering = BF_ORDER_SC;
	ck_assert_int_eq(bf_trace_open(path, NULL, &t, &err), 0);
	return t;
}

static bool tells(const struct bf_explain *l, const char *text)
{
	size_t n;
	const struct bf_explain_step *s = bf_explain_steps(l, &n);

	for (size_t i = 0; i < n; i++)
		if (strstr(s[i].text, text))
			return true;
	return false;
}

START_TEST(a_life_is_told_by_rows)
{
	struct bf_trace *t = trace_of(LOST_BELL);
	struct bf_error err = { 0 };
	struct bf_explain_target of;
	struct bf_explain *l;
	char text[80];

	ck_assert(bf_explain_parse("ring0.r0:6", &of));
	ck_assert_str_eq(bf_explain_target_text(&of, text, sizeof(text)), "ring0.r0:6");
	ck_assert_int_eq(bf_explain_trace(&of, t, &l, &err), 0);
	ck_assert(tells(l, "gets doorbell 7, was 6"));
	ck_assert(tells(l, "has entry 6 from slot 2: opcode 1, 48 bytes"));
	ck_assert(tells(l, "writes completion 6: ok"));
	ck_assert(tells(l, "stores bytes 0-23 of the entry"));
	ck_assert(!tells(l, "completion 2"));
	ck_assert(bf_explain_ended(l));
	bf_explain_free(l);
	/* Of one that nobody rang for nothing is known; without a device's name it is the first one that has it. */
	ck_assert(bf_explain_parse("ring0.r0:11", &of));
	ck_assert_int_eq(bf_explain_trace(&of, t, &l, &err), 0);
	ck_assert(!bf_explain_ended(l));
	bf_explain_free(l);
	ck_assert(!bf_explain_parse("ring0.r0:", &of));
	ck_assert(!bf_explain_parse("ring0.x0:1", &of));
	bf_trace_close(t);
	unlink(path);
}
END_TEST

START_TEST(stages_are_of_the_same_rows)
{
	struct bf_trace *t = trace_of(BAD_OPCODE);
	struct bf_error err = { 0 };
	const struct bf_stage_queue *q;
	struct bf_stages *s;

	ck_assert_int_eq(bf_stages_read(t, &s, &err), 0);
	q = bf_stages_queue(s, 0);
	ck_assert_ptr_nonnull(q);
	ck_assert_str_eq(q->kind, "ring64");
	ck_assert_str_eq(q->name, "ring0.r0");
	ck_assert_uint_eq(q->entries, COPIES);
	ck_assert_uint_eq(q->unfinished, 0);
	ck_assert_str_eq(q->stage[2], "completion");
	bf_stages_destroy(s);
	bf_trace_close(t);
	unlink(path);
}
END_TEST

/* Of three entries one is complete, one was fetched, and of one the device only knows. */
START_TEST(what_is_stuck_is_of_the_same_rows)
{
	const struct bf_stuck_group *g;
	struct bf_stuck *s;
	struct tape p;

	tape_open(&p);
	PUT(&p, ring64_doorbell, "queue", "ring0.r0", .before = 0, .index = 3);
	PUT(&p, ring64_fetch, "queue", "ring0.r0", .index = 0);
	PUT(&p, ring64_fetch, "queue", "ring0.r0", .index = 1);
	PUT(&p, ring64_completion, "queue", "ring0.r0", .index = 0);
	ck_assert_int_eq(bf_stuck_read(tape_read(&p), &s, &p.err), 0);
	ck_assert_uint_eq(bf_stuck_count(s), 2);
	g = bf_stuck_group(s, 0);
	ck_assert_str_eq(g->where, "ring0.r0");
	ck_assert_str_eq(g->missing, "completion");
	ck_assert_uint_eq(g->oldest.index, 1);
	g = bf_stuck_group(s, 1);
	ck_assert_str_eq(g->missing, "fetch");
	ck_assert_str_eq(g->text, "no fetch: no record ring64_fetch of this entry has come");
	bf_stuck_free(s);
	tape_close(&p);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device");
	TCase *tc = tcase_create("ring64");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_test(tc, right_code_is_right);
	tcase_add_loop_test(tc, mistakes_have_their_rules, 0, 5);
	tcase_add_test(tc, a_life_is_told_by_rows);
	tcase_add_test(tc, stages_are_of_the_same_rows);
	tcase_add_test(tc, what_is_stuck_is_of_the_same_rows);
	suite_add_tcase(suite, tc);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
