/* Records of the fabric (type numbers 200 to 249). */
#ifndef BELFRY_MODELS_FABRIC_RECORDS_H
#define BELFRY_MODELS_FABRIC_RECORDS_H

#include "sim/record.h"

/*
 * A frame was sent (tail: its bytes as they are on the wire) or has arrived, been dropped or lost. The actor is the
 * port at which that happens, `peer` the IPv4 address of the port at the other end (0: no such port). `packet` is the
 * sender's address and its count of frames. Nothing here depends on which process simulates which port.
 */
#define BF_REC_PACKET_FIELDS(F)                                                                                      \
	F(u64, packet, HEX, "")                                                                                      \
	F(u32, peer, HEX, "")                                                                                        \
	F(u16, len, DEC, "B")                                                                                        \
	F(u8, dir, ENUM, "0=tx;1=rx")                                                                                \
	F(u8, verdict, ENUM,                                                                                         \
	  "0=ok;1=dropped;2=corrupted;3=duplicate;4=delayed;5=reordered;6=no-route;7=link-down;8=overflow")
BF_RECORD_DECLARE(packet, 200, BF_CLASS_NET, BF_REC_PACKET_FIELDS);

/* A port's link was cut or restored. */
#define BF_REC_LINK_FIELDS(F) F(u32, up, ENUM, "0=down;1=up")
BF_RECORD_DECLARE(link, 201, BF_CLASS_NET, BF_REC_LINK_FIELDS);

#endif
