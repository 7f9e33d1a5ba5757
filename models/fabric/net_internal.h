/*
 * Switches and the links between them: what a topology of several switches is made of.
 *
 * A hop is one direction of a link: queues by priority at its sender, the frame that is being sent, and what its
 * receiver knows of it. A frame goes: port or switch -> queue of a hop (net_hop.c) -> its last bit leaves -> one
 * latency later it lands at the other end (net_switch.c), is routed, admitted, marked and queued again.
 *
 * Everything that comes to a switch or port from outside lands there 1 ps early and is handled one event later, in
 * order of id. What a switch does in a picosecond is therefore: first frames finish leaving, then arrivals by id; and
 * that is so whether the sender is simulated by this process or by another one.
 */
#ifndef BELFRY_MODELS_FABRIC_NET_INTERNAL_H
#define BELFRY_MODELS_FABRIC_NET_INTERNAL_H

#include "models/fabric/fabric_internal.h"
#include "models/fabric/topology.h"

#define BF_NET_PRIORITIES 8u
#define BF_NET_SPINES_MAX 256u
#define BF_NET_NONE UINT32_MAX
#define BF_NET_NAME_MAX 32u
#define BF_ROCE_TOS_OFFSET 15u /* of the IPv4 header behind Ethernet */

/* What travels: `kind` of a packet. */
enum bf_net_kind {
	BF_NET_FRAME,
	BF_NET_PAUSE, /* to the sender of `hop`: stop or restart a priority; `value` is priority | on << 7 */
	BF_NET_FAR,   /* the sender of `hop` sees that the other end of the link went down or came up (`value`) */
	BF_NET_ROUTE, /* all leaves learn that the link of `hop` is down or up (`value`) */
};

struct bf_net_queue {
	struct bf_packet *first, *last;
	uint64_t bytes;
};

struct bf_hop {
	struct bf_event done; /* the last bit of `wire` leaves */
	struct bf_event restore;
	struct bf_fault_timer outage; /* by the clock */
	struct bf_net *net;
	struct bf_packet *wire;
	uint64_t ps_per_kib;
	uint64_t bytes; /* in all queues and on the wire */
	struct bf_hop *reverse;
	struct bf_port *port;  /* of a link to a host, otherwise NULL */
	uint32_t from, to;     /* switches; BF_NET_NONE for the port */
	uint32_t slot;         /* in bf_net.by_slot: what pkt->hop says; this process's own */
	uint32_t index, actor; /* index: of a link between switches, everybody's */
	bool up;
	uint8_t waiting;                     /* bit p: queue[p] has frames */
	uint8_t paused;                      /* bit p: the receiver has stopped priority p */
	uint8_t pausing;                     /* bit p: the receiver has told so; the receiver's field */
	uint64_t ingress[BF_NET_PRIORITIES]; /* bytes that came by here and are in the receiver's buffer; likewise */
	struct bf_net_queue queue[BF_NET_PRIORITIES];
	struct bf_fabric_link load;   /* without what bf_hop_load() fills in */
	uint64_t paused_ps, depth_ps; /* when `paused` became non-zero; when `bytes` last changed */
	bf_u128 depth_sum;            /* bytes times picoseconds */
	char from_name[BF_NET_NAME_MAX], to_name[BF_NET_NAME_MAX], name[2 * BF_NET_NAME_MAX + 2];
};

struct bf_net_due {
	uint64_t at_ps, id;
	struct bf_packet *pkt;
};

struct bf_switch {
	struct bf_lane landing; /* frames, one latency after they left */
	struct bf_lane control; /* what is no frame, and frames of other ranks: not in order of the above */
	/*
	 * What is due in this picosecond or the next, in order of (time, id): entries first..last - 1. An array and not
	 * a list of packets, since hundreds may come at once in any order.
	 */
	struct bf_event ready;
	struct bf_net_due *due;
	uint32_t first, last, due_cap;
	struct bf_net *net;
	uint32_t index, rank;
	uint64_t used, used_max; /* of the buffer, bytes */
	uint64_t hash_seed;
	struct bf_rng rng; /* marking */
	uint32_t lowest;   /* address of the leaf's lowest port, which decides about `rank` */
	/* Leaf: bit s: the link to spine s is believed to work. */
	uint64_t alive[BF_NET_SPINES_MAX / 64];
	char name[BF_NET_NAME_MAX];
};

struct bf_net {
	struct bf_fabric *fabric;
	struct bf_topology t;
	struct bf_switch *switches; /* leaves (rail by rail), then spines */
	uint32_t nleaves, nspines;
	struct bf_hop *hops;       /* leaf l to spine s: [2 * (l * nspines + s)], its reverse behind it */
	struct bf_hop_pair *pairs; /* of hosts */
	struct bf_hop **by_slot;
	uint32_t slots, slots_cap;
	struct bf_lane changes, changes_ready; /* FAR and ROUTE; two picoseconds early, so ahead of frames */
	uint32_t nranks;                       /* highest rank and one */
	bool sealed;
};

/* The link of a port. */
struct bf_hop_pair {
	struct bf_hop_pair *next;
	struct bf_hop up, down;
};

/* The hop that a packet names. */
static inline struct bf_hop *bf_net_hop(const struct bf_packet *pkt)
{
	return pkt->home->fabric->net->by_slot[pkt->hop];
}

static inline bool bf_net_is_leaf(const struct bf_switch *sw)
{
	return sw->index < sw->net->nleaves;
}

static inline struct bf_hop *bf_net_up(struct bf_net *n, uint32_t leaf, uint32_t spine)
{
	return &n->hops[2 * ((size_t)leaf * n->nspines + spine)];
}

/* Gives a new port its link; -EINVAL when it names no place, -ENOMEM. Both are called by fabric.c. */
int bf_net_place(struct bf_net *n, struct bf_port *p);
void bf_net_destroy(struct bf_net *n);

/* After the last port and before the first frame: who simulates which switch. Idempotent. */
void bf_net_seal(struct bf_net *n);

/* A frame of port `p`, at once. */
void bf_net_send(struct bf_port *p, struct bf_packet *pkt);

/* Hops (net_hop.c). */
int bf_hop_init(struct bf_hop *h, struct bf_net *n, uint64_t ps_per_kib, uint32_t from, uint32_t to); /* or -ENOMEM */
void bf_hop_queue(struct bf_hop *h, struct bf_packet *pkt);
void bf_hop_set(struct bf_hop *h, bool up);            /* this direction, at its sender */
void bf_hop_cut_or_restore(struct bf_hop *h, bool up); /* the same of a switch's; the other end is told */
void bf_hop_take_pause(struct bf_packet *pkt);         /* at the sender of pkt->hop */
void bf_hop_lose(struct bf_hop *h, struct bf_packet *pkt, enum bf_fabric_verdict verdict);
/* Cuts it for a time; 0: BF_FABRIC_OUTAGE_PS. */
void bf_hop_begin_outage(struct bf_hop *h, uint64_t delay_ps);
void bf_hop_load(const struct bf_hop *h, struct bf_fabric_link *out);
uint64_t bf_hop_free_ps(const struct bf_hop *h);

/* The receiver of `in` stops or restarts its sender. */
void bf_hop_tell(struct bf_hop *in, uint32_t priority, bool on);

/* Switches (net_switch.c). */
void bf_switch_init(struct bf_switch *sw, struct bf_net *n, uint32_t index);
void bf_switch_release(struct bf_switch *sw, const struct bf_packet *pkt);

/* Something is due at `at_ps` at the receiver of `h` or, with `back`, at its sender, whichever rank has that. */
void bf_net_arrive(struct bf_hop *h, bool back, struct bf_packet *pkt, uint64_t at_ps);

/* The same in this rank; `far`: out of order, since it came by the gateway. */
void bf_net_land(struct bf_hop *h, bool back, struct bf_packet *pkt, uint64_t at_ps, bool far);

/* The link of `h` went down or came up at its sender: everybody learns in time. The second is for one rank. */
void bf_net_announce(struct bf_hop *h, bool up);
int bf_net_announce_here(struct bf_hop *h, bool up, uint64_t when_ps);
void bf_net_on_changes(struct bf_event *ev);
void bf_net_on_changes_ready(struct bf_event *ev);

/* The other end of a port's link went down or came up. */
void bf_port_far_link(struct bf_port *p, bool up);

/* A picosecond before pkt->at_ps + 1, at which the port has it. */
void bf_port_land(struct bf_port *p, struct bf_packet *pkt);

/* By the gateway: what bf_net_land() and bf_net_announce_here() of another rank are to do. */
void bf_gateway_arrive(const struct bf_hop *h, bool back, struct bf_packet *pkt, uint32_t rank, uint64_t at_ps);
void bf_gateway_announce(const struct bf_hop *h, bool up, uint32_t rank);

#endif
