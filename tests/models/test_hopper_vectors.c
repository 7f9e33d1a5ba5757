/*
 * Sequences of barrier operations that an H200 ran, through the whole unit: words, tokens, results and faults, with and
 * without other barriers used between any two steps, for each profile.
 */
#include <check.h>

#include "tests/models/hopper_rig.h"
#include "traces/container/json_line.h"

#define STEPS_MAX 64u
#define BARRIER 0x40u
#define OTHERS 24u /* pairs: more than any cache holds */

struct act {
	const char *name;
	enum bf_sync_op op;
	char arg; /* what the argument is: 'n' arrivals, 'b' bytes, 'p' parity, 't' a token's step; 0: nothing */
};

static const struct act acts[] = {
	{ "init", BF_SYNC_INIT, 'n' },
	{ "inval", BF_SYNC_INVAL, 0 },
	{ "arrive", BF_SYNC_ARRIVE, 0 },
	{ "arrive_n", BF_SYNC_ARRIVE, 'n' },
	{ "arrive_nocomplete", BF_SYNC_ARRIVE, 'n' },
	{ "arrive_expect_tx", BF_SYNC_ARRIVE, 'b' },
	{ "arrive_drop", BF_SYNC_ARRIVE_DROP, 0 },
	{ "arrive_drop_n", BF_SYNC_ARRIVE_DROP, 'n' },
	{ "arrive_drop_nocomplete", BF_SYNC_ARRIVE_DROP, 'n' },
	{ "arrive_drop_expect_tx", BF_SYNC_ARRIVE_DROP, 'b' },
	{ "expect_tx", BF_SYNC_EXPECT_TX, 'b' },
	{ "complete_tx", BF_SYNC_COMPLETE_TX, 'b' },
	{ "test_wait_parity", BF_SYNC_TEST_PARITY, 'p' },
	{ "try_wait_parity", BF_SYNC_TRY_PARITY, 'p' },
	{ "test_wait_state", BF_SYNC_TEST_STATE, 't' },
	{ "try_wait_state", BF_SYNC_TRY_STATE, 't' },
};

struct sequence {
	struct rig *rig;
	bool pressure;
	uint64_t token[STEPS_MAX];
	uint32_t step;
	uint64_t compared;
};

static uint64_t number(const struct bf_json_line *s, const char *name, int base, bool *there)
{
	const struct bf_json_member *m = bf_json_line_find(s, name);

	*there = m != NULL;
	return m ? strtoull(m->value, NULL, base) : 0;
}

static const struct act *find_act(const struct bf_json_line *s)
{
	const struct bf_json_member *m = bf_json_line_find(s, "op");

	for (size_t i = 0; m && i < BF_ARRAY_LEN(acts); i++)
		if (strlen(acts[i].name) == m->value_len && memcmp(acts[i].name, m->value, m->value_len) == 0)
			return &acts[i];
	return NULL;
}

static void ignore(struct bf_sync_instr *in)
{
	(void)in;
}

/* One lane's operation, until it is done: a wait that parks ends at its time limit. */
static void run(struct rig *r, struct bf_sync_instr *in)
{
	in->warp = 1;
	in->active = 1;
	in->exited = ~1u;
	in->done = ignore;
	bf_hopper_issue(r->cta[0], in);
	bf_sim_run(r->sim, BF_NEVER);
}

static void use_others(struct rig *r)
{
	for (uint32_t i = 1; i <= OTHERS; i++) {
		struct bf_sync_instr in = { .op = BF_SYNC_TEST_PARITY, .address = { BARRIER + i * 64 } };

		run(r, &in);
	}
}

static void expect_word(struct sequence *q, const struct bf_json_line *s, const char *name, uint64_t model)
{
	bool there;
	const uint64_t word = number(s, name, 16, &there);

	q->compared += there;
	if (there)
		ck_assert_msg(word == model, "step %u: %s is %llx, here %llx", q->step, name, (unsigned long long)word,
			      (unsigned long long)model);
}

/* True when the unit has faulted. */
static bool take_step(struct sequence *q, const struct bf_json_line *s)
{
	const struct act *a = find_act(s);
	struct bf_sync_instr in = { .address = { BARRIER }, .count = { 1 } };
	bool there;
	const uint64_t arg = number(s, "arg", 10, &there), from = number(s, "token_of_step", 10, &there);
	const uint64_t result = number(s, "result", 10, &there);

	if (!a) {
		ck_assert(strncmp(bf_json_line_find(s, "op")->value, "pending_count", 13) == 0);
		ck_assert_uint_eq(bf_mbar_pending(q->token[from]), result);
		return false;
	}
	in.op = (uint8_t)a->op;
	if (a->arg == 'n' || a->arg == 'p')
		in.count[0] = (uint32_t)arg;
	else if (a->arg == 'b')
		in.tx[0] = (uint32_t)arg;
	else if (a->arg == 't')
		in.token[0] = q->token[from];
	if (q->pressure)
		use_others(q->rig);
	run(q->rig, &in);
	if (bf_hopper_fault(q->rig->gpu))
		return true;
	if (a->op == BF_SYNC_ARRIVE || a->op == BF_SYNC_ARRIVE_DROP) {
		q->token[q->step] = in.token[0];
		expect_word(q, s, "token_hi32", in.token[0] >> 32);
	}
	if (there)
		ck_assert_uint_eq(in.result & 1, result);
	if (q->pressure)
		use_others(q->rig);
	expect_word(
	    q, s, "word",
	    bf_sync_peek(bf_hopper_cta_unit(q->rig->cta[0]), bf_hopper_cta_base(q->rig->cta[0]) + BARRIER, NULL));
	return false;
}

/* Steps are flat objects: the next one's text in `s`. */
static bool next_step(const char **p, struct bf_json_line *s)
{
	const char *end;

	*p = strchr(*p, '{');
	if (!*p)
		return false;
	end = strchr(*p, '}') + 1;
	*s = (struct bf_json_line){ .start = *p, .p = *p, .end = end };
	ck_assert_int_eq(bf_json_line_scan(s), 0);
	*p = end;
	return true;
}

static uint64_t run_line(const char *line, const struct bf_hopper_profile *profile, bool pressure)
{
	const bool should_fault = strstr(line, "\"launch failure") != NULL;
	struct sequence q = { .pressure = pressure };
	struct bf_json_line s;
	struct rig r;
	const char *p = strstr(line, "\"steps\"");
	bool faulted = false;

	rig_open(&r, &(struct rig_opts){ .profile = profile });
	q.rig = &r;
	for (uint32_t i = 1; i <= OTHERS; i++) {
		struct bf_sync_instr in = { .op = BF_SYNC_INIT, .count = { 1 }, .address = { BARRIER + i * 64 } };

		run(&r, &in);
	}
	for (; !faulted && next_step(&p, &s); q.step++)
		faulted = take_step(&q, &s);
	ck_assert_msg(faulted == should_fault, "%.120s", line);
	rig_close(&r);
	return q.compared;
}

static uint64_t run_file(FILE *f, const struct bf_hopper_profile *profile, bool pressure, uint32_t *lines)
{
	uint64_t compared = 0;
	char *line = NULL;
	size_t cap = 0;

	for (*lines = 0; getline(&line, &cap, f) > 0; ++*lines)
		compared += run_line(line, profile, pressure);
	free(line);
	return compared;
}

#define VECTORS BELFRY_SOURCE_DIR "/traces/samples/hopper_mbarrier"

START_TEST(sequences)
{
	FILE *f = popen("xz -dc " VECTORS "_h200.jsonl.xz 2>/dev/null", "r");
	uint32_t lines;
	uint64_t compared;

	ck_assert_ptr_nonnull(f);
	compared = run_file(f, _i & 1 ? &bf_hopper_patent : &bf_hopper_h200, _i & 2, &lines);
	if (pclose(f) == 0) { /* without xz there is nothing to compare */
		ck_assert_uint_eq(lines, 1000);
		ck_assert_uint_ge(compared, 50000);
	}
}
END_TEST

START_TEST(edges)
{
	FILE *f = fopen(VECTORS "_edges_h200.jsonl", "r");
	uint32_t lines;

	ck_assert_ptr_nonnull(f);
	run_file(f, _i & 1 ? &bf_hopper_patent : &bf_hopper_h200, _i & 2, &lines);
	ck_assert_uint_eq(lines, 41);
	fclose(f);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("hopper_vectors");
	TCase *tc = tcase_create("all");
	SRunner *sr;
	int failed;

	tcase_set_timeout(tc, 120);
	tcase_add_loop_test(tc, sequences, 0, 4);
	tcase_add_loop_test(tc, edges, 0, 4);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
