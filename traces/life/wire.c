/* The entry's packets, and what the other end made of them. */
#include <errno.h>

#include "models/fabric/roce.h"
#include "models/rdmacm/mad.h"
#include "sim/grow.h"
#include "traces/life/explain_internal.h"

static bool is_request(uint8_t opcode)
{
	return !(opcode >= BF_RC_READ_RESP_FIRST && opcode <= BF_RC_ATOMIC_ACK);
}

static void expect_arrival(struct bf_explain *l, uint64_t id, bool request, const char *text)
{
	struct bf_explain_packet *p;

	if (BF_GROW(l->packets, l->packets_cap, l->npackets + 1)) {
		l->status = -ENOMEM;
		return;
	}
	p = &l->packets[l->npackets++];
	*p = (struct bf_explain_packet){ .id = id, .request = request };
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
static bool answers_me(const struct bf_explain *l, const struct bf_roce *p, const char *actor)
{
	uint32_t last = (l->psn + (l->npsn ? l->npsn - 1 : 0)) & BF_EXPLAIN_PSN_MASK;

	if (p->dest_qp != l->qpn || is_request(p->opcode) || !l->arrived || !bf_explain_from_far(l, actor))
		return false;
	if (bf_explain_psn_is_mine(l, p->psn))
		return true;
	return ((p->psn - last) & BF_EXPLAIN_PSN_MASK) < BF_EXPLAIN_PSN_MASK / 2 && !l->answered;
}

static void push_packet(struct bf_explain *l, const struct bf_explain_view *v, bool far, const char *verb,
			const char *text, const char *more)
{
	uint64_t id = bf_explain_get(v, "packet");
	struct bf_explain_step s;
	char sender[16];

	/* An id is the sender's address and its count of packets; in older traces a count alone. */
	snprintf(sender, sizeof(sender), "%u.%u.%u.%u", (unsigned int)(id >> 56), (unsigned int)(id >> 48 & 0xff),
		 (unsigned int)(id >> 40 & 0xff), (unsigned int)(id >> 32 & 0xff));
	s = bf_explain_make(v, BF_EXPLAIN_WIRE, "packet", "%s packet %s%s%" PRIu32 ": %s%s", verb,
			    id >> 32 ? sender : "", id >> 32 ? "#" : "", (uint32_t)id, text, more);
	s.far = far;
	bf_explain_push(l, s);
}

static void bf_explain_on_sent(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_roce *p)
{
	char text[128], verdict[24], answer[48], more[64];
	bool mine = is_request(p->opcode) && bf_explain_psn_is_mine(l, p->psn) && bf_explain_from_device(l, v->actor) &&
		    (!l->has_remote || p->dest_qp == l->remote_qpn);

	if (mine) {
		l->remote_qpn = p->dest_qp;
		l->has_remote = true;
		snprintf(text, sizeof(text), "%s PSN %" PRIu32 " to QP 0x%" PRIx32, bf_roce_opcode_name(p->opcode),
			 p->psn, p->dest_qp);
	} else if (answers_me(l, p, v->actor)) {
		l->answered = true;
		describe_answer(p, answer, sizeof(answer));
		snprintf(text, sizeof(text), "%s PSN %" PRIu32 " to QP 0x%" PRIx32 "%s", answer, p->psn, p->dest_qp,
			 bf_explain_psn_is_mine(l, p->psn) ? "" : ", which covers this entry");
	} else {
		return;
	}
	snprintf(more, sizeof(more), ", %" PRIu32 " bytes%s%s", v->tail_len, bf_explain_get(v, "verdict") ? ": " : "",
		 bf_explain_get(v, "verdict") ? bf_explain_get_name(v, "verdict", verdict, sizeof(verdict)) : "");
	push_packet(l, v, !mine, "sends", text, more);
	expect_arrival(l, bf_explain_get(v, "packet"), mine, text);
}

static void bf_explain_on_arrived(struct bf_explain *l, const struct bf_explain_view *v, struct bf_explain_packet *p)
{
	char verdict[24];

	if (bf_explain_get(v, "verdict") == 0) {
		push_packet(l, v, p->request, "gets", p->text, "");
		if (p->request && !l->arrived) {
			l->arrived = true;
			bf_explain_device_name(v->actor, l->far_device, sizeof(l->far_device));
		}
	} else {
		push_packet(l, v, p->request, bf_explain_get_name(v, "verdict", verdict, sizeof(verdict)), p->text, "");
	}
	*p = l->packets[--l->npackets];
}

void bf_explain_on_packet(struct bf_explain *l, const struct bf_explain_view *v)
{
	uint64_t id = bf_explain_get(v, "packet");
	struct bf_roce p;

	if (l->stage < BF_EXPLAIN_STAGE_STARTED || l->stage == BF_EXPLAIN_STAGE_ENDED)
		return;
	if (bf_explain_get(v, "dir") == 0) {
		if (bf_roce_parse(v->tail, v->tail_len, false, &p, NULL) == 0)
			bf_explain_on_sent(l, v, &p);
		return;
	}
	for (size_t i = 0; i < l->npackets; i++) {
		if (l->packets[i].id == id) {
			bf_explain_on_arrived(l, v, &l->packets[i]);
			return;
		}
	}
}

void bf_explain_on_retransmit(struct bf_explain *l, const struct bf_explain_view *v)
{
	char cause[24];

	if (!bf_explain_is_own(l, v) || l->stage < BF_EXPLAIN_STAGE_STARTED || l->stage >= BF_EXPLAIN_STAGE_DONE)
		return;
	l->answered = false;
	bf_explain_push(
	    l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "retry",
			       "goes back to PSN %" PRIu64 " (%s), %" PRIu64 " retries left", bf_explain_get(v, "psn"),
			       bf_explain_get_name(v, "cause", cause, sizeof(cause)), bf_explain_get(v, "left")));
}

/* ---- checks, on either side ---- */

static enum bf_explain_place place_of(const struct bf_explain *l, const struct bf_explain_view *v)
{
	return bf_explain_is_own(l, v) ? BF_EXPLAIN_DEVICE : BF_EXPLAIN_REMOTE;
}

/* Records of the other side that carry no PSN belong to the message under way there. */
static bool concerns_me(const struct bf_explain *l, const struct bf_explain_view *v)
{
	if (l->stage == BF_EXPLAIN_STAGE_ENDED || l->stage == BF_EXPLAIN_STAGE_WAITING)
		return false;
	if (bf_explain_is_own(l, v))
		return bf_explain_is_mine(l, v);
	return l->stage == BF_EXPLAIN_STAGE_STARTED && bf_explain_is_far(l, v) && l->arrived && !l->answered;
}

void bf_explain_on_mkey_error(struct bf_explain *l, const struct bf_explain_view *v)
{
	char access[24], why[24];

	if (!concerns_me(l, v))
		return;
	bf_explain_push(l, bf_explain_make(v, place_of(l, v), "key",
					   "checks key 0x%" PRIx64 " for %s of %" PRIu64 " bytes at 0x%" PRIx64 ": %s",
					   bf_explain_get(v, "key"),
					   bf_explain_get_name(v, "access", access, sizeof(access)),
					   bf_explain_get(v, "length"), bf_explain_get(v, "va"),
					   bf_explain_get_name(v, "why", why, sizeof(why))));
}

void bf_explain_on_qp_error(struct bf_explain *l, const struct bf_explain_view *v)
{
	char why[40];
	uint64_t qpn = bf_explain_get(v, "qpn");

	if (!concerns_me(l, v))
		return;
	bf_explain_push(l, bf_explain_make(v, place_of(l, v), "error", "QP 0x%" PRIx64 " fails: %s", qpn,
					   bf_explain_get_text(v, "why", why, sizeof(why))));
}

void bf_explain_on_qp_state(struct bf_explain *l, const struct bf_explain_view *v)
{
	char from[8], to[8];
	uint64_t qpn = bf_explain_get(v, "qpn");

	/* A failing requester changes state right behind the completion that says so. */
	bool own_end = l->stage == BF_EXPLAIN_STAGE_ENDED && bf_explain_is_own(l, v) &&
		       l->steps[l->nsteps - 1].time_ps == v->time_ps;

	if (!own_end && (l->stage < BF_EXPLAIN_STAGE_FETCHED || l->stage == BF_EXPLAIN_STAGE_ENDED ||
			 (!bf_explain_is_own(l, v) && !bf_explain_is_far(l, v))))
		return;
	bf_explain_push(l, bf_explain_make(v, place_of(l, v), "state", "QP 0x%" PRIx64 " goes from %s to %s", qpn,
					   bf_explain_get_name(v, "from", from, sizeof(from)),
					   bf_explain_get_name(v, "to", to, sizeof(to))));
}

/* ---- the end of a connection ---- */

/* Of the communication manager's messages only DREQ names a queue pair that is connected: its receiver's. */
void bf_explain_on_cm_message(struct bf_explain *l, const struct bf_explain_view *v)
{
	const uint64_t what = bf_explain_get(v, "what"), qpn = bf_explain_get(v, "qpn");
	const bool came = what == 2;

	if (bf_explain_get(v, "kind") != BF_CM_DREQ || what > 2 || l->stage < BF_EXPLAIN_STAGE_FETCHED ||
	    l->stage == BF_EXPLAIN_STAGE_ENDED || (!came && !l->has_remote) || qpn != (came ? l->qpn : l->remote_qpn))
		return;
	bf_explain_push(l, bf_explain_by(v, "disconnect",
					 came ? "the peer ends the connection of QP 0x%" PRIx64 " (DREQ)"
					      : "the program ends the connection with QP 0x%" PRIx64 " (DREQ)",
					 qpn));
}

/* ---- the connection of a DC initiator ---- */

void bf_explain_on_dc_connection(struct bf_explain *l, const struct bf_explain_view *v)
{
	static const char *const verbs[] = { "needs a connection to", "connects to", "is connected to",
					     "disconnects from" };
	uint64_t what = bf_explain_get(v, "what");

	if (!l->dc || !bf_explain_is_own(l, v) || l->stage < BF_EXPLAIN_STAGE_FETCHED ||
	    l->stage == BF_EXPLAIN_STAGE_ENDED)
		return;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "connection",
					   "%s DCT 0x%" PRIx64 " (session %" PRIu64 ", PSN %" PRIu64 ")",
					   verbs[what < BF_ARRAY_LEN(verbs) ? what : 0], bf_explain_get(v, "dct"),
					   bf_explain_get(v, "session"), bf_explain_get(v, "psn")));
}

void bf_explain_on_dc_context(struct bf_explain *l, const struct bf_explain_view *v)
{
	char what[32];

	if (!l->dc || bf_explain_get(v, "qpn") != l->qpn || l->stage < BF_EXPLAIN_STAGE_FETCHED ||
	    l->stage == BF_EXPLAIN_STAGE_ENDED)
		return;
	bf_explain_push(
	    l, bf_explain_make(v, BF_EXPLAIN_REMOTE, "context",
			       "DCT 0x%" PRIx64 ", context for initiator 0x%" PRIx64 ": %s (%" PRIu64 " in use)",
			       bf_explain_get(v, "dct"), bf_explain_get(v, "qpn"),
			       bf_explain_get_name(v, "what", what, sizeof(what)), bf_explain_get(v, "contexts")));
}

void bf_explain_on_dc_cnak(struct bf_explain *l, const struct bf_explain_view *v)
{
	char reason[32];

	if (!l->dc || !bf_explain_is_own(l, v) || l->stage < BF_EXPLAIN_STAGE_FETCHED ||
	    l->stage == BF_EXPLAIN_STAGE_ENDED)
		return;
	bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_DEVICE, "refused",
					   "DCT 0x%" PRIx64 " refuses PSN %" PRIu64 ": %s", bf_explain_get(v, "dct"),
					   bf_explain_get(v, "psn"),
					   bf_explain_get_name(v, "reason", reason, sizeof(reason))));
}

static bool remote_psn(const struct bf_explain *l, const struct bf_explain_view *v)
{
	return l->stage >= BF_EXPLAIN_STAGE_STARTED && l->stage != BF_EXPLAIN_STAGE_ENDED && bf_explain_is_far(l, v) &&
	       bf_explain_psn_is_mine(l, (uint32_t)bf_explain_get(v, "psn"));
}

void bf_explain_on_recv_fetch(struct bf_explain *l, const struct bf_explain_view *v)
{
	uint64_t n = bf_explain_get(v, "nsge");

	if (!remote_psn(l, v))
		return;
	bf_explain_push(
	    l, bf_explain_make(v, BF_EXPLAIN_REMOTE, "receive",
			       "takes receive entry %" PRIu64 ": room for %" PRIu64 " bytes in %" PRIu64 " segment%s",
			       bf_explain_get(v, "index"), bf_explain_get(v, "room"), n, n == 1 ? "" : "s"));
	l->expects_recv_cqe = true;
}

void bf_explain_on_request_done(struct bf_explain *l, const struct bf_explain_view *v)
{
	uint8_t opcode = (uint8_t)bf_explain_get(v, "opcode");

	if (!remote_psn(l, v))
		return;
	if (opcode >= BF_RC_WRITE_FIRST && opcode <= BF_RC_READ_REQUEST && bf_explain_get(v, "rkey"))
		bf_explain_push(l,
				bf_explain_make(v, BF_EXPLAIN_REMOTE, "execute",
						"%s done: rkey 0x%" PRIx64 " is good, %" PRIu64 " bytes at 0x%" PRIx64,
						bf_roce_opcode_name(opcode), bf_explain_get(v, "rkey"),
						bf_explain_get(v, "length"), bf_explain_get(v, "va")));
	else
		bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_REMOTE, "execute", "%s done: %" PRIu64 " bytes",
						   bf_roce_opcode_name(opcode), bf_explain_get(v, "length")));
	l->expects_recv_cqe = true;
}

void bf_explain_on_nak_sent(struct bf_explain *l, const struct bf_explain_view *v)
{
	if (remote_psn(l, v))
		bf_explain_push(l, bf_explain_make(v, BF_EXPLAIN_REMOTE, "nak",
						   "refuses PSN %" PRIu64 " with AETH syndrome 0x%" PRIx64,
						   bf_explain_get(v, "psn"), bf_explain_get(v, "syndrome")));
}
