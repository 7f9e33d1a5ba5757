#include <string.h>

#include "models/fabric/fabric_internal.h"
#include "models/fabric/records.h"
#include "models/fabric/roce.h"
#include "sim/train.h"

#define WIRE_OVERHEAD 24u /* IEEE 802.3: preamble and start 8, FCS 4, inter-packet gap 12 */

enum { DIR_TX, DIR_RX };
enum verdict { OK, DROPPED, CORRUPTED, DUPLICATE, DELAYED, REORDERED, NO_ROUTE, LINK_DOWN };

/* What happens to a frame at port `at`. Sent frames carry their bytes, once. */
static void record(const struct bf_port *at, const struct bf_packet *pkt, uint8_t dir, enum verdict verdict)
{
	struct bf_sim *sim = at->fabric->sim;
	const struct bf_port *peer = at == pkt->from ? pkt->to : pkt->from;

	if (bf_probe(sim, BF_CLASS_NET)) {
		struct bf_rec_packet r = {
			.packet = pkt->id,
			.len = pkt->len,
			.peer = peer ? (uint16_t)peer->info.actor : 0,
			.dir = dir,
			.verdict = (uint8_t)verdict,
		};

		bf_record(&sim->rec, &bf_rec_packet_schema, at->info.actor, &r, pkt->data,
			  dir == DIR_TX ? pkt->len : 0);
	}
}

/* A frame that nobody gets, lost at port `at`. */
static void lose(const struct bf_port *at, struct bf_packet *pkt, uint8_t dir, enum verdict verdict)
{
	struct bf_port *from = pkt->from;

	record(at, pkt, dir, verdict);
	if (verdict == NO_ROUTE)
		from->lost_no_route++;
	else if (verdict == LINK_DOWN)
		from->lost_link_down++;
	else
		from->lost_injected++;
	bf_packet_free(pkt);
}

static uint64_t wire_ps(const struct bf_port *p, const struct bf_packet *pkt)
{
	return ((pkt->len + WIRE_OVERHEAD) * p->ps_per_kib + 1023) / 1024;
}

/* The head of a lane is due at `when`, not later than the one before. */
static void set_due(struct bf_port *p, struct bf_lane *l, uint64_t when)
{
	l->due_ps = when;
	if (!p->busy && when < p->due.when)
		bf_sim_at(p->fabric->sim, &p->due, when);
}

static void append(struct bf_port *p, int which, struct bf_packet *pkt)
{
	struct bf_lane *l = &p->lanes[which];

	pkt->next = NULL;
	if (l->first) {
		l->last->next = pkt;
		l->last = pkt;
	} else {
		l->first = l->last = pkt;
		set_due(p, l, pkt->at_ps);
	}
}

/* Into the list of late frames, behind those of the same time. */
static void insert_late(struct bf_port *p, struct bf_packet *pkt)
{
	struct bf_packet **at = &p->lanes[LATE].first;

	while (*at && (*at)->at_ps <= pkt->at_ps)
		at = &(*at)->next;
	pkt->next = *at;
	*at = pkt;
	set_due(p, &p->lanes[LATE], p->lanes[LATE].first->at_ps);
}

static struct bf_packet *take_head(struct bf_lane *l)
{
	struct bf_packet *pkt = l->first;

	l->first = pkt->next;
	l->due_ps = l->first ? l->first->at_ps : BF_NEVER;
	return pkt;
}

static struct bf_port *route(struct bf_port *p, const struct bf_packet *pkt)
{
	uint32_t ipv4;

	if (pkt->len < BF_ROCE_ETH_LEN + 20 || bf_get_be16(pkt->data + 12) != 0x0800)
		return NULL;
	ipv4 = bf_get_be32(pkt->data + BF_ROCE_ETH_LEN + 16);
	if (BF_UNLIKELY(!p->last_to || p->last_to->info.ipv4 != ipv4))
		p->last_to = bf_fabric_find(p->fabric, ipv4);
	return p->last_to;
}

/* Destination QP of a RoCEv2 frame, for rules of the fault plan that name one. */
static uint32_t queue_of(const struct bf_packet *pkt)
{
	if (pkt->len < BF_ROCE_BTH_OFFSET + sizeof(struct bf_roce_bth) ||
	    bf_get_be16(pkt->data + BF_ROCE_BTH_OFFSET - 6) != BF_ROCE_UDP_PORT)
		return 0;
	return bf_get_be24(pkt->data + BF_ROCE_BTH_OFFSET + 5);
}

/* Flips one bit; not in the byte of BTH that the ICRC leaves out, nor in headers with a check of their own. */
static void corrupt(struct bf_packet *pkt, uint64_t draw)
{
	uint32_t from = pkt->len > BF_ROCE_BTH_OFFSET ? BF_ROCE_BTH_OFFSET : 0;
	uint32_t at = from + (uint32_t)((draw >> 3) % (pkt->len - from));

	if (at == BF_ROCE_BTH_OFFSET + 4)
		at--;
	pkt->data[at] ^= (uint8_t)(1u << (draw & 7));
}

/* Sends a second copy right behind the first. Without memory there is none, which is a loss that networks have too. */
static void duplicate(struct bf_port *p, const struct bf_packet *pkt)
{
	struct bf_packet *copy = bf_packet_alloc(p->fabric);

	if (!copy)
		return;
	memcpy(copy->data, pkt->data, pkt->len);
	copy->id = pkt->id;
	copy->len = pkt->len;
	copy->flags = pkt->flags;
	copy->from = pkt->from;
	copy->to = pkt->to;
	copy->at_ps = pkt->at_ps;
	copy->verdict = DUPLICATE;
	append(p, TO_SWITCH, copy);
}

static uint64_t or_default(uint64_t delay_ps, uint64_t default_ps)
{
	return delay_ps ? delay_ps : default_ps;
}

static void set_link(struct bf_port *p, bool up);

/*
 * The fault plan's say on a frame that is about to enter TO_SWITCH. True when it has taken the frame. All kinds are
 * asked each time, so that rules count the same opportunities whatever other rules do.
 */
static bool injected(struct bf_port *p, struct bf_packet *pkt)
{
	struct bf_sim *sim = p->fabric->sim;
	uint32_t actor = p->info.actor, qp = queue_of(pkt);
	struct bf_fault down, drop, bad, dup, late, out_of_order;
	bool is_down = bf_fault_check(sim, BF_FAULT_LINK_DOWN, actor, qp, &down);
	bool is_drop = bf_fault_check(sim, BF_FAULT_DROP, actor, qp, &drop);
	bool is_bad = bf_fault_check(sim, BF_FAULT_CORRUPT, actor, qp, &bad);
	bool is_dup = bf_fault_check(sim, BF_FAULT_DUPLICATE, actor, qp, &dup);
	bool is_late = bf_fault_check(sim, BF_FAULT_DELAY, actor, qp, &late);
	bool is_out_of_order = bf_fault_check(sim, BF_FAULT_REORDER, actor, qp, &out_of_order);

	if (is_down) {
		lose(p, pkt, DIR_TX, LINK_DOWN);
		set_link(p, false);
		bf_sim_after(sim, &p->restore, or_default(down.delay_ps, BF_FABRIC_OUTAGE_PS));
		return true;
	}
	if (is_drop) {
		lose(p, pkt, DIR_TX, DROPPED);
		return true;
	}
	if (is_bad && pkt->len) {
		corrupt(pkt, bad.draw);
		pkt->verdict = CORRUPTED;
	}
	if (is_late) {
		pkt->at_ps += or_default(late.delay_ps, BF_FABRIC_DELAY_PS);
		p->order_ps = pkt->at_ps;
		pkt->verdict = DELAYED;
	}
	if (is_out_of_order) {
		pkt->at_ps += or_default(out_of_order.delay_ps, BF_FABRIC_REORDER_PS);
		pkt->verdict = REORDERED;
		record(p, pkt, DIR_TX, REORDERED);
		insert_late(p, pkt);
		return true;
	}
	if (is_dup) {
		record(p, pkt, DIR_TX, pkt->verdict);
		append(p, TO_SWITCH, pkt);
		duplicate(p, pkt);
		return true;
	}
	return false;
}

void bf_port_send(struct bf_port *p, struct bf_packet *pkt)
{
	struct bf_sim *sim = p->fabric->sim;

	pkt->id = ++p->fabric->sent;
	pkt->from = p;
	pkt->verdict = OK;
	pkt->to = pkt->len <= BF_PACKET_MAX ? route(p, pkt) : NULL;
	p->info.tx_packets++;
	p->info.tx_bytes += pkt->len;
	if (BF_UNLIKELY(!pkt->to || !p->up)) {
		pkt->len = pkt->len <= BF_PACKET_MAX ? pkt->len : BF_PACKET_MAX;
		lose(p, pkt, DIR_TX, p->up ? NO_ROUTE : LINK_DOWN);
		return;
	}
	p->tx_free_ps = (p->tx_free_ps > sim->now_ps ? p->tx_free_ps : sim->now_ps) + wire_ps(p, pkt);
	pkt->at_ps = p->tx_free_ps + p->latency_ps;
	if (BF_UNLIKELY(pkt->at_ps < p->order_ps))
		pkt->at_ps = p->order_ps;
	if (BF_UNLIKELY(sim->faults != NULL) && injected(p, pkt))
		return;
	record(p, pkt, DIR_TX, pkt->verdict);
	append(p, TO_SWITCH, pkt);
}

uint64_t bf_port_tx_free_ps(const struct bf_port *p)
{
	return p->tx_free_ps;
}

/* The frame is in the switch and queues for its receiver's link. */
static void forward(struct bf_packet *pkt)
{
	struct bf_port *to = pkt->to;
	uint64_t now = to->fabric->sim->now_ps;

	if (BF_UNLIKELY(!to->up)) {
		lose(to, pkt, DIR_RX, LINK_DOWN);
		return;
	}
	to->rx_free_ps = (to->rx_free_ps > now ? to->rx_free_ps : now) + wire_ps(to, pkt);
	pkt->at_ps = to->rx_free_ps + to->latency_ps;
	append(to, TO_PORT, pkt);
}

/* The frame's last byte is at its receiver, who owns it from here on and may send. */
static void deliver(struct bf_packet *pkt)
{
	struct bf_port *to = pkt->to;

	to->info.rx_packets++;
	to->info.rx_bytes += pkt->len;
	record(to, pkt, DIR_RX, pkt->verdict);
	to->rx(to->owner, pkt);
}

/* The lane whose head is due first, by its order in the enum at equal times. */
static struct bf_lane *earliest(struct bf_port *p)
{
	struct bf_lane *first = &p->lanes[0];

	for (int i = 1; i < LANES; i++)
		first = p->lanes[i].due_ps < first->due_ps ? &p->lanes[i] : first;
	return first;
}

void bf_port_on_due(struct bf_event *ev)
{
	struct bf_port *p = BF_CONTAINER_OF(ev, struct bf_port, due);
	struct bf_lane *l = earliest(p);

	p->busy = true;
	do {
		struct bf_packet *pkt = take_head(l);

		if (l == &p->lanes[TO_PORT])
			deliver(pkt);
		else
			forward(pkt);
		l = earliest(p);
	} while (l->first && bf_sim_step(p->fabric->sim, ev, l->due_ps));
	p->busy = false;
}

static void set_link(struct bf_port *p, bool up)
{
	struct bf_sim *sim = p->fabric->sim;

	if (p->up == up)
		return;
	p->up = up;
	if (bf_probe(sim, BF_CLASS_NET)) {
		struct bf_rec_link r = { .up = up };

		bf_record(&sim->rec, &bf_rec_link_schema, p->info.actor, &r, NULL, 0);
	}
	for (int i = 0; !up && i < LANES; i++)
		while (p->lanes[i].first)
			lose(p, take_head(&p->lanes[i]), DIR_RX, LINK_DOWN);
	if (!p->busy)
		bf_sim_cancel(sim, &p->due);
	p->tx_free_ps = p->rx_free_ps = p->order_ps = sim->now_ps;
}

void bf_port_set_link(struct bf_port *p, bool up)
{
	bf_sim_cancel(p->fabric->sim, &p->restore);
	set_link(p, up);
}

void bf_port_on_restore(struct bf_event *ev)
{
	set_link(BF_CONTAINER_OF(ev, struct bf_port, restore), true);
}
