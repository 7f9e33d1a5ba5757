/*
 * The GID table of a port: link-local and of the IPv4 address, each as RoCE v1 and v2, in the order in which Linux
 * core/roce_gid_mgmt.c fills it; of InfiniBand, the default prefix and the port's GUID alone. And where a GID leads:
 * the wire has IPv4 only, and MAC addresses that are made of it (models/fabric), so that both kinds can be resolved
 * without asking anybody.
 */
#include "models/uverbs/uverbs_internal.h"

#define LOOPBACK 1u /* its number in each network name space (LOOPBACK_IFINDEX of linux/net/flow.h) */

static const uint8_t mapped_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

static bool link_local(uint32_t index)
{
	return index < 2;
}

uint32_t bf_uv_gids(const struct bf_uverbs_opts *o)
{
	return o->infiniband ? 1 : BF_UV_GIDS;
}

uint32_t bf_uv_gid_type(const struct bf_uverbs_opts *o, uint32_t index)
{
	if (o->infiniband)
		return IB_UVERBS_GID_TYPE_IB;
	return index & 1 ? IB_UVERBS_GID_TYPE_ROCE_V2 : IB_UVERBS_GID_TYPE_ROCE_V1;
}

/* The interface identifier is the modified EUI-64 of the MAC (RFC 4291 appendix A). */
void bf_uv_gid(const struct bf_uverbs_opts *o, uint32_t index, uint8_t gid[16])
{
	memset(gid, 0, 16);
	if (!link_local(index)) {
		memcpy(gid, mapped_prefix, sizeof(mapped_prefix));
		bf_put_be32(gid + 12, o->ipv4);
		return;
	}
	gid[0] = 0xfe;
	gid[1] = 0x80;
	memcpy(gid + 8, o->mac, 3);
	gid[8] ^= 2;
	gid[11] = 0xff;
	gid[12] = 0xfe;
	memcpy(gid + 13, o->mac + 3, 3);
}

bool bf_uv_gid_is_group(const uint8_t gid[16])
{
	return gid[0] == 0xff || (!memcmp(gid, mapped_prefix, sizeof(mapped_prefix)) && gid[12] >> 4 == 0xe);
}

/* RFC 2464 section 7; of one that is an IPv4 group's, RFC 1112 section 6.4. */
static void group_mac(const uint8_t gid[16], uint8_t mac[6])
{
	const bool ipv4 = gid[0] != 0xff;

	bf_put_be16(mac, ipv4 ? 0x0100 : 0x3333);
	bf_put_be32(mac + 2, ipv4 ? 0x5e000000 | (bf_get_be32(gid + 12) & 0x7fffff) : bf_get_be32(gid + 12));
}

int bf_uv_gid_resolve(const uint8_t gid[16], uint8_t mapped[16], uint8_t mac[6])
{
	static const uint8_t eui[4] = { 0, 0, 0xff, 0xfe };

	memcpy(mapped, gid, 16);
	if (bf_uv_gid_is_group(gid)) {
		group_mac(gid, mac);
		return 0;
	}
	if (memcmp(gid, mapped_prefix, sizeof(mapped_prefix))) {
		if (gid[0] != 0xfe || gid[1] != 0x80 || memcmp(gid + 8, eui, 2) || memcmp(gid + 11, eui + 2, 2))
			return -EINVAL;
		memcpy(mapped, mapped_prefix, sizeof(mapped_prefix));
		mapped[12] = gid[10];
		memcpy(mapped + 13, gid + 13, 3);
	}
	mac[0] = 2;
	mac[1] = 0;
	memcpy(mac + 2, mapped + 12, 4);
	return bf_get_be32(mapped + 12) ? 0 : -EINVAL;
}

static void fill(const struct bf_uverbs *u, uint32_t index, struct ib_uverbs_gid_entry *e)
{
	*e = (struct ib_uverbs_gid_entry){ .gid_index = index,
					   .port_num = 1,
					   .gid_type = bf_uv_gid_type(&u->opts, index),
					   .netdev_ifindex =
					       u->opts.interface_index ? u->opts.interface_index : LOOPBACK };
	if (u->opts.infiniband)
		e->netdev_ifindex = 0;
	bf_uv_gid(&u->opts, index, (uint8_t *)e->gid);
}

int bf_uv_query_gid_entry(struct bf_uv_call *c)
{
	uint32_t port, index, flags;
	struct ib_uverbs_gid_entry e;

	if (!c->f->context)
		return -EINVAL;
	if (bf_uv_attr_get(c, UVERBS_ATTR_QUERY_GID_ENTRY_PORT, &port, sizeof(port)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_QUERY_GID_ENTRY_GID_INDEX, &index, sizeof(index)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_QUERY_GID_ENTRY_FLAGS, &flags, sizeof(flags)))
		return -EFAULT;
	if (flags || port != 1 || index >= BF_UV_GID_ROOM)
		return -EINVAL;
	if (index >= bf_uv_gids(&c->u->opts))
		return -ENODATA;
	fill(c->u, index, &e);
	return bf_uv_attr_put(c, UVERBS_ATTR_QUERY_GID_ENTRY_RESP_ENTRY, &e, sizeof(e));
}

/* The program says how large its entries are; a larger one than ours ends in zeros. */
int bf_uv_query_gid_table(struct bf_uv_call *c)
{
	uint8_t table[BF_UV_GIDS * 4 * sizeof(struct ib_uverbs_gid_entry)] = { 0 };
	const struct bf_uv_attr *room = bf_uv_attr(c, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES);
	struct ib_uverbs_gid_entry e;
	uint64_t size, count = 0;
	uint32_t flags;

	if (!c->f->context)
		return -EINVAL;
	if (bf_uv_attr_get(c, UVERBS_ATTR_QUERY_GID_TABLE_ENTRY_SIZE, &size, sizeof(size)) ||
	    bf_uv_attr_get(c, UVERBS_ATTR_QUERY_GID_TABLE_FLAGS, &flags, sizeof(flags)))
		return -EFAULT;
	if (flags || size < sizeof(e) || size > 4 * sizeof(e))
		return -EINVAL;
	if (room->bytes.len / size < bf_uv_gids(&c->u->opts))
		return -EINVAL;
	for (uint32_t i = 0; i < bf_uv_gids(&c->u->opts); i++, count++) {
		fill(c->u, i, &e);
		memcpy(table + count * size, &e, sizeof(e));
	}
	if (bf_uv_attr_put(c, UVERBS_ATTR_QUERY_GID_TABLE_RESP_ENTRIES, table, (uint32_t)(count * size)))
		return -EFAULT;
	return bf_uv_attr_put(c, UVERBS_ATTR_QUERY_GID_TABLE_RESP_NUM_ENTRIES, &count, sizeof(count));
}
