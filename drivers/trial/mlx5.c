/* Connections for trials, made by the host side of our driver; what users get is what the hardware needs, and no more.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/host.h"
#include "drivers/trial/mlx5.h"
#include "drivers/trial/trial_internal.h"
#include "models/mlx5/prm.h"

struct nics {
	struct bf_ibgda_host *host; /* of all PEs */
	uint64_t heap_bytes;
};

static void close_nics(struct bf_trial *t, void *state, bool ended)
{
	struct nics *n = state;

	(void)t;
	(void)ended;
	bf_ibgda_host_close(n->host);
}

/* NULL: bf_trial_mlx5() has made none. */
static const struct nics *nics_of(const struct bf_trial *t)
{
	const struct nics *n = bf_trial_part(t, close_nics);

	return n && n->host ? n : NULL;
}

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

	struct nics *n;

	if (nics_of(t))
		return bf_trial_fail(t, -EEXIST, "bf_trial_mlx5() has been called already");
	if (t->npes < 2)
		return bf_trial_fail(t, -EINVAL, "connections need two PEs: set spec.world.npes");
	n = bf_trial_add_part(t, close_nics, sizeof(*n));
	if (!n)
		return bf_trial_fail(t, -ENOMEM, "no memory for queues");
	if (bf_ibgda_host_open(t->be, t->world, t->npes, &host, &t->err, &n->host))
		return bf_trial_fail(t, t->err.code, "mlx5 queues: %s", t->err.text);
	n->heap_bytes = host.heap_bytes;
	return 0;
}

struct bf_memory bf_trial_heap(const struct bf_trial *t, uint32_t pe)
{
	const struct nics *n = nics_of(t);

	if (!n || pe >= t->npes)
		return (struct bf_memory){ 0 };
	return bf_ibgda_host_heap(n->host, pe);
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
	const struct nics *n = nics_of(t);
	const struct bf_ibgda_qp *qp = NULL;
	const struct bf_ibgda_state *s;
	struct bf_memory heap;

	memset(out, 0, sizeof(*out));
	if (n && pe < t->npes && peer < t->npes)
		qp = bf_ibgda_host_qp(n->host, pe, peer, i);
	if (!qp)
		return bf_trial_fail(t, -EINVAL, "PE %u has no queue %u to PE %u", pe, i, peer);
	s = bf_ibgda_host_state(n->host, pe);
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
		.heap_bytes = n->heap_bytes,
		.lkey = bf_htobe32(s->constmem.lkeys[0].key),
		.rkey = rkey_of(s, peer),
	};
	return 0;
}
