/* What an identifier says to its peer, and when it has waited long enough for an answer (core/cm.c). */
#include "models/rdmacm/rdmacm_internal.h"

#define REJ_INFO_AT 0x24 /* additional information of REJ */

static void say(struct bf_cm_id *id, const uint8_t *mad)
{
	bf_cm_send(id->cm, id->device, id->path.ipv4, mad);
}

void bf_cm_refuse(const struct bf_cm_agent *a, uint32_t ipv4, const uint8_t *mad, uint16_t reason)
{
	uint8_t rej[BF_MAD_LEN];

	bf_cm_build(rej, BF_CM_REJ, bf_get_be64(mad + BF_MAD_TID), 0, BF_MLX5_GET(mad, BF_CM_LOCAL_ID));
	BF_MLX5_SET(rej, BF_CM_MESSAGE, BF_CM_OF_REQ);
	BF_MLX5_SET(rej, BF_CM_REJ_REASON, reason);
	bf_cm_send(a->cm, a->device, ipv4, rej);
}

/* Which message of the peer's it refuses follows from the state. */
void bf_cm_send_rej(struct bf_cm_id *id, uint16_t reason, const void *data, uint32_t len)
{
	const uint32_t which = id->state == BF_CM_REQ_RCVD   ? BF_CM_OF_REQ
			       : id->state == BF_CM_REP_RCVD ? BF_CM_OF_REP
							     : BF_CM_OF_OTHER;
	uint8_t rej[BF_MAD_LEN];

	bf_cm_build(rej, BF_CM_REJ, id->tid, id->local_id, id->remote_id);
	BF_MLX5_SET(rej, BF_CM_MESSAGE, which);
	BF_MLX5_SET(rej, BF_CM_REJ_REASON, reason);
	if (reason == BF_CM_REJ_TIMEOUT) { /* by which the peer knows whom it comes from */
		BF_MLX5_SET(rej, BF_CM_REJ_INFO_LEN, 8);
		bf_put_be64(rej + REJ_INFO_AT, id->device->node_guid);
	}
	memcpy(rej + BF_CM_REJ_PRIVATE, data, len);
	say(id, rej);
}

void bf_cm_send_rtu(struct bf_cm_id *id)
{
	bf_cm_build(id->mad, BF_CM_RTU, id->tid, id->local_id, id->remote_id);
	say(id, id->mad);
	id->state = BF_CM_ESTABLISHED;
}

int bf_cm_send_dreq(struct bf_cm_id *id)
{
	if (id->state != BF_CM_ESTABLISHED)
		return -EINVAL;
	id->tid = ++id->cm->last_tid << 32 | id->local_id;
	bf_cm_build(id->mad, BF_CM_DREQ, id->tid, id->local_id, id->remote_id);
	BF_MLX5_SET(id->mad, BF_CM_DREQ_QPN, id->conn.remote_qpn);
	bf_cm_start(id, BF_CM_DREQ_SENT);
	return 0;
}

int bf_cm_send_drep(struct bf_cm_id *id)
{
	if (id->state != BF_CM_DREQ_RCVD)
		return -EINVAL;
	bf_cm_build(id->mad, BF_CM_DREP, id->tid, id->local_id, id->remote_id);
	say(id, id->mad);
	bf_cm_timewait(id);
	return 0;
}

/* Packets of the connection may still be under way: its numbers are not to be used again yet. */
void bf_cm_timewait(struct bf_cm_id *id)
{
	id->state = BF_CM_TIMEWAIT;
	bf_cm_wait(id, bf_cm_time_ps(id->conn.ack_timeout));
}

void bf_cm_disconnected(struct bf_cm_id *id, int32_t status)
{
	if (id->cma != BF_CMA_CONNECT)
		return;
	id->cma = BF_CMA_DISCONNECT;
	bf_cm_tell(id, BF_CM_DISCONNECTED, status, NULL);
}

void bf_cm_established(struct bf_cm_id *id)
{
	bf_cm_stop(id);
	id->state = BF_CM_ESTABLISHED;
	bf_cm_tell(id, BF_CM_ESTABLISHED_EVENT, 0, NULL);
}

/* ---- nobody answers ---- */

static void give_up(struct bf_cm_id *id)
{
	id->cm->count.unanswered++;
	bf_cm_record(id->cm, id->path.ipv4, id->mad, BF_CM_GIVEN_UP, 0);
	if (id->state == BF_CM_DREQ_SENT) {
		bf_cm_timewait(id);
		bf_cm_disconnected(id, -ETIMEDOUT);
		return;
	}
	id->state = BF_CM_IDLE;
	if (id->cma == BF_CMA_CONNECT)
		bf_cm_tell(id, BF_CM_UNREACHABLE, -ETIMEDOUT, NULL);
}

void bf_cm_on_timer(struct bf_cm_id *id)
{
	if (id->state == BF_CM_TIMEWAIT) {
		id->state = BF_CM_IDLE;
		if (id->cma == BF_CMA_DISCONNECT)
			bf_cm_tell(id, BF_CM_TIMEWAIT_EXIT, 0, NULL);
	} else if (!id->tries) {
		give_up(id);
	} else {
		id->tries--;
		bf_cm_again(id);
		bf_cm_wait(id, id->timeout_ps);
	}
}

/* ---- the peer's process is no more ---- */

/* A kernel destroys a dead process's identifiers: as bf_cm_leave() there, seen from here. */
static void peer_gone(struct bf_cm_id *id)
{
	const uint8_t was = id->state;

	switch (was) {
	case BF_CM_ESTABLISHED:
	case BF_CM_DREQ_SENT:
		bf_cm_stop(id);
		bf_cm_timewait(id);
		bf_cm_disconnected(id, 0);
		break;
	case BF_CM_REQ_RCVD:
	case BF_CM_REP_SENT:
	case BF_CM_REP_RCVD:
		bf_cm_stop(id);
		id->state = BF_CM_IDLE;
		if (id->cma == BF_CMA_CONNECT)
			bf_cm_tell(id, BF_CM_REJECTED, was == BF_CM_REQ_RCVD ? BF_CM_REJ_TIMEOUT : BF_CM_REJ_CONSUMER,
				   NULL);
		break;
	default:
		break;
	}
}

void bf_cm_gone(void *manager, uint32_t slot)
{
	struct bf_rdmacm *cm = manager;

	for (uint32_t i = 0; i < cm->room; i++) {
		struct bf_cm_id *id = cm->ids[i];

		if (id && id->remote_id && id->remote_id >> BF_CM_SLOT_SHIFT == slot &&
		    bf_cm_of_this_machine(cm, id->path.ipv4))
			peer_gone(id);
	}
}

/* ---- the end ---- */

/* The peer may have got the request, or may still: who that is must be known when the refusal leaves. */
static void withdraw(struct bf_cm_id *id)
{
	struct bf_rdmacm *cm = id->cm;
	struct bf_cm_gone *g = &cm->gone[cm->last_gone++ % BF_CM_GONE];
	const int slot = cm->opts.outside ? bf_outside_find_service(cm->opts.outside, id->service) : -1;

	*g = (struct bf_cm_gone){ id->local_id, slot < 0 ? cm->slot : (uint32_t)slot };
	bf_cm_send_rej(id, BF_CM_REJ_TIMEOUT, "", 0);
}

void bf_cm_leave(struct bf_cm_id *id)
{
	bf_cm_stop(id);
	switch (id->state) {
	case BF_CM_REQ_SENT:
		withdraw(id);
		break;
	case BF_CM_REQ_RCVD:
	case BF_CM_REP_RCVD:
	case BF_CM_REP_SENT:
		bf_cm_send_rej(id, BF_CM_REJ_CONSUMER, "", 0);
		break;
	case BF_CM_ESTABLISHED:
		bf_cm_send_dreq(id);
		break;
	case BF_CM_DREQ_RCVD:
		bf_cm_send_drep(id);
		break;
	case BF_CM_SIDR_REQ_RCVD:
		bf_cm_build_sidr_rep(id, BF_CM_SIDR_REJECT, "", 0);
		say(id, id->mad);
		break;
	default:
		break;
	}
	bf_cm_stop(id);
	id->state = BF_CM_IDLE;
}
