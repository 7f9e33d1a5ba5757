/* What those who fire events themselves need of sim.c: the live loop, simulations in several processes. */
#ifndef BELFRY_SIM_SIM_INTERNAL_H
#define BELFRY_SIM_SIM_INTERNAL_H

#include "sim/sim.h"

/*
 * Fires what is due up to and including `until_ps`, until bf_sim_stop(). The clock is left at the last event. Returns
 * the time of the next event, BF_NEVER when there is none.
 */
uint64_t bf_sim_fire_due(struct bf_sim *sim, uint64_t until_ps);

/* The simulation that bf_sim_run() runs on this thread; NULL: none. */
const struct bf_sim *bf_sim_here(void);

/* Of sim/stats.h, for bf_sim_destroy(). */
void bf_stats_fini(struct bf_sim *sim);

#endif
