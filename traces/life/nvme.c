/* The life of an NVMe command: its entry in the submission queue, what the controller does, its completion. */
#include "sim/bytes.h"
#include "traces/life/explain_internal.h"

/* Points that a command has passed; the first one that it has not is where it is stuck. */
enum {
	NVME_NOT_YET,
	NVME_BUILT,
	NVME_RUNG,
	NVME_TOLD,
	NVME_FETCHED,
	NVME_STARTED,
	NVME_COMPLETED,
	NVME_SEEN,
	NVME_OVER
};

static bool past(const struct bf_explain *l, int point)
{
	return l->nvme_point >= point;
}

static bool of_queue(const struct bf_explain *l, const struct bf_explain_view *v, const char *field)
{
	return bf_explain_get(v, field) == l->target.queue && bf_explain_from_device(l, v->actor);
}

static bool by_driver(const struct bf_explain *l, const struct bf_explain_view *v)
{
	return bf_explain_get(v, "qid") == l->target.queue && bf_explain_from_driver(l, v);
}

/* Slot `slot` lies in from..to-1 of a ring of `entries`. */
static bool in_ring(uint64_t slot, uint64_t from, uint64_t to, uint64_t entries)
{
	return from <= to ? slot >= from && slot < to : slot >= from ? slot < entries : slot < to;
}

static bool is_target(const struct bf_explain *l, uint64_t slot, uint64_t cid)
{
	return l->target.index == (l->target.by_slot ? slot : cid);
}

/* A command of the slot or identifier begins: it is this one, an earlier one, or the one that has its place now. */
static bool begins(struct bf_explain *l, const struct bf_explain_view *v, uint64_t slot, uint64_t cid)
{
	const uint32_t nth = l->target.nth ? l->target.nth : 1;

	if (!is_target(l, slot, cid))
		return false;
	if (past(l, NVME_BUILT) && l->seen_nth == nth && !past(l, NVME_OVER)) {
		if (past(l, NVME_SEEN))
			bf_explain_push(l, bf_explain_by(v, "recycle", "uses the %s again",
							 l->target.by_slot ? "slot" : "identifier"));
		l->recycled = true;
		if (past(l, NVME_SEEN))
			l->nvme_point = NVME_OVER;
	}
	if (++l->seen_nth != nth)
		return false;
	l->slot = (uint32_t)slot;
	l->cid = cid;
	return true;
}

/* ---- driver ---- */

static void on_build(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t slot = bf_explain_get(v, "slot"), cid = bf_explain_get(v, "q0") >> 16 & 0xffff;

	if (!by_driver(l, v))
		return;
	l->built = true; /* this stream tells of builds */
	l->pe = bf_explain_pe(v->actor);
	if (!begins(l, v, slot, cid))
		return;
	l->nvme_point = NVME_BUILT;
	l->entry_va = bf_explain_get(v, "va");
	l->entry_len = 64;
	l->entries = (uint32_t)bf_explain_get(v, "entries");
	snprintf(l->builder, sizeof(l->builder), "%.47s", v->actor);
	bf_explain_push(l, bf_explain_by(v, "build",
					 "stores an entry into slot %" PRIu64 " of SQ %" PRIu64
					 ": opcode 0x%02x, CID 0x%" PRIx64,
					 slot, l->target.queue, (unsigned int)(bf_explain_get(v, "q0") & 0xff), cid));
	bf_explain_detail(l,
			  bf_explain_by(v, "fields",
					"namespace %" PRIu64 ", PRP1 0x%" PRIx64 ", PRP2 0x%" PRIx64 ", block %" PRIu64,
					bf_explain_get(v, "q0") >> 32, bf_explain_get(v, "q3"), bf_explain_get(v, "q4"),
					bf_explain_get(v, "q5")));
}

static void on_ring(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t from = bf_explain_get(v, "from"), to = bf_explain_get(v, "to");

	if (!by_driver(l, v) || !past(l, NVME_BUILT) || past(l, NVME_OVER))
		return;
	if (bf_explain_get(v, "queue")) {
		if (!past(l, NVME_SEEN) || l->quiet || !in_ring(l->cq_slot, from, to, bf_explain_get(v, "entries")))
			return;
		l->quiet = true;
		bf_explain_push(l, bf_explain_by(v, "cq-ring",
						 "tells the controller that slot %" PRIu64
						 " of the completion queue is free",
						 l->cq_slot));
		return;
	}
	if (past(l, NVME_RUNG) || !in_ring(l->slot, from, to, bf_explain_get(v, "entries")))
		return;
	l->nvme_point = NVME_RUNG;
	snprintf(l->ringer, sizeof(l->ringer), "%.47s", v->actor);
	if (strcmp(l->mmio_actor, v->actor) == 0)
		l->ring_seq = l->mmio_seq + 1;
	bf_explain_push(l, bf_explain_by(v, "ring", "rings: tail %" PRIu64 ", was %" PRIu64 "%s", to, from,
					 bf_explain_get(v, "mmio") ? "" : " (shadow doorbell only)"));
}

static void on_mmio_store(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (past(l, NVME_RUNG) || !bf_explain_from_driver(l, v))
		return;
	snprintf(l->mmio_actor, sizeof(l->mmio_actor), "%.47s", v->actor);
	l->mmio_seq = bf_explain_get(v, "seq");
}

static void on_driver_completion(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!by_driver(l, v) || past(l, NVME_SEEN) || !past(l, NVME_BUILT) || bf_explain_get(v, "cid") != l->cid)
		return;
	bf_explain_push(l, bf_explain_by(v, "seen",
					 "takes the completion from slot %" PRIu64 ": status 0x%" PRIx64
					 ", phase %" PRIu64 "; slots before %" PRIu64 " are free again",
					 bf_explain_get(v, "slot"), bf_explain_get(v, "status"),
					 bf_explain_get(v, "phase"), bf_explain_get(v, "freed")));
	if (!past(l, NVME_COMPLETED))
		bf_explain_detail(l, bf_explain_by(v, "seen", "although the controller has not completed it"));
	l->cq_slot = bf_explain_get(v, "slot");
	l->nvme_point = NVME_SEEN;
	l->polled = true;
}

static void on_timeout(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!by_driver(l, v) || !past(l, NVME_BUILT) || past(l, NVME_SEEN) || l->given_up)
		return;
	l->given_up = true;
	bf_explain_push(l, bf_explain_by(v, "gives-up",
					 "gives up after %" PRIu64 " ns: %" PRIu64 " commands out, tail %" PRIu64
					 ", rung %" PRIu64 ", waits at CQ slot %" PRIu64 " for phase %" PRIu64,
					 bf_explain_get(v, "waited"), bf_explain_get(v, "inflight"),
					 bf_explain_get(v, "sq_tail"), bf_explain_get(v, "sq_rung"),
					 bf_explain_get(v, "cq_head"), bf_explain_get(v, "cq_phase")));
}

/* ---- controller ---- */

static void on_doorbell(struct bf_explain *l, const struct bf_explain_view *v)
{
	static const char *const sources[] = { "", " (shadow doorbell)", " (in memory)" };
	const uint64_t before = bf_explain_get(v, "before"), value = bf_explain_get(v, "value");
	const uint64_t source = bf_explain_get(v, "source");

	if (!of_queue(l, v, "qid") || bf_explain_get(v, "queue") || !past(l, NVME_BUILT) || past(l, NVME_TOLD))
		return;
	l->producer = (uint16_t)value;
	l->has_producer = true;
	if (!in_ring(l->slot, before, value, UINT64_MAX))
		return;
	if (bf_explain_get(v, "accepted"))
		l->nvme_point = NVME_TOLD;
	bf_explain_push(l,
			bf_explain_make(v, BF_EXPLAIN_DEVICE, "doorbell",
					"the doorbell arrives: tail %" PRIu64 ", was %" PRIu64 ": %" PRIu64
					" entries to fetch%s%s",
					value, before, bf_explain_get(v, "pending"), sources[source < 3 ? source : 0],
					bf_explain_get(v, "accepted") ? "" : "; it is not accepted"));
}

static void describe_sqe(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (v->tail_len != 64)
		return;
	bf_explain_detail(
	    l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields",
			       "CID 0x%x, namespace %u, PRP1 0x%" PRIx64 ", PRP2 0x%" PRIx64 ", block %" PRIu64,
			       bf_get_le16(v->tail + 2), bf_get_le32(v->tail + 4), bf_get_le64(v->tail + 24),
			       bf_get_le64(v->tail + 32), bf_get_le64(v->tail + 40)));
}

static void on_fetch(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t slot = bf_explain_get(v, "slot"), cid = bf_explain_get(v, "cid");

	if (!of_queue(l, v, "sqid") || past(l, NVME_FETCHED))
		return;
	/* The driver stores into a slot as soon as what was there before has been fetched. */
	if (!past(l, NVME_BUILT) && (!l->target.by_slot || slot == l->target.index))
		l->begin_record = v->number;
	if (!l->built && !begins(l, v, slot, cid))
		return;
	if (l->built && (!past(l, NVME_BUILT) || slot != l->slot))
		return;
	l->nvme_point = NVME_FETCHED;
	l->fetch_record = v->number;
	bf_explain_device_name(v->actor, l->device, sizeof(l->device));
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fetch",
					   "has the entry of slot %" PRIu64 ": opcode 0x%02x, CID 0x%" PRIx64 "%s",
					   slot, (unsigned int)bf_explain_get(v, "opcode"), cid,
					   l->built && cid != l->cid ? ", which is not what was built there" : ""));
	describe_sqe(l, v);
	l->cid = cid;
}

static void on_start(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!of_queue(l, v, "sqid") || l->nvme_point != NVME_FETCHED || bf_explain_get(v, "cid") != l->cid)
		return;
	l->nvme_point = NVME_STARTED;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "start", "starts it"));
}

static void on_held(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!of_queue(l, v, "sqid") || !past(l, NVME_FETCHED) || past(l, NVME_COMPLETED) ||
	    bf_explain_get(v, "cid") != l->cid)
		return;
	l->failed = true;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "held",
					   "keeps its completion: CQ %" PRIu64 " is full, its head is at %" PRIu64,
					   bf_explain_get(v, "cqid"), bf_explain_get(v, "head")));
}

static void on_completion(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!of_queue(l, v, "sqid") || !past(l, NVME_FETCHED) || past(l, NVME_COMPLETED) ||
	    bf_explain_get(v, "cid") != l->cid)
		return;
	l->nvme_point = NVME_COMPLETED;
	l->cq_slot = bf_explain_get(v, "cqslot");
	l->cqe_known = l->cq_base != 0;
	l->cqe_iova = l->cq_base + l->cq_slot * 16;
	l->cqe_bytes = 16;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "completion",
					   "completes it: slot %" PRIu64 " of CQ %" PRIu64 ", status 0x%" PRIx64
					   ", phase %" PRIu64 ", SQ head %" PRIu64,
					   l->cq_slot, bf_explain_get(v, "cqid"), bf_explain_get(v, "status"),
					   bf_explain_get(v, "phase"), bf_explain_get(v, "sqhd")));
	bf_explain_detail(l,
			  bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields",
					  "of that: fetch %" PRIu64 " ns, data %" PRIu64 " ns, medium %" PRIu64 " ns",
					  bf_explain_get(v, "fetch_ps") / 1000, bf_explain_get(v, "data_ps") / 1000,
					  bf_explain_get(v, "media_ps") / 1000));
}

/* Where completions of the queue go. */
static void on_queue(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!bf_explain_from_device(l, v->actor) || bf_explain_get(v, "what"))
		return;
	if (bf_explain_get(v, "queue") == 0 && bf_explain_get(v, "qid") == l->target.queue)
		l->cqn = bf_explain_get(v, "cqid");
	/* The completion queue is there first; its number is its submission queue's in all but odd drivers. */
	if (bf_explain_get(v, "queue") == 1 && bf_explain_get(v, "qid") == (l->cqn ? l->cqn : l->target.queue))
		l->cq_base = bf_explain_get(v, "base");
}

static void on_state(struct bf_explain *l, const struct bf_explain_view *v)
{
	char state[24], reason[24];

	if (!bf_explain_from_device(l, v->actor) || !past(l, NVME_BUILT) || past(l, NVME_SEEN))
		return;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "state", "the controller is %s now (%s)",
					   bf_explain_get_name(v, "state", state, sizeof(state)),
					   bf_explain_get_name(v, "reason", reason, sizeof(reason))));
}

static void on_driver_error(struct bf_explain *l, const struct bf_explain_view *v)
{
	char wrong[24];

	if (!of_queue(l, v, "qid") || !past(l, NVME_BUILT) || past(l, NVME_SEEN))
		return;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "error", "the driver did wrong: %s, value 0x%" PRIx64,
					   bf_explain_get_name(v, "wrong", wrong, sizeof(wrong)),
					   bf_explain_get(v, "value")));
}

/* ---- Linux' trace events ---- */

static void on_setup(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!of_queue(l, v, "qid") || bf_explain_get(v, "side") || !begins(l, v, UINT64_MAX, bf_explain_get(v, "cid")))
		return;
	l->nvme_point = NVME_BUILT;
	bf_explain_device_name(v->actor, l->device, sizeof(l->device));
	bf_explain_push(l,
			bf_explain_make(v, BF_EXPLAIN_CAPTURE, "setup",
					"the kernel sets the command up: opcode 0x%02x,"
					" CID 0x%" PRIx64 " (line %" PRIu64 ")",
					(unsigned int)bf_explain_get(v, "opcode"), l->cid, bf_explain_get(v, "line")));
}

static void on_complete(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!of_queue(l, v, "qid") || bf_explain_get(v, "side") || l->nvme_point != NVME_BUILT ||
	    bf_explain_get(v, "cid") != l->cid)
		return;
	l->nvme_point = NVME_SEEN;
	l->polled = true;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_CAPTURE, "seen",
					   "the kernel has its completion: status 0x%" PRIx64 " (line %" PRIu64 ")",
					   bf_explain_get(v, "status"), bf_explain_get(v, "line")));
}

/* ---- what never came ---- */

void bf_explain_nvme_end(struct bf_explain *l)
{
	if (l->nsteps == 0)
		return;
	switch (l->nvme_point) {
	case NVME_BUILT:
		if (l->built && l->has_producer)
			bf_explain_missing(l, BF_EXPLAIN_SOFTWARE, "ring",
					   "nobody rings for slot %u: the last doorbell said %u", l->slot, l->producer);
		else if (l->built)
			bf_explain_missing(l, BF_EXPLAIN_SOFTWARE, "ring", "nobody rings for slot %u", l->slot);
		else
			bf_explain_missing(l, BF_EXPLAIN_CAPTURE, "completion", "has no completion of this command");
		break;
	case NVME_RUNG:
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "doorbell", "gets no doorbell that covers slot %u", l->slot);
		break;
	case NVME_TOLD:
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "fetch", "never fetches the entry");
		break;
	case NVME_FETCHED:
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "start", "has not started it when the records end");
		break;
	case NVME_STARTED:
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "completion", "%s",
				   l->failed ? "keeps its completion for want of a free slot"
					     : "has not completed it when the records end");
		break;
	case NVME_COMPLETED:
		if (l->built)
			bf_explain_missing(l, BF_EXPLAIN_SOFTWARE, "seen",
					   "nobody has taken the completion from slot %" PRIu64, l->cq_slot);
		break;
	default:
		break;
	}
}

const struct bf_explain_handler bf_explain_nvme_handlers[] = {
	{ "nvm_build", on_build },
	{ "nvm_ring", on_ring },
	{ "mmio_store", on_mmio_store },
	{ "store_visible", bf_explain_on_store_visible },
	{ "nvme_doorbell", on_doorbell },
	{ "nvme_fetch", on_fetch },
	{ "nvme_start", on_start },
	{ "nvme_held", on_held },
	{ "nvme_completion", on_completion },
	{ "dma_write", bf_explain_on_dma_write },
	{ "load", bf_explain_on_load },
	{ "nvm_completion", on_driver_completion },
	{ "nvm_timeout", on_timeout },
	{ "nvme_queue", on_queue },
	{ "nvme_state", on_state },
	{ "nvme_driver_error", on_driver_error },
	{ "ftrace_setup", on_setup },
	{ "ftrace_complete", on_complete },
	{ NULL, NULL },
};
