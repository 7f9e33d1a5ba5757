/* The entry at its own queue: written, announced, fetched, started, retired, completed. */
#include "models/mlx5/wqe.h"
#include "traces/life/explain_internal.h"

#define MAX_SGE_LINES 4u

/* ---- software ---- */

void bf_explain_on_capture_qp(struct bf_explain *l, const struct bf_explain_view *v)
{
	uint32_t qpn = (uint32_t)bf_explain_get(v, "qpn"), dest = (uint32_t)bf_explain_get(v, "dest_qpn");

	if (qpn == l->qpn || dest == l->qpn) {
		l->remote_qpn = qpn == l->qpn ? dest : qpn;
		l->has_remote = true;
	}
}

void bf_explain_on_capture_doorbell(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (bf_explain_get(v, "qpn") != l->qpn || l->stage != BF_EXPLAIN_STAGE_WAITING)
		return;
	l->posted = bf_explain_make(v, BF_EXPLAIN_SOFTWARE, "post",
				    "sets the doorbell record to %" PRIu64 " and rings (line %" PRIu64 ")",
				    bf_explain_get(v, "dbrec"), bf_explain_get(v, "line"));
	l->announced = (uint16_t)bf_explain_get(v, "dbrec");
	l->has_posted = true;
}

void bf_explain_on_capture_wqe(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (bf_explain_get(v, "qpn") != l->qpn || bf_explain_get(v, "index") != l->index ||
	    l->stage != BF_EXPLAIN_STAGE_WAITING || l->has_written)
		return;
	l->has_written = true;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_SOFTWARE, "write",
					   "writes entry %u into the ring: %" PRIu32 " bytes (line %" PRIu64 ")",
					   l->index, v->tail_len, bf_explain_get(v, "line")));
	/* A record that does not reach past the entry announces others. */
	if (l->has_posted && (int16_t)(uint16_t)(l->announced - l->index) > 0) {
		/* Captures note entries when the doorbell rings; they were written before. */
		l->posted.record = v->number;
		bf_explain_push(l, l->posted);
	}
}

/* ---- doorbell and fetch ---- */

/* How far the device is, beyond the 16 bits of its counter. A stream may begin anywhere, and errors go back. */
static void note_fetch(struct bf_explain *l, uint16_t index)
{
	const int16_t step = (int16_t)(index - (uint16_t)l->next_fetch);

	if (!l->has_fetched || (step < 0 && l->next_fetch < (uint64_t)-step))
		l->next_fetch = index;
	else
		l->next_fetch += (uint64_t)(int64_t)step;
	l->has_fetched = true;
}

/* Another lap's doorbell: the counter has still to come round before it is this entry's. */
static bool too_early(const struct bf_explain *l)
{
	return l->has_fetched && l->target.index - l->next_fetch >= 0x8000;
}

static void note_other(struct bf_explain *l, uint32_t qpn)
{
	for (uint32_t i = 0; i < l->nothers && i < BF_EXPLAIN_OTHERS; i++)
		if (l->others[i] == qpn)
			return;
	if (l->nothers < BF_EXPLAIN_OTHERS)
		l->others[l->nothers] = qpn;
	if (l->nothers <= BF_EXPLAIN_OTHERS)
		l->nothers++;
}

void bf_explain_on_doorbell(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint32_t qpn = (uint32_t)bf_explain_get(v, "qpn");
	char verdict[32];

	if (qpn != l->qpn)
		note_other(l, qpn);
	if (!bf_explain_is_own(l, v) || l->stage != BF_EXPLAIN_STAGE_WAITING || too_early(l))
		return;
	l->rung_record = v->number;
	l->rang = bf_explain_make(
	    v, BF_EXPLAIN_DEVICE, "doorbell",
	    "the doorbell arrives: QP 0x%" PRIx32 ", index %" PRIu64 " (%" PRIu64 " bytes at 0x%" PRIx64
	    " of UAR page %" PRIu64 ")%s%s",
	    l->qpn, bf_explain_get(v, "index"), bf_explain_get(v, "len"), bf_explain_get(v, "offset"),
	    bf_explain_get(v, "uar"), bf_explain_get(v, "verdict") ? ", refused: " : "",
	    bf_explain_get(v, "verdict") ? bf_explain_get_name(v, "verdict", verdict, sizeof(verdict)) : "");
	l->has_rang = true;
}

void bf_explain_on_dbrec(struct bf_explain *l, const struct bf_explain_view *v)
{
	uint16_t before = (uint16_t)bf_explain_get(v, "before"), producer = (uint16_t)bf_explain_get(v, "producer");

	if (!bf_explain_is_own(l, v) || l->stage != BF_EXPLAIN_STAGE_WAITING || l->has_record || too_early(l))
		return;
	l->producer = producer;
	l->has_producer = true;
	if ((uint16_t)(l->index - before) >= (uint16_t)(producer - before))
		return;
	bf_explain_device_name(v->actor, l->device, sizeof(l->device));
	l->pe = bf_explain_pe(l->device);
	if (l->has_rang && strcmp(l->rang.device, l->device) == 0)
		bf_explain_push(l, l->rang);
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "record",
					   "reads the doorbell record: producer %u, was %u: %u new block%s", producer,
					   before, (uint16_t)(producer - before),
					   (uint16_t)(producer - before) == 1 ? "" : "s"));
	l->has_record = true;
}

static void describe_completion(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_mlx5_wqe *w)
{
	static const char *const when[] = { "only on error", "on the first error", "always", "always, with an event" };

	bf_explain_detail(
	    l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields", "completion %s%s%s%s", when[w->ce & 3],
			       w->fm == BF_MLX5_FM_NONE ? "" : ", fenced: waits for earlier READs and atomics",
			       w->solicited ? ", solicited" : "", w->signature ? ", signed" : ""));
}

static void describe_data(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_mlx5_wqe *w)
{
	if (w->has_inline)
		bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields",
						     "%" PRIu32 " bytes inline, at byte %" PRIu32 " of the entry",
						     w->inline_len, w->inline_offset));
	for (uint32_t i = 0; i < w->nsge && i < MAX_SGE_LINES; i++)
		bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields",
						     "segment %" PRIu32 ": %" PRIu32 " bytes at 0x%" PRIx64
						     ", lkey 0x%" PRIx32,
						     i, w->sge[i].len, w->sge[i].va, w->sge[i].lkey));
	if (w->nsge > MAX_SGE_LINES)
		bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields", "and %" PRIu32 " segments more",
						     w->nsge - MAX_SGE_LINES));
}

static void describe_wqe(struct bf_explain *l, const struct bf_explain_view *v)
{
	struct bf_mlx5_wqe w;
	struct bf_error err = { 0 };

	if (l->dc ? bf_mlx5_dc_wqe_decode(v->tail, v->tail_len, &w, &err)
		  : bf_mlx5_wqe_decode(v->tail, v->tail_len, &w, &err)) {
		bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields", "malformed: %.120s", err.text));
		return;
	}
	bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields",
					     "%s, entry %u, %u segments of 16 bytes in %u block%s, %" PRIu32
					     " bytes of data",
					     bf_mlx5_opcode_name(w.opcode), w.index, w.ds, w.wqebbs,
					     w.wqebbs == 1 ? "" : "s", w.length));
	if (w.av_len)
		bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields",
						     "for DCT 0x%" PRIx32 " with key 0x%" PRIx64
						     ", stream %u (%u bytes of address vector)",
						     w.dct, w.dc_key, w.stream, w.av_len));
	if (w.rkey || w.raddr)
		bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields",
						     "remote address 0x%" PRIx64 ", rkey 0x%" PRIx32, w.raddr, w.rkey));
	if (w.atomic_size)
		bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields",
						     "%u-byte atomic: operand 0x%" PRIx64 ", compare 0x%" PRIx64,
						     w.atomic_size, w.swap_add, w.compare));
	describe_data(l, v, &w);
	describe_completion(l, v, &w);
}

/* Comes right before the fetch that it explains. */
void bf_explain_on_dc_wqe(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (bf_explain_is_mine(l, v) && l->stage == BF_EXPLAIN_STAGE_WAITING)
		l->dc = true;
}

void bf_explain_on_fetch(struct bf_explain *l, const struct bf_explain_view *v)
{
	char verdict[32], source[16];

	if (!bf_explain_is_own(l, v))
		return;
	note_fetch(l, (uint16_t)bf_explain_get(v, "index"));
	if (!bf_explain_is_mine(l, v) || l->stage != BF_EXPLAIN_STAGE_WAITING)
		return;
	l->stage = BF_EXPLAIN_STAGE_FETCHED;
	l->fetch_record = v->number;
	l->blocks = (uint32_t)bf_explain_get(v, "wqebbs");
	bf_explain_device_name(v->actor, l->device, sizeof(l->device));
	l->pe = bf_explain_pe(l->device);
	bf_explain_push(
	    l, bf_explain_make(
		   v, BF_EXPLAIN_DEVICE, "fetch", "has the entry (%s, %" PRIu32 " bytes) and decodes it%s%s",
		   bf_explain_get_name(v, "source", source, sizeof(source)), v->tail_len,
		   bf_explain_get(v, "verdict") ? ": " : "",
		   bf_explain_get(v, "verdict") ? bf_explain_get_name(v, "verdict", verdict, sizeof(verdict)) : ""));
	describe_wqe(l, v);
}

void bf_explain_on_start(struct bf_explain *l, const struct bf_explain_view *v)
{
	uint32_t npsn;

	if (!bf_explain_is_mine(l, v) || l->stage != BF_EXPLAIN_STAGE_FETCHED)
		return;
	l->stage = BF_EXPLAIN_STAGE_STARTED;
	l->psn = (uint32_t)bf_explain_get(v, "psn");
	l->npsn = npsn = (uint32_t)bf_explain_get(v, "npsn");
	if (npsn == 0)
		bf_explain_push(l,
				bf_explain_make(v, BF_EXPLAIN_DEVICE, "start", "starts it: nothing goes on the wire"));
	else if (npsn == 1)
		bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "start",
						   "local keys are good; starts it as PSN %" PRIu32 " with %" PRIu64
						   " in flight",
						   l->psn, bf_explain_get(v, "in_flight")));
	else
		bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "start",
						   "local keys are good; starts it as PSN %" PRIu32 " to %" PRIu32
						   " with %" PRIu64 " in flight",
						   l->psn, (l->psn + npsn - 1) & BF_EXPLAIN_PSN_MASK,
						   bf_explain_get(v, "in_flight")));
}

/* ---- the end ---- */

void bf_explain_on_done(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (!bf_explain_is_mine(l, v) || l->stage < BF_EXPLAIN_STAGE_FETCHED || l->stage >= BF_EXPLAIN_STAGE_DONE)
		return;
	l->stage = BF_EXPLAIN_STAGE_DONE;
	l->unsignalled = !bf_explain_get(v, "signalled");
	bf_explain_push(
	    l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "done", "retires the entry%s; the next one is entry %" PRIu64,
			       l->unsignalled ? " without a completion of its own" : "", bf_explain_get(v, "next")));
}

static void describe_syndrome(struct bf_explain *l, const struct bf_explain_view *v)
{
	uint8_t syndrome = (uint8_t)bf_explain_get(v, "syndrome"), vendor = (uint8_t)bf_explain_get(v, "vendor");
	const char *meaning = bf_mlx5_vendor_text(syndrome, vendor);

	if (!syndrome)
		return;
	bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "fields",
					     "syndrome 0x%02x (%s), vendor syndrome 0x%02x%s%s", syndrome,
					     bf_mlx5_syndrome_text(syndrome), vendor, *meaning ? ": " : "", meaning));
}

void bf_explain_on_cqe(struct bf_explain *l, const struct bf_explain_view *v)
{
	char opcode[24], verdict[24];
	uint64_t kind = bf_explain_get(v, "opcode");
	bool requester = kind == BF_MLX5_CQE_REQ || kind == BF_MLX5_CQE_REQ_ERR;

	if (l->stage < BF_EXPLAIN_STAGE_STARTED &&
	    !(l->stage == BF_EXPLAIN_STAGE_FETCHED && kind == BF_MLX5_CQE_REQ_ERR))
		return;
	if (l->stage == BF_EXPLAIN_STAGE_ENDED)
		return;
	bf_explain_get_name(v, "opcode", opcode, sizeof(opcode));
	if (bf_explain_is_own(l, v) && requester &&
	    (bf_explain_is_mine(l, v) || (l->stage == BF_EXPLAIN_STAGE_DONE && l->unsignalled))) {
		bf_explain_push(
		    l, bf_explain_make(
			   v, BF_EXPLAIN_DEVICE, "completion",
			   "%s CQE %" PRIu64 " of CQ 0x%" PRIx64 ": %s, wqe_counter %" PRIu64 "%s",
			   bf_explain_get(v, "verdict") ? bf_explain_get_name(v, "verdict", verdict, sizeof(verdict))
							: "writes",
			   bf_explain_get(v, "count"), bf_explain_get(v, "cqn"), opcode, bf_explain_get(v, "index"),
			   bf_explain_is_mine(l, v) ? "" : ", which covers this one too"));
		describe_syndrome(l, v);
		l->own_cqe = bf_explain_is_mine(l, v);
		l->stage = BF_EXPLAIN_STAGE_ENDED;
		l->cqe_known = bf_explain_get(v, "verdict") == 0;
		l->cqe_iova = bf_explain_get(v, "iova");
		l->cqe_bytes = v->tail_len;
	} else if (!requester && l->expects_recv_cqe && bf_explain_is_far(l, v)) {
		l->expects_recv_cqe = false;
		bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_REMOTE, "completion",
						   "writes CQE %" PRIu64 " of CQ 0x%" PRIx64
						   ": %s, receive entry %" PRIu64 ", %" PRIu64 " bytes",
						   bf_explain_get(v, "count"), bf_explain_get(v, "cqn"), opcode,
						   bf_explain_get(v, "index"), bf_explain_get(v, "byte_cnt")));
		describe_syndrome(l, v);
	}
}

void bf_explain_on_capture_cqe(struct bf_explain *l, const struct bf_explain_view *v)
{
	const struct bf_mlx5_cqe *c = (const void *)v->tail;
	uint8_t opcode;

	if (v->tail_len != sizeof(*c))
		return;
	opcode = (uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, c->op_own);
	if (BF_FIELD_GET(BF_MLX5_CQE_QPN, bf_be32(c->sop_drop_qpn)) != l->qpn || bf_be16(c->wqe_counter) != l->index ||
	    (opcode != BF_MLX5_CQE_REQ && opcode != BF_MLX5_CQE_REQ_ERR) || l->in_capture)
		return;
	l->in_capture = true;
	struct bf_explain_step s =
	    bf_explain_make(v, BF_EXPLAIN_CAPTURE, "capture",
			    "has completion %" PRIu64 " of CQ 0x%" PRIx64 ": %s, wqe_counter %u (line %" PRIu64 ")",
			    bf_explain_get(v, "index"), bf_explain_get(v, "cqn"), bf_mlx5_cqe_opcode_name(opcode),
			    bf_be16(c->wqe_counter), bf_explain_get(v, "line"));
	bf_explain_push(l, s);
	if (opcode == BF_MLX5_CQE_REQ_ERR) {
		const struct bf_mlx5_err_cqe *e = (const void *)v->tail;

		bf_explain_detail(l, bf_explain_make(v, BF_EXPLAIN_CAPTURE, "fields",
						     "syndrome 0x%02x (%s), vendor syndrome 0x%02x", e->syndrome,
						     bf_mlx5_syndrome_text(e->syndrome), e->vendor_err_synd));
	}
}

/* ---- what never came ---- */

static void end_waiting(struct bf_explain *l)
{
	if (bf_explain_driver_end(l))
		return;
	if (l->has_record)
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "fetch", "never fetches the entry");
	else if (l->has_producer)
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "doorbell",
				   "never learns of entry %u: the doorbell record said %u when it was last read",
				   l->index, l->producer);
	else
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "doorbell",
				   "never learns of entry %u: nobody rang for QP 0x%" PRIx32, l->index, l->qpn);
}

static void end_of_capture(struct bf_explain *l)
{
	const uint64_t last = l->steps[l->nsteps - 1].time_ps;

	bf_explain_missing(l, BF_EXPLAIN_CAPTURE, "end", "ends at line %" PRIu64 " without a completion of this entry",
			   l->capture_line);
	l->steps[l->nsteps - 1].time_ps = l->capture_ps > last ? l->capture_ps : last;
}

void bf_explain_mlx5_end(struct bf_explain *l)
{
	if (l->nsteps == 0 || bf_explain_never_ran(l))
		return;
	switch (l->stage) {
	case BF_EXPLAIN_STAGE_WAITING:
		end_waiting(l);
		break;
	case BF_EXPLAIN_STAGE_FETCHED:
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "start", "has not started it when the records end");
		break;
	case BF_EXPLAIN_STAGE_STARTED:
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "done", "still waits for %s when the records end",
				   l->npsn ? "an acknowledgement" : "its turn");
		break;
	case BF_EXPLAIN_STAGE_DONE:
		bf_explain_missing(l, BF_EXPLAIN_DEVICE, "completion", "%s when the records end",
				   l->unsignalled ? "has no later completion that covers it"
						  : "has not written its completion");
		break;
	case BF_EXPLAIN_STAGE_ENDED:
	default:
		if (l->own_cqe && !l->in_capture && l->capture_line)
			end_of_capture(l);
		else if (l->reserved && !l->polled)
			bf_explain_missing(l, BF_EXPLAIN_SOFTWARE, "seen",
					   "no poller has taken notice of the completion when the records end");
		break;
	}
}

/* ---- which records ---- */

const struct bf_explain_handler bf_explain_mlx5_handlers[] = {
	{ "capture_qp", bf_explain_on_capture_qp },
	{ "capture_doorbell", bf_explain_on_capture_doorbell },
	{ "capture_wqe", bf_explain_on_capture_wqe },
	{ "ibgda_reserve", bf_explain_on_reserve },
	{ "ibgda_build", bf_explain_on_build },
	{ "ibgda_publish", bf_explain_on_publish },
	{ "ibgda_handoff", bf_explain_on_handoff },
	{ "ibgda_post", bf_explain_on_post },
	{ "ibgda_poll", bf_explain_on_poll },
	{ "ibgda_quiet", bf_explain_on_quiet },
	{ "ibgda_replay", bf_explain_on_driver_replay },
	{ "mmio_store", bf_explain_on_mmio_store },
	{ "store_visible", bf_explain_on_store_visible },
	{ "qp_config", bf_explain_on_qp_config },
	{ "doorbell", bf_explain_on_doorbell },
	{ "dbrec", bf_explain_on_dbrec },
	{ "dc_wqe", bf_explain_on_dc_wqe },
	{ "wqe_fetch", bf_explain_on_fetch },
	{ "wqe_start", bf_explain_on_start },
	{ "dc_connection", bf_explain_on_dc_connection },
	{ "dc_context", bf_explain_on_dc_context },
	{ "dc_cnak", bf_explain_on_dc_cnak },
	{ "packet", bf_explain_on_packet },
	{ "retransmit", bf_explain_on_retransmit },
	{ "mkey_error", bf_explain_on_mkey_error },
	{ "qp_error", bf_explain_on_qp_error },
	{ "qp_state", bf_explain_on_qp_state },
	{ "cm_message", bf_explain_on_cm_message },
	{ "recv_wqe_fetch", bf_explain_on_recv_fetch },
	{ "request_done", bf_explain_on_request_done },
	{ "nak_sent", bf_explain_on_nak_sent },
	{ "wqe_done", bf_explain_on_done },
	{ "cqe", bf_explain_on_cqe },
	{ "dma_write", bf_explain_on_dma_write },
	{ "load", bf_explain_on_load },
	{ "capture_cqe", bf_explain_on_capture_cqe },
	{ NULL, NULL },
};
