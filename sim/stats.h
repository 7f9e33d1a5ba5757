/*
 * Statistics: counters and log-linear histograms, by name.
 *
 * Handles are obtained once and then updated without a look-up; they are valid until bf_sim_destroy(). Histograms have
 * 16 linear steps per power of two (error below 1/16, none below 32) over 0..2^64-1. Owned by the simulation. One
 * thread.
 */
#ifndef BELFRY_SIM_STATS_H
#define BELFRY_SIM_STATS_H

#include "sim/sim.h"

#define BF_HIST_SUB 16
#define BF_HIST_BUCKETS (61 * BF_HIST_SUB)

/* A zeroed one is empty. `sum` is modulo 2^64. */
struct bf_hist {
	uint64_t count, sum, min, max;
	uint64_t bucket[BF_HIST_BUCKETS];
};

/*
 * The counter or histogram `name` with unit `unit` (both copied; the unit given first stays), starting at zero or
 * empty; the same pointer for the same name. A counter and a histogram may share a name. NULL on lack of memory.
 */
uint64_t *bf_stats_counter(struct bf_sim *sim, const char *name, const char *unit);
struct bf_hist *bf_stats_hist(struct bf_sim *sim, const char *name, const char *unit);

void bf_hist_add(struct bf_hist *h, uint64_t value);

/*
 * The quantile `ppm` / 1,000,000 (at most 1,000,000), rounded up to the highest value of its bucket but never above the
 * largest value added: 1,000,000 gives `max`, 0 the bucket of `min`. 0 when empty.
 */
uint64_t bf_hist_quantile(const struct bf_hist *h, uint32_t ppm);

/*
 * Calls `fn` for each statistic in byte order of name (a counter before the histogram of its name); exactly one of
 * `counter` and `hist` is not NULL. `fn` may not ask for new statistics.
 */
void bf_stats_each(const struct bf_sim *sim,
		   void (*fn)(void *arg, const char *name, const char *unit, const uint64_t *counter,
			      const struct bf_hist *hist),
		   void *arg);

/* Internal to sim/: called by bf_sim_destroy(). */
void bf_stats_free(struct bf_sim *sim);

#endif
