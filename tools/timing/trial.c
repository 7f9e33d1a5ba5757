#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tools/timing/trial_internal.h"

static const struct bf_trial_rule *const tables[] = { bf_trials_rdma,   bf_trials_gpu,  bf_trials_ep, bf_trials_storage,
						      bf_trials_copier, bf_trials_pcie, bf_trials_sm };

int bf_trial_cannot(struct bf_timing_trial *t, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(t->why, sizeof(t->why), fmt, args);
	va_end(args);
	t->how = BF_TRIAL_NOT;
	return 0;
}

bool bf_trial_says(const struct bf_timing_trial *t, const char *word)
{
	return bf_figure_says(t->figure->hardware, word) || bf_figure_says(t->figure->op, word) ||
	       bf_figure_says(t->figure->conditions, word);
}

bool bf_trial_condition(const struct bf_timing_trial *t, const char *name, const char *word)
{
	char text[BF_FIGURE_TEXT];

	return bf_figure_condition(t->figure, name, text, sizeof(text)) && bf_figure_says(text, word);
}

struct unit {
	const char *name;
	double scale; /* of ps to a time's unit; of things, or bytes, per ps to a rate's */
	bool bytes;
};
static const struct unit times[] = {
	{ "ps", 1, false }, { "ns", 1e-3, false }, { "us", 1e-6, false }, { "ms", 1e-9, false }, { "s", 1e-12, false }
};
static const struct unit rates[] = {
	{ "Mops/s", 1e6, false },
	{ "Gop/s", 1e3, false },
	{ "ops/s", 1e12, false },
	{ "IO/s", 1e12, false },
	{ "IOPS", 1e12, false },
	{ "KIOPS", 1e9, false },
	{ "B/s", 1e12, true },
	{ "MB/s", 1e6, true },
	{ "GB/s", 1e3, true },
	{ "TB/s", 1, true },
	{ "Mb/s", 8e6, true },
	{ "Gb/s", 8e3, true },
	{ "MiB/s", 1e12 / 1048576, true },
	{ "GiB/s", 1e12 / 1073741824, true },
};

int bf_trial_time(struct bf_timing_trial *t, enum bf_trial_how how, double ps)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(times); i++)
		if (!strcmp(times[i].name, t->figure->unit)) {
			t->value = ps * times[i].scale;
			t->how = how;
			return 0;
		}
	return bf_trial_cannot(t, "\"%s\" is not a unit of a time", t->figure->unit);
}

int bf_trial_rate(struct bf_timing_trial *t, enum bf_trial_how how, double ps, double bytes)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(rates); i++)
		if (!strcmp(rates[i].name, t->figure->unit)) {
			if (rates[i].bytes && bytes <= 0)
				return bf_trial_cannot(t, "a rate in %s needs a size", t->figure->unit);
			t->value = (rates[i].bytes ? bytes : 1) * rates[i].scale / ps;
			t->how = how;
			return 0;
		}
	return bf_trial_cannot(t, "\"%s\" is not a unit of a rate", t->figure->unit);
}

/* What is rare is not in a model that has no noise. */
static bool is_tail(const struct bf_timing_trial *t)
{
	static const char *const tails[] = { "p95", "p99", "p99.9", "p99.999", "max", "maximum" };
	char stat[32];

	for (size_t i = 0; i < BF_ARRAY_LEN(tails); i++)
		if (bf_figure_condition(t->figure, "stat", stat, sizeof(stat)) && !strcmp(stat, tails[i]))
			return true;
	return bf_figure_says(t->figure->metric, "latency_p9") || bf_figure_says(t->figure->metric, "latency_max");
}

static const struct bf_trial_rule *find(const struct bf_figure *f, bool *device)
{
	for (size_t i = 0; i < BF_ARRAY_LEN(tables); i++)
		for (const struct bf_trial_rule *r = tables[i]; r->device; r++) {
			if (strcmp(r->device, f->device) != 0)
				continue;
			*device = true;
			if (!strcmp(r->metric, f->metric) && (!r->op || bf_figure_says(f->op, r->op)))
				return r;
		}
	return NULL;
}

int bf_timing_trial_run(const struct bf_timing_model *m, const struct bf_figure *f, struct bf_timing_trial *t,
			struct bf_error *err)
{
	bool device = false;
	const struct bf_trial_rule *r = find(f, &device);

	*t = (struct bf_timing_trial){ .model = m, .figure = f, .err = err };
	if (!device)
		return bf_trial_cannot(t, "there is no model of \"%s\"", f->device);
	if (is_tail(t))
		return bf_trial_cannot(t, "a tail: the models have no noise");
	if (!r)
		return bf_trial_cannot(t, "no experiment for \"%s\" of \"%.80s\"", f->metric, f->op);
	return r->run ? r->run(t) : bf_trial_cannot(t, "%s", r->cannot);
}
