/*
 * Numbers on the wire, and messages on their way out: which process of this machine they are for, and how often.
 *
 * An identifier's number has the slot of its process above a count, so that answers find their way. A request names a
 * service instead: who offers that has claimed it.
 */
#include "models/rdmacm/rdmacm_internal.h"

/* Linux core/cma.c asks every 4.3 s (CMA_CM_RESPONSE_TIMEOUT), 15 times again (CMA_MAX_CM_RETRIES). */
#define ASKS_FOR_PS (16 * 4300 * BF_MS)
#define COUNT_MASK ((1u << BF_CM_SLOT_SHIFT) - 1)
/* Behind the headers of a datagram: BTH and DETH. */
#define MAD_AT (BF_ROCE_BTH_OFFSET + (uint32_t)sizeof(struct bf_roce_bth) + (uint32_t)sizeof(struct bf_roce_deth))

/* ---- numbers ---- */

static struct bf_cm_id **bucket(struct bf_rdmacm *cm, uint32_t local_id)
{
	return &cm->wire[local_id % BF_CM_BUCKETS];
}

static void on_timer(struct bf_event *ev)
{
	bf_cm_on_timer(BF_CONTAINER_OF(ev, struct bf_cm_id, timer));
}

static bool in_use(struct bf_rdmacm *cm, uint32_t local_id)
{
	const struct bf_cm_id *id = *bucket(cm, local_id);

	while (id && id->local_id != local_id)
		id = id->next_by_number;
	return id;
}

void bf_cm_register(struct bf_cm_id *id)
{
	struct bf_rdmacm *cm = id->cm;

	if (id->local_id)
		return;
	do { /* identifiers are far fewer than numbers */
		cm->last_id = (cm->last_id + 1) & COUNT_MASK;
		id->local_id = cm->slot << BF_CM_SLOT_SHIFT | cm->last_id;
	} while (!cm->last_id || in_use(cm, id->local_id));
	id->next_by_number = *bucket(cm, id->local_id);
	*bucket(cm, id->local_id) = id;
	id->tid = ++cm->last_tid << 32 | id->local_id;
	bf_event_init(&id->timer, on_timer);
}

void bf_cm_unregister(struct bf_cm_id *id)
{
	struct bf_cm_id **at = bucket(id->cm, id->local_id);

	if (!id->local_id)
		return;
	while (*at != id)
		at = &(*at)->next_by_number;
	*at = id->next_by_number;
	id->local_id = 0;
}

struct bf_cm_id *bf_cm_by_local(const struct bf_rdmacm *cm, uint32_t local_id, uint32_t ipv4)
{
	struct bf_cm_id *id = cm->wire[local_id % BF_CM_BUCKETS];

	while (id && (id->local_id != local_id || id->path.ipv4 != ipv4))
		id = id->next_by_number;
	return id;
}

struct bf_cm_id *bf_cm_by_remote(const struct bf_rdmacm *cm, uint32_t remote_id, uint32_t ipv4)
{
	for (uint32_t i = 0; i < cm->room; i++) {
		struct bf_cm_id *id = cm->ids[i];

		if (id && id->local_id && id->remote_id == remote_id && id->path.ipv4 == ipv4)
			return id;
	}
	return NULL;
}

/* ---- whose message it is ---- */

static uint32_t slot_of_service(const struct bf_rdmacm *cm, uint64_t service)
{
	const int slot = bf_outside_find_service(cm->opts.outside, service);

	return slot < 0 ? cm->slot : (uint32_t)slot; /* nobody's: we say so ourselves */
}

static uint32_t slot_of_gone(const struct bf_rdmacm *cm, uint32_t local_id)
{
	for (uint32_t i = 0; i < BF_CM_GONE; i++)
		if (cm->gone[i].local_id == local_id)
			return cm->gone[i].slot;
	return cm->slot;
}

uint32_t bf_cm_whose(void *manager, const struct bf_packet *pkt)
{
	const struct bf_rdmacm *cm = manager;
	const uint8_t *mad = pkt->data + MAD_AT;
	uint32_t number;

	if (pkt->len < MAD_AT + BF_MAD_LEN || BF_MLX5_GET(mad, BF_MAD_CLASS) != BF_MAD_CLASS_CM)
		return cm->slot;
	switch (BF_MLX5_GET(mad, BF_MAD_ATTRIBUTE)) {
	case BF_CM_REQ:
		return slot_of_service(cm, bf_get_be64(mad + BF_CM_REQ_SERVICE));
	case BF_CM_SIDR_REQ:
		return slot_of_service(cm, bf_get_be64(mad + BF_CM_SIDR_REQ_SERVICE));
	case BF_CM_SIDR_REP:
		return BF_MLX5_GET(mad, BF_CM_LOCAL_ID) >> BF_CM_SLOT_SHIFT;
	default:
		number = BF_MLX5_GET(mad, BF_CM_REMOTE_ID);
		return number ? number >> BF_CM_SLOT_SHIFT : slot_of_gone(cm, BF_MLX5_GET(mad, BF_CM_LOCAL_ID));
	}
}

/* ---- sending ---- */

static uint32_t qpn_of(const uint8_t *mad, uint32_t kind)
{
	switch (kind) {
	case BF_CM_REQ:
		return BF_MLX5_GET(mad, BF_CM_REQ_QPN);
	case BF_CM_REP:
		return BF_MLX5_GET(mad, BF_CM_REP_QPN) ? BF_MLX5_GET(mad, BF_CM_REP_QPN)
						       : BF_MLX5_GET(mad, BF_CM_REP_EECN);
	case BF_CM_DREQ:
		return BF_MLX5_GET(mad, BF_CM_DREQ_QPN);
	case BF_CM_SIDR_REP:
		return BF_MLX5_GET(mad, BF_CM_SIDR_REP_QPN);
	default:
		return 0;
	}
}

void bf_cm_record(struct bf_rdmacm *cm, uint32_t peer, const uint8_t *mad, uint32_t what, uint32_t tries)
{
	const uint32_t kind = BF_MLX5_GET(mad, BF_MAD_ATTRIBUTE);
	const bool asks = kind == BF_CM_REQ || kind == BF_CM_SIDR_REQ;
	struct bf_rec_cm_message rec = {
		.peer = peer,
		.local_id = BF_MLX5_GET(mad, BF_CM_LOCAL_ID),
		.remote_id = asks || kind == BF_CM_SIDR_REP ? 0 : BF_MLX5_GET(mad, BF_CM_REMOTE_ID),
		.qpn = qpn_of(mad, kind),
		.kind = (uint16_t)kind,
		.what = (uint16_t)what,
		.tries_left = (uint16_t)tries,
	};

	if (!bf_probe(cm->sim, BF_CLASS_NET))
		return;
	if (asks)
		rec.service = bf_get_be64(mad + BF_CM_REQ_SERVICE); /* both have it there */
	if (kind == BF_CM_REJ)
		rec.reason = (uint16_t)BF_MLX5_GET(mad, BF_CM_REJ_REASON);
	else if (kind == BF_CM_SIDR_REP)
		rec.reason = (uint16_t)BF_MLX5_GET(mad, BF_CM_SIDR_REP_STATUS);
	BF_EMIT_MADE(cm->sim, cm->actor, cm_message, rec, NULL, 0);
}

bool bf_cm_of_this_machine(const struct bf_rdmacm *cm, uint32_t ipv4)
{
	for (uint32_t i = 0; i < cm->opts.devices; i++)
		if (cm->opts.device[i].ipv4 == ipv4)
			return true;
	return false;
}

/* Peers on this machine are told of a process's end in another way (bf_cm_gone()). */
static void keep(struct bf_rdmacm *cm, const struct bf_rdmacm_device *device, uint32_t ipv4, const uint8_t *mad)
{
	const uint32_t kind = BF_MLX5_GET(mad, BF_MAD_ATTRIBUTE);
	struct bf_cm_said *s = &cm->said[cm->last_said % BF_CM_ANSWERS];

	if ((kind != BF_CM_DREP && kind != BF_CM_REJ) || bf_cm_of_this_machine(cm, ipv4))
		return;
	cm->last_said++;
	*s = (struct bf_cm_said){ .device = device, .at_ps = cm->sim->now_ps, .ipv4 = ipv4 };
	memcpy(s->mad, mad, sizeof(s->mad));
}

void bf_rdmacm_say_again(struct bf_rdmacm *cm)
{
	for (const struct bf_cm_said *s = cm->said; s < cm->said + BF_CM_ANSWERS; s++) {
		if (!s->device || cm->sim->now_ps - s->at_ps > ASKS_FOR_PS)
			continue;
		cm->count.resent++;
		bf_cm_record(cm, s->ipv4, s->mad, BF_CM_SENT_AGAIN, 0);
		bf_uverbs_mad_send(s->device->uverbs, s->ipv4, s->mad);
	}
}

/* What finds no room is lost like a datagram on its way, and repeated like one. */
void bf_cm_send(struct bf_rdmacm *cm, const struct bf_rdmacm_device *device, uint32_t ipv4, const uint8_t *mad)
{
	keep(cm, device, ipv4, mad);
	cm->count.sent++;
	bf_cm_record(cm, ipv4, mad, BF_CM_SENT, 0);
	bf_uverbs_mad_send(device->uverbs, ipv4, mad);
}

/* Linux core/cm.c cm_convert_to_ms(): 4.096 us times two to the power of the exponent, in milliseconds. */
uint64_t bf_cm_time_ps(uint32_t exponent)
{
	return exponent > 8 ? BF_MS << (exponent - 8) : BF_MS;
}

void bf_cm_wait(struct bf_cm_id *id, uint64_t ps)
{
	bf_sim_cancel(id->cm->sim, &id->timer);
	bf_sim_after(id->cm->sim, &id->timer, ps);
}

void bf_cm_stop(struct bf_cm_id *id)
{
	if (id->local_id)
		bf_sim_cancel(id->cm->sim, &id->timer);
}

void bf_cm_start(struct bf_cm_id *id, enum bf_cm_state state)
{
	id->state = (uint8_t)state;
	id->tries = id->retries;
	bf_cm_send(id->cm, id->device, id->path.ipv4, id->mad);
	bf_cm_wait(id, id->timeout_ps);
}

void bf_cm_again(struct bf_cm_id *id)
{
	id->cm->count.resent++;
	bf_cm_record(id->cm, id->path.ipv4, id->mad, BF_CM_SENT_AGAIN, id->tries);
	bf_uverbs_mad_send(id->device->uverbs, id->path.ipv4, id->mad);
}
