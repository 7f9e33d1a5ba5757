/*
 * A switch: what lands is put in order, routed, admitted to the shared buffer, perhaps marked, and queued for a link.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "models/fabric/net_internal.h"
#include "models/fabric/records.h"
#include "models/fabric/roce.h"
#include "sim/grow.h"

#define IP_TOS (BF_ROCE_ETH_LEN + 1)
#define IP_SUM (BF_ROCE_ETH_LEN + 10)
#define UDP_SRC (BF_ROCE_ETH_LEN + 20)
#define ECN_MASK 3u /* RFC 3168: 0 not capable, 1 and 2 capable, 3 congestion experienced */

static bool usable(const struct bf_switch *a, const struct bf_switch *b, uint32_t word, uint64_t *both)
{
	*both = a->alive[word] & b->alive[word];
	return *both != 0;
}

/* RFC 2992's problem, solved plainly: the n-th of the spines that lead to the leaf. */
static struct bf_hop *choose_spine(struct bf_switch *leaf, const struct bf_switch *to, const struct bf_packet *pkt)
{
	struct bf_net *n = leaf->net;
	uint32_t words = (n->nspines + 63) / 64, count = 0;
	uint64_t both, state, chosen;

	for (uint32_t w = 0; w < words; w++)
		count += usable(leaf, to, w, &both) ? (uint32_t)__builtin_popcountll(both) : 0;
	if (!count)
		return NULL;
	state = leaf->hash_seed ^ ((uint64_t)bf_get_be32(pkt->data + BF_IP_SRC) << 32 | pkt->to->info.ipv4);
	state = bf_splitmix64(&state) ^ (pkt->len >= UDP_SRC + 2 ? bf_get_be16(pkt->data + UDP_SRC) : 0);
	chosen = (bf_splitmix64(&state) >> 32) * count >> 32;
	for (uint32_t w = 0; w < words; w++) {
		uint32_t here = usable(leaf, to, w, &both) ? (uint32_t)__builtin_popcountll(both) : 0;

		if (chosen >= here) {
			chosen -= here;
			continue;
		}
		while (chosen--)
			both &= both - 1;
		return bf_net_up(n, leaf->index, w * 64 + (uint32_t)__builtin_ctzll(both));
	}
	return NULL;
}

static struct bf_hop *route(struct bf_switch *sw, const struct bf_packet *pkt)
{
	struct bf_hop *down = pkt->to->down_hop;

	if (down->from == sw->index)
		return down;
	if (bf_net_is_leaf(sw))
		return choose_spine(sw, &sw->net->switches[down->from], pkt);
	return bf_net_up(sw->net, down->from, sw->index - sw->net->nleaves)->reverse;
}

/* Congestion experienced, with the header's checksum kept right (RFC 1624, equation 3). */
static void set_ce(uint8_t *frame)
{
	uint32_t before = bf_get_be16(frame + BF_ROCE_ETH_LEN), sum;

	frame[IP_TOS] |= ECN_MASK;
	sum =
	    (uint32_t)(uint16_t)~bf_get_be16(frame + IP_SUM) + (uint16_t)~before + bf_get_be16(frame + BF_ROCE_ETH_LEN);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	bf_put_be16(frame + IP_SUM, (uint16_t)~sum);
}

/* Random early detection on the depth of the queue that the frame joins. */
static bool mark(struct bf_switch *sw, struct bf_hop *h, struct bf_packet *pkt)
{
	const struct bf_topology *t = &sw->net->t;
	uint64_t depth = h->queue[pkt->priority].bytes;

	if (!t->ecn || depth < t->kmin || !(pkt->data[IP_TOS] & ECN_MASK))
		return false;
	if (depth < t->kmax && bf_rng_below(&sw->rng, (t->kmax - t->kmin) * 100) >= t->pmax * (depth - t->kmin))
		return false;
	set_ce(pkt->data);
	h->load.marked++;
	return true;
}

/* The frame takes room, and the sender of the link that it came by may have to stop. */
static void admit(struct bf_switch *sw, struct bf_packet *pkt)
{
	struct bf_hop *in = bf_net_hop(pkt);
	uint32_t p = pkt->priority;

	sw->used += pkt->len;
	sw->used_max = sw->used > sw->used_max ? sw->used : sw->used_max;
	in->ingress[p] += pkt->len;
	if (sw->net->t.pfc && in->ingress[p] > sw->net->t.xoff && !(in->pausing >> p & 1))
		bf_hop_tell(in, p, true);
}

void bf_switch_release(struct bf_switch *sw, const struct bf_packet *pkt)
{
	struct bf_hop *in = bf_net_hop(pkt);
	uint32_t p = pkt->priority;

	sw->used -= pkt->len;
	in->ingress[p] -= pkt->len;
	if (in->pausing >> p & 1 && in->ingress[p] <= sw->net->t.xon)
		bf_hop_tell(in, p, false);
}

/* The fault plan's say on a frame that is about to join the queue of `h`. True when it is lost. */
static bool injected(struct bf_hop *h, struct bf_packet *pkt)
{
	struct bf_sim *sim = h->net->fabric->sim;
	struct bf_fault down, drop, bad;
	bool is_down = bf_fault_check(sim, BF_FAULT_LINK_DOWN, h->actor, 0, &down);
	bool is_drop = bf_fault_check(sim, BF_FAULT_DROP, h->actor, 0, &drop);
	bool is_bad = bf_fault_check(sim, BF_FAULT_CORRUPT, h->actor, 0, &bad);

	if (is_down)
		bf_hop_begin_outage(h, down.delay_ps);
	if (is_drop)
		bf_hop_lose(h, pkt, BF_FRAME_DROPPED);
	else if (is_bad)
		bf_frame_corrupt(pkt, bad.draw);
	return is_drop;
}

static void forward(struct bf_switch *sw, struct bf_packet *pkt)
{
	const struct bf_topology *t = &sw->net->t;
	struct bf_sim *sim = sw->net->fabric->sim;
	struct bf_hop *h = route(sw, pkt);
	bool marked;

	if (BF_UNLIKELY(!h)) {
		bf_hop_lose(bf_net_hop(pkt), pkt, BF_FRAME_NO_ROUTE);
		return;
	}
	if (BF_UNLIKELY(sim->faults != NULL) && injected(h, pkt))
		return;
	if (BF_UNLIKELY(!h->up)) {
		bf_hop_lose(h, pkt, BF_FRAME_LINK_DOWN);
		return;
	}
	if (sw->used + pkt->len > t->buffer || (!t->pfc && h->queue[pkt->priority].bytes + pkt->len > t->queue)) {
		bf_hop_lose(h, pkt, BF_FRAME_OVERFLOW);
		return;
	}
	marked = mark(sw, h, pkt);
	BF_EMIT(sim, h->actor, hop, .packet = pkt->id, .depth = (uint32_t)(h->queue[pkt->priority].bytes + pkt->len),
		.len = (uint16_t)pkt->len, .priority = pkt->priority, .marked = marked);
	admit(sw, pkt);
	bf_hop_queue(h, pkt);
}

static void come(struct bf_switch *sw, struct bf_packet *pkt)
{
	if (pkt->kind == BF_NET_PAUSE)
		bf_hop_take_pause(pkt);
	else
		forward(sw, pkt);
}

static bool reserve_due(struct bf_switch *sw)
{
	if (!BF_GROW(sw->due, sw->due_cap, sw->last + 1))
		return true;
	bf_fail(&sw->net->fabric->sim->error, -ENOMEM, "no memory for packets in a switch");
	return false;
}

/* A picosecond after it landed. Without memory it comes at once, ahead of its turn. */
static void stage(struct bf_switch *sw, struct bf_packet *pkt)
{
	uint64_t at_ps = pkt->at_ps + 1;
	uint32_t at;

	if (!reserve_due(sw)) {
		come(sw, pkt);
		return;
	}
	for (at = sw->last++; at > sw->first; at--) {
		const struct bf_net_due *before = &sw->due[at - 1];

		if (before->at_ps < at_ps || (before->at_ps == at_ps && before->id <= pkt->id))
			break;
		sw->due[at] = *before;
	}
	sw->due[at] = (struct bf_net_due){ at_ps, pkt->id, pkt };
	if (at == sw->first)
		bf_sim_at(sw->net->fabric->sim, &sw->ready, at_ps);
}

static void on_ready(struct bf_event *ev)
{
	struct bf_switch *sw = BF_CONTAINER_OF(ev, struct bf_switch, ready);
	struct bf_sim *sim = sw->net->fabric->sim;

	while (sw->first < sw->last && sw->due[sw->first].at_ps <= sim->now_ps)
		come(sw, sw->due[sw->first++].pkt);
	memmove(sw->due, sw->due + sw->first, (sw->last - sw->first) * sizeof(*sw->due));
	sw->last -= sw->first;
	sw->first = 0;
	if (sw->last)
		bf_sim_at(sim, ev, sw->due[0].at_ps);
}

static void landed(struct bf_lane *l, struct bf_packet *pkt)
{
	stage(BF_CONTAINER_OF(l, struct bf_switch, landing), pkt);
}

static void control_landed(struct bf_lane *l, struct bf_packet *pkt)
{
	stage(BF_CONTAINER_OF(l, struct bf_switch, control), pkt);
}

static void on_landing(struct bf_event *ev)
{
	bf_lane_run(BF_CONTAINER_OF(ev, struct bf_lane, due), landed);
}

static void on_control(struct bf_event *ev)
{
	bf_lane_run(BF_CONTAINER_OF(ev, struct bf_lane, due), control_landed);
}

void bf_switch_init(struct bf_switch *sw, struct bf_net *n, uint32_t index)
{
	struct bf_sim *sim = n->fabric->sim;

	sw->net = n;
	sw->index = index;
	sw->lowest = UINT32_MAX;
	if (index < n->nleaves)
		snprintf(sw->name, sizeof(sw->name), "leaf%u", index);
	else
		snprintf(sw->name, sizeof(sw->name), "spine%u", index - n->nleaves);
	for (uint32_t s = 0; s < n->nspines; s++)
		sw->alive[s / 64] |= 1ull << (s % 64);
	bf_rng_init(&sw->rng, sim->seed, sw->name);
	sw->hash_seed = bf_rng_next(&sw->rng);
	bf_lane_init(&sw->landing, sim, on_landing);
	bf_lane_init(&sw->control, sim, on_control);
	bf_event_init(&sw->ready, on_ready);
}
