/*
 * What shells complete: commands, then their options, then the choices of an option or of the first argument; files
 * everywhere else. Each script is a table of such words, which the shell's own code at its end looks up.
 */
#include <errno.h>
#include <string.h>

#include "tools/cli/cli_internal.h"

/* Words separated by '|' with blanks between, or nothing. */
static void put_words(const char *words)
{
	for (; words && *words; words++)
		putchar(*words == '|' ? ' ' : *words);
}

static void put_names(const char *(*names)(const void *own, uint32_t i), const void *own)
{
	for (uint32_t i = 0; names && names(own, i); i++)
		printf("%s%s", i ? " " : "", names(own, i));
}

static void put_first_words(const struct bf_command *c)
{
	const struct bf_command_form *form;

	put_words(c->words);
	put_names(c->names, c->own);
	for (unsigned i = 0; c->form && !c->files && (form = c->form(i)) != NULL; i++)
		printf("%s%s", i ? " " : "", form->name);
	for (const struct bf_command *const *f = c->families; f && *f; f++) {
		putchar(' ');
		put_words((*f)->words);
	}
}

/* ---- bash and zsh ---- */

static void put_option_names(const struct bf_opt *o)
{
	for (; o && o->name; o++)
		printf("%s%s%s ", bf_cli_dashes(o->name), o->name, o->kind == BF_OPT_FLAG || !o->name[1] ? "" : "=");
}

static void put_choices(const struct bf_command *c, const char *prefix)
{
	for (const struct bf_opt *o = c->options; o && o->name; o++) {
		if (o->kind != BF_OPT_ENUM && !o->names)
			continue;
		printf("\t\t'%s %s'*' --%s') choices='", c->name, prefix, o->name);
		if (o->kind == BF_OPT_ENUM)
			put_words(o->arg);
		put_names(o->names, c->own);
		puts("' ;;");
	}
}

static void put_form_case(const struct bf_command *c, const char *prefix)
{
	printf("\t\t'%s %s'*) options='", c->name, prefix);
	put_option_names(c->options);
	put_option_names(bf_cli_common_options);
	puts("' ;;");
}

/* Families first: the shell takes the first pattern that fits. */
static void put_bash_table(const struct bf_command *const *commands)
{
	puts("\tcase \"$1 $2\" in");
	for (const struct bf_command *const *c = commands; *c; c++) {
		for (const struct bf_command *const *f = (*c)->families; f && *f; f++)
			put_form_case(*f, (*f)->prefix);
		put_form_case(*c, "");
	}
	puts("\tesac\n\tcase \"$1 $2 $3\" in");
	for (const struct bf_command *const *c = commands; *c; c++) {
		for (const struct bf_command *const *f = (*c)->families; f && *f; f++)
			put_choices(*f, (*f)->prefix);
		put_choices(*c, "");
	}
	puts("\tesac\n\tcase \"$1\" in");
	for (const struct bf_command *const *c = commands; *c; c++) {
		printf("\t\t%s) words='", (*c)->name);
		put_first_words(*c);
		puts("' ;;");
	}
	puts("\tesac");
}

static void put_bash(const struct bf_command *const *commands)
{
	puts("# bash completion for belfry. Use: source <(belfry completion bash)\n"
	     "# Sets options, choices and words for a command, its first argument and an option.\n"
	     "_belfry_table()\n{\n\toptions= choices= words=");
	put_bash_table(commands);
	puts("}\n\n_belfry()\n{\n"
	     "\tlocal options choices words cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} first= option= i\n"
	     "\tif [ \"$COMP_CWORD\" -eq 1 ]; then");
	printf("\t\tCOMPREPLY=($(compgen -W '");
	for (const struct bf_command *const *c = commands; *c; c++)
		printf("%s ", (*c)->name);
	puts("help man completion' -- \"$cur\"))\n"
	     "\t\treturn\n\tfi\n"
	     "\tfor ((i = 2; i < COMP_CWORD; i++)); do\n"
	     "\t\tcase ${COMP_WORDS[i]} in\n"
	     "\t\t-* | =) ;;\n"
	     "\t\t*) [ \"${COMP_WORDS[i - 1]}\" = = ] || first=${first:-${COMP_WORDS[i]}} ;;\n"
	     "\t\tesac\n"
	     "\tdone\n"
	     "\t[ \"$cur\" = = ] && cur= && option=${COMP_WORDS[COMP_CWORD - 1]}\n"
	     "\t[ \"${COMP_WORDS[COMP_CWORD - 1]}\" = = ] && option=${COMP_WORDS[COMP_CWORD - 2]}\n"
	     "\t[ -n \"$option\" ] || option=${COMP_WORDS[COMP_CWORD - 1]}\n"
	     "\t_belfry_table \"$command\" \"$first\" \"$option\"\n"
	     "\tif [ -n \"$choices\" ]; then\n"
	     "\t\tCOMPREPLY=($(compgen -W \"$choices\" -- \"$cur\"))\n"
	     "\telif [ \"${cur:0:1}\" = - ]; then\n"
	     "\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	     "\t\t[ \"${COMPREPLY[0]%=}\" = \"${COMPREPLY[0]}\" ] || compopt -o nospace\n"
	     "\telif [ -z \"$first\" ] && [ -n \"${words// /}\" ]; then\n"
	     "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	     "\telse\n"
	     "\t\tCOMPREPLY=($(compgen -f -- \"$cur\"))\n"
	     "\tfi\n}\ncomplete -o filenames -F _belfry belfry");
}

static void put_zsh(const struct bf_command *const *commands)
{
	puts("#compdef belfry\n"
	     "# zsh completion for belfry, by way of bash's. Use: source <(belfry completion zsh)\n"
	     "autoload -U +X bashcompinit && bashcompinit");
	put_bash(commands);
}

/* ---- fish ---- */

static void put_fish_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putchar('\\');
		putchar(*text);
	}
	putchar('\'');
}

static void put_fish_options(const char *command, const struct bf_opt *o, const void *own)
{
	for (; o && o->name; o++) {
		printf("complete -c belfry -n '__fish_seen_subcommand_from %s' -%c %s", command, o->name[1] ? 'l' : 's',
		       o->name);
		if (o->kind == BF_OPT_ENUM) {
			printf(" -x -a '");
			put_words(o->arg);
			putchar('\'');
		} else if (o->names) {
			printf(" -x -a '");
			put_names(o->names, own);
			putchar('\'');
		} else if (o->kind != BF_OPT_FLAG) {
			printf(" -r");
		}
		printf(" -d ");
		put_fish_quoted(o->help);
		putchar('\n');
	}
}

static void put_fish(const struct bf_command *const *commands)
{
	puts("# fish completion for belfry. Use: belfry completion fish | source");
	for (const struct bf_command *const *c = commands; *c; c++) {
		printf("complete -c belfry -f -n __fish_use_subcommand -a %s -d ", (*c)->name);
		put_fish_quoted((*c)->summary);
		printf("\ncomplete -c belfry -n '__fish_seen_subcommand_from %s' -a '", (*c)->name);
		put_first_words(*c);
		puts("'");
		put_fish_options((*c)->name, (*c)->options, (*c)->own);
		for (const struct bf_command *const *f = (*c)->families; f && *f; f++)
			put_fish_options((*f)->name, (*f)->options, (*f)->own);
		put_fish_options((*c)->name, bf_cli_common_options, NULL);
	}
}

int bf_cli_completion(const struct bf_command *const *commands, const char *shell)
{
	if (strcmp(shell, "bash") == 0)
		put_bash(commands);
	else if (strcmp(shell, "zsh") == 0)
		put_zsh(commands);
	else if (strcmp(shell, "fish") == 0)
		put_fish(commands);
	else
		return -EINVAL;
	return 0;
}
