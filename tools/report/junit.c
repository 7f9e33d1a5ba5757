#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tools/cli/input.h"
#include "tools/report/lint.h"

/* XML 1.0 has no other control characters than these three. */
static void xml(FILE *out, const char *text)
{
	for (; *text; text++) {
		const unsigned char c = (unsigned char)*text;

		if (c == '&')
			fputs("&amp;", out);
		else if (c == '<')
			fputs("&lt;", out);
		else if (c == '>')
			fputs("&gt;", out);
		else if (c == '"')
			fputs("&quot;", out);
		else if (c >= 0x20 || c == '\n' || c == '\t' || c == '\r')
			fputc(c, out);
		else
			fputc('?', out);
	}
}

static const char *missing_for(const struct bf_rules *r, const struct bf_rule_about *rule)
{
	const struct bf_unable *u;

	for (uint32_t i = 0; (u = bf_rules_unable(r, i)) != NULL; i++)
		if (u->rule == rule)
			return u->missing;
	return NULL;
}

/* The first finding of a rule that counts as failed, or one that is suppressed. */
static const struct bf_found *finding_of(const struct bf_rules *r, const struct bf_rule_about *rule)
{
	const struct bf_found *f, *suppressed = NULL;

	for (uint32_t i = 0; (f = bf_rules_found(r, i)) != NULL; i++) {
		if (f->rule != rule || rule->severity == BF_SEVERITY_NOTE)
			continue;
		if (!f->suppressed)
			return f;
		suppressed = f;
	}
	return suppressed;
}

static void place(FILE *out, struct bf_sources *sources, const struct bf_place *at)
{
	struct bf_source_line line;

	if (!at || !bf_source_line(sources, at, &line, NULL))
		return;
	xml(out, line.file);
	fprintf(out, ":%d: ", line.line);
}

static void testcase(FILE *out, const struct bf_lint_file *file, const struct bf_rule_about *rule,
		     struct bf_sources *sources)
{
	const struct bf_rules *r = file->rules;
	const struct bf_found *f = finding_of(r, rule);
	const char *missing = missing_for(r, rule);

	fprintf(out, "    <testcase classname=\"belfry.%s\" name=\"%s\" time=\"0\"", rule->family, rule->id);
	if (f && !f->suppressed) {
		fprintf(out, ">\n      <failure type=\"%s\" message=\"", bf_severity_name(rule->severity));
		xml(out, rule->title);
		fputs("\">", out);
		for (uint32_t i = 0; (f = bf_rules_found(r, i)) != NULL; i++)
			if (f->rule == rule) {
				place(out, sources, file->places ? bf_places_of(file->places, i) : NULL);
				fprintf(out, "%s, %" PRIu64 " ps: ", f->where, f->at_ps);
				xml(out, f->text);
				fputc('\n', out);
			}
		xml(out, rule->fix);
		fputs("</failure>\n    </testcase>\n", out);
	} else if (f || missing) {
		fputs(">\n      <skipped message=\"", out);
		xml(out, f ? "suppressed: " : "the trace lacks records: ");
		xml(out, f ? f->suppressed : missing);
		fputs("\"/>\n    </testcase>\n", out);
	} else {
		fputs("/>\n", out);
	}
}

/* The run itself, where its failure has no better name. */
static void run_case(FILE *out, const struct bf_lint_file *file)
{
	fputs("    <testcase classname=\"belfry\" name=\"run\" time=\"0\">\n      <failure type=\"error\" message=\"",
	      out);
	xml(out, file->failed);
	fputs("\">", out);
	xml(out, file->story);
	fputs("</failure>\n    </testcase>\n", out);
}

static void suite(FILE *out, const struct bf_lint_file *file, struct bf_sources *sources)
{
	const struct bf_rule_about *rule;
	uint32_t tests = 0, failures = 0, skipped = 0;
	char name[4200];

	for (; (rule = bf_rules_judging(file->rules, tests)) != NULL; tests++) {
		const struct bf_found *f = finding_of(file->rules, rule);

		failures += f && !f->suppressed;
		skipped += f ? f->suppressed != NULL : missing_for(file->rules, rule) != NULL;
	}
	fputs("  <testsuite name=\"", out);
	xml(out, bf_lint_name(file, name, sizeof(name)));
	fprintf(out,
		"\" tests=\"%" PRIu32 "\" failures=\"%" PRIu32 "\" errors=\"%d\" skipped=\"%" PRIu32 "\" time=\"0\">\n",
		tests + (file->err.code != 0) + (file->failed != NULL), failures + (file->failed != NULL),
		file->err.code != 0, skipped);
	if (file->err.code) {
		fputs("    <testcase classname=\"belfry\" name=\"trace\" time=\"0\">\n      <error message=\"", out);
		xml(out, file->err.text);
		fputs("\"/>\n    </testcase>\n", out);
	}
	if (file->failed)
		run_case(out, file);
	for (uint32_t i = 0; (rule = bf_rules_judging(file->rules, i)) != NULL; i++)
		testcase(out, file, rule, sources);
	fputs("  </testsuite>\n", out);
}

int bf_lint_junit(const struct bf_lint *l, const char *path, struct bf_error *err)
{
	struct bf_sources *sources = bf_sources_open();
	FILE *out = fopen(path, "w");

	if (!out) {
		bf_sources_free(sources);
		return bf_fail(err, -errno, "%s: %s", path, strerror(errno));
	}
	fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"belfry lint\">\n", out);
	for (uint32_t i = 0; i < l->nfiles; i++)
		suite(out, &l->files[i], sources);
	bf_sources_free(sources);
	fputs("</testsuites>\n", out);
	return bf_output_close(out, path, err);
}
