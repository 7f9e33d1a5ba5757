/*
 * One simulation in several processes ("ranks"): each has a run of the PEs with their devices and agents, and its part
 * of the fabric.
 *
 * Conservative synchronisation in rounds. In a round each rank tells each other one when its next event is, together
 * with the frames that have left for there. A frame takes at least the look-ahead L of the fabric, so nothing can reach
 * rank r before
 *
 *	min(next event of another rank + L, its own next event + 2 L)
 *
 * (a frame that was just told counts as an event of the rank that it goes to; the second term is what comes back from
 * r's own frames), and up to there r goes on alone. Idle time is skipped, since rounds go from event to event. When no
 * rank has an event the run has ended, in a deadlock if agents are left anywhere.
 *
 * The same events happen at the same times as in one process; what one PE does and sees is recorded byte for byte the
 * same (pe_hash_internal.h).
 */
#ifndef BELFRY_DRIVERS_BACKEND_RANKS_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_RANKS_INTERNAL_H

#include "drivers/backend/machine_internal.h"
#include "drivers/bootstrap/bootstrap.h"

struct bf_ranks; /* opaque */

/*
 * For a world whose simulation and fabric are there and whose ports are not: from now on its fabric sends to other
 * ranks. `boot` is borrowed. 0, -ENOMEM, or -EINVAL for fewer PEs than ranks; text in m->err.
 */
int bf_ranks_open(struct bf_world *m, struct bf_boot *boot, struct bf_ranks **out);
void bf_ranks_close(struct bf_ranks *r);
uint32_t bf_ranks_count(const struct bf_ranks *r);

/* A driver's words to itself in other ranks (struct bf_backend.say); `rank` UINT32_MAX: to all others. */
void bf_ranks_listen(struct bf_ranks *r, void (*hear)(void *arg, uint64_t where, uint64_t value), void *arg);
int bf_ranks_say(struct bf_ranks *r, uint32_t rank, uint64_t at_ps, uint64_t where, uint64_t value);

/*
 * Runs the simulations of all ranks until they end or `until_ps` is reached; every rank gets the same answer and the
 * same clock. Negative errno: some rank has failed or is gone, text in m->err.
 */
int bf_ranks_run(struct bf_ranks *r, uint64_t until_ps, enum bf_run_end *end);

/* Puts together what all ranks have in `out`, on each of them: counts as sums, reports one behind the other. */
int bf_ranks_merge(struct bf_ranks *r, struct bf_world_result *out);

/* The same for a number of each PE ([npes]), of which each rank knows its own PEs'. */
int bf_ranks_merge_pes(struct bf_ranks *r, uint64_t *of_pe);

#endif
