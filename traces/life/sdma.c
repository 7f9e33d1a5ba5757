/* The life of an SDMA packet: the submission that it is part of, doorbell, fetch, execution, signal, read pointer. */
#include "traces/life/explain_internal.h"

/* Points that a packet has passed. */
enum { SDMA_NOT_YET, SDMA_RESERVED, SDMA_PUBLISHED, SDMA_TOLD, SDMA_FETCHED, SDMA_DISPATCHED, SDMA_DONE };

#define SUBMISSION_MAX 4096u /* bytes of a submission whose stores are followed */

static bool past(const struct bf_explain *l, int point)
{
	return l->sdma_point >= point;
}

static void reach(struct bf_explain *l, int point)
{
	if (l->sdma_point < point)
		l->sdma_point = point;
}

/* The actor is the queue: "sdma0.q0". */
static bool is_queue(const struct bf_explain *l, const struct bf_explain_view *v)
{
	const char *dot = strrchr(v->actor, '.');
	char number[24];

	snprintf(number, sizeof(number), "q%" PRIu64, l->target.queue);
	return dot && strcmp(dot + 1, number) == 0 && bf_explain_from_device(l, v->actor);
}

static bool is_packet(const struct bf_explain *l, const struct bf_explain_view *v)
{
	return is_queue(l, v) && bf_explain_get(v, "index") == l->target.index;
}

static bool by_driver(const struct bf_explain *l, const struct bf_explain_view *v)
{
	return bf_explain_get(v, "queue") == l->target.queue && bf_explain_from_driver(l, v);
}

static bool covers(const struct bf_explain *l, uint64_t from, uint64_t to)
{
	return l->target.index >= from && l->target.index < to;
}

/* ---- driver ---- */

static void on_reserve(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t from = bf_explain_get(v, "from"), to = bf_explain_get(v, "to");

	if (!by_driver(l, v))
		return;
	if (!l->reserved && covers(l, from, to)) {
		l->reserved = true;
		l->begin_record = v->number;
		l->pe = bf_explain_pe(v->actor);
		l->span_from = from;
		l->span_to = to;
		l->span_known = true;
		reach(l, SDMA_RESERVED);
		snprintf(l->builder, sizeof(l->builder), "%.47s", v->actor);
		bf_explain_push(l, bf_explain_by(v, "reserve",
						 "reserves bytes 0x%" PRIx64 " to 0x%" PRIx64 " of the ring%s", from,
						 to - 1, bf_explain_get(v, "pad") ? ", to fill them with NOPs" : ""));
	} else if (l->reserved && !l->recycled && l->ring_bytes &&
		   covers(l, from - l->ring_bytes, from - l->ring_bytes + (to - from))) {
		l->recycled = true;
		bf_explain_push(l, bf_explain_by(v, "recycle",
						 "reserves the same place of the ring again, as bytes 0x%" PRIx64
						 " to 0x%" PRIx64,
						 from, to - 1));
	}
}

static void on_publish(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t from = bf_explain_get(v, "from"), to = bf_explain_get(v, "to");

	if (!by_driver(l, v) || l->published || !covers(l, from, to))
		return;
	l->published = true;
	reach(l, SDMA_PUBLISHED);
	snprintf(l->ringer, sizeof(l->ringer), "%.47s", v->actor);
	if (strcmp(l->mmio_actor, v->actor) == 0)
		l->ring_seq = l->mmio_seq + 1;
	bf_explain_push(l, bf_explain_by(v, "ring",
					 "has stored the write pointer and rung for bytes 0x%" PRIx64 " to 0x%" PRIx64,
					 from, to - 1));
}

static void on_mmio_store(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (l->published || !bf_explain_from_driver(l, v))
		return;
	snprintf(l->mmio_actor, sizeof(l->mmio_actor), "%.47s", v->actor);
	l->mmio_seq = bf_explain_get(v, "seq");
}

static void on_waited(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!l->signal_known || l->polled || bf_explain_get(v, "va") != l->signal_va || !bf_explain_from_driver(l, v))
		return;
	l->polled = true;
	bf_explain_push(l, bf_explain_by(v, "seen", "sees the signal: 0x%" PRIx64 " holds 0x%" PRIx64, l->signal_va,
					 bf_explain_get(v, "value")));
}

/* ---- engine ---- */

static void on_queue(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!is_queue(l, v) || bf_explain_get(v, "event"))
		return;
	l->ring_va = bf_explain_get(v, "ring");
	l->ring_bytes = bf_explain_get(v, "bytes");
}

static void on_doorbell(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t published = bf_explain_get(v, "published"), before = bf_explain_get(v, "before");
	char verdict[24];

	if (!is_queue(l, v) || past(l, SDMA_TOLD))
		return;
	l->cid = published;
	l->has_producer = true;
	if (!covers(l, before, published))
		return;
	if (!l->reserved)
		l->begin_record = v->number;
	reach(l, SDMA_TOLD);
	bf_explain_device_name(v->actor, l->device, sizeof(l->device));
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "doorbell",
					   "the doorbell arrives: 0x%" PRIx64 ", was 0x%" PRIx64 ": %s", published,
					   before, bf_explain_get_name(v, "verdict", verdict, sizeof(verdict))));
	if (bf_explain_get(v, "wptr") != published)
		bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields",
						     "the write pointer in memory is 0x%" PRIx64 " at this moment",
						     bf_explain_get(v, "wptr")));
}

static void on_fetch(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t index = bf_explain_get(v, "index"), len = bf_explain_get(v, "len");

	if (!is_queue(l, v) || past(l, SDMA_FETCHED) || !bf_explain_get(v, "ring") || !covers(l, index, index + len))
		return;
	reach(l, SDMA_FETCHED);
	l->fetch_record = v->number;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fetch",
					   "asks for ring bytes 0x%" PRIx64 " to 0x%" PRIx64, index, index + len - 1));
}

static void on_packet(struct bf_explain *l, const struct bf_explain_view *v)
{
	char name[40];

	if (is_queue(l, v) && !bf_explain_get(v, "indirect") && !past(l, SDMA_DISPATCHED) &&
	    covers(l, bf_explain_get(v, "index") + 1, bf_explain_get(v, "index") + 4 * bf_explain_get(v, "dwords")))
		l->sdma_around = bf_explain_get(v, "index") + 1;
	if (!is_packet(l, v) || past(l, SDMA_DONE))
		return;
	if (bf_explain_get(v, "indirect") == 0) {
		if (past(l, SDMA_DISPATCHED))
			return;
		l->entry_len = bf_explain_get(v, "dwords") * 4;
		l->fetch_record = v->number;
		l->started = bf_explain_get(v, "bytes") != 0;
	} else if (!past(l, SDMA_DISPATCHED)) {
		return;
	}
	bf_explain_device_name(v->actor, l->device, sizeof(l->device));
	reach(l, SDMA_DISPATCHED);
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "dispatch",
					   "%sdecodes %s: %" PRIu64 " dwords, %" PRIu64 " bytes to move",
					   bf_explain_get(v, "indirect") ? "in its indirect buffer, " : "",
					   bf_explain_get_text(v, "name", name, sizeof(name)),
					   bf_explain_get(v, "dwords"), bf_explain_get(v, "bytes")));
}

static void on_copied(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!is_packet(l, v) || !past(l, SDMA_DISPATCHED))
		return;
	l->started = false;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "done",
					   "every byte is in memory: %" PRIu64 " bytes, begun %" PRIu64 " ns ago",
					   bf_explain_get(v, "bytes"),
					   (v->time_ps - bf_explain_get(v, "start_ps")) / 1000));
}

static void on_result(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t index = bf_explain_get(v, "index");
	char verdict[24];

	if (!is_queue(l, v) || !past(l, SDMA_DISPATCHED) || bf_explain_get(v, "verdict") == 1)
		return;
	if (index != l->target.index && (!l->span_known || index < l->span_from || index >= l->span_to))
		return;
	l->signal_va = bf_explain_get(v, "address");
	l->signal_known = true;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, index == l->target.index ? "result" : "signal",
					   "%s 0x%" PRIx64 ": 0x%" PRIx64 ", was 0x%" PRIx64 " (%s)",
					   index == l->target.index ? "its result at" : "the submission's signal at",
					   l->signal_va, bf_explain_get(v, "after"), bf_explain_get(v, "before"),
					   bf_explain_get_name(v, "verdict", verdict, sizeof(verdict))));
}

static void on_rptr(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!is_queue(l, v) || !past(l, SDMA_DISPATCHED) || past(l, SDMA_DONE) ||
	    bf_explain_get(v, "index") <= l->target.index)
		return;
	reach(l, SDMA_DONE);
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "rptr",
					   "moves the read pointer to 0x%" PRIx64 ": the place is free again",
					   bf_explain_get(v, "index")));
}

static void on_fault(struct bf_explain *l, const struct bf_explain_view *v)
{
	char reason[24];

	if (!is_queue(l, v) || !past(l, SDMA_RESERVED) || past(l, SDMA_DONE))
		return;
	l->failed = true;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fault",
					   "the queue stops at packet 0x%" PRIx64 ", dword %" PRIu64 ": %s",
					   bf_explain_get(v, "index"), bf_explain_get(v, "dword"),
					   bf_explain_get_name(v, "reason", reason, sizeof(reason))));
}

/* ---- what never came ---- */

void bf_explain_sdma_end(struct bf_explain *l)
{
	l->entry_va = l->ring_bytes ? l->ring_va + l->target.index % l->ring_bytes : 0;
	if (!l->entry_len && l->span_known)
		l->entry_len = l->span_to - l->target.index;
	if (l->entry_len > SUBMISSION_MAX)
		l->entry_len = SUBMISSION_MAX;
	if (l->nsteps == 0)
		return;
	switch (l->sdma_point) {
	case SDMA_RESERVED:
		bf_explain_missing(l, BF_EXPLAIN_SOFTWARE, "publish",
				   "%s has reserved these bytes and never published them", l->builder);
		break;
	case SDMA_PUBLISHED:
		if (l->has_producer)
			bf_explain_missing(l, BF_EXPLAIN_DEVICE, "doorbell", "gets no doorbell beyond 0x%" PRIx64,
					   l->cid);
		else
			bf_explain_missing(l, BF_EXPLAIN_DEVICE, "doorbell", "gets no doorbell at all");
		break;
	case SDMA_TOLD:
	case SDMA_FETCHED:
		if (l->sdma_around) {
			bf_explain_missing(l, BF_EXPLAIN_DEVICE, "packet",
					   "finds no packet there: the byte lies inside that of 0x%" PRIx64,
					   l->sdma_around - 1);
			break;
		}
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, l->sdma_point == SDMA_TOLD ? "fetch" : "dispatch", "%s",
				   l->failed ? "has stopped before this packet" : "never comes to this packet");
		break;
	case SDMA_DISPATCHED:
		if (l->failed || l->started)
			bf_explain_missing(l, BF_EXPLAIN_DEVICE, "done", "%s",
					   l->failed ? "has stopped at it"
						     : "has not moved every byte when the records end");
		break;
	default:
		break;
	}
}

const struct bf_explain_handler bf_explain_sdma_handlers[] = {
	{ "sdma_reserve", on_reserve },  { "sdma_publish", on_publish },
	{ "mmio_store", on_mmio_store }, { "store_visible", bf_explain_on_store_visible },
	{ "sdma_queue", on_queue },      { "sdma_doorbell", on_doorbell },
	{ "sdma_fetch", on_fetch },      { "sdma_packet", on_packet },
	{ "sdma_copied", on_copied },    { "sdma_result", on_result },
	{ "sdma_rptr", on_rptr },        { "sdma_fault", on_fault },
	{ "sdma_waited", on_waited },    { NULL, NULL },
};
