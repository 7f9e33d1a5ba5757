/*
 * Following one entry through a record stream. What happens before the device has fetched the entry is kept aside until
 * a doorbell record covers it; from then on the queue pair, the counter and the packet sequence numbers tell which
 * records are its own.
 */
#include "traces/life.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/roce.h"
#include "models/mlx5/wqe.h"
#include "sim/bytes.h"

#define MAX_STEPS 4096u
#define MAX_SGE_LINES 4u
#define MAX_TYPES 1024u
#define PSN_MASK 0xffffffu

enum stage { STAGE_WAITING, STAGE_FETCHED, STAGE_STARTED, STAGE_DONE, STAGE_ENDED };

/* A record, from whichever source. */
struct view {
	uint64_t time_ps;
	const char *actor;
	const struct bf_rec_schema *type;
	const uint8_t *fixed, *tail;
	uint32_t tail_len;
};

struct packet_seen {
	uint64_t id;
	bool request;
	char text[128];
};

struct bf_life {
	struct bf_sink sink; /* first: the sink's functions get this pointer */
	uint32_t qpn, remote_qpn;
	uint16_t index;
	bool has_remote;
	enum stage stage;
	struct bf_life_step *steps;
	size_t nsteps, cap;
	/* Steps before the fetch that may turn out to be this entry's. */
	struct bf_life_step posted, rang;
	bool has_posted, has_rang, has_record;
	char device[16];
	uint32_t psn, npsn;
	uint8_t opcode;
	bool arrived, answered, unsignalled;
	bool expects_recv_cqe;
	struct packet_seen *packets; /* sent, not yet arrived */
	size_t npackets, packets_cap;
	const struct bf_rec_schema *types[MAX_TYPES];
	char (*actors)[48];
	size_t nactors;
	int status;
};

/* ---- steps ---- */

static struct bf_life_step make(const struct view *v, enum bf_life_place place, const char *what, const char *fmt, ...)
    BF_PRINTF(4, 5);

static struct bf_life_step make(const struct view *v, enum bf_life_place place, const char *what, const char *fmt, ...)
{
	struct bf_life_step s = { .time_ps = v->time_ps, .place = place, .what = what };
	const char *dot = strchr(v->actor, '.');
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s.text, sizeof(s.text), fmt, ap);
	va_end(ap);
	if (place != BF_LIFE_SOFTWARE && place != BF_LIFE_CAPTURE)
		snprintf(s.device, sizeof(s.device), "%.*s", (int)(dot ? dot - v->actor : (int)strlen(v->actor)),
			 v->actor);
	return s;
}

static void push(struct bf_life *l, struct bf_life_step s)
{
	if (l->nsteps == MAX_STEPS)
		return;
	if (l->nsteps == l->cap) {
		size_t cap = l->cap ? l->cap * 2 : 32;
		struct bf_life_step *steps = realloc(l->steps, cap * sizeof(*steps));

		if (!steps) {
			l->status = -ENOMEM;
			return;
		}
		l->steps = steps;
		l->cap = cap;
	}
	if (s.place == BF_LIFE_REMOTE)
		s.far = true;
	if (strcmp(s.device, l->device) != 0)
		s.far = false; /* another device: its name says so */
	l->steps[l->nsteps++] = s;
}

static void detail(struct bf_life *l, struct bf_life_step s)
{
	s.detail = true;
	push(l, s);
}

static uint64_t get(const struct view *v, const char *name)
{
	const struct bf_rec_field *f = bf_schema_field(v->type, name);

	return f ? bf_field_u64(f, v->fixed) : 0;
}

/* The name of an ENUM field's value, or its number. */
static const char *get_name(const struct view *v, const char *name, char *buf, size_t cap)
{
	const struct bf_rec_field *f = bf_schema_field(v->type, name);
	size_t len = 0;
	const char *text = f ? bf_field_enum_name(f, bf_field_u64(f, v->fixed), &len) : NULL;

	if (text)
		snprintf(buf, cap, "%.*s", (int)len, text);
	else
		snprintf(buf, cap, "%" PRIu64, get(v, name));
	return buf;
}

static const char *get_text(const struct view *v, const char *name, char *buf, size_t cap)
{
	const struct bf_rec_field *f = bf_schema_field(v->type, name);

	buf[0] = '\0';
	if (f && f->kind == BF_FIELD_TEXT)
		snprintf(buf, cap, "%.*s", (int)f->size, (const char *)v->fixed + f->offset);
	return buf;
}

static bool is_mine(const struct bf_life *l, const struct view *v)
{
	return get(v, "qpn") == l->qpn && (uint16_t)get(v, "index") == l->index;
}

static bool psn_is_mine(const struct bf_life *l, uint32_t psn)
{
	uint32_t n = l->npsn ? l->npsn : 1;

	return l->stage >= STAGE_STARTED && ((psn - l->psn) & PSN_MASK) < n;
}

/* ---- software ---- */

static void on_capture_qp(struct bf_life *l, const struct view *v)
{
	uint32_t qpn = (uint32_t)get(v, "qpn"), dest = (uint32_t)get(v, "dest_qpn");

	if (qpn == l->qpn || dest == l->qpn) {
		l->remote_qpn = qpn == l->qpn ? dest : qpn;
		l->has_remote = true;
	}
}

static void on_capture_doorbell(struct bf_life *l, const struct view *v)
{
	if (get(v, "qpn") != l->qpn || l->stage != STAGE_WAITING)
		return;
	l->posted =
	    make(v, BF_LIFE_SOFTWARE, "post", "sets the doorbell record to %" PRIu64 " and rings (line %" PRIu64 ")",
		 get(v, "dbrec"), get(v, "line"));
	l->has_posted = true;
}

static void on_capture_wqe(struct bf_life *l, const struct view *v)
{
	if (!is_mine(l, v) || l->stage != STAGE_WAITING || !l->has_posted)
		return;
	push(l,
	     make(v, BF_LIFE_SOFTWARE, "write", "writes entry %u into the ring: %" PRIu32 " bytes (line %" PRIu64 ")",
		  l->index, v->tail_len, get(v, "line")));
	push(l, l->posted);
	l->has_posted = false;
}

/* ---- doorbell and fetch ---- */

static void on_doorbell(struct bf_life *l, const struct view *v)
{
	char verdict[32];

	if (get(v, "qpn") != l->qpn || l->stage != STAGE_WAITING)
		return;
	l->rang = make(v, BF_LIFE_DEVICE, "doorbell",
		       "the doorbell arrives: QP 0x%" PRIx32 ", index %" PRIu64 " (%" PRIu64 " bytes at 0x%" PRIx64
		       " of UAR page %" PRIu64 ")%s%s",
		       l->qpn, get(v, "index"), get(v, "len"), get(v, "offset"), get(v, "uar"),
		       get(v, "verdict") ? ", refused: " : "",
		       get(v, "verdict") ? get_name(v, "verdict", verdict, sizeof(verdict)) : "");
	l->has_rang = true;
}

static void on_dbrec(struct bf_life *l, const struct view *v)
{
	uint16_t before = (uint16_t)get(v, "before"), producer = (uint16_t)get(v, "producer");

	if (get(v, "qpn") != l->qpn || l->stage != STAGE_WAITING || l->has_record)
		return;
	if ((uint16_t)(l->index - before) >= (uint16_t)(producer - before))
		return;
	if (l->has_rang)
		push(l, l->rang);
	push(l, make(v, BF_LIFE_DEVICE, "record", "reads the doorbell record: producer %u, was %u: %u new block%s",
		     producer, before, (uint16_t)(producer - before), (uint16_t)(producer - before) == 1 ? "" : "s"));
	l->has_record = true;
}

static void describe_completion(struct bf_life *l, const struct view *v, const struct bf_mlx5_wqe *w)
{
	static const char *const when[] = { "only on error", "on the first error", "always", "always, with an event" };

	detail(l, make(v, BF_LIFE_DEVICE, "fields", "completion %s%s%s%s", when[w->ce & 3],
		       w->fm == BF_MLX5_FM_NONE ? "" : ", fenced: waits for earlier READs and atomics",
		       w->solicited ? ", solicited" : "", w->signature ? ", signed" : ""));
}

static void describe_data(struct bf_life *l, const struct view *v, const struct bf_mlx5_wqe *w)
{
	if (w->has_inline)
		detail(l,
		       make(v, BF_LIFE_DEVICE, "fields", "%" PRIu32 " bytes inline, at byte %" PRIu32 " of the entry",
			    w->inline_len, w->inline_offset));
	for (uint32_t i = 0; i < w->nsge && i < MAX_SGE_LINES; i++)
		detail(l, make(v, BF_LIFE_DEVICE, "fields",
			       "segment %" PRIu32 ": %" PRIu32 " bytes at 0x%" PRIx64 ", lkey 0x%" PRIx32, i,
			       w->sge[i].len, w->sge[i].va, w->sge[i].lkey));
	if (w->nsge > MAX_SGE_LINES)
		detail(l, make(v, BF_LIFE_DEVICE, "fields", "and %" PRIu32 " segments more", w->nsge - MAX_SGE_LINES));
}

static void describe_wqe(struct bf_life *l, const struct view *v)
{
	struct bf_mlx5_wqe w;
	struct bf_error err = { 0 };

	if (bf_mlx5_wqe_decode(v->tail, v->tail_len, &w, &err)) {
		detail(l, make(v, BF_LIFE_DEVICE, "fields", "malformed: %.120s", err.text));
		return;
	}
	l->opcode = w.opcode;
	detail(l, make(v, BF_LIFE_DEVICE, "fields",
		       "%s, entry %u, %u segments of 16 bytes in %u block%s, %" PRIu32 " bytes of data",
		       bf_mlx5_opcode_name(w.opcode), w.index, w.ds, w.wqebbs, w.wqebbs == 1 ? "" : "s", w.length));
	if (w.rkey || w.raddr)
		detail(l, make(v, BF_LIFE_DEVICE, "fields", "remote address 0x%" PRIx64 ", rkey 0x%" PRIx32, w.raddr,
			       w.rkey));
	if (w.atomic_size)
		detail(l, make(v, BF_LIFE_DEVICE, "fields", "%u-byte atomic: operand 0x%" PRIx64 ", compare 0x%" PRIx64,
			       w.atomic_size, w.swap_add, w.compare));
	describe_data(l, v, &w);
	describe_completion(l, v, &w);
}

static void on_fetch(struct bf_life *l, const struct view *v)
{
	char verdict[32], source[16];
	const char *dot = strchr(v->actor, '.');

	if (!is_mine(l, v) || l->stage != STAGE_WAITING)
		return;
	l->stage = STAGE_FETCHED;
	snprintf(l->device, sizeof(l->device), "%.*s", (int)(dot ? dot - v->actor : 0), v->actor);
	push(l, make(v, BF_LIFE_DEVICE, "fetch", "has the entry (%s, %" PRIu32 " bytes) and decodes it%s%s",
		     get_name(v, "source", source, sizeof(source)), v->tail_len, get(v, "verdict") ? ": " : "",
		     get(v, "verdict") ? get_name(v, "verdict", verdict, sizeof(verdict)) : ""));
	describe_wqe(l, v);
}

static void on_start(struct bf_life *l, const struct view *v)
{
	uint32_t npsn;

	if (!is_mine(l, v) || l->stage != STAGE_FETCHED)
		return;
	l->stage = STAGE_STARTED;
	l->psn = (uint32_t)get(v, "psn");
	l->npsn = npsn = (uint32_t)get(v, "npsn");
	if (npsn == 0)
		push(l, make(v, BF_LIFE_DEVICE, "start", "starts it: nothing goes on the wire"));
	else if (npsn == 1)
		push(l, make(v, BF_LIFE_DEVICE, "start",
			     "local keys are good; starts it as PSN %" PRIu32 " with %" PRIu64 " in flight", l->psn,
			     get(v, "in_flight")));
	else
		push(l,
		     make(v, BF_LIFE_DEVICE, "start",
			  "local keys are good; starts it as PSN %" PRIu32 " to %" PRIu32 " with %" PRIu64 " in flight",
			  l->psn, (l->psn + npsn - 1) & PSN_MASK, get(v, "in_flight")));
}

/* ---- the wire ---- */

static bool from_device(const struct bf_life *l, const char *actor)
{
	size_t n = strlen(l->device);

	return strncmp(actor, l->device, n) == 0 && (actor[n] == '.' || actor[n] == '\0');
}

static bool is_request(uint8_t opcode)
{
	return !(opcode >= BF_RC_READ_RESP_FIRST && opcode <= BF_RC_ATOMIC_ACK);
}

static void expect_arrival(struct bf_life *l, uint64_t id, bool request, const char *text)
{
	struct packet_seen *p;

	if (l->npackets == l->packets_cap) {
		size_t cap = l->packets_cap ? l->packets_cap * 2 : 16;

		p = realloc(l->packets, cap * sizeof(*p));
		if (!p) {
			l->status = -ENOMEM;
			return;
		}
		l->packets = p;
		l->packets_cap = cap;
	}
	p = &l->packets[l->npackets++];
	*p = (struct packet_seen){ .id = id, .request = request };
	snprintf(p->text, sizeof(p->text), "%s", text);
}

static void describe_answer(const struct bf_roce *p, char *buf, size_t cap)
{
	uint32_t info = bf_roce_opcode_info(p->opcode);

	if (!(info & BF_ROCE_HAS_AETH))
		snprintf(buf, cap, "%s", bf_roce_opcode_name(p->opcode));
	else if (p->aeth_syndrome >> 5 == BF_AETH_RNR >> 5)
		snprintf(buf, cap, "RNR NAK (timer %u)", p->aeth_syndrome & 0x1f);
	else if (p->aeth_syndrome >> 5 == BF_AETH_NAK_SEQ >> 5)
		snprintf(buf, cap, "NAK %s",
			 p->aeth_syndrome == BF_AETH_NAK_SEQ       ? "(sequence error)"
			 : p->aeth_syndrome == BF_AETH_NAK_INV_REQ ? "(invalid request)"
			 : p->aeth_syndrome == BF_AETH_NAK_ACCESS  ? "(remote access error)"
								   : "(remote operational error)");
	else
		snprintf(buf, cap, "%s", bf_roce_opcode_name(p->opcode));
}

/* An acknowledgement speaks for every earlier PSN as well. */
static bool answers_me(const struct bf_life *l, const struct bf_roce *p)
{
	uint32_t last = (l->psn + (l->npsn ? l->npsn - 1 : 0)) & PSN_MASK;

	if (p->dest_qp != l->qpn || is_request(p->opcode))
		return false;
	if (psn_is_mine(l, p->psn))
		return true;
	return ((p->psn - last) & PSN_MASK) < PSN_MASK / 2 && !l->answered;
}

static void push_packet(struct bf_life *l, const struct view *v, bool far, const char *verb, const char *text,
			const char *more)
{
	struct bf_life_step s =
	    make(v, BF_LIFE_WIRE, "packet", "%s packet %" PRIu64 ": %s%s", verb, get(v, "packet"), text, more);

	s.far = far;
	push(l, s);
}

static void on_sent(struct bf_life *l, const struct view *v, const struct bf_roce *p)
{
	char text[128], verdict[24], answer[48], more[64];
	bool mine = is_request(p->opcode) && psn_is_mine(l, p->psn) && from_device(l, v->actor) &&
		    (!l->has_remote || p->dest_qp == l->remote_qpn);

	if (mine) {
		l->remote_qpn = p->dest_qp;
		l->has_remote = true;
		snprintf(text, sizeof(text), "%s PSN %" PRIu32 " to QP 0x%" PRIx32, bf_roce_opcode_name(p->opcode),
			 p->psn, p->dest_qp);
	} else if (answers_me(l, p)) {
		l->answered = true;
		describe_answer(p, answer, sizeof(answer));
		snprintf(text, sizeof(text), "%s PSN %" PRIu32 " to QP 0x%" PRIx32 "%s", answer, p->psn, p->dest_qp,
			 psn_is_mine(l, p->psn) ? "" : ", which covers this entry");
	} else {
		return;
	}
	snprintf(more, sizeof(more), ", %" PRIu32 " bytes%s%s", v->tail_len, get(v, "verdict") ? ": " : "",
		 get(v, "verdict") ? get_name(v, "verdict", verdict, sizeof(verdict)) : "");
	push_packet(l, v, !mine, "sends", text, more);
	expect_arrival(l, get(v, "packet"), mine, text);
}

static void on_arrived(struct bf_life *l, const struct view *v, struct packet_seen *p)
{
	char verdict[24];

	if (get(v, "verdict") == 0) {
		push_packet(l, v, p->request, "gets", p->text, "");
		l->arrived = l->arrived || p->request;
	} else {
		push_packet(l, v, p->request, get_name(v, "verdict", verdict, sizeof(verdict)), p->text, "");
	}
	*p = l->packets[--l->npackets];
}

static void on_packet(struct bf_life *l, const struct view *v)
{
	uint64_t id = get(v, "packet");
	struct bf_roce p;

	if (l->stage < STAGE_STARTED || l->stage == STAGE_ENDED)
		return;
	if (get(v, "dir") == 0) {
		if (bf_roce_parse(v->tail, v->tail_len, false, &p, NULL) == 0)
			on_sent(l, v, &p);
		return;
	}
	for (size_t i = 0; i < l->npackets; i++) {
		if (l->packets[i].id == id) {
			on_arrived(l, v, &l->packets[i]);
			return;
		}
	}
}

static void on_retransmit(struct bf_life *l, const struct view *v)
{
	char cause[24];

	if (get(v, "qpn") != l->qpn || l->stage < STAGE_STARTED || l->stage >= STAGE_DONE)
		return;
	l->answered = false;
	push(l, make(v, BF_LIFE_DEVICE, "retry", "goes back to PSN %" PRIu64 " (%s), %" PRIu64 " retries left",
		     get(v, "psn"), get_name(v, "cause", cause, sizeof(cause)), get(v, "left")));
}

/* ---- checks, on either side ---- */

static enum bf_life_place place_of(const struct bf_life *l, uint64_t qpn)
{
	return qpn == l->qpn ? BF_LIFE_DEVICE : BF_LIFE_REMOTE;
}

/* Records of the other side that carry no PSN belong to the message under way there. */
static bool concerns_me(const struct bf_life *l, const struct view *v)
{
	uint64_t qpn = get(v, "qpn");

	if (l->stage == STAGE_ENDED || l->stage == STAGE_WAITING)
		return false;
	if (qpn == l->qpn && !(l->has_remote && l->remote_qpn == l->qpn))
		return is_mine(l, v);
	return l->stage == STAGE_STARTED && l->has_remote && qpn == l->remote_qpn && l->arrived && !l->answered;
}

static void on_mkey_error(struct bf_life *l, const struct view *v)
{
	char access[24], why[24];

	if (!concerns_me(l, v))
		return;
	push(l, make(v, place_of(l, get(v, "qpn")), "key",
		     "checks key 0x%" PRIx64 " for %s of %" PRIu64 " bytes at 0x%" PRIx64 ": %s", get(v, "key"),
		     get_name(v, "access", access, sizeof(access)), get(v, "length"), get(v, "va"),
		     get_name(v, "why", why, sizeof(why))));
}

static void on_qp_error(struct bf_life *l, const struct view *v)
{
	char why[40];
	uint64_t qpn = get(v, "qpn");

	if (!concerns_me(l, v))
		return;
	push(l, make(v, place_of(l, qpn), "error", "QP 0x%" PRIx64 " fails: %s", qpn,
		     get_text(v, "why", why, sizeof(why))));
}

static void on_qp_state(struct bf_life *l, const struct view *v)
{
	char from[8], to[8];
	uint64_t qpn = get(v, "qpn");

	/* A failing requester changes state right behind the completion that says so. */
	bool own_end = l->stage == STAGE_ENDED && qpn == l->qpn && l->steps[l->nsteps - 1].time_ps == v->time_ps;

	if (!own_end &&
	    (l->stage < STAGE_FETCHED || l->stage == STAGE_ENDED || (qpn != l->qpn && qpn != l->remote_qpn)))
		return;
	push(l, make(v, place_of(l, qpn), "state", "QP 0x%" PRIx64 " goes from %s to %s", qpn,
		     get_name(v, "from", from, sizeof(from)), get_name(v, "to", to, sizeof(to))));
}

static bool remote_psn(const struct bf_life *l, const struct view *v)
{
	return l->stage >= STAGE_STARTED && l->stage != STAGE_ENDED && l->has_remote &&
	       get(v, "qpn") == l->remote_qpn && psn_is_mine(l, (uint32_t)get(v, "psn"));
}

static void on_recv_fetch(struct bf_life *l, const struct view *v)
{
	uint64_t n = get(v, "nsge");

	if (!remote_psn(l, v))
		return;
	push(l, make(v, BF_LIFE_REMOTE, "receive",
		     "takes receive entry %" PRIu64 ": room for %" PRIu64 " bytes in %" PRIu64 " segment%s",
		     get(v, "index"), get(v, "room"), n, n == 1 ? "" : "s"));
	l->expects_recv_cqe = true;
}

static void on_request_done(struct bf_life *l, const struct view *v)
{
	uint8_t opcode = (uint8_t)get(v, "opcode");

	if (!remote_psn(l, v))
		return;
	if (opcode >= BF_RC_WRITE_FIRST && opcode <= BF_RC_READ_REQUEST && get(v, "rkey"))
		push(l, make(v, BF_LIFE_REMOTE, "execute",
			     "%s done: rkey 0x%" PRIx64 " is good, %" PRIu64 " bytes at 0x%" PRIx64,
			     bf_roce_opcode_name(opcode), get(v, "rkey"), get(v, "length"), get(v, "va")));
	else
		push(l, make(v, BF_LIFE_REMOTE, "execute", "%s done: %" PRIu64 " bytes", bf_roce_opcode_name(opcode),
			     get(v, "length")));
	l->expects_recv_cqe = true;
}

static void on_nak_sent(struct bf_life *l, const struct view *v)
{
	if (remote_psn(l, v))
		push(l, make(v, BF_LIFE_REMOTE, "nak", "refuses PSN %" PRIu64 " with AETH syndrome 0x%" PRIx64,
			     get(v, "psn"), get(v, "syndrome")));
}

/* ---- the end ---- */

static void on_done(struct bf_life *l, const struct view *v)
{
	if (!is_mine(l, v) || l->stage < STAGE_FETCHED || l->stage >= STAGE_DONE)
		return;
	l->stage = STAGE_DONE;
	l->unsignalled = !get(v, "signalled");
	push(l, make(v, BF_LIFE_DEVICE, "done", "retires the entry%s; the next one is entry %" PRIu64,
		     l->unsignalled ? " without a completion of its own" : "", get(v, "next")));
}

static void describe_syndrome(struct bf_life *l, const struct view *v)
{
	uint8_t syndrome = (uint8_t)get(v, "syndrome"), vendor = (uint8_t)get(v, "vendor");
	const char *meaning = bf_mlx5_vendor_text(syndrome, vendor);

	if (!syndrome)
		return;
	detail(l, make(v, BF_LIFE_DEVICE, "fields", "syndrome 0x%02x (%s), vendor syndrome 0x%02x%s%s", syndrome,
		       bf_mlx5_syndrome_text(syndrome), vendor, *meaning ? ": " : "", meaning));
}

static void on_cqe(struct bf_life *l, const struct view *v)
{
	char opcode[24], verdict[24];
	uint64_t qpn = get(v, "qpn"), kind = get(v, "opcode");
	bool requester = kind == BF_MLX5_CQE_REQ || kind == BF_MLX5_CQE_REQ_ERR;

	if (l->stage < STAGE_STARTED && !(l->stage == STAGE_FETCHED && kind == BF_MLX5_CQE_REQ_ERR))
		return;
	if (l->stage == STAGE_ENDED)
		return;
	get_name(v, "opcode", opcode, sizeof(opcode));
	if (qpn == l->qpn && requester && (is_mine(l, v) || (l->stage == STAGE_DONE && l->unsignalled))) {
		push(l, make(v, BF_LIFE_DEVICE, "completion",
			     "%s CQE %" PRIu64 " of CQ 0x%" PRIx64 ": %s, wqe_counter %" PRIu64 "%s",
			     get(v, "verdict") ? get_name(v, "verdict", verdict, sizeof(verdict)) : "writes",
			     get(v, "count"), get(v, "cqn"), opcode, get(v, "index"),
			     is_mine(l, v) ? "" : ", which covers this one too"));
		describe_syndrome(l, v);
		l->stage = STAGE_ENDED;
	} else if (l->has_remote && qpn == l->remote_qpn && !requester && l->expects_recv_cqe) {
		l->expects_recv_cqe = false;
		push(l, make(v, BF_LIFE_REMOTE, "completion",
			     "writes CQE %" PRIu64 " of CQ 0x%" PRIx64 ": %s, receive entry %" PRIu64 ", %" PRIu64
			     " bytes",
			     get(v, "count"), get(v, "cqn"), opcode, get(v, "index"), get(v, "byte_cnt")));
		describe_syndrome(l, v);
	}
}

static void on_capture_cqe(struct bf_life *l, const struct view *v)
{
	const struct bf_mlx5_cqe *c = (const void *)v->tail;
	uint8_t opcode;

	if (l->stage != STAGE_ENDED || v->tail_len != sizeof(*c) || l->steps[l->nsteps - 1].place == BF_LIFE_CAPTURE)
		return;
	opcode = (uint8_t)BF_FIELD_GET(BF_MLX5_CQE_OPCODE, c->op_own);
	if (BF_FIELD_GET(BF_MLX5_CQE_QPN, bf_be32(c->sop_drop_qpn)) != l->qpn || bf_be16(c->wqe_counter) != l->index ||
	    (opcode != BF_MLX5_CQE_REQ && opcode != BF_MLX5_CQE_REQ_ERR))
		return;
	struct bf_life_step s = make(
	    v, BF_LIFE_CAPTURE, "capture",
	    "has completion %" PRIu64 " of CQ 0x%" PRIx64 ": %s, wqe_counter %u (line %" PRIu64 ")", get(v, "index"),
	    get(v, "cqn"), bf_mlx5_cqe_opcode_name(opcode), bf_be16(c->wqe_counter), get(v, "line"));
	push(l, s);
	if (opcode == BF_MLX5_CQE_REQ_ERR) {
		const struct bf_mlx5_err_cqe *e = (const void *)v->tail;

		detail(l, make(v, BF_LIFE_CAPTURE, "fields", "syndrome 0x%02x (%s), vendor syndrome 0x%02x",
			       e->syndrome, bf_mlx5_syndrome_text(e->syndrome), e->vendor_err_synd));
	}
}

/* ---- records in ---- */

static void feed(struct bf_life *l, const struct view *v)
{
	static const struct {
		const char *type;
		void (*on)(struct bf_life *l, const struct view *v);
	} handlers[] = {
		{ "capture_qp", on_capture_qp },
		{ "capture_doorbell", on_capture_doorbell },
		{ "capture_wqe", on_capture_wqe },
		{ "doorbell", on_doorbell },
		{ "dbrec", on_dbrec },
		{ "wqe_fetch", on_fetch },
		{ "wqe_start", on_start },
		{ "packet", on_packet },
		{ "retransmit", on_retransmit },
		{ "mkey_error", on_mkey_error },
		{ "qp_error", on_qp_error },
		{ "qp_state", on_qp_state },
		{ "recv_wqe_fetch", on_recv_fetch },
		{ "request_done", on_request_done },
		{ "nak_sent", on_nak_sent },
		{ "wqe_done", on_done },
		{ "cqe", on_cqe },
		{ "capture_cqe", on_capture_cqe },
	};

	for (size_t i = 0; i < BF_ARRAY_LEN(handlers); i++) {
		if (strcmp(v->type->name, handlers[i].type) == 0) {
			handlers[i].on(l, v);
			return;
		}
	}
}

static int declare_type(struct bf_sink *s, const struct bf_rec_schema *schema)
{
	struct bf_life *l = (struct bf_life *)s;

	if (schema->id < MAX_TYPES)
		l->types[schema->id] = schema;
	return 0;
}

static int declare_actor(struct bf_sink *s, uint32_t actor, const char *kind, const char *name)
{
	struct bf_life *l = (struct bf_life *)s;

	(void)kind;
	if (actor >= l->nactors) {
		size_t n = (size_t)actor + 16;
		char(*actors)[48] = realloc(l->actors, n * sizeof(*actors));

		if (!actors)
			return -ENOMEM;
		memset(actors + l->nactors, 0, (n - l->nactors) * sizeof(*actors));
		l->actors = actors;
		l->nactors = n;
	}
	snprintf(l->actors[actor], sizeof(*l->actors), "%s", name);
	return 0;
}

static int write_records(struct bf_sink *s, const void *records, size_t len)
{
	struct bf_life *l = (struct bf_life *)s;
	const uint8_t *p = records, *end = p + len;

	while (p < end) {
		const struct bf_rec_header *head = (const void *)p;
		const struct bf_rec_schema *type = head->type < MAX_TYPES ? l->types[head->type] : NULL;

		if (type) {
			struct view v = {
				.time_ps = head->time_ps,
				.actor = head->actor < l->nactors ? l->actors[head->actor] : "-",
				.type = type,
				.fixed = p + sizeof(*head),
				.tail = p + sizeof(*head) + head->fixed,
				.tail_len = head->tail,
			};

			feed(l, &v);
		}
		p += bf_record_span(head);
	}
	return l->status;
}

int bf_life_read(struct bf_life *l, struct bf_trace *t)
{
	struct bf_trace_record rec;
	int rc, first = 0;

	while ((rc = bf_trace_next(t, &rec)) != 0) {
		if (rc < 0) {
			first = first ? first : rc;
			continue;
		}
		struct view v = {
			.time_ps = rec.time_ps,
			.actor = bf_trace_actor_name(t, rec.actor),
			.type = rec.type,
			.fixed = rec.fixed,
			.tail = rec.tail,
			.tail_len = rec.tail_len,
		};

		feed(l, &v);
	}
	return l->status ? l->status : first;
}

int bf_life_create(uint32_t qpn, uint16_t index, struct bf_life **out)
{
	struct bf_life *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->sink =
	    (struct bf_sink){ .declare_type = declare_type, .declare_actor = declare_actor, .write = write_records };
	l->qpn = qpn;
	l->index = index;
	*out = l;
	return 0;
}

void bf_life_free(struct bf_life *l)
{
	if (!l)
		return;
	free(l->steps);
	free(l->packets);
	free(l->actors);
	free(l);
}

struct bf_sink *bf_life_sink(struct bf_life *l)
{
	return &l->sink;
}

const struct bf_life_step *bf_life_steps(const struct bf_life *l, size_t *count)
{
	*count = l->nsteps;
	return l->steps;
}
