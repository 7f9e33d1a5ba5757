#include "tools/report/findings.h"

#include <inttypes.h>
#include <string.h>

void bf_cause_take(const struct bf_rules *r, struct bf_cause *out)
{
	const struct bf_found *root = bf_rules_root(r);
	const char *fault;
	const uint64_t faults = bf_rules_faults(r, &fault);
	size_t used;

	*out = (struct bf_cause){ 0 };
	if (root) {
		snprintf(out->rule, sizeof(out->rule), "%s", root->rule->id);
		snprintf(out->text, sizeof(out->text), "%s", root->text);
		out->begin_ps = root->begin_ps;
		out->end_ps = root->end_ps;
		out->records = root->last_record - root->first_record + 1;
	}
	used = strlen(out->text);
	if (faults)
		snprintf(out->text + used, sizeof(out->text) - used, "%sthe fault plan fired %" PRIu64 " time%s, %s",
			 used ? "; " : "", faults, faults == 1 ? "" : "s", fault);
}

void bf_cause_print(FILE *out, const struct bf_cause *cause)
{
	const char *name = bf_cli_paint(out, BF_PAINT_NAME), *none = bf_cli_paint(out, BF_PAINT_NONE);

	if (!cause->text[0])
		return;
	fprintf(out, "%scause:%s %s\n", name, none, cause->text);
	if (cause->rule[0])
		fprintf(out, "%srule:%s %s\n", name, none, cause->rule);
}

void bf_cause_json(struct bf_json *j, const struct bf_cause *cause)
{
	bf_json_open(j, "cause", '{');
	if (cause->rule[0])
		bf_json_text(j, "rule", cause->rule);
	bf_json_text(j, "text", cause->text);
	bf_json_u64(j, "begin_ps", cause->begin_ps);
	bf_json_u64(j, "end_ps", cause->end_ps);
	bf_json_u64(j, "records", cause->records);
	bf_json_close(j, '}');
}

/* The line of the driver's code, or as much as is known of it. */
static void print_place(FILE *out, struct bf_sources *sources, const struct bf_place *place)
{
	struct bf_source_line line;
	const char *why;

	if (!place)
		return;
	if (bf_source_line(sources, place, &line, &why))
		fprintf(out, "    %s %s:%d%s%s\n", place->exact ? "at" : "after", line.file, line.line,
			line.function[0] ? " in " : "", line.function);
	else
		fprintf(out, "    %s %s+0x%" PRIx64 " (no line: %s)\n", place->exact ? "at" : "after", place->path,
			place->offset, why);
}

static void print_found(FILE *out, const struct bf_found *f, bool consequence)
{
	const enum bf_severity severity = f->rule->severity;

	fprintf(out, "%s%s:%s %s%s [%s] at %s, %" PRIu64 " ps\n",
		bf_cli_paint(out, severity == BF_SEVERITY_ERROR     ? BF_PAINT_BAD
				  : severity == BF_SEVERITY_WARNING ? BF_PAINT_WARN
								    : BF_PAINT_NAME),
		bf_severity_name(severity), bf_cli_paint(out, BF_PAINT_NONE), f->rule->id,
		f->root       ? ", the root cause"
		: consequence ? ", a consequence"
			      : "",
		f->rule->title, f->where, f->at_ps);
	fputs("    ", out);
	bf_cli_wrap(out, f->text, 4, 4);
	if (f->more)
		fprintf(out, "    and %" PRIu64 " more there\n", f->more);
	if (f->suppressed)
		fprintf(out, "    suppressed: %s\n", f->suppressed);
}

#define SHOWN 3u /* findings of one rule in full; then come their places */
#define NAMED 6u

static bool alike(const struct bf_found *a, const struct bf_found *b)
{
	return a->rule == b->rule && !a->suppressed == !b->suppressed;
}

static uint32_t alike_before(const struct bf_rules *r, uint32_t i)
{
	uint32_t n = 0;

	for (uint32_t k = 0; k < i; k++)
		n += alike(bf_rules_found(r, k), bf_rules_found(r, i));
	return n;
}

/* What else the rule of finding `i` has found behind it. */
static void print_rest(FILE *out, const struct bf_rules *r, uint32_t i)
{
	const struct bf_found *named[NAMED];
	uint32_t n = 0, places = 0;

	for (uint32_t k = i + 1; k < bf_rules_count(r); k++) {
		const struct bf_found *f = bf_rules_found(r, k);
		uint32_t same = 0;

		if (!alike(f, bf_rules_found(r, i)))
			continue;
		n++;
		while (same < places && same < NAMED && strcmp(named[same]->where, f->where))
			same++;
		if (same == places && places < NAMED)
			named[places] = f;
		places += same == places || same == NAMED;
	}
	if (!n)
		return;
	fprintf(out, "    and %" PRIu32 " more of these at ", n);
	for (uint32_t k = 0; k < places && k < NAMED; k++)
		fprintf(out, "%s%s", k ? ", " : "", named[k]->where);
	fputs(places > NAMED ? ", ...\n" : "\n", out);
}

/* Is `word` among the words of `list`? */
static bool has_word(const char *list, const char *word, size_t len)
{
	for (; *list; list += strspn(list, " ")) {
		const size_t n = strcspn(list, " ");

		if (n == len && memcmp(list, word, len) == 0)
			return true;
		list += n;
	}
	return false;
}

/* All rules that could not judge in one line, with the records that they lack, each once. */
static void print_unable(FILE *out, const struct bf_rules *r)
{
	char lack[1024] = "";
	const struct bf_unable *u;
	size_t used = 0;
	uint32_t n = 0;

	for (; (u = bf_rules_unable(r, n)) != NULL; n++) {
		for (const char *w = u->missing; *w; w += strspn(w, " ")) {
			const size_t len = strcspn(w, " ");

			if (!has_word(lack, w, len) && used + len + 2 < sizeof(lack))
				used += (size_t)snprintf(lack + used, sizeof(lack) - used, "%s%.*s", used ? " " : "",
							 (int)len, w);
			w += len;
		}
	}
	fprintf(out, "cannot judge: %" PRIu32 " rules (belfry lint --unjudged lists them), for lack of records %s\n", n,
		lack);
}

void bf_findings_print(FILE *out, const struct bf_rules *r, struct bf_places *places, bool unjudged)
{
	struct bf_sources *sources = places ? bf_sources_open() : NULL;
	const char *fault;
	const uint64_t faults = bf_rules_faults(r, &fault);
	const struct bf_unable *u;

	for (uint32_t i = 0; i < bf_rules_count(r); i++) {
		const struct bf_found *f = bf_rules_found(r, i);
		const uint32_t before = alike_before(r, i);

		if (before >= SHOWN)
			continue;
		print_found(out, f, bf_rules_root(r) && f->rule->severity == BF_SEVERITY_ERROR && !f->suppressed);
		if (places)
			print_place(out, sources, bf_places_of(places, i));
		if (before + 1 == SHOWN)
			print_rest(out, r, i);
	}
	bf_sources_free(sources);
	if (faults)
		fprintf(out, "the fault plan fired %" PRIu64 " time%s, %s\n", faults, faults == 1 ? "" : "s", fault);
	/* One is as short by itself. */
	unjudged = unjudged || !bf_rules_unable(r, 1);
	for (uint32_t i = 0; unjudged && (u = bf_rules_unable(r, i)) != NULL; i++)
		fprintf(out, "cannot judge: %s, for lack of records %s\n", u->rule->id, u->missing);
	if (!unjudged)
		print_unable(out, r);
	for (uint32_t i = 0; bf_rules_unjudged(r, i); i++)
		fprintf(out, "no rule knows the device %s: nobody has judged what it did\n", bf_rules_unjudged(r, i));
}

static void json_place(struct bf_json *j, struct bf_sources *sources, const struct bf_place *place)
{
	struct bf_source_line line;

	if (!place)
		return;
	bf_json_open(j, "code", '{');
	bf_json_bool(j, "exact", place->exact);
	bf_json_text(j, "image", place->path);
	bf_json_hex(j, "offset", place->offset);
	if (bf_source_line(sources, place, &line, NULL)) {
		bf_json_text(j, "file", line.file);
		bf_json_u64(j, "line", (uint64_t)line.line);
		if (line.function[0])
			bf_json_text(j, "function", line.function);
	}
	bf_json_close(j, '}');
}

static void json_found(struct bf_json *j, const struct bf_found *f, struct bf_sources *sources,
		       const struct bf_place *place)
{
	bf_json_open(j, NULL, '{');
	bf_json_text(j, "rule", f->rule->id);
	bf_json_text(j, "severity", bf_severity_name(f->rule->severity));
	bf_json_text(j, "title", f->rule->title);
	bf_json_bool(j, "root", f->root);
	if (f->suppressed)
		bf_json_text(j, "suppressed", f->suppressed);
	bf_json_text(j, "where", f->where);
	if (f->has_index)
		bf_json_u64(j, "index", f->index);
	bf_json_u64(j, "at_ps", f->at_ps);
	bf_json_u64(j, "begin_ps", f->begin_ps);
	bf_json_u64(j, "end_ps", f->end_ps);
	bf_json_u64(j, "first_record", f->first_record);
	bf_json_u64(j, "last_record", f->last_record);
	bf_json_u64(j, "more", f->more);
	bf_json_text(j, "text", f->text);
	json_place(j, sources, place);
	bf_json_close(j, '}');
}

void bf_findings_json(struct bf_json *j, const struct bf_rules *r, struct bf_places *places)
{
	struct bf_sources *sources = places ? bf_sources_open() : NULL;
	const struct bf_found *root = bf_rules_root(r);
	const struct bf_unable *u;
	const char *fault;

	bf_json_text(j, "root", root ? root->rule->id : NULL);
	bf_json_open(j, "findings", '[');
	for (uint32_t i = 0; i < bf_rules_count(r); i++)
		json_found(j, bf_rules_found(r, i), sources, places ? bf_places_of(places, i) : NULL);
	bf_sources_free(sources);
	bf_json_close(j, ']');
	bf_json_open(j, "unable", '[');
	for (uint32_t i = 0; (u = bf_rules_unable(r, i)) != NULL; i++) {
		bf_json_open(j, NULL, '{');
		bf_json_text(j, "rule", u->rule->id);
		bf_json_text(j, "missing", u->missing);
		bf_json_close(j, '}');
	}
	bf_json_close(j, ']');
	bf_json_open(j, "unknown", '[');
	for (uint32_t i = 0; bf_rules_unjudged(r, i); i++)
		bf_json_text(j, NULL, bf_rules_unjudged(r, i));
	bf_json_close(j, ']');
	bf_json_u64(j, "faults", bf_rules_faults(r, &fault));
}

const char *bf_rule_names(const void *own, uint32_t i)
{
	(void)own;
	return bf_rule_at(i) ? bf_rule_at(i)->id : NULL;
}
