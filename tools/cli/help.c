/* Help texts, from the tables by which options are parsed. */
#include "tools/cli/cli_internal.h"

#include <string.h>

#define HELP_INDENT 28

const char *bf_cli_dashes(const char *name)
{
	return name[1] ? "--" : "-";
}

void bf_cli_wrap(FILE *out, const char *text, unsigned indent, unsigned column)
{
	const unsigned width = bf_cli_columns(out);
	bool first = true;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (!first && column + 1 + word > width) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (!first) {
			putc(' ', out);
			column++;
		}
		column += (unsigned)fprintf(out, "%.*s", (int)word, text);
		first = false;
		text += word;
		text += strspn(text, " ");
	}
	putc('\n', out);
}

static void print_options(FILE *out, const struct bf_opt *o)
{
	for (; o && o->name; o++) {
		bool enumerated = o->kind == BF_OPT_ENUM;
		char head[80], text[1024];

		snprintf(head, sizeof(head), "  %s%s%s%s", bf_cli_dashes(o->name), o->name,
			 o->kind == BF_OPT_FLAG ? ""
			 : o->name[1]           ? "="
						: " ",
			 o->kind == BF_OPT_FLAG ? ""
			 : enumerated           ? "NAME"
						: o->arg);
		fprintf(out, "%-*s", HELP_INDENT, head);
		if (strlen(head) >= HELP_INDENT)
			fprintf(out, "\n%*s", HELP_INDENT, "");
		snprintf(text, sizeof(text), "%s%s%s%s%s%s%s", o->help, enumerated ? ": " : "",
			 enumerated ? o->arg : "", o->kind == BF_OPT_MULTI ? " (may be repeated)" : "",
			 o->initial ? " [" : "", o->initial ? o->initial : "", o->initial ? "]" : "");
		bf_cli_wrap(out, text, HELP_INDENT, HELP_INDENT);
	}
}

/* Paragraphs are filled; lines that begin with a blank, examples, stay as they are. */
static void print_details(FILE *out, const char *text)
{
	char line[2048];
	size_t used = 0;

	for (bool more = true; more;) {
		size_t len = strcspn(text, "\n");
		bool prose = len > 0 && *text != ' ';

		if (used && (!prose || used + len + 2 > sizeof(line))) {
			bf_cli_wrap(out, line, 0, 0);
			used = 0;
		}
		if (prose)
			used += (size_t)snprintf(line + used, sizeof(line) - used, "%s%.*s", used ? " " : "", (int)len,
						 text);
		else
			fprintf(out, "%.*s\n", (int)len, text);
		more = text[len] != '\0';
		text += len + more;
	}
	if (used)
		bf_cli_wrap(out, line, 0, 0);
}

/* "timing: what its FILE is", a paragraph each. */
static void print_forms(const struct bf_command *c)
{
	const struct bf_command_form *f;
	char text[1024];

	for (unsigned i = 0; c->form && (f = c->form(i)) != NULL; i++) {
		snprintf(text, sizeof(text), "%s: %s", f->name, f->details);
		putchar('\n');
		print_details(stdout, text);
	}
}

static void print_form_examples(const struct bf_command *c)
{
	const struct bf_command_form *f;
	bool first = true;

	for (unsigned i = 0; c->form && (f = c->form(i)) != NULL; i++) {
		if (!f->example)
			continue;
		printf("%s%s\n", first ? "\nExamples:\n" : "", f->example);
		first = false;
	}
}

void bf_cli_help(const struct bf_command *c)
{
	printf("%susage:%s belfry %s\n\n%s\n", bf_cli_paint(stdout, BF_PAINT_NAME), bf_cli_paint(stdout, BF_PAINT_NONE),
	       c->usage, c->summary);
	print_forms(c);
	for (unsigned i = 0; c->terms && c->term(i); i++)
		printf("%s%s%s  %s\n", i ? "" : "\n", i ? "" : c->terms, i ? "" : "\n", c->term(i));
	if (c->details) {
		putchar('\n');
		print_details(stdout, c->details);
	}
	print_form_examples(c);
	for (const struct bf_command *const *f = c->families; c->list && *f; f++)
		printf("%s  belfry %s\n", f == c->families ? "\n" : "", (*f)->usage);
	printf("\noptions:\n");
	print_options(stdout, c->options);
	print_options(stdout, bf_cli_common_options);
}

void bf_cli_overview(FILE *out, const struct bf_command *const *commands)
{
	fprintf(out, "belfry runs code that submits work to hardware, without the hardware.\n"
		     "\n"
		     "usage: belfry COMMAND [arguments] [options]\n"
		     "\n"
		     "commands:\n");
	for (; *commands; commands++) {
		fprintf(out, "  %-10s", (*commands)->name);
		bf_cli_wrap(out, (*commands)->summary, 12, 12);
	}
	fprintf(out, "\n'belfry COMMAND --help' describes one; 'belfry --version' names this build; 'belfry man\n"
		     "[COMMAND]' and 'belfry completion bash|zsh|fish' write manual pages and completion scripts.\n"
		     "exit codes: 0 good, 1 the workload or comparison failed, 2 usage or bad input, 3 findings,\n"
		     "77 not available here\n");
}
