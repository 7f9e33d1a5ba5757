#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "models/fabric/fabric_internal.h"
#include "sim/bytes.h"
#include "sim/stats.h"

int bf_fabric_create(struct bf_sim *sim, struct bf_fabric **out)
{
	struct bf_fabric *f = calloc(1, sizeof(*f));

	*out = NULL;
	if (!f)
		return bf_fail(&sim->error, -ENOMEM, "fabric: no memory");
	f->sim = sim;
	*out = f;
	return 0;
}

void bf_fabric_destroy(struct bf_fabric *f)
{
	if (!f)
		return;
	for (uint32_t i = 0; i < f->count; i++) {
		bf_sim_cancel(f->sim, &f->ports[i]->due);
		bf_sim_cancel(f->sim, &f->ports[i]->restore);
		bf_stats_detach(f->sim, f->ports[i]);
		free(f->ports[i]);
	}
	while (f->slabs) {
		struct bf_packet_slab *next = f->slabs->next;

		free(f->slabs);
		f->slabs = next;
	}
	free(f->ports);
	free(f);
}

/* Index of the first port whose address is at least `ipv4`. */
static uint32_t first_from(const struct bf_fabric *f, uint32_t ipv4)
{
	uint32_t lo = 0, hi = f->count;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;

		if (f->ports[mid]->info.ipv4 < ipv4)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct bf_port *bf_fabric_find(const struct bf_fabric *f, uint32_t ipv4)
{
	uint32_t at = first_from(f, ipv4);

	return at < f->count && f->ports[at]->info.ipv4 == ipv4 ? f->ports[at] : NULL;
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
		{ "tx_packets", "", &p->info.tx_packets },
		{ "tx_bytes", "B", &p->info.tx_bytes },
		{ "rx_packets", "", &p->info.rx_packets },
		{ "rx_bytes", "B", &p->info.rx_bytes },
		{ "lost_injected", "", &p->lost_injected },
		{ "lost_no_route", "", &p->lost_no_route },
		{ "lost_link_down", "", &p->lost_link_down },
	};
	int status = 0;

	for (size_t i = 0; i < BF_ARRAY_LEN(stats) && !status; i++)
		status = bf_stats_attach_part(p->fabric->sim, p, p->name, stats[i].part, stats[i].unit, stats[i].field);
	return status;
}

static struct bf_port *new_port(struct bf_fabric *f, const struct bf_port_opts *opts)
{
	size_t name_size = strlen(opts->name) + 1;
	struct bf_port *p = calloc(1, sizeof(*p) + name_size);

	if (!p)
		return NULL;
	p->fabric = f;
	p->up = true;
	p->latency_ps = opts->latency_ps;
	p->ps_per_kib = opts->ps_per_kib;
	p->rx = opts->rx;
	p->owner = opts->owner;
	memcpy(p->name, opts->name, name_size);
	p->info.name = p->name;
	p->info.ipv4 = opts->ipv4;
	choose_mac(p->info.mac, opts);
	p->info.actor = bf_stream_actor(&f->sim->rec, "port", opts->name);
	for (int i = 0; i < LANES; i++)
		p->lanes[i].due_ps = BF_NEVER;
	bf_event_init(&p->due, bf_port_on_due);
	bf_event_init(&p->restore, bf_port_on_restore);
	if (!p->info.actor || attach_stats(p)) {
		bf_stats_detach(f->sim, p);
		free(p);
		return NULL;
	}
	return p;
}

static int reserve_port(struct bf_fabric *f)
{
	uint32_t cap = f->cap ? f->cap * 2 : 8;
	struct bf_port **grown;

	if (f->count < f->cap)
		return 0;
	grown = realloc(f->ports, cap * sizeof(struct bf_port *));
	if (!grown)
		return -ENOMEM;
	f->ports = grown;
	f->cap = cap;
	return 0;
}

int bf_fabric_attach(struct bf_fabric *f, const struct bf_port_opts *opts, struct bf_port **out)
{
	uint32_t at = first_from(f, opts->ipv4);
	struct bf_port *p;

	if (bf_fabric_find(f, opts->ipv4))
		return bf_fail(&f->sim->error, -EEXIST, "fabric: port '%s': address 0x%08x is taken", opts->name,
			       opts->ipv4);
	p = reserve_port(f) ? NULL : new_port(f, opts);
	if (!p)
		return bf_fail(&f->sim->error, -ENOMEM, "fabric: port '%s': no memory", opts->name);
	memmove(&f->ports[at + 1], &f->ports[at], (f->count - at) * sizeof(struct bf_port *));
	f->ports[at] = p;
	f->count++;
	*out = p;
	return 0;
}

static void nobody(void *owner, struct bf_packet *pkt)
{
	(void)owner;
	bf_packet_free(pkt);
}

void bf_port_detach(struct bf_port *p)
{
	p->rx = nobody;
	p->owner = NULL;
}

void bf_port_info(const struct bf_port *p, struct bf_port_info *out)
{
	*out = p->info;
	out->up = p->up;
	out->dropped = p->lost_injected + p->lost_no_route + p->lost_link_down;
}

int bf_fabric_resolve(struct bf_fabric *f, uint32_t ipv4, uint8_t mac[6])
{
	const struct bf_port *p = bf_fabric_find(f, ipv4);

	if (!p)
		return bf_fail(&f->sim->error, -ENOENT, "fabric: nobody has address 0x%08x", ipv4);
	memcpy(mac, p->info.mac, 6);
	return 0;
}

static bool grow_pool(struct bf_fabric *f)
{
	struct bf_packet_slab *s = aligned_alloc(64, (sizeof(*s) + 63) & ~(size_t)63);

	if (!s)
		return false;
	s->next = f->slabs;
	f->slabs = s;
	for (uint32_t i = SLAB_PACKETS; i-- > 0;) {
		s->packets[i].fabric = f;
		s->packets[i].next = f->unused;
		f->unused = &s->packets[i];
	}
	return true;
}

struct bf_packet *bf_packet_alloc(struct bf_fabric *f)
{
	struct bf_packet *pkt = f->unused;

	if (BF_UNLIKELY(!pkt)) {
		if (!grow_pool(f))
			return NULL;
		pkt = f->unused;
	}
	f->unused = pkt->next;
	pkt->id = 0;
	pkt->len = 0;
	pkt->flags = 0;
	pkt->next = NULL;
	return pkt;
}

void bf_packet_free(struct bf_packet *pkt)
{
	pkt->next = pkt->fabric->unused;
	pkt->fabric->unused = pkt;
}
