/*
 * Multicast groups: which datagram queues want what is sent to a group.
 *
 * A group's address is a GID. RoCEv2 over IPv4 has an IPv4 address for it: that of ::ffff:224.0.0.0/100, and for other
 * multicast GIDs the one whose low 28 bits are theirs (assumed; a network of IPv6 would carry them as they are).
 */
#include "models/mlx5/device_internal.h"

#include <stdlib.h>

#define CLASS_D 0xe0000000u /* IPv4 multicast (RFC 5771) */

struct bf_mlx5_group {
	struct bf_mlx5_group *next;
	struct bf_mlx5_qp *qp;
	uint8_t gid[16];
	bool block_own; /* what the queue pair sends to the group itself */
};

uint32_t bf_mlx5_group_ipv4(const uint8_t gid[16])
{
	uint32_t ipv4 = bf_mlx5_gid_ipv4(gid);

	if (gid[0] == 0xff)
		return CLASS_D | (bf_get_be32(gid + 12) & ~(0xfu << 28));
	return ipv4 >> 28 == CLASS_D >> 28 ? ipv4 : 0;
}

static struct bf_mlx5_group **find(struct bf_mlx5 *dev, const struct bf_mlx5_qp *qp, const uint8_t *gid)
{
	struct bf_mlx5_group **at = &dev->groups;

	while (*at && ((*at)->qp != qp || memcmp((*at)->gid, gid, sizeof((*at)->gid))))
		at = &(*at)->next;
	return at;
}

static void leave(struct bf_mlx5 *dev, uint32_t ports, const uint8_t *gid)
{
	for (uint32_t i = 0; i < ports; i++)
		bf_port_leave(dev->ports[i].port, bf_mlx5_group_ipv4(gid));
}

/* The switch sends the group's frames to all ports: which of them the queue pair has, it may learn later. */
static bool join(struct bf_mlx5 *dev, const uint8_t *gid)
{
	for (uint32_t i = 0; i < dev->port_count; i++)
		if (bf_port_join(dev->ports[i].port, bf_mlx5_group_ipv4(gid))) {
			leave(dev, i, gid);
			return false;
		}
	return true;
}

static void end(struct bf_mlx5 *dev, struct bf_mlx5_group **at)
{
	struct bf_mlx5_group *g = *at;

	*at = g->next;
	leave(dev, dev->port_count, g->gid);
	free(g);
}

uint8_t bf_mlx5_cmd_attach_mcg(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_qp *qp = bf_mlx5_table_get(&m->dev->qps, m->number);
	const uint8_t *gid = m->in + BF_MCG_GID;
	struct bf_mlx5_group *g, **at;
	uint8_t qpc[BF_QPC_LEN];

	if (!qp)
		return BF_MLX5_CMD_BAD_RES;
	if (qp->rdma.service != BF_RDMA_UD || !bf_mlx5_group_ipv4(gid))
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "%s",
				      qp->rdma.service != BF_RDMA_UD
					  ? "a queue pair that is not UD joins no group"
					  : "multicast_gid: must be of an IPv4 group, mapped or not");
	at = find(m->dev, qp, gid);
	if (*at)
		return BF_MLX5_CMD_OK; /* it is attached already */
	g = calloc(1, sizeof(*g));
	if (!g || !join(m->dev, gid)) {
		free(g);
		return BF_MLX5_CMD_NO_RES;
	}
	g->qp = qp;
	bf_mlx5_unpack(qp->context, qpc, sizeof(qpc));
	g->block_own = BF_MLX5_GET(qpc, BF_QPC_BLOCK_LB_MC);
	memcpy(g->gid, gid, sizeof(g->gid));
	*at = g;
	return BF_MLX5_CMD_OK;
}

uint8_t bf_mlx5_cmd_detach_mcg(struct bf_mlx5_mail *m)
{
	struct bf_mlx5_qp *qp = bf_mlx5_table_get(&m->dev->qps, m->number);
	struct bf_mlx5_group **at;

	if (!qp)
		return BF_MLX5_CMD_BAD_RES;
	at = find(m->dev, qp, m->in + BF_MCG_GID);
	if (!*at)
		return bf_mlx5_refuse(m->dev, BF_MLX5_CMD_BAD_PARAM, "multicast_gid: QP 0x%x has not joined that group",
				      m->number);
	end(m->dev, at);
	return BF_MLX5_CMD_OK;
}

void bf_mlx5_groups_forget(struct bf_mlx5 *dev, const struct bf_mlx5_qp *qp)
{
	struct bf_mlx5_group **at = &dev->groups;

	while (*at)
		if (qp && (*at)->qp != qp)
			at = &(*at)->next;
		else
			end(dev, at);
}

static bool wants(const struct bf_mlx5_group *g, const struct bf_mlx5_port *port, const struct bf_roce *sent)
{
	if (bf_mlx5_group_ipv4(g->gid) != sent->dst_ipv4 || g->qp->port != port)
		return false;
	return !g->block_own || sent->src_qp != g->qp->rdma.qpn || sent->src_ipv4 != port->ipv4;
}

void bf_mlx5_groups_rx(struct bf_mlx5_port *port, struct bf_packet *pkt)
{
	struct bf_mlx5 *dev = port->dev;
	const struct bf_roce sent = dev->rdma.rx;

	for (const struct bf_mlx5_group *g = dev->groups; g; g = g->next) {
		struct bf_packet *copy = NULL;

		if (wants(g, port, &sent))
			copy = bf_packet_alloc(dev->fabric);
		if (!copy)
			continue;
		copy->id = pkt->id;
		copy->len = pkt->len;
		memcpy(copy->data, pkt->data, pkt->len);
		dev->rdma.rx = sent; /* what the last one did may have used it */
		bf_mlx5_ud_take(g->qp, port, copy);
	}
	bf_packet_free(pkt);
}
