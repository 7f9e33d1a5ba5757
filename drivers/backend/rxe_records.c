/*
 * Backend "rxe": records. What the thread does in the device's place is told as the mlx5 model tells it, under the
 * names that the models' NICs have, so that traces of the two can be laid side by side.
 */
#include <stdio.h>

#include "drivers/backend/rxe_internal.h"
#include "models/mlx5/records.h"
#include "sim/clock.h"

static void emit(struct bf_rxe_world *w, const struct bf_rec_schema *type, uint32_t actor, const void *rec,
		 const void *tail, uint32_t len)
{
	if (!w->records.mask)
		return;
	w->now_ps = (bf_monotonic_ns() - w->opened_ns) * 1000;
	bf_record(&w->records, type, actor, rec, tail, len);
}

int bf_rxe_records_open(struct bf_rxe_world *w, const struct bf_world_opts *opts)
{
	const uint32_t mask = opts->record_mask & BF_CLASS_QUEUE;
	int rc;

	w->opened_ns = bf_monotonic_ns();
	rc = mask ? bf_stream_open(&w->records, &w->now_ps, mask, opts->sink) : 0;
	return rc ? bf_fail(w->v.m.err, rc, "cannot open the record stream") : 0;
}

/* "nic1.qp0x11" of PE 1; with several NICs each, "nic1.0.qp0x11" (drivers/backend/machine.c). */
static uint32_t actor(struct bf_rxe_world *w, const struct bf_verbs_nic *n, const char *kind, uint32_t number)
{
	const uint32_t i = (uint32_t)(n - w->v.nic), nics = w->v.m.nics;
	char nic[32], name[64];

	if (nics == 1)
		snprintf(nic, sizeof(nic), "nic%u", i);
	else
		snprintf(nic, sizeof(nic), "nic%u.%u", i / nics, i % nics);
	snprintf(name, sizeof(name), "%s.%s0x%x", nic, kind, number);
	return bf_stream_actor(&w->records, "queue", name);
}

void bf_rxe_record_cq(struct bf_rxe_world *w, struct bf_rxe_cq *cq, const uint8_t *cqc)
{
	const struct bf_rec_cq_config rec = {
		.dbrec = bf_get_be64(cqc + BF_CQC_DBR_ADDR),
		.cqn = cq->number,
		.cqes = cq->entries,
		.cqe_size = sizeof(struct bf_mlx5_cqe),
		.uar = BF_MLX5_GET(cqc, BF_CQC_UAR_PAGE),
		.collapsed = cq->collapsed,
		.overrun_ignore = cq->ignore_overrun,
	};

	cq->actor = actor(w, cq->nic, "cq", cq->number);
	emit(w, &bf_rec_cq_config_schema, cq->actor, &rec, NULL, 0);
}

void bf_rxe_record_qp(struct bf_rxe_world *w, struct bf_rxe_qp *qp, const uint8_t *qpc)
{
	const struct bf_rec_qp_config rec = {
		.dbrec = bf_get_be64(qpc + BF_QPC_DBR_ADDR),
		.sq = (uintptr_t)qp->sq,
		.qpn = qp->qpn,
		.sq_wqebbs = qp->depth,
		.rq_wqes = qp->rq_depth,
		.rq_stride = qp->rq_stride,
		.send_cqn = qp->send_cq->number,
		.recv_cqn = qp->recv_cq->number,
		.pd = BF_MLX5_GET(qpc, BF_QPC_PD),
		.uar = BF_MLX5_GET(qpc, BF_QPC_UAR_PAGE),
	};

	qp->actor = actor(w, qp->nic, "qp", qp->qpn);
	emit(w, &bf_rec_qp_config_schema, qp->actor, &rec, NULL, 0);
}

void bf_rxe_record_path(struct bf_rxe_world *w, const struct bf_rxe_qp *qp)
{
	const struct bf_verbs_path *p = &qp->path;
	const uint8_t port = p->port && p->port <= BF_NIC_PORTS_MAX ? p->port - 1 : 0;
	const struct bf_rec_qp_path rec = {
		.qpn = qp->qpn,
		.remote_qpn = p->remote_qpn,
		.remote_ipv4 = bf_get_be32(p->gid + 12),
		.ipv4 = bf_get_be32(qp->nic->port[port].gid + 12),
		.max_reads = p->reads,
		.max_answers = p->reads,
		.mtu = 128u << p->mtu,
		.retries = p->retries,
		.rnr_retries = p->rnr_retries,
		.timeout = p->timeout,
		.min_rnr_timer = p->min_rnr,
	};

	emit(w, &bf_rec_qp_path_schema, qp->actor, &rec, NULL, 0);
}

void bf_rxe_record_fetch(struct bf_rxe_world *w, const struct bf_rxe_qp *qp, const uint8_t *bytes,
			 const struct bf_mlx5_wqe *x, int rc)
{
	const struct bf_rec_wqe_fetch rec = {
		.qpn = qp->qpn,
		.ctrl_qpn = x->qpn,
		.length = rc ? 0 : x->length,
		.index = qp->fetched,
		.ctrl_index = x->index,
		.producer = qp->producer,
		.opcode = x->opcode,
		.ds = x->ds,
		.wqebbs = rc ? 1 : x->wqebbs,
		.fm_ce_se = bytes[11],
		.verdict = rc                        ? BF_MLX5_FETCH_MALFORMED
			   : x->index != qp->fetched ? BF_MLX5_FETCH_INDEX
			   : x->qpn != qp->qpn       ? BF_MLX5_FETCH_QPN
						     : BF_MLX5_FETCH_OK,
	};

	emit(w, &bf_rec_wqe_fetch_schema, qp->actor, &rec, bytes, rec.wqebbs * BF_MLX5_WQEBB);
}

void bf_rxe_record_cqe(struct bf_rxe_world *w, const struct bf_rxe_cq *cq, const struct bf_mlx5_cqe *cqe, bool lost)
{
	const struct bf_mlx5_err_cqe *e = (const void *)cqe;
	const uint8_t opcode = cqe->op_own >> 4;
	const bool error = opcode == BF_MLX5_CQE_REQ_ERR || opcode == BF_MLX5_CQE_RESP_ERR;
	const struct bf_rec_cqe rec = {
		.iova = (uintptr_t)cq->ring,
		.cqn = cq->number,
		.qpn = bf_be32(cqe->sop_drop_qpn) & 0xffffff,
		.count = cq->producer,
		.slot = cq->collapsed ? 0 : cq->producer & (cq->entries - 1),
		.byte_cnt = error ? 0 : bf_be32(cqe->byte_cnt),
		.imm = error ? 0 : bf_be32(cqe->imm_inval_pkey),
		.index = bf_be16(cqe->wqe_counter),
		.opcode = opcode,
		.syndrome = error ? e->syndrome : 0,
		.vendor = error ? e->vendor_err_synd : 0,
		.wqe_opcode = (uint8_t)(bf_be32(cqe->sop_drop_qpn) >> 24),
		.verdict = lost ? BF_MLX5_POST_OVERRUN : BF_MLX5_POST_WRITTEN,
	};

	emit(w, &bf_rec_cqe_schema, cq->actor, &rec, cqe, sizeof(*cqe));
}
