/*
 * The outside: joins this process's fabric with those of other processes on this machine (rings in shared memory) and
 * with whatever speaks RoCEv2 (UDP port 4791).
 *
 * Frames for a port of this process whose queue pair is one of this process's stay inside. Frames for a queue pair of
 * another process on this machine (its number says whose, see bf_outside_slot()) go into a ring of that process, in
 * order; those for other addresses leave by UDP, where that is on. Nothing is lost in a ring: a full one holds frames
 * back at the sender, for each destination queue pair apart, so that one slow receiver does not stop the others.
 *
 * Rings are anonymous memory that processes hand each other through sockets of the abstract name space, so that nothing
 * stays behind whatever way a process ends. A process that is gone is a destination that does not answer.
 *
 * By UDP frames go as a socket sends them: from its own port (4791, not the model's, which differs by queue pair),
 * whole or not at all (a path that is too narrow for the queue pairs' MTU is told once, in bf_outside_error()), and
 * with the ICRC that is right for that, whether the model computes one or not. What arrives has its ICRC checked here
 * and is given headers as a NIC sees them. The port's address must be the one that UDP has: frames of others find no
 * way.
 *
 * Frames to a multicast group go to every process of the network that has joined it; with UDP as multicast of IPv4
 * from the interface of the port's address instead, which other processes of this machine hear as others do.
 *
 * With a rate, datagrams to one address leave no faster than that, in order, on the simulation's clock; frames that
 * wait for their turn are held back as those for a full ring are.
 *
 * All calls are for the thread that holds the simulation; a thread of its own watches sockets. The futex word may be
 * waited on by any thread.
 */
#ifndef BELFRY_MODELS_FABRIC_OUTSIDE_H
#define BELFRY_MODELS_FABRIC_OUTSIDE_H

#include "models/fabric/fabric.h"
#include "models/fabric/roce.h"

struct bf_outside; /* opaque */

#define BF_OUTSIDE_SLOTS 1024u /* processes of one network on one machine */
#define BF_OUTSIDE_QPNS 16384u /* queue pair numbers of each: slot * BF_OUTSIDE_QPNS up */

struct bf_outside_opts {
	const char *network;     /* name that processes have in common; NULL: "default" */
	uint32_t udp_ipv4;       /* local address to send from and listen at, host order; 0: no UDP */
	uint16_t udp_port;       /* 0: BF_ROCE_UDP_PORT */
	uint64_t udp_bits_per_s; /* to each address, 1000000 and up; 0: as fast as the socket takes them */
	uint32_t ring_bytes;     /* of each ring; 0: 1 MiB */
};

/*
 * Joins the network. Ports of `f` that are attached later take part as well. -ENOSPC when all slots are taken,
 * -EADDRINUSE for the UDP address, -EMSGSIZE when its interface carries no path MTU, -EINVAL for a name that is empty
 * or too long, -ENOTSUP in a topology, -ENOMEM or what the kernel said; text in sim->error.
 */
int bf_outside_open(struct bf_sim *sim, struct bf_fabric *f, const struct bf_outside_opts *opts,
		    struct bf_outside **out);
/* Leaves. Before the fabric is destroyed. NULL is fine. */
void bf_outside_close(struct bf_outside *o);

/* The slot of this process, 0 up: its queue pair numbers start at slot * BF_OUTSIDE_QPNS (plus a device's reserve). */
uint32_t bf_outside_slot(const struct bf_outside *o);

/*
 * Queue pair 1 is every process's: each has its part of what is one kernel on other machines. `whose` says for a frame
 * to queue pair 1 of this machine's address which process (slot) has the part that it is about; its own slot also when
 * there is nobody. Without it such frames stay inside. `gone` is told of a process that has sent frames here and is no
 * more, whatever way it went, after the last of them.
 */
typedef uint32_t bf_outside_whose_fn(void *owner, const struct bf_packet *pkt);
typedef void bf_outside_gone_fn(void *owner, uint32_t slot);
void bf_outside_set_kernel(struct bf_outside *o, bf_outside_whose_fn *whose, bf_outside_gone_fn *gone, void *owner);

/*
 * Services that at most one process of this machine has. A claim takes the number, and with `found` (or by the second
 * call, later) others find this process by it. It lasts until it is given back or the process ends, however that comes.
 * 0, -EADDRINUSE when somebody has it, or what the kernel said; `claim` is to be given back in any case.
 */
int bf_outside_claim(struct bf_outside *o, uint64_t service, bool found, int claim[2]);
int bf_outside_claim_found(struct bf_outside *o, uint64_t service, int claim[2]);
void bf_outside_unclaim(int claim[2]);
/* The slot of the process that is found by it; -ENOENT: nobody is. */
int bf_outside_find_service(const struct bf_outside *o, uint64_t service);

/* Hands frames that have come to their ports (bf_port_receive()), at most `budget`; returns how many. */
uint32_t bf_outside_poll(struct bf_outside *o, uint32_t budget);

/* Wakes those whom frames were sent to since the last call, and sends the batch that waits for UDP. */
void bf_outside_flush(struct bf_outside *o);

/* True while frames are held back for want of room: poll again soon. */
bool bf_outside_blocked(const struct bf_outside *o);

/*
 * To sleep: bf_outside_sleep(o, &word, &value), which flushes; false: something is there already. Otherwise look once
 * more at whatever else there is to wait for, then FUTEX_WAIT (a shared futex, not FUTEX_PRIVATE_FLAG) on `*word` for
 * `value`, with the caller's time-out. bf_outside_awake(o) in any case. Others bump the word and wake after they have
 * put frames for a sleeper, and when there is room for frames that were held back.
 */
bool bf_outside_sleep(struct bf_outside *o, uint32_t **word, uint32_t *value);
void bf_outside_awake(struct bf_outside *o);
/* Any thread: wakes the sleeper (a timer was set, the end has come). */
void bf_outside_wake(struct bf_outside *o);

/*
 * Any thread, without the simulation: whether others have shown frames since bf_outside_poll() was called last. A
 * thread that is going to ask may say so by bf_outside_looking(until), CLOCK_MONOTONIC in nanoseconds: until then
 * others do not wake the sleeper, who must look by itself now and then as long as this goes on, and takes it back with
 * 0 before it sleeps for longer.
 */
bool bf_outside_has_news(const struct bf_outside *o);
bool bf_outside_has_sources(const struct bf_outside *o); /* is there anybody who could? */
void bf_outside_looking(struct bf_outside *o, uint64_t until_ns);

/* After fork() in the child: forgets everything without a word to the others. */
void bf_outside_forked(struct bf_outside *o);

/*
 * The largest path MTU, 256 to 4096, that the interface with UDP's address carries: its own MTU less 80 bytes for all
 * headers, as Linux's soft-RoCE reckons (rxe_param.h RXE_MAX_HDR_LENGTH). 4096 without UDP, or when the system does not
 * tell.
 */
uint32_t bf_outside_mtu(const struct bf_outside *o);

/* The last trouble with another process or with UDP, as text; its code is 0 while there was none. */
const struct bf_error *bf_outside_error(const struct bf_outside *o);

/*
 * Statistics: outside.tx_frames and .rx_frames (by rings), .held (frames that waited for room), .lost (nobody there, or
 * more than can be held), .peers (processes connected to), .cut_off (of those that made no sense), .udp_tx, .udp_rx,
 * .udp_dropped (arrivals for which the socket had no room), .udp_paced (frames that waited for their turn) and
 * .udp_errors (datagrams that the kernel refused, and arrivals that were no packet for us or had a wrong ICRC).
 */

#endif
