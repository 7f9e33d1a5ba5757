/*
 * Fits the constants of tools/timing/model.h to published figures, and says how well figures are met that it did not
 * see.
 *
 * usage: fit_timing FILE [ROUNDS]
 *
 * Data: the figures of FILE (as `belfry check timing` reads it) that are primary, of high or medium confidence, and can
 * be run. Objective: the sum over figures of |ln(simulated / published)|; a constant that no figure pulls stays where
 * it is (a pull of PRIOR towards it). Method: each experiment is run with each constant a little larger; that gives the
 * slope of ln(value) over ln(constant). With those, one constant after the other goes to the weighted median of what
 * its figures want, until nothing moves; then everything is run again, and the step is halved while it did not help.
 *
 * Left out: first, one figure in FIVE by a hash of its name, when the constants are chosen; it prints both errors.
 * Then, one source at a time: its figures are predicted from constants that were chosen without it. Of figures that
 * stand on constants which no other source constrains (the time in which one library's put returns, say) this tells
 * nothing; they are counted apart.
 *
 * Prints constants in the form of profiles and of tools/timing/software.h. It changes no file.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/member.h"
#include "sim/grow.h"
#include "tools/timing/trial.h"
#include "traces/container/text.h"

#define FIVE 5u
#define PRIOR 0.3
#define NUDGE 1.10    /* of a constant, for its slope */
#define STEP_MOST 1.0 /* of ln(constant), for one round */
#define SWEEPS 80u
#define SLOPES 40u /* constants that one figure may depend on */
#define WORKERS 8u
#define BLOCK 8u /* constants that are tried together first */

struct slope {
	size_t constant;
	double value;
};

struct point {
	struct bf_figure f;
	uint32_t source, twin; /* twin: an earlier point that is the same experiment, or its own number */
	bool held;             /* left out by hash */
	bool ran;
	double value, want; /* ln of simulated and of published */
	struct slope slope[SLOPES];
	uint32_t slopes;
};

struct fit {
	const struct bf_timing_constant *constants;
	size_t nconstants;
	struct point *points;
	size_t npoints;
	char (*sources)[BF_FIGURE_TEXT];
	uint32_t nsources;
	struct bf_timing_model model;
	double *move; /* ln of the factor of each constant */
};

/* ---- reading ---- */

static uint32_t source_of(struct fit *t, const char *name)
{
	for (uint32_t i = 0; i < t->nsources; i++)
		if (!strcmp(t->sources[i], name))
			return i;
	snprintf(t->sources[t->nsources], sizeof(t->sources[0]), "%s", name);
	return t->nsources++;
}

static uint32_t hash_of(const char *text)
{
	uint32_t h = 2166136261u;

	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 16777619u;
	return h;
}

/* Whether the conditions are equal but for what tells repetitions and statistics of one run apart. */
static void essence(const char *conditions, char *out, size_t cap)
{
	static const char *const beside[] = { "\"stat\"", "\"run\"", "\"std_us\"", "\"iters\"", "\"result\"" };
	size_t n = 0;

	for (const char *p = conditions; *p && n + 1 < cap;) {
		bool skip = false;

		for (size_t i = 0; i < BF_ARRAY_LEN(beside); i++)
			skip |= !strncmp(p, beside[i], strlen(beside[i])) && !strstr(p, "\"p9") && !strstr(p, "\"max");
		if (skip)
			while (*p && *p != ',' && *p != '}')
				p++;
		else
			out[n++] = *p++;
	}
	out[n] = '\0';
}

static bool same_experiment(const struct bf_figure *a, const struct bf_figure *b)
{
	char x[BF_FIGURE_LONG], y[BF_FIGURE_LONG];

	if (strcmp(a->device, b->device) || strcmp(a->metric, b->metric) || strcmp(a->op, b->op) ||
	    strcmp(a->hardware, b->hardware) || strcmp(a->unit, b->unit) || strcmp(a->source, b->source))
		return false;
	if (a->size != b->size || a->qps != b->qps || a->depth != b->depth || a->ranks != b->ranks)
		return false;
	/* The least of what a GPU's requests take, and their mean, are different experiments here. */
	if (!strncmp(a->metric, "gpu_initiated", 13))
		return !strcmp(a->conditions, b->conditions);
	essence(a->conditions, x, sizeof(x));
	essence(b->conditions, y, sizeof(y));
	return !strcmp(x, y);
}

/* To where workers write for all. */
static int share_points(struct fit *t, struct bf_error *err)
{
	const size_t bytes = (t->npoints + 1) * sizeof(*t->points);
	void *shared = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (shared == MAP_FAILED)
		return bf_fail(err, -ENOMEM, "no memory");
	if (t->npoints)
		memcpy(shared, t->points, t->npoints * sizeof(*t->points));
	free(t->points);
	t->points = shared;
	return 0;
}

static int read_points(struct fit *t, FILE *f, struct bf_error *err)
{
	struct bf_text_lines lines = { .f = f };
	size_t cap = 0, sources = 0;
	int rc = 0;

	while (!rc && bf_text_line(&lines, err) > 0) {
		struct bf_json_line l = { .start = lines.text,
					  .p = lines.text,
					  .end = lines.text + lines.len,
					  .number = (uint32_t)lines.number,
					  .err = err };
		struct point p = { 0 };

		if (bf_json_line_blank(&l))
			continue;
		rc = bf_json_line_scan(&l);
		if (!rc)
			rc = bf_figure_read(&l, &p.f);
		if (rc || !p.f.primary || p.f.confidence == BF_CONFIDENCE_LOW || p.f.value <= 0)
			continue;
		if (BF_GROW(t->points, cap, t->npoints + 1) || BF_GROW(t->sources, sources, t->nsources + 1))
			return bf_fail(err, -ENOMEM, "no memory");
		p.source = source_of(t, p.f.source);
		p.held = hash_of(p.f.id) % FIVE == 0;
		p.want = log(p.f.value);
		p.twin = (uint32_t)t->npoints;
		for (uint32_t i = 0; i < t->npoints; i++)
			if (same_experiment(&t->points[i].f, &p.f)) {
				p.twin = i;
				break;
			}
		t->points[t->npoints++] = p;
	}
	free(lines.text);
	return rc ? rc : share_points(t, err);
}

/* ---- running ---- */

static bool run(const struct bf_timing_model *m, const struct bf_figure *f, double *value)
{
	struct bf_error err = { 0 };
	struct bf_timing_trial trial;

	if (bf_timing_trial_run(m, f, &trial, &err)) {
		fprintf(stderr, "%s: %s\n", f->id, err.text);
		return false;
	}
	*value = trial.value > 0 ? log(trial.value) : 0;
	return trial.how != BF_TRIAL_NOT && trial.value > 0;
}

static void run_all(struct fit *t)
{
	for (size_t i = 0; i < t->npoints; i++) {
		struct point *p = &t->points[i];

		if (p->twin != i) {
			p->ran = t->points[p->twin].ran;
			p->value = t->points[p->twin].value;
		} else {
			p->ran = run(&t->model, &p->f, &p->value);
		}
	}
}

/* The constant times e^move, rounded, at least 1. */
static void scale(struct bf_timing_model *m, const struct bf_timing_constant *c, double move)
{
	const double was = (double)bf_member_get(m, c->offset, c->size), is = was * exp(move);

	bf_member_set(m, c->offset, c->size, was > 0 ? (uint64_t)(is < 1 ? 1 : is + 0.5) : 0);
}

static double slope_of(const struct fit *t, const struct point *p, size_t c)
{
	struct bf_timing_model m = t->model;
	double value, moved;

	scale(&m, &t->constants[c], log(NUDGE));
	moved = log((double)bf_member_get(&m, t->constants[c].offset, t->constants[c].size)) -
		log((double)bf_member_get(&t->model, t->constants[c].offset, t->constants[c].size));
	if (!(moved > 0) || !run(&m, &p->f, &value))
		return 0;
	return (value - p->value) / moved;
}

static bool concerns(const struct bf_timing_constant *c, const char *device)
{
	return !c->device || !strcmp(c->device, device);
}

static bool any_concerns(const struct fit *t, size_t from, size_t to, const char *device)
{
	for (size_t c = from; c < to; c++)
		if (concerns(&t->constants[c], device))
			return true;
	return false;
}

static bool block_matters(const struct fit *t, const struct point *p, size_t from, size_t to)
{
	struct bf_timing_model m = t->model;
	double value;

	for (size_t c = from; c < to; c++)
		scale(&m, &t->constants[c], log(NUDGE) * (1 + (double)(c - from) / 7));
	return run(&m, &p->f, &value) && fabs(value - p->value) > 1e-9;
}

/* The slopes of every WORKERS-th figure from `first` on that is no other's twin. */
static void slopes_of(const struct fit *t, size_t first)
{
	for (size_t i = first; i < t->npoints; i += WORKERS) {
		struct point *p = &t->points[i];

		p->slopes = 0;
		if (!p->ran || p->twin != i)
			continue;
		for (size_t b = 0; b < t->nconstants; b += BLOCK) {
			const size_t end = b + BLOCK < t->nconstants ? b + BLOCK : t->nconstants;

			if (!any_concerns(t, b, end, p->f.device))
				continue;
			if (!block_matters(t, p, b, end))
				continue;
			for (size_t c = b; c < end && p->slopes < SLOPES; c++) {
				const double s = concerns(&t->constants[c], p->f.device) ? slope_of(t, p, c) : 0;

				if (fabs(s) > 1e-4)
					p->slope[p->slopes++] = (struct slope){ c, s };
			}
		}
	}
}

/* Processes share the points (read_points()). */
static void find_slopes(struct fit *t)
{
	pid_t worker[WORKERS];

	fflush(stdout);
	for (size_t w = 0; w < WORKERS; w++) {
		worker[w] = fork();
		if (worker[w] == 0) {
			slopes_of(t, w);
			_exit(0);
		}
		if (worker[w] < 0)
			slopes_of(t, w);
	}
	for (size_t w = 0; w < WORKERS; w++)
		if (worker[w] > 0)
			waitpid(worker[w], NULL, 0);
	for (size_t i = 0; i < t->npoints; i++) {
		const struct point *twin = &t->points[t->points[i].twin];

		if (twin != &t->points[i])
			memcpy(t->points[i].slope, twin->slope, sizeof(twin->slope));
		t->points[i].slopes = t->points[i].ran ? twin->slopes : 0;
	}
}

/* ---- choosing ---- */

struct wish {
	double at, weight;
};

static int by_place(const void *a, const void *b)
{
	const struct wish *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Whether the point takes part when source `without` (UINT32_MAX: none) is left out, and perhaps those by hash. */
static bool takes_part(const struct point *p, uint32_t without, bool hash)
{
	return p->ran && p->source != without && !(hash && p->held);
}

static double residual(const struct point *p, const double *move)
{
	double r = p->value - p->want;

	for (uint32_t i = 0; i < p->slopes; i++)
		r += p->slope[i].value * move[p->slope[i].constant];
	return r;
}

static double choose_one(const struct fit *t, size_t c, uint32_t without, bool hash, double *move, struct wish *wishes)
{
	double sum = PRIOR, half;
	size_t n = 0;

	wishes[n++] = (struct wish){ 0, PRIOR };
	for (size_t i = 0; i < t->npoints; i++) {
		const struct point *p = &t->points[i];

		if (!takes_part(p, without, hash))
			continue;
		for (uint32_t s = 0; s < p->slopes; s++) {
			if (p->slope[s].constant != c)
				continue;
			wishes[n].weight = fabs(p->slope[s].value);
			wishes[n].at = move[c] - residual(p, move) / p->slope[s].value;
			sum += wishes[n++].weight;
		}
	}
	qsort(wishes, n, sizeof(*wishes), by_place);
	half = sum / 2;
	for (size_t i = 0; i < n; i++) {
		half -= wishes[i].weight;
		if (half <= 0)
			return fmax(-STEP_MOST, fmin(STEP_MOST, wishes[i].at));
	}
	return 0;
}

static void choose(const struct fit *t, uint32_t without, bool hash, double *move)
{
	struct wish *wishes = malloc((t->npoints + 1) * sizeof(*wishes));

	for (size_t c = 0; c < t->nconstants; c++)
		move[c] = 0;
	for (uint32_t sweep = 0; wishes && sweep < SWEEPS; sweep++)
		for (size_t c = 0; c < t->nconstants; c++)
			if (t->constants[c].basis == BF_BASIS_FITTED)
				move[c] = choose_one(t, c, without, hash, move, wishes);
	free(wishes);
}

/* ---- telling ---- */

static int by_number(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median_of(double *v, size_t n)
{
	if (!n)
		return 0;
	qsort(v, n, sizeof(*v), by_number);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Of the points with p->held == `held`, of device `device` (NULL: all). */
static double median_error(const struct fit *t, const char *device, bool held, size_t *n)
{
	double *errors = malloc((t->npoints + 1) * sizeof(*errors)), median;

	*n = 0;
	for (size_t i = 0; errors && i < t->npoints; i++) {
		const struct point *p = &t->points[i];

		if (p->ran && p->held == held && (!device || !strcmp(p->f.device, device)))
			errors[(*n)++] = fabs(exp(p->value - p->want) - 1);
	}
	median = errors ? median_of(errors, *n) : 0;
	free(errors);
	return median;
}

static double objective(const struct fit *t)
{
	double sum = 0;

	for (size_t i = 0; i < t->npoints; i++)
		if (takes_part(&t->points[i], UINT32_MAX, true))
			sum += fabs(t->points[i].value - t->points[i].want);
	return sum;
}

static void tell_device(const struct fit *t, const char *device)
{
	size_t seen, held;
	const double a = median_error(t, device, false, &seen), b = median_error(t, device, true, &held);

	if (seen + held)
		printf("  %-7s %4zu figures seen, median error %5.1f %%; %4zu left out, median error %5.1f %%\n",
		       device ? device : "all", seen, 100 * a, held, 100 * b);
}

static void tell_errors(const struct fit *t, const char *when)
{
	printf("%s: objective %.2f\n", when, objective(t));
	for (size_t i = 0; i < t->npoints; i++) {
		bool told = false;

		for (size_t k = 0; k < i && !told; k++)
			told = !strcmp(t->points[k].f.device, t->points[i].f.device);
		if (!told)
			tell_device(t, t->points[i].f.device);
	}
	tell_device(t, NULL);
}

/* Sources and figures that speak to constant `c`. */
static uint32_t speakers(const struct fit *t, size_t c, uint32_t without, uint32_t *figures)
{
	uint32_t sources = 0, last = UINT32_MAX;

	*figures = 0;
	for (size_t i = 0; i < t->npoints; i++)
		for (uint32_t s = 0; s < t->points[i].slopes && takes_part(&t->points[i], without, false); s++)
			if (t->points[i].slope[s].constant == c && fabs(t->points[i].slope[s].value) > 0.02) {
				++*figures;
				if (t->points[i].source != last)
					sources++;
				last = t->points[i].source;
			}
	return sources;
}

static void tell_constants(const struct fit *t, const struct bf_timing_model *before)
{
	printf("\n%-28s %14s %14s  %s\n", "constant", "before", "after", "constrained by");
	for (size_t c = 0; c < t->nconstants; c++) {
		const struct bf_timing_constant *k = &t->constants[c];
		uint32_t figures, sources = speakers(t, c, UINT32_MAX, &figures);

		printf("%-28s %14" PRIu64 " %14" PRIu64 "  ", k->name, bf_member_get(before, k->offset, k->size),
		       bf_member_get(&t->model, k->offset, k->size));
		if (k->basis != BF_BASIS_FITTED)
			printf("%s: %s\n", "not fitted", k->what);
		else if (!figures)
			printf("nothing: unconstrained\n");
		else
			printf("%u figures of %u sources\n", figures, sources);
	}
}

/* Whether all that the point depends on is also constrained by others than its source. */
static bool predictable(const struct fit *t, const struct point *p)
{
	for (uint32_t s = 0; s < p->slopes; s++) {
		const size_t c = p->slope[s].constant;
		uint32_t figures;

		if (t->constants[c].basis == BF_BASIS_FITTED && fabs(p->slope[s].value) > 0.1 &&
		    !speakers(t, c, p->source, &figures))
			return false;
	}
	return true;
}

static size_t within_quarter(const double *errors, size_t n)
{
	size_t within = 0;

	for (size_t i = 0; i < n; i++)
		within += errors[i] <= 0.25;
	return within;
}

/* The errors of source `s` with constants that the others chose; `*own` counts figures that no other source tells. */
static size_t without_source(struct fit *t, uint32_t s, double *errors, size_t *own)
{
	size_t n = 0;

	*own = 0;
	choose(t, s, false, t->move);
	for (size_t i = 0; i < t->npoints; i++) {
		const struct point *p = &t->points[i];

		if (!p->ran || p->source != s)
			continue;
		if (predictable(t, p))
			errors[n++] = fabs(exp(residual(p, t->move)) - 1);
		else
			++*own;
	}
	return n;
}

static void leave_one_source_out(struct fit *t)
{
	double *all = malloc((t->npoints + 1) * sizeof(*all)), *one = malloc((t->npoints + 1) * sizeof(*one));
	size_t n = 0, own = 0;

	printf("\n%-78s %5s %5s %9s %8s\n", "one source left out at a time", "own", "told", "median", "<= 25 %");
	for (uint32_t s = 0; all && one && s < t->nsources; s++) {
		size_t mine, m = without_source(t, s, one, &mine);

		memcpy(all + n, one, m * sizeof(*one));
		n += m;
		own += mine;
		if (m + mine)
			printf("  %-76.76s %5zu %5zu", t->sources[s], mine, m);
		if (m)
			printf(" %7.1f %% %6.0f %%", 100 * median_of(one, m),
			       100 * (double)within_quarter(one, m) / (double)m);
		if (m + mine)
			printf("\n");
	}
	if (all)
		printf("%zu figures told by other sources, median error %.1f %%, %zu within 25 %%; %zu stand on "
		       "constants that only their own source has\n",
		       n, 100 * median_of(all, n), within_quarter(all, n), own);
	free(all);
	free(one);
}

/* One round: the whole step, or as much of it as helps. */
static void improve(struct fit *t)
{
	const struct bf_timing_model from = t->model;
	const double was = objective(t);
	double part = 1;

	choose(t, UINT32_MAX, true, t->move);
	for (;; part /= 2) {
		t->model = from;
		for (size_t c = 0; c < t->nconstants; c++)
			if (t->constants[c].basis == BF_BASIS_FITTED)
				scale(&t->model, &t->constants[c], t->move[c] * part);
		run_all(t);
		if (objective(t) < was || part < 0.2)
			break;
	}
	if (objective(t) >= was) {
		t->model = from;
		run_all(t);
	}
}

int main(int argc, char **argv)
{
	const unsigned rounds = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 2;
	struct bf_timing_model before;
	struct bf_error err = { 0 };
	struct fit t = { 0 };
	FILE *f = argc > 1 ? fopen(argv[1], "r") : NULL;

	if (!f) {
		fprintf(stderr, "usage: fit_timing FILE [ROUNDS]: FILE has published figures, as belfry check timing "
				"reads them\n");
		return 2;
	}
	t.constants = bf_timing_constants(&t.nconstants);
	t.move = calloc(t.nconstants, sizeof(*t.move));
	bf_timing_model_init(&t.model);
	before = t.model;
	if (!t.move || read_points(&t, f, &err) || !t.npoints) {
		fprintf(stderr, "fit_timing: %s: %s\n", argv[1], err.code ? err.text : "no figure");
		return 2;
	}
	fclose(f);
	run_all(&t);
	tell_errors(&t, "as it stands");
	for (unsigned i = 0; i < rounds; i++) {
		char when[32];

		find_slopes(&t);
		improve(&t);
		snprintf(when, sizeof(when), "round %u", i + 1);
		tell_errors(&t, when);
		fflush(stdout);
	}
	tell_constants(&t, &before);
	leave_one_source_out(&t);
	free(t.sources);
	free(t.move);
	return 0;
}
