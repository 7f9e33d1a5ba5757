/*
 * What the two halves of libbelfry-record.so share: verbs.c stands before libibverbs and libmlx5, verbs_rings.c knows
 * their rings and writes what is new in them. All calls are made under the lock of verbs.c, but for bf_record_real().
 */
#ifndef BELFRY_TOOLS_RECORD_VERBS_INTERNAL_H
#define BELFRY_TOOLS_RECORD_VERBS_INTERNAL_H

#include <infiniband/mlx5dv.h>
#include <infiniband/verbs.h>
#include <stdint.h>

#define BF_RECORD_VERBS "libibverbs.so.1"
#define BF_RECORD_MLX5 "libmlx5.so.1"
#define BF_RECORD_CQE_BYTES 64u

/* The program's own functions may have any name. */
#pragma GCC visibility push(hidden)

/* What is known of an object of libibverbs begins with this. */
struct bf_record_object {
	struct bf_record_object *next;
	const void *object;
};

struct bf_record_cq {
	struct bf_record_object known;
	struct mlx5dv_cq dv;
	uint32_t consumer;
	/* Of those that ibv_create_cq_ex() made. */
	int (*start_poll)(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr);
	int (*next_poll)(struct ibv_cq_ex *cq);
};

/* Its entries are a list; new ones go into the place that the last one names. */
struct bf_record_srq {
	struct bf_record_object known;
	struct mlx5dv_srq dv;
	uint32_t wqes, place;
	uint32_t posted; /* entries that the capture has */
};

struct bf_record_qp {
	struct bf_record_object known;
	struct ibv_qp *qp;
	struct mlx5dv_qp dv;
	uint32_t sent, received; /* blocks and entries that the capture has */
	struct ibv_qp_ex *ex;    /* the same for those who use the newer calls */
	int (*wr_complete)(struct ibv_qp_ex *qp);
};

/*
 * The function `name` that this library stands before goes into the function pointer at `function`. Plugins may have
 * loaded `library` for themselves alone.
 */
void bf_record_real(const char *library, const char *name, void *function);

/* Objects that are known; NULL for others. Adding one that libmlx5 does not know, or NULL, adds nothing. */
struct bf_record_qp *bf_record_qp_of(const struct ibv_qp *qp);
struct bf_record_cq *bf_record_cq_of(const struct ibv_cq *cq);
struct bf_record_srq *bf_record_srq_of(const struct ibv_srq *srq);
void bf_record_add_qp(struct ibv_qp *qp);
void bf_record_add_cq(struct ibv_cq *cq);
void bf_record_add_srq(struct ibv_srq *srq);
void bf_record_drop_qp(const struct ibv_qp *qp);
void bf_record_drop_cq(const struct ibv_cq *cq);
void bf_record_drop_srq(const struct ibv_srq *srq);

/* Events of the capture: of entries those that it does not have yet, of a completion queue the next one. */
void bf_record_tell_key(const struct ibv_mr *mr, uint64_t iova, unsigned access);
void bf_record_tell_qp(const struct bf_record_qp *q, uint32_t dest_qpn);
void bf_record_tell_sends(struct bf_record_qp *q);
void bf_record_tell_receives(struct bf_record_qp *q);
void bf_record_tell_shared_receives(struct bf_record_srq *s);
void bf_record_tell_cqe(struct bf_record_cq *q, const uint8_t *cqe);

#pragma GCC visibility pop

#endif
