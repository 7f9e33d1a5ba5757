#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/cc_internal.h"
#include "sim/bytes.h"
#include "sim/grow.h"
#include "sim/sanitizers.h"
#include "sim/stats.h"

/* So many ports, with a device and its agents each, are more than a second-level cache holds. */
#define CROWD 48u

/* In front of a slab's packets. */
struct bf_packet_slab {
	struct bf_packet_slab *next;
	uint8_t unused[64 - sizeof(void *)];
};

#define SMALL_PAYLOAD 64u
#define SMALL_SLAB (16u << 10)
#define SLAB (128u << 10)
BF_STATIC_ASSERT(SMALL_SLAB <= BF_POOL_MAX && SLAB <= BF_POOL_PAGES_MAX, "a slab is from the pool");

static void init_packets(struct bf_packets *home, struct bf_fabric *f, uint32_t frame, uint32_t slab)
{
	home->fabric = f;
	home->bytes = (uint32_t)sizeof(struct bf_packet) + frame;
	/* One a slab where AddressSanitizer looks for bytes behind its end. */
	home->slab_bytes = BF_ASAN ? (uint32_t)sizeof(struct bf_packet_slab) + home->bytes : slab;
	home->pages = !BF_ASAN && slab > BF_POOL_MAX;
	home->next = home->slab_bytes;
}

static void free_packets(struct bf_packets *home)
{
	struct bf_sim *sim = home->fabric->sim;

	for (struct bf_packet_slab *s = home->slabs, *next; s; s = next) {
		next = s->next;
		if (home->pages)
			bf_pool_pages_give(sim, s, home->slab_bytes, false);
		else
			bf_pool_give(sim, s, home->slab_bytes);
	}
}

/* One that was never used. */
static struct bf_packet *new_packet(struct bf_packets *home)
{
	struct bf_sim *sim = home->fabric->sim;
	struct bf_packet *pkt;

	if (home->slab_bytes - home->next < home->bytes) {
		struct bf_packet_slab *s = home->pages ? bf_pool_pages_take(sim, home->slab_bytes, false)
						       : bf_pool_take(sim, home->slab_bytes);

		if (!s)
			return NULL;
		s->next = home->slabs;
		home->slabs = s;
		home->next = sizeof(*s);
	}
	pkt = (struct bf_packet *)(void *)((uint8_t *)home->slabs + home->next);
	home->next += home->bytes;
	pkt->home = home;
	return pkt;
}

static struct bf_packet *take_packet(struct bf_packets *home)
{
	struct bf_packet *pkt = home->unused;

	if (BF_LIKELY(pkt != NULL)) {
		home->unused = pkt->next;
		__builtin_prefetch(home->unused, 1); /* it was sent long ago: for the next call */
	} else {
		pkt = new_packet(home);
		if (!pkt)
			return NULL;
	}
	pkt->id = 0;
	pkt->len = 0;
	pkt->flags = 0;
	pkt->next = NULL;
	return pkt;
}

struct bf_packet *bf_packet_alloc(struct bf_fabric *f)
{
	return take_packet(&f->any);
}

struct bf_packet *bf_packet_alloc_for(struct bf_fabric *f, uint32_t payload)
{
	return take_packet(payload <= SMALL_PAYLOAD ? &f->small : &f->any);
}

struct bf_packet *bf_packet_copy(const struct bf_packet *pkt)
{
	struct bf_packet *copy = take_packet(pkt->home);

	if (!copy)
		return NULL;
	memcpy(copy, pkt, sizeof(*pkt) + pkt->len);
	copy->next = NULL;
	return copy;
}

void bf_packet_free(struct bf_packet *pkt)
{
	pkt->next = pkt->home->unused;
	pkt->home->unused = pkt;
}

int bf_fabric_create(struct bf_sim *sim, struct bf_fabric **out)
{
	struct bf_fabric *f = calloc(1, sizeof(*f));

	*out = NULL;
	if (!f)
		return bf_fail(&sim->error, -ENOMEM, "fabric: no memory");
	f->sim = sim;
	f->min_latency_ps = BF_NEVER;
	init_packets(&f->any, f, BF_PACKET_MAX, SLAB);
	init_packets(&f->small, f, BF_PACKET_HEADERS + SMALL_PAYLOAD, SMALL_SLAB);
	*out = f;
	return 0;
}

static void give_back(struct bf_port *p)
{
	bf_pool_give(p->fabric->sim, p, sizeof(*p) + strlen(p->name) + 1);
}

static void free_port(struct bf_port *p)
{
	if (!p)
		return;
	for (int lane = 0; lane < LANES; lane++)
		bf_sim_cancel(p->fabric->sim, &p->lanes[lane].due);
	bf_sim_cancel(p->fabric->sim, &p->restore);
	bf_sim_cancel(p->fabric->sim, &p->outage.event);
	bf_cc_destroy(p);
	bf_stats_detach(p->fabric->sim, p);
	give_back(p);
}

void bf_fabric_destroy(struct bf_fabric *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->count; i++)
		free_port(f->ports[i]);
	free_port(f->beyond);
	bf_stats_detach(f->sim, f);
	bf_net_destroy(f->net);
	free_packets(&f->any);
	free_packets(&f->small);
	bf_groups_free(f);
	free(f->by_ipv4);
	free(f->ports);
	free(f);
}

/* The place of an address, or the empty one where it would be. There is always an empty place. */
static struct bf_port **place_of(struct bf_port **table, uint32_t log2, uint32_t ipv4)
{
	uint32_t mask = (1u << log2) - 1, at = (ipv4 * 0x9e3779b1u) >> (32 - log2); /* Knuth's multiplicative hash */

	while (table[at] && table[at]->info.ipv4 != ipv4)
		at = (at + 1) & mask;
	return &table[at];
}

struct bf_port *bf_fabric_find(const struct bf_fabric *f, uint32_t ipv4)
{
	return f->count ? *place_of(f->by_ipv4, f->by_ipv4_log2, ipv4) : NULL;
}

static void choose_mac(uint8_t mac[6], const struct bf_port_opts *opts)
{
	static const uint8_t none[6];

	memcpy(mac, opts->mac, 6);
	if (memcmp(mac, none, 6))
		return;
	mac[0] = 0x02; /* locally administered (IEEE 802) */
	bf_put_be32(mac + 2, opts->ipv4);
}

static int attach_stats(struct bf_port *p)
{
	const struct {
		const char *part, *unit;
		const uint64_t *field;
	} stats[] = {
		{ "tx_packets", "", &p->info.tx_packets },        { "tx_bytes", "B", &p->info.tx_bytes },
		{ "rx_packets", "", &p->info.rx_packets },        { "rx_bytes", "B", &p->info.rx_bytes },
		{ "lost_injected", "", &p->own_lost.injected },   { "lost_no_route", "", &p->own_lost.no_route },
		{ "lost_link_down", "", &p->own_lost.link_down }, { "lost_overflow", "", &p->own_lost.overflow },
	};
	int status = 0;

	for (size_t i = 0; i < BF_ARRAY_LEN(stats) && !status; i++)
		status = bf_stats_attach_part(p->fabric->sim, p, p->name, stats[i].part, stats[i].unit, stats[i].field);
	return status;
}

static void set_owner(struct bf_port *p, const struct bf_port_opts *opts)
{
	p->rx = opts->rx;
	p->expect = opts->expect;
	p->link = opts->link;
	p->peer = opts->peer;
	p->owner = opts->owner;
}

static void nobody(void *owner, struct bf_packet *pkt)
{
	(void)owner;
	bf_packet_free(pkt);
}

static struct bf_port *new_port(struct bf_fabric *f, const struct bf_port_opts *opts)
{
	size_t name_size = strlen(opts->name) + 1;
	struct bf_port *p = bf_pool_take(f->sim, sizeof(*p) + name_size);

	if (!p)
		return NULL;
	p->fabric = f;
	p->up = true;
	p->lost = &p->own_lost;
	p->latency_ps = opts->latency_ps;
	p->ps_per_kib = opts->ps_per_kib;
	p->tie_ps = BF_NEVER;
	set_owner(p, opts);
	p->host = opts->host;
	p->rail = opts->rail;
	memcpy(p->name, opts->name, name_size);
	p->info.name = p->name;
	p->info.ipv4 = opts->ipv4;
	choose_mac(p->info.mac, opts);
	bf_port_init_lanes(p);
	bf_event_init(&p->restore, bf_port_on_restore);
	bf_fault_timer_start(f->sim, &p->outage, BF_FAULT_LINK_DOWN, bf_port_on_outage);
	return p;
}

/* A table at most half full. */
static int reserve_place(struct bf_fabric *f)
{
	uint32_t log2 = f->by_ipv4_log2 ? f->by_ipv4_log2 + 1 : 4;
	struct bf_port **grown;

	if (f->by_ipv4 && f->count < 1u << (f->by_ipv4_log2 - 1))
		return 0;
	grown = calloc((size_t)1 << log2, sizeof(struct bf_port *));
	if (!grown)
		return -ENOMEM;
	for (uint32_t i = 0; i < f->count; i++)
		*place_of(grown, log2, f->ports[i]->info.ipv4) = f->ports[i];
	free(f->by_ipv4);
	f->by_ipv4 = grown;
	f->by_ipv4_log2 = log2;
	return 0;
}

static int reserve_port(struct bf_fabric *f)
{
	return BF_GROW(f->ports, f->cap, f->count + 1) ? -ENOMEM : reserve_place(f);
}

static int attach(struct bf_fabric *f, const struct bf_port_opts *opts, struct bf_port **out)
{
	struct bf_port *p;

	*out = NULL;
	if (bf_fabric_find(f, opts->ipv4))
		return bf_fail(&f->sim->error, -EEXIST, "fabric: port '%s': address 0x%08x is taken", opts->name,
			       opts->ipv4);
	p = reserve_port(f) ? NULL : new_port(f, opts);
	if (!p)
		return bf_fail(&f->sim->error, -ENOMEM, "fabric: port '%s': no memory", opts->name);
	*place_of(f->by_ipv4, f->by_ipv4_log2, opts->ipv4) = p;
	f->ports[f->count++] = p;
	*out = p;
	return 0;
}

/* Takes back the port attached last. */
static void take_back(struct bf_fabric *f)
{
	struct bf_port *p = f->ports[--f->count];

	memset(f->by_ipv4, 0, sizeof(struct bf_port *) << f->by_ipv4_log2);
	for (uint32_t i = 0; i < f->count; i++)
		*place_of(f->by_ipv4, f->by_ipv4_log2, f->ports[i]->info.ipv4) = f->ports[i];
	bf_stats_detach(f->sim, p);
	give_back(p);
}

int bf_fabric_attach(struct bf_fabric *f, const struct bf_port_opts *opts, struct bf_port **out)
{
	struct bf_port *p = bf_fabric_find(f, opts->ipv4);
	int rc;

	*out = NULL;
	if (p && p->rx == nobody && !strcmp(p->name, opts->name)) {
		set_owner(p, opts);
		*out = p;
		return 0;
	}
	rc = attach(f, opts, &p);
	if (rc)
		return rc;
	p->rank = f->my_rank;
	f->sim->crowded |= f->count > CROWD;
	p->info.actor = bf_stream_actor(&f->sim->rec, "port", opts->name);
	rc = !p->info.actor || attach_stats(p) ? -ENOMEM : f->net ? bf_net_place(f->net, p) : 0;
	if (rc) {
		take_back(f);
		return rc == -EINVAL ? rc : bf_fail(&f->sim->error, rc, "fabric: port '%s': no memory", opts->name);
	}
	if (!f->net && opts->latency_ps < f->min_latency_ps)
		f->min_latency_ps = opts->latency_ps;
	*out = p;
	return 0;
}

int bf_fabric_attach_remote_at(struct bf_fabric *f, uint32_t ipv4, uint32_t rank, uint32_t host, uint32_t rail)
{
	char name[16];
	struct bf_port_opts opts = { .name = name, .ipv4 = ipv4, .host = host, .rail = rail };
	struct bf_port *p;
	int rc;

	snprintf(name, sizeof(name), "%u.%u.%u.%u", ipv4 >> 24, ipv4 >> 16 & 0xff, ipv4 >> 8 & 0xff, ipv4 & 0xff);
	rc = attach(f, &opts, &p);

	if (rc)
		return rc;
	p->remote = true;
	p->lost = &f->remote_lost;
	p->rank = rank;
	rc = f->net ? bf_net_place(f->net, p) : 0;
	if (rc)
		take_back(f);
	return rc;
}

int bf_fabric_attach_remote(struct bf_fabric *f, uint32_t ipv4, uint32_t rank)
{
	return bf_fabric_attach_remote_at(f, ipv4, rank, 0, 0);
}

void bf_port_detach(struct bf_port *p)
{
	set_owner(p, &(struct bf_port_opts){ .rx = nobody });
}

void bf_port_info(const struct bf_port *p, struct bf_port_info *out)
{
	*out = p->info;
	out->up = p->up;
	out->dropped = p->own_lost.injected + p->own_lost.no_route + p->own_lost.link_down + p->own_lost.overflow;
}

int bf_fabric_set_uplink(struct bf_fabric *f, const struct bf_fabric_uplink *uplink)
{
	const struct bf_port_opts beyond = { .name = "outside", .rx = nobody };

	if (!uplink) {
		memset(&f->uplink, 0, sizeof(f->uplink));
		return 0;
	}
	if (f->net)
		return bf_fail(&f->sim->error, -ENOTSUP, "fabric: no uplink in a topology of several switches");
	if (!f->beyond)
		f->beyond = new_port(f, &beyond);
	if (!f->beyond)
		return bf_fail(&f->sim->error, -ENOMEM, "fabric: no memory for an uplink");
	f->beyond->lost = &f->remote_lost;
	f->uplink = *uplink;
	return bf_groups_tell_uplink(f);
}

int bf_fabric_resolve(struct bf_fabric *f, uint32_t ipv4, uint8_t mac[6])
{
	const struct bf_port *p = bf_fabric_find(f, ipv4);

	if (!p)
		return bf_fail(&f->sim->error, -ENOENT, "fabric: nobody has address 0x%08x", ipv4);
	memcpy(mac, p->info.mac, 6);
	return 0;
}
