/*
 * A rate for what leaves by UDP, towards each address: what comes faster waits here, in order, until its time has come.
 * Without it a burst of the model's meets the first queue that is too short for it, and RC answers loss by going back.
 */
#ifndef BELFRY_MODELS_FABRIC_UDP_PACE_INTERNAL_H
#define BELFRY_MODELS_FABRIC_UDP_PACE_INTERNAL_H

#include "models/fabric/fabric.h"

/*
 * A bucket of time: what was not used within the last `depth_ps` may be made up for. Zeroed, it is full. `full_ps` is
 * when it would be full again (the "theoretical arrival time" of ITU-T I.371's generic cell rate algorithm).
 */
struct bf_udp_bucket {
	uint64_t full_ps;
};

/* From when on something may leave. */
static inline uint64_t bf_bucket_ready_ps(const struct bf_udp_bucket *b, uint64_t depth_ps)
{
	return b->full_ps > depth_ps ? b->full_ps - depth_ps : 0;
}

/* It leaves, and takes `cost_ps` of the way. */
static inline void bf_bucket_take(struct bf_udp_bucket *b, uint64_t now_ps, uint64_t cost_ps)
{
	b->full_ps = (b->full_ps > now_ps ? b->full_ps : now_ps) + cost_ps;
}

struct bf_pacer; /* opaque */

/* NULL: no memory. `due` gets packets whose time has come, by the simulation's clock, as chains (struct
 * bf_packet.next). */
struct bf_pacer *bf_pacer_create(struct bf_sim *sim, uint64_t bits_per_s,
				 void (*due)(void *owner, struct bf_packet *chain), void *owner);
/* What still waits, as a chain for the caller. NULL is fine. */
struct bf_packet *bf_pacer_free(struct bf_pacer *p);

/*
 * True: the packet, to `ipv4`, may leave at once, and stays the caller's; so it does without memory for a new address.
 * Otherwise it waits here.
 */
bool bf_pacer_passes(struct bf_pacer *p, uint32_t ipv4, struct bf_packet *pkt);

/* Packets that wait: all; and those for queue pair `qpn`, perhaps with those of others whose numbers are like it. */
uint32_t bf_pacer_waiting(const struct bf_pacer *p);
uint32_t bf_pacer_held(const struct bf_pacer *p, uint32_t qpn);

#endif
