/*
 * Statistics: counters and log-linear histograms, by name.
 *
 * Handles are obtained once and then updated without a look-up. Histograms have 16 linear steps per power of two (error
 * below 1/16) over 0..2^64-1. Owned by the simulation. One thread.
 */
#ifndef BELFRY_SIM_STATS_H
#define BELFRY_SIM_STATS_H

#include <stdio.h>

#include "sim/sim.h"

#define BF_HIST_SUB 16
#define BF_HIST_BUCKETS (61 * BF_HIST_SUB)

struct bf_hist {
	uint64_t count, sum, min, max;
	uint64_t bucket[BF_HIST_BUCKETS];
};

/* The counter `name` (copied) with unit `unit`; the same pointer for the same name. NULL on lack of memory. */
uint64_t *bf_stats_counter(struct bf_sim *sim, const char *name, const char *unit);
struct bf_hist *bf_stats_hist(struct bf_sim *sim, const char *name, const char *unit);

void bf_hist_add(struct bf_hist *h, uint64_t value);
/* Upper bound of the bucket that holds quantile `ppm` / 1,000,000. 0 when empty. */
uint64_t bf_hist_quantile(const struct bf_hist *h, uint32_t ppm);

/* Calls `fn` for each statistic in order of name; exactly one of `counter` and `hist` is not NULL. */
void bf_stats_each(const struct bf_sim *sim,
		   void (*fn)(void *arg, const char *name, const char *unit, const uint64_t *counter,
			      const struct bf_hist *hist),
		   void *arg);

#endif
