/*
 * The traces of a `belfry exec`: what they are called, and which there are in the end.
 *
 * Each process writes one of its own, whose name has the process id in it. When there was one only, it gets the name
 * that was asked for.
 */
#ifndef BELFRY_TOOLS_EXEC_TRACES_H
#define BELFRY_TOOLS_EXEC_TRACES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/error.h"

/* A process that opened a device, and what it left. */
struct bf_exec_process {
	uint32_t pid;
	char *trace; /* NULL without */
};

struct bf_exec_traces {
	char pattern[PATH_MAX];            /* what processes are told, with "%p"; empty: no traces */
	char wanted[PATH_MAX];             /* the name for one alone; or empty */
	struct bf_exec_process *processes; /* by process id */
	uint32_t nprocesses, processes_cap, ntraces;
	bool looked; /* some process asked for RDMA devices */
};

/*
 * Every "%r" of `text` becomes the rank that belfry launch, Open MPI, MPICH or Slurm gave this process, 0 without one.
 * Returns 0 or -ENAMETOOLONG.
 */
int bf_exec_put_rank(const char *text, char *to, size_t cap);

/* Where traces go: as --trace gives it, or with NULL into the folder `dir`. 0 or a negative errno with `err` set. */
int bf_exec_name_traces(struct bf_exec_traces *t, const char *given, const char *dir, struct bf_error *err);

/* After the end: reads the notes that processes left in the folder `dir`. What memory has no room for is left out. */
void bf_exec_collect_traces(struct bf_exec_traces *t, const char *dir);

void bf_exec_free_traces(struct bf_exec_traces *t);

#endif
