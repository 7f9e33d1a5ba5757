/* Records of the connection manager (type numbers 180 to 182). */
#ifndef BELFRY_MODELS_RDMACM_RECORDS_H
#define BELFRY_MODELS_RDMACM_RECORDS_H

#include "sim/record.h"

/* A message of the communication manager was sent or came. The number on the wire of who is meant is 0 when unknown. */
#define BF_REC_CM_MESSAGE_FIELDS(F)                                                                                    \
	F(u64, service, HEX, "")                                                                                       \
	F(u32, peer, HEX, "")                                                                                          \
	F(u32, local_id, HEX, "")                                                                                      \
	F(u32, remote_id, HEX, "")                                                                                     \
	F(u32, qpn, HEX, "")                                                                                           \
	F(u16, kind, ENUM, "16=REQ;17=MRA;18=REJ;19=REP;20=RTU;21=DREQ;22=DREP;23=SIDR_REQ;24=SIDR_REP;25=LAP;26=APR") \
	F(u16, reason, DEC, "")                                                                                        \
	F(u16, what, ENUM, "0=sent;1=sent-again;2=received;3=malformed;4=given-up")                                    \
	F(u16, tries_left, DEC, "")
BF_RECORD_DECLARE(cm_message, 180, BF_CLASS_NET, BF_REC_CM_MESSAGE_FIELDS);

/* An event for the program (enum rdma_cm_event_type of rdma/rdma_cma.h). */
#define BF_REC_CM_EVENT_FIELDS(F)                                                                                      \
	F(u32, id, DEC, "")                                                                                            \
	F(i32, status, INT, "")                                                                                        \
	F(u32, event, ENUM,                                                                                            \
	  "0=ADDR_RESOLVED;1=ADDR_ERROR;2=ROUTE_RESOLVED;3=ROUTE_ERROR;4=CONNECT_REQUEST;5=CONNECT_RESPONSE;"          \
	  "6=CONNECT_ERROR;7=UNREACHABLE;8=REJECTED;9=ESTABLISHED;10=DISCONNECTED;12=MULTICAST_JOIN;"                  \
	  "15=TIMEWAIT_EXIT")                                                                                          \
	F(u32, port, DEC, "")
BF_RECORD_DECLARE(cm_event, 181, BF_CLASS_QUEUE, BF_REC_CM_EVENT_FIELDS);

/* A command of the program ended: 0 or a negative errno. `id` is ~0 when there is none. */
#define BF_REC_CM_CALL_FIELDS(F)                                                                                       \
	F(i32, status, INT, "")                                                                                        \
	F(u32, id, DEC, "")                                                                                            \
	F(text32, name, TEXT, "")
BF_RECORD_DECLARE(cm_call, 182, BF_CLASS_QUEUE, BF_REC_CM_CALL_FIELDS);

#endif
