/*
 * What workloads of all families do alike with their options: rows of a table that name members of a struct are taken
 * from the command line, put back into one, and told as JSON.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_CHOICE_H
#define BELFRY_TOOLS_WORKLOADS_CHOICE_H

#include "drivers/backend/backend.h"
#include "sim/member.h"
#include "tools/cli/cli.h"

/* A row of struct bf_opt whose value is a member of struct `T`: a number, or (TEXT) a const char *. */
#define BF_OPT_OF(T, oname, okind, oarg, oinitial, ohelp, omin, omax, member)                                          \
	{                                                                                                              \
		.name = oname, .kind = BF_OPT_##okind, .arg = oarg, .initial = oinitial, .help = ohelp, .min = omin,   \
		.max = omax, .offset = offsetof(T, member), .size = sizeof(((T *)0)->member)                           \
	}
/* A text that begins with one of the names that `onames` tells. */
#define BF_OPT_NAMING(T, oname, oarg, oinitial, ohelp, member, onames)                                                 \
	{                                                                                                              \
		.name = oname, .kind = BF_OPT_TEXT, .arg = oarg, .initial = oinitial, .help = ohelp,                   \
		.offset = offsetof(T, member), .size = sizeof(((T *)0)->member), .names = onames                       \
	}
/* One that is asked for by name. */
#define BF_OPT_NAMED(oname, okind, oarg, oinitial, ohelp)                                                              \
	{                                                                                                              \
		.name = oname, .kind = BF_OPT_##okind, .arg = oarg, .initial = oinitial, .help = ohelp                 \
	}
/* The same with what shells complete. */
#define BF_OPT_WORDED(oname, oarg, oinitial, onames, ohelp)                                                            \
	{                                                                                                              \
		.name = oname, .kind = BF_OPT_TEXT, .arg = oarg, .initial = oinitial, .help = ohelp, .names = onames   \
	}
/* What --backend and --records take, for that. */
const char *bf_backend_names(const void *own, uint32_t i);
const char *bf_record_class_names(const void *own, uint32_t i);

/*
 * Words that an option takes, often more than one, each a bit of a member: steps done wrong on purpose (--bug). The
 * table is an array of any struct that has a name (NULL at its end), a summary and a bit.
 */
struct bf_words {
	const char *option;  /* "bug"; several tables may belong to one option */
	const char *heading; /* above them in --list; NULL: another list has them */
	const void *rows;
	size_t stride, name, summary, bit, bytes; /* in a row */
	size_t offset;                            /* in the choices: the member, of `bytes` bytes, too */
	/* Which workloads a row is for, as a list for people; NULL: all. */
	void (*works)(const void *row, char *buf, size_t cap);
};
/* For tables that have no struct of their own. */
struct bf_bug {
	const char *name, *summary;
	uint64_t bit;
};
#define BF_WORDS(option_, heading_, table, row, T, member)                                                             \
	.option = option_, .heading = heading_, .rows = table, .stride = sizeof(row), .name = offsetof(row, name),     \
	.summary = offsetof(row, summary), .bit = offsetof(row, bit), .bytes = sizeof(((row *)0)->bit),                \
	.offset = offsetof(T, member) / (sizeof(((T *)0)->member) == sizeof(((row *)0)->bit))

/* Takes all that the command has among its options from the command line into the struct at `to`. */
void bf_choices_parse(const struct bf_args *args, const struct bf_opt *options, void *to);

/* Appends the numbers, then the texts, that are not at their default to a command line. */
void bf_choices_numbers(const struct bf_opt *options, const void *from, char *buf, size_t cap);
void bf_choices_texts(const struct bf_opt *options, const void *from, char *buf, size_t cap);

/* Appends one option, its value quoted if a shell would take it apart; `value` NULL for a flag. One that does not fit
 * is "...", which no command takes.
 */
void bf_command_append(char *buf, size_t cap, const char *option, const char *value);

/* Each number, then each text that is not at its default, but for a profile, as a member of the open JSON object. */
void bf_choices_json(struct bf_json *j, const struct bf_opt *options, const void *from);

/* Sets the bits of what the command line names; `words` ends with a NULL option. Exit code. */
int bf_words_parse(const struct bf_args *args, const struct bf_words *words, const char *prefix, void *to);
/* The name of row `i` of all tables of an option; NULL past the last. */
const char *bf_words_at(const struct bf_words *words, const char *option, uint32_t i);
void bf_words_command(const struct bf_words *words, const void *from, char *buf, size_t cap);
/* One member for each option, an array of names: "bugs". */
void bf_words_json(struct bf_json *j, const struct bf_words *words, const void *from);
/* For --list. */
void bf_words_print(const struct bf_words *words);
void bf_words_list_json(struct bf_json *j, const struct bf_words *words);

/*
 * The backend that --backend names, if it works here; with "auto" the best for `device` (one of BF_DEVICE_*), which it
 * says on standard error. Exit code.
 */
int bf_choose_backend(const struct bf_args *args, uint32_t device, const struct bf_backend **out);

/*
 * With --agent=cuda: the backend becomes "cuda", if it was "live"; one of a real NIC that reaches a GPU's memory stays.
 * Exit code, which says so when no GPU is here.
 */
int bf_choose_gpu(const struct bf_args *args, const struct bf_backend **backend);

/*
 * With --agent=ptx: the file with the drivers' PTX, `given` or the one beside the program, to `path`; `right`: a run of
 * IBGDA without mistakes, for which there may be one without the switches for them. Exit code, which says so when it is
 * not there or the backend is another than sim.
 */
int bf_choose_ptx(const struct bf_args *args, const struct bf_backend *backend, const char *given, bool right,
		  char *path, size_t cap);

/* A fault plan as options give it, PLAN or @FILE, as text that the caller frees. Not parsed yet. */
int bf_faults_text(const char *option, char **out, struct bf_error *err);

/* The kinds of faults, with which a plan begins, for shells that complete (struct bf_opt). */
const char *bf_fault_names(const void *own, uint32_t i);

/*
 * The text of the fault plan that --faults gives (PLAN or @FILE), parsed once to see that it is one; NULL without.
 * The caller frees it. 0 or a negative errno with `err` set.
 */
int bf_choose_faults(const struct bf_args *args, uint64_t seed, char **out, struct bf_error *err);

/*
 * Looks at the topology in `*text` and whether it has places for `hosts`; NULL for the one ideal switch. 0 or -EINVAL
 * with `err` set.
 */
int bf_check_topology(const char **text, uint32_t hosts, struct bf_error *err);

/* "all", "none" or class names separated by commas ("queue,net"). -EINVAL with `err` set. */
int bf_records_parse(const char *text, uint32_t *mask, struct bf_error *err);

/* Opens the file that --trace names and notes what runs in it; NULL without. 0 or a negative errno with `err` set. */
struct bf_trace_writer;
int bf_begin_trace(const struct bf_args *args, const char *command, struct bf_trace_writer **out, struct bf_error *err);

#endif
