/* The fabric's inside: ports and packets (fabric.c), the ideal switch (wire.c), other ranks (gateway.c). */
#ifndef BELFRY_MODELS_FABRIC_FABRIC_INTERNAL_H
#define BELFRY_MODELS_FABRIC_FABRIC_INTERNAL_H

#include "models/fabric/fabric.h"
#include "models/fabric/roce.h"
#include "sim/fault.h"
#include "sim/pool.h"

/* What a frame's way touches is one cache line. */
BF_STATIC_ASSERT(offsetof(struct bf_packet, data) == 64, "packet head");

/* What became of a frame: `verdict` of its records. */
enum bf_fabric_verdict {
	BF_FRAME_OK,
	BF_FRAME_DROPPED,
	BF_FRAME_CORRUPTED,
	BF_FRAME_DUPLICATE,
	BF_FRAME_DELAYED,
	BF_FRAME_REORDERED,
	BF_FRAME_NO_ROUTE,
	BF_FRAME_LINK_DOWN,
	BF_FRAME_OVERFLOW,
	BF_FRAME_VERDICTS
};

enum { BF_DIR_TX, BF_DIR_RX };

struct bf_hop;
struct bf_cc;

/*
 * Frames in order of at_ps, linked by `next`, with an event at the first one's time. `last` is defined while `first` is
 * not NULL.
 */
struct bf_lane {
	struct bf_event due;
	struct bf_packet *first, *last;
	struct bf_sim *sim;
	bool busy;    /* inside bf_lane_run(), which schedules the event itself */
	bool instant; /* of a port where nothing takes time: what is due goes on in one event */
};

/*
 * Where a port's frames are: on the way to the switch, there late because of a fault, on the way to a gateway (until
 * their last bit has left, since a cut may still take them until then), on the way from the switch. Each has an event
 * of its own, and what concerns the port's owner (TO_PORT) is scheduled at moments that do not depend on the others:
 * otherwise the order of events of one picosecond would depend on which rank simulates whom.
 *
 * In a topology of several switches (net_internal.h) TO_SWITCH and LATE hold what a fault keeps from the port's queue,
 * and frames come by LANDING, a picosecond before they are in TO_PORT.
 */
enum bf_port_lane { TO_SWITCH, LATE, TO_GATEWAY, LATE_TO_GATEWAY, TO_PORT, LANDING, LANES };

/* Frames that a port sent and nobody got. */
struct bf_lost {
	uint64_t injected, no_route, link_down, overflow;
};

struct bf_port {
	struct bf_lane lanes[LANES];
	struct bf_fabric *fabric;
	bool up;
	bool remote; /* simulated by `rank`; only its lanes towards the switch are used here */
	uint32_t rank;
	uint32_t sent;                   /* frames, modulo 2^32 */
	uint64_t tx_free_ps, rx_free_ps; /* when the link's two directions are idle */
	uint64_t order_ps;               /* no frame in order reaches the switch before: a delayed one is ahead */
	/*
	 * Frames that reached the switch for this port at tie_ps, the last to do so: they stand behind tie_before
	 * (NULL: first) in TO_PORT, in order of id, and the link was free at tie_free_ps when the first of them came.
	 */
	uint64_t tie_ps, tie_free_ps;
	struct bf_packet *tie_before;
	struct bf_port *last_to; /* where the last frame went */
	uint64_t latency_ps, ps_per_kib;
	bf_port_rx_fn *rx;
	bf_port_expect_fn *expect;
	bf_port_link_fn *link;
	void *owner;
	uint32_t host, rail;
	struct bf_hop *up_hop, *down_hop; /* of a topology, otherwise NULL */
	struct bf_cc *cc;                 /* NULL until congestion is seen */
	bf_port_peer_fn *peer;
	struct bf_port_info info; /* without `dropped`, which is the sum of `lost` */
	struct bf_lost *lost;     /* `own_lost`, or the fabric's for all remote ports */
	struct bf_lost own_lost;
	struct bf_event restore;
	struct bf_fault_timer outage; /* by the clock */
	char name[];
};

/*
 * Packets of one size. Small ones lie close to each other, among the objects of the pool, and large ones on pages of
 * their own: of a burst there may be thousands that wait for a link, and a huge page is cleared as a whole.
 */
struct bf_packets {
	struct bf_fabric *fabric;
	struct bf_packet *unused;
	struct bf_packet_slab *slabs; /* the first has room for more from `next` on */
	uint32_t bytes, slab_bytes;   /* of one with its data, of a slab */
	uint32_t next;
	bool pages;
};

struct bf_fabric {
	struct bf_sim *sim;
	struct bf_net *net;     /* NULL: one ideal switch */
	struct bf_port **ports; /* in order of attachment */
	uint32_t count, cap;
	struct bf_port **by_ipv4; /* open addressing, 2^by_ipv4_log2 places */
	uint32_t by_ipv4_log2;
	uint64_t min_latency_ps;
	struct bf_packets any, small;
	uint32_t my_rank;
	struct bf_lost remote_lost;
	bf_fabric_out_fn *out; /* NULL: one process */
	void *out_owner;
	struct bf_fabric_uplink uplink; /* `takes` NULL: none */
	struct bf_port *beyond;         /* stands for all ports that the uplink leads to; no address, not in `ports` */
	uint32_t received;              /* frames from there, modulo 2^31 */
	struct bf_group *groups;        /* group.c */
};

/* Makes a lane ready; `fire` calls bf_lane_run(). */
void bf_lane_init(struct bf_lane *l, struct bf_sim *sim, bf_event_fn *fire);

/* Puts a frame in by its at_ps, behind those of the same time. */
void bf_lane_add(struct bf_lane *l, struct bf_packet *pkt);

/* The same by at_ps and id. */
void bf_lane_add_by_id(struct bf_lane *l, struct bf_packet *pkt);
struct bf_packet *bf_lane_take(struct bf_lane *l);

/* The lane's event: hands each frame that is due to `fn`, which owns it then. */
void bf_lane_run(struct bf_lane *l, void (*fn)(struct bf_lane *l, struct bf_packet *pkt));

/* Time on the wire of a frame of `len` bytes. */
static inline uint64_t bf_wire_ps(uint64_t ps_per_kib, uint32_t len)
{
	return ((len + 24ull) * ps_per_kib + 1023) / 1024; /* IEEE 802.3: preamble and start 8, FCS 4, gap 12 */
}

/* Events of a port: one for each lane; an injected outage is over. */
void bf_port_init_lanes(struct bf_port *p);
void bf_port_on_restore(struct bf_event *ev);
void bf_port_on_outage(struct bf_event *ev);

/* A frame that nobody gets: recorded at `actor`, counted for its sender, freed. */
void bf_frame_lose(uint32_t actor, struct bf_packet *pkt, uint8_t dir, enum bf_fabric_verdict verdict);

/* Destination QP of a RoCEv2 frame, 0 of others. */
uint32_t bf_frame_queue(const struct bf_packet *pkt);

/* Fields of the IPv4 header. */
#define BF_IP_SRC (BF_ROCE_ETH_LEN + 12)
#define BF_IP_DST (BF_ROCE_ETH_LEN + 16)
#define BF_IP_FIELDS_END (BF_ROCE_ETH_LEN + 20)

/* To an address of IPv4 multicast (RFC 5771), or raw. */
static inline bool bf_is_for_many(const struct bf_packet *pkt)
{
	return bf_packet_is_raw(pkt) || (pkt->len >= BF_IP_FIELDS_END && pkt->data[BF_IP_DST] >> 4 == 0xe);
}

/* The group that it goes to, if it is for many. */
static inline uint32_t bf_frame_group(const struct bf_packet *pkt)
{
	return bf_packet_is_raw(pkt) ? BF_FABRIC_RAW : bf_get_be32(pkt->data + BF_IP_DST);
}

/* The same frame once more, as it is on its way; NULL: no memory. */
struct bf_packet *bf_packet_copy(const struct bf_packet *pkt);

/*
 * group.c: where a frame to a group goes that `p` sends, one place after the other, the first one `after` NULL; the
 * uplink's is the last. NULL: nowhere else.
 */
struct bf_port *bf_group_next(const struct bf_port *p, const struct bf_packet *pkt, const struct bf_port *after);
/* A frame to a group from outside, for all ports that want it. Takes it. */
void bf_group_receive(struct bf_fabric *f, struct bf_packet *pkt);
/* A raw frame from outside, likewise. */
void bf_group_receive_raw(struct bf_fabric *f, struct bf_packet *pkt);
int bf_groups_tell_uplink(struct bf_fabric *f); /* a new one, of all groups that there are */
void bf_groups_free(struct bf_fabric *f);

/* bf_port_receive() of a frame that says whether it is a raw one. */
void bf_port_receive_frame(struct bf_port *p, struct bf_packet *pkt);

/* Flips one bit; not in the byte of BTH that the ICRC leaves out, nor in headers with a check of their own. */
void bf_frame_corrupt(struct bf_packet *pkt, uint64_t draw);

/* The last bit of a frame for another rank's port has left. */
void bf_gateway_send(struct bf_lane *l, struct bf_packet *pkt);

#endif
