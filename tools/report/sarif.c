#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "tools/cli/input.h"
#include "tools/report/lint.h"

#define RUN_FAILED "RUN-FAILED"

static void text_member(struct bf_json *j, const char *key, const char *text)
{
	bf_json_open(j, key, '{');
	bf_json_text(j, "text", text);
	bf_json_close(j, '}');
}

/* SARIF's levels have the names of our severities. */
static void rules(struct bf_json *j)
{
	const struct bf_rule_about *r;
	char help[2048];

	bf_json_open(j, "rules", '[');
	for (uint32_t i = 0; (r = bf_rule_at(i)) != NULL; i++) {
		bf_json_open(j, NULL, '{');
		bf_json_text(j, "id", r->id);
		text_member(j, "shortDescription", r->title);
		snprintf(help, sizeof(help), "%s %s", r->hardware, r->wrong);
		text_member(j, "fullDescription", help);
		snprintf(help, sizeof(help), "%s Sources: %s", r->fix, r->sources);
		text_member(j, "help", help);
		bf_json_open(j, "defaultConfiguration", '{');
		bf_json_text(j, "level", bf_severity_name(r->severity));
		bf_json_close(j, '}');
		bf_json_close(j, '}');
	}
	/* What no rule knows needs an id here, too. */
	bf_json_open(j, NULL, '{');
	bf_json_text(j, "id", RUN_FAILED);
	text_member(j, "shortDescription", "the run failed, and no rule knows why");
	text_member(j, "help",
		    "The message has what the run said, what has not happened, and the life of the last entry.");
	bf_json_close(j, '}');
	bf_json_close(j, ']');
}

static uint32_t rule_number(const struct bf_rule_about *rule)
{
	uint32_t i = 0;

	while (bf_rule_at(i) && bf_rule_at(i) != rule)
		i++;
	return i;
}

/* A path as a relative or absolute URI reference. */
static const char *uri(const char *path, char *out, size_t cap)
{
	size_t used = 0;

	for (; *path && used + 4 < cap; path++) {
		const unsigned char c = (unsigned char)*path;

		if (isalnum(c) || strchr("-._~/", c))
			out[used++] = (char)c;
		else
			used += (size_t)snprintf(out + used, cap - used, "%%%02X", c);
	}
	out[used] = '\0';
	return out;
}

/* Reviewers want the line of the driver; where that is not known the trace stands for it. */
static void physical(struct bf_json *j, const struct bf_lint_file *file, uint32_t number, struct bf_sources *sources,
		     const struct bf_place *place)
{
	struct bf_source_line line;
	char text[4096];
	const bool known = place && bf_source_line(sources, place, &line, NULL);

	bf_json_open(j, "physicalLocation", '{');
	bf_json_open(j, "artifactLocation", '{');
	bf_json_text(j, "uri", uri(known ? line.file : file->path, text, sizeof(text)));
	if (!known)
		bf_json_u64(j, "index", number);
	bf_json_close(j, '}');
	if (known) {
		bf_json_open(j, "region", '{');
		bf_json_u64(j, "startLine", (uint64_t)line.line);
		bf_json_close(j, '}');
	}
	bf_json_close(j, '}');
}

static void location(struct bf_json *j, const struct bf_lint_file *file, uint32_t number, const struct bf_found *f,
		     struct bf_sources *sources, const struct bf_place *place)
{
	char text[4096];

	bf_json_open(j, "locations", '[');
	bf_json_open(j, NULL, '{');
	physical(j, file, number, sources, place);
	bf_json_open(j, "logicalLocations", '[');
	bf_json_open(j, NULL, '{');
	if (f->has_index)
		snprintf(text, sizeof(text), "%s[%" PRIu64 "]", f->where, f->index);
	else
		snprintf(text, sizeof(text), "%s", f->where);
	bf_json_text(j, "fullyQualifiedName", text);
	bf_json_text(j, "kind", "resource");
	bf_json_close(j, '}');
	bf_json_close(j, ']');
	bf_json_close(j, '}');
	bf_json_close(j, ']');
}

static void result(struct bf_json *j, const struct bf_lint_file *file, uint32_t number, const struct bf_found *f,
		   struct bf_sources *sources, const struct bf_place *place)
{
	bf_json_open(j, NULL, '{');
	bf_json_text(j, "ruleId", f->rule->id);
	bf_json_u64(j, "ruleIndex", rule_number(f->rule));
	bf_json_text(j, "level", bf_severity_name(f->rule->severity));
	text_member(j, "message", f->text);
	location(j, file, number, f, sources, place);
	if (f->suppressed) {
		bf_json_open(j, "suppressions", '[');
		bf_json_open(j, NULL, '{');
		bf_json_text(j, "kind", "external");
		bf_json_text(j, "justification", f->suppressed);
		bf_json_close(j, '}');
		bf_json_close(j, ']');
	}
	bf_json_open(j, "properties", '{');
	bf_json_bool(j, "root", f->root);
	bf_json_u64(j, "at_ps", f->at_ps);
	bf_json_u64(j, "begin_ps", f->begin_ps);
	bf_json_u64(j, "end_ps", f->end_ps);
	bf_json_u64(j, "first_record", f->first_record);
	bf_json_u64(j, "last_record", f->last_record);
	bf_json_close(j, '}');
	bf_json_close(j, '}');
}

/* A failure that is in no finding; `rule_number(NULL)` is the place behind all rules. */
static void failed_result(struct bf_json *j, const struct bf_lint_file *file, uint32_t number)
{
	char *text = NULL;

	if (asprintf(&text, "%s\n%s", file->failed, file->story) < 0)
		text = NULL;
	bf_json_open(j, NULL, '{');
	bf_json_text(j, "ruleId", RUN_FAILED);
	bf_json_u64(j, "ruleIndex", rule_number(NULL));
	bf_json_text(j, "level", "error");
	text_member(j, "message", text ? text : file->failed);
	bf_json_open(j, "locations", '[');
	bf_json_open(j, NULL, '{');
	physical(j, file, number, NULL, NULL);
	bf_json_close(j, '}');
	bf_json_close(j, ']');
	bf_json_close(j, '}');
	free(text);
}

static void document(struct bf_json *j, const struct bf_lint *l)
{
	struct bf_sources *sources = bf_sources_open();
	char text[4096];
	const struct bf_found *f;

	bf_json_open(j, NULL, '{');
	bf_json_text(j, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	bf_json_text(j, "version", "2.1.0");
	bf_json_open(j, "runs", '[');
	bf_json_open(j, NULL, '{');
	bf_json_open(j, "tool", '{');
	bf_json_open(j, "driver", '{');
	bf_json_text(j, "name", "belfry");
	bf_json_text(j, "version", BELFRY_VERSION);
	rules(j);
	bf_json_close(j, '}');
	bf_json_close(j, '}');
	bf_json_open(j, "artifacts", '[');
	for (uint32_t i = 0; i < l->nfiles; i++) {
		bf_json_open(j, NULL, '{');
		bf_json_open(j, "location", '{');
		bf_json_text(j, "uri", uri(l->files[i].path, text, sizeof(text)));
		bf_json_close(j, '}');
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
	bf_json_open(j, "results", '[');
	for (uint32_t i = 0; i < l->nfiles; i++)
		if (l->files[i].failed)
			failed_result(j, &l->files[i], i);
	for (uint32_t i = 0; i < l->nfiles; i++)
		for (uint32_t k = 0; (f = bf_rules_found(l->files[i].rules, k)) != NULL; k++)
			result(j, &l->files[i], i, f, sources,
			       l->files[i].places ? bf_places_of(l->files[i].places, k) : NULL);
	bf_json_close(j, ']');
	bf_json_close(j, '}');
	bf_json_close(j, ']');
	bf_json_close(j, '}');
	bf_sources_free(sources);
}

int bf_lint_sarif(const struct bf_lint *l, const char *path, struct bf_error *err)
{
	FILE *out = fopen(path, "w");
	struct bf_json j;

	if (!out)
		return bf_fail(err, -errno, "%s: %s", path, strerror(errno));
	bf_json_begin(&j, out);
	document(&j, l);
	bf_json_end(&j);
	return bf_output_close(out, path, err);
}
