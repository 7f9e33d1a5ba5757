/*
 * Port spaces: numbers that identifiers are bound to, one space for each kind of service. The rules between identifiers
 * of this process are those of core/cma.c (cma_check_port()); other processes have a port as a whole.
 */
#include <stdlib.h>

#include "models/rdmacm/rdmacm_internal.h"

#define EPHEMERAL_FIRST 32768u /* net.ipv4.ip_local_port_range, as Linux sets it */
#define EPHEMERAL_COUNT 28233u
#define STRIDE 1009u /* processes start to look at different places */

uint64_t bf_cm_service(uint16_t ps, uint16_t port)
{
	return (uint64_t)ps << 16 | port;
}

static struct bf_cm_port *find(const struct bf_rdmacm *cm, uint64_t service)
{
	struct bf_cm_port *p = cm->ports;

	while (p && p->service != service)
		p = p->next;
	return p;
}

static int claim(struct bf_rdmacm *cm, uint64_t service, struct bf_cm_port **out)
{
	struct bf_cm_port *p = calloc(1, sizeof(*p));
	int err;

	if (!p)
		return -ENOMEM;
	p->service = service;
	p->claim[0] = p->claim[1] = -1;
	err = cm->opts.outside ? bf_outside_claim(cm->opts.outside, service, false, p->claim) : 0;
	if (err) {
		free(p);
		return err;
	}
	p->next = cm->ports;
	cm->ports = p;
	cm->count.ports++;
	*out = p;
	return 0;
}

/* May it have the port beside all others of this process that do? */
static int check(const struct bf_cm_id *id, const struct bf_cm_port *port, bool reuse)
{
	for (uint32_t i = 0; i < id->cm->room; i++) {
		const struct bf_cm_id *other = id->cm->ids[i];

		if (!other || other == id || other->port != port || (reuse && other->reuse))
			continue;
		if (id->afonly && other->afonly && id->src.sa.sa_family != other->src.sa.sa_family)
			continue;
		if (bf_cm_addr_any(&id->src.sa) || bf_cm_addr_any(&other->src.sa))
			return -EADDRNOTAVAIL;
		if (bf_cm_addr_equal(&id->src.sa, &other->src.sa))
			return -EADDRINUSE;
	}
	return 0;
}

static int take(struct bf_cm_id *id, uint16_t number)
{
	struct bf_cm_port *p = find(id->cm, bf_cm_service(id->ps, number));
	int err = p ? check(id, p, id->reuse) : claim(id->cm, bf_cm_service(id->ps, number), &p);

	if (err)
		return err;
	p->users++;
	id->port = p;
	bf_cm_addr_set_port(&id->src.sa, number);
	return 0;
}

static int take_any(struct bf_cm_id *id)
{
	struct bf_rdmacm *cm = id->cm;

	for (uint32_t i = 0; i < EPHEMERAL_COUNT; i++) {
		const uint32_t at = (cm->slot * STRIDE + cm->next_port++) % EPHEMERAL_COUNT;
		const uint16_t number = (uint16_t)(EPHEMERAL_FIRST + at);
		int err;

		if (find(cm, bf_cm_service(id->ps, number)))
			continue;
		err = take(id, number);
		if (err != -EADDRINUSE)
			return err;
	}
	return -EADDRNOTAVAIL;
}

int bf_cm_port_take(struct bf_cm_id *id)
{
	const uint16_t number = bf_cm_addr_port(&id->src.sa);

	return number ? take(id, number) : take_any(id);
}

/* One that listens shares its port with nobody who could listen, too. */
int bf_cm_port_listen(struct bf_cm_id *id)
{
	struct bf_cm_port *p = id->port;
	int err = id->reuse ? check(id, p, false) : 0;

	if (err)
		return err;
	id->reuse = false;
	if (p->found || !id->cm->opts.outside)
		return 0;
	err = bf_outside_claim_found(id->cm->opts.outside, p->service, p->claim);
	p->found = !err;
	return err;
}

void bf_cm_port_give(struct bf_cm_id *id)
{
	struct bf_cm_port **at = &id->cm->ports, *p = id->port;

	id->port = NULL;
	if (!p || --p->users)
		return;
	while (*at != p)
		at = &(*at)->next;
	*at = p->next;
	bf_outside_unclaim(p->claim);
	id->cm->count.ports--;
	free(p);
}
