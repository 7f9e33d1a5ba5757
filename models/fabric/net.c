/*
 * A topology of several switches: building it, giving ports their place, telling everybody what broke.
 */
#include "models/fabric/cc_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/records.h"
#include "sim/stats.h"

#define LEAVES_MAX 1024u
#define CHANGE_EARLY_PS 2u /* ahead of what lands, which is 1 ps early */

static uint64_t ps_of(uint64_t gbps)
{
	return 1024 * 8 * 1000 / gbps;
}

/* Statistics of a direction that this process simulates. */
static int attach_stats(struct bf_hop *h)
{
	const struct {
		const char *part, *unit;
		const uint64_t *field;
	} stats[] = {
		{ "packets", "", &h->load.packets },   { "bytes", "B", &h->load.bytes },
		{ "dropped", "", &h->load.dropped },   { "ecn_marked", "", &h->load.marked },
		{ "pauses", "", &h->load.pauses },     { "pause_ps", "ps", &h->load.pause_ps },
		{ "busy_ps", "ps", &h->load.busy_ps }, { "queue_max", "B", &h->load.queue_max },
	};
	int rc = 0;

	for (size_t i = 0; i < BF_ARRAY_LEN(stats) && !rc; i++)
		rc =
		    bf_stats_attach_part(h->net->fabric->sim, h, h->name, stats[i].part, stats[i].unit, stats[i].field);
	return rc;
}

/* A direction whose sender is a switch is an actor of its own. */
static int name_hop(struct bf_hop *h, const char *from, const char *to)
{
	snprintf(h->from_name, sizeof(h->from_name), "%s", from);
	snprintf(h->to_name, sizeof(h->to_name), "%s", to);
	snprintf(h->name, sizeof(h->name), "%s-%s", h->from_name, h->to_name);
	h->actor = bf_stream_actor(&h->net->fabric->sim->rec, "link", h->name);
	return h->actor ? attach_stats(h) : -ENOMEM;
}

static void join(struct bf_hop *a, struct bf_hop *b)
{
	a->reverse = b;
	b->reverse = a;
}

static int build_uplinks(struct bf_net *n)
{
	uint64_t rate = ps_of(n->t.up_gbps);
	int rc = 0;

	for (uint32_t l = 0; l < n->nleaves && !rc; l++)
		for (uint32_t s = 0; s < n->nspines && !rc; s++) {
			struct bf_hop *up = bf_net_up(n, l, s), *down = up + 1;
			struct bf_switch *leaf = &n->switches[l], *spine = &n->switches[n->nleaves + s];

			rc = bf_hop_init(up, n, rate, leaf->index, spine->index);
			rc = rc ? rc : bf_hop_init(down, n, rate, spine->index, leaf->index);
			join(up, down);
			up->index = (uint32_t)(up - n->hops);
			down->index = up->index + 1;
			up->load.kind = BF_LINK_UP;
			down->load.kind = BF_LINK_DOWN;
			rc = rc ? rc : name_hop(up, leaf->name, spine->name);
			rc = rc ? rc : name_hop(down, spine->name, leaf->name);
		}
	return rc;
}

static int build(struct bf_net *n)
{
	size_t links = (size_t)n->nleaves * n->nspines;

	n->switches = calloc(n->nleaves + n->nspines, sizeof(*n->switches));
	n->hops = calloc(2 * links + 1, sizeof(*n->hops));
	if (!n->switches || !n->hops)
		return -ENOMEM;
	for (uint32_t i = 0; i < n->nleaves + n->nspines; i++)
		bf_switch_init(&n->switches[i], n, i);
	return build_uplinks(n);
}

int bf_fabric_set_topology(struct bf_fabric *f, const struct bf_topology *t)
{
	struct bf_net *n;

	if (f->count || f->net)
		return bf_fail(&f->sim->error, -EBUSY, "fabric: a topology is set once, before the first port");
	if (t->kind == BF_TOPOLOGY_SWITCH)
		return 0;
	if (!t->leaves || !t->rails || t->leaves * t->rails > LEAVES_MAX || t->spines > BF_NET_SPINES_MAX ||
	    !t->hosts_per_leaf || !t->host_gbps || !t->up_gbps || t->latency_ps <= CHANGE_EARLY_PS ||
	    t->detect_ps < t->latency_ps)
		return bf_fail(&f->sim->error, -EINVAL, "fabric: no topology text gives these values");
	n = calloc(1, sizeof(*n));
	if (!n)
		return bf_fail(&f->sim->error, -ENOMEM, "fabric: no memory for the topology");
	n->fabric = f;
	n->t = *t;
	n->nleaves = (uint32_t)(t->leaves * t->rails);
	n->nspines = (uint32_t)t->spines;
	bf_lane_init(&n->changes, f->sim, bf_net_on_changes);
	bf_lane_init(&n->changes_ready, f->sim, bf_net_on_changes_ready);
	if (build(n)) {
		bf_net_destroy(n);
		return bf_fail(&f->sim->error, -ENOMEM, "fabric: no memory for the topology");
	}
	f->net = n;
	f->min_latency_ps = t->latency_ps - CHANGE_EARLY_PS;
	return 0;
}

static void drop_hop(struct bf_sim *sim, struct bf_hop *h)
{
	if (!h->net)
		return;
	bf_sim_cancel(sim, &h->done);
	bf_sim_cancel(sim, &h->restore);
	bf_sim_cancel(sim, &h->outage.event);
	bf_stats_detach(sim, h);
}

static void remove_pair(struct bf_net *n)
{
	struct bf_hop_pair *next = n->pairs->next;

	drop_hop(n->fabric->sim, &n->pairs->up);
	drop_hop(n->fabric->sim, &n->pairs->down);
	free(n->pairs);
	n->pairs = next;
}

void bf_net_destroy(struct bf_net *n)
{
	struct bf_sim *sim = n ? n->fabric->sim : NULL;

	if (!n)
		return;
	for (uint32_t i = 0; n->switches && i < n->nleaves + n->nspines; i++)
		if (n->switches[i].net) {
			bf_sim_cancel(sim, &n->switches[i].landing.due);
			bf_sim_cancel(sim, &n->switches[i].control.due);
			bf_sim_cancel(sim, &n->switches[i].ready);
			free(n->switches[i].due);
		}
	bf_sim_cancel(sim, &n->changes.due);
	bf_sim_cancel(sim, &n->changes_ready.due);
	for (size_t i = 0; n->hops && i < 2 * (size_t)n->nleaves * n->nspines; i++)
		drop_hop(sim, &n->hops[i]);
	while (n->pairs)
		remove_pair(n);
	free(n->by_slot);
	free(n->hops);
	free(n->switches);
	free(n);
}

/* A host's side is named by its number, which all ranks know; the port itself is the actor of what it sends. */
static int name_pair(struct bf_hop_pair *pair, const struct bf_switch *sw, const struct bf_port *p)
{
	char host[32];

	snprintf(host, sizeof(host), p->rail ? "host%u.%u" : "host%u", p->host, p->rail);
	snprintf(pair->up.from_name, sizeof(pair->up.from_name), "%s", host);
	snprintf(pair->up.to_name, sizeof(pair->up.to_name), "%s", sw->name);
	snprintf(pair->up.name, sizeof(pair->up.name), "%s-%s", host, sw->name);
	pair->up.actor = p->info.actor;
	/* The sum at the end is the link's own: what a port's actor records is the same on any number of ranks. */
	pair->up.load.actor = bf_stream_actor(&p->fabric->sim->rec, "link", pair->up.name);
	if (!pair->up.load.actor)
		return -ENOMEM;
	return p->remote || !attach_stats(&pair->up) ? name_hop(&pair->down, sw->name, host) : -ENOMEM;
}

int bf_net_place(struct bf_net *n, struct bf_port *p)
{
	uint32_t rail = n->t.kind == BF_TOPOLOGY_RAIL ? p->rail : 0;
	uint64_t leaf = rail * n->t.leaves + p->host / n->t.hosts_per_leaf;
	struct bf_hop_pair *pair;
	struct bf_switch *sw;
	int rc;

	if (rail >= n->t.rails || p->host / n->t.hosts_per_leaf >= n->t.leaves)
		return bf_fail(&n->fabric->sim->error, -EINVAL,
			       "fabric: port '%s': the topology has no host %u, rail %u", p->name, p->host, p->rail);
	pair = calloc(1, sizeof(*pair));
	if (!pair)
		return -ENOMEM;
	sw = &n->switches[leaf];
	rc = bf_hop_init(&pair->up, n, ps_of(n->t.host_gbps), BF_NET_NONE, sw->index);
	rc = rc ? rc : bf_hop_init(&pair->down, n, ps_of(n->t.host_gbps), sw->index, BF_NET_NONE);
	join(&pair->up, &pair->down);
	pair->up.port = pair->down.port = p;
	pair->up.load.kind = BF_LINK_FROM_HOST;
	pair->down.load.kind = BF_LINK_TO_HOST;
	pair->next = n->pairs;
	n->pairs = pair;
	p->up_hop = &pair->up;
	p->down_hop = &pair->down;
	if (p->info.ipv4 < sw->lowest) {
		sw->lowest = p->info.ipv4;
		sw->rank = p->rank;
	}
	n->sealed = false;
	if (rc || name_pair(pair, sw, p)) {
		remove_pair(n);
		p->up_hop = p->down_hop = NULL;
		return -ENOMEM;
	}
	return 0;
}

void bf_net_seal(struct bf_net *n)
{
	const struct bf_fabric *f = n->fabric;

	n->sealed = true;
	for (uint32_t i = 0; i < f->count; i++)
		n->nranks = f->ports[i]->rank >= n->nranks ? f->ports[i]->rank + 1 : n->nranks;
	for (uint32_t s = 0; s < n->nspines; s++)
		n->switches[n->nleaves + s].rank = n->switches[s % n->nleaves].rank;
}

/* Of a host's link the port is the other end; priority: the class selector of DSCP (RFC 2474). */
void bf_net_send(struct bf_port *p, struct bf_packet *pkt)
{
	if (BF_UNLIKELY(!p->up)) {
		bf_frame_lose(p->info.actor, pkt, BF_DIR_TX, BF_FRAME_LINK_DOWN);
		return;
	}
	pkt->priority = pkt->data[BF_ROCE_TOS_OFFSET] >> 5;
	if (BF_LIKELY(!p->cc) || !bf_cc_hold(p, pkt))
		bf_hop_queue(p->up_hop, pkt);
}

void bf_net_land(struct bf_hop *h, bool back, struct bf_packet *pkt, uint64_t at_ps, bool far)
{
	uint32_t node = back ? h->from : h->to;
	struct bf_switch *sw;

	pkt->hop = h->slot;
	pkt->at_ps = at_ps - 1;
	if (node == BF_NET_NONE) {
		bf_port_land(h->port, pkt);
		return;
	}
	sw = &h->net->switches[node];
	bf_lane_add(back || far ? &sw->control : &sw->landing, pkt);
}

static uint32_t rank_of(const struct bf_hop *h, bool back)
{
	uint32_t node = back ? h->from : h->to;

	return node == BF_NET_NONE ? h->port->rank : h->net->switches[node].rank;
}

void bf_net_arrive(struct bf_hop *h, bool back, struct bf_packet *pkt, uint64_t at_ps)
{
	uint32_t rank;

	if (BF_UNLIKELY(!h->net->sealed))
		bf_net_seal(h->net);
	rank = rank_of(h, back);
	if (BF_LIKELY(rank == h->net->fabric->my_rank))
		bf_net_land(h, back, pkt, at_ps, false);
	else
		bf_gateway_arrive(h, back, pkt, rank, at_ps);
}

/* One notice for changes; ids are in order of links, so that the order of equal times is everybody's. */
static int notice(struct bf_hop *h, enum bf_net_kind kind, bool up, uint64_t at_ps)
{
	struct bf_packet *pkt = bf_packet_alloc_for(h->net->fabric, 0);

	if (!pkt)
		return bf_fail(&h->net->fabric->sim->error, -ENOMEM, "fabric: no memory to tell of a link");
	pkt->kind = (uint8_t)kind;
	pkt->hop = h->slot;
	pkt->value = up;
	pkt->id = h->port ? (uint64_t)h->port->info.ipv4 << 32 | (h->from == BF_NET_NONE) : h->index;
	pkt->at_ps = at_ps - CHANGE_EARLY_PS;
	bf_lane_add_by_id(&h->net->changes, pkt);
	return 0;
}

int bf_net_announce_here(struct bf_hop *h, bool up, uint64_t when_ps)
{
	const struct bf_net *n = h->net;
	int rc = 0;

	if (rank_of(h->reverse, true) == n->fabric->my_rank)
		rc = notice(h->reverse, BF_NET_FAR, up, when_ps + n->t.latency_ps);
	if (!rc && !h->port)
		rc = notice(h, BF_NET_ROUTE, up, when_ps + n->t.detect_ps);
	return rc;
}

void bf_net_announce(struct bf_hop *h, bool up)
{
	struct bf_net *n = h->net;

	if (!n->sealed)
		bf_net_seal(n);
	for (uint32_t rank = 0; rank < n->nranks; rank++) {
		if (rank == n->fabric->my_rank)
			bf_net_announce_here(h, up, n->fabric->sim->now_ps);
		else if (!h->port || rank == rank_of(h->reverse, true))
			bf_gateway_announce(h, up, rank);
	}
}

static void reroute(struct bf_hop *h, bool up)
{
	struct bf_net *n = h->net;
	struct bf_sim *sim = n->fabric->sim;
	const struct bf_hop *one = h->load.kind == BF_LINK_UP ? h : h->reverse;
	uint32_t spine = one->to - n->nleaves;
	uint64_t bit = 1ull << (spine % 64), *alive = &n->switches[one->from].alive[spine / 64];

	*alive = up ? *alive | bit : *alive & ~bit;
	BF_EMIT(sim, h->actor, reroute, .up = up);
}

static void change(struct bf_lane *l, struct bf_packet *pkt)
{
	struct bf_hop *h = bf_net_hop(pkt);
	bool up = pkt->value;

	(void)l;
	if (pkt->kind == BF_NET_ROUTE)
		reroute(h, up);
	else if (h->from == BF_NET_NONE)
		bf_port_far_link(h->port, up);
	else
		bf_hop_set(h, up);
	bf_packet_free(pkt);
}

static void change_soon(struct bf_lane *l, struct bf_packet *pkt)
{
	pkt->at_ps += CHANGE_EARLY_PS;
	bf_lane_add_by_id(&BF_CONTAINER_OF(l, struct bf_net, changes)->changes_ready, pkt);
}

void bf_net_on_changes(struct bf_event *ev)
{
	bf_lane_run(BF_CONTAINER_OF(ev, struct bf_lane, due), change_soon);
}

void bf_net_on_changes_ready(struct bf_event *ev)
{
	bf_lane_run(BF_CONTAINER_OF(ev, struct bf_lane, due), change);
}

static struct bf_hop *hop_by_name(const struct bf_fabric *f, const char *name)
{
	struct bf_net *n = f->net;

	for (size_t i = 0; i < 2 * (size_t)n->nleaves * n->nspines; i++)
		if (!strcmp(n->hops[i].name, name))
			return &n->hops[i];
	for (struct bf_hop_pair *p = n->pairs; p; p = p->next) {
		if (!strcmp(p->down.name, name))
			return &p->down;
		if (!strcmp(p->up.name, name) || !strcmp(p->up.port->name, name))
			return &p->up;
	}
	return NULL;
}

int bf_fabric_set_link(struct bf_fabric *f, const char *name, bool up)
{
	struct bf_hop *h = f->net ? hop_by_name(f, name) : NULL;

	if (!h || rank_of(h, true) != f->my_rank)
		return bf_fail(&f->sim->error, -ENOENT, "fabric: no link '%s' begins in this process", name);
	if (h->from == BF_NET_NONE)
		bf_port_set_link(h->port, up);
	else
		bf_hop_cut_or_restore(h, up);
	return 0;
}

static void each_hop(const struct bf_hop *h, void (*fn)(void *arg, const struct bf_fabric_link *link), void *arg)
{
	struct bf_fabric_link link;

	bf_hop_load(h, &link);
	fn(arg, &link);
}

void bf_fabric_links(const struct bf_fabric *f, void (*fn)(void *arg, const struct bf_fabric_link *link), void *arg)
{
	const struct bf_net *n = f->net;

	for (size_t i = 0; n && i < 2 * (size_t)n->nleaves * n->nspines; i++)
		each_hop(&n->hops[i], fn, arg);
	for (uint32_t i = 0; n && i < f->count; i++) {
		each_hop(f->ports[i]->up_hop, fn, arg);
		each_hop(f->ports[i]->down_hop, fn, arg);
	}
}

static void report(void *arg, const struct bf_fabric_link *link)
{
	struct bf_sim *sim = arg;
	struct bf_rec_link_load r = {
		.packets = link->packets,
		.bytes = link->bytes,
		.dropped = link->dropped,
		.marked = link->marked,
		.pauses = link->pauses,
		.pause_ps = link->pause_ps,
		.busy_ps = link->busy_ps,
		.queue_max = link->queue_max,
		.queue_mean = link->queue_mean,
		.gbps = link->gbps,
		.kind = (uint16_t)link->kind,
		.up = link->up,
	};

	if (!link->here)
		return;
	snprintf(r.from, sizeof(r.from), "%s", link->from);
	snprintf(r.to, sizeof(r.to), "%s", link->to);
	BF_EMIT_MADE(sim, link->actor, link_load, r, NULL, 0);
}

void bf_fabric_report(struct bf_fabric *f)
{
	if (bf_probe(f->sim, BF_CLASS_NET))
		bf_fabric_links(f, report, f->sim);
}
