/*
 * What goes between the processes of one simulation.
 *
 * With the ideal switch a frame for a port of another rank leaves when its last bit has left its sender, which is one
 * link latency before it matters: at the switch. There it waits in the lane of the remote port that sent it, so that
 * from the switch on all is as if that port were simulated there. In a topology of several switches the same happens
 * at every hop that leads to another rank's switch or port, to frames and pauses alike, and news of links go to all.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "models/fabric/net_internal.h"
#include "sim/bytes.h"

#define MAGIC 0x30464642u                 /* "BFF0" */
#define IP_END (BF_ROCE_TOS_OFFSET + 19u) /* switches read the IPv4 header */

enum what { FRAME, ARRIVAL, ANNOUNCEMENT, WHATS };

/* What precedes a frame's bytes. */
struct head {
	struct bf_le32 magic, len;
	struct bf_le64 id, at_ps;
	struct bf_le32 from, to; /* addresses */
	struct bf_le32 flags;
	uint8_t what, verdict, kind, priority, value, back;
	uint8_t down[2];          /* direction of a host's link */
	struct bf_le32 hop, port; /* index of a link between switches, or address of a host */
};
BF_STATIC_ASSERT(sizeof(struct head) == 52 && sizeof(struct head) <= BF_FABRIC_MESSAGE_MAX - BF_PACKET_MAX, "head");

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

/* Sends `h`, filled in for the purpose, with the bytes of `pkt` (NULL: none). `at_ps`: when it matters. */
static void send(struct bf_fabric *f, uint32_t rank, uint64_t at_ps, struct head *h, const struct bf_packet *pkt)
{
	uint8_t message[BF_FABRIC_MESSAGE_MAX];
	uint32_t len = pkt ? pkt->len : 0;

	bf_put_le32(h->magic.b, MAGIC);
	bf_put_le32(h->len.b, len);
	if (pkt) {
		bf_put_le64(h->id.b, pkt->id);
		bf_put_le32(h->flags.b, pkt->flags);
		h->value = pkt->kind == BF_NET_PAUSE ? pkt->value : 0;
		h->verdict = pkt->verdict;
		h->kind = pkt->kind;
		h->priority = pkt->priority;
		memcpy(message + sizeof(*h), pkt->data, len);
	}
	if (pkt && pkt->kind == BF_NET_FRAME) {
		bf_put_le32(h->from.b, pkt->from->info.ipv4);
		bf_put_le32(h->to.b, pkt->to->info.ipv4);
	}
	memcpy(message, h, sizeof(*h));
	f->out(f->out_owner, rank, at_ps, message, sizeof(*h) + len);
}

void bf_gateway_send(struct bf_lane *l, struct bf_packet *pkt)
{
	struct head h = { .what = FRAME };
	uint64_t at_ps = pkt->at_ps + pkt->from->latency_ps;

	(void)l;
	bf_put_le64(h.at_ps.b, at_ps);
	send(pkt->home->fabric, pkt->to->rank, at_ps, &h, pkt);
	bf_packet_free(pkt);
}

static void put_hop(struct head *h, const struct bf_hop *hop)
{
	bf_put_le32(h->hop.b, hop->index);
	bf_put_le32(h->port.b, hop->port ? hop->port->info.ipv4 : 0);
	h->down[0] = hop->from != BF_NET_NONE;
}

void bf_gateway_arrive(const struct bf_hop *hop, bool back, struct bf_packet *pkt, uint32_t rank, uint64_t at_ps)
{
	struct head h = { .what = ARRIVAL, .back = back };

	put_hop(&h, hop);
	bf_put_le64(h.at_ps.b, at_ps);
	send(pkt->home->fabric, rank, at_ps - 1, &h, pkt);
	bf_packet_free(pkt);
}

void bf_gateway_announce(const struct bf_hop *hop, bool up, uint32_t rank)
{
	struct bf_fabric *f = hop->net->fabric;
	struct head h = { .what = ANNOUNCEMENT };

	put_hop(&h, hop);
	bf_put_le64(h.at_ps.b, f->sim->now_ps);
	h.value = up;
	send(f, rank, f->sim->now_ps + f->min_latency_ps, &h, NULL);
}

static struct bf_hop *get_hop(const struct bf_fabric *f, const struct head *h)
{
	struct bf_net *n = f->net;
	uint32_t index = bf_le32(h->hop);
	const struct bf_port *p = bf_fabric_find(f, bf_le32(h->port));

	if (!n)
		return NULL;
	if (index != BF_NET_NONE)
		return index < 2 * (uint64_t)n->nleaves * n->nspines ? &n->hops[index] : NULL;
	if (!p)
		return NULL;
	return h->down[0] ? p->down_hop : p->up_hop;
}

static int refuse(const struct bf_fabric *f, const char *why)
{
	return bf_fail(&f->sim->error, -EBADMSG, "gateway: %s", why);
}

/* A frame of another rank's port for one of this rank's, as it was sent. */
static int take_frame(struct bf_fabric *f, const struct head *h, struct bf_packet *pkt)
{
	pkt->at_ps = bf_le64(h->at_ps);
	if (f->net || pkt->kind != BF_NET_FRAME || !pkt->from->remote || pkt->to->remote)
		return refuse(f, "a frame that does not come here");
	if (pkt->at_ps < f->sim->now_ps || pkt->at_ps == BF_NEVER)
		return refuse(f, "a frame that is late");
	bf_lane_add(&pkt->from->lanes[TO_SWITCH], pkt);
	return 0;
}

static int take_arrival(struct bf_fabric *f, const struct head *h, struct bf_packet *pkt)
{
	struct bf_hop *hop = get_hop(f, h);
	uint64_t at_ps = bf_le64(h->at_ps);

	if (!hop || (pkt->kind == BF_NET_FRAME) == h->back || pkt->kind > BF_NET_PAUSE ||
	    pkt->priority >= BF_NET_PRIORITIES || (pkt->value & 0x7f) >= BF_NET_PRIORITIES)
		return refuse(f, "an arrival at no link");
	if (at_ps <= f->sim->now_ps || at_ps == BF_NEVER)
		return refuse(f, "an arrival that is late");
	bf_net_land(hop, h->back, pkt, at_ps, true);
	return 0;
}

static int take_announcement(struct bf_fabric *f, const struct head *h)
{
	struct bf_hop *hop = get_hop(f, h);
	uint64_t when_ps = bf_le64(h->at_ps);

	if (!hop || when_ps > f->sim->now_ps + BF_S || when_ps + f->min_latency_ps < f->sim->now_ps)
		return refuse(f, "news of no link, or late ones");
	return bf_net_announce_here(hop, h->value != 0, when_ps);
}

static int take_packet(struct bf_fabric *f, const struct head *h, const uint8_t *data, struct bf_packet *pkt)
{
	pkt->from = bf_fabric_find(f, bf_le32(h->from));
	pkt->to = bf_fabric_find(f, bf_le32(h->to));
	pkt->id = bf_le64(h->id);
	pkt->len = bf_le32(h->len);
	pkt->flags = bf_le32(h->flags);
	pkt->value = h->value;
	pkt->verdict = h->verdict;
	pkt->kind = h->kind;
	pkt->priority = h->priority;
	if (h->verdict >= BF_FRAME_VERDICTS)
		return refuse(f, "a frame with a verdict that is none");
	if (pkt->kind == BF_NET_FRAME && (!pkt->from || !pkt->to || pkt->len < IP_END))
		return refuse(f, "a frame from or to nobody");
	memcpy(pkt->data, data, pkt->len);
	return h->what == FRAME ? take_frame(f, h, pkt) : take_arrival(f, h, pkt);
}

int bf_fabric_deliver(struct bf_fabric *f, const void *bytes, size_t len)
{
	struct bf_packet *pkt;
	struct head h;
	int rc;

	if (len < sizeof(h))
		return refuse(f, "a message shorter than its head");
	memcpy(&h, bytes, sizeof(h));
	if (bf_le32(h.magic) != MAGIC || h.what >= WHATS || bf_le32(h.len) > BF_PACKET_MAX ||
	    bf_le32(h.len) != len - sizeof(h))
		return refuse(f, "bytes that are no message");
	if (h.what == ANNOUNCEMENT)
		return take_announcement(f, &h);
	pkt = bf_packet_alloc(f);
	if (!pkt)
		return bf_fail(&f->sim->error, -ENOMEM, "gateway: no memory");
	rc = take_packet(f, &h, (const uint8_t *)bytes + sizeof(h), pkt);
	if (rc)
		bf_packet_free(pkt);
	return rc;
}
