/*
 * Backend "rxe": mlx5 queues that verbs execute. A request travels through the files in this order:
 *
 *   rxe_command.c  command blocks: capabilities, keys, UMEMs
 *   rxe_queue.c    CQs, queue pairs and their transitions, with verbs objects behind them
 *   rxe_send.c     a ring was heard: entries are fetched, decoded, and posted on the RDMA device
 *   rxe_done.c     what the device completed: old values of emulated atomics, CQEs in mlx5 layout, receives
 *   rxe_records.c  each of these steps as the record that the mlx5 model emits for it
 *   backend_rxe.c  the world, and the thread that does all this while a grid runs
 */
#ifndef BELFRY_DRIVERS_BACKEND_RXE_INTERNAL_H
#define BELFRY_DRIVERS_BACKEND_RXE_INTERNAL_H

#include "drivers/backend/verbs_world_internal.h"
#include "models/mlx5/prm.h"
#include "models/mlx5/wqe.h"
#include "sim/record.h"

#define BF_RXE_SENDS_MAX 512u  /* of each queue pair on the device at a time */
#define BF_RXE_NIC_SENDS 4000u /* of all of a NIC, so that their completions fit its CQ */
#define BF_RXE_NIC_RECEIVES 8000u
#define BF_RXE_INLINE 220u /* what four WQEBBs have room for */

struct bf_rxe_umem {
	uint8_t *at;
	uint64_t size;
};

/* A key of the driver's and the region behind it. */
struct bf_rxe_key {
	struct bf_verbs_nic *nic;
	uint64_t va, len;
	uint32_t lkey, rkey; /* the device's */
	uint8_t variant;
	void *mr;
};

struct bf_rxe_cq {
	struct bf_verbs_nic *nic;
	struct bf_mlx5_cqe *ring;
	const uint32_t *dbr;
	uint32_t entries;
	uint32_t producer; /* grows for ever */
	uint32_t number, actor;
	bool collapsed, ignore_overrun, error;
};

struct bf_rxe_uar {
	struct bf_verbs_nic *nic;
	uint8_t *page;
};

/* One fetched entry whose turn to complete has not come. */
struct bf_rxe_entry {
	uint16_t index; /* WQEBB counter */
	uint8_t opcode;
	uint8_t syndrome, vendor; /* 0: good */
	bool tell;                /* a CQE is wanted */
	bool posted;              /* the device has it; otherwise it is complete */
	uint32_t bytes;
};

/* An atomic that verbs do not have, by compare and swap of the eight bytes around it. */
struct bf_rxe_emulation {
	bool runs;
	uint8_t opcode, size, shift;
	uint64_t swap_add, compare, swap_mask, compare_mask;
	uint64_t expected; /* what the eight bytes were when last seen */
	uint64_t raddr;    /* of the eight bytes */
	uint32_t rkey;
	uint8_t *result; /* where the old value goes */
};

struct bf_rxe_qp {
	struct bf_rxe_qp *next;
	struct bf_verbs_nic *nic;
	struct bf_verbs_qp *vqp; /* NULL: destroyed; completions of its may still come */
	struct bf_rxe_cq *send_cq, *recv_cq;
	struct bf_rxe_uar *uar;
	uint32_t qpn, user_index, actor;
	uint8_t state;  /* enum bf_mlx5_qp_state */
	uint16_t epoch; /* completions of an earlier life do not count */
	struct bf_verbs_path path;

	/* Send queue: WQEBBs up to `producer` were rung for, up to `fetched` they are in `entry`. */
	uint8_t *sq;
	const uint32_t *dbr;
	uint32_t depth;
	uint16_t producer, fetched;
	struct bf_rxe_entry *entry; /* [depth], from `head` to `tail` */
	uint32_t head, tail;
	uint32_t sends; /* on the device */
	bool refused;   /* the last one fetched will fail: nothing behind it is looked at before */
	struct bf_rxe_emulation emulation;
	uint64_t *scratch; /* registered: where emulated atomics get old values */
	uint32_t scratch_lkey;
	void *scratch_mr;

	/* Receive queue. */
	uint8_t *rq;
	uint32_t rq_depth, rq_stride;
	uint16_t received, given; /* entries that completed, and that the device has or had */
};

struct bf_rxe_table {
	void **at;
	uint32_t n;
};

struct bf_rxe_nic {
	uint32_t sends, receives; /* on the device */
};

struct bf_rxe_world {
	struct bf_verbs_world v;
	struct bf_rxe_table umems, keys, cqs, uars, pds; /* number less 1 */
	struct bf_rxe_qp *qps;
	struct bf_rxe_nic *load;    /* [npes * nics] */
	struct bf_stream records;   /* under v.lock */
	uint64_t opened_ns, now_ps; /* the records' clock, from the world's opening */
	pthread_t thread;
	bool stop;
};

static inline struct bf_rxe_world *bf_rxe_world_of(struct bf_world *m)
{
	return BF_CONTAINER_OF(bf_verbs_world_of(m), struct bf_rxe_world, v);
}

static inline struct bf_rxe_nic *bf_rxe_load(struct bf_rxe_world *w, const struct bf_verbs_nic *n)
{
	return &w->load[n - w->v.nic];
}

/* 0 or a negative errno; -ENOENT: no such number. Numbers count from 1, so that 0 is nobody's. */
int bf_rxe_table_add(struct bf_rxe_table *t, void *p, uint32_t *number);
void *bf_rxe_table_get(const struct bf_rxe_table *t, uint32_t number);
void bf_rxe_table_remove(struct bf_rxe_table *t, uint32_t number);

/* A command on its way. */
struct bf_rxe_block {
	struct bf_rxe_world *w;
	struct bf_verbs_nic *nic;
	const uint8_t *in;
	size_t in_len;
	uint8_t out[272];
	uint32_t opcode, number;
};

/* ---- rxe_command.c ---- */

/* Puts a new object into its table and its number into the answer; frees it when there is no room. */
int bf_rxe_add(struct bf_rxe_block *b, struct bf_rxe_table *t, void *p);
void bf_rxe_refuse(struct bf_rxe_block *b, uint32_t status);

/* bf_backend.command() and map_uar(), under the world's lock. */
int bf_rxe_command(struct bf_world *m, uint32_t pe, uint32_t nic, const void *in, size_t in_len, void *out,
		   size_t out_len);
int bf_rxe_map_uar(struct bf_world *m, uint32_t pe, uint32_t nic, struct bf_uar *out);
/* Takes everything away that commands have made. */
void bf_rxe_close_objects(struct bf_rxe_world *w);

/* ---- rxe_queue.c ---- */

/* Commands: 0, refused or not, or a negative errno. */
int bf_rxe_create_cq(struct bf_rxe_block *b);
int bf_rxe_query_cq(struct bf_rxe_block *b);
int bf_rxe_create_qp(struct bf_rxe_block *b);
/* Those of a queue pair that exists: transitions, QUERY_QP, DESTROY_QP. */
int bf_rxe_on_qp(struct bf_rxe_block *b);
void bf_rxe_free_qp(struct bf_rxe_world *w, struct bf_rxe_qp *qp);

/* ---- rxe_send.c ---- */

/* Looks at all doorbell pages. How many rang. */
uint32_t bf_rxe_hear(struct bf_rxe_world *w);
/* Fetches and posts as much as was rung for and has room. How many entries. */
uint32_t bf_rxe_send(struct bf_rxe_world *w, struct bf_rxe_qp *qp);
/* Hands new receive entries to the device. How many. */
uint32_t bf_rxe_receive(struct bf_rxe_world *w, struct bf_rxe_qp *qp);
/* The next step of an emulated atomic: 0, or a negative errno when it cannot be posted. */
int bf_rxe_emulate(struct bf_rxe_world *w, struct bf_rxe_qp *qp, bool fence);

/* ---- rxe_done.c ---- */

/* Takes completions from all devices. How many. */
uint32_t bf_rxe_poll(struct bf_rxe_world *w);
/* Writes CQEs for entries whose turn it is. */
void bf_rxe_retire(struct bf_rxe_world *w, struct bf_rxe_qp *qp);
void bf_rxe_qp_error(struct bf_rxe_world *w, struct bf_rxe_qp *qp);

/* ---- rxe_records.c ---- */

int bf_rxe_records_open(struct bf_rxe_world *w, const struct bf_world_opts *opts);

/* Whether anybody wants records; the others are to be called only then. */
static inline bool bf_rxe_recorded(const struct bf_rxe_world *w)
{
	return BF_UNLIKELY(w->records.mask != 0);
}

void bf_rxe_record_cq(struct bf_rxe_world *w, struct bf_rxe_cq *cq, const uint8_t *cqc);
void bf_rxe_record_qp(struct bf_rxe_world *w, struct bf_rxe_qp *qp, const uint8_t *qpc);
void bf_rxe_record_path(struct bf_rxe_world *w, const struct bf_rxe_qp *qp);
/* The entry at `fetched`, decoded with the result `rc`. */
void bf_rxe_record_fetch(struct bf_rxe_world *w, const struct bf_rxe_qp *qp, const uint8_t *bytes,
			 const struct bf_mlx5_wqe *x, int rc);
/* A CQE that is about to be written; `lost`: the CQ is full or in error. */
void bf_rxe_record_cqe(struct bf_rxe_world *w, const struct bf_rxe_cq *cq, const struct bf_mlx5_cqe *cqe, bool lost);

/* Which queue pair, and which of its lives, a work request belongs to; the lowest bit tells receives. */
static inline uint64_t bf_rxe_id(const struct bf_rxe_qp *qp, bool receive)
{
	return (uint64_t)qp->epoch << 48 | (uintptr_t)qp | receive;
}

#endif
