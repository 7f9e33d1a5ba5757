/* Event queues and shared receive queues of the rig's devices, driven as Linux and libmlx5 drive them. */
#ifndef BELFRY_TESTS_MLX5_EVENTS_H
#define BELFRY_TESTS_MLX5_EVENTS_H

#include "tests/models/mlx5_rig.h"

struct rig_eq {
	struct rig_node *node;
	uint8_t *ring;
	uint32_t eqn, entries, ci;
};

#define RIG_EVENTS(type) (1ull << (type))
#define RIG_ALL_EVENTS (~1ull)

/* Fills CREATE_EQ; `flags` 1: overrun is ignored. The ring's pages are in reverse order when it has more than one. */
#define RIG_CREATE_EQ_LEN (BF_CREATE_EQ_PAS + 8 * 16)
static inline void rig_eq_fill(struct rig_node *n, uint8_t in[RIG_CREATE_EQ_LEN], uint64_t ring, uint32_t log_size,
			       uint32_t vector, uint64_t mask, uint32_t flags)
{
	uint8_t *eqc = in + BF_EQ_EQC;
	uint32_t pages = ((64u << log_size) + 4095) / 4096;

	memset(in, 0, RIG_CREATE_EQ_LEN);
	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_CREATE_EQ);
	BF_MLX5_SET(eqc, BF_EQC_LOG_SIZE, log_size);
	BF_MLX5_SET(eqc, BF_EQC_UAR_PAGE, n->uar);
	BF_MLX5_SET(eqc, BF_EQC_INTR, vector);
	BF_MLX5_SET(eqc, BF_EQC_OI, flags & 1);
	bf_put_be64(in + BF_CREATE_EQ_MASK, mask);
	for (uint32_t i = 0; i < pages && i < 16; i++)
		bf_put_be64(in + BF_CREATE_EQ_PAS + 8 * i, ring + 4096ull * (pages - 1 - i));
}

static inline void rig_eq_open(struct rig_node *n, struct rig_eq *eq, uint32_t log_size, uint32_t vector, uint64_t mask,
			       uint32_t flags)
{
	uint8_t in[RIG_CREATE_EQ_LEN];

	*eq = (struct rig_eq){ .node = n, .entries = 1u << log_size };
	eq->ring = rig_alloc(n, 64ull << log_size);
	memset(eq->ring, 0xff, 64u << log_size); /* owner 1: the device's */
	rig_eq_fill(n, in, rig_va(n, eq->ring), log_size, vector, mask, flags);
	eq->eqn = rig_do(n, BF_MLX5_CMD_CREATE_EQ, in, sizeof(in));
}

static inline const struct bf_mlx5_eqe *rig_eqe(const struct rig_eq *eq, uint32_t count)
{
	uint32_t at = (count & (eq->entries - 1)) * 64, pages = (eq->entries * 64 + 4095) / 4096;

	return (const void *)(eq->ring + (pages - 1 - at / 4096) * 4096 + at % 4096);
}

/* The next entry; NULL when there is none. */
static inline const struct bf_mlx5_eqe *rig_eq_poll(struct rig_eq *eq)
{
	const struct bf_mlx5_eqe *e = rig_eqe(eq, eq->ci);

	if ((e->owner & BF_MLX5_EQE_OWNER) != ((eq->ci & eq->entries) != 0))
		return NULL;
	eq->ci++;
	return e;
}

static inline void rig_eq_update(struct rig_eq *eq, bool arm)
{
	uint8_t word[4];

	bf_put_be32(word, eq->eqn << 24 | (eq->ci & 0xffffff));
	bf_mmio_post(bf_mlx5_uar(eq->node->dev, eq->node->uar), arm ? BF_MLX5_UAR_EQ_ARM : BF_MLX5_UAR_EQ_NO_ARM, word,
		     4);
}

static inline void rig_cq_arm(struct rig_cq *cq, uint32_t sn, bool solicited_only)
{
	uint8_t word[8];

	bf_put_be32(word, sn << 28 | (solicited_only ? 1u << 24 : 0) | (cq->ci & 0xffffff));
	bf_put_be32(word + 4, cq->cqn);
	bf_mmio_post(bf_mlx5_uar(cq->node->dev, cq->node->uar), BF_MLX5_UAR_CQ_ARM, word, 8);
}

/* A linked-list SRQ; posting takes WQEs in the order of the list, as libmlx5 does. */
struct rig_srq {
	struct rig_node *node;
	uint8_t *ring, *dbr;
	uint32_t srqn, entries, stride;
	uint16_t head, counter;
};

static inline uint8_t *rig_srq_wqe(const struct rig_srq *q, uint32_t index)
{
	return q->ring + index * q->stride;
}

static inline void rig_srq_link(struct rig_srq *q, uint32_t index, uint32_t next)
{
	bf_put_be16(rig_srq_wqe(q, index) + 2, (uint16_t)next);
}

/* Fills CREATE_RMP, or CREATE_SRQ. */
static inline uint32_t rig_srq_fill(struct rig_srq *q, uint8_t *in, bool rmp, uint32_t log_size, uint32_t log_stride)
{
	uint8_t *wq = in + BF_RMP_RMPC + BF_RMPC_WQ, *srqc = in + BF_SRQ_SRQC;

	memset(in, 0, BF_CREATE_RMP_LEN);
	if (rmp) {
		BF_MLX5_SET(wq, BF_WQ_TYPE, BF_WQ_LINKED_LIST);
		BF_MLX5_SET(wq, BF_WQ_PD, q->node->pd);
		BF_MLX5_SET(wq, BF_WQ_LOG_SIZE, log_size);
		BF_MLX5_SET(wq, BF_WQ_LOG_STRIDE, log_stride);
		bf_put_be64(wq + BF_WQ_DBR_ADDR, rig_va(q->node, q->dbr));
		bf_put_be64(wq + BF_WQ_UMEM_OFFSET, rig_va(q->node, q->ring));
		return BF_MLX5_CMD_CREATE_RMP;
	}
	BF_MLX5_SET(srqc, BF_SRQC_PD, q->node->pd);
	BF_MLX5_SET(srqc, BF_SRQC_LOG_SIZE, log_size);
	BF_MLX5_SET(srqc, BF_SRQC_LOG_STRIDE, log_stride - 4);
	bf_put_be64(srqc + BF_SRQC_DBR_ADDR, rig_va(q->node, q->dbr));
	bf_put_be64(in + BF_CREATE_SRQ_UMEM_OFFSET, rig_va(q->node, q->ring));
	return BF_MLX5_CMD_CREATE_SRQ;
}

static inline void rig_srq_open(struct rig_node *n, struct rig_srq *q, bool rmp, uint32_t log_size, uint32_t log_stride)
{
	uint8_t in[BF_CREATE_RMP_LEN];
	uint32_t opcode;

	*q = (struct rig_srq){ .node = n, .entries = 1u << log_size, .stride = 1u << log_stride };
	q->ring = rig_alloc(n, (uint64_t)q->entries << log_stride);
	q->dbr = rig_alloc(n, 8);
	for (uint32_t i = 0; i < q->entries; i++)
		rig_srq_link(q, i, (i + 1) & (q->entries - 1));
	opcode = rig_srq_fill(q, in, rmp, log_size, log_stride);
	q->srqn = rig_do(n, opcode, in, sizeof(in));
}

/* Posts one receive of `len` bytes at `local` of the data buffer; returns the WQE's place. */
static inline uint32_t rig_srq_post(struct rig_srq *q, uint64_t local, uint32_t len)
{
	uint32_t index = q->head;
	uint8_t *wqe = rig_srq_wqe(q, index);

	rig_put_data(wqe + 16, len, q->node->key, q->node->data_va + local);
	if (q->stride > 32)
		rig_put_data(wqe + 32, 0, BF_MLX5_INVALID_LKEY, 0);
	q->head = bf_get_be16(wqe + 2);
	bf_put_be32(q->dbr, ++q->counter);
	return index;
}

/* An event when fewer than `limit` WQEs are left. */
static inline uint32_t rig_srq_limit(struct rig_srq *q, bool rmp, uint32_t limit)
{
	uint8_t in[BF_CREATE_RMP_LEN] = { 0 }, out[16];

	BF_MLX5_SET(in, BF_CMD_IN_NUMBER, q->srqn);
	if (rmp) {
		BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_MODIFY_RMP);
		BF_MLX5_SET(in, BF_MODIFY_RMP_BITMASK, 1);
		BF_MLX5_SET(in + BF_RMP_RMPC + BF_RMPC_WQ, BF_WQ_LWM, limit);
	} else {
		BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_ARM_RQ);
		BF_MLX5_SET(in, BF_CMD_OP_MOD, BF_ARM_RQ_SRQ);
		BF_MLX5_SET(in, BF_ARM_RQ_LWM, limit);
	}
	return rig_cmd(q->node, in, sizeof(in), out, sizeof(out));
}

#endif
