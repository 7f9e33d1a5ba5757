/*
 * The connection manager's inside. A command arrives in decode.c, which checks it against a row of a table and calls
 * the row's handler: id.c (identifiers, events, files), address.c (binding, resolving), query.c, connect.c (listening,
 * connecting and their ends), multicast.c (groups), attributes.c (what a queue pair is to be set to). Those speak to
 * others through cm.c, and receive.c and request.c hear what comes. message.c builds the messages, wire.c sends them,
 * again if need be, and knows who is meant by their numbers; ports.c has the port space.
 */
#ifndef BELFRY_MODELS_RDMACM_INTERNAL_H
#define BELFRY_MODELS_RDMACM_INTERNAL_H

#include <errno.h>
#include <netinet/in.h> /* before the kernel's, which then leaves its own out */
#include <rdma/rdma_user_cm.h>
#include <string.h>

#include "models/rdmacm/mad.h"
#include "models/rdmacm/rdmacm.h"
#include "models/rdmacm/records.h"
#include "sim/rng.h"
#include "sim/sim.h"

#define BF_CM_BUCKETS 256u
#define BF_CM_NONE UINT32_MAX
#define BF_CM_SLOT_SHIFT 22 /* a number on the wire: the process's slot above, a count below */
#define BF_CM_IDS_MAX 65536u

/* As in cma.c: exponents of time, and how often a message is repeated. */
#define BF_CM_RESPONSE_TIMEOUT 20u
#define BF_CM_MAX_RETRIES 15u
#define BF_CM_MRA_TIMEOUT_MAX 24u
#define BF_CM_PACKET_LIFETIME 16u
#define BF_CM_ACK_DELAY 16u /* of the device (models/uverbs/mlx5/query.c) */
#define BF_CM_HOP_LIMIT 64u
#define BF_CM_SGID_INDEX 3u /* RoCE v2, of the IPv4 address (models/uverbs/gid.c) */
#define BF_CM_PKEY 0xffffu
#define BF_CM_UDP_QKEY 0x01234567u /* RDMA_UDP_QKEY of rdma/rdma_cm.h */

#define BF_AF_IB 27u

/* Numbers of the verbs (enum ib_qp_type, enum ib_event_type), and of rdma/rdma_cma.h enum rdma_cm_event_type. */
enum {
	BF_CM_QPT_RC = 2,
	BF_CM_QPT_UC = 3,
	BF_CM_QPT_UD = 4,
	BF_CM_QPT_XRC_INI = 9, /* asks, and sends */
	BF_CM_QPT_XRC_TGT = 10 /* is asked, and receives */
};
#define BF_CM_COMM_EST 4u
enum {
	BF_CM_ADDR_RESOLVED,
	BF_CM_ADDR_ERROR,
	BF_CM_ROUTE_RESOLVED,
	BF_CM_ROUTE_ERROR,
	BF_CM_CONNECT_REQUEST,
	BF_CM_CONNECT_RESPONSE,
	BF_CM_CONNECT_ERROR,
	BF_CM_UNREACHABLE,
	BF_CM_REJECTED,
	BF_CM_ESTABLISHED_EVENT,
	BF_CM_DISCONNECTED,
	BF_CM_MULTICAST_JOIN = 12,
	BF_CM_TIMEWAIT_EXIT = 15,
};

/* rdma_cm's states of an identifier (core/cma.c enum rdma_cm_state), as far as they last. */
enum bf_cma_state {
	BF_CMA_IDLE,
	BF_CMA_BOUND,
	BF_CMA_ADDR,
	BF_CMA_ROUTE,
	BF_CMA_CONNECT,
	BF_CMA_DISCONNECT,
	BF_CMA_LISTEN
};

/* ib_cm's states of a connection (include/rdma/ib_cm.h enum ib_cm_state), without those of alternate paths. */
enum bf_cm_state {
	BF_CM_NO_STATE, /* nothing was said yet */
	BF_CM_IDLE,     /* nothing will be said any more */
	BF_CM_REQ_SENT,
	BF_CM_REQ_RCVD,
	BF_CM_REP_SENT,
	BF_CM_REP_RCVD,
	BF_CM_ESTABLISHED,
	BF_CM_DREQ_SENT,
	BF_CM_DREQ_RCVD,
	BF_CM_TIMEWAIT,
	BF_CM_SIDR_REQ_SENT,
	BF_CM_SIDR_REQ_RCVD,
	BF_CM_SIDR_DONE,
};

struct bf_cm_id;

/* A port of a port space that identifiers of this process are bound to. */
struct bf_cm_port {
	struct bf_cm_port *next;
	uint64_t service;
	uint32_t users;
	bool found; /* others can find this process by it */
	int claim[2];
};

struct bf_cm_event {
	struct bf_cm_event *next;
	struct bf_cm_id *id;       /* that counts it as reported */
	struct bf_cm_id *fresh;    /* of a request to connect: nobody has it before the event is read */
	struct bf_cm_group *group; /* that counts it, too; or NULL */
	struct rdma_ucm_event_resp resp;
};

/* From here to the peer, as a path record says it. */
struct bf_cm_path {
	uint8_t sgid[16], dgid[16];
	uint32_t ipv4; /* the peer's, where its queue pair 1 is */
	uint32_t flow_label;
	uint16_t slid, dlid; /* 0: not InfiniBand */
	uint8_t mtu, traffic_class, hop_limit, sl;
};

/* What both sides say of their queue pairs. */
struct bf_cm_conn {
	uint32_t qpn, remote_qpn, qkey, psn, remote_psn; /* psn: where the peer starts to send */
	uint8_t responder_resources, initiator_depth;    /* as seen from here */
	uint8_t retry_count, rnr_retry, ack_timeout, flow_control, srq;
};

struct bf_cm_id {
	struct bf_rdmacm *cm;
	struct bf_rdmacm_file *file;
	struct bf_cm_id *next_by_number; /* in the bucket of its number on the wire */
	uint32_t number;                 /* what the program calls it */
	uint64_t uid;                    /* what the program wants to hear; 0 until it said so */
	uint32_t reported;               /* events that it has read */
	uint32_t backlog;                /* requests that may wait; of one that listens */
	uint16_t ps;
	uint8_t qp_type;
	uint8_t cma, state; /* enum bf_cma_state, enum bf_cm_state */
	bool reuse, afonly, afonly_set, tos_set, ack_timeout_set;
	uint8_t tos, ack_timeout;
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_storage room;
	} src, dst;
	struct bf_cm_port *port;
	const struct bf_rdmacm_device *device; /* NULL: of none yet */
	bool has_path;
	struct bf_cm_path path;
	struct bf_cm_conn conn;
	/* The protocol. */
	uint32_t local_id, remote_id; /* on the wire; local_id 0: it has not been heard of there */
	uint64_t tid, service;
	struct bf_event timer;
	uint64_t timeout_ps;
	uint32_t tries;          /* left */
	uint8_t retries;         /* as both agreed */
	uint8_t mad[BF_MAD_LEN]; /* the last message that may be repeated */
};

/* A multicast group that an identifier has joined. */
struct bf_cm_group {
	struct bf_cm_group *next; /* in order of numbers */
	struct bf_cm_id *id;
	uint32_t number;   /* what the program calls it */
	uint64_t uid;      /* what it wants to hear */
	uint32_t reported; /* events that it has read */
};

struct bf_rdmacm_file {
	struct bf_rdmacm *cm;
	struct bf_rdmacm_file *next;
	int fd;
	bool readable;
	struct bf_cm_event *first, **last;
};

/* Where a device's messages arrive. */
struct bf_cm_agent {
	struct bf_rdmacm *cm;
	const struct bf_rdmacm_device *device;
};

/* Who was asked by an identifier that is gone: the last word to them carries no number of theirs. */
#define BF_CM_GONE 8u
struct bf_cm_gone {
	uint32_t local_id, slot;
};

/* An answer that a peer asks for again when it is lost; it may ask when this process is no more. */
#define BF_CM_ANSWERS 32u
struct bf_cm_said {
	const struct bf_rdmacm_device *device; /* NULL: nothing was said yet */
	uint64_t at_ps;
	uint32_t ipv4;
	uint8_t mad[BF_MAD_LEN];
};

struct bf_rdmacm {
	struct bf_sim *sim;
	struct bf_rdmacm_opts opts;
	struct bf_cm_agent agent[BF_RDMACM_DEVICES];
	struct bf_cm_gone gone[BF_CM_GONE];
	uint32_t last_gone;
	struct bf_cm_said said[BF_CM_ANSWERS];
	uint32_t last_said;
	struct bf_rdmacm_file *files;
	struct bf_cm_id **ids; /* by the program's number */
	uint32_t room;
	struct bf_cm_group *groups;
	struct bf_cm_id *wire[BF_CM_BUCKETS];
	struct bf_cm_port *ports;
	uint32_t slot, last_id; /* numbers on the wire */
	uint32_t next_port, actor, opened;
	uint64_t last_tid;
	struct bf_rng rng;
	struct bf_rdmacm_counts count;
};

/* A command on its way: `in` has all bytes that its structure has, zeros where the program gave none. */
#define BF_CM_IN_MAX 512u
struct bf_cm_call {
	struct bf_rdmacm *cm;
	struct bf_rdmacm_file *f;
	union {
		uint8_t bytes[BF_CM_IN_MAX];
		struct rdma_ucm_create_id create_id;
		struct rdma_ucm_destroy_id destroy_id;
		struct rdma_ucm_bind_ip bind_ip;
		struct rdma_ucm_bind bind;
		struct rdma_ucm_resolve_ip resolve_ip;
		struct rdma_ucm_resolve_addr resolve_addr;
		struct rdma_ucm_resolve_route resolve_route;
		struct rdma_ucm_query query;
		struct rdma_ucm_connect connect;
		struct rdma_ucm_listen listen;
		struct rdma_ucm_accept accept;
		struct rdma_ucm_reject reject;
		struct rdma_ucm_disconnect disconnect;
		struct rdma_ucm_init_qp_attr init_qp_attr;
		struct rdma_ucm_get_event get_event;
		struct rdma_ucm_set_option set_option;
		struct rdma_ucm_notify notify;
		struct rdma_ucm_migrate_id migrate_id;
		struct rdma_ucm_join_ip_mcast join_ip_mcast;
		struct rdma_ucm_join_mcast join_mcast;
	} in;
	uint32_t out_len; /* bytes that the program has room for */
	uint32_t number;  /* of the identifier; for the record */
};

/* decode.c: at most as many bytes as there is room for. 0 or -EFAULT. */
int bf_cm_answer(struct bf_cm_call *c, uint64_t response, const void *from, uint32_t len);

/* id.c */
int bf_cm_create_id(struct bf_cm_call *c);
int bf_cm_destroy_id(struct bf_cm_call *c);
int bf_cm_get_event(struct bf_cm_call *c);
int bf_cm_migrate_id(struct bf_cm_call *c);
int bf_cm_set_option(struct bf_cm_call *c);
/* The program's identifier of that number: 0, -ENOENT, or -EINVAL for one of another file. */
int bf_cm_find(struct bf_cm_call *c, uint32_t number, struct bf_cm_id **out);
/* The same, of one that has a device: else -EINVAL. */
int bf_cm_find_ready(struct bf_cm_call *c, uint32_t number, struct bf_cm_id **out);
/* A new one; NULL: no memory. And its end, without a word to the peer. */
struct bf_cm_id *bf_cm_id_new(struct bf_rdmacm_file *f, uint64_t uid, uint16_t ps, uint8_t qp_type);
void bf_cm_id_free(struct bf_cm_id *id);
/* An event for the program, unless it does not know the identifier yet. `resp` (may be NULL) brings what it has. */
void bf_cm_tell(struct bf_cm_id *id, uint32_t event, int32_t status, const struct rdma_ucm_event_resp *resp);
/* The event of `fresh`, which a request to `listener` made. False: it cannot be told. */
bool bf_cm_tell_request(struct bf_cm_id *listener, struct bf_cm_id *fresh, struct rdma_ucm_event_resp *resp);

/* The same of a group, which goes with those that the program has not read. */
void bf_cm_tell_group(struct bf_cm_group *g, uint32_t event, const struct rdma_ucm_event_resp *resp);
void bf_cm_forget_events(const struct bf_cm_group *g);

/* multicast.c */
int bf_cm_join_ip_mcast(struct bf_cm_call *c);
int bf_cm_join_mcast(struct bf_cm_call *c);
int bf_cm_leave_mcast(struct bf_cm_call *c);
void bf_cm_leave_groups(struct bf_cm_id *id);

/* address.c */
int bf_cm_bind_ip(struct bf_cm_call *c);
int bf_cm_bind(struct bf_cm_call *c);
int bf_cm_resolve_ip(struct bf_cm_call *c);
int bf_cm_resolve_addr(struct bf_cm_call *c);
int bf_cm_resolve_route(struct bf_cm_call *c);
uint32_t bf_cm_addr_size(const void *address); /* 0: of no kind that is known */
bool bf_cm_addr_any(const struct sockaddr *a);
bool bf_cm_addr_equal(const struct sockaddr *a, const struct sockaddr *b); /* without ports */
uint16_t bf_cm_addr_port(const struct sockaddr *a);
void bf_cm_addr_set_port(struct sockaddr *a, uint16_t port);
/* Binds to an address of this machine, or to none in particular. */
int bf_cm_bind_to(struct bf_cm_id *id, const struct sockaddr *address);
void bf_cm_gid(const struct bf_rdmacm_device *d, uint32_t ipv4, uint8_t gid[16]); /* of a port like the device's */
void bf_cm_mapped_gid(uint8_t gid[16], uint32_t ipv4);
/* From the identifier's device to `ipv4`. */
void bf_cm_path_to(struct bf_cm_id *id, uint32_t ipv4);
uint8_t bf_cm_ack_timeout(uint8_t delay, uint8_t lifetime); /* core/cm.c cm_ack_timeout() */

/* ports.c */
/* Claims the port of the identifier's source address, or any where that is 0. 0, -EADDRINUSE, -EADDRNOTAVAIL, ... */
int bf_cm_port_take(struct bf_cm_id *id);
void bf_cm_port_give(struct bf_cm_id *id);
int bf_cm_port_listen(struct bf_cm_id *id);
uint64_t bf_cm_service(uint16_t ps, uint16_t port);

/* query.c, attributes.c */
int bf_cm_query_route(struct bf_cm_call *c);
int bf_cm_query(struct bf_cm_call *c);
int bf_cm_init_qp_attr(struct bf_cm_call *c);
void bf_cm_fill_ah(const struct bf_cm_id *id, struct ib_uverbs_ah_attr *ah);

/* connect.c */
int bf_cm_connect(struct bf_cm_call *c);
int bf_cm_listen(struct bf_cm_call *c);
int bf_cm_accept(struct bf_cm_call *c);
int bf_cm_reject(struct bf_cm_call *c);
int bf_cm_disconnect(struct bf_cm_call *c);
int bf_cm_notify(struct bf_cm_call *c);

/* message.c: what goes out. Each fills `mad` of the identifier, or the one given. */
void bf_cm_build(uint8_t *mad, enum bf_cm_kind kind, uint64_t tid, uint32_t local_id, uint32_t remote_id);
void bf_cm_build_req(struct bf_cm_id *id, const void *data, uint32_t len);
void bf_cm_build_rep(struct bf_cm_id *id, const void *data, uint32_t len);
void bf_cm_build_sidr_req(struct bf_cm_id *id, const void *data, uint32_t len);
void bf_cm_build_sidr_rep(struct bf_cm_id *id, uint32_t status, const void *data, uint32_t len);
/* Who asked whom, as the asker says it in private data. False: it says nothing that makes sense. */
bool bf_cm_read_head(const uint8_t *head, struct sockaddr *src, struct sockaddr *dst, uint16_t dst_port);

/* wire.c: numbers on the wire, who is meant by them, and sending. */
void bf_cm_register(struct bf_cm_id *id); /* gives it a number */
void bf_cm_unregister(struct bf_cm_id *id);
struct bf_cm_id *bf_cm_by_local(const struct bf_rdmacm *cm, uint32_t local_id, uint32_t ipv4);
struct bf_cm_id *bf_cm_by_remote(const struct bf_rdmacm *cm, uint32_t remote_id, uint32_t ipv4);
uint32_t bf_cm_whose(void *manager, const struct bf_packet *pkt);
bool bf_cm_of_this_machine(const struct bf_rdmacm *cm, uint32_t ipv4);
void bf_cm_send(struct bf_rdmacm *cm, const struct bf_rdmacm_device *device, uint32_t ipv4, const uint8_t *mad);
/* Sends the identifier's message in state `state`, again and again until somebody answers. */
void bf_cm_start(struct bf_cm_id *id, enum bf_cm_state state);
void bf_cm_again(struct bf_cm_id *id); /* once more, since the peer seems not to have got it */
/* Nothing is repeated any more; or, with a time, `timer` fires then. */
void bf_cm_stop(struct bf_cm_id *id);
void bf_cm_wait(struct bf_cm_id *id, uint64_t ps);
uint64_t bf_cm_time_ps(uint32_t exponent);
void bf_cm_record(struct bf_rdmacm *cm, uint32_t peer, const uint8_t *mad, uint32_t what, uint32_t tries);

/* cm.c: what an identifier says of itself, and what becomes of one that nobody answers. */
void bf_cm_send_rej(struct bf_cm_id *id, uint16_t reason, const void *data, uint32_t len);
void bf_cm_send_rtu(struct bf_cm_id *id);
int bf_cm_send_dreq(struct bf_cm_id *id); /* -EINVAL: there is nothing to disconnect */
int bf_cm_send_drep(struct bf_cm_id *id);
void bf_cm_established(struct bf_cm_id *id); /* the peer's first data came before its message */
void bf_cm_timewait(struct bf_cm_id *id);
/* The connection is at its end: the program is told, once. */
void bf_cm_disconnected(struct bf_cm_id *id, int32_t status);
/* The identifier goes: its peer is told as far as that is still due. */
void bf_cm_leave(struct bf_cm_id *id);
void bf_cm_on_timer(struct bf_cm_id *id);
/* A process of this machine was killed: what its kernel would have said for it is taken as said. */
void bf_cm_gone(void *manager, uint32_t slot);
/* A message of which nobody here knows is answered with a refusal. */
void bf_cm_refuse(const struct bf_cm_agent *a, uint32_t ipv4, const uint8_t *mad, uint16_t reason);

/* request.c, receive.c: what comes. */
void bf_cm_on_req(const struct bf_cm_agent *a, uint32_t ipv4, const uint8_t *mad);
void bf_cm_on_sidr_req(const struct bf_cm_agent *a, uint32_t ipv4, const uint8_t *mad);
void bf_cm_receive(void *agent, uint32_t ipv4, const uint8_t mad[BF_MAD_LEN]);

#endif
