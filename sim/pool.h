/*
 * Memory of a simulation for what there may be hundreds or hundreds of thousands of: devices, agents and ports with
 * what belongs to them, queue pairs, completion queues, doorbell pages, regions, and the bytes of small regions.
 *
 * Objects that are taken one after the other lie side by side, on huge pages once there are many. In a mesh of hundreds
 * of PEs a message finds nothing in the caches that it touches; then a translation that is missing, too, costs as much
 * again as the data. A simulation of a few PEs takes a few ordinary blocks.
 *
 * One thread per simulation. Everything that was not given back goes with the simulation.
 */
#ifndef BELFRY_SIM_POOL_H
#define BELFRY_SIM_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bf_sim;

/*
 * `bytes` of zeros, at least 1; NULL on lack of memory. For any type of object; those of BF_POOL_LINES to BF_POOL_MAX
 * bytes have memory lines of their own. Larger ones come from the C library and must be given back.
 */
#define BF_POOL_LINES 256u
#define BF_POOL_MAX (32u << 10)
void *bf_pool_take(struct bf_sim *sim, size_t bytes);

/* Gives back what bf_pool_take() returned for the same number of bytes; NULL is fine. */
void bf_pool_give(struct bf_sim *sim, void *p, size_t bytes);

/*
 * Whole pages of zeros that processors may use, or (`reserved`) addresses that nobody may dereference; NULL on lack of
 * memory. `bytes` is a multiple of the page size, at most BF_POOL_PAGES_MAX. Pages of a simulation have no inaccessible
 * page between them.
 */
#define BF_POOL_PAGES_MAX (512u << 10)
void *bf_pool_pages_take(struct bf_sim *sim, size_t bytes, bool reserved);
void bf_pool_pages_give(struct bf_sim *sim, void *p, size_t bytes, bool reserved);

/* bf_sim_destroy(). */
void bf_pool_fini(struct bf_sim *sim);

#endif
