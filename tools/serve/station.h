/*
 * A command that goes on until a signal ends it, on the wall clock: its simulation and live loop on one thread, its
 * trace, its fault plan, and what it says at the end.
 */
#ifndef BELFRY_TOOLS_SERVE_STATION_H
#define BELFRY_TOOLS_SERVE_STATION_H

#include "sim/live.h"
#include "tools/cli/cli.h"
#include "traces/container/keep.h"

struct bf_station {
	const struct bf_args *args; /* of a command with BF_STATION_OPTIONS */
	const char *command;        /* "belfry switch" */
	struct bf_sim *sim;         /* the station's from here on */
	struct bf_live *live;
	struct bf_fault_plan *plan;
	struct bf_trace_writer *trace;
	struct bf_trace_keeper keeper;
	struct bf_error trace_err;
	int signals;
};

/*
 * `args`, `command` and `sim` are set, the rest is zero. 0 or a negative errno, text in sim->error; bf_station_close()
 * in any case. Before anything starts a thread.
 */
int bf_station_open(struct bf_station *s);

/* Says the line `ready`, then runs until the end. `spin_us`: unless --spin says something else; 0: as its default. */
int bf_station_run(struct bf_station *s, const char *ready, uint32_t spin_us);

/*
 * What lives in the simulation has gone. Reports, with `more` for the document of --json, or tells of the error `rc`.
 * Returns the exit code.
 */
int bf_station_close(struct bf_station *s, int rc, void (*more)(const void *arg, struct bf_json *j), const void *arg);

/* For a table of options. */
#define BF_STATION_OPTION_SPIN                                                                                         \
	{                                                                                                              \
		.name = "spin", .kind = BF_OPT_TIME, .arg = "TIME", .initial = "200us",                                \
		.help =                                                                                                \
		    "look for work for this long before sleeping; waking up takes longer than a guest needs for its "  \
		    "next request"                                                                                     \
	}
/* `plan`: a fault plan that makes sense for the command, as its help shows it. */
#define BF_STATION_OPTIONS(plan)                                                                                       \
	{ .name = "faults", .kind = BF_OPT_TEXT, .arg = "PLAN|@FILE", .help = "fault plan, e.g. '" plan "'" },         \
	    { .name = "trace", .kind = BF_OPT_OUT, .arg = "FILE", .help = "write a trace; *.jsonl: as JSON Lines" },   \
	    { .name = "records",                                                                                       \
	      .kind = BF_OPT_TEXT,                                                                                     \
	      .arg = "CLASS[,CLASS]",                                                                                  \
	      .initial = "all",                                                                                        \
	      .help = "what to trace: meta, agent, mem, mmio, dma, queue, net, fault, driver, all, none" },            \
	    { .name = "stats", .kind = BF_OPT_FLAG, .help = "print counters at the end" },                             \
	    { .name = "top", .kind = BF_OPT_FLAG, .help = "show activity on standard error" },                         \
	{                                                                                                              \
		.name = "verbose", .kind = BF_OPT_FLAG,                                                                \
		.help = "say on standard error who connects and what is refused"                                       \
	}

#endif
