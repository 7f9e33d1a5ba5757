/*
 * The outside's inside. A frame that leaves travels through outside.c (which way?), outside_peer.c (into the ring of
 * another process, or held back) or udp.c; one that comes through outside.c or udp.c to its port. Processes find each
 * other in outside_meet.c; outside_watch.c is the thread that sleeps at the sockets. Which process offers a service
 * is told by outside_claim.c, who wants the frames of a multicast group by outside_group.c.
 *
 * Everything but `door`, `ready` and `stop` belongs to the thread that holds the simulation.
 */
#ifndef BELFRY_MODELS_FABRIC_OUTSIDE_INTERNAL_H
#define BELFRY_MODELS_FABRIC_OUTSIDE_INTERNAL_H

#include <pthread.h>

#include "models/fabric/fabric_internal.h"
#include "models/fabric/outside.h"
#include "models/fabric/shm_ring_internal.h"

#define ROCE_MTU_MAX 4096u
#define OUTSIDE_HELD_BUSY 1024u /* held frames from which on senders are asked to wait */
#define BF_OUTSIDE_QP1 1u
#define OUTSIDE_HELD_MAX 32768u /* no more than that: what comes then is lost */

/* Frames for one queue pair that did not fit into its process's ring. */
struct bf_held {
	struct bf_packet *first, *last;
	struct bf_held *next; /* in the ring of queue pairs that have some */
	uint32_t count;
};

/* A process that frames go to. */
struct bf_peer {
	uint32_t slot;
	int fd; /* control socket, -1: not connected */
	struct bf_shm_ring ring;
	struct bf_door *door; /* NULL until it has answered */
	bool touched;         /* has frames that it was not told of */
	struct bf_peer *next_touched;
	uint64_t retry_ns;    /* nobody was there: not before this time again */
	struct bf_held *held; /* by queue pair number, BF_OUTSIDE_QPNS of them; NULL until one is needed */
	struct bf_held *turn; /* the last of the ring of those that have frames; NULL: none */
	bool blocked;         /* in the list of those that have frames held back */
	uint64_t idle_at;     /* how far it had answered when a time-out looked ... */
	uint64_t idle_ps;     /* ... and since when it has not come further */
	struct bf_peer *next_blocked;
};

/* A process that frames come from. */
struct bf_source {
	int fd; /* -1: it is gone, and what it left is being taken */
	uint32_t slot;
	struct bf_shm_ring ring; /* mapped after its greeting */
	struct bf_door *door;
};

struct bf_udp;
struct sockaddr_un;

struct bf_outside {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	char network[80];
	uint32_t slot, ring_bytes;
	struct bf_error error; /* the last trouble with another process */
	bool dead;             /* after a fork: everything is gone */

	int listener, epoll;
	struct bf_door *door; /* where this process sleeps */
	int door_fd;
	struct bf_peer *peers[BF_OUTSIDE_SLOTS];
	struct bf_peer *touched, *blocked;
	struct bf_source **sources;
	uint32_t nsources, sources_cap, next_source;
	uint32_t held; /* frames held back, for rings and UDP */
	bool took;     /* frames since sources were last told that they are answered */
	struct bf_udp *udp;
	struct bf_joined *joined;         /* multicast groups */
	struct bf_recipients *recipients; /* of frames to them; NULL: none was sent */
	bf_outside_whose_fn *whose;       /* NULL: frames to queue pair 1 stay inside */
	bf_outside_gone_fn *gone;
	void *kernel; /* whose both are */

	pthread_t watcher;
	int stop_fd;
	uint32_t ready; /* atomic, futex: the watcher has seen something and waits until it is seen to */
	uint32_t stop;  /* atomic */
	uint32_t woken; /* atomic: bf_outside_wake() was called */
	uint32_t idle_looks;

	struct {
		uint64_t tx_frames, rx_frames, held, lost, peers, cut_off;
		uint64_t udp_tx, udp_rx, udp_dropped, udp_paced, udp_errors;
	} count;
};

/* outside_peer.c: sends to the process that has `slot`; false: there is none. */
bool bf_peer_send(struct bf_outside *o, uint32_t slot, struct bf_packet *pkt);
uint32_t bf_peer_held(const struct bf_outside *o, uint32_t qpn); /* frames for that queue pair */
/*
 * Whether the process that has `slot` still has to come to what was sent to it, or held back for `qpn`, and is worth
 * waiting for. `*sent` is the time-out's (struct bf_fabric_wait).
 */
bool bf_peer_idles(struct bf_outside *o, uint32_t slot, uint32_t qpn, uint64_t *sent);
void bf_peer_release(struct bf_outside *o);                 /* what is held, as far as there is room now */
void bf_peer_flush(struct bf_outside *o);                   /* tells those who have got something */
void bf_peer_gone(struct bf_outside *o, struct bf_peer *p); /* held frames are lost */
void bf_peer_free(struct bf_outside *o, struct bf_peer *p);
void bf_outside_lose(struct bf_outside *o, struct bf_packet *pkt, enum bf_fabric_verdict verdict);

/* outside_meet.c. */
int bf_meet_open(struct bf_outside *o); /* takes a slot and listens */
void bf_meet_close(struct bf_outside *o);
int bf_meet_connect(struct bf_outside *o, struct bf_peer *p); /* -ENOENT: nobody is there */
/* Looks for arrivals at `ipv4`, and for room to send. */
int bf_meet_watch_udp(struct bf_outside *o, int fd, uint32_t ipv4, bool room);
bool bf_meet_look(struct bf_outside *o); /* at the sockets; true when there was something */
void bf_meet_knock(const struct bf_outside *o, const struct bf_peer *p); /* it has frames */
void bf_meet_hang_up(const struct bf_outside *o, int *fd);               /* -1 is fine, and becomes of it */
void bf_meet_cut_off(struct bf_outside *o, struct bf_source *s, const char *why);
void bf_meet_drop_source(struct bf_outside *o, struct bf_source *s);

/* outside_claim.c: names of the abstract name space. */
uint32_t bf_outside_name(const struct bf_outside *o, struct sockaddr_un *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int bf_outside_take_name(const struct sockaddr_un *at,
			 uint32_t len); /* a descriptor that has it, or a negative errno */

/* outside_group.c. */
int bf_outside_set_group(struct bf_outside *o, uint32_t ipv4, bool in); /* struct bf_fabric_uplink */
void bf_outside_drop_groups(struct bf_outside *o);
bool bf_outside_has_members(struct bf_outside *o, uint32_t ipv4);           /* in other processes */
void bf_outside_send_to_group(struct bf_outside *o, struct bf_packet *pkt); /* to them; takes it */
void bf_outside_forget_members(struct bf_outside *o);

/* outside_watch.c. */
int bf_watch_start(struct bf_outside *o);
void bf_watch_stop(struct bf_outside *o);
void bf_watch_arm(struct bf_outside *o); /* the watcher waits for sockets again */

/* udp.c. */
int bf_udp_open(struct bf_outside *o, uint32_t ipv4, uint16_t port, uint64_t bits_per_s);
void bf_udp_close(struct bf_outside *o); /* without one too */
void bf_udp_send(struct bf_outside *o, struct bf_packet *pkt);
void bf_udp_flush(struct bf_outside *o);
void bf_udp_ready(struct bf_outside *o, uint32_t ipv4, uint32_t events);
int bf_udp_join(struct bf_outside *o, uint32_t ipv4);
void bf_udp_leave(struct bf_outside *o, uint32_t ipv4);
uint32_t bf_udp_receive(struct bf_outside *o, uint32_t budget);
uint32_t bf_udp_mtu(const struct bf_outside *o);                /* bf_outside_mtu() */
uint32_t bf_udp_paced(const struct bf_outside *o);              /* frames that wait for their turn */
uint32_t bf_udp_held(const struct bf_outside *o, uint32_t qpn); /* likewise, for that queue pair */
bool bf_udp_unread(const struct bf_outside *o, uint32_t ipv4);  /* by a process of this machine at that address */
bool bf_udp_idle(const struct bf_outside *o);                   /* nothing more to receive as far as is known */

#endif
