#include "models/fabric/udp_pace_internal.h"

#include <stdlib.h>

#include "models/fabric/fabric_internal.h"

/*
 * The depth of a bucket: as much as 100 us give, which is about what a thread that sleeps is late, and no less than a
 * message's first few packets.
 */
#define DEPTH_PS (100 * BF_US)
#define DEPTH_BYTES 16384u
#define COUNTS 256u

struct way {
	struct way *next;
	struct bf_pacer *pacer;
	uint32_t ipv4;
	struct bf_udp_bucket bucket;
	struct bf_event event; /* when `first` may leave */
	struct bf_packet *first, *last;
};

struct bf_pacer {
	struct bf_sim *sim;
	uint64_t bits_per_s, depth_ps;
	void (*due)(void *owner, struct bf_packet *chain);
	void *owner;
	struct way *ways;               /* the last used one in front */
	uint32_t waiting, held[COUNTS]; /* held: by the low bits of queue pairs' numbers */
};

/* A packet is 4,200 bytes at most, so nothing overflows from 1 Mb/s up. */
static uint64_t cost(const struct bf_pacer *p, uint64_t bytes)
{
	return bytes * 8 * BF_S / p->bits_per_s;
}

struct bf_pacer *bf_pacer_create(struct bf_sim *sim, uint64_t bits_per_s,
				 void (*due)(void *owner, struct bf_packet *chain), void *owner)
{
	struct bf_pacer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->sim = sim;
	p->bits_per_s = bits_per_s;
	p->depth_ps = cost(p, DEPTH_BYTES) > DEPTH_PS ? cost(p, DEPTH_BYTES) : DEPTH_PS;
	p->due = due;
	p->owner = owner;
	return p;
}

struct bf_packet *bf_pacer_free(struct bf_pacer *p)
{
	struct bf_packet *left = NULL;
	struct way *w;

	while (p && (w = p->ways)) {
		p->ways = w->next;
		bf_sim_cancel(p->sim, &w->event);
		if (w->first)
			w->last->next = left;
		left = w->first ? w->first : left;
		free(w);
	}
	free(p);
	return left;
}

/* True: a packet of `bytes` may leave now, and is counted. */
static bool may_go(struct way *w, uint64_t bytes)
{
	const struct bf_pacer *p = w->pacer;

	if (bf_bucket_ready_ps(&w->bucket, p->depth_ps) > p->sim->now_ps)
		return false;
	bf_bucket_take(&w->bucket, p->sim->now_ps, cost(p, bytes));
	return true;
}

/* Looked at when they leave, not when they come: after a clock that stood still a bucket has no more than its depth. */
static void on_time(struct bf_event *event)
{
	struct way *w = BF_CONTAINER_OF(event, struct way, event);
	struct bf_pacer *p = w->pacer;
	struct bf_packet *chain = w->first, *last = NULL;

	while (w->first && may_go(w, w->first->len)) {
		last = w->first;
		w->first = last->next;
		p->waiting--;
		p->held[bf_frame_queue(last) % COUNTS]--;
	}
	if (w->first)
		bf_sim_at(p->sim, event, bf_bucket_ready_ps(&w->bucket, p->depth_ps));
	if (!last)
		return;
	last->next = NULL;
	p->due(p->owner, chain);
}

static struct way *find(struct bf_pacer *p, uint32_t ipv4)
{
	struct way **at = &p->ways, *w;

	while (*at && (*at)->ipv4 != ipv4)
		at = &(*at)->next;
	w = *at;
	if (w) {
		*at = w->next;
	} else {
		w = calloc(1, sizeof(*w));
		if (!w)
			return NULL;
		w->pacer = p;
		w->ipv4 = ipv4;
		bf_event_init(&w->event, on_time);
	}
	w->next = p->ways;
	p->ways = w;
	return w;
}

bool bf_pacer_passes(struct bf_pacer *p, uint32_t ipv4, struct bf_packet *pkt)
{
	struct way *w = find(p, ipv4);

	if (!w || (!w->first && may_go(w, pkt->len)))
		return true;
	pkt->next = NULL;
	if (w->first) {
		w->last->next = pkt;
	} else {
		w->first = pkt;
		bf_sim_at(p->sim, &w->event, bf_bucket_ready_ps(&w->bucket, p->depth_ps));
	}
	w->last = pkt;
	p->waiting++;
	p->held[bf_frame_queue(pkt) % COUNTS]++;
	return false;
}

uint32_t bf_pacer_waiting(const struct bf_pacer *p)
{
	return p ? p->waiting : 0;
}

uint32_t bf_pacer_held(const struct bf_pacer *p, uint32_t qpn)
{
	return p ? p->held[qpn % COUNTS] : 0;
}
