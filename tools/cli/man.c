/*
 * Manual pages in the man(7) macros, from the same tables as the help. Paragraphs are filled by the formatter; lines
 * that begin with a blank are examples.
 */
#include <ctype.h>
#include <string.h>

#include "tools/cli/cli_internal.h"

/* A dash is a minus that can be copied, a backslash is itself, and no line begins with what roff takes for a request.
 */
static void put_text(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((text[i] == '.' || text[i] == '\'') && (i == 0 || text[i - 1] == '\n'))
			fputs("\\&", stdout);
		if (text[i] == '-')
			fputs("\\-", stdout);
		else if (text[i] == '\\')
			fputs("\\e", stdout);
		else
			putchar(text[i]);
	}
}

static void put_line(const char *text)
{
	put_text(text, strlen(text));
	putchar('\n');
}

static void put_details(const char *text)
{
	bool example = false;

	while (*text) {
		const size_t len = strcspn(text, "\n");

		if (len && (*text == ' ') != example) {
			example = !example;
			puts(example ? ".PP\n.nf" : ".fi");
		}
		if (len)
			put_text(text, len), putchar('\n');
		else if (example || text[1] != ' ') /* examples begin a paragraph of their own */
			puts(".PP");
		text += len + (text[len] != '\0');
	}
	if (example)
		puts(".fi");
}

static void put_options(const struct bf_opt *o)
{
	for (; o && o->name; o++) {
		printf(".TP\n\\fB");
		put_text(bf_cli_dashes(o->name), strlen(bf_cli_dashes(o->name)));
		put_text(o->name, strlen(o->name));
		printf("\\fR");
		if (o->kind != BF_OPT_FLAG)
			printf("%s\\fI%s\\fR", o->name[1] ? "=" : " ", o->kind == BF_OPT_ENUM ? "NAME" : o->arg);
		putchar('\n');
		put_text(o->help, strlen(o->help));
		if (o->kind == BF_OPT_ENUM)
			printf(": "), put_text(o->arg, strlen(o->arg));
		if (o->kind == BF_OPT_MULTI)
			printf("; may be repeated");
		if (o->initial)
			printf("; the default is "), put_text(o->initial, strlen(o->initial));
		putchar('\n');
	}
}

static void put_form(const struct bf_command *c)
{
	const struct bf_command_form *form;

	for (unsigned i = 0; c->form && (form = c->form(i)) != NULL; i++) {
		printf(".PP\n.B ");
		put_line(form->name);
		put_details(form->details);
	}
	if (c->terms) {
		put_details(c->terms);
		puts(".PP\n.nf");
		for (unsigned i = 0; c->term(i); i++)
			put_line(c->term(i));
		puts(".fi\n.PP");
	}
	if (c->details)
		put_details(c->details);
	for (unsigned i = 0; c->form && (form = c->form(i)) != NULL; i++)
		if (form->example)
			put_details(form->example);
	puts(".PP\nOptions:");
	put_options(c->options);
}

static void put_head(const char *name, const char *summary)
{
	printf(".TH ");
	for (const char *n = name; *n; n++)
		putchar(toupper((unsigned char)*n));
	/* Names of commands and options are to be copied: no line breaks inside of them. */
	printf(" 1 \"\" \"belfry %s\" \"Belfry\"\n.nh\n.ad l\n.SH NAME\n", BELFRY_VERSION);
	put_text(name, strlen(name));
	printf(" \\- ");
	put_line(summary);
	puts(".SH SYNOPSIS");
}

static void put_command(const struct bf_command *c)
{
	char name[64];

	snprintf(name, sizeof(name), "belfry-%s", c->name);
	put_head(name, c->summary);
	printf(".B belfry\n");
	put_line(c->usage);
	puts(".SH DESCRIPTION");
	put_form(c);
	put_options(bf_cli_common_options);
	for (const struct bf_command *const *f = c->families; f && *f; f++) {
		printf(".SH \"");
		put_text((*f)->usage, strlen((*f)->usage));
		puts("\"");
		put_line((*f)->summary);
		puts(".PP");
		put_form(*f);
	}
	puts(".SH SEE ALSO\n.BR belfry (1)");
}

static void put_program(const struct bf_command *const *commands)
{
	put_head("belfry", "runs the code that submits work to hardware, with no hardware present");
	puts(".B belfry\n.I COMMAND\n[arguments] [options]\n.SH COMMANDS");
	for (const struct bf_command *const *c = commands; *c; c++) {
		printf(".TP\n.BR belfry\\-%s (1)\n", (*c)->name);
		put_line((*c)->summary);
	}
	puts(".SH EXIT STATUS");
	puts(".TP\n0\ngood\n.TP\n1\nthe workload or comparison failed\n.TP\n2\nusage or bad input\n.TP\n3\nfindings\n"
	     ".TP\n77\nnot available here");
}

void bf_cli_man(const struct bf_command *const *commands, const struct bf_command *c)
{
	if (c)
		put_command(c);
	else
		put_program(commands);
}
