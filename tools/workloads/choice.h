/*
 * What workloads of different devices do alike with their options: a table of numeric choices that are members of a
 * struct, taken from the command line, put back into one, and told as JSON.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_CHOICE_H
#define BELFRY_TOOLS_WORKLOADS_CHOICE_H

#include "drivers/backend/backend.h"
#include "sim/member.h"
#include "tools/cli/cli.h"

/* One option and the member that holds it. */
struct bf_choice {
	const char *name;
	enum bf_opt_kind kind;
	const char *choices; /* ENUM */
	const char *initial; /* as bf_choices_command() prints it */
	size_t offset, size;
};

/* Takes all of them from the command line into the struct at `to`. */
void bf_choices_parse(const struct bf_args *args, const struct bf_choice *c, size_t n, void *to);

/* Appends those that are not at their default to a command line. */
void bf_choices_command(const struct bf_choice *c, size_t n, const void *from, char *buf, size_t cap);

/*
 * Appends one option; `quote` for texts that a shell would take apart, `value` NULL for a flag. One that does not fit
 * is
 * "...", which no command takes.
 */
void bf_command_append(char *buf, size_t cap, const char *option, const char *value, bool quote);

/* Each as a member of the open JSON object. */
void bf_choices_json(struct bf_json *j, const struct bf_choice *c, size_t n, const void *from);

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

/* A fault plan as options give it, PLAN or @FILE, as text that the caller frees. Not parsed yet. */
int bf_faults_text(const char *option, char **out, struct bf_error *err);

/*
 * The text of the fault plan that --faults gives (PLAN or @FILE), parsed once to see that it is one; NULL without.
 * The caller frees it. 0 or a negative errno with `err` set.
 */
int bf_choose_faults(const struct bf_args *args, uint64_t seed, char **out, struct bf_error *err);

/*
 * The topology that --topology gives, looked at and found to have places for `hosts`; NULL without, and for the one
 * ideal switch. Borrowed from `args`. 0 or -EINVAL with `err` set.
 */
int bf_choose_topology(const struct bf_args *args, uint32_t hosts, const char **out, struct bf_error *err);

/* Opens the file that --trace names and notes what runs in it; NULL without. 0 or a negative errno with `err` set. */
struct bf_trace_writer;
int bf_begin_trace(const struct bf_args *args, const char *command, struct bf_trace_writer **out, struct bf_error *err);

#endif
