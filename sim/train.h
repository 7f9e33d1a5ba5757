/*
 * Trains: owners of many things due at known times (a link, a DMA port, a wire) keep them in rings of their own, with
 * one event in the queue for the earliest. When that event fires, the owner handles what is due and asks here whether
 * it may go straight on to the next: then the clock moves without a detour through the queue.
 *
 * One thread per simulation, from event callbacks only.
 */
#ifndef BELFRY_SIM_TRAIN_H
#define BELFRY_SIM_TRAIN_H

#include "sim/sim.h"

/*
 * `ev` is the caller's, which fires. True: nothing else happens before `when_ps`, the clock stands there now and the
 * caller handles what is due then. False: `ev` was scheduled for `when_ps` and the caller returns. The order of events
 * is the same either way.
 */
bool bf_sim_step(struct bf_sim *sim, struct bf_event *ev, uint64_t when_ps);

/*
 * The same for what is due now already, before other events of this moment: for devices where nothing takes time, whose
 * order among themselves is all that counts. True: handle it and call again.
 */
static inline bool bf_sim_again(struct bf_sim *sim, uint64_t when_ps)
{
	if (when_ps > sim->now_ps || sim->stopped)
		return false;
	sim->events++;
	return true;
}

#endif
