/*
 * Statistics: counters and log-linear histograms, by name.
 *
 * Handles are obtained once and then updated without a look-up; they are valid until bf_sim_destroy(). What is counted
 * in a field of its owner anyway is attached instead and read when somebody asks. Histograms have 16 linear steps per
 * power of two (error below 1/16, none below 32) over 0..2^64-1. Owned by the simulation. One thread.
 */
#ifndef BELFRY_SIM_STATS_H
#define BELFRY_SIM_STATS_H

#include "sim/compiler.h"
#include "sim/sim.h"

BF_API_BEGIN

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

/*
 * The counter `name` also counts what `owner` keeps in `*field`: nothing is counted twice, and an update costs its
 * owner one addition. Several fields under one name add up. 0 or -ENOMEM. The field must live until bf_stats_detach(),
 * which keeps the last values of all fields of that owner; the names stay.
 */
int bf_stats_attach(struct bf_sim *sim, const void *owner, const char *name, const char *unit, const uint64_t *field);
void bf_stats_detach(struct bf_sim *sim, const void *owner);

/* The same for `base` "." `part`: how models name what belongs to a device ("nic0.cqes"). */
int bf_stats_attach_part(struct bf_sim *sim, const void *owner, const char *base, const char *part, const char *unit,
			 const uint64_t *field);

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

BF_API_END

#endif
