/* What software and memory show of an entry, whatever its device: the store that rang, the completion that was seen. */
#include "traces/life/explain_internal.h"

/* ---- towards the device ---- */

/* The store to the doorbell comes right before the driver says that it has rung. */
void bf_explain_on_mmio_store(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (l->posted || !bf_explain_from_driver(l, v))
		return;
	snprintf(l->mmio_actor, sizeof(l->mmio_actor), "%.47s", v->actor);
	l->mmio_seq = bf_explain_get(v, "seq");
}

void bf_explain_on_store_visible(struct bf_explain *l, const struct bf_explain_view *v)
{
	char cause[16];

	if (!l->ring_seq || bf_explain_get(v, "seq") != l->ring_seq - 1 || strcmp(v->actor, l->ringer) != 0)
		return;
	l->ring_seq = 0;
	bf_explain_push(l, bf_explain_by(v, "doorbell-leaves",
					 "its store to the doorbell sets out for the device (%s), %" PRIu64 ".%" PRIu64
					 " ns after it was issued",
					 bf_explain_get_name(v, "cause", cause, sizeof(cause)),
					 bf_explain_get(v, "age") / 1000, bf_explain_get(v, "age") % 1000 / 100));
}

/* ---- back from it ---- */

void bf_explain_on_dma_write(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!l->cqe_known || l->cqe_landed || bf_explain_get(v, "iova") != l->cqe_iova ||
	    bf_explain_get(v, "len") < l->cqe_bytes || (l->pe >= 0 && bf_explain_pe(v->actor) != l->pe))
		return;
	l->cqe_landed = true;
	l->cqe_va = bf_explain_get(v, "va");
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_MEMORY, "landed", "the completion is in memory, at 0x%" PRIx64,
					   l->cqe_va));
}

void bf_explain_on_load(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t va = bf_explain_get(v, "va"), len = bf_explain_get(v, "len");

	if (!l->cqe_landed || l->cqe_loaded || l->polled || va < l->cqe_va || va - l->cqe_va >= l->cqe_bytes)
		return;
	l->cqe_loaded = true;
	bf_explain_push(l, bf_explain_by(v, "load", "its poll sees bytes %" PRIu64 " to %" PRIu64 " of the completion",
					 va - l->cqe_va, va - l->cqe_va + len - 1));
}
