/* belfry rules: what is looked for, by family; one rule in full. */
#include <string.h>

#include "sim/spell.h"
#include "tools/cli/cli.h"
#include "tools/report/findings.h"
#include "traces/evidence/evidence.h"

static void json_rule(struct bf_json *j, const char *key, const struct bf_rule_about *r)
{
	bf_json_open(j, key, '{');
	bf_json_text(j, "id", r->id);
	bf_json_text(j, "family", r->family);
	bf_json_text(j, "severity", bf_severity_name(r->severity));
	bf_json_text(j, "title", r->title);
	bf_json_text(j, "hardware", r->hardware);
	bf_json_text(j, "wrong", r->wrong);
	bf_json_text(j, "fix", r->fix);
	bf_json_text(j, "sources", r->sources);
	bf_json_text(j, "example", r->example);
	bf_json_text(j, "twin", r->twin);
	bf_json_text(j, "test", r->test);
	bf_json_text(j, "why_no_example", r->why);
	bf_json_close(j, '}');
}

static void print_list(void)
{
	const struct bf_rule_about *r;
	const char *family = "";
	unsigned n = 0;

	for (uint32_t i = 0; (r = bf_rule_at(i)) != NULL; i++, n++) {
		if (strcmp(r->family, family) != 0)
			printf("%s%s\n", i ? "\n" : "", r->family);
		family = r->family;
		printf("  %-24s %-8s ", r->id, bf_severity_name(r->severity));
		bf_cli_wrap(stdout, r->title, 36, 36);
	}
	printf("\n%u rules; `belfry rules ID` says all about one\n", n);
}

static void paragraph(const char *head, const char *text)
{
	printf("\n%s\n    ", head);
	bf_cli_wrap(stdout, text, 4, 4);
}

static void print_rule(const struct bf_rule_about *r)
{
	printf("%s (%s, %s): ", r->id, r->family, bf_severity_name(r->severity));
	bf_cli_wrap(stdout, r->title, 4, (unsigned)(strlen(r->id) + strlen(r->family) + 12));
	paragraph("What the hardware does", r->hardware);
	paragraph("What is wrong", r->wrong);
	paragraph("How to do it right", r->fix);
	paragraph("Sources", r->sources);
	if (r->example) {
		printf("\nSmallest example\n    belfry %s\n", r->example);
	} else {
		paragraph("Smallest example", "No command makes this mistake.");
		printf("    ");
		bf_cli_wrap(stdout, r->why, 4, 4);
		printf("    The test %s makes a trace of it.\n", r->test);
	}
	if (r->twin)
		printf("\nThe same done right\n    belfry %s\n", r->twin);
}

/* Rules whose name has the word in it, as far as there is room for them; if none has, the one that is spelt most alike.
 */
static void similar(const char *word, char *text, size_t cap)
{
	struct bf_spell s = { .word = word, .len = strlen(word) };
	const struct bf_rule_about *r;
	size_t n = 0;

	*text = 0;
	for (uint32_t i = 0; (r = bf_rule_at(i)) != NULL; i++) {
		bf_spell_try(&s, r->id);
		if (!strcasestr(r->id, word) || n + strlen(r->id) + 7 > cap)
			continue;
		n += (size_t)snprintf(text + n, cap - n, "%s%s", n ? ", " : ", but ", r->id);
	}
	if (!n)
		bf_spell_hint(&s, text, cap);
}

/* Not a rule's name, but a syndrome, a status or what libraries call it: the rules that it may come from. */
static int rules_of(const struct bf_args *args, const struct bf_meaning *m)
{
	const struct bf_cause_row *cause;
	struct bf_json j;

	if (bf_arg_json(args)) {
		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '[');
	} else {
		printf("%s (%s): ", m->name, m->also);
		bf_cli_wrap(stdout, m->means, 4, (unsigned)(strlen(m->name) + strlen(m->also) + 5));
		printf("\n");
	}
	for (uint32_t i = 0; (cause = bf_meaning_cause(m, i)) != NULL; i++) {
		const struct bf_rule_about *r = cause->rule ? bf_rule_by_id(cause->rule) : NULL;

		if (bf_arg_json(args)) {
			if (r)
				json_rule(&j, NULL, r);
			continue;
		}
		printf("  %-24s ", r ? r->id : "(no rule sees it)");
		bf_cli_wrap(stdout, cause->tell, 27, 27);
	}
	if (bf_arg_json(args)) {
		bf_json_close(&j, ']');
		bf_json_end(&j);
	}
	return BF_EXIT_GOOD;
}

static int run_rules(const struct bf_args *args)
{
	const char *id = bf_arg_positional_count(args) ? bf_arg_positional(args, 0) : NULL;
	const struct bf_rule_about *r = id ? bf_rule_by_id(id) : NULL;
	char others[160];
	struct bf_json j;

	if (id && !r && bf_meaning_find(id))
		return rules_of(args, bf_meaning_find(id));
	if (id && !r) {
		similar(id, others, sizeof(others));
		return bf_cli_error(args, BF_EXIT_USAGE, "there is no rule \"%s\"%s; `belfry rules` lists them", id,
				    others);
	}
	if (!bf_arg_json(args)) {
		if (r)
			print_rule(r);
		else
			print_list();
		return BF_EXIT_GOOD;
	}
	bf_json_begin(&j, stdout);
	if (r) {
		json_rule(&j, NULL, r);
	} else {
		bf_json_open(&j, NULL, '[');
		for (uint32_t i = 0; (r = bf_rule_at(i)) != NULL; i++)
			json_rule(&j, NULL, r);
		bf_json_close(&j, ']');
	}
	bf_json_end(&j);
	return BF_EXIT_GOOD;
}

static const struct bf_opt options[] = { { .name = NULL } };

const struct bf_command bf_cmd_rules = {
	.name = "rules",
	.usage = "rules [ID|STATUS]",
	.summary = "list the rules that `belfry lint` checks, or explain one",
	.details = "Without an argument: all rules by family, with severity and title. With a rule's id: what the "
		   "hardware does, what is wrong, how to do it right, the sources, and commands that show the "
		   "mistake and the correct version. With a syndrome and vendor syndrome (13/88), a type and code of "
		   "status (00/13, 0x2013) or a status by name (RETRY_EXC): the rules that it may come from.\n"
		   "\n"
		   "Examples:\n"
		   "  belfry rules\n"
		   "  belfry rules 13/88\n"
		   "  belfry rules RETRY_EXC\n"
		   "  belfry rules ORDER-INDEX",
	.options = options,
	.min_args = 0,
	.max_args = 1,
	.names = bf_rule_names,
	.run = run_rules,
};
