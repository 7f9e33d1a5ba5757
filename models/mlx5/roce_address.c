/*
 * The GID table of a RoCE port as commands tell of it: link-local and of the IPv4 address, each as RoCE v1 and v2, in
 * the order in which Linux core/roce_gid_mgmt.c fills it. Entries behind those are free.
 */
#include "models/mlx5/device_internal.h"

#define ENTRIES 4u
#define L3_IPV4 0u
#define L3_IPV6 1u

static void put_gid(const struct bf_mlx5_port *port, uint32_t index, uint8_t gid[16])
{
	if (index >= 2) {
		gid[10] = gid[11] = 0xff;
		bf_put_be32(gid + 12, port->ipv4);
	} else {
		gid[0] = 0xfe;
		gid[1] = 0x80;
		bf_put_be64(gid + 8, bf_mlx5_guid(port) ^ 1ull << 57); /* as RFC 4291 appendix A modifies it */
	}
}

uint8_t bf_mlx5_cmd_query_roce_address(struct bf_mlx5_mail *m)
{
	const uint32_t index = BF_MLX5_GET(m->in, BF_ROCE_ADDRESS_INDEX);
	const uint32_t port = BF_MLX5_GET(m->in, BF_ROCE_ADDRESS_PORT);
	uint8_t *entry = m->out + BF_ROCE_ADDRESS_ENTRY;
	const struct bf_mlx5_port *at;

	if (m->dev->infiniband || index >= BF_MLX5_ROCE_ADDRESSES || port > m->dev->port_count)
		return BF_MLX5_CMD_BAD_PARAM;
	at = &m->dev->ports[port ? port - 1 : 0];
	if (index >= ENTRIES)
		return BF_MLX5_CMD_OK;
	put_gid(at, index, entry);
	BF_MLX5_SET(entry, BF_ROCE_ADDRESS_MAC_HI, bf_get_be16(at->mac));
	BF_MLX5_SET(entry, BF_ROCE_ADDRESS_MAC_LO, bf_get_be32(at->mac + 2));
	BF_MLX5_SET(entry, BF_ROCE_ADDRESS_L3_TYPE, index >= 2 ? L3_IPV4 : L3_IPV6);
	BF_MLX5_SET(entry, BF_ROCE_ADDRESS_VERSION, index & 1 ? BF_ROCE_V2 : BF_ROCE_V1);
	return BF_MLX5_CMD_OK;
}
