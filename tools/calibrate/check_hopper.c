/*
 * belfry check hopper-mbarrier: sequences of barrier operations that a GPU ran, step by step on the model: words,
 * tokens, results, faults.
 *
 * A line is {"seq": N, "steps": [...]} or {"case": "...", "outcome": "ok" or "launch failure ...", "steps": [...]}. A
 * step is {"op": NAME, "arg": N, "token_of_step": N, "word": HEX, "token_hi32": HEX, "result": N}; what it has is
 * compared.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "models/hopper/word.h"
#include "tools/checks/check.h"

#define STEPS_MAX 1024u

/* What an operation of that name is made of. */
enum act { INIT, ARRIVE, EXPECT_TX, COMPLETE_TX, TEST_PARITY, TEST_STATE, PENDING_COUNT, INVAL };

static const struct op {
	const char *name;
	enum act act;
	bool counted; /* the argument is the number of arrivals */
	bool bytes;   /* the argument is a number of bytes */
	bool drop;
} ops[] = {
	{ "init", INIT, false, false, false },
	{ "inval", INVAL, false, false, false },
	{ "arrive", ARRIVE, false, false, false },
	{ "arrive_n", ARRIVE, true, false, false },
	{ "arrive_nocomplete", ARRIVE, true, false, false },
	{ "arrive_expect_tx", ARRIVE, false, true, false },
	{ "arrive_drop", ARRIVE, false, false, true },
	{ "arrive_drop_n", ARRIVE, true, false, true },
	{ "arrive_drop_nocomplete", ARRIVE, true, false, true },
	{ "arrive_drop_expect_tx", ARRIVE, false, true, true },
	{ "expect_tx", EXPECT_TX, false, true, false },
	{ "complete_tx", COMPLETE_TX, false, true, false },
	{ "test_wait_parity", TEST_PARITY, false, false, false },
	{ "try_wait_parity", TEST_PARITY, false, false, false },
	{ "test_wait_state", TEST_STATE, false, false, false },
	{ "try_wait_state", TEST_STATE, false, false, false },
	{ "pending_count", PENDING_COUNT, false, false, false },
};

struct run {
	uint64_t word;
	uint64_t token[STEPS_MAX]; /* by step; 0 where there is none */
	uint32_t step;
	uint64_t values; /* compared */
	char wrong[200];
};

struct tally {
	struct bf_check base;
	uint64_t exact, steps, values, faults;
	struct run run; /* the line's */
};

static int fail(struct bf_json_line *l, uint32_t step, const char *what)
{
	return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ", step %" PRIu32 ": %s", l->number, step, what);
}

/* ---- one step ---- */

static const struct op *find_op(const struct bf_json_member *m)
{
	for (size_t i = 0; m && i < BF_ARRAY_LEN(ops); i++)
		if (strlen(ops[i].name) == m->value_len && memcmp(ops[i].name, m->value, m->value_len) == 0)
			return &ops[i];
	return NULL;
}

/* A number of the step, 0 when it is not there; hexadecimal texts have no 0x. */
static int number(struct bf_json_line *s, const char *name, bool *there, uint64_t *out)
{
	const struct bf_json_member *m = bf_json_line_find(s, name);

	*out = 0;
	*there = m != NULL;
	if (!m)
		return 0;
	if (m->token == BF_JSON_NUMBER)
		return bf_json_line_integer(s, m, name, BF_JSON_DECIMAL, UINT32_MAX, out);
	if (m->token != BF_JSON_STRING || m->value_len == 0 || m->value_len > 16)
		return bf_json_line_fail(s, m, name, "must be a number, or up to 16 hexadecimal digits");
	for (size_t i = 0; i < m->value_len; i++) {
		const int d = bf_hex_digit(m->value[i]);

		if (d < 0)
			return bf_json_line_fail(s, m, name, "must be a number, or up to 16 hexadecimal digits");
		*out = *out << 4 | (uint64_t)d;
	}
	return 0;
}

static enum bf_mbar_fault act(struct run *r, const struct op *op, uint32_t arg, uint64_t token, uint64_t *result)
{
	bool done = false;
	enum bf_mbar_fault fault = BF_MBAR_OK;

	*result = 0;
	switch (op->act) {
	case INIT:
		return bf_mbar_init(&r->word, arg);
	case ARRIVE:
		r->token[r->step] = r->word;
		return bf_mbar_arrive(&r->word, op->counted ? arg : 1, op->drop, op->bytes ? arg : 0, NULL);
	case EXPECT_TX:
		return bf_mbar_expect_tx(&r->word, arg, NULL);
	case COMPLETE_TX:
		return bf_mbar_complete_tx(&r->word, arg, NULL);
	case TEST_PARITY:
		fault = bf_mbar_test_parity(r->word, arg, &done);
		break;
	case TEST_STATE:
		fault = bf_mbar_test_state(r->word, token, &done);
		break;
	case PENDING_COUNT:
		*result = bf_mbar_pending(token);
		return BF_MBAR_OK;
	case INVAL: /* the unit writes back and drops the entry; the word stays as it was */
		return BF_MBAR_OK;
	}
	*result = done;
	return fault;
}

static void expect(struct run *r, const char *what, bool there, uint64_t captured, uint64_t model)
{
	r->values += there;
	if (there && captured != model && !r->wrong[0])
		snprintf(r->wrong, sizeof(r->wrong),
			 "step %" PRIu32 ": %s is 0x%" PRIx64 " on silicon, 0x%" PRIx64 " here", r->step, what,
			 captured, model);
}

/* 0 or -EBADMSG; `*fault` says how the unit took it. */
static int take_step(struct run *r, struct bf_json_line *s, enum bf_mbar_fault *fault)
{
	const struct op *op = find_op(bf_json_line_find(s, "op"));
	bool there, has_token, has_word, has_result;
	uint64_t arg, from, word, token, result, mine;
	int rc;

	if (!op)
		return fail(s, r->step, "there is no operation of that name");
	rc = number(s, "arg", &there, &arg);
	if (!rc)
		rc = number(s, "token_of_step", &there, &from);
	if (!rc && there && (from >= r->step || !r->token[from]))
		rc = fail(s, r->step, "no token came out of the step that is named");
	if (!rc)
		rc = number(s, "word", &has_word, &word);
	if (!rc)
		rc = number(s, "token_hi32", &has_token, &token);
	if (!rc)
		rc = number(s, "result", &has_result, &result);
	if (rc)
		return rc;
	*fault = act(r, op, (uint32_t)arg, r->token[from], &mine);
	if (*fault)
		return 0;
	expect(r, "the word", has_word, word, r->word);
	expect(r, "the token's upper half", has_token, token, r->token[r->step] >> 32);
	expect(r, "the result", has_result, result, mine);
	return 0;
}

/* ---- one sequence ---- */

/* The next object of an array whose inside is `*p` up to `end`; false at its end. */
static bool next_object(const char **p, const char *end, struct bf_json_line *out)
{
	const char *first;
	int depth = 0;

	while (*p < end && **p != '{')
		++*p;
	first = *p;
	for (; *p < end; ++*p) {
		if (**p == '"')
			while (++*p < end && **p != '"')
				*p += **p == '\\';
		else if (**p == '{')
			depth++;
		else if (**p == '}' && --depth == 0)
			break;
	}
	if (*p >= end)
		return false;
	++*p;
	out->p = first;
	out->end = *p;
	return true;
}

static void tell(struct tally *t, const struct bf_json_line *l, const char *name, const char *wrong)
{
	if (!t->base.json) {
		printf("MISMATCH  line %" PRIu32 " (%s): %s\n", l->number, name, wrong);
		return;
	}
	bf_json_open(t->base.json, NULL, '{');
	bf_json_u64(t->base.json, "line", l->number);
	bf_json_text(t->base.json, "name", name);
	bf_json_text(t->base.json, "wrong", wrong);
	bf_json_close(t->base.json, '}');
}

static int take(void *tally, struct bf_json_line *l)
{
	struct tally *t = tally;
	struct run *r = &t->run;
	const struct bf_json_member *steps = bf_json_line_find(l, "steps"), *outcome = bf_json_line_find(l, "outcome");
	const struct bf_json_member *name =
	    bf_json_line_find(l, "case") ? bf_json_line_find(l, "case") : bf_json_line_find(l, "seq");
	const bool faults = outcome && outcome->value_len > 6 && memcmp(outcome->value, "launch", 6) == 0;
	enum bf_mbar_fault fault = BF_MBAR_OK;
	char label[80];
	const char *p;
	int rc = 0;

	if (!steps || steps->token != BF_JSON_OTHER)
		return bf_fail(l->err, -EBADMSG, "line %" PRIu32 ": there is no array \"steps\"", l->number);
	snprintf(label, sizeof(label), "%.*s", name ? (int)(name->value_len < 79 ? name->value_len : 79) : 0,
		 name ? name->value : "");
	*r = (struct run){ 0 };
	for (p = steps->value; !rc && !fault; r->step++) {
		struct bf_json_line s = { .start = l->start, .number = l->number, .err = l->err };

		if (!next_object(&p, steps->value + steps->value_len, &s))
			break;
		if (r->step == STEPS_MAX)
			return fail(l, r->step, "a sequence has at most 1024 steps");
		rc = bf_json_line_scan(&s);
		if (!rc)
			rc = take_step(r, &s, &fault);
		t->steps += !rc;
	}
	if (rc)
		return rc;
	if (faults && !fault)
		snprintf(r->wrong, sizeof(r->wrong), "the unit faults on silicon, but not here");
	else if (!faults && fault)
		snprintf(r->wrong, sizeof(r->wrong), "step %" PRIu32 ": faults here (%s), but not on silicon",
			 r->step - 1, bf_mbar_fault_name(fault));
	t->base.taken++;
	t->values += r->values;
	t->faults += faults;
	t->exact += !r->wrong[0];
	t->base.bad += r->wrong[0] != '\0';
	if (r->wrong[0])
		tell(t, l, label, r->wrong);
	return 0;
}

static void print_summary(const void *tally)
{
	const struct tally *t = tally;

	printf("%" PRIu64 " sequences, %" PRIu64 " steps: %" PRIu64 " exact, %" PRIu64 " not; %" PRIu64
	       " words, tokens and results compared, %" PRIu64 " faults\n",
	       t->base.taken, t->steps, t->exact, t->base.bad, t->values, t->faults);
}

static void json_summary(struct bf_json *j, const void *tally)
{
	const struct tally *t = tally;

	bf_json_u64(j, "sequences", t->base.taken);
	bf_json_u64(j, "exact", t->exact);
	bf_json_u64(j, "steps", t->steps);
	bf_json_u64(j, "values", t->values);
	bf_json_u64(j, "faults", t->faults);
}

const struct bf_check_form bf_check_hopper_mbarrier = {
	.form = { .name = "hopper-mbarrier",
		  .details = "FILE is JSON Lines with sequences of barrier operations that a GPU ran; words, tokens, "
			     "results and faults are compared step by step." },
	.each = "sequence",
	.list = "mismatches",
	.tally_bytes = sizeof(struct tally),
	.take = take,
	.print = print_summary,
	.summary = json_summary,
};
