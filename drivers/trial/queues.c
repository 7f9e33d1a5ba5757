/* Queues for trials, made by the host sides of our drivers; what users get is what the hardware needs, and no more. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/host.h"
#include "drivers/nvme/host.h"
#include "drivers/trial/trial_internal.h"
#include "models/mlx5/prm.h"

/* ---- mlx5 ---- */

int bf_trial_mlx5(struct bf_trial *t, const struct bf_trial_mlx5_opts *opts)
{
	const struct bf_trial_mlx5_opts zero = { 0 }, *o = opts ? opts : &zero;
	const struct bf_ibgda_host_opts host = {
		.layout = BF_IBGDA_L2, /* no receive rings */
		.heap_bytes = o->heap_bytes ? o->heap_bytes : 2u << 20,
		.num_rc_per_pe = o->queues ? o->queues : 1,
		.qp_depth = o->wqebbs ? o->wqebbs : 64,
		.no_dc = true,
		.plain_cq = !o->collapsed,
		.system_scope = o->rings_in_host,
		.ack_timeout = o->ack_timeout,
		.retry_count = o->retry_count,
	};

	if (t->mlx5)
		return bf_trial_fail(t, -EEXIST, "bf_trial_mlx5() has been called already");
	if (t->npes < 2)
		return bf_trial_fail(t, -EINVAL, "connections need two PEs: set spec.world.npes");
	if (bf_ibgda_host_open(t->be, t->world, t->npes, &host, &t->err, &t->mlx5))
		return bf_trial_fail(t, t->err.code, "mlx5 queues: %s", t->err.text);
	t->heap_bytes = host.heap_bytes;
	return 0;
}

struct bf_memory bf_trial_heap(const struct bf_trial *t, uint32_t pe)
{
	if (!t->mlx5 || pe >= t->npes)
		return (struct bf_memory){ 0 };
	return bf_ibgda_host_heap(t->mlx5, pe);
}

/* One registration for the whole heap, so granule 0 has its keys; one device. */
static uint32_t rkey_of(const struct bf_ibgda_state *s, uint32_t peer)
{
	const struct bf_ibgda_rkey *k =
	    peer < BF_IBGDA_CONST_KEYS ? &s->constmem.rkeys[peer] : &s->globalmem.rkeys[peer - BF_IBGDA_CONST_KEYS];

	return bf_htobe32(k->key);
}

int bf_trial_mlx5_queue(struct bf_trial *t, uint32_t pe, uint32_t peer, uint32_t i, struct bf_trial_mlx5_queue *out)
{
	const struct bf_ibgda_qp *qp = NULL;
	const struct bf_ibgda_state *s;
	struct bf_memory heap;

	memset(out, 0, sizeof(*out));
	if (t->mlx5 && pe < t->npes && peer < t->npes)
		qp = bf_ibgda_host_qp(t->mlx5, pe, peer, i);
	if (!qp)
		return bf_trial_fail(t, -EINVAL, "PE %u has no queue %u to PE %u", pe, i, peer);
	s = bf_ibgda_host_state(t->mlx5, pe);
	heap = bf_trial_heap(t, pe);
	*out = (struct bf_trial_mlx5_queue){
		.qpn = qp->qpn,
		.cqn = qp->tx_wq.cq->cqn,
		.wqebbs = qp->tx_wq.nwqes,
		.cqes = qp->tx_wq.cq->ncqes,
		.sq = qp->tx_wq.wqe,
		.cq = qp->tx_wq.cq->cqe,
		.dbrec = qp->tx_wq.dbrec,
		.cq_dbrec = qp->tx_wq.cq->dbrec,
		.doorbell = qp->tx_wq.bf,
		.local = heap.ptr,
		.local_va = heap.va,
		.remote_va = bf_trial_heap(t, peer).va,
		.heap_bytes = t->heap_bytes,
		.lkey = bf_htobe32(s->constmem.lkeys[0].key),
		.rkey = rkey_of(s, peer),
	};
	return 0;
}

/* ---- NVMe ---- */

int bf_trial_nvme(struct bf_trial *t, uint32_t pe, const struct bf_trial_nvme_opts *opts)
{
	const struct bf_trial_nvme_opts zero = { 0 }, *o = opts ? opts : &zero;
	const struct bf_nvme_drv_host_opts host = {
		.nqps = o->queues ? o->queues : 1,
		.entries = o->entries,
		.place = o->place,
	};

	if (pe >= t->npes || t->nvme[pe])
		return bf_trial_fail(t, -EINVAL, "PE %u %s", pe,
				     pe < t->npes ? "has its NVMe queues already" : "is not there");
	if (bf_nvme_drv_host_open(t->be, t->world, pe, &host, &t->err, &t->nvme[pe]))
		return bf_trial_fail(t, t->err.code ? t->err.code : -EIO, "NVMe queues: %s", t->err.text);
	t->nvme_queues[pe] = host.nqps;
	return 0;
}

int bf_trial_nvme_queue(struct bf_trial *t, uint32_t pe, uint32_t i, struct bf_trial_nvme_queue *out)
{
	const struct bf_nvme_drv_ctrl *ctrl;
	const struct bf_nvme_drv_qp *qp;

	memset(out, 0, sizeof(*out));
	if (pe >= t->npes || !t->nvme[pe] || i >= t->nvme_queues[pe])
		return bf_trial_fail(t, -EINVAL, "PE %u has no NVMe queue pair %u", pe, i);
	ctrl = bf_nvme_drv_host_ctrl(t->nvme[pe]);
	qp = &bf_nvme_drv_host_qps(t->nvme[pe])[i];
	*out = (struct bf_trial_nvme_queue){
		.id = qp->sq.no,
		.entries = qp->sq.entries,
		.sq = qp->sq.vaddr,
		.cq = qp->cq.vaddr,
		.sq_tail = qp->sq.db,
		.cq_head = qp->cq.db,
		.nsid = ctrl->nsid,
		.block_bytes = 1u << ctrl->lba_shift,
		.blocks = ctrl->nsze,
	};
	return 0;
}

void bf_trial_close_queues(struct bf_trial *t, bool ended)
{
	for (uint32_t pe = 0; t->nvme && pe < t->npes; pe++) {
		if (ended)
			bf_nvme_drv_host_close(t->nvme[pe]);
		else
			bf_nvme_drv_host_abandon(t->nvme[pe]);
	}
	bf_ibgda_host_close(t->mlx5);
}
