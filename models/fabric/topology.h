/*
 * Topologies as text: which switches there are, how they are joined, and how they queue.
 *
 *   switch                         one ideal switch (the default; see fabric.h). Takes no options.
 *   leaf-spine [OPTION]...         hosts on leaves, every leaf joined to every spine
 *   rail [OPTION]...               the same, but NIC n of every host hangs on a leaf of rail n, so that traffic between
 *                                  equal NICs of nearby hosts needs one switch; spines=0 leaves the rails apart
 *
 *   leaves=N            1..1024 (rail: of each rail)                                        [2; rail: 1]
 *   rails=N             1..16, rail only                                                    [8]
 *   spines=N            1..256; rail: 0..256                                                [2]
 *   hosts-per-leaf=N    1..4096                                                             [32]
 *   host-link=RATE      of the links to hosts, 1G..1600G                                    [400G]
 *   uplink=RATE         of the links between leaf and spine                                 [400G]
 *   latency=TIME        of every link with its share of the switch, 1ns..1ms                [300ns]
 *   buffer=SIZE         of each switch, shared by its queues, 64K..1G                       [32M]
 *   queue=SIZE          most that one queue may take of it (a lossy switch drops behind it) [a quarter]
 *   pfc=on|off          lossless by priority flow control                                   [on]
 *   xoff=SIZE xon=SIZE  bytes of one ingress and priority that stop and restart its sender  [256K, 128K]
 *   ecn=on|off          marking between kmin and kmax                                       [on]
 *   kmin=SIZE kmax=SIZE queue depth at which marking begins and above which all are marked  [100K, 400K]
 *   pmax=PERCENT        probability just below kmax, 0..100                                 [20]
 *   cc=on|off           NICs answer marks by CNPs and slow flows down (DCQCN); needs ecn    [off]
 *   detect=TIME         until all switches route around a broken link, at least latency     [50us]
 *
 * A host of several NICs in a leaf-spine has them all on its leaf. SIZE: bytes, or with K, M, G (powers of 1024).
 * RATE: gigabits a second, with G. TIME as in fault plans. Words are separated by blanks. Defaults of kmin, kmax and
 * pmax: docs/hardware/roce.md#switches-1; the others are assumed.
 *
 * Switches store and forward. A frame's priority is the upper three bits of its DSCP; of the frames that wait for a
 * link the highest priority goes first. Leaves spread flows over the spines that lead to the destination by a hash of
 * addresses and UDP source port, seeded by switch; when the set of working links changes (detect later, everywhere at
 * once) flows move. With pfc every priority is lossless as long as the buffer holds xoff and what is under way for each
 * neighbour: links stay stopped until xon (frames that renew a pause are not modelled). Marking follows the depth of
 * the queue of the frame's priority when it joins; frames whose IP header does not say ECT are not marked.
 *
 * Parsing needs no simulation and has no state: any thread.
 */
#ifndef BELFRY_MODELS_FABRIC_TOPOLOGY_H
#define BELFRY_MODELS_FABRIC_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/error.h"

struct bf_fabric;

enum bf_topology_kind { BF_TOPOLOGY_SWITCH, BF_TOPOLOGY_LEAF_SPINE, BF_TOPOLOGY_RAIL };

/* What a text says, defaults filled in. */
struct bf_topology {
	enum bf_topology_kind kind;
	bool pfc, ecn, cc;
	uint64_t leaves; /* of each rail */
	uint64_t rails;  /* 1 in a leaf-spine */
	uint64_t spines, hosts_per_leaf;
	uint64_t host_gbps, up_gbps;
	uint64_t latency_ps, detect_ps;
	uint64_t buffer, queue, xoff, xon, kmin, kmax; /* bytes */
	uint64_t pmax;                                 /* percent */
};

/* -EINVAL with column and reason in `err`; `*out` is cleared then. NULL and "" are "switch". */
int bf_topology_parse(const char *text, struct bf_topology *out, struct bf_error *err);

/* The topology as text that parses to the same; like snprintf(). */
size_t bf_topology_describe(const struct bf_topology *t, char *buf, size_t cap);

/* Hosts that have a place, UINT32_MAX for the ideal switch. */
uint32_t bf_topology_hosts(const struct bf_topology *t);

/*
 * Before the first port is attached. `t` is copied. -EBUSY afterwards, -EINVAL for values that no text gives, -ENOMEM;
 * text in the simulation's error. Ports then name their place (bf_port_opts.host and .rail).
 */
int bf_fabric_set_topology(struct bf_fabric *f, const struct bf_topology *t);

/*
 * One direction of a link in a topology of several switches, and what it has carried. An actor of kind "link" has its
 * name ("leaf0-spine1"; "leaf0-host3", or "leaf0-host3.1" for rail 1), which fault plans use as well: link-down cuts
 * both directions, drop and corrupt meet frames of this one. What happens on the way from a host to its leaf is
 * recorded at its port, and faults there name the port; only `link_load` is of the link ("host3-leaf0").
 */
enum bf_fabric_link_kind { BF_LINK_FROM_HOST, BF_LINK_TO_HOST, BF_LINK_UP, BF_LINK_DOWN };
struct bf_fabric_link {
	const char *name, *from, *to;
	enum bf_fabric_link_kind kind;
	uint32_t actor;
	uint32_t gbps;
	bool up;
	bool here; /* simulated by this process; otherwise nothing is counted */
	uint64_t packets, bytes;
	uint64_t dropped;               /* here: full buffer or queue, link down, fault plan */
	uint64_t marked;                /* ECN */
	uint64_t pauses, pause_ps;      /* times that its sender was told to stop; how long some priority stood still */
	uint64_t busy_ps;               /* time in which it was sending */
	uint64_t queue_max, queue_mean; /* bytes that wait for it or are being sent */
};

/* Calls `fn` for each direction of each link: between switches first, then of hosts in order of attachment. */
void bf_fabric_links(const struct bf_fabric *f, void (*fn)(void *arg, const struct bf_fabric_link *link), void *arg);

/* Cuts or restores a link by the name of one of its directions. -ENOENT; text in the simulation's error. */
int bf_fabric_set_link(struct bf_fabric *f, const char *name, bool up);

/* Emits a `link_load` record for each of them (BF_CLASS_NET), for pictures drawn from traces. At the end of a run. */
void bf_fabric_report(struct bf_fabric *f);

#endif
