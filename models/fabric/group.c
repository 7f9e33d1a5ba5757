/*
 * Multicast groups: which ports want what is sent to an address of 224.0.0.0/4. The switch knows, as one that listens
 * to IGMP does (RFC 4541), and carries a frame to nobody else.
 */
#include <errno.h>
#include <stdlib.h>

#include "models/fabric/fabric_internal.h"

/* One port in one group. */
struct bf_group {
	struct bf_group *next;
	struct bf_port *port;
	uint32_t ipv4;
	uint32_t users; /* of the port's owner that want it */
};

static struct bf_group **find(struct bf_fabric *f, uint32_t ipv4, const struct bf_port *port)
{
	struct bf_group **at = &f->groups;

	while (*at && ((*at)->ipv4 != ipv4 || (*at)->port != port))
		at = &(*at)->next;
	return at;
}

/* The first one that wants it; NULL: nobody does. */
static const struct bf_group *first(const struct bf_fabric *f, uint32_t ipv4)
{
	const struct bf_group *g = f->groups;

	while (g && g->ipv4 != ipv4)
		g = g->next;
	return g;
}

static int tell_uplink(const struct bf_fabric *f, uint32_t ipv4, bool join)
{
	return f->uplink.group ? f->uplink.group(f->uplink.owner, ipv4, join) : 0;
}

int bf_port_join(struct bf_port *p, uint32_t ipv4)
{
	struct bf_fabric *f = p->fabric;
	struct bf_group **at = find(f, ipv4, p), *g = *at;
	int err;

	if (g) {
		g->users++;
		return 0;
	}
	g = malloc(sizeof(*g));
	if (!g)
		return bf_fail(&f->sim->error, -ENOMEM, "fabric: no memory for a multicast group");
	err = first(f, ipv4) ? 0 : tell_uplink(f, ipv4, true);
	if (err) {
		free(g);
		return err;
	}
	*g = (struct bf_group){ .port = p, .ipv4 = ipv4, .users = 1 };
	*at = g;
	return 0;
}

void bf_port_leave(struct bf_port *p, uint32_t ipv4)
{
	struct bf_fabric *f = p->fabric;
	struct bf_group **at = find(f, ipv4, p), *g = *at;

	if (!g || --g->users)
		return;
	*at = g->next;
	free(g);
	if (!first(f, ipv4))
		tell_uplink(f, ipv4, false);
}

int bf_groups_tell_uplink(struct bf_fabric *f)
{
	int err = 0;

	for (const struct bf_group *g = f->groups; g && !err; g = g->next)
		if (first(f, g->ipv4) == g)
			err = tell_uplink(f, g->ipv4, true);
	return err;
}

void bf_groups_free(struct bf_fabric *f)
{
	while (f->groups) {
		struct bf_group *g = f->groups;

		f->groups = g->next;
		free(g);
	}
}

/* The switch does not send it back, but for a NIC that tells itself. */
static bool hears(const struct bf_port *of, const struct bf_port *sender, const struct bf_packet *pkt)
{
	if (of->fabric->net && of != sender)
		return false;
	return of != sender || !bf_packet_is_raw(pkt) || pkt->data[0] & 1 || !memcmp(pkt->data, of->info.mac, 6);
}

struct bf_port *bf_group_next(const struct bf_port *p, const struct bf_packet *pkt, const struct bf_port *after)
{
	struct bf_fabric *f = p->fabric;
	const struct bf_fabric_uplink *u = &f->uplink;
	const uint32_t ipv4 = bf_frame_group(pkt);
	const struct bf_group *g = f->groups;

	if (after) {
		g = *find(f, ipv4, after);
		if (!g)
			return NULL; /* the uplink came last, and is in no group */
		g = g->next;
	}
	for (; g; g = g->next)
		if (g->ipv4 == ipv4 && hears(g->port, p, pkt))
			return g->port;
	return u->takes && u->takes(u->owner, ipv4, pkt) ? f->beyond : NULL;
}

static void receive(struct bf_fabric *f, struct bf_packet *pkt)
{
	const uint32_t ipv4 = bf_frame_group(pkt);

	for (const struct bf_group *g = f->groups, *next; g; g = next) {
		struct bf_packet *copy = g->ipv4 == ipv4 ? bf_packet_copy(pkt) : NULL;

		next = g->next;
		if (copy)
			bf_port_receive_frame(g->port, copy);
	}
	bf_packet_free(pkt);
}

void bf_group_receive(struct bf_fabric *f, struct bf_packet *pkt)
{
	pkt->value = false;
	receive(f, pkt);
}

void bf_group_receive_raw(struct bf_fabric *f, struct bf_packet *pkt)
{
	pkt->value = true;
	receive(f, pkt);
}
