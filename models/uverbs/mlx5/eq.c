/*
 * Event queues in memory, as mlx5 core/eq.c keeps them: one for asynchronous events, one for each completion vector.
 * Each is read until an entry is the device's, then armed again.
 */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#define LOG_ENTRIES 10u
#define ENTRIES (1u << LOG_ENTRIES)
#define RING_BYTES (ENTRIES * sizeof(struct bf_mlx5_eqe))
#define PAGES (RING_BYTES / BF_UV_PAGE)

#define ASYNC_EVENTS                                                                                                   \
	(1ull << BF_MLX5_EVENT_COMM_EST | 1ull << BF_MLX5_EVENT_SQ_DRAINED | 1ull << BF_MLX5_EVENT_CQ_ERROR |          \
	 1ull << BF_MLX5_EVENT_WQ_CATAS_ERROR | 1ull << BF_MLX5_EVENT_PORT_CHANGE |                                    \
	 1ull << BF_MLX5_EVENT_WQ_INVAL_REQ_ERROR | 1ull << BF_MLX5_EVENT_WQ_ACCESS_ERROR |                            \
	 1ull << BF_MLX5_EVENT_SRQ_CATAS_ERROR | 1ull << BF_MLX5_EVENT_SRQ_LAST_WQE |                                  \
	 1ull << BF_MLX5_EVENT_PAGE_FAULT | 1ull << BF_MLX5_EVENT_SRQ_RQ_LIMIT | 1ull << BF_MLX5_EVENT_DCT_DRAINED)

static void arm(struct bf_uverbs *u, const struct bf_mlx5_ib_eq *eq)
{
	uint8_t ring[4];

	bf_put_be32(ring, (eq->ci & 0xffffff) | eq->eqn << 24);
	bf_mmio_post(bf_mlx5_uar(u->opts.device, bf_mlx5_ib_of(u)->uar), BF_MLX5_UAR_EQ_ARM, ring, sizeof(ring));
}

static int open_eq(struct bf_uverbs *u, uint32_t vector)
{
	uint8_t in[BF_CREATE_EQ_PAS + 8 * PAGES] = { 0 }, out[16], *eqc = in + BF_EQ_EQC;
	struct bf_mlx5_ib_eq *eq = &bf_mlx5_ib_of(u)->eq[vector];
	int err;

	eq->ring = bf_mlx5_ib_of(u)->eq_mem->bytes + (size_t)vector * RING_BYTES;
	/* The device's first round writes owner bits of zero. */
	for (uint32_t i = 0; i < ENTRIES; i++)
		((struct bf_mlx5_eqe *)(void *)eq->ring)[i].owner = BF_MLX5_EQE_OWNER;
	BF_MLX5_SET(eqc, BF_EQC_LOG_SIZE, LOG_ENTRIES);
	BF_MLX5_SET(eqc, BF_EQC_UAR_PAGE, bf_mlx5_ib_of(u)->uar);
	BF_MLX5_SET(eqc, BF_EQC_INTR, vector);
	bf_put_be64(in + BF_CREATE_EQ_MASK, vector ? 0 : ASYNC_EVENTS);
	for (uint32_t i = 0; i < PAGES; i++)
		bf_put_be64(in + BF_CREATE_EQ_PAS + 8 * i,
			    bf_va(bf_mlx5_ib_of(u)->eq_mem, eq->ring) + (uint64_t)i * BF_UV_PAGE);
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_CREATE_EQ, in, sizeof(in), out, sizeof(out));
	if (err)
		return bf_fail(&u->sim->error, err, "%s: no event queue for vector %u", u->opts.name, vector);
	eq->eqn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	eq->entries = ENTRIES;
	eq->open = true;
	arm(u, eq);
	return 0;
}

int bf_mlx5_ib_eqs_open(struct bf_uverbs *u)
{
	struct bf_region_opts mem = { .name = "event queues",
				      .kind = BF_MEM_DRAM,
				      .size = (1 + BF_UV_VECTORS) * RING_BYTES };
	int err = bf_region_create(u->opts.space, &mem, &bf_mlx5_ib_of(u)->eq_mem);

	if (!err)
		err = bf_ioas_map_region(u->opts.ioas, bf_mlx5_ib_of(u)->eq_mem, BF_IOMMU_READ | BF_IOMMU_WRITE);
	if (err)
		return err;
	bf_mlx5_ib_of(u)->eq_mapped = true;
	for (uint32_t i = 0; i < BF_ARRAY_LEN(bf_mlx5_ib_of(u)->eq) && !err; i++)
		err = open_eq(u, i);
	return err;
}

void bf_mlx5_ib_eqs_close(struct bf_uverbs *u)
{
	for (uint32_t i = 0; i < BF_ARRAY_LEN(bf_mlx5_ib_of(u)->eq); i++)
		if (bf_mlx5_ib_of(u)->eq[i].open)
			bf_mlx5_ib_simple(u, BF_MLX5_CMD_DESTROY_EQ, bf_mlx5_ib_of(u)->eq[i].eqn, NULL);
	if (bf_mlx5_ib_of(u)->eq_mapped)
		bf_ioas_unmap(u->opts.ioas, bf_mlx5_ib_of(u)->eq_mem->va, bf_mlx5_ib_of(u)->eq_mem->size);
	if (bf_mlx5_ib_of(u)->eq_mem)
		bf_region_destroy(bf_mlx5_ib_of(u)->eq_mem);
}

static struct bf_uv_cq *find_cq(struct bf_uverbs *u, uint32_t cqn)
{
	struct bf_uv_cq *cq = bf_mlx5_ib_of(u)->cqs[cqn % BF_MLX5_IB_BUCKETS];

	while (cq && cq->cqn != cqn)
		cq = cq->next_by_number;
	return cq;
}

static struct bf_uv_qp *find_qp(struct bf_uverbs *u, uint32_t qpn)
{
	struct bf_uv_qp *qp = bf_mlx5_ib_of(u)->qps[qpn % BF_MLX5_IB_BUCKETS];

	while (qp && qp->qpn != qpn)
		qp = qp->next_by_number;
	return qp;
}

static struct bf_uv_srq *find_srq(struct bf_uverbs *u, uint32_t srqn)
{
	struct bf_uv_srq *srq = bf_mlx5_ib_of(u)->srqs[srqn % BF_MLX5_IB_BUCKETS];

	while (srq && srq->srqn != srqn)
		srq = srq->next_by_number;
	return srq;
}

/* Numbers of enum ib_event_type, which programs know as enum ibv_event_type (Linux include/rdma/ib_verbs.h). */
enum {
	CQ_ERR = 0,
	QP_FATAL = 1,
	QP_REQ_ERR = 2,
	QP_ACCESS_ERR = 3,
	COMM_EST = 4,
	SQ_DRAINED = 5,
	PORT_ACTIVE = 9,
	PORT_ERR = 10,
	SRQ_ERR = 14,
	SRQ_LIMIT = 15,
	LAST_WQE = 16
};

static void tell_qp(struct bf_uverbs *u, uint32_t number, uint32_t type)
{
	struct bf_uv_qp *qp = find_qp(u, number);

	if (!qp)
		return;
	bf_uv_put_async(qp->o.file, &qp->async, number, type);
	for (struct bf_uv_qp *other = NULL; (other = bf_mlx5_ib_qp_other(u, qp, other));)
		bf_uv_put_async(other->o.file, &other->async, number, type);
}

static void tell_srq(struct bf_uverbs *u, uint32_t number, uint32_t type)
{
	struct bf_uv_srq *srq = find_srq(u, number);

	if (srq)
		bf_uv_put_async(srq->o.file, &srq->async, number, type);
}

static void tell_port(struct bf_uverbs *u, const struct bf_mlx5_eqe *e)
{
	for (struct bf_uverbs_file *f = u->files; f; f = f->next)
		bf_uv_put_port(f, e->data[BF_EQE_PORT_NUMBER] >> 4,
			       e->sub_type == BF_EQE_PORT_ACTIVE ? PORT_ACTIVE : PORT_ERR);
}

static void tell_cq(struct bf_uverbs *u, uint32_t cqn, bool error)
{
	struct bf_uv_cq *cq = find_cq(u, cqn);

	if (bf_mlx5_ib_gsi_has(bf_mlx5_ib_of(u)->gsi, cqn) && !error)
		bf_mlx5_ib_gsi_poll(bf_mlx5_ib_of(u)->gsi);
	else if (cq && error)
		bf_uv_put_async(cq->o.file, &cq->async, cqn, CQ_ERR);
	else if (cq)
		bf_uv_put_comp(cq->o.file, cq);
}

/* An entry's number, and what the verbs call the event (mlx5 hw/mlx5/qp.c, srq.c, cq.c, main.c). */
static void take(struct bf_uverbs *u, const struct bf_mlx5_eqe *e)
{
	uint32_t number = bf_get_be32(e->data + BF_EQE_QP_SRQ_NUMBER) & 0xffffff;

	switch (e->type) {
	case BF_MLX5_EVENT_COMP:
		tell_cq(u, number, false);
		break;
	case BF_MLX5_EVENT_CQ_ERROR:
		number = bf_get_be32(e->data + BF_EQE_CQ_ERR_CQN) & 0xffffff;
		tell_cq(u, number, true);
		break;
	case BF_MLX5_EVENT_COMM_EST:
		tell_qp(u, number, COMM_EST);
		break;
	case BF_MLX5_EVENT_SQ_DRAINED:
		tell_qp(u, number, SQ_DRAINED);
		break;
	case BF_MLX5_EVENT_SRQ_LAST_WQE:
		tell_qp(u, number, LAST_WQE);
		break;
	case BF_MLX5_EVENT_WQ_CATAS_ERROR:
		tell_qp(u, number, QP_FATAL);
		break;
	case BF_MLX5_EVENT_WQ_INVAL_REQ_ERROR:
		tell_qp(u, number, QP_REQ_ERR);
		break;
	case BF_MLX5_EVENT_WQ_ACCESS_ERROR:
		tell_qp(u, number, QP_ACCESS_ERR);
		break;
	case BF_MLX5_EVENT_SRQ_CATAS_ERROR:
		tell_srq(u, number, SRQ_ERR);
		break;
	case BF_MLX5_EVENT_SRQ_RQ_LIMIT:
		tell_srq(u, number, SRQ_LIMIT);
		break;
	case BF_MLX5_EVENT_PAGE_FAULT: /* the kernel's own affair */
		bf_mlx5_ib_page_fault(u, e);
		return;
	case BF_MLX5_EVENT_PORT_CHANGE:
		number = 0;
		tell_port(u, e);
		break;
	default:
		break;
	}
	bf_mlx5_ib_devx_event(u, e->type, number, (const uint8_t *)e);
}

void bf_mlx5_ib_eq_read(struct bf_uverbs *u, uint32_t vector)
{
	struct bf_mlx5_ib_eq *eq = &bf_mlx5_ib_of(u)->eq[vector];
	struct bf_mlx5_eqe e;

	for (;;) {
		memcpy(&e, eq->ring + (size_t)(eq->ci & (eq->entries - 1)) * sizeof(e), sizeof(e));
		if ((e.owner & BF_MLX5_EQE_OWNER) != ((eq->ci & eq->entries) ? BF_MLX5_EQE_OWNER : 0))
			break;
		eq->ci++;
		take(u, &e);
	}
	arm(u, eq);
}

void bf_mlx5_ib_irq(struct bf_uverbs *u, uint32_t vector)
{
	if (vector < BF_ARRAY_LEN(bf_mlx5_ib_of(u)->eq) && bf_mlx5_ib_of(u)->eq[vector].open)
		bf_mlx5_ib_eq_read(u, vector);
}
