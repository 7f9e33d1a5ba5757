/*
 * The RDMA transport: what any NIC does between a work request and its packets (IBA vol. 1 chapter 9).
 *
 * The transport has the requester (packet sequence numbers, acknowledgements, time-outs, retries, RNR waits) and the
 * responder (sequence, duplicates, READ and atomic answers, ACKs, NAKs) of reliable connections, and what unreliable
 * ones and datagrams share with them. It knows no queue format. A device embeds struct bf_rdma, a struct bf_rdma_qp in
 * each of its queue pairs and a struct bf_rdma_send in each entry that it has decoded, and answers through struct
 * bf_rdma_ops: where the bytes of an entry lie, whether a key allows an access, what becomes of an entry that is done.
 *
 * How a request travels through both:
 *   device     decodes an entry into a bf_rdma_send, advances qp->decoded, calls bf_rdma_progress()
 *   transport  checks it (ops->check), makes packets, reads their payload (ops->piece), sends them
 *   device     gets a frame, calls bf_rdma_parse(), finds the queue pair, calls bf_rdma_deliver()
 *   transport  puts the bytes into memory (ops->remote, ops->place), answers; ops->received when a receive is done
 *   transport  takes the answer, calls ops->run; the device calls bf_rdma_progress(), which calls ops->complete
 *
 * Records: models/rdma/records.h. One thread. What allocates, takes from the simulation's pool.
 */
#ifndef BELFRY_MODELS_RDMA_RDMA_H
#define BELFRY_MODELS_RDMA_RDMA_H

#include "models/fabric/fabric.h"
#include "models/fabric/roce.h"
#include "models/rdma/records.h"

#define BF_PSN_MASK 0xffffffu
#define BF_PSN_SPAN (1u << 22) /* most PSNs in flight: well below half of the 24-bit space */

/* Distance from b to a in the 24-bit circle, -2^23 .. 2^23 - 1. */
static inline int32_t bf_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t bf_psn_add(uint32_t psn, uint32_t n)
{
	return (psn + n) & BF_PSN_MASK;
}

/* States of a queue pair (IBA vol. 1 section 10.3.1), in the order of the specification. */
enum bf_rdma_state {
	BF_RDMA_RST,
	BF_RDMA_INIT,
	BF_RDMA_RTR,
	BF_RDMA_RTS,
	BF_RDMA_SQER, /* nothing is sent: of queue pairs that no peer counts on */
	BF_RDMA_SQD,  /* what was begun is finished, nothing new begins */
	BF_RDMA_ERR,
};

enum bf_rdma_service {
	BF_RDMA_RC,
	BF_RDMA_UC,
	BF_RDMA_UD,
	BF_RDMA_RAW, /* an entry is a frame, from its MAC addresses on; what comes is as the device finds out */
};

/* What a work request asks for. */
enum bf_rdma_op {
	BF_RDMA_OP_LOCAL, /* nothing goes on the wire: ops->local does it */
	BF_RDMA_OP_SEND,
	BF_RDMA_OP_SEND_IMM,
	BF_RDMA_OP_SEND_INVAL,
	BF_RDMA_OP_WRITE,
	BF_RDMA_OP_WRITE_IMM,
	BF_RDMA_OP_READ,
	BF_RDMA_OP_COMPARE_SWAP,
	BF_RDMA_OP_FETCH_ADD,
	BF_RDMA_OP_MASKED_COMPARE_SWAP,
	BF_RDMA_OP_MASKED_FETCH_ADD,
};

/* What a work request waits for before it begins. */
#define BF_RDMA_FENCE_READS 1u /* READs and atomics before it have their answers */
#define BF_RDMA_FENCE_LOCAL 2u /* LOCAL ones before it are done */
#define BF_RDMA_FENCE_ALL 4u   /* everything before it has completed */

#define BF_RDMA_SEND_STARTED 1u /* PSNs assigned */
#define BF_RDMA_SEND_DONE 2u    /* may complete when it is the oldest */
#define BF_RDMA_SEND_SOLICITED 4u
#define BF_RDMA_SEND_RDATOMIC 8u   /* READ or atomic: answered by data */
#define BF_RDMA_SEND_FAILED 16u    /* completes with an error when it is the oldest */
#define BF_RDMA_SEND_ELSEWHERE 32u /* another queue pair has completed it */
/* Of a frame: the checksums of IP, and of TCP or UDP, are to be computed. */
#define BF_RDMA_SEND_L3_CHECKSUM 64u
#define BF_RDMA_SEND_L4_CHECKSUM 128u

/* The longest frame: 4200 bytes of payload and two VLAN tags. */
#define BF_RDMA_FRAME_MAX (4200u + 14u + 8u)

/* A work request: the transport's part of what the device keeps of an entry. The device fills in what stands first. */
struct bf_rdma_send {
	uint64_t raddr;
	uint64_t iova; /* of all its data, when `direct` */
	uint32_t rkey;
	uint32_t length;
	uint32_t imm;        /* immediate data in the order of the packet; SEND_INVAL: the key */
	uint32_t inline_len; /* bytes of the message that the entry carries, before those of its segments */
	uint16_t slot;       /* its place in the queue that executes it, a count that wraps at 2^16 */
	uint8_t slots;       /* how many it takes, at least 1 */
	uint8_t op;          /* enum bf_rdma_op */
	uint8_t fence;       /* BF_RDMA_FENCE_* */
	uint8_t atomic_size; /* 4 or 8; 0: no atomic */
	uint8_t flags;       /* BF_RDMA_SEND_* */
	bool direct;         /* the device has checked that its data lie in one piece: ops->piece is not asked */
	/* The transport's. */
	uint32_t psn, npsn;
	uint32_t got;  /* READ: response packets that arrived */
	uint32_t keys; /* dev->key_changes when its local keys were checked */
};

/* A READ or atomic that the responder has accepted. Kept after its answer for duplicates (IBA vol. 1 section 9.4.4). */
struct bf_rdma_answer {
	uint64_t va;
	uint64_t old; /* atomic: the value that was there */
	uint32_t len, rkey;
	uint32_t psn, npsn, sent;
	uint32_t from; /* packet that the answer (re)started at */
	uint32_t msn;
	uint32_t keys;  /* dev->key_changes when its key was checked */
	uint8_t opcode; /* BTH opcode of the request */
	uint8_t memory; /* BF_RDMA_MEMORY_* */
	bool busy, executed;
	bool again; /* for a duplicate: holds no resource */
};

/* Those of a queue pair, from the first one on: in a large job most never get any. */
struct bf_rdma_answers {
	struct bf_rdma_qp *qp;
	struct bf_event event; /* more can be sent */
	uint64_t free_ps;      /* when the next READ response packet may begin */
	uint32_t head, tail;   /* that wait for their turn, counted */
	uint32_t cap;          /* a power of two */
	struct bf_rdma_answer ring[];
};

/* What a key says of the memory behind it. */
#define BF_RDMA_MEMORY_RELAXED 1u /* writes have the relaxed ordering attribute */
#define BF_RDMA_MEMORY_MAPPED 2u  /* addresses are not I/O addresses: ops->map and ops->write are asked */
#define BF_RDMA_MEMORY_ABSENT 4u  /* of an access that was not allowed: it will be, the requester may come again */

/* Rights that a queue pair gives its peer, and that a request asks a key for. */
#define BF_RDMA_ACCESS_REMOTE_READ 4u
#define BF_RDMA_ACCESS_REMOTE_WRITE 8u
#define BF_RDMA_ACCESS_ATOMIC 16u

/* What the device wants to be asked. */
#define BF_RDMA_ASKS_ADDRESS 1u    /* for each packet: ops->address */
#define BF_RDMA_ASKS_CONNECTION 2u /* ops->ready, gate, again */

/*
 * A queue pair, as far as the transport goes; embedded in the device's. What one message touches comes first, the
 * requester's part before the responder's. Entries are counted in slots of the send queue, modulo 2^16; each count is
 * equal to or behind the one before:
 *   decoded    the bf_rdma_send of all before it are filled in (the device's)
 *   tx_index   where the transmitter stands
 *   ack_index  the oldest entry that is not known to be done
 *   head       the oldest entry without completion
 */
struct bf_rdma_qp {
	struct bf_rdma *dev;
	/* Requester. */
	void *sends; /* the device's entries: [sq_mask + 1] of send_size bytes, each beginning with a struct
			bf_rdma_send */
	uint32_t send_size;
	uint32_t qpn, actor;
	uint16_t sq_mask; /* slots - 1, a power of two less one */
	uint16_t decoded, tx_index, ack_index, head;
	uint8_t state;   /* enum bf_rdma_state */
	uint8_t service; /* enum bf_rdma_service */
	uint8_t mtu_shift, log_msg_max;
	uint8_t asks : 2; /* BF_RDMA_ASKS_* */
	bool halted : 1;  /* a failed entry lies at tx_index: nothing more is sent */
	bool paused : 1;  /* nothing is sent until pause_event: the receiver is not ready, or the port is busy */
	bool dead : 1;    /* the device's: it is gone but for what still calls back */
	bool lost_valid : 1;
	bool resending : 1;        /* PSNs before resend_end leave again */
	bool mute : 1;             /* by the fault plan: nothing that it sends arrives */
	uint8_t ack_timeout;       /* 4.096 us * 2^t, 0 is off (IBA vol. 1 section 9.7.6.1.3) */
	uint16_t answers_inflight; /* READ response packets that are being gathered */
	uint16_t max_answers;
	uint32_t epoch;     /* counts resets: what was started before one is void */
	uint32_t inflight;  /* DMA operations that will call back, the device's own included */
	uint32_t tx_packet; /* packets of the entry at tx_index that are sent */
	uint32_t tx_psn, send_psn, una_psn;
	uint32_t read_psns; /* PSNs between una and tx that belong to READs */
	uint32_t locals;    /* LOCAL entries that are not done: the device counts */
	uint16_t rdatomic, max_rdatomic;
	uint32_t remote_qpn, remote_ipv4;
	uint32_t retries;
	struct bf_packet *txq, **txq_tail; /* packets that wait for their payload, in order */
	struct bf_port *port;
	struct bf_roce_path path;
	struct bf_event rto_event;
	uint64_t rto_deadline;
	uint8_t retry_count, retries_left, rnr_retry, rnr_left;
	/* Responder. */
	uint8_t access;      /* BF_RDMA_ACCESS_* */
	uint8_t atomic_mode; /* 0 none, 1 those of the specification, above that extended ones of up to 8 bytes */
	uint8_t min_rnr_nak;
	uint8_t rx_op; /* message in progress */
	uint8_t nak;   /* postponed until earlier answers have left; 0 none */
	uint8_t nak_opcode;
	uint8_t rx_memory;       /* BF_RDMA_MEMORY_* of the message at hand */
	bool nak_sent : 1;       /* one NAK per gap */
	bool refused : 1;        /* a fatal NAK is on its way: nothing is accepted any more */
	bool receives : 1;       /* there is a receive queue */
	bool rx_has_receive : 1; /* an entry of it is at hand */
	bool established : 1;    /* a request came in RTR, and the device was told */
	uint32_t expected_psn, msn;
	uint32_t acks_owed;
	uint64_t rx_va;
	uint64_t rx_room; /* of the receive at hand */
	uint32_t rx_left, rx_done, rx_rkey;
	uint32_t rx_keys; /* dev->key_changes when the message's key was checked */
	uint32_t nak_psn;
	uint32_t lost_psn;                   /* trouble: a lost response at this PSN was asked for again */
	struct bf_packet *hold, **hold_tail; /* requests that wait for a receive */
	struct bf_event ack_event;
	struct bf_rdma_answers *answers; /* NULL: no READ or atomic has come yet */
	/* Trouble. */
	uint32_t resend_end, rnr_naks;
	struct bf_rdma_late *late; /* of a time-out that may be none; NULL: there was no such yet */
	struct bf_event pause_event;
};

/* A piece of an entry's data: an I/O address. */
struct bf_rdma_piece {
	uint64_t iova;
	uint32_t len;
};

/* Where a walk through an entry's data segments stands. */
struct bf_rdma_walk {
	const struct bf_rdma_qp *qp;
	const struct bf_rdma_send *send;
	uint32_t at;   /* next segment */
	uint64_t skip; /* bytes to leave out before the next piece */
};

/* Why an entry fails, or a receive. What a completion says of it, the device knows. */
enum bf_rdma_cause {
	BF_RDMA_NO_CAUSE,
	/* Requester. */
	BF_RDMA_LOCAL_DATA,     /* local data cannot be read */
	BF_RDMA_TOO_LONG,       /* longer than a message may be */
	BF_RDMA_NOT_HERE,       /* a service that has no such operation */
	BF_RDMA_NO_ADDRESS,     /* the entry names nobody */
	BF_RDMA_RETRIES_OUT,    /* no ACK within the retries */
	BF_RDMA_NO_ANSWER,      /* the same, to an atomic, which may have been executed */
	BF_RDMA_RNR_OUT,        /* the receiver was not ready, and the retries are out */
	BF_RDMA_REMOTE_INVALID, /* NAKs */
	BF_RDMA_REMOTE_ACCESS,
	BF_RDMA_REMOTE_OPERATION,
	BF_RDMA_BAD_RESPONSE,
	BF_RDMA_LOCAL_WRITE, /* the answer's buffer cannot be written */
	/* Responder. */
	BF_RDMA_RECEIVE_SHORT, /* the receive has no room for the message */
	BF_RDMA_RECEIVE_KEY,
	BF_RDMA_RECEIVE_WRITE,  /* the receive's buffer cannot be written */
	BF_RDMA_RECEIVE_ABSENT, /* the receive's buffer is paged out, and nobody brings it */
	BF_RDMA_NOT_YET,        /* ops->place: memory is on its way, the requester is asked to come again */
	BF_RDMA_INVALIDATE,     /* the key that the request names may not be invalidated */
	BF_RDMA_CAUSES,
};

/* How an entry ends. */
enum bf_rdma_end {
	BF_RDMA_DONE,
	BF_RDMA_FAILED,  /* ops->failed was told why */
	BF_RDMA_FLUSHED, /* the queue pair is in error */
};

/* What the look for a receive found. */
enum bf_rdma_take {
	BF_RDMA_TAKE_WAIT,   /* bf_rdma_rx_resume() will be called */
	BF_RDMA_TAKE_TAKEN,  /* it is at hand: qp->rx_room is its size, qp->rx_has_receive is set */
	BF_RDMA_TAKE_EMPTY,  /* there is none: the requester is asked to come again */
	BF_RDMA_TAKE_BROKEN, /* the receive queue cannot be read */
};

enum bf_rdma_side {
	BF_RDMA_REQUESTER,
	BF_RDMA_RESPONDER,
};

/* A request that the responder does not execute, or not to its end. */
struct bf_rdma_refusal {
	uint32_t psn;
	uint8_t opcode;           /* of its packet */
	uint8_t nak;              /* AETH syndrome */
	enum bf_rdma_cause cause; /* what a receive that was taken for it ends with; BF_RDMA_NO_CAUSE: it stays */
	bool message;             /* a SEND or WRITE: a receive may be at hand */
	bool late;                /* a READ or atomic that had been accepted */
	const char *why;
};

/*
 * What the transport asks of a device. All are called on the simulation's thread, with the queue pair that they are
 * about. None may free the queue pair.
 */
struct bf_rdma_ops {
	/* Requester. False: a local key of the entry does not allow the access; the device has failed the entry. */
	bool (*check)(struct bf_rdma_qp *qp, struct bf_rdma_send *s);
	/* The entry begins: its PSNs are known. For records: called when somebody wants those of queues. May be NULL.
	 */
	void (*started)(struct bf_rdma_qp *qp, const struct bf_rdma_send *s);
	/*
	 * Executes an entry that stays in the device. The device sets BF_RDMA_SEND_DONE, now or later (then it calls
	 * bf_rdma_progress()). False: it failed, or it cannot begin yet. NULL: there are no such entries.
	 */
	bool (*local)(struct bf_rdma_qp *qp, struct bf_rdma_send *s);
	/* Copies `len` bytes from `at` on of those that the entry itself carries. NULL: none does. */
	void (*copy)(const struct bf_rdma_qp *qp, const struct bf_rdma_send *s, uint32_t at, uint8_t *to, uint32_t len);
	/* The next piece of at most `want` bytes of the entry's segments. False at the end of the list. */
	bool (*piece)(struct bf_rdma_walk *w, uint32_t want, struct bf_rdma_piece *out);
	/* Sets swap_add, compare, swap_mask and compare_mask of `r`. NULL: there are no atomics. */
	void (*operands)(const struct bf_rdma_qp *qp, const struct bf_rdma_send *s, struct bf_roce *r);
	/* Puts bytes of a READ's answer, or an atomic's result, where the entry says. 0, or it cannot be written. */
	int (*scatter)(struct bf_rdma_qp *qp, struct bf_rdma_send *s, uint32_t offset, const uint8_t *data,
		       uint32_t len);
	int (*result)(struct bf_rdma_qp *qp, struct bf_rdma_send *s, uint64_t value);
	/* The entry has failed: it will complete with this when it is the oldest. */
	void (*failed)(struct bf_rdma_qp *qp, struct bf_rdma_send *s, enum bf_rdma_cause cause, const char *why);
	/* The entry is over, in order. */
	void (*complete)(struct bf_rdma_qp *qp, struct bf_rdma_send *s, enum bf_rdma_end end);

	/* Responder. May a request access `len` bytes (not 0)? `memory` gets BF_RDMA_MEMORY_*. */
	bool (*remote)(struct bf_rdma_qp *qp, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access,
		       uint8_t *memory);
	/* Of a key that was checked and is MAPPED: the I/O address of `va`; `*len` becomes how many bytes follow there.
	 */
	uint64_t (*map)(struct bf_rdma_qp *qp, uint32_t rkey, uint64_t va, uint32_t access, uint32_t *len);
	int (*write)(struct bf_rdma_qp *qp, uint32_t rkey, uint64_t va, const uint8_t *data, uint32_t len);
	/* False: a SEND may not invalidate the key. NULL: it never may. */
	bool (*invalidate)(struct bf_rdma_qp *qp, uint32_t rkey);
	enum bf_rdma_take (*take)(struct bf_rdma_qp *qp);
	/* Puts the next bytes of a SEND into the receive at hand; `whole`: they are all of it. False, and the cause. */
	bool (*place)(struct bf_rdma_qp *qp, const uint8_t *data, uint32_t len, bool whole, enum bf_rdma_cause *cause);
	/* The message that ended with packet `r` is in, all qp->rx_done bytes of it, and took a receive. */
	void (*received)(struct bf_rdma_qp *qp, const struct bf_roce *r);
	void (*refused)(struct bf_rdma_qp *qp, const struct bf_rdma_refusal *x);
	/* The first request has come before the queue pair was ready to send. May be NULL. */
	void (*established)(struct bf_rdma_qp *qp);

	/* The queue pair goes to `state`, SQER or ERR: the device sets it, and calls bf_rdma_stop() when it is ERR. */
	void (*enter)(struct bf_rdma_qp *qp, enum bf_rdma_state state, enum bf_rdma_side by);
	/* Something has made room: bf_rdma_progress() is to be called, and more to be fetched. May be called within
	 * itself. */
	void (*run)(struct bf_rdma_qp *qp);
	/* A DMA operation of a queue pair that is dead has ended; it may be freed when none is in flight. */
	void (*release)(struct bf_rdma_qp *qp);

	/* BF_RDMA_ASKS_ADDRESS. Whom the packet `r`, whose opcode is set, goes to. `s` is NULL of answers. NULL:
	 * nobody. */
	const struct bf_roce_path *(*address)(struct bf_rdma_qp *qp, const struct bf_rdma_send *s, struct bf_roce *r);
	/* BF_RDMA_ASKS_CONNECTION. False: the entry may not begin yet, or it failed. */
	bool (*ready)(struct bf_rdma_qp *qp, struct bf_rdma_send *s);
	/* May a packet leave now? */
	bool (*gate)(struct bf_rdma_qp *qp);
	/* A time-out: the peer may have forgotten the connection. */
	void (*again)(struct bf_rdma_qp *qp);
	/* A datagram or frame for a queue pair of that service; the device owns the packet. NULL: there is no such
	 * service. */
	void (*datagram)(struct bf_rdma_qp *qp, struct bf_packet *pkt);
};

/* What takes time in the transport of a device, and its limits. */
struct bf_rdma_profile {
	uint64_t packet_tx_ps;    /* build one packet */
	uint64_t packet_rx_ps;    /* check one packet */
	uint64_t answer_ps;       /* between two READ response packets of a queue pair; 0: the port alone paces them */
	uint32_t gather_window;   /* most payload reads of a queue pair on the way from memory; 0: any number */
	uint64_t ack_delay_ps;    /* how long a responder may hold an ACK to coalesce; 0: till its moment is over */
	uint32_t ack_every;       /* packets per ACK while more are coming; 1: each has its own */
	uint32_t max_outstanding; /* unacknowledged packets of a queue pair, below BF_PSN_SPAN */
	bool icrc;                /* compute and check ICRC */
	bool atomics_wait;        /* for relaxed writes before them, too */
	bool atomics_hold;        /* a word until they are done: the next one there waits */
	bool waits_for_receive;   /* a SEND where there is no receive queue gets RNR NAKs */
};

/* NAKs have a counter each, by bf_rdma_nak_kind(), and so have packets that were thrown away, by the record's reason.
 */
#define BF_RDMA_NAK_KINDS 6u /* RNR, sequence, invalid request, access, operation, reserved codes */
#define BF_RDMA_DROPS 12u
struct bf_rdma_counts {
	uint64_t packets_resent, timeouts, acks_sent, acks_received;
	uint64_t naks_sent[BF_RDMA_NAK_KINDS], naks_received[BF_RDMA_NAK_KINDS];
	uint64_t rx_drops[BF_RDMA_DROPS];
};

static inline uint32_t bf_rdma_nak_kind(uint8_t syndrome)
{
	if ((syndrome & 0xe0) == BF_AETH_RNR)
		return 0;
	return syndrome >= BF_AETH_NAK_SEQ && syndrome <= BF_AETH_NAK_OP ? syndrome - BF_AETH_NAK_SEQ + 1u : 5;
}

struct bf_rdma_xfer;
struct bf_rdma_atomic;

/* What the queue pairs of a device share; embedded in it, and zero but for what bf_rdma_init() sets. */
struct bf_rdma {
	struct bf_sim *sim;
	struct bf_fabric *fabric;
	struct bf_dma_port *dma;
	const struct bf_rdma_ops *ops;
	struct bf_rdma_profile profile;
	uint32_t actor;                  /* of packets that are for no queue pair */
	uint32_t key_changes;            /* the device counts keys that went: what was checked before counts no more */
	uint64_t tx_busy_ps, rx_busy_ps; /* when the send and receive pipelines have caught up */
	struct bf_rdma_xfer *xfers;      /* free ones */
	struct bf_roce tx;               /* scratch: fields that the opcode at hand does not use may hold anything */
	struct bf_roce rx;               /* the packet at hand */
	struct bf_rdma_counts count;
	struct bf_rdma_xfer_block *xfer_blocks;
	struct bf_rdma_atomic *atomics; /* free ones */
	struct bf_rdma_atomic *holding; /* under way, with atomics_hold, and those that wait for them, in order */
	struct bf_rdma_atomic_block *atomic_blocks;
};

/* What `dev` is given to begin with: all is borrowed, and the profile copied. Cannot fail; bf_rdma_fini() undoes it. */
void bf_rdma_init(struct bf_rdma *dev, struct bf_sim *sim, struct bf_fabric *fabric, struct bf_dma_port *dma,
		  const struct bf_rdma_ops *ops, const struct bf_rdma_profile *profile, uint32_t actor);
void bf_rdma_fini(struct bf_rdma *dev); /* when its DMA port is idle for good */

/* A queue pair whose bytes are zero. The device sets what its commands say: number, state, address, limits. */
void bf_rdma_qp_init(struct bf_rdma_qp *qp, struct bf_rdma *dev, uint32_t send_size);
/* As after bf_rdma_qp_init() but for the number, the address and the limits: what is in flight is void, and silent. */
void bf_rdma_reset(struct bf_rdma_qp *qp);
/* The queue pair is in error now: nothing leaves any more, and nothing that waits is executed. */
void bf_rdma_stop(struct bf_rdma_qp *qp);
/* Leaves SQER: what was posted before is flushed, the transmitter stands behind it. */
void bf_rdma_resume_sends(struct bf_rdma_qp *qp);
/* Gives back what it has allocated. Nothing may be in flight, and no event pending: after bf_rdma_reset(). */
void bf_rdma_qp_fini(struct bf_rdma_qp *qp);

/* READs and atomics that have come and are not answered yet. */
static inline bool bf_rdma_answers_pending(const struct bf_rdma_qp *qp)
{
	return qp->answers && qp->answers->head != qp->answers->tail;
}
/* They are not answered any more. */
static inline void bf_rdma_answers_void(struct bf_rdma_qp *qp)
{
	if (qp->answers)
		qp->answers->head = qp->answers->tail;
}

static inline struct bf_rdma_send *bf_rdma_send_at(const struct bf_rdma_qp *qp, uint16_t slot)
{
	return (struct bf_rdma_send *)(void *)((uint8_t *)qp->sends + (size_t)(slot & qp->sq_mask) * qp->send_size);
}

/* Nobody acknowledges what it sends: an entry is done when it has left. */
static inline bool bf_rdma_is_unreliable(const struct bf_rdma_qp *qp)
{
	return qp->service != BF_RDMA_RC;
}

/*
 * Sends what may be sent and completes what is done, in order. Called by ops->run, and after entries were decoded; not
 * from within itself.
 */
void bf_rdma_progress(struct bf_rdma_qp *qp);
/* Its second half alone: completes entries in order. True when at least one was. */
bool bf_rdma_retire(struct bf_rdma_qp *qp);
/* Nothing is sent and nothing executed: entries complete as flushed. */
static inline bool bf_rdma_flushes(const struct bf_rdma_qp *qp)
{
	return qp->state == BF_RDMA_ERR || qp->state == BF_RDMA_SQER;
}

/* The entry fails for a reason of the device's own. False: it had failed before, for another. ops->failed is not
 * called. */
bool bf_rdma_send_halt(struct bf_rdma_qp *qp, struct bf_rdma_send *s);
/* The entry that owns the oldest unacknowledged PSN; NULL: none. */
struct bf_rdma_send *bf_rdma_oldest(const struct bf_rdma_qp *qp);

/* A frame has arrived: dev->rx is what it says. False: it is none for an RDMA device, and has been dropped. */
bool bf_rdma_parse(struct bf_rdma *dev, struct bf_packet *pkt);
/* The packet of dev->rx is one of a connection and came in at `port`, for `qp` (NULL: there is none). Takes it. */
void bf_rdma_deliver(struct bf_rdma *dev, struct bf_rdma_qp *qp, const struct bf_port *port, struct bf_packet *pkt);
/* Is it an answer, or a request? */
static inline bool bf_rdma_is_response(uint8_t opcode)
{
	return opcode >= BF_RC_READ_RESP_FIRST && opcode <= BF_RC_ATOMIC_ACK;
}
/* What bf_rdma_deliver() does after its checks: the packet is dev->rx. An answer stays the caller's, a request not. */
void bf_rdma_rx_response(struct bf_rdma_qp *qp, struct bf_packet *pkt);
void bf_rdma_rx_request(struct bf_rdma_qp *qp, struct bf_packet *pkt);
/* A receive came, or there is none: those that wait for one look again (see BF_RDMA_TAKE_WAIT). */
void bf_rdma_rx_resume(struct bf_rdma_qp *qp);
/* True when a receive is at hand. Otherwise the packet waits for one, or was refused, or dropped. */
bool bf_rdma_rx_take(struct bf_rdma_qp *qp, struct bf_packet *pkt, const struct bf_roce *r);
/* Counts and records a packet that has no effect; the caller frees it. */
void bf_rdma_drop(struct bf_rdma *dev, uint32_t actor, const struct bf_packet *pkt, uint32_t expected,
		  enum bf_rdma_drop why);

/* For devices that have packets and connections of their own. */
/* Where a packet of this queue pair goes. NULL: nobody. Sets dest_qp and what else says so in `r`. */
const struct bf_roce_path *bf_rdma_address(struct bf_rdma_qp *qp, const struct bf_rdma_send *s, struct bf_roce *r);
#define BF_RDMA_TX_WHOLE 1u    /* payload is in */
#define BF_RDMA_TX_REQUEST 2u  /* of the requester */
#define BF_RDMA_TX_RESPONSE 4u /* READ data; neither: ACKs, NAKs, atomic results */
/* Sends `pkt` after everything that is queued, and not before its payload is in. Takes it. */
void bf_rdma_tx_push(struct bf_rdma_qp *qp, struct bf_packet *pkt, uint32_t flags);
/* Queued packets that have one of these flags must not leave any more. */
void bf_rdma_tx_drop(struct bf_rdma_qp *qp, uint32_t kinds);
void bf_rdma_rto_start(struct bf_rdma_qp *qp); /* a packet left that wants an answer */
/* Goes back to `psn` and sends again from there. */
void bf_rdma_go_back(struct bf_rdma_qp *qp, uint32_t psn, enum bf_rdma_again cause);
/* One retry less; false when none was left and the oldest entry failed. */
bool bf_rdma_use_retry(struct bf_rdma_qp *qp);
/* Nothing is sent for that long, then from the oldest packet on. */
void bf_rdma_pause(struct bf_rdma_qp *qp, uint64_t ps);

#endif
