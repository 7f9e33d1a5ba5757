/* Two devices that have all that GPU-initiated drivers may ask for, and their ways to ring. */
#ifndef BELFRY_TESTS_MODELS_GIN_RIG_H
#define BELFRY_TESTS_MODELS_GIN_RIG_H

#include "sim/fault.h"
#include "tests/models/mlx5_pair.h"

static struct bf_mlx5_profile profile;
static struct rig_qp created;

static inline void open_gin(void)
{
	rig_pair_open(&p, 1, &profile, &o);
	a = &p.rig.node[0];
	b = &p.rig.node[1];
	for (uint32_t i = 0; i < 65536; i++)
		a->data[i] = (uint8_t)(i * 11 + 1);
}

static inline void setup(void)
{
	profile = bf_mlx5_cx8;
	o = (struct rig_qp_opts){ .log_sq = 4, .log_rq = 3, .log_stride = 2, .dbr_mode = BF_DBR_NONE };
	open_gin();
}

static inline void reopen(void)
{
	teardown();
	open_gin();
}

/* The status of a CREATE_QP; the queue pair is `created`. */
static inline uint32_t create(const struct rig_qp_opts *like)
{
	struct rig_qp_opts opts = *like;
	uint32_t status;

	opts.status = &status;
	opts.log_sq = 4;
	opts.no_rq = true;
	rig_qp_open(a, &created, &p.scq[0], &p.rcq[0], &opts);
	return status;
}

static inline void query_caps(uint32_t type, uint8_t out[16 + BF_HCA_CAP_LEN])
{
	uint8_t in[16] = { 0 };

	BF_MLX5_SET(in, BF_CMD_OPCODE, BF_MLX5_CMD_QUERY_HCA_CAP);
	BF_MLX5_SET(in, BF_CMD_OP_MOD, type << 1 | 1);
	ck_assert_uint_eq(rig_cmd(a, in, sizeof(in), out, 16 + BF_HCA_CAP_LEN), 0);
}

/* A doorbell as GPUNetIO makes it: the index is not cut. */
static inline void bell_at(uint32_t offset, const struct rig_qp *q, uint32_t index)
{
	uint8_t bytes[8];

	bf_put_be32(bytes, index << 8);
	bf_put_be32(bytes + 4, q->qpn << 8);
	bf_mmio_post(bf_mlx5_uar(q->node->dev, q->node->uar), offset, bytes, 8);
}

static inline void bell_no_record(const struct rig_qp *q, uint32_t index)
{
	bell_at(BF_MLX5_UAR_NO_RECORD, q, index);
}

static inline void ring_no_record(const struct rig_qp *q, uint32_t index)
{
	bell_no_record(q, index);
	rig_run(&p.rig);
}

/* All that was posted, by the way that the queue pairs of `o` have. */
static inline void bell_any(struct rig_qp *q)
{
	if (o.dbr_mode == BF_DBR_NONE)
		bell_no_record(q, q->sq_pi);
	else
		rig_db(q);
}

static inline void ring_any(struct rig_qp *q)
{
	bell_any(q);
	rig_run(&p.rig);
}

static inline uint32_t count_good(struct rig_cq *cq)
{
	const struct bf_mlx5_cqe *c;
	uint32_t n = 0;

	while ((c = rig_poll(cq)))
		n += c->op_own >> 4 == BF_MLX5_CQE_REQ;
	return n;
}

#endif
