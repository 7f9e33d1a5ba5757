/*
 * The fabric: ports, links and packets in flight.
 *
 * Unless a topology is set (models/fabric/topology.h), each port has one full-duplex link to an ideal output-queued
 * switch: a packet is serialised on its sender's link, crosses the switch, is serialised on the receiver's link and
 * handed to the receiver when its last byte has arrived. Frames that reach the switch in one picosecond queue in order
 * of packet id, that is by sender's address. Packets are real Ethernet frames in pooled buffers; the destination is
 * found by destination IPv4 address. On the wire a frame takes 24 bytes more than its length (IEEE 802.3: preamble 8,
 * FCS 4, gap 12).
 *
 * A cut happens at the port's end of the cable: a frame that it sends survives once its last bit has left, a frame for
 * it is lost until its last bit is in.
 *
 * Loss, duplication, reordering, delay, corruption and cut links come from the fault plan. Each frame sent is one
 * opportunity for each of those kinds: actor is the sending port, queue the destination QP of a RoCEv2 frame (0 of
 * others). A delayed frame holds up those behind it on its link, a reordered one alone is late and lets them pass. A
 * corrupted frame has one bit flipped behind its IP header, where only the ICRC finds it.
 *
 * Nothing is allocated in steady state. One thread.
 */
#ifndef BELFRY_MODELS_FABRIC_FABRIC_H
#define BELFRY_MODELS_FABRIC_FABRIC_H

#include "sim/fault.h"
#include "sim/sim.h"

#define BF_PACKET_HEADERS 256u /* the largest RoCEv2 header stack, pad, ICRC and room */
#define BF_PACKET_MAX (4096u + BF_PACKET_HEADERS)

struct bf_fabric;
struct bf_packets;
struct bf_port;

/*
 * A frame. `data` is 64-byte aligned and as long as was asked for. Owned by whoever holds it; bf_packet_free() returns
 * it to its fabric's pool.
 */
struct bf_packet {
	uint64_t id; /* sender's address above, its count of frames (from 1) below 2^32; 0 before it is sent */
	uint32_t len;
	uint32_t flags; /* free for the owner */
	struct bf_packet *next;
	struct bf_packets *home; /* where it lies when nobody has it */
	uint64_t at_ps;          /* from here to `value`: the fabric's */
	struct bf_port *from, *to;
	uint32_t hop;
	uint8_t verdict, kind, priority, value; /* of a frame `value` says that it is a raw one */
	uint8_t data[] __attribute__((aligned(64)));
};

/* Was it sent by bf_port_send_raw()? Of a frame that has arrived. */
static inline bool bf_packet_is_raw(const struct bf_packet *pkt)
{
	return pkt->value != 0;
}

/* Called when a frame has arrived. The callee owns the packet. */
typedef void bf_port_rx_fn(void *owner, struct bf_packet *pkt);

/* A frame is on its way down to the port: a hint to have at hand what it will need. It may still be lost. */
typedef void bf_port_expect_fn(void *owner, const struct bf_packet *pkt);

/* Called when a port's link has gone down or come up, whoever did that. Must not send. */
typedef void bf_port_link_fn(void *owner, bool up);

/*
 * Who talks to the owner's queue pair `qpn`: the number of the one queue pair at the other end, 0 when there is none or
 * more than one. Congestion control asks, since packets name only where they go.
 */
typedef uint32_t bf_port_peer_fn(void *owner, uint32_t qpn);

struct bf_port_opts {
	const char *name;    /* "nic0.p1" */
	uint32_t ipv4;       /* host order, e.g. 0x0a000001; unique in the fabric */
	uint8_t mac[6];      /* all zero: derived from ipv4, locally administered */
	uint64_t latency_ps; /* of the link and its half of the switch, one way */
	uint64_t ps_per_kib; /* wire time of 1024 bytes */
	bf_port_rx_fn *rx;
	bf_port_expect_fn *expect; /* may be NULL */
	bf_port_link_fn *link;     /* may be NULL */
	bf_port_peer_fn *peer;     /* may be NULL: then this port neither sends CNPs nor heeds them */
	void *owner;
	uint32_t host, rail; /* where it is in a topology: number of the host, of the NIC (and port) in it */
};

/* How long an injected delay, reordering or link outage lasts when its rule does not say. Assumed. */
#define BF_FABRIC_DELAY_PS (10 * BF_US)
#define BF_FABRIC_REORDER_PS (5 * BF_US)
#define BF_FABRIC_OUTAGE_PS (100 * BF_US)

/* Returns 0 or -ENOMEM. */
int bf_fabric_create(struct bf_sim *sim, struct bf_fabric **out);
void bf_fabric_destroy(struct bf_fabric *f); /* after its ports' owners; frees all packets. NULL is fine */

/*
 * Attaches a port. `opts` is copied, its name included, and the name becomes an actor of kind "port". -EEXIST when the
 * address is taken, -ENOMEM; text in sim->error. Ports live as long as the fabric; one that was detached is taken up
 * again, as it is, by the same name and address: a device that was reset. Statistics: NAME.tx_packets and so
 * on, and NAME.lost_injected, .lost_no_route, .lost_link_down of the frames that this port sent and nobody got.
 */
int bf_fabric_attach(struct bf_fabric *f, const struct bf_port_opts *opts, struct bf_port **out);

/* The owner goes away: frames that arrive from now on are thrown away, and others cannot have the address. */
void bf_port_detach(struct bf_port *p);

/* Read-only view of a port. `dropped` counts frames that this port sent and nobody got, whatever the reason. */
struct bf_port_info {
	const char *name;
	uint32_t ipv4;
	uint32_t actor;
	uint8_t mac[6];
	bool up;
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, dropped;
};
void bf_port_info(const struct bf_port *p, struct bf_port_info *out);

/* MAC of the port that has `ipv4` (what ARP would answer). -ENOENT when nobody has it. */
int bf_fabric_resolve(struct bf_fabric *f, uint32_t ipv4, uint8_t mac[6]);

/*
 * A fresh packet (id, len and flags 0, bytes as they are), or NULL on lack of memory: for any frame, or for one with
 * at most `payload` bytes after the headers of RoCEv2. The pool grows and is reused.
 */
struct bf_packet *bf_packet_alloc(struct bf_fabric *f);
struct bf_packet *bf_packet_alloc_for(struct bf_fabric *f, uint32_t payload);
void bf_packet_free(struct bf_packet *pkt);

/*
 * Sends; takes the packet. Frames for nobody, or over a link that is down, are dropped and counted, as are frames
 * longer than BF_PACKET_MAX.
 */
void bf_port_send(struct bf_port *p, struct bf_packet *pkt);

/*
 * Sends a frame that is Ethernet and may be nothing else, at least 14 bytes of it; takes the packet. Nobody looks at
 * addresses of IP in it, unless it is RoCEv2: all ports that have joined BF_FABRIC_RAW get a copy, as on a hub, and say
 * themselves what they take; the sender's own port if the frame is for its MAC or for many. As frames to groups
 * otherwise.
 */
void bf_port_send_raw(struct bf_port *p, struct bf_packet *pkt);
#define BF_FABRIC_RAW 0xe0000000u /* bf_port_join(): an address that no group has (RFC 5771 section 4) */

/*
 * What the owner puts into the ECN bits of RoCEv2 frames: 2 (ECT(0)) when switches here may mark them, otherwise 0.
 */
uint8_t bf_port_ecn(const struct bf_port *p);

/* Time at which the port's transmit side is idle: a sender that wants to pace itself asks. */
uint64_t bf_port_tx_free_ps(const struct bf_port *p);

/*
 * Frames for queue pair `qpn` that an uplink holds back since nobody takes them: they are neither lost nor on their
 * way. 0 without an uplink. Senders do not add many to them.
 */
uint32_t bf_port_tx_held(const struct bf_port *p, uint32_t qpn);
/*
 * A time-out is due: is the other side at fault? False while frames for queue pair `qpn` of `ipv4` are held back, while
 * its process has not come to those that were sent to it (it has to wait for a processor), or what that one has sent is
 * still to be taken here. Then the time-out is to ask again in a moment, with the same `wait`, which is all zeros when
 * it asks for the first time. True also when nobody is there, or one who has done nothing for BF_UPLINK_PATIENCE_PS.
 * Without an uplink true.
 */
struct bf_fabric_wait {
	uint64_t sent, came; /* how far frames to that process, and from it, are to be seen to; 0: not known yet */
	uint64_t since_ps;   /* that was asked first */
	bool looked;         /* at sockets */
};
bool bf_port_tx_unanswered(const struct bf_port *p, uint32_t ipv4, uint32_t qpn, struct bf_fabric_wait *wait);
/*
 * As bf_port_tx_free_ps(), for frames to queue pair `qpn` alone: BF_UPLINK_BUSY_PS ahead while BF_UPLINK_HELD_MAX of
 * its own are held back, whatever others have. Who looks first would take all the room each time otherwise.
 */
uint64_t bf_port_tx_free_for_ps(const struct bf_port *p, uint32_t qpn);

/*
 * Cuts (false) or restores (true) the port's link. Frames in flight on it are lost; an injected outage that is still on
 * does not restore it behind the caller's back.
 */
void bf_port_set_link(struct bf_port *p, bool up);

/*
 * The port's owner wants what is sent to the group `ipv4` (224.0.0.0/4, host order), its own frames included, until
 * bf_port_leave() was called as often. A frame to a group that nobody wants finds no route. In a topology, and from
 * rank to rank, none is carried: only the sender's own port may have it. -ENOMEM, or what the uplink says.
 */
int bf_port_join(struct bf_port *p, uint32_t ipv4);
void bf_port_leave(struct bf_port *p, uint32_t ipv4);

/*
 * Where frames go that leave this process (models/fabric/outside.h). `takes` looks at a frame that is about to be
 * delivered to the local port `ipv4`, or that is sent to an address nobody here has; when it says yes, the frame is
 * handed to `send`, which owns it, at the moment when it would have arrived. Faults of the plan have been applied
 * before. With `busy` (may be NULL) saying yes bf_port_tx_free_ps() lies BF_UPLINK_BUSY_PS ahead, so that senders who
 * pace themselves wait. `held` and `unanswered` (may be NULL): bf_port_tx_held(), bf_port_tx_unanswered(). `group` (may
 * be NULL) hears of a multicast group that the first port here wants, or no port any more: 0, or a negative errno for
 * bf_port_join(). Of a frame to a group, `takes` is asked with the group's address, and a copy of it is handed to
 * `send`. NULL takes the uplink away, and frames that were on their way to unknown addresses with it. Only with the
 * ideal switch: -ENOTSUP in a topology. -ENOMEM, or what `group` said; text in sim->error.
 */
struct bf_fabric_uplink {
	bool (*takes)(void *owner, uint32_t ipv4, const struct bf_packet *pkt);
	void (*send)(void *owner, struct bf_packet *pkt);
	bool (*busy)(void *owner);
	uint32_t (*held)(void *owner, uint32_t qpn);
	bool (*unanswered)(void *owner, uint32_t ipv4, uint32_t qpn, struct bf_fabric_wait *wait);
	int (*group)(void *owner, uint32_t ipv4, bool join);
	void *owner;
};
#define BF_UPLINK_BUSY_PS (20 * BF_US)
#define BF_UPLINK_PATIENCE_PS (30 * BF_S) /* ours: for one that was stopped, or waits in a debugger */
#define BF_UPLINK_HELD_MAX 32u            /* frames for one queue pair after which its senders make no more */
int bf_fabric_set_uplink(struct bf_fabric *f, const struct bf_fabric_uplink *uplink);

/*
 * A frame from outside is at the port: its owner gets it now. Takes the packet (bf_packet_alloc()). Its `id` becomes
 * its sender's address above a count of all frames from outside with bit 31 set; its record has its bytes.
 */
void bf_port_receive(struct bf_port *p, struct bf_packet *pkt);

/* The port with that address; NULL when this process has none. */
struct bf_port *bf_fabric_find(const struct bf_fabric *f, uint32_t ipv4);

/*
 * Simulations spread over processes ("ranks"): each process has the ports of its part, and knows the others' as remote
 * ones. What happens to a frame does not depend on who simulates which port.
 *
 * bf_fabric_attach_remote() tells that the port `ipv4` is simulated by `rank`; in a topology of several switches say
 * where with bf_fabric_attach_remote_at(). -EEXIST, -ENOMEM, -EINVAL (no such place); text in sim->error. Its MAC is
 * taken to be the one derived from the address.
 */
int bf_fabric_attach_remote(struct bf_fabric *f, uint32_t ipv4, uint32_t rank);
int bf_fabric_attach_remote_at(struct bf_fabric *f, uint32_t ipv4, uint32_t rank, uint32_t host, uint32_t rail);

/*
 * Called with something that leaves for another rank, as opaque bytes (at most BF_FABRIC_MESSAGE_MAX, valid during the
 * call) that bf_fabric_deliver() there takes. `at_ps` is when it matters there: bf_fabric_lookahead_ps() after now, or
 * later. Messages from one rank to another must be delivered in the order of these calls.
 */
typedef void bf_fabric_out_fn(void *owner, uint32_t rank, uint64_t at_ps, const void *bytes, size_t len);
#define BF_FABRIC_MESSAGE_MAX (BF_PACKET_MAX + 64u)

/* This process is `my_rank` and sends through `out`. Before the first port is attached. */
void bf_fabric_set_gateway(struct bf_fabric *f, uint32_t my_rank, bf_fabric_out_fn *out, void *owner);

/* Takes a message of another rank's. -EBADMSG for bytes that are none or come too late, -ENOMEM; text in sim->error. */
int bf_fabric_deliver(struct bf_fabric *f, const void *bytes, size_t len);

/* How far ahead this process sees: the shortest latency of its links; BF_NEVER without ports. */
uint64_t bf_fabric_lookahead_ps(const struct bf_fabric *f);

/* Every frame is a `packet` record when it is sent and when it arrives or is lost: models/fabric/records.h. */

#endif
