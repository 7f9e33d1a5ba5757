/*
 * A kernel in a trial, as `belfry ptx trial` and `belfry fences ptx` take it from the command line: its modules, its
 * grid, its arguments, and what must be true in the end.
 */
#ifndef BELFRY_TOOLS_COMMANDS_PTX_TRIAL_H
#define BELFRY_TOOLS_COMMANDS_PTX_TRIAL_H

#include "drivers/trial/mlx5.h"
#include "tools/cli/cli.h"

#define BF_PTX_TRIAL_FILES 63u

/* Outlives its spec. */
struct bf_ptx_trial {
	const struct bf_args *args;
	const char *files[BF_PTX_TRIAL_FILES];
	uint32_t file_count;
	uint64_t same; /* bytes that the peer's heap must have in common with the kernel's */
};

/* From the options below, and the files behind the first positional argument. Exit code. */
int bf_ptx_trial_open(const struct bf_args *args, struct bf_ptx_trial *w, struct bf_trial_spec *spec);

#define BF_PTX_TRIAL_OPTIONS                                                                                           \
	{ .name = "kernel", .kind = BF_OPT_TEXT, .arg = "NAME", .help = "the kernel to run, as the module names it" }, \
	    { .name = "prepare",                                                                                       \
	      .kind = BF_OPT_TEXT,                                                                                     \
	      .arg = "NAME",                                                                                           \
	      .help = "a kernel with the same parameters that one thread runs first, to prepare the memory" },         \
	    { .name = "grid",                                                                                          \
	      .kind = BF_OPT_U64,                                                                                      \
	      .arg = "N",                                                                                              \
	      .initial = "1",                                                                                          \
	      .min = 1,                                                                                                \
	      .max = 1u << 20,                                                                                         \
	      .help = "blocks" },                                                                                      \
	    { .name = "block",                                                                                         \
	      .kind = BF_OPT_U64,                                                                                      \
	      .arg = "N",                                                                                              \
	      .initial = "1",                                                                                          \
	      .min = 1,                                                                                                \
	      .max = 1024,                                                                                             \
	      .help = "threads of a block" },                                                                          \
	    { .name = "arg",                                                                                           \
	      .kind = BF_OPT_MULTI,                                                                                    \
	      .arg = "VALUE",                                                                                          \
	      .help = "an argument, in the order of the parameters" },                                                 \
	    { .name = "same",                                                                                          \
	      .kind = BF_OPT_U64,                                                                                      \
	      .arg = "BYTES",                                                                                          \
	      .initial = "0",                                                                                          \
	      .help = "this many bytes of the peer's heap must equal the kernel's at the end" },                       \
	    { .name = "collapsed", .kind = BF_OPT_FLAG, .help = "completions overwrite one entry, as with IBGDA" },    \
	    { .name = "rings-in-host", .kind = BF_OPT_FLAG, .help = "rings and doorbell records are in host memory" }, \
	    { .name = "seed", .kind = BF_OPT_U64, .arg = "N", .initial = "1", .help = "the first seed" },              \
	{                                                                                                              \
		.name = "time-limit", .kind = BF_OPT_TIME, .arg = "TIME", .initial = "100ms", .help = "simulated time" \
	}

#endif
