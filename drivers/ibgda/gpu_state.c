/*
 * IBGDA, host side: what device code sees.
 *
 * Tables of queue pairs hold counters that running kernels change, so they never move: they are made once with room for
 * more. The table of CQs is nothing but descriptions, and growth may renumber it: a new one is made, filled, and shown
 * by single stores of pointers, while the old one stays for those who still look at it. NVSHMEM copies both tables to
 * new memory, frees the old and leaves pointers between them as they are (suspects cq-pointers-stale and
 * mvars-pointers-stale).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/ibgda/host_internal.h"
#include "sim/grow.h"

#define IBUF_SLOT 256u

int bf_ibgda_retire(struct bf_ibgda_transport *t, struct bf_memory *m)
{
	if (!m->ptr)
		return 0;
	if (BF_GROW(t->retired, t->retired_cap, t->nretired + 1))
		return bf_fail(t->err, -ENOMEM, "PE %u: no memory to keep an old table", t->pe);
	t->retired[t->nretired++] = *m;
	*m = (struct bf_memory){ 0 };
	return 0;
}

int bf_ibgda_open_state(struct bf_ibgda_transport *t)
{
	struct bf_ibgda_state *s;
	int rc = bf_ibgda_alloc(t, BF_PLACE_GPU, sizeof(*s), "ibgda state", &t->state_mem);

	if (!rc)
		rc = bf_ibgda_alloc(t, BF_PLACE_GPU, BF_IBGDA_SWITCHES, "switches", &t->switches_mem);
	if (rc)
		return rc;
	s = t->state = t->state_mem.ptr;
	s->version = BF_IBGDA_VERSION(t->opts.layout, *s);
	s->flavour = t->opts.flavour;
	s->layout = t->opts.layout;
	s->dci_map = t->opts.dci_map;
	s->bugs = t->opts.bugs;
	s->suspects = t->opts.suspects;
	s->mype = t->pe;
	s->npes = t->npes;
	s->num_devices = t->ndevs;
	s->batch = t->opts.batch;
	s->system_scope = t->opts.system_scope;
	s->use_async_postsend = t->opts.cpu_proxy;
	s->globalmem.qp_group_switches = t->switches_mem.ptr;
	return 0;
}

/* ---- tables ---- */

static int alloc_once(struct bf_ibgda_transport *t, uint64_t bytes, const char *name, struct bf_memory *m)
{
	return bytes && !m->ptr ? bf_ibgda_alloc(t, BF_PLACE_GPU, bytes, name, m) : 0;
}

static int alloc_qps(struct bf_ibgda_transport *t)
{
	const uint64_t rcs = (uint64_t)t->rc_room * t->npes;
	const uint64_t backups = t->backups ? rcs : 0;
	int rc = alloc_once(t, t->num_dci * sizeof(struct bf_ibgda_qp), "DCIs", &t->dcis_mem);

	if (!rc)
		rc = alloc_once(t, rcs * sizeof(struct bf_ibgda_qp), "RCs", &t->rcs_mem);
	if (!rc)
		rc = alloc_once(t, backups * sizeof(struct bf_ibgda_qp), "backups", &t->backups_mem);
	if (!rc)
		rc = alloc_once(t, backups * sizeof(uint32_t), "failover words", &t->failover_mem);
	if (!rc)
		rc = bf_ibgda_open_proxy(t);
	return rc;
}

/* Nobody's entry: the PE's own, or of a device without a backup. */
static void mark_unused(struct bf_ibgda_qp *qp)
{
	memset(qp, 0xff, offsetof(struct bf_ibgda_qp, mvars));
	memset(&qp->mvars, 0, sizeof(qp->mvars));
	qp->tx_wq.cq = qp->rx_wq.cq = NULL;
}

static void mark_new(struct bf_ibgda_transport *t, uint32_t first)
{
	for (uint64_t i = (uint64_t)first * t->npes; i < (uint64_t)t->num_rc * t->npes; i++) {
		mark_unused((struct bf_ibgda_qp *)t->rcs_mem.ptr + i);
		if (t->backups_mem.ptr)
			mark_unused((struct bf_ibgda_qp *)t->backups_mem.ptr + i);
	}
}

/* ---- one queue pair ---- */

static struct bf_ibgda_qp *qp_of(const struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b,
				 const struct bf_ibgda_ep *ep)
{
	const struct bf_memory *table = b->type == BF_IBGDA_DCI ? &t->dcis_mem
					: b->backup             ? &t->backups_mem
								: &t->rcs_mem;

	return (struct bf_ibgda_qp *)table->ptr + ep->ordinal;
}

/* What host code finds at `p` of that memory. */
static void *seen_by_gpu(const struct bf_memory *m, const void *p)
{
	return (uint8_t *)bf_memory_of_gpu(m) + ((const uint8_t *)p - (const uint8_t *)m->ptr);
}

static void fill_wq(struct bf_ibgda_wq *wq, uint32_t entries, uint8_t *ring, uint32_t *dbrec, uint64_t *prod_idx)
{
	wq->nwqes = (uint16_t)entries;
	wq->wqe = ring;
	wq->dbrec = dbrec;
	wq->bf = NULL;
	wq->prod_idx = prod_idx;
}

static void fill_qp(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, const struct bf_ibgda_ep *ep,
		    uint32_t place)
{
	const uint64_t rq = bf_ibgda_rq_bytes(t, b->type);
	const uint64_t ibuf = place * (b->nslots + 1ull) * IBUF_SLOT;
	uint8_t *ring = seen_by_gpu(&ep->block->wq, bf_ibgda_wq_at(ep->block, ep->slot));
	uint32_t *dbr = seen_by_gpu(&ep->block->dbr, bf_ibgda_dbr_at(ep->block, ep->slot));
	struct bf_ibgda_qp *qp = qp_of(t, b, ep);

	memset(qp, 0, sizeof(*qp));
	qp->version = BF_IBGDA_VERSION(t->opts.layout, *qp);
	qp->mvars.version = BF_IBGDA_VERSION(t->opts.layout, qp->mvars);
	qp->qp_type = (uint8_t)b->type;
	qp->is_backup = b->backup;
	qp->qpn = ep->qpn;
	qp->dev_idx = b->dev_idx;
	qp->ordinal = ep->ordinal;
	if (b->type == BF_IBGDA_RC)
		qp->peer = (uint16_t)bf_ibgda_rc_pe(t->opts.layout, t->npes, t->default_rc, ep->ordinal);
	fill_wq(&qp->tx_wq, t->opts.qp_depth, ring + rq, dbr + BF_MLX5_DBR_SND, &qp->mvars.prod_idx);
	qp->tx_wq.bf = t->proxy ? bf_ibgda_proxy_slot(t, b, ep) : ep->bf;
	if (rq)
		fill_wq(&qp->rx_wq, t->opts.qp_depth, ring, dbr + BF_MLX5_DBR_RCV, &qp->mvars.rx_resv_head);
	qp->ibuf.nslots = b->nslots;
	qp->ibuf.lkey = qp->ibuf.rkey = bf_htobe32(b->ibuf_key);
	qp->ibuf.buf = (uint8_t *)bf_memory_of_gpu(&b->ibuf) + ibuf;
	qp->ibuf.va = b->ibuf.va + ibuf;
}

/* `index` 0: of the send queue, 1: of the receive queue. `counters` is whose they are. */
static void fill_cq(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, const struct bf_ibgda_ep *ep,
		    uint32_t index, struct bf_ibgda_qp *counters, struct bf_ibgda_cq *cq)
{
	uint32_t *dbr = seen_by_gpu(&ep->block->dbr, bf_ibgda_cq_dbr_at(ep->block, ep->slot, index));
	struct bf_ibgda_mvars *mv = &counters->mvars;

	*cq = (struct bf_ibgda_cq){ .version = BF_IBGDA_VERSION(t->opts.layout, *cq),
				    .qp_type = (uint8_t)b->type,
				    .plain = t->opts.plain_cq,
				    .cqe = seen_by_gpu(&ep->block->cq, bf_ibgda_cq_at(t, ep->block, ep->slot, index)),
				    .dbrec = dbr + BF_MLX5_CQ_DBR_CI,
				    .prod_idx = index ? NULL : &mv->prod_idx,
				    .cons_idx = index ? &mv->rx_cons_idx : &mv->cons_idx,
				    .resv_head = index ? &mv->rx_resv_head : &mv->resv_head,
				    .ready_head = index ? NULL : &mv->ready_head,
				    .ncqes = bf_ibgda_cq_entries(t),
				    .cqn = index ? ep->recv_cqn : ep->send_cqn,
				    .qpn = ep->qpn };
}

/* ---- all of them ---- */

struct growth {
	struct bf_ibgda_counts counts;
	struct bf_memory cqs;     /* the new table */
	struct bf_memory old_rcs; /* suspect only: where the counters of old RCs are believed to be */
	uint32_t old_rc;          /* RCs to each PE that were there before */
};

static void populate_ep(struct bf_ibgda_transport *t, struct growth *g, const struct bf_ibgda_batch *b,
			const struct bf_ibgda_ep *ep, uint32_t place)
{
	const uint32_t at =
	    b->type == BF_IBGDA_DCI ? ep->ordinal : bf_ibgda_cq_index(&g->counts, ep->ordinal, b->backup);
	struct bf_ibgda_cq *cq = (struct bf_ibgda_cq *)g->cqs.ptr + at;
	struct bf_ibgda_qp *qp = qp_of(t, b, ep), *counters = qp;

	if (!b->populated)
		fill_qp(t, b, ep, place);
	else if (g->old_rcs.ptr && b->type == BF_IBGDA_RC && !b->backup)
		counters = (struct bf_ibgda_qp *)g->old_rcs.ptr + ep->ordinal;
	for (uint32_t i = 0; i < ep->block->cqs; i++)
		fill_cq(t, b, ep, i, counters, cq + i);
	if (!b->populated && t->proxy)
		bf_ibgda_add_proxy_queue(t, b, ep);
	if (b->populated && t->opts.suspects & BF_IBGDA_SUSPECT_CQ_POINTERS_STALE)
		return;
	__atomic_store_n(&qp->tx_wq.cq, cq, __ATOMIC_RELEASE);
	if (ep->block->cqs > 1)
		__atomic_store_n(&qp->rx_wq.cq, cq + 1, __ATOMIC_RELEASE);
}

/*
 * The endpoint at place `i` of a batch. ibgda.cpp adds an offset to it for later devices, as if the endpoints of all
 * devices were in one array.
 */
static const struct bf_ibgda_ep *ep_at(const struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b, uint32_t i)
{
	if (t->opts.suspects & BF_IBGDA_SUSPECT_EPS_INDEX_DEVICE0 && b->type == BF_IBGDA_RC)
		i += b->n * b->dev_idx;
	return i < b->eps && b->ep[i].block ? &b->ep[i] : NULL;
}

static void populate(struct bf_ibgda_transport *t, struct growth *g, struct bf_ibgda_batch *list)
{
	for (struct bf_ibgda_batch *b = list; b; b = b->next) {
		uint32_t place = 0;

		for (uint32_t i = 0; i < b->eps; i++) {
			const struct bf_ibgda_ep *ep = ep_at(t, b, i);

			if (ep)
				populate_ep(t, g, b, ep, place++);
		}
		b->populated = true;
	}
}

/*
 * Freed memory is given out again, and what old pointers find there is somebody else's: each send CQ gives way to the
 * next one.
 */
static void reuse_freed(struct bf_ibgda_transport *t, const struct bf_memory *old)
{
	struct bf_ibgda_cq *cq = old->ptr, *last = NULL, first;

	if (!(t->opts.suspects & BF_IBGDA_SUSPECT_CQ_POINTERS_STALE))
		return;
	for (uint32_t i = 0; i < t->ncqs; i++) {
		if (!cq[i].prod_idx)
			continue;
		if (last)
			*last = cq[i];
		else
			first = cq[i];
		last = &cq[i];
	}
	if (last)
		*last = first;
}

/* What ibgda.cpp does with the table of RCs: copies it, counters and all, while pointers into it stay. */
static int move_rcs(struct bf_ibgda_transport *t, struct growth *g)
{
	if (!(t->opts.suspects & BF_IBGDA_SUSPECT_MVARS_POINTERS_STALE) || !t->rcs_mem.ptr)
		return 0;
	g->old_rcs = t->rcs_mem;
	t->rcs_mem = (struct bf_memory){ 0 };
	if (bf_ibgda_alloc(t, BF_PLACE_GPU, g->old_rcs.size, "RCs", &t->rcs_mem)) {
		t->rcs_mem = g->old_rcs;
		return -ENOMEM;
	}
	memcpy(t->rcs_mem.ptr, g->old_rcs.ptr, (uint64_t)g->old_rc * t->npes * sizeof(struct bf_ibgda_qp));
	return bf_ibgda_retire(t, &(struct bf_memory){ .ptr = g->old_rcs.ptr });
}

/* The numbers last: who sees more queues finds them complete. */
static void publish(struct bf_ibgda_transport *t, bool first)
{
	struct bf_ibgda_state *s = t->state;

	s->globalmem.cqs = t->cqs_mem.ptr;
	s->globalmem.rcs = t->rcs_mem.ptr;
	s->globalmem.backups = t->backups_mem.ptr;
	s->globalmem.failover = t->failover_mem.ptr;
	s->globalmem.dcis = t->dcis_mem.ptr;
	s->num_dci = t->num_dci;
	s->num_shared_dci = t->num_shared_dci;
	s->num_default_rc_per_pe = t->default_rc;
	s->num_backup_per_pe = t->backups ? t->num_rc : 0;
	/* One READ's data may then come by another device than the next one's. */
	s->may_skip_cst =
	    t->opts.may_skip_cst && (t->ndevs == 1 || (first && t->opts.suspects & BF_IBGDA_SUSPECT_SKIP_CST_LATE));
	__atomic_store_n(&s->num_rc_per_pe, t->num_rc, __ATOMIC_RELEASE);
}

int bf_ibgda_setup_gpu_state(struct bf_ibgda_transport *t)
{
	const bool first = !t->state->globalmem.cqs;
	struct growth g = { .counts = { .layout = t->opts.layout,
					.mype = t->pe,
					.npes = t->npes,
					.num_dci = t->num_dci,
					.num_rc_per_pe = t->num_rc,
					.num_backup_per_pe = t->backups ? t->num_rc : 0 },
			    .old_rc = t->state->num_rc_per_pe };
	const uint32_t count = bf_ibgda_cq_count(&g.counts);
	struct bf_memory old = t->cqs_mem;
	int rc = alloc_qps(t);

	if (!rc && first && t->num_dct)
		rc = bf_ibgda_show_dcts(t);
	if (!rc)
		rc = bf_ibgda_alloc(t, BF_PLACE_GPU, (count ? count : 1) * sizeof(struct bf_ibgda_cq), "CQs", &g.cqs);
	if (!rc)
		rc = bf_ibgda_retire(t, &t->cqs_mem);
	if (!rc)
		rc = move_rcs(t, &g);
	if (rc) {
		bf_ibgda_release(t, &g.cqs);
		return rc;
	}
	t->cqs_mem = g.cqs;
	mark_new(t, g.old_rc);
	populate(t, &g, t->dcis);
	populate(t, &g, t->rcs);
	populate(t, &g, t->backups);
	reuse_freed(t, &old);
	t->ncqs = count;
	publish(t, first);
	return 0;
}

void bf_ibgda_close_state(struct bf_ibgda_transport *t)
{
	struct bf_memory *const tables[] = { &t->proxy_mem,    &t->slots_mem,    &t->cqs_mem,
					     &t->failover_mem, &t->backups_mem,  &t->rcs_mem,
					     &t->dcis_mem,     &t->switches_mem, &t->state_mem };

	for (size_t i = 0; i < BF_ARRAY_LEN(tables); i++)
		bf_ibgda_release(t, tables[i]);
	for (uint32_t i = 0; i < t->nretired; i++)
		bf_ibgda_release(t, &t->retired[i]);
	free(t->retired);
	t->retired = NULL;
	t->nretired = 0;
	t->state = NULL;
	t->proxy = NULL;
}
