/*
 * belfry check litmus: litmus tests, each run on the views in every way, and what came of it compared with the verdict.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/trial/litmus.h"
#include "tools/checks/check.h"

struct tally {
	struct bf_check base;
	struct bf_litmus *test;
	uint64_t undecided;      /* tests without a verdict */
	uint64_t unfinished;     /* with more executions than were tried, or that do not fit */
	uint64_t allowed, shown; /* by verdict; of these, seen */
	uint64_t executions, pruned;
	uint64_t buffers;         /* tests of the PTX model that ran on the buffers, too */
	uint64_t buffers_shown;   /* allowed and seen there */
	uint64_t buffers_bounded; /* not to their end */
};

/* As many as the buffers are tried; the graph says what is allowed. */
#define BUFFER_EXECUTIONS 5000u

static int begin(void *tally, struct bf_error *err)
{
	struct tally *t = tally;

	t->test = malloc(sizeof(*t->test));
	return t->test ? 0 : bf_fail(err, -1, "out of memory");
}

static void end(void *tally)
{
	free(((struct tally *)tally)->test);
}

static const char *verdict(bool allowed)
{
	return allowed ? "allowed" : "forbidden";
}

static void tell(struct tally *t, uint32_t line, const char *state, const char *text, const struct bf_litmus_result *r)
{
	struct bf_json *j = t->base.json;

	if (!j) {
		printf("%s: %s\n", t->test->name, text);
		return;
	}
	bf_json_open(j, NULL, '{');
	bf_json_text(j, "name", t->test->name);
	bf_json_u64(j, "line", line);
	bf_json_text(j, "result", state);
	if (t->test->has_verdict)
		bf_json_bool(j, "outcome_allowed", t->test->allowed);
	bf_json_bool(j, "seen", r->seen);
	bf_json_u64(j, "executions", r->executions);
	bf_json_u64(j, "pruned", r->pruned);
	bf_json_u64(j, "stuck", r->stuck);
	bf_json_u64(j, "bounded", r->bounded);
	if (text[0])
		bf_json_text(j, "text", text);
	bf_json_close(j, '}');
}

/* The machine that drivers run on: it must not show what is forbidden either. */
static int on_buffers(struct tally *t, struct bf_litmus_result *r, struct bf_error *err)
{
	const struct bf_litmus_opts opts = { .buffers = true, .executions = BUFFER_EXECUTIONS };
	int rc;

	for (uint32_t i = 0; i < t->test->nthreads; i++)
		for (uint32_t k = 0; k < t->test->thread[i].nops; k++)
			if (t->test->thread[i].op[k].proxy != BF_PROXY_GENERIC)
				return 0; /* proxies are no matter of buffers */
	rc = bf_litmus_run(t->test, &opts, r, err);
	if (rc)
		return rc;
	t->buffers++;
	t->buffers_shown += r->seen && t->test->allowed;
	t->buffers_bounded += !r->seen && !r->whole;
	return 0;
}

static void judge(struct tally *t, uint32_t line, const struct bf_litmus_result *r, const struct bf_litmus_result *b)
{
	char text[512];

	t->base.taken++;
	t->executions += r->executions;
	t->pruned += r->pruned;
	t->allowed += t->test->has_verdict && t->test->allowed;
	t->shown += t->test->has_verdict && t->test->allowed && r->seen;
	if (!t->test->has_verdict) {
		t->undecided++;
		snprintf(text, sizeof(text), "no verdict; %s (%" PRIu64 " executions)",
			 r->seen    ? "seen"
			 : r->whole ? "never seen"
				    : "not seen so far",
			 r->executions);
		tell(t, line, "no verdict", text, r);
	} else if (r->seen != t->test->allowed && (r->seen || r->whole)) {
		t->base.bad++;
		snprintf(text, sizeof(text), "DIFFERS: %s by its verdict, %s (%" PRIu64 " executions%s%s)",
			 verdict(t->test->allowed), r->seen ? "seen" : "never seen", r->executions,
			 r->seen ? ", choices " : "", r->choices);
		tell(t, line, "differs", text, r);
	} else if (r->seen != t->test->allowed) {
		t->unfinished++;
		snprintf(text, sizeof(text), "not decided: allowed by its verdict, not seen in %" PRIu64 " executions",
			 r->executions);
		tell(t, line, "not decided", text, r);
	} else if (b->seen && !t->test->allowed) {
		t->base.bad++;
		snprintf(text, sizeof(text), "DIFFERS: forbidden by its verdict, seen on the buffers (choices %s)",
			 b->choices);
		tell(t, line, "differs", text, b);
	} else if (!r->seen && !r->whole) {
		t->unfinished++;
		snprintf(text, sizeof(text), "never seen, as it should be, but only %" PRIu64 " executions were tried",
			 r->executions);
		tell(t, line, "not decided", text, r);
	} else if (t->base.json) {
		tell(t, line, "agrees", "", r);
	}
}

static int take(void *tally, struct bf_json_line *l)
{
	struct tally *t = tally;
	struct bf_litmus_result r, on = { 0 };
	struct bf_error err = { 0 };
	char text[320];
	int rc = bf_litmus_read(l, t->test);

	if (rc)
		return rc;
	rc = bf_litmus_run(t->test, &(struct bf_litmus_opts){ 0 }, &r, &err);
	if (!rc && t->test->ordering == BF_ORDER_GPU && t->test->has_verdict)
		rc = on_buffers(t, &on, &err);
	if (rc == -ENOMEM || rc == -EIO) /* nothing that the test could say */
		return bf_fail(l->err, rc, "%s", err.text);
	if (rc) {
		t->base.taken++;
		t->unfinished++;
		snprintf(text, sizeof(text), "cannot be run: %s", err.text);
		tell(t, l->number, "cannot be run", text, &r);
		return 0;
	}
	judge(t, l->number, &r, &on);
	return 0;
}

static void print(const void *tally)
{
	const struct tally *t = tally;
	const uint64_t decided = t->base.taken - t->undecided;

	printf("%" PRIu64 " tests, %" PRIu64 " with a verdict: %" PRIu64 " agree, %" PRIu64 " differ, %" PRIu64
	       " not decided\n",
	       t->base.taken, decided, decided - t->base.bad - t->unfinished, t->base.bad, t->unfinished);
	printf("%" PRIu64 " of %" PRIu64 " allowed outcomes seen; %" PRIu64 " executions, %" PRIu64
	       " more given up as forbidden\n",
	       t->shown, t->allowed, t->executions, t->pruned);
	if (t->buffers)
		printf("on the buffers: %" PRIu64 " tests, %" PRIu64 " allowed outcomes seen, %" PRIu64
		       " not searched to the end\n",
		       t->buffers, t->buffers_shown, t->buffers_bounded);
}

static void summary(struct bf_json *j, const void *tally)
{
	const struct tally *t = tally;

	bf_json_u64(j, "read", t->base.taken);
	bf_json_u64(j, "with_verdict", t->base.taken - t->undecided);
	bf_json_u64(j, "agree", t->base.taken - t->undecided - t->base.bad - t->unfinished);
	bf_json_u64(j, "differ", t->base.bad);
	bf_json_u64(j, "not_decided", t->unfinished);
	bf_json_u64(j, "allowed", t->allowed);
	bf_json_u64(j, "allowed_seen", t->shown);
	bf_json_u64(j, "executions", t->executions);
	bf_json_u64(j, "pruned", t->pruned);
	bf_json_u64(j, "on_buffers", t->buffers);
	bf_json_u64(j, "on_buffers_allowed_seen", t->buffers_shown);
	bf_json_u64(j, "on_buffers_unfinished", t->buffers_bounded);
}

const struct bf_check_form bf_check_litmus = {
	.form = { .name = "litmus",
		  .details = "FILE is JSON Lines with litmus tests of the PTX or x86-TSO memory model: locations, "
			     "threads, an outcome, and whether some execution may end so. Each thread is an agent on "
			     "the views, and every execution is tried: no forbidden outcome may be seen, every allowed "
			     "one must be. Tests of the PTX model run on the store buffers of the views, too, which "
			     "must not show what is forbidden." },
	.each = "litmus test",
	.list = "tests",
	.tally_bytes = sizeof(struct tally),
	.begin = begin,
	.take = take,
	.end = end,
	.print = print,
	.summary = summary,
};
