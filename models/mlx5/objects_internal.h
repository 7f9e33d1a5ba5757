/*
 * The objects behind the numbers in commands: tables of them, ports, protection domains, memory, keys, event and
 * completion queues. Queue pairs have a file of their own: qp_internal.h.
 */
#ifndef BELFRY_MODELS_MLX5_OBJECTS_INTERNAL_H
#define BELFRY_MODELS_MLX5_OBJECTS_INTERNAL_H

#include "models/mlx5/mlx5.h"
#include "models/mlx5/records.h"
#include "models/mlx5/wqe.h"
#include "models/rdma/rdma.h"

/*
 * Objects by 24-bit number, in two levels: a look-up is two loads. Both take memory only from the lowest number to the
 * highest, since a simulation may have thousands of devices with a few objects each.
 */
#define BF_MLX5_TABLE_SHIFT 6u
#define BF_MLX5_TABLE_LEAF (1u << BF_MLX5_TABLE_SHIFT)

struct bf_mlx5_table {
	struct bf_sim *sim;
	void ***leaf; /* [leaves], for the numbers from first << BF_MLX5_TABLE_SHIFT on */
	uint32_t first, leaves;
	uint32_t count, limit; /* objects now and at most */
	uint32_t next;         /* where the search for a free number starts */
	uint32_t low, high;    /* the numbers that are given out */
	uint32_t forced;       /* bf_mlx5_next_number() */
	bool has_forced;
};

static inline void *bf_mlx5_table_get(const struct bf_mlx5_table *t, uint32_t number)
{
	const uint32_t at = (number >> BF_MLX5_TABLE_SHIFT) - t->first;
	void **leaf = at < t->leaves ? t->leaf[at] : NULL;

	return leaf ? leaf[number & (BF_MLX5_TABLE_LEAF - 1)] : NULL;
}
/* Gives out numbers low .. high, at most `limit` at a time. */
void bf_mlx5_table_init(struct bf_mlx5_table *t, struct bf_sim *sim, uint32_t low, uint32_t high, uint32_t limit);
/* Puts `obj` under the forced or the next free number. 0, -ENOSPC or -ENOMEM. */
int bf_mlx5_table_add(struct bf_mlx5_table *t, void *obj, uint32_t *number);
void bf_mlx5_table_remove(struct bf_mlx5_table *t, uint32_t number);
/* The first object at or above `*number`, which becomes its number; NULL when there is none. */
void *bf_mlx5_table_next(const struct bf_mlx5_table *t, uint32_t *number);
void bf_mlx5_table_fini(struct bf_mlx5_table *t);

#define BF_MLX5_PORTS 2u
#define BF_MLX5_LOG_MAX_SRQ 23u
#define BF_MLX5_LOG_MAX_XRCD 10u
#define BF_MLX5_MAX_EQ 0xffu /* the width of the number in an event queue's doorbell */

/* A network port. Packets arrive here and leave by the one that their queue pair names. */
struct bf_mlx5_port {
	struct bf_mlx5 *dev;
	struct bf_port *port;
	uint32_t ipv4;
	uint32_t capabilities; /* InfiniBand: PortInfo's, as the host's software sets them */
	uint8_t mac[6];
	struct bf_mlx5_qp *special[2]; /* queue pairs 0 and 1; NULL: nobody listens */
};

struct bf_mlx5_pd {
	uint32_t number, users;
};

struct bf_mlx5_umem {
	uint32_t number, users;
	uint32_t log_page;
	uint64_t page_offset;
	uint64_t size;
	uint64_t npages;
	bool contiguous;  /* each page follows the one before: only the first is kept */
	bool owned;       /* came with the command that made its user, and goes with it: commands cannot name it */
	uint64_t pages[]; /* permission bits cleared */
};

/*
 * A piece of a UMEM: a ring or a doorbell record. All are multiples of 8 bytes on multiples of 8, so the lowest bit is
 * free to say which of two things `at` is.
 */
#define BF_MLX5_BUF_SCATTERED 1u
struct bf_mlx5_buf {
	struct bf_mlx5_umem *umem; /* NULL: plain IOVA */
	uint64_t at; /* IOVA of the first byte; with BF_MLX5_BUF_SCATTERED, where pages have gaps, offset in the UMEM */
};
static inline bool bf_mlx5_buf_linear(const struct bf_mlx5_buf *b)
{
	return !(b->at & BF_MLX5_BUF_SCATTERED);
}
/* IOVA of byte `at`; `*run` gets how many of the `len` bytes follow without a gap. */
uint64_t bf_mlx5_buf_iova(const struct bf_mlx5_buf *b, uint64_t at, uint32_t len, uint32_t *run);
/* One user more of what it lies in, or `by` UINT32_MAX one less, or 0: none came of it. */
void bf_mlx5_buf_hold(struct bf_mlx5 *dev, const struct bf_mlx5_buf *b, uint32_t by);

/*
 * What a key translates by: `rounds` rounds of parts, one behind the other. A part is bytes of another key, or of a
 * page (key 0); from round to round it moves by `stride`.
 */
struct bf_mlx5_part {
	uint64_t at;   /* address in the other key, or IOVA */
	uint64_t from; /* where in the round it begins */
	uint64_t len;
	uint32_t key, stride;
};
struct bf_mlx5_xlat {
	uint64_t round, rounds; /* bytes; 0: nothing is there */
	uint64_t offset;        /* of the key's first byte in the first part */
	uint32_t count, room;   /* parts that are there, that there is memory for */
	struct bf_mlx5_part part[];
};

#define BF_MLX5_ANY_QP 0xffffffu

struct bf_mlx5_mkey {
	uint64_t start, len;
	struct bf_mlx5_xlat *xlat;     /* NULL: addresses are IOVAs */
	struct bf_mlx5_umem *umem;     /* whose pages they are; NULL: nobody's */
	struct bf_mlx5_paging *paging; /* which pages are there; NULL: all */
	uint32_t index, pd, qpn;
	uint32_t access; /* BF_MLX5_ACCESS_* */
	uint8_t variant;
	bool free, length64, relaxed;
	bool klm, umr_en, en_rinval; /* what UMR WQEs and remote invalidation may do */
	uint8_t context[64];         /* as created, for QUERY_MKEY */
};

#define BF_MLX5_ACCESS_LOCAL_READ 1u
#define BF_MLX5_ACCESS_LOCAL_WRITE 2u
#define BF_MLX5_ACCESS_REMOTE_READ BF_RDMA_ACCESS_REMOTE_READ
#define BF_MLX5_ACCESS_REMOTE_WRITE BF_RDMA_ACCESS_REMOTE_WRITE
#define BF_MLX5_ACCESS_ATOMIC BF_RDMA_ACCESS_ATOMIC

/* An error, as the CQE will tell it. */
struct bf_mlx5_err {
	uint8_t syndrome, vendor, hw;
};

/*
 * A context as a command gave it, for QUERY: the 32-bit words that are not zero. Most are, and there are hundreds of
 * thousands of contexts.
 */
struct bf_mlx5_packed {
	uint64_t have; /* bit i: word i is there */
	uint32_t word[];
};
/* Bytes that the context of `len` bytes takes when it is packed; `len` is a multiple of 4, at most 256. */
size_t bf_mlx5_packed_size(const uint8_t *context, uint32_t len);
void bf_mlx5_pack(struct bf_mlx5_packed *to, const uint8_t *context, uint32_t len);
void bf_mlx5_unpack(const struct bf_mlx5_packed *from, uint8_t *context, uint32_t len);

struct bf_mlx5_eq {
	struct bf_mlx5 *dev;
	struct bf_mlx5_umem *pages; /* of the ring */
	struct bf_mlx5_buf buf;
	uint64_t types; /* a bit for each asynchronous event that it takes */
	uint32_t eqn, actor;
	uint32_t mask; /* entries - 1 */
	uint32_t producer, consumer;
	uint32_t vector, uar;
	uint32_t users; /* CQs */
	uint8_t status; /* EQC.status */
	bool armed, ignore_overrun;
	uint8_t context[BF_EQC_LEN];
};

struct bf_mlx5_cq_wait; /* a CQE that waits for room to be known */

/* There are two for each queue pair of a large job: what only others need is behind `extra`. */
struct bf_mlx5_cq {
	struct bf_mlx5 *dev;
	struct bf_mlx5_cq_extra *extra; /* NULL: overrun is ignored, and events neither go anywhere nor wait */
	struct bf_mlx5_buf buf;
	uint32_t cqn, actor;
	uint32_t mask; /* entries - 1 */
	uint32_t producer;
	uint32_t solicited_end; /* index behind the last entry that was solicited */
	uint32_t notified_end;  /* behind the last one that the last event told of */
	uint32_t uar, users;
	uint16_t bytes;   /* that it takes, its context included */
	uint8_t cqe_size; /* 64 or 128 */
	uint8_t status;   /* CQC.status */
	uint8_t arm;      /* 0: no */
#define ARMED_ANY 1u
#define ARMED_SOLICITED 2u
	uint8_t arm_sn, fired_sn; /* of the last arming; of the last that raised its event, if one has */
	bool fired : 1;
	bool pad : 1; /* all of the 128 bytes are written */
	bool collapsed : 1, ignore_overrun : 1, error : 1, dead : 1;
}; /* a struct bf_mlx5_packed follows */

struct bf_mlx5_cq_extra {
	struct bf_mlx5_cq *cq;
	struct bf_mlx5_eq *eq; /* NULL: its events go nowhere */
	/* An event may wait for `max_count` entries, but `period_us` at most. */
	struct bf_event timer;
	uint16_t period_us, max_count, count;
	bool reading; /* the doorbell record: what its consumer has seen, when overrun is looked out for */
	struct bf_dma_op op;
	struct bf_mlx5_buf dbr; /* bf_mlx5_cq_has_record() */
	uint8_t dbr_bytes[8];
	uint32_t consumer;
	uint32_t arm_word; /* high word of the last arm doorbell; all ones: there was none */
	struct bf_mlx5_cq_wait *wait, **wait_tail;
	struct bf_mlx5_session *session; /* entries that may become one compressed block; NULL: none is compressed */
	struct bf_mlx5_qp *waiters;      /* whose send queue stands at a WAIT for this CQ */
	uint32_t errors;                 /* entries that told of one */
	struct bf_mlx5_cq *next_zombie;
};

/* Whether it is known where the doorbell record is: only those that nothing of it matters to go without. */
static inline bool bf_mlx5_cq_has_record(const struct bf_mlx5_cq *cq)
{
	return !cq->ignore_overrun || (cq->extra && cq->extra->eq);
}

#endif
