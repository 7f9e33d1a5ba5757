/*
 * A trace of what runs on the wall clock reaches the file while it is written: whoever is killed leaves what was
 * recorded until a moment before. For simulations in live mode; runs in virtual time end by themselves.
 */
#ifndef BELFRY_TRACES_CONTAINER_KEEP_H
#define BELFRY_TRACES_CONTAINER_KEEP_H

#include "sim/sim.h"
#include "traces/container/trace.h"

#define BF_TRACE_KEEP_PS (100 * BF_MS)

struct bf_trace_keeper {
	struct bf_event event;
	struct bf_sim *sim;
	struct bf_trace_writer *writer;
	bool rescued;
};

/* From now on, every BF_TRACE_KEEP_PS. `writer` takes what `sim` records; both outlive the keeper or its stop. */
void bf_trace_keep(struct bf_trace_keeper *k, struct bf_sim *sim, struct bf_trace_writer *writer);

/*
 * In the handler of a signal that ends the process: writes what was recorded since, and the end of the trace. Takes no
 * memory from the allocator and no lock, so it may come anywhere, in an allocator that has found its lists broken, too;
 * what a thread that is interrupted was about to record is lost. False, and the file ends where it did: JSON Lines, a
 * file that cannot be written in any order (a pipe), a trace that failed before, no memory. The writer can only be left
 * alone afterwards.
 */
bool bf_trace_rescue(struct bf_trace_keeper *k);

/* Before the writer is closed. Also for a keeper that never began and is zero. */
void bf_trace_keep_stop(struct bf_trace_keeper *k);

#endif
