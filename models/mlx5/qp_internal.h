/*
 * Queue pairs, and what is under way for them.
 *
 * A send WQE moves through four 16-bit WQEBB counters of its queue pair, in this order (each equal to or behind the one
 * before, modulo 2^16):
 *   producer   what the doorbell record said last
 *   fetched    bytes are in the device's copy of the ring
 *   decoded    struct bf_mlx5_send is filled in
 *   tx_index   where the transmitter stands
 *   head       the oldest WQE without completion
 */
#ifndef BELFRY_MODELS_MLX5_QP_INTERNAL_H
#define BELFRY_MODELS_MLX5_QP_INTERNAL_H

#include "models/mlx5/objects_internal.h"

#define BF_SEND_STARTED 1u /* PSNs assigned */
#define BF_SEND_DONE 2u    /* may complete when it is the oldest */
#define BF_SEND_INLINE 4u  /* without data segments */
#define BF_SEND_SOLICITED 8u
#define BF_SEND_RDATOMIC 16u /* READ or atomic: answered by data */
#define BF_SEND_FAILED 32u   /* completes with `err` when it is the oldest */
#define BF_SEND_TOLD 64u     /* completed by its stream */
#define BF_SEND_IN_CQE 128u  /* the answer's bytes are where the WQE was, for the CQE */

/* A decoded send WQE, at [index of its first WQEBB & mask]. Its bytes stay in the queue pair's copy of the ring. */
struct bf_mlx5_send {
	uint64_t told_ps; /* arrival of the doorbell that announced it: known before the rest is */
	uint64_t raddr;
	uint64_t va; /* first SGE */
	uint32_t lkey, rkey;
	uint32_t length;
	uint32_t imm;
	uint32_t psn, npsn;
	uint32_t got;     /* READ: response packets that arrived */
	uint32_t keys;    /* dev->key_changes when its local keys were checked */
	uint16_t index;   /* where its bytes are, and what its CQE says */
	uint16_t slot;    /* counter of the queue that executes it: the index, unless that is a stream of a DCI */
	uint16_t payload; /* offset of the first data segment; of the first inline byte when there is none */
	uint16_t inline_at, inline_len; /* bytes before those of data segments */
	uint8_t opcode, opmod, wqebbs, nsge;
	uint8_t fm, ce, flags, atomic_size;
	uint8_t av;  /* bytes of address vector */
	bool mapped; /* one of its local keys translates */
	struct bf_mlx5_err err;
};

/* One DMA read on behalf of a packet, of a DUMP or of a doorbell; from the device's pool. */
struct bf_mlx5_xfer {
	struct bf_dma_op op;
	struct bf_mlx5_qp *qp;
	struct bf_packet *pkt; /* NULL: DUMP */
	struct bf_mlx5_xfer *next;
	uint32_t epoch;
	union {
		struct {
			uint32_t psn;
			uint32_t payload_len;
			uint16_t payload_offset;
			uint16_t slot;
			bool last;     /* the packet is whole when this one is done */
			bool response; /* READ response of the responder */
			bool ends;     /* of an unreliable queue: with this packet the WQE is done */
		};
		struct {
			uint64_t bell_ps; /* arrival of the doorbell behind this read of the doorbell record */
			uint8_t record[BF_MLX5_DBR_BYTES];
		};
		struct {
			struct bf_mlx5 *dev; /* of an interrupt, which waits for the entry before it to land */
			uint32_t vector;
		};
	};
};

#define BF_MLX5_FETCHES 4u   /* fetches of one send queue in flight: assumed */
#define BF_MLX5_RQ_CACHE 16u /* receive WQEs fetched at once: assumed */

/* What a receive queue has beside its counters, from the first receive WQE that a request asks for. */
struct bf_mlx5_receive {
	struct bf_dma_op op;
	struct bf_mlx5_qp *qp;
	uint8_t *bytes; /* WQEs as fetched, BF_MLX5_RQ_CACHE of them */
	uint8_t record[4];
	uint32_t epoch;
	struct bf_packet **hold_tail; /* when qp->hold is not empty */
	struct bf_mlx5_receive *next; /* in the line before a shared receive queue */
	bool in_line;
	uint64_t room; /* of the receive WQE at hand */
	uint32_t nsge, sge_at, sge_done;
	uint8_t in_cqe[64]; /* data that go into the CQE instead */
	uint8_t in_cqe_len;
	struct bf_mlx5_sge sge[];
};

/* A shared receive queue. */
struct bf_mlx5_srq {
	struct bf_dma_op op;
	struct bf_mlx5 *dev;
	struct bf_mlx5_buf ring, dbr;
	struct bf_mlx5_receive *first, **last; /* queue pairs that stand in line for a WQE */
	uint32_t srqn, actor, pd;
	uint32_t users; /* queue pairs, DC targets */
	uint16_t stride, mask;
	uint16_t producer, consumed; /* counts of WQEs */
	uint16_t at;                 /* the next WQE's place in the ring */
	uint16_t cached_at, cached;  /* places of the WQEs in `bytes` */
	uint16_t limit;              /* an event when fewer are left; 0: none */
	uint8_t busy;
	bool cyclic, error, dead;
	bool check_limit; /* as soon as the doorbell record is read */
	uint8_t record[4];
	struct bf_mlx5_srq *next_zombie;
	uint16_t context_len; /* tells an SRQ from an RMP */
	uint8_t context[BF_RMPC_LEN];
	uint8_t bytes[]; /* WQEs as fetched */
};

struct bf_mlx5_fetch {
	struct bf_dma_op op;
	struct bf_mlx5_qp *qp;
	uint32_t epoch;
	uint16_t start, count;
	bool busy;
};

/* A READ or atomic that the responder has accepted. Kept after its answer for duplicates (IBA vol. 1 section 9.4.4). */
struct bf_mlx5_answer {
	uint64_t va;
	uint64_t old; /* atomic: the value that was there */
	uint32_t len, rkey;
	uint32_t psn, npsn, sent;
	uint32_t from; /* packet that the answer (re)started at */
	uint32_t msn;
	uint32_t keys;  /* dev->key_changes when its key was checked */
	uint8_t opcode; /* BTH opcode of the request */
	bool mapped;    /* its key translates */
	bool busy, executed;
	bool again; /* for a duplicate: holds no resource */
};

/* An atomic on its way to memory and back; from the device's pool. */
struct bf_mlx5_atomic_op {
	struct bf_dma_op op;
	struct bf_mlx5_qp *qp;
	struct bf_mlx5_answer *answer;
	struct bf_mlx5_atomic_op *next;
	uint64_t swap_add, compare, swap_mask, compare_mask;
	uint32_t epoch;
	uint8_t size;
};

/*
 * What a DC initiator adds to a queue pair: one connection at a time. A DCI with stream channels has a queue pair
 * behind each channel that was used, with a connection, PSNs and errors of its own; the DCI itself then only fetches,
 * decodes and deals the WQEs out.
 */
struct bf_mlx5_dci {
	struct bf_mlx5_qp *parent;   /* of a stream: its DCI */
	struct bf_mlx5_qp **streams; /* by channel; NULL: not used yet */
	uint32_t stream_count;       /* 0: no channels */
	uint32_t errored, max_errored;
	uint32_t session, peer_session;
	uint64_t key;
	uint16_t stream, attempt;
	bool full;     /* handshake */
	bool open;     /* connected, or about to be, to remote_qpn at remote_ipv4 */
	bool announce; /* CONNECT leaves before the next packet */
	bool waiting;  /* for its acknowledgement */
};

/*
 * What a DC target knows of one initiator. The queue pair without queues that answers it is there while the connection
 * is: of a closed one nothing is left but what tells old packets from new ones, since a large job has a million of
 * them.
 */
struct bf_mlx5_dc_context {
	struct bf_mlx5_dc_context *next;          /* in its bucket */
	struct bf_mlx5_dc_context *older, *newer; /* among those that are open, or closed, in order of use */
	struct bf_mlx5_qp *qp;                    /* NULL: closed, and nothing of it goes on */
	uint64_t used_ps;
	uint32_t ipv4, qpn;
	uint32_t session, my_session;
	uint32_t psn; /* expected when it was closed */
	uint16_t stream;
	bool full, open;
};

#define BF_MLX5_DCT_BUCKETS 64u

struct bf_mlx5_dct {
	struct bf_mlx5 *dev;
	struct bf_mlx5_port *port;
	struct bf_mlx5_cq *cq;
	struct bf_mlx5_srq *srq; /* NULL: SENDs and WRITEs with immediate are refused */
	uint32_t dctn, actor, pd;
	uint8_t state; /* BF_DCTC_STATE_* */
	struct bf_event drain;
	uint64_t drain_ps; /* when that began */
	uint32_t contexts;
	uint32_t sessions;
	uint32_t violations;
	struct bf_mlx5_dc_context *bucket[BF_MLX5_DCT_BUCKETS];
	struct bf_mlx5_dc_context *oldest[2], *newest[2]; /* in order of use: closed ones, open ones */
	uint8_t context[BF_DCTC_LEN];
};

/* What one message touches comes first, the requester's part before the responder's; what commands say comes last. */
struct bf_mlx5_qp {
	struct bf_mlx5 *dev;
	/* Requester. */
	struct bf_mlx5_send *sends;
	uint8_t *sq_bytes;
	struct bf_mlx5_fetch *fetch;           /* [BF_MLX5_FETCHES] */
	struct bf_mlx5_dci *dci;               /* NULL: none */
	struct bf_mlx5_dc_context *context_of; /* NULL: a queue pair with a number of its own */
	uint32_t qpn, actor;
	uint16_t sq_mask;
	uint16_t producer, fetch_issued, fetched, decoded, tx_index, ack_index, head;
	uint8_t state;
	uint8_t mtu_shift, log_msg_max;
	uint8_t fetch_next;
	uint8_t service; /* BF_QPC_ST_* */
	bool halted;     /* a failed WQE lies at tx_index: nothing more is sent */
	bool rnr_waiting;
	bool in_progress; /* inside the engine: a nested call returns at once */
	bool has_sq, has_rq;
	bool drained;     /* in SQD, and said so */
	bool established; /* a request came in RTR, and an event said so */
	bool dead;
	bool dbr_busy, dbr_again, bell_again;
	bool lost_valid;
	bool resending; /* PSNs before resend_end leave again */
	uint16_t bell_index;
	uint16_t rq_stride;
	uint16_t answers_inflight; /* READ response packets that are being gathered */
	uint32_t epoch;            /* counts resets: what was started before one is void */
	uint32_t inflight;         /* DMA operations that will call back */
	uint32_t tx_packet;        /* packets of the WQE at tx_index that are sent */
	uint32_t tx_psn, send_psn, una_psn;
	uint32_t read_psns; /* PSNs between una and tx that belong to READs */
	uint32_t locals;    /* DUMPs that are not done */
	uint16_t rdatomic, max_rdatomic;
	uint32_t remote_qpn, remote_ipv4, pd, uar;
	uint32_t doorbells, user_index;
	uint32_t qkey;                     /* of datagrams */
	struct bf_packet *txq, **txq_tail; /* packets that wait for their payload, in order */
	struct bf_mlx5_cq *send_cq;
	struct bf_mlx5_port *port;
	struct bf_roce_path path;
	struct bf_mlx5_buf sq, dbr;
	struct bf_event bell_event;
	uint64_t bell_ps, again_ps; /* arrival of the doorbells behind bell_event and bell_again */
	struct bf_mlx5_bf *bf;      /* register of the last BlueFlame ring */
	struct bf_event rto_event;
	uint64_t rto_deadline;
	uint8_t ack_timeout; /* see bf_mlx5_rto_ps() */
	uint8_t retry_count, retries_left, rnr_retry, rnr_left;
	struct bf_mlx5_err err; /* the first */
	/* Responder. */
	uint32_t expected_psn, msn;
	uint32_t acks_owed;
	uint8_t access;         /* BF_MLX5_ACCESS_REMOTE_* and ATOMIC */
	uint8_t cs_req, cs_res; /* data of up to so many bytes go into the CQE of a READ or atomic, of a receive */
	uint8_t atomic_mode, min_rnr_nak;
	uint8_t rx_op; /* message in progress: 0 none, else BF_RC_SEND_FIRST + 1 or BF_RC_WRITE_FIRST + 1 */
	uint8_t nak;   /* postponed until earlier answers have left; 0 none */
	uint8_t nak_opcode;
	bool nak_sent; /* one NAK per gap */
	bool refused;  /* a fatal NAK is on its way: nothing is accepted any more */
	bool rx_relaxed, rx_mapped;
	uint64_t rx_va;
	uint32_t rx_left, rx_done, rx_rkey;
	uint32_t rx_keys; /* dev->key_changes when the message's key was checked */
	bool rx_has_wqe;
	uint8_t rq_busy;
	uint8_t rq_found;  /* enum bf_mlx5_rq_take: what the last look at the queue says to the request that waits */
	uint16_t rq_index; /* of the receive WQE at hand */
	uint8_t dump_byte;
	struct bf_packet *hold; /* requests that wait for a receive WQE */
	struct bf_event ack_event, answer_event;
	struct bf_mlx5_answer *answers; /* ring */
	uint32_t answers_head, answers_tail;
	uint16_t answers_cap, max_answers;
	/* Receive queue. */
	uint16_t rq_mask, rq_producer, rq_consumed, rq_cached;
	uint32_t nak_psn;
	struct bf_mlx5_receive *receive; /* NULL: none was asked for */
	struct bf_mlx5_srq *srq;         /* where receive WQEs come from instead; NULL: nowhere */
	struct bf_mlx5_cq *recv_cq;
	struct bf_mlx5_buf rq;
	/* Trouble. */
	struct bf_event rnr_event;
	uint32_t lost_psn; /* a lost response at this PSN was asked for again */
	uint32_t resend_end;
	uint32_t retries, rnr_naks;
	/* Object. */
	struct bf_mlx5_qp *next_zombie;
	struct bf_mlx5_packed *context; /* NULL: that of the DCI, or the target's */
};

/* Asks for what a message touches of a queue pair: in a large job no cache has it, and its lines would come one by one.
 */
static inline void bf_mlx5_qp_prefetch(const struct bf_mlx5_qp *qp, size_t from, size_t to)
{
	for (; from < to; from += 64)
		__builtin_prefetch((const uint8_t *)qp + from, 1);
}
#define BF_MLX5_QP_REQUESTER 0, offsetof(struct bf_mlx5_qp, expected_psn)
#define BF_MLX5_QP_RESPONDER 0, offsetof(struct bf_mlx5_qp, rnr_event)

/* Local ACK Timeout: 4.096 us * 2^t, 0 is off (IBA vol. 1 section 9.7.6.1.3). */
static inline uint64_t bf_mlx5_rto_ps(const struct bf_mlx5_qp *qp)
{
	return qp->ack_timeout ? (4096 * BF_NS) << qp->ack_timeout : 0;
}

#endif
