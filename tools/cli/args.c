/* Options and arguments of a command, parsed by its table: their values, what is wrong with them, and what they name.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/spell.h"
#include "tools/cli/cli_internal.h"

const struct bf_opt bf_cli_common_options[] = {
	{ .name = "json", .kind = BF_OPT_FLAG, .help = "results as one JSON document on standard output" },
	{ .name = "help", .kind = BF_OPT_FLAG, .help = "this text" },
	{ 0 },
};

/* ---- values ---- */

static const struct bf_arg_value *find_value(const struct bf_args *a, const char *name)
{
	for (const struct bf_opt *o = a->command->options; o && o->name; o++) {
		if (strcmp(o->name, name) == 0)
			return &a->values[o - a->command->options];
	}
	assert(0 && "the command's table has no such option");
	return NULL;
}

const char *bf_arg_text(const struct bf_args *a, const char *name)
{
	return find_value(a, name)->text;
}

uint64_t bf_arg_u64(const struct bf_args *a, const char *name)
{
	return find_value(a, name)->number;
}

bool bf_arg_flag(const struct bf_args *a, const char *name)
{
	return find_value(a, name)->given;
}

bool bf_arg_given(const struct bf_args *a, const char *name)
{
	return find_value(a, name)->given;
}

unsigned bf_arg_count(const struct bf_args *a, const char *name)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->nrepeated; i++)
		n += strcmp(a->repeated[i].opt->name, name) == 0;
	return n;
}

const char *bf_arg_nth(const struct bf_args *a, const char *name, unsigned n)
{
	for (unsigned i = 0; i < a->nrepeated; i++) {
		if (strcmp(a->repeated[i].opt->name, name) == 0 && n-- == 0)
			return a->repeated[i].text;
	}
	return NULL;
}

unsigned bf_arg_positional_count(const struct bf_args *a)
{
	return a->npositional;
}

const char *bf_arg_positional(const struct bf_args *a, unsigned n)
{
	return n < a->npositional ? a->positional[n] : NULL;
}

bool bf_arg_json(const struct bf_args *a)
{
	return a->json;
}

bool bf_arg_known(const struct bf_args *a, const char *name)
{
	for (const struct bf_opt *o = a->command->options; o && o->name; o++)
		if (strcmp(o->name, name) == 0)
			return true;
	return false;
}

const void *bf_arg_own(const struct bf_args *a)
{
	return a->command->own;
}

const struct bf_command *const *bf_arg_families(const struct bf_args *a)
{
	return a->command->families;
}

/* ---- errors ---- */

int bf_cli_report(const char *command, bool json, int code, const char *text)
{
	fflush(stdout);
	fprintf(stderr, "%sbelfry%s%s:%s ", bf_cli_paint(stderr, BF_PAINT_BAD), command ? " " : "",
		command ? command : "", bf_cli_paint(stderr, BF_PAINT_NONE));
	/* Texts quote what was given, and a terminal must not act on that. */
	for (const char *c = text; *c; c++)
		putc((unsigned char)*c < 0x20 || *c == 0x7f ? '?' : *c, stderr);
	putc('\n', stderr);
	if (json) {
		struct bf_json j;

		bf_json_begin(&j, stdout);
		bf_json_open(&j, NULL, '{');
		bf_json_text(&j, "error", text);
		bf_json_u64(&j, "exit", (uint64_t)code);
		bf_json_close(&j, '}');
		bf_json_end(&j);
	}
	return code;
}

int bf_cli_folder(char dir[PATH_MAX])
{
	const ssize_t len = readlink("/proc/self/exe", dir, PATH_MAX - 1);

	if (len <= 0)
		return -errno;
	dir[len] = '\0';
	*strrchr(dir, '/') = '\0';
	return 0;
}

int bf_cli_temporary(const char *what, char path[PATH_MAX])
{
	const char *folder = getenv("TMPDIR");
	int fd;

	if (snprintf(path, PATH_MAX, "%s/belfry-%s.XXXXXX", folder && *folder ? folder : "/tmp", what) >= PATH_MAX)
		return -ENAMETOOLONG;
	fd = mkstemp(path);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

int bf_cli_error(const struct bf_args *a, int code, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	return bf_cli_report(a->command->name, a->json, code, text);
}

/* ---- parsing ---- */

/* Digits in decimal or 0x; `*end` is behind them. -EINVAL when there are none, -ERANGE when too many. */
static int parse_digits(const char *text, uint64_t *out, const char **end)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *first = hex ? text + 2 : text;
	char *stop;

	/* strtoull would also take blanks, signs and a second prefix. */
	if (!strchr(hex ? "0123456789abcdefABCDEF" : "0123456789", *first) || !*first)
		return -EINVAL;
	errno = 0;
	*out = strtoull(first, &stop, hex ? 16 : 10);
	*end = stop;
	return errno == ERANGE ? -ERANGE : 0;
}

static int parse_scaled(const char *text, const char *const *units, const uint64_t *scale, unsigned n, uint64_t *out)
{
	const char *unit;
	int rc = parse_digits(text, out, &unit);

	if (rc)
		return rc;
	for (unsigned i = 0; i < n; i++) {
		if (strcmp(unit, units[i]) != 0)
			continue;
		if (*out > UINT64_MAX / scale[i])
			return -ERANGE;
		*out *= scale[i];
		return 0;
	}
	return -EINVAL;
}

static int parse_u64(const char *text, uint64_t *out)
{
	static const char *const units[] = { "", "K", "M", "G" };
	static const uint64_t scale[] = { 1, 1ull << 10, 1ull << 20, 1ull << 30 };

	return parse_scaled(text, units, scale, 4, out);
}

static int parse_time(const char *text, uint64_t *out)
{
	static const char *const units[] = { "ps", "ns", "us", "ms", "s" };
	static const uint64_t scale[] = { 1, 1000, 1000000, 1000000000, 1000000000000 };

	return parse_scaled(text, units, scale, 5, out);
}

static int parse_enum(const char *choices, const char *text, uint64_t *out)
{
	size_t len = strlen(text);
	uint64_t index = 0;

	for (const char *c = choices; c; index++) {
		const char *bar = strchr(c, '|');
		size_t n = bar ? (size_t)(bar - c) : strlen(c);

		if (n == len && memcmp(c, text, n) == 0) {
			*out = index;
			return 0;
		}
		c = bar ? bar + 1 : NULL;
	}
	return -EINVAL;
}

#define HINT_MAX 64

/* "; did you mean gpu?", or nothing. */
static const char *near_choice(const char *choices, const char *text, char hint[HINT_MAX])
{
	struct bf_spell s = { .word = text, .len = strlen(text) };
	char words[512], *rest = words, *word;

	snprintf(words, sizeof(words), "%s", choices);
	while ((word = strsep(&rest, "|")) != NULL)
		bf_spell_try(&s, word);
	return bf_spell_hint(&s, hint, HINT_MAX);
}

/* Checks `text` against the option's kind and range. A usage error is reported; returns 0 or the exit code. */
static int parse_value(const struct bf_args *a, const struct bf_opt *o, const char *text, uint64_t *number)
{
	const char *dashes = bf_cli_dashes(o->name);
	char hint[HINT_MAX];
	int rc = 0;

	*number = 0;
	if (o->kind == BF_OPT_ENUM && parse_enum(o->arg, text, number))
		return bf_cli_error(a, BF_EXIT_USAGE, "%s%s expects one of %s, got '%s'%s", dashes, o->name, o->arg,
				    text, near_choice(o->arg, text, hint));
	if (o->kind == BF_OPT_U64)
		rc = parse_u64(text, number);
	else if (o->kind == BF_OPT_TIME)
		rc = parse_time(text, number);
	if (rc == -EINVAL && o->kind == BF_OPT_TIME)
		return bf_cli_error(a, BF_EXIT_USAGE, "%s%s expects a time such as 10us (ps, ns, us, ms, s), got '%s'",
				    dashes, o->name, text);
	if (rc == -EINVAL)
		return bf_cli_error(a, BF_EXIT_USAGE, "%s%s expects a number, got '%s'", dashes, o->name, text);
	if (rc == -ERANGE)
		return bf_cli_error(a, BF_EXIT_USAGE, "%s%s: %s does not fit into 64 bits", dashes, o->name, text);
	if (o->kind == BF_OPT_U64 && (o->min || o->max) && (*number < o->min || *number > o->max))
		return bf_cli_error(a, BF_EXIT_USAGE, "%s%s expects %" PRIu64 " to %" PRIu64 ", got %s", dashes,
				    o->name, o->min, o->max, text);
	return 0;
}

static int unknown_option(const struct bf_args *a, const char *dashes, const char *word)
{
	struct bf_spell s = { .word = word, .len = strlen(word) };

	for (const struct bf_opt *o = a->command->options; o && o->name; o++)
		bf_spell_try(&s, o->name);
	for (const struct bf_opt *o = bf_cli_common_options; o->name; o++)
		bf_spell_try(&s, o->name);
	if (s.best)
		return bf_cli_error(a, BF_EXIT_USAGE, "there is no option %s%s; did you mean %s%s?", dashes, word,
				    bf_cli_dashes(s.best), s.best);
	return bf_cli_error(a, BF_EXIT_USAGE, "there is no option %s%s; 'belfry %s %s%s--help' lists them", dashes,
			    word, a->command->name, a->command->prefix ? a->command->prefix : "",
			    a->command->prefix ? " " : "");
}

/* What an option with a value of this kind names is never called nothing. */
static bool is_name(const struct bf_opt *o)
{
	static const char *const names[] = { "FILE", "NAME", "PATH", "DIR" };

	for (unsigned i = 0; i < BF_ARRAY_LEN(names); i++)
		if (strcmp(o->arg, names[i]) == 0)
			return true;
	return false;
}

/*
 * One --name, --name=value or --name value; options of one letter are written with one dash. Moves `*i` past a value of
 * its own word. Returns 0 or the exit code.
 */
static int parse_option(struct bf_args *a, int argc, char **argv, int *i)
{
	const unsigned dashes = argv[*i][1] == '-' ? 2 : 1;
	const char *word = argv[*i] + dashes, *eq = strchr(word, '='), *text = eq ? eq + 1 : NULL;
	size_t len = eq ? (size_t)(eq - word) : strlen(word);
	const struct bf_opt *o = a->command->options;
	struct bf_arg_value *v;

	if (strcmp(argv[*i], "--help") == 0 || strcmp(argv[*i], "-h") == 0) {
		a->help = true;
		return 0;
	}
	if (strcmp(argv[*i], "--json") == 0)
		return 0; /* known since before there was a command to ask */
	while (o && o->name && (strlen(o->name) != len || memcmp(o->name, word, len) != 0))
		o++;
	if ((len == 1) != (dashes == 1))
		o = NULL;
	if (!o || !o->name) {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)(len < sizeof(name) ? len : sizeof(name) - 1), word);
		return unknown_option(a, dashes == 1 ? "-" : "--", name);
	}
	v = &a->values[o - a->command->options];
	if (o->kind == BF_OPT_FLAG) {
		if (eq)
			return bf_cli_error(a, BF_EXIT_USAGE, "--%s takes no value", o->name);
		v->given = true;
		return 0;
	}
	/* What looks like an option is one; a value like that can be written behind '='. */
	if (!text && *i + 1 < argc && strncmp(argv[*i + 1], "--", 2) != 0)
		text = argv[++*i];
	if (!text || (*text == '\0' && is_name(o)))
		return bf_cli_error(a, BF_EXIT_USAGE, "%s%s expects a value: %s", bf_cli_dashes(o->name), o->name,
				    o->arg);
	if (strcmp(text, "-") == 0 && o->name[1] && strcmp(o->arg, "FILE") == 0)
		return bf_cli_error(a, BF_EXIT_USAGE, "--%s expects a file: standard output has the results", o->name);
	if (v->given && o->kind != BF_OPT_MULTI)
		return bf_cli_error(a, BF_EXIT_USAGE, "%s%s is given twice", bf_cli_dashes(o->name), o->name);
	v->given = true;
	v->text = text;
	if (o->kind == BF_OPT_MULTI)
		a->repeated[a->nrepeated++] = (struct bf_arg_repeated){ .opt = o, .text = text };
	return parse_value(a, o, text, &v->number);
}

static int parse_words(struct bf_args *a, int argc, char **argv)
{
	bool options = true;

	for (int i = 0; i < argc; i++) {
		int rc = 0;

		if (options && strcmp(argv[i], "--") == 0)
			options = false;
		else if (options && argv[i][0] == '-' && argv[i][1] != '\0') /* a lone dash is standard input */
			rc = parse_option(a, argc, argv, &i);
		else
			a->positional[a->npositional++] = argv[i];
		if (rc)
			return rc;
	}
	return 0;
}

static int parse_defaults(struct bf_args *a)
{
	for (const struct bf_opt *o = a->command->options; o && o->name; o++) {
		struct bf_arg_value *v = &a->values[o - a->command->options];

		if (!v->given && o->initial) {
			int rc = parse_value(a, o, o->initial, &v->number);

			if (rc)
				return rc;
			v->text = o->initial;
		}
	}
	if (a->npositional < a->command->min_args)
		return bf_cli_error(a, BF_EXIT_USAGE, "an argument is missing: belfry %s", a->command->usage);
	if (a->npositional > a->command->max_args)
		return bf_cli_error(a, BF_EXIT_USAGE, "unexpected argument '%s': belfry %s",
				    a->positional[a->command->max_args], a->command->usage);
	return 0;
}

/* ---- files that are written ---- */

/* The file that an option's text or an argument names; NULL: none that is there. A text may name one behind '@'. */
static const char *names(const char *word, struct stat *st)
{
	const char *path = *word == '@' ? word + 1 : word;

	return stat(path, st) == 0 && S_ISREG(st->st_mode) ? path : NULL;
}

static bool same_file(const char *word, const struct stat *out)
{
	struct stat st;

	return names(word, &st) && st.st_dev == out->st_dev && st.st_ino == out->st_ino;
}

/* Is what option `o` is about to write something that the command was also given to read, or to write? */
static bool also_given(const struct bf_args *a, const struct bf_opt *o, const char *path)
{
	struct stat out;

	for (const struct bf_opt *other = a->command->options; other->name; other++)
		if (other != o && other->kind == BF_OPT_OUT && a->values[other - a->command->options].text &&
		    strcmp(a->values[other - a->command->options].text, path) == 0)
			return true;
	if (!names(path, &out))
		return false;
	for (unsigned i = 0; i < a->npositional; i++)
		if (same_file(a->positional[i], &out))
			return true;
	for (unsigned i = 0; i < a->nrepeated; i++)
		if (same_file(a->repeated[i].text, &out))
			return true;
	for (const struct bf_opt *other = a->command->options; other->name; other++) {
		const char *text = a->values[other - a->command->options].text;

		if (other != o && (other->kind == BF_OPT_TEXT || other->kind == BF_OPT_OUT) && text &&
		    same_file(text, &out))
			return true;
	}
	return false;
}

/* Opening an input for writing would leave nothing to read, and of two outputs at one place one would be lost. */
static int check_outputs(const struct bf_args *a)
{
	for (const struct bf_opt *o = a->command->options; o && o->name; o++) {
		const char *path = a->values[o - a->command->options].text;

		if (o->kind == BF_OPT_OUT && path && also_given(a, o, path))
			return bf_cli_error(
			    a, BF_EXIT_USAGE,
			    "%s%s would overwrite '%s', which this command also reads or writes: another name, please",
			    bf_cli_dashes(o->name), o->name, path);
	}
	return 0;
}

/* ---- the whole ---- */

int bf_cli_args_parse(struct bf_args *a, const struct bf_command *c, int argc, char **argv, bool json)
{
	unsigned noptions = 0;
	int code;

	*a = (struct bf_args){ .command = c, .json = json };
	while (c->options && c->options[noptions].name)
		noptions++;
	/* Each table is as long as the command line at most; one more keeps calloc from returning NULL for none. */
	a->values = calloc(noptions + 1, sizeof(*a->values));
	a->repeated = calloc((size_t)argc + 1, sizeof(*a->repeated));
	a->positional = calloc((size_t)argc + 1, sizeof(*a->positional));
	if (!a->values || !a->repeated || !a->positional)
		return bf_cli_report(c->name, json, BF_EXIT_USAGE, "out of memory");
	code = parse_words(a, argc, argv);
	if (!code && !a->help)
		code = parse_defaults(a);
	if (!code && !a->help)
		code = check_outputs(a);
	return code;
}

void bf_cli_args_free(struct bf_args *a)
{
	free(a->positional);
	free(a->repeated);
	free(a->values);
}
