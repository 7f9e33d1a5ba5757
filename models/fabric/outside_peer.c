/*
 * Frames for other processes of this machine. One goes into its process's ring, which nothing else slows down. When the
 * ring is full, frames wait here in a queue for each queue pair, and the queue pairs take turns when there is room
 * again, so that one that sends much does not keep the others waiting.
 */
#include <errno.h>
#include <stdlib.h>

#include "models/fabric/outside_internal.h"
#include "sim/clock.h"

#define RETRY_NS 1000000ull /* where nobody was we look again after a millisecond */

void bf_outside_lose(struct bf_outside *o, struct bf_packet *pkt, enum bf_fabric_verdict verdict)
{
	o->count.lost++;
	bf_frame_lose(pkt->from->info.actor, pkt, BF_DIR_TX, verdict);
}

static struct bf_peer *new_peer(struct bf_outside *o, uint32_t slot)
{
	struct bf_peer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->slot = slot;
	p->fd = -1;
	p->idle_at = UINT64_MAX;
	o->peers[slot] = p;
	return p;
}

/* Connected, or NULL: nobody has the slot. */
static struct bf_peer *peer_of(struct bf_outside *o, uint32_t slot)
{
	struct bf_peer *p = o->peers[slot];
	uint64_t now;

	if (BF_LIKELY(p && p->fd >= 0))
		return p;
	if (!p && !(p = new_peer(o, slot)))
		return NULL;
	now = bf_monotonic_ns();
	if (now < p->retry_ns)
		return NULL;
	p->retry_ns = now + RETRY_NS;
	return bf_meet_connect(o, p) ? NULL : p;
}

/* Last in its queue, which is last in the ring of those that have something. */
static void hold(struct bf_outside *o, struct bf_peer *p, struct bf_packet *pkt)
{
	uint32_t qpn = bf_frame_queue(pkt) % BF_OUTSIDE_QPNS;
	struct bf_held *h;

	if (!p->held)
		p->held = calloc(BF_OUTSIDE_QPNS, sizeof(*p->held)); /* of which the kernel gives what is used */
	if (!p->held || o->held >= OUTSIDE_HELD_MAX) {
		bf_outside_lose(o, pkt, BF_FRAME_OVERFLOW);
		return;
	}
	h = &p->held[qpn];
	pkt->next = NULL;
	if (h->first) {
		h->last->next = pkt;
	} else {
		h->first = pkt;
		h->next = p->turn ? p->turn->next : h;
		if (p->turn)
			p->turn->next = h;
		p->turn = h;
	}
	h->last = pkt;
	h->count++;
	if (!p->blocked) {
		p->blocked = true;
		p->next_blocked = o->blocked;
		o->blocked = p;
	}
	o->held++;
	o->count.held++;
}

/* The first frame of the queue whose turn it is; the queue goes to the end of the ring. */
static struct bf_packet *next_held(struct bf_outside *o, struct bf_peer *p)
{
	struct bf_held *h = p->turn->next;
	struct bf_packet *pkt = h->first;

	h->first = pkt->next;
	if (h->first)
		p->turn = h;
	else if (h == p->turn)
		p->turn = NULL;
	else
		p->turn->next = h->next;
	h->count--;
	o->held--;
	return pkt;
}

uint32_t bf_peer_held(const struct bf_outside *o, uint32_t qpn)
{
	const uint32_t slot = qpn / BF_OUTSIDE_QPNS;
	const struct bf_peer *p = slot < BF_OUTSIDE_SLOTS ? o->peers[slot] : NULL;

	return p && p->held ? p->held[qpn % BF_OUTSIDE_QPNS].count : 0;
}

static void touch(struct bf_outside *o, struct bf_peer *p)
{
	if (p->touched)
		return;
	p->touched = true;
	p->next_touched = o->touched;
	o->touched = p;
}

/*
 * What a time-out finds in the ring when it first looks is what it waits for: others who go on sending would keep it
 * waiting forever.
 */
bool bf_peer_idles(struct bf_outside *o, uint32_t slot, uint32_t qpn, uint64_t *sent)
{
	struct bf_peer *p = o->peers[slot];
	uint64_t answered;

	if (!p || p->fd < 0)
		return false;
	if (!*sent || *sent > p->ring.at) /* another process may have the place by now */
		*sent = p->ring.at;
	answered = bf_ring_answered(&p->ring);
	if (answered >= *sent && !bf_peer_held(o, qpn))
		return false;
	touch(o, p);                                             /* it is told once more */
	if (p->idle_at == UINT64_MAX || answered > p->idle_at) { /* it does not go back, whatever it writes there */
		p->idle_at = answered;
		p->idle_ps = o->sim->now_ps;
	}
	return o->sim->now_ps - p->idle_ps < BF_UPLINK_PATIENCE_PS;
}

static void lose_held(struct bf_outside *o, struct bf_peer *p)
{
	while (p->turn)
		bf_outside_lose(o, next_held(o, p), BF_FRAME_NO_ROUTE);
}

void bf_peer_gone(struct bf_outside *o, struct bf_peer *p)
{
	if (p->fd >= 0)
		o->count.peers--;
	bf_meet_hang_up(o, &p->fd);
	bf_ring_unmap(&p->ring);
	bf_door_unmap(p->door);
	p->door = NULL;
	p->retry_ns = 0;
	p->idle_at = UINT64_MAX;
	bf_outside_forget_members(o);
	lose_held(o, p);
}

void bf_peer_free(struct bf_outside *o, struct bf_peer *p)
{
	if (!p)
		return;
	bf_peer_gone(o, p);
	free(p->held);
	free(p);
}

/* 0: it is in the ring. -EAGAIN: no room. Anything else: the peer has spoilt its ring and is gone. */
static int put(struct bf_outside *o, struct bf_peer *p, const struct bf_packet *pkt)
{
	const uint64_t shown = p->ring.shown;
	int rc = bf_ring_put(&p->ring, pkt->data, pkt->len);

	if (BF_LIKELY(!rc)) {
		o->count.tx_frames++;
		touch(o, p);
		if (p->ring.shown != shown && p->door)
			bf_meet_knock(o, p); /* it takes these while the rest is made */
	} else if (rc != -EAGAIN) {
		o->count.cut_off++;
		bf_fail(&o->error, rc, "outside: process %u is cut off: its ring makes no sense", p->slot);
		bf_peer_gone(o, p);
	}
	return rc;
}

bool bf_peer_send(struct bf_outside *o, uint32_t slot, struct bf_packet *pkt)
{
	struct bf_peer *p = peer_of(o, slot);
	int rc;

	if (BF_UNLIKELY(!p)) {
		bf_outside_lose(o, pkt, BF_FRAME_NO_ROUTE);
		return false;
	}
	rc = p->turn ? -EAGAIN : put(o, p, pkt);
	if (BF_LIKELY(!rc))
		bf_packet_free(pkt);
	else if (rc == -EAGAIN)
		hold(o, p, pkt);
	else
		bf_outside_lose(o, pkt, BF_FRAME_NO_ROUTE);
	return true;
}

/* What is held, in turn, until the ring is full again. False: there is more. */
static bool release(struct bf_outside *o, struct bf_peer *p)
{
	while (p->turn) {
		struct bf_held *h = p->turn->next;

		if (put(o, p, h->first)) {
			if (!p->turn)
				return true; /* it has gone */
			bf_ring_show(&p->ring);
			if (!bf_ring_want(&p->ring))
				return false;
			continue;
		}
		bf_packet_free(next_held(o, p));
	}
	return true;
}

void bf_peer_release(struct bf_outside *o)
{
	struct bf_peer **at = &o->blocked;

	while (*at) {
		struct bf_peer *p = *at;

		if (release(o, p)) {
			*at = p->next_blocked;
			p->blocked = false;
		} else {
			at = &p->next_blocked;
		}
	}
}

void bf_peer_flush(struct bf_outside *o)
{
	while (o->touched) {
		struct bf_peer *p = o->touched;

		o->touched = p->next_touched;
		p->touched = false;
		if (p->fd < 0)
			continue;
		bf_ring_show(&p->ring);
		bf_meet_knock(o, p);
	}
}
