/*
 * Drivers that crash: what a thread of the simulated machine does to raise SIGSEGV, SIGBUS or SIGFPE ends the run with
 * an error that says whose access it was, and with a whole trace (sim/wild.h), in place of the process.
 */
#ifndef BELFRY_TOOLS_WORKLOADS_WILD_H
#define BELFRY_TOOLS_WORKLOADS_WILD_H

#include <stdbool.h>

#include "sim/error.h"

/*
 * From now on, until forgotten, on all threads of the process; signals are the process's, so one run at a time. What is
 * raised outside of a simulated thread, or by a stack that is full, ends the process as before. Nothing happens on
 * processors whose registers are not known here, under sanitizers (whose report says more), or where the signals cannot
 * be had.
 */
void bf_wild_watch(void);
void bf_wild_forget(void);

/*
 * Calls run(arg) while the signals are watched, and returns what it does. When host code crashes in it: -EFAULT with
 * the text in `err`, `*crashed` is true, and what it had opened stays as it was then: the process may report and go.
 */
int bf_wild_guard(int (*run)(void *arg), void *arg, bool *crashed, struct bf_error *err);

/* A user has asked for the end of the run that is being watched: to run it again would take as long. */
bool bf_wild_asked(void);

#endif
