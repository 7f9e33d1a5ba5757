/*
 * belfry check timing: published figures, each run as the experiment that it was. Figures of one source are one curve:
 * the table has a line for each, with the median of the errors and the row that is furthest off. Only figures that were
 * read where their authors published them, of high or medium confidence, count there; the others are run all the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/grow.h"
#include "tools/checks/check.h"
#include "tools/timing/trial.h"

struct point {
	char id[48], device[16], source[BF_FIGURE_TEXT], what[96], why[160];
	double published, simulated, error; /* error: a share of what is published */
	bool ran, counts;
	enum bf_trial_how how;
};

struct tally {
	struct bf_check base;
	struct bf_timing_model model;
	struct point *points;
	size_t count, cap;
	double *errors; /* room to sort those of a curve: print() cannot lack memory */
	size_t errors_cap;
};

static int begin(void *tally, struct bf_error *err)
{
	struct tally *t = tally;

	(void)err;
	bf_timing_model_init(&t->model);
	return 0;
}

static int keep(struct tally *t, struct bf_error *err, struct point **out)
{
	if (BF_GROW(t->points, t->cap, t->count + 1) || BF_GROW(t->errors, t->errors_cap, t->count + 1))
		return bf_fail(err, -ENOMEM, "no memory for %zu figures", t->count + 1);
	*out = &t->points[t->count++];
	return 0;
}

static void describe(const struct bf_figure *f, char *out, size_t cap)
{
	int n = snprintf(out, cap, "%.44s", f->op);

	if (f->has_size && n > 0 && (size_t)n < cap)
		n += snprintf(out + n, cap - (size_t)n, " %" PRIu64 " B", f->size);
	if (f->qps > 1 && n > 0 && (size_t)n < cap)
		n += snprintf(out + n, cap - (size_t)n, " x%" PRIu64, f->qps);
	if (f->depth > 1 && n > 0 && (size_t)n < cap)
		n += snprintf(out + n, cap - (size_t)n, " depth %" PRIu64, f->depth);
	if (f->ranks > 2 && n > 0 && (size_t)n < cap)
		snprintf(out + n, cap - (size_t)n, " ranks %" PRIu64, f->ranks);
}

static const char *how_name(enum bf_trial_how how)
{
	return how == BF_TRIAL_RUN ? "run" : how == BF_TRIAL_PHASES ? "phases" : "cannot";
}

static void print_point(const struct tally *t, const struct point *p, const struct bf_figure *f)
{
	struct bf_json *j = t->base.json;

	if (j) {
		bf_json_open(j, NULL, '{');
		bf_json_text(j, "id", p->id);
		bf_json_text(j, "device", p->device);
		bf_json_text(j, "source", p->source);
		bf_json_text(j, "metric", f->metric);
		bf_json_text(j, "what", p->what);
		bf_json_bool(j, "counts", p->counts);
		bf_json_number(j, "published", p->published);
		bf_json_text(j, "unit", f->unit);
		bf_json_text(j, "how", how_name(p->how));
		if (p->ran) {
			bf_json_number(j, "simulated", p->simulated);
			bf_json_number(j, "error_percent", 100 * p->error);
		} else {
			bf_json_text(j, "cannot_be_run", p->why);
		}
		bf_json_close(j, '}');
	} else if (p->ran) {
		printf("%-18s %-26.26s %-44.44s %12.6g %12.6g %-7s %+6.1f %%%s\n", p->id, f->metric, p->what,
		       p->published, p->simulated, f->unit, 100 * p->error,
		       p->how == BF_TRIAL_PHASES ? "  (phases)" : "");
	} else {
		printf("%-18s %-26.26s %-44.44s %12.6g %12s %-7s cannot be run: %s\n", p->id, f->metric, p->what,
		       p->published, "-", f->unit, p->why);
	}
}

static int take(void *tally, struct bf_json_line *l)
{
	struct tally *t = tally;
	struct bf_figure f;
	struct bf_timing_trial trial = { .how = BF_TRIAL_NOT };
	struct point *p = NULL;
	int rc = bf_figure_read(l, &f);

	if (rc == -EBADMSG && f.id[0]) { /* others of the file can be right */
		snprintf(trial.why, sizeof(trial.why), "%.*s", (int)sizeof(trial.why) - 1, l->err->text);
		*l->err = (struct bf_error){ 0 };
		t->base.bad++;
		rc = keep(t, l->err, &p);
	} else if (!rc) {
		rc = keep(t, l->err, &p);
		if (!rc)
			rc = bf_timing_trial_run(&t->model, &f, &trial, l->err);
	}
	if (rc && !p)
		return rc;
	if (rc)
		return bf_fail(l->err, rc, "line %" PRIu32 ", %s: %.150s", l->number, f.id, l->err->text);
	*p = (struct point){ .published = f.value,
			     .simulated = trial.value,
			     .ran = trial.how != BF_TRIAL_NOT,
			     .counts = f.primary && f.confidence != BF_CONFIDENCE_LOW,
			     .how = trial.how };
	memcpy(p->id, f.id, sizeof(p->id));
	memcpy(p->device, f.device, sizeof(p->device));
	memcpy(p->source, f.source, sizeof(p->source));
	memcpy(p->why, trial.why, sizeof(p->why));
	describe(&f, p->what, sizeof(p->what));
	if (p->ran && f.value > 0)
		p->error = trial.value / f.value - 1;
	t->base.taken++;
	print_point(t, p, &f);
	return 0;
}

/* ---- the table ---- */

/* Figures of one source, or of one device (source NULL), that count. */
struct curve {
	const char *device, *source;
	uint64_t all, ran, within;
	double median;
	const struct point *worst;
};

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static bool belongs(const struct curve *c, const struct point *p)
{
	return p->counts && (!c->device || !strcmp(c->device, p->device)) &&
	       (!c->source || !strcmp(c->source, p->source));
}

static void fill(const struct tally *t, struct curve *c)
{
	double *const errors = t->errors;

	for (size_t i = 0; i < t->count; i++) {
		const struct point *p = &t->points[i];

		if (!belongs(c, p))
			continue;
		c->all++;
		if (!p->ran)
			continue;
		errors[c->ran++] = fabs(p->error);
		c->within += fabs(p->error) <= 0.25;
		if (!c->worst || fabs(p->error) > fabs(c->worst->error))
			c->worst = p;
	}
	if (c->ran) {
		qsort(errors, c->ran, sizeof(*errors), by_size);
		c->median = c->ran % 2 ? errors[c->ran / 2] : (errors[c->ran / 2 - 1] + errors[c->ran / 2]) / 2;
	}
}

typedef void curve_fn(void *arg, const struct curve *c);

/* The curves in order of their first figure, device by device; behind each device's the device as a whole. */
static void each_curve(const struct tally *t, curve_fn *fn, void *arg)
{
	for (size_t i = 0; i < t->count; i++) {
		const char *device = t->points[i].device;
		bool seen = false;

		for (size_t k = 0; k < i; k++)
			seen |= !strcmp(t->points[k].device, device);
		for (size_t k = i; !seen && k < t->count; k++) {
			struct curve c = { .device = device, .source = t->points[k].source };
			bool had = strcmp(t->points[k].device, device) != 0;

			for (size_t m = 0; m < k && !had; m++)
				had = !strcmp(t->points[m].device, device) && !strcmp(t->points[m].source, c.source);
			if (had)
				continue;
			fill(t, &c);
			if (c.all)
				fn(arg, &c);
		}
		if (!seen) {
			struct curve whole = { .device = device };

			fill(t, &whole);
			if (whole.all)
				fn(arg, &whole);
		}
	}
}

static void print_curve(void *arg, const struct curve *c)
{
	(void)arg;
	printf("%-7s %-78.78s %4" PRIu64 " %4" PRIu64, c->device, c->source ? c->source : "all of it", c->all, c->ran);
	if (!c->ran)
		printf("        -\n");
	else
		printf(" %6.1f %%  %5.0f %%  %+.0f %% %s\n", 100 * c->median,
		       100.0 * (double)c->within / (double)c->ran, 100 * c->worst->error, c->worst->id);
}

static void print(const void *tally)
{
	const struct tally *t = tally;
	struct curve all = { 0 };

	printf("\n%-7s %-78s %4s %4s %8s  %7s  %s\n", "device", "source (primary figures of high or medium confidence)",
	       "all", "run", "median", "<= 25 %", "worst");
	each_curve(t, print_curve, NULL);
	fill(t, &all);
	printf("\n%zu figures, %" PRIu64 " of them count; %" PRIu64 " were run, median error %.1f %%, %" PRIu64
	       " within 25 %%; %" PRIu64 " cannot be run\n",
	       t->count, all.all, all.ran, 100 * all.median, all.within, all.all - all.ran);
}

static void json_curve(void *arg, const struct curve *c)
{
	struct bf_json *j = arg;

	bf_json_open(j, NULL, '{');
	bf_json_text(j, "device", c->device);
	bf_json_text(j, "source", c->source);
	bf_json_u64(j, "figures", c->all);
	bf_json_u64(j, "run", c->ran);
	if (c->ran) {
		bf_json_number(j, "median_error_percent", 100 * c->median);
		bf_json_u64(j, "within_25_percent", c->within);
		bf_json_text(j, "worst", c->worst->id);
		bf_json_number(j, "worst_error_percent", 100 * c->worst->error);
	}
	bf_json_close(j, '}');
}

static void summary(struct bf_json *j, const void *tally)
{
	const struct tally *t = tally;
	struct curve all = { 0 };

	bf_json_open(j, "curves", '[');
	each_curve(t, json_curve, j);
	bf_json_close(j, ']');
	fill(t, &all);
	bf_json_u64(j, "figures_that_count", all.all);
	bf_json_u64(j, "run", all.ran);
	bf_json_u64(j, "cannot_be_run", all.all - all.ran);
	if (all.ran)
		bf_json_number(j, "median_error_percent", 100 * all.median);
}

static void end(void *tally)
{
	free(((struct tally *)tally)->points);
	free(((struct tally *)tally)->errors);
}

const struct bf_check_form bf_check_timing = {
	.form = { .name = "timing",
		  .details =
		      "FILE is JSON Lines with figures that others published: \"device\", \"metric\", \"op\", "
		      "size, queue pairs, depth, \"hardware\", \"conditions\", \"value\" and \"unit\". Each is "
		      "repeated as an experiment on the model; if that is impossible, the reason is printed. The table "
		      "has the errors of each source. They do not fail the check: the exit code is 0 if all "
		      "figures could be read, 1 if a field could not (docs/timing.md)." },
	.each = "figure",
	.list = "figures",
	.tally_bytes = sizeof(struct tally),
	.begin = begin,
	.take = take,
	.end = end,
	.print = print,
	.summary = summary,
};
