/* Congestion control of a port (cc.c), used where frames leave and arrive. */
#ifndef BELFRY_MODELS_FABRIC_CC_INTERNAL_H
#define BELFRY_MODELS_FABRIC_CC_INTERNAL_H

#include "models/fabric/net_internal.h"

/* True when a frame of a slowed flow was taken, to be queued later. Only for a port that has state (p->cc). */
bool bf_cc_hold(struct bf_port *p, struct bf_packet *pkt);

/* Bytes that wait so. */
uint64_t bf_cc_held(const struct bf_port *p);

/* A frame arrives: a mark may send a CNP; true for a CNP, which is the port's own. */
bool bf_cc_receive(struct bf_port *p, struct bf_packet *pkt);

/* The link is cut: what waits is lost, rates stay. */
void bf_cc_lose(struct bf_port *p);
void bf_cc_destroy(struct bf_port *p);

#endif
