/*
 * IBGDA, host side: what the CPU proxy (proxy.h) of a PE looks at. Each send queue has a 64-bit slot in host memory
 * that GPU threads leave its producer index in; the proxy's own list of queues grows at its end, so a proxy that runs
 * takes to new queues.
 *
 * ibgda.cpp's progress functions have three faults (3.5, CPU handler modes), each a variant here.
 */
#include "drivers/ibgda/host_internal.h"

#define IDLE_NS 500u

/* Slots of all queues that there may be, and one that no GPU thread writes. */
static uint64_t slots(const struct bf_ibgda_transport *t)
{
	return t->num_dci + (uint64_t)t->rc_room * t->npes * (t->opts.backup ? 2 : 1);
}

int bf_ibgda_open_proxy(struct bf_ibgda_transport *t)
{
	int rc;

	if (!t->opts.cpu_proxy || t->slots_mem.ptr)
		return 0;
	rc = bf_ibgda_alloc(t, BF_PLACE_HOST, (slots(t) + 1) * sizeof(uint64_t), "proxy slots", &t->slots_mem);
	if (!rc)
		rc = bf_ibgda_alloc(t, BF_PLACE_HOST,
				    sizeof(struct bf_ibgda_proxy) + slots(t) * sizeof(struct bf_ibgda_proxy_queue),
				    "proxy queues", &t->proxy_mem);
	if (rc)
		return rc;
	t->proxy = t->proxy_mem.ptr;
	t->proxy->queues = (struct bf_ibgda_proxy_queue *)(void *)(t->proxy + 1);
	t->proxy->idle_ns = IDLE_NS;
	/* It looks at the PE's own endpoint, too, which is a null pointer: the fault ends the thread in its first
	 * round. */
	t->proxy->stop = t->rc_room && t->opts.suspects & BF_IBGDA_SUSPECT_PROXY_NULL_SELF ? 1 : 0;
	return 0;
}

/* DCIs first, then RCs, then backups. */
uint64_t *bf_ibgda_proxy_slot(const struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b,
			      const struct bf_ibgda_ep *ep)
{
	uint64_t slot = ep->ordinal;

	if (b->type == BF_IBGDA_RC)
		slot += t->num_dci + (b->backup ? (uint64_t)t->rc_room * t->npes : 0);
	return (uint64_t *)t->slots_mem.ptr + slot;
}

void bf_ibgda_add_proxy_queue(struct bf_ibgda_transport *t, const struct bf_ibgda_batch *b,
			      const struct bf_ibgda_ep *ep)
{
	const uint32_t n = t->proxy->nqueues;
	uint32_t *dbr = bf_ibgda_dbr_at(ep->block, ep->slot);
	struct bf_ibgda_proxy_queue *q = &t->proxy->queues[n];

	*q = (struct bf_ibgda_proxy_queue){
		.slot = bf_ibgda_proxy_slot(t, b, ep), .dbrec = dbr + BF_MLX5_DBR_SND, .bf = ep->bf, .qpn = ep->qpn
	};
	/* The record's offset without the 4 bytes to its send word. */
	if (t->opts.suspects & BF_IBGDA_SUSPECT_PROXY_RECV_WORD)
		q->dbrec = dbr + BF_MLX5_DBR_RCV;
	/* The first slot of an object of each RC, while GPU threads use the common ones. */
	if (t->opts.suspects & BF_IBGDA_SUSPECT_PROXY_SLOT_ZERO && b->type == BF_IBGDA_RC)
		q->slot = (uint64_t *)t->slots_mem.ptr + slots(t);
	__atomic_store_n(&t->proxy->nqueues, n + 1, __ATOMIC_RELEASE);
}
