/* The fabric's inside, shared by its ports and packets (fabric.c) and what travels between them (wire.c). */
#ifndef BELFRY_MODELS_FABRIC_FABRIC_INTERNAL_H
#define BELFRY_MODELS_FABRIC_FABRIC_INTERNAL_H

#include "models/fabric/fabric.h"

#define SLAB_PACKETS 16u

/*
 * Where a port's frames are. Both FIFOs are in order of time; so is LATE, a list for the few frames that a fault holds
 * back.
 */
enum bf_port_lane { TO_SWITCH, LATE, TO_PORT, LANES };

/* Frames in order of at_ps, linked by `next`. `last` is defined while `first` is not NULL. */
struct bf_lane {
	struct bf_packet *first, *last;
	uint64_t due_ps; /* of `first`, or BF_NEVER */
};

struct bf_port {
	struct bf_event due; /* at the earliest head of the lanes */
	struct bf_event restore;
	struct bf_fabric *fabric;
	struct bf_lane lanes[LANES];
	bool busy; /* inside on_due(), which schedules the event itself */
	bool up;
	uint64_t tx_free_ps, rx_free_ps; /* when the link's two directions are idle */
	uint64_t order_ps;               /* no frame in order reaches the switch before: a delayed one is ahead */
	struct bf_port *last_to;         /* where the last frame went */
	uint64_t latency_ps, ps_per_kib;
	bf_port_rx_fn *rx;
	void *owner;
	struct bf_port_info info; /* without `dropped`, which is the sum of: */
	uint64_t lost_injected, lost_no_route, lost_link_down;
	char name[];
};

struct bf_packet_slab {
	struct bf_packet_slab *next;
	struct bf_packet packets[SLAB_PACKETS];
};

struct bf_fabric {
	struct bf_sim *sim;
	struct bf_port **ports; /* sorted by address */
	uint32_t count, cap;
	uint64_t sent;
	struct bf_packet_slab *slabs;
	struct bf_packet *unused;
};

/* Finds the port with an address, NULL when nobody has it. */
struct bf_port *bf_fabric_find(const struct bf_fabric *f, uint32_t ipv4);

/* Events of a port: the earliest head of its lanes is due; an injected outage is over. */
void bf_port_on_due(struct bf_event *ev);
void bf_port_on_restore(struct bf_event *ev);

#endif
