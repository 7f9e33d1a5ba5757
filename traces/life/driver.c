/* What a driver says of a send entry: reserved, built, published, rung, seen complete, the slot free again. */
#include "traces/life/explain_internal.h"

static bool is_ours(const struct bf_explain *l, const struct bf_explain_view *v, const char *qpn)
{
	return !l->device_only && bf_explain_get(v, qpn) == l->qpn && bf_explain_from_driver(l, v);
}

static bool covers(const struct bf_explain *l, uint64_t from, uint64_t to)
{
	return l->target.index >= from && l->target.index < to;
}

static void range_text(uint64_t from, uint64_t to, char *buf, size_t cap)
{
	if (to == from + 1)
		snprintf(buf, cap, "entry %" PRIu64, from);
	else
		snprintf(buf, cap, "entries %" PRIu64 " to %" PRIu64, from, to - 1);
}

void bf_explain_on_qp_config(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t depth = bf_explain_get(v, "sq_wqebbs");

	if (bf_explain_is_own(l, v) && depth && depth <= 65536)
		l->depth = (uint32_t)depth;
}

/* ---- towards the device ---- */

void bf_explain_on_reserve(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t base = bf_explain_get(v, "base"), count = bf_explain_get(v, "count");
	char range[64];

	if (!is_ours(l, v, "qpn"))
		return;
	range_text(base, base + count, range, sizeof(range));
	if (!l->reserved && covers(l, base, base + count)) {
		l->reserved = true;
		l->begin_record = v->number;
		l->pe = bf_explain_pe(v->actor);
		snprintf(l->builder, sizeof(l->builder), "%.47s", v->actor);
		bf_explain_push(l, bf_explain_by(v, "reserve", "reserves %s of QP 0x%" PRIx32, range, l->qpn));
	} else if (l->reserved && !l->recycled && l->depth && covers(l, base - l->depth, base - l->depth + count)) {
		l->recycled = true;
		bf_explain_push(l, bf_explain_by(v, "recycle", "reserves the slot again: %s", range));
	}
}

void bf_explain_on_build(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!is_ours(l, v, "qpn") || l->built || bf_explain_get(v, "index") != l->target.index)
		return;
	if (!l->reserved)
		l->begin_record = v->number;
	l->built = true;
	bf_explain_push(l, bf_explain_by(v, "build", "has stored the entry, %" PRIu64 " segments of 16 bytes",
					 bf_explain_get(v, "ds")));
}

void bf_explain_on_publish(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t base = bf_explain_get(v, "base"), count = bf_explain_get(v, "count");
	char range[64];

	if (!is_ours(l, v, "qpn") || l->published || !covers(l, base, base + count))
		return;
	l->published = true;
	range_text(base, base + count, range, sizeof(range));
	bf_explain_push(l,
			bf_explain_by(v, "publish", "publishes %s, and %s", range,
				      bf_explain_get(v, "posts") ? "goes on to ring" : "leaves it to others to ring"));
}

void bf_explain_on_handoff(struct bf_explain *l, const struct bf_explain_view *v)
{
	char range[64];

	if (!is_ours(l, v, "qpn") || l->handed_off || !covers(l, bf_explain_get(v, "from"), bf_explain_get(v, "to")))
		return;
	l->handed_off = true;
	range_text(bf_explain_get(v, "from"), bf_explain_get(v, "to"), range, sizeof(range));
	bf_explain_push(l, bf_explain_by(v, "handoff", "tells the CPU proxy of %s", range));
}

void bf_explain_on_post(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t from = bf_explain_get(v, "from"), to = bf_explain_get(v, "to");
	char range[64];

	if (!is_ours(l, v, "qpn") || l->posted_by_driver || !covers(l, from, to))
		return;
	l->posted_by_driver = true;
	snprintf(l->ringer, sizeof(l->ringer), "%.47s", v->actor);
	if (strcmp(l->mmio_actor, v->actor) == 0)
		l->ring_seq = l->mmio_seq + 1;
	range_text(from, to, range, sizeof(range));
	bf_explain_push(l, bf_explain_by(v, "ring", "has stored %" PRIu64 " into the doorbell record and rung for %s",
					 bf_explain_get(v, "dbrec"), range));
}

/* The store to the doorbell comes right before the driver says that it has rung. */
void bf_explain_on_mmio_store(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (l->posted_by_driver || !bf_explain_from_driver(l, v))
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

void bf_explain_on_poll(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t done = bf_explain_get(v, "done"), syndrome = bf_explain_get(v, "syndrome");

	if (!is_ours(l, v, "qpn") || l->polled || done <= l->target.index || !l->reserved)
		return;
	l->polled = true;
	if (syndrome)
		bf_explain_push(l, bf_explain_by(v, "seen",
						 "learns that entries below %" PRIu64
						 " are complete, with syndrome 0x%02x",
						 done, (unsigned int)syndrome));
	else
		bf_explain_push(l, bf_explain_by(v, "seen",
						 "learns that entries below %" PRIu64
						 " are complete: the slot is free again",
						 done));
	if (l->stage == BF_EXPLAIN_STAGE_WAITING)
		bf_explain_detail(l, bf_explain_by(v, "seen", "although the device has not fetched the entry"));
}

void bf_explain_on_quiet(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!is_ours(l, v, "qpn") || l->quiet || !l->polled || bf_explain_get(v, "upto") <= l->target.index)
		return;
	l->quiet = true;
	bf_explain_push(l, bf_explain_by(v, "quiet", "returns from quiet: all below %" PRIu64 " is complete",
					 bf_explain_get(v, "upto")));
}

void bf_explain_on_driver_replay(struct bf_explain *l, const struct bf_explain_view *v)
{
	char fate[24];

	if (!is_ours(l, v, "from_qpn") || bf_explain_get(v, "index") != l->target.index)
		return;
	bf_explain_push(l, bf_explain_by(v, "failover",
					 "hands the failed entry on to QP 0x%" PRIx64 " as entry %" PRIu64 ": %s",
					 bf_explain_get(v, "to_qpn"), bf_explain_get(v, "again"),
					 bf_explain_get_name(v, "fate", fate, sizeof(fate))));
}

/* ---- what the driver has not done ---- */

bool bf_explain_driver_end(struct bf_explain *l)
{
	if (!l->reserved || l->has_record)
		return false;
	if (!l->built)
		bf_explain_missing(l, BF_EXPLAIN_SOFTWARE, "build", "%s has reserved the slot and never filled it",
				   l->builder);
	else if (!l->published)
		bf_explain_missing(l, BF_EXPLAIN_SOFTWARE, "publish", "%s has filled the slot and never published it",
				   l->builder);
	else if (!l->posted_by_driver)
		bf_explain_missing(l, BF_EXPLAIN_SOFTWARE, "ring",
				   "nobody rings for it: it was left to others to do so");
	else if (l->has_producer)
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "doorbell",
				   "never learns of entry %u: %s has rung, and the doorbell record said %u when it was "
				   "last read",
				   l->index, l->ringer, l->producer);
	else
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "doorbell", "%s has rung, and no doorbell has arrived",
				   l->ringer);
	return true;
}
