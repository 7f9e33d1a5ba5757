/*
 * A port as an InfiniBand host sees it: its context, GIDs and P_Keys.
 *
 * There is no subnet manager; what one would have given out is fixed: the LID, the default subnet prefix, the default
 * partition, a port that is active as soon as its link is up.
 */
#include "models/mlx5/device_internal.h"
#include "models/mlx5/prm_hca.h"

#define PHYSICAL_UP 5u
#define PHYSICAL_DISABLED 3u
#define STATE_ACTIVE 4u
#define STATE_DOWN 1u
#define SUBNET_TIMEOUT 18u
#define GIDS 8u    /* what a capability gid_table_size of 0 says */
#define PKEYS 128u /* pkey_table_size 0 */
#define DEFAULT_PKEY 0xffffu
#define DEFAULT_PREFIX 0xfe80000000000000ull

/* The port's MAC as EUI-64. */
uint64_t bf_mlx5_guid(const struct bf_mlx5_port *port)
{
	const uint8_t *mac = port->mac;

	return (uint64_t)bf_get_be16(mac) << 48 | (uint64_t)mac[2] << 40 | 0xfffeull << 24 |
	       (bf_get_be32(mac + 2) & 0xffffff);
}

void bf_mlx5_peer_mac(const struct bf_mlx5_port *port, uint32_t ipv4, uint8_t mac[6])
{
	if (!bf_fabric_resolve(port->dev->fabric, ipv4, mac))
		return;
	mac[0] = 0x02; /* as fabric.h makes them */
	mac[1] = 0x00;
	bf_put_be32(mac + 2, ipv4);
}

/* As link-local addresses of RoCE have it, so that a GID names the same port everywhere (bf_mlx5_gid_ipv4()). */
static uint64_t modified_guid(const struct bf_mlx5_port *port)
{
	return bf_mlx5_guid(port) ^ 1ull << 57;
}

/* With one port nobody says which. */
static struct bf_mlx5_port *port_of(const struct bf_mlx5_mail *m)
{
	const uint32_t port = BF_MLX5_GET(m->in, BF_HCA_VPORT_PORT);

	if (!m->dev->infiniband || port > m->dev->port_count)
		return NULL;
	return &m->dev->ports[port ? port - 1 : 0];
}

uint8_t bf_mlx5_cmd_query_hca_vport(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_port *port = port_of(m);
	uint8_t *ctx = m->out + BF_HCA_VPORT_CTX;
	struct bf_port_info info;

	if (!port)
		return BF_MLX5_CMD_BAD_PARAM;
	bf_port_info(port->port, &info);
	BF_MLX5_SET(ctx, BF_HCA_VPORT_HAS_SMI, 1);
	BF_MLX5_SET(ctx, BF_HCA_VPORT_PHYSICAL, info.up ? PHYSICAL_UP : PHYSICAL_DISABLED);
	BF_MLX5_SET(ctx, BF_HCA_VPORT_STATE, info.up ? STATE_ACTIVE : STATE_DOWN);
	bf_put_be64(ctx + BF_HCA_VPORT_SYSTEM_GUID, modified_guid(&m->dev->ports[0]));
	bf_put_be64(ctx + BF_HCA_VPORT_PORT_GUID, modified_guid(port));
	bf_put_be64(ctx + BF_HCA_VPORT_NODE_GUID, modified_guid(&m->dev->ports[0]));
	BF_MLX5_SET(ctx, BF_HCA_VPORT_CAP1, port->capabilities);
	BF_MLX5_SET(ctx, BF_HCA_VPORT_CAP1_MAY, UINT32_MAX);
	BF_MLX5_SET(ctx, BF_HCA_VPORT_LID, port->ipv4 & 0xffff);
	BF_MLX5_SET(ctx, BF_HCA_VPORT_SUBNET_TIMEOUT, SUBNET_TIMEOUT);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_modify_hca_vport(struct bf_mlx5_mail *m)
{
	const uint8_t *ctx = m->in + BF_HCA_VPORT_CTX;
	const uint32_t which = BF_MLX5_GET(ctx, BF_HCA_VPORT_CAP1_MAY), to = BF_MLX5_GET(ctx, BF_HCA_VPORT_CAP1);
	struct bf_mlx5_port *port = port_of(m);

	if (!port)
		return BF_MLX5_CMD_BAD_PARAM;
	port->capabilities = (port->capabilities & ~which) | (to & which);
	return BF_MLX5_CMD_OK;
}

/* Entries first, first + 1 .. of a table of `size`, as many as were asked for and as there is room for. */
static uint32_t entries(const struct bf_mlx5_mail *m, uint32_t size, uint32_t bytes, uint32_t *first)
{
	const uint32_t index = BF_MLX5_GET(m->in, BF_HCA_VPORT_INDEX);
	const bool all = index == BF_HCA_VPORT_ALL;

	*first = all ? 0 : index;
	if (*first >= size || m->out_len < BF_HCA_VPORT_ENTRIES + (all ? (size_t)size : 1) * bytes)
		return 0;
	return all ? size : 1;
}

uint8_t bf_mlx5_cmd_query_hca_vport_gid(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_port *port = port_of(m);
	uint8_t *gid = m->out + BF_HCA_VPORT_ENTRIES;
	uint32_t first, n = entries(m, GIDS, 16, &first);

	if (!port || !n)
		return BF_MLX5_CMD_BAD_PARAM;
	if (!first) {
		bf_put_be64(gid, DEFAULT_PREFIX);
		bf_put_be64(gid + 8, modified_guid(port));
	}
	BF_MLX5_SET(m->out, BF_HCA_VPORT_GIDS, n);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_hca_vport_pkey(struct bf_mlx5_mail *m)
{
	uint32_t first, n = entries(m, PKEYS, 4, &first);

	if (!n)
		return BF_MLX5_CMD_BAD_PARAM;
	if (!first)
		bf_put_be32(m->out + BF_HCA_VPORT_ENTRIES, DEFAULT_PKEY);
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_query_vport_counter(struct bf_mlx5_mail *m)
{
	const struct bf_mlx5_port *port = port_of(m);
	struct bf_port_info info;

	if (!port)
		return BF_MLX5_CMD_BAD_PARAM;
	bf_port_info(port->port, &info);
	bf_put_be64(m->out + BF_VPORT_COUNTER_RECEIVED, info.rx_packets);
	bf_put_be64(m->out + BF_VPORT_COUNTER_RECEIVED + 8, info.rx_bytes);
	bf_put_be64(m->out + BF_VPORT_COUNTER_TRANSMITTED, info.tx_packets);
	bf_put_be64(m->out + BF_VPORT_COUNTER_TRANSMITTED + 8, info.tx_bytes);
	return BF_MLX5_CMD_OK;
}
