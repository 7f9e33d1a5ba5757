/*
 * Accesses where nothing is, which a real processor answers with a fault: the run stops and says whose they were. For
 * those that a view looks at, and for those that the simulating processor itself finds (a signal).
 */
#ifndef BELFRY_SIM_WILD_H
#define BELFRY_SIM_WILD_H

#include "sim/agent.h"
#include "sim/mem.h"

/*
 * The running agent accesses `len` bytes at `p`, as device registers (`mmio`) or memory, and cannot: they are not in
 * `r`, or `r` is the other kind; NULL: no region is there. The run stops behind the agent's next step.
 */
void bf_wild_access(struct bf_agent *a, const struct bf_region *r, const void *p, uint32_t len, bool mmio);

/*
 * The instruction that the running agent is at cannot be executed: it touches `p`, or (`divides`) divides by zero. To
 * be called on the agent's own stack in place of what comes behind that instruction. Does not return: the run stops.
 */
_Noreturn void bf_wild_instruction(struct bf_agent *a, const void *p, bool divides);

/*
 * In a signal handler: the simulation that runs on this thread ends its run as if its time limit had been reached.
 * False: none runs.
 */
bool bf_wild_interrupt(void);

#endif
