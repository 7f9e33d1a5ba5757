/*
 * The frame of `belfry`: find the command, parse its options by its table (args.c), run it. The same tables make the
 * help (help.c), manual pages (man.c) and what shells complete (complete.c).
 */
#include "tools/cli/cli_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "drivers/bootstrap/bootstrap.h"
#include "sim/spell.h"

static const struct bf_command *find_command(const struct bf_command *const *commands, const char *name)
{
	for (; *commands; commands++) {
		if (strcmp((*commands)->name, name) == 0)
			return *commands;
	}
	return NULL;
}

static int unknown_command(const struct bf_command *const *commands, const char *word, bool json)
{
	struct bf_spell s = { .word = word, .len = strlen(word) };
	char text[256];

	for (; *commands; commands++)
		bf_spell_try(&s, (*commands)->name);
	if (s.best)
		snprintf(text, sizeof(text), "there is no command '%.64s'; did you mean '%s'?", word, s.best);
	else
		snprintf(text, sizeof(text), "there is no command '%.64s'; 'belfry help' lists them", word);
	return bf_cli_report(NULL, json, BF_EXIT_USAGE, text);
}

/* The form of `c` that the words ask for: `c` itself when none of its families does. */
static const struct bf_command *form_of(const struct bf_command *c, int argc, char **argv)
{
	for (int i = 0; c->families && i < argc; i++) {
		for (const struct bf_command *const *f = c->families; argv[i][0] != '-' && *f; f++) {
			if (strncmp(argv[i], (*f)->prefix, strlen((*f)->prefix)) == 0)
				return *f;
		}
	}
	return c;
}

/*
 * PEs of IBGDA's own workloads can be spread over processes, and programs under `belfry exec` are processes. Everything
 * else would be done as a whole by each of them, which nobody means who starts several.
 */
static int refuse_ranks(const struct bf_args *a)
{
	const uint32_t ranks = bf_boot_env_ranks();

	if (a->command->ranks || ranks == 1)
		return BF_EXIT_GOOD;
	return bf_cli_error(a, BF_EXIT_USAGE,
			    "cannot be spread over %" PRIu32
			    " processes, each would do all of it; belfry run ibgda-put, "
			    "ibgda-get, ibgda-amo and ibgda-mixed can, and belfry exec and record run in each",
			    ranks);
}

static int run_command(const struct bf_command *c, int argc, char **argv, bool json)
{
	struct bf_args a;
	int code = bf_cli_args_parse(&a, c, argc, argv, json);

	if (!code && a.help)
		bf_cli_help(c);
	else if (!code)
		code = refuse_ranks(&a);
	if (!code && !a.help)
		code = c->run(&a);
	bf_cli_args_free(&a);
	return code;
}

static int print_man(const struct bf_command *const *commands, const char *word, bool json)
{
	const struct bf_command *c = word ? find_command(commands, word) : NULL;

	if (word && !c)
		return unknown_command(commands, word, json);
	bf_cli_man(commands, c);
	return BF_EXIT_GOOD;
}

static int print_completion(const struct bf_command *const *commands, const char *shell, bool json)
{
	if (bf_cli_completion(commands, shell))
		return bf_cli_report("completion", json, BF_EXIT_USAGE, "for which shell? bash, zsh or fish");
	return BF_EXIT_GOOD;
}

static bool wants_json(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--json") == 0)
			return true;
	}
	return false;
}

static int dispatch(const struct bf_command *const *commands, int argc, char **argv)
{
	bool json = wants_json(argc, argv);
	const char *word = argc > 1 ? argv[1] : NULL;
	const struct bf_command *c;

	if (!word) {
		bf_cli_overview(stderr, commands);
		return BF_EXIT_USAGE;
	}
	if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
		printf("belfry %s\n", BELFRY_VERSION);
		return BF_EXIT_GOOD;
	}
	if (strcmp(word, "help") == 0 && argc > 2) {
		c = find_command(commands, argv[2]);
		if (!c)
			return unknown_command(commands, argv[2], json);
		bf_cli_help(c);
		return BF_EXIT_GOOD;
	}
	if ((strcmp(word, "man") == 0 || strcmp(word, "completion") == 0) && argc > 3)
		return bf_cli_report(word, json, BF_EXIT_USAGE, "one word, not more");
	if (strcmp(word, "man") == 0)
		return print_man(commands, argc > 2 ? argv[2] : NULL, json);
	if (strcmp(word, "completion") == 0)
		return print_completion(commands, argc > 2 ? argv[2] : "", json);
	if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
		bf_cli_overview(stdout, commands);
		return BF_EXIT_GOOD;
	}
	c = find_command(commands, word);
	if (!c)
		return unknown_command(commands, word, json);
	return run_command(form_of(c, argc - 2, argv + 2), argc - 2, argv + 2, json);
}

/*
 * Who closed standard output would get results into the first file that we open, and libuv gives up then. What stands
 * in fails like a closed one: it can be opened for the other direction only.
 */
static void hold_standard_streams(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
			_exit(BF_EXIT_USAGE);
	}
}

static void go_on(int number)
{
	(void)number;
}

int bf_cli_main(const struct bf_command *const *commands, int argc, char **argv)
{
	int code;

	hold_standard_streams();
	/* A reader that goes away (belfry dump ... | head) ends us quietly, even when our parent ignores the signal. */
	signal(SIGPIPE, SIG_DFL);
	/*
	 * A file that may not grow (ulimit -f) is an error of the write, which says what was lost. A handler, since
	 * programs that we start have the standard action again, or ignore it as before.
	 */
	if (signal(SIGXFSZ, go_on) == SIG_IGN)
		signal(SIGXFSZ, SIG_IGN);
	/* Processes that belfry launch starts share a terminal: their messages mix line by line, not byte by byte. */
	setvbuf(stderr, NULL, _IOLBF, BUFSIZ);
	code = dispatch(commands, argc, argv);
	if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "belfry: cannot write the output: %s\n", strerror(errno));
		return BF_EXIT_USAGE;
	}
	return code;
}
