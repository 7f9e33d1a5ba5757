/*
 * GIN: what the GPU's threads and the host share of a GPU-initiated endpoint on an mlx5 device, after NVIDIA's GPUNetIO
 * and NCCL's GIN on top of it. docs/gin.md tells how a request travels.
 *
 * Not as in drivers/ibgda: each entry is one WQEBB, asks for a CQE and has the index of its CQE, completion queues are
 * rings with owner bits, and whoever publishes rings. All counters are "index + 1" and never wrap.
 */
#ifndef BELFRY_DRIVERS_GIN_GIN_H
#define BELFRY_DRIVERS_GIN_GIN_H

#include <stdint.h>

#include "sim/compiler.h"

/* Who may use a queue pair: one thread, the threads of a block, all of the GPU. A property of each call. */
enum bf_gin_sharing { BF_GIN_EXCLUSIVE, BF_GIN_CTA, BF_GIN_GPU };

/* How it is rung. */
enum bf_gin_handler {
	BF_GIN_DB,        /* doorbell, record, doorbell */
	BF_GIN_NO_RECORD, /* the register that has the index in it */
	BF_GIN_BF,        /* the entry's 64 bytes, record, doorbell */
	BF_GIN_PROXY,     /* a slot that a thread of the CPU looks at */
	BF_GIN_GFD,       /* not by the GPU: descriptors in a queue, for which a thread of the CPU posts (gfd.h) */
	BF_GIN_D2P,       /* the same, with UCX's descriptors: puts and adds (d2p.h) */
};

/* A completion queue: a ring that the device fills and nobody tells what was consumed. */
struct bf_gin_cq {
	uint8_t *cqe;
	uint32_t cqn, cqe_num;
	uint64_t cqe_ci;   /* all before it are known to be done */
	uint64_t cqe_rsvd; /* entries of the queue pair's earlier lives */
};

/* A queue of descriptors for the CPU, in its memory. */
struct bf_gin_gfds {
	uint64_t pi;
	uint64_t ci; /* the CPU's: all before it were executed */
	uint8_t *slots;
	uint64_t size; /* power of two */
};

/* A queue pair, in the order of GPUNetIO's device structure. */
struct bf_gin_qp {
	uint64_t sq_rsvd_index;  /* reserved */
	uint64_t sq_ready_index; /* filled, in order */
	uint64_t sq_wqe_pi;      /* rung */
	uint32_t sq_num;
	uint32_t sq_lock;
	uint32_t sq_wqe_num; /* power of two */
	uint32_t nic_handler;
	uint8_t *sq_wqe;
	uint32_t *sq_dbrec; /* the send word */
	void *sq_db;        /* the register; of BF_GIN_PROXY the slot */
	struct bf_gin_cq cq;
	uint64_t last_get, visible_get; /* index + 1 */
	struct bf_gin_gfds *gfd;        /* of BF_GIN_GFD and BF_GIN_D2P */
} __attribute__((aligned(64)));

/* What a PE's threads know. Addresses in entries are offsets: keys begin at 0. Keys are as entries have them. */
struct bf_gin_state {
	uint64_t bugs;
	uint32_t mype, npes, contexts;
	uint32_t sharing;
	uint8_t *heap;
	uint64_t window;              /* where it is for the device, and for records */
	uint32_t udp_sport;           /* of all connections; 0: left to the device */
	struct bf_gin_qp *qps;        /* [context * npes + peer]; the own one is not there */
	struct bf_gin_qp *companions; /* the same order: counters */
	const uint32_t *rkeys;        /* [peer], of data; may be relaxed */
	const uint32_t *strict_rkeys; /* of signals */
	uint32_t lkey, strict_lkey;
	uint64_t sink;     /* where old values of atomics go */
	uint32_t *running; /* issuers that are not done: the proxy looks */
};

/* Mistakes on purpose; the numbers of the reports are those of docs/gin.md. */
#define BF_GIN_BUG_NO_READY_FENCE (1u << 0)
#define BF_GIN_BUG_NO_DB_FENCE (1u << 1)
#define BF_GIN_BUG_NO_LOCK (1u << 2)
#define BF_GIN_BUG_NO_CREDIT (1u << 3)
#define BF_GIN_BUG_IGNORE_ERROR (1u << 4)
#define BF_GIN_BUG_FLUSH_NO_RING (1u << 5)
#define BF_GIN_BUG_WRONG_SHARING (1u << 6)
#define BF_GIN_BUG_SIGNAL_OTHER_QP (1u << 7)
#define BF_GIN_BUG_RELAXED_WINDOW (1u << 8)
#define BF_GIN_BUG_UNSIGNALED (1u << 9)
#define BF_GIN_BUG_FILL_NO_RING (1u << 10)
#define BF_GIN_BUG_NO_SECOND_RING (1u << 11)
#define BF_GIN_BUG_COUNTER_NO_WAIT (1u << 12)
#define BF_GIN_BUG_SKIP_READY_ORDER (1u << 13)
#define BF_GIN_BUG_PROXY_QPN (1u << 14)
#define BF_GIN_BUG_NO_SIGNAL_WAIT (1u << 15)
#define BF_GIN_BUG_BF_SHARED (1u << 16)
#define BF_GIN_BUG_POLL_EARLY (1u << 17)
#define BF_GIN_BUG_GET_NOTHING (1u << 18)
#define BF_GIN_BUG_NO_GID (1u << 19)
#define BF_GIN_BUG_GROUP (1u << 20)
#define BF_GIN_BUG_GFD_LOST (1u << 21)
#define BF_GIN_BUG_GFD_FLAG (1u << 22)
#define BF_GIN_BUG_ONE_SPORT (1u << 23)
#define BF_GIN_BUG_DEPTH_1 (1u << 24)
#define BF_GIN_BUG_CQ_PAGE (1u << 25)
#define BF_GIN_BUG_UMEM_OFFSET (1u << 26)
#define BF_GIN_BUG_D2P_RELEASE (1u << 27)
#define BF_GIN_BUG_D2P_LAP (1u << 28)
#define BF_GIN_BUG_D2P_ROOM (1u << 29)

struct bf_gin_bug {
	uint64_t bit;
	const char *name, *summary;
};
extern const struct bf_gin_bug bf_gin_bugs[]; /* ends with a NULL name */

#define BF_GIN_OK 0
#define BF_GIN_BUSY 1
#define BF_GIN_ERROR 2

#endif
