/*
 * What `belfry fences trial` asks of a program with trials, by its environment: to run one of them with records, or to
 * search it through all runs with delays, under a fault plan that makes a fence weaker. The program is as it always
 * is: whichever function of the harness it calls, the answer goes to a file, too.
 *
 *	BELFRY_TRIAL_ANSWER   the file, which each trial adds a line to: its name, verdict, runs, whether these are all
 *	                      that were asked for, choices of a failing run, why; between tabs
 *	BELFRY_TRIAL          the name of the trial; unset: any. Others are passed over, as good ones
 *	BELFRY_TRIAL_RECORDS  run it once, and write the records here
 *	BELFRY_TRIAL_BOUNDS   otherwise search it: "DELAYS STALLS RUNS"
 *	BELFRY_TRIAL_FAULTS   a fault plan, beside the trial's own
 *	BELFRY_TRIAL_CHOICES  one run of that search
 *	BELFRY_TRIAL_SEED     added to the seed
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/trial/trial_internal.h"
#include "traces/container/trace.h"

static const char *asked(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? text : NULL;
}

/* One line, without what ends fields and lines. */
static void put_field(FILE *out, const char *text)
{
	for (; *text; text++)
		fputc(*text == '\t' || *text == '\n' ? ' ' : *text, out);
	fputc('\t', out);
}

static void answer(const struct bf_trial_spec *spec, const struct bf_trial_covered *c, const struct bf_trial_result *r)
{
	FILE *out = fopen(asked("BELFRY_TRIAL_ANSWER"), "a");
	char why[sizeof(r->finding[0].text) + 80];

	if (!out) {
		perror("BELFRY_TRIAL_ANSWER");
		return;
	}
	if (r->nfindings)
		snprintf(why, sizeof(why), "%s: %s", r->finding[0].rule->id, r->finding[0].text);
	else
		snprintf(why, sizeof(why), "%s", r->reason);
	put_field(out, spec->name ? spec->name : "trial");
	put_field(out, bf_trial_verdict_name(r->verdict));
	fprintf(out, "%" PRIu64 "\t%d\t", r->runs, c->whole);
	put_field(out, c->choices);
	put_field(out, why);
	fputc('\n', out);
	fclose(out);
}

static void watch(const struct bf_trial_spec *spec, const char *path, struct bf_trial_result *r)
{
	struct bf_error err = { 0 };
	struct bf_trace_writer *w;

	if (bf_trace_writer_open(path, NULL, NULL, &w, &err)) {
		fprintf(stderr, "BELFRY_TRIAL_RECORDS: %s\n", err.text);
		return;
	}
	bf_trial_watch(spec, bf_trace_sink(w), r);
	bf_trace_writer_close(w);
}

static void pass_over(struct bf_trial_result *r)
{
	memset(r, 0, sizeof(*r));
	r->ok = true;
	snprintf(r->text, sizeof(r->text), "passed over: another trial is asked for");
}

bool bf_trial_asked(const struct bf_trial_spec *spec, struct bf_trial_result *r)
{
	const char *const wanted = asked("BELFRY_TRIAL"), *const plan = asked("BELFRY_TRIAL_FAULTS");
	const char *const bounds = asked("BELFRY_TRIAL_BOUNDS"), *const seed = asked("BELFRY_TRIAL_SEED");
	struct bf_trial_exhaust_opts opts = { .choices = asked("BELFRY_TRIAL_CHOICES") };
	struct bf_trial_covered covered = { 0 };
	struct bf_trial_spec mine = *spec;
	char faults[4096];

	if (!asked("BELFRY_TRIAL_ANSWER"))
		return false;
	if (wanted && strcmp(wanted, spec->name ? spec->name : "trial") != 0) {
		pass_over(r);
		return true;
	}
	if (plan && mine.world.faults)
		snprintf(faults, sizeof(faults), "%s\n%s", mine.world.faults, plan);
	else if (plan)
		snprintf(faults, sizeof(faults), "%s", plan);
	mine.world.faults = plan ? faults : mine.world.faults;
	mine.world.ordering = BF_ORDER_ADVERSARIAL;
	mine.world.seed += seed ? strtoull(seed, NULL, 0) : 0;
	if (bounds)
		sscanf(bounds, "%" SCNu32 " %" SCNu32 " %" SCNu64, &opts.delays, &opts.stalls, &opts.runs);
	if (asked("BELFRY_TRIAL_RECORDS"))
		watch(&mine, asked("BELFRY_TRIAL_RECORDS"), r);
	else
		bf_trial_exhaust_all(&mine, &opts, &covered, r);
	answer(spec, &covered, r);
	return true;
}
