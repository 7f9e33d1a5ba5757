/*
 * What the subcommands of `belfry` share: options from a table (which also makes the help text), exit codes, JSON
 * output, progress on a terminal.
 *
 * One file a subcommand: commands/NAME.c defines `const struct bf_command bf_cmd_NAME`, listed in program.c.
 */
#ifndef BELFRY_TOOLS_CLI_CLI_H
#define BELFRY_TOOLS_CLI_CLI_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/error.h"

enum {
	BF_EXIT_GOOD = 0,
	BF_EXIT_FAILED = 1,       /* the workload or comparison failed */
	BF_EXIT_USAGE = 2,        /* usage or bad input */
	BF_EXIT_FINDINGS = 3,     /* rules found something */
	BF_EXIT_UNAVAILABLE = 77, /* backend or feature not available here */
};

enum bf_opt_kind {
	BF_OPT_FLAG,  /* --json */
	BF_OPT_TEXT,  /* --net NAME */
	BF_OPT_OUT,   /* --trace FILE: text, a file that the command writes; never one that it reads */
	BF_OPT_U64,   /* decimal or 0x, with optional suffix K, M, G (binary); range-checked */
	BF_OPT_TIME,  /* 10us; value in ps */
	BF_OPT_ENUM,  /* one of `choices`, separated by '|' ; value = index */
	BF_OPT_MULTI, /* text, may be given several times */
};

struct bf_opt {
	const char *name; /* "seed": --seed=1 or --seed 1 */
	enum bf_opt_kind kind;
	const char *arg;     /* "N", "FILE": shown in help; ENUM: the choices */
	const char *initial; /* default as text, NULL = none */
	const char *help;
	uint64_t min, max; /* U64; both 0: any */
	/* The member that takes the value (tools/workloads/choice.h); size 0: the command asks for it by name. */
	size_t offset, size;
	/* For shells that complete: what it may name, NULL past the last. `own` is the command's. May be NULL. */
	const char *(*names)(const void *own, uint32_t i);
};

struct bf_args; /* opaque: parsed options and positional arguments */

/* A form of a command, which its first argument or an option names: "check timing", "diff --queues". */
struct bf_command_form {
	const char *name;
	const char *details; /* a paragraph for --help */
	const char *example; /* lines for the end of --help, "belfry check ..."; may be NULL */
};

struct bf_command {
	const char *name;
	const char *usage;                      /* "run WORKLOAD [options]" */
	const char *summary;                    /* one line */
	const char *details;                    /* paragraphs for --help, examples included; may be NULL */
	const struct bf_opt *options;           /* ends with name NULL; --help and --json are added to every command */
	unsigned min_args, max_args;            /* positional */
	int (*run)(const struct bf_args *args); /* returns an exit code */
	/*
	 * Forms of this command with options of their own, NULL-terminated: the one whose `prefix` the first word that
	 * is not an option begins with takes over ("run ring-copy": prefix "ring-"), the first one that fits. A family
	 * has the command's name.
	 */
	const struct bf_command *const *families;
	const char *prefix;
	bool list;  /* --help lists the families */
	bool ranks; /* may be one of several processes that were started together; the others would each do all of it */
	/* What the first argument may be, separated by '|', for shells that complete; NULL: a file, or nothing. */
	const char *words;
	/* The same one by one, NULL past the last; `own` is the one below. May be NULL. */
	const char *(*names)(const void *own, uint32_t i);
	/* Its forms, which bring their own words; NULL past the last. May be NULL. */
	const struct bf_command_form *(*form)(unsigned i);
	const char *terms;               /* a line for --help above what term() gives: "WHAT is one of"; may be NULL */
	const char *(*term)(unsigned i); /* "ring0.r0:9    an entry", NULL past the last */
	bool files;                      /* its forms are of files: the first argument is no word */
	const void *own;                 /* what `run` is of, for commands that share one; bf_arg_own() */
};

/* Values. Asking for an option that the table lacks is our own bug (assert). */
const char *bf_arg_text(const struct bf_args *a, const char *name); /* NULL when not given and no default */
uint64_t bf_arg_u64(const struct bf_args *a, const char *name);     /* U64, TIME, ENUM index */
bool bf_arg_flag(const struct bf_args *a, const char *name);
bool bf_arg_given(const struct bf_args *a, const char *name);
unsigned bf_arg_count(const struct bf_args *a, const char *name);              /* MULTI */
const char *bf_arg_nth(const struct bf_args *a, const char *name, unsigned n); /* MULTI */
unsigned bf_arg_positional_count(const struct bf_args *a);
const char *bf_arg_positional(const struct bf_args *a, unsigned n);
bool bf_arg_json(const struct bf_args *a);
/* Whether the command's table has that option at all. */
bool bf_arg_known(const struct bf_args *a, const char *name);
const void *bf_arg_own(const struct bf_args *a);                          /* of the command */
const struct bf_command *const *bf_arg_families(const struct bf_args *a); /* of the command; NULL: it has none */

/* "belfry run: TEXT" on stderr (with --json also as {"error": ...} on stdout); returns `code`. */
int bf_cli_error(const struct bf_args *a, int code, const char *fmt, ...) BF_PRINTF(3, 4);

/* The folder that this program lies in. 0, or -errno. */
int bf_cli_folder(char dir[PATH_MAX]);

/* An empty file in TMPDIR, with `what` in its name, for the caller to unlink. 0 or a negative errno. */
int bf_cli_temporary(const char *what, char path[PATH_MAX]);

/* Columns of a terminal, 60 to 160; of anything else BF_CLI_COLUMNS, so that what is kept does not depend on it. */
#define BF_CLI_COLUMNS 100u
unsigned bf_cli_columns(FILE *out);

/* Colours on a terminal that has them, unless NO_COLOR is set; "" otherwise. BF_PAINT_NONE ends one. */
enum bf_paint { BF_PAINT_NONE, BF_PAINT_BAD, BF_PAINT_WARN, BF_PAINT_GOOD, BF_PAINT_NAME };
const char *bf_cli_paint(FILE *out, enum bf_paint paint);

/* How a run ended: in the colour of `good`, without a newline. */
void bf_cli_put_verdict(FILE *out, const char *verdict, bool good);

/* Writes `text` and a newline from column `column` on, broken between words at the last column, the rest at `indent`.
 */
void bf_cli_wrap(FILE *out, const char *text, unsigned indent, unsigned column);

/*
 * Runs what the command line asks for: `commands` ends with NULL. Prints help and version texts, reports usage errors
 * and text that could not be written; returns the exit code. One call per process: it sets what SIGPIPE does.
 */
int bf_cli_main(const struct bf_command *const *commands, int argc, char **argv);

/*
 * A streaming JSON writer: commas, escapes and nesting are its business. Numbers above 2^53 are written as strings;
 * bytes that are not UTF-8 come out as U+FFFD.
 */
struct bf_json {
	FILE *out;
	unsigned depth;
	bool comma;
};
void bf_json_begin(struct bf_json *j, FILE *out);
void bf_json_open(struct bf_json *j, const char *key, char bracket);      /* '{' or '['; key NULL inside arrays */
void bf_json_close(struct bf_json *j, char bracket);                      /* '}' or ']' */
void bf_json_text(struct bf_json *j, const char *key, const char *value); /* NULL: null */
void bf_json_u64(struct bf_json *j, const char *key, uint64_t value);
void bf_json_number(struct bf_json *j, const char *key, double value); /* six digits; null when it is none */
void bf_json_hex(struct bf_json *j, const char *key, uint64_t value);  /* "0x..." */
void bf_json_bool(struct bf_json *j, const char *key, bool value);
void bf_json_end(struct bf_json *j); /* newline */

/* True when standard error is a terminal that knows how to go back and erase. */
bool bf_cli_redraws(void);

/* Progress: a line that is redrawn on a terminal (stderr), with the time that is left; nothing in a pipe or with
 * --json. */
struct bf_progress {
	bool on;
	uint64_t begun_ms, last_ms;
	const char *what;
};
void bf_progress_begin(struct bf_progress *p, const struct bf_args *a, const char *what);
void bf_progress_update(struct bf_progress *p, uint64_t done, uint64_t total);
void bf_progress_end(struct bf_progress *p);

#endif
