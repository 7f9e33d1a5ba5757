/*
 * PEs as agents of a running simulation: collective calls that take simulated time, as those of a launcher's network do
 * beside the devices' (PMIx over TCP). For what has to be agreed on while traffic goes on, such as more queue pairs.
 *
 * All agents are of one simulation and one process. The order in which they come decides nothing; a call ends for all
 * at the same time, which is the last one's arrival and the cost. Each call is a `boot_call` record of its agent.
 */
#ifndef BELFRY_DRIVERS_BOOTSTRAP_AGENTS_H
#define BELFRY_DRIVERS_BOOTSTRAP_AGENTS_H

#include "drivers/bootstrap/bootstrap.h"
#include "sim/agent.h"

struct bf_boot_agents; /* opaque */

/*
 * What a call costs: a tree of ceil(log2(npes)) steps, each of which takes `step_ps`, and the bytes that come to one PE
 * at `ps_per_kib` for 1024.
 */
struct bf_boot_cost {
	uint64_t step_ps, ps_per_kib;
};

/* Assumed: 25 us for a step through the kernel's TCP, 10 Gbit/s. */
extern const struct bf_boot_cost bf_boot_cost_tcp;

/* Texts of failures go to `err`, which is kept. `cost` NULL: bf_boot_cost_tcp. 0, -EINVAL or -ENOMEM. */
int bf_boot_agents_create(struct bf_sim *sim, uint32_t npes, const struct bf_boot_cost *cost, struct bf_error *err,
			  struct bf_boot_agents **out);

/* No agent may be inside a call. NULL is fine. */
void bf_boot_agents_destroy(struct bf_boot_agents *g);

/*
 * Self: the handle by which agent `self` is PE `pe` from now on. Calls only from this agent. It gives up (abort) when
 * it ends before the others do; a PE that nobody is leaves the others waiting, which the deadlock report then says.
 */
struct bf_boot *bf_boot_agents_join(struct bf_boot_agents *g, uint32_t pe, struct bf_agent *self);

#endif
