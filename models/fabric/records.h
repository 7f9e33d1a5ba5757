/* Records of the fabric (type numbers 200 to 249). */
#ifndef BELFRY_MODELS_FABRIC_RECORDS_H
#define BELFRY_MODELS_FABRIC_RECORDS_H

#include "sim/record.h"

/*
 * A frame was sent (tail: its bytes as they are on the wire) or has arrived, been dropped or lost. The actor is the
 * port at which that happens, `peer` the IPv4 address of the port at the other end (0: no such port). `packet` is the
 * sender's address and its count of frames. Nothing here depends on which process simulates which port.
 */
#define BF_REC_PACKET_FIELDS(F)                                                                                        \
	F(u64, packet, HEX, "")                                                                                        \
	F(u32, peer, HEX, "")                                                                                          \
	F(u16, len, DEC, "B")                                                                                          \
	F(u8, dir, ENUM, "0=tx;1=rx")                                                                                  \
	F(u8, verdict, ENUM,                                                                                           \
	  "0=ok;1=dropped;2=corrupted;3=duplicate;4=delayed;5=reordered;6=no-route;7=link-down;8=overflow")
BF_RECORD_DECLARE(packet, 200, BF_CLASS_NET, BF_REC_PACKET_FIELDS);

/* A port's link, or one direction of a link between switches, was cut or restored. */
#define BF_REC_LINK_FIELDS(F) F(u32, up, ENUM, "0=down;1=up")
BF_RECORD_DECLARE(link, 201, BF_CLASS_NET, BF_REC_LINK_FIELDS);

/*
 * A frame joined the queue of a link of a topology (the actor), which then holds `depth` bytes of its priority.
 * `marked`: it got an ECN mark. Frames that a switch loses are `packet` records of the link.
 */
#define BF_REC_HOP_FIELDS(F)                                                                                           \
	F(u64, packet, HEX, "")                                                                                        \
	F(u32, depth, DEC, "B")                                                                                        \
	F(u16, len, DEC, "B")                                                                                          \
	F(u8, priority, DEC, "")                                                                                       \
	F(u8, marked, ENUM, "0=no;1=yes")
BF_RECORD_DECLARE(hop, 210, BF_CLASS_NET, BF_REC_HOP_FIELDS);

/* The sender of a link has been told to stop, or may go on with, frames of a priority. */
#define BF_REC_PAUSE_FIELDS(F)                                                                                         \
	F(u32, priority, DEC, "")                                                                                      \
	F(u32, paused, ENUM, "0=no;1=yes")
BF_RECORD_DECLARE(pause, 211, BF_CLASS_NET, BF_REC_PAUSE_FIELDS);

/* From now on all switches know that a link is down or up. */
#define BF_REC_REROUTE_FIELDS(F) F(u32, up, ENUM, "0=down;1=up")
BF_RECORD_DECLARE(reroute, 212, BF_CLASS_NET, BF_REC_REROUTE_FIELDS);

/* Congestion control has cut the rate of what this port sends to a queue pair of an address. */
#define BF_REC_RATE_FIELDS(F)                                                                                          \
	F(u32, peer, HEX, "")                                                                                          \
	F(u32, qp, HEX, "")                                                                                            \
	F(u64, mbps, DEC, "Mb/s")
BF_RECORD_DECLARE(rate, 214, BF_CLASS_NET, BF_REC_RATE_FIELDS);

/* What one direction of a link has carried in the whole run: struct bf_fabric_link. Names are cut at 31 bytes. */
#define BF_REC_LINK_LOAD_FIELDS(F)                                                                                     \
	F(text32, from, TEXT, "")                                                                                      \
	F(text32, to, TEXT, "")                                                                                        \
	F(u64, packets, DEC, "")                                                                                       \
	F(u64, bytes, DEC, "B")                                                                                        \
	F(u64, dropped, DEC, "")                                                                                       \
	F(u64, marked, DEC, "")                                                                                        \
	F(u64, pauses, DEC, "")                                                                                        \
	F(u64, pause_ps, TIME, "ps")                                                                                   \
	F(u64, busy_ps, TIME, "ps")                                                                                    \
	F(u64, queue_max, DEC, "B")                                                                                    \
	F(u64, queue_mean, DEC, "B")                                                                                   \
	F(u32, gbps, DEC, "Gb/s")                                                                                      \
	F(u16, kind, ENUM, "0=from-host;1=to-host;2=up;3=down")                                                        \
	F(u16, up, ENUM, "0=down;1=up")
BF_RECORD_DECLARE(link_load, 213, BF_CLASS_NET, BF_REC_LINK_LOAD_FIELDS);

#endif
