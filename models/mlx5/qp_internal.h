/*
 * Queue pairs, and what is under way for them.
 *
 * A send WQE moves through five 16-bit WQEBB counters of its queue pair, in this order (each equal to or behind the one
 * before, modulo 2^16). The last three are the transport's (models/rdma/rdma.h), whose slots are WQEBBs:
 *   producer   what the doorbell record said last
 *   fetched    bytes are in the device's copy of the ring
 *   decoded    struct bf_mlx5_send is filled in
 *   tx_index   where the transmitter stands
 *   head       the oldest WQE without completion
 */
#ifndef BELFRY_MODELS_MLX5_QP_INTERNAL_H
#define BELFRY_MODELS_MLX5_QP_INTERNAL_H

#include "models/mlx5/objects_internal.h"

/* A decoded send WQE, at [index of its first WQEBB & mask]. Its bytes stay in the queue pair's copy of the ring. */
struct bf_mlx5_send {
	struct bf_rdma_send rdma;
	uint64_t told_ps; /* arrival of the doorbell that announced it: known before the rest is */
	uint64_t va;      /* first SGE */
	uint32_t lkey;
	uint16_t index; /* where its bytes are, and what its CQE says; rdma.slot is the same but in a stream of a DCI */
	uint16_t payload;   /* offset of the first data segment */
	uint16_t inline_at; /* offset of the bytes before those of data segments */
	uint8_t opcode, opmod, nsge, ce;
	uint8_t av;  /* bytes of address vector */
	bool mapped; /* one of its local keys translates */
	bool in_cqe; /* the answer's bytes are where the WQE was, for the CQE */
	struct bf_mlx5_err err;
};

/* One DMA read on behalf of a DUMP or of a doorbell, or the wait of an interrupt; from the device's pool. */
struct bf_mlx5_xfer {
	struct bf_dma_op op;
	struct bf_mlx5_qp *qp;
	struct bf_mlx5_xfer *next;
	uint32_t epoch;
	union {
		struct {
			uint16_t slot;
			bool last; /* with this read the DUMP is done */
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
	struct bf_mlx5_receive *next; /* in the line before a shared receive queue */
	bool in_line;
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
	uint32_t xrcd, user_index; /* XRC */
	struct bf_mlx5_cq *cq;     /* XRC: where its completions go; NULL: of no such queue */
	uint32_t users;            /* queue pairs, DC targets */
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

/* Half a queue pair that moves frames; see eth_queue.c. */
enum bf_mlx5_raw { BF_MLX5_NOT_RAW, BF_MLX5_RAW_SQ, BF_MLX5_RAW_RQ };

/*
 * What one message touches comes first, the requester's part before the responder's; what commands say comes last. The
 * transport's part has the same order.
 */
struct bf_mlx5_qp {
	struct bf_mlx5 *dev;
	/* Requester. */
	uint8_t *sq_bytes;
	struct bf_mlx5_dci *dci;               /* NULL: none */
	struct bf_mlx5_dc_context *context_of; /* NULL: a queue pair with a number of its own */
	uint16_t producer, fetch_issued, fetched;
	uint16_t bell_index;
	uint8_t fetch_next;
	uint8_t cs_req, cs_res; /* data of up to so many bytes go into the CQE of a READ or atomic, of a receive */
	bool in_progress;       /* inside the engine: a nested call returns at once */
	bool dbr_busy, dbr_again, bell_again;
	bool has_sq : 1, has_rq : 1;
	bool drained : 1;   /* in SQD, and said so */
	bool no_record : 1; /* rung by a register of its own, which has the index */
	bool companion : 1; /* may WAIT (cd_master) */
	bool ooo : 1;       /* data that arrive are placed in any order */
	bool xrc : 1;       /* its shared receive queue, CQ and protection domain are those that the request names */
	uint8_t raw;        /* enum bf_mlx5_raw */
	uint8_t dump_byte;
	uint8_t rq_busy;
	uint8_t rq_found;       /* enum bf_rdma_take: what the last look at the queue says to the request that waits */
	struct bf_mlx5_err err; /* the first */
	uint32_t pd, uar;
	uint32_t doorbells, user_index;
	uint32_t qkey; /* of datagrams */
	uint32_t xrcd; /* XRC: the domain that shared receive queues must be of */
	struct bf_mlx5_cq *send_cq;
	struct bf_mlx5_port *port; /* bf_mlx5_qp_use_port() */
	struct bf_mlx5_buf sq, dbr;
	struct bf_event bell_event;
	uint64_t bell_ps, again_ps; /* arrival of the doorbells behind bell_event and bell_again */
	struct bf_mlx5_bf *bf;      /* register of the last BlueFlame ring */
	struct bf_rdma_qp rdma;
	/* Receive queue. */
	uint32_t raw_users; /* a raw one's: TIRs, and entries of tables */
	uint16_t rq_index;  /* of the receive WQE at hand */
	uint16_t rq_stride;
	uint16_t rq_mask, rq_producer, rq_consumed, rq_cached;
	struct bf_mlx5_receive *receive; /* NULL: none was asked for */
	struct bf_mlx5_srq *srq;         /* where receive WQEs come from instead; NULL: nowhere */
	struct bf_mlx5_cq *recv_cq;
	struct bf_mlx5_buf rq;
	/* Object. */
	struct bf_mlx5_cq *wait_cq; /* what its WAIT waits for; NULL: none */
	union {
		struct bf_mlx5_qp *wait_next;   /* others that wait for the same */
		struct bf_mlx5_qp *next_zombie; /* of a dead one, which waits for nothing */
	};
	struct bf_mlx5_packed *context; /* NULL: that of the DCI, or the target's */
};
/* The pool gives whole lines: a mesh of hundreds of PEs has hundreds of thousands. */
BF_STATIC_ASSERT(sizeof(struct bf_mlx5_qp) <= 640, "a queue pair is ten lines");

static inline struct bf_mlx5_qp *bf_mlx5_qp_of(const struct bf_rdma_qp *qp)
{
	return BF_CONTAINER_OF(qp, struct bf_mlx5_qp, rdma);
}

/* sq_copy.c. In one piece, so that a queue pair whose few WQEs lie at the start of its ring has all in a page or two.
 */
struct bf_mlx5_sq_copy {
	struct bf_mlx5_sq_copy *next; /* nobody uses it */
	uint8_t *bytes;
	struct bf_mlx5_fetch fetch[BF_MLX5_FETCHES];
	struct bf_mlx5_send sends[];
};

/* Of a queue pair that has one; not of a stream, whose DCI fetches. */
static inline struct bf_mlx5_sq_copy *bf_mlx5_sq_copy_of(const struct bf_mlx5_qp *qp)
{
	return BF_CONTAINER_OF(qp->rdma.sends, struct bf_mlx5_sq_copy, sends);
}

static inline struct bf_mlx5_send *bf_mlx5_send_of(const struct bf_rdma_send *s)
{
	return BF_CONTAINER_OF(s, struct bf_mlx5_send, rdma);
}

/* Asks for what a message touches of a queue pair: in a large job no cache has it, and its lines would come one by one.
 */
static inline void bf_mlx5_qp_prefetch(const struct bf_mlx5_qp *qp, size_t from, size_t to)
{
	for (; from < to; from += 64)
		__builtin_prefetch((const uint8_t *)qp + from, 1);
}
#define BF_MLX5_QP_REQUESTER 0, offsetof(struct bf_mlx5_qp, rdma.rx_va)
#define BF_MLX5_QP_RESPONDER 0, offsetof(struct bf_mlx5_qp, wait_cq)

#endif
