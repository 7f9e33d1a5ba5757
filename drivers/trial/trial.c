/* One run of a trial: the machine, setup, run, verify, and what the rules say of it. */
#include "drivers/trial/trial_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>

void *bf_trial_arg(const struct bf_trial *t)
{
	return t->spec->arg;
}

uint64_t bf_trial_seed(const struct bf_trial *t)
{
	return t->choice->seed;
}

uint64_t bf_trial_size(const struct bf_trial *t, uint32_t i)
{
	return i < t->spec->nsizes ? t->choice->size[i] : 0;
}

const struct bf_backend *bf_trial_backend(const struct bf_trial *t)
{
	return t->be;
}

struct bf_world *bf_trial_world(const struct bf_trial *t)
{
	return t->world;
}

/* ---- reasons ---- */

static void keep_reason(struct bf_trial *t, const char *fmt, va_list ap)
{
	if (!t->reason[0])
		vsnprintf(t->reason, sizeof(t->reason), fmt, ap);
}

int bf_trial_fail(struct bf_trial *t, int code, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	keep_reason(t, fmt, ap);
	va_end(ap);
	return code;
}

bool bf_trial_check(struct bf_trial *t, bool good, const char *fmt, ...)
{
	va_list ap;

	if (good)
		return true;
	va_start(ap, fmt);
	keep_reason(t, fmt, ap);
	va_end(ap);
	return false;
}

bool bf_trial_equal(struct bf_trial *t, const char *what, const void *got, const void *wanted, size_t bytes)
{
	const uint8_t *a = got, *b = wanted;
	size_t i = 0, wrong = 0, first;

	while (i < bytes && a[i] == b[i])
		i++;
	if (i == bytes)
		return true;
	first = i;
	for (; i < bytes; i++)
		wrong += a[i] != b[i];
	return bf_trial_check(t, false, "%s: byte %zu is 0x%02x and should be 0x%02x (%zu of %zu bytes are wrong)",
			      what, first, a[first], b[first], wrong, bytes);
}

/* What a call of the machine had to say; it may have said nothing. */
static int machine_failed(struct bf_trial *t, int rc, const char *what)
{
	return bf_trial_fail(t, rc, "%s: %s", what, t->err.text[0] ? t->err.text : strerror(-rc));
}

/* ---- memory and threads ---- */

int bf_trial_memory(struct bf_trial *t, uint32_t pe, enum bf_placement place, uint64_t bytes, const char *name,
		    struct bf_memory *out)
{
	const int rc = t->be->alloc(t->world, pe, place, bytes, name, out);

	return rc ? machine_failed(t, rc, name) : 0;
}

int bf_trial_keep(struct bf_trial *t, void *object, void (*drop)(void *object))
{
	struct bf_trial_kept *k = malloc(sizeof(*k));

	if (!k) {
		drop(object);
		return bf_trial_fail(t, -ENOMEM, "no memory to keep an object");
	}
	*k = (struct bf_trial_kept){ .next = t->kept, .object = object, .drop = drop };
	t->kept = k;
	return 0;
}

int bf_trial_launch(struct bf_trial *t, uint32_t pe, uint32_t blocks, uint32_t warps, bf_kernel_fn *code, void *arg)
{
	const int rc = t->be->launch(t->world, pe, blocks, warps, code, arg);

	return rc ? machine_failed(t, rc, "launch on the GPU") : 0;
}

int bf_trial_launch_grid(struct bf_trial *t, uint32_t pe, const struct bf_grid_opts *grid, bf_kernel_fn *code,
			 void *arg)
{
	const int rc = t->be->launch_grid(t->world, pe, grid, code, arg);

	return rc ? machine_failed(t, rc, "launch of a grid") : 0;
}

int bf_trial_launch_cpu(struct bf_trial *t, uint32_t pe, uint32_t threads, bf_kernel_fn *code, void *arg)
{
	int rc = -ENOTSUP;

	if (t->be->launch_cpu)
		rc = t->be->launch_cpu(t->world, pe, threads, code, arg);
	return rc ? machine_failed(t, rc, "launch on the CPU") : 0;
}

/* ---- the run ---- */

static int open_rules(struct bf_trial *t, struct bf_suppressions **accepted, struct bf_rules **rules)
{
	struct bf_rules_opts opts = { 0 };
	int rc = 0;

	*accepted = NULL;
	*rules = NULL;
	if (t->spec->accept) {
		rc = bf_suppressions_create(accepted);
		if (!rc)
			rc = bf_suppress_text(*accepted, t->spec->accept, "accept", &t->err);
	}
	opts.suppress = *accepted;
	/* Under gpu only GPUs are weak (drivers/backend). */
	opts.processors_keep_order = t->choice->ordering == BF_ORDER_TSO || t->choice->ordering == BF_ORDER_GPU;
	if (!rc)
		rc = bf_rules_create(&opts, rules, &t->err);
	return rc ? machine_failed(t, rc, "rules") : 0;
}

static int open_world(struct bf_trial *t, struct bf_rules *rules, struct bf_sink_tee *tee, struct bf_sink *records)
{
	struct bf_world_opts opts = t->spec->world;
	int rc;

	opts.npes = t->npes;
	opts.seed = t->choice->seed;
	opts.ordering = t->choice->ordering;
	opts.chooser = t->choice->list ? &t->list.chooser : t->choice->chooser;
	if (!opts.limit_ps)
		opts.limit_ps = BF_S;
	opts.ranks = NULL;
	opts.record_mask = bf_rules_classes(rules);
	opts.sink = bf_rules_sink(rules);
	opts.unrecorded = true;
	if (records) {
		bf_sink_tee_init(tee, opts.sink, records);
		opts.sink = &tee->sink;
		opts.record_mask = BF_CLASS_ALL | BF_CLASS_WHERE;
	}
	rc = t->be->open(&opts, &t->err, &t->world);
	if (rc)
		return machine_failed(t, rc, "the machine");
	t->state = t->spec->state_bytes ? calloc(1, t->spec->state_bytes) : t->spec->arg;
	if (t->spec->state_bytes && !t->state)
		return bf_trial_fail(t, -ENOMEM, "no memory for a trial");
	return 0;
}

static enum bf_trial_verdict run_world(struct bf_trial *t, struct bf_world_result *out)
{
	const int rc = t->be->run(t->world, out);

	if (rc) {
		machine_failed(t, rc, "the run");
		return rc == -ENOMEM ? BF_TRIAL_NOT_RUN : BF_TRIAL_STOPPED; /* which says nothing of the code */
	}
	if (out->end != BF_END_DONE)
		return out->end == BF_END_LIMIT ? BF_TRIAL_LIMIT : BF_TRIAL_STUCK;
	/* A check that failed counts, whatever verify returns. */
	if (t->spec->verify && (t->spec->verify(t, t->state) || t->reason[0])) {
		bf_trial_fail(t, 0, "verify failed without a reason");
		return BF_TRIAL_WRONG;
	}
	return BF_TRIAL_GOOD;
}

struct bf_trial_part {
	struct bf_trial_part *next;
	bf_trial_close_fn *close;
	max_align_t state[];
};

void *bf_trial_add_part(struct bf_trial *t, bf_trial_close_fn *close, size_t bytes)
{
	struct bf_trial_part *p = calloc(1, sizeof(*p) + bytes);

	if (!p)
		return NULL;
	p->next = t->parts;
	p->close = close;
	t->parts = p;
	return p->state;
}

void *bf_trial_part(const struct bf_trial *t, bf_trial_close_fn *close)
{
	struct bf_trial_part *p = t->parts;

	while (p && p->close != close)
		p = p->next;
	return p ? p->state : NULL;
}

static void close_parts(struct bf_trial *t, bool ended)
{
	while (t->parts) {
		struct bf_trial_part *p = t->parts;

		t->parts = p->next;
		p->close(t, p->state, ended);
		free(p);
	}
}

static enum bf_trial_verdict run_trial(struct bf_trial *t, struct bf_rules *rules, struct bf_sink *records,
				       struct bf_world_result *out)
{
	enum bf_trial_verdict v = BF_TRIAL_NOT_RUN;
	struct bf_sink_tee tee;

	if (open_world(t, rules, &tee, records) == 0) {
		if (t->spec->setup(t, t->state) == 0 && !t->reason[0])
			v = run_world(t, out);
		else
			bf_trial_fail(t, 0, "setup failed without a reason");
	}
	if (t->world) {
		close_parts(t, v == BF_TRIAL_GOOD || v == BF_TRIAL_WRONG || v == BF_TRIAL_NOT_RUN);
		t->be->close(t->world);
	}
	while (t->kept) {
		struct bf_trial_kept *k = t->kept;

		t->kept = k->next;
		k->drop(k->object);
		free(k);
	}
	if (t->spec->state_bytes)
		free(t->state);
	return v;
}

/* ---- what the rules say ---- */

static void take_finding(const struct bf_found *f, struct bf_trial_result *r)
{
	struct bf_trial_finding *out;

	if (r->nfindings == BF_TRIAL_FINDINGS)
		return;
	out = &r->finding[r->nfindings++];
	out->rule = f->rule;
	out->root = f->root;
	out->at_ps = f->at_ps;
	snprintf(out->where, sizeof(out->where), "%s", f->where);
	snprintf(out->text, sizeof(out->text), "%s", f->text);
}

static void judge(const struct bf_trial_spec *spec, const struct bf_rules *rules, struct bf_trial_result *r)
{
	const struct bf_found *root = bf_rules_root(rules);
	bool bad = false;

	r->root = root ? root->rule : NULL;
	for (uint32_t i = 0; i < bf_rules_count(rules); i++) {
		const struct bf_found *f = bf_rules_found(rules, i);

		if (f->suppressed)
			continue;
		take_finding(f, r);
		bad |= f->rule->severity <= spec->fail_on;
	}
	if (r->verdict == BF_TRIAL_GOOD && bad)
		r->verdict = BF_TRIAL_FOUND;
}

static bool spec_is_whole(struct bf_trial *t)
{
	return bf_trial_check(t, t->spec->setup != NULL, "the trial has no setup") &&
	       bf_trial_check(t, t->spec->nsizes <= BF_TRIAL_SIZES, "%u sizes: at most %u", t->spec->nsizes,
			      BF_TRIAL_SIZES);
}

static int open_list(struct bf_trial *t)
{
	if (!t->choice->list)
		return 0;
	bf_enumeration_init(&t->list, BF_CHOICE_ALL);
	return bf_enumeration_parse(&t->list, t->choice->list, &t->err) ? machine_failed(t, -EINVAL, "choices") : 0;
}

/* A run that has not asked for all of them is another one. */
static void check_list(struct bf_trial *t, enum bf_trial_verdict *v)
{
	if (!t->choice->list || *v == BF_TRIAL_NOT_RUN || (!t->list.failed && t->list.at >= t->list.count))
		return;
	bf_trial_fail(t, 0, "choices: this run has not all of them");
	*v = BF_TRIAL_NOT_RUN;
}

void bf_trial_once(const struct bf_trial_choice *c, struct bf_sink *records, struct bf_trial_result *r)
{
	const struct bf_trial_spec *spec = c->spec;
	struct bf_trial t = {
		.choice = c, .spec = spec, .be = bf_backend_find("sim"), .npes = spec->world.npes ? spec->world.npes : 1
	};
	struct bf_suppressions *accepted = NULL;
	struct bf_rules *rules = NULL;

	memset(r, 0, sizeof(*r));
	r->verdict = BF_TRIAL_NOT_RUN;
	r->seed = c->seed;
	r->ordering = c->ordering;
	memcpy(r->size, c->size, sizeof(r->size));
	if (spec_is_whole(&t) && open_list(&t) == 0 && open_rules(&t, &accepted, &rules) == 0) {
		r->verdict = run_trial(&t, rules, records, &r->world);
		check_list(&t, &r->verdict);
		if (bf_rules_finish(rules, r->verdict != BF_TRIAL_NOT_RUN)) {
			bf_trial_fail(&t, 0, "no memory for rules");
			r->verdict = BF_TRIAL_NOT_RUN;
		}
		if (r->verdict != BF_TRIAL_NOT_RUN)
			judge(spec, rules, r);
	}
	bf_rules_destroy(rules);
	bf_suppressions_destroy(accepted);
	if (c->list)
		bf_enumeration_fini(&t.list);
	memcpy(r->reason, t.reason, sizeof(r->reason));
	r->ok = r->verdict == BF_TRIAL_GOOD;
	r->runs = 1;
}
