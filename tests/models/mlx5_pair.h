/* Two devices with a pair of queue pairs between them, for one test at a time: what it does, and what must come of it.
 */
#ifndef BELFRY_TESTS_MODELS_MLX5_PAIR_H
#define BELFRY_TESTS_MODELS_MLX5_PAIR_H

#include "tests/models/mlx5_rig.h"

static struct rig_qp_opts o;
static struct rig_pair p;
static struct rig_node *a, *b;

static inline void open_pair(void)
{
	rig_pair_open(&p, 1, NULL, &o);
	a = &p.rig.node[0];
	b = &p.rig.node[1];
	for (uint32_t i = 0; i < 65536; i++)
		a->data[i] = (uint8_t)(i * 11 + 1);
}

static inline void teardown(void)
{
	rig_close(&p.rig);
}

static inline void again(void)
{
	teardown();
	open_pair();
}

static inline void ring_and_run(void)
{
	rig_db(&p.q[0]);
	rig_run(&p.rig);
}

static inline const struct bf_mlx5_cqe *expect_good(struct rig_cq *cq, uint16_t index)
{
	const struct bf_mlx5_cqe *c = rig_poll(cq);

	ck_assert_ptr_nonnull(c);
	ck_assert_uint_lt(c->op_own >> 4, 5);
	ck_assert_uint_eq(bf_be16(c->wqe_counter), index);
	return c;
}

static inline uint16_t write64(uint8_t flags)
{
	return rig_rdma(&p.q[0], BF_MLX5_OP_RDMA_WRITE, 0, b->data_va, b->key, 64, flags);
}

/* A store of a driver into the first device's UAR page. */
static inline void bell(uint32_t offset, const void *bytes, uint32_t len)
{
	bf_mmio_post(bf_mlx5_uar(a->dev, a->uar), offset, bytes, len);
}

/* Of sinks that want records alone. */
static inline int ignore_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	(void)s;
	(void)schema;
	return 0;
}

static inline int ignore_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	(void)s;
	(void)actor;
	(void)kind;
	(void)name;
	return 0;
}

#endif
