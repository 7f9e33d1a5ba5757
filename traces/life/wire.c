/* The packets of an entry between the two ends of its queue, and which of them answer it. */
#include <errno.h>

#include "models/fabric/roce.h"
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

	if (p->dest_qp != l->target.queue || is_request(p->opcode) || !l->arrived || !bf_explain_from_far(l, actor))
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

static void on_sent(struct bf_explain *l, const struct bf_explain_view *v, const struct bf_roce *p)
{
	char text[128], verdict[24], answer[48], more[64];
	bool mine = is_request(p->opcode) && bf_explain_psn_is_mine(l, p->psn) && bf_explain_from_device(l, v->actor) &&
		    (!l->has_remote || p->dest_qp == l->remote);

	if (mine) {
		l->remote = p->dest_qp;
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

static void on_arrived(struct bf_explain *l, const struct bf_explain_view *v, struct bf_explain_packet *p)
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

	if (bf_explain_get(v, "dir") == 0) {
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
