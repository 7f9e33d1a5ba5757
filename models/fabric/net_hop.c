/*
 * One direction of a link: frames wait by priority, go out one at a time, and stand still while the receiver says so.
 */
#include <errno.h>

#include "models/fabric/net_internal.h"
#include "models/fabric/records.h"
#include "sim/grow.h"

#define PAUSE_BYTES 60u /* IEEE 802.3 clause 31: a minimum frame, less its FCS */

static struct bf_sim *sim_of(const struct bf_hop *h)
{
	return h->net->fabric->sim;
}

/* `bytes` is about to change. */
static void count_depth(struct bf_hop *h)
{
	uint64_t now = sim_of(h)->now_ps;

	h->depth_sum += (bf_u128)h->bytes * (now - h->depth_ps);
	h->depth_ps = now;
}

static struct bf_switch *sender(const struct bf_hop *h)
{
	return h->from == BF_NET_NONE ? NULL : &h->net->switches[h->from];
}

/* Sends the first frame of the highest priority that may go. */
static void start(struct bf_hop *h)
{
	uint32_t ready = h->up && !h->wire ? h->waiting & ~(uint32_t)h->paused : 0;
	struct bf_net_queue *q;
	uint64_t took;

	if (!ready)
		return;
	q = &h->queue[31 - __builtin_clz(ready)];
	h->wire = q->first;
	q->first = h->wire->next;
	q->bytes -= h->wire->len;
	if (!q->first)
		h->waiting &= (uint8_t) ~(1u << h->wire->priority);
	took = bf_wire_ps(h->ps_per_kib, h->wire->len);
	h->load.busy_ps += took;
	bf_sim_after(sim_of(h), &h->done, took);
}

/* The frame is out of the sender's memory. */
static void leave(struct bf_hop *h, struct bf_packet *pkt)
{
	count_depth(h);
	h->bytes -= pkt->len;
	if (sender(h))
		bf_switch_release(sender(h), pkt);
}

static void finish(struct bf_hop *h)
{
	struct bf_packet *pkt = h->wire;

	h->wire = NULL;
	h->load.packets++;
	h->load.bytes += pkt->len;
	leave(h, pkt);
	bf_net_arrive(h, false, pkt, sim_of(h)->now_ps + h->net->t.latency_ps);
	start(h);
}

static void on_done(struct bf_event *ev)
{
	finish(BF_CONTAINER_OF(ev, struct bf_hop, done));
}

void bf_hop_begin_outage(struct bf_hop *h, uint64_t delay_ps)
{
	bf_hop_cut_or_restore(h, false);
	bf_sim_after(sim_of(h), &h->restore, delay_ps ? delay_ps : BF_FABRIC_OUTAGE_PS);
}

/* A rule of the fault plan is due, for this link or another one. */
static void on_outage(struct bf_event *ev)
{
	struct bf_hop *h = BF_CONTAINER_OF(ev, struct bf_hop, outage.event);
	struct bf_fault down;

	if (bf_fault_check_at(sim_of(h), &h->outage, h->actor, 0, &down))
		bf_hop_begin_outage(h, down.delay_ps);
	bf_fault_timer_next(sim_of(h), &h->outage);
}

static void on_restore(struct bf_event *ev)
{
	bf_hop_cut_or_restore(BF_CONTAINER_OF(ev, struct bf_hop, restore), true);
}

static int take_slot(struct bf_hop *h, struct bf_net *n)
{
	if (BF_GROW(n->by_slot, n->slots_cap, n->slots + 1))
		return -ENOMEM;
	h->slot = n->slots;
	n->by_slot[n->slots++] = h;
	return 0;
}

int bf_hop_init(struct bf_hop *h, struct bf_net *n, uint64_t ps_per_kib, uint32_t from, uint32_t to)
{
	h->net = n;
	h->ps_per_kib = ps_per_kib;
	h->from = from;
	h->to = to;
	h->index = BF_NET_NONE;
	h->up = true;
	bf_event_init(&h->done, on_done);
	bf_event_init(&h->restore, on_restore);
	bf_fault_timer_start(sim_of(h), &h->outage, BF_FAULT_LINK_DOWN, on_outage);
	return take_slot(h, n);
}

void bf_hop_queue(struct bf_hop *h, struct bf_packet *pkt)
{
	struct bf_net_queue *q = &h->queue[pkt->priority];

	pkt->next = NULL;
	if (q->first)
		q->last->next = pkt;
	else
		q->first = pkt;
	q->last = pkt;
	q->bytes += pkt->len;
	count_depth(h);
	h->bytes += pkt->len;
	h->load.queue_max = h->bytes > h->load.queue_max ? h->bytes : h->load.queue_max;
	h->waiting |= (uint8_t)(1u << pkt->priority);
	start(h);
}

uint64_t bf_hop_free_ps(const struct bf_hop *h)
{
	uint64_t wire = h->wire ? h->wire->len : 0;

	return (h->wire ? h->done.when : sim_of(h)->now_ps) + (h->bytes - wire) * h->ps_per_kib / 1024;
}

void bf_hop_lose(struct bf_hop *h, struct bf_packet *pkt, enum bf_fabric_verdict verdict)
{
	h->load.dropped++;
	bf_frame_lose(h->actor, pkt, BF_DIR_RX, verdict);
}

static void lose_all(struct bf_hop *h)
{
	struct bf_packet *pkt = h->wire;

	bf_sim_cancel(sim_of(h), &h->done);
	h->wire = NULL;
	if (pkt) {
		leave(h, pkt);
		bf_hop_lose(h, pkt, BF_FRAME_LINK_DOWN);
	}
	for (struct bf_net_queue *q = h->queue; q < h->queue + BF_NET_PRIORITIES; q++)
		while ((pkt = q->first)) {
			q->first = pkt->next;
			q->bytes -= pkt->len;
			leave(h, pkt);
			bf_hop_lose(h, pkt, BF_FRAME_LINK_DOWN);
		}
	h->waiting = 0;
}

static void set_paused(struct bf_hop *h, uint8_t paused)
{
	uint64_t now = sim_of(h)->now_ps;

	if (h->paused && !paused)
		h->load.pause_ps += now - h->paused_ps;
	else if (!h->paused && paused)
		h->paused_ps = now;
	h->paused = paused;
}

void bf_hop_set(struct bf_hop *h, bool up)
{
	struct bf_sim *sim = sim_of(h);

	if (h->up == up)
		return;
	h->up = up;
	if (bf_probe(sim, BF_CLASS_NET) && h->from != BF_NET_NONE) {
		struct bf_rec_link r = { .up = up };

		BF_EMIT_MADE(sim, h->actor, link, r, NULL, 0);
	}
	if (!up) {
		set_paused(h, 0);
		lose_all(h);
	}
	/* Whoever sends here has forgotten that it was told to stop. */
	for (uint32_t p = 0; up && sender(h) && p < BF_NET_PRIORITIES; p++)
		if (h->reverse->pausing >> p & 1)
			bf_hop_tell(h->reverse, p, true);
}

void bf_hop_cut_or_restore(struct bf_hop *h, bool up)
{
	bf_sim_cancel(sim_of(h), &h->restore);
	if (h->up == up)
		return;
	bf_net_announce(h, up);
	bf_hop_set(h, up);
}

/* Ahead of all frames, but not of the one being sent. Without memory nothing is told: the next frame tries again. */
void bf_hop_tell(struct bf_hop *in, uint32_t priority, bool on)
{
	const struct bf_hop *out = in->reverse;
	struct bf_packet *pkt = bf_packet_alloc_for(in->net->fabric, 0);
	uint64_t from = out->wire ? out->done.when : sim_of(in)->now_ps;

	if (!pkt)
		return;
	in->pausing = (uint8_t)((in->pausing & ~(1u << priority)) | (uint32_t)on << priority);
	in->load.pauses += on;
	pkt->kind = BF_NET_PAUSE;
	pkt->value = (uint8_t)(priority | (uint32_t)on << 7);
	pkt->id = in->index;
	bf_net_arrive(in, true, pkt, from + bf_wire_ps(out->ps_per_kib, PAUSE_BYTES) + in->net->t.latency_ps);
}

void bf_hop_take_pause(struct bf_packet *pkt)
{
	struct bf_hop *h = bf_net_hop(pkt);
	struct bf_sim *sim = sim_of(h);
	uint32_t priority = pkt->value & 0x7f, bit = 1u << priority;
	bool on = pkt->value >> 7;

	bf_packet_free(pkt);
	if (!h->up)
		return;
	BF_EMIT(sim, h->actor, pause, .priority = priority, .paused = on);
	set_paused(h, (uint8_t)(on ? h->paused | bit : h->paused & ~bit));
	start(h);
}

void bf_hop_load(const struct bf_hop *h, struct bf_fabric_link *out)
{
	const struct bf_fabric *f = h->net->fabric;
	uint64_t now = f->sim->now_ps;

	*out = h->load;
	out->name = h->name;
	out->from = h->from_name;
	out->to = h->to_name;
	out->actor = h->from == BF_NET_NONE ? h->load.actor : h->actor;
	out->up = h->up;
	out->here = (h->from == BF_NET_NONE ? h->port->rank : h->net->switches[h->from].rank) == f->my_rank;
	out->gbps = (uint32_t)(h->port ? h->net->t.host_gbps : h->net->t.up_gbps);
	out->pause_ps += h->paused ? now - h->paused_ps : 0;
	out->queue_mean = now ? (uint64_t)((h->depth_sum + (bf_u128)h->bytes * (now - h->depth_ps)) / now) : 0;
}
