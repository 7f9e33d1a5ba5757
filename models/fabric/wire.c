/*
 * The ideal switch: what travels between ports.
 *
 * Each direction of a link is a lane of frames with known times. A frame that reaches the switch queues for its
 * receiver's link at once; those that come in the same picosecond do so in order of id, whichever event was first.
 */
#include "models/fabric/cc_internal.h"
#include "models/fabric/frame.h"
#include "models/fabric/records.h"
#include "models/fabric/roce.h"
#include "sim/train.h"

/* Of one beyond the uplink, and of a group, only the frame has the address, at `ip_field`. */
static uint32_t address_of(const struct bf_port *peer, const struct bf_packet *pkt, uint32_t ip_field)
{
	if (!peer)
		return 0;
	if (BF_LIKELY(peer != pkt->home->fabric->beyond && !(ip_field == BF_IP_DST && bf_is_for_many(pkt))))
		return peer->info.ipv4;
	return pkt->len >= BF_IP_FIELDS_END && !bf_packet_is_raw(pkt) ? bf_get_be32(pkt->data + ip_field) : 0;
}

/*
 * What happens to a frame at a port or link, `peer` being who is at the other end. Sent frames carry their bytes, and
 * so do those from outside, which nobody here has recorded.
 */
static void record(uint32_t actor, const struct bf_port *peer, const struct bf_packet *pkt, uint8_t dir,
		   enum bf_fabric_verdict verdict)
{
	struct bf_sim *sim = pkt->home->fabric->sim;

	if (bf_probe(sim, BF_CLASS_NET)) {
		struct bf_rec_packet r = {
			.packet = pkt->id,
			.peer = address_of(peer, pkt, dir == BF_DIR_TX ? BF_IP_DST : BF_IP_SRC),
			.len = (uint16_t)pkt->len,
			.dir = dir,
			.verdict = (uint8_t)verdict,
		};

		bool bytes = dir == BF_DIR_TX || (peer && peer == pkt->home->fabric->beyond);

		BF_EMIT_MADE(sim, actor, packet, r, pkt->data, bytes ? pkt->len : 0);
	}
}

static void record_sent(const struct bf_packet *pkt)
{
	record(pkt->from->info.actor, pkt->to, pkt, BF_DIR_TX, (enum bf_fabric_verdict)pkt->verdict);
}

void bf_frame_lose(uint32_t actor, struct bf_packet *pkt, uint8_t dir, enum bf_fabric_verdict verdict)
{
	struct bf_lost *lost = pkt->from->lost;

	record(actor, actor == pkt->from->info.actor ? pkt->to : pkt->from, pkt, dir, verdict);
	if (verdict == BF_FRAME_NO_ROUTE)
		lost->no_route++;
	else if (verdict == BF_FRAME_LINK_DOWN)
		lost->link_down++;
	else if (verdict == BF_FRAME_OVERFLOW)
		lost->overflow++;
	else
		lost->injected++;
	bf_packet_free(pkt);
}

void bf_lane_init(struct bf_lane *l, struct bf_sim *sim, bf_event_fn *fire)
{
	l->first = l->last = NULL;
	l->sim = sim;
	l->busy = l->instant = false;
	bf_event_init(&l->due, fire);
}

void bf_lane_add(struct bf_lane *l, struct bf_packet *pkt)
{
	struct bf_packet **at = &l->first;

	if (BF_LIKELY(!l->first || l->last->at_ps <= pkt->at_ps)) {
		at = l->first ? &l->last->next : at;
		l->last = pkt;
	}
	while (*at && l->last != pkt && (*at)->at_ps <= pkt->at_ps)
		at = &(*at)->next;
	pkt->next = l->last == pkt ? NULL : *at;
	*at = pkt;
	if (l->first == pkt && !l->busy)
		bf_sim_at(l->sim, &l->due, pkt->at_ps);
}

void bf_lane_add_by_id(struct bf_lane *l, struct bf_packet *pkt)
{
	struct bf_packet **at = &l->first;

	if (BF_LIKELY(!l->first || l->last->at_ps < pkt->at_ps ||
		      (l->last->at_ps == pkt->at_ps && l->last->id <= pkt->id))) {
		bf_lane_add(l, pkt);
		return;
	}
	while ((*at)->at_ps < pkt->at_ps || ((*at)->at_ps == pkt->at_ps && (*at)->id <= pkt->id))
		at = &(*at)->next;
	pkt->next = *at;
	*at = pkt;
	if (l->first == pkt && !l->busy)
		bf_sim_at(l->sim, &l->due, pkt->at_ps);
}

struct bf_packet *bf_lane_take(struct bf_lane *l)
{
	struct bf_packet *pkt = l->first;

	l->first = pkt->next;
	/* In a burst they are thousands, which no cache holds. */
	__builtin_prefetch(l->first, 1);
	return pkt;
}

void bf_lane_run(struct bf_lane *l, void (*fn)(struct bf_lane *l, struct bf_packet *pkt))
{
	l->busy = true;
	do
		fn(l, bf_lane_take(l));
	while (l->first && ((l->instant && bf_sim_again(l->sim, l->first->at_ps)) ||
			    bf_sim_step(l->sim, &l->due, l->first->at_ps)));
	l->busy = false;
}

static struct bf_port *route(struct bf_port *p, const struct bf_packet *pkt)
{
	uint32_t ipv4;

	if (pkt->len < BF_IP_FIELDS_END || bf_get_be16(pkt->data + BF_ROCE_ETH_LEN - 2) != BF_ETHERTYPE_IPV4)
		return NULL;
	ipv4 = bf_get_be32(pkt->data + BF_IP_DST);
	if (BF_UNLIKELY(bf_is_for_many(pkt))) /* each copy goes somewhere else: see append_to_group() */
		return bf_frame_queue(pkt) == BF_ROCE_GROUP_QPN && bf_group_next(p, pkt, NULL) ? p : NULL;
	if (BF_UNLIKELY(!p->last_to || p->last_to->info.ipv4 != ipv4))
		p->last_to = bf_fabric_find(p->fabric, ipv4);
	if (BF_UNLIKELY(!p->last_to && p->fabric->uplink.takes) &&
	    p->fabric->uplink.takes(p->fabric->uplink.owner, ipv4, pkt))
		return p->fabric->beyond;
	return p->last_to;
}

uint32_t bf_frame_queue(const struct bf_packet *pkt)
{
	if (pkt->len < BF_ROCE_BTH_OFFSET + sizeof(struct bf_roce_bth) ||
	    bf_get_be16(pkt->data + BF_ROCE_BTH_OFFSET - 6) != BF_ROCE_UDP_PORT ||
	    bf_get_be16(pkt->data + BF_ROCE_ETH_LEN - 2) != BF_ETHERTYPE_IPV4)
		return 0;
	return bf_get_be24(pkt->data + BF_ROCE_BTH_OFFSET + 5);
}

void bf_frame_corrupt(struct bf_packet *pkt, uint64_t draw)
{
	uint32_t from = pkt->len > BF_ROCE_BTH_OFFSET ? BF_ROCE_BTH_OFFSET : 0;
	uint32_t at = from + (uint32_t)((draw >> 3) % (pkt->len - from));

	if (at == BF_ROCE_BTH_OFFSET + 4)
		at--;
	pkt->data[at] ^= (uint8_t)(1u << (draw & 7));
}

static void forward(struct bf_lane *from, struct bf_packet *pkt);

/* On its way to the switch, or to the rank that has the receiver. */
static void append(struct bf_port *p, struct bf_packet *pkt, bool late)
{
	if (BF_UNLIKELY(p->fabric->net != NULL)) {
		if (pkt->at_ps <= p->fabric->sim->now_ps)
			bf_net_send(p, pkt);
		else
			bf_lane_add(&p->lanes[late ? LATE : TO_SWITCH], pkt);
	} else if (BF_UNLIKELY(pkt->to->remote)) {
		pkt->at_ps -= p->latency_ps; /* when its last bit leaves */
		bf_lane_add(&p->lanes[late ? LATE_TO_GATEWAY : TO_GATEWAY], pkt);
	} else if (p->lanes[TO_SWITCH].instant && !p->lanes[TO_SWITCH].first && pkt->at_ps == p->fabric->sim->now_ps) {
		forward(&p->lanes[TO_SWITCH], pkt);
	} else {
		bf_lane_add(&p->lanes[late ? LATE : TO_SWITCH], pkt);
	}
}

/* A frame for a group goes to all that want it. What there is no memory for is lost, as networks lose frames, too. */
static void BF_NOINLINE append_to_group(struct bf_port *p, struct bf_packet *pkt, bool late)
{
	struct bf_port *to = bf_group_next(p, pkt, NULL), *next;

	for (; to && (next = bf_group_next(p, pkt, to)) != NULL; to = next) {
		struct bf_packet *copy = bf_packet_copy(pkt);

		if (!copy)
			continue;
		copy->to = to;
		append(p, copy, late);
	}
	pkt->to = to;
	if (to)
		append(p, pkt, late);
	else
		bf_frame_lose(p->info.actor, pkt, BF_DIR_TX, BF_FRAME_NO_ROUTE);
}

static void append_all(struct bf_port *p, struct bf_packet *pkt, bool late)
{
	if (BF_UNLIKELY(bf_is_for_many(pkt)))
		append_to_group(p, pkt, late);
	else
		append(p, pkt, late);
}

static uint64_t or_default(uint64_t delay_ps, uint64_t default_ps)
{
	return delay_ps ? delay_ps : default_ps;
}

static void begin_outage(struct bf_port *p, uint64_t delay_ps);

/*
 * The fault plan's say on a frame that is about to enter TO_SWITCH. True when it has taken the frame. All kinds are
 * asked each time, so that rules count the same opportunities whatever other rules do.
 */
static bool injected(struct bf_port *p, struct bf_packet *pkt)
{
	struct bf_sim *sim = p->fabric->sim;
	uint32_t actor = p->info.actor, qp = bf_frame_queue(pkt);
	struct bf_fault down, drop, bad, dup, late, out_of_order;
	bool is_down = bf_fault_check(sim, BF_FAULT_LINK_DOWN, actor, qp, &down);
	bool is_drop = bf_fault_check(sim, BF_FAULT_DROP, actor, qp, &drop);
	bool is_bad = bf_fault_check(sim, BF_FAULT_CORRUPT, actor, qp, &bad);
	bool is_dup = bf_fault_check(sim, BF_FAULT_DUPLICATE, actor, qp, &dup);
	bool is_late = bf_fault_check(sim, BF_FAULT_DELAY, actor, qp, &late);
	bool is_out_of_order = bf_fault_check(sim, BF_FAULT_REORDER, actor, qp, &out_of_order);

	if (is_down) {
		bf_frame_lose(p->info.actor, pkt, BF_DIR_TX, BF_FRAME_LINK_DOWN);
		begin_outage(p, down.delay_ps);
		return true;
	}
	if (is_drop) {
		bf_frame_lose(p->info.actor, pkt, BF_DIR_TX, BF_FRAME_DROPPED);
		return true;
	}
	if (is_bad && pkt->len) {
		bf_frame_corrupt(pkt, bad.draw);
		pkt->verdict = BF_FRAME_CORRUPTED;
	}
	if (is_late) {
		pkt->at_ps += or_default(late.delay_ps, BF_FABRIC_DELAY_PS);
		p->order_ps = pkt->at_ps;
		pkt->verdict = BF_FRAME_DELAYED;
	}
	if (is_out_of_order) {
		pkt->at_ps += or_default(out_of_order.delay_ps, BF_FABRIC_REORDER_PS);
		pkt->verdict = BF_FRAME_REORDERED;
		record_sent(pkt);
		append_all(p, pkt, true);
		return true;
	}
	if (is_dup) {
		struct bf_packet *copy = bf_packet_copy(pkt); /* without memory a network has lost it */

		record_sent(pkt);
		append_all(p, pkt, false);
		if (copy) {
			copy->verdict = BF_FRAME_DUPLICATE;
			append_all(p, copy, false);
		}
		return true;
	}
	return false;
}

/* `to` is where it goes, NULL: nowhere. */
static void send(struct bf_port *p, struct bf_packet *pkt, struct bf_port *to)
{
	struct bf_sim *sim = p->fabric->sim;

	pkt->id = (uint64_t)p->info.ipv4 << 32 | ++p->sent;
	pkt->from = p;
	pkt->verdict = BF_FRAME_OK;
	pkt->kind = BF_NET_FRAME;
	pkt->to = to;
	p->info.tx_packets++;
	p->info.tx_bytes += pkt->len;
	if (BF_UNLIKELY(!pkt->to || !p->up)) {
		pkt->len = pkt->len <= BF_PACKET_MAX ? pkt->len : BF_PACKET_MAX;
		bf_frame_lose(p->info.actor, pkt, BF_DIR_TX, p->up ? BF_FRAME_NO_ROUTE : BF_FRAME_LINK_DOWN);
		return;
	}
	if (BF_UNLIKELY(p->fabric->net != NULL)) {
		pkt->at_ps = sim->now_ps;
	} else {
		p->tx_free_ps =
		    (p->tx_free_ps > sim->now_ps ? p->tx_free_ps : sim->now_ps) + bf_wire_ps(p->ps_per_kib, pkt->len);
		pkt->at_ps = p->tx_free_ps + p->latency_ps;
	}
	if (BF_UNLIKELY(pkt->at_ps < p->order_ps))
		pkt->at_ps = p->order_ps;
	if (BF_UNLIKELY(sim->faults != NULL) && injected(p, pkt))
		return;
	record_sent(pkt);
	append_all(p, pkt, false);
}

void bf_port_send(struct bf_port *p, struct bf_packet *pkt)
{
	pkt->value = false;
	send(p, pkt, pkt->len <= BF_PACKET_MAX ? route(p, pkt) : NULL);
}

void bf_port_send_raw(struct bf_port *p, struct bf_packet *pkt)
{
	if (bf_frame_queue(pkt)) { /* RoCEv2 all the same */
		bf_port_send(p, pkt);
		return;
	}
	pkt->value = true;
	send(p, pkt, pkt->len <= BF_PACKET_MAX && bf_group_next(p, pkt, NULL) ? p : NULL);
}

uint8_t bf_port_ecn(const struct bf_port *p)
{
	return p->fabric->net && p->fabric->net->t.ecn ? 2 : 0;
}

static uint64_t own_free_ps(const struct bf_port *p)
{
	if (!p->up_hop)
		return p->tx_free_ps;
	return bf_hop_free_ps(p->up_hop) + bf_cc_held(p) * p->up_hop->ps_per_kib / 1024;
}

uint64_t bf_port_tx_free_ps(const struct bf_port *p)
{
	const struct bf_fabric_uplink *u = &p->fabric->uplink;

	if (BF_UNLIKELY(u->busy != NULL) && u->busy(u->owner))
		return p->fabric->sim->now_ps + BF_UPLINK_BUSY_PS;
	return own_free_ps(p);
}

uint32_t bf_port_tx_held(const struct bf_port *p, uint32_t qpn)
{
	const struct bf_fabric_uplink *u = &p->fabric->uplink;

	return BF_UNLIKELY(u->held != NULL) ? u->held(u->owner, qpn) : 0;
}

bool bf_port_tx_unanswered(const struct bf_port *p, uint32_t ipv4, uint32_t qpn, struct bf_fabric_wait *wait)
{
	const struct bf_fabric_uplink *u = &p->fabric->uplink;

	return BF_LIKELY(!u->unanswered) || u->unanswered(u->owner, ipv4, qpn, wait);
}

uint64_t bf_port_tx_free_for_ps(const struct bf_port *p, uint32_t qpn)
{
	if (BF_UNLIKELY(bf_port_tx_held(p, qpn) >= BF_UPLINK_HELD_MAX))
		return p->fabric->sim->now_ps + BF_UPLINK_BUSY_PS;
	return own_free_ps(p);
}

/*
 * The frame has come to the switch after others of the same picosecond that have higher ids: it goes in front of them,
 * and they leave later.
 */
static void BF_NOINLINE forward_before(struct bf_port *to, struct bf_packet *pkt)
{
	struct bf_lane *l = &to->lanes[TO_PORT];
	struct bf_packet **at = to->tie_before ? &to->tie_before->next : &l->first;
	uint64_t free_ps = to->tie_free_ps;

	while ((*at)->id <= pkt->id) {
		free_ps = (*at)->at_ps - to->latency_ps;
		at = &(*at)->next;
	}
	pkt->next = *at;
	*at = pkt;
	for (; pkt; pkt = pkt->next) {
		free_ps += bf_wire_ps(to->ps_per_kib, pkt->len);
		pkt->at_ps = free_ps + to->latency_ps;
	}
	to->rx_free_ps = free_ps;
	bf_sim_at(to->fabric->sim, &l->due, l->first->at_ps);
}

/* True when the frame goes to another process: to an address that nobody here has, or as the uplink says. */
static bool leaves(struct bf_port *to, struct bf_packet *pkt)
{
	const struct bf_fabric_uplink *u = &to->fabric->uplink;

	if (!u->takes && to == to->fabric->beyond)
		bf_frame_lose(pkt->from->info.actor, pkt, BF_DIR_TX, BF_FRAME_NO_ROUTE);
	else if (u->takes && (to == to->fabric->beyond || u->takes(u->owner, to->info.ipv4, pkt)))
		u->send(u->owner, pkt);
	else
		return false;
	return true;
}

/* The frame is in the switch and queues for its receiver's link. */
static void forward(struct bf_lane *from, struct bf_packet *pkt)
{
	struct bf_port *to = pkt->to;
	struct bf_lane *l = &to->lanes[TO_PORT];
	uint64_t now = from->sim->now_ps;

	if (BF_UNLIKELY(!to->up)) {
		bf_frame_lose(to->info.actor, pkt, BF_DIR_RX, BF_FRAME_LINK_DOWN);
		return;
	}
	/* Where nothing takes time it is there; senders find at once what is held back. */
	if (BF_UNLIKELY(to->fabric->beyond != NULL) && l->instant && leaves(to, pkt))
		return;
	if (to->tie_ps != now) {
		to->tie_ps = now;
		to->tie_free_ps = to->rx_free_ps > now ? to->rx_free_ps : now;
		to->tie_before = l->first ? l->last : NULL;
		to->rx_free_ps = to->tie_free_ps;
	} else if (BF_UNLIKELY(l->first && l->last != to->tie_before && l->last->id > pkt->id)) {
		forward_before(to, pkt);
		return;
	}
	to->rx_free_ps += bf_wire_ps(to->ps_per_kib, pkt->len);
	pkt->at_ps = to->rx_free_ps + to->latency_ps;
	bf_lane_add(l, pkt);
}

/* A fault has held the frame back from its port's queue. */
static void queue_late(struct bf_lane *l, struct bf_packet *pkt)
{
	(void)l;
	bf_net_send(pkt->from, pkt);
}

void bf_port_land(struct bf_port *p, struct bf_packet *pkt)
{
	if (p->expect)
		p->expect(p->owner, pkt);
	bf_lane_add(&p->lanes[LANDING], pkt);
}

static void landed(struct bf_lane *l, struct bf_packet *pkt)
{
	struct bf_port *p = BF_CONTAINER_OF(l, struct bf_port, lanes[LANDING]);

	pkt->at_ps++;
	bf_lane_add_by_id(&p->lanes[TO_PORT], pkt);
}

static void arrive(struct bf_port *to, struct bf_packet *pkt)
{
	to->info.rx_packets++;
	to->info.rx_bytes += pkt->len;
	record(to->info.actor, pkt->from, pkt, BF_DIR_RX, (enum bf_fabric_verdict)pkt->verdict);
	if (BF_UNLIKELY(to->up_hop != NULL) && to->fabric->net->t.cc && bf_cc_receive(to, pkt))
		bf_packet_free(pkt);
	else
		to->rx(to->owner, pkt);
}

/* The frame's last byte is at its receiver, who owns it from here on and may send. */
static void deliver(struct bf_lane *l, struct bf_packet *pkt)
{
	struct bf_port *to = BF_CONTAINER_OF(l, struct bf_port, lanes[TO_PORT]);

	if (BF_UNLIKELY(pkt->kind != BF_NET_FRAME)) {
		bf_hop_take_pause(pkt);
		return;
	}
	if (BF_UNLIKELY(pkt == to->tie_before))
		to->tie_before = NULL;
	if (l->first) {
		__builtin_prefetch(l->first->data);
		__builtin_prefetch(l->first->data + 64);
	}
	if (BF_LIKELY(!to->fabric->beyond) || !leaves(to, pkt))
		arrive(to, pkt);
}

void bf_port_receive(struct bf_port *p, struct bf_packet *pkt)
{
	pkt->value = false;
	bf_port_receive_frame(p, pkt);
}

void bf_port_receive_frame(struct bf_port *p, struct bf_packet *pkt)
{
	struct bf_fabric *f = p->fabric;
	uint32_t from = pkt->len >= BF_IP_FIELDS_END ? bf_get_be32(pkt->data + BF_IP_SRC) : 0;

	pkt->id = (uint64_t)from << 32 | 1u << 31 | (f->received++ & 0x7fffffff);
	pkt->from = f->beyond;
	pkt->to = p;
	pkt->verdict = BF_FRAME_OK;
	pkt->kind = BF_NET_FRAME;
	if (BF_LIKELY(p->up))
		arrive(p, pkt);
	else
		bf_frame_lose(p->info.actor, pkt, BF_DIR_RX, BF_FRAME_LINK_DOWN);
}

static void on_at_switch(struct bf_event *ev)
{
	struct bf_lane *l = BF_CONTAINER_OF(ev, struct bf_lane, due);

	bf_lane_run(l, l->first->home->fabric->net ? queue_late : forward);
}

static void on_leaves(struct bf_event *ev)
{
	bf_lane_run(BF_CONTAINER_OF(ev, struct bf_lane, due), bf_gateway_send);
}

static void on_arrived(struct bf_event *ev)
{
	bf_lane_run(BF_CONTAINER_OF(ev, struct bf_lane, due), deliver);
}

static void on_landed(struct bf_event *ev)
{
	bf_lane_run(BF_CONTAINER_OF(ev, struct bf_lane, due), landed);
}

/* Of a lane to the switch: the port that its first frame goes to. */
static void switch_ahead(const struct bf_event *ev, bool first)
{
	const struct bf_lane *l = BF_CONTAINER_OF(ev, struct bf_lane, due);
	const struct bf_packet *pkt = l->first;

	__builtin_prefetch(pkt, 1);
	if (first || !pkt)
		return;
	__builtin_prefetch(&pkt->to->lanes[TO_PORT], 1);
	__builtin_prefetch(&pkt->to->tie_ps, 1);
	__builtin_prefetch(&pkt->to->ps_per_kib, 1);
}

/* Of a lane to a port: the frame, and what its owner says that it will need for it. */
static void port_ahead(const struct bf_event *ev, bool first)
{
	const struct bf_lane *l = BF_CONTAINER_OF(ev, struct bf_lane, due);
	const struct bf_port *p = BF_CONTAINER_OF(l, struct bf_port, lanes[TO_PORT]);
	const struct bf_packet *pkt = l->first;

	if (!pkt)
		return;
	if (first) {
		__builtin_prefetch(pkt, 1);
		__builtin_prefetch(pkt->data);
		__builtin_prefetch(pkt->data + 64);
		__builtin_prefetch(&p->rx, 1);
		__builtin_prefetch(&p->info, 1);
	} else if (p->expect && pkt->kind == BF_NET_FRAME) {
		p->expect(p->owner, pkt);
	}
}

void bf_port_init_lanes(struct bf_port *p)
{
	static bf_event_fn *const fire[LANES] = {
		[TO_SWITCH] = on_at_switch,    [LATE] = on_at_switch,  [TO_GATEWAY] = on_leaves,
		[LATE_TO_GATEWAY] = on_leaves, [TO_PORT] = on_arrived, [LANDING] = on_landed,
	};

	bf_sim_look_ahead(p->fabric->sim, on_at_switch, switch_ahead);
	bf_sim_look_ahead(p->fabric->sim, on_arrived, port_ahead);
	for (int i = 0; i < LANES; i++) {
		bf_lane_init(&p->lanes[i], p->fabric->sim, fire[i]);
		p->lanes[i].instant = !p->latency_ps && !p->ps_per_kib && !p->fabric->net;
	}
}

/* The frames of a lane that are later than `after_ps` are lost. */
static void lose_after(struct bf_port *p, struct bf_lane *l, uint64_t after_ps)
{
	struct bf_packet **at = &l->first, *gone, *next;

	for (; *at && (*at)->at_ps <= after_ps; at = &(*at)->next)
		l->last = *at;
	gone = *at;
	*at = NULL;
	for (; gone; gone = next) {
		next = gone->next;
		if (gone->kind == BF_NET_FRAME)
			bf_frame_lose(p->info.actor, gone, BF_DIR_RX, BF_FRAME_LINK_DOWN);
		else
			bf_packet_free(gone); /* what was to be stopped is gone, too */
	}
	if (!l->first && !l->busy)
		bf_sim_cancel(l->sim, &l->due);
}

/* The link is cut at the port: what has not left, and what has not arrived, is lost. */
static void cut(struct bf_port *p)
{
	uint64_t now = p->fabric->sim->now_ps, left = p->fabric->net ? 0 : now + p->latency_ps;

	lose_after(p, &p->lanes[TO_SWITCH], left);
	lose_after(p, &p->lanes[LATE], left);
	lose_after(p, &p->lanes[TO_GATEWAY], now);
	lose_after(p, &p->lanes[LATE_TO_GATEWAY], now);
	lose_after(p, &p->lanes[TO_PORT], 0);
	lose_after(p, &p->lanes[LANDING], 0);
	bf_cc_lose(p);
}

static void set_link(struct bf_port *p, bool up)
{
	struct bf_sim *sim = p->fabric->sim;

	if (p->up == up)
		return;
	p->up = up;
	BF_EMIT(sim, p->info.actor, link, .up = up);
	if (!up)
		cut(p);
	p->tx_free_ps = p->rx_free_ps = p->order_ps = sim->now_ps;
	p->tie_ps = BF_NEVER;
	if (p->up_hop)
		bf_hop_set(p->up_hop, up);
	if (p->link)
		p->link(p->owner, up);
}

void bf_port_far_link(struct bf_port *p, bool up)
{
	set_link(p, up);
}

/* At this end of the link: the other one is told. */
static void cut_or_restore(struct bf_port *p, bool up)
{
	if (p->up != up && p->up_hop)
		bf_net_announce(p->up_hop, up);
	set_link(p, up);
}

void bf_port_set_link(struct bf_port *p, bool up)
{
	bf_sim_cancel(p->fabric->sim, &p->restore);
	cut_or_restore(p, up);
}

static void begin_outage(struct bf_port *p, uint64_t delay_ps)
{
	cut_or_restore(p, false);
	bf_sim_after(p->fabric->sim, &p->restore, or_default(delay_ps, BF_FABRIC_OUTAGE_PS));
}

/* A rule of the fault plan is due, for this port or another one. */
void bf_port_on_outage(struct bf_event *ev)
{
	struct bf_port *p = BF_CONTAINER_OF(ev, struct bf_port, outage.event);
	struct bf_sim *sim = p->fabric->sim;
	struct bf_fault down;

	if (!p->remote && bf_fault_check_at(sim, &p->outage, p->info.actor, 0, &down))
		begin_outage(p, down.delay_ps);
	bf_fault_timer_next(sim, &p->outage);
}

void bf_port_on_restore(struct bf_event *ev)
{
	cut_or_restore(BF_CONTAINER_OF(ev, struct bf_port, restore), true);
}
