/*
 * Addresses: which are this machine's, which device they belong to, and where a peer's lead.
 *
 * A device has one IPv4 address, which the machine shares with it: all addresses of the machine, 127.0.0.1 included,
 * are the first device's as far as connections go, and a device's own address is its own. What is told to the peer, and
 * to programs, are the addresses as programs used them; GIDs are made of the devices'.
 */
#include "models/rdmacm/rdmacm_internal.h"

struct sockaddr_of_ib { /* rdma/ib.h struct sockaddr_ib, which is not among the headers for programs */
	uint16_t family, pkey;
	uint32_t flowinfo;
	uint8_t address[16];
	uint64_t sid, sid_mask, scope_id;
};

uint32_t bf_cm_addr_size(const void *address)
{
	sa_family_t family;

	memcpy(&family, address, sizeof(family));
	switch (family) {
	case AF_INET:
		return sizeof(struct sockaddr_in);
	case AF_INET6:
		return sizeof(struct sockaddr_in6);
	case BF_AF_IB:
		return sizeof(struct sockaddr_of_ib);
	default:
		return 0;
	}
}

bool bf_cm_addr_any(const struct sockaddr *a)
{
	static const uint8_t zeros[16];

	if (a->sa_family == AF_INET)
		return !((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr;
	if (a->sa_family == AF_INET6)
		return !memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, zeros, sizeof(zeros));
	return !memcmp(((const struct sockaddr_of_ib *)(const void *)a)->address, zeros, sizeof(zeros));
}

bool bf_cm_addr_equal(const struct sockaddr *a, const struct sockaddr *b)
{
	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET)
		return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
		       ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
	return a->sa_family == AF_INET6 && !memcmp(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
						   &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr, 16);
}

/* Both kinds have it in the same place. */
BF_STATIC_ASSERT(offsetof(struct sockaddr_in, sin_port) == offsetof(struct sockaddr_in6, sin6_port), "ports");

uint16_t bf_cm_addr_port(const struct sockaddr *a)
{
	return a->sa_family == AF_INET || a->sa_family == AF_INET6
		   ? ntohs(((const struct sockaddr_in *)(const void *)a)->sin_port)
		   : 0;
}

void bf_cm_addr_set_port(struct sockaddr *a, uint16_t port)
{
	((struct sockaddr_in *)(void *)a)->sin_port = htons(port);
}

/* The IPv4 address that it is or contains (RFC 4291 section 2.5.5.2), host order; 0: neither. */
static uint32_t ipv4_of(const struct sockaddr *a)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *in6;

	if (a->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr);
	in6 = ((const struct sockaddr_in6 *)(const void *)a)->sin6_addr.s6_addr;
	return a->sa_family == AF_INET6 && !memcmp(in6, mapped, sizeof(mapped)) ? bf_get_be32(in6 + 12) : 0;
}

static const struct bf_rdmacm_device *device_with(const struct bf_rdmacm *cm, uint32_t ipv4)
{
	for (uint32_t i = 0; i < cm->opts.devices; i++)
		if (ipv4 && cm->opts.device[i].ipv4 == ipv4)
			return &cm->opts.device[i];
	return NULL;
}

/* The device behind an address of this machine; NULL: it is not of this machine. A socket can be bound to a group's. */
static const struct bf_rdmacm_device *device_of(const struct bf_rdmacm *cm, const struct sockaddr *a)
{
	const struct bf_rdmacm_device *d = device_with(cm, ipv4_of(a));

	if (d || IN_MULTICAST(ipv4_of(a)))
		return d;
	return cm->opts.is_here(cm->opts.host.arg, a) ? &cm->opts.device[0] : NULL;
}

/* ---- binding ---- */

int bf_cm_bind_to(struct bf_cm_id *id, const struct sockaddr *address)
{
	const bool any = bf_cm_addr_any(address);
	const struct bf_rdmacm_device *device = NULL;
	int err = 0;

	if (id->cma != BF_CMA_IDLE)
		return -EINVAL;
	if (!any && (address->sa_family == BF_AF_IB || !(device = device_of(id->cm, address))))
		return -ENODEV;
	memset(&id->src, 0, sizeof(id->src));
	memcpy(&id->src, address, bf_cm_addr_size(address));
	id->dst.sa.sa_family = address->sa_family;
	if (!id->afonly_set)
		id->afonly = address->sa_family == AF_INET;
	/* librdmacm binds this kind to learn whether a kernel knows it; nothing can be done with it on Ethernet. */
	if (address->sa_family != BF_AF_IB)
		err = bf_cm_port_take(id);
	if (err)
		return err;
	id->device = device;
	id->cma = BF_CMA_BOUND;
	return 0;
}

int bf_cm_bind_ip(struct bf_cm_call *c)
{
	const struct rdma_ucm_bind_ip cmd = c->in.bind_ip;
	struct bf_cm_id *id;
	int err;

	if (cmd.addr.sin6_family != AF_INET && cmd.addr.sin6_family != AF_INET6)
		return -EINVAL;
	err = bf_cm_find(c, cmd.id, &id);
	return err ? err : bf_cm_bind_to(id, (const struct sockaddr *)&cmd.addr);
}

int bf_cm_bind(struct bf_cm_call *c)
{
	const struct rdma_ucm_bind cmd = c->in.bind;
	struct bf_cm_id *id;
	int err;

	if (cmd.reserved || !cmd.addr_size || cmd.addr_size != bf_cm_addr_size(&cmd.addr))
		return -EINVAL;
	err = bf_cm_find(c, cmd.id, &id);
	return err ? err : bf_cm_bind_to(id, (const struct sockaddr *)&cmd.addr);
}

/* ---- resolving ---- */

void bf_cm_mapped_gid(uint8_t gid[16], uint32_t ipv4)
{
	memset(gid, 0, 10);
	gid[10] = gid[11] = 0xff;
	bf_put_be32(gid + 12, ipv4);
}

/* InfiniBand: the default prefix and the GUID that is made of the MAC of that address (models/uverbs/gid.c). */
void bf_cm_gid(const struct bf_rdmacm_device *d, uint32_t ipv4, uint8_t gid[16])
{
	if (!d->infiniband) {
		bf_cm_mapped_gid(gid, ipv4);
		return;
	}
	memset(gid, 0, 16);
	bf_put_be16(gid, 0xfe80);
	gid[10] = (uint8_t)(ipv4 >> 24);
	bf_put_be32(gid + 12, 0xfeu << 24 | (ipv4 & 0xffffff));
	gid[11] = 0xff;
}

/* What a subnet administrator would answer, where there is one: all ports are in one subnet. */
void bf_cm_path_to(struct bf_cm_id *id, uint32_t ipv4)
{
	id->path = (struct bf_cm_path){ .ipv4 = ipv4, .hop_limit = BF_CM_HOP_LIMIT };
	id->path.mtu = bf_uverbs_active_mtu(id->device->uverbs);
	bf_cm_gid(id->device, id->device->ipv4, id->path.sgid);
	bf_cm_gid(id->device, ipv4, id->path.dgid);
	if (id->device->infiniband) {
		id->path.hop_limit = 0;
		id->path.slid = (uint16_t)id->device->ipv4;
		id->path.dlid = (uint16_t)ipv4;
	}
	if (id->tos_set)
		id->path.traffic_class = id->tos;
	id->has_path = true;
}

uint8_t bf_cm_ack_timeout(uint8_t delay, uint8_t lifetime)
{
	uint32_t timeout = lifetime + 1u;

	if (timeout >= delay)
		timeout += delay >= timeout - 1 ? 1 : 0;
	else
		timeout = delay + (timeout >= delay - 1u ? 1u : 0u);
	return (uint8_t)(timeout < 31 ? timeout : 31);
}

/* A source address for those that named none: the peer's own when that is of this machine, else the device's. */
static void choose_source(struct bf_cm_id *id, const struct bf_rdmacm_device *here)
{
	const uint16_t port = bf_cm_addr_port(&id->src.sa);

	if (!bf_cm_addr_any(&id->src.sa))
		return;
	if (here) {
		id->src = id->dst;
	} else if (id->src.sa.sa_family == AF_INET) {
		id->src.in.sin_addr.s_addr = htonl(id->device->ipv4);
	} else {
		bf_cm_mapped_gid(id->src.in6.sin6_addr.s6_addr, id->device->ipv4);
	}
	bf_cm_addr_set_port(&id->src.sa, port);
}

/*
 * Where the peer is. An address that is neither of this machine nor of a device leads somewhere only when there is a
 * network beyond this machine.
 */
static int resolve(struct bf_cm_id *id)
{
	struct bf_rdmacm *cm = id->cm;
	const struct bf_rdmacm_device *here;
	uint32_t ipv4;

	if (bf_cm_addr_any(&id->dst.sa)) { /* whoever is here */
		const uint16_t port = bf_cm_addr_port(&id->dst.sa);

		id->dst = id->src;
		if (bf_cm_addr_any(&id->dst.sa) && id->dst.sa.sa_family == AF_INET)
			id->dst.in.sin_addr.s_addr = htonl(cm->opts.device[0].ipv4);
		else if (bf_cm_addr_any(&id->dst.sa))
			bf_cm_mapped_gid(id->dst.in6.sin6_addr.s6_addr, cm->opts.device[0].ipv4);
		bf_cm_addr_set_port(&id->dst.sa, port);
	}
	here = device_of(cm, &id->dst.sa);
	ipv4 = here ? here->ipv4 : ipv4_of(&id->dst.sa);
	if (!ipv4)
		return -ENETUNREACH;
	if (!here && !cm->opts.routed && !IN_MULTICAST(ipv4))
		return -EHOSTUNREACH;
	if (!id->device)
		id->device = here ? here : &cm->opts.device[0];
	choose_source(id, here);
	bf_cm_path_to(id, ipv4);
	return 0;
}

static int resolve_addr(struct bf_cm_call *c, uint32_t number, const void *src, const void *dst)
{
	const struct sockaddr_storage any = { .ss_family = ((const struct sockaddr *)dst)->sa_family };
	struct bf_cm_id *id;
	int err = bf_cm_find(c, number, &id);

	if (err)
		return err;
	if (id->cma == BF_CMA_IDLE)
		err = bf_cm_bind_to(id, bf_cm_addr_size(src) ? src : (const struct sockaddr *)&any);
	if (err)
		return err;
	if (id->cma != BF_CMA_BOUND || id->src.sa.sa_family != any.ss_family)
		return -EINVAL;
	if (any.ss_family == BF_AF_IB)
		return -EOPNOTSUPP;
	memset(&id->dst, 0, sizeof(id->dst));
	memcpy(&id->dst, dst, bf_cm_addr_size(dst));
	err = resolve(id);
	if (!err)
		id->cma = BF_CMA_ADDR;
	bf_cm_tell(id, err ? BF_CM_ADDR_ERROR : BF_CM_ADDR_RESOLVED, err, NULL);
	return 0;
}

int bf_cm_resolve_ip(struct bf_cm_call *c)
{
	const struct rdma_ucm_resolve_ip cmd = c->in.resolve_ip;
	const uint16_t src = cmd.src_addr.sin6_family, dst = cmd.dst_addr.sin6_family;

	if ((src && src != AF_INET && src != AF_INET6) || (dst != AF_INET && dst != AF_INET6))
		return -EINVAL;
	return resolve_addr(c, cmd.id, &cmd.src_addr, &cmd.dst_addr);
}

int bf_cm_resolve_addr(struct bf_cm_call *c)
{
	const struct rdma_ucm_resolve_addr cmd = c->in.resolve_addr;

	if (cmd.reserved || (cmd.src_size && cmd.src_size != bf_cm_addr_size(&cmd.src_addr)) || !cmd.dst_size ||
	    cmd.dst_size != bf_cm_addr_size(&cmd.dst_addr))
		return -EINVAL;
	return resolve_addr(c, cmd.id, &cmd.src_addr, &cmd.dst_addr);
}

/* On Ethernet a path follows from the addresses. */
int bf_cm_resolve_route(struct bf_cm_call *c)
{
	struct bf_cm_id *id;
	int err = bf_cm_find_ready(c, c->in.resolve_route.id, &id);

	if (err)
		return err;
	if (id->cma != BF_CMA_ADDR)
		return -EINVAL;
	if (id->tos_set)
		id->path.traffic_class = id->tos;
	id->cma = BF_CMA_ROUTE;
	bf_cm_tell(id, BF_CM_ROUTE_RESOLVED, 0, NULL);
	return 0;
}
