/*
 * Frames between the processes of one simulation.
 *
 * A frame for a port of another rank leaves when its last bit has left its sender, which is one link latency before it
 * matters: at the switch. There it waits in the lane of the remote port that sent it, so that from the switch on all is
 * as if that port were simulated there.
 */
#include <errno.h>
#include <string.h>

#include "models/fabric/fabric_internal.h"
#include "sim/bytes.h"
#include "sim/stats.h"

#define FRAME_MAGIC 0x30464642u /* "BFF0" */

/* What precedes a frame's bytes. */
struct frame_head {
	struct bf_le32 magic, len;
	struct bf_le64 id, at_ps;
	struct bf_le32 from, to; /* addresses */
	struct bf_le32 flags, verdict;
};
BF_STATIC_ASSERT(sizeof(struct frame_head) == 40 && sizeof(struct frame_head) <= BF_FABRIC_MESSAGE_MAX - BF_PACKET_MAX,
		 "frame head");

void bf_fabric_set_gateway(struct bf_fabric *f, uint32_t my_rank, bf_fabric_out_fn *out, void *owner)
{
	f->my_rank = my_rank;
	f->out = out;
	f->out_owner = owner;
}

uint64_t bf_fabric_lookahead_ps(const struct bf_fabric *f)
{
	return f->min_latency_ps;
}

void bf_gateway_send(struct bf_packet *pkt)
{
	struct bf_fabric *f = pkt->fabric;
	uint64_t at_ps = pkt->at_ps + pkt->from->latency_ps;
	uint8_t message[BF_FABRIC_MESSAGE_MAX];
	struct frame_head *h = (struct frame_head *)message;

	bf_put_le32(h->magic.b, FRAME_MAGIC);
	bf_put_le32(h->len.b, pkt->len);
	bf_put_le64(h->id.b, pkt->id);
	bf_put_le64(h->at_ps.b, at_ps);
	bf_put_le32(h->from.b, pkt->from->info.ipv4);
	bf_put_le32(h->to.b, pkt->to->info.ipv4);
	bf_put_le32(h->flags.b, pkt->flags);
	bf_put_le32(h->verdict.b, pkt->verdict);
	memcpy(message + sizeof(*h), pkt->data, pkt->len);
	f->out(f->out_owner, pkt->to->rank, at_ps, message, sizeof(*h) + pkt->len);
	bf_packet_free(pkt);
}

/* A frame of another rank's port for one of this rank's, as it was sent. */
static int take_frame(struct bf_fabric *f, const struct frame_head *h, const uint8_t *data, struct bf_packet *pkt)
{
	pkt->from = bf_fabric_find(f, bf_le32(h->from));
	pkt->to = bf_fabric_find(f, bf_le32(h->to));
	pkt->id = bf_le64(h->id);
	pkt->at_ps = bf_le64(h->at_ps);
	pkt->len = bf_le32(h->len);
	pkt->flags = bf_le32(h->flags);
	pkt->verdict = (uint8_t)bf_le32(h->verdict);
	if (!pkt->from || !pkt->to || !pkt->from->remote || pkt->to->remote)
		return bf_fail(&f->sim->error, -EBADMSG, "gateway: a frame from 0x%08x to 0x%08x does not come here",
			       bf_le32(h->from), bf_le32(h->to));
	if (pkt->at_ps < f->sim->now_ps || pkt->at_ps == BF_NEVER || bf_le32(h->verdict) >= BF_FRAME_VERDICTS)
		return bf_fail(&f->sim->error, -EBADMSG, "gateway: frame 0x%016llx is late or has a bad verdict",
			       (unsigned long long)pkt->id);
	memcpy(pkt->data, data, pkt->len);
	bf_lane_add(&pkt->from->lanes[TO_SWITCH], pkt);
	return 0;
}

int bf_fabric_deliver(struct bf_fabric *f, const void *bytes, size_t len)
{
	struct bf_packet *pkt;
	struct frame_head h;
	int rc;

	if (len < sizeof(h))
		return bf_fail(&f->sim->error, -EBADMSG, "gateway: a message of %zu bytes", len);
	memcpy(&h, bytes, sizeof(h));
	if (bf_le32(h.magic) != FRAME_MAGIC || bf_le32(h.len) > BF_PACKET_MAX || bf_le32(h.len) != len - sizeof(h))
		return bf_fail(&f->sim->error, -EBADMSG, "gateway: a message of %zu bytes is no frame", len);
	pkt = bf_packet_alloc(f);
	if (!pkt)
		return bf_fail(&f->sim->error, -ENOMEM, "gateway: no memory");
	rc = take_frame(f, &h, (const uint8_t *)bytes + sizeof(h), pkt);
	if (rc)
		bf_packet_free(pkt);
	return rc;
}
