/*
 * What a station does with signals that would end it without a word.
 *
 * A crash of its own (SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE): the trace gets its end, then the process dies of the
 * signal as it would have. SIGBUS may be a guest's doing, who shortens a file that is mapped here: whoever serves it
 * says so and puts other memory in its place.
 */
#ifndef BELFRY_TOOLS_SERVE_CRASH_H
#define BELFRY_TOOLS_SERVE_CRASH_H

#include "traces/container/keep.h"

/*
 * One station a process, for handlers are the process's. `keeper` is that of its trace, and may be one that never
 * began. Both calls on its thread; afterwards the signals are as they were before.
 */
int bf_crash_watch(struct bf_trace_keeper *keeper);
void bf_crash_forget(void);

/*
 * Who may know an address at which memory has gone: true when there is memory now and the access can be repeated.
 * Called in a signal handler, on any thread. NULL: nobody.
 */
void bf_crash_mend(bool (*mend)(void *arg, const void *address), void *arg);

#endif
