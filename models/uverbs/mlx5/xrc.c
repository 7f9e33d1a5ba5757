/*
 * XRC domains, and queue pairs that only receive in them (Linux core/uverbs_cmd.c ib_uverbs_open_xrcd(), hw/mlx5/qp.c
 * create_xrc_tgt_qp()). Shared receive queues of a domain are in srq.c, queue pairs that send in qp.c.
 */
#include "models/uverbs/mlx5/mlx5_ib_internal.h"

#include <fcntl.h>

#include "models/uverbs/qp_internal.h"

#define LOG_CQ 4u
#define CQ_BYTES ((size_t)sizeof(struct bf_mlx5_cqe) << LOG_CQ)
#define DEFAULT_UIDX 0xffffffu

static struct bf_uv_xrcd *find(struct bf_uverbs *u, const struct bf_uv_xrcd * not, const uint64_t inode[2])
{
	for (struct bf_uverbs_file *f = u->files; f; f = f->next)
		for (struct bf_uv_object *o = f->oldest; o; o = o->next) {
			struct bf_uv_xrcd *x = (struct bf_uv_xrcd *)o;

			if (o->type == UVERBS_OBJECT_XRCD && x != not &&x->shared && x->inode[0] == inode[0] &&
			    x->inode[1] == inode[1])
				return x;
		}
	return NULL;
}

/* A file's inode names a domain that others may open; without a file it is the caller's alone. */
int bf_mlx5_ib_open_xrcd(struct bf_uv_call *c)
{
	const struct bf_uverbs_host *h = &c->u->opts.host;
	struct ib_uverbs_open_xrcd_resp resp = { 0 };
	struct ib_uverbs_open_xrcd cmd;
	struct bf_uv_xrcd *x, *same = NULL;
	uint64_t inode[2] = { 0 };
	int err = bf_uv_request(c, &cmd, sizeof(cmd));
	bool shared;

	if (err)
		return err;
	shared = cmd.fd != UINT32_MAX;
	if (shared && (!h->inode || h->inode(h->arg, (int)cmd.fd, inode)))
		return -EBADF;
	if (shared)
		same = find(c->u, NULL, inode);
	if (!same && !(cmd.oflags & O_CREAT))
		return shared ? -EAGAIN : -EINVAL;
	if (same && cmd.oflags & O_EXCL)
		return -EINVAL;
	x = bf_uv_new(c, UVERBS_OBJECT_XRCD, sizeof(*x));
	if (!x)
		return -ENOMEM;
	if (same)
		x->xrcdn = same->xrcdn;
	else
		err = bf_mlx5_ib_simple(c->u, BF_MLX5_CMD_ALLOC_XRCD, 0, &x->xrcdn);
	if (err) {
		bf_uv_free(&x->o);
		return err;
	}
	x->shared = shared;
	memcpy(x->inode, inode, sizeof(x->inode));
	c->number = x->xrcdn;
	resp.xrcd_handle = x->o.handle;
	err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&x->o, true);
	return err;
}

int bf_mlx5_ib_xrcd_destroy(struct bf_uv_object *o, bool forced)
{
	const struct bf_uv_xrcd *x = (struct bf_uv_xrcd *)o;

	(void)forced;
	if (x->shared && find(o->file->u, x, x->inode))
		return 0; /* somebody else has it open */
	return bf_mlx5_ib_simple(o->file->u, BF_MLX5_CMD_DEALLOC_XRCD, x->xrcdn, NULL);
}

/* ---- targets ---- */

static int open_cq(struct bf_uverbs *u, struct bf_mlx5_ib_xrc *x)
{
	uint8_t in[BF_CREATE_CQ_LEN] = { 0 }, out[16], *cqc = in + BF_CREATE_CQ_CQC;
	int err;

	BF_MLX5_SET(cqc, BF_CQC_LOG_SIZE, LOG_CQ);
	BF_MLX5_SET(cqc, BF_CQC_UAR_PAGE, bf_mlx5_ib_of(u)->uar);
	BF_MLX5_SET(cqc, BF_CQC_EQN, bf_mlx5_ib_of(u)->eq[1].eqn);
	bf_put_be64(cqc + BF_CQC_DBR_ADDR, x->mem->va + CQ_BYTES);
	bf_put_be64(in + BF_CREATE_CQ_UMEM_OFFSET, x->mem->va);
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_CREATE_CQ, in, sizeof(in), out, sizeof(out));
	x->cqn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	x->has_cq = !err;
	return err;
}

static int open_own(struct bf_uverbs *u, struct bf_mlx5_ib_xrc *x)
{
	struct bf_region_opts mem = { .name = "XRC targets", .kind = BF_MEM_DRAM, .size = BF_UV_PAGE };
	int err = 0;

	BF_STATIC_ASSERT(CQ_BYTES + BF_MLX5_DBR_BYTES <= BF_UV_PAGE, "the ring and its record");
	if (!x->mem)
		err = bf_region_create(u->opts.space, &mem, &x->mem);
	if (!err && !x->mapped)
		err = bf_ioas_map_region(u->opts.ioas, x->mem, BF_IOMMU_READ | BF_IOMMU_WRITE);
	x->mapped |= !err;
	if (!err && !x->has_pd)
		err = bf_mlx5_ib_simple(u, BF_MLX5_CMD_ALLOC_PD, 0, &x->pdn);
	x->has_pd |= !err;
	return err || x->has_cq ? err : open_cq(u, x);
}

void bf_mlx5_ib_xrc_close(struct bf_uverbs *u)
{
	struct bf_mlx5_ib_xrc *x = &bf_mlx5_ib_of(u)->xrc;

	if (x->has_cq)
		bf_mlx5_ib_simple(u, BF_MLX5_CMD_DESTROY_CQ, x->cqn, NULL);
	if (x->has_pd)
		bf_mlx5_ib_simple(u, BF_MLX5_CMD_DEALLOC_PD, x->pdn, NULL);
	if (x->mapped)
		bf_ioas_unmap(u->opts.ioas, x->mem->va, x->mem->size);
	if (x->mem)
		bf_region_destroy(x->mem);
}

int bf_mlx5_ib_xrc_target(struct bf_uverbs *u, struct bf_uv_qp *qp)
{
	struct bf_mlx5_ib_xrc *x = &bf_mlx5_ib_of(u)->xrc;
	uint8_t in[BF_CREATE_QP_LEN] = { 0 }, out[16], *qpc = in + BF_QP_QPC;
	int err = open_own(u, x);

	if (err)
		return err;
	BF_MLX5_SET(qpc, BF_QPC_ST, BF_QPC_ST_XRC);
	BF_MLX5_SET(qpc, BF_QPC_PM_STATE, BF_UV_PM_MIGRATED);
	BF_MLX5_SET(qpc, BF_QPC_PD, x->pdn);
	BF_MLX5_SET(qpc, BF_QPC_UAR_PAGE, bf_mlx5_ib_of(u)->uar);
	BF_MLX5_SET(qpc, BF_QPC_USER_INDEX, DEFAULT_UIDX);
	BF_MLX5_SET(qpc, BF_QPC_NO_SQ, 1);
	BF_MLX5_SET(qpc, BF_QPC_RQ_TYPE, BF_QPC_RQ_SRQ);
	BF_MLX5_SET(qpc, BF_QPC_XRCD, qp->xrcd->xrcdn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_SND, x->cqn);
	BF_MLX5_SET(qpc, BF_QPC_CQN_RCV, x->cqn);
	err = bf_mlx5_ib_cmd(u, BF_MLX5_CMD_CREATE_QP, in, sizeof(in), out, sizeof(out));
	qp->qpn = BF_MLX5_GET(out, BF_CMD_OUT_NUMBER);
	return err;
}

struct bf_uv_qp *bf_mlx5_ib_qp_other(const struct bf_uverbs *u, const struct bf_uv_qp *qp, struct bf_uv_qp *after)
{
	struct bf_uv_qp *other = after ? after->next_by_number : bf_mlx5_ib_of(u)->qps[qp->qpn % BF_MLX5_IB_BUCKETS];

	while (other && (other == qp || other->qpn != qp->qpn || other->type != IB_UVERBS_QPT_XRC_TGT))
		other = other->next_by_number;
	return qp->type == IB_UVERBS_QPT_XRC_TGT ? other : NULL;
}

/* The target of that number in the domain, whoever made it. */
static const struct bf_uv_qp *target_of(struct bf_uverbs *u, const struct bf_uv_xrcd *x, uint32_t qpn)
{
	const struct bf_uv_qp *qp = bf_mlx5_ib_of(u)->qps[qpn % BF_MLX5_IB_BUCKETS];

	while (qp && (qp->qpn != qpn || qp->type != IB_UVERBS_QPT_XRC_TGT || qp->xrcd->xrcdn != x->xrcdn))
		qp = qp->next_by_number;
	return qp;
}

/*
 * One more handle of a target: it can be changed and asked by each, and goes with the last (core/uverbs_cmd.c
 * ib_uverbs_open_qp(), core/verbs.c ib_open_qp()).
 */
int bf_mlx5_ib_open_qp(struct bf_uv_call *c)
{
	struct ib_uverbs_create_qp_resp resp = { 0 };
	struct ib_uverbs_open_qp cmd;
	const struct bf_uv_qp *real;
	struct bf_uv_xrcd *x;
	struct bf_uv_qp *qp;
	int err = bf_uv_request(c, &cmd, sizeof(cmd));

	if (err)
		return err;
	x = bf_uv_get_object(c, UVERBS_OBJECT_XRCD, cmd.pd_handle);
	if (!x || cmd.qp_type != IB_UVERBS_QPT_XRC_TGT)
		return -EINVAL;
	real = target_of(c->u, x, cmd.qpn);
	if (!real)
		return -EINVAL;
	qp = bf_uv_new(c, UVERBS_OBJECT_QP, sizeof(*qp));
	if (!qp)
		return -ENOMEM;
	qp->type = real->type;
	qp->qpn = c->number = real->qpn;
	qp->state = real->state;
	qp->access = real->access;
	qp->port = real->port;
	qp->dest = real->dest;
	qp->xrcd = x;
	x->o.users++;
	bf_uv_events_start(&qp->async, c->f->async, cmd.user_handle);
	bf_mlx5_ib_qp_know(c->u, qp);
	resp.qp_handle = qp->o.handle;
	resp.qpn = qp->qpn;
	err = bf_uv_response(c, &resp, sizeof(resp));
	if (err)
		bf_uv_destroy(&qp->o, true);
	return err;
}
